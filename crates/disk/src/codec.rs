//! Little-endian bytes: what log records, leaf images and manifests are made of.
//!
//! Reading never panics and never trusts a length: everything comes back as `Option`, `None` where the bytes end too
//! soon or make no sense. Callers turn that into an error that names the file.

/// Appends to a byte buffer.
pub trait Put {
    fn put_u8(&mut self, v: u8);
    fn put_u32(&mut self, v: u32);
    fn put_u64(&mut self, v: u64);
    /// Seven bits a byte, least first.
    fn put_varint(&mut self, v: u64);
    /// A length as a varint, then the bytes.
    fn put_bytes(&mut self, v: &[u8]);
}

impl Put for Vec<u8> {
    #[inline]
    fn put_u8(&mut self, v: u8) {
        self.push(v);
    }
    #[inline]
    fn put_u32(&mut self, v: u32) {
        self.extend_from_slice(&v.to_le_bytes());
    }
    #[inline]
    fn put_u64(&mut self, v: u64) {
        self.extend_from_slice(&v.to_le_bytes());
    }
    #[inline]
    fn put_varint(&mut self, mut v: u64) {
        while v >= 0x80 {
            self.push(v as u8 | 0x80);
            v >>= 7;
        }
        self.push(v as u8);
    }
    fn put_bytes(&mut self, v: &[u8]) {
        self.put_varint(v.len() as u64);
        self.extend_from_slice(v);
    }
}

/// Reads from the front of a slice.
#[derive(Clone, Copy, Debug)]
pub struct Get<'a>(pub &'a [u8]);

impl<'a> Get<'a> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[inline]
    pub fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(n)?;
        self.0 = tail;
        Some(head)
    }

    #[inline]
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, tail) = self.0.split_first_chunk::<N>()?;
        self.0 = tail;
        Some(*head)
    }

    #[inline]
    pub fn u8(&mut self) -> Option<u8> {
        Some(self.array::<1>()?[0])
    }
    #[inline]
    pub fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.array()?))
    }
    #[inline]
    pub fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.array()?))
    }

    #[inline]
    pub fn varint(&mut self) -> Option<u64> {
        let mut v = 0u64;
        for shift in (0..64).step_by(7) {
            let b = self.u8()?;
            v |= ((b & 0x7F) as u64) << shift;
            if b < 0x80 {
                return Some(v);
            }
        }
        None
    }

    /// A varint that must not exceed `max`.
    #[inline]
    pub fn count(&mut self, max: usize) -> Option<usize> {
        usize::try_from(self.varint()?).ok().filter(|n| *n <= max)
    }

    #[inline]
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let n = self.count(self.0.len())?;
        self.take(n)
    }

    pub fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_put_is_got(v: u64, b: Vec<u8>, garbage: Vec<u8>) {
            let mut out = Vec::new();
            out.put_varint(v);
            out.put_bytes(&b);
            let mut get = Get(&out);
            prop_assert_eq!(get.varint(), Some(v));
            prop_assert_eq!(get.bytes(), Some(&b[..]));
            prop_assert!(get.is_empty() && get.u8().is_none());
            let mut get = Get(&garbage);
            while get.bytes().is_some() && !get.is_empty() {}
        }
    }
}
