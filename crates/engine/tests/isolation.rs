//! The isolation levels: the cases of Martin Kleppmann's Hermitage for MySQL, through sessions.
//!
//! Where MySQL's gap locks make it block earlier or later than Nextleaf's coarser SERIALIZABLE locks do, the test
//! states what a serial order allows, not who waits.

mod common;

use common::{Client, Remote, database};
use engine::Database;
use std::sync::Arc;

type Answer = Result<Vec<String>, u16>;

const LEVELS: [&str; 4] = ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

struct World {
    db: Arc<Database>,
    t: [Remote; 3],
}

/// Three sessions, each in a transaction of the level.
fn world(level: &str) -> World {
    let db = database();
    let mut c = Client::new(&db);
    c.ok("CREATE TABLE test (id INT PRIMARY KEY, value INT)");
    c.ok("INSERT INTO test VALUES (1, 10), (2, 20)");
    let t = [0; 3].map(|_| Remote::new(&db));
    for s in &t {
        s.ok(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}"));
        s.ok("SET innodb_lock_wait_timeout = 5, lock_wait_timeout = 5");
        s.ok("BEGIN");
    }
    World { db, t }
}

fn rows(text: &[&str]) -> Answer {
    Ok(text.iter().map(|t| t.to_string()).collect())
}

const ALL: &str = "SELECT * FROM test ORDER BY id";

impl World {
    fn committed(&self) -> Vec<String> {
        Client::new(&self.db).ok(ALL)
    }
}

#[test]
fn g0_write_cycles() {
    for level in LEVELS {
        let w = world(level);
        let [t1, t2, _] = &w.t;
        t1.ok("UPDATE test SET value = 11 WHERE id = 1");
        t2.start("UPDATE test SET value = 12 WHERE id = 1");
        assert!(t2.blocks(), "{level}");
        t1.ok("UPDATE test SET value = 21 WHERE id = 2");
        t1.ok("COMMIT");
        assert_eq!(t2.answer(), Ok(vec![]), "{level}");
        t2.ok("UPDATE test SET value = 22 WHERE id = 2");
        t2.ok("COMMIT");
        assert_eq!(w.committed(), ["1,12", "2,22"], "{level}");
    }
}

#[test]
fn g1a_aborted_reads() {
    for (level, seen) in [("READ UNCOMMITTED", "1,101"), ("READ COMMITTED", "1,10"), ("REPEATABLE READ", "1,10")] {
        let w = world(level);
        let [t1, t2, _] = &w.t;
        t1.ok("UPDATE test SET value = 101 WHERE id = 1");
        assert_eq!(t2.run(ALL), rows(&[seen, "2,20"]), "{level}");
        t1.ok("ROLLBACK");
        assert_eq!(t2.run(ALL), rows(&["1,10", "2,20"]), "{level}");
    }
    let w = world("SERIALIZABLE");
    let [t1, t2, _] = &w.t;
    t1.ok("UPDATE test SET value = 101 WHERE id = 1");
    t2.start(ALL);
    assert!(t2.blocks());
    t1.ok("ROLLBACK");
    assert_eq!(t2.answer(), rows(&["1,10", "2,20"]));
}

#[test]
fn g1b_intermediate_reads() {
    let seen = [
        ("READ UNCOMMITTED", "1,101", "1,11"),
        ("READ COMMITTED", "1,10", "1,11"),
        ("REPEATABLE READ", "1,10", "1,10"),
    ];
    for (level, between, after) in seen {
        let w = world(level);
        let [t1, t2, _] = &w.t;
        t1.ok("UPDATE test SET value = 101 WHERE id = 1");
        assert_eq!(t2.run(ALL), rows(&[between, "2,20"]), "{level}");
        t1.ok("UPDATE test SET value = 11 WHERE id = 1");
        t1.ok("COMMIT");
        assert_eq!(t2.run(ALL), rows(&[after, "2,20"]), "{level}");
    }
}

