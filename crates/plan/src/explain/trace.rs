//! OPTIMIZER_TRACE: what the optimizer did to a statement, under the names of MySQL's steps.
//!
//! ```text
//!   steps
//!     join_preparation        one a query block: the statement as it was bound
//!     join_optimization       one a query block
//!       transformations, condition_processing     the passes that changed the tree, and the tree after each
//!       rows_estimation                           the ways to read each table, each with its rows and cost and why not
//!       considered_execution_plans                the joins that were tried, and the order that was chosen
//!       attaching_conditions_to_tables, refine_plan, optimizing_distinct_group_by_order_by
//!     join_execution
//! ```
//! What was weighed and dropped comes from the optimizer's notes ([`Weighed`]), what was chosen from the plan. The
//! search builds joins from sets of tables, so that a join that was tried may have several tables on either side.

use super::model::{Access, Model, Step, View};
use super::value::{Object, Value, print};
use super::weighed::{JoinTried, TableWays, Way, Weighed};
use crate::Plan;

/// What a trace is to show, and how.
#[derive(Clone, Copy, Debug)]
pub struct TraceStyle {
    pub one_line: bool,
    /// The joins that were tried (`greedy_search`).
    pub joins: bool,
    /// The ranges that were looked at (`range_optimizer`).
    pub ranges: bool,
}

/// The trace of a statement.
pub fn trace(statement: &str, weighed: &Weighed, plan: &Plan, style: TraceStyle) -> String {
    let model = Model::new(plan);
    let t = Tracer { model: &model, weighed, style };
    let order = model.order();
    let mut steps = vec![];
    for &i in &order {
        steps.push(step("join_preparation", &model.views[i], t.preparation(statement, i)));
    }
    for &i in &order {
        steps.push(step("join_optimization", &model.views[i], t.optimization(i)));
    }
    for &i in &order {
        steps.push(step("join_execution", &model.views[i], vec![]));
    }
    let mut top = Object::default();
    top.put("steps", Value::List(steps));
    let text = print(&top);
    if !style.one_line {
        return text;
    }
    // Line breaks in texts are escaped, so those here are the layout's.
    text.lines().map(str::trim_start).collect::<Vec<_>>().join(" ")
}

/// `{"name": {"select#": n, "steps": [..]}}`
fn step(name: &'static str, v: &View, steps: Vec<Value>) -> Value {
    let mut inner = Object::default();
    inner.number("select#", v.id);
    inner.put("steps", Value::List(steps));
    of(name, Value::Object(inner))
}

fn of(name: &'static str, v: Value) -> Value {
    let mut o = Object::default();
    o.put(name, v);
    Value::Object(o)
}

fn lines(text: &str) -> Value {
    Value::List(text.lines().map(|l| Value::Text(l.into())).collect())
}

fn quoted(name: &str) -> String {
    format!("`{name}`")
}

fn named(t: &Access) -> String {
    quoted(t.table.as_deref().unwrap_or_default())
}

/// Costs are thousands of nanoseconds, as EXPLAIN has them.
fn figure(v: f64) -> String {
    format!("{:.2}", v / 1000.0)
}

fn rows(v: f64) -> String {
    format!("{:.0}", v.max(0.0))
}

/// What MySQL prints in place of a feature that is turned off.
fn left_out() -> Value {
    Value::Text("...".into())
}

struct Tracer<'a> {
    model: &'a Model,
    weighed: &'a Weighed,
    style: TraceStyle,
}

