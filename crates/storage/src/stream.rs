//! A table's rows as one snapshot sees them, leaf by leaf: what copies of a database are made from.
//!
//! Nothing is held between two leaves but the snapshot, so that a slow reader is in nobody's way; what it keeps is the
//! old versions that the snapshot needs.

use crate::table::Table;
use crate::txn::Snapshot;
use std::sync::Arc;
use vector::{Batch, Vector};

/// See the module head. TIMESTAMPs come in stored form.
#[derive(Debug)]
pub struct TableStream {
    table: Arc<Table>,
    columns: Vec<usize>,
    snapshot: Snapshot,
    next_leaf: u64,
    /// Leaves attached later hold no rows that the snapshot sees.
    leaf_end: u64,
}

impl TableStream {
    /// `columns`: positions in the definition, in the order wanted.
    pub fn new(table: Arc<Table>, columns: Vec<usize>, snapshot: Snapshot) -> TableStream {
        TableStream { leaf_end: table.leaf_count(), table, columns, snapshot, next_leaf: 0 }
    }
}

impl Iterator for TableStream {
    type Item = Batch;

    fn next(&mut self) -> Option<Batch> {
        while self.next_leaf < self.leaf_end {
            let leaf_no = self.next_leaf;
            self.next_leaf += 1;
            if let Some(view) = self.table.scan_leaf(leaf_no, &self.columns, &self.snapshot) {
                let mut batch = Batch::new(view.rows, view.columns.into_iter().map(Vector::Flat).collect());
                batch.selection = view.selection;
                return Some(batch);
            }
        }
        None
    }
}
