//! The indexes of a table, weighed for one access: which ranges of each hold the rows, how many entries those have,
//! and whether the rows then come in a wanted order.
//!
//! Entries are counted by a look at the index itself (a *dive*) where the values are known; unknown values (parameters)
//! count as selective ones, because the operator turns into a scan if it finds at execution that they are not.

use super::Physical;
use super::entry_use::Pushed;
use crate::optimize::cardinality::{self, Estimate};
use crate::optimize::lookup_cost::part_share;
use crate::optimize::ranges;
use crate::optimize::tree::as_column;
use catalog::{IndexDef, IndexForm, IndexKind, TableDef};
use expr::{ColumnId, Expr};
use plan::access::resolve;
use plan::logical::{IndexHint, IndexHintKind, IndexHintScope, TableTuning};
use plan::{IndexRange, LastPart, RangeEnd};
use std::sync::Arc;
use types::Error;

/// Ranges that are counted one by one; more count as so many times the average of these.
pub(super) const DIVES_MAX: usize = 8;
/// Shares of a table between two unknown values, beyond one, and under an unknown or short prefix.
const UNKNOWN_BETWEEN: f64 = 0.001;
const UNKNOWN_END: f64 = 0.02;
const PREFIX_SHARE: f64 = 0.01;
const KNOWN_BETWEEN: f64 = 0.1;
const KNOWN_END: f64 = 1.0 / 3.0;

/// A base table and what is asked of it.
pub(super) struct Site<'q> {
    pub table: &'q Arc<TableDef>,
    pub columns: &'q [(ColumnId, usize)],
    pub hints: &'q [IndexHint],
    pub predicates: &'q [Expr],
    pub whole: &'q Estimate,
    pub tuning: &'q TableTuning,
}

/// A way to read the table through an index.
pub(super) struct IndexPath {
    pub index: usize,
    pub ranges: Vec<IndexRange>,
    /// Predicates that the ranges answer, by position.
    pub answered: Vec<bool>,
    /// Leading parts with one value throughout.
    pub fixed_parts: usize,
    /// Entries within the ranges.
    pub held: f64,
    /// Entries walked over; of them those whose rows are read.
    pub walked: f64,
    pub entries: f64,
    /// What entries answer by themselves.
    pub pushed: Pushed,
    pub skip_scan: bool,
    /// Descents within the ranges.
    pub jumps: f64,
    /// Rows left by the other predicates.
    pub rows: f64,
    pub form: IndexForm,
}

impl Site<'_> {
    /// Do the hints allow this index for this purpose?
    pub fn allows(&self, index: usize, scope: IndexHintScope) -> bool {
        self.hints.iter().filter(|h| h.scope == IndexHintScope::All || h.scope == scope).all(|h| match h.kind {
            IndexHintKind::Ignore => !h.indexes.contains(&index),
            // Several USE hints add up.
            IndexHintKind::Use | IndexHintKind::Force => self.hints.iter().any(|h| {
                h.kind != IndexHintKind::Ignore
                    && (h.scope == IndexHintScope::All || h.scope == scope)
                    && h.indexes.contains(&index)
            }),
        })
    }

    /// FORCE INDEX: scans are the last resort.
    pub fn forced(&self, scope: IndexHintScope) -> bool {
        self.hints
            .iter()
            .any(|h| h.kind == IndexHintKind::Force && (h.scope == IndexHintScope::All || h.scope == scope))
    }
}

impl Physical<'_, '_> {
    pub(super) fn visible(&self, index: &IndexDef) -> bool {
        (!index.invisible || self.cx.settings.switch.use_invisible_indexes)
            && !matches!(index.kind, IndexKind::FullText | IndexKind::Spatial)
    }

