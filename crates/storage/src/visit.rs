//! The rows within a short range of a unique index of integers, handed out where they lie.
//!
//! ```text
//!   rows of sorted runs, leaf by leaf  ─▶ visible? ─▶ visit
//!   then entries of the tree, for rows that are in no run ─▶ visible under that key? ─▶ visit
//! ```
//! Runs are read before the tree: a row moves from a run to the tree, never back, and is in both meanwhile. Such a row
//! is left out of the second part: its slot was passed in the first.

use crate::index::cursor::{Candidates, KeyRange};
use crate::index::key::RunKey;
use crate::index::unique::point::RowAt;
use crate::table::Table;
use crate::txn::Snapshot;
use std::ops::Bound;
use types::Value;
use vector::BATCH_ROWS_MAX;

/// A range of a unique index: all parts but the last are equal to something, the last lies between two values, both
/// included.
#[derive(Clone, Copy, Debug)]
pub struct IntRange<'a> {
    pub before: &'a [i64],
    pub low: i64,
    pub high: i64,
}

impl IntRange<'_> {
    fn key(&self, last: i64) -> Option<RunKey> {
        let mut key = RunKey::default();
        key.get_mut(..self.before.len())?.copy_from_slice(self.before);
        *key.get_mut(self.before.len())? = last;
        Some(key)
    }
}

impl Table {
    /// Whether [`Table::visit_range`] can do with the index.
    pub fn has_runs(&self, index: usize) -> bool {
        let set = self.indexes();
        let ordered = matches!(set.ordered.get(index), Some(Some(o)) if o.leaves_out_runs);
        ordered && set.unique.get(index).is_some_and(|unique| unique.spec.is_integral)
    }

    /// Calls `visit` with each row that `snapshot` sees in the range of a unique index (`index`: its position in the
    /// definition), under its leaf's read latch: it must be short and wait for nothing. Rows of runs come in the order
    /// of their keys, others behind them. `values` has the ends of the range as values of the parts. False: the index
    /// has no such order, and nothing has happened.
    pub fn visit_range(
        &self,
        index: usize,
        range: IntRange<'_>,
        values: impl FnOnce() -> (Vec<Value>, Vec<Value>),
        snapshot: &Snapshot,
        visit: &mut dyn FnMut(RowAt<'_, '_>),
    ) -> bool {
        let set = self.indexes();
        let (Some(unique), Some(Some(ordered))) = (set.unique.get(index), set.ordered.get(index)) else { return false };
        let (Some(low), Some(high)) = (range.key(range.low), range.key(range.high)) else { return false };
        if !ordered.leaves_out_runs || !unique.spec.is_integral || unique.spec.columns.len() != range.before.len() + 1 {
            return false;
        }
        // Leaves passed, and how many of their slots are in runs.
        let mut passed: Vec<(u64, usize)> = Vec::new();
        unique.each_in_runs(
            self.rows(),
            &low,
            &high,
            &mut |leaf_no, rows| passed.push((leaf_no, rows)),
            |leaf, slot| {
                leaf.with_seen(slot, snapshot, |at| visit(at));
            },
        );
        if unique.hashed_rows() == 0 {
            return true;
        }
        let (low, high) = values();
        let range = KeyRange {
            lo: Bound::Included(ordered.encoder.encode(&low)),
            hi: Bound::Included(ordered.encoder.encode(&high)),
        };
        let Some(mut cursor) = self.index_cursor_beside_runs(index, &range) else { return true };
        let (mut candidates, mut scratch) = (Candidates::default(), Vec::new());
        while cursor.next(&mut candidates, BATCH_ROWS_MAX) {
            for (i, &row_id) in candidates.row_ids().iter().enumerate() {
                let (leaf_no, slot) = self.split(row_id);
                if passed.iter().any(|(leaf, rows)| *leaf == leaf_no && slot < *rows) {
                    continue;
                }
                self.rows().with(row_id, |leaf, slot| {
                    leaf.with_seen(slot, snapshot, |at| {
                        if ordered.encoder.has_key(at, candidates.key(i), &mut scratch) {
                            visit(at);
                        }
                    })
                });
            }
        }
        true
    }
}
