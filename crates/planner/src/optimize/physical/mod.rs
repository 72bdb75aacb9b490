//! From logical to physical: operators chosen, columns resolved to positions.
//!
//! [`Physical::convert`] turns a subtree into a plan node together with its *layout*: the column id at each output
//! position. A parent asks for a set of columns; a child gives at least these, in an order of its own, and as few more
//! as it can. Projections that only pick or rename columns vanish: scans and joins output what is asked for.

mod access;
mod index;
mod index_join;
mod join;
mod late;
mod sideways;

use super::cardinality::{Estimate, Estimator};
use super::column_set::ColumnSet;
use super::context::{Context, LogicalInit};
use super::properties::{not_null, set_nullable};
use super::tree::{as_column, collect_columns, exprs_columns, outputs};
use expr::{AggCall, AggFunc, ColumnId, Expr, ExprKind, WindowCall};
use plan::logical::{Logical, LogicalJoinKind, LogicalQuery, SetOpKind as LogicalSetOp};
use plan::{CteDef, InitKind, InitPlan, OutputColumn, Plan, PlanNode, PlanOp, SetOpKind, SortKey};
use types::{Error, Result};

/// A position that no column id names.
const UNNAMED: ColumnId = ColumnId::MAX;

pub(super) struct Built {
    pub node: PlanNode,
    /// The column at each output position.
    pub layout: Vec<ColumnId>,
    pub estimate: Estimate,
    pub not_null: ColumnSet,
}

impl Built {
    fn position(&self, c: ColumnId) -> Option<usize> {
        self.layout.iter().position(|l| *l == c)
    }

    fn rows(&self) -> f64 {
        self.node.estimated_rows
    }

    /// Bytes of a row.
    fn width(&self) -> f64 {
        let named: ColumnSet = self.layout.iter().filter(|c| **c != UNNAMED).collect();
        self.estimate.width(&named)
    }

    fn cost(&self) -> f64 {
        self.node.estimated_cost
    }
}

pub(super) struct Physical<'c, 'a> {
    cx: &'c mut Context<'a>,
    est: Estimator<'c>,
    next_id: u32,
    next_filter: u32,
    rows_read: f64,
    /// Output columns of each CTE in scope: how its scans look.
    ctes: std::collections::HashMap<u32, (Vec<OutputColumn>, f64)>,
}

/// Makes the physical plan of a rewritten query.
pub fn plan(root: &Logical, query: &LogicalQuery, cx: &mut Context) -> Result<Plan> {
    let columns = cx.columns.clone();
    let est = Estimator::new(cx.stats, &columns);
    let inits: Vec<LogicalInit> = std::mem::take(&mut cx.init);
    let mut p = Physical { cx, est, next_id: 0, next_filter: 0, rows_read: 0.0, ctes: Default::default() };
    let ids: Vec<ColumnId> = query.output.iter().map(|o| o.0).collect();
    let mut built = p.exact(root, &ids)?;
    for (out, (_, name)) in built.node.output.iter_mut().zip(&query.output) {
        out.name = name.clone();
    }
    let mut init = vec![];
    for i in &inits {
        let b = match i.kind {
            InitKind::Scalar => p.exact(&i.plan, &i.output)?,
            InitKind::Exists => p.convert(&i.plan, &ColumnSet::new())?,
        };
        init.push(InitPlan { param: i.param, kind: i.kind, ty: i.ty, plan: Box::new(b.node) });
    }
    let mut plan = Plan {
        root: Box::new(built.node),
        init,
        param_count: 0,
        serial: query.serial,
        estimated_rows_read: p.rows_read,
    };
    if p.cx.settings.sideways_filters {
        sideways::add(&mut plan.root, &mut p.next_filter);
        for i in &mut plan.init {
            sideways::add(&mut i.plan, &mut p.next_filter);
        }
    }
    plan.param_count = p.cx.next_param;
    Ok(plan)
}

impl Physical<'_, '_> {
    fn output(&self, layout: &[ColumnId], facts: &ColumnSet) -> Vec<OutputColumn> {
        layout
            .iter()
            .map(|c| {
                if *c == UNNAMED {
                    return OutputColumn { name: "".into(), ty: types::SqlType::Null, nullable: true };
                }
                let info = self.cx.columns.get(*c);
                let name = match (info.table_alias.is_empty(), info.name.is_empty()) {
                    (true, _) => info.name.clone(),
                    (false, _) => format!("{}.{}", info.table_alias, info.name).into(),
                };
                OutputColumn { name, ty: info.ty, nullable: !facts.contains(*c) }
            })
            .collect()
    }

