//! Session facts, digests, UUIDs, network addresses, and what else there is.

use super::Function;
use super::eval::Call;
use crate::eval::assemble::assemble;
use crate::kernels;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};
use types::{Error, Result};
use vector::{Chunk, Selection, Vector};

fn hex_lower(bytes: &[u8], out: &mut Vec<u8>) {
    for b in bytes {
        out.extend_from_slice(format!("{b:02x}").as_bytes());
    }
}

/// Version 1: a timestamp, a clock sequence and a node, the latter two random.
fn uuid(out: &mut Vec<u8>) {
    // 100 ns units between 1582-10-15 and 1970-01-01.
    const EPOCH: u64 = 0x01B2_1DD2_1381_4000;
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let t = since.as_nanos() as u64 / 100 + EPOCH;
    let text = format!(
        "{:08x}-{:04x}-1{:03x}-{:04x}-{:012x}",
        t as u32,
        t >> 32 & 0xFFFF,
        t >> 48 & 0xFFF,
        fastrand::u16(..) & 0x3FFF | 0x8000,
        // The multicast bit says that the node is no network card.
        fastrand::u64(..) & 0xFFFF_FFFF_FFFF | 0x0100_0000_0000
    );
    out.extend_from_slice(text.as_bytes());
}

/// The 16 bytes of a UUID's text: with dashes, without, or in braces.
fn parse_uuid(s: &[u8]) -> Option<[u8; 16]> {
    let s = s.strip_prefix(b"{").and_then(|s| s.strip_suffix(b"}")).unwrap_or(s);
    let digits: Vec<u8> = match s.len() {
        32 => s.to_vec(),
        36 if [8, 13, 18, 23].iter().all(|&i| s[i] == b'-') => s.iter().copied().filter(|&b| b != b'-').collect(),
        _ => return None,
    };
    if digits.len() != 32 {
        return None;
    }
    let mut out = [0; 16];
    for (o, pair) in out.iter_mut().zip(digits.chunks(2)) {
        let d = |b: u8| (b as char).to_digit(16);
        *o = (d(pair[0])? << 4 | d(pair[1])?) as u8;
    }
    Some(out)
}

/// UUID_TO_BIN(x, 1) puts the slow-moving half of the time first.
fn swap_in(b: [u8; 16]) -> [u8; 16] {
    let mut o = b;
    o[..2].copy_from_slice(&b[6..8]);
    o[2..4].copy_from_slice(&b[4..6]);
    o[4..8].copy_from_slice(&b[..4]);
    o
}

fn swap_out(b: [u8; 16]) -> [u8; 16] {
    let mut o = b;
    o[6..8].copy_from_slice(&b[..2]);
    o[4..6].copy_from_slice(&b[2..4]);
    o[..4].copy_from_slice(&b[4..8]);
    o
}

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

/// Sleeps in short steps, so that KILL is noticed.
fn sleep(call: &Call, seconds: f64) -> Result<()> {
    let end = Instant::now() + Duration::from_secs_f64(seconds.min(1e9));
    loop {
        call.ctx.check_killed()?;
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(Duration::from_millis(20)));
    }
}

/// GREATEST and LEAST, ELT: which argument each row takes.
fn choose(call: &Call, rows: usize, sel: &Selection, pick: impl Fn(usize) -> Option<usize>) -> Result<Chunk> {
    let mut of: Vec<Vec<u16>> = vec![Vec::new(); call.len()];
    sel.for_each(rows, |i| {
        if let Some(k) = pick(i) {
            of[k].push(i as u16);
        }
    });
    let parts: Vec<(Selection, Vector)> = of
        .into_iter()
        .enumerate()
        .filter(|(_, s)| !s.is_empty())
        .map(|(k, s)| (Selection::Some(s), call.args[k].clone()))
        .collect();
    Ok((*assemble(&call.ty(), rows, sel, parts)?.flatten(rows)).clone())
}

