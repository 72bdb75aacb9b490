//! LIKE over columns.
//!
//! [`LikePattern`] decides one string. Here patterns without `_` are also searched for in bulk: strings of a leaf lie
//! one behind the other in heap blocks, so `%special%requests%` is one substring search over a block, and only the rows
//! in which the first segment was found are looked at. Under a case-insensitive collation the block is folded to lower
//! case first, which is right as long as the block is ASCII; other blocks go string by string.

use super::dispatch::multi;
use memchr::memmem::Finder;
use std::cell::RefCell;
use types::{Ask, Collation, Error, LikePattern, Result};
use vector::{Bitmap, Selection, StrValues};

/// A compiled pattern with its bulk form.
#[derive(Debug)]
pub struct LikeMatcher {
    pattern: LikePattern,
    parts: Option<Parts>,
}

/// Whether to go on with long texts, and the error with which that ended.
pub struct Stopper<'a> {
    ask: Ask<'a>,
    error: RefCell<Option<Error>>,
}

impl<'a> Stopper<'a> {
    pub fn new(ask: Ask<'a>) -> Stopper<'a> {
        Stopper { ask, error: RefCell::new(None) }
    }

    /// False once stopped.
    #[cold]
    fn matches(&self, pattern: &LikePattern, text: &[u8]) -> bool {
        let mut error = self.error.borrow_mut();
        if error.is_some() {
            return false;
        }
        pattern.matches_asking(text, self.ask).unwrap_or_else(|e| {
            *error = Some(e);
            false
        })
    }

    /// The error, if there was one: no answer holds then.
    pub fn finish(self) -> Result<()> {
        self.error.into_inner().map_or(Ok(()), Err)
    }
}

/// A pattern of literal segments; in lower case if `fold`.
#[derive(Debug)]
struct Parts {
    start: Box<[u8]>,
    middle: Vec<Finder<'static>>,
    end: Box<[u8]>,
    /// No `%`: the text is `start`.
    whole: bool,
    fold: bool,
}

multi! {
    /// Writes `from` in lower case and says whether it is ASCII.
    fn fold_ascii(from: &[u8], to: &mut [u8]) -> bool {
        let mut all = 0u8;
        for (o, &b) in to.iter_mut().zip(from) {
            all |= b;
            // The 0x20 bit of A..Z, without a branch.
            *o = b | ((b.wrapping_sub(b'A') < 26) as u8) << 5;
        }
        all < 0x80
    }
}

/// Strings up to this many bytes are folded on the stack.
const STACK_BYTES: usize = 256;

/// Strings up to this many bytes are searched without a look at whether to stop.
const NEAR_BYTES: usize = 1 << 18;

impl LikeMatcher {
    pub fn new(pattern: &[u8], escape: Option<char>, collation: Collation) -> LikeMatcher {
        let fold = !collation.is_bin() && collation != Collation::Binary;
        let parts = Parts::of(pattern, escape, fold);
        LikeMatcher { pattern: LikePattern::new(pattern, escape, collation), parts }
    }

    /// Whether one string matches.
    #[inline]
    pub fn matches(&self, text: &[u8], stopper: &Stopper<'_>) -> bool {
        match &self.parts {
            Some(p) if !p.fold && text.len() <= NEAR_BYTES => p.matches(text),
            // A prefix: only the bytes that it covers need be ASCII.
            Some(p) if p.is_prefix() && text.len() >= p.start.len() && text[..p.start.len()].is_ascii() => {
                text[..p.start.len()].eq_ignore_ascii_case(&p.start)
            }
            Some(p) if text.len() <= STACK_BYTES => {
                let mut buf = [0u8; STACK_BYTES];
                if fold_ascii(text, &mut buf[..text.len()]) {
                    p.matches(&buf[..text.len()])
                } else {
                    self.pattern.matches(text)
                }
            }
            _ => stopper.matches(&self.pattern, text),
        }
    }

