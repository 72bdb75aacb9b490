//! What the machine gives: memory that the process may have, and files.
//!
//! - [`memory`]: the least of the machine's, the system's and the control groups' limits.
//! - [`files`]: where statements may read and write files, and how the server opens those that it writes of itself.
//!
//! Invariant: a path is judged and used as one thing, so that nothing can be put in its place between the two.

pub mod files;
pub mod memory;

use std::path::Path;
use types::{Error, ErrorCode};

/// An operating system error on a path, with the error number.
pub fn io_error(what: &str, path: &Path, e: &std::io::Error) -> Error {
    Error::new(
        ErrorCode(if what == "create" { 1004 } else { 29 }),
        format!("Can't {what} '{}' (errno: {} - {e})", path.display(), e.raw_os_error().unwrap_or(0)),
    )
}
