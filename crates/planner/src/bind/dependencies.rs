//! Functional dependencies, for ONLY_FULL_GROUP_BY: which columns are determined by which.
//!
//! `{a} -> {b}`: rows that agree in `a` agree in `b`. They come from unique keys without NULLs, from equalities of
//! WHERE and ON, from derived tables' groups and from computed columns. As column ids are unique in the statement, one
//! list serves all blocks; equalities count only for columns of the block they stand in.
//!
//! Source: MySQL manual, "Detection of Functional Dependence".

use super::api::{Bind, Shared};
use catalog::TableDef;
use expr::{CmpOp, ColumnId, Expr, ExprKind};
use std::collections::HashSet;

/// `from` determines `to`.
#[derive(Clone, Debug)]
pub struct Dependency {
    pub from: Vec<ColumnId>,
    pub to: Vec<ColumnId>,
}

impl Shared<'_> {
    pub fn depends(&mut self, from: Vec<ColumnId>, to: Vec<ColumnId>) {
        self.dependencies.push(Dependency { from, to });
    }

    /// Unique keys whose parts are whole columns that cannot be NULL. `first` is the id of the table's first column.
    pub fn add_keys(&mut self, table: &TableDef, first: ColumnId) {
        for index in &table.indexes {
            let whole = |p: &catalog::IndexPart| p.prefix_len.is_none() && !table.columns[p.column_idx].nullable;
            if index.is_unique() && index.parts.iter().all(whole) {
                let from = index.parts.iter().map(|p| first + p.column_idx as ColumnId).collect();
                self.depends(from, (0..table.columns.len()).map(|i| first + i as ColumnId).collect());
            }
        }
    }

    /// Equalities of an inner join's ON or of WHERE. `own` are the block's columns; others are constant within it.
    pub fn add_equalities(&mut self, predicates: &[Expr], own: &HashSet<ColumnId>) {
        for (l, r) in equalities(predicates) {
            for (a, b) in [(l, r), (r, l)] {
                let ExprKind::Column(a) = a.kind else { continue };
                if let (true, Some(from)) = (own.contains(&a), own_columns(b, own)) {
                    self.depends(from, vec![a]);
                }
            }
        }
    }

    /// ON of a left join: the right side's columns follow from the left side's, provided the whole condition does.
    pub fn add_outer_equalities(&mut self, on: &[Expr], left: &HashSet<ColumnId>, right: &HashSet<ColumnId>) {
        let mut used = vec![];
        for e in on {
            e.walk(&mut |e| {
                if let ExprKind::Column(id) = e.kind
                    && left.contains(&id)
                {
                    used.push(id);
                }
            });
        }
        for (l, r) in equalities(on) {
            for (a, b) in [(l, r), (r, l)] {
                if let ExprKind::Column(a) = a.kind
                    && right.contains(&a)
                    && own_columns(b, right).is_some_and(|c| c.is_empty())
                {
                    self.depends(used.clone(), vec![a]);
                }
            }
        }
    }

    /// A computed column follows from what it is computed of.
    pub fn add_computed(&mut self, id: ColumnId, e: &Expr) {
        let mut from = vec![];
        let mut fixed = true;
        e.walk(&mut |e| match e.kind {
            ExprKind::Column(c) => from.push(c),
            ExprKind::Subquery(_) | ExprKind::UserVar { .. } | ExprKind::SetUserVar { .. } => fixed = false,
            ExprKind::Call { function, .. } => fixed &= !function.is_volatile(),
            _ => {}
        });
        if fixed {
            self.depends(from, vec![id]);
        }
    }

    /// Everything that `known` determines.
    pub fn closure(&self, known: impl IntoIterator<Item = ColumnId>) -> HashSet<ColumnId> {
        let mut known: HashSet<ColumnId> = known.into_iter().collect();
        loop {
            let before = known.len();
            for d in &self.dependencies {
                if d.from.iter().all(|c| known.contains(c)) {
                    known.extend(&d.to);
                }
            }
            if known.len() == before {
                return known;
            }
        }
    }
}

impl Bind<'_, '_, '_> {
    pub fn own_columns(&self) -> HashSet<ColumnId> {
        self.blocks.last().map(|b| b.from_columns.clone()).unwrap_or_default()
    }
}

fn equalities(predicates: &[Expr]) -> impl Iterator<Item = (&Expr, &Expr)> {
    predicates.iter().filter_map(|p| match &p.kind {
        ExprKind::Compare { op: CmpOp::Eq | CmpOp::NullSafeEq, left, right } => Some((&**left, &**right)),
        _ => None,
    })
}

/// The block's own columns in a side of an equality; None if it is not a plain function of them.
fn own_columns(e: &Expr, own: &HashSet<ColumnId>) -> Option<Vec<ColumnId>> {
    let mut columns = vec![];
    let mut plain = true;
    e.walk(&mut |e| match e.kind {
        ExprKind::Column(c) if own.contains(&c) => columns.push(c),
        ExprKind::Subquery(_) | ExprKind::UserVar { .. } | ExprKind::SetUserVar { .. } => plain = false,
        ExprKind::Call { function, .. } => plain &= !function.is_volatile(),
        _ => {}
    });
    plain.then_some(columns)
}
