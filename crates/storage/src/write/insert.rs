//! Inserts: keys are reserved, the row gets a slot, indexes and counters learn of it.
//!
//! ```text
//!   hash the keys ─▶ latch their shards, nobody has them ─▶ slot: a free one of the open leaf, else the tail's next
//!                                                            row, run or entry in one go under the tail latch
//!                                                          ─▶ ordered indexes, counters, the transaction's list
//! ```
//! CREATE and DROP INDEX may come in between: the set of indexes is looked at again under the leaf's key latch, and the
//! insert begins anew if it has changed.

use super::{Columns, Duplicate};
use crate::heap::LeafState;
use crate::index::UniqueIndex;
use crate::index::key::Key;
use crate::index::ordered::OrderedIndex;
use crate::index::set::IndexSet;
use crate::leaf::Leaf;
use crate::reuse::Filled;
use crate::room::Versioning;
use crate::table::Table;
use crate::tails::Place;
use crate::txn::{Change, Txn};
use std::ops::Range;
use std::sync::Arc;
use types::Result;
use vector::Chunk;

impl Table {
    /// Inserts positions `0..rows` of `columns` (one chunk a column of the table, of its physical type; decimals may
    /// come narrower). Returns the row ids, or error 1062 at the first duplicate; the
    /// row that has the key is shared by `txn` then.
    pub fn insert_rows(self: &Arc<Self>, txn: &Arc<Txn>, columns: Columns<'_>, rows: usize) -> Result<Vec<u64>> {
        self.insert_each(txn, columns, rows, true)
    }

    /// The same; a load does not share the row that has the key (`shares`).
    pub(crate) fn insert_each(
        self: &Arc<Self>,
        txn: &Arc<Txn>,
        columns: Columns<'_>,
        rows: usize,
        shares: bool,
    ) -> Result<Vec<u64>> {
        self.assert_columns(columns, rows);
        self.check_versions(txn, Versioning::Change)?;
        self.check_room_of(None, columns, 0..rows)?;
        let mut ids = Vec::with_capacity(rows);
        let mut place = self.place_for(rows);
        while ids.len() < rows {
            let (set, first) = (self.indexes(), ids.len());
            if set.unique.is_empty() {
                self.open_if_many(&set);
                if let Some((leaf_no, slots)) = self.append(txn, &set, columns, first..rows, &mut place, |_, _, _| 0)? {
                    ids.extend(slots.map(|s| self.row_id(leaf_no, s)));
                }
                continue;
            }
            let hashes = Self::hash_rows(&set, columns, first..rows);
            let mut shared = None;
            while ids.len() < rows {
                let row = ids.len();
                match self.insert_hashed(txn, &set, columns, row, &mut place, |index| hashes[index][row - first])? {
                    Some(Ok(id)) => ids.push(id),
                    Some(Err(duplicate)) if !shares || shared == Some(duplicate.row_id) => {
                        return Err(duplicate.error());
                    }
                    Some(Err(duplicate)) => shared = self.share_row(txn, duplicate.row_id)?,
                    None => break,
                }
            }
        }
        self.inserted(columns, &ids);
        Ok(ids)
    }

    /// Inserts position `row` of `columns`, unless a unique key of it exists: then nothing happens and the answer tells
    /// which row has it. For INSERT IGNORE, REPLACE and ON DUPLICATE KEY UPDATE.
    pub fn try_insert(
        self: &Arc<Self>,
        txn: &Arc<Txn>,
        columns: Columns<'_>,
        row: usize,
    ) -> Result<std::result::Result<u64, Duplicate>> {
        self.assert_columns(columns, row + 1);
        self.check_versions(txn, Versioning::Change)?;
        self.check_room_of(None, columns, row..row + 1)?;
        let mut place = self.shared_place();
        let inserted = loop {
            let set = self.indexes();
            let hashes = Self::hash_rows(&set, columns, row..row + 1);
            if let Some(inserted) = self.insert_hashed(txn, &set, columns, row, &mut place, |i| hashes[i][0])? {
                break inserted;
            }
        };
        if let Ok(id) = inserted {
            let one: Vec<Chunk> = columns.iter().map(|c| c.gather(&[row as u16])).collect();
            self.inserted(&one.iter().collect::<Vec<_>>(), &[id]);
        }
        Ok(inserted)
    }

    /// `None`: the table has other indexes by now, and nothing happened.
    fn insert_hashed(
        self: &Arc<Self>,
        txn: &Arc<Txn>,
        set: &IndexSet,
        columns: Columns<'_>,
        row: usize,
        place: &mut Place<'_>,
        hash: impl Fn(usize) -> Option<u64>,
    ) -> Result<Option<std::result::Result<u64, Duplicate>>> {
        self.open_if_many(set);
        let chunks: Vec<Vec<&Chunk>> = set.unique.iter().map(|i| Self::part_chunks(i, columns)).collect();
        let key = |i: usize| Key { chunks: &chunks[i], row };
        let guards = match self.reserve_keys(txn, set, |i| hash(i).map(|h| (h, key(i))), None)? {
            Ok(guards) => guards,
            Err(duplicate) => return Ok(Some(Err(duplicate))),
        };
        let appended = self.append(txn, set, columns, row..row + 1, place, move |leaf_no, slot, filled| {
            let mut in_runs = 0;
            for (i, guard) in guards.into_iter().enumerate() {
                if let (Some(mut guard), Some(hash)) = (guard, hash(i)) {
                    if filled {
                        set.unique[i].enter(&mut guard, hash, self.row_id(leaf_no, slot));
                        continue;
                    }
                    let in_run = set.unique[i].enter_appended(&mut guard, hash, key(i), self.rows(), leaf_no, slot);
                    in_runs |= (in_run as u64) << i;
                }
            }
            in_runs
        })?;
        Ok(appended.map(|(leaf_no, slots)| Ok(self.row_id(leaf_no, slots.start))))
    }

