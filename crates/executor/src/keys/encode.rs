//! From columns to keys, a batch at a time.
//!
//! Keys of a fixed width are put together column by column over the whole batch, byte keys row by row. Sort keys of a
//! dictionary's strings are made once, when it is first met.

use super::hash::{hash_bytes, hash_u64, hash_u128};
use super::layout::{KeyColumn, KeyForm, KeyLayout, Kind};
use super::pack::{pack_ids, pack_u64, pack_u128, wide128, wide256, with_word};
use super::{Keys, Words, take_bytes, take_u64};
use crate::collate;
use crate::string_ids::{LocalIds, StringIds};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::Arc;
use types::Collation;
use vector::{Batch, Bitmap, Chunk, Selection, StringDict, Values, Vector};

/// Encodes keys; one a thread (it caches the sort keys of dictionaries).
pub struct KeyEncoder {
    layout: KeyLayout,
    /// By column, then by dictionary: each entry's sort key.
    dicts: Vec<HashMap<usize, DictKeys>>,
    /// By column, where strings are numbered; and the numbers of the batch.
    ids: Vec<Option<(LocalIds, Vec<u32>)>>,
    hashing: bool,
}

struct DictKeys {
    /// Held so that the address stays this dictionary's.
    _dict: Arc<StringDict>,
    keys: Vec<Box<[u8]>>,
}

/// Positions at which none of the columns is NULL; `None`: all.
pub fn all_valid<'k>(columns: impl IntoIterator<Item = &'k Vector>, rows: usize) -> Option<Bitmap> {
    let mut valid: Option<Bitmap> = None;
    for column in columns {
        let of_column = match column {
            Vector::Const(c) if c.is_valid(0) => None,
            Vector::Const(_) => Some(Bitmap::zeros(rows)),
            Vector::Flat(c) => c.validity.clone(),
        };
        match (&mut valid, of_column) {
            (_, None) => {}
            (Some(all), Some(one)) => all.and(&one),
            (all, one) => *all = one,
        }
    }
    valid.filter(|v| !v.all())
}

/// Dictionaries remembered a column before the cache starts anew.
const DICTS_MAX: usize = 64;

impl KeyEncoder {
    pub fn new(layout: KeyLayout) -> KeyEncoder {
        let dicts = layout.columns.iter().map(|_| HashMap::new()).collect();
        let local = |ids: &Option<Arc<StringIds>>| ids.clone().map(|ids| (LocalIds::new(ids), Vec::new()));
        let ids = layout.ids.iter().map(local).collect();
        KeyEncoder { layout, dicts, ids, hashing: true }
    }

    pub fn column_count(&self) -> usize {
        self.layout.columns.len()
    }

    /// Whether hashes of U64 keys are wanted too.
    pub fn set_hashing(&mut self, on: bool) {
        self.hashing = on;
    }

    /// Positions of the selected rows that have a key: those without NULL where NULL is no key value.
    pub fn valid_positions(&self, columns: &[Vector], batch: &Batch) -> Selection {
        let keys = self.layout.columns.iter().zip(columns).filter(|(c, _)| !c.null_bit);
        let Some(valid) = all_valid(keys.map(|(_, v)| v), batch.rows) else { return batch.selection.clone() };
        match &batch.selection {
            Selection::All => Selection::from_bitmap(&valid),
            Selection::Some(s) => Selection::Some(s.iter().copied().filter(|&i| valid.get(i as usize)).collect()),
        }
    }

    /// Encodes the keys at `selection` (of `rows` positions), in order, into `out`.
    pub fn encode(&mut self, columns: &[Vector], selection: &Selection, rows: usize, out: &mut Keys) {
        let n = selection.count(rows);
        for (ids, v) in self.ids.iter_mut().zip(columns) {
            if let Some((local, numbers)) = ids {
                local.fill(v, selection, rows, numbers);
            }
        }
        match self.layout.form {
            KeyForm::U64 => {
                let mut words = take_u64(&mut out.words);
                words.clear();
                words.resize(n, 0);
                for (k, (c, v)) in self.layout.columns.iter().zip(columns).enumerate() {
                    match self.ids.get(k) {
                        Some(Some((_, numbers))) => pack_ids(c, v, selection, numbers, &mut words),
                        _ => pack_u64(c, v, selection, &mut words),
                    }
                }
                out.hashes.clear();
                if self.hashing {
                    out.hashes.extend(words.iter().map(|&k| hash_u64(k)));
                }
                out.words = Words::U64(words);
            }
            KeyForm::U128 => {
                let mut words = vec![0u128; n];
                for (k, (c, v)) in self.layout.columns.iter().zip(columns).enumerate() {
                    match self.ids.get(k) {
                        Some(Some((_, numbers))) => pack_ids(c, v, selection, numbers, &mut words),
                        _ => pack_u128(c, v, selection, &mut words),
                    }
                }
                out.hashes.clear();
                out.hashes.extend(words.iter().map(|&k| hash_u128(k)));
                out.words = Words::U128(words);
            }
            KeyForm::Bytes => {
                let (mut data, mut ends) = take_bytes(&mut out.words);
                data.clear();
                ends.clear();
                out.hashes.clear();
                self.cache_dicts(columns);
                let readers: Vec<Reader> = self
                    .layout
                    .columns
                    .iter()
                    .zip(columns)
                    .zip(&self.dicts)
                    .map(|((c, v), dicts)| Reader::new(c, v, dicts))
                    .collect();
                selection.for_each(rows, |i| {
                    let start = data.len();
                    for r in &readers {
                        r.write(i, &mut data);
                    }
                    ends.push(data.len() as u32);
                    out.hashes.push(hash_bytes(&data[start..]));
                });
                out.words = Words::Bytes { data, ends };
            }
        }
    }

