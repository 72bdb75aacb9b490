//! Compressed frames: a second framing around the first, agreed on by `COMPRESS` and used once login has succeeded.
//!
//! ```text
//! | length: 3 | sequence: 1 | inflated length: 3 | body: length bytes |
//! ```
//!
//! The body is a zlib stream of `inflated length` bytes, or plain when that field is zero, as it is where deflating
//! does not pay. What comes out is a run of ordinary frames, which may begin and end anywhere. The sequence numbers of
//! the compressed frames are checked; those of the frames inside are not, as MySQL's clients do not agree on them.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use types::{Error, Result};

use crate::packet::{FRAME_PAYLOAD_MAX, PacketReader};

const HEADER_LEN: usize = 7;
/// Shorter runs are sent as they are; the same threshold as MySQL's.
const DEFLATE_MIN: usize = 50;
/// Deflate cannot shrink more than about 1032 times; a larger claim is a lie, and not worth the memory.
const INFLATE_FACTOR_MAX: usize = 1040;
const BUFFER_MIN: usize = 8 << 10;
const BUFFER_KEPT_MAX: usize = 1 << 20;

/// Receives compressed frames and inflates them into a [`PacketReader`].
pub struct CompressedReader {
    buf: Vec<u8>,
    start: usize,
    end: usize,
    inflate: Decompress,
}

impl Default for CompressedReader {
    fn default() -> CompressedReader {
        CompressedReader::new()
    }
}

impl CompressedReader {
    pub fn new() -> CompressedReader {
        CompressedReader { buf: vec![0; BUFFER_MIN], start: 0, end: 0, inflate: Decompress::new(true) }
    }

    /// Nothing of a next frame has arrived yet.
    pub fn is_idle(&self) -> bool {
        self.start == self.end
    }

    /// Free room to receive into. Never empty.
    pub fn spare(&mut self) -> &mut [u8] {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
            if self.buf.len() > BUFFER_KEPT_MAX {
                self.buf = vec![0; BUFFER_MIN];
            }
        } else if self.start > 0 && self.buf.len() - self.end < BUFFER_MIN / 2 {
            self.buf.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.buf.len() - self.end < BUFFER_MIN / 2 {
            self.buf.resize(self.buf.len() * 2, 0);
        }
        &mut self.buf[self.end..]
    }

    /// `len` bytes were received into [`CompressedReader::spare`].
    pub fn filled(&mut self, len: usize) {
        assert!(len <= self.buf.len() - self.end, "more bytes received than there was room for");
        self.end += len;
    }

    /// Moves one compressed frame into `packets`; false when it has not arrived completely. `seq` as in
    /// [`PacketReader::next`].
    pub fn next(&mut self, seq: &mut u8, packets: &mut PacketReader) -> Result<bool> {
        let received = &self.buf[self.start..self.end];
        let Some((header, body)) = received.split_first_chunk::<HEADER_LEN>() else { return Ok(false) };
        let len = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
        let inflated_len = u32::from_le_bytes([header[4], header[5], header[6], 0]) as usize;
        if header[3] != *seq {
            return Err(Error::net_packets_out_of_order());
        }
        let Some(body) = body.get(..len) else { return Ok(false) };
        *seq = seq.wrapping_add(1);
        if inflated_len == 0 {
            packets.fill_exact(len, |to| {
                to.copy_from_slice(body);
                Ok(())
            })?;
        } else if inflated_len > len * INFLATE_FACTOR_MAX {
            return Err(Error::net_uncompress());
        } else {
            let inflate = &mut self.inflate;
            packets.fill_exact(inflated_len, |to| {
                inflate.reset(true);
                match inflate.decompress(body, to, FlushDecompress::Finish) {
                    Ok(Status::StreamEnd) if inflate.total_out() == inflated_len as u64 => Ok(()),
                    _ => Err(Error::net_uncompress()),
                }
            })?;
        }
        self.start += HEADER_LEN + len;
        Ok(true)
    }
}

/// Deflates runs of frames into compressed frames.
pub struct CompressedWriter {
    deflate: Compress,
    buf: Vec<u8>,
    sent: usize,
}

impl Default for CompressedWriter {
    fn default() -> CompressedWriter {
        CompressedWriter::new()
    }
}

impl CompressedWriter {
    pub fn new() -> CompressedWriter {
        CompressedWriter { deflate: Compress::new(Compression::default(), true), buf: Vec::new(), sent: 0 }
    }

