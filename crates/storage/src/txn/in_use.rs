//! The timestamps of snapshots in use, kept apart for each core: readers of different cores write to nothing in common.
//!
//! ```text
//!   shard 0:  slots 7 0 0 9 0 0 0 0    more {}             0: free
//!   shard 1:  slots 8 8 9 9 9 9 9 9    more {9: 2}         where all slots are taken
//!             oldest = min(all of them, published) = 7
//! ```
//! Protocol
//! - Who enters notes the horizon's time in a slot, and only then (after a fence) reads the horizon for good. The time
//!   noted may be older than the one used, never newer.
//! - Who asks for the oldest reads `published`, and only then (after a fence) the slots.
//!
//! Invariant: the oldest never passes a timestamp in use. Of the two fences one is first. If it is the reader's, the asker
//! sees its note. If it is the asker's, the reader's second look at the horizon finds what `published` was for the asker, or
//! more: both horizons only rise, and `ordered` is raised before `published`. (The same order of steps as that of hazard
//! pointers: Michael, "Hazard Pointers: Safe Memory Reclamation for Lock-Free Objects", 2004.)

use super::garbage::GARBAGE_LEAVES_PER_SNAPSHOT;
use super::manager::TxnManager;
use crate::sync::{self, AtomicU64, AtomicUsize, Mutex, Ordering, Rank};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

const FREE: u64 = 0;
/// A cache line of them.
const SLOTS: usize = 8;
const SHARDS_MAX: usize = 64;

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
        let noted = horizon.load(Ordering::Acquire);
        let slot = shard.note(noted);
        sync::fence(Ordering::SeqCst);
        let ts = horizon.load(Ordering::Acquire);
        (ts, Registration { shard: shard.clone(), slot, noted })
    }

    /// The least of what is published and the timestamps in use.
    pub fn oldest(&self, published: &AtomicU64) -> u64 {
        let last = published.load(Ordering::Acquire);
        sync::fence(Ordering::SeqCst);
        self.shards.iter().filter_map(|shard| shard.oldest()).fold(last, u64::min)
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
    noted: u64,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.shard.forget(self.slot, self.noted);
        // Who commits counts its garbage, then asks for the oldest: one of the two finds the other's doing, and collects.
        sync::fence(Ordering::SeqCst);
        if self.shard.garbage_count.load(Ordering::Relaxed) > 0
            && let Some(manager) = self.shard.manager.upgrade()
        {
            manager.collect_garbage(GARBAGE_LEAVES_PER_SNAPSHOT);
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
