//! What a session notes when a statement begins and ends.

use super::Ended;
use super::digests::{Digest, sample};
use super::history::TEXT_BYTES_MAX;
use super::log_tables::SlowRecord;
use super::secrets::without_secrets;
use super::slow_log::Client;
use crate::accounts::HIDDEN;
use crate::process::Process;
use crate::session::Session;
use crate::status::SessionStatus;
use std::borrow::Cow;
use std::time::Instant;
use types::Error;

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

    fn ended(&self, status: &SessionStatus, process: &Process) -> Ended {
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

impl Session {
    /// A statement has ended. `text`: as the client sent it, or nothing where the list of processes has it.
    pub(crate) fn note_ended(&self, digest: Option<&Digest>, text: &[u8], error: Option<&Error>, warnings: u64) {
        let mut ended = self.running().ended(self.status(), self.process());
        ended.failed = error.is_some();
        ended.warnings = warnings;
        if let Some(digest) = digest {
            let sampled = || sample(&self.text_or_shown(text));
            digest.add(self.process().id(), &ended, sampled);
            if self.db().history().is_on() {
                self.note_history(digest, &ended, text, error);
            }
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
            && ended.rows_examined >= self.vars().uint("min_examined_row_limit");
        if !wanted {
            return;
        }
        let outputs = globals.by_name("log_output").unwrap_or_default();
        let to = |name: &str| outputs.split(',').any(|o| o == name);
        let (user, host) = self.user();
        if to("TABLE") {
            self.db().log_tables().add_slow(SlowRecord {
                ended: *ended,
                user_host: format!("{user}[{user}] @ {host} []"),
                schema: self.current_database().unwrap_or_default().into(),
                thread_id: self.process().id(),
                text: self.text_or_shown(text),
            });
        }
        if !to("FILE") {
            return;
        }
        let client = Client { user, host, id: self.process().id(), schema: self.current_database() };
        let text = self.text_or_shown(text);
        let log = self.db().slow_log();
        self.db().log_record("slow_query_log_file", |is_first, bytes| {
            *bytes = log.record(is_first, &client, ended, &text);
        });
    }

    fn note_history(&self, digest: &Digest, ended: &Ended, text: &[u8], error: Option<&Error>) {
        let process = self.process();
        let mut ring = process.history().lock();
        let slot = ring.next(process.id());
        match text {
            b"" => process.copy_info(&mut slot.text, TEXT_BYTES_MAX),
            text => slot.text.extend_from_slice(&text[..text.len().min(TEXT_BYTES_MAX)]),
        }
        // The words near which the grammar ended may be a password.
        let unsaid = Error::syntax_near(HIDDEN, 1);
        let hides =
            error.is_some_and(|e| e.code() == unsaid.code()) && matches!(without_secrets(&slot.text), Cow::Owned(_));
        slot.set(ended, self.current_database(), digest.id(), if hides { Some(&unsaid) } else { error });
        if self.db().history().is_long_on() {
            self.db().history().add_long(slot.clone());
        }
    }

    fn text_or_shown(&self, text: &[u8]) -> Vec<u8> {
        let mut shown = text.to_vec();
        if text.is_empty() {
            self.process().copy_info(&mut shown, usize::MAX);
        }
        shown
    }
}
