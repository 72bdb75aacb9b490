//! Joins by index: each row of one side looks its partners up in an index of the other side's table.
//!
//! Worth it where the outer side is small against the table: a hash join must read all of it. The outer side's size is
//! an estimate, and a lookup costs much more than a row of a scan; so the lookups must promise to be clearly cheaper.

use super::entry_use::Pushed;
use super::index::Site;
use super::{Built, Physical};
use crate::optimize::cardinality::{Estimate, conjunction, join_equality};
use crate::optimize::column_set::ColumnSet;
use crate::optimize::cost::LookupManner;
use crate::optimize::lookup_cost::{MARGIN, crowding, tests};
use crate::optimize::properties::{not_null, null_rejected};
use crate::optimize::ranges::{comparable, same_order};
use crate::optimize::tree::{as_column, exprs_columns, output_set};
use expr::{CmpOp, ColumnId, Expr, ExprKind};
use plan::access::rounds;
use plan::logical::{IndexHintScope, Logical, LogicalJoinKind};
use plan::{HashRescue, IndexRange, JoinKind, KeyBuffer, KeyValue, PlanOp};
use types::Result;

/// A join by index does not turn into a hash join before so many rows.
const RESCUE_ROWS_MIN: f64 = 1024.0;

/// Rows that are read of a key for its first match, were every row one; and the share of rows for which a condition of
/// the join that the key does not answer holds.
const FIRST_MATCH_ROWS: f64 = 2.0;
const RESIDUAL_SHARE: f64 = 0.33;
/// Rows of a scan that are as much work as one that a key finds.
const MATCH_WORK: f64 = 8.0;

/// An index by which one side can be joined.
pub(super) struct IndexJoinPath {
    index: usize,
    /// Over the outer side's columns.
    key: Vec<KeyValue>,
    pub cost: f64,
    pub forced: bool,
    /// Rows that one lookup finds, and those of them that are read.
    found: f64,
    each: f64,
    manner: LookupManner,
    pushed: Pushed,
}

/// The table and its filter, if `node` is nothing more.
pub(super) fn table_of(node: &Logical) -> Option<(&Logical, &[Expr])> {
    let (get, predicates): (&Logical, &[Expr]) = match node {
        Logical::Filter { input, predicates } => (input, predicates),
        other => (other, &[]),
    };
    matches!(get, Logical::Get { is_virtual: false, .. }).then_some((get, predicates))
}

impl Physical<'_, '_> {
    /// The best index of `inner` to join by, if it beats `hash_cost`. `stops`: of each outer row at its first match.
    pub(super) fn index_join_path(
        &self,
        outer: &Built,
        outer_columns: &ColumnSet,
        inner: &Logical,
        on: &[Expr],
        hash_cost: f64,
        stops: bool,
    ) -> Option<IndexJoinPath> {
        let (get, predicates) = table_of(inner)?;
        let Logical::Get { table, columns, hints, tuning, .. } = get else { return None };
        if !self.cx.settings.index_access || table.indexes.is_empty() {
            return None;
        }
        let inner_columns = output_set(get);
        let whole = self.est.node(get, &[]);
        let site = Site { table, columns, hints, predicates, whole: &whole, tuning };
        let read = columns.len().min(4) as f64;
        let mut best: Option<IndexJoinPath> = None;
        for (i, index) in table.indexes.iter().enumerate() {
            if !self.visible(index) || !site.allows(i, IndexHintScope::Join) {
                continue;
            }
            let mut key = vec![];
            let mut by_outer = false;
            let mut rounded = false;
            for part in &index.parts {
                let Some((c, _)) = columns.iter().find(|c| c.1 == part.column_idx) else { break };
                let ty = table.columns[part.column_idx].ty;
                let joined = on.iter().find_map(|p| {
                    let (a, b, null_safe) = join_equality(p, outer_columns, &inner_columns)?;
                    (of_column(&b, *c) && same_order(&b.ty, &a.ty, &ty).is_some())
                        .then_some(KeyValue { expr: a, null_safe })
                });
                let value = match joined {
                    Some(k) => {
                        by_outer = true;
                        k
                    }
                    None => match predicates.iter().find_map(|p| constant_for(p, *c, &ty)) {
                        Some(k) => k,
                        None => break,
                    },
                };
                // Each of several such parts would multiply the keys of a row; the condition decides the rest.
                let several = rounds(&value.expr.ty, &ty);
                if several && rounded {
                    break;
                }
                rounded |= several;
                key.push(value);
            }
            let single = index.is_unique()
                && key.len() == index.parts.len()
                && key.iter().all(|k| !k.null_safe)
                && index.parts.iter().all(|p| p.prefix_len.is_none());
            if !by_outer || (!single && !self.cx.stats.index_form(table.id, i).ordered) {
                continue;
            }
            let each = if single { 1.0 } else { self.matches(&site, get, i, &key) };
            let pushed = match single {
                true => Pushed::none(&site),
                false => self.pushed(&site, i, index, &vec![false; predicates.len()], |p| p < key.len()),
            };
            let params = &self.cx.settings.cost;
            let testing = if pushed.share < 1.0 { outer.rows() * each * params.index_entry } else { 0.0 };
            let found = each * pushed.share;
            let mut each = found;
            if stops {
                let joined = key.iter().filter(|k| !k.expr.is_constant()).count();
                let rest = RESIDUAL_SHARE.powi(on.len().saturating_sub(joined) as i32);
                let passing = conjunction(predicates, &whole) * rest;
                each = each.min(FIRST_MATCH_ROWS / passing.clamp(1e-6, 1.0));
            }
            let manner = match single {
                true => LookupManner::Unique,
                false if !stops && self.batches(JoinKind::Inner, outer.rows(), tuning.bka()) => LookupManner::Batched,
                false => LookupManner::OneByOne,
            };
            let matches = outer.rows() * each.min(self.seeks_max());
            let cost = outer.cost() + testing + params.index_join(outer.rows(), matches, read, manner);
            if best.as_ref().is_none_or(|b| cost < b.cost) {
                let forced = site.forced(IndexHintScope::Join);
                best = Some(IndexJoinPath { index: i, key, cost, forced, found, each, manner, pushed });
            }
        }
        best.filter(|b| b.forced || b.cost * MARGIN < hash_cost)
    }

