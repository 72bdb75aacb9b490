//! Metadata locks, LOCK TABLES, FLUSH TABLES WITH READ LOCK, GET_LOCK.

mod common;

use common::{Client, Remote, database};
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn ddl_waits_for_transactions_that_use_the_table() {
    let db = database();
    let (mut a, b) = (Client::new(&db), Remote::new(&db));
    a.ok("CREATE TABLE t (a INT)");
    for ddl in ["TRUNCATE TABLE t", "DROP TABLE t", "RENAME TABLE t TO u", "DROP DATABASE d"] {
        a.ok("CREATE TABLE IF NOT EXISTS t (a INT)");
        a.ok("BEGIN");
        a.ok("INSERT INTO t VALUES (1)");
        b.start(ddl);
        assert!(b.blocks(), "{ddl}");
        assert_eq!(a.ok("SELECT COUNT(*) FROM t"), ["1"], "its own lock does not stop it: {ddl}");
        a.ok("COMMIT");
        b.answer().unwrap_or_else(|e| panic!("{ddl}: {e}"));
        if ddl.starts_with("RENAME") {
            assert_eq!(a.ok("SELECT COUNT(*) FROM u"), ["1"]);
        }
    }
}

/// Who finds a table missing keeps nobody from making it, nor from the other tables of the statement.
#[test]
fn a_statement_without_its_table_keeps_no_locks() {
    let db = database();
    let (mut a, b) = (Client::new(&db), Remote::new(&db));
    a.ok("CREATE TABLE t (a INT)");
    a.ok("CREATE TABLE u (a INT)");
    a.ok("BEGIN");
    a.ok("INSERT INTO t VALUES (1)");
    for missing in ["SELECT * FROM u, missing", "INSERT INTO missing VALUES (1)", "DELETE FROM nowhere.missing"] {
        assert!(matches!(a.err(missing), 1146 | 1049), "{missing}");
    }
    b.ok("DROP TABLE u");
    b.ok("CREATE TABLE missing (a INT)");
    b.start("TRUNCATE TABLE t");
    assert!(b.blocks(), "what earlier statements locked stays");
    a.ok("COMMIT");
    assert_eq!(b.answer(), Ok(vec![]));
}

#[test]
fn a_waiting_ddl_holds_up_newcomers_and_gives_up_in_time() {
    let db = database();
    let (mut a, b, c) = (Client::new(&db), Remote::new(&db), Remote::new(&db));
    a.ok("CREATE TABLE t (a INT)");
    a.ok("BEGIN");
    a.ok("SELECT * FROM t");
    b.ok("SET lock_wait_timeout = 1");
    b.start("TRUNCATE TABLE t");
    assert!(b.blocks());
    c.start("SELECT * FROM t");
    assert!(c.blocks(), "it would overtake");
    let state = a.ok("SHOW PROCESSLIST");
    assert!(state.iter().any(|r| r.contains("Waiting for table metadata lock")), "{state:?}");
    assert_eq!(b.answer(), Err(1205));
    assert_eq!(c.answer(), Ok(vec![]));
    // KILL ends the wait too.
    b.ok("SET lock_wait_timeout = 100");
    b.start("DROP TABLE t");
    assert!(b.blocks());
    a.ok(&format!("KILL QUERY {}", b.process_id));
    assert_eq!(b.answer(), Err(1317));
    assert_eq!(c.ok("SELECT * FROM t"), Vec::<String>::new());
}

#[test]
fn locks_of_metadata_and_rows_deadlock_together() {
    let db = database();
    let (a, b) = (Remote::new(&db), Remote::new(&db));
    a.ok("CREATE TABLE t (a INT PRIMARY KEY)");
    a.ok("CREATE TABLE u (a INT PRIMARY KEY)");
    a.ok("BEGIN");
    a.ok("INSERT INTO t VALUES (1)");
    b.ok("BEGIN");
    b.ok("INSERT INTO u VALUES (1)");
    b.ok("INSERT INTO u VALUES (2)");
    // a waits for b's key; b for a's table.
    a.start("INSERT INTO u VALUES (1)");
    assert!(a.blocks());
    b.start("TRUNCATE TABLE t");
    // The DDL commits b first, so that a goes on: a duplicate.
    assert_eq!(a.answer(), Err(1062));
    assert!(b.blocks());
    a.ok("COMMIT");
    assert_eq!(b.answer(), Ok(vec![]));
    // Two tables locked by two sessions, and each wants the other's: through LOCK TABLES nothing can be added.
    a.ok("LOCK TABLES t WRITE");
    assert_eq!(a.run("SELECT * FROM u"), Err(1100));
    a.ok("UNLOCK TABLES");
    // Named locks among each other.
    assert_eq!(a.ok("SELECT GET_LOCK('x', 10)"), ["1"]);
    assert_eq!(b.ok("SELECT GET_LOCK('y', 10)"), ["1"]);
    a.start("SELECT GET_LOCK('y', 20)");
    assert!(a.blocks());
    assert_eq!(b.run("SELECT GET_LOCK('X', 20)"), Err(3058));
    assert_eq!(b.ok("SELECT RELEASE_ALL_LOCKS()"), ["1"]);
    assert_eq!(a.answer(), Ok(vec!["1".into()]));
    // A named lock and a row.
    b.ok("BEGIN");
    b.ok("INSERT INTO u VALUES (7)");
    b.start("SELECT GET_LOCK('x', 20)");
    assert!(b.blocks());
    // A statement outside of a transaction weighs less than a named lock.
    assert_eq!(a.run("INSERT INTO u VALUES (7)"), Err(1213));
    assert_eq!(a.ok("SELECT RELEASE_LOCK('x')"), ["1"]);
    assert_eq!(b.answer(), Ok(vec!["1".into()]));
}

