//! Walking ranges, and counting how long they are.
//!
//! One leaf is read at a time: its part of the range is copied out, then the leaf's version is checked. The way to the
//! next leaf is the separator that bounds this one from above (below, when going backward), noted on the way down.

use super::Tree;
use super::keys::{Target, is_long};
use super::node::{Item, Node, Shape};
use crate::index::cursor::Candidates;

/// A place in the order of entries that owns its key.
#[derive(Clone, Debug)]
struct Place {
    key: Vec<u8>,
    row: u64,
}

/// A leaf on the way to which nothing changed until `version` was taken.
struct Found<'t> {
    leaf: Node<'t>,
    version: u64,
    count: usize,
    /// Entries of the leaf lie on this side of it; `None`: the leaf is the last in this direction.
    fence: Option<Fence>,
}

/// A separator that was read on the way down: its words, and a copy of the key if that is a block.
struct Fence {
    item: Item,
    long: Option<Vec<u8>>,
}

impl Tree {
    fn key_of(&self, item: Item, out: &mut Vec<u8>) {
        match self.width {
            Some(width) => out.extend_from_slice(&item.head.to_be_bytes()[..width]),
            None => self.heap.append(item.head, item.rest, out),
        }
    }

    fn fence_of(&self, item: Item) -> Fence {
        let long = (self.width.is_none() && is_long(item.rest)).then(|| {
            let mut key = Vec::new();
            self.key_of(item, &mut key);
            key
        });
        Fence { item, long }
    }

    fn place_of(&self, fence: Fence) -> Place {
        let key = fence.long.unwrap_or_else(|| {
            let mut key = Vec::new();
            self.key_of(fence.item, &mut key);
            key
        });
        Place { key, row: fence.item.row }
    }

