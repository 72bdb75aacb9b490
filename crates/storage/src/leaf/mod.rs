//! A leaf: up to 2^k rows of a table, column by column, with the versions of those that changed lately.
//!
//! ```text
//!   columns:  Arc<Chunk> │ Arc<Chunk> │ Arc<Chunk>      newest version of every row, in place
//!   live:     1 1 0 1 1 1                               newest version exists (uncommitted included)
//!   creator:  Some(txn)                                 all rows came with this transaction (bulk load)
//!   versions: slot 2 ─▶ Undo{Delete} ...                before-images, only where somebody may need them
//! ```
//! Invariants
//! 1. Every chunk has exactly `rows` positions, and so has `live`; integers of full leaves lie in the narrowest array
//!    that holds them. `rows` only grows; a row that exists for nobody any more may make way for another.
//! 2. A reader clones the Arcs of the columns it wants and never sees them change: a writer's `Arc::make_mut` changes a
//!    chunk in place when nobody else holds it, and a copy of it otherwise.
//! 3. A slot without a chain in a leaf without a creator has one version: what lies in place, if live, for everybody.
//!
//! - [`seen`]: what a snapshot sees of a leaf;
//! - [`locks`]: who holds its rows;
//! - [`change`]: changing them, and taking that back;
//! - [`restore`]: leaves from disk.

mod change;
mod locks;
mod restore;
mod seen;

pub use locks::RowState;

use crate::shared::SharedLocks;
use crate::txn::Txn;
use crate::undo::{Undo, Versions};
use std::sync::Arc;
use types::PhysType;
use vector::{Bitmap, Chunk};

/// Who attached a bulk-loaded leaf, as long as not everybody sees it.
#[derive(Debug)]
struct Creator {
    txn: Arc<Txn>,
    statement: u32,
    /// Which piece of the load's input the rows came from.
    piece: u64,
}

#[derive(Debug)]
pub struct Leaf {
    rows: usize,
    live_count: usize,
    live: Bitmap,
    columns: Box<[Arc<Chunk>]>,
    creator: Option<Creator>,
    versions: Option<Box<Versions>>,
    shared: Option<Box<SharedLocks>>,
}

impl Leaf {
    pub fn new(types: &[PhysType]) -> Leaf {
        Leaf {
            rows: 0,
            live_count: 0,
            live: Bitmap::default(),
            columns: types.iter().map(|&p| Arc::new(Chunk::empty(p, 0))).collect(),
            creator: None,
            versions: None,
            shared: None,
        }
    }

    /// A leaf whose rows all belong to `txn`'s current statement.
    pub fn created(txn: &Arc<Txn>, piece: u64, columns: Vec<Chunk>, rows: usize) -> Leaf {
        assert!(columns.iter().all(|c| c.len() == rows));
        Leaf {
            rows,
            live_count: rows,
            live: Bitmap::ones(rows),
            columns: columns.into_iter().map(Arc::new).collect(),
            creator: Some(Creator { txn: txn.clone(), statement: txn.statement(), piece }),
            versions: None,
            shared: None,
        }
    }

    /// Slots in use, dead ones included.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Rows whose newest version exists.
    pub fn live_count(&self) -> usize {
        self.live_count
    }

    pub fn column(&self, column: usize) -> &Arc<Chunk> {
        &self.columns[column]
    }

    pub(crate) fn columns(&self) -> &[Arc<Chunk>] {
        &self.columns
    }

    /// Where the column's chunk is found, for who wants that brought near.
    pub(crate) fn place_of(&self, column: usize) -> *const Arc<Chunk> {
        &raw const self.columns[column]
    }

    pub fn has_versions(&self) -> bool {
        self.versions.is_some() || self.creator.is_some()
    }

    fn head(&self, slot: usize) -> Option<&Arc<Undo>> {
        self.versions.as_ref()?.head(slot as u16)
    }

    /// The newest record of the row's chain.
    pub fn newest(&self, slot: usize) -> Option<&Undo> {
        self.head(slot).map(|h| &**h)
    }

    fn versions_mut(&mut self) -> &mut Versions {
        self.versions.get_or_insert_default()
    }

    /// Whether there are versions of the row at `slot` that not everybody sees.
    pub fn is_versioned(&self, slot: usize) -> bool {
        self.creator.is_some() || self.head(slot).is_some()
    }

    pub fn is_live(&self, slot: usize) -> bool {
        // Mostly all do; the bitmap is another cache miss.
        slot < self.rows && (self.live_count == self.rows || self.live.get(slot))
    }

    /// No row exists, and nobody can see one that did.
    pub fn is_dead(&self) -> bool {
        self.live_count == 0 && !self.has_versions()
    }
}
