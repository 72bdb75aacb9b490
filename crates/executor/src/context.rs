//! What a statement's execution may use: the session's facts, the tables, threads, memory, and the flag that stops it.

use crate::memory::MemoryAccountant;
use crate::pool::WorkerPool;
use crate::stats::NodeStatsSet;
use catalog::TableDef;
use expr::{EvalContext, Params, SessionInfo, UserVars, Warnings};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use types::{Error, ErrorCode, Result, Value};
use vector::{Batch, Bounds};

/// Bounds of a leaf's columns, by position in the definition: every non-NULL value lies within. `None`: unknown.
pub type ZoneMaps<'a> = dyn Fn(usize) -> Option<Bounds> + 'a;

/// A table as one statement's snapshot sees it.
pub trait TableReader: Send + Sync {
    /// Leaves are numbered from 0; a leaf is what [`TableReader::read`] answers with.
    fn leaf_count(&self) -> usize;
    /// The visible rows of a leaf: the named columns, with the row id (BIGINT UNSIGNED) as last column if asked for.
    /// `wanted` decides after a look at the zone maps, which it gets by column of the definition; `None` if it declines
    /// or no row is visible.
    fn read(
        &self,
        leaf: usize,
        columns: &[usize],
        with_row_id: bool,
        wanted: &dyn Fn(&ZoneMaps<'_>) -> bool,
    ) -> Result<Option<Batch>>;
    /// The row ids of the visible rows whose unique key `index` (position in `TableDef::indexes`) has these values, one
    /// tuple a key; `None` where there is none. Values are of the columns' types; none is NULL.
    fn lookup(&self, index: usize, keys: &[Vec<Value>]) -> Result<Vec<Option<u64>>>;
    /// The named columns of these rows, in this order (`row_ids.len()` <= [`vector::BATCH_ROWS_MAX`]).
    fn fetch(&self, row_ids: &[u64], columns: &[usize]) -> Result<Batch>;
}

/// Opens tables for the statement's snapshot.
pub trait Tables: Sync {
    fn open(&self, table: &TableDef) -> Result<Arc<dyn TableReader + '_>>;
}

/// Rows made by the server itself: information_schema and the like.
pub trait VirtualTables: Sync {
    /// All rows of the table, the named columns only.
    fn read(&self, schema: &str, name: &str, table: &TableDef, columns: &[usize]) -> Result<Vec<Batch>>;
}

/// Moving figures of a running statement.
#[derive(Debug, Default)]
pub struct Progress {
    pub rows_read: AtomicU64,
    pub leaves_read: AtomicU64,
    /// Leaves that zone maps made unnecessary.
    pub leaves_skipped: AtomicU64,
    pub leaves_total: AtomicU64,
    pub key_lookups: AtomicU64,
    pub spilled_bytes: AtomicU64,
}

impl Progress {
    /// Back to zero, for the next statement.
    pub fn reset(&self) {
        for counter in [
            &self.rows_read,
            &self.leaves_read,
            &self.leaves_skipped,
            &self.leaves_total,
            &self.key_lookups,
            &self.spilled_bytes,
        ] {
            counter.store(0, Ordering::Relaxed);
        }
    }
}

/// See the module head. Everything is shared by the statement's threads.
pub struct ExecContext<'a> {
    pub session: &'a SessionInfo,
    pub user_vars: &'a UserVars,
    pub warnings: &'a Warnings,
    /// Values of the statement's `?` parameters; the array is extended to `Plan::param_count`.
    pub params: &'a Params,
    pub tables: &'a dyn Tables,
    pub virtual_tables: &'a dyn VirtualTables,
    pub pool: &'a WorkerPool,
    pub memory: Arc<MemoryAccountant>,
    /// Set by KILL, by a vanished client, by a time limit: the statement ends with error 1317.
    pub killed: &'a AtomicBool,
    /// Where temporary files go. They are removed as soon as they are closed, whatever happens.
    pub spill_dir: &'a Path,
    /// Threads at most, the statement's own included.
    pub dop: usize,
    /// `cte_max_recursion_depth`
    pub max_recursion_depth: u64,
    pub progress: &'a Progress,
    /// Collects each operator's figures, for EXPLAIN ANALYZE.
    pub node_stats: Option<&'a NodeStatsSet>,
}

impl ExecContext<'_> {
    /// Called at least once a batch by everything that may take long.
    #[inline]
    pub fn check_killed(&self) -> Result<()> {
        if self.killed.load(Ordering::Relaxed) { Err(interrupted()) } else { Ok(()) }
    }

    pub(crate) fn eval<'e>(&'e self, params: &'e Params) -> EvalContext<'e> {
        EvalContext {
            session: self.session,
            params,
            user_vars: self.user_vars,
            warnings: self.warnings,
            killed: self.killed,
        }
    }
}

#[cold]
fn interrupted() -> Error {
    Error::new(ErrorCode::QUERY_INTERRUPTED, "Query execution was interrupted")
}

/// For statements that read no table and for tests.
pub struct NoVirtualTables;

impl VirtualTables for NoVirtualTables {
    fn read(&self, schema: &str, name: &str, _: &TableDef, _: &[usize]) -> Result<Vec<Batch>> {
        Err(Error::internal(format_args!("no server-made table {schema}.{name}")))
    }
}
