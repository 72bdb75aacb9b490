//! LIKE: `%` matches any characters, `_` one, and the escape character takes the next one literally.
//!
//! Matching goes character by character, not by weights of the whole string: `'ß' LIKE 'ss'` is false in every
//! collation, and trailing spaces count. A pattern is compiled once into the cheapest matcher of its shape:
//!
//! ```text
//! 'abc'      Exact       'abc%'   Prefix     '%abc'  Suffix    '%abc%'  Contains
//! 'a%b%c'    Segments    with _   the general matcher, over code points
//! ```
//!
//! The byte matchers serve bytewise collations, and letter-case-insensitive ones as long as pattern and text are ASCII;
//! other texts fall back to the general matcher.

use memchr::memmem::Finder;
use memchr::{memchr, memchr2};

use super::Collation;
use super::utf8::{self, decode};

/// What one step of a pattern matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Token {
    Literal(u32),
    /// `_`
    One,
    /// `%`
    Many,
}

/// The shape of a pattern without `_`.
#[derive(Debug)]
pub(super) enum Shape {
    Exact(Needle),
    Prefix(Needle),
    Suffix(Needle),
    Contains(Needle),
    /// The parts between `%`; the first and the last may be empty.
    Segments(Box<[Needle]>),
    /// `%`
    Everything,
}

#[derive(Debug)]
pub(super) struct Needle {
    pub(super) bytes: Box<[u8]>,
    pub(super) ignore_case: bool,
    finder: Option<Finder<'static>>,
}

/// A compiled pattern.
#[derive(Debug)]
pub struct LikePattern {
    pub(super) collation: Collation,
    pub(super) tokens: Box<[Token]>,
    pub(super) shape: Option<Shape>,
    /// The shape is only right for ASCII texts.
    pub(super) ascii_only: bool,
}

impl LikePattern {
    /// Compiles a pattern. `escape` None: no character escapes (ESCAPE '').
    pub fn new(pattern: &[u8], escape: Option<char>, collation: Collation) -> LikePattern {
        let tokens = tokenize(pattern, escape, collation);
        let insensitive = !collation.is_bin();
        let plain = |t: &Token| match t {
            Token::Literal(c) => !insensitive || (0x20..0x7F).contains(c),
            Token::One => false,
            Token::Many => true,
        };
        let shape = tokens.iter().all(plain).then(|| shape(&tokens, collation, insensitive));
        LikePattern { collation, tokens: tokens.into(), shape, ascii_only: insensitive }
    }

    /// Whether the text matches.
    #[inline]
    pub fn matches(&self, text: &[u8]) -> bool {
        match &self.shape {
            Some(shape) if !self.ascii_only || text.is_ascii() => shape.matches(text),
            _ => matches_tokens(self.collation, &self.tokens, text),
        }
    }

    /// The text that every match begins with (up to letter case, as the collation has it): for range access.
    pub fn literal_prefix(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for t in &self.tokens {
            let Token::Literal(c) = t else { break };
            self.put(*c, &mut out);
        }
        out
    }

    /// The pattern has no wildcards.
    pub fn is_exact(&self) -> bool {
        self.tokens.iter().all(|t| matches!(t, Token::Literal(_)))
    }

    /// The pattern is a literal followed by one `%`.
    pub fn is_prefix(&self) -> bool {
        matches!(self.tokens.split_last(), Some((Token::Many, rest)) if rest.iter().all(|t| matches!(t, Token::Literal(_))))
    }

    /// The pattern matches everything (but NULL).
    pub fn matches_all(&self) -> bool {
        !self.tokens.is_empty() && self.tokens.iter().all(|t| *t == Token::Many)
    }

    fn put(&self, c: u32, out: &mut Vec<u8>) {
        put(self.collation, c, out);
    }
}

fn put(collation: Collation, c: u32, out: &mut Vec<u8>) {
    if collation == Collation::Binary { out.push(c as u8) } else { utf8::encode(c, out) }
}

/// The next character of a text: a byte for `binary`.
#[inline]
pub(super) fn next(collation: Collation, text: &[u8], at: usize) -> (u32, usize) {
    if collation == Collation::Binary { (text[at] as u32, 1) } else { decode(text, at) }
}

