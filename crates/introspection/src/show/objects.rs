//! SHOW of schemas, tables, columns, indexes and their definitions.

use crate::information_schema::{columns_of, index_rows};
use crate::show_create;
use catalog::{ColumnDef, Relation, TableEngine};
use parser::ast::{DescribeColumn, Ident, ObjectName, ShowFilter};
use session::Frame;
use session::rows::{BIGINT, RowSet, UBIGINT, int, long_text, opt, s, text};
use session::sink::ResultSink;
use types::{Collation, Error, Result, SqlType, Value};

pub(super) fn show_databases(frame: &Frame<'_>) -> RowSet {
    let mut rows = RowSet::new(&[("Database", text(64))]);
    for (name, _) in frame.schemas() {
        rows.push(vec![s(&name)]);
    }
    rows
}

fn schema_or_current(frame: &Frame<'_>, schema: Option<&Ident>) -> Result<Box<str>> {
    match schema {
        Some(name) => frame.canonical_schema(name).ok_or_else(|| Error::bad_db(name.as_str())),
        None => Ok(frame.current_database().ok_or_else(Error::no_db)?.into()),
    }
}

pub(super) fn show_tables(frame: &Frame<'_>, full: bool, schema: Option<&Ident>) -> Result<RowSet> {
    let schema = schema_or_current(frame, schema)?;
    let heading = format!("Tables_in_{schema}");
    let mut columns = vec![(heading.as_str(), text(64))];
    if full {
        columns.push(("Table_type", text(11)));
    }
    let mut rows = RowSet::new(&columns);
    // Dumps of all databases ask for the bare names: what the server makes of mysql and sys could not be made by them.
    let made_up_too = full || !matches!(&*schema, "mysql" | "sys");
    let shown = |r: &Relation| made_up_too || !matches!(r, Relation::Table(t) if t.engine == TableEngine::Virtual);
    for r in frame.relations(Some(&schema)).into_iter().filter(shown) {
        let (name, kind) = match &r {
            Relation::Table(t) if t.engine == TableEngine::Virtual => (&t.name, "SYSTEM VIEW"),
            Relation::Table(t) => (&t.name, "BASE TABLE"),
            Relation::View(v) => (&v.name, "VIEW"),
        };
        let mut row = vec![s(name)];
        if full {
            row.push(s(kind));
        }
        rows.push(row);
    }
    Ok(rows)
}

