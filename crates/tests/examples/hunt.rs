//! Hunts for logic bugs for as long as one likes:
//!
//! ```text
//! cargo run --release -p nextleaf-tests --example hunt -- --queries 200000 --seed 1 --threads 2
//! ```
//! `--vs mariadb` compares with a private MariaDB a thread, by what both define alike; `--traffic` asks while others
//! change the tables. Prints a short script for each failure, and at the end how many cases and statements ran.
//! `--only SEED` runs one schema's cases again; `--failures N` stops after so many; `--print N` prints cases instead of
//! running them; `--verbose` names each seed as it begins.

use fastrand::Rng;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tests::hunt::{CASES_A_SCHEMA, Case, Profile, Rival, Schema, Tally, round, traffic};

fn flag(name: &str) -> bool {
    std::env::args().any(|a| a == name)
}

fn argument(name: &str, default: u64) -> u64 {
    let args: Vec<String> = std::env::args().collect();
    let at = args.iter().position(|a| a == name);
    at.and_then(|i| args.get(i + 1)).map_or(default, |v| v.parse().unwrap_or_else(|e| panic!("{name} {v}: {e}")))
}

fn print(seed: u64, cases: u64, profile: Profile) {
    let mut rng = Rng::with_seed(seed);
    let schema = Schema::random(&mut rng, profile);
    schema.script().iter().for_each(|s| println!("{};", s.chars().take(400).collect::<String>()));
    for _ in 0..cases {
        println!("{}", Case::random(&mut rng, &schema, profile).text());
    }
}

/// Rounds by one thread, until there are no more seeds.
fn hunt(thread: u64, next: &(dyn Fn() -> Option<u64> + Sync), total: &Mutex<Tally>, verbose: bool) {
    let rival = flag("--vs").then(|| Rival::start(&format!("hunt-{thread}")).expect("mariadbd is installed"));
    while let Some(seed) = next() {
        if verbose {
            eprintln!("seed {seed}");
        }
        let mut tally = match flag("--traffic") {
            true => traffic(seed, CASES_A_SCHEMA),
            false => round(seed, CASES_A_SCHEMA, rival.as_ref()),
        };
        let found = std::mem::take(&mut tally.failures);
        for failure in found.into_iter().take(3) {
            let failure = if flag("--traffic") { failure } else { failure.reduce(rival.as_ref()) };
            println!("{}", failure.report());
            tally.failures.push(failure);
        }
        total.lock().expect("no one panics with it").add(tally);
    }
}

fn main() -> ExitCode {
    let queries = argument("--queries", 20_000);
    let only = argument("--only", 0);
    let first = if only > 0 { only } else { argument("--seed", 1) };
    if argument("--print", 0) > 0 {
        let profile = if flag("--vs") { Profile::Common } else { Profile::Wild };
        print(first, argument("--print", 0), profile);
        return ExitCode::SUCCESS;
    }
    let failures_max = argument("--failures", 20);
    let rounds = if only > 0 { 1 } else { queries.div_ceil(CASES_A_SCHEMA) };
    let seeds = AtomicU64::new(first);
    let total = Mutex::new(Tally::default());
    let started = Instant::now();
    let next = || {
        let seed = seeds.fetch_add(1, Ordering::Relaxed);
        let full = total.lock().expect("no one panics with it").failures.len() as u64 >= failures_max;
        (seed < first + rounds && !full).then_some(seed)
    };
    std::thread::scope(|scope| {
        for thread in 0..argument("--threads", 1) {
            let (next, total) = (&next, &total);
            scope.spawn(move || hunt(thread, next, total, flag("--verbose")));
        }
    });
    let total = total.into_inner().expect("no one panics with it");
    let took = started.elapsed().as_secs_f64();
    println!(
        "{} cases, {} statements in {took:.1} s ({:.0} cases/s); errors {:?}; {} failures",
        total.cases,
        total.statements,
        total.cases as f64 / took,
        total.refused,
        total.failures.len()
    );
    if total.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
