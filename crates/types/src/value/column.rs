//! What INSERT, UPDATE and ALTER do to a value that a column cannot hold as it is.
//!
//! In strict mode most misfits are errors; otherwise the nearest value is stored with a warning. The numbers and words
//! are MySQL's: 1264 out of range, 1265 truncated, 1366 not a number or not text, 1406 too long, 1292 not a date or
//! time (strict only: 1264 or 1265 otherwise). Notes are notes in every mode. NULL passes: NOT NULL is the caller's to
//! check.

use super::Value;
use super::number::{Read, Truncation, parse_decimal, parse_f64, round_f64_to_i64, round_f64_to_u64};
use super::within::fmt_double_within;
use crate::collation::{trim_spaces, utf8};
use crate::temporal::parse::{parse_datetime, parse_time, year_from_number};
use crate::temporal::zone::LocalTime;
use crate::temporal::{TemporalFault, TemporalMode, TimeZone};
use crate::{
    Collation, Date, DateTime, Decimal, Error, IntSize, Result, SqlType, StringKind, Time, Timestamp, Warning,
};

/// The parts of a session that say how values are stored.
#[derive(Clone, Copy, Debug)]
pub struct ConvertMode<'a> {
    /// STRICT_TRANS_TABLES or STRICT_ALL_TABLES, and not IGNORE.
    pub strict: bool,
    pub temporal: TemporalMode,
    pub zone: &'a TimeZone,
    /// The current date in `zone`: what a TIME becomes a DATETIME on.
    pub today: Date,
}

/// Converts `value` for the column `column` of type `ty`; `row` counts from 1 and appears in messages.
pub fn convert_for_column(
    value: &Value,
    ty: &SqlType,
    column: &str,
    row: u64,
    mode: &ConvertMode<'_>,
) -> Result<(Value, Option<Warning>)> {
    let c = Conversion { column, row, mode };
    match ty {
        _ if value.is_null() => Ok((Value::Null, None)),
        SqlType::Null => Ok((Value::Null, None)),
        SqlType::Bool => c.integer(value, IntSize::I8, false),
        SqlType::Int { size, unsigned } => c.integer(value, *size, *unsigned),
        SqlType::Decimal { precision, scale } => c.decimal(value, *precision, *scale),
        SqlType::Float => c.float(value),
        SqlType::Double => c.double(value),
        SqlType::String { kind, len, collation } => c.string(value, *kind, *len, *collation),
        SqlType::Date => c.date(value),
        SqlType::Time { fsp } => c.time(value, *fsp),
        SqlType::DateTime { fsp } => c.datetime(value, *fsp).map(|(d, w)| (Value::DateTime(d), w)),
        SqlType::Timestamp { fsp } => c.timestamp(value, *fsp),
        SqlType::Year => c.year(value),
    }
}

type Converted = Result<(Value, Option<Warning>)>;

struct Conversion<'a> {
    column: &'a str,
    row: u64,
    mode: &'a ConvertMode<'a>,
}

