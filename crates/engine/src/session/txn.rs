//! The session's transaction.
//!
//! ```text
//!  none ── statement, autocommit=1 ──▶ implicit ── statement ends ──▶ none
//!  none ── BEGIN, or autocommit=0 ──▶ explicit ── COMMIT / ROLLBACK / DDL ──▶ none
//! ```
//! A statement that fails is undone alone (to the savepoint taken before it); the transaction stays, unless the error
//! says that all of it was rolled back (1213).

use super::Session;
use crate::status::add;
use std::sync::Arc;
use std::time::Duration;
use storage::{Savepoint, Snapshot, Txn};
use types::{Error, ErrorCode, Result};

/// An open transaction and how it came to be.
#[derive(Debug)]
pub(crate) struct Transaction {
    txn: Arc<Txn>,
    /// Taken at the first consistent read under REPEATABLE READ.
    snapshot: Option<Snapshot>,
    explicit: bool,
    read_only: bool,
    savepoints: Vec<(Box<str>, Savepoint)>,
}

impl Transaction {
    pub fn is_explicit(&self) -> bool {
        self.explicit
    }

    pub fn read_only(&self) -> bool {
        self.read_only
    }
}

impl Session {
    /// BEGIN and START TRANSACTION.
    pub(super) fn begin(&mut self, consistent_snapshot: bool, read_only: Option<bool>) -> Result<()> {
        self.commit()?;
        let read_only = read_only.unwrap_or_else(|| self.vars().on("transaction_read_only"));
        self.open_transaction(true, read_only);
        if consistent_snapshot {
            self.read_snapshot();
        }
        Ok(())
    }

    fn open_transaction(&mut self, explicit: bool, read_only: bool) {
        let txn = self.db.store().txns().begin();
        let process = self.process.clone();
        txn.stop_waiting_when(move || process.killed().is_some());
        txn.set_lock_wait_timeout(Duration::from_secs(self.vars().uint("innodb_lock_wait_timeout")));
        self.txn = Some(Transaction { txn, snapshot: None, explicit, read_only, savepoints: Vec::new() });
    }

    /// A statement begins: it sees what the transaction's earlier statements changed.
    pub(super) fn begin_statement(&self) {
        if let Some(t) = &self.txn {
            t.txn.begin_statement();
        }
    }

    /// The transaction that the running statement writes in; opened if need be. 1792 in a read-only one.
    pub(crate) fn writing(&mut self) -> Result<Arc<Txn>> {
        if self.txn.is_none() {
            let explicit = !self.vars().on("autocommit");
            self.open_transaction(explicit, false);
        }
        let t = self.txn.as_ref().expect("opened above");
        if t.read_only {
            return Err(Error::cant_execute_in_read_only_transaction());
        }
        Ok(t.txn.clone())
    }

    /// What the running statement's consistent reads see.
    pub(crate) fn read_snapshot(&mut self) -> Snapshot {
        let manager = self.db.store().txns().clone();
        if self.txn.is_none() && !self.vars().on("autocommit") {
            self.open_transaction(true, false);
        }
        let repeatable = matches!(self.vars().text("transaction_isolation"), "REPEATABLE-READ" | "SERIALIZABLE");
        match &mut self.txn {
            None => manager.snapshot(),
            Some(t) if !repeatable => manager.snapshot_of(&t.txn),
            Some(t) => {
                let first = t.snapshot.get_or_insert_with(|| manager.snapshot_of(&t.txn));
                first.at_statement(&t.txn)
            }
        }
    }

    /// Starts a changing statement; returns where to go back to if it fails.
    pub(crate) fn begin_change(&mut self) -> Result<(Arc<Txn>, Savepoint)> {
        let txn = self.writing()?;
        txn.begin_statement();
        let savepoint = txn.savepoint();
        Ok((txn, savepoint))
    }

    /// Ends a changing statement: undoes it alone if it failed, commits it if nothing longer is open.
    pub(crate) fn end_change<T>(&mut self, savepoint: Savepoint, result: Result<T>) -> Result<T> {
        match &result {
            Err(e) if e.code() == ErrorCode::LOCK_DEADLOCK => self.rollback_quietly(),
            Err(_) => {
                if let Some(t) = &self.txn {
                    self.db.store().txns().rollback_to(&t.txn, savepoint);
                }
                if self.txn.as_ref().is_some_and(|t| !t.explicit) {
                    self.rollback_quietly();
                }
            }
            Ok(_) => {
                if self.txn.as_ref().is_some_and(|t| !t.explicit) {
                    self.commit()?;
                }
            }
        }
        result
    }

    /// COMMIT; nothing if no transaction is open.
    pub(crate) fn commit(&mut self) -> Result<()> {
        if let Some(t) = self.txn.take() {
            drop(t.snapshot);
            self.db.store().txns().commit(&t.txn);
            add(&self.db.status().handler_commit, 1);
        }
        Ok(())
    }

    /// ROLLBACK.
    pub(super) fn rollback(&mut self) -> Result<()> {
        if self.txn.is_some() {
            add(&self.db.status().handler_rollback, 1);
        }
        self.rollback_quietly();
        Ok(())
    }

    pub(super) fn rollback_quietly(&mut self) {
        if let Some(t) = self.txn.take() {
            drop(t.snapshot);
            self.db.store().txns().rollback(&t.txn);
        }
    }

    /// `SET autocommit`: turning it on commits.
    pub(super) fn set_autocommit(&mut self, on: bool) -> Result<()> {
        if on && !self.vars().on("autocommit") {
            self.commit()?;
        }
        Ok(())
    }

    pub(super) fn savepoint(&mut self, name: &str) -> Result<()> {
        if self.txn.is_none() {
            if self.vars().on("autocommit") {
                return Ok(()); // a savepoint of a transaction that ends with the statement
            }
            self.open_transaction(true, false);
        }
        let t = self.txn.as_mut().expect("opened above");
        t.savepoints.retain(|(n, _)| !n.eq_ignore_ascii_case(name));
        t.savepoints.push((name.into(), t.txn.savepoint()));
        Ok(())
    }

    pub(super) fn rollback_to(&mut self, name: &str) -> Result<()> {
        let (pos, savepoint) = self.find_savepoint(name)?;
        let t = self.txn.as_mut().expect("a savepoint was found in it");
        self.db.store().txns().rollback_to(&t.txn, savepoint);
        t.savepoints.truncate(pos + 1);
        Ok(())
    }

    pub(super) fn release_savepoint(&mut self, name: &str) -> Result<()> {
        let (pos, _) = self.find_savepoint(name)?;
        self.txn.as_mut().expect("a savepoint was found in it").savepoints.truncate(pos);
        Ok(())
    }

    fn find_savepoint(&self, name: &str) -> Result<(usize, Savepoint)> {
        self.txn
            .iter()
            .flat_map(|t| t.savepoints.iter().enumerate())
            .find(|(_, (n, _))| n.eq_ignore_ascii_case(name))
            .map(|(i, (_, s))| (i, *s))
            .ok_or_else(|| Error::sp_does_not_exist("SAVEPOINT", name))
    }
}
