//! Random ALTER TABLE statements with several clauses, on Nextleaf and MariaDB: both refuse one or both do it, and in
//! the end there are the same rows, columns, keys and foreign keys. Ours are there after a crash, too, and every row is
//! in every index.
//!
//! NEXTLEAF_SEED=n runs that seed alone, NEXTLEAF_SEEDS=n so many, NEXTLEAF_STATEMENTS=n so many ALTERs of each.

#[path = "alters/statements.rs"]
mod statements;

use statements::Generator;
use std::path::{Path, PathBuf};
use tests::golden::render;
use tests::oracle::MariaDb;
use tests::ours::Ours;
use tests::{Answer, TextRows};

const TABLES: &str = "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'g' ORDER BY TABLE_NAME";

const COLUMNS: &str = "SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT, COLLATION_NAME, COLUMN_KEY, EXTRA, \
     COLUMN_COMMENT FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'g' ORDER BY TABLE_NAME, ORDINAL_POSITION";

const KEYS: &str = "SELECT TABLE_NAME, INDEX_NAME, NON_UNIQUE, COLUMN_NAME, COALESCE(SUB_PART, '-'), COLLATION \
     FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = 'g' ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX";

const FOREIGN_KEYS: &str = "SELECT k.TABLE_NAME, k.CONSTRAINT_NAME, k.COLUMN_NAME, k.REFERENCED_TABLE_NAME, k.REFERENCED_COLUMN_NAME, \
     REPLACE(r.UPDATE_RULE, 'NO ACTION', 'RESTRICT'), REPLACE(r.DELETE_RULE, 'NO ACTION', 'RESTRICT') \
     FROM information_schema.KEY_COLUMN_USAGE k JOIN information_schema.REFERENTIAL_CONSTRAINTS r \
     ON r.CONSTRAINT_SCHEMA = k.CONSTRAINT_SCHEMA AND r.CONSTRAINT_NAME = k.CONSTRAINT_NAME AND r.TABLE_NAME = k.TABLE_NAME \
     WHERE k.TABLE_SCHEMA = 'g' ORDER BY k.TABLE_NAME, k.CONSTRAINT_NAME, k.ORDINAL_POSITION";

const CHECKS: &str = "SELECT TABLE_NAME, CONSTRAINT_NAME FROM information_schema.TABLE_CONSTRAINTS WHERE TABLE_SCHEMA = 'g' AND \
     CONSTRAINT_TYPE = 'CHECK' ORDER BY TABLE_NAME, CONSTRAINT_NAME";

const STRICT: &str =
    "STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";

struct Dir(PathBuf);

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Integer types without the widths that MariaDB still shows.
fn type_name(text: &str) -> String {
    let (word, rest) = text.split_once('(').unwrap_or((text, ""));
    match word {
        "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "year" => {
            format!("{word}{}", rest.split_once(')').map_or("", |(_, r)| r))
        }
        _ => text.to_string(),
    }
}

/// A default as MySQL shows it: MariaDB quotes strings, and says NULL.
fn default_value(text: &str) -> Option<String> {
    match text {
        "NULL" => None,
        t if t.starts_with('\'') => Some(t[1..t.len() - 1].to_string()),
        t => Some(t.to_string()),
    }
}

/// Columns, in one form for both. Expression defaults are told by the rows that they make.
fn columns(rows: TextRows, theirs: bool) -> TextRows {
    let shown = |mut row: Vec<Option<String>>| {
        let is_expression = row[7].as_ref().is_some_and(|e| e == "DEFAULT_GENERATED")
            || theirs && row[4].as_ref().is_some_and(|d| d.contains('('));
        row[2] = row[2].as_deref().map(type_name);
        let is_long = row[2].as_ref().is_some_and(|t| t.ends_with("text") || t.ends_with("blob"));
        if theirs {
            row[4] = row[4].as_deref().and_then(default_value);
        }
        // A default of a TEXT is an expression, whatever MariaDB calls it.
        if is_expression || theirs && is_long && row[4].is_some() {
            row[4] = Some("(..)".into());
            row[7] = Some(String::new());
        }
        row
    };
    rows.into_iter().map(shown).collect()
}

