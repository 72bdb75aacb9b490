//! Golden plans in every format: the table, FORMAT=TREE and FORMAT=JSON of each statement of `tests/explain/*.txt`, and a
//! test that the three never contradict each other.

mod common;

use common::scale::scale_one;
use common::{Variables, fixture, golden, session};
use parser::ast::{InsertSource, Statement};
use parser::{ParseOptions, parse};
use plan::Plan;
use plan::explain::{self, Change};
use planner::bind::{Binder, DmlTarget};
use planner::optimize::{OptimizerSettings, optimize};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use types::Result;

struct Explained {
    plan: Option<Plan>,
    change: Option<Change>,
    rewritten: String,
}

fn explained(sql: &str, schema: &str) -> Result<Explained> {
    let catalog = fixture();
    let mut session = session();
    session.database = Some(schema.into());
    let binder = Binder::new(&catalog, &session, &Variables);
    let of = |verb, targets: &[DmlTarget]| {
        Some(Change { verb, targets: targets.iter().map(|t| t.alias.to_string()).collect() })
    };
    let (query, change) = match parse(sql, &ParseOptions::default())? {
        Statement::Query(q) => (Some(binder.bind_query(&q)?), None),
        Statement::Update(u) => {
            let u = binder.bind_update(&u)?;
            (Some(u.query), of("UPDATE", &u.targets))
        }
        Statement::Delete(d) => {
            let d = binder.bind_delete(&d)?;
            (Some(d.query), of("DELETE", &d.targets))
        }
        Statement::Insert(i) => {
            let query = match &i.source {
                InsertSource::Values(_) => None,
                InsertSource::Query(q) => Some(binder.bind_query(q)?),
            };
            let verb = if i.replace { "REPLACE" } else { "INSERT" };
            (query, Some(Change { verb, targets: vec![i.table.name.to_string()] }))
        }
        _ => panic!("nothing to explain: {sql}"),
    };
    let optimized = |q| optimize(q, &scale_one(&catalog), &OptimizerSettings::default());
    let rewritten = match (&query, &change) {
        (Some(q), None) => explain::rewritten(q, true),
        (Some(q), Some(c)) if c.inserts() => explain::rewritten(q, true),
        (Some(q), Some(c)) => explain::rewritten_change(q, &c.verb.to_lowercase(), &[]),
        (None, _) => String::new(),
    };
    Ok(Explained { plan: query.map(optimized).transpose()?, change, rewritten })
}

/// All formats, one below the other.
fn all(sql: &str, schema: &str) -> String {
    let x = match explained(sql, schema) {
        Ok(x) => x,
        Err(e) => return e.to_string(),
    };
    let (plan, change) = (x.plan.as_ref(), x.change.as_ref());
    let mut out = x.rewritten;
    if !out.is_empty() {
        out.push('\n');
    }
    for row in explain::traditional(plan, change) {
        let cells: Vec<&str> = row.iter().map(|c| c.as_deref().unwrap_or("-")).collect();
        out += &cells.join(" | ");
        out.push('\n');
    }
    out += &plan.map_or(String::new(), |p| explain::tree(p, None));
    out += &explain::json(plan, change);
    out
}

fn files() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explain");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(dir).expect("the folder is there").map(|f| f.expect("it is readable").path()).collect();
    files.sort();
    files
}

/// `tpch*.txt` are about TPC-H's tables, the others about the shop's.
fn schema_of(file: &Path) -> &'static str {
    let name = file.file_name().and_then(|n| n.to_str()).unwrap_or("");
    if name.starts_with("tpch") { "tpch" } else { "shop" }
}

#[test]
fn all_formats() {
    let count = Cell::new(0);
    for file in files() {
        golden(&file, |sql| {
            count.set(count.get() + 1);
            all(sql, schema_of(&file))
        });
    }
    eprintln!("{} statements", count.get());
}

/// (table, type, key, rows) of each access to a table.
type Access = (String, String, String, String);

fn table_accesses(rows: &[explain::TraditionalRow]) -> Vec<Access> {
    let cell = |r: &explain::TraditionalRow, i: usize| r[i].clone().unwrap_or_default();
    rows.iter().filter(|r| r[2].is_some()).map(|r| (cell(r, 2), cell(r, 4), cell(r, 6), cell(r, 9))).collect()
}

/// The same, read from JSON. A table's own keys come before those of what is inside it.
fn json_accesses(json: &str) -> Vec<Access> {
    let mut found: Vec<Access> = vec![];
    for line in json.lines() {
        let Some((key, value)) = line.trim().split_once(": ") else { continue };
        let value = value.trim_end_matches(',').trim_matches('"').to_string();
        match (key, found.last_mut()) {
            ("\"table_name\"", _) => found.push((value, String::new(), String::new(), String::new())),
            ("\"access_type\"", Some(a)) => a.1 = value,
            // Indexes that are merged: `union(a,b)`.
            ("\"key\"", Some(a)) => a.2 = value.split_once('(').map_or(value.clone(), |k| k.1.replace(')', "")),
            ("\"rows_examined_per_scan\"", Some(a)) => a.3 = value,
            _ => {}
        }
    }
    found
}

