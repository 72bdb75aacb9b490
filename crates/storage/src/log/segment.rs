//! The files of the log, and the one who writes them.
//!
//! Segments are numbered without gaps; each is written once, from front to back, and removed when a checkpoint has all
//! that it has. A writer belongs to whoever leads the group commit: it is moved, not latched.
//!
//! ```text
//!   | header | frame | frame | frame | 0 0 0 0 0 0 ... |         a write of frames falls into zeros that lie there
//!                                    offset            zeroed    already, so that a sync has no metadata to write
//! ```
//! - A segment gets its name when its header is on stable storage: one whose header is bad is damaged.
//! - A file is as long as a multiple of [`ROOM_UNIT_BYTES`]: one of another length was cut, by a hand, by the end of
//!   its process within a write, or by a power cut before its length was on stable storage (or its disk was full).
//! - The newest segment, and up to where it is synced, are noted in [`super::end`].

use super::end::{End, EndFile};
use super::frame::{self, FRAME_HEADER_BYTES, Header, Kind, SEGMENT_HEADER_BYTES, SegmentHeader};
use disk::{File, Io, failed};
use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use types::{Error, Result};

const NEW_NAME: &str = "redo.new";

/// The file of segment `number`.
pub fn path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("redo-{number:010}.log"))
}

/// The number of a segment's file by its name.
pub fn number_of(name: &str) -> Option<u64> {
    name.strip_prefix("redo-")?.strip_suffix(".log")?.parse().ok()
}

/// Row changes or definitions, encoded and summed.
#[derive(Debug)]
pub struct Body {
    pub kind: Kind,
    pub bytes: Vec<u8>,
    pub crc: u32,
}

impl Body {
    pub fn new(kind: Kind, bytes: Vec<u8>) -> Body {
        Body { kind, crc: crc32c::crc32c(&bytes), bytes }
    }
}

/// A body that has reached this length becomes a part, and another one begins.
const BODY_BYTES_MAX: usize = 16 << 20;

/// A transaction's row images in the making.
#[derive(Debug)]
pub struct Images {
    parts: Vec<Body>,
    last: Vec<u8>,
}

/// A longer buffer is not kept for the thread's next commit.
const SPARE_BYTES_MAX: usize = 64 << 10;

thread_local! {
    /// The buffer of the thread's latest commit: the next one need not allocate.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl Default for Images {
    fn default() -> Images {
        Images { parts: Vec::new(), last: SPARE.take() }
    }
}

impl Images {
    /// Ops are appended here.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.last
    }

    /// To be called between ops.
    pub fn cut_if_long(&mut self) {
        if self.last.len() >= BODY_BYTES_MAX {
            self.parts.push(Body::new(Kind::Part, std::mem::take(&mut self.last)));
        }
    }

    /// The bodies of one commit; none if there are no images.
    pub fn finish(self) -> Bodies {
        if self.last.is_empty() && self.parts.is_empty() {
            Bodies::give_back(self.last);
            return Bodies::default();
        }
        Bodies { parts: self.parts, last: Some(Body::new(Kind::Commit, self.last)) }
    }
}

/// One commit's row images.
#[derive(Debug, Default)]
pub struct Bodies {
    parts: Vec<Body>,
    last: Option<Body>,
}

impl Bodies {
    pub fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    pub fn into_iter(self) -> impl Iterator<Item = Body> {
        self.parts.into_iter().chain(self.last)
    }

    /// The thread's next commit may have the buffer.
    pub fn give_back(mut bytes: Vec<u8>) {
        if bytes.capacity() <= SPARE_BYTES_MAX {
            bytes.clear();
            SPARE.set(bytes);
        }
    }
}

/// The log could not be written.
#[derive(Debug)]
pub struct Failure {
    pub error: Error,
    /// The disk has no room, and nothing is lost: the same may be tried again.
    pub is_full: bool,
}

