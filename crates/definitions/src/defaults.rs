//! `DEFAULT (expr)`: bound once all columns are known, because it may read other columns of its row.
//!
//! ```text
//!   a INT, b INT DEFAULT (a + c), c INT, d INT DEFAULT (b * 2)
//! ```
//! What stands before the column may be anything but AUTO_INCREMENT; what stands behind it must neither be generated
//! nor have such a default itself. So a row's defaults can be computed from left to right. A generated column that is
//! read is replaced by its expression, since generated columns get their values last.
//!
//! Source: MySQL manual, "Data Type Default Values".

use crate::constraints::{self, columns_of, unknown_column};
use catalog::{ColumnDef, DefaultValue, TableDef};
use expr::{Expr, ExprKind, build};
use parser::ast;
use session::Frame;
use types::value::ConvertMode;
use types::{Error, ErrorCode, Result, SqlType, Value};

/// Binds the expressions, given with the positions of their columns.
pub fn bind(session: &Frame<'_>, def: &mut TableDef, clauses: &[(usize, ast::Expr)]) -> Result<()> {
    for (idx, expr) in clauses {
        let name = def.columns[*idx].name.clone();
        let mut bound = constraints::bind_table_expr(session, expr, def).map_err(|e| match e.code() {
            ErrorCode::BAD_FIELD => Error::bad_field(unknown_column(&e), "default value expression"),
            _ => e,
        })?;
        if reads_variables(&bound) || constraints::reads_system_variable(session, expr) {
            return Err(Error::default_val_generated_variables(&name));
        }
        let computed = |c: usize| def.columns[c].generated.is_some() || clauses.iter().any(|(i, _)| *i == c);
        check_order(def, &bound, *idx, computed)?;
        inline_generated(&mut bound, &def.columns);
        check_order(def, &bound, *idx, computed)?;
        let bound = build::assigned(bound, &def.columns[*idx].ty);
        let (text, under) = (expr.to_string().into(), crate::constraints::bound_under(session));
        def.columns[*idx].default = DefaultValue::Expr { expr: Box::new(bound), text, under };
    }
    Ok(())
}

fn reads_variables(e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |e| {
        found |= matches!(e.kind, ExprKind::UserVar { .. } | ExprKind::SetUserVar { .. } | ExprKind::Param(_));
    });
    found
}

fn check_order(def: &TableDef, e: &Expr, idx: usize, computed: impl Fn(usize) -> bool) -> Result<()> {
    for used in columns_of(e) {
        if def.columns[used].auto_increment {
            return Err(Error::default_val_generated_ref_auto_inc(&def.columns[idx].name));
        }
        if used >= idx && computed(used) {
            return Err(Error::default_val_generated_non_prior(&def.columns[idx].name));
        }
    }
    Ok(())
}

/// Generated columns read columns and generated ones before them: the depth is bounded by the number of columns.
pub fn inline_generated(e: &mut Expr, columns: &[ColumnDef]) {
    e.rewrite(&mut |e| {
        if let ExprKind::Column(c) = e.kind
            && let column = &columns[c as usize]
            && let Some(g) = &column.generated
        {
            let mut value = (*g.expr).clone();
            inline_generated(&mut value, &columns[..c as usize]);
            *e = build::implicit_cast(value, column.ty);
        }
    });
}

/// 3766: a default that stays reads a column that does not, or not under its name.
pub fn check_columns_kept(
    old: &TableDef,
    stays: impl Fn(usize) -> bool,
    is_kept: impl Fn(usize) -> bool,
) -> Result<()> {
    for (idx, c) in old.columns.iter().enumerate() {
        let DefaultValue::Expr { expr, .. } = &c.default else { continue };
        if let Some(&used) = columns_of(expr).iter().find(|u| !is_kept(**u))
            && stays(idx)
        {
            return Err(Error::dependent_by_default_generated_value(&old.columns[used].name, &old.name));
        }
    }
    Ok(())
}

/// A constant default in its column's type; any loss is an error.
pub fn convert_default(frame: &Frame<'_>, value: &Value, ty: &SqlType, c: &ColumnDef) -> Result<Value> {
    let zone = frame.time_zone();
    let mode = ConvertMode { strict: true, ..frame.convert_mode(&zone) };
    let value = changes::stored_form(value, ty, &zone);
    let stored = changes::store(&value, c, 1, &mode)?;
    if stored.beyond == 0 { Ok(stored.value) } else { Err(Error::warn_data_out_of_range(&c.name, 1)) }
}
