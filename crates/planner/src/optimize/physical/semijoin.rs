//! Semijoins driven by the inner side: its distinct values look the outer rows up in an index.
//!
//! *Materialize-scan* makes the values distinct by hashing; *loose scan* reads them from an index of the inner table,
//! in its order. When a subquery is better run for each outer row is decided here too.

use super::dependent::splits;
use super::{Built, Physical};
use crate::optimize::cardinality::Estimate;
use crate::optimize::column_set::ColumnSet;
use crate::optimize::properties::{covered, keys};
use crate::optimize::strategy::{Manner, Semijoin};
use crate::optimize::tree::output_set;
use expr::{ColumnId, Expr};
use plan::Strategy;
use plan::logical::{IndexHintKind, Logical, LogicalJoinKind};
use types::{Error, Result};

/// A semijoin.
pub(super) struct Sides<'n> {
    pub node: &'n Logical,
    pub left: &'n Logical,
    pub right: &'n Logical,
    pub on: &'n [Expr],
    pub ro: &'n ColumnSet,
    pub needed: &'n ColumnSet,
}

impl Physical<'_, '_> {
    /// The join of the distinct `columns` of the right side with the left side's rows, by an index of that: if allowed
    /// and cheaper than `usual`. Else gives the right side back.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn scan_of_values(
        &mut self,
        sides: &Sides<'_>,
        r: Built,
        mut columns: Vec<ColumnId>,
        allowed: Semijoin,
        usual: f64,
        estimate: &Estimate,
        (left_read, right_read): (f64, f64),
    ) -> Result<std::result::Result<Built, Built>> {
        let loose = if allowed.loose_scan { self.loose_scan_order(sides.right, &columns) } else { None };
        if !allowed.materialize && loose.is_none() {
            return Ok(Err(r));
        }
        let budget = match allowed.only_loose_scan() {
            true => f64::INFINITY,
            false => usual - r.rows() * self.cx.settings.cost.group,
        };
        let Some(path) = self.index_join_path(&r, sides.ro, sides.left, sides.on, budget, false) else {
            return Ok(Err(r));
        };
        columns.sort_unstable();
        columns.dedup();
        let is_key = covered(&keys(sides.right), &columns.iter().copied().collect());
        let mut strategy = Strategy::MaterializeScan;
        let mut outer = None;
        if let Some(order) = loose {
            let budget =
                if allowed.materialize { r.cost() + r.rows() * self.cx.settings.cost.group } else { f64::INFINITY };
            outer = self.in_index_order(sides.right, &order, budget)?;
            if outer.is_some() {
                strategy = Strategy::LooseScan;
                self.rows_read -= right_read;
            }
        }
        let mut outer = match outer {
            Some(o) => self.rearranged(o, &columns)?,
            None if allowed.materialize => self.rearranged(r, &columns)?,
            None => return Ok(Err(r)),
        };
        if !is_key {
            outer = self.distinct(outer)?;
        }
        self.rows_read -= left_read;
        let made = self.index_join(
            sides.node,
            LogicalJoinKind::Inner,
            outer,
            sides.left,
            sides.on,
            sides.needed,
            estimate.clone(),
            path,
            false,
        )?;
        let mut made = made.ok_or_else(|| Error::internal("a path to nothing"))?;
        made.node.notes.strategy = Some(strategy);
        Ok(Ok(made))
    }

    /// `columns` in the order of an index of the right side's table that begins with them.
    fn loose_scan_order(&self, right: &Logical, columns: &[ColumnId]) -> Option<Vec<ColumnId>> {
        let get = match right {
            Logical::Filter { input, .. } => input,
            other => other,
        };
        let Logical::Get { table, columns: own, is_virtual: false, hints, .. } = get else { return None };
        if !self.cx.settings.index_access || hints.iter().any(|h| h.kind != IndexHintKind::Force) {
            return None;
        }
        table.indexes.iter().enumerate().find_map(|(i, index)| {
            let lead: Vec<ColumnId> = index
                .parts
                .iter()
                .map_while(|p| own.iter().find(|c| c.1 == p.column_idx && p.prefix_len.is_none()).map(|c| c.0))
                .take_while(|c| columns.contains(c))
                .collect();
            let all = columns.iter().all(|c| lead.contains(c));
            (all && self.visible(index) && self.cx.stats.index_form(table.id, i).ordered).then_some(lead)
        })
    }

    fn in_index_order(&mut self, right: &Logical, order: &[ColumnId], budget: f64) -> Result<Option<Built>> {
        let (get, predicates): (&Logical, &[Expr]) = match right {
            Logical::Filter { input, predicates } => (input, predicates),
            other => (other, &[]),
        };
        let keys: Vec<(Expr, bool)> = order.iter().map(|c| (self.cx.columns.expr(*c), false)).collect();
        let needed = output_set(right).intersection(&order.iter().copied().collect());
        self.access_in_order(get, predicates, &needed, &keys, None, budget)
    }

    /// What a dependent run of the right side may cost at most, if it is to be thought of at all, and what it is then.
    pub(super) fn dependent_budget(
        &self,
        manner: Manner,
        kind: LogicalJoinKind,
        right: &Logical,
        usual: f64,
        has_keys: bool,
    ) -> Option<(f64, Strategy)> {
        match manner {
            Manner::Apart(a) if !a.in_to_exists => None,
            Manner::Apart(a) => Some((if a.materialize { usual } else { f64::INFINITY }, Strategy::InToExists)),
            // Of a table alone, an index's rows are looked up without a run.
            Manner::Semijoin(s) => {
                (s.first_match && has_keys && !is_table(right)).then_some((usual, Strategy::FirstMatch))
            }
            Manner::Plain => {
                let fit = matches!(kind, LogicalJoinKind::Inner | LogicalJoinKind::Left | LogicalJoinKind::Single);
                (self.cx.settings.switch.split_materialized && fit && has_keys && splits(right))
                    .then_some((usual, Strategy::SplitMaterialized))
            }
        }
    }
}

fn is_table(node: &Logical) -> bool {
    match node {
        Logical::Filter { input, .. } => is_table(input),
        other => matches!(other, Logical::Get { .. } | Logical::CteScan { .. } | Logical::Values { .. }),
    }
}