    fn node(&mut self, op: PlanOp, layout: Vec<ColumnId>, facts: ColumnSet, estimate: Estimate, cost: f64) -> Built {
        let id = self.next_id;
        self.next_id += 1;
        let output = self.output(&layout, &facts);
        let node = PlanNode { id, op, output, estimated_rows: estimate.rows, estimated_cost: cost };
        Built { node, layout, estimate, not_null: facts }
    }

    /// The expression over positions of `layout`, its nullability brought up to date.
    fn resolve(&self, e: &Expr, layout: &[ColumnId], facts: &ColumnSet) -> Result<Expr> {
        let mut e = e.clone();
        set_nullable(&mut e, facts);
        let mut missing = None;
        e.rewrite(&mut |e| match &mut e.kind {
            ExprKind::Column(c) => match layout.iter().position(|l| l == c) {
                Some(i) => *c = i as ColumnId,
                None => missing = Some(*c),
            },
            ExprKind::Subquery(_) => missing = Some(UNNAMED),
            _ => {}
        });
        match missing {
            None => Ok(e),
            Some(c) => Err(Error::internal(format_args!("column #{c} is not in its input {layout:?}"))),
        }
    }

    fn resolve_all(&self, es: &[Expr], b: &Built) -> Result<Vec<Expr>> {
        es.iter().map(|e| self.resolve(e, &b.layout, &b.not_null)).collect()
    }

    fn sort_keys(&self, keys: &[(Expr, bool)], b: &Built) -> Result<Vec<SortKey>> {
        keys.iter()
            .map(|(e, descending)| {
                Ok(SortKey { expr: self.resolve(e, &b.layout, &b.not_null)?, descending: *descending })
            })
            .collect()
    }

    /// The plan of `node`, its output exactly `columns`, in order.
    fn exact(&mut self, node: &Logical, columns: &[ColumnId]) -> Result<Built> {
        let b = self.convert(node, &columns.iter().collect())?;
        self.rearranged(b, columns)
    }

    fn rearranged(&mut self, mut b: Built, columns: &[ColumnId]) -> Result<Built> {
        if b.layout == columns {
            return Ok(b);
        }
        let positions: Vec<usize> = columns
            .iter()
            .map(|c| {
                b.position(*c).ok_or_else(|| Error::internal(format_args!("column #{c} is not in {:?}", b.layout)))
            })
            .collect::<Result<_>>()?;
        match &mut b.node.op {
            PlanOp::Scan { project, with_row_id: false, .. }
            | PlanOp::KeyLookup { project, with_row_id: false, .. }
            | PlanOp::IndexScan { project, with_row_id: false, .. }
            | PlanOp::IndexJoin { project, .. }
            | PlanOp::HashJoin { project, .. }
            | PlanOp::NestedLoopJoin { project, .. } => {
                *project = positions.iter().map(|i| project[*i]).collect();
            }
            PlanOp::Project { exprs, .. } => {
                *exprs = positions.iter().map(|i| exprs[*i].clone()).collect();
            }
            PlanOp::Values { rows } => {
                for r in rows {
                    *r = positions.iter().map(|i| r[*i].clone()).collect();
                }
            }
            PlanOp::Empty => {}
            _ => {
                let exprs = columns
                    .iter()
                    .map(|c| self.resolve(&self.cx.columns.expr(*c), &b.layout, &b.not_null))
                    .collect::<Result<_>>()?;
                let (facts, estimate, cost) = (b.not_null.clone(), b.estimate.clone(), b.cost());
                let op = PlanOp::Project { input: Box::new(b.node), exprs };
                return Ok(self.node(op, columns.to_vec(), facts, estimate, cost));
            }
        }
        b.layout = columns.to_vec();
        b.node.output = self.output(&b.layout, &b.not_null);
        Ok(b)
    }

