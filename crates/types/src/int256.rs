//! 256-bit signed integers: the unscaled form of DECIMALs with more than 38 digits.
//!
//! 65 decimal digits need 216 bits, so that sums of many such values still fit. Products and scaled dividends that do
//! not are computed in 512 bits (`mul_div_round`). Most values fit 128 bits even here: every operation tries that
//! first.
//!
//! Division is Knuth's algorithm D (The Art of Computer Programming, vol. 2, section 4.3.1) on 64-bit limbs.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Neg;

/// Two's complement, little-endian halves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct I256 {
    pub lo: u128,
    pub hi: i128,
}

/// Powers of ten that fit: 10^0 ..= 10^76.
pub const POW10_COUNT: usize = 77;

static POW10: [I256; POW10_COUNT] = {
    let mut t = [I256 { lo: 1, hi: 0 }; POW10_COUNT];
    let mut i = 1;
    while i < POW10_COUNT {
        t[i] = mul_small(t[i - 1], 10);
        i += 1;
    }
    t
};

/// 10^0 ..= 10^38.
pub const POW10_I128: [i128; 39] = {
    let mut t = [1i128; 39];
    let mut i = 1;
    while i < 39 {
        t[i] = t[i - 1] * 10;
        i += 1;
    }
    t
};

/// 10^0 ..= 10^18.
pub const POW10_I64: [i64; 19] = {
    let mut t = [1i64; 19];
    let mut i = 1;
    while i < 19 {
        t[i] = t[i - 1] * 10;
        i += 1;
    }
    t
};

const fn mul_small(v: I256, by: u64) -> I256 {
    let low = (v.lo as u64 as u128) * by as u128;
    let mid = (v.lo >> 64) * by as u128 + (low >> 64);
    I256 {
        lo: (mid << 64) | (low as u64 as u128),
        hi: (v.hi as u128).wrapping_mul(by as u128).wrapping_add(mid >> 64) as i128,
    }
}

impl From<i128> for I256 {
    #[inline]
    fn from(v: i128) -> I256 {
        I256 { lo: v as u128, hi: v >> 127 }
    }
}

impl From<i64> for I256 {
    #[inline]
    fn from(v: i64) -> I256 {
        I256::from(v as i128)
    }
}

impl From<u64> for I256 {
    #[inline]
    fn from(v: u64) -> I256 {
        I256 { lo: v as u128, hi: 0 }
    }
}

impl From<u128> for I256 {
    #[inline]
    fn from(v: u128) -> I256 {
        I256 { lo: v, hi: 0 }
    }
}

impl PartialOrd for I256 {
    #[inline]
    fn partial_cmp(&self, other: &I256) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for I256 {
    #[inline]
    fn cmp(&self, other: &I256) -> Ordering {
        self.hi.cmp(&other.hi).then(self.lo.cmp(&other.lo))
    }
}

impl Neg for I256 {
    type Output = I256;

    /// Wraps for `MIN`.
    #[inline]
    fn neg(self) -> I256 {
        I256::ZERO.wrapping_sub(self)
    }
}

impl I256 {
    pub const ZERO: I256 = I256 { lo: 0, hi: 0 };
    pub const ONE: I256 = I256 { lo: 1, hi: 0 };
    pub const MAX: I256 = I256 { lo: u128::MAX, hi: i128::MAX };
    pub const MIN: I256 = I256 { lo: 0, hi: i128::MIN };

    /// 10^n, n <= 76.
    #[inline]
    pub fn pow10(n: usize) -> I256 {
        POW10[n]
    }

    #[inline]
    pub const fn is_negative(self) -> bool {
        self.hi < 0
    }

    #[inline]
    pub const fn is_zero(self) -> bool {
        self.lo == 0 && self.hi == 0
    }

    /// The value if 128 bits hold it.
    #[inline]
    pub const fn to_i128(self) -> Option<i128> {
        let low = self.lo as i128;
        if self.hi == low >> 127 { Some(low) } else { None }
    }

    #[inline]
    pub fn to_i64(self) -> Option<i64> {
        self.to_i128().and_then(|v| i64::try_from(v).ok())
    }

    #[inline]
    pub fn to_u64(self) -> Option<u64> {
        if self.hi == 0 { u64::try_from(self.lo).ok() } else { None }
    }

    #[inline]
    pub const fn wrapping_add(self, other: I256) -> I256 {
        let (lo, carry) = self.lo.overflowing_add(other.lo);
        I256 { lo, hi: self.hi.wrapping_add(other.hi).wrapping_add(carry as i128) }
    }

