//! Normalized sort keys: bytes whose unsigned order is the ORDER BY order.
//!
//! ```text
//!   per key:  0 (NULL) | 1 value...     all bytes inverted for DESC, so NULLs come first ascending, last descending
//!   integer   big endian, sign bit flipped        DOUBLE  big endian, sign flipped, negatives inverted
//!   string    the collation's sort key, 00 -> 00 FF, ended by 00 00
//! ```

use crate::collate;
use types::{Collation, I256, SqlType};
use vector::{Values, Vector};

/// Writes the keys of one ORDER BY list.
#[derive(Clone, Debug)]
pub struct SortKeyWriter {
    /// (type, descending)
    keys: Vec<(SqlType, bool)>,
}

impl SortKeyWriter {
    pub fn new(keys: Vec<(SqlType, bool)>) -> SortKeyWriter {
        SortKeyWriter { keys }
    }

    /// Appends the key of position `i`.
    pub fn write(&self, columns: &[Vector], i: usize, out: &mut Vec<u8>) {
        for ((ty, descending), v) in self.keys.iter().zip(columns) {
            let at = out.len();
            write_one(v, i, ty, out);
            if *descending {
                out[at..].iter_mut().for_each(|b| *b = !*b);
            }
        }
    }
}

fn write_one(v: &Vector, i: usize, ty: &SqlType, out: &mut Vec<u8>) {
    let (chunk, constant) = v.chunk();
    let i = if constant { 0 } else { i };
    if !chunk.is_valid(i) {
        return out.push(0);
    }
    out.push(1);
    // Decimals may come narrower than their type; keys must not depend on it.
    if matches!(ty, SqlType::Decimal { .. }) {
        let wide = match &chunk.values {
            Values::I64(v) => v[i] as i128,
            Values::I128(v) => v[i],
            Values::I256(v) => {
                return write_i256(v[i], out);
            }
            other => panic!("a DECIMAL sort key came as {:?}", other.phys()),
        };
        if ty.phys() == types::PhysType::I256 {
            return write_i256(I256::from(wide), out);
        }
        return out.extend_from_slice(&((wide as u128) ^ (1 << 127)).to_be_bytes());
    }
    match &chunk.values {
        Values::I8(v) => out.push(v[i] as u8 ^ 0x80),
        Values::U8(v) => out.push(v[i]),
        Values::I16(v) => out.extend_from_slice(&(v[i] as u16 ^ 1 << 15).to_be_bytes()),
        Values::U16(v) => out.extend_from_slice(&v[i].to_be_bytes()),
        Values::I32(v) => out.extend_from_slice(&(v[i] as u32 ^ 1 << 31).to_be_bytes()),
        Values::U32(v) => out.extend_from_slice(&v[i].to_be_bytes()),
        Values::I64(v) => out.extend_from_slice(&(v[i] as u64 ^ 1 << 63).to_be_bytes()),
        Values::U64(v) => out.extend_from_slice(&v[i].to_be_bytes()),
        Values::I128(v) => out.extend_from_slice(&((v[i] as u128) ^ (1 << 127)).to_be_bytes()),
        Values::I256(v) => write_i256(v[i], out),
        Values::F32(v) => {
            let b = (if v[i] == 0.0 { 0.0 } else { v[i] }).to_bits();
            out.extend_from_slice(&(if b >> 31 != 0 { !b } else { b ^ 1 << 31 }).to_be_bytes());
        }
        Values::F64(v) => {
            let b = (if v[i] == 0.0 { 0.0 } else { v[i] }).to_bits();
            out.extend_from_slice(&(if b >> 63 != 0 { !b } else { b ^ 1 << 63 }).to_be_bytes());
        }
        Values::Str(_) | Values::Dict(_) => {
            let at = out.len();
            collate::sort_key(ty.collation().unwrap_or(Collation::Binary), v.bytes(i), out);
            if out[at..].contains(&0) {
                let raw = out.split_off(at);
                for b in raw {
                    out.push(b);
                    if b == 0 {
                        out.push(0xFF);
                    }
                }
            }
            out.extend_from_slice(&[0, 0]);
        }
    }
}

fn write_i256(v: I256, out: &mut Vec<u8>) {
    out.extend_from_slice(&((v.hi as u128) ^ (1 << 127)).to_be_bytes());
    out.extend_from_slice(&v.lo.to_be_bytes());
}
