//! `bench dbt2`: a driver of TPC-C's five transactions, against Nextleaf and MariaDB in turns.
//!
//! ```text
//!   load the same rows ─▶ rounds: Nextleaf, MariaDB, Nextleaf, … ─▶ conditions 1-12, and acknowledged commits = rows
//!                          N terminals each, no think time
//! ```
//! What it follows of the specification (revision 5.11): tables, population, random numbers, mix, remote shares, the
//! 1 % of orders that roll back, customers by name and by number. What it does not: keying and think times, the report
//! that an auditor would read. So its figures compare systems in one run, and are not tpmC.
//!
//! NOTPM is New-Order transactions a minute, those that the specification has rolled back included.

mod check;
mod delivery;
mod load;
mod new_order;
mod payment;
mod random;
mod schema;
mod terminal;

use crate::page::{self, Bars, Page, short};
use crate::scratch::Scratch;
use crate::servers::{Server, ServerArgs};
use crate::{Failure, machine, table};
use mysql::prelude::Queryable;
use schema::Scale;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use terminal::{Kind, Tally, Terminal};

const SCHEMA: &str = "tpcc";

#[derive(clap::Args, Debug, Clone)]
pub struct Dbt2Args {
    /// Warehouses; each is about 100 MB
    #[arg(long, default_value_t = 2)]
    pub warehouses: u32,
    /// Clients at a time, by commas
    #[arg(long, value_delimiter = ',', default_values_t = [1, 8, 64])]
    pub terminals: Vec<u32>,
    /// Seconds of each run
    #[arg(long, default_value_t = 10)]
    pub time: u64,
    /// Seconds at the start of each run that do not count
    #[arg(long, default_value_t = 2)]
    pub warmup: u64,
    /// Runs of each number of terminals
    #[arg(long, default_value_t = 3)]
    pub runs: u32,
    /// A population of a hundredth of the size, to try things out
    #[arg(long)]
    pub small: bool,
    /// Only check the consistency conditions, on a running server
    #[arg(long)]
    pub check: bool,
    /// With --check: the server's socket file, instead of TCP
    #[arg(long)]
    pub socket: Option<PathBuf>,
    /// With --check: the server's port on this machine
    #[arg(long, default_value_t = 3306)]
    pub port: u16,
    /// With --check: the schema
    #[arg(long, default_value = SCHEMA)]
    pub schema: String,
    #[command(flatten)]
    pub servers: ServerArgs,
}

/// One run of one system.
struct Round {
    terminals: u32,
    tally: Tally,
    cpu_us: f64,
}

/// Everything about one system.
struct Contestant {
    server: Server,
    rounds: Vec<Round>,
    /// Commits that the server acknowledged since the load.
    committed: [u64; 5],
    problems: Vec<String>,
}

