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
//! Where rows are only counted, they need not be looked at as long as their leaves have no versions; nor where all columns
//! are parts of the key that can be read back from it (a *covering* index). Several indexes may be merged
//! ([`super::index_merge`]). Entries may be tested before their rows are read
//! ([`super::entry_filter`]), and rows read in an order that suits the leaves ([`super::multi_range`]).

use crate::context::{Candidates, IndexCursor, IndexEncoder, KeySpan, TableReader};
use crate::eval::Filter;
use crate::memory::Reservation;
use crate::ops::entry_filter::{EntryFilter, Jump, bounds, decoded};
use crate::ops::index_merge::run_index_merge;
use crate::ops::loose_scan::LooseSource;
use crate::ops::multi_range::{Fill, bytes_of};
use crate::ops::scan::{Reading, projected, scan_leaves};
use crate::pipeline::{Down, Pull, Source, run_pipeline};
use crate::run::Run;
use plan::physical::{PlanNode, PlanOp};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use types::{Error, Result};
use vector::{BATCH_ROWS_MAX, Batch, Chunk, Values, Vector};

/// A buffer of sorted row ids and which of them to read.
type FillPart = (Arc<Fill>, (usize, usize));

/// Candidates of the first batch of a walk whose reader will probably stop early.
const FIRST_MIN: usize = 16;
/// Candidates for which a thread is worth having.
const ROWS_PER_WORKER: u64 = 2048;
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
/// Candidates of the first batch that is tested.
const FIRST_TESTED: usize = 64;
/// Candidates that are read behind a jump.
const AFTER_JUMP: usize = 16;
/// Entries at the end of a batch that failed: there will be more.
const FAILED_SOME: usize = 4;
/// Rows that each of several leaves should hold to be scanned for them.
const ROWS_PER_LEAF_MIN: u64 = 32;

