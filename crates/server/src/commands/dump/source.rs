//! Where a dump's definitions and rows come from: all of one moment.

use catalog::{Relation as Found, TableDef};
use engine::Snapshot;
use std::sync::Arc;
use types::{Error, Result, SqlType};
use vector::Batch;

use super::quoted;
use crate::library::{Database, Session};

/// A table or view that is to be printed.
#[derive(Debug)]
pub struct Relation {
    pub schema: String,
    pub name: String,
    pub is_view: bool,
}

impl Relation {
    pub fn full_name(&self) -> String {
        format!("{}.{}", quoted(&self.schema), quoted(&self.name))
    }
}

/// See the module head.
#[derive(Debug)]
pub struct Source {
    db: Database,
    session: Session,
    moment: Snapshot,
}

impl Source {
    pub fn new(db: Database) -> Result<Source> {
        let mut session = db.session();
        session.execute("SET time_zone = '+00:00'; START TRANSACTION WITH CONSISTENT SNAPSHOT")?;
        let moment = db.engine().snapshot();
        Ok(Source { db, session, moment })
    }

    /// The rows of a query, as text.
    pub fn texts(&mut self, sql: &str) -> Result<Vec<Vec<String>>> {
        let rows = self.session.query(sql)?;
        let columns = rows.columns().len();
        Ok(rows.rows().map(|r| (0..columns).map(|c| r.text(c).unwrap_or_default()).collect()).collect())
    }

    fn table(&self, r: &Relation) -> Result<Arc<TableDef>> {
        match self.db.engine().catalog().relation(&r.schema, &r.name) {
            Some(Found::Table(t)) => Ok(t),
            _ => Err(Error::no_such_table(&r.schema, &r.name)),
        }
    }

    /// The columns of a relation; generated ones only if wanted: rows with values for them cannot be inserted.
    pub fn columns(&mut self, r: &Relation, generated: bool) -> Result<Vec<String>> {
        if r.is_view {
            let rows = self.texts(&format!("SHOW COLUMNS FROM {}", r.full_name()))?;
            return Ok(rows.into_iter().map(|mut row| row.swap_remove(0)).collect());
        }
        let table = self.table(r)?;
        let wanted = table.shown_columns().iter().filter(|c| generated || c.generated.is_none());
        Ok(wanted.map(|c| c.name.to_string()).collect())
    }

    /// Hands out the rows, with the types of the columns. TIMESTAMPs are in UTC.
    pub fn each_batch(
        &mut self,
        r: &Relation,
        columns: &[String],
        f: &mut dyn FnMut(&[SqlType], &Batch) -> Result<()>,
    ) -> Result<()> {
        if r.is_view {
            let names: Vec<String> = columns.iter().map(|c| quoted(c)).collect();
            let sql = format!("SELECT {} FROM {}", names.join(","), r.full_name());
            return self.session.query_batches(&sql, |metas, batch| {
                let types: Vec<SqlType> = metas.iter().map(|m| m.data_ty).collect();
                f(&types, batch)
            });
        }
        let table = self.table(r)?;
        let positions = self.positions(&table, columns)?;
        let types: Vec<SqlType> = positions.iter().map(|&c| table.columns[c].ty).collect();
        let mut stream = self.db.engine().stream(&table, positions, &self.moment)?;
        stream.try_for_each(|batch| f(&types, &batch))
    }

    fn positions(&self, table: &TableDef, columns: &[String]) -> Result<Vec<usize>> {
        let find = |n: &String| table.column_idx(n).ok_or_else(|| Error::bad_field(n, "field list"));
        columns.iter().map(find).collect()
    }

    /// The rows as Arrow record batches.
    #[cfg(feature = "arrow")]
    pub fn arrow(&self, r: &Relation, columns: &[String]) -> Result<crate::arrow_scan::ArrowScan> {
        let table = self.table(r)?;
        let positions = self.positions(&table, columns)?;
        let stream = self.db.engine().stream(&table, positions.clone(), &self.moment)?;
        Ok(crate::arrow_scan::ArrowScan::new(&table, &positions, stream))
    }
}
