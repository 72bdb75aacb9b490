//! Bytes to tokens, one at a time, without allocation.
//!
//! Rules worth knowing (MySQL 8.4, "Language Structure"):
//! - `--` starts a comment only before white space, a control character or the end; `#` always does.
//! - The body of `/*! .. */` runs; that of `/*!NNNNN .. */` (5 or 6 digits) runs if NNNNN <= [`VERSION_ID`].
//! - `/*+ .. */` is a token right after SELECT, INSERT, REPLACE, UPDATE and DELETE, a comment elsewhere.
//! - `1a`, `0xG` and `1ex` are identifiers; so is any word right before or after a point, reserved or not: `order.key`.
//! - `x'..'`, `b'..'` and `n'..'` need their quote right after the letter.
//!
//! String tokens keep their quotes and escapes; [`super::grammar`] resolves them once, into the AST.

use crate::keywords::{self, Kw};

/// What `/*!NNNNN` compares with: 8.4.0.
pub const VERSION_ID: u32 = 80400;

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tok {
    Eof,
    /// a word that is no keyword
    Ident,
    /// in backticks, or in double quotes under ANSI_QUOTES
    QuotedIdent,
    Kw(Kw),
    /// `'..'` or `".."`
    Str,
    /// `N'..'`
    NationalStr,
    Int,
    /// digits with a point
    Decimal,
    /// with an exponent
    Float,
    /// `0x..`
    Hex,
    /// `x'..'`
    HexStr,
    /// `0b..`
    Bit,
    /// `b'..'`
    BitStr,
    /// `@name`; the name may be quoted. Span includes the `@`.
    AtName,
    /// `@` alone
    At,
    AtAt,
    /// `/*+ .. */`
    Hint,
    /// `\N`
    BackslashN,
    LParen,
    RParen,
    LBrace,
    RBrace,
    Comma,
    Semicolon,
    Dot,
    Colon,
    Question,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Caret,
    Amp,
    AmpAmp,
    Pipe,
    PipePipe,
    Tilde,
    Bang,
    Eq,
    NullSafeEq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    ShiftLeft,
    ShiftRight,
    /// `:=`
    Assign,
    /// `->`
    Arrow,
    /// `->>`
    ArrowText,
    /// an unfinished string, comment or quoted identifier, or a byte that starts nothing
    Bad,
}

/// A token and its place.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    pub tok: Tok,
    pub start: u32,
    pub end: u32,
}

const IDENT: u8 = 1;
const DIGIT: u8 = 2;
const SPACE: u8 = 4;

static CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut b = 0;
    while b < 256 {
        let c = b as u8;
        if c.is_ascii_alphanumeric() || c == b'_' || c == b'$' || c >= 0x80 {
            class[b] |= IDENT;
        }
        if c.is_ascii_digit() {
            class[b] |= DIGIT;
        }
        if matches!(c, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c) {
            class[b] |= SPACE;
        }
        b += 1;
    }
    class
};

pub fn is_ident_byte(b: u8) -> bool {
    CLASS[b as usize] & IDENT != 0
}

/// A cursor over the text. Copying it is how the grammar looks ahead.
#[derive(Clone, Copy)]
pub struct Lexer<'a> {
    src: &'a [u8],
    pos: usize,
    ansi_quotes: bool,
    backslash_escapes: bool,
    /// inside a `/*! .. */` whose body runs
    pub(crate) in_version_comment: bool,
    prev: Tok,
}

