//! Changing rows: insert, update, delete, lock.
//!
//! All of these are current: they act on a row's newest version, whatever the transaction's snapshot is. A row that
//! another transaction holds is waited for; afterwards the caller has to look at it again (MySQL's current read):
//!
//! ```text
//!   scan with the snapshot ─▶ row ids ─▶ lock_row ─▶ fetch with TxnManager::current ─▶ WHERE again ─▶ update
//! ```
//! An error may leave a statement half done: the caller rolls back to the savepoint it took before.

use crate::heap::LeafState;
use crate::index::key::Key;
use crate::index::ordered::OrderedIndex;
use crate::index::set::IndexSet;
use crate::index::{Conflict, ShardGuard, UniqueIndex};
use crate::leaf::{Leaf, RowState};
use crate::reuse::Filled;
use crate::row_wait::RowWait;
use crate::shared::Wanting;
use crate::table::Table;
use crate::txn::{Change, LockWait, Txn, Versioned};
use crate::waits::RowLockName;
use std::ops::Range;
use std::sync::Arc;
use types::{Error, Result};
use vector::Chunk;

/// A row was not inserted because a unique key of its exists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Duplicate {
    /// The row that has the key.
    pub row_id: u64,
    /// Position of the index in the table's definition.
    pub index: usize,
    /// The key as MySQL prints it.
    pub key: String,
    /// `table.INDEX`
    pub key_name: Box<str>,
}

impl Duplicate {
    /// 1062
    pub fn error(&self) -> Error {
        Error::dup_entry(&self.key, &self.key_name)
    }
}

/// What came of the wish to lock a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowLock {
    /// The transaction holds the row, and it exists.
    Locked,
    /// The row does not exist any more.
    Gone,
    /// Another transaction holds it, and the caller does not wait for such rows.
    Skipped,
}

