//! EXPLAIN FORMAT=TREE and EXPLAIN ANALYZE.

use super::NodeStats;
use super::expression::{Names, aggregate, expression, window};
use crate::{InitKind, JoinKey, JoinKind, Plan, PlanNode, PlanOp, SetOpKind, SortKey, Strategy};
use expr::Expr;
use std::borrow::Cow;
use std::fmt::Write;

/// Levels of the tree that are printed.
pub(super) const DEPTH_MAX: usize = 2000;

/// The plan as an indented tree, one operator a line; with `stats` also what happened.
pub fn tree(plan: &Plan, stats: Option<&[NodeStats]>) -> String {
    let mut out = String::new();
    for l in lines(plan) {
        let _ = write!(out, "{:1$}-> {2}", "", l.depth * 4, l.text);
        if let Some(n) = l.node {
            figures(n, stats, &mut out);
        }
        out.push('\n');
    }
    out
}

/// A line of the tree.
pub(super) struct Line<'a> {
    pub depth: usize,
    pub text: String,
    /// The node whose figures the line has.
    pub node: Option<&'a PlanNode>,
}

/// The tree's lines, from the top.
pub(super) fn lines(plan: &Plan) -> Vec<Line<'_>> {
    let numbers = super::model::init_numbers(plan);
    let mut p = Printer { plan, numbers, outer: vec![], lines: vec![] };
    p.node(&plan.root, 0);
    for (i, init) in plan.init.iter().enumerate() {
        let number = p.numbers[i];
        let what = match init.kind {
            InitKind::Scalar => "subquery in expression; run only once",
            InitKind::Exists => "subquery in condition; run only once, up to its first row",
        };
        p.line(0, &format!("Select #{number} ({what})"), None);
        p.node(&init.plan, 1);
    }
    p.lines
}

struct Printer<'a> {
    plan: &'a Plan,
    /// The query block of each of the plan's init plans.
    numbers: Vec<u32>,
    /// Parameters that stand for values of outer rows, outer ones first.
    outer: Vec<(expr::ParamId, String)>,
    lines: Vec<Line<'a>>,
}

/// Estimates, and what happened.
fn figures(n: &PlanNode, stats: Option<&[NodeStats]>, out: &mut String) {
    // Thousand nanoseconds: figures of a size that MySQL's users know.
    let (cost, rows) = (figure(n.estimated_cost / 1000.0), figure(n.estimated_rows));
    let _ = write!(out, "  (cost={cost} rows={rows})");
    let Some(s) = stats.and_then(|s| s.get(n.id as usize)) else { return };
    if s.loops == 0 {
        out.push_str(" (never executed)");
        return;
    }
    let ms = |us: u64| figure(us as f64 / 1000.0 / s.loops as f64);
    let _ = write!(
        out,
        " (actual time={}..{} rows={} loops={})",
        ms(s.time_first_us),
        ms(s.time_last_us),
        figure(s.rows as f64 / s.loops as f64),
        s.loops
    );
    if s.memory_peak_bytes > 0 {
        let _ = write!(out, " (memory={})", bytes(s.memory_peak_bytes));
    }
    if s.spilled_bytes > 0 {
        let _ = write!(out, " (spilled={})", bytes(s.spilled_bytes));
    }
}

