//! Random tables with many indexes, changed all the time, and queries with ranges: through any index the rows are those
//! of a scan, and those of MariaDB.
//!
//! NEXTLEAF_DIFF_QUERIES sets how many queries, NEXTLEAF_DIFF_SEED where to start.

use fastrand::Rng;
use tests::golden::render;
use tests::oracle::MariaDb;
use tests::ours::{Ours, configs};

const QUERIES_A_TABLE: u64 = 60;

/// Columns: name, type, and what values look like.
const COLUMNS: &[(&str, &str)] = &[
    ("a", "INT"),
    ("b", "SMALLINT NOT NULL"),
    ("c", "BIGINT UNSIGNED"),
    ("d", "DECIMAL(6,2)"),
    ("e", "VARCHAR(12)"),
    ("f", "CHAR(4) NOT NULL"),
    ("g", "DATE"),
    ("h", "DATETIME(3)"),
    ("v", "VARBINARY(8)"),
    ("r", "DOUBLE"),
];

const WORDS: &[&str] =
    &["", "a", "A", "ab", "Ab", "abc", "abd", "b", "ba", "é", "E", "z", "zz", "a b", "ab c", "ab ", "ab\t", "ß", "ss"];

fn value(rng: &mut Rng, column: &str, stored: bool) -> String {
    let nullable = !matches!(column, "b" | "f");
    if rng.u8(0..7) == 0 && (nullable || !stored) {
        return "NULL".into();
    }
    let odd = !stored && rng.u8(0..6) == 0;
    match column {
        "a" | "id" if odd => ["2.5", "-1.25", "99999999999", "-99999999999", "'7'", "3e0"][rng.usize(0..6)].into(),
        "a" => rng.i32(-4..9).to_string(),
        "id" => rng.i32(0..200).to_string(),
        "b" if odd => ["40000", "-40000", "0.5", "4.0"][rng.usize(0..4)].into(),
        "b" => rng.i32(0..6).to_string(),
        "c" if odd => ["-1", "18446744073709551616", "2.75"][rng.usize(0..3)].into(),
        "c" => ["0", "1", "2", "5", "9223372036854775808", "18446744073709551615"][rng.usize(0..6)].into(),
        "d" if odd => ["1.255", "-0.001", "100000", "-100000", "2"][rng.usize(0..5)].into(),
        "d" => format!("{}.{:02}", rng.i32(-2..4), [0, 25, 50, 75][rng.usize(0..4)]),
        "e" | "f" => {
            let w = WORDS[rng.usize(0..WORDS.len())];
            format!("'{}'", w.chars().take(if column == "f" { 4 } else { 12 }).collect::<String>())
        }
        "v" => format!("'{}'", ["", "a", "A", "ab", "abc", "b", "B"][rng.usize(0..7)]),
        "g" if odd => format!("'2024-01-{:02} 13:00:00'", rng.u8(1..9)),
        "g" => format!("'2024-01-{:02}'", rng.u8(1..9)),
        "h" if odd => format!("'2024-01-{:02}'", rng.u8(1..4)),
        "h" => format!("'2024-01-{:02} 0{}:00:00.{}'", rng.u8(1..4), rng.u8(0..3), ["0", "5", "125"][rng.usize(0..3)]),
        _ => ["-1.5", "0", "0.25", "1", "2.5", "1e10"][rng.usize(0..6)].into(),
    }
}

/// The first is also MariaDB's.
const COLLATIONS: &[&str] = &["utf8mb4_general_ci", "utf8mb4_0900_ai_ci", "utf8mb4_general_ci", "utf8mb4_bin"];

struct Index {
    name: String,
    columns: Vec<String>,
}

