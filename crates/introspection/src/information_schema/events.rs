//! The last statements of each connection, and the logs as tables: performance_schema.events_statements_*, threads,
//! setup_consumers; mysql.slow_log, mysql.general_log.

use super::VirtualTable;
use accounts::Privilege;
use monitor::digests::Digest;
use monitor::history::Event;
use session::Frame;
use session::rows::{UBIGINT, long_text, opt, s, text, uint};
use std::collections::HashMap;
use std::sync::Arc;
use types::{SqlType, Value};

const TIME: SqlType = SqlType::DateTime { fsp: 6 };

const COLUMNS: &[(&str, SqlType)] = &[
    ("THREAD_ID", UBIGINT),
    ("EVENT_ID", UBIGINT),
    ("END_EVENT_ID", UBIGINT),
    ("EVENT_NAME", text(128)),
    ("SOURCE", text(64)),
    ("TIMER_START", UBIGINT),
    ("TIMER_END", UBIGINT),
    ("TIMER_WAIT", UBIGINT),
    ("LOCK_TIME", UBIGINT),
    ("SQL_TEXT", long_text()),
    ("DIGEST", text(64)),
    ("DIGEST_TEXT", long_text()),
    ("CURRENT_SCHEMA", text(64)),
    ("OBJECT_TYPE", text(64)),
    ("OBJECT_SCHEMA", text(64)),
    ("OBJECT_NAME", text(64)),
    ("OBJECT_INSTANCE_BEGIN", UBIGINT),
    ("MYSQL_ERRNO", UBIGINT),
    ("RETURNED_SQLSTATE", text(5)),
    ("MESSAGE_TEXT", text(128)),
    ("ERRORS", UBIGINT),
    ("WARNINGS", UBIGINT),
    ("ROWS_AFFECTED", UBIGINT),
    ("ROWS_SENT", UBIGINT),
    ("ROWS_EXAMINED", UBIGINT),
    ("CREATED_TMP_DISK_TABLES", UBIGINT),
    ("CREATED_TMP_TABLES", UBIGINT),
    ("SELECT_FULL_JOIN", UBIGINT),
    ("SELECT_FULL_RANGE_JOIN", UBIGINT),
    ("SELECT_RANGE", UBIGINT),
    ("SELECT_RANGE_CHECK", UBIGINT),
    ("SELECT_SCAN", UBIGINT),
    ("SORT_MERGE_PASSES", UBIGINT),
    ("SORT_RANGE", UBIGINT),
    ("SORT_ROWS", UBIGINT),
    ("SORT_SCAN", UBIGINT),
    ("NO_INDEX_USED", UBIGINT),
    ("NO_GOOD_INDEX_USED", UBIGINT),
    ("NESTING_EVENT_ID", UBIGINT),
    ("NESTING_EVENT_TYPE", text(11)),
    ("NESTING_EVENT_LEVEL", UBIGINT),
    ("STATEMENT_ID", UBIGINT),
];

/// `statement/sql/select`: by the statement's first word.
fn event_name(text: &str) -> String {
    let blank = |c: char| c.is_whitespace() || c == '(';
    let mut text = text.trim_start_matches(blank);
    while let Some((_, rest)) = text.strip_prefix("/*").and_then(|t| t.split_once("*/")) {
        text = rest.trim_start_matches(blank);
    }
    let word: String = text.chars().take_while(char::is_ascii_alphabetic).collect();
    let word = match &*word.to_ascii_lowercase() {
        "" => "error".to_string(),
        "with" | "table" | "values" => "select".into(),
        "start" => "begin".into(),
        "use" => "change_db".into(),
        "set" => "set_option".into(),
        other => other.to_string(),
    };
    format!("statement/sql/{word}")
}

/// Picoseconds since the server's start.
fn since_start(session: &Frame<'_>, at_us: i64) -> u64 {
    (at_us - session.db().started_us()).max(0) as u64 * 1_000_000
}

