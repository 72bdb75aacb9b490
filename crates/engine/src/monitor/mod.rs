//! What is kept of statements: sums by digest, the last ones of each connection, and the logs.
//!
//! ```text
//!   statement ends ─▶ Ended { time, rows, how tables were read } ─┬▶ digests   sums of all statements of one shape
//!                                                                ├▶ history   the last ones of each connection
//!                                                                └▶ slow_log  a record in a file, if it took long
//! ```
//! - [`digests`] has performance_schema.events_statements_summary_by_digest, [`history`] events_statements_history.
//! - [`slow_log`] writes the log of slow_query_log, [`general_log`] that of general_log, to [`log_files`]; [`log_tables`] holds
//!   both as tables.
//! - [`secrets`] keeps passwords out of all of it.
//! - [`session`] has what a session notes when a statement begins and ends, [`setup`] the statements that change all this.
//!
//! Source: MySQL manual, "Statement Summary Tables", "The Slow Query Log".

pub mod digests;
pub mod general_log;
pub mod history;
pub mod log_files;
pub mod log_tables;
pub(crate) mod secrets;
pub mod session;
mod setup;
pub mod slow_log;

/// A statement that has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    pub nanos: u64,
    /// Of them, spent waiting for locks of rows and tables.
    pub lock_nanos: u64,
    /// Microseconds since 1970 at which it began.
    pub began_us: i64,
    pub failed: bool,
    pub warnings: u64,
    pub rows_affected: u64,
    pub rows_sent: u64,
    /// Rows read before conditions.
    pub rows_examined: u64,
    pub created_tmp_disk_tables: u64,
    pub created_tmp_tables: u64,
    pub select_full_join: u64,
    pub select_full_range_join: u64,
    pub select_range: u64,
    pub select_range_check: u64,
    pub select_scan: u64,
    pub sort_merge_passes: u64,
    pub sort_range: u64,
    pub sort_rows: u64,
    pub sort_scan: u64,
}

impl Ended {
    /// Some table was read whole.
    pub fn used_no_index(&self) -> bool {
        self.select_scan + self.select_full_join > 0
    }
}
