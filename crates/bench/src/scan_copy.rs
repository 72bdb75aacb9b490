//! `bench scan-copy`: reading rows where they lie, against copying each into a record buffer first.
//!
//! A table has rows of so many bytes in 4-byte columns; a query sums one, a few or all of them. In place, the engine's
//! scan touches the columns that the query names and nothing else. Through a record buffer, as storage engines with a
//! row interface do it, every row is first gathered from its leaf into a buffer, whole, and summed from there. Both are
//! one thread. The third figure is a plain loop over the leaves' chunks: what reading in place can cost at least.
//!
//! Leaves are columns already; to be fair to the copying side its rows come from a heap of records (row after row, as
//! such an engine keeps them), one copy of a record's length a row.

use crate::filter::{fill, scatter};
use crate::local::Local;
use crate::machine::{Hash, repeat};
use crate::{Failure, table};
use std::hint::black_box;
use vector::Values;

#[derive(clap::Args, Debug, Clone)]
pub struct ScanCopyArgs {
    /// Bytes of a record
    #[arg(long, value_delimiter = ',', default_values_t = [16, 32, 64, 128, 264, 520, 1032, 2056, 4104])]
    pub bytes: Vec<usize>,
    /// Bytes of each table
    #[arg(long, default_value_t = 256 << 20)]
    pub table_bytes: usize,
    /// Runs of each; the best counts
    #[arg(long, default_value_t = 5)]
    pub runs: usize,
}

/// Bytes of a column.
const COLUMN_BYTES: usize = 4;

fn value(row: u64, column: usize) -> i32 {
    (scatter(row * 1031 + column as u64) & 0xffff) as i32
}

/// Sums the first `wanted` columns of each record, having copied the record.
#[inline(never)]
fn sum_copied(heap: &[i32], columns: usize, wanted: usize, buffer: &mut [i32]) -> i64 {
    let mut sum = 0i64;
    for record in heap.chunks_exact(columns) {
        buffer.copy_from_slice(record);
        let buffer = black_box(&mut *buffer);
        sum += buffer[..wanted].iter().map(|&v| v as i64).sum::<i64>();
    }
    sum
}

#[inline(never)]
fn sum_chunk(values: &[i32]) -> i64 {
    values.iter().map(|&v| v as i64).sum()
}

/// Runs the experiment; the hash of its answers.
pub fn run(args: &ScanCopyArgs) -> Result<u64, Failure> {
    let mut lines = Vec::new();
    let mut hash = Hash::default();
    for &bytes in &args.bytes {
        let columns = (bytes / COLUMN_BYTES).max(1);
        let rows = (args.table_bytes / (columns * COLUMN_BYTES)).max(1) as u64;
        let mut local = Local::open(1)?;
        let names: Vec<String> = (0..columns).map(|c| format!("c{c} INT NOT NULL")).collect();
        local.run(&format!("CREATE TABLE t ({})", names.join(", ")))?;
        fill(&local, "t", rows, |row, column| value(row, column) as i64)?;
        let heap: Vec<i32> = (0..rows).flat_map(|r| (0..columns).map(move |c| value(r, c))).collect();
        let mut buffer = vec![0; columns];
        let t = local.table("t");
        let mut counts = vec![1, 2, 8, columns];
        counts.retain(|&n| n <= columns);
        counts.dedup();
        for wanted in counts {
            let sums: Vec<String> = (0..wanted).map(|c| format!("SUM(c{c})")).collect();
            let text = format!("SELECT {} FROM t", sums.join(", "));
            let (ok, engine) = repeat(args.runs, || local.run(&text));
            ok?;
            let parts = local.answer().rows.into_iter().flatten().flatten();
            let in_engine = parts.map(|s| s.parse::<i64>()).sum::<Result<i64, _>>()?;
            let which: Vec<usize> = (0..wanted).collect();
            let snapshot = local.db().store().txns().snapshot();
            let (in_place, plain) = repeat(args.runs, || {
                let views = (0..t.leaf_count()).filter_map(|n| t.scan_leaf(n, &which, &snapshot));
                let chunk = |values: &Values| match values {
                    Values::I32(v) => sum_chunk(v),
                    other => unreachable!("the bench's columns are not {:?}", other.phys()),
                };
                views.map(|v| v.columns.iter().map(|c| chunk(&c.values)).sum::<i64>()).sum::<i64>()
            });
            let (copied, copy) = repeat(args.runs, || sum_copied(&heap, columns, wanted, &mut buffer));
            if in_engine != copied || in_place != copied {
                return Err(format!("{bytes} bytes, {wanted} columns: {in_engine}, {in_place}, {copied}").into());
            }
            hash.add_u64(copied as u64);
            let (e, p, c) = (engine.best_ns_per(rows), plain.best_ns_per(rows), copy.best_ns_per(rows));
            let numbers =
                [rows.to_string(), format!("{e:.2}"), format!("{p:.2}"), format!("{c:.2}"), format!("{:.2}", c / e)];
            let mut line = vec![(columns * COLUMN_BYTES).to_string(), format!("{wanted} of {columns}")];
            line.extend(numbers);
            lines.push(line);
        }
    }
    let head =
        ["record bytes", "columns", "rows", "engine ns/row", "loop ns/row", "record buffer ns/row", "buffer/engine"];
    print!("{}", table::render(&head, &lines));
    println!("answers: {hash}");
    Ok(hash.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small() {
        let args = ScanCopyArgs { bytes: vec![16, 520], table_bytes: 200 << 10, runs: 1 };
        run(&args).expect("all ways read the same values");
    }
}
