//! How many rows a logical tree yields, and how many distinct values its columns have.
//!
//! - Filters on one table: its row sample, evaluated as a conjunction (so that correlations within the table count);
//!   where the sample has too few hits, and everywhere else, bounds and distinct counts under independence.
//! - Joins: |R|·|S| / max(domain) for each class of equal columns, where a column's *domain* is its distinct count before
//!   unrelated filters; never less selective than a unique key allows.
//! - Groups: the product of distinct counts, at most the rows.
//!
//! Sources: Leis et al., *How Good Are Query Optimizers, Really?* (VLDB 2015); Swami & Schiefer 1994 for domains.

use super::column_set::ColumnSet;
use super::properties;
use super::tree::{as_column, expr_columns, output_set, outputs};
use catalog::{Statistics, TableStats};
use expr::{CmpOp, ColumnId, Expr, ExprKind};
use plan::logical::{Columns, Logical, LogicalJoinKind, SetOpKind};
use std::collections::HashMap;
use types::{SqlType, Value};

/// What is believed of a column.
#[derive(Clone, Copy, Debug)]
pub struct ColumnEstimate {
    /// Distinct values among the rows at hand.
    pub distinct: f64,
    /// Distinct values that a join partner may hold: not shrunk by filters on other columns.
    pub domain: f64,
    pub null_fraction: f64,
    /// Bytes.
    pub width: f64,
    pub min: Option<f64>,
    pub max: Option<f64>,
}

impl ColumnEstimate {
    fn unknown(rows: f64, ty: &SqlType) -> ColumnEstimate {
        ColumnEstimate {
            distinct: rows.max(1.0),
            domain: rows.max(1.0),
            null_fraction: 0.0,
            width: width_of(ty),
            min: None,
            max: None,
        }
    }
}

fn width_of(ty: &SqlType) -> f64 {
    match ty {
        SqlType::String { len, .. } => (*len as f64 / 2.0).clamp(4.0, 64.0),
        SqlType::Decimal { precision, .. } if *precision > 18 => 16.0,
        SqlType::Int { .. } | SqlType::Date | SqlType::Year | SqlType::Bool => 4.0,
        _ => 8.0,
    }
}

/// What is believed of a result.
#[derive(Clone, Debug, Default)]
pub struct Estimate {
    pub rows: f64,
    pub columns: HashMap<ColumnId, ColumnEstimate>,
}

impl Estimate {
    pub fn column(&self, c: ColumnId) -> ColumnEstimate {
        self.columns.get(&c).copied().unwrap_or(ColumnEstimate {
            distinct: self.rows.max(1.0),
            domain: self.rows.max(1.0),
            null_fraction: 0.0,
            width: 8.0,
            min: None,
            max: None,
        })
    }

    /// Bytes of a row of the given columns.
    pub fn width(&self, columns: &ColumnSet) -> f64 {
        columns.iter().map(|c| self.column(c).width).sum::<f64>().max(1.0)
    }

    /// The estimate after `rows` of the rows are kept by something unrelated to most columns.
    fn shrink(&mut self, rows: f64) {
        let before = self.rows.max(1.0);
        let keep = (rows / before).clamp(0.0, 1.0);
        for c in self.columns.values_mut() {
            c.distinct = remaining_distinct(c.distinct, before, keep);
        }
        self.rows = rows;
    }

    fn cap(&mut self) {
        let rows = self.rows.max(1.0);
        for c in self.columns.values_mut() {
            c.distinct = c.distinct.min(rows);
        }
    }
}

/// Distinct values left when a share `keep` of `rows` rows with `distinct` values remains (Yao's approximation).
fn remaining_distinct(distinct: f64, rows: f64, keep: f64) -> f64 {
    if keep >= 1.0 || distinct <= 1.0 {
        return distinct;
    }
    (distinct * (1.0 - (1.0 - keep).powf(rows / distinct))).clamp(1.0, distinct)
}

