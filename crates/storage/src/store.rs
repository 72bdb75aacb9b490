//! The store: all tables of a database directory, by id, and their transactions.

use crate::sync::{Rank, RwLock};
use crate::table::Table;
use crate::txn::TxnManager;
use catalog::{IndexForm, KeyBounds, Statistics, TableDef, TableId, TableStats};
use std::collections::HashMap;
use std::sync::Arc;
use types::{Error, Result};

/// How tables are laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StorageOptions {
    /// Rows of a leaf, for tests: a power of two from 8 to 1024. `None`: by row width.
    pub leaf_rows: Option<usize>,
}

#[derive(Debug)]
pub struct Store {
    tables: RwLock<HashMap<TableId, Arc<Table>>>,
    txns: Arc<TxnManager>,
    options: StorageOptions,
}

impl Default for Store {
    fn default() -> Store {
        Store::new(StorageOptions::default())
    }
}

impl Store {
    pub fn new(options: StorageOptions) -> Store {
        Store { tables: RwLock::new(Rank::Store, HashMap::new()), txns: TxnManager::new(), options }
    }

    pub fn txns(&self) -> &Arc<TxnManager> {
        &self.txns
    }

    pub fn options(&self) -> &StorageOptions {
        &self.options
    }

    fn make(&self, def: Arc<TableDef>) -> Arc<Table> {
        Table::new(def, self.txns.clone(), self.options.leaf_rows)
    }

    /// Makes an empty table. Its indexes are those of the definition.
    pub fn create_table(&self, def: Arc<TableDef>) -> Arc<Table> {
        let table = self.make(def);
        let before = self.tables.write().insert(table.def().id, table.clone());
        assert!(before.is_none(), "table ids are never reused");
        table
    }

    pub fn table(&self, id: TableId) -> Option<Arc<Table>> {
        self.tables.read().get(&id).cloned()
    }

    /// The table, which the caller knows to exist: its definition came from the catalog.
    pub fn expect_table(&self, def: &TableDef) -> Result<Arc<Table>> {
        self.table(def.id).ok_or_else(|| Error::no_such_table(&def.schema, &def.name))
    }

    /// Lets the table go; readers that hold it finish undisturbed.
    pub fn drop_table(&self, id: TableId) -> Option<Arc<Table>> {
        self.tables.write().remove(&id)
    }

    /// Replaces the table by an empty one of the same definition; AUTO_INCREMENT starts anew. Readers and writers that
    /// hold the old one do not notice: DDL keeps them out beforehand.
    pub fn truncate_table(&self, id: TableId) -> Option<Arc<Table>> {
        let def = self.table(id)?.def().clone();
        let table = self.make(def);
        self.tables.write().insert(id, table.clone());
        Some(table)
    }

    /// Puts `table` in place of the one that has its id.
    pub fn replace_table(&self, table: Arc<Table>) {
        self.tables.write().insert(table.def().id, table);
    }

    pub fn table_ids(&self) -> Vec<TableId> {
        let mut ids: Vec<TableId> = self.tables.read().keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    /// Bytes held by all tables. Walks all leaves.
    pub fn bytes(&self) -> usize {
        let tables: Vec<Arc<Table>> = self.tables.read().values().cloned().collect();
        tables.iter().map(|t| t.bytes()).sum()
    }
}

impl Statistics for Store {
    fn table(&self, id: TableId) -> Option<Arc<TableStats>> {
        Some(Store::table(self, id)?.statistics())
    }

    fn index_form(&self, id: TableId, index: usize) -> IndexForm {
        Store::table(self, id).map(|t| t.index_form(index)).unwrap_or_default()
    }

    fn index_estimate(&self, id: TableId, index: usize, bounds: &KeyBounds) -> Option<u64> {
        let table = Store::table(self, id)?;
        let range = table.key_range(index, bounds)?;
        Some(table.index_estimate(index, &range))
    }
}
