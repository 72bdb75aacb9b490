//! Long lists of constants become sets as they are bound: one value at a time, and no tree of them is ever there.
//!
//! ```text
//!   a IN (1, 2, 3, ..)                          a IN {1, 2, 3, ..}
//!   a = 1 OR b > 7 OR a = 2 OR a = 3 OR ..      b > 7 OR a IN {1, 2, 3, ..}
//!   a <> 1 AND b > 7 AND a <> 2 AND ..          b > 7 AND a NOT IN {1, 2, ..}
//! ```
//! Programs write them with hundreds of thousands of values.

use super::api::Bind;
use expr::const_set::LISTED_MAX;
use expr::{CmpOp, ConstSet, ConstSetBuilder, Expr, ExprKind, build};
use parser::ast;
use std::sync::Arc;
use types::{Result, SqlType};

impl<'a> Bind<'a, '_, '_> {
    /// `x [NOT] IN (list)`, if the list is long and nothing but constants that are compared with `x` as it is.
    pub(super) fn in_const_set(&mut self, x: &Expr, list: &'a [ast::Expr], negated: bool) -> Result<Option<Expr>> {
        if list.len() <= LISTED_MAX || matches!(x.kind, ExprKind::Row(_)) || !list.iter().all(is_literal) {
            return Ok(None);
        }
        let mut set = ConstSetBuilder::default();
        for item in list {
            let item = self.operand(item)?;
            let item = self.dated(item, x);
            let fits = match build::compare(CmpOp::Eq, x.clone(), item)?.kind {
                ExprKind::Compare { left, right, .. } => set.push(*left, *right),
                _ => false,
            };
            if !fits {
                return Ok(None);
            }
        }
        Ok(set.finish().map(|(left, set)| in_set(left, set, negated)))
    }

    /// `row [NOT] IN (list)`, if the list is long and nothing but rows of constants.
    pub(super) fn in_const_rows(&mut self, x: &Expr, list: &'a [ast::Expr], negated: bool) -> Result<Option<Expr>> {
        let ExprKind::Row(row) = &x.kind else { return Ok(None) };
        let is_row = |e: &ast::Expr| match &e.kind {
            ast::ExprKind::Row(items) => items.len() == row.len() && items.iter().all(is_literal),
            _ => false,
        };
        if list.len() <= LISTED_MAX || self.shared.expands_row_lists || !list.iter().all(is_row) {
            return Ok(None);
        }
        let mut rows = build::RowListBuilder::new(row);
        for item in list {
            let ast::ExprKind::Row(items) = &item.kind else { return Ok(None) };
            let items = items.iter().map(|i| self.operand(i)).collect::<Result<Vec<_>>>()?;
            if !rows.push(items)? {
                return Ok(None);
            }
        }
        let Some(rows) = rows.finish() else { return Ok(None) };
        let found = self.in_rows(rows)?;
        if negated { build::not(found).map(Some) } else { Ok(Some(found)) }
    }

    /// The terms of a chain of ORs (`op` is `=`) or ANDs (`<>`). Where there are very many, those that compare one
    /// column with constants are one term together.
    pub(super) fn terms(&mut self, terms: &'a [ast::Expr], op: CmpOp) -> Result<Vec<Expr>> {
        if terms.len() <= LISTED_MAX {
            return self.exprs(terms);
        }
        let mut sets: Vec<(Expr, ConstSetBuilder)> = vec![];
        let mut bound = vec![];
        for term in terms {
            let term = self.expr(term)?;
            bound.extend(put(term, op, &mut sets));
        }
        for (_, set) in sets {
            let Some((left, set)) = set.finish() else { continue };
            bound.push(in_set(left, set, op == CmpOp::Ne));
        }
        bound.shrink_to_fit();
        Ok(bound)
    }
}

/// Columns of which sets are made; terms about more are kept as they are.
const SETS_MAX: usize = 16;

/// Adds a term to the set that it belongs to; the term where there is none.
fn put(term: Expr, op: CmpOp, sets: &mut Vec<(Expr, ConstSetBuilder)>) -> Option<Expr> {
    let ExprKind::Compare { op: of_term, left, right } = term.kind else { return Some(term) };
    let (ty, nullable) = (term.ty, term.nullable);
    let whole = |left, right| Expr::new(ExprKind::Compare { op: of_term, left, right }, ty, nullable);
    let is_known = right.as_const().is_some_and(|v| !v.is_null());
    if of_term != op || !is_known || !is_column(&left) {
        return Some(whole(left, right));
    }
    let at = sets.iter().position(|(of, _)| *of == *left);
    if at.is_none() && sets.len() == SETS_MAX {
        return Some(whole(left, right));
    }
    let at = at.unwrap_or_else(|| {
        sets.push(((*left).clone(), ConstSetBuilder::default()));
        sets.len() - 1
    });
    if sets[at].1.push((*left).clone(), (*right).clone()) { None } else { Some(whole(left, right)) }
}

/// A column, converted or not.
fn is_column(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Column(_) => true,
        ExprKind::Cast { expr, explicit: false } => matches!(expr.kind, ExprKind::Column(_)),
        _ => false,
    }
}

/// A short set is a list after all, which an index may look up.
fn in_set(left: Expr, set: ConstSet, negated: bool) -> Expr {
    let nullable = left.nullable || set.has_null();
    let expr = Box::new(left);
    let kind = match set.len() {
        1 => {
            let op = if negated { CmpOp::Ne } else { CmpOp::Eq };
            ExprKind::Compare { op, left: expr, right: Box::new(set.expr(0)) }
        }
        n if n <= LISTED_MAX => ExprKind::InList { expr, list: (0..n).map(|i| set.expr(i)).collect(), negated },
        _ => ExprKind::InSet { expr, set: Arc::new(set), negated },
    };
    Expr::new(kind, SqlType::Bool, nullable)
}

fn is_literal(e: &ast::Expr) -> bool {
    match &e.kind {
        // Parameters with values are constants, too.
        ast::ExprKind::Literal(_) | ast::ExprKind::Param(_) => true,
        ast::ExprKind::Unary(ast::UnaryOp::Neg, e) => matches!(e.kind, ast::ExprKind::Literal(_)),
        _ => false,
    }
}
