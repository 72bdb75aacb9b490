//! The shell's state, its own commands, and the running of statements.

use super::progress::Bar;
use super::split::{Piece, Splitter};
use super::table::{Layout, Printer};
use crate::library::Database;
use engine::{Collect, ColumnMeta, EndInfo, OkInfo, Process, ResultSink, open_local};
use std::io::{self, BufWriter, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};
use types::{Error, Result};
use vector::Batch;

/// Files that `source` may nest.
const SOURCE_DEPTH_MAX: usize = 16;

pub struct Shell {
    session: engine::Session,
    interactive: bool,
    force: bool,
    timing: bool,
    ended: bool,
    depth: usize,
}

const HELP: &str = "\
Statements end with ; or \\g, or with \\G for one column a line. The shell's own commands:
  source FILE, \\. FILE   run the statements of a file
  use DB, \\u DB          change the current database
  timing, \\t             times on or off
  status, \\s             the version and what is in memory
  clear, \\c              forget the statement that has begun
  quit, exit, \\q         leave
";

impl Shell {
    pub fn new(db: Database, interactive: bool, force: bool) -> Shell {
        let session = db.engine().system_session();
        Shell { session, interactive, force, timing: interactive, ended: false, depth: 0 }
    }

    pub fn session(&self) -> &engine::Session {
        &self.session
    }

    pub fn process(&self) -> Arc<Process> {
        self.session.process().clone()
    }

    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Makes `name` the current database, creating it if need be.
    pub fn start_in(&mut self, name: &str) -> Result<()> {
        let quoted = name.replace('`', "``");
        let mut quiet = Collect::without_rows();
        self.session.execute(format!("CREATE DATABASE IF NOT EXISTS `{quoted}`").as_bytes(), false, &mut quiet)?;
        self.session.use_database(name)
    }

    /// Runs all statements of a text; false after an error.
    pub fn run_text(&mut self, text: &str) -> bool {
        let mut splitter = Splitter::default();
        splitter.feed(text.as_bytes());
        splitter.feed(b"\n");
        loop {
            let piece = splitter.next();
            let last = piece.is_none();
            let Some(piece) = piece.or_else(|| splitter.rest()) else { return true };
            if !self.run_piece(&piece) {
                return false;
            }
            if last || self.ended {
                return true;
            }
        }
    }

    /// Runs one piece; false if the shell should stop because of an error.
    pub fn run_piece(&mut self, piece: &Piece) -> bool {
        let ok = match piece {
            Piece::Command(line) => self.command(line),
            Piece::Statement { text, vertical } => self.statement(text, *vertical),
        };
        ok || self.interactive || self.force
    }

    fn command(&mut self, line: &str) -> bool {
        let (word, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let argument = argument.trim();
        match word.to_ascii_lowercase().as_str() {
            "quit" | "exit" | "\\q" => self.ended = true,
            "help" | "\\h" | "\\?" => print!("{HELP}"),
            "timing" | "\\t" => {
                self.timing = !self.timing;
                println!("Timing is {}.", if self.timing { "on" } else { "off" });
            }
            "use" | "\\u" => {
                if let Err(e) = self.session.use_database(argument.trim_matches('`')) {
                    eprintln!("{e}");
                    return false;
                }
                if self.interactive {
                    println!("Database changed");
                }
            }
            "status" | "\\s" => println!("Nextleaf {}\n{}", env!("CARGO_PKG_VERSION"), self.session.statistics()),
            "clear" | "\\c" => {}
            "source" | "\\." => return self.source(argument),
            _ => eprintln!("Unknown command '{word}'. Type help."),
        }
        true
    }

    fn source(&mut self, path: &str) -> bool {
        if self.depth == SOURCE_DEPTH_MAX {
            eprintln!("source: files nest deeper than {SOURCE_DEPTH_MAX}");
            return false;
        }
        let text = match std::fs::read_to_string(path) {
            Ok(t) => t,
            Err(e) => {
                eprintln!("source: cannot read '{path}': {e}");
                return false;
            }
        };
        self.depth += 1;
        let ok = self.run_text(&text);
        self.depth -= 1;
        ok
    }

    fn statement(&mut self, text: &[u8], vertical: bool) -> bool {
        let layout = match (vertical, self.interactive) {
            (true, _) => Layout::Vertical,
            (false, true) => Layout::Table,
            (false, false) => Layout::Tabs,
        };
        let start = Instant::now();
        let bar = self.interactive.then(|| Bar::start(self.session.process().clone()));
        let mut sink = Terminal { layout, printer: None, quiet: !self.interactive, timing: self.timing, start, bar };
        let result = self.session.execute(text, true, &mut sink);
        if let Some(bar) = &mut sink.bar {
            bar.stop();
        }
        match result {
            Ok(()) => true,
            Err(e) => {
                drop(sink);
                let _ = io::stdout().flush();
                eprintln!("{e}");
                false
            }
        }
    }
}

/// Prints answers.
struct Terminal {
    layout: Layout,
    printer: Option<Printer<BufWriter<io::Stdout>>>,
    quiet: bool,
    timing: bool,
    start: Instant,
    bar: Option<Bar>,
}

impl Terminal {
    fn took(&self) -> String {
        if self.timing { format!(" ({})", seconds(self.start.elapsed())) } else { String::new() }
    }
}

fn seconds(d: Duration) -> String {
    format!("{:.3} sec", d.as_secs_f64())
}

fn plural(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

fn warned(n: u64) -> String {
    if n == 0 { String::new() } else { format!(", {}", plural(n, "warning", "warnings")) }
}

fn broken(e: io::Error) -> Error {
    Error::internal(format_args!("cannot write to the terminal: {e}"))
}

impl ResultSink for Terminal {
    fn columns(&mut self, columns: &[ColumnMeta]) -> Result<()> {
        self.printer = Some(Printer::new(BufWriter::new(io::stdout()), self.layout, columns));
        Ok(())
    }

    fn batch(&mut self, batch: &Batch) -> Result<()> {
        if let Some(bar) = &mut self.bar {
            bar.stop();
        }
        self.printer.as_mut().expect("columns come before rows").batch(batch).map_err(broken)
    }

    fn end_rows(&mut self, end: &EndInfo) -> Result<()> {
        if let Some(bar) = &mut self.bar {
            bar.stop();
        }
        let rows = self.printer.take().expect("columns come before the end").finish().map_err(broken)?;
        if !self.quiet {
            let what = if rows == 0 { "Empty set".into() } else { format!("{} in set", plural(rows, "row", "rows")) };
            println!("{what}{}{}\n", warned(end.warnings), self.took());
        }
        Ok(())
    }

    fn ok(&mut self, ok: &OkInfo) -> Result<()> {
        if let Some(bar) = &mut self.bar {
            bar.stop();
        }
        if !self.quiet {
            let rows = plural(ok.affected_rows, "row", "rows");
            println!("Query OK, {rows} affected{}{}", warned(ok.warnings), self.took());
            if !ok.info.is_empty() {
                println!("{}", ok.info);
            }
            println!();
        }
        Ok(())
    }

    fn local_infile(&mut self, name: &str) -> Result<Box<dyn Read + Send + '_>> {
        open_local(name)
    }
}
