//! Random changes on Nextleaf and MariaDB: the same answers, affected rows, error numbers, and in the end the same
//! rows.
//!
//! NEXTLEAF_SEED=n runs that seed alone, NEXTLEAF_STATEMENTS=n so many statements of each.

use std::fmt::Write;
use tests::oracle::MariaDb;
use tests::ours::{Ours, configs};
use tests::{Answer, golden};

/// A small generator of random numbers: results depend on the seed alone.
struct Rng(u64);

impl Rng {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % below
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.next(of.len() as u64) as usize]
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.next(100) < percent
    }
}

const SCHEMA: &[&str] = &[
    "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a INT, b VARCHAR(8) COLLATE utf8mb4_general_ci, \
     c DECIMAL(6,2) NOT NULL DEFAULT 1.5, d DATE, g INT AS (a * 2) STORED, v VARCHAR(20) COLLATE utf8mb4_general_ci \
     AS (CONCAT(b, '-', c)) VIRTUAL, UNIQUE KEY ua (a), KEY kb (b), CONSTRAINT pos CHECK (c >= 0)) ENGINE=InnoDB",
    "CREATE TABLE s (x INT, y VARCHAR(4) COLLATE utf8mb4_general_ci, z INT, PRIMARY KEY (x, y), UNIQUE KEY uz (z)) ENGINE=InnoDB",
    "CREATE TABLE p (id INT PRIMARY KEY, u INT, UNIQUE KEY uu (u)) ENGINE=InnoDB",
    "CREATE TABLE k (id INT PRIMARY KEY, pid INT, pu INT, CONSTRAINT kp FOREIGN KEY (pid) REFERENCES p (id) ON DELETE \
     CASCADE ON UPDATE CASCADE, CONSTRAINT ku FOREIGN KEY (pu) REFERENCES p (u) ON DELETE SET NULL) ENGINE=InnoDB",
    "CREATE TABLE kk (id INT PRIMARY KEY, kid INT, CONSTRAINT kkk FOREIGN KEY (kid) REFERENCES k (id)) ENGINE=InnoDB",
];

const TABLES: &[(&str, &str)] = &[
    ("t", "SELECT * FROM t ORDER BY id"),
    ("s", "SELECT * FROM s ORDER BY x, y"),
    ("p", "SELECT * FROM p ORDER BY id"),
    ("k", "SELECT * FROM k ORDER BY id"),
    ("kk", "SELECT * FROM kk ORDER BY id"),
];

struct Generator(Rng);

impl Generator {
    fn int(&mut self) -> String {
        match self.0.next(12) {
            0 => "NULL".into(),
            1 => format!("'{}'", self.0.next(15)),
            _ => self.0.next(15).to_string(),
        }
    }

    fn string(&mut self) -> String {
        match self.0.next(10) {
            0 => "NULL".into(),
            1 => "'muchtoolong'".into(),
            2 => self.0.next(99).to_string(),
            _ => format!("'{}'", self.0.pick(&["a", "A", "b", "bb", "c", "x y", ""])),
        }
    }

    /// How ids come in an INSERT into t: all as wildly as other values, all given, or all generated. A statement that
    /// mixes them, or that may leave rows out, wastes generated values, and how many is nobody's promise.
    fn id(&mut self, given: bool) -> String {
        match given {
            true => (1 + self.0.next(40)).to_string(),
            false => self.0.pick(&["NULL", "DEFAULT", "0"]).into(),
        }
    }

    fn value(&mut self, column: &str) -> String {
        if self.0.chance(6) {
            return "DEFAULT".into();
        }
        match column {
            "id" if self.0.chance(40) => "NULL".into(),
            "b" | "y" => self.string(),
            "c" => self.0.pick(&["0", "1.25", "2.555", "-1", "99999", "NULL", "'3.3'", "7"]).into(),
            "d" => self.0.pick(&["'2024-01-31'", "NULL", "'2024-02-30'", "20240101"]).into(),
            _ => self.int(),
        }
    }

