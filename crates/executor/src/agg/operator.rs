//! Aggregate: groups and their aggregates.
//!
//! ```text
//!   input ──▶ per thread: [group table | group columns | accumulators] ──finish──▶ shared list
//!                 │ memory refused: the table is frozen; rows of other groups go
//!                 ▼
//!             spill partitions by hash (rows, not states)
//!   output: partition p = merge of every thread's groups of p, plus p's spilled rows aggregated the same way,
//!           one level of partitions deeper if they do not fit either
//! ```
//! Rows are spilled rather than states, so every aggregate function spills alike. A first group lookup goes through a
//! *front*: where the key columns of a batch are dictionary codes or integers of small range, the combined code indexes
//! an array of group numbers, and no key is built or hashed at all.
//!
//! WITH ROLLUP aggregates each row once a prefix of the groups, with the level as a hidden last key column.

use super::accumulator::{Accumulator, Rows};
use crate::columns::{ColumnAppender, null_vector};
use crate::eval::{Program, eval_all};
use crate::group_table::{GroupList, GroupTable};
use crate::keys::{KeyEncoder, KeyLayout, Keys};
use crate::memory::Reservation;
use crate::ops::sort::SortSink;
use crate::pipeline::{Down, Flow, INTERNAL, Pull, Push, Sink, Source, Stage, run_pipeline};
use crate::run::{Run, run_node};
use crate::spill::{LazyFile, SpillRun, SpillWriter};
use expr::{AggCall, AggFunc, CmpOp, EvalContext, Expr, ExprKind};
use plan::physical::{PlanNode, SortKey};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use types::{Collation, Result, SqlType, Value};
use vector::{BATCH_ROWS_MAX, Batch, Chunk, DictValues, Selection, StringDict, Values, Vector};

/// Spilled rows are split this many ways a level.
const PARTITION_BITS: u32 = 4;
const PARTITIONS: usize = 1 << PARTITION_BITS;
/// Past this depth a partition is kept in memory whatever it takes.
const DEPTH_MAX: u32 = 12;
/// Fewer groups than this are merged by one thread.
const PARALLEL_MERGE_GROUPS_MIN: usize = 8192;

/// What is computed, with the arguments' expressions evaluated once each.
pub struct Spec {
    groups: Vec<Expr>,
    rollup: bool,
    calls: Vec<AggCall>,
    /// For each call, its arguments (and ORDER BY values) in `arg_programs`.
    call_args: Vec<Vec<usize>>,
    layout: KeyLayout,
    /// Types of a spilled row: keys ++ args.
    row_types: Vec<SqlType>,
    group_programs: Vec<Program>,
    /// Distinct argument expressions, converted to what the accumulators take.
    arg_programs: Vec<Program>,
}

fn cast(e: Expr, ty: SqlType) -> Expr {
    let nullable = true;
    Expr { kind: ExprKind::Cast { expr: Box::new(e), explicit: false }, ty, nullable }
}

/// Converts a call's arguments to what its accumulator takes.
pub fn prepare_args(call: &AggCall) -> AggCall {
    let mut call = call.clone();
    let result = call.ty;
    for a in &mut call.args {
        let is_float = matches!(a.ty, SqlType::Float | SqlType::Double);
        let is_exact = a.ty.is_integer() || matches!(a.ty, SqlType::Decimal { .. });
        let to = match call.func {
            AggFunc::Sum | AggFunc::Avg if matches!(result, SqlType::Double | SqlType::Float) => {
                if is_float {
                    None
                } else {
                    Some(SqlType::Double)
                }
            }
            AggFunc::Sum | AggFunc::Avg => {
                if is_exact {
                    None
                } else {
                    Some(result)
                }
            }
            AggFunc::StdPop | AggFunc::StdSamp | AggFunc::VarPop | AggFunc::VarSamp => {
                if is_float {
                    None
                } else {
                    Some(SqlType::Double)
                }
            }
            AggFunc::BitAnd | AggFunc::BitOr | AggFunc::BitXor => {
                if a.ty.is_integer() {
                    None
                } else {
                    Some(SqlType::BIGINT_UNSIGNED)
                }
            }
            AggFunc::GroupConcat => {
                if a.ty.is_string() {
                    None
                } else {
                    Some(SqlType::varchar(128, result.collation().unwrap_or(Collation::Utf8mb4_0900AiCi)))
                }
            }
            _ => None,
        };
        if let Some(ty) = to {
            *a = cast(std::mem::replace(a, Expr::constant(Value::Null, SqlType::Null)), ty);
        }
    }
    call
}

