//! System variables: their definitions, global values and each session's own.
//!
//! A variable is held as the text that SHOW VARIABLES prints, already checked and normalized by its [`Kind`]. What a
//! variable *does* is read by the code it steers through typed getters; [`defs`] marks those that are accepted for
//! compatibility alone, and docs/operate/configuration.md, which is made from it, lists them.

pub mod charset;
mod check;
pub mod defs;
mod gtid;
mod hot;
mod isolation;
pub mod meaning;
mod read_only;
mod sql_mode;
mod start;

pub use check::normalize;
pub use defs::{Kind, Scope, VarDef, find};

pub use hot::HotVars;
pub use isolation::Isolation;
pub use read_only::{ReadOnly, ReadOnlyCell};
pub use sql_mode::parse_sql_mode;
pub use start::{OptionFault, check_option, is_start_option, set_initial};

use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use types::{Error, Result, SqlType, Value};

/// Values by name.
type Values = HashMap<&'static str, Box<str>>;

/// Global values: those that differ from the built-in ones, and all that a session starts with.
#[derive(Debug, Default)]
pub struct GlobalVars {
    changed: RwLock<Values>,
    /// Made when a session first needs it, thrown away by SET GLOBAL; sessions share it.
    initial: Mutex<Option<Arc<Values>>>,
    /// Grows with each SET GLOBAL, after the value can be read.
    version: AtomicU64,
}

impl GlobalVars {
    pub fn get(&self, def: &VarDef) -> Box<str> {
        self.changed.read().get(def.name).cloned().unwrap_or_else(|| def.default.into())
    }

    /// The value of a variable that has been given one.
    pub fn if_set(&self, name: &str) -> Option<Box<str>> {
        self.changed.read().get(name).cloned()
    }

    /// `text` as [`normalize`] returned it.
    pub fn set(&self, def: &'static VarDef, text: Box<str>) {
        self.changed.write().insert(def.name, text);
        *self.initial.lock() = None;
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Grows with each SET GLOBAL.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub fn by_name(&self, name: &str) -> Option<Box<str>> {
        find(name).map(|d| self.get(d))
    }

    pub fn int(&self, name: &str) -> i64 {
        self.by_name(name).and_then(|t| t.parse().ok()).unwrap_or(0)
    }

    fn initial(&self) -> Arc<Values> {
        let mut initial = self.initial.lock();
        let made = initial.get_or_insert_with(|| {
            let of_sessions = defs::DEFS.iter().filter(|d| d.scope != Scope::Global);
            Arc::new(of_sessions.map(|d| (d.name, self.get(d))).collect())
        });
        made.clone()
    }
}

/// A session's values: the global ones when it started, and those that it has set itself.
#[derive(Debug, Clone)]
pub struct SessionVars {
    initial: Arc<Values>,
    own: Values,
    hot: HotVars,
}

impl SessionVars {
    pub fn new(globals: &GlobalVars) -> SessionVars {
        let mut vars = SessionVars { initial: globals.initial(), own: HashMap::new(), hot: HotVars::default() };
        vars.hot = HotVars::of(&vars);
        vars
    }

    /// The values that every statement needs, read already.
    pub fn hot(&self) -> &HotVars {
        &self.hot
    }

    /// # Panics
    /// If no such session variable is defined: a misspelling in our code.
    pub fn text(&self, name: &str) -> &str {
        self.find(name).unwrap_or_else(|| panic!("session variable {name} is not defined"))
    }

    fn find(&self, name: &str) -> Option<&str> {
        let own = if self.own.is_empty() { None } else { self.own.get(name) };
        own.or_else(|| self.initial.get(name)).map(|v| &**v)
    }

    pub fn get(&self, def: &VarDef) -> Option<&str> {
        self.find(def.name)
    }

    pub fn set(&mut self, def: &'static VarDef, text: Box<str>) {
        self.own.insert(def.name, text);
        self.hot = HotVars::of(self);
    }

    pub fn set_by_name(&mut self, name: &str, text: &str) {
        let def = find(name).expect("callers name defined variables");
        self.set(def, text.into());
    }

    pub fn int(&self, name: &str) -> i64 {
        self.text(name).parse().unwrap_or(0)
    }

    pub fn uint(&self, name: &str) -> u64 {
        self.text(name).parse().unwrap_or(0)
    }

    pub fn on(&self, name: &str) -> bool {
        self.text(name) == "ON"
    }
}

/// The value of a variable as `SELECT @@name` yields it.
pub fn sql_value(def: &VarDef, text: &str) -> (Value, SqlType) {
    let string = || (Value::str(text), SqlType::varchar(text.chars().count().max(1) as u32, Default::default()));
    match def.kind {
        Kind::Bool => (Value::Int((text == "ON") as i64), SqlType::BIGINT),
        Kind::Int { min, .. } if min < 0 => match text.parse() {
            Ok(v) => (Value::Int(v), SqlType::BIGINT),
            Err(_) => string(),
        },
        Kind::Int { .. } => match text.parse() {
            Ok(v) => (Value::UInt(v), SqlType::BIGINT_UNSIGNED),
            Err(_) => string(),
        },
        Kind::Double { .. } => match text.parse() {
            Ok(v) => (Value::Double(v), SqlType::Double),
            Err(_) => string(),
        },
        _ if text == NULL_TEXT => (Value::Null, SqlType::varchar(1, Default::default())),
        _ => string(),
    }
}

/// Text of a variable that is NULL (`character_set_results` after SET NAMES binary).
pub const NULL_TEXT: &str = "\0";

/// Looks a variable up by name, whatever its case; error 1193.
pub fn require(name: &str) -> Result<&'static VarDef> {
    find(name).ok_or_else(|| Error::unknown_system_variable(name))
}
