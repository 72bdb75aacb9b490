//! PointInsert: the flat plan of `INSERT INTO table [(columns)] VALUES (constants), ...`.
//!
//! ```text
//!   values ─ into the columns' types ─▶ one chunk a column ─▶ Table::insert_rows
//! ```
//! For tables whose rows have nothing but keys and types to keep to. A value that does not fit its column as it is (an
//! error, a warning, an adjustment) is left to the ordinary way, before anything has happened.

use super::change::has_plain_rules;
use super::key::Source;
use crate::dml::{Converter, now};
use crate::session::Execution;
use catalog::{DefaultValue, TableDef, TableEngine};
use parser::ast::{self, ExprKind, InsertSource, Literal, UnaryOp};
use std::sync::Arc;
use types::{SqlType, Value};
use vector::{Chunk, ChunkBuilder};

/// More rows than this are as well off without a plan.
const ROWS_MAX: usize = 64;

/// Where a column's value comes from.
#[derive(Clone, Debug)]
enum Cell {
    Given(Source),
    Default(Value),
    /// CURRENT_TIMESTAMP
    Now,
    /// The next AUTO_INCREMENT value.
    Next,
}

/// See the module head.
#[derive(Debug)]
pub(crate) struct PointInsert {
    pub table: Arc<TableDef>,
    /// Of each row, one a column.
    rows: Vec<Vec<Cell>>,
    /// The AUTO_INCREMENT column.
    pub auto: Option<usize>,
}

/// The rows of one execution.
pub(crate) struct ReadyRows {
    pub columns: Vec<Chunk>,
    pub rows: usize,
    /// All rows get generated values, which are put into the column when they are known.
    pub generates: bool,
    /// The AUTO_INCREMENT column's last value, where it was given.
    pub last_given: u64,
}

impl PointInsert {
    /// `None`: the statement is of another shape.
    pub fn of(session: &Execution<'_>, insert: &ast::Insert) -> Option<PointInsert> {
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
        Some(PointInsert { table, rows, auto })
    }

    /// The rows for these values; `None`: one does not fit.
    pub fn ready(&self, session: &Execution<'_>, params: &[(Value, SqlType)]) -> Option<ReadyRows> {
        let converter = Converter::new(session, &self.table, false);
        let n = self.rows.len();
        let zero_asks = !session.sql_mode().no_auto_value_on_zero;
        let (mut asking, mut last_given) = (0, 0);
        let mut columns = Vec::with_capacity(self.table.columns.len());
        for (c, def) in self.table.columns.iter().enumerate() {
            let mut builder = ChunkBuilder::new(def.ty.phys(), n);
            for row in &self.rows {
                let given = match &row[c] {
                    Cell::Given(source) => source.value(params)?,
                    Cell::Default(value) => {
                        builder.push(value);
                        continue;
                    }
                    Cell::Now => {
                        builder.push(&now(session, &def.ty));
                        continue;
                    }
                    Cell::Next => &Value::Null,
                };
                let is_auto = self.auto == Some(c);
                if is_auto && given.is_null() {
                    asking += 1;
                    builder.push(&Value::Null);
                    continue;
                }
                let value = converter.fit(c, given)?;
                if is_auto {
                    let number = match value {
                        Value::Int(v) => v as u64,
                        Value::UInt(v) => v,
                        _ => return None,
                    };
                    let is_zero = matches!(value, Value::Int(0) | Value::UInt(0));
                    asking += usize::from(is_zero && zero_asks);
                    last_given = number;
                }
                builder.push(&value);
            }
            columns.push(builder.finish());
        }
        // Some rows asking and some not is for the ordinary way.
        (asking == 0 || asking == n).then_some(ReadyRows { columns, rows: n, generates: asking > 0, last_given })
    }
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
