//! `bench soak`: whether a server under mixed changes stays as small, as cheap and as even as it was in the beginning.
//!
//! ```text
//!   writers     one client each, own rows: update (one string or several, wider, narrower, NULL), delete + insert,
//!               transactions of several changes, of which some are taken back
//!   reporter    aggregates and a join, one after the other, in the second half of each interval
//!   historian   opens a snapshot, reads sums, keeps it for seconds to a minute, reads them again (both as reports)
//!
//!   interval    | writers alone: processor time an operation is measured | reports beside them |
//! ```
//! At the end of each interval a snapshot tells what the rows need: a fixed part a row ([`SLOT_BYTES`]), and the
//! lengths of the strings. What is held is what information_schema says of the table (DATA_LENGTH + DATA_FREE) and the
//! server's resident memory, in which indexes, versions for open snapshots and running statements are, too.
//!
//! Verdicts: what the table holds of what its rows need, at the worst of the moments at which no snapshot has been kept
//! for a while (a kept one needs rows that have gone since); processor time an operation in the last quarter against
//! the first one (the first tenth is warm-up and counts for nothing); the longest operation.

mod clients;
mod report;

use crate::scratch::Scratch;
use crate::servers::{Server, ServerArgs, System};
use crate::{Failure, machine};
use clients::{Clients, Shared};
use mysql::prelude::Queryable;
use std::time::{Duration, Instant};

#[derive(clap::Args, Debug, Clone)]
pub struct SoakArgs {
    /// Minutes
    #[arg(long, default_value_t = 30.0)]
    pub minutes: f64,
    /// Rows of the table, about a kilobyte each
    #[arg(long, default_value_t = 100_000)]
    pub rows: u64,
    /// Clients that change rows
    #[arg(long, default_value_t = 4)]
    pub writers: u64,
    /// Seconds between two lines
    #[arg(long, default_value_t = 20.0)]
    pub interval: f64,
    /// Of the random choices
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub servers: ServerArgs,
}

const SCHEMA: &str = "soak";

const CREATE: &str = "CREATE TABLE soak (id BIGINT NOT NULL PRIMARY KEY, grp INT NOT NULL, n BIGINT NOT NULL, \
     v VARCHAR(1000), t TEXT, b LONGBLOB, KEY (grp))";

/// What a row needs besides its strings: three numbers, and a slot of 16 bytes for each string.
const SLOT_BYTES: u64 = 8 + 4 + 8 + 3 * 16;

/// What an interval was like.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Interval {
    seconds: f64,
    rows: u64,
    /// What the rows need.
    needed_bytes: u64,
    /// What the table holds, by its own account.
    held_bytes: u64,
    free_bytes: u64,
    resident_bytes: u64,
    operations_per_s: f64,
    /// Of the writers alone.
    cpu_us: f64,
    p50_us: u64,
    p99_us: u64,
    max_us: u64,
    /// No snapshot was kept for a while at its end, so nothing is held for one.
    is_at_rest: bool,
}

impl Interval {
    fn ratio(&self) -> f64 {
        self.held_bytes as f64 / self.needed_bytes.max(1) as f64
    }
}

/// The rows, what they need, and what the table holds.
fn sizes(server: &Server) -> Result<[u64; 4], Failure> {
    let conn = &mut server.connect(Some(SCHEMA))?;
    if server.system == System::Mariadb {
        // It estimates what the table holds.
        conn.query_drop("ANALYZE TABLE soak")?;
    }
    let held = "SELECT DATA_LENGTH, DATA_FREE FROM information_schema.TABLES \
                WHERE TABLE_SCHEMA = 'soak' AND TABLE_NAME = 'soak'";
    let (data, free): (u64, u64) = conn.query_first(held)?.ok_or("no such table")?;
    let live = "SELECT COUNT(*), CAST(COALESCE(SUM(COALESCE(LENGTH(v), 0) + COALESCE(LENGTH(t), 0) \
                + COALESCE(LENGTH(b), 0)), 0) AS UNSIGNED) FROM soak";
    let (rows, strings): (u64, u64) = conn.query_first(live)?.ok_or("no answer")?;
    Ok([rows, rows * SLOT_BYTES + strings, data + free, free])
}

