//! EXPLAIN says the same, estimates included, cold and hot, after a restart and in another database with the same rows.

mod common;

use common::Client;
use engine::{Database, Options};
use std::path::{Path, PathBuf};
use std::sync::Arc;

struct Dir(PathBuf);

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn open(dir: Option<&Path>) -> Arc<Database> {
    let options = Options { dir: dir.map(Into::into), workers: Some(1), leaf_rows: Some(64), ..Options::default() };
    Database::open(options).expect("opens")
}

/// A number below `n`, small ones more often.
fn skewed(seed: u64, n: u64) -> u64 {
    let x = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    let share = (x % 10_007) as f64 / 10_007.0;
    (share * share * share * n as f64) as u64
}

/// The same rows in statements of `batch` rows each, behind `others` other tables.
fn load(c: &mut Client, batch: u64, others: usize) {
    c.ok("CREATE DATABASE d; USE d");
    for i in 0..others {
        c.ok(&format!("CREATE TABLE other{i} (a INT); INSERT INTO other{i} VALUES (1)"));
    }
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, kind INT NOT NULL, day INT, amount DECIMAL(30,2), note VARCHAR(20), \
          KEY kind (kind), KEY kind_day (kind, day))");
    c.ok("CREATE TABLE pair (x INT, y INT, z INT, PRIMARY KEY (x, y), KEY y (y))");
    let mut insert = |table: &str, rows: u64, row: &dyn Fn(u64) -> String| {
        for from in (0..rows).step_by(batch as usize) {
            let rows: Vec<String> = (from..rows.min(from + batch)).map(row).collect();
            c.ok(&format!("INSERT INTO {table} VALUES {}", rows.join(",")));
        }
    };
    insert("t", 8000, &|i| {
        let day = if i % 17 == 0 { "NULL".into() } else { (i / 40).to_string() };
        format!("({i},{},{day},{}.25,'note {}')", skewed(i, 12), skewed(i + 5, 900), skewed(i + 9, 300))
    });
    // Not in the order of the key.
    insert("pair", 5000, &|i| format!("({},{},{})", skewed(i, 400) * 3000 + i % 7, i * 7 % 5000, skewed(i + 1, 50)));
    c.ok("ALTER TABLE t ADD KEY note_kind (note, kind, day)");
}

const QUERIES: [&str; 16] = [
    "SELECT COUNT(*) FROM t WHERE kind = 0",
    "SELECT COUNT(*) FROM t WHERE kind = 9",
    "SELECT SUM(amount) FROM t WHERE kind = 9 AND day < 100",
    "SELECT SUM(amount) FROM t WHERE kind > 8",
    "SELECT SUM(amount) FROM t WHERE amount < 40",
    "SELECT SUM(amount) FROM t WHERE id BETWEEN 1000 AND 1700 AND note LIKE 'note 1%'",
    "SELECT note, kind, COUNT(*) FROM t GROUP BY note, kind",
    "SELECT note, kind, day FROM t WHERE note = 'note 7' ORDER BY kind LIMIT 3",
    "SELECT amount, COUNT(*) FROM t GROUP BY amount",
    "SELECT COUNT(*) FROM t WHERE day IS NULL",
    "SELECT SUM(z) FROM pair WHERE y < 300",
    "SELECT SUM(z) FROM pair WHERE x < 9000",
    "SELECT SUM(z) FROM pair WHERE x IN (3, 3003, 6001)",
    "SELECT COUNT(*) FROM t, pair WHERE t.id = pair.y AND kind = 7 AND z = 3",
    "SELECT COUNT(*) FROM t, pair WHERE t.kind = pair.z AND day = 17",
    "SELECT COUNT(*) FROM t WHERE id IN (SELECT y FROM pair WHERE z > 40)",
];

fn explained(c: &mut Client) -> Vec<String> {
    QUERIES.iter().map(|q| format!("{q}\n{}", c.ok(&format!("EXPLAIN FORMAT=TREE {q}")).join("\n"))).collect()
}

fn assert_same(when: &str, a: &[String], b: &[String]) {
    for (a, b) in a.iter().zip(b) {
        assert_eq!(a, b, "{when}");
    }
}

#[test]
fn plans_and_estimates_stay() {
    let dir = Dir(std::env::temp_dir().join(format!("nextleaf-estimates-{}", std::process::id())));
    let _ = std::fs::remove_dir_all(&dir.0);
    let db = open(Some(&dir.0));
    let mut c = Client::of(&db);
    load(&mut c, 500, 0);
    let cold = explained(&mut c);
    QUERIES.iter().for_each(|q| _ = c.ok(q));
    assert_same("hot", &cold, &explained(&mut c));
    c.ok("ANALYZE TABLE t, pair");
    assert_same("analyzed", &cold, &explained(&mut c));
    drop(c);
    db.close().expect("closes");
    drop(db);
    let db = open(Some(&dir.0));
    let mut c = Client::of(&db);
    c.ok("USE d");
    assert_same("restarted", &cold, &explained(&mut c));
    // Some go, some change, and a key too.
    c.ok("DELETE FROM t WHERE id % 5 = 0; UPDATE t SET amount = amount + 7, kind = 3 WHERE id % 9 = 1; \
          UPDATE t SET id = id + 100000 WHERE id % 50 = 3; DELETE FROM pair WHERE z = 2; ANALYZE TABLE t, pair");
    let changed = explained(&mut c);
    assert_ne!(cold, changed);
    drop(c);
    drop(db);
    let db = open(Some(&dir.0));
    let mut c = Client::of(&db);
    c.ok("USE d");
    assert_same("restarted after changes", &changed, &explained(&mut c));
}

#[test]
fn the_same_rows_have_the_same_plans() {
    let plans: Vec<Vec<String>> = [(500, 0), (333, 3)]
        .map(|(batch, others)| {
            let db = open(None);
            let mut c = Client::of(&db);
            load(&mut c, batch, others);
            explained(&mut c)
        })
        .into();
    assert_same("loaded otherwise", &plans[0], &plans[1]);
}
