//! What indexes cost by themselves: `cargo bench -p nextleaf-storage --bench index`. Runs small as a test.

#[path = "../tests/common/mod.rs"]
mod common;

use catalog::{IndexDef, IndexKind, IndexPart};
use common::{chunk, column, def, unique};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;
use storage::{BulkAppender, Candidates, KeyRange, Store, Table};
use types::{Collation, SqlType, Value};
use vector::{Chunk, Values};

/// Nanoseconds that this thread was on a processor: on a busy machine they say more than the clock.
fn processor_ns() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|t| t.parse().ok()).unwrap_or(f64::NAN)
}

struct Begun(Instant, f64);

impl Begun {
    fn now() -> Begun {
        Begun(Instant::now(), processor_ns())
    }
}

fn report(what: &str, n: usize, begun: Begun) {
    let (s, on) = (begun.0.elapsed().as_secs_f64(), processor_ns() - begun.1);
    let each = |ns: f64| ns / n as f64;
    println!(
        "{what:52} {:8.1} ns each {:8.2} M/s; on the processor {:8.1} ns each",
        each(s * 1e9),
        n as f64 / s / 1e6,
        each(on)
    );
}

fn key(name: &str, columns: &[usize]) -> IndexDef {
    let part = |&column_idx: &usize| IndexPart { column_idx, prefix_len: None, descending: false };
    let parts = columns.iter().map(part).collect();
    IndexDef {
        name: name.into(),
        kind: IndexKind::Plain,
        parts,
        algorithm: None,
        comment: "".into(),
        invisible: false,
        made_for_foreign_key: false,
    }
}

/// `t (id BIGINT PRIMARY KEY, k INT NOT NULL, u BIGINT NULL, s VARCHAR(20), KEY (k), KEY (u), KEY (s), KEY (u, k))`
fn table(store: &Store, id: u64) -> Arc<Table> {
    let columns = vec![
        column("id", SqlType::BIGINT, false),
        column("k", SqlType::INT, false),
        column("u", SqlType::BIGINT, true),
        column("s", SqlType::varchar(20, Collation::Utf8mb4_0900AiCi), false),
    ];
    let indexes = vec![unique("PRIMARY", &[0]), key("k", &[1]), key("u", &[2]), key("s", &[3]), key("uk", &[2, 1])];
    store.create_table(def(id, columns, indexes))
}

