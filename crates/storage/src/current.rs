//! Current reads: is what a statement found still a row's newest version?
//!
//! A changing statement looks for its rows under a snapshot, then locks them. A row that another transaction changed in
//! between is not the row that was found: the statement looks again, under a newer snapshot, keeping its locks.

use crate::leaf::Leaf;
use crate::table::Table;
use crate::txn::{LockWait, Snapshot, Txn};
use crate::undo::UndoKind;
use crate::write::RowLock;
use std::sync::Arc;
use types::Result;

/// What came of the wish to lock a row as a snapshot sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// The transaction holds the row, and its newest version is the one that the snapshot sees, or the transaction's own.
    AsSeen,
    /// The transaction holds the row, but it is another version than the snapshot's.
    Changed,
    /// The row does not exist any more.
    Gone,
    /// Another transaction holds it, and the caller does not wait for such rows.
    Skipped,
}

impl Leaf {
    /// Whether a transaction other than `txn` changed the row after `snapshot` was taken.
    fn is_newer(&self, slot: usize, snapshot: &Snapshot, txn: &Txn) -> bool {
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

impl Table {
    /// Makes `txn` the holder of the row and tells whether it still is as `snapshot` sees it. Errors as
    /// [`Table::lock_row`].
    pub fn lock_as_seen(
        self: &Arc<Self>,
        txn: &Arc<Txn>,
        row_id: u64,
        wait: LockWait,
        snapshot: &Snapshot,
    ) -> Result<Found> {
        Ok(match self.lock_row(txn, row_id, wait)? {
            RowLock::Gone => Found::Gone,
            RowLock::Skipped => Found::Skipped,
            // Nobody else changes it from here on, so the latch need not be held since it was locked.
            RowLock::Locked => match self.rows().with(row_id, |leaf, slot| leaf.is_newer(slot, snapshot, txn)) {
                Some(false) => Found::AsSeen,
                Some(true) => Found::Changed,
                None => Found::Gone,
            },
        })
    }
}
