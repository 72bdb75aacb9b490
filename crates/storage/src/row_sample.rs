//! Which rows a table's sample has: those whose keys hash lowest.
//!
//! ```text
//!   rows that come ─▶ hash of the key ─▶ below the limit? ─▶ kept: (hash, row id) ─▶ many: the lowest stay
//!                                                             │
//!   statistics are gathered ◀── the lowest whose rows are there and still have that key
//! ```
//! So the choice goes by what the rows are, not by where they lie, in which order they came or how many threads brought
//! them: the same rows have the same sample, and with it the same estimates, before a restart, after it, and in another
//! database. Rows of a table without a key that tells all rows apart are chosen by their ids, which a restart does not
//! change either.
//!
//! Invariant: of the rows that came, all with a hash below the limit are kept. Those that went since are found out when
//! the sample is taken; where that leaves too few, all rows of the table are looked through, and the kept ones
//! replaced.
//!
//! Source: Cohen, Kaplan, "Summarizing Data Using Bottom-k Sketches", PODC 2007.

use crate::leaf::Leaf;
use crate::stats::{each_tuple, scramble};
use crate::sync::{AtomicU64, Mutex, Ordering, Rank};
use crate::table::Table;
use crate::txn::Snapshot;
use catalog::TableDef;
use std::collections::HashSet;
use vector::Chunk;
use vector::hash::fold_words;

/// Rows of the sample, and of that of a large table.
const SAMPLE_ROWS: usize = 1024;
const SAMPLE_ROWS_MAX: usize = 4096;
const LARGE_TABLE_ROWS: u64 = 100_000;

/// Rows kept: so many of them may go before the sample has too few.
const KEPT: usize = SAMPLE_ROWS_MAX + SAMPLE_ROWS_MAX / 4;

/// A hash, and the row that has it.
type Entry = (u64, u64);

/// Rows of a batch whose hashes are low, by position.
pub type Low = Vec<(u64, usize)>;

#[derive(Debug)]
pub struct RowSample {
    /// Those of the key; none: rows are chosen by their ids.
    columns: Box<[usize]>,
    limit: AtomicU64,
    kept: Mutex<Vec<Entry>>,
}

/// The columns of the first key that tells all rows apart.
fn key_columns(def: &TableDef) -> Box<[usize]> {
    let is_key = |i: &&catalog::IndexDef| i.is_unique() && i.parts.iter().all(|p| !def.columns[p.column_idx].nullable);
    def.indexes.iter().find(is_key).map_or([].into(), |i| i.parts.iter().map(|p| p.column_idx).collect())
}

impl RowSample {
    pub fn new(def: &TableDef) -> RowSample {
        RowSample {
            columns: key_columns(def),
            limit: AtomicU64::new(u64::MAX),
            kept: Mutex::new(Rank::Statistics, Vec::new()),
        }
    }

    /// Whether the definition still has the key.
    fn is_of(&self, def: &TableDef) -> bool {
        self.columns == key_columns(def)
    }

    /// Whether the choice goes by this column.
    pub fn goes_by(&self, column: usize) -> bool {
        self.columns.contains(&column)
    }

