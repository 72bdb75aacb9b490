//! What share of the rows a condition keeps.

use super::super::ranges::like_prefix;
use super::super::tree::{as_column, expr_columns};
use super::{Estimate, computed};
use catalog::histogram::as_number;
use expr::{CmpOp, ColumnId, Expr, ExprKind};
use std::borrow::Cow;
use std::collections::BTreeMap;
use types::Value;

/// Applies a filter's selectivity; columns compared with constants lose values of their domain too.
pub fn filtered(mut e: Estimate, predicates: &[Expr], selectivity: f64) -> Estimate {
    let rows = (e.rows * selectivity).max(0.0);
    for p in predicates {
        let cols = expr_columns(p);
        if cols.len() != 1 {
            continue;
        }
        let s = cols.iter().next().and_then(|c| values_kept(p, c, &e)).unwrap_or_else(|| one(p, &e)).clamp(1e-9, 1.0);
        for c in cols.iter() {
            if let Some(c) = e.columns.get_mut(&c) {
                c.domain = (c.domain * s).max(1.0);
                c.distinct = (c.distinct * s).max(1.0);
            }
        }
    }
    e.shrink(rows);
    e.cap();
    e
}

/// The share of a column's values that a condition on it keeps, where that is not the share of rows: frequent values
/// are many rows.
fn values_kept(p: &Expr, c: ColumnId, input: &Estimate) -> Option<f64> {
    let distinct = input.column(c).domain.max(1.0);
    match &p.kind {
        ExprKind::Compare { op: CmpOp::Eq, left, right } if as_column(left).or(as_column(right)) == Some(c) => {
            Some(1.0 / distinct)
        }
        ExprKind::InList { expr, list, negated: false } if as_column(expr) == Some(c) => {
            Some((list.len() as f64 / distinct).min(1.0))
        }
        ExprKind::InSet { expr, set, negated: false } if as_column(expr) == Some(c) => {
            Some((set.len() as f64 / distinct).min(1.0))
        }
        ExprKind::Compare { op, left, right } => {
            let (bound, is_left) = if as_column(left) == Some(c) { (right, true) } else { (left, false) };
            let below = input.shape(c)?.histogram.distinct_below(constant(bound)?);
            match (op, is_left) {
                (CmpOp::Lt | CmpOp::Le, true) | (CmpOp::Gt | CmpOp::Ge, false) => Some(below.max(1.0 / distinct)),
                (CmpOp::Gt | CmpOp::Ge, true) | (CmpOp::Lt | CmpOp::Le, false) => {
                    Some((1.0 - below).max(1.0 / distinct))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// A constant, under conversions or not.
fn constant(e: &Expr) -> Option<&Value> {
    match &e.kind {
        ExprKind::Const(v) => Some(v),
        ExprKind::Cast { expr, explicit: false } => constant(expr),
        _ => None,
    }
}

/// Can a histogram answer the condition on its column?
pub(super) fn by_histogram(p: &Expr) -> bool {
    let column = |e: &Expr| as_column(e).is_some();
    match &p.kind {
        ExprKind::Compare { left, right, .. } => {
            column(left) && constant(right).is_some() || column(right) && constant(left).is_some()
        }
        ExprKind::InList { expr, list, .. } => column(expr) && list.iter().all(|v| constant(v).is_some()),
        ExprKind::InSet { expr, .. } | ExprKind::IsNull { expr, .. } => column(expr),
        ExprKind::Or(parts) | ExprKind::And(parts) => parts.iter().all(by_histogram),
        ExprKind::Not(e) => by_histogram(e),
        _ => false,
    }
}

/// Selectivity of a conjunction: range pairs on one column taken together, the rest as if independent.
pub fn conjunction(predicates: &[Expr], input: &Estimate) -> f64 {
    let mut s = 1.0;
    // In order, so that products come out the same to the last bit.
    let mut ranges: BTreeMap<ColumnId, (f64, f64)> = BTreeMap::new();
    for p in predicates {
        match range_share(p, input) {
            // Shares below the lower and above the upper end add up to what a range leaves out.
            Some((c, lower, upper)) => {
                let r = ranges.entry(c).or_insert((0.0, 0.0));
                r.0 = r.0.max(lower);
                r.1 = r.1.max(upper);
            }
            None => s *= one(p, input),
        }
    }
    for (c, (below, above)) in ranges {
        let known = 1.0 - input.column(c).null_fraction;
        s *= ((1.0 - below - above) * known).clamp(1.0 / input.column(c).domain.max(1.0).max(input.rows), 1.0);
    }
    s.clamp(0.0, 1.0)
}

/// `column < constant` and the like with known bounds: (column, share cut off below, share cut off above).
pub(super) fn range_share(p: &Expr, input: &Estimate) -> Option<(ColumnId, f64, f64)> {
    let ExprKind::Compare { op, left, right } = &p.kind else { return None };
    range_share_of(*op, left, right, input)
}

fn range_share_of(op: CmpOp, left: &Expr, right: &Expr, input: &Estimate) -> Option<(ColumnId, f64, f64)> {
    let (c, v, op) = match as_column(left) {
        Some(c) => (c, constant_number(right), op),
        _ => {
            let (c, v) = (as_column(right)?, constant_number(left));
            let op = match op {
                CmpOp::Lt => CmpOp::Gt,
                CmpOp::Le => CmpOp::Ge,
                CmpOp::Gt => CmpOp::Lt,
                CmpOp::Ge => CmpOp::Le,
                o => o,
            };
            (c, v, op)
        }
    };
    if let Some((below, up_to, known)) = shares(c, if as_column(left).is_some() { right } else { left }, input) {
        let known = known.max(1e-9);
        return match op {
            CmpOp::Lt => Some((c, 0.0, 1.0 - below / known)),
            CmpOp::Le => Some((c, 0.0, 1.0 - up_to / known)),
            CmpOp::Gt => Some((c, up_to / known, 0.0)),
            CmpOp::Ge => Some((c, below / known, 0.0)),
            _ => None,
        };
    }
    let v = v?;
    let e = input.column(c);
    let (min, max) = (e.min?, e.max?);
    if max <= min {
        return None;
    }
    let at = ((v - min) / (max - min)).clamp(0.0, 1.0);
    match op {
        CmpOp::Lt | CmpOp::Le => Some((c, 0.0, 1.0 - at)),
        CmpOp::Gt | CmpOp::Ge => Some((c, at, 0.0)),
        _ => None,
    }
}

/// Shares of the table's rows with values below the constant, up to it, and with any.
fn shares(c: ColumnId, bound: &Expr, input: &Estimate) -> Option<(f64, f64, f64)> {
    let shape = input.shape(c)?;
    let (below, up_to) = shape.below(constant(bound)?)?;
    Some((below, up_to, shape.histogram.known()))
}

/// The value of an expression that is constant already, or simple arithmetic on dates left to execution.
pub(super) fn constant_number(e: &Expr) -> Option<f64> {
    match &e.kind {
        ExprKind::Const(v) => as_number(v),
        ExprKind::Cast { expr, .. } => constant_number(expr),
        _ => None,
    }
}

/// Selectivity of one predicate.
pub fn one(p: &Expr, input: &Estimate) -> f64 {
    let s = match &p.kind {
        ExprKind::Const(v) => match v {
            Value::Int(0) | Value::UInt(0) | Value::Null => 0.0,
            _ => 1.0,
        },
        ExprKind::And(parts) => conjunction(parts, input),
        ExprKind::Or(parts) => 1.0 - parts.iter().map(|p| 1.0 - one(p, input)).product::<f64>(),
        ExprKind::Not(e) => 1.0 - one(e, input),
        ExprKind::IsNull { expr, negated } => {
            let share = as_column(expr).map_or(0.05, |c| input.column(c).null_fraction);
            if *negated { 1.0 - share } else { share.max(1e-6) }
        }
        ExprKind::Compare { op, left, right } => compare(*op, left, right, input),
        ExprKind::InList { expr, list, negated } => {
            let known = known(expr, input);
            let s = in_list(expr, list.len(), |i| Cow::Borrowed(&list[i]), input).min(known);
            if *negated { known - s } else { s }
        }
        ExprKind::InSet { expr, set, negated } => {
            let known = known(expr, input);
            let s = in_list(expr, set.len(), |i| Cow::Owned(set.expr(i)), input).min(known);
            if *negated { known - s } else { s }
        }
        ExprKind::Like { expr, pattern, escape, negated } => {
            let prefix = pattern.as_const().and_then(Value::as_bytes).map(|b| like_prefix(b, *escape));
            let shape = as_column(expr).and_then(|c| input.shape(c));
            let s = match prefix {
                Some(p) if !p.is_empty() => shape.and_then(|s| s.starts_with(&p)).unwrap_or(0.02),
                _ => 0.05,
            };
            if *negated { known(expr, input) - s } else { s }
        }
        _ => UNKNOWN_SELECTIVITY,
    };
    s.clamp(0.0, 1.0)
}

pub(super) fn compare(op: CmpOp, left: &Expr, right: &Expr, input: &Estimate) -> f64 {
    let (lc, rc) = (expr_columns(left), expr_columns(right));
    let (l, r) = (computed(left, input), computed(right, input));
    let known = known(left, input) * known(right, input);
    let equal = match (as_column(left), as_column(right)) {
        (Some(c), None) if rc.is_empty() => equal_share(c, right, input),
        (None, Some(c)) if lc.is_empty() => equal_share(c, left, input),
        _ => None,
    };
    let is_known = equal.is_some();
    let equal = equal.unwrap_or(known / l.distinct.max(r.distinct).max(1.0));
    match op {
        CmpOp::Eq | CmpOp::NullSafeEq => {
            // Outside the bounds nothing is equal.
            for (c, v) in [(&l, constant_number(right)), (&r, constant_number(left))] {
                if let (Some(min), Some(max), Some(v)) = (c.min, c.max, v)
                    && !is_known
                    && (v < min || v > max)
                {
                    return 1e-9;
                }
            }
            equal
        }
        CmpOp::Ne => known - equal,
        _ if lc.is_empty() || rc.is_empty() => match range_share_of(op, left, right, input) {
            Some((_, below, above)) => (1.0 - below - above).max(1e-6),
            None => RANGE_SELECTIVITY,
        },
        _ => RANGE_SELECTIVITY,
    }
}

/// Share of rows in which the column equals a constant or a value that is not known yet.
fn equal_share(c: ColumnId, value: &Expr, input: &Estimate) -> Option<f64> {
    let shape = input.shape(c)?;
    let distinct = input.column(c).domain;
    match constant(value) {
        Some(v) => shape.equal(v, distinct),
        None => Some(shape.unknown(distinct)),
    }
}

/// Share of rows in which an expression is not NULL.
fn known(e: &Expr, input: &Estimate) -> f64 {
    as_column(e).map_or(1.0, |c| 1.0 - input.column(c).null_fraction)
}

/// Values of a long list that are looked at one by one; the rest counts as much as these on average.
const LIST_MAX: usize = 256;

fn in_list<'e>(expr: &Expr, len: usize, item: impl Fn(usize) -> Cow<'e, Expr>, input: &Estimate) -> f64 {
    let rare = known(expr, input) / computed(expr, input).distinct.max(1.0);
    let column = as_column(expr);
    let step = len.div_ceil(LIST_MAX).max(1);
    let (mut sum, mut n) = (0.0, 0.0);
    for i in (0..len).step_by(step) {
        sum += column.and_then(|c| equal_share(c, &item(i), input)).unwrap_or(rare);
        n += 1.0f64;
    }
    sum * len as f64 / n.max(1.0)
}

/// Share of rows that pass a predicate nothing is known about.
pub(super) const UNKNOWN_SELECTIVITY: f64 = 0.25;

pub(super) const RANGE_SELECTIVITY: f64 = 1.0 / 3.0;
