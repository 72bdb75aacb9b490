//! Rows read and changed by table and by index: performance_schema.table_io_waits_summary_by_table and _by_index_usage,
//! and the views of sys that find hot and idle indexes with them.
//!
//! ```text
//!   storage::TableIo ─▶ one row an index, and one of what came without ─┬▶ .._by_index_usage, schema_index_statistics,
//!                                                                       │  schema_tables_with_full_table_scans
//!                                                                       └▶ sums: .._by_table, schema_table_statistics
//! ```
//! Rows are counted, not calls, and nothing is timed: all times are 0. MySQL manual, "Table I/O and Lock Wait Summary
//! Tables" and "sys Schema Views".

use super::VirtualTable;
use super::statistics::base_tables;
use catalog::TableDef;
use session::Frame;
use session::rows::{RowSet, UBIGINT, opt, s, text, uint};
use std::sync::Arc;
use storage::IoCounts;
use types::{SqlType, Value};

/// What is counted, with its times: count, sum, least, mean, greatest.
macro_rules! counted {
    ($($lead:literal,)*) => {
        &[
            $(($lead, text(64)),)*
            ("COUNT_STAR", UBIGINT), ("SUM_TIMER_WAIT", UBIGINT),
            ("MIN_TIMER_WAIT", UBIGINT), ("AVG_TIMER_WAIT", UBIGINT), ("MAX_TIMER_WAIT", UBIGINT),
            ("COUNT_READ", UBIGINT), ("SUM_TIMER_READ", UBIGINT),
            ("MIN_TIMER_READ", UBIGINT), ("AVG_TIMER_READ", UBIGINT), ("MAX_TIMER_READ", UBIGINT),
            ("COUNT_WRITE", UBIGINT), ("SUM_TIMER_WRITE", UBIGINT),
            ("MIN_TIMER_WRITE", UBIGINT), ("AVG_TIMER_WRITE", UBIGINT), ("MAX_TIMER_WRITE", UBIGINT),
            ("COUNT_FETCH", UBIGINT), ("SUM_TIMER_FETCH", UBIGINT),
            ("MIN_TIMER_FETCH", UBIGINT), ("AVG_TIMER_FETCH", UBIGINT), ("MAX_TIMER_FETCH", UBIGINT),
            ("COUNT_INSERT", UBIGINT), ("SUM_TIMER_INSERT", UBIGINT),
            ("MIN_TIMER_INSERT", UBIGINT), ("AVG_TIMER_INSERT", UBIGINT), ("MAX_TIMER_INSERT", UBIGINT),
            ("COUNT_UPDATE", UBIGINT), ("SUM_TIMER_UPDATE", UBIGINT),
            ("MIN_TIMER_UPDATE", UBIGINT), ("AVG_TIMER_UPDATE", UBIGINT), ("MAX_TIMER_UPDATE", UBIGINT),
            ("COUNT_DELETE", UBIGINT), ("SUM_TIMER_DELETE", UBIGINT),
            ("MIN_TIMER_DELETE", UBIGINT), ("AVG_TIMER_DELETE", UBIGINT), ("MAX_TIMER_DELETE", UBIGINT),
        ]
    };
}

/// As text of sys.format_time; `x$` views have the number.
const NO_TIME: &str = "0 ps";

fn written(c: &IoCounts) -> u64 {
    c.inserted + c.updated + c.deleted
}

fn figures(c: &IoCounts) -> impl Iterator<Item = Value> {
    let counts = [c.fetched + written(c), c.fetched, written(c), c.fetched, c.inserted, c.updated, c.deleted];
    counts.into_iter().flat_map(|n| [uint(n), uint(0), uint(0), uint(0), uint(0)])
}

/// Figures of an index, by name; `None`: of rows that came without one.
type OfIndex = (Option<String>, IoCounts);

/// The tables, each with its indexes' figures in their order, and then what came without one.
fn tables(session: &Frame<'_>) -> Vec<(Arc<TableDef>, Vec<OfIndex>)> {
    let of_table = |t: Arc<TableDef>| {
        let io = session.db().store().table(t.id)?.io();
        let index = |(n, i): (usize, &catalog::IndexDef)| (Some(i.name.to_string()), io.of(Some(n)).counts());
        let without = std::iter::once((None, io.of(None).counts()));
        let all = t.indexes.iter().enumerate().map(index).chain(without).collect();
        Some((t, all))
    };
    base_tables(session).into_iter().filter_map(of_table).collect()
}

fn sum(all: &[OfIndex]) -> IoCounts {
    let mut sum = IoCounts::default();
    all.iter().for_each(|(_, c)| sum += *c);
    sum
}

pub const BY_TABLE: VirtualTable = VirtualTable {
    name: "table_io_waits_summary_by_table",
    columns: counted!["OBJECT_TYPE", "OBJECT_SCHEMA", "OBJECT_NAME",],
    rows: |session, out| {
        for (t, all) in tables(session) {
            let lead = [s("TABLE"), s(&t.schema), s(&t.name)];
            out.push(lead.into_iter().chain(figures(&sum(&all))).collect());
        }
    },
};

