//! Views under LOCK TABLES and deep in one another; what IGNORE counts.

mod common;

use common::{Client, database};

/// The tables that a view reads, also through other views, are locked as it is.
#[test]
fn locking_a_view_locks_what_it_reads() {
    let db = database();
    let (mut a, mut b) = (Client::new(&db), Client::new(&db));
    for sql in [
        "CREATE TABLE t (a INT)",
        "CREATE TABLE u (a INT)",
        "CREATE TABLE other (a INT)",
        "INSERT INTO t VALUES (1)",
        "INSERT INTO u VALUES (1)",
        "CREATE VIEW v AS SELECT t.a FROM t WHERE EXISTS (SELECT 1 FROM u)",
        "CREATE VIEW w AS SELECT * FROM v",
    ] {
        a.ok(sql);
    }
    b.ok("SET lock_wait_timeout = 1");
    a.ok("LOCK TABLES w READ");
    assert_eq!(a.ok("SELECT * FROM w"), ["1"]);
    assert_eq!(b.err("INSERT INTO u VALUES (2)"), 1205);
    assert_eq!(b.ok("SELECT * FROM w"), ["1"]);
    assert_eq!(a.err("INSERT INTO t VALUES (1)"), 1099);
    assert_eq!(a.err("SELECT * FROM other"), 1100);
    a.ok("UNLOCK TABLES");
    a.ok("LOCK TABLES t READ, w WRITE");
    assert_eq!(b.err("SELECT * FROM u"), 1205);
    a.ok("INSERT INTO t VALUES (2)");
    a.ok("UNLOCK TABLES");
    b.ok("INSERT INTO u VALUES (2)");
    // A view of which something is gone can be locked, and says so when it is read.
    a.ok("DROP TABLE u");
    a.ok("LOCK TABLES w READ");
    assert_eq!(a.err("SELECT * FROM w"), 1356);
    a.ok("UNLOCK TABLES");
    assert_eq!(a.err("LOCK TABLES u READ"), 1146);
    a.ok("LOCK TABLES information_schema.TABLES READ");
}

/// Views are not nested without end, whatever is put below them later.
#[test]
fn deep_views_are_refused() {
    let db = database();
    let mut a = Client::new(&db);
    a.ok("CREATE TABLE t (a INT)");
    a.ok("INSERT INTO t VALUES (7)");
    a.ok("CREATE VIEW low0 AS SELECT a FROM t");
    a.ok("CREATE VIEW high0 AS SELECT a FROM t");
    for chain in ["low", "high"] {
        for i in 1..50 {
            a.ok(&format!("CREATE VIEW {chain}{i} AS SELECT a FROM {chain}{}", i - 1));
        }
    }
    assert_eq!(a.ok("SELECT * FROM high49"), ["7"]);
    a.ok("CREATE OR REPLACE VIEW high0 AS SELECT a FROM low49");
    assert_eq!(a.err("SELECT * FROM high49"), 1473);
    assert_eq!(a.err("CREATE VIEW more AS SELECT a FROM high49"), 1473);
    a.ok("SELECT * FROM information_schema.COLUMNS");
    a.ok("SELECT * FROM information_schema.VIEWS");
    a.ok("LOCK TABLES high49 READ");
    a.ok("UNLOCK TABLES");
    for i in 0..49 {
        a.ok(&format!("DROP VIEW low{i}"));
    }
    assert_eq!(a.err("SELECT * FROM high49"), 1356);
}

/// A row that a CHECK refuses is none of the records that were written or met a duplicate.
#[test]
fn records_are_rows_that_no_check_refused() {
    let db = database();
    let mut a = Client::new(&db);
    a.ok("CREATE TABLE c (a INT PRIMARY KEY, CHECK (a < 10))");
    a.ok("INSERT IGNORE INTO c VALUES (1), (20), (3), (1)");
    assert_eq!(a.last_ok().info, "Records: 3  Duplicates: 1  Warnings: 2");
    a.ok("INSERT INTO c VALUES (4), (5)");
    assert_eq!(a.last_ok().info, "Records: 2  Duplicates: 0  Warnings: 0");
}
