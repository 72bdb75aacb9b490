//! UTF-8 without checks that fail: bytes that are no UTF-8 (which strings do not hold) count as one character each.

/// The character at `at` and its length in bytes. `at` < `text.len()`.
#[inline]
pub fn decode(text: &[u8], at: usize) -> (u32, usize) {
    let b = text[at];
    if b < 0x80 {
        return (b as u32, 1);
    }
    decode_long(text, at)
}

fn decode_long(text: &[u8], at: usize) -> (u32, usize) {
    let b = text[at];
    let len = match b {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => return (b as u32, 1),
    };
    let Some(tail) = text.get(at + 1..at + len) else {
        return (b as u32, 1);
    };
    let mut c = (b & (0x7F >> len)) as u32;
    for t in tail {
        if t & 0xC0 != 0x80 {
            return (b as u32, 1);
        }
        c = c << 6 | (t & 0x3F) as u32;
    }
    (c, len)
}

/// Appends a code point.
#[inline]
pub fn encode(c: u32, out: &mut Vec<u8>) {
    match char::from_u32(c) {
        Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        None => out.push(b'?'),
    }
}

/// The code points of a string.
#[inline]
pub fn chars(text: &[u8]) -> Chars<'_> {
    Chars { text, at: 0 }
}

/// Iterator of [`chars`].
pub struct Chars<'a> {
    text: &'a [u8],
    at: usize,
}

impl Iterator for Chars<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        if self.at >= self.text.len() {
            return None;
        }
        let (c, n) = decode(self.text, self.at);
        self.at += n;
        Some(c)
    }
}

/// Characters of a string: bytes that do not continue one.
#[inline]
pub fn char_count(text: &[u8]) -> usize {
    text.iter().filter(|b| (**b as i8) >= -0x40).count()
}

/// The byte offset of character `n` (0-based), or the length if there are fewer.
#[inline]
pub fn offset_of_char(text: &[u8], n: usize) -> usize {
    if n >= text.len() {
        return text.len();
    }
    if text[..n].is_ascii() {
        // Every character so far is one byte; the one at `n` may be longer, but begins here.
        return if (text[n] as i8) >= -0x40 { n } else { slow_offset(text, n) };
    }
    slow_offset(text, n)
}

fn slow_offset(text: &[u8], n: usize) -> usize {
    text.iter().enumerate().filter(|(_, b)| (**b as i8) >= -0x40).nth(n).map_or(text.len(), |(i, _)| i)
}

/// Length of the longest prefix that is UTF-8.
pub fn valid_prefix(text: &[u8]) -> usize {
    match std::str::from_utf8(text) {
        Ok(_) => text.len(),
        Err(e) => e.valid_up_to(),
    }
}

pub(crate) const LOW_BITS: u64 = 0x0101_0101_0101_0101;
pub(crate) const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// Upper case of eight ASCII bytes (none above 0x7F).
#[inline]
pub(crate) const fn fold_word(x: u64) -> u64 {
    let at_least_a = x + (0x80 - b'a' as u64) * LOW_BITS;
    let above_z = x + (0x7F - b'z' as u64) * LOW_BITS;
    x ^ (((at_least_a ^ above_z) & HIGH_BITS) >> 2)
}

/// Eight bytes at `at`, little-endian. `at + 8 <= text.len()`.
#[inline]
pub(crate) fn word(text: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(text[at..at + 8].try_into().expect("eight bytes"))
}