    fn columns(&mut self, table: &str) -> Vec<&'static str> {
        let all: &[&str] = match table {
            "t" => &["id", "a", "b", "c", "d"],
            "s" => &["x", "y", "z"],
            "p" => &["id", "u"],
            "k" => &["id", "pid", "pu"],
            _ => &["id", "kid"],
        };
        let keep = |c: &&&str, r: &mut Rng| matches!(**c, "x" | "y") || (**c == "id" && table != "t") || r.chance(70);
        let some: Vec<&'static str> = all.iter().filter(|c| keep(c, &mut self.0)).copied().collect();
        if some.is_empty() { vec![all[1]] } else { some }
    }

    fn condition(&mut self, table: &str) -> String {
        let column = match table {
            "t" => self.0.pick(&["id", "a", "g", "c", "b"]),
            "s" => self.0.pick(&["x", "z"]),
            "p" => self.0.pick(&["id", "u"]),
            "k" => self.0.pick(&["id", "pid", "pu"]),
            _ => self.0.pick(&["id", "kid"]),
        };
        if column == "b" {
            return format!("b = '{}'", self.0.pick(&["a", "b", "BB", "c"]));
        }
        let n = self.0.next(15);
        match self.0.next(6) {
            0 => format!("{column} IS NULL"),
            1 => format!("{column} > {n}"),
            2 => format!("{column} IN ({n}, {}, {})", n + 3, n / 2),
            3 => format!("{column} BETWEEN {n} AND {}", n + 4),
            _ => format!("{column} = {n}"),
        }
    }

    fn order(table: &str) -> &'static str {
        if table == "s" { "x, y" } else { "id" }
    }

    fn insert(&mut self, table: &str) -> String {
        let mut columns = self.columns(table);
        let replace = self.0.chance(20);
        let ignore = !replace && self.0.chance(25);
        let update = !replace && self.0.chance(30);
        let given = replace || ignore || update || self.0.chance(40);
        if table == "t" && given && columns[0] != "id" {
            columns.insert(0, "id");
        }
        let mut sql = format!(
            "{}{} INTO {table} ({}) VALUES ",
            if replace { "REPLACE" } else { "INSERT" },
            if ignore { " IGNORE" } else { "" },
            columns.join(", ")
        );
        for i in 0..1 + self.0.next(4) {
            let value = |c: &&str| if (table, *c) == ("t", "id") { self.id(given) } else { self.value(c) };
            let row: Vec<String> = columns.iter().map(value).collect();
            let _ = write!(sql, "{}({})", if i > 0 { ", " } else { "" }, row.join(", "));
        }
        if update {
            let column = columns[self.0.next(columns.len() as u64) as usize];
            let value = match self.0.next(4) {
                0 => format!("VALUES({column})"),
                1 if !matches!(column, "b" | "y" | "d") => format!("{column} + 1"),
                2 if column != "d" => column.to_string(),
                // NULL means a next value to MariaDB and 0 to MySQL.
                _ if (table, column) == ("t", "id") => self.id(true),
                _ => self.value(column),
            };
            let _ = write!(sql, " ON DUPLICATE KEY UPDATE {column} = {value}");
        }
        sql
    }

    fn update(&mut self, table: &str) -> String {
        let mut sets = Vec::new();
        for _ in 0..1 + self.0.next(2) {
            let columns = self.columns(table);
            let c = columns[self.0.next(columns.len() as u64) as usize];
            let value = match c {
                "b" | "y" => self.0.pick(&["'q'", "CONCAT(b, 'z')", "NULL", "'a'"]).replace("b,", &format!("{c},")),
                "c" => self.0.pick(&["c + 1", "c - 2", "c * 1.5", "0"]).into(),
                // `d = d`: MySQL refuses a zero date that IGNORE let in, MariaDB leaves it.
                "d" => self.0.pick(&["'2023-12-24'", "NULL", "'2024-05-05'"]).into(),
                _ => match self.0.next(4) {
                    0 => format!("{c} + 1"),
                    1 => format!("{c} - 1"),
                    2 => c.to_string(),
                    _ => self.int(),
                },
            };
            sets.push(format!("{c} = {value}"));
        }
        let ignore = if self.0.chance(20) { " IGNORE" } else { "" };
        let order = Self::order(table);
        let desc = if self.0.chance(40) { " DESC" } else { "" };
        let order =
            if table == "s" { order.replace(", ", &format!("{desc}, ")) + desc } else { format!("{order}{desc}") };
        let limit = if self.0.chance(20) { format!(" LIMIT {}", self.0.next(3)) } else { String::new() };
        format!(
            "UPDATE{ignore} {table} SET {} WHERE {} ORDER BY {order}{limit}",
            sets.join(", "),
            self.condition(table)
        )
    }

    fn delete(&mut self, table: &str) -> String {
        let ignore = if self.0.chance(15) { " IGNORE" } else { "" };
        let limit = if self.0.chance(30) { format!(" LIMIT {}", self.0.next(3)) } else { String::new() };
        format!("DELETE{ignore} FROM {table} WHERE {} ORDER BY {}{limit}", self.condition(table), Self::order(table))
    }

    fn statement(&mut self) -> String {
        let table = self.0.pick(&["t", "t", "t", "s", "s", "p", "p", "k", "k", "kk"]);
        match self.0.next(20) {
            0..=8 => self.insert(table),
            9..=12 => self.update(table),
            13..=14 => self.delete(table),
            15 => format!(
                "INSERT{} INTO s SELECT id, COALESCE(LEFT(b, 3), '-'), a FROM t WHERE {} ORDER BY id",
                if self.0.chance(50) { " IGNORE" } else { "" },
                self.condition("t")
            ),
            16 => format!("REPLACE INTO p SELECT id, a FROM t WHERE {} ORDER BY id", self.condition("t")),
            17 => "UPDATE t JOIN s ON t.a = s.x SET t.b = 'j', t.c = t.c + 1".into(),
            18 => "UPDATE t LEFT JOIN s ON t.id = s.x SET t.d = '2000-01-01' WHERE s.x IS NULL AND t.a > 5".into(),
            _ => "DELETE t FROM t JOIN s ON t.a = s.z WHERE s.x < 4".into(),
        }
    }
}

