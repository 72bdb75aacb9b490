//! Changes by many sessions at once: what some serial order explains.

use engine::Database;
use std::sync::Arc;
use tests::ours::{Ours, configs};

const THREADS: usize = 4;

fn open() -> Ours {
    let mut ours = Ours::open(&configs()[0]);
    ours.run("CREATE DATABASE g").expect("a database");
    ours.run("USE g").expect("the database");
    ours
}

/// Runs `work` in sessions of their own, each with its number.
fn in_threads(db: &Arc<Database>, work: impl Fn(usize, &mut Ours) + Sync) {
    std::thread::scope(|scope| {
        for n in 0..THREADS {
            let work = &work;
            scope.spawn(move || {
                let mut session = Ours::session_of(db);
                session.run("USE g").expect("the database");
                work(n, &mut session);
            });
        }
    });
}

/// Runs a transaction until it was no deadlock's victim; says whether another fault ended it.
fn transaction(ours: &mut Ours, statements: &[String]) -> Result<(), u16> {
    'again: loop {
        ours.run("BEGIN").expect("begins");
        for sql in statements {
            match ours.run(sql) {
                Ok(_) => {}
                Err((1213, _)) => continue 'again,
                Err((code, _)) => {
                    ours.run("ROLLBACK").expect("rolls back");
                    return Err(code);
                }
            }
        }
        ours.run("COMMIT").expect("commits");
        return Ok(());
    }
}

fn one(ours: &mut Ours, sql: &str) -> i64 {
    let rows = ours.run(sql).expect("a row");
    rows[0][0].as_ref().expect("a value").parse().expect("a number")
}

#[test]
fn no_update_is_lost() {
    let mut ours = open();
    ours.run("CREATE TABLE c (id INT PRIMARY KEY, n INT, m INT)").expect("made");
    ours.run("INSERT INTO c VALUES (1, 0, 0), (2, 0, 0)").expect("inserted");
    let db = ours.database().clone();
    const ROUNDS: usize = 150;
    in_threads(&db, |n, s| {
        for i in 0..ROUNDS {
            let sql = match n % 3 {
                0 => "UPDATE c SET n = n + 1 WHERE id = 1",
                1 => "UPDATE c SET n = n + 1 WHERE m >= 0 AND id < 2",
                _ => "INSERT INTO c VALUES (1, 0, 0) ON DUPLICATE KEY UPDATE n = n + 1",
            };
            if i % 2 == 0 {
                while s.run(sql).is_err_and(|e| e.0 == 1213) {}
            } else {
                transaction(s, &[sql.to_string(), "UPDATE c SET m = m + 1 WHERE id = 2".to_string()])
                    .expect("no fault");
            }
        }
    });
    assert_eq!(one(&mut ours, "SELECT n FROM c WHERE id = 1"), (THREADS * ROUNDS) as i64);
    assert_eq!(one(&mut ours, "SELECT m FROM c WHERE id = 2"), (THREADS * ROUNDS / 2) as i64);
}

#[test]
fn transfers_keep_the_sum() {
    let mut ours = open();
    ours.run("CREATE TABLE a (id INT PRIMARY KEY, v INT, CHECK (v >= 0))").expect("made");
    for i in 0..8 {
        ours.run(&format!("INSERT INTO a VALUES ({i}, 100)")).expect("inserted");
    }
    let db = ours.database().clone();
    in_threads(&db, |n, s| {
        for i in 0..120 {
            let (from, to) = ((i * 7 + n * 3) % 8, (i * 5 + n) % 8);
            let amount = 1 + (i + n) % 30;
            let moves = [
                format!("UPDATE a SET v = v - {amount} WHERE id = {from}"),
                format!("UPDATE a SET v = v + {amount} WHERE id = {to}"),
            ];
            if let Err(code) = transaction(s, &moves) {
                assert_eq!(code, 3819, "only an overdrawn account is refused");
            }
            if i % 10 == 0 {
                assert_eq!(one(s, "SELECT SUM(v) FROM a"), 800, "a reader sees whole transfers");
            }
        }
    });
    assert_eq!(one(&mut ours, "SELECT SUM(v) FROM a"), 800);
    assert_eq!(one(&mut ours, "SELECT COUNT(*) FROM a WHERE v < 0"), 0);
}

