//! The log after a crash.
//!
//! ```text
//!   redo-7  | frame | frame | frame |            ends where redo-8 begins
//!   redo-8  | frame | frame | bad   | ...        the last one: what follows the first bad frame is
//!                                                 - a torn tail, if nothing proves that it was ever synced: cut
//!                                                 - damage, if a later frame, the manifest or the note of the log's
//!                                                   end ([`super::end`]) says that it was
//! ```
//! Refused by name, beside damage: a segment that the manifest, a later one or the note of the end shows to have been
//! there; one that is not the one that they name. Told, if not refused: whatever is dropped at the end.

use super::end::{self, Noted};
use super::frame::{self, FRAME_HEADER_BYTES, FRAME_MAGIC, Kind, SEGMENT_HEADER_BYTES, SegmentHeader};
use super::segment;
use disk::{Io, corrupt, failed, missing};
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
    /// What is dropped at the end, if anything is.
    pub torn: Option<Torn>,
}

/// Bytes that are dropped at the end of the log. None of them: the file ends where no complete write does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torn {
    pub path: PathBuf,
    pub offset: u64,
    pub bytes: u64,
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
            let Some((frame, body)) = frame::get(&bytes[at..], self.header.seal()) else {
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
    /// Of the segment; 0: it has none, or it is not known.
    pub stamp: u64,
}

/// What must be there, and what may be given up.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    pub start: LogStart,
    /// The note of the log's end; `None`: of a folder that has none yet, or it is lost and that is accepted.
    pub noted: Option<Noted>,
    /// The folder is of format 1: its newest segment may have been in the making when the power failed.
    pub format_1: bool,
    /// What is missing at the end is given up.
    pub accept_loss: bool,
}

/// Reads and checks all segments from the first one to be replayed on.
pub fn scan(io: &dyn Io, dir: &Path, expected: Expected) -> Result<LogScan> {
    let Expected { start, noted, .. } = expected;
    let names = io.list(dir).map_err(|e| failed("list", dir, &e))?;
    let mut numbers: Vec<u64> = names.iter().filter_map(|n| segment::number_of(n)).collect();
    numbers.retain(|n| *n >= start.segment);
    numbers.sort_unstable();
    check_all_there(dir, &numbers, &expected)?;
    let mut scan = LogScan { end_lsn: start.lsn, next_segment: start.segment, ..LogScan::default() };
    let mut proof = start.synced_lsn.max(noted.map_or(0, |n| n.end.synced_lsn));
    for (i, &number) in numbers.iter().enumerate() {
        let path = segment::path(dir, number);
        let bytes = disk::read_all(io, &path).map_err(|e| failed("read", &path, &e))?;
        let is_last = i + 1 == numbers.len();
        let Some(header) = SegmentHeader::from_bytes(&bytes).filter(|h| h.number == number) else {
            // Frames are written only when the header is on stable storage.
            if !expected.format_1 || !is_last || bytes.len() as u64 > SEGMENT_HEADER_BYTES {
                return Err(corrupt(&path, 0, "the header of a log segment is bad"));
            }
            // It was being made when the power failed.
            scan.torn.get_or_insert(Torn { path, offset: 0, bytes: bytes.len() as u64 });
            break;
        };
        check_identity(&path, header, &scan, &expected)?;
        close_previous(&mut scan, &path, header.start_lsn)?;
        read_segment(&mut scan, path, bytes, header, &mut proof);
        scan.next_segment = number + 1;
    }
    if scan.end_lsn < proof {
        if !expected.accept_loss {
            return Err(bad_end(&scan, dir, start.segment));
        }
        scan.torn.get_or_insert_with(|| lost_end(&scan.segments, dir, start.segment));
        proof = scan.end_lsn;
    }
    scan.synced_lsn = proof;
    Ok(scan)
}

/// Which segments there must be, by number: all from the manifest's to the newest that is there or noted.
fn check_all_there(dir: &Path, numbers: &[u64], expected: &Expected) -> Result<()> {
    let first = expected.start.segment;
    let newest = numbers.last().copied();
    let noted = expected.noted.map(|n| n.end.segment);
    if !expected.accept_loss && noted.is_some_and(|n| n < first) {
        let path = dir.join(end::NAME);
        return Err(corrupt(&path, 0, "it is older than the manifest, or another database's"));
    }
    // Once a folder could have a manifest before its first segment.
    let may_have_none = expected.accept_loss || expected.format_1 && expected.start.lsn == 0;
    let needed = noted.filter(|_| !expected.accept_loss).or((!may_have_none).then_some(first));
    let lost: Vec<u64> = (first..=needed.max(newest).unwrap_or(0)).filter(|n| !numbers.contains(n)).take(4).collect();
    let Some((one, others)) = lost.split_first() else { return Ok(()) };
    let why = match (newest.filter(|n| n > one), noted) {
        (Some(_), _) => "a later segment of the redo log is there".to_string(),
        (None, Some(noted)) => {
            format!("{} says that the redo log goes on to segment {noted} ({})", end::NAME, end::WAY_OUT)
        }
        (None, None) => format!("the manifest says that the redo log begins there ({})", end::WAY_OUT),
    };
    let others: String = others.iter().map(|n| format!(", and so is {}", segment::path(dir, *n).display())).collect();
    Err(missing(&segment::path(dir, *one), why + &others))
}

