//! Walking logical plans: inputs, output columns, expressions, free columns.
//!
//! Subqueries are not inputs: an expression names them by id, and [`Logical::free_columns`] is the one walk here that
//! follows the ids into [`LogicalQuery::subqueries`].
//!
//! [`LogicalQuery::subqueries`]: super::LogicalQuery::subqueries

use super::{Logical, LogicalJoinKind, SubqueryDef, SubqueryKind};
use expr::{AggCall, ColumnId, Expr, ExprKind, FrameBound, SubqueryId, WindowCall};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Logical {
    /// Direct inputs, left to right. Definitions of a With come before what reads them.
    pub fn inputs(&self) -> Vec<&Logical> {
        use Logical::*;
        match self {
            OneRow | Empty { .. } | Values { .. } | Get { .. } | CteScan { .. } => vec![],
            Filter { input, .. }
            | Project { input, .. }
            | Aggregate { input, .. }
            | Distinct { input }
            | Sort { input, .. }
            | Limit { input, .. }
            | Window { input, .. } => vec![input],
            Join { left, right, .. } => vec![left, right],
            SetOp { inputs, .. } => inputs.iter().map(|(i, _)| i).collect(),
            With { ctes, input } => ctes.iter().map(|c| &c.plan).chain([&**input]).collect(),
            RecursiveUnion { anchor, recursive, .. } => vec![&anchor.0, &recursive.0],
        }
    }

    /// As [`Logical::inputs`], mutable.
    pub fn inputs_mut(&mut self) -> Vec<&mut Logical> {
        use Logical::*;
        match self {
            OneRow | Empty { .. } | Values { .. } | Get { .. } | CteScan { .. } => vec![],
            Filter { input, .. }
            | Project { input, .. }
            | Aggregate { input, .. }
            | Distinct { input }
            | Sort { input, .. }
            | Limit { input, .. }
            | Window { input, .. } => vec![input],
            Join { left, right, .. } => vec![left, right],
            SetOp { inputs, .. } => inputs.iter_mut().map(|(i, _)| i).collect(),
            With { ctes, input } => ctes.iter_mut().map(|c| &mut c.plan).chain([&mut **input]).collect(),
            RecursiveUnion { anchor, recursive, .. } => vec![&mut anchor.0, &mut recursive.0],
        }
    }

    /// The expressions of this node, not of its inputs.
    pub fn exprs(&self) -> Vec<&Expr> {
        use Logical::*;
        match self {
            OneRow
            | Empty { .. }
            | Get { .. }
            | CteScan { .. }
            | Distinct { .. }
            | Limit { .. }
            | SetOp { .. }
            | With { .. }
            | RecursiveUnion { .. } => vec![],
            Values { rows, .. } => rows.iter().flatten().collect(),
            Filter { predicates, .. } => predicates.iter().collect(),
            Project { exprs, .. } => exprs.iter().map(|(_, e)| e).collect(),
            Join { on, .. } => on.iter().collect(),
            Aggregate { groups, aggregates, .. } => {
                groups.iter().map(|(_, e)| e).chain(aggregates.iter().flat_map(|(_, a)| agg_exprs(a))).collect()
            }
            Sort { keys, .. } => keys.iter().map(|(e, _)| e).collect(),
            Window { partition_by, order_by, calls, .. } => partition_by
                .iter()
                .chain(order_by.iter().map(|(e, _)| e))
                .chain(calls.iter().flat_map(|(_, c)| window_exprs(c)))
                .collect(),
        }
    }

    /// As [`Logical::exprs`], mutable.
    pub fn exprs_mut(&mut self) -> Vec<&mut Expr> {
        use Logical::*;
        match self {
            OneRow
            | Empty { .. }
            | Get { .. }
            | CteScan { .. }
            | Distinct { .. }
            | Limit { .. }
            | SetOp { .. }
            | With { .. }
            | RecursiveUnion { .. } => vec![],
            // Constants stay what they are, and shared.
            Values { rows, .. } => match rows.iter().flatten().all(|e| e.as_const().is_some()) {
                true => vec![],
                false => Arc::make_mut(rows).iter_mut().flatten().collect(),
            },
            Filter { predicates, .. } => predicates.iter_mut().collect(),
            Project { exprs, .. } => exprs.iter_mut().map(|(_, e)| e).collect(),
            Join { on, .. } => on.iter_mut().collect(),
            Aggregate { groups, aggregates, .. } => groups
                .iter_mut()
                .map(|(_, e)| e)
                .chain(aggregates.iter_mut().flat_map(|(_, a)| agg_exprs_mut(a)))
                .collect(),
            Sort { keys, .. } => keys.iter_mut().map(|(e, _)| e).collect(),
            Window { partition_by, order_by, calls, .. } => partition_by
                .iter_mut()
                .chain(order_by.iter_mut().map(|(e, _)| e))
                .chain(calls.iter_mut().flat_map(|(_, c)| window_exprs_mut(c)))
                .collect(),
        }
    }

    /// The columns that the node outputs, in no promised order.
    pub fn output_columns(&self) -> Vec<ColumnId> {
        use Logical::*;
        match self {
            OneRow => vec![],
            Empty { columns } | Values { columns, .. } | SetOp { columns, .. } | RecursiveUnion { columns, .. } => {
                columns.clone()
            }
            Get { columns, row_id, .. } => columns.iter().map(|(id, _)| *id).chain(*row_id).collect(),
            CteScan { columns, .. } => columns.iter().map(|(id, _)| *id).collect(),
            Filter { input, .. } | Distinct { input } | Sort { input, .. } | Limit { input, .. } => {
                input.output_columns()
            }
            With { input, .. } => input.output_columns(),
            Project { exprs, .. } => exprs.iter().map(|(id, _)| *id).collect(),
            Aggregate { groups, aggregates, .. } => {
                groups.iter().map(|(id, _)| *id).chain(aggregates.iter().map(|(id, _)| *id)).collect()
            }
            Window { input, calls, .. } => {
                let mut ids = input.output_columns();
                ids.extend(calls.iter().map(|(id, _)| *id));
                ids
            }
            Join { kind, left, right, .. } => {
                let mut ids = left.output_columns();
                match kind {
                    LogicalJoinKind::Inner
                    | LogicalJoinKind::Left
                    | LogicalJoinKind::Full
                    | LogicalJoinKind::Single => ids.extend(right.output_columns()),
                    LogicalJoinKind::Mark { mark, .. } => ids.push(*mark),
                    LogicalJoinKind::Semi | LogicalJoinKind::Anti | LogicalJoinKind::NullAwareAnti => {}
                }
                ids
            }
        }
    }

    /// Calls `f` on every node, parents first.
    pub fn walk<'a>(&'a self, f: &mut impl FnMut(&'a Logical)) {
        f(self);
        for i in self.inputs() {
            i.walk(f);
        }
    }

    /// Calls `f` on every node, parents first; `f` may replace the node, whose new inputs are then visited.
    pub fn walk_mut(&mut self, f: &mut impl FnMut(&mut Logical)) {
        f(self);
        for i in self.inputs_mut() {
            i.walk_mut(f);
        }
    }

    /// Columns that the subtree uses and does not produce, those of its subqueries included.
    pub fn free_columns(&self, subqueries: &[SubqueryDef]) -> BTreeSet<ColumnId> {
        let (mut used, mut produced) = (BTreeSet::new(), BTreeSet::new());
        self.collect_columns(&|id| subqueries.get(id as usize), &mut used, &mut produced);
        &used - &produced
    }

    /// Columns that some node of the subtree produces, those of its subqueries included.
    pub fn produced_columns(&self, subqueries: &[SubqueryDef]) -> BTreeSet<ColumnId> {
        let (mut used, mut produced) = (BTreeSet::new(), BTreeSet::new());
        self.collect_columns(&|id| subqueries.get(id as usize), &mut used, &mut produced);
        produced
    }

    fn collect_columns<'s>(
        &self,
        subqueries: &Definitions<'_, 's>,
        used: &mut BTreeSet<ColumnId>,
        made: &mut BTreeSet<ColumnId>,
    ) {
        self.walk(&mut |node| {
            match node {
                Logical::SetOp { columns, inputs, .. } => {
                    made.extend(columns);
                    used.extend(inputs.iter().flat_map(|(_, ids)| ids));
                }
                Logical::RecursiveUnion { columns, anchor, recursive, .. } => {
                    made.extend(columns);
                    used.extend(anchor.1.iter().chain(&recursive.1));
                }
                Logical::Join { kind: LogicalJoinKind::Mark { mark, .. }, .. } => {
                    made.insert(*mark);
                }
                Logical::Window { calls, .. } => made.extend(calls.iter().map(|(id, _)| *id)),
                Logical::Empty { .. }
                | Logical::Values { .. }
                | Logical::Get { .. }
                | Logical::CteScan { .. }
                | Logical::Project { .. }
                | Logical::Aggregate { .. } => made.extend(node.output_columns()),
                _ => {}
            }
            for e in node.exprs() {
                expr_columns(e, subqueries, used, made);
            }
        });
    }
}

