//! A field's text into a column.
//!
//! The usual forms of numbers, dates and ASCII strings are read here, straight into the column builders. Anything else
//! (signs of rounding, exponents, odd dates, text that is too long) takes the way of every other statement:
//! [`store`], with its warnings and errors.

use super::fields::Field;
use catalog::{ColumnDef, DefaultValue};
use changes::{AutoIncrement, store};
use std::cell::RefCell;
use storage::BulkAppender;
use types::value::{ConvertMode, zero_of};
use types::{Collation, Date, Error, PhysType, Result, SqlType, StringKind, Value, Warning, WarningLevel};

/// The character set of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileCharset {
    /// UTF-8, or bytes that are taken as they are.
    Utf8,
    /// Windows code page 1252.
    Latin1,
}

/// What a row's conversion needs besides the text.
pub struct RowContext<'a> {
    pub mode: &'a ConvertMode<'a>,
    pub charset: FileCharset,
    pub no_auto_value_on_zero: bool,
    /// The row's number in the input, from 1. May wait for earlier blocks: for messages only.
    pub row_number: &'a dyn Fn() -> u64,
    pub warn: &'a dyn Fn(Warning),
    /// Of the AUTO_INCREMENT column, if the table has one.
    pub ids: &'a RefCell<Option<LoadIds>>,
}

/// The AUTO_INCREMENT values of one thread of a load.
#[derive(Debug)]
pub struct LoadIds {
    ids: AutoIncrement,
    /// The first one that was generated.
    pub first: Option<u64>,
}

impl LoadIds {
    pub fn new(ids: AutoIncrement) -> LoadIds {
        LoadIds { ids, first: None }
    }
}

impl RowContext<'_> {
    /// The error in strict mode, a warning otherwise.
    pub fn misfit(&self, error: Error) -> Result<()> {
        if self.mode.strict {
            return Err(error);
        }
        (self.warn)(error.into_warning(WarningLevel::Warning));
        Ok(())
    }

    /// A row came with this AUTO_INCREMENT value.
    fn id_given(&self, value: u64) {
        if let Some(ids) = &mut *self.ids.borrow_mut() {
            ids.ids.given(value);
        }
    }

    /// The next AUTO_INCREMENT value. The rows of earlier blocks are in the table by then, with the values that they
    /// came with.
    fn next_id(&self, out: &BulkAppender) -> Result<u64> {
        (self.row_number)();
        let mut ids = self.ids.borrow_mut();
        let ids = ids.as_mut().ok_or_else(|| Error::internal("values for a column that is not AUTO_INCREMENT"))?;
        let next = ids.ids.take(out.table(), 1)?;
        ids.first.get_or_insert(next);
        Ok(next)
    }
}

#[derive(Clone, Copy, Debug)]
enum Fast {
    Int {
        min: i64,
        max: i64,
    },
    /// AUTO_INCREMENT: 0 has a meaning of its own.
    Id {
        max: i64,
    },
    /// Scaled to i64; as many digits before the point as `limit` allows.
    Decimal {
        scale: u8,
        limit: i64,
    },
    Date,
    /// Up to `len` bytes, without trailing spaces if `trim`.
    Text {
        len: usize,
        trim: bool,
    },
    Bytes {
        len: usize,
    },
    None,
}

/// A column that gets its value from a field.
#[derive(Clone, Debug)]
pub struct ColumnTarget {
    pub column: usize,
    def: ColumnDef,
    fast: Fast,
}

impl ColumnTarget {
    pub fn new(column: usize, def: &ColumnDef) -> ColumnTarget {
        let fast = match def.ty {
            SqlType::Int { size, unsigned } if def.auto_increment => {
                Fast::Id { max: size.range(unsigned).1.min(i64::MAX as i128) as i64 }
            }
            _ if def.auto_increment || def.float_digits.is_some() => Fast::None,
            SqlType::Int { size, unsigned } => {
                let (min, max) = size.range(unsigned);
                Fast::Int { min: min as i64, max: max.min(i64::MAX as i128) as i64 }
            }
            SqlType::Decimal { precision, scale } if def.ty.phys() == PhysType::I64 && !def.unsigned => {
                Fast::Decimal { scale, limit: 10i64.pow(precision as u32) }
            }
            SqlType::Date => Fast::Date,
            SqlType::String { kind, len, collation: Collation::Binary } if kind != StringKind::Char => {
                Fast::Bytes { len: len as usize }
            }
            SqlType::String { kind, len, collation } if collation != Collation::Binary => {
                Fast::Text { len: len as usize, trim: kind == StringKind::Char }
            }
            _ => Fast::None,
        };
        ColumnTarget { column, def: def.clone(), fast }
    }

