//! Random tables: all families of types, skewed values, NULLs and duplicates, indexes of all forms.
//!
//! Values of one kind come from one small domain in every table, so that joins and subqueries find each other. Doubles
//! are quarters, whose sums are exact in any order. Strings have no spaces at their ends: which of several equal
//! strings a group shows is not defined, and functions must not tell them apart.

use fastrand::Rng;
use std::fmt::Write;

/// A family of types; values of one kind are compared with each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Int,
    Dec,
    Dbl,
    /// Compared without case.
    Txt,
    /// Compared by bytes.
    Bin,
    Date,
    Stamp,
    Time,
}

pub const KINDS: [Kind; 8] =
    [Kind::Int, Kind::Dec, Kind::Dbl, Kind::Txt, Kind::Bin, Kind::Date, Kind::Stamp, Kind::Time];

/// How much of the language is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Profile {
    /// What MySQL and MariaDB define alike.
    Common,
    /// All that we have.
    Wild,
}

#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub kind: Kind,
    pub ty: String,
    pub unsigned: bool,
    pub nullable: bool,
    /// About so many different values.
    pub distinct: usize,
    /// Of 10 values, so many are NULL.
    nulls: u8,
}

#[derive(Clone, Debug)]
pub struct Table {
    pub name: String,
    /// The first is `id`, which is unique.
    pub columns: Vec<Column>,
    /// Clauses of CREATE TABLE, with names but for the primary key.
    pub keys: Vec<String>,
    pub rows: Vec<Vec<String>>,
    /// So many of the first rows come from a file.
    pub loaded: usize,
    pub options: &'static str,
    pub collation: &'static str,
}

#[derive(Clone, Debug)]
pub struct Schema {
    pub tables: Vec<Table>,
    /// Statements after the rows are in.
    pub then: Vec<String>,
    /// Of its texts and of the sessions that ask.
    pub collation: &'static str,
    /// Changes of the cost constants, for databases that are to choose other plans.
    pub costs: Vec<String>,
}

const WORDS: &[&str] = &[
    "", "a", "A", "b", "ab", "Ab", "abc", "b c", "z", "10", "7x", "é", "E", "abcd", "abce", "ABCF", "zz", "-1", "0",
    "%",
];

/// Rows in one INSERT.
const BATCH: usize = 400;

/// Different values that an unbounded domain has.
const MANY: usize = 100_000;

/// A value of a domain, by its number.
fn value(kind: Kind, n: usize) -> String {
    match kind {
        Kind::Int => (n as i64).to_string(),
        Kind::Dec => format!("{}.{:02}", n / 3, [0, 25, 50][n % 3]),
        Kind::Dbl => format!("{}", n as f64 / 4.0),
        Kind::Txt | Kind::Bin if n < WORDS.len() => format!("'{}'", WORDS[n]),
        Kind::Txt | Kind::Bin => format!("'w{n}'"),
        Kind::Date => format!("'{}'", day(n)),
        Kind::Stamp => format!("'{} {:02}:00:{:02}'", day(n / 3), [0, 10, 23][n % 3], n % 60),
        Kind::Time => format!("'{:02}:{:02}:00'", n / 4 % 800, n % 4 * 15),
    }
}

fn day(n: usize) -> String {
    format!("{}-{:02}-{:02}", 2023 + n / 336 % 40, n / 28 % 12 + 1, n % 28 + 1)
}

/// A constant of a query: near the values that tables hold, sometimes none of them.
pub fn literal(rng: &mut Rng, kind: Kind) -> String {
    if rng.u8(0..14) == 0 {
        return "NULL".into();
    }
    let n = match rng.u8(0..8) {
        0 => rng.usize(0..200),
        1 => 0,
        _ => rng.usize(0..8),
    };
    match kind {
        Kind::Int if rng.u8(0..6) == 0 => (-rng.i64(0..4)).to_string(),
        _ => value(kind, n),
    }
}

