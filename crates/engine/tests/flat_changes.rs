//! Flat plans of INSERT, UPDATE and DELETE do exactly what the executor does: same rows, answers, errors, warnings; and
//! they wait, conflict and roll back as it does.

mod common;

use common::{Texts, run};
use engine::{Database, Options, Session};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use types::Result;

/// Random numbers that come again with their seed.
struct Seed(u64);

impl Seed {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

fn database() -> Arc<Database> {
    Database::open(Options { workers: Some(1), leaf_rows: Some(16), ..Options::default() }).expect("opens")
}

fn session(db: &Arc<Database>) -> Session {
    let mut s = db.session("root", "localhost");
    run(&mut s, "CREATE DATABASE IF NOT EXISTS d").expect("new");
    s.use_database("d").expect("it is there");
    s
}

fn must(s: &mut Session, sql: &str) -> Texts {
    run(s, sql).unwrap_or_else(|e| panic!("{sql}: {e}"))
}

fn hits(s: &mut Session) -> u64 {
    let row = must(s, "SHOW STATUS LIKE 'Nextleaf_plan_cache_hits'").rows;
    row[0].split(',').nth(1).and_then(|n| n.parse().ok()).expect("a counter")
}

const TABLE: &str =
    "CREATE TABLE m (id INT AUTO_INCREMENT PRIMARY KEY, a TINYINT, b BIGINT UNSIGNED NOT NULL DEFAULT 5,
    c CHAR(4), v VARCHAR(6) NOT NULL DEFAULT 'x', t TEXT, d DECIMAL(6,2), f FLOAT, g DOUBLE UNSIGNED, da DATE, ti TIME,
    dt DATETIME, ts TIMESTAMP NULL, ch TIMESTAMP(2) DEFAULT CURRENT_TIMESTAMP(2) ON UPDATE CURRENT_TIMESTAMP(2), y YEAR,
    bi VARBINARY(4), e INT UNSIGNED, w DECIMAL(40,3), UNIQUE KEY (e), KEY (a), KEY va (v, a), UNIQUE KEY cc (c, da))";

/// With rules that flat plans leave to the ordinary way.
const RULES: &str = "CREATE TABLE p (id INT PRIMARY KEY, x INT UNIQUE);
    CREATE TABLE r (id INT PRIMARY KEY, x INT, d DECIMAL(8,2) DEFAULT 1, s VARCHAR(10), n INT NOT NULL DEFAULT 3,
        g INT AS (n + 1) STORED, ch DATETIME ON UPDATE CURRENT_TIMESTAMP, UNIQUE KEY (s), KEY (g), CHECK (n < 100),
        FOREIGN KEY (x) REFERENCES p (x) ON UPDATE CASCADE ON DELETE SET NULL)";

