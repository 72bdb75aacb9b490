//! information_schema: tables whose rows are made when they are read.
//!
//! Each [`VirtualTable`] lists its columns (a subset of MySQL's, in MySQL's order) and a function that makes the rows
//! from the catalog as the session sees it. The planner treats them as tables; the executor asks [`rows`].

mod absent;
pub mod columns;
mod digests;
pub mod events;
mod grant_tables;
mod indexes;
mod innodb_stats;
mod keywords;
pub mod locks;
pub mod misc;
mod reading;
mod statistics;
mod status;
pub mod table_io;
mod tables;

use catalog::{Relation, TableId};
use session::Frame;
use session::rows::{RowSet, virtual_table};
use std::sync::Arc;
use types::{SqlType, Value};

pub use columns as columns_of;
use reading::Reading;
pub use statistics::index_rows;

/// Ids from here up are those of virtual tables.
const VIRTUAL_IDS: u64 = 1 << 62;

pub struct VirtualTable {
    pub name: &'static str,
    pub columns: &'static [(&'static str, SqlType)],
    pub rows: fn(&Reading<'_>, &mut RowSet),
}

/// All of them, sorted by name.
pub static TABLES: &[VirtualTable] = &[
    misc::CHARACTER_SETS,
    statistics::CHECK_CONSTRAINTS,
    misc::COLLATIONS,
    misc::COLLATION_CHARACTER_SET_APPLICABILITY,
    columns::COLUMNS,
    absent::COLUMN_PRIVILEGES,
    statistics::COLUMN_STATISTICS,
    misc::ENGINES,
    absent::EVENTS,
    absent::FILES,
    status::GLOBAL_STATUS,
    status::GLOBAL_VARIABLES,
    locks::INNODB_TRX,
    keywords::KEYWORDS,
    statistics::KEY_COLUMN_USAGE,
    digests::OPTIMIZER_TRACE,
    absent::PARAMETERS,
    absent::PARTITIONS,
    misc::PLUGINS,
    misc::PROCESSLIST,
    statistics::REFERENTIAL_CONSTRAINTS,
    absent::ROUTINES,
    tables::SCHEMATA,
    absent::SCHEMA_PRIVILEGES,
    status::SESSION_STATUS,
    status::SESSION_VARIABLES,
    statistics::STATISTICS,
    tables::TABLES,
    statistics::TABLE_CONSTRAINTS,
    absent::TABLE_PRIVILEGES,
    absent::TRIGGERS,
    misc::USER_PRIVILEGES,
    tables::VIEWS,
];

/// performance_schema: what there is of it.
pub static PERFORMANCE_SCHEMA: &[VirtualTable] = &[
    locks::DATA_LOCK_WAITS,
    locks::DATA_LOCKS,
    events::EVENTS_STATEMENTS_CURRENT,
    events::EVENTS_STATEMENTS_HISTORY,
    events::EVENTS_STATEMENTS_HISTORY_LONG,
    digests::EVENTS_STATEMENTS_SUMMARY_BY_DIGEST,
    status::GLOBAL_STATUS,
    status::GLOBAL_VARIABLES,
    locks::METADATA_LOCKS,
    status::SESSION_STATUS,
    status::SESSION_VARIABLES,
    events::SETUP_CONSUMERS,
    table_io::BY_INDEX,
    table_io::BY_TABLE,
    events::THREADS,
];

/// mysql: what there is of it beside real tables.
pub static MYSQL: &[VirtualTable] = &[
    grant_tables::COLUMNS_PRIV,
    grant_tables::DB,
    grant_tables::DEFAULT_ROLES,
    events::GENERAL_LOG,
    grant_tables::GLOBAL_GRANTS,
    innodb_stats::INNODB_INDEX_STATS,
    innodb_stats::INNODB_TABLE_STATS,
    grant_tables::PROCS_PRIV,
    grant_tables::PROXIES_PRIV,
    grant_tables::ROLE_EDGES,
    events::SLOW_LOG,
    grant_tables::TABLES_PRIV,
    grant_tables::TIME_ZONE,
    grant_tables::TIME_ZONE_NAME,
    grant_tables::USER,
];

