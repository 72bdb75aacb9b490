//! sys.schema_redundant_indexes: indexes that another one makes superfluous; sys.schema_unused_indexes: those in which
//! nobody has looked rows up since the server started or the index was made.
//!
//! As in MySQL's view, an index is redundant beside another of the same table if its parts are the first parts of the
//! other, in the same order, and
//! - it is not unique, and has fewer parts, or as many while the other is unique or comes first by name; or
//! - it is unique and the other is a unique one with the same parts that is the primary key or comes first by name.

use super::VirtualTable;
use super::statistics::base_tables;
use catalog::{IndexDef, IndexKind, TableDef};
use session::rows::{BIGINT, long_text, s, text};
use types::Value;

fn columns(t: &TableDef, i: &IndexDef) -> String {
    let names = i.parts.iter().map(|p| t.columns[p.column_idx].shown_name().into_owned());
    names.collect::<Vec<_>>().join(",")
}

/// Does `other` do all that `i` does?
fn is_redundant(i: &IndexDef, other: &IndexDef) -> bool {
    let tree = |x: &IndexDef| !matches!(x.kind, IndexKind::FullText | IndexKind::Spatial);
    let begins = other.parts.len() >= i.parts.len() && i.parts.iter().zip(&other.parts).all(|(a, b)| a == b);
    if !tree(i) || !tree(other) || !begins || i.name == other.name {
        return false;
    }
    let same = i.parts.len() == other.parts.len();
    let first = other.kind == IndexKind::Primary || (i.kind != IndexKind::Primary && other.name < i.name);
    if i.is_unique() { same && other.is_unique() && first } else { !same || other.is_unique() || first }
}

/// Unique ones keep rows from being there twice, used or not.
pub const SCHEMA_UNUSED_INDEXES: VirtualTable = VirtualTable {
    name: "schema_unused_indexes",
    columns: &[("object_schema", text(64)), ("object_name", text(64)), ("index_name", text(64))],
    rows: |session, out| {
        for t in base_tables(session) {
            let Some(table) = session.db().store().table(t.id) else { continue };
            for (n, i) in t.indexes.iter().enumerate() {
                if !i.is_unique() && table.index_was_read(n) == Some(false) {
                    out.push(vec![s(&t.schema), s(&t.name), s(&i.name)]);
                }
            }
        }
    },
};

pub const SCHEMA_REDUNDANT_INDEXES: VirtualTable = VirtualTable {
    name: "schema_redundant_indexes",
    columns: &[
        ("table_schema", text(64)),
        ("table_name", text(64)),
        ("redundant_index_name", text(64)),
        ("redundant_index_columns", long_text()),
        ("redundant_index_non_unique", BIGINT),
        ("dominant_index_name", text(64)),
        ("dominant_index_columns", long_text()),
        ("dominant_index_non_unique", BIGINT),
        ("subpart_exists", BIGINT),
        ("sql_drop_index", text(223)),
    ],
    rows: |session, out| {
        for t in base_tables(session) {
            for i in &t.indexes {
                for other in t.indexes.iter().filter(|o| is_redundant(i, o)) {
                    let subpart = i.parts.iter().any(|p| p.prefix_len.is_some());
                    let drop = format!("ALTER TABLE `{}`.`{}` DROP INDEX `{}`", t.schema, t.name, i.name);
                    let of = |x: &IndexDef| vec![s(&x.name), s(columns(&t, x)), Value::Int(!x.is_unique() as i64)];
                    let mut row = vec![s(&t.schema), s(&t.name)];
                    row.extend(of(i));
                    row.extend(of(other));
                    row.extend([Value::Int(subpart as i64), s(drop)]);
                    out.push(row);
                }
            }
        }
    },
};
