//! LOCK TABLES, UNLOCK TABLES and FLUSH, one form of which locks.

use crate::{Frame, SessionState};
use mdl::{KeyRef, Mode, Space, Until};
use names::{Names, Object, ObjectUse, Place, UseKind};
use parser::ast::{self, FlushWhat, ObjectName, Statement, TableLockKind, TableUse};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::{Error, Result};

/// A table or view, and how it is to be locked.
type Wanted<'n> = (&'n Object, Mode);

/// What LOCK TABLES is to lock, with the tables and views that its views read, and those that foreign keys lead to from
/// tables that will be written.
fn wanted(names: &Names) -> Vec<Wanted<'_>> {
    let mode = |u: &ObjectUse| match (u.place, u.kind) {
        (Place::Stored, UseKind::Named(TableUse::LockTable(kind))) => Some(mode_of(kind)),
        _ => None,
    };
    let strongest = |o: &Object| o.uses.iter().filter_map(mode).max_by_key(|m| *m as u8);
    names.objects().iter().filter_map(|o| Some((o, strongest(o)?))).collect()
}

fn mode_of(kind: TableLockKind) -> Mode {
    match kind {
        TableLockKind::Read | TableLockKind::ReadLocal => Mode::SharedReadOnly,
        TableLockKind::Write | TableLockKind::LowPriorityWrite => Mode::SharedNoReadWrite,
    }
}

impl SessionState {
    /// A table has another name: LOCK TABLES holds it under that.
    pub fn relock_renamed(&self, from: &(Box<str>, Box<str>), to: &(Box<str>, Box<str>)) -> Result<()> {
        if self.locks.tables_locked
            && let Some(mode) = self.db.mdl().table_locked(&self.locks.owner, &from.0, &from.1)
        {
            self.acquire(&self.db.mdl().table(&to.0, &to.1), mode, Until::Released)?;
            self.db.mdl().release_table(&self.locks.owner, &from.0, &from.1);
        }
        Ok(())
    }

    /// Tables were dropped: LOCK TABLES holds them no longer.
    pub fn unlock_dropped(&self, schema: &str, name: &str) {
        if self.locks.tables_locked {
            self.db.mdl().release_table(&self.locks.owner, schema, name);
        }
    }

    /// Lets go of what LOCK TABLES took: tables, and with one for writing a place among those that change something.
    fn release_locked_tables(&self) {
        self.db.mdl().release_space(&self.locks.owner, Space::Table);
        if !self.locks.global_read_lock {
            self.db.mdl().release_space(&self.locks.owner, Space::Global);
        }
    }

    fn release_global_read_lock(&self) {
        self.db.mdl().release_space(&self.locks.owner, Space::Global);
        self.db.mdl().release_space(&self.locks.owner, Space::Commit);
    }

    /// What stands for the server, or for all commits.
    fn whole(&self, space: Space) -> Arc<mdl::Object> {
        self.db.mdl().object(KeyRef { space, schema: "", name: "" })
    }

    /// BEGIN lets go of LOCK TABLES, not of FLUSH TABLES WITH READ LOCK.
    pub fn unlock_tables_at_begin(&mut self) {
        if std::mem::take(&mut self.locks.tables_locked) {
            self.release_locked_tables();
        }
    }
}

