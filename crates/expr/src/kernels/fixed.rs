//! Loops over fixed-width slices: comparisons to bitmaps, arithmetic, minima and sums.
//!
//! No loop here allocates per row, branches on data or knows of NULL: values at NULL positions are computed over and
//! masked afterwards.

use super::dispatch::multi;
use crate::CmpOp;
use types::I256;

/// A value that orders as the SQL value it stands for.
pub trait Ordered: Copy + PartialOrd + PartialEq + Send + Sync {}
impl<T: Copy + PartialOrd + PartialEq + Send + Sync> Ordered for T {}

/// The lowest bit of each of 64 bytes, byte i to bit i.
#[inline(always)]
fn pack(bytes: &[u8; 64]) -> u64 {
    let mut bits = 0u64;
    for k in 0..8 {
        let mut b = [0u8; 8];
        b.copy_from_slice(&bytes[k * 8..k * 8 + 8]);
        // Each byte is 0 or 1; the multiplication gathers the eight low bits into the top byte.
        let w = u64::from_le_bytes(b).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        bits |= w << (k * 8);
    }
    bits
}

macro_rules! compare_loop {
    ($v:ident, $out:ident, |$x:ident, $i:ident| $test:expr) => {{
        let mut chunks = $v.chunks_exact(64);
        let mut w = 0;
        for chunk in &mut chunks {
            let mut bytes = [0u8; 64];
            for k in 0..64 {
                let $x = chunk[k];
                let $i = w * 64 + k;
                let _ = $i;
                bytes[k] = ($test) as u8;
            }
            $out[w] = pack(&bytes);
            w += 1;
        }
        let rest = chunks.remainder();
        if !rest.is_empty() {
            let mut bits = 0u64;
            for (k, &$x) in rest.iter().enumerate() {
                let $i = w * 64 + k;
                let _ = $i;
                bits |= (($test) as u64) << k;
            }
            $out[w] = bits;
        }
    }};
}

multi! {
    /// Bit i of `out` = `v[i] = c`. `out` has a word for every 64 values, as in all functions here.
    pub fn eq_const<T: Ordered>(v: &[T], c: T, out: &mut [u64]) { compare_loop!(v, out, |x, i| x == c) }
    pub fn lt_const<T: Ordered>(v: &[T], c: T, out: &mut [u64]) { compare_loop!(v, out, |x, i| x < c) }
    pub fn le_const<T: Ordered>(v: &[T], c: T, out: &mut [u64]) { compare_loop!(v, out, |x, i| x <= c) }
    pub fn gt_const<T: Ordered>(v: &[T], c: T, out: &mut [u64]) { compare_loop!(v, out, |x, i| x > c) }
    pub fn ge_const<T: Ordered>(v: &[T], c: T, out: &mut [u64]) { compare_loop!(v, out, |x, i| x >= c) }
    pub fn ne_const<T: Ordered>(v: &[T], c: T, out: &mut [u64]) { compare_loop!(v, out, |x, i| x != c) }
    /// `low <= v[i] <= high`
    pub fn between_const<T: Ordered>(v: &[T], low: T, high: T, out: &mut [u64]) {
        compare_loop!(v, out, |x, i| (x >= low) & (x <= high))
    }
}

macro_rules! compare_pairs {
    ($a:ident, $b:ident, $out:ident, $op:tt) => {{
        let n = $a.len().min($b.len());
        let (a, b) = (&$a[..n], &$b[..n]);
        let mut w = 0;
        while (w + 1) * 64 <= n {
            let (ca, cb) = (&a[w * 64..w * 64 + 64], &b[w * 64..w * 64 + 64]);
            let mut bytes = [0u8; 64];
            for k in 0..64 {
                bytes[k] = (ca[k] $op cb[k]) as u8;
            }
            $out[w] = pack(&bytes);
            w += 1;
        }
        if w * 64 < n {
            let mut bits = 0u64;
            for k in 0..n - w * 64 {
                bits |= ((a[w * 64 + k] $op b[w * 64 + k]) as u64) << k;
            }
            $out[w] = bits;
        }
    }};
}

