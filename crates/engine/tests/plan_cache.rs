//! Cached plans answer as fresh ones do.

mod common;

use common::{Texts, run};
use engine::{Collect, Database, Options, Session};
use std::sync::Arc;
use types::{Result, SqlType, Value};

fn database() -> Arc<Database> {
    Database::open(Options { workers: Some(1), leaf_rows: Some(16), ..Options::default() }).expect("opens")
}

fn session(db: &Arc<Database>) -> Session {
    let mut s = db.session("root", "localhost");
    run(&mut s, "CREATE DATABASE IF NOT EXISTS d").expect("new");
    s.use_database("d").expect("it is there");
    s
}

fn rows(s: &mut Session, sql: &str) -> Vec<String> {
    run(s, sql).unwrap_or_else(|e| panic!("{sql}: {e}")).rows
}

fn hits(s: &mut Session) -> u64 {
    let row = rows(s, "SHOW STATUS LIKE 'Nextleaf_plan_cache_hits'");
    row[0].split(',').nth(1).and_then(|n| n.parse().ok()).expect("a counter")
}

fn fill(s: &mut Session) {
    run(
        s,
        "CREATE TABLE t (id INT PRIMARY KEY, k INT, c VARCHAR(20), u BIGINT UNSIGNED, d DECIMAL(8,2), dt DATETIME, da DATE,
         ts TIMESTAMP NULL, UNIQUE KEY (c), UNIQUE KEY uk (k, u), UNIQUE KEY (da))",
    )
    .expect("valid");
    for i in 0..60 {
        let (c, null) = (format!("'Name{i}'"), "NULL".to_string());
        let c = if i % 7 == 3 { null } else { c };
        let sql = format!(
            "INSERT INTO t VALUES ({i}, {}, {c}, {}, {}.5, '2024-01-{:02} 00:00:00', '2024-{:02}-{:02}', '2024-01-01 00:00:{:02}')",
            i % 10,
            i * 3,
            i % 9,
            i % 28 + 1,
            i / 28 + 1,
            i % 28 + 1,
            i
        );
        run(s, &sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
}

/// Statements that plans are kept for, and some that look like them.
const TEMPLATES: &[&str] = &[
    "SELECT * FROM t WHERE id = {}",
    "SELECT c, id, c FROM t WHERE {} = id",
    "SELECT id AS x, k FROM t a WHERE a.id = {} LIMIT 1",
    "SELECT id FROM t WHERE id = {} AND k = {}",
    "SELECT id FROM t WHERE k = {} AND u = {}",
    "SELECT id FROM t WHERE id IN ({}, {}, {}) ORDER BY id",
    "SELECT id FROM t WHERE c = {}",
    "SELECT id FROM t WHERE da = {}",
    "SELECT id FROM t WHERE dt = {} ORDER BY id",
    "SELECT id FROM t WHERE d = {} ORDER BY id",
    "SELECT id, ts FROM t WHERE id = {}",
    "SELECT id + {} FROM t WHERE id = {}",
    "SELECT SUM(k), COUNT(*) FROM t WHERE id BETWEEN {} AND {}",
    "SELECT DISTINCT c FROM t WHERE id BETWEEN {} AND {} ORDER BY c",
    "SELECT id FROM t WHERE id > {} ORDER BY id LIMIT 3",
    "SELECT k, COUNT(*) FROM t WHERE id < {} AND c <> {} GROUP BY k ORDER BY 1",
    "SELECT a.id, b.id FROM t a JOIN t b ON a.k = b.id WHERE a.id = {} ORDER BY 1, 2",
    "SELECT id FROM t WHERE id = {} OR k = {} ORDER BY id",
    "SELECT id FROM t WHERE NOT (id >= {}) ORDER BY id",
    "SELECT id FROM t WHERE ROUND(d, 0) = {} ORDER BY id",
    "SELECT id FROM t WHERE c LIKE {} ORDER BY id",
    "SELECT id FROM t WHERE id = {} + {}",
    "SELECT 5, id FROM t WHERE id = {} HAVING id < 50",
    "SELECT missing FROM t WHERE id = {}",
];

const VALUES: &[&str] = &[
    "0",
    "1",
    "7",
    "42",
    "59",
    "60",
    "-1",
    "4294967296",
    "18446744073709551615",
    "99999999999999999999",
    "1.5",
    "42.0",
    "4e1",
    "'1'",
    "' 42'",
    "'x'",
    "'name5'",
    "'NAME5'",
    "'Name5 '",
    "'Name6'",
    "''",
    "'it''s'",
    "'Na%'",
    "NULL",
    "TRUE",
    "'2024-01-05'",
    "'2024-01-05 00:00:00'",
    "DATE '2024-01-05'",
    "x'01'",
    "'2024-1-5'",
    "'20240105'",
];

#[test]
fn kept_plans_answer_as_fresh_ones() {
    let db = database();
    let (mut kept, mut fresh) = (session(&db), session(&db));
    fill(&mut kept);
    // a session with a limit makes every plan anew
    run(&mut fresh, "SET sql_select_limit = 1000000").expect("valid");
    let before = hits(&mut kept);
    let mut seed = 7u64;
    let mut random = |n: usize| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as usize % n
    };
    for template in TEMPLATES {
        for _ in 0..60 {
            let mut sql = String::new();
            for (i, part) in template.split("{}").enumerate() {
                if i > 0 {
                    sql += VALUES[random(VALUES.len())];
                }
                sql += part;
            }
            let show =
                |r: Result<Texts>| r.map(|s| (s.columns, s.rows)).map_err(|e| (e.code(), e.message().to_string()));
            let (a, b) = (show(run(&mut kept, &sql)), show(run(&mut fresh, &sql)));
            assert_eq!(a, b, "{sql}");
            let warnings = (rows(&mut kept, "SHOW WARNINGS"), rows(&mut fresh, "SHOW WARNINGS"));
            assert_eq!(warnings.0, warnings.1, "{sql}");
        }
    }
    let used = hits(&mut kept) - before;
    assert!(used > 100, "plans are kept: {used}");
}

