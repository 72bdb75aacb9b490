//! Precision and scale of exact results, by operation: MySQL's manual, "Arithmetic Operators" and "Aggregate Function
//! Descriptions". The division's extra digits are `div_precision_increment`, 4 unless the session says otherwise.

use super::{MAX_PRECISION, MAX_SCALE};
use crate::{IntSize, SqlType};

/// Default of `div_precision_increment`.
pub const DIV_PRECISION_INCREMENT: u8 = 4;

/// (precision, scale) of an exact operand.
pub type Digits = (u8, u8);

const fn cap(precision: u32, scale: u32) -> Digits {
    let scale = if scale > MAX_SCALE as u32 { MAX_SCALE as u32 } else { scale };
    let precision = if precision > MAX_PRECISION as u32 { MAX_PRECISION as u32 } else { precision };
    (
        if precision < scale {
            scale as u8
        } else if precision == 0 {
            1
        } else {
            precision as u8
        },
        scale as u8,
    )
}

const fn max(a: u8, b: u8) -> u32 {
    if a > b { a as u32 } else { b as u32 }
}

/// The digits of an exact type seen as DECIMAL; None for other types.
pub const fn digits_of(ty: &SqlType) -> Option<Digits> {
    match ty {
        SqlType::Decimal { precision, scale } => Some((*precision, *scale)),
        SqlType::Int { size, unsigned } => Some((int_precision(*size, *unsigned), 0)),
        SqlType::Bool => Some((1, 0)),
        SqlType::Year => Some((4, 0)),
        _ => None,
    }
}

/// Decimal digits of an integer type.
pub const fn int_precision(size: IntSize, unsigned: bool) -> u8 {
    match size {
        IntSize::I8 => 3,
        IntSize::I16 => 5,
        IntSize::I24 => {
            if unsigned {
                8
            } else {
                7
            }
        }
        IntSize::I32 => 10,
        IntSize::I64 => {
            if unsigned {
                20
            } else {
                19
            }
        }
    }
}

/// `a + b`, `a - b`: the larger scale, the larger integer part plus a carry digit.
pub const fn add(a: Digits, b: Digits) -> Digits {
    let scale = max(a.1, b.1);
    cap(max(a.0 - a.1, b.0 - b.1) + 1 + scale, scale)
}

/// `a * b`.
pub const fn mul(a: Digits, b: Digits) -> Digits {
    cap(a.0 as u32 + b.0 as u32, a.1 as u32 + b.1 as u32)
}

/// `a / b`.
pub const fn div(a: Digits, b: Digits, increment: u8) -> Digits {
    cap(a.0 as u32 + b.1 as u32 + increment as u32, a.1 as u32 + increment as u32)
}

/// `a MOD b`.
pub const fn rem(a: Digits, b: Digits) -> Digits {
    cap(max(a.0 - a.1, b.0 - b.1) + max(a.1, b.1), max(a.1, b.1))
}

/// `SUM(a)`.
pub const fn sum(a: Digits) -> Digits {
    cap(a.0 as u32 + 22, a.1 as u32)
}

/// `AVG(a)`.
pub const fn avg(a: Digits, increment: u8) -> Digits {
    cap(a.0 as u32 + increment as u32, a.1 as u32 + increment as u32)
}

/// The digits that hold every value of both: CASE, COALESCE, UNION.
pub const fn union(a: Digits, b: Digits) -> Digits {
    let scale = max(a.1, b.1);
    cap(max(a.0 - a.1, b.0 - b.1) + scale, scale)
}