    /// The plan of `node`, whose output has at least the columns of `needed`.
    fn convert(&mut self, node: &Logical, needed: &ColumnSet) -> Result<Built> {
        match node {
            Logical::OneRow => {
                let e = Estimate { rows: 1.0, ..Estimate::default() };
                Ok(self.node(PlanOp::OneRow, vec![], ColumnSet::new(), e, 0.0))
            }
            Logical::Empty { columns } => {
                let layout = columns.iter().copied().filter(|c| needed.contains(*c)).collect();
                let e = self.est.node(node, &[]);
                Ok(self.node(PlanOp::Empty, layout, ColumnSet::new(), e, 0.0))
            }
            Logical::Values { columns, rows } => {
                let facts = not_null(node);
                let rows = rows
                    .iter()
                    .map(|r| r.iter().map(|e| self.resolve(e, &[], &ColumnSet::new())).collect())
                    .collect::<Result<Vec<_>>>()?;
                let e = self.est.node(node, &[]);
                Ok(self.node(PlanOp::Values { rows }, columns.clone(), facts, e, 0.0))
            }
            Logical::Get { .. } => self.access(node, &[], needed),
            Logical::Filter { input, predicates } => {
                if let Logical::Get { is_virtual: false, .. } = &**input {
                    return self.access(input, predicates, needed);
                }
                let mut below = needed.clone();
                predicates.iter().for_each(|p| collect_columns(p, &mut below));
                let b = self.convert(input, &below)?;
                let predicates_here = self.resolve_all(predicates, &b)?;
                let mut facts = b.not_null.clone();
                for p in predicates {
                    facts.union_with(&super::properties::null_rejected(p));
                }
                let e = self.est.node(node, std::slice::from_ref(&b.estimate));
                let cost = b.cost() + b.rows() * self.cx.settings.cost.predicate;
                let layout = b.layout.clone();
                let op = PlanOp::Filter { input: Box::new(b.node), predicates: predicates_here };
                Ok(self.node(op, layout, facts, e, cost))
            }
            Logical::Project { input, exprs } => self.project(node, input, exprs, needed),
            Logical::Join { dependent: true, .. } => self.apply(node, needed),
            Logical::Join { .. } => self.join(node, needed),
            Logical::Aggregate { input, groups, aggregates, rollup } => {
                self.aggregate(node, input, groups, aggregates, *rollup, needed)
            }
            Logical::Distinct { input } => {
                let columns = outputs(input);
                let b = self.exact(input, &columns)?;
                self.distinct(b)
            }
            Logical::Sort { input, keys } => self.sort(node, input, keys, None, 0, needed),
            Logical::Limit { input, limit, offset } => {
                if let Logical::Sort { input: below, keys } = &**input {
                    return self.sort(input, below, keys, *limit, *offset, needed);
                }
                let b = self.convert(input, needed)?;
                let e = self.est.node(node, std::slice::from_ref(&b.estimate));
                let (layout, facts, cost) = (b.layout.clone(), b.not_null.clone(), b.cost());
                let op = PlanOp::Limit { input: Box::new(b.node), limit: *limit, offset: *offset };
                Ok(self.node(op, layout, facts, e, cost))
            }
            Logical::Window { input, partition_by, order_by, calls } => {
                let calls: Vec<&(ColumnId, WindowCall)> = calls.iter().filter(|c| needed.contains(c.0)).collect();
                if calls.is_empty() {
                    return self.convert(input, needed);
                }
                let mut below = needed.intersection(&outputs(input).iter().collect());
                for e in node.exprs() {
                    collect_columns(e, &mut below);
                }
                let b = self.convert(input, &below)?;
                let partition_by = self.resolve_all(partition_by, &b)?;
                let order_by = self.sort_keys(order_by, &b)?;
                let mut made = vec![];
                for (_, c) in &calls {
                    let mut c = c.clone();
                    for e in plan::logical::visit::window_exprs_mut(&mut c) {
                        *e = self.resolve(e, &b.layout, &b.not_null)?;
                    }
                    made.push(c);
                }
                let mut layout = b.layout.clone();
                layout.extend(calls.iter().map(|c| c.0));
                let facts = not_null(node);
                let e = self.est.node(node, std::slice::from_ref(&b.estimate));
                let cost = b.cost() + self.cx.settings.cost.sort(b.rows());
                let op = PlanOp::Window { input: Box::new(b.node), partition_by, order_by, calls: made };
                Ok(self.node(op, layout, facts, e, cost))
            }
            Logical::SetOp { kind, columns, inputs, distinct } => {
                let mut built = vec![];
                let mut cost = 0.0;
                let mut estimates = vec![];
                for (n, ids) in inputs {
                    let b = self.exact(n, ids)?;
                    cost += b.cost();
                    estimates.push(b.estimate);
                    built.push(b.node);
                }
                let op = match (kind, distinct) {
                    (LogicalSetOp::Union, _) => SetOpKind::UnionAll,
                    (LogicalSetOp::Intersect, false) => SetOpKind::IntersectAll,
                    (LogicalSetOp::Intersect, true) => SetOpKind::IntersectDistinct,
                    (LogicalSetOp::Except, false) => SetOpKind::ExceptAll,
                    (LogicalSetOp::Except, true) => SetOpKind::ExceptDistinct,
                };
                let facts = not_null(node);
                let e = self.est.node(node, &estimates);
                let b = self.node(PlanOp::SetOp { kind: op, inputs: built }, columns.clone(), facts, e, cost);
                if *kind == LogicalSetOp::Union && *distinct { self.distinct(b) } else { Ok(b) }
            }
            Logical::With { ctes, input } => {
                let mut defs = vec![];
                for c in ctes {
                    let b = self.exact(&c.plan, &c.output)?;
                    self.est.define_cte(c.cte_id, &b.estimate, &c.output);
                    self.ctes.insert(c.cte_id, (b.node.output.clone(), b.rows()));
                    defs.push(CteDef { cte_id: c.cte_id, name: c.name.clone(), plan: Box::new(b.node) });
                }
                let b = self.convert(input, needed)?;
                let (layout, facts, e) = (b.layout.clone(), b.not_null.clone(), b.estimate.clone());
                let cost = b.cost() + defs.iter().map(|d| d.plan.estimated_cost).sum::<f64>();
                Ok(self.node(PlanOp::With { ctes: defs, input: Box::new(b.node) }, layout, facts, e, cost))
            }
            Logical::CteScan { cte_id, name, columns } => self.cte_scan(node, *cte_id, name, columns),
            Logical::RecursiveUnion { cte_id, columns, anchor, recursive, distinct } => {
                let a = self.exact(&anchor.0, &anchor.1)?;
                self.est.define_cte(*cte_id, &a.estimate, &anchor.1);
                let mut shape = a.node.output.clone();
                shape.iter_mut().for_each(|c| c.nullable = true);
                self.ctes.insert(*cte_id, (shape, a.rows()));
                let r = self.exact(&recursive.0, &recursive.1)?;
                let e = self.est.recursive(columns, &a.estimate, &anchor.1, &r.estimate);
                let cost = a.cost() + 10.0 * r.cost();
                let op = PlanOp::RecursiveUnion {
                    cte_id: *cte_id,
                    anchor: Box::new(a.node),
                    recursive: Box::new(r.node),
                    distinct: *distinct,
                };
                Ok(self.node(op, columns.clone(), ColumnSet::new(), e, cost))
            }
        }
    }

