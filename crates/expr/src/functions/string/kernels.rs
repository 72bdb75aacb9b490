//! Kernels of string functions. [`parts`] finds parts of strings, [`encode`] spells them otherwise.

use super::super::other::choose;
use super::{encode, parts};
use crate::eval::Exact;
use crate::eval::strbuf::StrBuf;
use crate::functions::{Call, Detail, TrimSide};
use crate::kernels::strings as str_kernels;
use crate::kernels::text::shown;
use memchr::memmem;
use parts::{offset, slices, trim_range};
use types::collation::utf8;
use types::{Collation, Decimal, Error, Result};
use vector::{Chunk, Values, Vector};

/// Grows to `bytes`, unless the result would be larger than a packet: then NULL and warning 1301.
fn fits_packet(call: &Call, bytes: usize) -> Result<bool> {
    let max = call.ctx.session.max_allowed_packet;
    if bytes as u64 <= max {
        return Ok(true);
    }
    call.fault(Error::warn_allowed_packet_overflowed(call.name(), max))?;
    Ok(false)
}

/// Bytes of a weight string for one of the string: U+FDFA has three and eighteen weights.
const WEIGHT_BYTES_MAX: usize = 12;

/// A long string taken in pieces.
const PIECE_BYTES: usize = 16 << 10;

/// `f` of each piece of `s`, which cuts no character; it makes at most three bytes of one.
fn in_pieces(s: &[u8], out: &mut StrBuf<'_>, f: impl Fn(&[u8], &mut Vec<u8>)) -> Result<()> {
    let mut rest = s;
    while !rest.is_empty() {
        let is_inside = |at: &usize| rest.get(*at).is_some_and(|b| b & 0xC0 == 0x80);
        let cut = (PIECE_BYTES.min(rest.len())..rest.len()).find(|at| !is_inside(at)).unwrap_or(rest.len());
        let (piece, later) = rest.split_at(cut);
        f(piece, out.at_most(3 * piece.len())?);
        rest = later;
    }
    Ok(())
}

/// The characters from the last to the first.
fn reversed(s: &[u8], out: &mut Vec<u8>) {
    let mut end = s.len();
    while end > 0 {
        let start = (0..end).rev().find(|&i| s[i] & 0xC0 != 0x80).unwrap_or(0);
        out.extend_from_slice(&s[start..end]);
        end = start;
    }
}

fn pad(call: &Call, i: usize, left: bool, out: &mut StrBuf<'_>) -> Result<bool> {
    let c = call.collation(0);
    let (s, n, fill) = (call.bytes(0, i), call.int(1, i), call.bytes(2, i));
    if n < 0 {
        return Ok(false);
    }
    let have = parts::length(c, s);
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
    let unit = parts::length(c, fill);
    out.repeat(fill, (missing / unit) as usize);
    out.extend_from_slice(&fill[..offset(c, fill, missing % unit)]);
    if left {
        out.extend_from_slice(s);
    }
    Ok(true)
}

fn format_number(call: &Call, i: usize, locale: &types::Locale, out: &mut StrBuf<'_>) -> Result<()> {
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
            let d = Exact::new(&call.args[0], &call.types[0]).decimal(i);
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
    locale.write_number(whole.as_bytes(), fraction.map(str::as_bytes), out.at_most(4 * text.len() + 64)?);
    Ok(())
}

/// The locale that FORMAT's third argument names; en_US without one, and with a warning where there is none of that
/// name.
fn locale_of(call: &Call, i: usize) -> Result<&'static types::Locale> {
    if call.len() < 3 {
        return Ok(types::locale::english());
    }
    let name = if call.is_null(2, i) { "NULL".into() } else { String::from_utf8_lossy(call.bytes(2, i)) };
    match types::locale::find(&name) {
        Some(found) => Ok(found),
        None => {
            let w = Error::unknown_locale(name).into_warning(types::WarningLevel::Warning);
            call.ctx.warnings.push(w);
            Ok(types::locale::english())
        }
    }
}

pub(super) fn concat(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| {
        let start = out.len();
        for k in 0..call.len() {
            out.extend_from_slice(call.bytes(k, i));
        }
        fits_packet(call, out.len() - start)
    })
}

