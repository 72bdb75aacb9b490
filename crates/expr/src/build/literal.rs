//! Literals and their types.

use crate::Expr;
use types::{Collation, Decimal, Error, I256, Result, SqlType, Value};

/// NULL.
pub fn null() -> Expr {
    Expr::constant(Value::Null, SqlType::Null)
}

/// TRUE and FALSE.
pub fn boolean(v: bool) -> Expr {
    Expr::constant(Value::Int(v as i64), SqlType::Bool)
}

/// An integer literal: BIGINT if it fits, else BIGINT UNSIGNED.
pub fn integer(v: u64) -> Expr {
    match i64::try_from(v) {
        Ok(v) => Expr::constant(Value::Int(v), SqlType::BIGINT),
        Err(_) => Expr::constant(Value::UInt(v), SqlType::BIGINT_UNSIGNED),
    }
}

/// A literal of digits with at most one point: `1.50` is DECIMAL(3,2), an integer beyond 64 bits DECIMAL(n,0). More than
/// 65 digits make a DOUBLE, as in MySQL more digits than DECIMAL has are not exact.
pub fn decimal(text: &str) -> Result<Expr> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole = whole.trim_start_matches('0');
    let bad = || Error::internal(format_args!("'{text}' is not a decimal literal"));
    if !whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit()) {
        return Err(bad());
    }
    if whole.len() > 65 {
        return Ok(double(text.parse().map_err(|_| bad())?));
    }
    let fraction = &fraction[..fraction.len().min(30).min(65 - whole.len())];
    let mut unscaled = I256::ZERO;
    for d in whole.bytes().chain(fraction.bytes()) {
        let shifted = unscaled.checked_mul(I256::from(10i64));
        unscaled = shifted.and_then(|v| v.checked_add(I256::from((d - b'0') as i64))).ok_or_else(bad)?;
    }
    let scale = fraction.len() as u8;
    let precision = (whole.len() as u8 + scale).max(1);
    let value = Value::Decimal(Decimal { unscaled, scale });
    Ok(Expr::constant(value, SqlType::Decimal { precision, scale }))
}

/// A literal with an exponent.
pub fn double(v: f64) -> Expr {
    Expr::constant(Value::Double(v), SqlType::Double)
}

/// A string literal in the connection's (or the introducer's) collation.
pub fn string(bytes: &[u8], collation: Collation) -> Expr {
    let len =
        if collation == Collation::Binary { bytes.len() } else { bytes.iter().filter(|&&b| b & 0xC0 != 0x80).count() };
    Expr::constant(Value::Bytes(bytes.into()), super::string_type(len as u32, collation))
}

/// `x'..'`, `0x..`: a binary string; in arithmetic the builder reads it as a big-endian BIGINT UNSIGNED.
pub fn hex(bytes: &[u8]) -> Expr {
    string(bytes, Collation::Binary)
}

/// `b'..'`, `0b..`.
pub fn bit(bytes: &[u8]) -> Expr {
    string(bytes, Collation::Binary)
}

/// `DATE '..'`, `TIME '..'`, `TIMESTAMP '..'`: 1525 if the text is not such a value. `ty` names the kind; its `fsp` is
/// taken from the text.
pub fn temporal(text: &str, ty: SqlType) -> Result<Expr> {
    super::temporal::literal(text, ty)
}
