//! The manifest: which images count, and which log follows them.
//!
//! ```text
//!   manifest  offset  0  magic                    8   "NLMANIF1"
//!                     8  length of the body       8
//!                    16  crc                      4   CRC32C of the body
//!                    20  body
//!
//!   body    = format 4 | version (length, text) | number of the checkpoint | T | log | next file | definitions | files
//!             | tables
//!   log     = segment where replay begins | lsn of its first frame | synced lsn | stamp of the segment
//!   files   = count | (number, bytes, bytes of use, stamp) of each
//!   tables  = count | (id, leaf shift 1, auto_increment, count of leaves, leaves) of each
//!   leaf    = number, less that of the leaf before | file | offset | length
//! ```
//! All numbers behind the format are varints, but for the leaf shift, which is a byte. Definitions: see
//! [`crate::definitions`].
//!
//! The format is that of the whole folder. Format and version of the program that wrote it stand in the same place in
//! all formats from 2 on.
//!
//! - 3: as above; definitions are structures ([`catalog::encoding`]). A folder that was of format 2 may have texts
//!   among them until a checkpoint has been made.
//! - 2: definitions are texts, which the engine reads.
//! - 1: no version and no stamps in the manifest; read as if all stamps were 0. Segments and images have no stamps (see
//!   [`crate::log::frame`], [`super::extent`]), and the log's end is not noted (see [`crate::log::end`]).
//!
//! The first open makes a folder of an older format one of the present format, before anything new is logged.

use super::extent::Loc;
use crate::definitions::Definitions;
use crate::log::read::LogStart;
use disk::codec::{Get, Put};
use disk::{Io, corrupt, failed};
use std::collections::BTreeMap;
use std::path::Path;
use types::{Error, ErrorCode, Result};

const MAGIC: [u8; 8] = *b"NLMANIF1";
/// What is written. All formats up to it are read.
pub const FORMAT: u32 = 3;
const VERSION: &str = env!("CARGO_PKG_VERSION");
const HEADER_BYTES: usize = 20;

pub const NAME: &str = "manifest";
pub const NEW_NAME: &str = "manifest.new";

/// The images of one table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TableImages {
    pub leaf_shift: u8,
    pub auto_increment: u64,
    pub leaves: BTreeMap<u64, Loc>,
}

/// How much of a file is of use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FileUse {
    pub bytes: u64,
    pub live: u64,
    /// What its images are sealed with; 0 in files of format 1.
    pub stamp: u64,
}

/// See the module head.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Manifest {
    /// In which it was read.
    pub format: u32,
    pub number: u64,
    /// Images have the rows that a snapshot at this timestamp saw.
    pub ts: u64,
    pub log: LogStart,
    pub definitions: Definitions,
    pub next_file: u64,
    pub files: BTreeMap<u64, FileUse>,
    pub tables: BTreeMap<u64, TableImages>,
}

impl Manifest {
    /// Of an empty database, whose log begins with the segment of this stamp.
    pub fn empty(stamp: u64) -> Manifest {
        Manifest {
            format: FORMAT,
            number: 0,
            ts: 1,
            log: LogStart { segment: 1, lsn: 0, synced_lsn: 0, stamp },
            definitions: Definitions::default(),
            next_file: 1,
            files: BTreeMap::new(),
            tables: BTreeMap::new(),
        }
    }

    /// The leaf's image is this one now, or there is none.
    pub fn set_image(&mut self, table: u64, leaf_no: u64, loc: Option<Loc>) {
        let Some(images) = self.tables.get_mut(&table) else { return };
        let before = match loc {
            Some(loc) => images.leaves.insert(leaf_no, loc),
            None => images.leaves.remove(&leaf_no),
        };
        if let Some(loc) = loc {
            self.files.entry(loc.file).or_default().live += loc.len;
        }
        self.release(before);
    }

    fn release(&mut self, loc: Option<Loc>) {
        if let Some(loc) = loc
            && let Some(file) = self.files.get_mut(&loc.file)
        {
            file.live = file.live.saturating_sub(loc.len);
        }
    }

