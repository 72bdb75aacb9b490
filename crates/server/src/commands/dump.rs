//! `nextleaf dump` and `nextleaf load`: a database's contents as statements or rows, and back.

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use types::{Error, ErrorCode, Result, SqlType, Value};

use crate::library::{Database, Options, Session};

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// Statements that Nextleaf, MySQL and MariaDB run
    Sql,
    /// Rows of one table: fields in double quotes where needed, NULL as \N, the names first
    Csv,
}

/// Prints a database that no server has open.
#[derive(Parser, Debug)]
#[command(name = "nextleaf dump", version)]
struct DumpArgs {
    /// Folder of the database
    dir: PathBuf,
    #[arg(long, value_enum, default_value = "sql")]
    format: Format,
    /// Only this table, or view (may be given more than once): database.name
    #[arg(long)]
    table: Vec<String>,
    /// Only this database (may be given more than once)
    #[arg(long)]
    database: Vec<String>,
    /// Definitions only
    #[arg(long)]
    no_data: bool,
}

/// Brings statements, or rows of one table, into a database that no server has open.
#[derive(Parser, Debug)]
#[command(name = "nextleaf load", version)]
struct LoadArgs {
    /// Folder of the database; it is made if need be
    dir: PathBuf,
    /// What to load: statements, or with --table rows as `dump --format csv` prints them
    file: PathBuf,
    #[arg(long)]
    table: Option<String>,
}

pub(super) fn run_dump(args: Vec<OsString>) -> ExitCode {
    match DumpArgs::try_parse_from(args) {
        Ok(args) => finish("dump", dump(&args)),
        Err(e) => usage(&e),
    }
}

pub(super) fn run_load(args: Vec<OsString>) -> ExitCode {
    match LoadArgs::try_parse_from(args) {
        Ok(args) => finish("load", load(&args)),
        Err(e) => usage(&e),
    }
}

fn usage(e: &clap::Error) -> ExitCode {
    let _ = e.print();
    ExitCode::from(e.exit_code() as u8)
}

fn finish(command: &str, result: Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("nextleaf {command}: {}", e.message());
            ExitCode::FAILURE
        }
    }
}

fn open(dir: &std::path::Path) -> Result<Database> {
    Database::open(Options { dir: Some(dir.into()), ..Options::default() })
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A table or view that is to be printed.
struct Relation {
    schema: String,
    name: String,
    is_view: bool,
}

impl Relation {
    fn full_name(&self) -> String {
        format!("{}.{}", quoted(&self.schema), quoted(&self.name))
    }
}

const BUILT_IN: &str = "('information_schema', 'mysql', 'performance_schema', 'sys')";

fn texts(session: &mut Session, sql: &str) -> Result<Vec<Vec<String>>> {
    let rows = session.query(sql)?;
    let columns = rows.columns().len();
    Ok(rows.rows().map(|r| (0..columns).map(|c| r.text(c).unwrap_or_default()).collect()).collect())
}

fn dump(args: &DumpArgs) -> Result<()> {
    super::require_database(&args.dir)?;
    let db = open(&args.dir)?;
    let mut session = db.session();
    session.execute("SET time_zone = '+00:00'")?;
    let wanted = |schema: &str, name: &str| {
        (args.database.is_empty() || args.database.iter().any(|d| d == schema))
            && (args.table.is_empty() || args.table.iter().any(|t| *t == format!("{schema}.{name}")))
    };
    let sql = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES \
         WHERE TABLE_SCHEMA NOT IN {BUILT_IN} ORDER BY TABLE_SCHEMA, TABLE_NAME"
    );
    let relations: Vec<Relation> = texts(&mut session, &sql)?
        .into_iter()
        .filter(|r| wanted(&r[0], &r[1]))
        .map(|r| Relation { schema: r[0].clone(), name: r[1].clone(), is_view: r[2] == "VIEW" })
        .collect();
    if let Some(missing) =
        args.table.iter().find(|t| !relations.iter().any(|r| **t == format!("{}.{}", r.schema, r.name)))
    {
        return Err(fault(format!("there is no table {missing}")));
    }
    let mut out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    let written = match args.format {
        Format::Csv if relations.len() != 1 => {
            return Err(fault("CSV is for one table: name it with --table database.name"));
        }
        Format::Csv => dump_csv(&mut session, &relations[0], &mut out),
        Format::Sql => dump_sql(&mut session, &relations, args, &mut out),
    };
    written.and_then(|()| out.flush().map_err(written_to_nobody))
}

fn fault(what: impl Into<String>) -> Error {
    Error::new(ErrorCode::GET_ERRNO, what.into())
}

fn written_to_nobody(e: io::Error) -> Error {
    fault(format!("cannot write: {e}"))
}