/// Rows of a table without statistics.
const UNKNOWN_ROWS: f64 = 1000.0;
/// Share of rows that pass a predicate nothing is known about.
const UNKNOWN_SELECTIVITY: f64 = 0.25;
const RANGE_SELECTIVITY: f64 = 1.0 / 3.0;
/// Share of groups that HAVING keeps: who asks for groups by their aggregates looks for the few that stand out.
const HAVING_SELECTIVITY: f64 = 0.05;

pub struct Estimator<'a> {
    pub stats: &'a dyn Statistics,
    pub columns: &'a Columns,
    /// Definitions seen so far: rows, and the estimate of each output position.
    pub ctes: HashMap<u32, (f64, Vec<ColumnEstimate>)>,
}

impl<'a> Estimator<'a> {
    pub fn new(stats: &'a dyn Statistics, columns: &'a Columns) -> Estimator<'a> {
        Estimator { stats, columns, ctes: HashMap::new() }
    }

    /// The estimate of a tree.
    pub fn tree(&mut self, node: &Logical) -> Estimate {
        if let Logical::With { ctes, input } = node {
            for c in ctes {
                let e = self.tree(&c.plan);
                self.define_cte(c.cte_id, &e, &c.output);
            }
            return self.tree(input);
        }
        if let Logical::RecursiveUnion { cte_id, columns, anchor, recursive, .. } = node {
            let a = self.tree(&anchor.0);
            self.define_cte(*cte_id, &a, &anchor.1);
            let r = self.tree(&recursive.0);
            return self.recursive(columns, &a, &anchor.1, &r);
        }
        let inputs: Vec<Estimate> = node.inputs().into_iter().map(|c| self.tree(c)).collect();
        self.node(node, &inputs)
    }

    pub fn define_cte(&mut self, id: u32, e: &Estimate, output: &[ColumnId]) {
        self.ctes.insert(id, (e.rows, output.iter().map(|c| e.column(*c)).collect()));
    }

    pub fn recursive(&self, columns: &[ColumnId], a: &Estimate, from: &[ColumnId], r: &Estimate) -> Estimate {
        let rows = a.rows + 10.0 * r.rows;
        let columns = columns
            .iter()
            .zip(from)
            .map(|(c, f)| (*c, ColumnEstimate { distinct: rows, domain: rows, ..a.column(*f) }))
            .collect();
        Estimate { rows, columns }
    }

    /// The estimate of a node from those of its inputs.
    pub fn node(&self, node: &Logical, inputs: &[Estimate]) -> Estimate {
        match node {
            Logical::OneRow => Estimate { rows: 1.0, columns: HashMap::new() },
            Logical::Empty { columns } => self.fresh(columns, 0.0),
            Logical::Values { columns, rows } => self.fresh(columns, rows.len() as f64),
            Logical::Get { table, columns, .. } => self.get(self.stats.table(table.id).as_deref(), columns),
            Logical::CteScan { cte_id, columns, .. } => match self.ctes.get(cte_id) {
                Some((rows, cols)) => Estimate {
                    rows: *rows,
                    columns: columns.iter().filter_map(|(c, i)| Some((*c, *cols.get(*i)?))).collect(),
                },
                None => self.fresh(&columns.iter().map(|c| c.0).collect::<Vec<_>>(), UNKNOWN_ROWS),
            },
            Logical::Filter { input, predicates } => {
                let sample = match &**input {
                    Logical::Get { table, columns, .. } => self.stats.table(table.id).map(|s| (s, columns)),
                    _ => None,
                };
                if let Logical::Aggregate { aggregates, .. } = &**input {
                    let made: ColumnSet = aggregates.iter().map(|a| a.0).collect();
                    let (having, rest): (Vec<Expr>, Vec<Expr>) =
                        predicates.iter().cloned().partition(|p| expr_columns(p).intersects(&made));
                    let s = conjunction(&rest, &inputs[0]) * HAVING_SELECTIVITY.powi(having.len().min(3) as i32);
                    return filtered(inputs[0].clone(), &rest, s);
                }
                let s = match sample {
                    Some((stats, columns)) => self.table_selectivity(&stats, columns, predicates, &inputs[0]),
                    None => conjunction(predicates, &inputs[0]),
                };
                filtered(inputs[0].clone(), predicates, s)
            }
            Logical::Project { exprs, .. } => {
                let input = &inputs[0];
                let columns = exprs.iter().map(|(id, e)| (*id, computed(e, input))).collect();
                Estimate { rows: input.rows, columns }
            }
            Logical::Join { kind, left, right, on, .. } => {
                join(*kind, &inputs[0], &inputs[1], on, &output_set(left), &output_set(right), || {
                    (properties::keys(left), properties::keys(right))
                })
            }
            Logical::Aggregate { groups, aggregates, rollup, .. } => {
                let input = &inputs[0];
                let mut rows = if groups.is_empty() { 1.0 } else { group_count(groups.iter().map(|g| &g.1), input) };
                let mut columns: HashMap<ColumnId, ColumnEstimate> =
                    groups.iter().map(|(id, e)| (*id, computed(e, input))).collect();
                for (id, a) in aggregates {
                    columns.insert(*id, ColumnEstimate::unknown(rows, &a.ty));
                }
                if *rollup {
                    rows *= 1.5;
                }
                let mut e = Estimate { rows, columns };
                e.cap();
                e
            }
            Logical::Distinct { input } => {
                let out = outputs(input);
                let exprs: Vec<Expr> = out.iter().map(|c| self.columns.expr(*c)).collect();
                let mut e = inputs[0].clone();
                e.rows = group_count(exprs.iter(), &inputs[0]);
                e.cap();
                e
            }
            Logical::Sort { .. } => inputs[0].clone(),
            Logical::Limit { limit, offset, .. } => {
                let mut e = inputs[0].clone();
                let left = (e.rows - *offset as f64).max(0.0);
                let rows = limit.map_or(left, |l| left.min(l as f64));
                e.shrink(rows);
                e.cap();
                e
            }
            Logical::Window { calls, .. } => {
                let mut e = inputs[0].clone();
                for (id, c) in calls {
                    e.columns.insert(*id, ColumnEstimate::unknown(e.rows, &c.ty));
                }
                e
            }
            Logical::SetOp { kind, columns, inputs: from, distinct } => {
                let total: f64 = inputs.iter().map(|i| i.rows).sum();
                let mut rows = match kind {
                    SetOpKind::Union => total,
                    SetOpKind::Intersect => inputs.iter().map(|i| i.rows).fold(f64::MAX, f64::min) * 0.5,
                    SetOpKind::Except => inputs[0].rows * 0.7,
                };
                if *distinct {
                    rows *= 0.8;
                }
                let columns = columns
                    .iter()
                    .enumerate()
                    .map(|(i, c)| {
                        let each = inputs.iter().zip(from).map(|(e, (_, ids))| e.column(ids[i]));
                        let sum: f64 = each.clone().map(|c| c.distinct).sum();
                        let mut first = each.clone().next().unwrap_or(ColumnEstimate::unknown(rows, &SqlType::Null));
                        first.distinct = sum.min(rows.max(1.0));
                        first.domain = each.map(|c| c.domain).fold(1.0, f64::max);
                        (*c, first)
                    })
                    .collect();
                Estimate { rows, columns }
            }
            Logical::With { .. } => inputs.last().cloned().unwrap_or_default(),
            Logical::RecursiveUnion { columns, anchor, .. } => {
                self.recursive(columns, &inputs[0], &anchor.1, &inputs[1])
            }
        }
    }

    fn fresh(&self, columns: &[ColumnId], rows: f64) -> Estimate {
        let columns = columns.iter().map(|c| (*c, ColumnEstimate::unknown(rows, &self.columns.get(*c).ty))).collect();
        Estimate { rows, columns }
    }

    fn get(&self, stats: Option<&TableStats>, columns: &[(ColumnId, usize)]) -> Estimate {
        let Some(stats) = stats else {
            return self.fresh(&columns.iter().map(|c| c.0).collect::<Vec<_>>(), UNKNOWN_ROWS);
        };
        let rows = stats.rows as f64;
        let columns = columns
            .iter()
            .map(|(id, i)| {
                let ty = self.columns.get(*id).ty;
                let e = match stats.columns.get(*i) {
                    Some(s) => ColumnEstimate {
                        distinct: s.distinct.clamp(1.0, rows.max(1.0)),
                        domain: s.distinct.clamp(1.0, rows.max(1.0)),
                        null_fraction: s.null_fraction.clamp(0.0, 1.0),
                        width: s.width.max(1.0),
                        min: s.min.as_ref().and_then(as_number),
                        max: s.max.as_ref().and_then(as_number),
                    },
                    None => ColumnEstimate::unknown(rows, &ty),
                };
                (*id, e)
            })
            .collect();
        Estimate { rows, columns }
    }

    /// Selectivity of a conjunction over one table: the sample's answer, bent towards the formulas' where it has few hits.
    pub fn table_selectivity(
        &self,
        stats: &TableStats,
        columns: &[(ColumnId, usize)],
        predicates: &[Expr],
        input: &Estimate,
    ) -> f64 {
        let Some(s) = super::sample::try_predicates(stats, columns, predicates) else {
            return conjunction(predicates, input);
        };
        let (hits, size) = (s.hits, s.size);
        let formula = conjunction(&s.tried, input);
        let rest: f64 = s.untried.iter().map(|p| one(p, input)).product();
        if size as u64 >= stats.rows {
            return rest * hits as f64 / size as f64;
        }
        let sampled = hits as f64 / size as f64;
        rest * match hits {
            // Rarer than the sample can see.
            0 => formula.min(0.5 / size as f64),
            1..=4 => (sampled * formula.max(1e-9)).sqrt().clamp(0.2 * sampled, 2.0 * sampled),
            _ => sampled,
        }
    }
}

