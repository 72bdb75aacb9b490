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
//! Invariants
//! 1. A chain's transactions were all committed when the next newer record was pushed, or are that record's own: at
//!    most one transaction has uncommitted records in a chain, and they are its newest.
//! 2. Records whose transaction committed at or before the oldest snapshot are of no use to anybody and are pruned.
//! 3. An update that touches a column of a unique index carries before-images of all columns of that index.
//! 4. A lock and the change for which it was taken are one record, as long as no savepoint lies between them: so there is
//!    one record a row and savepoint, and one note of it in the transaction.
//!
//! Source: Neumann, Mühlbauer, Kemper, "Fast Serializable Multi-Version Concurrency Control for Main-Memory Database
//! Systems", SIGMOD 2015.

use crate::txn::{Snapshot, Txn};
use std::sync::Arc;
use vector::Chunk;

/// What the newer version did, so that it can be undone.
#[derive(Clone, Debug)]
pub enum UndoKind {
    /// The row did not exist before.
    Insert,
    /// The row existed, with the values that lie in place.
    Delete,
    /// The columns `columns` had the values at position `at` of `before`.
    Update { columns: Arc<[u16]>, before: Arc<[Chunk]>, at: u16 },
    /// Nothing: the row was only locked.
    Lock,
}

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

/// A record that nobody needs any more, and the slot whose chain it was in.
#[derive(Debug)]
pub struct Pruned {
    pub slot: u16,
    pub kind: UndoKind,
}

/// The chains of one leaf.
#[derive(Debug, Default)]
pub struct Versions {
    /// Ascending by slot; at most one chain a slot.
    heads: Vec<(u16, Arc<Undo>)>,
    /// Number of chains at which the next writer prunes; doubles with what is left, so pruning is amortized.
    prune_at: usize,
}

/// Chains below which writers never prune.
const PRUNE_CHAINS_MIN: usize = 16;

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

    /// Makes `undo` the newest record of `slot`, in front of what is there.
    pub fn push(&mut self, slot: u16, txn: &Arc<Txn>, kind: UndoKind) {
        match self.find(slot) {
            Ok(i) => {
                let next = Some(self.heads[i].1.clone());
                self.heads[i].1 = Arc::new(Undo::new(txn, kind, next));
            }
            Err(i) => self.heads.insert(i, (slot, Arc::new(Undo::new(txn, kind, None)))),
        }
    }

    /// Like [`Versions::push`], but a lock that the running statement has just put on the row becomes the change. False:
    /// that was so, and the transaction has noted the row already.
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
        self.heads.extend(slots.map(|s| (s, undo.clone())));
    }

    /// Takes the newest record of `slot` away.
    pub fn pop(&mut self, slot: u16) -> Option<UndoKind> {
        let i = self.find(slot).ok()?;
        let kind = self.heads[i].1.kind.clone();
        match self.heads[i].1.next.clone() {
            Some(next) => self.heads[i].1 = next,
            None => {
                self.heads.remove(i);
            }
        }
        Some(kind)
    }

    pub fn wants_prune(&self) -> bool {
        self.heads.len() >= self.prune_at.max(PRUNE_CHAINS_MIN)
    }

    /// Cuts off every record that all snapshots from `oldest` on see, and appends those that matter to indexes or to
    /// slot reuse (deletes, updates) to `out`.
    pub fn prune(&mut self, oldest: u64, out: &mut Vec<Pruned>) {
        let done = |u: &Undo| u.txn.commit_ts() <= oldest;
        self.heads.retain_mut(|(slot, head)| {
            if done(head) {
                collect_chain(*slot, Some(head), out);
                return false;
            }
            let mut at = head;
            while let Some(undo) = Arc::get_mut(at) {
                match &undo.next {
                    Some(next) if done(next) => {
                        collect_chain(*slot, undo.next.as_deref(), out);
                        undo.next = None;
                        break;
                    }
                    Some(_) => at = undo.next.as_mut().expect("matched above"),
                    None => break,
                }
            }
            true
        });
        self.prune_at = (self.heads.len() * 2).max(PRUNE_CHAINS_MIN);
    }
}

fn collect_chain(slot: u16, mut chain: Option<&Undo>, out: &mut Vec<Pruned>) {
    while let Some(undo) = chain {
        if matches!(undo.kind, UndoKind::Delete | UndoKind::Update { .. }) {
            out.push(Pruned { slot, kind: undo.kind.clone() });
        }
        chain = undo.next.as_deref();
    }
}
