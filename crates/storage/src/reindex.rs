//! CREATE and DROP INDEX: other indexes for a table that is in use.
//!
//! ```text
//!   begin                         build                              publish (all others kept out)      
//!   new indexes join the set      leaf by leaf, by several threads;  uniqueness is certain; the new
//!   that writers maintain         writers enter what they bring      definition takes the old one's place
//! ```
//! Until it is published nobody reads a new index. A new unique index refuses nothing while it is being built: whoever
//! meets a conflict, builder or writer, marks it as *suspect*. When it is published, no transaction has changes of the
//! table in flight, and a suspect is looked through once more: now a duplicate is one.

use crate::index::UniqueIndex;
use crate::index::key::{Key, KeySpec};
use crate::index::ordered::{GoOn, OrderedIndex};
use crate::leaf::Leaf;
use crate::sync::{AtomicU64, Ordering};
use crate::table::Table;
use crate::txn::Txn;
use catalog::{IndexDef, TableDef};
use std::sync::Arc;
use types::{Error, Result};
use vector::Chunk;

/// A change of a table's indexes. Dropped without [`Reindex::publish`], it leaves no trace.
#[derive(Debug)]
pub struct Reindex {
    table: Arc<Table>,
    def: Arc<TableDef>,
    /// For each index of the new definition, its position in the old one.
    kept: Vec<Option<usize>>,
    /// The new indexes, with their positions in the new definition.
    unique: Vec<(usize, Arc<UniqueIndex>)>,
    ordered: Vec<(usize, Arc<OrderedIndex>)>,
    published: bool,
}

impl Table {
    /// Begins to change the table's indexes to those of `def`, which has the same columns. `kept`: for each of them its
    /// position in the present definition, `None` for a new one. One change at a time.
    pub fn reindex(self: &Arc<Self>, def: Arc<TableDef>, kept: Vec<Option<usize>>) -> Reindex {
        assert_eq!(def.indexes.len(), kept.len());
        let is_new = |i: &usize| kept[*i].is_none();
        let new: Vec<usize> = (0..kept.len()).filter(is_new).collect();
        let make_unique = |i: &usize| Arc::new(UniqueIndex::being_built(KeySpec::new(&def, &def.indexes[*i])));
        let (unique, plain): (Vec<usize>, Vec<usize>) = new.iter().partition(|i| def.indexes[**i].is_unique());
        let unique: Vec<_> = unique.iter().map(|i| (*i, make_unique(i))).collect();
        let make_ordered = |i: usize| Some((i, Arc::new(OrderedIndex::new(&def, &def.indexes[i])?)));
        let ordered: Vec<_> = plain.into_iter().filter_map(make_ordered).collect();
        self.indexes.change(|set| {
            set.unique = set.unique.iter().cloned().chain(unique.iter().map(|u| u.1.clone())).collect();
            set.ordered = set.ordered.iter().cloned().chain(ordered.iter().map(|o| Some(o.1.clone()))).collect();
        });
        Reindex { table: self.clone(), def, kept, unique, ordered, published: false }
    }

    /// Whether a row has NULL in one of the columns, as of now.
    pub fn has_nulls_in(&self, columns: &[usize]) -> bool {
        let snapshot = self.txns().snapshot();
        (0..self.leaf_count()).any(|leaf_no| {
            let Some(view) = self.scan_leaf(leaf_no, columns, &snapshot) else { return false };
            let mut found = false;
            for chunk in view.columns.iter().filter(|c| c.has_nulls()) {
                view.selection.for_each(view.rows, |i| found |= !chunk.is_valid(i));
            }
            found
        })
    }
}

impl Reindex {
    /// Builds the new indexes while others read and write the table.
    pub fn build(&self) {
        self.build_while(&|| Ok(())).expect("nobody ends it");
    }

    /// Like [`Reindex::build`]; `go_on` is asked at every leaf, and its error ends the work.
    pub fn build_while(&self, go_on: GoOn<'_>) -> Result<()> {
        let (table, set) = (&self.table, self.table.indexes());
        for (_, index) in &self.ordered {
            let at = set.ordered.iter().position(|o| o.as_ref().is_some_and(|o| Arc::ptr_eq(o, index)));
            table.make_live_while(&set, at.expect("it joined the set"), index, go_on)?;
        }
        for (_, index) in &self.unique {
            let at = set.unique.iter().position(|u| Arc::ptr_eq(u, index)).expect("it joined the set");
            self.build_unique(at, index, go_on)?;
        }
        table.count_new_keys(&self.def, go_on)
    }

    fn build_unique(&self, at: usize, index: &UniqueIndex, go_on: GoOn<'_>) -> Result<()> {
        let table = &self.table;
        let txn = table.txns().begin();
        let leaf_count = table.leaf_count();
        let next_leaf = AtomicU64::new(0);
        let done = table.with_build_threads(&|| {
            loop {
                go_on()?;
                let leaf_no = next_leaf.fetch_add(1, Ordering::Relaxed);
                if leaf_no >= leaf_count {
                    return Ok(());
                }
                table.enter_leaf_in(at, index, leaf_no, &txn);
            }
        });
        // It changed nothing.
        table.txns().rollback(&txn);
        done.into_iter().collect()
    }

    /// Whether the new definition can be put in place; the last step before [`Reindex::publish`]. No transaction may
    /// have changes of the table in flight, and nobody may begin to read or write it before that ends. 1062: the rows
    /// do not allow a new unique index.
    pub fn check(&self) -> Result<()> {
        let mut suspects = self.unique.iter().filter(|(_, u)| u.is_suspect());
        suspects.try_for_each(|(_, index)| self.look_for_duplicate(index))
    }

