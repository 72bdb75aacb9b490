//! Updates beside the queries: what they cost each other, and whether every sum has a serial order that explains it.
//!
//! ```text
//!   storm thread:  BEGIN; one row gives, another takes the same; COMMIT;  so many transactions a second
//!   query thread:  Q1 … Q22 in turn, and between them SUM over what is transferred: it must never change
//! ```
//! Transfers go between rows of customer (c_acctbal) and between rows of lineitem (l_extendedprice), picked at random,
//! so that versions lie all over both tables. What the queries answer then depends on when they run; only the sums are
//! checked. The rate is fixed, because a storm without one would simply take a core away.

use super::{QUERIES, TpchArgs, ms};
use crate::Failure;
use crate::filter::scatter;
use crate::local::Local;
use crate::machine::Times;
use crate::table;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A query in the storm may take so many times as long as without.
const SLOWDOWN_GOAL: f64 = 1.3;
/// Transactions that are begun together; the thread sleeps between such groups.
const GROUP: u64 = 16;

struct Transfer {
    table: &'static str,
    key: &'static str,
    value: &'static str,
}

const TRANSFERS: [Transfer; 2] = [
    Transfer { table: "customer", key: "c_custkey", value: "c_acctbal" },
    Transfer { table: "lineitem", key: "l_linenumber = 1 AND l_orderkey", value: "l_extendedprice" },
];

/// One transaction that moves 1.00 from one row to another; either both are there or nothing happens.
fn transfer(local: &mut Local, nth: u64, keys: u64) -> Result<(), Failure> {
    let t = &TRANSFERS[(nth % 2) as usize];
    let pick = |i: u64| scatter(nth * 2 + i) % keys + 1;
    // Keys of lineitem are sparse: eight of each thirty-two exist.
    let key = |k: u64| if t.table == "lineitem" { k / 8 * 32 + k % 8 } else { k };
    let (a, b) = (key(pick(0)), key(pick(1)));
    local.run("START TRANSACTION")?;
    let mut both = true;
    for (change, k) in [("- 1", a), ("+ 1", b)] {
        let sql = format!("UPDATE {} SET {} = {} {change} WHERE {} = {k}", t.table, t.value, t.value, t.key);
        both &= local.run(&sql)?.affected_rows == 1;
    }
    local.run(if both { "COMMIT" } else { "ROLLBACK" })?;
    Ok(())
}

/// Transfers at a rate until told to stop.
fn blow(local: &mut Local, rate: u64, keys: u64, stop: &AtomicBool, done: &AtomicU64) -> Result<(), Failure> {
    let started = Instant::now();
    let mut nth = 0;
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..GROUP {
            transfer(local, nth, keys)?;
            nth += 1;
        }
        done.store(nth, Ordering::Relaxed);
        let due = Duration::from_secs_f64(nth as f64 / rate.max(1) as f64);
        std::thread::sleep(due.saturating_sub(started.elapsed()));
    }
    Ok(())
}

/// Times of each query, and of the sums that are checked.
fn all_queries(local: &mut Local, which: &[usize], runs: usize, sums: &[String; 2]) -> Result<Vec<Times>, Failure> {
    let mut all = vec![Times::default(); which.len()];
    for _ in 0..runs.max(1) {
        for (times, &query) in all.iter_mut().zip(which) {
            let started = Instant::now();
            local.run(QUERIES[query - 1].trim_end().trim_end_matches(';'))?;
            times.add(started.elapsed());
            let now = sum(local)?;
            if now != *sums {
                return Err(format!("after Q{query} the sums are {now:?} instead of {sums:?}").into());
            }
        }
    }
    Ok(all)
}

fn sum(local: &mut Local) -> Result<[String; 2], Failure> {
    let mut of = |t: &Transfer| local.scalar(&format!("SELECT SUM({}) FROM {}", t.value, t.table));
    Ok([of(&TRANSFERS[0])?, of(&TRANSFERS[1])?])
}

/// Runs the queries without and with the storm; whether the slowdown of all together stays within the goal.
pub(super) fn run(local: &mut Local, args: &TpchArgs, rate: u64, which: &[usize]) -> Result<bool, Failure> {
    let customers: u64 = local.scalar("SELECT COUNT(*) FROM customer")?.parse()?;
    let sums = sum(local)?;
    let mut other = local.another()?;
    let stop = AtomicBool::new(false);
    let done = AtomicU64::new(0);
    let calm = all_queries(local, which, args.runs, &sums)?;
    let (stormy, seconds) = std::thread::scope(|scope| {
        let storm = scope.spawn(|| blow(&mut other, rate, customers, &stop, &done));
        let started = Instant::now();
        let stormy = all_queries(local, which, args.runs, &sums);
        let seconds = started.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        storm.join().expect("the storm does not panic")?;
        Ok::<_, Failure>((stormy?, seconds))
    })?;
    let after = all_queries(local, which, args.runs, &sums)?;

    let mut rows = Vec::new();
    for (i, query) in which.iter().enumerate() {
        let [before, during, later] = [&calm, &stormy, &after].map(|t| t[i].ms());
        let ratio = |t: [f64; 3]| format!("{:.2}", t[1] / before[1]);
        rows.push(vec![format!("Q{query}"), ms(before[1]), ms(during[1]), ratio(during), ms(later[1]), ratio(later)]);
    }
    let total = |all: &[Times]| all.iter().map(|t| t.ms()[1]).sum::<f64>();
    let slowdown = total(&stormy) / total(&calm);
    let head = ["query", "calm ms", "storm ms", "ratio", "afterwards ms", "ratio"];
    print!("\n{}", table::render(&head, &rows));
    let transfers = done.load(Ordering::Relaxed);
    println!(
        "{transfers} transfers, {:.0} a second; all queries take {slowdown:.2} times as long (goal {SLOWDOWN_GOAL}), afterwards \
         {:.2} times; every sum was {sums:?}",
        transfers as f64 / seconds,
        total(&after) / total(&calm)
    );
    Ok(slowdown <= SLOWDOWN_GOAL)
}
