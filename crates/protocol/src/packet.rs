//! Frames: how packets lie in the byte stream.
//!
//! ```text
//! frame   | length: 3 | sequence: 1 | payload: length bytes |
//! packet  a payload of 2^24 - 1 bytes says "to be continued"; the last frame is shorter, perhaps empty
//! ```
//!
//! [`PacketReader`] is one growable buffer per connection: bytes are received into its free tail and packets handed out
//! as slices of it, so that an ordinary query is never copied. A packet of several frames is joined in place: the
//! header between two frames is closed up when it arrives. The buffer grows with what was received, never with what a
//! header promises.
//!
//! [`PacketWriter`] appends whole answers to one buffer; the owner of the socket empties it when it is long enough, or
//! at the end of the answer. Most queries therefore cost one read and one write.

use std::ops::Range;

use types::{Error, Result};

/// The most payload that one frame carries.
pub const FRAME_PAYLOAD_MAX: usize = 0xff_ffff;

const HEADER_LEN: usize = 4;
/// A reader's or writer's buffer starts with this size and shrinks back to it.
const BUFFER_MIN: usize = 8 << 10;
/// A buffer that grew beyond this is given back once it is empty.
const BUFFER_KEPT_MAX: usize = 1 << 20;
/// While a long packet arrives, the free tail is at least this, so that it takes few reads.
const BULK_READ: usize = 256 << 10;

/// Takes packets out of a byte stream.
#[derive(Debug)]
pub struct PacketReader {
    /// Bytes `start..end` are received and not yet consumed; `end..` is free.
    buf: Vec<u8>,
    start: usize,
    end: usize,
    /// Payload of the packet that begins at `start`, as far as frame headers have told.
    packet_len: usize,
    frame: Frame,
    packet_len_max: usize,
    /// The free tail while a long packet arrives.
    bulk_read: usize,
    seq_checked: bool,
    /// Where the payload of the last packet lies, until the buffer is received into again.
    last: Range<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Frame {
    /// The next bytes are the header of a new packet.
    First,
    /// The payload of a frame is arriving.
    Payload { last: bool },
    /// The next bytes are the header of a further frame of the same packet.
    Further,
}

impl PacketReader {
    pub fn new(packet_len_max: usize) -> PacketReader {
        PacketReader {
            buf: vec![0; BUFFER_MIN],
            start: 0,
            end: 0,
            packet_len: 0,
            frame: Frame::First,
            packet_len_max,
            bulk_read: BULK_READ,
            seq_checked: true,
            last: 0..0,
        }
    }

    /// Inside compressed frames, which have sequence numbers of their own, clients number the inner frames as they
    /// like.
    pub fn ignore_seq(&mut self) {
        self.seq_checked = false;
    }

    /// Whether a header's word for how long its packet is takes memory. Without it that grows with what has come: for
    /// clients of whom nothing is known.
    pub fn believe_headers(&mut self, on: bool) {
        self.bulk_read = if on { BULK_READ } else { BUFFER_MIN / 2 };
    }

    /// `max_allowed_packet`: longer packets are refused with error 1153.
    pub fn set_packet_len_max(&mut self, packet_len_max: usize) {
        self.packet_len_max = packet_len_max;
    }

    /// Nothing of a next packet has arrived yet.
    pub fn is_idle(&self) -> bool {
        self.start == self.end && self.frame == Frame::First
    }

    /// Received bytes that no packet has been made of.
    pub fn buffered(&self) -> &[u8] {
        &self.buf[self.start..self.end]
    }

    /// The free tail, to receive into. Never empty.
    pub fn spare(&mut self) -> &mut [u8] {
        let missing = match self.frame {
            Frame::Payload { .. } => self.packet_len.saturating_sub(self.end - self.start),
            _ => 0,
        };
        let wanted = missing.clamp(BUFFER_MIN / 2, self.bulk_read);
        self.reserve(wanted);
        &mut self.buf[self.end..]
    }

    /// `len` bytes were received into [`PacketReader::spare`].
    pub fn filled(&mut self, len: usize) {
        assert!(len <= self.buf.len() - self.end, "more bytes received than there was room for");
        self.end += len;
    }

