//! The lookup structure of a hash join: an unchained table (Birler, Schmidt, Fent, Neumann: Simple, Efficient, and
//! Robust Hash Tables for Join Processing, DaMoN 2024), or a plain array for dense integer keys.
//!
//! ```text
//!   directory   by the hash's top bits:  [ end of the slot's entries : 48 | tag : 16 ]
//!   entries     sorted by slot:          [ key | row ]  [ key | row ] ...
//! ```
//! A slot's entries lie between the end of the slot before and its own end. The tag is a bloom filter of two bits a
//! key; most keys that are absent are turned away by the one load of the directory word.

use crate::keys::{KeyForm, Keys, Words, hash_u64, hash_u128};
use crate::pipeline::parallel_tasks;
use crate::run::Run;
use std::sync::Mutex;
use storage::prefetch;
use types::Result;

/// Rows above which a table is built by several threads.
const PARALLEL_ROWS_MIN: usize = 64 << 10;
/// Bytes of table above which probes prefetch.
const PREFETCH_BYTES: usize = 512 << 10;
const PARTITION_BITS: u32 = 6;

pub trait TableKey: Copy + Eq + Default + Send + Sync {
    fn hash(self) -> u64;
}

impl TableKey for u64 {
    #[inline]
    fn hash(self) -> u64 {
        hash_u64(self)
    }
}

impl TableKey for u128 {
    #[inline]
    fn hash(self) -> u64 {
        hash_u128(self)
    }
}

/// A byte key's hash, standing for it; candidates are compared byte by byte.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Hashed(pub u64);

impl TableKey for Hashed {
    #[inline]
    fn hash(self) -> u64 {
        self.0
    }
}

#[inline]
fn tag(h: u64) -> u64 {
    1 << (h & 15) | 1 << (h >> 4 & 15)
}

/// Lists of (key, row).
type Lists<K> = Vec<Vec<(K, u32)>>;

pub struct Unchained<K> {
    /// One word a slot, behind a leading 0.
    directory: Vec<u64>,
    shift: u32,
    entries: Vec<(K, u32)>,
}

impl<K: TableKey> Unchained<K> {
    /// From lists of (key, row), one a thread or batch.
    pub fn build(run: &Run<'_>, lists: &[Vec<(K, u32)>]) -> Result<Unchained<K>> {
        let n: usize = lists.iter().map(Vec::len).sum();
        let bits = (n + n / 2).next_power_of_two().trailing_zeros().max(PARTITION_BITS);
        let shift = 64 - bits;
        let mut directory = vec![0u64; (1 << bits) + 1];
        let mut entries = vec![(K::default(), 0u32); n];
        if run.dop == 1 || !run.ctx.pool.is_worth_sharing(n as f64, PARALLEL_ROWS_MIN as f64) {
            fill(lists.iter().map(Vec::as_slice), &mut directory[1..], &mut entries, shift, 0, 0);
            return Ok(Unchained { directory, shift, entries });
        }
        // Scatter each list by the top bits, then fill each partition's part of directory and entries.
        let partitions = 1usize << PARTITION_BITS;
        let scattered: Vec<Mutex<Lists<K>>> = lists.iter().map(|_| Mutex::default()).collect();
        parallel_tasks(run, lists.len(), &|t| {
            let mut out: Vec<Vec<(K, u32)>> =
                (0..partitions).map(|_| Vec::with_capacity(lists[t].len() / partitions * 9 / 8 + 8)).collect();
            for &(k, row) in &lists[t] {
                out[(k.hash() >> (64 - PARTITION_BITS)) as usize].push((k, row));
            }
            *scattered[t].lock().expect("no panic while held") = out;
            Ok(())
        })?;
        let scattered: Vec<Lists<K>> =
            scattered.into_iter().map(|m| m.into_inner().expect("no panic while held")).collect();
        {
            let slots = (1usize << bits) / partitions;
            let mut tasks = Vec::with_capacity(partitions);
            let mut dir_rest = &mut directory[1..];
            let mut entry_rest = &mut entries[..];
            let mut base = 0;
            for p in 0..partitions {
                let len: usize = scattered.iter().map(|s| s[p].len()).sum();
                let (dir, rest) = dir_rest.split_at_mut(slots);
                dir_rest = rest;
                let (part, rest) = entry_rest.split_at_mut(len);
                entry_rest = rest;
                tasks.push(Mutex::new(Some((dir, part, base))));
                base += len;
            }
            parallel_tasks(run, partitions, &|p| {
                let (dir, part, base) =
                    tasks[p].lock().expect("no panic while held").take().expect("each task runs once");
                fill(scattered.iter().map(|s| s[p].as_slice()), dir, part, shift, p * slots, base);
                Ok(())
            })?;
        }
        Ok(Unchained { directory, shift, entries })
    }

