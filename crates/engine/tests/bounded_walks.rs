//! Walks through indexes read no more than they must: for the first rows in an order, the first match, the ends of an
//! index, a few rows of many.

mod common;

use common::{Client, database};

fn value(c: &mut Client, name: &str) -> u64 {
    let rows = c.ok(&format!("SHOW SESSION STATUS LIKE '{name}'"));
    let (_, value) = rows[0].split_once(',').expect("two columns");
    value.parse().expect("a number")
}

fn counts<const N: usize>(c: &mut Client, sql: &str, names: [&str; N]) -> [u64; N] {
    let before = names.map(|n| value(c, n));
    c.ok(sql);
    let mut after = names.map(|n| value(c, n));
    after.iter_mut().zip(before).for_each(|(a, b)| *a -= b);
    after
}

/// Columns of EXPLAIN's rows: table, type, key, Extra.
fn plan(c: &mut Client, sql: &str) -> Vec<String> {
    let rows = c.ok(&format!("EXPLAIN {sql}"));
    let shown = |r: &String| {
        let cells: Vec<&str> = r.split(',').collect();
        [cells[2], cells[4], cells[6], cells[11]].join(" ")
    };
    rows.iter().map(shown).collect()
}

const ROWS: usize = 32 << 10;

/// `k` is in another order than `id`. Of v, about 2000 rows each: 1 has the greatest k's, 2 the least, 3 any.
fn filled() -> (std::sync::Arc<engine::Database>, Client) {
    let db = database();
    let mut c = Client::new(&db);
    c.ok("CREATE TABLE o (id INT PRIMARY KEY, k INT, v INT, w INT, KEY k (k))");
    for first in (0..ROWS).step_by(2048) {
        let rows: Vec<String> = (first..first + 2048)
            .map(|id| {
                let k = id * 7919 % ROWS;
                let v = match k {
                    k if k % 16 == 5 => 3,
                    k if k < 2000 => 2,
                    k if k >= ROWS - 2000 => 1,
                    _ => 0,
                };
                format!("({id},{k},{v},0)")
            })
            .collect();
        c.ok(&format!("INSERT INTO o VALUES {}", rows.join(",")));
    }
    c.ok("ANALYZE TABLE o");
    (db, c)
}

const READS: [&str; 3] = ["Handler_read_next", "Handler_read_prev", "Handler_read_rnd_next"];

#[test]
fn a_walk_for_the_first_rows_gives_up_in_time() {
    let (_db, mut c) = filled();
    let scan = |sql: &str| sql.replace("FROM o", "FROM o IGNORE INDEX (k)");
    for (v, order, walked, scanned) in [
        // Under the first entries.
        (2, "k", 0..100, 0),
        (1, "k DESC", 0..100, 0),
        (3, "k", 50..400, 0),
        // At the far end: after some entries all rows are scanned.
        (1, "k", 256..1100, ROWS as u64),
        (2, "k DESC", 256..1100, ROWS as u64),
    ] {
        let sql = format!("SELECT id, k FROM o WHERE v = {v} ORDER BY {order} LIMIT 5");
        assert!(plan(&mut c, &sql)[0].starts_with("o index k Using where"), "{:?}", plan(&mut c, &sql));
        assert!(plan(&mut c, &scan(&sql))[0].starts_with("o ALL"), "{:?}", plan(&mut c, &scan(&sql)));
        assert_eq!(c.ok(&sql), c.ok(&scan(&sql)), "{sql}");
        let n = counts(&mut c, &sql, READS);
        assert!(walked.contains(&(n[0] + n[1])), "{sql}: {n:?}");
        assert_eq!(n[2], scanned, "{sql}: {n:?}");
        // So in subqueries, with an offset, of all columns, prepared.
        let wide = format!("SELECT * FROM o WHERE v = {v} ORDER BY {order} LIMIT 3 OFFSET 2");
        assert_eq!(c.ok(&wide), c.ok(&scan(&wide)), "{wide}");
        let inner = format!("SELECT SUM(k) FROM (SELECT k FROM o WHERE v = {v} ORDER BY {order} LIMIT 5) d");
        assert_eq!(c.ok(&inner), c.ok(&scan(&inner)), "{inner}");
    }
    c.ok("PREPARE p FROM 'SELECT id FROM o WHERE v = ? ORDER BY k LIMIT 5'");
    for v in [2, 1, 3, 7] {
        c.ok(&format!("SET @v = {v}"));
        let sql = scan(&format!("SELECT id FROM o WHERE v = {v} ORDER BY k LIMIT 5"));
        assert_eq!(c.ok("EXECUTE p USING @v"), c.ok(&sql), "{v}");
    }
    // Fewer matches than are wanted.
    let sql = "SELECT id FROM o WHERE v = 1 AND w = 1 ORDER BY k LIMIT 5";
    assert!(c.ok(sql).is_empty());
    // Changes of the first rows.
    let [changed] = counts(&mut c, "UPDATE o SET w = 1 WHERE v = 1 ORDER BY k LIMIT 5", ["Handler_update"]);
    assert_eq!(changed, 5);
    let first = ROWS - 2000;
    let sum: usize = (first..first + 5).sum();
    assert_eq!(c.ok("SELECT COUNT(*), SUM(k) FROM o WHERE w = 1"), [format!("5,{sum}")]);
}

