//! Rows of values into a table: conversion to column types, defaults, generated keys, batches.
//!
//! ```text
//!  values (any type) ─ convert ─▶ builders, one a column ─ full or finish ─▶ TableChanges::insert
//! ```
//! A row that cannot be stored fails with the error of its first bad column in strict mode; else the value is adjusted
//! and a warning says so (MySQL manual, "Server SQL Modes").

use super::auto_increment::AutoIncrement;
use super::convert::now;
use super::defaults::eval_default;
use super::duplicate::OnDuplicate;
use super::rules::RowCheck;
use super::table::{Outcome, TableChanges, generated_takes_no_value};
use crate::statement::Statement;
use catalog::{ColumnDef, DefaultValue, TableDef};
use executor::Reservation;
use expr::Params;
use std::sync::Arc;
use storage::Txn;
use types::value::zero_of;
use types::{Error, Result, SqlType, Value};
use vector::{BATCH_ROWS_MAX, Chunk, ChunkBuilder};

/// What one INSERT gives a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// The value at this position of the given row.
    Given(usize),
    /// The same, which is of the column's type already.
    Kept(usize),
    Default,
    /// The writer below computes it.
    Generated,
}

/// How rows are to be written.
pub struct WriteMode {
    pub on_duplicate: OnDuplicate,
    /// IGNORE
    pub ignore: bool,
    /// How many rows come, if that is known.
    pub expected_rows: u64,
    /// NULL in a NOT NULL column is an error also outside strict mode: INSERT of a single row.
    pub single: bool,
    /// The ids of the rows written are wanted.
    pub keep_ids: bool,
    /// What the view demands that the rows are written through.
    pub view_checks: Vec<RowCheck>,
    /// ALTER TABLE: for each column whether the values given to it were stored in one like it, and are not judged
    /// again.
    pub kept: Option<Vec<bool>>,
    /// A 0 in the AUTO_INCREMENT column is a value, whatever sql_mode says: ALTER TABLE has it from such a column.
    pub zero_is_value: bool,
}

impl WriteMode {
    /// Rows of a query, duplicates being errors.
    pub fn plain() -> WriteMode {
        WriteMode {
            on_duplicate: OnDuplicate::Error,
            ignore: false,
            expected_rows: 1,
            single: false,
            keep_ids: false,
            view_checks: Vec::new(),
            kept: None,
            zero_is_value: false,
        }
    }
}

/// Rows with more bytes of strings are written before there are as many as a batch may have.
const BATCH_BYTES_MAX: usize = 16 << 20;

pub struct RowWriter<'s> {
    pub(super) statement: &'s dyn Statement,
    pub(super) def: Arc<TableDef>,
    pub(super) writer: TableChanges<'s>,
    pub(super) mode: WriteMode,
    pub(super) sources: Vec<Source>,
    /// Columns as their values are looked at: those given, as they are listed, then the others.
    order: Vec<usize>,
    pub(super) defaults: Vec<Option<Value>>,
    /// There are defaults that are computed from other columns.
    pub(super) row_defaults: bool,
    builders: Vec<ChunkBuilder>,
    /// Of the strings in them.
    batch_bytes: usize,
    /// What a row is charged to that alone has as many.
    memory: Option<Reservation>,
    /// The row being converted.
    row: Vec<Value>,
    pub(super) auto: Option<AutoValues>,
    /// Rows given so far, for messages.
    pub(super) row_number: u64,
    /// Rows written so far, as a batch.
    pub(super) rows_flushed: u64,
    pub(super) written: Written,
    /// The row that the last one updated instead of being inserted.
    last_updated: Option<u64>,
}

/// The statement's AUTO_INCREMENT values.
pub(super) struct AutoValues {
    pub ids: AutoIncrement,
    /// A row may turn out not to be inserted; the next one then gets the value generated for it.
    pub left_over: bool,
    /// Of each row of the batch: the value, and whether it was generated.
    pub values: Vec<(u64, bool)>,
}

