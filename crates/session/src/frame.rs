//! The frame of one statement: what it needs while it runs, and what ends with it.
//!
//! ```text
//!   session ◀── Frame::new ── a client's statement ◀── Frame::nested ── a statement that it runs ◀── ...
//!                                                       leave ──▶ take_in: warnings, rows sent and changed
//! ```
//! What a frame does not have of its own it has from the session: the default schema is the session's, the acting
//! account the one that logged in. A nested frame is given what a stored program, a view or an event brings along: the
//! schema and sql_mode that it was written under, its definer's account, its parameters. It sees no parameters of its
//! caller's, and no warnings; those of its own go to the caller when it [leaves](Frame::leave).
//!
//! Invariants
//! 1. One frame works at a time: a nested one borrows its caller.
//! 2. Making one allocates nothing and touches nothing that sessions share.

use crate::SessionState;
use crate::sink::{EndInfo, OkInfo, ResultSink};
use crate::state::parse_options;
use crate::trace::Traced;
use crate::tree::TreeMemory;
use accounts::{Account, Privilege, Rights};
use expr::{SqlMode, Warnings};
use monitor::{Ended, Running};
use names::Names;
use parking_lot::Mutex;
use parser::ParseOptions;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use types::{Error, Result, SqlType, Value, Warning, WarningLevel};

/// The values of parameters, with their types.
pub type Values = Arc<[(Value, SqlType)]>;

/// Under whose rights a frame acts, where that is not who logged in.
#[derive(Clone, Debug)]
pub struct Acting {
    pub user: Box<str>,
    /// The account's host, as it was made with it.
    pub host: Box<str>,
    pub rights: Rights,
}

impl Acting {
    /// Acts as an account: a definer.
    pub fn of(account: &Account) -> Acting {
        Acting { user: account.user.clone(), host: account.host.clone(), rights: Rights::of(Some(account)) }
    }
}

/// What a nested frame has of its own; the rest is its caller's.
#[derive(Clone, Debug, Default)]
pub struct Nested {
    /// The default schema; `Some(None)`: there is none.
    pub schema: Option<Option<Arc<str>>>,
    pub sql_mode: Option<SqlMode>,
    pub acting: Option<Acting>,
    /// Values of its parameters; a caller's are never seen.
    pub params: Option<Values>,
    /// Whether its NOW() is its own, not its caller's.
    pub own_clock: bool,
}

/// What a frame leaves to its caller.
#[derive(Debug)]
pub struct Left {
    warnings: Warnings,
    rows_sent: u64,
    rows_affected: u64,
}

/// See the module head.
#[derive(Debug)]
pub struct Frame<'s> {
    pub(crate) session: &'s mut SessionState,
    /// Microseconds since 1970 at which the statement began.
    clock_us: i64,
    /// `None`: the session's.
    pub(crate) schema: Option<Option<Arc<str>>>,
    pub(crate) mode: SqlMode,
    /// `None`: who logged in.
    pub(crate) acting: Option<Acting>,
    pub(crate) warnings: Warnings,
    params: Option<Values>,
    /// Set while plans are made or run that hold parameters, not their values.
    param_types: Option<Box<[SqlType]>>,
    running: Running,
    /// What the statement names, once that is locked.
    pub(crate) names: Names,
    pub(crate) tree: TreeMemory,
    /// Where the optimizer's trace is wanted; behind a latch because plans are made with the frame shared.
    pub(crate) traced: Option<Box<Mutex<Traced>>>,
}

impl Deref for Frame<'_> {
    type Target = SessionState;

    fn deref(&self) -> &SessionState {
        self.session
    }
}

impl DerefMut for Frame<'_> {
    fn deref_mut(&mut self) -> &mut SessionState {
        self.session
    }
}

