//! The operating system's files.

use super::{File, Io, Lock, modes};
use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// See the module head.
#[derive(Debug, Default, Clone, Copy)]
pub struct RealIo;

impl Io for RealIo {
    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let mut options = fs::OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true);
        Ok(Arc::new(modes::open(&mut options, path, modes::FILE)?))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let file = fs::OpenOptions::new().read(true).write(true).open(path)?;
        modes::narrow(&file, modes::FILE)?;
        Ok(Arc::new(file))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                names.extend(entry.file_name().into_string());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        modes::create_dir(dir)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        fs::File::open(dir)?.sync_all()
    }

    /// The folder is locked with the file: the file may be deleted while it is locked, and made anew by another
    /// process.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Lock>> {
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(false);
        let file = modes::open(&mut options, path, modes::FILE)?;
        let dir = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let dir = fs::File::open(dir)?;
        for locked in [&file, &dir] {
            match locked.try_lock() {
                Ok(()) => {}
                Err(fs::TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
                // Not every file system locks folders.
                Err(fs::TryLockError::Error(_)) if std::ptr::eq(locked, &dir) => {}
                Err(fs::TryLockError::Error(e)) => return Err(e),
            }
        }
        Ok(Box::new(Locked { _files: [file, dir] }))
    }
}

#[derive(Debug)]
struct Locked {
    _files: [fs::File; 2],
}

impl Lock for Locked {}

impl File for fs::File {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_exact_at(buf, offset)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}
