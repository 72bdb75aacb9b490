//! Status variables and system variables by name, for SHOW and for tables.

use session::Frame;
use session::rows::{RowSet, s, text};
use std::sync::atomic::Ordering;
use types::Timestamp;
use variables::{NULL_TEXT, Scope, defs};

/// What a page is to those who ask for pages.
const PAGE_BYTES: u64 = 16384;

/// Variables of things that are not here, which those who watch servers read nevertheless: always 0.
const MEANINGLESS: &[&str] = &[
    "Binlog_cache_disk_use",
    "Binlog_cache_use",
    "Com_call_procedure",
    "Created_tmp_files",
    "Delayed_insert_threads",
    "Handler_discover",
    "Handler_external_lock",
    "Handler_prepare",
    "Innodb_buffer_pool_bytes_dirty",
    "Innodb_buffer_pool_pages_dirty",
    "Innodb_buffer_pool_pages_flushed",
    "Innodb_buffer_pool_pages_free",
    "Innodb_buffer_pool_pages_misc",
    "Innodb_buffer_pool_read_ahead_evicted",
    "Innodb_buffer_pool_read_ahead_rnd",
    "Innodb_buffer_pool_wait_free",
    "Innodb_buffer_pool_write_requests",
    "Innodb_data_fsyncs",
    "Innodb_data_pending_fsyncs",
    "Innodb_data_pending_reads",
    "Innodb_data_pending_writes",
    "Innodb_data_writes",
    "Innodb_data_written",
    "Innodb_dblwr_pages_written",
    "Innodb_dblwr_writes",
    "Innodb_log_waits",
    "Innodb_os_log_pending_fsyncs",
    "Innodb_os_log_pending_writes",
    "Innodb_pages_created",
    "Innodb_pages_written",
    "Key_blocks_not_flushed",
    "Key_blocks_unused",
    "Key_blocks_used",
    "Key_read_requests",
    "Key_reads",
    "Key_write_requests",
    "Key_writes",
    "Open_files",
    "Open_streams",
    "Opened_files",
    "Opened_table_definitions",
    "Opened_tables",
    "Slow_launch_threads",
    "Table_locks_immediate",
    "Table_locks_waited",
    "Table_open_cache_hits",
    "Table_open_cache_misses",
    "Table_open_cache_overflows",
];

/// (name, value), sorted. Figures of the server as a whole are the same for both scopes.
pub fn status_rows(frame: &Frame<'_>, global: bool) -> Vec<(String, String)> {
    let db = frame.db();
    let counted = if global { db.status().sums().all() } else { frame.status().all() };
    let counted = counted.into_iter().chain(db.status().own());
    let mut all: Vec<(String, String)> = counted.map(|(n, v)| (n.into(), v.to_string())).collect();
    let mut push = |name: &str, value: u64| all.push((name.into(), value.to_string()));
    let (version, cipher) = frame.process().tls().map_or(("", ""), |(version, cipher)| (version, cipher));
    let (received, sent) = if global { db.processes().bytes() } else { frame.process().bytes() };
    push("Bytes_received", received);
    push("Bytes_sent", sent);
    push("Uptime", db.uptime_s());
    let flushed_at_s = db.status().flushed_at_s.load(Ordering::Relaxed);
    push("Uptime_since_flush_status", db.uptime_s().saturating_sub(flushed_at_s));
    push("Queries", if global { db.status().sums().questions.get() } else { frame.status().questions.get() });
    let tables = db.catalog().read(|all| all.values().map(|d| d.relations.len() as u64).sum());
    push("Open_tables", tables);
    push("Open_table_definitions", tables);
    let table_bytes = db.store().bytes() as u64;
    let pages = table_bytes.div_ceil(PAGE_BYTES);
    push("Innodb_page_size", PAGE_BYTES);
    push("Innodb_buffer_pool_bytes_data", table_bytes);
    push("Innodb_buffer_pool_pages_data", pages);
    push("Innodb_buffer_pool_pages_total", pages);
    MEANINGLESS.iter().for_each(|name| push(name, 0));
    let (row_waits, ms) = (db.store().txns().row_waits(), |us: u64| us / 1000);
    let waits = row_waits.waits.load(Ordering::Relaxed);
    let time_us = row_waits.time_us.load(Ordering::Relaxed);
    push("Innodb_row_lock_current_waits", row_waits.current.load(Ordering::Relaxed));
    push("Innodb_row_lock_waits", waits);
    push("Innodb_row_lock_time", ms(time_us));
    push("Innodb_row_lock_time_avg", ms(time_us.checked_div(waits).unwrap_or(0)));
    push("Innodb_row_lock_time_max", ms(row_waits.most_us.load(Ordering::Relaxed)));
    db.figures().into_iter().for_each(|(name, value)| push(name, value));
    if let Some(durable) = db.store().durable() {
        let counters = &durable.redo().counters;
        for (name, counter) in [
            ("Innodb_log_write_requests", &counters.commits),
            ("Innodb_log_writes", &counters.writes),
            ("Innodb_os_log_fsyncs", &counters.syncs),
            ("Innodb_os_log_written", &counters.bytes),
        ] {
            push(name, counter.load(Ordering::Relaxed));
        }
        push("Nextleaf_checkpoints", durable.checkpoints());
        push("Nextleaf_log_to_replay", durable.log_bytes());
    }
    push("Threads_connected", db.processes().len() as u64);
    push("Threads_running", db.processes().infos().iter().filter(|p| p.command == "Query").count() as u64);
    // No thread waits for the next connection.
    push("Threads_cached", 0);
    let (most, most_at_s) = db.processes().most();
    push("Max_used_connections", most);
    push("Connection_errors_max_connections", db.processes().refused());
    let (not_accepted, internal) = db.processes().faults();
    push("Connection_errors_accept", not_accepted);
    push("Connection_errors_internal", internal);
    for fault in ["peer_address", "select", "tcpwrap"] {
        push(&format!("Connection_errors_{fault}"), 0);
    }
    push("Nextleaf_query_memory_used", db.memory().used_bytes() as u64);
    push("Nextleaf_table_memory", table_bytes);
    let most_at = frame.info().time_zone.converter().to_datetime(Timestamp(most_at_s as i64 * 1_000_000));
    all.push(("Max_used_connections_time".into(), most_at.to_string()));
    all.extend([("Ssl_cipher".into(), cipher.into()), ("Ssl_version".into(), version.into())]);
    all.sort();
    all
}

/// SHOW VARIABLES: names and values.
pub fn variable_rows(frame: &Frame<'_>, global: bool) -> RowSet {
    let mut rows = RowSet::new(&[("Variable_name", text(64)), ("Value", text(2048))]);
    for def in defs::DEFS {
        if global && def.scope == Scope::Session {
            continue;
        }
        let value = frame.variable_text(def, global || def.scope == Scope::Global);
        let value = if value == NULL_TEXT { String::new() } else { value };
        rows.push(vec![s(def.name), s(value)]);
    }
    rows
}
