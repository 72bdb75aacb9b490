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

/// What information_schema tells of one table is what it tells of it among all.
#[test]
fn information_schema_tells_of_one_table() {
    let db = database();
    let mut a = Client::new(&db);
    for sql in [
        "CREATE DATABASE e",
        "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(5), KEY (b), CHECK (a > 0))",
        "CREATE TABLE e.t (z INT)",
        "CREATE VIEW v AS SELECT a, b FROM t",
        "CREATE VIEW e.w AS SELECT * FROM d.v",
        "INSERT INTO t VALUES (1, 'x')",
        "ANALYZE TABLE t UPDATE HISTOGRAM ON b",
    ] {
        a.ok(sql);
    }
    for table in ["COLUMNS", "TABLES", "VIEWS", "STATISTICS", "KEY_COLUMN_USAGE", "TABLE_CONSTRAINTS"] {
        let all = a.ok(&format!("SELECT * FROM information_schema.{table}"));
        for (schema, name) in
            [("d", "t"), ("D", "V"), ("e", "t"), ("e", "w"), ("e", "none"), ("sys", "statement_analysis")]
        {
            let wanted: Vec<&String> =
                all.iter().filter(|r| r.to_lowercase().contains(&format!("{schema},{name},").to_lowercase())).collect();
            let asked = a.ok(&format!(
                "SELECT * FROM information_schema.{table} WHERE TABLE_NAME = '{name}' AND TABLE_SCHEMA = '{schema}'"
            ));
            // CONSTRAINT_NAME and INDEX_NAME may stand between the two in the rows of some.
            let count = a.ok(&format!(
                "SELECT COUNT(*) FROM information_schema.{table} WHERE TABLE_NAME LIKE '{name}' AND TABLE_SCHEMA LIKE '{schema}'"
            ));
            assert_eq!(asked.len().to_string(), count[0], "{table} {schema}.{name}");
            if ["COLUMNS", "TABLES", "VIEWS"].contains(&table) {
                assert_eq!(asked.iter().collect::<Vec<_>>(), wanted, "{table} {schema}.{name}");
            }
        }
    }
    assert_eq!(a.ok("SELECT COUNT(*) FROM information_schema.COLUMN_STATISTICS WHERE SCHEMA_NAME = 'd'"), ["1"]);
    assert_eq!(a.ok("SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_NAME = NULL"), ["0"]);
    assert_eq!(
        a.ok("SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_NAME = 't' OR TABLE_NAME = 'w'"),
        ["5"]
    );
    a.ok("PREPARE p FROM 'SELECT COUNT(*) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?'");
    for (schema, name, count) in [("d", "t", "2"), ("e", "t", "1"), ("e", "w", "2"), ("d", "t", "2")] {
        a.ok(&format!("SET @s = '{schema}', @n = '{name}'"));
        assert_eq!(a.ok("EXECUTE p USING @s, @n"), [count], "{schema}.{name}");
    }
    let tree = a.tree("SELECT * FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'd' AND 't' = TABLE_NAME");
    assert!(tree.contains("Table scan on information_schema.COLUMNS (TABLE_SCHEMA='d', TABLE_NAME='t')"), "{tree}");
}
