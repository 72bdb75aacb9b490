//! Statements as order processing has them, prepared once: they find rows by the beginning of a key or by a secondary
//! index, lock the first, and put NOW() into columns. With cached plans they do what they do without.

mod common;

use engine::{Collect, Database, Options, Session};
use std::sync::Arc;
use types::{SqlType, Value};

struct Seed(u64);

impl Seed {
    fn below(&mut self, n: usize) -> i64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize % n) as i64
    }
}

const TABLES: &str =
    "CREATE TABLE line (w INT NOT NULL, d TINYINT NOT NULL, o INT NOT NULL, n TINYINT NOT NULL, item INT,
        amount DECIMAL(6,2) NOT NULL, sent DATETIME, ts TIMESTAMP NULL, t3 DATETIME(3), day DATE,
        PRIMARY KEY (w, d, o, n), KEY (item));
    CREATE TABLE fresh (w INT NOT NULL, d TINYINT NOT NULL, o INT NOT NULL, PRIMARY KEY (w, d, o));
    CREATE TABLE customer (w INT NOT NULL, d TINYINT NOT NULL, c INT NOT NULL, first VARCHAR(16) NOT NULL,
        last VARCHAR(16) NOT NULL, balance DECIMAL(12,2) NOT NULL, PRIMARY KEY (w, d, c), KEY name (w, d, last, first));
    CREATE TABLE orders (w INT NOT NULL, d TINYINT NOT NULL, o INT NOT NULL, c INT NOT NULL, entered DATETIME NOT NULL,
        PRIMARY KEY (w, d, o), KEY of_customer (w, d, c, o))";