    pub fn name(&self) -> &str {
        &self.def.name
    }

    /// Appends the field's value to the column.
    #[inline]
    pub fn store(&self, field: Field<'_>, out: &mut BulkAppender, context: &RowContext<'_>) -> Result<()> {
        if !field.is_null && self.store_fast(field.bytes, out, context) {
            return Ok(());
        }
        self.store_slow(field, out, context)
    }

    #[inline]
    fn store_fast(&self, text: &[u8], out: &mut BulkAppender, context: &RowContext<'_>) -> bool {
        match self.fast {
            Fast::Int { min, max } => match parse_int(text) {
                Some(v) if min <= v && v <= max => out.column(self.column).push_int(v),
                _ => return false,
            },
            Fast::Id { max } => match parse_int(text) {
                Some(v) if 0 < v && v <= max => {
                    context.id_given(v as u64);
                    out.column(self.column).push_int(v);
                }
                _ => return false,
            },
            Fast::Decimal { scale, limit } => match parse_decimal(text, scale) {
                Some(v) if -limit < v && v < limit => out.column(self.column).push_int(v),
                _ => return false,
            },
            Fast::Date => match parse_date(text) {
                Some(d) => out.column(self.column).push_int(d.0 as i64),
                None => return false,
            },
            Fast::Text { len, trim } => {
                let plain =
                    text.is_ascii() || context.charset == FileCharset::Utf8 && std::str::from_utf8(text).is_ok();
                if text.len() > len || !plain || trim && text.last() == Some(&b' ') {
                    return false;
                }
                out.push_bytes(self.column, text);
            }
            Fast::Bytes { len } => {
                if text.len() > len {
                    return false;
                }
                out.push_bytes(self.column, text);
            }
            Fast::None => return false,
        }
        true
    }

    #[cold]
    fn store_slow(&self, field: Field<'_>, out: &mut BulkAppender, context: &RowContext<'_>) -> Result<()> {
        let value = if field.is_null {
            Value::Null
        } else if context.charset == FileCharset::Latin1 && self.def.ty.collation() != Some(Collation::Binary) {
            Value::str(&types::cp1252::decode(field.bytes))
        } else {
            Value::Bytes(field.bytes.into())
        };
        self.store_value(&value, out, context)
    }

    /// Appends what the column gets when the line has no field for it: its default if that is a constant, else what its
    /// type has for a default.
    pub fn store_missing(&self, out: &mut BulkAppender, context: &RowContext<'_>) -> Result<()> {
        let value = match &self.def.default {
            DefaultValue::Value(v) => v.clone(),
            _ if self.def.auto_increment => return self.store_value(&Value::Null, out, context),
            _ if self.def.nullable => Value::Null,
            _ => zero_of(&self.def.ty),
        };
        out.push_value(self.column, &value);
        Ok(())
    }

    /// Appends a value of any kind to the column.
    pub fn store_value(&self, value: &Value, out: &mut BulkAppender, context: &RowContext<'_>) -> Result<()> {
        let def = &self.def;
        let stored = if value.is_null() {
            Value::Null
        } else {
            // The row's number is dear, and few conversions mention it.
            let stored = match store(value, def, 0, context.mode) {
                Ok(stored) if stored.warning.is_none() => stored,
                _ => store(value, def, (context.row_number)(), context.mode)?,
            };
            stored.warning.into_iter().for_each(context.warn);
            for _ in 0..stored.beyond {
                context.misfit(Error::warn_data_out_of_range(&def.name, (context.row_number)()))?;
            }
            stored.value
        };
        let asks_for_next = def.auto_increment
            && match &stored {
                Value::Null => true,
                Value::Int(0) | Value::UInt(0) => !context.no_auto_value_on_zero,
                _ => false,
            };
        let stored = match stored {
            _ if asks_for_next => {
                let next = store(&Value::UInt(context.next_id(out)?), def, 0, context.mode);
                next.ok().filter(|n| n.beyond == 0 && n.warning.is_none()).ok_or_else(Error::autoinc_read_failed)?.value
            }
            Value::Null if !def.nullable => {
                context.misfit(Error::warn_null_to_notnull(&def.name, (context.row_number)()))?;
                zero_of(&def.ty)
            }
            stored => stored,
        };
        if def.auto_increment && !asks_for_next {
            context.id_given(match &stored {
                Value::Int(v) => (*v).max(0) as u64,
                Value::UInt(v) => *v,
                _ => 0,
            });
        }
        out.push_value(self.column, &stored);
        Ok(())
    }
}

