//! Sums by statement digest: performance_schema.events_statements_summary_by_digest, and sys's views of them.
//!
//! A view `x$name` of sys has plain figures (picoseconds) where `name` has texts for people.

use super::VirtualTable;
use monitor::digests::{Digest, Sums};
use session::Frame;
use session::rows::{RowSet, UBIGINT, long_text, opt, s, text, uint};
use std::sync::Arc;
use types::{SqlType, Value};

const TIME: SqlType = SqlType::DateTime { fsp: 6 };

fn time(session: &Frame<'_>, us: i64) -> Value {
    Value::DateTime(session.local_datetime(us))
}

fn ps(nanos: u64) -> u64 {
    nanos.saturating_mul(1000)
}

/// Of the session that asks.
pub const OPTIMIZER_TRACE: VirtualTable = VirtualTable {
    name: "OPTIMIZER_TRACE",
    columns: &[
        ("QUERY", long_text()),
        ("TRACE", long_text()),
        ("MISSING_BYTES_BEYOND_MAX_MEM_SIZE", SqlType::BIGINT),
        ("INSUFFICIENT_PRIVILEGES", SqlType::BIGINT),
    ],
    rows: |session, out| {
        for t in session.shown_traces() {
            out.push(vec![s(t.query), s(t.trace), Value::Int(t.missing_bytes as i64), Value::Int(0)]);
        }
    },
};

pub const EVENTS_STATEMENTS_SUMMARY_BY_DIGEST: VirtualTable = VirtualTable {
    name: "events_statements_summary_by_digest",
    columns: &[
        ("SCHEMA_NAME", text(64)),
        ("DIGEST", text(64)),
        ("DIGEST_TEXT", long_text()),
        ("COUNT_STAR", UBIGINT),
        ("SUM_TIMER_WAIT", UBIGINT),
        ("MIN_TIMER_WAIT", UBIGINT),
        ("AVG_TIMER_WAIT", UBIGINT),
        ("MAX_TIMER_WAIT", UBIGINT),
        ("SUM_LOCK_TIME", UBIGINT),
        ("SUM_ERRORS", UBIGINT),
        ("SUM_WARNINGS", UBIGINT),
        ("SUM_ROWS_AFFECTED", UBIGINT),
        ("SUM_ROWS_SENT", UBIGINT),
        ("SUM_ROWS_EXAMINED", UBIGINT),
        ("SUM_CREATED_TMP_DISK_TABLES", UBIGINT),
        ("SUM_CREATED_TMP_TABLES", UBIGINT),
        ("SUM_SELECT_FULL_JOIN", UBIGINT),
        ("SUM_SELECT_FULL_RANGE_JOIN", UBIGINT),
        ("SUM_SELECT_RANGE", UBIGINT),
        ("SUM_SELECT_RANGE_CHECK", UBIGINT),
        ("SUM_SELECT_SCAN", UBIGINT),
        ("SUM_SORT_MERGE_PASSES", UBIGINT),
        ("SUM_SORT_RANGE", UBIGINT),
        ("SUM_SORT_ROWS", UBIGINT),
        ("SUM_SORT_SCAN", UBIGINT),
        ("SUM_NO_INDEX_USED", UBIGINT),
        ("SUM_NO_GOOD_INDEX_USED", UBIGINT),
        ("FIRST_SEEN", TIME),
        ("LAST_SEEN", TIME),
        ("QUANTILE_95", UBIGINT),
        ("QUANTILE_99", UBIGINT),
        ("QUANTILE_999", UBIGINT),
        ("QUERY_SAMPLE_TEXT", long_text()),
        ("QUERY_SAMPLE_SEEN", TIME),
        ("QUERY_SAMPLE_TIMER_WAIT", UBIGINT),
    ],
    rows: |session, out| {
        for (d, sums) in session.db().digests().all() {
            out.push(summary_row(session, &d, &sums));
        }
    },
};