pub fn run_index_scan<'a>(run: &Run<'a>, node: &'a PlanNode, down: &Down<'_>) -> Result<()> {
    let PlanOp::IndexScan { table, index, ranges, reverse, ordered, columns, answered, filters, .. } = &node.op else {
        return Err(Error::internal("not an IndexScan node"));
    };
    let PlanOp::IndexScan { project, with_row_id, expected_rows, entries: used, .. } = &node.op else {
        return Err(Error::internal("not an IndexScan node"));
    };
    if let Some(merge) = &used.merge {
        let reader = run.ctx.tables.open(table)?;
        if run_index_merge(run, node, &*reader, merge, down)? {
            return Ok(());
        }
        let with_row_id = *with_row_id;
        let (sideways, leaves, order, by_index) = (&[][..], None, None, None);
        let what = Reading { table, columns, project, sideways, with_row_id, leaves, order, by_index };
        return scan_leaves(run, node.id, reader, what, filters.iter(), down);
    }
    let bounds = bounds(run, table, &table.indexes[*index], ranges)?;
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
    if let Some(parts) = used.loose {
        if *reverse {
            spans.reverse();
        }
        reader.prepare_index(*index, &|| run.ctx.check_killed())?;
        let source = LooseSource {
            run: *run,
            reader: &*reader,
            keys: reader.index_keys(*index).ok_or_else(|| Error::internal("a loose scan of an index without order"))?,
            index: *index,
            parts,
            reverse: *reverse,
            columns,
            project,
            with_row_id: *with_row_id,
            tests: EntryFilter::new(run, &*reader, table, *index, used)?,
            covering: if used.covering && !*with_row_id {
                covering(&*reader, table, *index, columns).map(|c| c.1)
            } else {
                None
            },
            filter: Filter::new(filters, &run.eval())?,
            spans: Mutex::new(spans),
        };
        return run_pipeline(run, node.id, &source, down);
    }
    let entries = if spans.len() == 1 && *ordered && expected_rows.is_some() {
        0
    } else {
        entries_within(&*reader, *index, &spans)
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
        let by_entries = used.covering || used.skip_scan || !used.tests.is_empty() || used.multi_range.is_some();
        if !ordered && !by_entries && is_wide(&*reader, entries) {
            return by_leaves(None, None);
        }
    }
    if *reverse {
        spans.reverse();
    }
    let first = match expected_rows {
        Some(n) if filters.is_empty() => (*n as usize).clamp(1, BATCH_ROWS_MAX),
        Some(n) => (*n as usize * 2).clamp(FIRST_MIN, BATCH_ROWS_MAX),
        // Where entries are tested, a walk may soon jump.
        None if used.has_conditions() => FIRST_TESTED,
        None => BATCH_ROWS_MAX,
    };
    // Many keys, each with all that begins with it, are looked up together.
    let is_key = |s: &KeySpan| s.low.prefix == s.high.prefix && !s.low.after && s.high.after;
    let mut keys = Vec::new();
    if spans.len() > 1 && !*reverse && scanned.is_empty() && spans.iter().all(is_key) {
        keys = spans.drain(..).map(|s| s.low.prefix).collect();
    }
    reader.prepare_index(*index, &|| run.ctx.check_killed())?;
    let tests = EntryFilter::new(run, &*reader, table, *index, used)?;
    if tests.as_ref().is_some_and(EntryFilter::passes_nothing) {
        return Ok(());
    }
    let covering = if used.covering { covering(&*reader, table, *index, columns) } else { None };
    let multi_range = used.multi_range.filter(|_| !ordered && covering.is_none());
    if multi_range.is_some() {
        run.ctx.counters.handler_mrr_init.fetch_add(1, Relaxed);
    }
    let multi_range = multi_range.map_or(0, |n| (n as usize).max(BATCH_ROWS_MAX));
    let walk = Walk {
        spans: spans.into_iter(),
        cursor: None,
        size: first,
        keys,
        keys_done: 0,
        found: Candidates::default(),
        found_done: 0,
        fill: None,
        fill_done: 0,
        fills: 0,
        fill_rows: match expected_rows {
            Some(n) => (*n as usize).saturating_mul(2).clamp(BATCH_ROWS_MAX, multi_range.max(BATCH_ROWS_MAX)),
            None => multi_range,
        },
        seen: 0,
    };
    let counts = walk.keys.is_empty() && filters.is_empty() && project.is_empty() && !*with_row_id;
    let source = IndexScanSource {
        run: *run,
        node: node.id,
        reader: &*reader,
        index: *index,
        reverse: *reverse,
        columns,
        project,
        with_row_id: *with_row_id,
        counts,
        filter: Filter::new(filters, &run.eval())?,
        tests,
        covering,
        multi_range,
        workers: match run.ctx.pool.is_worth_sharing(entries as f64, 2.0 * ROWS_PER_WORKER as f64) {
            true if !*ordered => (entries / ROWS_PER_WORKER).max(2) as usize,
            _ => 1,
        },
        scanned,
        gives_up: used.give_up.zip(run.attempt()),
        walk: Mutex::new(walk),
    };
    run_pipeline(run, node.id, &source, down)
}

/// About how many entries the stretches hold.
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

/// The parts that hold the columns, if each can be read back from keys.
fn covering(
    reader: &dyn TableReader,
    table: &catalog::TableDef,
    index: usize,
    columns: &[usize],
) -> Option<(IndexEncoder, Vec<usize>)> {
    let keys = reader.index_keys(index)?;
    let parts = &table.indexes[index].parts;
    let part = |c: &usize| parts.iter().position(|p| p.column_idx == *c).filter(|p| keys.is_invertible(*p));
    let parts = columns.iter().map(part).collect::<Option<Vec<_>>>()?;
    Some((keys, parts))
}

/// What counts entries walked over in this direction.
fn entries_walked<'a>(run: &Run<'a>, reverse: bool) -> &'a AtomicU64 {
    if reverse { &run.ctx.counters.handler_read_prev } else { &run.ctx.counters.handler_read_next }
}

