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

mod database;
mod ddl;
mod dml;
mod durability;
mod load;
mod plan_cache;
mod prepared;
mod query;
mod server_tables;
mod session;
mod statistics;
mod stream;

pub use crate::session::Session;
pub use ::session::collect::{Collect, LocalFiles, open_local};
pub use ::session::sink::{ColumnMeta, EndInfo, OkInfo, ResultShape, ResultSink, RowAt, StatusFlags};
pub use ::session::{CachedPlans, LogReopener, Options, ServerStopper};
pub use accounts::{Account, Accounts, AuthPlugin, Privilege, Rights, Verifier};
pub use database::Database;
pub use machine::files;
pub use monitor::Notices;
pub use monitor::process::{Entry, Kill, Process, ProcessInfo, ProcessList};
pub use monitor::status::GlobalStatus;
/// The columns of EXPLAIN's table.
pub use plan::explain::TRADITIONAL_COLUMNS as EXPLAIN_COLUMNS;
pub use prepared::PreparedInfo;
pub use storage::sync::on_wait;
pub use storage::{Snapshot, TableStream, Unsettled};
pub use types::VERSION;
pub use variables::{OptionFault, check_option};
