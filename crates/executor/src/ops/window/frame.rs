//! Frames: which rows of its partition an aggregate or FIRST_VALUE looks at for each row.

use super::Call;
use crate::run::Run;
use expr::eval::Compiled;
use expr::{Expr, FrameBound, FrameUnits};
use plan::physical::SortKey;
use std::ops::Range;
use types::int256::I256;
use types::{Decimal, Error, PhysType, Result, SqlType, Value};
use vector::{Chunk, Values};

/// One end of a frame, its distance evaluated.
#[derive(Clone, Debug)]
pub enum Bound {
    UnboundedPreceding,
    Preceding(Distance),
    CurrentRow,
    Following(Distance),
    UnboundedFollowing,
}

/// How far a bound is from the current row. RANGE distances over exact keys are in units of the key's last digit,
/// rounded both ways: between whole units, `v < k + d` is `v < k + ceil(d)`, and `v <= k + d` is `v <= k + floor(d)`.
/// They are not values of the key's type, which may not hold them (200 over TINYINT) or mean another thing by them (1
/// is 2001 as a YEAR).
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Distance {
    Rows(u64),
    Exact {
        floor: i128,
        ceil: i128,
    },
    /// Where keys or distance need more than 128 bits.
    Wide {
        floor: I256,
        ceil: I256,
    },
    Double(f64),
}

/// Above what any two keys of 65 digits differ by, and far from the ends of 256 bits.
const WIDE_DIGITS_MAX: usize = 70;

/// The number in a constant argument or bound.
pub fn constant(e: &Expr, run: &Run<'_>) -> Result<Value> {
    Compiled::new(e, &run.eval())?.eval_const(&run.eval())
}

pub fn count_of(v: &Value) -> Result<Option<i64>> {
    Ok(match v {
        Value::Null => None,
        Value::Int(v) => Some(*v),
        Value::UInt(v) => Some(i64::try_from(*v).unwrap_or(i64::MAX)),
        Value::Decimal(d) => Some(d.to_i64_round().0),
        other => return Err(Error::internal(format_args!("{other:?} as a number of rows"))),
    })
}

/// A distance over keys of type `ty`, an exact one.
fn exact_distance(d: Decimal, ty: &SqlType) -> Distance {
    let scale = match ty {
        SqlType::Decimal { scale, .. } => *scale,
        _ => 0,
    };
    // Both ends are whole where the distance has no more digits than the key.
    let (floor, ceil) = if d.scale <= scale {
        let far = I256::pow10(WIDE_DIGITS_MAX);
        let units = d.unscaled.checked_mul(I256::pow10((scale - d.scale) as usize)).map_or(far, |u| u.min(far));
        (units, units)
    } else {
        let one = I256::pow10((d.scale - scale) as usize);
        let (q, r) = d.unscaled.checked_div_rem(one).expect("a power of ten is not zero");
        (q, if r.is_zero() { q } else { q.wrapping_add(I256::ONE) })
    };
    match (floor.to_i128(), ceil.to_i128()) {
        (Some(floor), Some(ceil)) if ty.phys() != PhysType::I256 => Distance::Exact { floor, ceil },
        _ => Distance::Wide { floor, ceil },
    }
}

/// The distance that a RANGE bound's value means; `None` if it is NULL or below zero.
fn range_distance(v: &Value, ty: &SqlType) -> Result<Option<Distance>> {
    let exact = match v {
        Value::Null => return Ok(None),
        Value::Double(x) => return Ok((*x >= 0.0).then_some(Distance::Double(*x))),
        Value::Float(x) => return Ok((*x >= 0.0).then_some(Distance::Double(*x as f64))),
        Value::Int(x) => Decimal::from_i64(*x),
        Value::UInt(x) => Decimal::from_u64(*x),
        Value::Decimal(d) => *d,
        other => return Err(Error::internal(format_args!("{other:?} as a RANGE distance"))),
    };
    if exact.is_negative() {
        return Ok(None);
    }
    Ok(Some(match ty {
        SqlType::Double | SqlType::Float => Distance::Double(exact.to_f64()),
        _ => exact_distance(exact, ty),
    }))
}

pub fn bound(b: &FrameBound, units: FrameUnits, order: &[SortKey], run: &Run<'_>) -> Result<Bound> {
    let distance = |e: &Expr| -> Result<Distance> {
        let v = constant(e, run)?;
        if units == FrameUnits::Rows {
            return Ok(Distance::Rows(count_of(&v)?.unwrap_or(0).max(0) as u64));
        }
        let ty = order.first().map(|k| k.expr.ty).ok_or_else(|| Error::internal("RANGE without an order"))?;
        if !ty.is_numeric() {
            return Err(Error::not_supported("RANGE with a distance over temporal values"));
        }
        range_distance(&v, &ty)?.ok_or_else(|| Error::window_frame_illegal("<unnamed window>"))
    };
    Ok(match b {
        FrameBound::UnboundedPreceding => Bound::UnboundedPreceding,
        FrameBound::UnboundedFollowing => Bound::UnboundedFollowing,
        FrameBound::CurrentRow => Bound::CurrentRow,
        FrameBound::Preceding(e) => Bound::Preceding(distance(e)?),
        FrameBound::Following(e) => Bound::Following(distance(e)?),
    })
}

/// For each row, its run of peers.
pub struct Peers {
    pub start: Vec<u32>,
    pub end: Vec<u32>,
    /// Number of the run, from 0.
    pub number: Vec<u32>,
}

