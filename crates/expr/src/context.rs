//! What evaluation may look at besides its rows: the session's facts, parameters, user variables, warnings.
//!
//! All of it is `Sync`: one context serves every worker of a statement.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use types::temporal::TimeZone;
use types::{Error, Result, SqlType, Value, Warning, WarningLevel};

/// The sql_mode flags that evaluation and binding heed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SqlMode {
    pub only_full_group_by: bool,
    /// STRICT_TRANS_TABLES or STRICT_ALL_TABLES
    pub strict: bool,
    pub no_zero_in_date: bool,
    pub no_zero_date: bool,
    pub error_for_division_by_zero: bool,
    pub no_engine_substitution: bool,
    pub ansi_quotes: bool,
    pub pipes_as_concat: bool,
    pub no_backslash_escapes: bool,
    pub high_not_precedence: bool,
    pub ignore_space: bool,
    pub no_unsigned_subtraction: bool,
    pub allow_invalid_dates: bool,
    pub real_as_float: bool,
    pub no_auto_value_on_zero: bool,
    pub time_truncate_fractional: bool,
}

impl Default for SqlMode {
    /// MySQL 8's default.
    fn default() -> SqlMode {
        SqlMode {
            only_full_group_by: true,
            strict: true,
            no_zero_in_date: true,
            no_zero_date: true,
            error_for_division_by_zero: true,
            no_engine_substitution: true,
            ansi_quotes: false,
            pipes_as_concat: false,
            no_backslash_escapes: false,
            high_not_precedence: false,
            ignore_space: false,
            no_unsigned_subtraction: false,
            allow_invalid_dates: false,
            real_as_float: false,
            no_auto_value_on_zero: false,
            time_truncate_fractional: false,
        }
    }
}

/// Facts of the session and statement that functions answer from.
#[derive(Clone, Debug)]
pub struct SessionInfo {
    pub sql_mode: SqlMode,
    /// Microseconds since 1970 UTC at which the statement began: NOW() is constant within it.
    pub statement_time_us: i64,
    pub time_zone: TimeZone,
    pub connection_id: u64,
    /// `user@host` as authenticated.
    pub user: Arc<str>,
    pub database: Option<Arc<str>>,
    pub version: &'static str,
    pub last_insert_id: u64,
    pub row_count: i64,
    pub found_rows: u64,
    pub div_precision_increment: u8,
    pub group_concat_max_len: u64,
    pub max_allowed_packet: u64,
    pub default_week_format: u8,
    /// `lc_time_names`
    pub locale: &'static types::Locale,
    /// Of string literals.
    pub collation_connection: types::Collation,
    /// GET_LOCK and its like; `None`: not available here.
    pub locks: Option<Arc<dyn UserLocks>>,
    /// Set as soon as the statement is to stop: planning computes constants, too.
    pub stop: Arc<AtomicBool>,
}

/// Locks by name, as GET_LOCK takes them. Names are of one case.
pub trait UserLocks: std::fmt::Debug + Send + Sync {
    /// GET_LOCK: false after `timeout` (`None`: no limit). 3058 for the victim of a deadlock.
    fn get(&self, name: &str, timeout: Option<std::time::Duration>) -> Result<bool>;
    /// RELEASE_LOCK: `None` if nobody has it, false if another session has.
    fn release(&self, name: &str) -> Option<bool>;
    /// RELEASE_ALL_LOCKS: how many there were.
    fn release_all(&self) -> u64;
    /// The connection that has the lock.
    fn holder(&self, name: &str) -> Option<u64>;
}

/// Statement parameters; slots are filled before the pipeline that reads them runs.
#[derive(Clone, Debug, Default)]
pub struct Params {
    pub values: Vec<Option<(Value, SqlType)>>,
}

/// Where the bytes of long values are counted that live on after their statement.
pub trait HeldBytes: std::fmt::Debug + Send + Sync {
    /// So many are held now; 3170 if there is no memory for more.
    fn hold(&self, bytes: usize) -> Result<()>;
}

/// `@variables` of a session.
#[derive(Debug, Default)]
pub struct UserVars {
    values: Mutex<HashMap<String, Arc<(Value, SqlType)>>>,
    /// Of all of them.
    bytes: AtomicUsize,
    held: Option<Box<dyn HeldBytes>>,
    /// [`LAST_INSERT_ID`] may be among them: every statement asks.
    last_insert_id: AtomicBool,
}

