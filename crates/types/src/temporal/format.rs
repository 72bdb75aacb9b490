//! Temporal values as text: `2024-12-31`, `-12:00:01.50`, `2024-12-31 23:59:59.000001`.

use std::fmt;

use super::{Date, DateTime, FSP_UNIT, Time};

#[inline]
fn two(v: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'0' + (v / 10) as u8, b'0' + (v % 10) as u8]);
}

fn fraction(micros: i64, fsp: u8, out: &mut Vec<u8>) {
    if fsp == 0 {
        return;
    }
    out.push(b'.');
    let mut v = micros / FSP_UNIT[fsp as usize];
    let start = out.len();
    out.resize(start + fsp as usize, b'0');
    for at in (start..out.len()).rev() {
        out[at] = b'0' + (v % 10) as u8;
        v /= 10;
    }
}

impl Date {
    #[inline]
    pub fn write_to(self, out: &mut Vec<u8>) {
        let y = self.year() as i64;
        two(y / 100, out);
        two(y % 100, out);
        out.push(b'-');
        two(self.month() as i64, out);
        out.push(b'-');
        two(self.day() as i64, out);
    }
}

impl Time {
    /// With exactly `fsp` fractional digits; further ones are cut.
    pub fn write_to(self, fsp: u8, out: &mut Vec<u8>) {
        if self.is_negative() {
            out.push(b'-');
        }
        let hour = self.hour();
        if hour > 99 {
            out.push(b'0' + (hour / 100) as u8);
        }
        two(hour % 100, out);
        out.push(b':');
        two(self.minute(), out);
        out.push(b':');
        two(self.second(), out);
        fraction(self.micros(), fsp, out);
    }
}

impl DateTime {
    /// With exactly `fsp` fractional digits; further ones are cut.
    #[inline]
    pub fn write_to(self, fsp: u8, out: &mut Vec<u8>) {
        self.date().write_to(out);
        out.push(b' ');
        self.time().write_to(fsp, out);
    }

    /// Fractional digits that are not trailing zeros.
    pub fn natural_fsp(self) -> u8 {
        natural_fsp(self.micros())
    }
}

impl Time {
    /// Fractional digits that are not trailing zeros.
    pub fn natural_fsp(self) -> u8 {
        natural_fsp(self.micros())
    }
}

fn natural_fsp(micros: i64) -> u8 {
    (0..=6).find(|&f| micros % FSP_UNIT[f as usize] == 0).unwrap_or(6)
}

macro_rules! display {
    ($ty:ident, $value:ident, $out:ident, $write:expr) => {
        impl fmt::Display for $ty {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let ($value, mut buffer) = (*self, Vec::with_capacity(27));
                let $out = &mut buffer;
                $write;
                f.pad(std::str::from_utf8(&buffer).expect("digits are ASCII"))
            }
        }
    };
}

display!(Date, v, out, v.write_to(out));
display!(Time, v, out, v.write_to(v.natural_fsp(), out));
display!(DateTime, v, out, v.write_to(v.natural_fsp(), out));
