//! `bench sysbench`: Debian's own sysbench against Nextleaf and, in turns, against MariaDB.
//!
//! ```text
//!   for each test and number of threads:   warm-up A, warm-up B, then  A B A B A B …  one run each
//! ```
//! Server and client share the machine's cores, as they do for both systems. A figure is the median of its runs, with
//! the least and the most beside it. Processor time a query is that of the server's process over the run, from /proc,
//! divided by the queries that sysbench counted; connecting and preparing are part of it. Warm-up runs count for
//! nothing.
//!
//! A run that fails (sysbench ends at the first error that it does not expect) is shown with its reason, and the other
//! tests go on.

mod run;
mod tests_of;

use crate::page::{self, Bars, Page, short};
use crate::scratch::Scratch;
use crate::servers::{Server, ServerArgs, System};
use crate::{Failure, machine, table};
use mysql::prelude::Queryable;
use run::{Figures, SCHEMA, Shape};
use std::path::Path;
use std::time::{Duration, Instant};
use tests_of::Test;

const FILTER_SCRIPT: &str = include_str!("filter.lua");
/// Processor time that the server may take for a point select, in microseconds.
const POINT_SELECT_CPU_US_GOAL: f64 = 6.0;

#[derive(clap::Args, Debug, Clone)]
pub struct SysbenchArgs {
    /// Tests, by commas [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    pub tests: Vec<Test>,
    /// Clients at a time, by commas
    #[arg(long, value_delimiter = ',', default_values_t = [1, 8, 64])]
    pub threads: Vec<usize>,
    /// Seconds of each run
    #[arg(long, default_value_t = 10)]
    pub time: u64,
    /// Seconds of the run before the first, which does not count; 0: none
    #[arg(long, default_value_t = 2)]
    pub warmup: u64,
    /// Runs of each test, number of threads and system
    #[arg(long, default_value_t = 3)]
    pub runs: usize,
    /// Tables
    #[arg(long, default_value_t = 1)]
    pub tables: u32,
    /// Rows of each table
    #[arg(long, default_value_t = 1_000_000)]
    pub rows: u64,
    /// How rows are picked: uniform, special, gaussian or pareto
    #[arg(long, default_value = "uniform")]
    pub rand_type: String,
    /// Send texts instead of prepared statements
    #[arg(long)]
    pub no_prepared: bool,
    #[command(flatten)]
    pub servers: ServerArgs,
}

/// What one system did in one test with one number of threads.
#[derive(Clone, Debug, Default)]
struct Series {
    runs: Vec<(Figures, f64)>,
    failure: Option<String>,
}

impl Series {
    /// Least, median and most of what `f` takes from a run.
    fn spread(&self, f: impl Fn(&(Figures, f64)) -> f64) -> [f64; 3] {
        let mut all: Vec<f64> = self.runs.iter().map(f).collect();
        all.sort_by(f64::total_cmp);
        match all[..] {
            [] => [f64::NAN; 3],
            _ => [all[0], all[all.len() / 2], all[all.len() - 1]],
        }
    }

    fn tps(&self) -> f64 {
        self.spread(|r| r.0.tps)[1]
    }

    fn cpu_us(&self) -> f64 {
        self.spread(|r| r.1)[1]
    }
}

struct Cell {
    test: Test,
    threads: usize,
    /// One a system.
    series: Vec<Series>,
}

impl Cell {
    /// Nextleaf's throughput over the other's.
    fn ratio(&self) -> Option<f64> {
        Some(self.series[0].tps() / self.series.get(1)?.tps()).filter(|r| r.is_finite())
    }

