//! 256-bit signed integers: the unscaled form of DECIMALs with more than 38 digits.

/// Two's complement, little-endian halves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct I256 {
    pub lo: u128,
    pub hi: i128,
}
