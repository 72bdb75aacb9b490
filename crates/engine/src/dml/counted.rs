//! Rows changed, counted by table and by the index through which they were found (see [`storage::TableIo`]). What came
//! in without being looked for, and what duplicates led to, counts for no index.

use crate::session::Execution;
use catalog::{TableDef, TableId};
use changes::{RowsChanged, Written};
use plan::{Plan, PlanNode, PlanOp};
use planner::bind::DmlTarget;
use storage::IndexIo;
use types::Result;

impl Execution<'_> {
    /// A statement has changed so many rows of each of its targets, which this plan found. `how`: what it did to them.
    pub(super) fn count_changes(
        &self,
        plan: &Plan,
        targets: &[DmlTarget],
        rows: &[u64],
        how: fn(u64) -> RowsChanged,
    ) -> Result<()> {
        for (target, &rows) in targets.iter().zip(rows) {
            let table = self.db().store().expect_table(&target.table)?;
            self.count_rows(table.io().of(found_by(&plan.root, target.table.id)), how(rows));
        }
        Ok(())
    }

    /// An INSERT, or something like it, has written rows.
    pub(crate) fn count_written(&self, table: &TableDef, written: &Written) -> Result<()> {
        let table = self.db().store().expect_table(table)?;
        self.count_rows(table.io().of(None), written.changed());
        Ok(())
    }

    /// A statement has changed rows of one table, found by the index that `io` belongs to: Handler_* and Innodb_rows_*,
    /// and what performance_schema has of tables and indexes. No statement counts rows that it changed elsewhere.
    pub(crate) fn count_rows(&self, io: &IndexIo, rows: RowsChanged) {
        let (status, session) = (self.status(), self.process().id());
        if rows.inserted > 0 {
            status.innodb_rows_inserted.add(rows.inserted);
            status.handler_write.add(rows.inserted);
            io.inserted(session, rows.inserted);
        }
        if rows.updated > 0 {
            status.innodb_rows_updated.add(rows.updated);
            status.handler_update.add(rows.updated);
            io.updated(session, rows.updated);
        }
        if rows.deleted > 0 {
            status.innodb_rows_deleted.add(rows.deleted);
            status.handler_delete.add(rows.deleted);
            io.deleted(session, rows.deleted);
        }
    }
}

/// The index by which the plan finds rows of the table; `None`: it reads them without one, or by several.
fn found_by(node: &PlanNode, id: TableId) -> Option<usize> {
    match &node.op {
        PlanOp::KeyLookup { table, index, .. } | PlanOp::IndexJoin { table, index, .. } if table.id == id => {
            Some(*index)
        }
        PlanOp::IndexScan { table, index, entries, .. } if table.id == id && entries.merge.is_none() => Some(*index),
        _ => node.inputs().into_iter().find_map(|n| found_by(n, id)),
    }
}