#[test]
fn plans_go_when_what_they_depend_on_changes() {
    let db = database();
    let mut s = session(&db);
    fill(&mut s);
    let sql = "SELECT * FROM v WHERE id = 5";
    run(&mut s, "CREATE TABLE v (id INT PRIMARY KEY, x INT); INSERT INTO v VALUES (5, 6)").expect("valid");
    (0..3).for_each(|_| drop(rows(&mut s, sql)));
    let before = hits(&mut s);
    assert_eq!(rows(&mut s, sql).len(), 1);
    assert_eq!(hits(&mut s), before + 1);
    // another table of the name
    run(&mut s, "RENAME TABLE v TO old").expect("valid");
    assert_eq!(run(&mut s, sql).err().map(|e| e.code().0), Some(1146));
    run(&mut s, "CREATE TABLE v (id VARCHAR(5), x INT)").expect("valid");
    run(&mut s, "INSERT INTO v VALUES ('5', 1), ('5.0', 2)").expect("valid");
    for _ in 0..3 {
        assert_eq!(rows(&mut s, sql), ["5,1", "5.0,2"]);
    }
    run(&mut s, "DROP TABLE v").expect("valid");
    run(&mut s, "RENAME TABLE old TO v").expect("valid");
    for _ in 0..3 {
        assert_eq!(rows(&mut s, sql), ["5,6"]);
    }
    run(&mut s, "TRUNCATE TABLE v").expect("valid");
    assert_eq!(rows(&mut s, sql), Vec::<String>::new());
    // another schema
    run(&mut s, "CREATE DATABASE e; CREATE TABLE e.v (id INT PRIMARY KEY); INSERT INTO e.v VALUES (5)").expect("valid");
    s.use_database("e").expect("it is there");
    assert_eq!(rows(&mut s, sql), ["5"]);
    // another mode
    (0..3).for_each(|_| drop(rows(&mut s, "SELECT id FROM v WHERE \"id\" = 5")));
    run(&mut s, "SET sql_mode = 'ANSI_QUOTES'").expect("valid");
    assert_eq!(rows(&mut s, "SELECT id FROM v WHERE \"id\" = 5"), ["5"]);
}

