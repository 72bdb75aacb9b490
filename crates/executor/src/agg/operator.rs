//! Aggregate: groups and their aggregates.
//!
//! ```text
//!   input ──▶ per thread: builder ──finish──▶ shared list
//!                 │ memory refused: rows of groups not known yet go
//!                 ▼
//!             spill partitions by hash (rows, not states)
//!   output: partition p = merge of every thread's groups of p, plus p's spilled rows aggregated the same way,
//!           one level of partitions deeper if they do not fit either
//! ```
//! Rows are spilled rather than states, so every aggregate function spills alike. What is merged was partitioned before
//! where it is large, so each step is short enough for KILL, and memory is given back as the output goes on.

use super::builder::{Builder, Built, Inputs, PARTITIONS, partition_of};
use super::groups::{Groups, Share};
use super::leaves::{LeafGroups, LeafKeys};
use super::spec::Spec;
use crate::group_table::GroupList;
use crate::memory::MemoryAccountant;
use crate::ops::count::{counts_rows, run_count};
use crate::pipeline::{Down, Flow, Pull, Push, Sink, Source, run_pipeline};
use crate::run::{Run, run_node};
use crate::spill::{LazyFile, SpillRun};
use expr::{AggCall, Expr};
use plan::physical::PlanNode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use types::Result;
use vector::{Batch, Chunk};

/// Fewer groups than this are merged by one thread.
const PARALLEL_MERGE_GROUPS_MIN: usize = 8192;

/// Shared state.
pub struct AggregateSink<'a> {
    spec: &'a Spec,
    run: Run<'a>,
    node: u32,
    file: LazyFile,
    is_table: bool,
    memory: Arc<MemoryAccountant>,
    parts: Mutex<Vec<Built>>,
}

struct AggregateLocal<'a> {
    sink: &'a AggregateSink<'a>,
    builder: Option<Builder<'a>>,
}

impl<'a> AggregateSink<'a> {
    /// `node`: the plan node on whose behalf groups are made.
    pub fn new(run: &Run<'a>, node: u32, spec: &'a Spec) -> AggregateSink<'a> {
        AggregateSink {
            spec,
            run: *run,
            node,
            file: LazyFile::default(),
            is_table: true,
            memory: run.table_memory_of(node),
            parts: Mutex::default(),
        }
    }

    /// For what MySQL keeps in a tree of values and not in a table: on disk it counts as no table.
    pub fn uncounted(self) -> AggregateSink<'a> {
        AggregateSink { is_table: false, ..self }
    }

    fn inputs(&self) -> Inputs<'_> {
        Inputs { spec: self.spec, run: self.run, file: &self.file, is_table: self.is_table, memory: &self.memory }
    }

    /// What one thread makes.
    pub(super) fn builder(&self) -> Result<Builder<'_>> {
        Builder::new(self.inputs(), 0)
    }

    /// One thread's part is made.
    pub(super) fn add(&self, part: Built) {
        self.parts.lock().expect("no panic while held").push(part);
    }

    /// After the last row: pushes the groups down, as the output of plan node `from`.
    pub fn drain(&self, from: u32, down: &Down<'_>) -> Result<()> {
        let parts = std::mem::take(&mut *self.parts.lock().expect("no panic while held"));
        let source = AggregateSource::new(self.inputs(), parts)?;
        let r = run_pipeline(&self.run, from, &source, down);
        self.run.note_spill(self.node, self.file.bytes());
        r
    }
}

impl Sink for AggregateSink<'_> {
    fn local<'b>(&'b self) -> Result<Box<dyn Push + 'b>> {
        Ok(Box::new(AggregateLocal { sink: self, builder: Some(self.builder()?) }))
    }
}

impl Push for AggregateLocal<'_> {
    fn push(&mut self, batch: Batch) -> Result<Flow> {
        self.builder.as_mut().expect("nothing is pushed after finish").push_batch(&batch)?;
        Ok(Flow::More)
    }

    fn finish(&mut self) -> Result<()> {
        if let Some(b) = self.builder.take() {
            self.sink.add(b.finish()?);
        }
        Ok(())
    }
}

/// What an Aggregate node says.
#[derive(Clone, Copy)]
pub struct Grouping<'a> {
    pub groups: &'a [Expr],
    /// Which groups have few different values.
    pub few: &'a [bool],
    pub calls: &'a [AggCall],
    pub rollup: bool,
    /// The input brings each group's rows together.
    pub ordered: bool,
}

