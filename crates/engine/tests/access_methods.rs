//! Access methods of one table: what EXPLAIN says of them, and what they count.

mod common;

use common::{Client, database};

/// The last column of EXPLAIN.
fn extra(c: &mut Client, sql: &str) -> String {
    let rows = c.ok(&format!("EXPLAIN {sql}"));
    rows.iter().map(|r| r.split(',').skip(11).collect::<Vec<_>>().join(",")).collect::<Vec<_>>().join(" | ")
}

fn filled() -> (std::sync::Arc<engine::Database>, Client) {
    let db = database();
    let mut c = Client::new(&db);
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL, b INT, s VARCHAR(20), x INT, KEY abs (a, b, s))");
    let rows: Vec<String> = (0..4000).map(|i| format!("({i},{},{},'w{}',{i})", i % 40, i / 40 % 10, i / 400)).collect();
    c.ok(&format!("INSERT INTO t VALUES {}", rows.join(",")));
    c.ok("ANALYZE TABLE t");
    (db, c)
}

const ICP: [&str; 3] = ["Handler_icp_attempts", "Handler_icp_match", "Innodb_rows_read"];

#[test]
fn conditions_on_later_parts_are_tested_on_entries() {
    let (_db, mut c) = filled();
    // 10 entries for each (a, b); s is a test of its own: w3 is one in ten.
    let sql = "SELECT SUM(x) FROM t FORCE INDEX (abs) WHERE a = 7 AND s = 'W3'";
    assert_eq!(extra(&mut c, sql), "Using index condition");
    let rows = c.ok(sql);
    let n = c.counts(sql, &ICP);
    assert_eq!(n[1..], [10, 10]);
    assert!((10..=100).contains(&n[0]), "{n:?}");
    c.ok("SET optimizer_switch = 'index_condition_pushdown=off'");
    assert_eq!(extra(&mut c, sql), "Using where");
    assert_eq!(c.counts(sql, &ICP), [0, 0, 100]);
    assert_eq!(c.ok(sql), rows);
    c.ok("SET optimizer_switch = 'default'");
    // Entries that failed tell where to go on: of a's 33 values above 6 each has 100.
    let sql = "SELECT SUM(x) FROM t FORCE INDEX (abs) WHERE a > 6 AND b = 3";
    let n = c.counts(sql, &ICP);
    assert_eq!(n[1..], [330, 330]);
    assert!(n[0] < 3300, "{n:?}");
}

#[test]
fn values_of_a_leading_part_are_skipped() {
    let (_db, mut c) = filled();
    let sql = "SELECT SUM(x) FROM t FORCE INDEX (abs) WHERE b = 3";
    assert_eq!(extra(&mut c, sql), "Using where; Using index for skip scan");
    let rows = c.ok(sql);
    let n = c.counts(sql, &ICP);
    assert_eq!(n[1..], [400, 400]);
    // For each of 40 values of a: 16 entries that say where b = 3 begins, 16 of which 10 have it, and 16 that say that
    // no more do; the first 64 and the last are read in one go.
    assert!((400..2000).contains(&n[0]), "{n:?}");
    c.ok("SET optimizer_switch = 'skip_scan=off'");
    assert_eq!(extra(&mut c, sql), "Using where");
    assert_eq!(c.ok(sql), rows);
}

#[test]
fn row_ids_are_sorted() {
    let (_db, mut c) = filled();
    let sql = "SELECT SUM(x) FROM t FORCE INDEX (abs) WHERE a BETWEEN 5 AND 30";
    let names = ["Handler_mrr_init", "Handler_mrr_rowid_refills", "Innodb_rows_read"];
    let rows = c.ok(sql);
    c.ok("SET optimizer_switch = 'mrr=on,mrr_cost_based=off'");
    assert_eq!(extra(&mut c, sql), "Using where; Using MRR");
    assert_eq!(c.counts(sql, &names), [1, 0, 2600]);
    assert_eq!(c.ok(sql), rows);
    c.ok("SET read_rnd_buffer_size = 8192");
    assert_eq!(c.counts(sql, &names), [1, 2, 2600]);
    c.ok("SET optimizer_switch = 'mrr=off'");
    assert_eq!(extra(&mut c, sql), "Using where");
    assert_eq!(c.counts(sql, &names)[..2], [0, 0]);
    assert_eq!(c.ok(sql), rows);
}

