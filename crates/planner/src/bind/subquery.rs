//! Subqueries in expressions: scalar, EXISTS, IN, ANY, ALL, and rows.
//!
//! A row compared with a subquery, `(a, b) = (SELECT x, y ..)`, becomes `= ANY` over the subquery's single row: a join
//! that errs on a second row (1242) and answers NULLs for none.

use super::api::Bind;
use super::query::{Bound, QueryUse};
use super::tidy::keep_digits;
use expr::{CmpOp, Expr, ExprKind, build};
use parser::ast;
use plan::logical::{BlockShape, Logical, LogicalJoinKind, SubqueryDef, SubqueryHints, SubqueryKind};
use std::sync::Arc;
use types::{Error, Result, SqlType};

/// So many rows of an IN list are compared with one by one; the ranges of an index can be made of them.
const EXPANDED_MAX: usize = 100;

impl<'a> Bind<'a, '_, '_> {
    /// `(SELECT one column ..)` as a value.
    pub fn scalar_subquery(&mut self, q: &'a ast::Query) -> Result<Expr> {
        let bound = self.query(q, QueryUse::Subquery)?;
        self.scalar_of(bound)
    }

    fn scalar_of(&mut self, mut bound: Bound) -> Result<Expr> {
        let [(id, _)] = bound.output[..] else { return Err(Error::operand_columns(1)) };
        let shown = self.shared.columns.get(id).ty;
        // What computes with the value takes all its digits.
        keep_digits(&mut bound.plan, id, &mut self.shared.columns);
        let ty = self.shared.columns.get(id).ty;
        Ok(build::rounded(self.define(SubqueryKind::Scalar, bound, ty, true), shown))
    }

    pub fn exists(&mut self, q: &'a ast::Query) -> Result<Expr> {
        let bound = self.query(q, QueryUse::Subquery)?;
        // Whether there is a row does not depend on what is selected.
        let plan = match bound.plan {
            Logical::Project { input, .. } => *input,
            other => other,
        };
        Ok(self.define(SubqueryKind::Exists, Bound { plan, output: vec![] }, SqlType::Bool, false))
    }

    /// `left op ANY | ALL (query)`, IN among them. `left` may be a row.
    pub fn quantified(&mut self, left: Expr, op: CmpOp, all: bool, q: &'a ast::Query) -> Result<Expr> {
        if q.limit.is_some() {
            return Err(Error::not_supported("LIMIT & IN/ALL/ANY/SOME subquery"));
        }
        let bound = self.query(q, QueryUse::Subquery)?;
        let left = match left.kind {
            ExprKind::Row(items) => items,
            _ => vec![left],
        };
        if left.len() > 1 && !matches!((op, all), (CmpOp::Eq, false) | (CmpOp::Ne, true)) {
            return Err(Error::operand_columns(1));
        }
        self.quantified_over(left, op, all, bound)
    }

    fn quantified_over(&mut self, left: Vec<Expr>, op: CmpOp, all: bool, bound: Bound) -> Result<Expr> {
        if left.len() != bound.output.len() {
            return Err(Error::operand_columns(left.len()));
        }
        let (mut lefts, mut rights) = (vec![], vec![]);
        for (l, (id, _)) in left.into_iter().zip(&bound.output) {
            let compared = build::compare(op, l, self.shared.columns.expr(*id))?;
            let ExprKind::Compare { left, right, .. } = compared.kind else {
                return Err(Error::internal("a comparison of scalars is a comparison"));
            };
            lefts.push(*left);
            rights.push(*right);
        }
        let nullable = lefts.iter().chain(&rights).any(|e| e.nullable);
        let bound = self.replace_output(bound, rights);
        Ok(self.define(SubqueryKind::Quantified { left: lefts, op, all }, bound, SqlType::Bool, nullable))
    }

    /// `x [NOT] IN (list)`. A long list of constant rows is a subquery over VALUES: to compare with each of them would
    /// take ages, and a join can use an index, too.
    pub fn in_list(&mut self, x: Expr, list: Vec<Expr>, negated: bool) -> Result<Expr> {
        if let ExprKind::Row(row) = &x.kind
            && list.len() > EXPANDED_MAX
            && !self.shared.expands_row_lists
            && let Some(rows) = build::row_list(row, &list)?
        {
            let found = self.in_rows(rows)?;
            return if negated { build::not(found) } else { Ok(found) };
        }
        build::in_list(x, list, negated)
    }

