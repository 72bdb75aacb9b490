//! How many old versions are kept, and what one costs.

mod common;

use common::{chunk, insert, kvs, scan};
use memory::{Metered, thread_bytes};
use std::alloc::System;
use std::sync::Arc;
use storage::{Snapshot, Store, Table};
use types::Value;

#[global_allocator]
static ALLOCATOR: Metered<System> = Metered(System);

fn start(leaf_rows: usize, rows: i64) -> (Store, Arc<Table>, Vec<u64>) {
    let (store, table) = kvs(leaf_rows, false);
    let txn = store.txns().begin();
    let rows: Vec<_> = (0..rows).map(|k| vec![Value::Int(k), Value::Int(0), Value::Null]).collect();
    let ids = insert(&table, &txn, &rows).expect("no duplicates");
    store.txns().commit(&txn).expect("the log can be written");
    store.txns().collect_garbage(usize::MAX);
    (store, table, ids)
}

fn set(store: &Store, table: &Arc<Table>, ids: &[u64], column: usize, value: &Value) {
    let txn = store.txns().begin();
    let value = chunk(table, column, std::slice::from_ref(value));
    for &id in ids {
        assert_eq!(table.update(&txn, id, &[column], &[&value], 0), Ok(true));
    }
    store.txns().commit(&txn).expect("the log can be written");
}

fn row(table: &Table, snapshot: &Snapshot) -> Vec<Value> {
    scan(table, snapshot).swap_remove(0).1
}

/// A row that is updated on and on under an old snapshot has a version for each snapshot, not for each update.
#[test]
fn a_hot_row_keeps_what_snapshots_see() {
    let (store, table, ids) = start(8, 4);
    let oldest = store.txns().snapshot();
    let mut between = None;
    for i in 1..=1000 {
        set(&store, &table, &ids[..1], 1, &Value::Int(i));
        if i % 3 == 0 {
            set(&store, &table, &ids[..1], 2, &Value::str(&format!("a string beyond twelve bytes {i}")));
        }
        if i == 500 {
            between = Some(store.txns().snapshot());
        }
        assert!(table.version_records() < 40, "{} after {i} updates", table.version_records());
    }
    let between = between.expect("it was taken");
    assert_eq!(row(&table, &oldest), [Value::Int(0), Value::Int(0), Value::Null]);
    assert_eq!(row(&table, &between)[1..], [Value::Int(500), Value::str("a string beyond twelve bytes 498")]);
    table.collect_versions();
    assert_eq!(table.version_records(), 2, "one for each snapshot");
    assert_eq!(row(&table, &oldest), [Value::Int(0), Value::Int(0), Value::Null]);
    assert_eq!(row(&table, &between)[1..], [Value::Int(500), Value::str("a string beyond twelve bytes 498")]);
    drop(oldest);
    table.collect_versions();
    assert_eq!(table.version_records(), 1);
    assert_eq!(row(&table, &between)[1], Value::Int(500));
    drop(between);
    store.txns().collect_garbage(usize::MAX);
    assert_eq!(table.versioned_leaves(), 0);
    assert_eq!(table.check(), Vec::<String>::new());
}

/// Keys that a row had only between two snapshots leave the index; those that a snapshot sees are found.
#[test]
fn a_hot_key_leaves_the_index() {
    let (store, table, ids) = start(8, 4);
    let oldest = store.txns().snapshot();
    for i in 1..=1000 {
        set(&store, &table, &ids[..1], 0, &Value::Int(1000 + i));
    }
    let key = |k: i64| chunk(&table, 0, &[Value::Int(k)]);
    assert_eq!(table.get(0, &[&key(0)], 0, &oldest), Some(ids[0]));
    assert_eq!(table.get(0, &[&key(2000)], 0, &store.txns().snapshot()), Some(ids[0]));
    // What is left of the keys between can be taken by others.
    set(&store, &table, &ids[1..2], 0, &Value::Int(1001));
    table.collect_versions();
    assert!(table.version_records() <= 2);
    drop(oldest);
    store.txns().collect_garbage(usize::MAX);
    assert_eq!(table.check(), Vec::<String>::new());
}