impl Conversion<'_> {
    /// The error in strict mode, the value with a warning otherwise.
    fn misfit<T>(&self, value: T, error: Error) -> Result<(T, Option<Warning>)> {
        if self.mode.strict { Err(error) } else { Ok((value, Some(Warning::of(error)))) }
    }

    fn out_of_range(&self) -> Error {
        Error::warn_data_out_of_range(self.column, self.row)
    }

    fn truncated(&self) -> Error {
        Error::warn_data_truncated(self.column, self.row)
    }

    fn note_truncated(&self) -> Option<Warning> {
        Some(Warning::note(self.truncated()))
    }

    fn not_a(&self, kind: &str, text: &[u8]) -> Error {
        Error::truncated_wrong_value_for_field(kind, String::from_utf8_lossy(text), self.column, self.row)
    }

    fn integer(&self, value: &Value, size: IntSize, unsigned: bool) -> Converted {
        let (min, max) = size.range(unsigned);
        // The exact integer, wide enough for both signs.
        let (wide, lost): (i128, Truncation) = match value {
            Value::Int(v) => (*v as i128, Truncation::None),
            Value::UInt(v) => (*v as i128, Truncation::None),
            Value::Float(v) => wide_of_f64(*v as f64),
            Value::Double(v) => wide_of_f64(*v),
            Value::Bytes(b) => {
                let r = parse_decimal(b);
                (wide_of_decimal(r.value), r.truncation)
            }
            // A DECIMAL is tested for its sign before it is rounded, unlike a DOUBLE or a string.
            Value::Decimal(d) if unsigned && d.is_negative() => (min, Truncation::OutOfRange),
            other => (wide_of_decimal(other.to_decimal().value), Truncation::None),
        };
        let clamped = wide.clamp(min, max);
        let stored = if unsigned { Value::UInt(clamped as u64) } else { Value::Int(clamped as i64) };
        if let (Truncation::NotANumber, Value::Bytes(b)) = (lost, value) {
            return self.misfit(stored, self.not_a("integer", b));
        }
        if clamped != wide || lost == Truncation::OutOfRange {
            return self.misfit(stored, self.out_of_range());
        }
        if lost == Truncation::Trailing {
            return self.misfit(stored, self.truncated());
        }
        Ok((stored, None))
    }

    fn decimal(&self, value: &Value, precision: u8, scale: u8) -> Converted {
        let read = value.to_decimal();
        let (stored, clamped) = read.value.fit(precision, scale);
        let result = Value::Decimal(stored);
        if let Value::Bytes(b) = value {
            match read.truncation {
                Truncation::NotANumber => return self.misfit(result, self.not_a("decimal", b)),
                Truncation::Trailing if self.mode.strict => return Err(self.not_a("decimal", b)),
                Truncation::Trailing if !clamped => return Ok((result, self.note_truncated())),
                _ => {}
            }
        }
        if clamped || read.truncation == Truncation::OutOfRange {
            return self.misfit(result, self.out_of_range());
        }
        let rounded = scale < read.value.scale && !stored.eq_value(&read.value);
        // Doubles round silently.
        let exact_source = !matches!(value, Value::Double(_) | Value::Float(_));
        Ok((result, if rounded && exact_source { self.note_truncated() } else { None }))
    }

    fn double(&self, value: &Value) -> Converted {
        let (v, w) = self.read_double(value)?;
        Ok((Value::Double(v), w))
    }

    fn float(&self, value: &Value) -> Converted {
        let (v, w) = self.read_double(value)?;
        if v.abs() > f32::MAX as f64 {
            return self.misfit(Value::Float(f32::MAX.copysign(v as f32)), self.out_of_range());
        }
        Ok((Value::Float(v as f32), w))
    }

    fn read_double(&self, value: &Value) -> Result<(f64, Option<Warning>)> {
        let read = match value {
            Value::Bytes(b) => parse_f64(b),
            other => other.to_f64(),
        };
        match read.truncation {
            Truncation::None => Ok((read.value, None)),
            Truncation::OutOfRange => self.misfit(read.value, self.out_of_range()),
            _ => self.misfit(read.value, self.truncated()),
        }
    }

    /// A double with as many digits as a string of so many characters takes.
    fn digits(&self, v: f64, len: u32) -> Result<(Box<[u8]>, Option<Warning>)> {
        let (text, fits) = fmt_double_within(v, len as usize);
        if fits {
            return Ok((text.into_bytes().into(), None));
        }
        let error = if self.mode.strict { Error::data_too_long(self.column, self.row) } else { self.truncated() };
        self.misfit(text.into_bytes().into(), error)
    }

    fn string(&self, value: &Value, kind: StringKind, len: u32, collation: Collation) -> Converted {
        let is_short = matches!(kind, StringKind::Char | StringKind::VarChar);
        let (mut text, mut warning) = match value {
            Value::Float(v) if is_short => self.digits(*v as f64, len)?,
            Value::Double(v) if is_short => self.digits(*v, len)?,
            other => (other.to_text().unwrap_or_default(), None),
        };
        let binary = collation == Collation::Binary;
        if !binary && matches!(value, Value::Bytes(_)) {
            let valid = utf8::valid_prefix(&text);
            if valid < text.len() {
                let error =
                    Error::truncated_wrong_value_for_field("string", escaped(&text[valid..]), self.column, self.row);
                let (kept, w) = self.misfit(text[..valid].into(), error)?;
                (text, warning) = (kept, w);
            }
        }
        // The TEXT tiers count bytes.
        let in_chars = !binary && is_short;
        let end = match text.len() <= len as usize {
            true => text.len(),
            false if in_chars => utf8::offset_of_char(&text, len as usize),
            false if binary => len as usize,
            false => whole_chars(&text, len as usize),
        };
        if end < text.len() {
            let only_spaces = !binary && text[end..].iter().all(|b| *b == b' ');
            if !only_spaces {
                let error =
                    if self.mode.strict { Error::data_too_long(self.column, self.row) } else { self.truncated() };
                warning = self.misfit((), error)?.1;
            } else if kind != StringKind::Char {
                warning = self.note_truncated();
            }
            text = text[..end].into();
        }
        if kind == StringKind::Char {
            if binary {
                let mut padded = text.into_vec();
                padded.resize(len as usize, 0);
                text = padded.into();
            } else if text.last() == Some(&b' ') {
                text = trim_spaces(&text).into();
            }
        }
        Ok((Value::Bytes(text), warning))
    }

    /// A value that is no date or time at all: zero is stored.
    fn bad_temporal<T>(
        &self,
        kind: &str,
        source: &Value,
        stored: T,
        fault: TemporalFault,
    ) -> Result<(T, Option<Warning>)> {
        if self.mode.strict {
            return Err(self.incorrect(kind, source));
        }
        let error = if fault == TemporalFault::Malformed { self.truncated() } else { self.out_of_range() };
        Ok((stored, Some(Warning::of(error))))
    }

    fn incorrect(&self, kind: &str, source: &Value) -> Error {
        Error::incorrect_temporal_for_column(kind, source, self.column, self.row)
    }

    /// Reads any value as DATETIME; strings with an offset are moved to the session's zone.
    fn read_datetime(&self, kind: &str, value: &Value) -> Result<(DateTime, Option<Warning>)> {
        let temporal = self.mode.temporal;
        let read = match value {
            Value::Bytes(b) => parse_datetime(b, temporal).and_then(|t| match t.offset {
                None => Ok((t.value, t.truncated)),
                Some(seconds) => TimeZone::Offset(seconds)
                    .to_timestamp(t.value)
                    .map(|l| (self.mode.zone.to_datetime(l.timestamp()), t.truncated))
                    .ok_or(TemporalFault::ZeroPart),
            }),
            Value::Date(d) => temporal.admits(*d).map(|()| (d.midnight(), false)),
            Value::DateTime(d) => temporal.admits(d.date()).map(|()| (*d, false)),
            Value::Timestamp(t) => Ok((self.mode.zone.to_datetime(*t), false)),
            other => other.to_datetime(temporal, self.mode.today),
        };
        match read {
            Ok((d, false)) => Ok((d, None)),
            Ok((d, true)) if !self.mode.strict => Ok((d, Some(Warning::of(self.truncated())))),
            Ok(_) => Err(self.incorrect(kind, value)),
            Err(fault) => self.bad_temporal(kind, value, DateTime::ZERO, fault),
        }
    }

    fn date(&self, value: &Value) -> Converted {
        let (d, warning) = self.read_datetime("date", value)?;
        let cut = d.micros_of_day() != 0;
        let warning = warning.or_else(|| if cut { self.note_truncated() } else { None });
        Ok((Value::Date(d.date()), warning))
    }

    fn datetime(&self, value: &Value, fsp: u8) -> Result<(DateTime, Option<Warning>)> {
        let (d, warning) = self.read_datetime("datetime", value)?;
        if self.mode.temporal.truncate_fractional {
            return Ok((d.truncate(fsp), warning));
        }
        match d.round(fsp) {
            Some(d) => Ok((d, warning)),
            None => self.bad_temporal("datetime", value, DateTime::ZERO, TemporalFault::OutOfRange),
        }
    }

    fn timestamp(&self, value: &Value, fsp: u8) -> Converted {
        if let Value::Timestamp(t) = value {
            let t = if self.mode.temporal.truncate_fractional { t.truncate(fsp) } else { t.round(fsp) };
            return Ok((Value::Timestamp(t), None));
        }
        let (d, warning) = self.datetime(value, fsp)?;
        if d.is_zero() {
            return Ok((Value::Timestamp(Timestamp::ZERO), warning));
        }
        match self.mode.zone.to_timestamp(d) {
            Some(LocalTime::Exact(t)) if t.in_range() => Ok((Value::Timestamp(t), warning)),
            Some(LocalTime::Gap(t)) if t.in_range() => {
                if self.mode.strict {
                    return Err(self.incorrect("datetime", value));
                }
                let w = Warning::of(Error::warn_invalid_timestamp(self.column, self.row));
                Ok((Value::Timestamp(t), Some(w)))
            }
            _ => {
                let (t, w) = self.bad_temporal("datetime", value, Timestamp::ZERO, TemporalFault::OutOfRange)?;
                Ok((Value::Timestamp(t), w))
            }
        }
    }

    fn time(&self, value: &Value, fsp: u8) -> Converted {
        let temporal = self.mode.temporal;
        // (value, garbage after it, clamped, date part lost)
        let read = match value {
            Value::Bytes(b) => parse_time(b, temporal).map(|t| (t.value, t.truncated, t.clamped, t.date.is_some())),
            Value::Timestamp(t) => Ok((self.mode.zone.to_datetime(*t).time(), false, false, true)),
            other => other
                .to_time(temporal)
                .map(|(t, clamped)| (t, false, clamped, matches!(other, Value::DateTime(_) | Value::Date(_)))),
        };
        let round = |t: Time| if temporal.truncate_fractional { t.truncate(fsp) } else { t.round(fsp) };
        match read {
            Ok((t, false, false, lost)) => Ok((Value::Time(round(t)), if lost { self.note_truncated() } else { None })),
            Ok(_) if self.mode.strict => Err(self.incorrect("time", value)),
            Ok((t, _, clamped, _)) => {
                let error = if clamped { self.out_of_range() } else { self.truncated() };
                Ok((Value::Time(round(t)), Some(Warning::of(error))))
            }
            Err(fault) => self.bad_temporal("time", value, Value::Time(Time(0)), fault),
        }
    }

    fn year(&self, value: &Value) -> Converted {
        let (n, truncation, from_text) = match value {
            Value::Bytes(b) => {
                let r = parse_decimal(b);
                // '0000' is the year 0; '0', '00' and '000' are 2000.
                let text = trim_spaces(b);
                (r.value.to_i64_round().0, r.truncation, text.len() != 4)
            }
            Value::Date(d) => (d.year() as i64, Truncation::None, false),
            Value::DateTime(d) => (d.date().year() as i64, Truncation::None, false),
            // MySQL cuts the fraction here, and only here.
            Value::Double(v) => (*v as i64, Truncation::None, false),
            other => (other.to_decimal().value.to_i64_round().0, Truncation::None, false),
        };
        if let (Truncation::NotANumber, Value::Bytes(b)) = (truncation, value) {
            return self.misfit(Value::Int(0), self.not_a("integer", b));
        }
        match year_from_number(n, from_text) {
            None => self.misfit(Value::Int(0), self.out_of_range()),
            Some(y) if truncation == Truncation::Trailing => self.misfit(Value::Int(y as i64), self.truncated()),
            Some(y) => Ok((Value::Int(y as i64), None)),
        }
    }
}

