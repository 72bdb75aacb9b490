//! Sessions and statements: from SQL text to an answer in a sink.
//!
//! ```text
//!  text ─ parser ─▶ Statement ─ session::dispatch ─┬─ query: bind, optimize, execute ─▶ ResultSink
//!                                                  ├─ dml, load: rows into storage under a transaction
//!  prepared statements ─ prepared ─────────────────▶┤
//!                                                  ├─ ddl: new definitions into the catalog
//!                                                  └─ show, set, ...: answers from the session itself
//! ```
//! Invariants: no packets here (a [`sink::ResultSink`] takes rows); no async; a statement holds no latch while it waits
//! for its sink; an error leaves the session usable.

mod accounts;
mod charset;
mod collect;
mod database;
mod ddl;
mod dml;
mod durability;
pub mod files;
mod information_schema;
mod load;
mod machine;
mod mdl;
mod monitor;
mod plan_cache;
mod prepared;
mod process;
mod query;
mod rights;
mod rows;
mod session;
mod show;
mod sink;
mod statistics;
mod status;
mod stream;
mod timer;
mod variables;

pub use accounts::{Account, Accounts, AuthPlugin, Verifier};
pub use collect::{Collect, LocalFiles, open_local};
pub use database::{Database, LogReopener, Notices, Options, ServerStopper};
/// The columns of EXPLAIN's table.
pub use plan::explain::TRADITIONAL_COLUMNS as EXPLAIN_COLUMNS;
pub use prepared::PreparedInfo;
pub use process::{Entry, Kill, Process, ProcessInfo, ProcessList};
pub use rights::{Privilege, Rights};
pub use session::Session;
pub use sink::{ColumnMeta, EndInfo, OkInfo, ResultShape, ResultSink, RowAt, StatusFlags};
pub use status::GlobalStatus;
pub use storage::sync::on_wait;
pub use storage::{Snapshot, TableStream, Unsettled};
pub use variables::{OptionFault, check_option};

use std::path::Path;
use types::{Error, ErrorCode};

/// An operating system error on a path, with the error number.
pub(crate) fn io_error(what: &str, path: &Path, e: &std::io::Error) -> Error {
    Error::new(
        ErrorCode(if what == "create" { 1004 } else { 29 }),
        format!("Can't {what} '{}' (errno: {} - {e})", path.display(), e.raw_os_error().unwrap_or(0)),
    )
}

/// The version that clients are told.
pub const VERSION: &str = concat!("8.4.0-nextleaf-", env!("CARGO_PKG_VERSION"));
