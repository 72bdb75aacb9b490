//! The optimizer: from a bound query to the plan that runs.
//!
//! ```text
//!   bound query
//!     │  subqueries       expressions' subqueries become (dependent) joins and parameters
//!     │  ctes             CTEs read once are inlined
//!     │  pushdown         predicates sink; outer joins become inner
//!     │  unnest           dependent joins become joins
//!     │  pushdown, table elimination, simplifications
//!     │  join order       per block of joins, by cost
//!     ▼  physical         access paths, join methods, positions
//!   plan
//! ```
//!
//! Every pass keeps the meaning of the tree for all data, NULLs and empty tables included; statistics only choose.
//! Passes are listed by name in [`PASSES`]; [`optimize_traced`] records the tree after each. In debug builds [`verify`]
//! checks the tree between passes.

pub mod cardinality;
mod column_set;
mod context;
pub mod cost;
mod cte;
mod elimination;
mod functional;
mod join_order;
mod lookup_cost;
mod physical;
mod predicates;
mod properties;
mod pushdown;
mod ranges;
mod sample;
pub mod settings;
mod strategy;
mod subquery;
pub mod switches;
mod tree;
mod unnest;
mod verify;

pub use column_set::ColumnSet;
pub use settings::{Limits, OptimizerSettings};
pub use switches::Switches;

use cardinality::Estimator;
use catalog::Statistics;
use context::Context;
use plan::Plan;
use plan::explain::Weighed;
use plan::logical::display::display_node;
use plan::logical::{Logical, LogicalQuery};
use pushdown::{Hinted, Pushing};
use types::{Overseer, Pace, Result};

type Pass = fn(Logical, &mut Context) -> Result<Logical>;

/// The rewrites, in order. A name may occur twice.
const PASSES: &[(&str, Pass)] = &[
    ("subqueries_to_joins", subquery::subqueries_to_joins),
    ("inline_ctes", inline_ctes),
    ("push_predicates", push_predicates),
    ("unnest", unnest::unnest),
    ("push_predicates", push_predicates),
    ("table_elimination", elimination::eliminate_tables),
    ("reduce_groups", reduce_groups),
    ("join_order", join_order),
];

fn inline_ctes(node: Logical, cx: &mut Context) -> Result<Logical> {
    if cx.settings.switch.derived_merge { cte::inline_single_use(node, cx) } else { Ok(node) }
}

fn push_predicates(node: Logical, cx: &mut Context) -> Result<Logical> {
    if !cx.settings.condition_pushdown {
        return Ok(node);
    }
    let hinted = Hinted { columns: &cx.columns, blocks: &cx.derived_pushdown };
    pushdown::push_predicates(node, Pushing::new(cx.settings), Some(hinted), &cx.pace)
}

fn reduce_groups(node: Logical, cx: &mut Context) -> Result<Logical> {
    if cx.settings.functional_groups { functional::reduce_groups(node, cx) } else { Ok(node) }
}

fn join_order(node: Logical, cx: &mut Context) -> Result<Logical> {
    if !cx.settings.reorder_joins {
        return Ok(node);
    }
    let columns = cx.columns.clone();
    let mut est = Estimator::new(cx.stats, &columns);
    est.fanout_filter = cx.settings.switch.condition_fanout_filter;
    join_order::order_joins(node, cx, &mut est)
}

/// The plan of a bound query.
pub fn optimize(query: LogicalQuery, stats: &dyn Statistics, settings: &OptimizerSettings) -> Result<Plan> {
    optimize_traced(query, stats, settings, None, None)
}

