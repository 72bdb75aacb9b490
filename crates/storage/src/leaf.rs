//! A leaf: up to 2^k rows of a table, column by column, with the versions of those that changed lately.
//!
//! ```text
//!   columns:  Arc<Chunk> │ Arc<Chunk> │ Arc<Chunk>      newest version of every row, in place
//!   live:     1 1 0 1 1 1                               newest version exists (uncommitted included)
//!   creator:  Some(txn)                                 all rows came with this transaction (bulk load)
//!   versions: slot 2 ─▶ Undo{Delete} ...                before-images, only where somebody may need them
//! ```
//! Invariants
//! 1. Every chunk has exactly `rows` positions; integers of full leaves lie in the narrowest array that holds them; so has `live`. `rows` only grows; a row that exists for nobody any more may make way for another.
//! 2. A reader clones the Arcs of the columns it wants and never sees them change: a writer's `Arc::make_mut` changes a
//!    chunk in place when nobody else holds it, and a copy of it otherwise.
//! 3. A slot without a chain in a leaf without a creator has one version: what lies in place, if live, for everybody.

use crate::shared::RowLockMode;
use crate::shared::SharedLocks;
use crate::txn::{Snapshot, Txn};
use crate::undo::{Pruned, Undo, UndoKind, Versions};
use std::ops::Range;
use std::sync::Arc;
use types::PhysType;
use vector::{Bitmap, Chunk, Rows, Selection, Values};

/// Who attached a bulk-loaded leaf, as long as not everybody sees it.
#[derive(Debug)]
struct Creator {
    txn: Arc<Txn>,
    statement: u32,
    /// Which piece of the load's input the rows came from.
    piece: u64,
}

/// The state of a row's newest version, from the point of view of one who wants to change it.
#[derive(Clone, Debug)]
pub enum RowState {
    /// It exists, and nobody else holds it.
    Free,
    /// Another transaction holds it.
    Held(Arc<Txn>),
    /// It does not exist, and nobody else holds it.
    Gone,
}

/// The rows of a leaf that a snapshot sees.
#[derive(Debug)]
pub struct Seen {
    /// Positions of each chunk.
    pub rows: usize,
    pub columns: Vec<Arc<Chunk>>,
    pub selection: Selection,
}

#[derive(Debug)]
pub struct Leaf {
    rows: usize,
    live_count: usize,
    live: Bitmap,
    columns: Box<[Arc<Chunk>]>,
    creator: Option<Creator>,
    versions: Option<Box<Versions>>,
    shared: Option<Box<SharedLocks>>,
}

/// A string heap smaller than this is never compacted.
const HEAP_COMPACT_BYTES_MIN: usize = 64 << 10;

impl Leaf {
    pub fn new(types: &[PhysType]) -> Leaf {
        Leaf {
            rows: 0,
            live_count: 0,
            live: Bitmap::default(),
            columns: types.iter().map(|&p| Arc::new(Chunk::empty(p, 0))).collect(),
            creator: None,
            versions: None,
            shared: None,
        }
    }

    /// A leaf whose rows all belong to `txn`'s current statement.
    pub fn created(txn: &Arc<Txn>, piece: u64, columns: Vec<Chunk>, rows: usize) -> Leaf {
        assert!(columns.iter().all(|c| c.len() == rows));
        Leaf {
            rows,
            live_count: rows,
            live: Bitmap::ones(rows),
            columns: columns.into_iter().map(Arc::new).collect(),
            creator: Some(Creator { txn: txn.clone(), statement: txn.statement(), piece }),
            versions: None,
            shared: None,
        }
    }

    /// Slots in use, dead ones included.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Rows whose newest version exists.
    pub fn live_count(&self) -> usize {
        self.live_count
    }

    pub fn column(&self, column: usize) -> &Arc<Chunk> {
        &self.columns[column]
    }

    pub fn has_versions(&self) -> bool {
        self.versions.is_some() || self.creator.is_some()
    }

    fn head(&self, slot: usize) -> Option<&Arc<Undo>> {
        self.versions.as_ref()?.head(slot as u16)
    }

    /// The newest record of the row's chain.
    pub fn newest(&self, slot: usize) -> Option<&Undo> {
        self.head(slot).map(|h| &**h)
    }

    fn creator_is_seen(&self, snapshot: &Snapshot) -> bool {
        self.creator.as_ref().is_none_or(|c| snapshot.sees(&c.txn, c.statement))
    }