fn summary_row(session: &Frame<'_>, d: &Digest, m: &Sums) -> Vec<Value> {
    let a = &m.all;
    let mut row = vec![opt(d.schema.as_deref()), opt(d.digest.as_deref()), opt(d.text.as_deref()), uint(m.count)];
    row.extend(
        [ps(m.nanos), ps(m.nanos_min), ps(m.nanos / m.count.max(1)), ps(m.nanos_max), ps(a.lock_nanos)].map(uint),
    );
    row.extend([m.errors, a.warnings, a.rows_affected, a.rows_sent, a.rows_examined].map(uint));
    row.extend([a.created_tmp_disk_tables, a.created_tmp_tables].map(uint));
    row.extend([a.select_full_join, a.select_full_range_join, a.select_range, a.select_range_check].map(uint));
    row.extend([a.select_scan, a.sort_merge_passes, a.sort_range, a.sort_rows, a.sort_scan].map(uint));
    row.extend([m.no_index_used, 0].map(uint));
    row.extend([time(session, m.first_seen_us), time(session, m.last_seen_us)]);
    row.extend([0.95, 0.99, 0.999].map(|q| uint(ps(m.quantile(q)))));
    row.extend([s(String::from_utf8_lossy(&m.sample)), time(session, m.sample_us), uint(ps(m.sample_nanos))]);
    row
}

/// As sys.format_time prints picoseconds.
fn shown_time(nanos: u64) -> String {
    let ps = nanos as f64 * 1e3;
    for (unit, size) in [("d", 8.64e16), ("h", 3.6e15), ("m", 6e13), ("s", 1e12), ("ms", 1e9), ("us", 1e6), ("ns", 1e3)]
    {
        if ps >= size {
            return format!("{:.2} {unit}", ps / size);
        }
    }
    format!("{ps:.0} ps")
}

/// As sys.format_statement cuts texts.
fn shown_statement(text: &str) -> String {
    const LEN_MAX: usize = 64;
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= LEN_MAX {
        return text.into();
    }
    let half = LEN_MAX / 2 - 2;
    let (a, b): (String, String) = (chars[..half].iter().collect(), chars[chars.len() - half..].iter().collect());
    format!("{a} ... {b}")
}

/// One column of a view.
enum Shown {
    Query,
    Db,
    FullScan,
    Count,
    Errors,
    ErrorShare,
    Warnings,
    WarningShare,
    Total,
    Max,
    Avg,
    LockTime,
    RowsSent,
    RowsSentAvg,
    RowsExamined,
    RowsExaminedAvg,
    RowsAffected,
    RowsAffectedAvg,
    TmpTables,
    TmpDiskTables,
    TmpTablesAvg,
    TmpToDisk,
    NoIndex,
    NoGoodIndex,
    NoIndexShare,
    RowsSorted,
    RowsSortedAvg,
    MergePasses,
    SortScans,
    SortRanges,
    MergePassesAvg,
    Digest,
    FirstSeen,
    LastSeen,
}

fn share(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 * 100.0 }
}

fn average(sum: u64, count: u64) -> Value {
    uint((sum as f64 / count.max(1) as f64).round() as u64)
}

fn shown(session: &Frame<'_>, column: &Shown, d: &Digest, m: &Sums, plain: bool) -> Value {
    let a = &m.all;
    let percent = |part, of| Value::Double((share(part, of) * 1e4).round() / 1e4);
    let duration = |nanos| if plain { uint(ps(nanos)) } else { s(shown_time(nanos)) };
    match column {
        Shown::Query if plain => opt(d.text.as_deref()),
        Shown::Query => opt(d.text.as_deref().map(shown_statement)),
        Shown::Db => opt(d.schema.as_deref()),
        Shown::FullScan => s(if m.no_index_used > 0 { "*" } else { "" }),
        Shown::Count => uint(m.count),
        Shown::Errors => uint(m.errors),
        Shown::ErrorShare => percent(m.errors, m.count),
        Shown::Warnings => uint(a.warnings),
        Shown::WarningShare => percent(a.warnings, m.count),
        Shown::Total => duration(m.nanos),
        Shown::Max => duration(m.nanos_max),
        Shown::Avg => duration(m.nanos / m.count.max(1)),
        Shown::LockTime => duration(a.lock_nanos),
        Shown::RowsSent => uint(a.rows_sent),
        Shown::RowsSentAvg => average(a.rows_sent, m.count),
        Shown::RowsExamined => uint(a.rows_examined),
        Shown::RowsExaminedAvg => average(a.rows_examined, m.count),
        Shown::RowsAffected => uint(a.rows_affected),
        Shown::RowsAffectedAvg => average(a.rows_affected, m.count),
        Shown::TmpTables => uint(a.created_tmp_tables),
        Shown::TmpDiskTables => uint(a.created_tmp_disk_tables),
        Shown::TmpTablesAvg => average(a.created_tmp_tables, m.count),
        Shown::TmpToDisk => uint(share(a.created_tmp_disk_tables, a.created_tmp_tables).round() as u64),
        Shown::NoIndex => uint(m.no_index_used),
        Shown::NoGoodIndex => uint(0),
        Shown::NoIndexShare => uint(share(m.no_index_used, m.count).round() as u64),
        Shown::RowsSorted => uint(a.sort_rows),
        Shown::RowsSortedAvg => average(a.sort_rows, m.count),
        Shown::MergePasses => uint(a.sort_merge_passes),
        Shown::SortScans => uint(a.sort_scan),
        Shown::SortRanges => uint(a.sort_range),
        Shown::MergePassesAvg => average(a.sort_merge_passes, m.count),
        Shown::Digest => opt(d.digest.as_deref()),
        Shown::FirstSeen => time(session, m.first_seen_us),
        Shown::LastSeen => time(session, m.last_seen_us),
    }
}