/// Expressions that give another value each time they are evaluated must not be shared.
fn is_volatile(e: &Expr) -> bool {
    let mut found = false;
    e.walk(&mut |x| {
        found |= match &x.kind {
            ExprKind::SetUserVar { .. } => true,
            ExprKind::Call { function, .. } => function.is_volatile(),
            _ => false,
        }
    });
    found
}

impl Spec {
    pub fn new(groups: &[Expr], calls: &[AggCall], rollup: bool, ctx: &EvalContext<'_>) -> Result<Spec> {
        let mut args: Vec<Expr> = Vec::new();
        let mut call_args = Vec::new();
        let calls: Vec<AggCall> = calls.iter().map(prepare_args).collect();
        for c in &calls {
            let mut positions = Vec::new();
            if c.func != AggFunc::Grouping {
                for e in c.args.iter().chain(c.order_by.iter().map(|(e, _)| e)) {
                    let known = if is_volatile(e) { None } else { args.iter().position(|a| a == e) };
                    positions.push(known.unwrap_or_else(|| {
                        args.push(e.clone());
                        args.len() - 1
                    }));
                }
            }
            call_args.push(positions);
        }
        let mut keys: Vec<(SqlType, bool)> = groups.iter().map(|g| (g.ty, g.nullable || rollup)).collect();
        let mut row_types: Vec<SqlType> = groups.iter().map(|g| g.ty).collect();
        if rollup {
            keys.push((SqlType::INT, false));
            row_types.push(SqlType::INT);
        }
        row_types.extend(args.iter().map(|a| a.ty));
        let group_programs = Program::all(groups, ctx)?;
        let arg_programs = Program::all(&args, ctx)?;
        let (groups, layout) = (groups.to_vec(), KeyLayout::new(&keys));
        Ok(Spec { groups, rollup, calls, call_args, layout, row_types, group_programs, arg_programs })
    }

    fn key_count(&self) -> usize {
        self.groups.len() + self.rollup as usize
    }

    /// Strings joined in the order of rows: the order must be one.
    fn needs_order(&self) -> bool {
        self.calls.iter().any(|c| c.func == AggFunc::GroupConcat && c.order_by.is_empty())
    }
}

/// See the module head: combined small codes -> group numbers.
struct Front {
    shape: Vec<FrontColumn>,
    groups: Vec<u32>,
    /// Batches whose shape differed from the one before.
    resets: u32,
    codes: Vec<u32>,
}

#[derive(Clone, Debug)]
enum FrontColumn {
    Dict { dict: Arc<StringDict>, size: u32, nullable: bool },
    Int { min: i64, size: u32, nullable: bool },
}

const FRONT_MAX: u64 = 1 << 14;
const FRONT_RESETS_MAX: u32 = 200;

impl Front {
    fn new() -> Front {
        Front { shape: Vec::new(), groups: Vec::new(), resets: 0, codes: Vec::new() }
    }

    /// Whether column `v` fits `shape`.
    fn fits(shape: &FrontColumn, v: &Vector) -> bool {
        let (chunk, constant) = v.chunk();
        if constant {
            return false;
        }
        match (shape, &chunk.values) {
            (FrontColumn::Dict { dict, nullable, .. }, Values::Dict(d)) => {
                Arc::ptr_eq(dict, &d.dict) && (*nullable || chunk.validity.is_none())
            }
            (FrontColumn::Int { min, size, nullable }, _) => chunk.bounds.is_some_and(|b| {
                b.min >= *min && b.max < *min + *size as i64 && (*nullable || chunk.validity.is_none())
            }),
            _ => false,
        }
    }

    fn shape_of(v: &Vector) -> Option<(FrontColumn, u64)> {
        let Vector::Flat(chunk) = v else { return None };
        let nullable = chunk.validity.is_some();
        match &chunk.values {
            Values::Dict(d) => {
                let size = d.dict.strings.views.len() as u32;
                Some((FrontColumn::Dict { dict: d.dict.clone(), size, nullable }, size as u64 + nullable as u64))
            }
            Values::I8(_)
            | Values::U8(_)
            | Values::I16(_)
            | Values::U16(_)
            | Values::I32(_)
            | Values::U32(_)
            | Values::I64(_) => {
                let b = chunk.bounds?;
                let size = b.max.checked_sub(b.min)?.checked_add(1)? as u64;
                if b.max < b.min || size > FRONT_MAX / 2 {
                    return None;
                }
                // Room above and below, so that the next batches are likely to fit.
                let room = size as i64 / 4;
                let min = b.min.checked_sub(room)?;
                let size = size + 2 * room as u64;
                Some((FrontColumn::Int { min, size: size as u32, nullable }, size + nullable as u64))
            }
            _ => None,
        }
    }

