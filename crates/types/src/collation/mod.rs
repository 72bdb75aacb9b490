//! Collations: how strings compare, group, join and sort; LIKE and letter case.
//!
//! Strings are held as UTF-8 in every character set but `binary`. Terms: a *weight* is what a character counts as in
//! comparison; *PAD SPACE* collations compare as if the shorter string were filled up with spaces; a *sort key* is a
//! byte string whose memcmp order is the collation's order.
//!
//! | collation | weights | module |
//! |---|---|---|
//! | `utf8mb4_0900_ai_ci` | primary weights of UCA 9.0.0, several or none a character | [`ducet`] |
//! | `utf8mb4_general_ci`, `latin1_swedish_ci`, `latin1_bin` | one a character | [`simple`] |
//! | `utf8mb4_bin`, `utf8mb4_0900_bin`, `binary` | the bytes | here |
//!
//! Invariants, tested: `eq(a, b)` is `compare(a, b) == Equal`; equal strings have equal hashes and equal sort keys;
//! sort keys order as `compare` does. ASCII text takes a path of its own, eight bytes at a time, and allocates nothing.

pub mod case;
pub mod ducet;
pub mod hash;
pub mod like;
mod like_long;
pub mod names;
pub mod simple;
pub mod utf8;

use std::cmp::Ordering;

pub use hash::hash_bytes;
pub use like::LikePattern;
pub use like_long::Ask;
pub use names::Charset;

/// A collation, with its character set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Collation {
    /// `utf8mb4_0900_ai_ci`: DUCET 9.0.0 primary weights, NO PAD. The default.
    #[default]
    Utf8mb4_0900AiCi,
    /// `utf8mb4_general_ci`: one weight a character, PAD SPACE.
    Utf8mb4GeneralCi,
    /// `utf8mb4_bin`: code points, PAD SPACE.
    Utf8mb4Bin,
    /// `utf8mb4_0900_bin`: code points, NO PAD.
    Utf8mb4_0900Bin,
    /// `latin1_swedish_ci`, PAD SPACE.
    Latin1SwedishCi,
    /// `latin1_bin`, PAD SPACE.
    Latin1Bin,
    /// `binary`: bytes.
    Binary,
}

impl Collation {
    /// PAD SPACE: trailing spaces do not count.
    #[inline]
    pub const fn is_pad_space(self) -> bool {
        !matches!(self, Collation::Utf8mb4_0900AiCi | Collation::Utf8mb4_0900Bin | Collation::Binary)
    }

    /// Equal means the same characters (but for trailing spaces where they are padded).
    #[inline]
    pub const fn is_bin(self) -> bool {
        matches!(self, Collation::Utf8mb4Bin | Collation::Utf8mb4_0900Bin | Collation::Latin1Bin | Collation::Binary)
    }

    /// Equality is equality of bytes, without padding: values may be compared by prefix words and memcmp alone.
    #[inline]
    pub const fn is_bytewise(self) -> bool {
        matches!(self, Collation::Utf8mb4_0900Bin | Collation::Binary)
    }

