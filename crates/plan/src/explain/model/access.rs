//! How each operator that reads a table is called.

use super::Access;
use super::walk::Walker;
use crate::access::{EntryUse, IndexRange, Merge};
use crate::explain::expression::Names;
use crate::explain::index::{self, Access as IndexAccess};
use crate::explain::json::conjunction;
use crate::{PlanNode, PlanOp};
use catalog::TableDef;
use types::SqlType;

impl<'p> Walker<'p> {
    /// Rows of another block.
    pub(super) fn derived_access(&self, n: &PlanNode, name: String) -> Access {
        Access {
            table: Some(name),
            access_type: "ALL",
            rows: n.estimated_rows,
            filtered: 100.0,
            join_rows: n.estimated_rows,
            read_cost: n.estimated_cost,
            prefix_cost: n.estimated_cost,
            row_bytes: n.output.iter().map(|c| bytes(&c.ty)).sum(),
            used_columns: n.output.iter().map(|c| column_name(&c.name)).filter(|c| !c.is_empty()).collect(),
            ..Access::default()
        }
    }

    /// The access of a node without inputs.
    pub(super) fn table_access(&self, n: &'p PlanNode) -> Access {
        match &n.op {
            PlanOp::Scan { table, alias, columns, filters, .. } => {
                let mut a = base(n, table, alias, columns);
                a.access_type = "ALL";
                self.tested(&mut a, table, alias, columns, filters);
                a
            }
            PlanOp::KeyLookup { table, alias, index, keys, columns, filters, .. } => {
                let mut a = base(n, table, alias, columns);
                let parts = table.indexes[*index].parts.len();
                a.access_type = if keys.len() == 1 { "const" } else { "range" };
                by_index(&mut a, table, *index, parts);
                if keys.len() == 1 {
                    a.reference = self.words.value_references(&keys[0]);
                    if a.reference.iter().any(|r| r != "const") {
                        a.access_type = "eq_ref";
                    }
                } else {
                    a.using_where = true;
                    a.conditions = vec![self.words.key_list(table, alias, *index, keys)];
                }
                self.tested(&mut a, table, alias, columns, filters);
                a
            }
            PlanOp::IndexScan { table, alias, index, ranges, reverse, columns, filters, answered, entries, .. } => {
                let mut a = base(n, table, alias, columns);
                let parts = ranges.iter().map(|r| r.parts()).max().unwrap_or(0);
                match index::access(ranges) {
                    IndexAccess::Whole => {
                        a.access_type = "index";
                        by_index(&mut a, table, *index, table.indexes[*index].parts.len());
                    }
                    IndexAccess::Lookup => {
                        a.access_type = "ref";
                        by_index(&mut a, table, *index, parts);
                        a.reference = self.words.references(&ranges[0].equal, &[]);
                    }
                    IndexAccess::LookupOrNull => {
                        a.access_type = "ref_or_null";
                        by_index(&mut a, table, *index, parts);
                        a.reference = self.words.references(&index::value_of(ranges).equal, &[]);
                        a.using_where = true;
                        a.conditions = self.words.table_conditions(answered, table, alias, columns);
                    }
                    IndexAccess::Range => {
                        a.access_type = "range";
                        by_index(&mut a, table, *index, parts);
                        // As MySQL does, a range counts as a condition.
                        a.using_where = true;
                        a.conditions = self.words.table_conditions(answered, table, alias, columns);
                    }
                }
                if let Some(merge) = &entries.merge {
                    by_merge(&mut a, table, merge, *index, ranges);
                }
                a.backward = *reverse;
                self.entries(&mut a, table, alias, *index, entries, columns);
                self.tested(&mut a, table, alias, columns, filters);
                a
            }
            PlanOp::Virtual { name, table, columns, .. } => {
                let mut a = base(n, table, name, columns);
                a.access_type = "ALL";
                a
            }
            _ => self.derived_access(n, String::new()),
        }
    }

    pub(super) fn index_join_access(&self, n: &'p PlanNode) -> Access {
        let PlanOp::IndexJoin { input, table, alias, index, key, columns, filters, condition, entries, .. } = &n.op
        else {
            return Access::default();
        };
        let mut a = base(n, table, alias, columns);
        let x = &table.indexes[*index];
        let outer_rows = input.estimated_rows.max(1.0);
        let left = n.estimated_rows / outer_rows;
        a.access_type = if x.is_unique() && key.len() == x.parts.len() { "eq_ref" } else { "ref" };
        a.rows = if n.notes.examined > 0.0 { n.notes.examined } else { left };
        a.filtered = share(left, a.rows);
        a.join_rows = n.estimated_rows;
        a.read_cost = (n.estimated_cost - input.estimated_cost).max(0.0);
        by_index(&mut a, table, *index, key.len());
        a.reference = self.words.references(key, &input.output);
        self.tested(&mut a, table, alias, columns, filters);
        self.entries(&mut a, table, alias, *index, entries, columns);
        let more = self.words.lookup_conditions(condition, key, input, table, alias, columns);
        a.using_where |= !more.is_empty();
        a.conditions.extend(more);
        a
    }

