//! From logical to physical: operators chosen, columns resolved to positions.
//!
//! [`Physical::convert`] turns a subtree into a plan node together with its *layout*: the column id at each output
//! position. A parent asks for a set of columns; a child gives at least these, in an order of its own, and as few more
//! as it can. Projections that only pick or rename columns vanish: scans and joins output what is asked for.

mod access;
mod dependent;
mod entry_use;
mod grouped;
mod index;
mod index_join;
mod join;
mod late;
mod loose;
mod merge;
mod notes;
mod order;
mod project;
mod semijoin;
mod sideways;
mod weighed;

use super::cardinality::{Estimate, Estimator};
use super::column_set::ColumnSet;
use super::context::{Context, LogicalInit};
use super::properties::{not_null, set_nullable};
use super::tree::{collect_columns, outputs};
use expr::{ColumnId, Expr, ExprKind, WindowCall};
use plan::logical::{IndexHintScope, Logical, LogicalQuery, SetOpKind as LogicalSetOp};
use plan::{AccessNotes, CteDef, InitKind, InitPlan, OutputColumn, Plan, PlanNode, PlanOp, SetOpKind, SortKey};
use std::sync::Arc;
use types::{Error, Result, Warning, WarningLevel};

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
    /// Ranges were given up for want of memory.
    ranges_exceeded: std::cell::Cell<bool>,
    /// Looks at indexes that merges may still take.
    merge_dives_left: std::cell::Cell<usize>,
    /// What an order is wanted for, as index hints tell it apart.
    order_scope: IndexHintScope,
    /// Dependent runs within which one is being planned.
    nesting: u32,
    /// Output columns of each CTE in scope: how its scans look.
    ctes: std::collections::HashMap<u32, (Vec<OutputColumn>, f64)>,
    /// Columns that some condition compares with something an index could look up.
    searched: ColumnSet,
}

/// Makes the physical plan of a rewritten query.
pub fn plan(root: &Logical, query: &LogicalQuery, cx: &mut Context) -> Result<Plan> {
    let columns = cx.columns.clone();
    let mut est = Estimator::new(cx.stats, &columns);
    est.fanout_filter = cx.settings.switch.condition_fanout_filter;
    let inits: Vec<LogicalInit> = std::mem::take(&mut cx.init);
    let searched = notes::searched_columns(root, &inits, &columns);
    let mut p = Physical {
        cx,
        est,
        next_id: 0,
        next_filter: 0,
        rows_read: 0.0,
        ranges_exceeded: Default::default(),
        merge_dives_left: merge::MERGE_DIVES_MAX.into(),
        order_scope: IndexHintScope::OrderBy,
        nesting: 0,
        ctes: Default::default(),
        searched,
    };
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
        blocks: p.cx.columns.blocks.take(),
        warnings: if p.ranges_exceeded.get() { vec![ranges_exceeded(p.cx.settings)] } else { vec![] },
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

fn ranges_exceeded(settings: &super::OptimizerSettings) -> Warning {
    let what = "Range optimization was not done for this query.";
    let bytes_max = settings.limits.range_optimizer_max_mem_size;
    let e = Error::capacity_exceeded(bytes_max, "range_optimizer_max_mem_size", what);
    Warning { level: WarningLevel::Warning, code: e.code(), message: e.message().to_string() }
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
        let notes = AccessNotes { block: self.block_of_op(&op, &layout), ..AccessNotes::default() };
        let node = PlanNode { id, op, output, estimated_rows: estimate.rows, estimated_cost: cost, notes };
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

    /// The plan of `node`, whose output has at least the columns of `needed`.
    fn convert(&mut self, node: &Logical, needed: &ColumnSet) -> Result<Built> {
        self.cx.pace.check()?;
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
                let rows = match rows.iter().flatten().all(|e| e.as_const().is_some()) {
                    true => rows.clone(),
                    false => {
                        let resolve = |e| self.resolve(e, &[], &ColumnSet::new());
                        let rows = rows.iter().map(|r| r.iter().map(resolve).collect());
                        Arc::new(rows.collect::<Result<Vec<_>>>()?)
                    }
                };
                let e = self.est.node(node, &[]);
                Ok(self.node(PlanOp::Values { rows }, columns.clone(), facts, e, 0.0))
            }
            Logical::Get { .. } => self.access(node, &[], needed),
            Logical::Filter { input, predicates } => {
                // Scans look at many rows at once.
                let row_by_row = predicates.iter().any(Expr::follows_variables);
                if let (Logical::Get { is_virtual: false, .. }, false) = (&**input, row_by_row) {
                    return self.access(input, predicates, needed);
                }
                let mut below = needed.clone();
                predicates.iter().for_each(|p| collect_columns(p, &mut below));
                let mut b = self.convert(input, &below)?;
                if let (PlanOp::Virtual { wanted, .. }, false) = (&mut b.node.op, row_by_row) {
                    *wanted = access::wanted_values(input, predicates);
                }
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
                let read_before = self.rows_read;
                let mut b = self.exact(input, &columns)?;
                if let Some(found) = self.loose_distinct(&b, input, &columns, read_before)? {
                    b = found;
                }
                self.distinct(b)
            }
            Logical::Sort { input, keys } => self.sort(node, input, keys, None, 0, needed),
            Logical::Limit { input, limit, offset } => {
                if let Logical::Sort { input: below, keys } = &**input {
                    return self.sort(input, below, keys, *limit, *offset, needed);
                }
                let read_before = self.rows_read;
                let mut b = self.convert(input, needed)?;
                if let Some(kept) = limit.map(|l| l.saturating_add(*offset)) {
                    match self.some_groups(&b, input, needed, kept, read_before)? {
                        Some(found) => b = found,
                        None => order::expect_rows(&mut b.node, kept),
                    }
                }
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
}
