//! Changing stored chunks: append, overwrite, trim, and bounds kept up with.
//!
//! A chunk that is being changed is owned by exactly one writer (`Arc::make_mut` in storage). Bounds are only ever
//! widened here; [`Chunk::compute_bounds`] makes them exact again.

use crate::carrier::is_narrower;
use crate::str_heap::OWN_BLOCK_BYTES_MIN;
use crate::strings::StrSource;
use crate::{Bitmap, Bounds, Chunk, DictValues, INLINE_BYTES_MAX, StrHeap, StrValues, StrView, Values};
use std::ops::Range;
use std::sync::Arc;
use types::{PhysType, Value};

/// Which rows of a source chunk are meant.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'a> {
    Range(usize, usize),
    At(&'a [u16]),
}

impl Rows<'_> {
    pub fn len(&self) -> usize {
        match self {
            Rows::Range(from, to) => to - from,
            Rows::At(p) => p.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    fn for_each(&self, mut f: impl FnMut(usize)) {
        match self {
            Rows::Range(from, to) => (*from..*to).for_each(f),
            Rows::At(p) => p.iter().for_each(|&i| f(i as usize)),
        }
    }
}

impl From<Range<usize>> for Rows<'_> {
    fn from(r: Range<usize>) -> Self {
        Rows::Range(r.start, r.end)
    }
}

fn extend<T: Copy>(out: &mut Vec<T>, from: &[T], rows: Rows<'_>) {
    match rows {
        Rows::Range(a, b) => out.extend_from_slice(&from[a..b]),
        Rows::At(p) => out.extend(p.iter().map(|&i| from[i as usize])),
    }
}

/// Runs `$body` with `$a` and `$b` bound to the Vecs of two fixed-width arrays of one type, else `$other`.
macro_rules! same_fixed {
    ($x:expr, $y:expr, $a:ident, $b:ident => $body:expr, else $other:expr) => {
        match ($x, $y) {
            (Values::I8($a), Values::I8($b)) => $body,
            (Values::U8($a), Values::U8($b)) => $body,
            (Values::I16($a), Values::I16($b)) => $body,
            (Values::U16($a), Values::U16($b)) => $body,
            (Values::I32($a), Values::I32($b)) => $body,
            (Values::U32($a), Values::U32($b)) => $body,
            (Values::I64($a), Values::I64($b)) => $body,
            (Values::U64($a), Values::U64($b)) => $body,
            (Values::I128($a), Values::I128($b)) => $body,
            (Values::I256($a), Values::I256($b)) => $body,
            (Values::F32($a), Values::F32($b)) => $body,
            (Values::F64($a), Values::F64($b)) => $body,
            _ => $other,
        }
    };
}

impl Values {
    /// The bytes at `i` of strings.
    ///
    /// # Panics
    /// If these are not strings.
    #[inline]
    pub fn str_bytes(&self, i: usize) -> &[u8] {
        match self {
            Values::Str(s) => s.bytes(i),
            Values::Dict(d) => d.bytes(i),
            other => panic!("string access to {:?} values", other.phys()),
        }
    }

    /// Appends rows of `from`; of two carriers of one family the wider one is the result's. String bytes are copied,
    /// but for long ones, whose blocks are shared.
    pub fn append(&mut self, from: &Values, rows: Rows<'_>) {
        self.append_where(from, rows, |_| true);
    }

    /// The same; strings that are not `valid` come as empty ones.
    fn append_where(&mut self, from: &Values, rows: Rows<'_>, valid: impl Fn(usize) -> bool) {
        if is_narrower(self.phys(), from.phys()) {
            *self = self.widened(from.phys()).into_owned();
        }
        // Rows of a leaf's narrow array come a few at a time: the others are left alone.
        if self.append_narrower(from, rows) {
            return;
        }
        if let (Values::Dict(a), Values::Dict(b)) = (&mut *self, from)
            && Arc::ptr_eq(&a.dict, &b.dict)
        {
            return extend(&mut a.codes, &b.codes, rows);
        }
        same_fixed!(&mut *self, from, a, b => return extend(a, b, rows), else ());
        let from = from.strings();
        self.undict_in_place();
        let Values::Str(out) = self else { unreachable!("the forms are equal") };
        rows.for_each(|i| if valid(i) { out.push_from(from, i) } else { out.views.push(StrView::EMPTY) });
    }

