//! Whatever a statement does, KILL, a time limit, a vanished client and shutdown end it: each kind of long work is
//! begun, stopped after a moment, and must have ended soon. By themselves all of them would take a minute or more.

mod common;

use common::{Client, database};
use engine::{Database, Kill, Session};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// By then the statement is at its work.
const MOMENT: Duration = Duration::from_millis(300);
/// What a slow, busy machine may take to notice. Measured on an idle one it is some tens of milliseconds.
const SOON: Duration = Duration::from_secs(5);

const WAYS: [(Kill, u16); 5] =
    [(Kill::Query, 1317), (Kill::Timeout, 3024), (Kill::Connection, 1317), (Kill::Gone, 1317), (Kill::Shutdown, 1053)];

/// Long works: what sets variables up, and the statement.
const WORKS: &[(&str, &str)] = &[
    // one long value
    ("SET @p = CONCAT('%_', REPEAT('a', 400000), 'b%')", "SELECT REPEAT('a', 8000000) LIKE @p"),
    ("SET @p = CONCAT('%_', REPEAT('é', 400000), 'b%')", "SELECT REPEAT('É', 4000000) LIKE @p"),
    ("SET @p = CONCAT(REPEAT('é', 2000000), 'ö')", "SELECT LOCATE(@p, REPEAT('É', 16000000))"),
    ("SET @p = CONCAT(REPEAT('é', 2000000), 'ö')", "SELECT INSTR(REPEAT('É', 16000000), @p)"),
    ("", "SELECT (SELECT GROUP_CONCAT(s SEPARATOR '') FROM t) REGEXP '[0-7].{900}[^0-9a-f]'"),
    ("", "SELECT REGEXP_INSTR((SELECT GROUP_CONCAT(s SEPARATOR '') FROM t), '([0-7](.{30}){30}[^0-9a-f])', 1, 2)"),
    ("", "SELECT REGEXP_SUBSTR(REPEAT('é1', 9000000), '([0-9]\\\\b(.é){90}){9}x')"),
    ("", "SELECT REGEXP_REPLACE(REPEAT('ab', 30000000), '(a)(b*)', '$2$1')"),
    ("", "SELECT SUM(LENGTH(REPEAT(t.s, 100000))) FROM t, t u"),
    ("", "SELECT SUM(LENGTH(SHA2(REPEAT(t.s, 100000), 512))) FROM t, t u"),
    ("", "SELECT SUM(LENGTH(REPLACE(REPEAT('a', 4000000), 'a', t.s))) FROM t, t u"),
    ("", "SELECT SUM(FIND_IN_SET(t.s, REPEAT('é,', 1000000))) FROM t, t u"),
    ("", "SELECT SUM(LENGTH(FROM_BASE64(TO_BASE64(REPEAT(t.s, 100000))))) FROM t, t u"),
    ("", "SELECT SUM(LENGTH(LPAD(HEX(t.s), 4000000, t.s))) FROM t, t u"),
    ("", "SELECT SUM(CRC32(REVERSE(REPEAT(t.s, 100000)))) FROM t, t u"),
    ("", "SELECT SUM(LENGTH(UPPER(CONVERT(REPEAT(t.s, 100000) USING latin1)))) FROM t, t u"),
    ("SET @p = REPEAT('é', 1000000)", "SELECT SUM(STRCMP(@p, CONCAT(REPEAT('É', 1000000), t.s))) FROM t, t u"),
    ("", "SELECT SUM(LENGTH(SUBSTRING_INDEX(REPEAT('a.', 1000000), t.s, -1))) FROM t, t u, t v"),
    // waiting
    ("", "SELECT SLEEP(100) FROM t"),
    ("", "SELECT GET_LOCK('taken', 100) FROM t"),
    ("", "SELECT * FROM held FOR UPDATE"),
    ("", "UPDATE held SET v = 2"),
    ("", "INSERT INTO held VALUES (1, 1)"),
    ("", "DROP TABLE held"),
    ("", "ALTER TABLE held ADD COLUMN w INT"),
    ("", "TRUNCATE TABLE held"),
    ("", "LOCK TABLES held WRITE"),
    ("", "LOAD DATA INFILE '{pipe}' INTO TABLE sink"),
    // operators
    ("", "SELECT COUNT(*) FROM t, t u, t v WHERE t.a + u.a + v.a < 0"),
    ("", "SELECT t.a, u.s FROM t, t u, t v ORDER BY t.s, u.s, v.a LIMIT 1000000, 1"),
    ("", "SELECT SUM(t.a) FROM t JOIN t u ON t.b = u.b JOIN t v ON u.b = v.b JOIN t w ON w.b = v.b"),
    ("", "SELECT COUNT(*) FROM (SELECT DISTINCT t.s, u.s AS x, v.a FROM t, t u, t v) d"),
    ("", "SELECT COUNT(*) FROM (SELECT t.a, u.a AS x, SUM(v.a) FROM t, t u, t v GROUP BY t.a, u.a, v.a) d"),
    ("", "SELECT MAX(x) FROM (SELECT GROUP_CONCAT(u.s ORDER BY v.s) AS x FROM t, t u, t v GROUP BY t.a) d"),
    (
        "",
        "SELECT MAX(x) FROM (SELECT SUM(t.d) OVER (ORDER BY t.a, u.a ROWS BETWEEN 30000 PRECEDING AND CURRENT ROW) \
         AS x FROM t, (SELECT a FROM t LIMIT 40) u) d",
    ),
    (
        "SET cte_max_recursion_depth = 4000000000",
        "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) \
      SELECT SUM(n) FROM r",
    ),
    ("", "SELECT COUNT(*) FROM t WHERE NOT EXISTS (SELECT * FROM t u, t v WHERE u.a + v.a + t.a < -RAND())"),
    ("", "SELECT t.a FROM t, t u, t v UNION SELECT t.a + u.a * v.a FROM t, t u, t v"),
    ("", "EXPLAIN ANALYZE SELECT COUNT(*) FROM t, t u, t v WHERE t.a + u.a + v.a < 0"),
    ("", "SELECT COUNT(*) FROM information_schema.columns a, information_schema.columns b, t, t u"),
    // changes
    ("", "INSERT INTO sink SELECT t.s FROM t, t u, t v"),
    ("", "CREATE TABLE made SELECT t.s, u.a, v.b FROM t, t u, t v"),
    ("", "UPDATE t SET b = LENGTH(SHA2(REPEAT(s, 1000000), 512))"),
    ("", "DELETE FROM t WHERE LENGTH(SHA2(REPEAT(s, 1000000), 512)) = 0"),
    ("", "ALTER TABLE t ADD COLUMN g VARCHAR(128) AS (SHA2(REPEAT(s, 1000000), 512)) STORED"),
    ("", "ALTER TABLE t ADD CHECK (LENGTH(SHA2(REPEAT(s, 1000000), 512)) > 0)"),
    ("", "CREATE INDEX x ON t ((CAST(SHA2(REPEAT(s, 1000000), 512) AS CHAR(128))))"),
];

