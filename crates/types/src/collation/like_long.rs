//! LIKE over long texts and patterns: linear where the pattern's parts have no `_`, and to be stopped anywhere.
//!
//! The matchers of [`super::like`] are the fastest for texts of a few kilobytes, and quadratic at worst. Beyond
//! [`STEPS_MAX`] steps of such a worst case this one takes over. It finds the parts between `%` one after the other:
//!
//! ```text
//! bytes        substring search over pieces of the text, folded to lower case first where case does not matter
//! characters   Knuth, Morris, Pratt, with the collation's equality, which is transitive
//! with `_`     place by place: `_` is equal to all, which is not
//! ```

use super::like::{LikePattern, Needle, Shape, Token, next};
use crate::Result;
use memchr::memmem::Finder;

/// What may end the search with an error.
pub type Ask<'a> = &'a dyn Fn() -> Result<()>;

/// Characters of the text times characters of the pattern.
const STEPS_MAX: usize = 1 << 25;
/// Of such texts a batch full is no long work.
const SHORT_BYTES: usize = 4096;
/// Bytes of text, or steps, between two looks at whether to stop.
const PIECE_BYTES: usize = 256 << 10;
const PIECE_STEPS: usize = 1 << 16;

impl LikePattern {
    /// [`LikePattern::matches`] for texts of any length. `ask` is called every millisecond or so.
    pub fn matches_asking(&self, text: &[u8], ask: Ask<'_>) -> Result<bool> {
        if text.len() > SHORT_BYTES {
            ask()?;
        }
        if text.len().saturating_mul(self.tokens.len()) <= STEPS_MAX {
            return Ok(self.matches(text));
        }
        match &self.shape {
            Some(Shape::Contains(needle)) if self.is_for_bytes(text) => Ok(find_bytes(needle, text, ask)?.is_some()),
            Some(Shape::Segments(needles)) if self.is_for_bytes(text) => segments_match(needles, text, ask),
            // What is anchored at an end is looked at once.
            Some(shape) if self.is_for_bytes(text) => Ok(shape.matches(text)),
            _ => self.parts_match(text, ask),
        }
    }

    fn is_for_bytes(&self, text: &[u8]) -> bool {
        !self.ascii_only || text.is_ascii()
    }

    /// The parts between `%`, by characters.
    fn parts_match(&self, text: &[u8], ask: Ask<'_>) -> Result<bool> {
        let parts: Vec<&[Token]> = self.tokens.split(|t| *t == Token::Many).collect();
        let mut reader = Reader { pattern: self, text, at: 0, steps: 0, ask };
        let [first, middle @ .., last] = &parts[..] else {
            return Ok(reader.begins_with(&self.tokens)? && reader.at == text.len());
        };
        if !reader.begins_with(first)? {
            return Ok(false);
        }
        for part in middle {
            let found = if part.contains(&Token::One) { reader.skip_to(part)? } else { reader.search(part)? };
            if !found {
                return Ok(false);
            }
        }
        // The last part's characters are the text's last ones.
        let mut rest = Reader { at: reader.at, ..reader };
        let mut left = 0usize;
        while rest.next()?.is_some() {
            left += 1;
        }
        let Some(between) = left.checked_sub(last.len()) else { return Ok(false) };
        for _ in 0..between {
            reader.next()?;
        }
        reader.begins_with(last)
    }
}

/// A place in the text.
#[derive(Clone, Copy)]
struct Reader<'a> {
    pattern: &'a LikePattern,
    text: &'a [u8],
    at: usize,
    steps: usize,
    ask: Ask<'a>,
}

