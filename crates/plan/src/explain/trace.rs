//! OPTIMIZER_TRACE: what the optimizer did to a statement, under the names of MySQL's steps.
//!
//! ```text
//!   steps
//!     join_preparation        one a query block: the statement as it was bound
//!     join_optimization       one a query block
//!       transformations, condition_processing     the passes that changed the tree, and the tree after each
//!       rows_estimation                           how many rows each table was thought to give, and by what
//!       considered_execution_plans                the order of the join, each table with its way of access
//!       attaching_conditions_to_tables, refine_plan, optimizing_distinct_group_by_order_by
//!     join_execution
//! ```
//! Only what is known of the plan that was chosen is said: ways that were weighed and dropped leave no mark in a plan.

use super::model::{Access, Model, Step, View};
use super::value::{Object, Value, print};
use crate::Plan;

/// The trace of a statement: its passes with the tree after each, and the plan. `one_line`: without line breaks.
pub fn trace(statement: &str, passes: &[(String, String)], plan: &Plan, one_line: bool) -> String {
    let model = Model::new(plan);
    let mut steps = vec![];
    let order = model.order();
    for &i in &order {
        steps.push(step("join_preparation", &model.views[i], preparation(statement, i == model.root, passes)));
    }
    for &i in &order {
        let first = if i == model.root { passes } else { &[] };
        steps.push(step("join_optimization", &model.views[i], optimization(&model.views[i], first)));
    }
    for &i in &order {
        steps.push(step("join_execution", &model.views[i], vec![]));
    }
    let mut top = Object::default();
    top.put("steps", Value::List(steps));
    let text = print(&top);
    if !one_line {
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

fn preparation(statement: &str, is_root: bool, passes: &[(String, String)]) -> Vec<Value> {
    let mut steps = vec![];
    if is_root {
        steps.push(of("expanded_query", Value::Text(statement.into())));
        if let Some((_, tree)) = passes.first() {
            steps.push(of("bound_tree", lines(tree)));
        }
    }
    steps
}

fn optimization(v: &View, passes: &[(String, String)]) -> Vec<Value> {
    let mut steps = vec![];
    let mut before: Option<&str> = None;
    for (name, tree) in passes {
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
    let tables: Vec<&Access> = v.tables.iter().filter(|t| t.table.is_some()).collect();
    if tables.is_empty() {
        return steps;
    }
    steps.push(of("rows_estimation", Value::List(tables.iter().map(|t| Value::Object(estimation(t))).collect())));
    steps.push(of("considered_execution_plans", Value::List(order(&tables))));
    steps.push(of("attaching_conditions_to_tables", Value::Object(conditions(&tables))));
    if let Some(o) = operations(v) {
        steps.push(of("optimizing_distinct_group_by_order_by", Value::Object(o)));
    }
    steps.push(of("refine_plan", Value::List(tables.iter().map(|t| Value::Object(refined(t))).collect())));
    steps
}

fn quoted(t: &Access) -> String {
    format!("`{}`", t.table.as_deref().unwrap_or_default())
}

/// Costs are thousands of nanoseconds, as EXPLAIN has them.
fn figure(v: f64) -> String {
    format!("{:.2}", v / 1000.0)
}

fn estimation(t: &Access) -> Object {
    let mut o = Object::default();
    o.text("table", quoted(t));
    let mut range = Object::default();
    let indexes = |keys: &[String]| {
        let one = |k: &String| {
            let mut i = Object::default();
            i.text("index", k.clone());
            i.flag("usable", true);
            Value::Object(i)
        };
        Value::List(keys.iter().map(one).collect())
    };
    if !t.possible_keys.is_empty() {
        range.put("potential_range_indexes", indexes(&t.possible_keys));
    }
    let mut chosen = Object::default();
    chosen.text("type", t.access_type);
    if let Some(key) = &t.key {
        chosen.text("index", key.clone());
        chosen.texts("key_parts", &t.key_parts);
    }
    chosen.number("rows", format!("{:.0}", t.rows.max(0.0)));
    chosen.number("cost", figure(t.read_cost));
    match t.access_type {
        "range" | "index_merge" => {
            let mut summary = Object::default();
            summary.object("range_access_plan", chosen);
            summary.number("rows_for_plan", format!("{:.0}", t.rows.max(0.0)));
            summary.number("cost_for_plan", figure(t.read_cost));
            summary.flag("chosen", true);
            range.object("chosen_range_access_summary", summary);
            o.object("range_analysis", range);
        }
        "ALL" => {
            o.object("table_scan", chosen);
            if !t.possible_keys.is_empty() {
                o.object("range_analysis", range);
            }
        }
        _ => {
            o.object("access", chosen);
            if !t.possible_keys.is_empty() {
                o.object("range_analysis", range);
            }
        }
    }
    o
}

/// Each table with those before it, the rest of the plan inside.
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
        path.number("rows", format!("{:.0}", t.rows.max(0.0)));
        path.number("cost", figure(t.read_cost));
        path.flag("chosen", true);
        let mut best = Object::default();
        best.put("considered_access_paths", Value::List(vec![Value::Object(path)]));
        let mut o = Object::default();
        o.put("plan_prefix", Value::List(tables[..i].iter().map(|t| Value::Text(quoted(t))).collect()));
        o.text("table", quoted(t));
        o.object("best_access_path", best);
        o.number("condition_filtering_pct", format!("{:.2}", t.filtered));
        o.number("rows_for_plan", format!("{:.0}", t.join_rows.max(0.0)));
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
        o.text("table", quoted(t));
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
    o.text("table", quoted(t));
    if let Some(c) = &t.index_condition {
        o.text("pushed_index_condition", c.clone());
    }
    if t.using_index {
        o.flag("using_index", true);
    }
    o.texts("how", &t.how);
    o
}