#[test]
fn g1c_circular_information_flow() {
    for (level, one, two) in
        [("READ UNCOMMITTED", "1,11", "2,22"), ("READ COMMITTED", "1,10", "2,20"), ("REPEATABLE READ", "1,10", "2,20")]
    {
        let w = world(level);
        let [t1, t2, _] = &w.t;
        t1.ok("UPDATE test SET value = 11 WHERE id = 1");
        t2.ok("UPDATE test SET value = 22 WHERE id = 2");
        assert_eq!(t1.run("SELECT * FROM test WHERE id = 2"), rows(&[two]), "{level}");
        assert_eq!(t2.run("SELECT * FROM test WHERE id = 1"), rows(&[one]), "{level}");
    }
    let w = world("SERIALIZABLE");
    let [t1, t2, _] = &w.t;
    t1.ok("UPDATE test SET value = 11 WHERE id = 1");
    t2.ok("UPDATE test SET value = 22 WHERE id = 2");
    t1.start("SELECT * FROM test WHERE id = 2");
    assert!(t1.blocks());
    assert_eq!(t2.run("SELECT * FROM test WHERE id = 1"), Err(1213));
    assert_eq!(t1.answer(), rows(&["2,20"]));
    t1.ok("COMMIT");
}

#[test]
fn serializable_statements_by_key_let_others_have_other_rows() {
    let w = world("SERIALIZABLE");
    let [t1, t2, t3] = &w.t;
    t1.ok("UPDATE test SET value = 11 WHERE id = 1");
    t2.ok("UPDATE test SET value = 22 WHERE id = 2 AND value = 20");
    t3.ok("INSERT INTO test VALUES (3, 30)");
    assert_eq!(t3.run("SELECT value, id FROM test WHERE id = 3"), rows(&["30,3"]));
    t2.ok("COMMIT");
    t2.ok("BEGIN");
    t2.ok("DELETE FROM test WHERE id = 2");
    t2.ok("SET innodb_lock_wait_timeout = 1");
    for of_one_row in ["DELETE FROM test WHERE id = 1", "SELECT * FROM test WHERE id = 1 AND value > 100"] {
        assert_eq!(t2.run(of_one_row), Err(1205), "{of_one_row}");
    }
    for of_any_row in
        ["UPDATE test SET value = 7 WHERE value = 30", "SELECT id FROM test", "DELETE FROM test WHERE id > 7"]
    {
        assert_eq!(t2.run(of_any_row), Err(1205), "{of_any_row}");
    }
    assert_eq!(t2.run("SELECT * FROM test WHERE value = 30 FOR UPDATE NOWAIT"), Err(3572));
    assert_eq!(t2.run("SELECT * FROM test WHERE id = 1 FOR UPDATE NOWAIT"), Err(3572));
    assert_eq!(t2.run("SELECT * FROM test FOR UPDATE SKIP LOCKED"), rows(&[]));
    t2.ok("UPDATE test SET value = 7 WHERE id IN (2, 9)");
    t1.ok("COMMIT");
    t3.ok("COMMIT");
    t3.ok("BEGIN");
    t3.ok("SET innodb_lock_wait_timeout = 1");
    // What was looked for in vain stays away.
    assert_eq!(t3.run("INSERT INTO test VALUES (9, 90)"), Err(1205));
    assert_eq!(t3.run("UPDATE test SET id = 9 WHERE id = 1"), Err(1205));
    t3.ok("UPDATE test SET value = 8 WHERE id = 1");
    t2.ok("COMMIT");
    t3.ok("COMMIT");
    assert_eq!(w.committed(), ["1,8", "3,30"]);
}

