//! read_only and super_read_only.

use engine::{Collect, Database, Options, Session};
use std::sync::Arc;

fn run(s: &mut Session, sql: &str) -> u16 {
    s.execute(sql.as_bytes(), true, &mut Collect::without_rows()).err().map_or(0, |e| e.code().0)
}

fn open(variables: &[(&str, &str)]) -> Arc<Database> {
    let variables = variables.iter().map(|(n, t)| (n.to_string(), t.to_string())).collect();
    Database::open(Options { workers: Some(0), variables, ..Default::default() }).expect("opens")
}

#[test]
fn who_may_change_what() {
    let db = open(&[]);
    let mut root = db.session("root", "localhost");
    assert_eq!(
        run(&mut root, "CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY, b INT); INSERT INTO d.t VALUES (1, 1)"),
        0
    );
    assert_eq!(run(&mut root, "CREATE USER app"), 0);
    let mut app = db.session("app", "localhost");
    assert_eq!(run(&mut app, "USE d"), 0);
    // read_only exempts by CONNECTION_ADMIN, which ALL PRIVILEGES has in it, and by no name.
    assert_eq!(run(&mut root, "SET GLOBAL read_only = 1"), 0);
    assert_eq!(run(&mut app, "INSERT INTO t VALUES (6, 6); DELETE FROM t WHERE a = 6"), 0);
    // Begun before, and to be committed after.
    let mut open = db.session("app", "localhost");
    assert_eq!(run(&mut open, "BEGIN; INSERT INTO d.t VALUES (7, 7)"), 0);
    assert_eq!(run(&mut root, "SET GLOBAL super_read_only = 1"), 0);
    assert_eq!(run(&mut open, "COMMIT"), 1290);
    assert_eq!(run(&mut app, "SELECT 1 / (SELECT COUNT(*) - 1 FROM d.t) IS NULL AND (SELECT a FROM t WHERE a = 7)"), 0);
    for sql in [
        "INSERT INTO t VALUES (2, 2)",
        "UPDATE t SET b = 2 WHERE a = 1",
        "UPDATE t SET b = b + 1",
        "DELETE FROM t WHERE a = 1",
        "CREATE TABLE u (a INT)",
        "TRUNCATE t",
        "DROP TABLE t",
        "ALTER TABLE t ADD c INT",
        "CREATE DATABASE e",
        "CREATE USER x",
        "CREATE VIEW v AS SELECT 1",
    ] {
        for _ in 0..3 {
            assert_eq!(run(&mut app, sql), 1290, "{sql}");
        }
    }
    for sql in [
        "SELECT * FROM t WHERE a = 1 FOR UPDATE",
        "CREATE TEMPORARY TABLE own (a INT)",
        "INSERT INTO own VALUES (1)",
        "UPDATE own SET a = 2",
        "ALTER TABLE own ADD b INT",
        "TRUNCATE own",
        "DROP TABLE own",
        "ANALYZE TABLE t",
        "FLUSH STATUS",
        "SET GLOBAL super_read_only = 0",
    ] {
        assert_eq!(run(&mut app, sql), 0, "{sql}");
    }
    assert_eq!(run(&mut root, "INSERT INTO d.t VALUES (3, 3); CREATE TABLE d.r (a INT)"), 0);
    assert_eq!(run(&mut root, "SET GLOBAL super_read_only = 1"), 0);
    assert_eq!(run(&mut root, "INSERT INTO d.t VALUES (4, 4)"), 1290);
    assert_eq!(run(&mut root, "DROP TABLE d.r"), 1290);
    assert_eq!(run(&mut root, "SET GLOBAL read_only = 0; INSERT INTO d.t VALUES (4, 4)"), 0);
    assert_eq!(run(&mut app, "INSERT INTO t VALUES (5, 5)"), 0);
}

#[test]
fn from_the_start() {
    let db = open(&[("super-read-only", "ON"), ("max_allowed_packet", "16M"), ("sql_mode", "ANSI")]);
    let mut root = db.session("root", "localhost");
    assert_eq!(run(&mut root, "CREATE DATABASE d"), 1290);
    assert_eq!(db.before_serving(|| run(&mut root, "CREATE DATABASE d")), 0);
    assert_eq!(run(&mut root, "CREATE TABLE d.t (a INT)"), 1290);
    assert_eq!(run(&mut root, "SELECT 'a' || 'b', \"a\" FROM (SELECT 1 AS a) AS d"), 0);
    assert_eq!(db.variables().by_name("max_allowed_packet").as_deref(), Some("16777216"));
}

#[test]
fn a_comment_alone_is_a_statement_that_does_nothing() {
    let db = open(&[]);
    let mut s = db.session("root", "localhost");
    for sql in ["-- x", "--", "/* a */", "#a", "/*!99999 select 1 */", " \n-- b\n"] {
        assert_eq!(run(&mut s, sql), 0, "{sql}");
    }
    for sql in ["", " ", ";"] {
        assert_eq!(run(&mut s, sql), 1065, "{sql}");
    }
}
