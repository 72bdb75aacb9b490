//! What neither fits into memory nor spills is refused, and what was refused leaves nothing behind.

mod common;

use common::Client;
use engine::{Database, Options};
use std::sync::Arc;

const CAPACITY_EXCEEDED: u16 = 3170;

fn database(query_memory_bytes: usize) -> (Arc<Database>, Client) {
    let options = Options { query_memory_bytes: Some(query_memory_bytes), ..Options::default() };
    let db = common::database_with(options);
    let c = Client::new(&db);
    (db, c)
}

#[test]
fn strings_of_user_variables() {
    let (db, mut c) = database(8 << 20);
    c.ok("SET @a = REPEAT('x', 6000000)");
    assert_eq!(c.run("SET @b = REPEAT('x', 6000000)"), Err(CAPACITY_EXCEEDED));
    assert_eq!(c.run("SELECT @c := REPEAT('x', 6000000) IS NULL, @b := REPEAT('x', 6000000)"), Err(CAPACITY_EXCEEDED));
    assert_eq!(c.ok("SELECT LENGTH(@a), @b IS NULL"), ["6000000,1"]);
    c.ok("SET @a = NULL");
    c.ok("SET @b = REPEAT('x', 6000000)");
    drop(c);
    assert_eq!(db.memory().used_bytes(), 0);
}

#[test]
fn rows_of_updates() {
    let (db, mut c) = database(64 << 20);
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, doc LONGTEXT)");
    for i in 0..16 {
        c.ok(&format!("INSERT INTO t VALUES ({i}, REPEAT('x', 1000000))"));
    }
    c.ok("SET max_query_memory = 4000000");
    assert_eq!(c.run("UPDATE t SET doc = CONCAT(doc, 'y')"), Err(CAPACITY_EXCEEDED));
    c.ok("DELETE FROM t WHERE id = 3");
    c.ok("INSERT INTO t SELECT id + 100, doc FROM t ORDER BY doc, id");
    assert_eq!(c.ok("SELECT COUNT(*), SUM(LENGTH(doc)) FROM t"), ["30,30000000"]);
    c.ok("SET max_query_memory = 0");
    c.ok("UPDATE t SET doc = CONCAT(doc, 'y')");
    assert_eq!(c.ok("SELECT COUNT(*) FROM t WHERE doc LIKE '%y'"), ["30"]);
    drop(c);
    assert_eq!(db.memory().used_bytes(), 0);
}

#[test]
fn rows_of_locking_queries() {
    let (db, mut c) = database(64 << 20);
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, doc LONGTEXT)");
    for i in 0..16 {
        c.ok(&format!("INSERT INTO t VALUES ({i}, REPEAT('x', 1000000))"));
    }
    c.ok("SET max_query_memory = 4000000");
    assert_eq!(c.run("SELECT * FROM t FOR UPDATE"), Err(CAPACITY_EXCEEDED));
    assert_eq!(c.run("INSERT INTO t SELECT id + 100, doc FROM t FOR SHARE"), Err(CAPACITY_EXCEEDED));
    assert_eq!(c.ok("SELECT id FROM t WHERE doc LIKE 'x%' FOR SHARE").len(), 16);
    assert_eq!(c.ok("SELECT doc FROM t WHERE id < 2 FOR UPDATE").len(), 2);
    c.ok("SET max_query_memory = 0");
    assert_eq!(c.ok("SELECT * FROM t FOR UPDATE").len(), 16);
    drop(c);
    assert_eq!(db.memory().used_bytes(), 0);
}

#[test]
fn rows_of_inserts() {
    let (db, mut c) = database(64 << 20);
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, a LONGTEXT, b LONGTEXT)");
    let row = |bytes: usize| format!("INSERT INTO t VALUES (1, REPEAT('x', {bytes}), REPEAT('y', {bytes}))");
    assert_eq!(c.run(&row(40_000_000)), Err(CAPACITY_EXCEEDED));
    assert_eq!(c.ok("SELECT COUNT(*) FROM t"), ["0"]);
    c.ok(&row(20_000_000));
    assert_eq!(c.ok("SELECT LENGTH(a) + LENGTH(b) FROM t"), ["40000000"]);
    drop(c);
    assert_eq!(db.memory().used_bytes(), 0);
}
