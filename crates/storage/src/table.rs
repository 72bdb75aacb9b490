//! A table: its heap of leaves, its indexes, its counters.
//!
//! What can be done with it is spread over the modules by concern: reading in [`crate::scan`] and [`crate::fetch`],
//! writing in [`crate::write`], loading in [`crate::bulk`], estimates in [`crate::stats`]. This one holds what they
//! share: row ids, taking and giving back leaves, undo and the collection of versions.
//!
//! Row id = leaf number << k | slot, where 2^k is the most rows of a leaf: 1024 for rows up to 256 bytes of fixed-width
//! slots, 512 up to 512, else 256.

use crate::dict::SharedDict;
use crate::heap::{Heap, LeafSlot, LeafState};
use crate::index::ordered::OrderedIndex;
use crate::index::set::{IndexCell, IndexSet};
use crate::index::{ROW_IDS_MAX, Rows};
use crate::leaf::Leaf;
use crate::log::segment::Images;
use crate::reuse::Reuse;
use crate::room::long_columns;
use crate::settled::Removals;
use crate::stats::StatsState;
use crate::sync::{AtomicU64, Loaded, Mutex, Ordering, Rank};
use crate::table_io::IndexIo;
use crate::tails::OwnTail;
use crate::txn::{Change, Horizon, Snapshot, Txn, TxnManager, Versioned};
use crate::undo::{Before, Gone, Left, UndoKind};
use crate::waits::RowLockName;
use catalog::{TableDef, TableEngine};
use std::sync::Arc;
use types::{Error, PhysType, Result};
use vector::{Chunk, Values};

/// Where rows are appended one by one.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    pub leaf_no: Option<u64>,
    /// A batch appends to it: see [`crate::tails`].
    pub has_batch: bool,
    /// Tails that single batches have, or have left.
    pub own: Vec<OwnTail>,
    /// Vacant slots whose leaves died.
    pub free: Vec<u64>,
    /// Leaves with free slots: see [`crate::reuse`].
    pub listed: Vec<u64>,
    /// The leaf whose free slots are being filled, and the slot to look at next.
    pub open: Option<(u64, usize)>,
}

#[derive(Debug)]
pub struct Table {
    def: Arc<TableDef>,
    types: Box<[PhysType]>,
    shift: u32,
    pub(crate) heap: Heap,
    pub(crate) tail: Mutex<Tail>,
    pub(crate) reuse: Reuse,
    pub(crate) removals: Removals,
    pub(crate) indexes: IndexCell,
    pub(crate) txns: Arc<TxnManager>,
    /// Columns whose strings may be long.
    pub(crate) long_columns: Box<[usize]>,
    /// One for each string column.
    pub(crate) dicts: Box<[Option<SharedDict>]>,
    pub(crate) stats: StatsState,
    /// Of rows that came without an index.
    pub(crate) io: Arc<IndexIo>,
    row_count: AtomicU64,
    /// The next AUTO_INCREMENT value.
    auto_increment: AtomicU64,
    /// The newest commit when its definition was published.
    published_at: AtomicU64,
    /// Changes go into the redo log, and leaves into checkpoints.
    logged: bool,
}

/// Widest row, in bytes of fixed-width slots, that still gets leaves of 1024 rows; twice that: 512; else 256. Scans
/// work column by column, so the batch should stay long even for the usual 15-column table.
const WIDE_ROW_BYTES: usize = 256;

fn leaf_shift(def: &TableDef, leaf_rows: Option<usize>) -> u32 {
    if let Some(rows) = leaf_rows {
        return rows.clamp(1, vector::BATCH_ROWS_MAX).next_power_of_two().trailing_zeros();
    }
    let row: usize = def.columns.iter().map(|c| c.ty.phys().bytes()).sum();
    match row {
        _ if row <= WIDE_ROW_BYTES => 10,
        _ if row <= 2 * WIDE_ROW_BYTES => 9,
        _ => 8,
    }
}

