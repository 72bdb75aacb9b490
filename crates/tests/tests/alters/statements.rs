//! Random tables, ALTER TABLE statements, and changes of rows.

use tests::Answer;

/// What a statement is run by.
pub type Run<'a> = dyn FnMut(&str) -> Answer + 'a;

/// A table as it is now.
struct Shape {
    name: String,
    columns: Vec<Column>,
    keys: Vec<String>,
    foreign_keys: Vec<String>,
    checks: Vec<String>,
}

#[derive(Clone)]
struct Column {
    name: String,
    /// DATA_TYPE.
    ty: String,
    generated: bool,
}

/// Types, each with values that fit and values that need not.
const TYPES: &[&str] = &[
    "INT",
    "INT",
    "INT UNSIGNED",
    "BIGINT",
    "TINYINT",
    "SMALLINT UNSIGNED",
    "DECIMAL(6,2)",
    "DECIMAL(4,0)",
    "DECIMAL(6,2) UNSIGNED",
    "DOUBLE UNSIGNED",
    "DOUBLE",
    "VARCHAR(3)",
    "VARCHAR(10)",
    "VARCHAR(10)",
    "VARCHAR(40)",
    "CHAR(6)",
    "VARCHAR(12) CHARACTER SET latin1",
    "VARCHAR(12) COLLATE utf8mb4_bin",
    "TEXT",
    "VARBINARY(12)",
    "BLOB",
    "DATE",
    "DATETIME",
    "DATETIME(2)",
    "TIME",
];

fn is_long(ty: &str) -> bool {
    ty.contains("TEXT") || ty.contains("BLOB") || ty.contains("text") || ty.contains("blob")
}

fn is_string(ty: &str) -> bool {
    let ty = ty.to_uppercase();
    is_long(&ty) || ty.contains("CHAR") || ty.contains("BINARY")
}

pub struct Generator {
    rng: fastrand::Rng,
    /// Names of constraints are used once.
    named: u32,
}

impl Generator {
    pub fn new(seed: u64) -> Generator {
        Generator { rng: fastrand::Rng::with_seed(seed), named: 0 }
    }

