//! Statements that name a unique key wait for what open transactions do to it, and keep a key absent that they did not
//! find.

mod common;

use common::{Client, Remote, database};
use engine::Database;
use std::sync::Arc;

fn world() -> (Arc<Database>, Remote, Remote, Client) {
    let db = database();
    let mut c = Client::new(&db);
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, v INT, u VARCHAR(10), UNIQUE KEY uu (u))");
    c.ok("INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b')");
    let (a, b) = (Remote::new(&db), Remote::new(&db));
    for r in [&a, &b] {
        r.ok("SET innodb_lock_wait_timeout = 10");
        r.ok("BEGIN");
    }
    (db, a, b, c)
}

const NONE: Vec<String> = Vec::new();

#[test]
fn current_reads_wait_for_uncommitted_inserts() {
    for level in ["READ COMMITTED", "REPEATABLE READ"] {
        let statements = [
            ("SELECT v FROM t WHERE id = 5 FOR UPDATE", vec!["50".to_string()]),
            ("SELECT v FROM t WHERE id IN (4, 5) FOR SHARE", vec!["50".to_string()]),
            ("SELECT v FROM t WHERE u = 'E' FOR UPDATE", vec!["50".to_string()]),
            ("UPDATE t SET v = v + 1 WHERE id = 5", NONE),
            ("DELETE FROM t WHERE u = 'e'", NONE),
        ];
        for (sql, seen) in statements {
            for commits in [true, false] {
                let (_db, a, b, mut c) = world();
                b.ok("COMMIT");
                b.ok(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"));
                b.ok("BEGIN");
                a.ok("INSERT INTO t VALUES (5, 50, 'e')");
                b.start(sql);
                assert!(b.blocks(), "{level} {sql}");
                a.ok(if commits { "COMMIT" } else { "ROLLBACK" });
                assert_eq!(b.answer(), Ok(if commits { seen.clone() } else { NONE }), "{level} {sql}");
                b.ok("COMMIT");
                let left = match (sql, commits) {
                    (_, false) => NONE,
                    (s, _) if s.starts_with("DELETE") => NONE,
                    (s, _) if s.starts_with("UPDATE") => vec!["51".to_string()],
                    _ => vec!["50".to_string()],
                };
                assert_eq!(c.ok("SELECT v FROM t WHERE id = 5"), left, "{level} {sql} {commits}");
            }
        }
    }
}

#[test]
fn current_reads_wait_for_other_changes_of_the_key() {
    let (_db, a, b, mut c) = world();
    // A key that a row is given, and one that a row gives up.
    a.ok("UPDATE t SET u = 'x' WHERE id = 1");
    assert_eq!(c.err("SELECT id FROM t WHERE u = 'x' FOR UPDATE NOWAIT"), 3572);
    assert_eq!(c.ok("SELECT id FROM t WHERE u = 'x' FOR UPDATE SKIP LOCKED"), NONE);
    b.start("SELECT id FROM t WHERE u = 'a' FOR UPDATE");
    assert!(b.blocks());
    a.ok("COMMIT");
    assert_eq!(b.answer(), Ok(NONE));
    b.ok("COMMIT");
    // A row that another condition leaves out may come to fit.
    a.ok("BEGIN");
    b.ok("BEGIN");
    a.ok("UPDATE t SET v = 5 WHERE id = 2");
    b.start("UPDATE t SET v = v - 5 WHERE id = 2 AND v < 10");
    assert!(b.blocks());
    a.ok("COMMIT");
    assert_eq!(b.answer(), Ok(NONE));
    b.ok("COMMIT");
    assert_eq!(c.ok("SELECT v FROM t WHERE id = 2"), ["0"]);
    // It stays as it is once it was looked at.
    b.ok("BEGIN");
    b.ok("UPDATE t SET v = 1 WHERE id = 2 AND v > 100");
    a.start("UPDATE t SET v = 200 WHERE id = 2");
    assert!(a.blocks());
    b.ok("ROLLBACK");
    assert_eq!(a.answer(), Ok(NONE));
    // An uncommitted delete.
    a.ok("BEGIN");
    a.ok("DELETE FROM t WHERE id = 2");
    b.start("SELECT v FROM t WHERE id = 2 FOR SHARE");
    assert!(b.blocks());
    a.ok("ROLLBACK");
    assert_eq!(b.answer(), Ok(vec!["200".into()]));
}

#[test]
fn what_was_not_found_stays_absent() {
    let (_db, a, b, mut c) = world();
    assert_eq!(a.ok("SELECT * FROM t WHERE id = 5 FOR UPDATE"), NONE);
    a.ok("DELETE FROM t WHERE u = 'zz'");
    c.ok("SET innodb_lock_wait_timeout = 1");
    assert_eq!(c.err("INSERT INTO t VALUES (5, 0, 'q')"), 1205);
    assert_eq!(c.err("UPDATE t SET id = 5 WHERE id = 1"), 1205);
    assert_eq!(c.err("INSERT INTO t VALUES (6, 0, 'ZZ')"), 1205);
    c.ok("INSERT INTO t VALUES (7, 0, 'y')");
    // Others may look, and it does not matter to those who do not insert.
    assert_eq!(b.ok("SELECT * FROM t WHERE id = 5 FOR UPDATE"), NONE);
    // Both insert: one of them is the victim, and the other goes on.
    a.start("INSERT INTO t VALUES (5, 1, 'a5')");
    assert!(a.blocks());
    assert_eq!(b.run("INSERT INTO t VALUES (5, 2, 'b5')"), Err(1213));
    assert_eq!(a.answer(), Ok(NONE));
    a.ok("COMMIT");
    assert_eq!(c.ok("SELECT v FROM t WHERE id = 5"), ["1"]);
    c.ok("INSERT INTO t VALUES (6, 0, 'zz')");
    // Who waits goes on when the other gives up.
    b.ok("BEGIN");
    b.ok("DELETE FROM t WHERE id = 9");
    a.start("INSERT INTO t VALUES (9, 9, NULL)");
    assert!(a.blocks());
    b.ok("ROLLBACK");
    assert_eq!(a.answer(), Ok(NONE));
    // Below REPEATABLE READ nothing is kept; nor is it outside of a transaction.
    b.ok("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    b.ok("BEGIN");
    b.ok("DELETE FROM t WHERE id = 10");
    c.ok("DELETE FROM t WHERE id = 10");
    a.ok("INSERT INTO t VALUES (10, 9, NULL)");
}

/// DELETE and INSERT of one key by many at once: nobody sees a duplicate, and nobody waits for a timeout.
#[test]
fn replacing_by_hand() {
    let (db, a, b, _c) = world();
    drop((a, b));
    let done: u32 = std::thread::scope(|s| {
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                let db = &db;
                s.spawn(move || {
                    let mut c = Client::new(db);
                    let mut done = 0;
                    for i in 0..60 {
                        let id = 100 + (i * 7 + thread) % 3;
                        c.ok("BEGIN");
                        let both = c
                            .run(&format!("DELETE FROM t WHERE id = {id}"))
                            .and_then(|_| c.run(&format!("INSERT INTO t VALUES ({id}, {i}, NULL)")));
                        match both {
                            Ok(_) if i % 5 == 0 => c.ok("ROLLBACK"),
                            Ok(_) => c.ok("COMMIT"),
                            Err(code) => {
                                assert_eq!(code, 1213);
                                continue;
                            }
                        };
                        done += 1;
                    }
                    done
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().expect("no panic")).sum()
    });
    assert!(done >= 60, "{done}");
    assert_eq!(Client::new(&db).ok("SELECT COUNT(*), COUNT(DISTINCT id) FROM t WHERE id >= 100"), ["3,3"]);
}

/// A load makes whole leaves findable before it looks whose way they are in.
#[test]
fn loads_wait_for_those_who_keep_a_key_absent() {
    let (_db, a, b, mut c) = world();
    let path = std::env::temp_dir().join(format!("nextleaf-absent-{}.csv", std::process::id()));
    for backwards in [false, true] {
        let mut lines: Vec<String> = (100..4000).map(|i| format!("{i},{i},k{i}\n")).collect();
        if backwards {
            lines.reverse();
        }
        std::fs::write(&path, lines.concat()).expect("a file");
        let load = format!("LOAD DATA INFILE '{}' INTO TABLE t FIELDS TERMINATED BY ','", path.display());
        for held in ["SELECT v FROM t WHERE id = 2500 FOR UPDATE", "UPDATE t SET v = 0 WHERE u = 'k3333'"] {
            a.ok("BEGIN");
            assert_eq!(a.ok(held), NONE);
            b.start(&load);
            assert!(b.blocks(), "{held} {backwards}");
            a.ok("COMMIT");
            assert_eq!(b.answer(), Ok(NONE));
            b.ok("COMMIT");
            assert_eq!(c.ok("SELECT COUNT(*) FROM t"), ["3902"]);
            b.ok("DELETE FROM t WHERE id > 50");
            b.ok("BEGIN");
            // Who then wants the key itself is in a deadlock, unless it comes before the load's row.
            a.ok("BEGIN");
            a.ok(held);
            b.start(&load);
            assert!(b.blocks(), "{held} {backwards}");
            let one = a.run("INSERT INTO t VALUES (2500, 1, 'k3333')");
            a.ok("ROLLBACK");
            let other = b.answer();
            assert!(
                [Ok(NONE), Err(1213)].contains(&one) && [Ok(NONE), Err(1213)].contains(&other),
                "{one:?} {other:?}"
            );
            assert!(one == Ok(NONE) || other == Ok(NONE));
            b.ok("ROLLBACK");
            b.ok("BEGIN");
        }
    }
    std::fs::remove_file(&path).expect("it is there");
}
