//! Sorted runs: leaves whose rows ascend by key need no hash entries.
//!
//! Rows mostly arrive in key order: AUTO_INCREMENT, loads of sorted files. As long as they do, the leaf itself is the
//! index. A run is a leaf whose first `rows` slots ascend strictly by key; the directory lists the runs by least key,
//! and their key ranges do not overlap. A lookup is a binary search over the directory (one entry a leaf) and one in
//! the leaf that starts where the key would lie if keys were evenly spaced: for dense keys it ends there.
//!
//! ```text
//!   directory  [ min 1, leaf 0, rows 1024 ] [ min 1025, leaf 1, rows 700 ] [ min 9000, leaf 5, rows 1024 ]
//!   key 1300:                                 ^ greatest min <= 1300; guess slot 275: there
//! ```
//! Invariants
//! 1. For neighbours a, b of the directory: the greatest key of a is below b's least. So one run at most can hold a
//!    key.
//! 2. The key columns of slots below `rows` never change in place: before a key update the run is dissolved, its rows
//!    enter the hash. Deleted rows keep their values until the leaf dies.
//! 3. A run is extended under the directory's read latch by whoever alone appends to its leaf: who has the tail latch,
//!    or the tail as its own ([`crate::tails`]). All else changes under its write latch.

use super::search::{ask_for_guess, find_in_leaf, first_slot, key_at};
use crate::heap::Heap;
use crate::index::Rows;
use crate::index::cursor::{Candidates, Interval};
use crate::index::encode::KeyEncoder;
use crate::index::key::{KeySpec, RunKey};
use crate::leaf::Leaf;
use crate::near;
use crate::sync::{AtomicU32, Ordering as Memory, Rank, WideRwLock};

#[derive(Debug)]
struct Run {
    min: RunKey,
    leaf_no: u64,
    rows: AtomicU32,
    /// The run is being dissolved and grows no more.
    frozen: bool,
}

/// The directory of an index's runs.
#[derive(Debug)]
pub struct Runs(WideRwLock<Vec<Run>>);

impl Default for Runs {
    fn default() -> Runs {
        Runs(WideRwLock::new(Rank::IndexRuns, Vec::new()))
    }
}

impl Runs {
    /// The leaf that alone can hold `key` in its run, and the run's length.
    #[inline]
    fn candidate(runs: &[Run], key: &RunKey) -> Option<(u64, usize)> {
        let run = &runs[runs.partition_point(|r| r.min <= *key).checked_sub(1)?];
        Some((run.leaf_no, run.rows.load(Memory::Acquire) as usize))
    }

    /// Calls `f` with the leaf's number, the slot and the leaf of a key that a run holds, be the row dead, under the
    /// leaf's read latch.
    pub fn find(&self, spec: &KeySpec, heap: &Heap, key: &RunKey, f: impl FnOnce(u64, usize, &Leaf)) {
        if let Some((leaf_no, rows)) = Self::candidate(&self.0.read(), key) {
            find_in_leaf(spec, heap, leaf_no, rows, key, f);
        }
    }

    /// The same of each of many keys, in any order, with its position among them; `None`s are skipped. Keys that follow
    /// each other are looked up together: see [`near`].
    pub fn find_many(
        &self,
        spec: &KeySpec,
        heap: &Heap,
        keys: impl Iterator<Item = Option<RunKey>>,
        mut f: impl FnMut(usize, u64, usize, &Leaf),
    ) {
        let runs = self.0.read();
        if runs.is_empty() {
            return;
        }
        let is_far = heap.leaf_count() >= near::LEAVES_MIN;
        let mut keys = keys.enumerate().filter_map(|(i, key)| {
            let key = key?;
            Some((i, key, Self::candidate(&runs, &key)?))
        });
        let mut few = Vec::with_capacity(near::LEAVES_AT_ONCE);
        loop {
            few.clear();
            few.extend(keys.by_ref().take(near::LEAVES_AT_ONCE));
            if few.is_empty() {
                return;
            }
            if is_far && few.len() > 1 {
                few.iter().for_each(|(.., (leaf_no, _))| near::ask_for_leaf(heap, *leaf_no));
                few.iter().for_each(|(_, key, (leaf_no, rows))| ask_for_guess(spec, heap, *leaf_no, *rows, key));
            }
            for (i, key, (leaf_no, rows)) in &few {
                find_in_leaf(spec, heap, *leaf_no, *rows, key, |leaf_no, slot, leaf| f(*i, leaf_no, slot, leaf));
            }
        }
    }

