//! What a session keeps from statement to statement.

use crate::locks::SessionLocks;
use crate::sink::StatusFlags;
use crate::temporary::TemporaryTables;
use crate::trace::Traces;
use crate::txn::{NextTransaction, Transaction};
use crate::{Shared, held};
use accounts::Rights;
use expr::{SqlMode, UserVars};
use monitor::process::Process;
use monitor::status::SessionStatus;
use parser::ParseOptions;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use storage::Unsettled;
use types::{Collation, Error, Result, Warning, WarningLevel};
use variables::SessionVars;

/// Whose rights a session has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ActsAs {
    /// Those of the account that fits its user and host; none without one.
    Account,
    /// All: nobody logged in, the process itself does something.
    System,
}

/// See the module head.
#[derive(Debug)]
pub struct SessionState {
    pub(crate) db: Arc<Shared>,
    pub(crate) process: Arc<Process>,
    pub(crate) user: Box<str>,
    pub(crate) host: Box<str>,
    /// The host of the account that it acts under, as the account was made with it: `%` and the like.
    pub(crate) account_host: Box<str>,
    /// What that account might do when the session began.
    pub(crate) rights: Rights,
    /// USER()
    pub(crate) user_at_host: Arc<str>,
    /// The current database.
    pub(crate) database: Option<Arc<str>>,
    pub(crate) vars: SessionVars,
    pub(crate) user_vars: UserVars,
    /// The variable sql_mode, as flags.
    pub(crate) sql_mode: SqlMode,
    /// Diagnostics area: warnings of the last statement, and how many there were in all.
    pub(crate) diagnostics: Vec<Warning>,
    pub(crate) diagnostics_count: u64,
    pub(crate) last_insert_id: u64,
    /// The variable insert_id: the value that the next statement to generate AUTO_INCREMENT values begins with, or 0.
    /// An atomic because rows are written with the frame shared.
    pub(crate) insert_id: AtomicU64,
    pub(crate) row_count: i64,
    pub(crate) found_rows: u64,
    /// CLIENT_FOUND_ROWS: UPDATE reports the rows it matched, not those it changed.
    reports_found_rows: bool,
    pub(crate) txn: Option<Transaction>,
    pub(crate) temporary: TemporaryTables,
    pub(crate) next_txn: NextTransaction,
    /// See [`SessionState::set_commits_later`].
    pub(crate) commits_later: bool,
    pub(crate) unsettled: Option<Unsettled>,
    pub(crate) changes_committed: u64,
    pub(crate) locks: SessionLocks,
    /// Set by USE, for session tracking.
    pub(crate) schema_changed: bool,
    pub(crate) status: Arc<SessionStatus>,
    pub(crate) traces: Traces,
}

impl SessionState {
    /// A session begins.
    pub fn new(db: Arc<Shared>, process: Arc<Process>, user: &str, host: &str, acts_as: ActsAs) -> SessionState {
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
        let locks = SessionLocks::new(&db, &process);
        let session = SessionState {
            db,
            process,
            user: user.into(),
            host: host.into(),
            account_host,
            rights,
            user_at_host: format!("{user}@{host}").into(),
            database: None,
            vars,
            user_vars,
            sql_mode,
            diagnostics: Vec::new(),
            diagnostics_count: 0,
            last_insert_id: 0,
            insert_id: AtomicU64::new(0),
            row_count: 0,
            found_rows: 0,
            reports_found_rows: false,
            txn: None,
            temporary: Default::default(),
            next_txn: NextTransaction::default(),
            commits_later: false,
            unsettled: None,
            changes_committed: 0,
            locks,
            schema_changed: false,
            status,
            traces: Default::default(),
        };
        session.note_command("Connect", format!("{user}@{host}").as_bytes());
        session
    }

    /// What all sessions share.
    pub fn db(&self) -> &Arc<Shared> {
        &self.db
    }

    /// What the session has counted.
    pub fn status(&self) -> &SessionStatus {
        &self.status
    }

    /// What others see of the session.
    pub fn process(&self) -> &Arc<Process> {
        &self.process
    }

    /// The user and host that the client gave: USER().
    pub fn user(&self) -> (&str, &str) {
        (&self.user, &self.host)
    }

    /// The session's variables.
    pub fn vars(&self) -> &SessionVars {
        &self.vars
    }

    /// The variables that users make.
    pub fn user_vars(&self) -> &UserVars {
        &self.user_vars
    }

    /// The collation of string literals and text parameters.
    pub fn connection_collation(&self) -> Collation {
        self.vars.hot().collation_connection
    }

    /// What the client's CLIENT_FOUND_ROWS flag asks for.
    pub fn set_reports_found_rows(&mut self, on: bool) {
        self.reports_found_rows = on;
    }

    /// CLIENT_FOUND_ROWS.
    pub fn reports_found_rows(&self) -> bool {
        self.reports_found_rows
    }

    /// From now on a commit that is the last thing of a statement may return before the log is written. Then
    /// [`SessionState::take_unsettled`] has something, and until that has an outcome the client must not be answered,
    /// nor may another statement begin.
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

