//! The parts of a key that is there: where each ends, what it says, and whether it lies within bounds.
//!
//! Numbers, dates and times are read back from their bytes; strings are weights and cannot be. But bytes are enough for
//! what orders as the key does: `=`, `<`, BETWEEN, IN and IS NULL of any part become ranges of the part's bytes
//! ([`PartBounds`]), and a part whose bytes lie outside tells the least bytes above them that would not
//! ([`PartBounds::place`]): so a walk through an index knows where to go on.

use super::{KeyEncoder, Part, value_width};
use crate::index::cursor::{Candidates, successor};
use catalog::{KeyBounds, KeyEnd};
use types::{Collation, I256, PhysType, Value};
use vector::{Bitmap, Chunk, Values};

/// Ranges of the bytes of one part, in order, apart from each other: `start <= bytes < end`, no end: unbounded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartBounds(Vec<(Vec<u8>, Option<Vec<u8>>)>);

/// Where a part's bytes lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartPlace<'a> {
    Inside,
    /// Outside; the bytes from which on the next range begins.
    Before(&'a [u8]),
    /// Behind all ranges.
    Behind,
}

impl PartBounds {
    /// Where `bytes` lie.
    pub fn place(&self, bytes: &[u8]) -> PartPlace<'_> {
        let i = self.0.partition_point(|(_, end)| end.as_ref().is_some_and(|e| e[..] <= *bytes));
        match self.0.get(i) {
            None => PartPlace::Behind,
            Some((start, _)) if *bytes < start[..] => PartPlace::Before(start),
            Some(_) => PartPlace::Inside,
        }
    }

    /// The end of the last range that lies below `bytes`, which lie outside: for walks from the greatest key down.
    /// `Some(None)`: it has none. `None`: no range lies below.
    pub fn end_below(&self, bytes: &[u8]) -> Option<Option<&[u8]>> {
        let i = self.0.partition_point(|(start, _)| start[..] <= *bytes);
        let (_, end) = self.0.get(i.checked_sub(1)?)?;
        Some(end.as_deref())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl KeyEncoder {
    /// The bytes that part `part` has within any of `bounds`, which are over that part alone.
    pub fn part_bounds(&self, part: usize, bounds: &[KeyBounds]) -> PartBounds {
        let mut all: Vec<(Vec<u8>, Option<Vec<u8>>)> = Vec::with_capacity(bounds.len());
        for b in bounds {
            let (low, high) = (self.end_of_part(part, &b.low), self.end_of_part(part, &b.high));
            let start = match b.low.inclusive {
                true => low,
                false => match successor(&low) {
                    Some(s) => s,
                    None => continue,
                },
            };
            let end = if b.high.inclusive { successor(&high) } else { Some(high) };
            if end.as_ref().is_none_or(|e| start < *e) {
                all.push((start, end));
            }
        }
        all.sort();
        let mut out: Vec<(Vec<u8>, Option<Vec<u8>>)> = Vec::with_capacity(all.len());
        for (start, end) in all {
            match out.last_mut() {
                Some((_, last)) if last.as_ref().is_none_or(|l| start <= *l) => {
                    if let Some(l) = last {
                        match end {
                            Some(e) if e <= *l => {}
                            other => *last = other,
                        }
                    }
                }
                _ => out.push((start, end)),
            }
        }
        PartBounds(out)
    }

    fn end_of_part(&self, part: usize, end: &KeyEnd) -> Vec<u8> {
        let p = &self.parts[part];
        let mut out = Vec::new();
        match end.values.first() {
            None => {}
            Some(Value::Bytes(text)) if end.starts_with => p.put_text_prefix(text, &mut out),
            Some(v) => p.encode(&Chunk::single(p.ty.phys(), v), 0, &mut out),
        }
        out
    }

    /// Where part `part` ends in `key`, in which it begins at `start`.
    #[inline]
    pub fn part_end(&self, part: usize, key: &[u8], start: usize) -> usize {
        self.parts[part].end(key, start).min(key.len())
    }

    /// Whether values of the part can be read back from keys as they were written.
    pub fn is_invertible(&self, part: usize) -> bool {
        let p = &self.parts[part];
        p.prefix_len.is_none() && !matches!(p.ty.phys(), PhysType::Str | PhysType::F32 | PhysType::F64)
    }

    /// Part `part` of the candidates' keys as a column.
    ///
    /// # Panics
    /// If the part is not invertible.
    pub fn decode_part(&self, part: usize, candidates: &Candidates) -> Chunk {
        assert!(self.is_invertible(part), "strings are not read back from keys");
        let p = &self.parts[part];
        let n = candidates.len();
        let width = value_width(p.ty.phys()).expect("of fixed width");
        let fixed: Option<usize> =
            self.parts[..part].iter().map(|p| Some(value_width(p.ty.phys())? + p.nullable as usize)).sum();
        let mut validity = p.nullable.then(|| Bitmap::ones(n));
        // The value's bytes as they were before they were inverted, in the lower end of 32.
        let mut raw = |i: usize| {
            let key = candidates.key(i);
            let mut at = fixed.unwrap_or_else(|| (0..part).fold(0, |at, q| self.part_end(q, key, at)));
            let flip = if p.descending { 0xFF } else { 0 };
            if let Some(bits) = &mut validity {
                bits.set(i, key[at] ^ flip == 1);
                at += 1;
            }
            let mut bytes = [0u8; 32];
            for (to, from) in bytes[32 - width..].iter_mut().zip(&key[at..at + width]) {
                *to = from ^ flip;
            }
            bytes
        };
        let mut low = |i: usize| u128::from_be_bytes(raw(i)[16..].try_into().expect("16 bytes"));
        macro_rules! signed {
            ($t:ty) => {
                (0..n).map(|i| (low(i) as $t) ^ <$t>::MIN).collect()
            };
        }
        macro_rules! unsigned {
            ($t:ty) => {
                (0..n).map(|i| low(i) as $t).collect()
            };
        }
        let mut values = match p.ty.phys() {
            PhysType::I8 => Values::I8(signed!(i8)),
            PhysType::I16 => Values::I16(signed!(i16)),
            PhysType::I32 => Values::I32(signed!(i32)),
            PhysType::I64 => Values::I64(signed!(i64)),
            PhysType::U8 => Values::U8(unsigned!(u8)),
            PhysType::U16 => Values::U16(unsigned!(u16)),
            PhysType::U32 => Values::U32(unsigned!(u32)),
            PhysType::U64 => Values::U64(unsigned!(u64)),
            PhysType::I128 => Values::I128((0..n).map(|i| (low(i) as i128) ^ i128::MIN).collect()),
            PhysType::I256 => Values::I256(
                (0..n)
                    .map(|i| {
                        let b = raw(i);
                        let half = |s: &[u8]| u128::from_be_bytes(s.try_into().expect("16 bytes"));
                        I256 { hi: (half(&b[..16]) ^ (1 << 127)) as i128, lo: half(&b[16..]) }
                    })
                    .collect(),
            ),
            PhysType::F32 | PhysType::F64 | PhysType::Str => unreachable!("asserted above"),
        };
        let validity = validity.filter(|v| !v.all());
        if let Some(bits) = &validity {
            // What lies under a NULL is any value of the type.
            vector::for_fixed!(&mut values,
                v => (0..n).filter(|i| !bits.get(*i)).for_each(|i| v[i] = Default::default()),
                str _s => {}, dict _d => {});
        }
        Chunk::new(values, validity)
    }
}

impl Part {
    /// What all strings have in front whose text begins with `text`.
    pub(super) fn put_text_prefix(&self, text: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        if self.nullable {
            out.push(1);
        }
        let clipped = self.clip(text);
        if self.collation.is_pad_space() {
            let before = out.len();
            self.collation.sort_key(clipped, out);
            // What ends the key is not part of the keys of longer strings.
            out.truncate((out.len() - super::PAD_END_BYTES).max(before));
        } else {
            self.put_text(clipped, out);
        }
        self.invert(start, out);
    }

    /// Where the part's bytes end that begin at `start`.
    fn end(&self, key: &[u8], start: usize) -> usize {
        let mut at = start;
        let flip = if self.descending { 0xFF } else { 0 };
        if let Some(width) = value_width(self.ty.phys()) {
            return at + self.nullable as usize + width;
        }
        if self.nullable {
            if key.get(at).is_none_or(|b| b ^ flip == 0) {
                return at + 1;
            }
            at += 1;
        }
        let byte = |at: usize| key.get(at).map(|b| b ^ flip);
        if self.collation == Collation::Utf8mb4_0900AiCi {
            // One byte, or three where it is odd, up to a zero.
            while let Some(b) = byte(at) {
                at += if b & 1 == 1 { 3 } else { 1 };
                if b == 0 {
                    break;
                }
            }
        } else if self.collation.is_pad_space() {
            // A space has a mark behind it; 2: the end.
            while let Some(b) = byte(at) {
                at += 1;
                if b == b' ' {
                    at += 1;
                    if byte(at - 1) == Some(2) {
                        break;
                    }
                }
            }
        } else {
            while let Some(b) = byte(at) {
                at += 1;
                if b == 0 {
                    at += 1;
                    if byte(at - 1) == Some(0) {
                        break;
                    }
                }
            }
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{COLLATIONS, encoder, int, text};
    use super::*;
    use proptest::prelude::*;
    use types::{IntSize, SqlType};

    fn end(values: Vec<Value>, inclusive: bool) -> KeyEnd {
        KeyEnd { values, inclusive, starts_with: false }
    }

    #[test]
    fn places_of_parts() {
        let e = encoder(&[(SqlType::BIGINT, None, true, false), (SqlType::BIGINT, None, false, false)]);
        let one = |v: i64| KeyBounds { low: end(vec![Value::Int(v)], true), high: end(vec![Value::Int(v)], true) };
        let from =
            |a: i64, b: i64| KeyBounds { low: end(vec![Value::Int(a)], false), high: end(vec![Value::Int(b)], true) };
        let bounds = e.part_bounds(1, &[from(7, 9), one(3), from(8, 12), from(5, 5)]);
        let bytes = |v: i64| e.encode(&[Value::Null, Value::Int(v)])[9..].to_vec();
        assert_eq!(bounds.place(&bytes(2)), PartPlace::Before(&bytes(3)));
        assert_eq!(bounds.place(&bytes(3)), PartPlace::Inside);
        assert_eq!(bounds.place(&bytes(4)), PartPlace::Before(&bytes(8)));
        assert_eq!(bounds.place(&bytes(12)), PartPlace::Inside);
        assert_eq!(bounds.place(&bytes(13)), PartPlace::Behind);
        assert_eq!(bounds.end_below(&bytes(2)), None);
        assert_eq!(bounds.end_below(&bytes(6)), Some(Some(&bytes(4)[..])));
        assert_eq!(bounds.end_below(&bytes(20)), Some(Some(&bytes(13)[..])));
        let nulls = KeyBounds { low: end(vec![Value::Null], true), high: end(vec![Value::Null], true) };
        let others = KeyBounds { low: end(vec![Value::Null], false), high: end(vec![], true) };
        let null = e.encode(&[Value::Null]);
        assert_eq!(e.part_bounds(0, &[nulls]).place(&null), PartPlace::Inside);
        let others = e.part_bounds(0, &[others]);
        assert_ne!(others.place(&null), PartPlace::Inside);
        assert_eq!(others.place(&e.encode(&[Value::Int(i64::MIN)])), PartPlace::Inside);
        assert_eq!(others.place(&e.encode(&[Value::Int(i64::MAX)])), PartPlace::Inside);
    }

    proptest! {
        #[test]
        fn parts_end_where_their_values_do(
            rows in proptest::collection::vec((text(), int(), text(), -128i64..128), 1..5),
            which in 0usize..7,
            desc in any::<[bool; 4]>(),
        ) {
            let c = COLLATIONS[which];
            let tiny = SqlType::Int { size: IntSize::I8, unsigned: false };
            let e = encoder(&[
                (SqlType::varchar(20, c), None, true, desc[0]),
                (SqlType::BIGINT, None, true, desc[1]),
                (SqlType::varchar(20, c), Some(2), true, desc[2]),
                (tiny, None, false, desc[3]),
            ]);
            let mut keys = Candidates::default();
            for (i, (s, n, t, x)) in rows.iter().enumerate() {
                let values = [s.clone(), n.clone(), t.clone(), Value::Int(*x)];
                let key = e.encode(&values);
                let mut at = 0;
                for p in 0..4 {
                    at = e.part_end(p, &key, at);
                    prop_assert_eq!(&e.encode(&values[..=p])[..], &key[..at]);
                }
                prop_assert_eq!(at, key.len());
                keys.push(&key, i as u64);
            }
            let (ints, tinies) = (e.decode_part(1, &keys), e.decode_part(3, &keys));
            for (i, (_, n, _, x)) in rows.iter().enumerate() {
                prop_assert_eq!(&ints.value(i, &SqlType::BIGINT), n);
                prop_assert_eq!(tinies.value(i, &tiny), Value::Int(*x));
            }
        }
    }
}
