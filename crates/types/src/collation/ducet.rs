//! `utf8mb4_0900_ai_ci`: the primary weights of the Unicode Collation Algorithm 9.0.0, without contractions. Accents
//! and letter case do not count, punctuation does; trailing spaces count.
//!
//! A character has one weight, none (it is *ignorable*: combining marks, most control characters) or several (an
//! *expansion*: `ß` counts as `ss`). Characters outside the table have two computed weights (UTS #10, section 10.1.3);
//! Hangul syllables count as their letters.

use std::cmp::Ordering;

use super::hash::{ByteHash, WordHash, tail_word};
use super::utf8::{HIGH_BITS, LOW_BITS, decode, fold_word, word};

const BLOB: &[u8] = include_bytes!("data/ducet_9_0_0.bin");
const CELLS: usize = BLOB.len() / 2;

/// See tools/collation_tables.py for the layout.
static TABLE: [u16; CELLS] = {
    let mut t = [0u16; CELLS];
    let mut i = 0;
    while i < CELLS {
        t[i] = BLOB[2 * i] as u16 | (BLOB[2 * i + 1] as u16) << 8;
        i += 1;
    }
    t
};

const fn cell(at: usize) -> usize {
    BLOB[2 * at] as usize | (BLOB[2 * at + 1] as usize) << 8
}

const LIMIT: u32 = 0xE0200;
const STAGE_1: usize = 3;
const PAGES: usize = STAGE_1 + LIMIT as usize / 128;
const OFFSETS: usize = PAGES + cell(0) * 128;
const DATA: usize = OFFSETS + cell(1) + 1;

const FIRST_EXPANSION: u16 = 0xE000;
const COMPUTED: u16 = 0xFFFF;

/// Weights of the ASCII characters; 0 for those that are ignorable.
static ASCII: [u16; 128] = {
    let mut t = [0u16; 128];
    let mut c = 0;
    while c < 128 {
        t[c] = cell(PAGES + cell(STAGE_1) * 128 + c) as u16;
        c += 1;
    }
    t
};

const ASCII_WEIGHTS_END: usize = 0x2000;

/// The ASCII character (upper case) of a weight; 0 if no ASCII character has it.
static ASCII_OF_WEIGHT: [u8; ASCII_WEIGHTS_END] = {
    let mut t = [0u8; ASCII_WEIGHTS_END];
    let mut c = 0;
    while c < 128 {
        let w = ASCII[c] as usize;
        if w != 0 {
            t[w] = (c as u8).to_ascii_uppercase();
        }
        c += 1;
    }
    t
};

/// What the table says of a character: 0, a weight, an expansion or COMPUTED.
#[inline]
fn lookup(c: u32) -> u16 {
    if c < 0x80 {
        return ASCII[c as usize];
    }
    if c >= LIMIT {
        return COMPUTED;
    }
    let page = TABLE[STAGE_1 + (c >> 7) as usize] as usize;
    TABLE[PAGES + page * 128 + (c & 127) as usize]
}

/// The weights of one character.
enum CharWeights {
    Few([u16; 3]),
    /// Where they lie in the table.
    Table(usize, usize),
}

#[inline]
fn weights_of(c: u32) -> CharWeights {
    match lookup(c) {
        w if w < FIRST_EXPANSION => CharWeights::Few([w, 0, 0]),
        COMPUTED => CharWeights::Few(computed(c)),
        w => {
            let i = OFFSETS + (w - FIRST_EXPANSION) as usize;
            CharWeights::Table(DATA + TABLE[i] as usize, DATA + TABLE[i + 1] as usize)
        }
    }
}

fn computed(c: u32) -> [u16; 3] {
    const SYLLABLES: std::ops::Range<u32> = 0xAC00..0xD7A4;
    if SYLLABLES.contains(&c) {
        let s = c - SYLLABLES.start;
        let tail = s % 28;
        return [
            lookup(0x1100 + s / 588),
            lookup(0x1161 + s % 588 / 28),
            if tail == 0 { 0 } else { lookup(0x11A7 + tail) },
        ];
    }
    let (base, offset) = match c {
        0x17000..=0x18AFF => return [0xFB00, (c - 0x17000) as u16 | 0x8000, 0],
        // Unified ideographs, and the twelve among the compatibility ideographs.
        0x4E00..=0x9FD5
        | 0xFA0E
        | 0xFA0F
        | 0xFA11
        | 0xFA13
        | 0xFA14
        | 0xFA1F
        | 0xFA21
        | 0xFA23
        | 0xFA24
        | 0xFA27..=0xFA29 => (0xFB40, c),
        // Extensions A to E.
        0x3400..=0x4DB5 | 0x20000..=0x2A6D6 | 0x2A700..=0x2B734 | 0x2B740..=0x2B81D | 0x2B820..=0x2CEA1 => (0xFB80, c),
        _ => (0xFBC0, c),
    };
    [base + (offset >> 15) as u16, (offset & 0x7FFF) as u16 | 0x8000, 0]
}

/// The weights of a string, without the ignorable characters.
struct Weights<'a> {
    text: &'a [u8],
    at: usize,
    /// Weights of the current character still to come, last one first.
    few: [u16; 2],
    table: (usize, usize),
}

