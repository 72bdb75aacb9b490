//! The general query log: each command as it arrives, in the file of `general_log_file` and in mysql.general_log, as
//! `log_output` says.
//!
//! ```text
//! 2026-01-31T08:30:00.123456Z       8 Query   SELECT 1
//! ```

use super::log_file::LogFile;
use super::log_tables::GeneralRecord;
use std::sync::atomic::{AtomicBool, Ordering};
use types::temporal::Timestamp;

#[derive(Debug, Default)]
pub struct GeneralLog {
    on: AtomicBool,
    file: LogFile,
}

impl GeneralLog {
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    pub fn set_on(&self, on: bool) {
        self.on.store(on, Ordering::Relaxed);
    }

    pub(super) fn file(&self) -> &LogFile {
        &self.file
    }
}

/// A record as a line of the file.
pub fn line(r: &GeneralRecord) -> Vec<u8> {
    let mut line = Vec::with_capacity(64 + r.argument.len());
    types::temporal::date_format::date_format(Timestamp(r.at_us).to_utc(), b"%Y-%m-%dT%H:%i:%s.%fZ", &mut line);
    line.extend_from_slice(format!("\t{:5} {}\t", r.thread_id, r.command).as_bytes());
    line.extend_from_slice(&r.argument);
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_like_mysqls() {
        let r = GeneralRecord {
            at_us: 1_650_000_000_250_000,
            user_host: "joe[joe] @ localhost []".into(),
            thread_id: 8,
            command: "Query",
            argument: b"SELECT 1".to_vec(),
        };
        assert_eq!(line(&r), b"2022-04-15T05:20:00.250000Z\t    8 Query\tSELECT 1\n");
    }
}
