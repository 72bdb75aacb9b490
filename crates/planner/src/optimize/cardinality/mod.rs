//! How many rows a logical tree yields, and how many distinct values its columns have.
//!
//! - Filters on one table: its row sample, evaluated as a conjunction (so that correlations within the table count);
//!   where the sample has too few hits, and everywhere else, bounds and distinct counts under independence.
//! - Joins: |R|·|S| / max(domain) for each class of equal columns, where a column's *domain* is its distinct count
//!   before unrelated filters; never less selective than a unique key allows.
//! - Groups: the product of distinct counts, at most the rows.
//!
//! Sources: Leis et al., *How Good Are Query Optimizers, Really?* (VLDB 2015); Swami & Schiefer 1994 for domains.

mod base;
mod joins;
mod selectivity;

pub use base::{Base, Shape};
pub use joins::{join, join_equality, join_selectivity, match_share};
pub use selectivity::{conjunction, filtered, one};

use super::column_set::ColumnSet;
use super::properties;
use super::tree::{expr_columns, output_set, outputs};
use catalog::histogram::as_number;
use catalog::{Statistics, TableDef, TableStats};
use expr::{ColumnId, Expr, ExprKind};
use plan::logical::{Columns, Logical, SetOpKind};
use selectivity::by_histogram;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use types::SqlType;

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
    /// The tables of columns.
    pub bases: Vec<Arc<Base>>,
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
/// Share of groups that HAVING keeps: who asks for groups by their aggregates looks for the few that stand out.
const HAVING_SELECTIVITY: f64 = 0.05;

pub struct Estimator<'a> {
    pub stats: &'a dyn Statistics,
    pub columns: &'a Columns,
    /// Definitions seen so far: rows, and the estimate of each output position.
    pub ctes: HashMap<u32, (f64, Vec<ColumnEstimate>)>,
    /// condition_fanout_filter; off: only conditions that an index could answer count.
    pub fanout_filter: bool,
}

