//! Nextleaf in this process.

use crate::Answer;
use engine::{CachedPlans, Collect, ColumnMeta, Database, EndInfo, LocalFiles, OkInfo, Options, ResultSink, Session};
use std::io::Read;
use std::sync::Arc;
use types::{Error, ErrorCode, Result};
use vector::Batch;

/// A statement that answers more rows than are wanted ends with this, as with one that takes too long.
const TOO_MANY_ROWS: ErrorCode = ErrorCode(3024);

/// Keeps an answer up to a number of rows.
struct Capped {
    rows: Collect,
    rows_max: usize,
}

impl ResultSink for Capped {
    fn columns(&mut self, columns: &[ColumnMeta]) -> Result<()> {
        self.rows.columns(columns)
    }

    fn batch(&mut self, batch: &Batch) -> Result<()> {
        if self.rows.row_count > self.rows_max {
            return Err(Error::new(TOO_MANY_ROWS, "more rows than are wanted".to_string()));
        }
        self.rows.batch(batch)
    }

    fn end_rows(&mut self, end: &EndInfo) -> Result<()> {
        self.rows.end_rows(end)
    }

    fn ok(&mut self, ok: &OkInfo) -> Result<()> {
        self.rows.ok(ok)
    }

    fn local_infile(&mut self, name: &str) -> Result<Box<dyn Read + Send + '_>> {
        self.rows.local_infile(name)
    }
}

/// One way to run: what must never change a result.
#[derive(Clone, Debug)]
pub struct Config {
    pub name: &'static str,
    pub workers: usize,
    pub leaf_rows: Option<usize>,
    pub query_memory_bytes: Option<usize>,
    /// Flags of optimizer_switch that are set first.
    pub switch: &'static str,
    /// Workers help with the smallest statements.
    pub eager: bool,
    pub cached_plans: CachedPlans,
    /// Global variables.
    pub variables: &'static [(&'static str, &'static str)],
}

/// The usual way, leaves of 8 rows on one thread, 1 MiB of memory, the smallest buffers, two ways to run subqueries
/// that are seldom chosen, and accesses that are chosen where others are forbidden.
pub fn configs() -> Vec<Config> {
    let usual = Config {
        name: "default",
        workers: 1,
        leaf_rows: None,
        query_memory_bytes: None,
        switch: "",
        eager: false,
        cached_plans: CachedPlans::Usual,
        variables: &[],
    };
    vec![
        usual.clone(),
        Config { name: "tiny leaves, one thread", workers: 0, leaf_rows: Some(8), ..usual },
        Config { name: "1 MiB of memory", query_memory_bytes: Some(1 << 20), ..usual },
        Config {
            name: "smallest buffers",
            variables: &[("sort_buffer_size", "32768"), ("tmp_table_size", "1024")],
            ..usual
        },
        Config {
            name: "dependent subqueries",
            switch: "semijoin=off,materialization=off,derived_merge=off,exists_to_in=off",
            ..usual
        },
        Config {
            name: "weedout",
            switch: "firstmatch=off,loosescan=off,materialization=off,subquery_cache=off,derived_condition_pushdown=off,\
                     condition_pushdown_from_having=off,split_materialized=off,table_elimination=off",
            ..usual
        },
        Config {
            name: "plain accesses",
            switch: "index_merge=off,index_condition_pushdown=off,mrr=off,batched_key_access=off,skip_scan=off,\
                     prefer_ordering_index=off,use_index_extensions=off",
            ..usual
        },
        Config { name: "sorted unions", switch: "index_merge_union=off,index_merge_intersection=off", ..usual },
    ]
}

/// A database and one session of it.
pub struct Ours {
    db: Arc<Database>,
    session: Session,
    rows_max: usize,
}

impl Ours {
    /// Answers of more rows end with error 3024 from now on.
    pub fn cap(&mut self, rows_max: usize) {
        self.rows_max = rows_max;
    }

    /// The database in a folder.
    pub fn open_dir(dir: &std::path::Path, variables: &[(&str, &str)]) -> Result<Ours> {
        let variables = variables.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        let db = Database::open(Options { dir: Some(dir.into()), workers: Some(0), variables, ..Options::default() })?;
        let session = db.session("root", "localhost");
        Ok(Ours { db, session, rows_max: usize::MAX })
    }

    /// Another session of the same database.
    pub fn another(&self) -> Ours {
        Ours { db: self.db.clone(), session: self.db.session("root", "localhost"), rows_max: self.rows_max }
    }

    pub fn open(config: &Config) -> Ours {
        let options = Options {
            workers: Some(config.workers),
            eager_workers: config.eager,
            leaf_rows: config.leaf_rows,
            cached_plans: config.cached_plans,
            query_memory_bytes: config.query_memory_bytes,
            variables: config.variables.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect(),
            ..Options::default()
        };
        let db = Database::open(options).expect("an empty database opens");
        let session = db.session("root", "localhost");
        let mut ours = Ours { db, session, rows_max: usize::MAX };
        if !config.switch.is_empty() {
            ours.run(&format!("SET optimizer_switch = '{}'", config.switch)).expect("known flags");
        }
        ours
    }

    /// Another session of the same database.
    pub fn beside(&self) -> Ours {
        Ours { db: self.db.clone(), session: self.db.session("root", "localhost"), rows_max: self.rows_max }
    }

    /// Another session of a database.
    pub fn session_of(db: &Arc<Database>) -> Ours {
        Ours { session: db.session("root", "localhost"), db: db.clone(), rows_max: usize::MAX }
    }

    pub fn database(&self) -> &Arc<Database> {
        &self.db
    }

    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Runs one statement.
    pub fn run(&mut self, sql: &str) -> Answer {
        let rows = Collect::default().with_files(LocalFiles::Opened);
        let mut sink = Capped { rows, rows_max: self.rows_max };
        match self.session.execute(sql.as_bytes(), true, &mut sink) {
            Ok(()) => Ok(sink.rows.texts()),
            Err(e) => Err((e.code().0, e.message().to_string())),
        }
    }
}
