//! Frames and segment headers.
//!
//! ```text
//!   segment = | header, padded to 512 bytes | frame | frame | ... | zeros, up to a multiple of 4096 bytes |
//!
//!   header    offset  0  magic                       8   "NLREDO02"
//!                     8  segment number              8
//!                    16  lsn of its first frame      8
//!                    24  stamp                       8   random, never 0
//!                    32  stamp of the one before     8   0: there is none, or it has no stamp
//!                    40  crc                         4   CRC32C of the bytes before it
//!                    44  zeros                     468
//!
//!   frame     offset  0  magic                       4   "NLrf"
//!                     4  crc                         4
//!                     8  length of the body          4
//!                    12  kind                        4
//!                    16  timestamp                   8
//!                    24  synced                      8
//!                    32  body
//! ```
//! All numbers are little-endian. A frame's checksum (CRC32C) covers the body, then the header's fields after it, then
//! the segment's stamp: a frame of any other segment, or left in a file by an earlier life of it, is none. `synced` is
//! the lsn up to which the log was on stable storage when the frame was written: a bad frame below the `synced` of a
//! good one is damage, a bad one above it all is a torn tail.
//!
//! Stamps name segments: the manifest has that of the first one to be replayed, each header that of the segment before,
//! [`super::end`] that of the newest. So a segment of another database, or another one of the same number, is found
//! out.
//!
//! Folders of format 1 (see [`crate::checkpoint::manifest`]) have segments without stamps: magic "NLREDO01", number and
//! first lsn as above, crc at offset 24; the segment's number is in a frame's checksum where the stamp is now.

use disk::codec::{Get, Put};

const SEGMENT_MAGIC: [u8; 8] = *b"NLREDO02";
/// Of a segment without a stamp.
const SEGMENT_MAGIC_1: [u8; 8] = *b"NLREDO01";
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

fn checksum(body_crc: u32, fields: &[u8], seal: u64) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c_append(body_crc, fields), &seal.to_le_bytes())
}

/// Appends a frame. `body_crc`: CRC32C of the body; `seal`: see [`SegmentHeader::seal`].
pub fn put(header: Header, body: &[u8], body_crc: u32, seal: u64, out: &mut Vec<u8>) {
    let from = out.len();
    out.extend_from_slice(&FRAME_MAGIC);
    out.put_u32(0);
    out.put_u32(header.len);
    out.put_u32(header.kind as u32);
    out.put_u64(header.ts);
    out.put_u64(header.synced);
    debug_assert_eq!(out.len() - from, FRAME_HEADER_BYTES);
    let crc = checksum(body_crc, &out[from + 8..], seal);
    out[from + 4..from + 8].copy_from_slice(&crc.to_le_bytes());
    out.extend_from_slice(body);
}

/// The frame at the front of `bytes`, if there is a whole one.
pub fn get(bytes: &[u8], seal: u64) -> Option<(Header, &[u8])> {
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
    let good = checksum(crc32c::crc32c(body), fields, seal) == crc;
    good.then_some((Header { kind, len, ts, synced }, body))
}

/// A segment's header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SegmentHeader {
    pub number: u64,
    pub start_lsn: u64,
    /// 0: a segment of format 1.
    pub stamp: u64,
    /// The stamp of the segment before it; 0 if that has none or none is needed.
    pub previous: u64,
}

/// A stamp that no other segment or file has.
pub fn new_stamp() -> u64 {
    fastrand::u64(1..)
}

impl SegmentHeader {
    /// What the checksums of its frames begin with.
    pub fn seal(&self) -> u64 {
        if self.stamp == 0 { self.number } else { self.stamp }
    }

    pub fn to_bytes(self) -> Vec<u8> {
        let mut out = if self.stamp == 0 { SEGMENT_MAGIC_1 } else { SEGMENT_MAGIC }.to_vec();
        out.put_u64(self.number);
        out.put_u64(self.start_lsn);
        if self.stamp != 0 {
            out.put_u64(self.stamp);
            out.put_u64(self.previous);
        }
        out.put_u32(crc32c::crc32c(&out));
        out.resize(SEGMENT_HEADER_BYTES as usize, 0);
        out
    }

    /// `None`: the bytes are no header, or not all of one.
    pub fn from_bytes(bytes: &[u8]) -> Option<SegmentHeader> {
        let mut get = Get(bytes);
        let magic: [u8; 8] = get.array()?;
        let (number, start_lsn) = (get.u64()?, get.u64()?);
        let (stamp, previous) = match magic {
            SEGMENT_MAGIC_1 => (0, 0),
            SEGMENT_MAGIC => (get.u64()?, get.u64()?),
            _ => return None,
        };
        let covered = &bytes[..bytes.len() - get.0.len()];
        let whole = get.u32()? == crc32c::crc32c(covered) && (stamp != 0 || magic == SEGMENT_MAGIC_1);
        (whole && (stamp == 0 || bytes.len() as u64 >= SEGMENT_HEADER_BYTES)).then_some(SegmentHeader {
            number,
            start_lsn,
            stamp,
            previous,
        })
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
        for (stamp, previous) in [(0, 0), (7, 6), (u64::MAX, 0)] {
            let head = SegmentHeader { number: 3, start_lsn: 1 << 40, stamp, previous };
            assert_eq!(SegmentHeader::from_bytes(&head.to_bytes()), Some(head));
            assert_eq!(SegmentHeader::from_bytes(&head.to_bytes()[..27]), None);
            for bit in 0..28 * 8 {
                let mut bad = head.to_bytes();
                bad[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(SegmentHeader::from_bytes(&bad), None, "bit {bit}");
            }
        }
    }
}
