//! The domain on its way through filters and joins, and shortcut 2: below a filter `F = x`, x serves as F.

use super::super::column_set::ColumnSet;
use super::super::context::Context;
use super::super::properties::{can_be_null, not_null};
use super::super::tree::{
    as_column, conjuncts, expr_columns, filter, free_columns, is_column, is_not_null, is_volatile, output_set, outputs,
    rename_expr, rename_tree, truth,
};
use super::domain::{Domain, Renames};
use super::push::push;
use super::same;
use expr::{CmpOp, ColumnId, Expr, ExprKind};
use plan::logical::{Logical, LogicalJoinKind};
use types::{Error, Result, Value};

pub(super) fn push_filter(
    input: Logical,
    predicates: Vec<Expr>,
    f: &ColumnSet,
    domain: &mut Domain,
    cx: &mut Context,
) -> Result<(Logical, Renames)> {
    let read_below = free_columns(&input).intersection(f);
    let inside = output_set(&input);
    let mut replaced: Vec<Option<Expr>> = vec![None; predicates.len()];
    let mut stands_for: Vec<(ColumnId, Expr)> = vec![];
    for c in f.iter() {
        if read_below.contains(c) || !domain.safe.contains(c) {
            continue;
        }
        for (i, p) in predicates.iter().enumerate() {
            let Some(x) = equal_to(p, c) else { continue };
            let cols = expr_columns(&x);
            if cols.is_empty() || !cols.is_subset(&inside) || is_volatile(&x) || x.ty != cx.columns.get(c).ty {
                continue;
            }
            let strict = !matches!(&p.kind, ExprKind::Compare { op: CmpOp::NullSafeEq, .. });
            replaced[i] = Some(if strict { is_not_null(x.clone()) } else { truth(true) });
            stands_for.push((c, x));
            break;
        }
    }
    let mut below = f.clone();
    stands_for.iter().for_each(|(c, _)| below.remove(*c));
    if !below.is_empty() && read_below.is_empty() && !stands_for.is_empty() {
        // The domain is needed here anyway: joined by the equalities it brings few rows, as a product of its other
        // columns it would bring many.
        stands_for.clear();
        replaced.fill(None);
        below = f.clone();
    }
    let (mut input, mut map) = push(input, &below, domain, cx)?;
    let mut computed = vec![];
    for (c, x) in stands_for {
        match as_column(&x) {
            Some(k) => {
                map.insert(c, k);
            }
            None => {
                let k = cx.computed("correlated", &x);
                computed.push((k, x));
                map.insert(c, k);
            }
        }
    }
    if !computed.is_empty() {
        let mut exprs: Vec<_> = outputs(&input).into_iter().map(|c| (c, cx.columns.expr(c))).collect();
        exprs.extend(computed);
        input = Logical::Project { input: Box::new(input), exprs };
    }
    let facts = not_null(&input);
    let mut done = vec![];
    for (p, r) in predicates.into_iter().zip(replaced) {
        let mut p = r.unwrap_or(p);
        rename_expr(&mut p, &map);
        let certain = match &p.kind {
            ExprKind::IsNull { expr, negated: true } => !can_be_null(expr, &facts),
            ExprKind::Const(Value::Int(1)) => true,
            _ => false,
        };
        if !certain {
            done.push(p);
        }
    }
    Ok((filter(input, done), map))
}

/// `c = x` or `c <=> x`, either way round: x.
pub(super) fn equal_to(p: &Expr, c: ColumnId) -> Option<Expr> {
    match &p.kind {
        ExprKind::Compare { op: CmpOp::Eq | CmpOp::NullSafeEq, left, right } => {
            if is_column(left, c) {
                Some((**right).clone())
            } else if is_column(right, c) {
                Some((**left).clone())
            } else {
                None
            }
        }
        _ => None,
    }
}

#[allow(clippy::too_many_arguments)]
pub(super) fn push_join(
    kind: LogicalJoinKind,
    left: Logical,
    mut right: Logical,
    mut on: Vec<Expr>,
    dependent: bool,
    straight: bool,
    f: &ColumnSet,
    domain: &mut Domain,
    cx: &mut Context,
) -> Result<(Logical, Renames)> {
    if kind == LogicalJoinKind::Full {
        return Err(Error::not_supported("correlation inside a full join"));
    }
    let build = |left: Logical, right: Logical, on: Vec<Expr>| {
        let dependent = free_columns(&right).intersects(&output_set(&left));
        Logical::Join { kind, left: Box::new(left), right: Box::new(right), on, dependent, straight }
    };
    if kind == LogicalJoinKind::Inner && !dependent {
        let (with, without): (Vec<_>, Vec<_>) = conjuncts(on).into_iter().partition(|p| expr_columns(p).intersects(f));
        if !with.is_empty() {
            return push_filter(build(left, right, without), with, f, domain, cx);
        }
        let (fl, fr) = (free_columns(&left).intersection(f), free_columns(&right).intersection(f));
        if fr.is_empty() {
            let (left, map) = push(left, f, domain, cx)?;
            return Ok((build(left, right, without), map));
        }
        if fl.is_empty() {
            let (right, map) = push(right, f, domain, cx)?;
            return Ok((build(left, right, without), map));
        }
        let (left, mut map) = push(left, &f.difference(&fr.difference(&fl)), domain, cx)?;
        let (right, rmap) = push(right, &fr, domain, cx)?;
        let (l, r) = (not_null(&left), not_null(&right));
        let mut on = without;
        for c in fr.iter() {
            if fl.contains(c) {
                on.push(same(map[&c], rmap[&c], &l, &r, kind, cx));
            } else {
                map.insert(c, rmap[&c]);
            }
        }
        return Ok((build(left, right, on), map));
    }
    // The left side carries all of F; the right side reads it from there.
    let (left, map) = push(left, f, domain, cx)?;
    on.iter_mut().for_each(|p| rename_expr(p, &map));
    if dependent {
        rename_tree(&mut right, &map);
        return Ok((build(left, right, on), map));
    }
    let fr = free_columns(&right).intersection(f);
    if !fr.is_empty() {
        let (r, rmap) = push(right, &fr, domain, cx)?;
        right = r;
        let (l, r) = (not_null(&left), not_null(&right));
        for c in fr.iter() {
            on.push(same(map[&c], rmap[&c], &l, &r, kind, cx));
        }
    }
    Ok((build(left, right, on), map))
}
