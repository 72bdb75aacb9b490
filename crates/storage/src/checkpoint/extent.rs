//! Files of leaf images.
//!
//! ```text
//!   file      = | extent | extent | ...
//!
//!   extent    offset  0  magic                  4   "NLex"
//!                     4  crc                    4
//!                     8  length of the image    8
//!                    16  table                  8
//!                    24  leaf                   8
//!                    32  image                      see [`crate::image::leaf`]
//! ```
//! The checksum (CRC32C) covers all behind it, then the file's stamp: a random number that stands in the manifest
//! alone. So an image of another file, be it of the same leaf, is none: one file cannot be taken for another. Files of
//! format 1 have no stamp, and nothing follows in their checksums.
//!
//! Each file is written once by one checkpoint. When a later one has replaced half of its images, the rest moves too
//! and the file goes.

use crate::log::frame::new_stamp;
use disk::codec::{Get, Put};
use disk::{File, Io, corrupt, failed};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use types::Result;

const MAGIC: [u8; 4] = *b"NLex";
const HEADER_BYTES: usize = 32;
/// A checkpoint begins the next file when one has this size.
const FILE_BYTES_MAX: u64 = 256 << 20;
const BUFFER_BYTES: usize = 1 << 20;

pub fn path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("data-{number:010}.nlx"))
}

/// The number of a file of images by its name.
pub fn number_of(name: &str) -> Option<u64> {
    name.strip_prefix("data-")?.strip_suffix(".nlx")?.parse().ok()
}

/// Where an image lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loc {
    pub file: u64,
    pub offset: u64,
    /// With its header.
    pub len: u64,
}

/// Writes images into new files.
#[derive(Debug)]
pub struct ExtentWriter {
    io: Arc<dyn Io>,
    dir: PathBuf,
    next_file: u64,
    file: Option<Arc<dyn File>>,
    /// Bytes of the file that were written; `buffer` has those that follow.
    offset: u64,
    buffer: Vec<u8>,
    /// Of the files begun.
    files: Vec<Written>,
}

/// A file that was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Written {
    pub number: u64,
    pub bytes: u64,
    pub stamp: u64,
}

/// The checksum of an extent from its length on.
fn checksum(bytes: &[u8], stamp: u64) -> u32 {
    let crc = crc32c::crc32c(bytes);
    if stamp == 0 { crc } else { crc32c::crc32c_append(crc, &stamp.to_le_bytes()) }
}

impl ExtentWriter {
    pub fn new(io: &Arc<dyn Io>, dir: &Path, next_file: u64) -> ExtentWriter {
        ExtentWriter {
            io: io.clone(),
            dir: dir.into(),
            next_file,
            file: None,
            offset: 0,
            buffer: Vec::new(),
            files: Vec::new(),
        }
    }

    /// The file that is being written.
    fn number(&self) -> u64 {
        self.next_file - 1
    }

    /// `put` appends the image.
    pub fn add(&mut self, table: u64, leaf_no: u64, put: impl FnOnce(&mut Vec<u8>)) -> Result<Loc> {
        if self.file.is_none() || self.offset >= FILE_BYTES_MAX {
            self.close()?;
            let path = path(&self.dir, self.next_file);
            self.files.push(Written { number: self.next_file, bytes: 0, stamp: new_stamp() });
            self.next_file += 1;
            self.file = Some(self.io.create(&path).map_err(|e| failed("create", &path, &e))?);
        }
        let at = self.buffer.len();
        self.buffer.extend_from_slice(&MAGIC);
        self.buffer.put_u32(0);
        self.buffer.put_u64(0);
        self.buffer.put_u64(table);
        self.buffer.put_u64(leaf_no);
        put(&mut self.buffer);
        let len = (self.buffer.len() - at) as u64;
        self.buffer[at + 8..at + 16].copy_from_slice(&(len - HEADER_BYTES as u64).to_le_bytes());
        let stamp = self.files.last().map_or(0, |f| f.stamp);
        let crc = checksum(&self.buffer[at + 8..], stamp);
        self.buffer[at + 4..at + 8].copy_from_slice(&crc.to_le_bytes());
        let loc = Loc { file: self.number(), offset: self.offset + at as u64, len };
        if self.buffer.len() >= BUFFER_BYTES {
            self.write()?;
        }
        Ok(loc)
    }

    fn write(&mut self) -> Result<()> {
        if let Some(file) = &self.file {
            file.write_at(&self.buffer, self.offset)
                .map_err(|e| failed("write", &path(&self.dir, self.next_file - 1), &e))?;
            self.offset += self.buffer.len() as u64;
            self.buffer.clear();
        }
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        self.write()?;
        if let Some(file) = self.file.take() {
            file.sync().map_err(|e| failed("sync", &path(&self.dir, self.number()), &e))?;
            if let Some(last) = self.files.last_mut() {
                last.bytes = self.offset;
            }
            self.offset = 0;
        }
        Ok(())
    }

    /// Returns the files, all on stable storage but for the names.
    pub fn finish(&mut self) -> Result<Vec<Written>> {
        self.close()?;
        Ok(self.files.clone())
    }

    /// Removes what was begun.
    pub fn abandon(self) {
        for file in &self.files {
            // What is left over is removed at the next start or checkpoint.
            let _ = self.io.remove(&path(&self.dir, file.number));
        }
    }
}

/// The bytes of an image of a file with this stamp, checked, with its header before it; see [`image`].
pub fn read(file: &dyn File, dir: &Path, loc: Loc, stamp: u64, table: u64, leaf_no: u64) -> Result<Vec<u8>> {
    let path = || path(dir, loc.file);
    let bad = |what: &str| corrupt(&path(), loc.offset, what);
    let len = usize::try_from(loc.len).ok().filter(|n| (HEADER_BYTES..1 << 40).contains(n));
    let mut bytes = vec![0; len.ok_or_else(|| bad("an image has no length"))?];
    file.read_at(&mut bytes, loc.offset).map_err(|e| match e.kind() {
        std::io::ErrorKind::UnexpectedEof => bad("the file ends too soon"),
        _ => failed("read", &path(), &e),
    })?;
    let mut get = Get(&bytes);
    let header = (|| Some((get.array::<4>()?, get.u32()?, get.u64()?, get.u64()?, get.u64()?)))();
    let (magic, crc, body, of_table, of_leaf) = header.ok_or_else(|| bad("an image has no header"))?;
    if magic != MAGIC || crc != checksum(&bytes[8..], stamp) {
        return Err(bad("the checksum of an image is bad"));
    }
    if (body as usize, of_table, of_leaf) != (bytes.len() - HEADER_BYTES, table, leaf_no) {
        return Err(bad("the image is another leaf's"));
    }
    Ok(bytes)
}

/// The image within what [`read`] answered.
pub fn image(bytes: &[u8]) -> &[u8] {
    &bytes[HEADER_BYTES..]
}
