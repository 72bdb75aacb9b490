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

mod absent;
pub mod btree;
pub mod cursor;
pub mod encode;
pub mod key;
pub mod ordered;
pub mod point;
pub mod runs;
pub mod sampled;
pub mod set;

use crate::heap::Heap;
use crate::leaf::{Leaf, RowState};
use crate::row_wait::RowWait;
use crate::sync::{AtomicBool, AtomicUsize, Ordering, Rank, RwLock, WriteGuard};
use crate::txn::{Snapshot, Txn, TxnManager};
use crate::waits::RowLockName;
use cursor::{Candidates, Interval};
use encode::KeyEncoder;
use hashbrown::HashTable;
use key::{Key, KeySpec, RunKey};
use runs::Runs;
use std::sync::Arc;
use types::{Error, Result};
use vector::Chunk;

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

const ROW_ID_BITS: u32 = 40;
const ROW_ID_MASK: u64 = (1 << ROW_ID_BITS) - 1;
const SHARD_BITS: u32 = 5;

/// So many runs at most make way for one.
const SHORT_RUNS_MAX: usize = 8;

/// Past this row id an index entry has no room.
pub const ROW_IDS_MAX: u64 = 1 << ROW_ID_BITS;

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
    /// Entries in all shards, and latched shards: see [`ShardGuard`].
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

    /// What stands against `txn` bringing in `key`; `own` is the row that will have it, where it exists already. Nothing
    /// does while the index is being built.
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
            self.runs.find_each(&self.spec, rows.heap, std::iter::once(Some(run_key)), |_, leaf_no, slot, leaf| {
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

    /// Makes a row just appended to the tail leaf findable: through the leaf's run if it continues it (true), else by an
    /// entry.
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

    /// Makes all rows of a leaf just attached by `txn` findable, and checks them for conflicts. A row whose key exists is
    /// error 1062, or with `ignore` one of the two is dropped: the later one in the load's input, else the new one. Appends
    /// the dropped rows to `dropped`.
    #[expect(clippy::too_many_arguments)]
    pub fn enter_leaf(
        &self,
        txns: &TxnManager,
        txn: &Txn,
        rows: Rows<'_>,
        leaf_no: u64,
        ignore: bool,
        dropped: &mut Vec<(u64, Error)>,
        dissolved: &dyn Fn(u64, usize),
    ) -> Result<()> {
        let Some((chunks, n, ascending)) = rows.heap.slot(leaf_no).and_then(|slot| {
            let state = slot.read();
            let leaf = state.leaf()?;
            let chunks: Vec<Arc<Chunk>> = self.spec.columns.iter().map(|&c| leaf.column(c).clone()).collect();
            Some((chunks, leaf.rows(), runs::ascending(&self.spec, leaf)))
        }) else {
            return Ok(());
        };
        let chunks: Vec<&Chunk> = chunks.iter().map(|c| &**c).collect();
        let in_run = ascending.is_some_and(|(min, max)| {
            self.runs.add(&self.spec, rows.heap, leaf_no, n, &min, &max)
                || self.make_way(rows, n, &min, &max, dissolved)
                    && self.runs.add(&self.spec, rows.heap, leaf_no, n, &min, &max)
        });
        // A row that came in by the hash was counted before it looked at the runs: either it saw this run, or it is
        // counted now and found below.
        if in_run && self.hashed.load(Ordering::SeqCst) == 0 {
            return Ok(());
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
                        if !in_run {
                            self.enter(&mut shard, hash, row_id);
                        }
                        break;
                    }
                    Conflict::Duplicate(other) if ignore => {
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
        Ok(())
    }

    fn key_wanted(&self, key: Key<'_>) -> RowLockName {
        let name = self.name();
        let (table, index) = name.rsplit_once('.').unwrap_or(("", &name));
        let data = self.spec.text(key).into();
        RowLockName { schema: "".into(), table: table.into(), index: index.into(), mode: "EXCLUSIVE", data }
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

    /// Dissolves the leaf's run: its rows enter the hash. To be called before a key in it changes. `dissolved` is called
    /// with the leaf and the run's length when that is done, and calls [`UniqueIndex::remove_run`].
    pub fn dissolve_run(&self, rows: Rows<'_>, leaf_no: u64, dissolved: &dyn Fn(u64, usize)) {
        let n = self.runs.freeze(leaf_no);
        if n == 0 {
            return;
        }
        let chunks: Option<Vec<Arc<Chunk>>> = rows.heap.slot(leaf_no).and_then(|slot| {
            let state = slot.read();
            let leaf = state.leaf()?;
            Some(self.spec.columns.iter().map(|&c| leaf.column(c).clone()).collect())
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

    /// Makes all rows of a recovered leaf findable, without looking for conflicts. Nobody else uses the index.
    pub fn rebuild_leaf(&self, rows: Rows<'_>, leaf_no: u64) {
        let Some((chunks, n, ascending)) = rows.heap.slot(leaf_no).and_then(|slot| {
            let state = slot.read();
            let leaf = state.leaf()?;
            let chunks: Vec<Arc<Chunk>> = self.spec.columns.iter().map(|&c| leaf.column(c).clone()).collect();
            Some((chunks, leaf.rows(), runs::ascending(&self.spec, leaf)))
        }) else {
            return;
        };
        if ascending.is_some_and(|(min, max)| self.runs.add(&self.spec, rows.heap, leaf_no, n, &min, &max)) {
            return;
        }
        let chunks: Vec<&Chunk> = chunks.iter().map(|c| &**c).collect();
        for (slot, hash) in self.spec.hash_rows(&chunks, 0..n).into_iter().enumerate() {
            let row_id = rows.row_id(leaf_no, slot);
            if let Some(hash) = hash
                && rows.with(row_id, Leaf::is_live) == Some(true)
            {
                self.enter(&mut self.lock(hash), hash, row_id);
            }
        }
    }

    /// The leaf died or is rolled back, or its rows are in the hash: its run goes.
    pub fn remove_run(&self, leaf_no: u64) {
        self.runs.remove(leaf_no);
    }

    /// Removes the row's entry for keys with this hash, unless a version of the row still has such a key.
    pub fn remove_unused(&self, hash: u64, row_id: u64, rows: Rows<'_>) {
        let mut shard = self.shard(hash).write();
        let e = entry(hash, row_id);
        let Ok(found) = shard.rows.find_entry(table_hash(e), |x| *x == e) else { return };
        let used = rows.with(row_id, |leaf, slot| {
            leaf.any_version(slot, &self.spec.columns, None, |at| self.spec.hash_one(at) == Some(hash))
        });
        if used != Some(true) {
            found.remove();
            self.hashed.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Like [`UniqueIndex::remove_unused`], for versions that ended before the index existed: their records may not have
    /// all columns of the key.
    pub fn remove_unused_exactly(&self, hash: u64, row_id: u64, rows: Rows<'_>) {
        let mut shard = self.shard(hash).write();
        let e = entry(hash, row_id);
        let Ok(found) = shard.rows.find_entry(table_hash(e), |x| *x == e) else { return };
        let used =
            rows.with(row_id, |leaf, slot| leaf.each_version(slot, |at, _| self.spec.hash_one(at) == Some(hash)));
        if used != Some(true) {
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
        let mut candidates = Vec::new();
        for (row, hash) in hashes.into_iter().enumerate() {
            let Some(hash) = hash.filter(|_| out[row].is_none()) else { continue };
            candidates.clear();
            candidates.extend(Self::candidates(&self.shard(hash).read(), hash));
            out[row] = candidates.iter().copied().find(|&row_id| {
                rows.with(row_id, |leaf, slot| leaf.with_seen(slot, snapshot, |at| self.spec.equals(at, key(row))))
                    == Some(Some(true))
            });
        }
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
        self.runs.find_each(&self.spec, rows.heap, run_keys, |row, leaf_no, slot, leaf| {
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