/// One interval: the writers alone, then reports beside them, then a look at the sizes.
fn measure(server: &Server, shared: &Shared, started: Instant, interval: Duration) -> Result<Interval, Failure> {
    let begun = Instant::now();
    let before = shared.operations();
    shared.await_quiet();
    let (quiet_from, quiet) = (shared.operations(), server.usage()?);
    std::thread::sleep(interval / 2);
    let cpu = server.usage()?.since(quiet);
    let quiet_operations = shared.operations() - quiet_from;
    shared.let_report(true);
    std::thread::sleep((interval / 2).saturating_sub(begun.elapsed().saturating_sub(interval / 2)));
    shared.let_report(false);
    let operations = shared.operations() - before;
    let elapsed_s = begun.elapsed().as_secs_f64();
    let is_at_rest = shared.rest() > interval / 4;
    let [rows, needed_bytes, held_bytes, free_bytes] = sizes(server)?;
    let mut latencies = shared.take_latencies();
    latencies.sort_unstable();
    let at = |share: f64| {
        latencies.get(((latencies.len() as f64 * share) as usize).min(latencies.len().max(1) - 1)).copied().unwrap_or(0)
    };
    Ok(Interval {
        seconds: started.elapsed().as_secs_f64(),
        rows,
        needed_bytes,
        held_bytes,
        free_bytes,
        resident_bytes: server.usage()?.resident_bytes,
        operations_per_s: operations as f64 / elapsed_s,
        cpu_us: cpu.cpu_us_per(quiet_operations.max(1)),
        p50_us: at(0.5),
        p99_us: at(0.99),
        max_us: at(1.0),
        is_at_rest,
    })
}

fn soak(server: &Server, args: &SoakArgs) -> Result<report::Soaked, Failure> {
    let mut conn = server.connect(None)?;
    conn.query_drop(format!("CREATE DATABASE {SCHEMA}"))?;
    conn.query_drop(format!("USE {SCHEMA}"))?;
    conn.query_drop(CREATE)?;
    let shared = Shared::new(args.writers.max(1));
    let length = Duration::from_secs_f64(args.minutes * 60.0);
    let interval = Duration::from_secs_f64(args.interval);
    std::thread::scope(|scope| {
        let mut clients = Clients::start(scope, server, &shared, args, length)?;
        println!("\n{} {}: {} rows", server.name(), server.version, args.rows);
        println!("{}", report::head());
        let started = Instant::now();
        let mut intervals = Vec::new();
        let outcome = loop {
            match measure(server, &shared, started, interval) {
                Ok(interval) => {
                    println!("{}", report::line(&interval));
                    intervals.push(interval);
                }
                Err(e) => break Err(e),
            }
            if shared.has_failed() || started.elapsed() + interval / 2 > length {
                break Ok(());
            }
        };
        shared.stop();
        // What a client met tells more than what came of it here.
        clients.join()?;
        outcome?;
        Ok(report::Soaked { name: server.name(), intervals, counts: shared.counts() })
    })
}

/// Runs the experiment; whether Nextleaf stayed small, cheap and even.
pub fn run(args: &SoakArgs) -> Result<bool, Failure> {
    let mut facts = vec![machine::describe()];
    let mut all = Vec::new();
    for system in args.servers.systems() {
        let scratch = Scratch::new()?;
        let server = Server::start(system, scratch.path(), &args.servers)?;
        all.push(soak(&server, args)?);
    }
    let mut good = true;
    for soaked in &all {
        let verdicts = soaked.verdicts();
        println!("{}\n", report::NOTE);
        verdicts.iter().for_each(|v| println!("{}: {}", soaked.name, v.text));
        good &= soaked.name != all[0].name || verdicts.iter().all(|v| v.holds);
        facts.extend(verdicts.into_iter().map(|v| format!("{}: {}", soaked.name, v.text)));
    }
    println!("{}", machine::describe());
    report::write(&all, facts, args.servers.out.as_deref())?;
    Ok(good)
}