pub(super) fn concat_ws(call: &Call) -> Result<Chunk> {
    call.all_rows().strings(|i, out| {
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
    })
}

pub(super) fn length(call: &Call) -> Result<Chunk> {
    Ok(match &call.args[0] {
        Vector::Flat(ch) if matches!(ch.values, Values::Str(_)) => {
            let Values::Str(s) = &ch.values else { return Err(Error::internal("just matched")) };
            Chunk::new(Values::I64(s.views.iter().map(|v| v.len() as i64).collect()), ch.validity.clone())
        }
        _ => call.rows().fixed(|i| Ok(Some(call.bytes(0, i).len() as i64)))?,
    })
}

pub(super) fn bit_length(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| Ok(Some(call.bytes(0, i).len() as i64 * 8)))
}

pub(super) fn char_length(call: &Call) -> Result<Chunk> {
    let c = call.collation(0);
    call.rows().fixed(|i| Ok(Some(parts::length(c, call.bytes(0, i)))))
}

pub(super) fn lower(call: &Call) -> Result<Chunk> {
    let c = call.collation(0);
    call.rows().strings(|i, out| {
        in_pieces(call.bytes(0, i), out, |s, out| c.lower(s, out))?;
        Ok(true)
    })
}

pub(super) fn upper(call: &Call) -> Result<Chunk> {
    let c = call.collation(0);
    call.rows().strings(|i, out| {
        in_pieces(call.bytes(0, i), out, |s, out| c.upper(s, out))?;
        Ok(true)
    })
}

pub(super) fn substring(call: &Call) -> Result<Chunk> {
    let c = call.collation(0);
    let with_len = call.len() == 3;
    if with_len && let Some(c) = parts::short_prefix(call) {
        return Ok(c);
    }
    slices(call, |i, s| parts::substring(c, s, call.int(1, i), with_len.then(|| call.int(2, i))))
}

pub(super) fn left(call: &Call) -> Result<Chunk> {
    let c = call.collation(0);
    slices(call, |i, s| (0, offset(c, s, call.int(1, i))))
}

pub(super) fn right(call: &Call) -> Result<Chunk> {
    let c = call.collation(0);
    slices(call, |i, s| {
        let n = call.int(1, i).max(0);
        (offset(c, s, (parts::length(c, s) - n).max(0)), s.len())
    })
}

pub(super) fn ltrim(call: &Call) -> Result<Chunk> {
    slices(call, |_, s| trim_range(s, b" ", TrimSide::Leading))
}

pub(super) fn rtrim(call: &Call) -> Result<Chunk> {
    slices(call, |_, s| trim_range(s, b" ", TrimSide::Trailing))
}

pub(super) fn trim(call: &Call) -> Result<Chunk> {
    let side = match call.function.detail() {
        Detail::Side(side) => side,
        _ => TrimSide::Both,
    };
    slices(call, |i, s| {
        let what = if call.len() > 1 { call.bytes(1, i) } else { b" " };
        trim_range(s, what, side)
    })
}

pub(super) fn substring_index(call: &Call) -> Result<Chunk> {
    let c = call.collation(0);
    slices(call, |i, s| parts::substring_index(c, s, call.bytes(1, i), call.int(2, i)))
}

pub(super) fn lpad(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| pad(call, i, true, out))
}

pub(super) fn rpad(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| pad(call, i, false, out))
}

pub(super) fn repeat(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| {
        let (s, n) = (call.bytes(0, i), call.int(1, i).max(0) as usize);
        if s.is_empty() {
            return Ok(true);
        }
        if !fits_packet(call, s.len().saturating_mul(n))? {
            return Ok(false);
        }
        out.repeat(s, n);
        Ok(true)
    })
}

pub(super) fn space(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| {
        let n = call.int(0, i).max(0) as usize;
        if !fits_packet(call, n)? {
            return Ok(false);
        }
        out.resize(out.len() + n, b' ');
        Ok(true)
    })
}