#[test]
fn lock_tables() {
    let db = database();
    let (mut a, b) = (Client::new(&db), Remote::new(&db));
    a.ok("CREATE TABLE t (a INT)");
    a.ok("CREATE TABLE u (a INT)");
    a.ok("LOCK TABLES t READ");
    assert_eq!(a.ok("SELECT * FROM t"), Vec::<String>::new());
    assert_eq!(a.err("INSERT INTO t VALUES (1)"), 1099);
    assert_eq!(a.err("SELECT * FROM u"), 1100);
    assert_eq!(a.err("DROP TABLE u"), 1100);
    assert_eq!(a.err("TRUNCATE TABLE t"), 1099);
    b.ok("SELECT * FROM t");
    b.start("INSERT INTO t VALUES (2)");
    assert!(b.blocks());
    a.ok("UNLOCK TABLES");
    assert_eq!(b.answer(), Ok(vec![]));
    a.ok("LOCK TABLES t WRITE, u READ");
    a.ok("INSERT INTO t VALUES (3)");
    b.start("SELECT * FROM t");
    assert!(b.blocks());
    // A transaction's begin unlocks.
    a.ok("BEGIN");
    assert_eq!(b.answer().map(|r| r.len()), Ok(2));
    a.ok("ROLLBACK");
    assert_eq!(a.err("LOCK TABLES t READ, missing READ"), 1146);
    b.ok("INSERT INTO t VALUES (4)");
    // The end of the session unlocks.
    a.ok("LOCK TABLES t WRITE");
    b.start("SELECT COUNT(*) FROM t");
    assert!(b.blocks());
    drop(a);
    assert_eq!(b.answer(), Ok(vec!["3".into()]));
}

#[test]
fn the_global_read_lock() {
    let db = database();
    let (mut a, b) = (Client::new(&db), Remote::new(&db));
    a.ok("CREATE TABLE t (a INT)");
    a.ok("FLUSH TABLES WITH READ LOCK");
    assert_eq!(a.err("INSERT INTO t VALUES (1)"), 1223);
    b.ok("SELECT * FROM t");
    b.start("INSERT INTO t VALUES (1)");
    assert!(b.blocks());
    let state = a.ok("SHOW PROCESSLIST");
    assert!(state.iter().any(|r| r.contains("Waiting for global read lock")), "{state:?}");
    a.ok("UNLOCK TABLES");
    assert_eq!(b.answer(), Ok(vec![]));
    // It waits for statements, not for transactions; these cannot commit under it.
    b.ok("BEGIN");
    b.ok("INSERT INTO t VALUES (2)");
    a.ok("FLUSH TABLES WITH READ LOCK");
    assert_eq!(b.ok("SELECT COUNT(*) FROM t"), ["2"]);
    b.ok("SET lock_wait_timeout = 1");
    assert_eq!(b.run("INSERT INTO t VALUES (3)"), Err(1205));
    assert_eq!(b.run("COMMIT"), Err(1205));
    b.ok("SET lock_wait_timeout = 100");
    b.start("COMMIT");
    assert!(b.blocks());
    assert_eq!(a.ok("SELECT COUNT(*) FROM t"), ["1"]);
    a.ok("UNLOCK TABLES");
    assert_eq!(b.answer(), Ok(vec![]));
    assert_eq!(a.ok("SELECT COUNT(*) FROM t"), ["2"]);
    // What changed nothing may end, and so may what is taken back.
    b.ok("BEGIN");
    b.ok("SELECT * FROM t FOR SHARE");
    a.ok("FLUSH TABLES WITH READ LOCK");
    b.ok("COMMIT");
    a.ok("UNLOCK TABLES");
    b.ok("BEGIN");
    b.ok("INSERT INTO t VALUES (4)");
    a.ok("FLUSH TABLES WITH READ LOCK");
    b.ok("ROLLBACK");
    a.ok("UNLOCK TABLES");
}