/// The stretches in order, none empty, those that overlap or touch made one.
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
    /// Multi-range read: the buffer that is being read, how much of it has been handed out, and how many there were.
    fill: Option<Arc<Fill>>,
    fill_done: usize,
    fills: u64,
    /// Row ids that the next buffer takes.
    fill_rows: usize,
    /// Entries so far.
    seen: u64,
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
            let keys = &self.keys[self.keys_done..next];
            reader.index_get_many(index, keys, usize::MAX, &mut self.found, &mut Vec::new())?;
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
    node: u32,
    reader: &'a dyn TableReader,
    index: usize,
    reverse: bool,
    columns: &'a [usize],
    project: &'a [usize],
    with_row_id: bool,
    /// Only the number of rows is wanted.
    counts: bool,
    filter: Filter,
    tests: Option<EntryFilter>,
    covering: Option<(IndexEncoder, Vec<usize>)>,
    /// Row ids that a buffer takes; 0: rows are read in the order of the index.
    multi_range: usize,
    workers: usize,
    /// Leaves whose rows are not wanted again, ascending.
    scanned: Vec<usize>,
    /// After so many entries the walk ends, and says so there.
    gives_up: Option<(u64, &'a AtomicBool)>,
    walk: Mutex<Walk<'a>>,
}

impl<'a> IndexScanSource<'a> {
    /// The next candidates, of those that pass; false at the end.
    fn take(&self, out: &mut Candidates) -> Result<bool> {
        let mut guard = self.walk.lock().unwrap_or_else(PoisonError::into_inner);
        self.take_from(&mut guard, out)
    }

    fn take_from(&self, walk: &mut Walk<'a>, out: &mut Candidates) -> Result<bool> {
        while !walk.keys.is_empty() {
            if !walk.take_found(self.reader, self.index, out)? {
                return Ok(false);
            }
            if let Some(tests) = &self.tests {
                tests.apply(&self.run, out, self.reverse)?;
            }
            if !out.is_empty() {
                return Ok(true);
            }
            self.run.ctx.check_killed()?;
        }
        loop {
            if let Some((most, gave_up)) = self.gives_up {
                if walk.seen > most {
                    gave_up.store(true, Relaxed);
                    return Ok(false);
                }
                walk.size = walk.size.min((most - walk.seen) as usize + 1);
            }
            if let Some(cursor) = &mut walk.cursor {
                if cursor.next(out, walk.size)? {
                    walk.seen += out.len() as u64;
                    walk.size = (walk.size * 4).min(BATCH_ROWS_MAX);
                    let Some(tests) = &self.tests else { return Ok(true) };
                    let tested = tests.apply(&self.run, out, self.reverse)?;
                    match tested.jump {
                        // The next ones fail, too, more often than not, and then tell where to go on.
                        Jump::No if tested.failed >= FAILED_SOME => walk.size = AFTER_JUMP,
                        Jump::No => {}
                        Jump::To(key) => {
                            cursor.skip_to(&key);
                            self.run.ctx.counters.handler_read_key.fetch_add(1, Relaxed);
                            walk.size = AFTER_JUMP;
                        }
                        Jump::End => walk.cursor = None,
                    }
                    if !out.is_empty() {
                        return Ok(true);
                    }
                    self.run.ctx.check_killed()?;
                    continue;
                }
                walk.cursor = None;
            }
            let Some(span) = walk.spans.next() else { return Ok(false) };
            walk.cursor = Some(self.open(&span)?);
        }
    }
}

