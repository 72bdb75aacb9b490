//! FlatInsert: the flat plan of `INSERT INTO table [(columns)] VALUES (constants), ...`.
//!
//! ```text
//!   values ─ into the columns' types ─▶ one chunk a column ─▶ Table::insert_rows
//! ```
//! For tables whose rows have nothing but keys and types to keep to. A value that does not fit its column as it is (an
//! error, a warning, an adjustment) is left to the ordinary way, before anything has happened.

use super::key::Source;
use crate::session::Execution;
use catalog::{DefaultValue, TableDef, TableEngine};
use changes::flat::{Cell, FlatInsert, has_plain_rules};
use parser::ast::{self, ExprKind, InsertSource, Literal, UnaryOp};
use types::Value;

/// More rows than this are as well off without a plan.
const ROWS_MAX: usize = 64;

/// `None`: the statement is of another shape.
pub(crate) fn flat_insert(session: &Execution<'_>, insert: &ast::Insert) -> Option<FlatInsert> {
    let plain = !insert.replace
        && !insert.ignore
        && insert.partitions.is_empty()
        && insert.row_alias.is_none()
        && insert.on_duplicate.is_empty()
        && insert.returning.is_empty();
    let InsertSource::Values(given) = &insert.source else { return None };
    if !plain || given.len() > ROWS_MAX {
        return None;
    }
    let table = session.insertable(&insert.table).ok()?;
    if table.engine == TableEngine::Virtual
        || table.temporary
        || !table.foreign_keys.is_empty()
        || !has_plain_rules(&table)
    {
        return None;
    }
    let columns = session.insert_columns(&table, insert.columns.as_deref()).ok()?;
    if columns.is_empty() || given.iter().any(|row| row.len() != columns.len()) {
        return None;
    }
    let auto = table.columns.iter().position(|c| c.auto_increment);
    if auto.is_some_and(|c| !table.columns[c].ty.is_integer()) {
        return None;
    }
    let cell = |row: &[ast::Expr], c: usize| match columns.iter().position(|n| *n == c) {
        Some(i) if !matches!(row[i].kind, ExprKind::Default) => source(session, &row[i]).map(Cell::Given),
        _ => default(&table, c),
    };
    let row = |row: &Vec<ast::Expr>| (0..table.columns.len()).map(|c| cell(row, c)).collect::<Option<Vec<_>>>();
    let rows = given.iter().map(row).collect::<Option<Vec<_>>>()?;
    Some(FlatInsert { table, rows, auto })
}

/// A constant that means the same at each execution.
fn source(session: &Execution<'_>, e: &ast::Expr) -> Option<Source> {
    let literal = match &e.kind {
        ExprKind::Param(n) => return Some(Source::Param(*n as usize)),
        ExprKind::Literal(l) => l,
        ExprKind::Unary(UnaryOp::Neg | UnaryOp::Plus, inner) => match &inner.kind {
            ExprKind::Literal(l) => l,
            _ => return None,
        },
        _ => return None,
    };
    // Strings have a character set to be told apart by, other literals may be strings or numbers.
    let plain = matches!(
        literal,
        Literal::Null | Literal::Bool(_) | Literal::Int(_) | Literal::Decimal(_) | Literal::Float(_) | Literal::Str(_)
    );
    if !plain {
        return None;
    }
    session.bind_constant_expr(e).ok()?.as_const().map(|v| Source::Const(v.clone()))
}

fn default(table: &TableDef, column: usize) -> Option<Cell> {
    let c = &table.columns[column];
    match &c.default {
        DefaultValue::Value(v) => Some(Cell::Default(v.clone())),
        DefaultValue::CurrentTimestamp => Some(Cell::Now),
        DefaultValue::None if c.auto_increment => Some(Cell::Next),
        DefaultValue::None if c.nullable => Some(Cell::Default(Value::Null)),
        _ => None,
    }
}
