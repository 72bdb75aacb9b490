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
//! A string's sort key is equal exactly for strings that the collation calls equal, so `'a' = 'A'` groups and joins.
//! Strings that come as dictionary codes pay for it once a dictionary.

use crate::collate;
use crate::string_ids::{LocalIds, StringIds};
use std::collections::HashMap;
use std::ops::{BitOr, Shl};
use std::sync::Arc;
use types::{Collation, Error, I256, PhysType, Result, SqlType};
use vector::{Batch, Chunk, Selection, StringDict, Values, Vector};

/// Which form the keys have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyForm {
    U64,
    U128,
    Bytes,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Up to 64 bits wide, sign irrelevant.
    Int {
        bits: u32,
    },
    Wide128,
    Wide256,
    F32,
    F64,
    Str(Collation),
    /// Strings that are numbered; never in byte keys.
    Id,
}

#[derive(Clone, Copy, Debug)]
struct KeyColumn {
    kind: Kind,
    /// NULL is a key value like others. If false, rows with NULL have no key.
    null_bit: bool,
}

/// How the key columns are laid out. Both sides of a join share one.
#[derive(Clone)]
pub struct KeyLayout {
    columns: Vec<KeyColumn>,
    /// By column; empty where no strings are numbered.
    ids: Vec<Option<Arc<StringIds>>>,
    pub form: KeyForm,
}

impl KeyLayout {
    /// `columns`: (type, whether NULL is a key value).
    pub fn new(columns: &[(SqlType, bool)]) -> KeyLayout {
        let columns: Vec<KeyColumn> =
            columns.iter().map(|&(ty, null_bit)| KeyColumn { kind: kind(&ty), null_bit }).collect();
        KeyLayout { form: form_of(&columns), columns, ids: Vec::new() }
    }

    /// The same, but the strings of columns that have `ids` stand in the keys by their numbers, if all keys then have a
    /// fixed width.
    pub fn numbered(columns: &[(SqlType, bool)], ids: Vec<Option<Arc<StringIds>>>) -> KeyLayout {
        let plain = KeyLayout::new(columns);
        let mut columns = plain.columns.clone();
        for (c, _) in columns.iter_mut().zip(&ids).filter(|(_, id)| id.is_some()) {
            c.kind = Kind::Id;
        }
        match form_of(&columns) {
            KeyForm::Bytes => plain,
            form => KeyLayout { columns, ids, form },
        }
    }

    /// The layout of a join's keys, whose two sides may differ in width of integers.
    pub fn of_join(columns: &[(SqlType, SqlType, bool)]) -> Result<KeyLayout> {
        let columns: Vec<(SqlType, bool)> =
            columns.iter().map(|&(a, b, null_safe)| Ok((common(a, b)?, null_safe))).collect::<Result<_>>()?;
        Ok(KeyLayout::new(&columns))
    }

    /// The same columns as byte keys, whatever they could be packed into.
    pub fn into_bytes(mut self) -> KeyLayout {
        debug_assert!(self.ids.is_empty(), "numbers are for keys of a fixed width");
        self.form = KeyForm::Bytes;
        self
    }
}

fn form_of(columns: &[KeyColumn]) -> KeyForm {
    let bits: u32 = columns
        .iter()
        .map(|c| {
            let b = match c.kind {
                Kind::Int { bits } => bits,
                Kind::F32 | Kind::Id => 32,
                Kind::F64 => 64,
                Kind::Wide128 => 128,
                Kind::Wide256 | Kind::Str(_) => 1000,
            };
            b + c.null_bit as u32
        })
        .sum();
    match bits {
        0..=64 => KeyForm::U64,
        65..=128 => KeyForm::U128,
        _ => KeyForm::Bytes,
    }
}

