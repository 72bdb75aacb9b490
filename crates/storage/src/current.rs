//! Current reads: is what a statement found still a row's newest version?
//!
//! A changing statement looks for its rows under a snapshot, then locks them. A row that another transaction changed in
//! between is not the row that was found: the statement looks again, under a newer snapshot, keeping its locks.

use crate::leaf::Leaf;
use crate::txn::{Snapshot, Txn};
use crate::undo::UndoKind;

/// What came of the wish to lock a row as a snapshot sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// The transaction has the lock, and the row's newest version is the one that the snapshot sees, or the transaction's own.
    AsSeen,
    /// The transaction has the lock, but the row is another version than the snapshot's.
    Changed,
    /// The row does not exist any more.
    Gone,
    /// Another transaction holds it, and the caller does not wait for such rows.
    Skipped,
}

impl Leaf {
    /// Whether a transaction other than `txn` changed the row after `snapshot` was taken.
    pub(crate) fn is_newer(&self, slot: usize, snapshot: &Snapshot, txn: &Txn) -> bool {
        let mut chain = self.newest(slot);
        while let Some(undo) = chain {
            match undo.kind {
                UndoKind::Lock => chain = undo.next.as_deref(),
                _ => return undo.txn.id() != txn.id() && !snapshot.sees(&undo.txn, u32::MAX),
            }
        }
        false
    }
}
