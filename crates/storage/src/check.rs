//! Checking a table against its own invariants, as CHECK TABLE and the tests do.

use crate::index::ordered::GoOn;
use crate::leaf::Leaf;
use crate::table::Table;
use crate::txn::Versioned;
use types::Result;
use vector::Chunk;

impl Table {
    /// Looks at every row, and answers with what is wrong. No transaction may be changing the table meanwhile.
    pub fn check(&self) -> Vec<String> {
        self.check_while(&|| Ok(())).expect("nobody ends it")
    }

    /// Like [`Table::check`]; asks `go_on` at every leaf, and ends with the error that it answers.
    pub fn check_while(&self, go_on: GoOn<'_>) -> Result<Vec<String>> {
        let mut faults = Vec::new();
        let snapshot = self.txns().snapshot();
        let mut live = 0;
        for leaf_no in 0..self.leaf_count() {
            go_on()?;
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
        self.check_ordered(go_on, &mut faults)?;
        if live != self.row_count() {
            faults.push(format!("{live} rows live, {} counted", self.row_count()));
        }
        Ok(faults)
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

    /// Records of old versions that are still kept, and of locks.
    pub fn version_records(&self) -> usize {
        let records = |n| self.heap.slot(n).map_or(0, |s| s.read().leaf().map_or(0, Leaf::records));
        (0..self.leaf_count()).map(records).sum()
    }

    /// Takes away all versions that no snapshot in use needs, as writers do now and then.
    pub fn collect_versions(&self) {
        let horizon = self.txns().horizon();
        for leaf_no in 0..self.leaf_count() {
            Versioned::collect(self, leaf_no, &horizon);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Store;
    use catalog::{ColumnDef, IndexDef, IndexKind, IndexPart, TableDef, TableEngine, TableId};
    use std::sync::Arc;
    use types::{Collation, SqlType, Value};
    use vector::Chunk;

    fn definition() -> TableDef {
        let column = ColumnDef::plain("a", SqlType::INT, true);
        let index = IndexDef {
            name: "by_a".into(),
            kind: IndexKind::Plain,
            parts: vec![IndexPart { column_idx: 0, prefix_len: None, descending: false }],
            algorithm: None,
            comment: "".into(),
            invisible: false,
            made_for_foreign_key: false,
        };
        TableDef {
            id: TableId(1),
            schema: "test".into(),
            name: "t".into(),
            columns: vec![column],
            indexes: vec![index],
            checks: vec![],
            foreign_keys: vec![],
            engine: TableEngine::Memory,
            collation: Collation::default(),
            comment: "".into(),
            options: vec![],
            created_at: 0,
            temporary: false,
        }
    }

    #[test]
    fn entries_missing_and_entries_too_many_are_found() {
        let store = Store::default();
        let table = store.create_table(Arc::new(definition()));
        let txn = store.txns().begin();
        let mut ids = Vec::new();
        for i in 0..10 {
            let row = Chunk::single(table.types()[0], &Value::Int(i));
            ids.extend(table.insert_rows(&txn, &[&row], 1).expect("no duplicates"));
        }
        store.txns().commit(&txn).expect("the log can be written");
        table.build_index(0);
        assert_eq!(table.check(), Vec::<String>::new());

        let encoder = table.index_encoder(0).expect("an ordered index");
        let ordered = table.indexes().ordered[0].clone().expect("an ordered index");
        let tree = ordered.tree().expect("it was built");
        let (there, not_there) = (encoder.encode(&[Value::Int(3)]), encoder.encode(&[Value::Int(77)]));
        tree.remove(&there, ids[3]);
        assert_eq!(table.check(), ["by_a: 1 entries of versions are missing"]);
        tree.insert(&there, ids[3]);
        tree.insert(&not_there, ids[5]);
        assert_eq!(table.check(), [format!("by_a: no version of row {} has the key of its entry", ids[5])]);
    }

    #[test]
    fn entries_are_counted_only_while_nobody_takes_any_away() {
        use crate::{Candidates, KeyRange};
        let store = Store::default();
        let table = store.create_table(Arc::new(definition()));
        let txn = store.txns().begin();
        let mut ids = Vec::new();
        for i in 0..10 {
            let row = Chunk::single(table.types()[0], &Value::Int(i));
            ids.extend(table.insert_rows(&txn, &[&row], 1).expect("no duplicates"));
        }
        table.build_index(0);
        let read = || {
            let mut found = Candidates::default();
            table.index_cursor(0, &KeyRange::ALL, false).expect("an ordered index").next(&mut found, 100);
            found
        };
        let seen = |moment, found: &Candidates| table.all_seen(moment, found, &store.txns().snapshot());
        // Not committed, then committed, with versions or without.
        assert!(!seen(table.settled(0).expect("nobody collects"), &read()));
        store.txns().commit(&txn).expect("the log can be written");
        store.txns().collect_garbage(1 << 20);
        let before = table.settled(0).expect("nobody collects");
        let found = read();
        assert!(found.len() == 10 && seen(before, &found));
        // A row goes: not as long as its version is there, and not by entries read before that went.
        let txn = store.txns().begin();
        assert!(table.delete(&txn, ids[4]).expect("nobody has it"));
        assert!(!seen(before, &found));
        store.txns().commit(&txn).expect("the log can be written");
        store.txns().collect_garbage(1 << 20);
        assert_eq!(table.versioned_leaves(), 0);
        assert!(!seen(before, &found), "what was read before is not certain any more");
        let (after, found) = (table.settled(0).expect("nobody collects"), read());
        assert!(found.len() == 9 && seen(after, &found));
        let removals = table.removals.enter();
        assert!(table.settled(0).is_none() && !seen(after, &found));
        drop(removals);
        assert!(table.settled(0).is_some());
    }
}
