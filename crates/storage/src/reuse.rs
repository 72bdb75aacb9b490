//! Free slots of partly dead leaves, and how single inserts come to fill them.
//!
//! ```text
//!            a quarter of its slots free              an eighth of the leaves are listed
//!   any leaf ───────────────────────────▶ listed ───────────────────────────────────────▶ open ──▶ full: any leaf
//!                                            └── its last row dies: released, as any other
//! ```
//! Terms: a slot is *free* if its row exists for nobody: it does not live, and no version of it is kept. The *open*
//! leaf is where inserts put rows while it has free slots; afterwards they append to the tail again, or open the next
//! one.
//!
//! A table whose rows die in about the order in which they came has few partly dead leaves at a time: they die whole,
//! and none is opened. In a table whose rows die anywhere and others come, by single inserts or loads, up to about a
//! third of the slots are free, for ever. Where none come nothing is filled ([`crate::space`]): of the rows that went
//! the slots stay, without their strings.
//!
//! Invariants
//! 1. To indexes, a row that comes into a free slot is like an update of the dead row: entries of former keys may still
//!    be there for a while, and who takes them away looks at the row's versions first.
//! 2. The open leaf is in no run: its runs are dissolved before it is opened, and only the tail leaf's runs grow. A run
//!    that an index build makes of it closes it.
//! 3. Slots are filled under the tail latch, which is also held when a leaf is released. The tail leaf is never open.
//! 4. A row id that was found under a snapshot means no other row as long as the snapshot is in use: the record of the
//!    row's end is kept so long. Who found it otherwise looks for it again once he holds the row.

use crate::index::set::IndexSet;
use crate::leaf::Leaf;
use crate::sync::{AtomicBool, AtomicU64, Ordering, WriteGuard};
use crate::table::{Table, Tail};
use crate::txn::Txn;
use std::sync::Arc;
use vector::Chunk;

/// A leaf is opened when one in so many is listed.
const LEAVES_PER_LISTED: u64 = 8;

/// What inserts look at without a latch.
#[derive(Debug, Default)]
pub(crate) struct Reuse {
    listed: AtomicU64,
    is_open: AtomicBool,
}

/// Where a row came in.
pub(crate) struct Filled<'t> {
    pub leaf_no: u64,
    pub slot: usize,
    /// The leaf's key latch.
    pub keys: WriteGuard<'t, ()>,
}

impl Leaf {
    /// Whether so many slots are free that inserts should fill them.
    pub(crate) fn is_sparse(&self) -> bool {
        self.live_count() * 4 <= self.rows() * 3 && self.rows() > 1
    }
}

impl Table {
    /// Puts a leaf on the list of those whose slots can be filled. No latch may be held.
    pub(crate) fn list_sparse(&self, leaf_no: u64) {
        if self.slot(leaf_no).is_listed() {
            return;
        }
        let mut tail = self.tail.lock();
        self.end_tail_if_full(&mut tail, leaf_no);
        let is_open = tail.open.is_some_and(|o| o.0 == leaf_no);
        if tail.leaf_no != Some(leaf_no) && !tail.is_own(leaf_no) && !is_open && self.slot(leaf_no).set_listed(true) {
            tail.listed.push(leaf_no);
            self.reuse.listed.store(tail.listed.len() as u64, Ordering::Relaxed);
        }
    }

    /// Recovery: lists all leaves whose slots can be filled.
    pub(crate) fn list_all_sparse(&self, tail: &mut Tail) {
        let is_sparse = |n: &u64| self.slot(*n).read().leaf().is_some_and(Leaf::is_sparse);
        tail.listed =
            (0..self.leaf_count()).filter(|n| tail.leaf_no != Some(*n) && !tail.is_own(*n) && is_sparse(n)).collect();
        for &leaf_no in &tail.listed {
            self.slot(leaf_no).set_listed(true);
        }
        self.reuse.listed.store(tail.listed.len() as u64, Ordering::Relaxed);
    }

    /// A full leaf is no longer the tail: it may be released or filled, as any other.
    pub(crate) fn end_tail_if_full(&self, tail: &mut Tail, leaf_no: u64) {
        if tail.leaf_no == Some(leaf_no) {
            let is_full = self.slot(leaf_no).read().leaf().is_some_and(|l| l.rows() == self.leaf_rows());
            tail.leaf_no = tail.leaf_no.filter(|_| !is_full);
        }
    }

    /// A leaf dies: nobody is to fill its slots.
    pub(crate) fn unlist(&self, tail: &mut Tail, leaf_no: u64) {
        if self.slot(leaf_no).set_listed(false) {
            tail.listed.retain(|n| *n != leaf_no);
            self.reuse.listed.store(tail.listed.len() as u64, Ordering::Relaxed);
        }
        if tail.open.is_some_and(|o| o.0 == leaf_no) {
            self.close(tail);
        }
    }

    fn close(&self, tail: &mut Tail) {
        tail.open = None;
        self.reuse.is_open.store(false, Ordering::Relaxed);
    }

    /// Whether inserts should fill free slots.
    #[inline]
    pub(crate) fn has_many_free_slots(&self) -> bool {
        let listed = self.reuse.listed.load(Ordering::Relaxed);
        listed > 0 && listed * LEAVES_PER_LISTED >= self.leaf_count()
    }

    /// Opens a leaf if it is time for one. No latch may be held.
    #[inline]
    pub(crate) fn open_if_many(&self, set: &IndexSet) {
        if self.has_many_free_slots() && !self.reuse.is_open.load(Ordering::Relaxed) {
            self.open_one(set);
        }
    }

    fn open_one(&self, set: &IndexSet) {
        let leaf_no = {
            let mut tail = self.tail.lock();
            if tail.open.is_some() {
                return;
            }
            let Some(leaf_no) = tail.listed.pop() else { return };
            self.reuse.listed.store(tail.listed.len() as u64, Ordering::Relaxed);
            self.slot(leaf_no).set_listed(false);
            leaf_no
        };
        for (i, index) in set.unique.iter().enumerate() {
            index.dissolve_run(self.rows(), leaf_no, &|leaf_no, n| self.run_dissolved(set, i, leaf_no, n));
        }
        let mut tail = self.tail.lock();
        if tail.open.is_none() && tail.leaf_no != Some(leaf_no) {
            tail.open = Some((leaf_no, 0));
            self.reuse.is_open.store(true, Ordering::Relaxed);
        }
    }

    /// Puts position `row` of `columns` into the next free slot of the open leaf. `None`: no leaf is open, or not any
    /// more, or the table has other indexes than `set`.
    pub(crate) fn fill<'t>(
        &'t self,
        tail: &mut Tail,
        txn: &Arc<Txn>,
        set: &IndexSet,
        columns: &[&Chunk],
        row: usize,
    ) -> Option<Filled<'t>> {
        let (leaf_no, from) = tail.open?;
        let keys = self.slot(leaf_no).lock_keys();
        if !self.indexes.is_current(set) {
            return None;
        }
        let in_run = set.unique.iter().any(|index| index.run_rows(self.rows(), leaf_no) > 0);
        let filled = {
            let mut state = self.slot(leaf_no).write();
            let leaf = state.leaf_mut().filter(|_| !in_run);
            leaf.and_then(|leaf| {
                let slot = leaf.free_slot(from)?;
                leaf.revive(txn, slot, columns, row);
                Some(slot)
            })
        };
        match filled {
            Some(slot) => {
                tail.open = Some((leaf_no, slot + 1));
                Some(Filled { leaf_no, slot, keys })
            }
            None => {
                self.close(tail);
                None
            }
        }
    }
}