const TEMPLATES: &[&str] = &[
    "INSERT INTO r (id, x, s) VALUES ({}, {}, {})",
    "UPDATE r SET x = {} WHERE id = {}",
    "UPDATE r SET d = d + {}, n = n - {} WHERE id = {}",
    "UPDATE r SET s = CONCAT(s, {}), d = d / {} WHERE id = {} AND x > {}",
    "UPDATE r SET n = {}, d = x * {} WHERE s = {} AND id > {}",
    "UPDATE r SET d = IF(x > {}, d * 2, NULL), n = LENGTH(s) WHERE id = {}",
    "UPDATE IGNORE r SET n = NULL, x = {} WHERE id = {}",
    "UPDATE p SET x = {} WHERE id = {}",
    "UPDATE p SET x = x + {} WHERE x = {}",
    "DELETE FROM p WHERE id = {}",
    "DELETE FROM p WHERE x = {} AND id < {}",
    "DELETE FROM r WHERE id = {} AND (d > {} OR s LIKE {})",
    "INSERT INTO p VALUES ({}, {})",
    "INSERT INTO m (a, b, v, e) VALUES ({}, {}, {}, {})",
    "INSERT INTO m (id, d, dt, ts) VALUES ({}, {}, {}, {})",
    "INSERT INTO m (ti, da, y, w) VALUES ({}, {}, {}, {})",
    "INSERT INTO m (v) VALUES ({}), ({}), ({})",
    "INSERT INTO m (id, v) VALUES ({}, {}), ({}, {})",
    "INSERT INTO m (v, f, g, bi, t, c) VALUES ({}, {}, {}, {}, {}, {})",
    "INSERT INTO m (a, v) VALUES (DEFAULT, {})",
    "INSERT INTO m (e, b) VALUES ({}, DEFAULT)",
    "INSERT INTO m () VALUES ()",
    "INSERT INTO m (a) VALUES ({}, {})",
    "INSERT IGNORE INTO m (id, e) VALUES ({}, {})",
    "INSERT INTO m (id, e) VALUES ({}, {}) ON DUPLICATE KEY UPDATE a = a + 1",
    "UPDATE m SET a = {} WHERE id = {}",
    "UPDATE m SET b = {}, c = {} WHERE id = {}",
    "UPDATE m SET v = {}, t = {} WHERE id = {}",
    "UPDATE m SET d = {}, w = {} WHERE id = {}",
    "UPDATE m SET f = {}, g = {} WHERE id = {}",
    "UPDATE m SET da = {}, ti = {} WHERE id = {}",
    "UPDATE m SET dt = {}, ts = {}, y = {} WHERE id = {}",
    "UPDATE m SET ch = {} WHERE id = {}",
    "UPDATE m SET dt = NOW(), ts = CURRENT_TIMESTAMP, a = {} WHERE id = {}",
    "UPDATE m SET da = NOW(), ti = NOW(), d = d + {} WHERE id = {}",
    "UPDATE m SET y = NOW(), v = {} WHERE id = {}",
    "UPDATE m SET ch = NOW(), t = NOW() WHERE e = {}",
    "UPDATE m SET b = NOW() WHERE id = {}",
    "UPDATE m SET a = {}, dt = NOW() WHERE v = {}",
    "UPDATE m SET b = b + 1 WHERE a = {}",
    "DELETE FROM m WHERE v = {} AND a = {}",
    "SELECT id, dt FROM m WHERE v = {} ORDER BY a, id LIMIT 2 FOR UPDATE",
    "SELECT id FROM m WHERE a = {} ORDER BY id FOR UPDATE",
    "UPDATE m SET bi = {}, e = {} WHERE id = {}",
    "UPDATE m SET a = a + {} WHERE id = {}",
    "UPDATE m SET b = b - {} WHERE id = {}",
    "UPDATE m SET e = e * {} WHERE e = {}",
    "UPDATE m SET e = {} + e, a = a - {} WHERE id = {}",
    "UPDATE m SET d = d + {}, w = {} - w WHERE id = {}",
    "UPDATE m SET d = d * {} WHERE id = {}",
    "UPDATE m SET w = d - {}, g = g + {} WHERE id = {}",
    "UPDATE m SET w = a * {}, d = w + {} WHERE id = {}",
    "UPDATE m SET d = b - d WHERE e = {}",
    "UPDATE m SET g = d - {}, f = f + {} WHERE id = {}",
    "UPDATE m SET a = d + {}, g = {} * e WHERE id = {}",
    "UPDATE m SET a = e, e = id WHERE id = {}",
    "UPDATE m SET f = f, a = DEFAULT, b = DEFAULT WHERE id = {}",
    "UPDATE m SET a = 5, a = {} WHERE id = {}",
    "UPDATE m SET a = a + 1, b = a WHERE id = {}",
    "UPDATE m SET id = {} WHERE id = {}",
    "UPDATE m SET a = {} WHERE c = {} AND da = {}",
    "UPDATE m SET a = {} WHERE id = {} AND v = {}",
    "UPDATE m SET v = CONCAT(v, {}) WHERE id = {}",
    "UPDATE IGNORE m SET e = {} WHERE id = {}",
    "DELETE FROM m WHERE id = {}",
    "DELETE FROM m WHERE e = {}",
    "DELETE FROM m WHERE c = {} AND da = {}",
    "DELETE FROM m WHERE id = {} AND a = {}",
    "DELETE FROM m WHERE id = {} LIMIT 1",
    "BEGIN",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT s",
    "ROLLBACK TO s",
    "SELECT id FROM m WHERE id = {} FOR UPDATE",
    "SELECT * FROM m WHERE e = {} FOR UPDATE",
    "SELECT ts, d, v, t AS text, ch FROM m WHERE id = {} LIMIT 1 FOR UPDATE",
    "SELECT w FROM m WHERE c = {} AND da = {} FOR UPDATE",
    "SELECT w FROM m WHERE id = {} FOR SHARE",
    "SELECT ROW_COUNT(), LAST_INSERT_ID()",
];

