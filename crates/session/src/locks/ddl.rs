//! Locks on what DDL changes, makes or removes.

use crate::Frame;
use mdl::{Mode, Space, Until};
use parser::ast::{self, ObjectName};
use types::{Error, Result};

impl Frame<'_> {
    /// Locks tables whose definitions the running statement changes, makes or removes: all DDL comes through here before
    /// it changes anything. `mode`: [`Mode::Exclusive`], or [`Mode::SharedUpgradable`] for what goes on beside readers and
    /// writers and locks exclusively when it is about to publish its result.
    pub fn lock_for_ddl(&self, names: &[(Box<str>, Box<str>)], mode: Mode) -> Result<()> {
        self.lock_scope(Space::Global, "", Mode::IntentionExclusive)?;
        // One order for all keeps DDL statements from each other's throats.
        let mut sorted: Vec<&(Box<str>, Box<str>)> = names.iter().collect();
        sorted.sort();
        sorted.dedup();
        let mut schemas: Vec<&str> = sorted.iter().map(|n| &*n.0).collect();
        schemas.dedup();
        for schema in schemas {
            self.lock_scope(Space::Schema, schema, Mode::IntentionExclusive)?;
        }
        for (schema, name) in sorted {
            if self.locks.tables_locked {
                match self.db.mdl().table_locked(&self.locks.owner, schema, name) {
                    Some(Mode::SharedReadOnly) => return Err(Error::table_not_locked_for_write(name)),
                    None if catalog::CatalogReader::relation(self.db.catalog(), schema, name).is_some() => {
                        return Err(Error::table_not_locked(name));
                    }
                    _ => {}
                }
            }
            self.acquire(&self.db.mdl().table(schema, name), mode, Until::Transaction)?;
        }
        Ok(())
    }

    /// CREATE, ALTER and DROP DATABASE. All that is in the database is locked with it.
    pub fn lock_schema_for_ddl(&self, schema: &str, contents: bool) -> Result<()> {
        if self.locks.tables_locked {
            return Err(Error::lock_or_active_transaction());
        }
        self.lock_scope(Space::Global, "", Mode::IntentionExclusive)?;
        self.lock_scope(Space::Schema, schema, Mode::Exclusive)?;
        if !contents {
            return Ok(());
        }
        let names: Vec<Box<str>> = self
            .db
            .catalog()
            .read(|s| s.get(schema).map_or(Vec::new(), |d| d.relations.names().map(Into::into).collect()));
        for name in names {
            self.acquire(&self.db.mdl().table(schema, &name), Mode::Exclusive, Until::Transaction)?;
        }
        Ok(())
    }

    /// LOCK TABLES knows all tables that there are to be: 1100.
    pub fn check_makes_no_table(&self, name: &ObjectName) -> Result<()> {
        if !self.locks.tables_locked {
            return Ok(());
        }
        let (schema, name) = self.resolve_name(name)?;
        match self.db.mdl().table_locked(&self.locks.owner, &schema, &name) {
            Some(_) => Ok(()),
            None => Err(Error::table_not_locked(&name)),
        }
    }

    /// Whether a table that is about to be made is there, and stays so while the statement finds out: then nobody is kept
    /// from it.
    pub fn is_there_already(&self, name: &ObjectName) -> Result<bool> {
        let Ok((schema, name)) = self.resolve_name(name) else { return Ok(false) };
        let is_there = || catalog::CatalogReader::relation(self.db.catalog(), &schema, &name).is_some();
        if !is_there() {
            return Ok(false);
        }
        let mark = self.mark_locks();
        self.acquire(&self.db.mdl().table(&schema, &name), Mode::SharedRead, Until::Transaction)?;
        if !is_there() {
            self.db.mdl().release_since(&self.locks.owner, mark);
            return Ok(false);
        }
        Ok(true)
    }

    /// Names that stand for temporary tables need no locks.
    pub fn permanent<'n>(&self, names: impl IntoIterator<Item = &'n ObjectName>) -> Vec<&'n ObjectName> {
        let is_temporary =
            |n: &ObjectName| self.resolve_name(n).is_ok_and(|(s, n)| self.temporary().get(&s, &n).is_some());
        names.into_iter().filter(|n| !is_temporary(n)).collect()
    }

    pub fn lock_names_for_ddl<'n>(&self, names: impl IntoIterator<Item = &'n ObjectName>) -> Result<()> {
        let mut resolved = Vec::new();
        for name in names {
            // What cannot be resolved is the statement's own error.
            if let Ok(pair) = self.resolve_name(name)
                && !self.db.tables().has(&pair.0, &pair.1)
            {
                resolved.push(pair);
            }
        }
        if resolved.is_empty() {
            return Ok(());
        }
        self.lock_for_ddl(&resolved, Mode::Exclusive)
    }

    /// ALTER TABLE and the like: others go on using the table as LOCK = allows, until the result is published.
    pub fn lock_for_alter(&self, name: &ObjectName, lock: Option<ast::AlterLock>) -> Result<()> {
        let Ok(pair) = self.resolve_name(name) else { return Ok(()) };
        if self.db.tables().has_schema(&pair.0) || self.temporary().get(&pair.0, &pair.1).is_some() {
            return Ok(());
        }
        let names = [pair];
        match lock {
            Some(ast::AlterLock::Exclusive) => self.lock_for_ddl(&names, Mode::Exclusive),
            Some(ast::AlterLock::Shared) => {
                self.lock_for_ddl(&names, Mode::SharedUpgradable)?;
                self.lock_for_ddl(&names, Mode::SharedReadOnly)
            }
            _ => self.lock_for_ddl(&names, Mode::SharedUpgradable),
        }
    }
}
