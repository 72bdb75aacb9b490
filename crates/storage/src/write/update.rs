//! Updates: a row gets other values in place.
//!
//! An update that touches no column of an index holds the row and overwrites it. One that does holds the row first,
//! works out which of its keys change, reserves those, and then enters keys and values together under the leaf's key
//! latch.

use super::{Columns, Duplicate, RowLock};
use crate::index::key::Key;
use crate::index::set::IndexSet;
use crate::leaf::Leaf;
use crate::room::Versioning;
use crate::table::Table;
use crate::txn::{LockWait, Txn};
use std::sync::Arc;
use types::Result;
use vector::Chunk;

impl Table {
    /// Overwrites `columns` of the row with position `at` of `values` (one chunk a column named). False: the row is
    /// gone.
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
    /// is changed. That row is shared by `txn` then.
    pub fn try_update(
        self: &Arc<Self>,
        txn: &Arc<Txn>,
        row_id: u64,
        columns: &[usize],
        values: Columns<'_>,
        at: usize,
    ) -> Result<std::result::Result<bool, Duplicate>> {
        assert_eq!(columns.len(), values.len());
        self.check_versions(txn, Versioning::Change)?;
        self.check_room_of(Some(columns), values, at..at + 1)?;
        let mut shared = None;
        loop {
            let set = self.indexes();
            if set.has_keys_on(columns) {
                match self.update_keys(txn, &set, row_id, columns, values, at)? {
                    Ok(Some(done)) => return self.updated(row_id, columns, values, at, done).map(Ok),
                    Ok(None) => continue,
                    Err(duplicate) if shared == Some(duplicate.row_id) => return Ok(Err(duplicate)),
                    Err(duplicate) => {
                        shared = self.share_row(txn, duplicate.row_id)?;
                        continue;
                    }
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
            if columns.iter().any(|c| self.stats.sample.goes_by(*c)) {
                self.sample_again(row_id);
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
