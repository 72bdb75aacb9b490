//! Reading tables in the order of an index, and building what that takes.
//!
//! ```text
//!   index_encoder ─▶ KeyRange ─▶ index_cursor ─▶ Candidates ─▶ fetch_candidates ─▶ the rows that the snapshot sees
//! ```
//! See [`crate::index::ordered`] for when an ordered index exists and how it keeps up.

use crate::index::btree::{Entries, Tree, sort_while};
use crate::index::cursor::{Candidates, IndexCursor, KeyRange, merge};
use crate::index::encode::KeyEncoder;
use crate::index::ordered::{GoOn, KeyedRow, OrderedIndex, State};
use crate::index::set::IndexSet;
use crate::leaf::Leaf;
use crate::sync::{AtomicU64, Ordering};
use crate::table::Table;
use crate::txn::Snapshot;
use std::sync::Arc;
use types::Result;
use vector::Chunk;

/// Rows found by an ordered index, in its order.
#[derive(Clone, Debug)]
pub struct IndexRows {
    pub row_ids: Vec<u64>,
    /// One chunk a wanted column, one position a row.
    pub columns: Vec<Chunk>,
}

/// Fewer rows than this are not worth a second thread to a build.
const BUILD_ROWS_PER_THREAD: u64 = 50_000;
const BUILD_THREADS_MAX: usize = 16;
/// More than any key has.
const TREE_ENTRIES_MAX: usize = 1 << 48;

impl Table {
    fn ordered(&self, index: usize) -> Option<Arc<OrderedIndex>> {
        self.indexes().ordered.get(index)?.clone()
    }

    /// Whether anybody has looked rows up in the index since it was made or the server started. `None`: it has no
    /// ordered form.
    pub fn index_was_read(&self, index: usize) -> Option<bool> {
        self.ordered(index).map(|i| i.was_read())
    }

    /// What makes keys of the index at this position of the definition. `None`: the index has no ordered form.
    pub fn index_encoder(&self, index: usize) -> Option<IndexEncoder> {
        self.ordered(index).map(IndexEncoder)
    }

