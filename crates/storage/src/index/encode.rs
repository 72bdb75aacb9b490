//! Keys of ordered indexes as bytes whose memcmp order is the index's order.
//!
//! ```text
//!   key  = part part ...            part = [null: 1 byte, if nullable] value
//!   null = 0 NULL (a fixed-width value follows as zeros), 1 not NULL: NULLs come first, as MySQL has it
//!   integers, dates, times          big-endian, sign bit flipped, as wide as the column
//!   decimals                        the unscaled integer likewise, 16 or 32 bytes above 18 digits
//!   floats                          IEEE bits, sign bit flipped; all bits flipped where negative
//!   utf8mb4_0900_ai_ci              weights: those of ASCII as one byte, others as three (see `AsciiWeights`); then 0.
//!                                   Of a prefix of n characters the first n weights: characters without a weight would
//!                                   take the places of those that decide the order
//!   other PAD SPACE collations      sort key, which ends itself
//!   binary, utf8mb4_0900_bin        the bytes with 0 as 0 1; then 0 0
//!   DESC                            all bytes of the part inverted
//! ```
//! No part's encoding is a prefix of another value's, so parts need no delimiters, and the encoding of leading parts is
//! a prefix of the key's. Equal keys are equal bytes exactly where MySQL's `=` says so. Strings cannot be read back.

mod parts;

use catalog::{IndexDef, TableDef};
pub use parts::{PartBounds, PartPlace};
use std::sync::LazyLock;
use types::{Collation, I256, PhysType, SqlType, Value};
use vector::{Chunk, Values};

#[derive(Clone, Debug)]
struct Part {
    ty: SqlType,
    column: usize,
    collation: Collation,
    /// Characters (bytes for binary strings) that count.
    prefix_len: Option<usize>,
    nullable: bool,
    descending: bool,
}

/// What turns rows and values into an index's keys.
#[derive(Clone, Debug)]
pub struct KeyEncoder {
    parts: Box<[Part]>,
    /// The table's columns, in order of the parts.
    columns: Box<[usize]>,
    /// Every key has this many bytes.
    width: Option<usize>,
}

fn value_width(phys: PhysType) -> Option<usize> {
    (phys != PhysType::Str).then(|| phys.bytes())
}

impl KeyEncoder {
    pub fn new(table: &TableDef, index: &IndexDef) -> KeyEncoder {
        let parts: Box<[Part]> = index
            .parts
            .iter()
            .map(|p| {
                let column = &table.columns[p.column_idx];
                Part {
                    ty: column.ty,
                    column: p.column_idx,
                    collation: column.ty.collation().unwrap_or(Collation::Binary),
                    prefix_len: p.prefix_len.map(|n| n as usize),
                    nullable: column.nullable,
                    descending: p.descending,
                }
            })
            .collect();
        let width = parts.iter().map(|p| Some(value_width(p.ty.phys())? + p.nullable as usize)).sum();
        KeyEncoder { columns: parts.iter().map(|p| p.column).collect(), parts, width }
    }

