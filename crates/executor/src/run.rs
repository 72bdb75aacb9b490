//! Walking the plan: each node runs its inputs into what lies downstream.
//!
//! `run_node(node, down)` makes all rows of `node` arrive at `down`. A streaming operator puts a stage in front of
//! `down` and runs its input; a blocking one runs its input into a sink of its own and then starts a pipeline from what
//! it has. All shared state lives on the stack of these calls, so threads borrow it and nothing outlives the statement.
//!
//! ```text
//!   run_node(Project)              stage Project ─▶ down
//!     run_node(HashJoin)             build: run_node(build input, sink)   then   stage Probe ─▶ stage Project ─▶ down
//!       run_node(Scan)                 pipeline: Scan ─▶ Probe ─▶ Project ─▶ down
//! ```

use crate::agg;
use crate::context::ExecContext;
use crate::memory::MemoryAccountant;
use crate::ops;
use crate::ops::cte::Working;
use crate::ops::sideways::SidewaysFilter;
use crate::pipeline::{Down, PassThrough};
use expr::{EvalContext, Params};
use plan::physical::{PlanNode, PlanOp};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use types::{Error, Result};

/// What an operator sees of its surroundings while it runs.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    pub ctx: &'a ExecContext<'a>,
    pub params: &'a Params,
    pub env: Option<&'a Env<'a>>,
    /// Threads this part of the plan may use.
    pub dop: usize,
    /// Nesting of the plan walked so far.
    pub depth: u32,
}

/// What enclosing operators provide to the plans below them, innermost first.
pub struct Env<'a> {
    pub entry: EnvEntry<'a>,
    pub parent: Option<&'a Env<'a>>,
}

