//! Doubles and integers from and to text.
//!
//! Printing: the shortest digits that read back as the same double (FLOAT: six significant digits), in plain notation
//! while the decimal point stays within 15 digits of the first one or has digits behind it, in `1.5e20` notation
//! beyond.
//!
//! Reading takes the longest prefix that is a number and says what was wrong with the rest; callers raise 1292, 1366 or
//! 1265 as their place demands.

use crate::Decimal;
use crate::decimal::text::{is_space, parse_exponent};

/// What reading a text, or narrowing a number, lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Truncation {
    None,
    /// A number, then something else.
    Trailing,
    /// No number at all: the value is 0.
    NotANumber,
    /// The value is the nearest that the type holds.
    OutOfRange,
}

/// A value with what was lost on the way to it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Read<T> {
    pub value: T,
    pub truncation: Truncation,
}

impl<T> Read<T> {
    #[inline]
    pub const fn new(value: T, truncation: Truncation) -> Read<T> {
        Read { value, truncation }
    }

    #[inline]
    pub fn clean(value: T) -> Read<T> {
        Read { value, truncation: Truncation::None }
    }

    #[inline]
    pub(crate) fn ranged((value, clamped): (T, bool)) -> Read<T> {
        Read { value, truncation: if clamped { Truncation::OutOfRange } else { Truncation::None } }
    }

    #[inline]
    pub fn is_clean(&self) -> bool {
        self.truncation == Truncation::None
    }
}

/// The point's farthest place, in digits from the first one, in plain notation.
const MAX_PLAIN_POINT: i32 = 15;

/// Appends a double as MySQL prints it.
#[inline]
pub fn fmt_double(v: f64, out: &mut Vec<u8>) {
    if v == 0.0 || !v.is_finite() {
        out.extend_from_slice(if v.is_sign_negative() && v == 0.0 { b"-0" } else { b"0" });
        return;
    }
    // Integers of up to 15 digits are their own shortest digits.
    if v.abs() < 1e15 && v == v.trunc() {
        fmt_i64(v as i64, out);
        return;
    }
    let mut buffer = zmij::Buffer::new();
    layout(buffer.format_finite(v).as_bytes(), out);
}

/// Appends a FLOAT as MySQL prints it: six significant digits.
pub fn fmt_float(v: f32, out: &mut Vec<u8>) {
    if v == 0.0 || !v.is_finite() {
        fmt_double(v as f64, out);
        return;
    }
    layout(format!("{:.5e}", v as f64).as_bytes(), out);
}

/// Appends a double with a fixed number of digits after the point, as FLOAT(M,D), FORMAT and ROUND(x, D) print it.
pub fn fmt_fixed(v: f64, decimals: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("{v:.decimals$}").as_bytes());
}

/// Appends an integer.
#[inline]
pub fn fmt_i64(v: i64, out: &mut Vec<u8>) {
    if v < 0 {
        out.push(b'-');
    }
    fmt_u64(v.unsigned_abs(), out);
}

/// Appends an unsigned integer.
#[inline]
pub fn fmt_u64(mut v: u64, out: &mut Vec<u8>) {
    let mut buffer = [0u8; 20];
    let mut at = buffer.len();
    while v >= 100 {
        at -= 2;
        let pair = (v % 100) as usize * 2;
        buffer[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
        v /= 100;
    }
    if v >= 10 {
        at -= 2;
        let pair = v as usize * 2;
        buffer[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    } else {
        at -= 1;
        buffer[at] = b'0' + v as u8;
    }
    out.extend_from_slice(&buffer[at..]);
}

/// 00 01 .. 99
static PAIRS: [u8; 200] = {
    let mut t = [0u8; 200];
    let mut i = 0;
    while i < 100 {
        t[2 * i] = b'0' + (i / 10) as u8;
        t[2 * i + 1] = b'0' + (i % 10) as u8;
        i += 1;
    }
    t
};

/// Re-lays digits given as `[-]d[.ddd][e[-]dd]` or plain.
fn layout(text: &[u8], out: &mut Vec<u8>) {
    let mut digits = [0u8; 32];
    let mut n = 0;
    // The value is 0.DIGITS * 10^point.
    let mut point = 0i32;
    let mut seen_point = false;
    let mut exponent = 0;
    for (i, &b) in text.iter().enumerate() {
        match b {
            b'-' => out.push(b'-'),
            b'.' => seen_point = true,
            b'e' | b'E' => {
                exponent = parse_exponent(&text[i..]).0;
                break;
            }
            _ => {
                if n > 0 || b != b'0' {
                    digits[n] = b;
                    n += 1;
                    point += !seen_point as i32;
                } else if seen_point {
                    point -= 1;
                }
            }
        }
    }
    while n > 1 && digits[n - 1] == b'0' {
        n -= 1;
    }
    let digits = &digits[..n];
    let point = point + exponent;
    let is_plain = (1 - MAX_PLAIN_POINT..=MAX_PLAIN_POINT).contains(&point) || point > 0 && (point as usize) < n;
    if !is_plain {
        out.push(digits[0]);
        if n > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        out.push(b'e');
        fmt_i64(point as i64 - 1, out);
    } else if point <= 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + -point as usize, b'0');
        out.extend_from_slice(digits);
    } else if point as usize >= n {
        out.extend_from_slice(digits);
        out.resize(out.len() + point as usize - n, b'0');
    } else {
        out.extend_from_slice(&digits[..point as usize]);
        out.push(b'.');
        out.extend_from_slice(&digits[point as usize..]);
    }
}

