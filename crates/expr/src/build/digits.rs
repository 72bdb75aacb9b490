//! Digits of quotients and averages beyond those that their types show.
//!
//! MySQL's division makes the fraction in groups of nine digits; the type of the quotient, and what a client sees, has
//! div_precision_increment more than the dividend. Whatever computes on with the quotient as a number takes it as it
//! is: `1/3*3` is 1.0000 though `1/3` is 0.3333, `ROUND(AVG(x), 2)` rounds once, and a column of six digits gets six of
//! them. Strings are made of the digits shown.
//!
//! Such an expression is a bare quotient, or [ROUND_TO_SCALE] over the exact one; [`unrounded`]
//! takes the latter out again.
//!
//! Source: MySQL manual, "Precision Math" and "Arithmetic Operators".

use super::common::scale_of;
use super::implicit_cast;
use crate::functions::ROUND_TO_SCALE;
use crate::{ArithOp, Expr, ExprKind, Function};
use types::{Result, SqlType};

/// Decimal digits come in groups of so many.
const GROUP: u32 = 9;
/// The most digits behind the point.
const SCALE_MAX: u32 = 30;
const PRECISION_MAX: u8 = 65;

/// The number with all its digits.
pub(crate) fn unrounded(e: Expr) -> Expr {
    match (e.kind, e.ty) {
        (ExprKind::Call { function, mut args }, _) if function.is_rounding() && args.len() == 1 => {
            args.pop().expect("one argument")
        }
        (ExprKind::Arith { op: ArithOp::Div, left, right }, ty @ SqlType::Decimal { .. }) => {
            let ty = quotient_type(scale_of(&left.ty), scale_of(&right.ty), ty);
            Expr::new(ExprKind::Arith { op: ArithOp::Div, left, right }, ty, e.nullable)
        }
        (ExprKind::Neg(inner), SqlType::Decimal { .. }) => {
            let inner = unrounded(*inner);
            let ty = inner.ty;
            Expr::new(ExprKind::Neg(inner.into()), ty, e.nullable)
        }
        (kind, ty) => Expr { kind, ty, nullable: e.nullable },
    }
}

/// The type of all digits of a quotient whose operands have these scales, and which is shown as `shown`.
pub(super) fn quotient_type(dividend: u8, divisor: u8, shown: SqlType) -> SqlType {
    let SqlType::Decimal { precision, scale } = shown else { return shown };
    let (l, r) = (u32::from(dividend), u32::from(divisor));
    let up = |n: u32| n.next_multiple_of(GROUP);
    // what div_precision_increment added, less what the operands' groups hold anyway
    let more = u32::from(scale).saturating_sub(l).saturating_sub(up(l) - l + up(r) - r);
    let full = up(up(l) + up(r) + more).min(SCALE_MAX).max(scale.into()) as u8;
    let precision = (precision + (full - scale)).min(PRECISION_MAX).max(full);
    SqlType::Decimal { precision, scale: full }
}

/// The expression has more digits than its type shows.
fn has_more(e: &Expr) -> bool {
    match (&e.kind, e.ty) {
        (ExprKind::Call { function, .. }, _) => function.is_rounding(),
        (ExprKind::Arith { op: ArithOp::Div, .. }, SqlType::Decimal { .. }) => true,
        (ExprKind::Neg(inner), SqlType::Decimal { .. }) => has_more(inner),
        _ => false,
    }
}

/// `exact` as the type that is shown.
pub fn rounded(exact: Expr, shown: SqlType) -> Expr {
    if exact.ty == shown {
        return exact;
    }
    let nullable = exact.nullable;
    let function = Function::new(&ROUND_TO_SCALE);
    Expr::new(ExprKind::Call { function, args: vec![exact] }, shown, nullable)
}

/// What a scalar subquery selects, with all digits; `None`: it has no more than its type shows.
pub fn all_digits(e: &Expr) -> Option<Expr> {
    has_more(e).then(|| unrounded(e.clone()))
}

/// Builds an expression of arguments that it takes as numbers: its type is what it would be of the digits shown, its
/// value that of all digits.
pub(super) fn of_all_digits(args: Vec<Expr>, build: impl Fn(Vec<Expr>) -> Result<Expr>) -> Result<Expr> {
    if !args.iter().any(has_more) {
        return build(args);
    }
    let shown = build(args.clone())?;
    if !shown.ty.is_numeric() {
        return Ok(shown);
    }
    let exact = build(args.into_iter().map(unrounded).collect())?;
    Ok(match shown.ty {
        ty @ SqlType::Decimal { .. } => rounded(exact, ty),
        ty => implicit_cast(exact, ty),
    })
}