    fn hash_at<'a>(&self, at: &dyn Fn(usize) -> (&'a Chunk, usize)) -> u64 {
        let mut hash = [0u64];
        for &c in &self.columns {
            let (chunk, i) = at(c);
            fold_words(chunk, i, &mut hash);
        }
        scramble(hash[0])
    }

    /// Whether a row that is there is the one that was kept under this hash.
    fn has<'a>(&self, hash: u64, at: &dyn Fn(usize) -> (&'a Chunk, usize)) -> bool {
        self.columns.is_empty() || self.hash_at(at) == hash
    }

    /// The rows of a batch that may be among the lowest. `chunks`: one a column of the table.
    pub fn low(&self, chunks: &[&Chunk]) -> Low {
        let limit = self.limit.load(Ordering::Relaxed);
        let mut low = Vec::new();
        if !self.columns.is_empty() {
            each_tuple(&self.columns, chunks, |i, hash| {
                let hash = scramble(hash);
                if hash < limit {
                    low.push((hash, i));
                }
            });
        }
        low
    }

    /// The batch has `rows` rows, which have these ids now. `low`: what [`RowSample::low`] said of it.
    pub fn keep(&self, low: Low, rows: usize, id: impl Fn(usize) -> u64) {
        if !self.columns.is_empty() {
            return self.add(low.into_iter().filter(|l| l.1 < rows).map(|(hash, i)| (hash, id(i))).collect());
        }
        let limit = self.limit.load(Ordering::Relaxed);
        self.add((0..rows).map(|i| (scramble(id(i)), id(i))).filter(|e| e.0 < limit).collect());
    }

    fn add(&self, entries: Vec<Entry>) {
        if entries.is_empty() {
            return;
        }
        let mut kept = self.kept.lock();
        kept.extend(entries);
        if kept.len() >= 2 * KEPT {
            self.shorten(&mut kept);
        }
    }

    /// Leaves the lowest, in order. Of two rows with one key the one that came last is there, if any is.
    fn shorten(&self, kept: &mut Vec<Entry>) {
        kept.sort_by_key(|e| e.0);
        kept.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                *earlier = *later;
            }
            same
        });
        if let Some(&(limit, _)) = kept.get(KEPT) {
            kept.truncate(KEPT);
            self.limit.store(limit, Ordering::Relaxed);
        }
    }

    /// What is kept, lowest first, and whether that is all that came.
    fn entries(&self) -> (Vec<Entry>, bool) {
        let mut kept = self.kept.lock();
        self.shorten(&mut kept);
        (kept.clone(), self.limit.load(Ordering::Relaxed) == u64::MAX)
    }

    /// Replaces what is kept by `fresh`, which has seen all rows of the table, and by those rows that came meanwhile:
    /// `exists` tells rows that are there, committed or not, from those that went.
    fn replace(&self, fresh: &RowSample, exists: impl Fn(&Entry) -> bool) {
        let before = self.entries().0;
        let mut next = fresh.entries().0;
        next.extend(before.iter().filter(|e| exists(e)));
        let before: HashSet<Entry> = before.into_iter().collect();
        let mut kept = self.kept.lock();
        next.extend(kept.iter().filter(|e| !before.contains(*e)));
        self.limit.store(fresh.limit.load(Ordering::Relaxed), Ordering::Relaxed);
        *kept = next;
        self.shorten(&mut kept);
    }
}

impl Table {
    /// A row has another key.
    pub(crate) fn sample_again(&self, row_id: u64) {
        let sample = &self.stats.sample;
        let hash = self.rows().with(row_id, |leaf, slot| sample.hash_at(&|c| (leaf.column(c), slot)));
        if let Some(hash) = hash.filter(|h| *h < sample.limit.load(Ordering::Relaxed)) {
            sample.add(vec![(hash, row_id)]);
        }
    }

    /// `fresh` has seen all rows.
    pub(crate) fn replace_sample(&self, fresh: &RowSample) {
        let own = &self.stats.sample;
        if own.columns == fresh.columns {
            own.replace(fresh, |&(hash, row_id)| {
                let is_it = |leaf: &Leaf, slot| leaf.is_live(slot) && own.has(hash, &|c| (leaf.column(c), slot));
                self.rows().with(row_id, is_it) == Some(true)
            });
        }
    }

    /// Ids of the sample's rows, as the snapshot sees them, ascending.
    pub(crate) fn sample_rows(&self, snapshot: &Snapshot) -> Vec<u64> {
        if self.row_count() <= SAMPLE_ROWS as u64 {
            let ids = |leaf_no| self.seen_ids(leaf_no, snapshot);
            return (0..self.leaf_count()).flat_map(ids).take(SAMPLE_ROWS).collect();
        }
        let wanted = if self.row_count() >= LARGE_TABLE_ROWS { SAMPLE_ROWS_MAX } else { SAMPLE_ROWS };
        let (own, def) = (&self.stats.sample, self.def());
        let known = if own.is_of(&def) { self.lowest(own, wanted, snapshot) } else { None };
        let mut ids = known.unwrap_or_else(|| {
            let fresh = RowSample::new(&def);
            self.look_through(&fresh, snapshot);
            self.replace_sample(&fresh);
            self.lowest(&fresh, wanted, snapshot).unwrap_or_default()
        });
        ids.sort_unstable();
        ids
    }

