//! A disk that is full while statements spill: the statement ends with error 1021, and nobody else notices.
//!
//! The test runs itself again in a child process whose files may not grow beyond a limit.

mod common;

use common::{Client, database};
use std::process::Command;

const DISK_FULL: u16 = 1021;

#[test]
fn statements_that_spill_to_a_full_disk_fail_alone() {
    let me = std::env::current_exe().expect("a test knows its binary");
    // Writing beyond the limit raises SIGXFSZ, which ends a process that does not ignore it.
    let script = "trap '' XFSZ; ulimit -f 2048; exec \"$0\" --ignored --exact child_with_a_small_disk --nocapture";
    let out = Command::new("sh").args(["-c", script]).arg(me).output().expect("there is a shell");
    let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && text.contains("1 passed"), "{text}");
}

/// Files that this process has open though they are unlinked.
fn temporary_files() -> usize {
    let Ok(fds) = std::fs::read_dir("/proc/self/fd") else { return 0 };
    fds.flatten()
        .filter_map(|fd| std::fs::read_link(fd.path()).ok())
        .filter(|to| to.to_string_lossy().contains(".tmp (deleted)"))
        .count()
}

#[test]
#[ignore = "run by the test above, under a limit"]
fn child_with_a_small_disk() {
    let db = database();
    let (mut small, mut other) = (Client::new(&db), Client::new(&db));
    small.ok("CREATE TABLE n (a INT)");
    small.ok(
        "INSERT INTO n WITH RECURSIVE r AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM r WHERE a < 300) SELECT a FROM r",
    );
    small.ok("CREATE TABLE t (a INT, b VARCHAR(200))");
    small.ok("INSERT INTO t SELECT x.a * 1000 + y.a, REPEAT('x', 100 + x.a % 7) FROM n AS x, n AS y");
    let whole = other.run("SELECT COUNT(*), SUM(a) FROM t");
    let used = db.memory().used_bytes();
    small.ok("SET max_query_memory = 1048576");
    for sql in [
        "SELECT * FROM t ORDER BY b, a DESC",
        "SELECT b, a, COUNT(*) FROM t GROUP BY b, a",
        "SELECT DISTINCT a, b FROM t",
        "SELECT COUNT(DISTINCT a, b), COUNT(DISTINCT b) FROM t",
        "SELECT x.a FROM t AS x JOIN t AS y ON x.a = y.a AND x.b = y.b",
        "SELECT a, b, RANK() OVER (PARTITION BY a ORDER BY b) FROM t",
        "SELECT a, b FROM t EXCEPT SELECT a + 1, b FROM t",
        "WITH c AS (SELECT * FROM t) SELECT COUNT(*) FROM c AS x, c AS y WHERE x.a = y.a",
        "CREATE TABLE s AS SELECT * FROM t ORDER BY b DESC",
        "INSERT INTO n SELECT a FROM t ORDER BY b, a",
    ] {
        assert_eq!(small.run(sql), Err(DISK_FULL), "{sql}");
        assert_eq!(temporary_files(), 0, "{sql}");
        assert_eq!(db.memory().used_bytes(), used, "{sql}");
        assert_eq!(other.run("SELECT COUNT(*), SUM(a) FROM t"), whole, "{sql}");
        assert_eq!(small.run("SELECT COUNT(*) FROM n"), Ok(vec!["300".into()]), "{sql}");
    }
    assert!(small.run("SELECT * FROM s").is_err());
    // Little spills still fit, and so does everything once memory is granted.
    assert!(small.run("SELECT * FROM n ORDER BY a").is_ok());
    small.ok("SET max_query_memory = DEFAULT");
    assert_eq!(small.run("SELECT * FROM t ORDER BY b, a DESC").map(|r| r.len()), Ok(90_000));
}
