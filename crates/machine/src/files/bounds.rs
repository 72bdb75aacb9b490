//! secure_file_priv: the folder that statements may read files from and write them to.
//!
//! ```text
//!   not given     the folder `files` of the data folder, which is made
//!   a folder      that one, which has to be there
//!   ''            any, but for the server's own: in the data folder all but `files`
//!   NULL          none
//! ```
//! What counts is where a path leads, not how it is written; and what is used is what was judged ([`Found`]). Whether
//! something is there is told of allowed places only. A database in memory has no folder and no bound of its own.
//!
//! Source: MySQL manual, "Server System Variables", secure_file_priv.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, OFlags};
use types::{Error, ErrorCode, Result};

use super::found::Found;
use super::modes;

/// The folder of the data folder that is for users' files.
const USERS: &str = "files";

#[derive(Debug)]
enum Allowed {
    Nothing,
    Anywhere,
    /// Without links.
    Below(PathBuf),
}

/// See the module head.
#[derive(Debug)]
pub struct Bounds {
    /// Where relative paths begin.
    base: PathBuf,
    /// The data folder, without links.
    data: Option<PathBuf>,
    allowed: Allowed,
}

/// A folder to write into.
#[derive(Debug)]
pub struct NewDir {
    found: Found,
    shown: PathBuf,
}

impl NewDir {
    /// Leads to the folder that was judged, as long as this lives.
    pub fn path(&self) -> PathBuf {
        self.found.alias()
    }

    /// The error as the user knows the folder.
    pub fn explain(&self, e: Error) -> Error {
        let shown = e.message().replace(&*self.path().to_string_lossy(), &self.shown.to_string_lossy());
        Error::new(e.code(), shown)
    }
}

impl Bounds {
    /// Of a database in `dir`, with the value of secure_file_priv, if it was given one.
    pub fn new(dir: Option<&Path>, given: Option<&str>) -> Result<Bounds> {
        let base = dir.map_or_else(PathBuf::new, Path::to_owned);
        let failed = |path: &Path, e: &io::Error| {
            let what = "Failed to access directory for --secure-file-priv. Please make sure that directory exists and is \
                        accessible by MySQL Server. Supplied value";
            Error::new(ErrorCode::GET_ERRNO, format!("{what} : {} ({e})", path.display()))
        };
        let data = dir.map(|d| d.canonicalize().map_err(|e| crate::io_error("open", d, &e))).transpose()?;
        let allowed = match (given, dir) {
            (Some(given), _) if given.eq_ignore_ascii_case("NULL") => Allowed::Nothing,
            (Some(""), _) | (None, None) => Allowed::Anywhere,
            (Some(given), _) => {
                let path = base.join(given);
                let real = path.canonicalize().map_err(|e| failed(Path::new(given), &e))?;
                if !real.is_dir() {
                    return Err(failed(Path::new(given), &ErrorKind::NotADirectory.into()));
                }
                Allowed::Below(real)
            }
            (None, Some(dir)) => {
                let path = dir.join(USERS);
                modes::create_dir(&path).map_err(|e| crate::io_error("create", &path, &e))?;
                Allowed::Below(path.canonicalize().map_err(|e| failed(&path, &e))?)
            }
        };
        Ok(Bounds { base, data, allowed })
    }

    /// What the variable shows.
    pub fn shown(&self) -> String {
        match &self.allowed {
            Allowed::Nothing => "NULL".into(),
            Allowed::Anywhere => String::new(),
            Allowed::Below(dir) => format!("{}/", dir.display()),
        }
    }

    /// What should be said of it at the start.
    pub fn warning(&self) -> Option<String> {
        let wide = match (&self.allowed, &self.data) {
            (Allowed::Anywhere, _) => "Current value does not restrict location of generated files",
            (Allowed::Below(dir), Some(data)) if data.starts_with(dir) => "Data directory is accessible through it",
            (Allowed::Below(dir), _) if dir.metadata().is_ok_and(|m| m.mode() & 0o007 != 0) => {
                "Location is accessible to all OS users"
            }
            _ => return None,
        };
        Some(format!("Insecure configuration for --secure-file-priv: {wide}. Consider choosing a different directory."))
    }

    fn refused() -> Error {
        Error::option_prevents_statement("--secure-file-priv")
    }

    /// Whether statements may use a file or folder there. `real`: without links.
    fn allows(&self, real: &Path) -> bool {
        let in_bounds = match &self.allowed {
            Allowed::Nothing => false,
            Allowed::Anywhere => true,
            Allowed::Below(dir) => real.starts_with(dir),
        };
        in_bounds && !self.is_own(real) && !real.starts_with("/proc")
    }

