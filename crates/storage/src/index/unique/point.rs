//! One row by its unique key, handed out where it lies.

use super::{Conflict, UniqueIndex};
use crate::index::Rows;
use crate::index::key::Key;
use crate::leaf::{Leaf, RowState};
use crate::table::Table;
use crate::txn::{Snapshot, Txn};
use vector::Chunk;

/// Where the columns of a row lie: the chunk and the position in it, by position in the definition.
pub type RowAt<'r, 'l> = &'r dyn Fn(usize) -> (&'l Chunk, usize);

impl UniqueIndex {
    fn with_row<R>(
        &self,
        key: Key<'_>,
        snapshot: &Snapshot,
        rows: Rows<'_>,
        f: impl for<'l> FnOnce(RowAt<'_, 'l>) -> R,
    ) -> Option<R> {
        let mut f = Some(f);
        let mut examine = |leaf: &Leaf, slot: usize| {
            let found = leaf
                .with_seen(slot, snapshot, |at| if self.spec.equals(at, key) { f.take().map(|f| f(at)) } else { None });
            found.flatten()
        };
        let mut found = None;
        if let Some(run_key) = self.spec.run_key(key) {
            self.runs.find(&self.spec, rows.heap, &run_key, |_, slot, leaf| {
                found = examine(leaf, slot);
            });
        }
        if found.is_some() || self.hashed.load(std::sync::atomic::Ordering::SeqCst) == 0 {
            return found;
        }
        let hash = self.spec.hash_rows(key.chunks, key.row..key.row + 1)[0]?;
        let shard = self.shard(hash).read();
        for row_id in Self::candidates(&shard, hash) {
            found = rows.with(row_id, |leaf, slot| examine(leaf, slot)).flatten();
            if found.is_some() {
                break;
            }
        }
        found
    }
}

impl UniqueIndex {
    /// The row whose newest version has the key, as a [`Conflict::Duplicate`]; or whose end decides which row that is.
    pub(crate) fn newest(&self, key: Key<'_>, txn: &Txn, rows: Rows<'_>) -> Conflict {
        let examine = |leaf: &Leaf, slot: usize, row_id: u64| match leaf.state(slot, txn) {
            RowState::Gone => Conflict::None,
            RowState::Free if self.spec.equals(&|c| (leaf.column(c), slot), key) => Conflict::Duplicate(row_id),
            RowState::Free => Conflict::None,
            RowState::Held(holder) => {
                let may_have = |at: &dyn Fn(usize) -> _| self.spec.equals(at, key);
                let depends = leaf.any_version(slot, &self.spec.columns, Some(&holder), may_have);
                if depends { Conflict::Wait(holder) } else { Conflict::None }
            }
        };
        let mut found = Conflict::None;
        if let Some(run_key) = self.spec.run_key(key) {
            self.runs.find(&self.spec, rows.heap, &run_key, |leaf_no, slot, leaf| {
                found = examine(leaf, slot, rows.row_id(leaf_no, slot));
            });
        }
        if !matches!(found, Conflict::None) || self.hashed.load(std::sync::atomic::Ordering::SeqCst) == 0 {
            return found;
        }
        let Some(hash) = self.spec.hash_rows(key.chunks, key.row..key.row + 1)[0] else { return Conflict::None };
        let shard = self.shard(hash).read();
        for row_id in Self::candidates(&shard, hash) {
            match rows.with(row_id, |leaf, slot| examine(leaf, slot, row_id)) {
                None | Some(Conflict::None) => {}
                Some(found) => return found,
            }
        }
        Conflict::None
    }
}

impl Table {
    /// Calls `f` with the row that `snapshot` sees under a key of a unique index (`index`: its position in the
    /// definition), under the leaf's read latch: `f` must be short and wait for nothing. `None` if there is no such
    /// row. `key`: one chunk a part, of the column's physical type, whose position 0 is the key; it has no NULLs.
    pub fn with_row<R>(
        &self,
        index: usize,
        key: &[&Chunk],
        snapshot: &Snapshot,
        f: impl for<'l> FnOnce(RowAt<'_, 'l>) -> R,
    ) -> Option<R> {
        self.indexes().unique[index].with_row(Key { chunks: key, row: 0 }, snapshot, self.rows(), f)
    }
}
