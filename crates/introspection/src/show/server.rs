//! SHOW of the server's own state.

use crate::information_schema::misc;
use crate::server_state::status_rows;
use session::Frame;
use session::rows::{BIGINT, RowSet, UBIGINT, long_text, s, text, uint};
use types::{SqlType, Value, WarningLevel};

pub(super) fn show_status(frame: &Frame<'_>, global: bool) -> RowSet {
    let mut rows = RowSet::new(&[("Variable_name", text(64)), ("Value", text(1024))]);
    for (n, v) in status_rows(frame, global) {
        rows.push(vec![s(n), s(v)]);
    }
    rows
}

pub(super) fn show_engines() -> RowSet {
    let mut rows = RowSet::new(&[
        ("Engine", text(64)),
        ("Support", text(8)),
        ("Comment", text(80)),
        ("Transactions", text(3)),
        ("XA", text(3)),
        ("Savepoints", text(3)),
    ]);
    rows.rows = misc::engine_rows();
    rows
}

pub(super) fn show_processlist(frame: &Frame<'_>, full: bool) -> RowSet {
    let mut rows = RowSet::new(&[
        ("Id", UBIGINT),
        ("User", text(32)),
        ("Host", text(261)),
        ("db", text(64)),
        ("Command", text(16)),
        ("Time", BIGINT),
        ("State", text(64)),
        ("Info", long_text()),
    ]);
    rows.rows = misc::process_rows(frame, full);
    rows
}

pub(super) fn show_warnings(frame: &Frame<'_>, offset: u64, limit: Option<u64>, errors_only: bool) -> RowSet {
    let mut rows = RowSet::new(&[("Level", text(7)), ("Code", UBIGINT), ("Message", text(512))]);
    let wanted = frame.diagnostics().iter().filter(|w| !errors_only || w.level == WarningLevel::Error);
    for w in wanted.skip(offset as usize).take(limit.unwrap_or(u64::MAX).min(usize::MAX as u64) as usize) {
        let level = match w.level {
            WarningLevel::Note => "Note",
            WarningLevel::Warning => "Warning",
            WarningLevel::Error => "Error",
        };
        rows.push(vec![s(level), uint(w.code.0 as u64), s(&w.message)]);
    }
    rows
}

pub(super) fn show_count(frame: &Frame<'_>, heading: &'static str, errors_only: bool) -> RowSet {
    let mut rows = RowSet::new(&[(heading, UBIGINT)]);
    rows.push(vec![uint(frame.diagnostics_total(errors_only))]);
    rows
}

pub(super) fn show_collation() -> RowSet {
    let mut rows = RowSet::new(&[
        ("Collation", text(64)),
        ("Charset", text(64)),
        ("Id", UBIGINT),
        ("Default", text(3)),
        ("Compiled", text(3)),
        ("Sortlen", UBIGINT),
        ("Pad_attribute", text(9)),
    ]);
    rows.rows = misc::collation_rows();
    rows
}

pub(super) fn show_character_set() -> RowSet {
    let mut rows = RowSet::new(&[
        ("Charset", text(64)),
        ("Description", text(2048)),
        ("Default collation", text(64)),
        ("Maxlen", BIGINT),
    ]);
    for (name, collation, description, maxlen) in misc::CHARSETS {
        rows.push(vec![s(name), s(description), s(collation), Value::Int(*maxlen)]);
    }
    rows
}

pub(super) fn show_privileges() -> RowSet {
    let mut rows = RowSet::new(&[("Privilege", text(10)), ("Context", text(15)), ("Comment", text(128))]);
    rows.push(vec![s("Usage"), s("Server Admin"), s("No privileges - allow connect only")]);
    rows
}

pub(super) fn show_plugins() -> RowSet {
    let mut rows = RowSet::new(&[
        ("Name", text(64)),
        ("Status", text(10)),
        ("Type", text(80)),
        ("Library", text(64)),
        ("License", text(80)),
    ]);
    for (name, kind) in misc::PLUGIN_LIST {
        rows.push(vec![s(name), s("ACTIVE"), s(kind), Value::Null, s(misc::PLUGIN_LICENSE)]);
    }
    rows
}

fn empty(columns: &[(&str, SqlType)]) -> RowSet {
    RowSet::new(columns)
}

pub(super) fn empty_triggers() -> RowSet {
    empty(&[
        ("Trigger", text(64)),
        ("Event", text(6)),
        ("Table", text(64)),
        ("Statement", long_text()),
        ("Timing", text(6)),
        ("Created", SqlType::Timestamp { fsp: 2 }),
        ("sql_mode", text(512)),
        ("Definer", text(288)),
        ("character_set_client", text(64)),
        ("collation_connection", text(64)),
        ("Database Collation", text(64)),
    ])
}

pub(super) fn empty_events() -> RowSet {
    empty(&[("Db", text(64)), ("Name", text(64)), ("Definer", text(288)), ("Time zone", text(64)), ("Type", text(9))])
}

pub(super) fn empty_routines() -> RowSet {
    empty(&[("Db", text(64)), ("Name", text(64)), ("Type", text(10)), ("Definer", text(288)), ("Comment", long_text())])
}

pub(super) fn empty_profiles() -> RowSet {
    empty(&[("Query_ID", UBIGINT), ("Duration", SqlType::Double), ("Query", text(300))])
}

/// The line of COM_STATISTICS.
pub fn statistics(frame: &Frame<'_>) -> String {
    let db = frame.db();
    let sums = db.status().sums();
    let questions = sums.questions.get();
    let uptime = db.uptime_s();
    format!(
        "Uptime: {uptime}  Threads: {}  Questions: {questions}  Slow queries: {}  Opens: 0  Flush tables: 0  Open tables: {}  Queries per second avg: {:.3}",
        db.processes().len(),
        sums.slow_queries.get(),
        frame.relations(None).len(),
        questions as f64 / uptime.max(1) as f64
    )
}