    /// What the entries of the index are used for.
    fn entries(&self, a: &mut Access, table: &TableDef, alias: &str, index: usize, used: &EntryUse, columns: &[usize]) {
        let names =
            columns.iter().map(|c| format!("`{}`.`{alias}`.`{}`", table.schema, table.columns[*c].shown_name()));
        let names = Names::owned(names.collect());
        let text = |e: &expr::Expr| self.words.text(e, &names);
        let pushed = index::index_condition(table, alias, &table.indexes[index], used, &text);
        let says = used.extra(false);
        if says.contains(&"Using index condition") {
            // Its range is part of the condition.
            let mut all = std::mem::take(&mut a.conditions);
            all.extend(pushed);
            a.index_condition = conjunction(&all);
            a.using_where = false;
        } else {
            a.using_where |= pushed.is_some();
            a.conditions.extend(pushed);
        }
        if used.jumps() {
            a.access_type = "range";
        }
        a.using_index = says.contains(&"Using index");
        let rest = says.iter().filter(|w| !matches!(**w, "Using index condition" | "Using where" | "Using index"));
        a.how.extend(rest.map(|w| w.to_string()));
    }

    fn tested(&self, a: &mut Access, table: &TableDef, alias: &str, columns: &[usize], filters: &[expr::Expr]) {
        a.using_where |= !filters.is_empty();
        a.conditions.extend(self.words.table_conditions(filters, table, alias, columns));
    }
}

fn base(n: &PlanNode, table: &TableDef, alias: &str, columns: &[usize]) -> Access {
    let rows = if n.notes.examined > 0.0 { n.notes.examined } else { n.estimated_rows };
    let mut possible_keys: Vec<String> = vec![];
    for i in &n.notes.possible {
        possible_keys.extend(table.indexes.get(*i).map(|x| x.name.to_string()));
    }
    Access {
        table: Some(alias.to_string()),
        possible_keys,
        rows,
        filtered: share(n.estimated_rows, rows),
        join_rows: n.estimated_rows,
        read_cost: n.estimated_cost,
        prefix_cost: n.estimated_cost,
        row_bytes: columns.iter().filter_map(|c| table.columns.get(*c)).map(|c| bytes(&c.ty)).sum(),
        used_columns: columns
            .iter()
            .filter_map(|c| table.columns.get(*c))
            .map(|c| c.shown_name().into_owned())
            .collect(),
        ..Access::default()
    }
}

fn by_index(a: &mut Access, table: &TableDef, index: usize, parts: usize) {
    let x = &table.indexes[index];
    let name = x.name.to_string();
    if !a.possible_keys.contains(&name) && a.access_type != "index" {
        a.possible_keys.push(name.clone());
    }
    a.key = Some(name);
    a.key_parts = x.parts.iter().take(parts).map(|p| table.columns[p.column_idx].shown_name().into_owned()).collect();
    a.key_len = Some(index::key_len(table, x, parts).to_string());
}

/// Several indexes: their names and lengths side by side.
fn by_merge(a: &mut Access, table: &TableDef, merge: &Merge, index: usize, ranges: &[IndexRange]) {
    a.access_type = "index_merge";
    a.using_where = true;
    let (mut keys, mut lengths) = (vec![], vec![]);
    a.key_parts.clear();
    for (i, ranges) in merge.all(index, ranges) {
        let parts = ranges.iter().map(|r| r.parts()).max().unwrap_or(0);
        by_index(a, table, i, parts);
        keys.extend(a.key.take());
        lengths.extend(a.key_len.take());
    }
    a.key = Some(keys.join(","));
    a.key_len = Some(lengths.join(","));
    a.key_parts.clear();
    a.reference.clear();
    a.conditions.clear();
    a.merged = Some(merge.words(table, index));
}

/// Per cent of the rows that are left.
pub(super) fn share(left: f64, rows: f64) -> f64 {
    if rows <= 0.0 || left >= rows { 100.0 } else { (left / rows * 100.0).clamp(0.0, 100.0) }
}

fn bytes(ty: &SqlType) -> u64 {
    index::part_len(ty, None).min(1 << 16) as u64
}

/// Without the table.
fn column_name(name: &str) -> String {
    name.split_once('.').map_or(name, |n| n.1).to_string()
}
