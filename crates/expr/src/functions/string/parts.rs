//! Parts of strings: lengths, positions, substrings, trimming.

use crate::functions::{Call, TrimSide};
use memchr::memmem;
use types::collation::utf8;
use types::{Ask, Collation, Result};
use vector::{Chunk, StrValues, StrView, Values, Vector};

/// Length in characters.
#[inline]
pub(super) fn length(c: Collation, s: &[u8]) -> i64 {
    c.char_length(s) as i64
}

/// Byte offset of character `n`.
#[inline]
pub(super) fn offset(c: Collation, s: &[u8], n: i64) -> usize {
    let n = n.clamp(0, s.len() as i64) as usize;
    if c == Collation::Binary { n } else { utf8::offset_of_char(s, n) }
}

/// Results that are parts of the first argument: views into its heap, nothing copied.
pub(super) fn slices(call: &Call, f: impl Fn(usize, &[u8]) -> (usize, usize)) -> Result<Chunk> {
    let r = call.rows();
    let (chunk, constant) = call.args[0].chunk();
    match (&chunk.values, constant) {
        (Values::Str(s), false) => {
            let mut views = vec![StrView::EMPTY; call.row_count];
            r.try_each(|i| {
                let v = &s.views[i];
                let b = v.bytes(&s.heap);
                let (from, to) = f(i, b);
                let part = &b[from..to];
                views[i] = if part.len() <= 12 {
                    StrView::inline(part)
                } else {
                    let (block, at) = v.location();
                    StrView::pointing(part, block, at + from as u32)
                };
                Ok(())
            })?;
            Ok(Chunk::new(Values::Str(StrValues { views, heap: s.heap.clone() }), r.valid))
        }
        _ => r.strings(|i, out| {
            let b = call.bytes(0, i);
            let (from, to) = f(i, b);
            out.extend_from_slice(&b[from..to]);
            Ok(true)
        }),
    }
}

/// SUBSTRING(s, pos, len) with constants that lie within the four bytes that each view holds of its string.
pub(super) fn short_prefix(call: &Call) -> Option<Chunk> {
    let (Vector::Flat(chunk), Vector::Const(_), Vector::Const(_)) = (&call.args[0], &call.args[1], &call.args[2])
    else {
        return None;
    };
    let Values::Str(s) = &chunk.values else { return None };
    let (pos, len) = (call.int(1, 0), call.int(2, 0));
    if pos < 1 || len < 1 || pos > 4 || len > 4 || pos - 1 + len > 4 {
        return None;
    }
    let (from, to) = ((pos - 1) as usize, (pos - 1 + len) as usize);
    let c = call.collation(0);
    let mut views = vec![StrView::EMPTY; call.row_count];
    call.sel.for_each(call.row_count, |i| {
        let v = &s.views[i];
        let p = v.prefix();
        views[i] = if v.len() >= 4 && p.is_ascii() {
            StrView::inline(&p[from..to])
        } else {
            let b = v.bytes(&s.heap);
            let (a, e) = substring(c, b, pos, Some(len));
            // Four characters may be sixteen bytes, but those do not fit a view.
            let part = &b[a..e];
            if part.len() <= 12 {
                StrView::inline(part)
            } else {
                let (block, at) = v.location();
                StrView::pointing(part, block, at + a as u32)
            }
        };
    });
    Some(Chunk::new(Values::Str(StrValues { views, heap: s.heap.clone() }), chunk.validity.clone()))
}

/// The part of `s` that SUBSTRING(s, pos, len) names.
pub(super) fn substring(c: Collation, s: &[u8], pos: i64, len: Option<i64>) -> (usize, usize) {
    if pos == 0 || len.is_some_and(|l| l <= 0) {
        return (0, 0);
    }
    let from = if pos > 0 {
        offset(c, s, pos - 1)
    } else {
        let n = length(c, s);
        match n.checked_add(pos) {
            Some(start) if start >= 0 => offset(c, s, start),
            _ => return (0, 0),
        }
    };
    match len {
        None => (from, s.len()),
        Some(l) => (from, from + offset(c, &s[from..], l)),
    }
}