    /// A walk through a range of the index. The first one builds the index. `None`: it has no ordered form.
    pub fn index_cursor(&self, index: usize, range: &KeyRange, reverse: bool) -> Option<IndexCursor<'_>> {
        let set = self.indexes();
        let ordered = set.ordered.get(index)?.clone()?;
        ordered.note_read();
        self.make_live(&set, index, &ordered);
        let unique = if ordered.leaves_out_runs { set.unique.get(index).cloned() } else { None };
        Some(IndexCursor::new(ordered, unique, self.rows(), range, reverse))
    }

    /// The candidates that `snapshot` sees, each once: under the key that its visible version has. In their order.
    pub fn fetch_candidates(
        &self,
        index: usize,
        candidates: &Candidates,
        columns: &[usize],
        snapshot: &Snapshot,
    ) -> IndexRows {
        let row_ids = self.visible_candidates(index, candidates, snapshot);
        let fetched = self.fetch(&row_ids, columns, snapshot);
        debug_assert!(fetched.seen.is_none(), "a snapshot does not lose rows");
        IndexRows { row_ids, columns: fetched.columns }
    }

    /// The row ids of the candidates that `snapshot` sees under their keys, in their order.
    pub fn visible_candidates(&self, index: usize, candidates: &Candidates, snapshot: &Snapshot) -> Vec<u64> {
        let Some(ordered) = self.ordered(index) else { return Vec::new() };
        let mut scratch = Vec::new();
        let mut out = Vec::with_capacity(candidates.len());
        let row_ids = candidates.row_ids();
        self.rows().each_brought_near(row_ids, ordered.encoder.columns(), |i| {
            let seen = self.rows().with(row_ids[i], |leaf, slot| {
                let has = |at: &dyn Fn(usize) -> _| ordered.encoder.has_key(at, candidates.key(i), &mut scratch);
                leaf.with_seen(slot, snapshot, has)
            });
            if seen == Some(Some(true)) {
                out.push(row_ids[i]);
            }
        });
        out
    }

    /// Appends to `out` the candidates whose keys start with `key`. False: the index has no ordered form.
    pub fn index_get(&self, index: usize, key: &[u8], out: &mut Candidates) -> bool {
        let set = self.indexes();
        let Some(Some(ordered)) = set.ordered.get(index) else { return false };
        ordered.note_read();
        self.make_live(&set, index, ordered);
        match ordered.tree() {
            Some(tree) if !ordered.leaves_out_runs => tree.get(key, out),
            _ => return self.index_get_many(index, &[key.to_vec()], usize::MAX, out, &mut Vec::new()),
        }
        true
    }

    /// Looks up many keys at once: appends to `out` the candidates whose keys start with each of `keys`, in order of
    /// `keys`, the first `most` of each, and to `ends` where those of each key end. False: the index has no ordered
    /// form.
    pub fn index_get_many(
        &self,
        index: usize,
        keys: &[Vec<u8>],
        most: usize,
        out: &mut Candidates,
        ends: &mut Vec<u32>,
    ) -> bool {
        let set = self.indexes();
        let Some(Some(ordered)) = set.ordered.get(index) else { return false };
        ordered.note_read();
        self.make_live(&set, index, ordered);
        if !ordered.leaves_out_runs
            && let Some(tree) = ordered.tree()
        {
            tree.get_many(keys.len(), |i| &keys[i], most, out, ends);
            return true;
        }
        let unique = set.unique.get(index).filter(|_| ordered.leaves_out_runs);
        let (mut from_runs, mut from_tree) = (Candidates::default(), Candidates::default());
        for key in keys {
            from_runs.clear();
            from_tree.clear();
            if let Some(interval) = KeyRange::prefix(key.clone()).interval() {
                // Runs before the tree: see `index::cursor`.
                if let Some(unique) = unique {
                    unique.walk_runs(&ordered.encoder, self.rows(), &interval, None, false, most, &mut from_runs);
                }
                if let Some(tree) = ordered.tree() {
                    tree.forward(
                        (&interval.start, 0),
                        interval.end.as_deref(),
                        most.min(TREE_ENTRIES_MAX),
                        &mut from_tree,
                    );
                }
                merge(&from_runs, &from_tree, false, out.len().saturating_add(most), out);
            }
            ends.push(out.len() as u32);
        }
        true
    }

    /// Builds the ordered form of the index if it does not exist, and brings in what loads left out.
    pub fn build_index(&self, index: usize) {
        self.build_index_while(index, &|| Ok(())).expect("nobody ends it");
    }

    /// Like [`Table::build_index`]; `go_on` is asked at every leaf, and while another thread builds: its error ends the
    /// work. Who means to read by the index calls this first, because reading builds it without asking.
    pub fn build_index_while(&self, index: usize, go_on: GoOn<'_>) -> Result<()> {
        let set = self.indexes();
        match set.ordered.get(index) {
            Some(Some(ordered)) => self.make_live_while(&set, index, ordered, go_on),
            _ => Ok(()),
        }
    }

    pub(crate) fn make_live(&self, set: &IndexSet, index: usize, ordered: &OrderedIndex) {
        self.make_live_while(set, index, ordered, &|| Ok(())).expect("nobody ends it");
    }

    pub(crate) fn make_live_while(
        &self,
        set: &IndexSet,
        index: usize,
        ordered: &OrderedIndex,
        go_on: GoOn<'_>,
    ) -> Result<()> {
        if ordered.state() == State::Live && !ordered.has_pending() {
            return Ok(());
        }
        let _building = ordered.take_build(go_on)?;
        if ordered.state() != State::Live {
            self.build(set, index, ordered, go_on)?;
        }
        self.catch_up(set, index, ordered, go_on)
    }

    fn build(&self, set: &IndexSet, index: usize, ordered: &OrderedIndex, go_on: GoOn<'_>) -> Result<()> {
        ordered.begin_build();
        self.indexes.change(|_| {});
        let leaf_count = self.leaf_count();
        let next_leaf = AtomicU64::new(0);
        let work = || -> Result<Entries> {
            let mut entries = Entries::new(ordered.encoder.width());
            loop {
                go_on()?;
                let leaf_no = next_leaf.fetch_add(1, Ordering::Relaxed);
                if leaf_no >= leaf_count {
                    break;
                }
                let slot = self.slot(leaf_no);
                let _keys = slot.lock_keys();
                self.leaf_entries(set, index, ordered, leaf_no, &mut |k, r| entries.push(k, r), true);
            }
            entries.sort_while(go_on)?;
            Ok(entries)
        };
        let entries: Result<Vec<_>> = self.with_build_threads(&work).into_iter().collect();
        let entries = entries.inspect_err(|_| ordered.abandon_build())?;
        let tree = Tree::build(ordered.encoder.width(), entries, go_on);
        ordered.set_tree(tree.inspect_err(|_| ordered.abandon_build())?);
        loop {
            let log = ordered.take_log();
            if log.is_empty() {
                break;
            }
            for (key, row_id) in &log {
                self.reconcile(ordered, key, *row_id);
            }
        }
        Ok(())
    }

    /// Runs `work` in as many threads as a pass over the table is worth.
    pub(crate) fn with_build_threads<R: Send>(&self, work: &(dyn Fn() -> R + Sync)) -> Vec<R> {
        let wanted = (self.row_count() / BUILD_ROWS_PER_THREAD) as usize + 1;
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let threads = wanted.min(cores).min(BUILD_THREADS_MAX);
        std::thread::scope(|scope| {
            let helpers: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mut results = vec![work()];
            results.extend(helpers.into_iter().map(|h| h.join().expect("reading leaves does not panic")));
            results
        })
    }

    /// Brings in the leaves that loads attached since.
    fn catch_up(&self, set: &IndexSet, index: usize, ordered: &OrderedIndex, go_on: GoOn<'_>) -> Result<()> {
        let Some(tree) = ordered.tree() else { return Ok(()) };
        let pending = ordered.pending();
        let mut entries: Vec<KeyedRow> = Vec::new();
        for &leaf_no in &pending {
            go_on()?;
            let _keys = self.slot(leaf_no).lock_keys();
            entries.clear();
            let mut push = |key: &[u8], row_id| entries.push((key.to_vec(), row_id));
            self.leaf_entries(set, index, ordered, leaf_no, &mut push, true);
            entries.sort_unstable();
            entries.iter().for_each(|(key, row_id)| _ = tree.insert(key, *row_id));
            ordered.pending_done(1);
        }
        Ok(())
    }

    /// Makes the entry exist just if a version of the row has the key.
    fn reconcile(&self, ordered: &OrderedIndex, key: &[u8], row_id: u64) {
        let _keys = self.slot(self.split(row_id).0).lock_keys();
        ordered.reconcile(key, row_id, self.has_version_with(ordered, key, row_id));
    }

    /// Calls `push` with the entries of all versions of the leaf's rows. Its key latch is held. `enters`: they enter
    /// the index, and so do its orphans.
    fn leaf_entries(
        &self,
        set: &IndexSet,
        index: usize,
        ordered: &OrderedIndex,
        leaf_no: u64,
        push: &mut dyn FnMut(&[u8], u64),
        enters: bool,
    ) {
        let first = match set.unique.get(index) {
            Some(unique) if ordered.leaves_out_runs => unique.run_rows(self.rows(), leaf_no),
            _ => 0,
        };
        let state = self.slot(leaf_no).read();
        let Some(leaf) = state.leaf() else { return };
        let (mut key, mut orphans) = (Vec::new(), Vec::new());
        for slot in first..leaf.rows() {
            let row_id = self.row_id(leaf_no, slot);
            if !leaf.has_versions() {
                if leaf.is_live(slot) {
                    key.clear();
                    ordered.encoder.encode_row(&|c| (leaf.column(c), slot), &mut key);
                    push(&key, row_id);
                }
                continue;
            }
            let mut last: Option<Vec<u8>> = None;
            leaf.each_version(slot, |at, ended_by| {
                key.clear();
                ordered.encoder.encode_row(at, &mut key);
                if last.as_ref() != Some(&key) {
                    let columns = ordered.encoder.columns();
                    if enters && ended_by.is_some_and(|before| !before.has_all(columns)) {
                        orphans.push((key.clone(), row_id));
                    }
                    push(&key, row_id);
                    last = Some(key.clone());
                }
                false
            });
        }
        ordered.add_orphans(orphans);
    }

    /// A run's `n` rows are in the hash now: they enter the tree, and the run goes.
    pub(crate) fn run_dissolved(&self, set: &IndexSet, index: usize, leaf_no: u64, n: usize) {
        let slot = self.slot(leaf_no);
        let _keys = slot.lock_keys();
        if let Some(Some(ordered)) = set.ordered.get(index)
            && ordered.leaves_out_runs
            && ordered.is_maintained()
        {
            let mut keys = Vec::new();
            if let Some(leaf) = slot.read().leaf() {
                let wanted = (0..n.min(leaf.rows())).filter(|&s| leaf.each_version(s, |_, _| true));
                keys.extend(wanted.map(|s| (key_in_place(&ordered.encoder, leaf, s), self.row_id(leaf_no, s))));
            }
            keys.iter().for_each(|(key, row_id)| ordered.enter(key, *row_id));
        }
        set.unique[index].remove_run(leaf_no);
    }

    /// Versions of the leaf have gone: so do the entries that nobody else would take away.
    pub(crate) fn look_at_orphans(&self, set: &IndexSet, leaf_no: u64) {
        for (_, ordered) in set.maintained().filter(|(_, o)| o.has_orphans()) {
            for orphan in ordered.orphans(self.row_id(leaf_no, 0)..self.row_id(leaf_no + 1, 0)) {
                let _keys = self.slot(leaf_no).lock_keys();
                if !self.has_version_with(ordered, &orphan.0, orphan.1) {
                    ordered.bury(orphan);
                }
            }
        }
    }

    /// Compares live ordered indexes with the heap, both ways.
    pub(crate) fn check_ordered(&self, go_on: GoOn<'_>, faults: &mut Vec<String>) -> Result<()> {
        let set = self.indexes();
        for (i, ordered) in set.ordered.iter().enumerate() {
            let Some(ordered) = ordered.as_ref().filter(|o| o.state() == State::Live) else { continue };
            self.make_live_while(&set, i, ordered, go_on)?;
            let name = &set.def.indexes[i].name;
            let Some(tree) = ordered.tree() else { continue };
            let mut wanted: Vec<KeyedRow> = Vec::new();
            for leaf_no in 0..self.leaf_count() {
                go_on()?;
                let _keys = self.slot(leaf_no).lock_keys();
                let mut push = |key: &[u8], row_id| wanted.push((key.to_vec(), row_id));
                self.leaf_entries(&set, i, ordered, leaf_no, &mut push, false);
            }
            sort_while(&mut wanted, &KeyedRow::cmp, go_on)?;
            wanted.dedup();
            let mut found = vec![false; wanted.len()];
            let mut there = Candidates::default();
            let mut from: KeyedRow = (Vec::new(), 0);
            let mut more = true;
            while more {
                go_on()?;
                there.clear();
                more = tree.forward((&from.0, from.1), None, 4096, &mut there);
                for (at, &row_id) in there.row_ids().iter().enumerate() {
                    let key = there.key(at);
                    if (key, row_id) < (&from.0[..], from.1) {
                        faults.push(format!("{name}: the entry of row {row_id} is out of order"));
                    }
                    from = (key.to_vec(), row_id + 1);
                    match wanted.binary_search_by(|w| (&w.0[..], w.1).cmp(&(key, row_id))) {
                        Ok(i) => found[i] = true,
                        Err(_) if self.is_kept_for_nothing(ordered, tree, key, row_id, go_on)? => {
                            faults.push(format!("{name}: no version of row {row_id} has the key of its entry"))
                        }
                        Err(_) => {}
                    }
                }
            }
            let mut missing = 0;
            for (i, (key, row_id)) in wanted.iter().enumerate().filter(|(i, _)| !found[*i]) {
                if i % 1024 == 0 {
                    go_on()?;
                }
                let _keys = self.slot(self.split(*row_id).0).lock_keys();
                missing += usize::from(self.has_version_with(ordered, key, *row_id) && !tree.contains(key, *row_id));
            }
            if missing > 0 {
                faults.push(format!("{name}: {missing} entries of versions are missing"));
            }
        }
        Ok(())
    }

    /// Whether the entry is there, although no version has its key and nobody is about to take it away.
    fn is_kept_for_nothing(
        &self,
        ordered: &OrderedIndex,
        tree: &Tree,
        key: &[u8],
        row_id: u64,
        go_on: GoOn<'_>,
    ) -> Result<bool> {
        loop {
            go_on()?;
            let moment = self.removals.still();
            let kept = {
                let _keys = self.slot(self.split(row_id).0).lock_keys();
                !self.has_version_with(ordered, key, row_id) && tree.contains(key, row_id)
            };
            if !kept || self.is_still(moment) {
                return Ok(kept);
            }
            std::thread::yield_now();
        }
    }
}

fn key_in_place(encoder: &KeyEncoder, leaf: &Leaf, slot: usize) -> Vec<u8> {
    let mut key = Vec::new();
    encoder.encode_row(&|c| (leaf.column(c), slot), &mut key);
    key
}

/// The encoder of one of a table's indexes.
#[derive(Clone, Debug)]
pub struct IndexEncoder(Arc<OrderedIndex>);

impl std::ops::Deref for IndexEncoder {
    type Target = KeyEncoder;
    fn deref(&self) -> &KeyEncoder {
        &self.0.encoder
    }
}
