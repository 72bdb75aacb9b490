//! Strings: 16-byte views over heap blocks, and dictionary codes.
//!
//! ```text
//! inline   len:4 | bytes:12                       len <= 12, zero padded
//! pointing len:4 | prefix:4 | block:4 | offset:4  bytes = heap.blocks[block][offset..offset+len]
//! ```
//! Blocks are append-only and shared; a string that changes is appended anew and its view rewritten. What that leaves
//! is counted by the heap ([`crate::StrHeap`]). Inline views are zero padded, so two views of at most 12 bytes are
//! byte-equal exactly when their 16 bytes are.

use crate::StrHeap;
use crate::str_heap::{Growth, OWN_BLOCK_BYTES_MIN};
use std::sync::Arc;

/// A string of one position.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C, align(16))]
pub struct StrView {
    len: u32,
    rest: [u8; 12],
}

/// Longest string held in the view itself, bytes.
pub const INLINE_BYTES_MAX: usize = 12;

impl StrView {
    pub const EMPTY: StrView = StrView { len: 0, rest: [0; 12] };

    #[inline]
    pub fn inline(bytes: &[u8]) -> StrView {
        debug_assert!(bytes.len() <= INLINE_BYTES_MAX);
        let mut rest = [0; 12];
        rest[..bytes.len()].copy_from_slice(bytes);
        StrView { len: bytes.len() as u32, rest }
    }

    /// `bytes` must be longer than [`INLINE_BYTES_MAX`] and lie at `offset` of block `block`.
    #[inline]
    pub fn pointing(bytes: &[u8], block: u32, offset: u32) -> StrView {
        debug_assert!(bytes.len() > INLINE_BYTES_MAX);
        let mut rest = [0; 12];
        rest[..4].copy_from_slice(&bytes[..4]);
        rest[4..8].copy_from_slice(&block.to_le_bytes());
        rest[8..].copy_from_slice(&offset.to_le_bytes());
        StrView { len: bytes.len() as u32, rest }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub fn is_inline(&self) -> bool {
        self.len as usize <= INLINE_BYTES_MAX
    }

    /// First four bytes, zero padded.
    #[inline]
    pub fn prefix(&self) -> [u8; 4] {
        [self.rest[0], self.rest[1], self.rest[2], self.rest[3]]
    }

    /// (block, offset) of a pointing view.
    #[inline]
    pub fn location(&self) -> (u32, u32) {
        let r = &self.rest;
        (u32::from_le_bytes([r[4], r[5], r[6], r[7]]), u32::from_le_bytes([r[8], r[9], r[10], r[11]]))
    }

    /// The same pointing view in a heap whose blocks were put behind `base` others.
    #[inline]
    pub fn moved(&self, base: u32) -> StrView {
        debug_assert!(!self.is_inline());
        let (block, _) = self.location();
        let mut v = *self;
        v.rest[4..8].copy_from_slice(&(block + base).to_le_bytes());
        v
    }

    /// The 16 bytes as one word; equal words mean equal strings for inline views.
    #[inline]
    pub fn word(&self) -> u128 {
        let mut b = [0; 16];
        b[..4].copy_from_slice(&self.len.to_le_bytes());
        b[4..].copy_from_slice(&self.rest);
        u128::from_le_bytes(b)
    }

    #[inline]
    pub fn bytes<'a>(&'a self, heap: &'a StrHeap) -> &'a [u8] {
        if self.is_inline() {
            &self.rest[..self.len as usize]
        } else {
            let (block, offset) = self.location();
            &heap.blocks()[block as usize][offset as usize..offset as usize + self.len as usize]
        }
    }
}

/// Views and the heap they point into. The heap is behind an Arc so that gathering rows shares it.
#[derive(Clone, Debug, Default)]
pub struct StrValues {
    pub views: Vec<StrView>,
    pub heap: Arc<StrHeap>,
}

impl StrValues {
    #[inline]
    pub fn bytes(&self, i: usize) -> &[u8] {
        self.views[i].bytes(&self.heap)
    }