impl Failure {
    fn new(what: &str, path: &Path, e: &io::Error) -> Failure {
        let is_full = matches!(e.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        Failure { error: failed(what, path, e), is_full }
    }

    /// What was written before is lost, whatever the system says.
    fn of_sync(path: &Path, e: &io::Error) -> Failure {
        Failure { error: failed("sync", path, e), is_full: false }
    }
}

type Step<T> = std::result::Result<T, Failure>;

/// See the module head.
#[derive(Debug)]
pub struct Writer {
    io: Arc<dyn Io>,
    dir: PathBuf,
    segment_bytes: u64,
    segment: SegmentHeader,
    path: PathBuf,
    file: Arc<dyn File>,
    end: EndFile,
    /// Of the segment that was to be begun when the disk was full.
    next_stamp: Option<u64>,
    /// Bytes of frames in the file so far, with its header.
    offset: u64,
    /// Up to here the file has bytes.
    zeroed: u64,
    /// Frames not yet written to the file.
    buffer: Vec<u8>,
    /// Up to here the log is on stable storage.
    synced_lsn: u64,
}

/// So many zeros are laid before a write that would lengthen the file and is to be synced.
const ZEROS_BYTES: u64 = 512 << 10;
/// Longer writes lengthen the file themselves: their syncs take long anyway.
const ZEROS_FOR_BYTES_MAX: usize = 128 << 10;
static ZEROS: [u8; ZEROS_BYTES as usize] = [0; ZEROS_BYTES as usize];

/// See the module head.
pub const ROOM_UNIT_BYTES: u64 = 4096;

impl Writer {
    /// Begins `segment`, and notes it as the newest one. Both are on disk when this returns; so must all before it be.
    pub fn begin(io: &Arc<dyn Io>, dir: &Path, segment_bytes: u64, segment: SegmentHeader) -> Result<Writer> {
        let (path, file) = create(&**io, dir, segment).map_err(|f| f.error)?;
        let end = End { segment: segment.number, stamp: segment.stamp, synced_lsn: segment.start_lsn };
        Ok(Writer {
            end: EndFile::create(&**io, dir, end)?,
            io: io.clone(),
            dir: dir.into(),
            segment_bytes,
            segment,
            path,
            file,
            next_stamp: None,
            offset: SEGMENT_HEADER_BYTES,
            zeroed: ROOM_UNIT_BYTES,
            buffer: Vec::new(),
            synced_lsn: segment.start_lsn,
        })
    }

    /// Where the next frame goes.
    pub fn lsn(&self) -> u64 {
        self.segment.start_lsn + (self.offset - SEGMENT_HEADER_BYTES) + self.buffer.len() as u64
    }

    pub fn synced_lsn(&self) -> u64 {
        self.synced_lsn
    }

    pub fn segment(&self) -> SegmentHeader {
        self.segment
    }

    pub fn buffered(&self) -> usize {
        self.buffer.len()
    }

    /// `crc`: CRC32C of the body.
    pub fn add(&mut self, ts: u64, kind: Kind, body: &[u8], crc: u32) {
        let header = Header { kind, len: body.len() as u32, ts, synced: self.synced_lsn };
        // With room for zeros behind it.
        self.buffer.reserve(FRAME_HEADER_BYTES + body.len() + ROOM_UNIT_BYTES as usize);
        frame::put(header, body, crc, self.segment.seal(), &mut self.buffer);
    }

    /// Hands what was added to the system.
    pub fn write(&mut self) -> Step<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let bytes = self.buffer.len();
        let end = self.offset + bytes as u64;
        if end > self.zeroed && bytes <= ZEROS_FOR_BYTES_MAX {
            self.lay_zeros(end)?;
        }
        // What no zeros lie for brings its own, within the block that it begins anyway.
        let room = if end > self.zeroed { (end.next_multiple_of(ROOM_UNIT_BYTES) - end) as usize } else { 0 };
        self.buffer.resize(bytes + room, 0);
        let written = self.file.write_at(&self.buffer, self.offset);
        self.buffer.truncate(bytes);
        written.map_err(|e| Failure::new("write", &self.path, &e))?;
        self.offset = end;
        self.zeroed = self.zeroed.max(end + room as u64);
        self.buffer.clear();
        if self.buffer.capacity() > 4 << 20 {
            self.buffer = Vec::new();
        }
        Ok(())
    }

