//! The timestamps of snapshots in use, kept apart for each core: readers of different cores write to nothing in common.
//!
//! ```text
//!   shard 0:  slots 7 0 0 9 0 0 0 0    more {}             0: free
//!   shard 1:  slots 8 8 9 9 9 9 9 9    more {9: 2}         where all slots are taken
//!             oldest = min(all of them, published) = 7
//! ```
//! Protocol
//! - Who enters notes the horizon's time in a slot, and only then (after a fence) reads the horizon again, until that
//!   is what it noted: this is the time that it uses.
//! - Who asks what is in use reads `published`, and only then (after a fence) the slots.
//!
//! Invariants
//! 1. A timestamp in use is among those that an asker finds, or at least what `published` was for the asker. Of the two
//!    fences, the asker's and the last of the reader, one is first. If it is the reader's, the asker sees its last
//!    note. If it is the asker's, the reader's last look at the horizon finds what `published` was for the asker, or
//!    more: both horizons only rise, and `ordered` is raised before `published`. (The same order of steps as that of
//!    hazard pointers: Michael, "Hazard Pointers: Safe Memory Reclamation for Lock-Free Objects", 2004.)
//! 2. So the oldest never passes a timestamp in use, and a version that only snapshots between two times below
//!    `published` could see is needed by nobody if no timestamp between them is found ([`Horizon::is_used_between`]).

use super::garbage::Slice;
use super::manager::TxnManager;
use crate::sync::{self, AtomicU64, AtomicUsize, Mutex, Ordering, Rank};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

const FREE: u64 = 0;
/// A cache line of them.
const SLOTS: usize = 8;
const SHARDS_MAX: usize = 64;
/// Timestamps without a slot that are told apart, for each shard; versions from there on count as needed.
const MORE_TOLD_MAX: usize = 32;

/// Which versions somebody may need: those that a snapshot in use sees, or one that is yet to be taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Horizon {
    /// Everything up to there is seen by all of them.
    pub oldest: u64,
    /// Every timestamp in use below this is known, and no new one will be below.
    pub published: u64,
    /// Those in use below `published`, ascending.
    in_use: Vec<u64>,
}

impl Horizon {
    /// Nothing but the oldest is known.
    pub(super) fn at(oldest: u64) -> Horizon {
        Horizon { oldest, published: oldest, in_use: Vec::new() }
    }

    /// Whether a snapshot may be in use, or come to be, that sees what was committed at `from` and not what was at
    /// `to`.
    pub fn is_used_between(&self, from: u64, to: u64) -> bool {
        to > self.published || self.in_use.get(self.in_use.partition_point(|ts| *ts < from)).is_some_and(|ts| *ts < to)
    }
}

#[derive(Debug)]
#[repr(align(128))]
struct Shard {
    slots: [AtomicU64; SLOTS],
    /// Timestamps that found no slot, with how many share each.
    more: Mutex<BTreeMap<u64, u32>>,
    more_len: AtomicUsize,
    manager: Weak<TxnManager>,
    garbage_count: Arc<AtomicUsize>,
}

/// See the module head.
#[derive(Debug)]
pub(super) struct InUse {
    shards: Box<[Arc<Shard>]>,
}

impl InUse {
    /// `garbage_count`: whether there is anything to collect when a snapshot ends.
    pub fn new(manager: &Weak<TxnManager>, garbage_count: &Arc<AtomicUsize>) -> InUse {
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let shard = |_| Shard {
            slots: Default::default(),
            more: Mutex::new(Rank::Snapshots, BTreeMap::new()),
            more_len: AtomicUsize::new(0),
            manager: manager.clone(),
            garbage_count: garbage_count.clone(),
        };
        InUse { shards: (0..cores.min(SHARDS_MAX)).map(shard).map(Arc::new).collect() }
    }

    /// Takes the horizon's time as one in use until the registration is dropped.
    pub fn enter(&self, horizon: &AtomicU64) -> (u64, Registration) {
        let shard = &self.shards[sync::core() % self.shards.len()];
        let mut ts = horizon.load(Ordering::Acquire);
        let mut slot = shard.note(ts);
        loop {
            sync::fence(Ordering::SeqCst);
            let now = horizon.load(Ordering::Acquire);
            if now == ts {
                return (ts, Registration { shard: shard.clone(), slot, ts });
            }
            // It has moved in between, which is rare.
            slot = shard.move_on(slot, ts, now);
            ts = now;
        }
    }

    /// The least of what is published and the timestamps in use.
    pub fn oldest(&self, published: &AtomicU64) -> u64 {
        let last = published.load(Ordering::Acquire);
        sync::fence(Ordering::SeqCst);
        self.shards.iter().filter_map(|shard| shard.oldest()).fold(last, u64::min)
    }

