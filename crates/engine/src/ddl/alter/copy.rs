//! ALTER TABLE's copying of rows into a table of the new definition.
//!
//! Values of columns whose type does not change are stored as they were: a zero date stays one, whatever `sql_mode`
//! says now. What is computed anew, generated columns and keys over expressions among it, is judged as INSERT judges
//! it.

use super::Edit;
use crate::session::Execution;
use catalog::{ColumnDef, DefaultValue, TableDef};
use changes::WriteMode;
use definitions::constraints::columns_of;
use introspection::show_create;
use parser::ast::Statement;
use std::sync::Arc;
use types::{Error, ErrorCode, Result, SqlType, StringKind};

impl Execution<'_> {
    /// Answers how many rows there are.
    pub(super) fn copy_rows(&mut self, old: &TableDef, new: &Arc<TableDef>, edit: &Edit) -> Result<u64> {
        let forbidden = new.columns.iter().zip(&edit.origins);
        let forbidden = forbidden.filter_map(|(c, origin)| origin.filter(|o| old.columns[*o].nullable && !c.nullable));
        let forbidden: Vec<usize> = forbidden.collect();
        let strict = self.sql_mode().strict;
        if strict && !forbidden.is_empty() && self.db().store().expect_table(old)?.has_nulls_in(&forbidden) {
            return Err(Error::invalid_use_of_null());
        }
        let columns = copied_columns(old, new, edit);
        let text = copy_query(old, edit, &columns);
        let parsed = parser::parse_single(text.as_bytes(), &parser::ParseOptions::default())?;
        let Statement::Query(query) = &parsed.statement else {
            return Err(Error::internal("the copying query is no query"));
        };
        let source = self.bind_source(query)?;
        let source = if columns.is_empty() { source.rows_alone() } else { source };
        let kept = (0..new.columns.len()).map(|i| keeps_values(old, new, edit, i)).collect();
        let numbered = new.columns.iter().position(|c| c.auto_increment);
        let zero_is_value = numbered.and_then(|c| origin(old, edit, c)).is_some_and(|before| before.auto_increment);
        self.warnings().set_raise(strict && computes_anew(old, new, edit));
        let filled = self.fill_table(new, source, WriteMode { kept: Some(kept), zero_is_value, ..WriteMode::plain() });
        filled.map(|written| written.copied).map_err(|e| if cuts(old, new, edit, &e) { cut(&e) } else { e })
    }
}

/// The old column that a new one goes on with.
fn origin<'a>(old: &'a TableDef, edit: &Edit, new: usize) -> Option<&'a ColumnDef> {
    edit.origins.get(new).copied().flatten().map(|o| &old.columns[o])
}

/// Whether a column's values are of its type already.
fn keeps_values(old: &TableDef, new: &TableDef, edit: &Edit, idx: usize) -> bool {
    let now = &new.columns[idx];
    origin(old, edit, idx).is_some_and(|before| {
        before.ty == now.ty && before.unsigned == now.unsigned && before.float_digits == now.float_digits
    })
}

/// Whether rows get values that they did not have before.
fn computes_anew(old: &TableDef, new: &TableDef, edit: &Edit) -> bool {
    let is_new = |(idx, c): (usize, &ColumnDef)| {
        let Some(g) = &c.generated else {
            return origin(old, edit, idx).is_none() && matches!(c.default, DefaultValue::Expr { .. });
        };
        // a virtual column that no key holds is looked at when it is read
        let is_key = new.indexes.iter().any(|i| i.parts.iter().any(|p| p.column_idx == idx));
        if !g.stored && !c.is_hidden() && !is_key {
            return false;
        }
        let same =
            |before: &ColumnDef| before.ty == c.ty && before.generated.as_ref().is_some_and(|b| b.text == g.text);
        let there = match c.is_hidden() {
            true => old.columns.iter().any(|b| b.is_hidden() && same(b)),
            false => origin(old, edit, idx).is_some_and(same),
        };
        !there || columns_of(&g.expr).iter().any(|&used| !keeps_values(old, new, edit, used))
    };
    new.columns.iter().enumerate().any(is_new)
}

/// Whether the error is of a value that is cut: that of a CHAR or VARCHAR column that gets shorter and is otherwise as
/// it was. Values of other columns are converted, and then too long, as they would be for INSERT.
fn cuts(old: &TableDef, new: &TableDef, edit: &Edit, e: &Error) -> bool {
    let is_shorter = |(idx, c): (usize, &ColumnDef)| {
        let is_its = e.message().contains(&format!(" for column '{}' ", c.name));
        is_its
            && match (origin(old, edit, idx).map(|b| b.ty), c.ty) {
                (
                    Some(SqlType::String { kind: a, collation: x, .. }),
                    SqlType::String { kind: b @ (StringKind::Char | StringKind::VarChar), collation: y, .. },
                ) => a == b && x == y,
                _ => false,
            }
    };
    e.code() == ErrorCode::DATA_TOO_LONG && new.columns.iter().enumerate().any(is_shorter)
}

fn cut(e: &Error) -> Error {
    Error::new(ErrorCode::WARN_DATA_TRUNCATED, e.message().replace("Data too long", "Data truncated"))
}

/// What the new table's columns get, under their names there; defaults are for those that are left out.
fn copied_columns(old: &TableDef, new: &TableDef, edit: &Edit) -> Vec<String> {
    let mut columns = Vec::new();
    for (c, origin) in new.columns.iter().zip(&edit.origins) {
        let name = show_create::quote(&c.name);
        match origin {
            _ if c.generated.is_some() => {}
            Some(o) => columns.push(format!("{} AS {name}", show_create::quote(&old.columns[*o].name))),
            None if c.nullable || c.auto_increment || c.default != DefaultValue::None => {}
            None => columns.push(format!("{} AS {name}", implicit_default(&c.ty))),
        }
    }
    columns
}

fn copy_query(old: &TableDef, edit: &Edit, columns: &[String]) -> String {
    let columns = if columns.is_empty() { "NULL".into() } else { columns.join(", ") };
    let (schema, table) = (show_create::quote(&old.schema), show_create::quote(&old.name));
    // By the old columns, whatever the new ones are called.
    let order = |(name, desc): &(Box<str>, bool)| {
        format!("{schema}.{table}.{}{}", show_create::quote(name), if *desc { " DESC" } else { "" })
    };
    let order: Vec<String> = edit.order_by.iter().map(order).collect();
    let order = if order.is_empty() { String::new() } else { format!(" ORDER BY {}", order.join(", ")) };
    format!("SELECT {columns} FROM {schema}.{table}{order}")
}

/// What a NOT NULL column without DEFAULT gets in rows that are there already.
fn implicit_default(ty: &SqlType) -> &'static str {
    match ty {
        SqlType::String { .. } => "''",
        SqlType::Date => "'0000-00-00'",
        SqlType::DateTime { .. } | SqlType::Timestamp { .. } => "'0000-00-00 00:00:00'",
        SqlType::Time { .. } => "'00:00:00'",
        _ => "0",
    }
}
