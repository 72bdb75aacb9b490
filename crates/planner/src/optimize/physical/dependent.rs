//! Dependent subqueries: the right side of a join run anew for the values of each left row, the join condition pushed
//! into it.
//!
//! ```text
//!   L ⨝ x = s  R      becomes      Apply ?1 = x
//!                                    L
//!                                    σ s = ?1 (R), the condition as deep in R as it goes: an index finds its rows
//! ```
//! This is how correlated subqueries run that are not unnested, how `IN` becomes EXISTS, and how a grouped derived
//! table is computed for the few groups that are asked for. It beats a join that computes R once where L has few rows
//! and R answers one value quickly.

use super::{Built, Physical, UNNAMED};
use crate::optimize::cardinality::{Estimate, group_count, join_equality};
use crate::optimize::column_set::ColumnSet;
use crate::optimize::join_order::order_joins;
use crate::optimize::properties::{can_be_null, not_null};
use crate::optimize::pushdown::{Pushing, push_predicates};
use crate::optimize::tree::{
    and, as_column, compare, differs_by_call, expr_columns, filter, free_columns, is_not_null, is_volatile, not,
    output_set, outputs, substitute, visit, visit_mut,
};
use expr::{CmpOp, ColumnId, Expr, ExprKind, ParamId, Truth};
use plan::logical::{Logical, LogicalJoinKind};
use plan::{JoinKind, PlanOp, Strategy, UnknownTest};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use types::{Error, Result, SqlType};

/// Alternatives within alternatives that are looked at.
const NESTING_MAX: u32 = 2;
/// The same where there is no other way.
const FORCED_NESTING_MAX: u32 = 8;
/// How many times cheaper than a join a dependent run must look: it rests on more estimates.
const MARGIN: f64 = 3.0;

/// A right side made ready to be run for each left row.
pub(super) struct Dependent {
    params: Vec<(ParamId, Expr)>,
    subplan: Built,
    columns: Vec<ColumnId>,
    unknown: Vec<UnknownTest>,
    /// What came of a value says nothing of its next occurrence.
    volatile: bool,
    /// All runs together.
    pub cost: f64,
}

/// The outer expressions that a right side reads, as parameters.
#[derive(Default)]
struct Params {
    list: Vec<(ParamId, Expr)>,
    columns: HashMap<ColumnId, Expr>,
}

impl Physical<'_, '_> {
    /// A dependent join that stayed one.
    pub(super) fn apply(&mut self, node: &Logical, needed: &ColumnSet) -> Result<Built> {
        let Logical::Join { kind, left, right, on, .. } = node else {
            return Err(Error::internal("a join that is none"));
        };
        let lo = output_set(left);
        let mut outer = free_columns(right);
        on.iter().for_each(|p| outer.union_with(&expr_columns(p)));
        let l = self.convert(left, &needed.intersection(&lo).union(&outer.intersection(&lo)))?;
        let dependent = self.dependent(&l, *kind, right, on, needed)?;
        let inputs = [l.estimate.clone(), dependent.subplan.estimate.clone()];
        let estimate = match kind {
            // The condition has been applied.
            LogicalJoinKind::Inner => {
                let mut e = inputs[0].clone();
                e.columns.extend(inputs[1].columns.iter().map(|(c, e)| (*c, *e)));
                e.rows = inputs[0].rows * inputs[1].rows;
                e
            }
            _ => self.est.node(node, &inputs),
        };
        let strategy = match kind {
            LogicalJoinKind::Inner | LogicalJoinKind::Left | LogicalJoinKind::Single => None,
            _ => Some(Strategy::InToExists),
        };
        self.applied(l, *kind, dependent, estimate, strategy)
    }

    /// The dependent way to run a join whose sides are independent, if it costs less than `budget`.
    pub(super) fn dependent_path(
        &mut self,
        l: &Built,
        kind: LogicalJoinKind,
        right: &Logical,
        on: &[Expr],
        needed: &ColumnSet,
        budget: f64,
    ) -> Result<Option<Dependent>> {
        let runs = if budget.is_finite() { l.rows().min(self.runs(l, on)) } else { 0.0 };
        let cheapest = l.cost() + runs * self.cx.settings.cost.subquery_run;
        let nesting_max = if budget.is_finite() { NESTING_MAX } else { FORCED_NESTING_MAX };
        if cheapest * MARGIN > budget || self.nesting >= nesting_max || on.is_empty() || !repeatable(right, on) {
            return Ok(None);
        }
        let read = self.rows_read;
        self.nesting += 1;
        let made = self.dependent(l, kind, right, on, needed);
        self.nesting -= 1;
        let made = made?;
        if (l.cost() + made.cost) * MARGIN < budget {
            return Ok(Some(made));
        }
        self.rows_read = read;
        Ok(None)
    }

