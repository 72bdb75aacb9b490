//! A hash table from keys to dense numbers: group 0, 1, 2, ... in order of first appearance.
//!
//! ```text
//!   slots: (key, group + 1) | (0, 0) = empty | (key, group + 1) ...    power of two, linear probing, at most 2/3 full
//! ```
//! Fixed-width keys lie in the slots, so a find touches one cache line. Byte keys lie in one arena by group number and
//! the slot holds their hash. A whole batch is looked up at once: slots are prefetched before they are read.
//!
//! An empty slot is all zeros, so that a new table costs pages only as they are touched, and [`GroupTable::reserve`]
//! looks at the kill flag as it moves the slots: growing to gigabytes takes long but can be stopped.

use crate::keys::{KeyForm, Keys, Words, hash_u64, hash_u128};
use std::sync::atomic::{AtomicBool, Ordering};
use storage::prefetch;

/// A key, and its group's number plus one.
type Slot<K> = (K, u32);

const EMPTY: u32 = 0;
/// In place of a group: the key is not in the table.
pub const NO_GROUP: u32 = u32::MAX;
/// Above this many bytes of slots a batch's slots are prefetched.
const PREFETCH_BYTES: usize = 256 << 10;
/// Slots moved or listed between two looks at the kill flag.
const SLOTS_PER_CHECK: usize = 64 << 10;

trait SlotKey: Copy + Eq + Default {
    /// The hash by which a key is placed; `hashed`: the key is one.
    fn hash(self, hashed: bool) -> u64;
}

impl SlotKey for u64 {
    #[inline]
    fn hash(self, hashed: bool) -> u64 {
        if hashed { self } else { hash_u64(self) }
    }
}

impl SlotKey for u128 {
    #[inline]
    fn hash(self, _: bool) -> u64 {
        hash_u128(self)
    }
}

struct Slots<K> {
    slots: Vec<Slot<K>>,
    len: usize,
    /// The keys are hashes, standing for byte keys.
    hashed: bool,
}

impl<K: SlotKey> Slots<K> {
    fn new(hashed: bool) -> Slots<K> {
        Slots { slots: vec![(K::default(), EMPTY); 64], len: 0, hashed }
    }

    /// Room for `more` keys; false, and nothing changed, if `killed` was seen set on the way.
    fn reserve(&mut self, more: usize, killed: &AtomicBool) -> bool {
        let need = (self.len + more) * 3 / 2;
        if need <= self.slots.len() {
            return true;
        }
        let size = need.next_power_of_two().max(self.slots.len() * 2);
        let mut slots = vec![(K::default(), EMPTY); size];
        let mask = size - 1;
        for part in self.slots.chunks(SLOTS_PER_CHECK) {
            if killed.load(Ordering::Relaxed) {
                return false;
            }
            for &s in part {
                if s.1 != EMPTY {
                    let mut at = s.0.hash(self.hashed) as usize & mask;
                    while slots[at].1 != EMPTY {
                        at = (at + 1) & mask;
                    }
                    slots[at] = s;
                }
            }
        }
        self.slots = slots;
        true
    }

    /// Finds or adds `keys`; `same(group, j)` settles equality beyond the slot's key. New groups' rows go to
    /// `new_rows`.
    fn find_or_insert(
        &mut self,
        keys: impl Fn(usize) -> K,
        hashes: &[u64],
        same: impl Fn(u32, &[u32], usize) -> bool,
        groups: &mut Vec<u32>,
        new_rows: &mut Vec<u32>,
    ) {
        let n = hashes.len();
        self.reserve(n, &AtomicBool::new(false));
        let mask = self.slots.len() - 1;
        if self.slots.len() * size_of::<Slot<K>>() > PREFETCH_BYTES {
            for &h in hashes {
                prefetch(&self.slots[h as usize & mask]);
            }
        }
        for (j, &h) in hashes.iter().enumerate() {
            let key = keys(j);
            let mut at = h as usize & mask;
            let group = loop {
                let s = self.slots[at];
                if s.1 == EMPTY {
                    let group = self.len as u32;
                    self.slots[at] = (key, group + 1);
                    self.len += 1;
                    new_rows.push(j as u32);
                    break group;
                }
                if s.0 == key && same(s.1 - 1, new_rows, j) {
                    break s.1 - 1;
                }
                at = (at + 1) & mask;
            };
            groups.push(group);
        }
    }

