//! Comparisons of vectors.

use super::exact::{Exact, Lane};
use super::tri::and_validity;
use super::{Pred, Tri};
use crate::CmpOp;
use crate::kernels::{fixed, strings};
use std::cmp::Ordering;
use types::{Collation, Result, SqlType};
use vector::{Bitmap, Selection, Values, Vector};

/// `a op b` as `b flipped a`.
pub(crate) fn flip(op: CmpOp) -> CmpOp {
    match op {
        CmpOp::Lt => CmpOp::Gt,
        CmpOp::Le => CmpOp::Ge,
        CmpOp::Gt => CmpOp::Lt,
        CmpOp::Ge => CmpOp::Le,
        other => other,
    }
}

#[inline]
pub(crate) fn holds(op: CmpOp, o: Ordering) -> bool {
    match op {
        CmpOp::Eq | CmpOp::NullSafeEq => o.is_eq(),
        CmpOp::Ne => o.is_ne(),
        CmpOp::Lt => o.is_lt(),
        CmpOp::Le => o.is_le(),
        CmpOp::Gt => o.is_gt(),
        CmpOp::Ge => o.is_ge(),
    }
}

/// `l op r` at the selected positions.
pub(crate) fn compare(
    op: CmpOp,
    l: &Vector,
    lty: &SqlType,
    r: &Vector,
    rty: &SqlType,
    rows: usize,
    sel: &Selection,
) -> Result<Pred> {
    match (l, r) {
        (Vector::Const(a), Vector::Const(b)) => {
            let (a_null, b_null) = (!a.is_valid(0), !b.is_valid(0));
            if a_null || b_null {
                return Ok(Pred::Const((op == CmpOp::NullSafeEq).then_some(a_null && b_null)));
            }
            let truth = truth_bits(op, l, lty, r, rty, 1, &Selection::All);
            return Ok(Pred::Const(Some(truth.get(0))));
        }
        // The constant goes to the right.
        (Vector::Const(_), Vector::Flat(_)) => return compare(flip(op), r, rty, l, lty, rows, sel),
        _ => {}
    }
    if let Vector::Const(c) = r
        && !c.is_valid(0)
    {
        return Ok(match op {
            CmpOp::NullSafeEq => super::logic::is_null(l, rows),
            _ => Pred::Const(None),
        });
    }
    let truth = truth_bits(op, l, lty, r, rty, rows, sel);
    let (lv, rv) = (validity(l), validity(r));
    if op == CmpOp::NullSafeEq {
        let mut truth = truth;
        if let Some(v) = lv {
            truth.and(v);
        }
        if let Some(v) = rv {
            truth.and(v);
        }
        if let (Some(a), Some(b)) = (lv, rv) {
            // Both NULL.
            let n = truth.len();
            for ((t, a), b) in truth.words_mut().iter_mut().zip(a.words()).zip(b.words()) {
                *t |= !(a | b);
            }
            truth.resize(n);
        }
        return Ok(Pred::Rows(Tri { truth, known: None }));
    }
    Ok(Pred::Rows(Tri::new(truth, and_validity(lv.cloned(), rv))))
}

fn validity(v: &Vector) -> Option<&Bitmap> {
    match v {
        Vector::Flat(c) => c.validity.as_ref(),
        Vector::Const(_) => None,
    }
}

/// Calls `$body` with the two slices if both arrays have the same fixed type.
macro_rules! same_type {
    ($l:expr, $r:expr, |$a:ident, $b:ident| $body:expr) => {
        match ($l, $r) {
            (Values::I8($a), Values::I8($b)) => Some($body),
            (Values::U8($a), Values::U8($b)) => Some($body),
            (Values::I16($a), Values::I16($b)) => Some($body),
            (Values::U16($a), Values::U16($b)) => Some($body),
            (Values::I32($a), Values::I32($b)) => Some($body),
            (Values::U32($a), Values::U32($b)) => Some($body),
            (Values::I64($a), Values::I64($b)) => Some($body),
            (Values::U64($a), Values::U64($b)) => Some($body),
            (Values::I128($a), Values::I128($b)) => Some($body),
            (Values::I256($a), Values::I256($b)) => Some($body),
            (Values::F32($a), Values::F32($b)) => Some($body),
            (Values::F64($a), Values::F64($b)) => Some($body),
            _ => None,
        }
    };
}