/// A table of 6000 rows; one that another session has locked, and a lock that it holds.
fn world() -> (Arc<Database>, Client) {
    let db = database();
    let mut c = Client::new(&db);
    c.ok("CREATE TABLE t (a INT PRIMARY KEY, b INT, s CHAR(32), d DECIMAL(20,5))");
    c.ok("SET cte_max_recursion_depth = 100000");
    c.ok("INSERT INTO t WITH RECURSIVE r AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 5999) \
          SELECT n, n % 10, MD5(n), n / 7 FROM r");
    c.ok("CREATE TABLE sink (s CHAR(32))");
    c.ok("CREATE TABLE held (id INT PRIMARY KEY, v INT)");
    c.ok("INSERT INTO held VALUES (1, 1)");
    c.ok("BEGIN");
    c.ok("UPDATE held SET v = 3");
    c.ok("SELECT GET_LOCK('taken', 0)");
    (db, c)
}

/// How the statement ended, and how long after the kill.
fn stopped(session: &mut Session, sql: &str, kill: Kill) -> (Result<Vec<String>, u16>, Duration) {
    let process = session.process().clone();
    let killer = thread::spawn(move || {
        thread::sleep(MOMENT);
        let at = Instant::now();
        process.kill(kill);
        at
    });
    let result = common::run(session, sql).map(|texts| texts.rows).map_err(|e| e.code().0);
    let ended = Instant::now();
    let killed = killer.join().expect("it sleeps and kills");
    (result, ended.saturating_duration_since(killed))
}

