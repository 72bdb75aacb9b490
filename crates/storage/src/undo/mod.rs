//! Versions of rows: before-images, newest first.
//!
//! The leaf holds every row's newest version in place. A row that changed since the oldest snapshot in use has a chain
//! of [`Undo`] records; each says how to get from one version to the one before it:
//!
//! ```text
//!   leaf.versions.heads            newest                            oldest
//!   slot 7 ──▶ Undo{Delete, txn 9} ──▶ Undo{Update, txn 8, price was 3} ──▶ Undo{Insert, txn 5}
//!   in place: price = 4, live = 0
//!
//!   a snapshot that sees txn 8 but not txn 9 undoes one record:  the row exists, price = 4
//!   a snapshot that sees txn 5 only undoes two:                  the row exists, price = 3
//! ```
//!
//! What a row held before an update lies beside the chains, column by column ([`images`]): a record names its place
//! there.
//!
//! Invariants
//! 1. A chain's transactions were all committed when the next newer record was pushed, or are that record's own: at
//!    most one transaction has uncommitted records in a chain, and they are its newest.
//! 2. Records whose transaction committed at or before the oldest snapshot are of no use to anybody and are pruned.
//! 3. An update that touches a column of a unique index carries before-images of all columns of that index.
//! 4. A lock and the change for which it was taken are one record, as long as no savepoint lies between them: so there
//!    is one record a row and savepoint, and one note of it in the transaction.
//! 5. A record goes from between others, too, when no snapshot in use can tell the version that it leads to from the
//!    next older one ([`prune`]). What is left still leads every snapshot in use to the version that it saw before, and
//!    the record of a row's end stays.
//!
//! Source: Neumann, Mühlbauer, Kemper, "Fast Serializable Multi-Version Concurrency Control for Main-Memory Database
//! Systems", SIGMOD 2015.

mod images;
mod prune;

pub use images::{Before, Image, Images, in_place};
pub use prune::{Gone, Left};

use crate::txn::{Snapshot, Txn};
use std::sync::Arc;

/// What the newer version did, so that it can be undone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UndoKind {
    /// The row did not exist before.
    Insert,
    /// The row existed, with the values that lie in place.
    Delete,
    /// Some columns had other values: those of the image.
    Update(Image),
    /// Nothing: the row was only locked.
    Lock,
}

/// What a record takes on the heap, about, with its place among the heads and the transaction's note of it.
const RECORD_BYTES: usize = 96;
/// The same of one of several heads that share a record.
const HEAD_BYTES: usize = 32;

/// One record of a row's chain.
#[derive(Debug)]
pub struct Undo {
    pub txn: Arc<Txn>,
    /// The transaction's statement that made the newer version.
    pub statement: u32,
    /// How many savepoints the transaction had taken by then.
    pub savepoints: u32,
    pub kind: UndoKind,
    pub next: Option<Arc<Undo>>,
}

impl Undo {
    /// A record of `txn`'s current statement.
    pub fn new(txn: &Arc<Txn>, kind: UndoKind, next: Option<Arc<Undo>>) -> Undo {
        txn.unasked.add(RECORD_BYTES);
        Undo { txn: txn.clone(), statement: txn.statement(), savepoints: txn.savepoints(), kind, next }
    }

    /// Whether `snapshot` sees the newer version, so that this record is not to be undone for it.
    #[inline]
    pub fn is_seen_by(&self, snapshot: &Snapshot) -> bool {
        snapshot.sees(&self.txn, self.statement)
    }
}

impl Drop for Undo {
    /// A hot row's chain may be long: it is dropped in a loop, not by recursion.
    fn drop(&mut self) {
        let mut next = self.next.take();
        while let Some(undo) = next {
            next = Arc::try_unwrap(undo).ok().and_then(|mut u| u.next.take());
        }
    }
}

