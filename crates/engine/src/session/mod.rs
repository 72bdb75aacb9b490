//! A session: one client's state, and the loop that answers its statements.
//!
//! ```text
//!            begin_command            statement ok / error
//!   Sleep ───────────────▶ Query ───────────────────────────▶ Sleep      KILL CONNECTION, drop ─▶ gone
//! ```
//! - [`dispatch`]: one arm a statement.
//! - [`set`]: SET, SET NAMES, SET TRANSACTION.
//! - [`facts`]: what expressions and information_schema may ask the session.
//! - [`temporary`]: temporary tables.
//! - [`txn`]: the open transaction, if any.
//! - [`locks`]: metadata locks, LOCK TABLES, GET_LOCK.
//!
//! Invariants
//! 1. A statement that fails leaves variables, current database and (outside the statement itself) the transaction as
//!    they were.
//! 2. The diagnostics area holds the warnings of the last statement that is not itself about diagnostics.

mod described;
mod dispatch;
mod ended;
mod facts;
mod held;
mod hints;
mod locks;
mod maintenance;
mod read_only;
mod rights;
mod set;
mod temporary;
mod trace;
mod tree;
mod txn;
mod users;

use crate::database::Database;
use crate::prepared::PreparedStatements;
use crate::sink::{EndInfo, OkInfo, ResultSink, StatusFlags};
use accounts::{Privilege, Rights};
use expr::{SqlMode, UserVars, Warnings};
use monitor::Running;
use monitor::process::{Entry, Process};
use monitor::secrets;
use monitor::status::SessionStatus;
use parser::normalize::Normalized;
use parser::{ParseOptions, StatementHints};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use storage::Unsettled;
use types::{Error, ErrorCode, Result, SqlType, Value, Warning, WarningLevel};
use variables::SessionVars;

use locks::SessionLocks;
pub(crate) use txn::{NextTransaction, Transaction};

/// Whose rights a session has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ActsAs {
    /// Those of the account that fits its user and host; none without one.
    Account,
    /// All: nobody logged in, the process itself does something.
    System,
}

