//! A single SQL value, for constants, parameters, defaults, catalog entries and row-at-a-time paths.
//!
//! Query execution works on chunks, not on values.

use crate::{Date, DateTime, Decimal, Time, Timestamp};

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
}
