//! Indexes are made while others read and write.

mod common;

use common::{Client, Remote, database};
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn indexes_are_built_beside_writers() {
    let db = database();
    let mut a = Client::new(&db);
    a.ok("CREATE TABLE t (id INT PRIMARY KEY, v INT, s VARCHAR(20) NOT NULL)");
    let values: Vec<String> = (0..3000).map(|i| format!("({i},{},'w{}')", i * 7 % 1000, i % 50)).collect();
    a.ok(&format!("INSERT INTO t VALUES {}", values.join(",")));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for w in 0..2u32 {
            let (db, stop) = (&db, &stop);
            scope.spawn(move || {
                let mut c = Client::new(db);
                let mut i = 100_000 * (w + 1);
                while !stop.load(Ordering::Relaxed) {
                    i += 1;
                    let statements = [
                        "BEGIN".to_string(),
                        format!("INSERT INTO t VALUES ({i}, {}, 'n{}')", i % 1000, i % 9),
                        format!("UPDATE t SET v = v + 1000, s = 'u' WHERE id = {}", i * 2 % 3000 + w),
                        format!("DELETE FROM t WHERE id = {}", i - 20),
                        if i % 3 == 0 { "ROLLBACK" } else { "COMMIT" }.to_string(),
                    ];
                    for sql in &statements {
                        match c.run(sql) {
                            Ok(_) => {}
                            // Writers and DDL may wait for each other; then the writer begins anew.
                            Err(1213) => break,
                            Err(e) => panic!("{sql}: {e}"),
                        }
                    }
                }
            });
        }
        for round in 0..6 {
            a.ok("CREATE INDEX iv ON t (v)");
            a.ok("ALTER TABLE t ADD KEY sv (s DESC, v), ADD UNIQUE KEY vi (v, id)");
            for condition in ["v BETWEEN 100 AND 300", "v > 1500", "v IS NULL OR v < 5"] {
                a.ok("START TRANSACTION");
                let by = |hint: &str| format!("SELECT COUNT(*), SUM(id) FROM t {hint} WHERE {condition}");
                let scan = a.ok(&by("IGNORE INDEX (iv, vi, sv)"));
                assert_eq!(a.ok(&by("FORCE INDEX (iv)")), scan, "round {round}: {condition}");
                assert_eq!(a.ok(&by("FORCE INDEX (vi)")), scan, "round {round}: {condition}");
                a.ok("COMMIT");
            }
            a.ok("ALTER TABLE t DROP KEY iv, DROP KEY sv, DROP KEY vi");
        }
        stop.store(true, Ordering::Relaxed);
    });
    for id in db.store().table_ids() {
        assert_eq!(db.store().table(id).expect("listed").check(), Vec::<String>::new());
    }
}

#[test]
fn building_does_not_wait_for_readers_and_writers_but_publishing_does() {
    let db = database();
    let (mut a, b) = (Client::new(&db), Remote::new(&db));
    a.ok("CREATE TABLE t (a INT NOT NULL, b INT)");
    a.ok("INSERT INTO t VALUES (1, 1), (2, 2)");
    a.ok("BEGIN");
    a.ok("INSERT INTO t VALUES (1, 3)");
    b.start("ALTER TABLE t ADD UNIQUE KEY (a)");
    assert!(b.blocks());
    // The other row with the key goes before the transaction ends: then there is no duplicate.
    a.ok("DELETE FROM t WHERE b = 1");
    a.ok("COMMIT");
    assert_eq!(b.answer().map(|_| ()), Ok(()));
    assert_eq!(a.run("INSERT INTO t VALUES (2, 9)"), Err(1062));
    a.ok("BEGIN");
    a.ok("INSERT INTO t VALUES (3, 3)");
    b.start("ALTER TABLE t ADD c INT NOT NULL DEFAULT 5");
    assert!(b.blocks());
    a.ok("ROLLBACK");
    assert_eq!(b.answer().map(|_| ()), Ok(()));
    assert_eq!(a.ok("SELECT * FROM t ORDER BY a"), ["1,3,5", "2,2,5"]);
    a.ok("CREATE TABLE u (a INT)");
    assert_eq!(a.run("ALTER TABLE t ADD d INT, RENAME TO u"), Err(1050));
    a.ok("ALTER TABLE t ADD d INT, RENAME TO w");
    assert_eq!(a.ok("SELECT * FROM w ORDER BY a"), ["1,3,5,~", "2,2,5,~"]);
    assert_eq!(a.run("SELECT * FROM t"), Err(1146));
}

/// The tables at both ends of a foreign key are locked while a column that it names gets another name.
#[test]
fn a_renamed_column_waits_for_those_who_refer_to_it() {
    let db = database();
    let mut a = Client::new(&db);
    a.ok("CREATE TABLE p (id INT PRIMARY KEY)");
    a.ok("CREATE TABLE c (id INT, FOREIGN KEY (id) REFERENCES p (id))");
    a.ok("INSERT INTO p VALUES (1), (2)");
    let b = Remote::new(&db);
    a.ok("BEGIN");
    a.ok("SELECT * FROM c");
    b.start("ALTER TABLE p RENAME COLUMN id TO nr");
    assert!(b.blocks());
    a.ok("COMMIT");
    assert_eq!(b.answer().map(|_| ()), Ok(()));
    a.ok("INSERT INTO c VALUES (1)");
    assert_eq!(a.run("INSERT INTO c VALUES (3)"), Err(1452));
    assert_eq!(a.run("DELETE FROM p WHERE nr = 1"), Err(1451));
    assert!(a.ok("SHOW CREATE TABLE c")[0].contains("REFERENCES `p` (`nr`)"));
}
