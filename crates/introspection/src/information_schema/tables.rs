//! SCHEMATA, TABLES, VIEWS.

use super::VirtualTable;
use super::reading::Reading;
use crate::show_create::engine_name;
use catalog::{Relation, TableEngine};
use session::rows::{BIGINT, RowSet, UBIGINT, long_text, opt, s, text, uint};
use types::{SqlType, Value};

pub const SCHEMATA: VirtualTable = VirtualTable {
    name: "SCHEMATA",
    columns: &[
        ("CATALOG_NAME", text(64)),
        ("SCHEMA_NAME", text(64)),
        ("DEFAULT_CHARACTER_SET_NAME", text(64)),
        ("DEFAULT_COLLATION_NAME", text(64)),
        ("SQL_PATH", text(512)),
        ("DEFAULT_ENCRYPTION", text(3)),
    ],
    rows: |session, out| {
        for (name, collation) in session.schemas() {
            out.push(vec![
                s("def"),
                s(&name),
                s(collation.charset().name()),
                s(collation.name()),
                Value::Null,
                s("NO"),
            ]);
        }
    },
};

pub const TABLES: VirtualTable = VirtualTable {
    name: "TABLES",
    columns: &[
        ("TABLE_CATALOG", text(64)),
        ("TABLE_SCHEMA", text(64)),
        ("TABLE_NAME", text(64)),
        ("TABLE_TYPE", text(64)),
        ("ENGINE", text(64)),
        ("VERSION", BIGINT),
        ("ROW_FORMAT", text(20)),
        ("TABLE_ROWS", UBIGINT),
        ("AVG_ROW_LENGTH", UBIGINT),
        ("DATA_LENGTH", UBIGINT),
        ("MAX_DATA_LENGTH", UBIGINT),
        ("INDEX_LENGTH", UBIGINT),
        ("DATA_FREE", UBIGINT),
        ("AUTO_INCREMENT", UBIGINT),
        ("CREATE_TIME", SqlType::DateTime { fsp: 0 }),
        ("UPDATE_TIME", SqlType::DateTime { fsp: 0 }),
        ("CHECK_TIME", SqlType::DateTime { fsp: 0 }),
        ("TABLE_COLLATION", text(64)),
        ("CHECKSUM", BIGINT),
        ("CREATE_OPTIONS", text(256)),
        ("TABLE_COMMENT", long_text()),
    ],
    rows: table_rows,
};

fn table_rows(session: &Reading<'_>, out: &mut RowSet) {
    for relation in session.relations_asked() {
        match relation {
            Relation::Table(t) if t.engine == TableEngine::Virtual => {
                let mut row = vec![s("def"), s(&t.schema), s(&t.name), s("SYSTEM VIEW"), Value::Null, Value::Int(10)];
                row.extend([Value::Null, uint(0), uint(0), uint(0), uint(0), uint(0), uint(0), Value::Null]);
                row.extend([Value::Null, Value::Null, Value::Null, Value::Null, Value::Null, s(""), s("")]);
                out.push(row);
            }
            Relation::Table(t) => {
                let size = session.table_size(&t);
                let created = session.local_datetime(t.created_at * 1_000_000);
                let options: Vec<String> =
                    t.options.iter().map(|(k, v)| format!("{}={}", k.to_lowercase(), v.to_lowercase())).collect();
                out.push(vec![
                    s("def"),
                    s(&t.schema),
                    s(&t.name),
                    s("BASE TABLE"),
                    s(engine_name(t.engine)),
                    Value::Int(10),
                    s("Dynamic"),
                    uint(size.rows),
                    uint(size.data_bytes.checked_div(size.rows).unwrap_or(0)),
                    uint(size.data_bytes),
                    uint(0),
                    uint(size.index_bytes),
                    uint(size.free_bytes),
                    size.auto_increment.map_or(Value::Null, uint),
                    Value::DateTime(created),
                    Value::Null,
                    Value::Null,
                    s(t.collation.name()),
                    Value::Null,
                    s(options.join(" ")),
                    s(&t.comment),
                ]);
            }
            Relation::View(v) => {
                let mut row = vec![s("def"), s(&v.schema), s(&v.name), s("VIEW")];
                row.extend(std::iter::repeat_n(Value::Null, 16));
                row.push(s("VIEW"));
                out.push(row);
            }
        }
    }
}

pub const VIEWS: VirtualTable = VirtualTable {
    name: "VIEWS",
    columns: &[
        ("TABLE_CATALOG", text(64)),
        ("TABLE_SCHEMA", text(64)),
        ("TABLE_NAME", text(64)),
        ("VIEW_DEFINITION", long_text()),
        ("CHECK_OPTION", text(8)),
        ("IS_UPDATABLE", text(3)),
        ("DEFINER", text(288)),
        ("SECURITY_TYPE", text(7)),
        ("CHARACTER_SET_CLIENT", text(64)),
        ("COLLATION_CONNECTION", text(64)),
    ],
    rows: |session, out| {
        for relation in session.relations_asked() {
            let Relation::View(v) = relation else { continue };
            out.push(vec![
                s("def"),
                s(&v.schema),
                s(&v.name),
                s(&v.select_text),
                s(&v.check_option),
                s(if session.is_updatable(&v) { "YES" } else { "NO" }),
                opt(Some(&v.definer)),
                s(&v.security),
                s("utf8mb4"),
                s(v.collation.name()),
            ]);
        }
    },
};