    /// The ways to find the rows by what the predicates say.
    pub(super) fn range_paths(&self, site: &Site<'_>) -> Vec<IndexPath> {
        if !self.cx.settings.index_access || site.predicates.is_empty() {
            return vec![];
        }
        let mut paths = vec![];
        for (i, index) in site.table.indexes.iter().enumerate() {
            if self.visible(index) && site.allows(i, IndexHintScope::Join) {
                let path = if site.tuning.no_range(i) { None } else { self.range_path(site, i, index) };
                paths.extend(path.or_else(|| self.skip_path(site, i, index)));
            }
        }
        paths
    }

    pub(super) fn range_path(&self, site: &Site<'_>, i: usize, index: &IndexDef) -> Option<IndexPath> {
        let form = self.cx.stats.index_form(site.table.id, i);
        if !form.ordered && !form.clustered {
            return None;
        }
        let found = self.index_ranges(site, index, &site.predicates.iter().collect::<Vec<_>>())?;
        let entries = self.entries(site, i, index, &found.ranges, true);
        let of = |answered: bool| {
            let all = site.predicates.iter().zip(&found.answered).filter(|(_, a)| **a == answered);
            all.map(|(p, _)| p.clone()).collect::<Vec<Expr>>()
        };
        let rows = entries * self.est.conditional(site.table, site.columns, &of(true), &of(false), site.whole);
        let mut path = IndexPath {
            index: i,
            ranges: found.ranges,
            answered: found.answered,
            fixed_parts: found.fixed_parts,
            held: entries,
            walked: entries,
            entries,
            pushed: Pushed::none(site),
            skip_scan: false,
            jumps: 0.0,
            rows,
            form,
        };
        self.push_down(site, &mut path);
        Some(path)
    }

    /// What the conjuncts say of the index, if the memory for it suffices.
    pub(super) fn index_ranges(&self, site: &Site<'_>, index: &IndexDef, conjuncts: &[&Expr]) -> Option<ranges::Found> {
        let mut memory = ranges::Memory::of(self.cx.settings.limits.range_optimizer_max_mem_size);
        let found = ranges::find(site.table, index, site.columns, conjuncts, &mut memory);
        if memory.is_exceeded {
            self.ranges_exceeded.set(true);
        }
        found
    }

    /// The whole index, for its order.
    pub(super) fn whole_path(&self, site: &Site<'_>, i: usize) -> IndexPath {
        let s = cardinality::conjunction(site.predicates, site.whole);
        IndexPath {
            index: i,
            ranges: vec![IndexRange::default()],
            answered: vec![false; site.predicates.len()],
            fixed_parts: 0,
            held: site.whole.rows,
            walked: site.whole.rows,
            entries: site.whole.rows,
            pushed: Pushed::none(site),
            skip_scan: false,
            jumps: 0.0,
            rows: site.whole.rows * s,
            form: self.cx.stats.index_form(site.table.id, i),
        }
    }

    /// The ways to read the rows in the order of `keys`: (path, from the end).
    pub(super) fn ordered_paths(&self, site: &Site<'_>, keys: &[(Expr, bool)]) -> Vec<(IndexPath, bool)> {
        if !self.cx.settings.index_access {
            return vec![];
        }
        let mut paths = vec![];
        for (i, index) in site.table.indexes.iter().enumerate() {
            let allowed = site.allows(i, self.order_scope) && self.visible(index);
            if !allowed || !self.cx.stats.index_form(site.table.id, i).ordered {
                continue;
            }
            let by_range = (site.allows(i, IndexHintScope::Join) && !site.tuning.no_range(i))
                .then(|| self.range_path(site, i, index))
                .flatten();
            let path = by_range.unwrap_or_else(|| {
                let mut path = self.whole_path(site, i);
                self.push_down(site, &mut path);
                path
            });
            if let Some(reverse) = order_of(site, index, path.fixed_parts, keys) {
                paths.push((path, reverse));
            }
        }
        paths
    }

