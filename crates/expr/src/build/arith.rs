//! Arithmetic and bit operators: result types, and the conversions of their operands.
//!
//! ```text
//!            integers        a DECIMAL and exact numbers                a DOUBLE, FLOAT or string
//! + - *      BIGINT          scale max(s1,s2), for * s1+s2              DOUBLE
//! /          DECIMAL         scale s1 + div_precision_increment         DOUBLE
//! DIV        BIGINT          BIGINT                                     BIGINT
//! %          BIGINT          scale max(s1,s2)                           DOUBLE
//! & | ^ ~ << >>              BIGINT UNSIGNED
//! ```
//! A BIGINT result is UNSIGNED if an operand is (for `%`: if the left one is). Temporal values count as the numbers
//! YYYYMMDD, HHMMSS and YYYYMMDDHHMMSS with their fraction.

use super::common::{decimal_type, scale_of, whole_digits};
use super::digits::{rounded, unrounded};
use super::implicit_cast;
use super::literal::{hex_as_number, is_hex};
use crate::{ArithOp, Expr, ExprKind, SessionInfo};
use types::{Error, Result, SqlType, Value};

/// `l op r`.
pub fn arith(op: ArithOp, l: Expr, r: Expr, session: &SessionInfo) -> Result<Expr> {
    use ArithOp::*;
    scalar(&l)?;
    scalar(&r)?;
    if matches!(op, BitAnd | BitOr | BitXor | Shl | Shr) {
        return bits(op, l, r);
    }
    let (l, r) = (numeric(l), numeric(r));
    let inexact = |e: &Expr| matches!(e.ty, SqlType::Double);
    let division = matches!(op, Div | IntDiv | Mod);
    let nullable = l.nullable || r.nullable || (division && !is_nonzero_const(&r));
    let ty = if op == IntDiv {
        SqlType::Int { size: types::IntSize::I64, unsigned: l.ty.is_unsigned() || r.ty.is_unsigned() }
    } else if inexact(&l) || inexact(&r) {
        let (l, r) = (implicit_cast(l, SqlType::Double), implicit_cast(r, SqlType::Double));
        return Ok(node(op, l, r, SqlType::Double, nullable));
    } else {
        let declared = exact_type(op, &l, &r, session);
        if declared.is_integer() {
            return Ok(node(op, l, r, declared, nullable));
        }
        // Quotients among the operands take part with the digits that division really yields.
        let (l, r) = (unrounded(l), unrounded(r));
        let inner = exact_type(op, &l, &r, session);
        if op == Div || scale_of(&inner) == scale_of(&declared) {
            return Ok(node(op, l, r, declared, nullable));
        }
        return Ok(rounded(node(op, l, r, inner, nullable), declared));
    };
    Ok(node(op, l, r, ty, nullable))
}

/// The result type of an operator on exact numbers.
fn exact_type(op: ArithOp, l: &Expr, r: &Expr, session: &SessionInfo) -> SqlType {
    use ArithOp::*;
    let ((lw, ls), (rw, rs)) = (decimal_shape(l), decimal_shape(r));
    let integers = l.ty.is_integer() && r.ty.is_integer();
    let either_unsigned = l.ty.is_unsigned() || r.ty.is_unsigned();
    let bigint = |unsigned| SqlType::Int { size: types::IntSize::I64, unsigned };
    match op {
        Add | Mul if integers => bigint(either_unsigned),
        Sub if integers => bigint(either_unsigned && !session.sql_mode.no_unsigned_subtraction),
        Mod if integers => bigint(l.ty.is_unsigned()),
        // The digit that a carry may need comes on top as long as there is room for it.
        Add | Sub => {
            let (whole, scale) = (lw.max(rw), ls.max(rs));
            decimal_type(if whole + scale < 65 { whole + 1 } else { whole }, scale)
        }
        Mul => {
            let precision = (lw + ls + rw + rs).min(65);
            let scale = (ls + rs).min(30);
            SqlType::Decimal { precision: precision.max(scale).max(1) as u8, scale: scale as u8 }
        }
        Div => {
            let more = session.div_precision_increment as u32;
            let precision = (lw + ls + rs + more).clamp(1, 65);
            let scale = (ls + more).min(30);
            SqlType::Decimal { precision: precision.max(scale) as u8, scale: scale as u8 }
        }
        _ => decimal_type(lw.max(rw), ls.max(rs)),
    }
}

fn node(op: ArithOp, l: Expr, r: Expr, ty: SqlType, nullable: bool) -> Expr {
    Expr::new(ExprKind::Arith { op, left: l.into(), right: r.into() }, ty, nullable)
}

fn is_nonzero_const(e: &Expr) -> bool {
    match e.as_const() {
        Some(Value::Int(v)) => *v != 0,
        Some(Value::UInt(v)) => *v != 0,
        Some(Value::Double(v)) => *v != 0.0,
        Some(Value::Decimal(d)) => d.unscaled != types::I256::default(),
        _ => false,
    }
}

