//! EXPLAIN FORMAT=JSON, in the shape of MySQL's first version.
//!
//! ```text
//!   query_block
//!     ordering_operation         sorts, DISTINCT, windows and groups, each around what it works on
//!       grouping_operation
//!         nested_loop            the tables in the order of the join; one alone is `table`
//!           table
//!             materialized_from_subquery ─ query_block
//! ```

use super::Change;
use super::model::{Access, Model, Step, Union, View, WindowStep};
use super::traditional::rows_text;
use super::tree::DEPTH_MAX;
use super::value::{Object, Value, print};
use crate::Plan;
use crate::logical::Place;

/// The plan as JSON. `change`: what the statement does with the rows found.
pub fn json(plan: Option<&Plan>, change: Option<&Change>) -> String {
    let mut top = Object::default();
    let mut block = match plan {
        None => {
            let mut b = Object::default();
            b.number("select_id", 1);
            b
        }
        Some(plan) => {
            let model = Model::new(plan);
            let mut p = Printer { model: &model, change, shown: vec![false; model.views.len()], depth: 0 };
            match change {
                Some(c) if c.inserts() => {
                    let mut b = Object::default();
                    b.number("select_id", 1);
                    b.object("cost_info", cost(model.views[model.root].cost));
                    b.object("table", inserted(c));
                    let v = &model.views[model.root];
                    let from = p.contents(v);
                    b.object("insert_from", from);
                    b
                }
                _ => p.block(model.root),
            }
        }
    };
    if let (None, Some(c)) = (plan, change) {
        block.object("table", inserted(c));
    }
    top.object("query_block", block);
    print(&top)
}

fn inserted(c: &Change) -> Object {
    let mut t = Object::default();
    t.flag(if c.verb == "REPLACE" { "replace" } else { "insert" }, true);
    if let Some(name) = c.targets.first() {
        t.text("table_name", name.clone());
    }
    t.text("access_type", "ALL");
    t
}

fn cost(v: f64) -> Object {
    let mut c = Object::default();
    c.text("query_cost", figure(v));
    c
}

/// Costs are thousands of nanoseconds, as FORMAT=TREE has them.
fn figure(v: f64) -> String {
    format!("{:.2}", v / 1000.0)
}

struct Printer<'a> {
    model: &'a Model,
    change: Option<&'a Change>,
    /// Views that have been printed: what is read twice is printed once.
    shown: Vec<bool>,
    depth: usize,
}

