//! Rows that come in batches behind a table's own: they lie as if inserted one by one, and fail as these do.

mod common;

use common::{chunks, kvs};
use std::sync::{Arc, Barrier};
use storage::{RowsBehind, Store, Table, Txn};
use types::Value;
use vector::Chunk;

fn batch(table: &Table, keys: impl IntoIterator<Item = i64>) -> (Vec<Arc<Chunk>>, usize) {
    let text = |k: i64| Value::Bytes(format!("row number {k}").into_bytes().into());
    let rows: Vec<Vec<Value>> = keys.into_iter().map(|k| vec![Value::Int(k), Value::Int(k % 7), text(k)]).collect();
    (chunks(table, &rows).into_iter().map(Arc::new).collect(), rows.len())
}

fn push(behind: &mut RowsBehind, table: &Table, keys: impl IntoIterator<Item = i64>) -> types::Result<()> {
    let (columns, rows) = batch(table, keys);
    behind.push(columns, rows)
}

/// Keys in the order in which the table's rows lie.
fn keys(store: &Store, table: &Table) -> Vec<i64> {
    let snapshot = store.txns().snapshot();
    let mut out = Vec::new();
    for leaf in 0..table.leaf_count() {
        let Some(view) = table.scan_leaf(leaf, &[0], &snapshot) else { continue };
        view.selection.for_each(view.rows, |i| out.push(view.columns[0].values.int_at(i).expect("a number")));
    }
    out
}

fn commit(store: &Store, txn: &Arc<Txn>) {
    store.txns().commit(txn).expect("the log can be written");
}

#[test]
fn rows_lie_in_the_order_in_which_they_come() {
    for first in [0, 1, 5, 8, 13] {
        let (store, table) = kvs(8, false);
        let mut next = 0;
        for sizes in [vec![first], vec![3, 30, 1, 1], vec![2], vec![8, 8], vec![100]] {
            let txn = store.txns().begin();
            let mut behind = RowsBehind::new(&table, &txn);
            for n in sizes {
                push(&mut behind, &table, next..next + n).expect("new keys");
                next += n;
            }
            behind.flush().expect("new keys");
            commit(&store, &txn);
        }
        assert_eq!(keys(&store, &table), (0..next).collect::<Vec<_>>(), "{first} rows first");
        assert_eq!(table.leaf_count(), (next as u64).div_ceil(8), "no leaf is left half full");
    }
}

#[test]
fn the_first_duplicate_is_the_error_and_all_can_be_taken_back() {
    let (store, table) = kvs(8, false);
    let txn = store.txns().begin();
    let mut behind = RowsBehind::new(&table, &txn);
    push(&mut behind, &table, 0..20).expect("new keys");
    behind.flush().expect("new keys");
    commit(&store, &txn);
    let txn = store.txns().begin();
    let savepoint = txn.savepoint();
    let mut behind = RowsBehind::new(&table, &txn);
    push(&mut behind, &table, 100..120).expect("new keys");
    let error = push(&mut behind, &table, [201, 202, 7, 5, 203, 204, 205, 206, 207, 208]).and_then(|()| behind.flush());
    let error = error.expect_err("two keys are there");
    assert!(error.message().contains("'7'"), "{error}");
    store.txns().rollback_to(&txn, savepoint);
    // The transaction goes on.
    let mut behind = RowsBehind::new(&table, &txn);
    push(&mut behind, &table, 100..140).expect("they are new again");
    behind.flush().expect("they are new again");
    commit(&store, &txn);
    let mut all = keys(&store, &table);
    all.sort_unstable();
    assert_eq!(all, (0..20).chain(100..140).collect::<Vec<_>>());
}

/// Of two that bring the same keys one waits for the other: none is told of a deadlock.
#[test]
fn the_same_keys_at_the_same_time() {
    for round in 0..30 {
        let (store, table) = kvs(8, false);
        let begin = Barrier::new(2);
        let outcomes: Vec<types::Result<()>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..2)
                .map(|_| {
                    scope.spawn(|| {
                        let txn = store.txns().begin();
                        let mut behind = RowsBehind::new(&table, &txn);
                        begin.wait();
                        let result = push(&mut behind, &table, 0..64).and_then(|()| behind.flush());
                        match &result {
                            Ok(()) => commit(&store, &txn),
                            Err(_) => store.txns().rollback(&txn),
                        }
                        result
                    })
                })
                .collect();
            threads.into_iter().map(|t| t.join().expect("no panic")).collect()
        });
        let errors: Vec<&types::Error> = outcomes.iter().filter_map(|o| o.as_ref().err()).collect();
        assert_eq!(errors.len(), 1, "round {round}: {outcomes:?}");
        assert_eq!(errors[0].code(), types::ErrorCode::DUP_ENTRY, "round {round}");
        let mut all = keys(&store, &table);
        all.sort_unstable();
        assert_eq!(all, (0..64).collect::<Vec<_>>());
    }
}
