//! General unnesting: no join's right side reads its left side any more.
//!
//! After Neumann & Kemper, *Unnesting Arbitrary Queries* (BTW 2015), top-down over nested dependent joins as in
//! Neumann, *Improving Unnesting of Complex Queries* (BTW 2025).
//!
//! A dependent join `L ⨝ R` computes R anew for each row of L. R depends on L only through the columns F that it reads;
//! so R need only be computed for the *domain* D, the distinct values of F in L:
//!
//! ```text
//!   L ⨝dep R(F)   =   L ⨝ (D ⨝dep R(F))  on L.F <=> D.F        and  D ⨝dep  sinks through every operator of R
//! ```
//!
//! until it meets a subtree that reads nothing of F, where it is a plain product. Three shortcuts keep D away:
//! 1. *Pull up*: a correlated conjunct with nothing but filters, projections and inner joins above it becomes part of
//!    the join condition.
//! 2. *Substitution*: below a filter `F = x`, x itself serves as F (the rows it adds belong to no row of L).
//! 3. *Static aggregates*: a subquery that always yields one row joins L by a left join; COUNT's NULL becomes 0.
//!
//! What cannot be unnested (correlation inside a recursive CTE, ROLLUP) stays a dependent join, which the executor runs
//! once per distinct value (`PlanOp::Apply`).

mod domain;
mod one_row;
mod pull_up;
mod push;
mod push_join;

use super::column_set::ColumnSet;
use super::context::Context;
use super::properties::{equality_is_identity, not_null};
use super::strategy::stays_dependent;
use super::tree::{
    compare, differs_by_call, filter, free_columns, map_children, output_set, outputs, substitute, visit_mut,
};
use domain::{Domain, only_compared};
use expr::build::collate;
use expr::{CmpOp, ColumnId, Expr};
use one_row::{one_row_subquery, static_aggregate};
use plan::logical::{Logical, LogicalCte, LogicalJoinKind};
use pull_up::{hides_rows, never_unknown, pull_up};
use push::push;
use std::collections::HashMap;
use types::{Collation, Error, ErrorCode, Result, SqlType};

/// Unnests every dependent join of a tree without free columns.
pub fn unnest(mut node: Logical, cx: &mut Context) -> Result<Logical> {
    if let Logical::Join { kind, left, right, on, dependent: true, straight } = node {
        return eliminate(kind, *left, *right, on, straight, cx);
    }
    map_children(&mut node, &mut |c| unnest(c, cx))?;
    Ok(node)
}

fn null_aware(kind: LogicalJoinKind) -> bool {
    matches!(kind, LogicalJoinKind::NullAwareAnti | LogicalJoinKind::Mark { null_aware: true, .. })
}

/// `a` (left) and `b` (right) hold the same value or are both NULL.
fn same(a: ColumnId, b: ColumnId, l: &ColumnSet, r: &ColumnSet, kind: LogicalJoinKind, cx: &Context) -> Expr {
    let plain = if null_aware(kind) { l.contains(a) && r.contains(b) } else { l.contains(a) || r.contains(b) };
    compare(if plain { CmpOp::Eq } else { CmpOp::NullSafeEq }, cx.columns.expr(a), cx.columns.expr(b))
}

/// A join whose right side does not read its left side.
fn independent(kind: LogicalJoinKind, left: Logical, right: Logical, on: Vec<Expr>, straight: bool) -> Logical {
    Logical::Join { kind, left: Box::new(left), right: Box::new(right), on, dependent: false, straight }
}

fn eliminate(
    kind: LogicalJoinKind,
    left: Logical,
    right: Logical,
    mut on: Vec<Expr>,
    straight: bool,
    cx: &mut Context,
) -> Result<Logical> {
    let left = unnest(left, cx)?;
    let f = free_columns(&right).intersection(&output_set(&left));
    let plain = |left, right, on| independent(kind, left, right, on, straight);
    if f.is_empty() && !differs_by_call(&right) {
        return Ok(plain(left, unnest(right, cx)?, on));
    }
    if f.is_empty() || stays_dependent(kind, &left, &right, &on, cx) {
        let right = unnest(right, cx)?;
        return Ok(Logical::Join { kind, left: Box::new(left), right: Box::new(right), on, dependent: true, straight });
    }
    // 1. Pull the correlated conjuncts up into the condition.
    if !hides_rows(kind, &right) {
        let mut pulled = vec![];
        let candidate = pull_up(right.clone(), &f, &mut pulled);
        if !free_columns(&candidate).intersects(&f) {
            let mut right = candidate;
            for p in pulled {
                let (p, guard) = if null_aware(kind) { never_unknown(p, &left, &right) } else { (p, None) };
                right = filter(right, guard.into_iter().collect());
                on.push(p);
            }
            return Ok(plain(left, unnest(right, cx)?, on));
        }
    }
    let (left, right, added) = exact_text(left, right, &f, cx)?;
    let joined = by_domain(kind, left, right, on, straight, cx)?;
    if added.is_empty() {
        return Ok(joined);
    }
    let exprs = outputs(&joined).into_iter().filter(|c| !added.contains(*c)).map(|c| (c, cx.columns.expr(c))).collect();
    Ok(Logical::Project { input: Box::new(joined), exprs })
}

