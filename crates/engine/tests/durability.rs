//! A database in a folder is there again after it was closed, and after it was not.

mod common;

use common::Client;
use engine::{Database, Options};
use std::path::{Path, PathBuf};
use std::sync::Arc;

struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Dir {
        let dir = std::env::temp_dir().join(format!("nextleaf-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        Dir(dir)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let (path, to) = entry.map(|e| (e.path(), to.join(e.file_name()))).expect("an entry");
        match path.is_dir() {
            true => copy_folder(&path, &to),
            false => drop(std::fs::copy(&path, &to).expect("copied")),
        }
    }
}

fn open(dir: &Path) -> Arc<Database> {
    let options = Options { dir: Some(dir.into()), workers: Some(1), leaf_rows: Some(8), ..Options::default() };
    Database::open(options).expect("opens")
}

const SETUP: &str = "
    CREATE DATABASE shop CHARACTER SET latin1;
    CREATE DATABASE gone;
    USE shop;
    CREATE TABLE item (
        id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40) CHARACTER SET utf8mb4 NOT NULL DEFAULT 'it''s \\\\ \"x\"',
        price DECIMAL(60,2), at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
        note TEXT COMMENT 'a\\nb', UNIQUE KEY by_name (name), KEY by_price (price, id DESC)
    ) AUTO_INCREMENT = 100 COMMENT = 'things';
    BEGIN; INSERT INTO item (name) VALUES ('never'); ROLLBACK;
    INSERT INTO item (name, price, note) VALUES ('apple', 1.50, NULL), ('pear', -2.25, REPEAT('p', 1000)), ('plum', NULL, '');
    CREATE TABLE copy SELECT id, name FROM item;
    CREATE TABLE emptied (a INT); INSERT INTO emptied VALUES (1); TRUNCATE emptied; INSERT INTO emptied VALUES (2);
    CREATE TABLE old (a INT); INSERT INTO old VALUES (7); RENAME TABLE old TO new;
    CREATE TABLE parent (id INT PRIMARY KEY, up INT REFERENCES parent (id), FOREIGN KEY (up) REFERENCES parent (id));
    CREATE TABLE child (id INT, FOREIGN KEY (id) REFERENCES parent (id)); INSERT INTO parent VALUES (1, NULL), (2, 1);
    INSERT INTO child VALUES (2); ALTER TABLE parent RENAME COLUMN id TO nr;
    CREATE TABLE dropped (a INT); INSERT INTO dropped VALUES (1); DROP TABLE dropped;
    CREATE TABLE volatile_rows (a INT) ENGINE = MEMORY; INSERT INTO volatile_rows VALUES (1);
    CREATE TABLE gone.t (a INT); DROP DATABASE gone;
    CREATE VIEW cheap AS SELECT name FROM item WHERE price < 2;
    CREATE USER app@'10.%' IDENTIFIED BY 'secret', boss;
    GRANT ALL ON *.* TO boss WITH GRANT OPTION;
    CREATE USER was; GRANT ALL ON *.* TO was WITH GRANT OPTION; REVOKE GRANT OPTION ON *.* FROM was;
    CREATE USER nothing; REVOKE ALL PRIVILEGES, GRANT OPTION FROM nothing";

const LOOK: &[&str] = &[
    "SELECT SCHEMA_NAME, DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA ORDER BY 1",
    "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'shop' ORDER BY 1, 2",
    "SHOW CREATE TABLE shop.item",
    "SHOW CREATE VIEW shop.cheap",
    "SHOW CREATE TABLE shop.parent",
    "SHOW CREATE TABLE shop.child",
    "SELECT id, name, price, LENGTH(note), at FROM shop.item ORDER BY id",
    "SELECT * FROM shop.item WHERE name = 'pear'",
    "SELECT * FROM shop.copy ORDER BY 1",
    "SELECT * FROM shop.emptied",
    "SELECT * FROM shop.new",
    "SELECT * FROM shop.cheap ORDER BY 1",
];

fn look(db: &Arc<Database>) -> Vec<String> {
    let mut client = Client::of(db);
    let mut all: Vec<String> = LOOK.iter().map(|q| format!("{:?}", client.ok(q))).collect();
    let mut accounts: Vec<String> =
        db.accounts().all().iter().map(|a| format!("{a:?} {}", a.verifier.authentication_string())).collect();
    accounts.sort_unstable();
    all.extend(accounts);
    all
}

#[test]
fn a_database_comes_back() {
    for close in [true, false] {
        let dir = Dir::new(if close { "closed" } else { "left" });
        let db = open(&dir.0);
        Client::of(&db).ok(SETUP);
        let before = look(&db);
        if close {
            db.close().expect("closes");
        }
        drop(db);
        let db = open(&dir.0);
        assert_eq!(look(&db), before);
        let mut client = Client::of(&db);
        assert_eq!(client.ok("SELECT COUNT(*) FROM shop.volatile_rows"), ["0"]);
        client.ok("INSERT INTO shop.item (name) VALUES ('next')");
        assert_eq!(client.ok("SELECT id > 102 FROM shop.item WHERE name = 'next'"), ["1"]);
        client.ok("DELETE FROM shop.item WHERE name = 'apple'; UPDATE shop.item SET price = 9 WHERE id = 101");
        let before = look(&db);
        drop(client);
        drop(db);
        assert_eq!(look(&open(&dir.0)), before);
    }
}

#[test]
fn two_cannot_open_one_folder() {
    let dir = Dir::new("locked");
    let _db = open(&dir.0);
    let options = Options { dir: Some(dir.0.clone()), workers: Some(0), ..Options::default() };
    let e = Database::open(options).expect_err("it is open");
    assert!(e.message().contains("is open in another process"), "{e}");
}