    /// Compares two strings.
    #[inline]
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Collation::Utf8mb4_0900Bin | Collation::Binary => compare_bytes(a, b),
            Collation::Utf8mb4Bin => compare_padded(a, b),
            Collation::Utf8mb4_0900AiCi => ducet::compare(a, b),
            Collation::Utf8mb4GeneralCi => simple::compare(a, b, simple::general_weight, true),
            Collation::Latin1SwedishCi => simple::compare(a, b, simple::swedish_weight, true),
            Collation::Latin1Bin => simple::compare(a, b, simple::latin1_weight, false),
        }
    }

    /// Whether two strings are equal.
    #[inline]
    pub fn eq(self, a: &[u8], b: &[u8]) -> bool {
        match self {
            Collation::Utf8mb4_0900Bin | Collation::Binary => same_bytes(a, b),
            Collation::Utf8mb4Bin | Collation::Latin1Bin => same_bytes(trim_spaces(a), trim_spaces(b)),
            _ => same_bytes(a, b) || self.compare(a, b) == Ordering::Equal,
        }
    }

    /// A hash that agrees with [`Collation::eq`]. The function is fixed, so that hashes may be stored.
    #[inline]
    pub fn hash(self, a: &[u8]) -> u64 {
        match self {
            Collation::Utf8mb4_0900Bin | Collation::Binary => hash_bytes(a),
            Collation::Utf8mb4Bin | Collation::Latin1Bin => hash_bytes(trim_spaces(a)),
            Collation::Utf8mb4_0900AiCi => ducet::hash(a),
            Collation::Utf8mb4GeneralCi => simple::hash(trim_spaces(a), simple::general_weight),
            Collation::Latin1SwedishCi => simple::hash(trim_spaces(a), simple::swedish_weight),
        }
    }

    /// Appends the string's sort key. Keys of different strings are not delimited: composite keys need a terminator
    /// of their own.
    pub fn sort_key(self, a: &[u8], out: &mut Vec<u8>) {
        match self {
            Collation::Utf8mb4_0900Bin | Collation::Binary => out.extend_from_slice(a),
            Collation::Utf8mb4Bin => simple::padded_key(a, out, |c| c, false),
            Collation::Utf8mb4_0900AiCi => ducet::sort_key(a, out),
            Collation::Utf8mb4GeneralCi => simple::padded_key(a, out, simple::general_weight, true),
            Collation::Latin1SwedishCi => simple::padded_key(a, out, simple::swedish_weight, true),
            Collation::Latin1Bin => simple::padded_key(a, out, simple::latin1_weight, false),
        }
    }

    /// Appends what WEIGHT_STRING() returns.
    pub fn weight_string(self, a: &[u8], out: &mut Vec<u8>) {
        match self {
            Collation::Utf8mb4_0900Bin | Collation::Binary => out.extend_from_slice(a),
            Collation::Utf8mb4Bin => {
                for c in utf8::chars(a) {
                    out.extend_from_slice(&c.to_be_bytes()[1..]);
                }
            }
            Collation::Utf8mb4_0900AiCi => ducet::sort_key(a, out),
            Collation::Utf8mb4GeneralCi => {
                for c in utf8::chars(a) {
                    out.extend_from_slice(&simple::general_weight(c).to_be_bytes()[2..]);
                }
            }
            Collation::Latin1SwedishCi => out.extend(utf8::chars(a).map(|c| simple::swedish_weight(c) as u8)),
            Collation::Latin1Bin => out.extend(utf8::chars(a).map(|c| simple::latin1_weight(c) as u8)),
        }
    }

    /// Whether two characters match in LIKE.
    #[inline]
    pub(crate) fn char_eq(self, a: u32, b: u32) -> bool {
        if a == b {
            return true;
        }
        match self {
            Collation::Utf8mb4_0900AiCi => ducet::char_eq(a, b),
            Collation::Utf8mb4GeneralCi => simple::general_weight(a) == simple::general_weight(b),
            Collation::Latin1SwedishCi => simple::swedish_weight(a) == simple::swedish_weight(b),
            _ => false,
        }
    }

    /// Characters of a string; bytes for `binary`.
    #[inline]
    pub fn char_length(self, a: &[u8]) -> usize {
        if self == Collation::Binary { a.len() } else { utf8::char_count(a) }
    }
}

/// The string without trailing spaces.
#[inline]
pub fn trim_spaces(mut a: &[u8]) -> &[u8] {
    while let [rest @ .., b' '] = a {
        a = rest;
    }
    a
}

/// Bytes. An empty constant has no memory behind it, and comparing no bytes at a bad address costs a hundred
/// nanoseconds: hence the test.
#[inline]
fn compare_bytes(a: &[u8], b: &[u8]) -> Ordering {
    if a.is_empty() || b.is_empty() { a.len().cmp(&b.len()) } else { a.cmp(b) }
}

/// Whether two byte strings are the same; see [`compare_bytes`] for the test of emptiness.
#[inline]
fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && (a.is_empty() || a == b)
}

/// Bytes, the shorter string filled up with spaces.
#[inline]
fn compare_padded(a: &[u8], b: &[u8]) -> Ordering {
    let n = a.len().min(b.len());
    let common = if n == 0 { Ordering::Equal } else { a[..n].cmp(&b[..n]) };
    common.then_with(|| against_spaces(&a[n..]).then(against_spaces(&b[n..]).reverse()))
}

/// What is left of the longer string, against spaces.
#[inline]
fn against_spaces(rest: &[u8]) -> Ordering {
    rest.iter().find(|b| **b != b' ').map_or(Ordering::Equal, |b| b.cmp(&b' '))
}

#[cfg(test)]
mod tests;
