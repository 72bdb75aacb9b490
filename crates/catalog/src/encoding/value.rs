//! Constants, types, collations, and the settings that expressions are bound under.
//!
//! ```text
//!   value       kind 1 | payload        a value of no field of its own: it fills the field
//!                 0 NULL         -
//!                 1 integer      8       2 unsigned integer  8
//!                 3 FLOAT        4       4 DOUBLE            8   IEEE 754
//!                 5 DECIMAL      scale 1 | unscaled value 32, two's complement
//!                 6 string       its bytes
//!                 7 DATE         4       8 TIME              8   as `types::temporal` packs them
//!                 9 DATETIME     8      10 TIMESTAMP         8
//!
//!   type        1 type 1 (MySQL's numbers: enum_field_types)   2 unsigned   3 precision 1   4 scale 1
//!               5 length 4   6 collation 2   7 digits of fractional seconds 1
//!
//!   settings    1 collation 2   2 div_precision_increment 1   3 sql_mode 8 (MySQL's bits)
//! ```
//! A collation is MySQL's number of it. BINARY and CHAR, BLOB and TEXT are told apart by the collation, as in MySQL.

use super::record::{Field, Read, Record, Writer};
use crate::BoundUnder;
use types::{Collation, Date, DateTime, Decimal, I256, IntSize, SqlType, StringKind, Time, Timestamp, Value};

/// As [`super::record::Writer::bytes`] gets it.
pub fn value_bytes(v: &Value) -> Vec<u8> {
    let (kind, payload): (u8, Vec<u8>) = match v {
        Value::Null => (0, vec![]),
        Value::Int(v) => (1, v.to_le_bytes().into()),
        Value::UInt(v) => (2, v.to_le_bytes().into()),
        Value::Float(v) => (3, v.to_bits().to_le_bytes().into()),
        Value::Double(v) => (4, v.to_bits().to_le_bytes().into()),
        Value::Decimal(Decimal { unscaled: I256 { lo, hi }, scale }) => {
            (5, [&[*scale][..], &lo.to_le_bytes(), &hi.to_le_bytes()].concat())
        }
        Value::Bytes(b) => (6, b.to_vec()),
        Value::Date(v) => (7, v.0.to_le_bytes().into()),
        Value::Time(v) => (8, v.0.to_le_bytes().into()),
        Value::DateTime(v) => (9, v.0.to_le_bytes().into()),
        Value::Timestamp(v) => (10, v.0.to_le_bytes().into()),
    };
    let mut out = vec![kind];
    out.extend(payload);
    out
}

/// A value that a column of the type may have.
pub fn value_of(field: &Field<'_>, ty: &SqlType) -> Read<Value> {
    let value = any_value(field)?;
    match fits(&value, ty) {
        true => Ok(value),
        false => Err(field.damage(format!("a value is of kind {}, in a column of type {ty}", field.bytes[0]))),
    }
}

fn any_value(field: &Field<'_>) -> Read<Value> {
    let short = || field.damage("a value is cut short or too long");
    let Some((kind, payload)) = field.bytes.split_first() else { return Err(short()) };
    fn number<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
        bytes.try_into().ok()
    }
    let i64_of = |bytes| number(bytes).map(i64::from_le_bytes);
    let value = match kind {
        0 => payload.is_empty().then_some(Value::Null),
        1 => i64_of(payload).map(Value::Int),
        2 => number(payload).map(u64::from_le_bytes).map(Value::UInt),
        3 => number(payload).map(u32::from_le_bytes).map(f32::from_bits).map(Value::Float),
        4 => number(payload).map(u64::from_le_bytes).map(f64::from_bits).map(Value::Double),
        5 => match payload {
            [scale @ 0..=types::decimal::MAX_SCALE, digits @ ..] if digits.len() == 32 => {
                let (lo, hi) = digits.split_at(16);
                let unscaled = number(lo).map(u128::from_le_bytes).zip(number(hi).map(i128::from_le_bytes));
                unscaled.map(|(lo, hi)| Value::Decimal(Decimal { unscaled: I256 { lo, hi }, scale: *scale }))
            }
            _ => None,
        },
        6 => Some(Value::Bytes(payload.into())),
        7 => number(payload).map(|b| Value::Date(Date(i32::from_le_bytes(b)))),
        8 => i64_of(payload).map(|v| Value::Time(Time(v))),
        9 => i64_of(payload).map(|v| Value::DateTime(DateTime(v))),
        10 => i64_of(payload).map(|v| Value::Timestamp(Timestamp(v))),
        kind => return Err(field.damage(format!("a value is of the unknown kind {kind}"))),
    };
    value.ok_or_else(short)
}

