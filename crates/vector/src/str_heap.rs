//! The blocks that pointing views name, and what of them is garbage.
//!
//! ```text
//!   blocks   [ base: packed at the last compaction, full ] [ appended since, small ] [ one long string ] ...
//!   counters   live <= used <= held
//! ```
//! Terms: *live* bytes are those of the strings that the views of the heap's chunk point at, *used* bytes all that were
//! appended, *held* bytes what the blocks take of the allocator. What is used and not live is *dead*: strings that were
//! overwritten. A heap whose dead bytes and spare room pass a quarter of its live bytes is compacted
//! ([`StrValues::tidy`]): its short strings are copied into one new block. So each byte written costs the copying of
//! four at most, and a reader that holds the old heap keeps it as it was.
//!
//! Invariants
//! 1. Blocks are never moved or shortened while the heap is: views stay right. A block is appended to only by a heap
//!    that alone holds it.
//! 2. Strings of at least [`OWN_BLOCK_BYTES_MIN`] have a block of their own without spare room, so nothing is ever
//!    appended to it, and heaps may share it; compaction does not copy it.
//! 3. `used` and `held` are exact, but for heaps made of others' blocks to be read ([`StrHeap::of_shared`]). `live` is
//!    exact for a chunk that is changed by the functions of this crate alone; for chunks that share another's heap
//!    (gathered rows) it is the other's.

use crate::{INLINE_BYTES_MAX, StrValues, StrView};
use std::sync::Arc;

/// The heap blocks that pointing views name. Cloning clones one Arc a block.
#[derive(Clone, Debug, Default)]
pub struct StrHeap {
    blocks: Vec<Arc<Vec<u8>>>,
    live: usize,
    used: usize,
    held: usize,
}

/// What a heap takes room for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Growth {
    /// More strings.
    Append,
    /// Other strings in the place of some.
    Overwrite,
}

/// A string of at least so many bytes has a block of its own.
pub const OWN_BLOCK_BYTES_MIN: usize = 8 << 10;

/// What a block takes besides its bytes: the Arc's counters, the Vec, and the heap's pointer to it.
const BLOCK_OVERHEAD_BYTES: usize = 48;
/// The least capacity of a block that more is to be appended to.
const FIRST_BLOCK_BYTES: usize = 1024;
const LATER_BLOCK_BYTES_MIN: usize = 512;
const BLOCK_BYTES_MAX: usize = 1 << 20;
/// So many of the last blocks are looked at for room: those that a reader held for a while have some left.
const BLOCKS_WITH_ROOM: usize = 4;
/// Garbage and spare room that no heap is compacted for.
const GARBAGE_BYTES_MIN: usize = 2 << 10;

impl StrHeap {
    /// A heap of these blocks, whose bytes are all live.
    pub fn of(blocks: Vec<Arc<Vec<u8>>>) -> StrHeap {
        let mut heap = StrHeap { blocks: Vec::with_capacity(blocks.len()), ..StrHeap::default() };
        for block in blocks {
            heap.push_block(block);
        }
        heap
    }

    /// A heap of blocks of others. It is not changed: its bytes are not counted, which would be a look at each block.
    pub fn of_shared(blocks: Vec<Arc<Vec<u8>>>) -> StrHeap {
        StrHeap { blocks, ..StrHeap::default() }
    }

    /// An empty heap whose first block takes strings of `bytes` together.
    pub(crate) fn with_room(bytes: usize) -> StrHeap {
        let mut heap = StrHeap::default();
        if bytes > 0 {
            heap.push_block(Arc::new(Vec::with_capacity(bytes)));
        }
        heap
    }

    #[inline]
    pub fn blocks(&self) -> &[Arc<Vec<u8>>] {
        &self.blocks
    }

    /// Appends a block whose bytes are all live; returns its number.
    pub fn push_block(&mut self, block: Arc<Vec<u8>>) -> u32 {
        self.live += block.len();
        self.used += block.len();
        self.held += block.capacity() + BLOCK_OVERHEAD_BYTES;
        self.blocks.push(block);
        self.blocks.len() as u32 - 1
    }

    /// Appends the blocks of another heap; returns the number of the first.
    pub fn push_blocks(&mut self, other: &StrHeap) -> u32 {
        let base = self.blocks.len() as u32;
        self.blocks.extend(other.blocks.iter().cloned());
        self.live += other.live;
        self.used += other.used;
        self.held += other.held;
        base
    }

    /// Stores `bytes` and returns the view.
    pub fn add(&mut self, bytes: &[u8]) -> StrView {
        self.store(bytes, Growth::Append)
    }