    /// Calls `visit` with the leaf and slot of each row in a run, dead ones included, whose key lies between two, both
    /// included, in order and under the leaf's read latch; `passed` with each leaf and the length of its run before.
    pub fn each_between(
        &self,
        spec: &KeySpec,
        heap: &Heap,
        low: &RunKey,
        high: &RunKey,
        passed: &mut dyn FnMut(u64, usize),
        mut visit: impl FnMut(&Leaf, usize),
    ) {
        let runs = self.0.read();
        let first = runs.partition_point(|r| r.min <= *low).saturating_sub(1);
        for run in runs[first..].iter().take_while(|r| r.min <= *high) {
            let Some(slot) = heap.slot(run.leaf_no) else { continue };
            let state = slot.read();
            let Some(leaf) = state.leaf() else { continue };
            let rows = (run.rows.load(Memory::Acquire) as usize).min(leaf.rows());
            passed(run.leaf_no, rows);
            let (mut from, mut to) = (0, rows);
            while from < to {
                let mid = (from + to) / 2;
                if key_at(spec, leaf, mid).is_some_and(|k| k < *low) { from = mid + 1 } else { to = mid }
            }
            for slot in from..rows {
                if key_at(spec, leaf, slot).is_none_or(|k| k > *high) {
                    return;
                }
                visit(leaf, slot);
            }
        }
    }

    /// Adds the row at `slot`, the last of the table's tail leaf, to the leaf's run, or begins one with it. False if it
    /// does not fit there. Nobody else appends to the leaf.
    pub fn extend(&self, spec: &KeySpec, heap: &Heap, leaf_no: u64, slot: usize, key: &RunKey) -> bool {
        if slot == 0 {
            return self.add(spec, heap, leaf_no, 1, key, key);
        }
        let runs = self.0.read();
        let Some(at) = runs.partition_point(|r| r.min <= *key).checked_sub(1) else { return false };
        let run = &runs[at];
        if run.frozen || run.leaf_no != leaf_no || run.rows.load(Memory::Acquire) as usize != slot {
            return false;
        }
        let Some(leaf_slot) = heap.slot(leaf_no) else { return false };
        let state = leaf_slot.read();
        let Some(last) = state.leaf().and_then(|l| key_at(spec, l, slot - 1)) else { return false };
        if last >= *key {
            return false;
        }
        run.rows.store(slot as u32 + 1, Memory::Release);
        true
    }

    /// Adds a leaf whose first `rows` slots ascend from `min` to `max`. False if that would overlap other runs.
    pub fn add(&self, spec: &KeySpec, heap: &Heap, leaf_no: u64, rows: usize, min: &RunKey, max: &RunKey) -> bool {
        let mut runs = self.0.write();
        let at = runs.partition_point(|r| r.min <= *min);
        if runs.get(at).is_some_and(|next| next.min <= *max) {
            return false;
        }
        if let Some(before) = at.checked_sub(1).map(|i| &runs[i]) {
            let last = before.rows.load(Memory::Acquire) as usize - 1;
            let state = heap.slot(before.leaf_no).map(|s| s.read());
            let greatest = state.as_ref().and_then(|s| key_at(spec, s.leaf()?, last));
            if greatest.is_none_or(|greatest| greatest >= *min) {
                return false;
            }
        }
        runs.insert(at, Run { min: *min, leaf_no, rows: AtomicU32::new(rows as u32), frozen: false });
        true
    }

