//! One constructor per condition, with MySQL's wording. Quoted arguments are cut where MySQL cuts them, so that a
//! megabyte literal does not come back in a message.
//!
//! The submodules hold tables of constructors by subject; here are those that need more than a template.

use std::fmt;

use super::{Error, ErrorCode};

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident($($arg:ident),*) = $code:ident, $template:literal;)*) => {
        impl Error {
            $(
                $(#[$doc])*
                #[doc = concat!("`", $template, "`")]
                pub fn $name($($arg: impl fmt::Display),*) -> Error {
                    Error::new(ErrorCode::$code, format!($template))
                }
            )*
        }
    };
}

mod definitions;
mod server;
mod statements;
mod values;

/// At most `chars` characters of `text`: MySQL's `%-.128s`.
pub fn clip(text: impl fmt::Display, chars: usize) -> String {
    let mut s = text.to_string();
    if let Some((end, _)) = s.char_indices().nth(chars) {
        s.truncate(end);
    }
    s
}

impl Error {
    /// 1064 with the parser's own words in front: `{message} near '{near}' at line {line}`; `near` is cut to 80
    /// characters. [`Error::syntax_near`] has the usual words.
    pub fn parse(message: impl fmt::Display, near: &str, line: usize) -> Error {
        Error::new(ErrorCode::PARSE, format!("{message} near '{}' at line {line}", clip(near, 80)))
    }

    /// 1064 as MySQL's grammar answers it: `near` is the statement's text from the offending token on.
    pub fn syntax_near(near: &str, line: usize) -> Error {
        Error::parse(Error::syntax().message(), near, line)
    }

    /// 1292 `Truncated incorrect {kind} value: '{value}'`; `kind`: `INTEGER`, `DOUBLE`, `DECIMAL`, `time`...
    pub fn truncated_wrong_value(kind: impl fmt::Display, value: impl fmt::Display) -> Error {
        let value = clip(value, 128);
        Error::new(ErrorCode::TRUNCATED_WRONG_VALUE, format!("Truncated incorrect {kind} value: '{value}'"))
    }

    /// 1292 `Incorrect {kind} value: '{value}'`: a temporal value that cannot be read, in an expression.
    pub fn incorrect_value_1292(kind: impl fmt::Display, value: impl fmt::Display) -> Error {
        let value = clip(value, 128);
        Error::new(ErrorCode::TRUNCATED_WRONG_VALUE, format!("Incorrect {kind} value: '{value}'"))
    }

    /// 1292 `Incorrect {kind} value: '{value}' for column '{column}' at row {row}`: temporal columns.
    pub fn incorrect_temporal_for_column(
        kind: impl fmt::Display,
        value: impl fmt::Display,
        column: impl fmt::Display,
        row: impl fmt::Display,
    ) -> Error {
        let value = clip(value, 128);
        Error::new(
            ErrorCode::TRUNCATED_WRONG_VALUE,
            format!("Incorrect {kind} value: '{value}' for column '{column}' at row {row}"),
        )
    }

    /// 1366 `Incorrect {kind} value: '{value}' for column '{column}' at row {row}`; `kind`: `integer`, `decimal`,
    /// `double`, `string`.
    pub fn truncated_wrong_value_for_field(
        kind: impl fmt::Display,
        value: impl fmt::Display,
        column: impl fmt::Display,
        row: impl fmt::Display,
    ) -> Error {
        let value = clip(value, 128);
        Error::new(
            ErrorCode::TRUNCATED_WRONG_VALUE_FOR_FIELD,
            format!("Incorrect {kind} value: '{value}' for column '{column}' at row {row}"),
        )
    }

    /// 1411 `Incorrect {kind} value: '{value}' for function {function}`.
    pub fn wrong_value_for_type(
        kind: impl fmt::Display,
        value: impl fmt::Display,
        function: impl fmt::Display,
    ) -> Error {
        let value = clip(value, 128);
        Error::new(
            ErrorCode::WRONG_VALUE_FOR_TYPE,
            format!("Incorrect {kind} value: '{value}' for function {function}"),
        )
    }

    /// 1525 `Incorrect {kind} value: '{value}'`: a temporal literal or constant that cannot be read.
    pub fn wrong_value(kind: impl fmt::Display, value: impl fmt::Display) -> Error {
        let value = clip(value, 128);
        Error::new(ErrorCode::WRONG_VALUE, format!("Incorrect {kind} value: '{value}'"))
    }

    /// 1300 `Invalid {charset} character string: '{bytes}'`; the bytes as MySQL shows them: up to six, as `\xE4`, after
    /// the valid part.
    pub fn invalid_character_string(charset: impl fmt::Display, bytes: impl fmt::Display) -> Error {
        let bytes = clip(bytes, 64);
        Error::new(ErrorCode::INVALID_CHARACTER_STRING, format!("Invalid {charset} character string: '{bytes}'"))
    }

    /// 1644 and its kin: a message of the user's own.
    pub fn user_message(code: ErrorCode, message: impl Into<String>) -> Error {
        Error::new(code, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wording_number_and_state() {
        for (e, number, state, message) in [
            (Error::bad_db("x"), 1049, "42000", "Unknown database 'x'"),
            (Error::dup_entry("1", "t.PRIMARY"), 1062, "23000", "Duplicate entry '1' for key 't.PRIMARY'"),
            (Error::regexp_bad_interval(), 3692, "HY000", "Incorrect description of a {min,max} interval."),
            (
                Error::lock_deadlock(),
                1213,
                "40001",
                "Deadlock found when trying to get lock; try restarting transaction",
            ),
            (
                Error::syntax_near("FORM t", 1),
                1064,
                "42000",
                "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use near 'FORM t' at line 1",
            ),
        ] {
            assert_eq!((e.code().0, e.sqlstate(), e.message()), (number, state, message));
        }
        assert!(Error::truncated_wrong_value("DOUBLE", "x".repeat(1000)).message().len() < 200);
    }
}