    pub fn push(&mut self, bytes: &[u8]) {
        let v = if bytes.len() <= INLINE_BYTES_MAX {
            StrView::inline(bytes)
        } else {
            Arc::make_mut(&mut self.heap).add(bytes)
        };
        self.views.push(v);
    }

    /// The same of bytes that become a block of their own if they are many.
    pub fn push_vec(&mut self, bytes: Vec<u8>) {
        let v = if bytes.len() < OWN_BLOCK_BYTES_MIN {
            return self.push(&bytes);
        } else {
            Arc::make_mut(&mut self.heap).add_own(bytes)
        };
        self.views.push(v);
    }

    /// Appends the string at `i` of `from`; a block that has nothing else is shared.
    pub(crate) fn push_from(&mut self, from: StrSource<'_>, i: usize) {
        let v = self.added(StrView::EMPTY, from.view(i), from.heap(), Growth::Append);
        self.views.push(v);
    }

    /// Replaces the string at `i`.
    pub fn set(&mut self, i: usize, bytes: &[u8]) {
        let old = self.views[i];
        self.views[i] = if bytes.len() <= INLINE_BYTES_MAX && old.is_inline() {
            StrView::inline(bytes)
        } else {
            let heap = Arc::make_mut(&mut self.heap);
            heap.forget(old);
            heap.store(bytes, Growth::Overwrite)
        };
    }

    /// Replaces the string at `i` by the one at `j` of `from`; a block that has nothing else is shared.
    pub(crate) fn set_from(&mut self, i: usize, from: StrSource<'_>, j: usize) {
        self.views[i] = self.added(self.views[i], from.view(j), from.heap(), Growth::Overwrite);
    }

    /// The string at `i` becomes empty.
    pub fn clear(&mut self, i: usize) {
        self.set(i, b"");
    }

    fn added(&mut self, old: StrView, new: StrView, new_heap: &StrHeap, growth: Growth) -> StrView {
        if new.is_inline() && old.is_inline() {
            return new;
        }
        let heap = Arc::make_mut(&mut self.heap);
        heap.forget(old);
        heap.store_view(new, new_heap, growth)
    }
}

/// Strings that are copied from: plain ones or codes.
#[derive(Clone, Copy)]
pub(crate) enum StrSource<'a> {
    Str(&'a StrValues),
    Dict(&'a DictValues),
}

impl<'a> StrSource<'a> {
    #[inline]
    fn view(self, i: usize) -> StrView {
        match self {
            StrSource::Str(s) => s.views[i],
            StrSource::Dict(d) => d.dict.strings.views[d.codes[i] as usize],
        }
    }

    #[inline]
    fn heap(self) -> &'a StrHeap {
        match self {
            StrSource::Str(s) => &s.heap,
            StrSource::Dict(d) => &d.dict.strings.heap,
        }
    }
}

/// The distinct strings that codes stand for. Entries are distinct bytes; they may still be equal under the collation.
#[derive(Clone, Debug, Default)]
pub struct StringDict {
    pub strings: StrValues,
}

/// Low-cardinality strings: one code a row, at most 256 distinct strings. Leaves of one load share dictionaries, so
/// operators may cache work by the dictionary's address (`Arc::as_ptr`) while they hold a clone.
#[derive(Clone, Debug)]
pub struct DictValues {
    pub codes: Vec<u8>,
    pub dict: Arc<StringDict>,
}

impl DictValues {
    #[inline]
    pub fn bytes(&self, i: usize) -> &[u8] {
        self.dict.strings.bytes(self.codes[i] as usize)
    }

    /// The same strings as views that share the dictionary's heap.
    pub fn to_str(&self) -> StrValues {
        let views = &self.dict.strings.views;
        StrValues {
            views: self.codes.iter().map(|&c| views[c as usize]).collect(),
            heap: self.dict.strings.heap.clone(),
        }
    }
}
