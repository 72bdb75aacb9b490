//! Tables of the storage layer, as one statement's snapshot sees them.

use crate::context::{
    Candidates, IndexCursor, IndexEncoder, KeyCut, KeySpan, OrderedLeaves, TableReader, Tables, ZoneMaps,
};
use catalog::{KeyBounds, TableDef, TableId};
use parking_lot::Mutex;
use std::ops::Bound;
use std::sync::Arc;
use storage::{Fetched, KeyRange, Snapshot, Store, Table, TableIo};
use types::{Error, Result, Value};
use vector::{BATCH_ROWS_MAX, Batch, Bounds, Chunk, ChunkBuilder, Selection, Values, Vector};

/// Opens tables of a store under one snapshot.
pub struct StoreTables<'a> {
    store: &'a Store,
    snapshot: &'a Snapshot,
    /// Tables that are seen by snapshots of their own.
    others: &'a [(TableId, Snapshot)],
    lookups: Option<&'a Lookups>,
    session: u32,
}

/// What statements that lock rows lock whether it comes out of the query or not: keys looked for in unique indexes of
/// some tables, and all rows read of others.
#[derive(Debug, Default)]
pub struct Lookups {
    keys_of: Vec<TableId>,
    rows_of: Vec<TableId>,
    made: Mutex<Vec<Lookup>>,
    read: Mutex<Vec<(TableId, Vec<u64>)>>,
}

#[derive(Debug)]
pub struct Lookup {
    pub table: TableId,
    /// Position in the table's definition.
    pub index: usize,
    /// One chunk a part of the key.
    pub keys: Vec<Chunk>,
    /// Of each key the row that has it.
    pub found: Vec<Option<u64>>,
}

impl Lookups {
    /// Notes lookups by key of these tables.
    pub fn of(keys_of: Vec<TableId>) -> Lookups {
        Lookups { keys_of, ..Lookups::default() }
    }

    /// Notes everything of these tables too.
    pub fn with_rows_of(self, rows_of: Vec<TableId>) -> Lookups {
        Lookups { rows_of, ..self }
    }

    pub fn take(&self) -> Vec<Lookup> {
        std::mem::take(&mut self.made.lock())
    }

    /// The rows read, each once, of each table.
    pub fn take_read(&self) -> Vec<(TableId, Vec<u64>)> {
        let read = std::mem::take(&mut *self.read.lock());
        let of = |id: TableId| {
            let of_table = read.iter().filter(move |(t, _)| *t == id);
            let mut ids: Vec<u64> = of_table.flat_map(|(_, ids)| ids.iter().copied()).collect();
            ids.sort_unstable();
            ids.dedup();
            (id, ids)
        };
        let mut tables = self.rows_of.clone();
        tables.sort_unstable();
        tables.dedup();
        tables.into_iter().map(of).collect()
    }
}

impl<'a> StoreTables<'a> {
    pub fn new(store: &'a Store, snapshot: &'a Snapshot) -> StoreTables<'a> {
        StoreTables { store, snapshot, others: &[], lookups: None, session: 0 }
    }

    /// The number of the session that reads.
    pub fn read_by(self, session: u32) -> StoreTables<'a> {
        StoreTables { session, ..self }
    }

    /// Has some tables seen by other snapshots.
    pub fn with_snapshots(self, others: &'a [(TableId, Snapshot)]) -> StoreTables<'a> {
        StoreTables { others, ..self }
    }

    /// Has lookups by unique keys noted.
    pub fn noting(self, lookups: Option<&'a Lookups>) -> StoreTables<'a> {
        StoreTables { lookups, ..self }
    }

    /// The same, but of `table` only these rows are there to be scanned.
    pub fn only<'b>(&'b self, table: TableId, row_ids: &'b [u64]) -> SomeRows<'b> {
        SomeRows { all: self, table, row_ids }
    }
}

/// The tables of a store, one of them cut down to some rows: what RETURNING reads.
pub struct SomeRows<'a> {
    all: &'a StoreTables<'a>,
    table: TableId,
    row_ids: &'a [u64],
}

