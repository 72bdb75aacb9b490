//! Values into the types of columns.
//!
//! A value that does not fit its column is an error in strict mode; else, and with IGNORE, it is adjusted and a warning
//! says so (MySQL manual, "Server SQL Modes", "The IGNORE Keyword").

use super::whole;
use crate::statement::Statement;
use catalog::{ColumnDef, TableDef};
use std::sync::Arc;
use types::temporal::{TemporalMode, TimeZone};
use types::value::{ConvertMode, convert_for_column, render_text, zero_of};
use types::{Date, Error, Result, SqlType, StringKind, Value, Warning, WarningLevel};
use vector::{Chunk, ChunkBuilder, Vector};

/// Fits values to the columns of one table, for one statement.
pub struct Converter<'s> {
    statement: &'s dyn Statement,
    def: Arc<TableDef>,
    zone: TimeZone,
    temporal: TemporalMode,
    today: Date,
    strict: bool,
    /// Numbers become strings as they are shown, not as they fit: ALTER TABLE copies texts.
    pub copies: bool,
}

impl<'s> Converter<'s> {
    /// `ignore`: the statement says IGNORE, so faults are warnings.
    pub fn new(statement: &'s dyn Statement, def: &Arc<TableDef>, ignore: bool) -> Converter<'s> {
        let zone = statement.time_zone();
        let mode = statement.convert_mode(&zone);
        let (temporal, today, strict) = (mode.temporal, mode.today, mode.strict && !ignore);
        Converter { statement, def: def.clone(), zone, temporal, today, strict, copies: false }
    }

    fn mode(&self) -> ConvertMode<'_> {
        ConvertMode { strict: self.strict, temporal: self.temporal, zone: &self.zone, today: self.today }
    }

    /// `value` as column `idx` stores it. NULL stays NULL: whether the column takes it is [`Converter::null`]'s to say.
    pub fn convert(&self, idx: usize, value: &Value, ty: &SqlType, row: u64) -> Result<Value> {
        if value.is_null() {
            return Ok(Value::Null);
        }
        let c = &self.def.columns[idx];
        if is_same_instant(value, ty, &c.ty) {
            return Ok(value.clone());
        }
        let value = self.as_text(stored_form(value, ty, &self.zone), ty, &c.ty);
        let stored = store(&value, c, row, &self.mode())?;
        if let Some(w) = stored.warning {
            self.statement.warn(w);
        }
        for _ in 0..stored.beyond {
            self.fault(Error::warn_data_out_of_range(&c.name, row))?;
        }
        Ok(stored.value)
    }

    /// What a string column gets: temporal values with all the digits of their type; in copies and for TEXT, numbers as
    /// well.
    fn as_text(&self, value: Value, ty: &SqlType, to: &SqlType) -> Value {
        let SqlType::String { kind, .. } = to else { return value };
        let is_short = matches!(kind, StringKind::Char | StringKind::VarChar);
        match value {
            Value::Null | Value::Bytes(_) => value,
            Value::Float(_) | Value::Double(_) if is_short && !self.copies => value,
            _ => {
                let mut text = Vec::with_capacity(32);
                render_text(&value, ty, &mut text);
                Value::Bytes(text.into())
            }
        }
    }

    /// `value` as column `idx` stores it, if that takes neither an adjustment nor an error.
    pub fn fit(&self, idx: usize, value: &Value) -> Option<Value> {
        let c = &self.def.columns[idx];
        if value.is_null() {
            return c.nullable.then_some(Value::Null);
        }
        let moved;
        let value = match value {
            Value::Timestamp(t) => {
                moved = Value::DateTime(self.zone.to_datetime(*t));
                &moved
            }
            other => other,
        };
        let is_temporal = matches!(value, Value::Date(_) | Value::Time(_) | Value::DateTime(_));
        if is_temporal && matches!(c.ty, SqlType::String { .. }) {
            return None; // how many digits it has is known with its type alone
        }
        self.stored_exactly(c, value)
    }

