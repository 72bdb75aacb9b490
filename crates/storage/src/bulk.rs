//! Loading: whole leaves are built outside the table and attached.
//!
//! Each thread of a load has a [`BulkAppender`]. It fills columns, makes a leaf of them when it is full, attaches it
//! and makes its rows findable; the leaf as a whole carries the mark of its transaction, so that no row needs an undo
//! record. Nobody sees the leaf before the transaction commits; a rollback lets the whole leaf go.
//!
//! As long as many slots of a table are free ([`crate::reuse`]), rows of a load are inserted one by one and fill them.
//!
//! Whoever cuts the input into pieces that ascend by key calls [`BulkAppender::flush`] between pieces: a leaf that ends
//! one piece and begins a later one would span the keys of the pieces between, and none of those could be a sorted run.

use crate::dict::SharedDict;
use crate::leaf::Leaf;
use crate::table::Table;
use crate::txn::{Change, Txn};
use hashbrown::HashTable;
use std::sync::Arc;
use types::{Error, PhysType, Result, Value};
use vector::{
    Batch, Bitmap, Chunk, DictValues, OWN_BLOCK_BYTES_MIN, Rows, StrHeap, StrValues, StrView, StringDict, Values,
    Vector,
};

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

/// Builds the next leaf's chunk of one column.
#[derive(Debug)]
pub struct ColumnBuilder {
    phys: PhysType,
    capacity: usize,
    fixed: Values,
    strings: StrBuilder,
    validity: Option<Bitmap>,
    len: usize,
}

/// Strings go as codes while the column's dictionary takes them.
#[derive(Debug, Default)]
struct StrBuilder {
    /// `Some`: codes so far.
    codes: Option<Vec<u8>>,
    local: LocalDict,
    views: Vec<StrView>,
    /// Block 0 of the chunk's heap.
    heap: Vec<u8>,
    /// Blocks 1..: one for each long string.
    large: Vec<Arc<Vec<u8>>>,
}

/// The part of the shared dictionary that this thread has met.
#[derive(Debug, Default)]
struct LocalDict {
    table: HashTable<u16>,
    strings: Vec<(Box<[u8]>, u8)>,
    /// Contains all codes below its length.
    snapshot: Option<Arc<StringDict>>,
}

impl LocalDict {
    fn code(&mut self, bytes: &[u8], shared: &SharedDict) -> Option<u8> {
        let hash = vector::hash::hash_bytes(bytes);
        if let Some(&i) = self.table.find(hash, |&i| *self.strings[i as usize].0 == *bytes) {
            return Some(self.strings[i as usize].1);
        }
        let code = shared.code(bytes)?;
        let i = self.strings.len() as u16;
        self.strings.push((bytes.into(), code));
        let strings = &self.strings;
        self.table.insert_unique(hash, i, |&i| vector::hash::hash_bytes(&strings[i as usize].0));
        Some(code)
    }

    fn snapshot(&mut self, codes: &[u8], shared: &SharedDict) -> Arc<StringDict> {
        let needed = codes.iter().max().map_or(0, |&c| c as usize + 1);
        match &self.snapshot {
            Some(dict) if dict.strings.views.len() >= needed => dict.clone(),
            _ => self.snapshot.insert(shared.snapshot()).clone(),
        }
    }
}

impl StrBuilder {
    fn push(&mut self, bytes: &[u8], shared: &SharedDict) {
        if let Some(codes) = &mut self.codes {
            if let Some(code) = self.local.code(bytes, shared) {
                codes.push(code);
                return;
            }
            self.give_up_codes();
        }
        self.push_plain(bytes);
    }

    fn push_default(&mut self) {
        match &mut self.codes {
            Some(codes) => codes.push(0),
            None => self.views.push(StrView::EMPTY),
        }
    }

    fn push_plain(&mut self, bytes: &[u8]) {
        let view = if bytes.len() <= vector::INLINE_BYTES_MAX {
            StrView::inline(bytes)
        } else if bytes.len() < OWN_BLOCK_BYTES_MIN {
            let offset = self.heap.len() as u32;
            self.heap.extend_from_slice(bytes);
            StrView::pointing(bytes, 0, offset)
        } else {
            self.large.push(Arc::new(bytes.to_vec()));
            StrView::pointing(bytes, self.large.len() as u32, 0)
        };
        self.views.push(view);
    }

    fn give_up_codes(&mut self) {
        let codes = self.codes.take().unwrap_or_default();
        let mut by_code: Vec<Box<[u8]>> = vec![Box::default(); crate::dict::DICT_ENTRIES_MAX];
        for (bytes, code) in std::mem::take(&mut self.local.strings) {
            by_code[code as usize] = bytes;
        }
        self.local = LocalDict::default();
        for code in codes {
            self.push_plain(&by_code[code as usize]);
        }
    }

    fn finish(&mut self, shared: &SharedDict) -> Values {
        if let Some(codes) = &mut self.codes {
            let dict = self.local.snapshot(codes, shared);
            // A leaf of NULLs alone may come before the first entry; position 0 must exist all the same.
            if !dict.strings.views.is_empty() {
                let out = codes.as_slice().into();
                codes.clear();
                return Values::Dict(DictValues { codes: out, dict });
            }
            self.give_up_codes();
            self.codes = Some(Vec::new());
        }
        let views: Vec<StrView> = self.views.as_slice().into();
        self.views.clear();
        let mut blocks = Vec::new();
        if !self.heap.is_empty() || !self.large.is_empty() {
            blocks.push(Arc::new(self.heap.as_slice().into()));
            blocks.append(&mut self.large);
        }
        self.heap.clear();
        Values::Str(StrValues { views, heap: Arc::new(StrHeap::of(blocks)) })
    }
}

