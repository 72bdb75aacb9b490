//! How a table's rows are found: by scanning, by the values of a unique key, or through ranges of an index.

use super::index::{IndexPath, Site};
use super::{Built, Physical};
use crate::optimize::column_set::ColumnSet;
use crate::optimize::lookup_cost::tests;
use crate::optimize::properties::{not_null, null_rejected};
use crate::optimize::tree::as_column;
use catalog::{IndexDef, TableDef};
use expr::{CmpOp, ColumnId, Expr, ExprKind};
use plan::PlanOp;
use plan::logical::{IndexHintScope, Logical};
use std::cmp::Ordering;
use types::{Error, Result, SqlType};

/// Key tuples that one lookup may have.
const LOOKUP_KEYS_MAX: usize = 1024;

/// What every access to a base table needs, however the rows are found.
pub(super) struct Reading {
    /// Table columns read, by position in the definition, and their ids.
    pub numbers: Vec<usize>,
    pub layout: Vec<ColumnId>,
    /// Which of them are output.
    pub project: Vec<usize>,
    pub out: Vec<ColumnId>,
    pub with_row_id: bool,
    /// Columns never NULL: in the table, and in rows that pass the predicates.
    pub facts: ColumnSet,
    pub passed: ColumnSet,
}

impl Physical<'_, '_> {
    pub(super) fn reading(&self, get: &Logical, predicates: &[Expr], needed: &ColumnSet) -> Result<Reading> {
        let Logical::Get { columns, row_id, .. } = get else {
            return Err(Error::internal("an access path to something that is no table"));
        };
        let mut read = needed.clone();
        predicates.iter().for_each(|p| crate::optimize::tree::collect_columns(p, &mut read));
        let used: Vec<(ColumnId, usize)> = columns.iter().copied().filter(|c| read.contains(c.0)).collect();
        // Filters see the table's own NULLs; the rows that pass are free of those that a filter rejects.
        let facts = not_null(get);
        let mut passed = facts.clone();
        for p in predicates {
            passed.union_with(&null_rejected(p));
        }
        let project: Vec<usize> = (0..used.len()).filter(|i| needed.contains(used[*i].0)).collect();
        let mut out: Vec<ColumnId> = project.iter().map(|i| used[*i].0).collect();
        let with_row_id = row_id.is_some_and(|r| needed.contains(r));
        out.extend(row_id.filter(|_| with_row_id));
        Ok(Reading {
            numbers: used.iter().map(|c| c.1).collect(),
            layout: used.iter().map(|c| c.0).collect(),
            project,
            out,
            with_row_id,
            facts,
            passed,
        })
    }

