//! The chunks of the next leaf of a load, column by column.
//!
//! Strings go as codes as long as the column's dictionary ([`crate::dict`]) takes them, and as plain strings from then
//! on.

use crate::dict::SharedDict;
use hashbrown::HashTable;
use std::sync::Arc;
use types::{PhysType, Value};
use vector::{
    Bitmap, Chunk, DictValues, OWN_BLOCK_BYTES_MIN, Rows, StrHeap, StrValues, StrView, StringDict, Values, Vector,
};

/// Builds the next leaf's chunk of one column.
#[derive(Debug)]
pub struct ColumnBuilder {
    phys: PhysType,
    capacity: usize,
    fixed: Values,
    strings: StrBuilder,
    validity: Option<Bitmap>,
    len: usize,
}

/// Strings go as codes while the column's dictionary takes them.
#[derive(Debug, Default)]
struct StrBuilder {
    /// `Some`: codes so far.
    codes: Option<Vec<u8>>,
    local: LocalDict,
    views: Vec<StrView>,
    /// Block 0 of the chunk's heap.
    heap: Vec<u8>,
    /// Blocks 1..: one for each long string.
    large: Vec<Arc<Vec<u8>>>,
}

/// The part of the shared dictionary that this thread has met.
#[derive(Debug, Default)]
struct LocalDict {
    table: HashTable<u16>,
    strings: Vec<(Box<[u8]>, u8)>,
    /// Contains all codes below its length.
    snapshot: Option<Arc<StringDict>>,
}

fn each(rows: Rows<'_>, mut f: impl FnMut(usize)) {
    match rows {
        Rows::Range(from, to) => (from..to).for_each(f),
        Rows::At(positions) => positions.iter().for_each(|&i| f(i as usize)),
    }
}

impl LocalDict {
    fn code(&mut self, bytes: &[u8], shared: &SharedDict) -> Option<u8> {
        let hash = vector::hash::hash_bytes(bytes);
        if let Some(&i) = self.table.find(hash, |&i| *self.strings[i as usize].0 == *bytes) {
            return Some(self.strings[i as usize].1);
        }
        let code = shared.code(bytes)?;
        let i = self.strings.len() as u16;
        self.strings.push((bytes.into(), code));
        let strings = &self.strings;
        self.table.insert_unique(hash, i, |&i| vector::hash::hash_bytes(&strings[i as usize].0));
        Some(code)
    }

    fn snapshot(&mut self, codes: &[u8], shared: &SharedDict) -> Arc<StringDict> {
        let needed = codes.iter().max().map_or(0, |&c| c as usize + 1);
        match &self.snapshot {
            Some(dict) if dict.strings.views.len() >= needed => dict.clone(),
            _ => self.snapshot.insert(shared.snapshot()).clone(),
        }
    }
}

impl StrBuilder {
    fn push(&mut self, bytes: &[u8], shared: &SharedDict) {
        if let Some(codes) = &mut self.codes {
            if let Some(code) = self.local.code(bytes, shared) {
                codes.push(code);
                return;
            }
            self.give_up_codes();
        }
        self.push_plain(bytes);
    }

    fn push_default(&mut self) {
        match &mut self.codes {
            Some(codes) => codes.push(0),
            None => self.views.push(StrView::EMPTY),
        }
    }

    fn push_plain(&mut self, bytes: &[u8]) {
        let view = if bytes.len() <= vector::INLINE_BYTES_MAX {
            StrView::inline(bytes)
        } else if bytes.len() < OWN_BLOCK_BYTES_MIN {
            let offset = self.heap.len() as u32;
            self.heap.extend_from_slice(bytes);
            StrView::pointing(bytes, 0, offset)
        } else {
            self.large.push(Arc::new(bytes.to_vec()));
            StrView::pointing(bytes, self.large.len() as u32, 0)
        };
        self.views.push(view);
    }

    /// Appends rows of a chunk of strings.
    fn append(&mut self, chunk: &Chunk, rows: Rows<'_>, shared: &SharedDict) {
        match &chunk.values {
            Values::Dict(d) if self.codes.is_some() => self.append_codes(chunk, d, rows, shared),
            values => each(rows, |i| match chunk.is_valid(i) {
                true => self.push(values.str_bytes(i), shared),
                false => self.push_default(),
            }),
        }
    }

    /// The same of codes: each string is looked for once.
    fn append_codes(&mut self, chunk: &Chunk, from: &DictValues, rows: Rows<'_>, shared: &SharedDict) {
        let mut known = [None; crate::dict::DICT_ENTRIES_MAX];
        each(rows, |i| {
            let code = usize::from(from.codes[i]);
            match (&mut self.codes, known[code]) {
                _ if !chunk.is_valid(i) => self.push_default(),
                (Some(codes), Some(own)) => codes.push(own),
                _ => {
                    self.push(from.bytes(i), shared);
                    known[code] = self.codes.as_ref().and_then(|codes| codes.last().copied());
                }
            }
        });
    }

    fn give_up_codes(&mut self) {
        let codes = self.codes.take().unwrap_or_default();
        let mut by_code: Vec<Box<[u8]>> = vec![Box::default(); crate::dict::DICT_ENTRIES_MAX];
        for (bytes, code) in std::mem::take(&mut self.local.strings) {
            by_code[code as usize] = bytes;
        }
        self.local = LocalDict::default();
        for code in codes {
            self.push_plain(&by_code[code as usize]);
        }
    }

