//! Many transactions that want the same few rows: nobody hangs, of each cycle exactly one fails, writers get their
//! turn.

mod common;

use common::{chunk, insert, kvs, scan};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};
use storage::{LockWait, RowLock, RowLockMode, Store, Table, Txn};
use types::Value;

fn start(rows: i64) -> (Store, Arc<Table>, Vec<u64>) {
    let (store, table) = kvs(8, false);
    let txn = store.txns().begin();
    let rows: Vec<_> = (0..rows).map(|k| vec![Value::Int(k), Value::Int(0), Value::Null]).collect();
    let ids = insert(&table, &txn, &rows).expect("no duplicates");
    store.txns().commit(&txn).expect("the log can be written");
    (store, table, ids)
}

/// Ends the others' loops, even by a panic.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn increment(store: &Store, table: &Arc<Table>, txn: &Arc<Txn>, id: u64) -> types::Result<()> {
    if table.lock_row(txn, id, LockWait::Wait)? == RowLock::Locked {
        let now = table.fetch(&[id], &[1], &store.txns().current(txn));
        let v = now.columns[0].values.int_at(0).expect("BIGINT");
        table.update(txn, id, &[1], &[&chunk(table, 1, &[Value::Int(v + 1)])], 0)?;
    }
    Ok(())
}

/// Rings of two to five transactions, each of which wants what the next one has.
#[test]
fn a_ring_has_one_victim() {
    for round in 0..60 {
        let n = 2 + round % 4;
        let (store, table, ids) = start(n as i64);
        let (ready, victims, done) = (Barrier::new(n), AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|s| {
            for i in 0..n {
                let (store, table, ids, ready, victims, done) = (&store, &table, &ids, &ready, &victims, &done);
                s.spawn(move || {
                    let txn = store.txns().begin();
                    txn.set_lock_wait_timeout(Duration::from_secs(60));
                    // Some rings are of locks that changes want, some of shared ones that are to become exclusive.
                    let shared = round % 8 >= 4;
                    let snapshot = store.txns().current(&txn);
                    let mode = if shared { RowLockMode::Shared } else { RowLockMode::Exclusive };
                    table.lock_rows(&txn, &[ids[i]], mode, LockWait::Wait, &snapshot).expect("its own row");
                    ready.wait();
                    match increment(store, table, &txn, ids[(i + 1) % n]) {
                        Ok(()) => {
                            done.fetch_add(1, Ordering::Relaxed);
                            store.txns().commit(&txn).expect("the log can be written");
                        }
                        Err(e) => {
                            assert_eq!(e.code().0, 1213, "{e}");
                            victims.fetch_add(1, Ordering::Relaxed);
                            store.txns().rollback(&txn);
                        }
                    }
                });
            }
        });
        assert_eq!((victims.into_inner(), done.into_inner()), (1, n as u64 - 1), "ring of {n}");
    }
}

#[test]
fn a_storm_of_deadlocks_passes() {
    const ROWS: u64 = 6;
    let (store, table, ids) = start(ROWS as i64);
    let (increments, deadlocks) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|s| {
        for seed in 0..6 {
            let (store, table, ids, increments, deadlocks) = (&store, &table, &ids, &increments, &deadlocks);
            s.spawn(move || {
                let mut rng = fastrand::Rng::with_seed(seed);
                let mut commits = 0;
                while commits < 100 {
                    let txn = store.txns().begin();
                    txn.set_lock_wait_timeout(Duration::from_secs(60));
                    let mut step = || {
                        let id = ids[rng.u64(..ROWS) as usize];
                        if rng.bool() {
                            let snapshot = store.txns().current(&txn);
                            table.lock_rows(&txn, &[id], RowLockMode::Shared, LockWait::Wait, &snapshot)?;
                            std::thread::yield_now();
                        }
                        increment(store, table, &txn, id)
                    };
                    match (0..3).try_for_each(|_| step()) {
                        Ok(()) => {
                            store.txns().commit(&txn).expect("the log can be written");
                            commits += 1;
                            increments.fetch_add(3, Ordering::Relaxed);
                        }
                        Err(e) => {
                            assert_eq!(e.code().0, 1213, "{e}");
                            deadlocks.fetch_add(1, Ordering::Relaxed);
                            store.txns().rollback(&txn);
                        }
                    }
                }
            });
        }
    });
    let values = scan(&table, &store.txns().snapshot());
    let sum: i64 = values.iter().map(|(_, r)| if let Value::Int(v) = r[1] { v } else { panic!("BIGINT") }).sum();
    assert_eq!(sum as u64, increments.into_inner());
    assert!(deadlocks.into_inner() > 0, "there were some");
    assert_eq!(table.check(), Vec::<String>::new());
}

/// Readers that share a row one after the other, at every moment at least one, do not keep a writer out.
#[test]
fn a_writer_gets_its_turn() {
    let (store, table, ids) = start(1);
    let stop = AtomicBool::new(false);
    std::thread::scope(|s| {
        for i in 0..4 {
            let (store, table, ids, stop) = (&store, &table, &ids, &stop);
            s.spawn(move || {
                std::thread::sleep(Duration::from_millis(i * 3));
                while !stop.load(Ordering::Relaxed) {
                    let txn = store.txns().begin();
                    let snapshot = store.txns().current(&txn);
                    let shared = table.lock_rows(&txn, &[ids[0]], RowLockMode::Shared, LockWait::Wait, &snapshot);
                    assert!(shared.is_ok(), "{shared:?}");
                    std::thread::sleep(Duration::from_millis(10));
                    store.txns().commit(&txn).expect("the log can be written");
                }
            });
        }
        let _stop = Stop(&stop);
        std::thread::sleep(Duration::from_millis(30));
        for _ in 0..10 {
            let began = Instant::now();
            let txn = store.txns().begin();
            txn.set_lock_wait_timeout(Duration::from_secs(20));
            increment(&store, &table, &txn, ids[0]).expect("its turn comes");
            store.txns().commit(&txn).expect("the log can be written");
            assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        }
    });
}

/// A writer that gives up lets those pass who stood behind it.
#[test]
fn a_writer_that_gives_up_is_in_nobodys_way() {
    let (store, table, ids) = start(1);
    let reader = store.txns().begin();
    let share = |txn: &Arc<Txn>, wait| {
        let snapshot = store.txns().current(txn);
        table.lock_rows(txn, &[ids[0]], RowLockMode::Shared, wait, &snapshot)
    };
    share(&reader, LockWait::Wait).expect("free");
    let writer = store.txns().begin();
    writer.set_lock_wait_timeout(Duration::from_millis(300));
    std::thread::scope(|s| {
        let waits = s.spawn(|| increment(&store, &table, &writer, ids[0]).expect_err("it is shared").code().0);
        std::thread::sleep(Duration::from_millis(100));
        let later = store.txns().begin();
        later.set_lock_wait_timeout(Duration::from_secs(20));
        assert_eq!(share(&later, LockWait::NoWait).expect_err("a writer waits").code().0, 3572);
        let began = Instant::now();
        share(&later, LockWait::Wait).expect("the writer gave up");
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        assert_eq!(waits.join().expect("no panic"), 1205);
        store.txns().commit(&later).expect("the log can be written");
    });
    store.txns().rollback(&writer);
    store.txns().commit(&reader).expect("the log can be written");
}