/// The type in which keys of types `a` and `b` compare; the planner has made them equal but for integer widths.
fn common(a: SqlType, b: SqlType) -> Result<SqlType> {
    use SqlType::*;
    Ok(match (a, b) {
        _ if a == b => a,
        (Null, x) | (x, Null) => x,
        (String { .. }, String { .. }) => {
            if a.collation() != b.collation() {
                return Err(Error::internal("join keys of two collations"));
            }
            a
        }
        (Decimal { precision: p, scale: s }, Decimal { precision: q, scale: t }) if s == t => {
            Decimal { precision: p.max(q), scale: s }
        }
        (Time { .. }, Time { .. }) | (DateTime { .. }, DateTime { .. }) | (Timestamp { .. }, Timestamp { .. }) => a,
        _ if a.is_integer() && b.is_integer() => {
            if a.is_unsigned() == b.is_unsigned() {
                if a.is_unsigned() { SqlType::BIGINT_UNSIGNED } else { SqlType::BIGINT }
            } else if matches!(a.phys(), PhysType::U64) || matches!(b.phys(), PhysType::U64) {
                // -1 and 2^64-1 share their 64 bits.
                Decimal { precision: 38, scale: 0 }
            } else {
                SqlType::BIGINT
            }
        }
        _ => return Err(Error::internal(format_args!("join keys of types {a:?} and {b:?}"))),
    })
}

fn kind(ty: &SqlType) -> Kind {
    if let SqlType::String { collation, .. } = ty {
        return Kind::Str(*collation);
    }
    match ty.phys() {
        PhysType::I8 | PhysType::U8 => Kind::Int { bits: 8 },
        PhysType::I16 | PhysType::U16 => Kind::Int { bits: 16 },
        PhysType::I32 | PhysType::U32 => Kind::Int { bits: 32 },
        PhysType::I64 | PhysType::U64 => Kind::Int { bits: 64 },
        PhysType::I128 => Kind::Wide128,
        PhysType::I256 => Kind::Wide256,
        PhysType::F32 => Kind::F32,
        PhysType::F64 => Kind::F64,
        PhysType::Str => Kind::Str(Collation::Binary),
    }
}

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
        let mut selection = batch.selection.clone();
        for (c, v) in self.layout.columns.iter().zip(columns) {
            if c.null_bit {
                continue;
            }
            match v {
                Vector::Const(k) => {
                    if !k.is_valid(0) {
                        return Selection::Some(Vec::new());
                    }
                }
                Vector::Flat(chunk) => {
                    if let Some(valid) = &chunk.validity {
                        let mut kept = selection.to_positions(batch.rows);
                        kept.retain(|&i| valid.get(i as usize));
                        selection = Selection::Some(kept);
                    }
                }
            }
        }
        selection
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

/// Length-prefixed, so that keys of several columns cannot run into each other.
fn string_key(collation: Collation, bytes: &[u8], out: &mut Vec<u8>) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    collate::sort_key(collation, bytes, out);
    let len = (out.len() - at - 4) as u32;
    out[at..at + 4].copy_from_slice(&len.to_le_bytes());
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

/// The 64 bits of each position of a fixed-width chunk, as the layout's type would hold them.
macro_rules! with_word {
    ($chunk:expr, $get:ident => $body:expr) => {
        match &$chunk.values {
            Values::I8(v) => {
                let $get = |i: usize| v[i] as i64 as u64;
                $body
            }
            Values::U8(v) => {
                let $get = |i: usize| v[i] as u64;
                $body
            }
            Values::I16(v) => {
                let $get = |i: usize| v[i] as i64 as u64;
                $body
            }
            Values::U16(v) => {
                let $get = |i: usize| v[i] as u64;
                $body
            }
            Values::I32(v) => {
                let $get = |i: usize| v[i] as i64 as u64;
                $body
            }
            Values::U32(v) => {
                let $get = |i: usize| v[i] as u64;
                $body
            }
            Values::I64(v) => {
                let $get = |i: usize| v[i] as u64;
                $body
            }
            Values::U64(v) => {
                let $get = |i: usize| v[i];
                $body
            }
            Values::I128(v) => {
                let $get = |i: usize| v[i] as u64;
                $body
            }
            Values::I256(v) => {
                let $get = |i: usize| v[i].lo as u64;
                $body
            }
            Values::F32(v) => {
                let $get = |i: usize| f32_word(v[i]);
                $body
            }
            Values::F64(v) => {
                let $get = |i: usize| f64_word(v[i]);
                $body
            }
            other => panic!("a fixed-width key column came as {:?}", other.phys()),
        }
    };
}

#[inline]
fn f32_word(v: f32) -> u64 {
    (if v == 0.0 { 0.0f32 } else { v }).to_bits() as u64
}

#[inline]
fn f64_word(v: f64) -> u64 {
    (if v == 0.0 { 0.0f64 } else { v }).to_bits()
}