/// Everything that is compared, a line each.
fn contents(run: &mut dyn FnMut(&str) -> Answer, theirs: bool) -> Vec<String> {
    let mut out = Vec::new();
    let tables = run(TABLES).expect("tables");
    for table in tables.iter().map(|r| r[0].as_ref().expect("a name")) {
        let mut rows = render(&run(&format!("SELECT * FROM g.{table}")).expect("rows"));
        rows.sort();
        out.extend(rows.into_iter().map(|r| format!("row of {table}: {r}")));
    }
    let lists: [(&str, &str); 4] = [("column", COLUMNS), ("key", KEYS), ("reference", FOREIGN_KEYS), ("check", CHECKS)];
    for (what, sql) in lists {
        let rows = run(sql).unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        let rows = if what == "column" { columns(rows, theirs) } else { rows };
        out.extend(render(&rows).into_iter().map(|r| format!("{what}: {r}")));
    }
    out
}

/// The first line of each that the other lacks.
fn difference(ours: &[String], theirs: &[String]) -> String {
    let lacks =
        |a: &[String], b: &[String]| a.iter().filter(|l| !b.contains(l)).cloned().collect::<Vec<_>>().join("\n  ");
    format!("only ours:\n  {}\nonly theirs:\n  {}", lacks(ours, theirs), lacks(theirs, ours))
}

/// How a statement that one server alone refuses is judged.
enum Verdict {
    Same,
    /// A difference that is known: the tables are made anew.
    Known,
    Wrong,
}

/// What MySQL refuses and MariaDB does: renaming what an expression reads (3108, 3837, 3959, 3766), dropping the key
/// that a foreign key refers to (1553, 1822), keys over whole TEXTs (1170), NULL as the default of a primary key
/// (1067).
const OURS_ALONE: &[u16] = &[1235, 3108, 3837, 3959, 3766, 1553, 1822, 1170, 1067];

/// The other way round: dropping a column of a unique key over several (1072), DEFAULT of a column without one outside
/// of strict mode (1364), other types below generated columns (1901) and primary keys over those (1903), renaming
/// columns of foreign keys by a copy (1846).
const THEIRS_ALONE: &[u16] = &[1072, 1364, 1901, 1903, 1846];

fn judge(ours: &Answer, theirs: &Answer) -> Verdict {
    match (ours, theirs) {
        (Ok(_), Ok(_)) | (Err(_), Err(_)) => Verdict::Same,
        (Err((code, _)), Ok(_)) if OURS_ALONE.contains(code) => Verdict::Known,
        // Virtual columns are computed when a row is written; MariaDB does so when it is read.
        (Err((1292, message)), Ok(_)) if message.starts_with("Truncated incorrect DOUBLE value") => Verdict::Known,
        (Ok(_), Err((code, _))) if THEIRS_ALONE.contains(code) => Verdict::Known,
        _ => Verdict::Wrong,
    }
}

struct World<'a> {
    ours: Ours,
    theirs: &'a mut MariaDb,
    generator: Generator,
    log: Vec<String>,
    dir: Option<Dir>,
}