pub enum EnvEntry<'a> {
    /// A common table expression.
    Cte(u32, &'a ops::cte::CteState<'a>),
    /// The rows a recursive CTE's last round made.
    Working(u32, &'a Working),
    /// A walk may give up, and says so here.
    Attempt(&'a AtomicBool),
    /// Filters learnt from a hash join's build side: (filter id, filter).
    Filters(&'a [(u32, Arc<SidewaysFilter>)]),
}

/// Plans nest no deeper; the planner refuses statements long before.
const DEPTH_MAX: u32 = 2000;

impl<'a> Run<'a> {
    pub fn eval(&self) -> EvalContext<'a> {
        let ctx: &'a ExecContext<'a> = self.ctx;
        ctx.eval(self.params)
    }

    /// The same with one more thing provided.
    pub fn with<'b>(&self, env: &'b Env<'b>) -> Run<'b>
    where
        'a: 'b,
    {
        Run { env: Some(env), ..*self }
    }

    pub fn note_spill(&self, node: u32, bytes: u64) {
        if bytes > 0
            && let Some(s) = self.ctx.node_stats.and_then(|set| set.get(node))
        {
            s.spilled_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// The accountant of an operator's states: the statement's, or under EXPLAIN ANALYZE a gauge upon it.
    pub fn memory_of(&self, node: u32) -> Arc<MemoryAccountant> {
        match self.ctx.node_stats.and_then(|set| set.get(node)) {
            Some(s) => s.memory(&self.ctx.memory),
            None => self.ctx.memory.clone(),
        }
    }

    /// The same for one sort of the operator, whose states keep to sort_buffer_size together.
    pub fn sort_memory_of(&self, node: u32) -> Arc<MemoryAccountant> {
        bounded(self.memory_of(node), self.ctx.bounds.sort)
    }

    /// The same for one internal temporary table, whose parts keep to tmp_table_size together.
    pub fn table_memory_of(&self, node: u32) -> Arc<MemoryAccountant> {
        bounded(self.memory_of(node), self.ctx.bounds.table)
    }

    /// Where a walk says that it gives up; `None`: nobody goes on without it.
    pub fn attempt(&self) -> Option<&'a AtomicBool> {
        match self.env {
            Some(Env { entry: EnvEntry::Attempt(gave_up), .. }) => Some(gave_up),
            _ => None,
        }
    }

    pub fn sideways(&self, filter_id: u32) -> Option<Arc<SidewaysFilter>> {
        let mut env = self.env;
        while let Some(e) = env {
            if let EnvEntry::Filters(filters) = &e.entry
                && let Some((_, f)) = filters.iter().find(|(id, _)| *id == filter_id)
            {
                return Some(f.clone());
            }
            env = e.parent;
        }
        None
    }
}

fn bounded(memory: Arc<MemoryAccountant>, bytes: Option<usize>) -> Arc<MemoryAccountant> {
    match bytes {
        Some(bytes) => MemoryAccountant::bound(&memory, bytes),
        None => memory,
    }
}

/// See the module head.
pub fn run_node<'a>(run: &Run<'a>, node: &'a PlanNode, down: &Down<'_>) -> Result<()> {
    let mut run = *run;
    run.depth += 1;
    if run.depth > DEPTH_MAX {
        return Err(Error::internal("the plan is nested too deeply"));
    }
    run.ctx.check_killed()?;
    if let Some(s) = run.ctx.node_stats.and_then(|set| set.get(node.id)) {
        s.loops.fetch_add(1, Ordering::Relaxed);
    }
    // Each arm calls a function of its own, so that the frame of this one, which nests, stays small.
    let run = &run;
    match &node.op {
        PlanOp::OneRow => ops::simple::run_one_row(run, node, down),
        PlanOp::Empty => Ok(()),
        PlanOp::Values { rows } => ops::simple::run_values(run, node, rows, down),
        PlanOp::Scan { .. } => ops::scan::run_scan(run, node, down),
        PlanOp::KeyLookup { .. } => ops::lookup::run_lookup(run, node, down),
        PlanOp::IndexScan { .. } => ops::index_scan::run_index_scan(run, node, down),
        PlanOp::IndexJoin { .. } => ops::index_join::run_index_join(run, node, down),
        PlanOp::Fetch { input, .. } => ops::lookup::run_fetch(run, node, input, down),
        PlanOp::Filter { input, predicates } => ops::simple::run_filter(run, node, input, predicates, down),
        PlanOp::Project { input, exprs } => ops::simple::run_project(run, node, input, exprs, down),
        PlanOp::HashJoin { .. } => ops::join::run_hash_join(run, node, down),
        PlanOp::NestedLoopJoin { .. } => ops::nested_loop::run_nested_loop(run, node, down),
        PlanOp::Apply { .. } => ops::apply::run_apply(run, node, down),
        PlanOp::Aggregate { input, groups, few, aggregates, rollup, ordered } => {
            let grouping = agg::Grouping { groups, few, calls: aggregates, rollup: *rollup, ordered: *ordered };
            agg::run_aggregate(run, node, input, grouping, down)
        }
        PlanOp::Distinct { input } => agg::run_distinct(run, node, input, down),
        PlanOp::Sort { input, keys, limit, offset } => {
            ops::sort::run_sort(run, node, input, keys, *limit, *offset, down)
        }
        PlanOp::Limit { input, limit, offset } => ops::simple::run_limit(run, node, input, *limit, *offset, down),
        PlanOp::Attempt { first, otherwise } => ops::attempt::run_attempt(run, node, first, otherwise, down),
        PlanOp::Window { .. } => ops::window::run_window(run, node, down),
        PlanOp::SetOp { kind, inputs } => ops::set_op::run_set_op(run, node, *kind, inputs, down),
        PlanOp::With { ctes, input } => ops::cte::run_with(run, node, ctes, input, down),
        PlanOp::CteScan { cte_id, .. } => ops::cte::run_cte_scan(run, node, *cte_id, down),
        PlanOp::RecursiveUnion { .. } => ops::cte::run_recursive(run, node, down),
        PlanOp::SingleRow { input } => ops::simple::run_single_row(run, node, input, down),
        PlanOp::Virtual { .. } => ops::simple::run_virtual(run, node, down),
    }
}

/// Runs `input` into `down` on behalf of `node`, which has no work per batch.
pub fn run_through<'a>(run: &Run<'a>, node: &PlanNode, input: &'a PlanNode, down: &Down<'_>) -> Result<()> {
    run_node(run, input, &Down::stage(node.id, &PassThrough, down))
}
