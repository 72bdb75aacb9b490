//! Nodes: 2 KiB of words, read without latches.
//!
//! ```text
//!   word 0   version: rises by 2 with every change, odd while the node is being changed
//!   word 1   count | level << 16                                level 0: leaf
//!   then     heads, [rests,] rows                               of entries, or of separators in an inner node
//!            children                                           inner nodes: one more than separators
//! ```
//! Child i of an inner node has the entries from separator i-1 on and below separator i. Keys of at most 8 bytes, all
//! of one length, have no rests.
//!
//! The protocol is optimistic lock coupling (Leis, Haubenschild, Neumann, "Optimistic Lock Coupling: A Scalable and
//! Efficient General-Purpose Synchronization Method", 2019), with the memory order of a sequence lock (Boehm, "Can
//! Seqlocks Get Along With Programming Language Memory Models?", 2012). A reader
//! 1. takes the version, spinning while it is odd,
//! 2. reads what it wants with relaxed loads: it may be a mixture of old and new, and is then thrown away,
//! 3. checks that the version is still the same.
//!
//! Before it goes to a child it checks the parent, takes the child's version, and checks the parent again: the child
//! was the right one when its version was taken. A writer turns the version it read with into an odd one; if that
//! succeeds, all it read before holds.

use super::keys::{KeyHeap, Target};
use crate::near::prefetch;
use crate::sync::{self, AtomicU64, Ordering as Memory};
use std::cmp::Ordering;

pub const NODE_WORDS: usize = 256;
pub const NODE_BITS: u32 = 8;

const VERSION: usize = 0;
const META: usize = 1;
const HEADS: usize = 2;
/// Few heads are behind: a node has two words an item at least.
const HEADS_END: usize = NODE_WORDS / 2;
/// Words of a cache line.
const LINE_WORDS: usize = 8;

/// Where the parts of a node are.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Most entries or separators. May be less than there is room for, in tests.
    pub cap: usize,
    rests: Option<usize>,
    rows: usize,
    children: usize,
}

impl Shape {
    pub const fn leaf(with_rests: bool) -> Shape {
        let cap = (NODE_WORDS - HEADS) / if with_rests { 3 } else { 2 };
        Shape::new(cap, with_rests)
    }

    pub const fn inner(with_rests: bool) -> Shape {
        let cap = (NODE_WORDS - HEADS - 1) / if with_rests { 4 } else { 3 };
        Shape::new(cap, with_rests)
    }

    const fn new(cap: usize, with_rests: bool) -> Shape {
        let rests = if with_rests { Some(HEADS + cap) } else { None };
        let rows = HEADS + cap * if with_rests { 2 } else { 1 };
        Shape { cap, rests, rows, children: rows + cap }
    }
}

/// An entry or separator: key head, rest word, row id.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Item {
    pub head: u64,
    pub rest: u64,
    pub row: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Node<'t> {
    pub words: &'t [AtomicU64; NODE_WORDS],
    pub id: u64,
}

/// Spins between looks at a locked node before the processor is given to somebody else.
const SPINS_MAX: u32 = 64;

impl<'t> Node<'t> {
    /// Asks for the node's head and heads: a binary search would wait for one cache line after the other.
    #[inline]
    pub fn ask_for(&self) {
        (0..HEADS_END).step_by(LINE_WORDS).for_each(|word| prefetch(&raw const self.words[word]));
    }

    #[inline]
    fn get(&self, at: usize) -> u64 {
        self.words[at & (NODE_WORDS - 1)].load(Memory::Relaxed)
    }

    #[inline]
    fn set(&self, at: usize, value: u64) {
        self.words[at].store(value, Memory::Relaxed);
    }

    /// The version, once nobody changes the node.
    #[inline]
    pub fn begin(&self) -> u64 {
        let mut spins = 0;
        loop {
            let version = self.words[VERSION].load(Memory::Acquire);
            if version & 1 == 0 {
                return version;
            }
            spins += 1;
            sync::spin(spins % SPINS_MAX == 0);
        }
    }

    /// Whether the node is as it was at `version`.
    #[inline]
    pub fn check(&self, version: u64) -> bool {
        sync::fence(Memory::Acquire);
        self.words[VERSION].load(Memory::Relaxed) == version
    }

    /// Keeps all others out, if the node is as it was at `version`.
    #[inline]
    pub fn try_lock(&self, version: u64) -> bool {
        let word = &self.words[VERSION];
        let locked = word.compare_exchange(version, version + 1, Memory::Acquire, Memory::Relaxed).is_ok();
        sync::fence(Memory::Release);
        locked
    }

    /// Keeps all others out, if nobody does so already.
    pub fn try_lock_now(&self) -> bool {
        let version = self.words[VERSION].load(Memory::Acquire);
        version & 1 == 0 && self.try_lock(version)
    }

    pub fn unlock(&self) {
        let version = self.words[VERSION].load(Memory::Relaxed);
        debug_assert_eq!(version & 1, 1);
        self.words[VERSION].store(version + 1, Memory::Release);
    }

