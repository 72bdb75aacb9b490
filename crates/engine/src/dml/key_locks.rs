//! Locks on what a changing or locking statement looked for by a whole unique key, beyond the rows that its query put out.
//!
//! ```text
//!   UPDATE .. WHERE id = 5 AND v > 0    a row has the key, v = 0 ─▶ it is locked (below REPEATABLE READ: waited for)
//!                                       nobody has the key       ─▶ waits for who may give it to a row; then the key's
//!                                                                   absence is held (not below REPEATABLE READ)
//! ```
//! InnoDB does the same with the record that it finds, or with the gap where it would be. So a statement that names a key
//! never overlooks what an open transaction does to it, and a key that was looked for in vain stays absent.
//!
//! Source: MySQL manual, "Locks Set by Different SQL Statements in InnoDB".

use crate::session::{Isolation, Session};
use catalog::TableId;
use executor::{Lookup, Lookups};
use std::sync::Arc;
use storage::{Found, LockWait, RowLockMode, Snapshot, Table, Txn};
use types::Result;
use vector::Chunk;

/// How a table's rows and keys are locked.
pub(crate) struct KeyLocks<'t> {
    pub table: &'t Arc<Table>,
    pub mode: RowLockMode,
    pub wait: LockWait,
}

impl Session {
    /// Locks what was looked for in the tables that `of` knows; says whether all of it is as the snapshot sees it.
    pub(crate) fn lock_looked_up<'t>(
        &self,
        lookups: &Lookups,
        of: impl Fn(TableId) -> Option<KeyLocks<'t>>,
        txn: &Arc<Txn>,
        snapshot: &Snapshot,
    ) -> Result<bool> {
        let mut as_seen = true;
        for lookup in lookups.take() {
            let Some(locks) = of(lookup.table) else { continue };
            as_seen &= self.lock_lookup(&lookup, &locks, txn, snapshot)?;
        }
        Ok(as_seen)
    }

    /// Whether keys that the running statement looks for in vain stay absent.
    pub(crate) fn holds_absent_keys(&self) -> bool {
        matches!(self.isolation(), Isolation::RepeatableRead | Isolation::Serializable) && self.keeps_locks()
    }

    fn lock_lookup(&self, lookup: &Lookup, locks: &KeyLocks<'_>, txn: &Arc<Txn>, snapshot: &Snapshot) -> Result<bool> {
        let KeyLocks { table, mode, wait } = locks;
        let repeatable = matches!(self.isolation(), Isolation::RepeatableRead | Isolation::Serializable);
        let found: Vec<u64> = lookup.found.iter().flatten().copied().collect();
        let mut as_seen = true;
        if repeatable {
            let locked = table.lock_rows(txn, &found, *mode, *wait, snapshot)?;
            as_seen &= locked.iter().all(|f| matches!(f, Found::AsSeen | Found::Skipped));
        } else {
            for id in found {
                as_seen &= matches!(table.await_row(txn, id, *wait, snapshot)?, Found::AsSeen | Found::Skipped);
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
