//! A statement that has ended, in figures; and where the session's counters were when it began.

use crate::process::Process;
use crate::status::SessionStatus;
use std::time::Instant;

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

/// Where the session's counters were when the running statement began.
#[derive(Clone, Copy, Debug)]
pub struct Running {
    started: Instant,
    began_us: i64,
    lock_wait_ns: u64,
    counts: [u64; COUNTS],
    pub rows_sent: u64,
    pub rows_affected: u64,
}

const COUNTS: usize = 12;

fn counts(s: &SessionStatus) -> [u64; COUNTS] {
    [
        &s.innodb_rows_read,
        &s.created_tmp_disk_tables,
        &s.created_tmp_tables,
        &s.select_full_join,
        &s.select_full_range_join,
        &s.select_range,
        &s.select_range_check,
        &s.select_scan,
        &s.sort_merge_passes,
        &s.sort_range,
        &s.sort_rows,
        &s.sort_scan,
    ]
    .map(|c| c.get())
}

impl Running {
    /// A statement begins.
    pub fn new(status: &SessionStatus, began_us: i64, process: &Process) -> Running {
        Running {
            started: Instant::now(),
            began_us,
            lock_wait_ns: process.lock_wait_ns(),
            counts: counts(status),
            rows_sent: 0,
            rows_affected: 0,
        }
    }

    /// The figures of the statement, which ends now.
    pub fn ended(&self, status: &SessionStatus, process: &Process) -> Ended {
        let now = counts(status);
        // FLUSH STATUS sets them to zero.
        let since = |i: usize| now[i].saturating_sub(self.counts[i]);
        Ended {
            nanos: self.started.elapsed().as_nanos().min(u64::MAX.into()) as u64,
            began_us: self.began_us,
            lock_nanos: process.lock_wait_ns() - self.lock_wait_ns,
            rows_sent: self.rows_sent,
            rows_affected: self.rows_affected,
            rows_examined: since(0),
            created_tmp_disk_tables: since(1),
            created_tmp_tables: since(2),
            select_full_join: since(3),
            select_full_range_join: since(4),
            select_range: since(5),
            select_range_check: since(6),
            select_scan: since(7),
            sort_merge_passes: since(8),
            sort_range: since(9),
            sort_rows: since(10),
            sort_scan: since(11),
            ..Ended::default()
        }
    }
}