/// Puts the numbers of a column's strings into the keys.
fn pack_ids<W>(c: &KeyColumn, v: &Vector, selection: &Selection, numbers: &[u32], out: &mut [W])
where
    W: Copy + From<u32> + Shl<u32, Output = W> + BitOr<Output = W>,
{
    let (chunk, constant) = v.chunk();
    for (j, (o, &number)) in out.iter_mut().zip(numbers).enumerate() {
        let i = match (constant, selection) {
            (true, _) => 0,
            (_, Selection::All) => j,
            (_, Selection::Some(s)) => s[j] as usize,
        };
        let ok = chunk.is_valid(i);
        *o = *o << 32 | W::from(if ok { number } else { 0 });
        if c.null_bit {
            *o = *o << 1 | W::from(!ok as u32);
        }
    }
}

fn pack_u64(c: &KeyColumn, v: &Vector, selection: &Selection, out: &mut [u64]) {
    let bits = match c.kind {
        Kind::Int { bits } => bits,
        Kind::F32 => 32,
        _ => 64,
    };
    let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
    let shift = if bits == 64 { 0 } else { bits };
    let (chunk, constant) = v.chunk();
    let valid = chunk.validity.as_ref();
    with_word!(chunk, get => match (constant, valid, selection) {
        (true, _, _) => {
            let ok = chunk.is_valid(0);
            let k = if ok { get(0) & mask } else { 0 };
            for o in out.iter_mut() {
                *o = *o << shift | k;
            }
        }
        (false, None, Selection::All) => {
            for (i, o) in out.iter_mut().enumerate() {
                *o = *o << shift | get(i) & mask;
            }
        }
        (false, None, Selection::Some(s)) => {
            for (o, &i) in out.iter_mut().zip(s) {
                *o = *o << shift | get(i as usize) & mask;
            }
        }
        (false, Some(valid), Selection::All) => {
            for (i, o) in out.iter_mut().enumerate() {
                *o = *o << shift | if valid.get(i) { get(i) & mask } else { 0 };
            }
        }
        (false, Some(valid), Selection::Some(s)) => {
            for (o, &i) in out.iter_mut().zip(s) {
                *o = *o << shift | if valid.get(i as usize) { get(i as usize) & mask } else { 0 };
            }
        }
    });
    if c.null_bit {
        let null = |i: usize| !chunk.is_valid(if constant { 0 } else { i });
        match selection {
            Selection::All => out.iter_mut().enumerate().for_each(|(i, o)| *o = *o << 1 | null(i) as u64),
            Selection::Some(s) => out.iter_mut().zip(s).for_each(|(o, &i)| *o = *o << 1 | null(i as usize) as u64),
        }
    }
}

fn pack_u128(c: &KeyColumn, v: &Vector, selection: &Selection, out: &mut [u128]) {
    let (chunk, constant) = v.chunk();
    let positions = |j: usize| match (constant, selection) {
        (true, _) => 0,
        (_, Selection::All) => j,
        (_, Selection::Some(s)) => s[j] as usize,
    };
    if c.kind == Kind::Wide128 {
        // A single column: nothing else fits beside it, not even its NULL bit.
        for (j, o) in out.iter_mut().enumerate() {
            let i = positions(j);
            *o = if chunk.is_valid(i) { wide128(chunk, i) as u128 } else { 0 };
        }
        return;
    }
    let bits = match c.kind {
        Kind::Int { bits } => bits,
        Kind::F32 => 32,
        _ => 64,
    };
    let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
    with_word!(chunk, get => for (j, o) in out.iter_mut().enumerate() {
        let i = positions(j);
        let ok = chunk.is_valid(i);
        *o = *o << bits | if ok { get(i) & mask } else { 0 } as u128;
        if c.null_bit {
            *o = *o << 1 | !ok as u128;
        }
    });
}

fn wide128(chunk: &Chunk, i: usize) -> i128 {
    match &chunk.values {
        Values::I128(v) => v[i],
        Values::I256(v) => v[i].lo as i128,
        Values::U64(v) => v[i] as i128,
        Values::I64(v) => v[i] as i128,
        other => with_word!(Chunk::new(other.clone(), None), get => get(i) as i64 as i128),
    }
}

fn wide256(chunk: &Chunk, i: usize) -> I256 {
    match &chunk.values {
        Values::I256(v) => v[i],
        _ => I256::from(wide128(chunk, i)),
    }
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
