//! `bench tpch`: the 22 queries over one set of data, in Nextleaf and beside other systems.
//!
//! Each query runs in all systems before the next query does, so that a noisy neighbour disturbs them alike. A time is
//! that of the whole statement, text to last row in the client's hands, best of the runs; Nextleaf runs in this process
//! and DuckDB in its driver's, MariaDB answers over a socket.

pub(crate) mod answers;
mod data;
mod queries;
mod report;
pub(crate) mod rival;
pub mod schema;
mod storm;

pub use queries::QUERIES;
pub use rival::RivalKind;

use crate::local::{Answer, Local};
use crate::machine::{self, Hash, Times};
use crate::scratch::Scratch;
use crate::{Failure, table};
use rival::Rival;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(clap::Args, Debug, Clone)]
pub struct TpchArgs {
    /// Scale factor: 1 is about 1 GB of text
    #[arg(long, default_value_t = 1.0)]
    pub scale: f64,
    /// Systems to compare with; scripts/install-rivals.sh installs them
    #[arg(long, value_enum)]
    pub vs: Vec<RivalKind>,
    /// Queries to run, such as 1,6 [default: all]
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u8).range(1..=22))]
    pub queries: Vec<u8>,
    /// Runs of each query; the best counts
    #[arg(long, default_value_t = 3)]
    pub runs: usize,
    /// Threads of each system that lets us choose [default: all cores]
    #[arg(long)]
    pub threads: Option<usize>,
    /// Memory of a statement (max_query_memory), such as 256M; more is spilled
    #[arg(long, value_parser = parse_bytes)]
    pub memory: Option<u64>,
    /// Load <table>.tbl files of this folder through LOAD DATA instead of generating the data
    #[arg(long)]
    pub tbl: Option<PathBuf>,
    /// Seconds a query may take in another system
    #[arg(long, default_value_t = 120)]
    pub limit: u64,
    /// Write the .tbl files to this folder, and do nothing else
    #[arg(long)]
    pub write_tbl: Option<PathBuf>,
    /// Print EXPLAIN ANALYZE of each query
    #[arg(long)]
    pub explain: bool,
    /// Keys on foreign keys and dates beside the primary keys, as MariaDB gets them anyway
    #[arg(long)]
    pub indexes: bool,
    /// Run the queries while so many transactions a second update the tables, instead of comparing
    #[arg(long, value_name = "TRANSACTIONS", num_args = 0..=1, default_missing_value = "5000")]
    pub storm: Option<u64>,
    /// Write an HTML report with plots
    #[arg(long)]
    pub out: Option<PathBuf>,
}

fn parse_bytes(text: &str) -> Result<u64, String> {
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let shift = match unit.to_ascii_uppercase().as_str() {
        "" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        _ => return Err(format!("{unit} is not one of K, M, G")),
    };
    let n: u64 = digits.parse().map_err(|e| format!("{e}"))?;
    n.checked_mul(1 << shift).ok_or_else(|| "too many bytes".into())
}

/// What became of one query.
#[derive(Debug, Default)]
pub struct Outcome {
    pub query: usize,
    pub ours: Option<Times>,
    pub rows: usize,
    pub hash: u64,
    /// In the order of the rivals: times, or why there are none.
    pub theirs: Vec<Result<Times, String>>,
    /// Our failure, and every difference from another system or the published answer.
    pub problems: Vec<String>,
    /// Answers that were equal to ours.
    pub equal: Vec<&'static str>,
}

/// Everything the report shows.
#[derive(Debug, Default)]
pub struct Report {
    pub title: String,
    pub facts: Vec<String>,
    /// "Nextleaf", then the rivals.
    pub systems: Vec<String>,
    pub outcomes: Vec<Outcome>,
}

