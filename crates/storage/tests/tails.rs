//! Batches of several threads into one table: each row is there once, keys stay unique, few leaves stay half full.

mod common;

use common::{chunks, kvs, scan};
use std::collections::HashSet;
use std::sync::{Arc, Barrier};
use storage::{Store, Table};
use types::Value;
use vector::Chunk;

const LEAF_ROWS: usize = 64;

fn batch(table: &Table, keys: impl IntoIterator<Item = i64>) -> Vec<Chunk> {
    let rows: Vec<Vec<Value>> = keys.into_iter().map(|k| vec![Value::Int(k), Value::Int(k * 2), Value::Null]).collect();
    chunks(table, &rows)
}

fn insert(store: &Store, table: &Arc<Table>, keys: std::ops::Range<i64>) -> types::Result<()> {
    let txn = store.txns().begin();
    let columns = batch(table, keys.clone());
    let result = table.insert_rows(&txn, &columns.iter().collect::<Vec<_>>(), keys.count());
    match &result {
        Ok(_) => drop(store.txns().commit(&txn).expect("the log can be written")),
        Err(_) => store.txns().rollback(&txn),
    };
    result.map(|_| ())
}

fn keys(store: &Store, table: &Table) -> Vec<i64> {
    let rows = scan(table, &store.txns().snapshot());
    rows.into_iter().map(|(_, r)| if let Value::Int(k) = r[0] { k } else { panic!("a number") }).collect()
}

#[test]
fn batches_of_threads_beside_single_rows() {
    let threads = 4;
    for round in 0..10 {
        let (store, table) = kvs(LEAF_ROWS, false);
        let begin = Barrier::new(threads as usize + 1);
        std::thread::scope(|scope| {
            for t in 0..threads {
                let (store, table, begin) = (&store, &table, &begin);
                scope.spawn(move || {
                    begin.wait();
                    for i in 0..12 {
                        let first = t * 10_000 + i * 100;
                        insert(store, table, first..first + 100).expect("keys of its own");
                    }
                });
            }
            begin.wait();
            for k in 0..50 {
                insert(&store, &table, 90_000 + k..90_001 + k).expect("keys of its own");
            }
        });
        let found = keys(&store, &table);
        let rows = threads as usize * 1200 + 50;
        assert_eq!(found.len(), rows, "round {round}");
        assert_eq!(found.iter().collect::<HashSet<_>>().len(), rows, "round {round}");
        // Full ones, the common tail, and no more of their own than there are cores.
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let leaves = table.leaf_count() as usize;
        assert!(leaves <= rows / LEAF_ROWS + 1 + cores, "round {round}: {leaves} leaves");
        for key in [0, 99, 10_000, 31_199, 90_049] {
            assert!(insert(&store, &table, key..key + 1).is_err(), "round {round}: {key} is there");
        }
        // What a thread alone brings lies in its order.
        insert(&store, &table, 200_000..200_500).expect("new keys");
        let behind: Vec<i64> = keys(&store, &table).into_iter().filter(|k| *k >= 200_000).collect();
        assert_eq!(behind, (200_000..200_500).collect::<Vec<_>>(), "round {round}");
    }
}

/// Whose rows are taken back leaves nothing, wherever they were.
#[test]
fn batches_that_fail() {
    for round in 0..20 {
        let (store, table) = kvs(LEAF_ROWS, false);
        insert(&store, &table, 5..6).expect("a new key");
        let begin = Barrier::new(3);
        std::thread::scope(|scope| {
            for t in 0..3i64 {
                let (store, table, begin) = (&store, &table, &begin);
                scope.spawn(move || {
                    begin.wait();
                    // The second thread meets a key of the first row's.
                    let keys = if t == 1 { -150..50 } else { 1000 * t + 1000..1000 * t + 1200 };
                    assert_eq!(insert(store, table, keys).is_err(), t == 1);
                });
            }
        });
        let mut found = keys(&store, &table);
        found.sort_unstable();
        assert_eq!(found, [5].into_iter().chain(1000..1200).chain(3000..3200).collect::<Vec<_>>(), "round {round}");
        insert(&store, &table, -150..5).expect("they are new again");
    }
}

/// How long one thread takes for batches, and two for as many: run by hand, alone on the machine.
#[test]
#[ignore = "a measurement"]
fn two_threads_and_one() {
    let rows_each = 2_000_000 / 1000;
    for threads in [1i64, 2] {
        let (store, table) = kvs(1024, false);
        let batches: Vec<Vec<Vec<Chunk>>> = (0..threads)
            .map(|t| (0..rows_each).map(|i| batch(&table, (t * 100_000_000 + i * 1000..).take(1000))).collect())
            .collect();
        let begin = std::time::Instant::now();
        std::thread::scope(|scope| {
            for own in &batches {
                let (store, table) = (&store, &table);
                scope.spawn(move || {
                    for columns in own {
                        let txn = store.txns().begin();
                        table.insert_rows(&txn, &columns.iter().collect::<Vec<_>>(), 1000).expect("new keys");
                        store.txns().commit(&txn).expect("the log can be written");
                    }
                });
            }
        });
        let rows = threads * rows_each * 1000;
        println!("{threads} threads: {:.2} million rows/s", rows as f64 / begin.elapsed().as_secs_f64() / 1e6);
    }
}
