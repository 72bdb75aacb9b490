//! Literals: strings with their escapes, numbers, bytes, introducers.

use super::Parser;
use crate::ast::{Introduced, IntroducedForm, Literal, TemporalKind};
use crate::error;
use crate::lexer::{Tok, Token};
use types::Result;

/// Character sets that make `_name` an introducer (SHOW CHARACTER SET).
const CHARSETS: &[&str] = &[
    "armscii8", "ascii", "big5", "binary", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866", "cp932",
    "dec8", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "geostd8", "greek", "hebrew", "hp8", "keybcs2", "koi8r",
    "koi8u", "latin1", "latin2", "latin5", "latin7", "macce", "macroman", "sjis", "swe7", "tis620", "ucs2", "ujis",
    "utf16", "utf16le", "utf32", "utf8", "utf8mb3", "utf8mb4",
];

impl<'a> Parser<'a> {
    /// The value of a string token, escapes resolved. One copy of the text.
    pub(super) fn string_value(&self, token: Token) -> Box<[u8]> {
        let text = self.text_of(token);
        let open = usize::from(matches!(token.tok, Tok::NationalStr | Tok::AtName));
        let quote = text[open];
        unescape(&text[open + 1..text.len() - 1], quote, !self.opts.no_backslash_escapes)
    }

    /// A string; adjacent ones are joined.
    pub(crate) fn string(&mut self) -> Result<Box<[u8]>> {
        let first = self.expect(Tok::Str)?;
        let value = self.string_value(first);
        if !self.at(Tok::Str) {
            return Ok(value);
        }
        let mut joined = value.into_vec();
        while self.at(Tok::Str) {
            self.pace.step()?;
            let token = self.bump();
            joined.extend_from_slice(&self.string_value(token));
        }
        Ok(joined.into())
    }

    /// One string, not joined with the next, which must be UTF-8 (names, paths, comments).
    pub(crate) fn string_utf8(&mut self) -> Result<Box<str>> {
        let token = self.expect(Tok::Str)?;
        let value = self.string_value(token);
        match String::from_utf8(value.into_vec()) {
            Ok(s) => Ok(s.into()),
            Err(e) => Err(error::invalid_utf8(e.as_bytes())),
        }
    }

    /// A string, or bytes as `x'..'` or `0x..` (LOAD DATA separators, hashes).
    pub(crate) fn bytes_literal(&mut self) -> Result<Box<[u8]>> {
        match self.kind() {
            Tok::Hex | Tok::HexStr => {
                let token = self.bump();
                Ok(hex_value(self.text_of(token)))
            }
            Tok::Bit | Tok::BitStr => {
                let token = self.bump();
                Ok(bit_value(self.text_of(token)))
            }
            _ => {
                let token = self.expect(Tok::Str)?;
                Ok(self.string_value(token))
            }
        }
    }

    /// An unsigned integer, decimal or hexadecimal, that fits.
    pub(crate) fn number(&mut self) -> Result<u64> {
        let text = self.text_of(self.tok);
        let value = match self.kind() {
            Tok::Int => parse_u64(text),
            Tok::Hex => std::str::from_utf8(&text[2..]).ok().and_then(|s| u64::from_str_radix(s, 16).ok()),
            _ => None,
        };
        let value = value.ok_or_else(|| self.error())?;
        self.bump();
        Ok(value)
    }

    pub(crate) fn number_u32(&mut self) -> Result<u32> {
        let before = self.start();
        let value = self.number()?;
        u32::try_from(value).map_err(|_| self.error_at(before))
    }

    /// A size such as `1024`, `16K`, `1M`, `2G`.
    pub(crate) fn size_number(&mut self) -> Result<u64> {
        if !self.at(Tok::Ident) {
            return self.number();
        }
        let text = self.text_of(self.tok);
        let (digits, unit) = text.split_at(text.len() - 1);
        let shift = match unit[0].to_ascii_uppercase() {
            b'K' => 10,
            b'M' => 20,
            b'G' => 30,
            b'T' => 40,
            _ => return Err(self.error()),
        };
        let value = if digits.iter().all(u8::is_ascii_digit) { parse_u64(digits) } else { None };
        let value = value.and_then(|v| v.checked_mul(1 << shift)).ok_or_else(|| self.error())?;
        self.bump();
        Ok(value)
    }

    /// Digits, perhaps with a point. As many as no DECIMAL has are a double, beyond whose range they are error 1367.
    fn decimal(&self, text: &[u8]) -> Result<Literal> {
        const DOUBLE_DIGITS: usize = 308;
        if text.len() > DOUBLE_DIGITS {
            self.finite(text)?;
        }
        Ok(Literal::Decimal(self.utf8(text)?.into()))
    }

    fn finite(&self, text: &[u8]) -> Result<f64> {
        let text = self.utf8(text)?;
        let value: f64 = text.parse().map_err(|_| self.error())?;
        if value.is_finite() { Ok(value) } else { Err(types::Error::illegal_value_for_type("double", text)) }
    }