    /// All that is in use, as of the moment.
    pub fn horizon(&self, published: &AtomicU64) -> Horizon {
        let mut published = published.load(Ordering::Acquire);
        sync::fence(Ordering::SeqCst);
        let mut in_use = Vec::new();
        for shard in &self.shards {
            let known = shard.list(published, &mut in_use);
            published = published.min(known);
        }
        in_use.retain(|ts| *ts < published);
        in_use.sort_unstable();
        in_use.dedup();
        Horizon { oldest: in_use.first().map_or(published, |ts| (*ts).min(published)), published, in_use }
    }
}

impl Shard {
    /// The slot that has the timestamp now; `None`: it is among `more`.
    fn note(&self, ts: u64) -> Option<usize> {
        debug_assert_ne!(ts, FREE, "timestamps begin with 1");
        let take = |slot: &AtomicU64| {
            slot.load(Ordering::Relaxed) == FREE
                && slot.compare_exchange(FREE, ts, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        let slot = self.slots.iter().position(take);
        if slot.is_none() {
            let mut more = self.more.lock();
            *more.entry(ts).or_insert(0) += 1;
            self.more_len.store(more.len(), Ordering::Release);
        }
        slot
    }

    fn forget(&self, slot: Option<usize>, ts: u64) {
        match slot {
            Some(slot) => self.slots[slot].store(FREE, Ordering::Release),
            None => {
                let mut more = self.more.lock();
                if let Some(n) = more.get_mut(&ts) {
                    *n -= 1;
                    if *n == 0 {
                        more.remove(&ts);
                    }
                }
                self.more_len.store(more.len(), Ordering::Release);
            }
        }
    }

    /// The same registration at a later time.
    fn move_on(&self, slot: Option<usize>, from: u64, to: u64) -> Option<usize> {
        match slot {
            Some(i) => {
                self.slots[i].store(to, Ordering::Release);
                slot
            }
            None => {
                let moved = self.note(to);
                self.forget(None, from);
                moved
            }
        }
    }

    /// Appends the timestamps below `published`; says below which there are no others.
    fn list(&self, published: u64, out: &mut Vec<u64>) -> u64 {
        let in_slots = self.slots.iter().map(|s| s.load(Ordering::Acquire));
        out.extend(in_slots.filter(|ts| *ts != FREE && *ts < published));
        if self.more_len.load(Ordering::Acquire) == 0 {
            return published;
        }
        let more = self.more.lock();
        let mut below = more.keys().copied().take_while(|ts| *ts < published);
        out.extend(below.by_ref().take(MORE_TOLD_MAX));
        below.next().unwrap_or(published)
    }

    fn oldest(&self) -> Option<u64> {
        let in_slots = self.slots.iter().map(|s| s.load(Ordering::Acquire)).filter(|&ts| ts != FREE).min();
        if self.more_len.load(Ordering::Acquire) == 0 {
            return in_slots;
        }
        let more = self.more.lock();
        in_slots.into_iter().chain(more.keys().next().copied()).min()
    }
}

/// Keeps a timestamp among those in use.
#[derive(Debug)]
pub(super) struct Registration {
    shard: Arc<Shard>,
    slot: Option<usize>,
    ts: u64,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.shard.forget(self.slot, self.ts);
        // Who commits counts its garbage, then asks for the oldest: one of the two finds the other's doing, and
        // collects.
        sync::fence(Ordering::SeqCst);
        if self.shard.garbage_count.load(Ordering::Relaxed) > 0
            && let Some(manager) = self.shard.manager.upgrade()
        {
            manager.collect_some(Slice::OF_SNAPSHOT);
        }
    }
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_the_least_in_use_wherever_it_is_noted() {
        let in_use = InUse::new(&Weak::new(), &Arc::default());
        let (horizon, published) = (AtomicU64::new(7), AtomicU64::new(9));
        assert_eq!(in_use.oldest(&published), 9);
        let (ts, first) = in_use.enter(&horizon);
        assert_eq!(ts, 7);
        horizon.store(8, Ordering::Release);
        // More than there are slots in all shards.
        let mut others: Vec<_> = (0..in_use.shards.len() * SLOTS + 3).map(|_| in_use.enter(&horizon).1).collect();
        assert!(others.iter().any(|r| r.slot.is_none()));
        assert_eq!(in_use.oldest(&published), 7);
        drop(first);
        assert_eq!(in_use.oldest(&published), 8);
        others.retain(|r| r.slot.is_none());
        assert_eq!(in_use.oldest(&published), 8, "those without a slot count");
        others.clear();
        assert_eq!(in_use.oldest(&published), 9);
        assert!(in_use.shards.iter().all(|s| s.more_len.load(Ordering::Relaxed) == 0));
    }
}
