//! The table against a naive multi-version map, under random interleavings of transactions and snapshots.
//!
//! Transactions run interleaved on one thread; a lock wait timeout of zero turns every wait into error 1205, and the
//! model says exactly when one is due.

mod common;

use common::{chunk, kvs, scan};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use storage::{BulkAppender, LockWait, RowLock, Savepoint, Snapshot, Store, Table, Txn};
use types::Value;
use vector::Chunk;

const TXNS: usize = 3;
const SNAPSHOTS: usize = 4;

#[derive(Clone, Debug)]
enum Op {
    Insert { txn: usize, key: i64, v: Option<i64>, s: u8 },
    Bulk { txn: usize, first: i64, n: usize, step: i64 },
    UpdateValue { txn: usize, row: usize, v: Option<i64> },
    UpdateString { txn: usize, row: usize, s: u8 },
    UpdateKey { txn: usize, row: usize, key: i64 },
    Delete { txn: usize, row: usize },
    Lock { txn: usize, row: usize },
    Commit { txn: usize },
    Rollback { txn: usize },
    Savepoint { txn: usize },
    RollbackTo { txn: usize },
    Snapshot { at: usize, txn: Option<usize> },
    Check { at: usize },
    Drop { at: usize },
    Collect,
}

fn op() -> impl Strategy<Value = Op> {
    let txn = 0..TXNS;
    let key = 0i64..24;
    let row = 0usize..64;
    // Some fit the carriers of full leaves, some widen them.
    let v = prop_oneof![
        4 => (0i64..100).prop_map(Some),
        1 => (-40_000i64..40_000).prop_map(Some),
        1 => any::<i32>().prop_map(|v| Some(v.into())),
        1 => any::<i64>().prop_map(Some),
        2 => Just(None)
    ];
    prop_oneof![
        8 => (txn.clone(), key.clone(), v.clone(), any::<u8>()).prop_map(|(txn, key, v, s)| Op::Insert { txn, key, v, s }),
        2 => (txn.clone(), 0i64..60, 1usize..14, 1i64..3).prop_map(|(txn, first, n, step)| Op::Bulk { txn, first, n, step }),
        4 => (txn.clone(), row.clone(), v).prop_map(|(txn, row, v)| Op::UpdateValue { txn, row, v }),
        3 => (txn.clone(), row.clone(), any::<u8>()).prop_map(|(txn, row, s)| Op::UpdateString { txn, row, s }),
        3 => (txn.clone(), row.clone(), key).prop_map(|(txn, row, key)| Op::UpdateKey { txn, row, key }),
        4 => (txn.clone(), row.clone()).prop_map(|(txn, row)| Op::Delete { txn, row }),
        1 => (txn.clone(), row).prop_map(|(txn, row)| Op::Lock { txn, row }),
        5 => txn.clone().prop_map(|txn| Op::Commit { txn }),
        2 => txn.clone().prop_map(|txn| Op::Rollback { txn }),
        1 => txn.clone().prop_map(|txn| Op::Savepoint { txn }),
        1 => txn.clone().prop_map(|txn| Op::RollbackTo { txn }),
        4 => (0..SNAPSHOTS, proptest::option::of(txn)).prop_map(|(at, txn)| Op::Snapshot { at, txn }),
        4 => (0..SNAPSHOTS).prop_map(|at| Op::Check { at }),
        1 => (0..SNAPSHOTS).prop_map(|at| Op::Drop { at }),
        2 => Just(Op::Collect),
    ]
}

#[derive(Clone, PartialEq, Debug)]
struct Row {
    key: i64,
    v: Option<i64>,
    s: u8,
}

impl Row {
    /// Strings of all sizes: inline, pointing, NULL.
    fn s(s: u8) -> Value {
        match s % 4 {
            0 => Value::Null,
            1 => Value::str(&format!("s{s}")),
            2 => Value::str(&format!("a string beyond twelve bytes {s}")),
            _ => Value::str(&"x".repeat(s as usize)),
        }
    }

