//! What an access does with an index's entries besides following them to rows: tests them (index condition pushdown),
//! skips among them (skip scan), reads columns out of them (a covering index), or sorts their row ids (multi-range
//! read).
//!
//! ```text
//!   index (a, b, c)    a > 5 AND b IN (3, 4) AND c <> b AND d = 1
//!                      range  test of b's bytes  read back  filter
//! ```
//! A row's visit costs several times an entry's, so whatever entries can answer is asked of them first.

use super::Physical;
use super::access::Reading;
use super::index::{IndexPath, Site};
use crate::optimize::cardinality;
use crate::optimize::column_set::ColumnSet;
use crate::optimize::lookup_cost::tests;
use crate::optimize::ranges;
use catalog::{IndexDef, TableDef};
use expr::{ColumnId, Expr, ExprKind};
use plan::access::{EntryUse, PartTest};
use types::{Result, SqlType};

/// Entries that a jump reads besides those that it finds.
const ENTRIES_PER_JUMP: f64 = 32.0;
/// Fewer rows than a batch has are read leaf by leaf anyway.
const MULTI_RANGE_MIN: f64 = 1024.0;
/// Leaves of a table from which on it is far larger than the caches.
const LEAVES_FAR: f64 = 4096.0;
/// Rows of a leaf, read together, that need not wait for it one by one.
const ROWS_TOGETHER: f64 = 32.0;

/// The predicates that entries answer.
#[derive(Debug, Default)]
pub(super) struct Pushed {
    pub tests: Vec<PartTest>,
    /// Predicates, by position, that need no test of rows any more.
    pub answered: Vec<bool>,
    /// Of them those that are evaluated over columns read back from the entries.
    conditions: Vec<usize>,
    /// Which entries pass.
    pub share: f64,
}

impl Pushed {
    pub fn none(site: &Site<'_>) -> Pushed {
        Pushed { answered: vec![false; site.predicates.len()], share: 1.0, ..Pushed::default() }
    }
}

/// Are values of a part read back from keys as they were written?
pub(super) fn reads_back(table: &TableDef, index: &IndexDef, part: usize) -> bool {
    let p = &index.parts[part];
    let ty = &table.columns[p.column_idx].ty;
    p.prefix_len.is_none() && !matches!(ty, SqlType::String { .. } | SqlType::Float | SqlType::Double)
}

/// It can neither fail nor warn, whatever the values: entries of versions that nobody sees are tested, too.
fn is_harmless(e: &Expr) -> bool {
    let mut ok = true;
    e.walk(&mut |x| {
        ok &= match &x.kind {
            ExprKind::Column(_)
            | ExprKind::Const(_)
            | ExprKind::And(_)
            | ExprKind::Or(_)
            | ExprKind::Not(_)
            | ExprKind::Compare { .. }
            | ExprKind::IsNull { .. }
            | ExprKind::IsTruth { .. }
            | ExprKind::InSet { .. } => true,
            ExprKind::InList { list, .. } => list.iter().all(|e| e.as_const().is_some()),
            ExprKind::Cast { expr, explicit: false } => expr.ty.is_integer() && is_wide(&x.ty),
            _ => false,
        };
    });
    ok
}

fn is_wide(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Double) || matches!(ty, SqlType::Decimal { precision, scale } if precision - scale >= 20)
}

impl Physical<'_, '_> {
    /// The predicates that entries of an index can answer, beside those `answered` already. `is_bounded`: parts that
    /// the ranges bound wholly.
    pub(super) fn pushed(
        &self,
        site: &Site<'_>,
        i: usize,
        index: &IndexDef,
        answered: &[bool],
        is_bounded: impl Fn(usize) -> bool,
    ) -> Pushed {
        let mut out = Pushed { answered: vec![false; site.predicates.len()], share: 1.0, ..Pushed::default() };
        if !site.tuning.icp(i).unwrap_or(self.cx.settings.switch.index_condition_pushdown) {
            return out;
        }
        let open: Vec<usize> = (0..site.predicates.len()).filter(|p| !answered[*p]).collect();
        let rest: Vec<Expr> = open.iter().map(|p| site.predicates[*p].clone()).collect();
        let mut counted = vec![false; rest.len()];
        for part in (0..index.parts.len()).filter(|p| !is_bounded(*p)) {
            let Some(found) = ranges::find_part(site.table, index, part, site.columns, &rest) else { continue };
            let column = site.columns.iter().find(|c| c.1 == index.parts[part].column_idx);
            for (n, exact) in found.answered.iter().enumerate() {
                out.answered[open[n]] |= exact;
                // What the test does not answer may bound it nevertheless.
                counted[n] |= *exact || column.is_some_and(|c| only_of(&rest[n], &[c.0]));
            }
            out.tests.push(PartTest { part, ranges: found.ranges });
        }
        let readable: Vec<ColumnId> = (0..index.parts.len())
            .filter(|p| reads_back(site.table, index, *p))
            .filter_map(|p| site.columns.iter().find(|c| c.1 == index.parts[p].column_idx).map(|c| c.0))
            .collect();
        for (n, p) in rest.iter().enumerate() {
            if !out.answered[open[n]] && only_of(p, &readable) && is_harmless(p) {
                out.answered[open[n]] = true;
                out.conditions.push(open[n]);
                counted[n] = true;
            }
        }
        let tested: Vec<Expr> = rest.iter().zip(&counted).filter(|(_, c)| **c).map(|(p, _)| p.clone()).collect();
        out.share = cardinality::conjunction(&tested, site.whole);
        out
    }

