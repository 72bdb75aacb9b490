//! What an INSERT does with a row whose unique key exists.

use super::table_writer::TableWriter;
use crate::session::Session;
use catalog::TableDef;
use expr::{Compiled, Params, SessionInfo};
use parser::ast;
use std::sync::Arc;
use types::{Result, SqlType};
use vector::{Batch, Chunk, Vector};

pub(crate) enum OnDuplicate {
    /// 1062; with IGNORE a warning.
    Error,
    /// The row that has the key goes.
    Replace,
    /// The row that has the key is updated.
    Update(Box<DuplicateUpdate>),
}

/// The assignments of ON DUPLICATE KEY UPDATE, over the existing row's columns followed by the new row's.
pub(crate) struct DuplicateUpdate {
    columns: Vec<usize>,
    values: Vec<AssignedValue>,
    /// Assignments that later ones to the same columns hide. Their values have to fit all the same.
    hidden: Vec<(usize, AssignedValue)>,
    info: SessionInfo,
    params: Params,
}

enum AssignedValue {
    Expr(Box<Compiled>, SqlType),
    Default,
}

impl OnDuplicate {
    pub fn of(session: &Session, insert: &ast::Insert, def: &Arc<TableDef>) -> Result<OnDuplicate> {
        if insert.replace {
            return Ok(OnDuplicate::Replace);
        }
        if insert.on_duplicate.is_empty() {
            return Ok(OnDuplicate::Error);
        }
        let info = session.info();
        let bound = session.binder(&info).bind_on_duplicate(insert, def)?;
        let params = Params::default();
        let mut update = DuplicateUpdate { columns: vec![], values: vec![], hidden: vec![], info, params };
        for (column, value) in bound {
            if def.columns[column].generated.is_some() && value.is_some() {
                return Err(super::table_writer::generated_takes_no_value(def, column));
            }
            let value = match value {
                Some(e) => {
                    let ctx = session.eval_context(&update.info, &update.params);
                    AssignedValue::Expr(Box::new(Compiled::new(&e, &ctx)?), e.ty)
                }
                None => AssignedValue::Default,
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
        let assigned = |column: usize, compiled: &Compiled, ty: &SqlType| {
            let ctx = self.session.eval_context(&update.info, &update.params);
            self.converter().column(column, &compiled.eval(&batch, &ctx)?, ty, 1, 1)
        };
        for (column, value) in &update.hidden {
            if let AssignedValue::Expr(compiled, ty) = value {
                assigned(*column, compiled, ty)?;
            }
        }
        let mut chunks: Vec<Arc<Chunk>> = Vec::with_capacity(update.columns.len());
        for (&column, value) in update.columns.iter().zip(&update.values) {
            if self.def.columns[column].generated.is_some() {
                chunks.push(batch.columns[column].flatten(1));
                continue;
            }
            chunks.push(match value {
                AssignedValue::Expr(compiled, ty) => assigned(column, compiled, ty)?,
                AssignedValue::Default => Arc::new(self.session.default_chunk(&self.def, column, self.converter())?),
            });
        }
        Ok(self.update(&[id], &update.columns, &chunks)? > 0)
    }
}
