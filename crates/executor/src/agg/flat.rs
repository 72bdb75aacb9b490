//! DISTINCT aggregates, WITH ROLLUP and GROUPING(), taken apart into plain aggregations over columns.
//!
//! ```text
//!   input ─▶ flatten: [groups | level | arguments] ─┬─ calls without DISTINCT ────────────────────────┬─▶ outer
//!            (once a level of a ROLLUP)             ├─ DISTINCT a:     distinct (groups, level, a) ───┤
//!                                                   └─ DISTINCT b, c:  distinct (groups, level, b, c) ┘
//!   outer: the calls by (groups, level) ─▶ sort (ROLLUP) ─▶ arrange: GROUPING() from the level, which is dropped
//! ```
//! COUNT(DISTINCT a) is COUNT(a) over the distinct (group, a). Each source of the outer aggregation fills the columns
//! of its own calls and leaves the others NULL, which all aggregates pass over. So every step is an aggregation that is
//! spread over threads and spills, which one group's set of values in memory could not.

use super::operator::{AggregateSink, Grouping};
use super::spec::{ArgList, Spec, prepare_args};
use crate::columns::null_vector;
use crate::eval::{Program, eval_all_within, parts_of};
use crate::ops::sort::SortSink;
use crate::pipeline::{Down, Flow, INTERNAL, Push, Sink, Stage, run_pipeline};
use crate::run::{Run, run_node};
use expr::{AggCall, AggFunc, CmpOp, Expr, ExprKind};
use plan::physical::{PlanNode, SortKey};
use std::sync::Arc;
use types::{Result, SqlType, Value};
use vector::{Batch, Chunk, Values, Vector};

/// DISTINCT matters: it does not to the least, the greatest or any value.
fn is_distinct(c: &AggCall) -> bool {
    c.distinct && !matches!(c.func, AggFunc::Min | AggFunc::Max | AggFunc::CountStar | AggFunc::AnyValue)
}

/// Whether a call is none that an aggregation computes as it is.
pub fn needs_columns(c: &AggCall) -> bool {
    c.func == AggFunc::Grouping || is_distinct(c)
}

/// A DISTINCT over some arguments, for all calls with the same.
struct DistinctSet {
    /// Positions among the flat arguments: what is distinct, then what is carried along (ORDER BY values).
    keys: Vec<usize>,
    carried: Vec<usize>,
}

/// How the calls are taken apart.
struct Layout {
    groups: usize,
    /// groups, and the level behind them where there is one.
    keys: Vec<Expr>,
    levels: Vec<i32>,
    args: Vec<Expr>,
    /// Flat arguments of the calls without DISTINCT.
    plain: Vec<usize>,
    /// There are such calls.
    has_plain: bool,
    sets: Vec<DistinctSet>,
    /// The outer aggregation's calls over its input: keys ++ [one] ++ plain ++ each set's columns.
    calls: Vec<AggCall>,
}

const LEVEL: SqlType = SqlType::INT;
const ONE: SqlType = SqlType::INT;

impl Layout {
    fn new(groups: &[Expr], calls: &[AggCall], rollup: bool) -> Layout {
        let n = groups.len();
        let has_level = rollup || calls.iter().any(|c| c.func == AggFunc::Grouping);
        let mut keys: Vec<Expr> =
            groups.iter().enumerate().map(|(i, g)| Expr::column(i as u32, g.ty, g.nullable || rollup)).collect();
        if has_level {
            keys.push(Expr::column(n as u32, LEVEL, false));
        }
        let mut args = ArgList::default();
        let mut sets: Vec<DistinctSet> = Vec::new();
        // For each call: its set, and its arguments among the flat ones.
        let mut made: Vec<(AggCall, Option<usize>, Vec<usize>)> = Vec::new();
        let mut plain = Vec::new();
        for c in calls.iter().filter(|c| c.func != AggFunc::Grouping).map(prepare_args) {
            let key: Vec<usize> = c.args.iter().map(|e| args.place(e)).collect();
            let carried: Vec<usize> = c.order_by.iter().map(|(e, _)| args.place(e)).collect();
            let all: Vec<usize> = key.iter().chain(&carried).copied().collect();
            let set = is_distinct(&c).then(|| {
                sets.iter().position(|s| s.keys == key && s.carried == carried).unwrap_or_else(|| {
                    sets.push(DistinctSet { keys: key, carried });
                    sets.len() - 1
                })
            });
            if set.is_none() {
                plain.extend(all.iter().copied());
            }
            made.push((c, set, all));
        }
        plain.sort_unstable();
        plain.dedup();
        let has_plain = made.iter().any(|(_, set, _)| set.is_none());
        let mut layout = Layout {
            groups: n,
            keys,
            levels: if rollup { (0..=n as i32).rev().collect() } else { vec![n as i32] },
            args: args.0,
            plain,
            has_plain: has_plain || sets.is_empty(),
            sets,
            calls: Vec::new(),
        };
        layout.calls = made.into_iter().map(|(c, set, all)| layout.outer_call(c, set, &all)).collect();
        layout
    }

