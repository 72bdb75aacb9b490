//! `nextleaf check DIR`: reads a database and looks at all of it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use engine::{Database, Notices, Options};
use types::Result;

/// Reads a database that no server has open: checksums of the manifest, of all leaves and of the log, then every row
/// against every index. Prints what is wrong; exit status 1 if anything is.
#[derive(Parser, Debug)]
#[command(name = "nextleaf check", version)]
struct CheckArgs {
    /// Folder of the database
    #[arg(default_value = "nextleaf-data")]
    dir: PathBuf,
    /// Open the database although the end of its redo log is missing or damaged: what was committed there is given up
    #[arg(long)]
    accept_loss: bool,
}

pub(super) fn run(args: Vec<OsString>) -> ExitCode {
    let args = match CheckArgs::try_parse_from(args) {
        Ok(args) => args,
        Err(e) => {
            let _ = e.print();
            return ExitCode::from(e.exit_code() as u8);
        }
    };
    match check(&args) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(faults) => {
            eprintln!("nextleaf check: {faults} faults");
            ExitCode::FAILURE
        }
        Err(e) => {
            eprintln!("nextleaf check: {}", e.message());
            ExitCode::FAILURE
        }
    }
}

/// The database must be there: opening would make a new one.
fn check(args: &CheckArgs) -> Result<u64> {
    super::require_database(&args.dir)?;
    let notices = Notices(Some(Arc::new(|line| println!("{line}"))));
    let warnings = Notices(Some(Arc::new(|line| println!("warning: {line}"))));
    let (dir, accept_loss) = (Some(args.dir.clone()), args.accept_loss);
    let db = Database::open(Options { dir, notices, warnings, accept_loss, ..Options::default() })?;
    let store = db.store();
    let (mut faults, mut tables, mut rows) = (0, 0, 0);
    for id in store.table_ids() {
        let Some(table) = store.table(id) else { continue };
        let (schema, name) = (&table.def().schema, &table.def().name);
        for fault in table.check() {
            println!("{schema}.{name}: {fault}");
            faults += 1;
        }
        tables += 1;
        rows += table.row_count();
    }
    println!("{tables} tables with {rows} rows");
    Ok(faults)
}