    /// The table's columns that make up a key.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    pub fn part_count(&self) -> usize {
        self.parts.len()
    }

    /// How many bytes every key has, if all have the same.
    pub fn width(&self) -> Option<usize> {
        self.width
    }

    /// Whether equal key bytes of the part mean equal values: not so for prefixes. A bound on such a part has to
    /// include the keys equal to it.
    pub fn is_whole(&self, part: usize) -> bool {
        self.parts[part].prefix_len.is_none()
    }

    /// The key prefix of `values`, one for each leading part, of exactly the columns' types (or NULL).
    pub fn encode(&self, values: &[Value]) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode_into(values, &mut out);
        out
    }

    /// Appends the key prefix of `values`.
    pub fn encode_into(&self, values: &[Value], out: &mut Vec<u8>) {
        assert!(values.len() <= self.parts.len());
        for (part, value) in self.parts.iter().zip(values) {
            let chunk = Chunk::single(part.ty.phys(), value);
            part.encode(&chunk, 0, out);
        }
    }

    /// The prefix of all keys whose leading parts are `values` and whose next part, a string that is not NULL, begins
    /// with `text`: for LIKE 'text%'. Where trailing spaces do not count it covers a little more.
    pub fn encode_text_prefix(&self, values: &[Value], text: &[u8]) -> Vec<u8> {
        let mut out = self.encode(values);
        let part = &self.parts[values.len()];
        part.put_text_prefix(text, &mut out);
        out
    }

    /// The key whose parts are these integers: of an index whose parts are all integer-like and not nullable.
    pub(crate) fn encode_ints(&self, ints: &[i64]) -> IntKey {
        let mut out = IntKey { bytes: [0; INT_KEY_BYTES_MAX], len: 0 };
        for (part, &v) in self.parts.iter().zip(ints) {
            let phys = part.ty.phys();
            let n = value_width(phys).expect("an integer");
            let signed = matches!(phys, PhysType::I8 | PhysType::I16 | PhysType::I32 | PhysType::I64);
            let v = if signed { v as u64 ^ (1 << (8 * n - 1)) } else { v as u64 };
            out.bytes[out.len..out.len + n].copy_from_slice(&v.to_be_bytes()[8 - n..]);
            out.len += n;
        }
        out
    }

    /// Appends the key of the row whose column `c` lies at `at(c)`.
    pub fn encode_row<'a>(&self, at: &dyn Fn(usize) -> (&'a Chunk, usize), out: &mut Vec<u8>) {
        for part in &self.parts {
            let (chunk, i) = at(part.column);
            part.encode(chunk, i, out);
        }
    }

    /// Appends the key at position `row` of `chunks`, one a part.
    pub fn encode_at(&self, chunks: &[&Chunk], row: usize, out: &mut Vec<u8>) {
        for (part, chunk) in self.parts.iter().zip(chunks) {
            part.encode(chunk, row, out);
        }
    }

    /// Whether the row whose column `c` lies at `at(c)` has this key. `scratch` saves an allocation.
    pub fn has_key<'a>(&self, at: &dyn Fn(usize) -> (&'a Chunk, usize), key: &[u8], scratch: &mut Vec<u8>) -> bool {
        scratch.clear();
        self.encode_row(at, scratch);
        scratch == key
    }
}

const INT_KEY_BYTES_MAX: usize = 8 * super::key::RUN_PARTS_MAX;

/// A key of integers.
pub(crate) struct IntKey {
    bytes: [u8; INT_KEY_BYTES_MAX],
    len: usize,
}

impl std::ops::Deref for IntKey {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// What a PAD SPACE sort key ends with: see `types::collation::simple::padded_key`.
const PAD_END_BYTES: usize = 2;

impl Part {
    fn invert(&self, start: usize, out: &mut [u8]) {
        if self.descending {
            out[start..].iter_mut().for_each(|b| *b = !*b);
        }
    }

    /// The leading part of a string that counts.
    fn clip<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        match self.prefix_len {
            None => bytes,
            Some(n) if self.collation == Collation::Binary => &bytes[..n.min(bytes.len())],
            Some(_) if self.collation == Collation::Utf8mb4_0900AiCi => bytes,
            Some(n) => &bytes[..types::collation::utf8::offset_of_char(bytes, n)],
        }
    }

    /// Text without what ends it. Not for PAD SPACE collations.
    fn put_text(&self, text: &[u8], out: &mut Vec<u8>) {
        if self.collation == Collation::Utf8mb4_0900AiCi {
            return ASCII_WEIGHTS.put(text, self.prefix_len.unwrap_or(usize::MAX), out);
        }
        for &b in text {
            out.push(b);
            if b == 0 {
                out.push(1);
            }
        }
    }

    fn encode(&self, chunk: &Chunk, i: usize, out: &mut Vec<u8>) {
        let start = out.len();
        let valid = chunk.is_valid(i);
        if self.nullable {
            out.push(valid as u8);
        }
        let phys = self.ty.phys();
        if valid {
            self.put(phys, &chunk.values, i, out);
        } else if let Some(n) = value_width(phys) {
            out.resize(out.len() + n, 0);
        }
        self.invert(start, out);
    }

