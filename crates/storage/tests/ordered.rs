//! Ordered indexes against the definition of order: every snapshot's rows, sorted.

mod common;

use catalog::{IndexDef, IndexKind, IndexPart};
use common::*;
use proptest::prelude::*;
use std::ops::Bound;
use std::sync::Arc;
use storage::{Candidates, KeyRange, LockWait, Snapshot, StorageOptions, Store, Table, Txn};
use types::{Collation, SqlType, Value};
use vector::Chunk;

fn key(name: &str, parts: &[(usize, Option<u32>, bool)]) -> IndexDef {
    let part = |&(column_idx, prefix_len, descending): &_| IndexPart { column_idx, prefix_len, descending };
    IndexDef {
        name: name.into(),
        kind: IndexKind::Plain,
        parts: parts.iter().map(part).collect(),
        algorithm: None,
        comment: "".into(),
        invisible: false,
        made_for_foreign_key: false,
    }
}

/// `t (k INT PRIMARY KEY, v BIGINT, s VARCHAR(100) utf8mb4, UNIQUE (v, k), KEY (v), KEY (s(2) DESC, v))`
fn table(leaf_rows: usize) -> (Store, Arc<Table>) {
    let store = Store::new(StorageOptions { leaf_rows: Some(leaf_rows) });
    let columns = vec![
        column("k", SqlType::INT, false),
        column("v", SqlType::BIGINT, true),
        column("s", SqlType::varchar(100, Collation::Utf8mb4_0900AiCi), true),
    ];
    let indexes = vec![
        unique("PRIMARY", &[0]),
        unique("vk", &[1, 0]),
        key("v", &[(1, None, false)]),
        key("s", &[(2, Some(2), true), (1, None, false)]),
    ];
    let table = store.create_table(def(1, columns, indexes));
    (store, table)
}

/// (key, row id) of all rows that the snapshot sees, by scanning.
fn scanned(table: &Table, index: usize, snapshot: &Snapshot) -> Vec<(Vec<u8>, u64)> {
    let encoder = table.index_encoder(index).expect("an ordered index");
    let mut out = Vec::new();
    for leaf_no in 0..table.leaf_count() {
        let Some(view) = table.scan_leaf(leaf_no, &[0, 1, 2], snapshot) else { continue };
        view.selection.for_each(view.rows, |i| {
            let mut key = Vec::new();
            encoder.encode_row(&|c| (&*view.columns[c], i), &mut key);
            out.push((key, view.base_row_id + i as u64));
        });
    }
    out.sort();
    out
}

fn walked(
    table: &Table,
    index: usize,
    range: &KeyRange,
    reverse: bool,
    batch: usize,
    snapshot: &Snapshot,
) -> Vec<(Vec<u8>, u64)> {
    let encoder = table.index_encoder(index).expect("an ordered index");
    let mut cursor = table.index_cursor(index, range, reverse).expect("an ordered index");
    let mut candidates = Candidates::default();
    let mut out = Vec::new();
    while cursor.next(&mut candidates, batch) {
        assert!(!candidates.is_empty() && candidates.len() <= batch);
        let rows = table.fetch_candidates(index, &candidates, &[0, 1, 2], snapshot);
        for (i, &row_id) in rows.row_ids.iter().enumerate() {
            let mut key = Vec::new();
            encoder.encode_row(&|c| (&rows.columns[c], i), &mut key);
            out.push((key, row_id));
        }
    }
    out
}

fn within(range: &KeyRange, key: &[u8]) -> bool {
    let lo = match &range.lo {
        Bound::Unbounded => true,
        Bound::Included(p) => key >= &p[..],
        Bound::Excluded(p) => key > &p[..] && !key.starts_with(p),
    };
    let hi = match &range.hi {
        Bound::Unbounded => true,
        Bound::Included(p) => key <= &p[..] || key.starts_with(p),
        Bound::Excluded(p) => key < &p[..],
    };
    lo && hi
}

/// The first row in the range that `snapshot` sees, found by batches that grow.
fn first_row(table: &Table, index: usize, range: &KeyRange, reverse: bool, snapshot: &Snapshot) -> Option<u64> {
    let mut cursor = table.index_cursor(index, range, reverse)?;
    let mut batch = Candidates::default();
    let mut max = 4;
    while cursor.next(&mut batch, max) {
        if let Some(&row_id) = table.visible_candidates(index, &batch, snapshot).first() {
            return Some(row_id);
        }
        max = (max * 4).min(1024);
    }
    None
}

