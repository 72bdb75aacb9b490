//! Ranges of an ordered index, and walks through them.
//!
//! A walk goes in batches and holds nothing between them: it remembers the last entry it gave out and goes on behind
//! it. What it gives out are *candidates*: a row id and the key under which it was found. The row may have another key
//! in the version that a snapshot sees, or none; [`Table::fetch_candidates`](crate::Table::fetch_candidates) compares,
//! so that every visible row comes once, at its own key's place.
//!
//! Rows of sorted runs have no entries in the tree (see [`super::unique`]). A walk over such an index merges two
//! sources, and drops what both have:
//! ```text
//!   runs  3  5  9 ...  ─┐
//!                       ├─ merge ─▶ candidates
//!   tree  4  9 ...     ─┘
//! ```
//! In each batch the runs are read before the tree: a row moves from a run to the tree, never back, and is in both
//! meanwhile.

use super::ordered::OrderedIndex;
use super::{Rows, UniqueIndex};
use std::ops::Bound;
use std::sync::Arc;

/// A range of encoded keys. Bounds are key prefixes: an included upper bound means all keys that start with it, an
/// excluded lower one that all those are left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyRange {
    pub lo: Bound<Vec<u8>>,
    pub hi: Bound<Vec<u8>>,
}

impl KeyRange {
    pub const ALL: KeyRange = KeyRange { lo: Bound::Unbounded, hi: Bound::Unbounded };

    /// All keys that start with `prefix`.
    pub fn prefix(prefix: Vec<u8>) -> KeyRange {
        KeyRange { lo: Bound::Included(prefix.clone()), hi: Bound::Included(prefix) }
    }

    /// The same range as `start <= key < end`; `None`: it is empty.
    pub(crate) fn interval(&self) -> Option<Interval> {
        let start = match &self.lo {
            Bound::Unbounded => Vec::new(),
            Bound::Included(p) => p.clone(),
            Bound::Excluded(p) => successor(p)?,
        };
        let end = match &self.hi {
            Bound::Unbounded => None,
            Bound::Included(p) => successor(p),
            Bound::Excluded(p) => Some(p.clone()),
        };
        let empty = end.as_ref().is_some_and(|e| *e <= start);
        (!empty).then_some(Interval { start, end })
    }
}

/// `start <= key < end`; no end: up to the greatest key.
#[derive(Clone, Debug)]
pub(crate) struct Interval {
    pub start: Vec<u8>,
    pub end: Option<Vec<u8>>,
}

impl Interval {
    pub fn contains(&self, key: &[u8]) -> bool {
        key >= &self.start[..] && self.end.as_ref().is_none_or(|e| key < &e[..])
    }
}

/// The least byte string above all that start with `prefix`.
pub(crate) fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|b| *b != 0xFF)?;
    let mut out = prefix[..=last].to_vec();
    out[last] += 1;
    Some(out)
}

/// Row ids and the keys under which they were found, in the order found.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    row_ids: Vec<u64>,
    keys: Vec<u8>,
    /// Where each key ends in `keys`.
    ends: Vec<u32>,
}

impl Candidates {
    pub fn len(&self) -> usize {
        self.row_ids.len()
    }

    pub fn is_empty(&self) -> bool {
        self.row_ids.is_empty()
    }

    pub fn row_ids(&self) -> &[u64] {
        &self.row_ids
    }