    /// The literal at the current token; None if it is none. TRUE, FALSE, NULL and temporal ones are the caller's.
    pub(super) fn literal(&mut self) -> Result<Option<Literal>> {
        let token = self.tok;
        let text = self.text_of(token);
        Ok(Some(match token.tok {
            Tok::Int => {
                self.bump();
                match parse_u64(text) {
                    Some(v) => Literal::Int(v),
                    None => self.decimal(text)?,
                }
            }
            Tok::Decimal => {
                self.bump();
                self.decimal(text)?
            }
            Tok::Float => {
                let value = self.finite(text)?;
                self.bump();
                Literal::Float(value)
            }
            Tok::Str => Literal::Str(self.string()?),
            Tok::NationalStr => {
                self.bump();
                let mut value = self.string_value(token).into_vec();
                while self.at(Tok::Str) {
                    let next = self.bump();
                    value.extend_from_slice(&self.string_value(next));
                }
                let form = IntroducedForm::National;
                Literal::Introduced(Box::new(Introduced { charset: "utf8mb3".into(), value: value.into(), form }))
            }
            Tok::Hex | Tok::HexStr => {
                self.bump();
                Literal::Hex(hex_value(text))
            }
            Tok::Bit | Tok::BitStr => {
                self.bump();
                Literal::Bit(bit_value(text))
            }
            Tok::Ident if text[0] == b'_' => return self.introduced(),
            _ => return Ok(None),
        }))
    }

    /// `_charset literal`
    fn introduced(&mut self) -> Result<Option<Literal>> {
        let name = &self.text_of(self.tok)[1..];
        let form = match self.peek() {
            Tok::Str => IntroducedForm::Str,
            Tok::Hex | Tok::HexStr => IntroducedForm::Hex,
            Tok::Bit | Tok::BitStr => IntroducedForm::Bit,
            _ => return Ok(None),
        };
        let Some(charset) = CHARSETS.iter().find(|c| c.as_bytes().eq_ignore_ascii_case(name)) else { return Ok(None) };
        let charset = if *charset == "utf8" { "utf8mb3" } else { charset };
        self.bump();
        let value = if form == IntroducedForm::Str { self.string()? } else { self.bytes_literal()? };
        Ok(Some(Literal::Introduced(Box::new(Introduced { charset: charset.into(), value, form }))))
    }

    /// `DATE '..'`, `TIME '..'`, `TIMESTAMP '..'` at the word.
    pub(super) fn temporal_literal(&mut self, kind: TemporalKind) -> Result<Literal> {
        self.bump();
        Ok(Literal::Temporal(kind, self.string_utf8()?))
    }
}

fn parse_u64(digits: &[u8]) -> Option<u64> {
    if digits.len() < 19 {
        return Some(small_u64(digits));
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The value of fewer than 19 decimal digits.
#[inline]
pub(super) fn small_u64(digits: &[u8]) -> u64 {
    digits.iter().fold(0, |v, b| v * 10 + u64::from(b - b'0'))
}

/// Of `x'4D'` or `0x4D`; an odd digit count gets a zero in front.
fn hex_value(text: &[u8]) -> Box<[u8]> {
    let digits = text[2..].strip_suffix(b"'").unwrap_or(&text[2..]);
    let nibble = |b: &u8| char::from(*b).to_digit(16).unwrap_or(0) as u8;
    let (odd, even) = digits.split_at(digits.len() % 2);
    odd.iter().map(nibble).chain(even.chunks_exact(2).map(|p| nibble(&p[0]) << 4 | nibble(&p[1]))).collect()
}

/// Of `b'101'` or `0b101`, right-aligned in whole bytes.
fn bit_value(text: &[u8]) -> Box<[u8]> {
    let digits = text[2..].strip_suffix(b"'").unwrap_or(&text[2..]);
    let (odd, even) = digits.split_at(digits.len() % 8);
    let byte = |bits: &[u8]| bits.iter().fold(0u8, |v, b| v << 1 | (b - b'0'));
    let first = if odd.is_empty() { None } else { Some(byte(odd)) };
    first.into_iter().chain(even.chunks_exact(8).map(byte)).collect()
}

/// Resolves escapes and doubled quotes (MySQL manual, "String Literals", table of escape sequences). `\%` and `\_` keep
/// their backslash.
fn unescape(body: &[u8], quote: u8, backslash: bool) -> Box<[u8]> {
    let special = |rest: &[u8]| {
        if backslash { memchr::memchr2(quote, b'\\', rest) } else { memchr::memchr(quote, rest) }
    };
    let Some(mut at) = special(body) else { return body.into() };
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body;
    loop {
        out.extend_from_slice(&rest[..at]);
        // The lexer ends a string at a lone quote, so a quote or backslash here always has a follower.
        let (mark, escaped) = (rest[at], rest.get(at + 1).copied().unwrap_or(rest[at]));
        if mark == b'\\' {
            match escaped {
                b'0' => out.push(0),
                b'b' => out.push(8),
                b'n' => out.push(b'\n'),
                b'r' => out.push(b'\r'),
                b't' => out.push(b'\t'),
                b'Z' => out.push(26),
                b'%' | b'_' => out.extend_from_slice(&[b'\\', escaped]),
                other => out.push(other),
            }
        } else {
            out.push(mark);
        }
        rest = rest.get(at + 2..).unwrap_or_default();
        match special(rest) {
            Some(next) => at = next,
            None => break,
        }
    }
    out.extend_from_slice(rest);
    out.into()
}
