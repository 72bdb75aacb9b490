//! Databases with the tables of one schema, and the ways to ask them.

use super::schema::Schema;
use crate::ours::{Config, Ours};
use crate::{Answer, TextRows};
use fastrand::Rng;
use std::collections::BTreeMap;

/// Milliseconds after which a statement is given up.
const STATEMENT_MS: u32 = 4000;

/// Rows of an answer above which it is given up.
const ROWS_MAX: usize = 100_000;

/// What the statements of one database may hold together.
const MEMORY_BYTES: usize = 256 << 20;

/// Where a statement runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The usual leaves, two threads.
    Usual,
    /// Leaves of 8 rows, one thread.
    Tiny,
    /// A REPEATABLE READ snapshot of tables that others change.
    Snapshot,
}

/// A way to run a statement.
#[derive(Clone, Debug)]
pub struct Way {
    pub place: Place,
    /// `name = value` of session variables.
    pub sets: Vec<String>,
    pub hints: bool,
    pub prepared: bool,
}

impl Way {
    pub fn usual() -> Way {
        Way { place: Place::Usual, sets: Vec::new(), hints: false, prepared: false }
    }
}

/// Flags of optimizer_switch that a query may meet on or off.
const FLAGS: &[&str] = &[
    "index_merge",
    "index_merge_union",
    "index_merge_sort_union",
    "index_merge_intersection",
    "engine_condition_pushdown",
    "index_condition_pushdown",
    "mrr",
    "mrr_cost_based",
    "block_nested_loop",
    "batched_key_access",
    "materialization",
    "semijoin",
    "loosescan",
    "firstmatch",
    "duplicateweedout",
    "subquery_materialization_cost_based",
    "use_index_extensions",
    "condition_fanout_filter",
    "derived_merge",
    "use_invisible_indexes",
    "skip_scan",
    "hash_join",
    "subquery_to_derived",
    "prefer_ordering_index",
    "hypergraph_optimizer",
    "derived_condition_pushdown",
    "hash_set_operations",
    "derived_with_keys",
    "in_to_exists",
    "partial_match_rowid_merge",
    "partial_match_table_scan",
    "subquery_cache",
    "mrr_sort_keys",
    "outer_join_with_cache",
    "semijoin_with_cache",
    "join_cache_incremental",
    "join_cache_hashed",
    "join_cache_bka",
    "optimize_join_buffer_size",
    "table_elimination",
    "extended_keys",
    "exists_to_in",
    "orderby_uses_equalities",
    "condition_pushdown_for_derived",
    "split_materialized",
    "condition_pushdown_for_subquery",
    "rowid_filter",
    "condition_pushdown_from_having",
    "not_null_range_scan",
];

/// Other settings that steer plans.
const SETTINGS: &[&str] = &[
    "max_query_memory = 1048576",
    "join_buffer_size = 128",
    "read_rnd_buffer_size = 1",
    "sort_buffer_size = 32768",
    "tmp_table_size = 1024",
    "max_seeks_for_key = 1",
    "eq_range_index_dive_limit = 1",
    "optimizer_search_depth = 1",
    "optimizer_search_depth = 3",
    "optimizer_prune_level = 0",
    "range_optimizer_max_mem_size = 1",
];

/// A way chosen at random.
pub fn random_way(rng: &mut Rng) -> Way {
    let mut way = Way::usual();
    let mut flags: Vec<String> = Vec::new();
    let flip = |rng: &mut Rng, f: &str| format!("{f}={}", if rng.u8(0..4) > 0 { "off" } else { "on" });
    match rng.u8(0..6) {
        // one flag alone, and with all that it may hide behind
        0 | 1 => flags.push(format!("{}=off", FLAGS[rng.usize(0..FLAGS.len())])),
        2 | 3 => {
            for f in FLAGS {
                if rng.bool() {
                    flags.push(flip(rng, f));
                }
            }
        }
        4 => FLAGS.iter().for_each(|f| flags.push(format!("{f}={}", if rng.u8(0..6) > 0 { "off" } else { "on" }))),
        _ => {}
    }
    if !flags.is_empty() {
        way.sets.push(format!("optimizer_switch = '{}'", flags.join(",")));
    }
    for _ in 0..[0, 0, 1, 2][rng.usize(0..4)] {
        let set = SETTINGS[rng.usize(0..SETTINGS.len())];
        let name = set.split(' ').next();
        if !way.sets.iter().any(|s| s.split(' ').next() == name) {
            way.sets.push(set.into());
        }
    }
    way.place = [Place::Usual, Place::Usual, Place::Tiny, Place::Snapshot][rng.usize(0..4)];
    way.hints = rng.bool();
    way.prepared = rng.u8(0..10) == 0;
    way
}

