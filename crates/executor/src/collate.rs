//! Comparison of strings by collation, as operators need it: order, and keys that are equal exactly when strings are.

use std::cmp::Ordering;
use types::Collation;

pub fn compare(c: Collation, a: &[u8], b: &[u8]) -> Ordering {
    c.compare(a, b)
}

/// Appends bytes whose order is the collation's order and whose equality is its equality.
pub fn sort_key(c: Collation, s: &[u8], out: &mut Vec<u8>) {
    c.sort_key(s, out)
}
