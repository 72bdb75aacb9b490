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
    CREATE TABLE nothing (a INT);
    CREATE VIEW cheap AS SELECT name FROM item WHERE price < 2";

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
    assert!(ok(&["check", &one]).contains("2 tables with 4 rows"));
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
    assert!(ok(&["check", &one]).contains("4 rows"));
}