    /// Sets the bits of the selected strings that match.
    pub fn select(&self, s: &StrValues, rows: usize, sel: &Selection, out: &mut Bitmap, stopper: &Stopper<'_>) {
        match &self.parts {
            Some(p) if p.is_search() && worth_it(s, rows, sel) => self.search(p, s, rows, sel, out, stopper),
            Some(p) if !p.start.is_empty() => {
                // The view's own prefix decides most rows.
                let n = p.start.len().min(4);
                let mut want = [0u8; 4];
                want[..n].copy_from_slice(&p.start[..n]);
                sel.for_each(rows, |i| {
                    let v = &s.views[i];
                    let prefix = v.prefix();
                    let mut have = prefix;
                    if p.fold {
                        have.make_ascii_lowercase();
                    }
                    if v.len() >= n && prefix[..n].is_ascii() && have[..n] != want[..n] {
                        return;
                    }
                    out.set(i, self.matches(v.bytes(&s.heap), stopper));
                });
            }
            _ => sel.for_each(rows, |i| out.set(i, self.matches(s.views[i].bytes(&s.heap), stopper))),
        }
    }

    /// One search over each block for the first segment.
    fn search(&self, p: &Parts, s: &StrValues, rows: usize, sel: &Selection, out: &mut Bitmap, stopper: &Stopper<'_>) {
        let mut folded: Vec<u8> = Vec::new();
        let (first, rest) = p.middle.split_first().expect("a search has a first segment");
        // The block that is prepared, whether it can be searched, and where the next hit is.
        let mut current = u32::MAX;
        let mut usable = false;
        let mut next_hit = 0usize;
        let mut searched = false;
        sel.for_each(rows, |i| {
            let v = &s.views[i];
            if v.is_inline() {
                out.set(i, self.matches(v.bytes(&s.heap), stopper));
                return;
            }
            let (block, offset) = v.location();
            if block != current {
                current = block;
                searched = false;
                let bytes = &s.heap.blocks()[block as usize];
                usable = if p.fold {
                    folded.resize(bytes.len(), 0);
                    fold_ascii(bytes, &mut folded)
                } else {
                    true
                };
            }
            if !usable {
                out.set(i, self.matches(v.bytes(&s.heap), stopper));
                return;
            }
            let text: &[u8] = if p.fold { &folded } else { &s.heap.blocks()[block as usize] };
            let (from, to) = (offset as usize, offset as usize + v.len());
            if !searched || next_hit < from {
                searched = true;
                next_hit = first.find(&text[from..]).map_or(usize::MAX, |k| from + k);
            }
            if next_hit == usize::MAX || next_hit + first.needle().len() > to {
                return;
            }
            let behind = next_hit + first.needle().len();
            out.set(i, p.matches_rest(&text[from..to], &text[behind..to], rest));
        });
    }
}

/// The strings selected are a good part of their blocks, in which they lie in order.
fn worth_it(s: &StrValues, rows: usize, sel: &Selection) -> bool {
    let block_bytes: usize = s.heap.blocks().iter().map(|b| b.len()).sum();
    let mut bytes = 0;
    let mut ascending = true;
    let mut last = (0, 0);
    sel.for_each(rows, |i| {
        let v = &s.views[i];
        if !v.is_inline() {
            bytes += v.len();
            ascending &= v.location() >= last;
            last = v.location();
        }
    });
    ascending && block_bytes <= bytes * 2
}

impl Parts {
    /// None for patterns with `_`, and for case-insensitive ones that are not printable ASCII.
    fn of(pattern: &[u8], escape: Option<char>, fold: bool) -> Option<Parts> {
        if !pattern.is_ascii() || escape.is_some_and(|e| !e.is_ascii()) {
            return None;
        }
        let mut pieces: Vec<Vec<u8>> = vec![Vec::new()];
        let mut at = 0;
        while at < pattern.len() {
            let b = pattern[at];
            at += 1;
            let literal = if escape.is_some_and(|e| e as u32 == b as u32) && at < pattern.len() {
                at += 1;
                pattern[at - 1]
            } else if b == b'%' {
                pieces.push(Vec::new());
                continue;
            } else if b == b'_' {
                return None;
            } else {
                b
            };
            if fold && !(0x20..0x7F).contains(&literal) {
                return None;
            }
            let literal = if fold { literal.to_ascii_lowercase() } else { literal };
            pieces.last_mut()?.push(literal);
        }
        let whole = pieces.len() == 1;
        let end = if whole { Vec::new() } else { pieces.pop()? };
        let start = pieces.remove(0);
        let middle = pieces.iter().filter(|p| !p.is_empty()).map(|p| Finder::new(p).into_owned()).collect();
        Some(Parts { start: start.into(), middle, end: end.into(), whole, fold })
    }