/// The result bits, NULLs not considered. `l` is flat unless `rows` is 1.
fn truth_bits(op: CmpOp, l: &Vector, lty: &SqlType, r: &Vector, rty: &SqlType, rows: usize, sel: &Selection) -> Bitmap {
    let mut out = Bitmap::zeros(rows);
    let ((lc, _), (rc, r_const)) = (l.chunk(), r.chunk());
    if lty.is_string() {
        let collation = lty.collation().unwrap_or(Collation::Binary);
        strings::compare(op, collation, l, r, rows, sel, &mut out);
        return out;
    }
    let same_scale = scale(lty) == scale(rty);
    if same_scale {
        let done = same_type!(&lc.values, &rc.values, |a, b| {
            if r_const {
                fixed::compare_const(op, a, b[0], out.words_mut());
            } else {
                fixed::compare_pairs(op, a, b, out.words_mut());
            }
        });
        if done.is_some() {
            return out;
        }
    }
    if r_const && compare_narrowed(op, &lc.values, lty, r, rty, &mut out) {
        return out;
    }
    if matches!(lc.values, Values::F32(_) | Values::F64(_)) || matches!(rc.values, Values::F32(_) | Values::F64(_)) {
        let (a, b) = (doubles(l), doubles(r));
        match b.len() {
            1 if rows != 1 => fixed::compare_const(op, &a, b[0], out.words_mut()),
            _ => fixed::compare_pairs(op, &a, &b, out.words_mut()),
        }
        return out;
    }
    let (mut a, mut b) = (Exact::new(l, lty), Exact::new(r, rty));
    let to = a.scale.max(b.scale);
    if !(a.scaled_up(to) && b.scaled_up(to)) {
        for i in 0..rows {
            let o = a.decimal(i).cmp_value(&b.decimal(i));
            out.set(i, holds(op, o));
        }
        return out;
    }
    match (&a.lane, &b.lane) {
        (Lane::I64(x), Lane::I64(y)) if b.constant => fixed::compare_const(op, x, y[0], out.words_mut()),
        (Lane::I64(x), Lane::I64(y)) => fixed::compare_pairs(op, x, y, out.words_mut()),
        _ => match (a.to_i128(), b.to_i128()) {
            (Some(x), Some(y)) if b.constant => fixed::compare_const(op, &x, y[0], out.words_mut()),
            (Some(x), Some(y)) => fixed::compare_pairs(op, &x, &y, out.words_mut()),
            _ => {
                for i in 0..rows {
                    out.set(i, holds(op, a.get(i).cmp(&b.get(i))));
                }
            }
        },
    }
    out
}

fn scale(ty: &SqlType) -> u8 {
    if let SqlType::Decimal { scale, .. } = ty { *scale } else { 0 }
}

fn doubles(v: &Vector) -> Vec<f64> {
    match &v.chunk().0.values {
        Values::F32(v) => v.iter().map(|&x| x as f64).collect(),
        Values::F64(v) => v.clone(),
        other => vec![0.0; other.len()],
    }
}

/// The integer that stands for a constant among `ty`'s; `None` if there may be none.
fn constant_as(ty: &SqlType, r: &Vector, rty: &SqlType) -> Option<i128> {
    if matches!(r.chunk().0.values, Values::F32(_) | Values::F64(_) | Values::Str(_) | Values::Dict(_)) {
        return None;
    }
    let up = scale(ty).checked_sub(scale(rty))?;
    Exact::new(r, rty).get(0).to_i128()?.checked_mul(10i128.checked_pow(up.into())?)
}

/// An integer array against a constant of another integer type or scale: the constant is brought into the array's type,
/// or lies beyond all its values.
fn compare_narrowed(op: CmpOp, values: &Values, lty: &SqlType, r: &Vector, rty: &SqlType, out: &mut Bitmap) -> bool {
    if matches!(values, Values::F32(_) | Values::F64(_) | Values::I256(_) | Values::Str(_) | Values::Dict(_)) {
        return false;
    }
    let Some(c) = constant_as(lty, r, rty) else { return false };
    macro_rules! run {
        ($v:expr, $t:ty) => {{
            match <$t>::try_from(c) {
                Ok(c) => fixed::compare_const(op, $v, c, out.words_mut()),
                Err(_) => {
                    // Every value is below (or above) the constant.
                    let o = if c > 0 { Ordering::Less } else { Ordering::Greater };
                    if holds(op, o) {
                        *out = Bitmap::ones(out.len());
                    }
                }
            }
            true
        }};
    }
    match values {
        Values::I8(v) => run!(v, i8),
        Values::U8(v) => run!(v, u8),
        Values::I16(v) => run!(v, i16),
        Values::U16(v) => run!(v, u16),
        Values::I32(v) => run!(v, i32),
        Values::U32(v) => run!(v, u32),
        Values::I64(v) => run!(v, i64),
        Values::U64(v) => run!(v, u64),
        Values::I128(v) => run!(v, i128),
        _ => false,
    }
}

/// The positions of `sel` at which `l op r`, for a fixed-width column against a constant.
pub(crate) fn select(op: CmpOp, l: &Vector, lty: &SqlType, r: &Vector, rty: &SqlType, sel: &[u16]) -> Option<Vec<u16>> {
    let (Vector::Flat(a), Vector::Const(b)) = (l, r) else { return None };
    if !b.is_valid(0) || lty.is_string() {
        return None;
    }
    let mut out = Vec::new();
    let same = if scale(lty) == scale(rty) {
        same_type!(&a.values, &b.values, |x, y| fixed::select_const(op, x, y[0], sel, &mut out))
    } else {
        None
    };
    if same.is_none() {
        let c = constant_as(lty, r, rty)?;
        macro_rules! run {
            ($v:expr, $t:ty) => {
                fixed::select_const(op, $v, <$t>::try_from(c).ok()?, sel, &mut out)
            };
        }
        match &a.values {
            Values::I8(v) => run!(v, i8),
            Values::I16(v) => run!(v, i16),
            Values::I32(v) => run!(v, i32),
            Values::I64(v) => run!(v, i64),
            Values::U8(v) => run!(v, u8),
            Values::U16(v) => run!(v, u16),
            Values::U32(v) => run!(v, u32),
            Values::U64(v) => run!(v, u64),
            _ => return None,
        }
    }
    if let Some(valid) = &a.validity {
        out.retain(|&i| valid.get(i as usize));
    }
    Some(out)
}
