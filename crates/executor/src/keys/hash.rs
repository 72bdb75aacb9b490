//! Hashes of keys. They live as long as a statement: other processes, files and versions never see them.
//!
//! Each multiplies into 128 bits and folds the halves, so that every bit of a key reaches the top bits, by which rows
//! are divided among threads and partitions, and the low ones, by which tables find their slots.

const FOLD: u64 = 0x9E37_79B9_7F4A_7C15;

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let p = a as u128 * b as u128;
    p as u64 ^ (p >> 64) as u64
}

#[inline]
pub fn hash_u64(k: u64) -> u64 {
    fold(k ^ 0xA076_1D64_78BD_642F, FOLD).wrapping_mul(0xE703_7ED1_A0B4_28DB) ^ k.rotate_left(32)
}

#[inline]
pub fn hash_u128(k: u128) -> u64 {
    fold(k as u64 ^ 0xE703_7ED1_A0B4_28DB, (k >> 64) as u64 ^ FOLD)
        ^ hash_u64(k as u64 ^ ((k >> 64) as u64).rotate_left(17))
}

#[inline]
pub fn hash_bytes(b: &[u8]) -> u64 {
    let mut h = b.len() as u64 ^ 0x8EBC_6AF0_9C88_C6E3;
    let mut chunks = b.chunks_exact(8);
    for c in &mut chunks {
        h = fold(h ^ u64::from_le_bytes(c.try_into().expect("eight bytes")), FOLD);
    }
    let rest = chunks.remainder();
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        h = fold(h ^ u64::from_le_bytes(last), 0xE703_7ED1_A0B4_28DB);
    }
    hash_u64(h)
}
