//! String functions. Positions and lengths count characters, or bytes for binary strings.

use super::eval::Call;
use super::{Function, TrimSide};
use crate::kernels::strings as str_kernels;
use memchr::memmem;
use types::collation::utf8;
use types::{Collation, Decimal, Error, Result, SqlType};
use vector::{Chunk, Selection, StrValues, StrView, Values, Vector};

/// Length in characters.
#[inline]
fn length(c: Collation, s: &[u8]) -> i64 {
    c.char_length(s) as i64
}

/// Byte offset of character `n`.
#[inline]
fn offset(c: Collation, s: &[u8], n: i64) -> usize {
    let n = n.clamp(0, s.len() as i64) as usize;
    if c == Collation::Binary { n } else { utf8::offset_of_char(s, n) }
}

/// Results that are parts of the first argument: views into its heap, nothing copied.
fn slices(call: &Call, rows: usize, sel: &Selection, f: impl Fn(usize, &[u8]) -> (usize, usize)) -> Result<Chunk> {
    let r = call.rows(rows, sel);
    let (chunk, constant) = call.args[0].chunk();
    match (&chunk.values, constant) {
        (Values::Str(s), false) => {
            let mut views = vec![StrView::EMPTY; rows];
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
fn short_prefix(call: &Call, rows: usize, sel: &Selection) -> Option<Chunk> {
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
    let mut views = vec![StrView::EMPTY; rows];
    sel.for_each(rows, |i| {
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
fn substring(c: Collation, s: &[u8], pos: i64, len: Option<i64>) -> (usize, usize) {
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

fn trim_range(s: &[u8], what: &[u8], side: TrimSide) -> (usize, usize) {
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
pub(crate) fn locate(c: Collation, needle: &[u8], hay: &[u8], from: i64) -> i64 {
    if from < 1 {
        return 0;
    }
    let start = offset(c, hay, from - 1);
    if from - 1 > length(c, hay) {
        return 0;
    }
    if needle.is_empty() {
        return from;
    }
    let rest = &hay[start..];
    let found = if c.is_bin() || c == Collation::Binary {
        memmem::find(rest, needle)
    } else if rest.is_ascii() && needle.is_ascii() {
        memmem::find(&rest.to_ascii_lowercase(), &needle.to_ascii_lowercase())
    } else {
        let n = utf8::char_count(needle);
        let mut at = 0;
        loop {
            if at >= rest.len() {
                break None;
            }
            let end = at + utf8::offset_of_char(&rest[at..], n);
            if utf8::char_count(&rest[at..end]) < n {
                break None;
            }
            if c.eq(&rest[at..end], needle) {
                break Some(at);
            }
            at += utf8::decode(rest, at).1;
        }
    };
    match found {
        Some(at) => from + length(c, &rest[..at]),
        None => 0,
    }
}

/// SUBSTRING_INDEX: what lies before the `count`-th delimiter (from the end, if negative: what lies behind it).
fn substring_index(s: &[u8], delimiter: &[u8], count: i64) -> (usize, usize) {
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

/// Grows to `bytes`, unless the result would be larger than a packet: then NULL and warning 1301.
fn fits_packet(call: &Call, bytes: usize) -> Result<bool> {
    let max = call.ctx.session.max_allowed_packet;
    if bytes as u64 <= max {
        return Ok(true);
    }
    call.fault(Error::warn_allowed_packet_overflowed(call.function.name().to_ascii_lowercase(), max))?;
    Ok(false)
}

fn pad(call: &Call, i: usize, left: bool, out: &mut Vec<u8>) -> Result<bool> {
    let c = call.collation(0);
    let (s, n, fill) = (call.bytes(0, i), call.int(1, i), call.bytes(2, i));
    if n < 0 {
        return Ok(false);
    }
    let have = length(c, s);
    if have >= n {
        out.extend_from_slice(&s[..offset(c, s, n)]);
        return Ok(true);
    }
    if fill.is_empty() {
        return Ok(true);
    }
    let missing = n - have;
    if !fits_packet(call, (missing as usize).saturating_add(s.len()))? {
        return Ok(false);
    }
    if !left {
        out.extend_from_slice(s);
    }
    let unit = length(c, fill);
    for _ in 0..missing / unit {
        out.extend_from_slice(fill);
    }
    out.extend_from_slice(&fill[..offset(c, fill, missing % unit)]);
    if left {
        out.extend_from_slice(s);
    }
    Ok(true)
}

fn hex(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for b in bytes {
        out.push(DIGITS[(b >> 4) as usize]);
        out.push(DIGITS[(b & 15) as usize]);
    }
}

fn radix(mut v: u64, base: u64, out: &mut Vec<u8>) {
    let mut buf = [0u8; 64];
    let mut at = 64;
    loop {
        at -= 1;
        buf[at] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[(v % base) as usize];
        v /= base;
        if v == 0 {
            break;
        }
    }
    out.extend_from_slice(&buf[at..]);
}

/// CONV(n, from, to); None is NULL.
fn conv(n: &[u8], from: i64, to: i64, out: &mut Vec<u8>) -> bool {
    if !(2..=36).contains(&from.unsigned_abs()) || !(2..=36).contains(&to.unsigned_abs()) {
        return false;
    }
    let n = n.trim_ascii();
    let (negative, digits) = match n.first() {
        Some(b'-') => (true, &n[1..]),
        Some(b'+') => (false, &n[1..]),
        _ => (false, n),
    };
    let base = from.unsigned_abs();
    let mut v: u64 = 0;
    for &b in digits {
        let d = match (b as char).to_digit(36) {
            Some(d) if (d as u64) < base => d as u64,
            _ => break,
        };
        v = v.checked_mul(base).and_then(|v| v.checked_add(d)).unwrap_or(u64::MAX);
    }
    if negative {
        v = v.wrapping_neg();
    }
    if to < 0 && (v as i64) < 0 {
        out.push(b'-');
        v = (v as i64).unsigned_abs();
    }
    radix(v, to.unsigned_abs(), out);
    true
}

fn soundex(s: &[u8], out: &mut Vec<u8>) {
    const CODES: &[u8; 26] = b"01230120022455012623010202";
    let code = |b: u8| CODES[(b.to_ascii_uppercase() - b'A') as usize];
    let start = out.len();
    let mut last = 0;
    for &b in s.iter().filter(|b| b.is_ascii_alphabetic()) {
        if out.len() == start {
            out.push(b.to_ascii_uppercase());
            last = code(b);
            continue;
        }
        let k = code(b);
        if k != b'0' && k != last {
            out.push(k);
            last = k;
        }
    }
    if out.len() > start {
        while out.len() < start + 4 {
            out.push(b'0');
        }
    }
}

fn quote(s: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    for &b in s {
        match b {
            b'\'' | b'\\' => out.extend([b'\\', b]),
            0 => out.extend(b"\\0"),
            26 => out.extend(b"\\Z"),
            _ => out.push(b),
        }
    }
    out.push(b'\'');
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn to_base64(s: &[u8], out: &mut Vec<u8>) {
    let mut line = 0;
    for c in s.chunks(3) {
        if line == 76 {
            out.push(b'\n');
            line = 0;
        }
        let b = [c[0], c.get(1).copied().unwrap_or(0), c.get(2).copied().unwrap_or(0)];
        let w = (b[0] as u32) << 16 | (b[1] as u32) << 8 | b[2] as u32;
        for k in 0..4 {
            out.push(if k <= c.len() { BASE64[(w >> (18 - 6 * k) & 63) as usize] } else { b'=' });
        }
        line += 4;
    }
}

fn from_base64(s: &[u8], out: &mut Vec<u8>) -> bool {
    let (mut w, mut n, mut padding) = (0u32, 0, 0);
    for &b in s {
        if b.is_ascii_whitespace() {
            continue;
        }
        let v = match BASE64.iter().position(|&x| x == b) {
            Some(v) if padding == 0 => v as u32,
            None if b == b'=' && n >= 2 => {
                padding += 1;
                0
            }
            _ => return false,
        };
        w = w << 6 | v;
        n += 1;
        if n == 4 {
            out.extend_from_slice(&w.to_be_bytes()[1..4 - padding]);
            (w, n) = (0, 0);
        }
    }
    n == 0
}

fn format_number(call: &Call, i: usize, out: &mut Vec<u8>) {
    let places = call.int(1, i).clamp(0, 30);
    let text = match &call.args[0].chunk().0.values {
        Values::F64(_) | Values::F32(_) => {
            let v = call.double(0, i);
            match Decimal::from_f64(v).and_then(|d| d.round_at(places as i32)) {
                Some(d) => d.rescale(places as u8).unwrap_or(d).to_string(),
                None => format!("{v:.*}", places as usize),
            }
        }
        _ => {
            let d = crate::eval::Exact::new(&call.args[0], &call.types[0]).decimal(i);
            d.rescale(places as u8).unwrap_or(d).to_string()
        }
    };
    let (sign, text) = match text.strip_prefix('-') {
        Some(t) => ("-", t),
        None => ("", &*text),
    };
    let (whole, fraction) = match text.split_once('.') {
        Some((w, f)) => (w, Some(f)),
        None => (text, None),
    };
    out.extend_from_slice(sign.as_bytes());
    for (k, b) in whole.bytes().enumerate() {
        if k > 0 && (whole.len() - k).is_multiple_of(3) {
            out.push(b',');
        }
        out.push(b);
    }
    if let Some(f) = fraction {
        out.push(b'.');
        out.extend_from_slice(f.as_bytes());
    }
}

/// String functions; None if the function is none of them.
pub(crate) fn eval(call: &Call, rows: usize, sel: &Selection) -> Result<Option<Chunk>> {
    use Function::*;
    let c = call.collation(0);
    let r = call.rows(rows, sel);
    Ok(Some(match call.function {
        Concat => r.strings(|i, out| {
            let start = out.len();
            for k in 0..call.len() {
                out.extend_from_slice(call.bytes(k, i));
            }
            fits_packet(call, out.len() - start)
        })?,
        ConcatWs => call.all_rows(rows, sel).strings(|i, out| {
            if call.is_null(0, i) {
                return Ok(false);
            }
            let mut first = true;
            for k in 1..call.len() {
                if call.is_null(k, i) {
                    continue;
                }
                if !first {
                    out.extend_from_slice(call.bytes(0, i));
                }
                out.extend_from_slice(call.bytes(k, i));
                first = false;
            }
            Ok(true)
        })?,
        Length => match &call.args[0] {
            Vector::Flat(ch) if matches!(ch.values, Values::Str(_)) => {
                let Values::Str(s) = &ch.values else { return Err(Error::internal("just matched")) };
                Chunk::new(Values::I64(s.views.iter().map(|v| v.len() as i64).collect()), ch.validity.clone())
            }
            _ => r.fixed(|i| Ok(Some(call.bytes(0, i).len() as i64)))?,
        },
        BitLength => r.fixed(|i| Ok(Some(call.bytes(0, i).len() as i64 * 8)))?,
        CharLength => r.fixed(|i| Ok(Some(length(c, call.bytes(0, i)))))?,
        Lower => r.strings(|i, out| {
            c.lower(call.bytes(0, i), out);
            Ok(true)
        })?,
        Upper => r.strings(|i, out| {
            c.upper(call.bytes(0, i), out);
            Ok(true)
        })?,
        Substring => {
            let with_len = call.len() == 3;
            if with_len && let Some(c) = short_prefix(call, rows, sel) {
                return Ok(Some(c));
            }
            slices(call, rows, sel, |i, s| substring(c, s, call.int(1, i), with_len.then(|| call.int(2, i))))?
        }
        Left => slices(call, rows, sel, |i, s| (0, offset(c, s, call.int(1, i))))?,
        Right => slices(call, rows, sel, |i, s| {
            let n = call.int(1, i).max(0);
            (offset(c, s, (length(c, s) - n).max(0)), s.len())
        })?,
        Ltrim => slices(call, rows, sel, |_, s| trim_range(s, b" ", TrimSide::Leading))?,
        Rtrim => slices(call, rows, sel, |_, s| trim_range(s, b" ", TrimSide::Trailing))?,
        Trim(side) => slices(call, rows, sel, |i, s| trim_range(s, call.bytes(1, i), side))?,
        SubstringIndex => slices(call, rows, sel, |i, s| substring_index(s, call.bytes(1, i), call.int(2, i)))?,
        Lpad => r.strings(|i, out| pad(call, i, true, out))?,
        Rpad => r.strings(|i, out| pad(call, i, false, out))?,
        Repeat => r.strings(|i, out| {
            let (s, n) = (call.bytes(0, i), call.int(1, i).max(0) as usize);
            if s.is_empty() {
                return Ok(true);
            }
            if !fits_packet(call, s.len().saturating_mul(n))? {
                return Ok(false);
            }
            (0..n).for_each(|_| out.extend_from_slice(s));
            Ok(true)
        })?,
        Space => r.strings(|i, out| {
            let n = call.int(0, i).max(0) as usize;
            if !fits_packet(call, n)? {
                return Ok(false);
            }
            out.resize(out.len() + n, b' ');
            Ok(true)
        })?,
        Replace => r.strings(|i, out| {
            let (s, from, to) = (call.bytes(0, i), call.bytes(1, i), call.bytes(2, i));
            let start = out.len();
            if from.is_empty() {
                out.extend_from_slice(s);
                return Ok(true);
            }
            let mut at = 0;
            for k in memmem::find_iter(s, from) {
                out.extend_from_slice(&s[at..k]);
                out.extend_from_slice(to);
                at = k + from.len();
            }
            out.extend_from_slice(&s[at..]);
            fits_packet(call, out.len() - start)
        })?,
        Reverse => r.strings(|i, out| {
            let s = call.bytes(0, i);
            if c == Collation::Binary || s.is_ascii() {
                out.extend(s.iter().rev());
            } else {
                let mut all: Vec<u32> = utf8::chars(s).collect();
                all.reverse();
                all.into_iter().for_each(|ch| utf8::encode(ch, out));
            }
            Ok(true)
        })?,
        Insert => r.strings(|i, out| {
            let (s, pos, len, new) = (call.bytes(0, i), call.int(1, i), call.int(2, i), call.bytes(3, i));
            if pos < 1 || pos > length(c, s) {
                out.extend_from_slice(s);
                return Ok(true);
            }
            let from = offset(c, s, pos - 1);
            let to = if len < 0 { s.len() } else { from + offset(c, &s[from..], len) };
            out.extend_from_slice(&s[..from]);
            out.extend_from_slice(new);
            out.extend_from_slice(&s[to..]);
            Ok(true)
        })?,
        Locate => r.fixed(|i| {
            let from = if call.len() == 3 { call.int(2, i) } else { 1 };
            Ok(Some(locate(call.collation(1), call.bytes(0, i), call.bytes(1, i), from)))
        })?,
        Ascii => r.fixed(|i| Ok(Some(call.bytes(0, i).first().map_or(0, |&b| b as i64))))?,
        Ord => r.fixed(|i| {
            let s = call.bytes(0, i);
            let n = if s.is_empty() || c == Collation::Binary { s.len().min(1) } else { utf8::decode(s, 0).1 };
            Ok(Some(s[..n].iter().fold(0i64, |v, &b| v << 8 | b as i64)))
        })?,
        Char => call.all_rows(rows, sel).strings(|i, out| {
            for k in (0..call.len()).filter(|&k| !call.is_null(k, i)) {
                let b = (call.int(k, i) as u32).to_be_bytes();
                let skip = b.iter().take_while(|&&x| x == 0).count().min(3);
                out.extend_from_slice(&b[skip..]);
            }
            Ok(true)
        })?,
        Hex => match call.types[0] {
            SqlType::String { .. } => r.strings(|i, out| {
                hex(call.bytes(0, i), out);
                Ok(true)
            })?,
            _ => r.strings(|i, out| {
                let v = match &call.args[0].chunk().0.values {
                    Values::F64(_) | Values::F32(_) => {
                        let x = call.double(0, i).round();
                        if x < 0.0 { x as i64 as u64 } else { x as u64 }
                    }
                    _ => {
                        let d = crate::eval::Exact::new(&call.args[0], &call.types[0]).decimal(i);
                        if d.is_negative() { d.to_i64_round().0 as u64 } else { d.to_u64_round().0 }
                    }
                };
                radix(v, 16, out);
                Ok(true)
            })?,
        },
        Unhex => r.strings(|i, out| {
            let s = call.bytes(0, i);
            let digit = |b: u8| (b as char).to_digit(16).map(|d| d as u8);
            let padded: Vec<u8> = if s.len() % 2 == 1 { [b"0", s].concat() } else { s.to_vec() };
            for pair in padded.chunks(2) {
                match (digit(pair[0]), digit(pair[1])) {
                    (Some(a), Some(b)) => out.push(a << 4 | b),
                    _ => {
                        let shown = String::from_utf8_lossy(s).into_owned();
                        call.fault(Error::wrong_value_for_type("string", shown, "unhex"))?;
                        return Ok(false);
                    }
                }
            }
            Ok(true)
        })?,
        Bin => r.strings(|i, out| {
            radix(call.int(0, i) as u64, 2, out);
            Ok(true)
        })?,
        Oct => r.strings(|i, out| {
            radix(call.int(0, i) as u64, 8, out);
            Ok(true)
        })?,
        Conv => r.strings(|i, out| Ok(conv(call.bytes(0, i), call.int(1, i), call.int(2, i), out)))?,
        FindInSet => r.fixed(|i| {
            let (s, list) = (call.bytes(0, i), call.bytes(1, i));
            if list.is_empty() {
                return Ok(Some(0));
            }
            let at = list.split(|&b| b == b',').position(|item| str_kernels::eq(c, item, s));
            Ok(Some(at.map_or(0, |k| k as i64 + 1)))
        })?,
        MakeSet => call.all_rows(rows, sel).strings(|i, out| {
            if call.is_null(0, i) {
                return Ok(false);
            }
            let bits = call.int(0, i) as u64;
            let mut first = true;
            for k in 1..call.len().min(65) {
                if bits >> (k - 1) & 1 == 1 && !call.is_null(k, i) {
                    if !first {
                        out.push(b',');
                    }
                    out.extend_from_slice(call.bytes(k, i));
                    first = false;
                }
            }
            Ok(true)
        })?,
        ExportSet => r.strings(|i, out| {
            let (chunk, constant) = call.args[0].chunk();
            let bits = match &chunk.values {
                Values::U64(v) => v[if constant { 0 } else { i }],
                _ => call.int(0, i) as u64,
            };
            let separator: &[u8] = if call.len() > 3 { call.bytes(3, i) } else { b"," };
            let n = if call.len() > 4 { call.int(4, i).clamp(0, 64) } else { 64 };
            let n = if call.len() > 4 && call.int(4, i) < 0 { 64 } else { n };
            for k in 0..n {
                if k > 0 {
                    out.extend_from_slice(separator);
                }
                out.extend_from_slice(call.bytes(if bits >> k & 1 == 1 { 1 } else { 2 }, i));
            }
            Ok(true)
        })?,
        Format => r.strings(|i, out| {
            format_number(call, i, out);
            Ok(true)
        })?,
        Quote => call.all_rows(rows, sel).strings(|i, out| {
            if call.is_null(0, i) {
                out.extend_from_slice(b"NULL");
            } else {
                quote(call.bytes(0, i), out);
            }
            Ok(true)
        })?,
        Strcmp => r.fixed(|i| Ok(Some(c.compare(call.bytes(0, i), call.bytes(1, i)) as i64)))?,
        Soundex => r.strings(|i, out| {
            soundex(call.bytes(0, i), out);
            Ok(true)
        })?,
        ToBase64 => r.strings(|i, out| {
            to_base64(call.bytes(0, i), out);
            Ok(true)
        })?,
        FromBase64 => r.strings(|i, out| Ok(from_base64(call.bytes(0, i), out)))?,
        WeightString => r.strings(|i, out| {
            c.weight_string(call.bytes(0, i), out);
            Ok(true)
        })?,
        // The bytes are the same in every character set we have; only the type changes.
        Collate => return Ok(Some((**call.args[0].chunk().0).clone_at(rows, &call.args[0]))),
        _ => return Ok(None),
    }))
}

trait CloneAt {
    fn clone_at(&self, rows: usize, v: &Vector) -> Chunk;
}

impl CloneAt for Chunk {
    fn clone_at(&self, rows: usize, v: &Vector) -> Chunk {
        match v {
            Vector::Flat(_) => self.clone(),
            Vector::Const(_) => self.gather(&vec![0; rows]),
        }
    }
}
