//! All durable bytes go through [`Io`]: the real disk, or one in memory that loses power on request.
//!
//! - [`RealIo`]: files of the operating system, with the [`modes`] of a server's.
//! - [`SimIo`]: files in memory with the worst behaviour that a disk may show: what was not synced is lost, or kept in
//!   part and in any order of sectors; a name is lost until its directory is synced; calls fail on request.
//!
//! What callers may rely on
//! 1. After `File::sync` returns Ok, everything written to the file before is there after a power cut.
//! 2. After `Io::sync_dir` returns Ok, so are all names made, renamed and removed in the directory before.
//! 3. After a failed `sync` nothing is known of the writes before it, and syncing again proves nothing: the system may
//!    have dropped them. Files that matter must not be used further.

pub mod codec;
pub mod modes;
mod real;
mod sim;

pub use real::RealIo;
pub use sim::{Fault, SimIo};

use std::fmt::Debug;
use std::io;
use std::path::Path;
use std::sync::Arc;
use types::{Error, ErrorCode};

/// A file system.
pub trait Io: Debug + Send + Sync {
    /// A new empty file; one that exists is emptied.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>>;
    /// A file that exists.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>>;
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Names of the files in a directory, ascending.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;
    fn create_dir(&self, dir: &Path) -> io::Result<()>;
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Locks a file, which is made if need be, until the answer is dropped. `WouldBlock` if another has it.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Lock>>;
}

/// An open file.
pub trait File: Debug + Send + Sync {
    /// Writes all of `bytes`.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Fills all of `buf`; `UnexpectedEof` where the file ends.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()>;
    fn len(&self) -> io::Result<u64>;
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Returns once everything written before is on stable storage.
    fn sync(&self) -> io::Result<()>;
}

/// A locked file; dropping unlocks it.
pub trait Lock: Debug + Send + Sync {}

/// The whole file.
pub fn read_all(io: &dyn Io, path: &Path) -> io::Result<Vec<u8>> {
    let file = io.open(path)?;
    let mut bytes = vec![0; file.len()? as usize];
    file.read_at(&mut bytes, 0)?;
    Ok(bytes)
}

/// An I/O call failed.
pub fn failed(what: &str, path: &Path, e: &io::Error) -> Error {
    Error::new(ErrorCode::GET_ERRNO, format!("cannot {what} {}: {e}", path.display()))
}

/// What to do about a folder that is refused.
const REMEDY: &str = "put the file back as it was, or restore the whole folder from a backup";

/// A file's bytes are not what was written.
pub fn corrupt(path: &Path, offset: u64, what: impl std::fmt::Display) -> Error {
    let path = path.display();
    Error::new(ErrorCode::GET_ERRNO, format!("{path} is damaged at offset {offset}: {what}; {REMEDY}"))
}

/// A file is needed and not there.
pub fn missing(path: &Path, why: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::GET_ERRNO, format!("{} is missing: {why}; {REMEDY}", path.display()))
}
