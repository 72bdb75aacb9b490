//! The calls over one partition, each a column of results.

use super::Call;
use super::frame::{Rowset, frame};
use crate::agg::accumulator::{Accumulator, Rows};
use crate::columns::{ColumnAppender, NO_ROW, gather32, gather32_or_null, slice};
use crate::memory::Reservation;
use crate::run::Run;
use expr::{AggCall, AggFunc, WindowFunc};
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

/// `memory`: what the results are charged to while they are made.
pub fn compute(c: &Call, part: &Rowset, run: &Run<'_>, memory: &mut Reservation) -> Result<Chunk> {
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
            let at = rows.map(|i| {
                if i % BATCH_ROWS_MAX == 0 {
                    run.ctx.check_killed()?;
                }
                let (s, e) = frame(c, part, i);
                Ok(match c.func {
                    _ if s >= e => NO_ROW,
                    WindowFunc::FirstValue => s as u32,
                    WindowFunc::LastValue => e as u32 - 1,
                    _ if nth >= 1 && (s as u64) + nth - 1 < e as u64 => (s as u64 + nth - 1) as u32,
                    _ => NO_ROW,
                })
            });
            let at: Vec<u32> = at.collect::<Result<_>>()?;
            gather32_or_null(&part.args[c.args[0]], &at)
        }
        WindowFunc::Agg(_) => aggregate(c, part, run, memory)?,
    })
}

/// Rows whose states are added up beforehand, where frames are long.
const BLOCK_ROWS: usize = 256;

/// Frames of fewer blocks are gone through row by row.
const LONG_BLOCKS: usize = 4;

/// One call's states over runs of a partition's rows.
struct Summing<'a> {
    call: &'a AggCall,
    args: Vec<&'a Chunk>,
    run: &'a Run<'a>,
    n: usize,
    /// A state for each block of rows, made when a long frame first asks for them.
    blocks: Option<Accumulator>,
}

impl Summing<'_> {
    fn fresh(&self, states: usize) -> Result<Accumulator> {
        let mut a = Accumulator::new(self.call, &self.run.eval())?;
        a.resize(states);
        Ok(a)
    }

    /// Takes the rows `from..to` into the state of the block that `of` names, of `states`.
    fn add(
        &self,
        acc: &mut Accumulator,
        (from, to): (usize, usize),
        of: impl Fn(usize) -> u32,
        states: usize,
    ) -> Result<()> {
        let mut next = from;
        while next < to {
            self.run.ctx.check_killed()?;
            let end = (next + BATCH_ROWS_MAX).min(to);
            let vectors: Vec<Vector> = self.args.iter().map(|a| Vector::flat(slice(a, next, end))).collect();
            let groups: Vec<u32> = (next..end).map(&of).collect();
            let rows = Rows { groups: &groups, selection: &Selection::All, rows: end - next, group_count: states };
            acc.update(rows, &vectors, &self.run.eval())?;
            next = end;
        }
        Ok(())
    }

    /// A state that has the rows from `from` up to the row in the answer, which is at most `to`: whole blocks are not
    /// gone through again.
    fn begun(&mut self, from: usize, to: usize) -> Result<(Accumulator, usize)> {
        let mut acc = self.fresh(1)?;
        let (first, last) = (from.div_ceil(BLOCK_ROWS), to / BLOCK_ROWS);
        if !acc.merges_exactly() || last < first + LONG_BLOCKS {
            return Ok((acc, from));
        }
        if self.blocks.is_none() {
            let count = self.n.div_ceil(BLOCK_ROWS);
            let mut blocks = self.fresh(count)?;
            self.add(&mut blocks, (0, self.n), |i| (i / BLOCK_ROWS) as u32, count)?;
            self.blocks = Some(blocks);
        }
        self.add(&mut acc, (from, first * BLOCK_ROWS), |_| 0, 1)?;
        let blocks = self.blocks.as_ref().expect("just made");
        let within: Vec<u32> = (first as u32..last as u32).collect();
        acc.merge(blocks, &within, &vec![0; within.len()])?;
        Ok((acc, last * BLOCK_ROWS))
    }
}

/// An aggregate over each row's frame. While frames only grow at their end the state is carried on; otherwise it is
/// made anew, where frames are long of the states of whole blocks.
fn aggregate(c: &Call, part: &Rowset, run: &Run<'_>, memory: &mut Reservation) -> Result<Chunk> {
    let call = c.aggregate.as_ref().ok_or_else(|| Error::internal("an aggregate without its call"))?;
    if call.func == AggFunc::Grouping {
        return Err(Error::internal("GROUPING() over a window"));
    }
    let ctx = run.eval();
    let args: Vec<&Chunk> = c.args.iter().map(|&a| &part.args[a]).collect();
    let mut summing = Summing { call, args, run, n: part.n, blocks: None };
    let mut acc = summing.fresh(1)?;
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
        run.ctx.check_killed()?;
        if i == 0 || s != from || e < to {
            (acc, to) = summing.begun(s, e)?;
        }
        summing.add(&mut acc, (to, e), |_| 0, 1)?;
        (from, to) = (s, e);
        results.append_chunk(&acc.finish(0, 1, &ctx)?, None);
        if acc.holds_strings() {
            memory.hold_long(results.bytes(), "The results of a window partition")?;
        }
        at.push(results.len() as u32 - 1);
    }
    Ok(gather32(&results.finish(&c.ty), &at))
}
