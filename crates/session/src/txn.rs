//! The session's transaction.
//!
//! ```text
//!  none ── statement, autocommit=1 ──▶ implicit ── statement ends ──▶ none
//!  none ── BEGIN, or autocommit=0 ──▶ explicit ── COMMIT / ROLLBACK / DDL ──▶ none
//! ```
//! A statement that fails is undone alone (to the savepoint taken before it); the transaction stays, unless the error
//! says that all of it was rolled back (1213).
//!
//! What a consistent read sees
//! ```text
//!  READ UNCOMMITTED   every row's newest version, committed or not
//!  READ COMMITTED     what was committed when the statement began
//!  REPEATABLE READ    what was committed at the transaction's first read
//!  SERIALIZABLE       what is committed: who would change what is read is kept out until the transaction ends
//! ```
//! and always what the transaction's own earlier statements changed. Statements that change or lock rows see the newest
//! committed versions, at every level.

use crate::SessionState;
use monitor::process::OfProcess;
use parser::ast::CompletionType;
use std::sync::Arc;
use std::time::Duration;
use storage::{Savepoint, Snapshot, Txn};
use types::{Error, ErrorCode, Result};
use variables::Isolation;

/// An open transaction and how it came to be.
#[derive(Debug)]
pub struct Transaction {
    txn: Arc<Txn>,
    /// Taken at the first consistent read under REPEATABLE READ.
    snapshot: Option<Snapshot>,
    explicit: bool,
    read_only: bool,
    isolation: Isolation,
    /// A statement of it has set out to change a table that is not temporary.
    changes_permanent: bool,
    savepoints: Vec<(Box<str>, Savepoint)>,
}

impl Transaction {
    pub fn is_explicit(&self) -> bool {
        self.explicit
    }

    pub fn read_only(&self) -> bool {
        self.read_only
    }

    /// What a rollback would have to take back.
    pub fn weight(&self) -> u64 {
        self.txn.weight()
    }
}

/// SET TRANSACTION without a scope: holds for the next transaction only.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NextTransaction {
    pub isolation: Option<Isolation>,
    pub read_only: Option<bool>,
}

impl SessionState {
    /// BEGIN and START TRANSACTION.
    pub fn begin(&mut self, consistent_snapshot: bool, read_only: Option<bool>) -> Result<()> {
        // SET TRANSACTION means the transaction that begins here, not the one that ends.
        let next = self.next_txn;
        self.unlock_tables_at_begin();
        self.commit_all()?;
        self.next_txn = next;
        let read_only = read_only.unwrap_or_else(|| self.next_read_only());
        self.open_transaction(true, read_only);
        if consistent_snapshot && self.isolation() == Isolation::RepeatableRead {
            self.read_snapshot();
        }
        Ok(())
    }

    fn open_transaction(&mut self, explicit: bool, read_only: bool) {
        let isolation = self.isolation();
        self.next_txn = NextTransaction::default();
        let txn = self.db.store().txns().begin_of(self.locks.owner.id);
        txn.set_waiter(OfProcess(self.process.clone()));
        self.locks.owner.begin(&txn, isolation.spaced(), read_only);
        self.txn = Some(Transaction {
            txn,
            snapshot: None,
            explicit,
            read_only,
            isolation,
            changes_permanent: false,
            savepoints: Vec::new(),
        });
    }

    /// Of the open transaction, or else of the next one.
    pub fn isolation(&self) -> Isolation {
        match &self.txn {
            Some(t) => t.isolation,
            None => self.next_txn.isolation.unwrap_or(self.vars().hot().isolation),
        }
    }

    fn next_read_only(&self) -> bool {
        self.next_txn.read_only.unwrap_or(self.vars().hot().read_only)
    }

    /// Whether statements that change something are refused: 1792.
    pub fn check_writable(&self) -> Result<()> {
        let read_only = self.txn.as_ref().map_or_else(|| self.next_read_only(), |t| t.read_only);
        if read_only { Err(Error::cant_execute_in_read_only_transaction()) } else { Ok(()) }
    }

    /// Whether the running statement's plain reads keep writers away: SERIALIZABLE, in a transaction of several
    /// statements or one that changes something.
    pub fn reads_are_locked(&self, changes: bool) -> bool {
        let several = self.txn.as_ref().map_or_else(|| !self.vars().hot().autocommit, |t| t.explicit);
        (several || changes) && self.isolation() == Isolation::Serializable
    }