/// Runs the node and pushes its rows down.
pub fn run_aggregate<'a>(
    run: &Run<'a>,
    node: &'a PlanNode,
    input: &'a PlanNode,
    what: Grouping<'_>,
    down: &Down<'_>,
) -> Result<()> {
    if what.rollup || what.calls.iter().any(super::flat::needs_columns) {
        return super::flat::run_flat(run, node, input, what, down);
    }
    if counts_rows(input, what.groups, what.calls) {
        return run_count(run, node, input, what.calls, down);
    }
    let spec = Spec::new(what.groups, what.few, what.calls, run, node.id)?;
    if what.ordered {
        return super::ordered::run_ordered(run, node, input, &spec, down);
    }
    let mut inner = *run;
    if spec.needs_order() {
        inner.dop = 1;
    }
    run_grouped(run, node.id, &spec, down, (&inner, input))
}

/// DISTINCT is grouping by all columns.
pub fn run_distinct<'a>(run: &Run<'a>, node: &'a PlanNode, input: &'a PlanNode, down: &Down<'_>) -> Result<()> {
    let groups: Vec<Expr> =
        input.output.iter().enumerate().map(|(i, c)| Expr::column(i as u32, c.ty, c.nullable)).collect();
    if groups.is_empty() {
        // Rows without columns are all alike.
        return crate::ops::simple::run_limit(run, node, input, Some(1), 0, down);
    }
    let spec = Spec::new(&groups, &[], &[], run, node.id)?;
    run_grouped(run, node.id, &spec, down, (run, input))
}

/// Runs the input into a sink that groups by `spec`, then its groups down. Groups that lie in one leaf each go down at
/// once.
fn run_grouped<'a>(
    run: &Run<'a>,
    node: u32,
    spec: &Spec,
    down: &Down<'_>,
    (inner, input): (&Run<'a>, &'a PlanNode),
) -> Result<()> {
    let sink = AggregateSink::new(run, node, spec);
    match LeafKeys::of(run, input, spec)? {
        None => run_node(inner, input, &Down::sink(node, &sink))?,
        Some(keys) => {
            let stage = LeafGroups { keys, spec, run: *inner, node, rest: &sink };
            run_node(inner, input, &Down::stage(node, &stage, down))?;
        }
    }
    sink.drain(node, down)
}

/// What one thread made, ready to be merged partition by partition.
enum Thread {
    Narrow {
        groups: Groups,
        columns: Vec<Chunk>,
        lists: Vec<Option<GroupList>>,
    },
    /// Each set is taken once.
    Wide(Vec<Mutex<Option<Groups>>>),
}

/// The groups, partition by partition.
struct AggregateSource<'a> {
    inputs: Inputs<'a>,
    /// Empty if `ready` has all.
    threads: Vec<Thread>,
    spilled: Vec<Vec<SpillRun>>,
    ready: Mutex<Option<Groups>>,
    next: AtomicUsize,
    partitions: usize,
}