impl<'a> Lexer<'a> {
    pub fn new(src: &'a [u8], pos: usize, ansi_quotes: bool, backslash_escapes: bool) -> Lexer<'a> {
        // C programs count in the NUL that ends their strings.
        let src = src.strip_suffix(b"\0").unwrap_or(src);
        let pos = pos.min(src.len());
        Lexer { src, pos, ansi_quotes, backslash_escapes, in_version_comment: false, prev: Tok::Eof }
    }

    fn byte(&self, at: usize) -> u8 {
        self.src.get(at).copied().unwrap_or(0)
    }

    /// The next token. After the end, `Eof` for ever.
    #[inline]
    pub fn next(&mut self) -> Token {
        let before_space = self.pos;
        let tok = match self.skip_space_and_comments() {
            Ok(Some(hint)) => hint,
            Ok(None) => self.scan(before_space),
            Err(bad) => bad,
        };
        self.prev = tok.tok;
        tok
    }

    fn token(&mut self, tok: Tok, start: usize, end: usize) -> Token {
        self.pos = end;
        Token { tok, start: start as u32, end: end as u32 }
    }

    /// Leaves `pos` at the next token. Some: an optimizer hint. Err: an unfinished comment.
    #[inline]
    fn skip_space_and_comments(&mut self) -> Result<Option<Token>, Token> {
        loop {
            let Some(&b) = self.src.get(self.pos) else { return Ok(None) };
            if CLASS[b as usize] & SPACE != 0 {
                self.pos += 1;
                continue;
            }
            match b {
                b'#' => self.skip_line(),
                b'-' if self.byte(self.pos + 1) == b'-' => match self.src.get(self.pos + 2) {
                    Some(&c) if c > b' ' && c != 0x7f => return Ok(None),
                    _ => self.skip_line(),
                },
                b'/' if self.byte(self.pos + 1) == b'*' => {
                    if let Some(hint) = self.comment()? {
                        return Ok(Some(hint));
                    }
                }
                b'*' if self.in_version_comment && self.byte(self.pos + 1) == b'/' => {
                    self.in_version_comment = false;
                    self.pos += 2;
                }
                _ => return Ok(None),
            }
        }
    }

    fn skip_line(&mut self) {
        let rest = &self.src[self.pos..];
        self.pos += memchr::memchr(b'\n', rest).map_or(rest.len(), |i| i + 1);
    }

    /// At `/*`. Steps over a comment, or into one whose body runs.
    #[cold]
    fn comment(&mut self) -> Result<Option<Token>, Token> {
        let start = self.pos;
        match self.byte(start + 2) {
            b'!' => {
                let digits = &self.src[start + 3..];
                let digit_count = digits.iter().take(6).take_while(|b| b.is_ascii_digit()).count();
                let version_len = if digit_count >= 5 { digit_count } else { 0 };
                let version = digits[..version_len].iter().fold(0u32, |v, b| v * 10 + u32::from(b - b'0'));
                if version <= VERSION_ID {
                    if self.in_version_comment {
                        return Err(self.token(Tok::Bad, start, self.src.len()));
                    }
                    self.in_version_comment = true;
                    self.pos = start + 3 + version_len;
                    return Ok(None);
                }
                self.skip_block(start, true).map(|()| None)
            }
            b'+' if matches!(self.prev, Tok::Kw(Kw::SELECT | Kw::INSERT | Kw::REPLACE | Kw::UPDATE | Kw::DELETE)) => {
                self.skip_block(start, false)?;
                Ok(Some(self.token(Tok::Hint, start, self.pos)))
            }
            _ => self.skip_block(start, false).map(|()| None),
        }
    }

    /// From `/*` over `*/`. A skipped version comment may hold plain comments.
    fn skip_block(&mut self, start: usize, nested: bool) -> Result<(), Token> {
        let mut at = start + 2;
        let mut depth = 1;
        while let Some(i) = self.src.get(at..).and_then(|rest| memchr::memchr2(b'*', b'/', rest)) {
            at += i;
            match (self.src[at], self.byte(at + 1)) {
                (b'*', b'/') => {
                    at += 2;
                    depth -= 1;
                    if depth == 0 {
                        self.pos = at;
                        return Ok(());
                    }
                }
                (b'/', b'*') if nested => {
                    at += 2;
                    depth += 1;
                }
                _ => at += 1,
            }
        }
        Err(self.token(Tok::Bad, start, self.src.len()))
    }

    fn scan(&mut self, before_space: usize) -> Token {
        let start = self.pos;
        let Some(&b) = self.src.get(start) else {
            // An open `/*!` at the end is an unfinished comment.
            let tok = if self.in_version_comment { Tok::Bad } else { Tok::Eof };
            self.in_version_comment = false;
            return self.token(tok, start, start);
        };
        let next = self.byte(start + 1);
        match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | 0x80.. => self.word(start),
            b'0'..=b'9' if self.prev == Tok::Dot && start == before_space => self.word(start),
            b'0'..=b'9' => self.number(start),
            b'\'' => self.quoted(start, start, Tok::Str),
            b'"' => self.quoted(start, start, if self.ansi_quotes { Tok::QuotedIdent } else { Tok::Str }),
            b'`' => self.quoted(start, start, Tok::QuotedIdent),
            b'(' => self.token(Tok::LParen, start, start + 1),
            b')' => self.token(Tok::RParen, start, start + 1),
            b',' => self.token(Tok::Comma, start, start + 1),
            b';' => self.token(Tok::Semicolon, start, start + 1),
            b'.' => {
                let after_name =
                    start == before_space && matches!(self.prev, Tok::Ident | Tok::QuotedIdent | Tok::Kw(_));
                if next.is_ascii_digit() && !after_name {
                    self.number(start)
                } else {
                    self.token(Tok::Dot, start, start + 1)
                }
            }
            b'?' => self.token(Tok::Question, start, start + 1),
            b'+' => self.token(Tok::Plus, start, start + 1),
            b'*' => self.token(Tok::Star, start, start + 1),
            b'/' => self.token(Tok::Slash, start, start + 1),
            b'%' => self.token(Tok::Percent, start, start + 1),
            b'^' => self.token(Tok::Caret, start, start + 1),
            b'~' => self.token(Tok::Tilde, start, start + 1),
            b'{' => self.token(Tok::LBrace, start, start + 1),
            b'}' => self.token(Tok::RBrace, start, start + 1),
            b'=' => self.token(Tok::Eq, start, start + 1),
            b'-' if next == b'>' && self.byte(start + 2) == b'>' => self.token(Tok::ArrowText, start, start + 3),
            b'-' if next == b'>' => self.token(Tok::Arrow, start, start + 2),
            b'-' => self.token(Tok::Minus, start, start + 1),
            b'<' if next == b'=' && self.byte(start + 2) == b'>' => self.token(Tok::NullSafeEq, start, start + 3),
            b'<' if next == b'=' => self.token(Tok::Le, start, start + 2),
            b'<' if next == b'>' => self.token(Tok::Ne, start, start + 2),
            b'<' if next == b'<' => self.token(Tok::ShiftLeft, start, start + 2),
            b'<' => self.token(Tok::Lt, start, start + 1),
            b'>' if next == b'=' => self.token(Tok::Ge, start, start + 2),
            b'>' if next == b'>' => self.token(Tok::ShiftRight, start, start + 2),
            b'>' => self.token(Tok::Gt, start, start + 1),
            b'!' if next == b'=' => self.token(Tok::Ne, start, start + 2),
            b'!' => self.token(Tok::Bang, start, start + 1),
            b'&' if next == b'&' => self.token(Tok::AmpAmp, start, start + 2),
            b'&' => self.token(Tok::Amp, start, start + 1),
            b'|' if next == b'|' => self.token(Tok::PipePipe, start, start + 2),
            b'|' => self.token(Tok::Pipe, start, start + 1),
            b':' if next == b'=' => self.token(Tok::Assign, start, start + 2),
            b':' => self.token(Tok::Colon, start, start + 1),
            b'\\' if next == b'N' => self.token(Tok::BackslashN, start, start + 2),
            b'@' if next == b'@' => self.token(Tok::AtAt, start, start + 2),
            b'@' => self.at_name(start),
            _ => self.token(Tok::Bad, start, start + 1),
        }
    }

