//! SELECT ... FOR UPDATE and FOR SHARE, waiting for rows, deadlocks.

mod common;

use common::{Client, Remote, database};
use engine::Database;
use std::sync::Arc;

fn world() -> (Arc<Database>, Remote, Remote, Client) {
    let db = database();
    let mut c = Client::new(&db);
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, v INT)");
    c.ok("INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (4, 40)");
    let (a, b) = (Remote::new(&db), Remote::new(&db));
    for r in [&a, &b] {
        r.ok("SET innodb_lock_wait_timeout = 10");
        r.ok("BEGIN");
    }
    (db, a, b, c)
}

#[test]
fn the_newest_version_is_read_and_held() {
    let (_db, a, b, mut c) = world();
    assert_eq!(b.ok("SELECT v FROM t WHERE id = 1"), ["10"]);
    a.ok("UPDATE t SET v = 11 WHERE id = 1");
    b.start("SELECT v FROM t WHERE id = 1 FOR UPDATE");
    assert!(b.blocks());
    a.ok("COMMIT");
    assert_eq!(b.answer(), Ok(vec!["11".into()]));
    assert_eq!(b.ok("SELECT v FROM t WHERE id = 1"), ["10"], "a plain read keeps to its snapshot");
    assert_eq!(c.err("SELECT v FROM t WHERE id = 1 FOR UPDATE NOWAIT"), 3572);
    assert_eq!(c.err("SELECT v FROM t WHERE id = 1 FOR SHARE NOWAIT"), 3572);
    assert_eq!(c.ok("SELECT v FROM t WHERE id = 2 FOR UPDATE NOWAIT"), ["20"]);
    // A row that came to fit, and one that ceased to.
    a.ok("BEGIN");
    a.ok("UPDATE t SET v = 99 WHERE id IN (2, 3)");
    c.ok("SET innodb_lock_wait_timeout = 1");
    assert_eq!(c.err("SELECT id FROM t WHERE v = 30 FOR UPDATE"), 1205);
    b.start("SELECT id FROM t WHERE v < 35 ORDER BY id FOR UPDATE");
    assert!(b.blocks());
    a.ok("COMMIT");
    assert_eq!(b.answer(), Ok(vec!["1".into()]));
    b.ok("COMMIT");
    assert_eq!(c.ok("SELECT v FROM t WHERE id = 1 FOR UPDATE NOWAIT"), ["11"]);
}

#[test]
fn shared_locks() {
    let (_db, a, b, mut c) = world();
    assert_eq!(a.ok("SELECT v FROM t WHERE id = 1 FOR SHARE"), ["10"]);
    assert_eq!(b.ok("SELECT v FROM t WHERE id = 1 LOCK IN SHARE MODE"), ["10"]);
    assert_eq!(c.err("SELECT v FROM t WHERE id = 1 FOR UPDATE NOWAIT"), 3572);
    assert_eq!(c.ok("SELECT v FROM t WHERE id = 1 FOR SHARE NOWAIT"), ["10"]);
    // Both want to change it: one is the victim.
    a.start("UPDATE t SET v = 11 WHERE id = 1");
    assert!(a.blocks());
    let victim = b.run("DELETE FROM t WHERE id = 1");
    assert_eq!(victim, Err(1213));
    assert_eq!(a.answer(), Ok(vec![]));
    a.ok("COMMIT");
    assert_eq!(c.ok("SELECT v FROM t WHERE id = 1"), ["11"]);
    // One alone may: its own shared lock is not in the way.
    a.ok("BEGIN");
    a.ok("SELECT v FROM t WHERE id = 2 FOR SHARE");
    a.ok("UPDATE t SET v = 21 WHERE id = 2");
    // An insert of a key that is locked is a duplicate at once.
    b.ok("BEGIN");
    b.ok("SELECT v FROM t WHERE id = 3 FOR SHARE");
    assert_eq!(c.err("INSERT INTO t VALUES (3, 0)"), 1062);
    // Rolled back, the locks are gone.
    b.ok("ROLLBACK");
    c.ok("UPDATE t SET v = 31 WHERE id = 3");
    a.ok("ROLLBACK");
    assert_eq!(c.ok("SELECT v FROM t ORDER BY id"), ["11", "20", "31", "40"]);
}

