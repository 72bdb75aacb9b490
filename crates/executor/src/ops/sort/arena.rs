//! Byte strings, many of them, that are never moved: what they take is what is charged for them.
//!
//! ```text
//!   blocks   [ key 0 | key 1 | key 2 ... ]  [ key 9 | ... ]  [ a long key ]  ...
//!   starts   (0, 0)   (0, 14)                (1, 0)           (2, 0)
//! ```
//! The first block grows like any array, for sorts of a few rows; the others are made as long as they will be.

/// Blocks that have so many bytes take no further string.
const BLOCK_BYTES: usize = 1 << 20;
/// Strings longer than this do not keep the room that was made for them while they grew.
const LONG_BYTES: usize = 64 << 10;

/// See the module head.
#[derive(Default)]
pub struct KeyArena {
    blocks: Vec<Vec<u8>>,
    /// (block, where it begins there); a string ends where the next begins, or with its block.
    starts: Vec<(u32, u32)>,
    /// Of all blocks but the last.
    full_bytes: usize,
}

impl KeyArena {
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    #[inline]
    pub fn get(&self, i: usize) -> &[u8] {
        let (block, start) = self.starts[i];
        let bytes = &self.blocks[block as usize];
        let end = match self.starts.get(i + 1) {
            Some(&(next, end)) if next == block => end as usize,
            _ => bytes.len(),
        };
        &bytes[start as usize..end]
    }

    /// The first eight bytes as a number.
    pub fn prefix(&self, i: usize) -> u64 {
        let k = self.get(i);
        let mut p = [0; 8];
        let n = k.len().min(8);
        p[..n].copy_from_slice(&k[..n]);
        u64::from_be_bytes(p)
    }

    /// Adds the string that `write` appends.
    #[inline]
    pub fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if self.blocks.last().is_none_or(|b| b.len() >= BLOCK_BYTES) {
            self.add_block();
        }
        let number = self.blocks.len() as u32 - 1;
        let block = self.blocks.last_mut().expect("just added");
        let start = block.len();
        write(block);
        self.starts.push((number, start as u32));
        if block.len() - start > LONG_BYTES {
            block.shrink_to_fit();
        }
    }

    pub fn push(&mut self, key: &[u8]) {
        self.push_with(|block| block.extend_from_slice(key));
    }

    #[cold]
    fn add_block(&mut self) {
        let room = match self.blocks.last() {
            None => 0,
            Some(full) => {
                self.full_bytes += full.capacity();
                BLOCK_BYTES + BLOCK_BYTES / 16
            }
        };
        self.blocks.push(Vec::with_capacity(room));
    }

    pub fn bytes(&self) -> usize {
        self.full_bytes + self.blocks.last().map_or(0, Vec::capacity) + self.starts.capacity() * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_come_back_and_take_what_they_need() {
        let mut arena = KeyArena::default();
        let keys: Vec<Vec<u8>> =
            (0..300usize).map(|i| vec![i as u8; if i % 50 == 7 { 3 << 20 } else { i * 40 }]).collect();
        keys.iter().for_each(|k| arena.push(k));
        assert_eq!(arena.len(), keys.len());
        assert!((0..keys.len()).all(|i| arena.get(i) == keys[i]));
        assert_eq!(arena.prefix(1), 0x0101_0101_0101_0101);
        let bytes: usize = keys.iter().map(Vec::len).sum();
        assert!(arena.bytes() >= bytes && arena.bytes() < bytes + bytes / 4, "{} for {bytes}", arena.bytes());
    }
}
