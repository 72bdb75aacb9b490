//! Sideways filters: what a hash join's build side holds narrows the scans of its probe side.
//!
//! A join that drops probe rows without a match may drop them earlier. The key's column is followed down the probe side
//! as long as dropping rows there removes exactly output rows with that key value:
//!
//! ```text
//!   filter, projection, sort, distinct   pass
//!   join, probe side                     pass where probe rows stay themselves (inner, left, semi, anti, mark, single)
//!   join, build side                     pass for inner, right semi and right anti joins
//!   aggregation                          pass on a group column: whole groups go
//!   window                               pass on a partition column
//!   UNION ALL                            passes into every input
//!   LIMIT, top-N, CTE                    stop
//! ```

use expr::ExprKind;
use plan::{JoinKind, PlanNode, PlanOp, SidewaysSource, SidewaysTarget};

/// A build side with more rows than this share of the scan's is not worth a filter, unless it is small.
const SHARE_MAX: f64 = 1.0;
const SMALL_BUILD_ROWS: f64 = 10_000.0;

/// Adds the filters of every hash join of the plan.
pub(super) fn add(node: &mut PlanNode, next: &mut u32) {
    if let PlanOp::HashJoin { kind, probe, build, keys, sideways, .. } = &mut node.op
        && matches!(
            kind,
            JoinKind::Inner | JoinKind::Semi | JoinKind::Right | JoinKind::RightSemi | JoinKind::RightAnti
        )
    {
        for (i, k) in keys.iter().enumerate() {
            let ExprKind::Column(c) = k.probe.kind else { continue };
            if k.null_safe || k.probe.ty.phys() != k.build.ty.phys() {
                continue;
            }
            // Nothing was filtered on the build side: it holds every value there is.
            if !narrowed(build) {
                continue;
            }
            let build_rows = build.estimated_rows;
            attach(probe, c as usize, &mut |scan, position| {
                if build_rows > SHARE_MAX * scan.estimated_rows.max(1.0) && build_rows > SMALL_BUILD_ROWS {
                    return;
                }
                let filter_id = *next;
                *next += 1;
                if let PlanOp::Scan { sideways, .. } = &mut scan.op {
                    sideways.push(SidewaysTarget { filter_id, column: position });
                }
                sideways.push(SidewaysSource { filter_id, key: i });
            });
        }
    }
    for c in node.inputs_mut() {
        add(c, next);
    }
}

/// Does anything below hold back rows?
pub(super) fn narrowed(node: &PlanNode) -> bool {
    match &node.op {
        PlanOp::Scan { filters, .. } => !filters.is_empty(),
        PlanOp::IndexScan { ranges, filters, .. } => !filters.is_empty() || ranges.iter().any(|r| r.parts() > 0),
        PlanOp::KeyLookup { .. } | PlanOp::IndexJoin { .. } | PlanOp::Filter { .. } | PlanOp::Limit { .. } => true,
        PlanOp::Sort { limit, .. } => limit.is_some() || node.inputs().into_iter().any(narrowed),
        _ => node.inputs().into_iter().any(narrowed),
    }
}

/// Calls `found` with each scan that column `c` of `node` comes from unaltered.
fn attach(node: &mut PlanNode, c: usize, found: &mut dyn FnMut(&mut PlanNode, usize)) {
    match &mut node.op {
        PlanOp::Scan { project, .. } => {
            if let Some(p) = project.get(c).copied() {
                found(node, p);
            }
        }
        PlanOp::Filter { input, .. }
        | PlanOp::Distinct { input }
        | PlanOp::Sort { input, limit: None, offset: 0, .. } => attach(input, c, found),
        PlanOp::Project { input, exprs } => {
            if let Some(ExprKind::Column(i)) = exprs.get(c).map(|e| &e.kind) {
                attach(input, *i as usize, found);
            }
        }
        PlanOp::Aggregate { input, groups, rollup: false, .. } => {
            if let Some(ExprKind::Column(i)) = groups.get(c).map(|e| &e.kind) {
                attach(input, *i as usize, found);
            }
        }
        PlanOp::Window { input, partition_by, .. }
            if c < input.output.len() && partition_by.iter().any(|p| p.kind == ExprKind::Column(c as u32)) =>
        {
            attach(input, c, found);
        }
        PlanOp::SetOp { kind: plan::SetOpKind::UnionAll, inputs } => {
            for i in inputs {
                attach(i, c, found);
            }
        }
        PlanOp::With { input, .. } => attach(input, c, found),
        PlanOp::IndexJoin {
            input,
            project,
            kind: JoinKind::Inner | JoinKind::Left | JoinKind::Semi | JoinKind::Anti,
            ..
        } => {
            if let Some(&n) = project.get(c)
                && n < input.output.len()
            {
                attach(input, n, found);
            }
        }
        PlanOp::HashJoin { kind, probe, build, project, .. }
        | PlanOp::NestedLoopJoin { kind, probe, build, project, .. } => {
            let Some(&n) = project.get(c) else { return };
            let probe_columns = probe.output.len();
            match kind {
                JoinKind::Inner if n < probe_columns => attach(probe, n, found),
                JoinKind::Inner => attach(build, n - probe_columns, found),
                JoinKind::Left
                | JoinKind::Single
                | JoinKind::Semi
                | JoinKind::Anti
                | JoinKind::NullAwareAnti
                | JoinKind::Mark { .. }
                    if n < probe_columns =>
                {
                    attach(probe, n, found)
                }
                JoinKind::RightSemi | JoinKind::RightAnti => attach(build, n, found),
                _ => {}
            }
        }
        _ => {}
    }
}
