//! How many rows a join yields: |R|·|S| over the larger domain of each class of equal columns.

use super::super::column_set::ColumnSet;
use super::super::tree::{as_column, expr_columns};
use super::{ColumnEstimate, Estimate, computed, one};
use expr::{CmpOp, ColumnId, Expr, ExprKind};
use plan::logical::LogicalJoinKind;
use types::SqlType;

/// The equality of a join condition: its columns, left side first.
pub fn join_equality(p: &Expr, lo: &ColumnSet, ro: &ColumnSet) -> Option<(Expr, Expr, bool)> {
    let ExprKind::Compare { op: op @ (CmpOp::Eq | CmpOp::NullSafeEq), left, right } = &p.kind else { return None };
    let (l, r) = (expr_columns(left), expr_columns(right));
    if l.is_empty() || r.is_empty() {
        return None;
    }
    let null_safe = *op == CmpOp::NullSafeEq;
    if l.is_subset(lo) && r.is_subset(ro) {
        Some(((**left).clone(), (**right).clone(), null_safe))
    } else if l.is_subset(ro) && r.is_subset(lo) {
        Some(((**right).clone(), (**left).clone(), null_safe))
    } else {
        None
    }
}

/// Selectivity of a join condition over the product of both sides.
pub fn join_selectivity(
    l: &Estimate,
    r: &Estimate,
    on: &[Expr],
    lo: &ColumnSet,
    ro: &ColumnSet,
    keys: impl FnOnce() -> (Vec<ColumnSet>, Vec<ColumnSet>),
) -> f64 {
    let mut equal = 1.0;
    let mut other = 1.0;
    let (mut lcols, mut rcols, mut count) = (ColumnSet::new(), ColumnSet::new(), 0);
    // Of each equality of two columns, what it keeps.
    let mut each: Vec<(ColumnId, ColumnId, f64)> = vec![];
    for p in on {
        match join_equality(p, lo, ro) {
            Some((a, b, _)) => {
                let (a_est, b_est) = (computed(&a, l), computed(&b, r));
                let kept = common_values(&a, &b, l, r).unwrap_or_else(|| {
                    let known = (1.0 - a_est.null_fraction) * (1.0 - b_est.null_fraction);
                    known / a_est.domain.max(b_est.domain).max(1.0)
                });
                equal *= kept;
                if let (Some(a), Some(b)) = (as_column(&a), as_column(&b)) {
                    lcols.insert(a);
                    rcols.insert(b);
                    each.push((a, b, kept));
                }
                count += 1;
            }
            None => {
                let mut both = l.clone();
                both.columns.extend(r.columns.iter().map(|(c, e)| (*c, *e)));
                both.bases.extend(r.bases.iter().cloned());
                both.rows = l.rows.max(r.rows);
                other *= one(p, &both);
            }
        }
    }
    if count > 1 {
        // Columns of one key are not independent: a unique key has as many values as its table has rows. What is asked
        // beyond the key may depend on it, or not.
        let (lk, rk) = keys();
        let by_key = |ks: &[ColumnSet], cols: &ColumnSet, e: &Estimate, is_left: bool| {
            ks.iter()
                .filter(|k| !k.is_empty() && k.is_subset(cols))
                .map(|k| {
                    let values = k.iter().map(|c| e.column(c).domain).product::<f64>().min(key_domain(e, k));
                    let beyond = each.iter().filter(|x| !k.contains(if is_left { x.0 } else { x.1 }));
                    beyond.map(|x| x.2.sqrt()).product::<f64>() / values.max(1.0)
                })
                .fold(0.0, f64::max)
        };
        let of_keys = f64::max(by_key(&rk, &rcols, r, false), by_key(&lk, &lcols, l, true));
        let combined = |e: &Estimate, columns: &ColumnSet| {
            let columns: Vec<ColumnId> = columns.iter().collect();
            let whole = columns.len() == count && columns.iter().all(|c| e.is_whole(*c));
            if whole { e.base(*columns.first()?)?.tuples(&columns) } else { None }
        };
        if of_keys > 0.0 {
            equal = equal.max(of_keys);
        } else if let (Some(a), Some(b)) = (combined(l, &lcols), combined(r, &rcols)) {
            // Each combination of the side that has fewer is taken to occur on the other.
            equal = equal.max(1.0 / a.max(b).max(1.0));
        } else {
            // Several equalities between two tables are usually correlated: full credit for the most selective one,
            // diminishing for the rest.
            let rows = l.rows.max(r.rows).max(1.0);
            equal = equal.max(1.0 / (rows * 10.0));
        }
    }
    // Of small sides, cut down by conditions of their own, what is said of both is rarely true of no pair at all.
    equal * other.max(1.0 / (l.rows * r.rows).max(1.0)).min(1.0)
}

