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
    database_with(Options::default())
}

/// The same with these options, but for one worker.
pub fn database_with(options: Options) -> Arc<Database> {
    let db = Database::open(Options { workers: Some(1), ..options }).expect("opens");
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

    /// A session of another user of this machine.
    pub fn as_user(db: &Arc<Database>, user: &str) -> Client {
        Client { session: db.session(user, "localhost"), ok: OkInfo::default() }
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

impl Client {
    /// A status variable: `scope` is SESSION or GLOBAL.
    pub fn status(&mut self, scope: &str, name: &str) -> u64 {
        let rows = self.ok(&format!("SHOW {scope} STATUS LIKE '{name}'"));
        let (_, value) = rows[0].split_once(',').expect("two columns");
        value.parse().expect("a number")
    }

    /// What the statement adds to the session's status variables.
    pub fn counts(&mut self, sql: &str, names: &[&str]) -> Vec<u64> {
        let before: Vec<u64> = names.iter().map(|n| self.status("SESSION", n)).collect();
        self.ok(sql);
        names.iter().zip(before).map(|(n, b)| self.status("SESSION", n) - b).collect()
    }

    /// The rows of EXPLAIN's table, NULL as an empty string.
    pub fn explain(&mut self, sql: &str) -> Vec<Vec<String>> {
        let sql = format!("EXPLAIN FORMAT=TRADITIONAL {sql}");
        let mut sink = Collect::default();
        self.session.execute(sql.as_bytes(), true, &mut sink).unwrap_or_else(|e| panic!("{sql}: {e}"));
        sink.texts().into_iter().map(|r| r.into_iter().map(Option::unwrap_or_default).collect()).collect()
    }

    /// EXPLAIN's table as one text, its columns separated by bars.
    pub fn explained(&mut self, sql: &str) -> String {
        self.explain(sql).iter().map(|r| r.join("|")).collect::<Vec<_>>().join("\n")
    }

    /// EXPLAIN FORMAT=TREE without figures.
    pub fn tree(&mut self, sql: &str) -> String {
        let text = self.ok(&format!("EXPLAIN FORMAT=TREE {sql}")).join("\n");
        text.lines().map(|l| l.split("  (cost=").next().unwrap_or(l)).collect::<Vec<_>>().join("\n")
    }

    /// The warnings of the last statement, as `code message`.
    pub fn warnings(&mut self) -> Vec<String> {
        let strip = |w: String| w.strip_prefix("Warning,").map(|w| w.replacen(',', " ", 1));
        self.ok("SHOW WARNINGS").into_iter().filter_map(strip).collect()
    }
}

/// The table `t` of 2000 rows: id, a = id % 100 with an index, b = id.
pub fn filled() -> (Arc<Database>, Client) {
    let db = database();
    let mut c = Client::new(&db);
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, KEY (a))");
    let rows: Vec<String> = (0..2000).map(|i| format!("({i},{},{i})", i % 100)).collect();
    c.ok(&format!("INSERT INTO t VALUES {}", rows.join(",")));
    (db, c)
}

/// Three tables whose columns and indexes suit every technique of the optimizer: `t` of 4000 rows, `u` of 600, `w` of
/// 30.
pub fn tables() -> Client {
    let db = database();
    let mut c = Client::new(&db);
    for sql in [
        "CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL, b INT, s VARCHAR(20), x INT, KEY a (a), KEY b (b), \
         KEY abs (a, b, s))",
        "CREATE TABLE u (id INT PRIMARY KEY, k INT NOT NULL, v INT, KEY k (k), KEY kv (k, v))",
        "CREATE TABLE w (id INT PRIMARY KEY, k INT NOT NULL)",
    ] {
        c.ok(sql);
    }
    // The last five have a value of `a` that is rare.
    let a = |i: i32| if i < 3995 { i % 40 } else { 77 };
    let rows: Vec<String> = (0..4000).map(|i| format!("({i},{},{},'w{}',{i})", a(i), i / 40 % 10, i / 400)).collect();
    c.ok(&format!("INSERT INTO t VALUES {}", rows.join(",")));
    let rows: Vec<String> = (0..600).map(|i| format!("({i},{},{})", i % 60, i % 7)).collect();
    c.ok(&format!("INSERT INTO u VALUES {}", rows.join(",")));
    let rows: Vec<String> = (0..30).map(|i| format!("({i},{})", i * 2)).collect();
    c.ok(&format!("INSERT INTO w VALUES {}", rows.join(",")));
    c.ok("ANALYZE TABLE t, u, w");
    c
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
