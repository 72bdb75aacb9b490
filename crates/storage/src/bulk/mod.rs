//! Loading: whole leaves are built outside the table and attached.
//!
//! Each thread of a load has a [`BulkAppender`]. It fills columns, makes a leaf of them when it is full, attaches it
//! and makes its rows findable; the leaf as a whole carries the mark of its transaction, so that no row needs an undo
//! record. Nobody sees the leaf before the transaction commits; a rollback lets the whole leaf go.
//!
//! - here: the appender of one thread; [`column`]: its leaf in the making;
//! - [`behind`]: rows that come in batches and have to lie in their order.
//!
//! As long as many slots of a table are free ([`crate::reuse`]), rows of a load are inserted one by one and fill them.
//!
//! Whoever cuts the input into pieces that ascend by key calls [`BulkAppender::flush`] between pieces: a leaf that ends
//! one piece and begins a later one would span the keys of the pieces between, and none of those could be a sorted run.

mod behind;
mod column;

pub use behind::RowsBehind;
pub use column::ColumnBuilder;

use crate::index::OnConflict;
use crate::leaf::Leaf;
use crate::table::Table;
use crate::txn::{Change, Txn};
use std::sync::Arc;
use types::{Error, Result, Value};
use vector::{Batch, Chunk};

/// Fills one thread's leaves of a load.
#[derive(Debug)]
pub struct BulkAppender {
    table: Arc<Table>,
    txn: Arc<Txn>,
    columns: Vec<ColumnBuilder>,
    rows: usize,
    rows_total: u64,
    ignore_duplicates: bool,
    duplicates: u64,
    duplicate_errors: Vec<Error>,
    piece: u64,
}

/// What became of a leaf.
enum Attached {
    Leaf,
    /// It is there, and is to be taken back: another row, or transaction, is in the way of one of these.
    Conflict(Vec<Arc<Chunk>>),
}

impl BulkAppender {
    /// `txn`'s current statement will be the creator of the rows.
    pub fn new(table: &Arc<Table>, txn: &Arc<Txn>) -> BulkAppender {
        BulkAppender::with_capacity(table, txn, table.leaf_rows())
    }

    /// `capacity`: of the first leaf's columns, in rows.
    fn with_capacity(table: &Arc<Table>, txn: &Arc<Txn>, capacity: usize) -> BulkAppender {
        let columns = table
            .types()
            .iter()
            .zip(&table.dicts)
            .map(|(&phys, dict)| ColumnBuilder::new(phys, capacity, dict.as_ref()))
            .collect();
        BulkAppender {
            table: table.clone(),
            txn: txn.clone(),
            columns,
            rows: 0,
            rows_total: 0,
            ignore_duplicates: false,
            duplicates: 0,
            duplicate_errors: Vec::new(),
            piece: 0,
        }
    }

    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Rows whose unique keys exist are dropped instead of failing with 1062. Of two rows of one load the earlier
    /// stays: the one of the lower [`BulkAppender::set_piece`].
    pub fn ignore_duplicates(mut self) -> BulkAppender {
        self.ignore_duplicates = true;
        self
    }

    /// The rows to come are from this piece of the load's input; pieces count in the input's order.
    pub fn set_piece(&mut self, piece: u64) {
        debug_assert_eq!(self.rows, 0, "a leaf has rows of one piece");
        self.piece = piece;
    }

    /// Rows brought so far.
    pub fn rows(&self) -> u64 {
        self.rows_total + self.rows as u64
    }

    /// Rows dropped because of their keys.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Error 1062 for each row dropped since the last call.
    pub fn take_duplicate_errors(&mut self) -> Vec<Error> {
        std::mem::take(&mut self.duplicate_errors)
    }

    /// The builder of a fixed-width column, for [`ColumnBuilder::push_int`]. Every column gets one value, then comes
    /// [`BulkAppender::end_row`].
    #[inline]
    pub fn column(&mut self, column: usize) -> &mut ColumnBuilder {
        &mut self.columns[column]
    }

    /// Appends a string to a string column.
    #[inline]
    pub fn push_bytes(&mut self, column: usize, bytes: &[u8]) {
        let shared = self.table.dicts[column].as_ref().expect("a string column has a dictionary");
        self.columns[column].push_bytes(bytes, shared);
    }

    /// Appends a value of exactly the column's type.
    pub fn push_value(&mut self, column: usize, value: &Value) {
        self.columns[column].push(value, self.table.dicts[column].as_ref());
    }

    /// Every column has got its value of the row.
    #[inline]
    pub fn end_row(&mut self) -> Result<()> {
        self.rows += 1;
        if self.rows == self.table.leaf_rows() { self.flush() } else { Ok(()) }
    }

