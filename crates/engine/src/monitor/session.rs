//! What a session notes when a statement begins and ends.

use super::Ended;
use super::digests::{Digest, sample};
use super::slow_log::Client;
use crate::session::Session;
use crate::status::SessionStatus;
use std::path::PathBuf;
use std::time::Instant;

/// Where the session's counters were when the running statement began.
#[derive(Clone, Copy, Debug)]
pub struct Running {
    started: Instant,
    began_us: i64,
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
    pub fn new(status: &SessionStatus, began_us: i64) -> Running {
        Running { started: Instant::now(), began_us, counts: counts(status), rows_sent: 0, rows_affected: 0 }
    }

    fn ended(&self, status: &SessionStatus) -> Ended {
        let now = counts(status);
        // FLUSH STATUS sets them to zero.
        let since = |i: usize| now[i].saturating_sub(self.counts[i]);
        Ended {
            nanos: self.started.elapsed().as_nanos().min(u64::MAX.into()) as u64,
            began_us: self.began_us,
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

impl Session {
    /// A statement has ended. `text`: as the client sent it, or nothing where the list of processes has it.
    pub(crate) fn note_ended(&self, digest: Option<&Digest>, text: &[u8], failed: bool) {
        let mut ended = self.running().ended(self.status());
        ended.failed = failed;
        ended.warnings = self.warnings().count();
        if let Some(digest) = digest {
            let sampled = || sample(&self.text_or_shown(text));
            digest.add(self.process().id(), &ended, sampled);
        }
        let slow = ended.nanos / 1000 > self.vars().hot().long_query_time_us;
        if slow {
            self.status().slow_queries.add(1);
        }
        if slow || ended.used_no_index() {
            self.log_slow(slow, &ended, text);
        }
    }

    #[cold]
    fn log_slow(&self, slow: bool, ended: &Ended, text: &[u8]) {
        let globals = self.db().variables();
        let on = |name: &str| globals.by_name(name).as_deref() == Some("ON");
        let wanted = on("slow_query_log")
            && (slow || on("log_queries_not_using_indexes"))
            && ended.rows_examined >= self.vars().uint("min_examined_row_limit")
            && globals.by_name("log_output").is_some_and(|o| o.split(',').any(|w| w == "FILE"));
        if !wanted {
            return;
        }
        let (user, host) = self.user();
        let client = Client { user, host, id: self.process().id(), schema: self.current_database() };
        let text = self.text_or_shown(text);
        // A log that cannot be written must not fail statements.
        let _ = self.db().slow_log().write(&self.slow_log_path(), &client, ended, &text);
    }

    fn text_or_shown(&self, text: &[u8]) -> Vec<u8> {
        if text.is_empty() { self.process().info().info.unwrap_or_default() } else { text.to_vec() }
    }

    /// slow_query_log_file; a relative one lies beside the data.
    fn slow_log_path(&self) -> PathBuf {
        let name = self.db().variables().by_name("slow_query_log_file").unwrap_or_default();
        match &self.db().options().dir {
            Some(dir) => dir.join(&*name),
            None => PathBuf::from(&*name),
        }
    }
}
