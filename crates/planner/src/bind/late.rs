//! Items of a select list that are computed for the rows that are sent alone: behind ORDER BY and LIMIT.
//!
//! ```text
//!   Sort ─ Project a, b, (late) ─ Limit ─ Sort ─ Project a, b, what the late ones read ─ ...
//! ```
//! - Items that assign user variables, or read some that are assigned, in the order of those rows.
//! - Under a LIMIT, items with subqueries: who shows a page of rows does not want one run for every row of the table.
//!   What they become may not keep the order of its input, so the few rows are sorted again.
//! - Under a LIMIT, items that may warn or fail: what they say of other rows is nobody's concern.

use super::api::Bind;
use super::select::reads;
use expr::{ColumnId, Expr};
use plan::logical::visit::columns_read;
use std::collections::HashSet;

/// Rows of a LIMIT that are worth a second sort.
const ROWS_MAX: u64 = 10_000;

/// See the module head.
#[derive(Default)]
pub(super) struct Late {
    /// The whole list, the late items among them; empty: there are none.
    pub all: Vec<(ColumnId, Expr)>,
    pub has_subqueries: bool,
}

impl Bind<'_, '_, '_> {
    /// Takes late items out of `project`, which passes on what they read of the `local` columns. `page`: how many rows
    /// a LIMIT lets through, if there is one.
    pub(super) fn late_items(
        &self,
        project: &mut Vec<(ColumnId, Expr)>,
        sort: &[(Expr, bool)],
        page: Option<u64>,
        local: &HashSet<ColumnId>,
    ) -> Late {
        let sorted_by = |ids: &HashSet<ColumnId>| sort.iter().any(|(key, _)| reads(key, ids));
        let mut late: HashSet<ColumnId> =
            project.iter().filter(|(_, e)| e.follows_variables()).map(|(id, _)| *id).collect();
        if sort.is_empty() || sorted_by(&late) {
            late.clear();
        }
        let is_page = page.is_some_and(|n| n <= ROWS_MAX);
        let costly = |e: &Expr| is_page && e.has_subquery() && !e.follows_variables();
        let costly = project.iter().filter(|(id, e)| costly(e) && !sorted_by(&HashSet::from([*id])));
        let costly: Vec<ColumnId> = costly.map(|(id, _)| *id).collect();
        let has_subqueries = !costly.is_empty();
        late.extend(costly);
        let harmful = |e: &Expr| page.is_some() && !e.is_harmless() && !e.has_subquery() && !e.follows_variables();
        let harmful = project.iter().filter(|(id, e)| harmful(e) && !sorted_by(&HashSet::from([*id])));
        late.extend(harmful.map(|(id, _)| *id));
        if late.is_empty() {
            return Late::default();
        }
        let column = |id: ColumnId| self.shared.columns.expr(id);
        let all: Vec<(ColumnId, Expr)> =
            project.iter().map(|(id, e)| (*id, if late.contains(id) { e.clone() } else { column(*id) })).collect();
        project.retain(|(id, _)| !late.contains(id));
        for (_, e) in all.iter().filter(|(id, _)| late.contains(id)) {
            let read = columns_read(e, |id| self.shared.subqueries.get(id as usize)?.as_ref());
            for id in read.into_iter().filter(|id| local.contains(id)) {
                if !project.iter().any(|(p, _)| *p == id) {
                    project.push((id, column(id)));
                }
            }
        }
        Late { all, has_subqueries }
    }
}
