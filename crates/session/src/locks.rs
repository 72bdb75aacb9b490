//! The metadata locks that statements take, LOCK TABLES, and GET_LOCK.
//!
//! Before a statement runs, [`Frame::lock_statement`] locks all that it names, tables behind views among it: what it
//! changes or writes to as much as what it reads ([`names::NeededLock`]). One order for all, that of the names, keeps
//! statements that take several locks from each other's throats. The locks go when the transaction ends; outside of
//! one, when the statement ends. [`ddl`] has the locks of DDL, [`tables`] LOCK TABLES and FLUSH, [`named`] GET_LOCK,
//! [`serializable`] what keeps phantoms away.

mod ddl;
mod named;
mod serializable;
mod tables;

use crate::Shared;
use crate::{Frame, SessionState};
use mdl::{KeyRef, Mode, Object, Owner, Space, Until};
use monitor::process::Process;
use named::NamedLocks;
use names::{Names, NeededLock, UseKind};
use parking_lot::Mutex;
use parser::ast::{self, Statement, TableUse};
use std::sync::Arc;
use std::time::Duration;
use types::{Error, ErrorCode, Result};
use variables::Isolation;

/// A session's part in the metadata locks.
#[derive(Debug)]
pub struct SessionLocks {
    pub owner: Arc<Owner>,
    pub named: Arc<dyn expr::UserLocks>,
    /// How tables that the running statement reads are locked.
    reading: Mode,
    /// Tables that the running statement reads, to be kept from writers unless it locks all that it reads of them;
    /// `None`: it keeps writers out as it names tables.
    unkept: Mutex<Option<Vec<Arc<Object>>>>,
    /// How long it waits where others read under SERIALIZABLE.
    patience: ast::LockWait,
    /// LOCK TABLES is in force.
    tables_locked: bool,
    /// FLUSH TABLES WITH READ LOCK is in force.
    global_read_lock: bool,
}

impl SessionLocks {
    pub fn new(db: &Arc<Shared>, process: &Arc<Process>) -> SessionLocks {
        let owner = db.mdl().add_owner(process.clone());
        SessionLocks {
            named: Arc::new(NamedLocks { db: db.clone(), owner: owner.clone() }),
            owner,
            reading: Mode::SharedRead,
            unkept: Mutex::new(None),
            patience: ast::LockWait::Wait,
            tables_locked: false,
            global_read_lock: false,
        }
    }
}

/// Statements that are a transaction by themselves, so that SET TRANSACTION meant them: queries if they read `tables`.
fn uses_transaction(s: &Statement, tables: bool) -> bool {
    use Statement::*;
    tables && matches!(s, Query(_))
        || matches!(s, Insert(_) | Update(_) | Delete(_) | LoadData(_) | Commit(_) | Rollback(_))
}

/// Statements that look at definitions only: even in a transaction their locks go with them.
fn only_looks(s: &Statement) -> bool {
    use Statement::*;
    matches!(s, Show(_) | Describe { .. } | Explain(_) | Prepare { .. })
}

/// What ends a statement before it has all its tables: it keeps none of them, so that others may make the one that it
/// missed.
fn found_no_table(e: &Error) -> bool {
    matches!(e.code(), ErrorCode::NO_SUCH_TABLE | ErrorCode::BAD_DB)
}

impl SessionState {
    fn acquire(&self, object: &Arc<Object>, mode: Mode, until: Until) -> Result<()> {
        let timeout = Duration::from_secs(self.lock_wait_timeout_s());
        let weight = || self.txn.as_ref().map_or(0, |t| t.weight());
        self.db.mdl().acquire(&self.locks.owner, object, mode, until, timeout, weight)
    }

    fn lock_wait_timeout_s(&self) -> u64 {
        self.vars.hot().lock_wait_timeout_s
    }

    /// Whether statements may be answered by cached plans, which know only the common locks.
    pub fn has_plain_locks(&self) -> bool {
        !self.locks.tables_locked && self.isolation() != Isolation::Serializable && self.temporary().is_empty()
    }

    /// Locks a table that a cached plan reads, or changes.
    pub fn lock_known(&self, object: &Arc<Object>, write: bool) -> Result<()> {
        if !write {
            return self.acquire(object, Mode::SharedRead, Until::Transaction);
        }
        self.lock_scope(Space::Global, "", Mode::IntentionExclusive)?;
        self.lock_among_readers(object)
    }

    /// The cached plan that runs next does not wait for rows.
    pub fn wait_for_no_rows(&mut self) {
        self.locks.patience = ast::LockWait::NoWait;
    }