impl Tables for SomeRows<'_> {
    fn open(&self, table: &TableDef) -> Result<Arc<dyn TableReader + '_>> {
        let all = self.all.open(table)?;
        if table.id != self.table { Ok(all) } else { Ok(Arc::new(SomeRowsReader { all, row_ids: self.row_ids })) }
    }
}

struct SomeRowsReader<'a> {
    all: Arc<dyn TableReader + 'a>,
    row_ids: &'a [u64],
}

impl TableReader for SomeRowsReader<'_> {
    fn leaf_count(&self) -> usize {
        self.row_ids.len().div_ceil(BATCH_ROWS_MAX)
    }

    fn read(
        &self,
        leaf: usize,
        columns: &[usize],
        with_row_id: bool,
        _: &dyn Fn(&ZoneMaps<'_>) -> bool,
    ) -> Result<Option<Batch>> {
        let Some(ids) = self.row_ids.chunks(BATCH_ROWS_MAX).nth(leaf) else { return Ok(None) };
        let mut batch = self.all.fetch(ids, columns)?;
        if with_row_id {
            batch.columns.push(Vector::flat(Chunk::new(Values::U64(ids.to_vec()), None)));
        }
        Ok(Some(batch))
    }

    fn lookup(&self, index: usize, keys: &[Vec<Value>]) -> Result<Vec<Option<u64>>> {
        let found = self.all.lookup(index, keys)?;
        Ok(found.into_iter().map(|id| id.filter(|id| self.row_ids.contains(id))).collect())
    }

    fn fetch(&self, row_ids: &[u64], columns: &[usize]) -> Result<Batch> {
        self.all.fetch(row_ids, columns)
    }
}

impl Tables for StoreTables<'_> {
    fn open(&self, table: &TableDef) -> Result<Arc<dyn TableReader + '_>> {
        let snapshot = self.others.iter().find(|(id, _)| *id == table.id).map_or(self.snapshot, |(_, s)| s);
        let reads = self.lookups.filter(|l| l.rows_of.contains(&table.id));
        let lookups = self.lookups.filter(|l| reads.is_some() || l.keys_of.contains(&table.id));
        let (id, table) = (table.id, self.store.expect_table(table)?);
        table.check_known_to(snapshot)?;
        let (io, session) = (table.io(), self.session);
        Ok(Arc::new(StoreReader { id, table, snapshot, lookups, reads, io, session }))
    }
}

struct StoreReader<'a> {
    id: TableId,
    table: Arc<Table>,
    snapshot: &'a Snapshot,
    lookups: Option<&'a Lookups>,
    /// All rows read are noted.
    reads: Option<&'a Lookups>,
    io: TableIo,
    session: u32,
}

impl StoreReader<'_> {
    /// The rows at the selected positions are read.
    fn note(&self, selection: &Selection, rows: usize, id: impl Fn(usize) -> u64) {
        if let Some(reads) = self.reads {
            let mut ids = Vec::new();
            selection.for_each(rows, |i| ids.push(id(i)));
            reads.read.lock().push((self.id, ids));
        }
    }
}