fn column(rng: &mut Rng, kind: Kind, name: String, profile: Profile) -> Column {
    let wild = profile == Profile::Wild;
    let pick = |rng: &mut Rng, of: &[&str]| of[rng.usize(0..of.len())].to_string();
    let mut unsigned = false;
    let ty = match kind {
        Kind::Int => {
            let ty = pick(rng, &["TINYINT", "SMALLINT", "MEDIUMINT", "INT", "INT", "BIGINT"]);
            unsigned = rng.u8(0..5) == 0;
            if unsigned { ty + " UNSIGNED" } else { ty }
        }
        Kind::Dec if wild => pick(rng, &["DECIMAL(8,2)", "DECIMAL(18,2)", "DECIMAL(30,4)", "DECIMAL(12,3)"]),
        Kind::Dec => "DECIMAL(8,2)".into(),
        Kind::Dbl if wild => pick(rng, &["DOUBLE", "FLOAT"]),
        Kind::Dbl => "DOUBLE".into(),
        Kind::Txt => pick(rng, &["VARCHAR(10)", "CHAR(8)", "VARCHAR(200)", "TEXT"]),
        Kind::Bin => pick(rng, &["VARCHAR(10)", "CHAR(8)"]) + " COLLATE utf8mb4_bin",
        Kind::Date => "DATE".into(),
        Kind::Stamp if wild => pick(rng, &["DATETIME", "DATETIME(3)", "TIMESTAMP"]),
        Kind::Stamp => "DATETIME".into(),
        Kind::Time => "TIME".into(),
    };
    let small = ty.starts_with("TINYINT");
    let distinct = [1, 2, 3, 6, 6, 20, if small { 100 } else { MANY }][rng.usize(0..7)];
    let nulls = [0, 0, 1, 2, 3, 5, 9][rng.usize(0..7)];
    let nullable = nulls > 0 || rng.bool();
    Column { name, kind, ty, unsigned, nullable, distinct, nulls }
}

/// A number below `n`, small ones more often the more `skew` there is.
fn skewed(rng: &mut Rng, n: usize, skew: i32) -> usize {
    ((rng.f64().powi(skew)) * n as f64) as usize
}

impl Column {
    fn stored(&self, rng: &mut Rng, rows: usize) -> String {
        if rng.u8(0..10) < self.nulls {
            return "NULL".into();
        }
        let domain = self.distinct.min(if self.distinct == MANY { rows * 2 + 2 } else { MANY });
        let n = skewed(rng, domain, if self.distinct >= 20 { 1 } else { 2 });
        match self.kind {
            Kind::Int if !self.unsigned && self.distinct >= 20 && rng.u8(0..8) == 0 => (-rng.i64(0..4)).to_string(),
            kind => value(kind, n),
        }
    }

    fn key_part(&self, rng: &mut Rng) -> String {
        let text = matches!(self.kind, Kind::Txt | Kind::Bin);
        let long = self.ty.starts_with("TEXT");
        let prefix = if text && (long || rng.u8(0..4) == 0) { format!("({})", rng.u8(1..4)) } else { String::new() };
        let order = if rng.u8(0..4) == 0 { " DESC" } else { "" };
        format!("{}{prefix}{order}", self.name)
    }
}

fn functional(rng: &mut Rng, columns: &[Column]) -> Option<String> {
    let c = &columns[rng.usize(0..columns.len())];
    let n = &c.name;
    Some(match c.kind {
        Kind::Int if !c.unsigned => format!("(({n} + 1))"),
        Kind::Dec => format!("(({n} * 2))"),
        Kind::Txt if !c.ty.starts_with("TEXT") => format!("((LOWER({n})))"),
        Kind::Date | Kind::Stamp if c.ty != "TIMESTAMP" => format!("((YEAR({n})))"),
        _ => return None,
    })
}