    /// The leaf that `target` belongs to, or (`before`) the one that has what lies right below it. `None` as target:
    /// the last leaf. `None` as answer: somebody changed a node on the way.
    fn find_leaf(&self, target: Option<&Target<'_>>, before: bool) -> Option<Found<'_>> {
        let mut node = self.root();
        let mut version = node.begin();
        let mut fence: Option<Fence> = None;
        loop {
            let (count, level) = node.meta();
            let shape = self.shape(level);
            if count > shape.cap {
                return None;
            }
            if level == 0 {
                return Some(Found { leaf: node, version, count, fence });
            }
            let i = target.map_or(count, |t| self.rank(&node, shape, count, t, !before));
            let bound = if before { i.checked_sub(1) } else { (i < count).then_some(i) };
            if let Some(bound) = bound {
                fence = Some(self.fence_of(node.item(shape, bound)));
            }
            (node, version) = self.descend(&node, version, i)?;
        }
    }

    /// Appends entries from (`key`, `row_id`) on, in order, at most `max`, all below `end`. False: there are no more.
    pub fn forward(&self, from: (&[u8], u64), end: Option<&[u8]>, max: usize, out: &mut Candidates) -> bool {
        let mut from = Place { key: from.0.to_vec(), row: from.1 };
        let most = out.len() + max;
        loop {
            let target = Target::new(&from.key, from.row);
            let Some(found) = self.find_leaf(Some(&target), false) else { continue };
            let mark = out.mark();
            let first = self.rank(&found.leaf, &self.leaf, found.count, &target, false);
            let last = match end {
                None => found.count,
                Some(end) => self.rank(&found.leaf, &self.leaf, found.count, &Target::new(end, 0), false),
            };
            let ended = last < found.count;
            let full = last.saturating_sub(first) > most - out.len();
            for i in first..last.min(first + (most - out.len())) {
                self.push(&found.leaf, &self.leaf, i, out);
            }
            if !found.leaf.check(found.version) {
                out.back_to(mark);
                continue;
            }
            match found.fence {
                _ if full => return true,
                _ if ended => return false,
                None => return false,
                Some(fence) => from = self.place_of(fence),
            }
        }
    }

    /// Appends entries before (`key`, `row_id`), or from the end, in descending order, at most `max`, all from `start`
    /// on. False: there are no more.
    pub fn backward(&self, before: Option<(&[u8], u64)>, start: &[u8], max: usize, out: &mut Candidates) -> bool {
        let mut before = before.map(|b| Place { key: b.0.to_vec(), row: b.1 });
        let most = out.len() + max;
        let start = Target::new(start, 0);
        loop {
            let target = before.as_ref().map(|b| Target::new(&b.key, b.row));
            let Some(found) = self.find_leaf(target.as_ref(), true) else { continue };
            let mark = out.mark();
            let last = match &target {
                None => found.count,
                Some(t) => self.rank(&found.leaf, &self.leaf, found.count, t, false),
            };
            let first = self.rank(&found.leaf, &self.leaf, found.count, &start, false);
            let ended = first > 0;
            let full = last.saturating_sub(first) > most - out.len();
            for i in (first..last).rev().take(most - out.len()) {
                self.push(&found.leaf, &self.leaf, i, out);
            }
            if !found.leaf.check(found.version) {
                out.back_to(mark);
                continue;
            }
            match found.fence {
                _ if full => return true,
                _ if ended => return false,
                None => return false,
                Some(fence) => before = Some(self.place_of(fence)),
            }
        }
    }

    #[inline]
    pub(super) fn push(&self, leaf: &Node<'_>, shape: &Shape, i: usize, out: &mut Candidates) {
        let item = leaf.item(shape, i);
        out.push_with(item.row, |key| self.key_of(item, key));
    }

    /// Whether the entry exists.
    pub fn contains(&self, key: &[u8], row_id: u64) -> bool {
        let target = Target::new(key, row_id);
        loop {
            let Some(found) = self.find_leaf(Some(&target), false) else { continue };
            let at = self.rank(&found.leaf, &self.leaf, found.count, &target, false);
            let there = at < found.count && found.leaf.is_at(&self.leaf, &self.heap, at, &target);
            if found.leaf.check(found.version) {
                return there;
            }
        }
    }

    /// How many entries have keys from `start` on and below `end`. Leaves wholly within are not read but for their
    /// counts: a look at one word for some hundred entries. So the answer does not depend on the shape of the tree.
    pub fn count(&self, start: &[u8], end: Option<&[u8]>) -> u64 {
        if end.is_some_and(|e| e <= start) {
            return 0;
        }
        let mut from = Place { key: start.to_vec(), row: 0 };
        let mut total = 0;
        loop {
            let Some((entries, next)) = self.count_below_one(&from, end) else { continue };
            total += entries;
            match next {
                None => return total,
                Some(fence) => from = self.place_of(fence),
            }
        }
    }

    /// The entries from a place on and below `end` under the parent of leaves that the place belongs to, and where
    /// those of the next one begin. `None`: somebody changed a node meanwhile.
    fn count_below_one(&self, from: &Place, end: Option<&[u8]>) -> Option<(u64, Option<Fence>)> {
        let target = Target::new(&from.key, from.row);
        let end = end.map(|e| Target::new(e, 0));
        let mut node = self.root();
        let mut version = node.begin();
        let mut fence: Option<Fence> = None;
        loop {
            let (count, level) = node.meta();
            let shape = self.shape(level);
            if count > shape.cap {
                return None;
            }
            let rank = |t: &Target<'_>| self.rank(&node, shape, count, t, level > 0);
            let first = rank(&target);
            let last = end.as_ref().map_or(count, rank);
            if level == 0 {
                return node.check(version).then_some((last.saturating_sub(first) as u64, None));
            }
            if level == 1 {
                let mut entries = 0;
                for i in first..=last {
                    let (below_start, below_end) =
                        ((i == first).then_some(&target), end.as_ref().filter(|_| i == last));
                    entries += self.count_leaf(node.child(shape, i), below_start, below_end)?;
                }
                let next = if last < count { None } else { fence };
                return node.check(version).then_some((entries, next));
            }
            if first < count {
                fence = Some(self.fence_of(node.item(shape, first)));
            }
            (node, version) = self.descend(&node, version, first)?;
        }
    }

    /// The leaf's entries from `start` on and below `end`, where these are in it.
    fn count_leaf(&self, id: u64, start: Option<&Target<'_>>, end: Option<&Target<'_>>) -> Option<u64> {
        let leaf = self.node(id)?;
        let version = leaf.begin();
        let (count, level) = leaf.meta();
        if level != 0 || count > self.leaf.cap {
            return None;
        }
        let rank = |t: &Target<'_>| self.rank(&leaf, &self.leaf, count, t, false);
        let (first, last) = (start.map_or(0, rank), end.map_or(count, rank));
        leaf.check(version).then_some(last.saturating_sub(first) as u64)
    }
}