/// The table and its indexes, as statements.
fn table(rng: &mut Rng, collation: &str) -> (String, Vec<Index>) {
    let mut indexes = vec![];
    let mut text = String::new();
    for i in 0..rng.usize(2..6) {
        let mut columns: Vec<String> = vec![];
        let mut parts = vec![];
        for _ in 0..rng.usize(1..4) {
            let c = COLUMNS[rng.usize(0..COLUMNS.len())].0;
            if columns.iter().any(|x| x == c) {
                continue;
            }
            let prefix = if matches!(c, "e" | "v") && rng.bool() { "(2)" } else { "" };
            let desc = if rng.u8(0..3) == 0 { " DESC" } else { "" };
            parts.push(format!("{c}{prefix}{desc}"));
            columns.push(c.to_string());
        }
        text += &format!(", KEY k{i} ({})", parts.join(", "));
        indexes.push(Index { name: format!("k{i}"), columns });
    }
    let unique = COLUMNS[rng.usize(0..COLUMNS.len())].0;
    text += &format!(", UNIQUE KEY u ({unique}, id)");
    indexes.push(Index { name: "u".into(), columns: vec![unique.into(), "id".into()] });
    indexes.push(Index { name: "PRIMARY".into(), columns: vec!["id".into()] });
    let columns: Vec<String> = COLUMNS.iter().map(|(n, t)| format!("{n} {t}")).collect();
    let create =
        format!("CREATE TABLE t (id INT NOT NULL PRIMARY KEY, {}{text}) COLLATE {collation}", columns.join(", "));
    (create, indexes)
}

fn insert(rng: &mut Rng, id: i32) -> String {
    let values: Vec<String> = COLUMNS.iter().map(|(c, _)| value(rng, c, true)).collect();
    format!("INSERT INTO t VALUES ({id}, {})", values.join(", "))
}

fn term(rng: &mut Rng, c: &str) -> String {
    match rng.u8(0..9) {
        0 => format!("{c} IS {}NULL", if rng.bool() { "" } else { "NOT " }),
        1 => {
            let list: Vec<String> = (0..rng.usize(1..5)).map(|_| value(rng, c, false)).collect();
            format!("{c} IN ({})", list.join(", "))
        }
        2 => format!("{c} BETWEEN {} AND {}", value(rng, c, false), value(rng, c, false)),
        3 if matches!(c, "e" | "f" | "v") => {
            format!("{c} LIKE '{}'", ["a%", "ab%", "A_", "%b", "z%", "ab", "a\\\\%", "é%"][rng.usize(0..8)])
        }
        4 => format!("{c} <=> {}", value(rng, c, false)),
        5 => format!("{c} <> {}", value(rng, c, false)),
        n => format!("{c} {} {}", ["=", "<", "<=", ">", ">=", "="][n as usize % 6], value(rng, c, false)),
    }
}

/// A condition that often bounds the columns of `index`.
fn condition(rng: &mut Rng, index: &Index, depth: u32) -> String {
    let column = |rng: &mut Rng| match rng.u8(0..4) {
        0 => COLUMNS[rng.usize(0..COLUMNS.len())].0.to_string(),
        _ => index.columns[rng.usize(0..index.columns.len())].clone(),
    };
    match rng.u8(0..10) {
        0..4 if depth > 0 => {
            format!("{} AND {}", condition(rng, index, depth - 1), condition(rng, index, depth - 1))
        }
        4..6 if depth > 0 => {
            format!("({} OR {})", condition(rng, index, depth - 1), condition(rng, index, depth - 1))
        }
        6 if index.columns.len() > 1 => {
            let (x, y) = (&index.columns[0], &index.columns[1]);
            let row = |rng: &mut Rng| format!("({}, {})", value(rng, x, true), value(rng, y, true));
            if rng.bool() {
                format!("({x}, {y}) {} {}", ["<", "<=", ">", ">="][rng.usize(0..4)], row(rng))
            } else {
                format!("({x}, {y}) IN ({}, {}, {})", row(rng), row(rng), row(rng))
            }
        }
        7 => index.columns.iter().map(|c| format!("{c} = {}", value(rng, c, true))).collect::<Vec<_>>().join(" AND "),
        _ => {
            let c = column(rng);
            term(rng, &c)
        }
    }
}

