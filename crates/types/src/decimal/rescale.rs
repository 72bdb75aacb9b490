//! Change of scale and rounded division of scaled integers, half away from zero. The i64 and i128 forms are what
//! kernels call per row.

use crate::I256;
use crate::int256::{POW10_I64, POW10_I128};

macro_rules! rounding {
    ($div_round:ident, $rescale:ident, $int:ty, $powers:ident, $max:literal) => {
        /// `v / divisor`, rounded half away from zero. `divisor` > 0.
        #[inline]
        pub const fn $div_round(v: $int, divisor: $int) -> $int {
            let q = v / divisor;
            let r = v % divisor;
            let away = (r.unsigned_abs() >= divisor.unsigned_abs() - r.unsigned_abs()) as $int;
            q + if v < 0 { -away } else { away }
        }

        /// The unscaled integer of the same number at scale `to`. None if it does not fit.
        #[inline]
        pub const fn $rescale(v: $int, from: u8, to: u8) -> Option<$int> {
            if to >= from {
                let n = (to - from) as usize;
                if n > $max {
                    return if v == 0 { Some(0) } else { None };
                }
                v.checked_mul($powers[n])
            } else {
                let n = (from - to) as usize;
                if n > $max {
                    // Below half a unit, for the integer has fewer digits than that.
                    return Some(0);
                }
                Some($div_round(v, $powers[n]))
            }
        }
    };
}

rounding!(div_round_i64, rescale_i64, i64, POW10_I64, 18);
rounding!(div_round_i128, rescale_i128, i128, POW10_I128, 38);

/// The unscaled integer of the same number at scale `to`. None if it does not fit.
#[inline]
pub fn rescale_i256(v: I256, from: u8, to: u8) -> Option<I256> {
    if to == from {
        return Some(v);
    }
    if let Some(narrow) = v.to_i128()
        && let Some(r) = rescale_i128(narrow, from, to)
    {
        return Some(I256::from(r));
    }
    if to > from {
        let n = (to - from) as usize;
        return if n > 76 { None } else { v.checked_mul(I256::pow10(n)) };
    }
    let n = (from - to) as usize;
    if n > 76 { Some(I256::ZERO) } else { v.div_round(I256::pow10(n)) }
}