impl ColumnBuilder {
    fn new(phys: PhysType, capacity: usize, shared: Option<&SharedDict>) -> ColumnBuilder {
        let mut strings = StrBuilder::default();
        if shared.is_some_and(|s| !s.is_closed()) {
            strings.codes = Some(Vec::with_capacity(capacity));
        }
        let fixed = if phys == PhysType::Str { Values::I8(Vec::new()) } else { Values::with_capacity(phys, capacity) };
        ColumnBuilder { phys, capacity, fixed, strings, validity: None, len: 0 }
    }

    /// Values pushed since the last leaf.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn pushed(&mut self, valid: bool) {
        if !valid && self.validity.is_none() {
            self.validity = Some(Bitmap::ones(self.len));
        }
        if let Some(v) = &mut self.validity {
            v.push(valid);
        }
        self.len += 1;
    }

    pub fn push_null(&mut self) {
        match self.phys {
            PhysType::Str => self.strings.push_default(),
            _ => self.fixed.push_default(),
        }
        self.pushed(false);
    }

    /// Appends an integer, date, time or scaled decimal that fits the column's physical type.
    ///
    /// # Panics
    /// If the column is neither of these kinds.
    #[inline]
    pub fn push_int(&mut self, v: i64) {
        match &mut self.fixed {
            Values::I8(x) => x.push(v as i8),
            Values::U8(x) => x.push(v as u8),
            Values::I16(x) => x.push(v as i16),
            Values::U16(x) => x.push(v as u16),
            Values::I32(x) => x.push(v as i32),
            Values::U32(x) => x.push(v as u32),
            Values::I64(x) => x.push(v),
            Values::U64(x) => x.push(v as u64),
            Values::I128(x) => x.push(v as i128),
            Values::I256(x) => x.push(types::I256::from(v as i128)),
            other => panic!("an integer does not fit physical type {:?}", other.phys()),
        }
        self.pushed(true);
    }

    /// Appends a value of exactly the column's type (see [`vector::ChunkBuilder::push`]).
    fn push(&mut self, value: &Value, shared: Option<&SharedDict>) {
        if let Value::Bytes(b) = value
            && let Some(shared) = shared
        {
            return self.push_bytes(b, shared);
        }
        if value.is_null() {
            return self.push_null();
        }
        self.fixed.append(&Chunk::single(self.phys, value).values, Rows::Range(0, 1));
        self.pushed(true);
    }

    fn push_bytes(&mut self, bytes: &[u8], shared: &SharedDict) {
        assert_eq!(self.phys, PhysType::Str, "bytes for a column that holds no strings");
        self.strings.push(bytes, shared);
        self.pushed(true);
    }

    fn append(&mut self, vector: &Vector, positions: &[u16], shared: Option<&SharedDict>) {
        let (chunk, constant) = vector.chunk();
        let zeros;
        let positions = if constant {
            zeros = vec![0; positions.len()];
            &zeros
        } else {
            positions
        };
        match shared {
            Some(shared) => {
                for &i in positions {
                    if chunk.is_valid(i as usize) {
                        self.push_bytes(chunk.values.str_bytes(i as usize), shared);
                    } else {
                        self.push_null();
                    }
                }
            }
            None => {
                self.fixed.append(&chunk.values, Rows::At(positions));
                for &i in positions {
                    self.pushed(chunk.is_valid(i as usize));
                }
            }
        }
    }

    fn finish(&mut self, shared: Option<&SharedDict>) -> Chunk {
        let values = match shared {
            Some(shared) => self.strings.finish(shared),
            None => {
                let next = Values::with_capacity(self.phys, self.capacity);
                let mut values = std::mem::replace(&mut self.fixed, next);
                values.shrink();
                values
            }
        };
        self.len = 0;
        let mut chunk = Chunk::new(values, self.validity.take());
        chunk.compute_bounds();
        chunk
    }
}

impl BulkAppender {
    /// `txn`'s current statement will be the creator of the rows.
    pub fn new(table: &Arc<Table>, txn: &Arc<Txn>) -> BulkAppender {
        let capacity = table.leaf_rows();
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

    /// Rows whose unique keys exist are dropped instead of failing with 1062. Of two rows of one load the earlier stays:
    /// the one of the lower [`BulkAppender::set_piece`].
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
        assert!(self.columns.iter().all(|c| c.len == rows), "every column has a value of every row");
        self.columns.iter_mut().zip(&self.table.dicts).map(|(c, dict)| c.finish(dict.as_ref())).collect()
    }

    /// Makes a leaf of the rows so far and attaches it. Error 1062 if a key of it exists and duplicates are not ignored.
    pub fn flush(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.rows);
        if rows == 0 {
            return Ok(());
        }
        let chunks = self.take_chunks(rows);
        let table = &self.table;
        // Of two rows of a load the one of the earlier piece stays: that cannot be told row by row.
        if !self.ignore_duplicates && table.has_many_free_slots() {
            table.insert_each(&self.txn, &chunks.iter().collect::<Vec<_>>(), rows, false)?;
            self.rows_total += rows as u64;
            return Ok(());
        }
        if let Some(c) = table.auto_increment_column() {
            table.observe_chunk(c, &chunks[c]);
        }
        let low = table.stats.observe(&chunks.iter().collect::<Vec<_>>());
        let mut chunks = chunks;
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
            let ignore = self.ignore_duplicates;
            index.enter_leaf(&table.txns, &self.txn, table.rows(), leaf_no, ignore, &mut dropped, &dissolved)?;
        }
        if !dropped.is_empty() {
            table.forget_dropped(&dropped);
            self.duplicates += dropped.len() as u64;
            self.duplicate_errors.extend(dropped.into_iter().map(|d| d.1));
        }
        Ok(())
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
