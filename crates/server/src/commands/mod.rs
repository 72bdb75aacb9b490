//! The commands of the `nextleaf` binary.
//!
//! `nextleaf NAME ARGS...` runs the command of that name; without a name, or with options only, it is the server that
//! starts. A new command is one entry in [`COMMANDS`].

mod bench;
mod check;
mod dump;
mod load;
mod server;
mod sql;

use std::ffi::OsString;
use std::process::ExitCode;

/// One command.
pub struct Command {
    pub name: &'static str,
    /// One line for the overview.
    pub about: &'static str,
    /// Its arguments begin with its own name, as clap wants them.
    pub run: fn(Vec<OsString>) -> ExitCode,
}

/// All commands; the first is the default.
pub const COMMANDS: &[Command] = &[
    Command { name: "server", about: "Serve databases over MySQL's protocol (the default)", run: server::run },
    Command { name: "sql", about: "A shell on a database in this process, without a server", run: sql::run },
    Command { name: "check", about: "Reads a database and looks for damage", run: check::run },
    Command { name: "dump", about: "Prints a database as statements, or tables as CSV or Parquet", run: dump::run },
    Command { name: "load", about: "Brings statements, or rows of a table, into a database", run: load::run },
    Command { name: "bench", about: "Measures Nextleaf, alone or beside other systems", run: bench::run },
];

/// Exit status of a wrong command line, as clap has it.
const USAGE: u8 = 2;

/// Runs what the process's arguments ask for.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut args: Vec<OsString> = args.into_iter().skip(1).collect();
    let first = args.first().and_then(|arg| arg.to_str()).unwrap_or_default().to_owned();
    if matches!(first.as_str(), "help" | "--help") {
        print!("{}", overview());
        return ExitCode::SUCCESS;
    }
    if first.is_empty() || first.starts_with('-') {
        args.insert(0, COMMANDS[0].name.into());
        return (COMMANDS[0].run)(args);
    }
    match COMMANDS.iter().find(|command| command.name == first) {
        Some(command) => (command.run)(args),
        None => {
            eprint!("nextleaf: there is no command '{first}'\n\n{}", overview());
            ExitCode::from(USAGE)
        }
    }
}

/// Error if the folder has no database: opening it would make one.
fn require_database(dir: &std::path::Path) -> types::Result<()> {
    if dir.join("manifest").is_file() {
        return Ok(());
    }
    let what = format!("{} is no database: it has no manifest", dir.display());
    Err(types::Error::new(types::ErrorCode::GET_ERRNO, what))
}

fn overview() -> String {
    let mut text = format!(
        "Nextleaf {}, a MySQL-compatible database\n\nUsage: nextleaf [COMMAND] [OPTIONS]\n\nCommands:\n",
        env!("CARGO_PKG_VERSION")
    );
    for command in COMMANDS {
        text.push_str(&format!("  {:<8} {}\n", command.name, command.about));
    }
    text.push_str("\n`nextleaf COMMAND --help` tells more.\n");
    text
}