    /// The groups of keys that are present.
    fn find(&self, key: impl Fn(usize) -> K, hashes: &[u64], same: impl Fn(u32, usize) -> bool, groups: &mut Vec<u32>) {
        let mask = self.slots.len() - 1;
        for (j, &h) in hashes.iter().enumerate() {
            let k = key(j);
            let mut at = h as usize & mask;
            groups.push(loop {
                let s = self.slots[at];
                if s.1 == EMPTY {
                    break NO_GROUP;
                }
                if s.0 == k && same(s.1 - 1, j) {
                    break s.1 - 1;
                }
                at = (at + 1) & mask;
            });
        }
    }

    /// Calls `f(key, hash, group)` for each key, until `f` answers an error.
    fn each<E>(&self, mut f: impl FnMut(K, u64, u32) -> Result<(), E>) -> Result<(), E> {
        for &(key, group) in self.slots.iter().filter(|s| s.1 != EMPTY) {
            f(key, key.hash(self.hashed), group - 1)?;
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.slots.len() * size_of::<Slot<K>>()
    }
}

enum Form {
    U64(Slots<u64>),
    U128(Slots<u128>),
    Bytes { slots: Slots<u64>, data: Vec<u8>, ends: Vec<usize> },
}

/// See the module head.
pub struct GroupTable {
    form: Form,
}

/// Some groups of a table, as keys to look up in another: what a merge passes on.
pub struct GroupList {
    pub groups: Vec<u32>,
    pub keys: Keys,
}

impl GroupList {
    fn new(form: KeyForm) -> GroupList {
        let words = match form {
            KeyForm::U64 => Words::U64(Vec::new()),
            KeyForm::U128 => Words::U128(Vec::new()),
            KeyForm::Bytes => Words::Bytes { data: Vec::new(), ends: Vec::new() },
        };
        GroupList { groups: Vec::new(), keys: Keys { words, hashes: Vec::new() } }
    }

    /// The list, leaving an empty one.
    pub fn take(&mut self) -> GroupList {
        let form = match self.keys.words {
            Words::U64(_) => KeyForm::U64,
            Words::U128(_) => KeyForm::U128,
            Words::Bytes { .. } => KeyForm::Bytes,
        };
        std::mem::replace(self, GroupList::new(form))
    }

    fn clear(&mut self) {
        self.groups.clear();
        self.keys.hashes.clear();
        match &mut self.keys.words {
            Words::U64(w) => w.clear(),
            Words::U128(w) => w.clear(),
            Words::Bytes { data, ends } => {
                data.clear();
                ends.clear();
            }
        }
    }
}

impl GroupTable {
    pub fn new(form: KeyForm) -> GroupTable {
        GroupTable {
            form: match form {
                KeyForm::U64 => Form::U64(Slots::new(false)),
                KeyForm::U128 => Form::U128(Slots::new(false)),
                KeyForm::Bytes => Form::Bytes { slots: Slots::new(true), data: Vec::new(), ends: Vec::new() },
            },
        }
    }

    pub fn form(&self) -> KeyForm {
        match &self.form {
            Form::U64(_) => KeyForm::U64,
            Form::U128(_) => KeyForm::U128,
            Form::Bytes { .. } => KeyForm::Bytes,
        }
    }

    pub fn len(&self) -> usize {
        match &self.form {
            Form::U64(s) => s.len,
            Form::U128(s) => s.len,
            Form::Bytes { slots, .. } => slots.len,
        }
    }

    pub fn bytes(&self) -> usize {
        match &self.form {
            Form::U64(s) => s.bytes(),
            Form::U128(s) => s.bytes(),
            Form::Bytes { slots, data, ends } => slots.bytes() + data.capacity() + ends.capacity() * 8,
        }
    }