#[test]
fn transactions_see_what_they_should() {
    let db = database();
    let (mut a, mut b) = (session(&db), session(&db));
    fill(&mut a);
    let sql = "SELECT k FROM t WHERE id = 5";
    (0..3).for_each(|_| assert_eq!(rows(&mut a, sql), ["5"]));
    run(&mut a, "BEGIN").expect("valid");
    assert_eq!(rows(&mut a, sql), ["5"]);
    run(&mut b, "UPDATE t SET k = 100 WHERE id = 5").expect("valid");
    assert_eq!(rows(&mut a, sql), ["5"], "repeatable read");
    assert_eq!(rows(&mut b, sql), ["100"]);
    run(&mut a, "COMMIT").expect("valid");
    assert_eq!(rows(&mut a, sql), ["100"]);
    run(&mut a, "BEGIN; UPDATE t SET k = 200 WHERE id = 5").expect("valid");
    assert_eq!(rows(&mut a, sql), ["200"], "its own change");
    assert_eq!(rows(&mut b, sql), ["100"]);
    run(&mut b, "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED").expect("valid");
    assert_eq!(rows(&mut b, sql), ["200"]);
    run(&mut a, "ROLLBACK").expect("valid");
    // a transaction keeps its tables from being dropped
    run(&mut a, "BEGIN").expect("valid");
    assert_eq!(rows(&mut a, sql), ["100"]);
    run(&mut b, "SET lock_wait_timeout = 1").expect("valid");
    assert_eq!(run(&mut b, "DROP TABLE t").err().map(|e| e.code().0), Some(1205));
    run(&mut a, "COMMIT").expect("valid");
    (0..3).for_each(|_| assert_eq!(rows(&mut a, sql), ["100"]));
    run(&mut b, "DROP TABLE t").expect("nothing is locked any more");
}

#[test]
fn prepared_statements_with_plans() {
    let db = database();
    let mut s = session(&db);
    fill(&mut s);
    let point = s.prepare(b"SELECT c FROM t WHERE id = ?").expect("valid").id;
    let get = |s: &mut Session, id, value: Value, ty| {
        let mut sink = Collect::default();
        s.execute_prepared(id, &[(value, ty)], &mut sink).map(|()| Texts::from(sink).rows)
    };
    for i in 0..5 {
        assert_eq!(get(&mut s, point, Value::Int(i), SqlType::BIGINT).expect("runs").len(), 1, "{i}");
    }
    let text = SqlType::varchar(2, Default::default());
    for _ in 0..3 {
        assert_eq!(get(&mut s, point, Value::str("5"), text).expect("runs"), ["Name5"]);
        assert_eq!(get(&mut s, point, Value::Double(5.0), SqlType::Double).expect("runs"), ["Name5"]);
        assert_eq!(get(&mut s, point, Value::Null, SqlType::Null).expect("runs"), Vec::<String>::new());
        assert_eq!(
            get(&mut s, point, Value::UInt(u64::MAX), SqlType::BIGINT_UNSIGNED).expect("runs"),
            Vec::<String>::new()
        );
    }
    let limited = s.prepare(b"SELECT id FROM t ORDER BY id LIMIT ?").expect("valid").id;
    for n in [2, 3, 1, 0] {
        let rows = get(&mut s, limited, Value::Int(n), SqlType::BIGINT).expect("runs");
        assert_eq!(rows.len() as i64, n);
    }
    assert!(hits(&mut s) >= 3);
}

/// Two databases, one that keeps plans and one that does not, take the same changes.
#[test]
fn kept_plans_change_as_fresh_ones() {
    let (kept_db, fresh_db) = (database(), database());
    let (mut kept, mut fresh) = (session(&kept_db), session(&fresh_db));
    for s in [&mut kept, &mut fresh] {
        run(s, "CREATE TABLE w (id INT PRIMARY KEY, k INT, c VARCHAR(20), d DECIMAL(8,2), UNIQUE KEY (c))")
            .expect("valid");
        for i in 0..50 {
            run(s, &format!("INSERT INTO w VALUES ({i}, {i}, 'c{i}', {i}.25)")).expect("valid");
        }
    }
    run(&mut fresh, "SET sql_select_limit = 1000000").expect("valid");
    let templates = [
        "UPDATE w SET k = k + {} WHERE id = {}",
        "UPDATE w SET c = {} WHERE id = {}",
        "UPDATE w SET d = {}, k = {} WHERE id = {}",
        "UPDATE w SET k = {} WHERE c = {}",
        "UPDATE w SET k = k * {} WHERE id = {} AND k > {}",
        "UPDATE w SET id = {} WHERE id = {}",
        "UPDATE w SET k = 1 WHERE k = {}",
        "DELETE FROM w WHERE id = {}",
        "DELETE FROM w WHERE c = {}",
        "UPDATE IGNORE w SET c = {} WHERE id = {}",
    ];
    let values =
        ["1", "2", "3", "17", "49", "0", "-3", "'c7'", "'C8'", "'x'", "NULL", "1.005", "99999999999", "'9'", "5 + 1"];
    let mut seed = 3u64;
    let mut random = |n: usize| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as usize % n
    };
    let before = hits(&mut kept);
    for _ in 0..1500 {
        let mut sql = String::new();
        for (i, part) in templates[random(templates.len())].split("{}").enumerate() {
            if i > 0 {
                sql += values[random(values.len())];
            }
            sql += part;
        }
        let show = |r: Result<Texts>| r.map(|s| (s.ok.affected_rows, s.ok.info)).map_err(|e| e.message().to_string());
        let (a, b) = (show(run(&mut kept, &sql)), show(run(&mut fresh, &sql)));
        assert_eq!(a, b, "{sql}");
        if random(20) == 0 {
            let all = "SELECT * FROM w ORDER BY id LIMIT 100";
            assert_eq!(rows(&mut kept, all), rows(&mut fresh, all), "{sql}");
        }
    }
    let used = hits(&mut kept) - before;
    assert!(used > 100, "plans are kept: {used}");
}

