//! COUNT(*) of a whole table: leaves say how many rows the snapshot sees, without making batches of them.
//!
//! ```text
//!   leaf without versions     its counter
//!   leaf with versions        its counter, set right by the rows that have versions
//! ```
//! COUNT of what is never NULL is the same. For users it stays a scan, in EXPLAIN and in the counters: each leaf is
//! looked at, one after the other on the statement's thread, at the cost of some cache misses a thousand rows.

use crate::ops::collect::BatchSource;
use crate::pipeline::{Down, run_pipeline};
use crate::run::Run;
use expr::{AggCall, AggFunc, Expr, ExprKind};
use plan::physical::{PlanNode, PlanOp};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use types::{Error, Result};
use vector::{Batch, Chunk, Values, Vector};

/// Leaves counted between two looks at the kill flag.
const LEAVES_MAX: usize = 1024;

/// Whether all that is asked is how many rows a table has.
pub fn counts_rows(input: &PlanNode, groups: &[Expr], calls: &[AggCall]) -> bool {
    let PlanOp::Scan { filters, sideways, .. } = &input.op else { return false };
    let is_never_null = |e: &Expr| !e.nullable && matches!(e.kind, ExprKind::Column(_) | ExprKind::Const(_));
    let counts_all = |c: &AggCall| match c.func {
        AggFunc::CountStar => true,
        AggFunc::Count => !c.distinct && c.args.iter().all(is_never_null),
        _ => false,
    };
    groups.is_empty() && filters.is_empty() && sideways.is_empty() && !calls.is_empty() && calls.iter().all(counts_all)
}

/// Runs an aggregation of which [`counts_rows`] holds.
pub fn run_count(run: &Run<'_>, node: &PlanNode, scan: &PlanNode, calls: &[AggCall], down: &Down<'_>) -> Result<()> {
    let PlanOp::Scan { table, .. } = &scan.op else { return Err(Error::internal("not a Scan node")) };
    let reader = run.ctx.tables.open(table)?;
    let since = Instant::now();
    let leaf_count = reader.leaf_count();
    let (mut rows, mut leaves_read) = (0, 0);
    for leaf in 0..leaf_count {
        if leaf % LEAVES_MAX == 0 {
            run.ctx.check_killed()?;
        }
        let n = reader.count(leaf)? as u64;
        rows += n;
        leaves_read += u64::from(n > 0);
    }
    let counters = run.ctx.counters;
    counters.leaves_total.fetch_add(leaf_count as u64, Relaxed);
    counters.leaves_read.fetch_add(leaves_read, Relaxed);
    counters.leaves_skipped.fetch_add(leaf_count as u64 - leaves_read, Relaxed);
    counters.innodb_buffer_pool_read_requests.fetch_add(leaves_read, Relaxed);
    counters.scanned(rows);
    reader.note_read(None, rows);
    if let Some(set) = run.ctx.node_stats
        && let Some(s) = set.get(scan.id)
    {
        s.loops.fetch_add(1, Relaxed);
        s.rows.fetch_add(rows, Relaxed);
        s.self_ns.fetch_add(since.elapsed().as_nanos() as i64, Relaxed);
        let _ = s.first_row_ns.compare_exchange(0, set.elapsed_ns().max(1), Relaxed, Relaxed);
        s.last_row_ns.fetch_max(set.elapsed_ns().max(1), Relaxed);
    }
    let count = i64::try_from(rows).map_err(|_| Error::internal("more rows than can be counted"))?;
    let column = || Vector::flat(Chunk::new(Values::I64(vec![count]), None));
    let columns = calls.iter().map(|_| column()).collect();
    run_pipeline(run, node.id, &BatchSource::new(vec![Batch::new(1, columns)], true), down)
}
