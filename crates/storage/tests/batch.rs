//! Batches by key, against a map, with a transaction that gets in the way.

mod common;

use common::{chunk, chunks, kvs};
use std::collections::BTreeMap;
use std::sync::Arc;
use storage::{Keys, Table};
use types::Value;
use vector::Chunk;

fn int_keys(table: &Table, keys: impl IntoIterator<Item = i64>) -> Chunk {
    chunk(table, 0, &keys.into_iter().map(Value::Int).collect::<Vec<_>>())
}

fn state(store: &storage::Store, table: &Arc<Table>) -> BTreeMap<i64, i64> {
    let keys = int_keys(table, 0..100);
    let found = table.read_by_key(Keys { index: 0, parts: &[&keys], rows: 100 }, &[0, 1], &store.txns().snapshot());
    let seen = |i: usize| found.seen.as_ref().is_none_or(|s| s.get(i));
    let at = |c: usize, i: usize| found.columns[c].values.int_at(i).expect("it is a number");
    (0..100).filter(|&i| seen(i)).map(|i| (at(0, i), at(1, i))).collect()
}

#[test]
fn batches_do_what_they_say() {
    let (store, table) = kvs(8, false);
    let txn = store.txns().begin();
    let rows: Vec<Vec<Value>> =
        (0..50).map(|k| vec![Value::Int(k * 2), Value::Int(k), Value::Bytes(b"x".as_slice().into())]).collect();
    let columns = chunks(&table, &rows);
    table.insert_rows(&txn, &columns.iter().collect::<Vec<_>>(), 50).unwrap();
    store.txns().commit(&txn).expect("the log can be written");
    let mut expected: BTreeMap<i64, i64> = (0..50).map(|k| (k * 2, k)).collect();
    assert_eq!(state(&store, &table), expected);

    let txn = store.txns().begin();
    let keys = int_keys(&table, [10, 11, 12, 98, 99, 10]);
    let values = chunk(&table, 1, &[1, 2, 3, 4, 5, 6].map(Value::Int));
    let batch = Keys { index: 0, parts: &[&keys], rows: 6 };
    assert_eq!(table.update_by_key(&txn, batch, &[1], &[&values]).unwrap(), 4, "odd keys have no rows");
    expected.extend([(10, 6), (12, 3), (98, 4)]);
    store.txns().commit(&txn).expect("the log can be written");
    assert_eq!(state(&store, &table), expected);

    let txn = store.txns().begin();
    let keys = int_keys(&table, [0, 1, 2, 0]);
    assert_eq!(table.delete_by_key(&txn, Keys { index: 0, parts: &[&keys], rows: 4 }).unwrap(), 2);
    assert_eq!(state(&store, &table), expected, "not committed yet");
    store.txns().commit(&txn).expect("the log can be written");
    expected.retain(|k, _| ![0, 2].contains(k));
    assert_eq!(state(&store, &table), expected);
}

#[test]
fn a_row_that_comes_again_under_its_key_is_found() {
    let (store, table) = kvs(8, false);
    let row = |v: i64| chunks(&table, &[vec![Value::Int(7), Value::Int(v), Value::Null]]);
    let insert = |txn: &Arc<storage::Txn>, v| {
        table.insert_rows(txn, &row(v).iter().collect::<Vec<_>>(), 1).unwrap();
    };
    let first = store.txns().begin();
    insert(&first, 1);
    store.txns().commit(&first).expect("the log can be written");

    // Another transaction deletes the row and inserts it anew while the batch waits for it.
    let other = store.txns().begin();
    let keys = int_keys(&table, [7]);
    assert_eq!(table.delete_by_key(&other, Keys { index: 0, parts: &[&keys], rows: 1 }).unwrap(), 1);
    insert(&other, 2);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let txn = store.txns().begin();
            let value = chunk(&table, 1, &[Value::Int(3)]);
            let parts = [&keys];
            let updated =
                table.update_by_key(&txn, Keys { index: 0, parts: &parts, rows: 1 }, &[1], &[&value]).unwrap();
            store.txns().commit(&txn).expect("the log can be written");
            updated
        });
        std::thread::sleep(std::time::Duration::from_millis(50));
        store.txns().commit(&other).expect("the log can be written");
        assert_eq!(waiting.join().unwrap(), 1);
    });
    assert_eq!(state(&store, &table), BTreeMap::from([(7, 3)]));
}
