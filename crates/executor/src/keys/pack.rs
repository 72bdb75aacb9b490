//! Keys of a fixed width: each column is shifted into the words of the whole batch.

use super::layout::{KeyColumn, Kind};
use std::ops::{BitOr, Shl};
use types::I256;
use vector::{Chunk, Selection, Values, Vector};

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
                let $get = |i: usize| $crate::keys::pack::f32_word(v[i]);
                $body
            }
            Values::F64(v) => {
                let $get = |i: usize| $crate::keys::pack::f64_word(v[i]);
                $body
            }
            other => panic!("a fixed-width key column came as {:?}", other.phys()),
        }
    };
}
pub(super) use with_word;

#[inline]
pub(super) fn f32_word(v: f32) -> u64 {
    (if v == 0.0 { 0.0f32 } else { v }).to_bits() as u64
}

#[inline]
pub(super) fn f64_word(v: f64) -> u64 {
    (if v == 0.0 { 0.0f64 } else { v }).to_bits()
}

/// Puts the numbers of a column's strings into the keys.
pub(super) fn pack_ids<W>(c: &KeyColumn, v: &Vector, selection: &Selection, numbers: &[u32], out: &mut [W])
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

pub(super) fn pack_u64(c: &KeyColumn, v: &Vector, selection: &Selection, out: &mut [u64]) {
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

pub(super) fn pack_u128(c: &KeyColumn, v: &Vector, selection: &Selection, out: &mut [u128]) {
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

pub(super) fn wide128(chunk: &Chunk, i: usize) -> i128 {
    match &chunk.values {
        Values::I128(v) => v[i],
        Values::I256(v) => v[i].lo as i128,
        Values::U64(v) => v[i] as i128,
        Values::I64(v) => v[i] as i128,
        _ => with_word!(chunk, get => get(i) as i64 as i128),
    }
}

pub(super) fn wide256(chunk: &Chunk, i: usize) -> I256 {
    match &chunk.values {
        Values::I256(v) => v[i],
        _ => I256::from(wide128(chunk, i)),
    }
}