/// Outer strings whose collation holds different texts equal, where the subquery looks at more than comparisons: the
/// left side hands them down as bytes in an added column, the subquery reads them back from there.
fn exact_text(
    left: Logical,
    mut right: Logical,
    f: &ColumnSet,
    cx: &mut Context,
) -> Result<(Logical, Logical, ColumnSet)> {
    let mut added = ColumnSet::new();
    let mut computed = vec![];
    let mut read = HashMap::new();
    for c in f.iter() {
        let e = cx.columns.expr(c);
        let SqlType::String { collation, .. } = e.ty else { continue };
        if equality_is_identity(&e.ty)
            || collation.charset() != Collation::Utf8mb4_0900Bin.charset()
            || only_compared(&right, c)
        {
            continue;
        }
        let exact = collate(e, Collation::Utf8mb4_0900Bin, Collation::Utf8mb4_0900Bin)?;
        let id = cx.computed("correlated", &exact);
        added.insert(id);
        computed.push((id, exact));
        read.insert(c, collate(cx.columns.expr(id), collation, collation)?);
    }
    if added.is_empty() {
        return Ok((left, right, added));
    }
    visit_mut(&mut right, &mut |n| n.exprs_mut().into_iter().for_each(|e| substitute(e, &read)));
    let mut exprs: Vec<_> = outputs(&left).into_iter().map(|c| (c, cx.columns.expr(c))).collect();
    exprs.extend(computed);
    Ok((Logical::Project { input: Box::new(left), exprs }, right, added))
}

/// Shortcuts 2 and 3 and the general way.
fn by_domain(
    kind: LogicalJoinKind,
    left: Logical,
    right: Logical,
    mut on: Vec<Expr>,
    straight: bool,
    cx: &mut Context,
) -> Result<Logical> {
    let f = free_columns(&right).intersection(&output_set(&left));
    let plain = |left, right, on| independent(kind, left, right, on, straight);
    let mut domain = Domain::new(&left, &right, &f, cx);
    // 2. A subquery that yields one row whatever happens.
    if matches!(kind, LogicalJoinKind::Inner | LogicalJoinKind::Left | LogicalJoinKind::Single)
        && (on.is_empty() || kind == LogicalJoinKind::Inner)
        && static_aggregate(&right)
    {
        match one_row_subquery(&left, right.clone(), &f, &mut domain, cx) {
            Ok(joined) => {
                let joined = filter(joined, on);
                return share(joined, left, domain, cx).and_then(|n| unnest_right_of(n, cx));
            }
            Err(e) if e.code() == ErrorCode::NOT_SUPPORTED_YET => {
                domain = Domain::new(&left, &right, &f, cx);
            }
            Err(e) => return Err(e),
        }
    }
    // 3. The general way.
    match push(right.clone(), &f, &mut domain, cx) {
        Ok((right, map)) => {
            let (l, r) = (not_null(&left), not_null(&right));
            for c in f.iter() {
                on.push(same(c, map[&c], &l, &r, kind, cx));
            }
            let right = unnest(right, cx)?;
            let joined = plain(left.clone(), right, on);
            share(joined, left, domain, cx)
        }
        Err(e) if e.code() == ErrorCode::NOT_SUPPORTED_YET => {
            Ok(Logical::Join { kind, left: Box::new(left), right: Box::new(right), on, dependent: true, straight })
        }
        Err(e) => Err(e),
    }
}

/// The right sides made by [`one_row_subquery`] may hold dependent joins still; the left side is done.
fn unnest_right_of(mut node: Logical, cx: &mut Context) -> Result<Logical> {
    match &mut node {
        Logical::With { input, .. } | Logical::Filter { input, .. } | Logical::Project { input, .. } => {
            **input = unnest_right_of(super::tree::take(input), cx)?;
        }
        Logical::Join { right, .. } => **right = unnest(super::tree::take(right), cx)?,
        _ => {}
    }
    Ok(node)
}

/// If the domain read a shared copy of the left side: defines it, and lets the join read it too.
fn share(joined: Logical, left: Logical, domain: Domain, cx: &mut Context) -> Result<Logical> {
    let Some(cte_id) = domain.shared else { return Ok(joined) };
    let output = outputs(&left);
    let (copy, map) = cx.fresh_copy(&left);
    let scan = Logical::CteScan {
        cte_id,
        name: "outer".into(),
        columns: output.iter().enumerate().map(|(i, c)| (*c, i)).collect(),
    };
    let mut joined = joined;
    if !replace_left(&mut joined, scan) {
        return Err(Error::internal("the left side of an unnested join is gone"));
    }
    let output = output.iter().map(|c| map.get(c).copied().unwrap_or(*c)).collect();
    let cte = LogicalCte { cte_id, name: "outer".into(), plan: copy, output, apart: false };
    Ok(Logical::With { ctes: vec![cte], input: Box::new(joined) })
}

fn replace_left(node: &mut Logical, by: Logical) -> bool {
    match node {
        Logical::Filter { input, .. } | Logical::Project { input, .. } => replace_left(input, by),
        Logical::Join { left, .. } => {
            **left = by;
            true
        }
        _ => false,
    }
}
