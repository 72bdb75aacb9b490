//! The store: all tables of a database directory, by id, and their transactions.

use crate::checkpoint::run::{CheckpointDone, Moment};
use crate::definitions::DefinitionChange;
use crate::durable::{Durable, DurableOptions};
use crate::index::ordered::GoOn;
use crate::recovery::{Definer, OnProgress, Report};
use crate::sync::{AtomicBool, AtomicU64, Ordering, Rank, RwLock};
use crate::table::Table;
use crate::txn::TxnManager;
use catalog::{IndexForm, KeyBounds, Statistics, TableDef, TableId, TableStats};
use disk::Io;
use hashbrown::HashMap;
use std::path::Path;
use std::sync::Arc;
use types::{Error, Result};

/// How tables are laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StorageOptions {
    /// Rows of a leaf, for tests: a power of two from 8 to 1024. `None`: by row width.
    pub leaf_rows: Option<usize>,
}

/// Clones are the same store.
#[derive(Clone, Debug)]
pub struct Store(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    tables: RwLock<HashMap<TableId, Arc<Table>>>,
    txns: Arc<TxnManager>,
    options: StorageOptions,
    /// The greatest id of any table so far.
    table_id_max: AtomicU64,
    durable: Option<Durable>,
    /// A table's statistics are out of date.
    statistics_due: AtomicBool,
}

impl Default for Store {
    fn default() -> Store {
        Store::new(StorageOptions::default())
    }
}

impl Store {
    /// A store in memory alone.
    pub fn new(options: StorageOptions) -> Store {
        Store::with(options, TxnManager::new(), Vec::new(), 0, None)
    }

    fn with(
        options: StorageOptions,
        txns: Arc<TxnManager>,
        tables: Vec<Arc<Table>>,
        id_max: u64,
        durable: Option<Durable>,
    ) -> Store {
        let tables = tables.into_iter().map(|t| (t.def().id, t)).collect();
        Store(Arc::new(Shared {
            tables: RwLock::new(Rank::Store, tables),
            txns,
            options,
            table_id_max: AtomicU64::new(id_max),
            durable,
            statistics_due: AtomicBool::new(false),
        }))
    }

    /// Opens the database in `dir`, or begins one there. `definer` makes tables' definitions of their texts.
    pub fn open(
        io: Arc<dyn Io>,
        dir: &Path,
        options: StorageOptions,
        durable: DurableOptions,
        definer: Definer<'_>,
        progress: OnProgress<'_>,
    ) -> Result<(Store, Report)> {
        let txns = TxnManager::new();
        let (durable, recovered) = Durable::open(io, dir, &txns, durable, definer, progress)?;
        let id_max = recovered.definitions.table_id_max;
        let store = Store::with(options, txns, recovered.tables, id_max, Some(durable));
        Ok((store, recovered.report))
    }

    /// The durable side; `None` if the store is in memory alone.
    pub fn durable(&self) -> Option<&Durable> {
        self.0.durable.as_ref()
    }

    /// No table has or had a greater id.
    pub fn table_id_max(&self) -> u64 {
        self.0.table_id_max.load(Ordering::Relaxed)
    }

    /// Logs one statement's changes of definitions, before the engine publishes them.
    pub fn define(&self, mut changes: Vec<DefinitionChange>) -> Result<()> {
        let Some(durable) = self.durable() else { return Ok(()) };
        for change in &mut changes {
            if let DefinitionChange::Put(_, object) = change
                && let Some(table) = self.table(TableId(object.table_id))
            {
                object.leaf_shift = table.leaf_rows().trailing_zeros() as u8;
                object.auto_increment = table.auto_increment();
            }
        }
        durable.define(self.txns(), &changes)
    }

    fn moment(&self, durable: &Durable) -> Moment {
        let tables = || {
            let mut tables: Vec<Arc<Table>> = self.0.tables.read().values().filter(|t| t.logged()).cloned().collect();
            tables.sort_unstable_by_key(|t| t.def().id);
            tables
        };
        durable.moment(self.txns(), tables, self.table_id_max())
    }