    /// `a%`
    #[inline]
    fn is_prefix(&self) -> bool {
        !self.whole && self.middle.is_empty() && self.end.is_empty()
    }

    /// `%a..`: begins with a search.
    fn is_search(&self) -> bool {
        self.start.is_empty() && !self.middle.is_empty()
    }

    #[inline]
    fn matches(&self, text: &[u8]) -> bool {
        if self.whole {
            return text == &*self.start;
        }
        if text.len() < self.start.len() + self.end.len()
            || !text.starts_with(&self.start)
            || !text.ends_with(&self.end)
        {
            return false;
        }
        let rest = &text[self.start.len()..text.len() - self.end.len()];
        find_all(rest, &self.middle)
    }

    /// `text` contains the first segment, behind whose first occurrence `behind` lies.
    fn matches_rest(&self, text: &[u8], behind: &[u8], rest: &[Finder]) -> bool {
        if behind.len() < self.end.len() || !text.ends_with(&self.end) {
            return false;
        }
        find_all(&behind[..behind.len() - self.end.len()], rest)
    }
}

fn find_all(mut text: &[u8], finders: &[Finder]) -> bool {
    for f in finders {
        match f.find(text) {
            Some(i) => text = &text[i + f.needle().len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use vector::{ChunkBuilder, Values};

    #[test]
    fn bulk_is_one_by_one() {
        let mut rng = fastrand::Rng::with_seed(3);
        for collation in [Collation::Utf8mb4_0900AiCi, Collation::Utf8mb4Bin, Collation::Binary] {
            for _ in 0..200 {
                let mut b = ChunkBuilder::new(types::PhysType::Str, 50);
                let mut texts = Vec::new();
                for _ in 0..50 {
                    let n = rng.usize(..30);
                    let alphabet: &[&str] =
                        if rng.u8(..50) == 0 { &["a", "é", "B"] } else { &["a", "B", "b", "A", " "] };
                    let t: String = (0..n).map(|_| alphabet[rng.usize(..alphabet.len())]).collect();
                    b.push_bytes(t.as_bytes());
                    texts.push(t);
                }
                let Values::Str(mut s) = b.finish().values else { unreachable!() };
                if rng.bool() {
                    let k = rng.usize(..50);
                    s.views.swap(0, k);
                    texts.swap(0, k);
                }
                let pieces = ["%", "a", "ab", "bb", "B", "_", "%", " "];
                let p: String = (0..rng.usize(1..6)).map(|_| pieces[rng.usize(..8)]).collect();
                let m = LikeMatcher::new(p.as_bytes(), Some('\\'), collation);
                let reference = LikePattern::new(p.as_bytes(), Some('\\'), collation);
                let mut out = Bitmap::zeros(50);
                let sel = if rng.bool() {
                    Selection::All
                } else {
                    Selection::Some((0..50).filter(|_| rng.u8(..4) > 0).collect())
                };
                m.select(&s, 50, &sel, &mut out, &Stopper::new(&|| Ok(())));
                sel.for_each(50, |i| {
                    assert_eq!(
                        out.get(i),
                        reference.matches(texts[i].as_bytes()),
                        "{:?} like {p:?} {collation:?}",
                        texts[i]
                    );
                });
            }
        }
    }
}
