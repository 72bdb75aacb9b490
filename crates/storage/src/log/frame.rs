//! Frames and segment headers.
//!
//! ```text
//!   segment = | header, padded to 512 bytes | frame | frame | ...
//!   header  = | magic 8 | segment number 8 | lsn of its first frame 8 | crc 4 |
//!   frame   = | magic 4 | crc 4 | length of the body 4 | kind 4 | timestamp 8 | synced 8 | body |
//! ```
//! The checksum (CRC32C) covers the body, then the header's fields after it, then the segment's number: a frame left in
//! a file by an earlier life of it is none. `synced` is the lsn up to which the log was on stable storage when the frame
//! was written: a bad frame below the `synced` of a good one is damage, a bad one above it all is a torn tail.

use crate::codec::{Get, Put};

pub const SEGMENT_MAGIC: [u8; 8] = *b"NLREDO01";
pub const SEGMENT_HEADER_BYTES: u64 = 512;
pub const FRAME_MAGIC: [u8; 4] = *b"NLrf";
pub const FRAME_HEADER_BYTES: usize = 32;

/// What a frame's body is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Row changes, the last or only piece of a transaction's.
    Commit = 1,
    /// Row changes; more of the same transaction follow at once.
    Part = 2,
    /// Changes of definitions (see [`crate::definitions`]).
    Definitions = 3,
}

impl Kind {
    fn of(v: u32) -> Option<Kind> {
        [Kind::Commit, Kind::Part, Kind::Definitions].into_iter().find(|k| *k as u32 == v)
    }
}

/// A frame's header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    pub kind: Kind,
    pub len: u32,
    pub ts: u64,
    pub synced: u64,
}

fn seal(body_crc: u32, fields: &[u8], segment: u64) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c_append(body_crc, fields), &segment.to_le_bytes())
}

/// Appends a frame. `body_crc`: CRC32C of the body.
pub fn put(header: Header, body: &[u8], body_crc: u32, segment: u64, out: &mut Vec<u8>) {
    let from = out.len();
    out.extend_from_slice(&FRAME_MAGIC);
    out.put_u32(0);
    out.put_u32(header.len);
    out.put_u32(header.kind as u32);
    out.put_u64(header.ts);
    out.put_u64(header.synced);
    debug_assert_eq!(out.len() - from, FRAME_HEADER_BYTES);
    let crc = seal(body_crc, &out[from + 8..], segment);
    out[from + 4..from + 8].copy_from_slice(&crc.to_le_bytes());
    out.extend_from_slice(body);
}

/// The frame at the front of `bytes`, if there is a whole one.
pub fn get(bytes: &[u8], segment: u64) -> Option<(Header, &[u8])> {
    let mut get = Get(bytes);
    if get.array()? != FRAME_MAGIC {
        return None;
    }
    let crc = get.u32()?;
    let fields = &get.0[..FRAME_HEADER_BYTES.checked_sub(8)?.min(get.0.len())];
    let len = get.u32()?;
    let kind = Kind::of(get.u32()?)?;
    let (ts, synced) = (get.u64()?, get.u64()?);
    let body = get.take(len as usize)?;
    let good = seal(crc32c::crc32c(body), fields, segment) == crc;
    good.then_some((Header { kind, len, ts, synced }, body))
}

/// A segment's header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SegmentHeader {
    pub number: u64,
    pub start_lsn: u64,
}

impl SegmentHeader {
    pub fn to_bytes(self) -> Vec<u8> {
        let mut out = SEGMENT_MAGIC.to_vec();
        out.put_u64(self.number);
        out.put_u64(self.start_lsn);
        out.put_u32(crc32c::crc32c(&out));
        out.resize(SEGMENT_HEADER_BYTES as usize, 0);
        out
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<SegmentHeader> {
        let mut get = Get(bytes);
        let covered = bytes.get(..24)?;
        if get.array()? != SEGMENT_MAGIC {
            return None;
        }
        let header = SegmentHeader { number: get.u64()?, start_lsn: get.u64()? };
        (get.u32()? == crc32c::crc32c(covered)).then_some(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flipped_bit_makes_no_frame() {
        let header = Header { kind: Kind::Commit, len: 5, ts: 9, synced: 77 };
        let mut bytes = Vec::new();
        put(header, b"hello", crc32c::crc32c(b"hello"), 3, &mut bytes);
        assert_eq!(get(&bytes, 3), Some((header, &b"hello"[..])));
        assert_eq!(get(&bytes, 4), None, "left over from another segment");
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(get(&bad, 3), None, "bit {bit}");
        }
        for len in 0..bytes.len() {
            assert_eq!(get(&bytes[..len], 3), None);
        }
        let head = SegmentHeader { number: 3, start_lsn: 1 << 40 };
        assert_eq!(SegmentHeader::from_bytes(&head.to_bytes()), Some(head));
        assert_eq!(SegmentHeader::from_bytes(&head.to_bytes()[..27]), None);
    }
}
