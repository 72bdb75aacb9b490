//! A tree from sorted entries.
//!
//! ```text
//!   thread 1:  entries ─ sort ─▶ run 1 ─┬─ keys below s ─▶ merge ─▶ leaves ─┐
//!                                       ╳                                   ├─▶ inner levels, one thread
//!   thread 2:  entries ─ sort ─▶ run 2 ─┴─ keys from s on ▶ merge ─▶ leaves ─┘
//! ```
//! Leaves are filled to 15/16, so that the first entries to come do not split them all.

use super::keys::{Reserve, head_of, short_rest};
use super::node::Item;
use super::sort::sort_while;
use super::{ROOT, Tree};
use crate::index::ordered::GoOn;
use std::cmp::Ordering;
use std::ops::Range;
use types::Result;

/// Entries that one thread has gathered.
#[derive(Debug)]
pub struct Entries(Kind);

#[derive(Debug)]
enum Kind {
    /// head << 64 | row id: compared without a branch.
    Fixed(Vec<u128>),
    Var(VarEntries),
}

#[derive(Debug, Default)]
struct VarEntries {
    /// Rests of long keys are offsets into `bytes`, to a length of 4 bytes and the bytes behind the head.
    items: Vec<VarItem>,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct VarItem {
    item: Item,
    /// Bytes 8 to 15 of the key, as a number that orders as they do: sorting seldom looks into `bytes`.
    second: u64,
}

const LONG_TAG: u64 = 0xFF;

impl Entries {
    /// `width`: how many bytes every key has, if all have the same.
    pub fn new(width: Option<usize>) -> Entries {
        Entries(match width {
            Some(w) if w <= 8 => Kind::Fixed(Vec::new()),
            _ => Kind::Var(VarEntries::default()),
        })
    }

    pub fn push(&mut self, key: &[u8], row: u64) {
        match &mut self.0 {
            Kind::Fixed(v) => v.push((head_of(key) as u128) << 64 | row as u128),
            Kind::Var(v) => {
                let rest = short_rest(key).unwrap_or_else(|| {
                    let at = v.bytes.len() as u64;
                    v.bytes.extend_from_slice(&(key.len() as u32 - 8).to_le_bytes());
                    v.bytes.extend_from_slice(&key[8..]);
                    at << 8 | LONG_TAG
                });
                let second = head_of(key.get(8..).unwrap_or_default());
                v.items.push(VarItem { item: Item { head: head_of(key), rest, row }, second });
            }
        }
    }

    /// An error: `go_on`'s.
    pub fn sort_while(&mut self, go_on: GoOn<'_>) -> Result<()> {
        match &mut self.0 {
            Kind::Fixed(v) => sort_while(v, &u128::cmp, go_on),
            Kind::Var(VarEntries { items, bytes }) => sort_while(items, &|a, b| compare(a, bytes, b, bytes), go_on),
        }
    }
}

fn long_rest(rest: u64, bytes: &[u8]) -> Option<&[u8]> {
    if rest & 0xFF != LONG_TAG {
        return None;
    }
    let at = (rest >> 8) as usize;
    let len = u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize;
    Some(&bytes[at + 4..at + 4 + len])
}

#[inline]
fn compare(a: &VarItem, a_bytes: &[u8], b: &VarItem, b_bytes: &[u8]) -> Ordering {
    let order = a.item.head.cmp(&b.item.head).then(a.second.cmp(&b.second));
    order.then_with(|| compare_rests(&a.item, a_bytes, &b.item, b_bytes))
}

fn compare_rests(a: &Item, a_bytes: &[u8], b: &Item, b_bytes: &[u8]) -> Ordering {
    let rests = || match (long_rest(a.rest, a_bytes), long_rest(b.rest, b_bytes)) {
        (None, None) => a.rest.cmp(&b.rest),
        (Some(a), Some(b)) => a.cmp(b),
        // No key is a prefix of another: seven bytes decide.
        (None, Some(b)) => a.rest.to_be_bytes()[..7].cmp(&b[..7]).then(Ordering::Less),
        (Some(a), None) => a[..7].cmp(&b.rest.to_be_bytes()[..7]).then(Ordering::Greater),
    };
    rests().then_with(|| a.row.cmp(&b.row))
}

/// Sorted entries, for merging.
trait Run: Sync {
    fn len(&self) -> usize;
    fn compare(&self, i: usize, other: &Self, j: usize) -> Ordering;
    /// The entry as one of the tree's.
    fn item(&self, i: usize, tree: &Tree, reserve: &mut Reserve) -> Item;
}

impl Run for Vec<u128> {
    fn len(&self) -> usize {
        Vec::len(self)
    }