/// The numbers by which the two servers call the same fault.
fn code(answer: &Answer) -> u16 {
    match answer {
        Ok(_) => 0,
        Err((4025, _)) => 3819,
        Err((1906, _)) => 3105,
        Err((code, _)) => *code,
    }
}

fn run_seed(seed: u64, statements: usize, theirs: &mut MariaDb, leaf_rows: Option<usize>) {
    let config = tests::ours::Config { leaf_rows, ..configs()[0].clone() };
    let mut ours = Ours::open(&config);
    for sql in ["SET foreign_key_checks = 0", "CREATE OR REPLACE DATABASE g", "SET foreign_key_checks = 1"] {
        theirs.run(sql).expect("a database");
    }
    ours.run("CREATE DATABASE g").expect("a database");
    let mode = "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO'";
    for sql in ["USE g", mode].iter().chain(SCHEMA) {
        theirs.run(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        ours.run(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    }
    let mut generator = Generator(Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1));
    let mut log: Vec<String> = Vec::new();
    for n in 0..statements {
        let sql = generator.statement();
        let (our, their) = (ours.run(&sql), theirs.run(&sql));
        log.push(format!("{sql};"));
        let at = || format!("seed {seed}, statement {n}:\n{}", log[log.len().saturating_sub(12)..].join("\n"));
        // MariaDB refuses a single row of INSERT IGNORE that breaks a check; MySQL warns.
        if !(sql.contains("IGNORE") && our.is_ok() && code(&their) == 3819) {
            assert_eq!(code(&our), code(&their), "{}\nours {our:?}\ntheirs {their:?}", at());
            let count = "SELECT ROW_COUNT()";
            assert_eq!(ours.run(count), theirs.run(count), "affected rows, {}", at());
        }
        let counter =
            "SELECT AUTO_INCREMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'g' AND TABLE_NAME = 't'";
        let (our_next, their_next) = (ours.run(counter), theirs.run(counter));
        if our_next != their_next {
            // How many values go to waste with rows that are refused is nobody's promise.
            assert!(our.is_err() || sql.contains("IGNORE") || sql.contains("DUPLICATE"), "AUTO_INCREMENT, {}", at());
            let next = |a: Answer| a.expect("a row")[0][0].as_ref().expect("a value").parse::<u64>().expect("a number");
            let id = next(our_next).max(next(their_next));
            for sql in [format!("INSERT INTO t (id) VALUES ({id})"), format!("DELETE FROM t WHERE id = {id}")] {
                assert!(ours.run(&sql).is_ok() && theirs.run(&sql).is_ok(), "{sql}, {}", at());
            }
        }
        for (table, select) in TABLES {
            let (our, their) = (ours.run(select).expect("rows"), theirs.run(select).expect("rows"));
            let (our, their) = (golden::render(&our), golden::render(&their));
            assert_eq!(our, their, "table {table}, {}", at());
        }
    }
}

#[test]
fn changes_do_what_they_do_in_mariadb() {
    let Some(mut theirs) = MariaDb::start("dml") else { return };
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let statements = number("NEXTLEAF_STATEMENTS").unwrap_or(300) as usize;
    let seeds = match number("NEXTLEAF_SEED") {
        Some(seed) => seed..seed + 1,
        None => 1..1 + number("NEXTLEAF_SEEDS").unwrap_or(4),
    };
    for seed in seeds {
        let leaf_rows = if seed % 2 == 0 { Some(8) } else { None };
        run_seed(seed, statements, &mut theirs, leaf_rows);
    }
}
