//! The log after a crash.
//!
//! ```text
//!   redo-7  | frame | frame | frame |            ends where redo-8 begins
//!   redo-8  | frame | frame | bad   | ...        the last one: what follows the first bad frame is
//!                                                 - a torn tail, if nothing proves that it was ever synced: cut
//!                                                 - damage, if a later frame or the manifest says that it was
//! ```

use super::frame::{self, FRAME_HEADER_BYTES, FRAME_MAGIC, Kind, SEGMENT_HEADER_BYTES, SegmentHeader};
use super::segment;
use crate::io::{self, Io, corrupt, failed};
use std::ops::Range;
use std::path::{Path, PathBuf};
use types::Result;

/// The log from a checkpoint's position on, checked. It is longer than memory should be, so its frames are read again,
/// segment by segment, when they are replayed.
#[derive(Debug, Default)]
pub struct LogScan {
    pub segments: Vec<SegmentScan>,
    /// Changes of definitions.
    pub definitions: Vec<Definition>,
    /// Frames, some of which may not count.
    pub frames: u64,
    /// The newest timestamp of any.
    pub last_ts: u64,
    /// Where the log ends: whatever lies behind is not to be looked at again.
    pub end_lsn: u64,
    /// Up to here the log is known to be on stable storage.
    pub synced_lsn: u64,
    /// The next segment's number.
    pub next_segment: u64,
    /// Bytes that were cut off, and where.
    pub torn: Option<(PathBuf, u64, u64)>,
}

/// A segment's frames lie between its header and `end`.
#[derive(Debug)]
pub struct SegmentScan {
    pub path: PathBuf,
    pub header: SegmentHeader,
    pub end: u64,
    file_bytes: u64,
}

/// Changes of definitions, and where they lie.
#[derive(Debug)]
pub struct Definition {
    pub ts: u64,
    lsn: u64,
    pub path: PathBuf,
    pub offset: u64,
    pub body: Vec<u8>,
}

/// A segment's bytes, to be replayed.
#[derive(Debug)]
pub struct Segment<'a> {
    pub path: &'a Path,
    bytes: Vec<u8>,
    pub frames: Vec<FrameAt>,
}

#[derive(Clone, Debug)]
pub struct FrameAt {
    pub kind: Kind,
    pub body: Range<usize>,
}

impl FrameAt {
    /// Of the frame in its file.
    pub fn offset(&self) -> u64 {
        (self.body.start - FRAME_HEADER_BYTES) as u64
    }
}

impl Segment<'_> {
    pub fn body(&self, frame: &FrameAt) -> &[u8] {
        &self.bytes[frame.body.clone()]
    }
}

impl SegmentScan {
    /// Reads the frames after `ts`.
    pub fn read(&self, io: &dyn Io, ts: u64) -> Result<Segment<'_>> {
        let path = &self.path;
        let file = io.open(path).map_err(|e| failed("open", path, &e))?;
        // One without frames may have a header that is cut short.
        let mut bytes = vec![0; self.end.min(self.file_bytes) as usize];
        file.read_at(&mut bytes, 0).map_err(|e| failed("read", path, &e))?;
        let mut frames = Vec::new();
        let mut at = SEGMENT_HEADER_BYTES as usize;
        while at < bytes.len() {
            let Some((frame, body)) = frame::get(&bytes[at..], self.header.number) else {
                return Err(corrupt(path, at as u64, "a log record is not what it was a moment ago"));
            };
            let from = at + FRAME_HEADER_BYTES;
            at = from + body.len();
            if frame.ts > ts {
                frames.push(FrameAt { kind: frame.kind, body: from..at });
            }
        }
        Ok(Segment { path, bytes, frames })
    }
}

/// Where the manifest says that the log to be replayed begins, and how much of it is known to be on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogStart {
    pub segment: u64,
    pub lsn: u64,
    pub synced_lsn: u64,
}

/// Reads and checks all segments from `start` on.
pub fn scan(io: &dyn Io, dir: &Path, start: LogStart) -> Result<LogScan> {
    let names = io.list(dir).map_err(|e| failed("list", dir, &e))?;
    let mut numbers: Vec<u64> = names.iter().filter_map(|n| segment::number_of(n)).collect();
    numbers.retain(|n| *n >= start.segment);
    numbers.sort_unstable();
    let mut scan = LogScan { end_lsn: start.lsn, next_segment: start.segment, ..LogScan::default() };
    let mut proof = start.synced_lsn;
    for (i, &number) in numbers.iter().enumerate() {
        let path = segment::path(dir, number);
        if number != scan.next_segment {
            let missing = segment::path(dir, scan.next_segment);
            return Err(corrupt(&missing, 0, "the file is missing, and later ones are there"));
        }
        let bytes = io::read_all(io, &path).map_err(|e| failed("read", &path, &e))?;
        let is_last = i + 1 == numbers.len();
        let Some(header) = SegmentHeader::from_bytes(&bytes).filter(|h| h.number == number) else {
            // Frames are written only when the header is on stable storage.
            if !is_last || bytes.len() as u64 > SEGMENT_HEADER_BYTES {
                return Err(corrupt(&path, 0, "the header of a log segment is bad"));
            }
            // It was being made when the power went.
            scan.torn.get_or_insert((path, 0, bytes.len() as u64));
            break;
        };
        close_previous(&mut scan, header.start_lsn)?;
        read_segment(&mut scan, path, bytes, header, &mut proof);
        scan.next_segment = number + 1;
    }
    if scan.end_lsn < proof {
        return Err(bad_end(&scan, dir, start.segment));
    }
    scan.synced_lsn = proof;
    Ok(scan)
}

