//! Few rows of constants.
//!
//! ```text
//!   values ─ into the columns' types ─▶ one chunk a column ─▶ Table::insert_rows
//! ```

use super::Source;
use crate::auto_increment::AutoIncrement;
use crate::convert::{Converter, now};
use crate::statement::Statement;
use catalog::TableDef;
use std::sync::Arc;
use storage::{Table, Txn};
use types::{Error, Result, SqlType, Value};
use vector::{Chunk, ChunkBuilder};

/// Where a column's value comes from.
#[derive(Clone, Debug)]
pub enum Cell {
    Given(Source),
    Default(Value),
    /// CURRENT_TIMESTAMP
    Now,
    /// The next AUTO_INCREMENT value.
    Next,
}

/// An INSERT of few rows.
#[derive(Debug)]
pub struct FlatInsert {
    pub table: Arc<TableDef>,
    /// Of each row, one a column.
    pub rows: Vec<Vec<Cell>>,
    /// The AUTO_INCREMENT column.
    pub auto: Option<usize>,
}

/// The rows of one execution.
pub struct ReadyRows {
    pub columns: Vec<Chunk>,
    pub rows: usize,
    /// All rows get generated values, which are put into the column when they are known.
    pub generates: bool,
    /// The AUTO_INCREMENT column's last value, where it was given.
    pub last_given: u64,
}

impl FlatInsert {
    /// The rows for these values; `None`: one does not fit.
    pub fn ready(&self, statement: &dyn Statement, params: &[(Value, SqlType)]) -> Option<ReadyRows> {
        let converter = Converter::new(statement, &self.table, false);
        let n = self.rows.len();
        let zero_asks = !statement.settings().sql_mode.no_auto_value_on_zero;
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
                        builder.push(&now(statement, &def.ty));
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

    /// Inserts the rows; the first value generated.
    pub fn insert(&self, statement: &dyn Statement, ready: &mut ReadyRows, txn: &Arc<Txn>) -> Result<Option<u64>> {
        statement.check_killed()?;
        let table = statement.store().expect_table(&self.table)?;
        let generated = match self.auto {
            Some(column) if ready.generates => Some(self.generate(statement, column, ready, &table)?),
            _ => None,
        };
        let refs: Vec<&Chunk> = ready.columns.iter().collect();
        table.insert_rows(txn, &refs, ready.rows)?;
        Ok(generated)
    }

    /// Puts the next AUTO_INCREMENT values into the column; returns the first.
    fn generate(&self, statement: &dyn Statement, column: usize, ready: &mut ReadyRows, table: &Table) -> Result<u64> {
        let settings = statement.settings();
        let ty = self.table.columns[column].ty;
        let SqlType::Int { unsigned, .. } = ty else { return Err(Error::internal("AUTO_INCREMENT is an integer")) };
        let mut ids = AutoIncrement::new(column, ty, settings.auto_increment_step, settings.auto_increment_offset);
        let mut builder = ChunkBuilder::new(ty.phys(), ready.rows);
        let mut first = None;
        for _ in 0..ready.rows {
            let n = ids.take(table, ready.rows as u64)?;
            first.get_or_insert(n);
            builder.push(&if unsigned { Value::UInt(n) } else { Value::Int(n as i64) });
        }
        ready.columns[column] = builder.finish();
        first.ok_or_else(|| Error::internal("an INSERT without rows"))
    }
}
