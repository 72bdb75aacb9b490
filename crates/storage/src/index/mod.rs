//! Indexes of a table: how a key leads to rows.
//!
//! ```text
//! UniqueIndex     key ─▶ its one row        sorted runs and a hash of row ids; refuses a second row     unique
//! OrderedIndex    range ─▶ rows in order    a tree of (key bytes, row id), built at its first use       ordered, btree
//! IndexSet        which of them a table has at a moment                                                 set
//! ```
//! No index knows of snapshots or holds rows: it gives row ids, and who asked compares the key with the version that it
//! sees ([`cursor`]). The keys are in two forms: values where they lie ([`key`]), and bytes in the index's order
//! ([`encode`]).

pub mod btree;
pub mod cursor;
pub mod encode;
pub mod key;
pub mod ordered;
pub mod sampled;
pub mod set;
pub mod unique;

pub use unique::{Conflict, OnConflict, ShardGuard, UniqueIndex};

use crate::heap::Heap;
use crate::leaf::Leaf;

const ROW_ID_BITS: u32 = 40;
const ROW_ID_MASK: u64 = (1 << ROW_ID_BITS) - 1;

/// Past this row id an index entry has no room.
pub const ROW_IDS_MAX: u64 = 1 << ROW_ID_BITS;

/// The heap, and how row ids divide into leaf and slot.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    pub heap: &'a Heap,
    pub shift: u32,
}

impl Rows<'_> {
    #[inline]
    pub fn split(&self, row_id: u64) -> (u64, usize) {
        (row_id >> self.shift, (row_id & ((1 << self.shift) - 1)) as usize)
    }

    #[inline]
    pub fn row_id(&self, leaf_no: u64, slot: usize) -> u64 {
        leaf_no << self.shift | slot as u64
    }

    /// Runs `f` on the leaf and slot of a row, under the leaf's read latch.
    #[inline]
    pub fn with<R>(&self, row_id: u64, f: impl FnOnce(&Leaf, usize) -> R) -> Option<R> {
        let (leaf_no, slot) = self.split(row_id);
        let state = self.heap.slot(leaf_no)?.read();
        Some(f(state.leaf()?, slot))
    }
}
