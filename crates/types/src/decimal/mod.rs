//! Exact decimals: a scaled 256-bit integer, with MySQL's rules of scale and rounding.
//!
//! A DECIMAL(p, s) value is `unscaled` / 10^s. Terms: *precision* p counts all digits (1..=65), *scale* s the digits
//! after the point (0..=30). Rounding is half away from zero everywhere ("12.12 Precision Math" in MySQL's manual).
//!
//! - [`rules`]: precision and scale of results (`+ - * / MOD SUM AVG`).
//! - [`rescale`]: rounding of plain scaled i64, i128 and I256, for kernels.
//! - [`text`]: MySQL's tolerant reading of numbers, and printing.
//!
//! Kernels hold narrow DECIMALs as scaled i64 or i128 ([`crate::SqlType::phys`]); `Decimal` is the value form and the
//! exact path above 38 digits.

pub mod rescale;
pub mod rules;
pub mod text;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use crate::I256;
pub use text::{ParsedDecimal, parse_decimal, write_scaled};

/// Most digits of a DECIMAL.
pub const MAX_PRECISION: u8 = 65;
/// Most digits after the point.
pub const MAX_SCALE: u8 = 30;

/// `unscaled` / 10^`scale`; at most 65 digits, scale 0..=30.
///
/// `==` compares the representation (`1.0` differs from `1.00`); [`Decimal::cmp_value`] compares numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decimal {
    pub unscaled: I256,
    pub scale: u8,
}

impl Decimal {
    pub const ZERO: Decimal = Decimal { unscaled: I256::ZERO, scale: 0 };

    #[inline]
    pub const fn new(unscaled: I256, scale: u8) -> Decimal {
        Decimal { unscaled, scale }
    }

    #[inline]
    pub fn from_i128(unscaled: i128, scale: u8) -> Decimal {
        Decimal { unscaled: I256::from(unscaled), scale }
    }

    #[inline]
    pub fn from_i64(v: i64) -> Decimal {
        Decimal::from_i128(v as i128, 0)
    }

    #[inline]
    pub fn from_u64(v: u64) -> Decimal {
        Decimal::from_i128(v as i128, 0)
    }

    /// The shortest decimal that reads back as `v`, rounded to 30 digits after the point. None for NaN, infinities and
    /// what has more than 65 digits.
    pub fn from_f64(v: f64) -> Option<Decimal> {
        if !v.is_finite() {
            return None;
        }
        let mut buffer = zmij::Buffer::new();
        let parsed = parse_decimal(buffer.format_finite(v).as_bytes());
        (!parsed.overflow).then_some(parsed.value)
    }

    /// The unscaled integer, if 128 bits hold it.
    #[inline]
    pub fn to_i128(self) -> Option<i128> {
        self.unscaled.to_i128()
    }

    #[inline]
    pub fn is_zero(self) -> bool {
        self.unscaled.is_zero()
    }

    #[inline]
    pub fn is_negative(self) -> bool {
        self.unscaled.is_negative()
    }

    /// Digits the value needs: those before the point (at least none) plus `scale`, at least 1.
    pub fn precision(self) -> u8 {
        (self.unscaled.digits() as u8).max(self.scale).max(1)
    }

    /// Digits before the point.
    pub fn integer_digits(self) -> u8 {
        if self.is_zero() { 0 } else { (self.unscaled.digits() as u8).saturating_sub(self.scale) }
    }

    /// Whether the value fits 65 digits: arithmetic that leaves this range is MySQL's error 1690.
    #[inline]
    pub fn in_range(self) -> bool {
        match self.to_i128() {
            Some(_) => true,
            None => self.unscaled.abs() < I256::pow10(MAX_PRECISION as usize),
        }
    }

    fn checked(self) -> Option<Decimal> {
        self.in_range().then_some(self)
    }

    /// The same number with `scale` digits after the point, rounded half away from zero. None above 65 digits.
    #[inline]
    pub fn rescale(self, scale: u8) -> Option<Decimal> {
        rescale::rescale_i256(self.unscaled, self.scale, scale).and_then(|u| Decimal::new(u, scale).checked())
    }

    /// Like [`Decimal::rescale`], cutting digits instead of rounding.
    pub fn truncate(self, scale: u8) -> Option<Decimal> {
        if scale >= self.scale {
            return self.rescale(scale);
        }
        let (q, _) = self.unscaled.checked_div_rem(I256::pow10((self.scale - scale) as usize))?;
        Some(Decimal::new(q, scale))
    }

    /// ROUND(x, places): rounds at `places` digits after the point, or before it when negative. The scale is
    /// `max(0, min(places, 30))`.
    pub fn round_at(self, places: i32) -> Option<Decimal> {
        self.at(places, Decimal::rescale, |u, p| u.div_round(p))
    }