/// Whether the lines of the specification's text form end with a separator here, as `dbgen` writes them.
fn separator_at_end(dir: &Path) -> Result<bool, Failure> {
    let path = dir.join("region.tbl");
    let file = File::open(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut line = String::new();
    BufReader::new(file).read_line(&mut line)?;
    Ok(line.trim_end().ends_with('|'))
}

/// Makes or loads the data; one line a table.
fn fill(local: &mut Local, args: &TpchArgs, threads: usize) -> Result<Vec<String>, Failure> {
    let mut facts = Vec::new();
    let started = Instant::now();
    for (name, columns) in schema::TABLES {
        local.run(&schema::create(name, columns))?;
        let at = Instant::now();
        let (rows, bytes) = match &args.tbl {
            None => (data::fill(local, name, args.scale, threads)?, None),
            Some(dir) => {
                let end = if separator_at_end(dir)? { "|\\n" } else { "\\n" };
                let path = std::path::absolute(dir)?.join(format!("{name}.tbl"));
                let text = path.display().to_string().replace('\\', "\\\\").replace('\'', "''");
                let ok = local.run(&format!(
                    "LOAD DATA LOCAL INFILE '{text}' INTO TABLE {name} FIELDS TERMINATED BY '|' LINES TERMINATED BY '{end}'"
                ))?;
                (ok.affected_rows, Some(std::fs::metadata(&path)?.len()))
            }
        };
        let took = at.elapsed().as_secs_f64();
        let counted = local.scalar(&format!("SELECT COUNT(*) FROM {name}"))?;
        if counted != rows.to_string() {
            return Err(format!("{name}: {rows} rows went in, COUNT(*) says {counted}").into());
        }
        if args.tbl.is_none()
            && let Some(expected) = schema::rows(name, args.scale)
            && rows != expected
        {
            return Err(format!("{name}: {rows} rows instead of {expected}").into());
        }
        if rows > 100_000 {
            let speed = bytes.map_or(String::new(), |b| format!(", {:.0} MB/s", b as f64 / 1e6 / took));
            facts.push(format!("{name}: {rows} rows in {took:.2} s{speed}"));
        }
    }
    let bytes = local.db().store().bytes() as f64 / (1 << 30) as f64;
    let (_, resident) = machine::resident_bytes();
    facts.push(format!(
        "loaded in {:.2} s; tables hold {bytes:.2} GiB, the process {:.2} GiB",
        started.elapsed().as_secs_f64(),
        resident as f64 / (1 << 30) as f64
    ));
    Ok(facts)
}

fn start_rivals(args: &TpchArgs, scratch: &Path, threads: usize) -> Result<(Vec<Rival>, Vec<String>), Failure> {
    let (mut rivals, mut facts) = (Vec::new(), Vec::new());
    if args.vs.is_empty() {
        return Ok((rivals, facts));
    }
    let (dir, at_end) = match &args.tbl {
        Some(dir) => (std::path::absolute(dir)?, separator_at_end(dir)?),
        None => {
            for (table, _) in schema::TABLES {
                data::write_text(table, args.scale, &scratch.join(format!("{table}.tbl")))?;
            }
            (scratch.to_owned(), false)
        }
    };
    for &kind in &args.vs {
        let mut rival = Rival::start(kind, scratch, threads)?;
        let took = rival.load(&dir, at_end)?;
        facts.push(format!("{} loaded in {:.1} s", rival.version, took.as_secs_f64()));
        rivals.push(rival);
    }
    if args.tbl.is_none() {
        for (table, _) in schema::TABLES {
            std::fs::remove_file(scratch.join(format!("{table}.tbl")))?;
        }
    }
    Ok((rivals, facts))
}

/// Fills the tables here and in other systems, with the indexes that queries like; facts about it.
pub(crate) fn prepare(
    local: &mut Local,
    scale: f64,
    threads: usize,
    vs: &[RivalKind],
    scratch: &Path,
) -> Result<(Vec<Rival>, Vec<String>), Failure> {
    let args = TpchArgs {
        scale,
        vs: vs.to_vec(),
        queries: Vec::new(),
        runs: 1,
        threads: Some(threads),
        memory: None,
        tbl: None,
        limit: 0,
        write_tbl: None,
        explain: false,
        indexes: false,
        storm: None,
        out: None,
    };
    let mut facts = fill(local, &args, threads)?;
    for sql in schema::RIVAL_INDEXES {
        local.run(sql)?;
    }
    let (rivals, started) = start_rivals(&args, scratch, threads)?;
    facts.extend(started);
    Ok((rivals, facts))
}

/// Writes the .tbl files of all tables.
pub(crate) fn write_all(dir: &Path, scale: f64) -> Result<(), Failure> {
    std::fs::create_dir_all(dir)?;
    for (table, _) in schema::TABLES {
        data::write_text(table, scale, &dir.join(format!("{table}.tbl")))?;
    }
    Ok(())
}

/// The queries asked for.
fn which(args: &TpchArgs) -> Vec<usize> {
    match &args.queries[..] {
        [] => (1..=22).collect(),
        some => some.iter().map(|&q| q as usize).collect(),
    }
}

fn run_ours(local: &mut Local, sql: &str, runs: usize) -> types::Result<(Times, Answer)> {
    let mut times = Times::default();
    for _ in 0..runs.max(1) {
        let started = Instant::now();
        local.run(sql)?;
        times.add(started.elapsed());
    }
    Ok((times, local.answer()))
}

fn run_query(local: &mut Local, rivals: &mut [Rival], query: usize, args: &TpchArgs) -> Result<Outcome, Failure> {
    let sql = QUERIES[query - 1].trim_end().trim_end_matches(';');
    let mut outcome = Outcome { query, ..Outcome::default() };
    let ours = match run_ours(local, sql, args.runs) {
        Ok((times, answer)) => {
            outcome.ours = Some(times);
            outcome.rows = answer.rows.len();
            outcome.hash = answers::hash(&answer);
            Some(answer)
        }
        Err(e) => {
            outcome.problems.push(format!("Nextleaf: {e}"));
            None
        }
    };
    if args.explain {
        match local.run(&format!("EXPLAIN ANALYZE {sql}")) {
            Ok(_) => println!(
                "Q{query}\n{}",
                local.answer().rows.into_iter().flatten().flatten().collect::<Vec<_>>().join("\n")
            ),
            Err(e) => println!("Q{query}: EXPLAIN ANALYZE: {e}"),
        }
    }
    let mut check = |name: &'static str, verdict: Result<(), String>| match verdict {
        Ok(()) => outcome.equal.push(name),
        Err(difference) => outcome.problems.push(format!("differs from {name}: {difference}")),
    };
    if let Some(ours) = &ours
        && args.scale == 1.0
    {
        check("the published answer", answers::validate(query, ours));
    }
    for rival in rivals {
        let name = rival.kind.name();
        let said = rival.query(sql, args.runs, args.limit)?;
        if let (Some(ours), Ok((_, theirs))) = (&ours, &said) {
            check(name, answers::compare(query, ours, theirs));
        }
        outcome.theirs.push(said.map(|(times, _)| times));
    }
    Ok(outcome)
}