    /// Puts the first of `rows` into a free slot of the open leaf, or appends as many as the tail leaf takes; returns
    /// the leaf and the slots, or `None` if the table's indexes are not `set` any more. `appended` is called under the
    /// tail latch with the leaf, the first slot and whether that was a free one, once the rows are in it; it answers in
    /// which indexes they joined a run (one bit an index).
    fn append(
        self: &Arc<Self>,
        txn: &Arc<Txn>,
        set: &IndexSet,
        columns: Columns<'_>,
        rows: Range<usize>,
        place: &mut Place<'_>,
        appended: impl FnOnce(u64, usize, bool) -> u64,
    ) -> Result<Option<(u64, Range<usize>)>> {
        if place.is_own() {
            return self.append_own(txn, set, columns, rows, place, appended);
        }
        let mut tail = self.tail.lock();
        if let Some(Filled { leaf_no, slot, keys }) = self.fill(&mut tail, txn, set, columns, rows.start) {
            appended(leaf_no, slot, true);
            drop(tail);
            self.entered(txn, set, columns, rows.start, leaf_no, slot..slot + 1, 0);
            drop(keys);
            return Ok(Some((leaf_no, slot..slot + 1)));
        }
        let capacity = self.leaf_rows();
        let room = |leaf_no: u64| self.slot(leaf_no).read().leaf().map_or(0, |l| capacity - l.rows());
        let mut with_room = tail.leaf_no.filter(|&n| room(n) > 0);
        if with_room.is_none() && tail.free.is_empty() {
            drop(tail);
            self.check_leaf_room()?;
            tail = self.tail.lock();
            // Somebody else may have begun a leaf meanwhile.
            with_room = tail.leaf_no.filter(|&n| room(n) > 0);
        }
        let leaf_no = match with_room {
            Some(leaf_no) => leaf_no,
            None => {
                let leaf_no = self.take_leaf(&mut tail)?;
                *self.slot(leaf_no).write() = LeafState::Resident(Box::new(Leaf::new(self.types())));
                tail.leaf_no = Some(leaf_no);
                leaf_no
            }
        };
        let keys = self.slot(leaf_no).share_keys();
        if !self.indexes.is_current(set) {
            return Ok(None);
        }
        let slots = {
            let mut state = self.slot(leaf_no).write();
            let leaf = state.leaf_mut().expect("the tail leaf is resident while the tail latch is held");
            let n = rows.len().min(capacity - leaf.rows());
            let first = leaf.append(txn, columns, rows.start..rows.start + n, capacity);
            first..first + n
        };
        let in_runs = appended(leaf_no, slots.start, false);
        drop(tail);
        self.entered(txn, set, columns, rows.start, leaf_no, slots.clone(), in_runs);
        drop(keys);
        Ok(Some((leaf_no, slots)))
    }

    /// Rows are in their slots: ordered indexes, counters and the transaction learn of them. The key latch is held.
    #[expect(clippy::too_many_arguments)]
    pub(crate) fn entered(
        self: &Arc<Self>,
        txn: &Arc<Txn>,
        set: &IndexSet,
        columns: Columns<'_>,
        first: usize,
        leaf_no: u64,
        slots: Range<usize>,
        in_runs: u64,
    ) {
        for (i, index) in set.maintained() {
            if !(index.leaves_out_runs && in_runs >> i & 1 == 1) {
                self.enter_appended(index, columns, first, leaf_no, slots.clone());
            }
        }
        self.add_rows(slots.len() as u64);
        self.note(txn, slots.map(|s| Change::Row { leaf_no, slot: s as u16 }));
    }

    fn enter_appended(
        &self,
        index: &OrderedIndex,
        columns: Columns<'_>,
        first: usize,
        leaf_no: u64,
        slots: Range<usize>,
    ) {
        let mut key = Vec::new();
        for (row, slot) in (first..).zip(slots) {
            key.clear();
            index.encoder.encode_row(&|c| (columns[c], row), &mut key);
            index.enter(&key, self.row_id(leaf_no, slot));
        }
    }

    fn part_chunks<'a>(index: &UniqueIndex, columns: Columns<'a>) -> Vec<&'a Chunk> {
        index.spec.columns.iter().map(|&c| columns[c]).collect()
    }

    fn assert_columns(&self, columns: Columns<'_>, rows: usize) {
        assert_eq!(columns.len(), self.types().len(), "one chunk a column");
        assert!(columns.iter().all(|c| c.len() >= rows), "every column has all rows");
    }

    fn hash_rows(set: &IndexSet, columns: Columns<'_>, rows: Range<usize>) -> Vec<Vec<Option<u64>>> {
        set.unique.iter().map(|i| i.spec.hash_rows(&Self::part_chunks(i, columns), rows.clone())).collect()
    }

    /// Counters and statistics, after rows came in.
    fn inserted(&self, columns: Columns<'_>, ids: &[u64]) {
        if let Some(c) = self.auto_increment_column() {
            self.observe_chunk(c, columns[c]);
        }
        let low = self.stats.observe(columns);
        self.stats.sample.keep(low, ids.len(), |i| ids[i]);
        if let Some(&last) = ids.last() {
            self.collect_if_many(self.split(last).0);
        }
    }
}
