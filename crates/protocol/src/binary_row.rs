//! Rows of a binary result set: the answer to COM_STMT_EXECUTE.
//!
//! ```text
//! 00 | NULL bitmap: (columns + 9) / 8, from bit 2 on | values that are not NULL, in the form of their column's type
//! ```

use types::{Date, DateTime, Time};

use crate::bytes::put_lenenc_bytes;

/// Bits of the bitmap before the first column's.
const FIRST_BIT: usize = 2;

/// Appends the values of one row to a packet's payload.
pub struct BinaryRow<'a> {
    out: &'a mut Vec<u8>,
    bitmap: usize,
    column: usize,
}

impl<'a> BinaryRow<'a> {
    pub fn new(out: &'a mut Vec<u8>, column_count: usize) -> BinaryRow<'a> {
        out.push(0);
        let bitmap = out.len();
        out.resize(bitmap + (column_count + FIRST_BIT).div_ceil(8), 0);
        BinaryRow { out, bitmap, column: 0 }
    }

    #[inline]
    pub fn null(&mut self) {
        let bit = self.column + FIRST_BIT;
        self.out[self.bitmap + bit / 8] |= 1 << (bit % 8);
        self.column += 1;
    }

    /// An integer of the column's `width` in bytes: 1, 2, 4 or 8.
    #[inline]
    pub fn int(&mut self, value: i64, width: u8) {
        self.out.extend_from_slice(&value.to_le_bytes()[..usize::from(width)]);
        self.column += 1;
    }

    #[inline]
    pub fn float(&mut self, value: f32) {
        self.out.extend_from_slice(&value.to_le_bytes());
        self.column += 1;
    }

    #[inline]
    pub fn double(&mut self, value: f64) {
        self.out.extend_from_slice(&value.to_le_bytes());
        self.column += 1;
    }

    /// A string.
    #[inline]
    pub fn bytes(&mut self, value: &[u8]) {
        put_lenenc_bytes(self.out, value);
        self.column += 1;
    }

    /// A string of at most 250 bytes that `format` appends: decimals.
    #[inline]
    pub fn short(&mut self, format: impl FnOnce(&mut Vec<u8>)) {
        crate::row::TextRow::new(self.out).short(format);
        self.column += 1;
    }

    pub fn date(&mut self, date: Date) {
        if date.is_zero() {
            self.out.push(0);
        } else {
            self.out.push(4);
            self.put_date(date);
        }
        self.column += 1;
    }

    pub fn datetime(&mut self, value: DateTime) {
        let len = match (value.is_zero(), value.micros_of_day(), value.micros()) {
            (true, _, _) => 0,
            (_, 0, _) => 4,
            (_, _, 0) => 7,
            _ => 11,
        };
        self.out.push(len);
        if len >= 4 {
            self.put_date(value.date());
        }
        if len >= 7 {
            self.out.extend([value.hour() as u8, value.minute() as u8, value.second() as u8]);
        }
        if len == 11 {
            self.out.extend_from_slice(&(value.micros() as u32).to_le_bytes());
        }
        self.column += 1;
    }

    pub fn time(&mut self, value: Time) {
        let micros = value.micros() as u32;
        let hours = value.hour() as u32;
        let is_zero = hours == 0 && value.minute() == 0 && value.second() == 0 && micros == 0;
        let len = if is_zero { 0 } else { 8 + 4 * u8::from(micros != 0) };
        self.out.push(len);
        if len > 0 {
            self.out.push(value.is_negative().into());
            self.out.extend_from_slice(&(hours / 24).to_le_bytes());
            self.out.extend([(hours % 24) as u8, value.minute() as u8, value.second() as u8]);
        }
        if len == 12 {
            self.out.extend_from_slice(&micros.to_le_bytes());
        }
        self.column += 1;
    }

    fn put_date(&mut self, date: Date) {
        self.out.extend_from_slice(&(date.year() as u16).to_le_bytes());
        self.out.extend([date.month() as u8, date.day() as u8]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_nulls() {
        let mut out = Vec::new();
        let mut row = BinaryRow::new(&mut out, 7);
        row.int(-1, 2);
        row.null();
        row.double(1.0);
        row.bytes(b"ab");
        row.short(|out| out.extend_from_slice(b"1.5"));
        row.int(7, 1);
        row.null();
        let mut expected = vec![0, 0b1000, 0b1, 0xff, 0xff];
        expected.extend(1.0f64.to_le_bytes());
        expected.extend(b"\x02ab\x031.5\x07");
        assert_eq!(out, expected);
    }

    #[test]
    fn temporal_values() {
        let mut out = Vec::new();
        let mut row = BinaryRow::new(&mut out, 6);
        row.date(Date::new(2024, 2, 29).unwrap());
        row.datetime(DateTime::new(2024, 2, 29, 0, 0, 0, 0).unwrap());
        row.datetime(DateTime::new(2024, 2, 29, 1, 2, 3, 0).unwrap());
        row.datetime(DateTime::new(2024, 2, 29, 1, 2, 3, 4).unwrap());
        row.time(Time::new(true, 25, 0, 0, 0).unwrap());
        row.time(Time::new(false, 0, 0, 0, 0).unwrap());
        let day = [0xe8, 7, 2, 29];
        let expected = [
            &[0, 0, 4][..],
            &day,
            &[4],
            &day,
            &[7],
            &day,
            &[1, 2, 3, 11],
            &day,
            &[1, 2, 3, 4, 0, 0, 0, 8, 1, 1, 0, 0, 0, 1, 0, 0, 0],
        ];
        assert_eq!(out, expected.concat());
    }
}
