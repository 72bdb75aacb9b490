//! Keys as words, and the heap of long ones.
//!
//! ```text
//!   key bytes   | 8 bytes: head, big-endian | up to 7 bytes | ...
//!   rest word   | those 7 bytes           | length |      keys of at most 15 bytes lie in two words
//!               | address of a block: 56 bits | 255 |     longer ones have a block: length, bytes behind the head
//! ```
//! Most comparisons end at the heads.

use super::arena::Arena;
use crate::sync::{AtomicU64, Mutex, Ordering as Memory, Rank, fence};
use std::cmp::Ordering;
use std::collections::HashMap;

/// Longest key without a block.
const SHORT_BYTES_MAX: usize = 15;
const BLOCK_TAG: u64 = 0xFF;

/// The first 8 bytes, as a number that orders as they do.
#[inline]
pub fn head_of(key: &[u8]) -> u64 {
    match key.first_chunk::<8>() {
        Some(head) => u64::from_be_bytes(*head),
        None => word_of(key),
    }
}

#[inline]
fn word_of(bytes: &[u8]) -> u64 {
    let n = bytes.len().min(8);
    let mut word = [0; 8];
    word[..n].copy_from_slice(&bytes[..n]);
    u64::from_be_bytes(word)
}

/// What comes behind the head, in place; `None`: it does not fit.
#[inline]
pub fn short_rest(key: &[u8]) -> Option<u64> {
    if key.len() <= 8 {
        return Some(key.len() as u64);
    }
    (key.len() <= SHORT_BYTES_MAX).then(|| word_of(&key[8..]) | key.len() as u64)
}

/// Whether a rest word refers to a block.
#[inline]
pub fn is_long(rest: u64) -> bool {
    rest & 0xFF == BLOCK_TAG
}

/// A place in the order of entries: a key, or a prefix of keys, and a row id.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    pub head: u64,
    /// The first 7 bytes behind the head, in the upper bytes.
    rest7: u64,
    key: &'a [u8],
    pub row: u64,
}

impl<'a> Target<'a> {
    #[inline]
    pub fn new(key: &'a [u8], row: u64) -> Target<'a> {
        let rest7 = if key.len() <= 8 { 0 } else { word_of(&key[8..]) & !0xFF };
        Target { head: head_of(key), rest7, key, row }
    }

    pub fn key(&self) -> &'a [u8] {
        self.key
    }
}

/// Space that a builder has taken for blocks to come.
#[derive(Debug, Default)]
pub struct Reserve {
    next: u64,
    end: u64,
}

const RESERVE_WORDS: usize = 1 << 10;

/// Blocks of long keys.
#[derive(Debug)]
pub struct KeyHeap {
    words: Arena<9>,
    space: Mutex<Space>,
}

#[derive(Debug, Default)]
struct Space {
    next: u64,
    /// Freed blocks by their number of words.
    free: HashMap<usize, Vec<u64>>,
    words_used: usize,
}

fn block_words(bytes: usize) -> usize {
    1 + bytes.div_ceil(8)
}

impl Default for KeyHeap {
    fn default() -> KeyHeap {
        KeyHeap { words: Arena::default(), space: Mutex::new(Rank::IndexTree, Space::default()) }
    }
}

impl KeyHeap {
    /// The rest word of a key; takes a block if it needs one.
    pub fn store(&self, key: &[u8]) -> u64 {
        short_rest(key).unwrap_or_else(|| self.store_long(&key[8..]))
    }

    /// The rest word of a long key, given what is behind its head.
    fn store_long(&self, bytes: &[u8]) -> u64 {
        let n = block_words(bytes.len());
        let address = {
            let mut space = self.space.lock();
            space.words_used += n;
            match space.free.get_mut(&n).and_then(Vec::pop) {
                Some(address) => address,
                None => {
                    let address = self.words.grow(space.next, n);
                    space.next = address + n as u64;
                    address
                }
            }
        };
        // Who reads one of these words by a stale reference shall then see that the node it came from has changed.
        fence(Memory::Release);
        self.write_block(address, bytes)
    }

