//! A table: its heap of leaves, its unique indexes, its counters.
//!
//! What can be done with it is spread over the modules by concern: reading in [`crate::scan`] and [`crate::fetch`],
//! writing in [`crate::write`], loading in [`crate::bulk`], estimates in [`crate::stats`]. This one holds what they
//! share: row ids, taking and giving back leaves, undo and the collection of versions.
//!
//! Row id = leaf number << k | slot, where 2^k is the most rows of a leaf: 1024 for rows up to 256 bytes of fixed-width
//! slots, 512 up to 512, else 256.

use crate::dict::SharedDict;
use crate::heap::{Heap, LeafSlot, LeafState};
use crate::index::key::KeySpec;
use crate::index::{ROW_IDS_MAX, Rows, UniqueIndex};
use crate::leaf::Leaf;
use crate::stats::StatsState;
use crate::sync::{AtomicU64, Mutex, Ordering, Rank};
use crate::txn::{Change, TxnManager, Versioned};
use crate::undo::{Pruned, UndoKind};
use catalog::TableDef;
use std::sync::Arc;
use types::{Error, PhysType, Result, SqlType};
use vector::Chunk;

/// Where rows are appended one by one.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    pub leaf_no: Option<u64>,
    /// Vacant slots whose leaves died.
    free: Vec<u64>,
}

#[derive(Debug)]
pub struct Table {
    def: Arc<TableDef>,
    types: Box<[PhysType]>,
    shift: u32,
    pub(crate) heap: Heap,
    pub(crate) tail: Mutex<Tail>,
    /// One for each unique index of the definition, in its order (they come first there).
    pub(crate) unique: Box<[UniqueIndex]>,
    pub(crate) txns: Arc<TxnManager>,
    /// One for each string column.
    pub(crate) dicts: Box<[Option<SharedDict>]>,
    pub(crate) stats: StatsState,
    row_count: AtomicU64,
    /// The next AUTO_INCREMENT value.
    auto_increment: AtomicU64,
}

/// Slot width of a column, for choosing how many rows a leaf has.
fn width(ty: &SqlType) -> usize {
    match ty.phys() {
        PhysType::I8 | PhysType::U8 => 1,
        PhysType::I16 | PhysType::U16 => 2,
        PhysType::I32 | PhysType::U32 | PhysType::F32 => 4,
        PhysType::I64 | PhysType::U64 | PhysType::F64 => 8,
        PhysType::I128 | PhysType::Str => 16,
        PhysType::I256 => 32,
    }
}

/// Widest row, in bytes of fixed-width slots, that still gets leaves of 1024 rows; twice that: 512; else 256. Scans work
/// column by column, so the batch should stay long even for the usual 15-column table.
const WIDE_ROW_BYTES: usize = 256;

fn leaf_shift(def: &TableDef, leaf_rows: Option<usize>) -> u32 {
    if let Some(rows) = leaf_rows {
        return rows.clamp(1, vector::BATCH_ROWS_MAX).next_power_of_two().trailing_zeros();
    }
    let row: usize = def.columns.iter().map(|c| width(&c.ty)).sum();
    match row {
        _ if row <= WIDE_ROW_BYTES => 10,
        _ if row <= 2 * WIDE_ROW_BYTES => 9,
        _ => 8,
    }
}

impl Table {
    pub fn new(def: Arc<TableDef>, txns: Arc<TxnManager>, leaf_rows: Option<usize>) -> Arc<Table> {
        let unique = def.indexes.iter().take_while(|i| i.is_unique()).map(|i| UniqueIndex::new(KeySpec::new(&def, i)));
        let types: Box<[PhysType]> = def.columns.iter().map(|c| c.ty.phys()).collect();
        Arc::new(Table {
            shift: leaf_shift(&def, leaf_rows),
            heap: Heap::default(),
            tail: Mutex::new(Rank::Tail, Tail::default()),
            unique: unique.collect(),
            txns,
            dicts: types.iter().map(|t| (*t == PhysType::Str).then(SharedDict::new)).collect(),
            stats: StatsState::new(types.len()),
            row_count: AtomicU64::new(0),
            auto_increment: AtomicU64::new(1),
            types,
            def,
        })
    }

    pub fn def(&self) -> &Arc<TableDef> {
        &self.def
    }

    /// Physical types of the columns.
    pub fn types(&self) -> &[PhysType] {
        &self.types
    }

    pub fn txns(&self) -> &Arc<TxnManager> {
        &self.txns
    }

    /// The most rows of a leaf.
    pub fn leaf_rows(&self) -> usize {
        1 << self.shift
    }

    /// Leaf numbers are below this. Leaves attached later hold no rows that a snapshot taken before could see.
    pub fn leaf_count(&self) -> u64 {
        self.heap.leaf_count()
    }

