//! information_schema: tables whose rows are made when they are read.
//!
//! Each [`VirtualTable`] lists its columns (a subset of MySQL's, in MySQL's order) and a function that makes the rows
//! from the catalog as the session sees it. The planner treats them as tables; the executor asks [`rows`].

pub mod columns;
pub mod misc;
mod statistics;
mod tables;

use crate::rows::{RowSet, virtual_table};
use crate::session::Session;
use catalog::{Relation, TableId};
use std::sync::Arc;
use types::SqlType;

pub use columns as columns_of;
pub use statistics::index_rows;

/// Ids from here up are those of virtual tables.
const VIRTUAL_IDS: u64 = 1 << 62;

pub struct VirtualTable {
    pub name: &'static str,
    pub columns: &'static [(&'static str, SqlType)],
    pub rows: fn(&Session, &mut RowSet),
}

/// All of them, sorted by name.
pub static TABLES: &[VirtualTable] = &[
    misc::CHARACTER_SETS,
    statistics::CHECK_CONSTRAINTS,
    misc::COLLATIONS,
    misc::COLLATION_CHARACTER_SET_APPLICABILITY,
    columns::COLUMNS,
    misc::ENGINES,
    misc::EVENTS,
    misc::FILES,
    statistics::KEY_COLUMN_USAGE,
    misc::PARAMETERS,
    misc::PARTITIONS,
    misc::PLUGINS,
    misc::PROCESSLIST,
    statistics::REFERENTIAL_CONSTRAINTS,
    misc::ROUTINES,
    tables::SCHEMATA,
    misc::SCHEMA_PRIVILEGES,
    statistics::STATISTICS,
    tables::TABLES,
    statistics::TABLE_CONSTRAINTS,
    misc::TABLE_PRIVILEGES,
    misc::TRIGGERS,
    misc::USER_PRIVILEGES,
    tables::VIEWS,
];

/// The position of a table in [`TABLES`]; names are case-insensitive here.
pub fn find(name: &str) -> Option<usize> {
    TABLES.iter().position(|t| t.name.eq_ignore_ascii_case(name))
}

/// The definition that the planner sees.
pub fn relation(name: &str) -> Option<Relation> {
    let i = find(name)?;
    let t = &TABLES[i];
    Some(Relation::Table(Arc::new(virtual_table(
        TableId(VIRTUAL_IDS + i as u64),
        "information_schema",
        t.name,
        t.columns,
    ))))
}

/// Makes the rows of a table.
pub fn rows(session: &Session, name: &str) -> Option<RowSet> {
    let t = &TABLES[find(name)?];
    let mut set = RowSet::new(t.columns);
    (t.rows)(session, &mut set);
    Some(set)
}