    fn values(&self) -> Vec<Value> {
        vec![Value::Int(self.key), self.v.map_or(Value::Null, Value::Int), Row::s(self.s)]
    }
}

type State = BTreeMap<u64, Row>;

/// What one change did to one row; before and after are equal for a lock.
struct Logged {
    row_id: u64,
    before: Option<Row>,
    after: Option<Row>,
}

struct ModelTxn {
    txn: Arc<Txn>,
    log: Vec<Logged>,
    /// Rows that it shares.
    shared: Vec<u64>,
    savepoint: (Savepoint, usize),
}

struct Model {
    store: Store,
    table: Arc<Table>,
    committed: State,
    txns: Vec<ModelTxn>,
    snapshots: Vec<Option<(Snapshot, State, Option<u64>)>>,
}

#[derive(PartialEq, Debug)]
enum Expected {
    Done,
    Duplicate,
    Wait,
}

impl Model {
    fn new() -> Model {
        let (store, table) = kvs(8, false);
        let txns = (0..TXNS).map(|_| Self::begin(&store)).collect();
        Model { store, table, committed: State::new(), txns, snapshots: (0..SNAPSHOTS).map(|_| None).collect() }
    }

    fn begin(store: &Store) -> ModelTxn {
        let txn = store.txns().begin();
        txn.set_lock_wait_timeout(Duration::ZERO);
        let savepoint = (txn.savepoint(), 0);
        ModelTxn { txn, log: vec![], shared: vec![], savepoint }
    }

    /// What the transaction sees in current reads.
    fn seen_by(&self, txn: usize) -> State {
        let mut state = self.committed.clone();
        for l in &self.txns[txn].log {
            match &l.after {
                Some(row) => state.insert(l.row_id, row.clone()),
                None => state.remove(&l.row_id),
            };
        }
        state
    }

    fn holder(&self, row_id: u64) -> Option<usize> {
        self.txns.iter().position(|t| t.log.iter().any(|l| l.row_id == row_id))
    }

    /// A row that exists in some transaction's eyes.
    fn pick(&self, row: usize) -> Option<u64> {
        let mut ids: Vec<u64> = self.committed.keys().copied().collect();
        ids.extend(self.txns.iter().flat_map(|t| t.log.iter().map(|l| l.row_id)));
        ids.sort_unstable();
        ids.dedup();
        if ids.is_empty() { None } else { Some(ids[row % ids.len()]) }
    }

    fn expect_key(&self, txn: usize, key: i64, own: Option<u64>) -> Expected {
        for (i, t) in self.txns.iter().enumerate() {
            let has = |r: &Option<Row>| r.as_ref().is_some_and(|r| r.key == key);
            if i != txn && t.log.iter().any(|l| has(&l.before) || has(&l.after)) {
                return Expected::Wait;
            }
        }
        let taken = self.seen_by(txn).iter().any(|(id, r)| r.key == key && Some(*id) != own);
        if taken { Expected::Duplicate } else { Expected::Done }
    }

    fn chunks(&self, rows: &[Row]) -> Vec<Chunk> {
        common::chunks(&self.table, &rows.iter().map(Row::values).collect::<Vec<_>>())
    }

