//! Locks on what DDL changes, makes or removes.

use crate::Frame;
use mdl::{Mode, Space, Until};
use types::{Error, Result};

impl Frame<'_> {
    /// Locks tables whose definitions the running statement is about to change, when it has found out which, or makes
    /// their locks stronger. `mode`: [`Mode::Exclusive`], or [`Mode::SharedUpgradable`] for what goes on beside readers
    /// and writers and locks exclusively when it is about to publish its result.
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
                    None if self.db.catalog().relation(schema, name).is_some() => {
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
}
