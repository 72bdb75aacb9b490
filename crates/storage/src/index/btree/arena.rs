//! Memory of a tree: words that are atomics, never given back while the tree lives.
//!
//! ```text
//!   address  0 ... B | B ... 3B | 3B ... 7B | ...        chunk c has B * 2^c words, made when first needed
//! ```
//! Memory that was once a node or a key block stays readable for ever, whoever has it now: a reader that follows a
//! stale reference reads words that mean nothing, and learns of it when it validates the node the reference came from.
//! So there is nothing to reclaim by epochs, and nothing unsafe about a late reader.

use crate::sync::AtomicU64;
use std::sync::OnceLock;

const CHUNKS_MAX: usize = 36;

/// `BASE_BITS`: the first chunk has 2^BASE_BITS words.
#[derive(Debug)]
pub struct Arena<const BASE_BITS: u32> {
    chunks: [OnceLock<Box<[AtomicU64]>>; CHUNKS_MAX],
}

impl<const BASE_BITS: u32> Default for Arena<BASE_BITS> {
    fn default() -> Self {
        Arena { chunks: std::array::from_fn(|_| OnceLock::new()) }
    }
}

#[cfg(not(feature = "shuttle"))]
fn zeroed(words: usize) -> Box<[AtomicU64]> {
    // Pages that are never touched never take memory.
    let words = Box::<[AtomicU64]>::new_zeroed_slice(words);
    // SAFETY: an AtomicU64 is a u64 in memory, and all bytes zero is one.
    unsafe { words.assume_init() }
}

#[cfg(feature = "shuttle")]
fn zeroed(words: usize) -> Box<[AtomicU64]> {
    (0..words).map(|_| AtomicU64::new(0)).collect()
}

impl<const BASE_BITS: u32> Arena<BASE_BITS> {
    /// The chunk of an address, and the place in it.
    #[inline]
    fn split(address: u64) -> (usize, usize) {
        let at = address.wrapping_add(1 << BASE_BITS) | 1 << BASE_BITS;
        let bits = at.ilog2();
        ((bits - BASE_BITS) as usize, (at - (1 << bits)) as usize)
    }

    /// The `n` words at `address`; `None` if there never were such words, as a stale reference may claim.
    #[inline]
    pub fn get(&self, address: u64, n: usize) -> Option<&[AtomicU64]> {
        let address = address & ((1 << 40) - 1);
        let at = address + (1 << BASE_BITS);
        let bits = at.ilog2();
        let chunk = self.chunks.get((bits - BASE_BITS) as usize)?.get()?;
        let from = (at - (1 << bits)) as usize;
        chunk.get(from..from + n)
    }

    /// Makes `n` words from `next` on usable, or from a later address where they lie together; returns the address.
    pub fn grow(&self, next: u64, n: usize) -> u64 {
        let mut address = next;
        loop {
            let (c, from) = Self::split(address);
            let words = 1usize << (BASE_BITS as usize + c);
            if from + n <= words {
                self.chunks[c].get_or_init(|| zeroed(words));
                return address;
            }
            address += (words - from) as u64;
        }
    }
}
