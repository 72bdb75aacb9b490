//! Exact numbers in flight: scaled integers in the narrowest lane that their bounds allow.
//!
//! Integers, DECIMALs and predicates are all "an integer divided by 10^scale". [`Exact`] reads a vector as such, in
//! 64-, 128- or 256-bit lanes, with what is known of its range. Arithmetic computes the range of its result first and
//! then runs in 64 bits if that range proves that nothing can overflow, in 128 bits if that suffices, and row by row
//! with checks otherwise.

use crate::kernels::fixed;
use std::borrow::Cow;
use types::{I256, SqlType};
use vector::{Values, Vector};

/// The integers of an [`Exact`], one an entry; a constant has one entry.
#[derive(Clone, Debug)]
pub(crate) enum Lane<'a> {
    I64(Cow<'a, [i64]>),
    I128(Cow<'a, [i128]>),
    I256(Cow<'a, [I256]>),
}

#[derive(Clone, Debug)]
pub(crate) struct Exact<'a> {
    pub lane: Lane<'a>,
    pub constant: bool,
    pub scale: u8,
    /// Inclusive; None if nothing tighter than 256 bits is known.
    pub bounds: Option<(i128, i128)>,
    /// `bounds` come from the values, not from the type.
    tight: bool,
}

pub(crate) const I64_RANGE: (i128, i128) = (i64::MIN as i128, i64::MAX as i128);

pub(crate) fn fits_i64((lo, hi): (i128, i128)) -> bool {
    lo >= I64_RANGE.0 && hi <= I64_RANGE.1
}

/// 10^n, n <= 38.
#[inline]
pub(crate) fn pow10_i128(n: u8) -> i128 {
    10i128.pow(n as u32)
}

/// What values of the type can be, unscaled.
pub(crate) fn type_bounds(ty: &SqlType) -> Option<(i128, i128)> {
    Some(match ty {
        SqlType::Bool | SqlType::Null => (0, 1),
        SqlType::Int { size, unsigned } => size.range(*unsigned),
        SqlType::Year => (0, 2155),
        SqlType::Decimal { precision, .. } if *precision <= 38 => {
            let m = pow10_i128(*precision) - 1;
            (-m, m)
        }
        SqlType::Decimal { .. } => return None,
        _ => I64_RANGE,
    })
}

impl<'a> Exact<'a> {
    /// Reads an integer, DECIMAL or packed temporal vector.
    pub fn new(v: &'a Vector, ty: &SqlType) -> Exact<'a> {
        let (chunk, constant) = v.chunk();
        let scale = if let SqlType::Decimal { scale, .. } = ty { *scale } else { 0 };
        macro_rules! widen {
            ($v:expr) => {
                Lane::I64(Cow::Owned($v.iter().map(|&x| x as i64).collect()))
            };
        }
        let lane = match &chunk.values {
            Values::I64(v) => Lane::I64(Cow::Borrowed(v)),
            Values::I128(v) => Lane::I128(Cow::Borrowed(v)),
            Values::I256(v) => Lane::I256(Cow::Borrowed(v)),
            Values::I8(v) => widen!(v),
            Values::U8(v) => widen!(v),
            Values::I16(v) => widen!(v),
            Values::U16(v) => widen!(v),
            Values::I32(v) => widen!(v),
            Values::U32(v) => widen!(v),
            Values::U64(v) => {
                if v.iter().fold(0, |m, &x| m | x) <= i64::MAX as u64 {
                    widen!(v)
                } else {
                    Lane::I128(Cow::Owned(v.iter().map(|&x| x as i128).collect()))
                }
            }
            // Builders never let other kinds come here; zeros keep the invariant of positions.
            other => Lane::I64(Cow::Owned(vec![0; other.len()])),
        };
        let (bounds, tight) = match (&lane, chunk.bounds) {
            (Lane::I64(v), _) if constant => (Some((v[0] as i128, v[0] as i128)), true),
            (Lane::I128(v), _) if constant => (Some((v[0], v[0])), true),
            (Lane::I64(_), Some(b)) => (Some((b.min as i128, b.max as i128)), true),
            (Lane::I64(_), None) => {
                let t = type_bounds(ty).unwrap_or(I64_RANGE);
                (Some((t.0.max(I64_RANGE.0), t.1.min(I64_RANGE.1))), false)
            }
            (Lane::I128(_), _) => (type_bounds(ty).or(Some((i128::MIN, i128::MAX))), false),
            (Lane::I256(_), _) => (None, true),
        };
        Exact { lane, constant, scale, bounds, tight }
    }

    pub fn len(&self) -> usize {
        match &self.lane {
            Lane::I64(v) => v.len(),
            Lane::I128(v) => v.len(),
            Lane::I256(v) => v.len(),
        }
    }

    /// Replaces bounds that come from the type by those of the values.
    pub fn tighten(&mut self) {
        if self.tight {
            return;
        }
        self.tight = true;
        match &self.lane {
            Lane::I64(v) if !v.is_empty() => {
                let (lo, hi) = fixed::min_max_i64(v);
                self.bounds = Some((lo as i128, hi as i128));
            }
            Lane::I128(v) if !v.is_empty() => {
                let lo = v.iter().copied().fold(i128::MAX, i128::min);
                let hi = v.iter().copied().fold(i128::MIN, i128::max);
                self.bounds = Some((lo, hi));
                if fits_i64((lo, hi)) {
                    self.lane = Lane::I64(Cow::Owned(v.iter().map(|&x| x as i64).collect()));
                }
            }
            _ => {}
        }
    }

    /// The same numbers at a larger scale, if 128 bits certainly hold them.
    pub fn scaled_up(&mut self, to: u8) -> bool {
        if to == self.scale {
            return true;
        }
        let by = to - self.scale;
        if by > 38 {
            return false;
        }
        let k = pow10_i128(by);
        let bounds = |e: &Exact| -> Option<(i128, i128)> {
            let (lo, hi) = e.bounds?;
            Some((lo.checked_mul(k)?, hi.checked_mul(k)?))
        };
        let mut after = bounds(self);
        if after.is_none_or(|b| !fits_i64(b)) {
            self.tighten();
            after = bounds(self);
        }
        let Some(after) = after else { return false };
        self.lane = match &self.lane {
            Lane::I64(v) if fits_i64(after) && k <= i64::MAX as i128 => {
                Lane::I64(Cow::Owned(fixed::mul_i64_const(v, k as i64)))
            }
            Lane::I64(v) => Lane::I128(Cow::Owned(v.iter().map(|&x| (x as i128).wrapping_mul(k)).collect())),
            Lane::I128(v) => Lane::I128(Cow::Owned(v.iter().map(|&x| x.wrapping_mul(k)).collect())),
            Lane::I256(_) => return false,
        };
        self.bounds = Some(after);
        self.scale = to;
        true
    }

    /// The lane in 128 bits; None if it has 256.
    pub fn to_i128(&self) -> Option<Cow<'_, [i128]>> {
        match &self.lane {
            Lane::I64(v) => Some(Cow::Owned(v.iter().map(|&x| x as i128).collect())),
            Lane::I128(v) => Some(Cow::Borrowed(v)),
            Lane::I256(_) => None,
        }
    }

    /// The unscaled integer at position `i`.
    #[inline]
    pub fn get(&self, i: usize) -> I256 {
        let i = if self.constant { 0 } else { i };
        match &self.lane {
            Lane::I64(v) => I256::from(v[i] as i128),
            Lane::I128(v) => I256::from(v[i]),
            Lane::I256(v) => v[i],
        }
    }

    #[inline]
    pub fn decimal(&self, i: usize) -> types::Decimal {
        types::Decimal { unscaled: self.get(i), scale: self.scale }
    }
}
