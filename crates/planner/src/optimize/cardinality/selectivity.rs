//! What share of the rows a condition keeps.

use super::super::tree::{as_column, expr_columns};
use super::{Estimate, computed};
use expr::{CmpOp, ColumnId, Expr, ExprKind};
use std::collections::HashMap;
use types::{SqlType, Value};

/// Applies a filter's selectivity; columns compared with constants lose values of their domain too.
pub fn filtered(mut e: Estimate, predicates: &[Expr], selectivity: f64) -> Estimate {
    let rows = (e.rows * selectivity).max(0.0);
    for p in predicates {
        let cols = expr_columns(p);
        if cols.len() != 1 {
            continue;
        }
        let s = one(p, &e).clamp(1e-9, 1.0);
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

/// A number that orders as the value does, where that is meaningful.
pub fn as_number(v: &Value) -> Option<f64> {
    Some(match v {
        Value::Int(v) => *v as f64,
        Value::UInt(v) => *v as f64,
        Value::Float(v) => *v as f64,
        Value::Double(v) => *v,
        Value::Decimal(d) => d.to_f64(),
        Value::Date(d) => day_number(d.0 as i64),
        Value::DateTime(d) => day_number(d.0 >> 37) + (d.0 & ((1 << 37) - 1)) as f64 / 86_400e6,
        Value::Time(t) => t.0 as f64,
        Value::Timestamp(t) => t.0 as f64,
        Value::Null | Value::Bytes(_) => return None,
    })
}

/// Days, all months taken as 31 days: linear enough for interpolation.
pub(super) fn day_number(packed: i64) -> f64 {
    ((packed >> 9) * 372 + (packed >> 5 & 15) * 31 + (packed & 31)) as f64
}

/// Selectivity of a conjunction: range pairs on one column taken together, the rest as if independent.
pub fn conjunction(predicates: &[Expr], input: &Estimate) -> f64 {
    let mut s = 1.0;
    let mut ranges: HashMap<ColumnId, (f64, f64)> = HashMap::new();
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
    let (c, v, op) = match (as_column(left), constant_number(right)) {
        (Some(c), Some(v)) => (c, v, *op),
        _ => {
            let (c, v) = (as_column(right)?, constant_number(left)?);
            let op = match op {
                CmpOp::Lt => CmpOp::Gt,
                CmpOp::Le => CmpOp::Ge,
                CmpOp::Gt => CmpOp::Lt,
                CmpOp::Ge => CmpOp::Le,
                o => *o,
            };
            (c, v, op)
        }
    };
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
            let d = computed(expr, input).distinct.max(1.0);
            let s = (list.len() as f64 / d).min(1.0);
            if *negated { 1.0 - s } else { s }
        }
        ExprKind::Like { pattern, negated, .. } => {
            let s = match &pattern.kind {
                ExprKind::Const(Value::Bytes(b)) if !b.starts_with(b"%") => 0.02,
                _ => 0.05,
            };
            if *negated { 1.0 - s } else { s }
        }
        _ => UNKNOWN_SELECTIVITY,
    };
    s.clamp(0.0, 1.0)
}

pub(super) fn compare(op: CmpOp, left: &Expr, right: &Expr, input: &Estimate) -> f64 {
    let (lc, rc) = (expr_columns(left), expr_columns(right));
    let (l, r) = (computed(left, input), computed(right, input));
    let equal = 1.0 / l.distinct.max(r.distinct).max(1.0);
    match op {
        CmpOp::Eq | CmpOp::NullSafeEq => {
            // Outside the bounds nothing is equal.
            for (c, v) in [(&l, constant_number(right)), (&r, constant_number(left))] {
                if let (Some(min), Some(max), Some(v)) = (c.min, c.max, v)
                    && (v < min || v > max)
                {
                    return 1e-9;
                }
            }
            equal
        }
        CmpOp::Ne => 1.0 - equal,
        _ if lc.is_empty() || rc.is_empty() => {
            let p = Expr::new(
                ExprKind::Compare { op, left: left.clone().into(), right: right.clone().into() },
                SqlType::Bool,
                true,
            );
            match range_share(&p, input) {
                Some((_, below, above)) => (1.0 - below - above).max(1e-6),
                None => RANGE_SELECTIVITY,
            }
        }
        _ => RANGE_SELECTIVITY,
    }
}

/// Share of rows that pass a predicate nothing is known about.
pub(super) const UNKNOWN_SELECTIVITY: f64 = 0.25;

pub(super) const RANGE_SELECTIVITY: f64 = 1.0 / 3.0;