fn dump_sql(session: &mut Session, relations: &[Relation], args: &DumpArgs, out: &mut impl Write) -> Result<()> {
    let line = |out: &mut dyn Write, text: &str| out.write_all(text.as_bytes()).map_err(written_to_nobody);
    line(
        out,
        "SET NAMES utf8mb4;\nSET time_zone = '+00:00';\nSET foreign_key_checks = 0;\nSET sql_mode = 'NO_AUTO_VALUE_ON_ZERO';\n",
    )?;
    let sql =
        format!("SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME NOT IN {BUILT_IN} ORDER BY 1");
    for schema in texts(session, &sql)?.into_iter().map(|r| r[0].clone()) {
        if !args.database.is_empty() && !args.database.contains(&schema)
            || !args.table.is_empty() && !relations.iter().any(|r| r.schema == schema)
        {
            continue;
        }
        let create = &texts(session, &format!("SHOW CREATE DATABASE {}", quoted(&schema)))?[0][1];
        line(
            out,
            &format!(
                "\n{};\nUSE {};\n",
                create.replacen("CREATE DATABASE", "CREATE DATABASE IF NOT EXISTS", 1),
                quoted(&schema)
            ),
        )?;
        for table in relations.iter().filter(|r| r.schema == schema && !r.is_view) {
            let create = &texts(session, &format!("SHOW CREATE TABLE {}", table.full_name()))?[0][1];
            line(out, &format!("\nDROP TABLE IF EXISTS {};\n{create};\n", quoted(&table.name)))?;
            if !args.no_data {
                dump_rows(session, table, out)?;
            }
        }
        for view in relations.iter().filter(|r| r.schema == schema && r.is_view) {
            let create = &texts(session, &format!("SHOW CREATE VIEW {}", view.full_name()))?[0][1];
            line(out, &format!("\nDROP VIEW IF EXISTS {};\n{create};\n", quoted(&view.name)))?;
        }
    }
    Ok(())
}

/// Columns that rows may name: all but generated ones.
fn columns(session: &mut Session, table: &Relation) -> Result<Vec<String>> {
    let literal = |s: &str| format!("'{}'", s.replace('\\', "\\\\").replace('\'', "''"));
    let sql = format!(
        "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {} \
         AND COALESCE(GENERATION_EXPRESSION, '') = '' ORDER BY ORDINAL_POSITION",
        literal(&table.schema),
        literal(&table.name)
    );
    Ok(texts(session, &sql)?.into_iter().map(|r| r[0].clone()).collect())
}

/// A statement is about this long.
const INSERT_BYTES: usize = 256 << 10;

fn dump_rows(session: &mut Session, table: &Relation, out: &mut impl Write) -> Result<()> {
    let names: Vec<String> = columns(session, table)?.iter().map(|c| quoted(c)).collect();
    let head = format!("INSERT INTO {} ({}) VALUES\n", quoted(&table.name), names.join(","));
    let mut statement: Vec<u8> = Vec::new();
    let sql = format!("SELECT {} FROM {}", names.join(","), table.full_name());
    session.query_batches(&sql, |columns, batch| {
        for i in batch.selection.to_positions(batch.rows) {
            statement.extend_from_slice(if statement.is_empty() { head.as_bytes() } else { b",\n" });
            statement.push(b'(');
            for (c, column) in columns.iter().enumerate() {
                if c > 0 {
                    statement.push(b',');
                }
                put_literal(&batch.columns[c].value(i as usize, &column.data_ty), &column.data_ty, &mut statement);
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
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Bytes(b) if matches!(ty, SqlType::String { collation: types::Collation::Binary, .. }) => {
            if b.is_empty() {
                return out.extend_from_slice(b"''");
            }
            out.extend_from_slice(b"0x");
            b.iter().for_each(|x| out.extend_from_slice(format!("{x:02X}").as_bytes()));
        }
        Value::Int(_) | Value::UInt(_) | Value::Decimal(_) | Value::Float(_) | Value::Double(_) => {
            types::value::render_text(value, ty, out);
        }
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

/// What LOAD DATA reads back.
const CSV_OPTIONS: &str = "CHARACTER SET utf8mb4 FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n'";

fn dump_csv(session: &mut Session, table: &Relation, out: &mut impl Write) -> Result<()> {
    let names = columns(session, table)?;
    let mut line: Vec<u8> = Vec::new();
    for (i, name) in names.iter().enumerate() {
        put_field(Some(name.as_bytes()), i, &mut line);
    }
    line.push(b'\n');
    let quoted: Vec<String> = names.iter().map(|c| quoted(c)).collect();
    let sql = format!("SELECT {} FROM {}", quoted.join(","), table.full_name());
    let mut text = Vec::new();
    session.query_batches(&sql, |columns, batch| {
        for i in batch.selection.to_positions(batch.rows) {
            for (c, column) in columns.iter().enumerate() {
                let value = batch.columns[c].value(i as usize, &column.data_ty);
                text.clear();
                types::value::render_text(&value, &column.data_ty, &mut text);
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

fn load(args: &LoadArgs) -> Result<()> {
    let db = open(&args.dir)?;
    let mut session = db.session();
    let path = args.file.display().to_string();
    match &args.table {
        Some(table) => {
            let (schema, name) = table.split_once('.').ok_or_else(|| fault("--table is database.name"))?;
            let (target, file) =
                (format!("{}.{}", quoted(schema), quoted(name)), path.replace('\\', "\\\\").replace('\'', "''"));
            session.execute("SET time_zone = '+00:00'")?;
            let done = session.execute(&format!(
                "LOAD DATA LOCAL INFILE '{file}' INTO TABLE {target} {CSV_OPTIONS} IGNORE 1 LINES"
            ))?;
            eprintln!("{}", done.info);
        }
        None => {
            let text = std::fs::read_to_string(&args.file)
                .map_err(|e| Error::file_not_found(&path, e.raw_os_error().unwrap_or(0), e))?;
            session.execute(&text)?;
        }
    }
    drop(session);
    db.engine().close()
}
