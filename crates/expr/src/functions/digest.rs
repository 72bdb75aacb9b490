//! Digests, UUIDs, random bytes.

use super::Call;
use super::record::{Nulls, Ret, new, records};
use crate::eval::strbuf::StrBuf;
use crate::kernels::text::shown;
use Nulls::Maybe;
use Ret::{Bytes, Int, Text, UInt};
use types::{Error, Result};
use vector::Chunk;

records! {
    MD5 = new(&["MD5"], 1, 1, "s", Text(32), md5).makes_text();
    SHA1 = new(&["SHA1", "SHA"], 1, 1, "s", Text(40), sha1).makes_text();
    SHA2 = new(&["SHA2"], 2, 2, "si", Text(128), sha2).nulls(Maybe).may_warn().makes_text();
    CRC32 = new(&["CRC32"], 1, 1, "s", UInt, crc32);
    UUID = new(&["UUID"], 0, 0, "", Text(36), uuid).each_row().makes_text();
    IS_UUID = new(&["IS_UUID"], 1, 1, "s", Int, is_uuid);
    UUID_TO_BIN = new(&["UUID_TO_BIN"], 1, 2, "si", Bytes(16), uuid_to_bin).may_warn().makes_text();
    BIN_TO_UUID = new(&["BIN_TO_UUID"], 1, 2, "si", Text(36), bin_to_uuid).may_warn().makes_text();
    RANDOM_BYTES = new(&["RANDOM_BYTES"], 1, 1, "i", Bytes(1024), random_bytes).may_warn().each_row().makes_text();
}

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
fn write_uuid(out: &mut StrBuf<'_>) {
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

/// Of RANDOM_BYTES.
const RANDOM_BYTES_MAX: i64 = 1024;

fn md5(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| digest::<md5::Md5>(call, i, out).map(|()| true))
}

fn sha1(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| digest::<sha1::Sha1>(call, i, out).map(|()| true))
}

fn sha2(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| {
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
    })
}

fn crc32(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| Ok(Some(crc32fast::hash(call.bytes(0, i)) as u64)))
}

fn uuid(call: &Call) -> Result<Chunk> {
    call.all_rows().strings(|_, out| {
        write_uuid(out);
        Ok(true)
    })
}

fn is_uuid(call: &Call) -> Result<Chunk> {
    call.rows().fixed(|i| Ok(Some(parse_uuid(call.bytes(0, i)).is_some() as i64)))
}

fn uuid_to_bin(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| {
        let s = call.bytes(0, i);
        let Some(b) = parse_uuid(s) else {
            return Err(Error::wrong_value_for_type("string", shown(s), "uuid_to_bin"));
        };
        let swap = call.len() > 1 && call.int(1, i) != 0;
        out.extend_from_slice(&if swap { swap_in(b) } else { b });
        Ok(true)
    })
}

fn bin_to_uuid(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| {
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
    })
}

fn random_bytes(call: &Call) -> Result<Chunk> {
    call.rows().strings(|i, out| {
        let n = call.int(0, i);
        if !(1..=RANDOM_BYTES_MAX).contains(&n) {
            return Err(Error::data_out_of_range("length", "random_bytes"));
        }
        let mut random = [0; RANDOM_BYTES_MAX as usize];
        getrandom::fill(&mut random[..n as usize]).map_err(Error::internal)?;
        out.extend_from_slice(&random[..n as usize]);
        Ok(true)
    })
}