    /// Fills `codes` for the selected rows; false if the columns do not lend themselves.
    fn encode(&mut self, keys: &[Vector], selection: &Selection, rows: usize) -> bool {
        if self.resets > FRONT_RESETS_MAX {
            return false;
        }
        if self.shape.len() != keys.len() || !self.shape.iter().zip(keys).all(|(s, v)| Front::fits(s, v)) {
            self.resets += 1;
            self.shape.clear();
            let mut domain = 1u64;
            for v in keys {
                let Some((column, size)) = Front::shape_of(v) else {
                    self.shape.clear();
                    return false;
                };
                domain = domain.saturating_mul(size.max(1));
                if domain > FRONT_MAX {
                    self.shape.clear();
                    return false;
                }
                self.shape.push(column);
            }
            self.groups.clear();
            self.groups.resize(domain as usize, u32::MAX);
        }
        self.codes.clear();
        self.codes.resize(selection.count(rows), 0);
        for (column, v) in self.shape.iter().zip(keys) {
            let (chunk, _) = v.chunk();
            let (size, nullable, min) = match column {
                FrontColumn::Dict { size, nullable, .. } => (*size, *nullable, 0),
                FrontColumn::Int { size, nullable, min } => (*size, *nullable, *min),
            };
            let radix = size + nullable as u32;
            macro_rules! add {
                ($v:expr) => {
                    add_codes(&mut self.codes, $v, chunk, selection, radix, size, |x| {
                        (x as i64).wrapping_sub(min) as u32
                    })
                };
            }
            match &chunk.values {
                Values::Dict(DictValues { codes, .. }) => add!(codes),
                Values::I8(v) => add!(v),
                Values::U8(v) => add!(v),
                Values::I16(v) => add!(v),
                Values::U16(v) => add!(v),
                Values::I32(v) => add!(v),
                Values::U32(v) => add!(v),
                Values::I64(v) => add!(v),
                _ => return false,
            }
        }
        true
    }
}

fn add_codes<T: Copy>(
    codes: &mut [u32],
    v: &[T],
    chunk: &Chunk,
    selection: &Selection,
    radix: u32,
    null_code: u32,
    code: impl Fn(T) -> u32,
) {
    match (&chunk.validity, selection) {
        (None, Selection::All) => codes.iter_mut().zip(v).for_each(|(c, &x)| *c = *c * radix + code(x)),
        (None, Selection::Some(s)) => {
            codes.iter_mut().zip(s).for_each(|(c, &i)| *c = *c * radix + code(v[i as usize]));
        }
        (Some(valid), _) => {
            let mut j = 0;
            selection.for_each(v.len(), |i| {
                codes[j] = codes[j] * radix + if valid.get(i) { code(v[i]) } else { null_code };
                j += 1;
            });
        }
    }
}

/// One set of groups with their states.
struct Groups {
    table: Option<GroupTable>,
    columns: Vec<ColumnAppender>,
    accumulators: Vec<Option<Accumulator>>,
    count: usize,
    memory: Reservation,
}

impl Groups {
    fn new(spec: &Spec, run: &Run<'_>) -> Result<Groups> {
        let ctx = run.eval();
        let mut accumulators = Vec::new();
        for c in &spec.calls {
            accumulators.push(if c.func == AggFunc::Grouping { None } else { Some(Accumulator::new(c, &ctx)?) });
        }
        let has_groups = spec.key_count() > 0;
        let mut g = Groups {
            table: has_groups.then(|| GroupTable::new(spec.layout.form)),
            columns: (0..spec.key_count()).map(|_| ColumnAppender::default()).collect(),
            accumulators,
            count: if has_groups { 0 } else { 1 },
            memory: Reservation::new(&run.ctx.memory),
        };
        g.resize(g.count);
        Ok(g)
    }

    fn resize(&mut self, count: usize) {
        self.count = count;
        self.accumulators.iter_mut().flatten().for_each(|a| a.resize(count));
    }

    fn bytes(&self) -> usize {
        self.table.as_ref().map_or(0, GroupTable::bytes)
            + self.columns.iter().map(ColumnAppender::bytes).sum::<usize>()
            + self.accumulators.iter().flatten().map(Accumulator::bytes).sum::<usize>()
    }

    /// Adds the groups founded by rows `new` (indexes into `positions`).
    fn found(&mut self, keys: &[Vector], positions: &Selection, rows: usize, new: &[u32]) {
        if new.is_empty() {
            return;
        }
        let at: Vec<u16> = match positions {
            Selection::All => new.iter().map(|&j| j as u16).collect(),
            Selection::Some(s) => new.iter().map(|&j| s[j as usize]).collect(),
        };
        let at = Selection::Some(at);
        for (c, v) in self.columns.iter_mut().zip(keys) {
            c.append(v, &at, rows);
        }
        self.resize(self.count + new.len());
    }

