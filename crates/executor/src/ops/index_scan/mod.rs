//! IndexScan: the rows within ranges of an index.
//!
//! ```text
//!   expressions ─▶ values ─▶ encoded ranges, sorted and merged ─▶ candidates ─▶ rows, a batch at a time
//! ```
//! Threads share one walk: each takes the next candidates under its latch and reads their rows without it.
//!
//! Two shortcuts. Where the table's rows lie in the order of the index, the leaves that can hold the ranges are
//! scanned, and the walk ([`walk`]) is left with the rows that lie elsewhere. And where the ranges turn out to hold a
//! good part of the table (the plan was made for other values), all leaves are, unless the rows are wanted in order.
//!
//! Where rows are only counted, they need not be looked at as long as their leaves have no versions; nor where all
//! columns are parts of the key that can be read back from it (a *covering* index). Several indexes may be merged
//! ([`super::index_merge`]), and of groups of entries it may be enough to read the first ([`super::loose_scan`]).
//! Entries may be tested before their rows are read ([`super::entry_filter`]), and rows read in an order that suits the
//! leaves ([`super::multi_range`]).

mod walk;

use crate::context::{IndexEncoder, KeySpan, TableReader};
use crate::eval::Filter;
use crate::ops::entry_filter::{EntryFilter, bounds};
use crate::ops::index_merge::run_index_merge;
use crate::ops::loose_scan::LooseSource;
use crate::ops::scan::{Reading, scan_leaves};
use crate::pipeline::{Down, run_pipeline};
use crate::run::Run;
use catalog::{KeyBounds, TableDef};
use expr::Expr;
use plan::access::EntryUse;
use plan::physical::{PlanNode, PlanOp};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use types::{Error, Result};
use vector::BATCH_ROWS_MAX;
use walk::{IndexScanSource, Walk};

/// Candidates of the first batch of a walk whose reader will probably stop early.
const FIRST_MIN: usize = 16;
/// Rows for which a thread is worth having, and of these candidates, where each stands for more of them.
const ROWS_PER_WORKER: u64 = 2048;
const CANDIDATES_PER_WORKER: u64 = 64;
/// Batches that each of several threads should get.
const BATCHES_PER_WORKER: usize = 4;
/// A walk over more than one row in so many is slower than a scan.
const SCAN_SHARE: u64 = 8;
/// Entries below which nobody asks.
const SHORT: u64 = 2048;
/// Ranges that are asked how many entries they have.
const DIVES_MAX: usize = 8;
/// Candidates of the first batch that is tested.
const FIRST_TESTED: usize = 64;
/// Rows that each of several leaves should hold to be scanned for them.
const ROWS_PER_LEAF_MIN: u64 = 32;

/// What the plan says of the scan.
struct Scan<'a> {
    run: Run<'a>,
    node: u32,
    table: &'a TableDef,
    index: usize,
    reverse: bool,
    ordered: bool,
    columns: &'a [usize],
    answered: &'a [Expr],
    filters: &'a [Expr],
    project: &'a [usize],
    with_row_id: bool,
    expected_rows: Option<u64>,
    entries: &'a EntryUse,
}

pub fn run_index_scan<'a>(run: &Run<'a>, node: &'a PlanNode, down: &Down<'_>) -> Result<()> {
    let PlanOp::IndexScan { ranges, .. } = &node.op else { return Err(Error::internal("not an IndexScan node")) };
    let scan = Scan::of(run, node)?;
    if let Some(merge) = &scan.entries.merge {
        let reader = run.ctx.tables.open(scan.table)?;
        let merged = run_index_merge(run, node, &*reader, merge, down)?;
        return if merged { Ok(()) } else { scan.by_leaves(reader, None, down) };
    }
    let bounds = bounds(run, scan.table, &scan.table.indexes[scan.index], ranges)?;
    if bounds.is_empty() {
        return Ok(());
    }
    scan.count_starts(&bounds);
    let reader = run.ctx.tables.open(scan.table)?;
    let spans: Option<Vec<KeySpan>> = bounds.iter().map(|b| reader.index_span(scan.index, b)).collect();
    match spans.map(merged) {
        Some(spans) => match scan.entries.loose {
            Some(parts) => scan.by_groups(&*reader, spans, parts, down),
            None => scan.by_spans(&reader, spans, down),
        },
        // The index lost its order since the plan was made.
        None if scan.ordered => Err(Error::internal("the index has no order")),
        None => scan.by_leaves(reader, None, down),
    }
}