fn tokenize(pattern: &[u8], escape: Option<char>, collation: Collation) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < pattern.len() {
        let (c, n) = next(collation, pattern, at);
        at += n;
        if escape.is_some_and(|e| e as u32 == c) && at < pattern.len() {
            let (c, n) = next(collation, pattern, at);
            at += n;
            tokens.push(Token::Literal(c));
        } else if c == '%' as u32 {
            if tokens.last() != Some(&Token::Many) {
                tokens.push(Token::Many);
            }
        } else if c == '_' as u32 {
            tokens.push(Token::One);
        } else {
            tokens.push(Token::Literal(c));
        }
    }
    tokens
}

fn shape(tokens: &[Token], collation: Collation, ignore_case: bool) -> Shape {
    let mut segments: Vec<Vec<u8>> = vec![Vec::new()];
    for t in tokens {
        match t {
            Token::Literal(c) => put(collation, *c, segments.last_mut().expect("there is always one")),
            _ => segments.push(Vec::new()),
        }
    }
    let needle = |bytes: &[u8]| Needle::new(bytes, ignore_case);
    match segments.as_slice() {
        [only] => Shape::Exact(needle(only)),
        [a, b] if a.is_empty() && b.is_empty() => Shape::Everything,
        [a, b] if b.is_empty() => Shape::Prefix(needle(a)),
        [a, b] if a.is_empty() => Shape::Suffix(needle(b)),
        [a, b, c] if a.is_empty() && c.is_empty() => Shape::Contains(needle(b)),
        all => Shape::Segments(all.iter().map(|s| needle(s)).collect()),
    }
}

impl Needle {
    fn new(bytes: &[u8], ignore_case: bool) -> Needle {
        let ignore_case = ignore_case && bytes.iter().any(u8::is_ascii_alphabetic);
        let finder = (!ignore_case && bytes.len() > 1).then(|| Finder::new(bytes).into_owned());
        Needle { bytes: bytes.into(), ignore_case, finder }
    }

    #[inline]
    fn equals(&self, text: &[u8]) -> bool {
        // An empty needle has no memory behind it, and comparing no bytes at a bad address costs a hundred nanoseconds.
        if self.bytes.is_empty() {
            return text.is_empty();
        }
        if self.ignore_case { text.eq_ignore_ascii_case(&self.bytes) } else { *text == *self.bytes }
    }

    #[inline]
    pub(super) fn starts(&self, text: &[u8]) -> bool {
        text.len() >= self.bytes.len() && self.equals(&text[..self.bytes.len()])
    }

    #[inline]
    pub(super) fn ends(&self, text: &[u8]) -> bool {
        text.len() >= self.bytes.len() && self.equals(&text[text.len() - self.bytes.len()..])
    }

    /// Where the needle first occurs.
    #[inline]
    pub(super) fn find(&self, text: &[u8]) -> Option<usize> {
        if let Some(f) = &self.finder {
            return f.find(text);
        }
        let Some(&first) = self.bytes.first() else {
            return Some(0);
        };
        let last_start = text.len().checked_sub(self.bytes.len())?;
        let mut at = 0;
        while at <= last_start {
            let window = &text[at..=last_start];
            let found = if self.ignore_case && first.is_ascii_alphabetic() {
                memchr2(first.to_ascii_lowercase(), first.to_ascii_uppercase(), window)
            } else {
                memchr(first, window)
            };
            at += found?;
            if self.equals(&text[at..at + self.bytes.len()]) {
                return Some(at);
            }
            at += 1;
        }
        None
    }
}

impl Shape {
    #[inline]
    pub(super) fn matches(&self, text: &[u8]) -> bool {
        match self {
            Shape::Exact(n) => n.equals(text),
            Shape::Prefix(n) => n.starts(text),
            Shape::Suffix(n) => n.ends(text),
            Shape::Contains(n) => n.find(text).is_some(),
            Shape::Everything => true,
            Shape::Segments(s) => segments_match(s, text),
        }
    }
}

/// The first segment anchors the start and the last the end; those between are found greedily from the left.
fn segments_match(segments: &[Needle], text: &[u8]) -> bool {
    let [first, middle @ .., last] = segments else {
        return false;
    };
    let ends = first.bytes.len() + last.bytes.len();
    if text.len() < ends || !first.starts(text) || !last.ends(text) {
        return false;
    }
    let mut rest = &text[first.bytes.len()..text.len() - last.bytes.len()];
    for needle in middle {
        let Some(at) = needle.find(rest) else {
            return false;
        };
        rest = &rest[at + needle.bytes.len()..];
    }
    true
}