#[test]
fn without_prefer_ordering_index_a_limit_counts_for_nothing() {
    let (_db, mut c) = filled();
    let sql = "SELECT id FROM o WHERE v = 3 ORDER BY k LIMIT 5";
    let rows = c.ok(sql);
    c.ok("SET optimizer_switch = 'prefer_ordering_index=off'");
    assert_eq!(plan(&mut c, sql), ["o ALL ~ Using where; Using filesort"]);
    assert_eq!(c.ok(sql), rows);
    assert_eq!(plan(&mut c, "SELECT id FROM o ORDER BY k LIMIT 5"), ["o ALL ~ Using filesort"]);
    // A range that is read anyway keeps its order.
    let sql = "SELECT id FROM o WHERE k BETWEEN 10 AND 20 ORDER BY k LIMIT 5";
    assert!(plan(&mut c, sql)[0].starts_with("o range k Using where"), "{:?}", plan(&mut c, sql));
    c.ok("SET optimizer_switch = 'default'");
    assert_eq!(plan(&mut c, "SELECT id FROM o ORDER BY k LIMIT 5"), ["o index k ~"]);
}

#[test]
fn a_semijoin_stops_at_the_first_match() {
    let (_db, mut c) = filled();
    c.ok("CREATE TABLE i (x INT, y INT, KEY x (x))");
    c.ok("INSERT INTO i SELECT id % 4, id FROM o WHERE id < 20000");
    c.ok("CREATE TABLE u (a INT, b INT)");
    c.ok("INSERT INTO u VALUES (1, 0), (2, 0), (3, 0), (9, 0), (NULL, 0), (1, 19000), (2, 30000)");
    c.ok("ANALYZE TABLE i, u");
    let read = ["Innodb_rows_read", "Handler_read_next"];
    let sql = "SELECT COUNT(*) FROM u WHERE EXISTS (SELECT 1 FROM i FORCE INDEX (x) WHERE x = a)";
    assert!(plan(&mut c, sql).iter().any(|r| r.contains("i ref x")), "{:?}", plan(&mut c, sql));
    for switch in ["", ",mrr_cost_based=off", ",batched_key_access=off"] {
        c.ok(&format!("SET optimizer_switch = 'default{switch}'"));
        assert_eq!(c.ok(sql), ["5"], "{switch}");
        let n = counts(&mut c, sql, read);
        assert!(n[0] <= 7 + 14 && n[1] <= 14, "{switch}: {n:?}");
        // Matches far behind the first entry, and none at all.
        for (sql, answer) in [
            ("SELECT COUNT(*) FROM u WHERE EXISTS (SELECT 1 FROM i FORCE INDEX (x) WHERE x = a AND y > b)", "4"),
            ("SELECT COUNT(*) FROM u WHERE NOT EXISTS (SELECT 1 FROM i FORCE INDEX (x) WHERE x = a AND y > b)", "3"),
            ("SELECT COUNT(*) FROM u WHERE NOT EXISTS (SELECT 1 FROM i FORCE INDEX (x) WHERE x = a)", "2"),
        ] {
            assert_eq!(c.ok(sql), [answer], "{switch}: {sql}");
        }
    }
}