    /// Appends `plain` as compressed frames.
    pub fn write(&mut self, plain: &[u8], seq: &mut u8) {
        for run in plain.chunks(FRAME_PAYLOAD_MAX) {
            let header = self.buf.len();
            self.buf.extend_from_slice(&[0; HEADER_LEN]);
            let deflated = run.len() >= DEFLATE_MIN && self.deflate_run(run);
            if !deflated {
                self.buf.truncate(header + HEADER_LEN);
                self.buf.extend_from_slice(run);
            }
            let len = self.buf.len() - header - HEADER_LEN;
            let inflated_len = if deflated { run.len() } else { 0 };
            self.buf[header..header + 3].copy_from_slice(&(len as u32).to_le_bytes()[..3]);
            self.buf[header + 3] = *seq;
            self.buf[header + 4..header + 7].copy_from_slice(&(inflated_len as u32).to_le_bytes()[..3]);
            *seq = seq.wrapping_add(1);
        }
    }

    /// Appends `run` deflated, if that makes it shorter.
    fn deflate_run(&mut self, run: &[u8]) -> bool {
        self.deflate.reset();
        self.buf.reserve(run.len());
        let room = self.buf.capacity() - self.buf.len();
        let before = self.buf.len();
        debug_assert!(room >= run.len());
        let status = self.deflate.compress_vec(run, &mut self.buf, FlushCompress::Finish);
        matches!(status, Ok(Status::StreamEnd)) && self.buf.len() - before < run.len()
    }

    pub fn unsent(&self) -> &[u8] {
        &self.buf[self.sent..]
    }

    /// `len` bytes of [`CompressedWriter::unsent`] were sent.
    pub fn advance(&mut self, len: usize) {
        assert!(len <= self.unsent().len(), "more bytes sent than there were");
        self.sent += len;
        if self.sent == self.buf.len() {
            self.buf.clear();
            self.sent = 0;
            if self.buf.capacity() > BUFFER_KEPT_MAX {
                self.buf = Vec::new();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use types::ErrorCode;

    fn feed(reader: &mut CompressedReader, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let spare = reader.spare();
            let len = spare.len().min(bytes.len());
            spare[..len].copy_from_slice(&bytes[..len]);
            reader.filled(len);
            bytes = &bytes[len..];
        }
    }

    fn round_trip(plain: &[u8], cut: usize) -> Vec<u8> {
        let mut writer = CompressedWriter::new();
        let mut seq = 250;
        writer.write(plain, &mut seq);
        let wire = writer.unsent().to_vec();
        writer.advance(wire.len());
        let (mut reader, mut packets, mut seq) = (CompressedReader::new(), PacketReader::new(64 << 20), 250);
        for piece in wire.chunks(cut) {
            feed(&mut reader, piece);
            while reader.next(&mut seq, &mut packets).unwrap() {}
        }
        assert!(reader.is_idle());
        packets.buffered().to_vec()
    }

    #[test]
    fn long_runs() {
        let plain: Vec<u8> = (0..20_000_000u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
        assert!(round_trip(&plain, 777_777) == plain);
        assert_eq!(round_trip(&plain[..49], 10), &plain[..49]);
    }

    #[test]
    fn lies_about_lengths() {
        let mut writer = CompressedWriter::new();
        writer.write(&[7; 500], &mut 0);
        let wire = writer.unsent().to_vec();
        for inflated_len in [1u8, 200, 255] {
            let mut wire = wire.clone();
            wire[4] = inflated_len;
            let (mut reader, mut packets) = (CompressedReader::new(), PacketReader::new(1000));
            feed(&mut reader, &wire);
            assert_eq!(reader.next(&mut 0, &mut packets).unwrap_err().code(), ErrorCode::NET_UNCOMPRESS);
        }
    }

    proptest! {
        #[test]
        fn any_run_comes_back(plain in proptest::collection::vec(any::<u8>(), 0..3000), cut in 1usize..500) {
            prop_assert_eq!(round_trip(&plain, cut), plain);
        }

        #[test]
        fn any_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), small: bool) {
            let mut bytes = bytes;
            if small && bytes.len() > 7 {
                (bytes[1], bytes[2], bytes[6]) = (0, 0, 0);
            }
            let (mut reader, mut packets) = (CompressedReader::new(), PacketReader::new(1000));
            feed(&mut reader, &bytes);
            let mut seq = bytes.get(3).copied().unwrap_or(0);
            while let Ok(true) = reader.next(&mut seq, &mut packets) {}
        }
    }
}