    fn seen_ids(&self, leaf_no: u64, snapshot: &Snapshot) -> Vec<u64> {
        let view = self.scan_leaf(leaf_no, &[], snapshot);
        view.map_or(Vec::new(), |view| {
            view.selection.to_positions(view.rows).into_iter().map(|p| view.base_row_id + p as u64).collect()
        })
    }

    /// The rows with the lowest hashes. `None`: too many of those that were kept have gone.
    fn lowest(&self, sample: &RowSample, wanted: usize, snapshot: &Snapshot) -> Option<Vec<u64>> {
        let (entries, all) = sample.entries();
        let is_there = |&(hash, row_id): &Entry| {
            let seen = |leaf: &Leaf, slot| leaf.with_seen(slot, snapshot, |at| sample.has(hash, at));
            self.rows().with(row_id, seen) == Some(Some(true))
        };
        let ids: Vec<u64> = entries.into_iter().filter(is_there).take(wanted).map(|e| e.1).collect();
        (all || ids.len() == wanted).then_some(ids)
    }

    /// Shows all rows that there are to a sample.
    fn look_through(&self, sample: &RowSample, snapshot: &Snapshot) {
        for leaf_no in 0..self.leaf_count() {
            let Some(view) = self.scan_leaf(leaf_no, &sample.columns, snapshot) else { continue };
            let mut chunks: Vec<Option<&Chunk>> = vec![None; self.types().len()];
            for (c, chunk) in sample.columns.iter().zip(&view.columns) {
                chunks[*c] = Some(chunk);
            }
            let limit = sample.limit.load(Ordering::Relaxed);
            let mut low = Vec::new();
            view.selection.for_each(view.rows, |i| {
                let row_id = view.base_row_id + i as u64;
                let hash = match sample.columns.is_empty() {
                    true => scramble(row_id),
                    false => sample.hash_at(&|c| (chunks[c].expect("the key's columns were read"), i)),
                };
                if hash < limit {
                    low.push((hash, row_id));
                }
            });
            sample.add(low);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_ids() -> RowSample {
        RowSample {
            columns: [].into(),
            limit: AtomicU64::new(u64::MAX),
            kept: Mutex::new(Rank::Statistics, Vec::new()),
        }
    }

    #[test]
    fn the_order_of_rows_does_not_matter() {
        let (up, down) = (by_ids(), by_ids());
        const ROWS: usize = 50_000;
        for from in (0..ROWS).step_by(1000) {
            up.keep(Vec::new(), 1000, |i| (from + i) as u64);
            down.keep(Vec::new(), 1000, |i| (ROWS - 1 - from - i) as u64);
        }
        let (mut a, mut b) = (up.entries().0, down.entries().0);
        assert!(a.len() >= SAMPLE_ROWS_MAX && b.len() >= SAMPLE_ROWS_MAX);
        a.truncate(SAMPLE_ROWS_MAX);
        b.truncate(SAMPLE_ROWS_MAX);
        assert_eq!(a, b);
        // As many of each half, nearly.
        let low = a.iter().filter(|e| e.1 < ROWS as u64 / 2).count();
        assert!(low.abs_diff(SAMPLE_ROWS_MAX / 2) < 200, "{low}");
    }

    #[test]
    fn a_key_that_comes_again_is_kept_once() {
        let sample = by_ids();
        for round in 0..10 {
            sample.add((0..KEPT as u64).map(|i| (i, i + round)).collect());
        }
        let (entries, all) = sample.entries();
        assert!(all && entries.len() == KEPT);
        assert!(entries.iter().all(|e| e.1 == e.0 + 9), "the last row is it");
    }

    #[test]
    fn rows_that_went_make_way() {
        let sample = by_ids();
        sample.keep(Vec::new(), 4 * KEPT, |i| i as u64);
        let fresh = by_ids();
        fresh.keep(Vec::new(), 2 * KEPT, |i| (4 * KEPT + i) as u64);
        sample.replace(&fresh, |e| e.1 == 3);
        let (entries, _) = sample.entries();
        assert!(entries.iter().all(|e| e.1 >= 4 * KEPT as u64 || e.1 == 3));
        assert!(entries.len() >= SAMPLE_ROWS_MAX);
    }
}