pub(super) fn show_table_status(frame: &Frame<'_>, schema: Option<&Ident>) -> Result<RowSet> {
    let schema = schema_or_current(frame, schema)?;
    let source = crate::information_schema::rows(frame, "information_schema", "TABLES", &[]).expect("TABLES exists");
    let shown: &[(&'static str, &str)] = &[
        ("Name", "TABLE_NAME"),
        ("Engine", "ENGINE"),
        ("Version", "VERSION"),
        ("Row_format", "ROW_FORMAT"),
        ("Rows", "TABLE_ROWS"),
        ("Avg_row_length", "AVG_ROW_LENGTH"),
        ("Data_length", "DATA_LENGTH"),
        ("Max_data_length", "MAX_DATA_LENGTH"),
        ("Index_length", "INDEX_LENGTH"),
        ("Data_free", "DATA_FREE"),
        ("Auto_increment", "AUTO_INCREMENT"),
        ("Create_time", "CREATE_TIME"),
        ("Update_time", "UPDATE_TIME"),
        ("Check_time", "CHECK_TIME"),
        ("Collation", "TABLE_COLLATION"),
        ("Checksum", "CHECKSUM"),
        ("Create_options", "CREATE_OPTIONS"),
        ("Comment", "TABLE_COMMENT"),
    ];
    let at = |name: &str| source.columns.iter().position(|c| &*c.0 == name).expect("a column of TABLES");
    let columns: Vec<(&str, SqlType)> = shown.iter().map(|(n, c)| (*n, source.columns[at(c)].1)).collect();
    let mut rows = RowSet::new(&columns);
    for row in source.rows.iter().filter(|r| r[at("TABLE_SCHEMA")] == s(&schema)) {
        rows.push(shown.iter().map(|(_, c)| row[at(c)].clone()).collect());
    }
    Ok(rows)
}

pub(super) fn show_open_tables(frame: &Frame<'_>, schema: Option<&Ident>) -> Result<RowSet> {
    let schema = schema.map(|n| schema_or_current(frame, Some(n))).transpose()?;
    let mut rows =
        RowSet::new(&[("Database", text(64)), ("Table", text(64)), ("In_use", BIGINT), ("Name_locked", BIGINT)]);
    for r in frame.relations(schema.as_deref()) {
        if let Relation::Table(t) = r
            && t.engine != TableEngine::Virtual
        {
            rows.push(vec![s(&t.schema), s(&t.name), int(0), int(0)]);
        }
    }
    Ok(rows)
}

/// The columns of a table or view.
fn columns_of_relation(frame: &Frame<'_>, name: &ObjectName) -> Result<(Relation, Vec<ColumnDef>)> {
    let (schema, name) = frame.resolve_name(name)?;
    let relation = frame.described(&schema, &name)?.ok_or_else(|| Error::no_such_table(&schema, &name))?;
    let columns = match &relation {
        Relation::Table(t) => t.shown_columns().to_vec(),
        Relation::View(v) => frame.describe_view(v)?,
    };
    Ok((relation, columns))
}

pub(super) fn show_columns(frame: &Frame<'_>, name: &ObjectName, full: bool) -> Result<RowSet> {
    let (relation, columns) = columns_of_relation(frame, name)?;
    let mut heads = vec![("Field", text(64)), ("Type", long_text())];
    if full {
        heads.push(("Collation", text(64)));
    }
    heads.extend([("Null", text(3)), ("Key", text(3)), ("Default", long_text()), ("Extra", text(256))]);
    if full {
        heads.extend([("Privileges", text(154)), ("Comment", long_text())]);
    }
    let mut rows = RowSet::new(&heads);
    for (i, c) in columns.iter().enumerate() {
        let key = match &relation {
            Relation::Table(t) => columns_of::column_key(t, i),
            Relation::View(_) => "",
        };
        let mut row = vec![s(&c.name), s(show_create::column_type(c))];
        if full {
            row.push(opt(c.ty.collation().filter(|c| *c != Collation::Binary).map(|c| c.name())));
        }
        row.extend([s(if c.nullable { "YES" } else { "NO" }), s(key), opt(show_create::default_text(c))]);
        row.push(s(columns_of::extra(c)));
        if full {
            row.extend([s("select,insert,update,references"), s(&c.comment)]);
        }
        rows.push(row);
    }
    Ok(rows)
}

/// DESCRIBE t [column | 'pattern'].
pub fn describe(
    frame: &mut Frame<'_>,
    table: &ObjectName,
    column: Option<&DescribeColumn>,
    more: bool,
    sink: &mut dyn ResultSink,
) -> Result<()> {
    let mut rows = show_columns(frame, table, false)?;
    match column {
        None => {}
        Some(DescribeColumn::Name(n)) => {
            rows.rows.retain(|r| matches!(&r[0], Value::Bytes(b) if b.eq_ignore_ascii_case(n.as_bytes())))
        }
        Some(DescribeColumn::Like(p)) => super::filter_rows(frame, &mut rows, &ShowFilter::Like(p.clone()))?,
    }
    rows.send(sink, &frame.end_info(more))
}

pub(super) fn show_index(frame: &Frame<'_>, name: &ObjectName) -> Result<RowSet> {
    let relation = columns_of_relation(frame, name)?.0;
    let mut rows = RowSet::new(&[
        ("Table", text(64)),
        ("Non_unique", BIGINT),
        ("Key_name", text(64)),
        ("Seq_in_index", UBIGINT),
        ("Column_name", text(64)),
        ("Collation", text(1)),
        ("Cardinality", BIGINT),
        ("Sub_part", BIGINT),
        ("Packed", text(1)),
        ("Null", text(3)),
        ("Index_type", text(11)),
        ("Comment", text(8)),
        ("Index_comment", text(2048)),
        ("Visible", text(3)),
        ("Expression", long_text()),
    ]);
    // a view has none
    if let Relation::Table(t) = relation {
        rows.rows = index_rows(frame, &t);
    }
    Ok(rows)
}

pub(super) fn show_create_table(frame: &Frame<'_>, name: &ObjectName) -> Result<RowSet> {
    let (schema, name) = frame.resolve_name(name)?;
    match frame.described(&schema, &name)? {
        Some(Relation::Table(t)) => {
            let mut rows = RowSet::new(&[("Table", text(64)), ("Create Table", long_text())]);
            let auto = frame.next_auto_increment(&t);
            rows.push(vec![s(&t.name), s(show_create::table(&t, auto))]);
            Ok(rows)
        }
        Some(Relation::View(v)) => Ok(view_rows(&v, frame.current_database())),
        None => Err(Error::no_such_table(&schema, &name)),
    }
}

pub(super) fn show_create_view(frame: &Frame<'_>, name: &ObjectName) -> Result<RowSet> {
    let (schema, name) = frame.resolve_name(name)?;
    match frame.described(&schema, &name)? {
        Some(Relation::View(v)) => Ok(view_rows(&v, frame.current_database())),
        Some(Relation::Table(_)) => Err(Error::wrong_object(&schema, &name, "VIEW")),
        None => Err(Error::no_such_table(&schema, &name)),
    }
}

pub(super) fn show_create_database(frame: &Frame<'_>, name: &Ident, if_not_exists: bool) -> Result<RowSet> {
    let name = frame.canonical_schema(name).ok_or_else(|| Error::bad_db(name.as_str()))?;
    let mut rows = RowSet::new(&[("Database", text(64)), ("Create Database", text(1024))]);
    rows.push(vec![s(&name), s(show_create::database(&name, frame.schema_collation(&name), if_not_exists))]);
    Ok(rows)
}

fn view_rows(v: &catalog::ViewDef, current_database: Option<&str>) -> RowSet {
    let mut rows = RowSet::new(&[
        ("View", text(64)),
        ("Create View", long_text()),
        ("character_set_client", text(64)),
        ("collation_connection", text(64)),
    ]);
    rows.push(vec![s(&v.name), s(show_create::view(v, current_database)), s("utf8mb4"), s(v.collation.name())]);
    rows
}