impl<'s> Frame<'s> {
    /// The frame of a client's statement, which begins now.
    pub fn new(session: &'s mut SessionState) -> Frame<'s> {
        let clock_us = now_us(session);
        Frame {
            clock_us,
            schema: None,
            mode: session.sql_mode,
            acting: None,
            warnings: Warnings::new(session.vars.hot().max_error_count),
            params: None,
            param_types: None,
            running: Running::new(&session.status, clock_us, &session.process),
            names: Names::default(),
            tree: TreeMemory::begun(),
            traced: None,
            session,
        }
    }

    /// The frame of a statement that this one runs.
    pub fn nested(&mut self, own: Nested) -> Frame<'_> {
        let clock_us = if own.own_clock { now_us(self.session) } else { self.clock_us };
        Frame {
            clock_us,
            schema: own.schema.or_else(|| self.schema.clone()),
            mode: own.sql_mode.unwrap_or(self.mode),
            acting: own.acting.or_else(|| self.acting.clone()),
            warnings: Warnings::new(self.session.vars.hot().max_error_count),
            params: own.params,
            param_types: None,
            running: Running::new(&self.session.status, clock_us, &self.session.process),
            names: Names::default(),
            tree: TreeMemory::begun(),
            traced: None,
            session: self.session,
        }
    }

    /// The frame ends; what it leaves is for its caller to [take in](Frame::take_in).
    pub fn leave(self) -> Left {
        let (rows_sent, rows_affected) = (self.running.rows_sent, self.running.rows_affected);
        Left { warnings: self.warnings, rows_sent, rows_affected }
    }

    /// A nested frame has ended: its warnings are this one's, and so is what it sent and changed.
    pub fn take_in(&mut self, left: Left) {
        self.warnings.absorb(left.warnings);
        self.running.rows_sent = left.rows_sent;
        self.running.rows_affected = left.rows_affected;
    }

    /// The default schema.
    pub fn current_database(&self) -> Option<&str> {
        match &self.schema {
            Some(own) => own.as_deref(),
            None => self.session.database.as_deref(),
        }
    }

    pub(crate) fn schema_name(&self) -> Option<Arc<str>> {
        self.schema.as_ref().unwrap_or(&self.session.database).clone()
    }

    /// Gives the frame a default schema of its own, or with `None` the session's; returns what it had.
    pub fn swap_schema(&mut self, schema: Option<Option<Arc<str>>>) -> Option<Option<Arc<str>>> {
        std::mem::replace(&mut self.schema, schema)
    }

    /// COM_INIT_DB and USE.
    pub fn use_database(&mut self, name: &str) -> Result<()> {
        if name.is_empty() {
            return Err(Error::no_db());
        }
        self.require_on_schema(Privilege::Select, name)?;
        let canonical = self.canonical_schema(name).ok_or_else(|| Error::bad_db(name))?;
        self.schema = None;
        self.session.enter_schema(canonical);
        Ok(())
    }

    /// A schema is gone: whoever was in it is in none.
    pub fn leave_database(&mut self, gone: &str) {
        if self.session.database.as_deref() == Some(gone) {
            self.session.database = None;
            self.session.process.set_database(None);
        }
        if let Some(own) = self.schema.as_mut().filter(|own| own.as_deref() == Some(gone)) {
            *own = None;
        }
    }

    /// The sql_mode that the statement was written under.
    pub fn sql_mode(&self) -> SqlMode {
        self.mode
    }

    /// How texts are read that the statement brings along.
    pub fn parse_options(&self) -> ParseOptions {
        parse_options(&self.mode)
    }

    /// Warnings of the statement.
    pub fn warnings(&self) -> &Warnings {
        &self.warnings
    }

    /// A condition of the statement; notes only where they are wanted.
    pub fn warn(&self, warning: Warning) {
        if warning.level != WarningLevel::Note || self.session.vars.hot().sql_notes {
            self.warnings.push(warning);
        }
    }

    /// An error that is none here.
    pub fn note(&self, error: Error) {
        self.warn(error.into_warning(WarningLevel::Note));
    }

    /// Values of the statement's `?` parameters; none for a statement that came as text.
    pub fn params(&self) -> &[(Value, SqlType)] {
        self.params.as_deref().unwrap_or_default()
    }

    /// The types of the parameters, while plans hold parameters rather than values.
    pub fn param_types(&self) -> Option<&[SqlType]> {
        self.param_types.as_deref()
    }

    /// Gives the statement its parameters.
    pub fn set_params(&mut self, params: Values) {
        self.params = Some(params);
    }

