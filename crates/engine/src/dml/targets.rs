//! Finding the rows that UPDATE and DELETE change.
//!
//! ```text
//! current snapshot ─▶ run the query ─▶ row ids and values, kept ─▶ lock each row ─▶ as the snapshot sees it? ─▶ change
//!        ▲                                                                              │ no
//!        └───────────────────────── again, keeping the locks ◀──────────────────────────┘
//! ```
//! Changes act on newest versions, whatever the transaction's own snapshot is (MySQL manual, "Consistent Nonlocking
//! Reads"). A row that another transaction changed between search and lock is searched for anew with everything else:
//! so all rows of a statement are chosen, and their new values computed, from one state of the database, no update is
//! lost, and a condition that came to hold while the statement waited counts. Each round leaves more rows locked than
//! the one before, so in the end nobody can interfere.
//!
//! All of it is kept before the first row is changed: a statement never meets its own changes.

use super::key_locks::{KeyLocks, StatementLocks};
use super::keyed::KeyedRow;
use crate::plan_cache::is_by_key;
use crate::query::Runner;
use crate::session::Execution;
use catalog::TableEngine;
use executor::Reservation;
use executor::columns::batch_bytes;
use plan::explain::Change;
use plan::{Plan, PlanNode, PlanOp};
use planner::bind::DmlTarget;
use std::ops::ControlFlow;
use std::sync::Arc;
use storage::{Found, LockWait, RowLockMode, Snapshot, Table, Txn};
use types::{Error, Result};
use vector::{Batch, Values};

/// Rows found and locked.
pub(super) struct FoundRows {
    /// Every position selected.
    pub batches: Vec<Batch>,
    _memory: Option<Reservation>,
}

impl FoundRows {
    pub fn none() -> FoundRows {
        FoundRows { batches: Vec::new(), _memory: None }
    }

    /// Of few rows, which do not count as memory.
    pub fn one(batch: Batch) -> FoundRows {
        FoundRows { batches: vec![batch], _memory: None }
    }
}

impl Execution<'_> {
    /// 1044 for the server's own tables.
    pub(super) fn check_changeable(&self, targets: &[DmlTarget]) -> Result<()> {
        match targets.iter().find(|t| t.table.engine == TableEngine::Virtual) {
            Some(t) => Err(Error::dbaccess_denied(self.user().0, self.user().1, &t.table.schema)),
            None => Ok(()),
        }
    }

    /// 1175 under sql_safe_updates: a table that changes would be read from one end to the other.
    pub(super) fn check_safe_update(&self, plan: &Plan, targets: &[DmlTarget], limited: bool) -> Result<()> {
        let scanned = |n: &PlanNode| match &n.op {
            PlanOp::Scan { table, .. } => targets.iter().any(|t| t.table.id == table.id),
            PlanOp::IndexScan { table, ranges, .. } => {
                ranges.iter().any(|r| r.parts() == 0) && targets.iter().any(|t| t.table.id == table.id)
            }
            _ => false,
        };
        if self.vars().hot().sql_safe_updates && !limited && any_node(&plan.root, &scanned) {
            return Err(Error::update_without_key_in_safe_mode(""));
        }
        Ok(())
    }

    /// What the query puts out, once all target rows are locked. `keyed`: if it is one row, found by a unique key.
    /// `inner`: what locking clauses of subqueries mean.
    pub(super) fn find_rows(
        &self,
        verb: &'static str,
        plan: &Arc<Plan>,
        keyed: Option<&KeyedRow>,
        targets: &[DmlTarget],
        inner: &StatementLocks,
        txn: &Arc<Txn>,
    ) -> Result<FoundRows> {
        self.process().publish_change(plan, change_of(verb, targets));
        let keyed = keyed.filter(|row| row.suits(self));
        match targets {
            [one] if keyed.is_some() || is_by_key(plan) => self.keep_unkept_but(&[&one.table])?,
            _ => self.keep_unkept()?,
        }
        if let Some(row) = keyed
            && let Some(found) = self.find_keyed(row, txn)?
        {
            return Ok(found);
        }
        let store = self.db().store();
        let tables: Vec<(usize, Arc<Table>)> =
            targets.iter().map(|t| Ok((t.row_id, store.expect_table(&t.table)?))).collect::<Result<_>>()?;
        let mut locks = inner.clone();
        locks.0.extend(targets.iter().zip(&tables).map(|(target, (_, table))| KeyLocks {
            table: table.clone(),
            id: target.table.id,
            mode: RowLockMode::Exclusive,
            wait: LockWait::Wait,
            all_read: false,
        }));
        let warned = self.warnings().take();
        // Rows that are found anew assign user variables anew.
        let vars = plan.serial.then(|| self.user_vars().saved());
        // Behind the last row that a LIMIT lets through nobody looks: batches do, which shows where values are at
        // fault.
        let mut one_by_one = false;
        loop {
            self.check_killed()?;
            vars.iter().for_each(|v| self.user_vars().restore(v));
            self.warnings().take();
            warned.iter().for_each(|w| self.warnings().push(w.clone()));
            let snapshot = store.txns().snapshot_of(txn);
            let (mut batches, mut bytes) = (Vec::new(), 0);
            let mut memory = Reservation::new(&self.statement_memory());
            let lookups = locks.lookups();
            let runner = Runner::at(snapshot.clone()).skipping(locks.skipping(&snapshot)).noting(&lookups);
            let run = runner.one_by_one(one_by_one).run(self, plan, None, &mut |batch| {
                let batch = batch.compact();
                bytes += batch_bytes(&batch);
                memory.hold_long(bytes, "The rows that a statement changes")?;
                batches.push(batch);
                Ok(ControlFlow::Continue(()))
            });
            let at_fault = run.is_err() || self.warnings().count() > warned.len() as u64;
            if at_fault && !one_by_one && stops_early(&plan.root) {
                one_by_one = true;
                continue;
            }
            run?;
            let locked = lock_all(&batches, &tables, txn, &snapshot)?;
            if self.lock_looked_up(&lookups, &locks, txn, &snapshot)? && locked {
                return Ok(FoundRows { batches, _memory: Some(memory) });
            }
        }
    }
}