const VALUES: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "5",
    "9",
    "14",
    "23",
    "-1",
    "-128",
    "127",
    "255",
    "1.5",
    "-2.25",
    "1.005",
    "99999",
    "4294967296",
    "18446744073709551615",
    "1e3",
    "2.5e0",
    "0.125",
    "'a'",
    "'ab  '",
    "'abcdefg'",
    "'7'",
    "' 8'",
    "'x1'",
    "''",
    "'2024-02-29'",
    "'12:30:00'",
    "'2024-05-06 07:08:09'",
    "DATE '2023-01-02'",
    "'0000-00-00'",
    "NULL",
    "NULL",
    "TRUE",
    "x'41'",
    "'it''s'",
    "'Ä'",
    "3 + 4",
    "20240101",
    "2024",
];

fn fill(template: &str, random: &mut Seed) -> String {
    let mut sql = String::new();
    for (i, part) in template.split("{}").enumerate() {
        if i > 0 {
            sql += VALUES[random.below(VALUES.len())];
        }
        sql += part;
    }
    sql
}

type Answer = std::result::Result<(u64, u64, u64, String, Vec<String>), (u16, String)>;

fn answer(r: Result<Texts>) -> Answer {
    r.map(|s| (s.ok.affected_rows, s.ok.last_insert_id, s.ok.warnings, s.ok.info, s.rows))
        .map_err(|e| (e.code().0, e.message().to_string()))
}

/// Two databases, one that uses plans and one that does not, take the same statements.
fn compare(mode: &str, found_rows: bool, seed: u64, statements: usize) {
    let dbs = [database(), database()];
    let mut sessions = [session(&dbs[0]), session(&dbs[1])];
    for s in &mut sessions {
        must(s, TABLE);
        must(s, RULES);
        must(s, &format!("SET sql_mode = '{mode}', time_zone = '+03:00', timestamp = 1700000000"));
        s.set_reports_found_rows(found_rows);
        for i in 0..25 {
            must(s, &format!("INSERT INTO p VALUES ({i}, {i})"));
            must(s, &format!("INSERT INTO r (id, x, s) VALUES ({i}, {i}, 's{i}')"));
        }
        for i in 1..40 {
            must(s, &format!("INSERT INTO m (a, b, c, v, e, da) VALUES ({i}, {i}, 'c{i}', 'v{i}', {i}, '2024-01-01')"));
        }
    }
    must(&mut sessions[1], "SET sql_select_limit = 1000000");
    let mut random = Seed(seed);
    let before = hits(&mut sessions[0]);
    let mut now = 1_700_000_000.25;
    for n in 0..statements {
        let sql = fill(TEMPLATES[random.below(TEMPLATES.len())], &mut random);
        now += 0.5;
        // what is sorted goes through the executor
        let sorted = sql.contains("WHERE") && !sql.contains("LIMIT") && !sql.contains("SELECT");
        let slow = if sorted { format!("{sql} ORDER BY id") } else { sql.clone() };
        let [kept, fresh] = &mut sessions;
        let answers = [(kept, &sql), (fresh, &slow)].map(|(s, sql)| {
            must(s, &format!("SET timestamp = {now}"));
            let mut answer = (answer(run(s, sql)), must(s, "SHOW WARNINGS").rows);
            if sorted {
                // what is no number is told of by each operator that looks at it, for each row
                answer.1.retain(|w| !w.contains("Truncated incorrect DOUBLE"));
                if let Ok(ok) = &mut answer.0 {
                    ok.2 = 0;
                    ok.3.truncate(ok.3.find("Warnings").unwrap_or(ok.3.len()));
                }
            }
            // the words for an expression, and the row that a scan fails at, are each plan's own
            let answer = format!("{answer:?}");
            let cut = ["out of range in", "Truncated incorrect DOUBLE value: '", "syntax to use near"].into_iter();
            cut.fold(&*answer, |all, words| all.split_once(words).map_or(all, |(head, _)| head)).to_string()
        });
        assert_eq!(answers[0], answers[1], "{mode} {seed}: statement {n}: {sql}");
        if random.below(10) == 0 {
            for (table, order) in [("m", "id"), ("m", "e, id"), ("m", "v, a, id"), ("r", "g, id"), ("p", "x, id")] {
                let all = format!("SELECT * FROM {table} ORDER BY {order} LIMIT 1000");
                let rows = sessions.each_mut().map(|s| must(s, &all).rows);
                assert_eq!(rows[0], rows[1], "{mode} {seed}: after statement {n}: {sql}");
            }
        }
    }
    let used = hits(&mut sessions[0]) - before;
    assert!(used > statements as u64 / 10, "plans are used: {used}");
}

