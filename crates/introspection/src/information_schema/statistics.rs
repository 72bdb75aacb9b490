//! STATISTICS, COLUMN_STATISTICS, KEY_COLUMN_USAGE, TABLE_CONSTRAINTS, REFERENTIAL_CONSTRAINTS, CHECK_CONSTRAINTS.

use super::VirtualTable;
use crate::histogram_json as json;
use catalog::{IndexAlgorithm, IndexKind, Relation, TableDef, TableEngine};
use session::Frame;
use session::rows::{BIGINT, UBIGINT, int, long_text, opt, s, text, uint};
use std::sync::Arc;
use types::Value;

pub const STATISTICS: VirtualTable = VirtualTable {
    name: "STATISTICS",
    columns: &[
        ("TABLE_CATALOG", text(64)),
        ("TABLE_SCHEMA", text(64)),
        ("TABLE_NAME", text(64)),
        ("NON_UNIQUE", BIGINT),
        ("INDEX_SCHEMA", text(64)),
        ("INDEX_NAME", text(64)),
        ("SEQ_IN_INDEX", UBIGINT),
        ("COLUMN_NAME", text(64)),
        ("COLLATION", text(1)),
        ("CARDINALITY", BIGINT),
        ("SUB_PART", BIGINT),
        ("PACKED", text(1)),
        ("NULLABLE", text(3)),
        ("INDEX_TYPE", text(11)),
        ("COMMENT", text(8)),
        ("INDEX_COMMENT", text(2048)),
        ("IS_VISIBLE", text(3)),
        ("EXPRESSION", long_text()),
    ],
    rows: |session, out| {
        for t in tables_of(session.relations_asked()) {
            for row in index_rows(session, &t) {
                let mut full = vec![s("def"), s(&t.schema)];
                full.extend(row);
                full.insert(4, s(&t.schema));
                out.push(full);
            }
        }
    },
};

pub const COLUMN_STATISTICS: VirtualTable = VirtualTable {
    name: "COLUMN_STATISTICS",
    columns: &[
        ("SCHEMA_NAME", text(64)),
        ("TABLE_NAME", text(64)),
        ("COLUMN_NAME", text(64)),
        ("HISTOGRAM", long_text()),
    ],
    rows: |session, out| {
        for t in tables_of(session.relations_asked()) {
            for c in &t.columns {
                if let Some(h) = &c.histogram {
                    out.push(vec![s(&t.schema), s(&t.name), s(&c.name), s(json::of_histogram(h, &c.ty))]);
                }
            }
        }
    },
};

/// All tables but those that the server makes.
pub(super) fn base_tables(session: &Frame<'_>) -> Vec<Arc<TableDef>> {
    tables_of(session.relations(None))
}

fn tables_of(relations: Vec<Relation>) -> Vec<Arc<TableDef>> {
    let stored = |r| match r {
        Relation::Table(t) if t.engine != TableEngine::Virtual => Some(t),
        _ => None,
    };
    relations.into_iter().filter_map(stored).collect()
}

/// The rows of SHOW INDEX: Table, Non_unique, Key_name, Seq_in_index, Column_name, Collation, Cardinality, Sub_part,
/// Packed, Null, Index_type, Comment, Index_comment, Visible, Expression.
pub fn index_rows(session: &Frame<'_>, t: &TableDef) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for i in &t.indexes {
        for (n, part) in i.parts.iter().enumerate() {
            let c = &t.columns[part.column_idx];
            let prefix: Vec<usize> = i.parts[..=n].iter().map(|p| p.column_idx).collect();
            rows.push(vec![
                s(&t.name),
                int(!i.is_unique() as i64),
                s(&i.name),
                uint(n as u64 + 1),
                opt(c.key_expr().is_none().then_some(&c.name)),
                s(if part.descending { "D" } else { "A" }),
                int(session.distinct_estimate(t, &prefix, i.is_unique() && n + 1 == i.parts.len())),
                part.prefix_len.map_or(Value::Null, int),
                Value::Null,
                s(if c.nullable { "YES" } else { "" }),
                s(if i.algorithm == Some(IndexAlgorithm::Hash) { "HASH" } else { "BTREE" }),
                s(""),
                s(&i.comment),
                s(if i.invisible { "NO" } else { "YES" }),
                opt(c.key_expr().map(|g| crate::show_create::parenthesized(&g.text))),
            ]);
        }
    }
    rows
}