    pub(crate) fn rows(&self) -> Rows<'_> {
        Rows { heap: &self.heap, shift: self.shift }
    }

    /// The leaf of a row, and its slot there.
    pub fn split(&self, row_id: u64) -> (u64, usize) {
        self.rows().split(row_id)
    }

    pub fn row_id(&self, leaf_no: u64, slot: usize) -> u64 {
        self.rows().row_id(leaf_no, slot)
    }

    pub(crate) fn slot(&self, leaf_no: u64) -> &LeafSlot {
        self.heap.slot(leaf_no).expect("leaf numbers come from row ids and lists of this table")
    }

    /// Rows whose newest version exists, uncommitted changes included.
    pub fn row_count(&self) -> u64 {
        self.row_count.load(Ordering::Relaxed)
    }

    pub(crate) fn add_rows(&self, n: u64) {
        self.row_count.fetch_add(n, Ordering::Relaxed);
        self.stats.changed(n);
    }

    pub(crate) fn remove_rows(&self, n: u64) {
        self.row_count.fetch_sub(n, Ordering::Relaxed);
        self.stats.changed(n);
    }

    /// The next AUTO_INCREMENT value.
    pub fn auto_increment(&self) -> u64 {
        self.auto_increment.load(Ordering::Relaxed)
    }

    /// ALTER TABLE ... AUTO_INCREMENT = `next`.
    pub fn set_auto_increment(&self, next: u64) {
        self.auto_increment.store(next.max(1), Ordering::Relaxed);
    }

    /// Reserves `n` consecutive AUTO_INCREMENT values; returns the first.
    pub fn reserve_auto_increment(&self, n: u64) -> u64 {
        self.auto_increment.fetch_add(n, Ordering::Relaxed)
    }

    /// A row came with an explicit value: the next generated one is greater.
    pub fn observe_auto_increment(&self, value: u64) {
        self.auto_increment.fetch_max(value.saturating_add(1), Ordering::Relaxed);
    }

    /// The AUTO_INCREMENT column.
    pub(crate) fn auto_increment_column(&self) -> Option<usize> {
        self.def.columns.iter().position(|c| c.auto_increment)
    }

    pub(crate) fn observe_chunk(&self, column: usize, chunk: &Chunk) {
        if let Some(b) = chunk.values.int_bounds(chunk.validity.as_ref())
            && b.max > 0
        {
            self.observe_auto_increment(b.max as u64);
        }
        debug_assert!(self.def.columns[column].auto_increment);
    }

    /// Takes a vacant slot, with its latch free. The tail latch is held.
    pub(crate) fn take_leaf(&self, tail: &mut Tail) -> Result<u64> {
        if let Some(leaf_no) = tail.free.pop() {
            return Ok(leaf_no);
        }
        let leaf_no = self.heap.take_slot().filter(|n| (n + 1) << self.shift <= ROW_IDS_MAX);
        leaf_no.ok_or_else(|| Error::record_file_full(&self.def.name))
    }

    /// Attaches a filled leaf; returns its number.
    pub(crate) fn attach(&self, leaf: Leaf) -> Result<u64> {
        let leaf_no = self.take_leaf(&mut self.tail.lock())?;
        *self.slot(leaf_no).write() = LeafState::Resident(Box::new(leaf));
        Ok(leaf_no)
    }

    /// Gives back a leaf in which nobody can see a row any more.
    fn release_if_dead(&self, leaf_no: u64) {
        let mut tail = self.tail.lock();
        if tail.leaf_no == Some(leaf_no) {
            return;
        }
        // The slot may have been given back, or have a new leaf, since the caller looked. While the tail latch is held
        // nobody takes a free slot, and only the tail leaf can come to life again.
        if !self.slot(leaf_no).read().leaf().is_some_and(Leaf::is_dead) {
            return;
        }
        for index in &self.unique {
            index.remove_run(leaf_no);
        }
        *self.slot(leaf_no).write() = LeafState::Vacant;
        tail.free.push(leaf_no);
    }

    /// The indexes that one of `columns` is part of.
    pub(crate) fn indexes_on<'a>(&'a self, columns: &'a [usize]) -> impl Iterator<Item = &'a UniqueIndex> {
        self.unique.iter().filter(|i| i.spec.columns.iter().any(|c| columns.contains(c)))
    }

    /// Collects the leaf's versions if many have gathered. No latch may be held.
    pub(crate) fn collect_if_many(&self, leaf_no: u64) {
        if self.slot(leaf_no).read().leaf().is_some_and(Leaf::wants_prune) {
            self.collect(leaf_no, self.txns.oldest());
        }
    }

    /// Bytes held by leaves, indexes and dictionaries. Walks all leaves.
    pub fn bytes(&self) -> usize {
        let leaves: usize = (0..self.leaf_count())
            .filter_map(|n| self.heap.slot(n))
            .map(|s| size_of::<LeafSlot>() + s.read().leaf().map_or(0, Leaf::bytes_allocated))
            .sum();
        let indexes: usize = self.unique.iter().map(UniqueIndex::bytes_allocated).sum();
        let dicts: usize = self.dicts.iter().flatten().map(SharedDict::bytes_allocated).sum();
        leaves + indexes + dicts + size_of::<Table>()
    }

    /// Bytes held by the unique indexes.
    pub fn index_bytes(&self) -> usize {
        self.unique.iter().map(UniqueIndex::bytes_allocated).sum()
    }

    /// (index position, hash) of the keys that the version in place has.
    fn keys_in_place(&self, leaf: &Leaf, slot: usize, out: &mut Vec<(usize, u64)>) {
        for (i, index) in self.unique.iter().enumerate() {
            out.extend(index.spec.hash_one(&|c| (leaf.column(c), slot)).map(|h| (i, h)));
        }
    }

    fn keys_before(&self, columns: &[u16], before: &[Chunk], at: usize, out: &mut Vec<(usize, u64)>) {
        let find = |c: usize| columns.iter().position(|w| *w as usize == c);
        for (i, index) in self.unique.iter().enumerate() {
            if index.spec.columns.iter().all(|&c| find(c).is_some()) {
                let key = index.spec.hash_one(&|c| (&before[find(c).expect("all are there")], at));
                out.extend(key.map(|h| (i, h)));
            }
        }
    }

    /// Rows that a load has dropped leave the indexes.
    pub(crate) fn forget_dropped(&self, dropped: &[(u64, Error)]) {
        for &(row_id, _) in dropped {
            let mut keys = Vec::new();
            self.rows().with(row_id, |leaf, slot| self.keys_in_place(leaf, slot, &mut keys));
            self.remove_unused(&keys, row_id);
        }
        self.remove_rows(dropped.len() as u64);
    }

    fn remove_unused(&self, keys: &[(usize, u64)], row_id: u64) {
        for &(i, hash) in keys {
            self.unique[i].remove_unused(hash, row_id, self.rows());
        }
    }

    fn undo_row(&self, leaf_no: u64, slot: usize) {
        let mut keys = Vec::new();
        let undone = {
            let mut state = self.slot(leaf_no).write();
            let Some(leaf) = state.leaf_mut() else { return };
            if slot < leaf.rows() {
                self.keys_in_place(leaf, slot, &mut keys);
            }
            leaf.undo(slot)
        };
        match undone {
            Some(UndoKind::Insert) => self.remove_rows(1),
            Some(UndoKind::Delete) => self.add_rows(1),
            Some(UndoKind::Update { .. }) => {}
            Some(UndoKind::Lock) | None => return,
        }
        self.remove_unused(&keys, self.row_id(leaf_no, slot));
    }

    fn undo_leaf(&self, leaf_no: u64) {
        let mut keys = Vec::new();
        for index in &self.unique {
            index.remove_run(leaf_no);
        }
        {
            let mut state = self.slot(leaf_no).write();
            let Some(leaf) = state.leaf() else { return };
            for slot in 0..leaf.rows() {
                let mut of_row = Vec::new();
                self.keys_in_place(leaf, slot, &mut of_row);
                keys.push(of_row);
            }
            self.remove_rows(leaf.live_count() as u64);
            *state = LeafState::Vacant;
        }
        for (slot, of_row) in keys.iter().enumerate() {
            self.remove_unused(of_row, self.row_id(leaf_no, slot));
        }
        self.tail.lock().free.push(leaf_no);
    }
}

