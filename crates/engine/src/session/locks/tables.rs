//! LOCK TABLES, UNLOCK TABLES and FLUSH, one form of which locks.

use crate::ddl::view_text;
use crate::information_schema::{is_virtual, is_virtual_table};
use crate::mdl::{KeyRef, Mode, Space, Until};
use crate::session::Session;
use catalog::{CatalogReader, Relation};
use parser::ast::{self, FlushWhat, ObjectName, TableLockKind};
use types::{Error, Result};

/// Database and name of a table or view, and how it is to be locked.
type Wanted = (Box<str>, Box<str>, Mode);

/// The server makes it up: there is nothing to lock.
fn is_made_up(schema: &str, name: &str) -> bool {
    is_virtual(schema) || is_virtual_table(schema, name)
}

impl Session {
    /// LOCK TABLES. Either all are locked or none.
    pub(in crate::session) fn lock_tables(&mut self, locks: &[ast::TableLock]) -> Result<()> {
        self.unlock_tables()?;
        let mut wanted: Vec<Wanted> = Vec::new();
        for l in locks {
            let (schema, name) = self.resolve_name(&l.table)?;
            let mode = match l.kind {
                TableLockKind::Read | TableLockKind::ReadLocal => Mode::SharedReadOnly,
                TableLockKind::Write | TableLockKind::LowPriorityWrite => Mode::SharedNoReadWrite,
            };
            if !is_made_up(&schema, &name) {
                wanted.push((schema, name, mode));
            }
        }
        let release = |_: &Error| self.db.mdl().release_space(&self.locks.owner, Space::Table);
        loop {
            let all = self.with_tables_of_views(&wanted)?;
            self.lock_wanted(&all).inspect_err(release)?;
            // Until its lock was there a view could become another one.
            if self.with_tables_of_views(&wanted).inspect_err(release)? == all {
                break;
            }
            self.db.mdl().release_space(&self.locks.owner, Space::Table);
        }
        self.locks.tables_locked = true;
        Ok(())
    }

    /// What is to be locked, with the tables and views that its views read; the stronger lock on one comes first.
    fn with_tables_of_views(&self, wanted: &[Wanted]) -> Result<Vec<Wanted>> {
        let mut all: Vec<Wanted> = wanted.to_vec();
        let mut at = 0;
        while let Some((schema, name, mode)) = all.get(at).cloned() {
            match CatalogReader::relation(self.db.catalog(), &schema, &name) {
                Some(Relation::Table(_)) => {}
                Some(Relation::View(view)) => {
                    let below = view_text::tables(&view.select_text).into_iter().filter(|(s, n)| !is_made_up(s, n));
                    for (schema, name) in below {
                        if !all.iter().any(|w| (&w.0, &w.1, w.2) == (&schema, &name, mode)) {
                            all.push((schema, name, mode));
                        }
                    }
                }
                None if at < wanted.len() => return Err(Error::no_such_table(&schema, &name)),
                // What is missing is told when the view is read.
                None => {}
            }
            at += 1;
        }
        all.sort_by(|a, b| (&a.0, &a.1, b.2 as u8).cmp(&(&b.0, &b.1, a.2 as u8)));
        Ok(all)
    }

    fn lock_wanted(&self, wanted: &[Wanted]) -> Result<()> {
        for (schema, name, mode) in wanted {
            if *mode == Mode::SharedNoReadWrite {
                self.lock_scope(Space::Global, "", Mode::IntentionExclusive)?;
            }
            self.acquire(&self.db.mdl().table(schema, name), *mode, Until::Released)?;
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
                        "LOGS" => self.db.reopen_logs()?,
                        "ERROR LOGS" => self.db.reopen_error_log()?,
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