    /// TRUNCATE(x, places).
    pub fn truncate_at(self, places: i32) -> Option<Decimal> {
        self.at(places, Decimal::truncate, |u, p| u.checked_div_rem(p).map(|(q, _)| q))
    }

    fn at(
        self,
        places: i32,
        to_scale: fn(Decimal, u8) -> Option<Decimal>,
        divide: fn(I256, I256) -> Option<I256>,
    ) -> Option<Decimal> {
        if places >= 0 {
            return to_scale(self, places.min(MAX_SCALE as i32) as u8);
        }
        let drop = self.scale as i64 - places as i64;
        if drop > 76 {
            return Some(Decimal::ZERO);
        }
        let kept = divide(self.unscaled, I256::pow10(drop as usize))?;
        // A kept digit implies that the power is within 65 digits.
        if kept.is_zero() {
            return Some(Decimal::ZERO);
        }
        Decimal::new(kept.checked_mul(I256::pow10(-places as usize))?, 0).checked()
    }

    /// Rounds to `scale` and clamps to what DECIMAL(precision, scale) holds; the flag says that it clamped.
    pub fn fit(self, precision: u8, scale: u8) -> (Decimal, bool) {
        let max = I256::pow10(precision as usize).wrapping_sub(I256::ONE);
        let bound = if self.is_negative() { -max } else { max };
        match self.rescale(scale) {
            Some(d) if d.unscaled.abs() <= max => (d, false),
            _ => (Decimal::new(bound, scale), true),
        }
    }

    pub fn floor(self) -> Decimal {
        let (q, r) = self.div_rem_scale();
        Decimal::new(if r.is_negative() { q.wrapping_sub(I256::ONE) } else { q }, 0)
    }

    pub fn ceil(self) -> Decimal {
        let (q, r) = self.div_rem_scale();
        Decimal::new(if r.is_zero() || r.is_negative() { q } else { q.wrapping_add(I256::ONE) }, 0)
    }

    fn div_rem_scale(self) -> (I256, I256) {
        self.unscaled.checked_div_rem(I256::pow10(self.scale as usize)).expect("a power of ten is not zero")
    }

    /// Compares the numbers, whatever their scales.
    pub fn cmp_value(&self, other: &Decimal) -> Ordering {
        if self.scale == other.scale {
            return self.unscaled.cmp(&other.unscaled);
        }
        if let (Some(a), Some(b)) = (self.to_i128(), other.to_i128()) {
            let common = self.scale.max(other.scale);
            let (x, y) = (rescale::rescale_i128(a, self.scale, common), rescale::rescale_i128(b, other.scale, common));
            if let (Some(x), Some(y)) = (x, y) {
                return x.cmp(&y);
            }
        }
        let (a, b) = (self.div_rem_scale(), other.div_rem_scale());
        a.0.cmp(&b.0).then_with(|| {
            // Fractions below 10^30 each: scaling them up to 10^30 always fits.
            let up = |r: I256, scale: u8| {
                r.checked_mul(I256::pow10((MAX_SCALE - scale.min(MAX_SCALE)) as usize)).expect("fits 60 digits")
            };
            up(a.1, self.scale).cmp(&up(b.1, other.scale))
        })
    }

    #[inline]
    pub fn eq_value(&self, other: &Decimal) -> bool {
        self.cmp_value(other) == Ordering::Equal
    }

    /// Hashes the number, not the representation: `1.0` and `1.00` feed the same bytes.
    pub fn hash_value<H: Hasher>(&self, state: &mut H) {
        let d = self.normalized();
        d.unscaled.hash(state);
        d.scale.hash(state);
    }

    /// The same number without trailing zeros after the point.
    pub fn normalized(self) -> Decimal {
        let mut d = self;
        while d.scale > 0 {
            let (q, r) = d.unscaled.div_rem_u64(10);
            if r != 0 {
                break;
            }
            d = Decimal::new(q, d.scale - 1);
        }
        d
    }

    /// Sum, at the larger scale. None above 65 digits.
    pub fn add(&self, other: &Decimal) -> Option<Decimal> {
        let scale = self.scale.max(other.scale);
        let (a, b) = (self.rescale_wide(scale)?, other.rescale_wide(scale)?);
        Decimal::new(a.checked_add(b)?, scale).checked()
    }

    /// Difference, at the larger scale. None above 65 digits.
    pub fn sub(&self, other: &Decimal) -> Option<Decimal> {
        self.add(&other.negated())
    }

    fn rescale_wide(&self, scale: u8) -> Option<I256> {
        rescale::rescale_i256(self.unscaled, self.scale, scale)
    }