/// What [`UserVars`] were at one time.
#[derive(Debug)]
pub struct SavedVars(HashMap<String, Arc<(Value, SqlType)>>);

/// The hidden variable that LAST_INSERT_ID(expr) sets.
pub(crate) const LAST_INSERT_ID: &str = "\0last_insert_id";

impl UserVars {
    /// What the running statement's LAST_INSERT_ID(expr) said last.
    pub fn take_last_insert_id(&self) -> Option<u64> {
        if !self.last_insert_id.load(Ordering::Relaxed) {
            return None;
        }
        self.last_insert_id.store(false, Ordering::Relaxed);
        match self.values.lock().expect("no panic while held").remove(LAST_INSERT_ID)?.0 {
            Value::UInt(v) => Some(v),
            Value::Int(v) => Some(v as u64),
            _ => Some(0),
        }
    }

    /// Names are case-insensitive.
    pub fn get(&self, name: &str) -> Option<Arc<(Value, SqlType)>> {
        self.values.lock().expect("no panic while held").get(&name.to_lowercase()).cloned()
    }

    pub fn set(&self, name: &str, value: Value, ty: SqlType) -> Result<()> {
        if name == LAST_INSERT_ID {
            self.last_insert_id.store(true, Ordering::Relaxed);
        }
        let name = name.to_lowercase();
        let mut values = self.values.lock().expect("no panic while held");
        let old = values.get(&name).map_or(0, |held| held_bytes(&name, &held.0));
        let new = held_bytes(&name, &value);
        if new != old {
            self.hold(self.bytes.load(Ordering::Relaxed) + new - old)?;
        }
        values.insert(name, Arc::new((value, ty)));
        Ok(())
    }

    /// Variables that are charged to `held`.
    pub fn held_by(held: Box<dyn HeldBytes>) -> UserVars {
        UserVars { held: Some(held), ..UserVars::default() }
    }

    fn hold(&self, bytes: usize) -> Result<()> {
        if let Some(held) = &self.held {
            held.hold(bytes)?;
        }
        self.bytes.store(bytes, Ordering::Relaxed);
        Ok(())
    }

    /// All of them as they are now.
    pub fn saved(&self) -> SavedVars {
        SavedVars(self.values.lock().expect("no panic while held").clone())
    }

    /// Puts them back: what was assigned since is forgotten.
    pub fn restore(&self, saved: &SavedVars) {
        self.last_insert_id.store(saved.0.contains_key(LAST_INSERT_ID), Ordering::Relaxed);
        self.values.lock().expect("no panic while held").clone_from(&saved.0);
        let bytes = saved.0.iter().map(|(name, held)| held_bytes(name, &held.0)).sum();
        // They were held before; should that be refused now, the count stays too high.
        let _ = self.hold(bytes);
    }

    pub fn clear(&self) {
        self.values.lock().expect("no panic while held").clear();
        // What shrinks is never refused.
        let _ = self.hold(0);
    }
}

/// Of a variable that costs little: its place in the table and the two that lie apart.
const VARIABLE_BYTES: usize = 256;

fn held_bytes(name: &str, v: &Value) -> usize {
    let string = match v {
        Value::Bytes(b) => b.len(),
        _ => 0,
    };
    VARIABLE_BYTES + name.len() + string
}

/// MySQL's messages have no more bytes.
const MESSAGE_BYTES_MAX: usize = 511;

/// Collects a statement's warnings: the first `max_error_count` are kept, all are counted.
#[derive(Debug)]
pub struct Warnings {
    kept: Mutex<Vec<Warning>>,
    count: AtomicU64,
    max_kept: usize,
    raise: AtomicBool,
    ignore: AtomicBool,
}

impl Warnings {
    pub fn new(max_kept: usize) -> Warnings {
        Warnings {
            kept: Mutex::default(),
            count: AtomicU64::new(0),
            max_kept,
            raise: AtomicBool::new(false),
            ignore: AtomicBool::new(false),
        }
    }

    pub fn push(&self, mut warning: Warning) {
        if warning.message.len() > MESSAGE_BYTES_MAX {
            warning.message.truncate(warning.message.floor_char_boundary(MESSAGE_BYTES_MAX));
            warning.message.shrink_to_fit();
        }
        let n = self.count.fetch_add(1, Ordering::Relaxed);
        if (n as usize) < self.max_kept {
            self.kept.lock().expect("no panic while held").push(warning);
        }
    }

