//! Relations as SHOW and information_schema describe them: what is defined now, without locks. Who only looks never
//! waits for a change that runs, and may look at what LOCK TABLES leaves out.

use crate::Frame;
use crate::source_columns::{SourceColumn, source_columns};
use catalog::{CatalogReader, ColumnDef, Relation, ViewDef};
use parser::ast::{Ident, ObjectName, Query, QueryBody, Span};
use planner::bind::Binder;
use types::Result;

struct Unlocked<'s>(&'s Frame<'s>);

impl CatalogReader for Unlocked<'_> {
    fn relation(&self, schema: &str, name: &str) -> Result<Option<Relation>> {
        self.0.check_sees_tables(name)?;
        if self.0.db.tables().has(schema, name) {
            return Ok(self.0.db.tables().relation(schema, name));
        }
        Ok(self.0.db.catalog().relation(schema, name))
    }

    fn has_schema(&self, schema: &str) -> bool {
        self.0.has_schema(schema)
    }
}

impl Frame<'_> {
    /// What the name stands for, temporary tables first.
    pub fn described(&self, schema: &str, name: &str) -> Result<Option<Relation>> {
        match self.temporary().get(schema, name) {
            Some(t) => Ok(Some(Relation::Table(t.clone()))),
            None => Unlocked(self).relation(schema, name),
        }
    }

    /// The columns of a view, as SHOW COLUMNS shows them; none if the view cannot be bound any more.
    pub fn view_columns(&self, v: &ViewDef) -> Vec<ColumnDef> {
        self.describe_view(v).unwrap_or_default()
    }

    /// The columns that a view yields now.
    pub fn describe_view(&self, v: &ViewDef) -> Result<Vec<ColumnDef>> {
        let name = ObjectName { schema: Some(Ident::from(&*v.schema)), name: Ident::from(&*v.name) };
        let query = Query {
            with: None,
            body: QueryBody::Table(Box::new(name)),
            order_by: Vec::new(),
            limit: None,
            into: None,
            locking: Vec::new(),
            span: Span::default(),
        };
        let info = self.info();
        let bound = Binder::new(&Unlocked(self), &info, self).overseen(Some(self)).bind_query(&query)?;
        Ok(source_columns(&bound, bound.output.len()).iter().map(SourceColumn::column).collect())
    }

    /// Whether rows can be changed through a view.
    pub fn is_updatable(&self, view: &ViewDef) -> bool {
        let info = self.info();
        Binder::new(&Unlocked(self), &info, self).is_updatable(view)
    }
}
