//! `bench filter`: what one row costs a filter scan, on one thread.
//!
//! Four shapes, each through SQL (parse, plan, scan, count) and, for the first two, through storage's scan and a plain
//! comparison loop, which is what a scan cannot be faster than:
//! ```text
//!   narrow   8-byte column among two, 1 % of the rows pass          per row of the table
//!   wide     4-byte column of rows of 4 KiB, 1 % pass               per row of the table
//!   range    10,000 rows by primary key range, one of them passes   per row of the range
//!   count    COUNT(*) of all rows that pass a filter that most pass per row of the table
//! ```
//! The range is picked anew each time, so that no answer is the last one's.

use crate::local::Local;
use crate::machine::{Hash, Times, repeat};
use crate::{Failure, table};
use std::time::Instant;
use storage::{BulkAppender, Table};
use vector::Values;

#[derive(clap::Args, Debug, Clone)]
pub struct FilterArgs {
    /// Rows of the narrow table
    #[arg(long, default_value_t = 10_000_000)]
    pub rows: u64,
    /// Rows of the wide table, 4 KiB each
    #[arg(long, default_value_t = 200_000)]
    pub wide_rows: u64,
    /// Runs of each; the best counts
    #[arg(long, default_value_t = 7)]
    pub runs: usize,
}

/// Rows of a range query.
const RANGE_ROWS: u64 = 10_000;
/// Columns of a wide row: 4 bytes and 511 times 8.
const WIDE_COLUMNS: usize = 511;

/// A bijection on 64-bit numbers (the finalizer of MurmurHash3): values that look random and need no generator.
pub fn scatter(i: u64) -> u64 {
    let i = (i ^ (i >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let i = (i ^ (i >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    i ^ (i >> 33)
}

/// Appends `rows` rows whose column values `value(row, column)` gives.
pub fn fill(local: &Local, name: &str, rows: u64, mut value: impl FnMut(u64, usize) -> i64) -> Result<(), Failure> {
    let store = local.db().store();
    let table = local.table(name);
    let txn = store.txns().begin();
    let mut to = BulkAppender::new(&table, &txn);
    for row in 0..rows {
        for column in 0..table.types().len() {
            to.column(column).push_int(value(row, column));
        }
        to.end_row()?;
    }
    to.finish()?;
    store.txns().commit(&txn).expect("the log can be written");
    Ok(())
}

#[inline(never)]
fn count_below_values<T: Copy + PartialOrd>(values: &[T], bound: T) -> u64 {
    values.iter().map(|&v| (v < bound) as u64).sum()
}

/// Counts through storage's scan and a comparison loop.
fn count_below(local: &Local, table: &Table, column: usize, bound: i64) -> u64 {
    let snapshot = local.db().store().txns().snapshot();
    let views = (0..table.leaf_count()).filter_map(|n| table.scan_leaf(n, &[column], &snapshot));
    views
        .map(|view| match &view.columns[0].values {
            Values::I64(v) => count_below_values(v, bound),
            Values::I32(v) => count_below_values(v, bound as i32),
            Values::I16(v) => count_below_values(v, bound as i16),
            Values::I8(v) => count_below_values(v, bound as i8),
            other => unreachable!("the bench's columns are not {:?}", other.phys()),
        })
        .sum()
}

struct Line {
    what: &'static str,
    rows: u64,
    times: Times,
    answer: u64,
}

fn sql(local: &mut Local, text: &str, runs: usize) -> Result<(u64, Times), Failure> {
    let (answer, times) = repeat(runs, || local.scalar(text));
    Ok((answer?.parse()?, times))
}

/// Runs the experiment; the hash of its answers.
pub fn run(args: &FilterArgs) -> Result<u64, Failure> {
    let mut local = Local::open(1)?;
    let mut lines = Vec::new();

    // Values 0..1000 scattered over the rows: no zone map can help.
    local.run("CREATE TABLE narrow (id BIGINT NOT NULL PRIMARY KEY, v BIGINT NOT NULL, filter BIGINT NOT NULL)")?;
    fill(&local, "narrow", args.rows, |row, column| match column {
        1 => (scatter(row) % 1000) as i64,
        _ => row as i64,
    })?;
    let (answer, times) = sql(&mut local, "SELECT COUNT(*) FROM narrow WHERE v < 10", args.runs)?;
    lines.push(Line { what: "narrow, SQL", rows: args.rows, times, answer });
    let (answer, times) = sql(&mut local, "SELECT SUM(v) FROM narrow WHERE v < 10", args.runs)?;
    lines.push(Line { what: "narrow, SQL, sum of what passes", rows: args.rows, times, answer });
    let narrow = local.table("narrow");
    let (answer, times) = repeat(args.runs, || count_below(&local, &narrow, 1, 10));
    lines.push(Line { what: "narrow, loop over leaves", rows: args.rows, times, answer });
    let (answer, times) = sql(&mut local, "SELECT COUNT(*) FROM narrow WHERE v <> 7", args.runs)?;
    lines.push(Line { what: "count, SQL", rows: args.rows, times, answer });

    let range = RANGE_ROWS.min(args.rows);
    let mut times = Times::default();
    let mut found = 0;
    for i in 0..args.runs as u64 * 20 {
        let from = scatter(i) % (args.rows - range + 1);
        let one = from + scatter(i + 1) % range;
        let text = format!("SELECT id FROM narrow WHERE id BETWEEN {from} AND {} AND filter = {one}", from + range - 1);
        let started = Instant::now();
        let id = local.scalar(&text)?;
        times.add(started.elapsed());
        if id != one.to_string() {
            return Err(format!("range from {from}: found {id:?} instead of {one}").into());
        }
        found += one;
    }
    lines.push(Line { what: "range, SQL", rows: range, times, answer: found });

    let columns: Vec<String> = (1..=WIDE_COLUMNS).map(|c| format!("c{c} BIGINT NOT NULL")).collect();
    local.run(&format!("CREATE TABLE wide (v INT NOT NULL, {})", columns.join(", ")))?;
    fill(&local, "wide", args.wide_rows, |row, column| match column {
        0 => (scatter(row) % 1000) as i64,
        c => row as i64 + c as i64,
    })?;
    let (answer, times) = sql(&mut local, "SELECT COUNT(*) FROM wide WHERE v < 10", args.runs)?;
    lines.push(Line { what: "wide, SQL", rows: args.wide_rows, times, answer });
    let wide = local.table("wide");
    let (answer, times) = repeat(args.runs, || count_below(&local, &wide, 0, 10));
    lines.push(Line { what: "wide, loop over leaves", rows: args.wide_rows, times, answer });

    let mut hash = Hash::default();
    let rows: Vec<Vec<String>> = lines
        .iter()
        .map(|l| {
            hash.add_u64(l.answer);
            let [least, median, most] = l.times.ms().map(|ms| format!("{ms:.3}"));
            vec![
                l.what.to_owned(),
                l.rows.to_string(),
                format!("{:.3}", l.times.best_ns_per(l.rows)),
                least,
                median,
                most,
                l.answer.to_string(),
            ]
        })
        .collect();
    print!("{}", table::render(&["filter scan", "rows", "ns/row", "least ms", "median", "most", "answer"], &rows));
    println!("answers: {hash}");
    Ok(hash.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small() {
        let args = FilterArgs { rows: 30_000, wide_rows: 700, runs: 2 };
        let first = run(&args).expect("it runs");
        assert_eq!(first, run(&args).expect("it runs"), "answers are the same each time");
    }
}