    fn bytes(&self) -> usize {
        self.directory.len() * 8 + self.entries.len() * size_of::<(K, u32)>()
    }

    #[inline]
    fn range(&self, h: u64) -> Option<(u32, u32)> {
        let slot = (h >> self.shift) as usize;
        let word = self.directory[slot + 1];
        let t = tag(h);
        if word & t != t {
            return None;
        }
        Some(((self.directory[slot] >> 16) as u32, (word >> 16) as u32))
    }

    /// Calls `f(j, row)` for each key j and each row with that key (for byte keys: that hash) in order of j; `f`
    /// answers whether to go on with the same j.
    fn probe(&self, hashes: &[u64], key: impl Fn(usize) -> K, mut f: impl FnMut(usize, u32) -> bool) {
        let mut candidates: Vec<(u32, u32, u32)> = Vec::with_capacity(hashes.len());
        let far = self.bytes() > PREFETCH_BYTES;
        if far {
            for &h in hashes {
                if let Some(p) = self.directory.get((h >> self.shift) as usize) {
                    prefetch(p);
                }
            }
        }
        for (j, &h) in hashes.iter().enumerate() {
            if let Some((start, end)) = self.range(h) {
                if far && let Some(p) = self.entries.get(start as usize) {
                    prefetch(p);
                }
                candidates.push((j as u32, start, end));
            }
        }
        for (j, start, end) in candidates {
            let k = key(j as usize);
            for &(have, row) in &self.entries[start as usize..end as usize] {
                if have == k && !f(j as usize, row) {
                    break;
                }
            }
        }
    }
}

/// Counts, then places, the pairs of some lists. `dir`: the words of slots `first_slot..`, `base`: entries before.
fn fill<'l, K: TableKey + 'l>(
    lists: impl Iterator<Item = &'l [(K, u32)]> + Clone,
    dir: &mut [u64],
    entries: &mut [(K, u32)],
    shift: u32,
    first_slot: usize,
    base: usize,
) {
    for list in lists.clone() {
        for &(k, _) in list {
            let h = k.hash();
            let word = &mut dir[(h >> shift) as usize - first_slot];
            *word = (*word + (1 << 16)) | tag(h);
        }
    }
    // Counts become starts; placing moves each start to its end.
    let mut at = base as u64;
    for word in dir.iter_mut() {
        let count = *word >> 16;
        *word = at << 16 | *word & 0xFFFF;
        at += count;
    }
    for list in lists {
        for &(k, row) in list {
            let word = &mut dir[(k.hash() >> shift) as usize - first_slot];
            entries[(*word >> 16) as usize - base] = (k, row);
            *word += 1 << 16;
        }
    }
}

/// No row under this key.
const NONE: u32 = u32::MAX;

/// Keys without repetition in a range not much larger than their number: the row lies at `key - min`.
pub struct Dense {
    min: u64,
    rows: Vec<u32>,
}

pub enum Lookup {
    Dense(Dense),
    U64(Unchained<u64>),
    U128(Unchained<u128>),
    Bytes { table: Unchained<Hashed>, data: Vec<u8>, ends: Vec<u64> },
}

/// Pairs of (key, row) as they are gathered, one form for all.
pub enum Pairs {
    U64(Vec<Vec<(u64, u32)>>),
    U128(Vec<Vec<(u128, u32)>>),
    /// (hash, row), and by row: the key's bytes.
    Bytes {
        pairs: Vec<Vec<(Hashed, u32)>>,
        data: Vec<u8>,
        ends: Vec<u64>,
    },
}

impl Pairs {
    pub fn new(form: KeyForm) -> Pairs {
        match form {
            KeyForm::U64 => Pairs::U64(Vec::new()),
            KeyForm::U128 => Pairs::U128(Vec::new()),
            KeyForm::Bytes => Pairs::Bytes { pairs: Vec::new(), data: Vec::new(), ends: Vec::new() },
        }
    }