    #[inline]
    fn compare(&self, i: usize, other: &Self, j: usize) -> Ordering {
        self[i].cmp(&other[j])
    }

    #[inline]
    fn item(&self, i: usize, _: &Tree, _: &mut Reserve) -> Item {
        Item { head: (self[i] >> 64) as u64, rest: 0, row: self[i] as u64 }
    }
}

impl Run for VarEntries {
    fn len(&self) -> usize {
        self.items.len()
    }

    fn compare(&self, i: usize, other: &Self, j: usize) -> Ordering {
        compare(&self.items[i], &self.bytes, &other.items[j], &other.bytes)
    }

    fn item(&self, i: usize, tree: &Tree, reserve: &mut Reserve) -> Item {
        let item = self.items[i].item;
        match long_rest(item.rest, &self.bytes) {
            Some(bytes) => Item { rest: tree.heap.store_in_bulk(reserve, bytes), ..item },
            None => item,
        }
    }
}

/// Fewer entries are merged by one thread.
const PARALLEL_ENTRIES_MIN: usize = 100_000;
/// Leaves that are filled between two questions whether to go on.
const LEAVES_ASKED: usize = 1024;
const SAMPLES_PER_RUN: usize = 64;

impl Tree {
    /// A tree of all entries of `runs`, each of which is sorted; with as many threads as there are runs.
    /// An error: `go_on`'s.
    pub fn build(width: Option<usize>, runs: Vec<Entries>, go_on: GoOn<'_>) -> Result<Tree> {
        let tree = Tree::new(width);
        tree.fill(runs, go_on)?;
        Ok(tree)
    }

    /// Fills an empty tree that nobody else sees yet.
    pub(super) fn fill(&self, runs: Vec<Entries>, go_on: GoOn<'_>) -> Result<()> {
        let (mut fixed, mut var) = (Vec::new(), Vec::new());
        for run in runs {
            match run.0 {
                Kind::Fixed(v) => fixed.push(v),
                Kind::Var(v) => var.push(v),
            }
        }
        let leaves = if self.width.is_some() { self.merge_all(&fixed, go_on) } else { self.merge_all(&var, go_on) };
        drop((fixed, var));
        self.stack(leaves?);
        Ok(())
    }

    /// Merges runs into leaves; returns these in order.
    fn merge_all<R: Run>(&self, runs: &[R], go_on: GoOn<'_>) -> Result<Vec<u64>> {
        let total: usize = runs.iter().map(Run::len).sum();
        if runs.len() <= 1 || total < PARALLEL_ENTRIES_MIN {
            return self.merge_runs(runs, runs.iter().map(|r| 0..r.len()).collect(), go_on);
        }
        let shares = shares(runs);
        std::thread::scope(|scope| {
            let mut rest = shares.into_iter();
            let first = rest.next().expect("there are several runs");
            let helpers: Vec<_> = rest.map(|share| scope.spawn(|| self.merge_runs(runs, share, go_on))).collect();
            let first = self.merge_runs(runs, first, go_on);
            let others: Vec<_> = helpers.into_iter().map(|h| h.join().expect("merging does not panic")).collect();
            let mut leaves = first?;
            for more in others {
                leaves.extend(more?);
            }
            Ok(leaves)
        })
    }

