//! DECIMAL from and to text.

use std::fmt;

use super::{Decimal, MAX_PRECISION, MAX_SCALE};
use crate::I256;

/// What [`parse_decimal`] read.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ParsedDecimal {
    pub value: Decimal,
    /// No number at the start: `value` is 0.
    pub bad: bool,
    /// Something other than spaces follows the number.
    pub trailing: bool,
    /// Digits after the point were rounded away (more than 30 of them).
    pub rounded: bool,
    /// More than 65 digits: `value` is the nearest bound.
    pub overflow: bool,
}

/// Reads the longest prefix of `text` that is a number: spaces, sign, digits, point, digits, exponent.
pub fn parse_decimal(text: &[u8]) -> ParsedDecimal {
    let mut i = text.iter().take_while(|b| is_space(**b)).count();
    let negative = match text.get(i) {
        Some(b'-') => {
            i += 1;
            true
        }
        Some(b'+') => {
            i += 1;
            false
        }
        _ => false,
    };
    let whole_start = i;
    while i < text.len() && text[i].is_ascii_digit() {
        i += 1;
    }
    let whole = &text[whole_start..i];
    let mut fraction: &[u8] = &[];
    if text.get(i) == Some(&b'.') {
        let start = i + 1;
        let end = start + text[start..].iter().take_while(|b| b.is_ascii_digit()).count();
        if end > start || !whole.is_empty() {
            fraction = &text[start..end];
            i = end;
        }
    }
    if whole.is_empty() && fraction.is_empty() {
        return ParsedDecimal { value: Decimal::ZERO, bad: true, trailing: true, rounded: false, overflow: false };
    }
    let (exponent, used) = parse_exponent(&text[i..]);
    i += used;
    let trailing = text[i..].iter().any(|b| !is_space(*b));
    let (value, rounded, overflow) = assemble(whole, fraction, exponent, negative);
    ParsedDecimal { value, bad: false, trailing, rounded, overflow }
}

#[inline]
pub(crate) fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t'..=b'\r')
}

/// `e[+-]digits` at the start of `text`: its value, saturated, and its length; (0, 0) if there is none.
pub(crate) fn parse_exponent(text: &[u8]) -> (i32, usize) {
    if !matches!(text.first(), Some(b'e' | b'E')) {
        return (0, 0);
    }
    let mut i = 1;
    let negative = text.get(1) == Some(&b'-');
    if matches!(text.get(1), Some(b'+' | b'-')) {
        i = 2;
    }
    let start = i;
    let mut v = 0i32;
    while let Some(b) = text.get(i).filter(|b| b.is_ascii_digit()) {
        v = v.saturating_mul(10).saturating_add((b - b'0') as i32).min(1_000_000);
        i += 1;
    }
    if i == start { (0, 0) } else { (if negative { -v } else { v }, i) }
}

/// whole.fraction * 10^exponent -> (value, rounded, overflow).
fn assemble(whole: &[u8], fraction: &[u8], exponent: i32, negative: bool) -> (Decimal, bool, bool) {
    let digit = |k: usize| if k < whole.len() { whole[k] } else { fraction[k - whole.len()] } - b'0';
    let count = whole.len() + fraction.len();
    let first = (0..count).find(|&k| digit(k) != 0).unwrap_or(count);
    // The point stands before digit `point` of the digit string (it may lie outside of it).
    let point = whole.len() as i64 + exponent as i64;
    let integer_digits = point - first as i64;
    if first < count && integer_digits > MAX_PRECISION as i64 {
        let max = I256::pow10(MAX_PRECISION as usize).wrapping_sub(I256::ONE);
        return (Decimal::new(if negative { -max } else { max }, 0), false, true);
    }
    let room = MAX_PRECISION as i64 - integer_digits.max(0);
    let wanted = (count as i64 - point).max(0);
    let scale = wanted.min(MAX_SCALE as i64).min(room.max(0));
    // Digits `first .. end` make the unscaled integer.
    let end = point + scale;
    let mut value = Chunked::default();
    for k in first as i64..end.max(first as i64) {
        value.push(if k < count as i64 { digit(k as usize) } else { 0 });
    }
    let mut unscaled = value.finish();
    let mut rounded = false;
    if end < count as i64 {
        rounded = (end.max(0) as usize..count).any(|k| digit(k) != 0);
        if end >= first as i64 && digit(end as usize) >= 5 {
            unscaled = unscaled.wrapping_add(I256::ONE);
        }
    }
    let d = Decimal::new(if negative { -unscaled } else { unscaled }, scale as u8);
    match d.in_range() {
        true => (d, rounded, false),
        // Rounding carried into a 66th digit: one digit less after the point.
        false if scale > 0 => (d.unscaled_div10(), true, false),
        false => (Decimal::new(if negative { unscaled_max_neg() } else { -unscaled_max_neg() }, 0), rounded, true),
    }
}

fn unscaled_max_neg() -> I256 {
    I256::ONE.wrapping_sub(I256::pow10(MAX_PRECISION as usize))
}

impl Decimal {
    fn unscaled_div10(self) -> Decimal {
        Decimal::new(self.unscaled.div_round(I256::from(10i64)).expect("ten is not zero"), self.scale - 1)
    }

    /// Appends the digits, with exactly `scale` of them after the point.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        match self.to_i128() {
            Some(v) => write_scaled(v, self.scale, out),
            None => {
                let digits = self.unscaled.abs().to_string();
                write_digits(digits.as_bytes(), self.is_negative(), self.scale, out);
            }
        }
    }
}

/// Appends `unscaled` / 10^`scale`, with exactly `scale` digits after the point.
pub fn write_scaled(unscaled: i128, scale: u8, out: &mut Vec<u8>) {
    let mut buffer = [0u8; 40];
    let mut at = buffer.len();
    let mut m = unscaled.unsigned_abs();
    while m > u64::MAX as u128 {
        at -= 1;
        buffer[at] = b'0' + (m % 10) as u8;
        m /= 10;
    }
    let mut m = m as u64;
    loop {
        at -= 1;
        buffer[at] = b'0' + (m % 10) as u8;
        m /= 10;
        if m == 0 {
            break;
        }
    }
    write_digits(&buffer[at..], unscaled < 0, scale, out);
}

fn write_digits(digits: &[u8], negative: bool, scale: u8, out: &mut Vec<u8>) {
    let scale = scale as usize;
    if negative {
        out.push(b'-');
    }
    if digits.len() > scale {
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        out.extend_from_slice(whole);
        if scale > 0 {
            out.push(b'.');
            out.extend_from_slice(fraction);
        }
    } else {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + scale - digits.len(), b'0');
        out.extend_from_slice(digits);
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::with_capacity(70);
        self.write_to(&mut out);
        f.pad(std::str::from_utf8(&out).expect("digits are ASCII"))
    }
}

/// Collects decimal digits 18 at a time.
#[derive(Default)]
struct Chunked {
    value: I256,
    chunk: u64,
    digits: usize,
}

impl Chunked {
    fn push(&mut self, digit: u8) {
        self.chunk = self.chunk * 10 + digit as u64;
        self.digits += 1;
        if self.digits == 18 {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let shifted = self.value.checked_mul(I256::pow10(self.digits)).expect("at most 66 digits are pushed");
        self.value = shifted.wrapping_add(I256::from(self.chunk));
        (self.chunk, self.digits) = (0, 0);
    }

    fn finish(mut self) -> I256 {
        self.flush();
        self.value
    }
}