/// Runs the benchmark; whether all answers came and were right.
pub fn run(args: &TpchArgs) -> Result<bool, Failure> {
    if let Some(dir) = &args.write_tbl {
        write_all(dir, args.scale)?;
        return Ok(true);
    }
    if let Some(rate) = args.storm {
        let threads = args.threads.unwrap_or_else(machine::cores);
        let mut local = Local::open(threads)?;
        fill(&mut local, args, threads)?.iter().for_each(|fact| println!("{fact}"));
        return storm::run(&mut local, args, rate, &which(args));
    }
    let report = measure(args)?;
    print!("{}", text(&report));
    if let Some(path) = &args.out {
        std::fs::write(path, report::html(&report))?;
        println!("report: {}", path.display());
    }
    Ok(report.outcomes.iter().all(|o| o.problems.is_empty()))
}

fn measure(args: &TpchArgs) -> Result<Report, Failure> {
    let threads = args.threads.unwrap_or_else(machine::cores);
    let mut local = Local::open(threads)?;
    let mut facts = vec![machine::describe()];
    let loaded = fill(&mut local, args, threads)?;
    for fact in &loaded {
        println!("{fact}");
    }
    facts.extend(loaded);
    if args.indexes {
        let started = Instant::now();
        schema::RIVAL_INDEXES.iter().try_for_each(|sql| local.run(sql).map(drop))?;
        facts.push(format!("indexes made in {:.2} s", started.elapsed().as_secs_f64()));
        println!("{}", facts[facts.len() - 1]);
    }
    if let Some(bytes) = args.memory {
        local.run(&format!("SET SESSION max_query_memory = {bytes}"))?;
        facts.push(format!("max_query_memory {bytes}"));
    }
    let scratch = Scratch::new()?;
    let (mut rivals, started) = start_rivals(args, scratch.path(), threads)?;
    for fact in &started {
        println!("{fact}");
    }
    facts.extend(started);
    let mut outcomes = Vec::new();
    for query in which(args) {
        let outcome = run_query(&mut local, &mut rivals, query, args)?;
        eprintln!("Q{query}: {}", outcome.ours.as_ref().map_or("failed".into(), |t| format!("{:.1} ms", t.best_ms())));
        outcomes.push(outcome);
    }
    let (most, _) = machine::resident_bytes();
    facts.push(format!(
        "{threads} threads, best of {} runs; most memory resident {:.2} GiB; after: {}",
        args.runs,
        most as f64 / (1 << 30) as f64,
        machine::describe()
    ));
    let systems = std::iter::once("Nextleaf".to_owned()).chain(rivals.iter().map(|r| r.kind.name().to_owned()));
    Ok(Report { title: format!("TPC-H at scale factor {}", args.scale), facts, systems: systems.collect(), outcomes })
}