pub const KEY_COLUMN_USAGE: VirtualTable = VirtualTable {
    name: "KEY_COLUMN_USAGE",
    columns: &[
        ("CONSTRAINT_CATALOG", text(64)),
        ("CONSTRAINT_SCHEMA", text(64)),
        ("CONSTRAINT_NAME", text(64)),
        ("TABLE_CATALOG", text(64)),
        ("TABLE_SCHEMA", text(64)),
        ("TABLE_NAME", text(64)),
        ("COLUMN_NAME", text(64)),
        ("ORDINAL_POSITION", UBIGINT),
        ("POSITION_IN_UNIQUE_CONSTRAINT", UBIGINT),
        ("REFERENCED_TABLE_SCHEMA", text(64)),
        ("REFERENCED_TABLE_NAME", text(64)),
        ("REFERENCED_COLUMN_NAME", text(64)),
    ],
    rows: |session, out| {
        for t in tables_of(session.relations_asked()) {
            for i in t.indexes.iter().filter(|i| i.is_unique()) {
                for (n, part) in i.parts.iter().enumerate().filter(|(_, p)| !t.columns[p.column_idx].is_hidden()) {
                    let mut row = vec![s("def"), s(&t.schema), s(&i.name), s("def"), s(&t.schema), s(&t.name)];
                    row.extend([s(&t.columns[part.column_idx].name), uint(n as u64 + 1)]);
                    row.extend([Value::Null, Value::Null, Value::Null, Value::Null]);
                    out.push(row);
                }
            }
            for f in &t.foreign_keys {
                for (n, (column, parent)) in f.columns.iter().zip(&f.parent_columns).enumerate() {
                    let mut row = vec![s("def"), s(&t.schema), s(&f.name), s("def"), s(&t.schema), s(&t.name)];
                    row.extend([s(&t.columns[*column].name), uint(n as u64 + 1), uint(n as u64 + 1)]);
                    row.extend([s(&f.parent_schema), s(&f.parent_table), s(parent)]);
                    out.push(row);
                }
            }
        }
    },
};

pub const TABLE_CONSTRAINTS: VirtualTable = VirtualTable {
    name: "TABLE_CONSTRAINTS",
    columns: &[
        ("CONSTRAINT_CATALOG", text(64)),
        ("CONSTRAINT_SCHEMA", text(64)),
        ("CONSTRAINT_NAME", text(64)),
        ("TABLE_SCHEMA", text(64)),
        ("TABLE_NAME", text(64)),
        ("CONSTRAINT_TYPE", text(11)),
        ("ENFORCED", text(3)),
    ],
    rows: |session, out| {
        for t in tables_of(session.relations_asked()) {
            for i in t.indexes.iter().filter(|i| i.is_unique()) {
                let kind = if i.kind == IndexKind::Primary { "PRIMARY KEY" } else { "UNIQUE" };
                out.push(vec![s("def"), s(&t.schema), s(&i.name), s(&t.schema), s(&t.name), s(kind), s("YES")]);
            }
            let mut others: Vec<(&str, &str, bool)> = Vec::new();
            others.extend(t.foreign_keys.iter().map(|f| (&*f.name, "FOREIGN KEY", true)));
            others.extend(t.checks.iter().map(|c| (&*c.name, "CHECK", c.enforced)));
            for (name, kind, enforced) in others {
                let enforced = if enforced { "YES" } else { "NO" };
                out.push(vec![s("def"), s(&t.schema), s(name), s(&t.schema), s(&t.name), s(kind), s(enforced)]);
            }
        }
    },
};

pub const REFERENTIAL_CONSTRAINTS: VirtualTable = VirtualTable {
    name: "REFERENTIAL_CONSTRAINTS",
    columns: &[
        ("CONSTRAINT_CATALOG", text(64)),
        ("CONSTRAINT_SCHEMA", text(64)),
        ("CONSTRAINT_NAME", text(64)),
        ("UNIQUE_CONSTRAINT_CATALOG", text(64)),
        ("UNIQUE_CONSTRAINT_SCHEMA", text(64)),
        ("UNIQUE_CONSTRAINT_NAME", text(64)),
        ("MATCH_OPTION", text(64)),
        ("UPDATE_RULE", text(64)),
        ("DELETE_RULE", text(64)),
        ("TABLE_NAME", text(64)),
        ("REFERENCED_TABLE_NAME", text(64)),
    ],
    rows: |session, out| {
        for t in tables_of(session.relations_asked()) {
            for f in &t.foreign_keys {
                let unique = match session.db().catalog().relation(&f.parent_schema, &f.parent_table) {
                    Some(Relation::Table(p)) => {
                        p.referenced_index(&f.parent_columns).map(|i| p.indexes[i].name.clone())
                    }
                    _ => None,
                };
                let mut row = vec![s("def"), s(&t.schema), s(&f.name), s("def"), s(&f.parent_schema), opt(unique)];
                row.extend([s("NONE"), s(f.on_update.name()), s(f.on_delete.name()), s(&t.name), s(&f.parent_table)]);
                out.push(row);
            }
        }
    },
};

pub const CHECK_CONSTRAINTS: VirtualTable = VirtualTable {
    name: "CHECK_CONSTRAINTS",
    columns: &[
        ("CONSTRAINT_CATALOG", text(64)),
        ("CONSTRAINT_SCHEMA", text(64)),
        ("CONSTRAINT_NAME", text(64)),
        ("CHECK_CLAUSE", long_text()),
    ],
    rows: |session, out| {
        for t in tables_of(session.relations_asked()) {
            for c in &t.checks {
                let clause = crate::show_create::parenthesized(&c.text);
                out.push(vec![s("def"), s(&t.schema), s(&c.name), s(clause)]);
            }
        }
    },
};
