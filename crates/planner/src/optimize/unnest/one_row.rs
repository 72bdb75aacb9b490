//! Shortcut 3: a subquery that always yields one row joins by a left join, `L ⨝dep Π(Γ(T))  =  Π'(L ⟕ Γ_F(T'))`.
//!
//! A value of the domain for which T has no row finds no group, where the scalar aggregate yields a row: NULL is that
//! row's value for all aggregates but those that count or combine bits, which get their value of no rows.

use super::super::column_set::ColumnSet;
use super::super::context::Context;
use super::super::properties::not_null;
use super::super::tree::{exprs_columns, free_columns, is_column, join, outputs, rename_expr};
use super::domain::{Domain, Renames};
use super::push::push;
use super::same;
use expr::{AggCall, ColumnId, Expr, ExprKind, OfNothing};
use plan::logical::{Logical, LogicalJoinKind};
use types::{Error, Result, SqlType, Value};

pub(super) fn static_aggregate(node: &Logical) -> bool {
    match node {
        Logical::Aggregate { groups, rollup: false, .. } => groups.is_empty(),
        Logical::Project { input, .. } => static_aggregate(input),
        _ => false,
    }
}

/// `L ⨝dep Π(Γ(T))` without GROUP BY: `Π'(L ⟕ Γ_F(T'))`.
pub(super) fn one_row_subquery(
    left: &Logical,
    right: Logical,
    f: &ColumnSet,
    domain: &mut Domain,
    cx: &mut Context,
) -> Result<Logical> {
    match right {
        Logical::Project { input, exprs } => {
            let joined = one_row_subquery(left, *input, f, domain, cx)?;
            let mut all: Vec<(ColumnId, Expr)> = outputs(left).into_iter().map(|c| (c, cx.columns.expr(c))).collect();
            // A column of the left side that the subquery hands out under its own name is there already.
            all.extend(exprs.into_iter().filter(|(id, e)| !(is_column(e, *id) && f.contains(*id))));
            Ok(Logical::Project { input: Box::new(joined), exprs: all })
        }
        Logical::Aggregate { input, aggregates, .. } => {
            let fa = f.intersection(&free_columns(&input).union(&aggregate_columns(&aggregates)));
            if fa.is_empty() {
                let right = Logical::Aggregate { input, groups: vec![], aggregates, rollup: false };
                return Ok(join(LogicalJoinKind::Inner, left.clone(), right, vec![]));
            }
            let (agg, map, fixed) = grouped(*input, aggregates, &fa, domain, cx)?;
            let (l, r) = (not_null(left), not_null(&agg));
            let on = fa.iter().map(|c| same(c, map[&c], &l, &r, LogicalJoinKind::Left, cx)).collect();
            let joined = join(LogicalJoinKind::Left, left.clone(), agg, on);
            let mut all: Vec<(ColumnId, Expr)> = outputs(left).into_iter().map(|c| (c, cx.columns.expr(c))).collect();
            all.extend(fixed);
            Ok(Logical::Project { input: Box::new(joined), exprs: all })
        }
        _ => Err(Error::internal("not a static aggregate")),
    }
}

pub(super) fn aggregate_columns(aggregates: &[(ColumnId, AggCall)]) -> ColumnSet {
    exprs_columns(aggregates.iter().flat_map(|(_, a)| a.args.iter().chain(a.order_by.iter().map(|o| &o.0))))
}

/// The scalar aggregation of `input`, per value of `f`: the grouped aggregate, where F is in it, and what the original
/// columns are once a missing group reads as NULL.
#[allow(clippy::type_complexity)]
pub(super) fn grouped(
    input: Logical,
    aggregates: Vec<(ColumnId, AggCall)>,
    f: &ColumnSet,
    domain: &mut Domain,
    cx: &mut Context,
) -> Result<(Logical, Renames, Vec<(ColumnId, Expr)>)> {
    let (input, below) = push(input, f, domain, cx)?;
    let mut map = Renames::new();
    let mut groups = vec![];
    for c in f.iter() {
        let g = cx.column_like(c);
        groups.push((g, cx.columns.expr(below[&c])));
        map.insert(c, g);
    }
    let mut inner = vec![];
    let mut fixed = vec![];
    for (id, mut call) in aggregates {
        for e in call.args.iter_mut().chain(call.order_by.iter_mut().map(|o| &mut o.0)) {
            rename_expr(e, &below);
        }
        let n = cx.column_like(id);
        let read = Expr::column(n, call.ty, true);
        let empty = match call.func.record().of_nothing {
            OfNothing::Number(v) => Some(v),
            OfNothing::Null | OfNothing::Never => None,
        };
        let value = match empty {
            None => read,
            Some(v) => {
                let v = if call.ty.is_unsigned() { Value::UInt(v) } else { Value::Int(v as i64) };
                let missing =
                    Expr::new(ExprKind::IsNull { expr: Box::new(read.clone()), negated: false }, SqlType::Bool, false);
                Expr::new(
                    ExprKind::Case {
                        branches: vec![(missing, Expr::constant(v, call.ty))],
                        otherwise: Some(Box::new(read)),
                    },
                    call.ty,
                    false,
                )
            }
        };
        fixed.push((id, value));
        inner.push((n, call));
    }
    let agg = Logical::Aggregate { input: Box::new(input), groups, aggregates: inner, rollup: false };
    Ok((agg, map, fixed))
}