type Found = Vec<(Arc<Digest>, Sums)>;

/// A view: which digests it shows and in which order.
fn view(session: &Frame<'_>, out: &mut RowSet, columns: &[Shown], plain: bool, choose: impl FnOnce(&mut Found)) {
    let mut found = session.db().digests().all();
    choose(&mut found);
    for (d, m) in &found {
        out.push(columns.iter().map(|c| shown(session, c, d, m, plain)).collect());
    }
}

macro_rules! views {
    ($($name:ident, $raw:ident, $title:literal, $choose:expr, [$($column:ident $label:literal),* $(,)?];)*) => {
        $(
            pub const $name: VirtualTable = VirtualTable {
                name: $title,
                columns: &[$(($label, type_of(&Shown::$column, false))),*],
                rows: |session, out| view(session, out, &[$(Shown::$column),*], false, $choose),
            };
            pub const $raw: VirtualTable = VirtualTable {
                name: concat!("x$", $title),
                columns: &[$(($label, type_of(&Shown::$column, true))),*],
                rows: |session, out| view(session, out, &[$(Shown::$column),*], true, $choose),
            };
        )*
    };
}

const fn type_of(column: &Shown, plain: bool) -> SqlType {
    match column {
        Shown::Query => long_text(),
        Shown::Db | Shown::Digest => text(64),
        Shown::FullScan => text(1),
        Shown::ErrorShare | Shown::WarningShare => SqlType::Double,
        Shown::Total | Shown::Max | Shown::Avg | Shown::LockTime if !plain => text(11),
        Shown::FirstSeen | Shown::LastSeen => TIME,
        _ => UBIGINT,
    }
}

fn by_total(found: &mut Found) {
    found.sort_by_key(|(_, m)| std::cmp::Reverse(m.nanos));
}

/// Those whose mean is at least what 95 % of all statements did not exceed.
fn slowest(found: &mut Found) {
    let mut means: Vec<(u64, u64)> = found.iter().map(|(_, m)| (m.nanos / m.count.max(1), m.count)).collect();
    means.sort_unstable();
    let wanted = (means.iter().map(|m| m.1).sum::<u64>() as f64 * 0.95).ceil() as u64;
    let mut seen = 0;
    let bound = means.iter().find(|m| {
        seen += m.1;
        seen >= wanted
    });
    let bound = bound.map_or(0, |m| m.0);
    found.retain(|(_, m)| m.nanos / m.count.max(1) >= bound);
    found.sort_by_key(|(_, m)| std::cmp::Reverse(m.nanos / m.count.max(1)));
}

