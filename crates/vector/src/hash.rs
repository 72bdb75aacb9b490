//! Words of values: 64 bits each, for hashes and for counting distinct values.
//!
//! ```text
//!   integers, dates, times, DECIMALs   the value, widened; what 64 bits do not hold is mixed into them
//!   FLOAT, DOUBLE                      the bits as DOUBLE; -0.0 as 0.0
//!   strings                            whatever hash of their bytes the caller wants: it knows the collation
//! ```
//! Equal values of a column have equal words, whatever array carries them. A word is as good a hash as the value is
//! random; who needs more mixes it. Words and what is mixed of them stay in memory: no file has them.

use crate::{Chunk, Values};
use std::ops::Range;
use types::I256;

const SEED: u64 = 0x243F_6A88_85A3_08D3;
const NULL: u64 = 0x6E75_6C6C;

/// Multiplies into 128 bits and folds: every input bit reaches every output bit.
#[inline]
pub fn mix(a: u64, b: u64) -> u64 {
    let m = (a ^ 0x9E37_79B9_7F4A_7C15) as u128 * (b ^ 0xD1B5_4A32_D192_ED03) as u128;
    m as u64 ^ (m >> 64) as u64
}

/// A hash of bytes, for estimates and dictionaries.
pub fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut h = SEED ^ bytes.len() as u64;
    let mut words = bytes.chunks_exact(8);
    for w in &mut words {
        h = mix(h, u64::from_le_bytes(w.try_into().expect("chunks of 8")));
    }
    let mut last = [0; 8];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    mix(h, u64::from_le_bytes(last))
}

#[inline]
fn wide_word(v: I256) -> u64 {
    match v.to_i64() {
        Some(v) => v as u64,
        None => mix(mix(v.lo as u64, (v.lo >> 64) as u64), mix(v.hi as u64, (v.hi >> 64) as u64)),
    }
}

#[inline]
fn float_word(v: f64) -> u64 {
    if v == 0.0 { 0 } else { v.to_bits() }
}

/// Calls `f` with the number (from 0) and the word of each of the `rows`; NULL has none. `text`: the word of a string.
#[inline]
pub fn each_word(
    chunk: &Chunk,
    rows: Range<usize>,
    text: impl Fn(&[u8]) -> u64,
    mut f: impl FnMut(usize, Option<u64>),
) {
    let validity = chunk.validity.as_ref();
    macro_rules! each {
        ($v:expr, $x:ident => $word:expr) => {
            match validity {
                None => $v[rows].iter().enumerate().for_each(|(i, &$x)| f(i, Some($word))),
                Some(valid) => {
                    let first = rows.start;
                    $v[rows].iter().enumerate().for_each(|(i, &$x)| f(i, valid.get(first + i).then(|| $word)));
                }
            }
        };
    }
    match &chunk.values {
        Values::I8(v) => each!(v, x => x as i64 as u64),
        Values::U8(v) => each!(v, x => x as u64),
        Values::I16(v) => each!(v, x => x as i64 as u64),
        Values::U16(v) => each!(v, x => x as u64),
        Values::I32(v) => each!(v, x => x as i64 as u64),
        Values::U32(v) => each!(v, x => x as u64),
        Values::I64(v) => each!(v, x => x as u64),
        Values::U64(v) => each!(v, x => x),
        Values::I128(v) => each!(v, x => wide_word(I256::from(x))),
        Values::I256(v) => each!(v, x => wide_word(x)),
        Values::F32(v) => each!(v, x => float_word(x as f64)),
        Values::F64(v) => each!(v, x => float_word(x)),
        Values::Str(_) | Values::Dict(_) => {
            for (i, row) in rows.enumerate() {
                f(i, chunk.is_valid(row).then(|| text(chunk.values.str_bytes(row))));
            }
        }
    }
}

/// Mixes the words of rows `from..` of a column into the hashes of tuples; NULL is a value like others.
pub fn fold_words(chunk: &Chunk, from: usize, hashes: &mut [u64]) {
    let rows = from..from + hashes.len();
    each_word(chunk, rows, hash_bytes, |i, word| hashes[i] = mix(hashes[i], word.unwrap_or(NULL)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bitmap;

    fn words(values: Values, valid: Option<&[bool]>) -> Vec<Option<u64>> {
        let validity = valid.map(|bits| {
            let mut out = Bitmap::zeros(bits.len());
            bits.iter().enumerate().for_each(|(i, b)| out.set(i, *b));
            out
        });
        let chunk = Chunk::new(values, validity);
        let mut out = Vec::new();
        each_word(&chunk, 0..chunk.len(), hash_bytes, |i, word| {
            assert_eq!(i, out.len());
            out.push(word);
        });
        out
    }

    #[test]
    fn equal_values_have_equal_words_in_all_arrays() {
        let expected = words(Values::I64(vec![-7, 0, 100]), None);
        assert_eq!(words(Values::I8(vec![-7, 0, 100]), None), expected);
        assert_eq!(words(Values::I128(vec![-7, 0, 100]), None), expected);
        assert_eq!(words(Values::I256([-7i128, 0, 100].map(I256::from).to_vec()), None), expected);
        assert_eq!(words(Values::F32(vec![-0.0, 1.5]), None), words(Values::F64(vec![0.0, 1.5]), None));
        let wide = words(Values::I128(vec![1 << 70, 1 << 71]), None);
        assert_ne!(wide[0], wide[1]);
        assert_eq!(wide, words(Values::I256([1i128 << 70, 1 << 71].map(I256::from).to_vec()), None));
    }

    #[test]
    fn null_has_no_word_and_counts_in_tuples() {
        assert_eq!(words(Values::I32(vec![5, 6]), Some(&[false, true])), [None, Some(6)]);
        let chunk = |valid| Chunk::new(Values::I32(vec![5, 6, 7]), valid);
        let (mut some, mut all) = ([1, 1], [1, 1]);
        fold_words(&chunk(Some(Bitmap::zeros(3))), 1, &mut some);
        fold_words(&chunk(None), 1, &mut all);
        assert_eq!(some[0], some[1]);
        assert!(all[0] != all[1] && all[0] != some[0]);
    }
}