pub(super) fn replace(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| {
        let (s, from, to) = (call.bytes(0, i), call.bytes(1, i), call.bytes(2, i));
        let start = out.len();
        if from.is_empty() {
            out.extend_from_slice(s);
            return Ok(true);
        }
        let mut at = 0;
        for (n, k) in memmem::find_iter(s, from).enumerate() {
            if n % 65536 == 65535 {
                call.ctx.check_killed()?;
                if !fits_packet(call, out.len() - start)? {
                    return Ok(false);
                }
            }
            out.extend_from_slice(&s[at..k]);
            out.extend_from_slice(to);
            at = k + from.len();
        }
        out.extend_from_slice(&s[at..]);
        fits_packet(call, out.len() - start)
    })
}

pub(super) fn reverse(call: &Call) -> Result<Chunk> {
    let c = call.collation(0);
    call.rows().strings(|i, out| {
        let s = call.bytes(0, i);
        if c == Collation::Binary || s.is_ascii() {
            out.at_most(s.len())?.extend(s.iter().rev());
        } else {
            reversed(s, out.at_most(s.len())?);
        }
        Ok(true)
    })
}

pub(super) fn insert(call: &Call) -> Result<Chunk> {
    let c = call.collation(0);
    call.rows().strings(|i, out| {
        let (s, pos, len, new) = (call.bytes(0, i), call.int(1, i), call.int(2, i), call.bytes(3, i));
        if pos < 1 || pos > parts::length(c, s) {
            out.extend_from_slice(s);
            return Ok(true);
        }
        let from = offset(c, s, pos - 1);
        let to = if len < 0 { s.len() } else { from + offset(c, &s[from..], len) };
        out.extend_from_slice(&s[..from]);
        out.extend_from_slice(new);
        out.extend_from_slice(&s[to..]);
        Ok(true)
    })
}

pub(super) fn locate(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| {
        let from = if call.len() == 3 { call.int(2, i) } else { 1 };
        let ask: types::Ask<'_> = &|| call.ctx.check_killed();
        Ok(Some(parts::locate(call.collation(1), call.bytes(0, i), call.bytes(1, i), from, ask)?))
    })
}

pub(super) fn ascii(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| Ok(Some(call.bytes(0, i).first().map_or(0, |&b| b as i64))))
}

pub(super) fn ord(call: &Call) -> Result<Chunk> {
    let c = call.collation(0);
    call.rows().fixed(|i| {
        let s = call.bytes(0, i);
        let n = if s.is_empty() || c == Collation::Binary { s.len().min(1) } else { utf8::decode(s, 0).1 };
        Ok(Some(s[..n].iter().fold(0i64, |v, &b| v << 8 | b as i64)))
    })
}

pub(super) fn char(call: &Call) -> Result<Chunk> {
    call.all_rows().strings(|i, out| {
        for k in (0..call.len()).filter(|&k| !call.is_null(k, i)) {
            let b = (call.int(k, i) as u32).to_be_bytes();
            let skip = b.iter().take_while(|&&x| x == 0).count().min(3);
            out.extend_from_slice(&b[skip..]);
        }
        Ok(true)
    })
}

/// HEX of a string.
pub(super) fn hex_of_text(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| {
        encode::hex(call.bytes(0, i), out)?;
        Ok(true)
    })
}

/// HEX of an approximate number, rounded.
pub(super) fn hex_of_double(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| {
        let x = call.double(0, i).round();
        encode::radix(if x < 0.0 { x as i64 as u64 } else { x as u64 }, 16, out);
        Ok(true)
    })
}

/// HEX of an exact number, rounded.
pub(super) fn hex_of_exact(call: &Call) -> Result<Chunk> {
    let e = Exact::new(&call.args[0], &call.types[0]);
    call.rows().strings(|i, out| {
        let d = e.decimal(i);
        let v = if d.is_negative() { d.to_i64_round().0 as u64 } else { d.to_u64_round().0 };
        encode::radix(v, 16, out);
        Ok(true)
    })
}

