//! The first few groups in an order: an index brings the rows of each group together, so that reading stops after them.
//!
//! ```text
//!   SELECT user_id, SUM(x) FROM events GROUP BY user_id ORDER BY user_id LIMIT 10
//!
//!   Limit 10 ◀─ ordered aggregate ◀─ index scan on events using (user_id, ..)
//! ```
//! All groups are made faster by a scan and a hash table, which also run on several threads; so this is for limits
//! alone. Without ORDER BY any groups do, and those at the beginning of an index are as good as others.

use super::super::column_set::ColumnSet;
use super::super::properties::not_null;
use super::super::tree::{as_column, collect_columns, exprs_columns};
use super::{Built, Physical};
use expr::{AggCall, AggFunc, ColumnId, Expr};
use plan::PlanOp;
use plan::logical::visit::{agg_exprs, agg_exprs_mut};
use plan::logical::{IndexHintScope, Logical};
use types::Result;

/// How many times more rows than on average the first groups may have.
const UNEVEN_GROUPS: f64 = 2.0;

impl Physical<'_, '_> {
    /// Some `kept` groups of `input`, whose plan is `b`, if an index brings their rows for less than it costs.
    pub(super) fn some_groups(
        &mut self,
        b: &Built,
        input: &Logical,
        needed: &ColumnSet,
        kept: u64,
        read_before: f64,
    ) -> Result<Option<Built>> {
        let grouped = match input {
            Logical::Project { input, .. } => &**input,
            other => other,
        };
        if !matches!(grouped, Logical::Aggregate { .. }) {
            return Ok(None);
        }
        let keys: Vec<(Expr, bool)> = match group_columns(grouped) {
            Some(columns) => columns.iter().map(|c| (self.cx.columns.expr(*c), false)).collect(),
            None => return Ok(None),
        };
        let settings = self.cx.settings;
        if !settings.index_access || !settings.switch.prefer_ordering_index {
            return Ok(None);
        }
        let read = std::mem::replace(&mut self.rows_read, read_before);
        let found = self.ordered(input, needed, &keys, Some(kept), b.cost())?;
        if found.is_none() {
            self.rows_read = read;
        }
        Ok(found)
    }

    /// The groups of an aggregation in the order of `keys`, of which the reader takes `kept`, if an index brings their
    /// rows in that order for less than `budget`.
    pub(super) fn ordered_groups(
        &mut self,
        node: &Logical,
        needed: &ColumnSet,
        keys: &[(Expr, bool)],
        kept: Option<u64>,
        budget: f64,
    ) -> Result<Option<Built>> {
        let Logical::Aggregate { input, groups, aggregates, rollup: false } = node else { return Ok(None) };
        let Some(kept) = kept else { return Ok(None) };
        let wanted: Vec<&(ColumnId, AggCall)> = aggregates.iter().filter(|a| needed.contains(a.0)).collect();
        let plain = |a: &AggCall| !a.distinct && a.order_by.is_empty() && a.func != AggFunc::Grouping;
        if !wanted.iter().all(|a| plain(&a.1)) {
            return Ok(None);
        }
        let Some(order) = order_of_groups(groups, keys) else { return Ok(None) };
        let mut below = exprs_columns(groups.iter().map(|g| &g.1));
        for (_, a) in &wanted {
            agg_exprs(a).for_each(|e| collect_columns(e, &mut below));
        }
        let whole = self.est.tree(input);
        let estimate = self.est.node(node, std::slice::from_ref(&whole));
        let rows = UNEVEN_GROUPS * kept as f64 * (whole.rows / estimate.rows.max(1.0)).max(1.0);
        let scope = std::mem::replace(&mut self.order_scope, IndexHintScope::GroupBy);
        let found = self.ordered(input, &below, &order, Some(rows.min(1e15) as u64), budget);
        self.order_scope = scope;
        let Some(b) = found? else { return Ok(None) };
        let list: Vec<Expr> = groups.iter().map(|g| g.1.clone()).collect();
        let groups_here = self.resolve_all(&list, &b)?;
        let mut calls = vec![];
        for (_, a) in &wanted {
            let mut a = a.clone();
            for e in agg_exprs_mut(&mut a) {
                *e = self.resolve(e, &b.layout, &b.not_null)?;
            }
            calls.push(a);
        }
        let layout: Vec<ColumnId> = groups.iter().map(|g| g.0).chain(wanted.iter().map(|a| a.0)).collect();
        let facts = not_null(node).intersection(&layout.iter().collect());
        let cost = b.cost() + rows.min(whole.rows) * self.cx.settings.cost.group;
        let op = PlanOp::Aggregate {
            input: Box::new(b.node),
            groups: groups_here,
            few: vec![],
            aggregates: calls,
            rollup: false,
            ordered: true,
        };
        Ok(Some(self.node(op, layout, facts, estimate, cost)))
    }
}

/// The group columns, if all are plain columns of the input.
fn group_columns(node: &Logical) -> Option<Vec<ColumnId>> {
    let Logical::Aggregate { groups, rollup: false, .. } = node else { return None };
    groups.iter().map(|(c, e)| as_column(e).map(|_| *c)).collect()
}

/// The input's order in which groups come in the order of `keys`: these, then the other group columns.
fn order_of_groups(groups: &[(ColumnId, Expr)], keys: &[(Expr, bool)]) -> Option<Vec<(Expr, bool)>> {
    let mut order: Vec<(Expr, bool)> = vec![];
    for (k, descending) in keys {
        let c = as_column(k)?;
        let source = &groups.iter().find(|g| g.0 == c)?.1;
        as_column(source)?;
        order.push((source.clone(), *descending));
    }
    let backwards = order.first().is_some_and(|o| o.1);
    for (_, e) in groups {
        as_column(e)?;
        if order.iter().all(|o| o.0 != *e) {
            order.push((e.clone(), backwards));
        }
    }
    if order.is_empty() { None } else { Some(order) }
}