    /// Whether locks outlive the running statement.
    pub fn keeps_locks(&self) -> bool {
        self.txn.as_ref().is_some_and(|t| t.explicit)
    }

    /// A statement begins: it sees what the transaction's earlier statements changed.
    pub fn begin_statement(&self) {
        if let Some(t) = &self.txn {
            t.txn.begin_statement();
        }
    }

    /// The transaction that the running statement writes in; opened if need be. 1792 in a read-only one.
    pub fn writing(&mut self) -> Result<Arc<Txn>> {
        self.check_writable()?;
        self.locking()
    }

    /// The same for a statement that changes tables, of which all that change may be `temporary`: those may change in
    /// read-only transactions and on read-only servers.
    fn changing(&mut self, temporary: bool) -> Result<Arc<Txn>> {
        if !temporary {
            self.check_writable()?;
            self.check_server_writable()?;
        }
        let txn = self.locking()?;
        if let Some(t) = self.txn.as_mut().filter(|_| !temporary) {
            t.changes_permanent = true;
        }
        Ok(txn)
    }

    /// The transaction that the running statement locks rows in; opened if need be.
    pub fn locking(&mut self) -> Result<Arc<Txn>> {
        self.db.store().txns().check_writable()?;
        if self.txn.is_none() {
            let explicit = !self.vars().hot().autocommit;
            let read_only = self.next_read_only();
            self.open_transaction(explicit, read_only);
        }
        let t = self.txn.as_ref().expect("opened above");
        t.txn.read_current();
        t.txn.set_lock_wait_timeout(Duration::from_secs(self.vars().hot().innodb_lock_wait_timeout_s));
        Ok(t.txn.clone())
    }

    /// What the running statement's consistent reads see.
    pub fn read_snapshot(&mut self) -> Snapshot {
        if self.txn.is_none() && !self.vars().hot().autocommit {
            let read_only = self.next_read_only();
            self.open_transaction(true, read_only);
        }
        let isolation = self.isolation();
        let manager = self.db.store().txns();
        match (&mut self.txn, isolation) {
            (None, Isolation::ReadUncommitted) => manager.uncommitted(None),
            (Some(t), Isolation::ReadUncommitted) => manager.uncommitted(Some(&t.txn)),
            (None, _) => manager.snapshot(),
            (Some(t), Isolation::RepeatableRead) => {
                let first = t.snapshot.get_or_insert_with(|| manager.snapshot_of(&t.txn));
                first.at_statement(&t.txn)
            }
            (Some(t), isolation) => {
                if isolation == Isolation::Serializable {
                    // Those who changed what it reads have let their tables go, and so have their place among the
                    // commits.
                    t.txn.read_current();
                }
                manager.snapshot_of(&t.txn)
            }
        }
    }

    /// Starts a changing statement; returns where to go back to if it fails.
    pub fn begin_change(&mut self) -> Result<(Arc<Txn>, Savepoint)> {
        self.begin_change_of(false)
    }

    /// The same; `temporary`: only temporary tables will change.
    pub fn begin_change_of(&mut self, temporary: bool) -> Result<(Arc<Txn>, Savepoint)> {
        let txn = self.changing(temporary)?;
        txn.begin_statement();
        let savepoint = txn.savepoint();
        Ok((txn, savepoint))
    }

    /// Ends a changing statement: undoes it alone if it failed, commits it if nothing longer is open.
    pub fn end_change<T>(&mut self, savepoint: Savepoint, result: Result<T>) -> Result<T> {
        self.end_change_or_begin_to(savepoint, result, false)
    }

    /// The same, for a statement that does nothing after that but answer OK.
    pub fn end_last_change<T>(&mut self, savepoint: Savepoint, result: Result<T>) -> Result<T> {
        self.end_change_or_begin_to(savepoint, result, true)
    }

    fn end_change_or_begin_to<T>(&mut self, savepoint: Savepoint, result: Result<T>, later: bool) -> Result<T> {
        match &result {
            Err(e) if e.code() == ErrorCode::LOCK_DEADLOCK => self.rollback_quietly(),
            Err(_) => {
                match &self.txn {
                    // As in InnoDB, what the statement has locked stays so.
                    Some(t) if t.explicit => self.db.store().txns().rollback_to_holding(&t.txn, savepoint),
                    _ => self.rollback_quietly(),
                }
            }
            Ok(_) => {
                if self.txn.as_ref().is_some_and(|t| !t.explicit) {
                    // A statement that cannot commit leaves no transaction behind.
                    self.commit_or_begin_to(later).inspect_err(|_| self.rollback_quietly())?;
                }
            }
        }
        result
    }