    /// The same of a value of type `ty`; NULL is taken whatever the column says of it.
    fn fit_typed(&self, c: &ColumnDef, value: &Value, ty: &SqlType) -> Option<Value> {
        if value.is_null() {
            return Some(Value::Null);
        }
        if is_same_instant(value, ty, &c.ty) {
            return Some(value.clone());
        }
        self.stored_exactly(c, &self.as_text(stored_form(value, ty, &self.zone), ty, &c.ty))
    }

    fn stored_exactly(&self, c: &ColumnDef, value: &Value) -> Option<Value> {
        match store(value, c, 1, &ConvertMode { strict: true, ..self.mode() }) {
            Ok(Stored { value, warning: None, beyond: 0 }) => Some(value),
            _ => None,
        }
    }

    /// Like [`Converter::convert`], for a value that the server made and that has to fit.
    pub fn convert_exactly(&self, idx: usize, value: &Value, row: u64) -> Result<Value> {
        let c = &self.def.columns[idx];
        Ok(convert_for_column(value, &c.ty, &c.name, row, &ConvertMode { strict: true, ..self.mode() })?.0)
    }

    /// What becomes of NULL in a column that takes none: error 1048, or the type's zero with a warning.
    pub fn null(&self, idx: usize) -> Result<Value> {
        let c = &self.def.columns[idx];
        self.fault(Error::bad_null(&c.name))?;
        Ok(zero_of(&c.ty))
    }

    /// An error in strict mode, else a warning.
    pub fn fault(&self, e: Error) -> Result<()> {
        if self.strict {
            return Err(e);
        }
        self.statement.warn(e.into_warning(WarningLevel::Warning));
        Ok(())
    }

    /// The values of a query's output as column `idx` stores them. `first_row`: number of the first one, for messages.
    pub fn column(&self, idx: usize, values: &Vector, ty: &SqlType, rows: usize, first_row: u64) -> Result<Arc<Chunk>> {
        let c = &self.def.columns[idx];
        let fitted = match values {
            Vector::Flat(chunk) => self.fit_chunk(idx, chunk, ty),
            Vector::Const(_) => self.fit_column(idx, values, ty, rows),
        };
        if let Some(chunk) = fitted.filter(|chunk| c.nullable || !chunk.has_nulls()) {
            return Ok(chunk.widened(c.ty.phys()));
        }
        let mut out = ChunkBuilder::new(c.ty.phys(), rows);
        for i in 0..rows {
            let value = values.value(i, ty);
            let value = match self.convert(idx, &value, ty, first_row + i as u64)? {
                Value::Null if !c.nullable => self.null(idx)?,
                v => v,
            };
            out.push(&value);
        }
        Ok(Arc::new(out.finish()))
    }

    /// The same by a kernel, if that takes neither an adjustment nor an error; NULLs stay, and integers may lie in a
    /// narrower array.
    fn fit_chunk(&self, idx: usize, chunk: &Arc<Chunk>, ty: &SqlType) -> Option<Arc<Chunk>> {
        whole::fitted(chunk, ty, &self.def.columns[idx], &self.mode())
    }

    /// The same by a kernel or else value by value.
    pub fn fit_column(&self, idx: usize, values: &Vector, ty: &SqlType, rows: usize) -> Option<Arc<Chunk>> {
        if let Vector::Flat(chunk) = values
            && let Some(chunk) = self.fit_chunk(idx, chunk, ty)
        {
            return Some(chunk);
        }
        let c = &self.def.columns[idx];
        let (chunk, constant) = values.chunk();
        let different = if constant { rows.min(1) } else { rows };
        let mut out = ChunkBuilder::new(c.ty.phys(), different);
        for i in 0..different {
            out.push(&self.fit_typed(c, &chunk.value(i, ty), ty)?);
        }
        let out = out.finish();
        Some(Arc::new(if constant { out.gather(&vec![0; rows]) } else { out }))
    }
}

