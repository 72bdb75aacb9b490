//! Defaults of columns.

use crate::convert::{Converter, now};
use crate::statement::Statement;
use catalog::{DefaultValue, TableDef};
use expr::{Expr, ExprKind, Params};
use types::value::zero_of;
use types::{Error, Result, Value};
use vector::Chunk;

/// `SET column = DEFAULT`: one value for all rows.
pub fn default_chunk(
    statement: &dyn Statement,
    def: &TableDef,
    idx: usize,
    converter: &Converter<'_>,
) -> Result<Chunk> {
    let c = &def.columns[idx];
    let value = match &c.default {
        DefaultValue::Value(v) => v.clone(),
        DefaultValue::CurrentTimestamp => now(statement, &c.ty),
        DefaultValue::Expr { expr, .. } => {
            let (info, params) = (statement.info(), Params::default());
            let v = expr::eval::eval_const(expr, &statement.eval_context(&info, &params))?;
            converter.convert(idx, &v, &expr.ty, 1)?
        }
        DefaultValue::None if c.nullable => Value::Null,
        DefaultValue::None => {
            converter.fault(Error::no_default_for_field(&c.name))?;
            zero_of(&c.ty)
        }
    };
    let value = if value.is_null() && !c.nullable { converter.null(idx)? } else { value };
    Ok(Chunk::single(c.ty.phys(), &value))
}

/// A default's value for a row whose columns hold these values.
pub(crate) fn eval_default(statement: &dyn Statement, expr: &Expr, def: &TableDef, row: &[Value]) -> Result<Value> {
    let mut e = expr.clone();
    e.rewrite(&mut |e| {
        if let ExprKind::Column(c) = e.kind {
            let (value, ty) = (&row[c as usize], def.columns[c as usize].ty);
            *e = Expr::constant(value.clone(), ty);
        }
    });
    let (info, params) = (statement.info(), Params::default());
    expr::eval::eval_const(&e, &statement.eval_context(&info, &params))
}
