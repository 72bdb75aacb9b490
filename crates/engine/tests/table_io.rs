//! Rows read and changed by table and index: performance_schema's sums and the views of sys over them.

mod common;

use common::{Client, database};

const BY_INDEX: &str = "performance_schema.table_io_waits_summary_by_index_usage";
const BY_TABLE: &str = "performance_schema.table_io_waits_summary_by_table";

/// fetched, inserted, updated, deleted of `d.t`, by index.
fn of_index(c: &mut Client, index: &str) -> String {
    let index = if index.is_empty() { "IS NULL".into() } else { format!("= '{index}'") };
    let counts = "COUNT_FETCH, COUNT_INSERT, COUNT_UPDATE, COUNT_DELETE";
    let at = format!("OBJECT_SCHEMA = 'd' AND OBJECT_NAME = 't' AND INDEX_NAME {index}");
    c.ok(&format!("SELECT {counts} FROM {BY_INDEX} WHERE {at}")).remove(0)
}

fn of_table(c: &mut Client) -> String {
    let counts = "COUNT_FETCH, COUNT_INSERT, COUNT_UPDATE, COUNT_DELETE, COUNT_STAR, COUNT_READ, COUNT_WRITE";
    c.ok(&format!("SELECT {counts} FROM {BY_TABLE} WHERE OBJECT_SCHEMA = 'd' AND OBJECT_NAME = 't'")).remove(0)
}

fn clear(c: &mut Client) {
    c.ok(&format!("TRUNCATE TABLE {BY_TABLE}"));
}

fn filled() -> (std::sync::Arc<engine::Database>, Client) {
    let db = database();
    let mut c = Client::new(&db);
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, KEY a (a), KEY b (b))");
    let rows: Vec<String> = (0..5000).map(|i| format!("({i}, {}, {})", i % 500, i % 50)).collect();
    c.ok(&format!("INSERT INTO t VALUES {}", rows.join(",")));
    c.ok("ANALYZE TABLE t");
    assert_eq!(of_index(&mut c, ""), "0,5000,0,0");
    clear(&mut c);
    assert_eq!(of_table(&mut c), "0,0,0,0,0,0,0");
    (db, c)
}

#[test]
fn reads_count_for_the_index_that_found_the_rows() {
    let (_db, mut c) = filled();
    c.ok("SELECT SUM(b + a) FROM t");
    assert_eq!(of_index(&mut c, ""), "5000,0,0,0");
    c.ok("SELECT b FROM t FORCE INDEX (a) WHERE a = 7");
    assert_eq!(of_index(&mut c, "a"), "10,0,0,0");
    c.ok("SELECT b FROM t WHERE id IN (5, 6, 70000)");
    assert_eq!(of_index(&mut c, "PRIMARY"), "2,0,0,0");
    c.ok("SELECT /*+ NO_HASH_JOIN(x, t) */ t.b FROM (SELECT 3 AS n UNION ALL SELECT 4) x STRAIGHT_JOIN t FORCE INDEX (a) ON t.a = x.n");
    assert_eq!(of_index(&mut c, "a"), "30,0,0,0");
    assert_eq!(of_index(&mut c, "b"), "0,0,0,0");
    assert_eq!(of_table(&mut c), "5032,0,0,0,5032,5032,0");
}

#[test]
fn kept_and_flat_plans_count_too() {
    let (db, mut c) = filled();
    let mut other = Client::new(&db);
    // The first of its kind makes no plan to keep; this one reads a whole leaf by its index.
    let range = |i: i32| format!("SELECT SUM(a) FROM t WHERE id BETWEEN {i} AND {}", i + 9);
    c.ok(&range(1000));
    clear(&mut c);
    for i in 0..20 {
        c.ok(&format!("SELECT b FROM t WHERE id = {i}"));
        other.ok(&format!("SELECT b FROM t WHERE id = {}", 4990 + i));
    }
    assert_eq!(of_index(&mut c, "PRIMARY"), "30,0,0,0");
    for i in 0..10 {
        c.ok(&range(i));
        c.ok(&format!("SELECT a FROM t FORCE INDEX (b) WHERE b = {i} LIMIT 1000"));
    }
    assert_eq!(of_index(&mut c, "PRIMARY"), "130,0,0,0");
    assert_eq!(of_index(&mut c, "b"), "1000,0,0,0");
    clear(&mut c);
    for i in 0..10 {
        c.ok(&format!("UPDATE t SET b = b + 1 WHERE id = {i}"));
        c.ok(&format!("UPDATE t SET b = 100 WHERE id = {}", 100_000 + i));
        c.ok(&format!("DELETE FROM t WHERE id = {}", 10 + i));
        c.ok(&format!("INSERT INTO t VALUES ({}, 1, 1), ({}, 2, 2)", 6000 + i, 7000 + i));
        c.ok(&format!("SELECT a FROM t WHERE id = {i} FOR UPDATE"));
    }
    assert_eq!(of_index(&mut c, "PRIMARY"), "30,0,10,10");
    assert_eq!(of_index(&mut c, ""), "0,20,0,0");
    assert_eq!(of_table(&mut c), "30,20,10,10,70,30,40");
}