    /// The plans that are made or run next hold parameters.
    pub fn set_typed_params(&mut self, params: Values) {
        self.param_types = Some(params.iter().map(|(_, ty)| *ty).collect());
        self.params = Some(params);
    }

    /// There are no parameters any more.
    pub fn clear_params(&mut self) {
        self.param_types = None;
        self.params = None;
    }

    /// When the statement began.
    pub fn now_us(&self) -> i64 {
        self.clock_us
    }

    /// The statement begins now, not when the frame was made.
    pub fn start_clock(&mut self) {
        self.clock_us = now_us(self.session);
    }

    /// A statement that was parsed begins: its time and its counts are from now on.
    pub fn begin_parsed_statement(&mut self) {
        self.start_clock();
        self.session.process.forget_plan();
        self.begin_counted_statement();
        self.running = Running::new(&self.session.status, self.clock_us, &self.session.process);
    }

    /// A statement begins that is answered by a cached plan.
    pub fn begin_known_statement(&mut self) {
        self.begin_counted_statement();
    }

    fn begin_counted_statement(&mut self) {
        self.session.status.questions.add(1);
        self.session.begin_statement();
        // An attempt by a cached plan may have left some.
        self.warnings = Warnings::new(self.session.vars.hot().max_error_count);
    }

    /// The statement has ended: the diagnostics area, the transaction and its metadata locks.
    pub fn end_known_statement(&mut self, result: Result<()>) -> Result<()> {
        let ended = self.unlock_known_statement(result);
        self.note_diagnostics(&ended);
        ended
    }

    /// The warnings of the statement, and the error that ended it, go to the diagnostics area.
    pub fn note_diagnostics(&mut self, ended: &Result<()>) {
        let session = &mut *self.session;
        session.diagnostics_count = self.warnings.count();
        if session.diagnostics_count > 0 || !session.diagnostics.is_empty() {
            session.diagnostics = self.warnings.take();
        }
        if let Err(e) = ended {
            session.row_count = -1;
            session.diagnostics_count += 1;
            let error = Warning { level: WarningLevel::Error, code: e.code(), message: e.message().into() };
            session.diagnostics.push(error);
        }
    }

    /// The statement's figures so far.
    pub(crate) fn ended(&self) -> Ended {
        self.running.ended(&self.session.status, &self.session.process)
    }

    /// FOUND_ROWS()
    pub fn set_found_rows(&mut self, rows: u64) {
        self.session.found_rows = rows;
        self.session.row_count = -1;
        self.running.rows_sent = rows;
    }

    /// What is said at the end of rows.
    pub fn end_info(&self, more: bool) -> EndInfo {
        EndInfo { warnings: self.warnings.count(), status: self.session.status_flags(more) }
    }

    /// Answers OK and sets ROW_COUNT().
    pub fn send_ok(&mut self, affected: u64, info: String, more: bool, sink: &mut dyn ResultSink) -> Result<()> {
        self.send_ok_with_id(affected, 0, info, more, sink)
    }

    /// The same, of a statement that has generated AUTO_INCREMENT values.
    pub fn send_ok_with_id(
        &mut self,
        affected: u64,
        last_insert_id: u64,
        info: String,
        more: bool,
        sink: &mut dyn ResultSink,
    ) -> Result<()> {
        self.running.rows_affected = affected;
        let session = &mut *self.session;
        session.row_count = affected as i64;
        let said = session.note_last_insert_id();
        let last_insert_id = if last_insert_id == 0 { said } else { last_insert_id };
        let schema_changed =
            std::mem::take(&mut session.schema_changed).then(|| session.database.as_deref().map(Into::into)).flatten();
        sink.ok(&OkInfo {
            affected_rows: affected,
            last_insert_id,
            warnings: self.warnings.count(),
            status: session.status_flags(more),
            info,
            schema_changed,
        })
    }
}