type Columns<'a> = &'a [&'a Chunk];

impl Table {
    fn part_chunks<'a>(index: &UniqueIndex, columns: Columns<'a>) -> Vec<&'a Chunk> {
        index.spec.columns.iter().map(|&c| columns[c]).collect()
    }

    /// Inserts positions `0..rows` of `columns` (one chunk a column of the table, of its physical type; decimals may
    /// come narrower). Returns the row ids, or error 1062 at the first duplicate.
    pub fn insert_rows(self: &Arc<Self>, txn: &Arc<Txn>, columns: Columns<'_>, rows: usize) -> Result<Vec<u64>> {
        self.assert_columns(columns, rows);
        let mut ids = Vec::with_capacity(rows);
        while ids.len() < rows {
            let (set, first) = (self.indexes(), ids.len());
            if set.unique.is_empty() {
                self.open_if_many(&set);
                if let Some((leaf_no, slots)) = self.append(txn, &set, columns, first..rows, |_, _, _| 0)? {
                    ids.extend(slots.map(|s| self.row_id(leaf_no, s)));
                }
                continue;
            }
            let hashes = Self::hash_rows(&set, columns, first..rows);
            for row in first..rows {
                match self.insert_hashed(txn, &set, columns, row, |index| hashes[index][row - first])? {
                    Some(Ok(id)) => ids.push(id),
                    Some(Err(duplicate)) => return Err(duplicate.error()),
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
        let inserted = loop {
            let set = self.indexes();
            let hashes = Self::hash_rows(&set, columns, row..row + 1);
            if let Some(inserted) = self.insert_hashed(txn, &set, columns, row, |i| hashes[i][0])? {
                break inserted;
            }
        };
        if let Ok(id) = inserted {
            let one: Vec<Chunk> = columns.iter().map(|c| c.gather(&[row as u16])).collect();
            self.inserted(&one.iter().collect::<Vec<_>>(), &[id]);
        }
        Ok(inserted)
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
        self.stats.observe(columns);
        if let Some(&last) = ids.last() {
            self.collect_if_many(self.split(last).0);
        }
    }

    /// `None`: the table has other indexes by now, and nothing happened.
    fn insert_hashed(
        self: &Arc<Self>,
        txn: &Arc<Txn>,
        set: &IndexSet,
        columns: Columns<'_>,
        row: usize,
        hash: impl Fn(usize) -> Option<u64>,
    ) -> Result<Option<std::result::Result<u64, Duplicate>>> {
        self.open_if_many(set);
        let chunks: Vec<Vec<&Chunk>> = set.unique.iter().map(|i| Self::part_chunks(i, columns)).collect();
        let key = |i: usize| Key { chunks: &chunks[i], row };
        let guards = match self.reserve_keys(txn, set, |i| hash(i).map(|h| (h, key(i))), None)? {
            Ok(guards) => guards,
            Err(duplicate) => return Ok(Some(Err(duplicate))),
        };
        let appended = self.append(txn, set, columns, row..row + 1, move |leaf_no, slot, filled| {
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

    /// Latches the shards of all keys that a row is about to have and makes sure that nobody has them; waits for
    /// transactions on which that depends. `own`: the row, if it exists already. Keys may be absent (NULL parts).
    fn reserve_keys<'k, 's>(
        &self,
        txn: &Txn,
        set: &'s IndexSet,
        key: impl Fn(usize) -> Option<(u64, Key<'k>)>,
        own: Option<u64>,
    ) -> Result<std::result::Result<Vec<Option<ShardGuard<'s>>>, Duplicate>> {
        let mut wait = RowWait::new(&self.txns, txn);
        'retry: loop {
            let mut guards = Vec::with_capacity(set.unique.len());
            for (i, index) in set.unique.iter().enumerate() {
                let Some((hash, key)) = key(i) else {
                    guards.push(None);
                    continue;
                };
                let guard = index.lock(hash);
                match index.check(&guard, hash, key, txn, self.rows(), own) {
                    Conflict::None => {
                        let holders = index.absence_held(&guard, hash, txn);
                        if !holders.is_empty() {
                            drop((guard, guards));
                            wait.on(&holders, || self.lock_name("EXCLUSIVE", &index.name(), index.spec.text(key)))?;
                            continue 'retry;
                        }
                        guards.push(Some(guard));
                    }
                    Conflict::Duplicate(row_id) => {
                        let (key, key_name) = (index.spec.text(key), index.name());
                        return Ok(Err(Duplicate { row_id, index: i, key, key_name }));
                    }
                    Conflict::Wait(owner) => {
                        drop((guard, guards));
                        let wanted = || self.lock_name("EXCLUSIVE", &index.name(), index.spec.text(key));
                        wait.on(&[owner], wanted)?;
                        continue 'retry;
                    }
                }
            }
            return Ok(Ok(guards));
        }
    }

    /// Puts the first of `rows` into a free slot of the open leaf, or appends as many as the tail leaf takes; returns the
    /// leaf and the slots, or `None` if the table's indexes are not `set` any more. `appended` is called under the tail
    /// latch with the leaf, the first slot and whether that was a free one, once the rows are in it; it answers in which
    /// indexes they joined a run (one bit an index).
    fn append(
        self: &Arc<Self>,
        txn: &Arc<Txn>,
        set: &IndexSet,
        columns: Columns<'_>,
        rows: Range<usize>,
        appended: impl FnOnce(u64, usize, bool) -> u64,
    ) -> Result<Option<(u64, Range<usize>)>> {
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
        let leaf_no = match tail.leaf_no.filter(|&n| room(n) > 0) {
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
    fn entered(
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

    pub(crate) fn note(self: &Arc<Self>, txn: &Txn, changes: impl IntoIterator<Item = Change>) {
        let table: Arc<dyn Versioned> = self.clone();
        txn.note(&table, changes.into_iter().inspect(|c| self.slot(c.leaf_no()).set_dirty()));
    }

    pub(crate) fn lock_name(&self, mode: &'static str, index: &str, data: String) -> RowLockName {
        let index = index.rsplit('.').next().unwrap_or(index);
        let (schema, table) = (self.def().schema.clone(), self.def().name.clone());
        RowLockName { schema, table, index: index.into(), mode, data: data.into() }
    }

    /// A lock on a row, for reports: by its primary key, if it has one.
    pub(crate) fn row_wanted(&self, mode: &'static str, row_id: u64) -> RowLockName {
        let set = self.indexes();
        let key = set.unique.first().and_then(|index| {
            self.rows().with(row_id, |leaf, slot| {
                let of = |&c: &usize| leaf.column(c).gather_owned(&[slot as u16]);
                let chunks: Vec<Chunk> = index.spec.columns.iter().map(of).collect();
                index.spec.text(Key { chunks: &chunks.iter().collect::<Vec<_>>(), row: 0 })
            })
        });
        self.lock_name(mode, "", key.unwrap_or_else(|| format!("#{row_id}")))
    }

    /// After a row was changed or locked, under its leaf's latch. `is_news`: the transaction has not noted the row yet.
    pub(crate) fn note_row(self: &Arc<Self>, txn: &Txn, leaf_no: u64, slot: usize, is_news: bool) {
        if is_news {
            self.note(txn, [Change::Row { leaf_no, slot: slot as u16 }]);
        } else {
            self.slot(leaf_no).set_dirty();
        }
    }

    /// Runs `change` on the row once `txn` may change it; it also says whether the transaction has to note the row.
    /// `Ok(Err(..))`: the row is gone, or held by another and not waited for.
    pub(crate) fn with_held<R>(
        self: &Arc<Self>,
        txn: &Arc<Txn>,
        row_id: u64,
        wait: LockWait,
        change: impl FnOnce(&mut Leaf, usize) -> (R, bool),
    ) -> Result<std::result::Result<R, RowLock>> {
        let (leaf_no, slot) = self.split(row_id);
        let Some(leaf_slot) = self.heap.slot(leaf_no) else { return Ok(Err(RowLock::Gone)) };
        let mut waiting = RowWait::new(&self.txns, txn);
        let mut wanting = Wanting::new(self, txn, row_id);
        loop {
            let owners = {
                let mut state = leaf_slot.write();
                let Some(leaf) = state.leaf_mut() else { return Ok(Err(RowLock::Gone)) };
                match leaf.state(slot, txn) {
                    RowState::Gone => return Ok(Err(RowLock::Gone)),
                    RowState::Held(owner) => vec![owner],
                    RowState::Free => {
                        let sharing = leaf.shared_by_others(slot, txn);
                        if sharing.is_empty() {
                            let (result, is_news) = change(leaf, slot);
                            self.note_row(txn, leaf_no, slot, is_news);
                            return Ok(Ok(result));
                        }
                        if wait == LockWait::Wait {
                            leaf.want(slot, txn);
                            wanting.is_noted = true;
                        }
                        sharing
                    }
                }
            };
            match wait {
                LockWait::Wait => waiting.on(&owners, || self.row_wanted("EXCLUSIVE", row_id))?,
                LockWait::NoWait => return Err(Error::lock_nowait()),
                LockWait::SkipLocked => return Ok(Err(RowLock::Skipped)),
            }
        }
    }

    /// Makes `txn` the holder of the row until it ends. Errors: 1205, 1213, 1317, and 3572 with [`LockWait::NoWait`].
    pub fn lock_row(self: &Arc<Self>, txn: &Arc<Txn>, row_id: u64, wait: LockWait) -> Result<RowLock> {
        let locked = self.with_held(txn, row_id, wait, |leaf, slot| ((), leaf.lock(txn, slot)))?;
        Ok(locked.map_or_else(|lock| lock, |()| RowLock::Locked))
    }

    /// Overwrites `columns` of the row with position `at` of `values` (one chunk a column named). False: the row is gone.
    pub fn update(
        self: &Arc<Self>,
        txn: &Arc<Txn>,
        row_id: u64,
        columns: &[usize],
        values: Columns<'_>,
        at: usize,
    ) -> Result<bool> {
        self.try_update(txn, row_id, columns, values, at)?.map_err(|duplicate| duplicate.error())
    }

    /// Like [`Table::update`], but tells of the first unique key of the new row that another row has, before anything
    /// is changed.
    pub fn try_update(
        self: &Arc<Self>,
        txn: &Arc<Txn>,
        row_id: u64,
        columns: &[usize],
        values: Columns<'_>,
        at: usize,
    ) -> Result<std::result::Result<bool, Duplicate>> {
        assert_eq!(columns.len(), values.len());
        loop {
            let set = self.indexes();
            if set.has_keys_on(columns) {
                match self.update_keys(txn, &set, row_id, columns, values, at)? {
                    Ok(Some(done)) => return self.updated(row_id, columns, values, at, done).map(Ok),
                    Ok(None) => continue,
                    Err(duplicate) => return Ok(Err(duplicate)),
                }
            }
            let updated = self.with_held(txn, row_id, LockWait::Wait, |leaf, slot| {
                let current = self.indexes.is_current(&set);
                let is_news = current && leaf.update(txn, slot, columns, values, at, &[]);
                (current, is_news)
            })?;
            if updated != Ok(false) {
                return self.updated(row_id, columns, values, at, updated.is_ok()).map(Ok);
            }
        }
    }

    pub(crate) fn updated(
        &self,
        row_id: u64,
        columns: &[usize],
        values: Columns<'_>,
        at: usize,
        done: bool,
    ) -> Result<bool> {
        if done {
            self.stats.changed(1);
            for (&c, chunk) in columns.iter().zip(values) {
                self.stats.observe_one(c, chunk, at);
            }
            self.collect_if_many(self.split(row_id).0);
        }
        Ok(done)
    }

    /// An update that touches columns of indexes: the row is held first, then the new keys are reserved. `None`: the
    /// table has other indexes by now, and nothing happened.
    fn update_keys(
        self: &Arc<Self>,
        txn: &Arc<Txn>,
        set: &IndexSet,
        row_id: u64,
        columns: &[usize],
        values: Columns<'_>,
        at: usize,
    ) -> Result<std::result::Result<Option<bool>, Duplicate>> {
        if self.lock_row(txn, row_id, LockWait::Wait)? != RowLock::Locked {
            return Ok(Ok(Some(false)));
        }
        let (leaf_no, slot) = self.split(row_id);
        let NewKeys { unique: new_keys, ordered } = {
            let state = self.slot(leaf_no).read();
            NewKeys::of(set, state.leaf().expect("its row is held"), slot, columns, values, at)
        };
        let refs: Vec<Option<Vec<&Chunk>>> = new_keys.iter().map(|k| k.as_ref().map(|k| k.iter().collect())).collect();
        for (i, index) in set.unique.iter().enumerate().filter(|(i, _)| refs[*i].is_some()) {
            index.dissolve_run(self.rows(), leaf_no, &|leaf_no, n| self.run_dissolved(set, i, leaf_no, n));
        }
        let hashes: Vec<Option<u64>> = set
            .unique
            .iter()
            .zip(&refs)
            .map(|(index, key)| key.as_ref().and_then(|k| index.spec.hash_rows(k, 0..1)[0]))
            .collect();
        let key = |i: usize| Some((hashes[i]?, Key { chunks: refs[i].as_ref()?, row: 0 }));
        let mut guards = match self.reserve_keys(txn, set, key, Some(row_id))? {
            Ok(guards) => guards,
            Err(duplicate) => return Ok(Err(duplicate)),
        };
        let latch = self.slot(leaf_no).lock_keys();
        if !self.indexes.is_current(set) {
            return Ok(Ok(None));
        }
        for (i, guard) in guards.iter_mut().enumerate() {
            if let (Some(guard), Some(hash)) = (guard, hashes[i]) {
                set.unique[i].enter(guard, hash, row_id);
            }
        }
        {
            let mut state = self.slot(leaf_no).write();
            let leaf = state.leaf_mut().expect("its row is held");
            let is_news = leaf.update(txn, slot, columns, values, at, &set.columns_kept(columns));
            self.note_row(txn, leaf_no, slot, is_news);
        }
        for (i, key) in &ordered {
            set.ordered[*i].as_ref().expect("it was maintained").enter(key, row_id);
        }
        drop((latch, guards));
        Ok(Ok(Some(true)))
    }

    /// Deletes the row. False: it is gone already.
    pub fn delete(self: &Arc<Self>, txn: &Arc<Txn>, row_id: u64) -> Result<bool> {
        let deleted = self.with_held(txn, row_id, LockWait::Wait, |leaf, slot| {
            let is_news = leaf.delete(txn, slot);
            ((), is_news)
        })?;
        if deleted.is_ok() {
            self.deleted(row_id);
        }
        Ok(deleted.is_ok())
    }

    pub(crate) fn deleted(&self, row_id: u64) {
        self.remove_rows(1);
        self.collect_if_many(self.split(row_id).0);
    }
}

/// The keys that an update gives a row.
struct NewKeys {
    /// One for each unique index; `None`: it stays.
    unique: Vec<Option<Vec<Chunk>>>,
    /// Those that change, by position of the index.
    ordered: Vec<(usize, Vec<u8>)>,
}

impl NewKeys {
    fn of(set: &IndexSet, leaf: &Leaf, slot: usize, columns: &[usize], values: Columns<'_>, at: usize) -> NewKeys {
        let place = |c: usize| match columns.iter().position(|w| *w == c) {
            Some(i) => (values[i], at),
            None => (&**leaf.column(c), slot),
        };
        let unique = set.unique.iter().map(|index| {
            if !index.spec.columns.iter().any(|c| columns.contains(c)) {
                return None;
            }
            let of = |&c: &usize| {
                let (chunk, i) = place(c);
                chunk.gather_owned(&[i as u16])
            };
            let key: Vec<Chunk> = index.spec.columns.iter().map(of).collect();
            let refs: Vec<&Chunk> = key.iter().collect();
            let stays = refs.iter().all(|c| c.is_valid(0))
                && index.spec.equals(&|c| (leaf.column(c), slot), Key { chunks: &refs, row: 0 });
            (!stays).then_some(key)
        });
        let unique = unique.collect();
        let mut ordered = Vec::new();
        let mut old = Vec::new();
        for (i, index) in set.maintained() {
            if index.encoder.columns().iter().any(|c| columns.contains(c)) {
                let mut key = Vec::new();
                index.encoder.encode_row(&place, &mut key);
                if !index.encoder.has_key(&|c| (leaf.column(c), slot), &key, &mut old) {
                    ordered.push((i, key));
                }
            }
        }
        NewKeys { unique, ordered }
    }
}
