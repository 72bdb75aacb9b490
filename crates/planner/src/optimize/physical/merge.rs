//! Index merge: several indexes of one table find row ids, which are united (OR) or intersected (AND).
//!
//! ```text
//!   a = 1 OR (b > 7 AND c = 2)     union of index (a)'s row ids and index (b, c)'s
//!   a = 1 AND b = 2                intersection of index (a)'s row ids and index (b)'s
//! ```
//! Manual: "Index Merge Optimization". All conditions are tested on the rows: what the indexes find may be more than
//! what is wanted, never less. So each branch of an OR takes the index that bounds it best, whatever else the branch
//! says, and an intersection the indexes that are worth their walk.
//!
//! A merge costs the walks, the sorting of row ids, and the rows that are left, read in the order in which they lie.
//!
//! A condition may be a conjunction of hundreds of ORs: `(a, b) NOT IN ((1, 2), (3, 4), ...)` is one. Of these the few
//! most selective are weighed as unions, each only until it costs more than what there is already, and the statement's
//! merges look at the indexes a bounded number of times; what is left is estimated from statistics.

use super::access::Reading;
use super::index::{DIVES_MAX, IndexPath, Site};
use super::{Built, Physical};
use crate::optimize::cardinality::one;
use crate::optimize::lookup_cost::tests;
use crate::optimize::ranges::is_bound;
use crate::optimize::tree::filter;
use expr::{ColumnId, Expr, ExprKind};
use plan::access::{EntryUse, Merge, MergeKind};
use plan::explain::{Way, range_texts};
use plan::logical::{IndexHintScope, Logical};
use plan::{IndexRange, PlanOp};
use types::{Error, Result, SqlType};

/// Branches of an OR, or indexes of an intersection, that are worth a look.
const BRANCHES_MAX: usize = 16;
const INTERSECTED_MAX: usize = 3;
/// ORs that are weighed as unions: the most selective ones.
const UNIONS_MAX: usize = 8;
/// Conditions beside an OR that may narrow what its branches find in an index.
const OTHERS_MAX: usize = 16;
/// Looks at indexes that a statement's unions may take.
pub(super) const MERGE_DIVES_MAX: usize = 512;

pub(super) struct MergePath {
    kind: MergeKind,
    parts: Vec<MergePart>,
    cost: f64,
    /// Rows read, before conditions.
    rows: f64,
}

struct MergePart {
    index: usize,
    ranges: Vec<IndexRange>,
    /// Entries within the ranges.
    held: f64,
}

/// An index that may take part in a union.
struct Member<'s> {
    index: usize,
    /// Its first column.
    column: ColumnId,
    ty: SqlType,
    /// Conditions that bound one of its parts.
    narrowing: Vec<&'s Expr>,
}

impl MergePath {
    /// For OPTIMIZER_TRACE.
    pub(super) fn way(&self, site: &Site<'_>) -> Way {
        let name = |p: &MergePart| site.table.indexes[p.index].name.to_string();
        let names: Vec<String> = self.parts.iter().map(name).collect();
        let of_part = |p: &MergePart| range_texts(site.table, &site.table.indexes[p.index], &p.ranges);
        Way {
            index: format!("{}({})", self.kind.name(), names.join(",")),
            access_type: "index_merge",
            ranges: self.parts.iter().flat_map(of_part).collect(),
            rows: self.rows,
            cost: self.cost,
            covers: false,
            sorted: true,
            cause: None,
        }
    }
}

impl Site<'_> {
    /// INDEX_MERGE: a merge, if there is one, whatever it costs.
    pub fn merge_forced(&self) -> bool {
        let hint = self.tuning.hints().map(|h| &h.index_merge);
        hint.is_some_and(|h| h.whole == Some(true) || h.some.iter().any(|s| s.1))
    }
}

