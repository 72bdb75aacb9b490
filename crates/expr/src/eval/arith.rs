//! Arithmetic: which lane, which loop, which error.
//!
//! The range of the result is computed from the ranges of the operands. If it fits 64 bits the loop is a plain 64-bit
//! loop over all positions; if it fits 128 bits, a 128-bit one; otherwise each selected row is computed by
//! [`types::Decimal`], which knows when 65 digits are not enough. BIGINT results outside their type are error 1690.

use super::exact::{Exact, Lane, fits_i64, type_bounds};
use super::node::{Cx, Node};
use super::tri::and_validity;
use crate::ArithOp;
use crate::kernels::{self, fixed};
use std::borrow::Cow;
use types::{Decimal, Error, I256, PhysType, Result, SqlType};
use vector::{Bitmap, Bounds, Chunk, Selection, Values, Vector};

/// Both operands' validity; `Err(())` if one is a NULL constant.
fn validity(l: &Vector, r: &Vector) -> Result<Option<Bitmap>, ()> {
    let one = |v: &Vector| match v {
        Vector::Const(c) if !c.is_valid(0) => Err(()),
        Vector::Const(_) => Ok(None),
        Vector::Flat(c) => Ok(c.validity.clone()),
    };
    let (a, b) = (one(l)?, one(r)?);
    Ok(and_validity(a, b.as_ref()))
}

/// `l op r`
pub(crate) fn arith(node: &Node, op: ArithOp, l: &Vector, r: &Vector, cx: &Cx, sel: &Selection) -> Result<Vector> {
    let Ok(valid) = validity(l, r) else { return Ok(kernels::null_vector(&node.ty)) };
    let constant = matches!((l, r), (Vector::Const(_), Vector::Const(_)));
    let all = Selection::All;
    let (rows, sel) = if constant { (1, &all) } else { (cx.rows, sel) };
    let job = Job { node, op, rows, sel, valid, cx };
    let chunk = match op {
        ArithOp::BitAnd | ArithOp::BitOr | ArithOp::BitXor | ArithOp::Shl | ArithOp::Shr => job.bits(l, r)?,
        _ if is_double(l) || is_double(r) => job.doubles(l, r)?,
        _ => job.exact(Exact::new(l, &node.args[0].ty), Exact::new(r, &node.args[1].ty))?,
    };
    Ok(if constant { Vector::Const(chunk.into()) } else { Vector::flat(chunk) })
}

fn is_double(v: &Vector) -> bool {
    matches!(v.chunk().0.values, Values::F64(_) | Values::F32(_))
}

struct Job<'a> {
    node: &'a Node,
    op: ArithOp,
    rows: usize,
    sel: &'a Selection,
    valid: Option<Bitmap>,
    cx: &'a Cx<'a>,
}

/// A double operand: a slice, or one value for all.
fn f64_lane<'a>(v: &'a Vector, ty: &SqlType) -> Cow<'a, [f64]> {
    match &v.chunk().0.values {
        Values::F64(v) => Cow::Borrowed(v),
        Values::F32(v) => Cow::Owned(v.iter().map(|&x| x as f64).collect()),
        _ => {
            let e = Exact::new(v, ty);
            Cow::Owned((0..e.len()).map(|i| e.decimal(i).to_f64()).collect())
        }
    }
}

