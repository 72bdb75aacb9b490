//! SELECT ... FOR UPDATE and FOR SHARE.
//!
//! ```text
//! current snapshot ─▶ run the query ─▶ rows and their ids, kept ─▶ lock them ─▶ all as the snapshot sees them? ─▶ send
//!        ▲                                                                         │ no
//!        └──────────────────── again, keeping the locks ◀──────────────────────────┘
//! ```
//! What is sent is the newest version of rows that the transaction holds. Only rows that the query returns are locked,
//! after WHERE, ORDER BY and LIMIT, and what was looked for by a unique key; gaps between rows never are. With SKIP
//! LOCKED the search itself passes over rows that others hold, so that LIMIT counts free rows only.

use super::{Runner, meta, timestamps};
use crate::dml::targets::row_ids;
use crate::dml::{KeyLocks, StatementLocks};
use crate::plan_cache::{gives_keys, is_by_key, position_of};
use crate::session::Execution;
use catalog::TableDef;
use executor::columns::batch_bytes;
use executor::{Lookups, Reservation};
use parser::ast::{self, LockStrength};
use plan::Plan;
use plan::logical::{Logical, LogicalQuery};
use planner::bind::{BoundLocking, LockTarget};
use session::sink::{ResultShape, ResultSink};
use std::ops::ControlFlow;
use std::sync::Arc;
use storage::{Found, LockWait, RowLockMode, Snapshot, Table, Txn};
use types::{Result, SqlType, Value};
use vector::Batch;

/// A planned locking query.
pub(crate) struct LockingPlan {
    plan: Arc<Plan>,
    width: usize,
    targets: Vec<(LockTarget, Arc<Table>)>,
    rows: Option<Arc<Plan>>,
    locks: StatementLocks,
}

/// The output of a locking query, kept.
pub(crate) struct LockedRows {
    pub batches: Vec<Batch>,
    _memory: Reservation,
}

fn mode(target: &LockTarget) -> RowLockMode {
    match target.strength {
        LockStrength::Update => RowLockMode::Exclusive,
        LockStrength::Share => RowLockMode::Shared,
    }
}

fn wait(target: &LockTarget) -> LockWait {
    match target.wait {
        ast::LockWait::Wait => LockWait::Wait,
        ast::LockWait::NoWait => LockWait::NoWait,
        ast::LockWait::SkipLocked => LockWait::SkipLocked,
    }
}

/// The query with the locking clauses, under parentheses that mean nothing.
pub(crate) fn has_locking(query: &ast::Query) -> bool {
    let mut query = query;
    loop {
        match &query.body {
            _ if !query.locking.is_empty() => return true,
            ast::QueryBody::Nested(inner) => query = inner,
            _ => return false,
        }
    }
}

/// What SERIALIZABLE adds to a query that locks the rows it reads.
pub(super) const SHARED: ast::Locking =
    ast::Locking { strength: LockStrength::Share, of: Vec::new(), wait: ast::LockWait::Wait };

/// Whether the query reads one table, by whole unique keys, so that its rows can be locked instead of the table.
pub(super) fn names_keys(query: &LogicalQuery) -> bool {
    let mut node = &query.root;
    while let Logical::Project { input, .. } | Logical::Limit { input, .. } | Logical::Sort { input, .. } = node {
        node = input;
    }
    let Logical::Filter { input, predicates } = node else { return false };
    let Logical::Get { table, columns, is_virtual: false, .. } = &**input else { return false };
    let plain = query.subqueries.is_empty() && !query.calc_found_rows && !query.serial && !table.temporary;
    plain && gives_keys(table, predicates, &|id| position_of(columns, id))
}

impl LockingPlan {
    /// What finds the rows.
    pub fn finds(&self) -> &Arc<Plan> {
        self.rows.as_ref().unwrap_or(&self.plan)
    }
}

