//! Where functions write the strings that they make.
//!
//! ```text
//!   a row's closure ──▶ StrBuf ── grows past FREE_BYTES ──▶ the statement's share, the process's bound: error 3170
//! ```
//! Growth is asked for, never taken, and the system may refuse it as well. A refusal is remembered and what is written
//! after it is dropped, so that functions need not look after each byte; whoever owns the buffer looks once a row.
//! Short strings cost what they cost in a vector.

use crate::EvalContext;
use memory::Watch;
use std::ops::Deref;
use types::{Error, Result};

/// So much is made without asking.
const FREE_BYTES: usize = 64 << 10;

/// Longer buffers grow by a quarter, not to twice their length.
const LONG_BYTES: usize = 1 << 20;

/// What the strings of one evaluation may take in any case, however little a statement may hold.
const NEVER_REFUSED_BYTES: usize = 16 << 20;

/// Longer constants are made when they are needed.
const CONSTANT_BYTES_MAX: usize = 1 << 20;

/// What the strings that expressions make may take of what their statement may hold.
#[derive(Clone, Copy, Debug)]
pub struct StringLimit {
    bytes: usize,
    /// Since the evaluation began.
    watch: Option<Watch>,
}

impl Default for StringLimit {
    /// Bounded by the process's memory alone.
    fn default() -> StringLimit {
        StringLimit { bytes: usize::MAX, watch: None }
    }
}

impl StringLimit {
    /// Of a statement that may hold `bytes`.
    pub fn of(bytes: usize) -> StringLimit {
        StringLimit { bytes: bytes.max(NEVER_REFUSED_BYTES), watch: None }
    }

    /// Of what is computed before a statement runs.
    pub(crate) fn of_constants() -> StringLimit {
        StringLimit { bytes: CONSTANT_BYTES_MAX, watch: None }
    }

    /// The same for an evaluation that begins now, on this thread.
    pub(super) fn watched(self) -> StringLimit {
        StringLimit { watch: Some(Watch::begin(self.bytes)), ..self }
    }

    /// Whether `bytes` may be taken where the same evaluation may hold others.
    fn check(&self, bytes: usize) -> Result<()> {
        let held = self.watch.map_or(0, |w| w.taken_bytes());
        if held.saturating_add(bytes) <= self.bytes {
            return Ok(());
        }
        Err(Error::capacity_exceeded(self.bytes, "max_query_memory", WHAT))
    }
}

const WHAT: &str = "The strings that an expression makes";

/// See the module head.
pub(crate) struct StrBuf<'a> {
    bytes: Vec<u8>,
    ctx: &'a EvalContext<'a>,
    refusal: Option<Error>,
}

impl Deref for StrBuf<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl<'a> StrBuf<'a> {
    pub fn new(ctx: &'a EvalContext<'a>) -> StrBuf<'a> {
        StrBuf { bytes: Vec::new(), ctx, refusal: None }
    }

    /// The bytes so far; the buffer begins anew.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Why something was not written.
    #[inline]
    pub fn check(&mut self) -> Result<()> {
        if self.refusal.is_some() { self.refusal.take().map_or(Ok(()), Err) } else { Ok(()) }
    }

    #[inline]
    fn has(&mut self, more: usize) -> bool {
        self.bytes.capacity() - self.bytes.len() >= more || self.grow(more)
    }

    #[cold]
    fn grow(&mut self, more: usize) -> bool {
        let capacity = self.bytes.capacity();
        let wished = more.max(if capacity < LONG_BYTES { capacity } else { capacity / 4 });
        if self.bytes.len().saturating_add(wished) <= FREE_BYTES {
            self.bytes.reserve(more);
            return true;
        }
        if self.refusal.is_some() {
            return false;
        }
        // More than is needed if that is to be had. The old buffer is there while the new one is filled.
        let refusal = match self.try_grow(wished) {
            Err(_) if more < wished => self.try_grow(more).err(),
            answer => answer.err(),
        };
        self.refusal = refusal;
        self.refusal.is_none()
    }

    fn try_grow(&mut self, more: usize) -> Result<()> {
        let bytes = self.bytes.len().saturating_add(more);
        self.ctx.strings.check(bytes)?;
        let room = memory::promise(bytes);
        if room.is_some() && self.bytes.try_reserve_exact(more).is_ok() {
            return Ok(());
        }
        Err(Error::capacity_exceeded(memory::limit_bytes(), "max_server_memory", WHAT))
    }

    #[inline]
    pub fn extend_from_slice(&mut self, s: &[u8]) {
        if self.has(s.len()) {
            self.bytes.extend_from_slice(s);
        }
    }

    #[inline]
    pub fn push(&mut self, byte: u8) {
        if self.has(1) {
            self.bytes.push(byte);
        }
    }

    /// `count` times `s`, by doubling.
    pub fn repeat(&mut self, s: &[u8], count: usize) {
        let bytes = s.len().saturating_mul(count);
        if bytes == 0 || !self.has(bytes) {
            return;
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(s);
        while self.bytes.len() - start < bytes {
            let done = self.bytes.len() - start;
            self.bytes.extend_from_within(start..start + done.min(bytes - done));
        }
    }

    /// Cut, or filled with `byte`.
    pub fn resize(&mut self, len: usize, byte: u8) {
        if self.has(len.saturating_sub(self.bytes.len())) {
            self.bytes.resize(len, byte);
        }
    }

    pub fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
    }

    /// Room for `max` bytes more at the end of the vector; whoever gets it writes no more than that.
    #[inline]
    pub fn at_most(&mut self, max: usize) -> Result<&mut Vec<u8>> {
        if !self.has(max) {
            self.check()?;
        }
        Ok(&mut self.bytes)
    }

    /// A short text: a number, a date, a name.
    #[inline]
    pub fn short(&mut self) -> Result<&mut Vec<u8>> {
        self.at_most(SHORT_BYTES)
    }
}

/// Longer than the text of any number or time.
const SHORT_BYTES: usize = 512;

/// Other copies of long strings: room for `bytes`, which the caller takes at once.
pub(crate) fn check_copy(bytes: usize, ctx: &EvalContext) -> Result<()> {
    if bytes <= FREE_BYTES {
        return Ok(());
    }
    ctx.strings.check(bytes)?;
    match memory::promise(bytes) {
        Some(_) => Ok(()),
        None => Err(Error::capacity_exceeded(memory::limit_bytes(), "max_server_memory", WHAT)),
    }
}
