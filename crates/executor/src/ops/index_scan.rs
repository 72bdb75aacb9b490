//! IndexScan: the rows within stretches of an index.
//!
//! ```text
//!   expressions ─▶ values ─▶ encoded stretches, sorted and merged ─▶ candidates ─▶ rows, a batch at a time
//! ```
//! Threads share one walk: each takes the next candidates under its latch and reads their rows without it.
//!
//! Two shortcuts. Where the table's rows lie in the order of the index, the leaves that can hold the stretches are
//! scanned, and the walk is left with the rows that lie elsewhere. And where the stretches turn out to hold a good part of the table (the plan was made for other values), all
//! leaves are, unless the rows are wanted in order.
//!
//! Where rows are only counted, they need not be looked at as long as their leaves have no versions.

use crate::context::{Candidates, IndexCursor, KeySpan, TableReader};
use crate::eval::{Filter, Program};
use crate::ops::scan::{Reading, scan_leaves};
use crate::pipeline::{Down, Pull, Source, run_pipeline};
use crate::run::Run;
use catalog::KeyBounds;
use plan::IndexRange;
use plan::access::resolve;
use plan::physical::{PlanNode, PlanOp};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use types::{Error, Result, Value};
use vector::{BATCH_ROWS_MAX, Batch};

/// Candidates of the first batch of a walk whose reader will probably stop early.
const FIRST_MIN: usize = 16;
/// Candidates for which a thread is worth having.
const ROWS_PER_WORKER: u64 = 8192;
/// A walk over more than one row in so many is slower than a scan.
const SCAN_SHARE: u64 = 8;
/// Entries below which nobody asks.
const SHORT: u64 = 2048;
/// Stretches that are asked how many entries they have.
const DIVES_MAX: usize = 8;
/// After so many batches in turn whose rows had to be looked at, a thread no more hopes for others.
const UNSETTLED_MAX: u32 = 4;
/// Keys that are looked up together.
const KEYS_AT_ONCE: usize = 128;
/// Rows that each of several leaves should hold to be scanned for them.
const ROWS_PER_LEAF_MIN: u64 = 32;

pub fn run_index_scan<'a>(run: &Run<'a>, node: &'a PlanNode, down: &Down<'_>) -> Result<()> {
    let PlanOp::IndexScan { table, index, ranges, reverse, ordered, columns, answered, filters, .. } = &node.op else {
        return Err(Error::internal("not an IndexScan node"));
    };
    let PlanOp::IndexScan { project, with_row_id, expected_rows, .. } = &node.op else {
        return Err(Error::internal("not an IndexScan node"));
    };
    let bounds = bounds(run, table, *index, ranges)?;
    if bounds.is_empty() {
        return Ok(());
    }
    let counters = run.ctx.counters;
    let from_end = bounds.iter().filter(|b| if *reverse { &b.high } else { &b.low }.values.is_empty()).count() as u64;
    let ends = if *reverse { &counters.handler_read_last } else { &counters.handler_read_first };
    ends.fetch_add(from_end, Relaxed);
    counters.handler_read_key.fetch_add(bounds.len() as u64 - from_end, Relaxed);
    let reader = run.ctx.tables.open(table)?;
    let by_leaves = |leaves: Option<Vec<usize>>, order| {
        let by_index = leaves.is_some().then_some(*reverse);
        let with_row_id = *with_row_id;
        let what = Reading { table, columns, project, sideways: &[], with_row_id, leaves, order, by_index };
        scan_leaves(run, node.id, reader.clone(), what, answered.iter().chain(filters), down)
    };
    let spans: Option<Vec<KeySpan>> = bounds.iter().map(|b| reader.index_span(*index, b)).collect();
    let Some(spans) = spans else {
        // The index lost its order since the plan was made.
        return if *ordered { Err(Error::internal("the index has no order")) } else { by_leaves(None, None) };
    };
    let mut spans = merged(spans);
    let entries = if spans.len() == 1 && *ordered && expected_rows.is_some() {
        0
    } else {
        let step = spans.len().div_ceil(DIVES_MAX).max(1);
        let asked = spans.iter().step_by(step).map(|s| reader.index_estimate(*index, s));
        asked.fold(0, u64::saturating_add).saturating_mul(step as u64)
    };
    let mut scanned = Vec::new();
    if let Some(found) = reader.index_leaves(*index, &spans)
        && (spans.len() == 1 || found.leaves.len() as u64 * ROWS_PER_LEAF_MIN <= entries)
        && (found.is_all || !ordered)
    {
        by_leaves(Some(found.leaves.clone()), ordered.then_some(*reverse))?;
        if found.is_all || down.is_done() {
            return Ok(());
        }
        scanned = found.leaves;
        scanned.sort_unstable();
    } else {
        let table_rows = (reader.leaf_count() * BATCH_ROWS_MAX) as u64;
        if !ordered && entries > SHORT && entries > table_rows / SCAN_SHARE {
            return by_leaves(None, None);
        }
    }
    if *reverse {
        spans.reverse();
    }
    let first = match expected_rows {
        Some(n) if filters.is_empty() => (*n as usize).clamp(1, BATCH_ROWS_MAX),
        Some(n) => (*n as usize * 2).clamp(FIRST_MIN, BATCH_ROWS_MAX),
        None => BATCH_ROWS_MAX,
    };
    // Many keys, each with all that begins with it, are looked up together.
    let is_key = |s: &KeySpan| s.low.prefix == s.high.prefix && !s.low.after && s.high.after;
    let mut keys = Vec::new();
    if spans.len() > 1 && !*reverse && scanned.is_empty() && spans.iter().all(is_key) {
        keys = spans.drain(..).map(|s| s.low.prefix).collect();
    }
    reader.prepare_index(*index, &|| run.ctx.check_killed())?;
    let walk = Walk {
        spans: spans.into_iter(),
        cursor: None,
        size: first,
        keys,
        keys_done: 0,
        found: Candidates::default(),
        found_done: 0,
    };
    let counts = walk.keys.is_empty() && filters.is_empty() && project.is_empty() && !*with_row_id;
    let source = IndexScanSource {
        run: *run,
        reader: &*reader,
        index: *index,
        reverse: *reverse,
        columns,
        project,
        with_row_id: *with_row_id,
        counts,
        filter: Filter::new(filters, &run.eval())?,
        workers: if *ordered { 1 } else { (entries / ROWS_PER_WORKER).max(1) as usize },
        scanned,
        walk: Mutex::new(walk),
    };
    run_pipeline(run, node.id, &source, down)
}