impl Frame<'_> {
    /// LOCK TABLES. Either all are locked or none.
    pub fn lock_tables(&mut self, locks: Vec<ast::TableLock>) -> Result<()> {
        self.unlock_locked_tables()?;
        let mut aliases: Vec<(Box<str>, Box<str>)> = Vec::new();
        for l in &locks {
            let alias = l.alias.as_ref().unwrap_or(&l.table.name);
            let alias = (self.resolve_name(&l.table)?.0, alias.as_str().into());
            if aliases.contains(&alias) {
                return Err(Error::nonuniq_table(&alias.1));
            }
            aliases.push(alias);
        }
        let statement = Statement::LockTables(locks);
        let release = |_: &Error| self.release_locked_tables();
        loop {
            let names = self.resolve(&statement, false);
            self.check_tables_to_lock(&statement, &names)?;
            self.lock_wanted(&wanted(&names)).inspect_err(release)?;
            // Until its lock was there a view could become another one.
            if names.are_current(self.db.catalog()) {
                break;
            }
            self.release_locked_tables();
        }
        self.locks.tables_locked = true;
        Ok(())
    }

    /// 1146 for a name that nothing has. What is missing behind a view is told when the view is read.
    fn check_tables_to_lock(&self, statement: &Statement, names: &Names) -> Result<()> {
        for (name, _) in statement.table_uses().tables {
            let (schema, name) = self.resolve_name(name)?;
            let is_stored = |o: &&Object| o.uses.iter().any(|u| u.place == Place::Stored);
            let is_temporary = self.temporary().get(&schema, &name).is_some();
            if !is_temporary && names.get(&schema, &name).filter(is_stored).is_some_and(|o| o.relation.is_none()) {
                return Err(Error::no_such_table(&schema, &name));
            }
        }
        Ok(())
    }

    fn lock_wanted(&self, wanted: &[Wanted<'_>]) -> Result<()> {
        for (object, mode) in wanted {
            if *mode == Mode::SharedNoReadWrite {
                if self.locks.global_read_lock {
                    return Err(Error::cant_update_with_readlock());
                }
                self.acquire(&self.whole(Space::Global), Mode::IntentionExclusive, Until::Released)?;
            }
            self.acquire(&self.db.mdl().table(&object.schema, &object.name), *mode, Until::Released)?;
        }
        Ok(())
    }

    /// UNLOCK TABLES; commits if LOCK TABLES was in force.
    pub fn unlock_tables(&mut self) -> Result<()> {
        self.unlock_locked_tables()?;
        if std::mem::take(&mut self.locks.global_read_lock) {
            self.release_global_read_lock();
        }
        Ok(())
    }

    fn unlock_locked_tables(&mut self) -> Result<()> {
        if std::mem::take(&mut self.locks.tables_locked) {
            self.commit()?;
            self.release_locked_tables();
        }
        Ok(())
    }

    pub fn flush(&mut self, what: &FlushWhat) -> Result<()> {
        match what {
            FlushWhat::Options(options) => {
                for option in options {
                    match &**option {
                        "STATUS" => {
                            self.db.status().flush(&self.status);
                            self.db.status().flushed_at_s.store(self.db.uptime_s(), Ordering::Relaxed);
                        }
                        "PRIVILEGES" => self.db.accounts().flush(),
                        "LOGS" => self.db.reopen_logs()?,
                        "ERROR LOGS" => self.db.reopen_error_log()?,
                        "SLOW LOGS" => self.db.logs().reopen_log("slow_query_log_file")?,
                        "GENERAL LOGS" => self.db.logs().reopen_log("general_log_file")?,
                        _ => {}
                    }
                }
                Ok(())
            }
            FlushWhat::Tables { with_read_lock: false, for_export: false, .. } => Ok(()),
            FlushWhat::Tables { for_export: true, .. } => Err(Error::not_supported("FLUSH TABLES ... FOR EXPORT")),
            FlushWhat::Tables { tables, .. } if tables.is_empty() => {
                if self.locks.tables_locked {
                    return Err(Error::lock_or_active_transaction());
                }
                self.commit()?;
                self.unlock_transaction();
                // Statements first: one that goes on may wait for a transaction that has to commit.
                for space in [Space::Global, Space::Commit] {
                    let locked = self.acquire(&self.whole(space), Mode::Shared, Until::Released);
                    locked.inspect_err(|_| self.release_global_read_lock())?;
                }
                self.locks.global_read_lock = true;
                Ok(())
            }
            FlushWhat::Tables { tables, .. } => {
                if self.locks.tables_locked {
                    return Err(Error::lock_or_active_transaction());
                }
                self.commit()?;
                self.unlock_transaction();
                let read = |t: &ObjectName| ast::TableLock { table: t.clone(), alias: None, kind: TableLockKind::Read };
                self.lock_tables(tables.iter().map(read).collect())
            }
        }
    }
}
