//! Long columns: many batches' rows put end to end, and rows picked from them by 32-bit number.
//!
//! Hash tables, sorts and windows number their rows 0.. and keep the rows as one long [`Chunk`] a column. Fixed-width
//! values are copied once; strings keep pointing into the blocks they came from, whose `Arc`s the long column holds.

use std::collections::HashMap;
use std::sync::Arc;
use types::{I256, PhysType, SqlType};
use vector::{Batch, Bitmap, Chunk, DictValues, Selection, StrHeap, StrValues, StrView, Values, Vector};

/// In place of a row number: no row, all columns NULL.
pub const NO_ROW: u32 = u32::MAX;

/// The rows `rows` of `chunk`, in that order. None is [`NO_ROW`].
pub fn gather32(chunk: &Chunk, rows: &[u32]) -> Chunk {
    let validity = chunk.validity.as_ref().and_then(|v| pick_bits(rows, |r| v.get(r as usize)));
    Chunk { values: gather_values(&chunk.values, rows), validity, bounds: chunk.bounds }
}

/// The same, [`NO_ROW`] becoming NULL. `chunk` may be empty.
pub fn gather32_or_null(chunk: &Chunk, rows: &[u32]) -> Chunk {
    if chunk.is_empty() {
        let values = gather_values(&one_default(&chunk.values), &vec![0; rows.len()]);
        return Chunk::new(values, Some(Bitmap::zeros(rows.len())));
    }
    let validity = match &chunk.validity {
        None => pick_bits(rows, |r| r != NO_ROW),
        Some(v) => pick_bits(rows, |r| r != NO_ROW && v.get(r as usize)),
    };
    let last = chunk.len() as u32 - 1;
    let clamped: Vec<u32> = rows.iter().map(|&r| r.min(last)).collect();
    Chunk { values: gather_values(&chunk.values, &clamped), validity, bounds: chunk.bounds }
}

fn one_default(values: &Values) -> Values {
    let mut v = Values::with_capacity(values.phys(), 1);
    v.push_default();
    v
}

fn pick_bits(rows: &[u32], bit: impl Fn(u32) -> bool) -> Option<Bitmap> {
    let mut out = Bitmap::zeros(rows.len());
    let mut all = true;
    for (word, group) in out.words_mut().iter_mut().zip(rows.chunks(64)) {
        let mut w = 0u64;
        for (i, &r) in group.iter().enumerate() {
            w |= (bit(r) as u64) << i;
        }
        all &= w.count_ones() as usize == group.len();
        *word = w;
    }
    if all { None } else { Some(out) }
}

#[inline]
fn pick<T: Copy>(v: &[T], rows: &[u32]) -> Vec<T> {
    rows.iter().map(|&r| v[r as usize]).collect()
}

pub(crate) fn gather_values(values: &Values, rows: &[u32]) -> Values {
    match values {
        Values::I8(v) => Values::I8(pick(v, rows)),
        Values::U8(v) => Values::U8(pick(v, rows)),
        Values::I16(v) => Values::I16(pick(v, rows)),
        Values::U16(v) => Values::U16(pick(v, rows)),
        Values::I32(v) => Values::I32(pick(v, rows)),
        Values::U32(v) => Values::U32(pick(v, rows)),
        Values::I64(v) => Values::I64(pick(v, rows)),
        Values::U64(v) => Values::U64(pick(v, rows)),
        Values::I128(v) => Values::I128(pick(v, rows)),
        Values::I256(v) => Values::I256(pick(v, rows)),
        Values::F32(v) => Values::F32(pick(v, rows)),
        Values::F64(v) => Values::F64(pick(v, rows)),
        Values::Str(s) => Values::Str(StrValues { views: pick(&s.views, rows), heap: s.heap.clone() }),
        Values::Dict(d) => Values::Dict(DictValues { codes: pick(&d.codes, rows), dict: d.dict.clone() }),
    }
}

/// `rows` NULLs of type `ty`.
pub fn null_chunk(ty: &SqlType, rows: usize) -> Chunk {
    let mut one = Values::with_capacity(ty.phys(), 1);
    one.push_default();
    Chunk::new(gather_values(&one, &vec![0; rows]), Some(Bitmap::zeros(rows)))
}