#[test]
fn a_few_rows_fill_no_buffer() {
    let (_db, mut c) = filled();
    let read = ["Innodb_rows_read", "Handler_read_next"];
    c.ok("SET optimizer_switch = 'mrr=on,mrr_cost_based=off'");
    let sql = "SELECT id FROM o FORCE INDEX (k) WHERE k BETWEEN 100 AND 9000 LIMIT 3";
    assert!(plan(&mut c, sql)[0].ends_with("Using MRR"), "{:?}", plan(&mut c, sql));
    assert_eq!(c.ok(sql).len(), 3);
    let n = counts(&mut c, sql, read);
    assert!(n[0] <= 1024 && n[1] <= 1024, "{n:?}");
    assert_eq!(c.ok(&sql.replace("3", "6000")).len(), 6000);
}

#[test]
fn the_ends_of_indexes_answer_for_tables() {
    let (db, mut c) = filled();
    c.ok("CREATE TABLE e (a INT, b INT, c INT NOT NULL, KEY ab (a, b), KEY c (c))");
    c.ok("INSERT INTO e VALUES (1, 5, 10), (1, 7, 20), (2, NULL, 30), (2, 9, 40), (NULL, 1, 50), (3, NULL, 60)");
    c.ok("INSERT INTO e SELECT 5, k, k + 100 FROM o WHERE id < 5000");
    c.ok("ANALYZE TABLE e");
    let away = ["~ ~ ~ Select tables optimized away"];
    for (sql, answer) in [
        ("SELECT MIN(a) FROM e", "1"),
        ("SELECT MIN(a), MAX(a) FROM e", "1,5"),
        ("SELECT MIN(b), MAX(b) FROM e WHERE a = 1", "5,7"),
        ("SELECT MAX(b) FROM e WHERE a = 2 AND b < 100", "9"),
        ("SELECT MIN(b) FROM e WHERE a = 3", "~"),
        ("SELECT MIN(b) FROM e WHERE a = 4", "~"),
        ("SELECT MIN(b) FROM e WHERE a IS NULL", "1"),
        ("SELECT MAX(a), MIN(c), MAX(c) - MIN(c) FROM e WHERE c < 60", "2,10,40"),
        ("SELECT MIN(a), MIN(c) FROM e", "1,10"),
        ("SELECT MAX(k) FROM o", "32767"),
    ] {
        // Conditions that the index does not answer take a search.
        let is_found = !sql.starts_with("SELECT MAX(a), MIN(c)");
        if is_found {
            assert_eq!(plan(&mut c, sql), away, "{sql}");
        }
        assert_eq!(c.ok(sql), [answer], "{sql}");
        let n = counts(&mut c, sql, ["Innodb_rows_read", "Select_scan"]);
        assert!(!is_found || n[0] <= 4 && n[1] == 0, "{sql}: {n:?}");
    }
    assert_ne!(plan(&mut c, "SELECT MIN(w) FROM o"), away);
    assert_ne!(plan(&mut c, "SELECT MIN(c) FROM e WHERE a = 1"), away);
    // Others' changes, and an old snapshot's rows.
    let mut other = Client::new(&db);
    c.ok("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    other.ok("BEGIN");
    other.ok("INSERT INTO e VALUES (-1, 0, 1)");
    other.ok("DELETE FROM e WHERE a = 5");
    let sql = "SELECT MIN(a), MAX(a), MIN(c) FROM e";
    assert_eq!(other.ok(sql), ["-1,3,1"]);
    assert_eq!(c.ok(sql), ["1,5,10"]);
    other.ok("COMMIT");
    assert_eq!(c.ok(sql), ["1,5,10"]);
    c.ok("COMMIT");
    assert_eq!(c.ok(sql), ["-1,3,1"]);
}

#[test]
fn bounds_of_the_range_optimizer() {
    let (_db, mut c) = filled();
    let sql = "SELECT id FROM o WHERE k IN (1, 2, 3, 4, 5, 6, 7, 8) ORDER BY id";
    let rows = c.ok(sql);
    assert_eq!(plan(&mut c, sql), ["o range k Using where; Using filesort"]);
    c.ok("SET range_optimizer_max_mem_size = 100");
    assert_eq!(c.ok(sql), rows);
    let warning = "Warning,3170,Memory capacity of 100 bytes for 'range_optimizer_max_mem_size' exceeded. \
                   Range optimization was not done for this query.";
    for _ in 0..3 {
        c.ok(sql);
        assert_eq!(c.ok("SHOW WARNINGS"), [warning]);
    }
    assert_eq!(plan(&mut c, sql), ["o ALL ~ Using where; Using filesort"]);
    c.ok("SET range_optimizer_max_mem_size = 0");
    assert_eq!(plan(&mut c, sql), ["o range k Using where; Using filesort"]);
    // A key is taken to have few rows.
    c.ok("ALTER TABLE o ADD KEY v (v)");
    c.ok("ANALYZE TABLE o");
    let sql = "SELECT SUM(k) FROM o WHERE v IN (1, 2)";
    assert_eq!(plan(&mut c, sql), ["o ALL ~ Using where"]);
    let rows = c.ok(sql);
    c.ok("SET max_seeks_for_key = 10");
    assert_eq!(plan(&mut c, sql), ["o range v Using where"]);
    assert_eq!(c.ok(sql), rows);
}

/// 8 rows a group by `a`, one of which is NULL, 64 by `s`, whose strings differ by case.
fn grouped(c: &mut Client) {
    c.ok("CREATE TABLE g (id INT PRIMARY KEY, a INT, s VARCHAR(10), v INT, KEY a (a, s), KEY s (s))");
    c.ok("INSERT INTO g SELECT id, NULLIF(k DIV 8, 3), CONCAT(IF(id % 2, 's', 'S'), k % 512), k FROM o");
    c.ok("ANALYZE TABLE g");
}

#[test]
fn the_first_groups_are_read_from_an_index() {
    let (_db, mut c) = filled();
    grouped(&mut c);
    let by_hash = |sql: &str| sql.replace("FROM g", "FROM g IGNORE INDEX (a, s)");
    let all = [
        ("a", "SELECT a, COUNT(*) FROM g GROUP BY a ORDER BY a LIMIT 10"),
        ("a", "SELECT a, SUM(v), COUNT(*) FROM g GROUP BY a ORDER BY a DESC LIMIT 3 OFFSET 2"),
        ("a", "SELECT COUNT(*), a, MAX(LOWER(s)) FROM g WHERE a > 100 GROUP BY a ORDER BY a LIMIT 4"),
        ("a", "SELECT a, LOWER(s) AS t, COUNT(*) FROM g GROUP BY s, a ORDER BY a, s LIMIT 20"),
        ("s", "SELECT LOWER(MIN(s)), SUM(v), COUNT(a), MIN(v) FROM g GROUP BY s ORDER BY s LIMIT 2"),
    ];
    let check = |c: &mut Client| {
        for (key, sql) in all {
            let shown = plan(c, sql);
            assert!(shown[0].contains(&format!(" {key} ")) && !shown[0].contains("temporary"), "{sql}: {shown:?}");
            assert!(plan(c, &by_hash(sql))[0].contains("temporary"), "{sql}");
            let n: u64 = counts(c, sql, READS).iter().sum();
            assert!(n < 2000, "{sql}: {n} entries");
            assert_eq!(c.ok(sql), c.ok(&by_hash(sql)), "{sql}");
        }
        // Not worth it, or not possible: never other rows.
        for sql in [
            "SELECT a, AVG(v) + 1 FROM g WHERE v % 3 = 0 GROUP BY a ORDER BY a LIMIT 5",
            "SELECT a, COUNT(DISTINCT s) FROM g GROUP BY a ORDER BY a LIMIT 5",
            "SELECT a, COUNT(*) FROM g GROUP BY a WITH ROLLUP ORDER BY a LIMIT 5",
            "SELECT a, COUNT(*) FROM g GROUP BY a HAVING COUNT(*) > 7 ORDER BY a LIMIT 5",
        ] {
            assert_eq!(c.ok(sql), c.ok(&by_hash(sql)), "{sql}");
        }
        let sql = "SELECT a, COUNT(*) AS n FROM g GROUP BY a LIMIT 10";
        assert!(counts(c, sql, READS).iter().sum::<u64>() < 2000);
        let same = format!("SELECT COUNT(*) FROM ({sql}) x JOIN ({}) y ON x.a <=> y.a AND x.n = y.n", {
            by_hash("SELECT a, COUNT(*) AS n FROM g GROUP BY a")
        });
        assert_eq!(c.ok(&same), ["10"]);
    };
    check(&mut c);
    // Entries of rows that have other keys by now.
    c.ok("BEGIN");
    c.ok("UPDATE g SET a = a + 1, s = CONCAT('s', v % 100) WHERE id % 7 = 0");
    c.ok("DELETE FROM g WHERE id % 11 = 0");
    check(&mut c);
    c.ok("ROLLBACK");
    c.ok("SET optimizer_switch = 'prefer_ordering_index=off'");
    assert!(plan(&mut c, all[0].1)[0].contains("temporary"), "{:?}", plan(&mut c, all[0].1));
}
