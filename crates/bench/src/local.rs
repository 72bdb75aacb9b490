//! A database in this process, and what its statements answer.

use crate::Failure;
use catalog::{CatalogReader, Relation};
use engine::{ColumnMeta, Database, EndInfo, OkInfo, Options, ResultSink, Session};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use storage::Table;
use types::{Result, SqlType, Value};
use vector::Batch;

/// What a column's texts are, for comparing them with another system's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Exact,
    Float,
    Text,
}

/// A result set as texts; `None` is NULL.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub kinds: Vec<Kind>,
    pub rows: Vec<Vec<Option<String>>>,
}

/// A session, and the rows of its last statement.
#[derive(Debug)]
pub struct Local {
    db: Arc<Database>,
    session: Session,
    rows: Keep,
}

#[derive(Debug, Default)]
struct Keep {
    columns: Vec<ColumnMeta>,
    batches: Vec<Batch>,
    ok: OkInfo,
}

impl ResultSink for Keep {
    fn columns(&mut self, columns: &[ColumnMeta]) -> Result<()> {
        self.columns = columns.to_vec();
        self.batches.clear();
        Ok(())
    }

    fn batch(&mut self, batch: &Batch) -> Result<()> {
        if batch.count() > 0 {
            self.batches.push(batch.compact());
        }
        Ok(())
    }

    fn end_rows(&mut self, _: &EndInfo) -> Result<()> {
        Ok(())
    }

    fn ok(&mut self, ok: &OkInfo) -> Result<()> {
        self.ok = ok.clone();
        Ok(())
    }

    fn local_infile(&mut self, name: &str) -> Result<Box<dyn Read + Send + '_>> {
        let file = std::fs::File::open(name);
        Ok(Box::new(file.map_err(|e| types::Error::file_not_found(name, e.raw_os_error().unwrap_or(0), e))?))
    }
}

impl Local {
    /// A new database with a schema `bench`. `threads` includes the session's own.
    pub fn open(threads: usize) -> std::result::Result<Local, Failure> {
        Local::open_with(threads, Options::default())
    }

    /// The same with its files under `dir`, and commits as durable as innodb_flush_log_at_trx_commit says.
    pub fn open_durable(threads: usize, dir: &Path, durability: u8) -> std::result::Result<Local, Failure> {
        let variables = vec![("innodb_flush_log_at_trx_commit".into(), durability.to_string())];
        Local::open_with(threads, Options { dir: Some(dir.into()), variables, ..Options::default() })
    }

    fn open_with(threads: usize, options: Options) -> std::result::Result<Local, Failure> {
        let db = Database::open(Options { workers: Some(threads.saturating_sub(1)), ..options })?;
        let session = db.session("root", "localhost");
        let mut local = Local { db, session, rows: Keep::default() };
        local.run("CREATE DATABASE bench; USE bench")?;
        Ok(local)
    }

    /// Another session on the same database.
    pub fn another(&self) -> std::result::Result<Local, Failure> {
        let session = self.db.session("root", "localhost");
        let mut local = Local { db: self.db.clone(), session, rows: Keep::default() };
        local.run("USE bench")?;
        Ok(local)
    }

    pub fn db(&self) -> &Arc<Database> {
        &self.db
    }

    /// Runs one or more statements; what the last reported.
    pub fn run(&mut self, sql: &str) -> Result<OkInfo> {
        self.rows = Keep::default();
        self.session.execute(sql.as_bytes(), true, &mut self.rows)?;
        Ok(self.rows.ok.clone())
    }

    /// The rows of the last statement.
    pub fn answer(&self) -> Answer {
        let columns = &self.rows.columns;
        let text = |batch: &Batch, at: usize, c: usize| {
            let value = batch.columns[c].value(at, &columns[c].data_ty);
            let mut out = Vec::new();
            types::value::render_text(&value, &columns[c].data_ty, &mut out);
            (!matches!(value, Value::Null)).then(|| String::from_utf8_lossy(&out).into_owned())
        };
        let rows = self.rows.batches.iter().flat_map(|b| {
            let at = b.selection.to_positions(b.rows);
            at.into_iter().map(move |i| (0..columns.len()).map(|c| text(b, i as usize, c)).collect())
        });
        Answer { kinds: columns.iter().map(|c| kind(&c.ty)).collect(), rows: rows.collect() }
    }

    /// The text of the only row's only column.
    pub fn scalar(&mut self, sql: &str) -> Result<String> {
        self.run(sql)?;
        Ok(self.answer().rows.into_iter().flatten().flatten().next().unwrap_or_default())
    }

    /// Storage's table, for loading and for scans below SQL.
    ///
    /// # Panics
    /// If it does not exist.
    pub fn table(&self, name: &str) -> Arc<Table> {
        let Some(Relation::Table(def)) = self.db.catalog().relation("bench", name) else {
            panic!("table {name} does not exist")
        };
        self.db.store().table(def.id).expect("a table of the catalog is in storage")
    }
}

fn kind(ty: &SqlType) -> Kind {
    match ty {
        SqlType::Float | SqlType::Double => Kind::Float,
        t if t.is_numeric() => Kind::Exact,
        _ => Kind::Text,
    }
}
