//! EXPLAIN as a table: one row a table access, in the order in which rows meet them.

use super::expression::Names;
use super::index::{self, Access};
use crate::{InitPlan, Plan, PlanNode, PlanOp};
use catalog::{IndexDef, TableDef};

/// Column names of the result.
pub const TRADITIONAL_COLUMNS: [&str; 12] = [
    "id",
    "select_type",
    "table",
    "partitions",
    "type",
    "possible_keys",
    "key",
    "key_len",
    "ref",
    "rows",
    "filtered",
    "Extra",
];

/// One row; `None` is NULL.
pub type TraditionalRow = [Option<String>; 12];

/// The rows of EXPLAIN without a format.
pub fn traditional(plan: &Plan) -> Vec<TraditionalRow> {
    let mut rows = vec![];
    let kind = if plan.init.is_empty() { "SIMPLE" } else { "PRIMARY" };
    let mut w = Walk { id: 1, kind, rows: &mut rows, extra: vec![] };
    w.node(&plan.root, None);
    if rows.is_empty() {
        rows.push(row(1, kind, None, None, None, None, None, "No tables used"));
    }
    for (i, InitPlan { plan, .. }) in plan.init.iter().enumerate() {
        let before = rows.len();
        let mut w = Walk { id: i + 2, kind: "SUBQUERY", rows: &mut rows, extra: vec![] };
        w.node(plan, None);
        if rows.len() == before {
            rows.push(row(i + 2, "SUBQUERY", None, None, None, None, None, "No tables used"));
        }
    }
    rows
}

/// The key that an access uses.
struct Key {
    name: String,
    len: String,
    references: Option<String>,
}

impl Key {
    fn new(table: &TableDef, index: &IndexDef, parts: usize, references: Option<String>) -> Key {
        Key { name: index.name.to_string(), len: index::key_len(table, index, parts).to_string(), references }
    }
}

#[allow(clippy::too_many_arguments)]
fn row(
    id: usize,
    select_type: &str,
    table: Option<&str>,
    access: Option<&str>,
    key: Option<Key>,
    rows: Option<f64>,
    filtered: Option<f64>,
    extra: &str,
) -> TraditionalRow {
    let s = |v: &str| Some(v.to_string());
    let (name, len, references) = match key {
        Some(k) => (Some(k.name), Some(k.len), k.references),
        None => (None, None, None),
    };
    [
        s(&id.to_string()),
        s(select_type),
        table.and_then(s),
        None,
        access.and_then(s),
        name.clone(),
        name,
        len,
        references,
        rows.map(|r| format!("{:.0}", r.max(1.0))),
        filtered.map(|f| format!("{f:.2}")),
        if extra.is_empty() { None } else { s(extra) },
    ]
}

struct Walk<'a> {
    id: usize,
    kind: &'static str,
    rows: &'a mut Vec<TraditionalRow>,
    /// Remarks waiting for the first table of the operators that they are about.
    extra: Vec<&'static str>,
}

impl Walk<'_> {
    fn node(&mut self, n: &PlanNode, joined: Option<&'static str>) {
        match &n.op {
            PlanOp::Scan { alias, filters, .. } => {
                self.access(n, alias, "ALL", None, !filters.is_empty(), joined);
            }
            PlanOp::KeyLookup { table, alias, index, keys, filters, .. } => {
                let access = if keys.len() == 1 { "const" } else { "range" };
                let index = &table.indexes[*index];
                let parts = index.parts.len();
                let by = (keys.len() == 1).then(|| vec!["const"; parts].join(","));
                self.access(n, alias, access, Some(Key::new(table, index, parts, by)), !filters.is_empty(), joined);
            }
            PlanOp::IndexScan { table, alias, index, ranges, reverse, filters, .. } => {
                let index = &table.indexes[*index];
                let parts = ranges.iter().map(|r| r.parts()).max().unwrap_or(0);
                let none = Names::of(&[]);
                let (access, parts, by) = match index::access(ranges) {
                    Access::Whole => ("index", index.parts.len(), None),
                    Access::Lookup => ("ref", parts, Some(index::references(&table.schema, &ranges[0].equal, &none))),
                    Access::Range => ("range", parts, None),
                };
                if *reverse {
                    self.extra.insert(0, "Backward index scan");
                }
                // As MySQL does, a range counts as a condition.
                let filtered = !filters.is_empty() || access == "range";
                self.access(n, alias, access, Some(Key::new(table, index, parts, by)), filtered, joined);
            }
            PlanOp::IndexJoin { input, table, alias, index, key, filters, condition, .. } => {
                self.node(input, joined);
                let index = &table.indexes[*index];
                let single = index.is_unique() && key.len() == index.parts.len();
                let by = index::references(&table.schema, key, &Names::of(&input.output));
                let filtered = !filters.is_empty() || condition.len() > key.len();
                let access = if single { "eq_ref" } else { "ref" };
                // Rows of one lookup.
                let each = PlanNode {
                    id: n.id,
                    op: PlanOp::Empty,
                    output: vec![],
                    estimated_rows: n.estimated_rows / input.estimated_rows.max(1.0),
                    estimated_cost: n.estimated_cost,
                    notes: Default::default(),
                };
                self.access(&each, alias, access, Some(Key::new(table, index, key.len(), Some(by))), filtered, None);
            }
            PlanOp::CteScan { name, .. } => self.access(n, &format!("<{name}>"), "ALL", None, false, joined),
            PlanOp::Virtual { name, .. } => self.access(n, name, "ALL", None, false, joined),
            PlanOp::Empty => {
                self.rows.push(row(self.id, self.kind, None, None, None, None, None, "Impossible WHERE"));
            }
            PlanOp::HashJoin { probe, build, .. } => {
                self.node(build, joined);
                self.node(probe, Some("Using join buffer (hash join)"));
            }
            PlanOp::NestedLoopJoin { probe, build, .. } => {
                self.node(probe, joined);
                self.node(build, Some("Using join buffer"));
            }
            PlanOp::Sort { input, .. } => {
                self.extra.push("Using filesort");
                self.node(input, joined);
            }
            PlanOp::Aggregate { input, groups, .. } => {
                if !groups.is_empty() {
                    self.extra.push("Using temporary");
                }
                self.node(input, joined);
            }
            PlanOp::Distinct { input } => {
                self.extra.push("Using temporary");
                self.node(input, joined);
            }
            _ => {
                for i in n.inputs() {
                    self.node(i, joined);
                }
            }
        }
    }

    fn access(
        &mut self,
        n: &PlanNode,
        table: &str,
        access: &str,
        key: Option<Key>,
        filtered: bool,
        joined: Option<&'static str>,
    ) {
        let mut extra: Vec<&str> = vec![];
        if filtered {
            extra.push("Using where");
        }
        extra.append(&mut self.extra);
        extra.dedup();
        extra.extend(joined);
        self.rows.push(row(
            self.id,
            self.kind,
            Some(table),
            Some(access),
            key,
            Some(n.estimated_rows),
            Some(100.0),
            &extra.join("; "),
        ));
    }
}