/// (the query with `{}` for index hints, whether its order is total, whether MariaDB is to be asked)
fn query(rng: &mut Rng, index: &Index) -> (String, bool) {
    let filter = condition(rng, index, 3);
    match rng.u8(0..12) {
        9 => {
            // Groups of a prefix, and the ends of the part behind it.
            let n = rng.usize(1..=index.columns.len());
            let textual = |c: &String| matches!(c.as_str(), "e" | "f");
            let group = index.columns[..n].join(", ");
            let mut shown: Vec<String> = index.columns[..n].iter().filter(|c| !textual(c)).cloned().collect();
            shown.push("1".into());
            match index.columns.get(n).filter(|c| !textual(c)) {
                Some(c) if rng.bool() => shown.push(format!("MIN({c})")),
                Some(c) if rng.bool() => shown.push(format!("MAX({c})")),
                Some(c) => shown.push(format!("MIN({c}), MAX({c})")),
                None => {}
            }
            let limit = if rng.u8(0..3) == 0 { " HAVING MIN(id) > 20" } else { "" };
            (format!("SELECT {} FROM t {{}} WHERE {filter} GROUP BY {group}{limit}", shown.join(", ")), false)
        }
        10 => {
            let n = rng.usize(1..=index.columns.len());
            let shown = |c: &String| match c.as_str() {
                "e" | "f" => format!("LENGTH({c}) > 99"),
                _ => c.clone(),
            };
            let list: Vec<String> = index.columns[..n].iter().map(shown).collect();
            (format!("SELECT DISTINCT {} FROM t {{}} WHERE {filter}", list.join(", ")), false)
        }
        0 => {
            let c = &index.columns[0];
            // Of equal texts any may be shown.
            let shown = if matches!(c.as_str(), "e" | "f") {
                format!("LENGTH(MIN({c})) > 99")
            } else {
                format!("MIN({c}), MAX({c})")
            };
            (format!("SELECT {shown} FROM t {{}} WHERE {filter}"), true)
        }
        1 => (format!("SELECT COUNT(*), SUM(id) FROM t {{}} WHERE {filter}"), true),
        2 | 3 => {
            let desc = if rng.bool() { " DESC" } else { "" };
            let keys: Vec<String> = index.columns.iter().map(|c| format!("{c}{desc}")).collect();
            let limit = if rng.bool() { format!(" LIMIT {}", rng.u8(1..9)) } else { String::new() };
            (format!("SELECT id FROM t {{}} WHERE {filter} ORDER BY {}, id{desc}{limit}", keys.join(", ")), true)
        }
        4 => {
            // The order of the index itself; rows of one key in any order.
            let desc = if rng.bool() { " DESC" } else { "" };
            let keys: Vec<String> = index.columns.iter().map(|c| format!("{c}{desc}")).collect();
            let shown: Vec<String> =
                index
                    .columns
                    .iter()
                    .map(|c| {
                        if matches!(c.as_str(), "e" | "f") {
                            format!("LOWER({c}) = 'a', {c} IS NULL")
                        } else {
                            c.clone()
                        }
                    })
                    .collect();
            let limit = if rng.bool() { format!(" LIMIT {}", rng.u8(1..9)) } else { String::new() };
            (
                format!("SELECT {} FROM t {{}} WHERE {filter} ORDER BY {}{limit}", shown.join(", "), keys.join(", ")),
                true,
            )
        }
        5 => (
            format!(
                "SELECT o.id, t.id FROM t o STRAIGHT_JOIN t {{}} ON t.{0} = o.{0} WHERE o.id < 20",
                index.columns[0]
            ),
            false,
        ),
        6 => (
            format!(
                "SELECT o.id FROM t o WHERE o.id < 40 AND {}EXISTS (SELECT 1 FROM t {{}} WHERE t.{1} = o.{1} AND t.id > o.id)",
                if rng.bool() { "NOT " } else { "" },
                index.columns[0]
            ),
            false,
        ),
        7 => {
            let (c, desc) = (&index.columns[0], if rng.bool() { " DESC" } else { "" });
            let limit = rng.u8(1..12);
            (format!("SELECT o.id FROM t o JOIN t {{}} ON t.{c} = o.{c} ORDER BY o.id{desc} LIMIT {limit}"), true)
        }
        _ => (format!("SELECT id FROM t {{}} WHERE {filter}"), false),
    }
}

