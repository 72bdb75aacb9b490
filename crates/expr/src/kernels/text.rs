//! Values of vectors as text.

use crate::eval::Exact;
use types::value::number::{fmt_double, fmt_float, fmt_i64, fmt_u64};
use types::{Date, DateTime, SqlType, Time, Timestamp, temporal};
use vector::{Values, Vector};

/// Appends the text of the value at position `i`, which is not NULL. A TIMESTAMP is printed in `zone`.
pub fn write_value(v: &Vector, i: usize, ty: &SqlType, zone: Option<&mut temporal::LocalConverter>, out: &mut Vec<u8>) {
    let (chunk, constant) = v.chunk();
    let i = if constant { 0 } else { i };
    let int = |x: i64, out: &mut Vec<u8>| match ty {
        SqlType::Date => Date(x as i32).write_to(out),
        SqlType::Time { fsp } => Time(x).write_to(*fsp, out),
        SqlType::DateTime { fsp } => DateTime(x).write_to(*fsp, out),
        SqlType::Timestamp { fsp } => match zone {
            Some(z) => z.to_datetime(Timestamp(x)).write_to(*fsp, out),
            None => Timestamp(x).to_utc().write_to(*fsp, out),
        },
        SqlType::Decimal { scale, .. } => types::decimal::text::write_scaled(x as i128, *scale, out),
        SqlType::Year if x == 0 => out.extend_from_slice(b"0000"),
        _ => fmt_i64(x, out),
    };
    match &chunk.values {
        Values::I8(v) => int(v[i] as i64, out),
        Values::U8(v) => int(v[i] as i64, out),
        Values::I16(v) => int(v[i] as i64, out),
        Values::U16(v) => int(v[i] as i64, out),
        Values::I32(v) => int(v[i] as i64, out),
        Values::U32(v) => int(v[i] as i64, out),
        Values::I64(v) => int(v[i], out),
        Values::U64(v) => fmt_u64(v[i], out),
        Values::F32(v) => fmt_float(v[i], out),
        Values::F64(v) => fmt_double(v[i], out),
        Values::Str(s) => out.extend_from_slice(s.bytes(i)),
        Values::Dict(d) => out.extend_from_slice(d.bytes(i)),
        Values::I128(_) | Values::I256(_) => Exact::new(v, ty).decimal(i).write_to(out),
    }
}

/// MySQL's messages have no more bytes.
const SHOWN_BYTES_MAX: usize = 512;

/// What an error shows of a string, which may be long.
pub(crate) fn shown(s: &[u8]) -> std::borrow::Cow<'_, str> {
    let end = s.len().min(SHOWN_BYTES_MAX);
    let is_inside = |at: usize| s.get(at).is_some_and(|b| b & 0xC0 == 0x80);
    let end = (end.saturating_sub(3)..=end).rev().find(|&at| !is_inside(at)).unwrap_or(end);
    String::from_utf8_lossy(&s[..end])
}
