//! Dumps as text: SQL statements, and CSV.

use std::io::Write;

use types::{Literal, Result, SqlType, Value};

use super::source::{Relation, Source};
use super::{BUILT_IN, DumpArgs, quoted, written_to_nobody};

/// Statements that make the relations and their rows.
pub fn dump_sql(source: &mut Source, relations: &[Relation], args: &DumpArgs, out: &mut impl Write) -> Result<()> {
    let line = |out: &mut dyn Write, text: &str| out.write_all(text.as_bytes()).map_err(written_to_nobody);
    line(
        out,
        "SET NAMES utf8mb4;\nSET time_zone = '+00:00';\nSET foreign_key_checks = 0;\nSET sql_mode = 'NO_AUTO_VALUE_ON_ZERO';\n",
    )?;
    let sql =
        format!("SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME NOT IN {BUILT_IN} ORDER BY 1");
    for schema in source.texts(&sql)?.into_iter().map(|r| r[0].clone()) {
        if !args.database.is_empty() && !args.database.contains(&schema)
            || !args.table.is_empty() && !relations.iter().any(|r| r.schema == schema)
        {
            continue;
        }
        let create = &source.texts(&format!("SHOW CREATE DATABASE {}", quoted(&schema)))?[0][1];
        line(
            out,
            &format!(
                "\n{};\nUSE {};\n",
                create.replacen("CREATE DATABASE", "CREATE DATABASE IF NOT EXISTS", 1),
                quoted(&schema)
            ),
        )?;
        for table in relations.iter().filter(|r| r.schema == schema && !r.is_view) {
            let create = &source.texts(&format!("SHOW CREATE TABLE {}", table.full_name()))?[0][1];
            line(out, &format!("\nDROP TABLE IF EXISTS {};\n{create};\n", quoted(&table.name)))?;
            if !args.no_data {
                dump_rows(source, table, out)?;
            }
        }
    }
    dump_views(source, relations, out)
}

/// Views may read one another in any order, over databases: first each is one of the right columns that reads nothing.
fn dump_views(source: &mut Source, relations: &[Relation], out: &mut impl Write) -> Result<()> {
    let mut text = String::new();
    let views: Vec<&Relation> = relations.iter().filter(|r| r.is_view).collect();
    for view in &views {
        let columns = source.columns(view, false)?;
        let items: Vec<String> = columns.iter().map(|c| format!("1 AS {}", quoted(c))).collect();
        text += &format!("\nCREATE OR REPLACE VIEW {} AS SELECT {};\n", view.full_name(), items.join(", "));
    }
    for view in &views {
        let create = &source.texts(&format!("SHOW CREATE VIEW {}", view.full_name()))?[0][1];
        let (schema, name) = (quoted(&view.schema), quoted(&view.name));
        text += &format!("\nUSE {schema};\nDROP VIEW IF EXISTS {name};\n{create};\n");
    }
    out.write_all(text.as_bytes()).map_err(written_to_nobody)
}

/// A statement is about this long.
const INSERT_BYTES: usize = 256 << 10;

fn dump_rows(source: &mut Source, table: &Relation, out: &mut impl Write) -> Result<()> {
    let columns = source.columns(table, false)?;
    let names: Vec<String> = columns.iter().map(|c| quoted(c)).collect();
    let head = format!("INSERT INTO {} ({}) VALUES\n", quoted(&table.name), names.join(","));
    let mut statement: Vec<u8> = Vec::new();
    source.each_batch(table, &columns, &mut |types, batch| {
        for i in batch.selection.to_positions(batch.rows) {
            statement.extend_from_slice(if statement.is_empty() { head.as_bytes() } else { b",\n" });
            statement.push(b'(');
            for (c, ty) in types.iter().enumerate() {
                if c > 0 {
                    statement.push(b',');
                }
                put_literal(&batch.columns[c].value(i as usize, ty), ty, &mut statement);
            }
            statement.push(b')');
            if statement.len() >= INSERT_BYTES {
                statement.extend_from_slice(b";\n");
                out.write_all(&statement).map_err(written_to_nobody)?;
                statement.clear();
            }
        }
        Ok(())
    })?;
    if !statement.is_empty() {
        statement.extend_from_slice(b";\n");
        out.write_all(&statement).map_err(written_to_nobody)?;
    }
    Ok(())
}