#[test]
fn flat_changes_are_those_of_the_executor() {
    compare("STRICT_TRANS_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO", false, 1, 2500);
    compare("", true, 2, 2000);
    compare("STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,NO_UNSIGNED_SUBTRACTION,ANSI_QUOTES", false, 3, 1500);
}

#[test]
fn auto_increment_steps() {
    let db = database();
    let mut s = session(&db);
    must(&mut s, "CREATE TABLE a (id TINYINT AUTO_INCREMENT PRIMARY KEY, x INT)");
    must(&mut s, "SET auto_increment_increment = 10, auto_increment_offset = 3");
    for i in 0..4 {
        let sink = must(&mut s, &format!("INSERT INTO a (x) VALUES ({i})"));
        assert_eq!(sink.ok.last_insert_id, 3 + 10 * i);
    }
    let sink = must(&mut s, "INSERT INTO a (x) VALUES (7), (8)");
    assert_eq!((sink.ok.last_insert_id, sink.ok.affected_rows), (43, 2));
    for i in 6..13 {
        assert_eq!(must(&mut s, &format!("INSERT INTO a (x) VALUES ({i})")).ok.last_insert_id, 3 + 10 * i);
    }
    for _ in 0..3 {
        assert_eq!(run(&mut s, "INSERT INTO a (x) VALUES (1)").err().map(|e| e.code().0), Some(1467));
    }
    assert_eq!(must(&mut s, "SELECT COUNT(*) FROM a").rows, ["13"]);
}

fn counters(db: &Arc<Database>) -> Session {
    let mut s = session(db);
    must(&mut s, "CREATE TABLE n (id INT PRIMARY KEY, k INT, x INT, UNIQUE KEY (k))");
    for i in 0..50 {
        must(&mut s, &format!("INSERT INTO n VALUES ({i}, {i}, 0)"));
    }
    for _ in 0..3 {
        must(&mut s, "UPDATE n SET x = x + 0 WHERE id = 1");
        must(&mut s, "UPDATE n SET k = k + 0 WHERE id = 1");
        must(&mut s, "DELETE FROM n WHERE id = 1000");
    }
    s
}

