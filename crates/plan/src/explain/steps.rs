//! EXPLAIN ANALYZE FORMAT=JSON, and FORMAT=JSON in MySQL's second version: the tree of operators as JSON.

use super::tree::{Line, lines};
use super::value::{Object, Value, print};
use super::{Change, NodeStats};
use crate::{Plan, PlanNode, PlanOp};
use catalog::TableDef;

/// The tree's lines as nested objects; with `stats` also what happened. `query`: the statement's text; `counters`: what
/// it added to the session's status.
pub fn steps(
    plan: Option<&Plan>,
    change: Option<&Change>,
    stats: Option<&[NodeStats]>,
    query: &str,
    counters: &[(String, u64)],
) -> String {
    let mut top = Object::default();
    top.text("query", query);
    let all = plan.map(lines).unwrap_or_default();
    let mut at = 0;
    let mut roots = children(&all, &mut at, 0, stats, None);
    let mut plan = Object::default();
    if let Some(c) = change {
        plan.text("operation", super::change_words(c));
        plan.text("access_type", c.verb.to_lowercase());
        if !roots.is_empty() {
            plan.put("inputs", Value::List(roots.into_iter().map(Value::Object).collect()));
        }
    } else if !roots.is_empty() {
        plan = roots.remove(0);
        if !roots.is_empty() {
            plan.put("subqueries", Value::List(roots.into_iter().map(Value::Object).collect()));
        }
    }
    top.object("query_plan", plan);
    if !counters.is_empty() {
        let mut o = Object::default();
        for (name, n) in counters {
            o.put_owned(name.clone(), Value::Number(n.to_string()));
        }
        top.object("counters", o);
    }
    top.text("query_type", change.map_or("select".into(), |c| c.verb.to_lowercase()));
    top.text("json_schema_version", "2.0");
    print(&top)
}

/// Objects of the lines from `at` on that are `depth` deep, with what is below them.
/// `parent`: the operator whose inputs these are.
fn children(
    all: &[Line],
    at: &mut usize,
    depth: usize,
    stats: Option<&[NodeStats]>,
    parent: Option<&PlanNode>,
) -> Vec<Object> {
    let mut out = vec![];
    while let Some(line) = all.get(*at).filter(|l| l.depth >= depth) {
        *at += 1;
        let mut o = Object::default();
        o.text("operation", line.text.clone());
        if let Some(n) = line.node {
            // A filter's line has the figures of the table access below it.
            let filter = line.text.starts_with("Filter: ");
            let access = if filter { None } else { Some(n) };
            if let Some(n) = access {
                table(n, &mut o);
            }
            if filter {
                o.text("access_type", "filter");
                o.text("condition", line.text["Filter: ".len()..].to_string());
            }
            figures(n, stats, &mut o);
        } else if let Some(condition) = line.text.strip_prefix("Filter: ") {
            o.text("access_type", "filter");
            o.text("condition", condition);
        } else if let Some(n) = parent.filter(|n| {
            // Its own line, or below its filter's.
            !matches!(n.op, PlanOp::IndexJoin { .. }) || line.text.contains("lookup on ")
        }) && !matches!(n.op, PlanOp::Scan { .. })
        {
            looked_up(n, &mut o);
        } else if let Some(PlanNode { op: PlanOp::Scan { table, alias, .. }, .. }) = parent {
            o.text("access_type", "table");
            names(table, alias, &mut o);
        }
        let parent = line.node.or(parent);
        let deep = depth >= super::tree::DEPTH_MAX / 10;
        let below = if deep { vec![] } else { children(all, at, depth + 1, stats, parent) };
        if !below.is_empty() {
            o.put("inputs", Value::List(below.into_iter().map(Value::Object).collect()));
        }
        out.push(o);
    }
    out
}

fn table(n: &PlanNode, o: &mut Object) {
    let (kind, index) = match &n.op {
        PlanOp::Scan { .. } | PlanOp::Virtual { .. } | PlanOp::CteScan { .. } => ("table", None),
        PlanOp::KeyLookup { index, .. } | PlanOp::IndexScan { index, .. } => ("index", Some(*index)),
        PlanOp::HashJoin { .. } | PlanOp::NestedLoopJoin { .. } | PlanOp::Apply { .. } | PlanOp::IndexJoin { .. } => {
            ("join", None)
        }
        PlanOp::Sort { .. } => ("sort", None),
        PlanOp::Aggregate { .. } => ("aggregate", None),
        PlanOp::Distinct { .. } => ("temp_table", None),
        PlanOp::Limit { .. } => ("limit", None),
        PlanOp::Window { .. } => ("window", None),
        PlanOp::SetOp { .. } => ("append", None),
        _ => return,
    };
    o.text("access_type", kind);
    if let PlanOp::Scan { table, alias, .. }
    | PlanOp::KeyLookup { table, alias, .. }
    | PlanOp::IndexScan { table, alias, .. } = &n.op
    {
        names(table, alias, o);
        if let Some(i) = index {
            o.text("index_name", &*table.indexes[i].name);
        }
    }
}

fn names(table: &TableDef, alias: &str, o: &mut Object) {
    o.text("schema_name", &*table.schema);
    o.text("table_name", &*table.name);
    o.text("alias", alias);
}

/// The table in whose index an operator looks its input's rows up.
fn looked_up(n: &PlanNode, o: &mut Object) {
    if let PlanOp::IndexJoin { table, alias, index, .. }
    | PlanOp::KeyLookup { table, alias, index, .. }
    | PlanOp::IndexScan { table, alias, index, .. } = &n.op
    {
        o.text("access_type", "index");
        names(table, alias, o);
        o.text("index_name", &*table.indexes[*index].name);
    }
}

fn figures(n: &PlanNode, stats: Option<&[NodeStats]>, o: &mut Object) {
    o.number("estimated_rows", format!("{:.2}", n.estimated_rows));
    o.number("estimated_total_cost", format!("{:.3}", n.estimated_cost / 1000.0));
    let Some(s) = stats.and_then(|s| s.get(n.id as usize)) else { return };
    o.number("actual_loops", s.loops);
    if s.loops == 0 {
        return;
    }
    let per_loop = |v: u64| v as f64 / s.loops as f64;
    o.number("actual_rows", per_loop(s.rows));
    o.number("actual_first_row_ms", per_loop(s.time_first_us) / 1000.0);
    o.number("actual_last_row_ms", per_loop(s.time_last_us) / 1000.0);
    if s.memory_peak_bytes > 0 {
        o.number("memory_peak_bytes", s.memory_peak_bytes);
    }
    if s.spilled_bytes > 0 {
        o.number("spilled_bytes", s.spilled_bytes);
    }
}
