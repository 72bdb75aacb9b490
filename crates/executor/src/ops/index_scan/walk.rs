//! The walk over an index's ranges, shared by threads.
//!
//! ```text
//!   under the latch   next candidates ─▶ test their entries ─▶ jump?          or: fill a buffer, sort its row ids
//!   without it        settled leaves: count them, or read columns back from keys
//!                     else: read the rows ─▶ filters
//! ```
//! Batches grow fourfold from the first: who wants few rows gets them from a short one.

use crate::context::{Candidates, IndexCursor, IndexEncoder, KeySpan, TableReader};
use crate::eval::Filter;
use crate::memory::Reservation;
use crate::ops::entry_filter::{EntryFilter, Jump, decoded};
use crate::ops::multi_range::{Fill, bytes_of};
use crate::ops::scan::projected;
use crate::pipeline::{Pull, Source};
use crate::run::Run;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError};
use types::Result;
use vector::{BATCH_ROWS_MAX, Batch, Chunk, Values, Vector};

/// A buffer of sorted row ids and which of them to read.
type FillPart = (Arc<Fill>, (usize, usize));

/// After so many batches in turn whose rows had to be looked at, a thread no more hopes for others.
const UNSETTLED_MAX: u32 = 4;
/// Keys that are looked up together.
const KEYS_AT_ONCE: usize = 128;
/// Candidates that are read behind a jump.
const AFTER_JUMP: usize = 16;
/// Entries at the end of a batch that failed: there will be more.
const FAILED_SOME: usize = 4;

/// Where the threads of a scan have come.
pub struct Walk<'a> {
    spans: std::vec::IntoIter<KeySpan>,
    cursor: Option<Box<dyn IndexCursor + 'a>>,
    /// Candidates of the next batch.
    size: usize,
    /// In place of ranges: keys, and how many of them have been looked up.
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

impl<'a> Walk<'a> {
    /// Over ranges, or in their place whole `keys`. `first`: candidates of the first batch; `fill_rows`: row ids of the
    /// first buffer.
    pub fn new(spans: Vec<KeySpan>, keys: Vec<Vec<u8>>, first: usize, fill_rows: usize) -> Walk<'a> {
        Walk {
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
            fill_rows,
            seen: 0,
        }
    }

    /// The next candidates of the keys; false at the end.
    fn take_found(&mut self, reader: &dyn TableReader, index: usize, max: usize, out: &mut Candidates) -> Result<bool> {
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
            self.size = (self.size * 4).min(max);
        }
        let next = (self.found_done + max).min(self.found.len());
        out.clear();
        out.append(&self.found, self.found_done, next);
        self.found_done = next;
        Ok(true)
    }
}

pub struct IndexScanSource<'a> {
    pub run: Run<'a>,
    pub node: u32,
    pub reader: &'a dyn TableReader,
    pub index: usize,
    pub reverse: bool,
    pub columns: &'a [usize],
    pub project: &'a [usize],
    pub with_row_id: bool,
    /// Only the number of rows is wanted.
    pub counts: bool,
    pub filter: Filter,
    pub tests: Option<EntryFilter>,
    pub covering: Option<(IndexEncoder, Vec<usize>)>,
    /// Row ids that a buffer takes; 0: rows are read in the order of the index.
    pub multi_range: usize,
    pub workers: usize,
    /// Candidates of a batch.
    pub batch_max: usize,
    /// Leaves whose rows are not wanted again, ascending.
    pub scanned: Vec<usize>,
    /// After so many entries the walk ends, and says so there.
    pub gives_up: Option<(u64, &'a AtomicBool)>,
    pub walk: Mutex<Walk<'a>>,
}

impl<'a> IndexScanSource<'a> {
    /// The next candidates, of those that pass; false at the end.
    fn take(&self, out: &mut Candidates) -> Result<bool> {
        let mut guard = self.walk.lock().unwrap_or_else(PoisonError::into_inner);
        self.take_from(&mut guard, out)
    }

    fn take_from(&self, walk: &mut Walk<'a>, out: &mut Candidates) -> Result<bool> {
        while !walk.keys.is_empty() {
            if !walk.take_found(self.reader, self.index, self.batch_max, out)? {
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
                    walk.size = (walk.size * 4).min(self.batch_max);
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
                walk.fill_done = fill.batch_end(self.reader, from, self.batch_max);
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
            s.reader.note_read(Some(s.index), batch.count() as u64);
            s.filter.apply(&mut batch, &s.run.eval())?;
            if batch.count() == 0 {
                continue;
            }
            return Ok(Some(projected(batch, s.project, s.with_row_id)));
        }
    }
}

/// What counts entries walked over in this direction.
fn entries_walked<'a>(run: &Run<'a>, reverse: bool) -> &'a AtomicU64 {
    if reverse { &run.ctx.counters.handler_read_prev } else { &run.ctx.counters.handler_read_next }
}