/// The remaining functions; None if the function is none of them.
pub(crate) fn eval(call: &Call, rows: usize, sel: &Selection) -> Result<Option<Chunk>> {
    use Function::*;
    let r = call.rows(rows, sel);
    let session = call.ctx.session;
    let text = |s: &str, out: &mut Vec<u8>| {
        out.extend_from_slice(s.as_bytes());
        Ok(true)
    };
    Ok(Some(match call.function {
        Greatest | Least => {
            let wanted = if call.function == Greatest { std::cmp::Ordering::Greater } else { std::cmp::Ordering::Less };
            let ty = call.ty();
            choose(call, rows, sel, |i| {
                if (0..call.len()).any(|k| call.is_null(k, i)) {
                    return None;
                }
                let mut best = 0;
                for k in 1..call.len() {
                    if kernels::compare_positions(&call.args[k], i, &call.args[best], i, &ty) == wanted {
                        best = k;
                    }
                }
                Some(best)
            })?
        }
        Elt => choose(call, rows, sel, |i| {
            if call.is_null(0, i) {
                return None;
            }
            let k = call.int(0, i);
            (k >= 1 && (k as usize) < call.len()).then_some(k as usize)
        })?,
        Md5 => r.strings(|i, out| {
            use md5::Digest;
            hex_lower(&md5::Md5::digest(call.bytes(0, i)), out);
            Ok(true)
        })?,
        Sha1 => r.strings(|i, out| {
            use sha1::Digest;
            hex_lower(&sha1::Sha1::digest(call.bytes(0, i)), out);
            Ok(true)
        })?,
        Sha2 => r.strings(|i, out| {
            use sha2::Digest;
            let s = call.bytes(0, i);
            match call.int(1, i) {
                224 => hex_lower(&sha2::Sha224::digest(s), out),
                0 | 256 => hex_lower(&sha2::Sha256::digest(s), out),
                384 => hex_lower(&sha2::Sha384::digest(s), out),
                512 => hex_lower(&sha2::Sha512::digest(s), out),
                _ => {
                    call.fault(Error::wrong_parameters_to_native_fct("sha2"))?;
                    return Ok(false);
                }
            }
            Ok(true)
        })?,
        Uuid => call.all_rows(rows, sel).strings(|_, out| {
            uuid(out);
            Ok(true)
        })?,
        IsUuid => r.fixed(|i| Ok(Some(parse_uuid(call.bytes(0, i)).is_some() as i64)))?,
        UuidToBin => r.strings(|i, out| {
            let s = call.bytes(0, i);
            let Some(b) = parse_uuid(s) else {
                return Err(Error::wrong_value_for_type("string", String::from_utf8_lossy(s), "uuid_to_bin"));
            };
            let swap = call.len() > 1 && call.int(1, i) != 0;
            out.extend_from_slice(&if swap { swap_in(b) } else { b });
            Ok(true)
        })?,
        BinToUuid => r.strings(|i, out| {
            let s = call.bytes(0, i);
            let Ok(b) = <[u8; 16]>::try_from(s) else {
                return Err(Error::wrong_value_for_type("string", String::from_utf8_lossy(s), "bin_to_uuid"));
            };
            let b = if call.len() > 1 && call.int(1, i) != 0 { swap_out(b) } else { b };
            for (k, x) in b.iter().enumerate() {
                if matches!(k, 4 | 6 | 8 | 10) {
                    out.push(b'-');
                }
                out.extend_from_slice(format!("{x:02x}").as_bytes());
            }
            Ok(true)
        })?,
        RandomBytes => r.strings(|i, out| {
            let n = call.int(0, i);
            if !(1..=1024).contains(&n) {
                return Err(Error::data_out_of_range("length", "random_bytes"));
            }
            let start = out.len();
            out.resize(start + n as usize, 0);
            getrandom::fill(&mut out[start..]).map_err(Error::internal)?;
            Ok(true)
        })?,
        Database => call.all_rows(rows, sel).strings(|_, out| match &session.database {
            Some(d) => text(d, out),
            None => Ok(false),
        })?,
        User | CurrentUser => r.strings(|_, out| text(&session.user, out))?,
        Version => r.strings(|_, out| text(session.version, out))?,
        ConnectionId => r.fixed(|_| Ok(Some(session.connection_id)))?,
        LastInsertId => r.fixed(|_| Ok(Some(session.last_insert_id)))?,
        RowCount => r.fixed(|_| Ok(Some(session.row_count)))?,
        FoundRows => r.fixed(|_| Ok(Some(session.found_rows as i64)))?,
        Sleep => {
            let nulls = (0..rows).any(|i| call.is_null(0, i));
            if nulls {
                return Err(Error::wrong_arguments("sleep."));
            }
            r.fixed(|i| {
                let s = call.double(0, i);
                if !(0.0..).contains(&s) {
                    return Err(Error::wrong_arguments("sleep."));
                }
                sleep(call, s)?;
                Ok(Some(0i64))
            })?
        }
        GetLock | ReleaseLock | IsFreeLock | IsUsedLock | ReleaseAllLocks => {
            super::locks::eval(call, call.all_rows(rows, sel))?
        }
        Benchmark => {
            call.all_rows(rows, sel).fixed(|i| Ok((!call.is_null(0, i) && call.int(0, i) >= 0).then_some(0i64)))?
        }
        InetAton => r.fixed(|i| {
            let s = call.bytes(0, i);
            let v = inet_aton(s);
            if v.is_none() {
                let shown = String::from_utf8_lossy(s).into_owned();
                call.fault(Error::wrong_value_for_type("string", format_args!("'{shown}'"), "inet_aton"))?;
            }
            Ok(v)
        })?,
        InetNtoa => r.strings(|i, out| match u32::try_from(call.int(0, i)) {
            Ok(v) => text(&Ipv4Addr::from(v).to_string(), out),
            Err(_) => Ok(false),
        })?,
        Inet6Aton => r.strings(|i, out| {
            let s = String::from_utf8_lossy(call.bytes(0, i));
            if let Ok(v4) = s.parse::<Ipv4Addr>() {
                out.extend_from_slice(&v4.octets());
            } else if let Ok(v6) = s.parse::<Ipv6Addr>() {
                out.extend_from_slice(&v6.octets());
            } else {
                call.fault(Error::wrong_value_for_type("string", format_args!("'{s}'"), "inet6_aton"))?;
                return Ok(false);
            }
            Ok(true)
        })?,
        Inet6Ntoa => r.strings(|i, out| {
            let b = call.bytes(0, i);
            if let Ok(v4) = <[u8; 4]>::try_from(b) {
                text(&Ipv4Addr::from(v4).to_string(), out)
            } else if let Ok(v6) = <[u8; 16]>::try_from(b) {
                text(&Ipv6Addr::from(v6).to_string(), out)
            } else {
                Ok(false)
            }
        })?,
        IsIpv4 => r.fixed(|i| Ok(Some(parses::<Ipv4Addr>(call.bytes(0, i)))))?,
        IsIpv6 => r.fixed(|i| Ok(Some(parses::<Ipv6Addr>(call.bytes(0, i)))))?,
        _ => return Ok(None),
    }))
}

fn parses<T: std::str::FromStr>(s: &[u8]) -> i8 {
    std::str::from_utf8(s).is_ok_and(|s| s.parse::<T>().is_ok()) as i8
}