/// Selectivity of `a = b` where values are more frequent than others: the common ones are joined one by one, the rest
/// as if all were equally frequent. `None`: no skew, or the tables' figures do not hold any more.
fn common_values(a: &Expr, b: &Expr, l: &Estimate, r: &Estimate) -> Option<f64> {
    let (a, b) = (as_column(a)?, as_column(b)?);
    if !l.is_whole(a) || !r.is_whole(b) {
        return None;
    }
    let (da, db) = (l.column(a).domain, r.column(b).domain);
    let (x, y) = (l.shape(a)?, r.shape(b)?);
    // A key has no common values, and the other side's do not matter then.
    if !x.is_skewed(da) || !y.is_skewed(db) {
        return None;
    }
    let (mut sum, mut in_x, mut in_y, mut n) = (0.0, 0.0, 0.0, 0.0f64);
    for (v, p) in x.common() {
        let q = y.equal(v, db)?;
        sum += p * q;
        in_x += p;
        in_y += q;
        n += 1.0;
    }
    for (v, q) in y.common().filter(|(v, _)| x.common().all(|(w, _)| w != *v)) {
        let p = x.equal(v, da)?;
        sum += p * q;
        in_x += p;
        in_y += q;
        n += 1.0;
    }
    let rest = (x.histogram.known() - in_x).max(0.0) * (y.histogram.known() - in_y).max(0.0);
    Some((sum + rest / (da.max(db) - n).max(1.0)).clamp(0.0, 1.0))
}

/// Values that a unique key can have: the rows of its table before filters, as far as they are known.
pub(super) fn key_domain(e: &Estimate, key: &ColumnSet) -> f64 {
    if let Some(base) = key.iter().next().and_then(|c| e.base(c))
        && let Some(all) = base.tuples(&key.iter().collect::<Vec<_>>())
    {
        return all;
    }
    // The widest component's domain bounds from below; the rows at hand too.
    key.iter().map(|c| e.column(c).domain).fold(e.rows, f64::max)
}

pub fn join(
    kind: LogicalJoinKind,
    l: &Estimate,
    r: &Estimate,
    on: &[Expr],
    lo: &ColumnSet,
    ro: &ColumnSet,
    keys: impl FnOnce() -> (Vec<ColumnSet>, Vec<ColumnSet>),
) -> Estimate {
    let both = |rows: f64| {
        let mut e = l.clone();
        e.columns.extend(r.columns.iter().map(|(c, x)| (*c, *x)));
        e.bases.extend(r.bases.iter().cloned());
        e.rows = rows;
        e.cap();
        e
    };
    match kind {
        LogicalJoinKind::Inner => both(l.rows * r.rows * join_selectivity(l, r, on, lo, ro, keys)),
        LogicalJoinKind::Left => both((l.rows * r.rows * join_selectivity(l, r, on, lo, ro, keys)).max(l.rows)),
        LogicalJoinKind::Full => {
            both((l.rows * r.rows * join_selectivity(l, r, on, lo, ro, keys)).max(l.rows + r.rows))
        }
        LogicalJoinKind::Single => both(l.rows),
        LogicalJoinKind::Mark { mark, .. } => {
            let mut e = l.clone();
            e.columns.insert(
                mark,
                ColumnEstimate { distinct: 2.0, domain: 2.0, ..ColumnEstimate::unknown(2.0, &SqlType::Bool) },
            );
            e
        }
        LogicalJoinKind::Semi | LogicalJoinKind::Anti | LogicalJoinKind::NullAwareAnti => {
            let share = match_share(l, r, on, lo, ro);
            let share = if kind == LogicalJoinKind::Semi { share } else { (1.0 - share).max(0.05) };
            let mut e = l.clone();
            e.shrink(l.rows * share);
            e.cap();
            e
        }
    }
}

/// The share of left rows that have a match.
pub fn match_share(l: &Estimate, r: &Estimate, on: &[Expr], lo: &ColumnSet, ro: &ColumnSet) -> f64 {
    if r.rows < 1e-9 {
        return 0.0;
    }
    let (mut domain, mut values, mut equalities, mut others) = (1.0f64, 1.0f64, 0, 0);
    for p in on {
        match join_equality(p, lo, ro) {
            Some((a, b, _)) => {
                let (a, b) = (computed(&a, l), computed(&b, r));
                domain *= a.domain.max(b.domain).max(1.0);
                values *= b.distinct.max(1.0);
                equalities += 1;
            }
            None => others += 1,
        }
    }
    if equalities == 0 {
        return if others == 0 { 1.0 } else { 0.5 };
    }
    let values = values.min(r.rows.max(1.0));
    // Combinations that occur are at most the rows of the larger side.
    let domain = if equalities > 1 { domain.min(l.rows.max(r.rows).max(values)) } else { domain };
    let mut share = (values / domain).clamp(0.0, 1.0);
    if others > 0 {
        share *= 0.7f64.powi(others.min(3));
    }
    share
}