    /// What `bytes` may become if `rows` new keys are added.
    pub fn bytes_after(&self, rows: usize) -> usize {
        let (slots, size) = match &self.form {
            Form::U64(s) => (s.slots.len(), size_of::<Slot<u64>>()),
            Form::U128(s) => (s.slots.len(), size_of::<Slot<u128>>()),
            Form::Bytes { slots, .. } => (slots.slots.len(), size_of::<Slot<u64>>()),
        };
        let need = (self.len() + rows) * 3 / 2;
        let grown = if need > slots { need.next_power_of_two().max(slots * 2) * size } else { slots * size };
        self.bytes() - slots * size + grown
    }

    /// Makes room for `rows` new keys; false, and nothing changed, if `killed` was seen set on the way.
    #[must_use]
    pub fn reserve(&mut self, rows: usize, killed: &AtomicBool) -> bool {
        match &mut self.form {
            Form::U64(s) => s.reserve(rows, killed),
            Form::U128(s) => s.reserve(rows, killed),
            Form::Bytes { slots, .. } => slots.reserve(rows, killed),
        }
    }

    /// The group of each key, appended to `groups`; the indexes (into `keys`) of those that founded a group, in order
    /// of their groups' numbers, go to `new_rows`, which must come empty.
    pub fn find_or_insert(&mut self, keys: &Keys, groups: &mut Vec<u32>, new_rows: &mut Vec<u32>) {
        debug_assert!(new_rows.is_empty());
        match (&mut self.form, &keys.words) {
            (Form::U64(s), Words::U64(k)) => s.find_or_insert(|j| k[j], &keys.hashes, |_, _, _| true, groups, new_rows),
            (Form::U128(s), Words::U128(k)) => {
                s.find_or_insert(|j| k[j], &keys.hashes, |_, _, _| true, groups, new_rows)
            }
            (Form::Bytes { slots, data, ends }, words @ Words::Bytes { .. }) => {
                let old = ends.len();
                let old_key = |g: u32| {
                    let start = if g == 0 { 0 } else { ends[g as usize - 1] };
                    &data[start..ends[g as usize]]
                };
                let same = |g: u32, new: &[u32], j: usize| {
                    let have =
                        if (g as usize) < old { old_key(g) } else { words.bytes(new[g as usize - old] as usize) };
                    have == words.bytes(j)
                };
                let hashes = &keys.hashes;
                slots.find_or_insert(|j| hashes[j], hashes, same, groups, new_rows);
                for &j in new_rows.iter() {
                    data.extend_from_slice(words.bytes(j as usize));
                    ends.push(data.len());
                }
            }
            _ => panic!("keys of another form than the table's"),
        }
    }

    /// The groups of keys that are present; [`NO_GROUP`] for the others. Nothing is added.
    pub fn find(&self, keys: &Keys, groups: &mut Vec<u32>) {
        match (&self.form, &keys.words) {
            (Form::U64(s), Words::U64(k)) => s.find(|j| k[j], &keys.hashes, |_, _| true, groups),
            (Form::U128(s), Words::U128(k)) => s.find(|j| k[j], &keys.hashes, |_, _| true, groups),
            (Form::Bytes { slots, .. }, words @ Words::Bytes { .. }) => {
                let same = |g: u32, j: usize| self.key_bytes(g) == words.bytes(j);
                slots.find(|j| keys.hashes[j], &keys.hashes, same, groups)
            }
            _ => panic!("keys of another form than the table's"),
        }
    }

    fn key_bytes(&self, g: u32) -> &[u8] {
        match &self.form {
            Form::Bytes { data, ends, .. } => {
                let start = if g == 0 { 0 } else { ends[g as usize - 1] };
                &data[start..ends[g as usize]]
            }
            _ => panic!("byte key of a fixed-width table"),
        }
    }