impl Printer<'_> {
    fn block(&mut self, view: usize) -> Object {
        self.shown[view] = true;
        let v = &self.model.views[view];
        let mut o = Object::default();
        o.number("select_id", v.id);
        if v.cost > 0.0 {
            o.object("cost_info", cost(v.cost));
        }
        if self.depth > DEPTH_MAX / 10 {
            return o;
        }
        self.depth += 1;
        o.extend(self.contents(v));
        self.depth -= 1;
        o
    }

    fn contents(&mut self, v: &View) -> Object {
        let mut o = match &v.union {
            Some(u) => {
                let mut o = Object::default();
                o.object("union_result", self.union(u));
                o
            }
            None => self.tables(v),
        };
        for step in v.steps.iter().rev() {
            let mut outer = Object::default();
            if let Step::Window { .. } = step {
                let mut inner = Object::default();
                inner.put("windows", Value::List(windows(v)));
                inner.extend(o);
                outer.object("windowing", inner);
                o = outer;
                continue;
            }
            let (key, flag) = match step {
                Step::Sort => ("ordering_operation", "using_filesort"),
                Step::Distinct => ("duplicates_removal", "using_temporary_table"),
                Step::Group { .. } | Step::Window { .. } => ("grouping_operation", "using_temporary_table"),
            };
            let mut inner = Object::default();
            inner.flag(flag, !matches!(step, Step::Group { temporary: false }));
            if matches!(step, Step::Group { .. }) {
                inner.flag("using_filesort", false);
            }
            inner.extend(o);
            outer.object(key, inner);
            o = outer;
        }
        for (key, of) in [
            ("having_subqueries", &[Place::Having][..]),
            ("group_by_subqueries", &[Place::GroupBy]),
            ("order_by_subqueries", &[Place::OrderBy, Place::Windows]),
            // Their values went into ranges and keys, or there is no table to test them on.
            ("optimized_away_subqueries", &[Place::Where, Place::From]),
            ("select_list_subqueries", &[Place::Items]),
        ] {
            let standing = |s: &usize| !self.shown[*s] && of.contains(&self.model.views[*s].place);
            let found: Vec<usize> = v.subqueries.iter().copied().filter(standing).collect();
            self.list(&mut o, key, found);
        }
        o
    }

    fn list(&mut self, o: &mut Object, key: &'static str, subqueries: Vec<usize>) {
        if !subqueries.is_empty() {
            let list = subqueries.into_iter().map(|s| Value::Object(self.subquery(s, None))).collect();
            o.put(key, Value::List(list));
        }
    }

    fn tables(&mut self, v: &View) -> Object {
        let mut o = Object::default();
        match v.tables.as_slice() {
            [] => o.text("message", v.message.unwrap_or("No tables used")),
            [one] => o.object("table", self.table(v, one, 0.0)),
            many => {
                let mut list = vec![];
                let mut before = 0.0;
                for a in many {
                    let mut step = Object::default();
                    step.object("table", self.table(v, a, before));
                    before = a.prefix_cost;
                    list.push(Value::Object(step));
                }
                o.put("nested_loop", Value::List(list));
            }
        }
        o
    }

    /// `before`: the cost of the join up to here.
    fn table(&mut self, v: &View, a: &Access, before: f64) -> Object {
        let mut o = Object::default();
        let Some(name) = &a.table else {
            o.text("message", a.remarks.join("; "));
            return o;
        };
        if let Some(c) = self.change.filter(|c| !c.inserts() && v.id == 1 && c.targets.contains(name)) {
            o.flag(if c.verb == "DELETE" { "delete" } else { "update" }, true);
        }
        o.text("table_name", name.clone());
        o.text("access_type", a.access_type);
        o.texts("possible_keys", &a.possible_keys);
        if let Some(k) = &a.key {
            o.text("key", a.merged.as_ref().unwrap_or(k).clone());
            o.texts("used_key_parts", &a.key_parts);
        }
        if let Some(l) = &a.key_len {
            o.text("key_length", l.clone());
        }
        o.texts("ref", &a.reference);
        o.number("rows_examined_per_scan", rows_text(a.rows));
        o.number("rows_produced_per_join", rows_text(a.join_rows));
        o.text("filtered", format!("{:.2}", a.filtered));
        if a.backward {
            o.flag("backward_index_scan", true);
        }
        if let Some(c) = &a.index_condition {
            o.text("index_condition", c.clone());
        }
        if a.using_index {
            o.flag("using_index", true);
        }
        for word in &a.how {
            how(&mut o, word);
        }
        for r in &a.remarks {
            remark(&mut o, r);
        }
        if let Some(b) = a.join_buffer {
            o.text("using_join_buffer", b);
        }
        let mut costs = Object::default();
        costs.text("read_cost", figure(a.read_cost));
        costs.text("eval_cost", figure((a.prefix_cost - before - a.read_cost).max(0.0)));
        costs.text("prefix_cost", figure(a.prefix_cost));
        costs.text("data_read_per_join", size(a.join_rows * a.row_bytes as f64));
        o.object("cost_info", costs);
        o.texts("used_columns", &a.used_columns);
        let condition = conjunction(&a.conditions);
        if let Some(c) = &condition {
            o.text("attached_condition", c.clone());
        }
        // What a condition names; and with the last table, what is tested for rows of the join.
        let is_last = v.tables.last().is_some_and(|t| std::ptr::eq(t, a));
        let asked = |s: &usize| {
            let view = &self.model.views[*s];
            let named = || condition.as_ref().is_some_and(|c| c.contains(&format!("select#{} ", view.unit)));
            let tested = is_last && !view.early && matches!(view.place, Place::Where | Place::From);
            !self.shown[*s] && (tested || named())
        };
        let asked = v.subqueries.iter().copied().filter(asked).collect();
        self.list(&mut o, "attached_subqueries", asked);
        if let Some(source) = a.source {
            let from = if self.shown[source] {
                let mut with = Object::default();
                with.number("select_id", self.model.views[source].unit);
                let mut from = Object::default();
                from.object("sharing_temporary_table_with", with);
                from
            } else {
                self.subquery(source, Some(true))
            };
            o.object("materialized_from_subquery", from);
        }
        o
    }

    fn subquery(&mut self, view: usize, temporary: Option<bool>) -> Object {
        let mut o = Object::default();
        if let Some(t) = temporary {
            o.flag("using_temporary_table", t);
        }
        let dependent = self.model.views[view].dependent;
        o.flag("dependent", dependent);
        o.flag("cacheable", !self.model.views[view].uncacheable);
        let block = self.block(view);
        o.object("query_block", block);
        o
    }

    fn union(&mut self, u: &Union) -> Object {
        let mut o = Object::default();
        o.flag("using_temporary_table", u.collected);
        if u.collected {
            o.text("table_name", self.model.union_name(u));
            o.text("access_type", "ALL");
        }
        let list = u.operands.iter().map(|v| Value::Object(self.subquery(*v, None))).collect();
        o.put("query_specifications", Value::List(list));
        o
    }
}