fn event_row(session: &Frame<'_>, e: &Event, digests: &HashMap<u64, Arc<Digest>>, runs: bool) -> Vec<Value> {
    let digest = digests.get(&e.digest);
    let shown = match (e.text.is_empty(), digest.and_then(|d| d.text.as_deref())) {
        (true, Some(digest)) => digest.to_string(),
        _ => String::from_utf8_lossy(&e.text).into_owned(),
    };
    let a = &e.ended;
    let start = since_start(session, a.began_us);
    let id = uint(e.event_id);
    let mut row = vec![uint(u64::from(e.thread_id)), id.clone(), if runs { Value::Null } else { id.clone() }];
    row.extend([s(event_name(&shown)), s(""), uint(start)]);
    row.extend([start.saturating_add(a.nanos.saturating_mul(1000)), a.nanos.saturating_mul(1000)].map(uint));
    row.push(uint(a.lock_nanos.saturating_mul(1000)));
    row.push(s(shown));
    row.extend([opt(digest.and_then(|d| d.digest.as_deref())), opt(digest.and_then(|d| d.text.as_deref()))]);
    row.push(opt(Some(&*e.schema).filter(|s| !s.is_empty())));
    row.extend([Value::Null, Value::Null, Value::Null, Value::Null]);
    match &e.error {
        Some(x) => row.extend([uint(u64::from(x.0)), s(&*x.1), s(x.2.chars().take(128).collect::<String>()), uint(1)]),
        None => row.extend([uint(0), s("00000"), Value::Null, uint(0)]),
    }
    row.extend([a.warnings, a.rows_affected, a.rows_sent, a.rows_examined].map(uint));
    row.extend([a.created_tmp_disk_tables, a.created_tmp_tables].map(uint));
    row.extend([a.select_full_join, a.select_full_range_join, a.select_range, a.select_range_check].map(uint));
    row.extend([a.select_scan, a.sort_merge_passes, a.sort_range, a.sort_rows, a.sort_scan].map(uint));
    row.extend([u64::from(a.used_no_index()), 0].map(uint));
    row.extend([Value::Null, Value::Null, uint(0), id]);
    row
}

/// Of each connection the statement that it runs, or else the last one.
pub const EVENTS_STATEMENTS_CURRENT: VirtualTable = VirtualTable {
    name: "events_statements_current",
    columns: COLUMNS,
    rows: |session, out| {
        let digests = session.db().digests().by_id();
        for p in session.db().processes().all() {
            let (events, count) = {
                let ring = p.history().lock();
                (ring.events(), ring.count())
            };
            let info = p.info();
            if !session.may_see_processes_of(&info.user) {
                continue;
            }
            let Some(text) = info.info.filter(|_| p.is_running()) else {
                out.rows.extend(events.last().map(|e| event_row(session, e, &digests, false)));
                continue;
            };
            let mut e = Event { thread_id: p.id(), event_id: count + 1, text, ..Event::default() };
            e.schema = info.database.unwrap_or_default();
            e.ended.nanos = info.time.as_nanos() as u64;
            e.ended.began_us = session.now_us() - info.time.as_micros() as i64;
            out.push(event_row(session, &e, &digests, true));
        }
    },
};

pub const EVENTS_STATEMENTS_HISTORY: VirtualTable = VirtualTable {
    name: "events_statements_history",
    columns: COLUMNS,
    rows: |session, out| {
        let digests = session.db().digests().by_id();
        let all = session.db().processes().all();
        for p in all.iter().filter(|p| session.may_see_processes_of(&p.info().user)) {
            let events = p.history().lock().events();
            out.rows.extend(events.iter().map(|e| event_row(session, e, &digests, false)));
        }
    },
};

pub const EVENTS_STATEMENTS_HISTORY_LONG: VirtualTable = VirtualTable {
    name: "events_statements_history_long",
    columns: COLUMNS,
    rows: |session, out| {
        // Whose they were is not kept.
        if !session.has(Privilege::Process) {
            return;
        }
        let digests = session.db().digests().by_id();
        let events = session.db().history().long();
        out.rows.extend(events.iter().map(|e| event_row(session, e, &digests, false)));
    },
};

/// The connections. Other threads have no rows.
pub const THREADS: VirtualTable = VirtualTable {
    name: "threads",
    columns: &[
        ("THREAD_ID", UBIGINT),
        ("NAME", text(128)),
        ("TYPE", text(10)),
        ("PROCESSLIST_ID", UBIGINT),
        ("PROCESSLIST_USER", text(32)),
        ("PROCESSLIST_HOST", text(255)),
        ("PROCESSLIST_DB", text(64)),
        ("PROCESSLIST_COMMAND", text(16)),
        ("PROCESSLIST_TIME", UBIGINT),
        ("PROCESSLIST_STATE", text(64)),
        ("PROCESSLIST_INFO", long_text()),
    ],
    rows: |session, out| {
        let all = session.db().processes().infos();
        for p in all.into_iter().filter(|p| session.may_see_processes_of(&p.user)) {
            let info = p.info.map(|i| String::from_utf8_lossy(&i).into_owned());
            let mut row = vec![uint(u64::from(p.id)), s("thread/sql/one_connection"), s("FOREGROUND")];
            row.extend([uint(u64::from(p.id)), s(p.user), s(p.host), opt(p.database.as_deref()), s(p.command)]);
            row.extend([uint(p.time.as_secs()), s(p.state), opt(info.as_deref())]);
            out.push(row);
        }
    },
};