    fn strings(&self) -> StrSource<'_> {
        match self {
            Values::Str(s) => StrSource::Str(s),
            Values::Dict(d) => StrSource::Dict(d),
            other => panic!("string access to {:?} values", other.phys()),
        }
    }

    /// Overwrites position `i` with position `j` of `from`, of the same physical type or another carrier of its family.
    pub fn set(&mut self, i: usize, from: &Values, j: usize) {
        if from.phys() != self.phys() {
            assert!(self.set_carried(i, from, j), "{:?} values in a column of {:?}", from.phys(), self.phys());
            return;
        }
        same_fixed!(&mut *self, from, a, b => { a[i] = b[j]; return }, else ());
        if let Values::Dict(d) = self
            && let Some(code) = d.code_of(from.str_bytes(j))
        {
            d.codes[i] = code;
            return;
        }
        self.undict_in_place();
        let Values::Str(out) = self else { unreachable!("the forms are equal") };
        out.set_from(i, from.strings(), j);
    }

    /// The string at `i`, if these are plain strings, becomes empty: it is no row's, or NULL.
    pub fn clear_string(&mut self, i: usize) {
        if let Values::Str(s) = self {
            s.clear(i);
        }
    }

    /// See [`StrValues::tidy`].
    #[inline]
    pub fn tidy(&mut self) {
        if let Values::Str(s) = self {
            s.tidy();
        }
    }

    /// See [`StrValues::tidy_appended`].
    #[inline]
    pub fn tidy_appended(&mut self) {
        if let Values::Str(s) = self {
            s.tidy_appended();
        }
    }

    /// Dictionary codes become views, in place.
    pub fn undict_in_place(&mut self) {
        if let Values::Dict(d) = self {
            let mut strings = d.to_str();
            strings.recount();
            *self = Values::Str(strings);
        }
    }

    pub fn truncate(&mut self, len: usize) {
        crate::for_fixed!(self, v => v.truncate(len), str s => s.truncate(len), dict d => d.codes.truncate(len))
    }

    pub fn reserve(&mut self, additional: usize) {
        crate::for_fixed!(self, v => v.reserve(additional), str s => s.views.reserve(additional), dict d => d.codes.reserve(additional))
    }

    /// Gives back unused capacity and the garbage of string heaps.
    pub fn shrink(&mut self) {
        crate::for_fixed!(self, v => v.shrink_to_fit(), str s => s.shrink(), dict d => d.codes.shrink_to_fit())
    }

    /// The values at `positions`, those that are not `valid` being anything. Short strings are copied into a heap of
    /// just their size, blocks of long ones are shared.
    fn gather_owned(&self, positions: &[u16], valid: impl Fn(usize) -> bool) -> Values {
        match self {
            Values::Str(_) | Values::Dict(_) => {
                let is_packed = |n: &usize| (INLINE_BYTES_MAX + 1..OWN_BLOCK_BYTES_MIN).contains(n);
                let wanted = || positions.iter().map(|&i| i as usize).filter(|i| valid(*i));
                let bytes = wanted().map(|i| self.str_bytes(i).len()).filter(is_packed).sum();
                let heap = StrHeap::with_room(bytes);
                let mut out = StrValues { views: Vec::with_capacity(positions.len()), heap: heap.into() };
                let from = self.strings();
                for i in positions.iter().map(|&i| i as usize) {
                    if valid(i) { out.push_from(from, i) } else { out.views.push(StrView::EMPTY) }
                }
                Values::Str(out)
            }
            fixed => fixed.gather(positions),
        }
    }

    /// The range of the valid values of an integer-like array; `None` for other arrays and for values past i64.
    /// Without any valid value: 0..=0.
    pub fn int_bounds(&self, validity: Option<&Bitmap>) -> Option<Bounds> {
        match self {
            Values::I8(v) => int_bounds(v, validity),
            Values::U8(v) => int_bounds(v, validity),
            Values::I16(v) => int_bounds(v, validity),
            Values::U16(v) => int_bounds(v, validity),
            Values::I32(v) => int_bounds(v, validity),
            Values::U32(v) => int_bounds(v, validity),
            Values::I64(v) => int_bounds(v, validity),
            Values::U64(v) => int_bounds(v, validity),
            _ => None,
        }
    }

    /// The integer at `i` as i64; `None` for other kinds and for values past i64.
    #[inline]
    pub fn int_at(&self, i: usize) -> Option<i64> {
        Some(match self {
            Values::I8(v) => v[i] as i64,
            Values::U8(v) => v[i] as i64,
            Values::I16(v) => v[i] as i64,
            Values::U16(v) => v[i] as i64,
            Values::I32(v) => v[i] as i64,
            Values::U32(v) => v[i] as i64,
            Values::I64(v) => v[i],
            Values::U64(v) => return i64::try_from(v[i]).ok(),
            _ => return None,
        })
    }
}

fn int_bounds<T: Copy + Ord + TryInto<i64>>(v: &[T], validity: Option<&Bitmap>) -> Option<Bounds> {
    let (min, max) = match validity {
        None => {
            let &first = v.first()?;
            v.iter().fold((first, first), |(lo, hi), &x| (lo.min(x), hi.max(x)))
        }
        Some(valid) => {
            let mut ones = valid.iter_ones();
            let Some(first) = ones.next() else {
                return (!v.is_empty()).then_some(Bounds { min: 0, max: 0 });
            };
            ones.fold((v[first], v[first]), |(lo, hi), i| (lo.min(v[i]), hi.max(v[i])))
        }
    };
    Some(Bounds { min: min.try_into().ok()?, max: max.try_into().ok()? })
}