    fn write_block(&self, address: u64, bytes: &[u8]) -> u64 {
        let words = self.words.get(address, block_words(bytes.len())).expect("made usable before");
        words[0].store(bytes.len() as u64, Memory::Relaxed);
        for (word, chunk) in words[1..].iter().zip(bytes.chunks(8)) {
            word.store(word_of(chunk), Memory::Relaxed);
        }
        address << 8 | BLOCK_TAG
    }

    /// Like `store_long`, for a tree that nobody reads yet: takes space for many keys at once.
    pub fn store_in_bulk(&self, reserve: &mut Reserve, bytes: &[u8]) -> u64 {
        let n = block_words(bytes.len());
        if ((reserve.end - reserve.next) as usize) < n {
            let words = n.max(RESERVE_WORDS);
            let mut space = self.space.lock();
            reserve.next = self.words.grow(space.next, words);
            reserve.end = reserve.next + words as u64;
            space.next = reserve.end;
            space.words_used += words;
        }
        let address = reserve.next;
        reserve.next += n as u64;
        self.write_block(address, bytes)
    }

    /// Gives back what `store` took.
    pub fn free(&self, rest: u64) {
        let Some(words) = self.block(rest) else { return };
        let n = words.len() + 1;
        let mut space = self.space.lock();
        space.words_used -= n;
        space.free.entry(n).or_default().push(rest >> 8);
    }

    pub fn bytes_used(&self) -> usize {
        self.space.lock().words_used * 8
    }

    /// The words behind the length; `None` if there is no block, or a stale word claims one.
    #[inline]
    fn block(&self, rest: u64) -> Option<&[AtomicU64]> {
        if rest & 0xFF != BLOCK_TAG {
            return None;
        }
        let bytes = self.block_bytes(rest)?;
        Some(&self.words.get(rest >> 8, block_words(bytes))?[1..])
    }

    #[inline]
    fn block_bytes(&self, rest: u64) -> Option<usize> {
        Some(self.words.get(rest >> 8, 1)?[0].load(Memory::Relaxed) as usize & 0xFFFF_FFFF)
    }

    /// Compares what is behind the heads of an entry and of a target.
    #[inline]
    pub fn compare(&self, rest: u64, target: &Target<'_>) -> Ordering {
        if rest & 0xFF != BLOCK_TAG {
            let len = (rest & 0xFF) as usize;
            return (rest & !0xFF).cmp(&target.rest7).then(len.cmp(&target.key.len()));
        }
        self.compare_block(rest, target)
    }

    fn compare_block(&self, rest: u64, target: &Target<'_>) -> Ordering {
        let (Some(words), Some(bytes)) = (self.block(rest), self.block_bytes(rest)) else { return Ordering::Equal };
        let other = target.key.get(8..).unwrap_or_default();
        for (word, chunk) in words.iter().zip(other.chunks(8)) {
            let order = word.load(Memory::Relaxed).cmp(&word_of(chunk));
            if order.is_ne() {
                return order;
            }
        }
        bytes.cmp(&other.len())
    }

    /// Appends the key.
    pub fn append(&self, head: u64, rest: u64, out: &mut Vec<u8>) {
        if rest & 0xFF != BLOCK_TAG {
            let len = ((rest & 0xFF) as usize).min(SHORT_BYTES_MAX);
            out.extend_from_slice(&head.to_be_bytes()[..len.min(8)]);
            out.extend_from_slice(&rest.to_be_bytes()[..len.saturating_sub(8)]);
            return;
        }
        out.extend_from_slice(&head.to_be_bytes());
        if let (Some(words), Some(bytes)) = (self.block(rest), self.block_bytes(rest)) {
            let end = out.len() + bytes.min(words.len() * 8);
            words.iter().for_each(|w| out.extend_from_slice(&w.load(Memory::Relaxed).to_be_bytes()));
            out.truncate(end);
        }
    }
}

/// The shortest prefix of `right` that is above `left`, where `left < right`; `right` itself if they are equal.
pub fn separator<'a>(left: &[u8], right: &'a [u8]) -> &'a [u8] {
    let same = left.iter().zip(right).take_while(|(a, b)| a == b).count();
    &right[..(same + 1).min(right.len())]
}
