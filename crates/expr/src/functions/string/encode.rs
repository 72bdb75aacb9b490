//! Other spellings of strings and numbers: HEX, CONV, SOUNDEX, QUOTE, base64.

use crate::eval::strbuf::StrBuf;
use types::Result;
use types::collation::utf8;

pub(super) fn hex(bytes: &[u8], out: &mut StrBuf<'_>) -> Result<()> {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let out = out.at_most(2 * bytes.len())?;
    for b in bytes {
        out.push(DIGITS[(b >> 4) as usize]);
        out.push(DIGITS[(b & 15) as usize]);
    }
    Ok(())
}

pub(super) fn radix(mut v: u64, base: u64, out: &mut StrBuf<'_>) {
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
pub(super) fn conv(n: &[u8], from: i64, to: i64, out: &mut StrBuf<'_>) -> bool {
    if n.is_empty() || !(2..=36).contains(&from.unsigned_abs()) || !(2..=36).contains(&to.unsigned_abs()) {
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

/// Letters beyond ASCII count as vowels; what is no letter is left out. For MySQL every character from U+00C0 on is
/// one.
pub(super) fn soundex(s: &[u8], out: &mut StrBuf<'_>) -> Result<()> {
    const CODES: &[u8; 26] = b"01230120022455012623010202";
    let code = |c: u32| match u8::try_from(c) {
        Ok(b) if b.is_ascii_alphabetic() => CODES[(b.to_ascii_uppercase() - b'A') as usize],
        _ => b'0',
    };
    let is_letter = |c: &u32| *c >= 0xC0 || u8::try_from(*c).is_ok_and(|b| b.is_ascii_alphabetic());
    let mut letters = utf8::chars(s).filter(is_letter);
    let Some(first) = letters.next() else { return Ok(()) };
    match u8::try_from(first) {
        Ok(b) if b.is_ascii() => out.push(b.to_ascii_uppercase()),
        _ => utf8::encode(first, out.short()?),
    }
    let (mut last, mut written) = (code(first), 1);
    for k in letters.map(code) {
        if k != b'0' && k != last {
            out.push(k);
            (last, written) = (k, written + 1);
        }
    }
    (written..4).for_each(|_| out.push(b'0'));
    Ok(())
}

pub(super) fn quote(s: &[u8], out: &mut StrBuf<'_>) {
    out.push(b'\'');
    for &b in s {
        match b {
            b'\'' | b'\\' => out.extend_from_slice(&[b'\\', b]),
            0 => out.extend_from_slice(b"\\0"),
            26 => out.extend_from_slice(b"\\Z"),
            _ => out.push(b),
        }
    }
    out.push(b'\'');
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

const NO_DIGIT: u8 = 0xFF;

/// What each digit stands for.
const BASE64_VALUES: [u8; 256] = {
    let mut values = [NO_DIGIT; 256];
    let mut v = 0;
    while v < 64 {
        values[BASE64[v] as usize] = v as u8;
        v += 1;
    }
    values
};

pub(super) fn to_base64(s: &[u8], out: &mut StrBuf<'_>) -> Result<()> {
    let digits = s.len().div_ceil(3) * 4;
    let out = out.at_most(digits + digits / 76)?;
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
    Ok(())
}

pub(super) fn from_base64(s: &[u8], out: &mut StrBuf<'_>) -> bool {
    let (mut w, mut n, mut padding) = (0u32, 0, 0);
    for &b in s {
        if b.is_ascii_whitespace() {
            continue;
        }
        let v = match BASE64_VALUES[b as usize] {
            v if v != NO_DIGIT && padding == 0 => v as u32,
            NO_DIGIT if b == b'=' && n >= 2 => {
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
