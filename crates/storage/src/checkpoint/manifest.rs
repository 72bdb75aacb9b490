//! The manifest: which images count, and which log follows them.
//!
//! ```text
//!   | magic 8 | length of the rest 8 | crc 4 | format 4 | checkpoint number | T | log | definitions | files | tables |
//! ```
//! All numbers behind the format are varints; leaf numbers are deltas.

use super::extent::Loc;
use crate::codec::{Get, Put};
use crate::definitions::Definitions;
use crate::io::{self, Io, corrupt, failed};
use crate::log::read::LogStart;
use std::collections::BTreeMap;
use std::path::Path;
use types::{Error, Result};

const MAGIC: [u8; 8] = *b"NLMANIF1";
const FORMAT: u32 = 1;
const HEADER_BYTES: usize = 20;

pub const NAME: &str = "manifest";
const NEW_NAME: &str = "manifest.new";

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
}

/// See the module head.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Manifest {
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
    /// Of an empty database.
    pub fn empty() -> Manifest {
        Manifest {
            number: 0,
            ts: 1,
            log: LogStart { segment: 1, lsn: 0, synced_lsn: 0 },
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
        for v in [self.number, self.ts, self.log.segment, self.log.lsn, self.log.synced_lsn, self.next_file] {
            out.put_varint(v);
        }
        self.definitions.put(&mut out);
        out.put_varint(self.files.len() as u64);
        for (number, file) in &self.files {
            [*number, file.bytes, file.live].into_iter().for_each(|v| out.put_varint(v));
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
        get.u32()?;
        let mut manifest = Manifest { number: get.varint()?, ts: get.varint()?, ..Manifest::empty() };
        manifest.log = LogStart { segment: get.varint()?, lsn: get.varint()?, synced_lsn: get.varint()? };
        manifest.next_file = get.varint()?;
        manifest.definitions = Definitions::get(get)?;
        for _ in 0..get.count(body.len())? {
            let (number, bytes, live) = (get.varint()?, get.varint()?, get.varint()?);
            manifest.files.insert(number, FileUse { bytes, live });
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
        let bytes = match io::read_all(io, &path) {
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
        if get.0.get(..4) != Some(&FORMAT.to_le_bytes()[..]) {
            return Err(corrupt(&path, HEADER_BYTES as u64, "the format is none that this version knows"));
        }
        let manifest = Manifest::from_body(get.0);
        manifest.map(Some).ok_or_else(|| corrupt(&path, HEADER_BYTES as u64, "the manifest makes no sense"))
    }
}

/// Where a switch failed.
#[derive(Debug)]
pub enum SwitchError {
    /// The old manifest stands.
    Before(Error),
    /// Nobody knows which one stands.
    After(Error),
}
