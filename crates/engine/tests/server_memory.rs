//! What the process may hold (max_server_memory) bounds tables and statements alike.

mod common;

use common::Client;
use engine::{Database, Options};
use memory::Metered;
use mimalloc::MiMalloc;
use std::sync::{Arc, Mutex};

#[global_allocator]
static ALLOCATOR: Metered<MiMalloc> = Metered(MiMalloc);

unsafe extern "C" {
    safe fn mi_collect(force: bool);
}

const CAPACITY_EXCEEDED: u16 = 3170;

/// The bound is the process's: one test at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn database() -> (Arc<Database>, Client) {
    database_of(1 << 30)
}

fn database_of(query_memory_bytes: usize) -> (Arc<Database>, Client) {
    memory::set_collector(|| mi_collect(true));
    let options = Options { query_memory_bytes: Some(query_memory_bytes), ..Options::default() };
    let db = common::database_with(options);
    let c = Client::new(&db);
    (db, c)
}

/// The process may hold `more` bytes than its heap does.
fn leave(c: &mut Client, more: usize) {
    mi_collect(true);
    let held = memory::process_bytes().expect("it is metered");
    c.ok(&format!("SET GLOBAL max_server_memory = {}", held + more));
}

/// Where the process has no room for more rows, statements that bring some fail, and all else goes on.
#[test]
fn tables_do_not_grow_past_the_servers_memory() {
    let _alone = ONE_AT_A_TIME.lock();
    let (_db, mut c) = database();
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, s LONGTEXT)");
    c.ok("INSERT INTO t VALUES (1, 'a'), (2, 'b')");
    c.ok("CREATE TABLE long_ones (x LONGTEXT)");
    c.ok("INSERT INTO long_ones VALUES (REPEAT('x', 20000000))");
    leave(&mut c, 0);
    c.ok("BEGIN");
    c.ok("UPDATE t SET id = 3 WHERE id = 2");
    let long = "REPEAT('x', 20000000)";
    assert_eq!(c.run(&format!("INSERT INTO t VALUES (4, {long})")), Err(CAPACITY_EXCEEDED));
    assert_eq!(c.run(&format!("INSERT INTO t VALUES (5, 'c'), (6, {long})")), Err(CAPACITY_EXCEEDED));
    assert_eq!(c.run(&format!("UPDATE t SET s = {long} WHERE s > ''")), Err(CAPACITY_EXCEEDED));
    assert!(matches!(c.run("INSERT INTO t SELECT 4, x FROM long_ones"), Err(1114 | CAPACITY_EXCEEDED)));
    assert_eq!(c.run("CREATE TABLE u SELECT * FROM t"), Err(1114));
    assert_eq!(c.run("ALTER TABLE t ADD COLUMN n INT FIRST"), Err(1114));
    assert_eq!(c.ok("SELECT * FROM t ORDER BY id"), ["1,a", "3,b"]);
    c.ok("DELETE FROM t WHERE id = 1");
    c.ok("SET GLOBAL max_server_memory = DEFAULT");
    c.ok("INSERT INTO t SELECT 4, x FROM long_ones");
    assert_eq!(c.ok("SELECT id, LENGTH(s) FROM t ORDER BY id"), ["3,1", "4,20000000"]);
    c.ok("CREATE TABLE u SELECT * FROM t");
}

/// A table fills until the bound, not a megabyte more or less by what the system tells late; what was freed is there
/// again.
#[test]
fn what_is_freed_makes_room_at_once() {
    let _alone = ONE_AT_A_TIME.lock();
    let (_db, mut c) = database();
    c.ok("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, s LONGTEXT)");
    c.ok("SET @x = REPEAT('x', 4000000)");
    leave(&mut c, 100 << 20);
    let mut fill = || (0..100).take_while(|_| c.run("INSERT INTO t (s) VALUES (@x)").is_ok()).count();
    let first = fill();
    assert!((15..=27).contains(&first), "{first} rows of 4 MB in 100 MiB");
    c.ok("TRUNCATE TABLE t");
    let mut fill = || (0..100).take_while(|_| c.run("INSERT INTO t (s) VALUES (@x)").is_ok()).count();
    let second = fill();
    assert!(second + 3 >= first, "{second} after {first}");
    c.ok("SET GLOBAL max_server_memory = DEFAULT");
}