impl Tracer<'_> {
    fn preparation(&self, statement: &str, view: usize) -> Vec<Value> {
        if view != self.model.root {
            return vec![];
        }
        let mut steps = vec![of("expanded_query", Value::Text(statement.into()))];
        if let Some((_, tree)) = self.weighed.passes.first() {
            steps.push(of("bound_tree", lines(tree)));
        }
        steps
    }

    fn transformations(&self) -> Vec<Value> {
        let mut steps = vec![];
        let mut before: Option<&str> = None;
        for (name, tree) in &self.weighed.passes {
            if before != Some(tree.as_str()) {
                let title = if name.contains("predicates") { "condition_processing" } else { "transformations" };
                let mut o = Object::default();
                if title == "condition_processing" {
                    o.text("condition", "WHERE");
                }
                o.text("transformation", name.clone());
                o.put("resulting_tree", lines(tree));
                steps.push(of(title, Value::Object(o)));
            }
            before = Some(tree);
        }
        steps
    }

    fn optimization(&self, view: usize) -> Vec<Value> {
        let v = &self.model.views[view];
        let mut steps = if view == self.model.root { self.transformations() } else { vec![] };
        let tables: Vec<&Access> = v.tables.iter().filter(|t| t.table.is_some()).collect();
        if tables.is_empty() {
            return steps;
        }
        let estimations = tables.iter().map(|t| Value::Object(self.estimation(v, t))).collect();
        steps.push(of("rows_estimation", Value::List(estimations)));
        let mut plans = self.tried(view);
        plans.extend(order(&tables));
        steps.push(of("considered_execution_plans", Value::List(plans)));
        steps.push(of("attaching_conditions_to_tables", Value::Object(conditions(&tables))));
        if let Some(o) = operations(v) {
            steps.push(of("optimizing_distinct_group_by_order_by", Value::Object(o)));
        }
        steps.push(of("refine_plan", Value::List(tables.iter().map(|t| Value::Object(refined(t))).collect())));
        steps
    }

    /// The notes about a table; those of its own block come first.
    fn ways(&self, v: &View, t: &Access) -> Option<&TableWays> {
        let of_table = || self.weighed.tables.iter().rev().filter(|w| Some(&*w.alias) == t.table.as_deref());
        of_table().find(|w| w.block == v.block()).or_else(|| of_table().next())
    }

    fn estimation(&self, v: &View, t: &Access) -> Object {
        let mut o = Object::default();
        o.text("table", named(t));
        let Some(w) = self.ways(v, t) else {
            o.object("access", chosen(t));
            return o;
        };
        let mut scan = Object::default();
        scan.number("rows", rows(w.rows));
        scan.number("cost", figure(w.scan_cost));
        if !self.style.ranges {
            o.put("range_analysis", left_out());
        } else if w.ways.is_empty() && w.unusable.is_empty() {
            o.object("table_scan", scan);
        } else {
            let mut range = Object::default();
            range.object("table_scan", scan);
            range.put("potential_range_indexes", potential(w));
            let mut analyzed = Object::default();
            analyzed.put("range_scan_alternatives", Value::List(w.ways.iter().map(alternative).collect()));
            range.object("analyzing_range_alternatives", analyzed);
            if let Some(c) = w.ways.iter().find(|w| w.cause.is_none()) {
                let mut plan = Object::default();
                plan.text("type", c.access_type);
                plan.text("index", c.index.clone());
                plan.number("rows", rows(c.rows));
                plan.texts("ranges", &c.ranges);
                let mut summary = Object::default();
                summary.object("range_access_plan", plan);
                summary.number("rows_for_plan", rows(c.rows));
                summary.number("cost_for_plan", figure(c.cost));
                summary.flag("chosen", true);
                range.object("chosen_range_access_summary", summary);
            }
            o.object("range_analysis", range);
        }
        o.object("access", chosen(t));
        o
    }

    /// The joins of this block that were tried.
    fn tried(&self, view: usize) -> Vec<Value> {
        if !self.style.joins {
            return vec![left_out()];
        }
        let home = |j: &JoinTried| match self.model.views.iter().position(|v| v.block() == j.block && j.block > 0) {
            Some(found) => found == view,
            None => view == self.model.root,
        };
        let mut out: Vec<Value> = self.weighed.joins.iter().filter(|j| home(j)).map(attempt).collect();
        if view == self.model.root && self.weighed.joins_left_out > 0 {
            let mut o = Object::default();
            o.number("plans_not_shown", self.weighed.joins_left_out);
            out.push(Value::Object(o));
        }
        out
    }
}

/// The access that the plan has.
fn chosen(t: &Access) -> Object {
    let mut o = Object::default();
    o.text("type", t.access_type);
    if let Some(key) = &t.key {
        o.text("index", key.clone());
        o.texts("key_parts", &t.key_parts);
    }
    o.number("rows", rows(t.rows));
    o.number("cost", figure(t.read_cost));
    o
}

fn potential(w: &TableWays) -> Value {
    let one = |index: &str, cause: Option<&'static str>| {
        let mut o = Object::default();
        o.text("index", index);
        o.flag("usable", cause.is_none());
        if let Some(c) = cause {
            o.text("cause", c);
        }
        Value::Object(o)
    };
    let usable = w.ways.iter().map(|x| one(&x.index, None));
    Value::List(usable.chain(w.unusable.iter().map(|(index, cause)| one(index, Some(*cause)))).collect())
}