/// Root without a password is there in a new database only: dropping every account does not bring it back.
#[test]
fn dropped_accounts_stay_dropped() {
    let dir = Dir::new("dropped-accounts");
    {
        let db = open(&dir.0);
        assert!(db.accounts().find("root", "localhost").is_some());
        let mut c = Client::of(&db);
        c.ok("CREATE USER app@'%' IDENTIFIED BY 'secret'");
        c.ok("DROP USER app@'%'");
        c.ok("DROP USER root@localhost");
    }
    let db = open(&dir.0);
    assert_eq!(db.accounts().all(), []);
}

/// The next number counts values that changes gave, too, and a crash does not take it back.
#[test]
fn auto_increment_survives_a_crash() {
    let dir = Dir::new("auto-increment");
    let db = open(&dir.0);
    let mut c = Client::of(&db);
    c.ok("CREATE DATABASE d");
    c.ok("USE d");
    c.ok("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT)");
    c.ok("INSERT INTO t VALUES (10, 1), (12, 2), (14, 3)");
    c.ok("UPDATE t SET id = id + 1");
    c.ok("INSERT INTO t VALUES (11, 0) ON DUPLICATE KEY UPDATE id = 40");
    // Not closed: the folder is copied as it is.
    let copy = Dir::new("auto-increment-copy");
    copy_folder(&dir.0, &copy.0);
    let again = open(&copy.0);
    let mut c = Client::of(&again);
    c.ok("USE d");
    c.ok("INSERT INTO t (a) VALUES (6)");
    assert_eq!(c.ok("SELECT id FROM t ORDER BY id"), ["13", "15", "40", "41"]);
}

/// A counter that is set back a second time, by a definition that says what the checkpoint's says.
#[test]
fn auto_increment_that_is_set_back_stays_so() {
    let dir = Dir::new("set-back");
    let mut db = open(&dir.0);
    let mut c = Client::of(&db);
    c.ok("CREATE DATABASE d; CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY)");
    for round in 0..3 {
        c.ok("INSERT INTO d.t VALUES (), (), (); DELETE FROM d.t");
        db.store().checkpoint().expect("nothing fails");
        c.ok("ALTER TABLE d.t AUTO_INCREMENT = 1");
        drop((c, db));
        db = open(&dir.0);
        c = Client::of(&db);
        c.ok("INSERT INTO d.t VALUES ()");
        assert_eq!(c.ok("SELECT id FROM d.t"), ["1"], "round {round}");
        c.ok("DELETE FROM d.t; ALTER TABLE d.t AUTO_INCREMENT = 1");
    }
}

/// The folder is locked as well as a file in it, which somebody may delete.
#[test]
fn a_deleted_lock_file_lets_nobody_in() {
    let dir = Dir::new("lock-file");
    let _db = open(&dir.0);
    std::fs::remove_file(dir.0.join("nextleaf.lock")).expect("it is there");
    let options = Options { dir: Some(dir.0.clone()), workers: Some(0), ..Options::default() };
    let e = Database::open(options).expect_err("it is open");
    assert!(e.message().contains("is open in another process"), "{e}");
}

/// What an expression means may depend on the session that wrote it; a restart does not change it. Nor does it change a
/// default that is no text.
#[test]
fn expressions_keep_their_settings() {
    let dir = Dir::new("settings");
    let db = open(&dir.0);
    let mut c = Client::of(&db);
    c.ok("CREATE DATABASE d");
    c.ok("SET sql_mode = 'NO_UNSIGNED_SUBTRACTION,NO_BACKSLASH_ESCAPES,ALLOW_INVALID_DATES', div_precision_increment = 12");
    c.ok("SET NAMES utf8mb4 COLLATE utf8mb4_bin");
    c.ok(r"CREATE TABLE d.t (
            a INT UNSIGNED, b VARCHAR(20), quotient DECIMAL(30,20) AS (a / 3), below BIGINT AS (a - 5) STORED,
            same INT AS ('a' = 'A'), matches INT AS (b LIKE 'a\%'), c VARBINARY(9) DEFAULT x'00FF27',
            e DECIMAL(30,20) DEFAULT (2 / 3), CHECK ('x' <> 'X'), KEY ((a - 7)))");
    const LOOK: &str = "SELECT quotient, below, same, matches, HEX(c), e, a - 7 < 0 FROM d.t";
    let expected = ["0.33333333333333333300,-4,0,1,00FF27,0.66666666666666666600,1"];
    let check = |db: &Arc<Database>, round: usize| {
        let mut c = Client::of(db);
        c.ok("SET sql_mode = 'NO_UNSIGNED_SUBTRACTION'");
        c.ok(r"INSERT INTO d.t (a, b) VALUES (1, 'a\\xyz')");
        assert_eq!(c.ok(LOOK), expected, "round {round}");
        c.ok("DELETE FROM d.t");
    };
    check(&db, 0);
    drop((c, db));
    for round in 1..3 {
        let db = open(&dir.0);
        check(&db, round);
        if round == 1 {
            db.close().expect("closes");
        }
    }
}

/// A measurement, not a check: how long a folder with many tables takes to open. `OPEN_DIR` names the folder.
#[test]
#[ignore = "a measurement"]
fn opening_many_tables() {
    let dir = std::env::var("OPEN_DIR").expect("OPEN_DIR names a folder");
    for _ in 0..4 {
        let begun = std::time::Instant::now();
        let db = open(Path::new(&dir));
        println!("opened in {} ms", begun.elapsed().as_millis());
        db.close().expect("closes");
    }
}