impl Physical<'_, '_> {
    /// The cheapest merge for the table's predicates, if it beats `budget` or a hint wants it. `ranges`: what single
    /// indexes can do; `columns` are read.
    pub(super) fn merge_path(
        &self,
        site: &Site<'_>,
        ranges: &[IndexPath],
        columns: usize,
        budget: f64,
    ) -> Result<Option<MergePath>> {
        let budget = if site.merge_forced() { f64::INFINITY } else { budget };
        if !self.cx.settings.index_access || site.table.indexes.len() < 2 {
            return Ok(None);
        }
        let mut best = self.intersection(site, ranges, columns, budget).filter(|m| m.cost < budget);
        let members = self.members(site);
        for (or, branches) in selective_ors(site, &members) {
            self.cx.pace.check()?;
            let budget = best.as_ref().map_or(budget, |b| b.cost);
            if let Some(union) = self.union(site, &members, or, branches, columns, budget)
                && union.cost < budget
            {
                best = Some(union);
            }
        }
        Ok(best)
    }

    /// None if no union is possible.
    fn members<'s>(&self, site: &Site<'s>) -> Vec<Member<'s>> {
        let has_or = site.predicates.iter().any(|p| matches!(p.kind, ExprKind::Or(_)));
        let merged: Vec<usize> = match has_or {
            true => (0..site.table.indexes.len()).filter(|i| self.merges(site, *i)).collect(),
            false => vec![],
        };
        if merged.len() < 2 {
            return vec![];
        }
        let part = |column_idx: usize| {
            let c = site.columns.iter().find(|c| c.1 == column_idx)?;
            Some((c.0, site.table.columns[column_idx].ty))
        };
        let member = |index: usize| {
            let parts = &site.table.indexes[index].parts;
            let (column, ty) = part(parts[0].column_idx)?;
            let read: Vec<_> = parts.iter().filter_map(|p| part(p.column_idx)).collect();
            let bounds = |e: &&Expr| read.iter().any(|(c, ty)| is_bound(e, *c, ty));
            // One more, for the OR itself may be among them.
            let narrowing = site.predicates.iter().filter(bounds).take(OTHERS_MAX + 1).collect();
            Some(Member { index, column, ty, narrowing })
        };
        merged.into_iter().filter_map(member).collect()
    }

    /// May the index take part? A hint that names indexes means these alone.
    fn merges(&self, site: &Site<'_>, i: usize) -> bool {
        let hint = site.tuning.hints().map(|h| &h.index_merge);
        let on = match hint {
            Some(h) if h.some.iter().any(|s| s.1) => h.some.contains(&(i, true)),
            Some(h) => h.get(i).unwrap_or(self.cx.settings.switch.index_merge),
            None => self.cx.settings.switch.index_merge,
        };
        on && self.visible(&site.table.indexes[i])
            && site.allows(i, IndexHintScope::Join)
            && !site.tuning.no_range(i)
            && self.cx.stats.index_form(site.table.id, i).ordered
    }

    /// A hint outranks the flag of the kind.
    fn kind_is_on(&self, site: &Site<'_>, kind: MergeKind) -> bool {
        let switch = &self.cx.settings.switch;
        site.merge_forced()
            || match kind {
                MergeKind::Union => switch.index_merge_union,
                MergeKind::SortUnion => switch.index_merge_sort_union,
                MergeKind::Intersect => switch.index_merge_intersection,
            }
    }

    /// By an index for each branch of an OR.
    fn union(
        &self,
        site: &Site<'_>,
        members: &[Member<'_>],
        or: &Expr,
        branches: &[Expr],
        columns: usize,
        budget: f64,
    ) -> Option<MergePath> {
        let mut parts: Vec<MergePart> = vec![];
        for branch in branches {
            let own = match &branch.kind {
                ExprKind::And(list) => &list[..],
                _ => std::slice::from_ref(branch),
            };
            // What bounds the other conditions alone is one index's business.
            let bound = members.iter().filter(|m| is_bound(branch, m.column, &m.ty));
            let found = bound.filter_map(|m| {
                let others = m.narrowing.iter().copied().filter(|o| !std::ptr::eq(*o, or));
                let conjuncts: Vec<&Expr> = own.iter().chain(others).collect();
                self.merge_part(site, m.index, &conjuncts)
            });
            parts.push(found.min_by(|a, b| a.held.total_cmp(&b.held))?);
            if self.merged_walks(&parts) >= budget {
                return None;
            }
        }
        if parts.iter().all(|p| p.index == parts[0].index) {
            // One index has it all: an ordinary range.
            return None;
        }
        let parts = by_index(parts);
        let kinds = [MergeKind::Union, MergeKind::SortUnion];
        let in_order = parts.iter().all(|p| is_whole_key(site, p));
        let kind = kinds.into_iter().find(|k| (in_order || *k == MergeKind::SortUnion) && self.kind_is_on(site, *k))?;
        let rows = parts.iter().map(|p| p.held).sum::<f64>().min(site.whole.rows);
        Some(self.merge_of(site, kind, parts, rows, columns))
    }

    fn merge_part(&self, site: &Site<'_>, i: usize, conjuncts: &[&Expr]) -> Option<MergePart> {
        let index = &site.table.indexes[i];
        let ranges = self.index_ranges(site, index, conjuncts)?.ranges;
        let left = self.merge_dives_left.get();
        self.merge_dives_left.set(left.saturating_sub(ranges.len().min(DIVES_MAX)));
        let held = self.entries(site, i, index, &ranges, left > 0);
        Some(MergePart { index: i, ranges, held })
    }

    /// By the indexes that each leave out rows which the others do not, as long as one more makes it cheaper.
    fn intersection(&self, site: &Site<'_>, ranges: &[IndexPath], columns: usize, budget: f64) -> Option<MergePath> {
        if !self.kind_is_on(site, MergeKind::Intersect) {
            return None;
        }
        let mut paths: Vec<&IndexPath> = ranges.iter().filter(|p| !p.skip_scan && self.merges(site, p.index)).collect();
        paths.sort_by(|a, b| a.held.total_cmp(&b.held));
        let mut taken: Vec<&IndexPath> = vec![];
        let mut best: Option<MergePath> = None;
        for p in paths {
            let new = |t: &&IndexPath| p.answered.iter().zip(&t.answered).any(|(a, b)| *a && !*b);
            if taken.len() == INTERSECTED_MAX || !taken.iter().all(new) {
                continue;
            }
            taken.push(p);
            if taken.len() < 2 {
                continue;
            }
            let part = |p: &&IndexPath| MergePart { index: p.index, ranges: p.ranges.clone(), held: p.held };
            let parts: Vec<MergePart> = taken.iter().map(part).collect();
            if self.merged_walks(&parts) >= budget {
                break;
            }
            let made = self.merge_of(site, MergeKind::Intersect, parts, self.common(site, &taken), columns);
            match &best {
                Some(b) if b.cost <= made.cost => _ = taken.pop(),
                _ => best = Some(made),
            }
        }
        best
    }

    /// Rows that all the paths have: those of the first for which the conditions of the others hold as well.
    fn common(&self, site: &Site<'_>, paths: &[&IndexPath]) -> f64 {
        let first = &paths[0].answered;
        let any = |n: usize| paths.iter().any(|p| p.answered[n]);
        let of = |wanted: &dyn Fn(usize) -> bool| -> Vec<Expr> {
            let all = site.predicates.iter().enumerate();
            all.filter(|(n, _)| wanted(*n)).map(|(_, p)| p.clone()).collect()
        };
        let (given, rest) = (of(&|n| first[n]), of(&|n| any(n) && !first[n]));
        paths[0].held * self.est.conditional(site.table, site.columns, &given, &rest, site.whole)
    }

    /// What finding and sorting the row ids costs.
    fn merged_walks(&self, parts: &[MergePart]) -> f64 {
        let cost = &self.cx.settings.cost;
        let walk = |p: &MergePart| {
            let start = cost.index_open + (p.ranges.len() as f64).max(1.0) * cost.index_descent;
            start + p.held * (cost.index_entry + cost.merge_row_id)
        };
        parts.iter().map(walk).sum()
    }

    fn merge_of(
        &self,
        site: &Site<'_>,
        kind: MergeKind,
        parts: Vec<MergePart>,
        rows: f64,
        columns: usize,
    ) -> MergePath {
        let cost = &self.cx.settings.cost;
        let leaves = (site.whole.rows / 1024.0).max(1.0);
        let row = cost.multi_range_row + cost.leaf_visit * (leaves / rows.max(1.0)).min(1.0);
        let each = row + columns as f64 * cost.fetch_column + tests(site.predicates) * cost.predicate;
        let cost = self.merged_walks(&parts) + rows * each;
        MergePath { kind, parts, cost, rows }
    }

    pub(super) fn index_merge(&mut self, get: &Logical, site: &Site<'_>, r: Reading, path: MergePath) -> Result<Built> {
        let Logical::Get { table, alias, .. } = get else {
            return Err(Error::internal("an index merge of something that is no table"));
        };
        let node = filter(get.clone(), site.predicates.to_vec());
        let e = self.est.node(&node, std::slice::from_ref(site.whole));
        self.rows_read += path.rows;
        let mut parts = path.parts.into_iter().map(|p| (p.index, p.ranges));
        let Some((index, ranges)) = parts.next() else {
            return Err(Error::internal("an index merge of no index"));
        };
        let merge = Merge { kind: path.kind, others: parts.collect() };
        let filters =
            site.predicates.iter().map(|p| self.resolve(p, &r.layout, &r.facts)).collect::<Result<Vec<_>>>()?;
        let op = PlanOp::IndexScan {
            table: table.clone(),
            alias: alias.clone(),
            index,
            ranges,
            reverse: false,
            ordered: false,
            columns: r.numbers,
            answered: vec![],
            filters,
            project: r.project,
            with_row_id: r.with_row_id,
            expected_rows: None,
            entries: Box::new(EntryUse { merge: Some(Box::new(merge)), ..EntryUse::default() }),
        };
        let made = self.node(op, r.out, r.passed, e, path.cost);
        Ok(self.noted(made, get, path.rows))
    }
}

