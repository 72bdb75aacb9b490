//! What planner and executor ask of a table's indexes: what each is good for, ends as bytes, and which leaves a range
//! of a primary key lies in.
//!
//! A unique index whose rows came in order keeps them in sorted runs ([`crate::index::unique`]): then a range of keys
//! is a range of leaves, and scanning those beats walking entries.
//!
//! ```text
//!   rows within the range  =  those in leaves whose runs can hold it   +   candidates of the tree in other leaves
//! ```
//! Runs are read before the tree: a row moves from a run to the tree, never back, and is in both meanwhile.

use crate::fetch::Fetched;
use crate::index::cursor::{Candidates, IndexCursor, KeyRange};
use crate::index::encode::KeyEncoder;
use crate::table::Table;
use crate::txn::Snapshot;
use catalog::{IndexForm, KeyBounds, KeyEnd};
use std::ops::Bound;

/// More than one row in so many outside the runs: the index does not count as clustered.
const SCATTERED_SHARE: u64 = 8;

impl Table {
    /// What the index at this position of the definition is good for.
    pub fn index_form(&self, index: usize) -> IndexForm {
        let set = self.indexes();
        let Some(Some(ordered)) = set.ordered.get(index) else { return IndexForm::default() };
        let scattered = set.unique.get(index).map_or(u64::MAX, |u| u.hashed_rows() as u64);
        let clustered = ordered.leaves_out_runs && scattered <= self.row_count() / SCATTERED_SHARE;
        IndexForm { ordered: true, clustered, complete: !ordered.leaves_out_runs }
    }

    /// The bounds as bytes. `None`: the index has no ordered form.
    pub fn key_range(&self, index: usize, bounds: &KeyBounds) -> Option<KeyRange> {
        let encoder = self.index_encoder(index)?;
        let lo = match (end_bytes(&encoder, &bounds.low), bounds.low.inclusive) {
            (b, true) => Bound::Included(b),
            (b, false) => Bound::Excluded(b),
        };
        let hi = match (end_bytes(&encoder, &bounds.high), bounds.high.inclusive) {
            (b, true) => Bound::Included(b),
            (b, false) => Bound::Excluded(b),
        };
        Some(KeyRange { lo, hi })
    }

    /// The leaves whose sorted runs can hold keys of the ranges, in the order of their keys, each once. Rows in other
    /// leaves are found by [`Table::index_cursor_beside_runs`], to be called after this. `None`: the index has no runs.
    /// `is_all`: nothing lies beside the runs.
    pub fn index_leaves(&self, index: usize, ranges: &[KeyRange]) -> Option<RunLeaves> {
        let set = self.indexes();
        let ordered = set.ordered.get(index)?.as_ref()?;
        if !ordered.leaves_out_runs {
            return None;
        }
        let unique = set.unique.get(index)?;
        let mut leaves = Vec::new();
        for interval in ranges.iter().filter_map(KeyRange::interval) {
            unique.run_leaves(&ordered.encoder, &interval, &mut leaves);
        }
        // Ranges come in order, so that only neighbours are the same leaf.
        leaves.dedup();
        Some(RunLeaves { leaves, is_all: unique.hashed_rows() == 0 })
    }

    /// The wanted columns of the candidates that `snapshot` sees under their keys; one position a candidate. With a
    /// `moment` ([`Table::settled`]) since which they were read, rows in leaves without versions are not compared.
    pub fn fetch_found(
        &self,
        index: usize,
        candidates: &Candidates,
        columns: &[usize],
        snapshot: &Snapshot,
        moment: Option<u64>,
    ) -> Option<Fetched> {
        let encoder = self.index_encoder(index)?;
        let mut scratch = Vec::new();
        let mut fetch = |trusts_leaves: bool| {
            self.fetch_if(candidates.row_ids(), columns, snapshot, |leaf, slot, i| {
                if trusts_leaves && !leaf.has_versions() {
                    return leaf.is_seen(slot, snapshot);
                }
                let has = |at: &dyn Fn(usize) -> _| encoder.has_key(at, candidates.key(i), &mut scratch);
                leaf.with_seen(slot, snapshot, has) == Some(true)
            })
        };
        if moment.is_some() && snapshot.skipping().is_none() {
            let fetched = fetch(true);
            if self.is_still(moment) {
                return Some(fetched);
            }
        }
        Some(fetch(false))
    }

    /// A walk over the candidates that are not, or not only, in sorted runs.
    pub fn index_cursor_beside_runs(&self, index: usize, range: &KeyRange) -> Option<IndexCursor<'_>> {
        let mut cursor = self.index_cursor(index, range, false)?;
        cursor.unique = None;
        Some(cursor)
    }
}

/// See [`Table::index_leaves`].
#[derive(Clone, Debug)]
pub struct RunLeaves {
    pub leaves: Vec<u64>,
    pub is_all: bool,
}

fn end_bytes(encoder: &KeyEncoder, end: &KeyEnd) -> Vec<u8> {
    match end.values.split_last() {
        Some((types::Value::Bytes(text), before)) if end.starts_with => encoder.encode_text_prefix(before, text),
        _ => encoder.encode(&end.values),
    }
}
