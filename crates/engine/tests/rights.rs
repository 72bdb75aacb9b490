//! Rights come from an account; whoever has none is refused, whatever the name.

use engine::{Collect, Database, Options, Session};
use std::sync::Arc;

fn open() -> Arc<Database> {
    let db = Database::open(Options { workers: Some(0), ..Default::default() }).expect("opens");
    let mut root = db.session("root", "localhost");
    for sql in
        ["CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY, b INT)", "CREATE VIEW d.v AS SELECT * FROM d.t"]
    {
        assert_eq!(run(&mut root, sql), 0, "{sql}");
    }
    assert_eq!(run(&mut root, "INSERT INTO d.t VALUES (1, 1), (2, 2)"), 0);
    db
}

fn run(s: &mut Session, sql: &str) -> u16 {
    s.execute(sql.as_bytes(), true, &mut Collect::without_rows()).err().map_or(0, |e| e.code().0)
}

fn message(s: &mut Session, sql: &str) -> String {
    let refused = s.execute(sql.as_bytes(), true, &mut Collect::without_rows());
    refused.expect_err(sql).message().to_owned()
}

fn rows(s: &mut Session, sql: &str) -> Vec<Vec<Option<String>>> {
    let mut out = Collect::default();
    s.execute(sql.as_bytes(), true, &mut out).unwrap_or_else(|e| panic!("{sql}: {e}"));
    out.texts()
}

/// Everything through which an account could get at rows, names or powers.
const REFUSED: &[(&str, u16)] = &[
    ("SELECT * FROM d.t WHERE a = 1", 1142),
    ("SELECT * FROM d.v", 1142),
    ("TABLE d.t", 1142),
    ("SELECT (SELECT MAX(a) FROM d.t)", 1142),
    ("SELECT * FROM (SELECT * FROM d.t) x", 1142),
    ("WITH x AS (SELECT * FROM d.t) SELECT * FROM x", 1142),
    ("SELECT 1 UNION SELECT a FROM d.t", 1142),
    ("SELECT 1 WHERE EXISTS (SELECT * FROM d.v)", 1142),
    ("SELECT * FROM mysql.user", 1142),
    ("SELECT * FROM information_schema.columns", 1142),
    ("SELECT * FROM information_schema.statistics", 1142),
    ("SELECT * FROM information_schema.processlist", 1142),
    ("SELECT * FROM performance_schema.threads", 1142),
    ("SELECT * FROM performance_schema.events_statements_history", 1142),
    ("SELECT * FROM sys.schema_table_statistics", 1142),
    ("INSERT INTO d.t SELECT * FROM d.t", 1142),
    ("INSERT INTO d.t SELECT 3, 3", 1142),
    ("CREATE TABLE d.x SELECT * FROM d.t", 1142),
    ("CREATE TABLE d.x LIKE d.t", 1142),
    ("CREATE VIEW d.w AS SELECT * FROM d.t", 1142),
    ("RENAME TABLE d.t TO d.u", 1142),
    ("CHECKSUM TABLE d.t", 1142),
    ("ANALYZE TABLE d.t", 1142),
    ("CHECK TABLE d.t", 1142),
    ("LOCK TABLES d.t READ", 1142),
    ("LOAD DATA LOCAL INFILE '/x' INTO TABLE d.t", 1142),
    ("DO (SELECT MAX(a) FROM d.t)", 1142),
    ("SET @x = (SELECT MAX(a) FROM d.t)", 1142),
    ("SET SESSION sort_buffer_size = (SELECT MAX(a) FROM d.t)", 1142),
    ("PREPARE p FROM 'SELECT * FROM d.t'", 1142),
    ("EXPLAIN SELECT * FROM d.t", 1142),
    ("EXPLAIN ANALYZE SELECT * FROM d.t", 1142),
    ("EXPLAIN UPDATE d.t SET b = 1", 1142),
    ("EXPLAIN FORMAT=JSON DELETE FROM d.t", 1142),
    ("DESCRIBE d.t", 1142),
    ("DESC d.v", 1142),
    ("SHOW COLUMNS FROM d.t", 1142),
    ("SHOW INDEX FROM d.t", 1142),
    ("SHOW CREATE TABLE d.t", 1142),
    ("SHOW CREATE VIEW d.v", 1142),
    ("SHOW TABLES FROM d", 1044),
    ("SHOW TABLE STATUS FROM d", 1044),
    ("SHOW CREATE DATABASE d", 1044),
    ("USE d", 1044),
    ("SHOW CREATE USER root@localhost", 1044),
    ("SHOW GRANTS FOR root@localhost", 1044),
    ("SHOW ENGINE INNODB STATUS", 1227),
    ("SET GLOBAL max_connections = 5", 1227),
    ("SET @@GLOBAL.general_log = 1", 1227),
    ("SET PERSIST max_connections = 5", 1227),
    ("SET GLOBAL TRANSACTION READ ONLY", 1227),
    ("SET PASSWORD FOR root@localhost = 'x'", 1227),
    ("ALTER USER root@localhost IDENTIFIED BY 'x'", 1227),
    ("DROP USER root@localhost", 1227),
    ("RENAME USER root@localhost TO r@localhost", 1227),
    ("CREATE USER u", 1227),
    ("GRANT ALL ON *.* TO app", 1045),
    ("REVOKE ALL, GRANT OPTION FROM root@localhost", 1045),
    ("FLUSH PRIVILEGES", 1227),
    ("FLUSH TABLES WITH READ LOCK", 1227),
    ("SHUTDOWN", 1227),
    ("BACKUP TO '/x'", 1227),
    ("SELECT 1; SELECT * FROM d.t", 1142),
    ("PREPARE p FROM 'CREATE USER u'; EXECUTE p", 1227),
    ("PREPARE p FROM 'GRANT ALL ON *.* TO nobody'; EXECUTE p", 1045),
    ("PREPARE p FROM 'SET GLOBAL max_connections = 5'; EXECUTE p", 1227),
    ("PREPARE p FROM 'DROP TABLE d.t'; EXECUTE p", 1142),
    ("SHOW TABLES", 1046),
];