const STATEMENTS: &[(&str, &[usize])] = &[
    // what each parameter is below
    ("SELECT o FROM fresh WHERE w = ? AND d = ? ORDER BY o LIMIT 1 FOR UPDATE", &[3, 3]),
    ("SELECT o FROM fresh WHERE w = ? AND d = ? ORDER BY o DESC LIMIT 1 FOR UPDATE", &[3, 3]),
    ("SELECT o FROM fresh WHERE w = ? AND d = ? ORDER BY o LIMIT 2 FOR UPDATE SKIP LOCKED", &[3, 3]),
    ("SELECT n, amount FROM line WHERE w = ? AND d = ? AND o = ? ORDER BY n FOR UPDATE", &[3, 3, 30]),
    (
        "SELECT l.n, f.o FROM line l JOIN fresh f ON f.w = l.w AND f.d = l.d AND f.o = l.o \
      WHERE l.w = ? AND l.d = ? AND l.o = ? ORDER BY l.n FOR UPDATE",
        &[3, 3, 30],
    ),
    ("DELETE FROM fresh WHERE w = ? AND d = ? AND o = ?", &[3, 3, 30]),
    ("INSERT INTO fresh VALUES (?, ?, ?)", &[3, 3, 30]),
    ("UPDATE line SET sent = NOW() WHERE w = ? AND d = ? AND o = ?", &[3, 3, 30]),
    (
        "UPDATE line SET sent = NOW(), ts = CURRENT_TIMESTAMP, day = NOW(), t3 = NOW() WHERE w = ? AND d = ? AND o = ? AND n = ?",
        &[3, 3, 30, 5],
    ),
    ("UPDATE line SET amount = amount + ?, ts = NOW() WHERE w = ? AND d = ? AND o = ?", &[9, 3, 3, 30]),
    ("UPDATE line SET amount = ?, t3 = NOW(3) WHERE w = ? AND d = ? AND o = ? AND n > ?", &[9, 3, 3, 30, 5]),
    ("UPDATE line SET n = n + ? WHERE w = ? AND d = ? AND o = ?", &[2, 3, 3, 30]),
    ("UPDATE line SET item = NOW() WHERE w = ? AND d = ? AND o = ?", &[3, 3, 30]),
    ("UPDATE line SET item = ? WHERE item = ?", &[40, 40]),
    ("UPDATE line SET o = o + 1 WHERE item = ? AND amount < ?", &[40, 9]),
    ("DELETE FROM line WHERE item = ?", &[40]),
    ("DELETE FROM line WHERE w = ? AND d = ? AND o = ? AND n < ?", &[3, 3, 30, 5]),
    (
        "INSERT INTO line (w, d, o, n, item, amount, sent, day) VALUES (?, ?, ?, ?, ?, ?, NOW(), CURRENT_TIMESTAMP)",
        &[3, 3, 30, 5, 40, 9],
    ),
    ("INSERT INTO orders VALUES (?, ?, ?, ?, NOW())", &[3, 3, 30, 10]),
    ("INSERT INTO orders VALUES (?, ?, ?, ?, NOW()), (?, ?, 99, 5, NULL)", &[3, 3, 30, 10, 3, 3]),
    (
        "INSERT INTO orders VALUES (?, ?, ?, ?, NOW()) ON DUPLICATE KEY UPDATE entered = NOW(), c = c + 1",
        &[3, 3, 30, 10],
    ),
    ("SELECT c, first FROM customer WHERE w = ? AND d = ? AND last = ? ORDER BY first", &[3, 3, 100]),
    ("SELECT o, entered FROM orders WHERE w = ? AND d = ? AND c = ? ORDER BY o DESC LIMIT 1", &[3, 3, 10]),
    ("SELECT SUM(amount), COUNT(*) FROM line WHERE w = ? AND d = ? AND o = ?", &[3, 3, 30]),
    ("SELECT item, sent FROM line WHERE w = ? AND d = ? AND o = ?", &[3, 3, 30]),
    (
        "SELECT COUNT(DISTINCT c.c) FROM line, customer c WHERE line.w = ? AND line.d = ? AND o < ? AND o >= ? AND c.w = ? \
      AND c.d = line.d AND c.c = item AND balance < ?",
        &[3, 3, 30, 30, 3, 9],
    ),
    ("UPDATE customer SET balance = balance - ?, first = ? WHERE w = ? AND d = ? AND last = ?", &[9, 101, 3, 3, 100]),
    ("DELETE FROM customer WHERE w = ? AND d = ? AND last = ? ORDER BY first LIMIT 1", &[3, 3, 100]),
    ("BEGIN", &[]),
    ("COMMIT", &[]),
    ("ROLLBACK", &[]),
];

fn param(kind: usize, random: &mut Seed) -> (Value, SqlType) {
    let text = |t: String| (Value::str(&t), SqlType::varchar(t.len() as u32, Default::default()));
    match kind {
        _ if random.below(150) == 0 => (Value::Null, SqlType::Null),
        100 => text(["ABLE", "bar", "Ought"][random.below(3) as usize].into()),
        101 => text(format!("f{}", random.below(9))),
        9 if random.below(2) == 0 => (Value::Double(random.below(4000) as f64 / 8.0), SqlType::Double),
        9 => text(format!("{}.{:02}", random.below(99), random.below(100))),
        n => (Value::Int(random.below(n)), SqlType::BIGINT),
    }
}

