//! The string hash: words of eight bytes, each mixed in by a 64 x 64 -> 128 bit multiplication whose halves are xored
//! (the step of wyhash). The length enters at the end, so that padding of the last word does not matter.

use super::utf8::word;

const SEED: u64 = 0x9E37_79B9_7F4A_7C15;
const MULTIPLIER: u64 = 0xD6E8_FEB8_6659_FD93;

#[inline]
fn mix(a: u64, b: u64) -> u64 {
    let p = a as u128 * b as u128;
    p as u64 ^ (p >> 64) as u64
}

/// Hash of a byte string.
#[inline]
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut h = WordHash::default();
    let mut at = 0;
    while at + 8 <= bytes.len() {
        h.word(word(bytes, at));
        at += 8;
    }
    h.finish(tail_word(bytes, at), bytes.len())
}

/// Up to seven bytes at the end, in the low bytes of a word.
#[inline]
pub(crate) fn tail_word(bytes: &[u8], at: usize) -> u64 {
    let rest = &bytes[at..];
    let n = rest.len();
    if n >= 4 {
        // Two overlapping halves.
        let low = u32::from_le_bytes(rest[..4].try_into().expect("four bytes")) as u64;
        let high = u32::from_le_bytes(rest[n - 4..].try_into().expect("four bytes")) as u64;
        low | high << ((n - 4) * 8)
    } else {
        let mut w = 0;
        for (i, b) in rest.iter().enumerate() {
            w |= (*b as u64) << (8 * i);
        }
        w
    }
}

/// The state over whole words.
pub(crate) struct WordHash(u64);

impl Default for WordHash {
    #[inline]
    fn default() -> WordHash {
        WordHash(SEED)
    }
}

impl WordHash {
    #[inline]
    pub(crate) fn word(&mut self, w: u64) {
        self.0 = mix(self.0 ^ w, MULTIPLIER);
    }

    /// `tail`: the bytes after the last whole word; `len`: of all bytes.
    #[inline]
    pub(crate) fn finish(self, tail: u64, len: usize) -> u64 {
        mix(self.0 ^ tail, MULTIPLIER ^ (len as u64).wrapping_mul(SEED))
    }
}

/// The same hash, fed byte by byte.
#[derive(Default)]
pub(crate) struct ByteHash {
    state: WordHash,
    buffer: u64,
    len: usize,
}

impl ByteHash {
    #[inline]
    pub(crate) fn push(&mut self, b: u8) {
        self.buffer |= (b as u64) << (8 * (self.len & 7));
        self.len += 1;
        if self.len & 7 == 0 {
            self.state.word(self.buffer);
            self.buffer = 0;
        }
    }

    /// A weight that no ASCII character has.
    #[inline]
    pub(crate) fn push_wide(&mut self, weight: u32) {
        self.push(0x80 | (weight >> 14) as u8);
        self.push(0x80 | (weight >> 7) as u8);
        self.push(0x80 | weight as u8);
    }

    #[inline]
    pub(crate) fn finish(self) -> u64 {
        self.state.finish(self.buffer, self.len)
    }
}