    /// Leaves and lengths of the first runs, at most `max`, that have keys from `min` to `max_key`.
    pub fn overlapping(
        &self,
        spec: &KeySpec,
        heap: &Heap,
        min: &RunKey,
        max_key: &RunKey,
        max: usize,
    ) -> Vec<(u64, usize)> {
        let runs = self.0.read();
        let first = runs.partition_point(|r| r.min < *min).saturating_sub(1);
        let greatest = |run: &Run| {
            let state = heap.slot(run.leaf_no)?.read();
            key_at(spec, state.leaf()?, run.rows.load(Memory::Acquire) as usize - 1)
        };
        runs[first..]
            .iter()
            .take_while(|r| r.min <= *max_key)
            .filter(|r| greatest(r).is_none_or(|g| g >= *min))
            .take(max)
            .map(|r| (r.leaf_no, r.rows.load(Memory::Acquire) as usize))
            .collect()
    }

    /// How many of the leaf's first slots are in its run.
    pub fn rows_in(&self, spec: &KeySpec, heap: &Heap, leaf_no: u64) -> usize {
        let first = heap.slot(leaf_no).and_then(|s| key_at(spec, s.read().leaf().filter(|l| l.rows() > 0)?, 0));
        let runs = self.0.read();
        let found = first.and_then(|min| Self::candidate(&runs, &min));
        found.filter(|f| f.0 == leaf_no).map_or(0, |f| f.1)
    }

    /// About how many rows of runs have keys in the interval.
    pub fn estimate(&self, encoder: &KeyEncoder, spec: &KeySpec, heap: &Heap, interval: &Interval) -> u64 {
        let runs = self.0.read();
        // (runs wholly below the key, rows below it in the next one)
        let below = |key: &[u8]| -> (usize, u64) {
            let at = runs.partition_point(|r| encoder.encode_ints(&r.min)[..] < *key);
            let Some(last) = at.checked_sub(1) else { return (0, 0) };
            let rows = runs[last].rows.load(Memory::Acquire) as usize;
            let state = heap.slot(runs[last].leaf_no).map(|s| s.read());
            let leaf = state.as_ref().and_then(|s| s.leaf());
            (last, leaf.map_or(0, |l| first_slot(encoder, spec, l, rows.min(l.rows()), key)) as u64)
        };
        let (first, before) = below(&interval.start);
        let (last, more) = interval.end.as_ref().map_or((runs.len(), 0), |e| below(e));
        let between = runs.get(first..last).unwrap_or_default();
        let whole: u64 = between.iter().map(|r| r.rows.load(Memory::Relaxed) as u64).sum();
        (whole + more).saturating_sub(before)
    }

    /// Appends the leaves whose runs can hold keys of the interval, in the order of their keys.
    pub fn leaves(&self, encoder: &KeyEncoder, interval: &Interval, out: &mut Vec<u64>) {
        let runs = self.0.read();
        let first = runs.partition_point(|r| encoder.encode_ints(&r.min)[..] <= interval.start[..]).saturating_sub(1);
        let end = |end: &Vec<u8>| runs.partition_point(|r| encoder.encode_ints(&r.min)[..] < end[..]);
        let last = interval.end.as_ref().map_or(runs.len(), end);
        out.extend(runs.get(first..last).unwrap_or_default().iter().map(|r| r.leaf_no));
    }

