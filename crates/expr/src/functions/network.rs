//! Network addresses: INET_ATON, INET6_ATON, the ways back, and what addresses are.
//!
//! An IPv4 address is four decimal numbers of one to three digits, leading zeros allowed; an IPv6 address may end with
//! one. MySQL manual, "Miscellaneous Functions".

use super::Function;
use super::eval::Call;
use crate::eval::strbuf::StrBuf;
use crate::kernels::text::shown;
use std::net::{Ipv4Addr, Ipv6Addr};
use types::{Error, Result};
use vector::{Chunk, Selection};

/// INET_ATON: one to four parts, the last of which fills what remains.
fn inet_aton(s: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(s).ok()?;
    let parts: Vec<u64> = text.split('.').map(|p| p.parse().ok().filter(|&v: &u64| v < 256)).collect::<Option<_>>()?;
    match *parts.as_slice() {
        [a] => Some(a),
        [a, b] => Some(a << 24 | b),
        [a, b, c] => Some(a << 24 | b << 16 | c),
        [a, b, c, d] => Some(a << 24 | b << 16 | c << 8 | d),
        _ => None,
    }
}

fn parse_v4(s: &[u8]) -> Option<Ipv4Addr> {
    let mut bytes = [0; 4];
    let mut parts = s.split(|&b| b == b'.');
    for byte in &mut bytes {
        let digits = parts.next().filter(|p| (1..=3).contains(&p.len()) && p.iter().all(u8::is_ascii_digit))?;
        *byte = std::str::from_utf8(digits).ok()?.parse().ok()?;
    }
    parts.next().is_none().then(|| Ipv4Addr::from(bytes))
}

fn parse_v6(s: &[u8]) -> Option<Ipv6Addr> {
    let text = std::str::from_utf8(s).ok()?;
    match text.rsplit_once(':') {
        // The IPv4 address at the end may have leading zeros.
        Some((groups, end)) if end.contains('.') => format!("{groups}:{}", parse_v4(end.as_bytes())?).parse().ok(),
        _ => text.parse().ok(),
    }
}

/// The 16 bytes of an address as MySQL prints it: `::` stands for the first of the longest runs of zeros, however short,
/// and what is an IPv4 address within ends like one.
fn write_v6(bytes: [u8; 16], out: &mut StrBuf<'_>) {
    let words = Ipv6Addr::from(bytes).segments();
    let zeros = |from: usize| words[from..].iter().take_while(|w| **w == 0).count();
    let gap = (0..8).rev().max_by_key(|&i| zeros(i)).unwrap_or(0);
    let length = zeros(gap);
    let v4 = gap == 0 && (length == 6 || length == 5 && words[5] == 0xFFFF);
    let mut i = 0;
    while i < 8 {
        if i == gap && length > 0 {
            out.extend_from_slice(if i == 0 { b"::" } else { b":" });
            i += length;
        } else if i == 6 && v4 {
            let [.., a, b, c, d] = bytes;
            out.extend_from_slice(Ipv4Addr::new(a, b, c, d).to_string().as_bytes());
            return;
        } else {
            out.extend_from_slice(format!("{:x}", words[i]).as_bytes());
            i += 1;
            if i < 8 {
                out.push(b':');
            }
        }
    }
}

/// Functions of addresses; None if the function is none of them.
pub(crate) fn eval(call: &Call, rows: usize, sel: &Selection) -> Result<Option<Chunk>> {
    use Function::*;
    let r = call.rows(rows, sel);
    let wrong = |s: &[u8], function: &str| {
        let shown = shown(s);
        call.fault(Error::wrong_value_for_type("string", format_args!("'{shown}'"), function))
    };
    // Bytes as INET6_ATON makes them that begin with these six words.
    let begins = |i: usize, words: [u16; 6]| {
        <[u8; 16]>::try_from(call.bytes(0, i)).is_ok_and(|b| Ipv6Addr::from(b).segments()[..6] == words)
    };
    Ok(Some(match call.function {
        InetAton => r.fixed(|i| {
            let v = inet_aton(call.bytes(0, i));
            if v.is_none() {
                wrong(call.bytes(0, i), "inet_aton")?;
            }
            Ok(v)
        })?,
        InetNtoa => r.strings(|i, out| {
            let Ok(v) = u32::try_from(call.int(0, i)) else { return Ok(false) };
            out.extend_from_slice(Ipv4Addr::from(v).to_string().as_bytes());
            Ok(true)
        })?,
        Inet6Aton => r.strings(|i, out| {
            let s = call.bytes(0, i);
            if let Some(v4) = parse_v4(s) {
                out.extend_from_slice(&v4.octets());
            } else if let Some(v6) = parse_v6(s) {
                out.extend_from_slice(&v6.octets());
            } else {
                wrong(s, "inet6_aton")?;
                return Ok(false);
            }
            Ok(true)
        })?,
        Inet6Ntoa => r.strings(|i, out| {
            let b = call.bytes(0, i);
            if let Ok(v4) = <[u8; 4]>::try_from(b) {
                out.extend_from_slice(Ipv4Addr::from(v4).to_string().as_bytes());
            } else if let Ok(v6) = <[u8; 16]>::try_from(b) {
                write_v6(v6, out);
            } else {
                return Ok(false);
            }
            Ok(true)
        })?,
        IsIpv4 => r.fixed(|i| Ok(Some(parse_v4(call.bytes(0, i)).is_some() as i8)))?,
        IsIpv6 => r.fixed(|i| Ok(Some(parse_v6(call.bytes(0, i)).is_some() as i8)))?,
        // `::` and `::1` are addresses of their own.
        IsIpv4Compat => r.fixed(|i| {
            let reserved = call.bytes(0, i).get(12..).is_some_and(|b| matches!(b, [0, 0, 0, 0 | 1]));
            Ok(Some((begins(i, [0; 6]) && !reserved) as i8))
        })?,
        IsIpv4Mapped => r.fixed(|i| Ok(Some(begins(i, [0, 0, 0, 0, 0, 0xFFFF]) as i8)))?,
        _ => return Ok(None),
    }))
}
