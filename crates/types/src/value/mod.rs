//! A single SQL value, for constants, parameters, defaults, catalog entries and row-at-a-time paths.
//!
//! Query execution works on chunks, not on values; it shares the conversions of the modules below.
//!
//! - [`number`]: doubles and integers from and to text.
//! - [`render`]: values as the text protocol prints them.
//! - [`compare`]: MySQL's comparison of mixed kinds.
//! - [`column`]: what INSERT and UPDATE do to a value that a column cannot hold as it is.

pub mod column;
pub mod compare;
pub mod number;
pub mod render;
mod within;

use crate::temporal::parse::{datetime_from_number, parse_datetime, parse_time, time_from_number};
use crate::temporal::{TemporalFault, TemporalMode};
use crate::{Date, DateTime, Decimal, Time, Timestamp};

pub use column::{ConvertMode, convert_for_column, zero_of};
pub use number::{Read, Truncation, fmt_double, fmt_float};
pub use render::render_text;

/// A value together with its kind. Strings are UTF-8 for every character collation, raw bytes for `binary`.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    UInt(u64),
    Decimal(Decimal),
    Float(f32),
    Double(f64),
    Bytes(Box<[u8]>),
    Date(Date),
    Time(Time),
    DateTime(DateTime),
    /// The stored (UTC) form of a TIMESTAMP column; expressions see it as a DATETIME in the session's time zone.
    Timestamp(Timestamp),
}

impl Value {
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    pub fn str(s: &str) -> Value {
        Value::Bytes(s.as_bytes().into())
    }