    /// Exactly `len` free bytes, filled by `fill`; for a decompressor that knows how much it will write.
    pub(crate) fn fill_exact(&mut self, len: usize, fill: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()> {
        self.reserve(len);
        fill(&mut self.buf[self.end..self.end + len])?;
        self.end += len;
        Ok(())
    }

    fn reserve(&mut self, wanted: usize) {
        self.last = 0..0;
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        }
        if self.buf.len() - self.end >= wanted {
            return;
        }
        if self.start > 0 {
            self.buf.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let needed = self.end + wanted;
        if self.buf.len() < needed {
            let doubled = self.buf.len().saturating_mul(2).min(self.packet_len_max.saturating_add(BULK_READ));
            self.buf.resize(needed.max(doubled), 0);
        }
    }

    /// A reader without memory, to stand where there is none.
    pub fn unused() -> PacketReader {
        PacketReader {
            buf: Vec::new(),
            start: 0,
            end: 0,
            packet_len: 0,
            frame: Frame::First,
            packet_len_max: 0,
            bulk_read: BULK_READ,
            seq_checked: true,
            last: 0..0,
        }
    }

    /// Gives all memory back while nothing is expected for long.
    pub fn release(&mut self) {
        if self.is_idle() {
            self.buf = Vec::new();
            (self.start, self.end, self.last) = (0, 0, 0..0);
        }
    }

    /// Bytes that the buffer takes.
    pub fn held_bytes(&self) -> usize {
        self.buf.len()
    }

    /// Gives memory back after a long packet.
    pub fn shrink(&mut self) {
        if self.start == self.end && self.buf.len() > BUFFER_KEPT_MAX {
            self.buf = vec![0; BUFFER_MIN];
            self.start = 0;
            self.end = 0;
            self.last = 0..0;
        }
    }

    /// Completes the next packet, which [`PacketReader::packet`] then gives; false when more bytes are needed. `seq` is
    /// the sequence number that its first frame must bear, and afterwards the one that follows its last frame. After an
    /// error the stream is lost.
    pub fn advance(&mut self, seq: &mut u8) -> Result<bool> {
        loop {
            let received = self.end - self.start;
            match self.frame {
                Frame::Payload { .. } if received < self.packet_len => return Ok(false),
                Frame::Payload { last: false } => self.frame = Frame::Further,
                Frame::Payload { last: true } => {
                    self.last = self.start..self.start + self.packet_len;
                    self.start = self.last.end;
                    self.packet_len = 0;
                    self.frame = Frame::First;
                    return Ok(true);
                }
                Frame::First | Frame::Further => {
                    if received - self.packet_len < HEADER_LEN {
                        return Ok(false);
                    }
                    self.open_frame(seq)?;
                }
            }
        }
    }

    /// The payload that [`PacketReader::advance`] completed; empty once more bytes have been received.
    pub fn packet(&self) -> &[u8] {
        &self.buf[self.last.clone()]
    }

    /// [`PacketReader::advance`] and [`PacketReader::packet`] in one.
    pub fn next(&mut self, seq: &mut u8) -> Result<Option<&[u8]>> {
        Ok(if self.advance(seq)? { Some(self.packet()) } else { None })
    }

    /// Takes received bytes back that no packet has been made of, for whom the stream goes on differently: TLS after
    /// the request for it.
    pub fn take_buffered(&mut self) -> Vec<u8> {
        let bytes = self.buffered().to_vec();
        self.start = self.end;
        bytes
    }

    /// Receives bytes that came another way.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.reserve(bytes.len());
        self.buf[self.end..self.end + bytes.len()].copy_from_slice(bytes);
        self.end += bytes.len();
    }

    /// Reads the header that lies behind the payload so far, and closes the gap that it leaves.
    fn open_frame(&mut self, seq: &mut u8) -> Result<()> {
        let at = self.start + self.packet_len;
        let header = &self.buf[at..at + HEADER_LEN];
        let len = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
        if header[3] != *seq && self.seq_checked {
            return Err(Error::net_packets_out_of_order());
        }
        *seq = seq.wrapping_add(1);
        if self.packet_len + len > self.packet_len_max {
            return Err(Error::net_packet_too_large());
        }
        if self.frame == Frame::First {
            self.start += HEADER_LEN;
        } else {
            self.buf.copy_within(at + HEADER_LEN..self.end, at);
            self.end -= HEADER_LEN;
        }
        self.packet_len += len;
        self.frame = Frame::Payload { last: len < FRAME_PAYLOAD_MAX };
        Ok(())
    }
}

/// Collects packets that are to be sent.
#[derive(Debug)]
pub struct PacketWriter {
    /// Bytes `sent..` are still to be sent.
    buf: Vec<u8>,
    sent: usize,
    /// Where the header of the packet begins that is being written.
    open: Option<usize>,
    seq: u8,
}

impl Default for PacketWriter {
    fn default() -> PacketWriter {
        PacketWriter::new()
    }
}

impl PacketWriter {
    pub fn new() -> PacketWriter {
        PacketWriter { buf: Vec::with_capacity(BUFFER_MIN), sent: 0, open: None, seq: 0 }
    }