#[test]
fn skip_locked_is_a_queue() {
    let (_db, a, b, mut c) = world();
    let next = "SELECT id FROM t ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED";
    assert_eq!(a.ok(next), ["1"]);
    assert_eq!(b.ok(next), ["2"]);
    c.ok("BEGIN");
    assert_eq!(c.ok(next), ["3"]);
    assert_eq!(c.ok("SELECT id FROM t WHERE id < 3 FOR SHARE SKIP LOCKED"), Vec::<String>::new());
    a.ok("DELETE FROM t WHERE id = 1");
    a.ok("COMMIT");
    b.ok("ROLLBACK");
    assert_eq!(a.ok(next), ["2"]);
    c.ok("COMMIT");
    // A shared lock is skipped by those who want to change the row only.
    a.ok("BEGIN");
    a.ok("SELECT * FROM t WHERE id = 2 FOR SHARE");
    assert_eq!(c.ok("SELECT id FROM t FOR SHARE SKIP LOCKED"), ["2", "3", "4"]);
    assert_eq!(c.ok("SELECT id FROM t FOR UPDATE SKIP LOCKED"), ["3", "4"]);
    assert_eq!(c.ok("SELECT id FROM t WHERE id = 2 FOR UPDATE SKIP LOCKED"), Vec::<String>::new());
}

#[test]
fn only_what_is_returned_is_locked() {
    let (_db, a, _b, mut c) = world();
    c.ok("CREATE TABLE u (id INT PRIMARY KEY, t_id INT)");
    c.ok("INSERT INTO u VALUES (1, 1), (2, 2), (3, 9)");
    let free = |c: &mut Client, table: &str| {
        c.ok(&format!("SELECT id FROM {table} ORDER BY id FOR UPDATE SKIP LOCKED")).join(" ")
    };
    a.ok("SELECT id FROM t ORDER BY v DESC LIMIT 1 FOR UPDATE");
    assert_eq!(free(&mut c, "t"), "1 2 3");
    a.ok("ROLLBACK");
    a.ok("BEGIN");
    assert_eq!(a.ok("SELECT u.id, t.v FROM u LEFT JOIN t ON t.id = u.t_id ORDER BY u.id FOR UPDATE OF t").len(), 3);
    assert_eq!((free(&mut c, "t"), free(&mut c, "u")), ("3 4".into(), "1 2 3".into()));
    a.ok("ROLLBACK");
    a.ok("BEGIN");
    a.ok("SELECT * FROM t WHERE id IN (SELECT t_id FROM u) FOR UPDATE");
    assert_eq!((free(&mut c, "t"), free(&mut c, "u")), ("3 4".into(), "1 2 3".into()));
    a.ok("ROLLBACK");
    a.ok("BEGIN");
    // Rows behind an aggregate.
    assert_eq!(a.ok("SELECT COUNT(*), SUM(v) FROM t WHERE v > 20 FOR UPDATE"), ["2,70"]);
    assert_eq!(free(&mut c, "t"), "1 2");
    assert_eq!(a.ok("SELECT DISTINCT v > 0 FROM t WHERE id = 1 FOR SHARE"), ["1"]);
    assert_eq!(c.err("UPDATE t SET v = 0 WHERE id = 1 /* */ AND (SELECT 1 FROM t FOR UPDATE)"), 1093);
    a.ok("SELECT v INTO @v FROM t WHERE id = 2 FOR UPDATE");
    assert_eq!(a.ok("SELECT @v"), ["20"]);
    assert_eq!(free(&mut c, "t"), "");
    assert_eq!(c.err("SELECT * FROM t FOR UPDATE OF x"), 3568);
    assert_eq!(c.err("SELECT * FROM t FOR UPDATE OF t FOR SHARE OF t"), 3569);
    // Outside of a transaction the locks go with the statement.
    a.ok("COMMIT");
    c.ok("SELECT * FROM t FOR UPDATE");
    assert_eq!(a.ok("SELECT COUNT(*) FROM t FOR UPDATE NOWAIT"), ["4"]);
}