/// The number in a column of integers; 0 where it is negative.
pub fn number_at(values: &Values, i: usize) -> u64 {
    match values {
        Values::U64(v) => v[i],
        other => other.int_at(i).map_or(0, |v| v.max(0) as u64),
    }
}

/// The greatest number in a column of integers; 0 where there is none above.
pub fn greatest_number(chunk: &Chunk) -> u64 {
    match &chunk.values {
        Values::U64(v) => (0..v.len()).filter(|&i| chunk.is_valid(i)).map(|i| v[i]).max().unwrap_or(0),
        other => other.int_bounds(chunk.validity.as_ref()).map_or(0, |b| b.max.max(0) as u64),
    }
}

impl Table {
    pub fn new(def: Arc<TableDef>, txns: Arc<TxnManager>, leaf_rows: Option<usize>) -> Arc<Table> {
        let types: Box<[PhysType]> = def.columns.iter().map(|c| c.ty.phys()).collect();
        Arc::new(Table {
            shift: leaf_shift(&def, leaf_rows),
            heap: Heap::default(),
            tail: Mutex::new(Rank::Tail, Tail::default()),
            reuse: Reuse::default(),
            removals: Removals::default(),
            indexes: IndexCell::new(IndexSet::new(def.clone())),
            txns,
            long_columns: long_columns(&def),
            dicts: types.iter().map(|t| (*t == PhysType::Str).then(SharedDict::new)).collect(),
            stats: StatsState::new(&def),
            io: Arc::default(),
            row_count: AtomicU64::new(0),
            auto_increment: AtomicU64::new(1),
            published_at: AtomicU64::new(0),
            logged: def.engine == TableEngine::InnoDb && !def.temporary,
            types,
            def,
        })
    }

    /// The present definition. Its columns never change, its indexes may.
    pub fn def(&self) -> Arc<TableDef> {
        self.indexes().def.clone()
    }

    /// Puts a definition in place that differs in names, comments and the like, not in columns or indexes.
    pub fn set_def(&self, def: Arc<TableDef>) {
        self.indexes.change(|set| {
            for (index, definition) in set.unique.iter().zip(&def.indexes) {
                index.published(&format!("{}.{}", def.name, definition.name));
            }
            set.def = def;
        });
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

    /// Whether it survives the process: changes go into the redo log, leaves into checkpoints.
    pub fn logged(&self) -> bool {
        self.logged
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
        self.stats.inserted(n);
    }

    pub(crate) fn remove_rows(&self, n: u64) {
        self.row_count.fetch_sub(n, Ordering::Relaxed);
        self.stats.changed(n);
    }

    /// Its definition is published now, or about to be: its rows have no past that older snapshots could see.
    pub fn note_published(&self) {
        self.published_at.fetch_max(self.txns.point_of_definition(), Ordering::AcqRel);
    }

    /// 1412: the snapshot is older than the table, of which it would see nothing or a part.
    pub fn check_known_to(&self, snapshot: &Snapshot) -> Result<()> {
        match snapshot.ts() < self.published_at.load(Ordering::Acquire) {
            true => Err(Error::table_def_changed()),
            false => Ok(()),
        }
    }

    /// The next AUTO_INCREMENT value.
    pub fn auto_increment(&self) -> u64 {
        self.auto_increment.load(Ordering::Relaxed)
    }

    /// ALTER TABLE ... AUTO_INCREMENT = `next`.
    pub fn set_auto_increment(&self, next: u64) {
        self.auto_increment.store(next.max(1), Ordering::Relaxed);
    }

    /// Reserves `n` consecutive AUTO_INCREMENT values; returns the first. There is none behind `u64::MAX`, which is no
    /// value itself.
    pub fn reserve_auto_increment(&self, n: u64) -> u64 {
        let next = |first: u64| Some(first.saturating_add(n));
        self.auto_increment.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).unwrap_or(u64::MAX)
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
        self.observe_auto_increment(greatest_number(chunk));
        debug_assert!(self.def.columns[column].auto_increment);
    }