/// A constant NULL of type `ty`.
pub fn null_vector(ty: &SqlType) -> Vector {
    Vector::Const(Arc::new(null_chunk(ty, 1)))
}

/// Rows `start..end` of a long column.
pub fn slice(chunk: &Chunk, start: usize, end: usize) -> Chunk {
    macro_rules! s {
        ($($variant:ident),*) => {
            match &chunk.values {
                $(Values::$variant(v) => Values::$variant(v[start..end].to_vec()),)*
                Values::Str(s) => Values::Str(StrValues { views: s.views[start..end].to_vec(), heap: s.heap.clone() }),
                Values::Dict(d) => Values::Dict(DictValues { codes: d.codes[start..end].to_vec(), dict: d.dict.clone() }),
            }
        };
    }
    let values = s!(I8, U8, I16, U16, I32, U32, I64, U64, I128, I256, F32, F64);
    let validity = chunk.validity.as_ref().and_then(|v| {
        let mut out = Bitmap::zeros(end - start);
        (start..end).for_each(|i| out.set(i - start, v.get(i)));
        if out.all() { None } else { Some(out) }
    });
    Chunk { values, validity, bounds: chunk.bounds }
}

/// One row of a batch, alone.
pub fn row_of(batch: &Batch, row: usize) -> Batch {
    let columns = batch.columns.iter().map(|v| match v {
        Vector::Flat(chunk) => Vector::flat(slice(chunk, row, row + 1)),
        Vector::Const(_) => v.clone(),
    });
    Batch::new(1, columns.collect())
}

/// Values of a decimal array in a wider array.
pub fn widen(values: Values, to: PhysType) -> Values {
    match (values, to) {
        (Values::I64(v), PhysType::I128) => Values::I128(v.iter().map(|&x| x as i128).collect()),
        (Values::I64(v), PhysType::I256) => Values::I256(v.iter().map(|&x| I256::from(x)).collect()),
        (Values::I128(v), PhysType::I256) => Values::I256(v.iter().map(|&x| I256::from(x)).collect()),
        (other, _) => other,
    }
}

fn width_rank(p: PhysType) -> u8 {
    match p {
        PhysType::I64 => 1,
        PhysType::I128 => 2,
        PhysType::I256 => 3,
        _ => 0,
    }
}

/// Puts the rows of batches end to end.
#[derive(Default)]
pub struct ColumnAppender {
    /// `None` until the first append fixes the form.
    values: Option<Values>,
    validity: Option<Bitmap>,
    len: usize,
    /// Source heaps met (held, so that the address stays theirs) and where their blocks begin in ours.
    heaps: HashMap<usize, (Arc<StrHeap>, u32)>,
    blocks: Vec<Arc<Vec<u8>>>,
    string_bytes: usize,
}

impl ColumnAppender {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes that the column holds or keeps alive, estimated as if strings were copied.
    pub fn bytes(&self) -> usize {
        let width = match self.values.as_ref().map(Values::phys) {
            None => 0,
            Some(p) => p.bytes(),
        };
        self.len * width + self.string_bytes
    }

    fn base_of(&mut self, heap: &Arc<StrHeap>) -> u32 {
        let key = Arc::as_ptr(heap) as usize;
        if let Some((_, base)) = self.heaps.get(&key) {
            return *base;
        }
        let base = self.blocks.len() as u32;
        self.blocks.extend(heap.blocks().iter().cloned());
        self.heaps.insert(key, (heap.clone(), base));
        base
    }

    /// Appends the positions `selection` of a vector of `rows` positions.
    pub fn append(&mut self, vector: &Vector, selection: &Selection, rows: usize) {
        let (chunk, constant) = vector.chunk();
        let zeros;
        let positions: Option<&[u16]> = match (constant, selection) {
            (true, _) => {
                zeros = vec![0u16; selection.count(rows)];
                Some(&zeros)
            }
            (false, Selection::All) => None,
            (false, Selection::Some(s)) => Some(s),
        };
        self.append_chunk(chunk, positions);
    }

