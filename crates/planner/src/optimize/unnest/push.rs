//! The general way: the domain sinks through the operators of the subquery.

use super::super::column_set::ColumnSet;
use super::super::context::Context;
use super::super::properties::not_null;
use super::super::tree::{compare, conjuncts, filter, free_columns, is_column, join, rename_expr};
use super::domain::{Domain, Renames};
use super::one_row::grouped;
use super::push_join::{push_filter, push_join};
use super::same;
use expr::{AggCall, CmpOp, ColumnId, Expr, FrameBound, FrameUnits, WindowCall, WindowFrame, WindowFunc};
use plan::logical::{Logical, LogicalJoinKind, Rows, SetOpKind};
use std::sync::Arc;
use types::{Error, Result, SqlType, Value};

/// `D(f) ⨝dep node`: the node's rows for every value of `f`, and the columns that hold those values.
///
/// The result may hold rows for values outside the domain; they match no row of the left side.
pub(super) fn push(node: Logical, f: &ColumnSet, domain: &mut Domain, cx: &mut Context) -> Result<(Logical, Renames)> {
    if f.is_empty() {
        return Ok((node, Renames::new()));
    }
    if !free_columns(&node).intersects(f) {
        let (d, map) = domain.scan(f, cx)?;
        return Ok(match node {
            Logical::OneRow => (d, map),
            n => (join(LogicalJoinKind::Inner, d, n, vec![]), map),
        });
    }
    match node {
        Logical::Filter { input, predicates } => push_filter(*input, conjuncts(predicates), f, domain, cx),
        Logical::Project { input, exprs } => push_project(*input, exprs, f, domain, cx),
        Logical::Aggregate { rollup: true, .. } => Err(Error::not_supported("a correlated subquery WITH ROLLUP")),
        Logical::Aggregate { input, groups, aggregates, .. } if groups.is_empty() => {
            push_scalar_aggregate(*input, aggregates, f, domain, cx)
        }
        Logical::Aggregate { input, groups, aggregates, rollup: false } => {
            push_aggregate(*input, groups, aggregates, f, domain, cx)
        }
        Logical::Join { kind, left, right, on, dependent, straight } => {
            push_join(kind, *left, *right, on, dependent, straight, f, domain, cx)
        }
        Logical::Distinct { input } => {
            let (input, map) = push(*input, f, domain, cx)?;
            Ok((Logical::Distinct { input: Box::new(input) }, map))
        }
        Logical::Sort { input, .. } => push(*input, f, domain, cx),
        Logical::Limit { input, limit, offset } => push_limit(*input, limit, offset, f, domain, cx),
        Logical::Window { input, mut partition_by, mut order_by, mut calls } => {
            let (input, map) = push(*input, f, domain, cx)?;
            partition_by.iter_mut().chain(order_by.iter_mut().map(|o| &mut o.0)).for_each(|e| rename_expr(e, &map));
            for (_, c) in &mut calls {
                c.args.iter_mut().for_each(|e| rename_expr(e, &map));
            }
            partition_by.extend(f.iter().map(|c| cx.columns.expr(map[&c])));
            Ok((Logical::Window { input: Box::new(input), partition_by, order_by, calls }, map))
        }
        Logical::SetOp { kind, columns, inputs, distinct } => {
            push_set_op(kind, columns, inputs, distinct, f, domain, cx)
        }
        Logical::Values { columns, rows } => push_values(columns, rows, f, domain, cx),
        Logical::With { ctes, input } => {
            if ctes.iter().any(|c| free_columns(&c.plan).intersects(f)) {
                let node = super::super::cte::inline_all(Logical::With { ctes, input }, cx)?;
                return push(node, f, domain, cx);
            }
            let (input, map) = push(*input, f, domain, cx)?;
            Ok((Logical::With { ctes, input: Box::new(input) }, map))
        }
        Logical::RecursiveUnion { .. } => Err(Error::not_supported("a correlated recursive CTE")),
        Logical::OneRow | Logical::Empty { .. } | Logical::Get { .. } | Logical::CteScan { .. } => {
            Err(Error::internal("a leaf with outer references"))
        }
    }
}

/// Projections hand the columns of `f` on.
fn push_project(
    input: Logical,
    mut exprs: Vec<(ColumnId, Expr)>,
    f: &ColumnSet,
    domain: &mut Domain,
    cx: &mut Context,
) -> Result<(Logical, Renames)> {
    let (input, map) = push(input, f, domain, cx)?;
    for (id, e) in &mut exprs {
        if is_column(e, *id) && f.contains(*id) {
            return Err(Error::not_supported("an outer column under its own name"));
        }
        rename_expr(e, &map);
    }
    for k in map.values() {
        if !exprs.iter().any(|e| e.0 == *k) {
            exprs.push((*k, cx.columns.expr(*k)));
        }
    }
    Ok((Logical::Project { input: Box::new(input), exprs }, map))
}

/// An aggregation without GROUP BY yields a row for every value of the domain.
fn push_scalar_aggregate(
    input: Logical,
    aggregates: Vec<(ColumnId, AggCall)>,
    f: &ColumnSet,
    domain: &mut Domain,
    cx: &mut Context,
) -> Result<(Logical, Renames)> {
    let (agg, map, fixed) = grouped(input, aggregates, f, domain, cx)?;
    let (d, names) = domain.scan(f, cx)?;
    let (l, r) = (not_null(&d), not_null(&agg));
    let on = f.iter().map(|c| same(names[&c], map[&c], &l, &r, LogicalJoinKind::Left, cx)).collect();
    let joined = join(LogicalJoinKind::Left, d, agg, on);
    let mut exprs: Vec<_> = names.values().map(|c| (*c, cx.columns.expr(*c))).collect();
    exprs.extend(fixed);
    Ok((Logical::Project { input: Box::new(joined), exprs }, names))
}