    fn cte_scan(&mut self, node: &Logical, cte_id: u32, name: &str, columns: &[(ColumnId, usize)]) -> Result<Built> {
        let (shape, _) = self
            .ctes
            .get(&cte_id)
            .cloned()
            .ok_or_else(|| Error::internal(format_args!("CTE {name} is read outside its WITH")))?;
        let mut layout = vec![UNNAMED; shape.len()];
        let mut twice = vec![];
        let mut facts = ColumnSet::new();
        for (c, i) in columns {
            let slot = layout.get_mut(*i).ok_or_else(|| Error::internal("a CTE column past its last"))?;
            if *slot == UNNAMED {
                *slot = *c
            } else {
                twice.push((*c, *i))
            }
            if !shape[*i].nullable {
                facts.insert(*c);
            }
        }
        let e = self.est.node(node, &[]);
        let cost = e.rows * self.cx.settings.cost.scan;
        let mut b = self.node(PlanOp::CteScan { cte_id, name: name.into() }, layout, facts, e, cost);
        for (o, s) in b.node.output.iter_mut().zip(shape) {
            o.ty = s.ty;
            if o.name.is_empty() {
                o.name = s.name;
            }
        }
        if twice.is_empty() {
            return Ok(b);
        }
        let mut ids: Vec<ColumnId> = b.layout.iter().copied().filter(|c| *c != UNNAMED).collect();
        let mut exprs = vec![];
        for c in &ids {
            exprs.push(self.resolve(&self.cx.columns.expr(*c), &b.layout, &b.not_null)?);
        }
        for (c, i) in twice {
            let o = &b.node.output[i];
            exprs.push(Expr::column(i as ColumnId, o.ty, o.nullable));
            ids.push(c);
        }
        let (facts, e, cost) = (b.not_null.clone(), b.estimate.clone(), b.cost());
        Ok(self.node(PlanOp::Project { input: Box::new(b.node), exprs }, ids, facts, e, cost))
    }