    fn update(&mut self, spec: &Spec, rows: Rows<'_>, args: &[Vector], run: &Run<'_>) -> Result<()> {
        let ctx = run.eval();
        for (a, positions) in self.accumulators.iter_mut().zip(&spec.call_args) {
            if let Some(a) = a {
                let call_args: Vec<Vector> = positions.iter().map(|&p| args[p].clone()).collect();
                a.update(rows, &call_args, &ctx)?;
            }
        }
        Ok(())
    }

    /// Takes the groups `list` of `other` in.
    fn merge(&mut self, other: &Groups, list: &GroupList, other_columns: &[Chunk]) -> Result<()> {
        let mut dst = Vec::with_capacity(list.groups.len());
        match &mut self.table {
            None => dst.push(0),
            Some(t) => {
                let mut new = Vec::new();
                t.find_or_insert(&list.keys, &mut dst, &mut new);
                let source: Vec<u32> = new.iter().map(|&j| list.groups[j as usize]).collect();
                for (c, from) in self.columns.iter_mut().zip(other_columns) {
                    c.append_chunk(&crate::columns::gather32(from, &source), None);
                }
                let count = self.count + new.len();
                self.resize(count);
            }
        }
        for (a, b) in self.accumulators.iter_mut().zip(&other.accumulators) {
            if let (Some(a), Some(b)) = (a, b) {
                a.merge(b, &list.groups, &dst)?;
            }
        }
        self.memory.force(self.bytes());
        Ok(())
    }
}

/// Rows that found no room, by the next bits of their key's hash.
struct Spilling {
    writers: Vec<SpillWriter>,
    depth: u32,
}

fn partition_of(hash: u64, depth: u32) -> usize {
    (hash >> (64 - PARTITION_BITS * (depth + 1))) as usize & (PARTITIONS - 1)
}

/// Aggregates rows into groups, spilling when memory is refused.
struct Builder<'a> {
    spec: &'a Spec,
    run: Run<'a>,
    file: &'a LazyFile,
    depth: u32,
    groups: Groups,
    encoder: KeyEncoder,
    front: Front,
    spilling: Option<Spilling>,
    // Scratch.
    keys: Keys,
    numbers: Vec<u32>,
}

