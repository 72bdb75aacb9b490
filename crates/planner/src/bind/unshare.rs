//! Gives every place where a subquery stands a definition of its own.
//!
//! Binding copies expressions: an alias in HAVING stands for its item, `x BETWEEN a AND b` reads `x` twice. Where such
//! an expression holds a subquery, its id would stand twice. Rewrites turn a subquery into a join at the one place
//! where it stands, so every further place gets a copy: same plan, fresh columns. Definitions that stand nowhere any
//! more (of sort keys that mean nothing, of EXISTS' items) are dropped.

use expr::{ColumnId, Expr, ExprKind, SubqueryId};
use plan::logical::{Logical, LogicalQuery, SubqueryKind};
use std::collections::HashMap;

/// `cte_count`: ids that the statement's CTEs have taken.
pub fn unshare_subqueries(query: &mut LogicalQuery, mut cte_count: u32) {
    if query.subqueries.is_empty() {
        return;
    }
    let mut seen = vec![false; query.subqueries.len()];
    let mut root = std::mem::replace(&mut query.root, Logical::OneRow);
    visit(&mut root, query, &mut seen, &mut cte_count);
    // Keep what was seen, in order.
    let mut new_ids: Vec<SubqueryId> = vec![];
    let mut count = 0;
    for s in &seen {
        new_ids.push(count);
        count += *s as SubqueryId;
    }
    let mut position = 0;
    query.subqueries.retain(|_| {
        position += 1;
        seen[position - 1]
    });
    renumber(&mut root, &new_ids);
    for (i, def) in query.subqueries.iter_mut().enumerate() {
        def.id = i as SubqueryId;
        renumber(&mut def.plan, &new_ids);
        if let SubqueryKind::Quantified { left, .. } = &mut def.kind {
            left.iter_mut().for_each(|e| renumber_expr(e, &new_ids));
        }
    }
    query.root = root;
}

fn renumber(plan: &mut Logical, new_ids: &[SubqueryId]) {
    plan.walk_mut(&mut |node| node.exprs_mut().into_iter().for_each(|e| renumber_expr(e, new_ids)));
}

fn renumber_expr(e: &mut Expr, new_ids: &[SubqueryId]) {
    e.rewrite(&mut |e| {
        if let ExprKind::Subquery(id) = &mut e.kind {
            *id = new_ids[*id as usize];
        }
    });
}

fn visit(plan: &mut Logical, query: &mut LogicalQuery, seen: &mut Vec<bool>, ctes: &mut u32) {
    plan.walk_mut(&mut |node| node.exprs_mut().into_iter().for_each(|e| visit_expr(e, query, seen, ctes)));
}

fn visit_expr(e: &mut Expr, query: &mut LogicalQuery, seen: &mut Vec<bool>, ctes: &mut u32) {
    e.rewrite(&mut |e| {
        let ExprKind::Subquery(id) = &mut e.kind else { return };
        if seen[*id as usize] {
            *id = copy(*id, query, ctes);
            seen.resize(query.subqueries.len(), false);
        }
        let idx = *id as usize;
        seen[idx] = true;
        let mut plan = std::mem::replace(&mut query.subqueries[idx].plan, Logical::OneRow);
        visit(&mut plan, query, seen, ctes);
        query.subqueries[idx].plan = plan;
        let mut kind = std::mem::replace(&mut query.subqueries[idx].kind, SubqueryKind::Scalar);
        if let SubqueryKind::Quantified { left, .. } = &mut kind {
            left.iter_mut().for_each(|e| visit_expr(e, query, seen, ctes));
        }
        query.subqueries[idx].kind = kind;
    });
}

struct Renames {
    columns: HashMap<ColumnId, ColumnId>,
    ctes: HashMap<u32, u32>,
}