    /// Appends rows of runs whose keys lie in the interval and behind `after`, in the walk's direction, at most `max`.
    #[expect(clippy::too_many_arguments)]
    pub fn walk(
        &self,
        encoder: &KeyEncoder,
        spec: &KeySpec,
        rows: Rows<'_>,
        interval: &Interval,
        after: Option<(&[u8], u64)>,
        reverse: bool,
        max: usize,
        out: &mut Candidates,
    ) {
        let runs = self.0.read();
        let behind = |key: &[u8], row_id: u64| match after {
            None => true,
            Some(a) if reverse => (key, row_id) < a,
            Some(a) => (key, row_id) > a,
        };
        // From where on, or below where, the walk goes on; equal keys are looked at once more, for their row ids.
        let bound: Option<&[u8]> = match (after, reverse) {
            (Some((key, _)), _) => Some(key),
            (None, false) => Some(&interval.start),
            (None, true) => interval.end.as_deref(),
        };
        let at = bound.map_or(runs.len(), |b| runs.partition_point(|r| encoder.encode_ints(&r.min)[..] <= *b));
        let mut key = Vec::new();
        let mut visit = |run: &Run, from: Option<&[u8]>| -> bool {
            let Some(slot) = rows.heap.slot(run.leaf_no) else { return true };
            let state = slot.read();
            let Some(leaf) = state.leaf() else { return true };
            let n = (run.rows.load(Memory::Acquire) as usize).min(leaf.rows());
            let cut = |key: &[u8]| first_slot(encoder, spec, leaf, n, key);
            let (first, last) = match (from, reverse) {
                (None, _) => (0, n),
                (Some(b), false) => (cut(b), n),
                (Some(b), true) => (0, (cut(b) + 1).min(n)),
            };
            for i in 0..last - first {
                let slot = if reverse { last - 1 - i } else { first + i };
                if !leaf.is_live(slot) && !leaf.is_versioned(slot) {
                    continue;
                }
                key.clear();
                encoder.encode_row(&|c| (leaf.column(c), slot), &mut key);
                let row_id = rows.row_id(run.leaf_no, slot);
                if !behind(&key, row_id) {
                    continue;
                }
                if !interval.contains(&key) {
                    // Before the interval in the walk's direction only at its first step; behind it the walk ends.
                    let ended = if reverse { key < interval.start } else { key >= interval.start };
                    if ended {
                        return false;
                    }
                    continue;
                }
                if out.len() == max {
                    return false;
                }
                out.push(&key, row_id);
            }
            true
        };
        let start = at.saturating_sub(1);
        if reverse {
            let mut next = at;
            while next > 0 && visit(&runs[next - 1], (next == at).then_some(bound).flatten()) {
                next -= 1;
            }
        } else {
            let mut next = if bound.is_some() { start } else { 0 };
            while next < runs.len() && visit(&runs[next], (next == start).then_some(bound).flatten()) {
                next += 1;
            }
        }
    }

    /// Takes the leaf's run away, if it has one.
    pub fn remove(&self, leaf_no: u64) {
        self.0.write().retain(|r| r.leaf_no != leaf_no);
    }

    /// Lets the leaf's run grow no more and returns its length, 0 if there is none. Step one of dissolving it.
    pub fn freeze(&self, leaf_no: u64) -> usize {
        // A pass over the directory: runs are only dissolved by key updates.
        let mut runs = self.0.write();
        runs.iter_mut().find(|r| r.leaf_no == leaf_no).map_or(0, |r| {
            r.frozen = true;
            *r.rows.get_mut() as usize
        })
    }

    pub fn bytes_allocated(&self) -> usize {
        self.0.read().capacity() * size_of::<Run>()
    }
}

/// The least and greatest key of the leaf's rows if they ascend strictly; `None` otherwise.
pub fn ascending(spec: &KeySpec, leaf: &Leaf) -> Option<(RunKey, RunKey)> {
    ascending_rows(spec, leaf).filter(|a| a.0 == leaf.rows()).map(|(_, min, max)| (min, max))
}

/// How many of the leaf's first rows ascend strictly, with the least and greatest key of these.
pub fn ascending_rows(spec: &KeySpec, leaf: &Leaf) -> Option<(usize, RunKey, RunKey)> {
    let rows = leaf.rows();
    if !spec.is_integral || rows == 0 || spec.columns.iter().any(|&c| leaf.column(c).has_nulls()) {
        return None;
    }
    let first = key_at(spec, leaf, 0)?;
    let mut last = first;
    for slot in 1..rows {
        let key = key_at(spec, leaf, slot)?;
        if key <= last {
            return Some((slot, first, last));
        }
        last = key;
    }
    Some((rows, first, last))
}