    pub fn key(&self, i: usize) -> &[u8] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        &self.keys[start..self.ends[i] as usize]
    }

    /// What they take.
    pub fn bytes(&self) -> usize {
        self.row_ids.capacity() * size_of::<u64>() + self.keys.capacity() + self.ends.capacity() * size_of::<u32>()
    }

    /// Keeps those for which `wanted` says so; it gets their positions.
    pub fn keep(&mut self, mut wanted: impl FnMut(usize, &[u8]) -> bool) {
        let (mut kept, mut bytes, mut start) = (0, 0, 0);
        for i in 0..self.row_ids.len() {
            let end = self.ends[i] as usize;
            if wanted(i, &self.keys[start..end]) {
                self.keys.copy_within(start..end, bytes);
                bytes += end - start;
                self.row_ids[kept] = self.row_ids[i];
                self.ends[kept] = bytes as u32;
                kept += 1;
            }
            start = end;
        }
        self.back_to((kept, bytes));
    }

    pub fn clear(&mut self) {
        self.row_ids.clear();
        self.keys.clear();
        self.ends.clear();
    }

    /// Appends the candidates `from..to` of another list.
    pub fn append(&mut self, other: &Candidates, from: usize, to: usize) {
        for i in from..to {
            self.push(other.key(i), other.row_ids[i]);
        }
    }

    pub(crate) fn push(&mut self, key: &[u8], row_id: u64) {
        self.push_with(row_id, |keys| keys.extend_from_slice(key));
    }

    /// `append` appends the key.
    #[inline]
    pub(crate) fn push_with(&mut self, row_id: u64, append: impl FnOnce(&mut Vec<u8>)) {
        append(&mut self.keys);
        self.row_ids.push(row_id);
        self.ends.push(self.keys.len() as u32);
    }

    /// Where the list ends now, for [`Candidates::back_to`].
    pub(crate) fn mark(&self) -> (usize, usize) {
        (self.row_ids.len(), self.keys.len())
    }

    pub(crate) fn back_to(&mut self, mark: (usize, usize)) {
        self.row_ids.truncate(mark.0);
        self.ends.truncate(mark.0);
        self.keys.truncate(mark.1);
    }

    /// The last candidate.
    pub(crate) fn last(&self) -> Option<(&[u8], u64)> {
        let i = self.len().checked_sub(1)?;
        Some((self.key(i), self.row_ids[i]))
    }
}

/// How far a walk has come.
#[derive(Debug)]
enum Place {
    /// Nothing was given out yet.
    Start,
    /// The last entry given out.
    After(Vec<u8>, u64),
    /// There is nothing more.
    End,
}

/// A walk through a range of an ordered index.
#[derive(Debug)]
pub struct IndexCursor<'t> {
    pub(crate) index: Arc<OrderedIndex>,
    /// Where the index's rows in runs are, if it leaves them out.
    pub(crate) unique: Option<Arc<UniqueIndex>>,
    pub(crate) rows: Rows<'t>,
    interval: Interval,
    reverse: bool,
    place: Place,
    from_runs: Candidates,
    from_tree: Candidates,
}

