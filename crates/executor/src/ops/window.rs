//! Window functions.
//!
//! ```text
//!   input ─▶ sort by (partition, order) ─▶ one partition at a time, as long columns ─▶ a column a call ─▶ down
//! ```
//! Terms: a row's *peers* are the rows of its partition with equal ORDER BY values (all of them without ORDER BY); its
//! *frame* is the run of rows `start..end` that an aggregate or FIRST_VALUE looks at. Ranking functions, LAG and LEAD
//! look at the whole partition, as MySQL's manual says (Window Function Frame Specification).

use crate::agg::accumulator::{Accumulator, Rows};
use crate::agg::operator::prepare_args;
use crate::columns::{ColumnAppender, NO_ROW, gather32, gather32_or_null, slice};
use crate::eval::{Program, eval_all};
use crate::memory::Reservation;
use crate::ops::sort::{SortSink, SortSource};
use crate::pipeline::{Down, Pull, Source, run_pipeline};
use crate::run::{Run, run_node};
use crate::sort_keys::SortKeyWriter;
use expr::eval::Compiled;
use expr::{AggCall, AggFunc, Expr, ExprKind, FrameBound, FrameUnits, WindowCall, WindowFunc};
use plan::physical::{PlanNode, PlanOp, SortKey};
use std::collections::VecDeque;
use types::{Error, PhysType, Result, SqlType, Value};
use vector::{BATCH_ROWS_MAX, Batch, Chunk, Selection, Values, Vector};

/// One end of a frame, its distance evaluated.
#[derive(Clone, Debug)]
enum Bound {
    UnboundedPreceding,
    Preceding(Distance),
    CurrentRow,
    Following(Distance),
    UnboundedFollowing,
}

#[derive(Clone, Copy, Debug)]
enum Distance {
    Rows(u64),
    Exact(i128),
    Double(f64),
}

struct Call {
    func: WindowFunc,
    ty: SqlType,
    units: FrameUnits,
    start: Bound,
    end: Bound,
    /// Where its arguments are among the evaluated columns.
    args: Vec<usize>,
    /// For aggregates: the call with converted arguments.
    aggregate: Option<AggCall>,
    /// NTILE's, NTH_VALUE's, LAG's and LEAD's number.
    number: Option<i64>,
}

struct Spec<'a> {
    run: Run<'a>,
    partition: Vec<Program>,
    partition_writer: SortKeyWriter,
    order: Vec<Program>,
    order_writer: SortKeyWriter,
    order_types: Vec<(SqlType, bool)>,
    calls: Vec<Call>,
    args: Vec<Program>,
    arg_types: Vec<SqlType>,
    input_types: Vec<SqlType>,
}

pub fn run_window<'a>(run: &Run<'a>, node: &'a PlanNode, down: &Down<'_>) -> Result<()> {
    let PlanOp::Window { input, partition_by, order_by, calls } = &node.op else {
        return Err(Error::internal("not a Window node"));
    };
    let spec = Spec::new(run, input, partition_by, order_by, calls)?;
    let mut keys: Vec<SortKey> = partition_by.iter().map(|e| SortKey { expr: e.clone(), descending: false }).collect();
    keys.extend(order_by.iter().cloned());
    let mut inner = *run;
    if keys.is_empty() {
        // Rows keep the order in which they come.
        inner.dop = 1;
    }
    let sink = SortSink::new(run, spec.input_types.clone(), &keys, None)?;
    run_node(&inner, input, &Down::sink(node.id, &sink))?;
    run.note_spill(node.id, sink.spilled_bytes());
    let source = WindowSource { spec, sorted: sink.into_source(0, None) };
    run_pipeline(run, node.id, &source, down)
}

/// The number in a constant argument or bound.
fn constant(e: &Expr, run: &Run<'_>) -> Result<Value> {
    Compiled::new(e, &run.eval())?.eval_const(&run.eval())
}

