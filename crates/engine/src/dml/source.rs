//! A query as a source of rows for a table.

use crate::query::{LockingPlan, Runner, has_locking};
use crate::session::Execution;
use catalog::{ColumnDef, TableDef};
use changes::{OnDuplicate, RowWriter, WriteMode, Written, check_not_generated};
use expr::build;
use parser::ast;
use plan::Plan;
use plan::explain::Change;
use planner::bind::{BoundLocking, DuplicateNames};
use session::source_columns::{SourceColumn, source_columns};
use std::ops::ControlFlow;
use std::sync::Arc;
use types::{Result, SqlType};
use vector::{Batch, Chunk, Vector};

/// A planned query and its columns.
pub(crate) struct BoundSource {
    plan: SourcePlan,
    /// So many columns, the last ones, are not for the table.
    extra: usize,
    columns: Vec<SourceColumn>,
}

enum SourcePlan {
    Plain(Arc<Plan>),
    /// Its rows are locked before the first of them is written.
    Locking(Box<LockingPlan>),
}

impl BoundSource {
    pub fn width(&self) -> usize {
        self.columns.len() - self.extra
    }

    /// Only as many rows are wanted: no column is for the table.
    pub fn rows_alone(self) -> BoundSource {
        BoundSource { extra: self.columns.len(), ..self }
    }

    /// Columns of CREATE TABLE ... SELECT.
    pub fn columns(&self) -> Vec<ColumnDef> {
        self.columns.iter().map(SourceColumn::column).collect()
    }
}

impl Execution<'_> {
    /// The SELECT that makes the rows of a table which has its types.
    pub(crate) fn bind_source(&self, query: &ast::Query) -> Result<BoundSource> {
        let bound = if has_locking(query) { self.bind_locking(query)? } else { self.bind_query(query)?.into() };
        self.plan_source(bound, 0)
    }

    /// The SELECT of an INSERT.
    pub(super) fn bind_inserted(&self, query: &ast::Query) -> Result<BoundSource> {
        if has_locking(query) {
            return self.bind_source(query);
        }
        let bound = {
            let info = self.info();
            self.binder(&info).with_all_digits().bind_query(query)?
        };
        self.plan_source(bound.into(), 0)
    }

    /// The SELECT of an INSERT with ON DUPLICATE KEY UPDATE, and what that may name.
    pub(super) fn bind_insert_source(
        &self,
        insert: &ast::Insert,
        query: &ast::Query,
        def: &Arc<TableDef>,
    ) -> Result<(BoundSource, DuplicateNames)> {
        let bound = {
            let info = self.info();
            self.binder(&info).bind_insert_select(insert, query, def)?
        };
        let extra = bound.query.output.len() - bound.width;
        Ok((self.plan_source(bound.query.into(), extra)?, bound.names))
    }

    /// `extra`: so many columns of the output, the last ones, are not for the table.
    fn plan_source(&self, bound: BoundLocking, extra: usize) -> Result<BoundSource> {
        let columns = source_columns(&bound.query, bound.width);
        let plan = match bound.targets.is_empty() && bound.query.locks.is_empty() {
            true => SourcePlan::Plain(self.optimize(bound.query)?),
            false => SourcePlan::Locking(Box::new(self.plan_locking(bound)?)),
        };
        Ok(BoundSource { plan, columns, extra })
    }

    /// Runs the query and writes its rows.
    pub(crate) fn write_source(
        &self,
        def: &Arc<TableDef>,
        columns: &[usize],
        source: BoundSource,
        txn: &Arc<storage::Txn>,
        mode: WriteMode,
    ) -> Result<Written> {
        let mode_replaces = matches!(mode.on_duplicate, OnDuplicate::Replace);
        let is_copy = mode.kept.is_some();
        let mut w = RowWriter::new(self, def, txn.clone(), columns, mode)?;
        if !is_copy {
            w.check_defaults()?;
        }
        let mut types: Vec<SqlType> = source.columns.iter().map(|c| c.ty).collect();
        let mut literals = vec![];
        for (at, (c, &target)) in source.columns.iter().zip(columns).enumerate() {
            if let Some(e) = &c.literal {
                let (value, ty) = self.eval_bound(&build::assigned(e.clone(), &def.columns[target].ty))?;
                literals.push((at, Vector::Const(Arc::new(Chunk::single(ty.phys(), &value)))));
                types[at] = ty;
            }
        }
        let mut write = |batch: &Batch| {
            let mut batch = batch.compact();
            literals.iter().for_each(|(at, value)| batch.columns[*at] = value.clone());
            w.push_batch(&batch, &types).map(|()| ControlFlow::Continue(()))
        };
        let finds = match &source.plan {
            SourcePlan::Plain(plan) => plan,
            SourcePlan::Locking(plan) => plan.finds(),
        };
        let verb = if mode_replaces { "REPLACE" } else { "INSERT" };
        self.process().publish_change(finds, Change { verb, targets: vec![def.name.to_string()] });
        match &source.plan {
            // What is written from what was read has to be the newest, whatever the transaction's own snapshot is.
            SourcePlan::Plain(plan) => {
                Runner::at(self.db().store().txns().snapshot_of(txn)).run(self, plan, None, &mut write)?;
            }
            SourcePlan::Locking(plan) => {
                for batch in &self.lock_until_stable(plan, txn)?.batches {
                    _ = write(batch)?;
                }
            }
        }
        w.finish()
    }

    /// CREATE TABLE ... SELECT and ALTER TABLE: fills a table that nobody sees yet.
    pub(crate) fn fill_table(&mut self, def: &Arc<TableDef>, source: BoundSource, mode: WriteMode) -> Result<Written> {
        let shown = def.shown_columns().len();
        let extra = shown - source.width().min(shown);
        let mut columns: Vec<usize> = Vec::with_capacity(source.width());
        for SourceColumn { name, .. } in source.columns.iter().take(source.width()) {
            let idx = def.column_idx(name).unwrap_or(extra + columns.len());
            columns.push(idx);
        }
        check_not_generated(def, &columns)?;
        let (txn, savepoint) = self.begin_change_of(def.temporary)?;
        let result = self.write_source(def, &columns, source, &txn, mode);
        let result = result.and_then(|written| changes::check_own_references(self, def, &txn).map(|()| written));
        let written = self.end_change(savepoint, result)?;
        if !def.temporary {
            self.commit()?;
        }
        Ok(written)
    }
}