fn scatter(i: u64) -> u64 {
    let i = (i ^ (i >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let i = (i ^ (i >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    i ^ (i >> 33)
}

fn k(i: u64) -> i64 {
    (scatter(i) >> 34) as i64
}

fn load(store: &Store, table: &Arc<Table>, n: u64) {
    let txn = store.txns().begin();
    let mut bulk = BulkAppender::new(table, &txn);
    for i in 0..n {
        bulk.column(0).push_int(i as i64);
        bulk.column(1).push_int(k(i));
        bulk.column(2).push_int(scatter(i) as i64 >> 1);
        bulk.push_bytes(3, format!("a{}", scatter(i) % 1_000_000_000).as_bytes());
        bulk.end_row().expect("no duplicates");
    }
    bulk.finish().expect("no duplicates");
    store.txns().commit(&txn).expect("the log can be written");
}

fn lookups(table: &Table, index: usize, what: &str, n: usize, value: impl Fn(u64) -> Value) {
    let encoder = table.index_encoder(index).expect("an ordered index");
    let rows = table.row_count();
    let mut rng = fastrand::Rng::with_seed(7);
    let keys: Vec<Vec<u8>> = (0..n).map(|_| encoder.encode(&[value(rng.u64(..rows))])).collect();
    let mut out = Candidates::default();
    let begun = Begun::now();
    let mut found = 0;
    for key in &keys {
        out.clear();
        table.index_get(index, key, &mut out);
        found += out.len();
    }
    report(&format!("{what}: one by one"), n, begun);
    assert!(found >= n);
    let begun = Begun::now();
    let (mut batched, mut ends) = (0, Vec::new());
    for keys in keys.chunks(1024) {
        out.clear();
        ends.clear();
        table.index_get_many(index, keys, usize::MAX, &mut out, &mut ends);
        batched += out.len();
    }
    report(&format!("{what}: in batches of 1024"), n, begun);
    assert_eq!(found, batched);
}

fn main() {
    let small = std::env::args().any(|a| a == "--test");
    let n: u64 = match std::env::var("ROWS").ok().and_then(|r| r.parse().ok()) {
        Some(rows) => rows,
        None if small => 20_000,
        None => 10_000_000,
    };
    let store = Store::default();
    let t = table(&store, 1);
    let begun = Begun::now();
    load(&store, &t, n);
    report("load, 4 columns", n as usize, begun);
    for (index, what) in
        [(1, "build, INT"), (2, "build, BIGINT NULL"), (3, "build, VARCHAR(20)"), (4, "build, BIGINT, INT")]
    {
        let before = t.index_bytes();
        let begun = Begun::now();
        t.build_index(index);
        report(what, n as usize, begun);
        println!("  {:.1} bytes an entry", (t.index_bytes() - before) as f64 / n as f64);
    }
    let some = (n as usize).min(2_000_000);
    lookups(&t, 1, "lookup, INT", some, |i| Value::Int(k(i)));
    lookups(&t, 2, "lookup, BIGINT NULL", some, |i| Value::Int(scatter(i) as i64 >> 1));
    lookups(&t, 3, "lookup, VARCHAR(20)", some, |i| Value::str(&format!("a{}", scatter(i) % 1_000_000_000)));

    let snapshot = store.txns().snapshot();
    let mut cursor = t.index_cursor(1, &KeyRange::ALL, false).expect("an ordered index");
    let mut batch = Candidates::default();
    let begun = Begun::now();
    let mut seen = 0;
    while cursor.next(&mut batch, 1024) {
        seen += batch.len();
    }
    report("walk, INT", seen, begun);
    let mut cursor = t.index_cursor(1, &KeyRange::ALL, false).expect("an ordered index");
    let begun = Begun::now();
    let mut seen = 0;
    while seen < some / 4 && cursor.next(&mut batch, 1024) {
        seen += black_box(t.visible_candidates(1, &batch, &snapshot)).len();
    }
    report("walk with visibility, INT", seen, begun);

    let mut rng = fastrand::Rng::with_seed(9);
    let batches: Vec<Chunk> = (0..some / 1024)
        .map(|_| Chunk::new(Values::I64((0..1024).map(|_| rng.i64(..n as i64)).collect()), None))
        .collect();
    let begun = Begun::now();
    for b in &batches {
        black_box(t.get_many(0, &[b], 1024, &snapshot));
    }
    report("primary key, batches of 1024", batches.len() * 1024, begun);
    drop(snapshot);

    let m = table(&store, 2);
    load(&store, &m, n.min(1_000_000));
    let snapshot = store.txns().snapshot();
    let limit = m.row_count() as i64;
    let batches: Vec<Chunk> = (0..some / 1024)
        .map(|_| Chunk::new(Values::I64((0..1024).map(|_| rng.i64(..limit)).collect()), None))
        .collect();
    let begun = Begun::now();
    for b in &batches {
        black_box(m.get_many(0, &[b], 1024, &snapshot));
    }
    report("primary key at 1M rows, batches of 1024", batches.len() * 1024, begun);
    let singles: Vec<Chunk> = batches.iter().take(64).flat_map(|b| (0..1024).map(|i| b.gather(&[i]))).collect();
    let begun = Begun::now();
    let mut sum = 0;
    for c in &singles {
        sum += m.with_row(0, &[c], &snapshot, |at| at(1).0.values.int_at(at(1).1).unwrap_or(0)).unwrap_or(0);
    }
    report("primary key at 1M rows, the row where it lies", singles.len(), begun);
    black_box(sum);
    drop(snapshot);

    // Inserts that maintain one index, and none.
    for indexed in [false, true] {
        let t = table(&store, 3 + indexed as u64);
        if indexed {
            t.build_index(1);
        }
        let rows = some / 4;
        let begun = Begun::now();
        let txn = store.txns().begin();
        for first in (0..rows as u64).step_by(256) {
            let ids = first..first + 256;
            let columns = [
                Chunk::new(Values::I64(ids.clone().map(|i| i as i64).collect()), None),
                Chunk::new(Values::I32(ids.clone().map(|i| k(i) as i32).collect()), None),
                Chunk::new(Values::I64(ids.clone().map(|i| i as i64).collect()), None),
                chunk(&t, 3, &vec![Value::str("a string"); 256]),
            ];
            t.insert_rows(&txn, &columns.iter().collect::<Vec<_>>(), 256).expect("keys are new");
        }
        store.txns().commit(&txn).expect("the log can be written");
        report(if indexed { "insert, one index maintained" } else { "insert, none" }, rows, begun);
    }
}
