//! Status counters that follow from a plan alone: how each join reads its tables (manual, "Server Status Variables").
//!
//! The first table of a join, in the order in which EXPLAIN lists them, counts as `Select_scan` or `Select_range`; the
//! others, as `Select_full_join` or `Select_full_range_join`. Tables found by keys count nothing. A derived table, an
//! operand of a set operation or a definition of WITH is a join of its own.

use crate::explain::index::{Access, access};
use crate::physical::{Plan, PlanNode, PlanOp, SetOpKind, Strategy};

/// See the module head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanCounts {
    pub select_scan: u32,
    pub select_range: u32,
    pub select_full_join: u32,
    pub select_full_range_join: u32,
    pub sort_scan: u32,
    pub sort_range: u32,
    pub created_tmp_tables: u32,
    /// Some table is read whole, or through a whole index: what log_queries_not_using_indexes is about.
    pub no_index_used: bool,
}

/// How a join's first table is read.
#[derive(Clone, Copy, PartialEq)]
enum First {
    /// Not come to yet.
    None,
    Scan,
    Range,
    Keys,
}

/// A join with a materialized subquery.
fn is_kept_subquery(n: &PlanNode) -> bool {
    matches!(n.notes.strategy, Some(Strategy::MaterializeLookup | Strategy::Materialization))
}

impl PlanCounts {
    pub fn of(plan: &Plan) -> PlanCounts {
        let mut counts = PlanCounts::default();
        for root in plan.init.iter().map(|i| &*i.plan).chain([&*plan.root]) {
            counts.node(root, &mut First::None);
        }
        counts
    }

    /// `first`: the first table of the join that the node belongs to.
    fn node(&mut self, n: &PlanNode, first: &mut First) {
        match &n.op {
            PlanOp::Scan { .. } => self.scan(first),
            PlanOp::KeyLookup { keys, .. } if keys.len() > 1 => self.range(first),
            PlanOp::IndexScan { entries, .. } if entries.jumps() || entries.merge.is_some() => self.range(first),
            PlanOp::IndexScan { ranges, .. } => match access(ranges) {
                Access::Whole => self.scan(first),
                Access::Lookup | Access::LookupOrNull => self.found(first, First::Keys),
                Access::Range => self.range(first),
            },
            PlanOp::KeyLookup { .. } | PlanOp::Virtual { .. } | PlanOp::CteScan { .. } => {
                self.found(first, First::Keys);
            }
            PlanOp::HashJoin { probe, build, .. } if is_kept_subquery(n) => {
                self.created_tmp_tables += 1;
                self.node(build, first);
                self.node(probe, first);
            }
            PlanOp::NestedLoopJoin { probe, build, .. } => {
                self.node(probe, first);
                self.node(build, first);
            }
            PlanOp::Sort { input, .. } => {
                self.node(input, first);
                if *first == First::Range { self.sort_range += 1 } else { self.sort_scan += 1 }
            }
            PlanOp::Aggregate { .. } if n.notes.optimized_away => self.found(first, First::Keys),
            PlanOp::Attempt { first: walk, .. } => self.node(walk, first),
            PlanOp::Aggregate { input, groups, ordered, .. } => {
                self.created_tmp_tables += u32::from(!groups.is_empty() && !*ordered);
                self.apart(input, first);
            }
            PlanOp::Distinct { input } | PlanOp::Window { input, .. } => {
                self.created_tmp_tables += 1;
                self.node(input, first);
            }
            PlanOp::SetOp { kind, inputs } => {
                self.created_tmp_tables += u32::from(*kind != SetOpKind::UnionAll);
                inputs.iter().for_each(|i| self.node(i, &mut First::None));
                self.found(first, First::Scan);
            }
            PlanOp::With { ctes, input } => {
                self.created_tmp_tables += ctes.len() as u32;
                ctes.iter().for_each(|c| self.node(&c.plan, &mut First::None));
                self.node(input, first);
            }
            PlanOp::RecursiveUnion { anchor, recursive, .. } => {
                self.created_tmp_tables += 1;
                self.node(anchor, &mut First::None);
                self.node(recursive, &mut First::None);
            }
            PlanOp::Apply { input, subplan, .. } => {
                self.node(input, first);
                self.node(subplan, &mut First::None);
            }
            _ => n.inputs().into_iter().for_each(|i| self.node(i, first)),
        }
    }

    /// What is aggregated before it is joined is a join of its own.
    fn apart(&mut self, input: &PlanNode, first: &mut First) {
        if *first == First::None {
            self.node(input, first);
        } else {
            self.node(input, &mut First::None);
        }
    }

    fn scan(&mut self, first: &mut First) {
        self.no_index_used = true;
        match first {
            First::None => self.select_scan += 1,
            _ => self.select_full_join += 1,
        }
        self.found(first, First::Scan);
    }

    fn range(&mut self, first: &mut First) {
        match first {
            First::None => self.select_range += 1,
            _ => self.select_full_range_join += 1,
        }
        self.found(first, First::Range);
    }

    fn found(&self, first: &mut First, how: First) {
        if *first == First::None {
            *first = how;
        }
    }
}
