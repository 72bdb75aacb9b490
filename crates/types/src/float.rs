//! FLOAT and DOUBLE as text.
//!
//! MySQL writes the shortest digits that read back as the same DOUBLE, and six significant digits of a FLOAT. The
//! exponent form `d.ddde-dd` is taken where the decimal point would lie more than 15 digits away from the first one.
//!
//! ```text
//! 1e14 -> 100000000000000      1e15 -> 1e15      0.1+0.2 -> 0.30000000000000004      1e-15 -> 0.000000000000001
//! ```

use std::io::Write;

/// Significant digits of a FLOAT.
const FLOAT_DIGITS: usize = 6;
/// How far the decimal point may lie from the first digit without an exponent.
const POINT_MAX: i32 = 15;

/// Appends a DOUBLE.
pub fn write_double(value: f64, out: &mut Vec<u8>) {
    let mut text = Scientific::default();
    write!(text, "{value:e}").expect("an f64 in exponent form fits");
    text.write_to(out);
}

/// Appends a FLOAT.
pub fn write_float(value: f32, out: &mut Vec<u8>) {
    let mut text = Scientific::default();
    write!(text, "{:.*e}", FLOAT_DIGITS - 1, f64::from(value)).expect("six digits in exponent form fit");
    text.write_to(out);
}

/// Text such as `-1.25e-7`, on the stack.
#[derive(Default)]
struct Scientific {
    bytes: [u8; 32],
    len: usize,
}

impl Write for Scientific {
    fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
        let room = self.bytes.get_mut(self.len..self.len + buf.len()).ok_or(std::io::ErrorKind::WriteZero)?;
        room.copy_from_slice(buf);
        self.len += buf.len();
        Ok(buf.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Scientific {
    fn write_to(&self, out: &mut Vec<u8>) {
        let text = &self.bytes[..self.len];
        let Some(e) = text.iter().position(|&byte| byte == b'e') else {
            // NaN and infinity are no SQL values
            return out.extend_from_slice(text);
        };
        let (mantissa, negative) = match text[..e].strip_prefix(b"-") {
            Some(rest) => (rest, true),
            None => (&text[..e], false),
        };
        let mut exponent = 0;
        let exponent_negative = text[e + 1] == b'-';
        for byte in text[e + 1..].iter().filter(|byte| byte.is_ascii_digit()) {
            exponent = exponent * 10 + i32::from(byte - b'0');
        }
        if exponent_negative {
            exponent = -exponent;
        }
        let mut digits = [0; 32];
        let mut count = 0;
        for &byte in mantissa.iter().filter(|byte| **byte != b'.') {
            digits[count] = byte;
            count += 1;
        }
        while count > 1 && digits[count - 1] == b'0' {
            count -= 1;
        }
        let digits = &digits[..count];
        if negative {
            out.push(b'-');
        }
        write_digits(digits, exponent + 1, out);
    }
}

/// Appends `0.DIGITS * 10^point`.
fn write_digits(digits: &[u8], point: i32, out: &mut Vec<u8>) {
    let zeros = |out: &mut Vec<u8>, count: i32| out.extend((0..count).map(|_| b'0'));
    if !(1 - POINT_MAX..=POINT_MAX).contains(&point) {
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        write!(out, "e{}", point - 1).expect("a Vec takes everything");
    } else if point <= 0 {
        out.extend_from_slice(b"0.");
        zeros(out, -point);
        out.extend_from_slice(digits);
    } else if digits.len() <= point as usize {
        out.extend_from_slice(digits);
        zeros(out, point - digits.len() as i32);
    } else {
        let (whole, fraction) = digits.split_at(point as usize);
        out.extend_from_slice(whole);
        out.push(b'.');
        out.extend_from_slice(fraction);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn double(value: f64) -> String {
        let mut out = Vec::new();
        write_double(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn float(value: f32) -> String {
        let mut out = Vec::new();
        write_float(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    /// As MariaDB 10.11 and MySQL print them.
    #[test]
    fn doubles() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (1e14, "100000000000000"),
            (1e15, "1e15"),
            (123456789012345.6, "123456789012345.6"),
            (1.5e15, "1.5e15"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e-15, "0.000000000000001"),
            (1e-16, "1e-16"),
            (1.0 / 3.0, "0.3333333333333333"),
            (f64::MAX, "1.7976931348623157e308"),
            (-2.2250738585072014e-308, "-2.2250738585072014e-308"),
            (5e-324, "5e-324"),
            (1234.0, "1234"),
        ] {
            assert_eq!(double(value), text);
        }
    }

    #[test]
    fn floats() {
        for (value, text) in [
            (1.1, "1.1"),
            (16777216.0, "16777200"),
            (1.234_567_9, "1.23457"),
            (999_999.5, "1000000"),
            (f32::MAX, "3.40282e38"),
            (1e-20, "1e-20"),
            (0.0, "0"),
            (-0.25, "-0.25"),
        ] {
            assert_eq!(float(value), text);
        }
    }

    proptest! {
        #[test]
        fn doubles_are_read_back(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            prop_assert_eq!(double(value).parse::<f64>().unwrap().to_bits(), bits);
        }
    }
}
