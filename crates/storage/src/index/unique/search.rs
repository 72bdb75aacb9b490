//! Searching a run: the rows of a leaf that ascend by key.
//!
//! The search begins where the key would lie if keys were evenly spaced, and goes outwards from there in growing steps:
//! of dense keys it ends at once.

use crate::heap::Heap;
use crate::index::encode::KeyEncoder;
use crate::index::key::{KeySpec, RunKey};
use crate::leaf::Leaf;
use crate::near;
use std::cmp::Ordering;
use vector::{Bounds, Values};

pub(super) fn key_at(spec: &KeySpec, leaf: &Leaf, slot: usize) -> Option<RunKey> {
    let mut out = RunKey::default();
    for (o, &c) in out.iter_mut().zip(&spec.columns) {
        *o = leaf.column(c).values.int_at(slot)?;
    }
    Some(out)
}

/// The slot of `key` among the first `rows` slots, which ascend.
fn find_slot(spec: &KeySpec, leaf: &Leaf, rows: usize, key: &RunKey) -> Option<usize> {
    if rows == 0 {
        return None;
    }
    let guess = first_guess(spec, leaf, rows, key);
    if spec.columns.len() == 1 {
        return find_int(&leaf.column(spec.columns[0]).values, rows, guess, key[0]);
    }
    gallop(rows, guess, |slot| key_at(spec, leaf, slot).map_or(Ordering::Greater, |k| k.cmp(key)))
}

/// Calls `f` if the leaf's run of so many rows holds the key.
pub(super) fn find_in_leaf(
    spec: &KeySpec,
    heap: &Heap,
    leaf_no: u64,
    rows: usize,
    key: &RunKey,
    f: impl FnOnce(u64, usize, &Leaf),
) {
    let Some(slot) = heap.slot(leaf_no) else { return };
    let state = slot.read();
    let Some(leaf) = state.leaf() else { return };
    if let Some(s) = find_slot(spec, leaf, rows.min(leaf.rows()), key) {
        f(leaf_no, s, leaf);
    }
}

/// Asks for where the search of the leaf will begin.
pub(super) fn ask_for_guess(spec: &KeySpec, heap: &Heap, leaf_no: u64, rows: usize, key: &RunKey) {
    let Some(slot) = heap.slot(leaf_no) else { return };
    let state = slot.read();
    let Some(leaf) = state.leaf() else { return };
    let guess = first_guess(spec, leaf, rows, key);
    spec.columns.iter().for_each(|&c| near::prefetch(leaf.column(c).values.place(guess)));
}

/// The slot at which the search for `key` begins.
fn first_guess(spec: &KeySpec, leaf: &Leaf, rows: usize, key: &RunKey) -> usize {
    let bounds = leaf.column(spec.columns[0]).bounds;
    bounds.map_or(0, |b| guess_slot(b, leaf.rows(), key[0])).min(rows.saturating_sub(1))
}

/// The first of the ascending slots `0..rows` whose key is not below `key`.
pub(super) fn first_slot(encoder: &KeyEncoder, spec: &KeySpec, leaf: &Leaf, rows: usize, key: &[u8]) -> usize {
    let (mut lo, mut hi) = (0, rows);
    while lo < hi {
        let mid = (lo + hi) / 2;
        let below = key_at(spec, leaf, mid).is_some_and(|k| encoder.encode_ints(&k)[..] < *key);
        if below { lo = mid + 1 } else { hi = mid }
    }
    lo
}

/// Where `key` would lie if the leaf's keys were evenly spaced. A binary search from the middle would touch some seven
/// cold cache lines, a good guess touches one.
fn guess_slot(bounds: Bounds, rows: usize, key: i64) -> usize {
    if key <= bounds.min {
        return 0;
    }
    let (offset, span) = (key.wrapping_sub(bounds.min) as u64, bounds.max.wrapping_sub(bounds.min) as u64);
    if offset >= span {
        return rows - 1;
    }
    // In floating point: a guess may be wrong, and 128-bit division is slow.
    (offset as f64 * (rows - 1) as f64 / span as f64) as usize
}

/// Searches ascending positions `0..n` outwards from `guess`. `cmp`: how the position compares with what is wanted.
fn gallop(n: usize, guess: usize, cmp: impl Fn(usize) -> Ordering) -> Option<usize> {
    let (mut lo, mut hi);
    let mut step = 1;
    match cmp(guess) {
        Ordering::Equal => return Some(guess),
        Ordering::Less => {
            lo = guess + 1;
            loop {
                hi = (guess + step).min(n);
                if hi == n || cmp(hi) != Ordering::Less {
                    break;
                }
                lo = hi + 1;
                step *= 2;
            }
            hi = (hi + 1).min(n);
        }
        Ordering::Greater => {
            hi = guess;
            loop {
                lo = guess.saturating_sub(step);
                if lo == 0 || cmp(lo) != Ordering::Greater {
                    break;
                }
                hi = lo;
                step *= 2;
            }
        }
    }
    while lo < hi {
        let mid = (lo + hi) / 2;
        match cmp(mid) {
            Ordering::Less => lo = mid + 1,
            Ordering::Equal => return Some(mid),
            Ordering::Greater => hi = mid,
        }
    }
    None
}

fn find_int(values: &Values, rows: usize, guess: usize, key: i64) -> Option<usize> {
    macro_rules! search {
        ($v:expr, $t:ty) => {{
            let v = &$v[..rows];
            let key = <$t>::try_from(key).ok()?;
            gallop(rows, guess, |slot| v[slot].cmp(&key))
        }};
    }
    match values {
        Values::I8(v) => search!(v, i8),
        Values::U8(v) => search!(v, u8),
        Values::I16(v) => search!(v, i16),
        Values::U16(v) => search!(v, u16),
        Values::I32(v) => search!(v, i32),
        Values::U32(v) => search!(v, u32),
        Values::I64(v) => search!(v, i64),
        Values::U64(v) => search!(v, u64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_search_from_any_guess_finds_what_is_there(
            keys in proptest::collection::btree_set(-500i64..500, 1..200),
            guess in 0usize..200,
            wanted in -510i64..510,
        ) {
            let keys: Vec<i64> = keys.into_iter().collect();
            let found = gallop(keys.len(), guess.min(keys.len() - 1), |i| keys[i].cmp(&wanted));
            prop_assert_eq!(found, keys.binary_search(&wanted).ok());
            let bounds = Bounds { min: keys[0], max: keys[keys.len() - 1] };
            let guess = guess_slot(bounds, keys.len(), wanted);
            prop_assert!(guess < keys.len());
            if bounds.max - bounds.min == keys.len() as i64 - 1 && found.is_some() {
                prop_assert_eq!(Some(guess), found, "dense keys need no search");
            }
        }
    }
}
