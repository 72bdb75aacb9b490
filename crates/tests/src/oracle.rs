//! A private MariaDB: its own folder, a socket, gone when dropped.

use crate::Answer;
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, Value};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the server may take to start.
const START_WITHIN: Duration = Duration::from_secs(60);

pub struct MariaDb {
    server: Child,
    dir: PathBuf,
    conn: Conn,
}

impl MariaDb {
    /// `None`, with a word on stderr, where there is no `mariadbd`; with NEXTLEAF_REQUIRE_ORACLES set that is a panic.
    ///
    /// # Panics
    /// If the server is there and does not start.
    pub fn start(name: &str) -> Option<MariaDb> {
        let program = ["mariadbd", "/usr/sbin/mariadbd"]
            .into_iter()
            .find(|p| Command::new(p).arg("--version").stdout(Stdio::null()).status().is_ok_and(|s| s.success()));
        let Some(program) = program else {
            assert!(std::env::var_os("NEXTLEAF_REQUIRE_ORACLES").is_none(), "mariadbd is required and not installed");
            eprintln!("skipped: no mariadbd to compare with");
            return None;
        };
        let dir = std::env::temp_dir().join(format!("nextleaf-oracle-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(dir.join("data")).expect("the temporary folder is writable");
        let installed = Command::new("mariadb-install-db")
            .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"])
            .arg(format!("--datadir={}", dir.join("data").display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("mariadb-install-db runs");
        assert!(installed.success(), "mariadb-install-db failed");
        let socket = dir.join("s.sock");
        let server = Command::new(program)
            .args(["--no-defaults", "--skip-networking", "--user=root", "--skip-grant-tables", "--skip-log-bin"])
            .args([
                "--innodb-flush-log-at-trx-commit=0",
                "--innodb-buffer-pool-size=64M",
                "--character-set-server=utf8mb4",
            ])
            .args(["--collation-server=utf8mb4_general_ci", "--default-time-zone=+00:00"])
            .arg(format!("--datadir={}", dir.join("data").display()))
            .arg(format!("--socket={}", socket.display()))
            .arg(format!("--pid-file={}", dir.join("pid").display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("mariadbd runs");
        let started = Instant::now();
        let conn = loop {
            let opts = OptsBuilder::new().socket(Some(socket.to_string_lossy().into_owned())).user(Some("root"));
            match Conn::new(opts) {
                Ok(c) => break c,
                Err(e) => assert!(started.elapsed() < START_WITHIN, "mariadbd does not answer: {e}"),
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        Some(MariaDb { server, dir, conn })
    }

    /// Runs one statement.
    pub fn run(&mut self, sql: &str) -> Answer {
        let result = self.conn.query_iter(sql);
        let mut rows = Vec::new();
        match result {
            Err(e) => return Err(error(e)),
            Ok(set) => {
                for row in set {
                    let row = row.map_err(error)?;
                    rows.push(row.unwrap().into_iter().map(text).collect());
                }
            }
        }
        Ok(rows)
    }
}

fn text(v: Value) -> Option<String> {
    match v {
        Value::NULL => None,
        Value::Bytes(b) => Some(String::from_utf8_lossy(&b).into_owned()),
        other => Some(other.as_sql(true)),
    }
}

fn error(e: mysql::Error) -> (u16, String) {
    match e {
        mysql::Error::MySqlError(e) => (e.code, e.message),
        other => (0, other.to_string()),
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