/// Ways to read a table by an index, forced and forbidden: the rows must not depend on them.
const SWITCHES: &[&str] = &[
    "default",
    "mrr_cost_based=off",
    "mrr=off,index_condition_pushdown=off",
    "index_condition_pushdown=off,skip_scan=off,mrr_cost_based=off",
    "skip_scan=off",
    "index_merge=off",
];

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

fn rows(answer: tests::Answer, ordered: bool) -> Result<Vec<String>, u16> {
    match answer {
        Ok(r) => {
            let mut r = render(&r);
            if !ordered {
                r.sort();
            }
            Ok(r)
        }
        Err((code, _)) => Err(code),
    }
}

#[test]
fn any_index_finds_what_a_scan_finds() {
    let mut mariadb = MariaDb::start("indexes");
    if let Some(t) = &mut mariadb {
        t.run("SET NAMES utf8mb4 COLLATE utf8mb4_general_ci").expect("a collation");
        t.run("SET SESSION sql_mode = 'STRICT_TRANS_TABLES'").expect("a mode");
    }
    let queries = number("NEXTLEAF_DIFF_QUERIES", 1200);
    let first = number("NEXTLEAF_DIFF_SEED", 1);
    let (mut faults, mut found, mut merged, mut disputed) = (Vec::new(), 0, 0, 0);
    for seed in first..first + queries.div_ceil(QUERIES_A_TABLE) {
        let mut rng = Rng::with_seed(seed);
        let config = &configs()[(seed % 3) as usize];
        let mut ours = Ours::open(config);
        for s in ["CREATE DATABASE d", "USE d", "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci"] {
            ours.run(s).expect("it starts");
        }
        let collation = COLLATIONS[(seed / 3) as usize % COLLATIONS.len()];
        // The others are not MariaDB's.
        let mut theirs = if collation == COLLATIONS[0] { mariadb.as_mut() } else { None };
        if let Some(t) = &mut theirs {
            t.run("CREATE OR REPLACE DATABASE d").expect("a database");
            t.run("USE d").expect("the database");
        }
        let (create, indexes) = table(&mut rng, collation);
        let mut both = |sql: &str, ours: &mut Ours| {
            ours.run(sql).unwrap_or_else(|e| panic!("seed {seed}: {sql}: {e:?}"));
            if let Some(t) = &mut theirs {
                t.run(sql).unwrap_or_else(|e| panic!("seed {seed}: {sql}: {e:?}"));
            }
        };
        both(&create, &mut ours);
        let mut next = 0;
        for _ in 0..rng.i32(0..120) {
            both(&insert(&mut rng, next), &mut ours);
            next += 1 + (rng.u8(0..5) == 0) as i32;
        }
        let mut sent = vec![];
        for n in 0..QUERIES_A_TABLE {
            if n % 10 == 9 {
                // Changes of keys, and rows out of order.
                let c = COLUMNS[rng.usize(0..COLUMNS.len())].0;
                let v = value(&mut rng, c, true);
                let by = rng.i32(0..200);
                both(&format!("UPDATE t SET {c} = {v} WHERE id BETWEEN {by} AND {}", by + 15), &mut ours);
                both(&format!("DELETE FROM t WHERE id BETWEEN {by} AND {}", by + 3), &mut ours);
                both(&insert(&mut rng, -(n as i32) - 1), &mut ours);
            }
            let index = &indexes[rng.usize(0..indexes.len())];
            let (sql, ordered) = query(&mut rng, index);
            let all: Vec<&str> = indexes.iter().map(|i| i.name.as_str()).collect();
            let plain = sql.replace("{}", "");
            let switch = SWITCHES[rng.usize(0..SWITCHES.len())];
            ours.run(&format!("SET optimizer_switch = '{switch}'")).expect("flags that there are");
            let by_index = rows(ours.run(&sql.replace("{}", &format!("FORCE INDEX ({})", index.name))), ordered);
            let by_scan = rows(ours.run(&sql.replace("{}", &format!("IGNORE INDEX ({})", all.join(", ")))), ordered);
            let chosen = rows(ours.run(&plain), ordered);
            let hinted = plain.replacen("SELECT", "SELECT /*+ INDEX_MERGE(t) */", 1);
            let by_merge = rows(ours.run(&hinted), ordered);
            let plan = ours.run(&format!("EXPLAIN {hinted}")).unwrap_or_default();
            merged += plan.iter().flatten().any(|c| c.as_deref() == Some("index_merge")) as u64;
            found += by_scan.as_ref().is_ok_and(|r| !r.is_empty()) as u64;
            let fault = if by_merge != by_scan {
                Some(format!("by a merge {by_merge:?}\n  by scan {by_scan:?}"))
            } else if by_index != by_scan {
                Some(format!("by {} {by_index:?}\n  by scan {by_scan:?}", index.name))
            } else if chosen != by_scan {
                Some(format!("as chosen {chosen:?}\n  by scan {by_scan:?}"))
            } else {
                None
            };
            if let Some(f) = fault {
                faults.push(format!("seed {seed} ({}, {switch}): {plain}\n  {f}\n  {create}", config.name));
            }
            sent.push((plain, ordered, by_scan));
        }
        let Some(t) = theirs else { continue };
        // Theirs sees the table's last state only: ask for that.
        for (sql, ordered, _) in sent.into_iter().rev().take(10) {
            let (a, b) = (rows(ours.run(&sql), ordered), rows(t.run(&sql), ordered));
            if a != b && a.is_ok() && b.is_ok() {
                disputed += 1;
                faults.push(format!("seed {seed}: {sql}\n  ours {a:?}\n  theirs {b:?}\n  {create}"));
            }
        }
    }
    eprintln!("{found} of {queries} queries found rows, {merged} could merge indexes; {disputed} disputed");
    assert!(found * 3 > queries, "only {found} of {queries} queries found rows");
    assert!(merged * 20 > queries, "only {merged} of {queries} queries could merge indexes");
    for f in faults.iter().take(12) {
        eprintln!("{f}\n");
    }
    assert!(faults.is_empty(), "{} faults in {queries} queries", faults.len());
}