/// What an INSERT did.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// Rows that came as far as to be written, or left out for a duplicate: no rule of the table stood against them.
    pub rows: u64,
    /// Rows inserted, or updated for a duplicate.
    pub copied: u64,
    /// Rows that REPLACE deleted.
    pub deleted: u64,
    /// Rows that ON DUPLICATE KEY UPDATE changed.
    pub updated: u64,
    /// Rows that ON DUPLICATE KEY UPDATE met.
    pub touched: u64,
    pub first_generated: Option<u64>,
    pub id_shown: u64,
    /// With [`WriteMode::keep_ids`].
    pub ids: Vec<u64>,
}

/// Rows of one table that a statement changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RowsChanged {
    pub inserted: u64,
    pub updated: u64,
    pub deleted: u64,
}

impl RowsChanged {
    pub fn inserted(rows: u64) -> RowsChanged {
        RowsChanged { inserted: rows, ..RowsChanged::default() }
    }

    pub fn updated(rows: u64) -> RowsChanged {
        RowsChanged { updated: rows, ..RowsChanged::default() }
    }

    pub fn deleted(rows: u64) -> RowsChanged {
        RowsChanged { deleted: rows, ..RowsChanged::default() }
    }
}

impl Written {
    pub fn changed(&self) -> RowsChanged {
        RowsChanged { inserted: self.copied - self.updated, updated: self.updated, deleted: self.deleted }
    }

    /// What the client is told of several rows.
    pub fn info(&self, ignore: bool, warnings: u64) -> String {
        let duplicates = if ignore { self.rows.saturating_sub(self.copied) } else { self.deleted + self.updated };
        format!("Records: {}  Duplicates: {duplicates}  Warnings: {warnings}", self.rows)
    }
}

