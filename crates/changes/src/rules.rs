//! Generated columns, CHECK constraints and views' CHECK OPTION, compiled for one statement.

use super::convert::Converter;
use crate::statement::Statement;
use catalog::TableDef;
use expr::{Compiled, Expr, ExprKind, Params, SessionInfo, Truth};
use std::sync::Arc;
use types::{Error, Result, SqlType};
use vector::{Batch, Chunk, Selection, Vector};

struct GeneratedColumn {
    idx: usize,
    value: Compiled,
    ty: SqlType,
    uses: Vec<usize>,
}

struct Check {
    error: Error,
    /// TRUE where the rule is broken.
    violated: Compiled,
    uses: Vec<usize>,
}

/// What a view demands of the rows that are written through it.
#[derive(Clone, Debug)]
pub struct RowCheck {
    /// Over the table's columns, by position. A row must make it TRUE.
    pub condition: Expr,
    /// What it is else.
    pub error: Error,
}

pub(super) struct Rules {
    generated: Vec<GeneratedColumn>,
    checks: Vec<Check>,
    /// Only where there are rules: it is not free to make.
    info: Option<Box<SessionInfo>>,
    params: Params,
}

/// The columns that an expression over a table reads.
fn columns_used(e: &Expr) -> Vec<usize> {
    let mut out = Vec::new();
    e.walk(&mut |e| {
        if let ExprKind::Column(c) = e.kind {
            out.push(c as usize);
        }
    });
    out
}

impl Rules {
    /// `views`: what CHECK OPTION of the view demands that the rows are written through.
    pub fn new(statement: &dyn Statement, def: &TableDef, views: &[RowCheck]) -> Result<Rules> {
        let mut rules = Rules { generated: vec![], checks: vec![], info: None, params: Params::default() };
        let plain = def.columns.iter().all(|c| c.generated.is_none()) && def.checks.iter().all(|c| !c.enforced);
        if plain && views.is_empty() {
            return Ok(rules);
        }
        let info = Box::new(statement.info());
        let ctx = statement.eval_context(&info, &rules.params);
        for (idx, c) in def.columns.iter().enumerate() {
            if let Some(g) = &c.generated {
                let value = Compiled::new(&g.expr, &ctx)?;
                rules.generated.push(GeneratedColumn { idx, value, ty: g.expr.ty, uses: columns_used(&g.expr) });
            }
        }
        for c in def.checks.iter().filter(|c| c.enforced) {
            // A constraint may be UNKNOWN.
            let kind = ExprKind::IsTruth { expr: c.expr.clone(), truth: Truth::False, negated: false };
            let violated = Compiled::new(&Expr::new(kind, SqlType::Bool, false), &ctx)?;
            let error = Error::check_constraint_violated(&c.name);
            rules.checks.push(Check { error, violated, uses: columns_used(&c.expr) });
        }
        for v in views {
            let kind = ExprKind::IsTruth { expr: v.condition.clone().into(), truth: Truth::True, negated: true };
            let violated = Compiled::new(&Expr::new(kind, SqlType::Bool, false), &ctx)?;
            rules.checks.push(Check { error: v.error.clone(), violated, uses: columns_used(&v.condition) });
        }
        rules.info = Some(info);
        Ok(rules)
    }

    pub fn is_empty(&self) -> bool {
        self.info.is_none()
    }

    /// Puts values into the generated columns of whole rows. With `changed`, the columns that changed, only into those
    /// that depend on them; returns which.
    pub fn generate(
        &self,
        statement: &dyn Statement,
        converter: &Converter<'_>,
        batch: &mut Batch,
        changed: Option<&[usize]>,
        first_row: u64,
    ) -> Result<Vec<usize>> {
        let mut done: Vec<usize> = Vec::new();
        let Some(info) = &self.info else { return Ok(done) };
        let ctx = statement.eval_context(info, &self.params);
        for g in &self.generated {
            let depends = |c: &[usize]| g.uses.iter().any(|u| c.contains(u) || done.contains(u));
            if changed.is_some_and(|c| !depends(c)) {
                continue;
            }
            let value = g.value.eval(batch, &ctx)?;
            let chunk: Arc<Chunk> = converter.column(g.idx, &value, &g.ty, batch.rows, first_row)?;
            batch.columns[g.idx] = Vector::Flat(chunk);
            done.push(g.idx);
        }
        Ok(done)
    }

    /// The rows that break a constraint, with it, the first one of each row. With `changed` only constraints on those
    /// columns are looked at.
    pub fn violations(
        &self,
        statement: &dyn Statement,
        batch: &Batch,
        changed: Option<&[usize]>,
    ) -> Result<Vec<(usize, Error)>> {
        let mut out: Vec<(usize, Error)> = Vec::new();
        let Some(info) = &self.info else { return Ok(out) };
        let ctx = statement.eval_context(info, &self.params);
        for check in &self.checks {
            if changed.is_some_and(|c| !check.uses.iter().any(|u| c.contains(u))) {
                continue;
            }
            let mut b = Batch { selection: batch.selection.clone(), rows: batch.rows, columns: batch.columns.clone() };
            check.violated.filter(&mut b, &ctx)?;
            b.selection.for_each(b.rows, |i| {
                if !out.iter().any(|(r, _)| *r == i) {
                    out.push((i, check.error.clone()));
                }
            });
        }
        out.sort_by_key(|(i, _)| *i);
        Ok(out)
    }
}

/// The positions of `rows` that are not among `out`.
pub(super) fn without(rows: usize, out: &[(usize, Error)]) -> Selection {
    if out.is_empty() {
        return Selection::All;
    }
    Selection::Some((0..rows).filter(|i| !out.iter().any(|(r, _)| r == i)).map(|i| i as u16).collect())
}