    fn verdict(&self, durability: u8) -> String {
        let ratio = self.ratio();
        let cpu = (self.test == Test::PointSelect).then(|| self.series[0].cpu_us());
        let missed = [
            ratio.is_some_and(|r| durability == 1 && r < self.test.goal(self.threads)),
            cpu.is_some_and(|us| us > POINT_SELECT_CPU_US_GOAL),
        ];
        match (&self.series[0].failure, missed) {
            (Some(_), _) => "FAILED".into(),
            (None, [false, false]) => "ok".into(),
            (None, [true, _]) => format!("below {}x", self.test.goal(self.threads)),
            (None, [_, true]) => format!("above {POINT_SELECT_CPU_US_GOAL} us"),
        }
    }
}

/// Creates the schema and the tables that the tests need; how long that took.
fn prepare(server: &Server, tests: &[Test], shape: &Shape, dir: &Path) -> Result<Duration, Failure> {
    let started = Instant::now();
    let mut conn = server.connect(None)?;
    conn.query_drop(format!("CREATE DATABASE {SCHEMA}"))?;
    if tests.iter().any(|t| *t != Test::Filter) {
        run::prepare(server, Test::PointSelect.script(), shape, dir)?;
    }
    if tests.contains(&Test::Filter) {
        run::prepare(server, Test::Filter.script(), shape, dir)?;
    }
    Ok(started.elapsed())
}

/// One run of a test, after its rows are there again.
fn once(server: &Server, cell: (Test, usize), shape: &Shape, time: u64, dir: &Path) -> Result<(Figures, f64), Failure> {
    let (test, threads) = cell;
    if test.consumes_rows() {
        let mut conn = server.connect(Some(SCHEMA))?;
        for sql in Test::refill(shape) {
            conn.query_drop(sql)?;
        }
    }
    let run = || run::run(server, test, shape, threads, Duration::from_secs(time), dir);
    let (figures, usage) = server.during(run)?;
    Ok((figures, usage.cpu_us_per(figures.queries.max(1))))
}

fn measure_cell(
    servers: &[Server],
    test: Test,
    threads: usize,
    args: &SysbenchArgs,
    shape: &Shape,
    dir: &Path,
) -> Cell {
    let mut series = vec![Series::default(); servers.len()];
    for round in 0..=args.runs {
        let time = if round == 0 { args.warmup } else { args.time };
        if time == 0 {
            continue;
        }
        for (server, series) in servers.iter().zip(&mut series) {
            if series.failure.is_some() {
                continue;
            }
            match once(server, (test, threads), shape, time, dir) {
                Ok(_) if round == 0 => {}
                Ok(measured) => series.runs.push(measured),
                Err(e) => series.failure = Some(e.to_string()),
            }
        }
    }
    Cell { test, threads, series }
}

const HEAD: [&str; 12] = [
    "test",
    "threads",
    "tps",
    "least",
    "most",
    "p95 ms",
    "cpu us/q",
    "MariaDB tps",
    "p95 ms",
    "cpu us/q",
    "ratio",
    "goal",
];

fn row(cell: &Cell, durability: u8) -> Vec<String> {
    let ours = &cell.series[0];
    let [least, median, most] = ours.spread(|r| r.0.tps).map(short);
    let mut row = vec![cell.test.name().to_owned(), cell.threads.to_string(), median, least, most];
    row.extend([short(ours.spread(|r| r.0.p95_ms)[1]), short(ours.cpu_us())]);
    match cell.series.get(1) {
        Some(s) => row.extend([short(s.tps()), short(s.spread(|r| r.0.p95_ms)[1]), short(s.cpu_us())]),
        None => row.extend(["-", "-", "-"].map(str::to_owned)),
    }
    row.extend([cell.ratio().map_or("-".into(), |r| format!("{r:.2}")), cell.verdict(durability)]);
    row
}

