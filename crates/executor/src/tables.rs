//! Tables of the storage layer, as one statement's snapshot sees them.

use crate::context::{TableReader, Tables, ZoneMaps};
use catalog::TableDef;
use std::sync::Arc;
use storage::{Snapshot, Store, Table};
use types::{Result, Value};
use vector::{Batch, Chunk, ChunkBuilder, Selection, Values, Vector};

/// Opens tables of a store under one snapshot.
pub struct StoreTables<'a> {
    store: &'a Store,
    snapshot: &'a Snapshot,
}

impl<'a> StoreTables<'a> {
    pub fn new(store: &'a Store, snapshot: &'a Snapshot) -> StoreTables<'a> {
        StoreTables { store, snapshot }
    }
}

impl Tables for StoreTables<'_> {
    fn open(&self, table: &TableDef) -> Result<Arc<dyn TableReader + '_>> {
        Ok(Arc::new(StoreReader { table: self.store.expect_table(table)?, snapshot: self.snapshot }))
    }
}

struct StoreReader<'a> {
    table: Arc<Table>,
    snapshot: &'a Snapshot,
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
            let mut columns: Vec<Vector> = v.columns.into_iter().map(Vector::Flat).collect();
            if with_row_id {
                let ids = (v.base_row_id..v.base_row_id + v.rows as u64).collect();
                columns.push(Vector::flat(Chunk::new(Values::U64(ids), None)));
            }
            Batch { rows: v.rows, columns, selection: v.selection }
        }))
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
        Ok(self.table.get_many(index, &chunks.iter().collect::<Vec<_>>(), keys.len(), self.snapshot))
    }

    fn fetch(&self, row_ids: &[u64], columns: &[usize]) -> Result<Batch> {
        let fetched = self.table.fetch(row_ids, columns, self.snapshot);
        let selection = match &fetched.seen {
            Some(seen) => Selection::from_bitmap(seen),
            None => Selection::All,
        };
        let columns = fetched.columns.into_iter().map(Vector::flat).collect();
        Ok(Batch { rows: row_ids.len(), columns, selection })
    }
}
