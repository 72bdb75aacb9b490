//! Records: fields with tags and lengths. The one type that writes them and the one that reads them.

use super::MUST_KNOW;

/// Bytes of a field before its value.
pub const FIELD_HEADER_BYTES: usize = 6;

/// The bytes make no sense here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    /// From the beginning of the object.
    pub offset: usize,
    pub what: String,
}

impl Damage {
    pub fn at(offset: usize, what: impl Into<String>) -> Damage {
        Damage { offset, what: what.into() }
    }
}

pub type Read<T> = Result<T, Damage>;

/// Appends fields. Lengths are filled in when a value is complete.
#[derive(Debug)]
pub struct Writer {
    out: Vec<u8>,
}

impl Writer {
    /// Behind what is there.
    pub fn new(out: Vec<u8>) -> Writer {
        Writer { out }
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    /// A field whose value is what `fill` appends. A value longer than a length can say makes the whole object too
    /// long, which is found at its end.
    fn field(&mut self, tag: u16, fill: impl FnOnce(&mut Writer)) {
        self.out.extend_from_slice(&tag.to_le_bytes());
        let at = self.out.len();
        self.out.extend_from_slice(&[0; 4]);
        fill(self);
        let length = (self.out.len() - at - 4) as u32;
        self.out[at..at + 4].copy_from_slice(&length.to_le_bytes());
    }

    pub fn bytes(&mut self, tag: u16, v: &[u8]) {
        self.field(tag, |w| w.out.extend_from_slice(v));
    }

    pub fn text(&mut self, tag: u16, v: &str) {
        self.bytes(tag, v.as_bytes());
    }

    /// Nothing, for an empty text.
    pub fn some_text(&mut self, tag: u16, v: &str) {
        if !v.is_empty() {
            self.text(tag, v);
        }
    }

    /// Nothing, for false.
    pub fn flag(&mut self, tag: u16, v: bool) {
        if v {
            self.u8(tag, 1);
        }
    }

    pub fn u8(&mut self, tag: u16, v: u8) {
        self.bytes(tag, &[v]);
    }

    pub fn u16(&mut self, tag: u16, v: u16) {
        self.bytes(tag, &v.to_le_bytes());
    }

    pub fn u32(&mut self, tag: u16, v: u32) {
        self.bytes(tag, &v.to_le_bytes());
    }

    pub fn u64(&mut self, tag: u16, v: u64) {
        self.bytes(tag, &v.to_le_bytes());
    }

    pub fn i64(&mut self, tag: u16, v: i64) {
        self.bytes(tag, &v.to_le_bytes());
    }

    /// Its bits: what is read back is the same number, NaN and -0 too.
    pub fn f64(&mut self, tag: u16, v: f64) {
        self.u64(tag, v.to_bits());
    }

    pub fn record(&mut self, tag: u16, fill: impl FnOnce(&mut Writer)) {
        self.field(tag, fill);
    }
}

/// Fields in the order in which they were written.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    bytes: &'a [u8],
    /// Of `bytes` in the object.
    offset: usize,
}

/// One field.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    pub tag: u16,
    pub bytes: &'a [u8],
    /// Of the value in the object.
    pub offset: usize,
}

impl<'a> Record<'a> {
    pub fn new(bytes: &'a [u8], offset: usize) -> Record<'a> {
        Record { bytes, offset }
    }

    /// The next field; `None` at the end.
    fn next_field(&mut self) -> Read<Option<Field<'a>>> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let Some((header, rest)) = self.bytes.split_first_chunk::<FIELD_HEADER_BYTES>() else {
            return Err(Damage::at(self.offset, "a field's header ends too soon"));
        };
        let [t0, t1, length @ ..] = *header;
        let (tag, length) = (u16::from_le_bytes([t0, t1]), u32::from_le_bytes(length) as usize);
        let Some((bytes, rest)) = rest.split_at_checked(length) else {
            let what = format!("field {tag} should have {length} bytes, and {} are left", rest.len());
            return Err(Damage::at(self.offset, what));
        };
        let offset = self.offset + FIELD_HEADER_BYTES;
        (self.bytes, self.offset) = (rest, offset + length);
        Ok(Some(Field { tag, bytes, offset }))
    }

    /// Hands each field to `take`, which answers whether it knew the tag.
    pub fn each(mut self, mut take: impl FnMut(&Field<'a>) -> Read<bool>) -> Read<()> {
        while let Some(field) = self.next_field()? {
            if !take(&field)? && field.tag & MUST_KNOW != 0 {
                let tag = field.tag & !MUST_KNOW;
                return Err(field.damage(format!("field {tag} is of a later version of Nextleaf")));
            }
        }
        Ok(())
    }
}

impl<'a> Field<'a> {
    /// The value makes no sense.
    pub fn damage(&self, what: impl Into<String>) -> Damage {
        Damage::at(self.offset, what)
    }

    fn array<const N: usize>(&self) -> Read<[u8; N]> {
        self.bytes
            .try_into()
            .map_err(|_| self.damage(format!("field {} has {} bytes instead of {N}", self.tag, self.bytes.len())))
    }

    pub fn u8(&self) -> Read<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub fn u16(&self) -> Read<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&self) -> Read<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&self) -> Read<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn i64(&self) -> Read<i64> {
        self.array().map(i64::from_le_bytes)
    }

    pub fn f64(&self) -> Read<f64> {
        self.u64().map(f64::from_bits)
    }

    pub fn flag(&self) -> Read<bool> {
        match self.u8()? {
            v @ (0 | 1) => Ok(v == 1),
            v => Err(self.damage(format!("a flag is {v}"))),
        }
    }

    pub fn text(&self) -> Read<Box<str>> {
        match std::str::from_utf8(self.bytes) {
            Ok(text) => Ok(text.into()),
            Err(e) => Err(Damage::at(self.offset + e.valid_up_to(), "a text is no UTF-8")),
        }
    }

    pub fn record(&self) -> Record<'a> {
        Record::new(self.bytes, self.offset)
    }
}