/// Whether a column of the type may hold such a value. Integers of either sign are one kind here, and so are the two
/// forms that a TIMESTAMP has.
fn fits(value: &Value, ty: &SqlType) -> bool {
    use SqlType as T;
    match value {
        Value::Null => true,
        Value::Int(_) | Value::UInt(_) => matches!(ty, T::Int { .. } | T::Bool | T::Year),
        Value::Decimal(_) => matches!(ty, T::Decimal { .. }),
        Value::Float(_) => matches!(ty, T::Float),
        Value::Double(_) => matches!(ty, T::Double),
        Value::Bytes(_) => matches!(ty, T::String { .. }),
        Value::Date(_) => matches!(ty, T::Date),
        Value::Time(_) => matches!(ty, T::Time { .. }),
        Value::DateTime(_) | Value::Timestamp(_) => matches!(ty, T::DateTime { .. } | T::Timestamp { .. }),
    }
}

pub fn collation_of(field: &Field<'_>) -> Read<Collation> {
    let id = field.u16()?;
    let known = Collation::ALL.into_iter().find(|c| c.id() == id);
    known.ok_or_else(|| field.damage(format!("collation {id} is unknown")))
}

mod type_tag {
    pub const TYPE: u16 = 1;
    pub const UNSIGNED: u16 = 2;
    pub const PRECISION: u16 = 3;
    pub const SCALE: u16 = 4;
    pub const LENGTH: u16 = 5;
    pub const COLLATION: u16 = 6;
    pub const FSP: u16 = 7;
}

/// MySQL's enum_field_types.
mod type_number {
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const NULL: u8 = 6;
    pub const TIMESTAMP: u8 = 7;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
    pub const VARCHAR: u8 = 15;
    pub const BOOL: u8 = 244;
    pub const NEWDECIMAL: u8 = 246;
    pub const TINY_BLOB: u8 = 249;
    pub const MEDIUM_BLOB: u8 = 250;
    pub const LONG_BLOB: u8 = 251;
    pub const BLOB: u8 = 252;
    pub const STRING: u8 = 254;
}

pub fn put_type(w: &mut Writer, ty: &SqlType) {
    use {type_number as number, type_tag as tag};
    let of = |w: &mut Writer, number| w.u8(tag::TYPE, number);
    let with_fsp = |w: &mut Writer, number, fsp| {
        w.u8(tag::TYPE, number);
        w.u8(tag::FSP, fsp);
    };
    match *ty {
        SqlType::Null => of(w, number::NULL),
        SqlType::Bool => of(w, number::BOOL),
        SqlType::Int { size, unsigned } => {
            of(
                w,
                match size {
                    IntSize::I8 => number::TINY,
                    IntSize::I16 => number::SHORT,
                    IntSize::I24 => number::INT24,
                    IntSize::I32 => number::LONG,
                    IntSize::I64 => number::LONGLONG,
                },
            );
            w.flag(tag::UNSIGNED, unsigned);
        }
        SqlType::Decimal { precision, scale } => {
            of(w, number::NEWDECIMAL);
            w.u8(tag::PRECISION, precision);
            w.u8(tag::SCALE, scale);
        }
        SqlType::Float => of(w, number::FLOAT),
        SqlType::Double => of(w, number::DOUBLE),
        SqlType::String { kind, len, collation } => {
            of(
                w,
                match kind {
                    StringKind::Char => number::STRING,
                    StringKind::VarChar => number::VARCHAR,
                    StringKind::TinyText => number::TINY_BLOB,
                    StringKind::Text => number::BLOB,
                    StringKind::MediumText => number::MEDIUM_BLOB,
                    StringKind::LongText => number::LONG_BLOB,
                },
            );
            w.u32(tag::LENGTH, len);
            w.u16(tag::COLLATION, collation.id());
        }
        SqlType::Date => of(w, number::DATE),
        SqlType::Time { fsp } => with_fsp(w, number::TIME, fsp),
        SqlType::DateTime { fsp } => with_fsp(w, number::DATETIME, fsp),
        SqlType::Timestamp { fsp } => with_fsp(w, number::TIMESTAMP, fsp),
        SqlType::Year => of(w, number::YEAR),
    }
}

