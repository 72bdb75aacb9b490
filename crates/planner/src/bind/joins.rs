//! Joins in FROM: their conditions, and which columns can be named above them.
//!
//! USING and NATURAL join by columns of equal names; of each such pair one stays visible by its bare name, that of the
//! side whose rows are kept. What an outer join extends may be NULL from there on. In LATERAL tables the tables before
//! them are in sight, whose columns they may use: such a join runs its right side for each row of its left one.
//!
//! Source: MySQL manual, "JOIN Clause".

use super::api::Bind;
use super::scope::{Clause, Scope, SourceColumn, same_name};
use expr::{CmpOp, ColumnId, Expr, ExprKind, build};
use parser::ast;
use plan::logical::{Logical, LogicalJoinKind};
use types::{Error, Result, SqlType};

impl<'a> Bind<'a, '_, '_> {
    pub(super) fn join(&mut self, j: &'a ast::Join, left: &Scope, straight: bool) -> Result<(Logical, Scope)> {
        let references = self.recursive_references();
        let (l, ls) = self.table_ref(&j.left, left, straight)?;
        if j.kind == ast::JoinKind::Right && self.recursive_references() > references {
            return Err(self.forbidden_join_order());
        }
        let references = self.recursive_references();
        let (r, rs) = if has_lateral(&j.right) && j.kind != ast::JoinKind::Right {
            let mut seen = left.clone();
            seen.append(ls.clone());
            self.table_ref(&j.right, &seen, straight)?
        } else {
            self.table_ref(&j.right, left, straight)?
        };
        if j.kind == ast::JoinKind::Left && self.recursive_references() > references {
            return Err(self.forbidden_join_order());
        }
        let dependent = self.depends_on(&ls);
        let (on, scope) = self.constraint(j, ls, rs)?;
        let straight = straight || j.kind == ast::JoinKind::Straight;
        let plan = match j.kind {
            ast::JoinKind::Inner | ast::JoinKind::Straight => {
                join(LogicalJoinKind::Inner, l, r, on, dependent, straight)
            }
            ast::JoinKind::Left => {
                self.outer(&on, &l, &r);
                join(LogicalJoinKind::Left, l, r, on, dependent, straight)
            }
            ast::JoinKind::Right => {
                self.outer(&on, &r, &l);
                join(LogicalJoinKind::Left, r, l, on, false, straight)
            }
        };
        if matches!(j.kind, ast::JoinKind::Inner | ast::JoinKind::Straight)
            && let Logical::Join { on, .. } = &plan
        {
            self.shared.add_equalities(on, &scope.column_ids().collect());
        }
        Ok((plan, scope))
    }

    fn forbidden_join_order(&self) -> Error {
        Error::cte_recursive_forbidden_join_order(self.ctes.last().map_or("", |c| &c.name))
    }

    /// The right side of an outer join: its columns may be NULL above the join.
    fn outer(&mut self, on: &[Expr], kept: &Logical, extended: &Logical) {
        let extended = extended.output_columns();
        for id in &extended {
            self.shared.columns.get_mut(*id).nullable = true;
        }
        let kept = kept.output_columns().into_iter().collect();
        self.shared.add_outer_equalities(on, &kept, &extended.into_iter().collect());
    }

    /// Whether LATERAL tables bound so far use columns of `scope`.
    pub(super) fn depends_on(&mut self, scope: &Scope) -> bool {
        let references = &self.block().lateral_references;
        !references.is_empty() && scope.column_ids().any(|id| references.contains(&id))
    }

