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
    Ok(Explained { plan: query.map(optimized).transpose()?, change })
}

/// All formats, one below the other.
fn all(sql: &str, schema: &str) -> String {
    let x = match explained(sql, schema) {
        Ok(x) => x,
        Err(e) => return e.to_string(),
    };
    let (plan, change) = (x.plan.as_ref(), x.change.as_ref());
    let mut out = String::new();
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
