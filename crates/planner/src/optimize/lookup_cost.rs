//! What joining a relation by one of its indexes would cost, for the choice of a join order.
//!
//! The order is chosen before access paths are. It must know that a small left side need not read all of a table whose
//! index it can ask; [`super::physical`] then decides by the same figures.

use super::OptimizerSettings;
use super::cardinality::{Estimate, Estimator};
use super::cost::{CostParams, LookupManner};
use super::properties::fixed_columns;
use super::tree::{expr_columns, output_set};
use catalog::IndexKind;
use expr::{ColumnId, Expr, ExprKind};
use plan::logical::{IndexHintKind, Logical};

/// How many times cheaper than a hash join a join by index must look.
pub const MARGIN: f64 = 1.5;
/// The same where it decides a join order, on estimates of estimates.
pub const ORDER_MARGIN: f64 = 3.0;
/// Outer rows beyond which an order is not chosen for an index's sake: scans that hash joins narrow cost less than a
/// join order's figures say.
pub const OUTER_ROWS_MAX: f64 = 100.0;
/// Columns that a row read by index is taken to have.
const COLUMNS: f64 = 4.0;

/// A relation that is a table, as a join by index sees it.
#[derive(Debug, Default)]
pub struct Lookups {
    /// Nanoseconds to read it without an index.
    pub scan_cost: f64,
    indexes: Vec<Lookup>,
}

#[derive(Debug)]
struct Lookup {
    /// Leading parts, by column; `true`: a predicate fixes it.
    parts: Vec<(ColumnId, bool)>,
    /// Entries under a key of 1, 2, ... parts.
    matches: Vec<f64>,
    /// Parts that a key must have: all, if the index has no order.
    parts_min: usize,
    is_unique: bool,
}

/// What looking a number up in a list costs, in comparisons.
const IN_LIST_TESTS: f64 = 4.0;

/// An OR of more branches than this is not one test but as many as it has branches.
const BRANCHES_OF_ONE_TEST: usize = 32;

/// What testing a row of a scan costs, in comparisons.
pub fn tests<'e>(predicates: impl IntoIterator<Item = &'e Expr>) -> f64 {
    let of = |p: &Expr| match &p.kind {
        // Strings with a dictionary are looked up once for each of its entries.
        ExprKind::InList { expr, list, .. } if list.len() > 1 && !expr.ty.is_string() => IN_LIST_TESTS,
        ExprKind::InSet { expr, .. } if !expr.ty.is_string() => IN_LIST_TESTS,
        ExprKind::Or(branches) if branches.len() > BRANCHES_OF_ONE_TEST => branches.len() as f64,
        _ => 1.0,
    };
    predicates.into_iter().map(of).sum()
}

/// The share of a table that one value of a key's part selects, whose leading parts select already.
pub fn part_share(part: usize, distinct: f64) -> f64 {
    let share = 1.0 / distinct.max(1.0);
    // Later parts of a key depend on the earlier ones more often than not.
    if part == 0 { share } else { share.max(0.01) }
}

/// How many times as many rows as a value of the column has on average those have which the predicates on it leave: few
/// values may have most rows of a table. `get`: the table, of which `whole` is the estimate.
pub fn crowding(est: &Estimator<'_>, get: &Logical, predicates: &[Expr], whole: &Estimate, c: ColumnId) -> f64 {
    let on_it = |p: &&Expr| expr_columns(p).iter().eq([c]);
    let own: Vec<Expr> = predicates.iter().filter(on_it).cloned().collect();
    if own.is_empty() {
        return 1.0;
    }
    let kept = est.passing(get, &own, whole);
    let each = |e: &Estimate| e.rows.max(1e-3) / e.column(c).distinct.max(1.0);
    each(&kept) / each(whole)
}

impl Lookups {
    pub fn new(relation: &Logical, settings: &OptimizerSettings, est: &Estimator<'_>) -> Lookups {
        let (get, predicates) = match relation {
            Logical::Filter { input, predicates } => (&**input, &predicates[..]),
            other => (other, &[][..]),
        };
        let Logical::Get { table, columns, is_virtual: false, hints, .. } = get else { return Lookups::default() };
        let whole = est.node(get, &[]);
        let cost = &settings.cost;
        let mut found =
            Lookups { scan_cost: whole.rows * (cost.scan + tests(predicates) * cost.predicate), indexes: vec![] };
        if !settings.index_access || hints.iter().any(|h| h.kind != IndexHintKind::Force) {
            return found;
        }
        let fixed = fixed_columns(predicates, &output_set(get));
        for (i, index) in table.indexes.iter().enumerate() {
            if matches!(index.kind, IndexKind::FullText | IndexKind::Spatial)
                || (index.invisible && !settings.switch.use_invisible_indexes)
            {
                continue;
            }
            let (mut parts, mut matches, mut rows) = (vec![], vec![], whole.rows);
            for (n, p) in index.parts.iter().enumerate() {
                let Some((c, _)) = columns.iter().find(|c| c.1 == p.column_idx) else { break };
                rows *= part_share(n, whole.column(*c).distinct) * crowding(est, get, predicates, &whole, *c);
                parts.push((*c, fixed.contains(*c)));
                let is_whole = index.is_unique() && n + 1 == index.parts.len();
                let seeks = settings.limits.max_seeks_for_key as f64;
                matches.push(if is_whole { 1.0 } else { rows.max(1.0).min(seeks) });
            }
            let ordered = est.stats.index_form(table.id, i).ordered;
            let parts_min = if ordered { 1 } else { index.parts.len() };
            // What predicates fix alone is an access of its own.
            let alone = parts.iter().take_while(|p| p.1).count();
            if alone >= parts_min.max(1) && alone > 0 {
                let own = cost.index_scan(1.0, matches[alone - 1], COLUMNS, false);
                found.scan_cost = found.scan_cost.min(own);
            }
            if !parts.is_empty() && (ordered || index.is_unique()) {
                let is_unique = index.is_unique() && parts.len() == index.parts.len();
                found.indexes.push(Lookup { parts, matches, parts_min, is_unique });
            }
        }
        found
    }

    /// What joining `rows` rows costs whose join condition gives a value to the columns for which `given` says so.
    pub fn join_cost(&self, rows: f64, given: impl Fn(ColumnId) -> bool, cost: &CostParams) -> Option<f64> {
        if rows > OUTER_ROWS_MAX {
            return None;
        }
        self.indexes
            .iter()
            .filter_map(|x| {
                let n = x.parts.iter().take_while(|p| p.1 || given(p.0)).count();
                let by_join = x.parts[..n].iter().any(|p| given(p.0));
                let manner = match x.is_unique && n == x.parts.len() {
                    true => LookupManner::Unique,
                    false => LookupManner::OneByOne,
                };
                (by_join && n >= x.parts_min).then(|| cost.index_join(rows, rows * x.matches[n - 1], COLUMNS, manner))
            })
            .min_by(f64::total_cmp)
    }
}