    fn project(
        &mut self,
        node: &Logical,
        input: &Logical,
        exprs: &[(ColumnId, Expr)],
        needed: &ColumnSet,
    ) -> Result<Built> {
        let wanted: Vec<&(ColumnId, Expr)> = exprs.iter().filter(|e| needed.contains(e.0)).collect();
        let b = self.convert(input, &exprs_columns(wanted.iter().map(|e| &e.1)))?;
        self.projected(node, b, &wanted)
    }

    /// The projection `node` over `b`, of the columns that are wanted of it.
    fn projected(&mut self, node: &Logical, b: Built, wanted: &[&(ColumnId, Expr)]) -> Result<Built> {
        let facts: ColumnSet =
            wanted.iter().filter(|(_, e)| !super::properties::can_be_null(e, &b.not_null)).map(|e| e.0).collect();
        let e = self.est.node(node, std::slice::from_ref(&b.estimate));
        // Nothing computed, nothing twice: other names for the input's columns.
        let sources: Vec<Option<ColumnId>> = wanted.iter().map(|e| as_column(&e.1)).collect();
        let distinct: ColumnSet = sources.iter().flatten().copied().collect();
        if sources.iter().all(Option::is_some) && distinct.len() == sources.len() {
            let mut b = b;
            let renamed = b
                .layout
                .iter()
                .map(|c| sources.iter().position(|s| *s == Some(*c)).map_or(UNNAMED, |i| wanted[i].0))
                .collect::<Vec<_>>();
            // Unnamed leftovers are harmless, but a node that can drop them should.
            let names = b.node.output.clone();
            b.layout = renamed;
            b.not_null = facts;
            b.estimate = e;
            let order: Vec<ColumnId> = wanted.iter().map(|e| e.0).collect();
            let computed_name = |o: &mut OutputColumn, old: &OutputColumn| {
                if o.name.is_empty() {
                    o.name = old.name.clone();
                }
            };
            b.node.output = self.output(&b.layout, &b.not_null);
            for (o, old) in b.node.output.iter_mut().zip(&names) {
                computed_name(o, old);
                o.ty = old.ty;
            }
            if matches!(
                b.node.op,
                PlanOp::Scan { with_row_id: false, .. }
                    | PlanOp::KeyLookup { with_row_id: false, .. }
                    | PlanOp::IndexScan { with_row_id: false, .. }
                    | PlanOp::IndexJoin { .. }
                    | PlanOp::HashJoin { .. }
                    | PlanOp::NestedLoopJoin { .. }
                    | PlanOp::Project { .. }
                    | PlanOp::Empty
            ) {
                return self.rearranged(b, &order);
            }
            return Ok(b);
        }
        let list: Vec<Expr> = wanted.iter().map(|(_, e)| e.clone()).collect();
        let made = self.resolve_all(&list, &b)?;
        let layout = wanted.iter().map(|e| e.0).collect();
        let cost = b.cost() + b.rows() * self.cx.settings.cost.predicate;
        Ok(self.node(PlanOp::Project { input: Box::new(b.node), exprs: made }, layout, facts, e, cost))
    }

    fn distinct(&mut self, b: Built) -> Result<Built> {
        let (layout, facts) = (b.layout.clone(), b.not_null.clone());
        let mut e = b.estimate.clone();
        let columns: Vec<Expr> = layout.iter().filter(|c| **c != UNNAMED).map(|c| self.cx.columns.expr(*c)).collect();
        e.rows = super::cardinality::group_count(columns.iter(), &b.estimate);
        let cost = b.cost() + b.rows() * self.cx.settings.cost.group;
        Ok(self.node(PlanOp::Distinct { input: Box::new(b.node) }, layout, facts, e, cost))
    }

