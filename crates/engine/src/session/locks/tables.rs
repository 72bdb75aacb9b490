//! LOCK TABLES, UNLOCK TABLES and FLUSH, one form of which locks.

use crate::information_schema::is_virtual;
use crate::mdl::{KeyRef, Mode, Space, Until};
use crate::session::Session;
use parser::ast::{self, FlushWhat, ObjectName, TableLockKind};
use types::{Error, Result};

impl Session {
    /// LOCK TABLES. Either all are locked or none.
    pub(in crate::session) fn lock_tables(&mut self, locks: &[ast::TableLock]) -> Result<()> {
        self.unlock_tables()?;
        let mut wanted: Vec<(Box<str>, Box<str>, Mode)> = Vec::new();
        for l in locks {
            let (schema, name) = self.resolve_name(&l.table)?;
            let mode = match l.kind {
                TableLockKind::Read | TableLockKind::ReadLocal => Mode::SharedReadOnly,
                TableLockKind::Write | TableLockKind::LowPriorityWrite => Mode::SharedNoReadWrite,
            };
            if !is_virtual(&schema) {
                wanted.push((schema, name, mode));
            }
        }
        // The stronger lock on a table named twice comes first.
        wanted.sort_by(|a, b| (&a.0, &a.1, b.2 as u8).cmp(&(&b.0, &b.1, a.2 as u8)));
        self.lock_wanted(&wanted).inspect_err(|_| self.db.mdl().release_space(&self.locks.owner, Space::Table))?;
        self.locks.tables_locked = true;
        Ok(())
    }

    fn lock_wanted(&self, wanted: &[(Box<str>, Box<str>, Mode)]) -> Result<()> {
        for (schema, name, mode) in wanted {
            if *mode == Mode::SharedNoReadWrite {
                self.lock_scope(Space::Global, "", Mode::IntentionExclusive)?;
            }
            self.acquire(&self.db.mdl().table(schema, name), *mode, Until::Released)?;
            match catalog::CatalogReader::relation(self.db.catalog(), schema, name) {
                Some(catalog::Relation::Table(_)) => {}
                Some(catalog::Relation::View(_)) => return Err(Error::not_supported("LOCK TABLES of a view")),
                None => return Err(Error::no_such_table(schema, name)),
            }
        }
        Ok(())
    }

    /// UNLOCK TABLES; commits if LOCK TABLES was in force.
    pub(in crate::session) fn unlock_tables(&mut self) -> Result<()> {
        if std::mem::take(&mut self.locks.tables_locked) {
            self.commit()?;
            self.db.mdl().release_space(&self.locks.owner, Space::Table);
        }
        if std::mem::take(&mut self.locks.global_read_lock) {
            self.db.mdl().release_space(&self.locks.owner, Space::Global);
        }
        Ok(())
    }

    /// BEGIN lets go of LOCK TABLES, not of FLUSH TABLES WITH READ LOCK.
    pub(in crate::session) fn unlock_tables_at_begin(&mut self) {
        if std::mem::take(&mut self.locks.tables_locked) {
            self.db.mdl().release_space(&self.locks.owner, Space::Table);
        }
    }

    pub(in crate::session) fn flush(&mut self, what: &FlushWhat) -> Result<()> {
        match what {
            FlushWhat::Options(options) => {
                for option in options {
                    match &**option {
                        "STATUS" => self.db.status().flush(&self.status),
                        "LOGS" => {
                            self.db.slow_log().reopen();
                            self.db.general_log().reopen();
                        }
                        "SLOW LOGS" => self.db.slow_log().reopen(),
                        "GENERAL LOGS" => self.db.general_log().reopen(),
                        _ => {}
                    }
                }
                if options.iter().any(|o| &**o == "OPTIMIZER_COSTS") {
                    self.db.flush_costs()?;
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
                let object = self.db.mdl().object(KeyRef { space: Space::Global, schema: "", name: "" });
                self.acquire(&object, Mode::Shared, Until::Released)?;
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
                self.lock_tables(&tables.iter().map(read).collect::<Vec<_>>())
            }
        }
    }
}
