//! The modes of files and folders that a server makes: those of MySQL's (UMASK = 0640, UMASK_DIR = 0750), whatever the
//! umask of whoever starts it.
//!
//! A file is made with no more than its mode, so that it is at no time open to more, and then given all of it.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Data, logs: the owner's, and readable to its group.
pub const FILE: u32 = 0o640;
/// Folders of them.
pub const DIR: u32 = 0o750;
/// Private keys, temporary files.
pub const SECRET: u32 = 0o600;
/// Certificates and public keys.
pub const PUBLIC: u32 = 0o644;

/// Opens a file of the server's own, which has this mode from now on if it may be made.
pub fn open(options: &mut OpenOptions, path: &Path, mode: u32) -> io::Result<File> {
    let file = options.mode(mode).open(path)?;
    set(&file, mode)?;
    Ok(file)
}

/// Gives a file its mode. One of another owner keeps what it has.
pub fn set(file: &File, mode: u32) -> io::Result<()> {
    if file.metadata()?.mode() & 0o7777 == mode {
        return Ok(());
    }
    match rustix::fs::fchmod(file, Mode::from_raw_mode(mode)) {
        Err(rustix::io::Errno::PERM) | Ok(()) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

/// Takes from a file that is there what is beyond the mode.
pub fn narrow(file: &File, mode: u32) -> io::Result<()> {
    let now = file.metadata()?.mode() & 0o7777;
    if now & !mode == 0 { Ok(()) } else { set(file, now & mode) }
}

/// Makes a folder, and those above it that are missing.
pub fn create_dir(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
        create_dir(parent)?;
    }
    match DirBuilder::new().mode(DIR).create(path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => return Ok(()),
        made => made?,
    }
    // what was made, not what may have taken its place
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    set(&rustix::fs::open(path, flags, Mode::empty())?.into(), DIR)
}
