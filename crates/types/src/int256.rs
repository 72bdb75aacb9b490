//! 256-bit signed integers: the unscaled form of DECIMALs with more than 38 digits.

/// Two's complement, little-endian halves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct I256 {
    pub lo: u128,
    pub hi: i128,
}

impl From<i128> for I256 {
    #[inline]
    fn from(v: i128) -> I256 {
        I256 { lo: v as u128, hi: v >> 127 }
    }
}