    fn cache_dicts(&mut self, columns: &[Vector]) {
        for ((c, v), cache) in self.layout.columns.iter().zip(columns).zip(&mut self.dicts) {
            let (chunk, _) = v.chunk();
            if let (Kind::Str(collation), Values::Dict(d)) = (c.kind, &chunk.values) {
                let key = Arc::as_ptr(&d.dict) as usize;
                if !cache.contains_key(&key) {
                    if cache.len() >= DICTS_MAX {
                        cache.clear();
                    }
                    let strings = &d.dict.strings;
                    let keys = (0..strings.views.len())
                        .map(|i| {
                            let mut k = Vec::new();
                            string_key(collation, strings.bytes(i), &mut k);
                            k.into_boxed_slice()
                        })
                        .collect();
                    cache.insert(key, DictKeys { _dict: d.dict.clone(), keys });
                }
            }
        }
    }
}

/// Sort keys longer than this are in byte keys by their digests.
const PLAIN_BYTES_MAX: usize = 4096;
/// In place of a length: a digest follows.
const DIGEST: u32 = u32::MAX;

/// Length-prefixed, so that keys of several columns cannot run into each other.
fn string_key(collation: Collation, bytes: &[u8], out: &mut Vec<u8>) {
    if bytes.len() > PLAIN_BYTES_MAX {
        return long_string_key(collation, bytes, out);
    }
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    collate::sort_key(collation, bytes, out);
    let len = out.len() - at - 4;
    if len > PLAIN_BYTES_MAX {
        let sort_key = out.split_off(at + 4);
        out.truncate(at);
        return digest_key(&sort_key, out);
    }
    out[at..at + 4].copy_from_slice(&(len as u32).to_le_bytes());
}

/// The same of a string that is long, whose sort key may not be: it is made aside, and gone before the next row's.
fn long_string_key(collation: Collation, bytes: &[u8], out: &mut Vec<u8>) {
    if matches!(collation, Collation::Binary | Collation::Utf8mb4_0900Bin) {
        return digest_key(bytes, out);
    }
    let mut sort_key = Vec::new();
    collate::sort_key(collation, bytes, &mut sort_key);
    if sort_key.len() > PLAIN_BYTES_MAX {
        return digest_key(&sort_key, out);
    }
    out.extend_from_slice(&(sort_key.len() as u32).to_le_bytes());
    out.extend_from_slice(&sort_key);
}

fn digest_key(sort_key: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&DIGEST.to_le_bytes());
    out.extend_from_slice(&Sha256::digest(sort_key));
}

/// Writes one column's part of byte keys.
struct Reader<'a> {
    column: KeyColumn,
    chunk: &'a Chunk,
    constant: bool,
    dict: Option<&'a DictKeys>,
}

impl<'a> Reader<'a> {
    fn new(column: &KeyColumn, v: &'a Vector, dicts: &'a HashMap<usize, DictKeys>) -> Reader<'a> {
        let (chunk, constant) = v.chunk();
        let dict = match &chunk.values {
            Values::Dict(d) => dicts.get(&(Arc::as_ptr(&d.dict) as usize)),
            _ => None,
        };
        Reader { column: *column, chunk, constant, dict }
    }

    #[inline]
    fn write(&self, i: usize, out: &mut Vec<u8>) {
        let i = if self.constant { 0 } else { i };
        if self.column.null_bit {
            let ok = self.chunk.is_valid(i);
            out.push(ok as u8);
            if !ok {
                return;
            }
        }
        match self.column.kind {
            Kind::Str(collation) => match (&self.chunk.values, self.dict) {
                (Values::Dict(d), Some(keys)) => out.extend_from_slice(&keys.keys[d.codes[i] as usize]),
                (Values::Str(s), _) => string_key(collation, s.bytes(i), out),
                (Values::Dict(d), None) => string_key(collation, d.bytes(i), out),
                (other, _) => panic!("a string key column came as {:?}", other.phys()),
            },
            Kind::Id => unreachable!("numbers are for keys of a fixed width"),
            Kind::Wide128 => out.extend_from_slice(&wide128(self.chunk, i).to_le_bytes()),
            Kind::Wide256 => {
                let w = wide256(self.chunk, i);
                out.extend_from_slice(&w.lo.to_le_bytes());
                out.extend_from_slice(&w.hi.to_le_bytes());
            }
            Kind::Int { .. } | Kind::F32 | Kind::F64 => {
                let word = with_word!(self.chunk, get => get(i));
                out.extend_from_slice(&word.to_le_bytes());
            }
        }
    }
}