    /// Merges a range of each run into leaves.
    fn merge_runs<R: Run>(&self, runs: &[R], mut ranges: Vec<Range<usize>>, go_on: GoOn<'_>) -> Result<Vec<u64>> {
        let fill = (self.leaf.cap * 15 / 16).max(1);
        let (mut leaves, mut reserve) = (Vec::new(), Reserve::default());
        let (mut leaf, mut count, mut total) = (None, 0, 0);
        let mut last: Option<(usize, usize)> = None;
        loop {
            let mut least: Option<usize> = None;
            for (r, range) in ranges.iter().enumerate().filter(|(_, range)| !range.is_empty()) {
                let below =
                    least.is_none_or(|l: usize| runs[r].compare(range.start, &runs[l], ranges[l].start).is_lt());
                if below {
                    least = Some(r);
                }
            }
            let Some(r) = least else { break };
            let i = ranges[r].start;
            ranges[r].start += 1;
            if last.is_some_and(|(l, j)| runs[l].compare(j, &runs[r], i).is_eq()) {
                continue;
            }
            last = Some((r, i));
            if leaf.is_none() || count == fill {
                if leaves.len() % LEAVES_ASKED == 0 {
                    go_on()?;
                }
                let node = self.new_node();
                leaves.push(node.id);
                (leaf, count) = (Some(node), 0);
            }
            let node = leaf.expect("made above");
            node.set_item(&self.leaf, count, runs[r].item(i, self, &mut reserve));
            count += 1;
            total += 1;
            node.set_meta(count, 0);
        }
        self.len.fetch_add(total, crate::sync::Ordering::Relaxed);
        Ok(leaves)
    }

    /// Builds the levels above the leaves. The top one goes into the root.
    fn stack(&self, leaves: Vec<u64>) {
        let item = |id: u64, last: bool| {
            let node = self.node(id).expect("just made");
            let at = if last { node.meta().0 - 1 } else { 0 };
            node.item(&self.leaf, at)
        };
        let mut separators: Vec<Item> =
            leaves.windows(2).map(|w| self.make_separator(item(w[0], true), item(w[1], false))).collect();
        let (mut nodes, mut level) = (leaves, 0);
        while nodes.len() > self.inner.cap + 1 {
            level += 1;
            let groups = nodes.len().div_ceil(self.inner.cap * 15 / 16 + 1);
            let (mut above, mut above_separators) = (Vec::with_capacity(groups), Vec::with_capacity(groups));
            for g in 0..groups {
                let range = nodes.len() * g / groups..nodes.len() * (g + 1) / groups;
                if g > 0 {
                    above_separators.push(separators[range.start - 1]);
                }
                let node = self.new_node();
                self.set_children(node.id, &nodes[range.clone()], &separators[range.start..range.end - 1], level);
                above.push(node.id);
            }
            (nodes, separators) = (above, above_separators);
        }
        match nodes[..] {
            [] => {}
            [only] => {
                let (root, node) = (self.root(), self.node(only).expect("just made"));
                let (count, _) = node.meta();
                root.copy_items(&self.leaf, &node, 0, 0, count);
                root.set_meta(count, 0);
                self.free_node(only);
            }
            _ => self.set_children(ROOT, &nodes, &separators, level + 1),
        }
    }

    fn set_children(&self, id: u64, children: &[u64], separators: &[Item], level: usize) {
        let node = self.node(id).expect("just made");
        separators.iter().enumerate().for_each(|(i, s)| node.set_item(&self.inner, i, *s));
        children.iter().enumerate().for_each(|(i, c)| node.set_child(&self.inner, i, *c));
        node.set_meta(separators.len(), level);
    }
}

/// Cuts the runs at common keys into as many shares as there are runs, about equally large: for each share, a range of
/// every run.
fn shares<R: Run>(runs: &[R]) -> Vec<Vec<Range<usize>>> {
    let samples_of = |r: usize| {
        let n = SAMPLES_PER_RUN.min(runs[r].len());
        (0..n).map(move |s| (r, runs[r].len() * s / n))
    };
    let mut samples: Vec<(usize, usize)> = (0..runs.len()).flat_map(samples_of).collect();
    samples.sort_by(|a, b| runs[a.0].compare(a.1, &runs[b.0], b.1));
    let mut from = vec![0; runs.len()];
    let mut out = Vec::new();
    for share in 1..=runs.len() {
        let to: Vec<usize> = match share == runs.len() {
            true => runs.iter().map(Run::len).collect(),
            false => {
                let (s, at) = samples[samples.len() * share / runs.len()];
                runs.iter().map(|run| lower_bound(run, &runs[s], at)).collect()
            }
        };
        out.push(from.iter().zip(&to).map(|(&a, &b)| a..b).collect());
        from = to;
    }
    out
}

/// The first entry of `run` not below entry `at` of `other`.
fn lower_bound<R: Run>(run: &R, other: &R, at: usize) -> usize {
    let (mut lo, mut hi) = (0, run.len());
    while lo < hi {
        let mid = (lo + hi) / 2;
        if run.compare(mid, other, at).is_lt() { lo = mid + 1 } else { hi = mid }
    }
    lo
}