impl Reader<'_> {
    #[inline]
    fn next(&mut self) -> Result<Option<u32>> {
        self.steps += 1;
        if self.steps >= PIECE_STEPS {
            self.steps = 0;
            (self.ask)()?;
        }
        if self.at >= self.text.len() {
            return Ok(None);
        }
        let (c, n) = next(self.pattern.collation, self.text, self.at);
        self.at += n;
        Ok(Some(c))
    }

    #[inline]
    fn is_hit(&self, token: Token, c: u32) -> bool {
        match token {
            Token::Literal(l) => self.pattern.collation.char_eq(l, c),
            _ => true,
        }
    }

    /// Whether `part` lies here; goes on behind it if so.
    fn begins_with(&mut self, part: &[Token]) -> Result<bool> {
        for t in part {
            match self.next()? {
                Some(c) if self.is_hit(*t, c) => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Goes on behind the first place where `part` lies, tried one by one.
    fn skip_to(&mut self, part: &[Token]) -> Result<bool> {
        loop {
            let from = self.at;
            if self.begins_with(part)? {
                return Ok(true);
            }
            self.at = from;
            if self.next()?.is_none() {
                return Ok(false);
            }
        }
    }

    /// The same of a part without `_`, reading each character once.
    fn search(&mut self, part: &[Token]) -> Result<bool> {
        let borders = self.borders(part)?;
        let mut have = 0;
        while have < part.len() {
            let Some(c) = self.next()? else { return Ok(false) };
            while have > 0 && !self.is_hit(part[have], c) {
                have = borders[have - 1] as usize;
            }
            have += usize::from(self.is_hit(part[have], c));
        }
        Ok(true)
    }

    /// Of each beginning of the part, how long the longest shorter beginning is that it ends with.
    fn borders(&self, part: &[Token]) -> Result<Vec<u32>> {
        let mut borders = vec![0u32; part.len()];
        let mut have = 0;
        for i in 1..part.len() {
            if i % PIECE_STEPS == 0 {
                (self.ask)()?;
            }
            let Token::Literal(c) = part[i] else { continue };
            while have > 0 && !self.is_hit(part[have], c) {
                have = borders[have - 1] as usize;
            }
            have += usize::from(self.is_hit(part[have], c));
            borders[i] = have as u32;
        }
        Ok(borders)
    }
}

/// As [`super::like`] has it: the first and the last are anchored, the others are found greedily.
fn segments_match(segments: &[Needle], text: &[u8], ask: Ask<'_>) -> Result<bool> {
    let [first, middle @ .., last] = segments else { return Ok(false) };
    let ends = first.bytes.len() + last.bytes.len();
    if text.len() < ends || !first.starts(text) || !last.ends(text) {
        return Ok(false);
    }
    let mut rest = &text[first.bytes.len()..text.len() - last.bytes.len()];
    for (i, needle) in middle.iter().enumerate() {
        if i % PIECE_STEPS == 0 {
            ask()?;
        }
        // Short parts that follow each other closely are found without pieces being folded.
        let near = &rest[..rest.len().min(2 * needle.bytes.len() + 64)];
        let at = match needle.find(near) {
            Some(at) => at,
            None => match find_bytes(needle, rest, ask)? {
                Some(at) => at,
                None => return Ok(false),
            },
        };
        rest = &rest[at + needle.bytes.len()..];
    }
    Ok(true)
}

/// Where the needle first occurs.
fn find_bytes(needle: &Needle, text: &[u8], ask: Ask<'_>) -> Result<Option<usize>> {
    let folds = needle.ignore_case;
    let wanted = if folds { needle.bytes.to_ascii_lowercase() } else { needle.bytes.to_vec() };
    let len = wanted.len();
    let finder = Finder::new(&wanted);
    let piece_bytes = PIECE_BYTES.max(4 * len);
    let mut folded = Vec::new();
    let mut start = 0;
    while start + len <= text.len() {
        ask()?;
        let end = text.len().min(start + piece_bytes);
        let piece = &text[start..end];
        let found = if folds {
            folded.clear();
            folded.extend(piece.iter().map(u8::to_ascii_lowercase));
            finder.find(&folded)
        } else {
            finder.find(piece)
        };
        if let Some(at) = found {
            return Ok(Some(start + at));
        }
        // The next piece begins with what may begin an occurrence across the cut.
        start = end + 1 - len.max(1);
        if end == text.len() {
            break;
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Collation, Error};
    use proptest::prelude::*;
    use std::cell::Cell;
    use std::time::Instant;

    const NEVER: Ask<'static> = &|| Ok(());

    /// As `matches_asking` does, whatever the lengths.
    fn long(p: &LikePattern, text: &[u8]) -> bool {
        match &p.shape {
            Some(Shape::Contains(n)) if p.is_for_bytes(text) => find_bytes(n, text, NEVER).unwrap().is_some(),
            Some(Shape::Segments(n)) if p.is_for_bytes(text) => segments_match(n, text, NEVER).unwrap(),
            _ => p.parts_match(text, NEVER).unwrap(),
        }
    }

    #[test]
    fn long_texts_take_time_in_proportion_and_can_be_stopped() {
        let n = 2 << 20;
        for (collation, letter) in [(Collation::Utf8mb4_0900AiCi, "a"), (Collation::Utf8mb4_0900AiCi, "é")] {
            let text = letter.repeat(n);
            for pattern in [
                format!("{}b", "%a".repeat(n / 8)),
                format!("%{}b%", "a".repeat(n / 4)),
                format!("%{}b%c", "E".repeat(n / 4)),
            ] {
                let p = LikePattern::new(pattern.as_bytes(), Some('\\'), collation);
                let begun = Instant::now();
                assert!(!p.matches_asking(text.as_bytes(), NEVER).unwrap());
                assert!(begun.elapsed().as_secs() < 20, "{letter} LIKE {}.. took {:?}", &pattern[..8], begun.elapsed());
            }
            let p = LikePattern::new(format!("%_{}b%", "a".repeat(n / 4)).as_bytes(), None, collation);
            let asked = Cell::new(0);
            let ask = || {
                asked.set(asked.get() + 1);
                if asked.get() < 20 { Ok(()) } else { Err(Error::query_interrupted()) }
            };
            assert_eq!(p.matches_asking(text.as_bytes(), &ask), Err(Error::query_interrupted()));
        }
    }

    proptest! {
        #[test]
        fn long_and_short_agree(text in "[abABé_ ]{0,12}", pattern in "[aAbé_%%]{0,8}", which in 0usize..7) {
            let p = LikePattern::new(pattern.as_bytes(), Some('\\'), Collation::ALL[which]);
            prop_assert_eq!(long(&p, text.as_bytes()), p.matches(text.as_bytes()));
        }
    }
}
