//! A database in this process, and what its statements answer.

use crate::Failure;
use catalog::Relation;
use engine::{Collect, Database, LocalFiles, OkInfo, Options, Session};
use std::path::Path;
use std::sync::Arc;
use storage::Table;
use types::{Result, SqlType};

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
    rows: Collect,
}

fn keep() -> Collect {
    Collect::default().with_files(LocalFiles::Opened)
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

    /// A database that [`Local::open_durable`] made and [`Local::close`] left.
    pub fn reopen(threads: usize, dir: &Path) -> std::result::Result<Local, Failure> {
        let options = Options { dir: Some(dir.into()), workers: Some(threads.saturating_sub(1)), ..Options::default() };
        let db = Database::open(options)?;
        let session = db.system_session();
        let mut local = Local { db, session, rows: keep() };
        local.run("USE bench")?;
        Ok(local)
    }

    /// Leaves the database as a clean shutdown does.
    pub fn close(self) -> Result<()> {
        drop(self.session);
        self.db.close()
    }

    fn open_with(threads: usize, options: Options) -> std::result::Result<Local, Failure> {
        let db = Database::open(Options { workers: Some(threads.saturating_sub(1)), ..options })?;
        let session = db.system_session();
        let mut local = Local { db, session, rows: keep() };
        local.run("CREATE DATABASE bench; USE bench")?;
        Ok(local)
    }

    /// Another session on the same database.
    pub fn another(&self) -> std::result::Result<Local, Failure> {
        let session = self.db.system_session();
        let mut local = Local { db: self.db.clone(), session, rows: keep() };
        local.run("USE bench")?;
        Ok(local)
    }

    pub fn db(&self) -> &Arc<Database> {
        &self.db
    }

    /// Runs one or more statements; what the last reported.
    pub fn run(&mut self, sql: &str) -> Result<OkInfo> {
        self.rows = keep();
        self.session.execute(sql.as_bytes(), true, &mut self.rows)?;
        Ok(self.rows.ok.clone())
    }

    /// The rows of the last statement.
    pub fn answer(&self) -> Answer {
        Answer { kinds: self.rows.columns.iter().map(|c| kind(&c.ty)).collect(), rows: self.rows.texts() }
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
