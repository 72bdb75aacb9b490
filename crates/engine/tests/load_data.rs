//! LOAD DATA as statements, from a file and from a client.

mod common;

use common::Texts;
use engine::{Collect, Database, LocalFiles, Options, Session};
use types::Result;

fn session() -> Session {
    let db = Database::open(Options { workers: Some(1), ..Options::default() }).expect("opens");
    let mut s = db.session("root", "localhost");
    run(&mut s, "CREATE DATABASE d", b"").expect("new");
    s.use_database("d").expect("it is there");
    s
}

/// `local`: what every file of the client holds.
fn run(s: &mut Session, sql: &str, local: &[u8]) -> Result<Texts> {
    let mut sink = Collect::default().with_files(LocalFiles::Bytes(local.to_vec()));
    s.execute(sql.as_bytes(), false, &mut sink)?;
    Ok(sink.into())
}

fn rows(s: &mut Session, sql: &str) -> Vec<String> {
    run(s, sql, b"").unwrap_or_else(|e| panic!("{sql}: {e}")).rows
}

#[test]
fn a_file_of_the_server() {
    let mut s = session();
    run(&mut s, "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(10), c DECIMAL(10,2) DEFAULT 7)", b"").expect("valid");
    let path = std::env::temp_dir().join(format!("nextleaf-load-{}.txt", std::process::id()));
    std::fs::write(&path, "a,b\n1,\"x,y\"\n2,NULL\n").expect("writes");
    let load = format!(
        "LOAD DATA INFILE '{}' INTO TABLE t FIELDS TERMINATED BY ',' ENCLOSED BY '\"' IGNORE 1 LINES (a, b)",
        path.display()
    );
    let done = run(&mut s, &load, b"").expect("loads");
    assert_eq!(done.ok.info, "Records: 2  Deleted: 0  Skipped: 0  Warnings: 0");
    assert_eq!(done.ok.affected_rows, 2);
    assert_eq!(rows(&mut s, "SELECT * FROM t ORDER BY a"), ["1,x,y,7.00", "2,~,7.00"]);
    // Again: nothing of the second load stays.
    std::fs::write(&path, "a,b\n3,z\n1,again\n").expect("writes");
    let e = run(&mut s, &load, b"").map(|_| ()).expect_err("the key exists");
    assert_eq!(e.message(), "Duplicate entry '1' for key 't.PRIMARY'");
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM t"), ["2"]);
    std::fs::remove_file(&path).expect("it is there");
    assert_eq!(run(&mut s, &load, b"").map(|_| ()).expect_err("no file").code().0, 13);
}

#[test]
fn a_file_of_the_client_with_set() {
    let mut s = session();
    run(&mut s, "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, d DATE, n INT, s VARCHAR(5) NOT NULL)", b"")
        .expect("valid");
    let load = "LOAD DATA LOCAL INFILE 'x' INTO TABLE t (@day, @n, s, @skip) \
                SET d = STR_TO_DATE(@day, '%d.%m.%Y'), n = NULLIF(@n, '') + 1";
    let done = run(&mut s, load, b"24.12.2023\t4\tab\tq\n01.02.2024\t\ttoo long\tr\n").expect("loads");
    assert_eq!(done.ok.info, "Records: 2  Deleted: 0  Skipped: 0  Warnings: 1");
    assert_eq!(done.ok.last_insert_id, 0);
    assert_eq!(rows(&mut s, "SHOW WARNINGS"), ["Warning,1265,Data truncated for column 's' at row 2"]);
    assert_eq!(rows(&mut s, "SELECT LAST_INSERT_ID()"), ["1"]);
    assert_eq!(rows(&mut s, "SELECT * FROM t ORDER BY id"), ["1,2023-12-24,5,ab", "2,2024-02-01,~,too l"]);
    assert_eq!(rows(&mut s, "SELECT @skip, @n"), ["r,"]);
    // LOCAL skips rows whose keys exist.
    let done = run(&mut s, "LOAD DATA LOCAL INFILE 'x' INTO TABLE t", b"2\t\\N\t1\tx\n9\t\\N\t1\ty\n").expect("loads");
    assert_eq!(done.ok.info, "Records: 2  Deleted: 0  Skipped: 1  Warnings: 1");
    assert_eq!(rows(&mut s, "SELECT id, s FROM t ORDER BY id"), ["1,ab", "2,too l", "9,y"]);
    run(&mut s, "INSERT INTO t (s) VALUES ('z')", b"").expect("the counter has moved on");
    assert_eq!(rows(&mut s, "SELECT MAX(id) FROM t"), ["10"]);
}