#[test]
fn a_statement_holds_no_more_strings_than_it_may() {
    let _alone = ONE_AT_A_TIME.lock();
    let (db, mut c) = database_of(64 << 20);
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, doc LONGTEXT)");
    c.ok("INSERT INTO t VALUES (1, REPEAT('x', 20000000))");
    assert_eq!(c.ok("SELECT LENGTH(REPEAT('x', 60000000))"), ["60000000"]);
    // What is made on the way counts, too.
    let two = "LENGTH(REPEAT('x', 40000000)) + LENGTH(REPEAT('y', 40000000))";
    let nested = "CONCAT(REPEAT('x', 30000000), REPEAT('y', 30000000))";
    for e in [two, nested] {
        assert_eq!(c.run(&format!("SELECT {e} IS NULL")), Err(CAPACITY_EXCEEDED), "{e}");
        assert_eq!(c.run(&format!("DO {e}")), Err(CAPACITY_EXCEEDED), "{e}");
        assert_eq!(c.run(&format!("SET @a = {e}")), Err(CAPACITY_EXCEEDED), "{e}");
        assert_eq!(c.run(&format!("INSERT INTO t SELECT 2, {e}")), Err(CAPACITY_EXCEEDED), "{e}");
    }
    assert_eq!(
        c.run("SELECT REPEAT('x', 30000000), REPEAT('y', 30000000), REPEAT('z', 30000000)"),
        Err(CAPACITY_EXCEEDED)
    );
    assert_eq!(c.ok("SELECT id FROM t WHERE CONCAT(doc, 'y') < CONCAT(doc, 'z', id)"), ["1"]);
    assert_eq!(c.run("SELECT id FROM t WHERE CONCAT(doc, doc, doc) < CONCAT(doc, 'y')"), Err(CAPACITY_EXCEEDED));
    // Many rows are taken in parts.
    c.ok("CREATE TABLE many (id INT PRIMARY KEY)");
    c.ok("INSERT INTO many WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 900) SELECT n FROM r");
    assert_eq!(c.ok("SELECT SUM(LENGTH(CONCAT(REPEAT('x', 500000), id))) FROM many"), ["450002592"]);
    assert_eq!(c.ok("SELECT COUNT(*) FROM t"), ["1"]);
    drop(c);
    assert_eq!(db.memory().used_bytes(), 0);
}

