//! Definitions of schemas, tables, views, accounts: bytes under keys. What is in the bytes is [`catalog::encoding`]'s
//! to say (before format 3 of the folder they were texts, which the engine still reads); storage keeps them.
//!
//! ```text
//!   definitions = greatest table id so far | count | (key, object) of each
//!   changes     = count | of each: 1 | key | object      this key has this object now
//!                                  0 | key               this key is gone
//!   key         = kind 1 | schema (length, text) | name (length, text)
//!   object      = table id | leaf shift 1 | auto_increment | length | bytes
//! ```
//! Numbers without a width are varints. One log record holds the changes of one statement, so a statement's DDL happens
//! wholly or not at all. The changes are declarative: applying them again changes nothing, and a table has gone when no
//! key names its id.

use disk::codec::{Get, Put};
use std::collections::BTreeMap;

pub use catalog::ObjectKind;

/// What names an object. A schema's own name is in `schema`; accounts have the user there and the host in `name`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ObjectKey {
    pub kind: ObjectKind,
    pub schema: Box<str>,
    pub name: Box<str>,
}

/// What the engine needs to make the object again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Object {
    /// Tables only; else 0.
    pub table_id: u64,
    /// A leaf of the table has 2^this rows. Filled in by the store.
    pub leaf_shift: u8,
    /// The next value of the table's counter. Filled in by the store.
    pub auto_increment: u64,
    /// Its definition, for the engine.
    pub body: Box<[u8]>,
}

impl Object {
    /// `table_id`: 0 for all but tables.
    pub fn new(table_id: u64, body: Box<[u8]>) -> Object {
        Object { table_id, leaf_shift: 0, auto_increment: 0, body }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DefinitionChange {
    Put(ObjectKey, Object),
    Remove(ObjectKey),
}

/// All definitions.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Definitions {
    pub objects: BTreeMap<ObjectKey, Object>,
    /// No table ever had a greater id.
    pub table_id_max: u64,
}

impl Definitions {
    pub fn apply(&mut self, change: &DefinitionChange) {
        match change {
            DefinitionChange::Put(key, object) => {
                self.table_id_max = self.table_id_max.max(object.table_id);
                self.objects.insert(key.clone(), object.clone());
            }
            DefinitionChange::Remove(key) => {
                self.objects.remove(key);
            }
        }
    }

    /// The object of this key has another body, which says the same.
    pub fn restate(&mut self, key: &ObjectKey, body: Box<[u8]>) {
        if let Some(object) = self.objects.get_mut(key) {
            object.body = body;
        }
    }

    pub fn tables(&self) -> impl Iterator<Item = (&ObjectKey, &Object)> {
        self.objects.iter().filter(|(_, o)| o.table_id != 0)
    }

    pub fn put(&self, out: &mut Vec<u8>) {
        out.put_varint(self.table_id_max);
        out.put_varint(self.objects.len() as u64);
        for (key, object) in &self.objects {
            put_key(key, out);
            put_object(object, out);
        }
    }

    pub fn get(get: &mut Get<'_>) -> Option<Definitions> {
        let table_id_max = get.varint()?;
        let n = get.count(get.0.len())?;
        let objects = (0..n).map(|_| Some((get_key(get)?, get_object(get)?))).collect::<Option<_>>()?;
        Some(Definitions { objects, table_id_max })
    }
}

fn put_key(key: &ObjectKey, out: &mut Vec<u8>) {
    out.put_u8(key.kind as u8);
    out.put_bytes(key.schema.as_bytes());
    out.put_bytes(key.name.as_bytes());
}

fn get_key(get: &mut Get<'_>) -> Option<ObjectKey> {
    Some(ObjectKey { kind: ObjectKind::of(get.u8()?)?, schema: get.text()?.into(), name: get.text()?.into() })
}

fn put_object(object: &Object, out: &mut Vec<u8>) {
    out.put_varint(object.table_id);
    out.put_u8(object.leaf_shift);
    out.put_varint(object.auto_increment);
    out.put_bytes(&object.body);
}

fn get_object(get: &mut Get<'_>) -> Option<Object> {
    Some(Object {
        table_id: get.varint()?,
        leaf_shift: get.u8()?,
        auto_increment: get.varint()?,
        body: get.bytes()?.into(),
    })
}

/// The body of a log record.
pub fn put_changes(changes: &[DefinitionChange], out: &mut Vec<u8>) {
    out.put_varint(changes.len() as u64);
    for change in changes {
        match change {
            DefinitionChange::Put(key, object) => {
                out.put_u8(1);
                put_key(key, out);
                put_object(object, out);
            }
            DefinitionChange::Remove(key) => {
                out.put_u8(0);
                put_key(key, out);
            }
        }
    }
}

pub fn get_changes(body: &[u8]) -> Option<Vec<DefinitionChange>> {
    let mut get = Get(body);
    let n = get.count(body.len())?;
    let mut changes = Vec::with_capacity(n);
    for _ in 0..n {
        changes.push(match get.u8()? {
            1 => DefinitionChange::Put(get_key(&mut get)?, get_object(&mut get)?),
            0 => DefinitionChange::Remove(get_key(&mut get)?),
            _ => return None,
        });
    }
    get.is_empty().then_some(changes)
}