#[test]
fn all_long_work_can_be_stopped() {
    let (db, _holder) = world();
    let pipe = std::env::temp_dir().join(format!("nextleaf-pipe-{}", std::process::id()));
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
    assert!(made.success());
    let mut faults = Vec::new();
    for (i, (setup, sql)) in WORKS.iter().enumerate() {
        let sql = sql.replace("{pipe}", &pipe.display().to_string());
        // Each work one way, and the first of each kind all ways.
        let (kill, code) = WAYS[i % WAYS.len()];
        let mut c = Client::new(&db);
        c.ok("SET group_concat_max_len = 100000000, innodb_lock_wait_timeout = 1000");
        if !setup.is_empty() {
            c.ok(setup);
        }
        let (result, took) = stopped(&mut c.session, &sql, kill);
        if std::env::var("NEXTLEAF_KILLS").is_ok() {
            println!("{took:>12.1?} {kill:?} {sql}");
        }
        // Operators say 1317; the connection knows why.
        let is_stop = result == Err(1317) || result == Err(code);
        if !is_stop || took > SOON {
            faults.push(format!("{sql}: {kill:?} after {took:?}: {result:?}"));
        }
    }
    std::fs::remove_file(&pipe).expect("it was made");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_way_ends_computing_and_waiting() {
    let (db, _holder) = world();
    for (kill, code) in WAYS {
        for sql in ["SELECT COUNT(*) FROM t, t u, t v WHERE t.a + u.a + v.a < 0", "UPDATE held SET v = 2"] {
            let mut c = Client::new(&db);
            c.ok("SET innodb_lock_wait_timeout = 1000");
            let (result, took) = stopped(&mut c.session, sql, kill);
            assert!(result == Err(1317) || result == Err(code), "{sql}: {kill:?}: {result:?}");
            assert!(took < SOON, "{sql}: {kill:?} after {took:?}");
        }
    }
}

#[test]
fn what_is_no_file_is_not_loaded() {
    let db = database();
    let mut c = Client::new(&db);
    c.ok("CREATE TABLE t (a INT)");
    assert_eq!(c.err("LOAD DATA INFILE '/dev/zero' INTO TABLE t"), 1085);
    assert_eq!(c.err("LOAD DATA INFILE '/tmp' INTO TABLE t"), 1085);
}

/// As the manual loads what another program writes.
#[test]
fn a_named_pipe_is_loaded() {
    let db = database();
    let mut c = Client::new(&db);
    c.ok("CREATE TABLE t (a INT)");
    let pipe = std::env::temp_dir().join(format!("nextleaf-loaded-{}", std::process::id()));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    let to = pipe.clone();
    let writer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        let mut out = std::fs::OpenOptions::new().write(true).open(to).expect("the reader is there");
        for n in 0..2000 {
            std::io::Write::write_all(&mut out, format!("{n}\n").as_bytes()).expect("it is read");
            if n % 1000 == 0 {
                thread::sleep(Duration::from_millis(50));
            }
        }
    });
    c.ok(&format!("LOAD DATA INFILE '{}' INTO TABLE t", pipe.display()));
    writer.join().expect("all is written");
    std::fs::remove_file(&pipe).expect("it was made");
    assert_eq!(c.ok("SELECT COUNT(*), SUM(a) FROM t"), ["2000,1999000"]);
}