/// See the module head.
#[derive(Debug)]
pub struct Session {
    db: Arc<Database>,
    process: Arc<Process>,
    /// Sessions of this process keep their own place in the process list.
    entry: Option<Entry>,
    user: Box<str>,
    host: Box<str>,
    /// The host of the account that it acts under, as the account was made with it: `%` and the like.
    account_host: Box<str>,
    /// What that account might do when the session began.
    rights: Rights,
    /// USER()
    user_at_host: Arc<str>,
    database: Option<Arc<str>>,
    vars: SessionVars,
    user_vars: UserVars,
    sql_mode: SqlMode,
    /// Warnings of the running statement.
    warnings: Warnings,
    /// Diagnostics area: warnings of the last statement, and how many there were in all.
    diagnostics: Vec<Warning>,
    diagnostics_count: u64,
    last_insert_id: u64,
    /// The variable insert_id: the value that the next statement to generate AUTO_INCREMENT values begins with, or 0.
    insert_id: AtomicU64,
    row_count: i64,
    found_rows: u64,
    /// CLIENT_FOUND_ROWS: UPDATE reports the rows it matched, not those it changed.
    reports_found_rows: bool,
    /// Microseconds since 1970 at which the running statement began.
    statement_time_us: i64,
    txn: Option<Transaction>,
    temporary: temporary::TemporaryTables,
    prepared: PreparedStatements,
    /// Values of the running statement's parameters.
    params: Arc<[(Value, SqlType)]>,
    /// Set while plans are made or run that hold parameters, not their values.
    param_types: Option<Box<[SqlType]>>,
    /// Kept for their memory.
    normalized: Normalized,
    plan_key: Vec<u8>,
    next_txn: NextTransaction,
    /// See [`Session::set_commits_later`].
    commits_later: bool,
    unsettled: Option<Unsettled>,
    changes_committed: u64,
    locks: SessionLocks,
    /// Set by USE, for session tracking.
    schema_changed: bool,
    status: Arc<SessionStatus>,
    running: Running,
    traces: parking_lot::Mutex<trace::Traces>,
    tree: tree::TreeMemory,
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
        let account = db.accounts().find(user, host_of(host));
        let rights = match acts_as {
            ActsAs::Account => Rights::of(account.as_ref()),
            ActsAs::System => Rights::SYSTEM,
        };
        let account_host = account.map_or_else(|| host_of(host).into(), |a| a.host);
        let status = db.status().register();
        let vars = SessionVars::new(db.variables());
        let sql_mode = variables::parse_sql_mode(vars.text("sql_mode"));
        let user_vars = UserVars::held_by(Box::new(held::HeldByVars::new(db.memory())));
        let warnings = Warnings::new(vars.uint("max_error_count") as usize);
        let locks = SessionLocks::new(&db, &process);
        let running = Running::new(&status, 0, &process);
        let mut session = Session {
            db,
            process,
            entry,
            user: user.into(),
            host: host.into(),
            account_host,
            rights,
            user_at_host: format!("{user}@{host}").into(),
            database: None,
            vars,
            user_vars,
            sql_mode,
            warnings,
            diagnostics: Vec::new(),
            diagnostics_count: 0,
            last_insert_id: 0,
            insert_id: AtomicU64::new(0),
            row_count: 0,
            found_rows: 0,
            reports_found_rows: false,
            statement_time_us: 0,
            txn: None,
            temporary: Default::default(),
            prepared: PreparedStatements::default(),
            params: Arc::default(),
            param_types: None,
            normalized: Normalized::default(),
            plan_key: Vec::new(),
            next_txn: NextTransaction::default(),
            commits_later: false,
            unsettled: None,
            changes_committed: 0,
            locks,
            schema_changed: false,
            status,
            running,
            traces: Default::default(),
            tree: Default::default(),
        };
        session.start_clock();
        session.note_command("Connect", format!("{user}@{host}").as_bytes());
        session
    }

    /// Where the running statement began.
    pub(crate) fn running(&self) -> &Running {
        &self.running
    }

    /// What the session has counted.
    pub(crate) fn status(&self) -> &SessionStatus {
        &self.status
    }

    pub fn process(&self) -> &Arc<Process> {
        &self.process
    }

    pub fn database_handle(&self) -> &Arc<Database> {
        &self.db
    }

    /// The user and host that the client gave: USER().
    pub fn user(&self) -> (&str, &str) {
        (&self.user, &self.host)
    }

    /// The current database.
    pub fn current_database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// What the client's CLIENT_FOUND_ROWS flag asks for.
    pub fn set_reports_found_rows(&mut self, on: bool) {
        self.reports_found_rows = on;
    }

    /// From now on a commit that is the last thing of a statement may return before the log is written. Then
    /// [`Session::take_unsettled`] has something, and until that has an outcome the client must not be answered, nor may
    /// another statement begin.
    pub fn set_commits_later(&mut self, on: bool) {
        self.commits_later = on;
    }

    /// How often the session has committed changes.
    pub fn changes_committed(&self) -> u64 {
        self.changes_committed
    }

    /// What the answer to the latest statement has to wait for. An error there takes the place of the answer.
    pub fn take_unsettled(&mut self) -> Option<Unsettled> {
        self.unsettled.take()
    }

    pub(crate) fn reports_found_rows(&self) -> bool {
        self.reports_found_rows
    }

    pub fn vars(&self) -> &SessionVars {
        &self.vars
    }

    /// Values of the running statement's `?` parameters; none for a statement that came as text.
    pub(crate) fn params(&self) -> &[(Value, SqlType)] {
        &self.params
    }

    /// The types of the parameters, while plans hold parameters rather than values.
    pub(crate) fn param_types(&self) -> Option<&[SqlType]> {
        self.param_types.as_deref()
    }

    pub(crate) fn set_params(&mut self, params: Arc<[(Value, SqlType)]>) {
        self.params = params;
    }

    /// The plans that are made or run next hold parameters.
    pub(crate) fn set_typed_params(&mut self, params: Arc<[(Value, SqlType)]>) {
        self.param_types = Some(params.iter().map(|(_, ty)| *ty).collect());
        self.params = params;
    }

    pub(crate) fn clear_params(&mut self) {
        self.param_types = None;
        if !self.params.is_empty() {
            self.params = Arc::default();
        }
    }

    pub(crate) fn normalized_mut(&mut self) -> &mut Normalized {
        &mut self.normalized
    }

    pub(crate) fn plan_key_mut(&mut self) -> &mut Vec<u8> {
        &mut self.plan_key
    }

    /// A statement begins that is answered by a cached plan: what [`Session::execute_one`] does for others. `now`: now, not
    /// when the clock was started last.
    pub(crate) fn begin_known_statement(&mut self, now: bool) {
        if now {
            self.start_clock();
        }
        self.status().questions.add(1);
        self.running = Running::new(&self.status, self.statement_time_us, &self.process);
        self.begin_statement();
        self.warnings = Warnings::new(self.vars.hot().max_error_count);
    }

    /// The statement has ended: the diagnostics area, the transaction and its metadata locks.
    pub(crate) fn end_known_statement(&mut self, result: Result<()>) -> Result<()> {
        let ended = self.unlock_known_statement(result);
        self.note_diagnostics(&ended);
        ended
    }

    fn note_diagnostics(&mut self, ended: &Result<()>) {
        self.diagnostics_count = self.warnings.count();
        if self.diagnostics_count > 0 || !self.diagnostics.is_empty() {
            self.diagnostics = self.warnings.take();
        }
        if let Err(e) = ended {
            self.row_count = -1;
            self.diagnostics_count += 1;
            self.diagnostics.push(Warning { level: WarningLevel::Error, code: e.code(), message: e.message().into() });
        }
    }

    /// Conditions of the last statement, an error among them.
    pub(crate) fn diagnostics_count(&self) -> u64 {
        self.diagnostics_count
    }

    pub(crate) fn prepared(&self) -> &PreparedStatements {
        &self.prepared
    }

    pub(crate) fn prepared_mut(&mut self) -> &mut PreparedStatements {
        &mut self.prepared
    }

    /// Makes another schema the current one, without telling anybody; returns the one that was.
    pub(crate) fn swap_database(&mut self, name: Option<Arc<str>>) -> Option<Arc<str>> {
        std::mem::replace(&mut self.database, name)
    }

    /// The diagnostics area starts anew.
    pub(crate) fn begin_diagnostics(&mut self) {
        self.warnings = Warnings::new(self.vars.hot().max_error_count);
        self.diagnostics.clear();
        self.diagnostics_count = 0;
    }

    /// Answers `text`, one or more statements; each sends its result to `sink`. On an error the rest is not run.
    /// `multi`: more than one statement is allowed (CLIENT_MULTI_STATEMENTS); else a second one is error 1064.
    pub fn execute(&mut self, text: &[u8], multi: bool, sink: &mut dyn ResultSink) -> Result<()> {
        self.note_command("Query", text);
        if self.entry.is_some() {
            self.process.begin("Query", text);
        }
        let result = self.execute_all(text, multi, sink);
        if self.entry.is_some() {
            self.process.end();
        }
        result
    }

    fn execute_all(&mut self, text: &[u8], multi: bool, sink: &mut dyn ResultSink) -> Result<()> {
        if let Some(result) = self.execute_known_text(text, sink) {
            return result;
        }
        let result = self.execute_texts(text, multi, sink);
        self.end_tree();
        result
    }

    fn execute_texts(&mut self, text: &[u8], multi: bool, sink: &mut dyn ResultSink) -> Result<()> {
        let mut offset = 0;
        loop {
            let options = self.parse_options();
            self.begin_tree();
            let parsed = match multi {
                true => parser::parse_next_overseen(text, offset, &options, Some(self)),
                false => parser::parse_single_overseen(text, &options, Some(self)),
            };
            if parsed.as_ref().is_err_and(|e| e.code() == ErrorCode::EMPTY_QUERY) && is_comment(&text[offset..]) {
                self.begin_diagnostics();
                self.row_count = 0;
                return self.send_ok(0, String::new(), false, sink);
            }
            let parsed = parsed.map_err(|e| self.failed_to_parse(e))?;
            if parsed.param_count > 0 {
                let near = String::from_utf8_lossy(&text[parsed.start..parsed.end]);
                let at = near.find('?').unwrap_or(0);
                return Err(self.failed_to_parse(Error::syntax_near(&near[at..], 1)));
            }
            let next = parser::next_statement(text, parsed.next, &options);
            self.execute_one(&parsed.statement, &parsed.hints, &text[parsed.start..parsed.end], next.is_some(), sink)?;
            match next {
                Some(start) => offset = start,
                None => return Ok(()),
            }
        }
    }

    pub(crate) fn failed_to_parse(&mut self, e: Error) -> Error {
        self.warnings.take();
        self.diagnostics = vec![Warning { level: WarningLevel::Error, code: e.code(), message: e.message().into() }];
        self.diagnostics_count = 1;
        self.row_count = -1;
        e
    }

    pub(crate) fn execute_one(
        &mut self,
        statement: &parser::ast::Statement,
        hints: &StatementHints,
        text: &[u8],
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        self.start_clock();
        self.process.forget_plan();
        self.status().questions.add(1);
        self.running = Running::new(&self.status, self.statement_time_us, &self.process);
        self.begin_statement();
        let keeps_diagnostics = dispatch::keeps_diagnostics(statement);
        if !keeps_diagnostics {
            self.warnings = Warnings::new(self.vars.hot().max_error_count);
        }
        self.warn_of_hints(hints);
        self.begin_trace(statement, text);
        let ended = self.with_variable_hints(&hints.variables, |s| s.dispatch(statement, text, more, sink));
        self.end_trace();
        let shown = secrets::shown(statement, text);
        let digests = self.db.digests();
        let digest = digests.is_on().then(|| digests.of(self.database.as_deref(), text, &self.parse_options()));
        self.note_ended(digest.as_deref(), &shown, ended.as_ref().err(), self.warnings.count());
        if keeps_diagnostics && ended.is_ok() {
            return Ok(());
        }
        self.note_diagnostics(&ended);
        ended
    }

    pub(crate) fn start_clock(&mut self) {
        self.statement_time_us = self.vars.hot().timestamp_us.unwrap_or_else(|| {
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_micros() as i64)
        });
    }

    /// When the running statement began.
    pub(crate) fn now_us(&self) -> i64 {
        self.statement_time_us
    }

    pub(crate) fn parse_options(&self) -> ParseOptions {
        ParseOptions {
            ansi_quotes: self.sql_mode.ansi_quotes,
            pipes_as_concat: self.sql_mode.pipes_as_concat,
            no_backslash_escapes: self.sql_mode.no_backslash_escapes,
            high_not_precedence: self.sql_mode.high_not_precedence,
            ignore_space: self.sql_mode.ignore_space,
            real_as_float: self.sql_mode.real_as_float,
        }
    }

    /// The session's state for OK and EOF packets.
    pub fn status_flags(&self, more_results: bool) -> StatusFlags {
        StatusFlags {
            in_transaction: self.txn.as_ref().is_some_and(|t| t.is_explicit()),
            autocommit: self.vars.hot().autocommit,
            more_results,
            no_backslash_escapes: self.sql_mode.no_backslash_escapes,
            in_read_only_transaction: self.txn.as_ref().is_some_and(|t| t.is_explicit() && t.read_only()),
        }
    }

    pub(crate) fn end_info(&self, more: bool) -> EndInfo {
        EndInfo { warnings: self.warnings.count(), status: self.status_flags(more) }
    }

    /// Answers OK and sets ROW_COUNT().
    pub(crate) fn send_ok(&mut self, affected: u64, info: String, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        self.send_ok_with_id(affected, 0, info, more, sink)
    }

    pub(crate) fn send_ok_with_id(
        &mut self,
        affected: u64,
        last_insert_id: u64,
        info: String,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        self.row_count = affected as i64;
        self.running.rows_affected = affected;
        let said = self.note_last_insert_id();
        let last_insert_id = if last_insert_id == 0 { said } else { last_insert_id };
        let schema_changed =
            std::mem::take(&mut self.schema_changed).then(|| self.database.as_deref().map(Into::into)).flatten();
        sink.ok(&OkInfo {
            affected_rows: affected,
            last_insert_id,
            warnings: self.warnings.count(),
            status: self.status_flags(more),
            info,
            schema_changed,
        })
    }

    /// LAST_INSERT_ID(expr) in the running statement becomes the value of LAST_INSERT_ID(); 0: there was none.
    pub(crate) fn note_last_insert_id(&mut self) -> u64 {
        let said = self.user_vars.take_last_insert_id();
        if let Some(id) = said {
            self.last_insert_id = id;
        }
        said.unwrap_or(0)
    }

    pub(crate) fn warn(&self, warning: Warning) {
        if warning.level != WarningLevel::Note || self.vars.hot().sql_notes {
            self.warnings.push(warning);
        }
    }

    pub(crate) fn note(&self, error: Error) {
        self.warn(error.into_warning(WarningLevel::Note));
    }

    /// COM_INIT_DB and USE.
    pub fn use_database(&mut self, name: &str) -> Result<()> {
        if name.is_empty() {
            return Err(Error::no_db());
        }
        self.require_on_schema(Privilege::Select, name)?;
        let canonical = self.canonical_schema(name).ok_or_else(|| Error::bad_db(name))?;
        self.process.set_database(Some(&canonical));
        self.database = Some(canonical.into());
        self.schema_changed = true;
        let collation = self.schema_collation(name);
        self.vars.set_by_name("character_set_database", collation.charset().name());
        self.vars.set_by_name("collation_database", collation.name());
        Ok(())
    }

    /// COM_RESET_CONNECTION: everything but the user and the connection as at the start.
    pub fn reset(&mut self) {
        self.rollback_quietly();
        self.drop_all_temporary();
        self.prepared.clear();
        self.release_all_locks();
        self.next_txn = NextTransaction::default();
        self.vars = SessionVars::new(self.db.variables());
        self.sql_mode = variables::parse_sql_mode(self.vars.text("sql_mode"));
        self.user_vars.clear();
        self.warnings.take();
        self.diagnostics.clear();
        self.diagnostics_count = 0;
        self.last_insert_id = 0;
        self.insert_id.store(0, Ordering::Relaxed);
        self.row_count = 0;
        self.found_rows = 0;
    }

    /// See [`Session::insert_id`].
    pub(crate) fn insert_id(&self) -> u64 {
        self.insert_id.load(Ordering::Relaxed)
    }

    /// A statement generates values from [`Session::insert_id`] on: others do not.
    pub(crate) fn take_insert_id(&self) -> u64 {
        self.insert_id.swap(0, Ordering::Relaxed)
    }

    /// Error 1317 if the running statement was killed.
    pub(crate) fn check_killed(&self) -> Result<()> {
        self.process.check_killed()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.note_command("Quit", b"");
        self.rollback_quietly();
        self.drop_all_temporary();
        self.db.mdl().remove_owner(&self.locks.owner);
        self.db.status().unregister(&self.status);
    }
}

/// A client's host without its port.
fn host_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host.trim_matches(['[', ']']),
        _ => host,
    }
}

/// Of a text without a statement: it says something, to people.
fn is_comment(text: &[u8]) -> bool {
    text.iter().find(|b| !b.is_ascii_whitespace()).is_some_and(|b| *b != b';')
}
