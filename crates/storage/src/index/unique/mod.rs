//! Unique indexes: from a key to the one row that has it.
//!
//! A key is looked for in two places: in the sorted runs ([`runs`]), which cost no memory a row, and in a sharded hash
//! table of row ids for the rows that arrived out of order or whose keys are not integers. Neither holds keys: the
//! candidate's key is compared in its leaf.
//!
//! ```text
//!   entry = | tag: 24 bits of the key's hash | row id: 40 bits |
//! ```
//! Invariants
//! 1. Every version of a row that some transaction may still see, or a rollback restore, is found: by its entry or by
//!    its run. An entry goes when the last such version with its key goes.
//! 2. Whoever brings a key into the index holds the latch of the key's shard from the check for conflicts until the row
//!    is in its leaf and can be found. So of two transactions that bring the same key, one sees the other's row.
//!    (Leaves of a bulk load are the exception: first they are made findable, then checked.)
//! 3. Readers search runs before hash: a row moves from a run to the hash (never back), and is in both meanwhile.
//!
//! - here: entries, checks for conflicts, look-ups by snapshot;
//! - [`leaves`]: whole leaves come, and runs dissolve;
//! - [`point`]: one row, where it lies;
//! - [`absent`]: keys that are to stay absent.

mod absent;
mod leaves;
pub mod point;
mod runs;
mod search;

use super::cursor::{Candidates, Interval};
use super::encode::KeyEncoder;
use super::key::{Key, KeySpec, RunKey};
use super::{ROW_ID_BITS, ROW_ID_MASK, ROW_IDS_MAX, Rows};
use crate::leaf::{Leaf, RowState};
use crate::sync::{AtomicBool, AtomicUsize, Ordering, Rank, RwLock, WriteGuard};
use crate::txn::{Snapshot, Txn};
use hashbrown::HashTable;
pub use leaves::OnConflict;
use runs::Runs;
use std::sync::Arc;
use vector::Chunk;

const SHARD_BITS: u32 = 5;

#[inline]
fn entry(hash: u64, row_id: u64) -> u64 {
    debug_assert!(row_id < ROW_IDS_MAX);
    hash << SHARD_BITS >> ROW_ID_BITS << ROW_ID_BITS | row_id
}

/// Spreads an entry's tag over a table's hash; the table can thus grow without looking at rows.
#[inline]
fn table_hash(entry: u64) -> u64 {
    (entry >> ROW_ID_BITS).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[derive(Debug, Default)]
struct Shard {
    rows: HashTable<u64>,
    absent: absent::AbsentKeys,
}

#[derive(Debug)]
#[repr(align(64))]
struct ShardSlot(RwLock<Shard>);

/// A shard latched for a check and an entry. Counts as an entry meanwhile, so that a load that has just made its leaf
/// findable (and then reads the count) either is seen by this check or looks for this entry.
#[derive(Debug)]
pub struct ShardGuard<'a> {
    shard: WriteGuard<'a, Shard>,
    hashed: &'a AtomicUsize,
}

