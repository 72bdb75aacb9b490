//! An account of which all privileges were revoked.

use engine::{Collect, Database, Options, Session};
use std::sync::Arc;

fn run(s: &mut Session, sql: &str) -> u16 {
    s.execute(sql.as_bytes(), true, &mut Collect::without_rows()).err().map_or(0, |e| e.code().0)
}

fn app(db: &Arc<Database>) -> Session {
    db.session("app", "10.0.0.1")
}

#[test]
fn it_may_connect_and_do_nothing_more() {
    let db = Database::open(Options { workers: Some(0), ..Default::default() }).expect("opens");
    let mut root = db.session("root", "localhost");
    assert_eq!(run(&mut root, "CREATE USER app; CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY)"), 0);
    let mut before = app(&db);
    assert_eq!(run(&mut before, "INSERT INTO d.t VALUES (1)"), 0);
    assert_eq!(run(&mut root, "SELECT * FROM d.t WHERE a = 1; SELECT * FROM d.t WHERE a = 1"), 0);
    assert_eq!(run(&mut root, "REVOKE ALL PRIVILEGES, GRANT OPTION FROM app"), 0);
    // As MySQL has it, connections that there are keep what they had.
    assert_eq!(run(&mut before, "SELECT * FROM d.t"), 0);
    let mut after = app(&db);
    for (sql, code) in [
        ("SELECT 1 + 1, USER(), (SELECT 2)", 0),
        ("SET @a = 1, SESSION sort_buffer_size = 300000; SET NAMES utf8mb4", 0),
        ("BEGIN; COMMIT; SHOW WARNINGS; SHOW VARIABLES LIKE 'version'; SHOW GRANTS", 0),
        ("SELECT * FROM d.t WHERE a = 1", 1142),
        ("SELECT (SELECT MAX(a) FROM d.t)", 1142),
        ("SELECT * FROM information_schema.tables", 1142),
        ("SELECT * FROM d.nothing", 1142),
        ("INSERT INTO d.t VALUES (2)", 1142),
        ("INSERT INTO d.t SELECT 3", 1142),
        ("REPLACE INTO d.t VALUES (2)", 1142),
        ("UPDATE d.t SET a = 2 WHERE a = 1", 1142),
        ("DELETE FROM d.t WHERE a = 1", 1142),
        ("LOAD DATA INFILE '/x' INTO TABLE d.t", 1142),
        ("CREATE TABLE d.u (a INT)", 1142),
        ("CREATE TEMPORARY TABLE d.u (a INT)", 1142),
        ("ALTER TABLE d.t ADD b INT", 1142),
        ("DROP TABLE d.t", 1142),
        ("TRUNCATE d.t", 1142),
        ("DESCRIBE d.t", 1142),
        ("USE d", 1044),
        ("CREATE DATABASE e", 1044),
        ("DROP DATABASE d", 1044),
        ("SET GLOBAL read_only = 1", 1227),
        ("SET PASSWORD FOR root@localhost = 'x'", 1227),
        ("CREATE USER other", 1227),
        ("GRANT ALL ON *.* TO app", 1045),
        ("SHOW CREATE TABLE d.t", 1142),
        ("EXPLAIN SELECT * FROM d.t", 1142),
        ("FLUSH TABLES", 1227),
        ("SHUTDOWN", 1227),
        ("BACKUP TO '/x'", 1227),
    ] {
        assert_eq!(run(&mut after, sql), code, "{sql}");
    }
    assert_eq!(after.use_database("d").expect_err("denied").code().0, 1044);
    let prepared = after.prepare(b"SELECT * FROM d.t").map(|p| p.id);
    if let Ok(id) = prepared {
        let result = after.execute_prepared(id, &[], &mut Collect::without_rows());
        assert!(result.is_err());
    }
    assert_eq!(run(&mut root, "GRANT USAGE ON *.* TO app"), 0);
    assert_eq!(run(&mut app(&db), "SELECT * FROM d.t"), 1142);
    assert_eq!(run(&mut root, "GRANT ALL ON *.* TO app"), 0);
    assert_eq!(run(&mut app(&db), "USE d; SELECT * FROM t"), 0);
    assert_eq!(run(&mut app(&db), "GRANT ALL ON *.* TO app"), 1045);
}