    /// Appends the selected rows of a batch that has the table's columns.
    pub fn append(&mut self, batch: &Batch) -> Result<()> {
        assert_eq!(batch.columns.len(), self.columns.len(), "one vector a column");
        let positions = batch.selection.to_positions(batch.rows);
        let mut rest = &positions[..];
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(self.table.leaf_rows() - self.rows));
            for ((column, vector), dict) in self.columns.iter_mut().zip(&batch.columns).zip(&self.table.dicts) {
                column.append(vector, now, dict.as_ref());
            }
            rest = later;
            self.rows += now.len();
            if self.rows == self.table.leaf_rows() {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn take_chunks(&mut self, rows: usize) -> Vec<Chunk> {
        assert!(self.columns.iter().all(|c| c.len() == rows), "every column has a value of every row");
        self.columns.iter_mut().zip(&self.table.dicts).map(|(c, dict)| c.finish(dict.as_ref())).collect()
    }

    /// Makes a leaf of the rows so far and attaches it. Error 1062 if a key of it exists and duplicates are not
    /// ignored.
    pub fn flush(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.rows);
        if rows == 0 {
            return Ok(());
        }
        let chunks = self.take_chunks(rows);
        let table = self.table.clone();
        // Of two rows of a load the one of the earlier piece stays: that cannot be told row by row.
        if !self.ignore_duplicates && table.has_many_free_slots() {
            table.insert_each(&self.txn, &chunks.iter().collect::<Vec<_>>(), rows, false)?;
            self.rows_total += rows as u64;
            return Ok(());
        }
        let on_conflict = if self.ignore_duplicates { OnConflict::Drop } else { OnConflict::Fail };
        self.attach(chunks, rows, on_conflict)?;
        Ok(())
    }

    /// Attaches a leaf of these rows.
    fn attach(&mut self, mut chunks: Vec<Chunk>, rows: usize, on_conflict: OnConflict) -> Result<Attached> {
        let table = &self.table;
        if let Some(c) = table.auto_increment_column() {
            table.observe_chunk(c, &chunks[c]);
        }
        let low = table.stats.observe(&chunks.iter().collect::<Vec<_>>());
        chunks.iter_mut().for_each(Chunk::narrow);
        table.check_room_of(None, &chunks.iter().collect::<Vec<_>>(), 0..rows)?;
        let leaf_no = table.attach(Leaf::created(&self.txn, self.piece, chunks, rows))?;
        table.stats.sample.keep(low, rows, |i| table.row_id(leaf_no, i));
        table.note(&self.txn, [Change::Leaf { leaf_no }]);
        table.add_rows(rows as u64);
        self.rows_total += rows as u64;
        let mut dropped = Vec::new();
        // Taken after the leaf is there: a build that began before is told of it, a later one reads it.
        let set = table.indexes();
        for (_, index) in set.maintained() {
            index.add_pending(leaf_no);
        }
        for (i, index) in set.unique.iter().enumerate() {
            let dissolved = |leaf_no, n| table.run_dissolved(&set, i, leaf_no, n);
            let rows = table.rows();
            if !index.enter_leaf(&table.txns, &self.txn, rows, leaf_no, on_conflict, &mut dropped, &dissolved)? {
                let columns = table.slot(leaf_no).read().leaf().map(|leaf| leaf.columns().to_vec());
                return Ok(Attached::Conflict(columns.unwrap_or_default()));
            }
        }
        if !dropped.is_empty() {
            table.forget_dropped(&dropped);
            self.duplicates += dropped.len() as u64;
            self.duplicate_errors.extend(dropped.into_iter().map(|d| d.1));
        }
        Ok(Attached::Leaf)
    }

    /// Brings in what is left; returns how many rows this appender brought. Few rows join the table's tail leaf.
    pub fn finish(&mut self) -> Result<BulkDone> {
        if self.rows_total == 0 && self.rows * 4 < self.table.leaf_rows() {
            let rows = std::mem::take(&mut self.rows);
            let chunks = self.take_chunks(rows);
            let chunks: Vec<&Chunk> = chunks.iter().collect();
            if self.ignore_duplicates {
                for row in 0..rows {
                    if let Err(duplicate) = self.table.try_insert(&self.txn, &chunks, row)? {
                        self.duplicates += 1;
                        self.duplicate_errors.push(duplicate.error());
                    }
                }
            } else {
                self.table.insert_rows(&self.txn, &chunks, rows)?;
            }
            self.rows_total = rows as u64;
        }
        self.flush()?;
        Ok(BulkDone { rows: self.rows_total, duplicates: self.duplicates })
    }
}

/// What an appender did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BulkDone {
    /// Rows given.
    pub rows: u64,
    /// Rows dropped because of their keys. (One that another appender dropped is counted there.)
    pub duplicates: u64,
}
