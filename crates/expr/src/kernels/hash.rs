//! Hashes and equality of values for joins, grouping, DISTINCT and IN.
//!
//! Equal values hash equally whatever carries them: an integer hashes by its value in arrays of any width and sign, a
//! DECIMAL by its unscaled value (so both sides must have one scale), a string by its collation, -0.0 as 0.0. NULL
//! hashes as a constant.

use crate::eval::{Exact, Lane};
use types::{Collation, I256, SqlType};
use vector::{Selection, Values, Vector};

/// Hash of NULL, before mixing.
const NULL_HASH: u64 = 0x9E37_79B9_7F4A_7C15;

/// A 64-bit mix (multiply, fold the high half of the product in).
#[inline(always)]
pub fn mix(a: u64, b: u64) -> u64 {
    let p = (a ^ 0xA076_1D64_78BD_642F) as u128 * (b ^ 0xE703_7ED1_A0B4_28DB) as u128;
    (p as u64) ^ (p >> 64) as u64
}

/// The hash of an integer value, seeded.
#[inline(always)]
pub fn hash_i64(v: i64, seed: u64) -> u64 {
    mix(v as u64, seed)
}

#[inline]
fn hash_i128(v: i128, seed: u64) -> u64 {
    match i64::try_from(v) {
        Ok(x) => hash_i64(x, seed),
        // Unsigned 64-bit values agree with themselves in a U64 array.
        Err(_) if v >= 0 && v <= u64::MAX as i128 => mix(v as u64, seed),
        Err(_) => mix((v >> 64) as u64, mix(v as u64, seed)),
    }
}

#[inline]
fn hash_i256(v: I256, seed: u64) -> u64 {
    match v.to_i128() {
        Some(x) => hash_i128(x, seed),
        None => mix((v.hi >> 64) as u64, mix(v.hi as u64, mix((v.lo >> 64) as u64, mix(v.lo as u64, seed)))),
    }
}

#[inline]
fn hash_f64(v: f64, seed: u64) -> u64 {
    mix(if v == 0.0 { 0 } else { v.to_bits() }, seed)
}

/// Hashes the selected positions of `v` into `out`, one entry a *selected* row, in order. `out[k]` is the seed on entry
/// (start with any constant) so that several columns chain.
///
/// # Panics
/// If `out` does not have an entry for each selected position.
pub fn hash_vector(v: &Vector, ty: &SqlType, rows: usize, selection: &Selection, out: &mut [u64]) {
    assert_eq!(out.len(), selection.count(rows), "one hash a selected row");
    let (chunk, constant) = v.chunk();
    if constant {
        let mut h = 0;
        if chunk.is_valid(0) {
            for o in out.iter_mut() {
                h = hash_at(v, ty, 0, *o);
                *o = h;
            }
        } else {
            out.iter_mut().for_each(|o| *o = mix(NULL_HASH, *o));
        }
        let _ = h;
        return;
    }
    macro_rules! each {
        (|$i:ident, $seed:ident| $hash:expr) => {
            match (selection, &chunk.validity) {
                (Selection::All, None) => {
                    for ($i, o) in out.iter_mut().enumerate() {
                        let $seed = *o;
                        *o = $hash;
                    }
                }
                (Selection::Some(s), None) => {
                    for (&p, o) in s.iter().zip(out.iter_mut()) {
                        let ($i, $seed) = (p as usize, *o);
                        *o = $hash;
                    }
                }
                (_, Some(valid)) => {
                    let mut k = 0;
                    selection.for_each(rows, |$i| {
                        let $seed = out[k];
                        out[k] = if valid.get($i) { $hash } else { mix(NULL_HASH, $seed) };
                        k += 1;
                    });
                }
            }
        };
    }
    match &chunk.values {
        Values::I8(v) => each!(|i, seed| hash_i64(v[i] as i64, seed)),
        Values::U8(v) => each!(|i, seed| hash_i64(v[i] as i64, seed)),
        Values::I16(v) => each!(|i, seed| hash_i64(v[i] as i64, seed)),
        Values::U16(v) => each!(|i, seed| hash_i64(v[i] as i64, seed)),
        Values::I32(v) => each!(|i, seed| hash_i64(v[i] as i64, seed)),
        Values::U32(v) => each!(|i, seed| hash_i64(v[i] as i64, seed)),
        Values::I64(v) => each!(|i, seed| hash_i64(v[i], seed)),
        Values::U64(v) => each!(|i, seed| mix(v[i], seed)),
        Values::I128(v) => each!(|i, seed| hash_i128(v[i], seed)),
        Values::I256(v) => each!(|i, seed| hash_i256(v[i], seed)),
        Values::F32(v) => each!(|i, seed| hash_f64(v[i] as f64, seed)),
        Values::F64(v) => each!(|i, seed| hash_f64(v[i], seed)),
        Values::Str(s) => {
            let c = ty.collation().unwrap_or(Collation::Binary);
            each!(|i, seed| mix(c.hash(s.views[i].bytes(&s.heap)), seed));
        }
        Values::Dict(d) => {
            let c = ty.collation().unwrap_or(Collation::Binary);
            let mut table = [0u64; 256];
            for (k, t) in table.iter_mut().enumerate().take(d.dict.strings.views.len()) {
                *t = c.hash(d.dict.strings.bytes(k));
            }
            each!(|i, seed| mix(table[d.codes[i] as usize], seed));
        }
    }
}