fn wide_of_decimal(d: Decimal) -> i128 {
    let bound = if d.is_negative() { i128::MIN } else { i128::MAX };
    d.rescale(0).and_then(Decimal::to_i128).unwrap_or(bound)
}

/// A double as an integer, rounded half to even; beyond both 64-bit ranges it is out of any column's range.
fn wide_of_f64(v: f64) -> (i128, Truncation) {
    let signed: Read<i64> = round_f64_to_i64(v);
    if signed.is_clean() {
        return (signed.value as i128, Truncation::None);
    }
    let unsigned = round_f64_to_u64(v);
    match unsigned.truncation {
        Truncation::None => (unsigned.value as i128, Truncation::None),
        _ => (if v < 0.0 { i128::MIN } else { i128::MAX }, Truncation::OutOfRange),
    }
}

/// The longest prefix of at most `max` bytes that ends between characters.
fn whole_chars(text: &[u8], max: usize) -> usize {
    (0..=max).rev().find(|&k| k == 0 || k == text.len() || text[k] & 0xC0 != 0x80).unwrap_or(0)
}

/// Up to six bytes as MySQL shows what is no text: `\xE4bc`.
fn escaped(bytes: &[u8]) -> String {
    let mut out = String::new();
    for b in bytes.iter().take(6) {
        if (0x20..0x7F).contains(b) {
            out.push(*b as char);
        } else {
            out.push_str(&format!("\\x{b:02X}"));
        }
    }
    if bytes.len() > 6 {
        out.push_str("...");
    }
    out
}

/// The implicit default of a type: what a NOT NULL column without DEFAULT gets outside strict mode.
pub fn zero_of(ty: &SqlType) -> Value {
    match ty {
        SqlType::Null => Value::Null,
        SqlType::Int { unsigned: true, .. } => Value::UInt(0),
        SqlType::Int { .. } | SqlType::Bool | SqlType::Year => Value::Int(0),
        SqlType::Decimal { scale, .. } => Value::Decimal(Decimal { unscaled: Default::default(), scale: *scale }),
        SqlType::Float => Value::Float(0.0),
        SqlType::Double => Value::Double(0.0),
        SqlType::String { .. } => Value::Bytes(Box::default()),
        SqlType::Date => Value::Date(Default::default()),
        SqlType::Time { .. } => Value::Time(Default::default()),
        SqlType::DateTime { .. } => Value::DateTime(Default::default()),
        SqlType::Timestamp { .. } => Value::Timestamp(Default::default()),
    }
}
