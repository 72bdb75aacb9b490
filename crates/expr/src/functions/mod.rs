//! Scalar functions. Each has one [`Record`]: names, arguments, the rule for its type, when it is NULL, what it reads,
//! how long its value lasts, and its kernel. See [`record`] for how to read one.
//!
//! ```text
//!   name ──find──▶ Record ──build::function──▶ ExprKind::Call { function, args } ──compile──▶ Node with its kernel
//! ```
//!
//! A family of functions is a module with a `records!` table and the kernels; [`FAMILIES`] lists them. So a new
//! function is a line of one table, a kernel beside it, and perhaps a rule for its type.
//!
//! Names and argument rules: MySQL 8.4 manual, chapter "Functions and Operators".

mod built;
mod digest;
mod eval;
mod list;
mod locks;
mod network;
mod not_yet;
mod numeric;
mod other;
mod record;
mod regexp;
mod rules;
mod session;
mod string;
mod temporal;

pub(crate) use eval::{Call, CallState, over_dictionary};
pub use list::{FunctionInfo, FunctionKind, all, not_yet};
pub(crate) use not_yet::is_not_yet;
pub(crate) use numeric::ROUND_TO_SCALE;
pub(crate) use other::{COALESCE, COLUMN_VALUE, HEX_LITERAL};
pub(crate) use record::{Bound, Instead, Kernel, Origin, Strength};
pub use record::{Reads, Record, Volatility};
pub(crate) use regexp::REGEXP_LIKE;
pub(crate) use rules::{Arguments, fsp_of, result_type};
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::LazyLock;
pub(crate) use string::{COLLATE, TRIM};
pub(crate) use temporal::{DATE_ADD, DATE_SUB, EXTRACT, EXTRACT_DAY_TIME, TIMESTAMP_DIFF};
pub use types::temporal::IntervalUnit;

/// Years that the dates of a table are of, if nothing is known.
pub(crate) const YEARS: f64 = 20.0;

/// Which ends TRIM cuts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrimSide {
    Both,
    Leading,
    Trailing,
}

/// What a call names beside its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Detail {
    None,
    Unit(IntervalUnit),
    Side(TrimSide),
}

/// The function of a call: its record, and what the call names beside the arguments.
#[derive(Clone, Copy)]
pub struct Function {
    record: &'static Record,
    detail: Detail,
}

impl Function {
    pub(crate) const fn new(record: &'static Record) -> Function {
        Function { record, detail: Detail::None }
    }

    pub(crate) const fn with(record: &'static Record, detail: Detail) -> Function {
        Function { record, detail }
    }

    pub fn record(self) -> &'static Record {
        self.record
    }

    pub(crate) fn detail(self) -> Detail {
        self.detail
    }

    /// Whether it is the function of this record.
    pub(crate) fn is(self, record: &'static Record) -> bool {
        std::ptr::eq(self.record, record)
    }

    /// The function in SQL, upper case.
    pub fn name(self) -> &'static str {
        self.record.names[0]
    }

    /// Differs from call to call (RAND, UUID, SLEEP, SYSDATE).
    pub fn is_volatile(self) -> bool {
        self.record.volatility == Volatility::Row
    }

    /// Neither warns nor fails, and is the same at every call.
    pub(crate) fn is_harmless(self) -> bool {
        !self.record.may_warn && !self.is_volatile()
    }

    /// Depends on the session or on the time of the statement.
    pub fn is_session(self) -> bool {
        self.record.reads != Reads::Nothing
    }

    /// About how many values it has over rows of a table, where that does not follow from its arguments: tables hold
    /// some years.
    pub fn value_count(self) -> Option<f64> {
        match self.detail {
            Detail::Unit(IntervalUnit::Year | IntervalUnit::YearMonth) => Some(YEARS),
            _ => self.record.value_count,
        }
    }

    /// A quotient or average as the type that is shown: the argument has all its digits.
    pub fn is_rounding(self) -> bool {
        self.is(&ROUND_TO_SCALE)
    }

    /// `0x41`, `x'41'`, `b'..'`: a binary string that is a number where one is wanted.
    pub fn is_hex_literal(self) -> bool {
        self.is(&HEX_LITERAL)
    }

    /// SLEEP
    pub fn is_sleep(self) -> bool {
        self.is(&other::SLEEP)
    }

    /// COALESCE, and IFNULL, which is one.
    pub fn is_coalesce(self) -> bool {
        self.is(&COALESCE)
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        self.is(other.record) && self.detail == other.detail
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self.record).hash(state);
        self.detail.hash(state);
    }
}

impl std::fmt::Debug for Function {
    /// Its word, and the detail in parentheses: `date_add(Day)`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.record.word.to_ascii_lowercase())?;
        match self.detail {
            Detail::None => Ok(()),
            Detail::Unit(unit) => write!(f, "({unit:?})"),
            Detail::Side(side) => write!(f, "({side:?})"),
        }
    }
}

/// All families.
static FAMILIES: &[&[&Record]] = &[
    built::RECORDS,
    digest::RECORDS,
    locks::RECORDS,
    network::RECORDS,
    numeric::RECORDS,
    other::RECORDS,
    regexp::RECORDS,
    session::RECORDS,
    string::RECORDS,
    temporal::RECORDS,
];

pub(crate) fn records() -> impl Iterator<Item = &'static Record> {
    FAMILIES.iter().flat_map(|family| family.iter().copied())
}

/// The function of that name, in any case, if statements call it by name.
pub fn find(name: &str) -> Option<&'static Record> {
    static BY_NAME: LazyLock<HashMap<&'static str, &'static Record>> = LazyLock::new(|| {
        let called = records().filter(|r| r.origin == Origin::Name);
        called.flat_map(|r| r.names.iter().map(move |name| (*name, r))).collect()
    });
    BY_NAME.get(&*name.to_ascii_uppercase()).copied()
}