    /// Entries that begin with a key not known yet, which is one of those that the predicates leave.
    fn matches(&self, site: &Site<'_>, get: &Logical, index: usize, key: &[KeyValue]) -> f64 {
        let index = &site.table.indexes[index];
        let column = |p: &catalog::IndexPart| site.columns.iter().find(|c| c.1 == p.column_idx).map(|c| c.0);
        let crowd = |c| crowding(&self.est, get, site.predicates, site.whole, c);
        let crowded: f64 = index.parts[..key.len()].iter().filter_map(column).map(crowd).product();
        let range = IndexRange { equal: key.to_vec(), last: None };
        (self.guess(site, index, &range) * crowded).clamp(1.0f64.min(site.whole.rows), site.whole.rows)
    }

    /// Is batched key access allowed, and worth it? Sorting gains nothing among few keys.
    fn batches(&self, kind: JoinKind, outer_rows: f64, hint: Option<bool>) -> bool {
        let switch = &self.cx.settings.switch;
        let allowed = match kind {
            JoinKind::Left => switch.outer_join_with_cache,
            JoinKind::Semi | JoinKind::Anti => switch.semijoin_with_cache,
            _ => true,
        };
        let on = switch.batched_key_access && switch.mrr && switch.join_cache_bka && allowed;
        let pays = !switch.mrr_cost_based || outer_rows >= self.cx.settings.cost.batch_keys_min;
        hint.unwrap_or(on && pays)
    }

    fn key_buffer(&self, kind: JoinKind, outer_rows: f64, hint: Option<bool>) -> Option<KeyBuffer> {
        let (switch, limits) = (&self.cx.settings.switch, &self.cx.settings.limits);
        self.batches(kind, outer_rows, hint).then_some(KeyBuffer {
            bytes: limits.join_buffer_size,
            row_id_bytes: limits.read_rnd_buffer_size,
            sorts_keys: switch.mrr_sort_keys,
        })
    }

    /// The hash join to turn into once lookups have cost as much as reading the table would.
    fn hash_rescue(
        &self,
        outer: &Built,
        get: &Logical,
        predicates: &[Expr],
        on: &[Expr],
        own: &[ColumnId],
        path: &IndexJoinPath,
    ) -> Result<Option<HashRescue>> {
        let switch = &self.cx.settings.switch;
        if path.forced || !switch.hash_join || !switch.block_nested_loop {
            return Ok(None);
        }
        let facts = not_null(get);
        let keys = self.hash_keys(on, (&outer.layout, &outer.not_null), (own, &facts))?;
        if keys.is_empty() {
            return Ok(None);
        }
        let cost = &self.cx.settings.cost;
        let whole = self.est.node(get, &[]);
        let kept = whole.rows * crate::optimize::cardinality::conjunction(predicates, &whole);
        let width = whole.width(&own.iter().collect());
        let reading = whole.rows * (cost.scan + tests(predicates) * cost.predicate);
        let whole_cost = reading + cost.hash_join(0.0, kept, width, 0.0, 1.0);
        let lookup = cost.index_join(1.0, path.each, own.len() as f64, path.manner) - cost.index_open;
        let after_rows = (whole_cost / lookup.max(1.0)).clamp(RESCUE_ROWS_MIN, 1e18) as u64;
        Ok(Some(HashRescue { after_rows, keys }))
    }

