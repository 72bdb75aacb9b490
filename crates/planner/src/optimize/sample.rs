//! Predicates tried on a table's row sample.

use catalog::TableStats;
use expr::eval::Compiled;
use expr::{ColumnId, EvalContext, Expr, ExprKind, Params, SessionInfo, UserVars, Warnings};
use std::sync::atomic::AtomicBool;
use types::SqlType;

/// What the sample says of a conjunction.
pub struct Sampled<'e> {
    /// Rows that pass, of `size`.
    pub hits: usize,
    pub size: usize,
    /// Predicates that were tried, and those that cannot be evaluated ahead of execution (parameters, volatile
    /// functions, TIMESTAMPs, which the sample holds in stored form).
    pub tried: Vec<Expr>,
    pub untried: Vec<&'e Expr>,
}

/// Nodes of a predicate beyond which it is not tried.
const NODES_MAX: usize = 8192;

fn is_short(p: &Expr) -> bool {
    let mut nodes = 0;
    p.walk(&mut |_| nodes += 1);
    nodes <= NODES_MAX
}

/// Tries the predicates on the sample; `None` if there is none, or nothing to try.
pub fn try_predicates<'e>(
    stats: &TableStats,
    columns: &[(ColumnId, usize)],
    predicates: &'e [Expr],
) -> Option<Sampled<'e>> {
    let size = stats.sample.count();
    if size == 0 || stats.sample.columns.len() != stats.columns.len() {
        return None;
    }
    let mut usable = vec![];
    let mut tried = vec![];
    let mut untried = vec![];
    for original in predicates {
        // A row of the sample would take as long as the formula does.
        if !is_short(original) {
            untried.push(original);
            continue;
        }
        let mut p = original.clone();
        let mut fits = true;
        p.rewrite(&mut |e| match &mut e.kind {
            ExprKind::Column(c) => match columns.iter().find(|(id, _)| id == c) {
                Some((_, i)) if !matches!(e.ty, SqlType::Timestamp { .. }) && *i < stats.columns.len() => {
                    *c = *i as ColumnId;
                    e.nullable = true;
                }
                _ => fits = false,
            },
            ExprKind::Param(_) | ExprKind::Subquery(_) | ExprKind::UserVar { .. } | ExprKind::SetUserVar { .. } => {
                fits = false
            }
            ExprKind::Call { function, .. } if function.is_volatile() => fits = false,
            // A megabyte for each row of the sample takes longer than a plan is worth.
            ExprKind::Call { function, .. } if function.record().is_expanding() => fits = false,
            _ => e.nullable = true,
        });
        if fits {
            usable.push(p);
            tried.push(original.clone());
        } else {
            untried.push(original);
        }
    }
    if usable.is_empty() {
        return None;
    }
    let session = SessionInfo::default();
    let (params, vars, warnings) = (Params::default(), UserVars::default(), Warnings::new(0));
    let killed = AtomicBool::new(false);
    let ctx = EvalContext::new(&session, &params, &vars, &warnings, &killed);
    let compiled = Compiled::conjunction(&usable, &ctx).ok()?;
    let mut batch = (*stats.sample).clone();
    compiled.filter(&mut batch, &ctx).ok()?;
    Some(Sampled { hits: batch.count(), size, tried, untried })
}