    /// All groups, in lists of at most `max` by part (`part_of` a hash, below `parts`), each handed to `f` with its
    /// part.
    pub fn lists<E>(
        &self,
        parts: usize,
        part_of: impl Fn(u64) -> usize,
        max: usize,
        mut f: impl FnMut(usize, &mut GroupList) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut lists: Vec<GroupList> = (0..parts).map(|_| GroupList::new(self.form())).collect();
        macro_rules! gather {
            ($slots:expr, |$list:ident, $key:ident, $group:ident| $push:expr) => {
                $slots.each(|$key, hash, $group| {
                    let p = part_of(hash);
                    let $list = &mut lists[p];
                    $list.groups.push($group);
                    $list.keys.hashes.push(hash);
                    $push;
                    if $list.groups.len() >= max {
                        f(p, $list)?;
                        $list.clear();
                    }
                    Ok(())
                })?
            };
        }
        match &self.form {
            Form::U64(s) => gather!(s, |list, key, group| if let Words::U64(w) = &mut list.keys.words {
                w.push(key)
            }),
            Form::U128(s) => gather!(s, |list, key, group| if let Words::U128(w) = &mut list.keys.words {
                w.push(key)
            }),
            Form::Bytes { slots, .. } => {
                gather!(slots, |list, _key, group| if let Words::Bytes { data, ends } = &mut list.keys.words {
                    data.extend_from_slice(self.key_bytes(group));
                    ends.push(data.len() as u32);
                })
            }
        }
        for (p, list) in lists.iter_mut().enumerate() {
            if !list.groups.is_empty() {
                f(p, list)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::hash_bytes;
    use std::collections::HashMap;

    #[test]
    fn numbers_are_dense_in_order_of_first_appearance() {
        let mut t = GroupTable::new(KeyForm::U64);
        let mut model: HashMap<u64, u32> = HashMap::new();
        let mut x = 1u64;
        for _ in 0..50 {
            let words: Vec<u64> = (0..500)
                .map(|_| {
                    x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    (x >> 33) % 7000
                })
                .collect();
            let keys = Keys { hashes: words.iter().map(|&k| hash_u64(k)).collect(), words: Words::U64(words.clone()) };
            let (mut groups, mut new) = (Vec::new(), Vec::new());
            t.find_or_insert(&keys, &mut groups, &mut new);
            for (w, g) in words.iter().zip(&groups) {
                let next = model.len() as u32;
                assert_eq!(*model.entry(*w).or_insert(next), *g);
            }
            assert_eq!(t.len(), model.len());
        }
        let mut seen = vec![false; model.len()];
        let lists = t.lists(
            16,
            |h| (h >> 60) as usize,
            100,
            |p, list| {
                assert!(list.groups.len() <= 100);
                assert!(list.keys.hashes.iter().all(|h| (h >> 60) as usize == p));
                list.groups.iter().for_each(|&g| assert!(!std::mem::replace(&mut seen[g as usize], true)));
                Ok::<(), ()>(())
            },
        );
        assert!(lists.is_ok() && seen.iter().all(|s| *s));
    }

    #[test]
    fn growth_that_is_stopped_changes_nothing() {
        let mut t = GroupTable::new(KeyForm::U64);
        let keys =
            |words: Vec<u64>| Keys { hashes: words.iter().map(|&k| hash_u64(k)).collect(), words: Words::U64(words) };
        let (mut groups, mut new) = (Vec::new(), Vec::new());
        t.find_or_insert(&keys((0..40).collect()), &mut groups, &mut new);
        assert!(!t.reserve(1000, &AtomicBool::new(true)));
        let mut found = Vec::new();
        t.find(&keys((0..41).collect()), &mut found);
        assert_eq!(found[..40], groups[..]);
        assert_eq!(found[40], NO_GROUP);
        assert!(t.reserve(1000, &AtomicBool::new(false)));
    }

    #[test]
    fn byte_keys_with_one_hash_stay_apart() {
        let mut t = GroupTable::new(KeyForm::Bytes);
        let keys =
            Keys { words: Words::Bytes { data: b"abcabxabc".to_vec(), ends: vec![3, 6, 9] }, hashes: vec![7, 7, 7] };
        let (mut groups, mut new) = (Vec::new(), Vec::new());
        t.find_or_insert(&keys, &mut groups, &mut new);
        assert_eq!((groups, new), (vec![0, 1, 0], vec![0, 1]));
        let mut found = Vec::new();
        let other = Keys {
            words: Words::Bytes { data: b"abxzzz".to_vec(), ends: vec![3, 6] },
            hashes: vec![7, hash_bytes(b"zzz")],
        };
        t.find(&other, &mut found);
        assert_eq!(found, vec![1, u32::MAX]);
    }
}