impl<'a> Builder<'a> {
    fn new(spec: &'a Spec, run: Run<'a>, file: &'a LazyFile, depth: u32) -> Result<Builder<'a>> {
        Ok(Builder {
            groups: Groups::new(spec, &run)?,
            encoder: KeyEncoder::new(spec.layout.clone()),
            front: Front::new(),
            spilling: None,
            keys: Keys::default(),
            numbers: Vec::new(),
            spec,
            run,
            file,
            depth,
        })
    }

    fn push_batch(&mut self, batch: &Batch) -> Result<()> {
        let ctx = self.run.eval();
        let mut keys = eval_all(&self.spec.group_programs, batch, &ctx)?;
        let args = eval_all(&self.spec.arg_programs, batch, &ctx)?;
        if !self.spec.rollup {
            return self.push_vectors(&keys, &args, &batch.selection, batch.rows);
        }
        let n = self.spec.groups.len();
        keys.push(null_vector(&SqlType::INT));
        for level in (0..=n).rev() {
            if level < n {
                keys[level] = null_vector(&self.spec.groups[level].ty);
            }
            keys[n] = Vector::Const(Arc::new(Chunk::new(Values::I32(vec![level as i32]), None)));
            self.push_vectors(&keys, &args, &batch.selection, batch.rows)?;
        }
        Ok(())
    }

    fn push_vectors(&mut self, keys: &[Vector], args: &[Vector], selection: &Selection, rows: usize) -> Result<()> {
        let spec = self.spec;
        if self.groups.table.is_none() {
            self.numbers.clear();
            self.numbers.resize(selection.count(rows), 0);
            let r = Rows { groups: &self.numbers, selection, rows, group_count: 1 };
            self.groups.update(spec, r, args, &self.run)?;
            self.groups.memory.force(self.groups.bytes());
            return Ok(());
        }
        if self.spilling.is_some() {
            return self.push_frozen(keys, args, selection, rows);
        }
        if self.front.encode(keys, selection, rows) {
            self.through_front(keys, selection, rows);
        } else {
            self.encoder.encode(keys, selection, rows, &mut self.keys);
            self.numbers.clear();
            let mut new = Vec::new();
            let table = self.groups.table.as_mut().expect("checked above");
            table.find_or_insert(&self.keys, &mut self.numbers, &mut new);
            self.groups.found(keys, selection, rows, &new);
        }
        let numbers = std::mem::take(&mut self.numbers);
        let r = Rows { groups: &numbers, selection, rows, group_count: self.groups.count };
        self.groups.update(spec, r, args, &self.run)?;
        self.numbers = numbers;
        self.reserve()
    }

    /// Charges what the next batch may need; freezes the table if that is refused.
    fn reserve(&mut self) -> Result<()> {
        let table = self.groups.table.as_ref().expect("only tables grow");
        let next = self.groups.bytes() + table.bytes_after(BATCH_ROWS_MAX) - table.bytes();
        if self.depth >= DEPTH_MAX {
            self.groups.memory.force(next);
        } else if !self.groups.memory.try_resize_sparing(next, self.depth + 1) {
            self.groups.memory.force(self.groups.bytes());
            let file = self.file.get(self.run.ctx)?;
            let writers = (0..PARTITIONS).map(|_| SpillWriter::new(file.clone(), &self.spec.row_types)).collect();
            self.spilling = Some(Spilling { writers, depth: self.depth });
        }
        Ok(())
    }

    fn through_front(&mut self, keys: &[Vector], selection: &Selection, rows: usize) {
        self.numbers.clear();
        let mut missing = false;
        let front = &self.front;
        self.numbers.extend(front.codes.iter().map(|&c| {
            let g = front.groups[c as usize];
            missing |= g == u32::MAX;
            g
        }));
        if !missing {
            return;
        }
        let positions = selection.to_positions(rows);
        let unknown: Vec<usize> = (0..positions.len()).filter(|&j| self.numbers[j] == u32::MAX).collect();
        let at = Selection::Some(unknown.iter().map(|&j| positions[j]).collect());
        self.encoder.encode(keys, &at, rows, &mut self.keys);
        let (mut found, mut new) = (Vec::new(), Vec::new());
        self.groups.table.as_mut().expect("checked by the caller").find_or_insert(&self.keys, &mut found, &mut new);
        self.groups.found(keys, &at, rows, &new);
        for (&j, &g) in unknown.iter().zip(&found) {
            self.numbers[j] = g;
            self.front.groups[self.front.codes[j] as usize] = g;
        }
    }

    /// The table takes no new groups: rows of known groups are aggregated, the others spilled.
    fn push_frozen(&mut self, keys: &[Vector], args: &[Vector], selection: &Selection, rows: usize) -> Result<()> {
        self.encoder.encode(keys, selection, rows, &mut self.keys);
        let mut numbers = Vec::new();
        self.groups.table.as_ref().expect("only tables are frozen").find(&self.keys, &mut numbers);
        let positions = selection.to_positions(rows);
        let (mut kept, mut kept_groups) = (Vec::new(), Vec::new());
        let mut out: Vec<Vec<u16>> = vec![Vec::new(); PARTITIONS];
        let spilling = self.spilling.as_mut().expect("frozen tables spill");
        for (j, &g) in numbers.iter().enumerate() {
            if g == u32::MAX {
                out[partition_of(self.keys.hashes[j], spilling.depth)].push(positions[j]);
            } else {
                kept.push(positions[j]);
                kept_groups.push(g);
            }
        }
        let columns: Vec<Vector> = keys.iter().chain(args).cloned().collect();
        for (w, positions) in spilling.writers.iter_mut().zip(&out) {
            if !positions.is_empty() {
                w.append(&columns, positions, rows, self.run.ctx)?;
            }
        }
        let kept = Selection::Some(kept);
        let r = Rows { groups: &kept_groups, selection: &kept, rows, group_count: self.groups.count };
        self.groups.update(self.spec, r, args, &self.run)?;
        self.groups.memory.force(self.groups.bytes());
        Ok(())
    }

    fn finish(self) -> Result<(Groups, Vec<SpillRun>)> {
        let mut runs = Vec::new();
        if let Some(s) = self.spilling {
            for w in s.writers {
                runs.push(w.finish(self.run.ctx)?);
            }
        }
        Ok((self.groups, runs))
    }
}

/// Shared state.
pub struct AggregateSink<'a> {
    spec: &'a Spec,
    run: Run<'a>,
    file: LazyFile,
    /// Each thread's groups and, if it spilled, its runs by partition.
    parts: Mutex<Vec<(Groups, Vec<SpillRun>)>>,
}

struct AggregateLocal<'a> {
    sink: &'a AggregateSink<'a>,
    builder: Option<Builder<'a>>,
}

