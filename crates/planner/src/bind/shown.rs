//! Columns that show their numbers in a way of their own, where they become strings.
//!
//! ```text
//!   k INT(6) ZEROFILL    CONCAT(k)    000042      k + 0  42
//!   f FLOAT(7,2)         CONCAT(f)    1.50
//! ```
//! A type says nothing of it, the column's definition does; so it gets lost where the column goes through arithmetic, a
//! function or a set operation. Conversions of bare columns to strings are rewritten here.
//!
//! Source: MySQL manual, "Numeric Type Attributes".

use catalog::{ColumnDef, TableDef};
use expr::{ColumnId, Expr, ExprKind, SessionInfo, build};
use plan::logical::{Logical, LogicalQuery, SubqueryKind};
use types::{Result, SqlType, Value};

/// In a whole statement.
pub fn show_columns(query: &mut LogicalQuery, session: &SessionInfo) {
    let columns = &query.columns;
    let column = |id: ColumnId| columns.get(id).origin.as_ref().map(|(table, idx)| &table.columns[*idx]);
    if !(0..columns.len() as ColumnId).any(|id| column(id).is_some_and(is_special)) {
        return;
    }
    let each = |node: &mut Logical| node.exprs_mut().into_iter().for_each(|e| show(e, &column, session));
    query.root.walk_mut(&mut &each);
    for def in &mut query.subqueries {
        def.plan.walk_mut(&mut &each);
        if let SubqueryKind::Quantified { left, .. } = &mut def.kind {
            left.iter_mut().for_each(|e| show(e, &column, session));
        }
    }
}

/// In an expression over a table, column ids being positions in it.
pub fn show_columns_of(e: &mut Expr, table: &TableDef, session: &SessionInfo) {
    if table.columns.iter().any(is_special) {
        show(e, &|id| table.columns.get(id as usize), session);
    }
}

fn is_special(c: &ColumnDef) -> bool {
    c.float_digits.is_some() || c.zerofill && c.ty.is_integer()
}

fn show<'c>(e: &mut Expr, column: &dyn Fn(ColumnId) -> Option<&'c ColumnDef>, session: &SessionInfo) {
    e.rewrite(&mut |e| {
        let ExprKind::Cast { expr, explicit } = &e.kind else { return };
        let SqlType::String { .. } = e.ty else { return };
        let ExprKind::Column(id) = expr.kind else { return };
        let Some(def) = column(id).filter(|c| is_special(c) && c.ty == expr.ty) else { return };
        if let Ok(text) = text(def, (**expr).clone(), e.ty, session) {
            let kind = ExprKind::Cast { expr: text.into(), explicit: *explicit };
            *e = Expr::new(kind, e.ty, e.nullable);
        }
    });
}

/// The column as a string of its own length.
fn text(def: &ColumnDef, value: Expr, like: SqlType, session: &SessionInfo) -> Result<Expr> {
    let collation = like.collation().unwrap_or_default();
    if let Some((_, d)) = def.float_digits {
        let exact = SqlType::Decimal { precision: 65, scale: d };
        let number = build::implicit_cast(build::implicit_cast(value, SqlType::Double), exact);
        return Ok(build::implicit_cast(number, SqlType::varchar(67, collation)));
    }
    let width = def.display_width.unwrap_or(10);
    let digits = build::implicit_cast(value, SqlType::varchar(width.max(20), collation));
    let length = build::function("char_length", vec![digits.clone()], session)?;
    let wanted = build::function("greatest", vec![length, build::integer(width.into())], session)?;
    let zero = Expr::constant(Value::str("0"), SqlType::varchar(1, collation));
    build::function("lpad", vec![digits, wanted, zero], session)
}
