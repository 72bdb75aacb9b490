//! What an INSERT does with a row whose unique key exists.
//!
//! Assignments of ON DUPLICATE KEY UPDATE without subqueries are compiled once. As soon as one of them has a subquery, all
//! are taken one after the other for each duplicate, each bound with the row's values by then.

use super::table_writer::TableWriter;
use crate::session::Execution;
use catalog::{DefaultValue, TableDef};
use expr::{Compiled, Params, SessionInfo};
use parser::ast;
use planner::bind::{DuplicateNames, DuplicateValue};
use std::sync::Arc;
use types::{Result, SqlType, Value};
use vector::{Batch, Chunk, Vector};

pub(crate) enum OnDuplicate {
    /// 1062; with IGNORE a warning.
    Error,
    /// The row that has the key goes.
    Replace,
    /// The row that has the key is updated.
    Update(Box<DuplicateUpdate>),
}

/// The assignments of ON DUPLICATE KEY UPDATE, over the existing row's columns followed by the new row's, and those of the
/// FROM that it came from.
pub(crate) struct DuplicateUpdate {
    columns: Vec<usize>,
    values: Vec<AssignedValue>,
    /// Assignments that later ones to the same columns hide. Their values have to fit all the same.
    hidden: Vec<(usize, AssignedValue)>,
    each_time: Option<EachTime>,
    /// Types of what it reads beyond the table's columns.
    source_types: Vec<SqlType>,
    info: SessionInfo,
    params: Params,
}

enum AssignedValue {
    Expr(Box<Compiled>, SqlType),
    Default,
}

/// Assignments that are bound anew for each row.
struct EachTime {
    names: DuplicateNames,
    assignments: Vec<(usize, Option<ast::Expr>)>,
}

impl OnDuplicate {
    /// `view`: the one that the rows are written through.
    pub fn of(
        session: &Execution<'_>,
        insert: &ast::Insert,
        def: &Arc<TableDef>,
        names: Option<DuplicateNames>,
        view: Option<&(Box<str>, Box<str>)>,
    ) -> Result<OnDuplicate> {
        if insert.replace {
            return Ok(OnDuplicate::Replace);
        }
        if insert.on_duplicate.is_empty() {
            return Ok(OnDuplicate::Error);
        }
        let info = session.info();
        let names = names.unwrap_or_else(|| DuplicateNames::new(def, insert)).through(view);
        let bound = session.binder(&info).bind_on_duplicate(&insert.on_duplicate, &names)?;
        let mut update = DuplicateUpdate {
            columns: vec![],
            values: vec![],
            hidden: vec![],
            each_time: None,
            source_types: names.types()[2 * def.columns.len()..].iter().map(|(ty, _)| *ty).collect(),
            info,
            params: Params::default(),
        };
        for (column, value) in &bound {
            if def.columns[*column].generated.is_some() && !matches!(value, DuplicateValue::Default) {
                return Err(super::table_writer::generated_takes_no_value(def, *column));
            }
        }
        if bound.iter().any(|(_, value)| matches!(value, DuplicateValue::EachTime(_))) {
            let value = |a: &ast::Assignment| match a.value.kind {
                ast::ExprKind::Default => None,
                _ => Some(a.value.clone()),
            };
            let assignments = bound.iter().zip(&insert.on_duplicate).map(|((column, _), a)| (*column, value(a)));
            update.each_time = Some(EachTime { assignments: assignments.collect(), names });
            return Ok(OnDuplicate::Update(Box::new(update)));
        }
        for (column, value) in bound {
            if def.columns[column].generated.is_some() {
                continue; // DEFAULT: it is computed anyway
            }
            let value = match value {
                DuplicateValue::Expr(e) => {
                    let ctx = session.eval_context(&update.info, &update.params);
                    AssignedValue::Expr(Box::new(Compiled::new(&e, &ctx)?), e.ty)
                }
                DuplicateValue::Default | DuplicateValue::EachTime(_) => AssignedValue::Default,
            };
            // The last assignment to a column holds; those after it have read it already.
            match update.columns.iter().position(|c| *c == column) {
                Some(i) => update.hidden.push((column, std::mem::replace(&mut update.values[i], value))),
                None => {
                    update.columns.push(column);
                    update.values.push(value);
                }
            }
        }
        Ok(OnDuplicate::Update(Box::new(update)))
    }

