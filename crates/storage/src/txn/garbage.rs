//! Old versions: which commits left some, and when they are pruned.
//!
//! Each commit leaves the numbers of the leaves that it changed. Once every snapshot in use sees the commit
//! ([`TxnManager::oldest`]) the versions before it serve nobody, and the leaves are visited: by later commits, a few more
//! each than they touched themselves, and by ends of snapshots. So the queue does not grow without end while commits come,
//! and nobody has to clean up after many others.

use super::manager::TxnManager;
use super::{TxnLog, Versioned};
use crate::sync::Ordering;
use std::sync::Arc;

/// What one commit left to collect.
#[derive(Debug)]
pub(super) struct Garbage {
    commit_ts: u64,
    leaves: Vec<(Arc<dyn Versioned>, Vec<u64>)>,
}

/// Leaves that the end of a snapshot may visit to collect garbage.
pub(super) const GARBAGE_LEAVES_PER_SNAPSHOT: usize = 64;
/// Leaves that a commit may visit, besides as many as it touched itself.
pub(super) const GARBAGE_LEAVES_PER_COMMIT: usize = 64;

impl TxnManager {
    pub(super) fn add_garbage(&self, commit_ts: u64, log: TxnLog) -> usize {
        let mut by_table: Vec<Vec<u64>> = vec![Vec::new(); log.tables.len()];
        for (table, change) in log.changes {
            let leaves = &mut by_table[table as usize];
            if leaves.last() != Some(&change.leaf_no()) {
                leaves.push(change.leaf_no());
            }
        }
        let mut touched = 0;
        for leaves in &mut by_table {
            leaves.sort_unstable();
            leaves.dedup();
            touched += leaves.len();
        }
        let leaves = log.tables.into_iter().zip(by_table).collect();
        let mut garbage = self.garbage.lock();
        // Commits reach this point out of order now and then; the queue is nearly sorted, which is all it needs.
        garbage.push_back(Garbage { commit_ts, leaves });
        self.garbage_count.store(garbage.len(), Ordering::Relaxed);
        touched
    }

    /// Prunes versions that nobody needs any more, in about `leaves_max` leaves.
    pub fn collect_garbage(&self, leaves_max: usize) {
        if self.garbage_count.load(Ordering::Relaxed) == 0 {
            return;
        }
        let horizon = self.horizon_at_oldest();
        let mut visited = 0;
        while visited < leaves_max {
            let garbage = {
                let mut queue = self.garbage.lock();
                let ready = queue.front().is_some_and(|g| g.commit_ts <= horizon.oldest);
                let front = if ready { queue.pop_front() } else { None };
                self.garbage_count.store(queue.len(), Ordering::Relaxed);
                front
            };
            let Some(garbage) = garbage else { break };
            for (table, leaves) in garbage.leaves {
                visited += leaves.len();
                for leaf_no in leaves {
                    table.collect(leaf_no, &horizon);
                }
            }
        }
    }

    /// Garbage queue length: commits whose versions are still to be pruned.
    pub fn garbage_len(&self) -> usize {
        self.garbage_count.load(Ordering::Relaxed)
    }
}
