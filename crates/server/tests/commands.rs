//! `nextleaf sql`, `check`, `dump` and `load`, as a user runs them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Dir {
        let dir = std::env::temp_dir().join(format!("nextleaf-commands-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).expect("a folder");
        Dir(dir)
    }

    fn at(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("plain").to_string()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_nextleaf")).args(args).output().expect("starts")
}

fn ok(args: &[&str]) -> String {
    let out = run(args);
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("text")
}

const SETUP: &str = r"CREATE DATABASE shop; USE shop;
    CREATE TABLE item (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(40), price DECIMAL(10,2), at TIMESTAMP(3) NULL,
        photo BLOB, twice DECIMAL(12,2) GENERATED ALWAYS AS (price * 2), KEY (name));
    INSERT INTO item (name, price, at, photo) VALUES ('a\'b\\c\n', 1.5, '2024-02-29 12:00:00.125', 0x007F27),
        (NULL, NULL, NULL, NULL), ('', -0.01, NULL, ''), ('Größe, 12″', 7, NULL, 'x');
    CREATE TABLE made (id INT PRIMARY KEY, f FLOAT(7,3), r FLOAT, g DOUBLE(8,2) DEFAULT (f / 3), z INT(6) ZEROFILL DEFAULT (id * 2),
        s VARCHAR(20) DEFAULT (CONCAT(g, '-', z)), d DATE DEFAULT ('2024-01-01' + INTERVAL id DAY));
    INSERT INTO made (id, f, r) VALUES (1, 9999.999, 1.23456789), (2, -0.0005, 1e38), (3, NULL, 1e-40), (4, 1.5, -16777217);
    CREATE TABLE nothing (a INT);
    CREATE VIEW cheap AS SELECT name FROM item WHERE price < 2;
    CREATE VIEW shop.z AS SELECT * FROM shop.cheap; CREATE DATABASE above; CREATE VIEW above.first AS SELECT z.* FROM shop.z";

#[test]
fn a_dump_loads_into_an_equal_database() {
    let dir = Dir::new("dump");
    let (one, two, three) = (dir.at("one"), dir.at("two"), dir.at("three"));
    ok(&["sql", &one, "-e", SETUP]);
    let dump = ok(&["dump", &one]);
    assert!(dump.contains("CREATE TABLE `item`") && dump.contains("0x007F27"), "{dump}");
    let file = dir.at("dump.sql");
    std::fs::write(&file, &dump).expect("written");
    ok(&["load", &two, &file]);
    assert_eq!(ok(&["dump", &two]), dump);
    let made = "INSERT INTO shop.made (id, f, r) VALUES (7, 1234.5678, 3); SELECT id, f, f + 0e0, r + 0e0, g, z, s, d FROM shop.made";
    let rows = ok(&["sql", &one, "-e", made]);
    assert!(
        rows.contains("9999.9990234375") && rows.contains("411.52-000014") && rows.contains("2024-01-08"),
        "{rows}"
    );
    assert_eq!(ok(&["sql", &two, "-e", made]), rows);
    // Rows alone, through CSV.
    let csv = ok(&["dump", &one, "--format", "csv", "--table", "shop.item"]);
    assert!(csv.starts_with("id,name,price,at,photo\n"), "{csv}");
    ok(&[
        "sql",
        &three,
        "-e",
        "CREATE DATABASE shop; CREATE TABLE shop.item (id INT PRIMARY KEY, name VARCHAR(40), price DECIMAL(10,2), at TIMESTAMP(3) NULL, photo BLOB)",
    ]);
    let file = dir.at("item.csv");
    std::fs::write(&file, &csv).expect("written");
    ok(&["load", &three, &file, "--table", "shop.item"]);
    assert_eq!(ok(&["dump", &three, "--format", "csv", "--table", "shop.item"]), csv);
}

#[test]
fn a_backup_is_a_database() {
    let dir = Dir::new("backup");
    let (one, two) = (dir.at("one"), dir.at("two"));
    ok(&["sql", &one, "-e", &format!("{SETUP}; BACKUP TO '{two}'; INSERT INTO item (name) VALUES ('later')")]);
    assert_eq!(ok(&["sql", &two, "--batch", "-e", "SELECT COUNT(*) FROM shop.item"]).trim().lines().last(), Some("4"));
    assert_eq!(ok(&["sql", &one, "--batch", "-e", "SELECT COUNT(*) FROM shop.item"]).trim().lines().last(), Some("5"));
    let again = run(&["sql", &one, "-e", &format!("BACKUP TO '{two}'")]);
    assert!(!again.status.success() && String::from_utf8_lossy(&again.stderr).contains("not empty"));
}

fn largest(dir: &str, prefix: &str) -> PathBuf {
    let files = std::fs::read_dir(dir).expect("a folder").map(|e| e.expect("an entry").path());
    let named = files.filter(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with(prefix)));
    named.max_by_key(|p| p.metadata().expect("it is there").len()).expect("there is one")
}