/// Whether the segment is the one that is meant, not one of its number from another folder or another time.
fn check_identity(path: &Path, header: SegmentHeader, scan: &LogScan, expected: &Expected) -> Result<()> {
    let SegmentHeader { number, start_lsn, stamp, previous } = header;
    let start = expected.start;
    let other = |who: &str| {
        let what = format_args!("it is not the segment that {who} names, but another database's or another time's");
        Err(corrupt(path, 0, what))
    };
    if number == start.segment && start.stamp != 0 && (stamp, start_lsn) != (start.stamp, start.lsn) {
        return other("the manifest");
    }
    let noted = expected.noted.filter(|_| !expected.accept_loss).map(|n| n.end);
    if noted.is_some_and(|n| n.segment == number && n.stamp != stamp) {
        return other(end::NAME);
    }
    match scan.segments.last() {
        Some(before) if stamp != 0 && previous != before.header.stamp => {
            let before = before.path.display();
            let what = format_args!("it and {before} do not follow one another: one is another database's or time's");
            Err(corrupt(path, 0, what))
        }
        _ => Ok(()),
    }
}

fn bad_end(scan: &LogScan, dir: &Path, first: u64) -> types::Error {
    let what = "a log record is bad or missing here, and it is known to have been on stable storage";
    let what = format_args!("{what} ({})", end::WAY_OUT);
    let torn = scan.torn.clone().unwrap_or_else(|| lost_end(&scan.segments, dir, first));
    corrupt(&torn.path, torn.offset, what)
}

/// Where records are missing without a trace.
fn lost_end(segments: &[SegmentScan], dir: &Path, first: u64) -> Torn {
    let (path, offset) = segments.last().map_or((segment::path(dir, first), 0), |s| (s.path.clone(), s.end));
    Torn { path, offset, bytes: 0 }
}

impl LogScan {
    /// What of the log may be in the system's memory only. A sync of the file would prove nothing if one has failed
    /// before.
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
fn close_previous(scan: &mut LogScan, next: &Path, start_lsn: u64) -> Result<()> {
    if scan.end_lsn < start_lsn {
        let what = "log records are bad or missing here, and a later segment follows";
        let end = || scan.segments.last().map_or((next, 0), |s| (&s.path, s.end));
        let (path, offset) = scan.torn.as_ref().map_or_else(end, |t| (&t.path, t.offset));
        return Err(corrupt(path, offset, what));
    }
    // A tail that an earlier recovery cut off may have whole frames in it: they do not count.
    if let Some(last) = scan.segments.last_mut() {
        if start_lsn < last.header.start_lsn {
            return Err(corrupt(next, 0, "it begins before the segment that it follows"));
        }
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
    while let Some((frame, body)) = bytes.get(at..).and_then(|b| frame::get(b, header.seal())) {
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
    if let Some(last) = rest.iter().rposition(|b| *b != 0) {
        scan.torn = Some(Torn { path: path.clone(), offset: at as u64, bytes: last as u64 + 1 });
        // Whole frames behind the bad one may prove that it was synced once.
        for found in memchr::memmem::find_iter(rest, &FRAME_MAGIC) {
            if let Some((frame, _)) = frame::get(&rest[found..], header.seal()) {
                *proof = (*proof).max(frame.synced);
            }
        }
    }
    let file_bytes = bytes.len() as u64;
    if end < at {
        // A transaction whose last part is missing never was.
        let bytes = scan.torn.as_ref().map_or(at as u64, |t| t.offset + t.bytes) - end as u64;
        scan.torn = Some(Torn { path: path.clone(), offset: end as u64, bytes });
    }
    let is_cut = header.stamp != 0 && !file_bytes.is_multiple_of(segment::ROOM_UNIT_BYTES);
    if is_cut && scan.torn.is_none() {
        scan.torn = Some(Torn { path: path.clone(), offset: file_bytes, bytes: 0 });
    }
    scan.end_lsn = header.start_lsn + end as u64 - SEGMENT_HEADER_BYTES;
    scan.segments.push(SegmentScan { path, header, end: end as u64, file_bytes });
}