    fn word_end(&self, mut at: usize) -> usize {
        while let Some(&b) = self.src.get(at) {
            if CLASS[b as usize] & IDENT == 0 {
                break;
            }
            at += 1;
        }
        at
    }

    fn word(&mut self, start: usize) -> Token {
        let end = self.word_end(start);
        if end == start + 1 && self.byte(end) == b'\'' {
            match self.src[start] {
                b'x' | b'X' => return self.radix_string(start, Tok::HexStr),
                b'b' | b'B' => return self.radix_string(start, Tok::BitStr),
                b'n' | b'N' => return self.quoted(start, end, Tok::NationalStr),
                _ => {}
            }
        }
        // Next to a point a word is a name, whatever it spells.
        let before_dot = self.byte(end) == b'.' && is_ident_byte(self.byte(end + 1));
        let tok = match keywords::lookup(&self.src[start..end]) {
            Some(kw) if self.prev != Tok::Dot && !before_dot => Tok::Kw(kw),
            _ => Tok::Ident,
        };
        self.token(tok, start, end)
    }

    /// `x'..'`: an even number of hex digits. `b'..'`: binary digits.
    fn radix_string(&mut self, start: usize, tok: Tok) -> Token {
        let digits = self.src[start + 2..].iter().take_while(|b| **b != b'\'');
        let mut digit_count = 0;
        for d in digits {
            let good = if tok == Tok::HexStr { d.is_ascii_hexdigit() } else { matches!(d, b'0' | b'1') };
            if !good {
                return self.token(Tok::Bad, start, start + 2);
            }
            digit_count += 1;
        }
        let end = start + 2 + digit_count;
        if self.byte(end) != b'\'' || (tok == Tok::HexStr && digit_count % 2 == 1) {
            return self.token(Tok::Bad, start, start + 2);
        }
        self.token(tok, start, end + 1)
    }