impl Sink for AggregateSink<'_> {
    fn local<'b>(&'b self) -> Result<Box<dyn Push + 'b>> {
        let builder = Builder::new(self.spec, self.run, &self.file, 0)?;
        Ok(Box::new(AggregateLocal { sink: self, builder: Some(builder) }))
    }
}

impl Push for AggregateLocal<'_> {
    fn push(&mut self, batch: Batch) -> Result<Flow> {
        self.builder.as_mut().expect("nothing is pushed after finish").push_batch(&batch)?;
        Ok(Flow::More)
    }

    fn finish(&mut self) -> Result<()> {
        if let Some(b) = self.builder.take() {
            let part = b.finish()?;
            self.sink.parts.lock().expect("no panic while held").push(part);
        }
        Ok(())
    }
}

/// Runs the node and pushes its rows down.
pub fn run_aggregate<'a>(
    run: &Run<'a>,
    node: &'a PlanNode,
    input: &'a PlanNode,
    (groups, calls, rollup): (&[Expr], &[AggCall], bool),
    down: &Down<'_>,
) -> Result<()> {
    if !rollup && let Some(args) = common_distinct_args(calls) {
        return run_distinct_first(run, node, input, (groups, calls, &args), down);
    }
    let spec = Spec::new(groups, calls, rollup, &run.eval())?;
    let mut inner = *run;
    if spec.needs_order() {
        inner.dop = 1;
    }
    let mut run_input = |sink: &Down<'_>| run_node(&inner, input, sink);
    if !rollup {
        return run_grouped(run, node.id, &spec, down, &mut run_input);
    }
    // MySQL outputs each group's super-aggregate row behind the group, so the rows are sorted.
    let types: Vec<SqlType> = node.output.iter().map(|c| c.ty).chain([SqlType::INT]).collect();
    let level = types.len() - 1;
    let mut keys = Vec::new();
    for (i, g) in groups.iter().enumerate() {
        let number = Expr::constant(Value::Int(i as i64), SqlType::INT);
        let column = Expr::column(level as u32, SqlType::INT, false);
        let rolled_up = ExprKind::Compare { op: CmpOp::Le, left: Box::new(column), right: Box::new(number) };
        keys.push(SortKey { expr: Expr::new(rolled_up, SqlType::Bool, false), descending: false });
        keys.push(SortKey { expr: Expr::column(i as u32, g.ty, true), descending: false });
    }
    let sorted = SortSink::new(run, types, &keys, None)?;
    run_grouped(run, INTERNAL, &spec, &Down::sink(node.id, &sorted), &mut run_input)?;
    run.note_spill(node.id, sorted.spilled_bytes());
    run_pipeline(run, node.id, &sorted.into_source(0, None), &Down::stage(node.id, &DropLast, down))
}

/// The arguments of calls that are all DISTINCT over the same ones.
fn common_distinct_args(calls: &[AggCall]) -> Option<Vec<Expr>> {
    let args = prepare_args(calls.first()?).args;
    let same = |c: &AggCall| {
        c.distinct && c.func != AggFunc::GroupConcat && prepare_args(c).args == args && !args.iter().any(is_volatile)
    };
    calls.iter().all(same).then_some(args)
}

/// COUNT(DISTINCT a) GROUP BY g is COUNT(a) GROUP BY g over the distinct (g, a): both steps are spread over threads and
/// spill, which one group's set of values could not.
fn run_distinct_first<'a>(
    run: &Run<'a>,
    node: &'a PlanNode,
    input: &'a PlanNode,
    (groups, calls, args): (&[Expr], &[AggCall], &[Expr]),
    down: &Down<'_>,
) -> Result<()> {
    let keys: Vec<Expr> = groups.iter().chain(args).cloned().collect();
    let column = |i: usize, e: &Expr| Expr::column(i as u32, e.ty, e.nullable);
    let outer_groups: Vec<Expr> = groups.iter().enumerate().map(|(i, e)| column(i, e)).collect();
    let outer_args: Vec<Expr> = args.iter().enumerate().map(|(k, e)| column(groups.len() + k, e)).collect();
    let outer_calls: Vec<AggCall> =
        calls.iter().map(|c| AggCall { args: outer_args.clone(), distinct: false, ..c.clone() }).collect();
    let ctx = run.eval();
    let distinct = Spec::new(&keys, &[], false, &ctx)?;
    let outer = Spec::new(&outer_groups, &outer_calls, false, &ctx)?;
    run_grouped(run, node.id, &outer, down, &mut |outer_sink| {
        run_grouped(run, INTERNAL, &distinct, outer_sink, &mut |sink| run_node(run, input, sink))
    })
}

/// Takes the hidden level column off.
struct DropLast;

struct DropLastLocal<'a>(Box<dyn Push + 'a>);