impl<'a> IndexScanSource<'a> {
    fn open(&self, span: &KeySpan) -> Result<Box<dyn IndexCursor + 'a>> {
        match self.scanned.is_empty() {
            true => self.reader.index_cursor(self.index, span, self.reverse),
            false => self.reader.index_cursor_beside_leaves(self.index, span),
        }
    }

    /// The next part of a buffer of sorted row ids; `None` at the end.
    fn take_sorted(&self) -> Result<Option<FillPart>> {
        let mut guard = self.walk.lock().unwrap_or_else(PoisonError::into_inner);
        let walk = &mut *guard;
        loop {
            if let Some(fill) = walk.fill.as_ref().filter(|f| walk.fill_done < f.rows()) {
                let (fill, from) = (fill.clone(), walk.fill_done);
                walk.fill_done = fill.batch_end(self.reader, from);
                return Ok(Some((fill, (from, walk.fill_done))));
            }
            walk.fill = None;
            let moment = self.reader.settled(self.index);
            let (mut all, mut some) = (Candidates::default(), Candidates::default());
            let mut memory = Reservation::new(&self.run.memory_of(self.node));
            let granted = |all: &Candidates, memory: &mut Reservation| {
                all.len() < BATCH_ROWS_MAX || memory.try_resize_sparing(bytes_of(all), 1)
            };
            while all.len() < walk.fill_rows && granted(&all, &mut memory) {
                walk.size = walk.size.min(walk.fill_rows - all.len());
                if !self.take_from(walk, &mut some)? {
                    break;
                }
                if !self.scanned.is_empty() {
                    self.leave_out_scanned(&mut some);
                }
                all.append(&some, 0, some.len());
            }
            if all.is_empty() {
                return Ok(None);
            }
            let counters = self.run.ctx.counters;
            entries_walked(&self.run, self.reverse).fetch_add(all.len() as u64, Relaxed);
            if walk.fills > 0 {
                counters.handler_mrr_rowid_refills.fetch_add(1, Relaxed);
            }
            walk.fills += 1;
            walk.fill_done = 0;
            walk.fill_rows = (walk.fill_rows * 4).min(self.multi_range);
            memory.force(bytes_of(&all));
            walk.fill = Some(Arc::new(Fill::new(all, moment, memory)));
        }
    }

    fn leave_out_scanned(&self, candidates: &mut Candidates) {
        let mut kept = Candidates::default();
        for (i, row_id) in candidates.row_ids().iter().enumerate() {
            if self.scanned.binary_search(&self.reader.leaf_of(*row_id)).is_err() {
                kept.append(candidates, i, i + 1);
            }
        }
        *candidates = kept;
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
    /// The next candidates' rows, before filters; `None` at the end.
    fn read(&mut self) -> Result<Option<Batch>> {
        let s = self.source;
        if s.multi_range > 0 {
            let Some((fill, range)) = s.take_sorted()? else { return Ok(None) };
            let batch = fill.read(s.reader, s.index, range, s.columns, s.with_row_id)?;
            s.run.ctx.counters.handler_read_rnd.fetch_add(batch.count() as u64, Relaxed);
            return Ok(Some(batch));
        }
        let without_rows = s.counts || s.covering.is_some();
        let moment = s.reader.settled(s.index);
        if !s.take(&mut self.candidates)? {
            return Ok(None);
        }
        if !s.scanned.is_empty() {
            s.leave_out_scanned(&mut self.candidates);
        }
        entries_walked(&s.run, s.reverse).fetch_add(self.candidates.len() as u64, Relaxed);
        if without_rows
            && self.unsettled < UNSETTLED_MAX
            && moment.is_some_and(|m| s.reader.all_seen(m, &self.candidates))
        {
            self.unsettled = 0;
            let mut batch = match &s.covering {
                Some((keys, parts)) => decoded(keys, parts, &self.candidates),
                None => Batch::new(self.candidates.len(), Vec::new()),
            };
            if s.with_row_id {
                let ids = self.candidates.row_ids().to_vec();
                batch.columns.push(Vector::flat(Chunk::new(Values::U64(ids), None)));
            }
            return Ok(Some(batch));
        }
        self.unsettled += 1;
        s.reader.fetch_candidates_since(s.index, &self.candidates, s.columns, s.with_row_id, moment).map(Some)
    }
}

impl Pull for IndexScanPull<'_, '_> {
    fn next(&mut self) -> Result<Option<Batch>> {
        let s = self.source;
        loop {
            s.run.ctx.check_killed()?;
            let Some(mut batch) = self.read()? else { return Ok(None) };
            s.run.ctx.counters.read_by_index(batch.count() as u64);
            s.filter.apply(&mut batch, &s.run.eval())?;
            if batch.count() == 0 {
                continue;
            }
            return Ok(Some(projected(batch, s.project, s.with_row_id)));
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
