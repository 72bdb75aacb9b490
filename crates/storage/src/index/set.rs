//! The indexes that a table has at a moment.
//!
//! CREATE and DROP INDEX put a new set in place of the old one; builds of ordered indexes raise its epoch. A writer
//! takes the set, works out keys, and looks at the epoch again under the leaf's latch before it changes anything; if it
//! has risen, the writer begins anew. So a build that reads the leaf later finds all keys that the writer did not
//! enter.

use super::UniqueIndex;
use super::key::KeySpec;
use super::ordered::OrderedIndex;
use crate::sync::{Loaded, Mutex, Rank, Swap};
use crate::table_io::IndexIo;
use catalog::TableDef;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct IndexSet {
    pub def: Arc<TableDef>,
    /// The unique indexes, which come first in the definition, then those being built.
    pub unique: Arc<[Arc<UniqueIndex>]>,
    /// The ordered form of each index of the definition, where it has one, then those being built.
    pub ordered: Arc<[Option<Arc<OrderedIndex>>]>,
    /// Of each index of the definition, what was read by it.
    pub io: Arc<[Arc<IndexIo>]>,
    pub epoch: u64,
}

impl IndexSet {
    pub fn new(def: Arc<TableDef>) -> IndexSet {
        let unique = def.indexes.iter().take_while(|i| i.is_unique());
        IndexSet {
            unique: unique
                .map(|i| Arc::new(UniqueIndex::new(KeySpec::new(&def, i), &format!("{}.{}", def.name, i.name))))
                .collect(),
            ordered: def.indexes.iter().map(|i| OrderedIndex::new(&def, i).map(Arc::new)).collect(),
            io: def.indexes.iter().map(|_| Arc::default()).collect(),
            epoch: 0,
            def,
        }
    }

    /// The ordered indexes that writers have to maintain, with their positions.
    pub fn maintained(&self) -> impl Iterator<Item = (usize, &Arc<OrderedIndex>)> {
        let all = self.ordered.iter().enumerate();
        all.filter_map(|(i, o)| Some((i, o.as_ref()?))).filter(|(_, o)| o.is_maintained())
    }

    /// Whether one of `columns` is part of a key that has to be maintained.
    pub fn has_keys_on(&self, columns: &[usize]) -> bool {
        let touches = |c: &[usize]| c.iter().any(|c| columns.contains(c));
        self.unique.iter().any(|i| touches(&i.spec.columns))
            || self.maintained().any(|(_, o)| touches(o.encoder.columns()))
    }

    /// Columns of maintained indexes that one of `columns` is part of: before-images of updates to those carry them.
    pub fn columns_kept(&self, columns: &[usize]) -> Vec<usize> {
        let unique = self.unique.iter().map(|i| &i.spec.columns[..]);
        let mut out = Vec::new();
        for of_index in unique.chain(self.maintained().map(|(_, o)| o.encoder.columns())) {
            if of_index.iter().any(|c| columns.contains(c)) {
                out.extend_from_slice(of_index);
            }
        }
        out.sort_unstable();
        out.dedup();
        out
    }
}

/// Where a table keeps its set.
#[derive(Debug)]
pub struct IndexCell {
    set: Swap<IndexSet>,
    changing: Mutex<()>,
}

impl IndexCell {
    pub fn new(set: IndexSet) -> IndexCell {
        IndexCell { set: Swap::from_pointee(set), changing: Mutex::new(Rank::IndexSet, ()) }
    }

    pub fn get(&self) -> Loaded<IndexSet> {
        self.set.load()
    }

    /// Whether `set` is the one in place.
    #[inline]
    pub fn is_current(&self, set: &IndexSet) -> bool {
        self.set.load().epoch == set.epoch
    }

    /// Puts a changed set in place, under a higher epoch.
    pub fn change(&self, f: impl FnOnce(&mut IndexSet)) {
        let _changing = self.changing.lock();
        let mut next = IndexSet::clone(&self.set.load());
        f(&mut next);
        next.epoch += 1;
        self.set.store(Arc::new(next));
    }
}
