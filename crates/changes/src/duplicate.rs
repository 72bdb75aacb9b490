//! What an INSERT does with a row whose unique key exists.
//!
//! Assignments of ON DUPLICATE KEY UPDATE without subqueries are compiled once. As soon as one of them has a subquery,
//! all are taken one after the other for each duplicate, each bound with the row's values by then.

use super::table::TableChanges;
use crate::defaults::{default_chunk, eval_default};
use catalog::DefaultValue;
use expr::{Compiled, Params, SessionInfo};
use std::any::Any;
use std::sync::Arc;
use types::{Result, SqlType, Value};
use vector::{Batch, Chunk, Vector};

pub enum OnDuplicate {
    /// 1062; with IGNORE a warning.
    Error,
    /// The row that has the key goes.
    Replace,
    /// The row that has the key is updated.
    Update(Box<DuplicateUpdate>),
}

/// The assignments of ON DUPLICATE KEY UPDATE, over the existing row's columns followed by the new row's, and those of
/// the FROM that it came from.
pub struct DuplicateUpdate {
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

/// What an assignment gives its column.
pub enum AssignedValue {
    Expr(Box<Compiled>, SqlType),
    Default,
}

/// Assignments that are bound anew for each row.
pub struct EachTime {
    /// What the statement binds them with.
    pub names: Box<dyn Any + Send + Sync>,
    /// The columns assigned, and whether the value is DEFAULT.
    pub columns: Vec<(usize, bool)>,
    /// Of what the assignments read.
    pub types: Vec<SqlType>,
}

impl DuplicateUpdate {
    /// Without assignments yet. `source_types`: of what it reads beyond the table's columns and the new row's.
    pub fn new(info: SessionInfo, source_types: Vec<SqlType>) -> DuplicateUpdate {
        DuplicateUpdate {
            columns: vec![],
            values: vec![],
            hidden: vec![],
            each_time: None,
            source_types,
            info,
            params: Params::default(),
        }
    }

    /// Adds an assignment: the last one to a column holds; those after it have read it already.
    pub fn assign(&mut self, column: usize, value: AssignedValue) {
        match self.columns.iter().position(|c| *c == column) {
            Some(i) => self.hidden.push((column, std::mem::replace(&mut self.values[i], value))),
            None => {
                self.columns.push(column);
                self.values.push(value);
            }
        }
    }

    /// All assignments are bound for each row instead.
    pub fn assign_each_time(&mut self, each_time: EachTime) {
        self.each_time = Some(each_time);
    }
}

impl OnDuplicate {
    /// Types of the columns that rows have beyond the table's.
    pub fn source_types(&self) -> &[SqlType] {
        match self {
            OnDuplicate::Update(update) => &update.source_types,
            OnDuplicate::Error | OnDuplicate::Replace => &[],
        }
    }
}

impl TableChanges<'_> {
    /// Updates the row `id`, which the transaction holds, for the row at `row` of `new`; says whether it changed,
    /// and what positive value it gave the AUTO_INCREMENT column.
    pub(super) fn update_duplicate(
        &mut self,
        update: &DuplicateUpdate,
        id: u64,
        new: &[&Chunk],
        row: usize,
    ) -> Result<(bool, Option<u64>)> {
        let all: Vec<usize> = (0..self.def.columns.len()).collect();
        let old = self.table().fetch(&[id], &all, &self.current());
        let mut columns: Vec<Vector> = old.columns.into_iter().map(Vector::flat).collect();
        columns.extend(new.iter().map(|c| Vector::flat(c.gather(&[row as u16]))));
        let batch = Batch::new(1, columns);
        let (columns, chunks) = match &update.each_time {
            Some(each_time) => self.assigned_each_time(each_time, &batch)?,
            None => (update.columns.clone(), self.assigned(update, &batch)?),
        };
        let auto = columns.iter().position(|&c| self.def.columns[c].auto_increment);
        let auto = auto.and_then(|at| match chunks[at].value(0, &self.def.columns[columns[at]].ty) {
            Value::Int(v) => u64::try_from(v).ok(),
            Value::UInt(v) => Some(v),
            _ => None,
        });
        Ok((self.update(&[id], &columns, &chunks)? > 0, auto.filter(|v| *v > 0)))
    }

    /// The new values of the columns that the update assigns.
    fn assigned(&self, update: &DuplicateUpdate, batch: &Batch) -> Result<Vec<Arc<Chunk>>> {
        let assigned = |column: usize, compiled: &Compiled, ty: &SqlType| {
            let ctx = self.statement.eval_context(&update.info, &update.params);
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

    /// Like [`TableChanges::assigned`], with subqueries; with the columns, each once.
    fn assigned_each_time(&self, each_time: &EachTime, batch: &Batch) -> Result<(Vec<usize>, Vec<Arc<Chunk>>)> {
        let types = &each_time.types;
        let mut values: Vec<Value> = batch.columns.iter().zip(types).map(|(c, ty)| c.value(0, ty)).collect();
        let (mut columns, mut chunks): (Vec<usize>, Vec<Arc<Chunk>>) = Default::default();
        for (at, (column, is_default)) in each_time.columns.iter().enumerate() {
            let chunk = match is_default {
                true => self.default_of_row(*column, batch, &values)?,
                false => {
                    let (value, ty) = self.statement.assigned_each_time(each_time, at, &values, &self.txn)?;
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
        let value = eval_default(self.statement, expr, &self.def, values)?;
        self.converter().column(column, &Vector::flat(Chunk::single(expr.ty.phys(), &value)), &expr.ty, 1, 1)
    }

    fn default_of(&self, column: usize, batch: &Batch) -> Result<Arc<Chunk>> {
        match self.def.columns[column].generated {
            Some(_) => Ok(batch.columns[column].flatten(1)),
            None => Ok(Arc::new(default_chunk(self.statement, &self.def, column, self.converter())?)),
        }
    }
}