    pub(crate) fn store(&mut self, bytes: &[u8], growth: Growth) -> StrView {
        if bytes.len() <= INLINE_BYTES_MAX {
            return StrView::inline(bytes);
        }
        if bytes.len() >= OWN_BLOCK_BYTES_MIN {
            return self.add_own(bytes.to_vec());
        }
        let first = self.blocks.len().saturating_sub(BLOCKS_WITH_ROOM);
        for (i, block) in self.blocks.iter_mut().enumerate().skip(first).rev() {
            if block.capacity() - block.len() >= bytes.len()
                && let Some(block) = Arc::get_mut(block)
            {
                let offset = block.len() as u32;
                block.extend_from_slice(bytes);
                self.live += bytes.len();
                self.used += bytes.len();
                return StrView::pointing(bytes, i as u32, offset);
            }
        }
        let mut block = Vec::with_capacity(bytes.len().max(self.next_block_bytes(bytes.len(), growth)));
        block.extend_from_slice(bytes);
        StrView::pointing(bytes, self.push_block(Arc::new(block)), 0)
    }

    /// Makes `bytes`, which are many, a block of their own.
    pub(crate) fn add_own(&mut self, mut bytes: Vec<u8>) -> StrView {
        debug_assert!(bytes.len() >= OWN_BLOCK_BYTES_MIN);
        bytes.shrink_to_fit();
        let block = self.push_block(Arc::new(bytes));
        StrView::pointing(&self.blocks[block as usize], block, 0)
    }

    /// Stores a string of another heap.
    pub(crate) fn store_view(&mut self, view: StrView, from: &StrHeap, growth: Growth) -> StrView {
        match from.own_block(view) {
            Some(block) => {
                let number = self.push_block(block.clone());
                StrView::pointing(block, number, 0)
            }
            None => self.store(view.bytes(from), growth),
        }
    }

    /// The block that holds this string and nothing else.
    fn own_block(&self, view: StrView) -> Option<&Arc<Vec<u8>>> {
        if view.len() < OWN_BLOCK_BYTES_MIN {
            return None;
        }
        let block = &self.blocks[view.location().0 as usize];
        (block.len() == view.len() && block.capacity() - block.len() <= INLINE_BYTES_MAX).then_some(block)
    }

    /// A string of the chunk is overwritten.
    pub(crate) fn forget(&mut self, view: StrView) {
        if !view.is_inline() {
            self.live = self.live.saturating_sub(view.len());
        }
    }

    /// A heap that grows does so by a quarter; one whose strings are overwritten gets a little at a time, and so does
    /// one whose last block has room that a reader keeps it from.
    fn next_block_bytes(&self, wanted: usize, growth: Growth) -> usize {
        match self.blocks.last() {
            None => FIRST_BLOCK_BYTES,
            Some(last) if growth == Growth::Append && last.capacity() - last.len() < wanted => {
                (self.used / 4).clamp(FIRST_BLOCK_BYTES, BLOCK_BYTES_MAX)
            }
            Some(_) => (self.live / 32).clamp(LATER_BLOCK_BYTES_MIN, BLOCK_BYTES_MAX),
        }
    }

    /// Bytes of the chunk's strings that are not in their views.
    pub fn live_bytes(&self) -> usize {
        self.live
    }

    /// Bytes on the allocator's heap, shared blocks counted in full.
    pub fn bytes_allocated(&self) -> usize {
        self.held
    }

    /// Whether garbage and spare room are more than one part in so many of the live bytes.
    fn is_wasteful(&self, parts: usize) -> bool {
        self.held > self.live + self.live / parts + GARBAGE_BYTES_MIN
    }
}

impl StrValues {
    /// Bytes of the pointing strings: what a heap without garbage would hold.
    pub fn heap_bytes_live(&self) -> usize {
        self.views.iter().filter(|v| !v.is_inline()).map(|v| v.len()).sum()
    }

    /// Counts the live bytes anew: the views are not those that the heap was made for.
    pub(crate) fn recount(&mut self) {
        let live = self.heap_bytes_live();
        if live != self.heap.live {
            Arc::make_mut(&mut self.heap).live = live;
        }
    }

    /// Compacts the heap if its garbage is worth it: to be called after strings were overwritten. Cheap where it is
    /// not.
    #[inline]
    pub fn tidy(&mut self) {
        if self.heap.is_wasteful(4) {
            self.compact();
        }
    }

    /// The same after strings were appended, which takes room ahead.
    #[inline]
    pub fn tidy_appended(&mut self) {
        if self.heap.is_wasteful(2) {
            self.compact();
        }
    }

    /// Copies the live bytes of short strings into one new block of exactly their size; the garbage of overwritten
    /// strings goes.
    pub fn compact(&mut self) {
        let is_packed = |v: &StrView| !v.is_inline() && v.len() < OWN_BLOCK_BYTES_MIN;
        let packed_bytes: usize = self.views.iter().filter(|v| is_packed(v)).map(|v| v.len()).sum();
        let mut packed = Vec::with_capacity(packed_bytes);
        let mut heap = StrHeap::default();
        if packed_bytes > 0 {
            // Its place comes first, so that the others' numbers are known.
            heap.blocks.push(Arc::default());
        }
        for v in self.views.iter_mut().filter(|v| !v.is_inline()) {
            *v = if is_packed(v) {
                let offset = packed.len();
                packed.extend_from_slice(v.bytes(&self.heap));
                StrView::pointing(&packed[offset..], 0, offset as u32)
            } else {
                heap.store_view(*v, &self.heap, Growth::Append)
            };
        }
        if packed_bytes > 0 {
            heap.live += packed.len();
            heap.used += packed.len();
            heap.held += packed.capacity() + BLOCK_OVERHEAD_BYTES;
            heap.blocks[0] = Arc::new(packed);
        }
        self.heap = Arc::new(heap);
    }

