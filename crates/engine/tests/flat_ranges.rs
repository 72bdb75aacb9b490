//! Flat plans of short ranges and of rows by key answer as the executor does, whatever versions there are and wherever
//! the rows lie.

mod common;

use common::{Texts, run};
use engine::{Database, Options, Session};
use std::sync::Arc;

/// Random numbers that come again with their seed.
struct Seed(u64);

impl Seed {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
}

fn session(db: &Arc<Database>) -> Session {
    let mut s = db.session("root", "localhost");
    must(&mut s, "CREATE DATABASE IF NOT EXISTS d");
    s.use_database("d").expect("it is there");
    s
}

fn must(s: &mut Session, sql: &str) -> Texts {
    run(s, sql).unwrap_or_else(|e| panic!("{sql}: {e}"))
}

fn hits(s: &mut Session) -> u64 {
    let row = must(s, "SHOW STATUS LIKE 'Nextleaf_plan_cache_hits'").rows;
    row[0].split(',').nth(1).and_then(|n| n.parse().ok()).expect("a counter")
}

/// With which rows may come in any order.
const UNORDERED: &[&str] = &[
    "SELECT id, v, ts, k FROM r WHERE id BETWEEN {} AND {}",
    "SELECT v FROM r WHERE id > {} AND id <= {}",
    "SELECT ts, id FROM r WHERE {} < id AND {} > id",
    "SELECT o, x FROM q WHERE w = {} AND d = {} AND o BETWEEN {} AND {}",
    "SELECT x, ts, o FROM q WHERE w = 1 AND o >= {} AND d = 2 AND o < {}",
    "SELECT ts FROM r WHERE id = {}",
    "SELECT ts, x FROM q WHERE w = {} AND d = {} AND o = {}",
    "SELECT ts, id FROM r WHERE id IN ({}, {}, {})",
];

const ORDERED: &[&str] = &[
    "SELECT SUM(k) FROM r WHERE id BETWEEN {} AND {}",
    "SELECT COUNT(*), SUM(u), SUM(k) FROM r WHERE id >= {} AND id < {}",
    "SELECT SUM(x) FROM q WHERE w = {} AND d = {} AND o BETWEEN {} AND {}",
    "SELECT v FROM r WHERE id BETWEEN {} AND {} ORDER BY v",
    "SELECT DISTINCT v FROM r WHERE id BETWEEN {} AND {} ORDER BY v",
    "SELECT DISTINCT v FROM r WHERE id BETWEEN {} AND {} ORDER BY v DESC",
    "SELECT b FROM r WHERE id BETWEEN {} AND {} ORDER BY b",
    "SELECT k FROM r WHERE id BETWEEN {} AND {} ORDER BY k DESC",
    "SELECT DISTINCT u FROM r WHERE id BETWEEN {} AND {} ORDER BY u",
    "SELECT id FROM r WHERE id BETWEEN {} AND {} ORDER BY id DESC",
];

/// Texts that no collation takes for another, in an order that bytes do not have.
fn text(random: &mut Seed) -> String {
    const HEADS: &[&str] =
        &["a", "B", "b", "A", "Ä", "ä", "-", "z z", "11", "1", "aaaa", "aaaab", "日本", "", "\u{301}a"];
    match random.below(9) {
        0 => "NULL".into(),
        n => format!("'{}{}'", HEADS[random.below(HEADS.len())], n * 7 % 5 + 1000 * random.below(HEADS.len())),
    }
}

/// Of rows whose keys are `own` modulo 2, so that two sessions do not wait for each other.
fn change(random: &mut Seed, own: usize) -> String {
    let (id, v, n) = (random.below(150) * 2 + own, text(random), random.below(1000));
    match random.below(8) {
        0 | 1 => format!("INSERT IGNORE INTO r VALUES ({id}, {n}, {n}, {v}, {v}, '2024-03-31 0{}:30:00')", n % 10),
        2 => format!("DELETE FROM r WHERE id = {id}"),
        3 => format!("UPDATE r SET v = {v}, b = {v}, k = NULL WHERE id = {id}"),
        4 => format!("UPDATE r SET k = k + 1 WHERE id = {id}"),
        5 => format!("UPDATE IGNORE r SET id = {} WHERE id = {id}", random.below(150) * 2 + own),
        6 => format!("DELETE FROM q WHERE w = 1 AND d = 2 AND o = {}", random.below(30) * 2 + own),
        _ => format!("INSERT IGNORE INTO q VALUES (1, 2, {}, {n}, NULL)", random.below(40) * 2 + own),
    }
}