impl World<'_> {
    fn at(&self) -> String {
        self.log.join("\n")
    }

    /// On both; `false`: a known difference, the tables are of no use any more.
    fn run(&mut self, sql: &str) -> bool {
        let ours = self.ours.run(sql);
        let theirs = self.theirs.run(sql);
        let said = |a: &Answer| a.as_ref().map_or_else(|e| format!(" {}", e.0), |_| String::new());
        self.log.push(format!("{sql};  -- {}{}", said(&ours), said(&theirs)));
        match judge(&ours, &theirs) {
            Verdict::Same => true,
            Verdict::Known => false,
            Verdict::Wrong => panic!("{}\nours {ours:?}\ntheirs {theirs:?}", self.at()),
        }
    }

    /// MariaDB cuts the fractions of seconds that are too many unless it is told to round them.
    fn set_mode(&mut self, mode: &str) {
        self.ours.run(&format!("SET SESSION sql_mode = '{mode}'")).expect("a mode");
        let theirs = self.theirs.run(&format!("SET SESSION sql_mode = 'TIME_ROUND_FRACTIONAL,{mode}'"));
        theirs.expect("a mode");
        self.log.push(format!("SET sql_mode = '{mode}';"));
    }

    fn compare(&mut self) -> Vec<String> {
        let ours = contents(&mut |sql| self.ours.run(sql), false);
        let theirs = contents(&mut |sql| self.theirs.run(sql), true);
        assert!(ours == theirs, "{}\n{}", self.at(), difference(&ours, &theirs));
        for table in self.ours.run(TABLES).expect("tables") {
            let check = self.ours.run(&format!("CHECK TABLE {}", table[0].as_ref().expect("a name"))).expect("a check");
            assert!(check.iter().all(|r| r[3].as_deref() == Some("OK")), "{}\n{check:?}", self.at());
        }
        ours
    }

    /// What a copy of the folder, as a crash would leave it, has.
    fn compare_after_crash(&mut self, before: &[String]) {
        let Some(dir) = &self.dir else { return };
        let copy = Dir(dir.0.with_extension("copy"));
        let _ = std::fs::remove_dir_all(&copy.0);
        copy_folder(&dir.0, &copy.0);
        let mut left = Ours::open_dir(&copy.0, &[]).unwrap_or_else(|e| panic!("{}\n{e:?}", self.at()));
        let after = contents(&mut |sql| left.run(sql), false);
        assert!(after == before, "after a crash, {}\n{}", self.at(), difference(&after, before));
    }
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        match entry.file_type().expect("a type").is_dir() {
            true => copy_folder(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).expect("a copy")),
        }
    }
}

/// Makes tables and alters them until a known difference, or so many times.
fn run_world(seed: u64, alters: usize, theirs: &mut MariaDb) -> usize {
    let dir = seed
        .is_multiple_of(3)
        .then(|| Dir(std::env::temp_dir().join(format!("nextleaf-alters-{}", std::process::id()))));
    let ours = match &dir {
        Some(dir) => {
            let _ = std::fs::remove_dir_all(&dir.0);
            Ours::open_dir(&dir.0, &[]).expect("the database opens")
        }
        None => {
            let leaf_rows = seed.is_multiple_of(2).then_some(8);
            Ours::open(&tests::ours::Config { leaf_rows, ..tests::ours::configs()[0].clone() })
        }
    };
    let mut world = World { ours, theirs, generator: Generator::new(seed), log: vec![format!("-- seed {seed}")], dir };
    for sql in ["SET foreign_key_checks = 0", "DROP DATABASE IF EXISTS g", "SET foreign_key_checks = 1"] {
        world.theirs.run(sql).expect("no database");
    }
    let strict = if seed % 4 == 1 { "" } else { STRICT };
    world.run("CREATE DATABASE g CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci");
    world.run("USE g");
    world.set_mode(STRICT);
    for sql in world.generator.schema() {
        assert!(world.run(&sql));
    }
    world.set_mode(strict);
    let before = world.compare();
    world.compare_after_crash(&before);
    for n in 0..alters {
        let sql = world.generator.alter(&mut |sql| world.ours.run(sql));
        if !world.run(&sql) {
            return n;
        }
        world.compare();
        for sql in world.generator.changes(&mut |sql| world.ours.run(sql)) {
            if !world.run(&sql) {
                return n;
            }
        }
        let now = world.compare();
        if n % 4 == 3 {
            world.compare_after_crash(&now);
        }
    }
    alters
}

#[test]
fn alters_do_what_they_do_in_mariadb() {
    let Some(mut theirs) = MariaDb::start("alters") else { return };
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let alters = number("NEXTLEAF_STATEMENTS").unwrap_or(12) as usize;
    let seeds = match number("NEXTLEAF_SEED") {
        Some(seed) => seed..seed + 1,
        None => 1..1 + number("NEXTLEAF_SEEDS").unwrap_or(12),
    };
    let count: usize = seeds.map(|seed| run_world(seed, alters, &mut theirs)).sum();
    println!("{count} ALTERs");
}
