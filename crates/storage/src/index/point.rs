//! One row by its unique key, handed out where it lies.

use super::{Rows, UniqueIndex};
use crate::index::key::Key;
use crate::leaf::Leaf;
use crate::table::Table;
use crate::txn::Snapshot;
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
            self.runs.find_each(&self.spec, rows.heap, std::iter::once(Some(run_key)), |_, _, slot, leaf| {
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

impl Table {
    /// Calls `f` with the row that `snapshot` sees under a key of a unique index (`index`: its position in the
    /// definition), under the leaf's read latch: `f` must be short and wait for nothing. `None` if there is no such row.
    /// `key`: one chunk a part, of the column's physical type, whose position 0 is the key; it has no NULLs.
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