impl<'a> Weights<'a> {
    #[inline]
    fn new(text: &'a [u8], at: usize) -> Weights<'a> {
        Weights { text, at, few: [0; 2], table: (0, 0) }
    }

    /// The next weight; 0 at the end, which makes a prefix less than what it begins.
    #[inline]
    fn next(&mut self) -> u16 {
        loop {
            if self.few[0] != 0 {
                let w = self.few[0];
                self.few = [self.few[1], 0];
                return w;
            }
            if self.table.0 < self.table.1 {
                self.table.0 += 1;
                return TABLE[self.table.0 - 1];
            }
            if self.at >= self.text.len() {
                return 0;
            }
            let (c, n) = decode(self.text, self.at);
            self.at += n;
            match weights_of(c) {
                CharWeights::Few([0, ..]) => {}
                CharWeights::Few([w, x, y]) => {
                    self.few = [x, y];
                    return w;
                }
                CharWeights::Table(from, to) => self.table = (from, to),
            }
        }
    }
}

/// Compares two strings.
#[inline]
pub(crate) fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let n = a.len().min(b.len());
    let mut at = 0;
    while at + 8 <= n {
        let (x, y) = (word(a, at), word(b, at));
        if (x | y) & HIGH_BITS != 0 {
            break;
        }
        let (x, y) = (fold_word(x), fold_word(y));
        if x != y {
            at += ((x ^ y).trailing_zeros() / 8) as usize;
            break;
        }
        at += 8;
    }
    // `at` is a character's start in both, and what lies before has equal weights.
    while at < n && a[at] < 0x80 && b[at] < 0x80 {
        let (x, y) = (ASCII[a[at] as usize], ASCII[b[at] as usize]);
        if x != y {
            if x == 0 || y == 0 {
                break;
            }
            return x.cmp(&y);
        }
        at += 1;
    }
    if at == n && a.len() == b.len() {
        return Ordering::Equal;
    }
    compare_weights(a, b, at)
}

fn compare_weights(a: &[u8], b: &[u8], from: usize) -> Ordering {
    let (mut x, mut y) = (Weights::new(a, from), Weights::new(b, from));
    loop {
        let (v, w) = (x.next(), y.next());
        if v != w || v == 0 {
            return v.cmp(&w);
        }
    }
}

/// Whether two characters have the same weights.
pub(crate) fn char_eq(a: u32, b: u32) -> bool {
    match (weights_of(a), weights_of(b)) {
        (CharWeights::Few(x), CharWeights::Few(y)) => x == y,
        (CharWeights::Table(f, t), CharWeights::Table(g, u)) => TABLE[f..t] == TABLE[g..u],
        _ => false,
    }
}

/// Whether eight ASCII bytes have a control character among them.
#[inline]
const fn has_control(x: u64) -> bool {
    let below_space = x.wrapping_sub(0x20 * LOW_BITS) & !x & HIGH_BITS;
    let delete = (x ^ (0x7F * LOW_BITS)).wrapping_sub(LOW_BITS) & !(x ^ (0x7F * LOW_BITS)) & HIGH_BITS;
    below_space | delete != 0
}

/// Hash of the weights. A weight that an ASCII character has enters as that character, so that plain ASCII text is
/// hashed by the word.
#[inline]
pub(crate) fn hash(text: &[u8]) -> u64 {
    let mut h = WordHash::default();
    let mut at = 0;
    while at + 8 <= text.len() {
        let x = word(text, at);
        if x & HIGH_BITS != 0 || has_control(x) {
            return hash_weights(text);
        }
        h.word(fold_word(x));
        at += 8;
    }
    let tail = tail_word(text, at);
    // The bytes above the tail are 0: put spaces there for the test.
    let blanks = if at == text.len() { 0 } else { u64::MAX << ((text.len() - at) * 8) } & (0x20 * LOW_BITS);
    if at < text.len() && (tail & HIGH_BITS != 0 || has_control(tail | blanks)) {
        return hash_weights(text);
    }
    h.finish(fold_word(tail), text.len())
}

#[cold]
fn hash_weights(text: &[u8]) -> u64 {
    let mut h = ByteHash::default();
    let mut weights = Weights::new(text, 0);
    loop {
        let w = weights.next();
        if w == 0 {
            return h.finish();
        }
        match ASCII_OF_WEIGHT.get(w as usize) {
            Some(&c) if c != 0 => h.push(c),
            _ => h.push_wide(w as u32),
        }
    }
}

/// Appends the weights, two bytes each.
pub(crate) fn sort_key(text: &[u8], out: &mut Vec<u8>) {
    if text.is_ascii() {
        let start = out.len();
        out.resize(start + text.len() * 2, 0);
        let mut ignorable = false;
        for (to, b) in out[start..].chunks_exact_mut(2).zip(text) {
            let w = ASCII[*b as usize];
            ignorable |= w == 0;
            let [high, low] = w.to_be_bytes();
            to[0] = high;
            to[1] = low;
        }
        if ignorable {
            let weights: Vec<u16> = text.iter().map(|b| ASCII[*b as usize]).filter(|w| *w != 0).collect();
            out.truncate(start);
            weights.iter().for_each(|w| out.extend_from_slice(&w.to_be_bytes()));
        }
        return;
    }
    out.reserve(text.len() * 2);
    let mut weights = Weights::new(text, 0);
    loop {
        let w = weights.next();
        if w == 0 {
            return;
        }
        out.extend_from_slice(&w.to_be_bytes());
    }
}
