//! The metadata locks that statements take, LOCK TABLES, and GET_LOCK.
//!
//! Before a statement runs, [`Frame::lock_statement`] takes the strong locks of DDL and the write locks of tables that
//! the statement changes. All other tables are locked where names are looked up ([`Frame::lock_named`]): so tables
//! behind views are, too. The locks go when the transaction ends; outside of one, when the statement ends. [`ddl`] has the
//! locks of DDL, [`tables`] LOCK TABLES and FLUSH, [`named`] GET_LOCK, [`serializable`] what keeps phantoms away.

mod ddl;
mod named;
mod serializable;
mod tables;

use crate::Shared;
use crate::{Frame, SessionState};
use mdl::{KeyRef, Mode, Object, Owner, Space, Until};
use monitor::process::Process;
use named::NamedLocks;
use parking_lot::Mutex;
use parser::ast::{self, LockStrength, ObjectName, Statement, TableRef};
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
    /// The statement also writes to or locks rows of the tables it names.
    writing: bool,
    /// Tables that the running statement reads, to be kept from writers unless it locks all that it reads of them; `None`:
    /// it keeps writers out as it names tables.
    unkept: Mutex<Option<Vec<Arc<Object>>>>,
    /// How long it waits where others read under SERIALIZABLE.
    patience: ast::LockWait,
    /// LOCK TABLES is in force.
    tables_locked: bool,
    /// FLUSH TABLES WITH READ LOCK is in force.
    global_read_lock: bool,
    /// Why a lookup of a name failed, where it could only say that there is nothing of the name.
    failure: Mutex<Option<Error>>,
}

impl SessionLocks {
    pub fn new(db: &Arc<Shared>, process: &Arc<Process>) -> SessionLocks {
        let owner = db.mdl().add_owner(process.clone());
        SessionLocks {
            named: Arc::new(NamedLocks { db: db.clone(), owner: owner.clone() }),
            owner,
            reading: Mode::SharedRead,
            writing: false,
            unkept: Mutex::new(None),
            patience: ast::LockWait::Wait,
            tables_locked: false,
            global_read_lock: false,
            failure: Mutex::new(None),
        }
    }

    pub fn fail(&self, e: Error) {
        self.failure.lock().get_or_insert(e);
    }
}

