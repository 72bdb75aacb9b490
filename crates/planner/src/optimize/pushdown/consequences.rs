//! What equalities say of other columns: from `a = b` and `a > 5` follows `b > 5`.
//!
//! Only where equal means the same value, and only of predicates on one column. The list is gone through once, what is
//! added included, so chains of equalities are followed to their ends.

use crate::optimize::properties::{column_equality, equality_is_identity};
use crate::optimize::tree::{expr_columns, is_volatile, rename_expr};
use expr::{ColumnId, Expr, ExprKind};
use std::collections::HashMap;

/// Conjuncts up to which consequences of equalities are drawn.
const TRANSITIVE_MAX: usize = 200;

/// Adds what follows from `a = b` and a predicate on one of the two alone.
pub(super) fn add_consequences(all: &mut Vec<Expr>) {
    let pairs: Vec<(ColumnId, ColumnId)> = all
        .iter()
        .filter_map(|p| {
            let pair = column_equality(p)?;
            let ExprKind::Compare { left, .. } = &p.kind else { return None };
            equality_is_identity(&left.ty).then_some(pair)
        })
        .collect();
    if pairs.is_empty() || all.len() > TRANSITIVE_MAX {
        return;
    }
    let mut i = 0;
    while i < all.len() && all.len() <= TRANSITIVE_MAX {
        let columns = expr_columns(&all[i]);
        let mut it = columns.iter();
        if let (Some(c), None) = (it.next(), it.next())
            && !is_volatile(&all[i])
            && small(&all[i])
        {
            for (a, b) in &pairs {
                for (from, to) in [(*a, *b), (*b, *a)] {
                    if from != c {
                        continue;
                    }
                    let mut p = all[i].clone();
                    rename_expr(&mut p, &HashMap::from([(from, to)]));
                    // What the other column can be NULL for is its own affair.
                    p.rewrite(&mut |e| e.nullable |= !matches!(e.kind, ExprKind::Const(_)));
                    if !all.iter().any(|q| same_shape(q, &p)) {
                        all.push(p);
                    }
                }
            }
        }
        i += 1;
    }
}

/// Cheap to copy: no list of thousands.
fn small(p: &Expr) -> bool {
    let mut n = 0;
    p.walk(&mut |e| {
        n += match &e.kind {
            ExprKind::InSet { set, .. } => set.len(),
            _ => 1,
        }
    });
    n <= 1000
}

/// Equal but for what is believed about NULL.
fn same_shape(a: &Expr, b: &Expr) -> bool {
    let plain = |e: &Expr| {
        let mut e = e.clone();
        e.rewrite(&mut |e| e.nullable = true);
        e
    };
    plain(a) == plain(b)
}