    fn constraint(&mut self, j: &'a ast::Join, ls: Scope, rs: Scope) -> Result<(Vec<Expr>, Scope)> {
        match &j.constraint {
            ast::JoinConstraint::None => {
                let mut scope = ls;
                scope.append(rs);
                Ok((vec![], scope))
            }
            ast::JoinConstraint::On(e) => {
                let mut scope = ls;
                scope.append(rs);
                let block = self.block();
                let (clause, outer) = (block.clause, std::mem::replace(&mut block.scope, scope));
                block.clause = Clause::On;
                let bound = self.expr(e).and_then(build::truth);
                let block = self.block();
                block.clause = clause;
                let scope = std::mem::replace(&mut block.scope, outer);
                Ok((conjuncts(bound?), scope))
            }
            ast::JoinConstraint::Using(names) => {
                let names: Vec<&str> = names.iter().map(|n| &**n).collect();
                self.coalesce_columns(j, &names, ls, rs)
            }
            ast::JoinConstraint::Natural => {
                let common: Vec<Box<str>> = ls
                    .visible
                    .iter()
                    .filter(|l| !l.invisible && rs.visible.iter().any(|r| !r.invisible && same_name(&l.name, &r.name)))
                    .map(|l| l.name.clone())
                    .collect();
                let names: Vec<&str> = common.iter().map(|n| &**n).collect();
                self.coalesce_columns(j, &names, ls, rs)
            }
        }
    }

    /// USING and NATURAL: equalities, and of each pair one visible column, that of the side whose rows are kept.
    /// Visible are first these, then the rest of that side, then the rest of the other.
    fn coalesce_columns(
        &mut self,
        join: &ast::Join,
        names: &[&str],
        ls: Scope,
        rs: Scope,
    ) -> Result<(Vec<Expr>, Scope)> {
        // That a side lacks the column counts before that it has two.
        let find = |name: &str| -> Result<(ColumnId, ColumnId)> {
            let all = |scope: &Scope| -> Vec<ColumnId> {
                scope.visible.iter().filter(|c| same_name(&c.name, name)).map(|c| c.id).collect()
            };
            match (&all(&ls)[..], &all(&rs)[..]) {
                ([], _) | (_, []) => Err(Error::bad_field(name, "from clause")),
                ([l], [r]) => Ok((*l, *r)),
                _ => Err(Error::non_uniq(name, "from clause")),
            }
        };
        let mut on = vec![];
        let mut pairs = vec![];
        for name in names {
            let (l, r) = find(name)?;
            if pairs.contains(&(l, r)) {
                continue;
            }
            let columns = &self.shared.columns;
            on.push(build::compare(CmpOp::Eq, columns.expr(l), columns.expr(r))?);
            pairs.push((l, r));
        }
        self.note_join(join, &ls, &rs, &pairs);
        let (kept, other) = if join.kind == ast::JoinKind::Right { (&rs, &ls) } else { (&ls, &rs) };
        let is_joined = |c: &SourceColumn| pairs.iter().any(|(l, r)| c.id == *l || c.id == *r);
        let mut visible: Vec<SourceColumn> = kept.visible.iter().filter(|c| is_joined(c)).cloned().collect();
        visible.extend(kept.visible.iter().filter(|c| !is_joined(c)).cloned());
        visible.extend(other.visible.iter().filter(|c| !is_joined(c)).cloned());
        let mut sources = ls.sources;
        sources.extend(rs.sources);
        Ok((on, Scope { sources, visible }))
    }
}

pub(super) fn join(
    kind: LogicalJoinKind,
    left: Logical,
    right: Logical,
    on: Vec<Expr>,
    dependent: bool,
    straight: bool,
) -> Logical {
    Logical::Join { kind, left: Box::new(left), right: Box::new(right), on, dependent, straight }
}

/// The terms of a condition; TRUE has none.
pub fn conjuncts(e: Expr) -> Vec<Expr> {
    match e.kind {
        ExprKind::And(terms) => terms.into_iter().filter(|t| !is_true(t)).collect(),
        _ if is_true(&e) => vec![],
        _ => vec![e],
    }
}

/// TRUE, as a condition.
pub fn is_true(e: &Expr) -> bool {
    matches!(e.kind, ExprKind::Const(types::Value::Int(v)) if v != 0 && e.ty == SqlType::Bool)
}

fn has_lateral(t: &ast::TableRef) -> bool {
    match t {
        ast::TableRef::Derived(d) => d.lateral,
        ast::TableRef::Join(j) => has_lateral(&j.left) || has_lateral(&j.right),
        _ => false,
    }
}
