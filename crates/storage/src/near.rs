//! Bringing rows near: what rows that lie apart have in memory is asked for before it is needed.
//!
//! A row is five steps from its id, and in a table beyond the caches each of them may be a miss that the next one waits
//! for:
//!
//! ```text
//!   slot ─▶ leaf ─▶ its columns ─▶ a column's chunk ─▶ the value
//! ```
//! The steps of one row depend on each other, those of different rows do not. So a few leaves are gone through twice:
//! the first time does nothing but follow the steps and ask for the values' cache lines, and the processor does that
//! for several leaves at once; copying, with all that it decides by what it finds, comes after. A latch is held for one
//! leaf at a time only, so nothing that was asked for need be true any more when it is wanted: that is slower, and no
//! fault.
//!
//! Scans have it easier, as the leaves come in a row ([`Table::bring_leaves_near`]).
//!
//! Of 4 million rows, 3 columns of 1024 rows anywhere take 136 ns a row instead of 579; of 40 million, 560 instead
//! of 1200. Scans of few columns take 10 to 18 % less.

use crate::heap::Heap;
use crate::index::Rows;
use crate::leaf::Leaf;
use crate::table::Table;
use std::ops::Range;

/// Leaves that are gone through together.
pub(crate) const LEAVES_AT_ONCE: usize = 16;
/// Of each column so many cache lines are asked for; from there on the processor sees where the reader is heading.
const LINES: usize = 4;
/// A table of fewer leaves is near anyway. Debug builds bring near what tests have.
pub(crate) const LEAVES_MIN: u64 = if cfg!(debug_assertions) { 2 } else { 256 };

/// Asks for the cache line at `p`, which need not be a place that can be read.
#[inline(always)]
pub fn prefetch<T>(p: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch changes nothing that the program sees, and faults for no address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(p.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = p;
}

/// Asks for where a leaf begins.
#[inline]
pub(crate) fn ask_for_leaf(heap: &Heap, leaf_no: u64) {
    if let Some(slot) = heap.slot(leaf_no) {
        prefetch(slot);
    }
}

/// Asks for the columns' values at some slots of each of a few leaves.
pub(crate) fn bring_near<S: Iterator<Item = usize>>(
    heap: &Heap,
    leaves: impl Iterator<Item = (u64, S)> + Clone,
    columns: &[usize],
) {
    leaves.clone().for_each(|(leaf_no, _)| ask_for_leaf(heap, leaf_no));
    for (leaf_no, slots) in leaves {
        let Some(slot) = heap.slot(leaf_no) else { continue };
        let state = slot.read();
        let Some(leaf) = state.leaf() else { continue };
        for at in slots {
            columns.iter().for_each(|&c| prefetch(leaf.column(c).values.place(at)));
        }
    }
}

impl Table {
    /// Asks for where the columns begin in a few leaves in a row, which are then read. Every step is made for all
    /// leaves before the next: taking a latch ends what the processor does at once.
    pub fn bring_leaves_near(&self, leaves: Range<u64>, columns: &[usize]) {
        if self.heap.leaf_count() < LEAVES_MIN {
            return;
        }
        leaves.clone().for_each(|leaf_no| ask_for_leaf(&self.heap, leaf_no));
        let each = |ask: &dyn Fn(&Leaf)| {
            for leaf_no in leaves.clone() {
                if let Some(slot) = self.heap.slot(leaf_no) {
                    slot.read().leaf().inspect(|leaf| ask(leaf));
                }
            }
        };
        each(&|leaf| prefetch(leaf));
        each(&|leaf| columns.iter().for_each(|&c| prefetch(leaf.place_of(c))));
        each(&|leaf| columns.iter().for_each(|&c| prefetch(leaf.column(c))));
        each(&|leaf| {
            let begins = columns.iter().map(|&c| leaf.column(c).values.place(0));
            begins.for_each(|p| (0..LINES).for_each(|line| prefetch(p.wrapping_add(line * 64))));
        });
    }
}

impl Rows<'_> {
    /// Calls `f` with the position of each row id, a few at a time after the columns of these were asked for, if that
    /// is worth it.
    pub(crate) fn each_brought_near(&self, row_ids: &[u64], columns: &[usize], mut f: impl FnMut(usize)) {
        let is_far = row_ids.len() > 1 && self.heap.leaf_count() >= LEAVES_MIN;
        for (i, few) in row_ids.chunks(LEAVES_AT_ONCE).enumerate() {
            if is_far {
                let places = few.iter().map(|id| self.split(*id)).map(|(leaf, slot)| (leaf, std::iter::once(slot)));
                bring_near(self.heap, places, columns);
            }
            (0..few.len()).for_each(|j| f(i * LEAVES_AT_ONCE + j));
        }
    }
}
