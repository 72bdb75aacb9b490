//! A session as the server sees it, and the loop that answers its statements.
//!
//! ```text
//!            begin_command            statement ok / error
//!   Sleep ───────────────▶ Query ───────────────────────────▶ Sleep      KILL CONNECTION, drop ─▶ gone
//! ```
//! - [`dispatch`]: one arm a statement.
//! - [`set`]: SET, SET NAMES, SET TRANSACTION; [`users`]: accounts; [`setup`]: performance_schema.setup_consumers;
//!   [`maintenance`]: ANALYZE TABLE and its like.
//!
//! A [`Session`] is what outlives a statement (`session::SessionState`) with its prepared statements. An [`Execution`]
//! is the frame of one statement with what only this floor knows: the cached plans of the database, the prepared ones
//! of the session.

mod dispatch;
mod maintenance;
mod set;
mod setup;
mod users;

use crate::database::Database;
use crate::prepared::PreparedStatements;
use monitor::process::{Entry, Process};
use monitor::secrets;
use parser::StatementHints;
use parser::ast::{Hint, Statement};
use parser::normalize::Normalized;
use session::frame::Left;
use session::sink::ResultSink;
use session::{ActsAs, Frame, Nested, SessionState};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use types::{Error, ErrorCode, Result};

/// See the module head.
#[derive(Debug)]
pub struct Session {
    state: SessionState,
    own: Own,
    db: Arc<Database>,
    /// Sessions of this process keep their own place in the process list.
    entry: Option<Entry>,
}

/// What a session keeps for this floor alone.
#[derive(Debug, Default)]
struct Own {
    prepared: PreparedStatements,
    /// Kept for their memory.
    normalized: Normalized,
    plan_key: Vec<u8>,
}

impl Deref for Session {
    type Target = SessionState;

    fn deref(&self) -> &SessionState {
        &self.state
    }
}

impl DerefMut for Session {
    fn deref_mut(&mut self) -> &mut SessionState {
        &mut self.state
    }
}

impl Session {
    pub(crate) fn new(
        db: Arc<Database>,
        process: Arc<Process>,
        entry: Option<Entry>,
        user: &str,
        host: &str,
        acts_as: ActsAs,
    ) -> Session {
        let state = SessionState::new(db.shared().clone(), process, user, host, acts_as);
        Session { state, own: Own::default(), db, entry }
    }

    /// The database that it is a session of.
    pub fn database_handle(&self) -> &Arc<Database> {
        &self.db
    }

    /// The current database.
    pub fn current_database(&self) -> Option<&str> {
        self.state.session_database()
    }

    /// COM_INIT_DB.
    pub fn use_database(&mut self, name: &str) -> Result<()> {
        self.execution().use_database(name)
    }

    /// A statement begins.
    pub(crate) fn execution(&mut self) -> Execution<'_> {
        Execution { frame: Frame::new(&mut self.state), own: &mut self.own, db: &self.db }
    }

    pub(crate) fn prepared(&self) -> &PreparedStatements {
        &self.own.prepared
    }

    pub(crate) fn prepared_mut(&mut self) -> &mut PreparedStatements {
        &mut self.own.prepared
    }

    /// Answers `text`, one or more statements; each sends its result to `sink`. On an error the rest is not run.
    /// `multi`: more than one statement is allowed (CLIENT_MULTI_STATEMENTS); else a second one is error 1064.
    pub fn execute(&mut self, text: &[u8], multi: bool, sink: &mut dyn ResultSink) -> Result<()> {
        self.note_command("Query", text);
        if self.entry.is_some() {
            self.process().begin("Query", text);
        }
        let result = match self.execution().execute_known_text(text, sink) {
            Some(result) => result,
            None => self.execute_texts(text, multi, sink),
        };
        if self.entry.is_some() {
            self.process().end();
        }
        result
    }

    fn execute_texts(&mut self, text: &[u8], multi: bool, sink: &mut dyn ResultSink) -> Result<()> {
        let mut offset = 0;
        loop {
            let mut x = self.execution();
            let options = x.parse_options();
            let overseer: &Frame<'_> = &x;
            let parsed = match multi {
                true => parser::parse_next_overseen(text, offset, &options, Some(overseer)),
                false => parser::parse_single_overseen(text, &options, Some(overseer)),
            };
            if parsed.as_ref().is_err_and(|e| e.code() == ErrorCode::EMPTY_QUERY) && is_comment(&text[offset..]) {
                x.begin_diagnostics();
                return x.send_ok(0, String::new(), false, sink);
            }
            let parsed = parsed.map_err(|e| x.failed_to_parse(e))?;
            if parsed.param_count > 0 {
                let near = String::from_utf8_lossy(&text[parsed.start..parsed.end]);
                let at = near.find('?').unwrap_or(0);
                return Err(x.failed_to_parse(Error::syntax_near(&near[at..], 1)));
            }
            let next = parser::next_statement(text, parsed.next, &options);
            x.execute_one(&parsed.statement, &parsed.hints, &text[parsed.start..parsed.end], next.is_some(), sink)?;
            match next {
                Some(start) => offset = start,
                None => return Ok(()),
            }
        }
    }

    /// The line of COM_STATISTICS.
    pub fn statistics(&mut self) -> String {
        introspection::show::server::statistics(&self.execution())
    }

    /// COM_RESET_CONNECTION: everything but the user and the connection as at the start.
    pub fn reset(&mut self) {
        self.own.prepared.clear();
        self.state.reset();
    }
}

