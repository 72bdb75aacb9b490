//! UPDATE of one table or of a join.

use super::key_locks::StatementLocks;
use super::keyed::KeyedRow;
use super::targets::{may_repeat_rows, row_ids};
use crate::session::Execution;
use changes::{RowsChanged, TableChanges, check_not_generated, default_chunk};
use parser::ast;
use plan::Plan;
use planner::bind::{BoundAssignment, BoundUpdate, DmlTarget, NewValue};
use session::sink::ResultSink;
use std::collections::HashSet;
use std::sync::Arc;
use storage::Txn;
use types::{Error, Result, SqlType};
use vector::{BATCH_ROWS_MAX, Batch, Chunk, Vector};

/// What an UPDATE did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Updated {
    pub matched: u64,
    pub changed: u64,
    /// Rows changed of each target.
    pub changed_of: Vec<u64>,
}

/// A planned UPDATE.
#[derive(Debug)]
pub(crate) struct UpdatePlan {
    pub plan: Arc<Plan>,
    keyed: Option<KeyedRow>,
    pub targets: Vec<DmlTarget>,
    assignments: Vec<BoundAssignment>,
    /// Types of the query's output.
    types: Vec<SqlType>,
    ignore: bool,
    locks: StatementLocks,
}

impl Execution<'_> {
    pub(crate) fn update(&mut self, u: &ast::Update, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        if self.changes_consumers(u) {
            let (matched, changed) = self.change_consumers(u)?;
            return self.send_ok(
                changed,
                format!("Rows matched: {matched}  Changed: {changed}  Warnings: 0"),
                more,
                sink,
            );
        }
        let plan = self.plan_update(u, |_| true)?.ok_or_else(|| Error::internal("an UPDATE without a plan"))?;
        self.execute_update(&plan, more, sink)
    }

    /// Runs a planned UPDATE and answers it.
    pub(crate) fn execute_update(&mut self, plan: &UpdatePlan, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        self.status().com_update.add(1);
        self.begin_judging(plan.ignore);
        let (txn, savepoint) = self.begin_change_of(plan.targets.iter().all(|t| t.table.temporary))?;
        let result = self.run_update(plan, plan.ignore, &txn);
        let done = self.end_change(savepoint, result)?;
        self.count_changes(&plan.plan, &plan.targets, &done.changed_of, RowsChanged::updated)?;
        let info =
            format!("Rows matched: {}  Changed: {}  Warnings: {}", done.matched, done.changed, self.warnings().count());
        let affected = if self.reports_found_rows() { done.matched } else { done.changed };
        self.send_ok(affected, info, more, sink)
    }

    /// `None`: the bound statement is not what the caller wants.
    pub(crate) fn plan_update(
        &self,
        u: &ast::Update,
        wanted: impl FnOnce(&BoundUpdate) -> bool,
    ) -> Result<Option<UpdatePlan>> {
        let bound = {
            let info = self.info();
            self.binder(&info).bind_update(u)?
        };
        if !wanted(&bound) {
            return Ok(None);
        }
        let BoundUpdate { mut query, targets, assignments } = bound;
        self.check_changeable(&targets)?;
        for a in assignments.iter().filter(|a| a.value != NewValue::Default) {
            check_not_generated(&targets[a.target].table, &[a.column_idx])?;
        }
        let types = query.output.iter().map(|(id, _)| query.columns.get(*id).ty).collect();
        let keyed = if targets.len() == 1 { KeyedRow::of(self, &query) } else { None };
        let locks = self.take_locks(&mut query)?;
        let plan = self.optimize(query)?;
        self.check_safe_update(&plan, &targets, u.limit.is_some())?;
        Ok(Some(UpdatePlan { plan, keyed, targets, assignments, types, ignore: u.ignore, locks }))
    }

    fn run_update(&self, u: &UpdatePlan, ignore: bool, txn: &Arc<Txn>) -> Result<Updated> {
        let found = self.find_rows("UPDATE", &u.plan, u.keyed.as_ref(), &u.targets, &u.locks, txn)?;
        let joined = may_repeat_rows(&u.plan.root);
        let mut done = Updated::default();
        for target in 0..u.targets.len() {
            let mut one = TargetUpdate::new(self, u, target, ignore, txn)?;
            let mut seen = HashSet::new();
            let before = done.changed;
            for batch in &found.batches {
                self.check_killed()?;
                let ids = row_ids(batch, u.targets[target].row_id);
                // A row that several rows of the join lead to is updated once, by the first.
                let mut fresh = |id: &Option<u64>| id.is_some_and(|id| !joined || seen.insert(id));
                let positions: Vec<u16> = (0..ids.len()).filter(|&i| fresh(&ids[i])).map(|i| i as u16).collect();
                let ids: Vec<u64> = positions.iter().filter_map(|&i| ids[i as usize]).collect();
                one.apply(batch, &positions, &ids, &mut done)?;
            }
            done.changed_of.push(done.changed - before);
        }
        Ok(done)
    }
}