/// Applies a filter's selectivity; columns compared with constants lose values of their domain too.
pub fn filtered(mut e: Estimate, predicates: &[Expr], selectivity: f64) -> Estimate {
    let rows = (e.rows * selectivity).max(0.0);
    for p in predicates {
        let cols = expr_columns(p);
        if cols.len() != 1 {
            continue;
        }
        let s = one(p, &e).clamp(1e-9, 1.0);
        for c in cols.iter() {
            if let Some(c) = e.columns.get_mut(&c) {
                c.domain = (c.domain * s).max(1.0);
                c.distinct = (c.distinct * s).max(1.0);
            }
        }
    }
    e.shrink(rows);
    e.cap();
    e
}

/// A number that orders as the value does, where that is meaningful.
pub fn as_number(v: &Value) -> Option<f64> {
    Some(match v {
        Value::Int(v) => *v as f64,
        Value::UInt(v) => *v as f64,
        Value::Float(v) => *v as f64,
        Value::Double(v) => *v,
        Value::Decimal(d) => d.to_f64(),
        Value::Date(d) => day_number(d.0 as i64),
        Value::DateTime(d) => day_number(d.0 >> 37) + (d.0 & ((1 << 37) - 1)) as f64 / 86_400e6,
        Value::Time(t) => t.0 as f64,
        Value::Timestamp(t) => t.0 as f64,
        Value::Null | Value::Bytes(_) => return None,
    })
}