/// Readers with snapshots of different ages beside a writer in the middle of its transaction: each sees through any
/// index what it sees by a scan.
#[test]
fn snapshots_see_the_same_through_indexes() {
    let (mut compared, mut found) = (0, 0);
    for seed in 1..=12u64 {
        let mut rng = Rng::with_seed(seed);
        let config = &configs()[(seed % 3) as usize];
        let mut writer = Ours::open(config);
        for s in ["CREATE DATABASE d", "USE d", "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci"] {
            writer.run(s).expect("it starts");
        }
        let (create, indexes) = table(&mut rng, COLLATIONS[seed as usize % COLLATIONS.len()]);
        writer.run(&create).expect("a table");
        let all: Vec<&str> = indexes.iter().map(|i| i.name.as_str()).collect();
        let mut next = 0;
        for _ in 0..rng.i32(10..80) {
            writer.run(&insert(&mut rng, next)).expect("a row");
            next += 1;
        }
        let mut readers: Vec<Ours> = vec![];
        for round in 0..40 {
            if round % 8 == 0 {
                let mut r = writer.beside();
                for s in [
                    "USE d",
                    "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci",
                    "START TRANSACTION WITH CONSISTENT SNAPSHOT",
                ] {
                    r.run(s).expect("a snapshot");
                }
                readers.push(r);
                if readers.len() > 3 {
                    let mut old = readers.remove(0);
                    old.run("COMMIT").expect("an end");
                }
            }
            if round % 6 == 0 {
                writer.run(["COMMIT", "ROLLBACK"][rng.usize(0..2)]).expect("an end");
                writer.run("BEGIN").expect("a beginning");
            }
            for _ in 0..rng.usize(1..4) {
                let c = COLUMNS[rng.usize(0..COLUMNS.len())].0;
                let by = rng.i32(0..80);
                let change = match rng.u8(0..5) {
                    0 => format!("DELETE FROM t WHERE id BETWEEN {by} AND {}", by + 2),
                    1 => {
                        next += 1;
                        insert(&mut rng, next + 1000)
                    }
                    // A primary key that moves, and one that comes back.
                    2 => format!("UPDATE IGNORE t SET id = id + 500 WHERE id = {by}"),
                    3 => format!("UPDATE IGNORE t SET id = id - 500 WHERE id BETWEEN 500 AND {}", 500 + by),
                    _ => {
                        format!("UPDATE t SET {c} = {} WHERE id BETWEEN {by} AND {}", value(&mut rng, c, true), by + 8)
                    }
                };
                writer.run(&change).unwrap_or_else(|e| panic!("seed {seed}: {change}: {e:?}"));
            }
            let index = &indexes[rng.usize(0..indexes.len())];
            let (sql, ordered) = query(&mut rng, index);
            let readers_and_writer = readers.iter_mut().chain(std::iter::once(&mut writer));
            for (i, reader) in readers_and_writer.enumerate() {
                let by_index = rows(reader.run(&sql.replace("{}", &format!("FORCE INDEX ({})", index.name))), ordered);
                let by_scan =
                    rows(reader.run(&sql.replace("{}", &format!("IGNORE INDEX ({})", all.join(", ")))), ordered);
                compared += 1;
                found += by_scan.as_ref().is_ok_and(|r| !r.is_empty()) as u64;
                assert_eq!(
                    by_index, by_scan,
                    "seed {seed} ({}), round {round}, reader {i}, index {}: {sql}\n{create}",
                    config.name, index.name
                );
            }
        }
    }
    assert!(found * 3 > compared, "only {found} of {compared} queries found rows");
}