/// What can be turned on and off, by UPDATE.
pub const SETUP_CONSUMERS: VirtualTable = VirtualTable {
    name: "setup_consumers",
    columns: &[("NAME", text(64)), ("ENABLED", text(3))],
    rows: |session, out| {
        for (name, on) in consumers(session) {
            out.push(vec![s(name), s(if on { "YES" } else { "NO" })]);
        }
    },
};

/// What is kept of statements, and whether it is.
pub fn consumers(frame: &Frame<'_>) -> [(&'static str, bool); 4] {
    let (digests, history) = (frame.db().digests(), frame.db().history());
    [
        ("events_statements_current", history.is_on()),
        ("events_statements_history", history.is_on()),
        ("events_statements_history_long", history.is_on() && history.is_long_on()),
        ("statements_digest", digests.is_on()),
    ]
}

/// Turns one on or off; how many it changed.
pub fn set_consumer(frame: &Frame<'_>, name: &str, on: bool) -> u64 {
    let before = consumers(frame);
    match name {
        "events_statements_history_long" => frame.db().history().set_long_on(on),
        "events_statements_current" | "events_statements_history" => frame.db().history().set_on(on),
        "statements_digest" => frame.db().digests().set_on(on),
        _ => {}
    }
    u64::from(before != consumers(frame))
}

fn server_id(session: &Frame<'_>) -> Value {
    uint(session.db().variables().int("server_id").max(0) as u64)
}

fn duration(nanos: u64) -> Value {
    Value::Time(types::temporal::Time((nanos / 1000) as i64))
}

pub const SLOW_LOG: VirtualTable = VirtualTable {
    name: "slow_log",
    columns: &[
        ("start_time", TIME),
        ("user_host", long_text()),
        ("query_time", SqlType::Time { fsp: 6 }),
        ("lock_time", SqlType::Time { fsp: 6 }),
        ("rows_sent", UBIGINT),
        ("rows_examined", UBIGINT),
        ("db", text(512)),
        ("last_insert_id", UBIGINT),
        ("insert_id", UBIGINT),
        ("server_id", UBIGINT),
        ("sql_text", long_text()),
        ("thread_id", UBIGINT),
    ],
    rows: |session, out| {
        for r in session.db().log_tables().slow() {
            let e = &r.ended;
            let mut row = vec![Value::DateTime(session.local_datetime(e.began_us)), s(r.user_host)];
            row.extend([duration(e.nanos), duration(e.lock_nanos), uint(e.rows_sent), uint(e.rows_examined)]);
            row.extend([s(r.schema), uint(0), uint(0), server_id(session)]);
            row.extend([s(String::from_utf8_lossy(&r.text)), uint(u64::from(r.thread_id))]);
            out.push(row);
        }
    },
};

pub const GENERAL_LOG: VirtualTable = VirtualTable {
    name: "general_log",
    columns: &[
        ("event_time", TIME),
        ("user_host", long_text()),
        ("thread_id", UBIGINT),
        ("server_id", UBIGINT),
        ("command_type", text(64)),
        ("argument", long_text()),
    ],
    rows: |session, out| {
        for r in session.db().log_tables().general() {
            let mut row = vec![Value::DateTime(session.local_datetime(r.at_us)), s(r.user_host)];
            row.extend([uint(u64::from(r.thread_id)), server_id(session), s(r.command)]);
            row.push(s(String::from_utf8_lossy(&r.argument)));
            out.push(row);
        }
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_have_the_names_of_their_verbs() {
        for (text, name) in [
            ("SELECT 1", "select"),
            (" (select 1)", "select"),
            ("/* a */ (/* b */ select 1)", "select"),
            ("WITH x AS (SELECT 1) SELECT * FROM x", "select"),
            ("insert into t values (1)", "insert"),
            ("USE d", "change_db"),
            ("?", "error"),
        ] {
            assert_eq!(event_name(text), format!("statement/sql/{name}"), "{text}");
        }
    }
}