/// What counts entries walked over in this direction.
fn entries_walked<'a>(run: &Run<'a>, reverse: bool) -> &'a AtomicU64 {
    if reverse { &run.ctx.counters.handler_read_prev } else { &run.ctx.counters.handler_read_next }
}

/// The stretches that can hold anything, their values computed.
fn bounds(run: &Run<'_>, table: &catalog::TableDef, index: usize, ranges: &[IndexRange]) -> Result<Vec<KeyBounds>> {
    let ctx = run.eval();
    let one = Batch::new(1, Vec::new());
    let mut eval = |e: &expr::Expr| -> Result<Value> {
        Ok(match e.as_const() {
            Some(v) => v.clone(),
            None => Program::new(e, &ctx)?.eval(&one, &ctx)?.value(0, &e.ty),
        })
    };
    let mut out = Vec::with_capacity(ranges.len());
    for r in ranges {
        out.extend(resolve(r, table, &table.indexes[index], &mut eval)?);
    }
    Ok(out)
}

/// The stretches in order, none empty, those that overlap or touch made one.
fn merged(mut spans: Vec<KeySpan>) -> Vec<KeySpan> {
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

/// Where the threads of a scan have come.
struct Walk<'a> {
    spans: std::vec::IntoIter<KeySpan>,
    cursor: Option<Box<dyn IndexCursor + 'a>>,
    /// Candidates of the next batch.
    size: usize,
    /// In place of stretches: keys, and how many of them have been looked up.
    keys: Vec<Vec<u8>>,
    keys_done: usize,
    /// What they have, and how many of these have been handed out.
    found: Candidates,
    found_done: usize,
}

impl Walk<'_> {
    /// The next candidates of the keys; false at the end.
    fn take_found(&mut self, reader: &dyn TableReader, index: usize, out: &mut Candidates) -> Result<bool> {
        while self.found_done == self.found.len() {
            if self.keys_done == self.keys.len() {
                return Ok(false);
            }
            let next = (self.keys_done + self.size.min(KEYS_AT_ONCE)).min(self.keys.len());
            self.found.clear();
            self.found_done = 0;
            reader.index_get_many(index, &self.keys[self.keys_done..next], &mut self.found, &mut Vec::new())?;
            self.keys_done = next;
            self.size = (self.size * 4).min(BATCH_ROWS_MAX);
        }
        let next = (self.found_done + BATCH_ROWS_MAX).min(self.found.len());
        out.clear();
        out.append(&self.found, self.found_done, next);
        self.found_done = next;
        Ok(true)
    }
}

