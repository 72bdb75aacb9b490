//! NOW() in cached plans.
//!
//! A plan must hold nothing of one execution, so the binder's constant for NOW() keeps a statement from having one.
//! Where NOW() is a whole new value (`SET column = NOW()`, `VALUES (.., NOW())`) it is taken for one more parameter
//! behind the statement's own, a DATETIME in the session's time zone: what the binder would have made of it.

use crate::session::Execution;
use parser::ast::{Expr, ExprKind, InsertSource, Statement};
use types::{SqlType, Value};

/// Of NOW() without precision.
const TYPE: SqlType = SqlType::DateTime { fsp: 0 };
const SECOND_US: i64 = 1_000_000;

fn is_now(e: &Expr) -> bool {
    matches!(&e.kind, ExprKind::Function(f) if f.schema.is_none() && f.name.is("now") && f.args.is_empty())
}

/// The new values that a statement gives.
fn new_values(statement: &mut Statement) -> Vec<&mut Expr> {
    match statement {
        Statement::Update(update) => update.set.iter_mut().map(|a| &mut a.value).collect(),
        Statement::Insert(insert) => match &mut insert.source {
            InsertSource::Values(rows) => rows.iter_mut().flatten().collect(),
            InsertSource::Query(_) => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn has_now(statement: &Statement) -> bool {
    match statement {
        Statement::Update(update) => update.set.iter().any(|a| is_now(&a.value)),
        Statement::Insert(insert) => match &insert.source {
            InsertSource::Values(rows) => rows.iter().flatten().any(is_now),
            InsertSource::Query(_) => false,
        },
        _ => false,
    }
}

/// The statement with its parameter `n` in place of each NOW() that is a new value; `None`: there is none.
pub(super) fn with_param(statement: &Statement, n: u32) -> Option<Statement> {
    if !has_now(statement) {
        return None;
    }
    let mut replaced = statement.clone();
    for e in new_values(&mut replaced).into_iter().filter(|e| is_now(e)) {
        e.kind = ExprKind::Param(n);
    }
    Some(replaced)
}

impl Execution<'_> {
    /// The parameters with NOW() behind them.
    pub(super) fn params_and_now(&self, params: &[(Value, SqlType)]) -> Vec<(Value, SqlType)> {
        let now = self.local_datetime(self.now_us() / SECOND_US * SECOND_US);
        params.iter().cloned().chain([(Value::DateTime(now), TYPE)]).collect()
    }
}