pub const BY_INDEX: VirtualTable = VirtualTable {
    name: "table_io_waits_summary_by_index_usage",
    columns: counted!["OBJECT_TYPE", "OBJECT_SCHEMA", "OBJECT_NAME", "INDEX_NAME",],
    rows: |session, out| {
        for (t, all) in tables(session) {
            for (index, counts) in &all {
                let lead = [s("TABLE"), s(&t.schema), s(&t.name), opt(index.as_deref())];
                out.push(lead.into_iter().chain(figures(counts)).collect());
            }
        }
    },
};

const fn time(plain: bool) -> SqlType {
    if plain { UBIGINT } else { text(11) }
}

fn no_time(plain: bool) -> Value {
    if plain { uint(0) } else { s(NO_TIME) }
}

/// (rows, time) of each kind.
fn timed(c: &IoCounts, plain: bool) -> impl Iterator<Item = Value> {
    [c.fetched, c.inserted, c.updated, c.deleted].into_iter().flat_map(move |n| [uint(n), no_time(plain)])
}

type Column = (&'static str, SqlType);

/// Names, then `own`, then changes with their times.
const fn timed_columns(own: [Column; 3], plain: bool) -> [Column; 11] {
    let time = time(plain);
    let [a, b, c] = own;
    [
        ("table_schema", text(64)),
        ("table_name", text(64)),
        a,
        b,
        c,
        ("rows_inserted", UBIGINT),
        ("insert_latency", time),
        ("rows_updated", UBIGINT),
        ("update_latency", time),
        ("rows_deleted", UBIGINT),
        ("delete_latency", time),
    ]
}

const fn index_columns(plain: bool) -> [Column; 11] {
    timed_columns([("index_name", text(64)), ("rows_selected", UBIGINT), ("select_latency", time(plain))], plain)
}

/// The busiest first.
fn index_statistics(session: &Frame<'_>, out: &mut RowSet, plain: bool) {
    let mut rows = Vec::new();
    for (t, all) in tables(session) {
        rows.extend(all.into_iter().filter_map(|(name, c)| Some((t.clone(), name?, c))));
    }
    rows.sort_by_key(|(_, _, c)| std::cmp::Reverse(c.fetched + written(c)));
    for (t, index, c) in rows {
        out.push([s(&t.schema), s(&t.name), s(index)].into_iter().chain(timed(&c, plain)).collect());
    }
}

pub const INDEX_STATISTICS: VirtualTable = VirtualTable {
    name: "schema_index_statistics",
    columns: &index_columns(false),
    rows: |session, out| index_statistics(session, out, false),
};

pub const X_INDEX_STATISTICS: VirtualTable = VirtualTable {
    name: "x$schema_index_statistics",
    columns: &index_columns(true),
    rows: |session, out| index_statistics(session, out, true),
};

const fn table_columns(plain: bool) -> [Column; 11] {
    timed_columns([("total_latency", time(plain)), ("rows_fetched", UBIGINT), ("fetch_latency", time(plain))], plain)
}

/// The busiest first.
fn table_statistics(session: &Frame<'_>, out: &mut RowSet, plain: bool) {
    let mut rows: Vec<_> = tables(session).into_iter().map(|(t, all)| (t, sum(&all))).collect();
    rows.sort_by_key(|(_, c)| std::cmp::Reverse(c.fetched + written(c)));
    for (t, c) in rows {
        out.push([s(&t.schema), s(&t.name), no_time(plain)].into_iter().chain(timed(&c, plain)).collect());
    }
}

pub const TABLE_STATISTICS: VirtualTable = VirtualTable {
    name: "schema_table_statistics",
    columns: &table_columns(false),
    rows: |session, out| table_statistics(session, out, false),
};

pub const X_TABLE_STATISTICS: VirtualTable = VirtualTable {
    name: "x$schema_table_statistics",
    columns: &table_columns(true),
    rows: |session, out| table_statistics(session, out, true),
};

const fn scan_columns(plain: bool) -> [Column; 4] {
    [("object_schema", text(64)), ("object_name", text(64)), ("rows_full_scanned", UBIGINT), ("latency", time(plain))]
}

/// Tables of which rows were read without an index, the most first.
fn full_scans(session: &Frame<'_>, out: &mut RowSet, plain: bool) {
    let scanned = |(t, all): (Arc<TableDef>, Vec<OfIndex>)| {
        let rows: u64 = all.iter().filter(|(index, _)| index.is_none()).map(|(_, c)| c.fetched).sum();
        (rows > 0).then_some((t, rows))
    };
    let mut found: Vec<_> = tables(session).into_iter().filter_map(scanned).collect();
    found.sort_by_key(|(_, rows)| std::cmp::Reverse(*rows));
    for (t, rows) in found {
        out.push(vec![s(&t.schema), s(&t.name), uint(rows), no_time(plain)]);
    }
}

pub const FULL_SCANS: VirtualTable = VirtualTable {
    name: "schema_tables_with_full_table_scans",
    columns: &scan_columns(false),
    rows: |session, out| full_scans(session, out, false),
};

pub const X_FULL_SCANS: VirtualTable = VirtualTable {
    name: "x$schema_tables_with_full_table_scans",
    columns: &scan_columns(true),
    rows: |session, out| full_scans(session, out, true),
};

/// TRUNCATE of either summary.
pub fn clear(session: &Frame<'_>) {
    for t in base_tables(session) {
        let Some(table) = session.db().store().table(t.id) else { continue };
        let io = table.io();
        (0..t.indexes.len()).map(Some).chain([None]).for_each(|index| io.of(index).clear());
    }
}
