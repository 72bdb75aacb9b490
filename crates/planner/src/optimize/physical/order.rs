//! Rows in an order: sorts, top-N, limits, and what an index yields in order already.

use super::super::column_set::ColumnSet;
use super::super::tree::{as_column, collect_columns, exprs_columns, is_not_null, output_set};
use super::access::SMALL_SCAN_NS;
use super::late::Late;
use super::{Built, Physical, UNNAMED};
use expr::{AggCall, AggFunc, ColumnId, Expr};
use plan::logical::{Logical, LogicalJoinKind};
use plan::{PlanNode, PlanOp, SetOpKind, SortKey};
use types::{Result, Value};

/// Rows of a LIMIT up to which a walk for them may be given up: so many are kept meanwhile.
const ATTEMPT_ROWS_MAX: u64 = 8192;
/// Ends of indexes that are looked for.
const ENDS_MAX: usize = 8;
/// Entries that a walk may have in any case.
const ATTEMPT_ENTRIES_MIN: u64 = 256;

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
            let attempted = self.bound_walk(found, &b, limit.map(|l| l.saturating_add(offset)));
            let (found, may_give_up) = attempted;
            let (layout, facts, cost) = (found.layout.clone(), found.not_null.clone(), found.cost());
            let op = PlanOp::Limit { input: Box::new(found.node), limit, offset };
            let first = self.node(op, layout, facts, e, cost);
            if !may_give_up {
                return Ok(first);
            }
            let read = self.rows_read;
            let otherwise = self.by_sorting(node, b, input, keys, (limit, offset), needed, read_before)?;
            self.rows_read = read;
            return self.attempt(first, otherwise);
        }
        self.by_sorting(node, b, input, keys, (limit, offset), needed, read_before)
    }

    /// Sorts the rows of `b`, wide columns left for those that are kept.
    #[expect(clippy::too_many_arguments, reason = "a query's order and limit, and what they are of")]
    fn by_sorting(
        &mut self,
        node: &Logical,
        b: Built,
        input: &Logical,
        keys: &[(Expr, bool)],
        (limit, offset): (Option<u64>, u64),
        needed: &ColumnSet,
        read_before: f64,
    ) -> Result<Built> {
        let mut below = needed.clone();
        keys.iter().for_each(|k| collect_columns(&k.0, &mut below));
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

    /// Bounds a walk whose matches may lie at its far end by what sorting `b` costs.
    fn bound_walk(&self, mut found: Built, b: &Built, kept: Option<u64>) -> (Built, bool) {
        let Some(kept) = kept.filter(|k| *k <= ATTEMPT_ROWS_MAX && self.nesting == 0) else { return (found, false) };
        let cost = &self.cx.settings.cost;
        let budget = b.cost() + cost.top(b.rows(), kept as f64);
        let Some(at) = index_scan_below(&mut found.node) else { return (found, false) };
        let examined = at.notes.examined;
        let PlanOp::IndexScan { table, index, columns, filters, entries, ordered: true, .. } = &mut at.op else {
            return (found, false);
        };
        let passes_all = filters.is_empty() && !entries.has_conditions();
        if passes_all || self.cx.stats.index_form(table.id, *index).clustered {
            return (found, false);
        }
        // Rows lie anywhere: at worst no two of them together.
        let entry = cost.random_row + columns.len() as f64 * cost.fetch_column + filters.len() as f64 * cost.predicate;
        if examined * entry <= 2.0 * budget {
            // To its very end the walk costs no more.
            return (found, false);
        }
        // Twice as many entries as LIMIT are no adventure.
        let most = ((budget / entry) as u64).max(kept.saturating_mul(2)).max(ATTEMPT_ENTRIES_MIN);
        entries.give_up = Some(most);
        (found, true)
    }

    fn attempt(&mut self, first: Built, otherwise: Built) -> Result<Built> {
        let both = |c: &ColumnId| *c != UNNAMED && otherwise.position(*c).is_some();
        let columns: Vec<ColumnId> = first.layout.iter().copied().filter(both).collect();
        let first = self.rearranged(first, &columns)?;
        let otherwise = self.rearranged(otherwise, &columns)?;
        let facts = first.not_null.intersection(&otherwise.not_null);
        let (e, cost) = (first.estimate.clone(), first.cost());
        let op = PlanOp::Attempt { first: Box::new(first.node), otherwise: Box::new(otherwise.node) };
        Ok(self.node(op, columns, facts, e, cost))
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
        // Without the flag a LIMIT makes no index more attractive than it is for all rows.
        let expected = kept.filter(|_| self.cx.settings.switch.prefer_ordering_index);
        let found = self.ordered(input, needed, keys, expected, budget)?;
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
            Logical::Project { input: below, exprs } if !exprs.iter().any(|e| e.1.follows_variables()) => {
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
            Logical::Aggregate { .. } => self.ordered_groups(input, needed, keys, kept, budget),
            _ => Ok(None),
        }
    }

    /// A join by index keeps the order of its outer side: so the first rows of a join are those of the first outer
    /// rows.
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
            match self.index_join_path(&b, &columns, inner, on, f64::INFINITY, false) {
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

    /// MIN and MAX: the rows at the ends of indexes, one each, in place of all rows of `b`. Answers whether each is
    /// found by a descent alone.
    pub(super) fn index_ends(
        &mut self,
        b: &Built,
        input: &Logical,
        wanted: &[&(ColumnId, AggCall)],
        read_before: f64,
    ) -> Result<Option<(Built, bool)>> {
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
        if !matches!(get, Logical::Get { .. }) || ends.is_empty() || ends.len() > ENDS_MAX {
            return Ok(None);
        }
        let scan = b.cost() + b.rows() * self.cx.settings.cost.group;
        // Descents are the safe choice where rows are few now.
        let mut budget = scan.max(SMALL_SCAN_NS * ends.len() as f64);
        let read = std::mem::replace(&mut self.rows_read, read_before);
        let (mut made, mut by_descent) = (vec![], true);
        for (column, last) in &ends {
            let key = self.cx.columns.expr(*column);
            let mut predicates = predicates.to_vec();
            if !b.not_null.contains(*column) {
                predicates.push(is_not_null(key.clone()));
            }
            let needed: ColumnSet = [*column].into_iter().collect();
            let Some(found) = self.access_in_order(get, &predicates, &needed, &[(key, *last)], Some(1), budget)? else {
                self.rows_read = read;
                return Ok(None);
            };
            budget -= found.cost();
            by_descent &= is_descent(&found.node.op);
            let found = self.rearranged(found, &[*column])?;
            let mut e = found.estimate.clone();
            e.rows = e.rows.min(1.0);
            let (layout, facts, cost) = (found.layout.clone(), found.not_null.clone(), found.cost());
            let op = PlanOp::Limit { input: Box::new(found.node), limit: Some(1), offset: 0 };
            made.push(self.node(op, layout, facts, e, cost));
        }
        self.rows_read = read_before + made.len() as f64;
        if made.len() == 1 {
            return Ok(made.pop().map(|m| (m, by_descent)));
        }
        let mut columns: Vec<ColumnId> = ends.iter().map(|e| e.0).collect();
        columns.dedup();
        if columns.len() > 1 {
            made = made.into_iter().map(|m| self.beside_nulls(m, &columns)).collect::<Result<_>>()?;
        }
        let (layout, facts, mut e) = (made[0].layout.clone(), made[0].not_null.clone(), made[0].estimate.clone());
        e.rows = made.iter().map(Built::rows).sum();
        let cost = made.iter().map(Built::cost).sum();
        let op = PlanOp::SetOp { kind: SetOpKind::UnionAll, inputs: made.into_iter().map(|m| m.node).collect() };
        Ok(Some((self.node(op, layout, facts, e, cost), by_descent)))
    }

    /// The one column of `b` among `columns`, the others NULL: which MIN and MAX leave out.
    fn beside_nulls(&mut self, b: Built, columns: &[ColumnId]) -> Result<Built> {
        let mut exprs = vec![];
        for c in columns {
            let e = self.cx.columns.expr(*c);
            exprs.push(match b.position(*c) {
                Some(_) => self.resolve(&e, &b.layout, &b.not_null)?,
                None => Expr::constant(Value::Null, e.ty),
            });
        }
        let (e, cost) = (b.estimate.clone(), b.cost());
        let op = PlanOp::Project { input: Box::new(b.node), exprs };
        Ok(self.node(op, columns.to_vec(), ColumnSet::new(), e, cost))
    }
}

/// Tells an access by index that its reader will stop after so many rows.
pub(super) fn expect_rows(node: &mut PlanNode, rows: u64) {
    if let Some(PlanNode { op: PlanOp::IndexScan { expected_rows, .. }, .. }) = index_scan_below(node) {
        *expected_rows = Some(rows);
    }
}

/// The access by index whose rows are those of the node.
fn index_scan_below(node: &mut PlanNode) -> Option<&mut PlanNode> {
    if matches!(node.op, PlanOp::IndexScan { .. }) {
        return Some(node);
    }
    match &mut node.op {
        PlanOp::Project { input, .. } => index_scan_below(input),
        _ => None,
    }
}

/// Does a walk find its first row under its first entry, but for versions?
fn is_descent(op: &PlanOp) -> bool {
    match op {
        PlanOp::IndexScan { ranges, filters, entries, .. } => {
            ranges.len() <= 1 && filters.is_empty() && !entries.has_conditions()
        }
        _ => false,
    }
}

fn cost_per_row(cost: &super::super::cost::CostParams) -> f64 {
    cost.index_row.max(1.0)
}