    /// Three-valued OR. Many branches that say the same columns equal to constants are a long list, too.
    pub fn any_of(&mut self, terms: Vec<Expr>) -> Result<Expr> {
        let whole = build::or(terms)?;
        let ExprKind::Or(branches) = whole.kind else { return Ok(whole) };
        if self.shared.expands_row_lists {
            return build::or(branches);
        }
        let (lists, mut terms) = build::lists_of_or(branches, EXPANDED_MAX + 1);
        for list in lists {
            terms.push(match &list.row[..] {
                [column] => {
                    let items = list.rows.into_iter().flatten().collect();
                    build::in_list(column.clone(), items, false)?
                }
                _ => self.in_rows(list)?,
            });
        }
        build::or(terms)
    }

    pub(super) fn in_rows(&mut self, list: build::RowList) -> Result<Expr> {
        let outer = self.enter_block(QueryUse::Subquery, BlockShape { limited: true, ..BlockShape::default() });
        let mut output = vec![];
        for (i, ty) in list.types.iter().enumerate() {
            let nullable = list.rows.iter().any(|r| r[i].nullable);
            let name = format!("column_{i}");
            output.push((self.shared.columns.computed(&name, *ty, nullable), name.into()));
        }
        self.leave_block(outer);
        let columns = output.iter().map(|(id, _)| *id).collect();
        let plan = Logical::Values { columns, rows: Arc::new(list.rows) };
        self.quantified_over(list.row, CmpOp::Eq, false, Bound { plan, output })
    }

    /// `row op (query)`
    pub fn row_subquery(&mut self, row: Vec<Expr>, op: CmpOp, q: &'a ast::Query) -> Result<Expr> {
        if matches!(op, CmpOp::Lt | CmpOp::Le | CmpOp::Gt | CmpOp::Ge) {
            return self.ordered_row_subquery(row, op, q);
        }
        let bound = self.query(q, QueryUse::Subquery)?;
        if row.len() != bound.output.len() {
            return Err(Error::operand_columns(row.len()));
        }
        let negated = op == CmpOp::Ne;
        let op = if negated { CmpOp::Eq } else { op };
        // At most one row by nature needs no check, but a missing row must still answer NULLs.
        let plan = Logical::Join {
            kind: LogicalJoinKind::Single,
            left: Box::new(Logical::OneRow),
            right: Box::new(bound.plan),
            on: vec![],
            dependent: false,
            straight: false,
        };
        for (id, _) in &bound.output {
            self.shared.columns.get_mut(*id).nullable = true;
        }
        let compared = self.quantified_over(row, op, false, Bound { plan, output: bound.output })?;
        if negated { build::not(compared) } else { Ok(compared) }
    }

    /// `(a, b) < (SELECT x, y ..)`: the row of the scalars `(SELECT x ..)` and `(SELECT y ..)`, each with its own
    /// binding.
    fn ordered_row_subquery(&mut self, row: Vec<Expr>, op: CmpOp, q: &'a ast::Query) -> Result<Expr> {
        let mut scalars = vec![];
        for i in 0..row.len() {
            let bound = self.query(q, QueryUse::Subquery)?;
            if row.len() != bound.output.len() {
                return Err(Error::operand_columns(row.len()));
            }
            let output = vec![bound.output[i].clone()];
            scalars.push(self.scalar_of(Bound { plan: bound.plan, output })?);
        }
        let as_row = |items| Expr::new(ExprKind::Row(items), SqlType::Null, true);
        build::compare(op, as_row(row), as_row(scalars))
    }

    /// Keeps the definition and answers the expression that stands for it.
    pub fn define(&mut self, kind: SubqueryKind, bound: Bound, ty: SqlType, nullable: bool) -> Expr {
        let output = bound.output.iter().map(|(id, _)| *id).collect();
        let id = self.shared.add_subquery(|id| SubqueryDef {
            id,
            kind,
            plan: bound.plan,
            output,
            hints: SubqueryHints::default(),
        });
        self.shared.hints.note_subquery(id);
        Expr::new(ExprKind::Subquery(id), ty, nullable)
    }
}
