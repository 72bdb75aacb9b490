//! Checking a table against its own invariants, as CHECK TABLE and the tests do.

use crate::leaf::Leaf;
use crate::table::Table;
use vector::Chunk;

impl Table {
    /// Looks at every row, and answers with what is wrong. No transaction may be changing the table meanwhile.
    pub fn check(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let snapshot = self.txns().snapshot();
        let mut live = 0;
        for leaf_no in 0..self.leaf_count() {
            let Some(slot) = self.heap.slot(leaf_no) else {
                faults.push(format!("leaf {leaf_no} has no slot"));
                continue;
            };
            if let Some(leaf) = slot.read().leaf() {
                live += leaf.live_count() as u64;
                self.check_leaf(leaf_no, leaf, &mut faults);
            }
            let keys: Vec<usize> = (0..self.types().len()).collect();
            let Some(view) = self.scan_leaf(leaf_no, &keys, &snapshot) else { continue };
            for (i, index) in self.indexes().unique.iter().enumerate() {
                let chunks: Vec<&Chunk> = index.spec.columns.iter().map(|&c| &*view.columns[c]).collect();
                let found = self.get_many(i, &chunks, view.rows, &snapshot);
                view.selection.for_each(view.rows, |row| {
                    let row_id = view.base_row_id + row as u64;
                    if chunks.iter().all(|c| c.is_valid(row)) && found[row] != Some(row_id) {
                        faults.push(format!("{} finds {:?} for row {row_id}", index.name(), found[row]));
                    }
                });
            }
        }
        self.check_ordered(&mut faults);
        if live != self.row_count() {
            faults.push(format!("{live} rows live, {} counted", self.row_count()));
        }
        faults
    }

    fn check_leaf(&self, leaf_no: u64, leaf: &Leaf, faults: &mut Vec<String>) {
        let counted = (0..leaf.rows()).filter(|&s| leaf.is_live(s)).count();
        if counted != leaf.live_count() {
            faults.push(format!("leaf {leaf_no}: {counted} rows live, {} counted", leaf.live_count()));
        }
        for (c, phys) in self.types().iter().enumerate() {
            let chunk = leaf.column(c);
            let stored = chunk.values.phys();
            if chunk.len() != leaf.rows() || stored != *phys && !vector::is_narrower(stored, *phys) {
                faults.push(format!("leaf {leaf_no} column {c}: {} {:?} values", chunk.len(), chunk.values.phys()));
            }
            let outside = |s: &usize| {
                let value = chunk.is_valid(*s).then(|| chunk.values.int_at(*s)).flatten();
                chunk.bounds.is_some_and(|b| value.is_some_and(|v| v < b.min || v > b.max))
            };
            if let Some(slot) = (0..leaf.rows()).find(outside) {
                faults.push(format!("leaf {leaf_no} column {c}: slot {slot} lies outside the zone map"));
            }
        }
    }

    /// Leaves of which old versions are still kept.
    pub fn versioned_leaves(&self) -> usize {
        (0..self.leaf_count())
            .filter_map(|n| self.heap.slot(n))
            .filter(|s| s.read().leaf().is_some_and(Leaf::has_versions))
            .count()
    }
}
