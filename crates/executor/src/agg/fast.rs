//! Sums over one batch, the loops that Q1 and Q6 live on.
//!
//! With few groups, each add waits for the one before it to the same group (store to load, about five cycles). Four
//! sets of 64-bit partial sums, taken in turn, break the chain; they are folded into the 128-bit sums once a batch. A
//! batch qualifies if no partial sum can overflow: |value| * 1024 < 2^63.

use vector::{BATCH_ROWS_MAX, Bounds, Selection};

/// Groups that get partial sums.
pub const FEW_GROUPS_MAX: usize = 64;

/// Whether a batch's sum of values within `bounds` fits 64 bits.
pub fn fits_i64(bounds: Option<Bounds>) -> bool {
    const LIMIT: i64 = i64::MAX / BATCH_ROWS_MAX as i64;
    bounds.is_some_and(|b| b.min > -LIMIT && b.max < LIMIT)
}

/// Sum of the selected values, without NULLs.
pub fn sum_one<T: Copy + Into<i64>>(v: &[T], selection: &Selection) -> i64 {
    match selection {
        Selection::All => v.iter().map(|&x| x.into()).sum(),
        Selection::Some(s) => s.iter().map(|&i| v[i as usize].into()).sum(),
    }
}

pub fn sum_one_wide<T: Copy + Into<i128>>(v: &[T], selection: &Selection) -> i128 {
    match selection {
        Selection::All => v.iter().map(|&x| x.into()).sum(),
        Selection::Some(s) => s.iter().map(|&i| v[i as usize].into()).sum(),
    }
}

/// Adds each selected value to its group's sum.
pub fn sum_few<T: Copy + Into<i64>>(v: &[T], selection: &Selection, groups: &[u32], sums: &mut [i128]) {
    let mut partial = [[0i64; FEW_GROUPS_MAX]; 4];
    // Masking lets the compiler drop the bounds checks; callers have checked that the groups are few.
    const MASK: usize = FEW_GROUPS_MAX - 1;
    match selection {
        Selection::All => {
            let mut v4 = v.chunks_exact(4);
            let mut g4 = groups.chunks_exact(4);
            for (v, g) in (&mut v4).zip(&mut g4) {
                partial[0][g[0] as usize & MASK] += v[0].into();
                partial[1][g[1] as usize & MASK] += v[1].into();
                partial[2][g[2] as usize & MASK] += v[2].into();
                partial[3][g[3] as usize & MASK] += v[3].into();
            }
            for (&x, &g) in v4.remainder().iter().zip(g4.remainder()) {
                partial[0][g as usize & MASK] += x.into();
            }
        }
        Selection::Some(s) => {
            let mut s4 = s.chunks_exact(4);
            let mut g4 = groups.chunks_exact(4);
            for (s, g) in (&mut s4).zip(&mut g4) {
                partial[0][g[0] as usize & MASK] += v[s[0] as usize].into();
                partial[1][g[1] as usize & MASK] += v[s[1] as usize].into();
                partial[2][g[2] as usize & MASK] += v[s[2] as usize].into();
                partial[3][g[3] as usize & MASK] += v[s[3] as usize].into();
            }
            for (&i, &g) in s4.remainder().iter().zip(g4.remainder()) {
                partial[0][g as usize & MASK] += v[i as usize].into();
            }
        }
    }
    for (g, sum) in sums.iter_mut().enumerate() {
        *sum += partial[0][g] as i128 + partial[1][g] as i128 + partial[2][g] as i128 + partial[3][g] as i128;
    }
}

/// Counts each group's rows.
pub fn count_few(groups: &[u32], counts: &mut [i64]) {
    const MASK: usize = FEW_GROUPS_MAX - 1;
    let mut partial = [[0u32; FEW_GROUPS_MAX]; 4];
    let mut g4 = groups.chunks_exact(4);
    for g in &mut g4 {
        partial[0][g[0] as usize & MASK] += 1;
        partial[1][g[1] as usize & MASK] += 1;
        partial[2][g[2] as usize & MASK] += 1;
        partial[3][g[3] as usize & MASK] += 1;
    }
    for &g in g4.remainder() {
        partial[0][g as usize & MASK] += 1;
    }
    for (g, n) in counts.iter_mut().enumerate() {
        *n += (partial[0][g] + partial[1][g] + partial[2][g] + partial[3][g]) as i64;
    }
}
