//! The slow query log, in the format that mysqldumpslow and pt-query-digest read.
//!
//! ```text
//! # Time: 2026-01-31T08:30:00.123456Z
//! # User@Host: root[root] @ localhost []  Id:     8
//! # Query_time: 2.000123  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 10000
//! use test;
//! SET timestamp=1769848200;
//! SELECT ...;
//! ```
//! One write a record, so that records of several sessions do not mix. [`log_files`](super::log_files) has
//! the file.

use super::Ended;
use super::log_file::LogFile;
use parking_lot::Mutex;
use std::fmt::Write as _;
use types::temporal::Timestamp;

#[derive(Debug, Default)]
pub struct SlowLog {
    file: LogFile,
    /// The schema that the last record of the open file named. Changes under the file's latch.
    schema: Mutex<Option<Box<str>>>,
}

/// Who ran the statement, and where.
#[derive(Debug)]
pub struct Client<'a> {
    pub user: &'a str,
    pub host: &'a str,
    pub id: u32,
    pub schema: Option<&'a str>,
}

impl SlowLog {
    /// A record's bytes. `is_first`: of the open file.
    pub fn record(&self, is_first: bool, client: &Client<'_>, ended: &Ended, text: &[u8]) -> Vec<u8> {
        let mut schema = self.schema.lock();
        if is_first {
            *schema = None;
        }
        let changes = client.schema.is_some() && schema.as_deref() != client.schema;
        if changes {
            *schema = client.schema.map(Into::into);
        }
        record(client, changes, ended, text)
    }

    pub fn file(&self) -> &LogFile {
        &self.file
    }
}

fn record(client: &Client<'_>, names_schema: bool, ended: &Ended, text: &[u8]) -> Vec<u8> {
    let end_us = ended.began_us + (ended.nanos / 1000) as i64;
    let mut at = Vec::new();
    types::temporal::date_format::date_format(Timestamp(end_us).to_utc(), b"%Y-%m-%dT%H:%i:%s.%f", &mut at);
    let at = String::from_utf8_lossy(&at);
    let mut head = String::new();
    let (seconds, locked) = (ended.nanos as f64 / 1e9, ended.lock_nanos as f64 / 1e9);
    let (user, host, id) = (client.user, client.host, client.id);
    let _ = write!(
        head,
        "# Time: {at}Z\n# User@Host: {user}[{user}] @ {host} []  Id: {id:5}\n# Query_time: {seconds:.6}  \
         Lock_time: {locked:.6} Rows_sent: {}  Rows_examined: {}\n",
        ended.rows_sent, ended.rows_examined,
    );
    if let (true, Some(schema)) = (names_schema, client.schema) {
        let _ = writeln!(head, "use {schema};");
    }
    let _ = writeln!(head, "SET timestamp={};", ended.began_us.div_euclid(1_000_000));
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(text);
    bytes.extend_from_slice(b";\n");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_read_like_mysqls() {
        let client = Client { user: "joe", host: "localhost", id: 8, schema: Some("d") };
        let ended = Ended {
            nanos: 2_000_123_456,
            began_us: 1_650_000_000_250_000,
            rows_sent: 1,
            rows_examined: 7,
            ..Ended::default()
        };
        let text = String::from_utf8(record(&client, true, &ended, b"SELECT SLEEP(2)")).unwrap();
        let expected = "# Time: 2022-04-15T05:20:02.250123Z\n# User@Host: joe[joe] @ localhost []  Id:     8\n\
             # Query_time: 2.000123  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 7\nuse d;\n\
             SET timestamp=1650000000;\nSELECT SLEEP(2);\n";
        assert_eq!(text, expected);
    }
}
