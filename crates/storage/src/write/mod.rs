//! Changing rows: insert, update, delete, lock.
//!
//! All of these are current: they act on a row's newest version, whatever the transaction's snapshot is. A row that
//! another transaction holds is waited for; afterwards the caller has to look at it again (MySQL's current read):
//!
//! ```text
//!   scan with the snapshot ─▶ row ids ─▶ lock_row ─▶ fetch with TxnManager::current ─▶ WHERE again ─▶ update
//! ```
//! An error may leave a statement half done: the caller rolls back to the savepoint it took before.
//!
//! - here: holding rows, reserving keys, deleting;
//! - [`insert`]: rows come in;
//! - [`update`]: rows get other values.

mod insert;
mod update;

use crate::index::key::Key;
use crate::index::set::IndexSet;
use crate::index::{Conflict, ShardGuard};
use crate::leaf::{Leaf, RowState};
use crate::room::Versioning;
use crate::row_wait::RowWait;
use crate::shared::Wanting;
use crate::table::Table;
use crate::txn::{Change, LockWait, Txn, Versioned};
use crate::waits::RowLockName;
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
        self.check_versions(txn, Versioning::TakeAway)?;
        let locked = self.with_held(txn, row_id, wait, |leaf, slot| ((), leaf.lock(txn, slot)))?;
        Ok(locked.map_or_else(|lock| lock, |()| RowLock::Locked))
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

    /// Deletes the row. False: it is gone already.
    pub fn delete(self: &Arc<Self>, txn: &Arc<Txn>, row_id: u64) -> Result<bool> {
        self.check_versions(txn, Versioning::TakeAway)?;
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