/// 1241 for rows where a scalar must stand.
pub(super) fn scalar(e: &Expr) -> Result<()> {
    match &e.kind {
        ExprKind::Row(_) => Err(Error::operand_columns(1)),
        _ => Ok(()),
    }
}

/// (digits before the point, digits after it) of an exact number; a constant counts its own digits.
pub(crate) fn decimal_shape(e: &Expr) -> (u32, u32) {
    match e.as_const() {
        Some(Value::Int(v)) => (v.unsigned_abs().checked_ilog10().map_or(1, |d| d + 1), 0),
        Some(Value::UInt(v)) => (v.checked_ilog10().map_or(1, |d| d + 1), 0),
        _ => (whole_digits(&e.ty) as u32, scale_of(&e.ty) as u32),
    }
}

/// The expression as a number: temporal values as digits, strings and FLOAT as DOUBLE, hexadecimal literals as BIGINT.
pub(super) fn numeric(e: Expr) -> Expr {
    match e.ty {
        SqlType::Null => Expr::constant(Value::Null, SqlType::BIGINT),
        SqlType::Date => implicit_cast(e, SqlType::BIGINT),
        SqlType::Time { fsp: 0 } | SqlType::DateTime { fsp: 0 } | SqlType::Timestamp { fsp: 0 } => {
            implicit_cast(e, SqlType::BIGINT)
        }
        SqlType::Time { fsp } => implicit_cast(e, SqlType::Decimal { precision: 7 + fsp, scale: fsp }),
        SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => {
            implicit_cast(e, SqlType::Decimal { precision: 14 + fsp, scale: fsp })
        }
        SqlType::Float => implicit_cast(e, SqlType::Double),
        SqlType::String { .. } if is_hex(&e) => hex_as_number(e),
        SqlType::String { .. } => implicit_cast(e, SqlType::Double),
        _ => e,
    }
}

/// Operators on binary strings make binary strings, where one is more than a literal. For shifts it is the left one.
fn bits(op: ArithOp, l: Expr, r: Expr) -> Result<Expr> {
    let both = is_bytes(&l) && is_bytes(&r) || is_bytes(&l) && is_hex(&r) || is_hex(&l) && is_bytes(&r);
    if both || matches!(op, ArithOp::Shl | ArithOp::Shr) && is_bytes(&l) {
        return Err(Error::not_supported("bit operations on binary strings"));
    }
    let (l, r) = (bits_operand(l), bits_operand(r));
    let nullable = l.nullable || r.nullable;
    Ok(node(op, l, r, SqlType::BIGINT_UNSIGNED, nullable))
}

/// A binary string that is no hexadecimal literal: MySQL's bit functions work on its bytes.
pub(crate) fn is_bytes(e: &Expr) -> bool {
    e.ty.collation() == Some(types::Collation::Binary) && !is_hex(e)
}

/// BIGINT UNSIGNED; a negative integer keeps its 64 bits.
pub(crate) fn bits_operand(e: Expr) -> Expr {
    let e = numeric(e);
    if e.ty.is_integer() { e } else { implicit_cast(e, SqlType::BIGINT) }
}

/// `-e`
pub fn neg(e: Expr) -> Result<Expr> {
    scalar(&e)?;
    match e.as_const() {
        Some(Value::Int(v)) if *v != i64::MIN => {
            let v = -*v;
            return Ok(Expr::constant(Value::Int(v), e.ty));
        }
        Some(Value::UInt(v)) if *v == 1 << 63 => return Ok(Expr::constant(Value::Int(i64::MIN), SqlType::BIGINT)),
        Some(Value::UInt(v)) if *v > 1 << 63 => {
            let value = types::Decimal { unscaled: types::I256::from(-(*v as i128)), scale: 0 };
            return Ok(Expr::constant(Value::Decimal(value), SqlType::Decimal { precision: 20, scale: 0 }));
        }
        Some(Value::Decimal(d)) if types::I256::from(d.unscaled.lo as i128) == d.unscaled => {
            let value = types::Decimal { unscaled: types::I256::from(-(d.unscaled.lo as i128)), scale: d.scale };
            return Ok(Expr::constant(Value::Decimal(value), e.ty));
        }
        Some(Value::Double(v)) => return Ok(Expr::constant(Value::Double(-v), SqlType::Double)),
        _ => {}
    }
    let e = numeric(e);
    let ty = if e.ty.is_integer() { SqlType::BIGINT } else { e.ty };
    let nullable = e.nullable;
    Ok(Expr::new(ExprKind::Neg(e.into()), ty, nullable))
}

/// `~e`
pub fn bit_not(e: Expr) -> Result<Expr> {
    scalar(&e)?;
    if is_bytes(&e) {
        return Err(Error::not_supported("bit operations on binary strings"));
    }
    let e = bits_operand(e);
    let nullable = e.nullable;
    Ok(Expr::new(ExprKind::BitNot(e.into()), SqlType::BIGINT_UNSIGNED, nullable))
}
