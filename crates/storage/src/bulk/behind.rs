//! Rows that come in batches, in their order, behind those that a table has: INSERT ... SELECT and the like.
//!
//! ```text
//!   batches ─▶ as many rows as the tail leaf still takes   inserted
//!           ─▶ a leaf's worth                              built and attached, as a load does
//!           ─▶ what is left over                           inserted: it begins the next tail leaf
//! ```
//! So the rows lie as if they had been inserted one by one, and many small statements leave no small leaves.
//!
//! Whatever a row comes up against is told by inserting it: a new leaf with a row in whose way another is, committed or
//! not, is taken back, and its rows are inserted. So the first row with a fault is the one that is reported, and of two
//! statements that bring the same key one waits for the other.

use super::{Attached, BulkAppender};
use crate::index::OnConflict;
use crate::table::Table;
use crate::txn::Txn;
use std::sync::Arc;
use types::Result;
use vector::{Chunk, Rows, Values};

/// Batches with more bytes of strings are inserted at once: their strings are not copied then.
const BYTES_MAX: usize = 16 << 20;

/// See the module head.
#[derive(Debug)]
pub struct RowsBehind {
    table: Arc<Table>,
    txn: Arc<Txn>,
    /// Once there is a leaf to make.
    leaves: Option<BulkAppender>,
    batches: Vec<Gathered>,
    /// Rows and bytes of strings in these.
    rows: usize,
    bytes: usize,
    /// So many rows are dealt with at once: as many as the tail leaf has room for, then as many as a leaf has.
    rows_wanted: usize,
}

/// Columns of a batch, and how many of its first rows are dealt with.
#[derive(Debug)]
struct Gathered {
    columns: Vec<Arc<Chunk>>,
    rows: usize,
    done: usize,
}

impl RowsBehind {
    /// `txn`'s current statement will be the creator of the rows.
    pub fn new(table: &Arc<Table>, txn: &Arc<Txn>) -> RowsBehind {
        RowsBehind {
            rows_wanted: table.tail_room(),
            table: table.clone(),
            txn: txn.clone(),
            leaves: None,
            batches: Vec::new(),
            rows: 0,
            bytes: 0,
        }
    }

    /// Adds rows: one chunk a column of the table, of its physical type or, for integers, a narrower one of its family.
    /// Some of them may come into the table later. Errors are those of [`Table::insert_rows`].
    pub fn push(&mut self, columns: Vec<Arc<Chunk>>, rows: usize) -> Result<()> {
        let bytes = columns.iter().map(|c| string_bytes(c)).sum::<usize>();
        self.rows += rows;
        self.bytes += bytes;
        self.batches.push(Gathered { columns, rows, done: 0 });
        if self.bytes > BYTES_MAX {
            return self.flush();
        }
        while self.rows >= self.rows_wanted {
            let rows = self.rows_wanted;
            match rows == self.table.leaf_rows() {
                true => self.leaf()?,
                false => self.insert(rows)?,
            }
            self.rows_wanted = self.table.leaf_rows();
        }
        Ok(())
    }

    /// All rows so far come into the table.
    pub fn flush(&mut self) -> Result<()> {
        self.insert(self.rows)?;
        self.rows_wanted = self.table.tail_room();
        Ok(())
    }

    /// Takes the next rows, at most so many, off the first batch.
    fn next(&mut self, rows: usize) -> Option<(Vec<Arc<Chunk>>, usize, usize)> {
        let first = self.batches.first_mut()?;
        let (from, n) = (first.done, rows.min(first.rows - first.done));
        first.done += n;
        self.rows -= n;
        let columns = match first.done == first.rows {
            true => self.batches.remove(0).columns,
            false => first.columns.clone(),
        };
        if self.batches.is_empty() {
            self.bytes = 0;
        }
        Some((columns, from, from + n))
    }

    fn insert(&mut self, rows: usize) -> Result<()> {
        let mut left = rows;
        while left > 0 {
            let Some((columns, from, to)) = self.next(left) else { break };
            left -= to - from;
            let types = self.table.types();
            let own: Vec<Arc<Chunk>> = columns
                .into_iter()
                .zip(types)
                .map(|(c, phys)| match to - from == c.len() {
                    true => c.widened(*phys),
                    false => {
                        let positions: Vec<u16> = (from as u16..to as u16).collect();
                        Arc::new(c.gather(&positions)).widened(*phys)
                    }
                })
                .collect();
            let refs: Vec<&Chunk> = own.iter().map(|c| &**c).collect();
            self.table.insert_rows(&self.txn, &refs, to - from)?;
        }
        Ok(())
    }

    /// Has a leaf made of the next rows.
    fn leaf(&mut self) -> Result<()> {
        let rows = self.table.leaf_rows();
        if self.table.has_many_free_slots() {
            return self.insert(rows);
        }
        let mut leaves =
            self.leaves.take().unwrap_or_else(|| BulkAppender::with_capacity(&self.table, &self.txn, rows));
        while leaves.rows < rows {
            let Some((columns, from, to)) = self.next(rows - leaves.rows) else { break };
            leaves.append_rows(&columns, Rows::Range(from, to));
        }
        self.leaves.insert(leaves).attach_or_insert()
    }
}

impl BulkAppender {
    /// Adds rows to the leaf in the making, which has room for them.
    fn append_rows(&mut self, columns: &[Arc<Chunk>], rows: Rows<'_>) {
        for ((column, chunk), dict) in self.columns.iter_mut().zip(columns).zip(&self.table.dicts) {
            column.append_rows(chunk, rows, dict.as_ref());
        }
        self.rows += rows.len();
    }

    /// Attaches the leaf in the making; if there is a conflict its rows are inserted instead.
    fn attach_or_insert(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.rows);
        let chunks = self.take_chunks(rows);
        let savepoint = self.txn.savepoint();
        let kept: Vec<Arc<Chunk>> = match self.attach(chunks, rows, OnConflict::GiveUp)? {
            Attached::Leaf => return Ok(()),
            Attached::Conflict(columns) => columns,
        };
        self.table.txns.rollback_to(&self.txn, savepoint);
        let own: Vec<Arc<Chunk>> = kept.into_iter().zip(self.table.types()).map(|(c, phys)| c.widened(*phys)).collect();
        self.table.insert_rows(&self.txn, &own.iter().map(|c| &**c).collect::<Vec<_>>(), rows)?;
        Ok(())
    }
}

impl Table {
    /// How many rows the tail leaf has room for; a leaf's worth if there is none.
    fn tail_room(&self) -> usize {
        let tail = self.tail.lock();
        let rows = tail.leaf_no.and_then(|n| self.slot(n).read().leaf().map(|leaf| leaf.rows())).unwrap_or(0);
        if rows < self.leaf_rows() { self.leaf_rows() - rows } else { self.leaf_rows() }
    }
}

/// Bytes of the strings, those of codes not counted.
fn string_bytes(chunk: &Chunk) -> usize {
    match &chunk.values {
        Values::Str(s) => s.views.iter().filter(|v| !v.is_inline()).map(|v| v.len()).sum(),
        _ => 0,
    }
}
