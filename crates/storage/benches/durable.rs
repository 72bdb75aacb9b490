//! How fast commits become durable, how fast a log is replayed, how fast a database starts.
//!
//! `cargo bench -p nextleaf-storage --bench durable [-- DIR [MEBIBYTES]]`; DIR decides which disk is measured.

#[path = "../tests/common/mod.rs"]
mod common;

use catalog::TableDef;
use common::{column, def, unique};
use disk::RealIo;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use storage::{
    BulkAppender, DefinitionChange, DurableOptions, FlushMode, Object, ObjectKey, ObjectKind, StorageOptions, Store,
    Table,
};
use types::{Collation, SqlType, Value};
use vector::Chunk;

fn definition() -> Arc<TableDef> {
    let text = |n| SqlType::varchar(n, Collation::Utf8mb4_0900AiCi);
    let columns = vec![
        column("id", SqlType::INT, false),
        column("k", SqlType::INT, false),
        column("c", text(120), false),
        column("pad", text(60), false),
    ];
    def(1, columns, vec![unique("PRIMARY", &[0])])
}

fn open(dir: &Path, flush: FlushMode) -> Store {
    let options = DurableOptions { flush, log_bytes_max: 1 << 40, ..DurableOptions::default() };
    let mut define = |_: &ObjectKey, _: &Object| Ok(definition());
    let opened = Store::open(Arc::new(RealIo), dir, StorageOptions::default(), options, &mut define, &|_| ());
    opened.expect("the folder can be used").0
}

fn create(store: &Store) -> Arc<Table> {
    let table = store.create_table(definition());
    let key = ObjectKey { kind: ObjectKind::Table, schema: "test".into(), name: "t".into() };
    let object = Object::new(1, Box::default());
    store.define(vec![DefinitionChange::Put(key, object)]).expect("the disk is not full");
    table
}

/// sysbench's table: 4 columns, some 190 bytes a row.
fn load(store: &Store, table: &Arc<Table>, rows: u64) {
    let txn = store.txns().begin();
    let mut load = BulkAppender::new(table, &txn);
    let mut rng = fastrand::Rng::with_seed(1);
    for id in 0..rows {
        load.column(0).push_int(id as i64);
        load.column(1).push_int(rng.i64(0..1 << 30));
        let digits = |rng: &mut fastrand::Rng, groups: usize| -> String {
            (0..groups).map(|_| format!("{:011}-", rng.u64(0..100_000_000_000))).collect()
        };
        load.push_bytes(2, digits(&mut rng, 10).as_bytes());
        load.push_bytes(3, digits(&mut rng, 5).as_bytes());
        load.end_row().expect("keys are distinct");
    }
    load.finish().expect("keys are distinct");
    store.txns().commit(&txn).expect("the log can be written");
}

fn update(store: &Store, table: &Arc<Table>, id: u64, k: i64) {
    let txn = store.txns().begin();
    let value = Chunk::single(table.types()[1], &Value::Int(k));
    table.update(&txn, id, &[1], &[&value], 0).expect("nobody else has the row");
    store.txns().commit(&txn).expect("the log can be written");
}

fn commits(dir: &Path, mode: FlushMode, threads: u64) {
    let dir = fresh(dir, "commits");
    let store = open(&dir, mode);
    let table = create(&store);
    load(&store, &table, 64 * 1024);
    let n = AtomicU64::new(0);
    let begun = Instant::now();
    std::thread::scope(|s| {
        for t in 0..threads {
            let (store, table, n) = (&store, &table, &n);
            s.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(t);
                while begun.elapsed() < Duration::from_secs(2) {
                    update(store, table, rng.u64(0..1024) * 64 + t, rng.i64(0..1 << 30));
                    n.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let (n, s) = (n.load(Ordering::Relaxed), begun.elapsed().as_secs_f64());
    let redo = store.durable().expect("it has a folder").redo();
    let syncs = redo.counters.syncs.load(std::sync::atomic::Ordering::Relaxed);
    println!("{mode:?}, {threads} threads: {:.0} commits/s, {:.0} syncs/s", n as f64 / s, syncs as f64 / s);
}

fn fresh(dir: &Path, name: &str) -> PathBuf {
    let dir = dir.join(format!("nextleaf-bench-{name}"));
    let _ = std::fs::remove_dir_all(&dir);
    dir
}

fn replay(dir: &Path) {
    const RECORDS: u64 = 2_000_000;
    let dir = fresh(dir, "replay");
    let store = open(&dir, FlushMode::Lazy);
    let table = create(&store);
    load(&store, &table, 1 << 20);
    store.checkpoint().expect("the disk is not full");
    let mut rng = fastrand::Rng::with_seed(1);
    let begun = Instant::now();
    (0..RECORDS).for_each(|_| update(&store, &table, rng.u64(0..1 << 20), rng.i64(0..1 << 30)));
    let s = begun.elapsed().as_secs_f64();
    println!("one thread, mode 0: {:.0} commits/s", RECORDS as f64 / s);
    store.flush_log().expect("the disk is not full");
    let bytes = store.durable().expect("it has a folder").log_bytes();
    drop((table, store));
    let begun = Instant::now();
    drop(open(&dir, FlushMode::Sync));
    let all = begun.elapsed().as_secs_f64();
    println!(
        "start with {RECORDS} records of {} MiB to replay: {all:.2} s ({:.2}M records/s, images and indexes included)",
        bytes >> 20,
        RECORDS as f64 / all / 1e6
    );
    let _ = std::fs::remove_dir_all(&dir);
}

fn start(dir: &Path, mebibytes: u64) {
    let dir = fresh(dir, "start");
    let store = open(&dir, FlushMode::Write);
    let table = create(&store);
    let begun = Instant::now();
    load(&store, &table, mebibytes * 4800);
    println!("load of {} MiB in memory: {:.2} s", table.bytes() >> 20, begun.elapsed().as_secs_f64());
    let begun = Instant::now();
    let done = store.checkpoint().expect("the disk is not full");
    println!("checkpoint of {} MiB: {:.2} s", done.bytes_written >> 20, begun.elapsed().as_secs_f64());
    let begun = Instant::now();
    store.checkpoint().expect("the disk is not full");
    println!("checkpoint of nothing: {:.3} s", begun.elapsed().as_secs_f64());
    drop((table, store));
    let begun = Instant::now();
    let store = open(&dir, FlushMode::Sync);
    println!("clean start: {:.2} s", begun.elapsed().as_secs_f64());
    drop(store);
    let _ = std::fs::remove_dir_all(&dir);
}

fn main() {
    let mut args = std::env::args().skip(1).filter(|a| !a.starts_with('-'));
    let dir = args.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let mebibytes = args.next().and_then(|a| a.parse().ok()).unwrap_or(256);
    for mode in [FlushMode::Sync, FlushMode::Write] {
        [1, 8, 64].into_iter().for_each(|threads| commits(&dir, mode, threads));
    }
    replay(&dir);
    start(&dir, mebibytes);
}
