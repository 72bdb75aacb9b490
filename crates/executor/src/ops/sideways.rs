//! Sideways filters: what a hash join's build side teaches the scans of its probe side.
//!
//! A row whose key lies outside the build keys' range, or is not among them, cannot match; the scan drops it before
//! anything else is done with it, and whole leaves by their zone maps.
//!
//! ```text
//!   build keys ──▶ min..max   and   dense keys:  an exact bitmap over min..max
//!                                   others:      a bloom filter, one 64-bit word a key (Lang et al., VLDB 2019),
//!                                                and if they are few the keys themselves, sorted
//!   a leaf's zone map ──▶ the build keys within:  none: the leaf is not read
//!                                                 few:  its rows are compared with each
//!                                                 many: its rows are looked up
//! ```
//! Rows of one key often lie together, so that of the many keys of a build side a leaf can have few. A filter that lets
//! more than three quarters pass is switched off: it costs more than it saves.

use crate::keys::hash_u64;
use expr::kernels::fixed::eq_const;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use vector::{Bounds, Chunk, Selection, Values, Vector};

#[derive(Debug)]
enum Members {
    /// Bit `key - min`.
    Bitmap(Vec<u64>),
    Bloom {
        words: Vec<u64>,
        shift: u32,
        /// Sorted; `None`: they are many.
        keys: Option<Vec<i64>>,
    },
    /// No build rows at all.
    None,
}

/// See the module head. Keys are integer-like: at most 64 bits, signed order.
#[derive(Debug)]
pub struct SidewaysFilter {
    min: i64,
    max: i64,
    members: Members,
    rows_in: AtomicU64,
    rows_out: AtomicU64,
    off: AtomicBool,
}

/// Build keys beside a bloom filter that are kept.
const SORTED_KEYS_MAX: usize = 16 << 10;
/// Rows are compared with so many keys, one after the other, rather than looked up.
const FEW_KEYS: usize = 6;
/// Words of a bitmap that are looked at for the keys within a zone map.
const ZONE_WORDS_MAX: usize = 64;

/// The first keys within a zone map.
#[derive(Default)]
struct Within {
    keys: [i64; FEW_KEYS],
    /// Above [`FEW_KEYS`]: there are more.
    count: usize,
}

impl Within {
    /// False if it is full.
    fn add(&mut self, key: i64) -> bool {
        if let Some(place) = self.keys.get_mut(self.count) {
            *place = key;
        }
        self.count += 1;
        self.count <= FEW_KEYS
    }
}

/// Rows looked at before a filter is judged.
const TRIAL_ROWS: u64 = 64 << 10;

fn bloom_mask(h: u64) -> u64 {
    1 << (h & 63) | 1 << (h >> 6 & 63) | 1 << (h >> 12 & 63) | 1 << (h >> 18 & 63)
}

impl SidewaysFilter {
    /// Of the build side's keys (any order, repeated or not).
    pub fn new(keys: &[Vec<i64>]) -> SidewaysFilter {
        let all = || keys.iter().flatten().copied();
        let n: usize = keys.iter().map(Vec::len).sum();
        let (min, max) = all().fold((i64::MAX, i64::MIN), |(lo, hi), k| (lo.min(k), hi.max(k)));
        let span = (max as i128 - min as i128 + 1).max(0) as u128;
        let members = if n == 0 {
            Members::None
        } else if span <= (n as u128 * 64).max(1 << 16) {
            let mut words = vec![0u64; (span as usize).div_ceil(64)];
            for k in all() {
                let bit = k.wrapping_sub(min) as u64;
                words[(bit >> 6) as usize] |= 1 << (bit & 63);
            }
            Members::Bitmap(words)
        } else {
            // 16 bits a key.
            let bits = (n / 4).next_power_of_two().max(64).trailing_zeros();
            let mut words = vec![0u64; 1 << bits];
            for k in all() {
                let h = hash_u64(k as u64);
                words[(h >> (64 - bits)) as usize] |= bloom_mask(h);
            }
            let keys = (n <= SORTED_KEYS_MAX).then(|| {
                let mut keys: Vec<i64> = all().collect();
                keys.sort_unstable();
                keys.dedup();
                keys
            });
            Members::Bloom { words, shift: 64 - bits, keys }
        };
        let zero = AtomicU64::new(0);
        SidewaysFilter { min, max, members, rows_in: zero, rows_out: AtomicU64::new(0), off: AtomicBool::new(false) }
    }

    /// False if no row of a leaf with these bounds can match.
    pub fn may_match(&self, bounds: Option<Bounds>) -> bool {
        if matches!(self.members, Members::None) {
            return false;
        }
        let Some(b) = bounds else { return true };
        b.max >= self.min && b.min <= self.max && self.within(b).is_none_or(|w| w.count > 0)
    }