views! {
    STATEMENT_ANALYSIS, X_STATEMENT_ANALYSIS, "statement_analysis", by_total, [
        Query "query", Db "db", FullScan "full_scan", Count "exec_count", Errors "err_count", Warnings "warn_count",
        Total "total_latency", Max "max_latency", Avg "avg_latency", LockTime "lock_latency", RowsSent "rows_sent",
        RowsSentAvg "rows_sent_avg", RowsExamined "rows_examined", RowsExaminedAvg "rows_examined_avg",
        RowsAffected "rows_affected", RowsAffectedAvg "rows_affected_avg", TmpTables "tmp_tables",
        TmpDiskTables "tmp_disk_tables", RowsSorted "rows_sorted", MergePasses "sort_merge_passes", Digest "digest",
        FirstSeen "first_seen", LastSeen "last_seen",
    ];
    FULL_TABLE_SCANS, X_FULL_TABLE_SCANS, "statements_with_full_table_scans", |found: &mut Found| {
        found.retain(|(_, m)| m.no_index_used > 0);
        let order = |m: &Sums| (share(m.no_index_used, m.count).round() as u64, m.nanos);
        found.sort_by_key(|(_, m)| std::cmp::Reverse(order(m)));
    }, [
        Query "query", Db "db", Count "exec_count", Total "total_latency", NoIndex "no_index_used_count",
        NoGoodIndex "no_good_index_used_count", NoIndexShare "no_index_used_pct", RowsSent "rows_sent",
        RowsExamined "rows_examined", RowsSentAvg "rows_sent_avg", RowsExaminedAvg "rows_examined_avg",
        FirstSeen "first_seen", LastSeen "last_seen", Digest "digest",
    ];
    WITH_SORTING, X_WITH_SORTING, "statements_with_sorting", |found: &mut Found| {
        found.retain(|(_, m)| m.all.sort_rows > 0);
        by_total(found);
    }, [
        Query "query", Db "db", Count "exec_count", Total "total_latency", MergePasses "sort_merge_passes",
        MergePassesAvg "avg_sort_merges", SortScans "sorts_using_scans", SortRanges "sort_using_range",
        RowsSorted "rows_sorted", RowsSortedAvg "avg_rows_sorted", FirstSeen "first_seen", LastSeen "last_seen",
        Digest "digest",
    ];
    WITH_TEMP_TABLES, X_WITH_TEMP_TABLES, "statements_with_temp_tables", |found: &mut Found| {
        found.retain(|(_, m)| m.all.created_tmp_tables > 0);
        found.sort_by_key(|(_, m)| std::cmp::Reverse((m.all.created_tmp_disk_tables, m.all.created_tmp_tables)));
    }, [
        Query "query", Db "db", Count "exec_count", Total "total_latency", TmpTables "memory_tmp_tables",
        TmpDiskTables "disk_tmp_tables", TmpTablesAvg "avg_tmp_tables_per_query", TmpToDisk "tmp_tables_to_disk_pct",
        FirstSeen "first_seen", LastSeen "last_seen", Digest "digest",
    ];
    WITH_ERRORS, X_WITH_ERRORS, "statements_with_errors_or_warnings", |found: &mut Found| {
        found.retain(|(_, m)| m.errors + m.all.warnings > 0);
        found.sort_by_key(|(_, m)| std::cmp::Reverse((m.errors, m.all.warnings)));
    }, [
        Query "query", Db "db", Count "exec_count", Errors "errors", ErrorShare "error_pct", Warnings "warnings",
        WarningShare "warning_pct", FirstSeen "first_seen", LastSeen "last_seen", Digest "digest",
    ];
    SLOWEST, X_SLOWEST, "statements_with_runtimes_in_95th_percentile", slowest, [
        Query "query", Db "db", FullScan "full_scan", Count "exec_count", Errors "err_count", Warnings "warn_count",
        Total "total_latency", Max "max_latency", Avg "avg_latency", RowsSent "rows_sent", RowsSentAvg "rows_sent_avg",
        RowsExamined "rows_examined", RowsExaminedAvg "rows_examined_avg", FirstSeen "first_seen",
        LastSeen "last_seen", Digest "digest",
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_for_people() {
        assert_eq!(shown_time(0), "0 ps");
        assert_eq!(shown_time(1), "1.00 ns");
        assert_eq!(shown_time(1_500_000), "1.50 ms");
        assert_eq!(shown_time(61_000_000_000), "1.02 m");
        assert_eq!(shown_statement("SELECT ?"), "SELECT ?");
        let long = shown_statement(&"x".repeat(100));
        assert_eq!(long.len(), 65);
    }
}
