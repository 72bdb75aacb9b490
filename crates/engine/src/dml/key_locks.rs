//! Locks on what a changing or locking statement looked for by a whole unique key, beyond the rows that its query put
//! out.
//!
//! ```text
//!   UPDATE .. WHERE id = 5 AND v > 0    a row has the key, v = 0 ─▶ it is locked (below REPEATABLE READ: waited for)
//!                                       nobody has the key       ─▶ waits for who may give it to a row; then the key's
//!                                                                   absence is held (not below REPEATABLE READ)
//! ```
//! InnoDB does the same with the record that it finds, or with the gap where it would be. So a statement that names a
//! key never overlooks what an open transaction does to it, and a key that was looked for in vain stays absent.
//!
//! Source: MySQL manual, "Locks Set by Different SQL Statements in InnoDB".

use crate::session::Execution;
use catalog::TableId;
use executor::{Lookup, Lookups};
use plan::logical::LogicalQuery;
use std::sync::Arc;
use storage::{Found, LockWait, RowLockMode, Snapshot, Table, Txn};
use types::Result;
use vector::Chunk;

/// How a table's rows and keys are locked.
#[derive(Clone, Debug)]
pub(crate) struct KeyLocks {
    pub table: Arc<Table>,
    pub id: TableId,
    pub mode: RowLockMode,
    pub wait: LockWait,
    /// By a clause of an inner query: all rows read are locked.
    pub all_read: bool,
}

/// The tables whose rows and keys a statement locks.
#[derive(Clone, Debug, Default)]
pub(crate) struct StatementLocks(pub Vec<KeyLocks>);

impl StatementLocks {
    /// Where a run of the statement's query notes what is to be locked.
    pub fn lookups(&self) -> Arc<Lookups> {
        let ids = |all_read: bool| self.0.iter().filter(move |l| l.all_read == all_read).map(|l| l.id).collect();
        Arc::new(Lookups::of(ids(false)).with_rows_of(ids(true)))
    }

    /// Of two clauses for one table the stronger holds.
    fn of(&self, id: TableId, all_read: bool) -> Option<&KeyLocks> {
        let of_table = self.0.iter().filter(|l| l.id == id && (l.all_read || !all_read));
        of_table.max_by_key(|l| (l.mode == RowLockMode::Exclusive, l.wait == LockWait::Wait))
    }

    pub fn exclusive(&self) -> bool {
        self.0.iter().any(|l| l.mode == RowLockMode::Exclusive)
    }

    /// The snapshots under which SKIP LOCKED has tables seen.
    pub fn skipping(&self, snapshot: &Snapshot) -> Vec<(TableId, Snapshot)> {
        let skipping = self.0.iter().filter(|l| l.wait == LockWait::SkipLocked);
        skipping.map(|l| (l.id, snapshot.skipping_locked(l.mode))).collect()
    }
}

impl Execution<'_> {
    /// What the locking clauses of a statement's inner queries mean. Takes them out of the query.
    pub(crate) fn take_locks(&self, query: &mut LogicalQuery) -> Result<StatementLocks> {
        let mut locks = StatementLocks::default();
        for lock in std::mem::take(&mut query.locks) {
            let mode = if lock.exclusive { RowLockMode::Exclusive } else { RowLockMode::Shared };
            let wait = match lock.wait {
                plan::logical::LockWait::Wait => LockWait::Wait,
                plan::logical::LockWait::NoWait => LockWait::NoWait,
                plan::logical::LockWait::SkipLocked => LockWait::SkipLocked,
            };
            let table = self.db().store().expect_table(&lock.table)?;
            locks.0.push(KeyLocks { table, id: lock.table.id, mode, wait, all_read: true });
        }
        Ok(locks)
    }

    /// Locks what was looked for or read; says whether all of it is as the snapshot sees it.
    pub(crate) fn lock_looked_up(
        &self,
        lookups: &Lookups,
        locks: &StatementLocks,
        txn: &Arc<Txn>,
        snapshot: &Snapshot,
    ) -> Result<bool> {
        let mut as_seen = true;
        for lookup in lookups.take() {
            if let Some(locks) = locks.of(lookup.table, false) {
                as_seen &= self.lock_lookup(&lookup, locks, txn, snapshot)?;
            }
        }
        for (table, ids) in lookups.take_read() {
            if let Some(locks) = locks.of(table, true) {
                let found = locks.table.lock_rows(txn, &ids, locks.mode, locks.wait, snapshot)?;
                as_seen &= found.iter().all(is_as_seen);
            }
        }
        Ok(as_seen)
    }

    /// Whether keys that the running statement looks for in vain stay absent.
    pub(crate) fn holds_absent_keys(&self) -> bool {
        self.isolation().keeps_what_was_looked_at() && self.keeps_locks()
    }

    fn lock_lookup(&self, lookup: &Lookup, locks: &KeyLocks, txn: &Arc<Txn>, snapshot: &Snapshot) -> Result<bool> {
        let KeyLocks { table, mode, wait, .. } = locks;
        let found: Vec<u64> = lookup.found.iter().flatten().copied().collect();
        let mut as_seen = true;
        if self.isolation().keeps_what_was_looked_at() {
            let locked = table.lock_rows(txn, &found, *mode, *wait, snapshot)?;
            as_seen &= locked.iter().all(is_as_seen);
        } else {
            for id in found {
                as_seen &= is_as_seen(&table.await_row(txn, id, *wait, snapshot)?);
            }
        }
        let hold = self.holds_absent_keys();
        for (row, _) in lookup.found.iter().enumerate().filter(|(_, id)| id.is_none()) {
            let key: Vec<Chunk> = lookup.keys.iter().map(|part| part.gather(&[row as u16])).collect();
            let key: Vec<&Chunk> = key.iter().collect();
            as_seen &= table.lock_absent(txn, lookup.index, &key, *wait, snapshot, hold)?;
        }
        Ok(as_seen)
    }
}

fn is_as_seen(found: &Found) -> bool {
    matches!(found, Found::AsSeen | Found::Skipped)
}
