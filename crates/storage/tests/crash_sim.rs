//! A store on a disk that fails, beside a model of what it must remember.
//!
//! Each seed runs transactions, loads, DDL and checkpoints on [`SimIo`]; at some I/O call the power goes, a call fails
//! or the disk is full. Then the folder is opened again (where the next fault may strike) and must hold one of the
//! model's states: not older than the last acknowledged commit (or, where commits are not synced, than the last sync),
//! not newer than the commit in flight. So every acknowledged commit is there and every other is there wholly or not at
//! all.
//!
//! CRASH_SIM_SEEDS sets how many seeds run, CRASH_SIM_SEED runs one alone.

mod common;

use catalog::{TableDef, TableId};
use disk::{Fault, Io, SimIo};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use storage::{
    BulkAppender, DefinitionChange, DurableOptions, FlushMode, Object, ObjectKey, ObjectKind, OnTrouble,
    StorageOptions, Store, Table, Trouble, Txn,
};
use types::{Collation, SqlType, Value};

type Row = Vec<Value>;
/// Rows by table and row id.
type State = BTreeMap<u64, BTreeMap<u64, Row>>;

const DIR: &str = "/db";

fn definition(id: u64) -> Arc<TableDef> {
    let columns = vec![
        common::column("k", SqlType::INT, false),
        common::column("v", SqlType::BIGINT, true),
        common::column("s", SqlType::varchar(100, Collation::Binary), true),
    ];
    let mut indexes = vec![common::unique("PRIMARY", &[0])];
    if id.is_multiple_of(2) {
        indexes.push(common::unique("s", &[2]));
    }
    common::def(id, columns, indexes)
}

fn key(id: u64) -> ObjectKey {
    ObjectKey { kind: ObjectKind::Table, schema: "test".into(), name: format!("t{id}").into() }
}

struct World {
    seed: u64,
    rng: fastrand::Rng,
    io: SimIo,
    mode: FlushMode,
    /// States after each commit; the last one is the present.
    states: Vec<State>,
    /// The oldest state that may come back.
    durable: usize,
    /// The oldest state that may come back if the machine lives.
    written: usize,
    /// The latest state that was acknowledged, and so is what snapshots see.
    acknowledged: usize,
    dead: Arc<AtomicBool>,
    next_id: u64,
    /// How often each thing happened, over all seeds.
    seen: BTreeMap<&'static str, u64>,
}

struct Open {
    txn: Arc<Txn>,
    state: State,
    /// Rows that it changed: they are taken over at commit.
    touched: Vec<(u64, u64)>,
}

impl World {
    fn new(seed: u64) -> World {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mode = FlushMode::of(rng.u64(..4).min(2).max(rng.u64(..2)));
        World {
            seed,
            rng,
            io: SimIo::default(),
            mode,
            states: vec![State::new()],
            durable: 0,
            written: 0,
            acknowledged: 0,
            dead: Arc::default(),
            next_id: 1,
            seen: BTreeMap::new(),
        }
    }

