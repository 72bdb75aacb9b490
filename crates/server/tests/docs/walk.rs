//! Pages carried out one after the other against one server, as a newcomer does it.
//!
//! Blocks in `sh` run in bash, `sql` through the client `mariadb`, `python` through python3, all in one folder; `text`
//! behind one of them is what it prints. Blocks marked `no-run` are only shown. Port 3307 of the pages is a free one
//! here, and the MariaDB that a page dumps from is a private one.

use crate::fences::{Block, blocks};
use crate::{Dir, page, root};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// In this order: each may use what those before it have made.
const PAGES: &[&str] = &[
    "start/install.md",
    "start/first-tables.md",
    "use/clients.md",
    "use/shell.md",
    "use/loading.md",
    "use/transactions.md",
    "start/from-mysql.md",
    "operate/security.md",
    "operate/monitoring.md",
    "operate/backup.md",
    "operate/upgrade.md",
];

/// How long a server may take to start.
const START_WITHIN: Duration = Duration::from_secs(60);

/// A server that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Whether programs and modules are there; with NEXTLEAF_REQUIRE_ORACLES they have to be.
fn all_there() -> bool {
    let runs = |program: &str, args: &[&str]| {
        let out = Command::new(program).args(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
        out.is_ok_and(|s| s.success())
    };
    let there = runs("mariadb", &["--version"])
        && runs("mariadb-dump", &["--version"])
        && ["mariadbd", "/usr/sbin/mariadbd"].iter().any(|p| runs(p, &["--version"]))
        && runs("python3", &["-c", "import pymysql, mysql.connector"]);
    assert!(there || std::env::var_os("NEXTLEAF_REQUIRE_ORACLES").is_none(), "clients that the pages use are missing");
    if !there {
        eprintln!("skipped: mariadb, mariadbd, pymysql and mysql.connector are not all there");
    }
    there
}

/// A private MariaDB with a socket in the folder.
fn mariadb(dir: &Path) -> Running {
    let (data, socket) = (dir.join("mariadb-data"), dir.join("mariadb.sock"));
    let installed = Command::new("mariadb-install-db")
        .args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"])
        .arg(format!("--datadir={}", data.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(installed.is_ok_and(|s| s.success()), "mariadb-install-db failed");
    let there = |p: &&&str| Command::new(p).arg("--version").stdout(Stdio::null()).status().is_ok_and(|s| s.success());
    let program = ["mariadbd", "/usr/sbin/mariadbd"].iter().find(there).expect("looked for before");
    let server = Command::new(program)
        .args(["--no-defaults", "--skip-networking", "--user=root", "--skip-log-bin"])
        .arg(format!("--datadir={}", data.display()))
        .arg(format!("--socket={}", socket.display()))
        .arg(format!("--pid-file={}", dir.join("mariadb.pid").display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    // Where clients that are not told look for it: they read this file of the home folder last.
    let client = format!("[client]\nsocket={}\n", socket.display());
    std::fs::write(dir.join(".my.cnf"), client).expect("the folder is writable");
    let started = Instant::now();
    while std::os::unix::net::UnixStream::connect(&socket).is_err() {
        assert!(started.elapsed() < START_WITHIN, "mariadbd does not answer");
        std::thread::sleep(Duration::from_millis(50));
    }
    Running(server.expect("mariadbd runs"))
}

/// One walk through the pages.
struct Walk<'a> {
    dir: &'a Path,
    port: u16,
    /// The database that a script has named with USE.
    database: String,
    server: Option<Running>,
}

impl Walk<'_> {
    /// A command in the folder, which is its home, with our binary.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .current_dir(self.dir)
            .env("PATH", format!("{}:{path}", self.dir.join("bin").display()))
            .env("HOME", self.dir)
            .env("LC_ALL", "C.UTF-8")
            .stdin(Stdio::null());
        command
    }

    /// Runs a block; `None` where it has started the server.
    fn run(&mut self, block: &Block) -> Option<Output> {
        let text = block.text.replace("3307", &self.port.to_string());
        match block.language.as_str() {
            "sh" if text.trim_end().ends_with('&') => {
                self.start(text.trim_end().trim_end_matches('&'));
                None
            }
            "sh" => Some(self.command("bash").args(["-euo", "pipefail", "-c", &text]).output().expect("bash runs")),
            "python" => Some(self.command("python3").args(["-c", &text]).output().expect("python3 runs")),
            _ => {
                let output = self.client(&text);
                let named = text.lines().rev().find_map(|l| l.strip_prefix("USE ")?.strip_suffix(';'));
                self.database = named.map_or(std::mem::take(&mut self.database), str::to_string);
                Some(output)
            }
        }
    }

    /// Statements through the client.
    fn client(&self, script: &str) -> Output {
        let mut child = self
            .command("mariadb")
            .args(["--no-defaults", "--default-character-set=utf8mb4", "-h", "127.0.0.1", "-u", "root", "-t"])
            .args(["--comments", "-P", &self.port.to_string()])
            .arg(&self.database)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("mariadb runs");
        child.stdin.take().expect("piped").write_all(script.as_bytes()).expect("it reads");
        child.wait_with_output().expect("it ends")
    }

    fn start(&mut self, line: &str) {
        let log = std::fs::File::create(self.dir.join("server.log")).expect("a log");
        let server = self.command("bash").args(["-c", &format!("exec {line}")]).stderr(log).spawn();
        self.server = Some(Running(server.expect("bash runs")));
        let started = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(started.elapsed() < START_WITHIN, "the server does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn pages_work_as_written() {
    if !all_there() {
        return;
    }
    let dir = Dir::new("walk");
    let theirs = mariadb(&dir.0);
    std::fs::create_dir(dir.0.join("bin")).expect("a folder");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_nextleaf"), dir.0.join("bin/nextleaf")).expect("a link");
    std::os::unix::fs::symlink(root().join("docs"), dir.0.join("docs")).expect("a link");
    let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port").port();
    let mut walk = Walk { dir: &dir.0, port, database: "mysql".into(), server: None };
    let mut count = 0;
    for name in PAGES {
        let mut printed: Option<String> = None;
        for block in blocks(&page(name)) {
            let place = format!("docs/{name}:{}", block.line);
            if block.is_shown_only {
                continue;
            }
            if block.language == "text" {
                let printed = printed.take().unwrap_or_else(|| panic!("{place}: nothing has printed this"));
                assert_eq!(printed.trim_end(), block.text.trim_end(), "{place}");
                continue;
            }
            count += 1;
            let Some(output) = walk.run(&block) else { continue };
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{place}:\n{}{said}", block.text);
            printed = Some(String::from_utf8_lossy(&output.stdout).into_owned());
        }
    }
    assert!(count > 20, "{count} blocks");
    drop(walk);
    drop(theirs);
}
