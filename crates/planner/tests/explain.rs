//! Golden plans in every format: the table, FORMAT=TREE and FORMAT=JSON of each statement of `tests/explain/*.txt`, and
//! a test that the three never contradict each other: it makes the rows of the table from the JSON.

mod common;

use common::json::Json;
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

/// A row of the table, its cells as text (NULL is empty), without what is said of its block as a whole: id, table,
/// type, possible_keys, key, key_len, ref, rows, filtered, and the words of Extra, sorted.
type Fact = Vec<String>;

/// Said of blocks, not of tables.
const OF_BLOCKS: [&str; 2] = ["Using temporary", "Using filesort"];

fn facts_of_table(rows: &[explain::TraditionalRow]) -> Vec<Fact> {
    let of = |r: &explain::TraditionalRow| {
        let mut fact: Fact = [0, 2, 4, 5, 6, 7, 8, 9, 10].iter().map(|i| r[*i].clone().unwrap_or_default()).collect();
        let extra = r[11].clone().unwrap_or_default();
        let mut words: Vec<&str> = extra.split("; ").filter(|w| !w.is_empty() && !OF_BLOCKS.contains(w)).collect();
        words.sort_unstable();
        fact.push(words.join("; "));
        fact
    };
    let mut facts: Vec<Fact> = rows.iter().map(of).collect();
    facts.sort();
    facts
}

/// (id, word) of each word about a block.
fn block_words_of_table(rows: &[explain::TraditionalRow]) -> Vec<(String, String)> {
    let mut found = vec![];
    for r in rows.iter().filter(|r| !r[1].as_deref().is_some_and(|t| t.ends_with(" RESULT"))) {
        let extra = r[11].clone().unwrap_or_default();
        found.extend(
            OF_BLOCKS.iter().filter(|w| extra.contains(**w)).map(|w| (r[0].clone().unwrap_or_default(), w.to_string())),
        );
    }
    found.sort();
    found.dedup();
    found
}

/// The same facts, read from FORMAT=JSON.
#[derive(Default)]
struct FromJson {
    facts: Vec<Fact>,
    block_words: Vec<(String, String)>,
}

impl FromJson {
    /// `id`: of the block around.
    fn read(&mut self, v: &Json, id: &str) {
        match v {
            Json::List(list) => list.iter().for_each(|v| self.read(v, id)),
            Json::Object(pairs) => {
                let own = v.text("select_id");
                let id = if own.is_empty() { id } else { &own };
                for (key, inner) in pairs {
                    match (key.as_str(), inner) {
                        ("table" | "union_result", Json::Object(_)) if inner.get("table_name").is_some() => {
                            self.facts.push(fact(inner, id));
                        }
                        ("table", Json::Object(_)) => self.message(inner, id),
                        ("ordering_operation" | "grouping_operation" | "duplicates_removal" | "windowing", _)
                            if v.get("union_result").is_none() && inner.get("union_result").is_none() =>
                        {
                            self.operation(inner, id);
                        }
                        _ => {}
                    }
                    // It names a block that is printed elsewhere.
                    if key != "sharing_temporary_table_with" {
                        self.read(inner, id);
                    }
                }
                if v.get("select_id").is_some() || v.get("table").is_none() && v.get("nested_loop").is_none() {
                    self.message(v, id);
                }
            }
            Json::Text(_) | Json::Word(_) => {}
        }
    }

    /// A block without tables, or one that was found to have no rows.
    fn message(&mut self, v: &Json, id: &str) {
        if v.get("message").is_some() && v.get("table_name").is_none() {
            let mut fact = vec![String::new(); 10];
            fact[0] = id.to_string();
            fact[9] = v.text("message");
            self.facts.push(fact);
        }
    }

    fn operation(&mut self, v: &Json, id: &str) {
        let mut all = vec![v];
        if let Some(Json::List(windows)) = v.get("windows") {
            all.extend(windows);
        }
        for o in all {
            if o.is_true("using_temporary_table") {
                self.block_words.push((id.into(), "Using temporary".into()));
            }
            if o.is_true("using_filesort") {
                self.block_words.push((id.into(), "Using filesort".into()));
            }
        }
    }
}

