//! What a session notes when a command arrives and when a statement ends.

use crate::{Frame, SessionState};
use accounts::HIDDEN;
use monitor::Ended;
use monitor::digests::{Digest, sample};
use monitor::history::TEXT_BYTES_MAX;
use monitor::log_tables::{GeneralRecord, SlowRecord};
use monitor::secrets::without_secrets;
use monitor::slow_log::Client;
use std::borrow::Cow;
use types::Error;

impl SessionState {
    /// A command arrives.
    #[inline]
    pub fn note_command(&self, command: &'static str, argument: &[u8]) {
        if self.db().general_log().is_on() {
            self.log_command(command, argument);
        }
    }

    #[cold]
    fn log_command(&self, command: &'static str, argument: &[u8]) {
        if self.vars().on("sql_log_off") {
            return;
        }
        let outputs = self.db().variables().by_name("log_output").unwrap_or_default();
        let to = |name: &str| outputs.split(',').any(|o| o == name);
        let (user, host) = self.user();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let r = GeneralRecord {
            at_us: now.map_or(0, |d| d.as_micros() as i64),
            user_host: format!("{user}[{user}] @ {host} []"),
            thread_id: self.process().id(),
            command,
            argument: without_secrets(argument).into_owned(),
        };
        if to("FILE") {
            self.db().logs().log_record("general_log_file", |_, bytes| *bytes = monitor::general_log::line(&r));
        }
        if to("TABLE") {
            self.db().log_tables().add_general(r);
        }
    }
}

impl Frame<'_> {
    /// A statement has ended. `text`: as the client sent it, or nothing where the list of processes has it.
    pub fn note_ended(&self, digest: Option<&Digest>, text: &[u8], error: Option<&Error>, warnings: u64) {
        let mut ended = self.ended();
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
        self.db().logs().log_record("slow_query_log_file", |is_first, bytes| {
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