#[test]
fn what_is_refused() {
    let mut s = session();
    run(&mut s, "CREATE TABLE t (a INT, b INT)", b"").expect("valid");
    for (load, code) in [
        ("LOAD DATA LOCAL INFILE 'x' INTO TABLE nope", 1146),
        ("LOAD DATA LOCAL INFILE 'x' INTO TABLE t (a, nope)", 1054),
        ("LOAD DATA LOCAL INFILE 'x' INTO TABLE t (a, a)", 1110),
        ("LOAD DATA LOCAL INFILE 'x' INTO TABLE t (a) SET b = nope + 1", 1054),
        ("LOAD DATA LOCAL INFILE 'x' REPLACE INTO TABLE t (a) SET b = 1, b = a", 1110),
        ("LOAD DATA LOCAL INFILE 'x' INTO TABLE t FIELDS ENCLOSED BY 'ab'", 1083),
        ("LOAD DATA LOCAL INFILE 'x' INTO TABLE t FIELDS TERMINATED BY '' ENCLOSED BY ''", 1235),
        ("LOAD DATA INFILE 'x' INTO TABLE t", 13),
    ] {
        let e = run(&mut s, load, b"1\t2\n").map(|_| ()).expect_err(load);
        assert_eq!(e.code().0, code, "{load}: {e}");
    }
    assert_eq!(rows(&mut s, "SELECT COUNT(*) FROM t"), ["0"]);
}

#[test]
fn each_missing_column_counts() {
    let mut s = session();
    run(&mut s, "CREATE TABLE t (a INT, b INT, c INT)", b"").expect("valid");
    run(&mut s, "CREATE TABLE by_row (a INT, b INT, c INT, d INT AS (a + 1))", b"").expect("valid");
    for (columns, warnings) in [("t", 2), ("t (a, @x, b)", 1), ("by_row (a, b, @x, c)", 2)] {
        let load = format!("LOAD DATA LOCAL INFILE 'x' INTO TABLE {columns}");
        let info = run(&mut s, &load, b"1\n").expect("loads").ok.info;
        assert_eq!(info, format!("Records: 1  Deleted: 0  Skipped: 0  Warnings: {warnings}"), "{load}");
    }
}

#[test]
fn an_insert_id() {
    let mut s = session();
    run(&mut s, "CREATE TABLE t (a INT AUTO_INCREMENT PRIMARY KEY, b INT)", b"").expect("valid");
    run(&mut s, "SET insert_id = 40", b"").expect("valid");
    run(&mut s, "LOAD DATA LOCAL INFILE 'x' INTO TABLE t (b)", b"1\n2\n").expect("loads");
    assert_eq!(rows(&mut s, "SELECT a, b, @@insert_id FROM t ORDER BY a"), ["40,1,0", "41,2,0"]);
}

/// A statement that waits for another transaction's key ends when it is killed.
#[test]
fn a_wait_for_a_key_can_be_killed() {
    let mut first = session();
    run(&mut first, "CREATE TABLE t (a INT PRIMARY KEY)", b"").expect("valid");
    run(&mut first, "BEGIN", b"").expect("begins");
    run(&mut first, "INSERT INTO t VALUES (1)", b"").expect("new");
    let db = first.database_handle().clone();
    let mut second = db.session("root", "localhost");
    second.use_database("d").expect("it is there");
    let id = second.process().id();
    std::thread::scope(|s| {
        let waiter = s.spawn(move || {
            let result = run(&mut second, "LOAD DATA LOCAL INFILE 'x' INTO TABLE t", b"1\n").map(|_| ());
            (result, second)
        });
        std::thread::sleep(std::time::Duration::from_millis(100));
        run(&mut first, &format!("KILL QUERY {id}"), b"").expect("it is there");
        let (result, mut second) = waiter.join().expect("no panic");
        assert_eq!(result.expect_err("killed").code().0, 1317);
        run(&mut first, "COMMIT", b"").expect("commits");
        assert_eq!(rows(&mut second, "SELECT a FROM t"), ["1"]);
    });
}