impl Versioned for Table {
    fn undo(&self, change: Change) {
        match change {
            Change::Row { leaf_no, slot } => self.undo_row(leaf_no, slot as usize),
            Change::Leaf { leaf_no } => self.undo_leaf(leaf_no),
        }
    }

    fn collect(&self, leaf_no: u64, oldest: u64) {
        let mut pruned: Vec<Pruned> = Vec::new();
        let mut keys: Vec<(u16, Vec<(usize, u64)>)> = Vec::new();
        let dead = {
            let mut state = self.slot(leaf_no).write();
            let Some(leaf) = state.leaf_mut() else { return };
            leaf.prune(oldest, &mut pruned);
            if !self.unique.is_empty() {
                for p in &pruned {
                    let mut of_row = Vec::new();
                    match &p.kind {
                        UndoKind::Delete => self.keys_in_place(leaf, p.slot as usize, &mut of_row),
                        UndoKind::Update { columns, before, at } => {
                            self.keys_before(columns, before, *at as usize, &mut of_row)
                        }
                        UndoKind::Insert | UndoKind::Lock => {}
                    }
                    keys.push((p.slot, of_row));
                }
            }
            leaf.is_dead()
        };
        for (slot, of_row) in keys {
            self.remove_unused(&of_row, self.row_id(leaf_no, slot as usize));
        }
        if dead {
            self.release_if_dead(leaf_no);
        }
    }
}