impl Table {
    fn random(rng: &mut Rng, number: usize, rows: usize, profile: Profile, collation: &'static str) -> Table {
        let id = Column {
            name: "id".into(),
            kind: Kind::Int,
            ty: "INT".into(),
            unsigned: false,
            nullable: false,
            distinct: rows.max(1),
            nulls: 0,
        };
        let mut columns = vec![id];
        let mut kinds = vec![Kind::Int, Kind::Int, Kind::Dec, Kind::Txt, Kind::Date];
        kinds.extend((0..rng.usize(0..5)).map(|_| KINDS[rng.usize(0..KINDS.len())]));
        for (i, kind) in kinds.into_iter().enumerate() {
            let letter = match kind {
                Kind::Int => 'i',
                Kind::Dec => 'd',
                Kind::Dbl => 'f',
                Kind::Txt => 's',
                Kind::Bin => 'b',
                Kind::Date => 't',
                Kind::Stamp => 'u',
                Kind::Time => 'v',
            };
            columns.push(column(rng, kind, format!("{letter}{i}"), profile));
        }
        let data = (0..rows)
            .map(|id| {
                let mut row = vec![id.to_string()];
                row.extend(columns[1..].iter().map(|c| c.stored(rng, rows)));
                row
            })
            .collect();
        let keys = Table::random_keys(rng, &columns, profile);
        let options = match (profile, rng.u8(0..8)) {
            (Profile::Wild, 0) if columns.iter().all(|c| !c.ty.starts_with("TEXT")) => " ENGINE=MEMORY",
            _ => "",
        };
        let loaded = if rng.bool() { rng.usize(0..=rows) } else { 0 };
        Table { name: format!("t{number}"), columns, keys, rows: data, loaded, options, collation }
    }

    fn random_keys(rng: &mut Rng, columns: &[Column], profile: Profile) -> Vec<String> {
        let mut keys = Vec::new();
        let solid: Vec<&Column> = columns[1..].iter().filter(|c| c.nulls == 0 && !c.ty.starts_with("TEXT")).collect();
        match rng.u8(0..8) {
            0 => {}
            1 | 2 if !solid.is_empty() => {
                keys.push(format!("PRIMARY KEY ({}, id)", solid[rng.usize(0..solid.len())].name));
            }
            _ => keys.push("PRIMARY KEY (id)".into()),
        }
        for k in 0..rng.usize(0..6) {
            let mut parts: Vec<String> = Vec::new();
            let mut used: Vec<&str> = Vec::new();
            for _ in 0..[1, 1, 2, 2, 3][rng.usize(0..5)] {
                let c = &columns[rng.usize(0..columns.len())];
                if !used.contains(&c.name.as_str()) {
                    parts.push(c.key_part(rng));
                    used.push(&c.name);
                }
            }
            if profile == Profile::Wild
                && rng.u8(0..6) == 0
                && let Some(part) = functional(rng, columns)
            {
                parts.insert(rng.usize(0..=parts.len()), part);
            }
            let unique = used.contains(&"id") && rng.bool();
            let (word, method) = match rng.u8(0..8) {
                0 if profile == Profile::Wild && !parts.iter().any(|p| p.contains(['(', ' '])) => ("", " USING HASH"),
                _ => (if unique { "UNIQUE " } else { "" }, ""),
            };
            keys.push(format!("{word}KEY k{k} ({}){method}", parts.join(", ")));
        }
        keys
    }

    /// Names of its indexes.
    pub fn index_names(&self) -> Vec<String> {
        let name = |k: &String| match k.starts_with("PRIMARY") {
            true => "PRIMARY".into(),
            false => k.split("KEY ").nth(1).and_then(|k| k.split(' ').next()).unwrap_or_default().to_string(),
        };
        self.keys.iter().map(name).collect()
    }

    /// Statements that insert all rows but the first `from`.
    pub fn inserts(&self, from: usize) -> Vec<String> {
        let rows = self.rows.get(from..).unwrap_or_default();
        let row = |r: &Vec<String>| format!("({})", r.join(", "));
        let batch = |rows: &[Vec<String>]| {
            format!("INSERT INTO {} VALUES {}", self.name, rows.iter().map(row).collect::<Vec<_>>().join(", "))
        };
        rows.chunks(BATCH).map(batch).collect()
    }

    /// The first rows as a file that LOAD DATA reads.
    pub fn lines(&self, rows: usize) -> String {
        let field = |v: &String| if v == "NULL" { "\\N".to_string() } else { v.trim_matches('\'').to_string() };
        let line = |r: &Vec<String>| r.iter().map(field).collect::<Vec<_>>().join("\t") + "\n";
        self.rows.iter().take(rows).map(line).collect()
    }

    pub fn create(&self, name: &str, with_keys: bool) -> String {
        let mut out = format!("CREATE TABLE {name} (");
        for (i, c) in self.columns.iter().enumerate() {
            let null = if c.nullable { "" } else { " NOT NULL" };
            let _ = write!(out, "{}{} {}{null}", if i > 0 { ", " } else { "" }, c.name, c.ty);
        }
        if with_keys {
            self.keys.iter().for_each(|k| {
                let _ = write!(out, ", {k}");
            });
        }
        out + ") COLLATE " + self.collation + self.options
    }
}

