//! Network addresses: INET_ATON, INET6_ATON, the ways back, and what addresses are.
//!
//! An IPv4 address is four decimal numbers of one to three digits, leading zeros allowed; an IPv6 address may end with
//! one. MySQL manual, "Miscellaneous Functions".

use super::Call;
use super::record::{Nulls, Ret, new, records};
use crate::eval::strbuf::StrBuf;
use crate::kernels::text::shown;
use Nulls::Maybe;
use Ret::{Bool, Bytes, Text, UInt};
use std::net::{Ipv4Addr, Ipv6Addr};
use types::{Error, Result};
use vector::Chunk;

records! {
    INET_ATON = new(&["INET_ATON"], 1, 1, "s", UInt, inet_aton).nulls(Maybe).may_warn();
    INET_NTOA = new(&["INET_NTOA"], 1, 1, "i", Text(15), inet_ntoa).nulls(Maybe).makes_text();
    INET6_ATON = new(&["INET6_ATON"], 1, 1, "s", Bytes(16), inet6_aton).nulls(Maybe).may_warn().makes_text();
    INET6_NTOA = new(&["INET6_NTOA"], 1, 1, "s", Text(39), inet6_ntoa).nulls(Maybe).makes_text();
    IS_IPV4 = new(&["IS_IPV4"], 1, 1, "s", Bool, is_ipv4);
    IS_IPV6 = new(&["IS_IPV6"], 1, 1, "s", Bool, is_ipv6);
    IS_IPV4_COMPAT = new(&["IS_IPV4_COMPAT"], 1, 1, "s", Bool, is_ipv4_compat);
    IS_IPV4_MAPPED = new(&["IS_IPV4_MAPPED"], 1, 1, "s", Bool, is_ipv4_mapped);
}

/// INET_ATON: one to four parts, the last of which fills what remains.
fn parse_numbers(s: &[u8]) -> Option<u64> {
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

/// The 16 bytes of an address as MySQL prints it: `::` stands for the first of the longest runs of zeros, however
/// short, and what is an IPv4 address within ends like one.
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

fn wrong(call: &Call, i: usize) -> Result<()> {
    let shown = shown(call.bytes(0, i));
    call.fault(Error::wrong_value_for_type("string", format_args!("'{shown}'"), call.name()))
}

/// Bytes as INET6_ATON makes them that begin with these six words.
fn begins(call: &Call, i: usize, words: [u16; 6]) -> bool {
    <[u8; 16]>::try_from(call.bytes(0, i)).is_ok_and(|b| Ipv6Addr::from(b).segments()[..6] == words)
}

fn inet_aton(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| {
        let v = parse_numbers(call.bytes(0, i));
        if v.is_none() {
            wrong(call, i)?;
        }
        Ok(v)
    })
}

fn inet_ntoa(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| {
        let Ok(v) = u32::try_from(call.int(0, i)) else { return Ok(false) };
        out.extend_from_slice(Ipv4Addr::from(v).to_string().as_bytes());
        Ok(true)
    })
}

fn inet6_aton(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| {
        let s = call.bytes(0, i);
        if let Some(v4) = parse_v4(s) {
            out.extend_from_slice(&v4.octets());
        } else if let Some(v6) = parse_v6(s) {
            out.extend_from_slice(&v6.octets());
        } else {
            wrong(call, i)?;
            return Ok(false);
        }
        Ok(true)
    })
}

fn inet6_ntoa(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| {
        let b = call.bytes(0, i);
        if let Ok(v4) = <[u8; 4]>::try_from(b) {
            out.extend_from_slice(Ipv4Addr::from(v4).to_string().as_bytes());
        } else if let Ok(v6) = <[u8; 16]>::try_from(b) {
            write_v6(v6, out);
        } else {
            return Ok(false);
        }
        Ok(true)
    })
}

fn is_ipv4(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| Ok(Some(parse_v4(call.bytes(0, i)).is_some() as i8)))
}

fn is_ipv6(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| Ok(Some(parse_v6(call.bytes(0, i)).is_some() as i8)))
}

/// `::` and `::1` are addresses of their own.
fn is_ipv4_compat(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| {
        let reserved = call.bytes(0, i).get(12..).is_some_and(|b| matches!(b, [0, 0, 0, 0 | 1]));
        Ok(Some((begins(call, i, [0; 6]) && !reserved) as i8))
    })
}

fn is_ipv4_mapped(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| Ok(Some(begins(call, i, [0, 0, 0, 0, 0, 0xFFFF]) as i8)))
}