impl Bounds {
    /// The smallest range that contains both.
    pub fn union(self, other: Bounds) -> Bounds {
        Bounds { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

impl Chunk {
    /// No rows yet, room for `capacity`.
    pub fn empty(phys: PhysType, capacity: usize) -> Chunk {
        Chunk::new(Values::with_capacity(phys, capacity), None)
    }

    /// One row: `value`, of the column's type (see [`crate::ChunkBuilder::push`]).
    pub fn single(phys: PhysType, value: &Value) -> Chunk {
        let mut b = crate::ChunkBuilder::new(phys, 1);
        b.push(value);
        b.finish()
    }

    /// Sets `bounds` to the exact range of the values.
    pub fn compute_bounds(&mut self) {
        self.bounds = self.values.int_bounds(self.validity.as_ref());
    }

    fn widen(&mut self, was_empty: bool, with: Option<Bounds>) {
        self.bounds = match (self.bounds, with) {
            (_, new) if was_empty => new,
            (Some(old), Some(new)) => Some(old.union(new)),
            _ => None,
        };
    }

    /// Appends rows of `from`; bounds are widened.
    pub fn append(&mut self, from: &Chunk, rows: Rows<'_>) {
        let before = self.len();
        self.values.append_where(&from.values, rows, |i| from.is_valid(i));
        let after = self.len();
        let nulls = from.validity.as_ref().is_some_and(|v| match rows {
            Rows::Range(a, b) => (a..b).any(|i| !v.get(i)),
            Rows::At(p) => p.iter().any(|&i| !v.get(i as usize)),
        });
        if nulls || self.validity.is_some() {
            let out = self.validity.get_or_insert_with(|| Bitmap::ones(before));
            match &from.validity {
                Some(v) => rows.for_each(|i| out.push(v.get(i))),
                None => rows.for_each(|_| out.push(true)),
            }
        }
        let mut added: Option<Bounds> = None;
        let mut known = true;
        for i in before..after {
            if self.is_valid(i) {
                match self.values.int_at(i) {
                    Some(v) => {
                        added = Some(added.map_or(Bounds { min: v, max: v }, |b| b.union(Bounds { min: v, max: v })))
                    }
                    None => {
                        known = false;
                        break;
                    }
                }
            }
        }
        match added {
            _ if !known => self.bounds = None,
            Some(b) => self.widen(before == 0, Some(b)),
            None if before == 0 && after > 0 => self.widen(true, self.values.int_bounds(self.validity.as_ref())),
            None => {}
        }
    }

    /// Overwrites position `i` with position `j` of `from`; bounds are widened.
    pub fn set(&mut self, i: usize, from: &Chunk, j: usize) {
        let valid = from.is_valid(j);
        if valid {
            self.values.set(i, &from.values, j);
            if let Some(b) = self.bounds {
                self.bounds = self.values.int_at(i).map(|v| b.union(Bounds { min: v, max: v }));
            }
        } else {
            self.values.clear_string(i);
        }
        match &mut self.validity {
            Some(v) => v.set(i, valid),
            None if valid => {}
            None => {
                let mut v = Bitmap::ones(self.values.len());
                v.set(i, false);
                self.validity = Some(v);
            }
        }
    }

    /// The rows at `positions` with no heap shared: short strings are copied, blocks of long ones are shared.
    pub fn gather_owned(&self, positions: &[u16]) -> Chunk {
        let validity = self.gather_validity(positions);
        let values = self.values.gather_owned(positions, |i| self.is_valid(i));
        Chunk { values, validity, bounds: self.bounds }
    }

    fn gather_validity(&self, positions: &[u16]) -> Option<Bitmap> {
        let v = self.validity.as_ref()?;
        let mut out = Bitmap::zeros(positions.len());
        for (o, &i) in positions.iter().enumerate() {
            out.set(o, v.get(i as usize));
        }
        if out.all() { None } else { Some(out) }
    }

    /// The string at `i` is no row's any more: its bytes are garbage.
    pub fn clear_string(&mut self, i: usize) {
        self.values.clear_string(i);
    }

    /// See [`StrValues::tidy`].
    #[inline]
    pub fn tidy(&mut self) {
        self.values.tidy();
    }

    /// See [`Values::shrink`].
    pub fn shrink(&mut self) {
        self.values.shrink();
    }
}

impl DictValues {
    /// The code of `bytes`, if the dictionary has them.
    pub fn code_of(&self, bytes: &[u8]) -> Option<u8> {
        let s = &self.dict.strings;
        (0..s.views.len()).find(|&i| s.bytes(i) == bytes).map(|i| i as u8)
    }
}