impl Peers {
    pub fn new(starts: &[u32], n: usize) -> Peers {
        let (mut start, mut end, mut number) = (vec![0; n], vec![0; n], vec![0; n]);
        for (k, &s) in starts.iter().enumerate() {
            let e = starts.get(k + 1).copied().unwrap_or(n as u32);
            for i in s as usize..e as usize {
                (start[i], end[i], number[i]) = (s, e, k as u32);
            }
        }
        Peers { start, end, number }
    }
}

/// A partition ready for its calls.
pub struct Rowset {
    pub n: usize,
    pub peers: Peers,
    /// The first ORDER BY expression's values, with type and direction.
    pub order: Option<(Chunk, SqlType, bool)>,
    /// The rows whose order value is not NULL: NULLs lie at one end.
    pub filled: Range<usize>,
    pub args: Vec<Chunk>,
}

/// See [`Rowset::filled`].
pub fn filled(order: &Chunk, n: usize) -> Range<usize> {
    let first = (0..n).find(|&i| order.is_valid(i)).unwrap_or(n);
    let last = (first..n).rev().find(|&i| order.is_valid(i)).map_or(first, |i| i + 1);
    first..last
}

/// The rows `start..end` of row `i`'s frame (empty if `start >= end`).
pub fn frame(c: &Call, part: &Rowset, i: usize) -> (usize, usize) {
    let n = part.n;
    let p = &part.peers;
    let rows = c.units == FrameUnits::Rows;
    let start = match &c.start {
        Bound::UnboundedPreceding => 0,
        Bound::UnboundedFollowing => n,
        Bound::CurrentRow => {
            if rows {
                i
            } else {
                p.start[i] as usize
            }
        }
        Bound::Preceding(Distance::Rows(d)) => i.saturating_sub(*d as usize),
        Bound::Following(Distance::Rows(d)) => i.saturating_add(*d as usize).min(n),
        Bound::Preceding(d) => range_edge(part, i, *d, -1, true),
        Bound::Following(d) => range_edge(part, i, *d, 1, true),
    };
    let end = match &c.end {
        Bound::UnboundedPreceding => 0,
        Bound::UnboundedFollowing => n,
        Bound::CurrentRow => {
            if rows {
                i + 1
            } else {
                p.end[i] as usize
            }
        }
        Bound::Preceding(Distance::Rows(d)) => (i + 1).saturating_sub(*d as usize),
        Bound::Following(Distance::Rows(d)) => i.saturating_add(*d as usize).saturating_add(1).min(n),
        Bound::Preceding(d) => range_edge(part, i, *d, -1, false),
        Bound::Following(d) => range_edge(part, i, *d, 1, false),
    };
    (start, end)
}

/// Where the rows within a RANGE distance begin (`start`) or end. Rows whose order value is NULL are each other's only
/// neighbours.
fn range_edge(part: &Rowset, i: usize, d: Distance, sign: i32, start: bool) -> usize {
    let Some((chunk, _, descending)) = &part.order else { return if start { 0 } else { part.n } };
    if !chunk.is_valid(i) {
        return if start { part.peers.start[i] as usize } else { part.peers.end[i] as usize };
    }
    let turn = if *descending { -1.0 } else { 1.0 };
    let (mut lo, mut hi) = (part.filled.start, part.filled.end);
    let before = |j: usize| match d {
        Distance::Double(d) => {
            let target = turn * double_at(chunk, i) + sign as f64 * d;
            let v = turn * double_at(chunk, j);
            if start { v < target } else { v <= target }
        }
        Distance::Exact { floor, ceil } => {
            let d = towards(floor, ceil, sign, start);
            let turn = turn as i128;
            let target = (turn * exact_at(chunk, i)).saturating_add(d);
            let v = turn * exact_at(chunk, j);
            if start { v < target } else { v <= target }
        }
        Distance::Wide { floor, ceil } => {
            let d = towards(floor, ceil, sign, start);
            let (k, v) = (wide_at(chunk, i), wide_at(chunk, j));
            let (k, v) = if *descending { (-k, -v) } else { (k, v) };
            let target = k.wrapping_add(d);
            if start { v < target } else { v <= target }
        }
        Distance::Rows(_) => false,
    };
    while lo < hi {
        let mid = (lo + hi) / 2;
        if before(mid) { lo = mid + 1 } else { hi = mid }
    }
    lo
}

/// The distance with its sign, in whole units: see [`Distance`].
fn towards<T: std::ops::Neg<Output = T>>(floor: T, ceil: T, sign: i32, start: bool) -> T {
    match (sign > 0, start) {
        (true, true) => ceil,
        (true, false) => floor,
        (false, true) => -floor,
        (false, false) => -ceil,
    }
}

fn wide_at(chunk: &Chunk, i: usize) -> I256 {
    match &chunk.values {
        Values::I256(v) => v[i],
        _ => I256::from(exact_at(chunk, i)),
    }
}

fn exact_at(chunk: &Chunk, i: usize) -> i128 {
    match &chunk.values {
        Values::I8(v) => v[i] as i128,
        Values::U8(v) => v[i] as i128,
        Values::I16(v) => v[i] as i128,
        Values::U16(v) => v[i] as i128,
        Values::I32(v) => v[i] as i128,
        Values::U32(v) => v[i] as i128,
        Values::I64(v) => v[i] as i128,
        Values::U64(v) => v[i] as i128,
        Values::I128(v) => v[i],
        _ => 0,
    }
}

fn double_at(chunk: &Chunk, i: usize) -> f64 {
    match &chunk.values {
        Values::F32(v) => v[i] as f64,
        Values::F64(v) => v[i],
        _ => exact_at(chunk, i) as f64,
    }
}