/// The databases.
pub struct World {
    usual: Ours,
    tiny: Ours,
    /// One that holds a snapshot, one that changes what it reads, and how.
    snapshot: Option<(Ours, Ours)>,
    /// Statements that ran so far.
    pub statements: u64,
    /// Those run the usual way that failed, by error.
    pub refused: BTreeMap<u16, u64>,
}

fn open(config: &Config, schema: &Schema) -> Result<Ours, String> {
    let mut ours = Ours::open(config);
    ours.cap(ROWS_MAX);
    let mut run = |sql: &str| ours.run(sql).map_err(|(code, m)| format!("{code} {m}: {}", shorten(sql)));
    run("CREATE DATABASE d")?;
    run("CREATE DATABASE pv")?;
    run("USE d")?;
    run("SET NAMES utf8mb4 COLLATE utf8mb4_general_ci")?;
    run(&format!("SET max_execution_time = {STATEMENT_MS}"))?;
    for statement in schema.script() {
        run(&statement)?;
    }
    for t in &schema.tables {
        run(&t.create(&format!("pv.{}", t.name), false))?;
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

impl World {
    /// Makes the tables everywhere; the error is a statement that failed. `changes` run beside the snapshot.
    pub fn open(schema: &Schema, changes: &[String]) -> Result<World, String> {
        let config = |name, workers, leaf_rows| Config {
            name,
            workers,
            leaf_rows,
            query_memory_bytes: Some(MEMORY_BYTES),
            switch: "",
        };
        let usual = open(&config("usual", 1, None), schema)?;
        let tiny = open(&config("tiny", 0, Some(8)), schema)?;
        let mut snapshot = None;
        if !changes.is_empty() {
            let mut reader = open(&config("snapshot", 1, Some(64)), schema)?;
            reader
                .run("START TRANSACTION WITH CONSISTENT SNAPSHOT")
                .map_err(|(code, m)| format!("{code} {m}: START TRANSACTION"))?;
            let mut writer = reader.beside();
            writer.run("USE d").map_err(|(code, m)| format!("{code} {m}: USE"))?;
            for change in changes {
                writer.run(change).map_err(|(code, m)| format!("{code} {m}: {}", shorten(change)))?;
            }
            snapshot = Some((reader, writer));
        }
        Ok(World { usual, tiny, snapshot, statements: 0, refused: BTreeMap::new() })
    }

    fn session(&mut self, place: Place) -> &mut Ours {
        match (place, &mut self.snapshot) {
            (Place::Tiny, _) => &mut self.tiny,
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
        self.statements += 1;
        let session = self.session(way.place);
        for set in &way.sets {
            session.run(&format!("SET SESSION {set}")).unwrap_or_else(|e| panic!("SET SESSION {set}: {e:?}"));
        }
        let answer = match way.prepared {
            false => session.run(sql),
            true => {
                let text = sql.replace('\\', "\\\\").replace('\'', "''");
                session.run(&format!("PREPARE s FROM '{text}'")).and_then(|_| {
                    let first = session.run("EXECUTE s")?;
                    let again = session.run("EXECUTE s")?;
                    let _ = session.run("DEALLOCATE PREPARE s");
                    if first.len() == again.len() { Ok(again) } else { Ok(first) }
                })
            }
        };
        for set in &way.sets {
            let name = set.split(' ').next().unwrap_or_default();
            session.run(&format!("SET SESSION {name} = DEFAULT")).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        }
        answer
    }
}

/// A row as it is compared: which of several equal strings is shown is not defined.
pub fn fold(row: &[Option<String>]) -> String {
    let cell = |c: &Option<String>| match c {
        None => "NULL".to_string(),
        Some(t) if t == "-0" => "0".into(),
        Some(t) => t.trim_end().to_lowercase().replace('é', "e"),
    };
    row.iter().map(cell).collect::<Vec<_>>().join("|")
}

/// All rows, in an order of their own.
pub fn folded(rows: &TextRows) -> Vec<String> {
    let mut out: Vec<String> = rows.iter().map(|r| fold(r)).collect();
    out.sort_unstable();
    out
}