/// The longest prefix that is a number: where it begins and ends; None if there is none.
fn number_span(text: &[u8]) -> Option<(usize, usize)> {
    let start = text.iter().take_while(|b| is_space(**b)).count();
    let mut at = start + matches!(text.get(start), Some(b'+' | b'-')) as usize;
    let whole = text[at..].iter().take_while(|b| b.is_ascii_digit()).count();
    at += whole;
    let mut fraction = 0;
    if text.get(at) == Some(&b'.') {
        fraction = text[at + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
        if whole + fraction > 0 {
            at += 1 + fraction;
        }
    }
    if whole + fraction == 0 {
        return None;
    }
    Some((start, at + parse_exponent(&text[at..]).1))
}

fn trailing(text: &[u8], at: usize) -> Truncation {
    if text[at..].iter().all(|b| is_space(*b)) { Truncation::None } else { Truncation::Trailing }
}

/// Reads a double.
pub fn parse_f64(text: &[u8]) -> Read<f64> {
    let Some((start, end)) = number_span(text) else {
        return Read::new(0.0, Truncation::NotANumber);
    };
    let digits = std::str::from_utf8(&text[start..end]).expect("a number is ASCII");
    let value: f64 = digits.parse().expect("the span is a number");
    if value.is_infinite() {
        return Read::new(f64::MAX.copysign(value), Truncation::OutOfRange);
    }
    Read::new(value, trailing(text, end))
}

/// Reads an exact number.
pub fn parse_decimal(text: &[u8]) -> Read<Decimal> {
    let p = crate::decimal::parse_decimal(text);
    let truncation = if p.bad {
        Truncation::NotANumber
    } else if p.overflow {
        Truncation::OutOfRange
    } else if p.trailing {
        Truncation::Trailing
    } else {
        Truncation::None
    };
    Read::new(p.value, truncation)
}

/// Sign, magnitude (saturated above u64) and end of an integer prefix.
fn integer_span(text: &[u8]) -> Option<(bool, u128, usize)> {
    let start = text.iter().take_while(|b| is_space(**b)).count();
    let negative = text.get(start) == Some(&b'-');
    let from = start + matches!(text.get(start), Some(b'+' | b'-')) as usize;
    let mut at = from;
    let mut v = 0u128;
    while let Some(b) = text.get(at).filter(|b| b.is_ascii_digit()) {
        if v <= u64::MAX as u128 {
            v = v * 10 + (b - b'0') as u128;
        }
        at += 1;
    }
    (at > from).then_some((negative, v, at))
}

/// Reads a signed integer as CAST AS SIGNED does: digits only, no fraction, no exponent.
pub fn parse_i64(text: &[u8]) -> Read<i64> {
    let Some((negative, v, end)) = integer_span(text) else {
        return Read::new(0, Truncation::NotANumber);
    };
    let signed = if negative { -(v as i128) } else { v as i128 };
    match i64::try_from(signed) {
        Ok(v) => Read::new(v, trailing(text, end)),
        Err(_) => Read::new(if negative { i64::MIN } else { i64::MAX }, Truncation::OutOfRange),
    }
}

/// Reads an unsigned integer as CAST AS UNSIGNED does: negative numbers wrap around.
pub fn parse_u64(text: &[u8]) -> Read<u64> {
    match integer_span(text) {
        None => Read::new(0, Truncation::NotANumber),
        Some((true, ..)) => {
            let r = parse_i64(text);
            Read::new(r.value as u64, r.truncation)
        }
        Some((false, v, end)) => match u64::try_from(v) {
            Ok(v) => Read::new(v, trailing(text, end)),
            Err(_) => Read::new(u64::MAX, Truncation::OutOfRange),
        },
    }
}

/// Rounds half to even, as MySQL stores and casts doubles to integers, and clamps.
#[inline]
pub fn round_f64_to_i64(v: f64) -> Read<i64> {
    let r = v.round_ties_even();
    // 2^63 itself is not an i64, and the cast saturates.
    Read::ranged((r as i64, !(-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&r)))
}

/// Rounds half to even and clamps into u64; negative values are out of range.
#[inline]
pub fn round_f64_to_u64(v: f64) -> Read<u64> {
    let r = v.round_ties_even();
    Read::ranged((r as u64, !(0.0..18_446_744_073_709_551_616.0).contains(&r)))
}

/// The shortest decimal of a double, clamped to 65 digits.
pub fn f64_to_decimal(v: f64) -> Read<Decimal> {
    match Decimal::from_f64(v) {
        Some(d) => Read::clean(d),
        None => {
            let (max, _) = Decimal::new(crate::I256::MAX, 0).fit(crate::decimal::MAX_PRECISION, 0);
            Read::new(if v < 0.0 { max.negated() } else { max }, Truncation::OutOfRange)
        }
    }
}