impl Stage for DropLast {
    fn local<'b>(&'b self, next: Box<dyn Push + 'b>) -> Result<Box<dyn Push + 'b>> {
        Ok(Box::new(DropLastLocal(next)))
    }
}

impl Push for DropLastLocal<'_> {
    fn push(&mut self, mut batch: Batch) -> Result<Flow> {
        batch.columns.pop();
        self.0.push(batch)
    }

    fn finish(&mut self) -> Result<()> {
        self.0.finish()
    }
}

/// DISTINCT is grouping by all columns.
pub fn run_distinct<'a>(run: &Run<'a>, node: &'a PlanNode, input: &'a PlanNode, down: &Down<'_>) -> Result<()> {
    let groups: Vec<Expr> =
        input.output.iter().enumerate().map(|(i, c)| Expr::column(i as u32, c.ty, c.nullable)).collect();
    if groups.is_empty() {
        // Rows without columns are all alike.
        return crate::ops::simple::run_limit(run, node, input, Some(1), 0, down);
    }
    let spec = Spec::new(&groups, &[], false, &run.eval())?;
    run_grouped(run, node.id, &spec, down, &mut |sink| run_node(run, input, sink))
}

/// Runs `inputs` into a sink that groups by `spec`, then its groups down.
pub fn run_grouped(
    run: &Run<'_>,
    node: u32,
    spec: &Spec,
    down: &Down<'_>,
    inputs: &mut dyn FnMut(&Down<'_>) -> Result<()>,
) -> Result<()> {
    let sink = AggregateSink { spec, run: *run, file: LazyFile::default(), parts: Mutex::default() };
    inputs(&Down::sink(node, &sink))?;
    let AggregateSink { file, parts, .. } = sink;
    let source = AggregateSource::new(spec, *run, &file, parts.into_inner().expect("no panic while held"))?;
    let r = run_pipeline(run, node, &source, down);
    run.note_spill(node, file.bytes());
    r
}

/// The groups, partition by partition.
struct AggregateSource<'a> {
    spec: &'a Spec,
    run: Run<'a>,
    file: &'a LazyFile,
    /// Threads' groups, with their lists by partition and their columns; empty if `ready` has all.
    threads: Vec<(Groups, Vec<GroupList>, Vec<Chunk>)>,
    spilled: Vec<Vec<SpillRun>>,
    ready: Mutex<Option<Groups>>,
    next: AtomicUsize,
    partitions: usize,
}

impl<'a> AggregateSource<'a> {
    fn new(
        spec: &'a Spec,
        run: Run<'a>,
        file: &'a LazyFile,
        mut parts: Vec<(Groups, Vec<SpillRun>)>,
    ) -> Result<AggregateSource<'a>> {
        let has_spilled = parts.iter().any(|(_, s)| !s.is_empty());
        let total: usize = parts.iter().map(|(g, _)| g.count).sum();
        let source = |threads, spilled, ready, partitions| AggregateSource {
            spec,
            run,
            file,
            threads,
            spilled,
            ready: Mutex::new(ready),
            next: AtomicUsize::new(0),
            partitions,
        };
        let group_columns = |g: &Groups| -> Vec<Chunk> {
            g.columns.iter().zip(&spec.row_types).map(|(c, ty)| c.snapshot(ty)).collect()
        };
        if !has_spilled && (parts.len() <= 1 || total < PARALLEL_MERGE_GROUPS_MIN || spec.key_count() == 0) {
            // A single table: the first takes the others in. No input at all still makes one row without GROUP BY.
            let mut all = match parts.pop() {
                Some((g, _)) => g,
                None => Groups::new(spec, &run)?,
            };
            for (other, _) in parts {
                let list = match &other.table {
                    Some(t) => t.partitions(0).pop().expect("one partition"),
                    None => GroupList { groups: vec![0], keys: Keys::default() },
                };
                all.merge(&other, &list, &group_columns(&other))?;
            }
            return Ok(source(Vec::new(), Vec::new(), Some(all), 1));
        }
        let mut threads = Vec::new();
        let mut spilled: Vec<Vec<SpillRun>> = vec![Vec::new(); PARTITIONS];
        for (g, runs) in parts {
            let lists = g.table.as_ref().expect("grouped").partitions(PARTITION_BITS);
            let columns = group_columns(&g);
            threads.push((g, lists, columns));
            for (p, r) in runs.into_iter().enumerate() {
                spilled[p].push(r);
            }
        }
        Ok(source(threads, spilled, None, PARTITIONS))
    }

    /// The merged groups of partition `p`, and runs that did not fit (disjoint from them).
    fn partition(&self, p: usize) -> Result<(Groups, Vec<SpillRun>)> {
        let mut b = Builder::new(self.spec, self.run, self.file, 1)?;
        for (g, lists, columns) in &self.threads {
            b.groups.merge(g, &lists[p], columns)?;
        }
        for run in self.spilled.get(p).into_iter().flatten() {
            self.replay(&mut b, run)?;
        }
        b.finish()
    }

    fn replay(&self, b: &mut Builder<'_>, run: &SpillRun) -> Result<()> {
        for &e in &run.extents {
            self.run.ctx.check_killed()?;
            let batch = run.file.read(e)?;
            let (keys, args) = batch.columns.split_at(self.spec.key_count());
            b.push_vectors(keys, args, &batch.selection, batch.rows)?;
        }
        Ok(())
    }
}

