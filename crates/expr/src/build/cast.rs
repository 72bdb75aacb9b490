//! Conversions.

use super::arith::scalar;
use super::digits::unrounded;
use super::literal::{for_type, plain};
use super::{char_length_of, string_type};
use crate::functions::{COLLATE, COLUMN_VALUE};
use crate::{Expr, ExprKind, Function};
use types::{Collation, Result, SqlType, StringKind, Value};

/// Conversion to `ty`, as CAST does (`explicit`) or as an operator does. A conversion that changes nothing is left out.
pub fn cast(e: Expr, ty: SqlType, explicit: bool) -> Result<Expr> {
    scalar(&e)?;
    if !explicit {
        return Ok(implicit_cast(e, ty));
    }
    let e = if ty.is_numeric() { unrounded(e) } else { e };
    Ok(node(for_type(e, &ty), ty, true))
}

/// `CAST(e AS CHAR[(len)])` or BINARY: without a length the result is as long as the value. `collation` is the
/// connection's where no character set is named.
pub fn cast_char(e: Expr, len: Option<u32>, collation: Collation) -> Result<Expr> {
    scalar(&e)?;
    let e = plain(e);
    let ty = match (len, e.ty) {
        // BINARY(n) is padded to n bytes.
        (Some(n), _) if collation == Collation::Binary && n <= u16::MAX as u32 => {
            SqlType::String { kind: StringKind::Char, len: n, collation }
        }
        (Some(n), _) => string_type(n, collation),
        // The TEXT tier is kept, the rest is VARCHAR.
        (None, SqlType::String { kind, len, .. }) if !matches!(kind, StringKind::Char | StringKind::VarChar) => {
            SqlType::String { kind, len, collation }
        }
        (None, t) => {
            let bytes_a_char =
                if collation == Collation::Binary && t.collation() != Some(Collation::Binary) && t.is_string() {
                    4
                } else {
                    1
                };
            string_type(char_length_of(&t) * bytes_a_char, collation)
        }
    };
    Ok(node(e, ty, true))
}

/// Conversion as operators and functions do it; none where the type is the same already.
pub fn implicit_cast(e: Expr, ty: SqlType) -> Expr {
    let e = for_type(e, &ty);
    if e.ty == ty || is_free(&e.ty, &ty) {
        return e;
    }
    let e = if ty.is_numeric() { unrounded(e) } else { e };
    if let Some(v) = e.as_const().and_then(|v| convert_exactly(v, &ty)) {
        return Expr::constant(v, ty);
    }
    node(e, ty, false)
}

/// `e` as a column of type `ty` stores it: what does not fit is an error in strict mode, else cut with a warning.
pub fn column_value(e: Expr, ty: SqlType, column: &str) -> Expr {
    if e.ty == ty || is_free(&e.ty, &ty) {
        return e;
    }
    if let Some(v) = e.as_const().and_then(|v| convert_exactly(v, &ty)) {
        return Expr::constant(v, ty);
    }
    let args = vec![e, Expr::constant(Value::str(column), SqlType::varchar(64, Collation::default()))];
    Expr::new(ExprKind::Call { function: Function::new(&COLUMN_VALUE), args }, ty, true)
}

/// Conversions that change no bits: a VARCHAR to a longer one.
fn is_free(from: &SqlType, to: &SqlType) -> bool {
    match (from, to) {
        (SqlType::String { collation: a, len: x, .. }, SqlType::String { collation: b, len: y, .. }) => {
            a == b && x <= y
        }
        _ => false,
    }
}

fn node(e: Expr, ty: SqlType, explicit: bool) -> Expr {
    let nullable = e.nullable || may_fail(&e.ty, &ty);
    Expr::new(ExprKind::Cast { expr: e.into(), explicit }, ty, nullable)
}

/// Conversions to temporal types answer NULL for what is not a date.
fn may_fail(from: &SqlType, to: &SqlType) -> bool {
    match to {
        SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. } => {
            !matches!(from, SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. })
        }
        SqlType::Time { .. } | SqlType::Year => !from.is_temporal(),
        _ => false,
    }
}

/// The constant in another type, if nothing is lost and nothing could warn.
pub(super) fn convert_exactly(v: &Value, ty: &SqlType) -> Option<Value> {
    use types::{Decimal, I256};
    let int_in = |v: i128, ty: &SqlType| -> Option<Value> {
        match ty {
            SqlType::Int { size, unsigned: false } => {
                let bits = 8 * size.bytes();
                let half = 1i128 << (bits - 1);
                (-half <= v && v < half).then_some(Value::Int(v as i64))
            }
            SqlType::Int { size, unsigned: true } => {
                (0 <= v && v < 1i128 << (8 * size.bytes())).then_some(Value::UInt(v as u64))
            }
            SqlType::Double if v.unsigned_abs() <= 1 << 53 => Some(Value::Double(v as f64)),
            SqlType::Decimal { precision, scale } => {
                let unscaled = v.checked_mul(10i128.checked_pow(*scale as u32)?)?;
                let limit = 10i128.checked_pow((*precision).min(38) as u32)?;
                (unscaled.abs() < limit)
                    .then_some(Value::Decimal(Decimal { unscaled: I256::from(unscaled), scale: *scale }))
            }
            _ => None,
        }
    };
    match v {
        Value::Null => Some(Value::Null),
        Value::Int(v) => int_in(*v as i128, ty),
        Value::UInt(v) => int_in(*v as i128, ty),
        Value::Decimal(d) => {
            let unscaled = d.unscaled.lo as i128;
            if I256::from(unscaled) != d.unscaled {
                return None;
            }
            match ty {
                SqlType::Decimal { precision, scale } => {
                    let to = if *scale >= d.scale {
                        unscaled.checked_mul(10i128.checked_pow((scale - d.scale) as u32)?)?
                    } else {
                        let by = 10i128.checked_pow((d.scale - scale) as u32)?;
                        if unscaled % by != 0 {
                            return None;
                        }
                        unscaled / by
                    };
                    let limit = 10i128.checked_pow((*precision).min(38) as u32)?;
                    (to.abs() < limit).then_some(Value::Decimal(Decimal { unscaled: I256::from(to), scale: *scale }))
                }
                SqlType::Int { .. } => {
                    let by = 10i128.checked_pow(d.scale as u32)?;
                    if unscaled % by != 0 { None } else { int_in(unscaled / by, ty) }
                }
                _ => None,
            }
        }
        Value::Float(x) if *ty == SqlType::Double => Some(Value::Double(*x as f64)),
        // ASCII is ASCII in every character set.
        Value::Bytes(b) if b.is_ascii() => match ty {
            SqlType::String { kind: StringKind::VarChar, len, .. } if b.len() <= *len as usize => {
                Some(Value::Bytes(b.clone()))
            }
            _ => None,
        },
        _ => None,
    }
}

/// `e COLLATE collation`; 1253 if the collation is of another character set.
pub fn collate(e: Expr, collation: Collation, connection: Collation) -> Result<Expr> {
    scalar(&e)?;
    let e = super::call::to_string(e, connection);
    let SqlType::String { kind, len, collation: from } = e.ty else {
        return Err(types::Error::internal("to_string yields strings"));
    };
    if from.charset() != collation.charset() && !matches!(e.kind, ExprKind::Const(Value::Null)) {
        return Err(types::Error::collation_charset_mismatch(collation.name(), from.charset().name()));
    }
    let nullable = e.nullable;
    let ty = SqlType::String { kind, len, collation };
    Ok(Expr::new(ExprKind::Call { function: Function::new(&COLLATE), args: vec![e] }, ty, nullable))
}
