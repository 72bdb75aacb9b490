//! What keeps phantoms away from transactions of level SERIALIZABLE.
//!
//! ```text
//!   what a statement reads                       what keeps it as it was read
//!   tables                                       SRO on each, from before it is read to the end
//!   rows of whole unique keys of one table       their locks: shared ones for plain reads; absent keys are held, too
//!   rows that nobody holds (SKIP LOCKED)         the locks on those it returns: it sees no state of the table anyhow
//!   parents and children of a changed row        their locks, as at all levels
//! ```
//! Writers hold SW, which SRO excludes, so all that is read is either of a table that nobody else changes or held by
//! the reader itself: two-phase locking. A statement that may turn out to be of the second or third kind puts SRO off
//! until its plan is known ([`Frame::keep_unkept`]), and has read nothing by then.
//!
//! These locks stand for InnoDB's locks on rows and gaps, so who waits for them waits for innodb_lock_wait_timeout, and
//! not at all with NOWAIT; LOCK TABLES, which holds the same modes, is waited for as for other metadata locks.
//!
//! Source: K. P. Eswaran et al., "The Notions of Consistency and Predicate Locks in a Database System", CACM 1976.

use crate::{Frame, SessionState};
use catalog::{Relation, TableDef};
use mdl::{Mode, Object, Space, Until};
use parser::ast::{LockWait, Query, QueryBody, Statement, TableRef};
use std::sync::Arc;
use std::time::Duration;
use types::{Error, ErrorCode, Result};

/// What the statement's locking clauses say of waiting.
pub fn patience(statement: &Statement) -> LockWait {
    match statement {
        Statement::Query(q) if q.locking.iter().any(|l| l.wait == LockWait::NoWait) => LockWait::NoWait,
        _ => LockWait::Wait,
    }
}

/// Whether the statement names one table and has no subqueries, so that what it reads may prove to be a few rows.
/// `queries`: how many it is made of.
pub fn may_read_rows_alone(statement: &Statement, queries: usize) -> bool {
    let (from, own) = match statement {
        Statement::Update(u) => (&u.tables, 0),
        Statement::Delete(d) => (&d.from, 0),
        Statement::Query(q) => match &**q {
            Query { body: QueryBody::Select(s), into: None, with: None, .. } => (&s.from, 1),
            _ => return false,
        },
        _ => return false,
    };
    matches!(from.as_slice(), [TableRef::Table(_)]) && queries == own
}

impl SessionState {
    /// The running statement reads the table: writers stay out until the transaction ends, or will once it is known how
    /// the statement reads.
    pub fn keep_writers_out(&self, object: Arc<Object>) -> Result<()> {
        if let Some(unkept) = &mut *self.locks.unkept.lock() {
            unkept.push(object.clone());
            return self.acquire(&object, Mode::SharedRead, Until::Transaction);
        }
        self.acquire_for_rows(&object, Mode::SharedReadOnly)
    }

    /// Whether the running statement has put off to keep writers out.
    pub fn has_unkept(&self) -> bool {
        self.locks.unkept.lock().is_some()
    }

    /// The running statement is about to read tables: writers stay out of those that it has named, and will of those
    /// that it names from now on.
    pub fn keep_unkept(&self) -> Result<()> {
        self.keep_unkept_but(&[])
    }

    /// The same, but the rows that it reads of some tables, and the absence of keys that it looks for there, it locks.
    pub fn keep_unkept_but(&self, locked: &[&TableDef]) -> Result<()> {
        let Some(unkept) = self.locks.unkept.lock().take() else { return Ok(()) };
        for object in &unkept {
            let (schema, name) = (&*object.key.schema, &*object.key.name);
            let is_it = |t: &&TableDef| (&*t.schema, &*t.name) == (schema, name);
            let is_view = || matches!(self.db.catalog().relation(schema, name), Some(Relation::View(_)));
            if object.key.space == Space::Table && !locked.iter().any(is_it) && !is_view() {
                self.acquire_for_rows(object, Mode::SharedReadOnly)?;
            }
        }
        Ok(())
    }

    /// Rows of a table are about to be changed because those that they refer to were.
    pub fn lock_for_cascade(&self, table: &TableDef) -> Result<()> {
        if self.locks.tables_locked {
            return Ok(());
        }
        self.lock_among_readers(&self.db.mdl().table(&table.schema, &table.name))
    }

    /// SW, for which SERIALIZABLE readers may have to be waited for.
    pub fn lock_among_readers(&self, object: &Arc<Object>) -> Result<()> {
        let timeout = self.row_patience();
        let metadata = Duration::from_secs(self.lock_wait_timeout_s());
        match self.acquire_within(object, Mode::SharedWrite, timeout.min(metadata)) {
            Err(e) if e.code() == ErrorCode::LOCK_WAIT_TIMEOUT => {
                if self.db.mdl().is_kept_by_transaction(&self.locks.owner, object) {
                    return Err(self.out_of_patience(e));
                }
                self.acquire_within(object, Mode::SharedWrite, metadata.saturating_sub(timeout))
            }
            other => other,
        }
    }

    pub(super) fn acquire_for_rows(&self, object: &Arc<Object>, mode: Mode) -> Result<()> {
        self.acquire_within(object, mode, self.row_patience()).map_err(|e| self.out_of_patience(e))
    }

    fn out_of_patience(&self, e: Error) -> Error {
        let at_once = e.code() == ErrorCode::LOCK_WAIT_TIMEOUT && self.locks.patience == LockWait::NoWait;
        if at_once { Error::lock_nowait() } else { e }
    }

    fn row_patience(&self) -> Duration {
        match self.locks.patience {
            LockWait::NoWait => Duration::ZERO,
            LockWait::Wait | LockWait::SkipLocked => Duration::from_secs(self.vars.hot().innodb_lock_wait_timeout_s),
        }
    }

    fn acquire_within(&self, object: &Arc<Object>, mode: Mode, timeout: Duration) -> Result<()> {
        let weight = || self.txn.as_ref().map_or(0, |t| t.weight());
        self.db.mdl().acquire(&self.locks.owner, object, mode, Until::Transaction, timeout, weight)
    }
}

impl Frame<'_> {
    /// A table that foreign keys lead to: rows of it are locked one by one, its definition is to stay. What is not
    /// among the statement's names, as with cached plans and with keys that it defines itself, is locked now.
    pub fn relation_of_key(&self, schema: &str, name: &str) -> Result<Option<Relation>> {
        if let Some(known) = self.names.stored(self.db.catalog(), schema, name) {
            return Ok(known);
        }
        if !self.locks.tables_locked {
            self.acquire(&self.db.mdl().table(schema, name), Mode::SharedRead, Until::Transaction)?;
        } else if self.db.mdl().table_locked(&self.locks.owner, schema, name).is_none() {
            return Err(Error::table_not_locked(name));
        }
        Ok(self.db.catalog().relation(schema, name))
    }
}