#[test]
fn changes_count_for_the_index_that_found_the_rows() {
    let (_db, mut c) = filled();
    c.ok("UPDATE t FORCE INDEX (a) SET b = b + 1 WHERE a = 3");
    assert_eq!(of_index(&mut c, "a"), "10,0,10,0");
    // A row that stays as it is was read, and not updated.
    c.ok("UPDATE t FORCE INDEX (a) SET b = b WHERE a = 3");
    assert_eq!(of_index(&mut c, "a"), "20,0,10,0");
    c.ok("DELETE FROM t WHERE b + a = 1000000");
    assert_eq!(of_index(&mut c, ""), "5000,0,0,0");
    clear(&mut c);
    c.ok("INSERT INTO t VALUES (1, 0, 0), (10001, 0, 0) ON DUPLICATE KEY UPDATE b = 77");
    assert_eq!(of_index(&mut c, ""), "0,1,1,0");
    c.ok("REPLACE INTO t VALUES (2, 0, 0)");
    assert_eq!(of_index(&mut c, ""), "0,2,1,1");
    // What failed changed nothing.
    assert_eq!(c.err("INSERT INTO t VALUES (20000, 1, 1), (2, 0, 0)"), 1062);
    assert_eq!(of_index(&mut c, ""), "0,2,1,1");
}

#[test]
fn figures_stay_with_their_index() {
    let (_db, mut c) = filled();
    c.ok("SELECT a FROM t FORCE INDEX (b) WHERE b = 1");
    assert_eq!(of_index(&mut c, "b"), "100,0,0,0");
    c.ok("ALTER TABLE t DROP KEY a, ADD UNIQUE KEY u (id, a), ADD KEY ab (a, b)");
    assert_eq!((of_index(&mut c, "b"), of_index(&mut c, "ab")), ("100,0,0,0".into(), "0,0,0,0".into()));
    c.ok("SELECT a FROM t FORCE INDEX (b) WHERE b = 2");
    assert_eq!(of_index(&mut c, "b"), "200,0,0,0");
}

#[test]
fn sums_are_those_of_the_status() {
    let (db, mut c) = filled();
    c.ok("CREATE TABLE u (id INT PRIMARY KEY AUTO_INCREMENT, a INT, KEY (a))");
    let statements = |c: &mut Client, n: u32| {
        c.ok(&format!("INSERT INTO u (a) SELECT a FROM t WHERE id < {n}"));
        c.ok("SELECT COUNT(*) FROM t JOIN u ON t.id = u.a WHERE t.b < 20");
        c.ok("SELECT MAX(a), MIN(a), COUNT(DISTINCT a) FROM u");
        c.ok("SELECT t.a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a) ORDER BY t.a DESC LIMIT 20");
        // A victim of a deadlock has read, and changed nothing.
        let changes =
            [format!("UPDATE u SET a = a + 1 WHERE id % 7 = {}", n % 7), "DELETE FROM u ORDER BY id LIMIT 10".into()];
        changes.iter().for_each(|sql| assert!(matches!(c.run(sql), Ok(_) | Err(1213))));
    };
    let names = ["Innodb_rows_read", "Innodb_rows_inserted", "Innodb_rows_updated", "Innodb_rows_deleted"];
    clear(&mut c);
    let before: Vec<u64> = names.iter().map(|n| c.status("GLOBAL", n)).collect();
    std::thread::scope(|s| {
        for n in 0..4 {
            let mut session = Client::new(&db);
            session.ok("SET innodb_lock_wait_timeout = 100");
            s.spawn(move || (0..8).for_each(|i| statements(&mut session, 20 + 3 * n + i)));
        }
    });
    let counted: Vec<String> = names.iter().zip(before).map(|(n, b)| (c.status("GLOBAL", n) - b).to_string()).collect();
    let sums = "SUM(COUNT_FETCH), SUM(COUNT_INSERT), SUM(COUNT_UPDATE), SUM(COUNT_DELETE)";
    assert_eq!(c.ok(&format!("SELECT {sums} FROM {BY_TABLE}")), [counted.join(",")]);
    assert_eq!(c.ok(&format!("SELECT {sums} FROM {BY_INDEX}")), [counted.join(",")]);
}

#[test]
fn views_of_sys() {
    let (_db, mut c) = filled();
    assert!(c.ok("SELECT object_name FROM sys.schema_tables_with_full_table_scans").is_empty());
    c.ok("SELECT b FROM t FORCE INDEX (a) WHERE a = 7");
    c.ok("UPDATE t SET b = 1 WHERE id = 3");
    c.ok("SELECT SUM(a + b) FROM t");
    assert_eq!(
        c.ok("SELECT index_name, rows_selected, select_latency, rows_updated FROM sys.schema_index_statistics WHERE table_schema = 'd'"),
        ["a,10,0 ps,0", "PRIMARY,1,0 ps,1", "b,0,0 ps,0"]
    );
    assert_eq!(
        c.ok("SELECT table_name, rows_fetched, fetch_latency, rows_updated FROM sys.`x$schema_table_statistics` WHERE table_schema = 'd'"),
        ["t,5011,0,1"]
    );
    assert_eq!(c.ok("SELECT object_name, rows_full_scanned FROM sys.schema_tables_with_full_table_scans"), ["t,5000"]);
    assert_eq!(c.ok("SELECT index_name FROM sys.schema_unused_indexes WHERE object_schema = 'd'"), ["b"]);
}
