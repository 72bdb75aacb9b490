//! Rows of a text result set: each value a length-encoded string, NULL one byte.
//!
//! The row is built in the connection's output buffer, value after value. Numbers are formatted in place: their length
//! byte is reserved, the digits appended, the length filled in.

use crate::bytes::put_lenenc_bytes;

const NULL: u8 = 0xfb;
/// The longest value whose length takes one byte.
const SHORT_MAX: usize = 250;

/// Appends the values of one row to a packet's payload.
pub struct TextRow<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> TextRow<'a> {
    pub fn new(out: &'a mut Vec<u8>) -> TextRow<'a> {
        TextRow { out }
    }

    #[inline]
    pub fn null(&mut self) {
        self.out.push(NULL);
    }

    #[inline]
    pub fn bytes(&mut self, value: &[u8]) {
        put_lenenc_bytes(self.out, value);
    }

    #[inline]
    pub fn int(&mut self, value: i64) {
        if value < 0 {
            self.digits(value.unsigned_abs(), true);
        } else {
            self.digits(value as u64, false);
        }
    }

    #[inline]
    pub fn uint(&mut self, value: u64) {
        self.digits(value, false);
    }

    /// A value that `format` appends, of at most 250 bytes: decimals, floats, temporal values.
    #[inline]
    pub fn short(&mut self, format: impl FnOnce(&mut Vec<u8>)) {
        let at = self.out.len();
        self.out.push(0);
        format(self.out);
        let len = self.out.len() - at - 1;
        assert!(len <= SHORT_MAX, "a short value of {len} bytes");
        self.out[at] = len as u8;
    }

    fn digits(&mut self, mut value: u64, negative: bool) {
        const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819202122232425262728293031323334353637383940\
            414243444546474849505152535455565758596061626364656667686970717273747576777879808182838485868788899091929394\
            9596979899";
        let mut text = [0; 21];
        let mut at = text.len();
        while value >= 100 {
            let pair = (value % 100) as usize * 2;
            value /= 100;
            at -= 2;
            text[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
        }
        if value >= 10 {
            let pair = value as usize * 2;
            at -= 2;
            text[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
        } else {
            at -= 1;
            text[at] = b'0' + value as u8;
        }
        if negative {
            at -= 1;
            text[at] = b'-';
        }
        self.out.push((text.len() - at) as u8);
        self.out.extend_from_slice(&text[at..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values() {
        let mut out = Vec::new();
        let mut row = TextRow::new(&mut out);
        row.null();
        row.bytes(b"");
        row.int(i64::MIN);
        row.uint(u64::MAX);
        row.short(|out| out.extend_from_slice(b"1.50"));
        assert_eq!(out, b"\xfb\0\x14-9223372036854775808\x1418446744073709551615\x041.50");
    }

    proptest! {
        #[test]
        fn digits_are_those_of_std(value: i64, shift in 0u32..64) {
            let value = value >> shift;
            let mut out = Vec::new();
            TextRow::new(&mut out).int(value);
            let expected = value.to_string();
            prop_assert_eq!(usize::from(out[0]), expected.len());
            prop_assert_eq!(&out[1..], expected.as_bytes());
        }
    }
}
