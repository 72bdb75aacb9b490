//! A disk that refuses to write: commits say so, nothing acknowledged is lost, and what can be read goes on being read.

mod common;

use common::Client;
use disk::{Fault, SimIo};
use engine::{Database, Options};
use std::path::PathBuf;
use std::sync::Arc;

const ERROR_DURING_COMMIT: u16 = 1180;
const READ_ONLY_MODE: u16 = 1836;

/// A database on a simulated disk. The folder is the real one that sessions spill into.
struct Simulated {
    disk: SimIo,
    dir: PathBuf,
}

impl Simulated {
    fn new(name: &str) -> Simulated {
        let dir = std::env::temp_dir().join(format!("nextleaf-{name}-{}", std::process::id()));
        Simulated { disk: SimIo::default(), dir }
    }

    fn open(&self) -> Arc<Database> {
        let disk: Arc<SimIo> = Arc::new(self.disk.clone());
        let options = Options { dir: Some(self.dir.clone()), workers: Some(1), disk: Some(disk), ..Options::default() };
        Database::open(options).expect("opens")
    }
}

impl Drop for Simulated {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// Statements until one is refused; the rows that were acknowledged.
fn insert_until_refused(c: &mut Client, transactions: bool) -> (Vec<String>, u16) {
    let mut acknowledged = Vec::new();
    for i in 0..1000 {
        let result = if transactions {
            c.ok("BEGIN");
            c.ok(&format!("INSERT INTO t VALUES ({i}, REPEAT('x', 50))"));
            c.ok(&format!("UPDATE t SET b = 'y' WHERE a = {i}"));
            c.run("COMMIT")
        } else {
            c.run(&format!("INSERT INTO t VALUES ({i}, 'y')"))
        };
        match result {
            Ok(_) => acknowledged.push(i.to_string()),
            Err(e) => return (acknowledged, e),
        }
    }
    panic!("the disk was to fail");
}

fn check_refusal(name: &str, transactions: bool) {
    for after in 1..12 {
        let simulated = Simulated::new(&format!("{name}-{after}"));
        let db = simulated.open();
        Client::of(&db).ok("CREATE DATABASE d");
        let (mut c, mut other) = (Client::new(&db), Client::new(&db));
        c.ok("CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(50))");
        other.ok("BEGIN");
        other.ok("INSERT INTO t VALUES (-1, 'never')");
        simulated.disk.fail_at(simulated.disk.calls() + after, Fault::Error);
        let (acknowledged, error) = insert_until_refused(&mut c, transactions);
        assert!([ERROR_DURING_COMMIT, READ_ONLY_MODE].contains(&error), "{error}");

        // What was acknowledged is there to read, and nothing else.
        assert_eq!(c.ok("SELECT a FROM t ORDER BY a"), acknowledged, "after {after}");
        assert_eq!(c.ok("SELECT COUNT(*) FROM t WHERE b = 'y'"), [acknowledged.len().to_string()]);
        assert_eq!(c.err("INSERT INTO t VALUES (5000, '')"), READ_ONLY_MODE);
        assert_eq!(c.err("UPDATE t SET b = ''"), READ_ONLY_MODE);
        assert_eq!(c.err("DELETE FROM t"), READ_ONLY_MODE);
        assert!([ERROR_DURING_COMMIT, READ_ONLY_MODE].contains(&c.err("CREATE TABLE u (a INT)")));
        assert!([ERROR_DURING_COMMIT, READ_ONLY_MODE].contains(&c.err("DROP TABLE t")));
        assert_eq!(c.ok("SHOW TABLES"), ["t"]);
        // Sessions are alive, and a transaction that was open can only be given up.
        assert!([ERROR_DURING_COMMIT, READ_ONLY_MODE].contains(&other.err("COMMIT")));
        other.ok("ROLLBACK");
        assert_eq!(other.ok("SELECT COUNT(*) FROM t"), [acknowledged.len().to_string()]);
        drop((c, other, db));

        simulated.disk.restart();
        let db = simulated.open();
        let mut c = Client::new(&db);
        let mut found = c.ok("SELECT a FROM t WHERE b = 'y' ORDER BY a");
        assert_eq!(c.ok("SELECT COUNT(*) FROM t"), [found.len().to_string()], "whole transactions");
        // The one that was refused may turn out to have been written.
        found.truncate(acknowledged.len());
        assert_eq!(found, acknowledged);
        c.ok("INSERT INTO t VALUES (5000, 'again')");
    }
}

#[test]
fn statements_that_cannot_be_written_are_refused() {
    check_refusal("refused", false);
}

#[test]
fn transactions_that_cannot_be_written_are_refused() {
    check_refusal("refused-txn", true);
}

#[test]
fn a_full_disk_is_waited_for() {
    let simulated = Simulated::new("full");
    let db = simulated.open();
    Client::of(&db).ok("CREATE DATABASE d");
    let mut c = Client::new(&db);
    c.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    simulated.disk.fail_at(simulated.disk.calls() + 1, Fault::Full);
    for i in 0..5 {
        c.ok(&format!("INSERT INTO t VALUES ({i})"));
    }
    assert_eq!(c.ok("SELECT COUNT(*) FROM t"), ["5"]);
    drop((c, db));
    simulated.disk.restart();
    let db = simulated.open();
    assert_eq!(Client::new(&db).ok("SELECT COUNT(*) FROM t"), ["5"]);
}

/// Commits that the client is told of later: nobody is told of one that the disk did not take.
#[test]
fn commits_told_later_are_told_truly() {
    let mut later = 0;
    for after in 1..16 {
        let simulated = Simulated::new(&format!("told-later-{after}"));
        let db = simulated.open();
        let mut c = Client::of(&db);
        c.ok("CREATE DATABASE d; USE d; CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(50))");
        c.session.set_commits_later(true);
        simulated.disk.fail_at(simulated.disk.calls() + after, Fault::Error);
        let (mut acknowledged, mut failed) = (Vec::new(), None);
        for i in 0..500 {
            let insert = format!("INSERT INTO t VALUES ({i}, 'x')");
            let statements = if i % 2 == 0 { vec!["BEGIN", &insert, "COMMIT"] } else { vec![&*insert] };
            let done = statements.into_iter().try_for_each(|one| {
                c.run(one)?;
                let Some(commit) = c.session.take_unsettled() else { return Ok(()) };
                later += 1;
                let (tell, told) = std::sync::mpsc::channel();
                commit.when_settled(move || tell.send(()).expect("somebody waits"));
                told.recv_timeout(std::time::Duration::from_secs(20)).expect("told");
                commit.outcome().expect("it is settled").map_err(|e| e.code().0)
            });
            match done {
                Ok(()) => acknowledged.push(i.to_string()),
                Err(e) => {
                    failed = Some(e);
                    break;
                }
            }
        }
        assert!(matches!(failed, Some(ERROR_DURING_COMMIT | READ_ONLY_MODE)), "{failed:?}");
        assert_eq!(c.ok("SELECT a FROM t ORDER BY a"), acknowledged, "what is seen is what was acknowledged");
    }
    assert!(later > 0, "the thread that writes the log is there");
}
