//! COLUMNS, and what SHOW COLUMNS prints.

use super::VirtualTable;
use super::reading::Reading;
use crate::show_create::{column_type, default_text};
use catalog::{ColumnDef, DefaultValue, IndexKind, Relation, TableDef};
use session::rows::{BIGINT, RowSet, UBIGINT, int, long_text, opt, s, text, uint};
use types::{Collation, SqlType, StringKind, Value};

pub const COLUMNS: VirtualTable = VirtualTable {
    name: "COLUMNS",
    columns: &[
        ("TABLE_CATALOG", text(64)),
        ("TABLE_SCHEMA", text(64)),
        ("TABLE_NAME", text(64)),
        ("COLUMN_NAME", text(64)),
        ("ORDINAL_POSITION", UBIGINT),
        ("COLUMN_DEFAULT", long_text()),
        ("IS_NULLABLE", text(3)),
        ("DATA_TYPE", long_text()),
        ("CHARACTER_MAXIMUM_LENGTH", BIGINT),
        ("CHARACTER_OCTET_LENGTH", BIGINT),
        ("NUMERIC_PRECISION", UBIGINT),
        ("NUMERIC_SCALE", UBIGINT),
        ("DATETIME_PRECISION", UBIGINT),
        ("CHARACTER_SET_NAME", text(64)),
        ("COLLATION_NAME", text(64)),
        ("COLUMN_TYPE", long_text()),
        ("COLUMN_KEY", text(3)),
        ("EXTRA", text(256)),
        ("PRIVILEGES", text(154)),
        ("COLUMN_COMMENT", long_text()),
        ("GENERATION_EXPRESSION", long_text()),
        ("SRS_ID", UBIGINT),
    ],
    rows: column_rows,
};

fn column_rows(session: &Reading<'_>, out: &mut RowSet) {
    for relation in session.relations_asked() {
        let (schema, table, columns, def) = match &relation {
            Relation::Table(t) => (t.schema.clone(), t.name.clone(), t.shown_columns().to_vec(), Some(t.clone())),
            Relation::View(v) => (v.schema.clone(), v.name.clone(), session.view_columns(v), None),
        };
        for (i, c) in columns.iter().enumerate() {
            let ty = column_type(c);
            let (chars, octets) = string_lengths(&c.ty);
            let (precision, scale) = match c.float_digits {
                Some((digits, scale)) => (uint(digits.into()), uint(scale.into())),
                None => numeric(&c.ty),
            };
            let collation = c.ty.collation().filter(|c| *c != Collation::Binary);
            out.push(vec![
                s("def"),
                s(&schema),
                s(&table),
                s(&c.name),
                uint(i as u64 + 1),
                opt(default_text(c)),
                s(if c.nullable { "YES" } else { "NO" }),
                s(c.ty.record().name),
                chars,
                octets,
                precision,
                scale,
                datetime_precision(&c.ty),
                opt(collation.map(|c| c.charset().name())),
                opt(collation.map(|c| c.name())),
                s(&ty),
                s(def.as_ref().map_or("", |d| column_key(d, i))),
                s(extra(c)),
                s("select,insert,update,references"),
                s(&c.comment),
                s(c.generated.as_ref().map_or(String::new(), |g| crate::show_create::parenthesized(&g.text))),
                Value::Null,
            ]);
        }
    }
}

fn string_lengths(ty: &SqlType) -> (Value, Value) {
    match ty {
        SqlType::String { kind, len, collation } => {
            let char_bytes = if *collation == Collation::Binary { 1 } else { collation.charset().max_len() as u64 };
            match kind {
                StringKind::Char | StringKind::VarChar => (int(*len), int(*len as u64 * char_bytes)),
                _ => (int(*len), int(*len)),
            }
        }
        _ => (Value::Null, Value::Null),
    }
}

fn numeric(ty: &SqlType) -> (Value, Value) {
    match ty {
        SqlType::Int { .. } => (uint(ty.record().digits.into()), uint(0)),
        SqlType::Decimal { precision, scale } => (uint(*precision as u64), uint(*scale as u64)),
        SqlType::Float | SqlType::Double => (uint(ty.record().digits.into()), Value::Null),
        _ => (Value::Null, Value::Null),
    }
}

fn datetime_precision(ty: &SqlType) -> Value {
    match ty {
        SqlType::Time { fsp } | SqlType::DateTime { fsp } | SqlType::Timestamp { fsp } => uint(*fsp as u64),
        _ => Value::Null,
    }
}

/// PRI, UNI, MUL or nothing (MySQL manual, "SHOW COLUMNS Statement").
pub fn column_key(t: &TableDef, column_idx: usize) -> &'static str {
    let leads = |i: &&catalog::IndexDef| i.parts.first().is_some_and(|p| p.column_idx == column_idx);
    if t.shown_primary_key().is_some_and(|i| i.parts.iter().any(|p| p.column_idx == column_idx)) {
        "PRI"
    } else if t.indexes.iter().filter(leads).any(|i| i.kind == IndexKind::Unique && i.parts.len() == 1) {
        "UNI"
    } else if t.indexes.iter().any(|i| leads(&i)) {
        "MUL"
    } else {
        ""
    }
}

/// auto_increment, DEFAULT_GENERATED, on update ..., INVISIBLE.
pub fn extra(c: &ColumnDef) -> String {
    let mut words = Vec::new();
    if c.auto_increment {
        words.push("auto_increment".to_string());
    }
    if matches!(c.default, DefaultValue::CurrentTimestamp | DefaultValue::Expr { .. }) {
        words.push("DEFAULT_GENERATED".to_string());
    }
    if c.on_update_current_timestamp {
        words.push(format!("on update {}", crate::show_create::current_timestamp(&c.ty)));
    }
    if let Some(g) = &c.generated {
        words.push(if g.stored { "STORED GENERATED" } else { "VIRTUAL GENERATED" }.to_string());
    }
    if c.invisible {
        words.push("INVISIBLE".to_string());
    }
    words.join(" ")
}