    #[inline]
    fn put(&self, phys: PhysType, values: &Values, i: usize, out: &mut Vec<u8>) {
        match phys {
            PhysType::I8 | PhysType::I16 | PhysType::I32 | PhysType::I64 => {
                let n = value_width(phys).expect("an integer");
                let v = values.int_at(i).unwrap_or_default() as u64 ^ (1 << (8 * n - 1));
                out.extend_from_slice(&v.to_be_bytes()[8 - n..]);
            }
            PhysType::U8 | PhysType::U16 | PhysType::U32 | PhysType::U64 => {
                let v = match values {
                    Values::U64(v) => v[i],
                    other => other.int_at(i).unwrap_or_default() as u64,
                };
                let n = value_width(phys).expect("an integer");
                out.extend_from_slice(&v.to_be_bytes()[8 - n..]);
            }
            PhysType::I128 => {
                let v = wide(values, i).lo ^ (1 << 127);
                out.extend_from_slice(&v.to_be_bytes());
            }
            PhysType::I256 => {
                let v = wide(values, i);
                out.extend_from_slice(&(v.hi as u128 ^ (1 << 127)).to_be_bytes());
                out.extend_from_slice(&v.lo.to_be_bytes());
            }
            PhysType::F32 => {
                let v = if let Values::F32(v) = values { v[i] } else { 0.0 };
                let bits = if v == 0.0 { 0 } else { v.to_bits() };
                let bits = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
                out.extend_from_slice(&bits.to_be_bytes());
            }
            PhysType::F64 => {
                let v = match values {
                    Values::F64(v) => v[i],
                    Values::F32(v) => v[i] as f64,
                    _ => 0.0,
                };
                let bits = if v == 0.0 { 0 } else { v.to_bits() };
                let bits = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
                out.extend_from_slice(&bits.to_be_bytes());
            }
            PhysType::Str => {
                let text = self.clip(values.str_bytes(i));
                if self.collation.is_pad_space() {
                    self.collation.sort_key(text, out);
                } else {
                    self.put_text(text, out);
                    let end: &[u8] = if self.collation == Collation::Utf8mb4_0900AiCi { &[0] } else { &[0, 0] };
                    out.extend_from_slice(end);
                }
            }
        }
    }
}

/// Weights of utf8mb4_0900_ai_ci as bytes of different number, in their order: most text is ASCII, and its keys are as
/// long as it is.
///
/// ```text
///   the n-th of ASCII's weights      2n + 2
///   a weight above it, not ASCII's   2n + 3, then the weight's two bytes
///   a weight below all of ASCII's    1, then the weight's two bytes
/// ```
struct AsciiWeights {
    /// Ascending.
    weights: Vec<u16>,
    /// The code of each ASCII character; 0: it has no weight.
    codes: [u8; 128],
}

static ASCII_WEIGHTS: LazyLock<AsciiWeights> = LazyLock::new(|| {
    let weights_of = |c: u8| {
        let mut key = Vec::new();
        Collation::Utf8mb4_0900AiCi.sort_key(&[c], &mut key);
        key.chunks_exact(2).map(|w| u16::from_be_bytes([w[0], w[1]])).collect::<Vec<_>>()
    };
    let mut weights: Vec<u16> = (0..128).flat_map(weights_of).collect();
    weights.sort_unstable();
    weights.dedup();
    assert!(weights.len() * 2 + 1 < 256, "the codes of ASCII fit a byte");
    let code = |c: usize| match weights_of(c as u8)[..] {
        [] => 0,
        [w] => weights.binary_search(&w).expect("it is among them") as u8 * 2 + 2,
        _ => panic!("an ASCII character has one weight at most"),
    };
    let codes = std::array::from_fn(code);
    AsciiWeights { weights, codes }
});

impl AsciiWeights {
    /// The first `most` weights of the text. A pair of weights that stands for one character counts once.
    fn put(&self, text: &[u8], most: usize, out: &mut Vec<u8>) {
        if text.is_ascii() {
            let codes = text.iter().map(|&c| self.codes[c as usize]).filter(|code| *code != 0);
            out.extend(codes.take(most));
            return;
        }
        let mut key = Vec::new();
        Collation::Utf8mb4_0900AiCi.sort_key(text, &mut key);
        let (mut left, mut of_pair) = (most, false);
        for weight in key.chunks_exact(2).map(|w| u16::from_be_bytes([w[0], w[1]])) {
            if !of_pair {
                if left == 0 {
                    break;
                }
                left -= 1;
            }
            of_pair = !of_pair && weight >= FIRST_OF_PAIR;
            match self.weights.binary_search(&weight) {
                Ok(n) => out.push(n as u8 * 2 + 2),
                Err(above) => {
                    out.push(above as u8 * 2 + 1);
                    out.extend_from_slice(&weight.to_be_bytes());
                }
            }
        }
    }
}

/// From here on a weight is the first of the two of a character that the collation's table does not list.
const FIRST_OF_PAIR: u16 = 0xFB00;