impl<'a> Scan<'a> {
    fn of(run: &Run<'a>, node: &'a PlanNode) -> Result<Scan<'a>> {
        let PlanOp::IndexScan {
            table,
            index,
            reverse,
            ordered,
            columns,
            answered,
            filters,
            project,
            with_row_id,
            expected_rows,
            entries,
            ..
        } = &node.op
        else {
            return Err(Error::internal("not an IndexScan node"));
        };
        Ok(Scan {
            run: *run,
            node: node.id,
            table,
            index: *index,
            reverse: *reverse,
            ordered: *ordered,
            columns,
            // What several indexes answer together is among the filters, too.
            answered: if entries.merge.is_some() { &[] } else { answered },
            filters,
            project,
            with_row_id: *with_row_id,
            expected_rows: *expected_rows,
            entries,
        })
    }

    /// Each range begins with a search, or at an end of the index.
    fn count_starts(&self, bounds: &[KeyBounds]) {
        let open = |b: &&KeyBounds| if self.reverse { &b.high } else { &b.low }.values.is_empty();
        let from_end = bounds.iter().filter(open).count() as u64;
        let counters = self.run.ctx.counters;
        let ends = if self.reverse { &counters.handler_read_last } else { &counters.handler_read_first };
        ends.fetch_add(from_end, Relaxed);
        counters.handler_read_key.fetch_add(bounds.len() as u64 - from_end, Relaxed);
    }

    /// Scans leaves, all of them or those given, in whose order the rows then are.
    fn by_leaves(&self, reader: Arc<dyn TableReader + 'a>, leaves: Option<Vec<usize>>, down: &Down<'_>) -> Result<()> {
        let of_index = leaves.is_some();
        let what = Reading {
            table: self.table,
            columns: self.columns,
            project: self.project,
            sideways: &[],
            with_row_id: self.with_row_id,
            leaves,
            order: (of_index && self.ordered).then_some(self.reverse),
            by_index: of_index.then_some((self.index, self.reverse)),
        };
        scan_leaves(&self.run, self.node, reader, what, self.answered.iter().chain(self.filters), down)
    }

    /// The first row of each group of `parts` leading parts.
    fn by_groups(
        &self,
        reader: &dyn TableReader,
        mut spans: Vec<KeySpan>,
        parts: usize,
        down: &Down<'_>,
    ) -> Result<()> {
        if self.reverse {
            spans.reverse();
        }
        let run = &self.run;
        reader.prepare_index(self.index, &|| run.ctx.check_killed())?;
        let keys = reader.index_keys(self.index);
        let source = LooseSource {
            run: *run,
            reader,
            keys: keys.ok_or_else(|| Error::internal("a loose scan of an index without order"))?,
            index: self.index,
            parts,
            reverse: self.reverse,
            columns: self.columns,
            project: self.project,
            with_row_id: self.with_row_id,
            tests: EntryFilter::new(run, reader, self.table, self.index, self.entries)?,
            covering: if self.with_row_id { None } else { self.covering(reader).map(|c| c.1) },
            filter: Filter::new(self.filters, &run.eval())?,
            spans: Mutex::new(spans),
        };
        run_pipeline(run, self.node, &source, down)
    }

    /// The rows of the ranges: scans leaves where that is cheaper, and walks over what is left.
    fn by_spans(&self, reader: &Arc<dyn TableReader + 'a>, spans: Vec<KeySpan>, down: &Down<'_>) -> Result<()> {
        let used = self.entries;
        let entries = if spans.len() == 1 && self.ordered && self.expected_rows.is_some() {
            0
        } else {
            entries_within(&**reader, self.index, &spans)
        };
        let mut scanned = Vec::new();
        if let Some(found) = reader.index_leaves(self.index, &spans)
            && (spans.len() == 1 || found.leaves.len() as u64 * ROWS_PER_LEAF_MIN <= entries)
            && (found.is_all || !self.ordered)
        {
            self.by_leaves(reader.clone(), Some(found.leaves.clone()), down)?;
            if found.is_all || down.is_done() {
                return Ok(());
            }
            scanned = found.leaves;
            scanned.sort_unstable();
        } else {
            let by_entries = used.covering || used.skip_scan || !used.tests.is_empty() || used.multi_range.is_some();
            if !self.ordered && !by_entries && is_wide(&**reader, entries) {
                return self.by_leaves(reader.clone(), None, down);
            }
        }
        self.walk(&**reader, spans, scanned, entries, down)
    }

    /// Walks over the ranges, but for rows in leaves that were `scanned`. They hold about so many `entries`.
    fn walk(
        &self,
        reader: &dyn TableReader,
        mut spans: Vec<KeySpan>,
        scanned: Vec<usize>,
        entries: u64,
        down: &Down<'_>,
    ) -> Result<()> {
        let (run, used) = (&self.run, self.entries);
        if self.reverse {
            spans.reverse();
        }
        // Many keys, each with all that begins with it, are looked up together.
        let is_key = |s: &KeySpan| s.low.prefix == s.high.prefix && !s.low.after && s.high.after;
        let mut keys = Vec::new();
        if spans.len() > 1 && !self.reverse && scanned.is_empty() && spans.iter().all(is_key) {
            keys = spans.drain(..).map(|s| s.low.prefix).collect();
        }
        reader.prepare_index(self.index, &|| run.ctx.check_killed())?;
        let tests = EntryFilter::new(run, reader, self.table, self.index, used)?;
        if tests.as_ref().is_some_and(EntryFilter::passes_nothing) {
            return Ok(());
        }
        let covering = self.covering(reader);
        let multi_range = used.multi_range.filter(|_| !self.ordered && covering.is_none());
        if multi_range.is_some() {
            run.ctx.counters.handler_mrr_init.fetch_add(1, Relaxed);
        }
        let multi_range = multi_range.map_or(0, |n| (n as usize).max(BATCH_ROWS_MAX));
        let fill_rows = match self.expected_rows {
            Some(n) => (n as usize).saturating_mul(2).clamp(BATCH_ROWS_MAX, multi_range.max(BATCH_ROWS_MAX)),
            None => multi_range,
        };
        let counts = keys.is_empty() && self.filters.is_empty() && self.project.is_empty() && !self.with_row_id;
        let share = ((ROWS_PER_WORKER as f64 / down.weight()) as u64).max(CANDIDATES_PER_WORKER);
        let workers = match run.ctx.pool.is_worth_sharing(entries as f64, 2.0 * share as f64) {
            true if !self.ordered => (entries / share).max(2) as usize,
            _ => 1,
        };
        let batch_max = match workers.min(run.dop) {
            _ if run.ctx.one_by_one => 1,
            1 => BATCH_ROWS_MAX,
            n => (entries as usize / (n * BATCHES_PER_WORKER)).clamp(CANDIDATES_PER_WORKER as usize, BATCH_ROWS_MAX),
        };
        let source = IndexScanSource {
            run: *run,
            node: self.node,
            reader,
            index: self.index,
            reverse: self.reverse,
            columns: self.columns,
            project: self.project,
            with_row_id: self.with_row_id,
            counts,
            filter: Filter::new(self.filters, &run.eval())?,
            tests,
            covering,
            multi_range,
            workers,
            batch_max,
            scanned,
            gives_up: used.give_up.zip(run.attempt()),
            walk: Mutex::new(Walk::new(spans, keys, self.first_batch().min(batch_max), fill_rows)),
        };
        run_pipeline(run, self.node, &source, down)
    }

    /// Candidates of the first batch.
    fn first_batch(&self) -> usize {
        match self.expected_rows {
            Some(n) if self.filters.is_empty() => (n as usize).clamp(1, BATCH_ROWS_MAX),
            Some(n) => (n as usize * 2).clamp(FIRST_MIN, BATCH_ROWS_MAX),
            // Where entries are tested, a walk may soon jump.
            None if self.entries.has_conditions() => FIRST_TESTED,
            None => BATCH_ROWS_MAX,
        }
    }

    /// The parts that hold the columns, if the plan means to read these back from keys and each can be.
    fn covering(&self, reader: &dyn TableReader) -> Option<(IndexEncoder, Vec<usize>)> {
        if !self.entries.covering {
            return None;
        }
        let keys = reader.index_keys(self.index)?;
        let parts = &self.table.indexes[self.index].parts;
        let part = |c: &usize| parts.iter().position(|p| p.column_idx == *c).filter(|p| keys.is_invertible(*p));
        let parts = self.columns.iter().map(part).collect::<Option<Vec<_>>>()?;
        Some((keys, parts))
    }
}