impl Job<'_> {
    /// Calls `f` at the selected positions that are not NULL.
    fn try_each(&self, mut f: impl FnMut(usize) -> Result<()>) -> Result<()> {
        let ok = |i: usize| self.valid.as_ref().is_none_or(|v| v.get(i));
        match self.sel {
            Selection::All => (0..self.rows).filter(|&i| ok(i)).try_for_each(f),
            Selection::Some(s) => s.iter().map(|&i| i as usize).filter(|&i| ok(i)).try_for_each(&mut f),
        }
    }

    fn out_of_range(&self, kind: &str) -> Error {
        Error::data_out_of_range(kind, self.node.text.0.as_deref().unwrap_or("expression"))
    }

    fn integer_kind(&self) -> &'static str {
        match self.node.ty {
            SqlType::Decimal { .. } => "DECIMAL",
            t if t.is_unsigned() => "BIGINT UNSIGNED",
            _ => "BIGINT",
        }
    }

    fn division_by_zero(&self) -> Result<()> {
        if self.cx.ctx.session.sql_mode.error_for_division_by_zero {
            return self.cx.ctx.fault(Error::division_by_zero());
        }
        Ok(())
    }

    // --- doubles

    fn doubles(self, l: &Vector, r: &Vector) -> Result<Chunk> {
        let a = f64_lane(l, &self.node.args[0].ty);
        let b = f64_lane(r, &self.node.args[1].ty);
        let (ac, bc) = (a.len() == 1 && self.rows != 1, b.len() == 1 && self.rows != 1);
        let out = match self.op {
            ArithOp::Add => match (ac, bc) {
                (true, _) => fixed::add_f64_const(&b, a[0]),
                (_, true) => fixed::add_f64_const(&a, b[0]),
                _ => fixed::add_f64(&a, &b),
            },
            ArithOp::Sub => match (ac, bc) {
                (true, _) => fixed::const_sub_f64(a[0], &b),
                (_, true) => fixed::add_f64_const(&a, -b[0]),
                _ => fixed::sub_f64(&a, &b),
            },
            ArithOp::Mul => match (ac, bc) {
                (true, _) => fixed::mul_f64_const(&b, a[0]),
                (_, true) => fixed::mul_f64_const(&a, b[0]),
                _ => fixed::mul_f64(&a, &b),
            },
            _ => return self.divide_doubles(&a, &b),
        };
        if !fixed::all_finite(&out) {
            self.try_each(|i| if out[i].is_finite() { Ok(()) } else { Err(self.out_of_range("DOUBLE")) })?;
        }
        Ok(Chunk::new(Values::F64(out), self.valid))
    }

    fn divide_doubles(self, a: &[f64], b: &[f64]) -> Result<Chunk> {
        let at = |v: &[f64], i: usize| if v.len() == 1 { v[0] } else { v[i] };
        if self.op == ArithOp::IntDiv {
            let mut out = vec![0i128; self.rows];
            let mut nulls = self.valid.clone();
            self.try_each(|i| {
                let (x, y) = (at(a, i), at(b, i));
                if y == 0.0 {
                    clear(&mut nulls, self.rows, i);
                    return self.division_by_zero();
                }
                let q = match (Decimal::from_f64(x), Decimal::from_f64(y)) {
                    (Some(x), Some(y)) => x.int_div(&y).and_then(|q| q.to_i128()),
                    _ => Some((x / y).trunc() as i128),
                };
                out[i] = q.ok_or_else(|| self.out_of_range(self.integer_kind()))?;
                self.check_integer(out[i])
            })?;
            return Ok(Chunk::new(kernels::narrow_to(out, &self.node.ty)?, nulls));
        }
        let mut out = vec![0.0; self.rows];
        let mut nulls = self.valid.clone();
        self.try_each(|i| {
            let (x, y) = (at(a, i), at(b, i));
            if y == 0.0 {
                clear(&mut nulls, self.rows, i);
                return self.division_by_zero();
            }
            out[i] = if self.op == ArithOp::Mod { x % y } else { x / y };
            if out[i].is_finite() { Ok(()) } else { Err(self.out_of_range("DOUBLE")) }
        })?;
        Ok(Chunk::new(Values::F64(out), nulls))
    }

    // --- exact numbers

    fn exact(self, l: Exact, r: Exact) -> Result<Chunk> {
        match self.op {
            ArithOp::Add | ArithOp::Sub => self.add_sub(l, r),
            ArithOp::Mul => self.mul(l, r),
            _ => self.divide(l, r),
        }
    }

    fn add_sub(self, mut l: Exact, mut r: Exact) -> Result<Chunk> {
        let scale = l.scale.max(r.scale);
        let subtract = self.op == ArithOp::Sub;
        if scale != result_scale(&self.node.ty) || !(l.scaled_up(scale) && r.scaled_up(scale)) {
            return self.by_decimals(&l, &r);
        }
        let bounds = |l: &Exact, r: &Exact| -> Option<(i128, i128)> {
            let ((a, b), (c, d)) = (l.bounds?, r.bounds?);
            if subtract {
                Some((a.checked_sub(d)?, b.checked_sub(c)?))
            } else {
                Some((a.checked_add(c)?, b.checked_add(d)?))
            }
        };
        let mut range = bounds(&l, &r);
        if range.is_none_or(|b| !fits_i64(b)) {
            l.tighten();
            r.tighten();
            range = bounds(&l, &r);
        }
        let Some(range) = range else { return self.by_decimals(&l, &r) };
        if let (Lane::I64(a), Lane::I64(b)) = (&l.lane, &r.lane)
            && fits_i64(range)
        {
            let out = match (l.constant && self.rows != 1, r.constant && self.rows != 1, subtract) {
                (true, _, false) => fixed::add_i64_const(b, a[0]),
                (true, _, true) => fixed::const_sub_i64(a[0], b),
                (_, true, false) => fixed::add_i64_const(a, b[0]),
                (_, true, true) if b[0] != i64::MIN => fixed::add_i64_const(a, -b[0]),
                (_, true, true) => a.iter().map(|x| x.wrapping_sub(b[0])).collect(),
                (_, _, false) => fixed::add_i64(a, b),
                (_, _, true) => fixed::sub_i64(a, b),
            };
            return self.finish_i64(out, range);
        }
        let (Some(a), Some(b)) = (l.to_i128(), r.to_i128()) else { return self.by_decimals(&l, &r) };
        let out = if subtract {
            fixed::zip_i128(&a, &b, i128::wrapping_sub)
        } else {
            fixed::zip_i128(&a, &b, i128::wrapping_add)
        };
        self.finish_i128(out, range)
    }

    fn mul(self, mut l: Exact, mut r: Exact) -> Result<Chunk> {
        if l.scale + r.scale != result_scale(&self.node.ty) {
            return self.by_decimals(&l, &r);
        }
        let bounds = |l: &Exact, r: &Exact| -> Option<(i128, i128)> {
            let ((a, b), (c, d)) = (l.bounds?, r.bounds?);
            let p = [a.checked_mul(c)?, a.checked_mul(d)?, b.checked_mul(c)?, b.checked_mul(d)?];
            Some((p.into_iter().fold(i128::MAX, i128::min), p.into_iter().fold(i128::MIN, i128::max)))
        };
        let mut range = bounds(&l, &r);
        if range.is_none_or(|b| !fits_i64(b)) {
            l.tighten();
            r.tighten();
            range = bounds(&l, &r);
        }
        let Some(range) = range else { return self.by_decimals(&l, &r) };
        if let (Lane::I64(a), Lane::I64(b)) = (&l.lane, &r.lane) {
            if fits_i64(range) {
                let out = match (l.constant && self.rows != 1, r.constant && self.rows != 1) {
                    (true, _) => fixed::mul_i64_const(b, a[0]),
                    (_, true) => fixed::mul_i64_const(a, b[0]),
                    _ => fixed::mul_i64(a, b),
                };
                return self.finish_i64(out, range);
            }
            if a.len() == b.len() {
                return self.finish_i128(fixed::mul_i64_wide(a, b), range);
            }
        }
        let (Some(a), Some(b)) = (l.to_i128(), r.to_i128()) else { return self.by_decimals(&l, &r) };
        let out = fixed::zip_i128(&a, &b, i128::wrapping_mul);
        self.finish_i128(out, range)
    }

    /// Whether every number of the range is of the result's type.
    fn range_is_safe(&self, range: (i128, i128)) -> bool {
        match self.node.ty {
            SqlType::Decimal { precision, .. } => {
                // The precision of the result type was derived from the operands'; only the cap of 65 can cut it.
                let _ = precision;
                true
            }
            ref t => type_bounds(t).is_some_and(|(lo, hi)| lo <= range.0 && range.1 <= hi),
        }
    }

    fn check_integer(&self, v: i128) -> Result<()> {
        match type_bounds(&self.node.ty) {
            Some((lo, hi)) if !(lo..=hi).contains(&v) => Err(self.out_of_range(self.integer_kind())),
            _ => Ok(()),
        }
    }

    fn finish_i64(self, out: Vec<i64>, range: (i128, i128)) -> Result<Chunk> {
        if !self.range_is_safe(range) {
            self.try_each(|i| self.check_integer(out[i] as i128))?;
        }
        let values = match self.node.ty {
            SqlType::Int { unsigned: true, .. } => Values::U64(out.into_iter().map(|x| x as u64).collect()),
            _ => Values::I64(out),
        };
        let mut chunk = Chunk::new(values, self.valid);
        chunk.bounds = Some(Bounds { min: range.0 as i64, max: range.1 as i64 });
        Ok(chunk)
    }

    fn finish_i128(self, out: Vec<i128>, range: (i128, i128)) -> Result<Chunk> {
        if let SqlType::Decimal { .. } = self.node.ty {
            if fits_i64(range) {
                let values = Values::I64(out.into_iter().map(|x| x as i64).collect());
                let mut chunk = Chunk::new(values, self.valid);
                chunk.bounds = Some(Bounds { min: range.0 as i64, max: range.1 as i64 });
                return Ok(chunk);
            }
            return Ok(Chunk::new(kernels::narrow_to(out, &self.node.ty)?, self.valid));
        }
        if !self.range_is_safe(range) {
            self.try_each(|i| self.check_integer(out[i]))?;
        }
        Ok(Chunk::new(kernels::narrow_to(out, &self.node.ty)?, self.valid))
    }

    /// Row by row, with every check.
    fn by_decimals(self, l: &Exact, r: &Exact) -> Result<Chunk> {
        let scale = result_scale(&self.node.ty);
        let mut out = vec![I256::default(); self.rows];
        self.try_each(|i| {
            let (a, b) = (l.decimal(i), r.decimal(i));
            let v = match self.op {
                ArithOp::Add => a.add(&b),
                ArithOp::Sub => a.sub(&b),
                _ => a.mul(&b),
            };
            let v = v.and_then(|v| v.rescale(scale)).ok_or_else(|| self.out_of_range(self.integer_kind()))?;
            out[i] = v.unscaled;
            if !matches!(self.node.ty, SqlType::Decimal { .. }) {
                self.check_integer(v.to_i128().unwrap_or(i128::MAX))?;
            }
            Ok(())
        })?;
        self.finish_i256(out)
    }

    fn finish_i256(self, out: Vec<I256>) -> Result<Chunk> {
        let values = match self.node.ty {
            SqlType::Decimal { precision, .. } if precision > 38 => Values::I256(out),
            _ => {
                let narrow = out.iter().map(|v| v.to_i128().unwrap_or(0)).collect();
                kernels::narrow_to(narrow, &self.node.ty)?
            }
        };
        Ok(Chunk::new(values, self.valid))
    }

    /// `/`, DIV and % of exact numbers.
    fn divide(mut self, mut l: Exact, mut r: Exact) -> Result<Chunk> {
        let scale = result_scale(&self.node.ty);
        let cuts = has_all_digits(l.scale, r.scale, scale);
        let mut nulls = self.valid.take();
        let job = Job { valid: nulls.clone(), ..self };
        let fast = match job.op {
            // a / b = a * 10^(scale - ls + rs) / b
            ArithOp::Div => {
                l.scale <= scale + r.scale && {
                    let to = scale + r.scale;
                    l.scaled_up(to)
                }
            }
            _ => {
                let to = l.scale.max(r.scale);
                l.scaled_up(to) && r.scaled_up(to)
            }
        };
        if fast
            && job.op == ArithOp::Div
            && let (Lane::I64(a), Lane::I64(b)) = (&l.lane, &r.lane)
            && l.bounds.is_some_and(|(lo, hi)| lo > i64::MIN as i128 && fits_i64((lo, hi)))
        {
            let mut out = vec![0i64; job.rows];
            let (ac, bc) = (l.constant, r.constant);
            if bc && b[0] != 0 && b[0] != i64::MIN && !ac {
                // One divisor: no test a row, garbage at other positions divides as well.
                let y = b[0];
                for (o, &x) in out.iter_mut().zip(a.iter()) {
                    *o = match x {
                        i64::MIN => 0,
                        _ if cuts => x / y,
                        _ => div_round_i64(x, y),
                    };
                }
            } else {
                job.try_each(|i| {
                    let (x, y) = (a[if ac { 0 } else { i }], b[if bc { 0 } else { i }]);
                    if y == 0 {
                        clear(&mut nulls, job.rows, i);
                        return job.division_by_zero();
                    }
                    out[i] = if cuts { x / y } else { div_round_i64(x, y) };
                    Ok(())
                })?;
            }
            if job.node.ty.phys() == PhysType::I64 {
                return Ok(Chunk::new(Values::I64(out), nulls));
            }
            let wide = out.into_iter().map(i128::from).collect();
            return Ok(Chunk::new(kernels::narrow_to(wide, &job.node.ty)?, nulls));
        }
        if fast && let (Some(a), Some(b)) = (l.to_i128(), r.to_i128()) {
            let mut out = vec![0i128; job.rows];
            let (ac, bc) = (l.constant, r.constant);
            job.try_each(|i| {
                let x = a[if ac { 0 } else { i }];
                let y = b[if bc { 0 } else { i }];
                if y == 0 {
                    clear(&mut nulls, job.rows, i);
                    return job.division_by_zero();
                }
                out[i] = match job.op {
                    ArithOp::Div if cuts => x / y,
                    ArithOp::Div => div_round(x, y),
                    ArithOp::IntDiv => x.wrapping_div(y),
                    _ => x.wrapping_rem(y),
                };
                if job.op == ArithOp::IntDiv { job.check_integer(out[i]) } else { Ok(()) }
            })?;
            // % of mixed scales has the larger one, which is the result's.
            return Ok(Chunk::new(kernels::narrow_to(out, &job.node.ty)?, nulls));
        }
        let mut out = vec![I256::default(); job.rows];
        job.try_each(|i| {
            let (a, b) = (l.decimal(i), r.decimal(i));
            if b.is_zero() {
                clear(&mut nulls, job.rows, i);
                return job.division_by_zero();
            }
            let v = match job.op {
                ArithOp::Div if cuts => a.div_trunc(&b, scale),
                ArithOp::Div => a.div(&b, scale),
                ArithOp::IntDiv => a.int_div(&b),
                _ => a.rem(&b).and_then(|v| v.rescale(scale)),
            };
            let v = v.ok_or_else(|| job.out_of_range(job.integer_kind()))?;
            out[i] = v.unscaled;
            if job.op == ArithOp::IntDiv { job.check_integer(v.to_i128().unwrap_or(i128::MAX)) } else { Ok(()) }
        })?;
        Job { valid: nulls, ..job }.finish_i256(out)
    }

    // --- bits

    fn bits(self, l: &Vector, r: &Vector) -> Result<Chunk> {
        let a = bit_lane(l, &self.node.args[0].ty);
        let b = bit_lane(r, &self.node.args[1].ty);
        let at = |v: &[u64], i: usize| if v.len() == 1 { v[0] } else { v[i] };
        let f = |x: u64, y: u64| match self.op {
            ArithOp::BitAnd => x & y,
            ArithOp::BitOr => x | y,
            ArithOp::BitXor => x ^ y,
            ArithOp::Shl => {
                if y < 64 {
                    x << y
                } else {
                    0
                }
            }
            _ => {
                if y < 64 {
                    x >> y
                } else {
                    0
                }
            }
        };
        let out = (0..self.rows).map(|i| f(at(&a, i), at(&b, i))).collect();
        Ok(Chunk::new(Values::U64(out), self.valid))
    }
}

