//! What a statement's execution may use: the session's facts, the tables, threads, memory, and the flag that stops it.

use crate::memory::MemoryAccountant;
use crate::pool::WorkerPool;
use crate::stats::NodeStatsSet;
use catalog::{KeyBounds, TableDef};
use expr::{EvalContext, Params, SessionInfo, UserVars, Warnings};
use std::cmp::Ordering;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
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

    /// The ends of a stretch as index `index` orders its entries; `None`: it has no order (yet).
    fn index_span(&self, _index: usize, _bounds: &KeyBounds) -> Option<KeySpan> {
        None
    }

    /// A walk through a stretch, which [`TableReader::index_span`] has made.
    fn index_cursor(&self, _index: usize, _span: &KeySpan, _reverse: bool) -> Result<Box<dyn IndexCursor + '_>> {
        Err(Error::internal("a walk through an index without order"))
    }

    /// About how many entries a stretch has.
    fn index_estimate(&self, _index: usize, _span: &KeySpan) -> u64 {
        u64::MAX
    }

    /// The named columns of the rows found, in this order, with the row id as last column if asked for. Selected are
    /// those that are visible with the key under which they were found: so each visible row comes once, in its place.
    fn fetch_candidates(
        &self,
        _index: usize,
        _candidates: &Candidates,
        _columns: &[usize],
        _with_row_id: bool,
    ) -> Result<Batch> {
        Err(Error::internal("candidates of an index without order"))
    }

    /// The leaves that alone can hold rows within the bounds, if few are known to; rows of a leaf then ascend by the
    /// key, and all rows of one leaf come before all of the next.
    fn index_leaves(&self, _index: usize, _bounds: &[KeyBounds]) -> Option<Vec<usize>> {
        None
    }
}

/// A place between the entries of an index: before or after all keys that begin with some bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyCut {
    pub prefix: Vec<u8>,
    pub after: bool,
}

impl Ord for KeyCut {
    fn cmp(&self, other: &KeyCut) -> Ordering {
        let n = self.prefix.len().min(other.prefix.len());
        // The shorter one, if it begins the longer: all of the longer's keys lie on one side of it.
        self.prefix[..n].cmp(&other.prefix[..n]).then_with(|| {
            match self.prefix.len().cmp(&other.prefix.len()) {
                Ordering::Equal => self.after.cmp(&other.after),
                Ordering::Less if self.after => Ordering::Greater,
                Ordering::Less => Ordering::Less,
                Ordering::Greater if other.after => Ordering::Less,
                Ordering::Greater => Ordering::Greater,
            }
        })
    }
}

impl PartialOrd for KeyCut {
    fn partial_cmp(&self, other: &KeyCut) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A stretch of an index's entries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeySpan {
    pub low: KeyCut,
    pub high: KeyCut,
}

/// Row ids and the keys under which they were found.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    pub row_ids: Vec<u64>,
    pub keys: Vec<u8>,
    /// Where each key ends in `keys`.
    pub ends: Vec<u32>,
}

impl Candidates {
    pub fn clear(&mut self) {
        self.row_ids.clear();
        self.keys.clear();
        self.ends.clear();
    }

    pub fn append(&mut self, other: &Candidates) {
        self.append_part(other, 0, other.row_ids.len());
    }

    /// Appends the candidates `from..to` of another list.
    pub fn append_part(&mut self, other: &Candidates, from: usize, to: usize) {
        let start = if from == 0 { 0 } else { other.ends[from - 1] };
        let end = if to == 0 { 0 } else { other.ends[to - 1] };
        let base = self.keys.len() as u32;
        self.row_ids.extend_from_slice(&other.row_ids[from..to]);
        self.keys.extend_from_slice(&other.keys[start as usize..end as usize]);
        self.ends.extend(other.ends[from..to].iter().map(|e| e - start + base));
    }
}

/// A walk through a stretch of an index, in its order or backwards.
pub trait IndexCursor: Send {
    /// Replaces what is in `out` by the next candidates, `max` at most. False: there are no more.
    fn next(&mut self, out: &mut Candidates, max: usize) -> Result<bool>;
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
    /// Entries walked over in indexes.
    pub index_entries: AtomicU64,
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
            &self.index_entries,
            &self.spilled_bytes,
        ] {
            counter.store(0, Relaxed);
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
        if self.killed.load(Relaxed) { Err(interrupted()) } else { Ok(()) }
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