fn rows_of(s: &mut Session, sql: &str, sorted: bool) -> std::result::Result<Vec<String>, String> {
    let mut rows = run(s, sql).map_err(|e| e.to_string())?.rows;
    if sorted {
        rows.sort();
    }
    Ok(rows)
}

/// What rows say, where texts that compare as equal say the same.
fn folded(rows: std::result::Result<Vec<String>, String>) -> std::result::Result<Vec<String>, String> {
    rows.map(|r| r.iter().map(|t| t.to_lowercase().replace('ä', "a").replace('\u{301}', "")).collect())
}

#[test]
fn flat_reads_are_those_of_the_executor() {
    let db = Database::open(Options { workers: Some(1), leaf_rows: Some(16), ..Options::default() }).expect("opens");
    let (mut reader, mut writer) = (session(&db), session(&db));
    must(
        &mut writer,
        "CREATE TABLE r (id INT PRIMARY KEY, k INT, u BIGINT UNSIGNED, v VARCHAR(20), b VARBINARY(40), ts TIMESTAMP NULL);
         CREATE TABLE q (w SMALLINT, d TINYINT UNSIGNED, o BIGINT UNSIGNED, x INT, ts TIMESTAMP(3) NULL, PRIMARY KEY (w, d, o))",
    );
    let mut random = Seed(5);
    for i in 0..200 {
        let v = text(&mut random);
        must(
            &mut writer,
            &format!("INSERT INTO r VALUES ({}, {i}, {}, {v}, {v}, '2024-10-27 00:00:{:02}')", i, i * 7 % 50, i % 60),
        );
        must(&mut writer, &format!("INSERT INTO q VALUES (1, {}, {i}, {i}, '2023-01-01 00:00:00.{i:03}')", i / 70));
    }
    let before = hits(&mut reader);
    for round in 0..700 {
        if round % 40 == 0 {
            let level = ["READ COMMITTED", "REPEATABLE READ", "READ UNCOMMITTED"][random.below(3)];
            let zone = ["+00:00", "-07:30", "Europe/Berlin"][random.below(3)];
            must(
                &mut reader,
                &format!("COMMIT; SET time_zone = '{zone}'; SET TRANSACTION ISOLATION LEVEL {level}; BEGIN"),
            );
        }
        if round == 100 {
            // from now on some rows lie in no run
            must(&mut writer, "UPDATE r SET id = 1000 WHERE id = 50");
        }
        let n = if round < 100 { 0 } else { random.below(6) };
        for _ in 0..n {
            let (own, who) = if random.below(4) == 0 { (1, &mut reader) } else { (0, &mut writer) };
            let sql = change(&mut random, own);
            if let Err(e) = run(who, &sql) {
                panic!("{sql}: {e}");
            }
            must(&mut writer, "COMMIT");
        }
        let sorted = random.below(2) == 0;
        let templates = if sorted { UNORDERED } else { ORDERED };
        let from = random.below(230) as i64 - 15;
        let mut sql = String::new();
        for (i, part) in templates[random.below(templates.len())].split("{}").enumerate() {
            if i > 0 && sql.contains("FROM q") && sql.contains("w =") && i < 3 && !sql.contains("w = 1 AND o") {
                sql += &(i).to_string();
            } else if i > 0 {
                let odd = ["NULL", "'7'", "99999999999", "18446744073709551615", "1.5", "4294967296"];
                let n = from + random.below(120) as i64;
                sql += &if random.below(25) == 0 { odd[random.below(odd.len())].into() } else { n.to_string() };
            }
            sql += part;
        }
        let kept = rows_of(&mut reader, &sql, sorted);
        must(&mut reader, "SET sql_select_limit = 1000000");
        let fresh = rows_of(&mut reader, &sql, sorted);
        must(&mut reader, "SET sql_select_limit = DEFAULT");
        assert_eq!(folded(kept), folded(fresh), "round {round}: {sql}");
    }
    let used = hits(&mut reader) - before;
    assert!(used > 300, "plans are used: {used}");
}
