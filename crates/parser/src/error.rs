//! Errors in MySQL's words.

use types::{Error, ErrorCode};

/// Longest excerpt after "near", in characters.
const NEAR_MAX: usize = 80;

const SYNTAX: &str = "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version \
                      for the right syntax to use";

/// 1064, pointing at byte `at` of a statement that starts at byte `from`.
#[cold]
pub fn syntax(src: &[u8], from: usize, at: usize) -> Error {
    let at = at.min(src.len());
    let rest = &src[at..];
    // A character has at most four bytes; cut early so that huge statements are not converted.
    let near: String = String::from_utf8_lossy(&rest[..rest.len().min(NEAR_MAX * 4)]).chars().take(NEAR_MAX).collect();
    let line = 1 + memchr::memchr_iter(b'\n', &src[from.min(at)..at]).count();
    Error::new(ErrorCode::PARSE, format!("{SYNTAX} near '{near}' at line {line}"))
}

/// 1065: nothing but white space and comments.
pub fn empty() -> Error {
    Error::new(ErrorCode::EMPTY_QUERY, "Query was empty")
}

/// 1436: nested deeper than [`crate::MAX_NESTING`].
#[cold]
pub fn too_deep() -> Error {
    Error::new(
        ErrorCode::STACK_OVERRUN_NEED_MORE,
        format!("Thread stack overrun:  expressions can be nested {} levels deep at most", crate::MAX_NESTING),
    )
}

/// 1473: subqueries nested deeper than [`crate::MAX_QUERY_NESTING`].
#[cold]
pub fn too_deep_select() -> Error {
    Error::new(ErrorCode::TOO_HIGH_LEVEL_OF_NESTING_FOR_SELECT, "Too high level of nesting for select")
}

/// 1116
#[cold]
pub fn too_many_tables() -> Error {
    Error::new(
        ErrorCode::TOO_MANY_TABLES,
        format!("Too many tables; Nextleaf can only use {} tables in a join", crate::MAX_JOIN_TABLES),
    )
}

/// 1300: bytes that are no UTF-8 where a name stands.
#[cold]
pub fn invalid_utf8(bytes: &[u8]) -> Error {
    let shown: String = bytes.escape_ascii().to_string().chars().take(NEAR_MAX).collect();
    Error::new(ErrorCode::INVALID_CHARACTER_STRING, format!("Invalid utf8mb4 character string: '{shown}'"))
}
