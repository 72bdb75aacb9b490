//! `bench point`: lookups by key in this process, on one thread.
//!
//! ```text
//!   primary key, one by one     Table::with_row of each key, reading a column where the row lies
//!   primary key, batches        Table::read_by_key of 1024 keys
//!   ordered index, one by one   Table::index_get of a key, then fetch_found of its row
//!   ordered index, batches      Table::index_get_many of 1024 keys, then fetch_found of their rows
//!   hash, one by one and batches  a unique key whose numbers came in no order
//! ```
//! Keys come in random order, so that every lookup in a large table misses the processor's caches. The sum of the
//! values read is compared with what it must be.

use crate::filter::{fill, scatter};
use crate::local::Local;
use crate::machine::{Hash, Times, repeat};
use crate::servers::Usage;
use crate::{Failure, table};
use storage::{Candidates, Keys, Table};
use types::Value;
use vector::{Chunk, Values};

#[derive(clap::Args, Debug, Clone)]
pub struct PointArgs {
    /// Rows of the table of the primary key and the hash
    #[arg(long, default_value_t = 1_000_000)]
    pub rows: u64,
    /// Rows of the table of the ordered index
    #[arg(long, default_value_t = 10_000_000)]
    pub ordered_rows: u64,
    /// Lookups of each run
    #[arg(long, default_value_t = 1_000_000)]
    pub lookups: u64,
    /// Runs of each; the best counts
    #[arg(long, default_value_t = 5)]
    pub runs: usize,
}

const BATCH: usize = 1024;
/// The value column.
const VALUE: usize = 2;

struct Line {
    what: &'static str,
    rows: u64,
    times: Times,
    /// Processor time of all runs, in nanoseconds a lookup: what a busy machine does not change much.
    cpu_ns: f64,
    sum: u64,
    /// Lookups a second that are wanted.
    goal: f64,
}

/// Keys that exist, in no order.
fn keys(args: &PointArgs, rows: u64) -> impl Iterator<Item = u64> {
    (0..args.lookups).map(move |i| scatter(i) % rows)
}

fn int_chunk(values: impl IntoIterator<Item = u64>) -> Chunk {
    Chunk::new(Values::I64(values.into_iter().map(|v| v as i64).collect()), None)
}

fn set_int(chunk: &mut Chunk, value: u64) {
    match &mut chunk.values {
        Values::I64(v) => v[0] = value as i64,
        other => unreachable!("the bench's keys are not {:?}", other.phys()),
    }
}

fn int_at(chunk: &Chunk, at: usize) -> u64 {
    chunk.values.int_at(at).expect("the bench's values are numbers") as u64
}

fn one_by_one(local: &Local, table: &Table, index: usize, keys: impl Iterator<Item = u64>) -> u64 {
    let snapshot = local.db().store().txns().snapshot();
    let mut key = int_chunk([0]);
    let mut sum = 0;
    for k in keys {
        set_int(&mut key, k);
        let value = table.with_row(index, &[&key], &snapshot, |at| {
            let (chunk, i) = at(VALUE);
            int_at(chunk, i)
        });
        sum += value.expect("the key exists");
    }
    sum
}

fn batches(local: &Local, table: &Table, index: usize, keys: &[u64]) -> u64 {
    let snapshot = local.db().store().txns().snapshot();
    let mut sum = 0;
    for batch in keys.chunks(BATCH) {
        let key = int_chunk(batch.iter().copied());
        let found = table.read_by_key(Keys { index, parts: &[&key], rows: batch.len() }, &[VALUE], &snapshot);
        assert!(found.seen.is_none(), "all keys exist");
        sum += (0..batch.len()).map(|i| int_at(&found.columns[0], i)).sum::<u64>();
    }
    sum
}

/// Lookups in the ordered index, `batch` at a time.
fn ordered(local: &Local, table: &Table, index: usize, keys: &[u64], batch: usize) -> u64 {
    let snapshot = local.db().store().txns().snapshot();
    let encoder = table.index_encoder(index).expect("the index is an ordered one");
    let (mut found, mut ends, mut sum) = (Candidates::default(), Vec::new(), 0);
    for keys in keys.chunks(batch) {
        let moment = table.settled(index);
        let mut encoded = keys.iter().map(|k| encoder.encode(&[Value::Int(*k as i64)]));
        found.clear();
        ends.clear();
        let is_there = match batch {
            1 => encoded.all(|key| table.index_get(index, &key, &mut found)),
            _ => table.index_get_many(index, &encoded.collect::<Vec<_>>(), usize::MAX, &mut found, &mut ends),
        };
        assert!(is_there && found.len() == keys.len(), "every key is there once");
        let fetched =
            table.fetch_found(index, &found, &[VALUE], &snapshot, moment).expect("the index is an ordered one");
        sum += (0..keys.len()).map(|i| int_at(&fetched.columns[0], i)).sum::<u64>();
    }
    sum
}