impl<'t> IndexCursor<'t> {
    pub(crate) fn new(
        index: Arc<OrderedIndex>,
        unique: Option<Arc<UniqueIndex>>,
        rows: Rows<'t>,
        range: &KeyRange,
        reverse: bool,
    ) -> IndexCursor<'t> {
        let (interval, place) = match range.interval() {
            Some(interval) => (interval, Place::Start),
            None => (Interval { start: Vec::new(), end: Some(Vec::new()) }, Place::End),
        };
        IndexCursor {
            index,
            unique,
            rows,
            interval,
            reverse,
            place,
            from_runs: Candidates::default(),
            from_tree: Candidates::default(),
        }
    }

    /// Replaces what is in `out` by the next candidates, at least one and at most `max`. False: there are no more.
    pub fn next(&mut self, out: &mut Candidates, max: usize) -> bool {
        out.clear();
        if matches!(self.place, Place::End) || max == 0 {
            return false;
        }
        match self.unique.clone() {
            None => {
                self.read_tree(max);
                std::mem::swap(out, &mut self.from_tree);
            }
            Some(unique) => {
                self.read_runs(&unique, max);
                self.read_tree(max);
                merge(&self.from_runs, &self.from_tree, self.reverse, max, out);
            }
        }
        self.place = match out.last() {
            Some((key, row_id)) => Place::After(key.to_vec(), row_id),
            None => Place::End,
        };
        !out.is_empty()
    }

    /// Goes on at the first entry whose key is not below `key`; walking backwards, at the last one below it. Never goes
    /// back to what was given out.
    pub fn skip_to(&mut self, key: &[u8]) {
        let Place::After(last, _) = &self.place else { return };
        if self.reverse {
            if key < &last[..] {
                self.interval.end = Some(key.to_vec());
                self.place = Place::Start;
            }
        } else if key > &last[..] {
            self.interval.start = key.to_vec();
            self.place = Place::Start;
        }
        if self.interval.end.as_ref().is_some_and(|e| *e <= self.interval.start) {
            self.place = Place::End;
        }
    }

    fn read_tree(&mut self, max: usize) {
        self.from_tree.clear();
        let Some(tree) = self.index.tree() else { return };
        let Interval { start, end } = &self.interval;
        match (&self.place, self.reverse) {
            (Place::Start, false) => tree.forward((start, 0), end.as_deref(), max, &mut self.from_tree),
            (Place::After(key, row_id), false) => {
                tree.forward((key, row_id + 1), end.as_deref(), max, &mut self.from_tree)
            }
            (Place::Start, true) => tree.backward(end.as_deref().map(|e| (e, 0)), start, max, &mut self.from_tree),
            (Place::After(key, row_id), true) => tree.backward(Some((key, *row_id)), start, max, &mut self.from_tree),
            (Place::End, _) => false,
        };
    }

    fn read_runs(&mut self, unique: &UniqueIndex, max: usize) {
        self.from_runs.clear();
        let after = match &self.place {
            Place::Start => None,
            Place::After(key, row_id) => Some((&key[..], *row_id)),
            Place::End => return,
        };
        let encoder = &self.index.encoder;
        unique.walk_runs(encoder, self.rows, &self.interval, after, self.reverse, max, &mut self.from_runs);
    }
}

/// Merges two ordered lists; what is in both comes once.
pub(crate) fn merge(a: &Candidates, b: &Candidates, reverse: bool, max: usize, out: &mut Candidates) {
    let (mut i, mut j) = (0, 0);
    while out.len() < max && (i < a.len() || j < b.len()) {
        let order = match (i < a.len(), j < b.len()) {
            (true, true) => {
                let order = (a.key(i), a.row_ids[i]).cmp(&(b.key(j), b.row_ids[j]));
                if reverse { order.reverse() } else { order }
            }
            (true, false) => std::cmp::Ordering::Less,
            (false, _) => std::cmp::Ordering::Greater,
        };
        let (from, at) = if order.is_le() { (a, i) } else { (b, j) };
        out.push(from.key(at), from.row_ids[at]);
        i += order.is_le() as usize;
        j += order.is_ge() as usize;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_prefixes() {
        let range = |lo, hi| KeyRange { lo, hi }.interval().map(|i| (i.start, i.end));
        use Bound::*;
        assert_eq!(range(Included(vec![1]), Included(vec![1])), Some((vec![1], Some(vec![2]))));
        assert_eq!(range(Excluded(vec![1, 255]), Unbounded), Some((vec![2], None)));
        assert_eq!(range(Excluded(vec![255, 255]), Unbounded), None);
        assert_eq!(range(Unbounded, Included(vec![255])), Some((vec![], None)));
        assert_eq!(range(Included(vec![5]), Excluded(vec![5])), None);
        assert_eq!(range(Included(vec![6]), Included(vec![5])), None);
    }

    #[test]
    fn merging_drops_what_both_have() {
        let list = |entries: &[(u8, u64)]| {
            let mut c = Candidates::default();
            entries.iter().for_each(|(k, r)| c.push(&[*k], *r));
            c
        };
        let mut out = Candidates::default();
        merge(&list(&[(1, 1), (3, 3)]), &list(&[(1, 1), (2, 9), (3, 2)]), false, 10, &mut out);
        assert_eq!(out.row_ids(), [1, 9, 2, 3]);
        out.clear();
        merge(&list(&[(3, 3), (1, 1)]), &list(&[(3, 2), (2, 9)]), true, 3, &mut out);
        assert_eq!(out.row_ids(), [3, 2, 9]);
    }
}
