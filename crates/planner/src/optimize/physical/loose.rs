//! Loose index scans: DISTINCT and GROUP BY with MIN and MAX need one row of each group, and an index whose leading
//! parts are the group's columns finds it with a jump.
//!
//! ```text
//!   index (a, b)    SELECT DISTINCT a                   the first row of each a
//!                   SELECT a, MAX(b) GROUP BY a         the last row of each a
//!                   SELECT a, MIN(b), MAX(b) ...        both
//!                   SELECT COUNT(DISTINCT a, b)         the first row of each (a, b)
//! ```
//! The scan hands on a row or two of each group; the aggregation above stays what it is. Where NULLs stand in front of
//! the least value, that value's row and any row of the group are handed on: so groups without a value are not lost.

use super::index::{IndexPath, Site};
use super::{Built, Physical};
use crate::optimize::column_set::ColumnSet;
use crate::optimize::tree::{as_column, is_not_null};
use catalog::IndexDef;
use expr::{AggCall, AggFunc, ColumnId, Expr};
use plan::logical::{IndexHintScope, Logical};
use plan::{PlanOp, SetOpKind};
use types::Result;

/// Entries that a jump reads besides the one that it finds.
const ENTRIES_PER_JUMP: f64 = 8.0;

/// What is wanted of each group.
pub(super) struct Wanted {
    /// The columns that make the group.
    pub group: Vec<ColumnId>,
    /// The column of which the ends are wanted, and which.
    pub ends: Option<(ColumnId, bool, bool)>,
}

impl Wanted {
    /// What an aggregation needs, if one row or two of each group are enough for it.
    pub fn of(groups: &[(ColumnId, Expr)], calls: &[&(ColumnId, AggCall)]) -> Option<Wanted> {
        let mut group = groups.iter().map(|g| as_column(&g.1)).collect::<Option<Vec<_>>>()?;
        let mut ends: Option<(ColumnId, bool, bool)> = None;
        let mut distinct: Option<Vec<ColumnId>> = None;
        for (_, a) in calls {
            let args = a.args.iter().map(as_column).collect::<Option<Vec<_>>>()?;
            match (a.func, args.as_slice()) {
                (AggFunc::Min | AggFunc::Max, [c]) => {
                    let e = ends.get_or_insert((*c, false, false));
                    if e.0 != *c {
                        return None;
                    }
                    *if a.func == AggFunc::Min { &mut e.1 } else { &mut e.2 } = true;
                }
                (AggFunc::Count | AggFunc::Sum | AggFunc::Avg, [_, ..]) if a.distinct => {
                    if distinct.get_or_insert_with(|| args.clone()) != &args {
                        return None;
                    }
                }
                _ => return None,
            }
        }
        if let Some(d) = distinct {
            // Each tuple of arguments is a group of its own.
            if ends.is_some() {
                return None;
            }
            group.extend(d);
        }
        group.sort_unstable();
        group.dedup();
        (!group.is_empty()).then_some(Wanted { group, ends })
    }
}

/// One walk: its path, from the end?, with rows whose column is not NULL alone?
struct Walk {
    path: IndexPath,
    reverse: bool,
    not_null: bool,
}

