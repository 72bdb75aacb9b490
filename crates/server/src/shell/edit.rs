//! The line editor: history, completion of keywords, tables and columns, statements over several lines, Ctrl-C.

use super::commands::Shell;
use super::split::Splitter;
use catalog::Relation;
use engine::Kill;
use rustyline::completion::{Completer, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Editor, Helper};
use std::path::PathBuf;
use std::sync::Arc;

/// Lines kept in the history.
const HISTORY_LINES_MAX: usize = 10_000;

/// Reads and runs until the end; true.
pub fn run(shell: &mut Shell) -> bool {
    let config = rustyline::Config::builder()
        .max_history_size(HISTORY_LINES_MAX)
        .map(|b| b.auto_add_history(false).build())
        .unwrap_or_default();
    let mut editor: Editor<Words, rustyline::history::DefaultHistory> = match Editor::with_config(config) {
        Ok(e) => e,
        Err(e) => {
            eprintln!("nextleaf sql: no line editing: {e}");
            return false;
        }
    };
    editor.set_helper(Some(Words { db: shell.session().database_handle().clone() }));
    let history = history_file();
    if let Some(h) = &history {
        let _ = editor.load_history(h);
    }
    let process = shell.process();
    let _ = ctrlc_kills(process);
    println!("Nextleaf {}. Statements end with ;  Type help for help.", env!("CARGO_PKG_VERSION"));
    let mut splitter = Splitter::default();
    while !shell.ended() {
        let prompt = if splitter.is_open() { "       -> ".to_string() } else { "nextleaf> ".to_string() };
        match editor.readline(&prompt) {
            Ok(line) => {
                let _ = editor.add_history_entry(&line);
                splitter.feed(line.as_bytes());
                splitter.feed(b"\n");
                while let Some(piece) = splitter.next() {
                    shell.run_piece(&piece);
                    if shell.ended() {
                        break;
                    }
                }
            }
            Err(ReadlineError::Interrupted) => splitter.clear(),
            Err(_) => break,
        }
    }
    if let Some(h) = &history {
        let _ = editor.save_history(h);
    }
    true
}

/// Ctrl-C while a statement runs stops the statement, not the shell.
fn ctrlc_kills(process: Arc<engine::Process>) -> std::io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([signal_hook::consts::SIGINT])?;
    std::thread::Builder::new().name("interrupt".into()).spawn(move || {
        for _ in signals.forever() {
            process.kill(Kill::Query);
        }
    })?;
    Ok(())
}

fn history_file() -> Option<PathBuf> {
    std::env::var_os("HOME").map(|h| PathBuf::from(h).join(".nextleaf_history"))
}

/// Completes words.
struct Words {
    db: Arc<engine::Database>,
}

impl Words {
    fn candidates(&self, prefix: &str) -> Vec<String> {
        let lower = prefix.to_lowercase();
        let upper = prefix.chars().next().is_some_and(char::is_uppercase);
        let mut out: Vec<String> = parser::keywords()
            .filter(|k| k.to_lowercase().starts_with(&lower))
            .map(|k| if upper { k.to_uppercase() } else { k.to_lowercase() })
            .collect();
        self.db.catalog().read(|schemas| {
            for s in schemas.values() {
                out.push(s.name.to_string());
                for relation in s.relations.iter() {
                    out.push(relation.name().to_owned());
                    match relation {
                        Relation::Table(t) => out.extend(t.columns.iter().map(|c| c.name.to_string())),
                        Relation::View(v) => out.extend(v.columns.iter().map(|c| c.to_string())),
                    }
                }
            }
        });
        out.retain(|w| w.to_lowercase().starts_with(&lower));
        out.sort();
        out.dedup();
        out
    }
}

impl Completer for Words {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let start = line[..pos].char_indices().rev().take_while(|(_, c)| is_word(*c)).last().map_or(pos, |(i, _)| i);
        if start == pos {
            return Ok((pos, Vec::new()));
        }
        let words = self.candidates(&line[start..pos]);
        Ok((start, words.into_iter().map(|w| Pair { display: w.clone(), replacement: w }).collect()))
    }
}

impl Hinter for Words {
    type Hint = String;
}
impl Highlighter for Words {}
impl Validator for Words {}
impl Helper for Words {}