    /// Distinct values of what the condition reads of the left side.
    fn runs(&self, l: &Built, on: &[Expr]) -> f64 {
        let mut columns = ColumnSet::new();
        on.iter().for_each(|p| columns.union_with(&expr_columns(p)));
        let read: Vec<Expr> =
            l.layout.iter().filter(|c| columns.contains(**c)).map(|c| self.cx.columns.expr(*c)).collect();
        if read.is_empty() { 1.0 } else { group_count(read.iter(), &l.estimate) }
    }

    fn dependent(
        &mut self,
        l: &Built,
        kind: LogicalJoinKind,
        right: &Logical,
        on: &[Expr],
        needed: &ColumnSet,
    ) -> Result<Dependent> {
        let lo: ColumnSet = l.layout.iter().copied().filter(|c| *c != UNNAMED).collect();
        let ro = output_set(right);
        let mut params = Params::default();
        let mut right = right.clone();
        let free = free_columns(&right).intersection(&lo);
        let map = self.column_params(&free, &mut params);
        visit_mut(&mut right, &mut |n| n.exprs_mut().into_iter().for_each(|e| substitute(e, &map)));
        let mut conditions = vec![];
        for p in on {
            conditions.push(self.pushed_condition(p, &lo, &ro, &mut params));
        }
        let joins = matches!(kind, LogicalJoinKind::Inner | LogicalJoinKind::Left | LogicalJoinKind::Single);
        let tree = self.prepared(right.clone(), conditions.clone())?;
        let columns: Vec<ColumnId> =
            if joins { outputs(&tree).into_iter().filter(|c| needed.contains(*c)).collect() } else { vec![] };
        let tree = if joins { tree } else { first_row(tree) };
        let before = self.rows_read;
        let subplan = self.exact(&tree, &columns)?;
        let mut unknown = vec![];
        let mut tests_cost = 0.0;
        if matches!(kind, LogicalJoinKind::NullAwareAnti | LogicalJoinKind::Mark { null_aware: true, .. }) {
            (unknown, tests_cost) = self.unknown_tests(l, &right, on, &conditions, &params)?;
        }
        let values: Vec<Expr> = params.list.iter().map(|p| p.1.clone()).collect();
        let cached = self.cx.settings.switch.subquery_cache;
        let volatile = differs_by_call(&right);
        let distinct = if values.is_empty() { 1.0 } else { group_count(values.iter(), &l.estimate) };
        let runs = if cached && !volatile { distinct.min(l.rows()) } else { l.rows() };
        self.rows_read = before + (self.rows_read - before).min(subplan.cost()) * runs.max(1.0);
        let cost = runs * self.one_run(&subplan) + tests_cost;
        let mut resolved = vec![];
        for (id, e) in &params.list {
            resolved.push((*id, self.resolve(e, &l.layout, &l.not_null)?));
        }
        Ok(Dependent { params: resolved, subplan, columns, unknown, volatile, cost })
    }

    /// Each operator of the subplan is set up anew.
    fn one_run(&self, subplan: &Built) -> f64 {
        fn operators(n: &plan::PlanNode) -> usize {
            1 + n.inputs().into_iter().map(operators).sum::<usize>()
        }
        subplan.cost() + operators(&subplan.node) as f64 * self.cx.settings.cost.subquery_run
    }

    /// Parameters for outer columns, and what replaces the columns.
    fn column_params(&mut self, columns: &ColumnSet, params: &mut Params) -> HashMap<ColumnId, Expr> {
        for c in columns.iter() {
            if let Entry::Vacant(slot) = params.columns.entry(c) {
                let e = self.cx.columns.expr(c);
                let p = self.cx.new_param();
                slot.insert(Expr::new(ExprKind::Param(p), e.ty, true));
                params.list.push((p, e));
            }
        }
        params.columns.clone()
    }