#[test]
fn named_locks() {
    let db = database();
    let (mut a, mut b) = (Client::new(&db), Client::new(&db));
    assert_eq!(a.ok("SELECT GET_LOCK('one', 0), GET_LOCK('ONE', 0), GET_LOCK('two', 0)"), ["1,1,1"]);
    assert_eq!(b.ok("SELECT GET_LOCK('one', 0), IS_FREE_LOCK('one'), IS_FREE_LOCK('three')"), ["0,0,1"]);
    let id = a.session.process().id();
    assert_eq!(b.ok("SELECT IS_USED_LOCK('one'), IS_USED_LOCK('three')"), [format!("{id},~")]);
    assert_eq!(b.ok("SELECT RELEASE_LOCK('one'), RELEASE_LOCK('three')"), ["0,~"]);
    assert_eq!(a.ok("SELECT RELEASE_LOCK('one')"), ["1"]);
    assert_eq!(b.ok("SELECT GET_LOCK('one', 0)"), ["0"], "it was taken twice");
    assert_eq!(a.ok("SELECT RELEASE_ALL_LOCKS()"), ["2"]);
    assert_eq!(b.ok("SELECT GET_LOCK('one', 0)"), ["1"]);
    assert_eq!(a.err("SELECT GET_LOCK('', 0)"), 3057);
    assert_eq!(a.err("SELECT GET_LOCK(NULL, 0)"), 3057);
    assert_eq!(a.err(&format!("SELECT GET_LOCK('{}', 0)", "x".repeat(65))), 3057);
    drop(b);
    assert_eq!(a.ok("SELECT IS_FREE_LOCK('one')"), ["1"]);
}

#[test]
fn locks_are_shown() {
    let db = database();
    let (mut a, b) = (Client::new(&db), Remote::new(&db));
    a.ok("CREATE TABLE t (id INT PRIMARY KEY, v INT)");
    a.ok("INSERT INTO t VALUES (1, 10), (2, 20)");
    a.ok("BEGIN");
    a.ok("UPDATE t SET v = 11 WHERE id = 1");
    a.ok("SELECT * FROM t WHERE id = 2 FOR SHARE");
    b.start("UPDATE t SET v = 12 WHERE id = 1");
    assert!(b.blocks());
    let (mine, other) = (a.session.process().id(), b.process_id);
    assert_eq!(
        a.ok("SELECT trx_mysql_thread_id, trx_state, trx_isolation_level FROM information_schema.innodb_trx"),
        [format!("{mine},RUNNING,REPEATABLE READ"), format!("{other},LOCK WAIT,REPEATABLE READ")]
    );
    assert_eq!(
        a.ok("SELECT THREAD_ID, OBJECT_SCHEMA, OBJECT_NAME, LOCK_MODE, LOCK_STATUS, LOCK_DATA \
              FROM performance_schema.data_locks ORDER BY 1, 6"),
        [
            format!("{mine},d,t,X,REC_NOT_GAP,GRANTED,1"),
            format!("{mine},d,t,S,REC_NOT_GAP,GRANTED,2"),
            format!("{other},d,t,X,REC_NOT_GAP,WAITING,1"),
        ]
    );
    assert_eq!(
        a.ok("SELECT w.REQUESTING_THREAD_ID, w.BLOCKING_THREAD_ID, l.LOCK_STATUS FROM performance_schema.data_lock_waits w \
              JOIN performance_schema.data_locks l ON l.ENGINE_LOCK_ID = w.BLOCKING_ENGINE_LOCK_ID"),
        [format!("{other},{mine},GRANTED")]
    );
    assert_eq!(
        a.ok("SELECT waiting_pid, blocking_pid, locked_table, waiting_query FROM sys.innodb_lock_waits"),
        [format!("{other},{mine},`d`.`t`,UPDATE t SET v = 12 WHERE id = 1")]
    );
    let locks = "SELECT OBJECT_NAME, LOCK_TYPE, LOCK_STATUS FROM performance_schema.metadata_locks \
                 WHERE OBJECT_TYPE = 'TABLE' AND OWNER_THREAD_ID = CONNECTION_ID()";
    assert!(a.ok(locks).contains(&"t,SHARED_WRITE,GRANTED".to_owned()));
    let status = a.ok("SHOW ENGINE INNODB STATUS").concat();
    assert!(status.contains("EXCLUSIVE lock on row 1 of table d.t"), "{status}");
    // A deadlock, and what is told of it.
    a.ok("ROLLBACK");
    b.answer().expect("a is through");
    b.ok("BEGIN");
    b.ok("UPDATE t SET v = 1 WHERE id = 1");
    b.ok("UPDATE t SET v = 2 WHERE id = 1");
    a.ok("BEGIN");
    a.ok("UPDATE t SET v = 2 WHERE id = 2");
    b.start("UPDATE t SET v = 1 WHERE id = 2");
    assert!(b.blocks());
    assert_eq!(a.err("UPDATE t SET v = 2 WHERE id = 1"), 1213);
    b.answer().expect("the other was the victim");
    let status = a.ok("SHOW ENGINE INNODB STATUS").concat();
    assert!(status.contains("LATEST DETECTED DEADLOCK") && status.contains("WE ROLL BACK TRANSACTION"), "{status}");
    // Without detection both wait for the time limit.
    a.ok("SET GLOBAL innodb_deadlock_detect = OFF");
    a.ok("SET innodb_lock_wait_timeout = 1");
    a.ok("BEGIN");
    assert_eq!(a.err("UPDATE t SET v = 2 WHERE id = 1"), 1205);
    a.ok("COMMIT");
    a.ok("SET GLOBAL innodb_deadlock_detect = ON");
}

