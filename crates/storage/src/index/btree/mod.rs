//! The tree of an ordered index: a B+tree of (key, row id) that many read while some change it.
//!
//! - [`node`]: the layout of nodes and the protocol of reading and locking them
//! - [`keys`]: keys as words; the heap of long keys
//! - [`arena`]: memory that stays readable
//! - [`scan`]: ranges in both directions, and how many entries they have
//! - [`batch`]: many lookups at once
//! - [`build`]: a tree from sorted entries, by several threads
//!
//! ```text
//!                       ┌──────── root: node 0, always ────────┐
//!                       │   sep 1     sep 2     ...            │     separators are shortened keys
//!                       └─┬─────────┬─────────┬────────────────┘
//!                      inner      inner     inner
//!                    ┌────┴───┐     ...
//!                  leaf     leaf                                    entries (head, rest, row id), ascending
//! ```
//! Invariants
//! 1. Entries are unique and ordered by key, then row id; all leaves are at level 0, each child one level below its
//!    parent. A node is changed under its lock; what a reader saw counts only if the node's version is unchanged.
//! 2. Full nodes are split on the way down, so that a split finds room in the parent. The root keeps its number: when
//!    it splits, its contents move to two new nodes. Nodes far from full are merged with a neighbour when something is
//!    removed below them; the freed node is used again.
//! 3. Locks are only tried, never waited for, while another is held: there is nothing to order.
//! 4. Leaves have no links. A walk goes from leaf to leaf by the separators above them: it needs to remember no node.
//!
//! Sources: Leis, Haubenschild, Neumann 2019 (see [`node`]); Bayer, Unterauer, "Prefix B-Trees", TODS 1977.

mod arena;
mod batch;
mod build;
mod keys;
mod node;
mod scan;
mod sort;

use crate::sync::{AtomicU64, Mutex, Ordering, Rank};
use arena::Arena;
pub use build::Entries;
use keys::{KeyHeap, Target, separator};
use node::{Item, NODE_BITS, NODE_WORDS, Node, Shape};
pub use sort::sort_while;

#[derive(Debug)]
pub struct Tree {
    nodes: Arena<NODE_BITS>,
    heap: KeyHeap,
    /// Every key has this many bytes, at most 8.
    width: Option<usize>,
    leaf: Shape,
    inner: Shape,
    space: Mutex<Space>,
    len: AtomicU64,
}

#[derive(Debug)]
struct Space {
    /// Nodes taken so far.
    next: u64,
    free: Vec<u64>,
}

const ROOT: u64 = 0;

/// The parent of a node on the way down: with its version, and which child the node is.
type Above<'t> = Option<(Node<'t>, u64, usize)>;

/// What became of one attempt.
enum Attempt {
    Done(bool),
    /// Somebody else changed a node on the way, or the tree was rearranged.
    Again,
}

impl Tree {
    /// An empty tree. `width`: how many bytes every key has, if all have the same.
    pub fn new(width: Option<usize>) -> Tree {
        let width = width.filter(|w| *w <= 8);
        Tree::with_shapes(width, Shape::leaf(width.is_none()), Shape::inner(width.is_none()))
    }

    fn with_shapes(width: Option<usize>, leaf: Shape, inner: Shape) -> Tree {
        let tree = Tree {
            nodes: Arena::default(),
            heap: KeyHeap::default(),
            width,
            leaf,
            inner,
            space: Mutex::new(Rank::IndexTree, Space { next: 0, free: Vec::new() }),
            len: AtomicU64::new(0),
        };
        let root = tree.new_node();
        debug_assert_eq!(root.id, ROOT);
        tree
    }

    /// A tree whose nodes hold few entries, so that small tests have many nodes.
    #[cfg(test)]
    pub fn with_caps(width: Option<usize>, leaf_cap: usize, inner_cap: usize) -> Tree {
        let width = width.filter(|w| *w <= 8);
        let (mut leaf, mut inner) = (Shape::leaf(width.is_none()), Shape::inner(width.is_none()));
        (leaf.cap, inner.cap) = (leaf_cap, inner_cap);
        Tree::with_shapes(width, leaf, inner)
    }

