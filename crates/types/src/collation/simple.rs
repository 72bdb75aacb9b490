//! Collations of one weight a character: `utf8mb4_general_ci`, `latin1_swedish_ci`, `latin1_bin`. All pad with spaces.
//!
//! Weights of ASCII characters are the characters themselves, in upper case where letter case does not count.

use std::cmp::Ordering;

use super::hash::{ByteHash, WordHash, tail_word};
use super::trim_spaces;
use super::utf8::{HIGH_BITS, decode, encode, fold_word, word};

/// See tools/collation_tables.py for the layout.
static GENERAL: &[u8] = include_bytes!("data/general_ci.bin");

/// `utf8mb4_general_ci`: a character counts as the upper case of its base letter; all beyond the BMP count alike.
#[inline]
pub fn general_weight(c: u32) -> u32 {
    if c < 0x80 {
        return (c as u8).to_ascii_uppercase() as u32;
    }
    if c > 0xFFFF {
        return 0xFFFD;
    }
    match GENERAL[(c >> 8) as usize] {
        0 => c,
        table => {
            let at = 256 + (table as usize - 1) * 512 + (c & 0xFF) as usize * 2;
            u16::from_le_bytes([GENERAL[at], GENERAL[at + 1]]) as u32
        }
    }
}

/// Windows-1252, which MySQL calls latin1: what bytes 0x80..=0x9F mean.
const CP1252: [u16; 32] = [
    0x20AC, 0x81, 0x201A, 0x192, 0x201E, 0x2026, 0x2020, 0x2021, 0x2C6, 0x2030, 0x160, 0x2039, 0x152, 0x8D, 0x17D,
    0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x2DC, 0x2122, 0x161, 0x203A, 0x153, 0x9D,
    0x17E, 0x178,
];

/// The latin1 byte of a character; None if it has none.
#[inline]
pub fn to_latin1(c: u32) -> Option<u8> {
    if c < 0x80 || (0xA0..0x100).contains(&c) {
        return Some(c as u8);
    }
    CP1252.iter().position(|&u| u as u32 == c).map(|i| 0x80 + i as u8)
}

/// The character of a latin1 byte.
#[inline]
pub fn from_latin1(b: u8) -> u32 {
    if (0x80..0xA0).contains(&b) { CP1252[(b - 0x80) as usize] as u32 } else { b as u32 }
}

/// `latin1_bin`: the latin1 byte. Characters that latin1 lacks (its strings do not hold them) come after.
#[inline]
pub fn latin1_weight(c: u32) -> u32 {
    match to_latin1(c) {
        Some(b) => b as u32,
        None if c < 0x100 => 0x10_FF00 + c,
        None => c,
    }
}

/// `latin1_swedish_ci`: accents do not count, but Å, Ä and Æ, Ö follow Z, and Ü counts as Y.
#[inline]
pub fn swedish_weight(c: u32) -> u32 {
    if c < 0x80 {
        return (c as u8).to_ascii_uppercase() as u32;
    }
    let b = latin1_weight(c);
    let w = match b {
        0xC0..=0xC3 | 0xE0..=0xE3 => b'A',
        0xC4 | 0xC6 | 0xE4 | 0xE6 => b'\\',
        0xC5 | 0xE5 => b'[',
        0xC7 | 0xE7 => b'C',
        0xC8..=0xCB | 0xE8..=0xEB => b'E',
        0xCC..=0xCF | 0xEC..=0xEF => b'I',
        0xD0 | 0xF0 => b'D',
        0xD1 | 0xF1 => b'N',
        0xD2..=0xD5 | 0xF2..=0xF5 => b'O',
        0xD6 | 0xF6 => b']',
        0xF8 => 0xD8,
        0xD9..=0xDB | 0xF9..=0xFB => b'U',
        0xDC | 0xDD | 0xFC | 0xFD => b'Y',
        0xFE => 0xDE,
        other => return other,
    };
    w as u32
}