/// A table that was made anew has no past: who looks into the past is told so, instead of seeing it empty.
#[test]
fn older_snapshots_do_not_know_newer_tables() {
    let db = database();
    let mut a = Client::new(&db);
    let mut b = Client::new(&db);
    b.ok("CREATE TABLE t (id INT PRIMARY KEY, a INT)");
    b.ok("CREATE TABLE other (a INT)");
    b.ok("INSERT INTO t VALUES (1, 1), (2, 2)");
    for change in ["ALTER TABLE t ADD COLUMN x INT DEFAULT 5", "OPTIMIZE TABLE t", "CREATE TABLE u SELECT * FROM t"] {
        a.ok("START TRANSACTION WITH CONSISTENT SNAPSHOT");
        b.ok(change);
        let table = if change.starts_with("CREATE") { "u" } else { "t" };
        assert_eq!(a.err(&format!("SELECT * FROM {table}")), 1412, "{change}");
        assert_eq!(a.err(&format!("SELECT COUNT(*) FROM {table}")), 1412, "{change}");
        assert_eq!(a.err(&format!("SELECT a FROM {table} WHERE id = 1")), 1412, "{change}");
        assert_eq!(a.ok("SELECT COUNT(*) FROM other").len(), 1);
        a.ok("COMMIT");
        assert_eq!(a.ok(&format!("SELECT COUNT(*) FROM {table}")), ["2"]);
    }
    a.ok("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    b.ok("TRUNCATE u");
    assert_eq!(a.err("SELECT * FROM u"), 1412);
    a.ok("COMMIT");
    assert_eq!(a.ok("SELECT COUNT(*) FROM u"), ["0"]);
    a.ok("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    b.ok("ALTER TABLE t ADD KEY (a)");
    assert_eq!(a.ok("SELECT COUNT(*) FROM t"), ["2"]);
    a.ok("CREATE TEMPORARY TABLE own (a INT)");
    a.ok("INSERT INTO own VALUES (1)");
    assert_eq!(a.ok("SELECT * FROM own"), ["1"]);
}

/// Who describes what is there locks nothing and waits for nobody.
#[test]
fn information_schema_stands_apart_from_locks() {
    let db = database();
    let mut a = Client::new(&db);
    let mut b = Client::new(&db);
    a.ok("CREATE TABLE t (a INT)");
    a.ok("CREATE TABLE u (a INT, b INT)");
    a.ok("CREATE VIEW v AS SELECT * FROM u");
    a.ok("LOCK TABLES t WRITE, u WRITE");
    b.ok("SET lock_wait_timeout = 1");
    let columns = "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_NAME = 'v'";
    for c in [&mut a, &mut b] {
        assert_eq!(c.ok(columns), ["a", "b"]);
        assert_eq!(c.ok("SELECT 'next'"), ["next"]);
        assert_eq!(c.ok("SELECT IS_UPDATABLE FROM information_schema.VIEWS"), ["YES"]);
        assert_eq!(c.ok("SELECT 'next'"), ["next"]);
        assert_eq!(c.ok("SHOW COLUMNS FROM v").len(), 2);
        assert_eq!(c.ok("SHOW CREATE VIEW v").len(), 1);
    }
    assert_eq!(a.err("SELECT * FROM v"), 1100);
    assert_eq!(b.err("SELECT * FROM v"), 1205);
}

#[test]
fn statements_have_time_limits() {
    let db = database();
    let mut a = Client::new(&db);
    a.ok("CREATE TABLE t (a INT)");
    a.ok("INSERT INTO t VALUES (1)");
    assert_eq!(a.err("SELECT /*+ MAX_EXECUTION_TIME(50) */ SLEEP(10) FROM t"), 3024);
    assert_eq!(a.ok("SELECT /*+ MAX_EXECUTION_TIME(50) */ SLEEP(10)"), ["1"]);
    a.ok("SELECT /*+ MAX_EXECUTION_TIME(5000) */ SLEEP(0)");
    a.ok("SET max_execution_time = 50");
    assert_eq!(a.err("SELECT 1 FROM t WHERE SLEEP(10)"), 3024);
    assert_eq!(a.ok("SELECT SLEEP(10)"), ["1"]);
    assert_eq!(a.err("SELECT SLEEP(10), 1"), 3024);
    assert_eq!(a.err("SELECT SLEEP(10) UNION SELECT 2"), 3024);
    a.ok("SELECT 1");
    // Only SELECT has a limit.
    a.ok("DO SLEEP(0.1)");
    a.ok("SET max_execution_time = 0");
    assert_eq!(a.ok("SELECT SLEEP(0.1)"), ["0"]);
}

#[test]
fn a_killed_sleep() {
    let db = database();
    let mut a = Client::new(&db);
    let mut b = Client::new(&db);
    a.ok("CREATE TABLE t (a INT)");
    a.ok("INSERT INTO t VALUES (1)");
    let id = a.ok("SELECT CONNECTION_ID()").remove(0);
    let is_one = || Ok(vec!["1".to_owned()]);
    for (query, answer) in [
        // It is an error unless the statement does nothing else.
        ("SELECT SLEEP(20)", is_one()),
        ("SELECT SLEEP(20) AS s FROM DUAL", is_one()),
        ("DO SLEEP(20)", Ok(vec![])),
        ("SELECT SLEEP(20), 1", Err(1317)),
        ("SELECT 1 + SLEEP(20)", Err(1317)),
        ("SELECT SLEEP(20) FROM t", Err(1317)),
        ("SELECT 1 FROM t WHERE SLEEP(20)", Err(1317)),
        ("INSERT INTO t SELECT SLEEP(20)", Err(1317)),
    ] {
        std::thread::scope(|s| {
            let sleeper = s.spawn(|| a.run(query));
            while b.ok(&format!("SELECT INFO FROM information_schema.PROCESSLIST WHERE ID = {id}")) != [query] {
                std::thread::yield_now();
            }
            // It is to be asleep, not being planned.
            std::thread::sleep(std::time::Duration::from_millis(100));
            b.ok(&format!("KILL QUERY {id}"));
            assert_eq!(sleeper.join().expect("no panic"), answer, "{query}");
        });
    }
    assert_eq!(a.ok("SELECT COUNT(*) FROM t"), ["1"]);
}

/// Sets the flag when its thread ends, however it does.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A session that holds nothing waits for DDL; it is in nobody's way and so never the victim of a deadlock.
#[test]
fn single_statements_are_no_victims_of_ddl() {
    let db = database();
    let mut c = Client::new(&db);
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, v INT)");
    c.ok("INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)");
    let stop = AtomicBool::new(false);
    std::thread::scope(|s| {
        for thread in 0..4 {
            let (db, stop) = (&db, &stop);
            s.spawn(move || {
                let _stop = StopAtEnd(stop);
                let mut c = Client::new(db);
                let statements = [
                    "SELECT v FROM t WHERE id = 2".to_owned(),
                    format!("UPDATE t SET v = v + 1 WHERE id = {}", thread % 3 + 1),
                    format!("REPLACE INTO t VALUES ({}, 5)", thread + 10),
                    "SELECT COUNT(*) FROM t a JOIN t b ON a.id = b.v FOR UPDATE".to_owned(),
                    format!("DELETE FROM t WHERE id = {}", thread + 10),
                ];
                while !stop.load(Ordering::Relaxed) {
                    for sql in &statements {
                        c.ok(sql);
                    }
                }
            });
        }
        let _stop = StopAtEnd(&stop);
        for _ in 0..150 {
            c.ok("ALTER TABLE t ADD KEY kv (v)");
            c.ok("ALTER TABLE t DROP KEY kv");
        }
    });
}

/// A view that a transaction used stays what it is until the end, whether or not the plan was cached.
#[test]
fn cached_plans_keep_views_as_they_are() {
    let db = database();
    let (mut a, b) = (Client::new(&db), Remote::new(&db));
    a.ok("CREATE TABLE t (a INT PRIMARY KEY, b INT)");
    a.ok("INSERT INTO t VALUES (1, 1), (2, 2)");
    for (use_it, ddl) in [
        ("SELECT a FROM v WHERE a = 1", "ALTER VIEW v AS SELECT a, b, 9 FROM t"),
        ("UPDATE v SET b = b + 1 WHERE a = 1", "DROP VIEW v"),
        ("SELECT b FROM v WHERE a = 1 FOR UPDATE", "CREATE OR REPLACE VIEW v AS SELECT 1"),
    ] {
        a.ok("CREATE OR REPLACE VIEW v AS SELECT * FROM t");
        (0..4).for_each(|_| drop(a.ok(use_it)));
        a.ok("BEGIN");
        a.ok(use_it);
        b.start(ddl);
        assert!(b.blocks(), "{ddl}");
        a.ok("COMMIT");
        assert_eq!(b.answer(), Ok(vec![]), "{ddl}");
    }
}

/// Who has deleted a parent's row without knowing of children is waited for before there can be any.
#[test]
fn a_new_foreign_key_waits_for_writers_of_its_parent() {
    let db = database();
    let (mut a, b) = (Client::new(&db), Remote::new(&db));
    a.ok("CREATE TABLE p (id INT PRIMARY KEY)");
    a.ok("CREATE TABLE c (p INT)");
    a.ok("INSERT INTO p VALUES (1), (2), (3)");
    a.ok("INSERT INTO c VALUES (2)");
    for (id, ddl, then) in [
        (1, "CREATE TABLE n (p INT, FOREIGN KEY (p) REFERENCES p (id))", Ok(vec![])),
        (2, "ALTER TABLE c ADD FOREIGN KEY (p) REFERENCES p (id)", Err(1452)),
    ] {
        a.ok("BEGIN");
        a.ok(&format!("DELETE FROM p WHERE id = {id}"));
        b.start(ddl);
        assert!(b.blocks(), "{ddl}");
        a.ok("COMMIT");
        assert_eq!(b.answer(), then, "{ddl}");
        a.ok("BEGIN");
        a.ok("SELECT * FROM p");
        b.ok("CREATE TABLE reads_go_on (p INT, FOREIGN KEY (p) REFERENCES p (id))");
        b.ok("DROP TABLE reads_go_on");
        a.ok("COMMIT");
    }
    assert_eq!(b.run("INSERT INTO n VALUES (1)"), Err(1452));
    a.ok("BEGIN");
    a.ok("DELETE FROM p WHERE id = 3");
    b.ok("CREATE TABLE IF NOT EXISTS n (p INT, FOREIGN KEY (p) REFERENCES p (id))");
    a.ok("COMMIT");
}

/// What foreign keys lead to is locked with the tables that will be written.
#[test]
fn lock_tables_and_foreign_keys() {
    let db = database();
    let mut c = Client::new(&db);
    for sql in [
        "CREATE TABLE p (id INT PRIMARY KEY)",
        "CREATE TABLE r (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id))",
        "CREATE TABLE x (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE)",
        "INSERT INTO p VALUES (1), (2), (3)",
        "INSERT INTO r VALUES (1, 1)",
        "INSERT INTO x VALUES (1, 1), (2, 2)",
    ] {
        c.ok(sql);
    }
    let (a, b) = (Remote::new(&db), Remote::new(&db));
    b.ok("SET lock_wait_timeout = 1, innodb_lock_wait_timeout = 1");
    a.ok("LOCK TABLES p WRITE");
    assert_eq!(b.run("SELECT * FROM x"), Err(1205));
    assert_eq!(b.run("UPDATE r SET id = 2"), Err(1205));
    assert_eq!(b.ok("SELECT * FROM r"), ["1,1"]);
    assert_eq!(a.run("DELETE FROM p WHERE id = 1"), Err(1451));
    a.ok("DELETE FROM p WHERE id = 2");
    a.ok("INSERT INTO p VALUES (4)");
    a.ok("UNLOCK TABLES");
    assert_eq!(b.ok("SELECT * FROM x"), ["1,1"]);
    a.ok("LOCK TABLES r WRITE");
    a.ok("INSERT INTO r VALUES (3, 3)");
    assert_eq!(a.run("INSERT INTO r VALUES (4, 99)"), Err(1452));
    assert_eq!(b.run("DELETE FROM p WHERE id = 4"), Err(1205));
    assert_eq!(b.ok("SELECT COUNT(*) FROM p"), ["3"]);
    a.ok("UNLOCK TABLES");
    // Cascades write, so who locked their tables against writers is waited for.
    a.ok("LOCK TABLES x READ");
    b.ok("DELETE FROM r");
    assert_eq!(b.run("DELETE FROM p WHERE id = 1"), Err(1205));
    assert_eq!(a.ok("SELECT * FROM x"), ["1,1"]);
    a.ok("UNLOCK TABLES");
    b.ok("DELETE FROM p WHERE id = 1");
    assert_eq!(a.ok("SELECT * FROM x"), Vec::<String>::new());
    // A definition that cannot be had fails the statement before it does anything.
    a.ok("LOCK TABLES p WRITE");
    assert_eq!(b.run("INSERT INTO r VALUES (9, 3)"), Err(1205));
    a.ok("UNLOCK TABLES");
    assert_eq!(b.ok("SELECT COUNT(*) FROM r"), ["0"]);
}

#[test]
fn lock_tables_and_what_comes_and_goes() {
    let db = database();
    let (a, b) = (Remote::new(&db), Remote::new(&db));
    a.ok("CREATE TABLE t (id INT)");
    a.ok("CREATE TABLE u (id INT)");
    a.ok("LOCK TABLES t WRITE, u READ");
    assert_eq!(a.run("CREATE TABLE v (id INT)"), Err(1100));
    assert_eq!(a.run("CREATE TABLE v LIKE t"), Err(1100));
    assert_eq!(a.run("CREATE TABLE t (id INT)"), Err(1050));
    a.ok("CREATE TEMPORARY TABLE v (id INT)");
    a.ok("DROP TABLE t");
    assert_eq!(b.run("SELECT * FROM t"), Err(1146), "nobody holds it any more");
    assert_eq!(a.run("SELECT * FROM t"), Err(1100));
    a.ok("UNLOCK TABLES");
    // Temporary tables need no locks.
    a.ok("CREATE TEMPORARY TABLE u (id INT)");
    a.ok("LOCK TABLES u READ");
    b.ok("INSERT INTO u VALUES (1)");
    assert_eq!(a.ok("SELECT * FROM u"), Vec::<String>::new());
    a.ok("UNLOCK TABLES");
}

/// A statement that changes something goes on when the transaction it waits for commits, though the global read lock
/// waits for the statement.
#[test]
fn the_global_read_lock_waits_for_statements_and_they_for_commits() {
    let db = database();
    let [a, b, c] = [0; 3].map(|_| Remote::new(&db));
    a.ok("CREATE TABLE t (id INT PRIMARY KEY, v INT)");
    a.ok("INSERT INTO t VALUES (1, 1)");
    a.ok("BEGIN");
    a.ok("UPDATE t SET v = 2");
    b.start("UPDATE t SET v = v + 1");
    assert!(b.blocks());
    c.start("FLUSH TABLES WITH READ LOCK");
    assert!(c.blocks());
    a.ok("COMMIT");
    assert_eq!(b.answer(), Ok(vec![]));
    assert_eq!(c.answer(), Ok(vec![]));
    assert_eq!(c.ok("SELECT v FROM t"), ["3"]);
    // LOCK TABLES for reading goes with it, for writing it does not.
    c.ok("LOCK TABLES t READ");
    assert_eq!(c.run("LOCK TABLES t WRITE"), Err(1223));
    a.start("UPDATE t SET v = 4");
    assert!(a.blocks());
    c.ok("UNLOCK TABLES");
    assert_eq!(a.answer(), Ok(vec![]));
    // Who has locked tables for writing is waited for.
    a.ok("LOCK TABLES t WRITE");
    c.start("FLUSH TABLES WITH READ LOCK");
    assert!(c.blocks());
    a.ok("UPDATE t SET v = 5");
    a.ok("UNLOCK TABLES");
    assert_eq!(c.answer(), Ok(vec![]));
    c.ok("UNLOCK TABLES");
    a.ok("UPDATE t SET v = 6");
}

#[test]
fn lock_tables_names_each_table_once_and_follows_it() {
    let db = database();
    let (a, b) = (Remote::new(&db), Remote::new(&db));
    a.ok("CREATE TABLE t (id INT PRIMARY KEY)");
    assert_eq!(a.run("LOCK TABLES t READ, t WRITE"), Err(1066));
    assert_eq!(a.run("LOCK TABLES t AS x READ, t AS x READ"), Err(1066));
    a.ok("LOCK TABLES t WRITE, t AS x READ");
    a.ok("RENAME TABLE t TO u");
    a.ok("INSERT INTO u VALUES (1)");
    b.start("SELECT * FROM u");
    assert!(b.blocks());
    a.ok("UNLOCK TABLES");
    assert_eq!(b.answer(), Ok(vec!["1".into()]));
}

#[test]
fn making_a_table_that_is_there_waits_for_nobody() {
    let db = database();
    let (a, b) = (Remote::new(&db), Remote::new(&db));
    a.ok("CREATE TABLE t (id INT PRIMARY KEY)");
    b.ok("SET lock_wait_timeout = 1");
    a.ok("BEGIN");
    a.ok("INSERT INTO t VALUES (1)");
    b.ok("CREATE TABLE IF NOT EXISTS t (id INT)");
    assert_eq!(b.run("CREATE TABLE t (id INT)"), Err(1050));
    assert_eq!(b.run("DROP TABLE t"), Err(1205));
    a.ok("COMMIT");
}

/// SET TRANSACTION means the next transaction; a query without tables is none.
#[test]
fn queries_without_tables_are_no_transactions() {
    let db = database();
    let (a, b) = (Remote::new(&db), Remote::new(&db));
    a.ok("CREATE TABLE t (id INT PRIMARY KEY)");
    for (between, seen) in [("SELECT @@transaction_isolation", "1"), ("SELECT * FROM t", "0")] {
        a.ok("SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
        a.ok(between);
        a.ok("BEGIN");
        assert_eq!(a.ok("SELECT COUNT(*) FROM t"), ["0"]);
        b.ok("INSERT INTO t VALUES (1)");
        assert_eq!(a.ok("SELECT COUNT(*) FROM t"), [seen], "{between}");
        a.ok("COMMIT");
        b.ok("DELETE FROM t");
    }
}

/// A statement that waits for a definition to change goes on with what the name means then, and has that locked.
#[test]
fn who_waited_sees_what_names_mean_now() {
    let db = database();
    let (mut a, b, c) = (Client::new(&db), Remote::new(&db), Remote::new(&db));
    for sql in [
        "CREATE TABLE t (a INT)",
        "INSERT INTO t VALUES (1)",
        "CREATE TABLE u (a INT, b INT)",
        "INSERT INTO u VALUES (2, 3)",
        "CREATE VIEW v AS SELECT * FROM t",
    ] {
        a.ok(sql);
    }
    a.ok("BEGIN");
    a.ok("SELECT * FROM v");
    b.start("CREATE OR REPLACE VIEW v AS SELECT * FROM u");
    assert!(b.blocks());
    c.ok("BEGIN");
    c.start("SELECT * FROM v");
    assert!(c.blocks());
    a.ok("COMMIT");
    assert_eq!(b.answer(), Ok(vec![]));
    assert_eq!(c.answer(), Ok(vec!["2,3".into()]));
    b.ok("DROP TABLE t");
    b.ok("SET lock_wait_timeout = 1");
    assert_eq!(b.run("DROP TABLE u"), Err(1205), "it is locked, though the view led elsewhere at first");
    c.ok("COMMIT");
    // A table that takes another one's name.
    a.ok("CREATE TABLE next (a INT, b INT, c INT)");
    a.ok("BEGIN");
    a.ok("SELECT * FROM u");
    b.ok("SET lock_wait_timeout = 100");
    b.start("RENAME TABLE u TO old, next TO u");
    assert!(b.blocks());
    c.start("INSERT INTO u VALUES (1, 2, 3)");
    assert!(c.blocks());
    a.ok("COMMIT");
    assert_eq!(b.answer(), Ok(vec![]));
    assert_eq!(c.answer(), Ok(vec![]));
    assert_eq!(c.ok("SELECT COUNT(*) FROM old"), ["1"]);
}

/// Each table has the lock of its own use: what a statement changes through a view is locked for writing, what it only
/// reads is not.
#[test]
fn every_table_is_locked_as_it_is_used() {
    let db = database();
    let (mut a, b) = (Client::new(&db), Remote::new(&db));
    for sql in [
        "CREATE TABLE t (a INT PRIMARY KEY)",
        "CREATE TABLE u (a INT PRIMARY KEY)",
        "INSERT INTO t VALUES (1)",
        "INSERT INTO u VALUES (1)",
        "CREATE VIEW v AS SELECT a FROM t WHERE a IN (SELECT a FROM u)",
    ] {
        a.ok(sql);
    }
    b.ok("SET lock_wait_timeout = 1, innodb_lock_wait_timeout = 1");
    a.ok("LOCK TABLES t READ");
    for change in ["UPDATE v SET a = 2", "DELETE FROM v", "INSERT INTO v VALUES (5)"] {
        assert_eq!(b.run(change), Err(1205), "{change}");
    }
    a.ok("UNLOCK TABLES");
    a.ok("LOCK TABLES u READ");
    b.ok("UPDATE v SET a = 1");
    assert_eq!(b.ok("SELECT * FROM t WHERE a IN (SELECT a FROM u) FOR UPDATE"), ["1"]);
    assert_eq!(b.run("SELECT * FROM u FOR UPDATE"), Err(1205));
    assert_eq!(b.run("SELECT * FROM t WHERE a IN (SELECT a FROM u FOR UPDATE)"), Err(1205));
    a.ok("UNLOCK TABLES");
    a.ok("LOCK TABLES t WRITE, u READ");
    assert_eq!(a.ok("SELECT * FROM t WHERE a IN (SELECT a FROM u) FOR UPDATE"), ["1"]);
    assert_eq!(a.err("SELECT * FROM t, u FOR UPDATE"), 1099);
    a.ok("UNLOCK TABLES");
    // Words of the text mean nothing: a column may be called as a query begins.
    a.ok("CREATE TABLE w (`select` INT, b INT)");
    b.ok("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE");
    a.ok("BEGIN");
    a.ok("INSERT INTO w VALUES (1, 1)");
    b.ok("INSERT INTO w (`select`, b) VALUES (2, 2)");
    b.ok("INSERT INTO w SELECT 3, 3");
    assert_eq!(b.run("INSERT INTO t SELECT b FROM w"), Err(1205));
    a.ok("COMMIT");
}

/// Locks are taken in one order, so statements that name the same tables in different orders do not wait for each
/// other.
#[test]
fn one_order_of_locks_for_all() {
    let db = database();
    let mut a = Client::new(&db);
    a.ok("CREATE TABLE t (a INT)");
    a.ok("CREATE TABLE u (a INT)");
    std::thread::scope(|s| {
        for (first, second) in [("t", "u"), ("u", "t")] {
            let db = &db;
            s.spawn(move || {
                let mut c = Client::new(db);
                for _ in 0..100 {
                    c.ok(&format!("LOCK TABLES {first} WRITE, {second} WRITE"));
                    c.ok("UNLOCK TABLES");
                    c.ok(&format!("INSERT INTO {first} SELECT * FROM {second}"));
                    c.ok(&format!("RENAME TABLE {first} TO x, {second} TO {first}, x TO {second}"));
                }
            });
        }
    });
}