#[test]
fn a_name_without_an_account_has_no_rights() {
    let db = open();
    let mut nobody = db.session("nobody", "localhost");
    // Not even that name, where its account is not for this host.
    let mut root_of_elsewhere = db.session("root", "10.0.0.9");
    for s in [&mut nobody, &mut root_of_elsewhere] {
        for (sql, code) in REFUSED {
            assert_eq!(run(s, sql), *code, "{sql}");
        }
        assert_eq!(run(s, "SELECT 1 + 1, USER(); SET @a = 1; SHOW WARNINGS"), 0);
    }
    assert_eq!(rows(&mut db.system_session(), "SELECT COUNT(*) FROM d.t"), [[Some("2".to_owned())]]);
}

#[test]
fn an_account_without_rights_gets_at_nothing() {
    let db = open();
    let mut root = db.session("root", "localhost");
    assert_eq!(run(&mut root, "CREATE USER app; REVOKE ALL, GRANT OPTION FROM app"), 0);
    // Plans of these texts are kept from here on.
    for _ in 0..3 {
        assert_eq!(
            run(&mut root, "SELECT * FROM d.t WHERE a = 1; SELECT * FROM d.v; SELECT b FROM d.t WHERE b > 0"),
            0
        );
        assert_eq!(run(&mut root, "UPDATE d.t SET b = 1 WHERE a = 1"), 0);
        assert_eq!(run(&mut root, "INSERT INTO d.t VALUES (9, 9)"), 0);
        assert_eq!(run(&mut root, "DELETE FROM d.t WHERE a = 9"), 0);
    }
    let mut app = db.session("app", "10.0.0.1");
    for (sql, code) in REFUSED {
        assert_eq!(run(&mut app, sql), *code, "{sql}");
    }
    for sql in ["UPDATE d.t SET b = 1 WHERE a = 1", "INSERT INTO d.t VALUES (9, 9)", "DELETE FROM d.t WHERE a = 9"] {
        assert_eq!(run(&mut app, sql), 1142, "{sql}");
    }
    for sql in
        ["SELECT * FROM d.t WHERE a = ?", "UPDATE d.t SET b = 1", "DELETE FROM d.v", "INSERT INTO d.t VALUES (7, 7)"]
    {
        assert_eq!(app.prepare(sql.as_bytes()).expect_err(sql).code().0, 1142, "{sql}");
    }
    assert_eq!(rows(&mut app, "SHOW DATABASES").len(), 1);
    assert_eq!(run(&mut app, "SHOW GRANTS; SHOW GRANTS FOR app; SHOW CREATE USER app"), 0);
}