/// Days, all months taken as 31 days: linear enough for interpolation.
fn day_number(packed: i64) -> f64 {
    ((packed >> 9) * 372 + (packed >> 5 & 15) * 31 + (packed & 31)) as f64
}

fn computed(e: &Expr, input: &Estimate) -> ColumnEstimate {
    match &e.kind {
        ExprKind::Column(c) => input.column(*c),
        ExprKind::Const(_) | ExprKind::Param(_) => {
            ColumnEstimate { distinct: 1.0, domain: 1.0, ..ColumnEstimate::unknown(1.0, &e.ty) }
        }
        ExprKind::Cast { expr, .. } => ColumnEstimate { width: width_of(&e.ty), ..computed(expr, input) },
        ExprKind::Call { function, args } => {
            let d = if format!("{function:?}").contains("Year") { 20.0 } else { distinct_of(args.iter(), input) };
            let d = d.min(input.rows.max(1.0));
            ColumnEstimate { distinct: d, domain: d, ..ColumnEstimate::unknown(d, &e.ty) }
        }
        _ => {
            let d = distinct_of(e.children(), input).min(input.rows.max(1.0));
            ColumnEstimate { distinct: d, domain: d, ..ColumnEstimate::unknown(d, &e.ty) }
        }
    }
}

fn distinct_of<'e>(es: impl IntoIterator<Item = &'e Expr>, input: &Estimate) -> f64 {
    let mut d = 1.0;
    for e in es {
        d *= computed(e, input).distinct.max(1.0);
        if d > input.rows {
            return input.rows.max(1.0);
        }
    }
    d
}