    fn run(&mut self, op: Op) {
        match op {
            Op::Insert { txn, key, v, s } => {
                let row = Row { key, v, s };
                let chunks = self.chunks(std::slice::from_ref(&row));
                let t = self.txns[txn].txn.clone();
                let result = self.table.try_insert(&t, &chunks.iter().collect::<Vec<_>>(), 0);
                // A key may at once be taken by a row and depend on a transaction; either answer is right then.
                match (result, self.expect_key(txn, key, None)) {
                    (Ok(Ok(row_id)), Expected::Done) => {
                        self.txns[txn].log.push(Logged { row_id, before: None, after: Some(row) });
                    }
                    (Ok(Err(d)), Expected::Duplicate) => {
                        assert_eq!(self.seen_by(txn)[&d.row_id].key, key);
                        assert_eq!(d.error().message(), format!("Duplicate entry '{key}' for key 't.PRIMARY'"));
                        // As engines do for all but ON DUPLICATE KEY UPDATE.
                        assert_eq!(self.table.share_row(&t, d.row_id), Ok(Some(d.row_id)));
                        self.met(txn, key);
                    }
                    (Err(e), Expected::Wait) => assert_eq!(e.code().0, 1205),
                    (result, expected) => panic!("insert of {key}: {result:?}, expected {expected:?}"),
                }
            }
            Op::Bulk { txn, first, n, step } => {
                let rows: Vec<Row> =
                    (0..n as i64).map(|i| Row { key: first + i * step, v: Some(i), s: (i % 3 + 1) as u8 }).collect();
                let expected = rows.iter().map(|r| self.expect_key(txn, r.key, None)).find(|e| *e != Expected::Done);
                let t = self.txns[txn].txn.clone();
                let before = t.savepoint();
                let leaves_before: Vec<u64> =
                    scan(&self.table, &self.store.txns().current(&t)).iter().map(|r| r.0).collect();
                let mut bulk = BulkAppender::new(&self.table, &t);
                let loaded = rows
                    .iter()
                    .try_for_each(|r| {
                        for (c, v) in r.values().iter().enumerate() {
                            bulk.push_value(c, v);
                        }
                        bulk.end_row()
                    })
                    .and_then(|()| bulk.finish());
                match (loaded, expected) {
                    (Ok(loaded), None) => {
                        assert_eq!((loaded.rows, loaded.duplicates), (n as u64, 0));
                        let seen = scan(&self.table, &self.store.txns().current(&t));
                        let new: Vec<_> = seen.into_iter().filter(|r| !leaves_before.contains(&r.0)).collect();
                        assert_eq!(new.len(), n);
                        for (row_id, values) in new {
                            let row = rows.iter().find(|r| r.values() == values).expect("the row was loaded").clone();
                            self.txns[txn].log.push(Logged { row_id, before: None, after: Some(row) });
                        }
                    }
                    (Err(e), Some(_)) => {
                        assert!([1062, 1205].contains(&e.code().0), "{e}");
                        self.store.txns().rollback_to(&t, before);
                        if n == 1 && e.code().0 == 1062 {
                            // It came as an insert.
                            self.met(txn, first);
                        }
                    }
                    (loaded, expected) => panic!("load: {loaded:?}, expected {expected:?}"),
                }
            }
            Op::UpdateValue { txn, row, v } => self.change(txn, row, 1, |r| Row { v, ..r }),
            Op::UpdateString { txn, row, s } => self.change(txn, row, 2, |r| Row { s, ..r }),
            Op::UpdateKey { txn, row, key } => self.change(txn, row, 0, |r| Row { key, ..r }),
            Op::Delete { txn, row } => {
                let Some(row_id) = self.pick(row) else { return };
                let t = self.txns[txn].txn.clone();
                let result = self.table.delete(&t, row_id);
                if self.waits(txn, row_id) {
                    return assert_eq!(result.expect_err("the row is held").code().0, 1205);
                }
                let before = self.seen_by(txn).get(&row_id).cloned();
                assert_eq!(result, Ok(before.is_some()));
                if before.is_some() {
                    self.txns[txn].log.push(Logged { row_id, before, after: None });
                }
            }
            Op::Lock { txn, row } => {
                let Some(row_id) = self.pick(row) else { return };
                let t = self.txns[txn].txn.clone();
                if self.waits(txn, row_id) {
                    let refused = self.table.lock_row(&t, row_id, LockWait::NoWait);
                    assert_eq!(refused.expect_err("the row is held").code().0, 3572);
                    assert_eq!(self.table.lock_row(&t, row_id, LockWait::SkipLocked), Ok(RowLock::Skipped));
                    return;
                }
                let result = self.table.lock_row(&t, row_id, LockWait::NoWait);
                match self.seen_by(txn).get(&row_id).cloned() {
                    None => assert_eq!(result, Ok(RowLock::Gone)),
                    Some(row) => {
                        assert_eq!(result, Ok(RowLock::Locked));
                        let (before, after) = (Some(row.clone()), Some(row));
                        self.txns[txn].log.push(Logged { row_id, before, after });
                    }
                }
            }
            Op::Commit { txn } => {
                // A transaction's own snapshots are for as long as it is active.
                self.forget_snapshots_of(txn);
                self.committed = self.seen_by(txn);
                self.store.txns().commit(&self.txns[txn].txn).expect("the log can be written");
                self.txns[txn] = Self::begin(&self.store);
            }
            Op::Rollback { txn } => {
                self.forget_snapshots_of(txn);
                self.store.txns().rollback(&self.txns[txn].txn);
                self.txns[txn] = Self::begin(&self.store);
            }
            Op::Savepoint { txn } => {
                let t = &mut self.txns[txn];
                t.savepoint = (t.txn.savepoint(), t.log.len());
            }
            Op::RollbackTo { txn } => {
                self.forget_snapshots_of(txn);
                let t = &mut self.txns[txn];
                self.store.txns().rollback_to(&t.txn, t.savepoint.0);
                t.log.truncate(t.savepoint.1);
            }
            Op::Snapshot { at, txn } => {
                self.snapshots[at] = Some(match txn {
                    None => (self.store.txns().snapshot(), self.committed.clone(), None),
                    Some(txn) => {
                        let t = &self.txns[txn].txn;
                        t.begin_statement();
                        (self.store.txns().snapshot_of(t), self.seen_by(txn), Some(t.id()))
                    }
                });
            }
            Op::Check { at } => {
                if let Some((snapshot, state, _)) = &self.snapshots[at] {
                    self.check(snapshot, state);
                }
            }
            Op::Drop { at } => self.snapshots[at] = None,
            Op::Collect => {
                self.table.collect_versions();
                for (snapshot, state, _) in self.snapshots.iter().flatten() {
                    self.check(snapshot, state);
                }
            }
        }
    }

