//! The tree of an ordered index: entries (key, row id) in order.

use super::cursor::Candidates;
use crate::sync::{Rank, RwLock};
use std::collections::BTreeSet;
use std::ops::Bound;

type Entry = (Box<[u8]>, u64);

/// Entries in order of key, then row id.
#[derive(Debug)]
pub struct Tree(RwLock<BTreeSet<Entry>>);

impl Tree {
    /// `width`: how many bytes every key has, if all have the same.
    pub fn new(_width: Option<usize>) -> Tree {
        Tree(RwLock::new(Rank::IndexTree, BTreeSet::new()))
    }

    /// A tree of all entries of `parts`.
    pub fn build(width: Option<usize>, parts: Vec<Vec<(Vec<u8>, u64)>>) -> Tree {
        let tree = Tree::new(width);
        for (key, row_id) in parts.into_iter().flatten() {
            tree.insert(&key, row_id);
        }
        tree
    }

    /// False: the entry is there already.
    pub fn insert(&self, key: &[u8], row_id: u64) -> bool {
        self.0.write().insert((key.into(), row_id))
    }

    /// False: there is no such entry.
    pub fn remove(&self, key: &[u8], row_id: u64) -> bool {
        self.0.write().remove(&(key.into(), row_id))
    }

    /// Appends entries from (`key`, `row_id`) on, in order, at most `max`, all below `end`. False: there are no more.
    pub fn forward(&self, from: (&[u8], u64), end: Option<&[u8]>, max: usize, out: &mut Candidates) -> bool {
        let tree = self.0.read();
        let from: Entry = (from.0.into(), from.1);
        let mut n = 0;
        for (key, row_id) in tree.range((Bound::Included(from), Bound::Unbounded)) {
            if end.is_some_and(|e| &**key >= e) {
                return false;
            }
            if n == max {
                return true;
            }
            out.push(key, *row_id);
            n += 1;
        }
        false
    }

    /// Appends entries before (`key`, `row_id`), or from the end, in descending order, at most `max`, all from `start`
    /// on. False: there are no more.
    pub fn backward(&self, before: Option<(&[u8], u64)>, start: &[u8], max: usize, out: &mut Candidates) -> bool {
        let tree = self.0.read();
        let hi: Bound<Entry> = before.map_or(Bound::Unbounded, |b| Bound::Excluded((b.0.into(), b.1)));
        let mut n = 0;
        for (key, row_id) in tree.range((Bound::Unbounded, hi)).rev() {
            if &**key < start {
                return false;
            }
            if n == max {
                return true;
            }
            out.push(key, *row_id);
            n += 1;
        }
        false
    }

    /// About how many entries have keys from `start` on and below `end`.
    pub fn estimate(&self, start: &[u8], end: Option<&[u8]>) -> u64 {
        let tree = self.0.read();
        if end.is_some_and(|e| e <= start) {
            return 0;
        }
        let lo: Entry = (start.into(), 0);
        let hi: Bound<Entry> = end.map_or(Bound::Unbounded, |e| Bound::Excluded((e.into(), 0)));
        tree.range((Bound::Included(lo), hi)).count() as u64
    }

    pub fn bytes_allocated(&self) -> usize {
        self.0.read().iter().map(|e| e.0.len() + size_of::<Entry>()).sum()
    }
}
