//! Reading leaves: what a scan gets of each.
//!
//! A leaf's read latch is held while zone maps are looked at, the wanted columns' Arcs are cloned and visibility is
//! resolved; the caller works on the chunks with nothing held. A morsel is a range of leaf numbers, chosen by the
//! caller.

use crate::leaf::Leaf;
use crate::table::Table;
use crate::txn::Snapshot;
use std::sync::Arc;
use vector::{Bounds, Chunk, Selection};

/// What is known of all values of a column in a leaf, old versions included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Zone {
    /// Every non-NULL value lies within; `None`: nothing is known.
    pub bounds: Option<Bounds>,
    pub has_null: bool,
}

/// The rows of one leaf that a snapshot sees.
#[derive(Clone, Debug)]
pub struct LeafView {
    /// Row id of position 0; position i has row id `base_row_id + i`.
    pub base_row_id: u64,
    /// Positions of each chunk, seen or not.
    pub rows: usize,
    /// The wanted columns, in the order asked for.
    pub columns: Vec<Arc<Chunk>>,
    /// The positions seen; at least one.
    pub selection: Selection,
}

fn zone(leaf: &Leaf, column: usize) -> Zone {
    let chunk = leaf.column(column);
    Zone { bounds: chunk.bounds, has_null: chunk.has_nulls() }
}

impl Table {
    /// The zone map of a column in a leaf; `None` if the leaf has no rows.
    pub fn zone(&self, leaf_no: u64, column: usize) -> Option<Zone> {
        Some(zone(self.heap.slot(leaf_no)?.read().leaf()?, column))
    }

    /// The leaf's rows that `snapshot` sees, with `columns`; `None` if there are none.
    pub fn scan_leaf(&self, leaf_no: u64, columns: &[usize], snapshot: &Snapshot) -> Option<LeafView> {
        self.scan_leaf_if(leaf_no, columns, snapshot, |_| true)
    }

    /// Like [`Table::scan_leaf`], but skips the leaf (`None`) if `wanted` says so after a look at its zone maps, which
    /// it gets by column of the table.
    pub fn scan_leaf_if(
        &self,
        leaf_no: u64,
        columns: &[usize],
        snapshot: &Snapshot,
        wanted: impl FnOnce(&dyn Fn(usize) -> Zone) -> bool,
    ) -> Option<LeafView> {
        let seen = {
            let state = self.heap.slot(leaf_no)?.read();
            let leaf = state.leaf()?;
            if !wanted(&|column| zone(leaf, column)) {
                return None;
            }
            leaf.view(columns, snapshot)?
        };
        Some(LeafView {
            base_row_id: self.row_id(leaf_no, 0),
            rows: seen.rows,
            columns: seen.columns,
            selection: seen.selection,
        })
    }

    /// How many of the leaf's rows `snapshot` sees.
    pub fn count_leaf(&self, leaf_no: u64, snapshot: &Snapshot) -> usize {
        let Some(slot) = self.heap.slot(leaf_no) else { return 0 };
        slot.read().leaf().map_or(0, |leaf| leaf.count_seen(snapshot))
    }

    /// Whether `snapshot` sees a row under this id.
    pub fn sees(&self, row_id: u64, snapshot: &Snapshot) -> bool {
        self.rows().with(row_id, |leaf, slot| leaf.is_seen(slot, snapshot)) == Some(true)
    }
}
