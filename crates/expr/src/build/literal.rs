//! Literals and their types.

use crate::functions::HEX_LITERAL;
use crate::{Expr, ExprKind, Function};
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

/// A literal of digits with at most one point: `1.50` is DECIMAL(3,2), an integer beyond 64 bits DECIMAL(n,0). More
/// than 65 digits make a DOUBLE, as in MySQL more digits than DECIMAL has are not exact.
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

/// `x'..'`, `0x..`: a binary string, and where a number is wanted a big-endian BIGINT UNSIGNED. The mark lasts as long
/// as the literal itself is looked at: what is made of it (a column, a variable) is a string.
///
/// MySQL manual, "Hexadecimal Literals".
pub fn hex(bytes: &[u8]) -> Expr {
    let text = string(bytes, Collation::Binary);
    let ty = text.ty;
    Expr::new(ExprKind::Call { function: Function::new(&HEX_LITERAL), args: vec![text] }, ty, false)
}

/// `b'..'`, `0b..`.
pub fn bit(bytes: &[u8]) -> Expr {
    hex(bytes)
}

/// Whether it is a literal of [`hex`] or [`bit`].
pub(super) fn is_hex(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Call { function, .. } if function.is_hex_literal())
}

/// A hexadecimal literal as the string that it is; anything else as it is.
pub fn plain(e: Expr) -> Expr {
    match e.kind {
        ExprKind::Call { function, mut args } if function.is_hex_literal() && args.len() == 1 => {
            args.pop().expect("one argument")
        }
        kind => Expr { kind, ..e },
    }
}

/// A hexadecimal literal as the number that its last eight bytes are; anything else as it is.
pub(super) fn hex_as_number(e: Expr) -> Expr {
    match hex_bytes(&e) {
        Some(b) => {
            let v = b[b.len().saturating_sub(8)..].iter().fold(0u64, |v, &x| v << 8 | x as u64);
            Expr::constant(Value::UInt(v), SqlType::BIGINT_UNSIGNED)
        }
        None => e,
    }
}

/// What is stored in a column of type `ty`: a hexadecimal literal is a number there if the column is one, and one of
/// more than eight bytes is out of range. Quotients are stored with as many of their digits as there is room for.
pub fn assigned(e: Expr, ty: &SqlType) -> Expr {
    match hex_bytes(&e) {
        Some(b) if ty.is_numeric() && b.len() > 8 => {
            let unscaled = I256::from(u64::MAX as i128 + 1);
            Expr::constant(Value::Decimal(Decimal { unscaled, scale: 0 }), SqlType::Decimal { precision: 20, scale: 0 })
        }
        Some(_) => for_type(e, ty),
        None => super::digits::unrounded(e),
    }
}

/// A hexadecimal literal as what a conversion to `ty` begins with.
pub(super) fn for_type(e: Expr, ty: &SqlType) -> Expr {
    if ty.is_numeric() { hex_as_number(e) } else { plain(e) }
}

fn hex_bytes(e: &Expr) -> Option<&[u8]> {
    match &e.kind {
        ExprKind::Call { function, args } if function.is_hex_literal() => match args[0].as_const() {
            Some(Value::Bytes(b)) => Some(b),
            _ => None,
        },
        _ => None,
    }
}

/// `DATE '..'`, `TIME '..'`, `TIMESTAMP '..'`: 1525 if the text is not such a value. `ty` names the kind; its `fsp` is
/// taken from the text.
pub fn temporal(text: &str, ty: SqlType) -> Result<Expr> {
    super::temporal::literal(text, ty)
}