    /// Error 1114 if the process has no room for another leaf. The system may have to be asked: no latch may be held.
    pub(crate) fn check_leaf_room(&self) -> Result<()> {
        let row: usize = self.def.columns.iter().map(|c| c.ty.phys().bytes()).sum();
        self.check_room(row << self.shift)
    }

    /// Takes a vacant slot, with its latch free. The tail latch is held; where no slot was free, room was asked for
    /// before ([`Table::check_leaf_room`]).
    pub(crate) fn take_leaf(&self, tail: &mut Tail) -> Result<u64> {
        if let Some(leaf_no) = tail.free.pop() {
            return Ok(leaf_no);
        }
        let leaf_no = self.heap.take_slot().filter(|n| (n + 1) << self.shift <= ROW_IDS_MAX);
        leaf_no.ok_or_else(|| Error::record_file_full(&self.def.name))
    }

    /// Attaches a filled leaf; returns its number.
    pub(crate) fn attach(&self, leaf: Leaf) -> Result<u64> {
        let has_free = !self.tail.lock().free.is_empty();
        if !has_free {
            self.check_leaf_room()?;
        }
        let leaf_no = self.take_leaf(&mut self.tail.lock())?;
        *self.slot(leaf_no).write() = LeafState::Resident(Box::new(leaf));
        Ok(leaf_no)
    }

    /// Gives back a leaf in which nobody can see a row any more.
    pub(crate) fn release_if_dead(&self, leaf_no: u64) {
        let mut tail = self.tail.lock();
        self.end_tail_if_full(&mut tail, leaf_no);
        if tail.leaf_no == Some(leaf_no) || tail.is_own(leaf_no) {
            return;
        }
        // The slot may have been given back, or have a new leaf, since the caller looked. While the tail latch is held
        // nobody takes a vacant slot, and no row comes into a leaf.
        if !self.slot(leaf_no).read().leaf().is_some_and(Leaf::is_dead) {
            return;
        }
        self.unlist(&mut tail, leaf_no);
        for index in self.indexes().unique.iter() {
            index.remove_run(leaf_no);
        }
        *self.slot(leaf_no).write() = LeafState::Vacant;
        self.slot(leaf_no).set_dirty();
        tail.free.push(leaf_no);
    }

    /// The indexes that the table has now.
    pub(crate) fn indexes(&self) -> Loaded<IndexSet> {
        self.indexes.get()
    }

    /// Collects the leaf's versions if many have gathered. No latch may be held.
    pub(crate) fn collect_if_many(&self, leaf_no: u64) {
        if self.slot(leaf_no).read().leaf().is_some_and(Leaf::wants_prune) {
            self.collect(leaf_no, &self.txns.horizon());
        }
    }

    /// The keys of the version in place.
    fn keys_in_place(set: &IndexSet, leaf: &Leaf, slot: usize, out: &mut RowKeys) {
        let at = |c: usize| (&**leaf.column(c), slot);
        for (i, index) in set.unique.iter().enumerate() {
            out.unique.extend(index.spec.hash_one(&at).map(|h| (i, h)));
        }
        for (i, index) in set.maintained() {
            let mut key = Vec::new();
            index.encoder.encode_row(&at, &mut key);
            out.ordered.push((i, key));
        }
    }

    /// The keys of a version whose end is told by an update's record: those of the indexes that the record has all
    /// columns of.
    fn keys_before(set: &IndexSet, before: Before<'_>, out: &mut RowKeys) {
        let value = |c: usize| before.value(c).expect("all are there");
        for (i, index) in set.unique.iter().enumerate().filter(|(_, i)| before.has_all(&i.spec.columns)) {
            out.unique.extend(index.spec.hash_one(&value).map(|h| (i, h)));
        }
        for (i, index) in set.maintained().filter(|(_, o)| before.has_all(o.encoder.columns())) {
            let mut key = Vec::new();
            index.encoder.encode_row(&value, &mut key);
            out.ordered.push((i, key));
        }
    }

