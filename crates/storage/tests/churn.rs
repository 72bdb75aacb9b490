//! Tables whose rows come and go for long: they stay as small as their rows need, and indexes find what is there.

mod common;

use common::{chunk, insert, kvs, scan};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use storage::{Candidates, KeyRange, Store, Table};
use types::Value;

const LEAF_ROWS: usize = 32;

fn row(k: i64, v: i64) -> Vec<Value> {
    // Heaps of small leaves are not compacted: in tables of many rows strings lie in the views.
    let s = if k < 48 { format!("string number {k}") } else { format!("s{k}") };
    vec![Value::Int(k), Value::Int(v), Value::str(&s)]
}

/// Key to (row id, value).
type Model = BTreeMap<i64, (u64, i64)>;

fn add(store: &Store, table: &Arc<Table>, model: &mut Model, rows: &[(i64, i64)]) {
    let txn = store.txns().begin();
    let values: Vec<_> = rows.iter().map(|r| row(r.0, r.1)).collect();
    let ids = insert(table, &txn, &values).expect("no duplicates");
    model.extend(rows.iter().zip(ids).map(|(r, id)| (r.0, (id, r.1))));
    store.txns().commit(&txn).expect("the log can be written");
}

fn remove(store: &Store, table: &Arc<Table>, model: &mut Model, keys: &[i64]) {
    let txn = store.txns().begin();
    for k in keys {
        let (id, _) = model.remove(k).expect("a key of the model");
        assert_eq!(table.delete(&txn, id), Ok(true));
    }
    store.txns().commit(&txn).expect("the log can be written");
}