    /// About how many entries the ranges hold together; without dives, what statistics say.
    pub(super) fn entries(
        &self,
        site: &Site<'_>,
        i: usize,
        index: &IndexDef,
        ranges: &[IndexRange],
        may_dive: bool,
    ) -> f64 {
        let all = site.whole.rows;
        let mut sum = 0.0;
        let step = ranges.len().div_ceil(DIVES_MAX).max(1);
        let limit = self.cx.settings.limits.eq_range_index_dive_limit;
        // Of many equalities each has as many entries as a value has on average.
        let dives = limit == 0 || (ranges.iter().filter(|r| r.last.is_none()).count() as u64) < limit;
        let mut counted = 0.0f64;
        for r in ranges.iter().step_by(step) {
            sum += self.entries_of(site, i, index, r, may_dive && (dives || r.last.is_some()));
            counted += 1.0;
        }
        (sum * ranges.len() as f64 / counted.max(1.0)).min(all)
    }

    fn entries_of(&self, site: &Site<'_>, i: usize, index: &IndexDef, range: &IndexRange, dive: bool) -> f64 {
        let all = site.whole.rows;
        if index.is_unique()
            && range.equal.len() == index.parts.len()
            && index.parts.iter().all(|p| p.prefix_len.is_none())
            && range.equal.iter().all(|k| !k.null_safe)
        {
            return all.min(1.0);
        }
        let mut known = |e: &Expr| e.as_const().cloned().ok_or_else(|| Error::internal("not known yet"));
        if dive && let Ok(bounds) = resolve(range, site.table, index, &mut known) {
            let Some(bounds) = bounds else { return 0.0 };
            if let Some(n) = self.cx.stats.index_estimate(site.table.id, i, &bounds) {
                return n as f64;
            }
        }
        self.guess(site, index, range)
    }

    /// Entries of a range with values that are not known yet.
    pub(super) fn guess(&self, site: &Site<'_>, index: &IndexDef, range: &IndexRange) -> f64 {
        let column = |part: usize| {
            let n = index.parts[part].column_idx;
            site.columns.iter().find(|c| c.1 == n).map(|c| site.whole.column(c.0))
        };
        let all = site.whole.rows;
        let mut rows = all;
        for p in 0..range.equal.len() {
            rows *= part_share(p, column(p).map_or(10.0, |c| c.distinct));
        }
        rows *= match &range.last {
            None => 1.0,
            Some(LastPart::StartsWith(_)) => PREFIX_SHARE,
            Some(LastPart::Between { low: None, high: None }) => {
                1.0 - column(range.equal.len()).map_or(0.0, |c| c.null_fraction)
            }
            // Known values of an index that cannot be asked.
            Some(LastPart::Between { low, high })
                if low.iter().chain(high).all(|e: &RangeEnd| e.expr.as_const().is_some()) =>
            {
                if low.is_some() && high.is_some() { KNOWN_BETWEEN } else { KNOWN_END }
            }
            Some(LastPart::Between { low: Some(_), high: Some(_) }) => UNKNOWN_BETWEEN,
            Some(LastPart::Between { .. }) => UNKNOWN_END,
        };
        rows.max(all.min(1.0))
    }
}

/// Does the index, its first `fixed` parts having one value each, yield the order of `keys`? From its end?
fn order_of(site: &Site<'_>, index: &IndexDef, fixed: usize, keys: &[(Expr, bool)]) -> Option<bool> {
    let mut part = fixed;
    let mut reverse = None;
    for (e, descending) in keys {
        let id = as_column(e)?;
        let column = site.columns.iter().find(|c| c.0 == id)?.1;
        if index.parts[..fixed].iter().any(|p| p.column_idx == column) {
            continue;
        }
        let Some(p) = index.parts.get(part) else {
            // The key determines the row.
            let whole = |p: &catalog::IndexPart| p.prefix_len.is_none() && !site.table.columns[p.column_idx].nullable;
            return (index.is_unique() && index.parts.iter().all(whole)).then(|| reverse.unwrap_or(false));
        };
        if p.column_idx != column || p.prefix_len.is_some() {
            return None;
        }
        let backwards = *descending != p.descending;
        if *reverse.get_or_insert(backwards) != backwards {
            return None;
        }
        part += 1;
    }
    Some(reverse.unwrap_or(false))
}
