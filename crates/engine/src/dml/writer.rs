//! Rows into a table: conversion to column types, defaults, generated keys, batches.
//!
//! ```text
//!  values (any type) ─ convert ─▶ builders, one a column ─ full or finish ─▶ Table::insert_rows
//! ```
//! A row that cannot be stored fails with the error of its first bad column in strict mode; else the value is adjusted
//! and a warning says so (MySQL manual, "Server SQL Modes").

use super::convert::{Converter, now, zero_of};
use crate::session::Session;
use catalog::{ColumnDef, DefaultValue, TableDef};
use expr::Params;
use std::sync::Arc;
use storage::{Table, Txn};
use types::{Error, Result, SqlType, Value, WarningLevel};
use vector::{BATCH_ROWS_MAX, Chunk, ChunkBuilder};

/// What one INSERT gives a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    /// The value at this position of the given row.
    Given(usize),
    Default,
}

pub(crate) struct RowWriter<'s> {
    session: &'s Session,
    def: Arc<TableDef>,
    table: Arc<Table>,
    txn: Arc<Txn>,
    sources: Vec<Source>,
    defaults: Vec<Option<Value>>,
    builders: Vec<ChunkBuilder>,
    auto_column: Option<usize>,
    converter: Converter<'s>,
    /// Rows given so far, for messages.
    row_number: u64,
    rows_written: u64,
    first_generated: Option<u64>,
    /// An AUTO_INCREMENT value that was given, not generated: what the OK packet reports if none was generated.
    last_given: u64,
}

impl<'s> RowWriter<'s> {
    /// `columns`: positions in the definition of the given values, in their order.
    pub fn new(session: &'s Session, def: &Arc<TableDef>, txn: Arc<Txn>, columns: &[usize]) -> Result<RowWriter<'s>> {
        let table = session.db().store().table(def.id).ok_or_else(|| Error::no_such_table(&def.schema, &def.name))?;
        let sources: Vec<Source> = (0..def.columns.len())
            .map(|i| columns.iter().position(|&c| c == i).map_or(Source::Default, Source::Given))
            .collect();
        let mut w = RowWriter {
            session,
            def: def.clone(),
            table,
            txn,
            sources,
            defaults: vec![None; def.columns.len()],
            builders: Vec::new(),
            auto_column: def.columns.iter().position(|c| c.auto_increment),
            converter: Converter::new(session, def, false),
            row_number: 0,
            rows_written: 0,
            first_generated: None,
            last_given: 0,
        };
        w.start_batch();
        Ok(w)
    }

    fn start_batch(&mut self) {
        self.builders = self.def.columns.iter().map(|c| ChunkBuilder::new(c.ty.phys(), BATCH_ROWS_MAX)).collect();
    }

    /// Adds a row. `None` stands for DEFAULT.
    pub fn push(&mut self, row: &[Option<(Value, SqlType)>]) -> Result<()> {
        self.row_number += 1;
        for i in 0..self.sources.len() {
            let value = match self.sources[i] {
                Source::Given(p) => match &row[p] {
                    Some((v, ty)) => self.convert(i, v, ty)?,
                    None => self.default(i)?,
                },
                Source::Default => self.default(i)?,
            };
            let value = if self.auto_column == Some(i) { self.auto_increment(i, value)? } else { value };
            self.builders[i].push(&value);
        }
        if self.builders[0].len() == BATCH_ROWS_MAX {
            self.flush()?;
        }
        Ok(())
    }

    fn convert(&self, i: usize, value: &Value, ty: &SqlType) -> Result<Value> {
        let c = &self.def.columns[i];
        if value.is_null() {
            return if c.nullable || c.auto_increment { Ok(Value::Null) } else { Err(Error::bad_null(&c.name)) };
        }
        self.converter.convert(i, value, ty, self.row_number)
    }

    fn default(&mut self, i: usize) -> Result<Value> {
        if let Some(v) = &self.defaults[i] {
            return Ok(v.clone());
        }
        let c = &self.def.columns[i];
        let value = match &c.default {
            DefaultValue::Value(v) => v.clone(),
            DefaultValue::CurrentTimestamp => now(self.session, &c.ty),
            DefaultValue::Expr { expr, .. } => {
                let info = self.session.info();
                let params = Params::default();
                let v = expr::eval::eval_const(expr, &self.session.eval_context(&info, &params))?;
                return self.convert(i, &v, &expr.ty); // anew for each row: it may be UUID() or RAND()
            }
            DefaultValue::None if c.auto_increment || c.nullable => Value::Null,
            DefaultValue::None => self.missing_default(c)?,
        };
        self.defaults[i] = Some(value.clone());
        Ok(value)
    }

    /// 1364: an error in strict mode, else a warning and the type's zero.
    fn missing_default(&self, c: &ColumnDef) -> Result<Value> {
        let e = Error::no_default_for_field(&c.name);
        if self.session.sql_mode().strict {
            return Err(e);
        }
        self.session.warn(e.into_warning(WarningLevel::Warning));
        Ok(zero_of(&c.ty))
    }

    /// NULL (and 0, without NO_AUTO_VALUE_ON_ZERO) asks for the next value; anything else moves the counter past it.
    fn auto_increment(&mut self, i: usize, value: Value) -> Result<Value> {
        let zero_is_value = self.session.sql_mode().no_auto_value_on_zero;
        let given: i128 = match &value {
            Value::Null => 0,
            Value::Int(v) => *v as i128,
            Value::UInt(v) => *v as i128,
            Value::Float(v) => *v as i128,
            Value::Double(v) => *v as i128,
            _ => return Ok(value),
        };
        if given != 0 || (zero_is_value && !value.is_null()) {
            if given > 0 {
                self.table.observe_auto_increment(given as u64);
                self.last_given = given as u64;
            }
            return Ok(value);
        }
        let step = self.session.vars().uint("auto_increment_increment").max(1);
        let offset = self.session.vars().uint("auto_increment_offset").max(1);
        let offset = if offset > step { 1 } else { offset };
        // Of `step` consecutive values exactly one is offset modulo step.
        let first = self.table.reserve_auto_increment(step);
        let n = first + (offset + step - first % step) % step;
        let v = self
            .converter
            .convert_exactly(i, &Value::UInt(n), self.row_number)
            .map_err(|_| Error::autoinc_read_failed())?;
        self.first_generated.get_or_insert(n);
        Ok(v)
    }

    fn flush(&mut self) -> Result<()> {
        let rows = self.builders[0].len();
        if rows == 0 {
            return Ok(());
        }
        self.session.check_killed()?;
        let full = std::mem::take(&mut self.builders);
        let columns: Vec<Chunk> = full.into_iter().map(ChunkBuilder::finish).collect();
        self.table.insert_rows(&self.txn, &columns.iter().collect::<Vec<_>>(), rows)?;
        self.rows_written += rows as u64;
        self.start_batch();
        Ok(())
    }

    /// Writes what is left: (rows, first generated AUTO_INCREMENT value, id for the OK packet).
    pub fn finish(mut self) -> Result<Written> {
        self.flush()?;
        Ok(Written {
            rows: self.rows_written,
            first_generated: self.first_generated,
            id_shown: self.first_generated.unwrap_or(self.last_given),
        })
    }
}

/// What an INSERT did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    pub rows: u64,
    pub first_generated: Option<u64>,
    pub id_shown: u64,
}
