//! Which rows of a leaf a snapshot sees, and with which values.
//!
//! ```text
//!   in place ─▶ record 3 ─▶ record 2 ─▶ record 1        newest first; each tells what was before
//!               not seen    not seen    seen: stop       values: those in place, with 3 and then 2 undone
//! ```
//! A whole leaf comes as the Arcs of its columns and a selection. Only columns in which an update has to be undone are
//! copied, and leaves without versions cost neither a copy nor a look at their rows.

use super::Leaf;
use crate::shared::RowLockMode;
use crate::txn::{Snapshot, Txn};
use crate::undo::{Before, Image, Undo, UndoKind};
use std::sync::Arc;
use vector::{Bitmap, Chunk, Selection};

/// The rows of a leaf that a snapshot sees.
#[derive(Debug)]
pub struct Seen {
    /// Positions of each chunk.
    pub rows: usize,
    pub columns: Vec<Arc<Chunk>>,
    pub selection: Selection,
}

impl Leaf {
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

    /// How many rows `snapshot` sees: those in place, but for the few that have versions.
    pub fn count_seen(&self, snapshot: &Snapshot) -> usize {
        if snapshot.skipping().is_some() {
            return self.view(&[], snapshot).map_or(0, |seen| seen.selection.count(seen.rows));
        }
        let creator_is_seen = self.creator_is_seen(snapshot);
        let mut count = if creator_is_seen { self.live_count } else { 0 };
        for (slot, head) in self.versions.iter().flat_map(|v| v.iter()) {
            let slot = slot as usize;
            let is_seen = self.resolve(slot, Some(head), snapshot, creator_is_seen, |_| {});
            let is_counted = creator_is_seen && self.live.get(slot);
            count = count + usize::from(is_seen) - usize::from(is_counted);
        }
        count
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
            let exists = self.resolve(slot as usize, Some(head), snapshot, creator_is_seen, |before| {
                for (c, chunk, at) in before.each() {
                    if let Some(i) = columns.iter().position(|&w| w == c) {
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
            return self.is_live(slot);
        }
        self.resolve(slot, self.head(slot).map(|h| &**h), snapshot, self.creator_is_seen(snapshot), |_| {})
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
        let mut undone: Vec<Before<'_>> = Vec::new();
        let creator_is_seen = self.creator_is_seen(snapshot);
        let exists = self.resolve(slot, Some(head), snapshot, creator_is_seen, |before| undone.push(before));
        exists.then(|| f(&|c| value_before(&undone, c).unwrap_or((&self.columns[c], slot))))
    }

    /// Whether a change is there that `snapshot` does not see.
    pub(crate) fn is_ahead_of(&self, snapshot: &Snapshot) -> bool {
        let ahead = |u: &Undo| !u.is_seen_by(snapshot);
        !self.creator_is_seen(snapshot) || self.versions.iter().flat_map(|v| v.iter()).any(|(_, head)| ahead(head))
    }

    /// Whether `snapshot` sees a row at `slot`; `patch` is called with what each update that has to be undone
    /// overwrote, newest first.
    fn resolve<'a>(
        &'a self,
        slot: usize,
        mut chain: Option<&'a Undo>,
        snapshot: &Snapshot,
        creator_is_seen: bool,
        mut patch: impl FnMut(Before<'a>),
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
                UndoKind::Update(image) => patch(self.before(*image)),
                UndoKind::Lock => {}
            }
            chain = undo.next.as_deref();
        }
        exists && creator_is_seen
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
            if let UndoKind::Update(image) = undo.kind {
                let before = self.before(image);
                if before.has_all(columns) && f(&|c| before.value(c).expect("all are there")) {
                    return true;
                }
            }
            chain = undo.next.as_deref();
        }
        false
    }

    /// Calls `f` with the chunk and position of every column of each version, newest first, until it answers true; says
    /// whether it did. The second argument: what the record that ended the version has of its values.
    pub fn each_version<'a>(
        &'a self,
        slot: usize,
        mut f: impl FnMut(&dyn Fn(usize) -> (&'a Chunk, usize), Option<Before<'a>>) -> bool,
    ) -> bool {
        let mut chain = if slot < self.rows { self.head(slot).map(|h| &**h) } else { return false };
        if !self.live.get(slot) && chain.is_none() {
            return false;
        }
        if f(&|c| (&self.columns[c], slot), None) {
            return true;
        }
        let mut undone: Vec<Before<'_>> = Vec::new();
        while let Some(undo) = chain {
            if let UndoKind::Update(image) = undo.kind {
                let before = self.before(image);
                undone.push(before);
                let value = |c: usize| value_before(&undone, c).unwrap_or((&self.columns[c], slot));
                if f(&value, Some(before)) {
                    return true;
                }
            }
            chain = undo.next.as_deref();
        }
        false
    }

    /// What an update's record of this leaf says was there before.
    pub(crate) fn before(&self, image: Image) -> Before<'_> {
        self.versions.as_ref().expect("its records lie there").before(image)
    }

    fn creator_is_seen(&self, snapshot: &Snapshot) -> bool {
        self.creator.as_ref().is_none_or(|c| snapshot.sees(&c.txn, c.statement))
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
}

/// The column's value before all these updates, newest first: the oldest that has the column holds it.
fn value_before<'a>(undone: &[Before<'a>], column: usize) -> Option<(&'a Chunk, usize)> {
    undone.iter().rev().find_map(|before| before.value(column))
}