/// `12.5`, `1.5e+6`: as MySQL prints estimates.
fn figure(v: f64) -> String {
    if !v.is_finite() {
        return "inf".into();
    }
    if v >= 1e6 {
        let exponent = v.log10().floor();
        let mantissa = v / 10f64.powf(exponent);
        let text = format!("{mantissa:.2}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        return format!("{text}e+{exponent}");
    }
    if v >= 100.0 || v.fract() == 0.0 {
        format!("{v:.0}")
    } else if v < 0.01 {
        "0".into()
    } else {
        let text = format!("{v:.3}");
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    }
}

fn bytes(n: u64) -> String {
    match n {
        0..1024 => format!("{n}"),
        1024..1048576 => format!("{}K", n / 1024),
        _ => format!("{:.1}M", n as f64 / 1048576.0),
    }
}

impl<'a> Printer<'a> {
    /// One line; `node` adds its figures.
    fn line(&mut self, depth: usize, text: &str, node: Option<&'a PlanNode>) {
        self.lines.push(Line { depth, text: text.to_string(), node });
    }

    fn expr(&self, e: &Expr, names: &Names) -> String {
        let mut text = expression(e, names);
        // Parameters that subqueries fill are called by their subquery.
        for (i, init) in self.plan.init.iter().enumerate() {
            text = text.replace(&format!("<param {}>", init.param), &format!("(select #{})", self.numbers[i]));
        }
        for (param, value) in self.outer.iter().rev() {
            if text.contains("<param ") {
                text = text.replace(&format!("<param {param}>"), value);
            }
        }
        text
    }

    fn exprs(&self, es: &[Expr], names: &Names) -> String {
        es.iter().map(|e| self.expr(e, names)).collect::<Vec<_>>().join(", ")
    }

    fn conjunction(&self, es: &[Expr], names: &Names) -> String {
        match es {
            [one] => {
                let text = self.expr(one, names);
                if text.starts_with('(') { text } else { format!("({text})") }
            }
            _ => format!("({})", es.iter().map(|e| self.expr(e, names)).collect::<Vec<_>>().join(" and ")),
        }
    }

    fn sort(&self, keys: &[SortKey], names: &Names) -> String {
        keys.iter()
            .map(|k| format!("{}{}", self.expr(&k.expr, names), if k.descending { " DESC" } else { "" }))
            .collect::<Vec<_>>()
            .join(", ")
    }

    fn keys(&self, keys: &[JoinKey], probe: &PlanNode, build: &PlanNode) -> String {
        let (p, b) = (Names::of(&probe.output), Names::of(&build.output));
        keys.iter()
            .map(|k| {
                let sign = if k.null_safe { "<=>" } else { "=" };
                format!("({} {sign} {})", self.expr(&k.probe, &p), self.expr(&k.build, &b))
            })
            .collect::<Vec<_>>()
            .join(", ")
    }

    fn node(&mut self, n: &'a PlanNode, depth: usize) {
        if depth > DEPTH_MAX {
            self.line(depth, "...", None);
            return;
        }
        let d = depth + 1;
        match &n.op {
            PlanOp::OneRow => self.line(depth, "Rows fetched before execution", Some(n)),
            PlanOp::Empty => self.line(depth, "Zero rows (Impossible WHERE)", Some(n)),
            PlanOp::Values { rows } => self.line(depth, &format!("Values: {} row(s)", rows.len()), Some(n)),
            PlanOp::Scan { table, alias, columns, filters, sideways, .. } => {
                let names = Names::owned(
                    columns.iter().map(|c| format!("{alias}.{}", table.columns[*c].shown_name())).collect(),
                );
                let mut scan = format!("Table scan on {alias}");
                if !sideways.is_empty() {
                    let on: Vec<String> = sideways
                        .iter()
                        .filter_map(|s| columns.get(s.column))
                        .map(|c| table.columns[*c].shown_name().into_owned())
                        .collect();
                    let _ = write!(scan, ", narrowed by hash joins on {}", on.join(", "));
                }
                if filters.is_empty() {
                    self.line(depth, &scan, Some(n));
                } else {
                    self.line(depth, &format!("Filter: {}", self.conjunction(filters, &names)), Some(n));
                    self.line(d, &scan, None);
                }
            }
            PlanOp::KeyLookup { table, alias, index, keys, columns, filters, .. } => {
                let names = Names::owned(
                    columns.iter().map(|c| format!("{alias}.{}", table.columns[*c].shown_name())).collect(),
                );
                let key = &table.indexes[*index];
                let lookup = match keys.as_slice() {
                    [one] => {
                        let parts: Vec<String> = key
                            .parts
                            .iter()
                            .zip(one)
                            .map(|(p, e)| {
                                format!("{}={}", table.columns[p.column_idx].shown_name(), self.expr(e, &names))
                            })
                            .collect();
                        format!("Single-row index lookup on {alias} using {} ({})", key.name, parts.join(", "))
                    }
                    many => format!("Index lookups on {alias} using {} ({} keys)", key.name, many.len()),
                };
                if filters.is_empty() {
                    self.line(depth, &lookup, Some(n));
                } else {
                    self.line(depth, &format!("Filter: {}", self.conjunction(filters, &names)), Some(n));
                    self.line(d, &lookup, None);
                }
            }
            PlanOp::IndexScan { table, alias, index, ranges, reverse, columns, filters, entries, .. } => {
                let names = Names::owned(
                    columns.iter().map(|c| format!("{alias}.{}", table.columns[*c].shown_name())).collect(),
                );
                let text = |e: &Expr| self.expr(e, &names);
                if let Some(merge) = &entries.merge {
                    let merged = merge.all(*index, ranges);
                    let below: Vec<String> = merged
                        .map(|(i, r)| super::index::range_scan_words(table, alias, &table.indexes[i], r, &text))
                        .collect();
                    self.line(depth, &format!("Filter: {}", self.conjunction(filters, &names)), Some(n));
                    self.line(d, merge.kind.operator(), None);
                    below.iter().for_each(|l| self.line(d + 1, l, None));
                    return;
                }
                let index = &table.indexes[*index];
                let scan = super::index::scan_words(table, alias, index, ranges, *reverse, entries, &text);
                if filters.is_empty() {
                    self.line(depth, &scan, Some(n));
                } else {
                    self.line(depth, &format!("Filter: {}", self.conjunction(filters, &names)), Some(n));
                    self.line(d, &scan, None);
                }
            }
            PlanOp::IndexJoin {
                kind,
                input,
                table,
                alias,
                index,
                key,
                columns,
                filters,
                condition,
                buffer,
                entries,
                ..
            } => {
                match buffer {
                    None => {
                        self.line(depth, &with_strategy(nested_words(*kind), n.notes.strategy), Some(n));
                        self.node(input, d);
                    }
                    Some(_) => {
                        let words = with_strategy(nested_words(*kind), n.notes.strategy);
                        self.line(depth, &words.replace("Nested loop", "Batched key access"), Some(n));
                        self.line(d, "Batch input rows", None);
                        self.node(input, d + 1);
                    }
                }
                let outer = Names::of(&input.output);
                let own = Names::owned(
                    columns.iter().map(|c| format!("{alias}.{}", table.columns[*c].shown_name())).collect(),
                );
                let both: Vec<String> = input
                    .output
                    .iter()
                    .map(|o| o.name.to_string())
                    .chain(columns.iter().map(|c| format!("{alias}.{}", table.columns[*c].shown_name())))
                    .collect();
                let both = Names::owned(both);
                let def = &table.indexes[*index];
                let single = def.is_unique() && key.len() == def.parts.len();
                let what = match (buffer, single) {
                    (Some(_), _) => "Multi-range index lookup",
                    (None, true) => "Single-row index lookup",
                    (None, false) => "Index lookup",
                };
                let by = super::index::lookup_key(table, def, key, &|e| self.expr(e, &outer));
                let mut lookup = format!("{what} on {alias} using {} ({by})", def.name);
                if let Some(c) = super::index::index_condition(table, alias, def, entries, &|e| self.expr(e, &own)) {
                    lookup += &format!(", with index condition: {c}");
                }
                let mut tests: Vec<String> = filters.iter().map(|f| self.expr(f, &own)).collect();
                // Equalities that the key answers go without saying.
                let keyed = |e: &Expr| match &e.kind {
                    expr::ExprKind::Compare { left, right, .. } => {
                        key.iter().any(|k| k.expr == **left || k.expr == **right)
                    }
                    _ => false,
                };
                tests.extend(condition.iter().filter(|c| !keyed(c)).map(|c| self.expr(c, &both)));
                if tests.is_empty() {
                    self.line(d, &lookup, None);
                } else {
                    let all = if tests.len() == 1 && tests[0].starts_with('(') {
                        tests.remove(0)
                    } else {
                        format!("({})", tests.join(" and "))
                    };
                    self.line(d, &format!("Filter: {all}"), None);
                    self.line(d + 1, &lookup, None);
                }
            }
            PlanOp::Fetch { input, table, columns, .. } => {
                let names: Vec<Cow<'_, str>> = columns.iter().map(|c| table.columns[*c].shown_name()).collect();
                self.line(depth, &format!("Fetch columns of {} by row id: {}", table.name, names.join(", ")), Some(n));
                self.node(input, d);
            }
            PlanOp::Filter { input, predicates } => {
                let text = self.conjunction(predicates, &Names::of(&input.output));
                self.line(depth, &format!("Filter: {text}"), Some(n));
                self.node(input, d);
            }
            PlanOp::Project { input, .. } => self.node(input, depth),
            PlanOp::HashJoin { kind, probe, build, keys, residual, .. } => {
                let mut text =
                    format!("{} {}", with_strategy(hash_words(*kind), n.notes.strategy), self.keys(keys, probe, build));
                if let Some(r) = residual {
                    let names = Names::of_both(&probe.output, &build.output);
                    let _ = write!(text, ", extra conditions: {}", self.conjunction(std::slice::from_ref(r), &names));
                }
                self.line(depth, &text, Some(n));
                self.node(probe, d);
                self.line(d, "Hash", None);
                self.node(build, d + 1);
            }
            PlanOp::NestedLoopJoin { kind, probe, build, condition, blocks, .. } => {
                let mut text = with_strategy(nested_words(*kind), n.notes.strategy);
                if *blocks {
                    text = text.replace("Nested loop", "Block nested loop");
                }
                if let Some(c) = condition {
                    let names = Names::of_both(&probe.output, &build.output);
                    let _ = write!(text, ": {}", self.conjunction(std::slice::from_ref(c), &names));
                }
                self.line(depth, &text, Some(n));
                self.node(probe, d);
                self.node(build, d);
            }
            PlanOp::Apply { input, subplan, params, kind, cache, unknown } => {
                let names = Names::of(&input.output);
                let of: Vec<String> = params.iter().map(|(_, e)| self.expr(e, &names)).collect();
                self.outer.extend(params.iter().map(|p| p.0).zip(of.iter().cloned()));
                let kept = if *cache { "cached" } else { "run" };
                let words = with_strategy(nested_words(*kind), n.notes.strategy);
                let text = match of.is_empty() && !cache {
                    true => format!("{words} (subquery run for each row)"),
                    false => format!("{words} (subquery {kept} by {})", of.join(", ")),
                };
                self.line(depth, &text, Some(n));
                self.node(input, d);
                self.node(subplan, d);
                for u in unknown {
                    let when = match u.when_null {
                        None => "UNKNOWN if there is a row",
                        Some((_, true)) => "UNKNOWN if there is a row, for a NULL",
                        Some((_, false)) => "UNKNOWN if there is a row, for other values",
                    };
                    self.line(d, when, None);
                    self.node(&u.subplan, d + 1);
                }
            }
            PlanOp::Aggregate { input, groups, aggregates, rollup, ordered, .. } => {
                let names = Names::of(&input.output);
                let calls: Vec<String> = aggregates.iter().map(|a| aggregate(a, &names)).collect();
                let text = match (groups.is_empty(), rollup) {
                    (true, _) => format!("Aggregate: {}", calls.join(", ")),
                    (false, false) if *ordered && calls.is_empty() => "Group (no aggregates)".into(),
                    (false, false) if *ordered => "Group aggregate: ".to_string() + &calls.join(", "),
                    (false, true) => "Group aggregate with rollup: ".to_string() + &calls.join(", "),
                    (false, false) => "Aggregate using temporary table".into(),
                };
                self.line(depth, text.trim_end_matches(": "), Some(n));
                self.node(input, d);
            }
            PlanOp::Distinct { input } => {
                self.line(depth, "Temporary table with deduplication", Some(n));
                self.node(input, d);
            }
            PlanOp::Limit { limit: Some(0), .. } | PlanOp::Sort { limit: Some(0), .. } => {
                self.line(depth, "Zero rows (Zero limit)", Some(n));
            }
            PlanOp::Sort { input, keys, limit, offset } => {
                let by = self.sort(keys, &Names::of(&input.output));
                match (limit, offset) {
                    (None, 0) => self.line(depth, &format!("Sort: {by}"), Some(n)),
                    _ => {
                        self.line(depth, &limit_words(*limit, *offset), Some(n));
                        let kept = limit.map(|l| l.saturating_add(*offset));
                        let per = kept.map_or(String::new(), |k| format!(", limit input to {k} row(s) per chunk"));
                        self.line(d, &format!("Sort: {by}{per}"), None);
                    }
                }
                let below = if limit.is_some() || *offset > 0 { d + 1 } else { d };
                self.node(input, below);
            }
            PlanOp::Attempt { first, otherwise } => {
                self.line(depth, "First rows by an index, or else by sorting", Some(n));
                self.node(first, d);
                self.node(otherwise, d);
            }
            PlanOp::Limit { input, limit, offset } => {
                self.line(depth, &limit_words(*limit, *offset), Some(n));
                self.node(input, d);
            }
            PlanOp::Window { input, partition_by, order_by, calls } => {
                let names = Names::of(&input.output);
                let calls: Vec<String> = calls.iter().map(|c| window(c, &names)).collect();
                self.line(depth, &format!("Window aggregate: {}", calls.join(", ")), Some(n));
                let mut by = self.exprs(partition_by, &names);
                let order = self.sort(order_by, &names);
                if !by.is_empty() && !order.is_empty() {
                    by.push_str(", ");
                }
                by.push_str(&order);
                if by.is_empty() {
                    self.node(input, d);
                } else {
                    self.line(d, &format!("Sort: {by}"), None);
                    self.node(input, d + 1);
                }
            }
            PlanOp::SetOp { kind, inputs } => {
                let text = match kind {
                    SetOpKind::UnionAll => "Append",
                    SetOpKind::IntersectAll => "Intersect all materialize",
                    SetOpKind::IntersectDistinct => "Intersect materialize with deduplication",
                    SetOpKind::ExceptAll => "Except all materialize",
                    SetOpKind::ExceptDistinct => "Except materialize with deduplication",
                };
                self.line(depth, text, Some(n));
                for i in inputs {
                    self.line(d, "Stream results", None);
                    self.node(i, d + 1);
                }
            }
            PlanOp::With { ctes, input } => {
                self.node(input, depth);
                for c in ctes {
                    self.line(depth, &format!("Materialize CTE {}", c.name), None);
                    self.node(&c.plan, d);
                }
            }
            PlanOp::CteScan { name, .. } => self.line(depth, &format!("Table scan on {name}"), Some(n)),
            PlanOp::RecursiveUnion { anchor, recursive, distinct, .. } => {
                let text = if *distinct {
                    "Materialize recursive CTE with deduplication"
                } else {
                    "Materialize recursive CTE"
                };
                self.line(depth, text, Some(n));
                self.node(anchor, d);
                self.line(d, "Repeat until convergence", None);
                self.node(recursive, d + 1);
            }
            PlanOp::SingleRow { input } => {
                self.line(depth, "At most one row", Some(n));
                self.node(input, d);
            }
            PlanOp::Virtual { schema, name, table, wanted, .. } => {
                let none = Names::owned(vec![]);
                let parts: Vec<String> =
                    wanted.iter().map(|(c, e)| format!("{}={}", table.columns[*c].name, self.expr(e, &none))).collect();
                let of = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
                self.line(depth, &format!("Table scan on {schema}.{name}{of}"), Some(n))
            }
        }
    }
}

fn limit_words(limit: Option<u64>, offset: u64) -> String {
    match (limit, offset) {
        (Some(l), 0) => format!("Limit: {l} row(s)"),
        (Some(l), o) => format!("Limit/Offset: {l}/{o} row(s)"),
        (None, o) => format!("Offset: {o} row(s)"),
    }
}

fn hash_words(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "Inner hash join",
        JoinKind::Left => "Left hash join",
        JoinKind::Right => "Left hash join, hashing its left side",
        JoinKind::Semi => "Hash semijoin",
        JoinKind::Anti => "Hash antijoin",
        JoinKind::RightSemi => "Hash semijoin, hashing its left side",
        JoinKind::RightAnti => "Hash antijoin, hashing its left side",
        JoinKind::Mark { null_aware: false } => "Hash mark join",
        JoinKind::Mark { null_aware: true } => "Hash mark join, NULL-aware",
        JoinKind::NullAwareAnti => "Hash antijoin, NULL-aware",
        JoinKind::Single => "Left hash join, at most one match",
    }
}

