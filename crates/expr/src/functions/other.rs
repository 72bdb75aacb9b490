//! Session facts, digests, UUIDs, and what else there is.

use super::Function;
use super::eval::Call;
use crate::eval::assemble::assemble;
use crate::eval::strbuf::StrBuf;
use crate::kernels;
use crate::kernels::text::shown;
use std::time::{Duration, Instant};
use types::{Error, Result};
use vector::{Chunk, Selection, Vector};

fn hex_lower(bytes: &[u8], out: &mut StrBuf<'_>) {
    for b in bytes {
        out.extend_from_slice(format!("{b:02x}").as_bytes());
    }
}

/// Bytes that are digested between two looks at whether to stop.
const DIGESTED_BYTES: usize = 1 << 20;

/// The digest of argument 0, in hexadecimal digits.
fn digest<D: sha2::Digest>(call: &Call, i: usize, out: &mut StrBuf<'_>) -> Result<()> {
    let mut digest = D::new();
    for piece in call.bytes(0, i).chunks(DIGESTED_BYTES) {
        call.ctx.check_killed()?;
        digest.update(piece);
    }
    hex_lower(&digest.finalize(), out);
    Ok(())
}

/// Version 1: a timestamp, a clock sequence and a node, the latter two random.
fn uuid(out: &mut StrBuf<'_>) {
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

/// Units with what one is worth, from the greatest on; all above the smallest.
type Units = [(f64, &'static str)];

const BYTES: [(f64, &str); 7] = [
    ((1u64 << 60) as f64, "EiB"),
    ((1u64 << 50) as f64, "PiB"),
    ((1u64 << 40) as f64, "TiB"),
    ((1u64 << 30) as f64, "GiB"),
    ((1u64 << 20) as f64, "MiB"),
    (1024.0, "KiB"),
    (1.0, "bytes"),
];

const PICOSECONDS: [(f64, &str); 8] =
    [(86400e12, "d"), (3600e12, "h"), (60e12, "min"), (1e12, "s"), (1e9, "ms"), (1e6, "us"), (1e3, "ns"), (1.0, "ps")];

/// A number in the greatest unit of which there is a whole one; as many of the smallest are padded to `width`.
fn with_unit(v: f64, units: &Units, width: usize, out: &mut StrBuf<'_>) {
    let Some(&(worth, unit)) = units.iter().find(|u| v.abs() >= u.0).or(units.last()) else { return };
    let n = v / worth;
    let text = if worth == 1.0 {
        format!("{:width$} {unit}", n as i64)
    } else if n.abs() >= 100_000.0 {
        // C's %e: a sign and two digits.
        let (digits, exponent) = (format!("{n:.2e}"), n.abs().log10().floor() as i32);
        format!("{}e+{exponent:02} {unit}", digits.split('e').next().unwrap_or(""))
    } else {
        format!("{n:.2} {unit}")
    };
    out.extend_from_slice(text.as_bytes());
}

/// Of RANDOM_BYTES.
const RANDOM_BYTES_MAX: i64 = 1024;

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
    let text = |s: &str, out: &mut StrBuf<'_>| {
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
        Md5 => r.strings(|i, out| digest::<md5::Md5>(call, i, out).map(|()| true))?,
        Sha1 => r.strings(|i, out| digest::<sha1::Sha1>(call, i, out).map(|()| true))?,
        Sha2 => r.strings(|i, out| {
            match call.int(1, i) {
                224 => digest::<sha2::Sha224>(call, i, out)?,
                0 | 256 => digest::<sha2::Sha256>(call, i, out)?,
                384 => digest::<sha2::Sha384>(call, i, out)?,
                512 => digest::<sha2::Sha512>(call, i, out)?,
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
                return Err(Error::wrong_value_for_type("string", shown(s), "uuid_to_bin"));
            };
            let swap = call.len() > 1 && call.int(1, i) != 0;
            out.extend_from_slice(&if swap { swap_in(b) } else { b });
            Ok(true)
        })?,
        BinToUuid => r.strings(|i, out| {
            let s = call.bytes(0, i);
            let Ok(b) = <[u8; 16]>::try_from(s) else {
                return Err(Error::wrong_value_for_type("string", shown(s), "bin_to_uuid"));
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
            if !(1..=RANDOM_BYTES_MAX).contains(&n) {
                return Err(Error::data_out_of_range("length", "random_bytes"));
            }
            let mut random = [0; RANDOM_BYTES_MAX as usize];
            getrandom::fill(&mut random[..n as usize]).map_err(Error::internal)?;
            out.extend_from_slice(&random[..n as usize]);
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
        // 1210 in strict mode, else a warning and no sleep.
        Sleep => call.all_rows(rows, sel).fixed(|i| {
            let seconds = if call.is_null(0, i) { -1.0 } else { call.double(0, i) };
            if (0.0..).contains(&seconds) {
                sleep(call, seconds)?;
            } else if session.sql_mode.strict {
                return Err(Error::wrong_arguments("sleep."));
            } else {
                call.ctx.warnings.push(Error::wrong_arguments("sleep.").into_warning(types::WarningLevel::Warning));
            }
            Ok(Some(0i64))
        })?,
        GetLock | ReleaseLock | IsFreeLock | IsUsedLock | ReleaseAllLocks => {
            super::locks::eval(call, call.all_rows(rows, sel))?
        }
        Benchmark => {
            call.all_rows(rows, sel).fixed(|i| Ok((!call.is_null(0, i) && call.int(0, i) >= 0).then_some(0i64)))?
        }
        FormatBytes => r.strings(|i, out| {
            with_unit(call.double(0, i), &BYTES, 4, out);
            Ok(true)
        })?,
        FormatPicoTime => r.strings(|i, out| {
            with_unit(call.double(0, i), &PICOSECONDS, 3, out);
            Ok(true)
        })?,
        CurrentRole => r.strings(|_, out| text("NONE", out))?,
        _ => return Ok(None),
    }))
}