impl<'s> RowWriter<'s> {
    /// `columns`: positions in the definition of the given values, in their order.
    pub fn new(
        statement: &'s dyn Statement,
        def: &Arc<TableDef>,
        txn: Arc<Txn>,
        columns: &[usize],
        mode: WriteMode,
    ) -> Result<RowWriter<'s>> {
        let sources: Vec<Source> = (0..def.columns.len())
            .map(|i| match columns.iter().position(|&c| c == i) {
                _ if def.columns[i].generated.is_some() => Source::Generated,
                Some(p) if mode.kept.as_ref().is_some_and(|kept| kept[i]) => Source::Kept(p),
                Some(p) => Source::Given(p),
                None => Source::Default,
            })
            .collect();
        let settings = statement.settings();
        let left_over = mode.ignore || matches!(mode.on_duplicate, OnDuplicate::Update(_));
        let ids = AutoIncrement::of(def, settings.auto_increment_step, settings.auto_increment_offset);
        let auto = ids.map(|ids| AutoValues { ids, left_over, values: Vec::new() });
        let mut w = RowWriter {
            statement,
            def: def.clone(),
            writer: TableChanges::new(statement, def, txn, mode.ignore)?.through_view(&mode.view_checks)?,
            mode,
            order: columns.iter().copied().chain((0..sources.len()).filter(|i| !columns.contains(i))).collect(),
            sources,
            defaults: vec![None; def.columns.len()],
            row_defaults: def.columns.iter().any(|c| c.default.reads_row()),
            builders: Vec::new(),
            batch_bytes: 0,
            memory: None,
            row: Vec::with_capacity(def.columns.len()),
            auto,
            row_number: 0,
            rows_flushed: 0,
            written: Written::default(),
            last_updated: None,
        };
        w.writer.converter.copies = w.mode.kept.is_some();
        w.start_batch(w.mode.expected_rows);
        Ok(w)
    }

    fn start_batch(&mut self, rows: u64) {
        let rows = (rows as usize).clamp(1, BATCH_ROWS_MAX);
        let types = self.def.columns.iter().map(|c| &c.ty).chain(self.mode.on_duplicate.source_types());
        self.batch_bytes = 0;
        self.builders = types.map(|ty| ChunkBuilder::new(ty.phys(), rows)).collect();
    }

    /// Columns without values need defaults, whether rows come or not.
    pub fn check_defaults(&mut self) -> Result<()> {
        for i in 0..self.sources.len() {
            if self.sources[i] == Source::Default && matches!(self.def.columns[i].default, DefaultValue::None) {
                self.default(i)?;
            }
        }
        Ok(())
    }

    /// What the row's columns hold once `given`, its first values, are there: later values may name them.
    pub fn so_far(&mut self, given: &[Option<(Value, SqlType)>]) -> Result<Vec<Value>> {
        // What there is to say is said when the whole row is converted.
        let said = self.statement.warnings().take();
        let mut out = Vec::with_capacity(self.sources.len());
        let mut result = Ok(());
        for i in 0..self.sources.len() {
            let c = &self.def.columns[i];
            let value = match (self.sources[i], &c.default) {
                (Source::Given(p), _) if p < given.len() => self.value(i, given),
                (Source::Generated, _) => Ok(Value::Null),
                (_, DefaultValue::None) if c.nullable => Ok(Value::Null),
                (_, DefaultValue::None) => Ok(zero_of(&c.ty)),
                (_, default) if default.reads_row() => Ok(Value::Null),
                _ => self.default(i),
            };
            match value {
                Ok(Value::Null) if self.def.columns[i].auto_increment => out.push(zero_of(&self.def.columns[i].ty)),
                Ok(value) => out.push(value),
                Err(e) => result = Err(e),
            }
        }
        for i in 0..out.len() {
            if result.is_ok() && self.reads_row(i, given) {
                match self.row_default(i, &out) {
                    Ok(value) => out[i] = value,
                    Err(e) => result = Err(e),
                }
            }
        }
        self.statement.warnings().take();
        said.into_iter().for_each(|w| self.statement.warnings().push(w));
        result.map(|()| out)
    }

    /// Adds a row. `None` stands for DEFAULT. Behind the columns given stands what ON DUPLICATE KEY UPDATE reads.
    pub fn push(&mut self, row: &[Option<(Value, SqlType)>]) -> Result<()> {
        self.row_number += 1;
        let said = self.statement.warnings().count();
        let mut converted = self.convert_row(row);
        if self.mode.ignore && !self.builders[0].is_empty() && self.statement.warnings().count() > said {
            // What there is to say of the rows before it comes first.
            self.statement.warnings().forget_after(said);
            self.write_before_fault()?;
            self.start_batch(BATCH_ROWS_MAX as u64);
            converted = self.convert_row(row);
        }
        if let Err(e) = converted {
            self.write_before_fault()?;
            return Err(e);
        }
        let mut row_bytes = 0;
        for (b, v) in self.builders.iter_mut().zip(&self.row) {
            b.push(v);
            if let Value::Bytes(bytes) = v {
                row_bytes += bytes.len();
            }
        }
        self.batch_bytes += row_bytes;
        if row_bytes > BATCH_BYTES_MAX {
            let memory = self.memory.get_or_insert_with(|| Reservation::new(self.statement.memory()));
            memory.hold(row_bytes, "A row of an INSERT")?;
        }
        let one_by_one = self.auto.as_ref().is_some_and(|a| a.left_over && a.values.last().is_some_and(|v| v.1));
        if one_by_one || self.builders[0].len() == BATCH_ROWS_MAX || self.batch_bytes > BATCH_BYTES_MAX {
            self.flush()?;
            self.start_batch(if one_by_one { 1 } else { BATCH_ROWS_MAX as u64 });
        }
        Ok(())
    }

    /// The rows before one with a fault come first: one of them may fail for another reason.
    fn write_before_fault(&mut self) -> Result<()> {
        if let Some(a) = &mut self.auto {
            a.values.truncate(self.builders[0].len());
        }
        self.flush()
    }

    /// The first fault of the rows so far and of one that begins with `given`, if the value behind these has `fault`.
    pub fn first_fault(&mut self, given: &[Option<(Value, SqlType)>], fault: Error) -> Error {
        self.row_number += 1;
        if let Err(e) = self.write_before_fault() {
            return e;
        }
        for at in 0..given.len() {
            if given[at].is_some()
                && let Err(e) = self.value(self.order[at], given)
            {
                return e;
            }
        }
        fault
    }

    fn convert_row(&mut self, row: &[Option<(Value, SqlType)>]) -> Result<()> {
        self.row.clear();
        self.row.resize(self.sources.len(), Value::Null);
        for at in 0..self.order.len() {
            let i = self.order[at];
            if !self.reads_row(i, row) {
                self.row[i] = self.value(i, row)?;
            }
        }
        if self.row_defaults {
            for i in 0..self.sources.len() {
                if self.reads_row(i, row) {
                    self.row[i] = self.row_default(i, &self.row)?;
                }
            }
        }
        // A row that has faults takes no generated value.
        if let Some(column) = self.auto.as_ref().map(|a| a.ids.column) {
            let given = std::mem::replace(&mut self.row[column], Value::Null);
            self.row[column] = self.auto_increment(column, given)?;
        }
        let extra = self.mode.on_duplicate.source_types().len();
        let read = row[row.len() - extra..].iter();
        self.row.extend(read.map(|v| v.as_ref().map_or(Value::Null, |(value, _)| value.clone())));
        Ok(())
    }

    /// Whether the column gets a default that is computed from the row's other columns.
    fn reads_row(&self, i: usize, row: &[Option<(Value, SqlType)>]) -> bool {
        if !self.row_defaults {
            return false;
        }
        let is_default = match self.sources[i] {
            Source::Given(p) | Source::Kept(p) => row.get(p).is_none_or(Option::is_none),
            Source::Default => true,
            Source::Generated => false,
        };
        is_default && self.def.columns[i].default.reads_row()
    }

    /// Such a default, `row` holding the columns that it reads.
    fn row_default(&self, i: usize, row: &[Value]) -> Result<Value> {
        let DefaultValue::Expr { expr, .. } = &self.def.columns[i].default else { return Ok(Value::Null) };
        let v = eval_default(self.statement, expr, &self.def, row)?;
        self.convert(i, &v, &expr.ty)
    }

    fn value(&mut self, i: usize, row: &[Option<(Value, SqlType)>]) -> Result<Value> {
        match self.sources[i] {
            Source::Given(p) => match &row[p] {
                Some((v, ty)) => self.convert(i, v, ty),
                None => self.default(i),
            },
            Source::Kept(p) => match &row[p] {
                Some((v, _)) if !v.is_null() => Ok(v.clone()),
                Some((v, ty)) => self.convert(i, v, ty),
                None => self.default(i),
            },
            Source::Default => self.default(i),
            Source::Generated => Ok(Value::Null),
        }
    }

    fn convert(&self, i: usize, value: &Value, ty: &SqlType) -> Result<Value> {
        let c = &self.def.columns[i];
        if value.is_null() {
            return match c.nullable || c.auto_increment {
                true => Ok(Value::Null),
                false if self.mode.single && !self.mode.ignore => Err(Error::bad_null(&c.name)),
                false if self.mode.kept.is_some() => {
                    self.writer.converter().fault(Error::warn_data_truncated(&c.name, self.row_number))?;
                    Ok(zero_of(&c.ty))
                }
                false => self.writer.converter().null(i),
            };
        }
        self.writer.converter().convert(i, value, ty, self.row_number)
    }

    fn default(&mut self, i: usize) -> Result<Value> {
        if let Some(v) = &self.defaults[i] {
            return Ok(v.clone());
        }
        let c = &self.def.columns[i];
        let value = match &c.default {
            DefaultValue::Value(v) => v.clone(),
            DefaultValue::CurrentTimestamp => now(self.statement, &c.ty),
            DefaultValue::Expr { expr, .. } => {
                let info = self.statement.info();
                let params = Params::default();
                let v = expr::eval::eval_const(expr, &self.statement.eval_context(&info, &params))?;
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
        self.writer.converter().fault(Error::no_default_for_field(&c.name))?;
        Ok(zero_of(&c.ty))
    }

    /// NULL (and 0, without NO_AUTO_VALUE_ON_ZERO) asks for the next value; anything else moves the counter past it.
    fn auto_increment(&mut self, i: usize, value: Value) -> Result<Value> {
        let zero_is_value = self.zero_is_value();
        let a = self.auto.as_mut().expect("the caller found its column");
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
                a.ids.given(u64::try_from(given).unwrap_or(u64::MAX));
            }
            // Clients are told of negative ones as of all: by their 64 bits.
            a.values.push((given as u64, false));
            return Ok(value);
        }
        if a.ids.is_spent() && self.statement.insert_id() != 0 {
            a.ids.begin_at(self.statement.take_insert_id());
        }
        let n = a.ids.take(self.writer.table(), self.mode.expected_rows)?;
        a.values.push((n, true));
        let exact = self.writer.converter().convert_exactly(i, &Value::UInt(n), self.row_number);
        exact.map_err(|_| Error::autoinc_read_failed())
    }

    pub(super) fn zero_is_value(&self) -> bool {
        self.mode.zero_is_value || self.statement.settings().sql_mode.no_auto_value_on_zero
    }

    /// Whether rows come in with nothing to be done or known about single ones.
    pub(super) fn writes_plainly(&self) -> bool {
        matches!(self.mode.on_duplicate, OnDuplicate::Error) && !self.mode.keep_ids && self.writer.inserts_plainly()
    }

    /// The rows that came one by one are written.
    pub(super) fn flush(&mut self) -> Result<()> {
        let rows = self.builders[0].len();
        if rows == 0 {
            return Ok(());
        }
        let full = std::mem::take(&mut self.builders);
        self.start_batch(1);
        let columns: Vec<Arc<Chunk>> = full.into_iter().map(|b| Arc::new(b.finish())).collect();
        self.write(columns, rows)
    }

    /// Writes a batch of converted rows.
    pub(super) fn write(&mut self, columns: Vec<Arc<Chunk>>, rows: usize) -> Result<()> {
        self.statement.check_killed()?;
        let (written, last_updated, keep) = (&mut self.written, &mut self.last_updated, self.mode.keep_ids);
        let auto = self.auto.as_ref().map(|a| &a.values);
        let (mut inserted, mut assigned) = (0, None);
        let mut done = |row: usize, outcome: Outcome| {
            written.rows += 1;
            inserted += matches!(outcome, Outcome::Inserted { .. }) as u64;
            match outcome {
                Outcome::Skipped => {}
                Outcome::Inserted { id, replaced } => {
                    written.copied += 1;
                    written.deleted += replaced;
                    if let Some(&(value, generated)) = auto.and_then(|a| a.get(row)) {
                        if generated {
                            written.first_generated.get_or_insert(value);
                        }
                        written.id_shown = value;
                    }
                    *last_updated = None;
                    if keep {
                        written.ids.push(id);
                    }
                }
                Outcome::Updated { id, changed, auto } => {
                    assigned = assigned.max(auto);
                    written.touched += 1;
                    written.copied += changed as u64;
                    written.updated += changed as u64;
                    *last_updated = changed.then_some(id).or(*last_updated);
                    if keep && !written.ids.contains(&id) {
                        written.ids.push(id);
                    }
                }
            };
        };
        let first_row = self.rows_flushed + 1;
        self.writer.insert(columns, rows, first_row, &self.mode.on_duplicate, &mut done)?;
        self.memory = None;
        self.rows_flushed += rows as u64;
        if let Some(a) = &mut self.auto {
            if let Some(value) = assigned {
                a.ids.given(value);
            }
            if let [.., (value, true)] = a.values[..]
                && inserted == 0
                && a.left_over
            {
                a.ids.give_back(value);
            }
            a.values.clear();
        }
        Ok(())
    }

    /// Writes what is left.
    pub fn finish(mut self) -> Result<Written> {
        self.flush()?;
        self.writer.flush_behind()?;
        if let Some(id) = self.written.first_generated {
            self.written.id_shown = id;
        } else if let (Some(id), Some(a)) = (self.last_updated, &self.auto) {
            let value = self.writer.table().fetch(&[id], &[a.ids.column], &self.writer.current()).columns;
            self.written.id_shown = match value[0].value(0, &self.def.columns[a.ids.column].ty) {
                Value::Int(v) => v as u64,
                Value::UInt(v) => v,
                _ => 0,
            };
        }
        Ok(self.written)
    }
}

/// 3105 if a query's columns are to go into a generated one.
pub fn check_not_generated(def: &TableDef, columns: &[usize]) -> Result<()> {
    match columns.iter().find(|&&c| def.columns[c].generated.is_some()) {
        Some(&c) => Err(generated_takes_no_value(def, c)),
        None => Ok(()),
    }
}
