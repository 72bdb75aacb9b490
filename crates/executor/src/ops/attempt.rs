//! Attempt: the first rows in an order by a walk through an index, which gives up if they lie too far from its
//! beginning.
//!
//! ```text
//!   WHERE b = 7 ORDER BY a LIMIT 10     index (a) ─ entries ─▶ b = 7? ─ 10 rows ─▶ done
//!                                           └ too many entries ─▶ away with them ─▶ scan ─ b = 7? ─▶ first 10
//! ```
//! Where the rows that match lie along the order is not known: ten of a thousand matches may lie under the first
//! hundred entries or behind them all. The walk is bounded by what the other way costs, so that the statement never
//! takes much more than twice that. The rows of the walk, no more than the LIMIT has, are kept until it has succeeded.

use crate::ops::collect::{BatchSource, Keep, collect};
use crate::pipeline::{Down, run_pipeline};
use crate::run::{Env, EnvEntry, Run, run_through};
use plan::physical::PlanNode;
use std::sync::atomic::{AtomicBool, Ordering};
use types::Result;

pub fn run_attempt<'a>(
    run: &Run<'a>,
    node: &'a PlanNode,
    first: &'a PlanNode,
    otherwise: &'a PlanNode,
    down: &Down<'_>,
) -> Result<()> {
    let gave_up = AtomicBool::new(false);
    let env = Env { entry: EnvEntry::Attempt(&gave_up), parent: run.env };
    let stored = collect(&run.with(&env), first, node.id, Keep::Rows)?;
    if gave_up.load(Ordering::Relaxed) {
        drop(stored);
        return run_through(run, node, otherwise, down);
    }
    let batches = (0..stored.batch_count()).map(|i| stored.batch(run, i)).collect::<Result<_>>()?;
    run_pipeline(run, node.id, &BatchSource::new(batches, true), down)
}