    /// Lays zeros beyond `end`, as far as the segment is to go.
    fn lay_zeros(&mut self, end: u64) -> Step<()> {
        let to = (end + ZEROS_BYTES / 2).min(self.segment_bytes).max(end).next_multiple_of(ROOM_UNIT_BYTES);
        let count = (to - self.zeroed).min(ZEROS_BYTES) as usize;
        match self.file.write_at(&ZEROS[..count], self.zeroed) {
            Ok(()) => self.zeroed += count as u64,
            // They are a help only.
            Err(e) if Failure::new("write", &self.path, &e).is_full => {}
            Err(e) => return Err(Failure::new("write", &self.path, &e)),
        }
        Ok(())
    }

    /// Returns once all that was added is on stable storage, and noted to be. True: there was something to wait for.
    pub fn sync(&mut self) -> Step<bool> {
        self.write()?;
        let waits = self.synced_lsn != self.lsn();
        if waits {
            self.file.sync().map_err(|e| Failure::of_sync(&self.path, &e))?;
            self.synced_lsn = self.lsn();
        }
        if self.end.last().synced_lsn != self.synced_lsn {
            self.end.note_position(self.synced_lsn).map_err(|e| Failure::new("write", self.end.path(), &e))?;
        }
        Ok(waits)
    }

    /// Whether the segment has its size.
    pub fn is_full(&self) -> bool {
        self.offset >= self.segment_bytes
    }

    /// Begins the next segment. The present one is on stable storage before there is another.
    pub fn rotate(&mut self) -> Step<()> {
        self.sync()?;
        // One stamp, however often the disk is full.
        let stamp = *self.next_stamp.get_or_insert_with(frame::new_stamp);
        let (number, start_lsn) = (self.segment.number + 1, self.lsn());
        let segment = SegmentHeader { number, start_lsn, stamp, previous: self.segment.stamp };
        let (path, file) = create(&*self.io, &self.dir, segment)?;
        let end = End { segment: number, stamp, synced_lsn: start_lsn };
        self.end.note_segment(end).map_err(|e| Failure::new("write", self.end.path(), &e))?;
        self.end.sync().map_err(|e| Failure::of_sync(self.end.path(), &e))?;
        (self.path, self.file) = (path, file);
        self.next_stamp = None;
        self.segment = segment;
        self.offset = SEGMENT_HEADER_BYTES;
        self.zeroed = ROOM_UNIT_BYTES;
        Ok(())
    }
}

/// Begins the log of a new database, which has no manifest yet; answers the first segment's stamp.
pub fn begin_log(io: &dyn Io, dir: &Path) -> Result<u64> {
    let segment = SegmentHeader { number: 1, start_lsn: 0, stamp: frame::new_stamp(), previous: 0 };
    create(io, dir, segment).map_err(|f| f.error)?;
    EndFile::create(io, dir, End { segment: 1, stamp: segment.stamp, synced_lsn: 0 })?;
    Ok(segment.stamp)
}

/// Makes a segment without frames. It gets its name, in place of what may have it, when it is whole.
fn create(io: &dyn Io, dir: &Path, segment: SegmentHeader) -> Step<(PathBuf, Arc<dyn File>)> {
    let (new, path) = (dir.join(NEW_NAME), path(dir, segment.number));
    let file = io.create(&new).map_err(|e| Failure::new("create", &new, &e))?;
    let mut bytes = segment.to_bytes();
    bytes.resize(ROOM_UNIT_BYTES as usize, 0);
    file.write_at(&bytes, 0).map_err(|e| Failure::new("write", &new, &e))?;
    file.sync().map_err(|e| Failure::of_sync(&new, &e))?;
    io.rename(&new, &path).map_err(|e| Failure::new("rename", &new, &e))?;
    io.sync_dir(dir).map_err(|e| Failure::of_sync(dir, &e))?;
    Ok((path, file))
}