/// As [`optimize`]. It ends with the overseer's error as soon as it has one; `trace` gets the tree after each pass,
/// printed, and what was weighed.
pub fn optimize_traced<'a>(
    query: LogicalQuery,
    stats: &'a dyn Statistics,
    settings: &'a OptimizerSettings,
    overseer: Option<&'a dyn Overseer>,
    trace: Option<&mut Weighed>,
) -> Result<Plan> {
    if depth(&query) <= CALLERS_STACK_DEPTH_MAX {
        return run_passes(query, stats, settings, overseer, trace);
    }
    // The passes recur over the tree; a deep one gets a stack of its own.
    let hand_over = || overseer.into_iter().for_each(|o| o.hand_over());
    let take_over = || overseer.into_iter().for_each(|o| o.take_over());
    hand_over();
    let plan = std::thread::scope(|s| {
        let run = || {
            take_over();
            let plan = run_passes(query, stats, settings, overseer, trace);
            hand_over();
            plan
        };
        std::thread::Builder::new()
            .stack_size(DEEP_STACK_BYTES)
            .spawn_scoped(s, run)
            .map_err(|e| types::Error::internal(format_args!("no thread to plan on: {e}")))?
            .join()
            .unwrap_or_else(|_| Err(types::Error::internal("the optimizer failed on a deep query")))
    });
    take_over();
    plan
}

/// Levels of a tree that any thread's stack bears.
const CALLERS_STACK_DEPTH_MAX: usize = 100;
/// Address space, not memory: what is not touched is not there.
const DEEP_STACK_BYTES: usize = 512 << 20;

/// A bound on the levels of the query's tree once its subqueries are part of it.
fn depth(query: &LogicalQuery) -> usize {
    let of = |node: &Logical| {
        let mut deepest = 0;
        let mut open = vec![(node, 1)];
        while let Some((n, d)) = open.pop() {
            deepest = deepest.max(d);
            open.extend(n.inputs().into_iter().map(|i| (i, d + 1)));
        }
        deepest
    };
    of(&query.root) + query.subqueries.iter().map(|s| of(&s.plan)).sum::<usize>()
}

fn run_passes<'a>(
    mut query: LogicalQuery,
    stats: &'a dyn Statistics,
    settings: &'a OptimizerSettings,
    overseer: Option<&'a dyn Overseer>,
    trace: Option<&mut Weighed>,
) -> Result<Plan> {
    let root = tree::take(&mut query.root);
    let mut cx =
        Context::new(&root, std::mem::take(&mut query.columns), std::mem::take(&mut query.subqueries), stats, settings);
    cx.pace = Pace::new(overseer);
    cx.weighed = trace.is_some().then(Default::default);
    cx.join_order = std::mem::take(&mut query.join_order);
    cx.derived_pushdown = std::mem::take(&mut query.derived_pushdown);
    cx.next_param = cx.next_param.max(query.param_count);
    let plan = passed(root, &query, &mut cx);
    if let (Some(trace), Some(weighed)) = (trace, cx.weighed.take()) {
        *trace = weighed.into_inner();
    }
    plan
}

/// Every pass, and the physical plan.
fn passed(mut root: Logical, query: &LogicalQuery, cx: &mut Context) -> Result<Plan> {
    for (name, pass) in PASSES {
        cx.pace.check()?;
        root = pass(root, cx)?;
        // Subqueries that run on their own take every pass but the first, which made them.
        let mut init = std::mem::take(&mut cx.init);
        if *name != "subqueries_to_joins" {
            for i in &mut init {
                i.plan = pass(tree::take(&mut i.plan), cx)?;
            }
        }
        init.append(&mut cx.init);
        cx.init = init;
        if cfg!(debug_assertions) {
            verify::verify(&root, name)?;
            for i in &cx.init {
                verify::verify(&i.plan, name)?;
            }
        }
        if let Some(weighed) = &cx.weighed {
            let mut text = display_node(&root, &cx.columns);
            for i in &cx.init {
                text += &format!("?{} {:?}\n{}", i.param, i.kind, display_node(&i.plan, &cx.columns));
            }
            weighed.borrow_mut().passes.push((name.to_string(), text));
        }
    }
    physical::plan(&root, query, cx)
}