fn flip(path: &Path, at: usize) {
    let mut bytes = std::fs::read(path).expect("it is there");
    bytes[at] ^= 16;
    std::fs::write(path, bytes).expect("written");
}

#[test]
fn check_names_the_damaged_file() {
    let dir = Dir::new("check");
    let one = dir.at("one");
    assert!(!run(&["check", &one]).status.success(), "there is no database");
    ok(&["sql", &one, "-e", SETUP]);
    assert!(ok(&["check", &one]).contains("3 tables with 8 rows"));
    for (prefix, at) in [("data-", 100), ("manifest", 60)] {
        let path = largest(&one, prefix);
        flip(&path, at);
        for command in ["check", "dump"] {
            let out = run(&[command, &one]);
            let said = String::from_utf8_lossy(&out.stderr).into_owned();
            assert!(!out.status.success(), "{path:?}");
            assert!(said.contains(path.to_str().expect("plain")) && said.contains("offset"), "{said}");
        }
        flip(&path, at);
    }
    assert!(ok(&["check", &one]).contains("8 rows"));
}

/// Whatever reads a folder tells what it drops at the end of the log, and refuses one whose log lacks its end.
#[test]
fn a_torn_log_is_told_and_a_lost_one_refused() {
    let dir = Dir::new("torn");
    let one = dir.at("one");
    ok(&["sql", &one, "-e", SETUP]);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    for args in [&["sql", &one, "-e", "SELECT 1"][..], &["check", &one], &["dump", &one]] {
        let log = largest(&one, "redo-");
        let mut bytes = std::fs::read(&log).expect("it is there");
        let at = bytes.len();
        bytes.extend_from_slice(&[7; 100]);
        std::fs::write(&log, bytes).expect("written");
        let out = run(args);
        let said = text(&out.stdout) + &text(&out.stderr);
        let told = format!("{}: {} bytes from offset 512 on", log.display(), at + 100 - 512);
        assert!(out.status.success() && said.contains(&told) && said.contains("dropped"), "{args:?}: {said}");
    }
    std::fs::remove_file(largest(&one, "redo-")).expect("it is there");
    for args in [&["sql", &one, "-e", "SELECT 1"][..], &["check", &one], &["dump", &one]] {
        let out = run(args);
        let said = text(&out.stderr);
        assert!(!out.status.success() && said.contains("redo-") && said.contains("--accept-loss"), "{args:?}: {said}");
    }
    assert!(ok(&["check", "--accept-loss", &one]).contains("3 tables with 8 rows"));
    assert!(!ok(&["check", &one]).contains("warning"));
}

