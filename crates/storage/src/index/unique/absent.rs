//! Keys that are not there and are to stay so: what a transaction that looked for a key to change or lock its row holds
//! when there is no such row.
//!
//! ```text
//!   SELECT .. WHERE id = 5 FOR UPDATE   finds nothing ─▶ (hash of 5, transaction) in the key's shard
//!   INSERT (5)  of another one          latches the shard, finds no row but that ─▶ waits for the transaction
//! ```
//! Several transactions may hold an absent key; whoever brings it in waits for all others. So of two sessions that both
//! look for a key in vain and both insert it one waits, and the other gets 1213, as with the gap locks of InnoDB; those
//! lock the gap between two neighbours, these a key alone. The list lies beside the shard's entries, under the same
//! latch, and is nearly always empty: then it costs inserts one test. A load makes its rows findable first and looks
//! whose way they are in afterwards; held keys count as entries for it ([`super::leaves`]), so it finds those that did
//! not find its rows.
//!
//! Keys are told apart by their hashes: two keys of one hash are held together.

use super::{ShardGuard, UniqueIndex};
use crate::sync::Ordering;
use crate::txn::Txn;
use std::sync::Arc;

/// The absent keys of one shard: (hash, holder).
#[derive(Debug, Default)]
pub(super) struct AbsentKeys(Vec<(u64, Arc<Txn>)>);

impl AbsentKeys {
    pub fn bytes_allocated(&self) -> usize {
        self.0.capacity() * size_of::<(u64, Arc<Txn>)>()
    }
}

impl UniqueIndex {
    /// Has `txn` hold the absence of the key with this hash. The caller has found, under this latch, that nobody has
    /// it.
    pub(crate) fn hold_absent(&self, shard: &mut ShardGuard<'_>, hash: u64, txn: &Arc<Txn>) {
        let held = &mut shard.shard.absent.0;
        if !held.iter().any(|(h, t)| *h == hash && t.id() == txn.id()) {
            held.push((hash, txn.clone()));
            self.hashed.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// The other transactions that hold the absence of the key.
    #[inline]
    pub(crate) fn absence_held(&self, shard: &ShardGuard<'_>, hash: u64, txn: &Txn) -> Vec<Arc<Txn>> {
        let held = &shard.shard.absent.0;
        if held.is_empty() {
            return Vec::new();
        }
        let others = held.iter().filter(|(h, t)| *h == hash && t.id() != txn.id() && t.holds_rows());
        others.map(|(_, t)| t.clone()).collect()
    }

    /// The transaction has ended.
    pub(crate) fn let_absent_go(&self, hash: u64, txn_id: u64) {
        let mut shard = self.shard(hash).write();
        let held = &mut shard.absent.0;
        let before = held.len();
        held.retain(|(_, t)| t.id() != txn_id);
        self.hashed.fetch_sub(before - held.len(), Ordering::SeqCst);
    }
}
