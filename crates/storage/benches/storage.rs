//! What the storage layer costs by itself: `cargo bench -p nextleaf-storage`. Runs small as a test.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{chunk, column, def, unique};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use storage::{BulkAppender, Store, Table};
use types::{Collation, SqlType, Value};
use vector::{Chunk, Values};

fn report(what: &str, n: usize, begun: Instant) {
    let s = begun.elapsed().as_secs_f64();
    println!("{what:44} {:8.1} ns each  {:8.2} M/s", s * 1e9 / n as f64, n as f64 / s / 1e6);
}

fn narrow(store: &Store, id: u64) -> Arc<Table> {
    let columns = vec![
        column("k", SqlType::BIGINT, false),
        column("a", SqlType::INT, false),
        column("b", SqlType::INT, true),
        column("s", SqlType::varchar(40, Collation::Utf8mb4Bin), false),
    ];
    store.create_table(def(id, columns, vec![unique("PRIMARY", &[0])]))
}

fn load(table: &Arc<Table>, store: &Store, n: usize, key: impl Fn(usize) -> i64) {
    let txn = store.txns().begin();
    let mut bulk = BulkAppender::new(table, &txn);
    for i in 0..n {
        bulk.column(0).push_int(key(i));
        bulk.column(1).push_int(i as i64 % 1000);
        bulk.column(2).push_int(i as i64);
        bulk.push_bytes(3, b"a string of about forty bytes, which is.");
        bulk.end_row().expect("no duplicates");
    }
    bulk.finish().expect("no duplicates");
    store.txns().commit(&txn).expect("the log can be written");
}

fn main() {
    let n: usize = if std::env::args().any(|a| a == "--test") { 10_000 } else { 4_000_000 };
    let store = Store::default();

    let sorted = narrow(&store, 1);
    let begun = Instant::now();
    load(&sorted, &store, n, |i| i as i64 * 3);
    report("load, 4 columns, ascending key", n, begun);
    println!("  index bytes {}, table bytes a row {:.1}", sorted.index_bytes(), sorted.bytes() as f64 / n as f64);

    let shuffled = narrow(&store, 2);
    let begun = Instant::now();
    load(&shuffled, &store, n, |i| (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) as i64 >> 1);
    report("load, 4 columns, random key", n, begun);
    println!("  index bytes {}", shuffled.index_bytes());

    let mut rng = fastrand::Rng::with_seed(1);
    let snapshot = store.txns().snapshot();
    for (name, table, key) in [
        ("get_many of 1024, ascending key", &sorted, (|i| i as i64 * 3) as fn(usize) -> i64),
        ("get_many of 1024, random key", &shuffled, |i| (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) as i64 >> 1),
    ] {
        let batches: Vec<Chunk> = (0..n.min(1_000_000) / 1024)
            .map(|_| Chunk::new(Values::I64((0..1024).map(|_| key(rng.usize(..n))).collect()), None))
            .collect();
        let begun = Instant::now();
        for b in &batches {
            black_box(table.get_many(0, &[b], 1024, &snapshot));
        }
        report(name, batches.len() * 1024, begun);
    }
    let key = Chunk::new(Values::I64((0..1024).map(|_| rng.usize(..n) as i64 * 3).collect()), None);
    let begun = Instant::now();
    for i in 0..n.min(1_000_000) {
        black_box(sorted.get(0, &[&key], i % 1024, &snapshot));
    }
    report("get, one by one, 1024 different", n.min(1_000_000), begun);

    let ids: Vec<u64> = (0..1024).map(|_| sorted.row_id(rng.u64(..sorted.leaf_count()), 5)).collect();
    let begun = Instant::now();
    for _ in 0..100 {
        black_box(sorted.fetch(&ids, &[1, 3], &snapshot));
    }
    report("fetch the same 1024 random rows, 2 columns, per row", 100 * 1024, begun);
    let rows = sorted.leaf_count() * 1024;
    let fetch = |what: &str, batch: &mut dyn FnMut(u64) -> Vec<u64>, columns: &[usize]| {
        let batches: Vec<Vec<u64>> = (0..1000).map(batch).collect();
        let begun = Instant::now();
        for ids in &batches {
            black_box(sorted.fetch(ids, columns, &snapshot));
        }
        report(what, 1000 * 1024, begun);
    };
    let mut anywhere = |_| (0..1024).map(|_| rng.u64(..rows)).collect();
    fetch("fetch 1024 of all rows, 1 column, per row", &mut anywhere, &[1]);
    fetch("fetch 1024 of all rows, 3 columns, per row", &mut anywhere, &[0, 1, 2]);
    fetch("fetch 1024 of all rows, a string, per row", &mut anywhere, &[3]);
    let mut rng = fastrand::Rng::with_seed(2);
    let mut near = |_| {
        let first = rng.u64(..sorted.leaf_count().max(129) - 128);
        let mut ids: Vec<u64> =
            (0..1024).map(|i| (first + i / 8) % sorted.leaf_count() * 1024 + rng.u64(..1024)).collect();
        ids.sort_unstable();
        ids
    };
    fetch("fetch 8 rows a leaf of 128, 3 columns, per row", &mut near, &[0, 1, 2]);

    let begun = Instant::now();
    for _ in 0..10 {
        for leaf_no in 0..sorted.leaf_count() {
            black_box(sorted.scan_leaf(leaf_no, &[0, 1], &snapshot));
        }
    }
    report("scan_leaf, 2 columns, per leaf", 10 * sorted.leaf_count() as usize, begun);
    drop(snapshot);

    let updates = n.min(1_000_000);
    let begun = Instant::now();
    for i in 0..updates {
        let txn = store.txns().begin();
        let v = chunk(&sorted, 1, &[Value::Int(i as i64)]);
        let id = sorted.row_id(rng.u64(..sorted.leaf_count()), 7);
        sorted.update(&txn, id, &[1], &[&v], 0).expect("free");
        store.txns().commit(&txn).expect("the log can be written");
    }
    report("transaction of one update", updates, begun);

    let single = narrow(&store, 3);
    let begun = Instant::now();
    for i in 0..updates {
        let txn = store.txns().begin();
        let row =
            [Value::Int(i as i64), Value::Int(1), Value::Null, Value::str("a string of about forty bytes, which is.")];
        let row = common::chunks(&single, &[row.to_vec()]);
        single.insert_rows(&txn, &row.iter().collect::<Vec<_>>(), 1).expect("no duplicates");
        store.txns().commit(&txn).expect("the log can be written");
    }
    report("transaction of one insert", updates, begun);
    println!("  index bytes {}", single.index_bytes());

    let txn = store.txns().begin();
    let rows: Vec<Vec<Value>> = (0..1000)
        .map(|i| vec![Value::Int(10_000_000 + i), Value::Int(1), Value::Null, Value::str("a string of forty bytes")])
        .collect();
    let rows = common::chunks(&single, &rows);
    let begun = Instant::now();
    single.insert_rows(&txn, &rows.iter().collect::<Vec<_>>(), 1000).expect("no duplicates");
    report("insert of 1000 rows, per row", 1000, begun);
    let begun = Instant::now();
    store.txns().rollback(&txn);
    report("rollback, per row", 1000, begun);
}
