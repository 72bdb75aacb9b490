//! Connections and their statements as others see them: who is there and what runs, what stops it, and what is kept of
//! it.
//!
//! ```text
//!   statement ends ─▶ Ended { time, rows, how tables were read } ─┬▶ digests   sums of all statements of one shape
//!                                                                ├▶ history   the last ones of each connection
//!                                                                └▶ slow_log  a record in a file, if it took long
//! ```
//! - [`process`]: the list of connections, and KILL; [`timer`]: max_execution_time.
//! - [`status`]: the counters of SHOW STATUS.
//! - [`digests`] has performance_schema.events_statements_summary_by_digest, [`history`] events_statements_history.
//! - [`slow_log`] writes the log of slow_query_log, [`general_log`] that of general_log, to a [`log_file`] each;
//!   [`log_files`] says where; [`log_tables`] holds both as tables.
//! - [`secrets`] keeps passwords out of all of it.
//!
//! Invariant: a session writes here and is never asked: nothing here knows sessions, and whoever looks waits for none.
//!
//! Source: MySQL manual, "Statement Summary Tables", "The Slow Query Log".

pub mod digests;
mod ended;
pub mod general_log;
pub mod history;
pub mod log_file;
pub mod log_files;
pub mod log_tables;
pub mod process;
pub mod secrets;
pub mod slow_log;
pub mod status;
pub mod timer;

pub use ended::{Ended, Running};

use std::sync::Arc;

/// Where lines for the server's log go; nowhere by default.
#[derive(Clone, Default)]
pub struct Notices(pub Option<Arc<dyn Fn(String) + Send + Sync>>);

impl std::fmt::Debug for Notices {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Notices")
    }
}

impl Notices {
    /// Hands a line over.
    pub fn tell(&self, line: String) {
        if let Some(tell) = &self.0 {
            tell(line);
        }
    }
}