#[test]
fn replace() {
    let mut s = session();
    run(&mut s, "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(10), UNIQUE KEY (b))", b"").expect("valid");
    run(&mut s, "INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z')", b"").expect("new");
    let load = "LOAD DATA LOCAL INFILE 'f' REPLACE INTO TABLE t FIELDS TERMINATED BY ','";
    let ok = run(&mut s, load, b"2,new\n4,x\n5,five\n").expect("loads").ok;
    assert_eq!(ok.info, "Records: 3  Deleted: 2  Skipped: 0  Warnings: 0");
    assert_eq!(ok.affected_rows, 5);
    assert_eq!(rows(&mut s, "SELECT * FROM t ORDER BY a"), ["2,new", "3,z", "4,x", "5,five"]);
}

#[test]
fn set_reads_columns_and_variables() {
    let mut s = session();
    run(&mut s, "CREATE TABLE t (a INT, b INT NOT NULL DEFAULT 7, c VARCHAR(20), d INT)", b"").expect("valid");
    let load = "LOAD DATA LOCAL INFILE 'f' INTO TABLE t FIELDS TERMINATED BY ',' (a, @x, d)
                SET a = a + 1, c = CONCAT(@x, '-', a), d = b * d";
    run(&mut s, load, b"1,one,10\n2,two,\\N\n").expect("loads");
    // Assignments are made in order, over the fields' values and the defaults.
    assert_eq!(rows(&mut s, "SELECT * FROM t ORDER BY a"), ["2,7,one-2,70", "3,7,two-3,~"]);
    assert_eq!(rows(&mut s, "SELECT @x"), ["two"]);
    run(&mut s, "TRUNCATE t", b"").expect("there");
    let load = "LOAD DATA LOCAL INFILE 'f' INTO TABLE t (c) SET a = LENGTH(c), b = DEFAULT, d = (b + a) / 2";
    run(&mut s, load, b"abc\n\n").expect("loads");
    assert_eq!(rows(&mut s, "SELECT * FROM t ORDER BY a"), ["0,7,,4", "3,7,abc,5"]);
    let bad = "LOAD DATA LOCAL INFILE 'f' INTO TABLE t (c) SET a = nothing + 1";
    assert_eq!(run(&mut s, bad, b"x\n").map(|_| ()).unwrap_err().code().0, 1054);
}

#[test]
fn tables_with_rules() {
    let mut s = session();
    run(&mut s, "CREATE TABLE p (id INT PRIMARY KEY)", b"").expect("valid");
    run(&mut s, "INSERT INTO p VALUES (1)", b"").expect("new");
    let table = "CREATE TABLE t (a INT, g INT GENERATED ALWAYS AS (a * 2) STORED, p INT, CHECK (a < 100),
                 FOREIGN KEY (p) REFERENCES p (id))";
    run(&mut s, table, b"").expect("valid");
    let load = "LOAD DATA LOCAL INFILE 'f' INTO TABLE t FIELDS TERMINATED BY ',' (a, p)";
    let info = run(&mut s, load, b"1,1\n200,1\n3,9\n4,\\N\n").expect("misfits are warnings").ok.info;
    // A row that fails a CHECK is not counted as a record.
    assert_eq!(info, "Records: 3  Deleted: 0  Skipped: 1  Warnings: 2");
    assert_eq!(rows(&mut s, "SELECT * FROM t ORDER BY a"), ["1,2,1", "4,8,~"]);
}

