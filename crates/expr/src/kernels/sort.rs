//! Order of rows: comparison of positions, and memcomparable keys.
//!
//! A key is a byte string whose order under memcmp is the order of the values:
//!
//! ```text
//! NULL            00
//! not NULL        01 then the value:
//!   integers, packed dates   big-endian, sign bit flipped, in the width of the type
//!   DECIMAL                  the same in 8, 16 or 32 bytes by precision
//!   doubles                  IEEE bits, all flipped if negative, else the sign bit flipped
//!   strings                  the collation's sort key, 00 written as 00 FF, ended by 00 00
//! ```
//! Descending keys are inverted bytes; NULL sorts first ascending and last descending.

use crate::eval::Exact;
use std::cmp::Ordering;
use types::{Collation, PhysType, SqlType};
use vector::{Values, Vector};

/// Compares position `i` of `a` with position `j` of `b`; both are of type `ty`. NULL is less than anything.
pub fn compare_positions(a: &Vector, i: usize, b: &Vector, j: usize, ty: &SqlType) -> Ordering {
    let ((ac, a_const), (bc, b_const)) = (a.chunk(), b.chunk());
    let (i, j) = (if a_const { 0 } else { i }, if b_const { 0 } else { j });
    match (ac.is_valid(i), bc.is_valid(j)) {
        (false, false) => return Ordering::Equal,
        (false, true) => return Ordering::Less,
        (true, false) => return Ordering::Greater,
        (true, true) => {}
    }
    match (&ac.values, &bc.values) {
        (Values::I8(x), Values::I8(y)) => x[i].cmp(&y[j]),
        (Values::U8(x), Values::U8(y)) => x[i].cmp(&y[j]),
        (Values::I16(x), Values::I16(y)) => x[i].cmp(&y[j]),
        (Values::U16(x), Values::U16(y)) => x[i].cmp(&y[j]),
        (Values::I32(x), Values::I32(y)) => x[i].cmp(&y[j]),
        (Values::U32(x), Values::U32(y)) => x[i].cmp(&y[j]),
        (Values::I64(x), Values::I64(y)) => x[i].cmp(&y[j]),
        (Values::U64(x), Values::U64(y)) => x[i].cmp(&y[j]),
        (Values::I128(x), Values::I128(y)) => x[i].cmp(&y[j]),
        (Values::I256(x), Values::I256(y)) => x[i].cmp(&y[j]),
        (Values::F32(x), Values::F32(y)) => x[i].partial_cmp(&y[j]).unwrap_or(Ordering::Equal),
        (Values::F64(x), Values::F64(y)) => x[i].partial_cmp(&y[j]).unwrap_or(Ordering::Equal),
        (Values::Str(_) | Values::Dict(_), Values::Str(_) | Values::Dict(_)) => {
            super::strings::cmp(ty.collation().unwrap_or(Collation::Binary), a.bytes(i), b.bytes(j))
        }
        _ => wide(a, i, ty).cmp(&wide(b, j, ty)),
    }
}

/// The integer at `i` without converting the whole array.
fn wide(v: &Vector, i: usize, ty: &SqlType) -> types::I256 {
    match &v.chunk().0.values {
        Values::I64(x) => types::I256::from(x[i] as i128),
        Values::I128(x) => types::I256::from(x[i]),
        Values::I256(x) => x[i],
        _ => Exact::new(v, ty).get(i),
    }
}

/// Appends the key of position `i`.
pub fn sort_key_append(v: &Vector, i: usize, ty: &SqlType, descending: bool, out: &mut Vec<u8>) {
    let start = out.len();
    let (chunk, constant) = v.chunk();
    let i = if constant { 0 } else { i };
    if !chunk.is_valid(i) {
        out.push(0);
    } else {
        out.push(1);
        match &chunk.values {
            Values::Str(_) | Values::Dict(_) => {
                string_key(ty.collation().unwrap_or(Collation::Binary), v.bytes(i), out)
            }
            Values::F32(x) => double_key(x[i] as f64, out),
            Values::F64(x) => double_key(x[i], out),
            Values::I64(x) if ty.phys() == PhysType::I64 => out.extend((x[i] as u64 ^ 1 << 63).to_be_bytes()),
            Values::I32(x) => out.extend((x[i] as u32 ^ 1 << 31).to_be_bytes()),
            _ => integer_key(wide(v, i, ty), ty.phys(), out),
        }
    }
    if descending {
        for b in &mut out[start..] {
            *b = !*b;
        }
    }
}

fn integer_key(v: types::I256, phys: PhysType, out: &mut Vec<u8>) {
    let low = v.lo;
    match phys {
        PhysType::I8 => out.push(low as u8 ^ 0x80),
        PhysType::U8 => out.push(low as u8),
        PhysType::I16 => out.extend((low as u16 ^ 1 << 15).to_be_bytes()),
        PhysType::U16 => out.extend((low as u16).to_be_bytes()),
        PhysType::I32 => out.extend((low as u32 ^ 1 << 31).to_be_bytes()),
        PhysType::U32 => out.extend((low as u32).to_be_bytes()),
        PhysType::I64 => out.extend((low as u64 ^ 1 << 63).to_be_bytes()),
        PhysType::U64 => out.extend((low as u64).to_be_bytes()),
        PhysType::I128 => out.extend((low ^ 1 << 127).to_be_bytes()),
        _ => {
            out.extend((v.hi as u128 ^ 1 << 127).to_be_bytes());
            out.extend(low.to_be_bytes());
        }
    }
}

fn double_key(v: f64, out: &mut Vec<u8>) {
    let v = if v == 0.0 { 0.0 } else { v };
    let bits = v.to_bits();
    let key = if bits >> 63 != 0 { !bits } else { bits ^ 1 << 63 };
    out.extend(key.to_be_bytes());
}

fn string_key(c: Collation, s: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    c.sort_key(s, out);
    if out[start..].contains(&0) {
        let raw = out.split_off(start);
        for b in raw {
            out.push(b);
            if b == 0 {
                out.push(0xFF);
            }
        }
    }
    out.extend([0, 0]);
}
