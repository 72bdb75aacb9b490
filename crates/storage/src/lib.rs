//! Where rows live: leaves in heaps, versions, transactions, indexes, statistics.
//!
//! ```text
//!   Store ── Table ── Heap ── LeafSlot ── Leaf ── Arc<Chunk> a column, newest version in place
//!     │        │                            └──── Versions: before-images of rows changed lately
//!     │        ├── UniqueIndex: sorted runs + hash of row ids
//!     │        └── OrderedIndex: a tree of (key, row id), built at its first use
//!     └── TxnManager: Txn, Snapshot, commit order, waits, garbage
//! ```
//! A reader takes a [`Snapshot`], walks leaf numbers, and gets of each leaf the Arcs of the columns it wants and the
//! positions it may see ([`Table::scan_leaf`]); it works on them with no latch held. A writer changes the newest
//! version in place and leaves a before-image with its [`Txn`]; [`TxnManager::commit`] publishes all of it with one
//! store.
//!
//! ```
//! # use std::sync::Arc;
//! # use catalog::{ColumnDef, TableDef, TableEngine, TableId};
//! # use types::{Collation, SqlType, Value};
//! # use vector::Chunk;
//! # let column = ColumnDef::plain("a", SqlType::INT, true);
//! # let def = Arc::new(TableDef { id: TableId(1), schema: "test".into(), name: "t".into(), columns: vec![column],
//! #     indexes: vec![], checks: vec![], foreign_keys: vec![], engine: TableEngine::InnoDb,
//! #     collation: Collation::Utf8mb4_0900AiCi, comment: "".into(),
//! #     options: vec![], created_at: 0, temporary: false });
//! let store = storage::Store::default();
//! let table = store.create_table(def);
//! let txn = store.txns().begin();
//! let row = Chunk::single(table.types()[0], &Value::Int(7));
//! let ids = table.insert_rows(&txn, &[&row], 1)?;
//! store.txns().commit(&txn)?;
//!
//! let snapshot = store.txns().snapshot();
//! for leaf_no in 0..table.leaf_count() {
//!     if let Some(view) = table.scan_leaf(leaf_no, &[0], &snapshot) {
//!         assert_eq!((view.base_row_id, view.rows), (ids[0], 1));
//!     }
//! }
//! # Ok::<(), types::Error>(())
//! ```
//!
//! Everything is `Send + Sync`. Nothing here blocks but the write functions of [`Table`], for rows and keys that
//! another transaction holds.

mod access;
mod background;
mod batch;
mod bulk;
mod change_by_key;
mod check;
mod checkpoint;
mod current;
mod definitions;
mod dict;
mod durable;
mod estimate;
mod fetch;
mod heap;
mod image;
mod index;
mod leaf;
mod log;
mod near;
mod ordered;
mod recovery;
mod reindex;
mod reuse;
mod room;
mod row_sample;
mod row_wait;
mod scan;
mod settled;
mod shared;
mod space;
mod stats;
mod store;
mod stream;
pub mod sync;
mod table;
mod table_io;
mod tails;
mod txn;
mod undo;
mod visit;
mod waits;
mod write;

pub use access::RunLeaves;
pub use background::Background;
pub use batch::Keys;
pub use bulk::{BulkAppender, BulkDone, ColumnBuilder, RowsBehind};
pub use change_by_key::Step;
pub use checkpoint::run::CheckpointDone;
pub use current::Found;
pub use definitions::{DefinitionChange, Definitions, Object, ObjectKey, ObjectKind};
pub use durable::{Durable, DurableOptions, LOG_BYTES_MAX};
pub use fetch::Fetched;
pub use index::btree::sort_while;
pub use index::cursor::{Candidates, IndexCursor, KeyRange};
pub use index::encode::{KeyEncoder, PartBounds, PartPlace};
pub use index::ordered::GoOn;
pub use index::unique::point::RowAt;
pub use log::group::{FlushMode, OnTrouble, Redo, Trouble};
pub use near::prefetch;
pub use ordered::{IndexEncoder, IndexRows};
pub use recovery::{Progress, Report};
pub use reindex::Reindex;
pub use scan::{LeafView, Zone};
pub use shared::RowLockMode;
pub use space::Space;
pub use store::{StorageOptions, Store};
pub use stream::TableStream;
pub use table::{Table, greatest_number, number_at};
pub use table_io::{IndexIo, IoCounts, TableIo};
pub use txn::{ACTIVE, Change, LockWait, Savepoint, Snapshot, Txn, TxnManager, Unsettled, Versioned, Waiter};
pub use visit::IntRange;
pub use waits::{
    Deadlock, DeadlockMember, DeadlockReport, LockId, OwnerId, RowLockName, Sleeper, WaitGraph, WaitInfo, Waiting,
    Wanted,
};
pub use write::{Duplicate, RowLock};
