//! The commit and visibility protocols under a scheduler that tries interleavings at every latch and atomic:
//! `cargo test -p nextleaf-storage --features shuttle --test shuttle`.
#![cfg(feature = "shuttle")]

mod common;

use common::{chunk, insert, kvs, scan};
use shuttle::thread;
use std::path::Path;
use std::sync::Arc;
use storage::io::SimIo;
use storage::{DurableOptions, LockWait, Object, ObjectKey, RowLock, Snapshot, StorageOptions, Store, Table};
use types::Value;

const SCHEDULES: usize = 2_000;

fn row(k: i64, v: i64) -> Vec<Value> {
    vec![Value::Int(k), Value::Int(v), Value::Null]
}

fn values(table: &Table, snapshot: &Snapshot) -> Vec<i64> {
    scan(table, snapshot)
        .into_iter()
        .map(|(_, r)| if let Value::Int(v) = r[1] { v } else { panic!("a number") })
        .collect()
}

fn start(rows: &[Vec<Value>]) -> (Arc<Store>, Arc<Table>, Vec<u64>) {
    let (store, table) = kvs(8, false);
    let txn = store.txns().begin();
    let ids = insert(&table, &txn, rows).expect("no duplicates");
    store.txns().commit(&txn).expect("the log can be written");
    (Arc::new(store), table, ids)
}

/// A transaction that changes two leaves is seen whole or not at all, before and after its versions are collected.
#[test]
fn a_commit_is_seen_whole() {
    shuttle::check_random(
        || {
            let rows: Vec<_> = (0..9).map(|k| row(k, 0)).collect();
            let (store, table, ids) = start(&rows);
            let writer = {
                let (store, table) = (store.clone(), table.clone());
                thread::spawn(move || {
                    for round in 1..3 {
                        let txn = store.txns().begin();
                        for &id in [ids[0], ids[8]].iter() {
                            let v = chunk(&table, 1, &[Value::Int(round)]);
                            table.update(&txn, id, &[1], &[&v], 0).expect("one writer");
                        }
                        store.txns().commit(&txn).expect("the log can be written");
                    }
                })
            };
            for _ in 0..2 {
                let snapshot = store.txns().snapshot();
                let first = values(&table, &snapshot);
                assert_eq!(first[0], first[8], "half a commit");
                assert_eq!(values(&table, &snapshot), first, "a snapshot changed");
            }
            writer.join().expect("no panic");
            store.txns().collect_garbage(usize::MAX);
            assert_eq!(table.versioned_leaves(), 0);
            assert_eq!(table.check(), Vec::<String>::new());
        },
        SCHEDULES,
    );
}

/// Two increments of one row, each a lock, a current read and an update, never lose one.
#[test]
fn increments_are_not_lost() {
    shuttle::check_random(
        || {
            let (store, table, ids) = start(&[row(1, 0)]);
            let id = ids[0];
            let threads: Vec<_> = (0..2)
                .map(|_| {
                    let (store, table) = (store.clone(), table.clone());
                    thread::spawn(move || {
                        let txn = store.txns().begin();
                        assert_eq!(table.lock_row(&txn, id, LockWait::Wait), Ok(RowLock::Locked));
                        let now = store.txns().current(&txn);
                        let v = chunk(&table, 1, &[Value::Int(values(&table, &now)[0] + 1)]);
                        table.update(&txn, id, &[1], &[&v], 0).expect("held");
                        store.txns().commit(&txn).expect("the log can be written");
                    })
                })
                .collect();
            threads.into_iter().for_each(|t| t.join().expect("no panic"));
            assert_eq!(values(&table, &store.txns().snapshot()), [2]);
        },
        SCHEDULES,
    );
}

/// Of transactions that insert the same key one wins, unless it rolls back.
#[test]
fn a_key_comes_in_once() {
    shuttle::check_random(
        || {
            let (store, table, _) = start(&[row(0, 0)]);
            let threads: Vec<_> = (0..3)
                .map(|n| {
                    let (store, table) = (store.clone(), table.clone());
                    thread::spawn(move || {
                        let txn = store.txns().begin();
                        match insert(&table, &txn, &[row(1, n), row(2, n)]) {
                            Ok(_) if n < 2 => {
                                store.txns().commit(&txn).expect("the log can be written");
                                true
                            }
                            Ok(_) => {
                                store.txns().rollback(&txn);
                                false
                            }
                            Err(e) => {
                                assert_eq!(e.code().0, 1062);
                                store.txns().rollback(&txn);
                                false
                            }
                        }
                    })
                })
                .collect();
            let won = threads.into_iter().map(|t| t.join().expect("no panic")).filter(|w| *w).count();
            assert_eq!(won, 1);
            store.txns().collect_garbage(usize::MAX);
            assert_eq!(scan(&table, &store.txns().snapshot()).len(), 3);
            assert_eq!(table.check(), Vec::<String>::new());
        },
        SCHEDULES,
    );
}

fn durable(rows: &[Vec<Value>]) -> (Store, Arc<Table>, Vec<u64>) {
    let definition = || kvs(8, false).1.def().clone();
    let options = DurableOptions { threads: 1, ..DurableOptions::default() };
    let define = &mut |_: &ObjectKey, _: &Object| Ok(definition());
    let storage = StorageOptions { leaf_rows: Some(8) };
    let opened = Store::open(Arc::new(SimIo::default()), Path::new("/db"), storage, options, define, &|_| ());
    let store = opened.expect("the disk works").0;
    let table = store.create_table(definition());
    let txn = store.txns().begin();
    let ids = insert(&table, &txn, rows).expect("no duplicates");
    store.txns().commit(&txn).expect("the log can be written");
    (store, table, ids)
}

/// Group commit: leaders take each other's entries, and nobody is left sleeping. (A lost wake-up is a deadlock here.)
#[test]
fn whoever_waits_for_the_log_is_woken() {
    shuttle::check_random(
        || {
            let (store, table, ids) = durable(&(0..4).map(|k| row(k, 0)).collect::<Vec<_>>());
            let threads: Vec<_> = ids
                .iter()
                .map(|&id| {
                    let (store, table) = (store.clone(), table.clone());
                    thread::spawn(move || {
                        for round in 1..3 {
                            let txn = store.txns().begin();
                            let v = chunk(&table, 1, &[Value::Int(round)]);
                            table.update(&txn, id, &[1], &[&v], 0).expect("nobody else has the row");
                            let ts = store.txns().commit(&txn).expect("the log can be written");
                            assert!(store.txns().last_published() >= ts, "acknowledged before it is published");
                        }
                    })
                })
                .collect();
            store.checkpoint().expect("the disk works");
            threads.into_iter().for_each(|t| t.join().expect("no panic"));
            assert_eq!(values(&table, &store.txns().snapshot()), [2, 2, 2, 2]);
        },
        SCHEDULES,
    );
}
