//! Real threads: invariants that some serial order explains, waits, deadlocks, parallel loads.

mod common;

use common::{chunk, column, def, insert, kvs, scan, unique};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use storage::{BulkAppender, LockWait, RowLock, Snapshot, StorageOptions, Store, Table, Txn};
use types::{SqlType, Value};
use vector::Values;

fn row(k: i64, v: i64) -> Vec<Value> {
    vec![Value::Int(k), Value::Int(v), Value::Null]
}

fn value(table: &Table, row_id: u64, snapshot: &Snapshot) -> i64 {
    let fetched = table.fetch(&[row_id], &[1], snapshot);
    assert!(fetched.seen.is_none(), "row {row_id} is there");
    let Values::I64(v) = &fetched.columns[0].values else { panic!("BIGINT") };
    v[0]
}

fn sum(table: &Table, snapshot: &Snapshot) -> (usize, i64) {
    let (mut rows, mut sum) = (0, 0);
    for leaf_no in 0..table.leaf_count() {
        let counted = table.count_leaf(leaf_no, snapshot);
        let Some(view) = table.scan_leaf(leaf_no, &[1], snapshot) else {
            assert_eq!(counted, 0, "whatever others do meanwhile");
            continue;
        };
        assert_eq!(counted, view.selection.count(view.rows), "whatever others do meanwhile");
        // Full leaves hold integers in the narrowest array.
        let values = &view.columns[0].values;
        view.selection.for_each(view.rows, |i| {
            rows += 1;
            sum += values.int_at(i).expect("BIGINT");
        });
    }
    (rows, sum)
}

fn set(table: &Arc<Table>, txn: &Arc<Txn>, row_id: u64, v: i64) -> types::Result<bool> {
    let v = chunk(table, 1, &[Value::Int(v)]);
    table.update(txn, row_id, &[1], &[&v], 0)
}

