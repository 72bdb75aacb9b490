//! Files that the server writes lines to, where an option or SET GLOBAL says: logs, and the file of its process's
//! number.
//!
//! Such a name must not become a way to write into anything else. A new file is made under any name but those of option
//! files (`.cnf`, `.ini`) and of a database's own files, and in the data folder at its top or in `files` only. A file
//! that is there has to be an ordinary one without further names, and empty or begun by this server: by its first line
//! it is known. Links are followed in the folders above it, and never at the name itself.
//!
//! MySQL refuses option files, too; of others it takes what it can write.

use std::ffi::OsString;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::found::Found;

/// What a file is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The general or the slow query log.
    Queries,
    /// The server's own log.
    Errors,
    /// Holds the number of the process.
    Pid,
}

/// Why a file is not written to, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Refused {
    pub fn new(path: &Path, why: impl fmt::Display) -> Refused {
        Refused(format!("{}: {why}", path.display()))
    }
}

/// As much of a file as tells whose it is.
const HEAD_BYTES: usize = 256;

impl Kind {
    /// Whether a file that begins so was begun by this server.
    fn has_begun(self, head: &[u8]) -> bool {
        let line = head.split(|b| *b == b'\n').next().unwrap_or_default();
        match self {
            Kind::Queries => line.starts_with(b"nextleaf, Version: ") && line.ends_with(b". started with:"),
            // 2026-01-31T08:30:00.123456Z [System] ...
            Kind::Errors => {
                let form = b"0000-00-00T00:00:00.000000Z [";
                let is_like = |(b, f): (&u8, &u8)| if *f == b'0' { b.is_ascii_digit() } else { b == f };
                line.len() > form.len() && line.iter().zip(form).all(is_like)
            }
            Kind::Pid => {
                let digits = head.strip_suffix(b"\n").unwrap_or(head);
                !digits.is_empty() && digits.len() < 20 && digits.iter().all(u8::is_ascii_digit)
            }
        }
    }

    /// The lines that a new file begins with.
    fn beginning(self) -> String {
        match self {
            Kind::Queries => format!(
                "nextleaf, Version: {}. started with:\nTime                 Id Command    Argument\n",
                types::VERSION
            ),
            Kind::Errors | Kind::Pid => String::new(),
        }
    }
}

/// A name in a folder that is open.
struct Place {
    folder: Found,
    name: OsString,
    /// Without links, but perhaps for the name's own.
    real: PathBuf,
}

impl Place {
    fn find(data: Option<&Path>, path: &Path) -> Result<Place, Refused> {
        let name = path.file_name().ok_or_else(|| Refused::new(path, "it names no file"))?.to_owned();
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = Found::at_path(folder).map_err(|e| Refused::new(path, e))?;
        let real = folder.real_path().map_err(|e| Refused::new(path, e))?.join(&name);
        let place = Place { folder, name, real };
        let data = data.map(Path::canonicalize).transpose().map_err(|e| Refused::new(path, e))?;
        place.check_name(data.as_deref())?;
        Ok(place)
    }

    fn check_name(&self, data: Option<&Path>) -> Result<(), Refused> {
        let name = self.name.to_string_lossy().to_ascii_lowercase();
        let is_own = name.starts_with("manifest")
            || name.starts_with("redo-") && name.ends_with(".log")
            || name.starts_with("data-") && name.ends_with(".nlx")
            || name.ends_with(".pem")
            || name.ends_with(".pem.tmp")
            || matches!(&*name, "redo.new" | "redo.end" | "redo.end.new" | "nextleaf.lock" | "tmp" | "files");
        let in_part_of_data = data.is_some_and(|data| {
            let folder = self.real.parent().unwrap_or(&self.real);
            folder.starts_with(data) && folder != data && !folder.starts_with(data.join("files"))
        });
        let why = if name.ends_with(".cnf") || name.ends_with(".ini") {
            "option files are not written to"
        } else if is_own {
            "a database's own files have such names"
        } else if in_part_of_data {
            "it lies in the data folder's own folders"
        } else if self.real.starts_with("/proc") || self.real.starts_with("/sys") {
            "it is the system's"
        } else {
            return Ok(());
        };
        Err(Refused::new(&self.real, why))
    }

    /// What has the name, if it is fit.
    fn existing(&self, kind: Kind) -> Result<Option<Found>, Refused> {
        let failed = |e: io::Error| Refused::new(&self.real, e);
        let found = match self.folder.name(&self.name) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            found => found.map_err(failed)?,
        };
        if found.file_type().map_err(failed)? != FileType::RegularFile {
            return Err(Refused::new(&self.real, "it is no ordinary file"));
        }
        let stat = found.stat().map_err(failed)?;
        if stat.st_nlink != 1 {
            return Err(Refused::new(&self.real, "it has other names, too"));
        }
        if stat.st_size == 0 {
            return Ok(Some(found));
        }
        let mut head = Vec::new();
        let file = found.reopen(OpenOptions::new().read(true)).map_err(failed)?;
        file.take(HEAD_BYTES as u64).read_to_end(&mut head).map_err(failed)?;
        if !kind.has_begun(&head) {
            return Err(Refused::new(&self.real, "it exists, and is no such file of this server's"));
        }
        Ok(Some(found))
    }

    fn open(&self, kind: Kind) -> Result<File, Refused> {
        let failed = |e: io::Error| Refused::new(&self.real, e);
        // Others may make and remove it between two looks, but not for ever.
        for _ in 0..10 {
            if let Some(found) = self.existing(kind)? {
                return found.reopen(OpenOptions::new().append(true)).map_err(failed);
            }
            match self.folder.create_file(&self.name) {
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                made => return made.map_err(failed),
            }
        }
        Err(failed(ErrorKind::AlreadyExists.into()))
    }
}

/// Where the name leads: without links, but perhaps for its own.
pub fn place(data: Option<&Path>, path: &Path) -> Result<PathBuf, Refused> {
    Place::find(data, &data.unwrap_or(Path::new("")).join(path)).map(|place| place.real)
}

/// Whether the file could be written to, as far as can be told without making it: its path without links. Relative
/// paths start at the data folder.
pub fn check(data: Option<&Path>, path: &Path, kind: Kind) -> Result<PathBuf, Refused> {
    let place = Place::find(data, &data.unwrap_or(Path::new("")).join(path))?;
    if place.existing(kind)?.is_none() {
        let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        rustix::fs::access(place.folder.alias(), access).map_err(|e| Refused::new(path, e))?;
    }
    Ok(place.real)
}

/// Opens the file to write at its end; begins it if it is new or empty.
pub fn open(data: Option<&Path>, path: &Path, kind: Kind) -> Result<File, Refused> {
    let place = Place::find(data, &data.unwrap_or(Path::new("")).join(path))?;
    let mut file = place.open(kind)?;
    let begin = |file: &mut File| match kind {
        Kind::Pid => {
            file.set_len(0)?;
            file.write_all(format!("{}\n", std::process::id()).as_bytes())
        }
        _ if file.metadata()?.len() == 0 => file.write_all(kind.beginning().as_bytes()),
        _ => Ok(()),
    };
    begin(&mut file).map_err(|e| Refused::new(&place.real, e))?;
    Ok(file)
}
