//! Databases with the tables of one schema, and how they are asked.

use super::node::Node;
use super::rival::Rival;
use super::schema::{Schema, Table};
use super::way::{Place, Way};
use crate::Answer;
use crate::ours::{Config, Ours};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// Milliseconds after which a statement is given up.
const STATEMENT_MS: u32 = 4000;

/// Rows of an answer above which it is given up.
const ROWS_MAX: usize = 100_000;

/// What the statements of one database may hold together.
const MEMORY_BYTES: usize = 256 << 20;

/// The databases.
pub struct World<'r> {
    usual: Ours,
    /// Those of the other places, opened when they are needed.
    tiny: Option<Ours>,
    threads: Option<Ours>,
    /// One that holds a snapshot, one that changes what it reads, and how.
    snapshot: Option<(Ours, Ours)>,
    /// All ways lead to the first database.
    one: bool,
    schema: &'r Schema,
    pub rival: Option<&'r Rival>,
    /// Statements that ran so far.
    pub statements: u64,
    /// Those run the usual way that failed, by error.
    pub refused: BTreeMap<u16, u64>,
}

pub fn config(name: &'static str, workers: usize, leaf_rows: Option<usize>) -> Config {
    Config {
        name,
        workers,
        leaf_rows,
        query_memory_bytes: Some(MEMORY_BYTES),
        switch: "",
        eager: workers > 1,
        cached_plans: engine::CachedPlans::Usual,
        variables: &[],
    }
}

type Done = Result<(), String>;

fn run(ours: &mut Ours, sql: &str) -> Done {
    ours.run(sql).map(drop).map_err(|(code, m)| format!("{code} {m}: {}", shorten(sql)))
}

/// A file for one statement.
struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn new(text: &str) -> TemporaryFile {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("nextleaf-hunt-{}-{number}.tsv", std::process::id()));
        std::fs::write(&path, text).expect("the temporary folder is writable");
        TemporaryFile(path)
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Makes a table and fills it, its first rows from a file.
fn fill(ours: &mut Ours, table: &Table) -> Done {
    run(ours, &table.create(&table.name, true))?;
    if table.loaded > 0 {
        let file = TemporaryFile::new(&table.lines(table.loaded));
        let path = file.0.display();
        run(ours, &format!("LOAD DATA LOCAL INFILE '{path}' INTO TABLE {} CHARACTER SET utf8mb4", table.name))?;
    }
    table.inserts(table.loaded).iter().try_for_each(|sql| run(ours, sql))
}

pub fn open(config: &Config, schema: &Schema) -> Result<Ours, String> {
    let mut ours = Ours::open(config);
    ours.cap(ROWS_MAX);
    run(&mut ours, "CREATE DATABASE d")?;
    run(&mut ours, "CREATE DATABASE pv")?;
    settle(&mut ours, schema)?;
    schema.tables.iter().try_for_each(|t| fill(&mut ours, t))?;
    schema.then.iter().try_for_each(|sql| run(&mut ours, sql))?;
    for t in &schema.tables {
        run(&mut ours, &t.create(&format!("pv.{}", t.name), false))?;
    }
    Ok(ours)
}

/// The session's own settings.
pub fn settle(ours: &mut Ours, schema: &Schema) -> Done {
    run(ours, "USE d")?;
    run(ours, &format!("SET NAMES utf8mb4 COLLATE {}", schema.collation))?;
    run(ours, &format!("SET max_execution_time = {STATEMENT_MS}"))
}

/// A database whose costs are not true.
fn open_odd(config: &Config, schema: &Schema) -> Result<Ours, String> {
    let mut ours = open(config, schema)?;
    if !schema.costs.is_empty() {
        schema.costs.iter().try_for_each(|sql| run(&mut ours, sql))?;
        run(&mut ours, "FLUSH OPTIMIZER_COSTS")?;
    }
    Ok(ours)
}

/// The first and last characters of a long statement.
pub fn shorten(sql: &str) -> String {
    let chars: Vec<char> = sql.chars().collect();
    if chars.len() < 300 {
        return sql.into();
    }
    let side = |c: &[char]| c.iter().collect::<String>();
    format!("{} .. {}", side(&chars[..200]), side(&chars[chars.len() - 60..]))
}