/// Groups from the ends of an index, in agreement with a scan.
#[test]
fn groups_are_jumped_over() {
    let (_db, mut c) = filled();
    let read = ["Innodb_rows_read"];
    for (sql, most) in [
        ("SELECT DISTINCT a FROM t", 1500),
        ("SELECT a, MAX(b) FROM t GROUP BY a", 1500),
        ("SELECT a, MIN(b), MAX(b) FROM t WHERE a > 3 GROUP BY a", 3000),
        ("SELECT COUNT(DISTINCT a) FROM t", 1500),
    ] {
        let plain = c.ok(&format!("{} ORDER BY 1", sql.replace("FROM t", "FROM t IGNORE INDEX (abs)")));
        let loose = sql.replace("FROM t", "FROM t FORCE INDEX (abs)");
        assert!(extra(&mut c, &loose).contains("Using index for group-by"), "{sql}: {}", extra(&mut c, &loose));
        assert_eq!(c.ok(&format!("{loose} ORDER BY 1")), plain, "{sql}");
        let n = c.counts(&loose, &read)[0];
        assert!(n <= most, "{sql}: {n}");
    }
}

#[test]
fn indexes_are_merged() {
    let (_db, mut c) = filled();
    c.ok("ALTER TABLE t ADD KEY x (x), ADD KEY s (s, a), ADD KEY b (b)");
    c.ok("ANALYZE TABLE t");
    let names = ["Handler_read_key", "Handler_read_next", "Handler_read_rnd", "Innodb_rows_read"];
    for (sql, words, moved) in [
        ("SELECT SUM(id) FROM t WHERE x = 77 OR s = 'w3' AND a = 7", "Using union(x,s); Using where", [2, 11, 11, 11]),
        (
            "SELECT SUM(id) FROM t WHERE x < 20 OR s = 'w3' AND a = 7",
            "Using sort_union(x,s); Using where",
            [2, 30, 30, 30],
        ),
        (
            "SELECT SUM(id) FROM t WHERE x = 77 OR x = 78 AND id > 3 OR s = 'W9' AND a = 7",
            "Using sort_union(x,s); Using where",
            [3, 12, 12, 12],
        ),
        (
            "SELECT /*+ INDEX_MERGE(t b, s) */ SUM(id) FROM t WHERE b = 3 AND s = 'w3' AND a = 7",
            "Using intersect(s,b); Using where",
            [2, 410, 1, 1],
        ),
    ] {
        assert!(extra(&mut c, sql).ends_with(words), "{sql}: {}", extra(&mut c, sql));
        let rows = c.ok(sql);
        assert_eq!(c.counts(sql, &names), moved, "{sql}");
        let off = sql.replace("/*+ INDEX_MERGE(t b, s) */", "");
        c.ok("SET optimizer_switch = 'index_merge=off'");
        assert!(!extra(&mut c, &off).contains("Using union"), "{sql}");
        assert_eq!(c.ok(&off), rows, "{sql}");
        c.ok("SET optimizer_switch = 'default'");
    }
    // Rows that others change are seen as the snapshot has them, through either index.
    let sql = "SELECT COUNT(*), SUM(id) FROM t WHERE x = 77 OR s = 'w3' AND a = 7";
    let rows = c.ok(sql);
    c.ok("BEGIN");
    c.ok(sql);
    let mut other = Client::new(&_db);
    other.ok("UPDATE t SET x = 78, a = 8 WHERE x = 77 OR s = 'w3' AND a = 7");
    other.ok("UPDATE t SET x = 77 WHERE x BETWEEN 100 AND 109");
    other.ok("DELETE FROM t WHERE x = 78");
    assert_eq!(c.ok(sql), rows);
    assert_ne!(other.ok(sql), rows);
    c.ok("COMMIT");
    assert_eq!(c.ok(sql), ["10,1045"]);
    // UPDATE and DELETE find their rows so, too.
    let sql = "DELETE FROM t WHERE x = 77 OR s = 'w4' AND a = 7";
    assert!(extra(&mut c, sql).ends_with("Using union(x,s); Using where"), "{}", extra(&mut c, sql));
    assert_eq!(c.counts(sql, &["Innodb_rows_read", "Handler_delete"]), [20, 20]);
}

#[test]
fn an_index_covers_what_its_keys_say() {
    let (_db, mut c) = filled();
    let sql = "SELECT SUM(b), COUNT(*) FROM t WHERE a BETWEEN 5 AND 6";
    assert_eq!(extra(&mut c, sql), "Using where; Using index");
    assert_eq!(c.ok(sql), ["900,200"]);
    // Rows with versions are looked at.
    let mut other = Client::new(&_db);
    other.ok("BEGIN");
    other.ok("UPDATE t SET b = 1000 WHERE a = 5 AND id < 1000");
    other.ok("DELETE FROM t WHERE a = 6 AND id > 3000");
    assert_eq!(c.ok(sql), ["900,200"]);
    assert_ne!(other.ok(sql), ["900,200"]);
    other.ok("ROLLBACK");
    assert_eq!(c.ok(sql), ["900,200"]);
    // Strings are not read back from keys.
    assert_eq!(extra(&mut c, "SELECT MAX(s) FROM t WHERE a BETWEEN 5 AND 6"), "Using where");
}
