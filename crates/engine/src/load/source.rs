//! The file of LOAD DATA on the server's machine: a regular file, or a named pipe as the manual has it.
//!
//! A pipe is waited for: for somebody to write into it, and for more. So it is opened without blocking and polled, and
//! between polls the statement may be stopped. Devices, sockets and folders are no text files (1085).

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use types::{Error, Result};

/// What a load reads.
pub(super) struct Source<'a> {
    /// Of a regular file, in bytes.
    pub length: u64,
    pub input: Box<dyn Read + 'a>,
}

/// Of an open file; a pipe is one that does not block. `check_killed`: an error once the statement is to stop.
pub(super) fn of_file<'a>(file: File, length: u64, check_killed: &'a dyn Fn() -> Result<()>) -> Result<Source<'a>> {
    let kind = file.metadata().map_err(|e| Error::error_on_read("LOAD DATA", e.raw_os_error().unwrap_or(0), e))?;
    let input: Box<dyn Read + 'a> = match kind.file_type().is_fifo() {
        true => Box::new(Pipe { file, check_killed }),
        false => Box::new(file),
    };
    Ok(Source { length, input })
}

/// How long a poll waits.
const SLICE: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// A named pipe, opened without blocking.
struct Pipe<'a> {
    file: File,
    check_killed: &'a dyn Fn() -> Result<()>,
}

impl Read for Pipe<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            (self.check_killed)().map_err(io::Error::other)?;
            // Without a writer a read would answer the end. A poll tells the end, a writer that has gone, from a pipe
            // that nobody has written into yet.
            let mut fds = [PollFd::new(&self.file, PollFlags::IN)];
            match poll(&mut fds, Some(&SLICE)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
            if fds[0].revents().is_empty() {
                continue;
            }
            match self.file.read(buf) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                other => return other,
            }
        }
    }
}
