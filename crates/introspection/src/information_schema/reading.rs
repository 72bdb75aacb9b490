//! Who reads a table of the server's, and what of it is asked for.
//!
//! `WHERE TABLE_SCHEMA = 'd' AND TABLE_NAME = 't'` need not look at other tables: a view, for one, is bound to tell its
//! columns. MySQL manual, "Optimizing INFORMATION_SCHEMA Queries".

use super::VirtualTable;
use catalog::Relation;
use session::Frame;
use std::ops::Deref;
use types::{Collation, Value};

/// A session with what it asks for.
pub struct Reading<'s> {
    session: &'s Frame<'s>,
    /// `None`: of all of them.
    schema: Option<Value>,
    relation: Option<Value>,
}

impl<'s> Deref for Reading<'s> {
    type Target = Frame<'s>;

    fn deref(&self) -> &Frame<'s> {
        self.session
    }
}

impl<'s> Reading<'s> {
    pub fn new(session: &'s Frame<'s>, table: &VirtualTable, wanted: &[(usize, Value)]) -> Reading<'s> {
        let value = |names: &[&str]| {
            let named =
                |(column, _): &&(usize, Value)| table.columns.get(*column).is_some_and(|c| names.contains(&c.0));
            wanted.iter().find(named).map(|(_, value)| value.clone())
        };
        Reading { session, schema: value(&["TABLE_SCHEMA", "SCHEMA_NAME"]), relation: value(&["TABLE_NAME"]) }
    }

    /// The tables and views that are asked for.
    pub fn relations_asked(&self) -> Vec<Relation> {
        let mut all = self.session.relations(None);
        if self.schema.is_some() || self.relation.is_some() {
            all.retain(|r| {
                let (schema, name) = match r {
                    Relation::Table(t) => (&t.schema, &t.name),
                    Relation::View(v) => (&v.schema, &v.name),
                };
                is(&self.schema, schema) && is(&self.relation, name)
            });
        }
        all
    }
}

fn is(asked: &Option<Value>, name: &str) -> bool {
    match asked {
        None => true,
        Some(Value::Bytes(text)) => Collation::Utf8mb4GeneralCi.eq(text, name.as_bytes()),
        Some(_) => false,
    }
}
