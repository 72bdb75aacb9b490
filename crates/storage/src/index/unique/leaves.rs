//! Whole leaves and a unique index: a load attaches one, recovery finds one, a run dissolves.
//!
//! ```text
//!   rows ascend, and no run is in the way       the leaf is a run: no entries
//!   a few much shorter runs are in the way      these dissolve, the leaf is a run
//!   else                                        an entry a row
//! ```
//! A load first makes its rows findable and then looks for conflicts, row by row with the latch of the key's shard; so
//! of two loads that bring the same key at least one sees the other's row. It waits for those who hold a key of it
//! absent, too.

use super::{Conflict, UniqueIndex};
use crate::index::Rows;
use crate::index::key::{Key, RunKey};
use crate::leaf::Leaf;
use crate::row_wait::RowWait;
use crate::sync::Ordering;
use crate::txn::{Txn, TxnManager};
use crate::waits::RowLockName;
use std::sync::Arc;
use types::{Error, Result};
use vector::Chunk;

/// So many runs at most make way for one.
const SHORT_RUNS_MAX: usize = 8;

/// The columns of a leaf that make up keys.
struct LeafKeys {
    chunks: Vec<Arc<Chunk>>,
    rows: usize,
    /// How many of the first rows ascend, and the least and greatest key of these.
    ascending: Option<(usize, RunKey, RunKey)>,
}

impl LeafKeys {
    fn of(index: &UniqueIndex, rows: Rows<'_>, leaf_no: u64) -> Option<LeafKeys> {
        let state = rows.heap.slot(leaf_no)?.read();
        let leaf = state.leaf()?;
        Some(LeafKeys { chunks: index.chunks_of(leaf), rows: leaf.rows(), ascending: index.ascending_rows(leaf) })
    }
}

/// What becomes of a new leaf with a row whose key exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnConflict {
    /// Error 1062.
    Fail,
    /// One of the two rows is dropped: the later one in the load's input, else the new one.
    Drop,
    /// Nothing more: the caller takes the leaf back. So it is where a transaction would have to be waited for.
    GiveUp,
}

impl UniqueIndex {
    /// Makes all rows of a leaf just attached by `txn` findable, and checks them for conflicts. Appends the dropped
    /// rows to `dropped`. False: it gave up.
    #[expect(clippy::too_many_arguments)]
    pub fn enter_leaf(
        &self,
        txns: &TxnManager,
        txn: &Txn,
        rows: Rows<'_>,
        leaf_no: u64,
        on_conflict: OnConflict,
        dropped: &mut Vec<(u64, Error)>,
        dissolved: &dyn Fn(u64, usize),
    ) -> Result<bool> {
        let Some(LeafKeys { chunks, rows: n, ascending }) = LeafKeys::of(self, rows, leaf_no) else { return Ok(true) };
        let chunks: Vec<&Chunk> = chunks.iter().map(|c| &**c).collect();
        let in_run = ascending.filter(|a| a.0 == n).is_some_and(|(_, min, max)| {
            self.runs.add(&self.spec, rows.heap, leaf_no, n, &min, &max)
                || self.make_way(rows, n, &min, &max, dissolved)
                    && self.runs.add(&self.spec, rows.heap, leaf_no, n, &min, &max)
        });
        // A row that came in by the hash was counted before it looked at the runs: either it saw this run, or it is
        // counted now and found below.
        if in_run && self.hashed.load(Ordering::SeqCst) == 0 {
            return Ok(true);
        }
        let hashes = self.spec.hash_rows(&chunks, 0..n);
        for (slot, hash) in hashes.into_iter().enumerate() {
            let Some(hash) = hash else { continue };
            let key = Key { chunks: &chunks, row: slot };
            let row_id = rows.row_id(leaf_no, slot);
            let mut wait = RowWait::new(txns, txn);
            loop {
                let mut shard = self.lock(hash);
                if rows.with(row_id, Leaf::is_live) != Some(true) {
                    break; // dropped for the sake of another index
                }
                match self.check(&shard, hash, key, txn, rows, Some(row_id)) {
                    Conflict::None => {
                        let holders = self.absence_held(&shard, hash, txn);
                        if !holders.is_empty() {
                            if on_conflict == OnConflict::GiveUp {
                                return Ok(false);
                            }
                            drop(shard);
                            wait.on(&holders, || self.key_wanted(key))?;
                            continue;
                        }
                        if !in_run {
                            self.enter(&mut shard, hash, row_id);
                        }
                        break;
                    }
                    _ if on_conflict == OnConflict::GiveUp => return Ok(false),
                    Conflict::Duplicate(other) if on_conflict == OnConflict::Drop => {
                        let later = if self.comes_later(txn, rows, other, row_id) { other } else { row_id };
                        let (leaf_no, slot) = rows.split(later);
                        // The shard's latch does not keep out a thread that drops the same row for another index.
                        let mut state = rows.heap.slot(leaf_no).expect("it was just found").write();
                        if state.leaf_mut().is_some_and(|leaf| leaf.kill(slot)) {
                            dropped.push((later, Error::dup_entry(self.spec.text(key), self.name())));
                        }
                        // If it was the other one, the next round finds the key free.
                    }
                    Conflict::Duplicate(_) => return Err(Error::dup_entry(self.spec.text(key), self.name())),
                    Conflict::Wait(owner) => {
                        drop(shard);
                        wait.on(&[owner], || self.key_wanted(key))?;
                    }
                }
            }
        }
        Ok(true)
    }