/// The frame of a statement with what dispatch needs beside it.
#[derive(Debug)]
pub(crate) struct Execution<'s> {
    frame: Frame<'s>,
    own: &'s mut Own,
    db: &'s Arc<Database>,
}

impl<'s> Deref for Execution<'s> {
    type Target = Frame<'s>;

    fn deref(&self) -> &Frame<'s> {
        &self.frame
    }
}

impl<'s> DerefMut for Execution<'s> {
    fn deref_mut(&mut self) -> &mut Frame<'s> {
        &mut self.frame
    }
}

impl Execution<'_> {
    /// The database, with its cached plans.
    pub fn db(&self) -> &Arc<Database> {
        self.db
    }

    /// The execution of a statement that this one runs, in a frame of its own.
    pub fn nested(&mut self, own: Nested) -> Execution<'_> {
        Execution { frame: self.frame.nested(own), own: self.own, db: self.db }
    }

    /// See [`Frame::leave`].
    pub fn leave(self) -> Left {
        self.frame.leave()
    }

    pub fn prepared(&self) -> &PreparedStatements {
        &self.own.prepared
    }

    pub fn prepared_mut(&mut self) -> &mut PreparedStatements {
        &mut self.own.prepared
    }

    pub fn normalized_mut(&mut self) -> &mut Normalized {
        &mut self.own.normalized
    }

    pub fn plan_key_mut(&mut self) -> &mut Vec<u8> {
        &mut self.own.plan_key
    }

    /// Runs a statement that was parsed, and notes what became of it.
    pub fn execute_one(
        &mut self,
        statement: &Statement,
        hints: &StatementHints,
        text: &[u8],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        self.begin_parsed_statement();
        let keeps_diagnostics = dispatch::keeps_diagnostics(statement);
        self.warn_of_hints(hints);
        self.begin_trace(statement, text);
        let ended = self.with_variable_hints(&hints.variables, |x| {
            let ended = x.dispatch(statement, text, more, sink);
            x.end_trace();
            ended
        });
        let shown = secrets::shown(statement, text);
        let digests = self.db.digests();
        let digest = digests.is_on().then(|| digests.of(self.current_database(), text, &self.parse_options()));
        self.note_ended(digest.as_deref(), &shown, ended.as_ref().err(), self.warnings().count());
        if keeps_diagnostics && ended.is_ok() {
            return Ok(());
        }
        self.note_diagnostics(&ended);
        ended
    }

    /// Runs `f`, which binds a statement without running it: its names can be looked up, and are locked as long.
    pub fn with_names<R>(
        &mut self,
        statement: &Statement,
        f: impl FnOnce(&mut Execution<'_>) -> Result<R>,
    ) -> Result<R> {
        let outer = self.begin_names();
        let result = self.look_at(statement).and_then(|()| f(self));
        self.end_names(outer);
        result
    }

    /// Runs `f` with the variables as the hints say.
    pub fn with_variable_hints<R>(&mut self, hints: &[Hint], f: impl FnOnce(&mut Execution<'_>) -> R) -> R {
        let before = self.begin_hints(hints);
        let result = f(self);
        self.end_hints(before);
        result
    }
}

/// Of a text without a statement: it says something, to people.
fn is_comment(text: &[u8]) -> bool {
    text.iter().find(|b| !b.is_ascii_whitespace()).is_some_and(|b| *b != b';')
}