    /// Takes the locks of what a statement names: scopes first, then the objects in the order of their names.
    pub fn lock_names(&self, names: &Names) -> Result<()> {
        let locks: Vec<(&names::Object, NeededLock)> =
            names.objects().iter().flat_map(|o| names.locks(o).into_iter().map(move |l| (o, l))).collect();
        if locks.iter().any(|(_, needed)| *needed >= NeededLock::Write) {
            self.lock_scope(Space::Global, "", Mode::IntentionExclusive)?;
        }
        let mut schemas: Vec<&str> =
            locks.iter().filter(|(_, needed)| *needed >= NeededLock::Alter).map(|(o, _)| &*o.schema).collect();
        schemas.dedup();
        // What is wrong with a schema that is not there the statement says itself.
        schemas.retain(|schema| self.db.catalog().has_schema(schema));
        for schema in &schemas {
            self.lock_scope(Space::Schema, schema, Mode::IntentionExclusive)?;
        }
        if self.locks.tables_locked {
            self.check_locked_tables(names)?;
        }
        for (object, needed) in locks {
            if needed < NeededLock::Alter || schemas.contains(&&*object.schema) {
                self.lock_object(&object.schema, &object.name, needed)?;
            }
        }
        Ok(())
    }

    /// Under LOCK TABLES a statement uses what that has locked, and as it has locked it: 1099, 1100.
    fn check_locked_tables(&self, names: &Names) -> Result<()> {
        let uses = names.objects().iter().flat_map(|o| o.uses.iter().map(move |u| (o, u)));
        let mut uses: Vec<_> = uses.collect();
        uses.sort_by_key(|(_, u)| u.order);
        for (object, u) in uses {
            let (schema, name) = (&*object.schema, &*object.name);
            let needed = u.lock(object, names.only_looks);
            let locked = || self.db.mdl().table_locked(&self.locks.owner, schema, name);
            let makes_table = matches!(u.kind, UseKind::Named(TableUse::Create { .. }));
            match needed {
                NeededLock::None => {}
                // A name that nothing has is free to be taken, but for new tables.
                NeededLock::Alter | NeededLock::AlterShared | NeededLock::Exclusive => match locked() {
                    Some(Mode::SharedReadOnly) => return Err(Error::table_not_locked_for_write(name)),
                    None if makes_table || object.relation.is_some() => return Err(Error::table_not_locked(name)),
                    _ => {}
                },
                NeededLock::Write | NeededLock::ReadWrite => match locked() {
                    Some(Mode::SharedReadOnly) => return Err(Error::table_not_locked_for_write(name)),
                    Some(_) => {}
                    None => return Err(Error::table_not_locked(name)),
                },
                NeededLock::Look | NeededLock::Read | NeededLock::Keep => {
                    if locked().is_none() {
                        return Err(Error::table_not_locked(name));
                    }
                }
            }
        }
        Ok(())
    }

    fn lock_object(&self, schema: &str, name: &str, needed: NeededLock) -> Result<()> {
        if self.locks.tables_locked && needed < NeededLock::Alter {
            return Ok(());
        }
        let object = self.db.mdl().table(schema, name);
        let take = |mode| self.acquire(&object, mode, Until::Transaction);
        match needed {
            NeededLock::None => Ok(()),
            NeededLock::Look => take(Mode::SharedRead),
            NeededLock::Read => self.lock_to_read(&object),
            NeededLock::Keep => self.acquire_for_rows(&object, Mode::SharedReadOnly),
            NeededLock::Write => self.lock_among_readers(&object),
            NeededLock::ReadWrite => {
                self.lock_among_readers(&object)?;
                self.lock_to_read(&object)
            }
            NeededLock::Alter => take(Mode::SharedUpgradable),
            NeededLock::AlterShared => {
                take(Mode::SharedUpgradable)?;
                take(Mode::SharedReadOnly)
            }
            NeededLock::Exclusive => take(Mode::Exclusive),
        }
    }

    /// Locks a table of which the running statement reads rows.
    fn lock_to_read(&self, object: &Arc<Object>) -> Result<()> {
        match self.locks.reading {
            Mode::SharedReadOnly => self.keep_writers_out(object.clone()),
            mode => self.acquire(object, mode, Until::Transaction),
        }
    }

    fn lock_scope(&self, space: Space, schema: &str, mode: Mode) -> Result<()> {
        if space == Space::Global && mode == Mode::IntentionExclusive && self.locks.global_read_lock {
            return Err(Error::cant_update_with_readlock());
        }
        // Of the server as a whole statements are kept out, not transactions; these are stopped as they commit.
        let until = if matches!(space, Space::Global | Space::Commit) { Until::Statement } else { Until::Transaction };
        self.acquire(&self.db.mdl().object(KeyRef { space, schema, name: "" }), mode, until)
    }

    /// A transaction that changed something commits: FLUSH TABLES WITH READ LOCK of another session keeps it from that.
    pub fn lock_commit(&self) -> Result<()> {
        if self.locks.global_read_lock {
            return Ok(());
        }
        self.lock_scope(Space::Commit, "", Mode::IntentionExclusive)
    }