    /// Types of the columns that rows have beyond the table's.
    pub fn source_types(&self) -> &[SqlType] {
        match self {
            OnDuplicate::Update(update) => &update.source_types,
            OnDuplicate::Error | OnDuplicate::Replace => &[],
        }
    }
}

impl TableWriter<'_> {
    /// Updates the row `id`, which the transaction holds, for the row at `row` of `new`; says whether it changed.
    pub(super) fn update_duplicate(
        &mut self,
        update: &DuplicateUpdate,
        id: u64,
        new: &[&Chunk],
        row: usize,
    ) -> Result<bool> {
        let all: Vec<usize> = (0..self.def.columns.len()).collect();
        let old = self.table().fetch(&[id], &all, &self.current());
        let mut columns: Vec<Vector> = old.columns.into_iter().map(Vector::flat).collect();
        columns.extend(new.iter().map(|c| Vector::flat(c.gather(&[row as u16]))));
        let batch = Batch::new(1, columns);
        let (columns, chunks) = match &update.each_time {
            Some(each_time) => self.assigned_each_time(each_time, &batch)?,
            None => (update.columns.clone(), self.assigned(update, &batch)?),
        };
        Ok(self.update(&[id], &columns, &chunks)? > 0)
    }

    /// The new values of the columns that the update assigns.
    fn assigned(&self, update: &DuplicateUpdate, batch: &Batch) -> Result<Vec<Arc<Chunk>>> {
        let assigned = |column: usize, compiled: &Compiled, ty: &SqlType| {
            let ctx = self.session.eval_context(&update.info, &update.params);
            self.converter().column(column, &compiled.eval(batch, &ctx)?, ty, 1, 1)
        };
        for (column, value) in &update.hidden {
            if let AssignedValue::Expr(compiled, ty) = value {
                assigned(*column, compiled, ty)?;
            }
        }
        let mut chunks: Vec<Arc<Chunk>> = Vec::with_capacity(update.columns.len());
        for (&column, value) in update.columns.iter().zip(&update.values) {
            chunks.push(match value {
                AssignedValue::Expr(compiled, ty) => assigned(column, compiled, ty)?,
                AssignedValue::Default => self.default_of(column, batch)?,
            });
        }
        Ok(chunks)
    }

    /// Like [`TableWriter::assigned`], with subqueries; with the columns, each once.
    fn assigned_each_time(&self, each_time: &EachTime, batch: &Batch) -> Result<(Vec<usize>, Vec<Arc<Chunk>>)> {
        let types = each_time.names.types();
        let mut values: Vec<Value> = batch.columns.iter().zip(types).map(|(c, (ty, _))| c.value(0, ty)).collect();
        let (mut columns, mut chunks): (Vec<usize>, Vec<Arc<Chunk>>) = Default::default();
        for (column, e) in &each_time.assignments {
            let chunk = match e {
                None => self.default_of_row(*column, batch, &values)?,
                Some(e) => {
                    let info = self.session.info();
                    let query =
                        self.session.binder(&info).bind_duplicate_value(e, *column, &each_time.names, &values)?;
                    let (value, ty) = self.session.scalar_at(query, &self.txn)?;
                    let given = Vector::flat(Chunk::single(ty.phys(), &value));
                    self.converter().column(*column, &given, &ty, 1, 1)?
                }
            };
            values[*column] = chunk.value(0, &self.def.columns[*column].ty);
            match columns.iter().position(|c| c == column) {
                Some(i) => chunks[i] = chunk,
                None => {
                    columns.push(*column);
                    chunks.push(chunk);
                }
            }
        }
        Ok((columns, chunks))
    }

    /// The default for a row of these values by now.
    fn default_of_row(&self, column: usize, batch: &Batch, values: &[Value]) -> Result<Arc<Chunk>> {
        let DefaultValue::Expr { expr, .. } = &self.def.columns[column].default else {
            return self.default_of(column, batch);
        };
        let value = self.session.eval_default(expr, &self.def, values)?;
        self.converter().column(column, &Vector::flat(Chunk::single(expr.ty.phys(), &value)), &expr.ty, 1, 1)
    }

    fn default_of(&self, column: usize, batch: &Batch) -> Result<Arc<Chunk>> {
        match self.def.columns[column].generated {
            Some(_) => Ok(batch.columns[column].flatten(1)),
            None => Ok(Arc::new(self.session.default_chunk(&self.def, column, self.converter())?)),
        }
    }
}