    /// Product, at the sum of the scales, rounded to 30. None above 65 digits.
    pub fn mul(&self, other: &Decimal) -> Option<Decimal> {
        let scale = self.scale + other.scale;
        if scale <= MAX_SCALE {
            return Decimal::new(self.unscaled.checked_mul(other.unscaled)?, scale).checked();
        }
        let cut = I256::pow10((scale - MAX_SCALE) as usize);
        Decimal::new(self.unscaled.mul_div_round(other.unscaled, cut)?, MAX_SCALE).checked()
    }

    /// Quotient, rounded to `scale` digits after the point. None for a zero divisor and above 65 digits.
    pub fn div(&self, other: &Decimal, scale: u8) -> Option<Decimal> {
        self.quotient(other, scale, I256::mul_div_round)
    }

    /// Quotient, cut to `scale` digits after the point.
    pub fn div_trunc(&self, other: &Decimal, scale: u8) -> Option<Decimal> {
        self.quotient(other, scale, I256::mul_div_trunc)
    }

    fn quotient(
        &self,
        other: &Decimal,
        scale: u8,
        mul_div: impl Fn(I256, I256, I256) -> Option<I256>,
    ) -> Option<Decimal> {
        // a/10^sa : b/10^sb = (a * 10^(scale - sa + sb) / b) / 10^scale
        let shift = scale as i32 - self.scale as i32 + other.scale as i32;
        let q = if shift >= 0 {
            mul_div(self.unscaled, I256::pow10(shift as usize), other.unscaled)?
        } else {
            let d = other.unscaled.checked_mul(I256::pow10(-shift as usize))?;
            mul_div(self.unscaled, I256::ONE, d)?
        };
        Decimal::new(q, scale).checked()
    }

    /// `self DIV other`: the quotient cut to an integer. None for a zero divisor and above 65 digits.
    pub fn int_div(&self, other: &Decimal) -> Option<Decimal> {
        let scale = self.scale.max(other.scale);
        let (a, b) = (self.rescale_wide(scale), other.rescale_wide(scale));
        let q = match (a, b) {
            (Some(a), Some(b)) => a.checked_div_rem(b)?.0,
            _ if other.is_zero() => return None,
            _ => {
                let shift = other.scale as i32 - self.scale as i32;
                if shift >= 0 {
                    self.unscaled.mul_div_trunc(I256::pow10(shift as usize), other.unscaled)?
                } else {
                    // |other| exceeds every dividend that has digits to spare.
                    I256::ZERO
                }
            }
        };
        Decimal::new(q, 0).checked()
    }

    /// Remainder with the dividend's sign, at the larger scale. None for a zero divisor.
    pub fn rem(&self, other: &Decimal) -> Option<Decimal> {
        let scale = self.scale.max(other.scale);
        if other.is_zero() {
            return None;
        }
        let (a, b) = (
            self.rescale_wide(scale)?,
            match other.rescale_wide(scale) {
                Some(b) => b,
                // The divisor is beyond anything the dividend can reach.
                None => return self.rescale(scale),
            },
        );
        Decimal::new(a.checked_div_rem(b)?.1, scale).checked()
    }

    #[inline]
    pub fn negated(self) -> Decimal {
        Decimal::new(-self.unscaled, self.scale)
    }

    #[inline]
    pub fn abs(self) -> Decimal {
        Decimal::new(self.unscaled.abs(), self.scale)
    }

    /// The nearest double.
    pub fn to_f64(self) -> f64 {
        if let Some(v) = self.to_i128() {
            return scaled_to_f64(v, self.scale);
        }
        // Exactly rounded by way of the digits.
        self.to_string().parse().expect("digits with a point read as a number")
    }

    /// Rounded to an integer and clamped to i64; the flag says that it clamped.
    pub fn to_i64_round(self) -> (i64, bool) {
        match self.rescale(0).map(|d| d.unscaled.to_i64()) {
            Some(Some(v)) => (v, false),
            _ => (if self.is_negative() { i64::MIN } else { i64::MAX }, true),
        }
    }

    /// Rounded to an integer and clamped to u64; the flag says that it clamped.
    pub fn to_u64_round(self) -> (u64, bool) {
        match self.rescale(0).map(|d| d.unscaled.to_u64()) {
            Some(Some(v)) => (v, false),
            _ => (if self.is_negative() { 0 } else { u64::MAX }, true),
        }
    }
}

/// `unscaled` / 10^`scale` as the nearest double.
#[inline]
pub fn scaled_to_f64(unscaled: i128, scale: u8) -> f64 {
    // Both sides exact (at most 53 bits, 10^22): one correctly rounded division.
    if unscaled.unsigned_abs() < 1 << 53 && scale <= 22 {
        return unscaled as f64 / POW10_F64[scale as usize];
    }
    Decimal::from_i128(unscaled, scale).to_string().parse().expect("digits with a point read as a number")
}

const POW10_F64: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

#[cfg(test)]
mod tests;
