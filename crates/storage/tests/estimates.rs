//! How many entries a range has: the same answer before and after the index's tree was built.

mod common;

use catalog::{IndexDef, IndexKind, IndexPart};
use common::*;
use std::ops::Bound;
use storage::{Candidates, KeyRange, StorageOptions, Store};
use types::{SqlType, Value};

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
    // Few entries are counted, many estimated.
    assert_eq!(cold[..3], [10, 1, 300]);
    for (estimate, rows) in [(cold[3], 5_000.0), (cold[4], 16_000.0)] {
        assert!((estimate as f64 / rows - 1.0).abs() < 0.3, "{estimate} for {rows}");
    }
}