    /// The build keys within a leaf's bounds; `None` if it would take long to find them.
    fn within(&self, b: Bounds) -> Option<Within> {
        let mut within = Within::default();
        let (from, to) = (b.min.max(self.min), b.max.min(self.max));
        if from > to {
            return Some(within);
        }
        match &self.members {
            Members::None => {}
            Members::Bitmap(words) => {
                let (first, last) = (from.wrapping_sub(self.min) as u64, to.wrapping_sub(self.min) as u64);
                let (a, z) = ((first >> 6) as usize, (last >> 6) as usize);
                if z - a >= ZONE_WORDS_MAX {
                    return None;
                }
                for (w, &word) in words.iter().enumerate().take(z + 1).skip(a) {
                    let mut bits = word;
                    if w == a {
                        bits &= u64::MAX << (first & 63);
                    }
                    if w == z {
                        bits &= u64::MAX >> (63 - (last & 63));
                    }
                    while bits != 0 {
                        let bit = w as u64 * 64 + bits.trailing_zeros() as u64;
                        if !within.add(self.min.wrapping_add(bit as i64)) {
                            return Some(within);
                        }
                        bits &= bits - 1;
                    }
                }
            }
            Members::Bloom { keys, .. } => {
                let keys = keys.as_deref()?;
                let behind = &keys[keys.partition_point(|&k| k < from)..];
                for &key in behind.iter().take_while(|&&k| k <= to) {
                    if !within.add(key) {
                        break;
                    }
                }
            }
        }
        Some(within)
    }

    /// Narrows `selection` to the rows that may match; NULLs never do.
    pub fn narrow(&self, column: &Vector, selection: Selection, rows: usize) -> Selection {
        if self.off.load(Ordering::Relaxed) {
            return selection;
        }
        let Vector::Flat(chunk) = column else { return selection };
        let before = selection.count(rows) as u64;
        let is_sparse = before * 8 < rows as u64;
        let within = chunk.bounds.filter(|_| !is_sparse).and_then(|b| self.within(b)).filter(|w| w.count <= FEW_KEYS);
        let narrowed = match &self.members {
            Members::None => Selection::Some(Vec::new()),
            _ if let Some(w) = &within => equal_to(&w.keys[..w.count], chunk, &selection, rows),
            Members::Bitmap(words) => {
                let (min, max) = (self.min, self.max);
                self.pick(chunk, &selection, rows, |k| {
                    let inside = k >= min && k <= max;
                    let bit = if inside { k.wrapping_sub(min) as u64 } else { 0 };
                    inside & (words[(bit >> 6) as usize] >> (bit & 63) & 1 != 0)
                })
            }
            Members::Bloom { words, shift, .. } => {
                let (min, max) = (self.min, self.max);
                self.pick(chunk, &selection, rows, |k| {
                    let h = hash_u64(k as u64);
                    let mask = bloom_mask(h);
                    k >= min && k <= max && words[(h >> shift) as usize] & mask == mask
                })
            }
        };
        let after = narrowed.count(rows) as u64;
        let seen = self.rows_in.fetch_add(before, Ordering::Relaxed) + before;
        let passed = self.rows_out.fetch_add(after, Ordering::Relaxed) + after;
        if seen > TRIAL_ROWS && passed * 4 > seen * 3 {
            self.off.store(true, Ordering::Relaxed);
        }
        if after as usize == rows { Selection::All } else { narrowed }
    }

    fn pick(&self, chunk: &Chunk, selection: &Selection, rows: usize, keep: impl Fn(i64) -> bool) -> Selection {
        macro_rules! go {
            ($v:expr) => {
                pick_from(chunk, selection, rows, |i| keep($v[i] as i64))
            };
        }
        match &chunk.values {
            Values::I8(v) => go!(v),
            Values::U8(v) => go!(v),
            Values::I16(v) => go!(v),
            Values::U16(v) => go!(v),
            Values::I32(v) => go!(v),
            Values::U32(v) => go!(v),
            Values::I64(v) => go!(v),
            _ => selection.clone(),
        }
    }
}

/// The selected rows that are one of `keys`.
fn equal_to(keys: &[i64], chunk: &Chunk, selection: &Selection, rows: usize) -> Selection {
    let mut bits = vec![0u64; rows.div_ceil(64)];
    let mut one = vec![0u64; rows.div_ceil(64)];
    macro_rules! compare {
        ($v:expr) => {
            for key in keys.iter().filter_map(|&k| k.try_into().ok()) {
                eq_const($v, key, &mut one);
                bits.iter_mut().zip(&one).for_each(|(all, one)| *all |= one);
            }
        };
    }
    match &chunk.values {
        Values::I8(v) => compare!(v),
        Values::U8(v) => compare!(v),
        Values::I16(v) => compare!(v),
        Values::U16(v) => compare!(v),
        Values::I32(v) => compare!(v),
        Values::U32(v) => compare!(v),
        Values::I64(v) => compare!(v),
        _ => return selection.clone(),
    }
    let is_equal = |i: usize| bits[i >> 6] >> (i & 63) & 1 != 0 && chunk.is_valid(i);
    let mut out = Vec::new();
    match selection {
        Selection::Some(s) => out.extend(s.iter().copied().filter(|&i| is_equal(i as usize))),
        Selection::All => {
            for (w, &word) in bits.iter().enumerate() {
                let mut left = word;
                while left != 0 {
                    let i = w * 64 + left.trailing_zeros() as usize;
                    if i < rows && chunk.is_valid(i) {
                        out.push(i as u16);
                    }
                    left &= left - 1;
                }
            }
        }
    }
    Selection::Some(out)
}