/// The base tables of FROM; derived tables only read theirs.
fn tables_of(from: &[TableRef]) -> Vec<&ObjectName> {
    let mut out = Vec::new();
    let mut todo: Vec<&TableRef> = from.iter().collect();
    while let Some(t) = todo.pop() {
        match t {
            TableRef::Table(f) => out.push(&f.name),
            TableRef::Join(j) => todo.extend([&j.left, &j.right]),
            TableRef::Derived(_) | TableRef::JsonTable(_) => {}
        }
    }
    out
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

/// What ends a statement before it has all its tables: it keeps none of them, so that others may make the one that it missed.
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

    /// Locks a table or view by name, as the running statement reads it; 1100 where LOCK TABLES left it out.
    pub fn lock_named(&self, schema: &str, name: &str) -> Result<()> {
        if self.db.tables().has(schema, name) {
            return Ok(());
        }
        let object = self.db.mdl().table(schema, name);
        if self.locks.tables_locked {
            let locked = self.db.mdl().table_locked(&self.locks.owner, schema, name);
            return match locked {
                Some(_) if self.locks.writing => self.lock_table_for_write(schema, name),
                Some(_) => Ok(()),
                None => Err(Error::table_not_locked(name)),
            };
        }
        if self.locks.writing {
            self.lock_table_for_write(schema, name)?;
            if self.locks.reading == Mode::SharedRead {
                return Ok(());
            }
        }
        match self.locks.reading {
            Mode::SharedReadOnly => self.keep_writers_out(object),
            mode => self.acquire(&object, mode, Until::Transaction),
        }
    }

    /// Locks a table whose rows the running statement changes: 1099, 1100 under LOCK TABLES.
    pub fn lock_table_for_write(&self, schema: &str, name: &str) -> Result<()> {
        if self.db.tables().has(schema, name) {
            return Ok(());
        }
        self.lock_scope(Space::Global, "", Mode::IntentionExclusive)?;
        if self.locks.tables_locked {
            return match self.db.mdl().table_locked(&self.locks.owner, schema, name) {
                Some(Mode::SharedReadOnly) => Err(Error::table_not_locked_for_write(name)),
                Some(_) => Ok(()),
                None => Err(Error::table_not_locked(name)),
            };
        }
        self.lock_among_readers(&self.db.mdl().table(schema, name))
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

    fn lock_names_for_write<'n>(&self, names: impl IntoIterator<Item = &'n ObjectName>) -> Result<()> {
        for name in names {
            if let Ok((schema, name)) = self.resolve_name(name)
                && self.temporary().get(&schema, &name).is_none()
            {
                self.lock_table_for_write(&schema, &name)?;
            }
        }
        Ok(())
    }

    /// Takes the locks that the statement needs before it looks at anything, and notes how names that it looks up later
    /// are to be locked.
    pub fn lock_statement(&mut self, statement: &Statement, text: &[u8]) -> Result<()> {
        use Statement::*;
        let changes = matches!(statement, Insert(_) | Update(_) | Delete(_) | LoadData(_));
        let reads = !only_looks(statement) || matches!(statement, Explain(e) if e.analyze);
        let serializable = reads && self.reads_are_locked(changes);
        // INSERT ... VALUES reads nothing.
        let plain_insert = matches!(statement, Insert(_) | LoadData(_)) && serializable::query_words(text) == 0;
        let checks = matches!(statement, TableMaintenance(t) if t.op == ast::MaintenanceOp::Check);
        let keeps_writers_out = serializable && !plain_insert || checks;
        self.locks.patience = serializable::patience(statement);
        *self.locks.unkept.get_mut() =
            (serializable && serializable::may_read_rows_alone(statement, text)).then(Vec::new);
        self.locks.reading = if keeps_writers_out { Mode::SharedReadOnly } else { Mode::SharedRead };
        self.locks.writing = match statement {
            Query(q) => q.locking.iter().any(|l| l.strength == LockStrength::Update),
            _ => false,
        };
        match statement {
            Insert(i) => self.lock_names_for_write([&i.table]),
            LoadData(l) => self.lock_names_for_write([&l.table]),
            Update(u) => self.lock_names_for_write(tables_of(&u.tables)),
            Delete(d) => self.lock_names_for_write(tables_of(&d.from)),
            CreateTable(c) if !c.temporary => {
                self.check_makes_no_table(&c.name)?;
                if self.is_there_already(&c.name)? { Ok(()) } else { self.lock_names_for_ddl([&c.name]) }
            }
            DropTable(d) if !d.temporary => self.lock_names_for_ddl(self.permanent(&d.tables)),
            RenameTable(pairs) => self.lock_names_for_ddl(pairs.iter().flat_map(|(from, to)| [from, to])),
            Truncate(name) => self.lock_names_for_ddl(self.permanent([name])),
            CreateView(v) => self.lock_names_for_ddl([&v.name]),
            DropView(d) => self.lock_names_for_ddl(&d.views),
            AlterTable(a) => {
                let renamed = a.specs.iter().any(|s| matches!(s, ast::AlterSpec::RenameTo(_)));
                let to =
                    a.specs.iter().filter_map(|s| if let ast::AlterSpec::RenameTo(n) = s { Some(n) } else { None });
                let lock = a.specs.iter().rev().find_map(|s| match s {
                    ast::AlterSpec::Lock(l) => Some(*l),
                    _ => None,
                });
                match renamed {
                    true if self.permanent([&a.name]).is_empty() => Ok(()),
                    true => self.lock_names_for_ddl(to.chain([&a.name])),
                    false => self.lock_for_alter(&a.name, lock),
                }
            }
            TableMaintenance(t) if t.op == ast::MaintenanceOp::Optimize => {
                t.tables.iter().try_for_each(|name| self.lock_for_alter(name, None))
            }
            CreateIndex(c) => self.lock_for_alter(&c.table, c.lock),
            DropIndex(d) => self.lock_for_alter(&d.table, d.lock),
            CreateDatabase(c) => self.lock_schema_for_ddl(&c.name, false),
            AlterDatabase(a) => match a.name.as_deref().or(self.current_database()) {
                Some(name) => self.lock_schema_for_ddl(name, false),
                None => Ok(()),
            },
            DropDatabase { name, .. } => self.lock_schema_for_ddl(name, true),
            _ => Ok(()),
        }
    }

    /// The statement is over: locks of statements that only look at definitions, or find a table missing, go, and without a
    /// transaction all do.
    pub fn unlock_statement(&mut self, statement: &Statement, mark: usize, result: Result<()>) -> Result<()> {
        let result = self.failed_lock(result);
        self.locks.reading = Mode::SharedRead;
        self.locks.writing = false;
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

    /// The lock that failed, if one did, explains the failure.
    fn failed_lock<T>(&mut self, result: Result<T>) -> Result<T> {
        match self.locks.failure.get_mut().take() {
            Some(e) => Err(e),
            None => result,
        }
    }

    /// After it: what the lookups locked is let go.
    pub fn unlock_lookup<T>(&mut self, mark: usize, result: Result<T>) -> Result<T> {
        self.db.mdl().release_since(&self.locks.owner, mark);
        self.failed_lock(result)
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