/// Digits with an optional minus, at most 18 of them.
#[inline]
fn parse_int(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut v = 0i64;
    for &b in digits {
        let d = b.wrapping_sub(b'0');
        if d > 9 {
            return None;
        }
        v = v * 10 + d as i64;
    }
    Some(if negative { -v } else { v })
}

/// `[-]digits[.digits]` with at most `scale` digits after the point and 18 in all, scaled by 10^scale.
#[inline]
fn parse_decimal(text: &[u8], scale: u8) -> Option<i64> {
    let (negative, rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let (mut v, mut digits, mut after_point) = (0i64, 0u32, None);
    for &b in rest {
        let d = b.wrapping_sub(b'0');
        if d <= 9 {
            v = v.wrapping_mul(10).wrapping_add(d as i64);
            digits += 1;
            if let Some(n) = &mut after_point {
                *n += 1;
            }
        } else if b == b'.' && after_point.is_none() {
            after_point = Some(0u32);
        } else {
            return None;
        }
    }
    let missing = (scale as u32).checked_sub(after_point.unwrap_or(0))?;
    if digits == 0 || digits + missing > 18 {
        return None;
    }
    let v = v * POWERS[missing as usize];
    Some(if negative { -v } else { v })
}

const POWERS: [i64; 19] = {
    let mut p = [1; 19];
    let mut i = 1;
    while i < 19 {
        p[i] = p[i - 1] * 10;
        i += 1;
    }
    p
};

/// `YYYY-MM-DD`, a date that exists.
#[inline]
fn parse_date(text: &[u8]) -> Option<Date> {
    let &[y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1] = text else { return None };
    let digit = |b: u8| Some(b.wrapping_sub(b'0')).filter(|d| *d <= 9).map(u32::from);
    let two = |a, b| Some(digit(a)? * 10 + digit(b)?);
    let (y, m, d) = (two(y0, y1)? * 100 + two(y2, y3)?, two(m0, m1)?, two(d0, d1)?);
    // Days that not every month has are for the general parser to judge.
    let sure = y > 0 && (1..=12).contains(&m) && (1..=28).contains(&d);
    let exists = sure
        || y > 0 && matches!((m, d), (1..=12, 29 | 30) if m != 2)
        || y > 0 && d == 31 && matches!(m, 1 | 3 | 5 | 7 | 8 | 10 | 12);
    exists.then_some(Date((y << 9 | m << 5 | d) as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(parse_int(b"-12"), Some(-12));
        assert_eq!(parse_int(b"999999999999999999"), Some(999_999_999_999_999_999));
        for bad in ["", "-", "+1", "1 ", "1.0", "1e3", "1000000000000000000"] {
            assert_eq!(parse_int(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(parse_decimal(b"12.5", 2), Some(1250));
        assert_eq!(parse_decimal(b"-.25", 2), Some(-25));
        assert_eq!(parse_decimal(b"7", 0), Some(7));
        assert_eq!(parse_decimal(b"7.", 1), Some(70));
        for bad in ["", ".", "-", "1.255", "1.2.3", "1e3", " 1", "99999999999999999"] {
            assert_eq!(parse_decimal(bad.as_bytes(), 2), None, "{bad}");
        }
    }

    #[test]
    fn dates_agree_with_the_general_parser() {
        use types::temporal::{TemporalMode, parse::parse_date as general};
        let mode = TemporalMode {
            no_zero_date: true,
            no_zero_in_date: true,
            allow_invalid_dates: false,
            truncate_fractional: false,
        };
        for y in [1, 99, 1900, 1996, 1999, 2000, 2023, 9999] {
            for m in 0..14 {
                for d in 0..33 {
                    let text = format!("{y:04}-{m:02}-{d:02}");
                    if let Some(date) = parse_date(text.as_bytes()) {
                        let wanted = general(text.as_bytes(), mode).unwrap_or_else(|e| panic!("{text}: {e:?}"));
                        assert_eq!(wanted.value.date(), date, "{text}");
                    } else {
                        assert!(m == 0 || m > 12 || d == 0 || d > 28, "{text} is for the fast path");
                    }
                }
            }
        }
        assert_eq!(parse_date(b"1996-1-02"), None);
        assert_eq!(parse_date(b"1996/01/02"), None);
    }
}
