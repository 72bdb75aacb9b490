//! What a statement's execution may use: the session's facts, the tables, threads, memory, and the flag that stops it.

use crate::counters::StatementCounters;
use crate::memory::MemoryAccountant;
use crate::pool::WorkerPool;
use crate::stats::NodeStatsSet;
use crate::temp_space::TempFiles;
use catalog::{KeyBounds, TableDef};
use expr::{EvalContext, Params, SessionInfo, UserVars, Warnings};
use std::cmp::Ordering;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
pub use storage::{Candidates, IndexEncoder};
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
    /// What the non-NULL values of a column lie within, of all rows of a leaf that this reader may see, however late it
    /// reads them: none if `min` is above `max`. `None`: that is not known.
    fn zone(&self, _leaf: usize, _column: usize) -> Option<Bounds> {
        None
    }
    /// Leaves in a row that are about to be read may be brought near before.
    fn bring_near(&self, _leaves: std::ops::Range<usize>, _columns: &[usize]) {}
    /// How many rows of a leaf are visible.
    fn count(&self, leaf: usize) -> Result<usize> {
        Ok(self.read(leaf, &[], false, &|_| true)?.map_or(0, |rows| rows.count()))
    }
    /// The row ids of the visible rows whose unique key `index` (position in `TableDef::indexes`) has these values, one
    /// tuple a key; `None` where there is none. Values are of the columns' types; none is NULL.
    fn lookup(&self, index: usize, keys: &[Vec<Value>]) -> Result<Vec<Option<u64>>>;
    /// The named columns of these rows, in this order (`row_ids.len()` <= [`vector::BATCH_ROWS_MAX`]).
    fn fetch(&self, row_ids: &[u64], columns: &[usize]) -> Result<Batch>;

    /// The ends of a range as index `index` orders its entries; `None`: it has no order (yet).
    fn index_span(&self, _index: usize, _bounds: &KeyBounds) -> Option<KeySpan> {
        None
    }

    /// Appends the key that begins with these values, as the index orders keys. False: it has no order.
    fn index_key(&self, index: usize, values: &[Value], out: &mut Vec<u8>) -> bool {
        let end = catalog::KeyEnd { values: values.to_vec(), inclusive: true, starts_with: false };
        let Some(span) = self.index_span(index, &KeyBounds { low: end.clone(), high: end }) else { return false };
        out.extend_from_slice(&span.low.prefix);
        true
    }

    /// Makes the index ready to be read, which may take long: `go_on` is asked meanwhile, and its error ends it.
    fn prepare_index(&self, _index: usize, _go_on: &(dyn Fn() -> Result<()> + Sync)) -> Result<()> {
        Ok(())
    }

    /// A walk through a range, which [`TableReader::index_span`] has made.
    fn index_cursor(&self, _index: usize, _span: &KeySpan, _reverse: bool) -> Result<Box<dyn IndexCursor + '_>> {
        Err(Error::internal("a walk through an index without order"))
    }

    /// Appends to `out` the candidates whose keys begin with each of `keys`, in their order, the first `most` of each,
    /// and to `ends` where those of each key end.
    fn index_get_many(
        &self,
        _index: usize,
        _keys: &[Vec<u8>],
        _most: usize,
        _out: &mut Candidates,
        _ends: &mut Vec<u32>,
    ) -> Result<()> {
        Err(Error::internal("a lookup in an index without order"))
    }

    /// About how many entries a range has.
    fn index_estimate(&self, _index: usize, _span: &KeySpan) -> u64 {
        u64::MAX
    }

    /// The named columns of the candidates (at most [`vector::BATCH_ROWS_MAX`]), one position each, with the row id as
    /// last column if asked for. Selected are those visible with the key under which they were found, so that each
    /// visible row comes once, in its place.
    fn fetch_candidates(
        &self,
        index: usize,
        candidates: &Candidates,
        columns: &[usize],
        with_row_id: bool,
    ) -> Result<Batch> {
        self.fetch_candidates_since(index, candidates, columns, with_row_id, None)
    }

    /// The same of candidates read since a moment ([`TableReader::settled`]): those in leaves without versions need not
    /// be compared with their rows' keys.
    fn fetch_candidates_since(
        &self,
        _index: usize,
        _candidates: &Candidates,
        _columns: &[usize],
        _with_row_id: bool,
        _moment: Option<u64>,
    ) -> Result<Batch> {
        Err(Error::internal("candidates of an index without order"))
    }

    /// The leaves in which rows within the spans (in order) lie by the order of the index: by leaf, and within a leaf.
    /// `None`: the table's rows do not lie so.
    fn index_leaves(&self, _index: usize, _spans: &[KeySpan]) -> Option<OrderedLeaves> {
        None
    }

    /// Like [`TableReader::index_cursor`], but may leave out candidates in leaves that [`TableReader::index_leaves`]
    /// named before.
    fn index_cursor_beside_leaves(&self, index: usize, span: &KeySpan) -> Result<Box<dyn IndexCursor + '_>> {
        self.index_cursor(index, span, false)
    }

    /// A moment from which on entries read of the index may be counted: see [`TableReader::all_seen`].
    fn settled(&self, _index: usize) -> Option<u64> {
        None
    }

    /// Whether it is certain that each of the candidates, read since the moment, stands for one visible row.
    fn all_seen(&self, _moment: u64, _candidates: &Candidates) -> bool {
        false
    }

    /// The same of the entries of one leaf's rows.
    fn leaf_is_settled(&self, _moment: u64, _leaf: usize) -> bool {
        false
    }

    /// What reads the keys of the index's entries; `None`: it has no order.
    fn index_keys(&self, _index: usize) -> Option<IndexEncoder> {
        None
    }

    /// So many rows were read, by the index at this position or, `None`, without one.
    fn note_read(&self, _index: Option<usize>, _rows: u64) {}

    /// The leaf of a row.
    fn leaf_of(&self, _row_id: u64) -> usize {
        0
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
        self.prefix[..n].cmp(&other.prefix[..n]).then_with(|| match self.prefix.len().cmp(&other.prefix.len()) {
            Ordering::Equal => self.after.cmp(&other.after),
            Ordering::Less if self.after => Ordering::Greater,
            Ordering::Less => Ordering::Less,
            Ordering::Greater if other.after => Ordering::Less,
            Ordering::Greater => Ordering::Greater,
        })
    }
}

