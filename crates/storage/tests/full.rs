//! Old versions count under the bound of the process.
//!
//! One test: the bound is all of the process's.

mod common;

use common::{chunk, insert, kvs};
use memory::Metered;
use std::alloc::System;
use std::sync::Arc;
use storage::{LockWait, RowLock, Savepoint, Snapshot, Store, Table, Txn};
use types::Value;

#[global_allocator]
static ALLOCATOR: Metered<System> = Metered(System);

const ROWS: usize = 200_000;
const MORE_BYTES: usize = 4 << 20;

fn held() -> usize {
    memory::process_bytes().expect("the allocator is metered")
}

fn begin(store: &Store) -> (Arc<Txn>, Savepoint) {
    let txn = store.txns().begin();
    let savepoint = txn.savepoint();
    (txn, savepoint)
}

fn commit(store: &Store, txn: &Arc<Txn>) {
    store.txns().commit(txn).expect("the log can be written");
}

/// The sum of `v`, and how many rows there are.
fn sum(table: &Table, snapshot: &Snapshot) -> (i64, usize) {
    let (mut sum, mut rows) = (0, 0);
    for leaf_no in 0..table.leaf_count() {
        let Some(view) = table.scan_leaf(leaf_no, &[1], snapshot) else { continue };
        view.selection.for_each(view.rows, |i| {
            let Value::Int(v) = view.columns[0].value(i, &types::SqlType::BIGINT) else { panic!("a number") };
            (sum, rows) = (sum + v, rows + 1);
        });
    }
    (sum, rows)
}

/// Updates rows, a transaction each or all in one, until there is no room; returns how many were updated.
fn update_until_full(store: &Store, table: &Arc<Table>, ids: &[u64], together: bool) -> usize {
    let one = chunk(table, 1, &[Value::Int(1)]);
    let (mut txn, _) = begin(store);
    for (i, &id) in ids.iter().enumerate() {
        let savepoint = txn.savepoint();
        match table.update(&txn, id, &[1], &[&one], 0) {
            Ok(done) => assert!(done),
            Err(e) => {
                assert_eq!(e.code().0, 1114, "{e}");
                store.txns().rollback_to(&txn, savepoint);
                match together {
                    true => store.txns().rollback(&txn),
                    false => commit(store, &txn),
                }
                return i;
            }
        }
        if !together {
            commit(store, &txn);
            txn = begin(store).0;
        }
    }
    panic!("all rows were updated: {} of {} bytes", held(), memory::limit_bytes());
}

#[test]
fn versions_have_no_more_room_than_the_process() {
    let (store, table) = kvs(1024, false);
    let (txn, _) = begin(&store);
    let row = |k| vec![Value::Int(k), Value::Int(0), Value::Null];
    let mut ids = Vec::with_capacity(ROWS);
    for first in (0..ROWS as i64).step_by(100) {
        let rows: Vec<_> = (first..first + 100).map(row).collect();
        ids.extend(insert(&table, &txn, &rows).expect("no duplicates"));
    }
    commit(&store, &txn);
    store.txns().collect_garbage(usize::MAX);
    // Residence is above the heap here, and the bound is about both.
    let resident = memory::resident_bytes().unwrap_or(0);
    let limit = (held().max(resident - resident / 32) + MORE_BYTES) / 31 * 32;
    memory::set_limit(limit);

    let oldest = store.txns().snapshot();
    let updated = update_until_full(&store, &table, &ids, false);
    assert!(updated > 5000, "{updated} of {ROWS}");
    assert!(held() <= limit + limit / 16, "{} of {limit}", held());
    assert_eq!(sum(&table, &store.txns().snapshot()), (updated as i64, ROWS));
    assert_eq!(sum(&table, &oldest), (0, ROWS), "what an old snapshot sees stays");

    let one = chunk(&table, 1, &[Value::Int(1)]);
    let (txn, savepoint) = begin(&store);
    assert!(table.update(&txn, ids[ROWS - 1], &[1], &[&one], 0).is_err(), "it is full still");
    store.txns().rollback_to(&txn, savepoint);
    // Rows can go, and be locked, in what is left to others.
    assert_eq!(table.lock_row(&txn, ids[ROWS - 1], LockWait::Wait), Ok(RowLock::Locked));
    (1..=100).for_each(|i| assert_eq!(table.delete(&txn, ids[ROWS - i]), Ok(true)));
    store.txns().rollback(&txn);

    // The end of the snapshot, and of what it kept, makes room; one transaction of all rows then needs more than there
    // is.
    drop(oldest);
    store.txns().collect_garbage(usize::MAX);
    assert_eq!(table.version_records(), 0);
    let before = sum(&table, &store.txns().snapshot());
    let updated = update_until_full(&store, &table, &ids, true);
    assert!(updated > 5000, "{updated} of {ROWS}");
    assert!(held() <= limit + limit / 16, "{} of {limit}", held());
    assert_eq!(sum(&table, &store.txns().snapshot()), before, "the transaction is as if it never was");
    assert_eq!(table.version_records(), 0);
    let (txn, _) = begin(&store);
    assert_eq!(table.update(&txn, ids[0], &[1], &[&one], 0), Ok(true), "there is room again");
    commit(&store, &txn);
    memory::set_limit(0);
    assert_eq!(table.check(), Vec::<String>::new());
}