#[test]
fn no_update_is_lost() {
    let db = database();
    drop(counters(&db));
    let done: Vec<AtomicU64> = (0..4).map(|_| AtomicU64::new(0)).collect();
    std::thread::scope(|scope| {
        for t in 0..4u64 {
            let (db, done) = (&db, &done);
            scope.spawn(move || {
                let mut s = session(db);
                let level = ["READ COMMITTED", "REPEATABLE READ", "READ UNCOMMITTED", "REPEATABLE READ"][t as usize];
                must(&mut s, &format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"));
                let mut random = Seed(t + 1);
                for _ in 0..200 {
                    let rows = [random.below(4), random.below(4)];
                    if random.below(2) == 0 {
                        must(&mut s, &format!("UPDATE n SET x = x + 1 WHERE id = {}", rows[0]));
                        done[rows[0]].fetch_add(1, Ordering::Relaxed);
                        continue;
                    }
                    must(&mut s, "BEGIN");
                    let all = rows
                        .iter()
                        .try_for_each(|r| run(&mut s, &format!("UPDATE n SET x = x + 1 WHERE id = {r}")).map(drop));
                    match all {
                        Ok(()) if random.below(4) > 0 => {
                            must(&mut s, "COMMIT");
                            for r in rows {
                                done[r].fetch_add(1, Ordering::Relaxed);
                            }
                        }
                        Ok(()) => drop(must(&mut s, "ROLLBACK")),
                        Err(e) => assert_eq!(e.code().0, 1213),
                    }
                }
            });
        }
    });
    let mut s = session(&db);
    for (i, done) in done.iter().enumerate() {
        let x = must(&mut s, &format!("SELECT x FROM n WHERE id = {i}")).rows;
        assert_eq!(x, [done.load(Ordering::Relaxed).to_string()], "row {i}");
    }
}

#[test]
fn keys_that_move_stay_unique() {
    let db = database();
    drop(counters(&db));
    std::thread::scope(|scope| {
        for t in 0..4u64 {
            let db = &db;
            scope.spawn(move || {
                let mut s = session(db);
                let mut random = Seed(t + 10);
                for _ in 0..250 {
                    let (id, k) = (random.below(12), random.below(12));
                    let sql = match random.below(4) {
                        0 => format!("UPDATE n SET k = {k} WHERE id = {id}"),
                        1 => format!("UPDATE n SET id = {id} WHERE k = {k}"),
                        2 => format!("DELETE FROM n WHERE k = {k}"),
                        _ => format!("INSERT INTO n VALUES ({id}, {k}, 0)"),
                    };
                    if let Err(e) = run(&mut s, &sql) {
                        assert!([1062, 1213].contains(&e.code().0), "{sql}: {e}");
                    }
                }
            });
        }
    });
    let mut s = session(&db);
    let by = |s: &mut Session, order: &str| {
        let mut rows = must(s, &format!("SELECT id, k FROM n ORDER BY {order}")).rows;
        rows.sort();
        rows
    };
    let rows = by(&mut s, "id");
    assert_eq!(rows, by(&mut s, "k"));
    let mut keys: Vec<&str> = rows.iter().filter_map(|r| r.split(',').nth(1)).collect();
    keys.sort_unstable();
    let n = keys.len();
    keys.dedup();
    assert_eq!(keys.len(), n, "k is unique");
    for row in &rows {
        let (id, k) = row.split_once(',').expect("two columns");
        assert_eq!(must(&mut s, &format!("SELECT id FROM n WHERE k = {k}")).rows, [id], "found by its key");
    }
}

/// Runs `sql` in another thread, which has to wait until `release` is run.
fn waits(db: &Arc<Database>, setup: &str, sql: &str, release: impl FnOnce()) -> Answer {
    std::thread::scope(|scope| {
        let waiter = scope.spawn(move || {
            let mut s = session(db);
            must(&mut s, setup);
            answer(run(&mut s, sql))
        });
        std::thread::sleep(Duration::from_millis(300));
        assert!(!waiter.is_finished(), "{sql} waits");
        release();
        waiter.join().expect("no panic")
    })
}

#[test]
fn who_waits_sees_what_came_of_it() {
    let db = database();
    let mut a = counters(&db);
    let affected = |r: Answer| r.map(|a| a.0);
    let update = "UPDATE n SET x = x + 10 WHERE id = 5";
    // changed: the new value counts
    must(&mut a, "BEGIN; UPDATE n SET x = 7 WHERE id = 5");
    assert_eq!(affected(waits(&db, "DO 1", update, || drop(must(&mut a, "COMMIT")))), Ok(1));
    assert_eq!(must(&mut a, "SELECT x FROM n WHERE id = 5").rows, ["17"]);
    // rolled back
    must(&mut a, "BEGIN; UPDATE n SET x = 70 WHERE id = 5");
    assert_eq!(affected(waits(&db, "DO 1", update, || drop(must(&mut a, "ROLLBACK")))), Ok(1));
    assert_eq!(must(&mut a, "SELECT x FROM n WHERE id = 5").rows, ["27"]);
    // deleted
    must(&mut a, "BEGIN; DELETE FROM n WHERE id = 5");
    assert_eq!(affected(waits(&db, "DO 1", update, || drop(must(&mut a, "COMMIT")))), Ok(0));
    // locked only, and shared
    for lock in ["FOR UPDATE", "FOR SHARE"] {
        must(&mut a, &format!("BEGIN; SELECT * FROM n WHERE id = 6 {lock}"));
        let sql = "UPDATE n SET x = x + 10 WHERE id = 6";
        assert_eq!(affected(waits(&db, "DO 1", sql, || drop(must(&mut a, "COMMIT")))), Ok(1));
    }
    // the key moves to another row
    must(&mut a, "BEGIN; UPDATE n SET k = 100 WHERE id = 7; UPDATE n SET k = 7 WHERE id = 8");
    let sql = "UPDATE n SET x = 99 WHERE k = 7";
    assert_eq!(affected(waits(&db, "DO 1", sql, || drop(must(&mut a, "COMMIT")))), Ok(1));
    assert_eq!(must(&mut a, "SELECT id FROM n WHERE x = 99").rows, ["8"]);
    // inserted, and a key that is looked for in vain stays absent
    must(&mut a, "BEGIN; INSERT INTO n VALUES (200, 200, 0)");
    let sql = "UPDATE n SET x = 98 WHERE k = 200";
    assert_eq!(affected(waits(&db, "DO 1", sql, || drop(must(&mut a, "COMMIT")))), Ok(1));
    must(&mut a, "BEGIN; DELETE FROM n WHERE id = 201");
    let sql = "INSERT INTO n VALUES (201, 201, 0)";
    assert_eq!(affected(waits(&db, "DO 1", sql, || drop(must(&mut a, "COMMIT")))), Ok(1));
    // a wait that is too long leaves the transaction as it was
    must(&mut a, "BEGIN; DELETE FROM n WHERE id = 9");
    let setup = "SET innodb_lock_wait_timeout = 1; BEGIN; UPDATE n SET x = 1 WHERE id = 10";
    let late = waits(&db, setup, "DELETE FROM n WHERE id = 9", || std::thread::sleep(Duration::from_millis(1200)));
    assert_eq!(late.map_err(|e| e.0), Err(1205));
    must(&mut a, "ROLLBACK");
    // a read-only transaction
    must(&mut a, "START TRANSACTION READ ONLY");
    for sql in ["UPDATE n SET x = x + 10 WHERE id = 6", "DELETE FROM n WHERE id = 6", "INSERT INTO n VALUES (6, 6, 6)"]
    {
        for _ in 0..3 {
            assert_eq!(run(&mut a, sql).err().map(|e| e.code().0), Some(1792), "{sql}");
        }
    }
}

/// A change and the lock before it are one record: what lies between savepoints is taken back, no more and no less.
#[test]
fn savepoints_take_back_what_came_after_them() {
    let db = database();
    let mut a = counters(&db);
    let x = |s: &mut Session| must(s, "SELECT x FROM n WHERE id IN (2, 3) ORDER BY id").rows.join(" ");
    for change in ["UPDATE n SET x = x + 1 WHERE id = 2", "UPDATE n SET x = x + 1 WHERE id + 0 = 2"] {
        must(&mut a, "BEGIN; SELECT * FROM n WHERE id = 2 FOR UPDATE; SAVEPOINT s");
        must(&mut a, change);
        must(&mut a, "UPDATE n SET x = x + 1 WHERE id = 3");
        assert_eq!(x(&mut a), "1 1");
        must(&mut a, "ROLLBACK TO s");
        assert_eq!(x(&mut a), "0 0");
        // still locked
        let other = waits(&db, "DO 1", "UPDATE n SET x = x WHERE id = 2", || drop(must(&mut a, "COMMIT")));
        assert_eq!(other.map(|a| a.3), Ok("Rows matched: 1  Changed: 0  Warnings: 0".into()));
    }
    // a statement that fails on its second row
    for _ in 0..3 {
        let e = run(&mut a, "UPDATE n SET k = 40 WHERE id IN (20, 21)").err().map(|e| e.code().0);
        assert_eq!(e, Some(1062));
        assert_eq!(must(&mut a, "SELECT k FROM n WHERE id IN (20, 21) ORDER BY id").rows, ["20", "21"]);
    }
    must(&mut a, "UPDATE IGNORE n SET k = IF(id = 20, 40, 1000) WHERE id IN (20, 21)");
    assert_eq!(must(&mut a, "SELECT k FROM n WHERE id IN (20, 21) ORDER BY id").rows, ["20", "1000"]);
}