    fn waits(&self, txn: usize, row_id: u64) -> bool {
        let shares = |(i, t): (usize, &ModelTxn)| i != txn && t.shared.contains(&row_id);
        self.holder(row_id).is_some_and(|h| h != txn) || self.txns.iter().enumerate().any(shares)
    }

    /// A row that has a key as a transaction failed with a duplicate: it shares the row from then on.
    fn met(&mut self, txn: usize, key: i64) {
        let own = |id: &u64| self.txns[txn].log.iter().any(|l| l.row_id == *id);
        let met =
            self.seen_by(txn).iter().filter(|(id, r)| r.key == key && !own(id)).map(|(id, _)| *id).collect::<Vec<_>>();
        self.txns[txn].shared.extend(met);
    }

    /// What a transaction took back is no longer what its snapshots saw; once it has ended they are of no use.
    fn forget_snapshots_of(&mut self, txn: usize) {
        let id = self.txns[txn].txn.id();
        for s in &mut self.snapshots {
            if s.as_ref().is_some_and(|s| s.2 == Some(id)) {
                *s = None;
            }
        }
    }

    fn change(&mut self, txn: usize, row: usize, column: usize, f: impl FnOnce(Row) -> Row) {
        let Some(row_id) = self.pick(row) else { return };
        let t = self.txns[txn].txn.clone();
        let before = self.seen_by(txn).get(&row_id).cloned();
        let after = before.clone().map(f);
        let value = match &after {
            Some(row) => row.values()[column].clone(),
            None => {
                if column == 0 {
                    Value::Int(1)
                } else {
                    Value::Null
                }
            }
        };
        let chunk = chunk(&self.table, column, &[value]);
        let held = self.waits(txn, row_id);
        let key = match (&before, &after) {
            (Some(b), Some(a)) if b.key != a.key => self.expect_key(txn, a.key, Some(row_id)),
            _ => Expected::Done,
        };
        let savepoint = t.savepoint();
        match self.table.update(&t, row_id, &[column], &[&chunk], 0) {
            Err(e) if held => assert_eq!(e.code().0, 1205),
            Err(e) => {
                assert_eq!(e.code().0, if key == Expected::Wait { 1205 } else { 1062 }, "{key:?}");
                assert_ne!(key, Expected::Done);
                self.store.txns().rollback_to(&t, savepoint);
                if let Some(after) = after.filter(|_| key == Expected::Duplicate) {
                    self.met(txn, after.key);
                }
            }
            Ok(done) => {
                assert!(!held && key == Expected::Done);
                assert_eq!(done, before.is_some());
                if done {
                    self.txns[txn].log.push(Logged { row_id, before, after });
                }
            }
        }
    }