/// Rows that are locked under an old snapshot, and then let go, leave nothing.
#[test]
fn ended_locks_leave_no_versions() {
    let (store, table, ids) = start(8, 4);
    let oldest = store.txns().snapshot();
    for _ in 0..100 {
        let txn = store.txns().begin();
        for &id in &ids {
            table.lock_row(&txn, id, storage::LockWait::Wait).expect("nobody holds it");
        }
        store.txns().commit(&txn).expect("the log can be written");
    }
    table.collect_versions();
    assert_eq!(table.version_records(), 0);
    drop(oldest);
}

fn bytes_for_each(rows: usize, change: impl FnOnce(&Store, &Arc<Table>, &[u64])) -> isize {
    let (store, table, ids) = start(1024, rows as i64);
    let oldest = store.txns().snapshot();
    let before = thread_bytes();
    change(&store, &table, &ids);
    let bytes = (thread_bytes() - before) / rows as isize;
    drop(oldest);
    bytes
}

/// The old version of an updated number costs little more than the number.
#[test]
fn a_version_of_one_number_is_small() {
    let together = bytes_for_each(8192, |store, table, ids| set(store, table, ids, 1, &Value::Int(7)));
    assert!(together <= 110, "{together} bytes a version of one transaction");
    let alone = bytes_for_each(8192, |store, table, ids| {
        for id in ids {
            set(store, table, std::slice::from_ref(id), 1, &Value::Int(7));
        }
    });
    assert!(alone <= 300, "{alone} bytes a version and its transaction");
}

/// Rows of many leaves, each changed so often, while one snapshot looks on.
fn changed_under_a_snapshot(leaves: usize, times: i64) -> (Store, Arc<Table>, Vec<u64>, Snapshot) {
    let (store, table, ids) = start(64, leaves as i64 * 64);
    let oldest = store.txns().snapshot();
    (1..=times).for_each(|i| set(&store, &table, &ids, 1, &Value::Int(i)));
    (store, table, ids, oldest)
}

/// Who ends the oldest snapshot takes a slice of what it held; commits that come do the rest, a slice each.
#[test]
fn the_oldest_snapshot_ends_at_once() {
    const SLICE: usize = 1024 + 128;
    let (store, table, ids, oldest) = changed_under_a_snapshot(200, 2);
    let mut kept = table.version_records();
    assert!(kept >= 200 * 64, "{kept}");
    assert_eq!(store.txns().garbage_len(), 200, "each leaf waits once");
    drop(oldest);
    let mut commits = 0;
    loop {
        let now = table.version_records();
        assert!(kept - now <= 2 * SLICE, "{} at once", kept - now);
        kept = now;
        if kept == 0 {
            break;
        }
        set(&store, &table, &ids[..1], 1, &Value::Int(-1));
        commits += 1;
    }
    assert!((5..100).contains(&commits), "{commits}");
    assert_eq!(store.txns().garbage_len(), 0);
}

/// With a collector, nobody but it frees more than a slice, and it needs nobody's help.
#[test]
fn a_collector_frees_the_rest() {
    let (store, table, ids, oldest) = changed_under_a_snapshot(200, 2);
    let background = storage::Background::start(store.clone(), |line| panic!("{line}")).expect("threads start");
    drop(oldest);
    let begun = std::time::Instant::now();
    while table.version_records() > 0 {
        assert!(begun.elapsed().as_secs() < 60, "{} records are left", table.version_records());
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    // A commit of many rows leaves theirs to it, too.
    set(&store, &table, &ids, 1, &Value::Int(-1));
    while table.version_records() > 0 {
        assert!(begun.elapsed().as_secs() < 60, "{} records are left", table.version_records());
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    drop(background);
    assert_eq!(table.check(), Vec::<String>::new());
}

/// What is rolled back from over versions that wait for a snapshot's end leaves those waiting.
#[test]
fn versions_below_a_rollback_are_collected() {
    let (store, table, ids) = start(8, 4);
    let oldest = store.txns().snapshot();
    set(&store, &table, &ids[..1], 1, &Value::Int(1));
    let between = store.txns().snapshot();
    set(&store, &table, &ids[..1], 1, &Value::Int(2));
    let txn = store.txns().begin();
    let value = chunk(&table, 1, &[Value::Int(3)]);
    assert_eq!(table.update(&txn, ids[0], &[1], &[&value], 0), Ok(true));
    drop(oldest);
    store.txns().rollback(&txn);
    assert_eq!(row(&table, &between)[1], Value::Int(1));
    drop(between);
    assert_eq!(table.version_records(), 0);
}