impl Contestant {
    /// Figures of all runs with so many terminals, least first.
    fn figures(&self, terminals: u32, of: impl Fn(&Round) -> f64) -> Vec<f64> {
        let mut all: Vec<f64> = self.rounds.iter().filter(|r| r.terminals == terminals).map(of).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    fn median(&self, terminals: u32, of: impl Fn(&Round) -> f64) -> f64 {
        let all = self.figures(terminals, of);
        all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
    }

    fn run(&mut self, args: &Dbt2Args, scale: Scale, terminals: u32, seed: u64) -> Result<(), Failure> {
        let clients = (0..terminals)
            .map(|nth| Ok(Terminal::new(self.server.connect(Some(SCHEMA))?, scale, nth, seed << 16 | u64::from(nth))?))
            .collect::<Result<Vec<_>, Failure>>()?;
        let stop = AtomicBool::new(false);
        let from = Instant::now() + Duration::from_secs(args.warmup);
        let until = from + Duration::from_secs(args.time);
        let (tallies, usage) = self.server.during(|| {
            Ok(std::thread::scope(|scope| {
                let work = |mut client: Terminal| {
                    let done = client.work(from, until, &stop);
                    if done.is_err() {
                        stop.store(true, Ordering::Relaxed);
                    }
                    done
                };
                let running: Vec<_> = clients.into_iter().map(|c| scope.spawn(move || work(c))).collect();
                running.into_iter().map(|t| t.join().expect("a terminal does not panic")).collect::<Vec<_>>()
            }))
        })?;
        let mut tally = Tally::default();
        for done in tallies {
            match done {
                Ok(one) => tally.add(one),
                Err(e) => self.problems.push(format!("{} terminals: {e}", terminals)),
            }
        }
        for (all, more) in self.committed.iter_mut().zip(tally.committed) {
            *all += more;
        }
        // Processor time was spent during the warm-up, too.
        let counted = args.time as f64 / (args.time + args.warmup) as f64;
        let cpu_us = usage.cpu_us_per(tally.total().max(1)) * counted;
        self.rounds.push(Round { terminals, tally, cpu_us });
        Ok(())
    }

    /// The conditions, and whether each acknowledged commit, and nothing else, left its rows.
    fn verify(&mut self, scale: Scale) -> Result<(), Failure> {
        let mut conn = self.server.connect(Some(SCHEMA))?;
        self.problems.extend(check::check(&mut conn)?);
        let failed_before = !self.problems.is_empty();
        let population = u64::from(scale.warehouses * schema::DISTRICTS * scale.customers);
        for (table, kind) in [("orders", Kind::NewOrder), ("history", Kind::Payment)] {
            let rows: u64 = conn.query_first(format!("SELECT COUNT(*) FROM {table}"))?.unwrap_or(0);
            let expected = population + self.committed[kind as usize];
            if rows != expected && !failed_before {
                self.problems.push(format!("{table} has {rows} rows; {expected} were acknowledged"));
            }
        }
        Ok(())
    }
}

fn notpm(round: &Round, time: u64) -> f64 {
    round.tally.count(Kind::NewOrder) as f64 * 60.0 / time.max(1) as f64
}

/// Checks a server that runs already; whether all conditions hold.
fn check_only(args: &Dbt2Args) -> Result<bool, Failure> {
    let opts = mysql::OptsBuilder::new().user(Some("root")).db_name(Some(&args.schema)).prefer_socket(false);
    let opts = match &args.socket {
        Some(path) => opts.socket(Some(path.display().to_string())),
        None => opts.ip_or_hostname(Some("127.0.0.1")).tcp_port(args.port),
    };
    let broken = check::check(&mut mysql::Conn::new(opts)?)?;
    broken.iter().for_each(|b| println!("{b}"));
    if broken.is_empty() {
        println!("all {} conditions hold", check::CONDITIONS.len());
    }
    Ok(broken.is_empty())
}

const HEAD: [&str; 10] =
    ["system", "terminals", "NOTPM", "least", "most", "tx/s", "p95 ms of New-Order", "cpu us/tx", "retries", "ratio"];

fn rows(contestants: &[Contestant], args: &Dbt2Args) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for &terminals in &args.terminals {
        let ours = contestants[0].median(terminals, |r| notpm(r, args.time));
        for (i, c) in contestants.iter().enumerate() {
            let all = c.figures(terminals, |r| notpm(r, args.time));
            let theirs = c.median(terminals, |r| notpm(r, args.time));
            rows.push(vec![
                c.server.name().to_owned(),
                terminals.to_string(),
                short(theirs),
                short(all.first().copied().unwrap_or(f64::NAN)),
                short(all.last().copied().unwrap_or(f64::NAN)),
                short(c.median(terminals, |r| r.tally.total() as f64 / args.time.max(1) as f64)),
                short(c.median(terminals, |r| r.tally.p95_ms(Kind::NewOrder))),
                short(c.median(terminals, |r| r.cpu_us)),
                c.rounds.iter().filter(|r| r.terminals == terminals).map(|r| r.tally.retries).sum::<u64>().to_string(),
                if i == 0 { "-".into() } else { format!("{:.2}", ours / theirs) },
            ]);
        }
    }
    rows
}

