//! Threads at work on one hot row, and then the power goes.
//!
//! Rows are let go before their commit is durable, so a chain of commits may build on one that a crash takes back. What
//! must hold all the same: nothing that anybody was told is lost, be it by the answer to a commit, by a snapshot, or by
//! a transaction that only locked the row.

mod common;

use catalog::TableDef;
use common::{chunk, column, def, insert, scan, unique};
use disk::{Fault, SimIo};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;
use storage::{
    DefinitionChange, DurableOptions, FlushMode, LockWait, Object, ObjectKey, ObjectKind, OnTrouble, RowLock, Snapshot,
    StorageOptions, Store, Table,
};
use types::{SqlType, Value};

const WRITERS: usize = 3;

fn definition() -> Arc<TableDef> {
    let columns = vec![column("k", SqlType::INT, false), column("v", SqlType::BIGINT, false)];
    def(1, columns, vec![unique("PRIMARY", &[0])])
}

fn open(io: &SimIo, mode: FlushMode) -> Store {
    let options = DurableOptions {
        flush: mode,
        segment_bytes: 2000,
        threads: 1,
        on_trouble: OnTrouble(Box::new(|_, _| {})),
        full_wait: Duration::ZERO,
        ..DurableOptions::default()
    };
    let define = &mut |_: &ObjectKey, _: &Object| Ok(definition());
    let storage = StorageOptions { leaf_rows: Some(8) };
    Store::open(Arc::new(io.clone()), Path::new("/db"), storage, options, define, &|_| ()).expect("the disk works").0
}

fn value(table: &Table, snapshot: &Snapshot) -> i64 {
    match scan(table, snapshot).first().map(|row| &row.1[1]) {
        Some(Value::Int(v)) => *v,
        Some(_) => panic!("a number"),
        // A crash under mode 2 took the row.
        None => 0,
    }
}

/// Adds one to the row, or only looks at it under its lock. What the caller was told; `None`: an error.
fn turn(store: &Store, table: &Arc<Table>, id: u64, add: bool) -> Option<i64> {
    let txn = store.txns().begin();
    let locked = table.lock_row(&txn, id, LockWait::Wait);
    if locked != Ok(RowLock::Locked) {
        store.txns().rollback(&txn);
        return None;
    }
    let mut v = value(table, &store.txns().current(&txn));
    if add {
        v += 1;
        let new = chunk(table, 1, &[Value::Int(v)]);
        table.update(&txn, id, &[1], &[&new], 0).expect("it is held");
    }
    store.txns().commit(&txn).ok()?;
    let now = value(table, &store.txns().snapshot());
    assert!(now >= v, "{v} was told, snapshots show {now}");
    Some(v)
}

fn crash(seed: u64, mode: FlushMode) -> i64 {
    let mut rng = fastrand::Rng::with_seed(seed);
    let io = SimIo::default();
    let store = open(&io, mode);
    let table = store.create_table(definition());
    let key = ObjectKey { kind: ObjectKind::Table, schema: "test".into(), name: "t".into() };
    store.define(vec![DefinitionChange::Put(key, Object::new(1, Box::default()))]).expect("the disk works");
    let txn = store.txns().begin();
    let id = insert(&table, &txn, &[vec![Value::Int(1), Value::Int(0)]]).expect("it is empty")[0];
    store.txns().commit(&txn).expect("the disk works");

    io.set_sync_time(Duration::from_micros(rng.u64(0..200)));
    let fault = *rng.choice(&[Fault::PowerCut, Fault::Error, Fault::Full]).expect("not empty");
    io.fail_at(io.calls() + rng.u64(1..120), fault);
    let (told, stop) = (AtomicI64::new(0), AtomicBool::new(false));
    let work = |add: &dyn Fn(u32) -> bool| {
        for round in 0..10_000 {
            match turn(&store, &table, id, add(round)) {
                Some(v) => _ = told.fetch_max(v, Ordering::Relaxed),
                None => break,
            }
        }
    };
    std::thread::scope(|s| {
        let writers: Vec<_> = (0..WRITERS).map(|n| s.spawn(move || work(&|round| n > 0 || round % 3 > 0))).collect();
        let reader = s.spawn(|| {
            let mut last = 0;
            while !stop.load(Ordering::Relaxed) {
                let v = value(&table, &store.txns().snapshot());
                assert!(v >= last, "a snapshot went back");
                last = v;
            }
            told.fetch_max(last, Ordering::Relaxed);
        });
        let ended: Vec<_> = writers.into_iter().map(|w| w.join()).collect();
        stop.store(true, Ordering::Relaxed);
        reader.join().expect("no panic");
        ended.into_iter().for_each(|e| e.expect("no panic"));
    });
    let seen = value(&table, &store.txns().snapshot());
    drop((table, store));
    if io.has_power() && mode == FlushMode::Write {
        io.restart();
    } else {
        io.power_on(seed);
    }
    let store = open(&io, mode);
    let found = value(&store.table(catalog::TableId(1)).expect("it was defined"), &store.txns().snapshot());
    let told = told.into_inner();
    assert!(seen >= told, "seed {seed}: {told} was told, and snapshots show {seen}");
    if mode == FlushMode::Sync || fault != Fault::PowerCut {
        assert!(found >= seen, "seed {seed}, {fault:?}: {seen} was seen, {found} is left");
    }
    assert_eq!(store.table(catalog::TableId(1)).expect("it was defined").check(), Vec::<String>::new());
    found
}

#[test]
fn what_was_told_is_kept() {
    let mut commits = 0;
    for seed in 0..60 {
        commits += crash(seed, if seed % 3 == 0 { FlushMode::Write } else { FlushMode::Sync });
    }
    assert!(commits > 300, "{commits} commits");
}