fn fact(t: &Json, id: &str) -> Fact {
    let mut fact = vec![id.to_string()];
    let cells = [
        "table_name",
        "access_type",
        "possible_keys",
        "key",
        "key_length",
        "ref",
        "rows_examined_per_scan",
        "filtered",
    ];
    fact.extend(cells.iter().map(|c| t.text(c)));
    let mut words = vec![];
    // Indexes that are merged: `union(a,b)`.
    if fact[4].contains('(') {
        words.push(format!("Using {}", fact[4]));
        let names = fact[4].split(['(', ')', ',']).filter(|n| !["", "union", "intersect", "sort_union"].contains(n));
        fact[4] = names.collect::<Vec<_>>().join(",");
    }
    for (key, word) in [
        ("index_condition", "Using index condition"),
        ("attached_condition", "Using where"),
        ("using_MRR", "Using MRR"),
        ("using_index_for_group_by", "Using index for group-by"),
        ("using_index_for_skip_scan", "Using index for skip scan"),
        ("backward_index_scan", "Backward index scan"),
        ("using_index", "Using index"),
        ("not_exists", "Not exists"),
        ("recursive", "Recursive"),
        ("loosescan", "LooseScan"),
        ("start_temporary", "Start temporary"),
        ("end_temporary", "End temporary"),
    ] {
        if t.get(key).is_some() {
            words.push(word.to_string());
        }
    }
    for (key, before, after) in [
        ("first_match", "FirstMatch(", ")"),
        ("rematerialize", "Rematerialize (", ")"),
        ("using_join_buffer", "Using join buffer (", ")"),
        ("message", "", ""),
    ] {
        let Json::Object(pairs) = t else { continue };
        for (_, v) in pairs.iter().filter(|p| p.0 == key) {
            let Json::Text(v) = v else { continue };
            words.push(format!("{before}{v}{after}"));
        }
    }
    words.sort_unstable();
    fact.push(words.join("; "));
    fact
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

/// (alias, index) of accesses that the tree alone shows: those of tables that are optimized away, and of the other way
/// to find the first rows.
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
            let rows = explain::traditional(Some(plan), x.change.as_ref());
            let aliases = base_aliases(plan);
            let cell = |r: &explain::TraditionalRow, i: usize| r[i].clone().unwrap_or_default();
            let mut from_rows: Vec<(String, String)> = rows
                .iter()
                .filter(|r| r[9].is_some() && aliases.contains(&cell(r, 2)))
                .flat_map(|r| cell(r, 6).split(',').map(|key| (cell(r, 2), key.to_string())).collect::<Vec<_>>())
                .collect();
            from_rows.extend(hidden_accesses(plan));
            from_rows.sort();
            // A CTE that is recursive may have a table's name.
            let tree = tree_accesses(&explain::tree(plan, None), &aliases);
            assert_eq!(from_rows, tree, "table and TREE of {sql}");
            let mut json = FromJson::default();
            json.read(&Json::parse(&explain::json(Some(plan), x.change.as_ref())), "");
            let inserts = x.change.as_ref().is_some_and(Change::inserts);
            json.facts.sort();
            let mut facts = facts_of_table(&rows);
            if inserts {
                // The query that is inserted has no number of its own there.
                json.facts.iter_mut().chain(&mut facts).for_each(|f| f[0].clear());
                json.facts.sort();
                facts.sort();
            }
            assert_eq!(json.facts, facts, "JSON and table of {sql}\n{}", explain::json(Some(plan), x.change.as_ref()));
            json.block_words.sort();
            json.block_words.dedup();
            if !inserts {
                assert_eq!(json.block_words, block_words_of_table(&rows), "JSON and table of {sql}");
            }
            checked += 1;
        }
    }
    assert!(checked > 300, "{checked}");
}
