//! Sessions of one database, with their answers as text.
#![allow(dead_code)]

use engine::{Collect, ColumnMeta, Database, OkInfo, Options, Session};
use std::sync::Arc;
use types::Result;

/// An answer as text: columns separated by commas, NULL as `~`.
pub struct Texts {
    pub columns: Vec<ColumnMeta>,
    pub rows: Vec<String>,
    pub ok: OkInfo,
}

impl From<Collect> for Texts {
    fn from(kept: Collect) -> Texts {
        let line = |row: Vec<Option<String>>| {
            row.into_iter().map(|v| v.unwrap_or_else(|| "~".into())).collect::<Vec<_>>().join(",")
        };
        Texts { rows: kept.texts().into_iter().map(line).collect(), columns: kept.columns, ok: kept.ok }
    }
}

/// Runs statements; the last one's answer.
pub fn run(s: &mut Session, sql: &str) -> Result<Texts> {
    let mut sink = Collect::default();
    s.execute(sql.as_bytes(), true, &mut sink)?;
    Ok(sink.into())
}

/// A database with the schema `d`.
pub fn database() -> Arc<Database> {
    let db = Database::open(Options { workers: Some(1), ..Options::default() }).expect("opens");
    Client::of(&db).ok("CREATE DATABASE d");
    db
}

/// A session that uses the schema `d`.
pub struct Client {
    pub session: Session,
    ok: OkInfo,
}

impl Client {
    pub fn of(db: &Arc<Database>) -> Client {
        Client { session: db.session("root", "localhost"), ok: OkInfo::default() }
    }

    pub fn new(db: &Arc<Database>) -> Client {
        let mut c = Client::of(db);
        c.session.use_database("d").expect("it is there");
        c
    }

    /// Rows as text, columns separated by commas, NULL as `~`; or the error's number.
    pub fn run(&mut self, sql: &str) -> std::result::Result<Vec<String>, u16> {
        self.run_full(sql).map_err(|e| e.code().0)
    }

    pub fn run_full(&mut self, sql: &str) -> Result<Vec<String>> {
        let answer = run(&mut self.session, sql)?;
        self.ok = answer.ok;
        Ok(answer.rows)
    }

    /// The last statement's OK.
    pub fn last_ok(&self) -> &OkInfo {
        &self.ok
    }

    pub fn ok(&mut self, sql: &str) -> Vec<String> {
        self.run_full(sql).unwrap_or_else(|e| panic!("{sql}: {} {e}", e.code().0))
    }

    pub fn err(&mut self, sql: &str) -> u16 {
        self.run(sql).map(|rows| panic!("{sql}: no error but {rows:?}")).unwrap_err()
    }
}

/// A session with a thread of its own, so that statements may wait.
pub struct Remote {
    to: std::sync::mpsc::Sender<String>,
    from: std::sync::mpsc::Receiver<std::result::Result<Vec<String>, u16>>,
    pub process_id: u32,
}

impl Remote {
    pub fn new(db: &Arc<Database>) -> Remote {
        let (to, commands) = std::sync::mpsc::channel::<String>();
        let (answers, from) = std::sync::mpsc::channel();
        let mut client = Client::new(db);
        let process_id = client.session.process().id();
        std::thread::spawn(move || {
            for sql in commands {
                if answers.send(client.run(&sql)).is_err() {
                    break;
                }
            }
        });
        Remote { to, from, process_id }
    }

    /// Sends a statement without waiting for its answer.
    pub fn start(&self, sql: &str) {
        self.to.send(sql.to_owned()).expect("the thread lives");
    }

    pub fn answer(&self) -> std::result::Result<Vec<String>, u16> {
        self.from.recv_timeout(std::time::Duration::from_secs(20)).expect("an answer within 20 s")
    }

    /// Whether the statement started last is still waiting after a moment.
    pub fn blocks(&self) -> bool {
        match self.from.recv_timeout(std::time::Duration::from_millis(120)) {
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => true,
            Ok(answer) => {
                eprintln!("it did not block but answered {answer:?}");
                false
            }
            Err(e) => panic!("{e}"),
        }
    }

    pub fn run(&self, sql: &str) -> std::result::Result<Vec<String>, u16> {
        self.start(sql);
        self.answer()
    }

    pub fn ok(&self, sql: &str) -> Vec<String> {
        self.run(sql).unwrap_or_else(|code| panic!("{sql}: error {code}"))
    }
}
