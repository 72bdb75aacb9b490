//! The calls over one partition, each a column of results.

use super::Call;
use super::frame::{Rowset, frame};
use crate::agg::accumulator::{Accumulator, Rows};
use crate::columns::{ColumnAppender, NO_ROW, gather32, gather32_or_null, slice};
use crate::run::Run;
use expr::{AggFunc, WindowFunc};
use types::{Error, PhysType, Result, SqlType};
use vector::{BATCH_ROWS_MAX, Chunk, Selection, Values, Vector};

/// Whole numbers in the call's type.
fn numbers(ty: &SqlType, v: impl Iterator<Item = u64>) -> Chunk {
    let values = match ty.phys() {
        PhysType::U64 => Values::U64(v.collect()),
        PhysType::F64 => Values::F64(v.map(|x| x as f64).collect()),
        PhysType::I128 => Values::I128(v.map(|x| x as i128).collect()),
        _ => Values::I64(v.map(|x| x as i64).collect()),
    };
    Chunk::new(values, None)
}

pub fn compute(c: &Call, part: &Rowset, run: &Run<'_>) -> Result<Chunk> {
    let n = part.n;
    let rows = 0..n;
    Ok(match c.func {
        WindowFunc::RowNumber => numbers(&c.ty, rows.map(|i| i as u64 + 1)),
        WindowFunc::Rank => numbers(&c.ty, rows.map(|i| part.peers.start[i] as u64 + 1)),
        WindowFunc::DenseRank => numbers(&c.ty, rows.map(|i| part.peers.number[i] as u64 + 1)),
        WindowFunc::PercentRank => {
            let of = |i: usize| if n > 1 { part.peers.start[i] as f64 / (n - 1) as f64 } else { 0.0 };
            Chunk::new(Values::F64(rows.map(of).collect()), None)
        }
        WindowFunc::CumeDist => {
            Chunk::new(Values::F64(rows.map(|i| part.peers.end[i] as f64 / n as f64).collect()), None)
        }
        WindowFunc::Ntile => match c.number {
            None => crate::columns::null_chunk(&c.ty, n),
            Some(buckets) => {
                if buckets <= 0 {
                    return Err(Error::new(types::ErrorCode(1210), "Incorrect arguments to ntile"));
                }
                let buckets = buckets as u64;
                let (size, larger) = (n as u64 / buckets, n as u64 % buckets);
                numbers(
                    &c.ty,
                    rows.map(|i| {
                        let i = i as u64;
                        let in_larger = larger * (size + 1);
                        if i < in_larger { i / (size + 1) + 1 } else { larger + (i - in_larger) / size.max(1) + 1 }
                    }),
                )
            }
        },
        WindowFunc::Lag | WindowFunc::Lead => {
            // The argument's rows, then the default's.
            let mut both = ColumnAppender::default();
            both.append_chunk(&part.args[c.args[0]], None);
            if let Some(&d) = c.args.get(1) {
                both.append_chunk(&part.args[d], None);
            }
            let has_default = c.args.len() > 1;
            let distance = c.number.unwrap_or(1);
            let at: Vec<u32> = rows
                .map(|i| {
                    let to = if c.func == WindowFunc::Lag { i as i64 - distance } else { i as i64 + distance };
                    if to >= 0 && to < n as i64 {
                        to as u32
                    } else if has_default {
                        (n + i) as u32
                    } else {
                        NO_ROW
                    }
                })
                .collect();
            gather32_or_null(&both.finish(&c.ty), &at)
        }
        WindowFunc::FirstValue | WindowFunc::LastValue | WindowFunc::NthValue => {
            let nth = c.number.unwrap_or(1) as u64;
            let at: Vec<u32> = rows
                .map(|i| {
                    let (s, e) = frame(c, part, i);
                    match c.func {
                        _ if s >= e => NO_ROW,
                        WindowFunc::FirstValue => s as u32,
                        WindowFunc::LastValue => e as u32 - 1,
                        _ if nth >= 1 && (s as u64) + nth - 1 < e as u64 => (s as u64 + nth - 1) as u32,
                        _ => NO_ROW,
                    }
                })
                .collect();
            gather32_or_null(&part.args[c.args[0]], &at)
        }
        WindowFunc::Agg(_) => aggregate(c, part, run)?,
    })
}

/// An aggregate over each row's frame. While frames only grow at their end the state is carried on; otherwise it is made
/// anew.
fn aggregate(c: &Call, part: &Rowset, run: &Run<'_>) -> Result<Chunk> {
    let call = c.aggregate.as_ref().ok_or_else(|| Error::internal("an aggregate without its call"))?;
    if call.func == AggFunc::Grouping {
        return Err(Error::internal("GROUPING() over a window"));
    }
    let ctx = run.eval();
    let fresh = || -> Result<Accumulator> {
        let mut a = Accumulator::new(call, &ctx)?;
        a.resize(1);
        Ok(a)
    };
    let args: Vec<&Chunk> = c.args.iter().map(|&a| &part.args[a]).collect();
    let mut acc = fresh()?;
    let (mut from, mut to) = (0usize, 0usize);
    let mut results = ColumnAppender::default();
    // For each row, the number of its result.
    let mut at: Vec<u32> = Vec::with_capacity(part.n);
    for i in 0..part.n {
        let (s, e) = frame(c, part, i);
        let e = e.max(s);
        if i > 0 && (s, e) == (from, to) {
            at.push(results.len() as u32 - 1);
            continue;
        }
        if i % 256 == 0 {
            run.ctx.check_killed()?;
        }
        if i == 0 || s != from || e < to {
            acc = fresh()?;
            to = s;
        }
        let mut next = to;
        while next < e {
            let end = (next + BATCH_ROWS_MAX).min(e);
            let vectors: Vec<Vector> = args.iter().map(|a| Vector::flat(slice(a, next, end))).collect();
            let groups = vec![0; end - next];
            let rows = Rows { groups: &groups, selection: &Selection::All, rows: end - next, group_count: 1 };
            acc.update(rows, &vectors, &ctx)?;
            next = end;
        }
        (from, to) = (s, e);
        results.append_chunk(&acc.finish(0, 1, &ctx)?, None);
        at.push(results.len() as u32 - 1);
    }
    Ok(gather32(&results.finish(&c.ty), &at))
}