fn report(cells: &[Cell], servers: &[Server], facts: Vec<String>, durability: u8) -> Page {
    let names: Vec<String> = servers.iter().map(|s| s.name().to_owned()).collect();
    let bars = |title: &str, of: &dyn Fn(&Series) -> f64| Bars {
        title: title.into(),
        series: names.clone(),
        groups: cells
            .iter()
            .map(|c| (format!("{}, {} threads", c.test.name(), c.threads), c.series.iter().map(of).collect()))
            .collect(),
    };
    Page {
        title: "sysbench".into(),
        facts,
        bars: vec![
            bars("Transactions a second (more is better)", &Series::tps),
            bars("Processor time of the server a query, microseconds (less is better)", &Series::cpu_us),
        ],
        tables: vec![(
            "Figures".into(),
            HEAD.map(str::to_owned).into(),
            cells.iter().map(|c| row(c, durability)).collect(),
        )],
    }
}

/// Runs the benchmark; whether all runs came to their end. Goals missed are shown, but are no failure.
pub fn run(args: &SysbenchArgs) -> Result<bool, Failure> {
    let mut facts = vec![machine::describe(), run::version()?];
    let scratch = Scratch::new()?;
    std::fs::write(scratch.path().join(Test::Filter.script()), FILTER_SCRIPT)?;
    let shape =
        Shape { tables: args.tables, rows: args.rows, rand_type: args.rand_type.clone(), prepared: !args.no_prepared };
    let mut tests = Test::ALL.to_vec();
    tests.retain(|t| args.tests.is_empty() || args.tests.contains(t));

    let servers = args.servers.start(scratch.path())?;
    for server in &servers {
        let took = prepare(server, &tests, &shape, scratch.path())?;
        facts.push(format!(
            "{} {}: {} tables of {} rows prepared in {:.1} s, {:.2} GiB resident, innodb_flush_log_at_trx_commit={}",
            server.name(),
            server.version,
            args.tables,
            args.rows,
            took.as_secs_f64(),
            server.usage()?.resident_bytes as f64 / (1u64 << 30) as f64,
            args.servers.durability
        ));
    }
    facts[1..].iter().for_each(|f| println!("{f}"));

    let mut cells = Vec::new();
    for &test in &tests {
        if test.consumes_rows() {
            for server in &servers {
                let mut conn = server.connect(Some(SCHEMA))?;
                Test::keep_copies(&shape).try_for_each(|sql| conn.query_drop(sql))?;
            }
        }
        for &threads in &args.threads {
            let cell = measure_cell(&servers, test, threads, args, &shape, scratch.path());
            let cpu = cell.series[0].cpu_us();
            eprintln!("{} x {threads}: {} tps, {} us/query", test.name(), short(cell.series[0].tps()), short(cpu));
            cells.push(cell);
        }
    }
    for server in &servers {
        let resident = server.usage()?.resident_bytes as f64 / (1u64 << 30) as f64;
        facts.push(format!("after: {} has {resident:.2} GiB resident", server.name()));
    }
    facts.push(format!("median of {} runs of {} s; after: {}", args.runs, args.time, machine::describe()));

    let rows: Vec<Vec<String>> = cells.iter().map(|c| row(c, args.servers.durability)).collect();
    print!("\n{}", table::render(&HEAD, &rows));
    let failures = cells.iter().flat_map(|c| {
        let of = |(i, s): (usize, &Series)| {
            Some(format!("{} x {}, {}: {}", c.test.name(), c.threads, servers[i].name(), s.failure.as_ref()?))
        };
        c.series.iter().enumerate().filter_map(of).collect::<Vec<_>>()
    });
    let failures: Vec<String> = failures.collect();
    failures.iter().for_each(|f| println!("{f}"));
    let ignored: u64 = cells.iter().flat_map(|c| &c.series[0].runs).map(|r| r.0.ignored_errors).sum();
    facts.push(format!("{}: {ignored} transactions repeated after deadlocks", System::Nextleaf.name()));
    facts[facts.len() - 3..].iter().for_each(|f| println!("{f}"));
    facts.extend(failures.iter().cloned());
    page::write(&report(&cells, &servers, facts, args.servers.durability), args.servers.out.as_deref())?;
    Ok(failures.is_empty())
}