    /// Gives back unused capacity and garbage.
    pub fn shrink(&mut self) {
        self.views.shrink_to_fit();
        let heap = &*self.heap;
        if heap.held > heap.live + heap.live / 16 + heap.blocks.len() * BLOCK_OVERHEAD_BYTES {
            self.compact();
        }
    }

    /// Cuts off all but the first `len` strings.
    pub(crate) fn truncate(&mut self, len: usize) {
        if len < self.views.len() && self.views[len..].iter().any(|v| !v.is_inline()) {
            let heap = Arc::make_mut(&mut self.heap);
            self.views[len..].iter().for_each(|v| heap.forget(*v));
        }
        self.views.truncate(len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strings::StrSource;

    fn text(rng: &mut fastrand::Rng, max: usize) -> Vec<u8> {
        let len = rng.usize(..=max);
        std::iter::repeat_with(|| rng.u8(..)).take(len).collect()
    }

    /// Counters against a walk over blocks and views.
    fn check(s: &StrValues, model: &[Vec<u8>]) {
        assert!(model.iter().enumerate().all(|(i, bytes)| s.bytes(i) == &bytes[..]));
        let heap = &*s.heap;
        assert_eq!(heap.live, s.heap_bytes_live());
        assert_eq!(heap.used, heap.blocks.iter().map(|b| b.len()).sum::<usize>());
        assert_eq!(heap.held, heap.blocks.iter().map(|b| b.capacity() + BLOCK_OVERHEAD_BYTES).sum::<usize>());
    }

    #[test]
    fn overwritten_strings_do_not_gather() {
        for (rows, max, with_readers) in [(1, 100, false), (1000, 60, false), (1000, 60, true), (64, 40_000, true)] {
            let mut rng = fastrand::Rng::with_seed(rows as u64);
            let mut s = StrValues::default();
            let mut model: Vec<Vec<u8>> = (0..rows).map(|_| text(&mut rng, max)).collect();
            model.iter().for_each(|bytes| s.push(bytes));
            let mut reader = None;
            for step in 0..rows * 20 + 2000 {
                let i = rng.usize(..rows);
                model[i] = text(&mut rng, max);
                s.set(i, &model[i]);
                s.tidy();
                let live = s.heap.live_bytes();
                assert!(s.heap.bytes_allocated() <= live + live / 4 + GARBAGE_BYTES_MIN + 64, "step {step}");
                let own = model.iter().filter(|m| m.len() >= OWN_BLOCK_BYTES_MIN).count();
                assert!(s.heap.blocks.len() <= own * 2 + 32, "{} blocks, {own} long strings", s.heap.blocks.len());
                if with_readers && step % 5 == 0 {
                    reader = Some((s.clone(), model.clone()));
                }
            }
            check(&s, &model);
            if let Some((s, model)) = reader {
                check(&s, &model);
            }
        }
    }

    #[test]
    fn strings_that_grow_and_shrink_are_counted() {
        let mut s = StrValues::default();
        let mut model = vec![b"a string that points".to_vec(), vec![b'x'; OWN_BLOCK_BYTES_MIN], vec![]];
        model.iter().for_each(|bytes| s.push(bytes));
        check(&s, &model);
        for (i, len) in [(0, 3), (1, 20), (2, 70_000), (0, 70_001), (2, 0), (1, 13)] {
            model[i] = vec![b'y'; len];
            s.set(i, &model[i]);
            check(&s, &model);
        }
        let long = s.heap.own_block(s.views[0]).expect("a long string has its block").clone();
        s.compact();
        check(&s, &model);
        assert!(Arc::ptr_eq(&long, s.heap.own_block(s.views[0]).expect("it still has")), "long strings are not copied");
        s.truncate(1);
        check(&s, &model[..1]);
        s.clear(0);
        s.tidy();
        assert_eq!(s.heap.bytes_allocated(), 0);
    }

    #[test]
    fn a_shared_block_is_never_appended_to() {
        let mut s = StrValues::default();
        s.push_vec(Vec::from_iter(std::iter::repeat_n(7, OWN_BLOCK_BYTES_MIN + 5)));
        let mut other = StrValues::default();
        other.push_from(StrSource::Str(&s), 0);
        let block = Arc::as_ptr(&s.heap.blocks[0]);
        assert_eq!(block, Arc::as_ptr(&other.heap.blocks[0]));
        drop(s);
        other.push(b"a string that points");
        assert_eq!(other.bytes(0).len(), OWN_BLOCK_BYTES_MIN + 5);
        assert_eq!(other.heap.blocks[0].len(), OWN_BLOCK_BYTES_MIN + 5);
        check(&other, &[vec![7; OWN_BLOCK_BYTES_MIN + 5], b"a string that points".to_vec()]);
    }
}
