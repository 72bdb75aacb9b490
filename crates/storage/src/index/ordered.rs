//! Ordered indexes: when they exist, and how they keep up with the table.
//!
//! ```text
//!            first use, CREATE INDEX           every leaf was read, what came meanwhile is in
//!   Cold ───────────────────────────▶ Building ───────────────────────────────────────────────▶ Live
//!   no tree, nobody maintains it      writers note keys in a log       writers change the tree
//! ```
//! An index that nobody reads in order costs nothing: neither loads nor inserts maintain it, and after a start there is
//! nothing to rebuild. Its first use builds the tree from the heap with several threads. A build can be stopped on its
//! way: then the index is cold again.
//!
//! Invariants
//! 1. In a live index there is an entry (key, row id) for every version that some transaction may see or a rollback
//!    restore, but for rows in leaves that are still *pending* and for rows in sorted runs (where the index leaves
//!    those out). There may be entries more; whoever reads them compares the row's key.
//! 2. Whoever gives a row a new key holds the leaf's key latch (`LeafSlot::keys`) from before the version exists until
//!    the entry does; so does whoever takes an entry away, while he makes sure that no version needs it. So neither can
//!    overlook the other. Those who append rows share the latch: nobody takes entries away of rows that are not there
//!    yet.
//! 3. A build turns the state to Building, raises the epoch of the table's indexes, then reads each leaf under its key
//!    latch. A writer looks at the epoch under the same latch: it was there before the build read the leaf, or it knows
//!    of the build.
//! 4. Leaves of a bulk load are not entered row by row: they are pending until somebody reads the index.

use super::btree::Tree;
use super::encode::KeyEncoder;
use super::sampled::SampledKeys;
use crate::sync::{AtomicBool, AtomicU8, AtomicUsize, Condvar, Mutex, Ordering, Rank};
use catalog::{IndexAlgorithm, IndexDef, IndexKind, TableDef, TableEngine};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use types::{PhysType, Result};

/// A key as bytes, and a row that has, had or will have it.
pub type KeyedRow = (Vec<u8>, u64);

/// Asked now and then by work that may take long: an error ends it.
pub type GoOn<'a> = &'a (dyn Fn() -> Result<()> + Sync);

/// How long who waits for a build goes without asking whether to go on.
const BUILD_WAIT: Duration = Duration::from_millis(20);

/// The right to build; others wait until it is dropped.
#[derive(Debug)]
pub struct Building<'a>(&'a OrderedIndex);