    #[inline]
    pub const fn wrapping_sub(self, other: I256) -> I256 {
        let (lo, borrow) = self.lo.overflowing_sub(other.lo);
        I256 { lo, hi: self.hi.wrapping_sub(other.hi).wrapping_sub(borrow as i128) }
    }

    #[inline]
    pub const fn checked_add(self, other: I256) -> Option<I256> {
        let r = self.wrapping_add(other);
        // Overflow: both operands have one sign and the result the other.
        if (self.hi ^ r.hi) & (other.hi ^ r.hi) < 0 { None } else { Some(r) }
    }

    #[inline]
    pub const fn checked_sub(self, other: I256) -> Option<I256> {
        let r = self.wrapping_sub(other);
        if (self.hi ^ other.hi) & (self.hi ^ r.hi) < 0 { None } else { Some(r) }
    }

    #[inline]
    pub fn checked_mul(self, other: I256) -> Option<I256> {
        if let (Some(a), Some(b)) = (self.to_i128(), other.to_i128())
            && let Some(p) = a.checked_mul(b)
        {
            return Some(I256::from(p));
        }
        let product = mul_full(self.magnitude(), other.magnitude());
        if product[4..].iter().any(|&l| l != 0) {
            return None;
        }
        I256::from_magnitude(
            [product[0], product[1], product[2], product[3]],
            self.is_negative() != other.is_negative(),
        )
    }

    /// Quotient (truncated toward zero) and remainder (with the dividend's sign); None for a zero divisor.
    #[inline]
    pub fn checked_div_rem(self, other: I256) -> Option<(I256, I256)> {
        if other.is_zero() {
            return None;
        }
        if let (Some(a), Some(b)) = (self.to_i128(), other.to_i128())
            && let Some(q) = a.checked_div(b)
        {
            return Some((I256::from(q), I256::from(a % b)));
        }
        let (mut quotient, mut remainder) = ([0; 8], [0; 4]);
        let m = self.magnitude();
        div_limbs(&[m[0], m[1], m[2], m[3], 0, 0, 0, 0], &other.magnitude(), &mut quotient, &mut remainder);
        let q = [quotient[0], quotient[1], quotient[2], quotient[3]];
        Some((
            I256::from_magnitude(q, self.is_negative() != other.is_negative())?,
            I256::from_magnitude(remainder, self.is_negative())?,
        ))
    }

    /// `self / divisor` and the remainder's magnitude, for printing digits in groups.
    #[inline]
    pub fn div_rem_u64(self, divisor: u64) -> (I256, u64) {
        let mut limbs = self.magnitude();
        let r = div_small(&mut limbs, divisor);
        (I256::from_magnitude(limbs, self.is_negative()).expect("a quotient is no larger than its dividend"), r)
    }

    /// `self * factor / divisor`, rounded half away from zero, the product taken in 512 bits. None for a zero divisor
    /// or a result that does not fit.
    pub fn mul_div_round(self, factor: I256, divisor: I256) -> Option<I256> {
        self.mul_div(factor, divisor, true)
    }

    /// `self * factor / divisor`, truncated toward zero.
    pub fn mul_div_trunc(self, factor: I256, divisor: I256) -> Option<I256> {
        self.mul_div(factor, divisor, false)
    }

    fn mul_div(self, factor: I256, divisor: I256, round: bool) -> Option<I256> {
        if divisor.is_zero() {
            return None;
        }
        if let (Some(a), Some(b), Some(d)) = (self.to_i128(), factor.to_i128(), divisor.to_i128())
            && let Some(product) = a.checked_mul(b)
            && let Some(q) = div_i128(product, d)
        {
            let rest = product.wrapping_sub(q.wrapping_mul(d)).unsigned_abs();
            let away = round && rest >= d.unsigned_abs().div_ceil(2);
            let one = if (product < 0) != (d < 0) { -1 } else { 1 };
            return Some(I256::from(q).wrapping_add(I256::from(if away { one } else { 0i128 })));
        }
        let negative = self.is_negative() ^ factor.is_negative() ^ divisor.is_negative();
        let d = divisor.magnitude();
        let (mut quotient, mut remainder) = ([0; 8], [0; 4]);
        div_limbs(&mul_full(self.magnitude(), factor.magnitude()), &d, &mut quotient, &mut remainder);
        if round && cmp_double(&remainder, &d) != Ordering::Less {
            for limb in &mut quotient {
                let (v, carry) = limb.overflowing_add(1);
                *limb = v;
                if !carry {
                    break;
                }
            }
        }
        if quotient[4..].iter().any(|&l| l != 0) {
            return None;
        }
        I256::from_magnitude([quotient[0], quotient[1], quotient[2], quotient[3]], negative)
    }