    pub fn drop_table(&mut self, table: u64) {
        let images = self.tables.remove(&table).unwrap_or_default();
        for loc in images.leaves.into_values() {
            self.release(Some(loc));
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.put_u32(FORMAT);
        out.put_bytes(VERSION.as_bytes());
        let log = self.log;
        for v in [self.number, self.ts, log.segment, log.lsn, log.synced_lsn, log.stamp, self.next_file] {
            out.put_varint(v);
        }
        self.definitions.put(&mut out);
        out.put_varint(self.files.len() as u64);
        for (number, file) in &self.files {
            [*number, file.bytes, file.live, file.stamp].into_iter().for_each(|v| out.put_varint(v));
        }
        out.put_varint(self.tables.len() as u64);
        for (id, t) in &self.tables {
            out.put_varint(*id);
            out.put_u8(t.leaf_shift);
            out.put_varint(t.auto_increment);
            out.put_varint(t.leaves.len() as u64);
            let mut last = 0;
            for (leaf_no, loc) in &t.leaves {
                [leaf_no - last, loc.file, loc.offset, loc.len].into_iter().for_each(|v| out.put_varint(v));
                last = *leaf_no;
            }
        }
        let mut bytes = MAGIC.to_vec();
        bytes.put_u64(out.len() as u64);
        bytes.put_u32(crc32c::crc32c(&out));
        bytes.append(&mut out);
        bytes
    }

    fn from_body(body: &[u8]) -> Option<Manifest> {
        let get = &mut Get(body);
        let format = get.u32()?;
        let stamp = |get: &mut Get<'_>| if format == 1 { Some(0) } else { get.varint() };
        if format > 1 {
            get.text()?;
        }
        let mut manifest = Manifest { format, number: get.varint()?, ts: get.varint()?, ..Manifest::empty(0) };
        manifest.log =
            LogStart { segment: get.varint()?, lsn: get.varint()?, synced_lsn: get.varint()?, stamp: stamp(get)? };
        manifest.next_file = get.varint()?;
        manifest.definitions = Definitions::get(get)?;
        for _ in 0..get.count(body.len())? {
            let (number, bytes, live) = (get.varint()?, get.varint()?, get.varint()?);
            manifest.files.insert(number, FileUse { bytes, live, stamp: stamp(get)? });
        }
        for _ in 0..get.count(body.len())? {
            let id = get.varint()?;
            let mut t = TableImages { leaf_shift: get.u8()?, auto_increment: get.varint()?, leaves: BTreeMap::new() };
            let mut leaf_no = 0u64;
            for _ in 0..get.count(body.len())? {
                leaf_no = leaf_no.checked_add(get.varint()?)?;
                let loc = Loc { file: get.varint()?, offset: get.varint()?, len: get.varint()? };
                manifest.files.get(&loc.file)?;
                t.leaves.insert(leaf_no, loc);
            }
            manifest.tables.insert(id, t);
        }
        get.is_empty().then_some(manifest)
    }

    /// Puts the manifest in place of the one that is there. When this returns it is on stable storage, name and all.
    pub fn switch(&self, io: &dyn Io, dir: &Path) -> std::result::Result<(), SwitchError> {
        let (new, path) = (dir.join(NEW_NAME), dir.join(NAME));
        let before = |what: &str, e: std::io::Error| SwitchError::Before(failed(what, &new, &e));
        let file = io.create(&new).map_err(|e| before("create", e))?;
        file.write_at(&self.to_bytes(), 0).map_err(|e| before("write", e))?;
        file.sync().map_err(|e| before("sync", e))?;
        // The names of the files that it speaks of come first.
        io.sync_dir(dir).map_err(|e| SwitchError::Before(failed("sync", dir, &e)))?;
        io.rename(&new, &path).map_err(|e| SwitchError::After(failed("rename", &new, &e)))?;
        io.sync_dir(dir).map_err(|e| SwitchError::After(failed("sync", dir, &e)))
    }

    /// The manifest of a folder; `None` if it has none.
    pub fn read(io: &dyn Io, dir: &Path) -> Result<Option<Manifest>> {
        let path = dir.join(NAME);
        let bytes = match disk::read_all(io, &path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(failed("read", &path, &e)),
        };
        let mut get = Get(&bytes);
        let header = (|| Some((get.array::<8>()?, get.u64()?, get.u32()?)))();
        let Some((MAGIC, len, crc)) = header else { return Err(corrupt(&path, 0, "it is no manifest")) };
        if len != get.0.len() as u64 || crc32c::crc32c(get.0) != crc {
            return Err(corrupt(&path, HEADER_BYTES as u64, "the checksum of the manifest is bad"));
        }
        check_format(&path, get.0)?;
        let manifest = Manifest::from_body(get.0);
        manifest.map(Some).ok_or_else(|| corrupt(&path, HEADER_BYTES as u64, "the manifest makes no sense"))
    }
}

fn check_format(path: &Path, body: &[u8]) -> Result<()> {
    let mut get = Get(body);
    let format = get.u32().unwrap_or(0);
    if (1..=FORMAT).contains(&format) {
        return Ok(());
    }
    if format == 0 {
        return Err(corrupt(path, HEADER_BYTES as u64, "it has no format"));
    }
    let (path, version) = (path.display(), get.text().unwrap_or("unknown"));
    let what = format!(
        "{path} has format {format}, written by Nextleaf {version}; this is Nextleaf {VERSION}, which knows formats up to \
         {FORMAT}: open the folder with version {version} or a later one"
    );
    Err(Error::new(ErrorCode::GET_ERRNO, what))
}

/// Where a switch failed.
#[derive(Debug)]
pub enum SwitchError {
    /// The old manifest stands.
    Before(Error),
    /// Nobody knows which one stands.
    After(Error),
}

#[cfg(test)]
mod tests {
    use super::*;
    use disk::SimIo;

    /// Whatever a later format has behind its version, the message says which version wrote it.
    #[test]
    fn a_folder_of_a_newer_format_is_refused_by_name() {
        let (io, dir) = (SimIo::default(), Path::new("/d"));
        let manifest = Manifest::empty(7);
        assert!(manifest.switch(&io, dir).is_ok());
        assert_eq!(Manifest::read(&io, dir).expect("it is good"), Some(manifest));
        let mut body = Vec::new();
        body.put_u32(FORMAT + 1);
        body.put_bytes(b"9.8.7");
        body.extend_from_slice(&[0xFF; 100]);
        let mut bytes = MAGIC.to_vec();
        bytes.put_u64(body.len() as u64);
        bytes.put_u32(crc32c::crc32c(&body));
        bytes.append(&mut body);
        io.set_bytes(&dir.join(NAME), bytes);
        let e = Manifest::read(&io, dir).expect_err("it is newer");
        assert!(e.message().starts_with("/d/manifest has format 4, written by Nextleaf 9.8.7; "), "{e}");
    }
}
