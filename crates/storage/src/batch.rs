//! Batches of operations by key: what a caller submits who has many small ones at hand.
//!
//! A batch names a table, a unique index and a column of keys, so that it can be sent as it is to wherever the table's
//! rows are. Reads answer in the order of the keys; writes act on the newest version of each row, in the order of the
//! keys, and tell how many rows they found. A key that no row has is no error.

use crate::fetch::Fetched;
use crate::index::ROW_IDS_MAX;
use crate::index::key::Key;
use crate::table::Table;
use crate::txn::{LockWait, Snapshot, Txn};
use std::sync::Arc;
use types::Result;
use vector::Chunk;

/// Keys of a unique index: its position in the definition, and one chunk a key part, of the column's physical type.
#[derive(Clone, Copy, Debug)]
pub struct Keys<'a> {
    pub index: usize,
    pub parts: &'a [&'a Chunk],
    pub rows: usize,
}

impl Table {
    /// `columns` of the rows that `snapshot` sees under the keys; positions of keys without a row are not
    /// [`Fetched::seen`].
    pub fn read_by_key(&self, keys: Keys<'_>, columns: &[usize], snapshot: &Snapshot) -> Fetched {
        let found = self.get_many(keys.index, keys.parts, keys.rows, snapshot);
        let ids: Vec<u64> = found.into_iter().map(|id| id.unwrap_or(ROW_IDS_MAX)).collect();
        self.fetch(&ids, columns, snapshot)
    }

    /// Overwrites `columns` of the row under each key with the same position of `values`. How many rows there were.
    pub fn update_by_key(
        self: &Arc<Self>,
        txn: &Arc<Txn>,
        keys: Keys<'_>,
        columns: &[usize],
        values: &[&Chunk],
    ) -> Result<u64> {
        self.each_held(txn, keys, |row_id, at| self.update(txn, row_id, columns, values, at))
    }

    /// Deletes the row under each key. How many there were.
    pub fn delete_by_key(self: &Arc<Self>, txn: &Arc<Txn>, keys: Keys<'_>) -> Result<u64> {
        self.each_held(txn, keys, |row_id, _| self.delete(txn, row_id))
    }

    /// Calls `act` with each key's row, once `txn` holds it and it still has the key, and with the key's position.
    fn each_held(
        self: &Arc<Self>,
        txn: &Arc<Txn>,
        keys: Keys<'_>,
        act: impl Fn(u64, usize) -> Result<bool>,
    ) -> Result<u64> {
        let mut done = 0;
        let found = self.get_many(keys.index, keys.parts, keys.rows, &self.txns.current(txn));
        for (at, row_id) in found.into_iter().enumerate() {
            let mut row_id = row_id;
            while let Some(id) = row_id {
                if self.hold_with_key(txn, keys, at, id)? {
                    done += u64::from(act(id, at)?);
                    break;
                }
                // Whoever held the row has deleted it or changed its key; another row may have the key now.
                row_id = self.get(keys.index, keys.parts, at, &self.txns.current(txn));
            }
        }
        Ok(done)
    }

    /// Makes `txn` the holder of the row, unless it is gone or has another key by now: then nothing happens.
    fn hold_with_key(self: &Arc<Self>, txn: &Arc<Txn>, keys: Keys<'_>, at: usize, row_id: u64) -> Result<bool> {
        let set = self.indexes();
        let spec = &set.unique[keys.index].spec;
        let key = Key { chunks: keys.parts, row: at };
        let held = self.with_held(txn, row_id, LockWait::Wait, |leaf, slot| {
            let equal = spec.equals(&|c| (leaf.column(c), slot), key);
            (equal, equal && leaf.lock(txn, slot))
        })?;
        Ok(held == Ok(true))
    }
}
