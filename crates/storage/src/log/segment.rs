//! The files of the log, and the one who writes them.
//!
//! Segments are numbered without gaps; each is written once, from front to back, and removed when a checkpoint has all
//! that it has. A writer belongs to whoever leads the group commit: it is moved, not latched.

use super::frame::{self, FRAME_HEADER_BYTES, Header, Kind, SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::io::{File, Io, failed};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use types::Result;

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
#[derive(Debug, Default)]
pub struct Images {
    parts: Vec<Body>,
    last: Vec<u8>,
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
    pub fn finish(mut self) -> Vec<Body> {
        if !self.last.is_empty() || !self.parts.is_empty() {
            self.parts.push(Body::new(Kind::Commit, self.last));
        }
        self.parts
    }
}

/// See the module head.
#[derive(Debug)]
pub struct Writer {
    io: Arc<dyn Io>,
    dir: PathBuf,
    segment_bytes: u64,
    segment: SegmentHeader,
    path: PathBuf,
    file: Arc<dyn File>,
    /// Bytes of the file so far.
    offset: u64,
    /// Frames not yet written to the file.
    buffer: Vec<u8>,
    /// Up to here the log is on stable storage.
    synced_lsn: u64,
}

impl Writer {
    /// Begins segment `number` at `start_lsn`; it is on disk when this returns.
    pub fn begin(io: &Arc<dyn Io>, dir: &Path, segment_bytes: u64, number: u64, start_lsn: u64) -> Result<Writer> {
        let segment = SegmentHeader { number, start_lsn };
        let (path, file) = create(io, dir, segment)?;
        Ok(Writer {
            io: io.clone(),
            dir: dir.into(),
            segment_bytes,
            segment,
            path,
            file,
            offset: SEGMENT_HEADER_BYTES,
            buffer: Vec::new(),
            synced_lsn: start_lsn,
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

    pub fn add(&mut self, ts: u64, body: &Body) {
        let len = body.bytes.len() as u32;
        let header = Header { kind: body.kind, len, ts, synced: self.synced_lsn };
        self.buffer.reserve(FRAME_HEADER_BYTES + body.bytes.len());
        frame::put(header, &body.bytes, body.crc, self.segment.number, &mut self.buffer);
    }

    /// Hands what was added to the system.
    pub fn write(&mut self) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        self.file.write_at(&self.buffer, self.offset).map_err(|e| failed("write", &self.path, &e))?;
        self.offset += self.buffer.len() as u64;
        self.buffer.clear();
        if self.buffer.capacity() > 4 << 20 {
            self.buffer = Vec::new();
        }
        Ok(())
    }

    /// Returns once all that was added is on stable storage. True: there was something to wait for.
    pub fn sync(&mut self) -> Result<bool> {
        self.write()?;
        if self.synced_lsn == self.lsn() {
            return Ok(false);
        }
        self.file.sync().map_err(|e| failed("sync", &self.path, &e))?;
        self.synced_lsn = self.lsn();
        Ok(true)
    }

    /// Whether the segment has its size.
    pub fn is_full(&self) -> bool {
        self.offset >= self.segment_bytes
    }

    /// Begins the next segment. The present one is on stable storage before there is another.
    pub fn rotate(&mut self) -> Result<()> {
        self.sync()?;
        let segment = SegmentHeader { number: self.segment.number + 1, start_lsn: self.lsn() };
        (self.path, self.file) = create(&self.io, &self.dir, segment)?;
        self.segment = segment;
        self.offset = SEGMENT_HEADER_BYTES;
        Ok(())
    }
}

fn create(io: &Arc<dyn Io>, dir: &Path, segment: SegmentHeader) -> Result<(PathBuf, Arc<dyn File>)> {
    let path = path(dir, segment.number);
    let file = io.create(&path).map_err(|e| failed("create", &path, &e))?;
    file.write_at(&segment.to_bytes(), 0).map_err(|e| failed("write", &path, &e))?;
    file.sync().map_err(|e| failed("sync", &path, &e))?;
    io.sync_dir(dir).map_err(|e| failed("sync", dir, &e))?;
    Ok((path, file))
}