impl<'r> World<'r> {
    /// Makes the tables everywhere; the error is a statement that failed. `changes` run beside the snapshot.
    pub fn open(schema: &'r Schema, changes: &[String], rival: Option<&'r Rival>) -> Result<World<'r>, String> {
        let usual = open(&config("usual", 1, None), schema)?;
        let mut snapshot = None;
        if !changes.is_empty() {
            let mut reader = open(&config("snapshot", 1, Some(64)), schema)?;
            run(&mut reader, "START TRANSACTION WITH CONSISTENT SNAPSHOT")?;
            let mut writer = reader.beside();
            run(&mut writer, "USE d")?;
            changes.iter().try_for_each(|sql| run(&mut writer, sql))?;
            snapshot = Some((reader, writer));
        }
        if let Some(rival) = rival {
            rival.fill(schema)?;
        }
        let mut world = World::of(usual, schema);
        (world.snapshot, world.rival, world.one) = (snapshot, rival, false);
        Ok(world)
    }

    /// One session of one database.
    pub fn of(usual: Ours, schema: &'r Schema) -> World<'r> {
        World {
            usual,
            tiny: None,
            threads: None,
            snapshot: None,
            one: true,
            schema,
            rival: None,
            statements: 0,
            refused: BTreeMap::new(),
        }
    }

    fn session(&mut self, place: Place) -> &mut Ours {
        let schema = self.schema;
        let odd = |name: &'static str, workers: usize, rows: usize| {
            open_odd(&config(name, workers, Some(rows)), schema).expect("what could be made once can be made again")
        };
        match (place, &mut self.snapshot) {
            _ if self.one => &mut self.usual,
            (Place::Tiny, _) => self.tiny.get_or_insert_with(|| odd("tiny", 0, 8)),
            (Place::Threads, _) => self.threads.get_or_insert_with(|| odd("threads", 2, 16)),
            (Place::Snapshot, Some((reader, _))) => reader,
            _ => &mut self.usual,
        }
    }

    /// Runs a statement that prepares others.
    pub fn aside(&mut self, sql: &str) -> bool {
        self.usual.run(sql).is_ok()
    }

    /// Runs a statement the usual way.
    pub fn plain(&mut self, sql: &str) -> Answer {
        self.statements += 1;
        let answer = self.usual.run(sql);
        if let Err((code, _)) = &answer {
            *self.refused.entry(*code).or_default() += 1;
        }
        answer
    }

    pub fn run(&mut self, way: &Way, sql: &str) -> Answer {
        self.with(way, |session| match way.prepared {
            false => session.run(sql),
            true => {
                prepare(session, sql)?;
                let first = session.run("EXECUTE s")?;
                let again = session.run("EXECUTE s")?;
                if first.len() == again.len() { Ok(again) } else { Ok(first) }
            }
        })
    }

    /// Runs a statement with its hints and parameters, if the way has any.
    pub fn run_node(&mut self, way: &Way, node: &Node) -> Answer {
        if !way.parameters {
            let sql = node.render(way.hints);
            let locks = way.locks && !self.one && way.place != Place::Snapshot && sql.starts_with("SELECT");
            let lock = if locks { " FOR UPDATE" } else { "" };
            if way.warmed {
                let _ = self.run(way, &(node.varied(way.hints) + lock));
            }
            return self.run(way, &(sql + lock));
        }
        let (sql, constants) = node.parametrized(way.hints);
        self.with(way, |session| {
            prepare(session, &sql)?;
            let names: Vec<String> = (0..constants.len()).map(|i| format!("@p{i}")).collect();
            for (name, constant) in names.iter().zip(&constants) {
                session.run(&format!("SET {name} = {constant}"))?;
            }
            let using = if names.is_empty() { String::new() } else { format!(" USING {}", names.join(", ")) };
            session.run(&format!("EXECUTE s{using}"))
        })
    }

    /// Runs a change and the query for what it leaves behind, and takes it back.
    pub fn changed(&mut self, way: &Way, change: &str, table: &str) -> Answer {
        self.with(way, |session| {
            session.run("START TRANSACTION")?;
            let done = match way.prepared {
                false => session.run(change),
                true => prepare(session, change).and_then(|()| session.run("EXECUTE s")),
            };
            let rows = done.and_then(|_| session.run(table));
            session.run("ROLLBACK")?;
            rows
        })
    }

    fn with(&mut self, way: &Way, f: impl FnOnce(&mut Ours) -> Answer) -> Answer {
        self.statements += 1;
        let session = self.session(way.place);
        for set in &way.sets {
            session.run(&format!("SET SESSION {set}")).unwrap_or_else(|e| panic!("SET SESSION {set}: {e:?}"));
        }
        let answer = f(session);
        for set in &way.sets {
            let name = set.split(' ').next().unwrap_or_default();
            session.run(&format!("SET SESSION {name} = DEFAULT")).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        }
        answer
    }
}

fn prepare(session: &mut Ours, sql: &str) -> Result<(), (u16, String)> {
    let text = sql.replace('\\', "\\\\").replace('\'', "''");
    session.run(&format!("PREPARE s FROM '{text}'")).map(drop)
}
