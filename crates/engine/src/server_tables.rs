//! The tables of a database that the server makes up, for those below who look names up.

use crate::database::Database;
use catalog::Relation;
use introspection::information_schema;
use names::Names;
use session::rows::RowSet;
use session::{Frame, ServerTables};
use std::sync::{Arc, Weak};
use types::{Result, Value};

/// See the module head.
#[derive(Debug)]
pub struct MadeUp(Weak<Database>);

impl MadeUp {
    pub fn of(db: &Arc<Database>) -> MadeUp {
        MadeUp(Arc::downgrade(db))
    }
}

impl ServerTables for MadeUp {
    fn has_schema(&self, schema: &str) -> bool {
        information_schema::is_virtual(schema)
    }

    fn has(&self, schema: &str, name: &str) -> bool {
        information_schema::is_virtual(schema) || information_schema::is_virtual_table(schema, name)
    }

    fn relation(&self, schema: &str, name: &str) -> Option<Relation> {
        information_schema::relation(schema, name)
    }

    fn relations(&self, schema: &str) -> Vec<Relation> {
        information_schema::relations(schema)
    }

    fn rows(&self, frame: &Frame<'_>, schema: &str, name: &str, wanted: &[(usize, Value)]) -> Option<RowSet> {
        information_schema::rows(frame, schema, name, wanted)
    }

    fn named(&self, frame: &Frame<'_>, names: &Names) -> Result<bool> {
        if names.objects().is_empty() {
            return Ok(false);
        }
        self.0.upgrade().map_or(Ok(false), |db| db.make_named_cost_tables(frame, names))
    }

    fn engine_status(&self, frame: &Frame<'_>) -> String {
        information_schema::locks::engine_status(frame)
    }
}
