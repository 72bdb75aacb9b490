//! What is written together.
//!
//! ```text
//!   frames  [ts 7, 0..120] [ts 8, own] [ts 9, 120..300]        in the order of commits
//!   bytes   ........................................           bodies of small commits, copied side by side
//! ```
//! Under the latch of the order a small body costs a copy, and its memory goes back to the one who brought it; a large
//! one is handed over as it is.

use crate::log::frame::Kind;
use crate::log::segment::Body;
use std::ops::Range;

/// Bodies up to this length are copied into the batch; longer ones are handed over.
const COPIED_BYTES_MAX: usize = 32 << 10;
/// More than this is written at once, even under mode 0.
pub(super) const BUFFER_BYTES_MAX: usize = 4 << 20;

#[derive(Debug)]
pub(super) enum Piece {
    Copied(Range<usize>),
    Own(Vec<u8>),
}

#[derive(Debug)]
pub(super) struct Frame {
    pub(super) ts: u64,
    pub(super) kind: Kind,
    pub(super) crc: u32,
    pub(super) piece: Piece,
}

/// What is written together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) frames: Vec<Frame>,
    pub(super) bytes: Vec<u8>,
    pub(super) own_bytes: usize,
    /// The first and last timestamps in it that may not be published yet; 0: none.
    pub(super) first_ts: u64,
    pub(super) last_ts: u64,
    /// Somebody waits for it who does not sleep, and will not lead.
    pub(super) later: bool,
    /// Whatever the mode.
    pub(super) sync: bool,
    pub(super) rotate: bool,
}

impl Batch {
    pub(super) fn add(&mut self, ts: u64, body: Body) -> Option<Vec<u8>> {
        let Body { kind, bytes, crc } = body;
        if bytes.len() > COPIED_BYTES_MAX {
            self.own_bytes += bytes.len();
            self.frames.push(Frame { ts, kind, crc, piece: Piece::Own(bytes) });
            return None;
        }
        let from = self.bytes.len();
        self.bytes.extend_from_slice(&bytes);
        self.frames.push(Frame { ts, kind, crc, piece: Piece::Copied(from..self.bytes.len()) });
        Some(bytes)
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len() + self.own_bytes
    }

    pub(super) fn has(&mut self, ts: u64) {
        self.first_ts = if self.first_ts == 0 { ts } else { self.first_ts };
        self.last_ts = ts;
    }

    /// Empty, with its memory.
    pub(super) fn clear(&mut self) {
        self.frames.clear();
        self.bytes.clear();
        if self.bytes.capacity() > BUFFER_BYTES_MAX {
            self.bytes = Vec::new();
        }
        *self = Batch {
            frames: std::mem::take(&mut self.frames),
            bytes: std::mem::take(&mut self.bytes),
            ..Batch::default()
        };
    }
}