/// sys, likewise.
pub static SYS: &[VirtualTable] = &[
    locks::SYS_INNODB_LOCK_WAITS,
    table_io::INDEX_STATISTICS,
    indexes::SCHEMA_REDUNDANT_INDEXES,
    table_io::TABLE_STATISTICS,
    table_io::FULL_SCANS,
    indexes::SCHEMA_UNUSED_INDEXES,
    digests::STATEMENT_ANALYSIS,
    digests::WITH_ERRORS,
    digests::FULL_TABLE_SCANS,
    digests::SLOWEST,
    digests::WITH_SORTING,
    digests::WITH_TEMP_TABLES,
    table_io::X_INDEX_STATISTICS,
    table_io::X_TABLE_STATISTICS,
    table_io::X_FULL_SCANS,
    digests::X_STATEMENT_ANALYSIS,
    digests::X_WITH_ERRORS,
    digests::X_FULL_TABLE_SCANS,
    digests::X_SLOWEST,
    digests::X_WITH_SORTING,
    digests::X_WITH_TEMP_TABLES,
];

/// Schemas whose tables the server makes up, with their names' canonical spelling and the ids of their first tables.
static SCHEMAS: &[(&str, &[VirtualTable], u64)] = &[
    ("information_schema", TABLES, VIRTUAL_IDS),
    ("mysql", MYSQL, VIRTUAL_IDS + 3000),
    ("performance_schema", PERFORMANCE_SCHEMA, VIRTUAL_IDS + 1000),
    ("sys", SYS, VIRTUAL_IDS + 2000),
];

fn schema_of(name: &str) -> Option<&'static (&'static str, &'static [VirtualTable], u64)> {
    SCHEMAS.iter().find(|(n, ..)| n.eq_ignore_ascii_case(name))
}

/// Whether the schema's tables are made up by the server. Of `mysql` some are, and others are tables as any.
pub fn is_virtual(schema: &str) -> bool {
    schema_of(schema).is_some_and(|s| s.0 != "mysql")
}

/// Whether this table is made up by the server.
pub fn is_virtual_table(schema: &str, name: &str) -> bool {
    schema_of(schema).is_some_and(|s| s.1.iter().any(|t| t.name.eq_ignore_ascii_case(name)))
}

/// The definitions of a schema's tables.
pub fn relations(schema: &str) -> Vec<Relation> {
    let tables = schema_of(schema).map_or(&[][..], |s| s.1);
    tables.iter().filter_map(|t| relation(schema, t.name)).collect()
}

/// The definition that the planner sees.
pub fn relation(schema: &str, name: &str) -> Option<Relation> {
    let (schema, tables, first) = schema_of(schema)?;
    // Names are case-insensitive here.
    let i = tables.iter().position(|t| t.name.eq_ignore_ascii_case(name))?;
    let t = &tables[i];
    Some(Relation::Table(Arc::new(virtual_table(TableId(first + i as u64), schema, t.name, t.columns))))
}

/// Makes the rows of a table. Those of other databases and tables than `wanted` says, by columns and their values, may
/// be missing.
pub fn rows(session: &Frame<'_>, schema: &str, name: &str, wanted: &[(usize, Value)]) -> Option<RowSet> {
    let t = schema_of(schema)?.1.iter().find(|t| t.name.eq_ignore_ascii_case(name))?;
    let mut set = RowSet::new(t.columns);
    (t.rows)(&Reading::new(session, t, wanted), &mut set);
    Some(set)
}

#[cfg(test)]
mod tests {
    use super::SCHEMAS;

    #[test]
    fn each_table_is_there_once() {
        for (schema, tables, _) in SCHEMAS {
            let mut names: Vec<String> = tables.iter().map(|t| t.name.to_lowercase()).collect();
            names.sort();
            assert!(names.windows(2).all(|w| w[0] != w[1]), "{schema}: {names:?}");
        }
    }
}