    /// `self / divisor` rounded half away from zero; None for a zero divisor.
    #[inline]
    pub fn div_round(self, divisor: I256) -> Option<I256> {
        let (q, r) = self.checked_div_rem(divisor)?;
        if cmp_double(&r.magnitude(), &divisor.magnitude()) == Ordering::Less {
            return Some(q);
        }
        let one = if self.is_negative() != divisor.is_negative() { -I256::ONE } else { I256::ONE };
        Some(q.wrapping_add(one))
    }

    /// The absolute value; wraps for `MIN`.
    #[inline]
    pub fn abs(self) -> I256 {
        if self.is_negative() { -self } else { self }
    }

    /// Decimal digits of the magnitude; 1 for zero.
    pub fn digits(self) -> u32 {
        if let Some(v) = self.to_i128() {
            return v.unsigned_abs().checked_ilog10().map_or(1, |l| l + 1);
        }
        let m = self.abs();
        POW10.partition_point(|p| *p <= m) as u32
    }

    /// Nearest double (within one unit in the last place).
    pub fn to_f64(self) -> f64 {
        match self.to_i128() {
            Some(v) => v as f64,
            None => {
                let m = self.abs();
                let v = m.hi as f64 * 2f64.powi(128) + m.lo as f64;
                if self.is_negative() { -v } else { v }
            }
        }
    }

    /// Little-endian limbs of the absolute value.
    #[inline]
    fn magnitude(self) -> [u64; 4] {
        let m = self.abs();
        [m.lo as u64, (m.lo >> 64) as u64, m.hi as u64, ((m.hi as u128) >> 64) as u64]
    }

    fn from_magnitude(limbs: [u64; 4], negative: bool) -> Option<I256> {
        let v = I256 {
            lo: limbs[0] as u128 | (limbs[1] as u128) << 64,
            hi: (limbs[2] as u128 | (limbs[3] as u128) << 64) as i128,
        };
        if v.hi < 0 {
            return (negative && v == I256::MIN).then_some(v);
        }
        Some(if negative { -v } else { v })
    }
}

/// Quotient cut toward zero; 64-bit division where both fit, for it is several times faster.
#[inline]
fn div_i128(a: i128, b: i128) -> Option<i128> {
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(x), Ok(y)) => x.checked_div(y).map(i128::from),
        _ => a.checked_div(b),
    }
}

/// Compares 2 * `remainder` with `divisor`.
fn cmp_double(remainder: &[u64; 4], divisor: &[u64; 4]) -> Ordering {
    if remainder[3] >> 63 != 0 {
        return Ordering::Greater;
    }
    for i in (0..4).rev() {
        let low = if i == 0 { 0 } else { remainder[i - 1] >> 63 };
        let doubled = remainder[i] << 1 | low;
        match doubled.cmp(&divisor[i]) {
            Ordering::Equal => {}
            other => return other,
        }
    }
    Ordering::Equal
}

fn mul_full(a: [u64; 4], b: [u64; 4]) -> [u64; 8] {
    let mut out = [0u64; 8];
    for (i, &x) in a.iter().enumerate() {
        if x == 0 {
            continue;
        }
        let mut carry = 0u128;
        for (j, &y) in b.iter().enumerate() {
            let t = x as u128 * y as u128 + out[i + j] as u128 + carry;
            out[i + j] = t as u64;
            carry = t >> 64;
        }
        out[i + 4] = carry as u64;
    }
    out
}

/// Divides `limbs` in place and returns the remainder.
fn div_small(limbs: &mut [u64], divisor: u64) -> u64 {
    let mut r = 0u128;
    for limb in limbs.iter_mut().rev() {
        let t = r << 64 | *limb as u128;
        *limb = (t / divisor as u128) as u64;
        r = t % divisor as u128;
    }
    r as u64
}

