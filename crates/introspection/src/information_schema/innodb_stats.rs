//! mysql.innodb_table_stats and mysql.innodb_index_stats: the optimizer's statistics under the names of InnoDB's.
//!
//! They can be read, not changed. Sizes are in pages of 16 KiB; `n_diff_pfxNN` is the number of distinct values of the
//! first NN parts of a key. MySQL manual, "Configuring Persistent Optimizer Statistics Parameters".

use super::VirtualTable;
use catalog::{Relation, Statistics, TableDef, TableEngine, TableStats};
use session::Frame;
use session::rows::{RowSet, UBIGINT, s, text, uint};
use std::sync::Arc;
use types::{SqlType, Value};

const PAGE_BYTES: u64 = 16384;
const TIMESTAMP: SqlType = SqlType::Timestamp { fsp: 0 };

pub const INNODB_TABLE_STATS: VirtualTable = VirtualTable {
    name: "innodb_table_stats",
    columns: &[
        ("database_name", text(64)),
        ("table_name", text(199)),
        ("last_update", TIMESTAMP),
        ("n_rows", UBIGINT),
        ("clustered_index_size", UBIGINT),
        ("sum_of_other_index_sizes", UBIGINT),
    ],
    rows: |session, out| {
        for (t, stats) in tables(session) {
            let size = session.table_size(&t);
            let pages = |bytes: u64| uint(bytes.div_ceil(PAGE_BYTES));
            let updated = updated(&t);
            let bytes = [pages(size.data_bytes), pages(size.index_bytes)];
            out.push([vec![s(&t.schema), s(&t.name), updated, uint(stats.rows)], bytes.to_vec()].concat());
        }
    },
};

pub const INNODB_INDEX_STATS: VirtualTable = VirtualTable {
    name: "innodb_index_stats",
    columns: &[
        ("database_name", text(64)),
        ("table_name", text(199)),
        ("index_name", text(64)),
        ("last_update", TIMESTAMP),
        ("stat_name", text(64)),
        ("stat_value", UBIGINT),
        ("sample_size", UBIGINT),
        ("stat_description", text(1024)),
    ],
    rows: |session, out| {
        for (t, stats) in tables(session) {
            index_rows(session, &t, &stats, out);
        }
    },
};

/// Statistics have no time of their own: they follow the rows.
fn updated(t: &TableDef) -> Value {
    Value::Timestamp(types::Timestamp(t.created_at * 1_000_000))
}

fn tables(session: &Frame<'_>) -> Vec<(Arc<TableDef>, Arc<TableStats>)> {
    let relations = session.relations(None).into_iter();
    let tables = relations.filter_map(|r| match r {
        Relation::Table(t) if t.engine == TableEngine::InnoDb => Some(t),
        _ => None,
    });
    tables.filter_map(|t| Statistics::table(session.db().store(), t.id).map(|s| (t, s))).collect()
}

fn index_rows(session: &Frame<'_>, t: &TableDef, stats: &TableStats, out: &mut RowSet) {
    for index in &t.indexes {
        for n in 1..=index.parts.len() {
            let names: Vec<&str> = index.parts[..n].iter().map(|p| &*t.columns[p.column_idx].name).collect();
            let columns: Vec<usize> = index.parts[..n].iter().map(|p| p.column_idx).collect();
            let distinct = session.distinct_estimate(t, &columns, index.is_unique() && n == index.parts.len());
            out.push(vec![
                s(&t.schema),
                s(&t.name),
                s(&index.name),
                updated(t),
                s(format!("n_diff_pfx{n:02}")),
                uint(distinct.max(0) as u64),
                uint(stats.sample.rows as u64),
                s(names.join(",")),
            ]);
        }
    }
}