/// Locking clauses within statements: the rows that the inner query reads are locked.
#[test]
fn inner_queries_lock_what_they_read() {
    let (_db, a, b, mut c) = world();
    c.ok("CREATE TABLE u (id INT PRIMARY KEY, v INT)");
    c.ok("INSERT INTO u VALUES (1, 1), (2, 2), (3, 9)");
    c.ok("CREATE TABLE w (id INT PRIMARY KEY, v INT)");
    c.ok("CREATE VIEW vt AS SELECT id, v FROM t WHERE id = 3");
    let free = |c: &mut Client, table: &str| {
        c.ok(&format!("SELECT id FROM {table} ORDER BY id FOR UPDATE SKIP LOCKED")).join(" ")
    };
    let cases = [
        ("SELECT id FROM u WHERE id = (SELECT id FROM t WHERE id = 2 FOR UPDATE)", "1 3 4", "1 2 3"),
        ("SELECT * FROM (SELECT id FROM t WHERE id IN (1, 3) FOR UPDATE) d", "2 4", "1 2 3"),
        ("SELECT u.id FROM u JOIN vt ON vt.id = u.id FOR UPDATE", "1 2 4", "1 2"),
        ("SELECT id FROM u WHERE id = 1 UNION (SELECT id FROM t WHERE id = 4 FOR UPDATE)", "1 2 3", "1 2 3"),
        ("WITH x AS (SELECT id FROM t WHERE id = 1 FOR UPDATE) SELECT * FROM x, x y", "2 3 4", "1 2 3"),
        // What scans t reads all of it.
        ("SELECT id, (SELECT v FROM t WHERE t.id = u.id FOR UPDATE) FROM u WHERE id > 1 FOR UPDATE", "", "1"),
        ("INSERT INTO w SELECT id, v FROM t WHERE id IN (2, 3) FOR UPDATE", "1 4", "1 2 3"),
        ("INSERT INTO w SELECT * FROM u WHERE EXISTS (SELECT 1 FROM t WHERE id = 1 FOR UPDATE)", "2 3 4", "1 2 3"),
        ("INSERT INTO w VALUES (9, (SELECT v FROM t WHERE id = 1 FOR UPDATE))", "2 3 4", "1 2 3"),
        ("REPLACE INTO w SELECT COUNT(*), 1 FROM t WHERE id = 3 FOR UPDATE", "1 2 4", "1 2 3"),
        ("UPDATE u SET v = (SELECT v FROM t WHERE id = 4 FOR UPDATE) WHERE id = 2", "1 2 3", "1 3"),
        ("DELETE FROM u WHERE v IN (SELECT id FROM t WHERE id = 1 FOR UPDATE)", "2 3 4", "2 3"),
        ("SET @v = (SELECT v FROM t WHERE id = 2 FOR UPDATE)", "1 3 4", "1 2 3"),
        ("SELECT (SELECT v FROM t WHERE id = 2 FOR UPDATE) INTO @w", "1 3 4", "1 2 3"),
        ("SELECT * FROM u WHERE id = (SELECT MAX(id) FROM t WHERE v >= 30 FOR UPDATE OF t)", "", "1 2 3"),
    ];
    for (sql, t, u) in cases {
        a.ok("ROLLBACK");
        a.ok("BEGIN");
        a.ok(sql);
        assert_eq!((free(&mut c, "t"), free(&mut c, "u")), (t.into(), u.into()), "{sql}");
    }
    assert_eq!(c.err("SELECT * FROM u WHERE id IN (SELECT id FROM t WHERE id = 4 FOR UPDATE NOWAIT)"), 3572);
    assert_eq!(c.ok("SELECT id FROM u WHERE id IN (SELECT id FROM t FOR UPDATE SKIP LOCKED)"), Vec::<String>::new());
    assert_eq!(c.err("SELECT * FROM u WHERE id IN (SELECT id FROM t FOR UPDATE OF u)"), 3568);
    // The newest version is read, once it is there.
    a.ok("ROLLBACK");
    a.ok("BEGIN");
    a.ok("UPDATE t SET v = 11 WHERE id = 1");
    assert_eq!(b.ok("SELECT v FROM t WHERE id = 1"), ["10"]);
    b.start("INSERT INTO w SELECT id, v FROM t WHERE id = 1 FOR SHARE");
    assert!(b.blocks());
    a.ok("COMMIT");
    assert_eq!(b.answer(), Ok(vec![]));
    assert_eq!(b.ok("SELECT v FROM w"), ["11"]);
    // Shared locks of inner queries are shared.
    a.ok("BEGIN");
    assert_eq!(a.ok("SELECT (SELECT v FROM t WHERE id = 1 LOCK IN SHARE MODE)"), ["11"]);
    assert_eq!(c.err("SELECT v FROM t WHERE id = 1 FOR UPDATE NOWAIT"), 3572);
}