    fn below(&mut self, n: usize) -> usize {
        self.rng.usize(..n)
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.rng.u32(..100) < percent
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn new_name(&mut self, prefix: &str) -> String {
        self.named += 1;
        format!("{prefix}{}", self.named)
    }

    /// Parents, the table that is altered most, its children.
    pub fn schema(&mut self) -> Vec<String> {
        let mut out = vec![
            "CREATE TABLE par (id INT PRIMARY KEY, u VARCHAR(10) NOT NULL, n BIGINT, UNIQUE KEY uu (u)) ENGINE=InnoDB"
                .into(),
            "INSERT INTO par VALUES (1, 'a', 10), (2, 'b', NULL), (3, 'cc', 30), (4, '5', 4)".into(),
        ];
        let key = self.pick(&[
            "PRIMARY KEY (id)",
            "PRIMARY KEY (id)",
            "PRIMARY KEY (id, a)",
            "UNIQUE KEY ui (id)",
            "KEY ki (id)",
        ]);
        let mut columns =
            vec!["id INT NOT NULL".to_string(), "a INT NOT NULL DEFAULT 1".to_string(), "f INT".to_string()];
        for name in ["b", "c", "d"] {
            let ty = self.pick(TYPES);
            columns.push(format!("{name} {ty}"));
        }
        columns.push(
            self.pick(&[
                "g INT AS (a + 1) STORED",
                "g INT AS (a * 2) VIRTUAL",
                "g VARCHAR(20) AS (CONCAT(a, '-')) STORED",
                "g INT",
            ])
            .into(),
        );
        columns.push(key.into());
        if self.chance(50) {
            columns.push("CONSTRAINT fk0 FOREIGN KEY (f) REFERENCES par (id) ON DELETE SET NULL".into());
        }
        if self.chance(40) {
            columns.push("CONSTRAINT ck0 CHECK (a > 0)".into());
        }
        if self.chance(50) {
            columns.push("KEY kf (f, a)".into());
        }
        out.push(format!("CREATE TABLE t ({}) ENGINE=InnoDB", columns.join(", ")));
        out.push(
            "INSERT INTO t (id, a, f, b, c, d) VALUES (1, 5, 1, NULL, NULL, NULL), (2, 6, NULL, NULL, NULL, NULL), (3, 7, 2, NULL, NULL, NULL)".into(),
        );
        if key.contains("(id)") && !key.starts_with("KEY") {
            out.push("CREATE TABLE chi (id INT PRIMARY KEY, x INT, y VARCHAR(5), CONSTRAINT fkc FOREIGN KEY (x) REFERENCES t (id) ON UPDATE CASCADE) ENGINE=InnoDB".into());
            out.push("INSERT INTO chi VALUES (1, 1, 'p'), (2, NULL, 'q'), (3, 3, NULL)".into());
        }
        out
    }

    fn shape(&mut self, run: &mut Run<'_>) -> Shape {
        let mut list = |sql: &str| run(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        let text = |cell: &Option<String>| cell.clone().unwrap_or_default();
        let tables: Vec<String> = list(super::TABLES).iter().map(|r| text(&r[0])).collect();
        let main = tables.iter().find(|t| t.starts_with('t')).expect("it is never dropped").clone();
        let name = if self.rng.u32(..100) < 75 { main } else { tables[self.rng.usize(..tables.len())].clone() };
        let of = format!("WHERE TABLE_SCHEMA = 'g' AND TABLE_NAME = '{name}'");
        let columns = list(&format!(
            "SELECT COLUMN_NAME, DATA_TYPE, EXTRA FROM information_schema.COLUMNS {of} ORDER BY ORDINAL_POSITION"
        ));
        let columns = columns.iter().map(|r| Column {
            name: text(&r[0]),
            ty: text(&r[1]),
            generated: text(&r[2]).ends_with("GENERATED") && !text(&r[2]).starts_with("DEFAULT"),
        });
        let columns = columns.collect();
        let keys = list(&format!("SELECT DISTINCT INDEX_NAME FROM information_schema.STATISTICS {of} ORDER BY 1"));
        let keys = keys.iter().map(|r| text(&r[0])).filter(|k| k != "PRIMARY").collect();
        let mut constraints = |kind: &str| -> Vec<String> {
            let sql = format!(
                "SELECT CONSTRAINT_NAME FROM information_schema.TABLE_CONSTRAINTS {of} AND CONSTRAINT_TYPE = '{kind}' ORDER BY 1"
            );
            list(&sql).iter().map(|r| text(&r[0])).collect()
        };
        let (foreign_keys, checks) = (constraints("FOREIGN KEY"), constraints("CHECK"));
        Shape { name, columns, keys, foreign_keys, checks }
    }

    fn column(&mut self, s: &Shape) -> String {
        match self.chance(96) {
            true => s.columns[self.below(s.columns.len())].name.clone(),
            false => "zz".into(),
        }
    }

    fn one_of(&mut self, of: &[String]) -> String {
        if of.is_empty() || self.chance(4) { "zz".into() } else { of[self.below(of.len())].clone() }
    }

    /// A literal that a column of the type may take, or may not.
    fn value(&mut self, ty: &str) -> String {
        if self.chance(12) {
            return "NULL".into();
        }
        let ty = ty.to_uppercase();
        let of: &[&str] = match &ty {
            t if t.contains("CHAR") || t.contains("TEXT") => {
                &["'a'", "'B'", "'5'", "'12'", "''", "'x y'", "'-3'", "'2024-02-03'", "'abc'", "'ä'", "'7'", "'1.5'"]
            }
            t if t.contains("BINARY") || t.contains("BLOB") => &["'a'", "'B'", "'5'", "''", "'2024-02-03'", "x'3132'"],
            t if t.contains("DATE") => {
                &["'2024-01-31'", "'2023-12-24'", "'1999-05-06 07:08:09'", "20240229", "'2000-01-01'"]
            }
            t if t.contains("TIME") => &["'01:02:03'", "'-05:00:00'", "'100:00:01'", "10203", "'00:00:00'"],
            t if t.contains("DECIMAL") || t.contains("DOUBLE") => {
                &["1.5", "-2.25", "3", "0", "'4.75'", "100", "99.995"]
            }
            t if t.contains("UNSIGNED") => &["1", "2", "3", "4", "5", "100", "'7'", "300"],
            _ => &["1", "2", "3", "4", "5", "0", "-1", "100", "'7'", "2.5"],
        };
        self.pick(of).into()
    }

    /// A type and attributes.
    fn definition(&mut self, s: &Shape, name: &str) -> String {
        let ty = self.pick(TYPES);
        let base: Vec<Column> = s.columns.iter().filter(|c| !c.generated && c.name != name).cloned().collect();
        if self.chance(10) && !base.is_empty() {
            let of = base[self.below(base.len())].clone();
            let stored = self.pick(&["STORED", "VIRTUAL", ""]);
            return match is_string(&of.ty) {
                true => format!("VARCHAR(60) AS (CONCAT({}, '+')) {stored}", of.name),
                false => format!("{} AS ({}) {stored}", self.pick(&["VARCHAR(60)", "VARCHAR(70)"]), of.name),
            };
        }
        let mut out = ty.to_string();
        if self.chance(30) {
            out += " NOT NULL";
        }
        if self.chance(35) {
            let value = self.value(ty);
            if !is_long(ty) {
                out += &format!(" DEFAULT {value}");
            } else if value != "NULL" {
                out += &format!(" DEFAULT ({value})");
            }
        } else if self.chance(8) && !is_long(ty) {
            out += if is_string(ty) { " DEFAULT (CONCAT('x', 1))" } else { " DEFAULT (1 + 1)" };
        }
        if self.chance(6) {
            out += if is_long(ty) { "" } else { " UNIQUE" };
        } else if self.chance(3) && !is_long(ty) {
            out += " PRIMARY KEY";
        }
        if self.chance(10) {
            out += self.pick(&[" COMMENT 'c1'", " COMMENT ''", " COMMENT 'it''s'"]);
        }
        out
    }

    fn place(&mut self, s: &Shape) -> String {
        match self.below(6) {
            0 => " FIRST".into(),
            1 | 2 => format!(" AFTER {}", self.column(s)),
            _ => String::new(),
        }
    }

    fn key_parts(&mut self, s: &Shape) -> String {
        let mut parts: Vec<String> = Vec::new();
        for _ in 0..1 + self.below(3) {
            let column = s.columns[self.below(s.columns.len())].clone();
            if parts.iter().any(|p| p.starts_with(&column.name)) {
                continue;
            }
            let prefix = match is_string(&column.ty) {
                true if is_long(&column.ty) || self.chance(25) => self.pick(&["(2)", "(3)", "(1)"]),
                _ => "",
            };
            parts.push(format!("{}{prefix}{}", column.name, if self.chance(15) { " DESC" } else { "" }));
        }
        parts.join(", ")
    }

    fn fresh_column(&mut self, s: &Shape) -> String {
        let free: Vec<&str> = ["b", "c", "d", "e", "h", "i", "j", "k", "a", "f", "g"]
            .into_iter()
            .filter(|n| !s.columns.iter().any(|c| c.name == *n))
            .collect();
        if free.is_empty() || self.chance(6) { self.column(s) } else { self.pick(&free).into() }
    }

    fn foreign_key(&mut self, s: &Shape) -> String {
        let name = self.new_name("fk");
        let column = self.column(s);
        let parent = self.pick(&["par (id)", "par (id)", "par (u)", "par (n)", "t (id)"]);
        let does =
            self.pick(&["", " ON DELETE CASCADE", " ON DELETE SET NULL ON UPDATE CASCADE", " ON UPDATE CASCADE"]);
        format!("ADD CONSTRAINT {name} FOREIGN KEY ({column}) REFERENCES {parent}{does}")
    }

    fn clause(&mut self, s: &Shape) -> String {
        match self.below(48) {
            0..=6 => {
                let name = self.fresh_column(s);
                format!("ADD COLUMN {name} {}{}", self.definition(s, &name), self.place(s))
            }
            7 => {
                let (a, b) = (self.fresh_column(s), self.fresh_column(s));
                format!("ADD ({a} {}, {b} {})", self.definition(s, &a), self.definition(s, &b))
            }
            8..=11 => format!("DROP COLUMN {}", self.column(s)),
            12..=17 => {
                let name = self.column(s);
                format!("MODIFY {name} {}{}", self.definition(s, &name), self.place(s))
            }
            18..=21 => {
                let (old, new) = (self.column(s), self.fresh_column(s));
                format!("CHANGE {old} {new} {}{}", self.definition(s, &old), self.place(s))
            }
            22..=24 => format!("RENAME COLUMN {} TO {}", self.column(s), self.fresh_column(s)),
            25 | 26 => {
                let plain: Vec<&Column> = s.columns.iter().filter(|c| !c.generated).collect();
                let column = plain[self.below(plain.len())].clone();
                match self.chance(30) || is_long(&column.ty) {
                    true => format!("ALTER {} DROP DEFAULT", column.name),
                    false => format!("ALTER {} SET DEFAULT {}", column.name, self.value(&column.ty)),
                }
            }
            27..=29 => format!("ADD INDEX {} ({})", self.pick(&["k1", "k2", "k3", "k4", "k5"]), self.key_parts(s)),
            30 | 31 => format!("ADD UNIQUE KEY {} ({})", self.pick(&["u1", "u2", "u3"]), self.key_parts(s)),
            32 | 33 => format!("DROP INDEX {}", self.one_of(&s.keys.clone())),
            34 | 35 => {
                let old = self.one_of(&s.keys.clone());
                format!("RENAME INDEX {old} TO {}", self.pick(&["k1", "k2", "k3", "u1", "r1"]))
            }
            36 => format!("ADD PRIMARY KEY ({})", self.key_parts(s)),
            37 => "DROP PRIMARY KEY".into(),
            38 => format!("DROP PRIMARY KEY, ADD PRIMARY KEY ({})", self.key_parts(s)),
            39 | 40 => self.foreign_key(s),
            41 => format!("DROP FOREIGN KEY {}", self.one_of(&s.foreign_keys.clone())),
            42 => {
                let name = self.new_name("ck");
                let Column { name: column, ty, .. } = s.columns[self.below(s.columns.len())].clone();
                let test = match ty.as_str() {
                    ty if is_string(ty) => self.pick(&["<> 'q'", "IS NOT NULL"]),
                    "date" | "datetime" | "time" => "IS NOT NULL",
                    _ => self.pick(&["<> 3", "> 0", "< 5", "IS NOT NULL"]),
                };
                format!("ADD CONSTRAINT {name} CHECK ({column} {test})")
            }
            43 => match s.checks.is_empty() {
                true => "COMMENT = 'hello'".into(),
                false => format!("DROP CONSTRAINT {}", self.one_of(&s.checks.clone())),
            },
            44 => format!(
                "RENAME TO {}",
                if s.name.starts_with('t') { self.pick(&["t", "t2", "t3", "par"]) } else { &s.name }
            ),
            45 => self
                .pick(&[
                    "CONVERT TO CHARACTER SET latin1",
                    "CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
                    "DEFAULT CHARACTER SET latin1",
                ])
                .into(),
            46 => format!("ORDER BY {}", s.columns[self.below(s.columns.len())].name),
            _ => self.pick(&["ENGINE = InnoDB", "FORCE", "AUTO_INCREMENT = 50", "COMMENT = 'x'"]).into(),
        }
    }

    /// An ALTER TABLE of a table that is there.
    pub fn alter(&mut self, run: &mut Run<'_>) -> String {
        let shape = self.shape(run);
        let mut clauses: Vec<String> = (0..1 + self.below(4)).map(|_| self.clause(&shape)).collect();
        // MariaDB forgets foreign keys where a table gets another name and other columns at once.
        match clauses[0].starts_with("RENAME TO") {
            true => clauses.truncate(1),
            false => clauses.retain(|c| !c.starts_with("RENAME TO")),
        }
        // ORDER BY is the last clause.
        clauses.sort_by_key(|c| c.starts_with("ORDER BY"));
        let orders = clauses.iter().filter(|c| c.starts_with("ORDER BY")).count();
        clauses.truncate(clauses.len() - orders.saturating_sub(1));
        format!("ALTER TABLE {} {}", shape.name, clauses.join(", "))
    }

    /// INSERT, UPDATE and DELETE.
    pub fn changes(&mut self, run: &mut Run<'_>) -> Vec<String> {
        (0..1 + self.below(4)).map(|_| self.change(run)).collect()
    }

    fn change(&mut self, run: &mut Run<'_>) -> String {
        let s = self.shape(run);
        let plain: Vec<Column> = s.columns.iter().filter(|c| !c.generated).cloned().collect();
        let column = plain[self.below(plain.len())].clone();
        let condition = |g: &mut Generator| {
            let c = &plain[g.below(plain.len())];
            match g.chance(25) {
                true => format!("{} IS NOT NULL", c.name),
                false => format!("{} = {}", c.name, g.value(&c.ty)),
            }
        };
        match self.below(10) {
            0 => format!("INSERT INTO {} () VALUES ()", s.name),
            1..=6 => {
                let some: Vec<Column> = plain.iter().filter(|_| self.chance(75)).cloned().collect();
                let names: Vec<&str> = some.iter().map(|c| c.name.as_str()).collect();
                let values: Vec<String> = some.iter().map(|c| self.value(&c.ty)).collect();
                format!("INSERT INTO {} ({}) VALUES ({})", s.name, names.join(", "), values.join(", "))
            }
            7 | 8 => {
                let value = if self.chance(20) { "DEFAULT".into() } else { self.value(&column.ty) };
                format!("UPDATE {} SET {} = {value} WHERE {}", s.name, column.name, condition(self))
            }
            _ => format!("DELETE FROM {} WHERE {}", s.name, condition(self)),
        }
    }
}
