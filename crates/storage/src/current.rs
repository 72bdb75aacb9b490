//! Current reads: is what a statement found still a row's newest version?
//!
//! A changing statement looks for its rows under a snapshot, then locks them. A row that another transaction changed in
//! between is not the row that was found: the statement looks again, under a newer snapshot, keeping its locks.

use crate::index::Conflict;
use crate::index::key::Key;
use crate::leaf::{Leaf, RowState};
use crate::row_wait::RowWait;
use crate::shared::RowLockMode;
use crate::table::Table;
use crate::txn::{LockWait, Snapshot, Txn};
use crate::undo::UndoKind;
use std::sync::Arc;
use types::{Error, Result};
use vector::Chunk;

/// What came of the wish to lock a row as a snapshot sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// The transaction has the lock, and the row's newest version is the one that the snapshot sees, or the
    /// transaction's own.
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

impl Table {
    /// Waits until no other transaction holds the row; says what it is then.
    pub fn await_row(
        self: &Arc<Self>,
        txn: &Arc<Txn>,
        row_id: u64,
        wait: LockWait,
        snapshot: &Snapshot,
    ) -> Result<Found> {
        let mut waiting = RowWait::new(&self.txns, txn);
        loop {
            let state = self.rows().with(row_id, |leaf, slot| match leaf.state(slot, txn) {
                RowState::Free if leaf.is_newer(slot, snapshot, txn) => Ok(Found::Changed),
                RowState::Free => Ok(Found::AsSeen),
                RowState::Gone => Ok(Found::Gone),
                RowState::Held(holder) => Err(holder),
            });
            match (state, wait) {
                (None, _) => return Ok(Found::Gone),
                (Some(Ok(found)), _) => return Ok(found),
                (Some(Err(_)), LockWait::NoWait) => return Err(Error::lock_nowait()),
                (Some(Err(_)), LockWait::SkipLocked) => return Ok(Found::Skipped),
                (Some(Err(holder)), LockWait::Wait) => {
                    waiting.on(&[holder], || self.row_wanted("EXCLUSIVE", row_id))?;
                }
            }
        }
    }

    /// A statement that changes or locks rows looked for a key of a unique index under `snapshot` and found none. Waits
    /// for transactions that may have given a row the key, or taken it from one; says whether it is absent still, or at
    /// least as the snapshot has it. With `hold`, nobody else brings it in until `txn` ends. `key`: as
    /// [`Table::lock_key`] has it.
    pub fn lock_absent(
        self: &Arc<Self>,
        txn: &Arc<Txn>,
        index: usize,
        key: &[&Chunk],
        wait: LockWait,
        snapshot: &Snapshot,
        hold: bool,
    ) -> Result<bool> {
        let set = self.indexes.get();
        let unique = &set.unique[index];
        let Some(hash) = unique.spec.hash_rows(key, 0..1)[0] else { return Ok(true) };
        let mut waiting = RowWait::new(&self.txns, txn);
        loop {
            let mut guard = unique.lock(hash);
            match unique.check(&guard, hash, Key { chunks: key, row: 0 }, txn, self.rows(), None) {
                Conflict::None => {
                    if hold {
                        unique.hold_absent(&mut guard, hash, txn);
                        drop(guard);
                        txn.note_absent(unique, hash);
                    }
                    return Ok(true);
                }
                Conflict::Duplicate(row_id) => {
                    drop(guard);
                    let newer = self.rows().with(row_id, |leaf, slot| leaf.is_newer(slot, snapshot, txn));
                    return Ok(newer == Some(false));
                }
                Conflict::Wait(_) if wait == LockWait::NoWait => return Err(Error::lock_nowait()),
                Conflict::Wait(_) if wait == LockWait::SkipLocked => return Ok(true),
                Conflict::Wait(owner) => {
                    drop(guard);
                    let text = || unique.spec.text(Key { chunks: key, row: 0 });
                    waiting.on(&[owner], || self.lock_name("EXCLUSIVE", &unique.name(), text()))?;
                }
            }
        }
    }

    /// The row whose newest version has the key in a unique index, shared by `txn`; waits for transactions on which
    /// that depends. `key`: one chunk a part, the value at position 0, none NULL. `None`: there is no such row.
    pub fn lock_key(self: &Arc<Self>, txn: &Arc<Txn>, index: usize, key: &[&Chunk]) -> Result<Option<u64>> {
        let set = self.indexes.get();
        let unique = &set.unique[index];
        let Some(hash) = unique.spec.hash_rows(key, 0..1)[0] else { return Ok(None) };
        let mut held = None;
        let mut wait = RowWait::new(&self.txns, txn);
        loop {
            let guard = unique.lock(hash);
            let conflict = unique.check(&guard, hash, Key { chunks: key, row: 0 }, txn, self.rows(), None);
            drop(guard);
            match conflict {
                Conflict::None => return Ok(None),
                Conflict::Duplicate(row_id) if held == Some(row_id) => return Ok(held),
                Conflict::Duplicate(row_id) => {
                    let now = self.txns.current(txn);
                    let found = self.lock_rows(txn, &[row_id], RowLockMode::Shared, LockWait::Wait, &now)?;
                    held = (found[0] != Found::Gone).then_some(row_id);
                }
                Conflict::Wait(owner) => {
                    let key = || unique.spec.text(Key { chunks: key, row: 0 });
                    let wanted = || self.lock_name("SHARED", &unique.name(), key());
                    wait.on(&[owner], wanted)?;
                }
            }
        }
    }
}