#[test]
fn a_killed_owner_lets_go() {
    let (db, a, b, mut c) = world();
    let mut owner = Client::new(&db);
    owner.ok("BEGIN");
    owner.ok("UPDATE t SET v = 0 WHERE id = 1");
    a.start("UPDATE t SET v = v + 1 WHERE id = 1");
    assert!(a.blocks());
    b.start("SELECT v FROM t WHERE id = 1 FOR UPDATE");
    assert!(b.blocks());
    c.ok(&format!("KILL QUERY {}", b.process_id));
    assert_eq!(b.answer(), Err(1317));
    drop(owner);
    assert_eq!(a.answer(), Ok(vec![]));
    a.ok("COMMIT");
    assert_eq!(c.ok("SELECT v FROM t WHERE id = 1"), ["11"]);
}

/// Sessions that lock rows in random order: nobody waits for a timeout, and of each deadlock one goes on, so that every
/// session gets all its transactions through however often it is the victim.
#[test]
fn deadlock_storm() {
    const TRANSACTIONS: u32 = 30;
    let (db, ..) = world();
    let begun = std::time::Instant::now();
    let start = std::sync::Barrier::new(6);
    let storm = |seed: u64| {
        let mut c = Client::new(&db);
        let mut random = random(seed);
        let (mut done, mut failed) = (0, 0);
        start.wait();
        while done < TRANSACTIONS {
            c.ok("BEGIN");
            match three_locks(&mut c, &mut random) {
                Ok(()) => done += 1,
                Err(code) => {
                    assert_eq!(code, 1213);
                    failed += 1;
                }
            }
            c.ok("COMMIT");
            assert!(begun.elapsed().as_secs() < 20, "somebody waits for a timeout or never gets through: {done} done");
        }
        failed
    };
    let victims: Vec<u32> = std::thread::scope(|s| {
        let storm = &storm;
        let threads: Vec<_> = (0..6).map(|seed| s.spawn(move || storm(seed))).collect();
        threads.into_iter().map(|t| t.join().expect("no panic")).collect()
    });
    eprintln!("victims {victims:?} in {:?}", begun.elapsed());
    assert!(victims.iter().sum::<u32>() > 0, "no deadlock in the whole storm");
}

/// An xorshift generator: a number below its argument.
fn random(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move |n| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % n
    }
}

/// Locks three of the four rows of `t`, shared or exclusive, and lets others run in between.
fn three_locks(c: &mut Client, random: &mut impl FnMut(u64) -> u64) -> Result<(), u16> {
    for _ in 0..3 {
        let id = random(4) + 1;
        match random(3) {
            0 => c.run(&format!("SELECT v FROM t WHERE id = {id} FOR SHARE"))?,
            1 => c.run(&format!("SELECT v FROM t WHERE id = {id} FOR UPDATE"))?,
            _ => c.run(&format!("UPDATE t SET v = v + 1 WHERE id = {id}"))?,
        };
        std::thread::sleep(std::time::Duration::from_micros(100));
    }
    Ok(())
}

/// Statements outside of transactions hold nothing while they wait for their only row: no deadlock has them in it.
#[test]
fn waits_that_are_over_close_no_circle() {
    let (db, ..) = world();
    std::thread::scope(|s| {
        for thread in 0..5 {
            let db = &db;
            s.spawn(move || {
                let mut c = Client::new(db);
                for i in 0..150 {
                    if thread == 0 {
                        c.ok("BEGIN");
                        c.ok("UPDATE t SET v = v + 1 WHERE id = 1");
                        c.ok("UPDATE t SET v = v + 1 WHERE id = 2");
                        c.ok("COMMIT");
                    } else {
                        c.ok(&format!("UPDATE t SET v = v + 1 WHERE id = {}", (i + thread) % 2 + 1));
                    }
                }
            });
        }
    });
    assert_eq!(Client::new(&db).ok("SELECT SUM(v) FROM t WHERE id < 3"), ["930"]);
}