    /// Appends `positions` (all if `None`) of a chunk.
    pub fn append_chunk(&mut self, chunk: &Chunk, positions: Option<&[u16]>) {
        let n = positions.map_or(chunk.len(), <[u16]>::len);
        match &chunk.validity {
            None => {
                if let Some(v) = &mut self.validity {
                    (0..n).for_each(|_| v.push(true));
                }
            }
            Some(from) => {
                let v = self.validity.get_or_insert_with(|| Bitmap::ones(self.len));
                match positions {
                    None => (0..n).for_each(|i| v.push(from.get(i))),
                    Some(p) => p.iter().for_each(|&i| v.push(from.get(i as usize))),
                }
            }
        }
        self.append_values(&chunk.values, positions);
        self.len += n;
    }

    fn append_values(&mut self, from: &Values, positions: Option<&[u16]>) {
        if self.values.is_none() {
            self.values = Some(match from {
                Values::Dict(d) => Values::Dict(DictValues { codes: Vec::new(), dict: d.dict.clone() }),
                other => Values::with_capacity(other.phys(), 0),
            });
        }
        let mut have = self.values.take().expect("just set");
        // A second dictionary or plain strings end the dictionary form.
        if let Values::Dict(d) = &have
            && !matches!(from, Values::Dict(f) if Arc::ptr_eq(&f.dict, &d.dict))
        {
            let as_str = d.to_str();
            let base = self.base_of(&as_str.heap);
            let views: Vec<StrView> = as_str.views.iter().map(|v| rebase(v, base)).collect();
            have = Values::Str(StrValues { views, heap: Default::default() });
        }
        let widened;
        let from = if width_rank(have.phys()) < width_rank(from.phys()) {
            have = widen(have, from.phys());
            from
        } else if width_rank(have.phys()) > width_rank(from.phys()) {
            widened = widen(from.clone(), have.phys());
            &widened
        } else {
            from
        };
        macro_rules! fixed {
            ($($variant:ident),*) => {
                match (&mut have, from) {
                    $((Values::$variant(to), Values::$variant(v)) => match positions {
                        None => to.extend_from_slice(v),
                        Some(p) => to.extend(p.iter().map(|&i| v[i as usize])),
                    },)*
                    (Values::Dict(to), Values::Dict(d)) => match positions {
                        None => to.codes.extend_from_slice(&d.codes),
                        Some(p) => to.codes.extend(p.iter().map(|&i| d.codes[i as usize])),
                    },
                    (Values::Str(to), Values::Str(s)) => self.append_views(&mut to.views, s, positions),
                    (Values::Str(to), Values::Dict(d)) => self.append_views(&mut to.views, &d.to_str(), positions),
                    (to, v) => panic!("rows of {:?} appended to a column of {:?}", v.phys(), to.phys()),
                }
            };
        }
        fixed!(I8, U8, I16, U16, I32, U32, I64, U64, I128, I256, F32, F64);
        self.values = Some(have);
    }

    fn append_views(&mut self, to: &mut Vec<StrView>, from: &StrValues, positions: Option<&[u16]>) {
        // Heaps without blocks are met all the time (short strings) and need no entry.
        let base = if from.heap.blocks().is_empty() { 0 } else { self.base_of(&from.heap) };
        let mut long_bytes = 0;
        let mut add = |v: &StrView| {
            if !v.is_inline() {
                long_bytes += v.len();
            }
            to.push(rebase(v, base));
        };
        match positions {
            None => from.views.iter().for_each(&mut add),
            Some(p) => p.iter().for_each(|&i| add(&from.views[i as usize])),
        }
        self.string_bytes += long_bytes;
    }

    /// The column; `ty` gives the form of one that never got a row.
    pub fn finish(self, ty: &SqlType) -> Chunk {
        let mut values = self.values.unwrap_or_else(|| Values::with_capacity(ty.phys(), 0));
        if let Values::Str(s) = &mut values {
            s.heap = Arc::new(StrHeap::of_shared(self.blocks));
        }
        Chunk::new(values, self.validity)
    }

    /// The rows so far, as a column of its own.
    pub fn snapshot(&self, ty: &SqlType) -> Chunk {
        let mut values = self.values.clone().unwrap_or_else(|| Values::with_capacity(ty.phys(), 0));
        if let Values::Str(s) = &mut values {
            s.heap = Arc::new(StrHeap::of_shared(self.blocks.clone()));
        }
        Chunk::new(values, self.validity.clone())
    }
}