    fn count(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    fn present(&self) -> State {
        self.states.last().expect("there is always one").clone()
    }

    fn open(&mut self) -> types::Result<Store> {
        self.dead = Arc::default();
        let dead = self.dead.clone();
        let options = DurableOptions {
            flush: self.mode,
            log_bytes_max: 1 << 40,
            segment_bytes: self.rng.u64(600..4000),
            threads: 1,
            on_trouble: OnTrouble(Box::new(move |t, _| dead.store(t == Trouble::Dead, Ordering::Relaxed))),
            full_wait: Duration::from_millis(self.rng.u64(..2)),
            accept_loss: false,
        };
        let io: Arc<dyn Io> = Arc::new(self.io.clone());
        let storage = StorageOptions { leaf_rows: Some(8) };
        let define = &mut |_: &ObjectKey, o: &Object| Ok(definition(o.table_id));
        Store::open(io, Path::new(DIR), storage, options, define, &|_| ()).map(|s| s.0)
    }

    fn plan_fault(&mut self, within: u64) {
        let at = self.io.calls() + self.rng.u64(1..within);
        let fault =
            *self.rng.choice(&[Fault::PowerCut, Fault::PowerCut, Fault::Error, Fault::Full]).expect("not empty");
        self.io.fail_at(at, fault);
    }

    fn alive(&self) -> bool {
        self.io.has_power() && !self.dead.load(Ordering::Relaxed)
    }

    /// Opens until it works, and compares.
    fn recover(&mut self) -> Store {
        for attempt in 0.. {
            if attempt == 0 && self.io.has_power() && self.rng.bool() {
                self.io.restart();
                self.count("a process died");
            } else {
                self.io.power_on(self.rng.u64(..));
                self.written = self.durable;
            }
            if attempt < 3 && self.rng.bool() {
                self.plan_fault(30);
            }
            match self.open() {
                Ok(store) if self.alive() => {
                    self.io.fail_at(0, Fault::PowerCut);
                    self.compare(&store);
                    return store;
                }
                Ok(_) => {}
                Err(e) => assert!(attempt < 3 || !self.io.has_power(), "seed {}: {e}", self.seed),
            }
        }
        unreachable!()
    }

    fn compare(&mut self, store: &Store) {
        let snapshot = store.txns().snapshot();
        let mut found = State::new();
        for id in store.table_ids() {
            let table = store.table(id).expect("it is listed");
            found.insert(id.0, common::scan(&table, &snapshot).into_iter().collect());
            let faults = table.check();
            assert!(faults.is_empty(), "seed {}: {faults:?}", self.seed);
        }
        let at = (self.written..self.states.len()).rev().find(|i| self.states[*i] == found);
        let Some(at) = at else {
            let older = self.states.iter().rposition(|s| *s == found);
            let (n, from) = (self.states.len(), self.written);
            let last = self.states.last().expect("there is always one");
            for id in last.keys().chain(found.keys()).collect::<std::collections::BTreeSet<_>>() {
                let (a, b) = (last.get(id), found.get(id));
                println!("table {id}: expected {}, found {}", a.is_some(), b.is_some());
                let rows = |t: Option<&BTreeMap<u64, Row>>| t.cloned().unwrap_or_default();
                let (a, b) = (rows(a), rows(b));
                a.iter().filter(|r| b.get(r.0) != Some(r.1)).for_each(|r| println!("expected {r:?}"));
                b.iter().filter(|r| a.get(r.0) != Some(r.1)).for_each(|r| println!("found {r:?}"));
            }
            panic!("seed {}, mode {:?}: found state {older:?} of {n}, durable from {from}", self.seed, self.mode);
        };
        if at + 1 < self.states.len() {
            self.count("an unacknowledged or unsynced commit was lost");
        }
        self.states.truncate(at + 1);
        (self.durable, self.written, self.acknowledged) = (at, at, at);
        assert!(store.table_id_max() < self.next_id);
        self.next_id = self.next_id.max(store.table_id_max() + 1);
    }

    /// What is logged must be one more state. Only if it was acknowledged is it sure to be there.
    fn logged(&mut self, state: State, acknowledged: bool, synced: bool) {
        self.states.push(state);
        if !acknowledged {
            return;
        }
        self.acknowledged = self.states.len() - 1;
        if synced || self.mode == FlushMode::Sync {
            self.durable = self.acknowledged;
        }
        if synced || self.mode != FlushMode::Lazy {
            self.written = self.acknowledged;
        }
    }

    /// Whatever happened to the log: snapshots show what was acknowledged, no more and no less.
    fn check_acknowledged(&mut self, store: &Store) {
        let snapshot = store.txns().snapshot();
        for (id, rows) in &self.states[self.acknowledged] {
            if let Some(table) = store.table(TableId(*id)) {
                let found: BTreeMap<u64, Row> = common::scan(&table, &snapshot).into_iter().collect();
                assert_eq!(found, *rows, "seed {}, table {id}, mode {:?}", self.seed, self.mode);
            }
        }
        if !self.alive() {
            let txn = store.txns().begin();
            let refused = store.define(Vec::new());
            assert!(refused.is_err() && store.txns().check_writable().is_err(), "seed {}", self.seed);
            store.txns().rollback(&txn);
            self.count("a store was only read");
        }
    }

    fn row(&mut self) -> Row {
        let v = if self.rng.bool() { Value::Null } else { Value::Int(self.rng.i64(..)) };
        let s = match self.rng.u32(..3) {
            0 => Value::Null,
            _ => Value::Bytes((0..self.rng.usize(..40)).map(|_| self.rng.u8(..)).collect()),
        };
        vec![Value::Int(self.rng.i64(0..80)), v, s]
    }

    fn create(&mut self, store: &Store) {
        let id = self.next_id;
        self.next_id += 1;
        store.create_table(definition(id));
        let object = Object::new(id, Box::default());
        let done = store.define(vec![DefinitionChange::Put(key(id), object)]);
        assert!(done.is_ok() || !self.alive(), "seed {}: {done:?}", self.seed);
        let mut state = self.present();
        state.insert(id, BTreeMap::new());
        self.logged(state, done.is_ok(), true);
    }

    /// A table filled and committed before it is defined.
    fn create_filled(&mut self, store: &Store) {
        let id = self.next_id;
        self.next_id += 1;
        let table = store.create_table(definition(id));
        let txn = store.txns().begin();
        let rows = self.load_rows(&table, &txn).expect("nobody else uses the table");
        let done = store.txns().commit(&txn);
        assert!(done.is_ok() || !self.alive(), "seed {}: {done:?}", self.seed);
        if self.alive() && self.rng.bool() {
            self.checkpoint(store);
        }
        if !self.alive() {
            return;
        }
        let object = Object::new(id, Box::default());
        let done = store.define(vec![DefinitionChange::Put(key(id), object)]);
        assert!(done.is_ok() || !self.alive(), "seed {}: {done:?}", self.seed);
        let mut state = self.present();
        state.insert(id, rows);
        self.logged(state, done.is_ok(), true);
        self.count("create table as select");
    }

    fn load_rows(&mut self, table: &Arc<Table>, txn: &Arc<Txn>) -> types::Result<BTreeMap<u64, Row>> {
        let before = store_rows(table, txn);
        let mut load = BulkAppender::new(table, txn).ignore_duplicates();
        for i in 0..self.rng.i64(1..40) {
            let mut row = self.row();
            row[0] = Value::Int(1000 + i + self.rng.i64(0..3));
            row.iter().enumerate().for_each(|(c, v)| load.push_value(c, v));
            load.end_row()?;
        }
        load.finish()?;
        let mut rows = store_rows(table, txn);
        rows.retain(|id, _| !before.contains_key(id));
        Ok(rows)
    }

    fn drop_or_truncate(&mut self, store: &Store, opened: &[Open]) {
        let present = self.present();
        let unused = |id: &u64| !opened.iter().any(|o| o.touched.iter().any(|t| t.0 == *id));
        let ids: Vec<u64> = present.keys().copied().filter(unused).collect();
        let Some(&id) = self.rng.choice(&ids) else { return };
        let mut state = present;
        state.remove(&id);
        let mut changes = vec![DefinitionChange::Remove(key(id))];
        if self.rng.bool() {
            let new = self.next_id;
            self.next_id += 1;
            store.create_table(definition(new));
            state.insert(new, BTreeMap::new());
            let object = Object::new(new, Box::default());
            changes.push(DefinitionChange::Put(key(new), object));
        }
        let done = store.define(changes);
        assert!(done.is_ok() || !self.alive(), "seed {}: {done:?}", self.seed);
        store.drop_table(TableId(id));
        self.logged(state, done.is_ok(), true);
        self.count("drop or truncate");
    }

    fn checkpoint(&mut self, store: &Store) {
        match store.checkpoint() {
            Ok(_) => {
                self.count("checkpoint");
                self.durable = self.states.len() - 1;
                self.written = self.durable;
            }
            Err(_) => self.count("checkpoint failed"),
        }
    }

    fn change(&mut self, store: &Store, open: &mut Open) {
        let ids: Vec<u64> = self.present().keys().copied().collect();
        let Some(&id) = self.rng.choice(&ids) else { return };
        let table = store.table(TableId(id)).expect("the model has it");
        open.txn.begin_statement();
        let savepoint = open.txn.savepoint();
        let held = store_rows(&table, &open.txn);
        let some: Vec<u64> = held.keys().copied().collect();
        let result = match (self.rng.u32(..10), self.rng.choice(&some).copied()) {
            (0, _) => {
                self.count("load");
                self.load_rows(&table, &open.txn).map(|rows| open.touched.extend(rows.keys().map(|r| (id, *r))))
            }
            (1..5, Some(row_id)) => {
                let row = self.row();
                let columns: Vec<usize> = (0..3).filter(|_| self.rng.bool()).collect();
                let chunks: Vec<_> = columns.iter().map(|c| common::chunk(&table, *c, &row[*c..=*c])).collect();
                let refs: Vec<_> = chunks.iter().collect();
                self.count("update");
                let done = !columns.is_empty() && table.update(&open.txn, row_id, &columns, &refs, 0).unwrap_or(false);
                open.touched.extend(done.then_some((id, row_id)));
                Ok(())
            }
            (5..7, Some(row_id)) => {
                self.count("delete");
                let done = table.delete(&open.txn, row_id).unwrap_or(false);
                open.touched.extend(done.then_some((id, row_id)));
                Ok(())
            }
            _ => {
                let row = self.row();
                self.count("insert");
                common::insert(&table, &open.txn, &[row]).map(|ids| open.touched.extend(ids.iter().map(|r| (id, *r))))
            }
        };
        if result.is_err() {
            store.txns().rollback_to(&open.txn, savepoint);
        }
        open.state.insert(id, store_rows(&table, &open.txn));
    }

    fn commit(&mut self, store: &Store, open: Open) {
        let mut state = self.present();
        for (id, row_id) in &open.touched {
            let Some(rows) = state.get_mut(id) else { continue };
            match open.state.get(id).and_then(|t| t.get(row_id)) {
                Some(row) => rows.insert(*row_id, row.clone()),
                None => rows.remove(row_id),
            };
        }
        let any = open.txn.has_changes();
        let done = store.txns().commit(&open.txn);
        assert!(done.is_ok() || !self.alive(), "seed {}: {done:?}", self.seed);
        if any && state != self.present() {
            self.logged(state, done.is_ok(), false);
        }
        self.count("commit");
    }

    fn run(&mut self) {
        let mut store = self.open().expect("nothing fails yet");
        for _ in 0..self.rng.u32(1..4) {
            self.plan_fault(120);
            let mut opened: Vec<Open> = Vec::new();
            for _ in 0..100 {
                if !self.alive() {
                    break;
                }
                match self.rng.u32(..40) {
                    0 => self.create(&store),
                    1 => self.create_filled(&store),
                    2 => self.drop_or_truncate(&store, &opened),
                    3..5 => self.checkpoint(&store),
                    5..9 if opened.len() < 3 => {
                        let txn = store.txns().begin();
                        txn.set_lock_wait_timeout(Duration::ZERO);
                        opened.push(Open { txn, state: State::new(), touched: Vec::new() });
                    }
                    9..14 if !opened.is_empty() => {
                        let open = opened.swap_remove(self.rng.usize(..opened.len()));
                        if self.rng.u32(..4) == 0 {
                            store.txns().rollback(&open.txn);
                        } else {
                            self.commit(&store, open);
                        }
                    }
                    _ if !opened.is_empty() => {
                        let i = self.rng.usize(..opened.len());
                        self.change(&store, &mut opened[i]);
                    }
                    _ => {}
                }
            }
            opened.drain(..).for_each(|o| store.txns().rollback(&o.txn));
            self.check_acknowledged(&store);
            drop((opened, store));
            store = self.recover();
        }
    }
}

/// What a current read of the transaction sees.
fn store_rows(table: &Table, txn: &Txn) -> BTreeMap<u64, Row> {
    common::scan(table, &table.txns().current(txn)).into_iter().collect()
}

#[test]
fn whatever_fails_the_state_is_one_that_was() {
    let setting = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let seeds = match setting("CRASH_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..setting("CRASH_SIM_SEEDS").unwrap_or(1500),
    };
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in seeds.clone() {
        let mut world = World::new(seed);
        world.run();
        world.seen.into_iter().for_each(|(k, n)| *seen.entry(k).or_default() += n);
    }
    println!("{seen:?}");
    assert!(seeds.end - seeds.start < 100 || seen.len() == 12, "everything happens: {seen:?}");
}
