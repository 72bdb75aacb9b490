//! Logs what changes of definitions come to, before they are published.

use super::objects;
use accounts::{Account, AccountJournal};
use catalog::{Difference, Directory, Relation, SchemaDef, Schemas, TableEngine, encoding};
use storage::{DefinitionChange, Object, ObjectKey, ObjectKind, Store};
use types::{Error, Result};

/// Schemas that the server makes itself at each start.
pub const BUILT_IN_SCHEMAS: [&str; 4] = ["information_schema", "mysql", "performance_schema", "sys"];

/// See the module head.
#[derive(Debug)]
pub struct Journal {
    store: Store,
}

fn key(kind: ObjectKind, schema: &str, name: &str) -> ObjectKey {
    ObjectKey { kind, schema: schema.into(), name: name.into() }
}

/// There once its first account has been made: a database without accounts is then one whose accounts were all dropped,
/// not a new one.
pub fn accounts_begun() -> ObjectKey {
    key(ObjectKind::Variable, "accounts", "begun")
}

fn relation_key(schema: &str, name: &str, relation: &Relation) -> ObjectKey {
    let kind = match relation {
        Relation::Table(_) => ObjectKind::Table,
        Relation::View(_) => ObjectKind::View,
    };
    key(kind, schema, name)
}

/// Of a relation that is in this schema, which it must know: a reader would refuse it else.
fn object(schema: &str, relation: &Relation) -> Result<Object> {
    let (known, object) = match relation {
        Relation::Table(t) => {
            objects::debug_check(t);
            (&t.schema, Object::new(t.id.0, encoding::of_table(t)?))
        }
        Relation::View(v) => (&v.schema, Object::new(0, encoding::of_view(v)?)),
    };
    if **known != *schema {
        return Err(Error::internal(format_args!("{} of {schema} takes itself for one of {known}", relation.name())));
    }
    Ok(object)
}

impl Journal {
    pub fn new(store: Store) -> Journal {
        Journal { store }
    }

    /// An error: a definition is not published unless it is logged.
    fn log(&self, changes: Vec<DefinitionChange>) -> Result<()> {
        if changes.is_empty() { Ok(()) } else { self.store.define(changes) }
    }

    fn schema_changes(
        before: Option<&SchemaDef>,
        after: &SchemaDef,
        differences: &[Difference<'_>],
        out: &mut Vec<DefinitionChange>,
    ) -> Result<()> {
        // Those that the server makes itself may have tables, but are no definitions.
        let is_own = BUILT_IN_SCHEMAS.contains(&&*after.name);
        if !is_own && before.is_none_or(|b| b.collation != after.collation) {
            let object = Object::new(0, encoding::of_schema(after)?);
            out.push(DefinitionChange::Put(key(ObjectKind::Schema, &after.name, ""), object));
        }
        for Difference { name, after: relation, .. } in differences {
            let Some(relation) = relation else { continue };
            let virtual_table = matches!(relation, Relation::Table(t) if t.engine == TableEngine::Virtual);
            if !virtual_table {
                out.push(DefinitionChange::Put(
                    relation_key(&after.name, name, relation),
                    object(&after.name, relation)?,
                ));
            }
        }
        Ok(())
    }

    /// The accounts that a new database begins with, and in the same record that it has begun.
    pub fn first_accounts(&self, accounts: &[Account]) -> Result<()> {
        let mut changes = Self::account_changes(&[], accounts)?;
        changes.push(DefinitionChange::Put(accounts_begun(), Object::new(0, Box::default())));
        self.log(changes)
    }

    /// Those that `after` has anew or otherwise, those that it has no more.
    fn account_changes(before: &[Account], after: &[Account]) -> Result<Vec<DefinitionChange>> {
        let of = |a: &Account| key(ObjectKind::Account, &a.user, &a.host);
        let gone = before.iter().filter(|b| !after.iter().any(|a| of(a) == of(b)));
        let mut changes: Vec<DefinitionChange> = gone.map(|b| DefinitionChange::Remove(of(b))).collect();
        for a in after.iter().filter(|a| !before.contains(a)) {
            let object = Object::new(0, encoding::of_account(&objects::of_account(a))?);
            changes.push(DefinitionChange::Put(of(a), object));
        }
        Ok(changes)
    }
}

impl AccountJournal for Journal {
    fn record(&self, before: &[Account], after: &[Account]) -> Result<()> {
        self.log(Self::account_changes(before, after)?)
    }
}

impl catalog::Journal for Journal {
    fn record(&self, before: &Schemas, after: &Schemas) -> Result<()> {
        let mut changes = Vec::new();
        let none = Directory::default();
        let differences = |name: &str| -> Vec<Difference<'_>> {
            let [old, new] = [before, after].map(|all| all.get(name).map_or(&none, |s| &s.relations));
            new.differences(old)
        };
        // What goes comes first: a renamed table may take the name of one that goes.
        for name in before.keys() {
            for d in differences(name) {
                let [gone, now] = [d.before, d.after].map(|r| r.map(|r| relation_key(name, d.name, r)));
                if let Some(gone) = gone.filter(|gone| now.as_ref() != Some(gone)) {
                    changes.push(DefinitionChange::Remove(gone));
                }
            }
            if !after.contains_key(name) {
                changes.push(DefinitionChange::Remove(key(ObjectKind::Schema, name, "")));
            }
        }
        for (name, schema) in after {
            Self::schema_changes(before.get(name), schema, &differences(name), &mut changes)?;
        }
        self.log(changes)
    }
}