    /// Rows that a load has dropped leave the indexes.
    pub(crate) fn forget_dropped(&self, dropped: &[(u64, Error)]) {
        let _removing = self.removals.enter();
        let set = self.indexes();
        for &(row_id, _) in dropped {
            let mut keys = RowKeys::default();
            self.rows().with(row_id, |leaf, slot| Self::keys_in_place(&set, leaf, slot, &mut keys));
            self.remove_unused(&set, &keys, row_id);
        }
        self.remove_rows(dropped.len() as u64);
    }

    /// Takes away the row's entries for these keys, where no version has them any more.
    fn remove_unused(&self, set: &IndexSet, keys: &RowKeys, row_id: u64) {
        for &(i, hash) in &keys.unique {
            set.unique[i].remove_unused(hash, row_id, self.rows());
        }
        if keys.ordered.is_empty() {
            return;
        }
        let _keys = self.slot(self.split(row_id).0).lock_keys();
        for (i, key) in &keys.ordered {
            if let Some(index) = &set.ordered[*i] {
                index.forget(key, row_id, || self.has_version_with(index, key, row_id));
            }
        }
    }

    /// Whether a version of the row that somebody may see or bring back has this key.
    pub(crate) fn has_version_with(&self, index: &OrderedIndex, key: &[u8], row_id: u64) -> bool {
        let mut scratch = Vec::new();
        let found = self
            .rows()
            .with(row_id, |leaf, slot| leaf.each_version(slot, |at, _| index.encoder.has_key(at, key, &mut scratch)));
        found == Some(true)
    }

    /// `holder`: whose record it is, if it keeps the row. Says whether that took a record.
    fn undo_row(&self, leaf_no: u64, slot: usize, holder: Option<&Arc<Txn>>) -> bool {
        let _removing = self.removals.enter();
        let mut keys = RowKeys::default();
        let (undone, held, set) = {
            let mut state = self.slot(leaf_no).write();
            // Under the latch: see `index::ordered`, invariant 3.
            let set = self.indexes();
            let Some(leaf) = state.leaf_mut() else { return false };
            if slot < leaf.rows() {
                Self::keys_in_place(&set, leaf, slot, &mut keys);
            }
            let undone = leaf.undo(slot);
            if matches!(undone, Some(UndoKind::Insert)) {
                leaf.clear_free(slot..slot + 1);
            }
            let held = holder.is_some_and(|txn| leaf.is_live(slot) && leaf.lock(txn, slot));
            (undone, held, set)
        };
        match undone {
            Some(UndoKind::Insert) => self.remove_rows(1),
            Some(UndoKind::Delete) => self.add_rows(1),
            Some(UndoKind::Update(_)) => {}
            Some(UndoKind::Lock) | None => return held,
        }
        self.remove_unused(&set, &keys, self.row_id(leaf_no, slot));
        held
    }

    fn undo_leaf(&self, leaf_no: u64) {
        let _removing = self.removals.enter();
        let mut keys = Vec::new();
        let set = {
            let mut state = self.slot(leaf_no).write();
            let set = self.indexes();
            let Some(leaf) = state.leaf() else { return };
            for slot in 0..leaf.rows() {
                let mut of_row = RowKeys::default();
                Self::keys_in_place(&set, leaf, slot, &mut of_row);
                keys.push(of_row);
            }
            self.remove_rows(leaf.live_count() as u64);
            *state = LeafState::Vacant;
            set
        };
        for index in set.unique.iter() {
            index.remove_run(leaf_no);
        }
        for (slot, of_row) in keys.iter().enumerate() {
            self.remove_unused(&set, of_row, self.row_id(leaf_no, slot));
        }
        self.tail.lock().free.push(leaf_no);
    }
}

