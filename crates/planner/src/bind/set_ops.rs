//! UNION, INTERSECT and EXCEPT.
//!
//! A UNION DISTINCT makes every UNION to its left distinct, so a run of UNIONs is at most two nodes: a distinct one
//! over the operands up to the last DISTINCT, and an ALL over that and the rest. Operands convert to the type that
//! their columns have in common; names are the first operand's.

use super::MAX_CHAIN;
use super::api::Bind;
use super::query::{Bound, QueryUse};
use super::tidy::keep_digits;
use expr::{ColumnId, Expr, ExprKind, build};
use parser::ast;
use plan::logical::{Logical, SetOpKind};
use types::{Error, Result, SqlType};

impl<'a> Bind<'a, '_, '_> {
    pub fn set_chain(&mut self, first: &'a ast::QueryBody, rest: &'a [ast::SetOpTerm]) -> Result<Bound> {
        let mut acc = self.body(first, QueryUse::Operand, false, false)?;
        let mut levels = 0;
        let mut i = 0;
        while i < rest.len() {
            levels += 1;
            if levels > MAX_CHAIN / 4 {
                return Err(Error::too_high_level_of_nesting_for_select());
            }
            let term = &rest[i];
            if term.op != ast::SetOp::Union {
                let kind = if term.op == ast::SetOp::Intersect { SetOpKind::Intersect } else { SetOpKind::Except };
                let right = self.body(&term.body, QueryUse::Operand, false, false)?;
                acc = self.set_op(kind, !term.all, vec![acc, right])?;
                i += 1;
                continue;
            }
            let end = i + rest[i..].iter().take_while(|t| t.op == ast::SetOp::Union).count();
            let distinct_end = rest[i..end].iter().rposition(|t| !t.all).map_or(i, |p| i + p + 1);
            for (from, to, distinct) in [(i, distinct_end, true), (distinct_end, end, false)] {
                if from == to {
                    continue;
                }
                let mut operands = vec![acc];
                for t in &rest[from..to] {
                    operands.push(self.body(&t.body, QueryUse::Operand, false, false)?);
                }
                acc = self.set_op(SetOpKind::Union, distinct, operands)?;
            }
            i = end;
        }
        Ok(acc)
    }

    fn set_op(&mut self, kind: SetOpKind, distinct: bool, operands: Vec<Bound>) -> Result<Bound> {
        let width = operands[0].output.len();
        if operands.iter().any(|o| o.output.len() != width) {
            return Err(Error::wrong_number_of_columns_in_select());
        }
        let columns = &self.shared.columns;
        let mut types = vec![];
        let mut nullable = vec![];
        for c in 0..width {
            let infos: Vec<_> = operands.iter().map(|o| columns.get(o.output[c].0)).collect();
            types.push(build::union_type(
                &infos.iter().map(|i| i.ty).collect::<Vec<_>>(),
                self.shared.session.collation_connection,
            ));
            nullable.push(match kind {
                SetOpKind::Union => infos.iter().any(|i| i.nullable),
                SetOpKind::Intersect | SetOpKind::Except => infos[0].nullable,
            });
        }
        let names: Vec<Box<str>> = operands[0].output.iter().map(|(_, n)| n.clone()).collect();
        let inputs = operands
            .into_iter()
            .map(|o| {
                let o = self.align(o, &types);
                (o.plan, o.output.into_iter().map(|(id, _)| id).collect())
            })
            .collect();
        let mut output: Vec<(ColumnId, Box<str>)> = vec![];
        for ((name, ty), nullable) in names.into_iter().zip(types).zip(nullable) {
            output.push((self.shared.columns.computed(&name, ty, nullable), name));
        }
        let columns = output.iter().map(|(id, _)| *id).collect();
        Ok(Bound { plan: Logical::SetOp { kind, columns, inputs, distinct }, output })
    }

    /// Casts the output to `types`, which has one for each column.
    pub fn align(&mut self, mut bound: Bound, types: &[SqlType]) -> Bound {
        let mut casts: Vec<Expr> = vec![];
        for ((id, _), ty) in bound.output.iter().zip(types) {
            if self.shared.columns.get(*id).ty != *ty {
                keep_digits(&mut bound.plan, *id, &mut self.shared.columns);
            }
            casts.push(build::implicit_cast(self.shared.columns.expr(*id), *ty));
        }
        self.replace_output(bound, casts)
    }

    /// Computes new output columns from the old ones, where they are not the old ones.
    pub fn replace_output(&mut self, bound: Bound, exprs: Vec<Expr>) -> Bound {
        let same = |(id, _): &(ColumnId, Box<str>), e: &Expr| matches!(e.kind, ExprKind::Column(c) if c == *id);
        if bound.output.iter().zip(&exprs).all(|(o, e)| same(o, e)) {
            return bound;
        }
        let mut output = vec![];
        let mut project: Vec<(ColumnId, Expr)> = vec![];
        for ((old, name), e) in bound.output.into_iter().zip(exprs) {
            let id = match e.kind {
                ExprKind::Column(c) if c == old => c,
                _ => self.shared.columns.computed(&name, e.ty, e.nullable),
            };
            if project.iter().all(|(p, _)| *p != id) {
                project.push((id, e));
            }
            output.push((id, name));
        }
        Bound { plan: Logical::Project { input: Box::new(bound.plan), exprs: project }, output }
    }
}
