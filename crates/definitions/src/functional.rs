//! Key parts that are expressions: `KEY k (a, (b + c) DESC)`.
//!
//! As in MySQL each becomes a virtual generated column that nobody sees, of the expression's type, over which the index
//! then is an ordinary one. SHOW CREATE TABLE prints the expression in the key and not the column, and ALTER TABLE
//! makes the definition anew from that; so the columns' order must follow from the order of the keys alone, for rows to
//! keep their places: they come last, in the order of the finished list of indexes.
//!
//! MySQL manual, "Functional Key Parts".

use super::index;
use crate::constraints::{self, columns_of, disallowed, unknown_column};
use catalog::{ColumnDef, Generated, TableDef};
use expr::ExprKind;
use parser::ast;
use session::Frame;
use types::{Error, ErrorCode, Result, SqlType, StringKind};

/// Puts hidden columns behind the expressions, to which the parts of the indexes point so far.
pub fn add_columns(session: &Frame<'_>, def: &mut TableDef, exprs: &[ast::Expr]) -> Result<()> {
    for i in 0..def.indexes.len() {
        for p in 0..def.indexes[i].parts.len() {
            let at = def.indexes[i].parts[p].column_idx;
            let Some(expr) = at.checked_sub(index::FIRST_EXPR).and_then(|n| exprs.get(n)) else { continue };
            let column = hidden_column(session, def, &def.indexes[i].name, p, expr)?;
            index::check_prefix(&column, None)?;
            def.indexes[i].parts[p].column_idx = def.columns.len();
            def.columns.push(column);
        }
    }
    Ok(())
}

fn hidden_column(session: &Frame<'_>, def: &TableDef, index: &str, part: usize, expr: &ast::Expr) -> Result<ColumnDef> {
    let bound = constraints::bind_table_expr(session, expr, def).map_err(|e| match e.code() {
        ErrorCode::BAD_FIELD => Error::bad_field(unknown_column(&e), "functional index"),
        ErrorCode::NOT_SUPPORTED_YET => Error::functional_index_function_is_not_allowed(index),
        _ => e,
    })?;
    if matches!(bound.kind, ExprKind::Column(_)) {
        return Err(Error::functional_index_on_field());
    }
    if disallowed(session, expr, &bound).is_some() {
        return Err(Error::functional_index_function_is_not_allowed(index));
    }
    if columns_of(&bound).iter().any(|&c| def.columns[c].auto_increment) {
        return Err(Error::functional_index_ref_auto_increment(index));
    }
    let ty = match bound.ty {
        SqlType::Bool | SqlType::Null => SqlType::INT,
        SqlType::String { kind, .. } if !matches!(kind, StringKind::Char | StringKind::VarChar) => {
            return Err(Error::functional_index_on_lob());
        }
        ty => ty,
    };
    let (text, under) = (expr.to_string().into(), crate::constraints::bound_under(session));
    Ok(ColumnDef {
        unsigned: ty.is_unsigned() && ty != SqlType::Year,
        invisible: true,
        generated: Some(Generated { expr: Box::new(bound), text, under, stored: false }),
        ..ColumnDef::plain(&ColumnDef::hidden_name(index, part), ty, true)
    })
}

/// 3837: a key that stays has an expression over a column that goes, or gets another name.
pub fn check_columns_kept(old: &TableDef, stays: impl Fn(&str) -> bool, is_kept: impl Fn(usize) -> bool) -> Result<()> {
    for index in old.indexes.iter().filter(|i| stays(&i.name)) {
        for g in index.parts.iter().filter_map(|p| old.columns[p.column_idx].key_expr()) {
            if let Some(&c) = columns_of(&g.expr).iter().find(|c| !is_kept(**c)) {
                return Err(Error::dependent_by_functional_index(&old.columns[c].name));
            }
        }
    }
    Ok(())
}
