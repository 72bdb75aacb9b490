//! Whether a tree fits together: kernels index arrays of the kinds that their arguments' types promise.
//!
//! The builder makes no other trees. What comes from elsewhere (a rewrite of the optimizer, a column under a wrong
//! type) is an internal error that names the expression, not a panic and not a wrong value:
//!
//! 1. [`of_expr`]: when an expression is compiled, each node's arguments are of the kinds that its kernel reads.
//! 2. [`of_vector`]: once a batch, what comes out of a column or a function is of the kind of its type.
//!
//! So by induction every vector that a kernel sees has the kind of its type. A kind is what arrays differ in for a
//! kernel: whole numbers of any width (DECIMALs and packed temporal values among them), floating ones, strings.

use crate::{Expr, ExprKind, Function, kernels};
use types::{Error, Result, SqlType};
use vector::{Values, Vector};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Whole,
    Floating,
    Strings,
    /// NULL: fits all.
    Any,
}

impl Kind {
    fn of(ty: &SqlType) -> Kind {
        match ty {
            SqlType::Null => Kind::Any,
            SqlType::Float | SqlType::Double => Kind::Floating,
            SqlType::String { .. } => Kind::Strings,
            _ => Kind::Whole,
        }
    }

    fn fits(self, other: Kind) -> bool {
        self == other || self == Kind::Any || other == Kind::Any
    }
}

fn is_null(e: &Expr) -> bool {
    e.as_const().is_some_and(|v| v.is_null())
}

/// The arguments of a node are of kinds that its kernel takes.
pub(super) fn of_expr(e: &Expr) -> Result<()> {
    let kind = |e: &Expr| if is_null(e) { Kind::Any } else { Kind::of(&e.ty) };
    let same = |a: &Expr, b: &Expr| kind(a).fits(kind(b));
    let to_result = |a: &Expr| kind(a).fits(Kind::of(&e.ty));
    let number = |a: &Expr| kind(a) != Kind::Strings;
    let strings = |a: &Expr| kind(a).fits(Kind::Strings);
    let fits = match &e.kind {
        ExprKind::Compare { left, right, .. } => same(left, right),
        ExprKind::Like { expr, pattern, .. } => strings(expr) && strings(pattern),
        ExprKind::InList { expr, list, .. } => list.iter().all(|item| same(expr, item)),
        ExprKind::InSet { expr, set, .. } => kind(expr).fits(Kind::of(&set.ty())),
        ExprKind::Arith { left, right, .. } => number(left) && number(right) && Kind::of(&e.ty) != Kind::Strings,
        ExprKind::Neg(a) | ExprKind::BitNot(a) => number(a) && Kind::of(&e.ty) != Kind::Strings,
        ExprKind::Case { branches, otherwise } => {
            branches.iter().all(|(_, then)| to_result(then)) && otherwise.as_deref().is_none_or(to_result)
        }
        ExprKind::SetUserVar { expr, .. } => to_result(expr),
        ExprKind::Call { function, args } => of_call(*function, args, &e.ty),
        _ => true,
    };
    if fits { Ok(()) } else { Err(mistyped(&kernels::show(e))) }
}

/// The arguments of a call are what the letters of its record say.
fn of_call(function: Function, args: &[Expr], ty: &SqlType) -> bool {
    let record = function.record();
    let letters = record.args.as_bytes();
    let fits = |(i, e): (usize, &Expr)| {
        if is_null(e) || e.ty == SqlType::Null {
            return true;
        }
        match letters.get(i).or(letters.last()) {
            Some(b's') => e.ty.is_string(),
            Some(b'd') => Kind::of(&e.ty) == Kind::Floating,
            Some(b'i' | b'p' | b'u') => Kind::of(&e.ty) == Kind::Whole,
            Some(b'e' | b'T' | b't') => e.ty.is_temporal(),
            Some(b'n') => !e.ty.is_string(),
            Some(b'c') => Kind::of(&e.ty).fits(Kind::of(ty)),
            Some(b'm') => e.ty.is_temporal() || e.ty.is_string(),
            _ => true,
        }
    };
    let counted = args.len() >= record.args_min && args.len() <= record.args_max;
    counted && args.iter().enumerate().all(fits)
}

/// The array is of the kind of the type; else the expression is told of.
#[inline]
pub(super) fn of_vector(v: &Vector, ty: &SqlType, expression: impl FnOnce() -> String) -> Result<()> {
    let kind = match v.chunk().0.values {
        Values::Str(_) | Values::Dict(_) => Kind::Strings,
        Values::F32(_) | Values::F64(_) => Kind::Floating,
        _ => Kind::Whole,
    };
    if kind.fits(Kind::of(ty)) || matches!(v, Vector::Const(c) if !c.is_valid(0)) {
        return Ok(());
    }
    Err(mistyped(&format!("{} as {ty}, which holds {kind:?}", expression())))
}

fn mistyped(expression: &str) -> Error {
    Error::internal(format_args!("a mistyped expression: {expression}"))
}