impl TableReader for StoreReader<'_> {
    fn leaf_count(&self) -> usize {
        self.table.leaf_count() as usize
    }

    fn read(
        &self,
        leaf: usize,
        columns: &[usize],
        with_row_id: bool,
        wanted: &dyn Fn(&ZoneMaps<'_>) -> bool,
    ) -> Result<Option<Batch>> {
        let view =
            self.table.scan_leaf_if(leaf as u64, columns, self.snapshot, |zone| wanted(&|column| zone(column).bounds));
        Ok(view.map(|v| {
            self.note(&v.selection, v.rows, |i| v.base_row_id + i as u64);
            let mut columns: Vec<Vector> = v.columns.into_iter().map(Vector::Flat).collect();
            if with_row_id {
                let ids = (v.base_row_id..v.base_row_id + v.rows as u64).collect();
                columns.push(Vector::flat(Chunk::new(Values::U64(ids), None)));
            }
            Batch { rows: v.rows, columns, selection: v.selection }
        }))
    }

    fn zone(&self, leaf: usize, column: usize) -> Option<Bounds> {
        if self.snapshot.is_dirty() {
            return None;
        }
        let nothing = Bounds { min: i64::MAX, max: i64::MIN };
        self.table.zone(leaf as u64, column).map_or(Some(nothing), |zone| zone.bounds)
    }

    fn bring_near(&self, leaves: std::ops::Range<usize>, columns: &[usize]) {
        self.table.bring_leaves_near(leaves.start as u64..leaves.end as u64, columns);
    }

    fn count(&self, leaf: usize) -> Result<usize> {
        if self.reads.is_some() {
            // Rows that are noted have to be looked at.
            return Ok(self.read(leaf, &[], false, &|_| true)?.map_or(0, |rows| rows.count()));
        }
        Ok(self.table.count_leaf(leaf as u64, self.snapshot))
    }

    fn lookup(&self, index: usize, keys: &[Vec<Value>]) -> Result<Vec<Option<u64>>> {
        let def = self.table.def();
        let mut parts: Vec<ChunkBuilder> = def.indexes[index]
            .parts
            .iter()
            .map(|p| ChunkBuilder::new(def.columns[p.column_idx].ty.phys(), keys.len()))
            .collect();
        for key in keys {
            parts.iter_mut().zip(key).for_each(|(b, v)| b.push(v));
        }
        let chunks: Vec<Chunk> = parts.into_iter().map(ChunkBuilder::finish).collect();
        let found = self.table.get_many(index, &chunks.iter().collect::<Vec<_>>(), keys.len(), self.snapshot);
        if let Some(lookups) = self.lookups {
            lookups.made.lock().push(Lookup { table: self.id, index, keys: chunks, found: found.clone() });
        }
        Ok(found)
    }

    fn fetch(&self, row_ids: &[u64], columns: &[usize]) -> Result<Batch> {
        let batch = batch(self.table.fetch(row_ids, columns, self.snapshot), row_ids.len());
        self.note(&batch.selection, batch.rows, |i| row_ids[i]);
        Ok(batch)
    }

    fn index_span(&self, index: usize, bounds: &KeyBounds) -> Option<KeySpan> {
        let range = self.table.key_range(index, bounds)?;
        let low = match range.lo {
            Bound::Included(prefix) => KeyCut { prefix, after: false },
            Bound::Excluded(prefix) => KeyCut { prefix, after: true },
            Bound::Unbounded => KeyCut { prefix: Vec::new(), after: false },
        };
        let high = match range.hi {
            Bound::Included(prefix) => KeyCut { prefix, after: true },
            Bound::Excluded(prefix) => KeyCut { prefix, after: false },
            Bound::Unbounded => KeyCut { prefix: Vec::new(), after: true },
        };
        Some(KeySpan { low, high })
    }

    fn index_key(&self, index: usize, values: &[Value], out: &mut Vec<u8>) -> bool {
        let Some(encoder) = self.table.index_encoder(index) else { return false };
        encoder.encode_into(values, out);
        true
    }

    fn prepare_index(&self, index: usize, go_on: &(dyn Fn() -> Result<()> + Sync)) -> Result<()> {
        self.table.build_index_while(index, go_on)
    }

    fn index_cursor(&self, index: usize, span: &KeySpan, reverse: bool) -> Result<Box<dyn IndexCursor + '_>> {
        let cursor = self.table.index_cursor(index, &range(span), reverse).ok_or_else(no_order)?;
        Ok(Box::new(StoreCursor(cursor)))
    }

    fn index_get_many(
        &self,
        index: usize,
        keys: &[Vec<u8>],
        most: usize,
        out: &mut Candidates,
        ends: &mut Vec<u32>,
    ) -> Result<()> {
        if self.table.index_get_many(index, keys, most, out, ends) { Ok(()) } else { Err(no_order()) }
    }

    fn index_estimate(&self, index: usize, span: &KeySpan) -> u64 {
        self.table.index_estimate(index, &range(span))
    }

    fn fetch_candidates_since(
        &self,
        index: usize,
        candidates: &Candidates,
        columns: &[usize],
        with_row_id: bool,
        moment: Option<u64>,
    ) -> Result<Batch> {
        let found = self.table.fetch_found(index, candidates, columns, self.snapshot, moment);
        let fetched = found.ok_or_else(no_order)?;
        let mut batch = batch(fetched, candidates.len());
        self.note(&batch.selection, batch.rows, |i| candidates.row_ids()[i]);
        if with_row_id {
            batch.columns.push(Vector::flat(Chunk::new(Values::U64(candidates.row_ids().to_vec()), None)));
        }
        Ok(batch)
    }

    fn index_leaves(&self, index: usize, spans: &[KeySpan]) -> Option<OrderedLeaves> {
        let ranges: Vec<KeyRange> = spans.iter().map(range).collect();
        let found = self.table.index_leaves(index, &ranges)?;
        Some(OrderedLeaves { leaves: found.leaves.iter().map(|l| *l as usize).collect(), is_all: found.is_all })
    }

    fn index_cursor_beside_leaves(&self, index: usize, span: &KeySpan) -> Result<Box<dyn IndexCursor + '_>> {
        let cursor = self.table.index_cursor_beside_runs(index, &range(span)).ok_or_else(no_order)?;
        Ok(Box::new(StoreCursor(cursor)))
    }

    fn settled(&self, index: usize) -> Option<u64> {
        // Rows that are noted have to be looked at.
        if self.reads.is_some() { None } else { self.table.settled(index) }
    }

    fn all_seen(&self, moment: u64, candidates: &Candidates) -> bool {
        self.table.all_seen(moment, candidates, self.snapshot)
    }

    fn leaf_is_settled(&self, moment: u64, leaf: usize) -> bool {
        self.table.leaf_is_settled(moment, leaf as u64, self.snapshot)
    }

    fn index_keys(&self, index: usize) -> Option<IndexEncoder> {
        self.table.index_encoder(index)
    }

    fn note_read(&self, index: Option<usize>, rows: u64) {
        self.io.of(index).fetched(self.session, rows);
    }

    fn leaf_of(&self, row_id: u64) -> usize {
        self.table.split(row_id).0 as usize
    }
}

fn batch(fetched: Fetched, rows: usize) -> Batch {
    let selection = match &fetched.seen {
        Some(seen) => Selection::from_bitmap(seen),
        None => Selection::All,
    };
    let columns = fetched.columns.into_iter().map(Vector::flat).collect();
    Batch { rows, columns, selection }
}

fn no_order() -> Error {
    Error::internal("a walk through an index without order")
}

fn range(span: &KeySpan) -> KeyRange {
    let lo = match span.low.after {
        false => Bound::Included(span.low.prefix.clone()),
        true => Bound::Excluded(span.low.prefix.clone()),
    };
    let hi = match span.high.after {
        true => Bound::Included(span.high.prefix.clone()),
        false => Bound::Excluded(span.high.prefix.clone()),
    };
    KeyRange { lo, hi }
}

struct StoreCursor<'a>(storage::IndexCursor<'a>);

impl IndexCursor for StoreCursor<'_> {
    fn next(&mut self, out: &mut Candidates, max: usize) -> Result<bool> {
        Ok(self.0.next(out, max))
    }

    fn skip_to(&mut self, key: &[u8]) {
        self.0.skip_to(key);
    }
}