    /// The bytes of a string.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Value::Bytes(b) => Some(b),
            _ => None,
        }
    }

    /// The value as a double: strings by their longest numeric prefix, temporal values as `YYYYMMDDhhmmss`. NULL is 0.
    pub fn to_f64(&self) -> Read<f64> {
        match self {
            Value::Null => Read::clean(0.0),
            Value::Int(v) => Read::clean(*v as f64),
            Value::UInt(v) => Read::clean(*v as f64),
            Value::Decimal(d) => Read::clean(d.to_f64()),
            Value::Float(v) => Read::clean(*v as f64),
            Value::Double(v) => Read::clean(*v),
            Value::Bytes(b) => number::parse_f64(b),
            Value::Date(d) => Read::clean(d.to_number() as f64),
            _ => Read::clean(self.temporal_decimal().map_or(0.0, Decimal::to_f64)),
        }
    }

    /// The value as an integer, as CAST AS SIGNED takes it: fractions round half away from zero, except that a string
    /// counts by its integer prefix only. NULL is 0.
    pub fn to_i64(&self) -> Read<i64> {
        match self {
            Value::Null => Read::clean(0),
            Value::Int(v) => Read::clean(*v),
            // CAST reinterprets the bits.
            Value::UInt(v) => Read::clean(*v as i64),
            Value::Decimal(d) => Read::ranged(d.to_i64_round()),
            Value::Float(v) => number::round_f64_to_i64(*v as f64),
            Value::Double(v) => number::round_f64_to_i64(*v),
            Value::Bytes(b) => number::parse_i64(b),
            Value::Date(d) => Read::clean(d.to_number()),
            _ => Read::ranged(self.temporal_decimal().unwrap_or(Decimal::ZERO).to_i64_round()),
        }
    }

    /// The value as an unsigned integer, as CAST AS UNSIGNED takes it: negative integers wrap around.
    pub fn to_u64(&self) -> Read<u64> {
        match self {
            Value::Int(v) => Read::clean(*v as u64),
            Value::UInt(v) => Read::clean(*v),
            Value::Decimal(d) => Read::ranged(d.to_u64_round()),
            Value::Float(v) => number::round_f64_to_u64(*v as f64),
            Value::Double(v) => number::round_f64_to_u64(*v),
            Value::Bytes(b) => number::parse_u64(b),
            other => {
                let r = other.to_i64();
                Read { value: r.value as u64, truncation: r.truncation }
            }
        }
    }

    /// The value as an exact number, at the scale it has. NULL is 0.
    pub fn to_decimal(&self) -> Read<Decimal> {
        match self {
            Value::Null => Read::clean(Decimal::ZERO),
            Value::Int(v) => Read::clean(Decimal::from_i64(*v)),
            Value::UInt(v) => Read::clean(Decimal::from_u64(*v)),
            Value::Decimal(d) => Read::clean(*d),
            Value::Float(v) => number::f64_to_decimal(*v as f64),
            Value::Double(v) => number::f64_to_decimal(*v),
            Value::Bytes(b) => number::parse_decimal(b),
            Value::Date(d) => Read::clean(Decimal::from_i64(d.to_number())),
            _ => Read::clean(self.temporal_decimal().unwrap_or(Decimal::ZERO)),
        }
    }

    /// TIME, DATETIME and TIMESTAMP as a number: `hhmmss.ffffff`, `YYYYMMDDhhmmss.ffffff`.
    fn temporal_decimal(&self) -> Option<Decimal> {
        let (whole, micros, fsp) = match self {
            Value::Time(t) => (t.to_number(), if t.is_negative() { -t.micros() } else { t.micros() }, t.natural_fsp()),
            Value::DateTime(d) => (d.to_number(), d.micros(), d.natural_fsp()),
            Value::Timestamp(t) => {
                let d = t.to_utc();
                (d.to_number(), d.micros(), d.natural_fsp())
            }
            _ => return None,
        };
        Decimal::from_i128(whole as i128 * 1_000_000 + micros as i128, 6).truncate(fsp)
    }

    /// The value as text, as CAST AS CHAR takes it; None for NULL.
    pub fn to_text(&self) -> Option<Box<[u8]>> {
        match self {
            Value::Null => None,
            Value::Bytes(b) => Some(b.clone()),
            other => {
                let mut out = Vec::with_capacity(32);
                render::write_value(other, &mut out);
                Some(out.into())
            }
        }
    }

    /// The value as a DATETIME, as CAST takes it; the flag says that text was left over. A TIME has no date of its own:
    /// `today` serves. NULL is a fault.
    pub fn to_datetime(&self, mode: TemporalMode, today: Date) -> Result<(DateTime, bool), TemporalFault> {
        match self {
            Value::Date(d) => Ok((d.midnight(), false)),
            Value::DateTime(d) => Ok((*d, false)),
            Value::Timestamp(t) => Ok((t.to_utc(), false)),
            Value::Time(t) => t.on(today).map(|d| (d, false)).ok_or(TemporalFault::OutOfRange),
            Value::Bytes(b) => parse_datetime(b, mode).map(|t| (t.value, t.truncated)),
            Value::Null => Err(TemporalFault::Malformed),
            number => {
                let (whole, micros) = number.whole_and_micros().ok_or(TemporalFault::OutOfRange)?;
                let (d, _) = datetime_from_number(whole, mode)?;
                if micros == 0 {
                    return Ok((d, false));
                }
                DateTime::from_linear(d.linear() + micros).map(|d| (d, false)).ok_or(TemporalFault::OutOfRange)
            }
        }
    }

    /// The value as a TIME, as CAST takes it; the flag says that text was left over or the value clamped.
    pub fn to_time(&self, mode: TemporalMode) -> Result<(Time, bool), TemporalFault> {
        match self {
            Value::Date(_) => Ok((Time(0), false)),
            Value::DateTime(d) => Ok((d.time(), false)),
            Value::Timestamp(t) => Ok((t.to_utc().time(), false)),
            Value::Time(t) => Ok((*t, false)),
            Value::Bytes(b) => parse_time(b, mode).map(|t| (t.value, t.truncated || t.clamped)),
            Value::Null => Err(TemporalFault::Malformed),
            number => {
                let (whole, micros) = number.whole_and_micros().ok_or(TemporalFault::OutOfRange)?;
                let (t, clamped) = time_from_number(whole)?;
                let (t, beyond) = Time::clamped(t.0 + micros);
                Ok((t, clamped || beyond))
            }
        }
    }

    /// A number's integer part and its fraction in microseconds, rounded.
    fn whole_and_micros(&self) -> Option<(i64, i64)> {
        let d = self.to_decimal().value.rescale(6)?.to_i128()?;
        Some((i64::try_from(d / 1_000_000).ok()?, (d % 1_000_000) as i64))
    }

    /// The truth of a value in WHERE; None for NULL.
    pub fn truth(&self) -> Option<bool> {
        match self {
            Value::Null => None,
            Value::Int(v) => Some(*v != 0),
            Value::UInt(v) => Some(*v != 0),
            Value::Decimal(d) => Some(!d.is_zero()),
            other => Some(other.to_f64().value != 0.0),
        }
    }
}

impl From<i64> for Value {
    fn from(v: i64) -> Value {
        Value::Int(v)
    }
}

impl From<&str> for Value {
    fn from(v: &str) -> Value {
        Value::str(v)
    }
}

#[cfg(test)]
mod tests;