const EVERY_TYPE: &str = r"CREATE DATABASE shop; USE shop; SET cte_max_recursion_depth = 10000;
    CREATE TABLE every (id INT PRIMARY KEY, ti TINYINT, tu TINYINT UNSIGNED, si SMALLINT, su SMALLINT UNSIGNED,
        mi MEDIUMINT, mu MEDIUMINT UNSIGNED, iu INT UNSIGNED, bi BIGINT, bu BIGINT UNSIGNED, d9 DECIMAL(9,2),
        d30 DECIMAL(30,10), d65 DECIMAL(65,30), f FLOAT, g DOUBLE, c CHAR(5), v VARCHAR(50), tx TEXT, lt LONGTEXT,
        la VARCHAR(10) CHARACTER SET latin1, b BINARY(4), vb VARBINARY(20), lb LONGBLOB, d DATE, t TIME(3), dt DATETIME(6),
        ts TIMESTAMP(6) NULL, y YEAR, gen BIGINT AS (id * 2), KEY ((id + 1)));
    INSERT INTO every (id, ti, tu, si, su, mi, mu, iu, bi, bu, d9, d30, d65, f, g, c, v, tx, lt, la, b, vb, lb, d, t, dt, ts, y)
        WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 3000)
        SELECT n, n % 100 - 50, n % 256, n - 1500, n * 20, -n, n, 4294967295 - n, -9223372036854775807 + n,
            18446744073709551615 - n, n / 4, n * -123456789.0123456789, n * 1.5, n / 4, -n / 8, 'abc', CONCAT('Größe ', n),
            IF(n % 5 = 0, NULL, REPEAT('x', n % 50)), IF(n % 3 = 0, NULL, n), 'é', 0x00FF, UNHEX(HEX(n)), 0x0102,
            '2000-02-29' + INTERVAL n DAY, MAKETIME(n % 24, n % 60, 7.125), '1999-12-31 23:59:59.000001' + INTERVAL n HOUR,
            '2024-01-01' + INTERVAL n * 1000003 MICROSECOND, 1901 + n % 200 FROM s;
    UPDATE every SET ti = NULL, bu = NULL, d9 = NULL, f = NULL, v = NULL, lb = NULL, d = NULL, dt = NULL, ts = NULL, y = NULL
        WHERE id % 7 = 0;
    DELETE FROM every WHERE id BETWEEN 100 AND 150;
    CREATE TABLE odd (a INT, d DATE, t TIME, ts TIMESTAMP NULL);
    SET sql_mode = '';
    INSERT INTO odd VALUES (1, '0000-00-00', '-00:00:01', '0000-00-00'), (2, '2024-00-10', '24:00:00', '2024-05-05'), (3, '2024-01-01', '23:59:59', NULL)";

const READ_IN_DUCKDB: &str = r#"
import duckdb, sys
rows = duckdb.execute("""SELECT id, ti, tu, si, su, mi, mu, iu, bi, bu, d9, d30, CAST(d65 * 2 AS BIGINT), CAST(f * 4 AS BIGINT),
    CAST(g * 8 AS BIGINT), c, v, tx, lt, la, hex(b), hex(vb), hex(lb), strftime(d, '%Y-%m-%d'), CAST(t AS VARCHAR),
    strftime(dt, '%Y-%m-%d %H:%M:%S.%f'), epoch_us(ts), y, gen FROM read_parquet(?) ORDER BY id""", [sys.argv[1]]).fetchall()
for row in rows:
    print("\t".join("NULL" if v is None else str(v) for v in row))
for name, kind, *_ in duckdb.execute("DESCRIBE SELECT * FROM read_parquet(?)", [sys.argv[1]]).fetchall():
    print(name, kind, file=sys.stderr)
"#;

/// What a python3 with duckdb prints; `None` where there is none.
fn in_duckdb(script: &str, args: &[&str]) -> Option<Output> {
    let has = Command::new("python3").args(["-c", "import duckdb"]).output().is_ok_and(|o| o.status.success());
    if !has {
        assert!(std::env::var_os("NEXTLEAF_REQUIRE_ORACLES").is_none(), "duckdb is required and not installed");
        eprintln!("skipped: no duckdb");
        return None;
    }
    let out = Command::new("python3").arg("-c").arg(script).args(args).output().expect("python3 starts");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    Some(out)
}