    /// The sequence number of the next frame.
    pub fn seq(&self) -> u8 {
        self.seq
    }

    pub fn set_seq(&mut self, seq: u8) {
        self.seq = seq;
    }

    /// Opens a packet; its payload is appended to the returned buffer, whose earlier bytes are not to be touched.
    pub fn begin(&mut self) -> &mut Vec<u8> {
        assert!(self.open.is_none(), "a packet is still open");
        self.open = Some(self.buf.len());
        self.buf.extend_from_slice(&[0; HEADER_LEN]);
        &mut self.buf
    }

    /// The payload of the open packet is complete.
    pub fn finish(&mut self) {
        let header = self.open.take().expect("begin() opened a packet");
        let len = self.buf.len() - header - HEADER_LEN;
        if len < FRAME_PAYLOAD_MAX {
            self.write_header(header, len);
        } else {
            self.split(header, len);
        }
    }

    /// Takes back what was written since [`PacketWriter::begin`].
    pub fn abandon(&mut self) {
        if let Some(header) = self.open.take() {
            self.buf.truncate(header);
        }
    }

    /// Writes one packet.
    pub fn packet(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(self.begin());
        self.finish();
    }

    /// Copies packets that another writer has made, each of one frame, and numbers them anew.
    pub fn copy_packets(&mut self, packets: &[u8]) {
        assert!(self.open.is_none(), "a packet is still open");
        let mut at = self.buf.len();
        self.buf.extend_from_slice(packets);
        while at < self.buf.len() {
            let len = u32::from_le_bytes([self.buf[at], self.buf[at + 1], self.buf[at + 2], 0]) as usize;
            self.write_header(at, len);
            at += HEADER_LEN + len;
        }
    }

    fn write_header(&mut self, at: usize, len: usize) {
        self.buf[at..at + 3].copy_from_slice(&(len as u32).to_le_bytes()[..3]);
        self.buf[at + 3] = self.seq;
        self.seq = self.seq.wrapping_add(1);
    }

    /// Cuts a payload that does not fit one frame: opens a gap for each further header, last one first.
    #[cold]
    fn split(&mut self, header: usize, len: usize) {
        let further = len / FRAME_PAYLOAD_MAX;
        let payload = header + HEADER_LEN;
        self.buf.reserve_exact(further * HEADER_LEN);
        self.buf.resize(self.buf.len() + further * HEADER_LEN, 0);
        for frame in (1..=further).rev() {
            let from = payload + frame * FRAME_PAYLOAD_MAX;
            let frame_len = (len - frame * FRAME_PAYLOAD_MAX).min(FRAME_PAYLOAD_MAX);
            self.buf.copy_within(from..from + frame_len, from + frame * HEADER_LEN);
        }
        for frame in 0..=further {
            let frame_len = (len - frame * FRAME_PAYLOAD_MAX).min(FRAME_PAYLOAD_MAX);
            self.write_header(header + frame * (FRAME_PAYLOAD_MAX + HEADER_LEN), frame_len);
        }
    }

    /// Gives all memory back while there is nothing to send for long.
    pub fn release(&mut self) {
        if self.buf.is_empty() {
            self.buf = Vec::new();
        }
    }

    /// Whole packets that are still to be sent.
    pub fn unsent(&self) -> &[u8] {
        &self.buf[self.sent..self.open.unwrap_or(self.buf.len())]
    }

