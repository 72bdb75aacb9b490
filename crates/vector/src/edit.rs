//! Changing stored chunks: append, overwrite, trim, and bounds kept up with.
//!
//! A chunk that is being changed is owned by exactly one writer (`Arc::make_mut` in storage). Bounds are only ever
//! widened here; [`Chunk::compute_bounds`] makes them exact again.

use crate::carrier::is_narrower;
use crate::{Bitmap, Bounds, Chunk, DictValues, StrHeap, StrValues, Values};
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

    /// Appends rows of `from`; of two carriers of one family the wider one is the result's. String bytes are copied.
    pub fn append(&mut self, from: &Values, rows: Rows<'_>) {
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
        self.undict_in_place();
        let Values::Str(out) = self else { unreachable!("the forms are equal") };
        rows.for_each(|i| out.push(from.str_bytes(i)));
    }

    /// Overwrites position `i` with position `j` of `from`, of the same physical type or another carrier of its family.
    pub fn set(&mut self, i: usize, from: &Values, j: usize) {
        if from.phys() != self.phys() {
            assert!(self.set_carried(i, from, j), "{:?} values in a column of {:?}", from.phys(), self.phys());
            return;
        }
        same_fixed!(&mut *self, from, a, b => { a[i] = b[j]; return }, else ());
        let bytes = from.str_bytes(j);
        if let Values::Dict(d) = self
            && let Some(code) = d.code_of(bytes)
        {
            d.codes[i] = code;
            return;
        }
        self.undict_in_place();
        let Values::Str(out) = self else { unreachable!("the forms are equal") };
        out.set(i, bytes);
    }

    /// Dictionary codes become views, in place.
    pub fn undict_in_place(&mut self) {
        if let Values::Dict(d) = self {
            *self = Values::Str(d.to_str());
        }
    }

    pub fn truncate(&mut self, len: usize) {
        crate::for_fixed!(self, v => v.truncate(len), str s => s.views.truncate(len), dict d => d.codes.truncate(len))
    }

    pub fn reserve(&mut self, additional: usize) {
        crate::for_fixed!(self, v => v.reserve(additional), str s => s.views.reserve(additional), dict d => d.codes.reserve(additional))
    }

    /// Gives back unused capacity, string heaps included where nobody shares them.
    pub fn shrink(&mut self) {
        crate::for_fixed!(self, v => v.shrink_to_fit(), str s => s.shrink(), dict d => d.codes.shrink_to_fit())
    }

    /// The values at `positions` with nothing shared: strings are copied into a heap of their own.
    pub fn gather_owned(&self, positions: &[u16]) -> Values {
        match self {
            Values::Str(_) | Values::Dict(_) => {
                let mut out = StrValues { views: Vec::with_capacity(positions.len()), heap: Default::default() };
                for &i in positions {
                    out.push(self.str_bytes(i as usize));
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
        self.values.append(&from.values, rows);
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

    /// See [`Values::gather_owned`].
    pub fn gather_owned(&self, positions: &[u16]) -> Chunk {
        let validity = self.gather_validity(positions);
        Chunk { values: self.values.gather_owned(positions), validity, bounds: self.bounds }
    }

    fn gather_validity(&self, positions: &[u16]) -> Option<Bitmap> {
        let v = self.validity.as_ref()?;
        let mut out = Bitmap::zeros(positions.len());
        for (o, &i) in positions.iter().enumerate() {
            out.set(o, v.get(i as usize));
        }
        if out.all() { None } else { Some(out) }
    }

    /// See [`Values::shrink`].
    pub fn shrink(&mut self) {
        self.values.shrink();
    }
}

impl StrValues {
    /// Bytes of the pointing strings: what a heap without garbage would hold.
    pub fn heap_bytes_live(&self) -> usize {
        self.views.iter().filter(|v| !v.is_inline()).map(|v| v.len()).sum()
    }

    /// Copies the live bytes into one new block of exactly their size; the garbage of overwritten strings goes.
    pub fn compact(&mut self) {
        let mut block = Vec::with_capacity(self.heap_bytes_live());
        for v in &mut self.views {
            if !v.is_inline() {
                let offset = block.len() as u32;
                block.extend_from_slice(v.bytes(&self.heap));
                *v = crate::StrView::pointing(&block[offset as usize..], 0, offset);
            }
        }
        let blocks = if block.is_empty() { vec![] } else { vec![Arc::new(block)] };
        self.heap = Arc::new(StrHeap { blocks });
    }

    /// Gives back unused capacity of views and of unshared heap blocks.
    pub fn shrink(&mut self) {
        self.views.shrink_to_fit();
        if let Some(heap) = Arc::get_mut(&mut self.heap) {
            heap.blocks.shrink_to_fit();
            for b in &mut heap.blocks {
                if let Some(b) = Arc::get_mut(b) {
                    b.shrink_to_fit();
                }
            }
        }
    }
}

impl DictValues {
    /// The code of `bytes`, if the dictionary has them.
    pub fn code_of(&self, bytes: &[u8]) -> Option<u8> {
        let s = &self.dict.strings;
        (0..s.views.len()).find(|&i| s.bytes(i) == bytes).map(|i| i as u8)
    }
}