    /// Whether faults that strict mode forbids in data changes (1292, 1365, 1411, 1441...) fail the statement. Set for
    /// INSERT, UPDATE and DELETE in strict mode without IGNORE.
    pub fn set_raise(&self, raise: bool) {
        self.raise.store(raise, Ordering::Relaxed);
    }

    /// Whether values that do not fit where they are stored are warnings in strict mode, too: the statement says
    /// IGNORE.
    pub fn set_ignore(&self, ignore: bool) {
        self.ignore.store(ignore, Ordering::Relaxed);
    }

    pub(crate) fn ignores(&self) -> bool {
        self.ignore.load(Ordering::Relaxed)
    }

    /// A fault in a value: a warning, or the statement's error if faults are raised.
    pub fn fault(&self, error: Error) -> Result<()> {
        if self.raise.load(Ordering::Relaxed) {
            return Err(error);
        }
        let (code, message) = (error.code(), error.message().to_string());
        self.push(Warning { level: WarningLevel::Warning, code, message });
        Ok(())
    }

    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// Drops all behind the first `count`.
    pub fn forget_after(&self, count: u64) {
        self.count.store(count, Ordering::Relaxed);
        self.kept.lock().expect("no panic while held").truncate(count as usize);
    }

    /// None yet, under the same rules.
    pub(crate) fn empty_like(&self) -> Warnings {
        let empty = Warnings::new(self.max_kept);
        empty.set_raise(self.raise.load(Ordering::Relaxed));
        empty.set_ignore(self.ignores());
        empty
    }

    /// Adds those of `other`.
    pub fn absorb(&self, other: Warnings) {
        let uncounted = other.count();
        if uncounted == 0 {
            return;
        }
        let kept = other.take();
        self.count.fetch_add(uncounted.saturating_sub(kept.len() as u64), Ordering::Relaxed);
        kept.into_iter().for_each(|w| self.push(w));
    }

    pub fn take(&self) -> Vec<Warning> {
        self.count.store(0, Ordering::Relaxed);
        std::mem::take(&mut self.kept.lock().expect("no panic while held"))
    }
}

/// Everything evaluation needs besides the batch.
#[derive(Clone, Copy, Debug)]
pub struct EvalContext<'a> {
    pub session: &'a SessionInfo,
    pub params: &'a Params,
    pub user_vars: &'a UserVars,
    pub warnings: &'a Warnings,
    /// Set by KILL and by timeouts; long functions (SLEEP, BENCHMARK) look at it.
    pub killed: &'a AtomicBool,
    /// What nodes may make of several rows at a time; see [`crate::eval::Bound`].
    pub bound: Option<&'a crate::eval::Bound>,
    /// What the strings that are made may take.
    pub strings: crate::eval::StringLimit,
}

impl<'a> EvalContext<'a> {
    /// Strings are bounded by the process's memory alone.
    pub fn new(
        session: &'a SessionInfo,
        params: &'a Params,
        user_vars: &'a UserVars,
        warnings: &'a Warnings,
        killed: &'a AtomicBool,
    ) -> EvalContext<'a> {
        EvalContext { session, params, user_vars, warnings, killed, bound: None, strings: Default::default() }
    }

    /// See [`Warnings::fault`].
    pub fn fault(&self, error: Error) -> Result<()> {
        self.warnings.fault(error)
    }

    /// 1317 once the statement is killed.
    pub fn check_killed(&self) -> Result<()> {
        if self.killed.load(Ordering::Relaxed) { Err(Error::query_interrupted()) } else { Ok(()) }
    }
}

impl Default for SessionInfo {
    /// A session with MySQL's default settings and nobody logged in.
    fn default() -> SessionInfo {
        SessionInfo {
            sql_mode: SqlMode::default(),
            statement_time_us: 0,
            time_zone: TimeZone::Utc,
            connection_id: 0,
            user: "".into(),
            database: None,
            version: "8.4.0",
            last_insert_id: 0,
            row_count: 0,
            found_rows: 0,
            div_precision_increment: 4,
            group_concat_max_len: 1024,
            max_allowed_packet: 64 << 20,
            default_week_format: 0,
            locale: types::locale::english(),
            collation_connection: types::Collation::default(),
            locks: None,
            stop: Arc::default(),
        }
    }
}