fn hash_at(v: &Vector, ty: &SqlType, i: usize, seed: u64) -> u64 {
    match &v.chunk().0.values {
        Values::F32(x) => hash_f64(x[i] as f64, seed),
        Values::F64(x) => hash_f64(x[i], seed),
        Values::Str(_) | Values::Dict(_) => mix(ty.collation().unwrap_or(Collation::Binary).hash(v.bytes(i)), seed),
        _ => hash_i256(Exact::new(v, ty).get(i), seed),
    }
}

/// Keeps in `pairs` those (position in `a`, position in `b`) whose values are equal: for verifying the candidates of a
/// hash table, column by column. NULL equals NULL if `null_safe`, else nothing.
pub fn eq_positions(a: &Vector, b: &Vector, ty: &SqlType, null_safe: bool, pairs: &mut Vec<(u32, u32)>) {
    let ((ac, a_const), (bc, b_const)) = (a.chunk(), b.chunk());
    let at = |constant: bool, i: u32| if constant { 0 } else { i as usize };
    macro_rules! keep {
        (|$i:ident, $j:ident| $eq:expr) => {
            pairs.retain(|&(i, j)| {
                let ($i, $j) = (at(a_const, i), at(b_const, j));
                match (ac.is_valid($i), bc.is_valid($j)) {
                    (true, true) => $eq,
                    (false, false) => null_safe,
                    _ => false,
                }
            })
        };
    }
    match (&ac.values, &bc.values) {
        (Values::I64(x), Values::I64(y)) => keep!(|i, j| x[i] == y[j]),
        (Values::I32(x), Values::I32(y)) => keep!(|i, j| x[i] == y[j]),
        (Values::F64(x), Values::F64(y)) => keep!(|i, j| x[i] == y[j]),
        (Values::F32(x), Values::F32(y)) => keep!(|i, j| x[i] == y[j]),
        (Values::F32(x), Values::F64(y)) => keep!(|i, j| x[i] as f64 == y[j]),
        (Values::F64(x), Values::F32(y)) => keep!(|i, j| x[i] == y[j] as f64),
        (Values::Str(_) | Values::Dict(_), Values::Str(_) | Values::Dict(_)) => {
            let c = ty.collation().unwrap_or(Collation::Binary);
            keep!(|i, j| super::strings::eq(c, a.bytes(i), b.bytes(j)));
        }
        _ => {
            let (x, y) = (Exact::new(a, ty), Exact::new(b, ty));
            match (&x.lane, &y.lane) {
                (Lane::I64(x), Lane::I64(y)) => keep!(|i, j| x[i] == y[j]),
                _ => keep!(|i, j| x.get(i) == y.get(j)),
            }
        }
    }
}
