//! Multi-range read: the row ids of many entries are collected and sorted, then their rows are read leaf by leaf.
//!
//! ```text
//!   entries by key     ─ collect ─▶  (row id, entry)  ─ sort ─▶  leaf 3: 7 rows │ leaf 4: 2 rows │ leaf 9: ...
//! ```
//! A leaf is latched once for all its rows, and rows of one leaf are copied together. Where the leaf has no versions
//! its entries need not be compared with the rows' keys. Memory that is refused makes a buffer smaller, but not below a
//! batch. Where the reader will stop after some rows the first buffers are small. One buffer is filled at a time, by
//! whichever thread finds the last one empty; all threads read from it.

use crate::context::{Candidates, TableReader};
use crate::memory::Reservation;
use types::Result;
use vector::{Batch, Chunk, Values, Vector};

/// A filled buffer.
pub struct Fill {
    candidates: Candidates,
    /// (row id, position in `candidates`), ascending.
    order: Vec<(u64, u32)>,
    /// See [`TableReader::settled`].
    moment: Option<u64>,
    _memory: Reservation,
}

/// What a buffer of these takes.
pub fn bytes_of(candidates: &Candidates) -> usize {
    candidates.bytes() + candidates.len() * size_of::<(u64, u32)>()
}

impl Fill {
    /// `memory`: what it takes.
    pub fn new(candidates: Candidates, moment: Option<u64>, memory: Reservation) -> Fill {
        let mut order: Vec<(u64, u32)> = candidates.row_ids().iter().copied().zip(0..).collect();
        order.sort_unstable();
        Fill { candidates, order, moment, _memory: memory }
    }

    pub fn rows(&self) -> usize {
        self.order.len()
    }

    /// The end of the batch of at most `max` that begins at `from`: not within a leaf, if that can be had.
    pub fn batch_end(&self, reader: &dyn TableReader, from: usize, max: usize) -> usize {
        let end = (from + max).min(self.order.len());
        if end == self.order.len() {
            return end;
        }
        let leaf = |i: usize| reader.leaf_of(self.order[i].0);
        let last = leaf(end);
        let whole = (from..end).rev().take_while(|&i| leaf(i) == last).count();
        if whole < (end - from) / 2 { end - whole } else { end }
    }

    /// The rows of `from..to` that the statement sees under the keys of their entries.
    pub fn read(
        &self,
        reader: &dyn TableReader,
        index: usize,
        (from, to): (usize, usize),
        columns: &[usize],
        with_row_id: bool,
    ) -> Result<Batch> {
        let order = &self.order[from..to];
        if self.is_settled(reader, order) {
            let ids: Vec<u64> = order.iter().map(|o| o.0).collect();
            let mut batch = reader.fetch(&ids, columns)?;
            if with_row_id {
                batch.columns.push(Vector::flat(Chunk::new(Values::U64(ids), None)));
            }
            return Ok(batch);
        }
        let mut sorted = Candidates::default();
        for &(_, i) in order {
            sorted.append(&self.candidates, i as usize, i as usize + 1);
        }
        reader.fetch_candidates(index, &sorted, columns, with_row_id)
    }

    fn is_settled(&self, reader: &dyn TableReader, order: &[(u64, u32)]) -> bool {
        let Some(moment) = self.moment else { return false };
        let mut known = None;
        order.iter().all(|&(id, _)| {
            let leaf = reader.leaf_of(id);
            known == Some(leaf) || {
                known = Some(leaf);
                reader.leaf_is_settled(moment, leaf)
            }
        })
    }
}