    /// A conjunct of the join condition with the outer side's part as a parameter: all of it, in an equality.
    fn pushed_condition(&mut self, p: &Expr, lo: &ColumnSet, ro: &ColumnSet, params: &mut Params) -> Expr {
        if let Some((outer, inner, null_safe)) = join_equality(p, lo, ro)
            && as_column(&outer).is_none()
            && !is_volatile(&outer)
        {
            let id = self.cx.new_param();
            let value = Expr::new(ExprKind::Param(id), outer.ty, true);
            params.list.push((id, outer));
            return compare(if null_safe { CmpOp::NullSafeEq } else { CmpOp::Eq }, inner, value);
        }
        let map = self.column_params(&expr_columns(p).intersection(lo), params);
        let mut p = p.clone();
        substitute(&mut p, &map);
        p
    }

    /// The right side under conditions, pushed down anew, its joins in an order that suits them.
    fn prepared(&mut self, right: Logical, conditions: Vec<Expr>) -> Result<Logical> {
        let mut tree = filter(right, conditions);
        let settings = self.cx.settings;
        if settings.condition_pushdown {
            let pushing = Pushing { transitive: settings.transitive_predicates, ..Pushing::ALL };
            tree = push_predicates(tree, pushing, None, &self.cx.pace)?;
        }
        if settings.reorder_joins {
            tree = order_joins(tree, self.cx, &mut self.est)?;
        }
        Ok(tree)
    }

    /// What tells UNKNOWN from FALSE where no row of `right` meets `conditions`, and what it costs.
    fn unknown_tests(
        &mut self,
        l: &Built,
        right: &Logical,
        on: &[Expr],
        conditions: &[Expr],
        params: &Params,
    ) -> Result<(Vec<UnknownTest>, f64)> {
        let facts = l.not_null.union(&not_null(right));
        let open: Vec<usize> = (0..on.len()).filter(|i| can_be_null(&on[*i], &facts)).collect();
        let rest: Vec<Expr> = (0..on.len()).filter(|i| !open.contains(i)).map(|i| conditions[i].clone()).collect();
        let mut found: Vec<(WhenNull, Vec<Expr>)> = vec![];
        if open.is_empty() {
            return Ok((vec![], 0.0));
        }
        let own: Vec<ParamId> = params.list.iter().map(|p| p.0).collect();
        let single = match open[..] {
            [i] => two_sides(&conditions[i], &own),
            _ => None,
        };
        match single {
            Some((x, s)) => {
                let value = params.list.iter().find(|p| p.0 == x).map(|p| &p.1);
                if value.is_none_or(|e| can_be_null(e, &l.not_null)) {
                    found.push((Some((x, true)), rest.clone()));
                }
                if can_be_null(&s, &not_null(right)) {
                    let mut with = rest;
                    with.push(not(is_not_null(s)));
                    found.push((Some((x, false)), with));
                }
            }
            None => {
                let all = and(open.iter().map(|i| conditions[*i].clone()).collect());
                let unknown = ExprKind::IsTruth { expr: Box::new(all), truth: Truth::Unknown, negated: false };
                let mut with = rest;
                with.push(Expr::new(unknown, SqlType::Bool, false));
                found.push((None, with));
            }
        }
        let mut tests = vec![];
        let mut cost = 0.0;
        for (when_null, predicates) in found {
            let tree = first_row(self.prepared(right.clone(), predicates)?);
            let read = params_of(&tree, &own);
            let b = self.exact(&tree, &[])?;
            let values: Vec<&Expr> = params.list.iter().filter(|p| read.contains(&p.0)).map(|p| &p.1).collect();
            let runs = if values.is_empty() { 1.0 } else { group_count(values.into_iter(), &l.estimate) };
            cost += runs.min(l.rows()) * self.one_run(&b);
            tests.push(UnknownTest { when_null, params: read, subplan: Box::new(b.node) });
        }
        Ok((tests, cost))
    }