multi! {
    pub fn eq_pairs<T: Ordered>(a: &[T], b: &[T], out: &mut [u64]) { compare_pairs!(a, b, out, ==) }
    pub fn ne_pairs<T: Ordered>(a: &[T], b: &[T], out: &mut [u64]) { compare_pairs!(a, b, out, !=) }
    pub fn lt_pairs<T: Ordered>(a: &[T], b: &[T], out: &mut [u64]) { compare_pairs!(a, b, out, <) }
    pub fn le_pairs<T: Ordered>(a: &[T], b: &[T], out: &mut [u64]) { compare_pairs!(a, b, out, <=) }
}

/// `v[i] op c` for every i; `<=>` counts as `=`.
pub fn compare_const<T: Ordered>(op: CmpOp, v: &[T], c: T, out: &mut [u64]) {
    match op {
        CmpOp::Eq | CmpOp::NullSafeEq => eq_const(v, c, out),
        CmpOp::Ne => ne_const(v, c, out),
        CmpOp::Lt => lt_const(v, c, out),
        CmpOp::Le => le_const(v, c, out),
        CmpOp::Gt => gt_const(v, c, out),
        CmpOp::Ge => ge_const(v, c, out),
    }
}

/// `a[i] op b[i]` for every i.
pub fn compare_pairs<T: Ordered>(op: CmpOp, a: &[T], b: &[T], out: &mut [u64]) {
    match op {
        CmpOp::Eq | CmpOp::NullSafeEq => eq_pairs(a, b, out),
        CmpOp::Ne => ne_pairs(a, b, out),
        CmpOp::Lt => lt_pairs(a, b, out),
        CmpOp::Le => le_pairs(a, b, out),
        CmpOp::Gt => lt_pairs(b, a, out),
        CmpOp::Ge => le_pairs(b, a, out),
    }
}

/// `x op y` for one pair.
#[inline(always)]
pub fn test<T: PartialOrd>(op: CmpOp, x: T, y: T) -> bool {
    match op {
        CmpOp::Eq | CmpOp::NullSafeEq => x == y,
        CmpOp::Ne => x != y,
        CmpOp::Lt => x < y,
        CmpOp::Le => x <= y,
        CmpOp::Gt => x > y,
        CmpOp::Ge => x >= y,
    }
}

/// The positions of `sel` at which `v[i] op c`, appended to `out`: for sparse selections.
pub fn select_const<T: Ordered>(op: CmpOp, v: &[T], c: T, sel: &[u16], out: &mut Vec<u16>) {
    #[inline(always)]
    fn run<T: Ordered>(v: &[T], sel: &[u16], out: &mut Vec<u16>, f: impl Fn(T) -> bool) {
        let start = out.len();
        out.resize(start + sel.len(), 0);
        let dst = &mut out[start..];
        let mut n = 0;
        for &i in sel {
            dst[n] = i;
            n += f(v[i as usize]) as usize;
        }
        out.truncate(start + n);
    }
    match op {
        CmpOp::Eq | CmpOp::NullSafeEq => run(v, sel, out, |x| x == c),
        CmpOp::Ne => run(v, sel, out, |x| x != c),
        CmpOp::Lt => run(v, sel, out, |x| x < c),
        CmpOp::Le => run(v, sel, out, |x| x <= c),
        CmpOp::Gt => run(v, sel, out, |x| x > c),
        CmpOp::Ge => run(v, sel, out, |x| x >= c),
    }
}