/// Groups of an aggregation.
pub fn group_count<'e>(groups: impl Iterator<Item = &'e Expr>, input: &Estimate) -> f64 {
    let mut ds: Vec<f64> = groups.map(|g| computed(g, input).distinct.max(1.0)).collect();
    ds.sort_by(|a, b| b.total_cmp(a));
    let mut product = 1.0;
    for d in ds {
        product *= d;
        if product >= input.rows {
            return input.rows.max(if input.rows > 0.0 { 1.0 } else { 0.0 });
        }
    }
    product.min(input.rows.max(1.0))
}

/// Selectivity of a conjunction: range pairs on one column taken together, the rest as if independent.
pub fn conjunction(predicates: &[Expr], input: &Estimate) -> f64 {
    let mut s = 1.0;
    let mut ranges: HashMap<ColumnId, (f64, f64)> = HashMap::new();
    for p in predicates {
        match range_share(p, input) {
            // Shares below the lower and above the upper end add up to what a range leaves out.
            Some((c, lower, upper)) => {
                let r = ranges.entry(c).or_insert((0.0, 0.0));
                r.0 = r.0.max(lower);
                r.1 = r.1.max(upper);
            }
            None => s *= one(p, input),
        }
    }
    for (c, (below, above)) in ranges {
        let known = 1.0 - input.column(c).null_fraction;
        s *= ((1.0 - below - above) * known).clamp(1.0 / input.column(c).domain.max(1.0).max(input.rows), 1.0);
    }
    s.clamp(0.0, 1.0)
}

/// `column < constant` and the like with known bounds: (column, share cut off below, share cut off above).
fn range_share(p: &Expr, input: &Estimate) -> Option<(ColumnId, f64, f64)> {
    let ExprKind::Compare { op, left, right } = &p.kind else { return None };
    let (c, v, op) = match (as_column(left), constant_number(right)) {
        (Some(c), Some(v)) => (c, v, *op),
        _ => {
            let (c, v) = (as_column(right)?, constant_number(left)?);
            let op = match op {
                CmpOp::Lt => CmpOp::Gt,
                CmpOp::Le => CmpOp::Ge,
                CmpOp::Gt => CmpOp::Lt,
                CmpOp::Ge => CmpOp::Le,
                o => *o,
            };
            (c, v, op)
        }
    };
    let e = input.column(c);
    let (min, max) = (e.min?, e.max?);
    if max <= min {
        return None;
    }
    let at = ((v - min) / (max - min)).clamp(0.0, 1.0);
    match op {
        CmpOp::Lt | CmpOp::Le => Some((c, 0.0, 1.0 - at)),
        CmpOp::Gt | CmpOp::Ge => Some((c, at, 0.0)),
        _ => None,
    }
}

/// The value of an expression that is constant already, or simple arithmetic on dates left to execution.
fn constant_number(e: &Expr) -> Option<f64> {
    match &e.kind {
        ExprKind::Const(v) => as_number(v),
        ExprKind::Cast { expr, .. } => constant_number(expr),
        _ => None,
    }
}