/// (alias, index) of each base table in the tree.
fn tree_accesses(tree: &str, aliases: &[String]) -> Vec<(String, String)> {
    let mut found = vec![];
    // The table says `Full scan on NULL key` of the runs that tell UNKNOWN from FALSE.
    let mut hidden = usize::MAX;
    for line in tree.lines() {
        let depth = line.len() - line.trim_start().len();
        if depth <= hidden {
            hidden = if line.contains("-> UNKNOWN if") { depth } else { usize::MAX };
        }
        if depth > hidden {
            continue;
        }
        let text = line.trim_start().trim_start_matches("-> ");
        let reads = ["Table scan", "Index", "Single-row", "Covering", "Multi-range", "Sort-deduplicate"];
        let Some((_, rest)) = text.split_once(" on ").filter(|_| reads.iter().any(|w| text.starts_with(w))) else {
            continue;
        };
        let mut words = rest.split([' ', ',']);
        let alias = words.next().unwrap_or("").to_string();
        let key = match (words.next(), words.next()) {
            (Some("using"), Some(key)) => key.to_string(),
            _ => String::new(),
        };
        if aliases.contains(&alias) {
            found.push((alias, key));
        }
    }
    found.sort();
    found
}

fn base_aliases(plan: &Plan) -> Vec<String> {
    let mut open: Vec<&plan::PlanNode> = plan.init.iter().map(|i| &*i.plan).chain([&*plan.root]).collect();
    let mut found = vec![];
    while let Some(n) = open.pop() {
        use plan::PlanOp::*;
        if let Scan { alias, .. } | KeyLookup { alias, .. } | IndexScan { alias, .. } | IndexJoin { alias, .. } = &n.op
        {
            found.push(alias.to_string());
        }
        open.extend(n.inputs());
    }
    found
}

/// (alias, index) of accesses that the tree alone shows: those of tables that are optimized away, and of the other way to
/// find the first rows.
fn hidden_accesses(plan: &Plan) -> Vec<(String, String)> {
    use plan::PlanOp::*;
    let mut open: Vec<(&plan::PlanNode, bool)> =
        plan.init.iter().map(|i| &*i.plan).chain([&*plan.root]).map(|n| (n, false)).collect();
    let mut found = vec![];
    while let Some((n, hidden)) = open.pop() {
        match &n.op {
            Scan { alias, .. } if hidden => found.push((alias.to_string(), String::new())),
            KeyLookup { alias, table, index, .. } | IndexScan { alias, table, index, .. } if hidden => {
                found.push((alias.to_string(), table.indexes[*index].name.to_string()));
            }
            Attempt { first, otherwise } => {
                open.extend([(&**first, hidden), (&**otherwise, true)]);
                continue;
            }
            _ => {}
        }
        open.extend(n.inputs().into_iter().map(|i| (i, hidden || n.notes.optimized_away)));
    }
    found
}

#[test]
fn the_formats_do_not_contradict_each_other() {
    let mut checked = 0;
    for file in files() {
        let text = std::fs::read_to_string(&file).expect("the golden file is readable");
        for case in text.split("\n----\n") {
            let Some(sql) = case.rsplit("\n\n").next().map(str::trim) else { continue };
            let sql: Vec<&str> = sql.lines().filter(|l| !l.starts_with('#')).collect();
            let sql = sql.join("\n");
            let Ok(x) = explained(&sql, schema_of(&file)) else { continue };
            let Some(plan) = &x.plan else { continue };
            let mut rows = table_accesses(&explain::traditional(Some(plan), x.change.as_ref()));
            let mut json = json_accesses(&explain::json(Some(plan), x.change.as_ref()));
            let aliases = base_aliases(plan);
            let mut from_rows: Vec<(String, String)> = rows
                .iter()
                .filter(|r| aliases.contains(&r.0) && !r.3.is_empty())
                .flat_map(|r| r.2.split(',').map(|key| (r.0.clone(), key.to_string())))
                .collect();
            from_rows.extend(hidden_accesses(plan));
            from_rows.sort();
            // A CTE that is recursive may have a table's name.
            let tree = tree_accesses(&explain::tree(plan, None), &aliases);
            assert_eq!(from_rows, tree, "table and TREE of {sql}");
            rows.sort();
            json.sort();
            assert_eq!(rows, json, "table and JSON of {sql}");
            checked += 1;
        }
    }
    assert!(checked > 300, "{checked}");
}