fn count_of(v: &Value) -> Result<Option<i64>> {
    Ok(match v {
        Value::Null => None,
        Value::Int(v) => Some(*v),
        Value::UInt(v) => Some(i64::try_from(*v).unwrap_or(i64::MAX)),
        Value::Decimal(d) => Some(d.to_i64_round().0),
        other => return Err(Error::internal(format_args!("{other:?} as a number of rows"))),
    })
}

/// The integer that stands for a value of an exact order key.
fn exact_of(v: &Value, ty: &SqlType) -> Option<i128> {
    match (v, ty) {
        (Value::Int(v), SqlType::Decimal { scale, .. }) => Some(*v as i128 * 10i128.pow(*scale as u32)),
        (Value::UInt(v), SqlType::Decimal { scale, .. }) => Some(*v as i128 * 10i128.pow(*scale as u32)),
        (Value::Decimal(d), SqlType::Decimal { scale, .. }) => d.rescale(*scale)?.to_i128(),
        (Value::Decimal(d), _) if ty.is_integer() => d.rescale(0)?.to_i128(),
        (Value::Int(v), _) => Some(*v as i128),
        (Value::UInt(v), _) => Some(*v as i128),
        _ => None,
    }
}

fn bound(b: &FrameBound, units: FrameUnits, order: &[SortKey], run: &Run<'_>) -> Result<Bound> {
    let distance = |e: &Expr| -> Result<Distance> {
        let v = constant(e, run)?;
        if units == FrameUnits::Rows {
            return Ok(Distance::Rows(count_of(&v)?.unwrap_or(0).max(0) as u64));
        }
        let ty = order.first().map(|k| k.expr.ty).ok_or_else(|| Error::internal("RANGE without an order"))?;
        match (&v, ty) {
            (Value::Double(x), _) => Ok(Distance::Double(*x)),
            (Value::Float(x), _) => Ok(Distance::Double(*x as f64)),
            (Value::Decimal(d), SqlType::Double | SqlType::Float) => Ok(Distance::Double(d.to_f64())),
            (Value::Int(x), SqlType::Double | SqlType::Float) => Ok(Distance::Double(*x as f64)),
            (Value::UInt(x), SqlType::Double | SqlType::Float) => Ok(Distance::Double(*x as f64)),
            _ if ty.is_integer() || matches!(ty, SqlType::Decimal { .. }) => {
                exact_of(&v, &ty).map(Distance::Exact).ok_or_else(|| Error::not_supported("this RANGE distance"))
            }
            _ => Err(Error::not_supported("RANGE with a distance over temporal values")),
        }
    };
    Ok(match b {
        FrameBound::UnboundedPreceding => Bound::UnboundedPreceding,
        FrameBound::UnboundedFollowing => Bound::UnboundedFollowing,
        FrameBound::CurrentRow => Bound::CurrentRow,
        FrameBound::Preceding(e) => Bound::Preceding(distance(e)?),
        FrameBound::Following(e) => Bound::Following(distance(e)?),
    })
}

