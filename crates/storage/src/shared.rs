//! Shared row locks: several transactions that keep a row as it is (SELECT ... FOR SHARE).
//!
//! ```text
//!   exclusive: the newest record of the row's chain is an active transaction's     (crate::undo)
//!   shared:    leaf.shared: slot 7 ─▶ [txn 3, txn 9]                               one of both, but for one owner
//! ```
//! A lock lies in the leaf of its row, under the leaf's latch, as the exclusive one does. Nothing is taken per row by
//! scans: locks are for the rows that a statement returns or changes, those of one leaf under one latch.
//!
//! Invariants
//! 1. A row that one transaction holds exclusively, no other holds; a row that others share, nobody can change.
//! 2. A transaction that waits for those who share a row goes before those who come to share it later.
//! 3. Shared locks go when their transaction has ended, not before.

use crate::current::Found;
use crate::leaf::{Leaf, RowState};
use crate::room::Versioning;
use crate::row_wait::RowWait;
use crate::table::Table;
use crate::txn::{Change, LockWait, Snapshot, Txn, Versioned};
use std::sync::Arc;
use types::{Error, Result};

/// How a row is locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowLockMode {
    /// Others may share it; nobody may change it.
    Shared,
    Exclusive,
}

impl RowLockMode {
    pub fn name(self) -> &'static str {
        match self {
            RowLockMode::Shared => "SHARED",
            RowLockMode::Exclusive => "EXCLUSIVE",
        }
    }
}

/// The shared locks of one leaf.
#[derive(Debug, Default)]
pub(crate) struct SharedLocks {
    held: Vec<(u16, Arc<Txn>)>,
    /// Who waits for exclusive locks on rows that others share.
    wanted: Vec<(u16, Arc<Txn>)>,
}

impl SharedLocks {
    /// Other active transactions that share the row.
    pub fn others(&self, slot: usize, txn_id: u64) -> impl Iterator<Item = &Arc<Txn>> {
        let of_row = self.held.iter().filter(move |(s, t)| *s as usize == slot && t.id() != txn_id);
        of_row.map(|(_, t)| t).filter(|t| t.holds_rows())
    }

    /// Says whether that is new.
    pub fn add(&mut self, slot: usize, txn: &Arc<Txn>) -> bool {
        let held = self.held.iter().any(|(s, t)| *s as usize == slot && t.id() == txn.id());
        if !held {
            self.held.push((slot as u16, txn.clone()));
        }
        !held
    }

    pub fn remove(&mut self, txn_id: u64) {
        self.held.retain(|(_, t)| t.id() != txn_id);
    }

    /// Rows that the transaction shares.
    pub fn of(&self, txn_id: u64) -> impl Iterator<Item = u16> {
        self.held.iter().filter(move |(_, t)| t.id() == txn_id).map(|(s, _)| *s)
    }

    /// Whether the transaction is one of those who share the row.
    pub fn has(&self, slot: usize, txn_id: u64) -> bool {
        self.held.iter().any(|(s, t)| *s as usize == slot && t.id() == txn_id)
    }

    /// Another transaction that waits for those who share the row.
    pub fn writer(&self, slot: usize, txn_id: u64) -> Option<&Arc<Txn>> {
        let of_row = self.wanted.iter().filter(|(s, t)| *s as usize == slot && t.id() != txn_id);
        of_row.map(|(_, t)| t).find(|t| t.holds_rows())
    }

    /// The transaction waits for those who share the row.
    pub fn want(&mut self, slot: usize, txn: &Arc<Txn>) {
        if !self.wanted.iter().any(|(s, t)| *s as usize == slot && t.id() == txn.id()) {
            self.wanted.push((slot as u16, txn.clone()));
        }
    }

    /// It does so no longer.
    pub fn unwant(&mut self, slot: usize, txn_id: u64) {
        self.wanted.retain(|(s, t)| *s as usize != slot || t.id() != txn_id);
    }

    pub fn is_empty(&self) -> bool {
        self.held.is_empty() && self.wanted.is_empty()
    }
}

/// What stands between a transaction and a row.
enum Attempt {
    Done(Found),
    Held(Vec<Arc<Txn>>),
}

impl Leaf {
    /// Locks the row if nobody is in the way; appends it to `locked` if the lock is new.
    fn try_lock(
        &mut self,
        txn: &Arc<Txn>,
        slot: usize,
        mode: RowLockMode,
        snapshot: &Snapshot,
        waits: bool,
        locked: &mut Vec<usize>,
    ) -> Attempt {
        match self.state(slot, txn) {
            RowState::Gone => return Attempt::Done(Found::Gone),
            RowState::Held(owner) => return Attempt::Held(vec![owner]),
            RowState::Free => {}
        }
        if mode == RowLockMode::Exclusive {
            let others = self.shared_by_others(slot, txn);
            if !others.is_empty() {
                if waits {
                    self.want(slot, txn);
                }
                return Attempt::Held(others);
            }
            if self.lock(txn, slot) {
                locked.push(slot);
            }
        } else if !self.is_held_by(slot, txn) && !self.shares(slot, txn) {
            if let Some(writer) = self.writer(slot, txn) {
                return Attempt::Held(vec![writer]);
            }
            self.share(slot, txn);
            locked.push(slot);
        }
        Attempt::Done(if self.is_newer(slot, snapshot, txn) { Found::Changed } else { Found::AsSeen })
    }
}