    fn finish(&mut self, shared: &SharedDict) -> Values {
        if let Some(codes) = &mut self.codes {
            let dict = self.local.snapshot(codes, shared);
            // A leaf of NULLs alone may come before the first entry; position 0 must exist all the same.
            if !dict.strings.views.is_empty() {
                let out = codes.as_slice().into();
                codes.clear();
                return Values::Dict(DictValues { codes: out, dict });
            }
            self.give_up_codes();
            self.codes = Some(Vec::new());
        }
        let views: Vec<StrView> = self.views.as_slice().into();
        self.views.clear();
        let mut blocks = Vec::new();
        if !self.heap.is_empty() || !self.large.is_empty() {
            blocks.push(Arc::new(self.heap.as_slice().into()));
            blocks.append(&mut self.large);
        }
        self.heap.clear();
        Values::Str(StrValues { views, heap: Arc::new(StrHeap::of(blocks)) })
    }
}

impl ColumnBuilder {
    pub(super) fn new(phys: PhysType, capacity: usize, shared: Option<&SharedDict>) -> ColumnBuilder {
        let mut strings = StrBuilder::default();
        if shared.is_some_and(|s| !s.is_closed()) {
            strings.codes = Some(Vec::with_capacity(capacity));
        }
        let fixed = if phys == PhysType::Str { Values::I8(Vec::new()) } else { Values::with_capacity(phys, capacity) };
        ColumnBuilder { phys, capacity, fixed, strings, validity: None, len: 0 }
    }

    /// Values pushed since the last leaf.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn pushed(&mut self, valid: bool) {
        if !valid && self.validity.is_none() {
            self.validity = Some(Bitmap::ones(self.len));
        }
        if let Some(v) = &mut self.validity {
            v.push(valid);
        }
        self.len += 1;
    }

    pub fn push_null(&mut self) {
        match self.phys {
            PhysType::Str => self.strings.push_default(),
            _ => self.fixed.push_default(),
        }
        self.pushed(false);
    }

    /// Appends an integer, date, time or scaled decimal that fits the column's physical type.
    ///
    /// # Panics
    /// If the column is neither of these kinds.
    #[inline]
    pub fn push_int(&mut self, v: i64) {
        match &mut self.fixed {
            Values::I8(x) => x.push(v as i8),
            Values::U8(x) => x.push(v as u8),
            Values::I16(x) => x.push(v as i16),
            Values::U16(x) => x.push(v as u16),
            Values::I32(x) => x.push(v as i32),
            Values::U32(x) => x.push(v as u32),
            Values::I64(x) => x.push(v),
            Values::U64(x) => x.push(v as u64),
            Values::I128(x) => x.push(v as i128),
            Values::I256(x) => x.push(types::I256::from(v as i128)),
            other => panic!("an integer does not fit physical type {:?}", other.phys()),
        }
        self.pushed(true);
    }

    /// Appends a value of exactly the column's type (see [`vector::ChunkBuilder::push`]).
    pub(super) fn push(&mut self, value: &Value, shared: Option<&SharedDict>) {
        if let Value::Bytes(b) = value
            && let Some(shared) = shared
        {
            return self.push_bytes(b, shared);
        }
        if value.is_null() {
            return self.push_null();
        }
        self.fixed.append(&Chunk::single(self.phys, value).values, Rows::Range(0, 1));
        self.pushed(true);
    }

    pub(super) fn push_bytes(&mut self, bytes: &[u8], shared: &SharedDict) {
        assert_eq!(self.phys, PhysType::Str, "bytes for a column that holds no strings");
        self.strings.push(bytes, shared);
        self.pushed(true);
    }

    /// Appends the values at `positions`.
    pub(super) fn append(&mut self, vector: &Vector, positions: &[u16], shared: Option<&SharedDict>) {
        let (chunk, constant) = vector.chunk();
        match constant {
            true => self.append_rows(chunk, Rows::At(&vec![0; positions.len()]), shared),
            false => self.append_rows(chunk, Rows::At(positions), shared),
        }
    }

    /// Appends rows of a chunk of the column's physical type, or of a narrower one of its family.
    pub(super) fn append_rows(&mut self, chunk: &Chunk, rows: Rows<'_>, shared: Option<&SharedDict>) {
        match shared {
            Some(shared) => self.strings.append(chunk, rows, shared),
            None => self.fixed.append(&chunk.values, rows),
        }
        let before = self.len;
        self.len += rows.len();
        match (&mut self.validity, &chunk.validity) {
            (None, None) => {}
            (own, from) => {
                let own = own.get_or_insert_with(|| Bitmap::ones(before));
                each(rows, |i| own.push(from.as_ref().is_none_or(|v| v.get(i))));
            }
        }
    }

    pub(super) fn finish(&mut self, shared: Option<&SharedDict>) -> Chunk {
        let values = match shared {
            Some(shared) => self.strings.finish(shared),
            None => {
                // the next leaf has as many rows as this one
                let next = Values::with_capacity(self.phys, self.capacity.max(self.len));
                let mut values = std::mem::replace(&mut self.fixed, next);
                values.shrink();
                values
            }
        };
        self.len = 0;
        let mut chunk = Chunk::new(values, self.validity.take());
        chunk.compute_bounds();
        chunk
    }
}
