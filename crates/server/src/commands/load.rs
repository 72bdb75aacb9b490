//! `nextleaf load`: statements or rows into a database.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use types::{Error, Result};

use super::dump::{fault, finish, open, quoted, usage};

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

pub(super) fn run(args: Vec<OsString>) -> ExitCode {
    match LoadArgs::try_parse_from(args) {
        Ok(args) => finish("load", load(&args)),
        Err(e) => usage(&e),
    }
}

/// Rows as `dump --format csv` prints them.
const CSV_OPTIONS: &str = "CHARACTER SET utf8mb4 FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n'";

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
