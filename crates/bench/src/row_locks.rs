//! `bench row-locks`: whether readers stand in each other's way.
//!
//! ```text
//!   E1  COUNT(id) over 20,000 rows by primary key range: a latch a row made four threads slower than one
//!   E2  the same over a column without an index: a system call a row did
//!   E3  SELECT SQL_CALC_FOUND_ROWS * FROM t LIMIT 5, a scan of all rows: four clients took six times as long each
//! ```
//! Clients are threads of this process, each with a connection of its own. What counts is not the speed but how it
//! grows: N clients on N cores should each take the time of one, and more clients should not take any of it away again.

use crate::filter::scatter;
use crate::page::{self, Bars, Page, short};
use crate::scratch::Scratch;
use crate::servers::{Server, ServerArgs};
use crate::{Failure, machine, table};
use mysql::prelude::Queryable;
use std::time::{Duration, Instant};

#[derive(clap::Args, Debug, Clone)]
pub struct RowLocksArgs {
    /// Rows of the table
    #[arg(long, default_value_t = 1_000_000)]
    pub rows: u64,
    /// Rows of a range
    #[arg(long, default_value_t = 20_000)]
    pub range: u64,
    /// Clients at a time, by commas; the first should be 1
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 4, 8])]
    pub threads: Vec<usize>,
    /// Seconds of each run
    #[arg(long, default_value_t = 3)]
    pub time: u64,
    /// Runs of each
    #[arg(long, default_value_t = 3)]
    pub runs: usize,
    #[command(flatten)]
    pub servers: ServerArgs,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Experiment {
    Key,
    Column,
    FoundRows,
}

const SCHEMA: &str = "rowlocks";
/// Of what one client reaches, all of the cores together must reach at least this share for each core.
const EFFICIENCY_GOAL: f64 = 0.8;

impl Experiment {
    const ALL: [Experiment; 3] = [Experiment::Key, Experiment::Column, Experiment::FoundRows];

    fn name(self) -> &'static str {
        match self {
            Experiment::Key => "E1 range, key",
            Experiment::Column => "E2 range, column",
            Experiment::FoundRows => "E3 found rows",
        }
    }

    /// One query, and the rows that it must answer.
    fn once(self, conn: &mut mysql::Conn, args: &RowLocksArgs, nth: u64) -> Result<(), Failure> {
        let range = args.range.min(args.rows);
        let from = scatter(nth) % (args.rows - range + 1) + 1;
        let to = from + range - 1;
        let (sql, expected) = match self {
            Experiment::Key => (format!("SELECT COUNT(id) FROM b WHERE id BETWEEN {from} AND {to}"), range),
            Experiment::Column => (format!("SELECT COUNT(v) FROM b WHERE id BETWEEN {from} AND {to}"), range),
            Experiment::FoundRows => ("SELECT SQL_CALC_FOUND_ROWS * FROM b LIMIT 5".to_owned(), args.rows),
        };
        let found: Option<u64> = match self {
            Experiment::FoundRows => {
                let rows: Vec<mysql::Row> = conn.query(&sql)?;
                let found = conn.query_first("SELECT FOUND_ROWS()")?;
                found.filter(|_| rows.len() as u64 == args.rows.min(5))
            }
            _ => conn.query_first(&sql)?,
        };
        match found == Some(expected) {
            true => Ok(()),
            false => Err(format!("{sql}: {found:?} instead of {expected}").into()),
        }
    }
}

/// Queries a second with so many clients.
fn measure(server: &Server, what: Experiment, threads: usize, args: &RowLocksArgs) -> Result<f64, Failure> {
    let conns = (0..threads).map(|_| server.connect(Some(SCHEMA))).collect::<Result<Vec<_>, _>>()?;
    let started = Instant::now();
    let until = started + Duration::from_secs(args.time);
    let counts = std::thread::scope(|scope| {
        let work = |mut conn: mysql::Conn, thread: u64| -> Result<u64, Failure> {
            let mut done = 0;
            while Instant::now() < until {
                what.once(&mut conn, args, thread << 32 | done)?;
                done += 1;
            }
            Ok(done)
        };
        let running: Vec<_> =
            conns.into_iter().zip(0..).map(|(conn, thread)| scope.spawn(move || work(conn, thread))).collect();
        running.into_iter().map(|t| t.join().expect("a client does not panic")).collect::<Vec<_>>()
    });
    let done = counts.into_iter().sum::<Result<u64, Failure>>()?;
    Ok(done as f64 / started.elapsed().as_secs_f64())
}

