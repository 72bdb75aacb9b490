//! The directory of schemas, tables and views.
//!
//! Invariants
//! 1. Readers never wait for DDL: a lookup clones an `Arc` under a read latch held for the lookup alone.
//! 2. `version` grows with every published change, after the change is visible. As long as it stays, all definitions
//!    are what they were; when it moved, one can be compared with what it was ([`Relation::is_same`]).
//! 3. A change costs what it changes, not what there is: the versions of a schema share their relations
//!    ([`Directory`]).
//! 4. Schema and table names are case-sensitive (as with lower_case_table_names=0 on Linux).

use crate::{Directory, TableDef, TableId, ViewDef};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock};
use types::{Collation, Result};

/// What a name in FROM stands for.
#[derive(Clone, Debug)]
pub enum Relation {
    Table(Arc<TableDef>),
    View(Arc<ViewDef>),
}

impl Relation {
    pub fn name(&self) -> &str {
        match self {
            Relation::Table(t) => &t.name,
            Relation::View(v) => &v.name,
        }
    }

    /// The same definition, not one like it.
    pub fn is_same(&self, other: &Relation) -> bool {
        match (self, other) {
            (Relation::Table(a), Relation::Table(b)) => Arc::ptr_eq(a, b),
            (Relation::View(a), Relation::View(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    fn foreign_keys(&self) -> impl Iterator<Item = (&Arc<TableDef>, usize)> {
        let table = if let Relation::Table(t) = self { Some(t) } else { None };
        table.into_iter().flat_map(|t| (0..t.foreign_keys.len()).map(move |i| (t, i)))
    }
}

/// Name lookup, as the planner sees it (temporary tables and information_schema are layered above). It has no effects.
pub trait CatalogReader {
    /// `None` if the schema has no such relation: 1146 and 1049 are the caller's. Errors: names that may not be looked
    /// up.
    fn relation(&self, schema: &str, name: &str) -> Result<Option<Relation>>;
    fn has_schema(&self, schema: &str) -> bool;
    /// As [`CatalogReader::relation`], without temporary tables.
    fn stored_relation(&self, schema: &str, name: &str) -> Result<Option<Relation>> {
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
    pub relations: Directory,
}

/// By name.
pub type Schemas = BTreeMap<Box<str>, SchemaDef>;

/// Told of every change before it is published; it returns once the change cannot be lost any more. An error: the
/// change is not to be published.
pub trait Journal: Send + Sync + std::fmt::Debug {
    fn record(&self, before: &Schemas, after: &Schemas) -> Result<()>;
}

#[derive(Debug, Default)]
pub struct Catalog {
    /// Held by the one who changes something, while the journal writes too.
    changing: Mutex<()>,
    journal: OnceLock<Box<dyn Journal>>,
    schemas: RwLock<Schemas>,
    version: AtomicU64,
    next_table_id: AtomicU64,
    references: Mutex<References>,
}

/// Foreign keys by the table that they refer to, as of a version of the catalog. Brought up to date by what differs
/// between that version's schemas and the present ones.
#[derive(Debug, Default)]
struct References {
    version: Option<u64>,
    schemas: Schemas,
    to: HashMap<Box<str>, HashMap<Box<str>, ReferenceList>>,
}

/// A foreign key that goes or comes: the table that has it, and its position there.
type KeyChange<'a> = (&'a Arc<TableDef>, usize);

impl References {
    fn catch_up(&mut self, version: u64, schemas: Schemas) {
        let before = std::mem::replace(&mut self.schemas, schemas.clone());
        let none = Directory::default();
        // By parent, so that each parent's list is made once.
        let mut changes: HashMap<(&str, &str), [Vec<KeyChange<'_>>; 2]> = HashMap::new();
        let names = before.keys().chain(schemas.keys().filter(|n| !before.contains_key(*n)));
        for name in names {
            let [old, new] = [&before, &schemas].map(|all| all.get(name).map_or(&none, |s| &s.relations));
            for d in new.differences(old) {
                for (relation, comes) in [(d.before, 0), (d.after, 1)] {
                    for (def, i) in relation.into_iter().flat_map(Relation::foreign_keys) {
                        let key = &def.foreign_keys[i];
                        let of_parent = changes.entry((&*key.parent_schema, &*key.parent_table)).or_default();
                        of_parent[comes].push((def, i));
                    }
                }
            }
        }
        for ((schema, table), [gone, come]) in changes {
            self.change(schema, table, &gone, &come);
        }
        self.version = Some(version);
    }

    fn change(&mut self, schema: &str, table: &str, gone: &[KeyChange<'_>], come: &[KeyChange<'_>]) {
        let of_schema = self.to.entry(schema.into()).or_default();
        let known = of_schema.remove(table).unwrap_or_default();
        let place = |def: &Arc<TableDef>, i: usize| (Arc::as_ptr(def), i);
        let gone: HashSet<_> = gone.iter().map(|(def, i)| place(def, *i)).collect();
        let kept = known.iter().filter(|(def, i)| !gone.contains(&place(def, *i))).cloned();
        let mut all: Vec<(Arc<TableDef>, usize)> =
            kept.chain(come.iter().map(|(def, i)| ((*def).clone(), *i))).collect();
        all.sort_by(|a, b| (&a.0.schema, &a.0.name, a.1).cmp(&(&b.0.schema, &b.0.name, b.1)));
        if !all.is_empty() {
            of_schema.insert(table.into(), all.into());
        } else if of_schema.is_empty() {
            self.to.remove(schema);
        }
    }
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
            let schemas = self.read(Schemas::clone);
            known.catch_up(version, schemas);
        }
        known.to.get(schema).and_then(|s| s.get(table)).cloned().unwrap_or_default()
    }

    /// Runs `f` over the schemas. `f` must not block.
    pub fn read<R>(&self, f: impl FnOnce(&Schemas) -> R) -> R {
        f(&self.schemas.read().expect("no panic while held"))
    }

    /// What the name stands for now.
    pub fn relation(&self, schema: &str, name: &str) -> Option<Relation> {
        self.read(|s| s.get(schema)?.relations.get(name).cloned())
    }

    pub fn has_schema(&self, schema: &str) -> bool {
        self.read(|s| s.contains_key(schema))
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

    /// Bumps the version though no definition has changed: something else has that plans depend on.
    pub fn touch(&self) {
        let _one = self.changing.lock().expect("no panic while held");
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Runs `f` with the schemas for change, has the journal keep what changed, publishes it and bumps the version. `f`
    /// must check before it changes: there is no undo. Errors: the journal's; then nothing is published.
    pub fn write<R>(&self, f: impl FnOnce(&mut Schemas) -> R) -> Result<R> {
        let _one = self.changing.lock().expect("no panic while held");
        let before = self.read(Schemas::clone);
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
    fn relation(&self, schema: &str, name: &str) -> Result<Option<Relation>> {
        Ok(Catalog::relation(self, schema, name))
    }

    fn has_schema(&self, schema: &str) -> bool {
        Catalog::has_schema(self, schema)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Error;

    #[derive(Debug)]
    struct Refuses;

    impl Journal for Refuses {
        fn record(&self, _: &Schemas, _: &Schemas) -> Result<()> {
            Err(Error::read_only_mode())
        }
    }

    #[test]
    fn what_the_journal_refuses_is_not_published() {
        let catalog = Catalog::default();
        let schema = |name: &str| SchemaDef {
            name: name.into(),
            collation: Collation::default(),
            relations: Directory::default(),
        };
        catalog.write(|s| s.insert("kept".into(), schema("kept"))).expect("there is no journal yet");
        catalog.set_journal(Box::new(Refuses));
        let version = catalog.version();
        assert!(catalog.write(|s| s.insert("lost".into(), schema("lost"))).is_err());
        assert!(catalog.write(|s| s.remove("kept")).is_err());
        assert!(catalog.has_schema("kept") && !catalog.has_schema("lost"));
        assert_eq!(catalog.version(), version);
    }
}
