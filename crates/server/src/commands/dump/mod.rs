//! `nextleaf dump`: a database's contents as statements, or rows of tables as CSV or Parquet.
//!
//! - [`source`]: definitions and rows, all of one moment.
//! - [`text`]: SQL and CSV.
//! - [`parquet`]: Parquet, by way of Arrow.

#[cfg(feature = "arrow")]
mod parquet;
mod source;
mod text;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use types::{Error, ErrorCode, Result};

use crate::library::{Database, Options};
use source::{Relation, Source};

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// Statements that Nextleaf, MySQL and MariaDB run
    Sql,
    /// Rows of one table: fields in double quotes where needed, NULL as \N, the names first
    Csv,
    /// Rows of one table, or with --output of several; the types of the columns are kept
    #[cfg(feature = "arrow")]
    Parquet,
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
    /// CSV and Parquet: only these columns of the table, in this order, with commas between them
    #[arg(long, value_delimiter = ',')]
    columns: Vec<String>,
    /// Where to write, instead of standard output: a file; with Parquet of several tables, a folder for the files
    #[arg(long)]
    output: Option<PathBuf>,
    /// Definitions only
    #[arg(long)]
    no_data: bool,
}

pub(super) fn run(args: Vec<OsString>) -> ExitCode {
    match DumpArgs::try_parse_from(args) {
        Ok(args) => finish("dump", dump(&args)),
        Err(e) => usage(&e),
    }
}

pub(super) fn usage(e: &clap::Error) -> ExitCode {
    let _ = e.print();
    ExitCode::from(e.exit_code() as u8)
}

pub(super) fn finish(command: &str, result: Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("nextleaf {command}: {}", e.message());
            ExitCode::FAILURE
        }
    }
}

pub(super) fn open(dir: &std::path::Path) -> Result<Database> {
    Database::open(Options { dir: Some(dir.into()), ..Options::default() })
}

pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

const BUILT_IN: &str = "('information_schema', 'mysql', 'performance_schema', 'sys')";

fn dump(args: &DumpArgs) -> Result<()> {
    super::require_database(&args.dir)?;
    let mut source = Source::new(open(&args.dir)?)?;
    let relations = relations(&mut source, args)?;
    #[cfg(feature = "arrow")]
    if args.format == Format::Parquet {
        return dump_parquet(&mut source, &relations, args);
    }
    let one = || match &relations[..] {
        [one] => Ok(one),
        _ => Err(fault("CSV is for one table: name it with --table database.name")),
    };
    if args.format == Format::Csv {
        one()?;
    }
    let mut out = output(args.output.as_deref())?;
    let written = match args.format {
        Format::Sql => text::dump_sql(&mut source, &relations, args, &mut out),
        _ => {
            let table = one()?;
            let names = chosen(&mut source, table, args, false)?;
            text::dump_csv(&mut source, table, &names, &mut out)
        }
    };
    written.and_then(|()| out.flush().map_err(written_to_nobody))
}

/// The tables and views asked for.
fn relations(source: &mut Source, args: &DumpArgs) -> Result<Vec<Relation>> {
    let wanted = |schema: &str, name: &str| {
        (args.database.is_empty() || args.database.iter().any(|d| d == schema))
            && (args.table.is_empty() || args.table.iter().any(|t| *t == format!("{schema}.{name}")))
    };
    let sql = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES \
         WHERE TABLE_SCHEMA NOT IN {BUILT_IN} ORDER BY TABLE_SCHEMA, TABLE_NAME"
    );
    let relations: Vec<Relation> = source
        .texts(&sql)?
        .into_iter()
        .filter(|r| wanted(&r[0], &r[1]))
        .map(|r| Relation { schema: r[0].clone(), name: r[1].clone(), is_view: r[2] == "VIEW" })
        .collect();
    if let Some(missing) =
        args.table.iter().find(|t| !relations.iter().any(|r| **t == format!("{}.{}", r.schema, r.name)))
    {
        return Err(fault(format!("there is no table {missing}")));
    }
    Ok(relations)
}

/// The columns asked for, or all: generated ones, too, if `generated`.
fn chosen(source: &mut Source, table: &Relation, args: &DumpArgs, generated: bool) -> Result<Vec<String>> {
    match args.columns.is_empty() {
        true => source.columns(table, generated),
        false => Ok(args.columns.clone()),
    }
}

fn output(path: Option<&Path>) -> Result<BufWriter<Box<dyn Write + Send>>> {
    let to: Box<dyn Write + Send> = match path {
        Some(path) => {
            Box::new(File::create(path).map_err(|e| fault(format!("cannot make the file {}: {e}", path.display())))?)
        }
        None => Box::new(io::stdout()),
    };
    Ok(BufWriter::with_capacity(1 << 20, to))
}

#[cfg(feature = "arrow")]
fn dump_parquet(source: &mut Source, relations: &[Relation], args: &DumpArgs) -> Result<()> {
    let tables: Vec<&Relation> = relations.iter().filter(|r| !r.is_view || args.table.len() == 1).collect();
    let folder = args.output.as_ref().filter(|_| args.table.len() != 1);
    if let Some(folder) = folder {
        std::fs::create_dir_all(folder)
            .map_err(|e| fault(format!("cannot make the folder {}: {e}", folder.display())))?;
    } else if tables.len() != 1 {
        return Err(fault(
            "Parquet is one file a table: name it with --table database.name, or a folder with --output",
        ));
    }
    for table in tables {
        let names = chosen(source, table, args, true)?;
        let file = folder.map(|f| f.join(format!("{}.{}.parquet", table.schema, table.name).replace('/', "_")));
        let out = output(file.as_deref().or(args.output.as_deref()))?;
        let lost = parquet::dump_parquet(source, table, &names, out)?;
        if lost > 0 {
            let (schema, name) = (&table.schema, &table.name);
            eprintln!("nextleaf dump: {schema}.{name}: {lost} dates or times that Parquet has not are NULL");
        }
    }
    Ok(())
}

pub(super) fn fault(what: impl Into<String>) -> Error {
    Error::new(ErrorCode::GET_ERRNO, what.into())
}

fn written_to_nobody(e: io::Error) -> Error {
    fault(format!("cannot write: {e}"))
}