    /// The node with this number; any number that was read may be asked for, even one that makes no sense.
    #[inline]
    fn node(&self, id: u64) -> Option<Node<'_>> {
        let words = self.nodes.get(id << NODE_BITS, NODE_WORDS)?.first_chunk()?;
        Some(Node { words, id })
    }

    #[inline]
    fn root(&self) -> Node<'_> {
        self.node(ROOT).expect("there is always a root")
    }

    #[inline]
    fn shape(&self, level: usize) -> &Shape {
        if level == 0 { &self.leaf } else { &self.inner }
    }

    /// A node that nobody uses, locked.
    fn new_node(&self) -> Node<'_> {
        let reused = self.space.lock().free.pop();
        let id = reused.unwrap_or_else(|| {
            let mut space = self.space.lock();
            let id = space.next;
            space.next += 1;
            self.nodes.grow(id << NODE_BITS, NODE_WORDS);
            id
        });
        let node = self.node(id).expect("just made usable");
        let locked = node.try_lock_now();
        assert!(locked, "nobody has a reference to an unused node");
        node.set_meta(0, 0);
        node.unlock();
        node
    }

    fn free_node(&self, id: u64) {
        self.space.lock().free.push(id);
    }

    #[inline]
    fn rank(&self, node: &Node<'_>, shape: &Shape, count: usize, target: &Target<'_>, equal_counts: bool) -> usize {
        node.rank(shape, &self.heap, count, target, equal_counts)
    }

    /// Goes from a node, of which `version` was taken, to its child `i`.
    #[inline]
    fn descend(&self, node: &Node<'_>, version: u64, i: usize) -> Option<(Node<'_>, u64)> {
        let child = node.child(&self.inner, i);
        if !node.check(version) {
            return None;
        }
        let child = self.node(child)?;
        child.ask_for();
        let child_version = child.begin();
        node.check(version).then_some((child, child_version))
    }

    /// Entries, about.
    #[cfg(test)]
    pub fn len(&self) -> u64 {
        // Removals may be counted before the insertions they follow.
        (self.len.load(Ordering::Relaxed) as i64).max(0) as u64
    }

    pub fn bytes_allocated(&self) -> usize {
        let nodes = {
            let space = self.space.lock();
            space.next as usize
        };
        nodes * NODE_WORDS * 8 + self.heap.bytes_used() + size_of::<Tree>()
    }

    /// False: the entry is there already.
    pub fn insert(&self, key: &[u8], row_id: u64) -> bool {
        let target = Target::new(key, row_id);
        loop {
            if let Attempt::Done(inserted) = self.try_insert(&target) {
                if inserted {
                    self.len.fetch_add(1, Ordering::Relaxed);
                }
                return inserted;
            }
        }
    }

    fn try_insert(&self, target: &Target<'_>) -> Attempt {
        let mut above: Above<'_> = None;
        let mut node = self.root();
        let mut version = node.begin();
        loop {
            let (count, level) = node.meta();
            let shape = self.shape(level);
            if count > shape.cap {
                return Attempt::Again; // a mixture of old and new
            }
            if level == 0 {
                let at = self.rank(&node, shape, count, target, false);
                if at < count && node.is_at(shape, &self.heap, at, target) {
                    return if node.check(version) { Attempt::Done(false) } else { Attempt::Again };
                }
                if count == shape.cap {
                    self.split(above, &node, version, Some(at));
                    return Attempt::Again;
                }
                return self.insert_at(&node, version, at, count, target);
            }
            if count == shape.cap {
                self.split(above, &node, version, None);
                return Attempt::Again;
            }
            let i = self.rank(&node, shape, count, target, true);
            let Some((child, child_version)) = self.descend(&node, version, i) else { return Attempt::Again };
            above = Some((node, version, i));
            (node, version) = (child, child_version);
        }
    }

    fn insert_at(&self, node: &Node<'_>, version: u64, at: usize, count: usize, target: &Target<'_>) -> Attempt {
        let rest = if self.width.is_some() { 0 } else { self.heap.store(target.key()) };
        if !node.try_lock(version) {
            self.heap.free(rest);
            return Attempt::Again;
        }
        node.move_items(&self.leaf, at, at + 1, count);
        node.set_item(&self.leaf, at, Item { head: target.head, rest, row: target.row });
        node.set_meta(count + 1, 0);
        node.unlock();
        Attempt::Done(true)
    }

    /// Splits a full node, if nobody else is at it or its parent. `at`: where a new entry is to go.
    fn split(&self, above: Above<'_>, node: &Node<'_>, version: u64, at: Option<usize>) {
        if let Some((parent, parent_version, _)) = &above
            && !parent.try_lock(*parent_version)
        {
            return;
        }
        if node.try_lock(version) {
            let (count, level) = node.meta();
            // Entries that come in order leave full leaves behind.
            let middle = if at == Some(count) { count - 1 } else { count / 2 };
            match &above {
                Some((parent, _, i)) => {
                    let right = self.new_node();
                    let separator = self.move_right(node, &right, middle, count, level);
                    self.add_child(parent, *i, separator, right.id);
                }
                None => self.split_root(node, middle, count, level),
            }
            node.unlock();
        }
        if let Some((parent, _, _)) = &above {
            parent.unlock();
        }
    }

    /// Moves what is from `middle` on to the empty node `right`; returns what separates the two.
    fn move_right(&self, node: &Node<'_>, right: &Node<'_>, middle: usize, count: usize, level: usize) -> Item {
        let shape = self.shape(level);
        let locked = right.try_lock_now();
        assert!(locked, "nobody knows the new node yet");
        let separator = if level == 0 {
            let separator = self.make_separator(node.item(shape, middle - 1), node.item(shape, middle));
            right.copy_items(shape, node, middle, 0, count - middle);
            right.set_meta(count - middle, 0);
            separator
        } else {
            // The separator in the middle goes up.
            right.copy_items(shape, node, middle + 1, 0, count - middle - 1);
            right.copy_children(shape, node, middle + 1, 0, count - middle);
            right.set_meta(count - middle - 1, level);
            node.item(shape, middle)
        };
        node.set_meta(middle, level);
        right.unlock();
        separator
    }

    fn split_root(&self, root: &Node<'_>, middle: usize, count: usize, level: usize) {
        let shape = self.shape(level);
        let (left, right) = (self.new_node(), self.new_node());
        let locked = left.try_lock_now();
        assert!(locked, "nobody knows the new node yet");
        left.copy_items(shape, root, 0, 0, count);
        if level > 0 {
            left.copy_children(shape, root, 0, 0, count + 1);
        }
        left.set_meta(count, level);
        let separator = self.move_right(&left, &right, middle, count, level);
        left.unlock();
        root.set_item(&self.inner, 0, separator);
        root.set_child(&self.inner, 0, left.id);
        root.set_child(&self.inner, 1, right.id);
        root.set_meta(1, level + 1);
    }

    /// Something short that is above `left` and not above `right`.
    fn make_separator(&self, left: Item, right: Item) -> Item {
        if left.head != right.head {
            // The length of a key that ends in its head, else 8: keys are cut off, but never filled up.
            let rest = if self.width.is_some() { 0 } else { (right.rest & 0xFF).min(8) };
            return Item { head: right.head, rest, row: 0 };
        }
        if self.width.is_some() {
            return right;
        }
        let (mut a, mut b) = (Vec::new(), Vec::new());
        self.heap.append(left.head, left.rest, &mut a);
        self.heap.append(right.head, right.rest, &mut b);
        let row = if a == b { right.row } else { 0 };
        Item { head: right.head, rest: self.heap.store(separator(&a, &b)), row }
    }

    /// Puts a separator and the child right of it behind child `i` of a locked node that has room.
    fn add_child(&self, parent: &Node<'_>, i: usize, separator: Item, child: u64) {
        let (count, level) = parent.meta();
        parent.move_items(&self.inner, i, i + 1, count);
        parent.move_children(&self.inner, i + 1, i + 2, count);
        parent.set_item(&self.inner, i, separator);
        parent.set_child(&self.inner, i + 1, child);
        parent.set_meta(count + 1, level);
    }

    /// False: there is no such entry.
    pub fn remove(&self, key: &[u8], row_id: u64) -> bool {
        let target = Target::new(key, row_id);
        loop {
            if let Attempt::Done(removed) = self.try_remove(&target) {
                if removed {
                    self.len.fetch_sub(1, Ordering::Relaxed);
                }
                return removed;
            }
        }
    }

    fn try_remove(&self, target: &Target<'_>) -> Attempt {
        let mut above: Above<'_> = None;
        let mut node = self.root();
        let mut version = node.begin();
        loop {
            let (count, level) = node.meta();
            let shape = self.shape(level);
            if count > shape.cap {
                return Attempt::Again;
            }
            if level == 0 {
                return self.remove_from(&node, version, count, target, above);
            }
            let few = match above {
                Some(_) => count * 4 < shape.cap,
                None => count == 0,
            };
            if few && self.make_fewer(above, &node, version) {
                return Attempt::Again;
            }
            let i = self.rank(&node, shape, count, target, true);
            let Some((child, child_version)) = self.descend(&node, version, i) else { return Attempt::Again };
            above = Some((node, version, i));
            (node, version) = (child, child_version);
        }
    }

    fn remove_from(
        &self,
        node: &Node<'_>,
        version: u64,
        count: usize,
        target: &Target<'_>,
        above: Above<'_>,
    ) -> Attempt {
        let shape = &self.leaf;
        let at = self.rank(node, shape, count, target, false);
        if at == count || !node.is_at(shape, &self.heap, at, target) {
            return if node.check(version) { Attempt::Done(false) } else { Attempt::Again };
        }
        if !node.try_lock(version) {
            return Attempt::Again;
        }
        let rest = node.rest(shape, at);
        node.move_items(shape, at + 1, at, count);
        node.set_meta(count - 1, 0);
        node.unlock();
        if self.width.is_none() {
            self.heap.free(rest);
        }
        if (count - 1) * 4 < shape.cap && above.is_some() {
            self.make_fewer(above, node, version + 2);
        }
        Attempt::Done(true)
    }

    /// Merges a node that has few entries with a neighbour, or takes a level out of the tree. False: nothing happened.
    fn make_fewer(&self, above: Above<'_>, node: &Node<'_>, version: u64) -> bool {
        let Some((parent, parent_version, i)) = above else { return self.lower_root(node, version) };
        let (siblings, _) = parent.meta();
        let candidates = [i.checked_sub(1).map(|l| (l, true)), (i < siblings).then_some((i + 1, false))];
        for (other, is_left) in candidates.into_iter().flatten() {
            let Some((sibling, sibling_version)) = self.descend(&parent, parent_version, other) else { return false };
            if !self.fits(&sibling, node) {
                continue;
            }
            if !parent.try_lock(parent_version) {
                return false;
            }
            let mut merged = false;
            if node.try_lock(version) {
                if sibling.try_lock(sibling_version) {
                    merged = true;
                    let (left, right, at) = if is_left { (&sibling, node, other) } else { (node, &sibling, i) };
                    self.merge(&parent, left, right, at);
                    sibling.unlock();
                }
                node.unlock();
            }
            parent.unlock();
            if merged {
                self.free_node(if is_left { node.id } else { sibling.id });
            }
            return merged;
        }
        false
    }

    fn fits(&self, a: &Node<'_>, b: &Node<'_>) -> bool {
        let ((n, level), (m, _)) = (a.meta(), b.meta());
        // An inner node has one separator more afterwards. Some room stays, lest the next entry split it again.
        let most = self.shape(level).cap * 3 / 4;
        n + m + (level > 0) as usize <= most.max(1) || level == 0 && (n == 0 || m == 0)
    }

    /// Moves all of `right` to `left`; they are children `at` and `at + 1` of `parent`. All are locked.
    fn merge(&self, parent: &Node<'_>, left: &Node<'_>, right: &Node<'_>, at: usize) {
        let ((n, level), (m, _)) = (left.meta(), right.meta());
        let shape = self.shape(level);
        let separator = parent.item(&self.inner, at);
        if level == 0 {
            left.copy_items(shape, right, 0, n, m);
            left.set_meta(n + m, 0);
            if self.width.is_none() {
                self.heap.free(separator.rest);
            }
        } else {
            left.set_item(shape, n, separator);
            left.copy_items(shape, right, 0, n + 1, m);
            left.copy_children(shape, right, 0, n + 1, m + 1);
            left.set_meta(n + 1 + m, level);
        }
        right.set_meta(0, 0);
        let (count, level) = parent.meta();
        parent.move_items(&self.inner, at + 1, at, count);
        parent.move_children(&self.inner, at + 2, at + 1, count);
        parent.set_meta(count - 1, level);
    }

    /// A root with one child takes over what the child has.
    fn lower_root(&self, root: &Node<'_>, version: u64) -> bool {
        let Some((child, child_version)) = self.descend(root, version, 0) else { return false };
        if !root.try_lock(version) {
            return false;
        }
        let locked = child.try_lock(child_version);
        if locked {
            let (count, level) = child.meta();
            let shape = self.shape(level);
            root.copy_items(shape, &child, 0, 0, count);
            if level > 0 {
                root.copy_children(shape, &child, 0, 0, count + 1);
            }
            root.set_meta(count, level);
            child.set_meta(0, 0);
            child.unlock();
        }
        root.unlock();
        if locked {
            self.free_node(child.id);
        }
        locked
    }

    /// Checks the tree against its invariants; nobody may be changing it.
    #[cfg(test)]
    pub fn check(&self) {
        let mut nodes = 0;
        let mut entries = Vec::new();
        self.check_node(self.root(), None, None, None, &mut nodes, &mut entries);
        assert!(entries.is_sorted_by(|a: &(Vec<u8>, u64), b| a < b), "entries ascend");
        assert_eq!(entries.len() as u64, self.len());
        let space = self.space.lock();
        assert_eq!(nodes + space.free.len() as u64, space.next, "every node is used or free");
    }

    #[cfg(test)]
    fn check_node(
        &self,
        node: Node<'_>,
        level: Option<usize>,
        lo: Option<(Vec<u8>, u64)>,
        hi: Option<(Vec<u8>, u64)>,
        nodes: &mut u64,
        entries: &mut Vec<(Vec<u8>, u64)>,
    ) {
        *nodes += 1;
        let (count, own) = node.meta();
        assert!(level.is_none_or(|l| l == own), "a child is one level below its parent");
        let shape = self.shape(own);
        assert!(count <= shape.cap);
        let item = |i: usize| {
            let item = node.item(shape, i);
            let mut key = Vec::new();
            match self.width {
                Some(w) => key.extend_from_slice(&item.head.to_be_bytes()[..w]),
                None => self.heap.append(item.head, item.rest, &mut key),
            }
            (key, item.row)
        };
        for i in 0..count {
            let here = item(i);
            assert!(lo.as_ref().is_none_or(|lo| *lo <= here) && hi.as_ref().is_none_or(|hi| here < *hi));
            if own == 0 {
                entries.push(here);
            }
        }
        for i in 0..if own == 0 { 0 } else { count + 1 } {
            let lo = if i == 0 { lo.clone() } else { Some(item(i - 1)) };
            let hi = if i == count { hi.clone() } else { Some(item(i)) };
            let child = self.node(node.child(shape, i)).expect("children exist");
            self.check_node(child, Some(own - 1), lo, hi, nodes, entries);
        }
    }
}

#[cfg(all(test, feature = "shuttle"))]
mod model;
#[cfg(all(test, not(feature = "shuttle")))]
mod tests;
