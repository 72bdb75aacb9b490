//! INSERT ... VALUES.
//!
//! ```text
//!   names in all rows ─▶ row 1: its values from left to right, each into its column ─▶ its constraints, keys ─▶ row 2
//! ```
//! This is the order in which MySQL finds faults, and the first one is the statement's. Rows are written many at a time
//! all the same: what is behind a fault is looked at for names, and what is before it is written, only when there is
//! one.

use super::insert::InsertInto;
use crate::session::Execution;
use changes::{RowWriter, WriteMode, Written, generated_takes_no_value};
use expr::{EvalContext, Expr, Params};
use parser::ast::{self, ExprKind};
use planner::bind::{Binder, NamedTarget};
use std::sync::Arc;
use storage::Txn;
use types::{Error, ErrorCode, Result, SqlType, Value};

/// Where values are evaluated.
struct Place<'a> {
    session: &'a Execution<'a>,
    into: &'a InsertInto,
    columns: &'a [usize],
    target: NamedTarget,
    binder: Binder<'a>,
    ctx: EvalContext<'a>,
    txn: &'a Arc<Txn>,
}

/// A fault of a row.
enum Fault {
    /// It was found before any value is looked at.
    Name(Error),
    Value(Error),
}

/// A value whose names are known.
enum Named {
    Expr(Expr),
    /// It has subqueries, or names columns of its row.
    OfRow,
}

impl Execution<'_> {
    /// Writes `rows`, which are those of `insert`.
    pub(super) fn insert_values(
        &self,
        insert: &ast::Insert,
        rows: &[Vec<ast::Expr>],
        into: &InsertInto,
        txn: &Arc<Txn>,
        mode: WriteMode,
    ) -> Result<Written> {
        let info = self.info();
        let params = Params::default();
        let listed = insert.columns.is_some();
        let all_default = rows.first().is_some_and(|r| r.is_empty()) && (!listed || into.columns.is_empty());
        let columns = if all_default { &[] } else { &into.columns[..] };
        if let Some(n) = rows.iter().position(|r| r.len() != columns.len()) {
            return Err(Error::wrong_value_count_on_row(n + 1));
        }
        let place = Place {
            session: self,
            into,
            columns,
            target: NamedTarget { alias: insert.table.name.as_str().into(), view: into.view.clone() },
            binder: self.binder(&info),
            ctx: self.eval_context(&info, &params),
            txn,
        };
        let mut w = RowWriter::new(self, &into.def, txn.clone(), columns, mode)?;
        if let Err(e) = w.check_defaults() {
            return Err(place.check_names(&[], rows, 0).err().unwrap_or(e));
        }
        let mut values: Vec<Option<(Value, SqlType)>> = Vec::with_capacity(columns.len());
        for (n, row) in rows.iter().enumerate() {
            values.clear();
            if let Err(fault) = place.add_row(row, &mut values, &mut w) {
                return Err(match fault {
                    Fault::Name(e) => e,
                    Fault::Value(e) => place.check_names(row, &rows[n + 1..], values.len()).err().unwrap_or(e),
                });
            }
        }
        w.finish()
    }
}

impl Place<'_> {
    fn add_row(
        &self,
        row: &[ast::Expr],
        values: &mut Vec<Option<(Value, SqlType)>>,
        w: &mut RowWriter<'_>,
    ) -> std::result::Result<(), Fault> {
        for (e, &column) in row.iter().zip(self.columns) {
            match self.value(e, column, values, w) {
                Ok(value) => values.push(value),
                Err(Fault::Value(e)) => return Err(Fault::Value(w.first_fault(values, e))),
                Err(fault) => return Err(fault),
            }
        }
        w.push(values).map_err(Fault::Value)
    }

    /// The value of `e`; the ones `before` are those of its row.
    fn value(
        &self,
        e: &ast::Expr,
        column: usize,
        before: &[Option<(Value, SqlType)>],
        w: &mut RowWriter<'_>,
    ) -> std::result::Result<Option<(Value, SqlType)>, Fault> {
        if self.into.def.columns[column].generated.is_none()
            && let Some(value) = literal_value(&e.kind).or_else(|| self.param_value(&e.kind))
        {
            return Ok(Some(value));
        }
        let Some(named) = self.named(e, column).map_err(Fault::Name)? else { return Ok(None) };
        let value = match named {
            Named::Expr(bound) => expr::eval::eval_const(&bound, &self.ctx).map(|v| (v, bound.ty)),
            Named::OfRow => {
                let row = w.so_far(before).map_err(Fault::Value)?;
                let query = self.binder.bind_row_value(e, &self.into.def, &self.target, &row).map_err(Fault::Name)?;
                self.session.scalar_at(query, self.txn)
            }
        };
        value.map(Some).map_err(Fault::Value)
    }

    fn param_value(&self, kind: &ExprKind) -> Option<(Value, SqlType)> {
        match kind {
            ExprKind::Param(n) if self.session.param_types().is_none() => {
                self.session.params().get(*n as usize).cloned()
            }
            _ => None,
        }
    }

    /// Looks names up; `None` stands for DEFAULT.
    fn named(&self, e: &ast::Expr, column: usize) -> Result<Option<Named>> {
        let def = &self.into.def;
        match &e.kind {
            ExprKind::Default => return Ok(None),
            _ if def.columns[column].generated.is_some() => return Err(generated_takes_no_value(def, column)),
            _ => {}
        }
        match self.binder.bind_constant_expr(e) {
            Ok(bound) => Ok(Some(Named::Expr(expr::build::assigned(bound, &def.columns[column].ty)))),
            Err(e) if [ErrorCode::NOT_SUPPORTED_YET, ErrorCode::BAD_FIELD].contains(&e.code()) => {
                Ok(Some(Named::OfRow))
            }
            Err(e) => Err(e),
        }
    }

    /// Looks up the names in `rows`, and in those values of `row` that come after the first `seen`.
    fn check_names(&self, row: &[ast::Expr], rows: &[Vec<ast::Expr>], seen: usize) -> Result<()> {
        let nulls = vec![Value::Null; self.into.def.columns.len()];
        let behind = row.iter().zip(self.columns).skip(seen);
        for (e, &column) in behind.chain(rows.iter().flat_map(|row| row.iter().zip(self.columns))) {
            if let Some(Named::OfRow) = self.named(e, column)? {
                self.binder.bind_row_value(e, &self.into.def, &self.target, &nulls)?;
            }
        }
        Ok(())
    }
}

/// The common literals without a detour through the binder.
fn literal_value(kind: &ExprKind) -> Option<(Value, SqlType)> {
    match kind {
        ExprKind::Literal(ast::Literal::Int(v)) => Some((Value::UInt(*v), SqlType::BIGINT_UNSIGNED)),
        ExprKind::Literal(ast::Literal::Str(s)) if s.is_ascii() => {
            Some((Value::Bytes(s.clone()), SqlType::varchar(s.len() as u32, Default::default())))
        }
        ExprKind::Literal(ast::Literal::Null) => Some((Value::Null, SqlType::Null)),
        _ => None,
    }
}