    /// (count, level)
    #[inline]
    pub fn meta(&self) -> (usize, usize) {
        let meta = self.get(META);
        ((meta & 0xFFFF) as usize, (meta >> 16 & 0xFF) as usize)
    }

    pub fn set_meta(&self, count: usize, level: usize) {
        self.set(META, count as u64 | (level as u64) << 16);
    }

    #[inline]
    pub fn head(&self, i: usize) -> u64 {
        self.get(HEADS + i)
    }

    #[inline]
    pub fn row(&self, s: &Shape, i: usize) -> u64 {
        self.get(s.rows + i)
    }

    #[inline]
    pub fn rest(&self, s: &Shape, i: usize) -> u64 {
        s.rests.map_or(0, |rests| self.get(rests + i))
    }

    #[inline]
    pub fn child(&self, s: &Shape, i: usize) -> u64 {
        self.get(s.children + i)
    }

    pub fn set_child(&self, s: &Shape, i: usize, id: u64) {
        self.set(s.children + i, id);
    }

    #[inline]
    pub fn item(&self, s: &Shape, i: usize) -> Item {
        Item { head: self.head(i), rest: self.rest(s, i), row: self.row(s, i) }
    }

    pub fn set_item(&self, s: &Shape, i: usize, item: Item) {
        self.set(HEADS + i, item.head);
        if let Some(rests) = s.rests {
            self.set(rests + i, item.rest);
        }
        self.set(s.rows + i, item.row);
    }

    /// Moves items `from..count` to `to..`.
    pub fn move_items(&self, s: &Shape, from: usize, to: usize, count: usize) {
        self.move_words(HEADS + from, HEADS + to, count - from);
        if let Some(rests) = s.rests {
            self.move_words(rests + from, rests + to, count - from);
        }
        self.move_words(s.rows + from, s.rows + to, count - from);
    }

    /// Moves children `from..=count` to `to..`.
    pub fn move_children(&self, s: &Shape, from: usize, to: usize, count: usize) {
        self.move_words(s.children + from, s.children + to, count + 1 - from);
    }

    fn move_words(&self, from: usize, to: usize, n: usize) {
        if from < to {
            (0..n).rev().for_each(|i| self.set(to + i, self.get(from + i)));
        } else {
            (0..n).for_each(|i| self.set(to + i, self.get(from + i)));
        }
    }

    /// Copies items `from..from + n` of `other` to `to..`.
    pub fn copy_items(&self, s: &Shape, other: &Node<'_>, from: usize, to: usize, n: usize) {
        (0..n).for_each(|i| self.set_item(s, to + i, other.item(s, from + i)));
    }

    pub fn copy_children(&self, s: &Shape, other: &Node<'_>, from: usize, to: usize, n: usize) {
        (0..n).for_each(|i| self.set_child(s, to + i, other.child(s, from + i)));
    }

    /// The first of `from..n` whose head is not below `head`. No branch depends on what is read: such branches would be
    /// mispredicted every second time.
    #[inline]
    fn first_head(&self, from: usize, n: usize, head: u64) -> usize {
        let (mut at, mut len) = (from, n - from);
        while len > 1 {
            let half = len / 2;
            at += if self.head(at + half - 1) < head { half } else { 0 };
            len -= half;
        }
        at + (len == 1 && self.head(at) < head) as usize
    }

    /// How many of the `n` items are below the target; or not above it, if `equal_counts`.
    #[inline]
    pub fn rank(&self, s: &Shape, heap: &KeyHeap, n: usize, target: &Target<'_>, equal_counts: bool) -> usize {
        let lo = self.first_head(0, n, target.head);
        if lo == n || self.head(lo) != target.head {
            return lo;
        }
        self.rank_among_equals(s, heap, lo, n, target, equal_counts)
    }

    fn rank_among_equals(
        &self,
        s: &Shape,
        heap: &KeyHeap,
        lo: usize,
        n: usize,
        target: &Target<'_>,
        equal_counts: bool,
    ) -> usize {
        let mut hi = match target.head.checked_add(1) {
            Some(next) => self.first_head(lo, n, next),
            None => n,
        };
        let mut lo = lo;
        while lo < hi {
            let mid = (lo + hi) / 2;
            let counts = match self.compare_rest(s, heap, mid, target) {
                Ordering::Less => true,
                Ordering::Equal => equal_counts,
                Ordering::Greater => false,
            };
            if counts { lo = mid + 1 } else { hi = mid }
        }
        lo
    }

    /// Compares item `i`, whose head is the target's.
    #[inline]
    fn compare_rest(&self, s: &Shape, heap: &KeyHeap, i: usize, target: &Target<'_>) -> Ordering {
        let rest = match s.rests {
            Some(rests) => heap.compare(self.get(rests + i), target),
            None => Ordering::Equal,
        };
        rest.then_with(|| self.row(s, i).cmp(&target.row))
    }

    /// Whether item `i` is the target.
    #[inline]
    pub fn is_at(&self, s: &Shape, heap: &KeyHeap, i: usize, target: &Target<'_>) -> bool {
        self.head(i) == target.head && self.compare_rest(s, heap, i, target).is_eq()
    }
}