#[test]
fn duckdb_reads_a_parquet_dump_of_every_type() {
    let dir = Dir::new("parquet");
    let one = dir.at("one");
    ok(&["sql", &one, "-e", EVERY_TYPE]);
    let file = dir.at("every.parquet");
    ok(&["dump", &one, "--format", "parquet", "--table", "shop.every", "--output", &file]);
    let Some(theirs) = in_duckdb(READ_IN_DUCKDB, &[&file]) else { return };
    let select = "SELECT id, ti, tu, si, su, mi, mu, iu, bi, bu, d9, d30, CAST(d65 * 2 AS SIGNED), CAST(f * 4 AS SIGNED), \
        CAST(g * 8 AS SIGNED), c, v, tx, lt, la, HEX(b), HEX(vb), HEX(lb), d, t, dt, \
        CAST(UNIX_TIMESTAMP(ts) * 1000000 AS SIGNED), y, gen FROM shop.every ORDER BY id";
    let ours = ok(&["sql", &one, "--batch", "-e", select]);
    let theirs_text = String::from_utf8(theirs.stdout).expect("text");
    let (ours, theirs_rows): (Vec<&str>, Vec<&str>) = (ours.lines().skip(1).collect(), theirs_text.lines().collect());
    assert_eq!(ours.len(), 3000 - 51);
    for (a, b) in ours.iter().zip(&theirs_rows) {
        assert_eq!(a, b);
    }
    assert_eq!(ours.len(), theirs_rows.len());
    let types = String::from_utf8(theirs.stderr).expect("text");
    for wanted in [
        "tu UTINYINT",
        "su USMALLINT",
        "mi INTEGER",
        "mu UINTEGER",
        "bi BIGINT",
        "bu UBIGINT",
        "d9 DECIMAL(9,2)",
        "d30 DECIMAL(30,10)",
        "f FLOAT",
        "g DOUBLE",
        "la VARCHAR",
        "lt VARCHAR",
        "vb BLOB",
        "lb BLOB",
        "d DATE",
        "t TIME",
        "dt TIMESTAMP",
        "ts TIMESTAMP WITH TIME ZONE",
        "y SMALLINT",
        "gen BIGINT",
    ] {
        assert!(types.lines().any(|l| l == wanted), "{wanted} in\n{types}");
    }
}

#[test]
fn parquet_of_some_columns_of_several_tables_and_of_odd_dates() {
    let dir = Dir::new("parquet-odd");
    let one = dir.at("one");
    ok(&["sql", &one, "-e", EVERY_TYPE]);
    let out = run(&["dump", &one, "--format", "parquet", "--output", &dir.at("all")]);
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && said.contains("shop.odd: 5 dates or times"), "{said}");
    let script = "import duckdb, sys\nfor r in duckdb.execute('SELECT a, d, t, epoch_us(ts) FROM read_parquet(?) ORDER BY a', \
        [sys.argv[1]]).fetchall(): print(*r)\nprint(duckdb.execute('SELECT COUNT(*), SUM(gen) FROM read_parquet(?)', [sys.argv[2]]).fetchone())";
    if let Some(read) = in_duckdb(script, &[&dir.at("all/shop.odd.parquet"), &dir.at("all/shop.every.parquet")]) {
        let ts = "1714867200000000";
        assert_eq!(
            String::from_utf8_lossy(&read.stdout),
            format!("1 None None None\n2 None None {ts}\n3 2024-01-01 23:59:59 None\n(2949, 8990250)\n")
        );
    }
    // Standard output, chosen columns.
    let some = run(&["dump", &one, "--format", "parquet", "--table", "shop.every", "--columns", "y,id"]).stdout;
    assert!(some.starts_with(b"PAR1") && some.ends_with(b"PAR1"));
    let csv = ok(&["dump", &one, "--format", "csv", "--table", "shop.every", "--columns", "y,id"]);
    assert!(csv.starts_with("y,id\n1902,1\n1903,2\n"), "{}", &csv[..60]);
    for (args, message) in [
        (&["--format", "parquet"][..], "one file a table"),
        (&["--format", "parquet", "--table", "shop.every", "--columns", "nope"], "Unknown column 'nope'"),
        (&["--format", "csv"], "one table"),
    ] {
        let out = run(&[&["dump", &one], args].concat());
        assert!(!out.status.success() && String::from_utf8_lossy(&out.stderr).contains(message), "{args:?}");
    }
}