    /// Puts what entries can answer into the path, and reckons how many are walked and how many pass.
    pub(super) fn push_down(&self, site: &Site<'_>, path: &mut IndexPath) {
        let index = &site.table.indexes[path.index];
        path.walked = path.entries;
        if path.form.clustered {
            return;
        }
        let pushed =
            self.pushed(site, path.index, index, &path.answered, |p| path.ranges.iter().all(|r| r.parts() > p));
        path.entries *= pushed.share;
        if let Some(first) = pushed.tests.first() {
            // A jump for each value of the parts before the test.
            let groups = self.groups(site, index, first.part).min(path.walked);
            path.walked = path.walked.min(path.entries + groups * ENTRIES_PER_JUMP);
        }
        path.pushed = pushed;
    }

    /// About how many values the leading parts have together.
    pub(super) fn groups(&self, site: &Site<'_>, index: &IndexDef, parts: usize) -> f64 {
        let distinct = |p: &catalog::IndexPart| {
            site.columns
                .iter()
                .find(|c| c.1 == p.column_idx)
                .map_or(site.whole.rows, |c| site.whole.column(c.0).distinct)
        };
        index.parts[..parts].iter().map(distinct).product::<f64>().min(site.whole.rows).max(1.0)
    }

    /// Jumps through the values of leading parts that nothing bounds, to what a later part is tested for.
    pub(super) fn skip_path(&self, site: &Site<'_>, i: usize, index: &IndexDef) -> Option<IndexPath> {
        let form = self.cx.stats.index_form(site.table.id, i);
        let on = site.tuning.skip_scan(i).unwrap_or(self.cx.settings.switch.skip_scan);
        if !on || !form.ordered || form.clustered || index.parts.len() < 2 {
            return None;
        }
        let mut path = self.whole_path(site, i);
        // Pushdown is what it is made of, whatever that flag says.
        let none = vec![false; site.predicates.len()];
        path.pushed = self.pushed(site, i, index, &none, |_| false);
        let first = path.pushed.tests.first().filter(|t| t.part > 0)?;
        let groups = self.groups(site, index, first.part);
        path.entries = site.whole.rows * path.pushed.share;
        path.walked = (path.entries + groups * ENTRIES_PER_JUMP).min(site.whole.rows);
        path.jumps = groups * 2.0;
        path.skip_scan = true;
        Some(path)
    }

    /// Are all the columns read back from the entries?
    pub(super) fn covers(&self, site: &Site<'_>, path: &IndexPath, columns: &[usize]) -> bool {
        let index = &site.table.indexes[path.index];
        path.form.complete
            && columns.iter().all(|c| {
                index.parts.iter().position(|p| p.column_idx == *c).is_some_and(|p| reads_back(site.table, index, p))
            })
    }

    /// What a multi-range read costs a row, all else left aside.
    fn multi_range_row(&self, site: &Site<'_>, rows: f64) -> f64 {
        let cost = &self.cx.settings.cost;
        let leaves = (site.whole.rows / 1024.0).max(1.0);
        let at_once = rows.min(self.buffered_rows() as f64);
        cost.multi_range_row + cost.leaf_visit * (leaves / at_once.max(1.0)).min(1.0)
    }

    /// What a row costs more for having its leaf to itself, if so many rows are read from one end of the table to the
    /// other: where the table is larger than the caches, it is a walk through memory that nothing foresees.
    fn lonely_row(&self, site: &Site<'_>, at_once: f64) -> f64 {
        let leaves = site.whole.rows / 1024.0;
        let far = (leaves / LEAVES_FAR).min(1.0);
        let alone = (1.0 - at_once / leaves.max(1.0) / ROWS_TOGETHER).max(0.0);
        self.cx.settings.cost.lonely_row * far * alone
    }

    /// Rows that a key is taken to have at most, whatever the statistics say.
    pub(super) fn seeks_max(&self) -> f64 {
        self.cx.settings.limits.max_seeks_for_key as f64
    }