/// Compares by weight, the shorter string filled up with spaces. `fold`: ASCII letters count as upper case.
#[inline]
pub(crate) fn compare(a: &[u8], b: &[u8], weight: impl Fn(u32) -> u32, fold: bool) -> Ordering {
    let (mut i, mut j) = (0, 0);
    loop {
        // Eight ASCII characters of each at a time.
        while i + 8 <= a.len() && j + 8 <= b.len() {
            let (x, y) = (word(a, i), word(b, j));
            if (x | y) & HIGH_BITS != 0 {
                break;
            }
            let (x, y) = if fold { (fold_word(x), fold_word(y)) } else { (x, y) };
            if x != y {
                let shift = (x ^ y).trailing_zeros() & !7;
                return (x >> shift & 0xFF).cmp(&(y >> shift & 0xFF));
            }
            i += 8;
            j += 8;
        }
        // Then characters, until the words may be ASCII again.
        let stop = i + 8;
        while i < stop {
            if i >= a.len() || j >= b.len() {
                return rest_against_spaces(&a[i..], &weight)
                    .then_with(|| rest_against_spaces(&b[j..], &weight).reverse());
            }
            let ((x, m), (y, n)) = (decode(a, i), decode(b, j));
            if x != y {
                let order = weight(x).cmp(&weight(y));
                if order != Ordering::Equal {
                    return order;
                }
            }
            i += m;
            j += n;
        }
    }
}

fn rest_against_spaces(rest: &[u8], weight: &impl Fn(u32) -> u32) -> Ordering {
    super::utf8::chars(rest).find(|&c| c != ' ' as u32).map_or(Ordering::Equal, |c| weight(c).cmp(&(' ' as u32)))
}

/// Hash of the weights; `text` has no trailing spaces. ASCII letters fold to upper case.
#[inline]
pub(crate) fn hash(text: &[u8], weight: impl Fn(u32) -> u32) -> u64 {
    if text.is_ascii() {
        let mut h = WordHash::default();
        let mut at = 0;
        while at + 8 <= text.len() {
            h.word(fold_word(word(text, at)));
            at += 8;
        }
        return h.finish(fold_word(tail_word(text, at)), text.len());
    }
    let mut h = ByteHash::default();
    for c in super::utf8::chars(text) {
        let w = weight(c);
        if w < 0x80 { h.push(w as u8) } else { h.push_wide(w) }
    }
    h.finish()
}

/// Sort key of a string padded with endless spaces, without writing them.
///
/// Each space is followed by a mark that says how the first later character that is not a space compares with one: 1
/// less, 3 greater; the end of the string is a space with mark 2, for endless spaces follow. Weights, of the latin1
/// collations too, are written as UTF-8, which orders as the numbers do. `fold`: ASCII letters count as upper case.
pub(crate) fn padded_key(text: &[u8], out: &mut Vec<u8>, weight: impl Fn(u32) -> u32, fold: bool) {
    let mut rest = trim_spaces(text);
    out.reserve(rest.len() + rest.len() / 4 + 2);
    while let Some(space) = memchr::memchr(b' ', rest) {
        key_segment(&rest[..space], out, &weight, fold);
        rest = &rest[space + 1..];
        let next = rest.iter().find(|b| **b != b' ').copied().unwrap_or(0);
        out.extend_from_slice(&[b' ', if next < b' ' { 1 } else { 3 }]);
    }
    key_segment(rest, out, &weight, fold);
    out.extend_from_slice(&[b' ', 2]);
}

/// Appends the weights of a text without spaces.
#[inline]
fn key_segment(text: &[u8], out: &mut Vec<u8>, weight: &impl Fn(u32) -> u32, fold: bool) {
    if text.is_ascii() {
        let start = out.len();
        out.extend_from_slice(text);
        if fold {
            out[start..].make_ascii_uppercase();
        }
        return;
    }
    for c in super::utf8::chars(text) {
        encode(weight(c), out);
    }
}