#[test]
fn what_is_there_is_no_different_from_what_is_not() {
    let db = open();
    let mut nobody = db.session("nobody", "localhost");
    for form in [
        "SELECT * FROM d.{}",
        "DO (SELECT 1 FROM d.{})",
        "SET @x = (SELECT 1 FROM d.{})",
        "PREPARE p FROM 'SELECT * FROM d.{}'",
        "EXPLAIN SELECT * FROM d.{}",
        "DESCRIBE d.{}",
        "SHOW COLUMNS FROM d.{}",
        "SHOW INDEX FROM d.{}",
        "SELECT (SELECT 1 FROM d.{})",
    ] {
        let there = message(&mut nobody, &form.replace("{}", "t"));
        assert!(
            there.starts_with("SELECT command denied to user 'nobody'@'localhost' for table 't'"),
            "{form}: {there}"
        );
        let is_not = message(&mut nobody, &form.replace("{}", "missing"));
        assert_eq!(is_not, there.replace("'t'", "'missing'"), "{form}");
        let no_schema = message(&mut nobody, &form.replace("d.{}", "nowhere.t"));
        assert_eq!(no_schema, there, "{form}");
    }
    assert_eq!(message(&mut nobody, "USE d").replace("'d'", ""), message(&mut nobody, "USE e").replace("'e'", ""));
}

#[test]
fn an_administrator_needs_no_certain_name() {
    let db = open();
    let mut root = db.session("root", "localhost");
    assert_eq!(run(&mut root, "CREATE USER admin, root@'10.0.0.9'; REVOKE ALL, GRANT OPTION FROM root@'10.0.0.9'"), 0);
    let mut admin = db.session("admin", "10.0.0.1");
    let mut other_root = db.session("root", "10.0.0.9");
    let id = |s: &Session| s.process().id();
    // read_only exempts by privilege.
    assert_eq!(run(&mut root, "SET GLOBAL read_only = 1"), 0);
    assert_eq!(run(&mut admin, "INSERT INTO d.t VALUES (3, 3)"), 0);
    assert_eq!(run(&mut root, "SET GLOBAL read_only = 0"), 0);
    // Its own user's connections are shown to everybody, and those of others with PROCESS.
    assert!(rows(&mut admin, "SHOW PROCESSLIST").len() >= 3);
    let seen = rows(&mut other_root, "SHOW PROCESSLIST");
    assert!(seen.iter().all(|r| r[1].as_deref() == Some("root")), "{seen:?}");
    // KILL and EXPLAIN FOR CONNECTION likewise.
    assert_eq!(
        message(&mut other_root, &format!("KILL {}", id(&admin))),
        format!("You are not owner of thread {}", id(&admin))
    );
    assert_eq!(run(&mut other_root, &format!("EXPLAIN FOR CONNECTION {}", id(&admin))), 1095);
    assert_eq!(run(&mut admin, &format!("KILL QUERY {}", id(&other_root))), 0);
}

#[test]
fn rights_last_as_long_as_the_connection() {
    let db = open();
    let mut root = db.session("root", "localhost");
    assert_eq!(run(&mut root, "CREATE USER app; GRANT ALL ON *.* TO app WITH GRANT OPTION"), 0);
    let mut app = db.session("app", "10.0.0.1");
    assert_eq!(run(&mut root, "DROP USER app"), 0);
    // MySQL: the statement does not take effect for sessions that are open.
    assert_eq!(run(&mut app, "SELECT * FROM d.t"), 0);
    // But such a session cannot make itself an account again.
    assert_eq!(run(&mut app, "CREATE USER app"), 1227);
    assert_eq!(run(&mut app, "GRANT ALL ON *.* TO root@localhost"), 1045);
    assert_eq!(run(&mut app, "SET PASSWORD = 'x'"), 1133);
    assert_eq!(run(&mut db.session("app", "10.0.0.1"), "SELECT * FROM d.t"), 1142);
}

#[test]
fn everybody_may_change_the_own_password() {
    let db = open();
    let mut root = db.session("root", "localhost");
    assert_eq!(run(&mut root, "CREATE USER app, other; REVOKE ALL, GRANT OPTION FROM app"), 0);
    let mut app = db.session("app", "10.0.0.1");
    for sql in [
        "SET PASSWORD = 'x'",
        "SET PASSWORD FOR app = 'x'",
        "ALTER USER USER() IDENTIFIED BY 'y'",
        "ALTER USER app IDENTIFIED BY 'z'",
    ] {
        assert_eq!(run(&mut app, sql), 0, "{sql}");
    }
    for sql in ["SET PASSWORD FOR other = 'x'", "ALTER USER other IDENTIFIED BY 'x'", "ALTER USER app ACCOUNT UNLOCK"] {
        assert_eq!(run(&mut app, sql), 1227, "{sql}");
    }
}