impl<'a> Spec<'a> {
    fn new(
        run: &Run<'a>,
        input: &PlanNode,
        partition_by: &[Expr],
        order_by: &[SortKey],
        calls: &[WindowCall],
    ) -> Result<Spec<'a>> {
        let ctx = run.eval();
        let (mut args, mut arg_types, mut made) = (Vec::new(), Vec::new(), Vec::new());
        for c in calls {
            let aggregate = match c.func {
                WindowFunc::Agg(func) => Some(prepare_args(&AggCall {
                    func,
                    args: c.args.clone(),
                    distinct: false,
                    order_by: Vec::new(),
                    separator: ",".into(),
                    ty: c.ty,
                    nullable: c.nullable,
                })),
                _ => None,
            };
            let number = match c.func {
                WindowFunc::Ntile => c.args.first().map(|e| constant(e, run)).transpose()?,
                WindowFunc::NthValue | WindowFunc::Lag | WindowFunc::Lead => {
                    c.args.get(1).map(|e| constant(e, run)).transpose()?
                }
                _ => None,
            };
            let number = number.map(|v| count_of(&v)).transpose()?.flatten();
            let columns: Vec<Expr> = match (&aggregate, c.func) {
                (Some(a), _) => a.args.clone(),
                (None, WindowFunc::Lag | WindowFunc::Lead) => {
                    [c.args.first(), c.args.get(2)].into_iter().flatten().map(|e| converted(e, c.ty)).collect()
                }
                (None, WindowFunc::FirstValue | WindowFunc::LastValue | WindowFunc::NthValue) => {
                    c.args.first().into_iter().map(|e| converted(e, c.ty)).collect()
                }
                _ => Vec::new(),
            };
            let mut positions = Vec::new();
            for e in columns {
                positions.push(args.len());
                args.push(Program::new(&e, &ctx)?);
                arg_types.push(e.ty);
            }
            made.push(Call {
                func: c.func,
                ty: c.ty,
                units: c.frame.units,
                start: bound(&c.frame.start, c.frame.units, order_by, run)?,
                end: bound(&c.frame.end, c.frame.units, order_by, run)?,
                args: positions,
                aggregate,
                number,
            });
        }
        Ok(Spec {
            run: *run,
            partition: Program::all(partition_by, &ctx)?,
            partition_writer: SortKeyWriter::new(partition_by.iter().map(|e| (e.ty, false)).collect()),
            order: Program::all(order_by.iter().map(|k| &k.expr), &ctx)?,
            order_writer: SortKeyWriter::new(order_by.iter().map(|k| (k.expr.ty, k.descending)).collect()),
            order_types: order_by.iter().map(|k| (k.expr.ty, k.descending)).collect(),
            calls: made,
            args,
            arg_types,
            input_types: input.output.iter().map(|c| c.ty).collect(),
        })
    }
}

fn converted(e: &Expr, ty: SqlType) -> Expr {
    if e.ty.phys() == ty.phys() {
        return e.clone();
    }
    Expr { kind: ExprKind::Cast { expr: Box::new(e.clone()), explicit: false }, ty, nullable: true }
}

struct WindowSource<'a> {
    spec: Spec<'a>,
    sorted: SortSource<'a>,
}

impl Source for WindowSource<'_> {
    fn local<'b>(&'b self) -> Result<Box<dyn Pull + 'b>> {
        Ok(Box::new(WindowPull {
            spec: &self.spec,
            input: self.sorted.local()?,
            partition: Partition::new(&self.spec),
            ready: VecDeque::new(),
            at_end: false,
            memory: Reservation::new(&self.spec.run.ctx.memory),
        }))
    }

    fn workers_max(&self) -> usize {
        1
    }
}

/// The partition being gathered.
struct Partition {
    key: Vec<u8>,
    last_order_key: Vec<u8>,
    columns: Vec<ColumnAppender>,
    args: Vec<ColumnAppender>,
    /// The first ORDER BY expression's values, for RANGE distances.
    order: ColumnAppender,
    /// Rows that begin a run of peers.
    peer_starts: Vec<u32>,
    rows: usize,
}

impl Partition {
    fn new(spec: &Spec<'_>) -> Partition {
        Partition {
            key: Vec::new(),
            last_order_key: Vec::new(),
            columns: spec.input_types.iter().map(|_| ColumnAppender::default()).collect(),
            args: spec.args.iter().map(|_| ColumnAppender::default()).collect(),
            order: ColumnAppender::default(),
            peer_starts: Vec::new(),
            rows: 0,
        }
    }

    fn bytes(&self) -> usize {
        self.columns.iter().chain(&self.args).map(ColumnAppender::bytes).sum::<usize>()
            + self.order.bytes()
            + self.rows * 16
    }
}

struct WindowPull<'a> {
    spec: &'a Spec<'a>,
    input: Box<dyn Pull + 'a>,
    partition: Partition,
    ready: VecDeque<Batch>,
    at_end: bool,
    memory: Reservation,
}