    /// How texts of statements are read now.
    pub fn parse_options(&self) -> ParseOptions {
        parse_options(&self.sql_mode)
    }

    /// The current database of the session; a frame may have another.
    pub fn session_database(&self) -> Option<&str> {
        self.database.as_deref()
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

    /// The text of the next statement is no statement: that is what the diagnostics area has.
    pub fn failed_to_parse(&mut self, e: Error) -> Error {
        self.diagnostics = vec![Warning { level: WarningLevel::Error, code: e.code(), message: e.message().into() }];
        self.diagnostics_count = 1;
        self.row_count = -1;
        e
    }

    /// The diagnostics area starts anew.
    pub fn begin_diagnostics(&mut self) {
        self.diagnostics.clear();
        self.diagnostics_count = 0;
    }

    /// Conditions of the last statement, an error among them.
    pub fn diagnostics_count(&self) -> u64 {
        self.diagnostics_count
    }

    /// The conditions that were kept.
    pub fn diagnostics(&self) -> &[Warning] {
        &self.diagnostics
    }

    /// How many warnings, or errors, the last statement had, kept or not.
    pub fn diagnostics_total(&self, errors_only: bool) -> u64 {
        if errors_only {
            self.diagnostics.iter().filter(|w| w.level == WarningLevel::Error).count() as u64
        } else {
            self.diagnostics_count
        }
    }

    /// LAST_INSERT_ID()
    pub fn set_last_insert_id(&mut self, id: u64) {
        self.last_insert_id = id;
    }

    /// What ROW_COUNT() says after a statement that sent rows and changed some.
    pub fn set_row_count(&mut self, rows: u64) {
        self.row_count = rows as i64;
    }

    /// LAST_INSERT_ID(expr) in the running statement becomes the value of LAST_INSERT_ID(); 0: there was none.
    pub fn note_last_insert_id(&mut self) -> u64 {
        let said = self.user_vars.take_last_insert_id();
        if let Some(id) = said {
            self.last_insert_id = id;
        }
        said.unwrap_or(0)
    }

    /// The variable insert_id; 0: not set.
    pub fn insert_id(&self) -> u64 {
        self.insert_id.load(Ordering::Relaxed)
    }

    /// A statement generates values from [`SessionState::insert_id`] on: others do not.
    pub fn take_insert_id(&self) -> u64 {
        self.insert_id.swap(0, Ordering::Relaxed)
    }

    /// Error 1317 if the running statement was killed.
    pub fn check_killed(&self) -> Result<()> {
        self.process.check_killed()
    }

    /// The schema of that name as it is spelled; information_schema in any case.
    pub fn canonical_schema(&self, name: &str) -> Option<Box<str>> {
        if name.eq_ignore_ascii_case("information_schema") {
            return Some("information_schema".into());
        }
        self.db.catalog().has_schema(name).then(|| name.into())
    }

    /// The default collation of a schema.
    pub fn schema_collation(&self, name: &str) -> Collation {
        self.db.catalog().read(|s| s.get(name).map_or(Collation::default(), |d| d.collation))
    }

    /// USE: the schema is there, and the session may use it.
    pub(crate) fn enter_schema(&mut self, canonical: Box<str>) {
        self.process.set_database(Some(&canonical));
        let collation = self.schema_collation(&canonical);
        self.database = Some(canonical.into());
        self.schema_changed = true;
        self.vars.set_by_name("character_set_database", collation.charset().name());
        self.vars.set_by_name("collation_database", collation.name());
    }

    /// COM_RESET_CONNECTION: everything but the user and the connection as at the start.
    pub fn reset(&mut self) {
        self.rollback_quietly();
        self.drop_all_temporary();
        self.release_all_locks();
        self.next_txn = NextTransaction::default();
        self.vars = SessionVars::new(self.db.variables());
        self.sql_mode = variables::parse_sql_mode(self.vars.text("sql_mode"));
        self.user_vars.clear();
        self.begin_diagnostics();
        self.last_insert_id = 0;
        *self.insert_id.get_mut() = 0;
        self.row_count = 0;
        self.found_rows = 0;
    }
}

impl Drop for SessionState {
    fn drop(&mut self) {
        self.note_command("Quit", b"");
        self.rollback_quietly();
        self.drop_all_temporary();
        self.db.mdl().remove_owner(&self.locks.owner);
        self.db.status().unregister(&self.status);
    }
}

/// How texts are read under a sql_mode.
pub(crate) fn parse_options(mode: &SqlMode) -> ParseOptions {
    ParseOptions {
        ansi_quotes: mode.ansi_quotes,
        pipes_as_concat: mode.pipes_as_concat,
        no_backslash_escapes: mode.no_backslash_escapes,
        high_not_precedence: mode.high_not_precedence,
        ignore_space: mode.ignore_space,
        real_as_float: mode.real_as_float,
    }
}

/// A client's host without its port.
fn host_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host.trim_matches(['[', ']']),
        _ => host,
    }
}
