//! `bench index-rebuild`: how fast an ordered index over a table that has its rows is built.
//!
//! Keys are scattered, so that nothing is sorted beforehand. Each build is a CREATE INDEX on a server, dropped again
//! before the next; afterwards a range is counted through the index and through a scan, which must agree.

use crate::filter::scatter;
use crate::page::{self, Bars, Page, short};
use crate::scratch::Scratch;
use crate::servers::{Server, ServerArgs};
use crate::{Failure, machine, table};
use mysql::LocalInfileHandler;
use mysql::prelude::Queryable;
use std::io::{BufWriter, Write};
use std::time::Instant;

#[derive(clap::Args, Debug, Clone)]
pub struct IndexRebuildArgs {
    /// Rows of the table
    #[arg(long, default_value_t = 10_000_000)]
    pub rows: u64,
    /// Builds of each index
    #[arg(long, default_value_t = 3)]
    pub runs: usize,
    #[command(flatten)]
    pub servers: ServerArgs,
}

const SCHEMA: &str = "rebuild";
const KEYS_PER_SECOND_GOAL: f64 = 5e6;

/// Index definitions, and a condition for which each is good.
const INDEXES: [(&str, &str, &str); 3] = [
    ("one number", "(k)", "k BETWEEN 1000 AND 2000"),
    ("two numbers", "(g, k)", "g = 7 AND k BETWEEN 1000 AND 100000"),
    ("text", "(t)", "t BETWEEN 'a1' AND 'a2'"),
];

fn prepare(server: &Server, rows: u64) -> Result<(), Failure> {
    let mut conn = server.connect(None)?;
    conn.query_drop(format!("CREATE DATABASE {SCHEMA}"))?;
    conn.query_drop(format!("USE {SCHEMA}"))?;
    conn.query_drop(
        "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, k INT NOT NULL, g INT NOT NULL, t VARCHAR(20) NOT NULL)",
    )?;
    conn.set_local_infile_handler(Some(LocalInfileHandler::new(move |_, stream| {
        let mut to = BufWriter::with_capacity(1 << 16, stream);
        for i in 1..=rows {
            let k = scatter(i) % (1 << 30);
            writeln!(to, "{i}\t{k}\t{}\ta{}", k % 100, scatter(k) % 1_000_000_000)?;
        }
        to.flush()
    })));
    conn.query_drop("LOAD DATA LOCAL INFILE 'rows' INTO TABLE t")?;
    Ok(())
}

/// Seconds of one build; the index stays.
fn build(conn: &mut mysql::Conn, columns: &str) -> Result<f64, Failure> {
    let started = Instant::now();
    conn.query_drop(format!("CREATE INDEX i ON t {columns}"))?;
    // An index that is only built when first used is built here.
    conn.query_drop(format!("SELECT 1 FROM t FORCE INDEX (i) ORDER BY {} LIMIT 1", columns.trim_matches(['(', ')'])))?;
    Ok(started.elapsed().as_secs_f64())
}

fn verify(conn: &mut mysql::Conn, condition: &str) -> Result<u64, Failure> {
    let count = |hint: &str| format!("SELECT COUNT(*) FROM t {hint} WHERE {condition}");
    let by_index: Option<u64> = conn.query_first(count("FORCE INDEX (i)"))?;
    let by_scan: Option<u64> = conn.query_first(count("IGNORE INDEX (i)"))?;
    match by_index == by_scan {
        true => Ok(by_scan.unwrap_or(0)),
        false => Err(format!("{condition}: {by_index:?} rows by the index, {by_scan:?} by a scan").into()),
    }
}

const HEAD: [&str; 8] = ["index", "system", "rows", "s", "least", "most", "keys/s", "checked rows"];

/// Runs the experiment; whether the goal for one number was met. Answers that differ are an error.
pub fn run(args: &IndexRebuildArgs) -> Result<bool, Failure> {
    let mut facts = vec![machine::describe()];
    let scratch = Scratch::new()?;
    let servers = args.servers.start(scratch.path())?;
    for server in &servers {
        let started = Instant::now();
        prepare(server, args.rows)?;
        let took = started.elapsed().as_secs_f64();
        facts.push(format!("{} {}: {} rows loaded in {took:.1} s", server.name(), server.version, args.rows));
    }
    let (mut rows, mut groups, mut good) = (Vec::new(), Vec::new(), true);
    for (name, columns, condition) in INDEXES {
        let mut took = vec![Vec::new(); servers.len()];
        let mut found = vec![0; servers.len()];
        for _ in 0..args.runs.max(1) {
            for (i, server) in servers.iter().enumerate() {
                let mut conn = server.connect(Some(SCHEMA))?;
                took[i].push(build(&mut conn, columns).map_err(|e| format!("{}: {e}", server.name()))?);
                found[i] = verify(&mut conn, condition).map_err(|e| format!("{}: {e}", server.name()))?;
                conn.query_drop("DROP INDEX i ON t")?;
            }
        }
        if found.windows(2).any(|w| w[0] != w[1]) {
            return Err(format!("{condition}: the systems count {found:?} rows").into());
        }
        took.iter_mut().for_each(|t| t.sort_by(f64::total_cmp));
        let speed = |t: &[f64]| args.rows as f64 / t[t.len() / 2];
        good &= name != INDEXES[0].0 || servers.is_empty() || speed(&took[0]) >= KEYS_PER_SECOND_GOAL;
        groups.push((name.to_owned(), took.iter().map(|t| speed(t)).collect()));
        for (i, server) in servers.iter().enumerate() {
            let t = &took[i];
            let cells = [
                name.to_owned(),
                server.name().to_owned(),
                args.rows.to_string(),
                format!("{:.3}", t[t.len() / 2]),
                format!("{:.3}", t[0]),
                format!("{:.3}", t[t.len() - 1]),
                short(speed(t)),
                found[i].to_string(),
            ];
            rows.push(cells.into());
        }
    }
    print!("\n{}", table::render(&HEAD, &rows));
    let verdict = if good { "reached" } else { "MISSED" };
    facts.push(format!(
        "goal of {} keys/s for one number {verdict}; after: {}",
        short(KEYS_PER_SECOND_GOAL),
        machine::describe()
    ));
    facts[1..].iter().for_each(|f| println!("{f}"));
    let page = Page {
        title: "Index rebuild".into(),
        facts,
        bars: vec![Bars {
            title: "Keys a second (more is better)".into(),
            series: servers.iter().map(|s| s.name().to_owned()).collect(),
            groups,
        }],
        tables: vec![("Figures".into(), HEAD.map(str::to_owned).into(), rows)],
    };
    page::write(&page, args.servers.out.as_deref())?;
    Ok(good)
}
