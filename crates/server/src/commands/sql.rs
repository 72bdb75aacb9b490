//! `nextleaf sql`: the shell.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use crate::shell;

/// A shell on a database in this process, without a server.
///
/// On a terminal it edits lines; from a pipe it runs statements and stops at the first error.
#[derive(Parser, Debug)]
#[command(name = "nextleaf sql", version)]
struct SqlArgs {
    #[command(flatten)]
    shell: shell::Args,
}

pub(super) fn run(args: Vec<OsString>) -> ExitCode {
    match SqlArgs::try_parse_from(args) {
        Ok(args) => shell::run(&args.shell),
        Err(e) => {
            let _ = e.print();
            ExitCode::from(e.exit_code() as u8)
        }
    }
}
