//! Constant folding.

use crate::eval::{Compiled, StringLimit};
use crate::{EvalContext, Expr, ExprKind, Warnings, build};
use types::{Pace, Value};

/// The expression with its constant parts computed. A part that would warn or fail stays as it is, so that it does so
/// (or does not, if no row reaches it) at execution. So does what is long, which the statement is charged with then.
/// What differs from row to row is never folded; NOW() and the like are constants of the statement and are.
pub fn fold(expr: Expr, ctx: &EvalContext) -> Expr {
    fold_overseen(expr, ctx, &Pace::default())
}

/// [`fold`], which ends early once the statement is to stop.
pub fn fold_overseen(expr: Expr, ctx: &EvalContext, pace: &Pace) -> Expr {
    let quiet = Warnings::new(0);
    quiet.set_raise(true);
    let inner = EvalContext { warnings: &quiet, strings: StringLimit::of_constants(), ..*ctx };
    let mut expr = expr;
    fold_in_place(&mut expr, &inner, pace, 0);
    expr
}

/// Deeper nodes are left alone: they are refused when they are compiled.
const DEPTH_MAX: usize = 1000;

/// Returns whether the expression is constant (folded or not).
fn fold_in_place(e: &mut Expr, ctx: &EvalContext, pace: &Pace, depth: usize) -> bool {
    if depth > DEPTH_MAX || !pace.goes_on() {
        return false;
    }
    let mut constant = true;
    for c in e.children_mut() {
        constant &= fold_in_place(c, ctx, pace, depth + 1);
    }
    simplify(e);
    match &e.kind {
        ExprKind::Const(_) => return true,
        ExprKind::Column(_)
        | ExprKind::Param(_)
        | ExprKind::Subquery(_)
        | ExprKind::UserVar { .. }
        | ExprKind::SetUserVar { .. }
        | ExprKind::Row(_) => return false,
        ExprKind::Call { function, .. } if function.is_volatile() => return false,
        // A node of which more counts than its value.
        ExprKind::Call { function, .. } if function.record().is_kept => return constant,
        _ => {}
    }
    if !constant {
        return false;
    }
    // SLEEP and the like are volatile; everything else is computed at once.
    let warned = ctx.warnings.count();
    if let Ok(v) = Compiled::new(e, ctx).and_then(|c| c.eval_const(ctx))
        && ctx.warnings.count() == warned
    {
        let nullable = v.is_null();
        e.kind = ExprKind::Const(v);
        e.nullable = nullable;
    }
    true
}

/// Drops terms of AND and OR that are known.
fn simplify(e: &mut Expr) {
    let truth = |e: &Expr| match e.as_const() {
        Some(Value::Int(v)) => Some(*v != 0),
        _ => None,
    };
    let (terms, conjunction) = match &mut e.kind {
        ExprKind::And(t) => (t, true),
        ExprKind::Or(t) => (t, false),
        _ => return,
    };
    if terms.iter().any(|t| truth(t) == Some(!conjunction)) {
        *e = build::boolean(!conjunction);
        return;
    }
    terms.retain(|t| truth(t) != Some(conjunction));
    match terms.len() {
        0 => *e = build::boolean(conjunction),
        1 => *e = terms.pop().expect("one term"),
        _ => {}
    }
}