/// Keys of one version of a row, with the positions of their indexes: hashes in unique indexes, bytes in ordered ones.
#[derive(Debug, Default)]
struct RowKeys {
    unique: Vec<(usize, u64)>,
    ordered: Vec<(usize, Vec<u8>)>,
}

impl RowKeys {
    fn is_empty(&self) -> bool {
        self.unique.is_empty() && self.ordered.is_empty()
    }
}

impl Versioned for Table {
    fn is_logged(&self) -> bool {
        self.logged
    }

    fn put_images(&self, txn: &Txn, changes: &mut Vec<Change>, out: &mut Images) {
        self.put_changes(txn, changes, out);
    }

    fn undo(&self, change: Change) {
        match change {
            Change::Row { leaf_no, slot } => drop(self.undo_row(leaf_no, slot as usize, None)),
            Change::Leaf { leaf_no } => self.undo_leaf(leaf_no),
        }
    }

    fn undo_and_hold(&self, txn: &Arc<Txn>, change: Change) -> bool {
        match change {
            Change::Row { leaf_no, slot } => self.undo_row(leaf_no, slot as usize, Some(txn)),
            Change::Leaf { leaf_no } => {
                self.undo_leaf(leaf_no);
                false
            }
        }
    }

    fn locks(&self, txn: &Txn, leaf_no: u64, slot: Option<u16>) -> Vec<RowLockName> {
        let (mode, slots) = match slot {
            Some(slot) => ("EXCLUSIVE", vec![slot]),
            None => ("SHARED", self.slot(leaf_no).read().leaf().map_or(Vec::new(), |leaf| leaf.shared_by(txn))),
        };
        slots.into_iter().map(|s| self.row_wanted(mode, self.row_id(leaf_no, s as usize))).collect()
    }

    fn unshare(&self, leaf_no: u64, txn_id: u64) {
        if let Some(leaf) = self.slot(leaf_no).write().leaf_mut() {
            leaf.unshare(txn_id);
        }
    }

    fn set_waiting(&self, leaf_no: u64, waiting: bool) -> bool {
        self.slot(leaf_no).set_waiting(waiting)
    }

    fn collect(&self, leaf_no: u64, horizon: &Horizon) -> Left {
        let _removing = self.removals.enter();
        let mut keys: Vec<(u16, RowKeys)> = Vec::new();
        let (dead, sparse, set, left) = {
            let mut state = self.slot(leaf_no).write();
            let set = self.indexes();
            let Some(leaf) = state.leaf_mut() else { return Left::default() };
            let mut deleted: Vec<usize> = Vec::new();
            let left = leaf.prune(horizon, &mut |slot, gone| match gone {
                Gone::Deleted => deleted.push(slot as usize),
                Gone::Updated(_) if set.ordered.is_empty() => {}
                Gone::Updated(before) => {
                    let mut of_row = RowKeys::default();
                    Self::keys_before(&set, before, &mut of_row);
                    keys.extend((!of_row.is_empty()).then_some((slot, of_row)));
                }
            });
            for &slot in deleted.iter().filter(|_| !set.ordered.is_empty()) {
                let mut of_row = RowKeys::default();
                Self::keys_in_place(&set, leaf, slot, &mut of_row);
                keys.push((slot as u16, of_row));
            }
            let dead = leaf.is_dead();
            if !(dead && leaf.rows() == self.leaf_rows()) {
                // What a load has dropped, or rows that were deleted.
                match left.is_everybodys && leaf.live_count() < leaf.rows() {
                    true => leaf.clear_free(0..leaf.rows()),
                    false => leaf.clear_free(deleted.into_iter()),
                }
            }
            (dead, leaf.is_sparse(), set, left)
        };
        for (slot, of_row) in keys {
            self.remove_unused(&set, &of_row, self.row_id(leaf_no, slot as usize));
        }
        self.look_at_orphans(&set, leaf_no);
        if dead {
            self.release_if_dead(leaf_no);
        } else if sparse {
            self.list_sparse(leaf_no);
        }
        left
    }
}