impl<'a> Estimator<'a> {
    pub fn new(stats: &'a dyn Statistics, columns: &'a Columns) -> Estimator<'a> {
        Estimator { stats, columns, ctes: HashMap::new(), fanout_filter: true }
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
        Estimate { rows, columns, bases: a.bases.clone() }
    }

    /// The estimate of a node from those of its inputs.
    pub fn node(&self, node: &Logical, inputs: &[Estimate]) -> Estimate {
        match node {
            Logical::OneRow => Estimate { rows: 1.0, ..Estimate::default() },
            Logical::Empty { columns } => self.fresh(columns, 0.0),
            Logical::Values { columns, rows } => self.fresh(columns, rows.len() as f64),
            Logical::Get { table, columns, .. } => self.get(table, columns),
            Logical::CteScan { cte_id, columns, .. } => match self.ctes.get(cte_id) {
                Some((rows, cols)) => Estimate {
                    rows: *rows,
                    columns: columns.iter().filter_map(|(c, i)| Some((*c, *cols.get(*i)?))).collect(),
                    bases: vec![],
                },
                None => self.fresh(&columns.iter().map(|c| c.0).collect::<Vec<_>>(), UNKNOWN_ROWS),
            },
            Logical::Filter { input, predicates } => {
                if let Logical::Aggregate { aggregates, .. } = &**input {
                    let made: ColumnSet = aggregates.iter().map(|a| a.0).collect();
                    let (having, rest): (Vec<Expr>, Vec<Expr>) =
                        predicates.iter().cloned().partition(|p| expr_columns(p).intersects(&made));
                    let s = conjunction(&rest, &inputs[0]) * HAVING_SELECTIVITY.powi(having.len().min(3) as i32);
                    return filtered(inputs[0].clone(), &rest, s);
                }
                self.passing(input, predicates, &inputs[0])
            }
            Logical::Project { exprs, .. } => {
                let input = &inputs[0];
                let columns = exprs.iter().map(|(id, e)| (*id, computed(e, input))).collect();
                Estimate { rows: input.rows, columns, bases: input.bases.clone() }
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
                let mut e = Estimate { rows, columns, bases: input.bases.clone() };
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
                Estimate { rows, columns, bases: vec![] }
            }
            Logical::With { .. } => inputs.last().cloned().unwrap_or_default(),
            Logical::RecursiveUnion { columns, anchor, .. } => {
                self.recursive(columns, &inputs[0], &anchor.1, &inputs[1])
            }
        }
    }

    /// The estimate of a filter over `input`, which is no aggregation.
    pub fn passing(&self, input: &Logical, predicates: &[Expr], of_input: &Estimate) -> Estimate {
        let sample = match input {
            Logical::Get { table, columns, .. } => self.stats.table(table.id).map(|s| (s, columns)),
            _ => None,
        };
        let s = match sample {
            Some((stats, columns)) => self.table_selectivity(&stats, columns, predicates, of_input),
            None => conjunction(predicates, of_input),
        };
        filtered(of_input.clone(), predicates, s)
    }

    fn fresh(&self, columns: &[ColumnId], rows: f64) -> Estimate {
        let columns = columns.iter().map(|c| (*c, ColumnEstimate::unknown(rows, &self.columns.get(*c).ty))).collect();
        Estimate { rows, columns, bases: vec![] }
    }

    fn get(&self, table: &Arc<TableDef>, columns: &[(ColumnId, usize)]) -> Estimate {
        let Some(stats) = self.stats.table(table.id) else {
            return self.fresh(&columns.iter().map(|c| c.0).collect::<Vec<_>>(), UNKNOWN_ROWS);
        };
        let rows = stats.rows as f64;
        let base = Arc::new(Base::new(columns, stats.clone(), table.clone()));
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
        Estimate { rows, columns, bases: vec![base] }
    }

    /// Selectivity of a conjunction over one table: the sample's answer, bent towards the formulas' where it has few
    /// hits. Columns with a histogram of their own go by that; the sample then says what the rest leaves of the rows
    /// that those keep.
    pub fn table_selectivity(
        &self,
        stats: &TableStats,
        columns: &[(ColumnId, usize)],
        predicates: &[Expr],
        input: &Estimate,
    ) -> f64 {
        let counted: Vec<Expr>;
        let predicates = match self.fanout_filter {
            true => predicates,
            false => {
                let keys = |p: &Expr| expr_columns(p).iter().any(|c| input.base(c).is_some_and(|b| b.is_key_part(c)));
                counted = predicates.iter().filter(|p| keys(p)).cloned().collect();
                &counted
            }
        };
        let is_told = |p: &Expr| {
            let mut columns = expr_columns(p).iter().collect::<Vec<_>>();
            columns.dedup();
            matches!(&columns[..], [c] if input.base(*c).is_some_and(|b| b.histogram(*c).is_some()) && by_histogram(p))
        };
        // They may be long: most are not copied.
        if !predicates.iter().any(is_told) {
            return self.sampled_selectivity(stats, columns, predicates, input);
        }
        let (told, others): (Vec<Expr>, Vec<Expr>) = predicates.iter().cloned().partition(is_told);
        let share = conjunction(&told, input);
        if others.is_empty() {
            return share;
        }
        let try_on = |p: &[Expr]| super::sample::try_predicates(stats, columns, p).map(|s| (s.hits, s.untried.len()));
        match (try_on(&told), try_on(predicates)) {
            // Enough rows to see what the others keep of them.
            (Some((kept, 0)), Some((both, 0))) if kept >= 20 && both > 0 => share * both as f64 / kept as f64,
            _ => share * self.sampled_selectivity(stats, columns, &others, input),
        }
    }

    /// The share of rows that also pass `rest`, among those of the table that pass `given`.
    pub fn conditional(
        &self,
        table: &TableDef,
        columns: &[(ColumnId, usize)],
        given: &[Expr],
        rest: &[Expr],
        input: &Estimate,
    ) -> f64 {
        if rest.is_empty() {
            return 1.0;
        }
        let Some(stats) = self.stats.table(table.id) else { return conjunction(rest, input) };
        let try_on = |p: &[Expr]| super::sample::try_predicates(&stats, columns, p).map(|s| (s.hits, s.untried.len()));
        if let Some((kept, 0)) = try_on(given)
            && (kept >= MANY_HITS || kept > 0 && stats.sample.rows as u64 >= stats.rows)
            && let Some((both, 0)) = try_on(&[given, rest].concat())
        {
            // None of so many: fewer than one of twice as many.
            return (both as f64).max(if stats.sample.rows as u64 >= stats.rows { 0.0 } else { 0.5 }) / kept as f64;
        }
        self.table_selectivity(&stats, columns, rest, input)
    }

    fn sampled_selectivity(
        &self,
        stats: &TableStats,
        columns: &[(ColumnId, usize)],
        predicates: &[Expr],
        input: &Estimate,
    ) -> f64 {
        let Some(s) = super::sample::try_predicates(stats, columns, predicates) else {
            return conjunction(predicates, input);
        };
        let (hits, size) = (s.hits as f64, s.size as f64);
        let rest: f64 = s.untried.iter().map(|p| one(p, input)).product();
        if s.size as u64 >= stats.rows {
            return rest * hits / size;
        }
        let sampled = hits / size;
        rest * match s.hits {
            // Rarer than the sample can see.
            0 => backed_off(&s.tried, input).min(0.5 / size),
            // The more hits, the less the formulas count.
            n if n < MANY_HITS => {
                let formula = conjunction(&s.tried, input).max(1e-9);
                let weight = (hits / MANY_HITS as f64).sqrt();
                (sampled.powf(weight) * formula.powf(1.0 - weight)).clamp(0.3 * sampled, 2.0 * sampled)
            }
            _ => sampled,
        }
    }
}