    fn has_level(&self) -> bool {
        self.keys.len() > self.groups
    }

    /// Where a set's columns begin in the outer input.
    fn set_start(&self, set: usize) -> usize {
        let before: usize = self.sets[..set].iter().map(|s| s.keys.len() + s.carried.len()).sum();
        self.keys.len() + 1 + self.plain.len() + before
    }

    /// The call over the outer input's columns.
    fn outer_call(&self, mut c: AggCall, set: Option<usize>, args: &[usize]) -> AggCall {
        c.distinct = false;
        if c.func == AggFunc::CountStar {
            c.func = AggFunc::Count;
            c.args = vec![Expr::column(self.keys.len() as u32, ONE, true)];
            return c;
        }
        let at = |k: usize| match set {
            Some(s) => self.set_start(s) + k,
            None => self.keys.len() + 1 + self.plain.iter().position(|p| *p == args[k]).expect("listed as plain"),
        };
        let columns: Vec<Expr> =
            args.iter().enumerate().map(|(k, &a)| Expr::column(at(k) as u32, self.args[a].ty, true)).collect();
        let (own, order) = columns.split_at(c.args.len());
        c.args = own.to_vec();
        c.order_by = order.iter().cloned().zip(c.order_by.iter().map(|(_, d)| *d)).collect();
        c
    }

    fn flat_column(&self, arg: usize) -> Expr {
        Expr::column((self.keys.len() + arg) as u32, self.args[arg].ty, self.args[arg].nullable)
    }

    /// The aggregation that makes a set's rows distinct: over the flat columns, keys ++ set's keys, then the carried.
    fn distinct_spec(&self, set: &DistinctSet, few: &[bool], run: &Run<'_>, node: u32) -> Result<Spec> {
        let groups: Vec<Expr> =
            self.keys.iter().cloned().chain(set.keys.iter().map(|&a| self.flat_column(a))).collect();
        let calls: Vec<AggCall> = set
            .carried
            .iter()
            .map(|&a| AggCall {
                func: AggFunc::AnyValue,
                args: vec![self.flat_column(a)],
                distinct: false,
                order_by: Vec::new(),
                separator: "".into(),
                ty: self.args[a].ty,
                nullable: true,
            })
            .collect();
        Spec::new(&groups, few, &calls, run, node)
    }

    /// The outer input made from a source: `from` the flat rows (`None`) or a set's.
    fn place(&self, from: Option<usize>) -> Place {
        let n = self.keys.len();
        let null = |a: usize| Take::Constant(null_vector(&self.args[a].ty));
        let mut takes: Vec<Take> = (0..n).map(Take::Column).collect();
        takes.push(Take::Constant(match from {
            None => Vector::Const(Arc::new(Chunk::new(Values::I32(vec![1]), None))),
            Some(_) => null_vector(&ONE),
        }));
        takes.extend(self.plain.iter().map(|&a| if from.is_none() { Take::Column(n + a) } else { null(a) }));
        for (k, s) in self.sets.iter().enumerate() {
            let columns = s.keys.iter().chain(&s.carried);
            takes
                .extend(columns.enumerate().map(|(j, &a)| if from == Some(k) { Take::Column(n + j) } else { null(a) }));
        }
        Place(takes)
    }
}