impl PartialOrd for KeyCut {
    fn partial_cmp(&self, other: &KeyCut) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Leaves whose rows lie in the order of an index.
#[derive(Clone, Debug)]
pub struct OrderedLeaves {
    pub leaves: Vec<usize>,
    /// No other leaf has rows within the spans.
    pub is_all: bool,
}

/// A range of an index's entries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeySpan {
    pub low: KeyCut,
    pub high: KeyCut,
}

/// A walk through a range of an index, in its order or backwards.
pub trait IndexCursor: Send {
    /// Replaces what is in `out` by the next candidates, `max` at most. False: there are no more.
    fn next(&mut self, out: &mut Candidates, max: usize) -> Result<bool>;
    /// Goes on at the first entry whose key is not below `key`; walking backwards, at the last one below it. Never goes
    /// back to what was given out.
    fn skip_to(&mut self, key: &[u8]);
}

/// Opens tables for the statement's snapshot.
pub trait Tables: Sync {
    fn open(&self, table: &TableDef) -> Result<Arc<dyn TableReader + '_>>;
}

/// Rows made by the server itself: information_schema and the like.
pub trait VirtualTables: Sync {
    /// The rows of the table, the named columns only. Rows that do not have these values in columns of `wanted` may be
    /// left out.
    fn read(
        &self,
        schema: &str,
        name: &str,
        table: &TableDef,
        columns: &[usize],
        wanted: &[(usize, Value)],
    ) -> Result<Vec<Batch>>;
}

/// Bytes that parts of a statement keep in memory before they spill, beneath the statement's limit. `None`: that limit
/// alone counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryBounds {
    /// Of each sort (sort_buffer_size).
    pub sort: Option<usize>,
    /// Of each internal temporary table (tmp_table_size).
    pub table: Option<usize>,
}

/// What a part of a batch takes of the statement's memory, and between which bounds.
const PART_SHARE: usize = 16;
const PART_BYTES: (usize, usize) = (256 << 10, 16 << 20);
/// Of many files an extent each may be in memory at once.
const EXTENTS_PER_PART: usize = 8;

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
    pub bounds: MemoryBounds,
    /// Set by KILL, by a vanished client, by a time limit: the statement ends with error 1317.
    pub killed: &'a AtomicBool,
    /// Where temporary files go. They are removed as soon as they are closed, whatever happens.
    pub spill_dir: &'a Path,
    /// What they may take of the disk.
    pub temp_files: TempFiles<'a>,
    /// Threads at most, the statement's own included.
    pub dop: usize,
    /// Tables' rows are tested and handed on one by one, on one thread: what a LIMIT leaves unread is not looked at.
    pub one_by_one: bool,
    /// `cte_max_recursion_depth`
    pub max_recursion_depth: u64,
    pub counters: &'a StatementCounters,
    /// Collects each operator's figures, for EXPLAIN ANALYZE.
    pub node_stats: Option<&'a NodeStatsSet>,
}

impl ExecContext<'_> {
    /// Called at least once a batch by everything that may take long: 1317 for who was killed, 1041 where the system
    /// has refused memory and does so still.
    #[inline]
    pub fn check_killed(&self) -> Result<()> {
        if self.killed.load(Relaxed) || memory::is_exhausted() { Err(self.interrupted()) } else { Ok(()) }
    }

    /// Bytes of strings that operators copy or make at a time.
    pub(crate) fn part_bytes(&self) -> usize {
        (self.memory.limit_bytes() / PART_SHARE).clamp(PART_BYTES.0, memory::part_bytes(PART_BYTES.1))
    }

    /// Bytes that are written to a temporary file at a time, and so are read at a time.
    pub(crate) fn extent_bytes(&self) -> usize {
        self.part_bytes() / EXTENTS_PER_PART
    }

    #[cold]
    fn interrupted(&self) -> Error {
        self.memory.abandon();
        if !self.killed.load(Relaxed) {
            return Error::out_of_resources();
        }
        Error::new(ErrorCode::QUERY_INTERRUPTED, "Query execution was interrupted")
    }

    pub(crate) fn eval<'e>(&'e self, params: &'e Params) -> EvalContext<'e> {
        EvalContext {
            strings: expr::eval::StringLimit::of(self.memory.limit_bytes()),
            ..EvalContext::new(self.session, params, self.user_vars, self.warnings, self.killed)
        }
    }
}

/// For statements that read no table and for tests.
pub struct NoVirtualTables;

impl VirtualTables for NoVirtualTables {
    fn read(&self, schema: &str, name: &str, _: &TableDef, _: &[usize], _: &[(usize, Value)]) -> Result<Vec<Batch>> {
        Err(Error::internal(format_args!("no server-made table {schema}.{name}")))
    }
}
