//! The loops of updates: values at the selected rows into the arrays of their groups.
//!
//! `few`: so few groups that sums are kept in registers by the loops of [`fast`](super::super::fast) where there are
//! some.

use super::{Extremes, Rows};
use crate::agg::fast;
use types::I256;
use vector::{Chunk, Values, Vector};

pub(super) fn count_rows(n: &mut [i64], rows: Rows<'_>, args: &[Vector], few: bool) {
    let nullable: Vec<&Vector> = args.iter().filter(|a| a.chunk().0.has_nulls()).collect();
    match nullable[..] {
        [] if rows.group_count == 1 => n[0] += rows.groups.len() as i64,
        [] if few => fast::count_few(rows.groups, n),
        [] => rows.groups.iter().for_each(|&g| n[g as usize] += 1),
        [one] => {
            let (chunk, constant) = one.chunk();
            rows.for_valid(chunk, constant, |g, _| n[g] += 1);
        }
        _ => {
            let mut j = 0;
            rows.selection.for_each(rows.rows, |i| {
                n[rows.groups[j] as usize] += nullable.iter().all(|a| a.is_valid(i)) as i64;
                j += 1;
            });
        }
    }
}

pub(super) fn sum_rows(sum: &mut [i128], rows: Rows<'_>, arg: &Vector, few: bool) {
    let (chunk, constant) = arg.chunk();
    macro_rules! sum {
        ($v:expr, $small:expr) => {{
            let v = $v;
            if !constant && chunk.validity.is_none() && rows.group_count == 1 {
                if $small {
                    sum[0] += fast::sum_one(v, rows.selection) as i128;
                } else {
                    sum[0] += fast::sum_one_wide(v, rows.selection);
                }
            } else if !constant && chunk.validity.is_none() && few && $small {
                fast::sum_few(v, rows.selection, rows.groups, sum);
            } else {
                rows.for_valid(chunk, constant, |g, i| sum[g] += v[i] as i128);
            }
        }};
    }
    match &chunk.values {
        Values::I8(v) => sum!(v, true),
        Values::U8(v) => sum!(v, true),
        Values::I16(v) => sum!(v, true),
        Values::U16(v) => sum!(v, true),
        Values::I32(v) => sum!(v, true),
        Values::U32(v) => sum!(v, true),
        Values::I64(v) => sum!(v, fast::fits_i64(chunk.bounds)),
        Values::U64(v) => rows.for_valid(chunk, constant, |g, i| sum[g] += v[i] as i128),
        Values::I128(v) => rows.for_valid(chunk, constant, |g, i| sum[g] += v[i]),
        other => panic!("SUM over {:?}", other.phys()),
    }
}

/// The values as DOUBLEs, DECIMALs scaled.
pub(super) fn doubles(rows: Rows<'_>, arg: &Vector, mut f: impl FnMut(usize, f64)) {
    let (chunk, constant) = arg.chunk();
    macro_rules! go {
        ($v:expr) => {
            rows.for_valid(chunk, constant, |g, i| f(g, $v[i] as f64))
        };
    }
    match &chunk.values {
        Values::I8(v) => go!(v),
        Values::U8(v) => go!(v),
        Values::I16(v) => go!(v),
        Values::U16(v) => go!(v),
        Values::I32(v) => go!(v),
        Values::U32(v) => go!(v),
        Values::I64(v) => go!(v),
        Values::U64(v) => go!(v),
        Values::F32(v) => go!(v),
        Values::F64(v) => go!(v),
        other => panic!("a DOUBLE aggregate over {:?}", other.phys()),
    }
}

pub(super) fn words(rows: Rows<'_>, chunk: &Chunk, constant: bool, mut f: impl FnMut(usize, u64)) {
    macro_rules! go {
        ($v:expr) => {
            rows.for_valid(chunk, constant, |g, i| f(g, $v[i] as i64 as u64))
        };
    }
    match &chunk.values {
        Values::I8(v) => go!(v),
        Values::U8(v) => go!(v),
        Values::I16(v) => go!(v),
        Values::U16(v) => go!(v),
        Values::I32(v) => go!(v),
        Values::U32(v) => go!(v),
        Values::I64(v) => go!(v),
        Values::U64(v) => rows.for_valid(chunk, constant, |g, i| f(g, v[i])),
        other => panic!("a bit aggregate over {:?}", other.phys()),
    }
}

pub(super) fn extreme_rows(max: bool, best: &mut Extremes, seen: &mut [bool], rows: Rows<'_>, arg: &Vector) {
    let (chunk, constant) = arg.chunk();
    macro_rules! go {
        ($best:expr, $v:expr, $t:ty) => {
            if max {
                rows.for_valid(chunk, constant, |g, i| {
                    let x = $v[i] as $t;
                    if !seen[g] || x > $best[g] {
                        seen[g] = true;
                        $best[g] = x;
                    }
                })
            } else {
                rows.for_valid(chunk, constant, |g, i| {
                    let x = $v[i] as $t;
                    if !seen[g] || x < $best[g] {
                        seen[g] = true;
                        $best[g] = x;
                    }
                })
            }
        };
    }
    match (best, &chunk.values) {
        (Extremes::I64(b), Values::I8(v)) => go!(b, v, i64),
        (Extremes::I64(b), Values::I16(v)) => go!(b, v, i64),
        (Extremes::I64(b), Values::I32(v)) => go!(b, v, i64),
        (Extremes::I64(b), Values::I64(v)) => go!(b, v, i64),
        (Extremes::U64(b), Values::U8(v)) => go!(b, v, u64),
        (Extremes::U64(b), Values::U16(v)) => go!(b, v, u64),
        (Extremes::U64(b), Values::U32(v)) => go!(b, v, u64),
        (Extremes::U64(b), Values::U64(v)) => go!(b, v, u64),
        (Extremes::I128(b), Values::I64(v)) => go!(b, v, i128),
        (Extremes::I128(b), Values::I128(v)) => go!(b, v, i128),
        (Extremes::F64(b), Values::F32(v)) => go!(b, v, f64),
        (Extremes::F64(b), Values::F64(v)) => go!(b, v, f64),
        (Extremes::I256(b), values) => rows.for_valid(chunk, constant, |g, i| {
            let x = match values {
                Values::I256(v) => v[i],
                Values::I128(v) => I256::from(v[i]),
                Values::I64(v) => I256::from(v[i]),
                other => panic!("MIN/MAX over {:?}", other.phys()),
            };
            if !seen[g] || if max { x > b[g] } else { x < b[g] } {
                seen[g] = true;
                b[g] = x;
            }
        }),
        (Extremes::Str(b), _) => rows.for_valid(chunk, constant, |g, i| b.offer(max, g, &mut seen[g], arg.bytes(i))),
        (_, other) => panic!("MIN/MAX over {:?}", other.phys()),
    }
}