/// Knuth's algorithm D. `divisor` is not zero.
fn div_limbs(dividend: &[u64; 8], divisor: &[u64; 4], quotient: &mut [u64; 8], remainder: &mut [u64; 4]) {
    let n = 4 - divisor.iter().rev().take_while(|&&l| l == 0).count();
    if n == 1 {
        *quotient = *dividend;
        remainder[0] = div_small(quotient, divisor[0]);
        return;
    }
    // Normalize: shift so that the divisor's top bit is set.
    let shift = divisor[n - 1].leading_zeros();
    let mut v = [0u64; 4];
    let mut u = [0u64; 9];
    for i in 0..n {
        let low = if shift == 0 || i == 0 { 0 } else { divisor[i - 1] >> (64 - shift) };
        v[i] = divisor[i] << shift | low;
    }
    for i in 0..8 {
        let low = if shift == 0 || i == 0 { 0 } else { dividend[i - 1] >> (64 - shift) };
        u[i] = dividend[i] << shift | low;
    }
    u[8] = if shift == 0 { 0 } else { dividend[7] >> (64 - shift) };
    for j in (0..=8 - n).rev() {
        let top = (u[j + n] as u128) << 64 | u[j + n - 1] as u128;
        let (mut q, mut r) = (top / v[n - 1] as u128, top % v[n - 1] as u128);
        while q >> 64 != 0 || q * v[n - 2] as u128 > (r << 64 | u[j + n - 2] as u128) {
            q -= 1;
            r += v[n - 1] as u128;
            if r >> 64 != 0 {
                break;
            }
        }
        let (mut borrow, mut carry) = (0i128, 0u128);
        for i in 0..n {
            let p = q * v[i] as u128 + carry;
            carry = p >> 64;
            let t = u[i + j] as i128 - borrow - (p as u64) as i128;
            u[i + j] = t as u64;
            borrow = -(t >> 64);
        }
        let t = u[j + n] as i128 - borrow - carry as i128;
        u[j + n] = t as u64;
        if t < 0 {
            q -= 1;
            let mut c = 0u128;
            for i in 0..n {
                let s = u[i + j] as u128 + v[i] as u128 + c;
                u[i + j] = s as u64;
                c = s >> 64;
            }
            u[j + n] = u[j + n].wrapping_add(c as u64);
        }
        quotient[j] = q as u64;
    }
    for i in 0..n {
        let high = if shift == 0 { 0 } else { u[i + 1] << (64 - shift) };
        remainder[i] = u[i] >> shift | high;
    }
}

impl fmt::Display for I256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(v) = self.to_i128() {
            return fmt::Display::fmt(&v, f);
        }
        let mut limbs = self.magnitude();
        let mut groups = [0u64; 5];
        let mut n = 0;
        while limbs.iter().any(|&l| l != 0) {
            groups[n] = div_small(&mut limbs, 10_000_000_000_000_000_000);
            n += 1;
        }
        let mut s = groups[n - 1].to_string();
        for g in groups[..n - 1].iter().rev() {
            s.push_str(&format!("{g:019}"));
        }
        f.pad_integral(!self.is_negative(), "", &s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bigdecimal::num_bigint::BigInt;
    use proptest::prelude::*;

    fn big(v: I256) -> BigInt {
        (BigInt::from(v.hi) << 128u32) + BigInt::from(v.lo)
    }

    fn any_i256() -> impl Strategy<Value = I256> {
        (any::<u128>(), any::<i128>(), 0u32..256).prop_map(|(lo, hi, bits)| {
            // Every width equally likely.
            let v = I256 { lo, hi };
            if bits < 128 { I256 { lo: lo >> bits, hi: 0 } } else { I256 { lo: v.lo, hi: v.hi >> (bits - 128) } }
        })
    }

    proptest! {
        #[test]
        fn arithmetic_agrees_with_big_integers(a in any_i256(), b in any_i256(), c in any_i256()) {
            let fits = |x: &BigInt| *x >= big(I256::MIN) && *x <= big(I256::MAX);
            let check = |got: Option<I256>, want: BigInt| match got {
                Some(g) => big(g) == want,
                None => !fits(&want),
            };
            prop_assert!(check(a.checked_add(b), big(a) + big(b)));
            prop_assert!(check(a.checked_sub(b), big(a) - big(b)));
            prop_assert!(check(a.checked_mul(b), big(a) * big(b)));
            if !b.is_zero() {
                let (q, r) = a.checked_div_rem(b).expect("not zero");
                prop_assert_eq!(big(q), big(a) / big(b));
                prop_assert_eq!(big(r), big(a) % big(b));
                prop_assert!(check(a.mul_div_trunc(c, b), big(a) * big(c) / big(b)));
            }
            prop_assert_eq!(a.cmp(&b), big(a).cmp(&big(b)));
            prop_assert_eq!(a.to_string(), big(a).to_string());
            prop_assert_eq!(a.digits() as usize, big(a).magnitude().to_string().len());
        }
    }

    #[test]
    fn rounds_half_away_from_zero() {
        let i = |v: i64| I256::from(v);
        for (a, b, want) in [(5, 2, 3), (-5, 2, -3), (5, -2, -3), (4, 3, 1), (5, 3, 2), (-5, 3, -2), (1, 3, 0)] {
            assert_eq!(i(a).div_round(i(b)), Some(i(want)), "{a}/{b}");
            assert_eq!(i(a).mul_div_round(I256::ONE, i(b)), Some(i(want)), "{a}/{b}");
        }
        assert_eq!(I256::pow10(76).digits(), 77);
        assert_eq!(I256::pow10(76).to_string(), format!("1{}", "0".repeat(76)));
    }
}