    /// Whether `snapshot` sees a row at `slot`; `patch` is called with each update that has to be undone, newest first.
    fn resolve<'a>(
        &'a self,
        slot: usize,
        mut chain: Option<&'a Undo>,
        snapshot: &Snapshot,
        creator_is_seen: bool,
        mut patch: impl FnMut(&'a [u16], &'a [Chunk], usize),
    ) -> bool {
        let mut exists = self.live.get(slot);
        while let Some(undo) = chain {
            // A row that the snapshot's own transaction locked need not have the version that the snapshot sees.
            if undo.is_seen_by(snapshot) && !matches!(undo.kind, UndoKind::Lock) {
                break;
            }
            match &undo.kind {
                UndoKind::Insert => exists = false,
                UndoKind::Delete => exists = true,
                UndoKind::Update { columns, before, at } => patch(columns, before, *at as usize),
                UndoKind::Lock => {}
            }
            chain = undo.next.as_deref();
        }
        exists && creator_is_seen
    }

    /// Other active transactions that share the row.
    pub(crate) fn shared_by_others(&self, slot: usize, txn: &Txn) -> Vec<Arc<Txn>> {
        self.shared.as_ref().map_or(Vec::new(), |s| s.others(slot, txn.id()).cloned().collect())
    }

    /// Whether `txn` is one of those who share the row.
    pub(crate) fn shares(&self, slot: usize, txn: &Txn) -> bool {
        self.shared.as_ref().is_some_and(|s| s.has(slot, txn.id()))
    }

    /// Makes `txn` one of those who share the row.
    pub(crate) fn share(&mut self, slot: usize, txn: &Arc<Txn>) {
        self.shared.get_or_insert_default().add(slot, txn);
    }

    /// Another transaction that waits for those who share the row.
    pub(crate) fn writer(&self, slot: usize, txn: &Txn) -> Option<Arc<Txn>> {
        self.shared.as_ref()?.writer(slot, txn.id()).cloned()
    }

    /// `txn` waits for those who share the row.
    pub(crate) fn want(&mut self, slot: usize, txn: &Arc<Txn>) {
        self.shared.get_or_insert_default().want(slot, txn);
    }

    /// It does so no longer.
    pub(crate) fn unwant(&mut self, slot: usize, txn_id: u64) {
        if let Some(shared) = &mut self.shared {
            shared.unwant(slot, txn_id);
            if shared.is_empty() {
                self.shared = None;
            }
        }
    }

    /// The rows that `txn` shares.
    pub(crate) fn shared_by(&self, txn: &Txn) -> Vec<u16> {
        self.shared.as_ref().map_or(Vec::new(), |s| s.of(txn.id()).collect())
    }

    /// The transaction has ended: it shares no rows any more.
    pub(crate) fn unshare(&mut self, txn_id: u64) {
        if let Some(shared) = &mut self.shared {
            shared.remove(txn_id);
            if shared.is_empty() {
                self.shared = None;
            }
        }
    }

    /// Whether `txn` holds the row exclusively, by having changed or locked it.
    pub(crate) fn is_held_by(&self, slot: usize, txn: &Txn) -> bool {
        match self.head(slot) {
            Some(head) => head.txn.id() == txn.id(),
            None => self.creator.as_ref().is_some_and(|c| c.txn.id() == txn.id()),
        }
    }

    /// Whether SKIP LOCKED leaves the row out: another transaction holds it.
    fn is_skipped(&self, slot: usize, snapshot: &Snapshot) -> bool {
        let Some((own, mode)) = snapshot.skipping() else { return false };
        let other = |t: &Arc<Txn>| t.id() != own && t.holds_rows();
        let held = match (self.head(slot), &self.creator) {
            (Some(head), _) => other(&head.txn),
            (None, Some(creator)) => other(&creator.txn),
            (None, None) => false,
        };
        let shared = || self.shared.as_ref().is_some_and(|s| s.others(slot, own).next().is_some());
        held || mode == RowLockMode::Exclusive && shared()
    }

    /// The rows that `snapshot` sees, with the wanted columns; `None` if there are none.
    pub fn view(&self, columns: &[usize], snapshot: &Snapshot) -> Option<Seen> {
        let mut seen = self.view_all(columns, snapshot)?;
        if snapshot.skipping().is_some() && (self.has_versions() || self.shared.is_some()) {
            let mut positions = seen.selection.to_positions(seen.rows);
            positions.retain(|&slot| !self.is_skipped(slot as usize, snapshot));
            if positions.is_empty() {
                return None;
            }
            seen.selection = Selection::Some(positions);
        }
        Some(seen)
    }

    /// As [`Leaf::view`], rows that SKIP LOCKED leaves out included.
    fn view_all(&self, columns: &[usize], snapshot: &Snapshot) -> Option<Seen> {
        let seen = |selection| {
            let columns = columns.iter().map(|&c| self.columns[c].clone()).collect();
            Seen { rows: self.rows, columns, selection }
        };
        if !self.has_versions() {
            return match self.live_count {
                0 => None,
                n if n == self.rows => Some(seen(Selection::All)),
                _ => Some(seen(Selection::from_bitmap(&self.live))),
            };
        }
        let creator_is_seen = self.creator_is_seen(snapshot);
        let Some(versions) = &self.versions else {
            return (creator_is_seen && self.live_count > 0).then(|| seen(Selection::from_bitmap(&self.live)));
        };
        let mut bits = if creator_is_seen { self.live.clone() } else { Bitmap::zeros(self.rows) };
        let mut out = seen(Selection::All);
        for (slot, head) in versions.iter() {
            let exists = self.resolve(slot as usize, Some(head), snapshot, creator_is_seen, |changed, before, at| {
                for (c, chunk) in changed.iter().zip(before) {
                    if let Some(i) = columns.iter().position(|&w| w == *c as usize) {
                        // The leaf holds the chunk too, so this changes a private copy.
                        Arc::make_mut(&mut out.columns[i]).set(slot as usize, chunk, at);
                    }
                }
            });
            bits.set(slot as usize, exists);
        }
        // A column wanted twice is patched once; the others share it.
        for i in 1..columns.len() {
            if let Some(first) = columns[..i].iter().position(|c| *c == columns[i]) {
                out.columns[i] = out.columns[first].clone();
            }
        }
        out.selection = Selection::from_bitmap(&bits);
        (!out.selection.is_empty(self.rows)).then_some(out)
    }

    /// Whether `snapshot` sees a row at `slot`.
    pub fn is_seen(&self, slot: usize, snapshot: &Snapshot) -> bool {
        if slot >= self.rows || self.is_skipped(slot, snapshot) {
            return false;
        }
        if !self.has_versions() {
            return self.live.get(slot);
        }
        self.resolve(slot, self.head(slot).map(|h| &**h), snapshot, self.creator_is_seen(snapshot), |_, _, _| {})
    }

    /// Calls `f` with the chunk and position that hold `column` of the row at `slot` as `snapshot` sees it.
    /// `None` if it sees no row there.
    pub fn with_seen<'a, R>(
        &'a self,
        slot: usize,
        snapshot: &Snapshot,
        f: impl FnOnce(&dyn Fn(usize) -> (&'a Chunk, usize)) -> R,
    ) -> Option<R> {
        if slot >= self.rows || self.is_skipped(slot, snapshot) {
            return None;
        }
        let Some(head) = self.head(slot) else {
            let exists = self.live.get(slot) && self.creator_is_seen(snapshot);
            return exists.then(|| f(&|c| (&self.columns[c], slot)));
        };
        let mut undone: Vec<(&[u16], &[Chunk], usize)> = Vec::new();
        let exists = self.resolve(slot, Some(head), snapshot, self.creator_is_seen(snapshot), |changed, before, at| {
            undone.push((changed, before, at));
        });
        exists.then(|| {
            f(&|c| {
                // The oldest undone record that has the column holds the value seen.
                for (changed, before, at) in undone.iter().rev() {
                    if let Some(i) = changed.iter().position(|w| *w as usize == c) {
                        return (&before[i], *at);
                    }
                }
                (&self.columns[c], slot)
            })
        })
    }

    /// Whether there are versions of the row at `slot` that not everybody sees.
    pub fn is_versioned(&self, slot: usize) -> bool {
        self.creator.is_some() || self.head(slot).is_some()
    }

    pub fn is_live(&self, slot: usize) -> bool {
        slot < self.rows && self.live.get(slot)
    }

    /// The newest version's state, for `txn`.
    pub fn state(&self, slot: usize, txn: &Txn) -> RowState {
        if slot >= self.rows {
            return RowState::Gone;
        }
        if let Some(head) = self.head(slot) {
            if head.txn.id() != txn.id() && head.txn.holds_rows() {
                return RowState::Held(head.txn.clone());
            }
        } else if let Some(c) = &self.creator
            && c.txn.id() != txn.id()
            && c.txn.holds_rows()
        {
            return RowState::Held(c.txn.clone());
        }
        if self.live.get(slot) { RowState::Free } else { RowState::Gone }
    }

    /// Calls `f` with the chunk and position of each version's value of the columns, newest first, until it answers
    /// true; says whether it did. With `holder`, only the versions that its commit or rollback may leave. Updates that
    /// did not touch the columns are left out (see invariant 3 of [`crate::undo`]); so is the version in place of a row
    /// that nobody can see.
    pub fn any_version<'a>(
        &'a self,
        slot: usize,
        columns: &[usize],
        holder: Option<&Txn>,
        mut f: impl FnMut(&dyn Fn(usize) -> (&'a Chunk, usize)) -> bool,
    ) -> bool {
        if slot >= self.rows {
            return false;
        }
        let mut chain = self.head(slot).map(|h| &**h);
        if (self.live.get(slot) || chain.is_some()) && f(&|c| (&self.columns[c], slot)) {
            return true;
        }
        while let Some(undo) = chain.filter(|u| holder.is_none_or(|h| h.id() == u.txn.id())) {
            if let UndoKind::Update { columns: changed, before, at } = &undo.kind {
                let at = *at as usize;
                let find = |c: usize| changed.iter().position(|w| *w as usize == c);
                if columns.iter().all(|&c| find(c).is_some()) && f(&|c| (&before[find(c).expect("all are there")], at))
                {
                    return true;
                }
            }
            chain = undo.next.as_deref();
        }
        false
    }

    /// Calls `f` with the chunk and position of every column of each version, newest first, until it answers true; says
    /// whether it did. The second argument: the columns of which the record that ended the version has the values.
    pub fn each_version<'a>(
        &'a self,
        slot: usize,
        mut f: impl FnMut(&dyn Fn(usize) -> (&'a Chunk, usize), Option<&[u16]>) -> bool,
    ) -> bool {
        let mut chain = if slot < self.rows { self.head(slot).map(|h| &**h) } else { return false };
        if !self.live.get(slot) && chain.is_none() {
            return false;
        }
        if f(&|c| (&self.columns[c], slot), None) {
            return true;
        }
        let mut undone: Vec<(&[u16], &[Chunk], usize)> = Vec::new();
        while let Some(undo) = chain {
            if let UndoKind::Update { columns, before, at } = &undo.kind {
                undone.push((columns, before, *at as usize));
                let value = |c: usize| {
                    for (columns, before, at) in undone.iter().rev() {
                        if let Some(i) = columns.iter().position(|w| *w as usize == c) {
                            return (&before[i], *at);
                        }
                    }
                    (&*self.columns[c], slot)
                };
                if f(&value, Some(columns)) {
                    return true;
                }
            }
            chain = undo.next.as_deref();
        }
        false
    }

    fn versions_mut(&mut self) -> &mut Versions {
        self.versions.get_or_insert_default()
    }

    /// Appends rows of `columns`, inserted by `txn`; returns the first slot. `capacity`: the most rows of a leaf.
    pub fn append(&mut self, txn: &Arc<Txn>, columns: &[&Chunk], rows: Range<usize>, capacity: usize) -> usize {
        let (first, n) = (self.rows, rows.len());
        assert!(first + n <= capacity && columns.len() == self.columns.len());
        for (chunk, from) in self.columns.iter_mut().zip(columns) {
            chunk_mut(chunk, n, capacity).append(from, Rows::Range(rows.start, rows.end));
        }
        self.rows += n;
        self.live_count += n;
        self.live.resize(self.rows);
        for slot in first..self.rows {
            self.live.set(slot, true);
        }
        let undo = Arc::new(Undo::new(txn, UndoKind::Insert, None));
        let slots = first as u16..self.rows as u16;
        self.versions_mut().push_inserts(slots, &undo);
        if self.rows == capacity {
            for chunk in &mut self.columns {
                if let Some(chunk) = Arc::get_mut(chunk) {
                    chunk.narrow();
                    chunk.shrink();
                }
            }
        }
        first
    }

    /// The first slot from `from` on whose row exists for nobody.
    pub(crate) fn free_slot(&self, from: usize) -> Option<usize> {
        let is_free = |slot: &usize| !self.live.get(*slot) && self.head(*slot).is_none();
        if self.creator.is_some() { None } else { (from..self.rows).find(is_free) }
    }

    /// Has a row of `columns`, inserted by `txn`, take a free slot.
    pub(crate) fn revive(&mut self, txn: &Arc<Txn>, slot: usize, columns: &[&Chunk], row: usize) {
        debug_assert!(!self.live.get(slot) && self.head(slot).is_none());
        self.versions_mut().push(slot as u16, txn, UndoKind::Insert);
        for (chunk, from) in self.columns.iter_mut().zip(columns) {
            set(chunk, slot, from, row);
        }
        self.live.set(slot, true);
        self.live_count += 1;
    }

    /// Overwrites `columns` of the row at `slot` with position `at` of `values`. `keep` names further columns whose
    /// values the before-image has to carry. False: the transaction has noted the row already.
    pub fn update(
        &mut self,
        txn: &Arc<Txn>,
        slot: usize,
        columns: &[usize],
        values: &[&Chunk],
        at: usize,
        keep: &[usize],
    ) -> bool {
        let all = || columns.iter().chain(keep.iter().filter(|k| !columns.contains(k)));
        let before: Arc<[Chunk]> = all().map(|&c| self.columns[c].gather_owned(&[slot as u16])).collect();
        let changed: Arc<[u16]> = all().map(|&c| c as u16).collect();
        let kind = UndoKind::Update { columns: changed, before, at: 0 };
        let is_news = self.versions_mut().push_change(slot as u16, txn, kind);
        for (&c, from) in columns.iter().zip(values) {
            set(&mut self.columns[c], slot, from, at);
        }
        is_news
    }

    /// False: the transaction has noted the row already.
    pub fn delete(&mut self, txn: &Arc<Txn>, slot: usize) -> bool {
        debug_assert!(self.live.get(slot));
        let is_news = self.versions_mut().push_change(slot as u16, txn, UndoKind::Delete);
        self.live.set(slot, false);
        self.live_count -= 1;
        is_news
    }

    /// Makes `txn` the holder of the row at `slot`, unless it is already.
    pub fn lock(&mut self, txn: &Arc<Txn>, slot: usize) -> bool {
        let held = match self.head(slot) {
            Some(head) => head.txn.id() == txn.id(),
            None => self.creator.as_ref().is_some_and(|c| c.txn.id() == txn.id()),
        };
        if !held {
            self.versions_mut().push(slot as u16, txn, UndoKind::Lock);
        }
        !held
    }

    /// The piece of its input that `txn`'s current statement loaded the leaf from, if it did.
    pub fn piece(&self, txn: &Txn) -> Option<u64> {
        let c = self.creator.as_ref()?;
        (c.txn.id() == txn.id() && c.statement == txn.statement()).then_some(c.piece)
    }

    /// Drops a row that the running load brought: it never was. False: another thread of the load was faster.
    pub fn kill(&mut self, slot: usize) -> bool {
        debug_assert!(self.creator.is_some());
        let live = self.live.get(slot);
        if live {
            self.live.set(slot, false);
            self.live_count -= 1;
        }
        live
    }

    /// Takes back the newest record of `slot`; returns it.
    pub fn undo(&mut self, slot: usize) -> Option<UndoKind> {
        let versions = self.versions.as_mut()?;
        let kind = versions.pop(slot as u16)?;
        if versions.is_empty() {
            self.versions = None;
        }
        match &kind {
            UndoKind::Insert => {
                self.live.set(slot, false);
                self.live_count -= 1;
            }
            UndoKind::Delete => {
                self.live.set(slot, true);
                self.live_count += 1;
            }
            UndoKind::Update { columns, before, at } => {
                for (&c, from) in columns.iter().zip(before.iter()) {
                    set(&mut self.columns[c as usize], slot, from, *at as usize);
                }
            }
            UndoKind::Lock => {}
        }
        Some(kind)
    }

    /// Prunes what every snapshot from `oldest` on sees; records that matter further go to `out`.
    pub fn prune(&mut self, oldest: u64, out: &mut Vec<Pruned>) {
        if self.creator.as_ref().is_some_and(|c| c.txn.commit_ts() <= oldest) {
            self.creator = None;
        }
        if let Some(versions) = &mut self.versions {
            versions.prune(oldest, out);
            if versions.is_empty() {
                self.versions = None;
            }
        }
    }

    /// Whether so many versions have gathered that a writer should prune.
    pub fn wants_prune(&self) -> bool {
        self.versions.as_ref().is_some_and(|v| v.wants_prune())
    }

    /// The versions of the row at `slot`, newest first.
    pub(crate) fn chain(&self, slot: usize) -> Option<&Undo> {
        self.head(slot).map(|h| &**h)
    }

    /// Every row's newest version: slots, which of them exist, columns.
    pub(crate) fn contents(&self) -> (usize, Bitmap, Vec<Arc<Chunk>>) {
        (self.rows, self.live.clone(), self.columns.to_vec())
    }

    /// Whether a change is there that `snapshot` does not see.
    pub(crate) fn is_ahead_of(&self, snapshot: &Snapshot) -> bool {
        let ahead = |u: &Undo| !u.is_seen_by(snapshot);
        !self.creator_is_seen(snapshot) || self.versions.iter().flat_map(|v| v.iter()).any(|(_, head)| ahead(head))
    }

    /// A leaf as it was written once.
    pub(crate) fn restored(rows: usize, live: Bitmap, columns: Vec<Chunk>) -> Leaf {
        Leaf {
            rows,
            live_count: live.count_ones(),
            live,
            columns: columns.into_iter().map(Arc::new).collect(),
            creator: None,
            versions: None,
            shared: None,
        }
    }

    /// Recovery: has `set` overwrite columns at `slot`, which is made if need be, and lets the row exist or not.
    pub(crate) fn replay(
        &mut self,
        slot: usize,
        live: bool,
        set: impl FnOnce(&mut [Arc<Chunk>]) -> Option<()>,
    ) -> Option<()> {
        if slot >= self.rows {
            self.columns.iter_mut().for_each(|c| crate::image::row::grow(c, slot + 1));
            self.rows = slot + 1;
            self.live.resize(self.rows);
        }
        set(&mut self.columns)?;
        self.live_count += live as usize;
        self.live_count -= self.live.get(slot) as usize;
        self.live.set(slot, live);
        Some(())
    }

    /// Recovery: makes the zone maps that [`Leaf::replay`] dropped.
    pub(crate) fn end_replay(&mut self) {
        for chunk in self.columns.iter_mut().filter(|c| c.bounds.is_none()) {
            let chunk = Arc::make_mut(chunk);
            chunk.compute_bounds();
            chunk.narrow();
        }
    }

    /// No row exists, and nobody can see one that did.
    pub fn is_dead(&self) -> bool {
        self.live_count == 0 && !self.has_versions()
    }

    /// Bytes on the allocator's heap, except blocks shared with other leaves' dictionaries.
    pub fn bytes_allocated(&self) -> usize {
        let chunks: usize = self
            .columns
            .iter()
            .map(|c| match &c.values {
                Values::Dict(d) => d.codes.capacity() + c.validity.as_ref().map_or(0, |v| v.words().len() * 8),
                _ => c.bytes_allocated(),
            })
            .sum();
        chunks + self.columns.len() * (size_of::<Chunk>() + 16 + 8) + self.live.words().len() * 8 + size_of::<Leaf>()
    }
}

/// The chunk for change, with room for `more` rows: in place if nobody else holds it, else a copy.
fn chunk_mut(chunk: &mut Arc<Chunk>, more: usize, capacity: usize) -> &mut Chunk {
    let chunk = Arc::make_mut(chunk);
    // Growth by doubling, as Vec would, but never past the leaf: a copy made for a reader starts without spare room.
    let wanted = (chunk.len() * 2).max(8).min(capacity).max(chunk.len() + more);
    chunk.values.reserve(wanted - chunk.len());
    chunk
}

fn set(chunk: &mut Arc<Chunk>, slot: usize, from: &Chunk, at: usize) {
    let chunk = Arc::make_mut(chunk);
    let blocks = |c: &Chunk| if let Values::Str(s) = &c.values { s.heap.blocks.len() } else { 0 };
    let blocks_before = blocks(chunk);
    chunk.set(slot, from, at);
    // Overwritten strings leave garbage. Looking for it costs a pass over the leaf, so it is done per few blocks.
    if blocks(chunk) > blocks_before
        && blocks(chunk).is_multiple_of(8)
        && let Values::Str(s) = &mut chunk.values
        && s.heap.bytes_allocated() > HEAP_COMPACT_BYTES_MIN.max(s.heap_bytes_live() * 2)
    {
        s.compact();
    }
}