#[test]
fn serializable_reads_by_key_keep_rows_and_their_absence() {
    let w = world("SERIALIZABLE");
    let [t1, t2, t3] = &w.t;
    t3.ok("SET innodb_lock_wait_timeout = 1");
    assert_eq!(t1.run("SELECT value FROM test WHERE id = 1"), rows(&["10"]));
    assert_eq!(t1.run("SELECT * FROM test WHERE id IN (1, 5) ORDER BY id LIMIT 3"), rows(&["1,10"]));
    assert_eq!(t2.run("SELECT value + 1 FROM test WHERE 1 = id"), rows(&["11"]));
    t3.ok("UPDATE test SET value = 21 WHERE id = 2");
    t3.ok("INSERT INTO test VALUES (4, 40)");
    for held in ["UPDATE test SET value = 1 WHERE id = 1", "INSERT INTO test VALUES (5, 50)", "DELETE FROM test"] {
        assert_eq!(t3.run(held), Err(1205), "{held}");
    }
    t3.ok("COMMIT");
    // Both shared it: one is to lose.
    t1.start("UPDATE test SET value = 12 WHERE id = 1");
    assert!(t1.blocks());
    assert_eq!(t2.run("UPDATE test SET value = value * 2 WHERE id = 1"), Err(1213));
    t1.answer().expect("the other one is gone");
    t1.ok("COMMIT");
    assert_eq!(w.committed(), ["1,12", "2,21", "4,40"]);
    // Not all that is named is a key: the table is locked.
    for (t1_reads, t2_waits) in [
        ("SELECT COUNT(*) FROM test", true),
        ("SELECT * FROM test WHERE id = 1 OR value = 7", true),
        ("SELECT * FROM test WHERE id = 1 AND EXISTS (SELECT 1 FROM test WHERE value = 7)", true),
        ("SELECT * FROM test WHERE id = (SELECT MIN(value) FROM test)", true),
        ("SELECT a.id FROM test a JOIN test b ON a.id = b.value WHERE a.id = 1", true),
        ("SELECT value FROM test WHERE id = 1 INTO @x", true),
        ("TABLE test", true),
        ("DO (SELECT MAX(value) FROM test)", true),
        ("SELECT * FROM test WHERE id = 99", false),
        ("SELECT id, value AS v FROM test t WHERE value = 12 AND id = '1'", false),
        ("SELECT * FROM test WHERE id = 1 FOR UPDATE", false),
        ("SELECT * FROM test WHERE value = 40 FOR SHARE", true),
        ("SELECT MAX(id) FROM test WHERE id = 1 FOR SHARE", true),
        ("UPDATE test SET value = value + (SELECT COUNT(*) FROM (TABLE test) d) WHERE id = 1", true),
        ("DELETE FROM test WHERE id = 99 LIMIT 1", false),
    ] {
        t1.ok("BEGIN");
        t1.ok(t1_reads);
        t3.ok("BEGIN");
        let changed = t3.run("UPDATE test SET value = 41 WHERE id = 4");
        assert_eq!(changed.is_err(), t2_waits, "{t1_reads}");
        t3.ok("ROLLBACK");
        t1.ok("ROLLBACK");
    }
}

/// What was read stays read, also where what followed is taken back.
#[test]
fn serializable_keeps_what_it_read_beyond_rollbacks_of_a_part() {
    let w = world("SERIALIZABLE");
    let [t1, t2, _] = &w.t;
    t2.ok("SET innodb_lock_wait_timeout = 1");
    t1.ok("SAVEPOINT a");
    t1.ok("UPDATE test SET value = 11 WHERE id = 1 AND value = 10");
    t1.ok("UPDATE test SET value = 12 WHERE id = 1");
    t1.ok("ROLLBACK TO a");
    assert_eq!(t1.run("UPDATE test SET value = 9223372036854775807 + 1 WHERE id = 2"), Err(1690));
    t1.ok("ROLLBACK TO a");
    assert_eq!(t2.run("UPDATE test SET value = 5 WHERE id = 1"), Err(1205));
    assert_eq!(t2.run("UPDATE test SET value = 5 WHERE id = 2"), Err(1205));
    assert_eq!(t1.run("SELECT value FROM test WHERE id = 1"), rows(&["10"]));
    t1.ok("UPDATE test SET value = 13 WHERE id = 1");
    t1.ok("ROLLBACK TO a");
    t1.ok("COMMIT");
    t2.ok("UPDATE test SET value = 6");
    t2.ok("COMMIT");
    assert_eq!(w.committed(), ["1,6", "2,6"]);
}