impl Physical<'_, '_> {
    /// A row or two of each group, if an index finds them for less than `budget`.
    pub(super) fn loose(
        &mut self,
        input: &Logical,
        wanted: &Wanted,
        needed: &ColumnSet,
        budget: f64,
        read_before: f64,
    ) -> Result<Option<Built>> {
        let (get, predicates): (&Logical, &[Expr]) = match input {
            Logical::Filter { input, predicates } => (input, predicates),
            other => (other, &[]),
        };
        let Logical::Get { table, columns, is_virtual: false, hints, tuning, .. } = get else { return Ok(None) };
        if !self.cx.settings.index_access {
            return Ok(None);
        }
        let whole = self.est.node(get, &[]);
        let r = self.reading(get, predicates, needed)?;
        let mut with_not_null = predicates.to_vec();
        if let Some((c, ..)) = wanted.ends {
            with_not_null.push(is_not_null(self.cx.columns.expr(c)));
        }
        let site = Site { table, columns, hints, predicates, whole: &whole, tuning };
        let strict = Site { table, columns, hints, predicates: &with_not_null, whole: &whole, tuning };
        let mut best: Option<(f64, Vec<Walk>, usize)> = None;
        for (i, index) in table.indexes.iter().enumerate() {
            let form = self.cx.stats.index_form(table.id, i);
            if !self.visible(index) || !site.allows(i, IndexHintScope::GroupBy) || !form.ordered {
                continue;
            }
            let Some(parts) = leading(&site, index, wanted) else { continue };
            let walks = self.walks(&site, &strict, i, parts, wanted);
            let cost: f64 = walks.iter().map(|w| self.loose_cost(&site, index, w, parts, &r.numbers)).sum();
            if best.as_ref().is_none_or(|b| cost < b.0) {
                best = Some((cost, walks, parts));
            }
        }
        let Some((cost, walks, parts)) = best else { return Ok(None) };
        if cost >= budget && !site.forced(IndexHintScope::GroupBy) {
            return Ok(None);
        }
        let each = cost / walks.len() as f64;
        self.rows_read = read_before;
        let mut made = vec![];
        for w in walks {
            let at = if w.not_null { &strict } else { &site };
            let r = self.reading(get, at.predicates, needed)?;
            let groups = self.groups(&site, &table.indexes[w.path.index], parts).min(w.path.rows.max(1.0));
            let mut b = self.index_scan(get, at, r, w.path, (each, false), Some((w.reverse, None)))?;
            if let PlanOp::IndexScan { entries, ordered, .. } = &mut b.node.op {
                entries.loose = Some(parts);
                *ordered = false;
            }
            b.estimate.rows = groups;
            b.node.estimated_rows = groups;
            made.push(b);
        }
        self.rows_read = read_before + made.iter().map(Built::rows).sum::<f64>();
        if made.len() == 1 {
            return Ok(made.pop());
        }
        let (layout, mut e) = (made[0].layout.clone(), made[0].estimate.clone());
        let facts = made.iter().skip(1).fold(made[0].not_null.clone(), |f, m| f.intersection(&m.not_null));
        e.rows = made.iter().map(Built::rows).sum();
        for m in &mut made {
            m.node.output = self.output(&layout, &facts);
        }
        let op = PlanOp::SetOp { kind: SetOpKind::UnionAll, inputs: made.into_iter().map(|m| m.node).collect() };
        Ok(Some(self.node(op, layout, facts, e, cost)))
    }

    /// The walks that find what is wanted of each group.
    fn walks(&self, site: &Site<'_>, strict: &Site<'_>, i: usize, parts: usize, wanted: &Wanted) -> Vec<Walk> {
        let index = &site.table.indexes[i];
        let path = |site: &Site<'_>| {
            let ranged = if site.tuning.no_range(i) { None } else { self.range_path(site, i, index) };
            ranged.unwrap_or_else(|| {
                let mut path = self.whole_path(site, i);
                self.push_down(site, &mut path);
                path
            })
        };
        let any = || Walk { path: path(site), reverse: false, not_null: false };
        let Some((_, min, max)) = wanted.ends else { return vec![any()] };
        let part = &index.parts[parts];
        let nullable = site.table.columns[part.column_idx].nullable;
        let mut out = vec![];
        if min && nullable {
            out.push(Walk { path: path(strict), reverse: part.descending, not_null: true });
        } else if min {
            out.push(Walk { path: path(site), reverse: part.descending, not_null: false });
        }
        // From the greatest value down NULLs come last: a group of NULLs alone is found as well.
        if max || min && nullable {
            out.push(Walk { path: path(site), reverse: !part.descending, not_null: false });
        }
        out
    }

    fn loose_cost(&self, site: &Site<'_>, index: &IndexDef, w: &Walk, parts: usize, columns: &[usize]) -> f64 {
        let cost = &self.cx.settings.cost;
        let groups = self.groups(site, index, parts).min(w.path.walked.max(1.0));
        // Rows that pass are as thin in a group as everywhere.
        let passing = (w.path.rows / w.path.walked.max(1.0)).clamp(1e-6, 1.0);
        let entries = (groups * (ENTRIES_PER_JUMP + 1.0 / passing)).min(w.path.walked.max(1.0));
        let row = if self.covers(site, &w.path, columns) { cost.index_entry } else { cost.index_row };
        let jumps = groups.min(entries / ENTRIES_PER_JUMP);
        cost.index_open + jumps * cost.index_descent + entries * (row + columns.len() as f64 * cost.fetch_column)
    }
}

/// How many leading parts of the index make the group, if they do, with the wanted column behind them.
fn leading(site: &Site<'_>, index: &IndexDef, wanted: &Wanted) -> Option<usize> {
    let column = |part: usize| {
        let p = index.parts.get(part).filter(|p| p.prefix_len.is_none())?;
        site.columns.iter().find(|c| c.1 == p.column_idx).map(|c| c.0)
    };
    let n = wanted.group.len();
    let all = (0..n).all(|p| column(p).is_some_and(|c| wanted.group.contains(&c)));
    let ends = wanted.ends.is_none_or(|(c, ..)| column(n) == Some(c));
    (all && ends).then_some(n)
}