fn put_literal(value: &Value, ty: &SqlType, out: &mut Vec<u8>) {
    match (value, ty.record().literal) {
        (Value::Null, _) => out.extend_from_slice(b"NULL"),
        (Value::Bytes(b), Literal::Hex) if b.is_empty() => out.extend_from_slice(b"''"),
        (Value::Bytes(b), Literal::Hex) => {
            out.extend_from_slice(b"0x");
            b.iter().for_each(|x| out.extend_from_slice(format!("{x:02X}").as_bytes()));
        }
        (_, Literal::Bare) => put_text(value, ty, out),
        _ => {
            let mut text = Vec::new();
            types::value::render_text(value, ty, &mut text);
            out.push(b'\'');
            for b in text {
                match b {
                    b'\'' => out.extend_from_slice(b"''"),
                    b'\\' => out.extend_from_slice(b"\\\\"),
                    b'\n' => out.extend_from_slice(b"\\n"),
                    b'\r' => out.extend_from_slice(b"\\r"),
                    0 => out.extend_from_slice(b"\\0"),
                    0x1A => out.extend_from_slice(b"\\Z"),
                    b => out.push(b),
                }
            }
            out.push(b'\'');
        }
    }
}

/// A value as SELECT shows it, but for FLOATs: of these it shows six digits, which are another value where they are
/// read.
fn put_text(value: &Value, ty: &SqlType, out: &mut Vec<u8>) {
    match value {
        Value::Float(v) if *v != 0.0 && !(1e-5..1e15).contains(&v.abs()) => {
            out.extend_from_slice(format!("{v:e}").as_bytes())
        }
        Value::Float(v) => out.extend_from_slice(v.to_string().as_bytes()),
        _ => types::value::render_text(value, ty, out),
    }
}

/// The rows of one relation, the names of its columns first.
pub fn dump_csv(source: &mut Source, table: &Relation, names: &[String], out: &mut impl Write) -> Result<()> {
    let mut line: Vec<u8> = Vec::new();
    for (i, name) in names.iter().enumerate() {
        put_field(Some(name.as_bytes()), i, &mut line);
    }
    line.push(b'\n');
    let mut text = Vec::new();
    source.each_batch(table, names, &mut |column_types, batch| {
        for i in batch.selection.to_positions(batch.rows) {
            for (c, ty) in column_types.iter().enumerate() {
                let value = batch.columns[c].value(i as usize, ty);
                text.clear();
                put_text(&value, ty, &mut text);
                put_field((!value.is_null()).then_some(&text), c, &mut line);
            }
            line.push(b'\n');
            if line.len() >= 64 << 10 {
                out.write_all(&line).map_err(written_to_nobody)?;
                line.clear();
            }
        }
        Ok(())
    })?;
    out.write_all(&line).map_err(written_to_nobody)
}

fn put_field(field: Option<&[u8]>, position: usize, out: &mut Vec<u8>) {
    if position > 0 {
        out.push(b',');
    }
    let Some(field) = field else { return out.extend_from_slice(b"\\N") };
    let plain =
        !field.is_empty() && field.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':' | b' '));
    if plain && field != b"NULL" {
        return out.extend_from_slice(field);
    }
    out.push(b'"');
    for &b in field {
        match b {
            b'"' => out.extend_from_slice(b"\"\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            0 => out.extend_from_slice(b"\\0"),
            b => out.push(b),
        }
    }
    out.push(b'"');
}
