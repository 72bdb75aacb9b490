//! What the running statement names: resolved, allowed, locked, and then looked up as often as needed.
//!
//! ```text
//!   resolve_allowed: rights on each object (1142 whether it is there or not); the cost tables, if they are named
//!   lock_resolved:   locks in the order of names; resolve again where a definition changed before its lock was there
//!   CatalogReader:   what was resolved, as temporary tables and those that the server makes up let it be seen
//! ```
//! Names are a frame's: a statement that another one runs has its own. One that it only binds (PREPARE) has its names
//! meanwhile.

use crate::Frame;
use accounts::Privilege;
use catalog::{CatalogReader, Relation};
use names::{Names, Scope};
use parser::ast::{ExplainTarget, Statement};
use types::{Error, Result};

/// What the running statement named and had locked before it looked at another one.
#[derive(Debug)]
pub struct OuterNames {
    names: Names,
    mark: usize,
}

impl Frame<'_> {
    /// What the statement names, as things stand now.
    pub fn resolve(&self, statement: &Statement, only_looks: bool) -> Names {
        let asked = match statement {
            Statement::Explain(e) => e.schema.as_ref().filter(|_| matches!(e.target, ExplainTarget::Statement(_))),
            _ => None,
        };
        let scope = Scope {
            catalog: self.db.catalog(),
            schema: asked.map(|s| s.as_str()).or(self.current_database()),
            is_temporary: &|schema, name| self.temporary().get(schema, name).is_some(),
            is_made_up: &|schema, name| self.db.tables().has(schema, name),
            foreign_keys: self.vars.hot().foreign_key_checks,
            only_looks,
        };
        names::resolve(statement, &scope)
    }

    /// The same, if the session has the rights that it takes: 1142. Cost tables that are named are there from now on.
    pub fn resolve_allowed(&self, statement: &Statement, only_looks: bool) -> Result<Names> {
        let names = self.resolve(statement, only_looks);
        let (user, host) = self.denied_account();
        names.check_rights(self.rights(), user, host)?;
        if !self.db.tables().named(self, &names)? {
            return Ok(names);
        }
        Ok(self.resolve(statement, only_looks))
    }

    /// Locks what was resolved, and keeps it to be looked up; what has changed until its lock was there is resolved
    /// again.
    pub fn lock_resolved(&mut self, statement: &Statement, mut names: Names) -> Result<()> {
        if names.objects().is_empty() {
            self.names = names;
            return Ok(());
        }
        let mark = self.mark_locks();
        loop {
            self.lock_names(&names)?;
            if names.are_current(self.db.catalog()) {
                self.names = names;
                return Ok(());
            }
            self.check_killed()?;
            self.forget_locks_since(mark);
            names = self.resolve_allowed(statement, names.only_looks)?;
        }
    }

    /// A statement is about to be bound without being run.
    pub fn begin_names(&mut self) -> OuterNames {
        OuterNames { mark: self.mark_locks(), names: std::mem::take(&mut self.names) }
    }

    /// Its names, locked as long as it takes.
    pub fn look_at(&mut self, statement: &Statement) -> Result<()> {
        let names = self.resolve_allowed(statement, true)?;
        self.lock_resolved(statement, names)
    }

    /// It is bound, or has failed to be: its locks go, and the names of the running statement come back.
    pub fn end_names(&mut self, outer: OuterNames) {
        self.names = outer.names;
        self.db.mdl().release_since(&self.locks.owner, outer.mark);
    }

    /// What the running statement names.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Error 1142 for who may see no tables.
    pub fn check_sees_tables(&self, table: &str) -> Result<()> {
        self.require_on_table(Privilege::Select, table)
    }
}

/// The statement's objects, with temporary tables and those that the server makes up.
impl CatalogReader for Frame<'_> {
    fn relation(&self, schema: &str, name: &str) -> Result<Option<Relation>> {
        if !self.db.tables().has(schema, name)
            && let Some(t) = self.temporary().get(schema, name)
        {
            return Ok(Some(Relation::Table(t.clone())));
        }
        self.stored_relation(schema, name)
    }

    fn stored_relation(&self, schema: &str, name: &str) -> Result<Option<Relation>> {
        if self.db.tables().has(schema, name) {
            self.check_sees_tables(name)?;
            return Ok(self.db.tables().relation(schema, name));
        }
        let found = self.names.stored(self.db.catalog(), schema, name);
        debug_assert!(found.is_some(), "`{schema}`.`{name}` was not resolved");
        found.ok_or_else(|| Error::internal(format_args!("{schema}.{name} is looked up but was not resolved")))
    }

    fn is_temporary(&self, schema: &str, name: &str) -> bool {
        self.temporary().get(schema, name).is_some()
    }

    fn has_schema(&self, schema: &str) -> bool {
        // Whoever may see no tables does not learn either what schemas there are.
        !self.may_see_tables() || self.canonical_schema(schema).is_some()
    }
}