/// Where definitions of subqueries are found.
type Definitions<'d, 's> = dyn Fn(SubqueryId) -> Option<&'s SubqueryDef> + 'd;

/// Columns that an expression reads, its subqueries included, and that are not theirs.
pub fn columns_read<'s>(e: &Expr, subqueries: impl Fn(SubqueryId) -> Option<&'s SubqueryDef>) -> BTreeSet<ColumnId> {
    let (mut used, mut made) = (BTreeSet::new(), BTreeSet::new());
    expr_columns(e, &subqueries, &mut used, &mut made);
    &used - &made
}

fn expr_columns<'s>(
    e: &Expr,
    subqueries: &Definitions<'_, 's>,
    used: &mut BTreeSet<ColumnId>,
    made: &mut BTreeSet<ColumnId>,
) {
    e.walk(&mut |e| match &e.kind {
        ExprKind::Column(id) => {
            used.insert(*id);
        }
        ExprKind::Subquery(id) => {
            let Some(def) = subqueries(*id) else { return };
            def.plan.collect_columns(subqueries, used, made);
            if let SubqueryKind::Quantified { left, .. } = &def.kind {
                for l in left {
                    expr_columns(l, subqueries, used, made);
                }
            }
        }
        _ => {}
    });
}

/// The expressions of an aggregate.
pub fn agg_exprs(a: &AggCall) -> impl Iterator<Item = &Expr> {
    a.args.iter().chain(a.order_by.iter().map(|(e, _)| e))
}

/// As [`agg_exprs`], mutable.
pub fn agg_exprs_mut(a: &mut AggCall) -> impl Iterator<Item = &mut Expr> {
    a.args.iter_mut().chain(a.order_by.iter_mut().map(|(e, _)| e))
}

/// The expressions of a window function, frame bounds included.
pub fn window_exprs(c: &WindowCall) -> impl Iterator<Item = &Expr> {
    let bound = |b| match b {
        &FrameBound::Preceding(ref e) | &FrameBound::Following(ref e) => Some(&**e),
        _ => None,
    };
    c.args.iter().chain(bound(&c.frame.start)).chain(bound(&c.frame.end))
}

/// As [`window_exprs`], mutable.
pub fn window_exprs_mut(c: &mut WindowCall) -> impl Iterator<Item = &mut Expr> {
    let bound = |b| match b {
        &mut FrameBound::Preceding(ref mut e) | &mut FrameBound::Following(ref mut e) => Some(&mut **e),
        _ => None,
    };
    c.args.iter_mut().chain(bound(&mut c.frame.start)).chain(bound(&mut c.frame.end))
}