    fn aggregate(
        &mut self,
        node: &Logical,
        input: &Logical,
        groups: &[(ColumnId, Expr)],
        aggregates: &[(ColumnId, AggCall)],
        rollup: bool,
        needed: &ColumnSet,
    ) -> Result<Built> {
        let wanted: Vec<&(ColumnId, AggCall)> = aggregates.iter().filter(|a| needed.contains(a.0)).collect();
        let mut below = exprs_columns(groups.iter().map(|g| &g.1));
        for (_, a) in &wanted {
            plan::logical::visit::agg_exprs(a).for_each(|e| collect_columns(e, &mut below));
        }
        if wanted.is_empty() && !groups.is_empty() && !rollup && groups.iter().all(|g| as_column(&g.1).is_some()) {
            let columns: Vec<ColumnId> = groups.iter().filter_map(|g| as_column(&g.1)).collect();
            let b = self.exact(input, &columns)?;
            let mut b = self.distinct(b)?;
            b.layout = groups.iter().map(|g| g.0).collect();
            b.not_null = not_null(node).intersection(&b.layout.iter().collect());
            b.estimate = self.est.node(node, &[self.est_of(&b, &columns, groups)]);
            b.node.output = self.output(&b.layout, &b.not_null);
            return Ok(b);
        }
        let read_before = self.rows_read;
        let mut b = self.convert(input, &below)?;
        if groups.is_empty()
            && let Some(ends) = self.index_ends(&b, input, &wanted, read_before)?
        {
            b = ends;
        }
        let list: Vec<Expr> = groups.iter().map(|g| g.1.clone()).collect();
        let made = self.resolve_all(&list, &b)?;
        let mut calls = vec![];
        for (_, a) in &wanted {
            let mut a = a.clone();
            for e in plan::logical::visit::agg_exprs_mut(&mut a) {
                *e = self.resolve(e, &b.layout, &b.not_null)?;
            }
            calls.push(a);
        }
        let layout: Vec<ColumnId> = groups.iter().map(|g| g.0).chain(wanted.iter().map(|a| a.0)).collect();
        let facts = not_null(node).intersection(&layout.iter().collect());
        let e = self.est.node(node, std::slice::from_ref(&b.estimate));
        let cost = b.cost() + b.rows() * self.cx.settings.cost.group;
        let op = PlanOp::Aggregate { input: Box::new(b.node), groups: made, aggregates: calls, rollup };
        Ok(self.node(op, layout, facts, e, cost))
    }

    /// A distinct node's estimate under the names of its input.
    fn est_of(&self, b: &Built, columns: &[ColumnId], groups: &[(ColumnId, Expr)]) -> Estimate {
        let mut e = b.estimate.clone();
        for (c, (g, _)) in columns.iter().zip(groups) {
            if let Some(x) = e.columns.get(g).copied() {
                e.columns.insert(*c, x);
            }
        }
        e
    }

    fn sort(
        &mut self,
        node: &Logical,
        input: &Logical,
        keys: &[(Expr, bool)],
        limit: Option<u64>,
        offset: u64,
        needed: &ColumnSet,
    ) -> Result<Built> {
        let mut below = needed.clone();
        keys.iter().for_each(|k| collect_columns(&k.0, &mut below));
        let read_before = self.rows_read;
        let b = self.convert(input, &below)?;
        if let Some(found) =
            self.in_order(&b, input, keys, limit.map(|l| l.saturating_add(offset)), &below, read_before)?
        {
            if limit.is_none() && offset == 0 {
                return Ok(found);
            }
            let mut e = self.est.node(node, std::slice::from_ref(&found.estimate));
            e.rows = limit.map_or(e.rows, |l| (e.rows - offset as f64).max(0.0).min(l as f64));
            let (layout, facts, cost) = (found.layout.clone(), found.not_null.clone(), found.cost());
            let op = PlanOp::Limit { input: Box::new(found.node), limit, offset };
            return Ok(self.node(op, layout, facts, e, cost));
        }
        let kept = limit.map(|l| l.saturating_add(offset));
        if let Some((narrow, late)) = self.without_late_columns(&b, input, keys, kept, needed) {
            self.rows_read = read_before;
            let below = late::Late::replaced(&late, &below);
            let b = self.convert(&narrow, &below)?;
            let sorted = self.sorted(node, b, keys, limit, offset)?;
            return self.with_late_columns(sorted, node, late);
        }
        self.sorted(node, b, keys, limit, offset)
    }

