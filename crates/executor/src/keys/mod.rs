//! Keys: the values by which rows are grouped or joined, put into a form where equal bytes mean equal keys.
//!
//! ```text
//!   columns            form       a key is
//!   ints, <= 64 bits   U64        the values side by side, each with a NULL bit where NULL can occur
//!   ints, <= 128 bits  U128       the same
//!   anything else      Bytes      per column: [0 = NULL | 1] value bytes; strings as their collation's sort key
//! ```
//! A column of few different strings may be numbered ([`crate::string_ids`]), and then counts as an int of 32 bits.
//!
//! A string's sort key is equal exactly for strings that the collation calls equal, so `'a' = 'A'` groups and joins. In
//! place of a long sort key stands its SHA-256: tables of keys take little memory however wide the strings are, and no
//! two strings are known that share one. Strings that come as dictionary codes pay for it once a dictionary.
//!
//! [`layout`] decides the form, [`encode`] makes keys of it with the help of [`pack`], [`hash`] has their hashes.

mod encode;
mod hash;
mod layout;
mod pack;

pub use encode::{KeyEncoder, all_valid};
pub use hash::{hash_bytes, hash_u64, hash_u128};
pub use layout::{KeyForm, KeyLayout};

/// Keys of some rows, with their hashes.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    pub words: Words,
    pub hashes: Vec<u64>,
}

#[derive(Clone, Debug)]
pub enum Words {
    U64(Vec<u64>),
    U128(Vec<u128>),
    /// Key i is `data[ends[i-1]..ends[i]]`.
    Bytes {
        data: Vec<u8>,
        ends: Vec<u32>,
    },
}

impl Default for Words {
    fn default() -> Words {
        Words::U64(Vec::new())
    }
}

impl Words {
    /// Bytes of keys without a fixed width.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Words::Bytes { data, .. } => data.len(),
            _ => 0,
        }
    }

    #[inline]
    pub fn bytes(&self, i: usize) -> &[u8] {
        match self {
            Words::Bytes { data, ends } => {
                let start = if i == 0 { 0 } else { ends[i - 1] as usize };
                &data[start..ends[i] as usize]
            }
            _ => panic!("bytes() of fixed-width keys"),
        }
    }
}

impl Keys {
    /// The keys numbered `rows`, into `out`.
    pub fn pick(&self, rows: &[u32], out: &mut Keys) {
        out.hashes.clear();
        out.hashes.extend(rows.iter().map(|&j| self.hashes[j as usize]));
        match &self.words {
            Words::U64(from) => {
                let mut words = take_u64(&mut out.words);
                words.clear();
                words.extend(rows.iter().map(|&j| from[j as usize]));
                out.words = Words::U64(words);
            }
            Words::U128(from) => out.words = Words::U128(rows.iter().map(|&j| from[j as usize]).collect()),
            Words::Bytes { .. } => {
                let (mut data, mut ends) = take_bytes(&mut out.words);
                data.clear();
                ends.clear();
                for &j in rows {
                    data.extend_from_slice(self.words.bytes(j as usize));
                    ends.push(data.len() as u32);
                }
                out.words = Words::Bytes { data, ends };
            }
        }
    }
}

fn take_u64(w: &mut Words) -> Vec<u64> {
    match std::mem::take(w) {
        Words::U64(v) => v,
        _ => Vec::new(),
    }
}

fn take_bytes(w: &mut Words) -> (Vec<u8>, Vec<u32>) {
    match std::mem::take(w) {
        Words::Bytes { data, ends } => (data, ends),
        _ => (Vec::new(), Vec::new()),
    }
}