#[test]
fn prepared_changes() {
    let db = database();
    let mut s = session(&db);
    run(&mut s, "CREATE TABLE w (id INT PRIMARY KEY, k INT, c VARCHAR(20))").expect("valid");
    let prepare = |s: &mut Session, sql: &str| s.prepare(sql.as_bytes()).unwrap_or_else(|e| panic!("{sql}: {e}")).id;
    let insert = prepare(&mut s, "INSERT INTO w VALUES (?, ?, ?)");
    let update = prepare(&mut s, "UPDATE w SET k = k + ?, c = ? WHERE id = ?");
    let delete = prepare(&mut s, "DELETE FROM w WHERE id = ?");
    let limited = prepare(&mut s, "DELETE FROM w WHERE k > ? ORDER BY id DESC LIMIT ?");
    let int = |v: i64| (Value::Int(v), SqlType::BIGINT);
    let text = |v: &str| (Value::str(v), SqlType::varchar(v.len() as u32, Default::default()));
    let go = |s: &mut Session, id, params: &[(Value, SqlType)]| {
        let mut sink = Collect::default();
        s.execute_prepared(id, params, &mut sink).map(|()| sink.ok.affected_rows)
    };
    for i in 0..20 {
        assert_eq!(go(&mut s, insert, &[int(i), int(i), text("a")]), Ok(1));
    }
    for i in 0..20 {
        assert_eq!(go(&mut s, update, &[int(100), text("b"), int(i)]), Ok(1), "{i}");
    }
    for i in 0..10 {
        assert_eq!(go(&mut s, delete, &[int(i)]), Ok(1));
        assert_eq!(go(&mut s, delete, &[int(i)]), Ok(0));
    }
    assert_eq!(go(&mut s, limited, &[int(0), int(3)]), Ok(3));
    assert_eq!(rows(&mut s, "SELECT COUNT(*), MIN(k), MAX(k), MIN(c) FROM w"), ["7,110,116,b"]);
    assert_eq!(go(&mut s, insert, &[int(10), int(0), text("")]).map_err(|e| e.code().0), Err(1062));
    assert!(hits(&mut s) >= 20);
}

fn counted(s: &mut Session, name: &str) -> u64 {
    let row = rows(s, &format!("SHOW STATUS LIKE 'Nextleaf_plan_cache_{name}'"));
    row[0].split(',').nth(1).and_then(|n| n.parse().ok()).expect("a counter")
}

