//! Comparison of values of any kinds: MySQL's manual, "Type Conversion in Expression Evaluation".
//!
//! Exact numbers compare exactly, strings by collation, temporal values as such; a string against a temporal value is
//! read as one; everything else compares as doubles.

use std::cmp::Ordering;

use super::Value;
use crate::temporal::TemporalMode;
use crate::temporal::parse::{parse_datetime, parse_time};
use crate::{Collation, DateTime, Time};

impl Value {
    /// Compares two values; None if either is NULL.
    pub fn compare(&self, other: &Value, collation: Collation) -> Option<Ordering> {
        use Value::*;
        Some(match (self, other) {
            (Null, _) | (_, Null) => return None,
            (Bytes(a), Bytes(b)) => collation.compare(a, b),
            (Int(_) | UInt(_), Int(_) | UInt(_)) => self.integer().cmp(&other.integer()),
            (Int(_) | UInt(_) | Decimal(_), Int(_) | UInt(_) | Decimal(_)) => {
                self.to_decimal().value.cmp_value(&other.to_decimal().value)
            }
            (Time(a), Time(b)) => a.cmp(b),
            (Timestamp(a), Timestamp(b)) => a.cmp(b),
            (Date(_) | DateTime(_) | Timestamp(_), Date(_) | DateTime(_) | Timestamp(_)) => {
                self.as_datetime().cmp(&other.as_datetime())
            }
            (Date(_) | DateTime(_) | Timestamp(_), Bytes(b)) if datetime_of(b).is_some() => {
                self.as_datetime().cmp(&datetime_of(b))
            }
            (Bytes(a), Date(_) | DateTime(_) | Timestamp(_)) if datetime_of(a).is_some() => {
                datetime_of(a).cmp(&other.as_datetime())
            }
            (Time(a), Bytes(b)) if time_of(b).is_some() => Some(*a).cmp(&time_of(b)),
            (Bytes(a), Time(b)) if time_of(a).is_some() => time_of(a).cmp(&Some(*b)),
            _ => self.to_f64().value.partial_cmp(&other.to_f64().value).unwrap_or(Ordering::Equal),
        })
    }

    /// A total order for sorting: NULL first.
    pub fn sort_cmp(&self, other: &Value, collation: Collation) -> Ordering {
        self.compare(other, collation).unwrap_or_else(|| other.is_null().cmp(&self.is_null()))
    }

    fn integer(&self) -> i128 {
        match self {
            Value::Int(v) => *v as i128,
            Value::UInt(v) => *v as i128,
            _ => 0,
        }
    }

    fn as_datetime(&self) -> Option<DateTime> {
        match self {
            Value::Date(d) => Some(d.midnight()),
            Value::DateTime(d) => Some(*d),
            Value::Timestamp(t) => Some(t.to_utc()),
            _ => None,
        }
    }
}

fn datetime_of(text: &[u8]) -> Option<DateTime> {
    parse_datetime(text, TemporalMode::RELAXED).ok().map(|t| t.value)
}

fn time_of(text: &[u8]) -> Option<Time> {
    parse_time(text, TemporalMode::RELAXED).ok().map(|t| t.value)
}