    /// Before names are looked up outside of a statement's execution.
    pub fn mark_locks(&self) -> usize {
        self.db.mdl().mark(&self.locks.owner)
    }

    /// The transaction's locks go.
    pub fn unlock_transaction(&self) {
        self.db.mdl().release_transaction(&self.locks.owner);
    }

    /// The session holds locks that statements of others would wait for.
    pub fn keeps_writers_out(&self) -> bool {
        self.locks.global_read_lock || self.locks.tables_locked
    }

    /// The connection starts anew, or ends: nothing stays locked.
    pub fn release_all_locks(&mut self) {
        self.locks.tables_locked = false;
        self.locks.global_read_lock = false;
        let mdl = self.db.mdl();
        mdl.release_transaction(&self.locks.owner);
        mdl.release_space(&self.locks.owner, Space::Table);
        mdl.release_space(&self.locks.owner, Space::Global);
        mdl.release_space(&self.locks.owner, Space::Commit);
        mdl.release_user_locks(&self.locks.owner);
    }
}

impl Frame<'_> {
    /// The end of a statement that was answered by a cached plan.
    pub fn unlock_known_statement(&mut self, result: Result<()>) -> Result<()> {
        self.locks.patience = ast::LockWait::Wait;
        if let Err(e) = &result {
            self.end_transaction_after(e);
        }
        if self.txn.is_none() {
            if result.is_ok() {
                self.next_txn = Default::default();
            }
            self.db.mdl().release_transaction(&self.locks.owner);
        } else {
            self.db.mdl().release_statement(&self.locks.owner);
        }
        result
    }

    /// Takes the locks that the statement needs before it looks at anything, and keeps its names to be looked up.
    pub fn lock_statement(&mut self, statement: &Statement, names: Names) -> Result<()> {
        use Statement::*;
        let changes = matches!(statement, Insert(_) | Update(_) | Delete(_) | LoadData(_));
        let reads = !only_looks(statement) || matches!(statement, Explain(e) if e.analyze);
        let serializable = reads && self.reads_are_locked(changes);
        self.locks.patience = serializable::patience(statement);
        *self.locks.unkept.get_mut() =
            (serializable && serializable::may_read_rows_alone(statement, names.queries)).then(Vec::new);
        self.locks.reading = if serializable { Mode::SharedReadOnly } else { Mode::SharedRead };
        match statement {
            CreateDatabase(c) => self.lock_schema_for_ddl(&c.name, false)?,
            AlterDatabase(a) => {
                if let Some(name) = a.name.as_deref().or(self.current_database()) {
                    self.lock_schema_for_ddl(name, false)?;
                }
            }
            DropDatabase { name, .. } => self.lock_schema_for_ddl(name, true)?,
            _ => {}
        }
        self.lock_resolved(statement, names)
    }

    /// What was locked since is let go, to be locked anew.
    pub fn forget_locks_since(&mut self, mark: usize) {
        self.db.mdl().release_since(&self.locks.owner, mark);
        self.locks.unkept.get_mut().iter_mut().for_each(Vec::clear);
    }

    /// The statement is over: locks of statements that only look at definitions, or find a table missing, go, and
    /// without a transaction all do.
    pub fn unlock_statement(&mut self, statement: &Statement, mark: usize, result: Result<()>) -> Result<()> {
        self.locks.reading = Mode::SharedRead;
        self.locks.patience = ast::LockWait::Wait;
        *self.locks.unkept.get_mut() = None;
        if let Err(e) = &result {
            self.end_transaction_after(e);
        }
        if self.txn.is_none() {
            // A statement that was refused was no transaction.
            let tables = self.db.mdl().mark(&self.locks.owner) > mark;
            if uses_transaction(statement, tables) && result.is_ok() {
                self.next_txn = Default::default();
            }
            self.db.mdl().release_transaction(&self.locks.owner);
        } else if only_looks(statement) || result.as_ref().is_err_and(found_no_table) {
            self.db.mdl().release_since(&self.locks.owner, mark);
        } else {
            self.db.mdl().release_statement(&self.locks.owner);
        }
        result
    }

    /// Errors that end the whole transaction: 1213, and 1205 with innodb_rollback_on_timeout.
    fn end_transaction_after(&mut self, e: &Error) {
        let on_timeout = e.code() == ErrorCode::LOCK_WAIT_TIMEOUT
            && self.db.variables().by_name("innodb_rollback_on_timeout").as_deref() == Some("ON");
        if e.code() == ErrorCode::LOCK_DEADLOCK || on_timeout {
            self.rollback_quietly();
        }
        let prints = || self.db.variables().by_name("innodb_print_all_deadlocks").as_deref() == Some("ON");
        if e.code() == ErrorCode::LOCK_DEADLOCK && prints() {
            eprint!("{}", self.db.tables().engine_status(self));
        }
    }
}
