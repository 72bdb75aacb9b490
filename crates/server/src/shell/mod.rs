//! `nextleaf sql [DIR]`: a shell on a database in this process, without a server.
//!
//! On a terminal it edits lines with history and completion, asks for the rest of a statement on further lines, shows a
//! progress bar on long statements, and times each. From a pipe it runs statements as they come, prints rows tab
//! separated, and stops at the first error with exit status 1, as `mysql < file` does.
//!
//! - [`split`]: where a statement ends (`;`, `\g`, `\G`, DELIMITER), quotes and comments respected.
//! - [`table`]: results as tables, vertical, or tab separated.
//! - [`edit`]: completion, hints and the line editor.
//! - [`progress`]: the bar.

mod commands;
mod edit;
mod progress;
mod split;
mod table;

use crate::library::{Database, Options};
use commands::Shell;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of the shell.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder of the database; without one it is in memory and ends with the shell
    pub dir: Option<PathBuf>,
    /// Execute these statements and quit
    #[arg(short, long)]
    pub execute: Option<String>,
    /// Use this database first; it is created if it does not exist
    #[arg(short = 'D', long)]
    pub database: Option<String>,
    /// Print rows tab separated, without timing
    #[arg(short, long)]
    pub batch: bool,
    /// Go on after an error
    #[arg(short, long)]
    pub force: bool,
    /// Worker threads beside the shell's own
    #[arg(long)]
    pub workers: Option<usize>,
}

/// Runs the shell.
pub fn run(args: &Args) -> ExitCode {
    // whoever runs the shell may do with files what the system lets them
    let variables = vec![("secure_file_priv".to_owned(), String::new())];
    let options = Options { dir: args.dir.clone(), workers: args.workers, variables, ..Options::default() };
    let db = match Database::open(options) {
        Ok(db) => db,
        Err(e) => {
            eprintln!("nextleaf sql: {e}");
            return ExitCode::FAILURE;
        }
    };
    let engine = db.engine().clone();
    let interactive = io::stdin().is_terminal() && args.execute.is_none();
    let mut shell = Shell::new(db, interactive && !args.batch, args.force);
    if let Err(e) = shell.start_in(args.database.as_deref().unwrap_or("test")) {
        eprintln!("{e}");
        return ExitCode::FAILURE;
    }
    let ended = if let Some(text) = &args.execute {
        shell.run_text(text)
    } else if interactive {
        edit::run(&mut shell)
    } else {
        run_pipe(&mut shell)
    };
    let _ = io::stdout().flush();
    if let Err(e) = engine.close() {
        eprintln!("nextleaf sql: the last checkpoint failed, the next start will replay the log: {e}");
    }
    if ended { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Statements from a pipe; false after an error that was not forced over.
fn run_pipe(shell: &mut Shell) -> bool {
    let mut splitter = split::Splitter::default();
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        match input.read_until(b'\n', &mut line) {
            Ok(0) => break,
            Ok(_) => {}
            Err(e) => {
                eprintln!("nextleaf sql: cannot read: {e}");
                return false;
            }
        }
        splitter.feed(&line);
        while let Some(piece) = splitter.next() {
            if !shell.run_piece(&piece) {
                return false;
            }
            if shell.ended() {
                return true;
            }
        }
    }
    match splitter.rest() {
        Some(piece) => shell.run_piece(&piece),
        None => true,
    }
}