/// Money moves between accounts under every level; none is made or lost.
#[test]
fn transfers_keep_the_sum() {
    for level in ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
        let (db, ..) = world();
        std::thread::scope(|s| {
            for seed in 0..4u64 {
                let db = db.clone();
                s.spawn(move || {
                    let mut c = Client::new(&db);
                    c.ok(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"));
                    let mut random = fastrand_like(seed);
                    for _ in 0..25 {
                        let (from, to, n) = (random(4) + 1, random(4) + 1, random(9));
                        c.ok("BEGIN");
                        let moved = c
                            .run(&format!("SELECT v FROM t WHERE id = {from} FOR UPDATE"))
                            .and_then(|v| {
                                let left: i64 = v[0].parse::<i64>().expect("a number") - n as i64;
                                c.run(&format!("UPDATE t SET v = {left} WHERE id = {from}"))
                            })
                            .and_then(|_| c.run(&format!("UPDATE t SET v = v + {n} WHERE id = {to}")));
                        match moved {
                            Ok(_) if random(5) == 0 => c.ok("ROLLBACK"),
                            Ok(_) => c.ok("COMMIT"),
                            Err(code) => {
                                assert_eq!(code, 1213, "{level}");
                                c.ok("ROLLBACK")
                            }
                        };
                        if level != "READ UNCOMMITTED" {
                            assert_eq!(c.ok("SELECT SUM(v) FROM t"), ["100"], "{level}");
                        }
                    }
                });
            }
        });
        assert_eq!(Client::new(&db).ok("SELECT SUM(v) FROM t"), ["100"], "{level}");
    }
}

fn fastrand_like(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    move |n| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % n
    }
}

/// As in InnoDB, what was locked stays so when a part of the transaction, or a statement that fails, is taken back.
#[test]
fn rollbacks_of_a_part_keep_locks() {
    let (_db, a, _b, mut c) = world();
    let free = |c: &mut Client| c.ok("SELECT id FROM t ORDER BY id FOR UPDATE SKIP LOCKED").join(" ");
    a.ok("SAVEPOINT s");
    a.ok("UPDATE t SET v = 11 WHERE id = 1");
    a.ok("SELECT * FROM t WHERE id = 2 FOR UPDATE");
    a.ok("DELETE FROM t WHERE id = 3");
    a.ok("INSERT INTO t VALUES (5, 50)");
    for _ in 0..2 {
        a.ok("ROLLBACK TO s");
        assert_eq!(free(&mut c), "4");
        c.ok("INSERT INTO t VALUES (5, 51)");
        c.ok("DELETE FROM t WHERE id = 5");
        a.ok("UPDATE t SET v = v + 1 WHERE id < 4");
    }
    assert_eq!(a.run("UPDATE t SET id = 2 WHERE id = 4"), Err(1062));
    assert_eq!(free(&mut c), "");
    a.ok("ROLLBACK TO s");
    assert_eq!(a.ok("SELECT v FROM t ORDER BY id"), ["10", "20", "30", "40"]);
    a.ok("UPDATE t SET v = 12 WHERE id = 1");
    a.ok("COMMIT");
    assert_eq!(free(&mut c), "1 2 3 4");
    assert_eq!(c.ok("SELECT v FROM t ORDER BY id"), ["12", "20", "30", "40"]);
}

/// As in InnoDB, a row that made a statement fail as a duplicate is shared.
#[test]
fn duplicates_are_shared() {
    let (_db, a, b, mut c) = world();
    c.ok("CREATE TABLE k (id INT PRIMARY KEY, t_id INT, FOREIGN KEY (t_id) REFERENCES t (id))");
    c.ok("INSERT INTO k VALUES (1, 1)");
    assert_eq!(a.run("INSERT INTO t VALUES (9, 9), (1, 1)"), Err(1062));
    assert_eq!(a.run("UPDATE t SET id = 2 WHERE id = 4"), Err(1062));
    a.ok("INSERT IGNORE INTO t VALUES (3, 3)");
    assert_eq!(a.run("INSERT INTO k VALUES (1, 1)"), Err(1062));
    for id in 1..4 {
        assert_eq!(c.err(&format!("SELECT * FROM t WHERE id = {id} FOR UPDATE NOWAIT")), 3572);
        assert_eq!(c.ok(&format!("SELECT id FROM t WHERE id = {id} FOR SHARE NOWAIT")), [id.to_string()]);
    }
    assert_eq!(c.err("SELECT * FROM k WHERE id = 1 FOR UPDATE NOWAIT"), 3572);
    c.ok("INSERT INTO t VALUES (9, 9)");
    // A parent that was not there is not to come.
    assert_eq!(a.run("INSERT INTO k VALUES (2, 77)"), Err(1452));
    b.start("INSERT INTO t VALUES (77, 0)");
    assert!(b.blocks());
    a.ok("COMMIT");
    assert_eq!(b.answer(), Ok(vec![]));
}
