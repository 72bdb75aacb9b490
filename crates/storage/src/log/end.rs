//! The end of the log, noted outside of it: what must be there at the next start.
//!
//! The log alone cannot say that its newest segment was deleted, replaced by an older copy of it, or cut where a frame
//! ends. So a small file says which segment is the newest and up to where the log is on stable storage.
//!
//! ```text
//!   redo.end = | slot 0 | slot 1 | slot 2 | slot 3 |       each padded to 512 bytes
//!
//!   slot      offset  0  magic                          8   "NLREDOE1"
//!                     8  crc                            4   CRC32C of the bytes behind it, up to offset 44
//!                    12  count of notes, this included  8
//!                    20  number of the newest segment   8
//!                    28  its stamp                      8
//!                    36  synced lsn                     8
//! ```
//! The whole slot with the greatest count is valid. Notes of segments are synced and go to slots 0 and 1 in turn, notes
//! of positions are not and go to slots 2 and 3 in turn. So a note that fails half way leaves the one before it, and
//! whatever a power cut takes of notes that were not synced, the last synced one is there.
//!
//! Invariants
//! 1. A segment is noted, and the note synced, before a frame is written to it: a noted segment was there, and a
//!    segment that is there and not noted has no frames.
//! 2. A position is noted after the log was synced up to it and before the commits below it are acknowledged. The note
//!    is not synced: a process that is killed leaves it, a power cut may leave an older one, which is then a lower
//!    bound.
//! 3. So a log that ends below the noted position was cut, or its newest frames were damaged; whatever happened to the
//!    machine, it once was there.
//!
//! Where commits are not synced (innodb_flush_log_at_trx_commit = 0 and 2) the noted position lags behind by up to a
//! second: an older copy of the newest segment that lacks only what came after it is taken for the segment.
//!
//! After a shutdown the newest note is synced, because the last checkpoint began a segment: then any missing byte is
//! told.

use disk::codec::{Get, Put};
use disk::{File, Io, corrupt, failed, read_all};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use types::Result;

pub const NAME: &str = "redo.end";
const NEW_NAME: &str = "redo.end.new";
/// The way out where nothing but the end of the log is missing.
pub const WAY_OUT: &str = "`nextleaf check --accept-loss` opens the folder without what is missing at the log's end";
const MAGIC: [u8; 8] = *b"NLREDOE1";
const SLOTS: usize = 4;
const SLOT_BYTES: usize = 512;
const NOTE_BYTES: usize = 44;

/// What is noted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    /// The newest segment.
    pub segment: u64,
    pub stamp: u64,
    /// Up to here the log is on stable storage.
    pub synced_lsn: u64,
}

impl End {
    fn to_bytes(self, count: u64) -> [u8; NOTE_BYTES] {
        let mut fields = Vec::with_capacity(NOTE_BYTES);
        [count, self.segment, self.stamp, self.synced_lsn].into_iter().for_each(|v| fields.put_u64(v));
        let mut out = [0; NOTE_BYTES];
        out[..8].copy_from_slice(&MAGIC);
        out[8..12].copy_from_slice(&crc32c::crc32c(&fields).to_le_bytes());
        out[12..].copy_from_slice(&fields);
        out
    }

    /// With its count.
    fn from_bytes(bytes: &[u8]) -> Option<(u64, End)> {
        let mut get = Get(bytes.get(..NOTE_BYTES)?);
        let (magic, crc) = (get.array::<8>()?, get.u32()?);
        if magic != MAGIC || crc32c::crc32c(get.0) != crc {
            return None;
        }
        let count = get.u64()?;
        Some((count, End { segment: get.u64()?, stamp: get.u64()?, synced_lsn: get.u64()? }))
    }
}

/// The file, open to be written.
#[derive(Debug)]
pub struct EndFile {
    path: PathBuf,
    file: Arc<dyn File>,
    count: u64,
    /// Which of a pair of slots is the next: for notes of segments, and of positions.
    turns: [u64; 2],
    last: End,
}

