//! The inputs of plan nodes.

use crate::physical::{PlanNode, PlanOp};

/// One list for both ways to borrow.
macro_rules! inputs_of {
    ($op:expr, $iter:ident, $($borrow:tt)+) => {
        match $op {
            PlanOp::OneRow
            | PlanOp::Empty
            | PlanOp::Values { .. }
            | PlanOp::Scan { .. }
            | PlanOp::KeyLookup { .. }
            | PlanOp::IndexScan { .. }
            | PlanOp::CteScan { .. }
            | PlanOp::Virtual { .. } => vec![],
            PlanOp::Fetch { input, .. }
            | PlanOp::IndexJoin { input, .. }
            | PlanOp::Filter { input, .. }
            | PlanOp::Project { input, .. }
            | PlanOp::Aggregate { input, .. }
            | PlanOp::Distinct { input }
            | PlanOp::Sort { input, .. }
            | PlanOp::Limit { input, .. }
            | PlanOp::Window { input, .. }
            | PlanOp::SingleRow { input } => vec![input],
            PlanOp::Attempt { first, otherwise } => vec![first, otherwise],
            PlanOp::HashJoin { probe, build, .. } | PlanOp::NestedLoopJoin { probe, build, .. } => vec![build, probe],
            PlanOp::Apply { input, subplan, unknown, .. } => {
                let unknown = unknown.$iter().map(|u| $($borrow)+ *u.subplan);
                [$($borrow)+ **input, $($borrow)+ **subplan].into_iter().chain(unknown).collect()
            }
            PlanOp::SetOp { inputs, .. } => inputs.$iter().collect(),
            PlanOp::With { ctes, input } => {
                ctes.$iter().map(|c| $($borrow)+ *c.plan).chain(std::iter::once($($borrow)+ **input)).collect()
            }
            PlanOp::RecursiveUnion { anchor, recursive, .. } => vec![anchor, recursive],
        }
    };
}

impl PlanNode {
    /// Inputs, in execution order of their first row (build sides first).
    pub fn inputs(&self) -> Vec<&PlanNode> {
        inputs_of!(&self.op, iter, &)
    }

    /// As [`PlanNode::inputs`], mutable.
    pub fn inputs_mut(&mut self) -> Vec<&mut PlanNode> {
        inputs_of!(&mut self.op, iter_mut, &mut)
    }
}