fn session(kept: bool) -> (Arc<Database>, Session) {
    let db = Database::open(Options { workers: Some(1), leaf_rows: Some(16), ..Options::default() }).expect("opens");
    let mut s = db.session("root", "localhost");
    for sql in ["CREATE DATABASE d", "USE d", TABLES, "SET time_zone = '+03:00'"] {
        common::run(&mut s, sql).expect("valid");
    }
    let mut random = Seed(7);
    let mut all = |sql: &str, n: i64, row: &mut dyn FnMut(i64, &mut Seed) -> String| {
        let rows: Vec<String> = (0..n).map(|i| row(i, &mut random)).collect();
        common::run(&mut s, &format!("INSERT INTO {sql} VALUES {}", rows.join(","))).expect("valid");
    };
    let key = |i: i64| format!("{}, {}, {}", i % 3, i / 3 % 3, i / 9);
    all("line", 270 * 3, &mut |i, r| {
        format!("({}, {}, {}, {}.5, NULL, NULL, NULL, NULL)", key(i / 3), i % 3, r.below(40), i % 90)
    });
    all("fresh", 150, &mut |i, _| format!("({})", key(i)));
    all("customer", 90, &mut |i, r| {
        let last = ["able", "BAR", "ought"][r.below(3) as usize];
        format!("({}, 'f{}', '{last}', {i})", key(i), r.below(20))
    });
    all("orders", 200, &mut |i, r| format!("({}, {}, '2024-01-01 00:00:00')", key(i), r.below(10)));
    common::run(&mut s, "ANALYZE TABLE line, fresh, customer, orders").expect("valid");
    if !kept {
        // one of the settings with which no plan is kept
        common::run(&mut s, "SET sql_select_limit = 1000000").expect("valid");
    }
    (db, s)
}

fn hits(s: &mut Session) -> u64 {
    let row = common::run(s, "SHOW STATUS LIKE 'Nextleaf_plan_cache_hits'").expect("valid").rows;
    row[0].split(',').nth(1).and_then(|n| n.parse().ok()).expect("a counter")
}

#[test]
fn kept_plans_do_what_fresh_ones_do() {
    for level in ["REPEATABLE READ", "READ COMMITTED"] {
        let mut sessions = [session(true), session(false)];
        let ids: Vec<[u32; 2]> = STATEMENTS
            .iter()
            .map(|(sql, _)| {
                // BEGIN cannot be prepared
                let prepare = |s: &mut Session| s.prepare(sql.as_bytes()).unwrap_or_else(|e| panic!("{sql}: {e}")).id;
                sessions.each_mut().map(|(_, s)| if *sql == "BEGIN" { 0 } else { prepare(s) })
            })
            .collect();
        for (_, s) in &mut sessions {
            common::run(s, &format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}")).expect("valid");
        }
        let mut random = Seed(11);
        let mut now = 1_700_000_000.25;
        for n in 0..1500 {
            let which = random.below(STATEMENTS.len()) as usize;
            let (sql, kinds) = STATEMENTS[which];
            let params: Vec<_> = kinds.iter().map(|k| param(*k, &mut random)).collect();
            now += 0.5;
            let mut nth = 0;
            let answers = sessions.each_mut().map(|(_, s)| {
                common::run(s, &format!("SET timestamp = {now}")).expect("valid");
                let mut sink = Collect::default();
                let done = match sql {
                    "BEGIN" => s.execute(b"BEGIN", false, &mut sink),
                    _ => s.execute_prepared(ids[which][nth], &params, &mut sink),
                };
                nth += 1;
                let done = done.map_err(|e| (e.code().0, e.message().to_string()));
                let ok = (sink.ok.affected_rows, sink.ok.info.clone(), sink.warnings);
                (done.map(|()| ok), sink.texts(), common::run(s, "SHOW WARNINGS").expect("valid").rows)
            });
            assert_eq!(answers[0], answers[1], "{level} {n}: {sql} {params:?}");
            if n % 50 == 0 {
                for all in [
                    "line ORDER BY w, d, o, n",
                    "fresh ORDER BY w, d, o",
                    "customer ORDER BY w, d, c",
                    "orders ORDER BY w, d, o",
                ] {
                    let rows = sessions
                        .each_mut()
                        .map(|(_, s)| common::run(s, &format!("SELECT * FROM {all} LIMIT 2000")).expect("valid").rows);
                    assert_eq!(rows[0], rows[1], "{level} {n}: after {sql} {params:?}");
                }
            }
        }
        let used = hits(&mut sessions[0].1);
        assert!(used > 900, "plans are kept: {used}");
        assert_eq!(hits(&mut sessions[1].1), 0);
    }
}