/// The update of one of the statement's tables.
struct TargetUpdate<'s, 'u> {
    writer: TableChanges<'s>,
    plan: &'u UpdatePlan,
    /// Columns assigned, each once, with their last assignment.
    columns: Vec<usize>,
    values: Vec<NewValue>,
    /// Assignments that later ones to the same columns hide. Their values have to fit all the same.
    hidden: Vec<(usize, NewValue)>,
    defaults: Vec<Option<Chunk>>,
}

impl<'s, 'u> TargetUpdate<'s, 'u> {
    fn new(
        session: &'s Execution<'s>,
        plan: &'u UpdatePlan,
        target: usize,
        ignore: bool,
        txn: &Arc<Txn>,
    ) -> Result<TargetUpdate<'s, 'u>> {
        let def = &plan.targets[target].table;
        let (mut columns, mut values): (Vec<usize>, Vec<NewValue>) = Default::default();
        let mut hidden = Vec::new();
        // A generated column is only ever assigned DEFAULT, which is what it holds.
        let is_plain = |a: &&BoundAssignment| def.columns[a.column_idx].generated.is_none();
        for a in plan.assignments.iter().filter(|a| a.target == target).filter(is_plain) {
            match columns.iter().position(|c| *c == a.column_idx) {
                Some(i) => hidden.push((a.column_idx, std::mem::replace(&mut values[i], a.value))),
                None => {
                    columns.push(a.column_idx);
                    values.push(a.value);
                }
            }
        }
        let checks = &plan.targets[target].checks;
        let writer = TableChanges::new(session, def, txn.clone(), ignore)?.through_view(&super::row_checks(checks))?;
        let defaults = columns
            .iter()
            .zip(&values)
            .map(|(&c, v)| match v {
                NewValue::Default => default_chunk(session, def, c, writer.converter()).map(Some),
                NewValue::Output(_) => Ok(None),
            })
            .collect::<Result<_>>()?;
        Ok(TargetUpdate { writer, plan, columns, values, hidden, defaults })
    }

    /// Updates the rows at `positions` of the batch, whose ids are `ids`.
    fn apply(&mut self, batch: &Batch, positions: &[u16], ids: &[u64], done: &mut Updated) -> Result<()> {
        debug_assert!(batch.rows <= BATCH_ROWS_MAX);
        if ids.is_empty() {
            return Ok(());
        }
        let chunks = match self.converted(batch, positions, ids.len(), done.matched + 1) {
            Ok(chunks) => chunks,
            Err(e) if ids.len() == 1 => return Err(e),
            Err(_) => {
                // One by one: a row before the one at fault may fail for another reason.
                return (0..ids.len()).try_for_each(|i| self.apply(batch, &positions[i..=i], &ids[i..=i], done));
            }
        };
        done.matched += ids.len() as u64;
        done.changed += self.writer.update(ids, &self.columns, &chunks)?;
        Ok(())
    }

    /// The new values of the columns assigned, for the rows at `positions`.
    fn converted(&self, batch: &Batch, positions: &[u16], rows: usize, first_row: u64) -> Result<Vec<Arc<Chunk>>> {
        let given = |column: usize, p: usize| {
            let given = &batch.columns[p];
            let given: Vector = if positions.len() == batch.rows { given.clone() } else { given.gather(positions) };
            self.writer.converter().column(column, &given, &self.plan.types[p], rows, first_row)
        };
        for &(column, value) in &self.hidden {
            if let NewValue::Output(p) = value {
                given(column, p)?;
            }
        }
        let mut chunks = Vec::with_capacity(self.columns.len());
        for ((&column, value), default) in self.columns.iter().zip(&self.values).zip(&self.defaults) {
            chunks.push(match (value, default) {
                (NewValue::Output(p), _) => given(column, *p)?,
                (NewValue::Default, Some(one)) => Arc::new(one.gather(&vec![0; rows])),
                (NewValue::Default, None) => return Err(Error::internal("defaults are made beforehand")),
            });
        }
        Ok(chunks)
    }
}