    /// A base table under `predicates`.
    pub(super) fn access(&mut self, get: &Logical, predicates: &[Expr], needed: &ColumnSet) -> Result<Built> {
        let Logical::Get { table, alias, columns, is_virtual, hints, tuning, .. } = get else {
            return Err(Error::internal("an access path to something that is no table"));
        };
        let r = self.reading(get, predicates, needed)?;
        let whole = self.est.node(get, &[]);
        let cost = &self.cx.settings.cost;
        let scan_cost = whole.rows * (cost.scan + tests(predicates) * cost.predicate);
        if *is_virtual {
            let op = PlanOp::Virtual {
                schema: table.schema.clone(),
                name: table.name.clone(),
                columns: r.numbers,
                table: table.clone(),
                wanted: vec![],
            };
            let examined = whole.rows;
            let made = self.node(op, r.layout, r.facts, whole, scan_cost);
            return Ok(self.noted(made, get, examined));
        }
        let site = Site { table, columns, hints, predicates, whole: &whole, tuning };
        let lookup = table
            .indexes
            .iter()
            .enumerate()
            .filter(|(i, x)| x.is_unique() && self.visible(x) && site.allows(*i, IndexHintScope::Join))
            .filter_map(|(i, x)| key_values(table, x, columns, predicates).map(|k| (i, k)))
            .min_by_key(|(_, k)| k.keys.len());
        if let Some((index, found)) = lookup
            && (found.keys.len() as f64) * cost.key_lookup < scan_cost.max(cost.key_lookup * 4.0)
        {
            let rest: Vec<Expr> = predicates
                .iter()
                .enumerate()
                .filter(|(i, _)| !found.used.contains(i))
                .map(|(_, p)| self.resolve(p, &r.layout, &r.facts))
                .collect::<Result<_>>()?;
            self.note_ways(get, &site, vec![], scan_cost, Some(index));
            let found_rows = whole.rows.min(found.keys.len() as f64);
            let share = found_rows / whole.rows.max(1.0);
            let e = crate::optimize::cardinality::filtered(whole, predicates, share);
            let cost = found.keys.len() as f64 * self.cx.settings.cost.key_lookup;
            self.rows_read += found.keys.len() as f64;
            let op = PlanOp::KeyLookup {
                table: table.clone(),
                alias: alias.clone(),
                index,
                keys: found.keys,
                columns: r.numbers,
                filters: rest,
                project: r.project,
                with_row_id: r.with_row_id,
            };
            let made = self.node(op, r.out, r.passed, e, cost);
            return Ok(self.noted(made, get, found_rows));
        }
        let forced = site.forced(IndexHintScope::Join);
        let mut paths = self.range_paths(&site);
        if forced && paths.is_empty() {
            paths = self.covering_paths(&site, &r.numbers);
        }
        let mut ways = self.ways(&site, &paths, &r.numbers);
        let best = paths
            .iter()
            .enumerate()
            .filter(|(_, p)| p.entries <= whole.rows * WIDEST_SHARE || p.form.clustered || forced)
            .map(|(i, p)| (self.path_cost(&site, p, &r.numbers, 1.0, false), i))
            .min_by(|a, b| a.0.0.total_cmp(&b.0.0));
        let single = best.as_ref().map_or(f64::INFINITY, |b| b.0.0);
        let budget = if forced { single } else { single.min(scan_cost.max(SMALL_SCAN_NS)) };
        if let Some(merge) = self.merge_path(&site, &paths, r.numbers.len(), budget)? {
            ways.push(merge.way(&site));
            self.note_ways(get, &site, ways, scan_cost, None);
            return self.index_merge(get, &site, r, merge);
        }
        let best = best.map(|(cost, i)| (cost, paths.swap_remove(i)));
        if let Some(((cost, sorted), path)) = best
            && (cost < scan_cost.max(SMALL_SCAN_NS) && !(path.skip_scan && cost > scan_cost) || forced)
        {
            self.note_ways(get, &site, ways, scan_cost, Some(path.index));
            return self.index_scan(get, &site, r, path, (cost, sorted), None);
        }
        self.note_ways(get, &site, ways, scan_cost, None);
        let filtered = if predicates.is_empty() { whole.clone() } else { self.est.passing(get, predicates, &whole) };
        // Cheap and selective conjuncts first; the scan reorders them by what it measures. What may warn or fail comes
        // last and as written: it may be guarded by what stands before it.
        let mut ranked: Vec<(bool, f64, &Expr)> = predicates
            .iter()
            .map(|p| {
                let s = crate::optimize::cardinality::one(p, &whole);
                (!p.is_harmless(), (s - 1.0) / weight(p), p)
            })
            .collect();
        ranked.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| if a.0 { Ordering::Equal } else { a.1.total_cmp(&b.1) }));
        let filters =
            ranked.into_iter().map(|(_, _, p)| self.resolve(p, &r.layout, &r.facts)).collect::<Result<Vec<_>>>()?;
        self.rows_read += whole.rows;
        let op = PlanOp::Scan {
            table: table.clone(),
            alias: alias.clone(),
            columns: r.numbers,
            filters,
            project: r.project,
            sideways: vec![],
            with_row_id: r.with_row_id,
        };
        let made = self.node(op, r.out, r.passed, filtered, scan_cost);
        Ok(self.noted(made, get, whole.rows))
    }

    /// The node that reads through an index; `order`: the rows are wanted in its order, backwards if true, and the
    /// reader stops after so many.
    pub(super) fn index_scan(
        &mut self,
        get: &Logical,
        site: &Site<'_>,
        r: Reading,
        mut path: IndexPath,
        (cost, sorted): (f64, bool),
        order: Option<(bool, Option<u64>)>,
    ) -> Result<Built> {
        let Logical::Get { table, alias, .. } = get else {
            return Err(Error::internal("an access path to something that is no table"));
        };
        let whole = self.est.node(get, &[]);
        let share = path.rows / whole.rows.max(1.0);
        let e = crate::optimize::cardinality::filtered(whole, site.predicates, share);
        let (mut answered, mut filters) = (vec![], vec![]);
        for (p, (by_range, by_entry)) in site.predicates.iter().zip(path.answered.iter().zip(&path.pushed.answered)) {
            let p = self.resolve(p, &r.layout, &r.facts)?;
            if *by_range || *by_entry { answered.push(p) } else { filters.push(p) }
        }
        let entries = Box::new(self.entry_use(site, &mut path, &r, sorted)?);
        self.rows_read += path.entries;
        let op = PlanOp::IndexScan {
            table: table.clone(),
            alias: alias.clone(),
            index: path.index,
            ranges: path.ranges,
            reverse: order.is_some_and(|o| o.0),
            ordered: order.is_some(),
            columns: r.numbers,
            answered,
            filters,
            project: r.project,
            with_row_id: r.with_row_id,
            expected_rows: order.and_then(|o| o.1),
            entries,
        };
        let made = self.node(op, r.out, r.passed, e, cost);
        Ok(self.noted(made, get, path.entries))
    }

    /// Whole indexes that have all the columns.
    fn covering_paths(&self, site: &Site<'_>, columns: &[usize]) -> Vec<IndexPath> {
        if !self.cx.settings.index_access {
            return vec![];
        }
        let usable = |(i, x): &(usize, &IndexDef)| self.visible(x) && site.allows(*i, IndexHintScope::Join);
        let ordered = |(i, _): &(usize, &IndexDef)| self.cx.stats.index_form(site.table.id, *i).ordered;
        let indexes = site.table.indexes.iter().enumerate().filter(usable).filter(ordered);
        indexes.map(|(i, _)| self.whole_path(site, i)).filter(|p| self.covers(site, p, columns)).collect()
    }

    /// The table's rows in the order of `keys`, by an index that has it, if that costs less than `budget`. The reader
    /// takes `limit` rows, or all.
    pub(super) fn access_in_order(
        &mut self,
        get: &Logical,
        predicates: &[Expr],
        needed: &ColumnSet,
        keys: &[(Expr, bool)],
        limit: Option<u64>,
        budget: f64,
    ) -> Result<Option<Built>> {
        let Logical::Get { table, columns, is_virtual: false, hints, tuning, .. } = get else { return Ok(None) };
        if table.indexes.is_empty() {
            return Ok(None);
        }
        let whole = self.est.node(get, &[]);
        let site = Site { table, columns, hints, predicates, whole: &whole, tuning };
        let r = self.reading(get, predicates, needed)?;
        let mut best: Option<(f64, IndexPath, bool)> = None;
        for (path, reverse) in self.ordered_paths(&site, keys) {
            let share = match limit {
                None => 1.0,
                // Rows that pass may lie at the far end: not as many as on average are expected near this one.
                Some(l) if path.answered.iter().any(|a| !a) => (UNEVEN * l as f64 / path.rows.max(1e-9)).min(1.0),
                Some(l) => (l as f64 / path.rows.max(1.0)).min(1.0),
            };
            let (cost, _) = self.path_cost(&site, &path, &r.numbers, share, true);
            if best.as_ref().is_none_or(|b| cost < b.0) {
                best = Some((cost, path, reverse));
            }
        }
        match best {
            Some((cost, path, reverse)) if cost < budget || site.forced(self.order_scope) => {
                self.index_scan(get, &site, r, path, (cost, false), Some((reverse, limit))).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// A scan this short is not worth more: tables grow while their plans are kept, and then the index is the safe choice.
pub(super) const SMALL_SCAN_NS: f64 = 1000.0;
/// An index that leaves more of the table than this is no help, whatever the figures say.
pub(super) const WIDEST_SHARE: f64 = 0.5;
/// How many times more entries than on average an ordered reader must expect to read.
const UNEVEN: f64 = 4.0;

/// Rough cost of evaluating a predicate on a row, in comparisons of integers.
fn weight(p: &Expr) -> f64 {
    let mut w = 0.0f64;
    p.walk(&mut |e| {
        w += match &e.kind {
            ExprKind::Column(_) if e.ty.is_string() => 2.0,
            ExprKind::Column(_) => 0.5,
            ExprKind::Const(_) | ExprKind::Param(_) | ExprKind::UserVar { is_fixed: true, .. } => 0.0,
            ExprKind::Like { .. } => 10.0,
            ExprKind::Call { .. } => 5.0,
            _ => 1.0,
        }
    });
    w.max(0.5)
}

struct KeyValues {
    keys: Vec<Vec<Expr>>,
    /// Conjuncts that the lookup answers, by position.
    used: Vec<usize>,
}

/// Constants for every part of a unique key.
fn key_values(
    table: &TableDef,
    index: &IndexDef,
    columns: &[(ColumnId, usize)],
    predicates: &[Expr],
) -> Option<KeyValues> {
    let mut keys: Vec<Vec<Expr>> = vec![vec![]];
    let mut used = vec![];
    for part in &index.parts {
        if part.prefix_len.is_some() {
            return None;
        }
        let ty = table.columns[part.column_idx].ty;
        let (i, values) = predicates.iter().enumerate().find_map(|(i, p)| {
            values_of(p, ty, |c| columns.iter().any(|(id, n)| *id == c && *n == part.column_idx)).map(|v| (i, v))
        })?;
        used.push(i);
        if keys.len() * values.len() > LOOKUP_KEYS_MAX {
            return None;
        }
        keys = keys
            .iter()
            .flat_map(|k| {
                values.iter().map(move |v| {
                    let mut k = k.clone();
                    k.push(v.clone());
                    k
                })
            })
            .collect();
    }
    Some(KeyValues { keys, used })
}

/// Columns of a table that the server makes, and the one value of each that `predicates` let through.
pub(super) fn wanted_values(get: &Logical, predicates: &[Expr]) -> Vec<(usize, Expr)> {
    let Logical::Get { table, columns, is_virtual: true, .. } = get else { return vec![] };
    let mut found = vec![];
    for &(id, position) in columns {
        let value = predicates.iter().find_map(|p| values_of(p, table.columns[position].ty, |c| c == id));
        if let Some(Ok([value])) = value.map(<[Expr; 1]>::try_from) {
            found.push((position, value));
        }
    }
    found
}

/// The values that `column = constant` or `column IN (constants)` allows.
fn values_of(p: &Expr, ty: SqlType, is_key: impl Fn(ColumnId) -> bool) -> Option<Vec<Expr>> {
    let key = |e: &Expr| as_column(e).is_some_and(&is_key);
    let fits = |e: &Expr| e.is_constant() && comparable(&e.ty, &ty);
    match &p.kind {
        ExprKind::Compare { op: CmpOp::Eq, left, right } => {
            if key(left) && fits(right) {
                Some(vec![(**right).clone()])
            } else if key(right) && fits(left) {
                Some(vec![(**left).clone()])
            } else {
                None
            }
        }
        ExprKind::InList { expr, list, negated: false }
            if key(expr) && list.len() <= LOOKUP_KEYS_MAX && list.iter().all(fits) =>
        {
            let mut values: Vec<Expr> = vec![];
            for v in list.iter() {
                if !values.contains(v) {
                    values.push(v.clone());
                }
            }
            // Equal under the collation though different: the lookup would yield the row twice.
            if ty.is_string() && values.len() > 1 {
                return None;
            }
            // Parameters may turn out equal.
            if values.len() > 1 && values.iter().any(|v| v.as_const().is_none()) {
                return None;
            }
            Some(values)
        }
        _ => None,
    }
}

/// Is a value of type `v` looked up as it is in a key of type `key`?
fn comparable(v: &SqlType, key: &SqlType) -> bool {
    match (v, key) {
        (SqlType::Decimal { scale: a, .. }, SqlType::Decimal { scale: b, .. }) => a == b,
        (SqlType::String { collation: a, .. }, SqlType::String { collation: b, .. }) => a == b,
        // A parameter of another width: the lookup finds nothing for what the key cannot hold.
        (SqlType::Int { .. }, SqlType::Int { .. }) => true,
        _ => v == key,
    }
}
