//! What EXPLAIN wants to know of an access and the plan itself does not say.

use super::{Built, LogicalInit, Physical};
use crate::optimize::column_set::ColumnSet;
use crate::optimize::tree::{as_column, collect_columns, visit};
use expr::{ColumnId, Expr, ExprKind};
use plan::PlanOp;
use plan::logical::{Columns, IndexHintScope, Logical};

/// Columns that conditions compare with constants, or with columns of other tables.
pub(super) fn searched_columns(root: &Logical, inits: &[LogicalInit], columns: &Columns) -> ColumnSet {
    let mut found = ColumnSet::new();
    for tree in std::iter::once(root).chain(inits.iter().map(|i| &i.plan)) {
        visit(tree, &mut |n| match n {
            Logical::Filter { predicates, .. } => predicates.iter().for_each(|p| search(p, columns, &mut found)),
            Logical::Join { on, .. } => on.iter().for_each(|p| search(p, columns, &mut found)),
            _ => {}
        });
    }
    found
}

fn search(p: &Expr, columns: &Columns, found: &mut ColumnSet) {
    match &p.kind {
        ExprKind::And(list) | ExprKind::Or(list) => list.iter().for_each(|p| search(p, columns, found)),
        ExprKind::Compare { left, right, .. } => {
            for (a, b) in [(left, right), (right, left)] {
                if let Some(c) = bare(a)
                    && !reads_same_table(b, c, columns)
                {
                    found.insert(c);
                }
            }
        }
        ExprKind::InList { expr, negated: false, .. }
        | ExprKind::InSet { expr, negated: false, .. }
        | ExprKind::IsNull { expr, .. } => bare(expr).into_iter().for_each(|c| {
            found.insert(c);
        }),
        ExprKind::Like { expr, pattern, negated: false, .. } if !open_ended(pattern) => {
            bare(expr).into_iter().for_each(|c| {
                found.insert(c);
            })
        }
        _ => {}
    }
}

/// The pattern begins with a wildcard.
fn open_ended(pattern: &Expr) -> bool {
    matches!(pattern.as_const(), Some(types::Value::Bytes(b)) if b.first().is_none_or(|c| matches!(c, b'%' | b'_')))
}

/// The column, bare or under a conversion that MySQL would not show.
fn bare(e: &Expr) -> Option<ColumnId> {
    match &e.kind {
        ExprKind::Cast { expr, explicit: false } => as_column(expr),
        _ => as_column(e),
    }
}

fn reads_same_table(e: &Expr, c: ColumnId, columns: &Columns) -> bool {
    if c as usize >= columns.len() {
        return false;
    }
    let mut read = ColumnSet::new();
    collect_columns(e, &mut read);
    let of = |c: ColumnId| (&columns.get(c).table_alias, columns.block_of(c));
    read.iter().any(|r| (r as usize) < columns.len() && of(r) == of(c))
}

impl Physical<'_, '_> {
    /// The query block of an operator, where its own columns say it.
    pub(super) fn block_of_op(&self, op: &PlanOp, layout: &[ColumnId]) -> u32 {
        let columns = &self.cx.columns;
        let first = |ids: &[ColumnId]| {
            ids.iter()
                .filter(|c| (**c as usize) < columns.len())
                .map(|c| columns.block_of(*c))
                .find(|b| *b > 0)
                .unwrap_or(0)
        };
        match op {
            PlanOp::Aggregate { groups, .. } => first(&layout[groups.len().min(layout.len())..]),
            PlanOp::Window { calls, .. } => first(&layout[layout.len().saturating_sub(calls.len())..]),
            PlanOp::Scan { .. }
            | PlanOp::KeyLookup { .. }
            | PlanOp::IndexScan { .. }
            | PlanOp::Virtual { .. }
            | PlanOp::Values { .. }
            | PlanOp::SetOp { .. }
            | PlanOp::CteScan { .. }
            | PlanOp::RecursiveUnion { .. } => first(layout),
            _ => 0,
        }
    }

    /// Notes of an access to the table of `get` that reads so many rows in one pass.
    pub(super) fn noted(&self, mut b: Built, get: &Logical, examined: f64) -> Built {
        let Logical::Get { table, columns, hints, tuning, .. } = get else { return b };
        b.node.notes.block = columns.first().map_or(0, |c| self.cx.columns.block_of(c.0));
        b.node.notes.examined = examined;
        let whole = Default::default();
        let site = super::index::Site { table, columns, hints, predicates: &[], whole: &whole, tuning };
        let searched = |position: usize| columns.iter().any(|c| c.1 == position && self.searched.contains(c.0));
        b.node.notes.possible = table
            .indexes
            .iter()
            .enumerate()
            .filter(|(i, x)| {
                self.visible(x)
                    && site.allows(*i, IndexHintScope::Join)
                    && x.parts.first().is_some_and(|p| searched(p.column_idx))
            })
            .map(|(i, _)| i)
            .collect();
        b
    }
}
