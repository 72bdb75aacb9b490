//! Where a path leads. What is there is opened so that it can be looked at and nothing else happens (no pipe waits, no
//! device moves), is judged, and is then opened for use as the very thing that was judged, whatever its name has come
//! to mean since.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, Stat};

use super::modes;

/// Something that is there: open(2), O_PATH.
#[derive(Debug)]
pub(super) struct Found(OwnedFd);

impl Found {
    pub(super) fn at_path(path: &Path) -> io::Result<Found> {
        Ok(Found(rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?))
    }

    /// A name in the folder that this is; a symbolic link is found itself, not what it leads to.
    pub(super) fn name(&self, name: &OsStr) -> io::Result<Found> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Found(rustix::fs::openat(&self.0, name, flags, Mode::empty())?))
    }

    /// Its path without links.
    pub(super) fn real_path(&self) -> io::Result<PathBuf> {
        std::fs::read_link(self.alias())
    }

    /// A path that leads here and nowhere else, as long as this lives.
    pub(super) fn alias(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()))
    }

    pub(super) fn stat(&self) -> io::Result<Stat> {
        Ok(rustix::fs::fstat(&self.0)?)
    }

    pub(super) fn file_type(&self) -> io::Result<FileType> {
        Ok(FileType::from_raw_mode(self.stat()?.st_mode))
    }

    pub(super) fn reopen(&self, options: &OpenOptions) -> io::Result<File> {
        options.open(self.alias())
    }

    /// A new file in the folder that this is; `AlreadyExists` whatever has the name.
    pub(super) fn create_file(&self, name: &OsStr) -> io::Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&self.0, name, flags, Mode::from_raw_mode(modes::FILE))?);
        modes::set(&file, modes::FILE)?;
        Ok(file)
    }

    /// A new folder in the folder that this is.
    pub(super) fn create_dir(&self, name: &OsStr) -> io::Result<Found> {
        rustix::fs::mkdirat(&self.0, name, Mode::from_raw_mode(modes::DIR))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = File::from(rustix::fs::openat(&self.0, name, flags, Mode::empty())?);
        modes::set(&dir, modes::DIR)?;
        Ok(Found(dir.into()))
    }
}

impl AsFd for Found {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
