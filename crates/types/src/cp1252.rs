//! MySQL's latin1: Windows code page 1252, with the five bytes that it leaves open standing for themselves.
//!
//! Strings are UTF-8 everywhere inside; this is for clients and files that speak latin1.

use std::borrow::Cow;

/// What bytes 0x80 to 0x9F stand for; all others are the code point of their number.
const UPPER: [char; 32] = [
    '\u{20AC}', '\u{81}', '\u{201A}', '\u{192}', '\u{201E}', '\u{2026}', '\u{2020}', '\u{2021}', '\u{2C6}', '\u{2030}',
    '\u{160}', '\u{2039}', '\u{152}', '\u{8D}', '\u{17D}', '\u{8F}', '\u{90}', '\u{2018}', '\u{2019}', '\u{201C}',
    '\u{201D}', '\u{2022}', '\u{2013}', '\u{2014}', '\u{2DC}', '\u{2122}', '\u{161}', '\u{203A}', '\u{153}', '\u{9D}',
    '\u{17E}', '\u{178}',
];

/// latin1 bytes as UTF-8.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    if let (true, Ok(text)) = (bytes.is_ascii(), std::str::from_utf8(bytes)) {
        return text.into();
    }
    bytes
        .iter()
        .map(|&b| match b {
            0x80..=0x9F => UPPER[b as usize - 0x80],
            _ => b as char,
        })
        .collect::<String>()
        .into()
}

/// UTF-8 as latin1 bytes; characters that latin1 lacks become `?`, as do bytes that are no UTF-8.
pub fn encode(text: &[u8]) -> Cow<'_, [u8]> {
    if text.is_ascii() {
        return text.into();
    }
    let byte = |c: char| match c as u32 {
        v @ (0..=0x7F | 0xA0..=0xFF) => v as u8,
        _ => UPPER.iter().position(|u| *u == c).map_or(b'?', |i| 0x80 + i as u8),
    };
    String::from_utf8_lossy(text).chars().map(byte).collect::<Vec<u8>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_back() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(encode(decode(&all).as_bytes()), all);
        assert_eq!(decode(b"\x80 \xe9"), "\u{20ac} \u{e9}");
        assert_eq!(&*encode("\u{3a9}".as_bytes()), b"?");
        assert!(matches!(decode(b"abc"), Cow::Borrowed(_)));
    }
}