fn compare(table: &Table, snapshot: &Snapshot, range_of: impl Fn(usize) -> KeyRange, batch: usize) {
    for index in 0..4 {
        let range = range_of(index);
        let mut wanted = scanned(table, index, snapshot);
        wanted.retain(|(k, _)| within(&range, k));
        assert_eq!(walked(table, index, &range, false, batch, snapshot), wanted, "index {index} {range:?}");
        let first = first_row(table, index, &range, false, snapshot);
        assert_eq!(first, wanted.first().map(|w| w.1));
        wanted.reverse();
        assert_eq!(walked(table, index, &range, true, batch, snapshot), wanted, "index {index} reversed {range:?}");
        assert_eq!(first_row(table, index, &range, true, snapshot), wanted.first().map(|w| w.1));
    }
}

#[derive(Clone, Debug)]
enum Op {
    Insert(i64, Option<i64>, Option<String>),
    Load(Vec<i64>),
    Update(usize, usize, i64),
    Delete(usize),
    Commit,
    Rollback,
    Snapshot,
    Forget,
    Compare(usize, Option<i64>, Option<i64>, usize),
    Collect,
}

fn op() -> impl Strategy<Value = Op> {
    let text = proptest::sample::select(vec!["", "a", "ab", "abc", "B", "bé", "Be", "z z"]);
    let v = prop_oneof![Just(None), (0i64..6).prop_map(Some)];
    let s = prop_oneof![1 => Just(None), 5 => text.prop_map(|t| Some(t.to_string()))];
    prop_oneof![
        6 => (-40i64..40, v, s).prop_map(|(k, v, s)| Op::Insert(k, v, s)),
        1 => proptest::collection::vec(-60i64..60, 1..30).prop_map(Op::Load),
        6 => (any::<usize>(), 0usize..3, -40i64..40).prop_map(|(r, c, v)| Op::Update(r, c, v)),
        3 => any::<usize>().prop_map(Op::Delete),
        3 => Just(Op::Commit),
        1 => Just(Op::Rollback),
        1 => Just(Op::Snapshot),
        1 => Just(Op::Forget),
        1 => Just(Op::Collect),
        2 => (0usize..4, proptest::option::of(-3i64..8), proptest::option::of(-3i64..8), 1usize..9)
            .prop_map(|(kind, lo, hi, batch)| Op::Compare(kind, lo, hi, batch)),
    ]
}

fn range_of(table: &Table, index: usize, kind: usize, lo: Option<i64>, hi: Option<i64>) -> KeyRange {
    let encoder = table.index_encoder(index).expect("an ordered index");
    let encode = |v: i64| match index {
        3 if v < 0 => encoder.encode(&[Value::Null]),
        3 => encoder.encode_text_prefix(&[], [b"a", &b"b"[..], b"be", b"z", b"", b"ab", b"zz", b"zzz"][v as usize]),
        0 => encoder.encode(&[Value::Int(v * 4)]),
        _ if v < -2 => encoder.encode(&[Value::Null]),
        _ => encoder.encode(&[Value::Int(v)]),
    };
    let bound = |v: Option<i64>, excluded: bool| match v {
        None => Bound::Unbounded,
        Some(v) if excluded => Bound::Excluded(encode(v)),
        Some(v) => Bound::Included(encode(v)),
    };
    KeyRange { lo: bound(lo, kind & 1 == 1), hi: bound(hi, kind & 2 == 2) }
}

fn row(table: &Table, k: i64, v: Option<i64>, s: Option<&str>) -> Vec<Chunk> {
    let values = vec![Value::Int(k), v.map_or(Value::Null, Value::Int), s.map_or(Value::Null, Value::str)];
    chunks(table, &[values])
}

fn visible(table: &Table, store: &Store, txn: &Txn) -> Vec<u64> {
    scanned(table, 0, &store.txns().current(txn)).into_iter().map(|r| r.1).collect()
}

