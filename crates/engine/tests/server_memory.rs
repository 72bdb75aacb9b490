//! What the process may hold (max_server_memory) bounds tables and statements alike.

mod common;

use common::Client;
use engine::{Database, Options};
use memory::Metered;
use std::alloc::System;
use std::sync::{Arc, Mutex};

#[global_allocator]
static ALLOCATOR: Metered<System> = Metered(System);

/// The bound is the process's: one test at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn database() -> (Arc<Database>, Client) {
    let options = Options { workers: Some(1), query_memory_bytes: Some(1 << 30), ..Options::default() };
    let db = Database::open(options).expect("opens");
    let mut c = Client::of(&db);
    c.ok("CREATE DATABASE d");
    c.ok("USE d");
    (db, c)
}

/// The process may hold `more` bytes than its heap does.
fn leave(c: &mut Client, more: usize) {
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
    c.ok("SET @x = REPEAT('x', 20000000)");
    leave(&mut c, 0);
    c.ok("BEGIN");
    c.ok("UPDATE t SET id = 3 WHERE id = 2");
    assert_eq!(c.run("INSERT INTO t VALUES (4, @x)"), Err(1114));
    assert_eq!(c.run("INSERT INTO t VALUES (5, 'c'), (6, @x)"), Err(1114));
    assert_eq!(c.run("UPDATE t SET s = @x WHERE s > ''"), Err(1114));
    assert_eq!(c.run("CREATE TABLE u SELECT * FROM t"), Err(1114));
    assert_eq!(c.run("INSERT INTO t SELECT id + 10, @x FROM t"), Err(1114));
    assert_eq!(c.run("ALTER TABLE t ADD COLUMN n INT FIRST"), Err(1114));
    assert_eq!(c.ok("SELECT * FROM t ORDER BY id"), ["1,a", "3,b"]);
    c.ok("DELETE FROM t WHERE id = 1");
    c.ok("SET GLOBAL max_server_memory = DEFAULT");
    c.ok("INSERT INTO t VALUES (4, @x)");
    assert_eq!(c.ok("SELECT id, LENGTH(s) FROM t ORDER BY id"), ["3,1", "4,20000000"]);
    c.ok("CREATE TABLE u SELECT * FROM t");
}

/// A table fills until the bound, not a megabyte more or less by what the system tells late; what was freed is there again.
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
