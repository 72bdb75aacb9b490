//! Late materialization: columns that only the client sees are read after a top-N, for the rows that are left.
//!
//! ```text
//!   Sort: a limit 10                         Fetch s, t, u by row id
//!     Join                                     Sort: a limit 10
//!       Scan x (a, k, s, t, u)      becomes      Join
//!       Scan y (k)                                 Scan x (a, k, row id)
//!                                                  Scan y (k)
//! ```
//! Joins and sorts then carry one integer a row in place of many columns. A row fetched by its id costs much more than
//! a row that passes by, so there must be many of these for one of those.

use super::{Built, Physical};
use crate::optimize::column_set::ColumnSet;
use crate::optimize::tree::{as_column, collect_columns, output_set, visit_mut};
use catalog::TableDef;
use expr::{ColumnId, Expr};
use plan::PlanOp;
use plan::logical::{Logical, LogicalJoinKind};
use std::sync::Arc;
use types::{Result, SqlType};

/// Rows that are sorted for one that is kept.
const ROWS_PER_KEPT_MIN: f64 = 100.0;
/// Rows that are kept at most.
const KEPT_MAX: u64 = 4096;
/// Bytes a row that are not carried.
const WIDTH_MIN: f64 = 40.0;
/// Tables with fewer rows are not looked at.
const ROWS_MIN: u64 = 20_000;

/// A table some of whose columns can wait.
pub(super) struct Late {
    alias: Box<str>,
    table: Arc<TableDef>,
    row_id: ColumnId,
    columns: Vec<(ColumnId, usize)>,
}

impl Physical<'_, '_> {
    /// The input of a top-N with its tables' late columns left out and their row ids put in.
    pub(super) fn without_late_columns(
        &mut self,
        b: &Built,
        input: &Logical,
        keys: &[(Expr, bool)],
        kept: Option<u64>,
        needed: &ColumnSet,
    ) -> Option<(Logical, Vec<Late>)> {
        let kept = kept.filter(|k| *k <= KEPT_MAX)?;
        if b.rows() < kept.max(1) as f64 * ROWS_PER_KEPT_MIN {
            return None;
        }
        let mut used = ColumnSet::new();
        keys.iter().for_each(|k| collect_columns(&k.0, &mut used));
        let mut tables: Tables = vec![];
        look(input, &mut used, &mut tables);
        let mut late = vec![];
        for (alias, table, columns) in tables {
            let columns: Vec<(ColumnId, usize)> =
                columns.into_iter().filter(|c| needed.contains(c.0) && !used.contains(c.0)).collect();
            let width: f64 = columns.iter().map(|c| b.estimate.column(c.0).width.max(8.0)).sum();
            let rows = self.cx.stats.table(table.id).map_or(0, |s| s.rows);
            if width >= WIDTH_MIN && rows >= ROWS_MIN {
                let row_id = self.cx.columns.computed("_rowid", SqlType::BIGINT_UNSIGNED, false);
                self.cx.columns.get_mut(row_id).table_alias = alias.clone();
                late.push(Late { alias, table, row_id, columns });
            }
        }
        if late.is_empty() {
            return None;
        }
        let mut input = input.clone();
        visit_mut(&mut input, &mut |n| {
            if let Logical::Get { alias, columns, row_id, .. } = n
                && let Some(l) = late.iter().find(|l| l.alias == *alias && columns.contains(&l.columns[0]))
            {
                *row_id = Some(l.row_id);
            }
            if let Logical::Project { exprs, .. } = n {
                for l in &late {
                    let before = exprs.len();
                    exprs.retain(|e| !l.columns.iter().any(|c| c.0 == e.0));
                    if exprs.len() < before {
                        exprs.push((l.row_id, Expr::column(l.row_id, SqlType::BIGINT_UNSIGNED, true)));
                    }
                }
            }
        });
        Some((input, late))
    }

    /// Fetches what was left out.
    pub(super) fn with_late_columns(&mut self, mut b: Built, node: &Logical, late: Vec<Late>) -> Result<Built> {
        let facts = crate::optimize::properties::not_null(node);
        for l in late {
            let Some(row_id) = b.position(l.row_id) else {
                return Err(types::Error::internal("a row id got lost on its way"));
            };
            let (rows, cost, mut known) = (b.estimate.clone(), b.cost(), b.not_null.clone());
            let mut layout = b.layout;
            for (c, _) in &l.columns {
                layout.push(*c);
                if facts.contains(*c) {
                    known.insert(*c);
                }
            }
            let cost = cost
                + rows.rows
                    * (self.cx.settings.cost.index_row + l.columns.len() as f64 * self.cx.settings.cost.fetch_column);
            let op = PlanOp::Fetch {
                input: Box::new(b.node),
                table: l.table,
                row_id,
                columns: l.columns.iter().map(|c| c.1).collect(),
            };
            b = self.node(op, layout, known, rows, cost);
        }
        Ok(b)
    }
}

impl Late {
    /// `columns` with the row ids in place of what they stand for.
    pub(super) fn replaced(late: &[Late], columns: &ColumnSet) -> ColumnSet {
        let mut out = columns.clone();
        for l in late {
            l.columns.iter().for_each(|c| out.remove(c.0));
            out.insert(l.row_id);
        }
        out
    }
}

type Tables = Vec<(Box<str>, Arc<TableDef>, Vec<(ColumnId, usize)>)>;

/// Collects the tables whose rows come through unaltered, and the columns that are used on the way.
fn look(node: &Logical, used: &mut ColumnSet, tables: &mut Tables) {
    match node {
        Logical::Get { table, alias, columns, is_virtual: false, row_id: None, .. } => {
            tables.push((alias.clone(), table.clone(), columns.clone()));
        }
        Logical::Filter { input, predicates } => {
            predicates.iter().for_each(|p| collect_columns(p, used));
            look(input, used, tables);
        }
        Logical::Project { input, exprs } => {
            // A column under another name is another column.
            exprs.iter().filter(|(id, e)| as_column(e) != Some(*id)).for_each(|e| collect_columns(&e.1, used));
            look(input, used, tables);
        }
        Logical::Join { kind, left, right, on, dependent: false, .. } => {
            on.iter().for_each(|p| collect_columns(p, used));
            look(left, used, tables);
            match kind {
                LogicalJoinKind::Inner | LogicalJoinKind::Left => look(right, used, tables),
                _ => used.union_with(&output_set(right)),
            }
        }
        // What else reads a column reads it below.
        other => used.union_with(&output_set(other)),
    }
}