/// What a statement does to its tables, for EXPLAIN.
pub(crate) fn change_of(verb: &'static str, targets: &[DmlTarget]) -> Change {
    Change { verb, targets: targets.iter().map(|t| t.alias.to_string()).collect() }
}

/// Whether rows are left unread once there are enough.
fn stops_early(node: &PlanNode) -> bool {
    match &node.op {
        PlanOp::Limit { .. } => true,
        PlanOp::Project { input, .. } => stops_early(input),
        _ => false,
    }
}

/// Whether some operator of the plan is such.
fn any_node(node: &PlanNode, is: &impl Fn(&PlanNode) -> bool) -> bool {
    is(node) || node.inputs().into_iter().any(|n| any_node(n, is))
}

/// Whether a row of a table may come out of the query more than once.
pub(super) fn may_repeat_rows(node: &PlanNode) -> bool {
    any_node(node, &|n| {
        matches!(
            n.op,
            PlanOp::HashJoin { .. } | PlanOp::NestedLoopJoin { .. } | PlanOp::IndexJoin { .. } | PlanOp::Apply { .. }
        )
    })
}

/// Locks the rows; says whether all of them are as the snapshot sees them.
fn lock_all(batches: &[Batch], tables: &[(usize, Arc<Table>)], txn: &Arc<Txn>, snapshot: &Snapshot) -> Result<bool> {
    let mut as_seen = true;
    for batch in batches {
        for (column, table) in tables {
            let ids: Vec<u64> = row_ids(batch, *column).into_iter().flatten().collect();
            let found = table.lock_rows(txn, &ids, RowLockMode::Exclusive, LockWait::Wait, snapshot)?;
            as_seen &= found.iter().all(|f| *f == Found::AsSeen);
        }
    }
    Ok(as_seen)
}

/// The row ids in a column of the query's output; `None` where an outer join found no row.
pub(crate) fn row_ids(batch: &Batch, column: usize) -> Vec<Option<u64>> {
    let (chunk, constant) = batch.columns[column].chunk();
    let Values::U64(ids) = &chunk.values else { panic!("row ids are BIGINT UNSIGNED") };
    let at = |i: usize| if constant { 0 } else { i };
    (0..batch.rows).map(|i| chunk.is_valid(at(i)).then(|| ids[at(i)])).collect()
}