fn prepare(server: &Server, rows: u64) -> Result<(), Failure> {
    let mut conn = server.connect(None)?;
    conn.query_drop(format!("CREATE DATABASE {SCHEMA}"))?;
    conn.query_drop(format!("USE {SCHEMA}"))?;
    conn.query_drop("CREATE TABLE b (id INT NOT NULL PRIMARY KEY, v INT NOT NULL, t VARCHAR(40) NOT NULL)")?;
    const ROWS_PER_STATEMENT: u64 = 1000;
    for first in (1..=rows).step_by(ROWS_PER_STATEMENT as usize) {
        let last = rows.min(first + ROWS_PER_STATEMENT - 1);
        let values: Vec<String> = (first..=last).map(|i| format!("({i},{},'row {i}')", scatter(i) % 1000)).collect();
        conn.query_drop(format!("INSERT INTO b VALUES {}", values.join(",")))?;
    }
    Ok(())
}

struct Cell {
    what: Experiment,
    threads: usize,
    /// Queries a second of each run, one list a system, least first.
    rates: Vec<Vec<f64>>,
}

fn median(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Throughput over that of the first number of threads of the same experiment.
fn growth(cells: &[Cell], cell: &Cell, system: usize) -> f64 {
    let first = cells.iter().find(|c| c.what == cell.what).expect("it is among them");
    median(&cell.rates[system]) / median(&first.rates[system]) * first.threads as f64
}

const HEAD: [&str; 8] =
    ["experiment", "system", "clients", "queries/s", "least", "most", "ms each", "times one client"];

/// Runs the experiment; whether throughput grew up to the cores, and stayed.
pub fn run(args: &RowLocksArgs) -> Result<bool, Failure> {
    let mut facts = vec![machine::describe()];
    let scratch = Scratch::new()?;
    let servers = args.servers.start(scratch.path())?;
    for server in &servers {
        prepare(server, args.rows)?;
        facts.push(format!("{} {}: {} rows", server.name(), server.version, args.rows));
    }
    let mut cells = Vec::new();
    for what in Experiment::ALL {
        for &threads in &args.threads {
            let mut rates = vec![Vec::new(); servers.len()];
            for _ in 0..args.runs.max(1) {
                for (server, rates) in servers.iter().zip(&mut rates) {
                    rates.push(measure(server, what, threads, args).map_err(|e| format!("{}: {e}", server.name()))?);
                }
            }
            rates.iter_mut().for_each(|r| r.sort_by(f64::total_cmp));
            cells.push(Cell { what, threads, rates });
        }
    }
    let mut rows = Vec::new();
    let mut good = true;
    for cell in &cells {
        for (i, server) in servers.iter().enumerate() {
            let rate = median(&cell.rates[i]);
            let times = growth(&cells, cell, i);
            let wanted = cell.threads.min(machine::cores()) as f64 * EFFICIENCY_GOAL;
            good &= i > 0 || times >= wanted;
            rows.push(vec![
                cell.what.name().to_owned(),
                server.name().to_owned(),
                cell.threads.to_string(),
                short(rate),
                short(cell.rates[i][0]),
                short(*cell.rates[i].last().expect("there is a run")),
                format!("{:.3}", cell.threads as f64 / rate * 1e3),
                format!("{times:.2}"),
            ]);
        }
    }
    print!("\n{}", table::render(&HEAD, &rows));
    let verdict = if good { "grows up to the cores, and stays" } else { "does NOT grow up to the cores" };
    facts.push(format!("Nextleaf's throughput {verdict}; after: {}", machine::describe()));
    facts[1..].iter().for_each(|f| println!("{f}"));
    let group =
        |c: &Cell| (format!("{}, {} clients", c.what.name(), c.threads), c.rates.iter().map(|r| median(r)).collect());
    let page = Page {
        title: "Row locks".into(),
        facts,
        bars: vec![Bars {
            title: "Queries a second (more is better)".into(),
            series: servers.iter().map(|s| s.name().to_owned()).collect(),
            groups: cells.iter().map(group).collect(),
        }],
        tables: vec![("Figures".into(), HEAD.map(str::to_owned).into(), rows)],
    };
    page::write(&page, args.servers.out.as_deref())?;
    Ok(good)
}
