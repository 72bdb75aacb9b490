//! Nextleaf in this process.

use crate::{Answer, TextRows};
use engine::{ColumnMeta, Database, EndInfo, OkInfo, Options, ResultSink, Session};
use std::io::Read;
use std::sync::Arc;
use types::Result;
use vector::Batch;

/// One way to run: what must never change a result.
#[derive(Clone, Debug)]
pub struct Config {
    pub name: &'static str,
    pub workers: usize,
    pub leaf_rows: Option<usize>,
    pub query_memory_bytes: Option<usize>,
}

/// The usual way, leaves of 8 rows on one thread, and 1 MiB of memory.
pub fn configs() -> Vec<Config> {
    vec![
        Config { name: "default", workers: 1, leaf_rows: None, query_memory_bytes: None },
        Config { name: "tiny leaves, one thread", workers: 0, leaf_rows: Some(8), query_memory_bytes: None },
        Config { name: "1 MiB of memory", workers: 1, leaf_rows: None, query_memory_bytes: Some(1 << 20) },
    ]
}

/// A database and one session of it.
pub struct Ours {
    db: Arc<Database>,
    session: Session,
}

impl Ours {
    /// The database in a folder.
    pub fn open_dir(dir: &std::path::Path, variables: &[(&str, &str)]) -> Result<Ours> {
        let variables = variables.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        let db = Database::open(Options { dir: Some(dir.into()), workers: Some(0), variables, ..Options::default() })?;
        let session = db.session("root", "localhost");
        Ok(Ours { db, session })
    }

    /// Another session of the same database.
    pub fn another(&self) -> Ours {
        Ours { db: self.db.clone(), session: self.db.session("root", "localhost") }
    }

    pub fn open(config: &Config) -> Ours {
        let options = Options {
            workers: Some(config.workers),
            leaf_rows: config.leaf_rows,
            query_memory_bytes: config.query_memory_bytes,
            ..Options::default()
        };
        let db = Database::open(options).expect("an empty database opens");
        let session = db.session("root", "localhost");
        Ours { db, session }
    }

    /// Another session of the same database.
    pub fn beside(&self) -> Ours {
        Ours { db: self.db.clone(), session: self.db.session("root", "localhost") }
    }

    /// Another session of a database.
    pub fn session_of(db: &Arc<Database>) -> Ours {
        Ours { session: db.session("root", "localhost"), db: db.clone() }
    }

    pub fn database(&self) -> &Arc<Database> {
        &self.db
    }

    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Runs one statement.
    pub fn run(&mut self, sql: &str) -> Answer {
        let mut sink = Texts::default();
        match self.session.execute(sql.as_bytes(), true, &mut sink) {
            Ok(()) => Ok(sink.rows),
            Err(e) => Err((e.code().0, e.message().to_string())),
        }
    }
}

#[derive(Default)]
struct Texts {
    columns: Vec<ColumnMeta>,
    rows: TextRows,
}

impl ResultSink for Texts {
    fn columns(&mut self, columns: &[ColumnMeta]) -> Result<()> {
        self.columns = columns.to_vec();
        self.rows.clear();
        Ok(())
    }

    fn batch(&mut self, batch: &Batch) -> Result<()> {
        batch.selection.for_each(batch.rows, |i| {
            let row = batch.columns.iter().zip(&self.columns).map(|(v, c)| {
                let value = v.value(i, &c.data_ty);
                (!value.is_null()).then(|| {
                    let mut out = Vec::new();
                    types::value::render_text(&value, &c.data_ty, &mut out);
                    String::from_utf8_lossy(&out).into_owned()
                })
            });
            self.rows.push(row.collect());
        });
        Ok(())
    }

    fn end_rows(&mut self, _: &EndInfo) -> Result<()> {
        Ok(())
    }

    fn ok(&mut self, _: &OkInfo) -> Result<()> {
        Ok(())
    }

    fn local_infile(&mut self, name: &str) -> Result<Box<dyn Read + Send + '_>> {
        match std::fs::File::open(name) {
            Ok(f) => Ok(Box::new(f)),
            Err(e) => Err(types::Error::internal(e)),
        }
    }
}