    /// Whether it lies where the server's own files do. A folder within it that secure_file_priv names is not meant.
    fn is_own(&self, real: &Path) -> bool {
        let Some(data) = &self.data else { return false };
        let named = match &self.allowed {
            Allowed::Below(dir) => dir != data && dir.starts_with(data) && real.starts_with(dir),
            _ => false,
        };
        real.starts_with(data) && !real.starts_with(data.join(USERS)) && !named
    }

    /// Why nothing is found at a path: told only of places where something may be found.
    fn missing(&self, path: &Path, e: io::Error, told: impl Fn(io::Error) -> Error) -> Error {
        let anywhere = matches!(self.allowed, Allowed::Anywhere);
        let folder = path.parent().and_then(|parent| parent.canonicalize().ok());
        if anywhere || folder.is_some_and(|folder| self.allows(&folder)) { told(e) } else { Bounds::refused() }
    }

    /// A file of the server's machine, and its length; a named pipe is opened without waiting for its other end.
    /// Relative paths start at the data folder. Error 1290 outside of the bounds, 13 or 29 if it cannot be read.
    pub fn open(&self, path: &str) -> Result<(File, u64)> {
        if matches!(self.allowed, Allowed::Nothing) {
            return Err(Bounds::refused());
        }
        let path = self.base.join(path);
        let failed = |e: io::Error| {
            let (shown, errno) = (path.display(), e.raw_os_error().unwrap_or(0));
            match e.kind() {
                ErrorKind::NotFound => Error::cant_get_stat(shown, errno, "No such file or directory"),
                ErrorKind::PermissionDenied => Error::file_not_readable(shown, errno, "Permission denied"),
                _ => Error::cant_open_file(shown, errno, e),
            }
        };
        let found = match Found::at_path(&path) {
            Ok(found) => found,
            Err(e) => return Err(self.missing(&path, e, failed)),
        };
        if !self.allows(&found.real_path().map_err(failed)?) {
            return Err(Bounds::refused());
        }
        let mut options = OpenOptions::new();
        options.read(true);
        match found.file_type().map_err(failed)? {
            FileType::RegularFile => {}
            // Whoever reads it polls it.
            FileType::Fifo => _ = options.custom_flags(OFlags::NONBLOCK.bits() as i32),
            _ => return Err(Error::textfile_not_readable(path.display())),
        }
        if self.is_another_name_of_own(&found).map_err(failed)? {
            return Err(Bounds::refused());
        }
        let file = found.reopen(&options).map_err(failed)?;
        let len = file.metadata().map_err(failed)?.len();
        Ok((file, len))
    }

    /// A hard link to a file of the data folder.
    fn is_another_name_of_own(&self, found: &Found) -> io::Result<bool> {
        let stat = found.stat()?;
        let Some(data) = self.data.as_ref().filter(|_| stat.st_nlink > 1) else { return Ok(false) };
        for entry in std::fs::read_dir(data)? {
            let meta = entry?.metadata()?;
            if (meta.dev(), meta.ino()) == (stat.st_dev, stat.st_ino) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A folder to write into, made if it is not there, with those above it. Relative paths start at the data folder.
    pub fn make_dir(&self, path: &str) -> Result<NewDir> {
        if matches!(self.allowed, Allowed::Nothing) {
            return Err(Bounds::refused());
        }
        let path = self.base.join(path);
        let failed = |e: io::Error| crate::io_error("create", &path, &e);
        let mut missing: Vec<OsString> = Vec::new();
        let mut above = path.as_path();
        let mut found = loop {
            match (Found::at_path(if above.as_os_str().is_empty() { Path::new(".") } else { above }), above.parent()) {
                (Ok(found), _) => break found,
                (Err(e), Some(parent)) if e.kind() == ErrorKind::NotFound => {
                    // ".." of what is not there
                    let Some(name) = above.file_name() else { return Err(Bounds::refused()) };
                    missing.push(name.to_owned());
                    above = parent;
                }
                (Err(e), _) => return Err(self.missing(above, e, failed)),
            }
        };
        missing.reverse();
        let real = missing.iter().fold(found.real_path().map_err(failed)?, |path, name| path.join(name));
        if !self.allows(&real) {
            return Err(Bounds::refused());
        }
        if found.file_type().map_err(failed)? != FileType::Directory {
            return Err(failed(ErrorKind::NotADirectory.into()));
        }
        for name in &missing {
            found = found.create_dir(name).map_err(failed)?;
        }
        Ok(NewDir { found, shown: path })
    }
}

#[cfg(test)]
mod tests;
