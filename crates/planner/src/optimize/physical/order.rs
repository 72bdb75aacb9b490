//! Rows in an order: sorts, top-N, limits, and what an index yields in order already.

use super::super::column_set::ColumnSet;
use super::super::tree::{as_column, collect_columns, exprs_columns, is_not_null, output_set};
use super::late::Late;
use super::{Built, Physical};
use expr::{AggCall, AggFunc, ColumnId, Expr};
use plan::logical::{Logical, LogicalJoinKind};
use plan::{PlanOp, SetOpKind, SortKey};
use types::Result;

impl Physical<'_, '_> {
    pub(super) fn sort(
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
            let below = Late::replaced(&late, &below);
            let b = self.convert(&narrow, &below)?;
            let sorted = self.sorted(node, b, keys, limit, offset)?;
            return self.with_late_columns(sorted, node, late);
        }
        self.sorted(node, b, keys, limit, offset)
    }

    pub(super) fn sorted(
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
    pub(super) fn in_order(
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

    pub(super) fn ordered(
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
    pub(super) fn ordered_join(
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
            let columns = output_set(outer);
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
                    let made = self.index_join(node, *kind, b, inner, on, needed, estimate, path, true)?;
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

    /// MIN and MAX of one column: the rows at the ends of an index, one each, in place of all rows of `b`.
    pub(super) fn index_ends(
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
            predicates.push(is_not_null(key.clone()));
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

fn cost_per_row(cost: &super::super::cost::CostParams) -> f64 {
    cost.index_row.max(1.0)
}