impl EndFile {
    /// A new file in place of the one that is there. When this returns it is on stable storage, name and all.
    pub fn create(io: &dyn Io, dir: &Path, end: End) -> Result<EndFile> {
        let (new, path) = (dir.join(NEW_NAME), dir.join(NAME));
        let file = io.create(&new).map_err(|e| failed("create", &new, &e))?;
        let mut bytes = vec![0; SLOTS * SLOT_BYTES];
        bytes.chunks_mut(SLOT_BYTES).for_each(|slot| slot[..NOTE_BYTES].copy_from_slice(&end.to_bytes(1)));
        file.write_at(&bytes, 0).map_err(|e| failed("write", &new, &e))?;
        file.sync().map_err(|e| failed("sync", &new, &e))?;
        io.rename(&new, &path).map_err(|e| failed("rename", &new, &e))?;
        io.sync_dir(dir).map_err(|e| failed("sync", dir, &e))?;
        Ok(EndFile { path, file, count: 1, turns: [0; 2], last: end })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What was noted last.
    pub fn last(&self) -> End {
        self.last
    }

    fn note(&mut self, pair: usize, end: End) -> io::Result<()> {
        let slot = pair as u64 * 2 + self.turns[pair] % 2;
        self.file.write_at(&end.to_bytes(self.count + 1), slot * SLOT_BYTES as u64)?;
        self.count += 1;
        self.turns[pair] += 1;
        self.last = end;
        Ok(())
    }

    /// Notes a new segment. After an error the note before counts, and the same may be tried again; [`EndFile::sync`]
    /// must follow.
    pub fn note_segment(&mut self, end: End) -> io::Result<()> {
        self.note(0, end)
    }

    /// Notes a position. An error: as above.
    pub fn note_position(&mut self, synced_lsn: u64) -> io::Result<()> {
        self.note(1, End { synced_lsn, ..self.last })
    }

    pub fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }
}

/// What the file of a folder says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Noted {
    pub end: End,
    /// Where the first slot lies that is none: damaged, or half written.
    pub bad_slot: Option<u64>,
}

/// What is noted in the folder; `None` if the file is missing.
pub fn read(io: &dyn Io, dir: &Path) -> Result<Option<Noted>> {
    let path = dir.join(NAME);
    let bytes = match read_all(io, &path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(failed("read", &path, &e)),
    };
    let slots: Vec<_> = (0..SLOTS).map(|n| bytes.get(n * SLOT_BYTES..).and_then(End::from_bytes)).collect();
    let bad_slot = slots.iter().position(Option::is_none).map(|n| (n * SLOT_BYTES) as u64);
    let newest = slots.into_iter().flatten().max_by_key(|(count, _)| *count);
    let Some((_, end)) = newest else {
        return Err(corrupt(&path, 0, "it does not say where the redo log ends"));
    };
    Ok(Some(Noted { end, bad_slot }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use disk::SimIo;

    #[test]
    fn a_damaged_slot_leaves_the_note_before() {
        let io = SimIo::default();
        let dir = Path::new("/d");
        let path = dir.join(NAME);
        let end = |n: u64| End { segment: n / 4, stamp: 99 + n / 4, synced_lsn: n };
        let noted = || read(&io, dir);
        assert_eq!(noted().unwrap(), None);
        let mut file = EndFile::create(&io, dir, end(0)).unwrap();
        for n in 1..30 {
            assert_eq!(noted().unwrap(), Some(Noted { end: end(n - 1), bad_slot: None }));
            let pair = usize::from(n % 4 != 0);
            let newest = (pair * 2 + file.turns[pair] as usize % 2) * SLOT_BYTES;
            if pair == 0 { file.note_segment(end(n)) } else { file.note_position(n) }.unwrap();
            let good = io.bytes(&path).unwrap();
            for bit in 0..NOTE_BYTES * 8 {
                let mut bad = good.clone();
                bad[newest + bit / 8] ^= 1 << (bit % 8);
                io.set_bytes(&path, bad);
                assert_eq!(noted().unwrap(), Some(Noted { end: end(n - 1), bad_slot: Some(newest as u64) }));
            }
            io.set_bytes(&path, good);
        }
        let mut bad = io.bytes(&path).unwrap();
        (0..SLOTS).for_each(|n| bad[n * SLOT_BYTES + 20] ^= 1);
        for bytes in [bad, Vec::new(), vec![7; 43]] {
            io.set_bytes(&path, bytes);
            assert!(noted().is_err());
        }
    }
}