/// Selectivity of one predicate.
pub fn one(p: &Expr, input: &Estimate) -> f64 {
    let s = match &p.kind {
        ExprKind::Const(v) => match v {
            Value::Int(0) | Value::UInt(0) | Value::Null => 0.0,
            _ => 1.0,
        },
        ExprKind::And(parts) => conjunction(parts, input),
        ExprKind::Or(parts) => 1.0 - parts.iter().map(|p| 1.0 - one(p, input)).product::<f64>(),
        ExprKind::Not(e) => 1.0 - one(e, input),
        ExprKind::IsNull { expr, negated } => {
            let share = as_column(expr).map_or(0.05, |c| input.column(c).null_fraction);
            if *negated { 1.0 - share } else { share.max(1e-6) }
        }
        ExprKind::Compare { op, left, right } => compare(*op, left, right, input),
        ExprKind::InList { expr, list, negated } => {
            let d = computed(expr, input).distinct.max(1.0);
            let s = (list.len() as f64 / d).min(1.0);
            if *negated { 1.0 - s } else { s }
        }
        ExprKind::Like { pattern, negated, .. } => {
            let s = match &pattern.kind {
                ExprKind::Const(Value::Bytes(b)) if !b.starts_with(b"%") => 0.02,
                _ => 0.05,
            };
            if *negated { 1.0 - s } else { s }
        }
        _ => UNKNOWN_SELECTIVITY,
    };
    s.clamp(0.0, 1.0)
}

fn compare(op: CmpOp, left: &Expr, right: &Expr, input: &Estimate) -> f64 {
    let (lc, rc) = (expr_columns(left), expr_columns(right));
    let (l, r) = (computed(left, input), computed(right, input));
    let equal = 1.0 / l.distinct.max(r.distinct).max(1.0);
    match op {
        CmpOp::Eq | CmpOp::NullSafeEq => {
            // Outside the bounds nothing is equal.
            for (c, v) in [(&l, constant_number(right)), (&r, constant_number(left))] {
                if let (Some(min), Some(max), Some(v)) = (c.min, c.max, v)
                    && (v < min || v > max)
                {
                    return 1e-9;
                }
            }
            equal
        }
        CmpOp::Ne => 1.0 - equal,
        _ if lc.is_empty() || rc.is_empty() => {
            let p = Expr::new(
                ExprKind::Compare { op, left: left.clone().into(), right: right.clone().into() },
                SqlType::Bool,
                true,
            );
            match range_share(&p, input) {
                Some((_, below, above)) => (1.0 - below - above).max(1e-6),
                None => RANGE_SELECTIVITY,
            }
        }
        _ => RANGE_SELECTIVITY,
    }
}

/// The equality of a join condition: its columns, left side first.
pub fn join_equality(p: &Expr, lo: &ColumnSet, ro: &ColumnSet) -> Option<(Expr, Expr, bool)> {
    let ExprKind::Compare { op: op @ (CmpOp::Eq | CmpOp::NullSafeEq), left, right } = &p.kind else { return None };
    let (l, r) = (expr_columns(left), expr_columns(right));
    if l.is_empty() || r.is_empty() {
        return None;
    }
    let null_safe = *op == CmpOp::NullSafeEq;
    if l.is_subset(lo) && r.is_subset(ro) {
        Some(((**left).clone(), (**right).clone(), null_safe))
    } else if l.is_subset(ro) && r.is_subset(lo) {
        Some(((**right).clone(), (**left).clone(), null_safe))
    } else {
        None
    }
}

/// Selectivity of a join condition over the product of both sides.
pub fn join_selectivity(
    l: &Estimate,
    r: &Estimate,
    on: &[Expr],
    lo: &ColumnSet,
    ro: &ColumnSet,
    keys: impl FnOnce() -> (Vec<ColumnSet>, Vec<ColumnSet>),
) -> f64 {
    let mut equal = 1.0;
    let mut other = 1.0;
    let (mut lcols, mut rcols, mut count) = (ColumnSet::new(), ColumnSet::new(), 0);
    for p in on {
        match join_equality(p, lo, ro) {
            Some((a, b, _)) => {
                let (a_est, b_est) = (computed(&a, l), computed(&b, r));
                equal /= a_est.domain.max(b_est.domain).max(1.0);
                equal *= (1.0 - a_est.null_fraction) * (1.0 - b_est.null_fraction);
                if let (Some(a), Some(b)) = (as_column(&a), as_column(&b)) {
                    lcols.insert(a);
                    rcols.insert(b);
                }
                count += 1;
            }
            None => {
                let mut both = l.clone();
                both.columns.extend(r.columns.iter().map(|(c, e)| (*c, *e)));
                both.rows = l.rows.max(r.rows);
                other *= one(p, &both);
            }
        }
    }
    if count > 1 {
        // Columns of one key are not independent: a unique key has as many values as its table has rows.
        let (lk, rk) = keys();
        let key_rows = |ks: &[ColumnSet], cols: &ColumnSet, e: &Estimate| {
            ks.iter()
                .filter(|k| !k.is_empty() && k.is_subset(cols))
                .map(|k| k.iter().map(|c| e.column(c).domain).product::<f64>().min(key_domain(e, k)))
                .fold(f64::MAX, f64::min)
        };
        let bound = key_rows(&rk, &rcols, r).min(key_rows(&lk, &lcols, l));
        if bound < f64::MAX {
            equal = equal.max(1.0 / bound.max(1.0));
        } else {
            // Several equalities between two tables are usually correlated: full credit for the most selective one,
            // diminishing for the rest.
            let rows = l.rows.max(r.rows).max(1.0);
            equal = equal.max(1.0 / (rows * 10.0));
        }
    }
    equal * other
}

