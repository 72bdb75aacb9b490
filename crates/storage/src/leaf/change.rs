//! Changes of a leaf's rows, and taking them back.
//!
//! The new values go in place, what was there goes into a record of the transaction ([`crate::undo`]). A chunk that a
//! reader holds is copied first. Overwritten strings stay in their heap as garbage until that is worth a pass over the
//! leaf ([`vector::StrValues::tidy`]); so do the strings of rows that exist for nobody any more ([`Leaf::clear_free`]).

use super::Leaf;
use crate::txn::{ACTIVE, Horizon, Txn};
use crate::undo::{Gone, Left, Undo, UndoKind, in_place};
use std::ops::Range;
use std::sync::Arc;
use vector::{Chunk, Rows, Values};

impl Leaf {
    /// Appends rows of `columns`, inserted by `txn`; returns the first slot. `capacity`: the most rows of a leaf.
    pub fn append(&mut self, txn: &Arc<Txn>, columns: &[&Chunk], rows: Range<usize>, capacity: usize) -> usize {
        let (first, n) = (self.rows, rows.len());
        assert!(first + n <= capacity && columns.len() == self.columns.len());
        for (chunk, from) in self.columns.iter_mut().zip(columns) {
            let chunk = chunk_mut(chunk, n, capacity);
            chunk.append(from, Rows::Range(rows.start, rows.end));
            chunk.values.tidy_appended();
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
        if self.creator.is_some() { None } else { (from..self.rows).find(|slot| self.is_free(*slot)) }
    }

    fn is_free(&self, slot: usize) -> bool {
        !self.live.get(slot) && self.head(slot).is_none()
    }

    /// Lets go of the strings at those of `slots` whose rows exist for nobody: they stay there otherwise, long after
    /// the rows, until others come. Indexes must have no use for them any more.
    pub(crate) fn clear_free(&mut self, slots: impl Iterator<Item = usize> + Clone) {
        for c in 0..self.columns.len() {
            let Values::Str(s) = &self.columns[c].values else { continue };
            let has_bytes = |slot: &usize| !s.views[*slot].is_inline() && self.is_free(*slot);
            let slots: Vec<usize> = slots.clone().filter(has_bytes).collect();
            if !slots.is_empty() {
                let chunk = Arc::make_mut(&mut self.columns[c]);
                slots.into_iter().for_each(|slot| chunk.clear_string(slot));
                chunk.tidy();
            }
        }
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
        let all = columns.iter().chain(keep.iter().filter(|k| !columns.contains(k))).copied();
        let old = all.clone().map(|c| image_bytes(&self.columns[c], slot)).sum();
        txn.unasked.add(old);
        let versions = self.versions.get_or_insert_default();
        let kind = match columns.is_empty() && keep.is_empty() {
            true => UndoKind::Lock,
            false => UndoKind::Update(versions.images_mut().put(all, in_place(&self.columns, slot))),
        };
        let is_news = versions.push_change(slot as u16, txn, kind);
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
        match kind {
            UndoKind::Insert => {
                self.live.set(slot, false);
                self.live_count -= 1;
            }
            UndoKind::Delete => {
                self.live.set(slot, true);
                self.live_count += 1;
            }
            UndoKind::Update(image) => {
                for (c, from, at) in versions.before(image).each() {
                    set(&mut self.columns[c], slot, from, at);
                }
                versions.images_mut().let_go(image);
            }
            UndoKind::Lock => {}
        }
        if versions.is_empty() {
            self.versions = None;
        }
        Some(kind)
    }

    /// Takes away the versions that no snapshot of `horizon` needs; `gone` is told of those that matter further.
    pub fn prune(&mut self, horizon: &Horizon, gone: &mut dyn FnMut(u16, Gone<'_>)) -> Left {
        let is_old = self.creator.as_ref().is_some_and(|c| c.txn.commit_ts() <= horizon.oldest);
        if is_old {
            self.creator = None;
        }
        let mut left = self.versions.as_mut().map_or(Left::default(), |v| v.prune(horizon, gone));
        if self.versions.as_ref().is_some_and(|v| v.is_empty()) {
            self.versions = None;
        }
        let created = self.creator.as_ref().map(|c| c.txn.commit_ts()).filter(|ts| *ts != ACTIVE);
        left.until = left.until.max(created);
        left.is_everybodys = is_old;
        left
    }

    /// Records of all its rows' versions.
    pub fn records(&self) -> usize {
        self.versions.as_ref().map_or(0, |v| v.records())
    }

    /// Whether so many versions have gathered that a writer should prune.
    pub fn wants_prune(&self) -> bool {
        self.versions.as_ref().is_some_and(|v| v.wants_prune())
    }
}

/// What a before-image of the value takes.
fn image_bytes(chunk: &Chunk, slot: usize) -> usize {
    match &chunk.values {
        Values::Str(s) => size_of::<vector::StrView>() + s.bytes(slot).len(),
        Values::Dict(d) => size_of::<vector::StrView>() + d.bytes(slot).len(),
        _ => size_of::<u64>(),
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
    chunk.set(slot, from, at);
    chunk.tidy();
}