impl Drop for Building<'_> {
    fn drop(&mut self) {
        *self.0.building.lock() = false;
        self.0.built.notify_all();
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum State {
    Cold,
    Building,
    Live,
}

#[derive(Debug)]
pub struct OrderedIndex {
    pub encoder: KeyEncoder,
    /// Rows in sorted runs of the unique index of the same position have no entries.
    pub leaves_out_runs: bool,
    state: AtomicU8,
    /// Somebody has looked rows up in it.
    read: AtomicBool,
    tree: OnceLock<Tree>,
    /// While building: keys that rows got, or may have lost.
    log: Mutex<Vec<KeyedRow>>,
    /// Leaves that a load brought since the build began.
    pending: Mutex<Vec<u64>>,
    /// Of these and of those just being brought in.
    pending_count: AtomicUsize,
    /// Somebody builds, or brings in pending leaves.
    building: Mutex<bool>,
    built: Condvar,
    /// Entries made for versions whose end the index will not be told of: see [`OrderedIndex::add_orphans`].
    orphans: Mutex<BTreeSet<(u64, Vec<u8>)>>,
    /// Keys of the table's sample, as of the statistics that were asked for last.
    pub sampled: Mutex<Option<Arc<SampledKeys>>>,
}

impl OrderedIndex {
    /// Somebody looks rows up. A store only the first time: others share the line.
    pub fn note_read(&self) {
        if !self.was_read() {
            self.read.store(true, Ordering::Relaxed);
        }
    }

    /// Whether anybody has looked rows up since the index was made or the server started.
    pub fn was_read(&self) -> bool {
        self.read.load(Ordering::Relaxed)
    }

    /// `None`: the index has no ordered form.
    pub fn new(table: &TableDef, index: &IndexDef) -> Option<OrderedIndex> {
        if matches!(index.kind, IndexKind::FullText | IndexKind::Spatial) {
            return None;
        }
        if table.engine == TableEngine::Memory && index.algorithm == Some(IndexAlgorithm::Hash) {
            return None;
        }
        let encoder = KeyEncoder::new(table, index);
        let plain_int = |p: &catalog::IndexPart| {
            let column = &table.columns[p.column_idx];
            let wide = matches!(
                column.ty.phys(),
                PhysType::I128 | PhysType::I256 | PhysType::F32 | PhysType::F64 | PhysType::Str
            );
            !wide && !column.nullable && !p.descending
        };
        let leaves_out_runs =
            index.is_unique() && index.parts.len() <= super::key::RUN_PARTS_MAX && index.parts.iter().all(plain_int);
        Some(OrderedIndex {
            encoder,
            leaves_out_runs,
            state: AtomicU8::new(State::Cold as u8),
            read: AtomicBool::new(false),
            tree: OnceLock::new(),
            log: Mutex::new(Rank::IndexLog, Vec::new()),
            pending: Mutex::new(Rank::IndexLog, Vec::new()),
            pending_count: AtomicUsize::new(0),
            building: Mutex::new(Rank::IndexBuild, false),
            built: Condvar::new(),
            orphans: Mutex::new(Rank::IndexLog, BTreeSet::new()),
            sampled: Mutex::new(Rank::IndexLog, None),
        })
    }

    pub fn state(&self) -> State {
        match self.state.load(Ordering::Acquire) {
            0 => State::Cold,
            1 => State::Building,
            _ => State::Live,
        }
    }

    /// Writers have to maintain it.
    #[inline]
    pub fn is_maintained(&self) -> bool {
        self.state.load(Ordering::Acquire) != State::Cold as u8
    }

    /// The tree, once it is complete.
    pub fn tree(&self) -> Option<&Tree> {
        self.tree.get()
    }

    /// Waits until nobody else builds. `go_on` is asked from time to time; its error ends the wait.
    pub fn take_build(&self, go_on: GoOn<'_>) -> Result<Building<'_>> {
        loop {
            {
                let mut busy = self.building.lock();
                if !*busy {
                    *busy = true;
                    return Ok(Building(self));
                }
                drop(self.built.wait(busy, BUILD_WAIT));
            }
            go_on()?;
        }
    }

    /// A build ends before its time: nobody maintains the index any more. Leaves that loads brought meanwhile stay
    /// pending, which does no harm to the next build.
    pub fn abandon_build(&self) {
        let mut log = self.log.lock();
        self.state.store(State::Cold as u8, Ordering::Release);
        log.clear();
        drop(log);
        self.orphans.lock().clear();
    }

    pub fn begin_build(&self) {
        self.state.store(State::Building as u8, Ordering::Release);
    }

    /// Lets readers see the tree, which has all that the leaves held. What came meanwhile is still in the log.
    pub fn set_tree(&self, tree: Tree) {
        self.tree.set(tree).expect("one build at a time, and it happens once");
    }

    /// What was noted since the build began or since the last call; after an empty answer the index is live.
    pub fn take_log(&self) -> Vec<KeyedRow> {
        let mut log = self.log.lock();
        if log.is_empty() {
            self.state.store(State::Live as u8, Ordering::Release);
        }
        std::mem::take(&mut log)
    }

    /// Notes the key while the index is being built. False: it is live, or cold.
    fn note(&self, key: &[u8], row_id: u64) -> bool {
        if self.state() != State::Building {
            return false;
        }
        let mut log = self.log.lock();
        let building = self.state() == State::Building;
        if building {
            log.push((key.to_vec(), row_id));
        }
        building
    }

    /// A row gets this key. The leaf's key latch is held.
    pub fn enter(&self, key: &[u8], row_id: u64) {
        if self.is_maintained()
            && !self.note(key, row_id)
            && let Some(tree) = self.tree()
        {
            tree.insert(key, row_id);
        }
    }

    /// The row may have no version with this key any more: `used` looks. The leaf's key latch is held.
    pub fn forget(&self, key: &[u8], row_id: u64, used: impl FnOnce() -> bool) {
        if self.is_maintained()
            && !self.note(key, row_id)
            && let Some(tree) = self.tree()
            && !used()
        {
            tree.remove(key, row_id);
        }
    }

    /// Makes the entry exist just if a version needs it. The leaf's key latch is held.
    pub fn reconcile(&self, key: &[u8], row_id: u64, used: bool) {
        if let Some(tree) = self.tree() {
            if used {
                tree.insert(key, row_id);
            } else {
                tree.remove(key, row_id);
            }
        }
    }

    /// Updates made before the index existed keep before-images of the columns they changed alone: when such a version
    /// is pruned, its key cannot be told any more. Its entry is remembered here, from before the leaf's latch is let go
    /// under which the version was read, and looked at whenever versions of the leaf are pruned, until it is gone.
    pub fn add_orphans(&self, orphans: Vec<KeyedRow>) {
        if !orphans.is_empty() {
            self.orphans.lock().extend(orphans.into_iter().map(|(key, row_id)| (row_id, key)));
        }
    }

    pub fn has_orphans(&self) -> bool {
        !self.orphans.lock().is_empty()
    }

    /// Those of a leaf, whose rows have these ids.
    pub fn orphans(&self, rows: Range<u64>) -> Vec<KeyedRow> {
        let orphans = self.orphans.lock();
        orphans.range((rows.start, Vec::new())..(rows.end, Vec::new())).map(|(row, key)| (key.clone(), *row)).collect()
    }

    /// No version has the orphan's key any more. The leaf's key latch is held.
    pub fn bury(&self, (key, row_id): KeyedRow) {
        self.forget(&key, row_id, || false);
        self.orphans.lock().remove(&(row_id, key));
    }

    /// A load has attached this leaf.
    pub fn add_pending(&self, leaf_no: u64) {
        let mut pending = self.pending.lock();
        pending.push(leaf_no);
        self.pending_count.fetch_add(1, Ordering::Release);
    }

    pub fn has_pending(&self) -> bool {
        self.pending_count.load(Ordering::Acquire) > 0
    }

    pub fn pending(&self) -> Vec<u64> {
        self.pending.lock().clone()
    }

    /// The first `n` pending leaves are in.
    pub fn pending_done(&self, n: usize) {
        self.pending.lock().drain(..n);
        self.pending_count.fetch_sub(n, Ordering::Release);
    }

    pub fn bytes_allocated(&self) -> usize {
        self.tree().map_or(0, Tree::bytes_allocated)
    }
}
