//! Shortcut 1: correlated conjuncts with nothing but filters, projections and inner joins above them become part of the
//! join's condition.

use super::super::column_set::ColumnSet;
use super::super::properties::{can_be_null, not_null};
use super::super::tree::{
    collect_columns, compare, conjuncts, expr_columns, filter, is_not_null, is_volatile, output_set, outputs,
};
use expr::{CmpOp, ColumnId, Expr, ExprKind, Truth};
use plan::logical::{Logical, LogicalJoinKind};
use std::collections::HashMap;
use types::SqlType;

/// Would pulling conjuncts above `right` change which rows a Single join counts or a limit keeps? Filters commute with
/// everything [`pull_up`] passes, so only the join kind matters; a full join keeps both sides.
pub(super) fn hides_rows(kind: LogicalJoinKind, _right: &Logical) -> bool {
    kind == LogicalJoinKind::Full
}

/// Takes the conjuncts that read `f` out of filters and inner joins near the top. Columns they need stay visible.
pub(super) fn pull_up(node: Logical, f: &ColumnSet, pulled: &mut Vec<Expr>) -> Logical {
    match node {
        Logical::Filter { input, predicates } => {
            let (with, without): (Vec<_>, Vec<_>) =
                conjuncts(predicates).into_iter().partition(|p| expr_columns(p).intersects(f) && !is_volatile(p));
            let input = pull_up(*input, f, pulled);
            pulled.extend(with);
            filter(input, without)
        }
        Logical::Project { input, mut exprs } => {
            let from = pulled.len();
            let input = pull_up(*input, f, pulled);
            let mut needed = ColumnSet::new();
            for p in &pulled[from..] {
                collect_columns(p, &mut needed);
            }
            let have: ColumnSet = exprs.iter().map(|e| e.0).collect();
            let facts = not_null(&input);
            let available: Vec<(ColumnId, SqlType)> = {
                let mut seen = HashMap::new();
                for p in &pulled[from..] {
                    p.walk(&mut |e| {
                        if let ExprKind::Column(c) = e.kind {
                            seen.insert(c, e.ty);
                        }
                    });
                }
                outputs(&input).into_iter().filter_map(|c| seen.get(&c).map(|t| (c, *t))).collect()
            };
            for (c, ty) in available {
                if needed.contains(c) && !have.contains(c) {
                    exprs.push((c, Expr::column(c, ty, !facts.contains(c))));
                }
            }
            Logical::Project { input: Box::new(input), exprs }
        }
        Logical::Join { kind: LogicalJoinKind::Inner, left, right, on, dependent: false, straight } => {
            let left = pull_up(*left, f, pulled);
            let right = pull_up(*right, f, pulled);
            let (with, without): (Vec<_>, Vec<_>) =
                conjuncts(on).into_iter().partition(|p| expr_columns(p).intersects(f) && !is_volatile(p));
            pulled.extend(with);
            Logical::Join {
                kind: LogicalJoinKind::Inner,
                left: Box::new(left),
                right: Box::new(right),
                on: without,
                dependent: false,
                straight,
            }
        }
        Logical::Join {
            kind:
                kind @ (LogicalJoinKind::Semi
                | LogicalJoinKind::Anti
                | LogicalJoinKind::NullAwareAnti
                | LogicalJoinKind::Left
                | LogicalJoinKind::Single
                | LogicalJoinKind::Mark { .. }),
            left,
            right,
            on,
            dependent,
            straight,
        } => {
            let left = Box::new(pull_up(*left, f, pulled));
            Logical::Join { kind, left, right, on, dependent, straight }
        }
        Logical::Sort { input, keys } => Logical::Sort { input: Box::new(pull_up(*input, f, pulled)), keys },
        n => n,
    }
}

/// A form of `p` that is FALSE where `p` is UNKNOWN; hashable if `p` is an equality of left and right: then the right
/// side is to be filtered by the second result.
pub(super) fn never_unknown(p: Expr, left: &Logical, right: &Logical) -> (Expr, Option<Expr>) {
    let facts = not_null(left).union(&not_null(right));
    if !can_be_null(&p, &facts) {
        return (p, None);
    }
    if let ExprKind::Compare { op: CmpOp::Eq, left: a, right: b } = &p.kind {
        let inside = output_set(right);
        for (x, y) in [(a, b), (b, a)] {
            let cols = expr_columns(y);
            if !cols.is_empty() && cols.is_subset(&inside) && !expr_columns(x).intersects(&inside) {
                let guard = is_not_null((**y).clone());
                return (compare(CmpOp::NullSafeEq, (**a).clone(), (**b).clone()), Some(guard));
            }
        }
    }
    let e = ExprKind::IsTruth { expr: Box::new(p), truth: Truth::True, negated: false };
    (Expr::new(e, SqlType::Bool, false), None)
}
