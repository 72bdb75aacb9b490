//! The input of a load, cut into blocks of whole lines.
//!
//! Without an enclosing character a line ends at every line terminator that is not escaped, so the last one of a buffer
//! is found from behind. With one, whether a terminator counts depends on everything before it: the fields are walked
//! through, which is still several times faster than converting them.

use super::fields::{Scanner, find};
use super::format::Format;
use executor::{MemoryAccountant, Reservation};
use std::io::Read;
use std::sync::Arc;
use types::{Error, ErrorCode, Result};

/// A block has about so many bytes, unless one line has more.
pub const BLOCK_BYTES: usize = 2 << 20;
/// Blocks longer than this are charged.
const LONG_BYTES: usize = 4 * BLOCK_BYTES;
/// The longest line.
const LINE_BYTES_MAX: usize = 1 << 30;

/// A run of whole lines; the last line of the input may lack its end.
#[derive(Debug)]
pub struct Block {
    /// Counts from 0 in the order of the input.
    pub number: u64,
    pub bytes: Vec<u8>,
    /// No block follows.
    pub last: bool,
    _memory: Reservation,
}

/// Reads blocks.
pub struct BlockReader<'a> {
    input: &'a mut dyn Read,
    format: &'a Format,
    /// Lines still to be skipped at the beginning.
    ignore_lines: u64,
    carry: Vec<u8>,
    number: u64,
    eof: bool,
    bytes_read: u64,
    /// For a line that is long.
    memory: Reservation,
}

impl<'a> BlockReader<'a> {
    /// `memory`: what lines that are longer than a block are charged to.
    pub fn new(
        input: &'a mut dyn Read,
        format: &'a Format,
        ignore_lines: u64,
        memory: &Arc<MemoryAccountant>,
    ) -> BlockReader<'a> {
        let memory = Reservation::new(memory);
        BlockReader { input, format, ignore_lines, carry: Vec::new(), number: 0, eof: false, bytes_read: 0, memory }
    }

    /// Bytes of the input read so far.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    /// The next block; `None` at the end of the input.
    pub fn next_block(&mut self) -> Result<Option<Block>> {
        let mut bytes = std::mem::take(&mut self.carry);
        loop {
            self.fill(&mut bytes)?;
            while self.ignore_lines > 0 {
                let Some(end) = find(&bytes, &self.format.line_end) else { break };
                bytes.drain(..end + self.format.line_end.len());
                self.ignore_lines -= 1;
            }
            if self.eof {
                if self.ignore_lines > 0 || bytes.is_empty() {
                    return Ok(None);
                }
                return Ok(Some(self.number(bytes)));
            }
            let end = if self.ignore_lines > 0 { 0 } else { lines_end(self.format, &bytes) };
            if end > 0 {
                self.carry = Vec::with_capacity(BLOCK_BYTES + (BLOCK_BYTES >> 2));
                self.carry.extend_from_slice(&bytes[end..]);
                bytes.truncate(end);
                return Ok(Some(self.number(bytes)));
            }
            if bytes.len() > LINE_BYTES_MAX {
                return Err(Error::new(ErrorCode::OUT_OF_RESOURCES, "A line of the file is longer than 1 GiB"));
            }
        }
    }

    fn number(&mut self, bytes: Vec<u8>) -> Block {
        let number = self.number;
        self.number += 1;
        Block { number, bytes, last: self.eof, _memory: self.memory.take() }
    }

    /// Reads until the buffer has a block's bytes, or one buffer more than it had.
    fn fill(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        let wanted = if bytes.len() < BLOCK_BYTES { BLOCK_BYTES } else { bytes.len() * 2 };
        let mut have = bytes.len();
        if wanted > LONG_BYTES {
            // Its fields are copied.
            self.memory.hold(2 * wanted, "A line of the file")?;
        }
        bytes.resize(wanted, 0);
        while have < wanted {
            match self.input.read(&mut bytes[have..]) {
                Ok(0) => {
                    self.eof = true;
                    break;
                }
                Ok(n) => {
                    have += n;
                    self.bytes_read += n as u64;
                }
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(read_error(e)),
            }
        }
        bytes.truncate(have);
        Ok(())
    }
}

/// What a reader of our own failed with, or the system's error.
fn read_error(e: std::io::Error) -> Error {
    let errno = e.raw_os_error().unwrap_or(0);
    match e.downcast::<Error>() {
        Ok(own) => own,
        Err(e) => Error::error_on_read("LOAD DATA", errno, e),
    }
}

/// Where the last whole line of `bytes`, which begin a line, ends; 0 if there is none.
fn lines_end(format: &Format, bytes: &[u8]) -> usize {
    if format.enclosed.is_some() {
        let mut scanner = Scanner::new(format, bytes);
        let mut end = 0;
        loop {
            if !scanner.next_line() {
                return end;
            }
            while scanner.has_field() {
                scanner.next_field();
            }
            // A line that goes up to the end of the buffer may have its end cut in two.
            if scanner.position() == bytes.len() {
                return end;
            }
            end = scanner.position();
        }
    }
    let mut before = bytes.len();
    while let Some(at) = rfind(&bytes[..before], &format.line_end) {
        let escapes = match format.escape {
            Some(e) => bytes[..at].iter().rev().take_while(|b| **b == e).count(),
            None => 0,
        };
        if escapes.is_multiple_of(2) {
            return at + format.line_end.len();
        }
        before = at;
    }
    0
}

fn rfind(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    let mut to = haystack.len().checked_sub(needle.len())? + 1;
    loop {
        let i = haystack[..to].iter().rposition(|b| *b == needle[0])?;
        if haystack[i..].starts_with(needle) {
            return Some(i);
        }
        to = i;
    }
}
