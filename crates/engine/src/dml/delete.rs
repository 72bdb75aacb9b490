//! DELETE from one table or from tables of a join.

use super::key_locks::StatementLocks;
use super::keyed::KeyedRow;
use super::returning::{ReturnedRows, Returning};
use super::targets::{may_repeat_rows, row_ids};
use crate::session::Execution;
use changes::{RowsChanged, TableChanges};
use parser::ast::{self, TableRef};
use plan::Plan;
use planner::bind::{BoundDelete, DmlTarget};
use session::sink::ResultSink;
use std::collections::HashSet;
use std::sync::Arc;
use storage::Txn;
use types::{Error, Result};

/// A planned DELETE.
#[derive(Debug)]
pub(crate) struct DeletePlan {
    pub plan: Arc<Plan>,
    keyed: Option<KeyedRow>,
    pub targets: Vec<DmlTarget>,
    ignore: bool,
    locks: StatementLocks,
}

impl Execution<'_> {
    pub(crate) fn delete(&mut self, d: &ast::Delete, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        let plan = self.plan_delete(d, |_| true)?.ok_or_else(|| Error::internal("a DELETE without a plan"))?;
        let returning = match d.from.first() {
            Some(TableRef::Table(t)) => self.plan_returning(&d.returning, &t.name, t.alias.as_ref())?,
            _ => None,
        };
        self.execute_delete(&plan, returning, more, sink)
    }

    /// Runs a planned DELETE and answers it.
    pub(crate) fn execute_delete(
        &mut self,
        plan: &DeletePlan,
        returning: Option<Returning>,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        self.status().com_delete.add(1);
        self.begin_judging(plan.ignore);
        let (txn, savepoint) = self.begin_change_of(plan.targets.iter().all(|t| t.table.temporary))?;
        let result = self.run_delete(plan, &txn, returning);
        let (deleted_of, rows) = self.end_change(savepoint, result)?;
        let deleted = deleted_of.iter().sum();
        self.count_changes(&plan.plan, &plan.targets, &deleted_of, RowsChanged::deleted)?;
        if let Some(rows) = rows {
            return rows.send(self, deleted, more, sink);
        }
        self.send_ok(deleted, String::new(), more, sink)
    }

    /// `None`: the bound statement is not what the caller wants.
    pub(crate) fn plan_delete(
        &self,
        d: &ast::Delete,
        wanted: impl FnOnce(&BoundDelete) -> bool,
    ) -> Result<Option<DeletePlan>> {
        let mut bound = {
            let info = self.info();
            self.binder(&info).bind_delete(d)?
        };
        if !wanted(&bound) {
            return Ok(None);
        }
        self.check_changeable(&bound.targets)?;
        let keyed = if bound.targets.len() == 1 { KeyedRow::of(self, &bound.query) } else { None };
        let locks = self.take_locks(&mut bound.query)?;
        let plan = self.optimize(bound.query)?;
        self.check_safe_update(&plan, &bound.targets, d.limit.is_some())?;
        Ok(Some(DeletePlan { plan, keyed, targets: bound.targets, ignore: d.ignore, locks }))
    }

    /// How many rows of each target were deleted, and what RETURNING returns.
    fn run_delete(
        &self,
        delete: &DeletePlan,
        txn: &Arc<Txn>,
        returning: Option<Returning>,
    ) -> Result<(Vec<u64>, Option<ReturnedRows>)> {
        let DeletePlan { plan, keyed, targets, ignore, locks } = delete;
        let found = self.find_rows("DELETE", plan, keyed.as_ref(), targets, locks, txn)?;
        let returned = match returning {
            Some(r) => {
                let ids: Vec<u64> =
                    found.batches.iter().flat_map(|b| row_ids(b, targets[0].row_id)).flatten().collect();
                let snapshot = self.db().store().txns().current(txn);
                Some(r.run(self, &targets[0].table, &ids, snapshot)?)
            }
            None => None,
        };
        let joined = may_repeat_rows(&plan.root);
        let mut deleted_of = Vec::with_capacity(targets.len());
        for target in targets {
            let mut deleted = 0;
            let mut writer = TableChanges::new(self, &target.table, txn.clone(), *ignore)?;
            let mut seen = HashSet::new();
            for batch in &found.batches {
                self.check_killed()?;
                let mut ids: Vec<u64> = row_ids(batch, target.row_id).into_iter().flatten().collect();
                ids.retain(|id| !joined || seen.insert(*id));
                deleted += writer.delete(&ids)?;
            }
            deleted_of.push(deleted);
        }
        Ok((deleted_of, returned))
    }
}