    /// Puts the new definition in place.
    pub fn publish(mut self) {
        let (def, kept) = (&self.def, &self.kept);
        self.table.indexes.change(|set| {
            let unique = (0..def.indexes.len()).take_while(|i| def.indexes[*i].is_unique()).map(|i| match kept[i] {
                Some(old) => set.unique[old].clone(),
                None => self.unique.iter().find(|u| u.0 == i).expect("it was made new").1.clone(),
            });
            let unique: Arc<[Arc<UniqueIndex>]> = unique.collect();
            let ordered = (0..def.indexes.len()).map(|i| match kept[i] {
                Some(old) => set.ordered[old].clone(),
                None => match self.ordered.iter().find(|o| o.0 == i) {
                    Some((_, built)) => Some(built.clone()),
                    None => OrderedIndex::new(def, &def.indexes[i]).map(Arc::new),
                },
            });
            set.ordered = ordered.collect();
            set.io = kept.iter().map(|old| old.map_or_else(Arc::default, |old| set.io[old].clone())).collect();
            for (index, definition) in unique.iter().zip(&def.indexes) {
                index.published(&key_name(def, definition));
            }
            set.unique = unique;
            set.def = def.clone();
        });
        self.published = true;
    }

    /// 1062 for a key that two rows have.
    fn look_for_duplicate(&self, index: &UniqueIndex) -> Result<()> {
        let table = &self.table;
        let snapshot = table.txns().snapshot();
        for leaf_no in 0..table.leaf_count() {
            let Some(view) = table.scan_leaf(leaf_no, &index.spec.columns, &snapshot) else { continue };
            let chunks: Vec<&Chunk> = view.columns.iter().map(|c| &**c).collect();
            let found = index.get_many(&chunks, view.rows, &snapshot, table.rows());
            let mut duplicate = None;
            view.selection.for_each(view.rows, |i| {
                if found[i].is_some_and(|f| f != view.base_row_id + i as u64) {
                    duplicate.get_or_insert(i);
                }
            });
            if let Some(row) = duplicate {
                let position = self.unique.iter().find(|u| std::ptr::eq(&*u.1, index)).map_or(0, |u| u.0);
                let name = key_name(&self.def, &self.def.indexes[position]);
                return Err(Error::dup_entry(index.spec.text(Key { chunks: &chunks, row }), &name));
            }
        }
        Ok(())
    }
}

/// `table.INDEX`, as error 1062 names it.
fn key_name(table: &TableDef, index: &IndexDef) -> String {
    format!("{}.{}", table.name, index.name)
}

impl Drop for Reindex {
    fn drop(&mut self) {
        if !self.published {
            let is_ours = |u: &Arc<UniqueIndex>| self.unique.iter().any(|o| Arc::ptr_eq(&o.1, u));
            let is_our_tree = |t: &Arc<OrderedIndex>| self.ordered.iter().any(|o| Arc::ptr_eq(&o.1, t));
            self.table.indexes.change(|set| {
                set.unique = set.unique.iter().filter(|u| !is_ours(u)).cloned().collect();
                let stays = |o: &&Option<Arc<OrderedIndex>>| !o.as_ref().is_some_and(is_our_tree);
                set.ordered = set.ordered.iter().filter(stays).cloned().collect();
            });
        }
    }
}

impl Table {
    /// Makes a leaf's rows findable in a unique index that is being built: by a run if they ascend, else by the hash.
    fn enter_leaf_in(&self, at: usize, index: &UniqueIndex, leaf_no: u64, txn: &Txn) {
        // (hash, row id, the key in place): of all versions.
        let mut versions: Vec<(u64, u64, bool)> = Vec::new();
        let Some(slot) = self.heap.slot(leaf_no) else { return };
        let (chunks, in_run, versioned) = {
            // Writers that do not know of the index yet have finished with the leaf; see `index::ordered`, invariant 3.
            let _keys = slot.lock_keys();
            let (chunks, rows, ascending, versioned) = {
                let state = slot.read();
                let Some(leaf) = state.leaf() else { return };
                let chunks: Vec<Arc<Chunk>> = index.spec.columns.iter().map(|&c| leaf.column(c).clone()).collect();
                self.keys_of_leaf(index, leaf_no, leaf, &mut versions);
                let ascending = if leaf.has_versions() { None } else { index.ascending(leaf) };
                (chunks, leaf.rows(), ascending, leaf.has_versions())
            };
            let in_run = ascending.is_some_and(|(min, max)| index.add_run(self.rows(), leaf_no, rows, &min, &max));
            (chunks, in_run, versioned)
        };
        if in_run && index.hashed_rows() == 0 {
            return;
        }
        let chunks: Vec<&Chunk> = chunks.iter().map(|c| &**c).collect();
        for (hash, row_id, in_place) in versions {
            let mut shard = index.lock(hash);
            if in_place {
                let key = Key { chunks: &chunks, row: self.split(row_id).1 };
                // A conflict makes the index suspect; what it is does not matter here.
                _ = index.check(&shard, hash, key, txn, self.rows(), Some(row_id));
            }
            if !in_run {
                index.enter(&mut shard, hash, row_id);
                drop(shard);
                if versioned {
                    // The version may have gone since the leaf was read.
                    index.remove_unused_exactly(hash, row_id, self.rows());
                }
            }
        }
        debug_assert!(at < self.indexes().unique.len());
    }

    fn keys_of_leaf(&self, index: &UniqueIndex, leaf_no: u64, leaf: &Leaf, out: &mut Vec<(u64, u64, bool)>) {
        for slot in 0..leaf.rows() {
            let row_id = self.row_id(leaf_no, slot);
            leaf.each_version(slot, |at, ended_by| {
                if let Some(hash) = index.spec.hash_one(at) {
                    out.push((hash, row_id, ended_by.is_none()));
                }
                false
            });
        }
    }
}