#[test]
fn prepared_statements_keep_to_serializable() {
    let w = world("SERIALIZABLE");
    let [t1, t2, _] = &w.t;
    t1.ok("SET @k = 1, @n = 9");
    t1.ok("PREPARE r FROM 'SELECT value FROM test WHERE id = ?'");
    t1.ok("PREPARE u FROM 'UPDATE test SET value = value + 1 WHERE id = ?'");
    t2.ok("SET innodb_lock_wait_timeout = 1");
    for _ in 0..3 {
        assert_eq!(t1.run("EXECUTE r USING @k"), rows(&["10"]));
        t1.ok("EXECUTE u USING @n");
        t2.ok("UPDATE test SET value = 21 WHERE id = 2");
        assert_eq!(t2.run("UPDATE test SET value = 7 WHERE id = 1"), Err(1205));
        assert_eq!(t2.run("INSERT INTO test VALUES (9, 9)"), Err(1205));
        for t in [t1, t2] {
            t.ok("ROLLBACK");
            t.ok("BEGIN");
        }
    }
    // A value that is no key of the column's type.
    t1.ok("SET @k = 1.5");
    t1.ok("EXECUTE u USING @k");
    assert_eq!(t2.run("UPDATE test SET value = 7 WHERE id = 2"), Err(1205));
}

/// Rows that foreign keys lead to are locked one by one; changes of children wait for those who read them all.
#[test]
fn serializable_and_foreign_keys() {
    let w = world("SERIALIZABLE");
    let [t1, t2, t3] = &w.t;
    t1.ok("CREATE TABLE child (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES test (id) ON DELETE CASCADE)");
    t1.ok("INSERT INTO child VALUES (1, 1), (2, 2)");
    for t in [t1, t2, t3] {
        t.ok("SET innodb_lock_wait_timeout = 1");
        t.ok("BEGIN");
    }
    t1.ok("UPDATE child SET parent = 2 WHERE id = 1");
    t2.ok("UPDATE test SET value = 11 WHERE id = 1");
    assert_eq!(t2.run("DELETE FROM test WHERE id = 2"), Err(1205), "t1 refers to it");
    t1.ok("ROLLBACK");
    t2.ok("ROLLBACK");
    t1.ok("BEGIN");
    assert_eq!(t1.run("SELECT COUNT(*) FROM child"), rows(&["2"]));
    assert_eq!(t2.run("DELETE FROM test WHERE id = 2"), Err(1205), "t1 has read all children");
    t1.ok("COMMIT");
    t2.ok("DELETE FROM test WHERE id = 2");
    t2.ok("COMMIT");
    assert_eq!(t3.run("SELECT * FROM child"), rows(&["1,1"]));
}

#[test]
fn otv_observed_transaction_vanishes() {
    let seen =
        [("READ COMMITTED", ["1,11", "2,19", "2,18", "1,12"]), ("REPEATABLE READ", ["1,11", "2,19", "2,19", "1,11"])];
    for (level, seen) in seen {
        let w = world(level);
        let [t1, t2, t3] = &w.t;
        t1.ok("UPDATE test SET value = 11 WHERE id = 1");
        t1.ok("UPDATE test SET value = 19 WHERE id = 2");
        t2.start("UPDATE test SET value = 12 WHERE id = 1");
        assert!(t2.blocks());
        t1.ok("COMMIT");
        t2.answer().expect("t1 is through");
        assert_eq!(t3.run("SELECT * FROM test WHERE id = 1"), rows(&[seen[0]]), "{level}");
        t2.ok("UPDATE test SET value = 18 WHERE id = 2");
        assert_eq!(t3.run("SELECT * FROM test WHERE id = 2"), rows(&[seen[1]]), "{level}");
        t2.ok("COMMIT");
        assert_eq!(t3.run("SELECT * FROM test WHERE id = 2"), rows(&[seen[2]]), "{level}");
        assert_eq!(t3.run("SELECT * FROM test WHERE id = 1"), rows(&[seen[3]]), "{level}");
    }
}