/// The columns of `f` become groups too.
fn push_aggregate(
    input: Logical,
    mut groups: Vec<(ColumnId, Expr)>,
    mut aggregates: Vec<(ColumnId, AggCall)>,
    f: &ColumnSet,
    domain: &mut Domain,
    cx: &mut Context,
) -> Result<(Logical, Renames)> {
    let (input, below) = push(input, f, domain, cx)?;
    for e in groups.iter_mut().map(|g| &mut g.1).chain(
        aggregates.iter_mut().flat_map(|(_, a)| a.args.iter_mut().chain(a.order_by.iter_mut().map(|o| &mut o.0))),
    ) {
        rename_expr(e, &below);
    }
    let mut map = Renames::new();
    for c in f.iter() {
        let g = match groups.iter().find(|g| is_column(&g.1, below[&c])) {
            Some(g) => g.0,
            None => {
                let g = cx.column_like(c);
                groups.push((g, cx.columns.expr(below[&c])));
                g
            }
        };
        map.insert(c, g);
    }
    Ok((Logical::Aggregate { input: Box::new(input), groups, aggregates, rollup: false }, map))
}

/// The first rows for each value of `f`: those numbered so.
fn push_limit(
    input: Logical,
    limit: Option<u64>,
    offset: u64,
    f: &ColumnSet,
    domain: &mut Domain,
    cx: &mut Context,
) -> Result<(Logical, Renames)> {
    let (input, mut keys) = match input {
        Logical::Sort { input, keys } => (*input, keys),
        n => (n, vec![]),
    };
    let (input, map) = push(input, f, domain, cx)?;
    keys.iter_mut().for_each(|k| rename_expr(&mut k.0, &map));
    let number = cx.columns.computed("row_number", SqlType::BIGINT_UNSIGNED, false);
    let call = WindowCall {
        func: WindowFunc::RowNumber,
        args: vec![],
        frame: WindowFrame {
            units: FrameUnits::Rows,
            start: FrameBound::UnboundedPreceding,
            end: FrameBound::CurrentRow,
        },
        ty: SqlType::BIGINT_UNSIGNED,
        nullable: false,
    };
    let window = Logical::Window {
        input: Box::new(input),
        partition_by: f.iter().map(|c| cx.columns.expr(map[&c])).collect(),
        order_by: keys,
        calls: vec![(number, call)],
    };
    let n = || Expr::column(number, SqlType::BIGINT_UNSIGNED, false);
    let c = |v: u64| Expr::constant(Value::UInt(v), SqlType::BIGINT_UNSIGNED);
    let mut predicates = vec![];
    if offset > 0 {
        predicates.push(compare(CmpOp::Gt, n(), c(offset)));
    }
    if let Some(l) = limit {
        predicates.push(compare(CmpOp::Le, n(), c(offset.saturating_add(l))));
    }
    Ok((filter(window, predicates), map))
}

/// Every input gets the columns of `f`.
fn push_set_op(
    kind: SetOpKind,
    mut columns: Vec<ColumnId>,
    inputs: Vec<(Logical, Vec<ColumnId>)>,
    distinct: bool,
    f: &ColumnSet,
    domain: &mut Domain,
    cx: &mut Context,
) -> Result<(Logical, Renames)> {
    let mut done = vec![];
    for (n, mut ids) in inputs {
        let (n, map) = push(n, f, domain, cx)?;
        ids.extend(f.iter().map(|c| map[&c]));
        done.push((n, ids));
    }
    let mut map = Renames::new();
    for c in f.iter() {
        let n = cx.column_like(c);
        columns.push(n);
        map.insert(c, n);
    }
    Ok((Logical::SetOp { kind, columns, inputs: done, distinct }, map))
}

/// Rows that read outer columns are projections of the domain.
fn push_values(
    columns: Vec<ColumnId>,
    rows: Rows,
    f: &ColumnSet,
    domain: &mut Domain,
    cx: &mut Context,
) -> Result<(Logical, Renames)> {
    let mut done = vec![];
    let single = rows.len() == 1;
    let mut out = Renames::new();
    for row in Arc::unwrap_or_clone(rows) {
        let (d, map) = domain.scan(f, cx)?;
        let mut exprs = vec![];
        for (c, mut e) in columns.iter().zip(row) {
            rename_expr(&mut e, &map);
            exprs.push((if single { *c } else { cx.column_like(*c) }, e));
        }
        exprs.extend(f.iter().map(|c| (map[&c], cx.columns.expr(map[&c]))));
        let ids = exprs.iter().map(|e| e.0).collect();
        out = map;
        done.push((Logical::Project { input: Box::new(d), exprs }, ids));
    }
    if single {
        let (n, _) = done.pop().expect("one row");
        return Ok((n, out));
    }
    let mut columns = columns;
    for c in f.iter() {
        let n = cx.column_like(c);
        columns.push(n);
        out.insert(c, n);
    }
    Ok((Logical::SetOp { kind: SetOpKind::Union, columns, inputs: done, distinct: false }, out))
}