fn run(ops: Vec<Op>, leaf_rows: usize, early: bool) {
    let (store, table) = table(leaf_rows);
    if early {
        (0..4).for_each(|i| table.build_index(i));
    }
    let mut txn = store.txns().begin();
    let mut snapshots = vec![];
    for op in ops {
        txn.begin_statement();
        match op {
            Op::Insert(k, v, s) => {
                let row = row(&table, k, v, s.as_deref());
                let refs: Vec<&Chunk> = row.iter().collect();
                _ = table.try_insert(&txn, &refs, 0).expect("nobody else writes");
            }
            Op::Load(keys) => {
                let savepoint = txn.savepoint();
                let mut load = storage::BulkAppender::new(&table, &txn).ignore_duplicates();
                let mut loaded = Ok(());
                for k in keys {
                    load.push_value(0, &Value::Int(k));
                    load.push_value(1, &Value::Int(k % 5));
                    load.push_value(2, &Value::str(["x", "y", "Ab"][k.rem_euclid(3) as usize]));
                    loaded = loaded.and_then(|()| load.end_row());
                }
                if loaded.and_then(|()| load.finish()).is_err() {
                    store.txns().rollback_to(&txn, savepoint);
                }
            }
            Op::Update(r, c, v) => {
                let ids = visible(&table, &store, &txn);
                if ids.is_empty() {
                    continue;
                }
                let value = match c {
                    2 => Value::str(["", "a", "Bé", "abd", "z"][v.rem_euclid(5) as usize]),
                    1 => Value::Int(v.rem_euclid(6)),
                    _ => Value::Int(v),
                };
                let new = chunk(&table, c, &[value]);
                let savepoint = txn.savepoint();
                if table.update(&txn, ids[r % ids.len()], &[c], &[&new], 0).is_err() {
                    store.txns().rollback_to(&txn, savepoint);
                }
            }
            Op::Delete(r) => {
                let ids = visible(&table, &store, &txn);
                if !ids.is_empty() {
                    table.delete(&txn, ids[r % ids.len()]).expect("nobody else writes");
                }
            }
            Op::Commit => {
                store.txns().commit(&txn).expect("the log can be written");
                txn = store.txns().begin();
            }
            Op::Rollback => {
                store.txns().rollback(&txn);
                txn = store.txns().begin();
            }
            Op::Snapshot => snapshots.push(store.txns().snapshot_of(&txn)),
            Op::Forget => drop(snapshots.pop()),
            Op::Collect => store.txns().collect_garbage(1000),
            Op::Compare(kind, lo, hi, batch) => {
                let now = store.txns().current(&txn);
                for snapshot in snapshots.iter().chain([&now]) {
                    compare(&table, snapshot, |i| range_of(&table, i, kind, lo, hi), batch);
                }
            }
        }
    }
    let now = store.txns().current(&txn);
    for snapshot in snapshots.iter().chain([&now]) {
        compare(&table, snapshot, |_| KeyRange::ALL, 7);
    }
    drop((now, snapshots));
    store.txns().commit(&txn).expect("the log can be written");
    store.txns().collect_garbage(1000);
    assert_eq!(table.check(), Vec::<String>::new());
    // Nothing is kept for versions that nobody needs.
    let rows = table.row_count();
    for index in 0..4 {
        let mut cursor = table.index_cursor(index, &KeyRange::ALL, false).expect("an ordered index");
        let mut candidates = Candidates::default();
        let mut n = 0;
        while cursor.next(&mut candidates, 100) {
            n += candidates.len() as u64;
        }
        assert_eq!(n, rows, "entries of index {index}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_snapshot_reads_its_rows_in_order(
        ops in proptest::collection::vec(op(), 1..120),
        leaf_rows in proptest::sample::select(vec![8usize, 16, 64]),
        early in any::<bool>(),
    ) {
        run(ops, leaf_rows, early);
    }
}

#[test]
fn an_index_is_built_while_others_write() {
    let (store, table) = table(64);
    let write = |from: i64, n: i64| {
        for k in from..from + n {
            let txn = store.txns().begin();
            let row = row(&table, k, Some(k % 97), Some(["a", "b", "c"][k as usize % 3]));
            let ids = table.insert_rows(&txn, &row.iter().collect::<Vec<_>>(), 1).expect("keys are new");
            if k % 3 == 0 {
                let new = chunk(&table, 1, &[Value::Int(k % 89 + 1000)]);
                table.update(&txn, ids[0], &[1], &[&new], 0).expect("it is ours");
            }
            if k % 5 == 0 {
                store.txns().rollback(&txn);
                continue;
            }
            store.txns().commit(&txn).expect("the log can be written");
            if k % 7 == 0 {
                let txn = store.txns().begin();
                if table.lock_row(&txn, ids[0], LockWait::Wait).expect("nobody waits long") == storage::RowLock::Locked
                {
                    table.delete(&txn, ids[0]).expect("it is ours");
                }
                store.txns().commit(&txn).expect("the log can be written");
            }
        }
    };
    write(0, 2000);
    std::thread::scope(|scope| {
        scope.spawn(|| write(10_000, 2000));
        scope.spawn(|| write(20_000, 2000));
        scope.spawn(|| {
            for _ in 0..20 {
                let snapshot = store.txns().snapshot();
                compare(&table, &snapshot, |_| KeyRange::ALL, 500);
            }
        });
    });
    compare(&table, &store.txns().snapshot(), |_| KeyRange::ALL, 500);
    store.txns().collect_garbage(1 << 20);
    assert_eq!(table.check(), Vec::<String>::new());
}

fn definition(indexes: Vec<IndexDef>) -> Arc<catalog::TableDef> {
    let columns = vec![
        column("k", SqlType::INT, false),
        column("v", SqlType::BIGINT, true),
        column("s", SqlType::varchar(100, Collation::Utf8mb4_0900AiCi), true),
    ];
    def(1, columns, indexes)
}

/// Versions that are older than the index have before-images of single columns of its keys; they go while it is built.
#[test]
fn old_versions_go_while_an_index_of_several_columns_is_built() {
    let store = Store::new(StorageOptions { leaf_rows: Some(16) });
    let plain = definition(vec![unique("PRIMARY", &[0])]);
    let table = store.create_table(plain.clone());
    let txn = store.txns().begin();
    let rows: Vec<Vec<Chunk>> = (0..1500).map(|k| row(&table, k, Some(k), Some("a"))).collect();
    let ids: Vec<u64> = rows
        .iter()
        .flat_map(|r| table.insert_rows(&txn, &r.iter().collect::<Vec<_>>(), 1).expect("keys are new"))
        .collect();
    store.txns().commit(&txn).expect("the log can be written");
    let update = |round: i64| {
        for (i, id) in ids.iter().enumerate() {
            let txn = store.txns().begin();
            let new = chunk(&table, 1, &[Value::Int(round * 10_000 + i as i64 % 7)]);
            table.update(&txn, *id, &[1], &[&new], 0).expect("nobody waits long");
            store.txns().commit(&txn).expect("the log can be written");
        }
    };
    let wanted = definition(vec![unique("PRIMARY", &[0]), key("vk", &[(1, None, false), (0, None, false)])]);
    for round in 0..30 {
        let old = store.txns().snapshot();
        update(round * 2);
        let reindex = table.reindex(wanted.clone(), vec![Some(0), None]);
        std::thread::scope(|scope| {
            scope.spawn(|| reindex.build());
            scope.spawn(|| {
                drop(old);
                store.txns().collect_garbage(1 << 20);
                update(round * 2 + 1);
            });
        });
        reindex.check().expect("nothing is unique");
        reindex.publish();
        store.txns().collect_garbage(1 << 20);
        assert_eq!(table.check(), Vec::<String>::new(), "round {round}");
        let snapshot = store.txns().snapshot();
        assert_eq!(walked(&table, 1, &KeyRange::ALL, false, 100, &snapshot), scanned(&table, 1, &snapshot));
        table.reindex(plain.clone(), vec![Some(0)]).publish();
    }
}

#[test]
fn indexes_come_and_go_while_others_write() {
    let store = Store::new(StorageOptions { leaf_rows: Some(64) });
    let table = store.create_table(definition(vec![unique("PRIMARY", &[0])]));
    let write = |from: i64, n: i64, double: bool| {
        for k in from..from + n {
            let txn = store.txns().begin();
            let v = if double && k == from + n / 2 { from } else { k };
            let row = row(&table, k, Some(v), Some(["a", "b", "c"][k as usize % 3]));
            let ids = table.insert_rows(&txn, &row.iter().collect::<Vec<_>>(), 1).expect("keys are new");
            if k % 4 == 1 {
                let new = chunk(&table, 1, &[Value::Int(v + 1_000_000)]);
                table.update(&txn, ids[0], &[1], &[&new], 0).expect("it is ours");
            }
            if k % 5 == 0 {
                store.txns().rollback(&txn)
            } else {
                _ = store.txns().commit(&txn).expect("the log can be written")
            }
        }
    };
    write(1, 1500, false);
    let wanted =
        definition(vec![unique("PRIMARY", &[0]), unique("v", &[1]), key("s", &[(2, None, false), (1, None, true)])]);
    // An old snapshot will read by indexes that are younger than it.
    let old = store.txns().snapshot();
    for double in [true, false] {
        let reindex = table.reindex(wanted.clone(), vec![Some(0), None, None]);
        let first = if double { 10_001 } else { 30_001 };
        std::thread::scope(|scope| {
            scope.spawn(|| write(first, 1000, double));
            scope.spawn(|| reindex.build());
            scope.spawn(|| write(first + 10_000, 1000, false));
        });
        let published = reindex.check().map(|()| reindex.publish());
        if !double {
            published.expect("the keys are unique");
            break;
        }
        assert_eq!(published.expect_err("a key is there twice").code(), types::ErrorCode::DUP_ENTRY);
        assert_eq!(table.def().indexes.len(), 1);
        assert_eq!(table.check(), Vec::<String>::new());
        let txn = store.txns().begin();
        for (id, row) in scan(&table, &store.txns().snapshot()) {
            if row[0] == Value::Int(first + 500) {
                table.delete(&txn, id).expect("nobody else has it");
            }
        }
        store.txns().commit(&txn).expect("the log can be written");
    }
    for snapshot in [&old, &store.txns().snapshot()] {
        for index in 0..3 {
            let wanted = scanned(&table, index, snapshot);
            assert_eq!(walked(&table, index, &KeyRange::ALL, false, 100, snapshot), wanted);
        }
    }
    drop(old);
    store.txns().collect_garbage(1 << 20);
    assert_eq!(table.check(), Vec::<String>::new());
    let txn = store.txns().begin();
    let again = row(&table, 99_999, Some(30_002), Some("x"));
    let duplicate = table.insert_rows(&txn, &again.iter().collect::<Vec<_>>(), 1).expect_err("30002 is taken");
    assert_eq!(duplicate.message(), "Duplicate entry '30002' for key 't.v'");
    store.txns().rollback(&txn);
    // The unique key goes, the other one takes its position.
    let fewer = definition(vec![unique("PRIMARY", &[0]), key("s", &[(2, None, false), (1, None, true)])]);
    table.reindex(fewer, vec![Some(0), Some(2)]).publish();
    let snapshot = store.txns().snapshot();
    assert_eq!(walked(&table, 1, &KeyRange::ALL, true, 100, &snapshot).len() as u64, table.row_count());
    let txn = store.txns().begin();
    table.insert_rows(&txn, &again.iter().collect::<Vec<_>>(), 1).expect("keys may repeat now");
    store.txns().commit(&txn).expect("the log can be written");
    assert_eq!(table.check(), Vec::<String>::new());
}

#[test]
fn a_build_that_is_stopped_leaves_a_cold_index_and_waiting_for_one_can_be_stopped() {
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    let (store, table) = table(8);
    let stopped = || types::Error::query_interrupted();
    let txn = store.txns().begin();
    for k in 0..400 {
        insert(&table, &txn, &[row_values(k)]).expect("no duplicates");
    }
    store.txns().commit(&txn).expect("no log to fail");
    // At any leaf, while a writer goes on.
    let next = AtomicU32::new(400);
    for at in [0, 1, 7, 30, 49] {
        let asked = AtomicU32::new(0);
        let go_on = || {
            let k = next.fetch_add(1, Ordering::Relaxed);
            let txn = store.txns().begin();
            insert(&table, &txn, &[row_values(k as i64)]).expect("no duplicates");
            store.txns().commit(&txn).expect("no log to fail");
            if asked.fetch_add(1, Ordering::Relaxed) == at { Err(stopped()) } else { Ok(()) }
        };
        let e = table.build_index_while(2, &go_on).expect_err("it was stopped");
        assert_eq!(e.message(), stopped().message());
        assert_eq!(table.check(), Vec::<String>::new());
    }
    // One builds, another one waits for it and gives up; the first goes on undisturbed.
    let (building, done) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let builder = scope.spawn(|| {
            table.build_index_while(2, &|| {
                building.store(true, Ordering::Release);
                while !done.load(Ordering::Acquire) {
                    std::thread::yield_now();
                }
                Ok(())
            })
        });
        while !building.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        let gave_up = table.build_index_while(2, &|| Err(stopped()));
        // Another index is nobody's business but its own.
        let other = table.build_index_while(3, &|| Ok(()));
        done.store(true, Ordering::Release);
        assert!(gave_up.is_err() && other.is_ok());
        builder.join().expect("no panic").expect("nobody stopped it");
    });
    assert_eq!(table.check(), Vec::<String>::new());
    let snapshot = store.txns().snapshot();
    for index in [2, 3] {
        let wanted = scanned(&table, index, &snapshot);
        assert_eq!(walked(&table, index, &KeyRange::ALL, false, 100, &snapshot), wanted);
    }
}

fn row_values(k: i64) -> Vec<Value> {
    vec![Value::Int(k), Value::Int(k * 7 % 31), Value::str(&format!("s{}", k % 13))]
}
