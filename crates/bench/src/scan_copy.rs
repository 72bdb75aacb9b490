//! `bench scan-copy`: reading rows where they lie, against copying each into a record buffer first.
//!
//! A table has rows of so many bytes, in up to eight 4-byte columns and then 8-byte ones (the widest rows would have
//! more columns than a table may have otherwise); a query sums one, a few or all of them. In place, the engine's scan
//! touches the columns that the query names and nothing else. Through a record buffer, as storage engines with a row
//! interface do it, every row is first gathered from its leaf into a buffer, whole, and summed from there. Both are one
//! thread. The third figure is a plain loop over the leaves' chunks: what reading in place can cost at least.
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

/// A row has at most so many 4-byte columns; they come first.
const INTS_MAX: usize = 8;

/// How many 4-byte and 8-byte columns make a record of about `bytes`.
fn shape(bytes: usize) -> (usize, usize) {
    let ints = (bytes / 4).clamp(1, INTS_MAX);
    (ints, bytes.saturating_sub(ints * 4) / 8)
}

fn value(row: u64, column: usize) -> i64 {
    (scatter(row * 1031 + column as u64) & 0xffff) as i64
}

/// The record as a row engine keeps it, in 4-byte words.
fn record(row: u64, ints: usize, longs: usize) -> impl Iterator<Item = u32> {
    let long = move |c| [value(row, c) as u32, (value(row, c) >> 32) as u32];
    (0..ints).map(move |c| value(row, c) as u32).chain((ints..ints + longs).flat_map(long))
}

/// Sums the first `wanted` columns of each record, having copied the record.
#[inline(never)]
fn sum_copied(heap: &[u32], ints: usize, wanted: usize, buffer: &mut [u32]) -> i64 {
    let mut sum = 0i64;
    let (wanted_ints, wanted_longs) = (wanted.min(ints), wanted.saturating_sub(ints));
    for record in heap.chunks_exact(buffer.len()) {
        buffer.copy_from_slice(record);
        let buffer = black_box(&mut *buffer);
        sum += buffer[..wanted_ints].iter().map(|&v| v as i32 as i64).sum::<i64>();
        let longs = buffer[ints..ints + 2 * wanted_longs].chunks_exact(2);
        sum += longs.map(|w| w[0] as i64 | (w[1] as i64) << 32).sum::<i64>();
    }
    sum
}

#[inline(never)]
fn sum_ints(values: &[i32]) -> i64 {
    values.iter().map(|&v| v as i64).sum()
}

#[inline(never)]
fn sum_longs(values: &[i64]) -> i64 {
    values.iter().sum()
}

/// Runs the experiment; the hash of its answers.
pub fn run(args: &ScanCopyArgs) -> Result<u64, Failure> {
    let mut lines = Vec::new();
    let mut hash = Hash::default();
    for &bytes in &args.bytes {
        let (ints, longs) = shape(bytes);
        let (columns, words) = (ints + longs, ints + 2 * longs);
        let rows = (args.table_bytes / (words * 4)).max(1) as u64;
        let mut local = Local::open(1)?;
        let names: Vec<String> =
            (0..columns).map(|c| format!("c{c} {} NOT NULL", if c < ints { "INT" } else { "BIGINT" })).collect();
        local.run(&format!("CREATE TABLE t ({})", names.join(", ")))?;
        fill(&local, "t", rows, value)?;
        let heap: Vec<u32> = (0..rows).flat_map(|r| record(r, ints, longs)).collect();
        let mut buffer = vec![0; words];
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
                    Values::I32(v) => sum_ints(v),
                    Values::I64(v) => sum_longs(v),
                    Values::I16(v) => v.iter().map(|&x| i64::from(x)).sum(),
                    Values::I8(v) => v.iter().map(|&x| i64::from(x)).sum(),
                    other => unreachable!("the bench's columns are not {:?}", other.phys()),
                };
                views.map(|v| v.columns.iter().map(|c| chunk(&c.values)).sum::<i64>()).sum::<i64>()
            });
            let (copied, copy) = repeat(args.runs, || sum_copied(&heap, ints, wanted, &mut buffer));
            if in_engine != copied || in_place != copied {
                return Err(format!("{bytes} bytes, {wanted} columns: {in_engine}, {in_place}, {copied}").into());
            }
            hash.add_u64(copied as u64);
            let (e, p, c) = (engine.best_ns_per(rows), plain.best_ns_per(rows), copy.best_ns_per(rows));
            let numbers =
                [rows.to_string(), format!("{e:.2}"), format!("{p:.2}"), format!("{c:.2}"), format!("{:.2}", c / e)];
            let mut line = vec![(words * 4).to_string(), format!("{wanted} of {columns}")];
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