    fn sorted(
        &mut self,
        node: &Logical,
        b: Built,
        keys: &[(Expr, bool)],
        limit: Option<u64>,
        offset: u64,
    ) -> Result<Built> {
        let mut made: Vec<SortKey> = vec![];
        for k in self.sort_keys(keys, &b)? {
            if !k.expr.is_constant() && !made.iter().any(|m| m.expr == k.expr) {
                made.push(k);
            }
        }
        let mut e = self.est.node(node, std::slice::from_ref(&b.estimate));
        let rest = (e.rows - offset as f64).max(0.0);
        e.rows = limit.map_or(rest, |l| rest.min(l as f64));
        let (layout, facts) = (b.layout.clone(), b.not_null.clone());
        let cost = b.cost() + self.cx.settings.cost.sort(b.rows());
        let input = Box::new(b.node);
        let op = match (made.is_empty(), limit, offset) {
            (true, None, 0) => return Ok(Built { node: *input, layout, estimate: e, not_null: facts }),
            (true, ..) => PlanOp::Limit { input, limit, offset },
            (false, ..) => PlanOp::Sort { input, keys: made, limit, offset },
        };
        Ok(self.node(op, layout, facts, e, cost))
    }

    /// The rows of `input` already in the order of `keys`, if an index yields it for less than sorting `b` costs.
    fn in_order(
        &mut self,
        b: &Built,
        input: &Logical,
        keys: &[(Expr, bool)],
        kept: Option<u64>,
        needed: &ColumnSet,
        read_before: f64,
    ) -> Result<Option<Built>> {
        if keys.is_empty() || !self.cx.settings.index_access {
            return Ok(None);
        }
        let cost = &self.cx.settings.cost;
        let sorting = match kept {
            Some(k) => cost.top(b.rows(), k as f64),
            None => cost.sort(b.rows()),
        };
        let budget = b.cost() + sorting;
        let read = std::mem::replace(&mut self.rows_read, read_before);
        let found = self.ordered(input, needed, keys, kept, budget)?;
        match &found {
            // What is read before the reader stops.
            Some(f) => {
                self.rows_read = self.rows_read.min(read_before + f.cost() / cost_per_row(&self.cx.settings.cost))
            }
            None => self.rows_read = read,
        }
        Ok(found)
    }

    fn ordered(
        &mut self,
        input: &Logical,
        needed: &ColumnSet,
        keys: &[(Expr, bool)],
        kept: Option<u64>,
        budget: f64,
    ) -> Result<Option<Built>> {
        match input {
            Logical::Get { .. } => self.access_in_order(input, &[], needed, keys, kept, budget),
            Logical::Filter { input, predicates } if matches!(**input, Logical::Get { .. }) => {
                self.access_in_order(input, predicates, needed, keys, kept, budget)
            }
            Logical::Project { input: below, exprs } => {
                let wanted: Vec<&(ColumnId, Expr)> = exprs.iter().filter(|e| needed.contains(e.0)).collect();
                let source = |k: &Expr| {
                    let c = as_column(k)?;
                    let e = &exprs.iter().find(|e| e.0 == c)?.1;
                    as_column(e).map(|_| e.clone())
                };
                let Some(keys) = keys.iter().map(|(k, desc)| Some((source(k)?, *desc))).collect::<Option<Vec<_>>>()
                else {
                    return Ok(None);
                };
                let columns = exprs_columns(wanted.iter().map(|e| &e.1));
                match self.ordered(below, &columns, &keys, kept, budget)? {
                    Some(b) => self.projected(input, b, &wanted).map(Some),
                    None => Ok(None),
                }
            }
            Logical::Join { kind: LogicalJoinKind::Inner, dependent: false, .. } => {
                self.ordered_join(input, needed, keys, kept, budget)
            }
            _ => Ok(None),
        }
    }

