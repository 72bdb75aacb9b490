//! Columns computed, picked and renamed; groups.
//!
//! A projection that only picks or renames columns is no node: its input's columns get other names.

use super::super::cardinality::{Estimate, group_count, has_few_strings};
use super::super::column_set::ColumnSet;
use super::super::properties::{can_be_null, not_null};
use super::super::tree::{as_column, collect_columns, exprs_columns};
use super::loose::Wanted;
use super::{Built, Physical, UNNAMED};
use expr::{AggCall, ColumnId, Expr};
use plan::logical::Logical;
use plan::{OutputColumn, PlanOp};
use std::sync::Arc;
use types::{Error, Result};

impl Physical<'_, '_> {
    pub(super) fn rearranged(&mut self, mut b: Built, columns: &[ColumnId]) -> Result<Built> {
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
            PlanOp::Project { exprs, .. } if !exprs.iter().any(Expr::follows_variables) => {
                *exprs = positions.iter().map(|i| exprs[*i].clone()).collect();
            }
            PlanOp::Values { rows } => {
                let is_same = |r: &Vec<Expr>| r.len() == positions.len() && positions.iter().copied().eq(0..r.len());
                if !rows.iter().all(is_same) {
                    let row = |r: &Vec<Expr>| positions.iter().map(|i| r[*i].clone()).collect();
                    *rows = Arc::new(rows.iter().map(row).collect());
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

    pub(super) fn project(
        &mut self,
        node: &Logical,
        input: &Logical,
        exprs: &[(ColumnId, Expr)],
        needed: &ColumnSet,
    ) -> Result<Built> {
        let wanted: Vec<&(ColumnId, Expr)> =
            exprs.iter().filter(|e| needed.contains(e.0) || e.1.follows_variables()).collect();
        let b = self.convert(input, &exprs_columns(wanted.iter().map(|e| &e.1)))?;
        self.projected(node, b, &wanted)
    }

    /// The projection `node` over `b`, of the columns that are wanted of it.
    pub(super) fn projected(&mut self, node: &Logical, b: Built, wanted: &[&(ColumnId, Expr)]) -> Result<Built> {
        let facts: ColumnSet = wanted.iter().filter(|(_, e)| !can_be_null(e, &b.not_null)).map(|e| e.0).collect();
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

    /// The rows of `b`, of which only distinct ones are wanted, without most of the others.
    pub(super) fn loose_distinct(
        &mut self,
        b: &Built,
        input: &Logical,
        columns: &[ColumnId],
        read_before: f64,
    ) -> Result<Option<Built>> {
        let budget = b.cost() + b.rows() * self.cx.settings.cost.group;
        let (below, group): (&Logical, Vec<ColumnId>) = match input {
            Logical::Project { input, exprs } => {
                let source = |c: &ColumnId| as_column(&exprs.iter().find(|e| e.0 == *c)?.1);
                match columns.iter().map(source).collect::<Option<Vec<_>>>() {
                    Some(group) => (input, group),
                    None => return Ok(None),
                }
            }
            other => (other, columns.to_vec()),
        };
        let needed: ColumnSet = group.iter().copied().collect();
        let mut wanted = Wanted { group, ends: None };
        wanted.group.sort_unstable();
        wanted.group.dedup();
        if wanted.group.is_empty() {
            return Ok(None);
        }
        let read = self.rows_read;
        let Some(found) = self.loose(below, &wanted, &needed, budget, read_before)? else {
            self.rows_read = read;
            return Ok(None);
        };
        let found = match input {
            Logical::Project { exprs, .. } => {
                let wanted: Vec<&(ColumnId, Expr)> = exprs.iter().filter(|e| columns.contains(&e.0)).collect();
                self.projected(input, found, &wanted)?
            }
            _ => found,
        };
        self.rearranged(found, columns).map(Some)
    }

    pub(super) fn distinct(&mut self, b: Built) -> Result<Built> {
        let (layout, facts) = (b.layout.clone(), b.not_null.clone());
        let mut e = b.estimate.clone();
        let columns: Vec<Expr> = layout.iter().filter(|c| **c != UNNAMED).map(|c| self.cx.columns.expr(*c)).collect();
        e.rows = group_count(columns.iter(), &b.estimate);
        let cost = b.cost() + b.rows() * self.cx.settings.cost.group;
        Ok(self.node(PlanOp::Distinct { input: Box::new(b.node) }, layout, facts, e, cost))
    }

    pub(super) fn aggregate(
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
            let read_before = self.rows_read;
            let mut b = self.exact(input, &columns)?;
            if let Some(found) = self.loose_distinct(&b, input, &columns, read_before)? {
                b = found;
            }
            let mut b = self.distinct(b)?;
            b.layout = groups.iter().map(|g| g.0).collect();
            b.not_null = not_null(node).intersection(&b.layout.iter().collect());
            b.estimate = self.est.node(node, &[self.est_of(&b, &columns, groups)]);
            b.node.output = self.output(&b.layout, &b.not_null);
            return Ok(b);
        }
        let read_before = self.rows_read;
        let mut b = self.convert(input, &below)?;
        let mut optimized_away = false;
        if groups.is_empty()
            && let Some((ends, by_descent)) = self.index_ends(&b, input, &wanted, read_before)?
        {
            (b, optimized_away) = (ends, by_descent);
        } else if let Some(w) = Wanted::of(groups, &wanted) {
            let budget = b.cost() + b.rows() * self.cx.settings.cost.group;
            if let Some(found) = self.loose(input, &w, &below, budget, read_before)? {
                b = found;
            }
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
        let few = groups.iter().map(|g| has_few_strings(&g.1, &b.estimate)).collect();
        let input = Box::new(b.node);
        let op = PlanOp::Aggregate { input, groups: made, few, aggregates: calls, rollup, ordered: false };
        let mut made = self.node(op, layout, facts, e, cost);
        made.node.notes.optimized_away = optimized_away;
        Ok(made)
    }

    /// A distinct node's estimate under the names of its input.
    pub(super) fn est_of(&self, b: &Built, columns: &[ColumnId], groups: &[(ColumnId, Expr)]) -> Estimate {
        let mut e = b.estimate.clone();
        for (c, (g, _)) in columns.iter().zip(groups) {
            if let Some(x) = e.columns.get(g).copied() {
                e.columns.insert(*c, x);
            }
        }
        e
    }
}