struct IndexScanSource<'a> {
    run: Run<'a>,
    reader: &'a dyn TableReader,
    index: usize,
    reverse: bool,
    columns: &'a [usize],
    project: &'a [usize],
    with_row_id: bool,
    /// Only the number of rows is wanted.
    counts: bool,
    filter: Filter,
    workers: usize,
    /// Leaves whose rows are not wanted again, ascending.
    scanned: Vec<usize>,
    walk: Mutex<Walk<'a>>,
}

impl IndexScanSource<'_> {
    /// The next candidates; false at the end.
    fn take(&self, out: &mut Candidates) -> Result<bool> {
        let mut guard = self.walk.lock().unwrap_or_else(PoisonError::into_inner);
        let walk = &mut *guard;
        if !walk.keys.is_empty() {
            return walk.take_found(self.reader, self.index, out);
        }
        loop {
            if let Some(cursor) = &mut walk.cursor {
                if cursor.next(out, walk.size)? {
                    walk.size = (walk.size * 4).min(BATCH_ROWS_MAX);
                    return Ok(true);
                }
                walk.cursor = None;
            }
            let Some(span) = walk.spans.next() else { return Ok(false) };
            walk.cursor = Some(match self.scanned.is_empty() {
                true => self.reader.index_cursor(self.index, &span, self.reverse)?,
                false => self.reader.index_cursor_beside_leaves(self.index, &span)?,
            });
        }
    }
}

impl Source for IndexScanSource<'_> {
    fn local<'b>(&'b self) -> Result<Box<dyn Pull + 'b>> {
        Ok(Box::new(IndexScanPull { source: self, candidates: Candidates::default(), unsettled: 0 }))
    }

    fn workers_max(&self) -> usize {
        self.workers
    }
}

struct IndexScanPull<'a, 's> {
    source: &'a IndexScanSource<'s>,
    candidates: Candidates,
    /// Batches of late whose rows had to be looked at to be counted.
    unsettled: u32,
}

impl IndexScanPull<'_, '_> {
    fn leave_out_scanned(&mut self) {
        let s = self.source;
        let mut kept = Candidates::default();
        for (i, row_id) in self.candidates.row_ids().iter().enumerate() {
            if s.scanned.binary_search(&s.reader.leaf_of(*row_id)).is_err() {
                kept.append(&self.candidates, i, i + 1);
            }
        }
        self.candidates = kept;
    }
}

impl Pull for IndexScanPull<'_, '_> {
    fn next(&mut self) -> Result<Option<Batch>> {
        let s = self.source;
        loop {
            s.run.ctx.check_killed()?;
            let moment = if s.counts && self.unsettled < UNSETTLED_MAX { s.reader.settled(s.index) } else { None };
            if !s.take(&mut self.candidates)? {
                return Ok(None);
            }
            if !s.scanned.is_empty() {
                self.leave_out_scanned();
            }
            entries_walked(&s.run, s.reverse).fetch_add(self.candidates.len() as u64, Relaxed);
            if moment.is_some_and(|m| s.reader.all_seen(m, &self.candidates)) {
                let rows = self.candidates.len();
                self.unsettled = 0;
                s.run.ctx.counters.read_by_index(rows as u64);
                return Ok(Some(Batch::new(rows, Vec::new())));
            }
            self.unsettled += 1;
            let mut batch = s.reader.fetch_candidates(s.index, &self.candidates, s.columns, s.with_row_id)?;
            s.run.ctx.counters.read_by_index(batch.count() as u64);
            s.filter.apply(&mut batch, &s.run.eval())?;
            if batch.count() == 0 {
                continue;
            }
            let row_id = if s.with_row_id { batch.columns.last().cloned() } else { None };
            let columns = s.project.iter().map(|&p| batch.columns[p].clone()).chain(row_id).collect();
            return Ok(Some(Batch { columns, ..batch }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::KeyCut;

    #[test]
    fn stretches_that_touch_become_one() {
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
