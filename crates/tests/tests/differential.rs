//! Random queries against MariaDB: the same rows, or an error from both.
//!
//! NEXTLEAF_DIFF_QUERIES sets how many (default 1,500 here; 6,000 and more in a long run), NEXTLEAF_DIFF_SEED where to
//! start. A failing query is printed with its seed.

use fastrand::Rng;
use tests::generator::{Queries, schema};
use tests::golden::render;
use tests::oracle::MariaDb;
use tests::ours::{Config, Ours, configs};

/// What MariaDB refuses and MySQL answers: rows of subqueries within IN.
const THEIR_REFUSALS: &[u16] = &[1235];

/// What we refuse and MariaDB answers, declared in COMPAT.md: collations of function results (1267), some correlated NOT IN
/// under another one (1235). Few queries may meet them.
const OUR_REFUSALS: &[u16] = &[1235, 1267];

/// Out of range: whether a value that decides nothing is computed at all is each server's own affair.
const OUT_OF_RANGE: u16 = 1690;

/// Ways of MariaDB that answer wrongly: it takes a constant column of a merged derived table for itself where an outer
/// join has padded the row, and keeps a subquery's result for all texts that are equal under their collation.
const THEIR_FAULTS_OFF: &str = "SET SESSION optimizer_switch = 'derived_merge=off,subquery_cache=off'";

/// Queries per set of tables.
const QUERIES_A_SCHEMA: u64 = 100;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// Both servers define the sets alike; text of numbers may differ in trailing zeros of a scale, and of equal texts
/// DISTINCT may show any.
fn normalize(rows: Vec<String>, sql: &str) -> Vec<String> {
    let distinct = sql.contains("DISTINCT");
    let fold = |r: &str| if distinct { r.trim_end().to_lowercase().replace('é', "e") } else { r.to_string() };
    let mut rows: Vec<String> =
        rows.into_iter().map(|r| r.split('|').map(|c| fold(&cell(c))).collect::<Vec<_>>().join("|")).collect();
    rows.sort();
    rows
}

fn cell(c: &str) -> String {
    let number = c.contains('.') && c.parse::<f64>().is_ok();
    if number { c.trim_end_matches('0').trim_end_matches('.').to_string() } else { c.to_string() }
}

#[test]
fn random_queries_answer_as_mariadb_does() {
    let Some(mut theirs) = MariaDb::start("differential") else { return };
    theirs.run("SET NAMES utf8mb4 COLLATE utf8mb4_general_ci").expect("a collation");
    theirs
        .run("SET SESSION sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO'")
        .expect("a mode");
    theirs.run(THEIR_FAULTS_OFF).expect("a switch");
    let queries = number("NEXTLEAF_DIFF_QUERIES", 1500);
    let first = number("NEXTLEAF_DIFF_SEED", 1);
    let configs = configs();
    let mut faults = Vec::new();
    let (mut both_failed, mut refused) = (0, 0);
    for round in 0..queries.div_ceil(QUERIES_A_SCHEMA) {
        let seed = first + round;
        let config: &Config = &configs[(seed % configs.len() as u64) as usize];
        let mut rng = Rng::with_seed(seed);
        let mut ours = Ours::open(config);
        ours.run("CREATE DATABASE d").expect("a database");
        ours.run("USE d").expect("the database");
        ours.run("SET NAMES utf8mb4 COLLATE utf8mb4_general_ci").expect("a collation");
        theirs.run("CREATE OR REPLACE DATABASE d").expect("a database");
        theirs.run("USE d").expect("the database");
        for statement in schema(&mut rng) {
            ours.run(&statement).unwrap_or_else(|e| panic!("{statement}: {e:?}"));
            theirs.run(&statement).unwrap_or_else(|e| panic!("{statement}: {e:?}"));
        }
        for _ in 0..QUERIES_A_SCHEMA {
            let sql = Queries::new(&mut rng).statement();
            let fault = match (ours.run(&sql), theirs.run(&sql)) {
                (Ok(a), Ok(b)) => {
                    let (a, b) = (normalize(render(&a), &sql), normalize(render(&b), &sql));
                    (a != b).then(|| format!("ours\n    {}\n  theirs\n    {}", a.join("\n    "), b.join("\n    ")))
                }
                (Err(_), Err(_)) => {
                    both_failed += 1;
                    None
                }
                (Err((OUT_OF_RANGE, _)), Ok(_)) | (Ok(_), Err((OUT_OF_RANGE, _))) => None,
                (Err((code, _)), Ok(_)) if OUR_REFUSALS.contains(&code) => {
                    refused += 1;
                    None
                }
                (Err((code, m)), Ok(_)) => Some(format!("ours: error {code}: {m}")),
                (Ok(_), Err((code, _))) if THEIR_REFUSALS.contains(&code) => None,
                (Ok(_), Err((code, m))) => Some(format!("theirs: error {code}: {m}")),
            };
            if let Some(f) = fault {
                faults.push(format!("seed {seed} ({}): {sql}\n  {f}", config.name));
            }
        }
    }
    assert!(both_failed * 4 < queries, "{both_failed} of {queries} queries failed in both");
    assert!(refused * 50 < queries, "{refused} of {queries} queries were refused");
    for f in faults.iter().take(25) {
        eprintln!("{f}\n");
    }
    assert!(faults.is_empty(), "{} of {queries} queries differ", faults.len());
}