fn wide(values: &Values, i: usize) -> I256 {
    match values {
        Values::I128(v) => I256::from(v[i]),
        Values::I256(v) => v[i],
        Values::U64(v) => I256::from(v[i] as i128),
        other => I256::from(other.int_at(i).unwrap_or_default() as i128),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Ordering;

    pub(super) fn encoder(parts: &[(SqlType, Option<usize>, bool, bool)]) -> KeyEncoder {
        let parts: Box<[Part]> = parts
            .iter()
            .enumerate()
            .map(|(column, &(ty, prefix_len, nullable, descending))| Part {
                ty,
                column,
                collation: ty.collation().unwrap_or(Collation::Binary),
                prefix_len,
                nullable,
                descending,
            })
            .collect();
        let width = parts.iter().map(|p| Some(value_width(p.ty.phys())? + p.nullable as usize)).sum();
        KeyEncoder { columns: (0..parts.len()).collect(), parts, width }
    }

    pub(super) const COLLATIONS: [Collation; 7] = [
        Collation::Utf8mb4_0900AiCi,
        Collation::Utf8mb4GeneralCi,
        Collation::Utf8mb4Bin,
        Collation::Utf8mb4_0900Bin,
        Collation::Latin1SwedishCi,
        Collation::Latin1Bin,
        Collation::Binary,
    ];

    fn order(a: &Value, b: &Value, collation: Collation) -> Ordering {
        match (a, b) {
            (Value::Null, Value::Null) => Ordering::Equal,
            (Value::Null, _) => Ordering::Less,
            (_, Value::Null) => Ordering::Greater,
            (Value::Int(a), Value::Int(b)) => a.cmp(b),
            (Value::Double(a), Value::Double(b)) => a.partial_cmp(b).expect("no NaN"),
            (Value::Bytes(a), Value::Bytes(b)) => collation.compare(a, b),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn text() -> impl Strategy<Value = Value> {
        let character = prop_oneof![proptest::sample::select(vec![
            'a',
            'B',
            ' ',
            '\0',
            '\t',
            'é',
            'ß',
            '\u{301}',
            '\u{AD}',
            '\u{FB01}',
            '中',
            '\u{1F600}',
            'z',
            'Z'
        ]),];
        let value = proptest::collection::vec(character, 0..6);
        prop_oneof![1 => Just(Value::Null), 9 => value.prop_map(|c| Value::str(&c.into_iter().collect::<String>()))]
    }

    pub(super) fn int() -> impl Strategy<Value = Value> {
        prop_oneof![Just(Value::Null), (-3i64..3).prop_map(Value::Int), any::<i64>().prop_map(Value::Int)]
    }

    fn double() -> impl Strategy<Value = Value> {
        proptest::sample::select(vec![f64::MIN, -1.5, -0.0, 0.0, 1e-300, -1e-300, 2.0, f64::MAX])
            .prop_map(Value::Double)
    }

    proptest! {
        #[test]
        fn keys_order_as_rows_do(
            a in (text(), int(), double()),
            b in (text(), int(), double()),
            which in 0usize..7,
            desc in any::<[bool; 3]>(),
        ) {
            let collation = COLLATIONS[which];
            let e = encoder(&[
                (SqlType::varchar(20, collation), None, true, desc[0]),
                (SqlType::BIGINT, None, true, desc[1]),
                (SqlType::Double, None, false, desc[2]),
            ]);
            let turn = |o: Ordering, desc: bool| if desc { o.reverse() } else { o };
            let wanted = turn(order(&a.0, &b.0, collation), desc[0])
                .then(turn(order(&a.1, &b.1, collation), desc[1]))
                .then(turn(order(&a.2, &b.2, collation), desc[2]));
            let ka = e.encode(&[a.0.clone(), a.1.clone(), a.2]);
            let kb = e.encode(&[b.0, b.1, b.2]);
            prop_assert_eq!(ka.cmp(&kb), wanted);
            prop_assert!(ka.starts_with(&e.encode(&[a.0, a.1])));
        }

        /// What is found by a prefix is never too little: keys order as the whole strings do, or are equal.
        #[test]
        fn keys_of_prefixes_order_as_strings_do(
            a in text(),
            b in text(),
            n in 1usize..4,
            which in 0usize..7,
            desc in any::<bool>(),
        ) {
            let collation = COLLATIONS[which];
            let e = encoder(&[(SqlType::varchar(20, collation), Some(n), true, desc)]);
            let wanted = order(&a, &b, collation);
            let found = e.encode(&[a]).cmp(&e.encode(&[b]));
            let wanted = if desc { wanted.reverse() } else { wanted };
            prop_assert!(found.is_eq() || found == wanted);
        }

        #[test]
        fn a_text_prefix_is_a_key_prefix(
            a in text(),
            n in 0usize..6,
            which in 0usize..7,
            desc in any::<bool>(),
            clip in proptest::option::of(1usize..4),
        ) {
            let collation = COLLATIONS[which];
            let e = encoder(&[(SqlType::varchar(20, collation), clip, true, desc)]);
            let Value::Bytes(text) = &a else { return Ok(()) };
            let cut = types::collation::utf8::offset_of_char(text, n);
            let prefix = e.encode_text_prefix(&[], &text[..cut]);
            prop_assert!(e.encode(std::slice::from_ref(&a)).starts_with(&prefix));
        }
    }
}
