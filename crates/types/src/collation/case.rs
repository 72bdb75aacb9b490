//! UPPER and LOWER: one character for one, so `ß` stays. Byte strings stay as they are.

use super::Collation;
use super::utf8::{chars, encode};

impl Collation {
    /// Appends the string in upper case.
    pub fn upper(self, text: &[u8], out: &mut Vec<u8>) {
        self.map(text, out, u8::to_ascii_uppercase, |c| single(c.to_uppercase()));
    }

    /// Appends the string in lower case.
    pub fn lower(self, text: &[u8], out: &mut Vec<u8>) {
        self.map(text, out, u8::to_ascii_lowercase, |c| single(c.to_lowercase()));
    }

    fn map(self, text: &[u8], out: &mut Vec<u8>, ascii: fn(&u8) -> u8, wide: fn(char) -> Option<char>) {
        if self == Collation::Binary {
            out.extend_from_slice(text);
            return;
        }
        if text.is_ascii() {
            out.extend(text.iter().map(ascii));
            return;
        }
        for c in chars(text) {
            match char::from_u32(c) {
                Some(c) => encode(wide(c).unwrap_or(c) as u32, out),
                None => encode(c, out),
            }
        }
    }
}

/// The only character of the mapping, if there is just one.
fn single(mut mapped: impl Iterator<Item = char>) -> Option<char> {
    match (mapped.next(), mapped.next()) {
        (Some(c), None) => Some(c),
        _ => None,
    }
}