/// Whether a TIMESTAMP is stored as it is: not by way of local time, which comes twice where clocks are set back.
fn is_same_instant(value: &Value, ty: &SqlType, to: &SqlType) -> bool {
    matches!((value, ty, to), (Value::Timestamp(_), SqlType::Timestamp { fsp: from }, SqlType::Timestamp { fsp }) if from <= fsp)
}

/// A value as a column stores it.
pub struct Stored {
    pub value: Value,
    /// What was done to it.
    pub warning: Option<Warning>,
    /// How often it was beyond what the column takes: more digits than it has, or below zero where that is not.
    pub beyond: u8,
}

/// The one conversion of a value that is not NULL to what column `c` stores.
pub fn store(value: &Value, c: &ColumnDef, row: u64, mode: &ConvertMode<'_>) -> Result<Stored> {
    let (stored, warning) = convert_for_column(value, &wide_type(c), &c.name, row, mode)?;
    let (stored, fits) = fixed_digits(stored, c);
    let below_zero = c.unsigned && is_below_zero(value, &stored);
    let beyond = u8::from(!fits) + u8::from(below_zero);
    Ok(Stored { value: if below_zero { zero_of(&c.ty) } else { stored }, warning, beyond })
}

/// The type that a value is converted to first: what goes into a FLOAT(M,D) is rounded while it is a DOUBLE.
fn wide_type(c: &ColumnDef) -> SqlType {
    if c.float_digits.is_some() { SqlType::Double } else { c.ty }
}

/// A FLOAT(M,D) or DOUBLE(M,D) has D digits behind the point, and M - D before it: the value rounded, or the greatest
/// there is, and whether it fitted. Other columns' values stay.
fn fixed_digits(value: Value, c: &ColumnDef) -> (Value, bool) {
    let (Some((m, d)), Value::Double(v)) = (c.float_digits, &value) else { return (value, true) };
    let scale = 10f64.powi(d.into());
    let mut max = 10f64.powi(i32::from(m) - i32::from(d)) - 1.0 / scale;
    if c.ty == SqlType::Float {
        max = max.min(f64::from(f32::MAX));
    }
    let rounded = match v.is_finite() {
        true => v.floor() + ((v - v.floor()) * scale).round_ties_even() / scale,
        false => *v,
    };
    let stored = rounded.clamp(-max, max);
    let fits = stored == rounded;
    (if c.ty == SqlType::Float { Value::Float(stored as f32) } else { Value::Double(stored) }, fits)
}

/// CURRENT_TIMESTAMP as a value of the column's type.
pub fn now(statement: &dyn Statement, ty: &SqlType) -> Value {
    let us = statement.settings().time_us;
    match ty {
        SqlType::Timestamp { fsp } => {
            let unit = 10i64.pow(6 - *fsp as u32);
            Value::Timestamp(types::Timestamp(us / unit * unit))
        }
        SqlType::DateTime { fsp } => {
            let unit = 10i64.pow(6 - *fsp as u32);
            Value::DateTime(statement.time_zone().to_datetime(types::Timestamp(us / unit * unit)))
        }
        _ => Value::Null,
    }
}

/// What an UNSIGNED column is given, and would store. What a DECIMAL column is given must not be below zero even if it
/// is rounded to zero.
fn is_below_zero(given: &Value, stored: &Value) -> bool {
    match stored {
        Value::Decimal(d) => d.is_negative() || given.to_decimal().value.is_negative(),
        Value::Float(v) => *v < 0.0,
        Value::Double(v) => *v < 0.0,
        _ => false,
    }
}

/// A TIMESTAMP value as it is stored becomes the DATETIME that expressions see; others stay.
pub fn stored_form(value: &Value, ty: &SqlType, zone: &TimeZone) -> Value {
    match (value, ty) {
        (Value::Timestamp(t), _) => Value::DateTime(zone.to_datetime(*t)),
        _ => value.clone(),
    }
}
