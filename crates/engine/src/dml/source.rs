//! A query as a source of rows for a table.

use super::on_duplicate::OnDuplicate;
use super::writer::{RowWriter, WriteMode, Written, check_not_generated};
use crate::query::{LockingPlan, Runner, has_locking};
use crate::session::Session;
use catalog::{ColumnDef, DefaultValue, TableDef};
use expr::{Expr, ExprKind, build};
use parser::ast;
use plan::Plan;
use plan::explain::Change;
use plan::logical::{Logical, LogicalQuery};
use planner::bind::{BoundLocking, DuplicateNames};
use std::ops::ControlFlow;
use std::sync::Arc;
use types::{Collation, Result, SqlType};
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

/// A column of a query that is bound.
pub(crate) struct SourceColumn {
    name: Box<str>,
    ty: SqlType,
    nullable: bool,
    /// The base table's column that it is.
    origin: Option<ColumnDef>,
    /// The hexadecimal literal that it is: a number to a column of numbers.
    literal: Option<Expr>,
}

/// The first `width` columns of the query's output.
pub(crate) fn source_columns(query: &LogicalQuery, width: usize) -> Vec<SourceColumn> {
    let column = |(id, name): &(_, Box<str>)| {
        let c = query.columns.get(*id);
        let origin = c.origin.as_ref().map(|(t, i)| t.columns[*i].clone());
        let literal = match &query.root {
            Logical::Project { exprs, .. } => exprs.iter().find(|(e, _)| e == id).map(|(_, e)| e),
            _ => None,
        };
        let is_hex = |e: &&Expr| matches!(e.kind, ExprKind::Call { function, .. } if function.is_hex_literal());
        let literal = literal.filter(is_hex).cloned();
        SourceColumn { name: name.clone(), ty: c.ty, nullable: c.nullable, origin, literal }
    };
    query.output.iter().take(width).map(column).collect()
}

impl SourceColumn {
    /// As a column of a table: a base table's column keeps its attributes, but for AUTO_INCREMENT and keys. The default of
    /// what was AUTO_INCREMENT is 0.
    pub fn column(&self) -> ColumnDef {
        let default = |o: &ColumnDef| match &o.default {
            DefaultValue::None if o.auto_increment => DefaultValue::Value(super::zero_of(&o.ty)),
            default if default.reads_row() => DefaultValue::None,
            default => default.clone(),
        };
        match &self.origin {
            Some(o) => ColumnDef {
                name: self.name.clone(),
                default: default(o),
                generated: None,
                auto_increment: false,
                nullable: o.nullable || self.nullable,
                invisible: false,
                ..o.clone()
            },
            None => ColumnDef {
                unsigned: self.ty.is_unsigned(),
                ..ColumnDef::plain(&self.name, storable(self.ty), self.nullable)
            },
        }
    }
}

/// The column type for an expression's type.
fn storable(ty: SqlType) -> SqlType {
    match ty {
        SqlType::Null => SqlType::String { kind: types::StringKind::Char, len: 0, collation: Collation::Binary },
        SqlType::Bool => SqlType::INT,
        SqlType::String { kind, len, collation } => {
            let max = 65535 / if collation == Collation::Binary { 1 } else { collation.charset().max_len() };
            let kind = match kind {
                types::StringKind::VarChar | types::StringKind::Char if len > max => types::StringKind::LongText,
                k => k,
            };
            let len = match kind {
                types::StringKind::VarChar | types::StringKind::Char => len,
                types::StringKind::TinyText => u8::MAX.into(),
                types::StringKind::Text => u16::MAX.into(),
                types::StringKind::MediumText => 0xFF_FFFF,
                types::StringKind::LongText => u32::MAX,
            };
            SqlType::String { kind, len, collation }
        }
        other => other,
    }
}

impl Session {
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
        let result = result.and_then(|written| self.check_own_references(def, &txn).map(|()| written));
        let written = self.end_change(savepoint, result)?;
        if !def.temporary {
            self.commit()?;
        }
        Ok(written)
    }
}
