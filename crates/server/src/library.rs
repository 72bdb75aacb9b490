//! Nextleaf as a library: a database in this process.
//!
//! ```no_run
//! let db = nextleaf::Database::open(nextleaf::Options::default())?;
//! let mut session = db.session();
//! session.execute("CREATE DATABASE shop; USE shop; CREATE TABLE t (a INT, b VARCHAR(20))")?;
//! session.execute("INSERT INTO t VALUES (1, 'one'), (2, NULL)")?;
//! for row in session.query("SELECT a, b FROM t ORDER BY a")?.rows() {
//!     println!("{:?}", row.values());
//! }
//! # Ok::<(), nextleaf::Error>(())
//! ```

pub use engine::{ColumnMeta, OkInfo, Options};
pub use types::{Error, ErrorCode, Result, SqlType, Value, Warning};

use engine::{Collect, EndInfo, LocalFiles, ResultSink, open_local};
use std::io::Read;
use std::sync::Arc;
use vector::Batch;

/// A database that lives as long as any clone of this or any session of it.
#[derive(Clone, Debug)]
pub struct Database(Arc<engine::Database>);

impl Database {
    pub fn open(options: Options) -> Result<Database> {
        engine::Database::open(options).map(Database)
    }

    /// A session that may do everything: whoever has the database in its process needs no account. It is shown as
    /// `root@localhost`.
    pub fn session(&self) -> Session {
        Session(self.0.system_session())
    }

    /// The engine itself, for front ends.
    pub fn engine(&self) -> &Arc<engine::Database> {
        &self.0
    }
}

/// One session: its own current database, variables and transaction.
#[derive(Debug)]
pub struct Session(engine::Session);

impl Session {
    /// Runs one or more statements; answers what the last one that returns no rows reported. Rows are thrown away.
    pub fn execute(&mut self, sql: &str) -> Result<OkInfo> {
        let mut sink = Collect::without_rows().with_files(LocalFiles::Opened);
        self.0.execute(sql.as_bytes(), true, &mut sink)?;
        Ok(OkInfo { warnings: sink.warnings, ..sink.ok })
    }

    /// Runs one or more statements and keeps the rows of the last one that returns any.
    pub fn query(&mut self, sql: &str) -> Result<Rows> {
        let mut sink = Collect::default().with_files(LocalFiles::Opened);
        self.0.execute(sql.as_bytes(), true, &mut sink)?;
        Ok(Rows { columns: sink.columns, batches: sink.batches })
    }

    /// Like [`Session::query`], but hands out batches as they come instead of keeping them.
    pub fn query_batches(
        &mut self,
        sql: &str,
        on_batch: impl FnMut(&[ColumnMeta], &Batch) -> Result<()>,
    ) -> Result<()> {
        let mut sink = Each { columns: Vec::new(), on_batch };
        self.0.execute(sql.as_bytes(), false, &mut sink)
    }

    pub fn engine(&mut self) -> &mut engine::Session {
        &mut self.0
    }
}

/// A result set, in memory.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    columns: Vec<ColumnMeta>,
    batches: Vec<Batch>,
}

impl Rows {
    pub fn columns(&self) -> &[ColumnMeta] {
        &self.columns
    }

    /// The rows column by column.
    pub fn batches(&self) -> &[Batch] {
        &self.batches
    }

    pub fn len(&self) -> usize {
        self.batches.iter().map(Batch::count).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.batches.iter().flat_map(move |batch| {
            batch.selection.to_positions(batch.rows).into_iter().map(move |at| Row {
                rows: self,
                batch,
                at: at as usize,
            })
        })
    }
}

impl<'a> IntoIterator for &'a Rows {
    type Item = Row<'a>;
    type IntoIter = Box<dyn Iterator<Item = Row<'a>> + 'a>;

    fn into_iter(self) -> Self::IntoIter {
        Box::new(self.rows())
    }
}

/// One row of a result set.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    rows: &'a Rows,
    batch: &'a Batch,
    at: usize,
}

impl Row<'_> {
    /// The value of a column by position.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn get(&self, column: usize) -> Value {
        self.batch.columns[column].value(self.at, &self.rows.columns[column].data_ty)
    }

    pub fn values(&self) -> Vec<Value> {
        (0..self.rows.columns.len()).map(|c| self.get(c)).collect()
    }

    /// The value as a text client would see it; `None` for NULL.
    pub fn text(&self, column: usize) -> Option<String> {
        let value = self.get(column);
        if value.is_null() {
            return None;
        }
        let mut out = Vec::new();
        types::value::render_text(&value, &self.rows.columns[column].data_ty, &mut out);
        Some(String::from_utf8_lossy(&out).into_owned())
    }
}

struct Each<F> {
    columns: Vec<ColumnMeta>,
    on_batch: F,
}

impl<F: FnMut(&[ColumnMeta], &Batch) -> Result<()>> ResultSink for Each<F> {
    fn columns(&mut self, columns: &[ColumnMeta]) -> Result<()> {
        self.columns = columns.to_vec();
        Ok(())
    }

    fn batch(&mut self, batch: &Batch) -> Result<()> {
        (self.on_batch)(&self.columns, batch)
    }

    fn end_rows(&mut self, _: &EndInfo) -> Result<()> {
        Ok(())
    }

    fn ok(&mut self, _: &OkInfo) -> Result<()> {
        Ok(())
    }

    fn local_infile(&mut self, name: &str) -> Result<Box<dyn Read + Send + '_>> {
        open_local(name)
    }
}
