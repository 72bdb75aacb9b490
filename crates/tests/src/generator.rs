//! Random tables and queries, NULLs everywhere, from a seed.
//!
//! The queries stay within what MySQL and MariaDB define alike: no division of doubles compared as text, no order that
//! is not total, no string functions on numbers whose text differs between the two.

use fastrand::Rng;

/// A column: name and what can be done with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Int,
    Decimal,
    Text,
    Date,
}

#[derive(Clone, Debug)]
struct Column {
    name: String,
    kind: Kind,
}

const TABLES: &[&str] = &["t1", "t2", "t3"];
const COLUMNS: &[(&str, &str, Kind)] = &[
    ("i", "INT", Kind::Int),
    ("b", "BIGINT", Kind::Int),
    ("u", "SMALLINT UNSIGNED", Kind::Int),
    ("d", "DECIMAL(8,2)", Kind::Decimal),
    ("s", "VARCHAR(10)", Kind::Text),
    ("c", "CHAR(3)", Kind::Text),
    ("t", "DATE", Kind::Date),
];

const WORDS: &[&str] = &["", "a", "A", "b", "ab", "Ab", "abc", "b c", "z", "10", "7x", "é", "E"];

/// Statements that make and fill the tables.
pub fn schema(rng: &mut Rng) -> Vec<String> {
    let mut out = Vec::new();
    for table in TABLES {
        let columns: Vec<String> = COLUMNS.iter().map(|(n, ty, _)| format!("{n} {ty}")).collect();
        out.push(format!(
            "CREATE TABLE {table} (id INT NOT NULL PRIMARY KEY, {}) COLLATE utf8mb4_general_ci",
            columns.join(", ")
        ));
        let rows = rng.usize(0..14);
        for id in 0..rows {
            let values: Vec<String> = COLUMNS.iter().map(|(_, _, kind)| literal(rng, *kind, true)).collect();
            out.push(format!("INSERT INTO {table} VALUES ({id}, {})", values.join(", ")));
        }
    }
    out
}

fn literal(rng: &mut Rng, kind: Kind, stored: bool) -> String {
    if rng.u8(0..5) == 0 {
        return "NULL".into();
    }
    match kind {
        // one column is unsigned: stored values stay positive
        Kind::Int if stored => rng.i32(0..6).to_string(),
        Kind::Int => rng.i32(-3..8).to_string(),
        Kind::Decimal => format!("{}.{:02}", rng.i32(0..5), [0, 25, 50, 75][rng.usize(0..4)]),
        Kind::Text if stored => format!("'{}'", WORDS[rng.usize(0..WORDS.len())].chars().take(3).collect::<String>()),
        Kind::Text => format!("'{}'", WORDS[rng.usize(0..WORDS.len())]),
        Kind::Date => format!("'2024-0{}-{:02}'", rng.u8(1..3), rng.u8(1..4)),
    }
}

/// Makes queries over the tables of [`schema`].
pub struct Queries<'r> {
    rng: &'r mut Rng,
    /// Columns in sight, outer ones included.
    scope: Vec<Column>,
    aliases: usize,
    depth: usize,
}

/// Subqueries nest no deeper.
const DEPTH_MAX: usize = 2;

