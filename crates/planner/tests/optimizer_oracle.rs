//! Random queries over tiny tables of NULL-able integers, evaluated twice: the bound query row by row, subqueries
//! nested and recomputed for each row as SQL defines them; and the optimizer's plan, by a plain interpreter of plans.

#[path = "oracle/generate.rs"]
mod generate;
#[path = "oracle/logical.rs"]
mod logical;
#[path = "oracle/physical.rs"]
mod physical;
#[path = "oracle/scalar.rs"]
mod scalar;

use catalog::{ColumnStats, IndexForm, Statistics, TableId, TableStats};
use generate::Generator;
use planner::optimize::{OptimizerSettings, optimize_traced};
use scalar::Row;
use std::sync::{Arc, Mutex};

/// Statistics that have nothing to do with the data: plans must not depend on them for their meaning.
struct Rumours(u64);

impl Statistics for Rumours {
    fn table(&self, id: TableId) -> Option<Arc<TableStats>> {
        let mut r = generate::Rng(self.0 ^ id.0.wrapping_mul(0x9E37));
        if r.below(4) == 0 {
            return None;
        }
        let rows = [0, 1, 10, 1000, 100_000][r.below(5)] as u64;
        let columns = (0..4)
            .map(|_| ColumnStats {
                distinct: (r.below(1000) + 1) as f64,
                null_fraction: 0.1,
                min: None,
                max: None,
                width: 8.0,
            })
            .collect();
        Some(Arc::new(TableStats::new(rows, columns, Arc::default())))
    }

    fn index_form(&self, id: TableId, index: usize) -> IndexForm {
        IndexForm { ordered: !(self.0 ^ id.0 ^ index as u64).is_multiple_of(4), clustered: false, complete: true }
    }
}

fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort();
    rows
}