    /// `len` bytes of [`PacketWriter::unsent`] were sent.
    pub fn advance(&mut self, len: usize) {
        assert!(len <= self.unsent().len(), "more bytes sent than there were");
        self.sent += len;
        if self.sent == self.buf.len() {
            self.buf.clear();
            self.sent = 0;
            if self.buf.capacity() > BUFFER_KEPT_MAX {
                self.buf = Vec::with_capacity(BUFFER_MIN);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use types::ErrorCode;

    fn receive(reader: &mut PacketReader, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let spare = reader.spare();
            let len = spare.len().min(bytes.len());
            spare[..len].copy_from_slice(&bytes[..len]);
            reader.filled(len);
            bytes = &bytes[len..];
        }
    }

    fn written(writer: &mut PacketWriter) -> Vec<u8> {
        let bytes = writer.unsent().to_vec();
        writer.advance(bytes.len());
        bytes
    }

    #[test]
    fn long_packets_are_split_and_joined() {
        for len in [FRAME_PAYLOAD_MAX - 1, FRAME_PAYLOAD_MAX, FRAME_PAYLOAD_MAX + 1, 2 * FRAME_PAYLOAD_MAX, 40_000_000]
        {
            let payload: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
            let mut writer = PacketWriter::new();
            writer.packet(|out| out.push(7));
            writer.packet(|out| out.extend_from_slice(&payload));
            writer.packet(|out| out.push(9));
            let bytes = written(&mut writer);
            assert_eq!(bytes.len(), 5 + len + 4 * (1 + len / FRAME_PAYLOAD_MAX) + 5);

            let mut reader = PacketReader::new(64 << 20);
            let mut seq = 0;
            let mut got: Vec<Vec<u8>> = Vec::new();
            for chunk in bytes.chunks(1_000_003) {
                receive(&mut reader, chunk);
                while let Some(packet) = reader.next(&mut seq).unwrap() {
                    got.push(packet.to_vec());
                }
            }
            assert_eq!(got.len(), 3);
            assert!(got[0] == [7] && got[1] == payload && got[2] == [9], "{len}");
            assert!(reader.is_idle());
            reader.shrink();
            assert_eq!(reader.buf.len(), BUFFER_MIN);
        }
    }

    #[test]
    fn a_promised_length_allocates_nothing() {
        let mut reader = PacketReader::new(64 << 20);
        receive(&mut reader, &[0xfe, 0xff, 0xff, 0, 1, 2, 3]);
        assert!(reader.next(&mut 0).unwrap().is_none());
        reader.spare();
        assert!(reader.buf.len() <= BULK_READ + BUFFER_MIN);
        assert!(!reader.is_idle());
    }

    #[test]
    fn limits_and_order() {
        let mut reader = PacketReader::new(10);
        receive(&mut reader, &[11, 0, 0, 0]);
        assert_eq!(reader.next(&mut 0).unwrap_err().code(), ErrorCode::NET_PACKET_TOO_LARGE);
        let mut reader = PacketReader::new(10);
        receive(&mut reader, &[1, 0, 0, 1, 0]);
        assert_eq!(reader.next(&mut 0).unwrap_err().code(), ErrorCode::NET_PACKETS_OUT_OF_ORDER);
    }

    #[test]
    fn only_whole_packets_are_sent() {
        let mut writer = PacketWriter::new();
        writer.packet(|out| out.push(1));
        writer.begin().push(2);
        assert_eq!(writer.unsent(), [1, 0, 0, 0, 1]);
        writer.advance(5);
        writer.abandon();
        assert!(writer.unsent().is_empty());
        writer.packet(|out| out.push(3));
        assert_eq!(writer.unsent(), [1, 0, 0, 1, 3]);
    }

    proptest! {
        #[test]
        fn packets_survive_any_fragmentation(
            packets in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..3000), 0..20),
            cuts in proptest::collection::vec(1usize..5000, 1..50),
        ) {
            let mut writer = PacketWriter::new();
            for packet in &packets {
                writer.packet(|out| out.extend_from_slice(packet));
            }
            let bytes = written(&mut writer);
            let mut reader = PacketReader::new(1 << 20);
            let (mut rest, mut seq, mut got) = (&bytes[..], 0, Vec::new());
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (head, tail) = rest.split_at(rest.len().min(*cut));
                rest = tail;
                receive(&mut reader, head);
                while let Some(packet) = reader.next(&mut seq).unwrap() {
                    got.push(packet.to_vec());
                }
            }
            prop_assert_eq!(got, packets);
        }

        #[test]
        fn any_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            let mut reader = PacketReader::new(1 << 10);
            receive(&mut reader, &bytes);
            let mut seq = bytes.get(3).copied().unwrap_or(0);
            while let Ok(Some(_)) = reader.next(&mut seq) {}
        }
    }

    #[test]
    fn a_header_alone_takes_no_memory() {
        let mut reader = PacketReader::new(256 << 10);
        reader.believe_headers(false);
        let mut seq = 0;
        reader.feed(&[0, 0, 3, 0, 1, 2, 3]);
        assert!(!reader.advance(&mut seq).unwrap());
        reader.spare();
        assert!(reader.held_bytes() <= 2 * BUFFER_MIN, "{}", reader.held_bytes());
        while !reader.advance(&mut seq).unwrap() {
            let spare = reader.spare();
            let len = spare.len().min(1000);
            spare[..len].fill(7);
            reader.filled(len);
        }
        assert_eq!(reader.packet().len(), 3 << 16);
        assert_eq!(reader.packet()[..4], [1, 2, 3, 7]);
    }
}
