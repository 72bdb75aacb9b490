//! The commit and visibility protocols under a scheduler that tries interleavings at every latch and atomic:
//! `cargo test -p nextleaf-storage --features shuttle --test shuttle`.
#![cfg(feature = "shuttle")]

mod common;

use common::{chunk, insert, kvs, scan};
use disk::{Fault, SimIo};
use shuttle::rand::Rng;
use shuttle::thread;
use std::path::Path;
use std::sync::Arc;
use storage::{
    DurableOptions, Found, LockWait, Object, ObjectKey, OnTrouble, RowLock, RowLockMode, Snapshot, StorageOptions,
    Store, Table,
};
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

/// Versions go from between others while snapshots are taken: each snapshot sees what it saw at first, as long as it is
/// in use, and later ones nothing older.
#[test]
fn versions_between_others_go_unseen() {
    shuttle::check_random(
        || {
            let (store, table, ids) = start(&[row(1, 0)]);
            // Each commit adds one to the time, and to the value.
            let begun = store.txns().last_published();
            let writer = {
                let (store, table) = (store.clone(), table.clone());
                thread::spawn(move || {
                    for round in 1..5 {
                        let txn = store.txns().begin();
                        let v = chunk(&table, 1, &[Value::Int(round)]);
                        table.update(&txn, ids[0], &[1], &[&v], 0).expect("one writer");
                        store.txns().commit(&txn).expect("the log can be written");
                        table.collect_versions();
                    }
                })
            };
            let readers: Vec<_> = (0..2)
                .map(|_| {
                    let (store, table) = (store.clone(), table.clone());
                    thread::spawn(move || {
                        let first = store.txns().snapshot();
                        let at = |snapshot: &Snapshot| [(snapshot.ts() - begun) as i64];
                        assert_eq!(values(&table, &first), at(&first));
                        let second = store.txns().snapshot();
                        assert_eq!(values(&table, &second), at(&second));
                        assert_eq!(values(&table, &first), at(&first), "a snapshot changed");
                        drop(first);
                        assert_eq!(values(&table, &second), at(&second), "a snapshot changed");
                    })
                })
                .collect();
            writer.join().expect("no panic");
            readers.into_iter().for_each(|r| r.join().expect("no panic"));
            store.txns().collect_garbage(usize::MAX);
            assert_eq!(table.version_records(), 0);
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
    durable_on(&SimIo::default(), rows)
}

fn durable_on(io: &SimIo, rows: &[Vec<Value>]) -> (Store, Arc<Table>, Vec<u64>) {
    let definition = || kvs(8, false).1.def().clone();
    let on_trouble = OnTrouble(Box::new(|_, _| {}));
    let options = DurableOptions { threads: 1, on_trouble, ..DurableOptions::default() };
    let define = &mut |_: &ObjectKey, _: &Object| Ok(definition());
    let storage = StorageOptions { leaf_rows: Some(8) };
    let opened = Store::open(Arc::new(io.clone()), Path::new("/db"), storage, options, define, &|_| ());
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

/// The same when the disk fails in the middle of it: everybody gets an answer, and snapshots show exactly what was
/// acknowledged, although later transactions were built on what was not.
#[test]
fn a_log_that_fails_leaves_what_was_acknowledged() {
    shuttle::check_random(
        || {
            let io = SimIo::default();
            let (store, table, ids) = durable_on(&io, &[row(1, 0)]);
            let id = ids[0];
            io.fail_at(io.calls() + shuttle::rand::thread_rng().gen_range(1..9), Fault::Error);
            let threads: Vec<_> = (0..3)
                .map(|_| {
                    let (store, table) = (store.clone(), table.clone());
                    thread::spawn(move || {
                        let mut told = 0;
                        for _ in 0..2 {
                            let txn = store.txns().begin();
                            assert_eq!(table.lock_row(&txn, id, LockWait::Wait), Ok(RowLock::Locked));
                            let value = values(&table, &store.txns().current(&txn))[0] + 1;
                            let v = chunk(&table, 1, &[Value::Int(value)]);
                            table.update(&txn, id, &[1], &[&v], 0).expect("held");
                            match store.txns().commit(&txn) {
                                Ok(_) => told = value,
                                Err(e) => assert!([1180, 1836].contains(&e.code().0), "{e}"),
                            }
                        }
                        told
                    })
                })
                .collect();
            let mut seen = 0;
            for _ in 0..3 {
                let now = values(&table, &store.txns().snapshot())[0];
                assert!(now >= seen, "a snapshot went back");
                seen = now;
            }
            let told = threads.into_iter().map(|t| t.join().expect("no panic")).max().expect("there are three");
            assert_eq!(values(&table, &store.txns().snapshot()), [told]);
            assert!(seen <= told, "{seen} was seen, {told} acknowledged");
        },
        SCHEDULES / 2,
    );
}

/// Commits that are told of later, beside some that are waited for, on a disk that may fail: each has its outcome told
/// once, by somebody, and it is the true one. (Nobody told is a deadlock here.)
#[test]
fn whoever_is_told_later_is_told_the_truth() {
    shuttle::check_random(
        || {
            let io = SimIo::default();
            let (store, table, ids) = durable_on(&io, &(0..3).map(|k| row(k, 0)).collect::<Vec<_>>());
            let fails = shuttle::rand::thread_rng().gen_range(0..2) == 0;
            if fails {
                io.fail_at(io.calls() + shuttle::rand::thread_rng().gen_range(1..9), Fault::Error);
            }
            store.txns().redo().expect("durable").begin_leading();
            let leader = {
                let store = store.clone();
                thread::spawn(move || store.txns().redo().expect("durable").lead_for_others(store.txns()))
            };
            let threads: Vec<_> = ids
                .iter()
                .enumerate()
                .map(|(n, &id)| {
                    let (store, table) = (store.clone(), table.clone());
                    thread::spawn(move || {
                        let mut told = 0;
                        for value in 1..3 {
                            let txn = store.txns().begin();
                            let v = chunk(&table, 1, &[Value::Int(value)]);
                            if table.update(&txn, id, &[1], &[&v], 0).is_err() {
                                break;
                            }
                            let done = match n {
                                0 => store.txns().commit(&txn).map(drop),
                                _ => store.txns().commit_later(&txn).and_then(|unsettled| {
                                    let Some(commit) = unsettled else { return Ok(()) };
                                    let (tell, told) = shuttle::sync::mpsc::channel();
                                    commit.when_settled(move || tell.send(()).expect("somebody waits"));
                                    told.recv().expect("told");
                                    commit.outcome().expect("it is settled")
                                }),
                            };
                            match done {
                                Ok(()) => told = value,
                                Err(e) => assert!(fails && [1180, 1836].contains(&e.code().0), "{e}"),
                            }
                        }
                        told
                    })
                })
                .collect();
            let told: Vec<i64> = threads.into_iter().map(|t| t.join().expect("no panic")).collect();
            store.txns().redo().expect("durable").stop_leading();
            leader.join().expect("no panic");
            assert_eq!(values(&table, &store.txns().snapshot()), told);
            assert!(fails || told == [2, 2, 2]);
        },
        SCHEDULES,
    );
}

/// Who only looked at a row under its lock is answered when what he saw is durable.
#[test]
fn a_locking_read_is_answered_when_it_is_durable() {
    shuttle::check_random(
        || {
            let (store, table, ids) = durable(&[row(1, 0)]);
            let id = ids[0];
            let writer = {
                let (store, table) = (store.clone(), table.clone());
                thread::spawn(move || {
                    for round in 1..3 {
                        let txn = store.txns().begin();
                        let v = chunk(&table, 1, &[Value::Int(round)]);
                        table.update(&txn, id, &[1], &[&v], 0).expect("it comes to its turn");
                        store.txns().commit(&txn).expect("the disk works");
                    }
                })
            };
            for mode in [RowLockMode::Shared, RowLockMode::Exclusive, RowLockMode::Shared] {
                let txn = store.txns().begin();
                let snapshot = store.txns().current(&txn);
                table.lock_rows(&txn, &[id], mode, LockWait::Wait, &snapshot).expect("nobody waits for this one");
                let seen = values(&table, &store.txns().current(&txn));
                match mode {
                    RowLockMode::Shared => store.txns().rollback(&txn),
                    RowLockMode::Exclusive => _ = store.txns().commit(&txn).expect("the disk works"),
                }
                let now = values(&table, &store.txns().snapshot());
                assert!(now >= seen, "{seen:?} was answered, {now:?} is durable");
            }
            writer.join().expect("no panic");
        },
        SCHEDULES / 2,
    );
}

/// One who wants to change a row that others share in turns gets it, and so do they.
#[test]
fn whoever_waits_for_a_shared_row_has_his_turn() {
    shuttle::check_random(
        || {
            let (store, table, ids) = start(&[row(1, 0)]);
            let id = ids[0];
            let sharers: Vec<_> = (0..2)
                .map(|_| {
                    let (store, table) = (store.clone(), table.clone());
                    thread::spawn(move || {
                        for _ in 0..2 {
                            let txn = store.txns().begin();
                            let now = store.txns().current(&txn);
                            let found = table.lock_rows(&txn, &[id], RowLockMode::Shared, LockWait::Wait, &now);
                            assert!(matches!(found.as_deref(), Ok([Found::AsSeen | Found::Changed])), "{found:?}");
                            let held = values(&table, &store.txns().current(&txn));
                            assert_eq!(values(&table, &store.txns().current(&txn)), held, "a shared row changed");
                            store.txns().commit(&txn).expect("in memory");
                        }
                    })
                })
                .collect();
            let writers: Vec<_> = (0..2)
                .map(|_| {
                    let (store, table) = (store.clone(), table.clone());
                    thread::spawn(move || {
                        let txn = store.txns().begin();
                        let v = |now: &Snapshot| chunk(&table, 1, &[Value::Int(values(&table, now)[0] + 1)]);
                        assert_eq!(table.lock_row(&txn, id, LockWait::Wait), Ok(RowLock::Locked));
                        let v = v(&store.txns().current(&txn));
                        table.update(&txn, id, &[1], &[&v], 0).expect("held");
                        store.txns().commit(&txn).expect("in memory");
                    })
                })
                .collect();
            sharers.into_iter().chain(writers).for_each(|t| t.join().expect("no panic"));
            assert_eq!(values(&table, &store.txns().snapshot()), [2]);
        },
        SCHEDULES,
    );
}

/// Rows die and others come into their slots, while a snapshot goes on to show those that died.
#[test]
fn a_slot_is_filled_when_nobody_sees_its_row() {
    shuttle::check_random(
        || {
            let (store, table, ids) = start(&(0..17).map(|k| row(k, k)).collect::<Vec<_>>());
            let deleter = {
                let (store, table) = (store.clone(), table.clone());
                thread::spawn(move || {
                    for of_txn in ids[..6].chunks(3) {
                        let txn = store.txns().begin();
                        of_txn.iter().for_each(|id| assert_eq!(table.delete(&txn, *id), Ok(true)));
                        store.txns().commit(&txn).expect("in memory");
                    }
                    store.txns().collect_garbage(usize::MAX);
                })
            };
            let inserter = {
                let (store, table) = (store.clone(), table.clone());
                thread::spawn(move || {
                    for k in 100..106 {
                        let txn = store.txns().begin();
                        insert(&table, &txn, &[row(k, k)]).expect("no duplicates");
                        store.txns().commit(&txn).expect("in memory");
                    }
                })
            };
            for _ in 0..2 {
                let snapshot = store.txns().snapshot();
                let mut first = values(&table, &snapshot);
                first.sort_unstable();
                let old = first.iter().filter(|v| **v < 100).count();
                assert!([17, 14, 11].contains(&old), "{first:?}");
                let mut again = values(&table, &snapshot);
                again.sort_unstable();
                assert_eq!(again, first, "a snapshot changed");
            }
            deleter.join().expect("no panic");
            inserter.join().expect("no panic");
            assert_eq!(values(&table, &store.txns().snapshot()).len(), 17);
            assert_eq!(table.check(), Vec::<String>::new());
        },
        SCHEDULES / 4,
    );
}

/// Two batches at once, one of them in a tail of its own, and a single row: each key comes in once, and a batch that
/// fails leaves nothing.
#[test]
fn batches_have_tails_of_their_own() {
    shuttle::check_random(
        || {
            let (store, table, _) = start(&[row(100, 0)]);
            let batch = |keys: std::ops::Range<i64>| {
                let (store, table) = (store.clone(), table.clone());
                thread::spawn(move || {
                    let txn = store.txns().begin();
                    let rows: Vec<_> = keys.map(|k| row(k, k)).collect();
                    let inserted = insert(&table, &txn, &rows).is_ok();
                    match inserted {
                        true => drop(store.txns().commit(&txn).expect("the log can be written")),
                        false => store.txns().rollback(&txn),
                    }
                    inserted
                })
            };
            let threads = [batch(0..12), batch(10..20), batch(50..51)];
            let inserted: Vec<bool> = threads.into_iter().map(|t| t.join().expect("no panic")).collect();
            assert!(inserted[2] && (inserted[0] || inserted[1]), "{inserted:?}");
            let mut expected = vec![0, 50];
            expected.extend((0..12).filter(|_| inserted[0]));
            expected.extend((10..20).filter(|_| inserted[1]));
            let mut found = values(&table, &store.txns().snapshot());
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected);
        },
        SCHEDULES,
    );
}