fn check(seed: u64, settings: &OptimizerSettings, depth: usize, used: &Mutex<String>) -> Result<(), String> {
    let mut g = Generator::new(seed);
    let (query, data) = g.query(depth);
    let before = plan::logical::display::display(&query);
    let t0 = std::time::Instant::now();
    let expected = logical::run(&query, &data);
    let t1 = std::time::Instant::now();
    let mut trace = plan::explain::Weighed::default();
    let plan = optimize_traced(query, &Rumours(seed), settings, None, Some(&mut trace));
    let t2 = std::time::Instant::now();
    if std::env::var("ORACLE_SEED").is_ok() {
        eprintln!("{before}\noracle {:?}, optimizer {:?}", t1 - t0, t2 - t1);
    }
    let text = || {
        let passes: String = trace.passes.iter().map(|(n, t)| format!("--- {n}\n{t}")).collect();
        format!("seed {seed}\n{before}\n{passes}\n{data:?}")
    };
    let plan = plan.map_err(|e| format!("{e}\n{}", text()))?;
    let explained = plan::explain::tree(&plan, None);
    note_strategies(&explained, used);
    match (expected, physical::run(&plan, &data)) {
        // A subquery of more than one row somewhere: which rows reach it is the plan's business.
        (Err(e), _) if e != "many rows" && e != "too long" => Err(format!("{e}\n{}", text())),
        (Err(_), _) | (_, Err(physical::Failure::ManyRows)) => {
            SKIPPED.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Ok(())
        }
        (Ok(_), Err(physical::Failure::Broken(e))) => Err(format!("{e}\n{}\n{explained}", text())),
        (Ok(a), Ok(b)) => {
            let (a, b) = (sorted(a), sorted(b));
            if !a.is_empty() {
                FRUITFUL.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
            if a == b { Ok(()) } else { Err(format!("expected {a:?}\ngot      {b:?}\n{}\n{explained}", text())) }
        }
    }
}

/// Words of EXPLAIN for the strategies of subqueries.
const STRATEGIES: [&str; 9] = [
    "(FirstMatch)",
    "(LooseScan)",
    "(materialized, lookup)",
    "(materialized, scan)",
    "(weedout)",
    "(materialized subquery)",
    "(dependent subquery)",
    "(split derived table)",
    "UNKNOWN if there is a row",
];

fn note_strategies(explained: &str, used: &Mutex<String>) {
    for s in STRATEGIES.iter().filter(|s| explained.contains(**s)) {
        let mut used = used.lock().unwrap();
        if !used.contains(s) {
            used.push_str(s);
        }
    }
}

static SKIPPED: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
static FRUITFUL: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// Answers which strategies its plans had.
fn run(name: &str, seeds: std::ops::Range<u64>, settings: OptimizerSettings) -> String {
    let used = Mutex::default();
    let mut failures = vec![];
    let only = std::env::var("ORACLE_SEED").ok().and_then(|s| s.parse::<u64>().ok());
    let more: u64 = std::env::var("ORACLE_TIMES").ok().and_then(|s| s.parse().ok()).unwrap_or(1);
    let seeds = seeds.start * more..seeds.end * more;
    for seed in only.map_or(seeds, |s| s..s + 1) {
        let settings = settings.clone();
        let started = std::time::Instant::now();
        let depth = 1 + (seed % 4) as usize;
        let outcome = std::panic::catch_unwind(|| check(seed, &settings, depth, &used))
            .unwrap_or_else(|_| Err(format!("seed {seed} panics")));
        if started.elapsed().as_millis() > 500 {
            eprintln!("seed {seed} took {:?}", started.elapsed());
        }
        if let Err(e) = outcome {
            failures.push((e.len(), e));
        }
    }
    eprintln!("{name}: so far {FRUITFUL:?} with rows, {SKIPPED:?} not compared");
    // The shortest is the easiest to read.
    failures.sort();
    if let Some((_, first)) = failures.first() {
        let seeds: Vec<&str> =
            failures.iter().filter_map(|f| f.1.split("seed ").nth(1)?.split_whitespace().next()).collect();
        panic!("{name}: {} failures ({}), among them\n{first}", failures.len(), seeds.join(" "));
    }
    used.into_inner().unwrap()
}

/// Queries a test runs; ORACLE_TIMES multiplies them, ORACLE_SEED picks one.
const COUNT: u64 = 3000;

#[test]
fn plans_mean_what_queries_mean() {
    run("default", 0..COUNT, OptimizerSettings::default());
}

#[test]
fn plain_plans_mean_what_queries_mean() {
    run("plain", COUNT..2 * COUNT, OptimizerSettings::plain());
}

/// Every choice of strategies for subqueries.
#[test]
fn each_strategy_for_subqueries_means_the_same() {
    let of = |text: &str| OptimizerSettings { switch: planner::optimize::Switches::parse(text), ..Default::default() };
    let lone = |flag: &str| {
        let flags = ["firstmatch", "loosescan", "materialization", "duplicateweedout"];
        flags.map(|f| format!("{f}={}", if f == flag { "on" } else { "off" })).join(",")
    };
    const FIRST: &str = "(FirstMatch)";
    const LOOSE: &str = "(LooseScan)";
    const LOOKUP: &str = "(materialized, lookup)";
    const SCAN: &str = "(materialized, scan)";
    const WEEDOUT: &str = "(weedout)";
    const KEPT: &str = "(materialized subquery)";
    const DEPENDENT: &str = "(dependent subquery)";
    const SPLIT: &str = "(split derived table)";
    let semijoins = [FIRST, LOOSE, LOOKUP, SCAN, WEEDOUT];
    // The flags, what plans have under them, and what not.
    type Case<'a> = (String, &'a [&'a str], &'a [&'a str]);
    let cases: [Case; 14] = [
        (lone("firstmatch"), &[FIRST, DEPENDENT], &[LOOSE, LOOKUP, SCAN, WEEDOUT]),
        (lone("loosescan"), &[LOOSE, WEEDOUT], &[FIRST, LOOKUP, SCAN]),
        (lone("materialization"), &[LOOKUP, SCAN, WEEDOUT, KEPT], &[FIRST, LOOSE]),
        (lone("duplicateweedout"), &[WEEDOUT], &[FIRST, LOOSE, LOOKUP, SCAN]),
        (lone("none"), &[WEEDOUT], &[FIRST, LOOSE, LOOKUP, SCAN]),
        ("semijoin=off".into(), &[KEPT, DEPENDENT], &semijoins),
        ("semijoin=off,materialization=off".into(), &[DEPENDENT], &semijoins),
        ("semijoin=off,materialization=off,subquery_cache=off".into(), &[DEPENDENT], &semijoins),
        ("semijoin=off,in_to_exists=off".into(), &[KEPT], &[DEPENDENT]),
        ("semijoin=off,subquery_materialization_cost_based=off".into(), &[KEPT], &[DEPENDENT]),
        ("exists_to_in=off".into(), &[DEPENDENT, LOOKUP, WEEDOUT], &[]),
        ("split_materialized=off".into(), &[LOOKUP, KEPT], &[SPLIT]),
        ("derived_condition_pushdown=off,derived_merge=off".into(), &[LOOKUP], &[]),
        ("condition_pushdown_from_having=off,condition_pushdown_for_subquery=off".into(), &[LOOKUP], &[]),
    ];
    let each = COUNT / 6;
    for (i, (text, present, absent)) in cases.iter().enumerate() {
        let first = 2 * COUNT + i as u64 * each;
        let used = run(text, first..first + each, of(text));
        if std::env::var("ORACLE_SEED").is_err() {
            assert!(present.iter().all(|w| used.contains(w)), "{text}: only {used}");
            assert!(!absent.iter().any(|w| used.contains(w)), "{text}: {used}");
        }
    }
    run("dependent", 5 * COUNT..6 * COUNT, OptimizerSettings { unnest: false, ..Default::default() });
}

#[test]
fn plans_without_hash_joins_mean_what_queries_mean() {
    let mut settings = OptimizerSettings::default();
    settings.switch.hash_join = false;
    run("no hash joins", 2 * COUNT..3 * COUNT, settings);
}

#[test]
fn plans_found_without_exhaustive_search_mean_what_queries_mean() {
    for (i, depth) in [1, 2].into_iter().enumerate() {
        let mut settings = OptimizerSettings::default();
        settings.limits.search_depth = depth;
        let first = (7 + i as u64) * COUNT;
        run("not exhaustive", first..first + COUNT, settings);
    }
}
