//! Values as text and text as numbers, as MySQL prints and reads them.

use crate::eval::Exact;
use types::{Date, DateTime, SqlType, Time, Timestamp, temporal};
use vector::{Values, Vector};

/// Numbers beyond 10^15 and below 10^-15 are printed with an exponent.
const FIXED_DIGITS: i32 = 15;

/// Appends the shortest text that reads back as `v`.
pub fn write_f64(v: f64, out: &mut Vec<u8>) {
    write_shortest(format!("{v:e}"), v == 0.0, out);
}

/// Appends the shortest text that reads back as the single `v`.
pub fn write_f32(v: f32, out: &mut Vec<u8>) {
    // Singles are printed with at most six digits.
    let short: f32 = format!("{v:.5e}").parse().unwrap_or(v);
    write_shortest(format!("{short:e}"), v == 0.0, out);
}

/// `text` is Rust's shortest scientific form, e.g. `-1.25e-7`.
fn write_shortest(text: String, zero: bool, out: &mut Vec<u8>) {
    if zero {
        out.push(b'0');
        return;
    }
    let Some((mantissa, exponent)) = text.split_once('e') else {
        out.extend_from_slice(text.as_bytes());
        return;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(m) => ("-", m),
        None => ("", mantissa),
    };
    out.extend_from_slice(sign.as_bytes());
    let digits: Vec<u8> = mantissa.bytes().filter(|b| *b != b'.').collect();
    // The value is 0.digits * 10^point.
    let point = exponent + 1;
    if !(-FIXED_DIGITS + 1..=FIXED_DIGITS).contains(&point) {
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        out.push(b'e');
        out.extend_from_slice(exponent.to_string().as_bytes());
    } else if point <= 0 {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', -point as usize));
        out.extend_from_slice(&digits);
    } else {
        let whole = (point as usize).min(digits.len());
        out.extend_from_slice(&digits[..whole]);
        out.extend(std::iter::repeat_n(b'0', point as usize - whole));
        if digits.len() > whole {
            out.push(b'.');
            out.extend_from_slice(&digits[whole..]);
        }
    }
}

fn trim(text: &[u8]) -> &[u8] {
    text.trim_ascii()
}

/// The number at the start of a text, and whether it is all of the text (but for spaces). No number reads as 0.
pub fn parse_f64(text: &[u8]) -> (f64, bool) {
    let t = trim(text);
    let mut end = 0;
    let mut digits = 0;
    if matches!(t.first(), Some(b'+' | b'-')) {
        end += 1;
    }
    let run = |from: usize| t[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let n = run(end);
    (end, digits) = (end + n, digits + n);
    if t.get(end) == Some(&b'.') {
        let n = run(end + 1);
        if digits + n > 0 {
            end += 1 + n;
            digits += n;
        }
    }
    if digits == 0 {
        return (0.0, false);
    }
    if matches!(t.get(end), Some(b'e' | b'E')) {
        let sign = matches!(t.get(end + 1), Some(b'+' | b'-')) as usize;
        let n = run(end + 1 + sign);
        if n > 0 {
            end += 1 + sign + n;
        }
    }
    let v: f64 = std::str::from_utf8(&t[..end]).ok().and_then(|s| s.parse().ok()).unwrap_or(0.0);
    if v.is_infinite() {
        return (f64::MAX.copysign(v), false);
    }
    (v, end == t.len())
}

/// The integer at the start of a text, and whether it is all of the text. Saturates.
pub fn parse_int(text: &[u8]) -> (i128, bool) {
    let t = trim(text);
    let (negative, from) = match t.first() {
        Some(b'-') => (true, 1),
        Some(b'+') => (false, 1),
        _ => (false, 0),
    };
    let n = t[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let v = t[from..from + n]
        .iter()
        .fold(0i128, |v, b| v.saturating_mul(10).saturating_add((b - b'0') as i128).min(i64::MAX as i128 * 4));
    (if negative { -v } else { v }, n > 0 && from + n == t.len())
}

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
        _ => write_int(x, out),
    };
    match &chunk.values {
        Values::I8(v) => int(v[i] as i64, out),
        Values::U8(v) => int(v[i] as i64, out),
        Values::I16(v) => int(v[i] as i64, out),
        Values::U16(v) => int(v[i] as i64, out),
        Values::I32(v) => int(v[i] as i64, out),
        Values::U32(v) => int(v[i] as i64, out),
        Values::I64(v) => int(v[i], out),
        Values::U64(v) => out.extend_from_slice(v[i].to_string().as_bytes()),
        Values::F32(v) => write_f32(v[i], out),
        Values::F64(v) => write_f64(v[i], out),
        Values::Str(s) => out.extend_from_slice(s.bytes(i)),
        Values::Dict(d) => out.extend_from_slice(d.bytes(i)),
        Values::I128(_) | Values::I256(_) => Exact::new(v, ty).decimal(i).write_to(out),
    }
}

/// Appends a decimal integer.
pub fn write_int(v: i64, out: &mut Vec<u8>) {
    let mut buf = [0u8; 20];
    let mut at = buf.len();
    let mut m = v.unsigned_abs();
    loop {
        at -= 1;
        buf[at] = b'0' + (m % 10) as u8;
        m /= 10;
        if m == 0 {
            break;
        }
    }
    if v < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&buf[at..]);
}