/// The chains of one leaf.
#[derive(Debug, Default)]
pub struct Versions {
    /// Ascending by slot; at most one chain a slot.
    heads: Vec<(u16, Arc<Undo>)>,
    images: Images,
    /// Records of all chains; one that several chains share counts in each.
    records: usize,
    /// Number of records at which the next writer prunes; doubles with what is left, so pruning is amortized.
    prune_at: usize,
}

/// Records below which writers never prune.
const PRUNE_RECORDS_MIN: usize = 16;

impl Versions {
    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    fn find(&self, slot: u16) -> Result<usize, usize> {
        match self.heads.last() {
            Some((last, _)) if *last < slot => Err(self.heads.len()),
            None => Err(0),
            _ => self.heads.binary_search_by_key(&slot, |h| h.0),
        }
    }

    pub fn head(&self, slot: u16) -> Option<&Arc<Undo>> {
        self.find(slot).ok().map(|i| &self.heads[i].1)
    }

    pub fn iter(&self) -> impl Iterator<Item = (u16, &Undo)> {
        self.heads.iter().map(|(slot, undo)| (*slot, &**undo))
    }

    /// What an update's record says was there before.
    pub fn before(&self, image: Image) -> Before<'_> {
        self.images.get(image)
    }

    pub fn images_mut(&mut self) -> &mut Images {
        &mut self.images
    }

    /// Records of all chains.
    pub fn records(&self) -> usize {
        self.records
    }

    /// Makes `undo` the newest record of `slot`, in front of what is there.
    pub fn push(&mut self, slot: u16, txn: &Arc<Txn>, kind: UndoKind) {
        self.records += 1;
        match self.find(slot) {
            Ok(i) => {
                let next = Some(self.heads[i].1.clone());
                self.heads[i].1 = Arc::new(Undo::new(txn, kind, next));
            }
            Err(i) => self.heads.insert(i, (slot, Arc::new(Undo::new(txn, kind, None)))),
        }
    }

    /// Like [`Versions::push`], but a lock that the running statement has just put on the row becomes the change.
    /// False: that was so, and the transaction has noted the row already.
    pub fn push_change(&mut self, slot: u16, txn: &Arc<Txn>, kind: UndoKind) -> bool {
        let Ok(i) = self.find(slot) else {
            self.push(slot, txn, kind);
            return true;
        };
        let head = &mut self.heads[i].1;
        let is_own_lock = matches!(head.kind, UndoKind::Lock)
            && head.txn.id() == txn.id()
            && (head.statement, head.savepoints) == (txn.statement(), txn.savepoints());
        if !is_own_lock {
            self.push(slot, txn, kind);
            return true;
        }
        match Arc::get_mut(head) {
            Some(lock) => lock.kind = kind,
            None => {
                let next = head.next.clone();
                *head = Arc::new(Undo::new(txn, kind, next));
            }
        }
        false
    }

    /// `undo`, an insert without a predecessor, for each of `slots`, which have no chain.
    pub fn push_inserts(&mut self, slots: std::ops::Range<u16>, undo: &Arc<Undo>) {
        debug_assert!(self.heads.last().is_none_or(|(last, _)| *last < slots.start));
        self.records += slots.len();
        undo.txn.unasked.add(slots.len() * HEAD_BYTES);
        self.heads.extend(slots.map(|s| (s, undo.clone())));
    }

    /// Takes the newest record of `slot` away. Its image, if it has one, is the caller's to let go.
    pub fn pop(&mut self, slot: u16) -> Option<UndoKind> {
        let i = self.find(slot).ok()?;
        self.records -= 1;
        let kind = self.heads[i].1.kind;
        match self.heads[i].1.next.clone() {
            Some(next) => self.heads[i].1 = next,
            None => {
                self.heads.remove(i);
            }
        }
        Some(kind)
    }

    pub fn wants_prune(&self) -> bool {
        self.records >= self.prune_at.max(PRUNE_RECORDS_MIN) || self.images.wants_compact()
    }
}
