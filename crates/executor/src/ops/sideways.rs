//! Sideways filters: what a hash join's build side teaches the scans of its probe side.
//!
//! A row whose key lies outside the build keys' range, or is not among them, cannot match; the scan drops it before
//! anything else is done with it, and whole leaves by their zone maps.
//!
//! ```text
//!   build keys ──▶ min..max   and   dense keys:  an exact bitmap over min..max
//!                                   others:      a bloom filter, one 64-bit word a key (Lang et al., VLDB 2019)
//! ```
//! A filter that lets more than three quarters pass is switched off: it costs more than it saves.

use crate::keys::hash_u64;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use vector::{Bounds, Chunk, Selection, Values, Vector};

#[derive(Debug)]
enum Members {
    /// Bit `key - min`.
    Bitmap(Vec<u64>),
    Bloom {
        words: Vec<u64>,
        shift: u32,
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
            Members::Bloom { words, shift: 64 - bits }
        };
        let zero = AtomicU64::new(0);
        SidewaysFilter { min, max, members, rows_in: zero, rows_out: AtomicU64::new(0), off: AtomicBool::new(false) }
    }

    /// False if no row of a leaf with these bounds can match.
    pub fn may_match(&self, bounds: Option<Bounds>) -> bool {
        if matches!(self.members, Members::None) {
            return false;
        }
        bounds.is_none_or(|b| b.max >= self.min && b.min <= self.max)
    }

    /// Narrows `selection` to the rows that may match; NULLs never do.
    pub fn narrow(&self, column: &Vector, selection: Selection, rows: usize) -> Selection {
        if self.off.load(Ordering::Relaxed) {
            return selection;
        }
        let Vector::Flat(chunk) = column else { return selection };
        let before = selection.count(rows) as u64;
        let narrowed = match &self.members {
            Members::None => Selection::Some(Vec::new()),
            Members::Bitmap(words) => {
                let (min, max) = (self.min, self.max);
                self.pick(chunk, &selection, rows, |k| {
                    let inside = k >= min && k <= max;
                    let bit = if inside { k.wrapping_sub(min) as u64 } else { 0 };
                    inside & (words[(bit >> 6) as usize] >> (bit & 63) & 1 != 0)
                })
            }
            Members::Bloom { words, shift } => {
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
}
