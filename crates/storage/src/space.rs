//! What a table takes of memory, and what of that serves no row.
//!
//! ```text
//!   a leaf's column    fixed part:   | live rows | free slots | capacity |       free: all but the live rows' part
//!                      string heap:  | live bytes | dead bytes, spare room |     free: all but the live bytes
//! ```
//! Each heap counts its bytes as it changes ([`vector::StrHeap`]) and each leaf its rows, so what is asked here is a
//! look at the leaves' columns, not at their values.
//!
//! How much is free at most: string heaps are compacted when a quarter of their live bytes is free, and rows that exist
//! for nobody have no strings. Free slots are filled by inserts once an eighth of a table's leaves have a quarter of
//! theirs free ([`crate::reuse`]); rows are never moved, as their ids are in indexes. So a table from which rows are
//! deleted anywhere, and into which none come, keeps the fixed part of their slots until whole leaves have died or the
//! table is made anew (OPTIMIZE TABLE).

use crate::dict::SharedDict;
use crate::heap::LeafSlot;
use crate::leaf::Leaf;
use crate::table::Table;
use vector::{Chunk, Values};

/// A table's memory, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Space {
    /// What rows take.
    pub data_bytes: usize,
    /// Dead strings, free slots and spare room.
    pub free_bytes: usize,
    pub index_bytes: usize,
}

impl Space {
    pub fn bytes(self) -> usize {
        self.data_bytes + self.free_bytes + self.index_bytes
    }
}

/// Bytes on the allocator's heap, except dictionaries, and those of them that serve none of the `live` rows.
fn of_chunk(chunk: &Chunk, live: usize) -> (usize, usize) {
    let width = |fixed: usize, capacity: usize| fixed.checked_div(capacity).unwrap_or(0);
    let (fixed, capacity, heap, heap_live) = match &chunk.values {
        Values::Str(s) => (s.views.capacity() * 16, s.views.capacity(), s.heap.bytes_allocated(), s.heap.live_bytes()),
        values => (values.bytes_allocated(), values.capacity(), 0, 0),
    };
    let validity = chunk.validity.as_ref().map_or(0, |v| v.words().len() * 8);
    let held = fixed + heap + validity;
    (held, fixed.saturating_sub(width(fixed, capacity) * live) + heap.saturating_sub(heap_live))
}

impl Leaf {
    /// Bytes on the allocator's heap, and those of them that serve no row.
    fn space(&self) -> (usize, usize) {
        let live = self.live_count();
        let columns = self.columns();
        let of_columns = columns.iter().map(|c| of_chunk(c, live)).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let own = columns.len() * (size_of::<Chunk>() + 16 + 8) + self.rows().div_ceil(64) * 8 + size_of::<Leaf>();
        (of_columns.0 + own, of_columns.1)
    }
}

impl Table {
    /// What the table takes of memory. Walks all leaves' columns.
    pub fn space(&self) -> Space {
        let slots = (0..self.leaf_count()).filter_map(|n| self.heap.slot(n));
        let of_leaf = |slot: &LeafSlot| slot.read().leaf().map_or((0, 0), Leaf::space);
        let (held, free) = slots.map(of_leaf).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let dicts: usize = self.dicts.iter().flatten().map(SharedDict::bytes_allocated).sum();
        let own = self.leaf_count() as usize * size_of::<LeafSlot>() + size_of::<Table>() + dicts;
        Space { data_bytes: held - free + own, free_bytes: free, index_bytes: self.index_bytes() }
    }

    /// Bytes held by leaves, indexes and dictionaries. Walks all leaves' columns.
    pub fn bytes(&self) -> usize {
        self.space().bytes()
    }

    /// Bytes held by the indexes.
    pub fn index_bytes(&self) -> usize {
        let set = self.indexes();
        let unique: usize = set.unique.iter().map(|i| i.bytes_allocated()).sum();
        unique + set.ordered.iter().flatten().map(|o| o.bytes_allocated()).sum::<usize>()
    }
}