    /// Adds a list of keys with their rows. Byte keys: rows must come ascending over all calls.
    pub fn add(&mut self, keys: &Keys, rows: impl Iterator<Item = u32>) {
        match (self, &keys.words) {
            (Pairs::U64(lists), Words::U64(k)) => lists.push(k.iter().copied().zip(rows).collect()),
            (Pairs::U128(lists), Words::U128(k)) => lists.push(k.iter().copied().zip(rows).collect()),
            (Pairs::Bytes { pairs, data, ends }, words @ Words::Bytes { .. }) => {
                let mut list = Vec::with_capacity(keys.hashes.len());
                for (j, row) in (0..keys.hashes.len()).zip(rows) {
                    // Rows without key have empty ones.
                    while ends.len() < row as usize {
                        ends.push(data.len() as u64);
                    }
                    data.extend_from_slice(words.bytes(j));
                    ends.push(data.len() as u64);
                    list.push((Hashed(keys.hashes[j]), row));
                }
                pairs.push(list);
            }
            _ => panic!("keys of another form than the table's"),
        }
    }
}

impl Lookup {
    /// Of no rows.
    pub fn empty() -> Lookup {
        Lookup::Dense(Dense { min: 0, rows: Vec::new() })
    }

    pub fn build(run: &Run<'_>, pairs: Pairs) -> Result<Lookup> {
        Ok(match pairs {
            Pairs::U64(lists) => match dense(&lists) {
                Some(d) => Lookup::Dense(d),
                None => Lookup::U64(Unchained::build(run, &lists)?),
            },
            Pairs::U128(lists) => Lookup::U128(Unchained::build(run, &lists)?),
            Pairs::Bytes { pairs, data, ends } => Lookup::Bytes { table: Unchained::build(run, &pairs)?, data, ends },
        })
    }

    pub fn bytes(&self) -> usize {
        match self {
            Lookup::Dense(d) => d.rows.len() * 4,
            Lookup::U64(t) => t.bytes(),
            Lookup::U128(t) => t.bytes(),
            Lookup::Bytes { table, data, ends } => table.bytes() + data.len() + ends.len() * 8,
        }
    }

    /// Whether hashes are needed to probe.
    pub fn is_dense(&self) -> bool {
        matches!(self, Lookup::Dense(_))
    }

    /// Calls `f(j, row)` for each key j and each build row of equal key, in order of j, until `f` answers false for it.
    #[inline]
    pub fn probe(&self, keys: &Keys, mut f: impl FnMut(usize, u32) -> bool) {
        match (self, &keys.words) {
            (Lookup::Dense(d), Words::U64(k)) => {
                for (j, k) in k.iter().enumerate() {
                    let at = k.wrapping_sub(d.min);
                    if let Some(&row) = d.rows.get(at as usize)
                        && row != NONE
                    {
                        f(j, row);
                    }
                }
            }
            (Lookup::U64(t), Words::U64(k)) => t.probe(&keys.hashes, |j| k[j], f),
            (Lookup::U128(t), Words::U128(k)) => t.probe(&keys.hashes, |j| k[j], f),
            (Lookup::Bytes { table, data, ends }, words @ Words::Bytes { .. }) => table.probe(
                &keys.hashes,
                |j| Hashed(keys.hashes[j]),
                |j, row| {
                    let start = if row == 0 { 0 } else { ends[row as usize - 1] as usize };
                    if &data[start..ends[row as usize] as usize] == words.bytes(j) { f(j, row) } else { true }
                },
            ),
            _ => panic!("keys of another form than the table's"),
        }
    }
}

/// A plain array, if the keys are unique and fill at least a sixteenth of their range.
fn dense(lists: &[Vec<(u64, u32)>]) -> Option<Dense> {
    let n: usize = lists.iter().map(Vec::len).sum();
    if n == 0 {
        return None;
    }
    let all = || lists.iter().flatten();
    let (min, max) = all().fold((u64::MAX, 0), |(lo, hi), (k, _)| (lo.min(*k), hi.max(*k)));
    let span = max - min;
    if span >= (n as u64 * 16).max(1024) || span >= u32::MAX as u64 {
        return None;
    }
    let mut rows = vec![NONE; span as usize + 1];
    for (k, row) in all() {
        let at = &mut rows[(k - min) as usize];
        if *at != NONE {
            return None;
        }
        *at = *row;
    }
    Some(Dense { min, rows })
}
