//! Estimates go by the rows: not by what was read before, by where rows lie or by how they came there.

mod common;

use catalog::{IndexDef, IndexKind, IndexPart};
use common::*;
use std::ops::Bound;
use storage::{Candidates, KeyRange, StorageOptions, Store};
use types::{Decimal, SqlType, Value};

const ROWS: i64 = 20_000;

#[test]
fn a_cold_index_says_what_it_says_when_it_was_read() {
    let store = Store::new(StorageOptions { leaf_rows: Some(256) });
    let columns = vec![column("k", SqlType::INT, false), column("v", SqlType::BIGINT, true)];
    let by_value = IndexDef {
        name: "v".into(),
        kind: IndexKind::Plain,
        parts: vec![IndexPart { column_idx: 1, prefix_len: None, descending: false }],
        algorithm: None,
        comment: "".into(),
        invisible: false,
        made_for_foreign_key: false,
    };
    let table = store.create_table(def(1, columns, vec![unique("PRIMARY", &[0]), by_value]));
    let txn = store.txns().begin();
    for from in (0..ROWS).step_by(1000) {
        // Values 0, 7919, ... modulo the rows: each once, scattered.
        let rows: Vec<Vec<Value>> =
            (from..from + 1000).map(|k| vec![Value::Int(k), Value::Int(k * 7919 % ROWS)]).collect();
        insert(&table, &txn, &rows).expect("no key is there twice");
    }
    store.txns().commit(&txn).expect("it commits");
    let encoder = table.index_encoder(1).expect("an ordered index");
    let end = |v: i64| encoder.encode(&[Value::Int(v)]);
    let range = |from, to| KeyRange { lo: Bound::Included(end(from)), hi: Bound::Excluded(end(to)) };
    let ranges = [range(0, 10), range(500, 501), range(100, 400), range(0, 5_000), range(3_000, 19_000)];
    let estimates = || ranges.iter().map(|r| table.index_estimate(1, r)).collect::<Vec<_>>();
    // The widest first: it does not build the index.
    let mut cold: Vec<u64> = ranges.iter().rev().map(|r| table.index_estimate(1, r)).collect();
    cold.reverse();
    let mut cursor = table.index_cursor(1, &KeyRange { lo: Bound::Unbounded, hi: Bound::Unbounded }, false);
    let mut all = Candidates::default();
    assert!(cursor.as_mut().expect("an ordered index").next(&mut all, 10));
    assert_eq!(cold, estimates());
    // Of narrow ranges the entries are counted; of wide ones the sample speaks.
    assert_eq!(cold[..3], [10, 1, 300]);
    for (estimate, rows) in [(cold[3], 5_000.0), (cold[4], 16_000.0)] {
        assert!((estimate as f64 / rows - 1.0).abs() < 0.3, "{estimate} for {rows}");
    }
}

/// The sample's keys, in order.
fn sampled(table: &storage::Table) -> Vec<i64> {
    let sample = table.statistics().sample.clone();
    let (chunk, _) = sample.columns[0].chunk();
    let mut keys: Vec<i64> = (0..sample.rows).map(|i| chunk.values.int_at(i).expect("an integer")).collect();
    keys.sort_unstable();
    keys
}

/// The same rows have the same sample, under whatever number and in whatever order they came, and after half are gone.
#[test]
fn a_sample_goes_by_the_rows() {
    let store = Store::new(StorageOptions { leaf_rows: Some(256) });
    let columns = vec![column("k", SqlType::INT, false), column("v", SqlType::BIGINT, true)];
    let fill = |id: u64, keys: &mut dyn Iterator<Item = i64>| {
        let table = store.create_table(def(id, columns.clone(), vec![unique("PRIMARY", &[0])]));
        let txn = store.txns().begin();
        let keys: Vec<i64> = keys.collect();
        for some in keys.chunks(700) {
            let rows: Vec<Vec<Value>> = some.iter().map(|k| vec![Value::Int(*k), Value::Int(k % 10)]).collect();
            insert(&table, &txn, &rows).expect("no key is there twice");
        }
        store.txns().commit(&txn).expect("it commits");
        table
    };
    let up = fill(1, &mut (0..ROWS));
    let down = fill(2, &mut (0..ROWS).rev());
    let first = sampled(&up);
    assert_eq!(first.len(), 1024);
    assert_eq!(first, sampled(&down));
    let small = first.iter().filter(|k| **k < ROWS / 2).count();
    assert!(small.abs_diff(512) < 100, "{small} of the lower half");
    let txn = store.txns().begin();
    let snapshot = store.txns().snapshot();
    let rows: Vec<u64> = (0..up.leaf_count())
        .filter_map(|leaf_no| up.scan_leaf(leaf_no, &[0], &snapshot))
        .flat_map(|v| {
            let is_low = |i: &usize| v.columns[0].values.int_at(*i).is_some_and(|k| k < ROWS / 2);
            (0..v.rows).filter(is_low).map(|i| v.base_row_id + i as u64).collect::<Vec<_>>()
        })
        .collect();
    for row in rows {
        up.delete(&txn, row).expect("nobody else holds it");
    }
    store.txns().commit(&txn).expect("it commits");
    up.refresh_statistics(&|| false);
    let half = fill(3, &mut (ROWS / 2..ROWS));
    assert_eq!(sampled(&up), sampled(&half));
}

/// Full leaves hold numbers in narrow arrays, the last one in a wide one: a value is one value in both.
#[test]
fn carriers_do_not_count() {
    let store = Store::new(StorageOptions { leaf_rows: Some(256) });
    let wide = SqlType::Decimal { precision: 30, scale: 0 };
    let table = store.create_table(def(1, vec![column("v", wide, false)], vec![]));
    let txn = store.txns().begin();
    let value = |i: i64| Value::Decimal(Decimal::from_i64(i % 100));
    let rows: Vec<Vec<Value>> = (0..356).map(|i| vec![value(i)]).collect();
    insert(&table, &txn, &rows).expect("there are no keys");
    store.txns().commit(&txn).expect("it commits");
    table.refresh_statistics(&|| false);
    let distinct = table.statistics().columns[0].distinct;
    assert!((distinct - 100.0).abs() < 6.0, "{distinct}");
}
