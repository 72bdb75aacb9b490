//! The systems compared with, each driven by a Python child (see `rival.py` for what is said between us).
//!
//! DuckDB lives in the child. MariaDB is a server of our own in a temporary folder, reached through a socket there; it
//! gets a buffer pool that holds all the data and ordered indexes on what the queries join and filter by.

use super::schema;
use crate::Failure;
use crate::local::{Answer, Kind};
use crate::machine::Times;
use crate::servers;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const DRIVER: &str = include_str!("rival.py");

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum RivalKind {
    Duckdb,
    Mariadb,
}

impl RivalKind {
    pub fn name(self) -> &'static str {
        match self {
            RivalKind::Duckdb => "DuckDB",
            RivalKind::Mariadb => "MariaDB",
        }
    }
}

/// A running rival; it ends when this is dropped.
#[derive(Debug)]
pub struct Rival {
    pub kind: RivalKind,
    pub version: String,
    driver: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    server: Option<Child>,
}

/// What a rival said to a query.
pub type Said = Result<(Times, Answer), String>;

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n")
}

fn unescape(field: &str) -> Option<String> {
    if field == "\\N" {
        return None;
    }
    let mut out = String::with_capacity(field.len());
    let mut chars = field.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            '\\' => match chars.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some(other) => other,
                None => '\\',
            },
            c => c,
        });
    }
    Some(out)
}

/// Settings for long queries over tables just loaded.
const MARIADB_OPTIONS: [&str; 8] = [
    "--innodb-buffer-pool-size=4G",
    "--innodb-log-file-size=1G",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=0",
    "--tmp-table-size=1G",
    "--max-heap-table-size=1G",
    "--join-buffer-size=64M",
    "--sort-buffer-size=64M",
];

impl Rival {
    /// Starts a rival whose files go under `dir`.
    pub fn start(kind: RivalKind, dir: &Path, threads: usize) -> Result<Rival, Failure> {
        let server = match kind {
            RivalKind::Duckdb => None,
            RivalKind::Mariadb => Some(servers::start_mariadb(dir, &MARIADB_OPTIONS.map(str::to_owned))?.0),
        };
        let mut driver = Command::new("python3");
        driver.args(["-c", DRIVER]);
        match kind {
            RivalKind::Duckdb => driver.args(["duckdb".into(), threads.to_string()]),
            RivalKind::Mariadb => driver.arg("mariadb").arg(dir.join("mariadb.sock")),
        };
        let spawned = driver.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut driver = spawned.map_err(|e| format!("python3: {e} (scripts/install-rivals.sh installs it)"))?;
        let (to, from) = (driver.stdin.take(), driver.stdout.take().expect("it was piped"));
        let mut rival = Rival { kind, version: String::new(), driver, to, from: BufReader::new(from), server };
        rival.version = rival.reply()?.join(" ");
        Ok(rival)
    }

    fn line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        if self.from.read_line(&mut line)? == 0 {
            return Err(format!("the driver of {} ended", self.kind.name()).into());
        }
        Ok(line.trim_end_matches('\n').to_owned())
    }

    fn reply(&mut self) -> Result<Vec<String>, Failure> {
        let line = self.line()?;
        let mut fields = line.split('\t').map(|f| unescape(f).unwrap_or_default());
        match fields.next().as_deref() {
            Some("ok") => Ok(fields.collect()),
            _ => Err(format!("{}: {}", self.kind.name(), fields.next().unwrap_or_default()).into()),
        }
    }

    fn ask(&mut self, fields: &[&str]) -> Result<(), Failure> {
        let line = fields.iter().map(|f| escape(f)).collect::<Vec<_>>().join("\t") + "\n";
        let to = self.to.as_mut().expect("it is open until the rival is dropped");
        to.write_all(line.as_bytes())?;
        Ok(to.flush()?)
    }

    /// Runs a statement whose rows do not matter.
    pub fn exec(&mut self, sql: &str) -> Result<(), Failure> {
        self.ask(&["exec", sql])?;
        self.reply().map(drop)
    }

    /// Creates and fills the tables from the files `<table>.tbl` of `dir`.
    pub fn load(&mut self, dir: &Path, separator_at_end: bool) -> Result<Duration, Failure> {
        if self.kind == RivalKind::Mariadb {
            self.exec("CREATE DATABASE bench CHARACTER SET utf8mb4")?;
            self.exec("USE bench")?;
        }
        let started = Instant::now();
        for (table, columns) in schema::TABLES {
            self.exec(&schema::create(table, columns))?;
            let path = dir.join(format!("{table}.tbl"));
            let path = path.display();
            let end = if separator_at_end { "|\\n" } else { "\\n" };
            self.exec(&match self.kind {
                RivalKind::Duckdb => format!("COPY {table} FROM '{path}' (DELIMITER '|', HEADER false, AUTO_DETECT false)"),
                RivalKind::Mariadb => format!(
                    "LOAD DATA LOCAL INFILE '{path}' INTO TABLE {table} FIELDS TERMINATED BY '|' LINES TERMINATED BY '{end}'"
                ),
            })?;
        }
        if self.kind == RivalKind::Mariadb {
            for sql in schema::RIVAL_INDEXES {
                self.exec(sql)?;
            }
        }
        Ok(started.elapsed())
    }

    /// Runs a query `runs` times, as long as all runs together take less than the limit.
    pub fn query(&mut self, sql: &str, runs: usize, limit_s: u64) -> Result<Said, Failure> {
        self.ask(&["query", &runs.to_string(), &limit_s.to_string(), sql])?;
        let fields = match self.reply() {
            Ok(fields) => fields,
            Err(e) => return Ok(Err(e.to_string())),
        };
        let [ms, kinds, rows] = &fields[..] else { return Err("the driver speaks another language".into()) };
        let mut times = Times::default();
        for ms in ms.split(',') {
            times.add(Duration::from_secs_f64(ms.parse::<f64>()? / 1e3));
        }
        let mut answer = Answer { kinds: kinds.chars().map(kind).collect(), rows: Vec::new() };
        for _ in 0..rows.parse::<usize>()? {
            answer.rows.push(self.line()?.split('\t').map(unescape).collect());
        }
        Ok(Ok((times, answer)))
    }
}

fn kind(letter: char) -> Kind {
    match letter {
        'e' => Kind::Exact,
        'f' => Kind::Float,
        _ => Kind::Text,
    }
}

impl Drop for Rival {
    fn drop(&mut self) {
        drop(self.to.take());
        let _ = self.driver.wait();
        if let Some(server) = &mut self.server {
            // Its data goes away with the folder, so nothing needs to be written back.
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_survive_the_way() {
        for text in ["", "a\tb", "line\nline", "back\\slash", "\\N"] {
            assert_eq!(unescape(&escape(text)).as_deref(), Some(text));
        }
        assert_eq!(unescape("\\N"), None);
    }
}
