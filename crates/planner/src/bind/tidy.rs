//! Last touches: columns that nothing reads leave their tables.

use expr::ColumnId;
use expr::ExprKind;
use plan::logical::{Logical, LogicalQuery, SubqueryKind};
use std::collections::HashSet;

/// Takes columns that nothing reads out of each Get.
pub fn drop_unused_columns(query: &mut LogicalQuery) {
    let mut used: HashSet<ColumnId> = query.output.iter().map(|(id, _)| *id).collect();
    collect(&query.root, &mut used);
    for def in &query.subqueries {
        used.extend(&def.output);
        collect(&def.plan, &mut used);
        if let SubqueryKind::Quantified { left, .. } = &def.kind {
            left.iter().for_each(|e| collect_expr(e, &mut used));
        }
    }
    prune(&mut query.root, &used);
    for def in &mut query.subqueries {
        prune(&mut def.plan, &used);
    }
}

fn collect_expr(e: &expr::Expr, used: &mut HashSet<ColumnId>) {
    e.walk(&mut |e| {
        if let ExprKind::Column(id) = e.kind {
            used.insert(id);
        }
    });
}

fn collect(plan: &Logical, used: &mut HashSet<ColumnId>) {
    plan.walk(&mut |node| {
        node.exprs().into_iter().for_each(|e| collect_expr(e, used));
        match node {
            Logical::SetOp { inputs, .. } => used.extend(inputs.iter().flat_map(|(_, ids)| ids)),
            Logical::RecursiveUnion { anchor, recursive, .. } => used.extend(anchor.1.iter().chain(&recursive.1)),
            Logical::With { ctes, .. } => used.extend(ctes.iter().flat_map(|c| &c.output)),
            _ => {}
        }
    });
}

fn prune(plan: &mut Logical, used: &HashSet<ColumnId>) {
    plan.walk_mut(&mut |node| {
        if let Logical::Get { columns, row_id, .. } = node {
            columns.retain(|(id, _)| used.contains(id));
            row_id.take_if(|id| !used.contains(id));
        }
    });
}