pub(super) fn trim_range(s: &[u8], what: &[u8], side: TrimSide) -> (usize, usize) {
    let (mut a, mut b) = (0, s.len());
    if what.is_empty() {
        return (a, b);
    }
    if side != TrimSide::Trailing {
        while s[a..b].starts_with(what) {
            a += what.len();
        }
    }
    if side != TrimSide::Leading {
        while s[a..b].ends_with(what) {
            b -= what.len();
        }
    }
    (a, b)
}

/// 1-based position of `needle` in `hay` from character `from` (1-based) on, by the collation; 0 if there is none.
pub(crate) fn locate(c: Collation, needle: &[u8], hay: &[u8], from: i64, ask: Ask<'_>) -> Result<i64> {
    if from < 1 {
        return Ok(0);
    }
    let start = offset(c, hay, from - 1);
    if from - 1 > length(c, hay) {
        return Ok(0);
    }
    if needle.is_empty() {
        return Ok(from);
    }
    let rest = &hay[start..];
    let found = if c.is_bin() || c == Collation::Binary {
        memmem::find(rest, needle)
    } else if rest.is_ascii() && needle.is_ascii() {
        memmem::find(&rest.to_ascii_lowercase(), &needle.to_ascii_lowercase())
    } else {
        locate_by_weights(c, needle, rest, ask)?
    };
    Ok(found.map_or(0, |at| from + length(c, &rest[..at])))
}

/// Bytes that are compared between two looks at whether to stop.
const COMPARED_BYTES: usize = 1 << 18;

/// Byte offset of the first part of `rest` that is equal to the needle, place by place.
fn locate_by_weights(c: Collation, needle: &[u8], rest: &[u8], ask: Ask<'_>) -> Result<Option<usize>> {
    // What is compared is as many bytes long as the needle; in latin1, whose bytes are characters, as many characters.
    let by_char = c.charset() != Collation::Utf8mb4GeneralCi.charset();
    let (mut at, mut end) = (0, needle.len());
    if by_char {
        let n = utf8::char_count(needle);
        if utf8::char_count(rest) < n {
            return Ok(None);
        }
        end = utf8::offset_of_char(rest, n);
    }
    let is_boundary = |i: usize| rest.get(i).is_none_or(|b| b & 0xC0 != 0x80);
    let mut compared = 0;
    while end <= rest.len() {
        // At worst all of the part has been looked at.
        compared += needle.len().max(1);
        if compared >= COMPARED_BYTES {
            compared = 0;
            ask()?;
        }
        if is_boundary(end) && c.eq(&rest[at..end], needle) {
            return Ok(Some(at));
        }
        let step = utf8::decode(rest, at).1;
        if !by_char {
            end += step;
        } else if end < rest.len() {
            end += utf8::decode(rest, end).1;
        } else {
            break;
        }
        at += step;
    }
    Ok(None)
}

/// SUBSTRING_INDEX: what lies before the `count`-th delimiter (from the end, if negative: what lies behind it).
/// Delimiters that overlap are told apart from the left, in binary strings from the right where they are counted so.
pub(super) fn substring_index(c: Collation, s: &[u8], delimiter: &[u8], count: i64) -> (usize, usize) {
    if delimiter.is_empty() || count == 0 {
        return (0, 0);
    }
    if count > 0 {
        let mut at = 0;
        for k in 1.. {
            match memmem::find(&s[at..], delimiter) {
                Some(i) if k == count => return (0, at + i),
                Some(i) => at += i + delimiter.len(),
                None => break,
            }
        }
    } else if c != Collation::Binary {
        let total = memmem::find_iter(s, delimiter).count();
        let before = usize::try_from(count.unsigned_abs()).ok().and_then(|back| total.checked_sub(back));
        if let Some(i) = before.and_then(|n| memmem::find_iter(s, delimiter).nth(n)) {
            return (i + delimiter.len(), s.len());
        }
    } else {
        let mut end = s.len();
        for k in 1.. {
            match memmem::rfind(&s[..end], delimiter) {
                Some(i) if k == -count => return (i + delimiter.len(), s.len()),
                Some(i) => end = i,
                None => break,
            }
        }
    }
    (0, s.len())
}
