//! Exact decimals: a scaled 256-bit integer, with MySQL's rules of scale and rounding.

use crate::I256;

/// `unscaled` / 10^`scale`; at most 65 digits, scale 0..=30.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decimal {
    pub unscaled: I256,
    pub scale: u8,
}
