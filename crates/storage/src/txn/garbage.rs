//! Old versions: which leaves have some, and when those are collected.
//!
//! ```text
//!   a commit changed the leaf ──▶ waits, from the commit's time on ── every snapshot sees that ──▶ visited
//!                                      ▲                                                              │
//!                                      └────────── versions are left, up to a later commit's ─────────┘
//! ```
//! A leaf waits once, however many commits changed it; the leaf that has waited for the oldest commit is visited first.
//! Visits come in *slices*: each commit and each end of a snapshot makes one, so that versions go as fast as they come.
//! What one slice leaves is the *collector's*, a thread ([`crate::background`]), or, where there is none, later
//! slices'. So nobody has to clean up after many others: who ends the oldest snapshot of all is answered at once,
//! whatever that held.
//!
//! Invariant: a leaf with versions of a committed transaction waits, or is being visited, or the commit is about to put
//! it there. The mark of a waiting leaf is taken away before the visit looks at its versions, and a commit sets it
//! after it has its timestamp: so the visit sees the commit, or the commit finds no mark.

use super::manager::TxnManager;
use super::{TxnLog, Versioned};
use crate::sync::{AtomicBool, Ordering, WaitWord};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// A leaf that waits to be visited.
#[derive(Debug)]
struct Waiting {
    /// When every snapshot sees this commit, a visit is worth while.
    commit_ts: u64,
    leaf_no: u64,
    table: Arc<dyn Versioned>,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Waiting) -> bool {
        self.commit_ts == other.commit_ts
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Waiting) -> std::cmp::Ordering {
        self.commit_ts.cmp(&other.commit_ts)
    }
}

/// All leaves that wait, those of the oldest commits first.
#[derive(Debug, Default)]
pub(super) struct Garbage(BinaryHeap<Reverse<Waiting>>);

/// How much is collected in one go, about: a leaf that is begun is done whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slice {
    pub leaves_max: usize,
    pub records_max: usize,
}

impl Slice {
    /// What the end of a snapshot collects.
    pub const OF_SNAPSHOT: Slice = Slice { leaves_max: 64, records_max: 1024 };
    const OF_COLLECTOR: Slice = Slice { leaves_max: 64, records_max: 1 << 14 };

    /// What a commit collects that changed so many leaves and rows: a little more than it left itself, but for one of
    /// more rows than anybody should wait for, where a collector will do the rest.
    pub fn of_commit(leaves: usize, rows: usize, has_collector: bool) -> Slice {
        let most = if has_collector { 1024 } else { usize::MAX };
        Slice { leaves_max: leaves.min(most) + 64, records_max: rows.min(most) + 1024 }
    }
}

/// The thread that collects what slices leave, and how it is told.
#[derive(Debug, Default)]
pub(super) struct Collector {
    pub is_running: AtomicBool,
    wanted: WaitWord,
}

impl TxnManager {
    /// Has the leaves that a commit changed wait; returns how many those are, about.
    pub(super) fn add_garbage(&self, commit_ts: u64, log: &TxnLog) -> usize {
        let mut waiting: Vec<Waiting> = Vec::new();
        let (mut last, mut touched) = (None, 0);
        for noted in &log.changes {
            let place = Some((noted.table_idx, noted.leaf_no));
            if std::mem::replace(&mut last, place) == place {
                continue;
            }
            touched += 1;
            let (leaf_no, table) = (noted.leaf_no as u64, &log.tables[noted.table_idx as usize]);
            if !table.set_waiting(leaf_no, true) {
                waiting.push(Waiting { commit_ts, leaf_no, table: table.clone() });
            }
        }
        self.wait_for_visits(waiting);
        touched
    }

    fn wait_for_visits(&self, waiting: impl IntoIterator<Item = Waiting>) {
        let mut garbage = self.garbage.lock();
        garbage.0.extend(waiting.into_iter().map(Reverse));
        self.garbage_count.store(garbage.0.len(), Ordering::Relaxed);
    }

    /// Takes away versions that nobody needs any more, in about `leaves_max` leaves.
    pub fn collect_garbage(&self, leaves_max: usize) {
        self.collect_slice(Slice { leaves_max, records_max: usize::MAX });
    }

    /// The same; what is left is the collector's.
    pub(super) fn collect_some(&self, slice: Slice) {
        if self.collect_slice(slice) {
            self.collector.wanted.signal(false);
        }
    }

    /// Says whether the slice ended before the garbage did.
    fn collect_slice(&self, slice: Slice) -> bool {
        if self.garbage_count.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let horizon = self.horizon_at_oldest();
        let (mut visited, mut freed) = (0, 0);
        loop {
            let next = {
                let mut garbage = self.garbage.lock();
                let ready = garbage.0.peek().is_some_and(|next| next.0.commit_ts <= horizon.oldest);
                if !ready {
                    return false;
                }
                if visited >= slice.leaves_max || freed >= slice.records_max {
                    return true;
                }
                let next = garbage.0.pop();
                self.garbage_count.store(garbage.0.len(), Ordering::Relaxed);
                next
            };
            let Some(Reverse(Waiting { leaf_no, table, .. })) = next else { return false };
            table.set_waiting(leaf_no, false);
            let left = table.collect(leaf_no, &horizon);
            visited += 1;
            freed += left.freed;
            if let Some(commit_ts) = left.until
                && !table.set_waiting(leaf_no, true)
            {
                self.wait_for_visits([Waiting { commit_ts, leaf_no, table }]);
            }
        }
    }

    /// How many leaves wait for their versions to be collected.
    pub fn garbage_len(&self) -> usize {
        self.garbage_count.load(Ordering::Relaxed)
    }

    /// From now on a thread collects what others leave: the one that calls [`TxnManager::collect_for_others`].
    pub(crate) fn begin_collecting(&self) {
        self.collector.is_running.store(true, Ordering::Relaxed);
    }

    /// The collector's work, until [`TxnManager::stop_collecting`].
    pub(crate) fn collect_for_others(&self) {
        let collector = &self.collector;
        while collector.is_running.load(Ordering::Relaxed) {
            let seen = collector.wanted.count();
            // Both are looked at after the event: who signals it has changed them before.
            if !self.collect_slice(Slice::OF_COLLECTOR) && collector.is_running.load(Ordering::SeqCst) {
                collector.wanted.wait(seen);
            }
        }
    }

    pub(crate) fn stop_collecting(&self) {
        self.collector.is_running.store(false, Ordering::SeqCst);
        self.collector.wanted.signal(true);
    }
}