const LATENCY_HEAD: [&str; 7] =
    ["system", "terminals", "New-Order", "Payment", "Order-Status", "Delivery", "Stock-Level"];

fn latencies(contestants: &[Contestant], args: &Dbt2Args) -> Vec<Vec<String>> {
    let row = |c: &Contestant, terminals: u32| {
        let p95 = Kind::ALL.map(|kind| short(c.median(terminals, |r| r.tally.p95_ms(kind))));
        [c.server.name().to_owned(), terminals.to_string()].into_iter().chain(p95).collect()
    };
    args.terminals.iter().flat_map(|&t| contestants.iter().map(move |c| row(c, t))).collect()
}

/// Runs the benchmark; whether nothing failed and all conditions hold.
pub fn run(args: &Dbt2Args) -> Result<bool, Failure> {
    if args.check {
        return check_only(args);
    }
    let mut facts = vec![machine::describe()];
    let scratch = Scratch::new()?;
    let warehouses = args.warehouses.max(1);
    let scale = if args.small { Scale::small(warehouses) } else { Scale::full(warehouses) };
    let mut contestants = Vec::new();
    for server in args.servers.start(scratch.path())? {
        let started = Instant::now();
        let mut conn = server.connect(None)?;
        conn.query_drop(format!("CREATE DATABASE {SCHEMA}"))?;
        conn.query_drop(format!("USE {SCHEMA}"))?;
        load::load(&mut conn, scale).map_err(|e| format!("{}: {e}", server.name()))?;
        let took = started.elapsed().as_secs_f64();
        let fact = format!("{} {}: {warehouses} warehouses loaded in {took:.1} s", server.name(), server.version);
        println!("{fact}");
        facts.push(fact);
        contestants.push(Contestant { server, rounds: Vec::new(), committed: [0; 5], problems: Vec::new() });
    }
    for &terminals in &args.terminals {
        for nth in 0..args.runs {
            for c in &mut contestants {
                if c.problems.is_empty() {
                    c.run(args, scale, terminals, u64::from(nth) + 1)?;
                    let last = c.rounds.last().expect("it just ran");
                    eprintln!("{} x {terminals}: {} NOTPM", c.server.name(), short(notpm(last, args.time)));
                }
            }
        }
    }
    for c in &mut contestants {
        c.verify(scale)?;
        let verdict = match &c.problems[..] {
            [] => "all conditions hold, and rows are as many as acknowledged".to_owned(),
            some => some.join("; "),
        };
        facts.push(format!("{}: {verdict}", c.server.name()));
    }
    facts.push(format!(
        "innodb_flush_log_at_trx_commit={}, median of {} runs of {} s; after: {}",
        args.servers.durability,
        args.runs,
        args.time,
        machine::describe()
    ));
    let (rows, latencies) = (rows(&contestants, args), latencies(&contestants, args));
    print!("\n{}\np95, ms\n{}", table::render(&HEAD, &rows), table::render(&LATENCY_HEAD, &latencies));
    facts[1..].iter().for_each(|f| println!("{f}"));
    let page = Page {
        title: format!("DBT2 (TPC-C), {warehouses} warehouses"),
        facts,
        bars: vec![Bars {
            title: "New-Order transactions a minute (more is better)".into(),
            series: contestants.iter().map(|c| c.server.name().to_owned()).collect(),
            groups: args
                .terminals
                .iter()
                .map(|&t| {
                    let values = contestants.iter().map(|c| c.median(t, |r| notpm(r, args.time))).collect();
                    (format!("{t} terminals"), values)
                })
                .collect(),
        }],
        tables: vec![
            ("Figures".into(), HEAD.map(str::to_owned).into(), rows),
            ("Time that 95 % do not exceed, ms".into(), LATENCY_HEAD.map(str::to_owned).into(), latencies),
        ],
    };
    page::write(&page, args.servers.out.as_deref())?;
    Ok(contestants.iter().all(|c| c.problems.is_empty()))
}