    /// The node that runs it.
    pub(super) fn applied(
        &mut self,
        l: Built,
        kind: LogicalJoinKind,
        dependent: Dependent,
        estimate: Estimate,
        strategy: Option<Strategy>,
    ) -> Result<Built> {
        let Dependent { params, subplan, columns, unknown, volatile, cost } = dependent;
        let mut layout = l.layout.clone();
        let mut facts = l.not_null.clone();
        let physical = match kind {
            LogicalJoinKind::Inner => JoinKind::Inner,
            LogicalJoinKind::Left => JoinKind::Left,
            LogicalJoinKind::Single => JoinKind::Single,
            LogicalJoinKind::Semi => JoinKind::Semi,
            LogicalJoinKind::Anti => JoinKind::Anti,
            LogicalJoinKind::NullAwareAnti if unknown.is_empty() => JoinKind::Anti,
            LogicalJoinKind::NullAwareAnti => JoinKind::NullAwareAnti,
            LogicalJoinKind::Mark { null_aware, .. } => {
                JoinKind::Mark { null_aware: null_aware && !unknown.is_empty() }
            }
            LogicalJoinKind::Full => return Err(Error::not_supported("FULL JOIN")),
        };
        match kind {
            LogicalJoinKind::Inner => {
                layout.extend(&columns);
                facts.union_with(&subplan.not_null);
            }
            LogicalJoinKind::Left | LogicalJoinKind::Single => layout.extend(&columns),
            LogicalJoinKind::Mark { mark, .. } => {
                layout.push(mark);
                if physical == (JoinKind::Mark { null_aware: false }) {
                    facts.insert(mark);
                }
            }
            _ => {}
        }
        let facts = facts.intersection(&layout.iter().filter(|c| **c != UNNAMED).collect());
        let cost = l.cost() + cost;
        let op = PlanOp::Apply {
            input: Box::new(l.node),
            subplan: Box::new(subplan.node),
            params,
            kind: physical,
            cache: self.cx.settings.switch.subquery_cache && !volatile,
            unknown,
        };
        let mut b = self.node(op, layout, facts, estimate, cost);
        b.node.notes.strategy = strategy;
        Ok(b)
    }
}

/// See [`UnknownTest::when_null`].
type WhenNull = Option<(ParamId, bool)>;

/// Existence is all that is asked.
fn first_row(tree: Logical) -> Logical {
    Logical::Limit { input: Box::new(tree), limit: Some(1), offset: 0 }
}

/// `s = ?x`, s without further parameters of the join: (x, s).
fn two_sides(condition: &Expr, own: &[ParamId]) -> Option<(ParamId, Expr)> {
    let ExprKind::Compare { op, left, right } = &condition.kind else { return None };
    if *op == CmpOp::NullSafeEq {
        return None;
    }
    for (x, s) in [(left, right), (right, left)] {
        if let ExprKind::Param(id) = x.kind
            && own.contains(&id)
            && params_in(s).iter().all(|p| !own.contains(p))
        {
            return Some((id, (**s).clone()));
        }
    }
    None
}

fn params_in(e: &Expr) -> Vec<ParamId> {
    let mut found = vec![];
    e.walk(&mut |e| {
        if let ExprKind::Param(p) = e.kind {
            found.push(p);
        }
    });
    found
}

/// Which of `own` the tree reads.
fn params_of(tree: &Logical, own: &[ParamId]) -> Vec<ParamId> {
    let mut found = vec![];
    visit(tree, &mut |n| n.exprs().into_iter().for_each(|e| found.extend(params_in(e))));
    own.iter().copied().filter(|p| found.contains(p)).collect()
}

/// May the tree be run any number of times without a difference?
fn repeatable(right: &Logical, on: &[Expr]) -> bool {
    let mut fine = on.iter().all(|p| !is_volatile(p));
    visit(right, &mut |n| {
        fine &= n.exprs().into_iter().all(|e| !is_volatile(e));
        // Which rows a limit lets through may depend on how they are found.
        fine &= !matches!(n, Logical::Limit { .. } | Logical::RecursiveUnion { .. });
    });
    fine
}

/// Does the tree compute groups, which a condition on their keys would make fewer?
pub(super) fn splits(right: &Logical) -> bool {
    match right {
        Logical::Project { input, .. } | Logical::Filter { input, .. } => splits(input),
        Logical::Aggregate { groups, rollup: false, .. } => !groups.is_empty(),
        Logical::Window { partition_by, .. } => !partition_by.is_empty(),
        Logical::Distinct { .. } => true,
        _ => false,
    }
}