fn ms(ms: f64) -> String {
    match ms {
        _ if ms.is_nan() => "-".into(),
        _ if ms < 10.0 => format!("{ms:.2}"),
        _ if ms < 1000.0 => format!("{ms:.1}"),
        _ => format!("{ms:.0}"),
    }
}

/// Totals of us and of one rival over the queries that both answered.
fn totals(report: &Report, rival: usize) -> (f64, f64, usize) {
    let both = report.outcomes.iter().filter_map(|o| Some((o.ours.as_ref()?, o.theirs[rival].as_ref().ok()?)));
    both.fold((0.0, 0.0, 0), |(a, b, n), (ours, theirs)| (a + ours.best_ms(), b + theirs.best_ms(), n + 1))
}

fn text(report: &Report) -> String {
    let mut head = vec!["query".to_owned(), "Nextleaf ms".into(), "median".into(), "most".into()];
    for system in &report.systems[1..] {
        head.push(format!("{system} ms"));
        head.push("ratio".into());
    }
    head.extend(["rows".into(), "equal to".into()]);
    let mut rows = Vec::new();
    for o in &report.outcomes {
        let ours = o.ours.as_ref().map_or([f64::NAN; 3], Times::ms);
        let mut row = vec![format!("Q{}", o.query), ms(ours[0]), ms(ours[1]), ms(ours[2])];
        for theirs in &o.theirs {
            match theirs {
                Ok(t) => row.extend([ms(t.best_ms()), format!("{:.2}", ours[0] / t.best_ms())]),
                Err(_) => row.extend(["failed".into(), "-".into()]),
            }
        }
        let verdict = if o.problems.is_empty() { o.equal.join(", ") } else { "NOT RIGHT".into() };
        row.extend([o.rows.to_string(), verdict]);
        rows.push(row);
    }
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut out = format!("\n{}\n{}", report.title, table::render(&head, &rows));
    let ours: f64 = report.outcomes.iter().filter_map(|o| o.ours.as_ref()).map(Times::best_ms).sum();
    let answered = report.outcomes.iter().filter(|o| o.ours.is_some()).count();
    out += &format!("total: {} ms for {answered} of {} queries\n", ms(ours), report.outcomes.len());
    for (i, system) in report.systems[1..].iter().enumerate() {
        let (a, b, n) = totals(report, i);
        out += &format!("against {system}: {} to {} ms over the {n} both answered, ratio {:.2}\n", ms(a), ms(b), a / b);
    }
    for o in &report.outcomes {
        for p in &o.problems {
            out += &format!("Q{} {p}\n", o.query);
        }
        for (system, theirs) in report.systems[1..].iter().zip(&o.theirs) {
            if let Err(e) = theirs {
                out += &format!("Q{} in {system}: {e}\n", o.query);
            }
        }
    }
    if let Some(last) = report.facts.last() {
        out += &format!("{last}\n");
    }
    let mut hash = Hash::default();
    report.outcomes.iter().for_each(|o| hash.add_u64(o.hash));
    out + &format!("answers: {hash}\n")
}

#[cfg(test)]
mod tests;