pub fn type_of(field: &Field<'_>) -> Read<SqlType> {
    use {type_number as number, type_tag as tag};
    let (mut ty, mut unsigned, mut precision, mut scale, mut len, mut fsp) = (None, false, 0, 0, 0, 0);
    let mut collation = None;
    field.record().each(|f| {
        match f.tag {
            tag::TYPE => ty = Some(f.u8()?),
            tag::UNSIGNED => unsigned = f.flag()?,
            tag::PRECISION => precision = f.u8()?,
            tag::SCALE => scale = f.u8()?,
            tag::LENGTH => len = f.u32()?,
            tag::COLLATION => collation = Some(collation_of(f)?),
            tag::FSP => fsp = f.u8()?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    let int = |size| SqlType::Int { size, unsigned };
    let string = |kind| {
        let collation = collation.ok_or_else(|| field.damage("a string type has no collation"))?;
        Ok(SqlType::String { kind, len, collation })
    };
    let Some(ty) = ty else { return Err(field.damage("a type has no number")) };
    if fsp > 6 {
        return Err(field.damage(format!("a type has {fsp} digits of fractional seconds")));
    }
    Ok(match ty {
        number::NULL => SqlType::Null,
        number::BOOL => SqlType::Bool,
        number::TINY => int(IntSize::I8),
        number::SHORT => int(IntSize::I16),
        number::INT24 => int(IntSize::I24),
        number::LONG => int(IntSize::I32),
        number::LONGLONG => int(IntSize::I64),
        number::NEWDECIMAL if (1..=65).contains(&precision) && scale <= precision.min(30) => {
            SqlType::Decimal { precision, scale }
        }
        number::NEWDECIMAL => {
            return Err(field.damage(format!("a DECIMAL has {precision} digits, {scale} of a fraction")));
        }
        number::FLOAT => SqlType::Float,
        number::DOUBLE => SqlType::Double,
        number::STRING => string(StringKind::Char)?,
        number::VARCHAR => string(StringKind::VarChar)?,
        number::TINY_BLOB => string(StringKind::TinyText)?,
        number::BLOB => string(StringKind::Text)?,
        number::MEDIUM_BLOB => string(StringKind::MediumText)?,
        number::LONG_BLOB => string(StringKind::LongText)?,
        number::DATE => SqlType::Date,
        number::TIME => SqlType::Time { fsp },
        number::DATETIME => SqlType::DateTime { fsp },
        number::TIMESTAMP => SqlType::Timestamp { fsp },
        number::YEAR => SqlType::Year,
        ty => return Err(field.damage(format!("type {ty} is unknown"))),
    })
}

mod under_tag {
    pub const COLLATION: u16 = 1;
    pub const DIV_PRECISION_INCREMENT: u16 = 2;
    pub const SQL_MODE: u16 = 3;
}

const NO_UNSIGNED_SUBTRACTION: u64 = 1 << 6;
const NO_BACKSLASH_ESCAPES: u64 = 1 << 20;
const ALLOW_INVALID_DATES: u64 = 1 << 25;

/// Nothing, for the usual settings.
pub fn put_under(w: &mut Writer, tag: u16, under: &BoundUnder) {
    let BoundUnder {
        collation,
        div_precision_increment,
        no_unsigned_subtraction,
        no_backslash_escapes,
        allow_invalid_dates,
    } = *under;
    if *under == BoundUnder::default() {
        return;
    }
    let bit = |set: bool, bit: u64| if set { bit } else { 0 };
    let sql_mode = bit(no_unsigned_subtraction, NO_UNSIGNED_SUBTRACTION)
        | bit(no_backslash_escapes, NO_BACKSLASH_ESCAPES)
        | bit(allow_invalid_dates, ALLOW_INVALID_DATES);
    w.record(tag, |w| {
        w.u16(under_tag::COLLATION, collation.id());
        w.u8(under_tag::DIV_PRECISION_INCREMENT, div_precision_increment);
        w.u64(under_tag::SQL_MODE, sql_mode);
    });
}

pub fn under_of(record: Record<'_>) -> Read<BoundUnder> {
    let mut under = BoundUnder::default();
    record.each(|f| {
        match f.tag {
            under_tag::COLLATION => under.collation = collation_of(f)?,
            under_tag::DIV_PRECISION_INCREMENT => under.div_precision_increment = f.u8()?,
            under_tag::SQL_MODE => {
                let mode = f.u64()?;
                let unknown = mode & !(NO_UNSIGNED_SUBTRACTION | NO_BACKSLASH_ESCAPES | ALLOW_INVALID_DATES);
                if unknown != 0 {
                    return Err(f.damage(format!("an expression depends on the unknown sql_mode bits {unknown:#x}")));
                }
                under.no_unsigned_subtraction = mode & NO_UNSIGNED_SUBTRACTION != 0;
                under.no_backslash_escapes = mode & NO_BACKSLASH_ESCAPES != 0;
                under.allow_invalid_dates = mode & ALLOW_INVALID_DATES != 0;
            }
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(under)
}