    fn buffered_rows(&self) -> u32 {
        (self.cx.settings.limits.read_rnd_buffer_size / 8).clamp(1024, 1 << 18) as u32
    }

    /// What reading through the path costs, if `share` of its entries are read; and whether its row ids are sorted.
    pub(super) fn path_cost(
        &self,
        site: &Site<'_>,
        path: &IndexPath,
        columns: &[usize],
        share: f64,
        in_order: bool,
    ) -> (f64, bool) {
        let cost = &self.cx.settings.cost;
        let n = columns.len() as f64;
        // max_seeks_for_key is about keys, not about ranges.
        let of_keys = path.ranges.iter().all(|r| r.last.is_none() && !r.equal.is_empty());
        let seeks = if of_keys { self.seeks_max() * path.ranges.len() as f64 } else { f64::INFINITY };
        let rows = (path.entries * share).min(seeks);
        let walked = (path.walked * share).min(seeks);
        let done = path.answered.iter().zip(&path.pushed.answered).map(|(a, b)| *a || *b);
        let left = site.predicates.iter().zip(done).filter(|(_, done)| !done).map(|(p, _)| p);
        let tested = rows * tests(left) * cost.predicate;
        if path.form.clustered && (!in_order || path.form.ordered) {
            return (cost.index_scan(path.ranges.len() as f64, rows, n, true) + tested, false);
        }
        let start = cost.index_open + (path.ranges.len() as f64).max(1.0) * cost.index_descent;
        let walk = start + path.jumps * share * cost.index_descent + walked * cost.index_entry;
        let by_entry = walked * path.pushed.tests.len() as f64 * cost.predicate;
        let base = walk + by_entry + tested;
        if self.covers(site, path, columns) {
            return (base + rows * n * cost.predicate, false);
        }
        // Rows of one key come in the order in which they lie.
        let index = &site.table.indexes[path.index];
        let of_key = match path.fixed_parts >= index.parts.len() {
            true => path.held / (path.ranges.len() as f64).max(1.0),
            false => site.whole.rows / self.groups(site, index, index.parts.len()),
        };
        let lonely = self.lonely_row(site, of_key.min(rows));
        let fetch = rows * (cost.index_row - cost.index_entry + lonely + n * cost.fetch_column);
        let lonely = self.lonely_row(site, rows.min(self.buffered_rows() as f64));
        let sorted = rows * (self.multi_range_row(site, rows) + lonely + n * cost.fetch_column);
        let on = site.tuning.mrr(path.index).unwrap_or(self.cx.settings.switch.mrr);
        let by_cost = self.cx.settings.switch.mrr_cost_based && site.tuning.mrr(path.index) != Some(true);
        if on && !in_order && !columns.is_empty() && (!by_cost || rows > MULTI_RANGE_MIN && sorted < fetch) {
            return (base + sorted, true);
        }
        (base + fetch, false)
    }

    /// How the node uses the entries.
    pub(super) fn entry_use(
        &self,
        site: &Site<'_>,
        path: &mut IndexPath,
        r: &Reading,
        sorted: bool,
    ) -> Result<EntryUse> {
        let pushed = std::mem::take(&mut path.pushed);
        Ok(EntryUse {
            covering: self.covers(site, path, &r.numbers),
            skip_scan: path.skip_scan,
            multi_range: sorted.then(|| self.buffered_rows()),
            ..self.tests_of(site, path.index, pushed, &r.facts)?
        })
    }

    /// The tests of entries as the plan has them.
    pub(super) fn tests_of(
        &self,
        site: &Site<'_>,
        index: usize,
        pushed: Pushed,
        facts: &ColumnSet,
    ) -> Result<EntryUse> {
        let index = &site.table.indexes[index];
        let mut used = EntryUse { tests: pushed.tests, ..EntryUse::default() };
        let mut layout: Vec<ColumnId> = vec![];
        for (p, part) in index.parts.iter().enumerate() {
            let Some((c, _)) = site.columns.iter().find(|c| c.1 == part.column_idx) else { continue };
            let mentioned = pushed.conditions.iter().any(|n| ranges::mentions(&site.predicates[*n], *c));
            if mentioned && reads_back(site.table, index, p) && !layout.contains(c) {
                used.decoded.push(p);
                layout.push(*c);
            }
        }
        for n in &pushed.conditions {
            used.conditions.push(self.resolve(&site.predicates[*n], &layout, facts)?);
        }
        Ok(used)
    }
}

/// Does the expression read columns, and no others than these?
fn only_of(e: &Expr, columns: &[ColumnId]) -> bool {
    let (mut some, mut ok) = (false, true);
    e.walk(&mut |x| {
        if let ExprKind::Column(c) = x.kind {
            some = true;
            ok &= columns.contains(&c);
        }
    });
    some && ok
}