    /// The join of `outer` with `inner` by the path's index. `in_order`: the order of the outer rows must stay.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn index_join(
        &mut self,
        node: &Logical,
        kind: LogicalJoinKind,
        outer: Built,
        inner: &Logical,
        on: &[Expr],
        needed: &ColumnSet,
        estimate: Estimate,
        path: IndexJoinPath,
        in_order: bool,
    ) -> Result<Option<Built>> {
        let Some((get, predicates)) = table_of(inner) else { return Ok(None) };
        let Logical::Get { table, alias, columns, row_id, hints, tuning, .. } = get else { return Ok(None) };
        let kind = match kind {
            LogicalJoinKind::Inner => JoinKind::Inner,
            LogicalJoinKind::Left => JoinKind::Left,
            LogicalJoinKind::Semi => JoinKind::Semi,
            LogicalJoinKind::Anti => JoinKind::Anti,
            _ => return Ok(None),
        };
        let tested = exprs_columns(on.iter().chain(predicates));
        let used: Vec<(ColumnId, usize)> =
            columns.iter().copied().filter(|c| needed.contains(c.0) || tested.contains(c.0)).collect();
        let own: Vec<ColumnId> = used.iter().map(|c| c.0).collect();
        let own_facts = not_null(get);
        let mut both: Vec<ColumnId> = outer.layout.iter().chain(&own).copied().collect();
        let facts = outer.not_null.union(&own_facts);
        let rescue = self.hash_rescue(&outer, get, predicates, on, &own, &path)?;
        let buffer = if in_order { None } else { self.key_buffer(kind, outer.rows(), tuning.bka()) };
        let mut key = vec![];
        for k in path.key {
            key.push(KeyValue { expr: self.resolve(&k.expr, &outer.layout, &outer.not_null)?, ..k });
        }
        let whole = self.est.node(get, &[]);
        let site = Site { table, columns, hints, predicates, whole: &whole, tuning };
        // Those that entries are tested for as well: the rows may come in another way.
        let filters = predicates.iter().map(|p| self.resolve(p, &own, &own_facts)).collect::<Result<Vec<_>>>()?;
        let entries = Box::new(self.tests_of(&site, path.index, path.pushed, &own_facts)?);
        let condition = on.iter().map(|p| self.resolve(p, &both, &facts)).collect::<Result<Vec<_>>>()?;
        let with_row_id = row_id.is_some_and(|r| needed.contains(r));
        both.extend(row_id.filter(|_| with_row_id));
        let outputs_inner = matches!(kind, JoinKind::Inner | JoinKind::Left);
        let natural = if outputs_inner { both.len() } else { outer.layout.len() };
        let project: Vec<usize> = (0..natural).filter(|i| needed.contains(both[*i])).collect();
        let layout: Vec<ColumnId> = project.iter().map(|i| both[*i]).collect();
        let mut out_facts = crate::optimize::properties::not_null(node);
        out_facts.union_with(&outer.not_null);
        if kind == JoinKind::Inner {
            out_facts.union_with(&own_facts);
            predicates.iter().chain(on).for_each(|p| out_facts.union_with(&null_rejected(p)));
        }
        let out_facts = out_facts.intersection(&layout.iter().collect());
        self.rows_read += outer.rows() * (1.0 + path.found * MATCH_WORK);
        let op = PlanOp::IndexJoin {
            kind,
            input: Box::new(outer.node),
            table: table.clone(),
            alias: alias.clone(),
            index: path.index,
            key,
            columns: used.iter().map(|c| c.1).collect(),
            filters,
            entries,
            condition,
            project,
            with_row_id,
            buffer,
            rescue,
        };
        let made = self.node(op, layout, out_facts, estimate, path.cost);
        Ok(Some(self.noted(made, get, path.found)))
    }
}

/// The column, bare or under an implicit conversion.
fn of_column(e: &Expr, c: ColumnId) -> bool {
    match &e.kind {
        ExprKind::Cast { expr, explicit: false } => as_column(expr) == Some(c),
        _ => as_column(e) == Some(c),
    }
}

/// `c = constant`
fn constant_for(p: &Expr, c: ColumnId, ty: &types::SqlType) -> Option<KeyValue> {
    let ExprKind::Compare { op: CmpOp::Eq, left, right } = &p.kind else { return None };
    let value = if of_column(left, c) {
        comparable(left, right, ty)?;
        right
    } else if of_column(right, c) {
        comparable(right, left, ty)?;
        left
    } else {
        return None;
    };
    Some(KeyValue { expr: (**value).clone(), null_safe: false })
}