/// A copy of a definition, with fresh columns, and of the definitions in it.
fn copy(id: SubqueryId, query: &mut LogicalQuery, cte_count: &mut u32) -> SubqueryId {
    let produced = query.subqueries[id as usize].plan.produced_columns(&query.subqueries);
    let mut columns = HashMap::new();
    for c in produced {
        let info = query.columns.get(c).clone();
        columns.insert(c, query.columns.add(info));
    }
    let mut ctes = HashMap::new();
    query.subqueries[id as usize].plan.walk(&mut |node| {
        for cte_id in defined_ctes(node) {
            ctes.insert(cte_id, *cte_count);
            *cte_count += 1;
        }
    });
    copy_renamed(id, query, &Renames { columns, ctes })
}

fn defined_ctes(node: &Logical) -> Vec<u32> {
    match node {
        Logical::With { ctes, .. } => ctes.iter().map(|c| c.cte_id).collect(),
        Logical::RecursiveUnion { cte_id, .. } => vec![*cte_id],
        _ => vec![],
    }
}

fn copy_renamed(id: SubqueryId, query: &mut LogicalQuery, renames: &Renames) -> SubqueryId {
    let mut def = query.subqueries[id as usize].clone();
    rename_plan(&mut def.plan, query, renames);
    if let SubqueryKind::Quantified { left, .. } = &mut def.kind {
        left.iter_mut().for_each(|e| rename_expr(e, query, renames));
    }
    def.output.iter_mut().for_each(|c| rename(c, renames));
    def.id = query.subqueries.len() as SubqueryId;
    let new = def.id;
    query.subqueries.push(def);
    new
}

fn rename(id: &mut ColumnId, renames: &Renames) {
    if let Some(new) = renames.columns.get(id) {
        *id = *new;
    }
}

fn rename_expr(e: &mut Expr, query: &mut LogicalQuery, renames: &Renames) {
    e.rewrite(&mut |e| match &mut e.kind {
        ExprKind::Column(id) => rename(id, renames),
        ExprKind::Subquery(id) => *id = copy_renamed(*id, query, renames),
        _ => {}
    });
}

fn rename_plan(plan: &mut Logical, query: &mut LogicalQuery, renames: &Renames) {
    plan.walk_mut(&mut |node| {
        node.exprs_mut().into_iter().for_each(|e| rename_expr(e, query, renames));
        let ids: Vec<&mut ColumnId> = match node {
            Logical::Empty { columns } | Logical::Values { columns, .. } => columns.iter_mut().collect(),
            Logical::Get { columns, row_id, .. } => columns.iter_mut().map(|(id, _)| id).chain(row_id).collect(),
            Logical::CteScan { columns, cte_id, .. } => {
                *cte_id = *renames.ctes.get(cte_id).unwrap_or(cte_id);
                columns.iter_mut().map(|(id, _)| id).collect()
            }
            Logical::Project { exprs, .. } => exprs.iter_mut().map(|(id, _)| id).collect(),
            Logical::Aggregate { groups, aggregates, .. } => {
                groups.iter_mut().map(|(id, _)| id).chain(aggregates.iter_mut().map(|(id, _)| id)).collect()
            }
            Logical::Window { calls, .. } => calls.iter_mut().map(|(id, _)| id).collect(),
            Logical::SetOp { columns, inputs, .. } => {
                columns.iter_mut().chain(inputs.iter_mut().flat_map(|(_, ids)| ids)).collect()
            }
            Logical::With { ctes, .. } => {
                for c in ctes.iter_mut() {
                    c.cte_id = *renames.ctes.get(&c.cte_id).unwrap_or(&c.cte_id);
                }
                ctes.iter_mut().flat_map(|c| &mut c.output).collect()
            }
            Logical::RecursiveUnion { cte_id, columns, anchor, recursive, .. } => {
                *cte_id = *renames.ctes.get(cte_id).unwrap_or(cte_id);
                columns.iter_mut().chain(&mut anchor.1).chain(&mut recursive.1).collect()
            }
            Logical::OneRow
            | Logical::Filter { .. }
            | Logical::Join { .. }
            | Logical::Distinct { .. }
            | Logical::Sort { .. }
            | Logical::Limit { .. } => vec![],
        };
        ids.into_iter().for_each(|id| rename(id, renames));
    });
}
