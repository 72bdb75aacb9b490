//! Last touches: constants are computed, and columns that nothing reads leave their tables.

use super::api::SystemVariables;
use expr::{ColumnId, EvalContext, Expr, ExprKind, Params, SessionInfo, UserVars, Warnings, build, fold_overseen};
use plan::logical::{Columns, Logical, LogicalQuery, SubqueryKind};
use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use types::{Pace, SqlType};

/// The column of `plan` gets all digits of the quotient or average that it is, beyond those of its type.
pub(super) fn keep_digits(plan: &mut Logical, id: ColumnId, columns: &mut Columns) {
    if let Logical::Project { exprs, .. } = plan
        && let Some((_, e)) = exprs.iter_mut().find(|(item, _)| *item == id)
        && let Some(exact) = build::all_digits(e)
    {
        columns.get_mut(id).ty = exact.ty;
        *e = exact;
    }
}

/// Computes what is constant in this execution of the statement. Conditions that became TRUE go.
pub fn fold_constants(query: &mut LogicalQuery, session: &SessionInfo, pace: &Pace) {
    let (params, user_vars, warnings) = (Params::default(), UserVars::default(), Warnings::new(0));
    let ctx = EvalContext::new(session, &params, &user_vars, &warnings, &session.stop);
    let of_session = Cell::new(false);
    let each = |node: &mut Logical| {
        loop {
            for e in node.exprs_mut() {
                fold_one(e, &ctx, &of_session, pace);
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
            left.iter_mut().for_each(|e| fold_one(e, &ctx, &of_session, pace));
        }
    }
    query.cacheable &= !of_session.get();
}

/// User variables that the statement does not assign have one value while it runs. Where they are compared with columns
/// of another kind they are compared as a constant of their value would be.
pub fn fix_variables(query: &mut LogicalQuery, assigned: &HashMap<String, SqlType>, variables: &dyn SystemVariables) {
    let fix = |e: &mut Expr| {
        e.rewrite(&mut |e| {
            if let ExprKind::UserVar { name, is_fixed } = &mut e.kind {
                *is_fixed = !assigned.contains_key(&name.to_lowercase());
            }
            if let Some(compared) = compared_by_value(e, variables) {
                *e = compared;
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

/// A comparison of an integer column with variables that hold strings, or of a date with some that hold numbers, as one
/// with constants.
fn compared_by_value(e: &Expr, variables: &dyn SystemVariables) -> Option<Expr> {
    match &e.kind {
        ExprKind::Compare { op, left, right } => {
            if let (Some(l), Some(r)) = (converted(left), value_of(right, variables)) {
                return needs_value(l, &r).then(|| build::compare(*op, l.clone(), r).ok())?;
            }
            let (l, r) = (value_of(left, variables)?, converted(right)?);
            needs_value(r, &l).then(|| build::compare(*op, l, r.clone()).ok())?
        }
        ExprKind::InList { expr, list, negated } => {
            let column = converted(expr)?;
            let item = |item: &Expr| {
                let value = value_of(item, variables).or_else(|| match &item.kind {
                    ExprKind::Const(_) => Some(item.clone()),
                    ExprKind::Cast { expr, explicit: false } if expr.as_const().is_some() => Some((**expr).clone()),
                    _ => None,
                });
                value.filter(|v| needs_value(column, v))
            };
            let items = list.iter().map(item).collect::<Option<Vec<_>>>()?;
            build::in_list(column.clone(), items, *negated).ok()
        }
        _ => None,
    }
}

/// The column that is converted to be compared.
fn converted(e: &Expr) -> Option<&Expr> {
    match &e.kind {
        ExprKind::Cast { expr, explicit: false } if matches!(expr.kind, ExprKind::Column(_)) => Some(expr),
        _ => None,
    }
}

fn value_of(e: &Expr, variables: &dyn SystemVariables) -> Option<Expr> {
    match &e.kind {
        ExprKind::UserVar { name, is_fixed: true } => {
            let (value, ty) = variables.user_variable(name)?;
            (!value.is_null()).then(|| Expr::constant(value, ty))
        }
        ExprKind::Cast { expr, explicit: false } => match expr.kind {
            ExprKind::UserVar { .. } => value_of(expr, variables),
            _ => None,
        },
        _ => None,
    }
}

fn needs_value(column: &Expr, value: &Expr) -> bool {
    column.ty.is_integer() && value.ty.is_string() || column.ty.is_temporal() && value.ty.is_integer()
}

fn fold_one(e: &mut Expr, ctx: &EvalContext, of_session: &Cell<bool>, pace: &Pace) {
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
    *e = fold_overseen(std::mem::replace(e, build::null()), ctx, pace);
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