#[inline]
fn pick_from(chunk: &Chunk, selection: &Selection, rows: usize, keep: impl Fn(usize) -> bool) -> Selection {
    // Written branch-free: every position is stored, the end moves only past those kept.
    let mut out = vec![0u16; selection.count(rows) + 1];
    let mut n = 0;
    match (&chunk.validity, selection) {
        (None, Selection::All) => {
            for i in 0..rows {
                out[n] = i as u16;
                n += keep(i) as usize;
            }
        }
        (None, Selection::Some(s)) => {
            for &i in s {
                out[n] = i;
                n += keep(i as usize) as usize;
            }
        }
        (Some(valid), _) => selection.for_each(rows, |i| {
            out[n] = i as u16;
            n += (valid.get(i) && keep(i)) as usize;
        }),
    }
    out.truncate(n);
    Selection::Some(out)
}

/// The integer-like values at `selection`, NULLs left out; `None` if the column is not of that kind.
pub fn int_keys(column: &Vector, selection: &Selection, rows: usize, out: &mut Vec<i64>) -> bool {
    let (chunk, constant) = column.chunk();
    macro_rules! go {
        ($v:expr) => {
            selection.for_each(rows, |i| {
                let i = if constant { 0 } else { i };
                if chunk.is_valid(i) {
                    out.push($v[i] as i64);
                }
            })
        };
    }
    match &chunk.values {
        Values::I8(v) => go!(v),
        Values::U8(v) => go!(v),
        Values::I16(v) => go!(v),
        Values::U16(v) => go!(v),
        Values::I32(v) => go!(v),
        Values::U32(v) => go!(v),
        Values::I64(v) => go!(v),
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_matches_is_dropped() {
        for keys in
            [vec![], vec![5], (0..3000).map(|k| k * 7).collect(), (0..3000).map(|k: i64| k * 1_000_003).collect()]
        {
            let f = SidewaysFilter::new(std::slice::from_ref(&keys));
            let column: Vec<i64> = keys.iter().take(500).flat_map(|&k| [k, k + 1]).collect();
            let rows = column.len();
            let v = Vector::flat(Chunk::new(Values::I64(column.clone()), None));
            let kept = f.narrow(&v, Selection::All, rows).to_positions(rows);
            for (i, k) in column.iter().enumerate() {
                if keys.contains(k) {
                    assert!(kept.contains(&(i as u16)));
                }
            }
            assert!(kept.len() < rows.max(1), "some are dropped");
        }
    }

    #[test]
    fn zone_maps_change_nothing_but_the_way() {
        let mut rng = fastrand::Rng::with_seed(7);
        for round in 0..400 {
            let step = [1, 3, 50, 1_000_003][round % 4];
            let keys: Vec<i64> = (0..rng.i64(0..60)).map(|_| rng.i64(-200..200) * step).collect();
            let f = SidewaysFilter::new(std::slice::from_ref(&keys));
            let (from, n) = (rng.i64(-250..250), rng.i64(1..80));
            let rows = rng.usize(1..150);
            let values: Vec<i64> = (0..rows).map(|_| (from + rng.i64(0..n)) * step).collect();
            let validity = rng.bool().then(|| {
                let mut valid = vector::Bitmap::zeros(rows);
                (0..rows).for_each(|i| valid.set(i, rng.u8(..5) > 0));
                valid
            });
            let mut chunk = Chunk::new(Values::I64(values.clone()), validity);
            let selection = match rng.bool() {
                true => Selection::All,
                false => Selection::Some((0..rows as u16).filter(|_| rng.bool()).collect()),
            };
            let mut expected = selection.to_positions(rows);
            expected.retain(|&i| chunk.is_valid(i as usize) && keys.contains(&values[i as usize]));
            chunk.compute_bounds();
            let bounds = chunk.bounds;
            if !f.may_match(bounds) {
                assert_eq!(expected, []);
            }
            if let Some(w) = bounds.and_then(|b| f.within(b)).filter(|w| w.count <= FEW_KEYS) {
                let mut there: Vec<i64> = keys.clone();
                there.retain(|k| bounds.is_some_and(|b| b.min <= *k && *k <= b.max));
                there.sort_unstable();
                there.dedup();
                assert_eq!(w.keys[..w.count], there);
                let kept = f.narrow(&Vector::flat(chunk), selection, rows).to_positions(rows);
                assert!(expected.iter().all(|i| kept.contains(i)));
                assert!(kept.len() == expected.len() || kept.len() < 1 + rows / 8, "exact unless few are selected");
            }
        }
    }
}
