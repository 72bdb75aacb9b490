//! Rows changed, counted by table and by the index through which they were found (see [`storage::TableIo`]). What came in
//! without being looked for, and what duplicates led to, counts for no index.

use super::writer::Written;
use crate::session::Execution;
use catalog::{TableDef, TableId};
use plan::{Plan, PlanNode, PlanOp};
use planner::bind::DmlTarget;
use storage::IndexIo;
use types::Result;

impl Execution<'_> {
    /// A statement has changed so many rows of each of its targets, which this plan found. `how` counts them.
    pub(super) fn count_changes(
        &self,
        plan: &Plan,
        targets: &[DmlTarget],
        rows: &[u64],
        how: fn(&IndexIo, u32, u64),
    ) -> Result<()> {
        for (target, &rows) in targets.iter().zip(rows) {
            let io = self.db().store().expect_table(&target.table)?.io();
            how(io.of(found_by(&plan.root, target.table.id)), self.process().id(), rows);
        }
        Ok(())
    }

    /// An INSERT, or something like it, has written rows.
    pub(crate) fn count_written(&self, table: &TableDef, written: &Written) -> Result<()> {
        self.count_inserted(table, written.copied - written.updated)?;
        let (io, session) = (self.db().store().expect_table(table)?.io(), self.process().id());
        io.of(None).updated(session, written.updated);
        io.of(None).deleted(session, written.deleted);
        Ok(())
    }

    pub(crate) fn count_inserted(&self, table: &TableDef, rows: u64) -> Result<()> {
        self.db().store().expect_table(table)?.io().of(None).inserted(self.process().id(), rows);
        Ok(())
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
