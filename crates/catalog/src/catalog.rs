//! The directory of schemas, tables and views.
//!
//! Invariants
//! 1. Readers never wait for DDL: a lookup clones an `Arc` under a read latch held for the lookup alone.
//! 2. `version` grows with every published change, after the change is visible; cached plans compare it.
//! 3. Schema and table names are case-sensitive (as with lower_case_table_names=0 on Linux).

use crate::{TableDef, TableId, ViewDef};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock};
use types::{Collation, Result};

/// What a name in FROM stands for.
#[derive(Clone, Debug)]
pub enum Relation {
    Table(Arc<TableDef>),
    View(Arc<ViewDef>),
}

/// Name lookup, as the planner sees it (temporary tables and information_schema are layered above).
pub trait CatalogReader {
    /// `None` if the schema has no such relation; errors are the caller's (1146, 1049).
    fn relation(&self, schema: &str, name: &str) -> Option<Relation>;
    fn has_schema(&self, schema: &str) -> bool;
    /// As [`CatalogReader::relation`], without temporary tables.
    fn stored_relation(&self, schema: &str, name: &str) -> Option<Relation> {
        self.relation(schema, name)
    }
    fn is_temporary(&self, _schema: &str, _name: &str) -> bool {
        false
    }
}

#[derive(Clone, Debug)]
pub struct SchemaDef {
    pub name: Box<str>,
    pub collation: Collation,
    pub relations: BTreeMap<Box<str>, Relation>,
}

/// Told of every change before it is published; it returns once the change cannot be lost any more. An error: the change
/// is not to be published.
pub trait Journal: Send + Sync + std::fmt::Debug {
    fn record(&self, before: &BTreeMap<Box<str>, SchemaDef>, after: &BTreeMap<Box<str>, SchemaDef>) -> Result<()>;
}

#[derive(Debug, Default)]
pub struct Catalog {
    /// Held by the one who changes something, while the journal writes too.
    changing: Mutex<()>,
    journal: OnceLock<Box<dyn Journal>>,
    schemas: RwLock<BTreeMap<Box<str>, SchemaDef>>,
    version: AtomicU64,
    next_table_id: AtomicU64,
    references: Mutex<References>,
}

/// Foreign keys by the table that they refer to, as of a version of the catalog.
#[derive(Debug, Default)]
struct References {
    version: Option<u64>,
    to: HashMap<Box<str>, HashMap<Box<str>, ReferenceList>>,
}

/// Tables that refer to another one, each with the position of the foreign key in its definition.
pub type ReferenceList = Arc<[(Arc<TableDef>, usize)]>;

impl Catalog {
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub fn new_table_id(&self) -> TableId {
        TableId(self.next_table_id.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The foreign keys that refer to a table.
    pub fn references_to(&self, schema: &str, table: &str) -> ReferenceList {
        let version = self.version();
        let mut known = self.references.lock().expect("no panic while held");
        if known.version != Some(version) {
            type List = Vec<(Arc<TableDef>, usize)>;
            let mut to: HashMap<Box<str>, HashMap<Box<str>, List>> = HashMap::new();
            self.read(|schemas| {
                let relations = schemas.values().flat_map(|s| s.relations.values());
                for def in relations.filter_map(|r| if let Relation::Table(t) = r { Some(t) } else { None }) {
                    for (i, fk) in def.foreign_keys.iter().enumerate() {
                        let of_schema = to.entry(fk.parent_schema.clone()).or_default();
                        of_schema.entry(fk.parent_table.clone()).or_default().push((def.clone(), i));
                    }
                }
            });
            let shared = |m: HashMap<Box<str>, List>| m.into_iter().map(|(k, v)| (k, v.into())).collect();
            known.to = to.into_iter().map(|(k, v)| (k, shared(v))).collect();
            known.version = Some(version);
        }
        known.to.get(schema).and_then(|s| s.get(table)).cloned().unwrap_or_default()
    }

    /// Runs `f` over the schemas. `f` must not block.
    pub fn read<R>(&self, f: impl FnOnce(&BTreeMap<Box<str>, SchemaDef>) -> R) -> R {
        f(&self.schemas.read().expect("no panic while held"))
    }

    /// Ids given from now on are greater than `id`.
    pub fn raise_table_id(&self, id: u64) {
        self.next_table_id.fetch_max(id, Ordering::Relaxed);
    }

    /// Changes go through `journal` from now on. To be called once.
    pub fn set_journal(&self, journal: Box<dyn Journal>) {
        let set = self.journal.set(journal);
        debug_assert!(set.is_ok(), "a catalog has one journal");
    }

    /// Runs `f` with the schemas for change, has the journal keep what changed, publishes it and bumps the version. `f`
    /// must check before it changes: there is no undo. Errors: the journal's; then nothing is published.
    pub fn write<R>(&self, f: impl FnOnce(&mut BTreeMap<Box<str>, SchemaDef>) -> R) -> Result<R> {
        let _one = self.changing.lock().expect("no panic while held");
        let before = self.read(|schemas| schemas.clone());
        let mut after = before.clone();
        let r = f(&mut after);
        if let Some(journal) = self.journal.get() {
            journal.record(&before, &after)?;
        }
        let mut schemas = self.schemas.write().expect("no panic while held");
        *schemas = after;
        self.version.fetch_add(1, Ordering::Release);
        Ok(r)
    }
}

impl CatalogReader for Catalog {
    fn relation(&self, schema: &str, name: &str) -> Option<Relation> {
        self.read(|s| s.get(schema)?.relations.get(name).cloned())
    }

    fn has_schema(&self, schema: &str) -> bool {
        self.read(|s| s.contains_key(schema))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Error;

    #[derive(Debug)]
    struct Refuses;

    impl Journal for Refuses {
        fn record(&self, _: &BTreeMap<Box<str>, SchemaDef>, _: &BTreeMap<Box<str>, SchemaDef>) -> Result<()> {
            Err(Error::read_only_mode())
        }
    }

    #[test]
    fn what_the_journal_refuses_is_not_published() {
        let catalog = Catalog::default();
        let schema =
            |name: &str| SchemaDef { name: name.into(), collation: Collation::default(), relations: BTreeMap::new() };
        catalog.write(|s| s.insert("kept".into(), schema("kept"))).expect("there is no journal yet");
        catalog.set_journal(Box::new(Refuses));
        let version = catalog.version();
        assert!(catalog.write(|s| s.insert("lost".into(), schema("lost"))).is_err());
        assert!(catalog.write(|s| s.remove("kept")).is_err());
        assert!(catalog.has_schema("kept") && !catalog.has_schema("lost"));
        assert_eq!(catalog.version(), version);
    }
}