/// Hits in a sample from which on they are believed.
const MANY_HITS: usize = 20;

/// Selectivity of a conjunction whose conditions may depend on each other: full credit for the most selective one, less
/// for each further one.
fn backed_off(predicates: &[Expr], input: &Estimate) -> f64 {
    let mut by_columns: BTreeMap<Vec<ColumnId>, Vec<Expr>> = BTreeMap::new();
    for p in predicates {
        by_columns.entry(expr_columns(p).iter().collect()).or_default().push(p.clone());
    }
    let mut shares: Vec<f64> = by_columns.values().map(|ps| conjunction(ps, input).max(1e-12)).collect();
    shares.sort_by(f64::total_cmp);
    shares.iter().enumerate().map(|(i, s)| s.powf(0.5f64.powi(i as i32))).product()
}

fn computed(e: &Expr, input: &Estimate) -> ColumnEstimate {
    match &e.kind {
        ExprKind::Column(c) => input.column(*c),
        ExprKind::Const(_) | ExprKind::Param(_) | ExprKind::UserVar { is_fixed: true, .. } => {
            ColumnEstimate { distinct: 1.0, domain: 1.0, ..ColumnEstimate::unknown(1.0, &e.ty) }
        }
        ExprKind::Cast { expr, .. } => ColumnEstimate { width: width_of(&e.ty), ..computed(expr, input) },
        ExprKind::Call { function, args } => {
            let d = function.value_count().unwrap_or_else(|| distinct_of(args.iter(), input));
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

/// Up to so many different strings are worth a table of their own while rows are grouped.
const FEW_STRINGS_MAX: f64 = 4096.0;

/// Whether an expression's values are strings of which there are few.
pub fn has_few_strings(e: &Expr, input: &Estimate) -> bool {
    e.ty.is_string() && computed(e, input).distinct <= FEW_STRINGS_MAX
}

/// Groups of an aggregation. Columns of one table count together, as the table's statistics know them.
pub fn group_count<'e>(groups: impl Iterator<Item = &'e Expr>, input: &Estimate) -> f64 {
    let mut of_tables: Vec<(&Base, Vec<ColumnId>)> = vec![];
    let mut ds: Vec<f64> = vec![];
    for g in groups {
        match super::tree::as_column(g).and_then(|c| Some((c, input.base(c)?))) {
            Some((c, base)) => match of_tables.iter_mut().find(|(b, _)| std::ptr::eq(*b, base)) {
                Some((_, columns)) => columns.push(c),
                None => of_tables.push((base, vec![c])),
            },
            None => ds.push(computed(g, input).distinct.max(1.0)),
        }
    }
    for (base, mut columns) in of_tables {
        columns.sort_unstable();
        columns.dedup();
        let single = |c: &ColumnId| {
            let e = input.column(*c);
            e.distinct.max(1.0) + (e.null_fraction > 0.0) as u8 as f64
        };
        let product = columns.iter().map(single).product::<f64>();
        let together = if columns.len() > 1 { base.tuples(&columns) } else { None };
        ds.push(match together {
            // What filters have left of the table's rows may have them all.
            Some(all) => remaining_distinct(
                all,
                (base.stats.rows as f64).max(1.0),
                (input.rows / (base.stats.rows as f64).max(1.0)).min(1.0),
            )
            .min(product),
            None => product,
        });
    }
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