/// Now, or what `SET timestamp` says.
fn now_us(session: &SessionState) -> i64 {
    session.vars.hot().timestamp_us.unwrap_or_else(|| {
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_micros() as i64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ActsAs, Options, Parts, Shared};
    use accounts::{Accounts, AuthPlugin, Verifier};
    use catalog::Catalog;
    use machine::files::Bounds;
    use monitor::process::ProcessList;
    use storage::{StorageOptions, Store};
    use variables::GlobalVars;

    fn shared() -> Arc<Shared> {
        let parts = Parts {
            options: Options { workers: Some(0), is_helper: true, ..Options::default() },
            catalog: Catalog::default(),
            store: Store::new(StorageOptions::default()),
            accounts: Accounts::default(),
            variables: GlobalVars::default(),
            bounds: Bounds::new(None, None).expect("nothing is named"),
            spill_dir: std::env::temp_dir(),
        };
        Arc::new(Shared::new(parts).expect("a database in memory opens"))
    }

    fn session() -> SessionState {
        let entry = Arc::new(ProcessList::new()).add("localhost".into(), 9).expect("a place");
        SessionState::new(shared(), entry.process().clone(), "root", "localhost", ActsAs::Account)
    }

    fn params(n: i64) -> Values {
        [(Value::Int(n), SqlType::BIGINT)].into()
    }

    #[test]
    fn a_frame_has_its_own_and_the_callers_comes_back() {
        let mut session = session();
        let mut outer = Frame::new(&mut session);
        outer.set_params(params(1));
        outer.swap_schema(Some(Some("caller".into())));
        outer.note(Error::bad_db("a"));
        let (began, strict) = (outer.now_us(), outer.sql_mode().strict);
        assert!(outer.has(Privilege::File) && strict);
        let definer = Account {
            user: "definer".into(),
            host: "%".into(),
            plugin: AuthPlugin::CachingSha2Password,
            verifier: Verifier::None,
            locked: false,
            grant_option: false,
            privileged: false,
        };
        {
            let mut body = outer.nested(Nested {
                schema: Some(Some("written_in".into())),
                sql_mode: Some(SqlMode { ansi_quotes: true, strict: false, ..SqlMode::default() }),
                acting: Some(Acting::of(&definer)),
                params: Some(params(2)),
                own_clock: false,
            });
            assert_eq!(body.current_database(), Some("written_in"));
            assert!(body.parse_options().ansi_quotes && !body.sql_mode().strict);
            assert_eq!((body.account(), body.has(Privilege::File)), (("definer", "%"), false));
            assert_eq!((body.params()[0].0.clone(), body.now_us()), (Value::Int(2), began));
            assert_eq!(body.warnings().count(), 0);
            body.note(Error::bad_db("b"));
            // What a statement of the body runs has all that from it, but no parameters and warnings.
            let inner = body.nested(Nested::default());
            assert_eq!((inner.current_database(), inner.account().0), (Some("written_in"), "definer"));
            assert!(inner.sql_mode().ansi_quotes && inner.params().is_empty() && inner.warnings().count() == 0);
            inner.note(Error::bad_db("c"));
            let left = inner.leave();
            body.take_in(left);
            let left = body.leave();
            outer.take_in(left);
        }
        assert_eq!(outer.current_database(), Some("caller"));
        assert_eq!((outer.account(), outer.has(Privilege::File)), (("root", "localhost"), true));
        assert_eq!((outer.params()[0].0.clone(), outer.now_us()), (Value::Int(1), began));
        assert_eq!((outer.sql_mode().strict, outer.sql_mode().ansi_quotes), (strict, false));
        let said: Vec<String> = outer.warnings().take().into_iter().map(|w| w.message).collect();
        assert_eq!(said, ["a", "b", "c"].map(|n| format!("Unknown database '{n}'")));
    }

    #[test]
    fn what_a_frame_does_to_the_session_stays() {
        let mut session = session();
        let mut outer = Frame::new(&mut session);
        let mut body = outer.nested(Nested { schema: Some(None), ..Nested::default() });
        body.set_last_insert_id(7);
        body.set_found_rows(3);
        let left = body.leave();
        outer.take_in(left);
        assert_eq!(outer.ended().rows_sent, 3);
        assert_eq!((outer.info().last_insert_id, outer.info().found_rows), (7, 3));
        let mut late = outer.nested(Nested { own_clock: true, ..Nested::default() });
        std::thread::sleep(std::time::Duration::from_millis(1));
        late.start_clock();
        let began = late.now_us();
        assert!(outer.now_us() < began);
    }
}