    fn check(&self, snapshot: &Snapshot, state: &State) {
        let seen = scan(&self.table, snapshot);
        let wanted: Vec<(u64, Vec<Value>)> = state.iter().map(|(id, r)| (*id, r.values())).collect();
        assert_eq!(seen, wanted, "scan");

        let keys: Vec<Value> = (0..100).map(Value::Int).collect();
        let keys = chunk(&self.table, 0, &keys);
        for (key, found) in self.table.get_many(0, &[&keys], 100, snapshot).into_iter().enumerate() {
            let wanted = state.iter().find(|(_, r)| r.key == key as i64).map(|(id, _)| *id);
            assert_eq!(found, wanted, "get {key}");
        }

        let mut ids: Vec<u64> = (0..self.table.leaf_count() * 8).collect();
        ids.reverse();
        ids.extend(state.keys());
        let fetched = self.table.fetch(&ids, &[2, 0, 1], snapshot);
        for (i, id) in ids.iter().enumerate() {
            let row = state.get(id);
            assert_eq!(fetched.seen.as_ref().is_none_or(|s| s.get(i)), row.is_some(), "fetch {id}");
            if let Some(row) = row {
                for (chunk, c) in fetched.columns.iter().zip([2, 0, 1]) {
                    assert_eq!(
                        chunk.value(i, &self.table.def().columns[c].ty),
                        row.values()[c],
                        "fetch {id} column {c}"
                    );
                }
            }
        }
        for leaf_no in 0..self.table.leaf_count() {
            let Some(zone) = self.table.zone(leaf_no, 1) else { continue };
            for (_, row) in state.range(self.table.row_id(leaf_no, 0)..self.table.row_id(leaf_no + 1, 0)) {
                match row.v {
                    None => assert!(zone.has_null),
                    Some(v) => assert!(zone.bounds.is_none_or(|b| b.min <= v && v <= b.max)),
                }
            }
        }
    }

    fn finish(mut self) {
        for (snapshot, state, _) in self.snapshots.iter().flatten() {
            self.check(snapshot, state);
        }
        for txn in 0..TXNS {
            let op = if txn % 2 == 0 { Op::Commit { txn } } else { Op::Rollback { txn } };
            self.run(op);
        }
        self.snapshots.clear();
        self.store.txns().collect_garbage(usize::MAX);
        assert_eq!(self.table.versioned_leaves(), 0, "versions that nobody needs are gone");
        self.check(&self.store.txns().snapshot(), &self.committed);
        assert_eq!(self.table.check(), Vec::<String>::new());
        assert_eq!(self.table.row_count(), self.committed.len() as u64);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 1500 }))]

    #[test]
    fn a_table_is_a_multi_version_map(ops in proptest::collection::vec(op(), 1..120)) {
        let mut model = Model::new();
        for op in ops {
            model.run(op);
        }
        model.finish();
    }
}
