//! Nextleaf in this process.

use crate::Answer;
use engine::{Collect, Database, LocalFiles, Options, Session};
use std::sync::Arc;
use types::Result;

/// One way to run: what must never change a result.
#[derive(Clone, Debug)]
pub struct Config {
    pub name: &'static str,
    pub workers: usize,
    pub leaf_rows: Option<usize>,
    pub query_memory_bytes: Option<usize>,
    /// Flags of optimizer_switch that are set first.
    pub switch: &'static str,
}

/// The usual way, leaves of 8 rows on one thread, 1 MiB of memory, and two ways to run subqueries that are seldom chosen.
pub fn configs() -> Vec<Config> {
    let usual = Config { name: "default", workers: 1, leaf_rows: None, query_memory_bytes: None, switch: "" };
    vec![
        usual.clone(),
        Config { name: "tiny leaves, one thread", workers: 0, leaf_rows: Some(8), ..usual },
        Config { name: "1 MiB of memory", query_memory_bytes: Some(1 << 20), ..usual },
        Config {
            name: "dependent subqueries",
            switch: "semijoin=off,materialization=off,derived_merge=off,exists_to_in=off",
            ..usual
        },
        Config {
            name: "weedout",
            switch: "firstmatch=off,loosescan=off,materialization=off,subquery_cache=off,derived_condition_pushdown=off,\
                     condition_pushdown_from_having=off,split_materialized=off",
            ..usual
        },
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
        let mut ours = Ours { db, session };
        if !config.switch.is_empty() {
            ours.run(&format!("SET optimizer_switch = '{}'", config.switch)).expect("known flags");
        }
        ours
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
        let mut sink = Collect::default().with_files(LocalFiles::Opened);
        match self.session.execute(sql.as_bytes(), true, &mut sink) {
            Ok(()) => Ok(sink.texts()),
            Err(e) => Err((e.code().0, e.message().to_string())),
        }
    }
}