    /// Makes a checkpoint now. Nobody waits for it but the caller.
    pub fn checkpoint(&self) -> Result<CheckpointDone> {
        let Some(durable) = self.durable() else { return Ok(CheckpointDone::default()) };
        durable.checkpoint(self.txns(), || self.moment(durable))
    }

    /// Writes a copy of the database, as it is at this moment, into an empty folder. `go_on` is asked at every leaf,
    /// and its error ends the work.
    pub fn backup(&self, to: &Path, go_on: GoOn<'_>) -> Result<CheckpointDone> {
        let durable = self.durable().ok_or_else(|| Error::not_supported("BACKUP of a database without a folder"))?;
        durable.backup(to, &self.moment(durable), go_on)
    }

    /// Puts what was committed on stable storage, whatever the mode.
    pub fn flush_log(&self) -> Result<()> {
        self.durable().map_or(Ok(()), |d| d.redo().flush(self.txns(), false).map(|_| ()))
    }

    pub fn txns(&self) -> &Arc<TxnManager> {
        &self.0.txns
    }

    pub fn options(&self) -> &StorageOptions {
        &self.0.options
    }

    fn make(&self, def: Arc<TableDef>) -> Arc<Table> {
        Table::new(def, self.0.txns.clone(), self.0.options.leaf_rows)
    }

    /// Makes an empty table. Its indexes are those of the definition.
    pub fn create_table(&self, def: Arc<TableDef>) -> Arc<Table> {
        self.0.table_id_max.fetch_max(def.id.0, Ordering::Relaxed);
        let table = self.make(def);
        let before = self.0.tables.write().insert(table.def().id, table.clone());
        assert!(before.is_none(), "table ids are never reused");
        table
    }

    pub fn table(&self, id: TableId) -> Option<Arc<Table>> {
        self.0.tables.read().get(&id).cloned()
    }

    /// The table, which the caller knows to exist: its definition came from the catalog.
    pub fn expect_table(&self, def: &TableDef) -> Result<Arc<Table>> {
        self.table(def.id).ok_or_else(|| Error::no_such_table(&def.schema, &def.name))
    }

    /// Lets the table go; readers that hold it finish undisturbed.
    pub fn drop_table(&self, id: TableId) -> Option<Arc<Table>> {
        self.0.tables.write().remove(&id)
    }

    /// Replaces the table by an empty one of the same definition; AUTO_INCREMENT starts anew. Readers and writers that
    /// hold the old one do not notice: DDL keeps them out beforehand.
    pub fn truncate_table(&self, id: TableId) -> Option<Arc<Table>> {
        let def = self.table(id)?.def();
        let table = self.make(def);
        self.0.tables.write().insert(id, table.clone());
        Some(table)
    }

    /// Puts `table` in place of the one that has its id.
    pub fn replace_table(&self, table: Arc<Table>) {
        self.0.tables.write().insert(table.def().id, table);
    }

    pub fn table_ids(&self) -> Vec<TableId> {
        let mut ids: Vec<TableId> = self.0.tables.read().keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    /// Bytes held by all tables. Walks all leaves.
    pub fn bytes(&self) -> usize {
        let tables: Vec<Arc<Table>> = self.0.tables.read().values().cloned().collect();
        tables.iter().map(|t| t.bytes()).sum()
    }
}

impl Store {
    /// Whether a table's statistics wait to be made anew; only the first who asks is told.
    pub fn take_statistics_due(&self) -> bool {
        self.0.statistics_due.load(Ordering::Relaxed) && self.0.statistics_due.swap(false, Ordering::Relaxed)
    }

    /// Makes the statistics anew that are out of date, until `stop` says so. Which tables' those were.
    pub fn refresh_due_statistics(&self, stop: &dyn Fn() -> bool) -> Vec<TableId> {
        let tables = self.table_ids().into_iter().take_while(|_| !stop());
        tables.filter(|id| self.table(*id).is_some_and(|t| t.refresh_if_due(stop))).collect()
    }
}

impl Statistics for Store {
    fn table(&self, id: TableId) -> Option<Arc<TableStats>> {
        let table = Store::table(self, id)?;
        let stats = table.statistics();
        if table.statistics_due() {
            self.0.statistics_due.store(true, Ordering::Relaxed);
        }
        Some(stats)
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