/// The general matcher: on a mismatch the last `%` takes one more character, which is enough because a later `%` never
/// profits from an earlier one's taking more.
fn matches_tokens(collation: Collation, tokens: &[Token], text: &[u8]) -> bool {
    let (mut t, mut at) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match tokens.get(t) {
            Some(Token::Many) => {
                t += 1;
                if t == tokens.len() {
                    return true;
                }
                retry = Some((t, at));
                continue;
            }
            Some(step) if at < text.len() => {
                let (c, n) = next(collation, text, at);
                let hit = match step {
                    Token::Literal(l) => collation.char_eq(*l, c),
                    _ => true,
                };
                if hit {
                    t += 1;
                    at += n;
                    continue;
                }
            }
            None if at == text.len() => return true,
            _ => {}
        }
        match retry {
            Some((token, from)) if from < text.len() => {
                let from = from + next(collation, text, from).1;
                retry = Some((token, from));
                (t, at) = (token, from);
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn like(text: &str, pattern: &str, collation: Collation) -> bool {
        LikePattern::new(pattern.as_bytes(), Some('\\'), collation).matches(text.as_bytes())
    }

    /// The definition, by recursion.
    fn plain(c: Collation, t: &[Token], s: &[u32]) -> bool {
        match t {
            [] => s.is_empty(),
            [Token::Many, rest @ ..] => (0..=s.len()).any(|k| plain(c, rest, &s[k..])),
            [Token::One, rest @ ..] => !s.is_empty() && plain(c, rest, &s[1..]),
            [Token::Literal(l), rest @ ..] => !s.is_empty() && c.char_eq(*l, s[0]) && plain(c, rest, &s[1..]),
        }
    }

    #[test]
    fn examples() {
        use Collation::*;
        for (text, pattern, collation, want) in [
            ("David!", "David_", Utf8mb4_0900AiCi, true),
            ("David!", "%D%v%", Utf8mb4_0900AiCi, true),
            ("David_", "David\\_", Utf8mb4_0900AiCi, true),
            ("David!", "David\\_", Utf8mb4_0900AiCi, false),
            ("abc", "ABC", Utf8mb4GeneralCi, true),
            ("abc", "ABC", Utf8mb4Bin, false),
            ("a", "a ", Utf8mb4Bin, false),
            ("ä", "_", Utf8mb4Bin, true),
            ("ä", "_", Binary, false),
            ("ä", "__", Binary, true),
            ("Éa", "e%", Utf8mb4_0900AiCi, true),
            ("Éa", "e%", Utf8mb4Bin, false),
            ("ß", "ss", Utf8mb4_0900AiCi, false),
            ("", "", Utf8mb4Bin, true),
            ("", "%", Utf8mb4Bin, true),
            ("10%", "10\\%", Utf8mb4_0900AiCi, true),
            ("a\\", "a\\", Utf8mb4Bin, true),
            ("special requests", "%special%requests%", Utf8mb4Bin, true),
            ("requests special", "%special%requests%", Utf8mb4Bin, false),
            ("aXbXc", "a%b%c", Utf8mb4_0900AiCi, true),
            ("abab", "ab%ab", Utf8mb4Bin, true),
            ("aba", "ab%ba", Utf8mb4Bin, false),
        ] {
            assert_eq!(like(text, pattern, collation), want, "{text} LIKE {pattern} {collation}");
        }
        let p = LikePattern::new(b"ab\\%c%x", Some('\\'), Utf8mb4Bin);
        assert_eq!((p.literal_prefix(), p.is_prefix(), p.is_exact()), (b"ab%c".to_vec(), false, false));
        assert!(LikePattern::new(b"ab%", Some('\\'), Utf8mb4Bin).is_prefix());
        assert!(LikePattern::new(b"a|_%", Some('|'), Utf8mb4Bin).matches(b"a_x"));
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition(text in "[abABé_ ]{0,8}", pattern in "[aAbé_%]{0,6}", which in 0usize..7) {
            let c = Collation::ALL[which];
            let p = LikePattern::new(pattern.as_bytes(), Some('\\'), c);
            let chars: Vec<u32> = if c == Collation::Binary {
                text.bytes().map(u32::from).collect()
            } else {
                text.chars().map(u32::from).collect()
            };
            prop_assert_eq!(p.matches(text.as_bytes()), plain(c, &tokenize(pattern.as_bytes(), Some('\\'), c), &chars));
        }
    }
}
