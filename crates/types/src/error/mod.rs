//! Errors as MySQL's clients see them: number, SQLSTATE and message, attached once, here.
//!
//! Every fallible function of the project returns [`Result`]. An error is made by the constructor of its kind, which
//! holds MySQL's wording; code that needs another one adds a constructor rather than a format string of its own.

mod codes;
mod constructors;

pub use constructors::clip;

use std::fmt;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A MySQL error number (`ER_...`), e.g. 1064.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ErrorCode(pub u16);

/// An error with MySQL's number and message. Boxed so that `Result<T>` stays one word wide.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    code: ErrorCode,
    message: String,
}

impl Error {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Error {
        Error(Box::new(Inner { code, message: message.into() }))
    }

    pub fn code(&self) -> ErrorCode {
        self.0.code
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }

    pub fn sqlstate(&self) -> &'static str {
        self.0.code.sqlstate()
    }
}

impl Error {
    /// The same condition as a row of SHOW WARNINGS, at the given level.
    pub fn into_warning(self, level: WarningLevel) -> Warning {
        Warning { level, code: self.0.code, message: self.0.message }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ERROR {} ({}): {}", self.0.code.0, self.sqlstate(), self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

/// Level column of SHOW WARNINGS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WarningLevel {
    Note,
    Warning,
    Error,
}

/// One row of SHOW WARNINGS.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    pub level: WarningLevel,
    pub code: ErrorCode,
    pub message: String,
}

impl Warning {
    /// A row of level `Warning` with the wording of `error`.
    pub fn of(error: Error) -> Warning {
        error.into_warning(WarningLevel::Warning)
    }

    /// A row of level `Note` with the wording of `error`.
    pub fn note(error: Error) -> Warning {
        error.into_warning(WarningLevel::Note)
    }

    /// The warning as an error: what strict mode makes of it.
    pub fn into_error(self) -> Error {
        Error::new(self.code, self.message)
    }
}

impl WarningLevel {
    /// The word in the Level column.
    pub const fn as_str(self) -> &'static str {
        match self {
            WarningLevel::Note => "Note",
            WarningLevel::Warning => "Warning",
            WarningLevel::Error => "Error",
        }
    }
}