impl Execution<'_> {
    /// Answers a query that locks rows.
    pub(super) fn locking_query(&mut self, bound: BoundLocking, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        let mut metas = meta::columns(&bound.query);
        metas.truncate(bound.width);
        let plan = self.plan_locking(bound)?;
        self.keep_but_locked(&plan)?;
        self.send_locking(&plan, &ResultShape::new(metas), more, sink)
    }

    /// Under SERIALIZABLE: writers stay out of what the query reads and does not lock.
    fn keep_but_locked(&self, plan: &LockingPlan) -> Result<()> {
        let by_key = plan.targets.len() == 1 && is_by_key(plan.finds()) && is_by_key(&plan.plan);
        let locked = plan.targets.iter().filter(|(t, _)| by_key || t.wait == ast::LockWait::SkipLocked);
        let locked: Vec<&TableDef> = locked.map(|(t, _)| &*t.table).collect();
        self.keep_unkept_but(&locked)
    }

    /// Locks the rows of a planned query and sends them.
    pub(crate) fn send_locking(
        &mut self,
        plan: &LockingPlan,
        shape: &ResultShape,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        let mut local = timestamps::ToLocal::new(&shape.columns, self);
        let rows = self.locked_rows(plan)?;
        let mut sent = 0u64;
        sink.shared_columns(shape)?;
        for batch in &rows.batches {
            let batch = &*local.convert(batch);
            sent += batch.count() as u64;
            sink.batch(batch)?;
        }
        self.set_found_rows(sent);
        self.note_last_insert_id();
        sink.end_rows(&self.end_info(more))
    }

    pub(crate) fn bind_locking(&self, query: &ast::Query) -> Result<BoundLocking> {
        let info = self.info();
        self.binder(&info).bind_locking_query(query)
    }

    /// The rows of a locking query as values: at most two, where one is wanted.
    pub(super) fn locked_values(&mut self, bound: BoundLocking) -> Result<Vec<Vec<(Value, SqlType)>>> {
        let types = output_types(&bound.query);
        let plan = self.plan_locking(bound)?;
        let locked = self.locked_rows(&plan)?;
        let mut rows = Vec::new();
        for batch in &locked.batches {
            batch.selection.for_each(batch.rows, |i| {
                if rows.len() < 2 {
                    rows.push(batch.columns.iter().zip(&types).map(|(c, ty)| (c.value(i, ty), *ty)).collect());
                }
            });
        }
        Ok(rows)
    }

    /// Locks the rows and returns the query's output. Without a transaction the locks go at once.
    fn locked_rows(&mut self, plan: &LockingPlan) -> Result<LockedRows> {
        let txn = if plan.locks.exclusive() { self.writing()? } else { self.locking()? };
        let savepoint = txn.savepoint();
        let result = self.lock_until_stable(plan, &txn);
        self.end_change(savepoint, result)
    }

    pub(crate) fn plan_locking(&self, bound: BoundLocking) -> Result<LockingPlan> {
        let BoundLocking { mut query, width, targets, mut rows } = bound;
        let mut locks = self.take_locks(&mut query)?;
        if let Some(rows) = &mut rows {
            locks.0.extend(self.take_locks(rows)?.0);
        }
        let plan = self.optimize(query)?;
        let rows = rows.map(|q| self.optimize(q)).transpose()?;
        let mut planned = self.locking_plan(plan, width, targets)?;
        locks.0.append(&mut planned.locks.0);
        Ok(LockingPlan { rows, locks, ..planned })
    }

    /// What runs a plan whose rows are those to be locked.
    pub(crate) fn locking_plan(&self, plan: Arc<Plan>, width: usize, targets: Vec<LockTarget>) -> Result<LockingPlan> {
        let store = self.db().store();
        let with_table = |t: LockTarget| store.expect_table(&t.table).map(|table| (t, table));
        let targets: Vec<(LockTarget, Arc<Table>)> = targets.into_iter().map(with_table).collect::<Result<_>>()?;
        let locks = targets.iter().map(|(target, table)| KeyLocks {
            table: table.clone(),
            id: target.table.id,
            mode: mode(target),
            wait: wait(target),
            all_read: false,
        });
        let locks = StatementLocks(locks.collect());
        Ok(LockingPlan { plan, width, targets, rows: None, locks })
    }

    pub(crate) fn lock_until_stable(&self, plan: &LockingPlan, txn: &Arc<Txn>) -> Result<LockedRows> {
        let warned = self.warnings().take();
        // Rows that are found anew assign user variables anew.
        let vars = plan.finds().serial.then(|| self.user_vars().saved());
        loop {
            self.check_killed()?;
            vars.iter().for_each(|v| self.user_vars().restore(v));
            self.warnings().take();
            warned.iter().for_each(|w| self.warnings().push(w.clone()));
            let snapshot = self.db().store().txns().snapshot_of(txn);
            let lookups = plan.locks.lookups();
            let found = self.run_whole(plan.rows.as_ref().unwrap_or(&plan.plan), &snapshot, plan, &lookups)?;
            let locked = lock_all(&found.batches, &plan.targets, txn, &snapshot)?;
            if !self.lock_looked_up(&lookups, &plan.locks, txn, &snapshot)? || !locked {
                continue;
            }
            let mut output = match plan.rows {
                None => found,
                Some(_) => self.run_whole(&plan.plan, &snapshot, plan, &lookups)?,
            };
            output.batches.iter_mut().for_each(|b| b.columns.truncate(plan.width));
            return Ok(output);
        }
    }

    fn run_whole(
        &self,
        plan: &Arc<Plan>,
        snapshot: &Snapshot,
        locking: &LockingPlan,
        lookups: &Arc<Lookups>,
    ) -> Result<LockedRows> {
        let (mut batches, mut bytes) = (Vec::new(), 0);
        let mut memory = Reservation::new(&self.statement_memory());
        let runner = Runner::at(snapshot.clone()).skipping(locking.locks.skipping(snapshot)).noting(lookups);
        runner.run(self, plan, None, &mut |batch| {
            let batch = batch.compact();
            bytes += batch_bytes(&batch);
            memory.hold_long(bytes, "The rows that a query locks")?;
            batches.push(batch);
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(LockedRows { batches, _memory: memory })
    }
}

fn output_types(query: &LogicalQuery) -> Vec<SqlType> {
    query.output.iter().map(|(id, _)| query.columns.get(*id).ty).collect()
}

/// Locks the rows; says whether all of them are as the snapshot sees them.
fn lock_all(
    batches: &[Batch],
    targets: &[(LockTarget, Arc<Table>)],
    txn: &Arc<Txn>,
    snapshot: &Snapshot,
) -> Result<bool> {
    let mut as_seen = true;
    for batch in batches {
        for (target, table) in targets {
            let ids: Vec<u64> = row_ids(batch, target.row_id).into_iter().flatten().collect();
            let found = table.lock_rows(txn, &ids, mode(target), wait(target), snapshot)?;
            as_seen &= found.iter().all(|f| *f == Found::AsSeen);
        }
    }
    Ok(as_seen)
}