fn alternative(w: &Way) -> Value {
    let mut o = Object::default();
    o.text("index", w.index.clone());
    o.text("type", w.access_type);
    o.texts("ranges", &w.ranges);
    o.flag("rowid_ordered", w.sorted);
    o.flag("using_mrr", w.sorted);
    o.flag("index_only", w.covers);
    o.number("rows", rows(w.rows));
    o.number("cost", figure(w.cost));
    o.flag("chosen", w.cause.is_none());
    if let Some(c) = w.cause {
        o.text("cause", c);
    }
    Value::Object(o)
}

fn attempt(j: &JoinTried) -> Value {
    let names = |list: &[String]| Value::List(list.iter().map(|n| Value::Text(quoted(n))).collect());
    let mut o = Object::default();
    o.put("plan_prefix", names(&j.left));
    match &j.right[..] {
        [one] => o.text("table", quoted(one)),
        _ => o.put("tables", names(&j.right)),
    }
    let best = j.ways.iter().map(|w| w.1).fold(f64::INFINITY, f64::min);
    let mut open = true;
    let paths = j.ways.iter().map(|(method, cost)| {
        let mut p = Object::default();
        p.text("access_type", *method);
        p.number("cost", figure(*cost));
        let is_best = open && *cost <= best;
        open &= !is_best;
        p.flag("chosen", is_best);
        if !is_best {
            p.text("cause", "cost");
        }
        Value::Object(p)
    });
    let paths = Value::List(paths.collect());
    let mut best = Object::default();
    best.put("considered_access_paths", paths);
    o.object("best_access_path", best);
    o.number("rows_for_plan", rows(j.rows));
    o.number("cost_for_plan", figure(j.cost));
    if j.chosen {
        o.flag("chosen", true);
    } else {
        o.flag("pruned_by_cost", true);
    }
    Value::Object(o)
}

/// Each table of the plan with those before it, the rest of the plan inside.
fn order(tables: &[&Access]) -> Vec<Value> {
    let mut rest: Option<Object> = None;
    for (i, t) in tables.iter().enumerate().rev() {
        let mut path = Object::default();
        path.text("access_type", t.access_type);
        if let Some(key) = &t.key {
            path.text("index", key.clone());
        }
        if let Some(buffer) = t.join_buffer {
            path.text("using_join_buffer", buffer);
        }
        path.number("rows", rows(t.rows));
        path.number("cost", figure(t.read_cost));
        path.flag("chosen", true);
        let mut best = Object::default();
        best.put("considered_access_paths", Value::List(vec![Value::Object(path)]));
        let mut o = Object::default();
        o.put("plan_prefix", Value::List(tables[..i].iter().map(|t| Value::Text(named(t))).collect()));
        o.text("table", named(t));
        o.object("best_access_path", best);
        o.number("condition_filtering_pct", format!("{:.2}", t.filtered));
        o.number("rows_for_plan", rows(t.join_rows));
        o.number("cost_for_plan", figure(t.prefix_cost));
        o.flag("chosen", true);
        if let Some(inner) = rest.take() {
            o.put("rest_of_plan", Value::List(vec![Value::Object(inner)]));
        }
        rest = Some(o);
    }
    rest.into_iter().map(Value::Object).collect()
}

fn conditions(tables: &[&Access]) -> Object {
    let summary = tables.iter().map(|t| {
        let mut o = Object::default();
        o.text("table", named(t));
        match t.conditions.as_slice() {
            [] => o.put("attached", Value::Number("null".into())),
            some => o.text("attached", some.join(" and ")),
        }
        Value::Object(o)
    });
    let mut o = Object::default();
    o.put("attached_conditions_summary", Value::List(summary.collect()));
    o
}

fn operations(v: &View) -> Option<Object> {
    let mut o = Object::default();
    for s in &v.steps {
        match s {
            Step::Sort => o.flag("using_filesort", true),
            Step::Distinct => o.flag("distinct", true),
            Step::Window { sorts } => o.flag("window_sorts", *sorts),
            Step::Group { temporary } => o.flag("group_by_uses_temporary_table", *temporary),
        }
    }
    (!v.steps.is_empty()).then_some(o)
}

fn refined(t: &Access) -> Object {
    let mut o = Object::default();
    o.text("table", named(t));
    if let Some(c) = &t.index_condition {
        o.text("pushed_index_condition", c.clone());
    }
    if t.using_index {
        o.flag("using_index", true);
    }
    o.texts("how", &t.how);
    o
}
