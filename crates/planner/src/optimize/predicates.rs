//! Normal forms of predicates: NOT pushed in, common factors of ORs pulled out, what an OR implies for one table.

use super::column_set::ColumnSet;
use super::tree::{and, compare, conjuncts, expr_columns, flatten_and, inverse, is_volatile, or, truth};
use expr::{Expr, ExprKind};
use types::{Pace, SqlType, Value};

/// TRUE / FALSE / NULL of a constant predicate.
pub fn constant_truth(e: &Expr) -> Option<Option<bool>> {
    match &e.kind {
        ExprKind::Const(Value::Null) => Some(None),
        ExprKind::Const(Value::Int(v)) => Some(Some(*v != 0)),
        ExprKind::Const(Value::UInt(v)) => Some(Some(*v != 0)),
        _ => None,
    }
}

/// Conjuncts among which duplicates are looked for: more are kept as they come.
const DUPLICATES_SOUGHT_MAX: usize = 500;

/// Conjuncts in normal form; `None` if the conjunction can never be TRUE. Once the statement is to stop they are left
/// as they are.
pub fn normalize(predicates: Vec<Expr>, pace: &Pace) -> Option<Vec<Expr>> {
    let mut done: Vec<Expr> = vec![];
    for p in conjuncts(predicates) {
        let mut parts = vec![];
        flatten_and(factor(push_not(p, false, pace)), &mut parts);
        for p in parts {
            match constant_truth(&p) {
                Some(Some(true)) => {}
                Some(_) => return None,
                None if done.len() < DUPLICATES_SOUGHT_MAX && done.contains(&p) && !is_volatile(&p) => {}
                None => done.push(p),
            }
        }
    }
    Some(done)
}

/// Moves NOT to the leaves, three-valued logic preserved.
fn push_not(e: Expr, negate: bool, pace: &Pace) -> Expr {
    if !pace.goes_on() {
        return e;
    }
    let (ty, nullable) = (e.ty, e.nullable);
    let logical = |e: &Expr| {
        matches!(
            e.kind,
            ExprKind::And(_)
                | ExprKind::Or(_)
                | ExprKind::Not(_)
                | ExprKind::Compare { .. }
                | ExprKind::IsNull { .. }
                | ExprKind::InList { .. }
                | ExprKind::InSet { .. }
                | ExprKind::Like { .. }
                | ExprKind::IsTruth { .. }
        ) || e.ty == SqlType::Bool
    };
    match e.kind {
        ExprKind::Not(inner) if logical(&inner) => push_not(*inner, !negate, pace),
        ExprKind::And(parts) => {
            let parts = parts.into_iter().map(|p| push_not(p, negate, pace)).collect();
            if negate { or_flat(parts) } else { and(conjuncts(parts)) }
        }
        ExprKind::Or(parts) => {
            let parts = parts.into_iter().map(|p| push_not(p, negate, pace)).collect();
            if negate { and(conjuncts(parts)) } else { or_flat(parts) }
        }
        kind if !negate => Expr::new(kind, ty, nullable),
        ExprKind::Compare { op, left, right } => match inverse(op) {
            Some(op) => compare(op, *left, *right),
            None => super::tree::not(Expr::new(ExprKind::Compare { op, left, right }, ty, nullable)),
        },
        ExprKind::IsNull { expr, negated } => Expr::new(ExprKind::IsNull { expr, negated: !negated }, ty, nullable),
        ExprKind::IsTruth { expr, truth, negated } => {
            Expr::new(ExprKind::IsTruth { expr, truth, negated: !negated }, ty, nullable)
        }
        ExprKind::InList { expr, list, negated } => {
            Expr::new(ExprKind::InList { expr, list, negated: !negated }, ty, nullable)
        }
        ExprKind::InSet { expr, set, negated } => {
            Expr::new(ExprKind::InSet { expr, set, negated: !negated }, ty, nullable)
        }
        ExprKind::Like { expr, pattern, escape, negated } => {
            Expr::new(ExprKind::Like { expr, pattern, escape, negated: !negated }, ty, nullable)
        }
        kind => super::tree::not(Expr::new(kind, ty, nullable)),
    }
}

fn or_flat(parts: Vec<Expr>) -> Expr {
    let mut flat = vec![];
    for p in parts {
        match p.kind {
            ExprKind::Or(inner) => flat.extend(inner),
            _ => flat.push(p),
        }
    }
    or(flat)
}

/// Branches of an OR among which common factors are looked for.
const FACTORED_BRANCHES_MAX: usize = 1000;

/// `(a AND b) OR (a AND c)` = `a AND (b OR c)`, in three-valued logic too.
fn factor(e: Expr) -> Expr {
    let ExprKind::Or(branches) = &e.kind else { return e };
    if is_volatile(&e) || branches.len() > FACTORED_BRANCHES_MAX {
        return e;
    }
    let mut split: Vec<Vec<Expr>> = branches.iter().map(|b| conjuncts(vec![b.clone()])).collect();
    let common: Vec<Expr> = split[0].iter().filter(|c| split[1..].iter().all(|b| b.contains(c))).cloned().collect();
    if common.is_empty() {
        return e;
    }
    for b in &mut split {
        b.retain(|c| !common.contains(c));
    }
    let mut parts = common;
    if split.iter().all(|b| !b.is_empty()) {
        parts.push(factor(or(split.into_iter().map(and).collect())));
    }
    and(parts)
}

/// Branches of an OR beyond which nothing is derived from it.
const BRANCHES_MAX: usize = 64;

/// What an OR over several tables implies for the columns of `side` alone: each branch must bind them.
pub fn implied_by_or(p: &Expr, side: &ColumnSet) -> Option<Expr> {
    let ExprKind::Or(branches) = &p.kind else { return None };
    if branches.len() > BRANCHES_MAX || is_volatile(p) {
        return None;
    }
    let mut derived: Vec<Expr> = vec![];
    for b in branches {
        let own: Vec<Expr> = conjuncts(vec![b.clone()])
            .into_iter()
            .filter(|c| {
                let cols = expr_columns(c);
                !cols.is_empty() && cols.is_subset(side)
            })
            .collect();
        if own.is_empty() {
            return None;
        }
        let own = and(own);
        if !derived.contains(&own) {
            derived.push(own);
        }
    }
    Some(or(derived))
}

/// A predicate that is never TRUE.
pub fn never() -> Expr {
    truth(false)
}
