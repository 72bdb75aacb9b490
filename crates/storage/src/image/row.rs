//! Row images.
//!
//! ```text
//!   | NULL bits: one a column, rounded up to bytes | values of the columns that are not NULL |
//!   value = fixed width: little-endian;  string: length as a varint, bytes
//! ```

use disk::codec::{Get, Put};
use std::sync::Arc;
use types::{I256, PhysType};
use vector::{Bitmap, Chunk, Rows, Values};

/// Where a column's value lies: a chunk and a position in it.
pub type At<'a> = (&'a Chunk, usize);

/// Appends the image of the columns named, in that order. `at` gives each one's value; `types` has all columns'.
pub fn put<'a>(
    types: &[PhysType],
    columns: impl Iterator<Item = usize> + Clone,
    at: impl Fn(usize) -> At<'a>,
    out: &mut Vec<u8>,
) {
    let nulls_at = out.len();
    out.resize(nulls_at + columns.clone().count().div_ceil(8), 0);
    for (i, c) in columns.enumerate() {
        let (chunk, pos) = at(c);
        if chunk.is_valid(pos) {
            put_value(types[c], chunk, pos, out);
        } else {
            out[nulls_at + i / 8] |= 1 << (i % 8);
        }
    }
}

fn put_value(phys: PhysType, chunk: &Chunk, i: usize, out: &mut Vec<u8>) {
    if chunk.values.phys() != phys {
        // A narrower carrier of the same values.
        let one = Chunk::new(chunk.values.gather(&[i as u16]).widened(phys).into_owned(), None);
        return put_value(phys, &one, 0, out);
    }
    macro_rules! fixed {
        ($v:expr) => {
            out.extend_from_slice(&$v[i].to_le_bytes())
        };
    }
    match &chunk.values {
        Values::I8(v) => fixed!(v),
        Values::U8(v) => fixed!(v),
        Values::I16(v) => fixed!(v),
        Values::U16(v) => fixed!(v),
        Values::I32(v) => fixed!(v),
        Values::U32(v) => fixed!(v),
        Values::I64(v) => fixed!(v),
        Values::U64(v) => fixed!(v),
        Values::I128(v) => fixed!(v),
        Values::I256(v) => {
            out.extend_from_slice(&v[i].lo.to_le_bytes());
            out.extend_from_slice(&v[i].hi.to_le_bytes());
        }
        Values::F32(v) => fixed!(v),
        Values::F64(v) => fixed!(v),
        Values::Str(s) => out.put_bytes(s.bytes(i)),
        Values::Dict(d) => out.put_bytes(d.bytes(i)),
    }
}

/// Overwrites `slot` of the columns named with an image that [`put`] made of them. The slots must exist. Zone maps of
/// the chunks are dropped. `None`: the bytes are no such image.
pub fn set(
    get: &mut Get<'_>,
    types: &[PhysType],
    columns: impl ExactSizeIterator<Item = usize>,
    chunks: &mut [Arc<Chunk>],
    slot: usize,
) -> Option<()> {
    let nulls = get.take(columns.len().div_ceil(8))?;
    for (i, c) in columns.enumerate() {
        let chunk = Arc::make_mut(chunks.get_mut(c)?);
        chunk.bounds = None;
        let null = nulls[i / 8] >> (i % 8) & 1 != 0;
        set_validity(chunk, slot, !null);
        match null {
            true => chunk.clear_string(slot),
            false => set_value(get, types[c], chunk, slot)?,
        }
        chunk.tidy();
    }
    Some(())
}

fn set_validity(chunk: &mut Chunk, slot: usize, valid: bool) {
    match &mut chunk.validity {
        Some(v) => v.set(slot, valid),
        None if valid => {}
        None => {
            let mut v = Bitmap::ones(chunk.values.len());
            v.set(slot, false);
            chunk.validity = Some(v);
        }
    }
}

fn set_value(get: &mut Get<'_>, phys: PhysType, chunk: &mut Chunk, slot: usize) -> Option<()> {
    if chunk.values.phys() != phys {
        chunk.values = chunk.values.widened(phys).into_owned();
    }
    macro_rules! fixed {
        ($v:expr, $t:ty) => {
            *$v.get_mut(slot)? = <$t>::from_le_bytes(get.array()?)
        };
    }
    match &mut chunk.values {
        Values::I8(v) => fixed!(v, i8),
        Values::U8(v) => fixed!(v, u8),
        Values::I16(v) => fixed!(v, i16),
        Values::U16(v) => fixed!(v, u16),
        Values::I32(v) => fixed!(v, i32),
        Values::U32(v) => fixed!(v, u32),
        Values::I64(v) => fixed!(v, i64),
        Values::U64(v) => fixed!(v, u64),
        Values::I128(v) => fixed!(v, i128),
        Values::I256(v) => {
            let lo = u128::from_le_bytes(get.array()?);
            *v.get_mut(slot)? = I256 { lo, hi: i128::from_le_bytes(get.array()?) };
        }
        Values::F32(v) => fixed!(v, f32),
        Values::F64(v) => fixed!(v, f64),
        Values::Str(s) => {
            let bytes = get.bytes()?;
            s.views.get(slot)?;
            s.set(slot, bytes);
        }
        Values::Dict(d) => {
            let bytes = get.bytes()?;
            match d.code_of(bytes) {
                Some(code) => *d.codes.get_mut(slot)? = code,
                None => {
                    chunk.values.undict_in_place();
                    let Values::Str(s) = &mut chunk.values else { return None };
                    s.views.get(slot)?;
                    s.set(slot, bytes);
                }
            }
        }
    }
    Some(())
}

/// Grows a chunk to `rows` positions; the new ones hold zeros or empty strings.
pub fn grow(chunk: &mut Arc<Chunk>, rows: usize) {
    let chunk = Arc::make_mut(chunk);
    let from = chunk.len();
    if rows <= from {
        return;
    }
    chunk.values.undict_in_place();
    let mut empty = Values::with_capacity(chunk.values.phys(), 1);
    empty.push_default();
    let zeros = vec![0u16; rows - from];
    chunk.values.append(&empty, Rows::At(&zeros));
    if let Some(v) = &mut chunk.validity {
        (from..rows).for_each(|_| v.push(true));
    }
    chunk.bounds = None;
}