impl WindowPull<'_> {
    fn take(&mut self, batch: &Batch) -> Result<()> {
        let spec = self.spec;
        let ctx = spec.run.eval();
        let partition = eval_all(&spec.partition, batch, &ctx)?;
        let order = eval_all(&spec.order, batch, &ctx)?;
        let args = eval_all(&spec.args, batch, &ctx)?;
        let (mut key, mut order_key) = (Vec::new(), Vec::new());
        let mut segment: Vec<u16> = Vec::new();
        for i in batch.selection.to_positions(batch.rows) {
            key.clear();
            order_key.clear();
            spec.partition_writer.write(&partition, i as usize, &mut key);
            spec.order_writer.write(&order, i as usize, &mut order_key);
            if self.partition.rows > 0 && key != self.partition.key {
                self.append(batch, &args, &order, &mut segment);
                self.close()?;
            }
            let p = &mut self.partition;
            if p.rows == 0 || order_key != p.last_order_key {
                p.peer_starts.push(p.rows as u32);
                std::mem::swap(&mut p.last_order_key, &mut order_key);
            }
            if p.rows == 0 {
                p.key.clone_from(&key);
            }
            p.rows += 1;
            segment.push(i);
        }
        self.append(batch, &args, &order, &mut segment);
        self.memory.force(self.partition.bytes());
        Ok(())
    }

    fn append(&mut self, batch: &Batch, args: &[Vector], order: &[Vector], segment: &mut Vec<u16>) {
        let selection = Selection::Some(std::mem::take(segment));
        let p = &mut self.partition;
        for (a, v) in p.columns.iter_mut().zip(&batch.columns).chain(p.args.iter_mut().zip(args)) {
            a.append(v, &selection, batch.rows);
        }
        if let Some(v) = order.first() {
            p.order.append(v, &selection, batch.rows);
        }
    }

    /// Computes the partition's calls and readies its rows.
    fn close(&mut self) -> Result<()> {
        let spec = self.spec;
        let p = std::mem::replace(&mut self.partition, Partition::new(spec));
        if p.rows == 0 {
            return Ok(());
        }
        let n = p.rows;
        let columns: Vec<Chunk> = p.columns.into_iter().zip(&spec.input_types).map(|(a, t)| a.finish(t)).collect();
        let args: Vec<Chunk> = p.args.into_iter().zip(&spec.arg_types).map(|(a, t)| a.finish(t)).collect();
        let order = spec.order_types.first().map(|(ty, descending)| (p.order.finish(ty), *ty, *descending));
        let part = Rowset { n, peers: Peers::new(&p.peer_starts, n), order, args };
        let mut results = Vec::new();
        for c in &spec.calls {
            spec.run.ctx.check_killed()?;
            results.push(compute(c, &part, &spec.run)?);
        }
        for from in (0..n).step_by(BATCH_ROWS_MAX) {
            let to = (from + BATCH_ROWS_MAX).min(n);
            let out = columns.iter().chain(&results).map(|c| Vector::flat(slice(c, from, to))).collect();
            self.ready.push_back(Batch::new(to - from, out));
        }
        Ok(())
    }
}

impl Pull for WindowPull<'_> {
    fn next(&mut self) -> Result<Option<Batch>> {
        loop {
            if let Some(b) = self.ready.pop_front() {
                return Ok(Some(b));
            }
            if self.at_end {
                return Ok(None);
            }
            self.spec.run.ctx.check_killed()?;
            match self.input.next()? {
                Some(b) => self.take(&b)?,
                None => {
                    self.at_end = true;
                    self.close()?;
                }
            }
        }
    }
}

/// For each row, its run of peers.
struct Peers {
    start: Vec<u32>,
    end: Vec<u32>,
    /// Number of the run, from 0.
    number: Vec<u32>,
}

impl Peers {
    fn new(starts: &[u32], n: usize) -> Peers {
        let (mut start, mut end, mut number) = (vec![0; n], vec![0; n], vec![0; n]);
        for (k, &s) in starts.iter().enumerate() {
            let e = starts.get(k + 1).copied().unwrap_or(n as u32);
            for i in s as usize..e as usize {
                (start[i], end[i], number[i]) = (s, e, k as u32);
            }
        }
        Peers { start, end, number }
    }
}

/// A partition ready for its calls.
struct Rowset {
    n: usize,
    peers: Peers,
    order: Option<(Chunk, SqlType, bool)>,
    args: Vec<Chunk>,
}

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