/// A writer's place before those who come to share the row later. It gives it up when it has the row, or is not to.
pub(crate) struct Wanting<'a> {
    table: &'a Table,
    txn: &'a Txn,
    row_id: u64,
    /// It may be noted in the leaf.
    pub is_noted: bool,
}

impl<'a> Wanting<'a> {
    pub fn new(table: &'a Table, txn: &'a Txn, row_id: u64) -> Wanting<'a> {
        Wanting { table, txn, row_id, is_noted: false }
    }
}

impl Drop for Wanting<'_> {
    fn drop(&mut self) {
        if !self.is_noted {
            return;
        }
        let (leaf_no, slot) = self.table.split(self.row_id);
        let has_row = self.table.slot(leaf_no).write().leaf_mut().is_some_and(|leaf| {
            leaf.unwant(slot, self.txn.id());
            leaf.is_held_by(slot, self.txn)
        });
        if !has_row {
            self.txn.lets_go(self.table.txns().waits());
        }
    }
}

impl Table {
    /// Locks rows for `txn`, in this order, and tells of each whether it still is as `snapshot` sees it. Errors: 1205,
    /// 1213, 1317, and 3572 with [`LockWait::NoWait`].
    pub fn lock_rows(
        self: &Arc<Self>,
        txn: &Arc<Txn>,
        row_ids: &[u64],
        mode: RowLockMode,
        wait: LockWait,
        snapshot: &Snapshot,
    ) -> Result<Vec<Found>> {
        let mut found = Vec::with_capacity(row_ids.len());
        let leaf_of = |id: u64| self.split(id).0;
        for of_leaf in row_ids.chunk_by(|a, b| leaf_of(*a) == leaf_of(*b)) {
            let end = found.len() + of_leaf.len();
            self.check_versions(txn, Versioning::TakeAway)?;
            let mut waiting: Option<(u64, RowWait<'_>, Wanting<'_>)> = None;
            while found.len() < end {
                let left = &of_leaf[of_leaf.len() - (end - found.len())..];
                let Some(holders) = self.lock_some(txn, left, mode, wait, snapshot, &mut found) else { break };
                let row_id = of_leaf[of_leaf.len() - (end - found.len())];
                match wait {
                    LockWait::NoWait => return Err(Error::lock_nowait()),
                    LockWait::SkipLocked => found.push(Found::Skipped),
                    LockWait::Wait => {
                        if waiting.as_ref().is_none_or(|w| w.0 != row_id) {
                            waiting = Some((row_id, RowWait::new(self.txns(), txn), Wanting::new(self, txn, row_id)));
                        }
                        let (_, on, wanting) = waiting.as_mut().expect("set above");
                        wanting.is_noted |= mode == RowLockMode::Exclusive;
                        on.on(&holders, || self.row_wanted(mode.name(), row_id))?;
                    }
                }
            }
        }
        Ok(found)
    }

    /// Shares a row that stands in `txn`'s way, so that it goes on to. `None`: it is gone.
    pub fn share_row(self: &Arc<Self>, txn: &Arc<Txn>, row_id: u64) -> Result<Option<u64>> {
        let now = self.txns().current(txn);
        let found = self.lock_rows(txn, &[row_id], RowLockMode::Shared, LockWait::Wait, &now)?;
        Ok((found[0] != Found::Gone).then_some(row_id))
    }

    /// Locks rows of one leaf until one is in other hands; answers with whose.
    fn lock_some(
        self: &Arc<Self>,
        txn: &Arc<Txn>,
        row_ids: &[u64],
        mode: RowLockMode,
        wait: LockWait,
        snapshot: &Snapshot,
        found: &mut Vec<Found>,
    ) -> Option<Vec<Arc<Txn>>> {
        let waits = wait == LockWait::Wait;
        let (leaf_no, _) = self.split(*row_ids.first()?);
        let Some(leaf_slot) = self.heap.slot(leaf_no) else {
            found.extend(row_ids.iter().map(|_| Found::Gone));
            return None;
        };
        let mut locked = Vec::new();
        let mut state = leaf_slot.write();
        let Some(leaf) = state.leaf_mut() else {
            found.extend(row_ids.iter().map(|_| Found::Gone));
            return None;
        };
        let mut holders = None;
        for &row_id in row_ids {
            match leaf.try_lock(txn, self.split(row_id).1, mode, snapshot, waits, &mut locked) {
                Attempt::Done(f) => found.push(f),
                Attempt::Held(by) => {
                    holders = Some(by);
                    break;
                }
            }
        }
        match mode {
            _ if locked.is_empty() => {}
            RowLockMode::Exclusive => {
                self.note(txn, locked.into_iter().map(|slot| Change::Row { leaf_no, slot: slot as u16 }));
            }
            RowLockMode::Shared => {
                let table: Arc<dyn Versioned> = self.clone();
                txn.note_shared(&table, leaf_no);
            }
        }
        holders
    }
}