fn bad_end(scan: &LogScan, dir: &Path, first: u64) -> types::Error {
    let what = "a log record is bad or missing, and later ones show that it was written";
    match (&scan.torn, scan.segments.last()) {
        (Some((path, offset, _)), _) => corrupt(path, *offset, what),
        (None, Some(last)) => corrupt(&last.path, last.file_bytes, what),
        (None, None) => corrupt(&segment::path(dir, first), 0, what),
    }
}

impl LogScan {
    /// What of the log may be in the system's memory only. A sync of the file would prove nothing if one has failed before.
    pub fn unsettled(&self) -> Option<Unsettled> {
        let last = self.segments.last()?;
        let offset = |lsn: u64| lsn.saturating_sub(last.header.start_lsn) + SEGMENT_HEADER_BYTES;
        let frames = offset(self.synced_lsn)..offset(self.end_lsn);
        Some(Unsettled { path: last.path.clone(), header: last.header, frames })
    }
}

/// A segment's header, and a range of the bytes of its file.
#[derive(Debug)]
pub struct Unsettled {
    pub path: PathBuf,
    pub header: SegmentHeader,
    pub frames: Range<u64>,
}

/// The next segment says where the one before it ended.
fn close_previous(scan: &mut LogScan, start_lsn: u64) -> Result<()> {
    if scan.end_lsn < start_lsn {
        let (path, offset) = match (&scan.torn, scan.segments.last()) {
            (Some((path, offset, _)), _) => (path.clone(), *offset),
            (None, Some(last)) => (last.path.clone(), last.file_bytes),
            (None, None) => (PathBuf::from("the first log segment"), 0),
        };
        return Err(corrupt(&path, offset, "log records are bad or missing, and a later segment follows"));
    }
    // A tail that an earlier recovery cut off may have whole frames in it: they do not count.
    if let Some(last) = scan.segments.last_mut() {
        last.end = last.end.min((start_lsn - last.header.start_lsn) + SEGMENT_HEADER_BYTES);
    }
    scan.definitions.retain(|d| d.lsn < start_lsn);
    scan.end_lsn = start_lsn;
    scan.torn = None;
    Ok(())
}

fn read_segment(scan: &mut LogScan, path: PathBuf, bytes: Vec<u8>, header: SegmentHeader, proof: &mut u64) {
    let mut at = SEGMENT_HEADER_BYTES as usize;
    // Where the last whole transaction ends.
    let mut end = at;
    while let Some((frame, body)) = bytes.get(at..).and_then(|b| frame::get(b, header.number)) {
        let lsn = header.start_lsn + at as u64 - SEGMENT_HEADER_BYTES;
        *proof = (*proof).max(frame.synced);
        if frame.kind == Kind::Definitions {
            let (path, offset, body) = (path.clone(), at as u64, body.to_vec());
            scan.definitions.push(Definition { ts: frame.ts, lsn, path, offset, body });
        }
        at += FRAME_HEADER_BYTES + body.len();
        scan.frames += 1;
        scan.last_ts = scan.last_ts.max(frame.ts);
        if frame.kind != Kind::Part {
            end = at;
        }
    }
    let rest = bytes.get(at..).unwrap_or_default();
    if rest.iter().any(|b| *b != 0) {
        scan.torn = Some((path.clone(), at as u64, rest.len() as u64));
        // Whole frames behind the bad one may prove that it was synced once.
        for found in memchr::memmem::find_iter(rest, &FRAME_MAGIC) {
            if let Some((frame, _)) = frame::get(&rest[found..], header.number) {
                *proof = (*proof).max(frame.synced);
            }
        }
    }
    if end < at {
        // A transaction whose last part is missing never was.
        scan.torn = Some((path.clone(), end as u64, (at - end) as u64));
    }
    scan.end_lsn = header.start_lsn + end as u64 - SEGMENT_HEADER_BYTES;
    scan.segments.push(SegmentScan { path, header, end: end as u64, file_bytes: bytes.len() as u64 });
}