#[test]
fn pmp_predicate_many_preceders() {
    for (level, after) in [("READ COMMITTED", &["3,30"][..]), ("REPEATABLE READ", &[])] {
        let w = world(level);
        let [t1, t2, _] = &w.t;
        assert_eq!(t1.run("SELECT * FROM test WHERE value = 30"), rows(&[]));
        t2.ok("INSERT INTO test VALUES (3, 30)");
        t2.ok("COMMIT");
        assert_eq!(t1.run("SELECT * FROM test WHERE value % 3 = 0"), rows(after), "{level}");
    }
    let w = world("SERIALIZABLE");
    let [t1, t2, _] = &w.t;
    assert_eq!(t1.run("SELECT * FROM test WHERE value = 30"), rows(&[]));
    t2.start("INSERT INTO test VALUES (3, 30)");
    assert!(t2.blocks(), "a phantom");
    assert_eq!(t1.run("SELECT * FROM test WHERE value % 3 = 0"), rows(&[]));
    t1.ok("COMMIT");
    t2.answer().expect("t1 is through");
}

#[test]
fn pmp_with_write_predicate() {
    // A delete acts on newest versions, a read on the snapshot: as MySQL has it.
    for (level, after) in [("READ COMMITTED", &["2,30"][..]), ("REPEATABLE READ", &["2,20"])] {
        let w = world(level);
        let [t1, t2, _] = &w.t;
        t1.ok("UPDATE test SET value = value + 10");
        assert_eq!(t2.run(ALL), rows(&["1,10", "2,20"]), "{level}");
        t2.start("DELETE FROM test WHERE value = 20");
        assert!(t2.blocks(), "{level}");
        t1.ok("COMMIT");
        t2.answer().expect("t1 is through");
        assert_eq!(t2.run(ALL), rows(after), "{level}");
        t2.ok("COMMIT");
        assert_eq!(w.committed(), ["2,30"], "{level}");
    }
}

#[test]
fn p4_lost_update() {
    for level in ["READ COMMITTED", "REPEATABLE READ"] {
        let w = world(level);
        let [t1, t2, _] = &w.t;
        t1.ok("SELECT * FROM test WHERE id = 1");
        t2.ok("SELECT * FROM test WHERE id = 1");
        t1.ok("UPDATE test SET value = 11 WHERE id = 1");
        t2.start("UPDATE test SET value = 11 WHERE id = 1");
        assert!(t2.blocks(), "{level}");
        t1.ok("COMMIT");
        t2.answer().expect("not prevented, as in MySQL");
        // What a single statement computes is never lost.
        t2.ok("UPDATE test SET value = value + 1 WHERE id = 1");
        t2.ok("COMMIT");
        assert_eq!(w.committed()[0], "1,12");
    }
    let w = world("SERIALIZABLE");
    let [t1, t2, _] = &w.t;
    t1.ok("SELECT * FROM test WHERE id = 1");
    t2.ok("SELECT * FROM test WHERE id = 1");
    t1.start("UPDATE test SET value = 11 WHERE id = 1");
    assert!(t1.blocks());
    assert_eq!(t2.run("UPDATE test SET value = 11 WHERE id = 1"), Err(1213));
    t1.answer().expect("the other was the victim");
    t1.ok("COMMIT");
}

#[test]
fn g_single_read_skew() {
    for (level, after) in [("READ COMMITTED", "2,18"), ("REPEATABLE READ", "2,20")] {
        let w = world(level);
        let [t1, t2, _] = &w.t;
        assert_eq!(t1.run("SELECT * FROM test WHERE id = 1"), rows(&["1,10"]));
        t2.ok("UPDATE test SET value = 12 WHERE id = 1");
        t2.ok("UPDATE test SET value = 18 WHERE id = 2");
        t2.ok("COMMIT");
        assert_eq!(t1.run("SELECT * FROM test WHERE id = 2"), rows(&[after]), "{level}");
        // A write predicate sees newest versions.
        t1.ok("DELETE FROM test WHERE value = 20");
        assert_eq!(t1.run("SELECT * FROM test WHERE id = 2"), rows(&[after]), "{level}");
    }
    let w = world("SERIALIZABLE");
    let [t1, t2, _] = &w.t;
    assert_eq!(t1.run("SELECT * FROM test WHERE id = 1"), rows(&["1,10"]));
    t2.start("UPDATE test SET value = 12 WHERE id = 1");
    assert!(t2.blocks());
    assert_eq!(t1.run("SELECT * FROM test WHERE id = 2"), rows(&["2,20"]));
    t1.ok("COMMIT");
    t2.answer().expect("t1 is through");
}