#[test]
fn latin1_files() {
    let mut s = session();
    run(&mut s, "CREATE TABLE t (a VARCHAR(10))", b"").expect("valid");
    run(&mut s, "LOAD DATA LOCAL INFILE 'f' INTO TABLE t CHARACTER SET latin1", b"caf\xe9\n\x80 5\n").expect("loads");
    assert_eq!(rows(&mut s, "SELECT * FROM t"), ["caf\u{e9}", "\u{20ac} 5"]);
}

/// As MariaDB answers, and MySQL, whose code this part of it is.
#[test]
fn auto_increment_goes_on_behind_given_values() {
    let mut s = session();
    let load = "LOAD DATA LOCAL INFILE 'x' INTO TABLE t";
    run(&mut s, "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(10))", b"").expect("valid");
    run(&mut s, "INSERT INTO t (a) VALUES ('first')", b"").expect("inserts");
    let done = run(&mut s, load, b"10\tx\n\\N\ty\n0\tz\n5\tw\n\\N\tv\n").expect("loads");
    assert_eq!((done.ok.affected_rows, done.ok.last_insert_id), (5, 0));
    assert_eq!(rows(&mut s, "SELECT LAST_INSERT_ID()"), ["11"]);
    assert_eq!(rows(&mut s, "SELECT * FROM t ORDER BY id"), ["1,first", "5,w", "10,x", "11,y", "12,z", "13,v"]);
    run(&mut s, "SET auto_increment_increment = 10, auto_increment_offset = 3", b"").expect("variables");
    run(&mut s, &format!("{load} (a)"), b"p\nq\nr\n").expect("loads");
    assert_eq!(rows(&mut s, "SELECT LAST_INSERT_ID()"), ["23"]);
    assert_eq!(rows(&mut s, "SELECT id FROM t WHERE id > 13 ORDER BY id"), ["23", "33", "43"]);
    run(&mut s, &format!("{load} (a) SET a = CONCAT(a, '!')"), b"p\nq\nr\n").expect("loads");
    assert_eq!(rows(&mut s, "SELECT LAST_INSERT_ID()"), ["53"]);
    assert_eq!(rows(&mut s, "SELECT id FROM t WHERE id > 43 ORDER BY id"), ["53", "63", "73"]);
    // All given: what was generated last is still what there is to say.
    run(&mut s, load, b"500\tp\n501\tq\n").expect("loads");
    assert_eq!(rows(&mut s, "SELECT LAST_INSERT_ID()"), ["53"]);
    let done = run(&mut s, "INSERT INTO t (a) SELECT a FROM t ORDER BY id LIMIT 3", b"").expect("inserts");
    assert_eq!((done.ok.affected_rows, done.ok.last_insert_id), (3, 503));
    assert_eq!(rows(&mut s, "SELECT id FROM t WHERE id > 501 ORDER BY id"), ["503", "513", "523"]);
}

/// Several threads read such a load; the values generated are behind all that rows before them came with.
#[test]
fn auto_increment_of_a_load_in_several_blocks() {
    let db = Database::open(Options { workers: Some(2), ..Options::default() }).expect("opens");
    let mut s = db.session("root", "localhost");
    run(&mut s, "CREATE DATABASE d", b"").expect("new");
    s.use_database("d").expect("it is there");
    run(&mut s, "CREATE TABLE t (id BIGINT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(200), n INT)", b"").expect("valid");
    let mut text = Vec::new();
    for i in 1..=40_000 {
        let id = if i % 1000 == 0 { "0".to_string() } else { (i * 10).to_string() };
        text.extend_from_slice(format!("{id}\t{}\t{i}\n", "x".repeat(180)).as_bytes());
    }
    run(&mut s, "LOAD DATA LOCAL INFILE 'x' INTO TABLE t", &text).expect("loads");
    assert_eq!(rows(&mut s, "SELECT COUNT(*), COUNT(DISTINCT id) FROM t"), ["40000,40000"]);
    let behind = "SELECT COUNT(*) FROM t WHERE n % 1000 = 0 AND id > (n - 1) * 10";
    assert_eq!(rows(&mut s, behind), ["40"]);
    assert_eq!(rows(&mut s, "SELECT LAST_INSERT_ID() = (SELECT id FROM t WHERE n = 1000)"), ["1"]);
}