fn nested_words(kind: JoinKind) -> &'static str {
    match kind {
        JoinKind::Inner => "Nested loop inner join",
        JoinKind::Left => "Nested loop left join",
        JoinKind::Right => "Nested loop right join",
        JoinKind::Semi | JoinKind::RightSemi => "Nested loop semijoin",
        JoinKind::Anti | JoinKind::RightAnti => "Nested loop antijoin",
        JoinKind::Mark { null_aware: false } => "Nested loop mark join",
        JoinKind::Mark { null_aware: true } => "Nested loop mark join, NULL-aware",
        JoinKind::NullAwareAnti => "Nested loop antijoin, NULL-aware",
        JoinKind::Single => "Nested loop left join, at most one match",
    }
}

/// A join's words with those of the subquery strategy that it carries out.
fn with_strategy(words: &str, strategy: Option<Strategy>) -> String {
    let strategy = match strategy {
        None => return words.to_string(),
        Some(Strategy::FirstMatch) => "FirstMatch",
        Some(Strategy::LooseScan) => "LooseScan",
        Some(Strategy::MaterializeLookup) => "materialized, lookup",
        Some(Strategy::MaterializeScan) => "materialized, scan",
        Some(Strategy::DuplicateWeedout) => "weedout",
        Some(Strategy::Materialization) => "materialized subquery",
        Some(Strategy::InToExists) => "dependent subquery",
        Some(Strategy::SplitMaterialized) => "split derived table",
    };
    format!("{words} ({strategy})")
}
