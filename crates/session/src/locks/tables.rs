//! LOCK TABLES, UNLOCK TABLES and FLUSH, one form of which locks.

use crate::view_text;
use crate::{Frame, SessionState};
use catalog::{CatalogReader, FkAction, Relation, TableDef};
use mdl::{KeyRef, Mode, Object, Space, Until};
use parser::ast::{self, FlushWhat, ObjectName, TableLockKind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use types::{Error, Result};

/// Database and name of a table or view, and how it is to be locked.
type Wanted = (Box<str>, Box<str>, Mode);

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
    fn whole(&self, space: Space) -> Arc<Object> {
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
    pub fn lock_tables(&mut self, locks: &[ast::TableLock]) -> Result<()> {
        self.unlock_locked_tables()?;
        let mut wanted: Vec<Wanted> = Vec::new();
        let mut aliases: Vec<(Box<str>, &str)> = Vec::new();
        for l in locks {
            let (schema, name) = self.resolve_name(&l.table)?;
            let alias = (schema.clone(), l.alias.as_ref().map_or(&*l.table.name, |a| a.as_str()));
            if aliases.contains(&alias) {
                return Err(Error::nonuniq_table(alias.1));
            }
            aliases.push(alias);
            if self.temporary().get(&schema, &name).is_some() {
                continue;
            }
            let mode = match l.kind {
                TableLockKind::Read | TableLockKind::ReadLocal => Mode::SharedReadOnly,
                TableLockKind::Write | TableLockKind::LowPriorityWrite => Mode::SharedNoReadWrite,
            };
            if !self.db.tables().has(&schema, &name) {
                wanted.push((schema, name, mode));
            }
        }
        let release = |_: &Error| self.release_locked_tables();
        loop {
            let all = self.with_tables_behind(&wanted)?;
            self.lock_wanted(&all).inspect_err(release)?;
            // Until its lock was there a view could become another one.
            if self.with_tables_behind(&wanted).inspect_err(release)? == all {
                break;
            }
            self.release_locked_tables();
        }
        self.locks.tables_locked = true;
        Ok(())
    }

    /// What is to be locked, with the tables and views that its views read, and those that foreign keys lead to from tables
    /// that will be written; the stronger lock on one comes first.
    fn with_tables_behind(&self, wanted: &[Wanted]) -> Result<Vec<Wanted>> {
        let mut all: Vec<Wanted> = wanted.to_vec();
        let mut at = 0;
        while let Some((schema, name, mode)) = all.get(at).cloned() {
            match CatalogReader::relation(self.db.catalog(), &schema, &name) {
                Some(Relation::Table(def)) if mode == Mode::SharedNoReadWrite => {
                    for (schema, name, mode) in self.related(&def) {
                        if !all.iter().any(|w| (&w.0, &w.1) == (&schema, &name) && w.2 as u8 >= mode as u8) {
                            all.push((schema, name, mode));
                        }
                    }
                }
                Some(Relation::Table(_)) => {}
                Some(Relation::View(view)) => {
                    let below =
                        view_text::tables(&view.select_text).into_iter().filter(|(s, n)| !self.db.tables().has(s, n));
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

    /// The tables that foreign keys of and on a table lead to when it is written: they are read, or written, too.
    fn related(&self, def: &TableDef) -> Vec<Wanted> {
        let mode = |acts: bool| if acts { Mode::SharedNoReadWrite } else { Mode::SharedReadOnly };
        let parents =
            def.foreign_keys.iter().map(|fk| (fk.parent_schema.clone(), fk.parent_table.clone(), mode(false)));
        let children = self.db.catalog().references_to(&def.schema, &def.name);
        let acts = |action| !matches!(action, FkAction::Restrict | FkAction::NoAction);
        let of_child = |(child, fk): &(Arc<TableDef>, usize)| {
            let key = &child.foreign_keys[*fk];
            (child.schema.clone(), child.name.clone(), mode(acts(key.on_delete) || acts(key.on_update)))
        };
        parents.chain(children.iter().map(of_child)).collect()
    }

    fn lock_wanted(&self, wanted: &[Wanted]) -> Result<()> {
        for (schema, name, mode) in wanted {
            if *mode == Mode::SharedNoReadWrite {
                if self.locks.global_read_lock {
                    return Err(Error::cant_update_with_readlock());
                }
                self.acquire(&self.whole(Space::Global), Mode::IntentionExclusive, Until::Released)?;
            }
            self.acquire(&self.db.mdl().table(schema, name), *mode, Until::Released)?;
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
                self.lock_tables(&tables.iter().map(read).collect::<Vec<_>>())
            }
        }
    }
}
