//! A log's file: opened by the first record, or by who has another for it.
//!
//! Records are written to the open file under a latch that changing the file takes, too: each is in one of the two.

use parking_lot::Mutex;
use std::fs::File;
use std::io::{self, Write};

/// A log's file, while it is open.
#[derive(Debug, Default)]
pub struct LogFile(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    file: Option<File>,
    /// Nothing was written since it was opened.
    is_fresh: bool,
    /// The latest record could not be written, which was told.
    is_faulty: bool,
}

impl LogFile {
    /// Appends a record, in one write. `open` where no file is open; `record` is told whether it is the first since. Of
    /// errors in a row the first is given: a log that cannot be written must not fail statements.
    pub fn write(
        &self,
        open: impl FnOnce() -> io::Result<File>,
        record: impl FnOnce(bool, &mut Vec<u8>),
    ) -> io::Result<()> {
        let mut state = self.0.lock();
        let written = state.write(open, record);
        let was_faulty = std::mem::replace(&mut state.is_faulty, written.is_err());
        if was_faulty { Ok(()) } else { written }
    }

    /// Records go there from now on; without a file, where the next one opens it.
    pub fn switch(&self, file: Option<File>) {
        let before = std::mem::replace(&mut *self.0.lock(), Open { file, is_fresh: true, is_faulty: false });
        drop(before);
    }
}

impl Open {
    fn write(
        &mut self,
        open: impl FnOnce() -> io::Result<File>,
        record: impl FnOnce(bool, &mut Vec<u8>),
    ) -> io::Result<()> {
        let Open { file, is_fresh, .. } = self;
        let file = match file {
            Some(file) => file,
            none => {
                *is_fresh = true;
                none.insert(open()?)
            }
        };
        let mut bytes = Vec::new();
        record(std::mem::take(is_fresh), &mut bytes);
        file.write_all(&bytes)
    }
}