fn compute(c: &Call, part: &Rowset, run: &Run<'_>) -> Result<Chunk> {
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

/// The rows `start..end` of row `i`'s frame (empty if `start >= end`).
fn frame(c: &Call, part: &Rowset, i: usize) -> (usize, usize) {
    let n = part.n;
    let p = &part.peers;
    let rows = c.units == FrameUnits::Rows;
    let start = match &c.start {
        Bound::UnboundedPreceding => 0,
        Bound::UnboundedFollowing => n,
        Bound::CurrentRow => {
            if rows {
                i
            } else {
                p.start[i] as usize
            }
        }
        Bound::Preceding(Distance::Rows(d)) => i.saturating_sub(*d as usize),
        Bound::Following(Distance::Rows(d)) => i.saturating_add(*d as usize).min(n),
        Bound::Preceding(d) => range_edge(part, i, *d, -1, true),
        Bound::Following(d) => range_edge(part, i, *d, 1, true),
    };
    let end = match &c.end {
        Bound::UnboundedPreceding => 0,
        Bound::UnboundedFollowing => n,
        Bound::CurrentRow => {
            if rows {
                i + 1
            } else {
                p.end[i] as usize
            }
        }
        Bound::Preceding(Distance::Rows(d)) => (i + 1).saturating_sub(*d as usize),
        Bound::Following(Distance::Rows(d)) => i.saturating_add(*d as usize).saturating_add(1).min(n),
        Bound::Preceding(d) => range_edge(part, i, *d, -1, false),
        Bound::Following(d) => range_edge(part, i, *d, 1, false),
    };
    (start, end)
}

/// Where the rows within a RANGE distance begin (`start`) or end. Rows whose order value is NULL are each other's only
/// neighbours.
fn range_edge(part: &Rowset, i: usize, d: Distance, sign: i32, start: bool) -> usize {
    let Some((chunk, _, descending)) = &part.order else { return if start { 0 } else { part.n } };
    if !chunk.is_valid(i) {
        return if start { part.peers.start[i] as usize } else { part.peers.end[i] as usize };
    }
    // NULLs lie at one end.
    let first = (0..part.n).find(|&j| chunk.is_valid(j)).unwrap_or(0);
    let nulls_last = chunk.validity.is_some() && !chunk.is_valid(part.n - 1);
    let last = if nulls_last { (0..part.n).rev().find(|&j| chunk.is_valid(j)).map_or(0, |j| j + 1) } else { part.n };
    let turn = if *descending { -1.0 } else { 1.0 };
    let (mut lo, mut hi) = (first, last);
    let before = |j: usize| match d {
        Distance::Double(d) => {
            let target = turn * double_at(chunk, i) + sign as f64 * d;
            let v = turn * double_at(chunk, j);
            if start { v < target } else { v <= target }
        }
        Distance::Exact(d) => {
            let turn = turn as i128;
            let target = turn * exact_at(chunk, i) + sign as i128 * d;
            let v = turn * exact_at(chunk, j);
            if start { v < target } else { v <= target }
        }
        Distance::Rows(_) => false,
    };
    while lo < hi {
        let mid = (lo + hi) / 2;
        if before(mid) { lo = mid + 1 } else { hi = mid }
    }
    lo
}

fn exact_at(chunk: &Chunk, i: usize) -> i128 {
    match &chunk.values {
        Values::I8(v) => v[i] as i128,
        Values::U8(v) => v[i] as i128,
        Values::I16(v) => v[i] as i128,
        Values::U16(v) => v[i] as i128,
        Values::I32(v) => v[i] as i128,
        Values::U32(v) => v[i] as i128,
        Values::I64(v) => v[i] as i128,
        Values::U64(v) => v[i] as i128,
        Values::I128(v) => v[i],
        Values::I256(v) => v[i].to_i128().unwrap_or(i128::MAX),
        _ => 0,
    }
}

fn double_at(chunk: &Chunk, i: usize) -> f64 {
    match &chunk.values {
        Values::F32(v) => v[i] as f64,
        Values::F64(v) => v[i],
        _ => exact_at(chunk, i) as f64,
    }
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