#[test]
fn no_history_leaves_an_orphan() {
    let mut ours = open();
    ours.run("CREATE TABLE p (id INT PRIMARY KEY)").expect("made");
    let child = |name: &str, action: &str| {
        format!("CREATE TABLE {name} (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) {action})")
    };
    ours.run(&child("c1", "")).expect("made");
    ours.run(&child("c2", "ON DELETE CASCADE")).expect("made");
    ours.run(&child("c3", "ON DELETE SET NULL")).expect("made");
    let db = ours.database().clone();
    in_threads(&db, |n, s| {
        let allowed = [1451, 1452, 1062];
        for i in 0..150 {
            let key = (i * 3 + n) % 5;
            let id = n * 1000 + i;
            let child = ["c1", "c2", "c3"][(i + n) % 3];
            let statements: Vec<String> = match (i + n) % 4 {
                0 => vec![format!("INSERT INTO p VALUES ({key})")],
                1 => vec![
                    format!("INSERT INTO {child} VALUES ({id}, {key})"),
                    format!("UPDATE {child} SET p = {} WHERE id = {id}", (key + 1) % 5),
                ],
                2 => vec![format!("DELETE FROM p WHERE id = {key}")],
                _ => vec![
                    format!("DELETE FROM c1 WHERE p = {key}"),
                    format!("DELETE FROM p WHERE id = {key}"),
                    format!("INSERT INTO p VALUES ({key})"),
                ],
            };
            if let Err(code) = transaction(s, &statements) {
                assert!(allowed.contains(&code), "error {code} of {statements:?}");
            }
        }
    });
    for child in ["c1", "c2", "c3"] {
        let orphans = format!(
            "SELECT COUNT(*) FROM {child} LEFT JOIN p ON {child}.p = p.id WHERE {child}.p IS NOT NULL AND p.id IS NULL"
        );
        assert_eq!(one(&mut ours, &orphans), 0, "{child}");
    }
}

#[test]
fn generated_keys_are_never_given_twice() {
    let mut ours = open();
    ours.run("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, n INT, i INT)").expect("made");
    let db = ours.database().clone();
    in_threads(&db, |n, s| {
        for i in 0..100 {
            s.run(&format!("INSERT INTO t (n, i) VALUES ({n}, {i}), ({n}, {i}), ({n}, {i})")).expect("inserted");
            // The rows of one statement get consecutive values.
            let id = one(s, "SELECT LAST_INSERT_ID()");
            let same = format!("SELECT COUNT(*) FROM t WHERE id BETWEEN {id} AND {id} + 2 AND n = {n} AND i = {i}");
            assert_eq!(one(s, &same), 3);
        }
    });
    assert_eq!(one(&mut ours, "SELECT COUNT(*) FROM t"), (THREADS * 300) as i64);
}

#[test]
fn a_condition_that_comes_to_hold_while_waiting_counts() {
    let mut ours = open();
    ours.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)").expect("made");
    ours.run("INSERT INTO t VALUES (1, 10), (2, 20)").expect("inserted");
    ours.run("BEGIN").expect("begins");
    ours.run("UPDATE t SET v = v + 10").expect("updated");
    let db = ours.database().clone();
    let deleter = std::thread::spawn(move || {
        let mut s = Ours::session_of(&db);
        s.run("USE g").expect("the database");
        s.run("BEGIN").expect("begins");
        s.run("SELECT * FROM t").expect("a snapshot of before");
        s.run("DELETE FROM t WHERE v = 20").expect("deleted");
        let left = s.run("SELECT id FROM t").expect("rows");
        s.run("COMMIT").expect("commits");
        left
    });
    std::thread::sleep(std::time::Duration::from_millis(200));
    ours.run("COMMIT").expect("commits");
    deleter.join().expect("ends");
    let left = ours.run("SELECT id, v FROM t").expect("rows");
    assert_eq!(left, vec![vec![Some("2".to_string()), Some("30".to_string())]]);
}