struct AggregatePull<'a> {
    source: &'a AggregateSource<'a>,
    current: Option<(Groups, usize, Vec<Chunk>)>,
    /// Runs still to be aggregated, with their depth.
    pending: Vec<(SpillRun, u32)>,
}

impl Source for AggregateSource<'_> {
    fn local<'b>(&'b self) -> Result<Box<dyn Pull + 'b>> {
        Ok(Box::new(AggregatePull { source: self, current: None, pending: Vec::new() }))
    }

    fn workers_max(&self) -> usize {
        self.partitions
    }
}

impl AggregatePull<'_> {
    fn start(&mut self, groups: Groups) {
        let spec = self.source.spec;
        let columns = groups.columns.iter().zip(&spec.row_types).map(|(c, ty)| c.snapshot(ty)).collect();
        self.current = Some((groups, 0, columns));
    }

    fn load_next(&mut self) -> Result<bool> {
        let s = self.source;
        if let Some((run, depth)) = self.pending.pop() {
            let mut b = Builder::new(s.spec, s.run, s.file, depth)?;
            s.replay(&mut b, &run)?;
            let (groups, runs) = b.finish()?;
            self.pending.extend(runs.into_iter().filter(|r| !r.extents.is_empty()).map(|r| (r, depth + 1)));
            self.start(groups);
            return Ok(true);
        }
        if let Some(g) = s.ready.lock().expect("no panic while held").take() {
            self.start(g);
            return Ok(true);
        }
        if s.threads.is_empty() {
            return Ok(false);
        }
        let p = s.next.fetch_add(1, Ordering::Relaxed);
        if p >= s.partitions {
            return Ok(false);
        }
        let (groups, runs) = s.partition(p)?;
        self.pending.extend(runs.into_iter().filter(|r| !r.extents.is_empty()).map(|r| (r, 2)));
        self.start(groups);
        Ok(true)
    }
}

impl Pull for AggregatePull<'_> {
    fn next(&mut self) -> Result<Option<Batch>> {
        loop {
            if let Some((groups, from, columns)) = &mut self.current
                && *from < groups.count
            {
                let to = (*from + BATCH_ROWS_MAX).min(groups.count);
                let spec = self.source.spec;
                let ctx = self.source.run.eval();
                let n = spec.groups.len();
                let keys: Vec<Chunk> = columns.iter().map(|c| crate::columns::slice(c, *from, to)).collect();
                let level_column = keys.get(n).cloned();
                let levels: Option<Vec<i32>> = match keys.get(n).map(|c| &c.values) {
                    Some(Values::I32(v)) => Some(v.clone()),
                    _ => None,
                };
                let mut out: Vec<Vector> = keys.into_iter().take(n).map(Vector::flat).collect();
                for (a, call) in groups.accumulators.iter_mut().zip(&spec.calls) {
                    out.push(match a {
                        Some(a) => Vector::flat(a.finish(*from, to, &ctx)?),
                        None => Vector::flat(grouping(call, &spec.groups, levels.as_deref(), to - *from)),
                    });
                }
                out.extend(level_column.map(Vector::flat));
                let batch = Batch::new(to - *from, out);
                *from = to;
                return Ok(Some(batch));
            }
            self.current = None;
            if !self.load_next()? {
                return Ok(None);
            }
        }
    }
}

/// GROUPING(a, b): bit by bit, the last argument lowest, whether the column is rolled up.
fn grouping(call: &AggCall, groups: &[Expr], levels: Option<&[i32]>, rows: usize) -> Chunk {
    let at: Vec<i32> = call.args.iter().map(|a| groups.iter().position(|g| g == a).map_or(-1, |p| p as i32)).collect();
    let values = (0..rows)
        .map(|i| {
            let level = levels.map_or(i32::MAX, |l| l[i]);
            at.iter().fold(0i64, |m, &p| m << 1 | (p >= level) as i64)
        })
        .collect();
    Chunk::new(Values::I64(values), None)
}
