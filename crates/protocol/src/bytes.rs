//! Reading and writing the protocol's primitive types: little-endian integers, length-encoded integers and strings.
//!
//! ```text
//! length-encoded integer   0x00..0xfa  the value itself
//!                          0xfc        two bytes follow
//!                          0xfd        three bytes follow
//!                          0xfe        eight bytes follow
//!                          0xfb        NULL (in rows), 0xff: not an integer
//! ```

use types::Error;

/// The bytes do not form what they should. Becomes error 1835.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed;

impl From<Malformed> for Error {
    fn from(_: Malformed) -> Error {
        Error::malformed_packet()
    }
}

/// Reads a packet's payload from front to back without copying.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub fn new(payload: &'a [u8]) -> Cursor<'a> {
        Cursor { rest: payload }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Everything that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }

    pub fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (head, tail) = self.rest.split_at_checked(len).ok_or(Malformed)?;
        self.rest = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, tail) = self.rest.split_first_chunk::<N>().ok_or(Malformed)?;
        self.rest = tail;
        Ok(*head)
    }

    pub fn u8(&mut self) -> Result<u8, Malformed> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u24(&mut self) -> Result<u32, Malformed> {
        self.array::<3>().map(|[a, b, c]| u32::from_le_bytes([a, b, c, 0]))
    }

    pub fn u32(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn lenenc_int(&mut self) -> Result<u64, Malformed> {
        match self.u8()? {
            0xfc => self.u16().map(u64::from),
            0xfd => self.u24().map(u64::from),
            0xfe => self.u64(),
            0xfb | 0xff => Err(Malformed),
            small => Ok(u64::from(small)),
        }
    }

    pub fn lenenc_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let len = self.lenenc_int()?;
        self.take(usize::try_from(len).map_err(|_| Malformed)?)
    }

    /// Bytes up to a NUL, which is consumed and must be there.
    pub fn nul_bytes(&mut self) -> Result<&'a [u8], Malformed> {
        let len = self.rest.iter().position(|&byte| byte == 0).ok_or(Malformed)?;
        let (head, tail) = self.rest.split_at(len);
        self.rest = &tail[1..];
        Ok(head)
    }

    /// Bytes up to a NUL or the end of the packet; some clients leave the last NUL away.
    pub fn nul_or_rest(&mut self) -> &'a [u8] {
        self.nul_bytes().unwrap_or_else(|_| self.rest())
    }
}

pub(crate) fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_le_bytes());
}

pub(crate) fn put_u24(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes()[..3]);
}

pub(crate) fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

pub fn put_lenenc_int(out: &mut Vec<u8>, value: u64) {
    match value {
        0..=0xfa => out.push(value as u8),
        0xfb..=0xffff => {
            out.push(0xfc);
            put_u16(out, value as u16);
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            put_u24(out, value as u32);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
}

pub fn put_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_lenenc_int(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lenenc_boundaries() {
        for (value, len) in [(0, 1), (250, 1), (251, 3), (0xffff, 3), (0x1_0000, 4), (0xff_ffff, 4), (0x100_0000, 9)] {
            let mut out = Vec::new();
            put_lenenc_int(&mut out, value);
            assert_eq!(out.len(), len, "{value}");
            assert_eq!(Cursor::new(&out).lenenc_int(), Ok(value));
        }
        assert_eq!(Cursor::new(&[0xfb]).lenenc_int(), Err(Malformed));
        assert_eq!(Cursor::new(&[0xfe, 255, 255, 255, 255, 255, 255, 255, 255]).lenenc_bytes(), Err(Malformed));
    }

    #[test]
    fn strings() {
        let mut cursor = Cursor::new(b"ab\0cd");
        assert_eq!(cursor.nul_bytes(), Ok(&b"ab"[..]));
        assert_eq!(cursor.nul_bytes(), Err(Malformed));
        assert_eq!(cursor.nul_or_rest(), b"cd");
        assert!(cursor.is_empty());
    }

    proptest! {
        #[test]
        fn lenenc_round_trip(value: u64, bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let mut out = Vec::new();
            put_lenenc_int(&mut out, value);
            put_lenenc_bytes(&mut out, &bytes);
            let mut cursor = Cursor::new(&out);
            prop_assert_eq!(cursor.lenenc_int(), Ok(value));
            prop_assert_eq!(cursor.lenenc_bytes(), Ok(&bytes[..]));
            prop_assert!(cursor.is_empty());
        }
    }
}