multi! {
    /// (min, max); (MAX, MIN) of an empty slice.
    pub fn min_max_i64(v: &[i64]) -> (i64, i64) {
        let mut lo = [i64::MAX; 8];
        let mut hi = [i64::MIN; 8];
        let mut chunks = v.chunks_exact(8);
        for c in &mut chunks {
            for k in 0..8 {
                lo[k] = if c[k] < lo[k] { c[k] } else { lo[k] };
                hi[k] = if c[k] > hi[k] { c[k] } else { hi[k] };
            }
        }
        let (mut a, mut b) = (i64::MAX, i64::MIN);
        for k in 0..8 {
            a = a.min(lo[k]);
            b = b.max(hi[k]);
        }
        for &x in chunks.remainder() {
            a = a.min(x);
            b = b.max(x);
        }
        (a, b)
    }

    /// Sum without overflow: each value is split so that the partial sums stay in 64 bits.
    pub fn sum_i64(v: &[i64]) -> i128 {
        let mut total = 0i128;
        // 2^20 values of 32 bits each fit 64 bits by far.
        for block in v.chunks(1 << 20) {
            let (mut low, mut high) = (0u64, 0i64);
            for &x in block {
                low = low.wrapping_add(x as u32 as u64);
                high = high.wrapping_add(x >> 32);
            }
            total += ((high as i128) << 32) + low as i128;
        }
        total
    }

    /// Sum that wraps; for slices whose bounds prove that it cannot.
    pub fn sum_i64_wrapping(v: &[i64]) -> i64 {
        v.iter().fold(0i64, |s, &x| s.wrapping_add(x))
    }

    pub fn sum_f64(v: &[f64]) -> f64 {
        v.iter().sum()
    }

    pub fn add_i64(a: &[i64], b: &[i64]) -> Vec<i64> { a.iter().zip(b).map(|(&x, &y)| x.wrapping_add(y)).collect() }
    pub fn sub_i64(a: &[i64], b: &[i64]) -> Vec<i64> { a.iter().zip(b).map(|(&x, &y)| x.wrapping_sub(y)).collect() }
    pub fn mul_i64(a: &[i64], b: &[i64]) -> Vec<i64> { a.iter().zip(b).map(|(&x, &y)| x.wrapping_mul(y)).collect() }
    pub fn add_i64_const(a: &[i64], c: i64) -> Vec<i64> { a.iter().map(|&x| x.wrapping_add(c)).collect() }
    /// `c - a[i]`
    pub fn const_sub_i64(c: i64, a: &[i64]) -> Vec<i64> { a.iter().map(|&x| c.wrapping_sub(x)).collect() }
    pub fn mul_i64_const(a: &[i64], c: i64) -> Vec<i64> { a.iter().map(|&x| x.wrapping_mul(c)).collect() }

    pub fn add_f64(a: &[f64], b: &[f64]) -> Vec<f64> { a.iter().zip(b).map(|(&x, &y)| x + y).collect() }
    pub fn sub_f64(a: &[f64], b: &[f64]) -> Vec<f64> { a.iter().zip(b).map(|(&x, &y)| x - y).collect() }
    pub fn mul_f64(a: &[f64], b: &[f64]) -> Vec<f64> { a.iter().zip(b).map(|(&x, &y)| x * y).collect() }
    pub fn add_f64_const(a: &[f64], c: f64) -> Vec<f64> { a.iter().map(|&x| x + c).collect() }
    pub fn const_sub_f64(c: f64, a: &[f64]) -> Vec<f64> { a.iter().map(|&x| c - x).collect() }
    pub fn mul_f64_const(a: &[f64], c: f64) -> Vec<f64> { a.iter().map(|&x| x * c).collect() }
    /// Whether every value is finite.
    pub fn all_finite(v: &[f64]) -> bool {
        v.iter().fold(true, |ok, x| ok & x.is_finite())
    }

    /// Full products of 64-bit numbers.
    pub fn mul_i64_wide(a: &[i64], b: &[i64]) -> Vec<i128> {
        a.iter().zip(b).map(|(&x, &y)| x as i128 * y as i128).collect()
    }

    pub fn is_ascii(bytes: &[u8]) -> bool {
        bytes.iter().fold(0u8, |m, &b| m | b) < 0x80
    }
}

/// 128-bit arithmetic whose bounds prove that it cannot overflow.
pub fn zip_i128(a: &[i128], b: &[i128], f: impl Fn(i128, i128) -> i128) -> Vec<i128> {
    match (a.len(), b.len()) {
        (1, n) if n != 1 => b.iter().map(|&y| f(a[0], y)).collect(),
        (n, 1) if n != 1 => a.iter().map(|&x| f(x, b[0])).collect(),
        _ => a.iter().zip(b).map(|(&x, &y)| f(x, y)).collect(),
    }
}

/// Sums of 128-bit values in 256 bits.
pub fn sum_i128(v: &[i128]) -> I256 {
    let mut total = I256::default();
    for block in v.chunks(1 << 20) {
        let (mut low, mut high) = (0u128, 0i128);
        for &x in block {
            low += x as u64 as u128;
            high += x >> 64;
        }
        let h = I256 { lo: (high as u128) << 64, hi: high >> 64 };
        total = total.wrapping_add(h).wrapping_add(I256 { lo: low, hi: 0 });
    }
    total
}
