//! mysql.slow_log and mysql.general_log: the logs as tables, where `log_output` names TABLE.
//!
//! The records are held in memory, the newest [`ROWS_MAX`] of each table; TRUNCATE empties it. (MySQL keeps them in
//! files of comma-separated values, without a bound.)

use super::Ended;
use parking_lot::Mutex;
use std::collections::VecDeque;

/// Records that a table has at most.
pub const ROWS_MAX: usize = 20_000;
/// Bytes of a statement that are kept.
const TEXT_BYTES_MAX: usize = 4096;

/// A record of mysql.slow_log.
#[derive(Clone, Debug)]
pub struct SlowRecord {
    pub ended: Ended,
    pub user_host: String,
    pub schema: String,
    pub thread_id: u32,
    pub text: Vec<u8>,
}

/// A record of mysql.general_log.
#[derive(Clone, Debug)]
pub struct GeneralRecord {
    pub at_us: i64,
    pub user_host: String,
    pub thread_id: u32,
    /// `Query`, `Connect`, ...
    pub command: &'static str,
    pub argument: Vec<u8>,
}

#[derive(Debug, Default)]
pub struct LogTables {
    slow: Mutex<VecDeque<SlowRecord>>,
    general: Mutex<VecDeque<GeneralRecord>>,
}

fn push<T>(rows: &Mutex<VecDeque<T>>, row: T) {
    let mut rows = rows.lock();
    if rows.len() == ROWS_MAX {
        rows.pop_front();
    }
    rows.push_back(row);
}

impl LogTables {
    pub fn add_slow(&self, mut r: SlowRecord) {
        r.text.truncate(TEXT_BYTES_MAX);
        push(&self.slow, r);
    }

    pub fn add_general(&self, mut r: GeneralRecord) {
        r.argument.truncate(TEXT_BYTES_MAX);
        push(&self.general, r);
    }

    pub fn slow(&self) -> Vec<SlowRecord> {
        self.slow.lock().iter().cloned().collect()
    }

    pub fn general(&self) -> Vec<GeneralRecord> {
        self.general.lock().iter().cloned().collect()
    }

    pub fn clear_slow(&self) {
        self.slow.lock().clear();
    }

    pub fn clear_general(&self) {
        self.general.lock().clear();
    }
}