fn check(store: &Store, table: &Table, model: &Model) {
    assert_eq!(table.check(), Vec::<String>::new());
    let seen: Model = scan(table, &store.txns().snapshot())
        .into_iter()
        .map(|(id, r)| match (&r[0], &r[1]) {
            (Value::Int(k), Value::Int(v)) => (*k, (id, *v)),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(&seen, model);
}

/// Brings the ordered indexes to life.
fn read_in_order(table: &Arc<Table>) {
    for index in 0..2 {
        let mut cursor = table.index_cursor(index, &KeyRange::ALL, false).expect("an ordered index");
        let mut candidates = Candidates::default();
        while cursor.next(&mut candidates, 1000) {}
    }
}

#[test]
fn rows_that_come_and_go_anywhere_need_no_more_room() {
    for in_order in [false, true] {
        let (store, table) = kvs(LEAF_ROWS, true);
        let mut rng = fastrand::Rng::with_seed(7);
        let mut model = Model::new();
        let rows: Vec<(i64, i64)> = (0..1000).map(|k| (k, 0)).collect();
        add(&store, &table, &mut model, &rows);
        if in_order {
            read_in_order(&table);
        }
        let (mut next, mut bytes) = (1000, 0);
        for round in 0..3000 {
            let keys: Vec<i64> = model.keys().copied().collect();
            let mut gone: Vec<i64> = (0..4).map(|_| keys[rng.usize(..keys.len())]).collect();
            gone.sort_unstable();
            gone.dedup();
            remove(&store, &table, &mut model, &gone);
            let new: Vec<(i64, i64)> = (next..next + gone.len() as i64).map(|k| (k, round)).collect();
            next += new.len() as i64;
            add(&store, &table, &mut model, &new);
            if round == 1000 {
                bytes = table.bytes();
            }
        }
        check(&store, &table, &model);
        assert!(table.leaf_count() < 1000 / LEAF_ROWS as u64 * 2, "{} leaves", table.leaf_count());
        assert!(table.bytes() < bytes * 5 / 4, "{bytes} bytes, then {}", table.bytes());
    }
}

#[test]
fn a_queue_of_rows_stays_in_order_and_small() {
    let (store, table) = kvs(LEAF_ROWS, false);
    let mut model = Model::new();
    let rows: Vec<(i64, i64)> = (0..2000).map(|k| (k, 0)).collect();
    add(&store, &table, &mut model, &rows);
    let index_bytes = table.index_bytes();
    for next in (2000..12_000).step_by(8) {
        let new: Vec<(i64, i64)> = (next..next + 8).map(|k| (k, 1)).collect();
        add(&store, &table, &mut model, &new);
        let oldest: Vec<i64> = model.keys().copied().take(8).collect();
        remove(&store, &table, &mut model, &oldest);
    }
    check(&store, &table, &model);
    assert!(table.leaf_count() < 2000 / LEAF_ROWS as u64 + 8, "{} leaves", table.leaf_count());
    assert!(table.index_bytes() < index_bytes * 2, "{index_bytes} bytes, then {}", table.index_bytes());
}

#[test]
fn rows_that_are_taken_back_leave_nothing() {
    let (store, table) = kvs(LEAF_ROWS, true);
    let mut model = Model::new();
    add(&store, &table, &mut model, &[(0, 0)]);
    for round in 0..200 {
        let txn = store.txns().begin();
        let nothing = txn.savepoint();
        let rows: Vec<_> = (1..40).map(|k| row(k, round)).collect();
        insert(&table, &txn, &rows).expect("no duplicates");
        if round % 2 == 0 {
            store.txns().rollback(&txn)
        } else {
            store.txns().rollback_to(&txn, nothing)
        }
        if round % 2 == 1 {
            store.txns().commit(&txn).expect("the log can be written");
        }
    }
    check(&store, &table, &model);
    assert!(table.leaf_count() < 8, "{} leaves", table.leaf_count());
}

/// A snapshot sees what it saw while others fill what was freed before it, and nothing of that.
#[test]
fn an_old_snapshot_is_not_disturbed() {
    let (store, table) = kvs(LEAF_ROWS, true);
    let mut model = Model::new();
    let rows: Vec<(i64, i64)> = (0..400).map(|k| (k, 0)).collect();
    add(&store, &table, &mut model, &rows);
    let every_other: Vec<i64> = (0..400).step_by(2).collect();
    remove(&store, &table, &mut model, &every_other);
    let before = store.txns().snapshot();
    let seen = scan(&table, &before);
    for k in 0..300 {
        add(&store, &table, &mut model, &[(1000 + k, k)]);
        if k % 3 == 0 {
            remove(&store, &table, &mut model, &[1000 + k]);
        }
    }
    assert_eq!(scan(&table, &before), seen);
    let (first, _) = model[&1001];
    assert!(first < table.row_id(400 / LEAF_ROWS as u64, 0), "free slots were filled");
    drop(before);
    check(&store, &table, &model);
}

/// Many versions of one row do not slow down those who want the newest.
#[test]
fn the_newest_version_of_a_hot_row_is_near() {
    const VERSIONS: i64 = 100_000;
    let (store, table) = kvs(LEAF_ROWS, false);
    let mut model = Model::new();
    add(&store, &table, &mut model, &[(1, 0), (2, 0)]);
    let id = model[&1].0;
    let before = store.txns().snapshot();
    let began = std::time::Instant::now();
    for v in 1..=VERSIONS {
        let txn = store.txns().begin();
        let value = chunk(&table, 1, &[Value::Int(v)]);
        assert_eq!(table.update(&txn, id, &[1], &[&value], 0), Ok(true));
        store.txns().commit(&txn).expect("the log can be written");
        if v % 100 == 0 {
            let now = scan(&table, &store.txns().snapshot());
            assert_eq!(now[0].1[1], Value::Int(v));
        }
    }
    // A walk along the chain each time would take minutes.
    assert!(began.elapsed().as_secs() < 30, "{:?}", began.elapsed());
    assert_eq!(scan(&table, &before)[0].1[1], Value::Int(0));
    drop(before);
    store.txns().collect_garbage(usize::MAX);
    assert_eq!(table.versioned_leaves(), 0);
    assert_eq!(table.check(), Vec::<String>::new());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Small leaves, all ways in which rows come and go, ordered indexes alive from some point on.
    #[test]
    fn any_churn_leaves_a_sound_table(seed in any::<u64>(), alive_from in 0usize..200) {
        let (store, table) = kvs(4, true);
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut model = Model::new();
        let mut held = None;
        for step in 0..200 {
            if step == alive_from {
                read_in_order(&table);
            }
            let absent: Vec<i64> = (0..48).filter(|k| !model.contains_key(k)).collect();
            let present: Vec<i64> = model.keys().copied().collect();
            match rng.u32(..10) {
                0..4 if !absent.is_empty() => {
                    let from = rng.usize(..absent.len());
                    let n = rng.usize(1..6);
                    let rows: Vec<(i64, i64)> = absent[from..].iter().take(n).map(|k| (*k, step as i64)).collect();
                    add(&store, &table, &mut model, &rows);
                }
                4..7 if !present.is_empty() => {
                    let from = rng.usize(..present.len());
                    let n = rng.usize(1..6);
                    let keys: Vec<i64> = present[from..].iter().take(n).copied().collect();
                    remove(&store, &table, &mut model, &keys);
                }
                7 if !present.is_empty() && !absent.is_empty() => {
                    let (old, new) = (present[rng.usize(..present.len())], absent[rng.usize(..absent.len())]);
                    let (id, v) = model.remove(&old).expect("present");
                    let txn = store.txns().begin();
                    let values = [chunk(&table, 0, &[Value::Int(new)]), chunk(&table, 2, &[row(new, v)[2].clone()])];
                    let done = table.update(&txn, id, &[0, 2], &[&values[0], &values[1]], 0);
                    prop_assert_eq!(done, Ok(true));
                    store.txns().commit(&txn).expect("the log can be written");
                    model.insert(new, (id, v));
                }
                8 => held = if held.is_none() { Some(store.txns().snapshot()) } else { None },
                _ if !absent.is_empty() => {
                    let txn = store.txns().begin();
                    insert(&table, &txn, &[row(absent[0], 0)]).expect("no duplicate");
                    store.txns().rollback(&txn);
                }
                _ => {}
            }
        }
        drop(held);
        store.txns().collect_garbage(usize::MAX);
        check(&store, &table, &model);
    }
}