/// The constants of the cost model (see `mysql.engine_cost`), and what they are.
const COSTS: &[(&str, f64)] = &[
    ("hash_build", 12.0),
    ("hash_probe", 4.0),
    ("output", 2.0),
    ("pair", 2.0),
    ("scan", 1.0),
    ("predicate", 1.0),
    ("group", 8.0),
    ("sort_compare", 3.0),
    ("key_lookup", 100.0),
    ("index_open", 300.0),
    ("index_descent", 300.0),
    ("index_row", 60.0),
    ("index_entry", 12.0),
    ("multi_range_row", 25.0),
    ("leaf_visit", 60.0),
    ("random_row", 150.0),
    ("subquery_run", 4000.0),
    ("fetch_column", 3.0),
    ("batch_keys_min", 100.0),
];

/// Some of them a thousand times too large or too small; half of the time scans cost much, so that indexes are used.
fn odd_costs(rng: &mut Rng) -> Vec<String> {
    let mut out = Vec::new();
    let indexes = rng.bool();
    for (name, value) in COSTS {
        let factor = match *name {
            "scan" if indexes => 1000.0,
            "index_open" | "index_descent" | "index_row" | "index_entry" | "key_lookup" if indexes => 0.01,
            _ if rng.u8(0..3) == 0 => [0.001, 0.01, 100.0, 1000.0][rng.usize(0..4)],
            _ => continue,
        };
        out.push(format!("UPDATE mysql.engine_cost SET cost_value = {} WHERE cost_name = '{name}'", value * factor));
    }
    out
}

impl Schema {
    pub fn random(rng: &mut Rng, profile: Profile) -> Schema {
        let big = rng.u8(0..5) == 0;
        let collation = match profile == Profile::Wild && rng.bool() {
            true => "utf8mb4_0900_ai_ci",
            false => "utf8mb4_general_ci",
        };
        let tables: Vec<Table> = (0..rng.usize(2..6))
            .map(|number| {
                let rows = match rng.u8(0..10) {
                    0 => 0,
                    1 => 1,
                    2..=4 if big => rng.usize(800..4000),
                    5 | 6 => rng.usize(40..300),
                    _ => rng.usize(2..16),
                };
                Table::random(rng, number, rows, profile, collation)
            })
            .collect();
        let mut schema = Schema { tables, then: Vec::new(), collation, costs: odd_costs(rng) };
        for _ in 0..rng.usize(0..4) {
            let statement = schema.change(rng);
            schema.then.push(statement);
        }
        if rng.u8(0..3) == 0 {
            for t in &schema.tables {
                schema.then.push(format!("ANALYZE TABLE {}", t.name));
            }
        }
        schema
    }

    /// A statement that changes some rows, the same way wherever it runs.
    pub fn change(&self, rng: &mut Rng) -> String {
        let t = &self.tables[rng.usize(0..self.tables.len())];
        let (every, which) = (rng.usize(2..30), rng.usize(0..30));
        let some = format!("id % {every} = {}", which % every);
        match rng.u8(0..6) {
            0 => format!("DELETE FROM {} WHERE {some}", t.name),
            1 => {
                let id = rng.usize(1_000_000..9_000_000);
                let row: Vec<String> = t.columns[1..].iter().map(|c| c.stored(rng, t.rows.len())).collect();
                format!("INSERT IGNORE INTO {} VALUES ({id}, {})", t.name, row.join(", "))
            }
            _ => {
                let c = &t.columns[rng.usize(1..t.columns.len())];
                format!("UPDATE IGNORE {} SET {} = {} WHERE {some}", t.name, c.name, c.stored(rng, t.rows.len()))
            }
        }
    }

    /// Everything that makes the tables and fills them.
    pub fn script(&self) -> Vec<String> {
        let mut out = Vec::new();
        for t in &self.tables {
            out.push(t.create(&t.name, true));
            out.extend(t.inserts(0));
        }
        out.extend(self.then.iter().cloned());
        out
    }
}
