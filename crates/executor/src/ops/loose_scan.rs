//! Loose index scan: of the rows that agree in the leading parts of an index the first that passes, in the index's
//! order.
//!
//! ```text
//!   entries   (1, 2) (1, 5) (1, 9) ... (2, 1) (2, 4) ...
//!              └ row, jump behind all of 1 ─▶ └ row, jump ...
//! ```
//! Once a group has its row the walk jumps behind the group; where groups are short, reading on is cheaper and it does
//! that. One thread walks. The aggregation above sees a row or two a group, which is all that MIN, MAX and DISTINCT
//! need.

use crate::context::{Candidates, IndexCursor, IndexEncoder, KeySpan, TableReader};
use crate::eval::Filter;
use crate::ops::entry_filter::{EntryFilter, Jump, above, decoded};
use crate::ops::scan::projected;
use crate::pipeline::{Pull, Source};
use crate::run::Run;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use types::Result;
use vector::{BATCH_ROWS_MAX, Batch, Selection};

/// Candidates that are read behind a jump.
const AFTER_JUMP: usize = 8;

pub struct LooseSource<'a> {
    pub run: Run<'a>,
    pub reader: &'a dyn TableReader,
    pub keys: IndexEncoder,
    pub index: usize,
    /// Leading parts that make a group.
    pub parts: usize,
    pub reverse: bool,
    pub columns: &'a [usize],
    pub project: &'a [usize],
    pub with_row_id: bool,
    pub tests: Option<EntryFilter>,
    pub covering: Option<Vec<usize>>,
    pub filter: Filter,
    /// In the order in which they are read; taken by the one thread.
    pub spans: Mutex<Vec<KeySpan>>,
}

impl Source for LooseSource<'_> {
    fn local<'b>(&'b self) -> Result<Box<dyn Pull + 'b>> {
        let spans = std::mem::take(&mut *self.spans.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        let (spans, candidates) = (spans.into_iter(), Candidates::default());
        Ok(Box::new(LoosePull { source: self, spans, cursor: None, candidates, done: None, size: AFTER_JUMP }))
    }

    fn workers_max(&self) -> usize {
        1
    }
}

struct LoosePull<'a, 's> {
    source: &'a LooseSource<'s>,
    spans: std::vec::IntoIter<KeySpan>,
    cursor: Option<Box<dyn IndexCursor + 'a>>,
    candidates: Candidates,
    /// The group that has its row.
    done: Option<Vec<u8>>,
    size: usize,
}

impl LoosePull<'_, '_> {
    /// The next candidates; false at the end.
    fn take(&mut self) -> Result<bool> {
        let s = self.source;
        loop {
            if let Some(cursor) = &mut self.cursor {
                if cursor.next(&mut self.candidates, self.size)? {
                    return Ok(true);
                }
                self.cursor = None;
            }
            let Some(span) = self.spans.next() else { return Ok(false) };
            self.cursor = Some(s.reader.index_cursor(s.index, &span, s.reverse)?);
        }
    }

    /// The candidates' rows; the settled ones' columns are read back from the entries.
    fn read(&self, moment: Option<u64>) -> Result<Batch> {
        let s = self.source;
        if let Some(parts) = &s.covering
            && moment.is_some_and(|m| s.reader.all_seen(m, &self.candidates))
        {
            return Ok(decoded(&s.keys, parts, &self.candidates));
        }
        s.reader.fetch_candidates(s.index, &self.candidates, s.columns, s.with_row_id)
    }

    /// Narrows the batch to the first row of each group that has none yet.
    fn firsts(&mut self, batch: &mut Batch) {
        let s = self.source;
        let mut firsts = Vec::new();
        for i in batch.selection.to_positions(batch.rows) {
            let group = prefix(s, self.candidates.key(i as usize));
            if self.done.as_deref() != Some(group) {
                self.done = Some(group.to_vec());
                firsts.push(i);
            }
        }
        batch.selection = Selection::Some(firsts);
    }

    /// Goes on behind the group, if it is the one at which the walk stands; and where the tests say.
    fn jump(&mut self, last: &[u8], tested: Jump, groups: usize) {
        let s = self.source;
        let done = self.done.as_deref().filter(|d| prefix(s, last) == *d);
        let behind = match done {
            Some(d) if !s.reverse => above(d),
            Some(d) if !d.is_empty() => Jump::To(d.to_vec()),
            Some(_) => Jump::End,
            None => Jump::No,
        };
        let to = match (behind, tested) {
            (Jump::End, _) | (_, Jump::End) => Jump::End,
            (Jump::No, j) | (j, Jump::No) => j,
            (Jump::To(a), Jump::To(b)) => Jump::To(if s.reverse { a.min(b) } else { a.max(b) }),
        };
        // Many groups in one batch: they are short.
        self.size = if groups * 2 > self.size { (self.size * 4).min(BATCH_ROWS_MAX) } else { AFTER_JUMP };
        match to {
            Jump::No => self.size = (self.size * 4).min(BATCH_ROWS_MAX),
            Jump::End => self.cursor = None,
            Jump::To(key) => {
                if let Some(cursor) = &mut self.cursor {
                    cursor.skip_to(&key);
                    s.run.ctx.counters.handler_read_key.fetch_add(1, Relaxed);
                }
            }
        }
    }
}

/// The leading parts of a key that make a group.
fn prefix<'k>(s: &LooseSource<'_>, key: &'k [u8]) -> &'k [u8] {
    &key[..(0..s.parts).fold(0, |at, p| s.keys.part_end(p, key, at))]
}

impl Pull for LoosePull<'_, '_> {
    fn next(&mut self) -> Result<Option<Batch>> {
        let s = self.source;
        loop {
            s.run.ctx.check_killed()?;
            let moment = s.reader.settled(s.index);
            if !self.take()? {
                return Ok(None);
            }
            let counters = s.run.ctx.counters;
            let walked = if s.reverse { &counters.handler_read_prev } else { &counters.handler_read_next };
            walked.fetch_add(self.candidates.len() as u64, Relaxed);
            let last = self.candidates.key(self.candidates.len() - 1).to_vec();
            let tested = match &s.tests {
                Some(tests) => tests.apply(&s.run, &mut self.candidates, s.reverse)?.jump,
                None => Jump::No,
            };
            if let Some(done) = self.done.take() {
                self.candidates.keep(|_, key| prefix(s, key) != done);
                self.done = Some(done);
            }
            let mut batch = Batch::new(0, Vec::new());
            if !self.candidates.is_empty() {
                batch = self.read(moment)?;
                counters.read_by_index(batch.count() as u64);
                s.reader.note_read(Some(s.index), batch.count() as u64);
                s.filter.apply(&mut batch, &s.run.eval())?;
                self.firsts(&mut batch);
            }
            self.jump(&last, tested, batch.count());
            if batch.count() == 0 {
                continue;
            }
            return Ok(Some(projected(batch, s.project, s.with_row_id)));
        }
    }
}