/// About how many entries the ranges hold.
pub(super) fn entries_within(reader: &dyn TableReader, index: usize, spans: &[KeySpan]) -> u64 {
    let step = spans.len().div_ceil(DIVES_MAX).max(1);
    let asked = spans.iter().step_by(step).map(|s| reader.index_estimate(index, s));
    asked.fold(0, u64::saturating_add).saturating_mul(step as u64)
}

/// Whether walking over so many entries is slower than a scan.
pub(super) fn is_wide(reader: &dyn TableReader, entries: u64) -> bool {
    let table_rows = (reader.leaf_count() * BATCH_ROWS_MAX) as u64;
    entries > SHORT && entries > table_rows / SCAN_SHARE
}

/// The ranges in order, none empty, those that overlap or touch made one.
pub(super) fn merged(mut spans: Vec<KeySpan>) -> Vec<KeySpan> {
    spans.retain(|s| s.low < s.high);
    if spans.len() > 1 {
        spans.sort_by(|a, b| a.low.cmp(&b.low));
    }
    let mut out: Vec<KeySpan> = Vec::with_capacity(spans.len());
    for s in spans {
        match out.last_mut() {
            Some(last) if s.low <= last.high => {
                if s.high > last.high {
                    last.high = s.high;
                }
            }
            _ => out.push(s),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::KeyCut;

    #[test]
    fn ranges_that_touch_become_one() {
        let cut = |p: &[u8], after| KeyCut { prefix: p.to_vec(), after };
        let span = |low, high| KeySpan { low, high };
        // (a = 1 AND b > 2) OR a > 1: from after (1, 2) on.
        let a = span(cut(&[1, 2], true), cut(&[1], true));
        let b = span(cut(&[1], true), cut(&[], true));
        assert_eq!(merged(vec![b.clone(), a.clone()]), vec![span(cut(&[1, 2], true), cut(&[], true))]);
        // Equal ones, an empty one, one apart.
        let c = span(cut(&[9], true), cut(&[9], false));
        let d = span(cut(&[5], false), cut(&[5], true));
        let e = span(cut(&[7], false), cut(&[7], true));
        assert_eq!(merged(vec![e.clone(), d.clone(), c, d.clone()]), vec![d, e]);
        assert!(cut(&[1], false) < cut(&[1, 0], false) && cut(&[1, 255], true) < cut(&[1], true));
    }
}