impl Drop for ShardGuard<'_> {
    fn drop(&mut self) {
        self.hashed.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What stands against a new key.
#[derive(Debug)]
pub enum Conflict {
    None,
    /// The row has the key.
    Duplicate(u64),
    /// The outcome depends on this transaction.
    Wait(Arc<Txn>),
}

#[derive(Debug)]
pub struct UniqueIndex {
    pub spec: KeySpec,
    /// `table.INDEX`, as error 1062 names it.
    name: RwLock<Box<str>>,
    /// Not published yet: see [`crate::reindex`].
    being_built: AtomicBool,
    suspect: AtomicBool,
    shards: Box<[ShardSlot]>,
    /// Entries in all shards, keys held absent, and latched shards: see [`ShardGuard`].
    hashed: AtomicUsize,
    runs: Runs,
}

impl UniqueIndex {
    /// `name`: `table.INDEX`, as error 1062 names it.
    pub fn new(spec: KeySpec, name: &str) -> UniqueIndex {
        let index = UniqueIndex::being_built(spec);
        index.published(name);
        index
    }

    /// An index that refuses nothing before it is published.
    pub fn being_built(spec: KeySpec) -> UniqueIndex {
        let shards = (0..1 << SHARD_BITS).map(|_| ShardSlot(RwLock::new(Rank::IndexShard, Shard::default()))).collect();
        UniqueIndex {
            spec,
            name: RwLock::new(Rank::IndexName, "".into()),
            being_built: AtomicBool::new(true),
            suspect: AtomicBool::new(false),
            shards,
            hashed: AtomicUsize::new(0),
            runs: Runs::default(),
        }
    }

    /// From now on the index refuses duplicates, under this name.
    pub fn published(&self, name: &str) {
        *self.name.write() = name.into();
        self.being_built.store(false, Ordering::Release);
    }

    /// `table.INDEX`
    pub fn name(&self) -> Box<str> {
        self.name.read().clone()
    }

    /// Somebody met a conflict while the index was being built.
    pub fn is_suspect(&self) -> bool {
        self.suspect.load(Ordering::Acquire)
    }

    /// The least and greatest key of a leaf whose rows ascend.
    pub fn ascending(&self, leaf: &Leaf) -> Option<(RunKey, RunKey)> {
        runs::ascending(&self.spec, leaf)
    }

    /// How many of the leaf's first rows ascend, with the least and greatest key of these.
    fn ascending_rows(&self, leaf: &Leaf) -> Option<(usize, RunKey, RunKey)> {
        runs::ascending_rows(&self.spec, leaf)
    }

    /// Makes the leaf a run, if its keys lie between those of others.
    pub fn add_run(&self, rows: Rows<'_>, leaf_no: u64, n: usize, min: &RunKey, max: &RunKey) -> bool {
        self.runs.add(&self.spec, rows.heap, leaf_no, n, min, max)
    }

    fn shard(&self, hash: u64) -> &RwLock<Shard> {
        &self.shards[(hash >> (64 - SHARD_BITS)) as usize].0
    }

    /// Latches the shard of `hash` for a check followed by [`UniqueIndex::enter`].
    pub fn lock(&self, hash: u64) -> ShardGuard<'_> {
        self.hashed.fetch_add(1, Ordering::SeqCst);
        ShardGuard { shard: self.shard(hash).write(), hashed: &self.hashed }
    }

    fn candidates(shard: &Shard, hash: u64) -> impl Iterator<Item = u64> {
        let wanted = entry(hash, 0);
        shard.rows.iter_hash(table_hash(wanted)).filter(move |e| **e & !ROW_ID_MASK == wanted).map(|e| e & ROW_ID_MASK)
    }

    /// What stands against `txn` bringing in `key`; `own` is the row that will have it, where it exists already.
    /// Nothing does while the index is being built.
    pub fn check(
        &self,
        shard: &ShardGuard<'_>,
        hash: u64,
        key: Key<'_>,
        txn: &Txn,
        rows: Rows<'_>,
        own: Option<u64>,
    ) -> Conflict {
        let being_built = self.being_built.load(Ordering::Acquire);
        let found = self.find_conflict(shard, hash, key, txn, rows, own, being_built);
        if being_built && !matches!(found, Conflict::None) {
            self.suspect.store(true, Ordering::Release);
            return Conflict::None;
        }
        found
    }

    #[expect(clippy::too_many_arguments)]
    fn find_conflict(
        &self,
        shard: &ShardGuard<'_>,
        hash: u64,
        key: Key<'_>,
        txn: &Txn,
        rows: Rows<'_>,
        own: Option<u64>,
        being_built: bool,
    ) -> Conflict {
        let examine = |leaf: &Leaf, slot: usize, row_id: u64| match leaf.state(slot, txn) {
            RowState::Gone => Conflict::None,
            RowState::Free if self.spec.equals(&|c| (leaf.column(c), slot), key) => Conflict::Duplicate(row_id),
            RowState::Free => Conflict::None,
            RowState::Held(holder) => {
                let may_have = |at: &dyn Fn(usize) -> _| self.spec.equals(at, key);
                // Its record may not tell what it had before, if it is older than the index.
                let depends = being_built || leaf.any_version(slot, &self.spec.columns, Some(&holder), may_have);
                if depends { Conflict::Wait(holder) } else { Conflict::None }
            }
        };
        let mut found = Conflict::None;
        if let Some(run_key) = self.spec.run_key(key) {
            self.runs.find(&self.spec, rows.heap, &run_key, |leaf_no, slot, leaf| {
                let row_id = rows.row_id(leaf_no, slot);
                if own != Some(row_id) {
                    found = examine(leaf, slot, row_id);
                }
            });
        }
        if !matches!(found, Conflict::None) {
            return found;
        }
        for row_id in Self::candidates(&shard.shard, hash) {
            if own != Some(row_id) {
                match rows.with(row_id, |leaf, slot| examine(leaf, slot, row_id)) {
                    None | Some(Conflict::None) => {}
                    Some(conflict) => return conflict,
                }
            }
        }
        Conflict::None
    }

    /// Makes the row findable by the key with this hash; nothing happens if it is already.
    pub fn enter(&self, shard: &mut ShardGuard<'_>, hash: u64, row_id: u64) {
        let e = entry(hash, row_id);
        if shard.shard.rows.find(table_hash(e), |x| *x == e).is_none() {
            self.hashed.fetch_add(1, Ordering::SeqCst);
            shard.shard.rows.insert_unique(table_hash(e), e, |x| table_hash(*x));
        }
    }

    /// Makes a row just appended to the tail leaf findable: through the leaf's run if it continues it (true), else by
    /// an entry.
    pub fn enter_appended(
        &self,
        shard: &mut ShardGuard<'_>,
        hash: u64,
        key: Key<'_>,
        rows: Rows<'_>,
        leaf_no: u64,
        slot: usize,
    ) -> bool {
        if let Some(run_key) = self.spec.run_key(key)
            && self.runs.extend(&self.spec, rows.heap, leaf_no, slot, &run_key)
        {
            return true;
        }
        self.enter(shard, hash, rows.row_id(leaf_no, slot));
        false
    }

    /// The leaf died or is rolled back, or its rows are in the hash: its run goes.
    pub fn remove_run(&self, leaf_no: u64) {
        self.runs.remove(leaf_no);
    }

    /// Removes the row's entry for keys with this hash, unless a version of the row still has such a key.
    pub fn remove_unused(&self, hash: u64, row_id: u64, rows: Rows<'_>) {
        self.remove_unless(hash, row_id, rows, |leaf, slot| {
            leaf.any_version(slot, &self.spec.columns, None, |at| self.spec.hash_one(at) == Some(hash))
        });
    }

    /// Like [`UniqueIndex::remove_unused`], for versions that ended before the index existed: their records may not
    /// have all columns of the key.
    pub fn remove_unused_exactly(&self, hash: u64, row_id: u64, rows: Rows<'_>) {
        self.remove_unless(hash, row_id, rows, |leaf, slot| {
            leaf.each_version(slot, |at, _| self.spec.hash_one(at) == Some(hash))
        });
    }

    fn remove_unless(&self, hash: u64, row_id: u64, rows: Rows<'_>, is_used: impl FnOnce(&Leaf, usize) -> bool) {
        let mut shard = self.shard(hash).write();
        let e = entry(hash, row_id);
        let Ok(found) = shard.rows.find_entry(table_hash(e), |x| *x == e) else { return };
        if rows.with(row_id, is_used) != Some(true) {
            found.remove();
            self.hashed.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// The row that `snapshot` sees under each key, `None` where there is none. `keys`: one chunk a part, of the part's
    /// physical type; keys with NULL parts find nothing.
    pub fn get_many(&self, keys: &[&Chunk], n: usize, snapshot: &Snapshot, rows: Rows<'_>) -> Vec<Option<u64>> {
        let mut out = vec![None; n];
        let key = |row| Key { chunks: keys, row };
        let valid = |row: usize| keys.iter().all(|c| c.is_valid(row));
        if self.spec.is_integral {
            let run_keys = (0..n).map(|row| if valid(row) { self.spec.run_key(key(row)) } else { None });
            self.find_in_runs(run_keys, key, snapshot, rows, &mut out);
        }
        if self.hashed.load(Ordering::SeqCst) == 0 || out.iter().all(Option::is_some) {
            return out;
        }
        let hashes = self.spec.hash_rows(keys, 0..n);
        let (mut ids, mut of) = (Vec::with_capacity(n), Vec::with_capacity(n));
        for (row, hash) in hashes.into_iter().enumerate() {
            let Some(hash) = hash.filter(|_| out[row].is_none()) else { continue };
            ids.extend(Self::candidates(&self.shard(hash).read(), hash));
            of.resize(ids.len(), row);
        }
        rows.each_brought_near(&ids, &self.spec.columns, |i| {
            let has = |leaf: &Leaf, slot| leaf.with_seen(slot, snapshot, |at| self.spec.equals(at, key(of[i])));
            if out[of[i]].is_none() && rows.with(ids[i], has) == Some(Some(true)) {
                out[of[i]] = Some(ids[i]);
            }
        });
        out
    }

    fn find_in_runs<'k>(
        &self,
        run_keys: impl Iterator<Item = Option<RunKey>>,
        key: impl Fn(usize) -> Key<'k>,
        snapshot: &Snapshot,
        rows: Rows<'_>,
        out: &mut [Option<u64>],
    ) {
        self.runs.find_many(&self.spec, rows.heap, run_keys, |row, leaf_no, slot, leaf| {
            let seen = if leaf.has_versions() || snapshot.skipping().is_some() {
                leaf.with_seen(slot, snapshot, |at| self.spec.equals(at, key(row))) == Some(true)
            } else {
                leaf.is_live(slot)
            };
            if seen {
                out[row] = Some(rows.row_id(leaf_no, slot));
            }
        });
    }

    /// About how many rows are not in runs.
    pub fn hashed_rows(&self) -> usize {
        self.hashed.load(Ordering::Relaxed)
    }

    /// See [`Runs::each_between`].
    pub(crate) fn each_in_runs(
        &self,
        rows: Rows<'_>,
        low: &RunKey,
        high: &RunKey,
        passed: &mut dyn FnMut(u64, usize),
        visit: impl FnMut(&Leaf, usize),
    ) {
        self.runs.each_between(&self.spec, rows.heap, low, high, passed, visit);
    }

    /// How many of the leaf's first slots are in its run.
    pub fn run_rows(&self, rows: Rows<'_>, leaf_no: u64) -> usize {
        self.runs.rows_in(&self.spec, rows.heap, leaf_no)
    }

    /// About how many rows of runs have keys in the interval.
    pub(crate) fn estimate_runs(&self, encoder: &KeyEncoder, rows: Rows<'_>, interval: &Interval) -> u64 {
        self.runs.estimate(encoder, &self.spec, rows.heap, interval)
    }

    /// Appends the leaves whose runs can hold keys of the interval, in the order of their keys.
    pub(crate) fn run_leaves(&self, encoder: &KeyEncoder, interval: &Interval, out: &mut Vec<u64>) {
        self.runs.leaves(encoder, interval, out);
    }

    /// See [`Runs::walk`].
    #[expect(clippy::too_many_arguments)]
    pub(crate) fn walk_runs(
        &self,
        encoder: &KeyEncoder,
        rows: Rows<'_>,
        interval: &Interval,
        after: Option<(&[u8], u64)>,
        reverse: bool,
        max: usize,
        out: &mut Candidates,
    ) {
        self.runs.walk(encoder, &self.spec, rows, interval, after, reverse, max, out);
    }

    pub fn bytes_allocated(&self) -> usize {
        let bytes = |s: &Shard| s.rows.allocation_size() + s.absent.bytes_allocated() + size_of::<ShardSlot>();
        let shards: usize = self.shards.iter().map(|s| bytes(&s.0.read())).sum();
        shards + self.runs.bytes_allocated()
    }
}