/// Plans that were made for small tables go when these have grown.
#[test]
fn kept_changes_follow_their_tables() {
    let (_db, mut s) = session(true);
    let delete = s.prepare(b"DELETE FROM line WHERE item = ?").expect("valid").id;
    let go = |s: &mut Session, item: i64| {
        let mut sink = Collect::default();
        s.execute_prepared(delete, &[(Value::Int(item), SqlType::BIGINT)], &mut sink).expect("valid");
        sink.ok.affected_rows
    };
    let count = |s: &mut Session, item: i64| -> u64 {
        let sql = format!("SELECT COUNT(*) FROM line WHERE item = {item}");
        common::run(s, &sql).expect("valid").rows[0].parse().expect("a number")
    };
    for item in 0..5 {
        let there = count(&mut s, item);
        assert_eq!(go(&mut s, item), there);
    }
    for n in 100..104 {
        let rows: Vec<String> = (0..3000).map(|i| format!("({n}, 1, {i}, 1, 7, 1, NULL, NULL, NULL, NULL)")).collect();
        common::run(&mut s, &format!("INSERT INTO line VALUES {}", rows.join(","))).expect("valid");
        let there = count(&mut s, 7);
        assert!(there >= 3000);
        assert_eq!(go(&mut s, 7), there);
        assert_eq!(go(&mut s, 7), 0);
    }
    common::run(&mut s, "TRUNCATE TABLE line").expect("valid");
    assert_eq!(go(&mut s, 8), 0);
    common::run(&mut s, "INSERT INTO line VALUES (1, 1, 1, 1, 8, 1, NULL, NULL, NULL, NULL)").expect("valid");
    assert_eq!((go(&mut s, 8), go(&mut s, 8)), (1, 0));
    common::run(&mut s, "ALTER TABLE line DROP KEY item").expect("valid");
    common::run(&mut s, "INSERT INTO line VALUES (1, 1, 1, 1, 8, 1, NULL, NULL, NULL, NULL)").expect("valid");
    assert_eq!((go(&mut s, 8), go(&mut s, 8)), (1, 0));
}

/// Values of other lengths, and NULL beside values, find their plans again.
#[test]
fn types_of_parameters_come_and_go() {
    let (_db, mut s) = session(true);
    let insert = s.prepare(b"INSERT INTO customer VALUES (3, ?, ?, ?, ?, ?)").expect("valid").id;
    let text = |t: &str| (Value::str(t), SqlType::varchar(t.len() as u32, Default::default()));
    let int = |n: i64| (Value::Int(n), SqlType::BIGINT);
    for i in 0..60 {
        let balance = if i % 2 == 0 { text(&format!("{}.5", 10i64.pow(i as u32 % 7))) } else { int(i) };
        let params =
            [int(i % 9), int(i), text(&"f".repeat(i as usize % 16)), text(&"l".repeat(i as usize % 5)), balance];
        s.execute_prepared(insert, &params, &mut Collect::default()).expect("fits");
    }
    let update =
        s.prepare(b"UPDATE line SET item = ?, day = ? WHERE w = ? AND d = ? AND o = ? AND n = ?").expect("valid").id;
    for i in 0..60 {
        let or_null = |value: (Value, SqlType), n: i64| if i % n == 0 { (Value::Null, SqlType::Null) } else { value };
        let params = [or_null(int(i), 2), or_null(text("2024-02-29"), 3), int(1), int(1), int(i % 30), int(1)];
        s.execute_prepared(update, &params, &mut Collect::default()).expect("fits");
    }
    assert_eq!(
        common::run(&mut s, "SELECT COUNT(*), SUM(LENGTH(first)) FROM customer WHERE w = 3").expect("valid").rows,
        ["60,426"]
    );
    let used = hits(&mut s);
    assert!(used >= 100, "each kind has its plan: {used}");
}