/// What Handler_read_first, _key, _last, _next, _prev and _rnd_next went up by.
fn handler_reads(ours: &mut Ours, sql: &str) -> Vec<u64> {
    let read = |ours: &mut Ours| -> Vec<u64> {
        let rows = ours.run("SHOW GLOBAL STATUS LIKE 'Handler\\_read\\_%'").expect("counters");
        let names: Vec<String> = rows.iter().map(|r| r[0].clone().unwrap_or_default()).collect();
        let wanted = ["first", "key", "last", "next", "prev", "rnd", "rnd_next"].map(|n| format!("Handler_read_{n}"));
        assert_eq!(names, wanted);
        rows.iter().map(|r| r[1].as_deref().unwrap_or_default().parse().expect("a number")).collect()
    };
    let before = read(ours);
    ours.run(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    let after = read(ours);
    before.iter().zip(&after).map(|(b, a)| a - b).collect()
}

#[test]
fn handler_counters_tell_how_rows_were_read() {
    let mut ours = Ours::open(&configs()[0]);
    ours.run("CREATE DATABASE d; USE d; SET cte_max_recursion_depth = 10000").expect("a database");
    ours.run("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, KEY (a))").expect("a table");
    let fill = "INSERT INTO t WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 2000)
        SELECT n * 7919 % 2003, n, n FROM s";
    ours.run(fill).expect("rows");
    // What the status statements themselves read are rows of the server's own.
    let mut check = |sql: &str, wanted: [u64; 7]| assert_eq!(handler_reads(&mut ours, sql), wanted, "{sql}");
    check("SELECT b FROM t FORCE INDEX (a) WHERE a BETWEEN 11 AND 20", [0, 1, 0, 10, 0, 0, 0]);
    check("SELECT b FROM t FORCE INDEX (a) WHERE a BETWEEN 11 AND 20 ORDER BY a DESC", [0, 1, 0, 0, 10, 0, 0]);
    check("SELECT b FROM t FORCE INDEX (a) WHERE a < 6 ORDER BY a DESC", [0, 1, 0, 0, 5, 0, 0]);
    check("SELECT b FROM t FORCE INDEX (a) WHERE a IN (3, 4, 9)", [0, 3, 0, 3, 0, 0, 0]);
    check("SELECT a FROM t FORCE INDEX (a) ORDER BY a LIMIT 3", [1, 0, 0, 3, 0, 0, 0]);
    check("SELECT a FROM t FORCE INDEX (a) ORDER BY a DESC LIMIT 3", [0, 0, 1, 0, 3, 0, 0]);
    check("SELECT b FROM t WHERE id = 5", [0, 1, 0, 0, 0, 0, 0]);
    check("SELECT SUM(b + 1) FROM t", [0, 0, 0, 0, 0, 0, 2000]);
}

/// Rows move between keys, go and come back, and are loaded; the number of rows between two commits is always the same.
#[test]
fn rows_are_counted_right_while_they_move() {
    use std::sync::atomic::{AtomicBool, Ordering};
    const ROWS: u64 = 600;
    struct Stop<'a>(&'a AtomicBool);
    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Release);
        }
    }
    for config in configs().iter().take(2) {
        let mut ours = Ours::open(config);
        ours.run("CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, KEY (a))")
            .expect("a table");
        for id in 0..ROWS {
            ours.run(&format!("INSERT INTO t VALUES ({id}, {}, 0)", id % 50)).expect("a row");
        }
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for w in 0..2u64 {
                let (mut ours, stop) = (ours.another(), &stop);
                scope.spawn(move || {
                    let _stop = Stop(stop);
                    let mut rng = Rng::new();
                    ours.run("USE d").expect("the database");
                    while !stop.load(Ordering::Acquire) {
                        let (id, key) = (rng.u64(0..ROWS / 2) * 2 + w, rng.u64(0..50));
                        let end = if rng.u8(0..4) == 0 { "ROLLBACK" } else { "COMMIT" };
                        let change = match rng.u8(0..3) {
                            0 => format!("DELETE FROM t WHERE id = {id}; INSERT INTO t VALUES ({id}, {key}, 1)"),
                            1 => format!(
                                "UPDATE t SET a = {key} WHERE id = {id}; UPDATE t SET a = a + 1 WHERE id = {id}"
                            ),
                            _ => format!("UPDATE t SET a = {key} WHERE id = {id}"),
                        };
                        for sql in format!("BEGIN; {change}; {end}").split("; ") {
                            ours.run(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
                        }
                        // Pauses, in which versions are collected.
                        if rng.u8(0..30) == 0 {
                            std::thread::sleep(std::time::Duration::from_millis(5));
                        }
                    }
                });
            }
            for _ in 0..2 {
                let (mut ours, stop) = (ours.another(), &stop);
                scope.spawn(move || {
                    let _stop = Stop(stop);
                    ours.run("USE d").expect("the database");
                    for _ in 0..number("NEXTLEAF_COUNTS", 400) {
                        let rows = ours.run("SELECT COUNT(*) FROM t FORCE INDEX (a) WHERE a >= 0").expect("a number");
                        assert_eq!(rows[0][0], Some(ROWS.to_string()));
                    }
                });
            }
        });
    }
}
