//! The heap: an append-only directory of leaf slots, walked by shifts, without latches.
//!
//! ```text
//!   leaf_no   = | 7 bits | 7 bits | 7 bits | 7 bits |
//!   root ──────────▶ Node ──▶ Node ──▶ Node ──▶ LeafSlot{ latch, state }
//! ```
//! Each level is a `OnceLock<Box<[_; 128]>>`: absent until its first leaf, then there for as long as the heap is.
//!
//! A slot's states
//! ```text
//!   Vacant ── attach ──▶ Resident ── release (all rows dead) ──▶ Vacant
//! ```
//! (Evicted leaves will add `Cold` and `Loading` beside `Resident`.)

use crate::leaf::Leaf;
use crate::sync::{AtomicBool, AtomicU64, Ordering, Rank, ReadGuard, RwLock, WriteGuard};
use std::sync::OnceLock;

const FANOUT_BITS: u32 = 7;
const FANOUT: usize = 1 << FANOUT_BITS;

/// The most leaves of a heap.
pub const LEAVES_MAX: u64 = 1 << (4 * FANOUT_BITS);

/// Where a leaf's rows are.
#[derive(Debug, Default)]
pub enum LeafState {
    /// The slot has no leaf: it was taken but not filled yet, or its leaf died.
    #[default]
    Vacant,
    /// In memory.
    Resident(Box<Leaf>),
}

impl LeafState {
    #[inline]
    pub fn leaf(&self) -> Option<&Leaf> {
        match self {
            LeafState::Vacant => None,
            LeafState::Resident(leaf) => Some(leaf),
        }
    }

    #[inline]
    pub fn leaf_mut(&mut self) -> Option<&mut Leaf> {
        match self {
            LeafState::Vacant => None,
            LeafState::Resident(leaf) => Some(leaf),
        }
    }
}

/// The place of one leaf. A cache line of its own, so that latches of neighbours do not collide.
#[derive(Debug)]
#[repr(align(64))]
pub struct LeafSlot {
    latch: RwLock<LeafState>,
    keys: RwLock<()>,
    /// The leaf may differ from its image in the last checkpoint.
    dirty: AtomicBool,
    /// It is on the table's list of leaves with free slots.
    listed: AtomicBool,
    /// It has old versions, and is among the leaves that wait for a visit ([`crate::txn`]).
    waiting: AtomicBool,
}

impl Default for LeafSlot {
    fn default() -> LeafSlot {
        LeafSlot {
            latch: RwLock::new(Rank::Leaf, LeafState::Vacant),
            keys: RwLock::new(Rank::LeafKeys, ()),
            dirty: AtomicBool::new(false),
            listed: AtomicBool::new(false),
            waiting: AtomicBool::new(false),
        }
    }
}

impl LeafSlot {
    #[inline]
    pub fn read(&self) -> ReadGuard<'_, LeafState> {
        self.latch.read()
    }

    #[inline]
    pub fn write(&self) -> WriteGuard<'_, LeafState> {
        self.latch.write()
    }

    /// The key latch: whoever brings keys of the leaf's rows into ordered indexes, or takes them out, holds it.
    #[inline]
    pub fn lock_keys(&self) -> WriteGuard<'_, ()> {
        self.keys.write()
    }

    /// The key latch of those who append rows: theirs are none of each other's, and none that anybody else takes out.
    #[inline]
    pub fn share_keys(&self) -> ReadGuard<'_, ()> {
        self.keys.read()
    }

    #[inline]
    pub fn set_dirty(&self) {
        self.dirty.store(true, Ordering::Release);
    }

    /// Whether it is on the table's list of leaves with free slots.
    pub(crate) fn is_listed(&self) -> bool {
        self.listed.load(Ordering::Relaxed)
    }

    /// Says whether that is new. The tail latch is held.
    pub(crate) fn set_listed(&self, listed: bool) -> bool {
        self.listed.swap(listed, Ordering::Relaxed) != listed
    }

    /// Says whether it was that before.
    pub(crate) fn set_waiting(&self, waiting: bool) -> bool {
        // Mostly it is what it is to be: others read the line.
        waiting && self.waiting.load(Ordering::SeqCst) || self.waiting.swap(waiting, Ordering::SeqCst)
    }

    /// Whether it was dirty; it is clean now.
    pub fn clean(&self) -> bool {
        self.dirty.swap(false, Ordering::AcqRel)
    }
}

type Level<T> = [OnceLock<Box<T>>; FANOUT];
type Bottom = [LeafSlot; FANOUT];

fn level<T>() -> Box<Level<T>> {
    Box::new(std::array::from_fn(|_| OnceLock::new()))
}

/// The directory of a table's leaves.
#[derive(Debug)]
pub struct Heap {
    root: Box<Level<Level<Level<Bottom>>>>,
    leaf_count: AtomicU64,
}

impl Default for Heap {
    fn default() -> Heap {
        Heap { root: level(), leaf_count: AtomicU64::new(0) }
    }
}

#[inline]
fn digit(leaf_no: u64, level: u32) -> usize {
    (leaf_no >> (level * FANOUT_BITS)) as usize & (FANOUT - 1)
}

impl Heap {
    /// Slots taken so far: leaf numbers are below this.
    #[inline]
    pub fn leaf_count(&self) -> u64 {
        self.leaf_count.load(Ordering::Acquire)
    }

    /// The slot of `leaf_no`; `None` if it was never taken.
    #[inline]
    pub fn slot(&self, leaf_no: u64) -> Option<&LeafSlot> {
        if leaf_no >= LEAVES_MAX {
            return None;
        }
        let l2 = self.root[digit(leaf_no, 3)].get()?;
        let l1 = l2[digit(leaf_no, 2)].get()?;
        let l0 = l1[digit(leaf_no, 1)].get()?;
        Some(&l0[digit(leaf_no, 0)])
    }

    /// Makes slots up to `leaf_count`; they are vacant. Recovery only. False if there cannot be so many.
    pub fn make_slots(&self, leaf_count: u64) -> bool {
        while self.leaf_count() < leaf_count {
            if self.take_slot().is_none() {
                return false;
            }
        }
        true
    }

    /// Takes the next slot; it is vacant. `None` if the heap is full.
    pub fn take_slot(&self) -> Option<u64> {
        let leaf_no = self.leaf_count.load(Ordering::Relaxed);
        if leaf_no >= LEAVES_MAX {
            return None;
        }
        // Levels are made before the count is raised, so that every number below the count has its slot.
        let mut leaf_no = leaf_no;
        loop {
            let l2 = self.root[digit(leaf_no, 3)].get_or_init(level);
            let l1 = l2[digit(leaf_no, 2)].get_or_init(level);
            l1[digit(leaf_no, 1)].get_or_init(|| Box::new(std::array::from_fn(|_| LeafSlot::default())));
            match self.leaf_count.compare_exchange(leaf_no, leaf_no + 1, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Some(leaf_no),
                Err(now) if now >= LEAVES_MAX => return None,
                Err(now) => leaf_no = now,
            }
        }
    }
}