/// The ORs of which each branch bounds some index, as far as they are worth a look.
fn selective_ors<'s>(site: &Site<'s>, members: &[Member<'_>]) -> Vec<(&'s Expr, &'s [Expr])> {
    let bounds_some = |b: &Expr| members.iter().any(|m| is_bound(b, m.column, &m.ty));
    let mut ors: Vec<(f64, &Expr, &[Expr])> = vec![];
    for p in site.predicates {
        if let ExprKind::Or(branches) = &p.kind
            && branches.len() <= BRANCHES_MAX
            && branches.iter().all(bounds_some)
        {
            ors.push((one(p, site.whole), p, branches));
        }
    }
    ors.sort_by(|a, b| a.0.total_cmp(&b.0));
    ors.into_iter().take(UNIONS_MAX).map(|(_, or, branches)| (or, branches)).collect()
}

/// Branches that chose the same index walk it once.
fn by_index(parts: Vec<MergePart>) -> Vec<MergePart> {
    let mut out: Vec<MergePart> = vec![];
    for p in parts {
        match out.iter_mut().find(|o| o.index == p.index) {
            Some(o) => {
                o.held += p.held;
                o.ranges.extend(p.ranges);
            }
            None => out.push(p),
        }
    }
    out
}

/// One whole key: its entries lie in the order of their row ids.
fn is_whole_key(site: &Site<'_>, p: &MergePart) -> bool {
    let parts = site.table.indexes[p.index].parts.len();
    matches!(p.ranges.as_slice(), [one] if one.last.is_none() && one.equal.len() == parts)
}
