//! What a statement names, as data, before anything of it happens.
//!
//! ```text
//!   parse ─▶ resolve ─▶ rights ─▶ lock, in the order of names ─▶ are they what they were? ─ no ─▶ resolve again
//!            (here)                                                        │ yes
//!                                                                          ▼
//!                                                      bind: looks names up in what was resolved
//! ```
//! - An *object* is a table or view by its database and name, or the absence of one: [`Object`].
//! - A *use* is what is done with an object, and by whom: [`ObjectUse`]. It tells which metadata lock it needs
//!   ([`ObjectUse::lock`]) and which privileges ([`ObjectUse::privileges`]).
//! - [`resolve`] finds all of a statement's: what its text names, what is behind the views among them, and the tables
//!   to which foreign keys lead from those that it changes. Common table expressions hide tables; temporary tables and
//!   tables that the server makes up need no locks, but they are named, too.
//!
//! Invariants
//! 1. Resolving has no effect: no lock, no table made, no error. What is wrong with a name is told when it is bound.
//! 2. Whatever a binder or a writer looks up is among the uses; looking up anything else is a bug.
//! 3. A definition is the same as long as its `Arc` is: every change of one publishes another. An [`Object`] keeps it,
//!    so that it is never mistaken for a later one.

mod resolve;
mod uses;

pub use resolve::{Scope, resolve};
pub use uses::{ActsAs, NeededLock, ObjectUse, Place, UseKind};

use accounts::Rights;
use catalog::{Catalog, ReferenceList, Relation};
use types::{Error, Result};

/// See the module head.
#[derive(Clone, Debug)]
pub struct Object {
    pub schema: Box<str>,
    pub name: Box<str>,
    /// What the name stood for in the catalog; `None`: nothing, or nobody means what is stored there.
    pub relation: Option<Relation>,
    /// Each kind once.
    pub uses: Vec<ObjectUse>,
}

/// The objects that a statement names.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// By schema and name.
    objects: Vec<Object>,
    /// The catalog's version when they were resolved.
    version: u64,
    /// How many of SELECT, VALUES and TABLE the statement has.
    pub queries: usize,
    /// The statement only looks at definitions, whatever it says about them: EXPLAIN, PREPARE.
    pub only_looks: bool,
}

impl Names {
    /// By schema and name: the order in which they are locked.
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    fn place(&self, schema: &str, name: &str) -> std::result::Result<usize, usize> {
        self.objects.binary_search_by(|o| (&*o.schema, &*o.name).cmp(&(schema, name)))
    }

    pub fn get(&self, schema: &str, name: &str) -> Option<&Object> {
        self.place(schema, name).ok().map(|i| &self.objects[i])
    }

    /// The locks that an object needs, the strongest first.
    pub fn locks(&self, object: &Object) -> Vec<NeededLock> {
        let mut locks: Vec<NeededLock> = object.uses.iter().map(|u| u.lock(object, self.only_looks)).collect();
        locks.sort_by(|a, b| b.cmp(a));
        locks.dedup();
        locks.retain(|l| *l != NeededLock::None);
        locks
    }

    /// The objects that a cached plan of the statement locks, in the order of locking, and whether for changes.
    pub fn plan_locks(&self) -> impl Iterator<Item = (&Object, bool)> {
        let locked = |o: &Object| o.uses.iter().map(|u| u.lock(o, false)).max().filter(|l| *l != NeededLock::None);
        self.objects.iter().filter_map(move |o| Some((o, locked(o)? >= NeededLock::Write)))
    }

    /// What a name stands for in the catalog. Objects that the statement itself defines are looked up as they are now,
    /// all others as they were resolved; the locks on them make that the same. `None`: it was not resolved, or not to
    /// be locked.
    pub fn stored(&self, catalog: &Catalog, schema: &str, name: &str) -> Option<Option<Relation>> {
        let object = self.get(schema, name)?;
        let is_locked = object.uses.iter().any(|u| u.lock(object, self.only_looks) != NeededLock::None);
        let defined = object.uses.iter().any(|u| u.place == Place::Stored && u.kind.defines());
        match (defined, is_locked) {
            (true, _) => Some(catalog.relation(schema, name)),
            (false, true) => Some(object.relation.clone()),
            (false, false) => None,
        }
    }

    /// Whether all objects are what they were.
    pub fn are_current(&self, catalog: &Catalog) -> bool {
        self.version == catalog.version() || self.objects.iter().all(|o| o.is_current(catalog))
    }

    /// Error 1142 for the first use, in the order of the statement, for which the rights are too few.
    pub fn check_rights(&self, rights: Rights, user: &str, host: &str) -> Result<()> {
        let uses = self.objects.iter().flat_map(|o| o.uses.iter().map(move |u| (o, u)));
        let refused = uses.filter_map(|(o, u)| Some((u.order, o, rights.lacks(u.privileges())?)));
        match refused.min_by_key(|(order, ..)| *order) {
            Some((_, object, missing)) => Err(Error::tableaccess_denied(&missing, user, host, &object.name)),
            None => Ok(()),
        }
    }

    /// What a plan of the statement depends on.
    pub fn dependencies(&self, catalog: &Catalog) -> Box<[Dependency]> {
        let stored = self.objects.iter().filter(|o| o.uses.iter().any(|u| u.place == Place::Stored));
        stored.map(|o| Dependency::of(o, catalog)).collect()
    }
}

impl Object {
    fn is_current(&self, catalog: &Catalog) -> bool {
        let meant = self.uses.iter().any(|u| u.place == Place::Stored);
        !meant || is_same(&self.relation, &catalog.relation(&self.schema, &self.name))
    }
}

fn is_same(a: &Option<Relation>, b: &Option<Relation>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.is_same(b),
        (None, None) => true,
        _ => false,
    }
}

/// An object as it was when a plan was made that depends on it, its absence included.
#[derive(Clone, Debug)]
pub struct Dependency {
    schema: Box<str>,
    name: Box<str>,
    relation: Option<Relation>,
    /// Of a table whose rows the plan changes: who refers to them.
    references: Option<ReferenceList>,
}

impl Dependency {
    fn of(object: &Object, catalog: &Catalog) -> Dependency {
        let changed = object.uses.iter().any(|u| u.kind.changes_rows());
        Dependency {
            schema: object.schema.clone(),
            name: object.name.clone(),
            relation: object.relation.clone(),
            references: changed.then(|| catalog.references_to(&object.schema, &object.name)),
        }
    }

    pub fn holds(&self, catalog: &Catalog) -> bool {
        let refers = |then: &ReferenceList| {
            let now = catalog.references_to(&self.schema, &self.name);
            let same = |(a, i): &(_, usize), (b, j): &(_, usize)| std::sync::Arc::ptr_eq(a, b) && i == j;
            now.len() == then.len() && now.iter().zip(then.iter()).all(|(a, b)| same(a, b))
        };
        is_same(&self.relation, &catalog.relation(&self.schema, &self.name)) && self.references.iter().all(refers)
    }
}