/// Transfers keep the sum; deletes and inserts of pairs keep it and the count. Every scan must see both unchanged.
#[test]
fn scans_under_a_writer_storm_see_consistent_sums() {
    const ROWS: i64 = 200;
    let (store, table) = kvs(16, false);
    let txn = store.txns().begin();
    let rows: Vec<_> = (0..ROWS).map(|k| row(k, 100)).collect();
    let ids = Arc::new(insert(&table, &txn, &rows).expect("no duplicates"));
    store.txns().commit(&txn).expect("the log can be written");
    let stop = AtomicBool::new(false);
    let (committed, deadlocks) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|s| {
        for seed in 0..3 {
            let (store, table, ids, stop, committed, deadlocks) = (&store, &table, &ids, &stop, &committed, &deadlocks);
            s.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(seed);
                while !stop.load(Ordering::Relaxed) {
                    let (a, b) = (ids[rng.usize(..ids.len())], ids[rng.usize(..ids.len())]);
                    if a == b {
                        continue;
                    }
                    let txn = store.txns().begin();
                    let transfer = || -> types::Result<()> {
                        for id in [a, b] {
                            assert_eq!(table.lock_row(&txn, id, LockWait::Wait)?, RowLock::Locked);
                        }
                        let now = store.txns().current(&txn);
                        let (x, y) = (value(table, a, &now), value(table, b, &now));
                        set(table, &txn, a, x - 7)?;
                        set(table, &txn, b, y + 7)?;
                        Ok(())
                    };
                    match transfer() {
                        Ok(()) if rng.u8(..4) > 0 => {
                            store.txns().commit(&txn).expect("the log can be written");
                            committed.fetch_add(1, Ordering::Relaxed);
                        }
                        Ok(()) => store.txns().rollback(&txn),
                        Err(e) => {
                            assert_eq!(e.code().0, 1213, "{e}");
                            store.txns().rollback(&txn);
                            deadlocks.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
        // Rows come and go in pairs of opposite values, under new keys.
        let (store2, table2, stop2) = (&store, &table, &stop);
        s.spawn(move || {
            let mut k = ROWS;
            while !stop2.load(Ordering::Relaxed) {
                let txn = store2.txns().begin();
                let new = insert(table2, &txn, &[row(k, 5), row(k + 1, -5)]).expect("new keys");
                store2.txns().commit(&txn).expect("the log can be written");
                let txn = store2.txns().begin();
                for id in new {
                    assert!(table2.delete(&txn, id).expect("nobody else knows the row"));
                }
                store2.txns().commit(&txn).expect("the log can be written");
                k += 2;
            }
        });
        let end = Instant::now() + Duration::from_secs(2);
        let mut scans = 0;
        while Instant::now() < end {
            let snapshot = store.txns().snapshot();
            let (rows, total) = sum(&table, &snapshot);
            assert_eq!((rows as i64 & !2, total), (ROWS, ROWS * 100));
            // The same snapshot answers the same, however often.
            assert_eq!(sum(&table, &snapshot), (rows, total));
            scans += 1;
        }
        stop.store(true, Ordering::Relaxed);
        assert!(scans > 10 && committed.load(Ordering::Relaxed) > 100, "the storm took place");
    });
    store.txns().collect_garbage(usize::MAX);
    assert_eq!(table.versioned_leaves(), 0);
    assert_eq!(table.check(), Vec::<String>::new());
}

#[test]
fn a_waiter_continues_with_the_newest_version() {
    let (store, table) = kvs(8, false);
    let txn = store.txns().begin();
    let id = insert(&table, &txn, &[row(1, 10)]).expect("first")[0];
    store.txns().commit(&txn).expect("the log can be written");
    let first = store.txns().begin();
    set(&table, &first, id, 20).expect("free");
    std::thread::scope(|s| {
        let waiter = s.spawn(|| {
            let second = store.txns().begin();
            assert_eq!(table.lock_row(&second, id, LockWait::Wait), Ok(RowLock::Locked));
            let v = value(&table, id, &store.txns().current(&second));
            set(&table, &second, id, v + 1).expect("held");
            store.txns().commit(&second).expect("the log can be written");
        });
        std::thread::sleep(Duration::from_millis(30));
        store.txns().commit(&first).expect("the log can be written");
        waiter.join().expect("no panic");
    });
    assert_eq!(value(&table, id, &store.txns().snapshot()), 21);
}

#[test]
fn a_cycle_of_waits_fails_one_of_them() {
    let (store, table) = kvs(8, false);
    let txn = store.txns().begin();
    let ids = insert(&table, &txn, &[row(1, 0), row(2, 0)]).expect("first");
    store.txns().commit(&txn).expect("the log can be written");
    let barrier = std::sync::Barrier::new(2);
    let run = |mine: u64, other: u64| {
        let txn = store.txns().begin();
        set(&table, &txn, mine, 1).expect("free");
        barrier.wait();
        let result = set(&table, &txn, other, 2);
        match &result {
            Ok(_) => {
                store.txns().commit(&txn).expect("the log can be written");
            }
            Err(_) => store.txns().rollback(&txn),
        }
        result.map_err(|e| e.code().0)
    };
    let results = std::thread::scope(|s| {
        let a = s.spawn(|| run(ids[0], ids[1]));
        let b = s.spawn(|| run(ids[1], ids[0]));
        [a.join().expect("no panic"), b.join().expect("no panic")]
    });
    assert!(results.contains(&Ok(true)) && results.contains(&Err(1213)), "{results:?}");
}

#[test]
fn waits_time_out_and_can_be_interrupted() {
    let (store, table) = kvs(8, false);
    let holder = store.txns().begin();
    insert(&table, &holder, &[row(1, 0)]).expect("first");
    // The key of an uncommitted row is waited for.
    let txn = store.txns().begin();
    txn.set_lock_wait_timeout(Duration::from_millis(20));
    assert_eq!(insert(&table, &txn, &[row(1, 1)]).expect_err("held").code().0, 1205);
    txn.set_lock_wait_timeout(Duration::from_secs(100));
    std::thread::scope(|s| {
        s.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            txn.interrupt();
        });
        assert_eq!(insert(&table, &txn, &[row(1, 1)]).expect_err("killed").code().0, 1317);
    });
    txn.clear_interrupt();
    store.txns().rollback(&holder);
    insert(&table, &txn, &[row(1, 1)]).expect("the key is free again");
    store.txns().commit(&txn).expect("the log can be written");
    assert_eq!(scan(&table, &store.txns().snapshot()).len(), 1);
}

/// Many threads insert the same keys; each key must come in exactly once, by rows and by loads.
#[test]
fn unique_keys_are_unique_under_concurrency() {
    const KEYS: i64 = 400;
    for loads in [false, true] {
        let (store, table) = kvs(16, false);
        let inserted = AtomicU64::new(0);
        std::thread::scope(|s| {
            for seed in 0..4 {
                let (store, table, inserted) = (&store, &table, &inserted);
                s.spawn(move || {
                    let mut keys: Vec<i64> = (0..KEYS).collect();
                    if seed % 2 == 1 {
                        fastrand::Rng::with_seed(seed).shuffle(&mut keys);
                    }
                    for part in keys.chunks(if loads { 20 } else { 1 }) {
                        let txn = store.txns().begin();
                        let result = if loads && seed % 2 == 0 {
                            let mut bulk = BulkAppender::new(table, &txn);
                            part.iter()
                                .try_for_each(|&k| {
                                    row(k, 0).iter().enumerate().for_each(|(c, v)| bulk.push_value(c, v));
                                    bulk.end_row()
                                })
                                .and_then(|()| bulk.finish())
                                .map(|_| ())
                        } else {
                            insert(table, &txn, &part.iter().map(|&k| row(k, 0)).collect::<Vec<_>>()).map(|_| ())
                        };
                        match result {
                            Ok(()) => {
                                inserted.fetch_add(part.len() as u64, Ordering::Relaxed);
                                store.txns().commit(&txn).expect("the log can be written");
                            }
                            Err(e) => {
                                assert!([1062, 1213].contains(&e.code().0), "{e}");
                                store.txns().rollback(&txn);
                            }
                        }
                    }
                });
            }
        });
        store.txns().collect_garbage(usize::MAX);
        let rows = scan(&table, &store.txns().snapshot());
        let distinct: HashSet<i64> = rows.iter().map(|(_, r)| if let Value::Int(k) = r[0] { k } else { -1 }).collect();
        assert_eq!(rows.len(), distinct.len(), "a key came in twice");
        assert_eq!(rows.len() as u64, inserted.load(Ordering::Relaxed));
        assert_eq!(table.check(), Vec::<String>::new());
    }
}

#[test]
fn parallel_loads_share_dictionaries_and_leave_no_hash_entries() {
    let store = Store::new(StorageOptions { leaf_rows: Some(64) });
    let collation = types::Collation::Utf8mb4Bin;
    let columns = vec![
        column("a", SqlType::BIGINT, false),
        column("b", SqlType::INT, false),
        column("flag", SqlType::varchar(10, collation), true),
        column("comment", SqlType::varchar(100, collation), true),
    ];
    let table = store.create_table(def(1, columns, vec![unique("PRIMARY", &[0, 1])]));
    let txn = store.txns().begin();
    std::thread::scope(|s| {
        for part in 0..4i64 {
            let (table, txn) = (&table, &txn);
            s.spawn(move || {
                let mut bulk = BulkAppender::new(table, txn);
                // Blocks of a file, taken in turn.
                for block in (part..40).step_by(4) {
                    for i in block * 200..(block + 1) * 200 {
                        bulk.column(0).push_int(i / 3);
                        bulk.column(1).push_int(i % 3);
                        if i % 10 == 0 {
                            bulk.column(2).push_null();
                        } else {
                            bulk.push_bytes(2, [b"A", b"N", b"R"][i as usize % 3]);
                        }
                        bulk.push_bytes(3, format!("a comment that is different for each row {i}").as_bytes());
                        bulk.end_row().expect("no duplicates");
                    }
                    bulk.flush().expect("no duplicates");
                }
                bulk.finish().expect("no duplicates");
            });
        }
    });
    let nobody = store.txns().snapshot();
    assert!((0..table.leaf_count()).all(|n| table.scan_leaf(n, &[0], &nobody).is_none()));
    store.txns().commit(&txn).expect("the log can be written");
    assert_eq!(table.versioned_leaves(), table.leaf_count() as usize, "older snapshot");
    drop(nobody);
    store.txns().collect_garbage(usize::MAX);
    assert_eq!(table.versioned_leaves(), 0);
    assert_eq!(table.check(), Vec::<String>::new());
    let snapshot = store.txns().snapshot();
    let rows = scan(&table, &snapshot);
    assert_eq!(rows.len(), 8000);
    let mut dicts = HashSet::new();
    for leaf_no in 0..table.leaf_count() {
        let view = table.scan_leaf(leaf_no, &[2, 3], &snapshot).expect("rows");
        let Values::Dict(d) = &view.columns[0].values else { panic!("few distinct values") };
        dicts.insert(Arc::as_ptr(&d.dict));
        view.selection.for_each(view.rows, |i| {
            let Value::Bytes(comment) = view.columns[1].value(i, &table.def().columns[3].ty) else {
                panic!("a string")
            };
            let text = String::from_utf8_lossy(&comment).into_owned();
            let n: i64 = text.rsplit(' ').next().and_then(|n| n.parse().ok()).expect("ends with a number");
            let wanted = if n % 10 == 0 { Value::Null } else { Value::str(["A", "N", "R"][n as usize % 3]) };
            assert_eq!(view.columns[0].value(i, &table.def().columns[2].ty), wanted);
        });
    }
    assert!(dicts.len() <= 4, "{} dictionaries", dicts.len());
    // 8000 hash entries would take 70 KB at least.
    assert!(table.index_bytes() < 40_000, "{} bytes of index", table.index_bytes());
    let stats = table.statistics();
    assert_eq!(stats.rows, 8000);
    assert!((stats.columns[0].distinct / 2667.0 - 1.0).abs() < 0.1, "{}", stats.columns[0].distinct);
    assert_eq!(stats.columns[1].distinct.round(), 3.0);
    assert!((stats.columns[2].null_fraction - 0.1).abs() < 0.001);
    assert_eq!((&stats.columns[0].min, &stats.columns[0].max), (&Some(Value::Int(0)), &Some(Value::Int(2666))));
    assert_eq!(stats.sample.rows, 1024);
}

/// Pieces of an input with duplicates, loaded by several threads: of each key the first one in the input stays.
#[test]
fn ignored_duplicates_leave_the_first_in_the_input() {
    for (seed, unique_s) in [(1, false), (2, true), (3, true)] {
        let (store, table) = kvs(16, unique_s);
        let mut rng = fastrand::Rng::with_seed(seed);
        let pieces: Vec<Vec<(i64, u8)>> =
            (0..12).map(|_| (0..50).map(|_| (rng.i64(0..300), rng.u8(0..250))).collect()).collect();
        let txn = store.txns().begin();
        let next = AtomicU64::new(0);
        let dropped = AtomicU64::new(0);
        std::thread::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| {
                    let mut bulk = BulkAppender::new(&table, &txn).ignore_duplicates();
                    loop {
                        let piece = next.fetch_add(1, Ordering::Relaxed);
                        let Some(rows) = pieces.get(piece as usize) else { break };
                        bulk.set_piece(piece);
                        for &(k, n) in rows {
                            bulk.push_value(0, &Value::Int(k));
                            bulk.push_value(1, &Value::Int(piece as i64));
                            bulk.push_value(2, &Value::str(&format!("string number {n}")));
                            bulk.end_row().expect("duplicates are dropped");
                        }
                        bulk.flush().expect("duplicates are dropped");
                    }
                    dropped.fetch_add(bulk.finish().expect("flushed").duplicates, Ordering::Relaxed);
                });
            }
        });
        store.txns().commit(&txn).expect("the log can be written");
        store.txns().collect_garbage(usize::MAX);
        let rows = scan(&table, &store.txns().snapshot());
        assert_eq!(rows.len() as u64 + dropped.load(Ordering::Relaxed), 600);
        assert_eq!(table.check(), Vec::<String>::new());
        let mut keys: Vec<_> = rows.iter().map(|(_, r)| format!("{:?}", r[0])).collect();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), rows.len());
        if !unique_s {
            for (_, row) in rows {
                let first = pieces.iter().position(|p| p.iter().any(|&(k, _)| Value::Int(k) == row[0]));
                assert_eq!(row[1], Value::Int(first.expect("it came from there") as i64));
            }
        }
    }
}

/// Two rows with keys far apart, and then all the keys between them in a load.
#[test]
fn short_runs_make_way_for_loads() {
    let (store, table) = kvs(64, false);
    let txn = store.txns().begin();
    insert(&table, &txn, &[row(0, 0), row(1_000_000, 0)]).expect("first");
    store.txns().commit(&txn).expect("the log can be written");
    let txn = store.txns().begin();
    let mut bulk = BulkAppender::new(&table, &txn);
    for k in 1..6400 {
        row(k, k).iter().enumerate().for_each(|(c, v)| bulk.push_value(c, v));
        bulk.end_row().expect("no duplicates");
    }
    bulk.finish().expect("no duplicates");
    store.txns().commit(&txn).expect("the log can be written");
    assert_eq!(table.check(), Vec::<String>::new());
    // 6400 hash entries would take 60 KB at least.
    assert!(table.index_bytes() < 20_000, "{} bytes of index", table.index_bytes());
    let txn = store.txns().begin();
    for k in [0, 1, 3000, 6399, 1_000_000] {
        assert_eq!(insert(&table, &txn, &[row(k, 0)]).expect_err("it exists").code().0, 1062, "{k}");
    }
}