/// Whatever makes long strings asks for room: none of these ends the process, and none passes its bound.
#[test]
fn no_function_passes_the_servers_memory() {
    let _alone = ONE_AT_A_TIME.lock();
    let (_db, mut c) = database();
    c.ok("SET @s = REPEAT('aB', 500000)");
    c.ok("CREATE TABLE t (id INT PRIMARY KEY, s LONGTEXT)");
    c.ok("INSERT INTO t VALUES (1, @s), (2, @s), (3, @s)");
    leave(&mut c, 1900 << 10);
    let strings = [
        "REPEAT('a', 4000000)",
        "SPACE(4000000)",
        "LPAD('a', 4000000, 'xy')",
        "RPAD('a', 4000000, 'xy')",
        "CONCAT(@s, @s, @s)",
        "CONCAT_WS(',', @s, @s, @s)",
        "REPLACE(@s, 'B', 'xyz')",
        "REGEXP_REPLACE(@s, 'B', 'xyz')",
        "INSERT(@s, 3, 1, @s)",
        "HEX(@s)",
        "TO_BASE64(@s)",
        "QUOTE(CONCAT(@s, 'x'))",
        "UPPER(CONCAT(@s, 'x'))",
        "REVERSE(CONCAT(@s, 'x'))",
        "MAKE_SET(7, @s, @s, @s)",
        "EXPORT_SET(5, @s, 'n', ',', 8)",
        "CAST(CONCAT(@s, @s) AS BINARY(4000000))",
        "CONVERT(CONCAT(@s, @s) USING latin1)",
        "DATE_FORMAT('2020-01-01', CONCAT(REPEAT('%W', 125000), @s))",
        "IF(RAND() < 2, CONCAT(@s, @s), 'a')",
        "(SELECT GROUP_CONCAT(s) FROM t)",
        "WEIGHT_STRING(@s)",
        "@b := CONCAT(@s, 'x')",
    ];
    c.ok("SET group_concat_max_len = 1000000000");
    for e in strings {
        let before = memory::process_bytes().expect("it is metered");
        assert_eq!(c.run(&format!("SELECT LENGTH({e})")), Err(CAPACITY_EXCEEDED), "{e}");
        assert_eq!(c.run(&format!("SET @a = {e}")), Err(CAPACITY_EXCEEDED), "{e}");
        let after = memory::process_bytes().expect("it is metered");
        assert!(after < before + (1 << 20), "{e}: {before} {after}");
    }
    assert_eq!(c.ok("SELECT LENGTH(s), @a IS NULL FROM t WHERE id = 1"), ["1000000,1"]);
    c.ok("SET GLOBAL max_server_memory = DEFAULT");
    for e in strings {
        c.ok(&format!("SELECT LENGTH({e})"));
    }
}

/// The bound is the process's: what a change of definitions opens beside the database leaves it as it is.
#[test]
fn changes_of_definitions_leave_the_servers_memory() {
    let _alone = ONE_AT_A_TIME.lock();
    let dir = std::env::temp_dir().join(format!("nextleaf-server-memory-{}", std::process::id()));
    let db = common::database_with(Options { dir: Some(dir.clone()), ..Options::default() });
    let mut c = Client::new(&db);
    c.ok("SET GLOBAL max_server_memory = 1234567890");
    c.ok("CREATE TABLE t (id INT PRIMARY KEY)");
    c.ok("CREATE VIEW v AS SELECT id FROM t");
    c.ok("ALTER TABLE t ADD COLUMN n INT DEFAULT 7");
    assert_eq!(memory::limit_bytes(), 1234567890);
    c.ok("SET GLOBAL max_server_memory = DEFAULT");
    drop((c, db));
    std::fs::remove_dir_all(dir).expect("it was made");
}

/// All at once they pass the bound no more than one.
#[test]
fn many_sessions_share_the_servers_memory() {
    let _alone = ONE_AT_A_TIME.lock();
    let (db, mut c) = database();
    leave(&mut c, 200 << 20);
    let (limit, peak) = (memory::limit_bytes(), std::sync::atomic::AtomicUsize::new(0));
    let (mut done, mut refused) = (0, 0);
    std::thread::scope(|s| {
        let sessions: Vec<_> = (0..16)
            .map(|k| {
                let (db, peak) = (&db, &peak);
                s.spawn(move || {
                    let mut c = Client::of(db);
                    let mut answers = [0, 0];
                    for i in 0..10 {
                        let e = format!("SELECT LENGTH(CONCAT(REPEAT('a', 30000000), {k}, {i}))");
                        match c.run(&e) {
                            Ok(_) => answers[0] += 1,
                            Err(e) => {
                                assert_eq!(e, CAPACITY_EXCEEDED);
                                answers[1] += 1;
                            }
                        }
                        let held = memory::process_bytes().expect("it is metered");
                        peak.fetch_max(held, std::sync::atomic::Ordering::Relaxed);
                    }
                    answers
                })
            })
            .collect();
        for session in sessions {
            let answers = session.join().expect("no panic");
            done += answers[0];
            refused += answers[1];
        }
    });
    assert!(done > 0 && refused > 0, "{done} {refused}");
    let peak = peak.into_inner();
    assert!(peak < limit + (16 << 20), "{peak} of {limit}");
    c.ok("SET GLOBAL max_server_memory = DEFAULT");
}