/// What DDL changes elsewhere costs no plan; what it changes of a statement's own objects does.
#[test]
fn ddl_on_other_tables_leaves_plans_alone() {
    let db = database();
    let (mut s, mut other) = (session(&db), session(&db));
    fill(&mut s);
    run(&mut s, "CREATE TABLE p (id INT PRIMARY KEY, v INT); INSERT INTO p VALUES (1, 10), (2, 20)").expect("valid");
    run(&mut s, "CREATE VIEW w AS SELECT id, v FROM p").expect("valid");
    let texts = [
        "SELECT k FROM t WHERE id = 5",
        "SELECT v FROM w WHERE id = 1",
        "SELECT a.id FROM t a JOIN p ON a.k = p.id WHERE a.id = 5",
        "UPDATE p SET v = v + 1 WHERE id = 2",
        "INSERT INTO p VALUES (1000, 1)",
        "DELETE FROM p WHERE id = 1000",
    ];
    let prepared = s.prepare(b"SELECT v FROM p WHERE id = ?").expect("valid").id;
    let all = |s: &mut Session| {
        texts.iter().for_each(|sql| drop(rows(s, sql)));
        s.execute_prepared(prepared, &[(Value::Int(2), SqlType::BIGINT)], &mut Collect::default()).expect("runs");
    };
    (0..3).for_each(|_| all(&mut s));
    let elsewhere = [
        "CREATE TABLE e1 (id INT PRIMARY KEY)",
        "ALTER TABLE e1 ADD COLUMN x INT",
        "CREATE VIEW e2 AS SELECT * FROM e1",
        "CREATE INDEX ex ON e1 (x)",
        "RENAME TABLE e1 TO e3",
        "TRUNCATE TABLE e3",
        "DROP VIEW e2",
        "DROP TABLE e3",
        "CREATE DATABASE e; CREATE TABLE e.p (id INT); DROP DATABASE e",
        "CREATE TABLE e4 (id INT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES t (id))",
    ];
    for ddl in elsewhere {
        run(&mut other, ddl).unwrap_or_else(|e| panic!("{ddl}: {e}"));
        let before = (counted(&mut s, "hits"), counted(&mut s, "misses"));
        all(&mut s);
        let after = (counted(&mut s, "hits"), counted(&mut s, "misses"));
        assert_eq!((after.0 - before.0, after.1 - before.1), (texts.len() as u64 + 1, 0), "{ddl}");
    }
    // Of the plans' own: how many of them each is part of.
    let own = [
        ("ALTER TABLE t ADD COLUMN z INT", 2),
        ("CREATE INDEX pv ON p (v)", 6),
        ("CREATE OR REPLACE VIEW w AS SELECT id, v + 0 AS v FROM p", 1),
        // A key that leads to it is what a plan that changes rows has to heed, and no other one.
        ("CREATE TABLE c (p INT, FOREIGN KEY (p) REFERENCES p (id))", 3),
        ("GRANT ALL ON *.* TO root@localhost", 7),
        ("FLUSH OPTIMIZER_COSTS", 7),
    ];
    for (ddl, misses) in own {
        run(&mut other, ddl).unwrap_or_else(|e| panic!("{ddl}: {e}"));
        let before = counted(&mut s, "misses");
        all(&mut s);
        assert_eq!(counted(&mut s, "misses") - before, misses, "{ddl}");
        all(&mut s);
        assert_eq!(counted(&mut s, "misses") - before, misses, "the new plans stay: {ddl}");
    }
    // The plan of the change sees the key: rows that are referred to stay.
    run(&mut s, "INSERT INTO p VALUES (1000, 1); INSERT INTO c VALUES (1000)").expect("valid");
    assert_eq!(run(&mut s, "DELETE FROM p WHERE id = 1000").err().map(|e| e.code().0), Some(1451));
}

/// A name that means something else to a session, or meant nothing, is never answered by a plan of what it meant
/// before.
#[test]
fn plans_know_what_names_mean() {
    let db = database();
    let (mut s, mut other) = (session(&db), session(&db));
    run(&mut s, "CREATE TABLE v (id INT PRIMARY KEY, x INT); INSERT INTO v VALUES (5, 6)").expect("valid");
    let sql = "SELECT x FROM v WHERE id = 5";
    let change = "UPDATE v SET x = x + 0 WHERE id = 5";
    for _ in 0..4 {
        assert_eq!(rows(&mut s, sql), ["6"]);
        run(&mut s, change).expect("valid");
    }
    run(&mut s, "CREATE TEMPORARY TABLE v (id INT PRIMARY KEY, x INT); INSERT INTO v VALUES (5, 7)").expect("valid");
    for _ in 0..4 {
        assert_eq!((rows(&mut s, sql), rows(&mut other, sql)), (vec!["7".into()], vec!["6".into()]));
    }
    run(&mut s, "UPDATE v SET x = 8 WHERE id = 5").expect("valid");
    assert_eq!((rows(&mut s, sql), rows(&mut other, sql)), (vec!["8".into()], vec!["6".into()]));
    run(&mut s, "DROP TEMPORARY TABLE v").expect("valid");
    assert_eq!(rows(&mut s, sql), ["6"]);
    // A statement that failed is no reason for its plan, or the lack of one, once its table is there.
    let missing = "SELECT x FROM late WHERE id = 5";
    (0..3).for_each(|_| assert_eq!(run(&mut s, missing).err().map(|e| e.code().0), Some(1146)));
    run(&mut other, "CREATE TABLE late (id INT PRIMARY KEY, x INT); INSERT INTO late VALUES (5, 9)").expect("valid");
    (0..3).for_each(|_| assert_eq!(rows(&mut s, missing), ["9"]));
    let before = counted(&mut s, "hits");
    assert_eq!(rows(&mut s, missing), ["9"]);
    assert_eq!(counted(&mut s, "hits"), before + 1, "there is a plan now");
}