/// Value of the row with key `k`.
fn value(k: u64) -> u64 {
    k % 1000
}

/// A bijection on `0..rows` for the keys of rows: steps of a number that shares no divisor with any usual `rows`.
fn spread(row: u64, rows: u64) -> u64 {
    const STEP: u64 = 7_368_787;
    row * STEP % rows
}

/// Runs the experiment; the hash of its answers.
pub fn run(args: &PointArgs) -> Result<u64, Failure> {
    let mut local = Local::open(1)?;
    let columns = "k BIGINT NOT NULL, other BIGINT NOT NULL, v BIGINT NOT NULL";
    let mut lines = Vec::new();
    let mut line = |what, rows, goal, (sum, times, cpu_ns): (u64, Times, f64)| {
        lines.push(Line { what, rows, times, cpu_ns, sum, goal });
    };
    let repeat = |runs, f: &mut dyn FnMut() -> u64| {
        let used = || Usage::of(std::process::id()).unwrap_or_default();
        let before = used();
        let (sum, times) = repeat(runs, f);
        (sum, times, used().since(before).cpu_us_per(args.lookups * runs.max(1) as u64) * 1e3)
    };

    local.run(&format!("CREATE TABLE dense ({columns}, PRIMARY KEY (k))"))?;
    fill(&local, "dense", args.rows, |row, column| if column == VALUE { value(row) } else { row } as i64)?;
    let dense = local.table("dense");
    let all: Vec<u64> = keys(args, args.rows).collect();
    let one = repeat(args.runs, &mut || one_by_one(&local, &dense, 0, all.iter().copied()));
    line("primary key, one by one", args.rows, 3e6, one);
    line("primary key, batches", args.rows, 6e6, repeat(args.runs, &mut || batches(&local, &dense, 0, &all)));

    local.run(&format!("CREATE TABLE scattered ({columns}, PRIMARY KEY (k))"))?;
    fill(&local, "scattered", args.rows, |row, column| {
        let k = spread(row, args.rows);
        if column == VALUE { value(k) as i64 } else { k as i64 }
    })?;
    let scattered = local.table("scattered");
    let one = repeat(args.runs, &mut || one_by_one(&local, &scattered, 0, all.iter().copied()));
    line("hash, one by one", args.rows, 3e6, one);
    line("hash, batches", args.rows, 6e6, repeat(args.runs, &mut || batches(&local, &scattered, 0, &all)));

    local.run(&format!("CREATE TABLE large ({columns}, KEY (k))"))?;
    fill(&local, "large", args.ordered_rows, |row, column| {
        let k = spread(row, args.ordered_rows);
        if column == VALUE { value(k) as i64 } else { k as i64 }
    })?;
    let large = local.table("large");
    large.build_index(0);
    let all: Vec<u64> = keys(args, args.ordered_rows).collect();
    let one = repeat(args.runs, &mut || ordered(&local, &large, 0, &all, 1));
    line("ordered index, one by one", args.ordered_rows, 1e6, one);
    line(
        "ordered index, batches",
        args.ordered_rows,
        2e6,
        repeat(args.runs, &mut || ordered(&local, &large, 0, &all, BATCH)),
    );

    let mut hash = Hash::default();
    let mut rows = Vec::new();
    for l in &lines {
        let expected: u64 = keys(args, l.rows).map(value).sum();
        if l.sum != expected {
            return Err(format!("{}: the values sum up to {} instead of {expected}", l.what, l.sum).into());
        }
        hash.add_u64(l.sum);
        let ns = l.times.best_ns_per(args.lookups);
        let [least, median, most] = l.times.ms().map(|ms| format!("{ms:.1}"));
        let rate = format!("{:.2}M", 1e3 / ns);
        let verdict = if 1e9 / ns >= l.goal { "ok".to_owned() } else { format!("below {}M", l.goal / 1e6) };
        rows.push(vec![
            l.what.into(),
            l.rows.to_string(),
            rate,
            format!("{ns:.0}"),
            format!("{:.0}", l.cpu_ns),
            least,
            median,
            most,
            verdict,
        ]);
    }
    let head = ["lookup", "rows", "per s and core", "ns each", "cpu ns", "least ms", "median", "most", "goal"];
    print!("{}", table::render(&head, &rows));
    println!("answers: {hash}");
    Ok(hash.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small() {
        let args = PointArgs { rows: 3000, ordered_rows: 3000, lookups: 2000, runs: 1 };
        let first = run(&args).expect("it runs and adds up");
        assert_eq!(first, run(&args).expect("it runs"), "answers are the same each time");
    }
}