/// See the module head.
pub fn run_flat<'a>(
    run: &Run<'a>,
    node: &'a PlanNode,
    input: &'a PlanNode,
    Grouping { groups, few, calls, rollup, .. }: Grouping<'_>,
    down: &Down<'_>,
) -> Result<()> {
    let layout = Layout::new(groups, calls, rollup);
    let outer_spec = Spec::new(&layout.keys, few, &layout.calls, run, node.id)?;
    let set_spec = |s| layout.distinct_spec(s, few, run, node.id);
    let set_specs: Vec<Spec> = layout.sets.iter().map(set_spec).collect::<Result<_>>()?;
    let mut inner = *run;
    if outer_spec.needs_order() {
        inner.dop = 1;
    }
    let outer = AggregateSink::new(&inner, node.id, &outer_spec);
    let outer_down = Down::sink(INTERNAL, &outer);
    {
        let set_sinks: Vec<AggregateSink<'_>> =
            set_specs.iter().map(|spec| AggregateSink::new(&inner, node.id, spec).uncounted()).collect();
        let place = layout.place(None);
        let mut branches: Vec<Down<'_>> = set_sinks.iter().map(|s| Down::sink(INTERNAL, s)).collect();
        if layout.has_plain {
            branches.push(Down::stage(INTERNAL, &place, &outer_down));
        }
        let flatten = Flatten {
            run: inner,
            groups: Program::all(groups, &run.eval())?,
            group_types: groups.iter().map(|g| g.ty).collect(),
            args: Program::all(&layout.args, &run.eval())?,
            levels: layout.has_level().then(|| layout.levels.clone()),
            branches,
        };
        run_node(&inner, input, &Down::sink(node.id, &flatten))?;
        drop(flatten);
        for (k, sink) in set_sinks.into_iter().enumerate() {
            sink.drain(INTERNAL, &Down::stage(INTERNAL, &layout.place(Some(k)), &outer_down))?;
        }
    }
    if !layout.has_level() {
        return outer.drain(node.id, down);
    }
    let arrange = Arrange::new(groups, calls);
    let arranged = Down::stage(node.id, &arrange, down);
    if !rollup {
        return outer.drain(INTERNAL, &arranged);
    }
    // MySQL outputs each group's super-aggregate row behind the group, so the rows are sorted.
    let types: Vec<SqlType> = layout.keys.iter().map(|k| k.ty).chain(layout.calls.iter().map(|c| c.ty)).collect();
    let sorted = SortSink::new(run, node.id, types, &rollup_order(groups), None)?;
    outer.drain(INTERNAL, &Down::sink(INTERNAL, &sorted))?;
    run_pipeline(run, INTERNAL, &sorted.into_source(0, None)?, &arranged)
}

/// Each group by its value, its super-aggregate last.
fn rollup_order(groups: &[Expr]) -> Vec<SortKey> {
    let mut keys = Vec::new();
    for (i, g) in groups.iter().enumerate() {
        let number = Expr::constant(Value::Int(i as i64), LEVEL);
        let level = Expr::column(groups.len() as u32, LEVEL, false);
        let rolled_up = ExprKind::Compare { op: CmpOp::Le, left: Box::new(level), right: Box::new(number) };
        keys.push(SortKey { expr: Expr::new(rolled_up, SqlType::Bool, false), descending: false });
        keys.push(SortKey { expr: Expr::column(i as u32, g.ty, true), descending: false });
    }
    keys
}

/// Evaluates groups and arguments, and hands the columns to all branches.
struct Flatten<'a> {
    run: Run<'a>,
    groups: Vec<Program>,
    group_types: Vec<SqlType>,
    args: Vec<Program>,
    /// Levels of a ROLLUP; `None`: no level column.
    levels: Option<Vec<i32>>,
    branches: Vec<Down<'a>>,
}

struct FlattenLocal<'a> {
    sink: &'a Flatten<'a>,
    branches: Vec<Box<dyn Push + 'a>>,
}

impl Sink for Flatten<'_> {
    fn local<'b>(&'b self) -> Result<Box<dyn Push + 'b>> {
        let branches = self.branches.iter().map(|d| d.build(&self.run, INTERNAL)).collect::<Result<_>>()?;
        Ok(Box::new(FlattenLocal { sink: self, branches }))
    }
}

impl FlattenLocal<'_> {
    fn hand_out(&mut self, keys: &[Vector], args: &[Vector], batch: &Batch) -> Result<()> {
        let columns = keys.iter().chain(args).cloned().collect();
        let flat = Batch { rows: batch.rows, columns, selection: batch.selection.clone() };
        self.branches.iter_mut().try_for_each(|b| b.push(flat.clone()).map(|_| ()))
    }
}

