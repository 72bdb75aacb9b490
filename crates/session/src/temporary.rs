//! Temporary tables: a session's own, in front of permanent tables of the same names.
//!
//! They are tables of the store like others, but no catalog knows them: no other session, no log, no metadata lock.
//! Their rows are transactional. They go with the session, and when its connection is reset.

use crate::SessionState;
use catalog::TableDef;
use std::sync::Arc;

/// The definitions, in order of creation.
#[derive(Debug, Default)]
pub struct TemporaryTables(Vec<Arc<TableDef>>);

impl TemporaryTables {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn get(&self, schema: &str, name: &str) -> Option<&Arc<TableDef>> {
        self.0.iter().find(|t| *t.schema == *schema && *t.name == *name)
    }
}

impl SessionState {
    pub fn temporary(&self) -> &TemporaryTables {
        &self.temporary
    }

    pub fn add_temporary(&mut self, def: Arc<TableDef>) {
        self.temporary.0.push(def);
    }

    /// Puts an altered definition in place of the one of that name.
    pub fn replace_temporary(&mut self, old: &TableDef, new: Arc<TableDef>) {
        let is_it = |t: &&mut Arc<TableDef>| t.schema == old.schema && t.name == old.name;
        if let Some(t) = self.temporary.0.iter_mut().find(is_it) {
            *t = new;
        }
    }

    /// False: there is none of the name.
    pub fn drop_temporary(&mut self, schema: &str, name: &str) -> bool {
        let Some(i) = self.temporary.0.iter().position(|t| *t.schema == *schema && *t.name == *name) else {
            return false;
        };
        let def = self.temporary.0.remove(i);
        self.db.store().drop_table(def.id);
        true
    }

    pub fn drop_all_temporary(&mut self) {
        for def in std::mem::take(&mut self.temporary.0) {
            self.db.store().drop_table(def.id);
        }
    }
}