#[inline]
fn rebase(v: &StrView, base: u32) -> StrView {
    if v.is_inline() || base == 0 { *v } else { v.moved(base) }
}

/// Puts batches end to end: one long chunk a column.
pub fn concat(batches: &[Batch], types: &[SqlType]) -> Vec<Chunk> {
    types
        .iter()
        .enumerate()
        .map(|(c, ty)| {
            let mut a = ColumnAppender::default();
            for b in batches {
                a.append(&b.columns[c], &b.selection, b.rows);
            }
            a.finish(ty)
        })
        .collect()
}

/// Bytes a batch's selected rows hold if copied: what keeping it is charged.
pub fn batch_bytes(batch: &Batch) -> usize {
    let n = batch.count();
    let mut bytes = 64;
    for c in &batch.columns {
        let (chunk, constant) = c.chunk();
        if constant {
            bytes += 64;
            continue;
        }
        bytes += n * chunk.values.phys().bytes() + 32;
        if let Values::Str(s) = &chunk.values {
            batch.selection.for_each(batch.rows, |i| {
                if !s.views[i].is_inline() {
                    bytes += s.views[i].len();
                }
            });
        }
    }
    bytes
}

/// Bytes of the strings of the batch's selected rows in these columns, each counted wherever it occurs.
pub fn string_bytes(columns: &[Vector], batch: &Batch) -> usize {
    let of_column = |v: &Vector| match (v, &v.chunk().0.values) {
        (Vector::Const(_), Values::Str(s)) => s.views.first().map_or(0, StrView::len) * batch.count(),
        (Vector::Flat(_), Values::Str(s)) if !s.heap.blocks().is_empty() => match &batch.selection {
            Selection::All => s.views[..batch.rows].iter().map(StrView::len).sum(),
            Selection::Some(at) => at.iter().map(|&i| s.views[i as usize].len()).sum(),
        },
        (Vector::Flat(_), Values::Dict(d)) if has_long(d) => {
            let mut bytes = 0;
            batch.selection.for_each(batch.rows, |i| bytes += d.bytes(i).len());
            bytes
        }
        _ => 0,
    };
    columns.iter().map(of_column).sum()
}

/// Dictionaries of short strings are not worth a look at each row.
fn has_long(d: &DictValues) -> bool {
    d.dict.strings.heap.live_bytes() > LONG_DICT_BYTES
}

const LONG_DICT_BYTES: usize = 64 << 10;

/// Bytes of the strings at position `i`.
fn row_string_bytes(columns: &[Vector], i: usize) -> usize {
    let of_column = |v: &Vector| match (v.chunk(), &v.chunk().0.values) {
        ((_, constant), Values::Str(s)) => s.views[if constant { 0 } else { i }].len(),
        (_, Values::Dict(_)) => v.bytes(i).len(),
        _ => 0,
    };
    columns.iter().map(of_column).sum()
}

/// Calls `f` for the batch in batches that have at most `max` bytes of strings each, or one row.
pub fn for_each_part<E>(batch: &Batch, max: usize, mut f: impl FnMut(&Batch) -> Result<(), E>) -> Result<(), E> {
    if string_bytes(&batch.columns, batch) <= max {
        return f(batch);
    }
    let positions = batch.selection.to_positions(batch.rows);
    let (mut from, mut bytes) = (0, 0);
    for (j, &i) in positions.iter().enumerate() {
        let of_row = row_string_bytes(&batch.columns, i as usize);
        if j > from && bytes + of_row > max {
            f(&Batch { selection: Selection::Some(positions[from..j].to_vec()), ..batch.clone() })?;
            (from, bytes) = (j, 0);
        }
        bytes += of_row;
    }
    f(&Batch { selection: Selection::Some(positions[from..].to_vec()), ..batch.clone() })
}

/// A batch fit for keeping: rows that are few of many are packed, so that the rest is let go.
pub fn packed(batch: Batch) -> Batch {
    match &batch.selection {
        Selection::Some(s) if s.len() * 2 < batch.rows => batch.compact(),
        _ => batch,
    }
}