/// Values that a unique key can have: the rows of its table before filters, as far as they are known.
fn key_domain(e: &Estimate, key: &ColumnSet) -> f64 {
    // The widest component's domain bounds from below; the rows at hand too.
    key.iter().map(|c| e.column(c).domain).fold(e.rows, f64::max)
}

pub fn join(
    kind: LogicalJoinKind,
    l: &Estimate,
    r: &Estimate,
    on: &[Expr],
    lo: &ColumnSet,
    ro: &ColumnSet,
    keys: impl FnOnce() -> (Vec<ColumnSet>, Vec<ColumnSet>),
) -> Estimate {
    let both = |rows: f64| {
        let mut e = l.clone();
        e.columns.extend(r.columns.iter().map(|(c, x)| (*c, *x)));
        e.rows = rows;
        e.cap();
        e
    };
    match kind {
        LogicalJoinKind::Inner => both(l.rows * r.rows * join_selectivity(l, r, on, lo, ro, keys)),
        LogicalJoinKind::Left => both((l.rows * r.rows * join_selectivity(l, r, on, lo, ro, keys)).max(l.rows)),
        LogicalJoinKind::Full => {
            both((l.rows * r.rows * join_selectivity(l, r, on, lo, ro, keys)).max(l.rows + r.rows))
        }
        LogicalJoinKind::Single => both(l.rows),
        LogicalJoinKind::Mark { mark, .. } => {
            let mut e = l.clone();
            e.columns.insert(
                mark,
                ColumnEstimate { distinct: 2.0, domain: 2.0, ..ColumnEstimate::unknown(2.0, &SqlType::Bool) },
            );
            e
        }
        LogicalJoinKind::Semi | LogicalJoinKind::Anti | LogicalJoinKind::NullAwareAnti => {
            let share = match_share(l, r, on, lo, ro);
            let share = if kind == LogicalJoinKind::Semi { share } else { (1.0 - share).max(0.05) };
            let mut e = l.clone();
            e.shrink(l.rows * share);
            e.cap();
            e
        }
    }
}

/// The share of left rows that have a match.
pub fn match_share(l: &Estimate, r: &Estimate, on: &[Expr], lo: &ColumnSet, ro: &ColumnSet) -> f64 {
    if r.rows < 1e-9 {
        return 0.0;
    }
    let (mut domain, mut values, mut equalities, mut others) = (1.0f64, 1.0f64, 0, 0);
    for p in on {
        match join_equality(p, lo, ro) {
            Some((a, b, _)) => {
                let (a, b) = (computed(&a, l), computed(&b, r));
                domain *= a.domain.max(b.domain).max(1.0);
                values *= b.distinct.max(1.0);
                equalities += 1;
            }
            None => others += 1,
        }
    }
    if equalities == 0 {
        return if others == 0 { 1.0 } else { 0.5 };
    }
    let values = values.min(r.rows.max(1.0));
    // Combinations that occur are at most the rows of the larger side.
    let domain = if equalities > 1 { domain.min(l.rows.max(r.rows).max(values)) } else { domain };
    let mut share = (values / domain).clamp(0.0, 1.0);
    if others > 0 {
        share *= 0.7f64.powi(others.min(3));
    }
    share
}
