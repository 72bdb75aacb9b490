//! Group by keys alone: columns that the other group columns determine need not be grouped on.
//!
//! `GROUP BY c_custkey, c_name, n_name` with `c_nationkey = n_nationkey`: the customer's key fixes the customer's row,
//! that fixes c_nationkey = n_nationkey, and that fixes n_name. So the groups are those of c_custkey, and the other
//! columns are any value of their group.

use super::column_set::ColumnSet;
use super::context::Context;
use super::properties::{column_equality, covered, keys};
use super::tree::{as_column, expr_columns, fresh_name_below, map_children, output_set, take};
use expr::{AggCall, AggFunc, ColumnId, Expr, ExprKind};
use plan::logical::{Logical, LogicalJoinKind};
use types::Result;

/// `from` determines `to`.
struct Dependency {
    from: ColumnSet,
    to: ColumnSet,
}

/// Reduces the group columns of every aggregation.
pub fn reduce_groups(mut node: Logical, cx: &mut Context) -> Result<Logical> {
    map_children(&mut node, &mut |c| reduce_groups(c, cx))?;
    let Logical::Aggregate { mut input, groups, aggregates, rollup: false } = node else { return Ok(node) };
    if aggregates.is_empty() && !groups.is_empty() {
        // Rows that are distinct already need no groups.
        let plain: ColumnSet = groups.iter().filter_map(|g| as_column(&g.1)).collect();
        if covered(&keys(&input), &plain) {
            return Ok(Logical::Project { input, exprs: groups });
        }
    }
    let mut columns: Vec<ColumnId> = groups.iter().filter_map(|g| as_column(&g.1)).collect();
    let mut dependencies = vec![];
    if columns.len() > 1 && columns.len() == groups.len() {
        collect(&input, &mut dependencies);
    }
    // Drop what the rest determines, the costliest to hash first.
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse((width(&groups[*i].1), *i)));
    let mut dropped = vec![];
    if !dependencies.is_empty() {
        for i in order {
            let Some(c) = as_column(&groups[i].1) else { continue };
            let rest: ColumnSet = columns.iter().filter(|x| **x != c).collect();
            if !rest.is_empty() && closure(rest, &dependencies).contains(c) {
                columns.retain(|x| *x != c);
                dropped.push(i);
            }
        }
    }
    // The aggregate brings a dropped column into being anew: below, it takes another name.
    let mut whole = Logical::Aggregate { input: Box::new(take(&mut input)), groups, aggregates, rollup: false };
    for i in &dropped {
        let Logical::Aggregate { groups, .. } = &whole else { continue };
        let id = groups[*i].0;
        if as_column(&groups[*i].1) == Some(id) {
            let below = cx.column_like(id);
            fresh_name_below(&mut whole, id, below);
        }
    }
    let Logical::Aggregate { input, groups, mut aggregates, .. } = whole else {
        return Err(types::Error::internal("an aggregate turned into something else"));
    };
    let mut kept = vec![];
    for (i, (id, e)) in groups.into_iter().enumerate() {
        if !dropped.contains(&i) {
            kept.push((id, e));
            continue;
        }
        let (ty, nullable) = (e.ty, e.nullable);
        let call = AggCall {
            func: AggFunc::AnyValue,
            args: vec![e],
            distinct: false,
            order_by: vec![],
            separator: ",".into(),
            ty,
            nullable,
        };
        aggregates.push((id, call));
    }
    Ok(Logical::Aggregate { input, groups: kept, aggregates, rollup: false })
}

fn width(e: &Expr) -> u32 {
    match e.ty {
        types::SqlType::String { len, .. } => 100 + len.min(1 << 20),
        types::SqlType::Decimal { .. } => 16,
        _ => 8,
    }
}

fn closure(mut columns: ColumnSet, dependencies: &[Dependency]) -> ColumnSet {
    loop {
        let before = columns.len();
        for d in dependencies {
            if d.from.is_subset(&columns) {
                columns.union_with(&d.to);
            }
        }
        if columns.len() == before {
            return columns;
        }
    }
}

fn equalities(predicates: &[Expr], into: &mut Vec<Dependency>) {
    for p in predicates {
        if let Some((a, b)) = column_equality(p) {
            // Equal under a collation is not the same text.
            if let ExprKind::Compare { left, .. } = &p.kind
                && super::properties::equality_is_identity(&left.ty)
            {
                let one = |c: ColumnId| ColumnSet::from_iter([c]);
                into.push(Dependency { from: one(a), to: one(b) });
                into.push(Dependency { from: one(b), to: one(a) });
            }
        }
    }
}

/// Dependencies that hold among the columns of a tree's result.
fn collect(node: &Logical, into: &mut Vec<Dependency>) {
    match node {
        Logical::Get { .. } => {
            let all = output_set(node);
            for k in keys(node) {
                into.push(Dependency { from: k, to: all.clone() });
            }
        }
        Logical::Filter { input, predicates } => {
            equalities(predicates, into);
            collect(input, into);
        }
        Logical::Project { input, exprs } => {
            collect(input, into);
            for (id, e) in exprs {
                let from = expr_columns(e);
                // Of strings equal under a collation, what is computed from them may differ.
                let mut exact = true;
                e.walk(&mut |e| {
                    if let ExprKind::Column(_) = e.kind {
                        exact &= super::properties::equality_is_identity(&e.ty);
                    }
                });
                if !from.is_empty() && (exact || as_column(e).is_some()) && !super::tree::is_volatile(e) {
                    into.push(Dependency { from, to: [*id].into_iter().collect() });
                }
            }
        }
        Logical::Sort { input, .. } | Logical::Limit { input, .. } | Logical::With { input, .. } => {
            collect(input, into)
        }
        Logical::Aggregate { groups, rollup: false, .. } => {
            into.push(Dependency { from: groups.iter().map(|g| g.0).collect(), to: output_set(node) });
        }
        Logical::Join { kind, left, right, on, .. } => {
            collect(left, into);
            match kind {
                LogicalJoinKind::Inner => {
                    equalities(on, into);
                    collect(right, into);
                }
                // Padding keeps a key's dependants: key NULL, all NULL.
                LogicalJoinKind::Left if matches!(**right, Logical::Get { .. } | Logical::Filter { .. }) => {
                    collect_keys_only(right, into);
                }
                LogicalJoinKind::Semi => {}
                _ => {}
            }
        }
        _ => {}
    }
}

fn collect_keys_only(node: &Logical, into: &mut Vec<Dependency>) {
    match node {
        Logical::Get { .. } => collect(node, into),
        Logical::Filter { input, .. } => collect_keys_only(input, into),
        _ => {}
    }
}