    /// Dissolves the runs that stand in the way of one of `n` rows with keys from `min` to `max`, if they are much
    /// shorter: a few rows with keys far apart must not send a whole load into the hash.
    fn make_way(&self, rows: Rows<'_>, n: usize, min: &RunKey, max: &RunKey, dissolved: &dyn Fn(u64, usize)) -> bool {
        let in_the_way = self.runs.overlapping(&self.spec, rows.heap, min, max, SHORT_RUNS_MAX + 1);
        let short = in_the_way.iter().map(|r| r.1).sum::<usize>() * 4 <= n;
        if in_the_way.len() > SHORT_RUNS_MAX || !short {
            return false;
        }
        in_the_way.iter().for_each(|r| self.dissolve_run(rows, r.0, dissolved));
        true
    }

    /// Whether `other` came with the running load of `txn` from a later piece of its input than `row_id`.
    fn comes_later(&self, txn: &Txn, rows: Rows<'_>, other: u64, row_id: u64) -> bool {
        let piece = |id| rows.with(id, |leaf, _| leaf.piece(txn)).flatten();
        piece(other) > piece(row_id)
    }

    /// Dissolves the leaf's run: its rows enter the hash. To be called before a key in it changes. `dissolved` is
    /// called with the leaf and the run's length when that is done, and calls [`UniqueIndex::remove_run`].
    pub fn dissolve_run(&self, rows: Rows<'_>, leaf_no: u64, dissolved: &dyn Fn(u64, usize)) {
        let n = self.runs.freeze(leaf_no);
        if n == 0 {
            return;
        }
        let chunks: Option<Vec<Arc<Chunk>>> = rows.heap.slot(leaf_no).and_then(|slot| {
            let state = slot.read();
            Some(self.chunks_of(state.leaf()?))
        });
        if let Some(chunks) = chunks {
            let chunks: Vec<&Chunk> = chunks.iter().map(|c| &**c).collect();
            for (slot, hash) in self.spec.hash_rows(&chunks, 0..n).into_iter().enumerate() {
                let row_id = rows.row_id(leaf_no, slot);
                // Nobody would take the entry of a row away that has ended for everybody.
                let exists = || rows.with(row_id, |leaf, slot| leaf.each_version(slot, |_, _| true)) == Some(true);
                if let Some(hash) = hash {
                    let mut shard = self.lock(hash);
                    if exists() {
                        self.enter(&mut shard, hash, row_id);
                    }
                }
            }
        }
        dissolved(leaf_no, n);
    }

    /// Makes all rows of a recovered leaf findable, without looking for conflicts. Nobody else uses the index. Where
    /// most rows of the leaf came in order and some did not, it has a run as it had before.
    pub fn rebuild_leaf(&self, rows: Rows<'_>, leaf_no: u64) {
        let Some(LeafKeys { chunks, rows: n, ascending }) = LeafKeys::of(self, rows, leaf_no) else { return };
        let run = ascending.filter(|(in_run, min, max)| {
            in_run * 2 >= n && self.runs.add(&self.spec, rows.heap, leaf_no, *in_run, min, max)
        });
        let in_run = run.map_or(0, |r| r.0);
        let chunks: Vec<&Chunk> = chunks.iter().map(|c| &**c).collect();
        for (i, hash) in self.spec.hash_rows(&chunks, in_run..n).into_iter().enumerate() {
            let row_id = rows.row_id(leaf_no, in_run + i);
            if let Some(hash) = hash
                && rows.with(row_id, Leaf::is_live) == Some(true)
            {
                self.enter(&mut self.lock(hash), hash, row_id);
            }
        }
    }

    fn key_wanted(&self, key: Key<'_>) -> RowLockName {
        let name = self.name();
        let (table, index) = name.rsplit_once('.').unwrap_or(("", &name));
        let data = self.spec.text(key).into();
        RowLockName { schema: "".into(), table: table.into(), index: index.into(), mode: "EXCLUSIVE", data }
    }

    fn chunks_of(&self, leaf: &Leaf) -> Vec<Arc<Chunk>> {
        self.spec.columns.iter().map(|&c| leaf.column(c).clone()).collect()
    }
}