pub(super) fn unhex(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| {
        let s = call.bytes(0, i);
        let digit = |b: u8| (b as char).to_digit(16).map(|d| d as u8);
        let out = out.at_most(s.len().div_ceil(2))?;
        // An odd digit comes first, alone.
        let (first, pairs) = s.split_at(s.len() % 2);
        let bytes = [first].into_iter().filter(|f| !f.is_empty()).chain(pairs.chunks(2));
        for byte in bytes {
            match byte.iter().try_fold(0, |v, &b| Some(v << 4 | digit(b)?)) {
                Some(v) => out.push(v),
                None => {
                    call.fault(Error::wrong_value_for_type("string", shown(s), "unhex"))?;
                    return Ok(false);
                }
            }
        }
        Ok(true)
    })
}

/// BIN is CONV(n, 10, 2), OCT CONV(n, 10, 8): of the digits at the start of the number's text.
pub(super) fn bin(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| Ok(encode::conv(call.bytes(0, i), 10, 2, out)))
}

pub(super) fn oct(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| Ok(encode::conv(call.bytes(0, i), 10, 8, out)))
}

pub(super) fn conv(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| Ok(encode::conv(call.bytes(0, i), call.int(1, i), call.int(2, i), out)))
}

pub(super) fn find_in_set(call: &Call) -> Result<Chunk> {
    let c = call.collation(0);
    call.rows().fixed(|i| {
        let (s, list) = (call.bytes(0, i), call.bytes(1, i));
        if list.is_empty() {
            return Ok(Some(0));
        }
        // Spaces at the end count, whatever the collation pads with.
        let spaces = |text: &[u8]| text.iter().rev().take_while(|&&b| b == b' ').count();
        let is_it = |item: &[u8]| str_kernels::eq(c, item, s) && spaces(item) == spaces(s);
        let at = list.split(|&b| b == b',').position(is_it);
        Ok(Some(at.map_or(0, |k| k as i64 + 1)))
    })
}

pub(super) fn make_set(call: &Call) -> Result<Chunk> {
    call.all_rows().strings(|i, out| {
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
    })
}

pub(super) fn export_set(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| {
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
    })
}

pub(super) fn format(call: &Call) -> Result<Chunk> {
    call.all_rows().strings(|i, out| {
        if call.is_null(0, i) || call.is_null(1, i) {
            return Ok(false);
        }
        format_number(call, i, locale_of(call, i)?, out)?;
        Ok(true)
    })
}

pub(super) fn quote(call: &Call) -> Result<Chunk> {
    call.all_rows().strings(|i, out| {
        if call.is_null(0, i) {
            out.extend_from_slice(b"NULL");
        } else {
            encode::quote(call.bytes(0, i), out);
        }
        Ok(true)
    })
}

pub(super) fn strcmp(call: &Call) -> Result<Chunk> {
    let c = call.collation(0);
    call.rows().fixed(|i| Ok(Some(c.compare(call.bytes(0, i), call.bytes(1, i)) as i64)))
}

pub(super) fn soundex(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| {
        encode::soundex(call.bytes(0, i), out)?;
        Ok(true)
    })
}

pub(super) fn to_base64(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| {
        encode::to_base64(call.bytes(0, i), out)?;
        Ok(true)
    })
}

pub(super) fn from_base64(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| Ok(encode::from_base64(call.bytes(0, i), out)))
}

pub(super) fn weight_string(call: &Call) -> Result<Chunk> {
    let c = call.collation(0);
    call.rows().strings(|i, out| {
        let s = call.bytes(0, i);
        c.weight_string(s, out.at_most(WEIGHT_BYTES_MAX * (s.len() + 1))?);
        Ok(true)
    })
}

/// The bytes are the same in every character set we have; only the type changes.
pub(super) fn collate(call: &Call) -> Result<Chunk> {
    Ok(match &call.args[0] {
        Vector::Flat(c) => (**c).clone(),
        Vector::Const(c) => c.gather(&vec![0; call.row_count]),
    })
}

pub(super) fn elt(call: &Call) -> Result<Chunk> {
    choose(call, |i| {
        if call.is_null(0, i) {
            return None;
        }
        let k = call.int(0, i);
        (k >= 1 && (k as usize) < call.len()).then_some(k as usize)
    })
}
