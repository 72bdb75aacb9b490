//! Conjunctions of very many disjunctions over indexed columns are planned in a bounded time, and answered as without
//! indexes.

mod common;

use common::{Client, database};
use std::time::{Duration, Instant};

/// Generous: a debug build on a busy machine. Each takes some hundredths of a second at most.
const LONGEST: Duration = Duration::from_secs(5);

fn filled() -> Client {
    let db = database();
    let mut c = Client::new(&db);
    c.ok("CREATE TABLE t (a INT, b INT, KEY (a), KEY (b))");
    let rows: Vec<String> = (0..300).map(|i| format!("({},{})", i % 50 * 7, i % 31 * 11)).collect();
    c.ok(&format!("INSERT INTO t VALUES {}", rows.join(",")));
    c.ok("CREATE TABLE u (id INT PRIMARY KEY, a INT, b INT, c INT, d INT, s VARCHAR(10), \
          KEY (a), KEY (b), KEY (c), KEY (a, b, c, d), KEY (s), KEY (d, a))");
    let row = |i: i32| format!("({i},{},{},{},{},'s{}')", i % 90, i % 45, i % 30, i % 10, i % 70);
    c.ok(&format!("INSERT INTO u VALUES {}", (0..300).map(row).collect::<Vec<_>>().join(",")));
    c
}

/// `f` of each number, joined.
fn joined(n: i32, with: &str, f: impl Fn(i32) -> String) -> String {
    (0..n).map(f).collect::<Vec<_>>().join(with)
}

/// Conditions on `table` that have as many disjunctions as they have rows to leave out, or more.
fn conditions() -> Vec<(&'static str, String)> {
    let pairs = |n: i32, by: i32| joined(n, ",", |i| format!("({},{})", i * 7 + by, i * 11 + by));
    vec![
        ("t", format!("(a, b) NOT IN ({})", pairs(99, 0))),
        ("t", joined(99, " AND ", |i| format!("(a <> {} OR b <> {})", i * 7, i * 11))),
        ("t", joined(99, " AND ", |i| format!("(a < {i} OR b > {i})"))),
        ("t", joined(10, " AND ", |i| format!("(a, b) NOT IN ({})", pairs(20, i)))),
        ("t", joined(99, " AND ", |i| format!("(a < {i} OR a > {} OR b = {i})", i + 1))),
        ("t", joined(60, " AND ", |i| format!("(a <> {} OR a <> {})", i * 7, i * 7 + 7))),
        ("t", format!("a > 20 AND {}", joined(99, " AND ", |i| format!("(a <> {} OR b <> {})", i * 7, i * 11)))),
        ("t", format!("a IN (7, 14, 21) AND {}", joined(99, " AND ", |i| format!("(b <> {} OR b IS NULL)", i * 11)))),
        ("t", joined(99, " AND ", |i| format!("(a BETWEEN {i} AND {} OR b BETWEEN {i} AND 300)", i + 200))),
        ("t", joined(99, " AND ", |i| format!("(a IN ({i}, 7, 14, 21) OR b IN ({i}, 11, 22))"))),
        ("t", joined(99, " AND ", |i| format!("(a NOT IN ({i}, 7, 14, 21) OR b NOT BETWEEN {i} AND 22)"))),
        (
            "u",
            format!(
                "(a, b, c, d) NOT IN ({})",
                joined(90, ",", |i| format!("({},{},{},{})", i % 90, i % 45, i % 30, i % 10))
            ),
        ),
        ("u", joined(99, " AND ", |i| format!("(s LIKE 's{}%' OR a > {i} OR d = {})", i % 70, i % 10))),
        ("u", joined(60, " AND ", |i| format!("(a = {i} AND b > 3 OR s NOT LIKE 's{}%' OR c <> {i})", i % 70))),
        (
            "u",
            joined(40, " AND ", |i| {
                format!("(a = {i} AND (b > 3 OR d = 4 OR c < {i}) OR b <> {i} AND (c = 1 OR d = 2))")
            }),
        ),
        ("u", joined(60, " AND ", |i| format!("(a, b, c, d) > ({}, {}, {}, {})", i % 7, i % 5, i % 3, i % 2))),
    ]
}

#[test]
fn very_many_disjunctions_are_planned_soon() {
    let mut c = filled();
    for (table, condition) in conditions() {
        let mut timed = |sql: &str| {
            let begun = Instant::now();
            let rows = c.run_full(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
            let took = begun.elapsed();
            eprintln!("{took:?} {}", &sql[..70.min(sql.len())]);
            assert!(took < LONGEST, "{took:?}: {sql}");
            rows
        };
        let plain = timed(&format!("SELECT COUNT(*), SUM(a), SUM(b) FROM {table} USE INDEX () WHERE {condition}"));
        let count = plain[0].split(',').next().unwrap_or_default().to_string();
        let merged = timed(&format!(
            "SELECT /*+ INDEX_MERGE({table}) */ COUNT(*), SUM(a), SUM(b) FROM {table} WHERE {condition}"
        ));
        assert_eq!(merged, plain, "{condition}");
        let chosen = timed(&format!("SELECT COUNT(*), SUM(a), SUM(b) FROM {table} WHERE {condition}"));
        assert_eq!(chosen, plain, "{condition}");
        timed("BEGIN");
        timed(&format!("UPDATE {table} SET b = b + 1000000 WHERE {condition}"));
        assert_eq!(timed(&format!("SELECT COUNT(*) FROM {table} WHERE b >= 1000000")), [count.as_str()], "{condition}");
        timed("ROLLBACK");
        timed("BEGIN");
        timed(&format!("DELETE FROM {table} WHERE {condition}"));
        assert_eq!(timed(&format!("SELECT 300 - COUNT(*) FROM {table}")), [count.as_str()], "{condition}");
        timed("ROLLBACK");
    }
}

/// An OR of many pairs is a list of rows: neither a scan nor an index compares each row with each pair.
#[test]
fn many_pairs_are_a_list() {
    let mut c = filled();
    let pairs = |columns: (&str, &str)| {
        joined(6000, " OR ", |i| format!("({} = {} AND {} = {})", columns.0, i % 90, columns.1, i / 90))
    };
    for columns in [("a", "b"), ("b", "c")] {
        let since = Instant::now();
        let found = c.ok(&format!("SELECT COUNT(*) FROM u WHERE {}", pairs(columns)));
        assert!(since.elapsed() < LONGEST, "{columns:?}: {:?}", since.elapsed());
        let (a, b) = columns;
        assert_eq!(found, c.ok(&format!("SELECT COUNT(*) FROM u WHERE {a} < 90 AND {b} < 66 + ({a} < 60)")));
        let plan = c.ok(&format!("EXPLAIN FORMAT=TREE SELECT COUNT(*) FROM u WHERE {}", pairs(columns))).join("\n");
        assert!(plan.len() < 5000, "{plan}");
    }
}