impl<'a> AggregateSource<'a> {
    fn new(inputs: Inputs<'a>, parts: Vec<Built>) -> Result<AggregateSource<'a>> {
        let Inputs { spec, run, .. } = inputs;
        let is_parted = parts.iter().any(|b| !b.spilled.is_empty() || b.sets.len() > 1);
        let total: usize = parts.iter().flat_map(|b| &b.sets).map(|g| g.count).sum();
        let source = |threads: Vec<Thread>, spilled, ready| AggregateSource {
            inputs,
            partitions: if threads.is_empty() { 1 } else { PARTITIONS },
            threads,
            spilled,
            ready: Mutex::new(ready),
            next: AtomicUsize::new(0),
        };
        let shared = run.ctx.pool.is_worth_sharing(total as f64, PARALLEL_MERGE_GROUPS_MIN as f64);
        if !is_parted && (parts.len() <= 1 || !shared || spec.key_count() == 0) {
            // A single set: the first takes the others in. No input at all still makes one row without GROUP BY.
            let mut sets = parts.into_iter().flat_map(|b| b.sets);
            let mut all = match sets.next() {
                Some(g) => g,
                None => Groups::new(spec, &run, inputs.reservation())?,
            };
            for other in sets {
                all.merge(spec, &run, other)?;
                all.memory.force(all.bytes());
            }
            return Ok(source(Vec::new(), Vec::new(), Some(all)));
        }
        let mut threads = Vec::new();
        let mut spilled: Vec<Vec<SpillRun>> = vec![Vec::new(); PARTITIONS];
        for b in parts {
            threads.push(Thread::new(spec, &run, b.sets)?);
            for (p, r) in b.spilled.into_iter().enumerate() {
                spilled[p].push(r);
            }
        }
        Ok(source(threads, spilled, None))
    }

    /// The merged groups of partition `p`, and runs that did not fit (disjoint from them).
    fn partition(&self, p: usize) -> Result<Built> {
        let Inputs { spec, run, .. } = self.inputs;
        let mut wide = self.threads.iter().filter_map(|t| match t {
            Thread::Wide(sets) => sets[p].lock().expect("no panic while held").take(),
            Thread::Narrow { .. } => None,
        });
        let mut b = match wide.next() {
            Some(set) => Builder::around(self.inputs, 1, set),
            None => Builder::new(self.inputs, 1)?,
        };
        for set in wide {
            b.only_set().merge(spec, &run, set)?;
        }
        for t in &self.threads {
            if let Thread::Narrow { groups, columns, lists } = t
                && let Some(list) = &lists[p]
            {
                run.ctx.check_killed()?;
                b.only_set().merge_share(&run, Share { from: groups, columns, list })?;
            }
        }
        b.charge();
        for run in self.spilled.get(p).into_iter().flatten() {
            self.replay(&mut b, run)?;
        }
        b.finish()
    }

    fn replay(&self, b: &mut Builder<'_>, run: &SpillRun) -> Result<()> {
        for &e in &run.extents {
            self.inputs.run.ctx.check_killed()?;
            let batch = run.file.read(e)?;
            let (keys, args) = batch.columns.split_at(self.inputs.spec.key_count());
            b.push_vectors(keys, args, &batch.selection, batch.rows)?;
        }
        Ok(())
    }
}

impl Thread {
    fn new(spec: &Spec, run: &Run<'_>, mut sets: Vec<Groups>) -> Result<Thread> {
        if sets.len() > 1 {
            return Ok(Thread::Wide(sets.into_iter().map(|s| Mutex::new(Some(s))).collect()));
        }
        run.ctx.check_killed()?;
        let mut groups = sets.pop().expect("a builder makes at least one set");
        let columns = groups.take_key_columns(spec);
        let mut lists: Vec<Option<GroupList>> = (0..PARTITIONS).map(|_| None).collect();
        let table = groups.table.as_ref().expect("only sets with keys are parted");
        table.lists(
            PARTITIONS,
            |hash| partition_of(hash, 0),
            usize::MAX,
            |p, list| {
                lists[p] = Some(list.take());
                Ok::<(), types::Error>(())
            },
        )?;
        Ok(Thread::Narrow { groups, columns, lists })
    }
}

struct AggregatePull<'a> {
    source: &'a AggregateSource<'a>,
    current: Option<Output>,
    ready: Vec<Groups>,
    /// Runs still to be aggregated, with their depth.
    pending: Vec<(SpillRun, u32)>,
}

/// A set on its way out.
struct Output {
    groups: Groups,
    keys: Vec<Chunk>,
    /// Groups before this one are out.
    at: usize,
}

impl Source for AggregateSource<'_> {
    fn local<'b>(&'b self) -> Result<Box<dyn Pull + 'b>> {
        Ok(Box::new(AggregatePull { source: self, current: None, ready: Vec::new(), pending: Vec::new() }))
    }

    fn workers_max(&self) -> usize {
        self.partitions
    }
}

impl AggregatePull<'_> {
    fn take(&mut self, built: Built, depth: u32) {
        self.ready.extend(built.sets);
        self.pending.extend(built.spilled.into_iter().filter(|r| !r.extents.is_empty()).map(|r| (r, depth)));
    }

    /// The next set, if there is one.
    fn load_next(&mut self) -> Result<Option<Groups>> {
        let s = self.source;
        loop {
            if let Some(g) = self.ready.pop() {
                return Ok(Some(g));
            }
            if let Some((run, depth)) = self.pending.pop() {
                let mut b = Builder::new(s.inputs, depth)?;
                s.replay(&mut b, &run)?;
                self.take(b.finish()?, depth + 1);
                continue;
            }
            if s.threads.is_empty() {
                return Ok(s.ready.lock().expect("no panic while held").take());
            }
            let p = s.next.fetch_add(1, Ordering::Relaxed);
            if p >= s.partitions {
                return Ok(None);
            }
            self.take(s.partition(p)?, 2);
        }
    }
}

impl Pull for AggregatePull<'_> {
    fn next(&mut self) -> Result<Option<Batch>> {
        loop {
            if let Some(Output { groups, keys, at }) = &mut self.current
                && *at < groups.count
            {
                let from = *at;
                let run = &self.source.inputs.run;
                let to = groups.batch_end(from, run.ctx.part_bytes());
                *at = to;
                let ctx = run.eval();
                return groups.batch(keys, from, to, &ctx).map(Some);
            }
            self.current = None;
            let Some(mut groups) = self.load_next()? else { return Ok(None) };
            let keys = groups.take_key_columns(self.source.inputs.spec);
            self.current = Some(Output { groups, keys, at: 0 });
        }
    }
}