/// The 64 bits of integers; negative numbers in two's complement.
fn bit_lane(v: &Vector, ty: &SqlType) -> Vec<u64> {
    let e = Exact::new(v, ty);
    match &e.lane {
        Lane::I64(v) => v.iter().map(|&x| x as u64).collect(),
        _ => (0..e.len()).map(|i| e.get(i).lo as u64).collect(),
    }
}

fn clear(valid: &mut Option<Bitmap>, rows: usize, i: usize) {
    valid.get_or_insert_with(|| Bitmap::ones(rows)).set(i, false);
}

fn result_scale(ty: &SqlType) -> u8 {
    if let SqlType::Decimal { scale, .. } = ty { *scale } else { 0 }
}

/// A quotient's scale is that of all digits which division makes, in groups of nine: it ends there, and is not rounded.
fn has_all_digits(dividend: u8, divisor: u8, scale: u8) -> bool {
    scale.is_multiple_of(9) && scale >= dividend.next_multiple_of(9) + divisor.next_multiple_of(9)
}

/// Rounded half away from zero; `x` is not the least integer.
#[inline]
fn div_round_i64(x: i64, y: i64) -> i64 {
    let (q, r) = (x / y, x % y);
    let up = r.unsigned_abs() >= y.unsigned_abs() - r.unsigned_abs();
    q + if up { if (x < 0) != (y < 0) { -1 } else { 1 } } else { 0 }
}