impl Push for FlattenLocal<'_> {
    fn push(&mut self, batch: Batch) -> Result<Flow> {
        let sink = self.sink;
        let keys = eval_all_within(&sink.groups, &batch, &sink.run)?;
        let args = eval_all_within(&sink.args, &batch, &sink.run)?;
        let (Some(mut keys), Some(args)) = (keys, args) else {
            for part in parts_of(&batch) {
                self.push(part)?;
            }
            return Ok(Flow::More);
        };
        let Some(levels) = &sink.levels else {
            self.hand_out(&keys, &args, &batch)?;
            return Ok(Flow::More);
        };
        let n = keys.len();
        keys.push(null_vector(&LEVEL));
        for &level in levels {
            if let Some(ty) = sink.group_types.get(level as usize) {
                keys[level as usize] = null_vector(ty);
            }
            keys[n] = Vector::Const(Arc::new(Chunk::new(Values::I32(vec![level]), None)));
            self.hand_out(&keys, &args, &batch)?;
        }
        Ok(Flow::More)
    }

    fn finish(&mut self) -> Result<()> {
        self.branches.iter_mut().try_for_each(|b| b.finish())
    }
}

/// Builds rows from columns of others and constants.
struct Place(Vec<Take>);

enum Take {
    Column(usize),
    Constant(Vector),
}

struct PlaceLocal<'a> {
    takes: &'a [Take],
    next: Box<dyn Push + 'a>,
}

impl Stage for Place {
    fn local<'b>(&'b self, next: Box<dyn Push + 'b>) -> Result<Box<dyn Push + 'b>> {
        Ok(Box::new(PlaceLocal { takes: &self.0, next }))
    }
}

impl Push for PlaceLocal<'_> {
    fn push(&mut self, batch: Batch) -> Result<Flow> {
        let columns = self
            .takes
            .iter()
            .map(|t| match t {
                Take::Column(c) => batch.columns[*c].clone(),
                Take::Constant(v) => v.clone(),
            })
            .collect();
        self.next.push(Batch { columns, ..batch })
    }

    fn finish(&mut self) -> Result<()> {
        self.next.finish()
    }
}

/// groups ++ level ++ calls -> groups ++ calls, those of GROUPING() among them.
struct Arrange {
    groups: usize,
    /// For each call: GROUPING()'s arguments as positions of groups, or `None` for the next computed column.
    calls: Vec<Option<Vec<i32>>>,
}

struct ArrangeLocal<'a> {
    stage: &'a Arrange,
    next: Box<dyn Push + 'a>,
}

impl Arrange {
    fn new(groups: &[Expr], calls: &[AggCall]) -> Arrange {
        let position = |a: &Expr| groups.iter().position(|g| g == a).map_or(-1, |p| p as i32);
        let calls = calls
            .iter()
            .map(|c| (c.func == AggFunc::Grouping).then(|| c.args.iter().map(position).collect()))
            .collect();
        Arrange { groups: groups.len(), calls }
    }
}

impl Stage for Arrange {
    fn local<'b>(&'b self, next: Box<dyn Push + 'b>) -> Result<Box<dyn Push + 'b>> {
        Ok(Box::new(ArrangeLocal { stage: self, next }))
    }
}

impl Push for ArrangeLocal<'_> {
    fn push(&mut self, batch: Batch) -> Result<Flow> {
        let n = self.stage.groups;
        let levels = batch.columns[n].flatten(batch.rows);
        let mut computed = batch.columns[n + 1..].iter().cloned();
        let mut columns = batch.columns[..n].to_vec();
        for call in &self.stage.calls {
            columns.extend(match call {
                Some(at) => Some(Vector::flat(grouping(at, &levels))),
                None => computed.next(),
            });
        }
        self.next.push(Batch { columns, ..batch })
    }

    fn finish(&mut self) -> Result<()> {
        self.next.finish()
    }
}

/// GROUPING(a, b): bit by bit, the last argument lowest, whether the column is rolled up.
fn grouping(args: &[i32], levels: &Chunk) -> Chunk {
    let Values::I32(levels) = &levels.values else { unreachable!("levels are made as I32") };
    let bits = |level: i32| args.iter().fold(0i64, |m, &p| m << 1 | (p >= level) as i64);
    Chunk::new(Values::I64(levels.iter().map(|&l| bits(l)).collect()), None)
}
