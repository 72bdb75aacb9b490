//! `SELECT SLEEP(n)`: where sleeping is all that a query does, being interrupted is its result, 1, and no error.
//!
//! Source: MySQL manual, "Miscellaneous Functions", SLEEP().

use crate::session::Execution;
use expr::{Expr, ExprKind};
use monitor::process::Kill;
use plan::{Plan, PlanOp};
use types::{Error, ErrorCode, SqlType, Value};
use vector::{Batch, Chunk, Vector};

impl Execution<'_> {
    /// The row of a query that did nothing but sleep, if `error` says that it was interrupted.
    pub(super) fn interrupted_sleep(&self, plan: &Plan, error: &Error) -> Option<Batch> {
        let ended = matches!(self.process().killed(), Some(Kill::Query | Kill::Timeout));
        if !ended || error.code() != ErrorCode::QUERY_INTERRUPTED || !sleeps_alone(plan) {
            return None;
        }
        Some(Batch::new(1, vec![Vector::flat(Chunk::single(SqlType::BIGINT.phys(), &Value::Int(1)))]))
    }
}

fn sleeps_alone(plan: &Plan) -> bool {
    let PlanOp::Project { input, exprs } = &plan.root.op else { return false };
    let sleeps = |e: &Expr| matches!(e.kind, ExprKind::Call { function, .. } if function.is_sleep());
    plan.init.is_empty() && matches!(input.op, PlanOp::OneRow) && matches!(&exprs[..], [e] if sleeps(e))
}
