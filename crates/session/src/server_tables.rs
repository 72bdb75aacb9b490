//! Tables that the server makes up: `information_schema`, `performance_schema`, `sys`, some of `mysql`.
//!
//! What they are and what is in them is known above; names are looked up here, where all tables are.

use crate::Frame;
use crate::rows::RowSet;
use catalog::Relation;
use names::Names;
use types::{Result, Value};

/// See the module head.
pub trait ServerTables: std::fmt::Debug + Send + Sync {
    /// Whether all tables of the schema are the server's.
    fn has_schema(&self, schema: &str) -> bool;

    /// Whether this table is.
    fn has(&self, schema: &str, name: &str) -> bool;

    /// The definition of such a table.
    fn relation(&self, schema: &str, name: &str) -> Option<Relation>;

    /// The definitions of a schema's tables.
    fn relations(&self, schema: &str) -> Vec<Relation>;

    /// The rows of a table. Those that do not have these values in columns of `wanted` may be missing.
    fn rows(&self, frame: &Frame<'_>, schema: &str, name: &str, wanted: &[(usize, Value)]) -> Option<RowSet>;

    /// A statement names these: tables that are made when they are first named are made. Says whether any was.
    fn named(&self, frame: &Frame<'_>, names: &Names) -> Result<bool>;

    /// What SHOW ENGINE INNODB STATUS says, for innodb_print_all_deadlocks.
    fn engine_status(&self, frame: &Frame<'_>) -> String;
}