    fn number(&mut self, start: usize) -> Token {
        let digits_end = |mut at: usize| {
            while self.byte(at).is_ascii_digit() {
                at += 1;
            }
            at
        };
        let mut end = digits_end(start);
        if end == start + 1 && self.src[start] == b'0' {
            let (radix, tok) = match self.byte(end) {
                b'x' => (16, Tok::Hex),
                b'b' => (2, Tok::Bit),
                _ => (0, Tok::Int),
            };
            if radix != 0 {
                let word_end = self.word_end(end);
                let digits = &self.src[end + 1..word_end];
                if !digits.is_empty() && digits.iter().all(|b| char::from(*b).is_digit(radix)) {
                    return self.token(tok, start, word_end);
                }
                return self.token(Tok::Ident, start, word_end);
            }
        }
        let mut tok = Tok::Int;
        if self.byte(end) == b'.' {
            tok = Tok::Decimal;
            end = digits_end(end + 1);
        }
        if matches!(self.byte(end), b'e' | b'E') {
            let sign = usize::from(matches!(self.byte(end + 1), b'+' | b'-'));
            if self.byte(end + 1 + sign).is_ascii_digit() {
                let float_end = digits_end(end + 2 + sign);
                // `1e5x` is an identifier, `1.5e5x` and `1e+5x` are a number and a word.
                if tok == Tok::Int && sign == 0 && is_ident_byte(self.byte(float_end)) {
                    return self.token(Tok::Ident, start, self.word_end(float_end));
                }
                return self.token(Tok::Float, start, float_end);
            }
            if tok == Tok::Decimal {
                // `1.5e` wants its digits.
                return self.token(Tok::Bad, start, end + 1);
            }
        }
        if tok == Tok::Int && is_ident_byte(self.byte(end)) {
            return self.token(Tok::Ident, start, self.word_end(end));
        }
        self.token(tok, start, end)
    }

    /// The quote is at `open`. Doubled quotes stand for one; backslashes escape in strings.
    fn quoted(&mut self, start: usize, open: usize, tok: Tok) -> Token {
        let quote = self.src[open];
        let escapes = self.backslash_escapes && tok != Tok::QuotedIdent;
        let mut at = open + 1;
        loop {
            let rest = self.src.get(at..).unwrap_or_default();
            let found = if escapes { memchr::memchr2(quote, b'\\', rest) } else { memchr::memchr(quote, rest) };
            let Some(i) = found else { return self.token(Tok::Bad, start, self.src.len()) };
            at += i;
            if self.src[at] == quote && self.byte(at + 1) != quote {
                return self.token(tok, start, at + 1);
            }
            at += 2;
        }
    }

    /// User variables and the host part of accounts: `@name`, `@'name'`.
    fn at_name(&mut self, start: usize) -> Token {
        match self.byte(start + 1) {
            b'\'' | b'"' | b'`' => {
                let mut token = self.quoted(start, start + 1, Tok::Str);
                if token.tok == Tok::Str {
                    token.tok = Tok::AtName;
                }
                token
            }
            _ => {
                let mut end = start + 1;
                while self.src.get(end).is_some_and(|b| is_ident_byte(*b) || *b == b'.') {
                    end += 1;
                }
                let tok = if end == start + 1 { Tok::At } else { Tok::AtName };
                self.token(tok, start, end)
            }
        }
    }
}

/// The white space of what lies between two tokens; comments and the brackets of `/*! .. */` are left out.
pub fn space_of_gap(gap: &[u8], out: &mut Vec<u8>) {
    let mut rest = gap;
    while let Some(&b) = rest.first() {
        let len = match b {
            b'/' if rest.get(2) == Some(&b'!') && memchr::memmem::find(rest, b"*/").is_none() => {
                3 + rest[3..].iter().take(6).take_while(|b| b.is_ascii_digit()).count()
            }
            b'/' => memchr::memmem::find(rest, b"*/").map_or(rest.len(), |i| i + 2),
            b'*' => 2,
            b'#' | b'-' => memchr::memchr(b'\n', rest).map_or(rest.len(), |i| i + 1),
            _ => {
                out.push(b);
                1
            }
        };
        rest = rest.get(len..).unwrap_or_default();
    }
}
