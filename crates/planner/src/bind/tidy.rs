//! Last touches: constants are computed, and columns that nothing reads leave their tables.

use expr::{ColumnId, EvalContext, Expr, ExprKind, Params, SessionInfo, UserVars, Warnings, build, fold};
use plan::logical::{Logical, LogicalQuery, SubqueryKind};
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicBool;
use types::SqlType;

/// Computes what is constant in this execution of the statement. Conditions that became TRUE go.
pub fn fold_constants(query: &mut LogicalQuery, session: &SessionInfo) {
    let (params, user_vars, warnings) = (Params::default(), UserVars::default(), Warnings::new(0));
    let killed = AtomicBool::new(false);
    let ctx = EvalContext { session, params: &params, user_vars: &user_vars, warnings: &warnings, killed: &killed };
    let of_session = Cell::new(false);
    let each = |node: &mut Logical| {
        loop {
            for e in node.exprs_mut() {
                fold_one(e, &ctx, &of_session);
            }
            if let Logical::Filter { predicates, .. } | Logical::Join { on: predicates, .. } = node {
                predicates.retain(|p| !super::joins::is_true(p));
            }
            match node {
                Logical::Filter { input, predicates } if predicates.is_empty() => {
                    *node = std::mem::replace(&mut **input, Logical::OneRow);
                }
                _ => break,
            }
        }
    };
    query.root.walk_mut(&mut &each);
    for def in &mut query.subqueries {
        def.plan.walk_mut(&mut &each);
        if let SubqueryKind::Quantified { left, .. } = &mut def.kind {
            left.iter_mut().for_each(|e| fold_one(e, &ctx, &of_session));
        }
    }
    query.cacheable &= !of_session.get();
}

/// User variables that the statement does not assign have one value while it runs.
pub fn fix_variables(query: &mut LogicalQuery, assigned: &HashMap<String, SqlType>) {
    let fix = |e: &mut Expr| {
        e.rewrite(&mut |e| {
            if let ExprKind::UserVar { name, is_fixed } = &mut e.kind {
                *is_fixed = !assigned.contains_key(&name.to_lowercase());
            }
        });
    };
    let each = |node: &mut Logical| node.exprs_mut().into_iter().for_each(fix);
    query.root.walk_mut(&mut &each);
    for def in &mut query.subqueries {
        def.plan.walk_mut(&mut &each);
        if let SubqueryKind::Quantified { left, .. } = &mut def.kind {
            left.iter_mut().for_each(fix);
        }
    }
}

fn fold_one(e: &mut Expr, ctx: &EvalContext, of_session: &Cell<bool>) {
    if matches!(e.kind, ExprKind::Column(_) | ExprKind::Const(_)) {
        return;
    }
    e.walk(&mut |e| {
        let reads = match &e.kind {
            ExprKind::Call { function, .. } => function.is_session(),
            // In the session's time zone.
            ExprKind::Cast { .. } => matches!(e.ty, SqlType::Timestamp { .. }),
            _ => false,
        };
        if reads {
            of_session.set(true);
        }
    });
    *e = fold(std::mem::replace(e, build::null()), ctx);
}

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

fn collect_expr(e: &Expr, used: &mut HashSet<ColumnId>) {
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