/// Rounded half away from zero.
#[inline]
fn div_round(x: i128, y: i128) -> i128 {
    // Most quotients of real data fit 64 bits, where division is several times faster.
    if let (Ok(a), Ok(b)) = (i64::try_from(x), i64::try_from(y))
        && a != i64::MIN
    {
        let (q, r) = (a / b, a % b);
        let up = r.unsigned_abs() >= b.unsigned_abs() - r.unsigned_abs();
        let sign = if (a < 0) != (b < 0) { -1 } else { 1 };
        return q as i128 + if up { sign } else { 0 };
    }
    let (q, r) = (x / y, x % y);
    let up = r.unsigned_abs() >= y.unsigned_abs() - r.unsigned_abs();
    let sign = if (x < 0) != (y < 0) { -1 } else { 1 };
    q + if up { sign } else { 0 }
}

/// `-v`
pub(crate) fn neg(node: &Node, v: &Vector, cx: &Cx, sel: &Selection) -> Result<Vector> {
    let (chunk, constant) = v.chunk();
    if constant && !chunk.is_valid(0) {
        return Ok(kernels::null_vector(&node.ty));
    }
    let all = Selection::All;
    let (rows, sel) = if constant { (1, &all) } else { (cx.rows, sel) };
    let out = if let Values::F64(x) = &chunk.values {
        Chunk::new(Values::F64(x.iter().map(|x| -x).collect()), chunk.validity.clone())
    } else {
        let e = Exact::new(v, &node.args[0].ty);
        let job = Job { node, op: ArithOp::Sub, rows, sel, valid: chunk.validity.clone(), cx };
        match (&e.lane, e.bounds) {
            (Lane::I64(x), Some((lo, hi))) => {
                let negated: Vec<i64> = fixed::const_sub_i64(0, x);
                if lo > i64::MIN as i128 {
                    job.finish_i64(negated, (-hi, -lo))?
                } else {
                    let wide = x.iter().map(|&x| -(x as i128)).collect();
                    job.finish_i128(wide, (-hi, -lo))?
                }
            }
            (Lane::I128(x), Some((lo, hi))) => {
                let range = (hi.checked_neg().unwrap_or(i128::MAX), lo.checked_neg().unwrap_or(i128::MAX));
                job.finish_i128(x.iter().map(|x| x.wrapping_neg()).collect(), range)?
            }
            _ => {
                let out = (0..e.len()).map(|i| -e.get(i)).collect();
                job.finish_i256(out)?
            }
        }
    };
    Ok(if constant { Vector::Const(out.into()) } else { Vector::flat(out) })
}

/// `~v`
pub(crate) fn bit_not(node: &Node, v: &Vector, _cx: &Cx) -> Result<Vector> {
    let (chunk, constant) = v.chunk();
    let out = bit_lane(v, &node.args[0].ty).into_iter().map(|x| !x).collect();
    let out = Chunk::new(Values::U64(out), chunk.validity.clone());
    Ok(if constant { Vector::Const(out.into()) } else { Vector::flat(out) })
}