impl<'r> Queries<'r> {
    pub fn new(rng: &'r mut Rng) -> Queries<'r> {
        Queries { rng, scope: Vec::new(), aliases: 0, depth: 0 }
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.rng.u32(0..n) == 0
    }

    fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.rng.usize(0..of.len())]
    }

    /// A whole statement.
    pub fn statement(&mut self) -> String {
        self.scope.clear();
        self.aliases = 0;
        match self.rng.u32(0..12) {
            0 => self.set_operation(),
            1 => self.with(),
            2 => self.window(),
            _ => self.select(None),
        }
    }

    fn set_operation(&mut self) -> String {
        // no strings: of several equal ones either may be shown
        let kinds = [Kind::Int, Kind::Date];
        let first = self.select(Some(&kinds));
        let op = self.pick(&["UNION", "UNION ALL", "INTERSECT", "EXCEPT"]);
        self.scope.clear();
        let second = self.select(Some(&kinds));
        format!("({first}) {op} ({second})")
    }

    fn with(&mut self) -> String {
        let kinds = [Kind::Int, Kind::Decimal];
        let inner = self.select(Some(&kinds));
        self.scope = vec![
            Column { name: "w.x".into(), kind: Kind::Int },
            Column { name: "w.y".into(), kind: Kind::Decimal },
            Column { name: "v.x".into(), kind: Kind::Int },
        ];
        let condition = self.predicate(2);
        format!(
            "WITH w (x, y) AS ({inner}) SELECT w.x, w.y, v.x FROM w LEFT JOIN w AS v ON w.x = v.x WHERE {condition}"
        )
    }

    fn window(&mut self) -> String {
        let table = self.pick(TABLES);
        let function = self.pick(&[
            "ROW_NUMBER()",
            "RANK()",
            "DENSE_RANK()",
            "COUNT(*)",
            "SUM(i)",
            "MIN(d)",
            "MAX(b)",
            "COUNT(s)",
            "LAG(i) ",
            "LEAD(i, 2)",
            "FIRST_VALUE(d)",
            "NTILE(3)",
        ]);
        let partition = self.pick(&["", "PARTITION BY i ", "PARTITION BY s ", "PARTITION BY u, c "]);
        format!("SELECT id, {function} OVER ({partition}ORDER BY id) FROM {table}")
    }

    /// A SELECT; with `kinds`, of exactly these outputs.
    fn select(&mut self, kinds: Option<&[Kind]>) -> String {
        let outer = self.scope.len();
        let from = self.from();
        let condition = if self.one_in(4) { String::new() } else { format!(" WHERE {}", self.predicate(3)) };
        let grouped = kinds.is_none() && self.one_in(3);
        let text = if grouped {
            self.grouped(&from, &condition)
        } else {
            let items: Vec<String> = match kinds {
                Some(kinds) => kinds.iter().map(|k| self.expr(*k, 2)).collect(),
                None => (0..self.rng.usize(1..4)).map(|_| self.any_expr(2)).collect(),
            };
            let distinct = if self.one_in(5) { "DISTINCT " } else { "" };
            format!("SELECT {distinct}{} FROM {from}{condition}", items.join(", "))
        };
        self.scope.truncate(outer);
        text
    }

    fn grouped(&mut self, from: &str, condition: &str) -> String {
        let keys: Vec<String> = (0..self.rng.usize(0..3)).map(|_| self.column_any().name).collect();
        // MariaDB refuses aggregates over subqueries that aggregate
        let depth = std::mem::replace(&mut self.depth, DEPTH_MAX);
        let mut items = keys.clone();
        items.push(self.aggregate());
        items.push(self.aggregate());
        self.depth = depth;
        // MariaDB takes MIN of a NOT NULL column for not NULL even over no rows
        let having = if self.one_in(4) { " HAVING COUNT(*) > 1" } else { "" };
        let group = if keys.is_empty() { String::new() } else { format!(" GROUP BY {}", keys.join(", ")) };
        // A group shows one of several strings that are equal; which one is not defined.
        let shown: Vec<String> = items
            .iter()
            .map(|i| {
                if keys.contains(i) && [".s", ".c", ".z"].iter().any(|c| i.ends_with(c)) {
                    format!("CHAR_LENGTH(MIN({i}))")
                } else {
                    i.clone()
                }
            })
            .collect();
        format!("SELECT {} FROM {from}{condition}{group}{having}", shown.join(", "))
    }

    fn aggregate(&mut self) -> String {
        let function = self.pick(&["COUNT", "SUM", "MIN", "MAX", "COUNT(DISTINCT", "SUM(DISTINCT", "AVG", "BIT_OR"]);
        match function {
            "COUNT" if self.one_in(2) => "COUNT(*)".into(),
            "COUNT(DISTINCT" => format!("COUNT(DISTINCT {})", self.column_any().name),
            "SUM(DISTINCT" => format!("SUM(DISTINCT {})", self.expr(Kind::Decimal, 1)),
            "AVG" => format!("AVG({})", self.column(Kind::Decimal)),
            "SUM" => format!("SUM({})", self.expr(Kind::Int, 1)),
            "BIT_OR" => format!("BIT_OR({})", self.column(Kind::Int)),
            f => {
                let c = self.column_any();
                // MIN and MAX of equal strings may show either
                if c.kind == Kind::Text && f != "COUNT" {
                    format!("{f}(LENGTH({}))", c.name)
                } else {
                    format!("{f}({})", c.name)
                }
            }
        }
    }

    fn from(&mut self) -> String {
        let mut text = self.table();
        for _ in 0..self.rng.usize(0..3) {
            let before = self.scope.len();
            let right = if self.one_in(6) && self.depth < DEPTH_MAX { self.derived() } else { self.table() };
            let join = self.pick(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "LEFT JOIN", "JOIN", "CROSS JOIN"]);
            if join == "CROSS JOIN" {
                text = format!("{text} CROSS JOIN {right}");
                continue;
            }
            // An equality between the two sides, and sometimes more.
            let kind = [Kind::Int, Kind::Int, Kind::Text, Kind::Decimal, Kind::Date][self.rng.usize(0..5)];
            let left = self.column_in(0, before, kind);
            let new = self.column_in(before, self.scope.len(), kind);
            let mut on = match (left, new) {
                (Some(l), Some(r)) => format!("{l} = {r}"),
                _ => "1 = 1".into(),
            };
            if self.one_in(4) {
                on = format!("{on} AND {}", self.comparison(1));
            }
            if self.one_in(8) {
                on = self.comparison(1);
            }
            text = format!("{text} {join} {right} ON {on}");
        }
        text
    }

    fn table(&mut self) -> String {
        let table = self.pick(TABLES);
        let alias = format!("a{}", self.aliases);
        self.aliases += 1;
        self.scope.push(Column { name: format!("{alias}.id"), kind: Kind::Int });
        for (name, _, kind) in COLUMNS {
            self.scope.push(Column { name: format!("{alias}.{name}"), kind: *kind });
        }
        format!("{table} AS {alias}")
    }

    fn derived(&mut self) -> String {
        self.depth += 1;
        let hidden = std::mem::take(&mut self.scope);
        let inner = self.select(Some(&[Kind::Int, Kind::Decimal, Kind::Text]));
        self.scope = hidden;
        self.depth -= 1;
        let alias = format!("q{}", self.aliases);
        self.aliases += 1;
        for (name, kind) in [("x", Kind::Int), ("y", Kind::Decimal), ("z", Kind::Text)] {
            self.scope.push(Column { name: format!("{alias}.{name}"), kind });
        }
        let inner = name_outputs(&inner, &["x", "y", "z"]);
        format!("({inner}) AS {alias}")
    }

    fn column_any(&mut self) -> Column {
        self.scope[self.rng.usize(0..self.scope.len())].clone()
    }

    fn column_in(&mut self, from: usize, to: usize, kind: Kind) -> Option<String> {
        let fitting: Vec<String> =
            self.scope[from..to].iter().filter(|c| c.kind == kind).map(|c| c.name.clone()).collect();
        if fitting.is_empty() { None } else { Some(fitting[self.rng.usize(0..fitting.len())].clone()) }
    }

    fn column(&mut self, kind: Kind) -> String {
        let all = self.scope.len();
        self.column_in(0, all, kind).unwrap_or_else(|| match kind {
            Kind::Decimal => "1.25".into(),
            _ => literal(self.rng, kind, false),
        })
    }

    fn any_expr(&mut self, depth: u32) -> String {
        let kind = [Kind::Int, Kind::Decimal, Kind::Text, Kind::Date, Kind::Int][self.rng.usize(0..5)];
        self.expr(kind, depth)
    }

    fn expr(&mut self, kind: Kind, depth: u32) -> String {
        if depth == 0 || self.one_in(2) {
            return if self.one_in(4) { literal(self.rng, kind, false) } else { self.column(kind) };
        }
        let d = depth - 1;
        match (kind, self.rng.u32(0..7)) {
            (_, 0) => format!("COALESCE({}, {})", self.expr(kind, d), self.expr(kind, d)),
            (_, 1) => {
                format!("CASE WHEN {} THEN {} ELSE {} END", self.predicate(d), self.expr(kind, d), self.expr(kind, d))
            }
            (_, 2) => format!("NULLIF({}, {})", self.column(kind), self.expr(kind, d)),
            (_, 3) if self.depth < DEPTH_MAX && matches!(kind, Kind::Int) => self.scalar_subquery(),
            (Kind::Int, 4) => format!("LENGTH({})", self.expr(Kind::Text, d)),
            (Kind::Int, 5) => {
                format!("({} {} {})", self.expr(kind, d), self.pick(&["+", "-", "*"]), self.column(Kind::Int))
            }
            (Kind::Int, _) => format!("(({}) = ({}))", self.expr(Kind::Int, d), self.expr(Kind::Int, d)),
            // MariaDB forgets the scale of NULL literals and of products in derived tables
            (Kind::Decimal, _) => format!("({} {} {})", self.column(kind), self.pick(&["+", "-"]), self.column(kind)),
            (Kind::Text, 4) => format!("CONCAT({}, {})", self.expr(kind, d), self.expr(kind, d)),
            (Kind::Text, 5) => format!("LOWER({})", self.expr(kind, d)),
            (Kind::Text, _) => format!("SUBSTRING({}, 1, {})", self.expr(kind, d), self.rng.u32(1..4)),
            (Kind::Date, _) => format!("DATE_ADD({}, INTERVAL {} DAY)", self.column(kind), self.rng.u32(0..40)),
        }
    }

    fn scalar_subquery(&mut self) -> String {
        self.depth += 1;
        let before = self.scope.len();
        let table = self.table();
        let aggregate = ["COUNT(*)", "MAX(", "MIN(", "SUM("][self.rng.usize(0..4)];
        let value = if aggregate == "COUNT(*)" {
            aggregate.to_string()
        } else {
            let c = self.column_in(before, self.scope.len(), Kind::Int).expect("tables have integers");
            format!("{aggregate}{c})")
        };
        let condition = self.predicate(1);
        let first = self.one_in(4).then(|| self.scope[before].name.clone());
        let c = self.column_in(before, self.scope.len(), Kind::Int).expect("tables have integers");
        self.scope.truncate(before);
        self.depth -= 1;
        if let Some(id) = first {
            return format!("(SELECT {c} FROM {table} WHERE {condition} ORDER BY {id} LIMIT 1)");
        }
        format!("(SELECT {value} FROM {table} WHERE {condition})")
    }

    fn predicate(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self.comparison(1);
        }
        match self.rng.u32(0..9) {
            0 => format!("({} AND {})", self.predicate(depth - 1), self.predicate(depth - 1)),
            1 => format!("({} OR {})", self.predicate(depth - 1), self.predicate(depth - 1)),
            2 => {
                // MariaDB errs on NOT (NOT (x < ANY ..)) where NULLs take part
                let p = self.predicate(depth - 1);
                if p.starts_with("NOT ") { p } else { format!("NOT ({p})") }
            }
            3 if self.depth < DEPTH_MAX => self.subquery_predicate(),
            4 if self.depth < DEPTH_MAX => self.subquery_predicate(),
            5 => format!(
                "({}) IS {}",
                self.predicate(depth - 1),
                self.pick(&["TRUE", "NOT TRUE", "FALSE", "UNKNOWN", "NOT UNKNOWN"])
            ),
            _ => self.comparison(depth),
        }
    }

    fn comparison(&mut self, depth: u32) -> String {
        let kind = [Kind::Int, Kind::Int, Kind::Decimal, Kind::Text, Kind::Date][self.rng.usize(0..5)];
        let left = self.column(kind);
        match self.rng.u32(0..7) {
            0 => format!("{left} IS {}NULL", self.pick(&["", "NOT "])),
            1 => {
                let list: Vec<String> = (0..self.rng.usize(1..4)).map(|_| literal(self.rng, kind, false)).collect();
                format!("{left} {}IN ({})", self.pick(&["", "NOT "]), list.join(", "))
            }
            2 => format!(
                "{left} {}BETWEEN {} AND {}",
                self.pick(&["", "NOT "]),
                literal(self.rng, kind, false),
                self.expr(kind, depth.saturating_sub(1))
            ),
            3 if kind == Kind::Text => {
                format!(
                    "{left} {}LIKE '{}'",
                    self.pick(&["", "NOT "]),
                    self.pick(&["a%", "%b", "_", "%a%", "A_", "%", "ab%c"])
                )
            }
            _ => {
                let op = self.pick(&["=", "<>", "<", "<=", ">", ">=", "<=>", "="]);
                format!("{left} {op} {}", self.expr(kind, depth.saturating_sub(1)))
            }
        }
    }

    fn subquery_predicate(&mut self) -> String {
        self.depth += 1;
        let kind = [Kind::Int, Kind::Text, Kind::Decimal][self.rng.usize(0..3)];
        let left = self.column(kind);
        let second = self.column(Kind::Int);
        let before = self.scope.len();
        let mut table = self.table();
        if self.one_in(5) {
            let second = self.table();
            let all = self.scope.len();
            let column =
                |name: &str, at: usize, scope: &[Column]| format!("{}.{name}", scope[at].name.replace(".id", ""));
            let (l, r) = (column("i", before, &self.scope), column("b", (before + all) / 2, &self.scope));
            table = format!("{table} {} {second} ON {l} = {r}", self.pick(&["JOIN", "LEFT JOIN"]));
        }
        let value = self.column_in(before, self.scope.len(), kind).expect("tables have every kind");
        let value2 = self.column_in(before, self.scope.len(), Kind::Int).expect("tables have integers");
        let mut condition = if self.one_in(3) { String::new() } else { format!(" WHERE {}", self.predicate(1)) };
        let shape = self.rng.u32(0..16);
        if shape == 0 {
            condition = format!("{condition} GROUP BY {value}, {value2} HAVING COUNT(*) > {}", self.rng.u32(0..2));
        }
        let aggregate = (shape == 1).then(|| self.pick(&["MAX", "MIN"]));
        if shape == 2 && !table.contains(" JOIN ") {
            let other = self.predicate(0);
            condition = format!("{condition} UNION SELECT {value} FROM {table} WHERE {other}");
        }
        self.scope.truncate(before);
        self.depth -= 1;
        if let Some(f) = aggregate {
            let not = self.pick(&["", "NOT "]);
            return format!("{left} {not}IN (SELECT {f}({value}) FROM {table}{condition})");
        }
        if condition.contains(" UNION ") {
            let not = self.pick(&["", "NOT "]);
            return format!("{left} {not}IN (SELECT {value} FROM {table}{condition})");
        }
        let not = self.pick(&["", "NOT "]);
        match self.rng.u32(0..6) {
            0 => format!("{not}EXISTS (SELECT 1 FROM {table}{condition})"),
            1 => {
                let op = self.pick(&["=", "<>", "<", ">="]);
                let all = self.pick(&["ANY", "ALL"]);
                format!("{left} {op} {all} (SELECT {value} FROM {table}{condition})")
            }
            2 => format!("({left}, {second}) {not}IN (SELECT {value}, {value2} FROM {table}{condition})"),
            _ => format!("{left} {not}IN (SELECT {value} FROM {table}{condition})"),
        }
    }
}

/// Gives aliases to the outputs of a generated SELECT, whose items hold no commas outside parentheses.
fn name_outputs(select: &str, names: &[&str]) -> String {
    let start = if select.starts_with("SELECT DISTINCT ") { 16 } else { 7 };
    let (mut depth, mut quoted, mut out, mut n) = (0i32, false, select[..start].to_string(), 0);
    let bytes = select.as_bytes();
    let mut i = start;
    let mut last = start;
    while i < bytes.len() {
        match bytes[i] {
            b'\'' => quoted = !quoted,
            b'(' if !quoted => depth += 1,
            b')' if !quoted => depth -= 1,
            b',' if !quoted && depth == 0 && n + 1 < names.len() => {
                out.push_str(&format!("{} AS {}", &select[last..i], names[n]));
                n += 1;
                last = i;
                out.push(',');
                last += 1;
            }
            b' ' if !quoted && depth == 0 && select[i..].starts_with(" FROM ") => {
                out.push_str(&format!("{} AS {}", &select[last..i], names[n]));
                out.push_str(&select[i..]);
                return out;
            }
            _ => {}
        }
        i += 1;
    }
    out
}