#[test]
fn g2_item_write_skew_and_g2_anti_dependency_cycles() {
    for (first, second) in [
        ("UPDATE test SET value = 11 WHERE id = 1", "UPDATE test SET value = 21 WHERE id = 2"),
        ("INSERT INTO test VALUES (3, 30)", "INSERT INTO test VALUES (4, 42)"),
    ] {
        let read = "SELECT * FROM test WHERE value % 3 = 0 OR id IN (1, 2)";
        let w = world("REPEATABLE READ");
        let [t1, t2, _] = &w.t;
        t1.ok(read);
        t2.ok(read);
        t1.ok(first);
        t2.ok(second);
        t1.ok("COMMIT");
        t2.ok("COMMIT");
        let w = world("SERIALIZABLE");
        let [t1, t2, _] = &w.t;
        t1.ok(read);
        t2.ok(read);
        t1.start(first);
        assert!(t1.blocks());
        assert_eq!(t2.run(second), Err(1213), "{second}");
        t1.answer().expect("the other was the victim");
        t1.ok("COMMIT");
        // The victim's transaction is gone as a whole.
        assert_eq!(t2.run("ROLLBACK"), Ok(vec![]));
    }
}

#[test]
fn g2_two_edges() {
    let w = world("SERIALIZABLE");
    let [t1, t2, t3] = &w.t;
    t1.ok(ALL);
    t2.start("UPDATE test SET value = value + 5 WHERE id = 2");
    assert!(t2.blocks());
    t3.start(ALL);
    t1.ok("UPDATE test SET value = 0 WHERE id = 1");
    t1.ok("COMMIT");
    let written = t2.answer();
    if written.is_ok() {
        t2.ok("COMMIT");
    }
    let seen = t3.answer().expect("it only reads");
    assert!(seen == ["1,0", "2,20"] || seen == ["1,0", "2,25"], "{seen:?}");
}