fn windows(v: &View) -> Vec<Value> {
    let one = |(i, w): (usize, &WindowStep)| {
        let mut o = Object::default();
        o.text("name", "<unnamed window>");
        o.number("definition_position", i + 1);
        o.flag("using_temporary_table", true);
        if !w.sort_keys.is_empty() {
            o.flag("using_filesort", true);
            o.texts("filesort_key", &w.sort_keys);
        }
        o.put("functions", Value::List(w.functions.iter().map(|f| Value::Text(f.to_string())).collect()));
        Value::Object(o)
    };
    v.windows.iter().enumerate().map(one).collect()
}

fn how(o: &mut Object, word: &str) {
    match word {
        "Using MRR" => o.flag("using_MRR", true),
        "Using index for group-by" => o.flag("using_index_for_group_by", true),
        "Using index for skip scan" => o.flag("using_index_for_skip_scan", true),
        other => o.text("message", other),
    }
}

fn remark(o: &mut Object, word: &str) {
    let argument = |w: &str| w.split_once('(').map_or("", |x| x.1).trim_end_matches(')').to_string();
    match word {
        "Not exists" => o.flag("not_exists", true),
        "Recursive" => o.flag("recursive", true),
        "LooseScan" => o.flag("loosescan", true),
        "Start temporary" => o.flag("start_temporary", true),
        "End temporary" => o.flag("end_temporary", true),
        w if w.starts_with("FirstMatch") => o.text("first_match", argument(w)),
        w if w.starts_with("Rematerialize") => o.text("rematerialize", argument(w)),
        w => o.text("message", w),
    }
}

pub(super) fn conjunction(conditions: &[String]) -> Option<String> {
    match conditions {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(format!("({})", many.join(" and "))),
    }
}

/// `16`, `2K`, `3M`
fn size(bytes: f64) -> String {
    let units = ["", "K", "M", "G", "T"];
    let mut v = bytes;
    let mut unit = 0;
    while v >= 1024.0 && unit + 1 < units.len() {
        v /= 1024.0;
        unit += 1;
    }
    format!("{}{}", v as u64, units[unit])
}