    /// COMMIT; nothing if no transaction is open.
    pub fn commit(&mut self) -> Result<()> {
        self.commit_or_begin_to(false)
    }

    /// COMMIT. `later`: it is the last thing that the statement does, so that whoever answers the client may wait for
    /// the log in its place.
    fn commit_or_begin_to(&mut self, later: bool) -> Result<()> {
        if self.txn.as_ref().is_some_and(|t| t.txn.has_changes()) {
            if self.txn.as_ref().is_some_and(|t| t.changes_permanent) {
                self.check_server_writable().inspect_err(|_| self.rollback_quietly())?;
            }
            self.lock_commit()?;
            self.changes_committed += 1;
        }
        if let Some(t) = self.txn.take() {
            drop(t.snapshot);
            self.locks.owner.end();
            let txns = self.db.store().txns();
            if later && self.commits_later {
                self.unsettled = txns.commit_later(&t.txn)?;
            } else {
                txns.commit(&t.txn)?;
            }
            self.status().handler_commit.add(1);
        }
        Ok(())
    }

    /// The transaction ends before the statement goes on, and so do its metadata locks.
    pub fn commit_all(&mut self) -> Result<()> {
        self.commit()?;
        self.unlock_transaction();
        Ok(())
    }

    /// `COMMIT | ROLLBACK [AND [NO] CHAIN] [[NO] RELEASE]`. Says whether the connection is to end.
    /// `last`: nothing follows in the client's command.
    pub fn complete(&mut self, commit: bool, completion: CompletionType, last: bool) -> Result<bool> {
        let (isolation, read_only) = (self.isolation(), self.txn.as_ref().is_some_and(|t| t.read_only));
        let was_open = self.txn.is_some();
        if commit {
            self.commit_or_begin_to(last)?;
        } else {
            if was_open {
                self.status().handler_rollback.add(1);
            }
            self.rollback_quietly();
        }
        self.unlock_transaction();
        self.next_txn = NextTransaction::default();
        let default = self.vars().text("completion_type");
        let release = completion.release.unwrap_or(default == "RELEASE" && completion.chain != Some(true));
        if completion.chain.unwrap_or(default == "CHAIN" && completion.release != Some(true)) {
            self.next_txn.isolation = Some(isolation);
            self.open_transaction(true, read_only);
        }
        Ok(release)
    }

    pub fn rollback_quietly(&mut self) {
        if let Some(t) = self.txn.take() {
            drop(t.snapshot);
            self.locks.owner.end();
            self.db.store().txns().rollback(&t.txn);
        }
    }

    /// `SET autocommit`: turning it on commits.
    pub fn set_autocommit(&mut self, on: bool) -> Result<()> {
        if on && !self.vars().hot().autocommit {
            self.commit_all()?;
        }
        Ok(())
    }

    pub fn savepoint(&mut self, name: &str) -> Result<()> {
        executor::memory::check_not_full("A savepoint")?;
        if self.txn.is_none() {
            if self.vars().hot().autocommit {
                return Ok(()); // a savepoint of a transaction that ends with the statement
            }
            let read_only = self.next_read_only();
            self.open_transaction(true, read_only);
        }
        let t = self.txn.as_mut().expect("opened above");
        t.savepoints.retain(|(n, _)| !n.eq_ignore_ascii_case(name));
        t.savepoints.push((name.into(), t.txn.savepoint()));
        self.status().handler_savepoint.add(1);
        Ok(())
    }

    pub fn rollback_to(&mut self, name: &str) -> Result<()> {
        let (pos, savepoint) = self.find_savepoint(name)?;
        let t = self.txn.as_mut().expect("a savepoint was found in it");
        self.db.store().txns().rollback_to_holding(&t.txn, savepoint);
        t.savepoints.truncate(pos + 1);
        self.status().handler_savepoint_rollback.add(1);
        Ok(())
    }

    pub fn release_savepoint(&mut self, name: &str) -> Result<()> {
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