#[test]
fn consistent_snapshots_and_read_only_transactions() {
    let w = world("REPEATABLE READ");
    let [t1, t2, t3] = &w.t;
    t1.ok("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    t2.ok("START TRANSACTION");
    t3.ok("UPDATE test SET value = 99 WHERE id = 1");
    t3.ok("COMMIT");
    assert_eq!(t1.run(ALL), rows(&["1,10", "2,20"]), "taken at the start");
    assert_eq!(t2.run(ALL), rows(&["1,99", "2,20"]), "taken at the first read");
    // The transaction's own change is seen in its snapshot, on top of what others did.
    t1.ok("UPDATE test SET value = value + 1 WHERE id = 1");
    assert_eq!(t1.run(ALL), rows(&["1,100", "2,20"]));
    t1.ok("ROLLBACK");
    t1.ok("START TRANSACTION READ ONLY");
    assert_eq!(t1.run("INSERT INTO test VALUES (5, 5)"), Err(1792));
    assert_eq!(t1.run("DROP TABLE test"), Err(1792));
    assert_eq!(t1.run("SELECT * FROM test WHERE id = 1 FOR UPDATE"), Err(1792));
    assert_eq!(t1.run("SELECT id FROM test WHERE id = 1 FOR SHARE"), rows(&["1"]));
    assert_eq!(t1.run("SET TRANSACTION READ WRITE"), Err(1568));
    t1.ok("COMMIT AND CHAIN");
    assert_eq!(t1.run("DELETE FROM test"), Err(1792), "the chained one is read-only too");
    t1.ok("COMMIT");
    t1.ok("SET SESSION TRANSACTION READ ONLY");
    assert_eq!(t1.run("INSERT INTO test VALUES (5, 5)"), Err(1792));
    t1.ok("START TRANSACTION READ WRITE");
    t1.ok("INSERT INTO test VALUES (5, 5)");
    t1.ok("ROLLBACK");
}

#[test]
fn set_transaction_holds_for_one_transaction() {
    let db = database();
    let (mut a, mut b) = (Client::new(&db), Client::new(&db));
    a.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    b.ok("BEGIN");
    b.ok("INSERT INTO t VALUES (1)");
    a.ok("SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED");
    assert_eq!(a.ok("SELECT @@transaction_isolation"), ["REPEATABLE-READ"]);
    a.ok("SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED");
    a.ok("BEGIN");
    assert_eq!(a.ok("SELECT COUNT(*) FROM t"), ["1"]);
    a.ok("COMMIT");
    a.ok("BEGIN");
    assert_eq!(a.ok("SELECT COUNT(*) FROM t"), ["0"]);
    a.ok("COMMIT");
    // A statement outside of a transaction is one.
    a.ok("SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED");
    assert_eq!(a.ok("SELECT COUNT(*) FROM t"), ["1"]);
    assert_eq!(a.ok("SELECT COUNT(*) FROM t"), ["0"]);
    a.ok("SET TRANSACTION READ ONLY");
    // What is refused is no transaction.
    assert_eq!(a.err("INSERT INTO t VALUES (7)"), 1792);
    assert_eq!(a.err("SELECT nothing FROM t"), 1054);
    assert_eq!(a.err("INSERT INTO t VALUES (7)"), 1792);
    assert_eq!(a.ok("SELECT COUNT(*) FROM t"), ["0"]);
    a.ok("INSERT INTO t VALUES (7)");
    a.ok("SET SESSION transaction_isolation = 'READ-UNCOMMITTED'");
    assert_eq!(a.ok("SELECT COUNT(*) FROM t"), ["2"]);
    b.ok("ROLLBACK");
    assert_eq!(a.ok("SELECT COUNT(*) FROM t"), ["1"]);
}

#[test]
fn completion_types_and_savepoints() {
    let db = database();
    let (mut a, mut b) = (Client::new(&db), Client::new(&db));
    a.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    a.ok("BEGIN");
    assert!(a.last_ok().status.in_transaction);
    a.ok("INSERT INTO t VALUES (1)");
    a.ok("COMMIT AND CHAIN");
    assert!(a.last_ok().status.in_transaction);
    assert_eq!(b.ok("SELECT COUNT(*) FROM t"), ["1"]);
    a.ok("SAVEPOINT one");
    a.ok("INSERT INTO t VALUES (2)");
    a.ok("SAVEPOINT two");
    a.ok("INSERT INTO t VALUES (3)");
    a.ok("ROLLBACK TO SAVEPOINT ONE");
    assert_eq!(a.err("ROLLBACK TO two"), 1305);
    assert_eq!(a.ok("SELECT COUNT(*) FROM t"), ["1"]);
    a.ok("RELEASE SAVEPOINT one");
    assert_eq!(a.err("RELEASE SAVEPOINT one"), 1305);
    a.ok("SET completion_type = 'CHAIN'");
    a.ok("ROLLBACK");
    assert!(a.last_ok().status.in_transaction);
    a.ok("COMMIT AND NO CHAIN");
    assert!(!a.last_ok().status.in_transaction);
    a.ok("SET completion_type = 0");
    // A statement that fails is undone alone; a duplicate does not end the transaction.
    a.ok("BEGIN");
    a.ok("INSERT INTO t VALUES (4)");
    assert_eq!(a.err("INSERT INTO t VALUES (5), (1)"), 1062);
    a.ok("COMMIT");
    assert_eq!(b.ok("SELECT a FROM t ORDER BY a"), ["1", "4"]);
    // DDL commits.
    a.ok("BEGIN");
    a.ok("INSERT INTO t VALUES (6)");
    a.ok("CREATE TABLE u (a INT)");
    a.ok("ROLLBACK");
    assert_eq!(b.ok("SELECT COUNT(*) FROM t"), ["3"]);
    a.ok("SET autocommit = 0");
    a.ok("INSERT INTO t VALUES (7)");
    assert_eq!(b.ok("SELECT COUNT(*) FROM t"), ["3"]);
    a.ok("SET autocommit = 1");
    assert_eq!(b.ok("SELECT COUNT(*) FROM t"), ["4"]);
    a.ok("COMMIT RELEASE");
    assert!(a.session.process().killed().is_some());
}