    /// A join by index keeps the order of its outer side: so the first rows of a join are those of the first outer rows.
    fn ordered_join(
        &mut self,
        node: &Logical,
        needed: &ColumnSet,
        keys: &[(Expr, bool)],
        kept: Option<u64>,
        budget: f64,
    ) -> Result<Option<Built>> {
        let Logical::Join { kind, left, right, on, straight, .. } = node else { return Ok(None) };
        let Some(kept) = kept else { return Ok(None) };
        let read = exprs_columns(keys.iter().map(|k| &k.0));
        let wanted = needed.union(&exprs_columns(on));
        let sides = [(left, right), (right, left)];
        for (outer, inner) in &sides[..if *straight { 1 } else { 2 }] {
            let columns = super::tree::output_set(outer);
            if !read.is_subset(&columns) {
                continue;
            }
            let inner_estimate = self.est.tree(inner);
            // Outer rows that must be read, if partners are spread evenly and a little more if they are not.
            let outer_estimate = self.est.tree(outer);
            let (l, r) = if std::ptr::eq::<Logical>(&***outer, &**left) {
                (outer_estimate.clone(), inner_estimate)
            } else {
                (inner_estimate, outer_estimate.clone())
            };
            let estimate = self.est.node(node, &[l, r]);
            let per_row = (estimate.rows / outer_estimate.rows.max(1.0)).max(1e-6);
            let outer_kept = (2.0 * kept as f64 / per_row).ceil().min(1e15) as u64;
            let before = (self.rows_read, self.next_id);
            let Some(b) = self.ordered(outer, &wanted.intersection(&columns), keys, Some(outer_kept), budget)? else {
                continue;
            };
            let share = (outer_kept as f64 / b.rows().max(1.0)).min(1.0);
            let first = b.cost();
            match self.index_join_path(&b, &columns, inner, on, f64::INFINITY) {
                Some(path) if first + (path.cost - first) * share < budget => {
                    let cost = first + (path.cost - first) * share;
                    let made = self.index_join(node, *kind, b, inner, on, needed, estimate, path)?;
                    return Ok(made.map(|mut m| {
                        m.node.estimated_cost = cost;
                        m
                    }));
                }
                _ => (self.rows_read, self.next_id) = before,
            }
        }
        Ok(None)
    }
}

impl Physical<'_, '_> {
    /// MIN and MAX of one column: the rows at the ends of an index, one each, in place of all rows of `b`.
    fn index_ends(
        &mut self,
        b: &Built,
        input: &Logical,
        wanted: &[&(ColumnId, AggCall)],
        read_before: f64,
    ) -> Result<Option<Built>> {
        let (get, predicates): (&Logical, &[Expr]) = match input {
            Logical::Filter { input, predicates } => (input, predicates),
            other => (other, &[]),
        };
        let end = |a: &AggCall| match (a.func, a.args.as_slice()) {
            (AggFunc::Min, [e]) => as_column(e).map(|c| (c, false)),
            (AggFunc::Max, [e]) => as_column(e).map(|c| (c, true)),
            _ => None,
        };
        let Some(mut ends) = wanted.iter().map(|w| end(&w.1)).collect::<Option<Vec<_>>>() else { return Ok(None) };
        ends.sort();
        ends.dedup();
        if !matches!(get, Logical::Get { .. }) || ends.is_empty() || ends.iter().any(|e| e.0 != ends[0].0) {
            return Ok(None);
        }
        let column = ends[0].0;
        let key = self.cx.columns.expr(column);
        let mut predicates = predicates.to_vec();
        if !b.not_null.contains(column) {
            predicates.push(super::tree::is_not_null(key.clone()));
        }
        let needed: ColumnSet = [column].into_iter().collect();
        let mut budget = b.cost() + b.rows() * self.cx.settings.cost.group;
        let read = std::mem::replace(&mut self.rows_read, read_before);
        let mut made = vec![];
        for (_, last) in ends {
            let keys = [(key.clone(), last)];
            let Some(found) = self.access_in_order(get, &predicates, &needed, &keys, Some(1), budget)? else {
                self.rows_read = read;
                return Ok(None);
            };
            budget -= found.cost();
            let found = self.rearranged(found, &[column])?;
            let mut e = found.estimate.clone();
            e.rows = e.rows.min(1.0);
            let (layout, facts, cost) = (found.layout.clone(), found.not_null.clone(), found.cost());
            let op = PlanOp::Limit { input: Box::new(found.node), limit: Some(1), offset: 0 };
            made.push(self.node(op, layout, facts, e, cost));
        }
        self.rows_read = read_before + 2.0;
        if made.len() == 1 {
            return Ok(made.pop());
        }
        let (layout, facts, mut e) = (made[0].layout.clone(), made[0].not_null.clone(), made[0].estimate.clone());
        e.rows = made.iter().map(Built::rows).sum();
        let cost = made.iter().map(Built::cost).sum();
        let op = PlanOp::SetOp { kind: SetOpKind::UnionAll, inputs: made.into_iter().map(|m| m.node).collect() };
        Ok(Some(self.node(op, layout, facts, e, cost)))
    }
}

fn cost_per_row(cost: &super::cost::CostParams) -> f64 {
    cost.index_row.max(1.0)
}
