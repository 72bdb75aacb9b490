//! Keys of unique indexes: which columns, how they hash and when they are equal.
//!
//! Two keys are equal when MySQL's `=` says so for every part: numbers by value, strings by the column's collation (and
//! by their prefix, where the index has one). A key with a NULL part equals nothing and has no entry.

use catalog::{IndexDef, TableDef};
use std::ops::Range;
use types::value::render_text;
use types::{Collation, I256, PhysType, SqlType};
use vector::hash::{each_word, mix};
use vector::{Chunk, Values};

/// Parts of the keys that sorted runs can hold.
pub const RUN_PARTS_MAX: usize = 4;

/// A key of integer-like parts, padded with zeros.
pub type RunKey = [i64; RUN_PARTS_MAX];

#[derive(Clone, Debug)]
struct Part {
    ty: SqlType,
    collation: Option<Collation>,
    /// Characters (bytes for binary strings) that count.
    prefix_len: Option<usize>,
}

/// What makes up a key.
#[derive(Clone, Debug)]
pub struct KeySpec {
    /// Table columns, in order of the index's parts.
    pub columns: Box<[usize]>,
    parts: Box<[Part]>,
    /// Every part is held as an integer of at most 64 bits, and there are at most [`RUN_PARTS_MAX`].
    pub is_integral: bool,
}

/// A key: position `row` of one chunk a part.
#[derive(Clone, Copy, Debug)]
pub struct Key<'a> {
    pub chunks: &'a [&'a Chunk],
    pub row: usize,
}

impl KeySpec {
    pub fn new(table: &TableDef, index: &IndexDef) -> KeySpec {
        let parts: Box<[Part]> = index
            .parts
            .iter()
            .map(|p| {
                let ty = table.columns[p.column_idx].ty;
                Part { ty, collation: ty.collation(), prefix_len: p.prefix_len.map(|n| n as usize) }
            })
            .collect();
        let integral = |p: &Part| {
            !matches!(p.ty.phys(), PhysType::I128 | PhysType::I256 | PhysType::F32 | PhysType::F64 | PhysType::Str)
        };
        KeySpec {
            columns: index.parts.iter().map(|p| p.column_idx).collect(),
            is_integral: parts.len() <= RUN_PARTS_MAX && parts.iter().all(integral),
            parts,
        }
    }

    /// The hash of each row's key, `None` where a part is NULL. `chunks`: one a part.
    pub fn hash_rows(&self, chunks: &[&Chunk], rows: Range<usize>) -> Vec<Option<u64>> {
        assert_eq!(chunks.len(), self.parts.len());
        let mut hashes = vec![SEED; rows.len()];
        for (part, chunk) in self.parts.iter().zip(chunks) {
            hash_part(part, chunk, rows.start, &mut hashes);
        }
        let valid = |row: usize| chunks.iter().all(|c| c.is_valid(row));
        hashes.into_iter().zip(rows).map(|(h, row)| valid(row).then(|| finish(h))).collect()
    }

    /// The hash of one key.
    pub fn hash_one<'a>(&self, at: &dyn Fn(usize) -> (&'a Chunk, usize)) -> Option<u64> {
        let mut hash = [SEED];
        for (part, &column) in self.parts.iter().zip(&self.columns) {
            let (chunk, i) = at(column);
            if !chunk.is_valid(i) {
                return None;
            }
            hash_part(part, chunk, i, &mut hash);
        }
        Some(finish(hash[0]))
    }

    /// Whether the row whose column `c` lies at `at(c)` has key `key`, which has no NULLs.
    pub fn equals<'a>(&self, at: &dyn Fn(usize) -> (&'a Chunk, usize), key: Key<'_>) -> bool {
        self.parts.iter().zip(&self.columns).zip(key.chunks).all(|((part, &column), wanted)| {
            let (chunk, i) = at(column);
            chunk.is_valid(i) && part_equals(part, &chunk.values, i, &wanted.values, key.row)
        })
    }

    /// The key as integers; `None` if the index or this value does not allow it.
    pub fn run_key(&self, key: Key<'_>) -> Option<RunKey> {
        if !self.is_integral {
            return None;
        }
        let mut out = [0; RUN_PARTS_MAX];
        for (o, chunk) in out.iter_mut().zip(key.chunks) {
            *o = chunk.values.int_at(key.row)?;
        }
        Some(out)
    }

    /// The key as the text of error 1062: parts joined by '-'.
    pub fn text(&self, key: Key<'_>) -> String {
        let mut out = Vec::new();
        for (i, (part, chunk)) in self.parts.iter().zip(key.chunks).enumerate() {
            if i > 0 {
                out.push(b'-');
            }
            render_text(&chunk.value(key.row, &part.ty), &part.ty, &mut out);
        }
        String::from_utf8_lossy(&out).into_owned()
    }
}

const SEED: u64 = 0x243F_6A88_85A3_08D3;

#[inline]
fn finish(h: u64) -> u64 {
    mix(h, 0x8CB9_2BA7_2F3D_8DD7)
}

fn hash_part(part: &Part, chunk: &Chunk, first: usize, hashes: &mut [u64]) {
    let collation = part.collation.unwrap_or(Collation::Binary);
    let text = |bytes: &[u8]| collation.hash(clip(part, bytes));
    each_word(chunk, first..first + hashes.len(), text, |i, word| hashes[i] = mix(hashes[i], word.unwrap_or_default()));
}

/// The leading part of a string that counts.
fn clip<'a>(part: &Part, bytes: &'a [u8]) -> &'a [u8] {
    let Some(n) = part.prefix_len else { return bytes };
    if part.collation == Some(Collation::Binary) {
        return &bytes[..n.min(bytes.len())];
    }
    // A UTF-8 character starts at every byte that is not a continuation byte.
    let end = bytes.iter().enumerate().filter(|(_, b)| **b & 0xC0 != 0x80).nth(n);
    end.map_or(bytes, |(at, _)| &bytes[..at])
}

fn wide(values: &Values, i: usize) -> I256 {
    match values {
        Values::I128(v) => I256::from(v[i]),
        Values::I256(v) => v[i],
        Values::U64(v) => I256::from(v[i] as i128),
        other => I256::from(other.int_at(i).unwrap_or_default() as i128),
    }
}

fn float(values: &Values, i: usize) -> f64 {
    match values {
        Values::F32(v) => v[i] as f64,
        Values::F64(v) => v[i],
        other => wide(other, i).to_f64(),
    }
}

#[inline]
fn part_equals(part: &Part, a: &Values, i: usize, b: &Values, j: usize) -> bool {
    match (a, b) {
        (Values::I32(a), Values::I32(b)) => a[i] == b[j],
        (Values::I64(a), Values::I64(b)) => a[i] == b[j],
        (Values::Str(_) | Values::Dict(_), Values::Str(_) | Values::Dict(_)) => {
            let collation = part.collation.unwrap_or(Collation::Binary);
            collation.eq(clip(part, a.str_bytes(i)), clip(part, b.str_bytes(j)))
        }
        (Values::F32(_) | Values::F64(_), _) | (_, Values::F32(_) | Values::F64(_)) => float(a, i) == float(b, j),
        (Values::Str(_) | Values::Dict(_), _) | (_, Values::Str(_) | Values::Dict(_)) => {
            panic!("a key of another kind than the index's column")
        }
        _ => match (a.int_at(i), b.int_at(j)) {
            (Some(x), Some(y)) => x == y,
            _ => wide(a, i) == wide(b, j),
        },
    }
}
