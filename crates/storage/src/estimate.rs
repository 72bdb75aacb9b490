//! How many entries a range of an index has, for whoever chooses between ways to read.
//!
//! The answer must not depend on what happens to be in memory: an index whose tree was not built yet (see
//! [`crate::index::ordered`]) has to say what it will say once it was. So who is asked does not depend on that:
//!
//! ```text
//!   rows in sorted runs alone            the runs: exact
//!   the sample has many rows in range    the sample: a wide range is read by scanning, most likely
//!   else                                 the tree, built if need be, counts: a narrow range is read by the index
//! ```
//! Nor may it depend on how the tree or the rows came to lie as they do: the sample goes by what the rows are, and the
//! tree counts its entries ([`crate::index::btree`]) instead of estimating by its shape.

use crate::index::cursor::{Interval, KeyRange};
use crate::index::ordered::OrderedIndex;
use crate::index::sampled::SampledKeys;
use crate::table::Table;
use std::sync::Arc;

/// Rows of the sample in a range from which on the sample is believed: within some 12 %.
const SAMPLED_MIN: usize = 64;

impl Table {
    /// About how many entries the range has. Builds the index if its tree has to answer.
    pub fn index_estimate(&self, index: usize, range: &KeyRange) -> u64 {
        let set = self.indexes();
        let Some(Some(ordered)) = set.ordered.get(index) else { return 0 };
        let Some(interval) = range.interval() else { return 0 };
        let unique = set.unique.get(index).filter(|_| ordered.leaves_out_runs);
        let in_runs = unique.map_or(0, |u| u.estimate_runs(&ordered.encoder, self.rows(), &interval));
        if unique.is_some_and(|u| u.hashed_rows() == 0) {
            return in_runs;
        }
        if let Some(rows) = self.sampled_estimate(ordered, &interval) {
            return rows;
        }
        self.make_live(&set, index, ordered);
        in_runs + ordered.tree().map_or(0, |t| t.count(&interval.start, interval.end.as_deref()))
    }

    /// What the sample says, if enough of its rows lie in the interval.
    fn sampled_estimate(&self, ordered: &OrderedIndex, interval: &Interval) -> Option<u64> {
        let statistics = self.statistics();
        let kept = ordered.sampled.lock().clone().filter(|k| k.is_of(&statistics));
        let keys = kept.unwrap_or_else(|| {
            let made = Arc::new(SampledKeys::new(&ordered.encoder, statistics));
            *ordered.sampled.lock() = Some(made.clone());
            made
        });
        let hits = keys.count(interval);
        (hits >= SAMPLED_MIN).then(|| (hits as f64 / keys.len() as f64 * self.row_count() as f64).ceil() as u64)
    }
}
