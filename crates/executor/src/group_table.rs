//! A hash table from keys to dense numbers: group 0, 1, 2, ... in order of first appearance.
//!
//! ```text
//!   slots: [key | group] [ empty ] [key | group] ...    power of two, linear probing, at most 2/3 full
//! ```
//! Fixed-width keys lie in the slots, so a find touches one cache line. Byte keys lie in one arena by group number and
//! the slot holds their hash. A whole batch is looked up at once: slots are prefetched before they are read.

use crate::keys::{KeyForm, Keys, Words, hash_u64, hash_u128};

#[derive(Clone, Copy)]
struct Slot<K> {
    key: K,
    group: u32,
}

const EMPTY: u32 = u32::MAX;
/// Above this many bytes of slots a batch's slots are prefetched.
const PREFETCH_BYTES: usize = 256 << 10;

trait SlotKey: Copy + Eq + Default {
    fn hash(self) -> u64;
}

impl SlotKey for u64 {
    #[inline]
    fn hash(self) -> u64 {
        hash_u64(self)
    }
}

impl SlotKey for u128 {
    #[inline]
    fn hash(self) -> u64 {
        hash_u128(self)
    }
}

/// The hash of a byte key, standing for it.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Hashed(u64);

impl SlotKey for Hashed {
    #[inline]
    fn hash(self) -> u64 {
        self.0
    }
}

struct Slots<K> {
    slots: Vec<Slot<K>>,
    len: usize,
}

#[inline]
fn prefetch<T>(p: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: prefetching has no effect on memory, and the address is of a live reference.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(p as *const T as *const i8);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = p;
}

impl<K: SlotKey> Slots<K> {
    fn new() -> Slots<K> {
        Slots { slots: vec![Slot { key: K::default(), group: EMPTY }; 64], len: 0 }
    }

    fn reserve(&mut self, more: usize) {
        let need = (self.len + more) * 3 / 2;
        if need <= self.slots.len() {
            return;
        }
        let size = need.next_power_of_two().max(self.slots.len() * 2);
        let old = std::mem::replace(&mut self.slots, vec![Slot { key: K::default(), group: EMPTY }; size]);
        let mask = size - 1;
        for s in old {
            if s.group != EMPTY {
                let mut at = s.key.hash() as usize & mask;
                while self.slots[at].group != EMPTY {
                    at = (at + 1) & mask;
                }
                self.slots[at] = s;
            }
        }
    }

    /// Finds or adds `keys`; `same(group, j)` settles equality beyond the slot's key. New groups' rows go to `new_rows`.
    fn find_or_insert(
        &mut self,
        keys: impl Fn(usize) -> K,
        hashes: &[u64],
        same: impl Fn(u32, &[u32], usize) -> bool,
        groups: &mut Vec<u32>,
        new_rows: &mut Vec<u32>,
    ) {
        let n = hashes.len();
        self.reserve(n);
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
                if s.group == EMPTY {
                    let group = self.len as u32;
                    self.slots[at] = Slot { key, group };
                    self.len += 1;
                    new_rows.push(j as u32);
                    break group;
                }
                if s.key == key && same(s.group, new_rows, j) {
                    break s.group;
                }
                at = (at + 1) & mask;
            };
            groups.push(group);
        }
    }

    fn bytes(&self) -> usize {
        self.slots.len() * size_of::<Slot<K>>()
    }
}

enum Form {
    U64(Slots<u64>),
    U128(Slots<u128>),
    Bytes { slots: Slots<Hashed>, data: Vec<u8>, ends: Vec<usize> },
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

fn empty_words(form: KeyForm) -> Words {
    match form {
        KeyForm::U64 => Words::U64(Vec::new()),
        KeyForm::U128 => Words::U128(Vec::new()),
        KeyForm::Bytes => Words::Bytes { data: Vec::new(), ends: Vec::new() },
    }
}

impl GroupTable {
    pub fn new(form: KeyForm) -> GroupTable {
        GroupTable {
            form: match form {
                KeyForm::U64 => Form::U64(Slots::new()),
                KeyForm::U128 => Form::U128(Slots::new()),
                KeyForm::Bytes => Form::Bytes { slots: Slots::new(), data: Vec::new(), ends: Vec::new() },
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
            Form::Bytes { slots, .. } => (slots.slots.len(), size_of::<Slot<Hashed>>()),
        };
        let need = (self.len() + rows) * 3 / 2;
        let grown = if need > slots { need.next_power_of_two().max(slots * 2) * size } else { slots * size };
        self.bytes() - slots * size + grown
    }

    /// The group of each key, appended to `groups`; the indexes (into `keys`) of those that founded a group, in order of
    /// their groups' numbers, go to `new_rows`, which must come empty.
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
                slots.find_or_insert(|j| Hashed(hashes[j]), hashes, same, groups, new_rows);
                for &j in new_rows.iter() {
                    data.extend_from_slice(words.bytes(j as usize));
                    ends.push(data.len());
                }
            }
            _ => panic!("keys of another form than the table's"),
        }
    }

    /// The groups of keys that are present; `u32::MAX` for the others. Nothing is added.
    pub fn find(&self, keys: &Keys, groups: &mut Vec<u32>) {
        fn go<K: SlotKey>(
            s: &Slots<K>,
            key: impl Fn(usize) -> K,
            hashes: &[u64],
            same: impl Fn(u32, usize) -> bool,
            groups: &mut Vec<u32>,
        ) {
            let mask = s.slots.len() - 1;
            for (j, &h) in hashes.iter().enumerate() {
                let k = key(j);
                let mut at = h as usize & mask;
                groups.push(loop {
                    let s = s.slots[at];
                    if s.group == EMPTY || s.key == k && same(s.group, j) {
                        break s.group;
                    }
                    at = (at + 1) & mask;
                });
            }
        }
        match (&self.form, &keys.words) {
            (Form::U64(s), Words::U64(k)) => go(s, |j| k[j], &keys.hashes, |_, _| true, groups),
            (Form::U128(s), Words::U128(k)) => go(s, |j| k[j], &keys.hashes, |_, _| true, groups),
            (Form::Bytes { slots, .. }, words @ Words::Bytes { .. }) => {
                go(slots, |j| Hashed(keys.hashes[j]), &keys.hashes, |g, j| self.key_bytes(g) == words.bytes(j), groups)
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

    /// The groups by the top `bits` bits of their hashes.
    pub fn partitions(&self, bits: u32) -> Vec<GroupList> {
        let mut parts: Vec<GroupList> = (0..1usize << bits)
            .map(|_| GroupList {
                groups: Vec::new(),
                keys: Keys { words: empty_words(self.form()), hashes: Vec::new() },
            })
            .collect();
        let part_of = |h: u64| if bits == 0 { 0 } else { (h >> (64 - bits)) as usize };
        match &self.form {
            Form::U64(s) => {
                for slot in s.slots.iter().filter(|s| s.group != EMPTY) {
                    let h = slot.key.hash();
                    let p = &mut parts[part_of(h)];
                    p.groups.push(slot.group);
                    p.keys.hashes.push(h);
                    let Words::U64(w) = &mut p.keys.words else { unreachable!("made so above") };
                    w.push(slot.key);
                }
            }
            Form::U128(s) => {
                for slot in s.slots.iter().filter(|s| s.group != EMPTY) {
                    let h = slot.key.hash();
                    let p = &mut parts[part_of(h)];
                    p.groups.push(slot.group);
                    p.keys.hashes.push(h);
                    let Words::U128(w) = &mut p.keys.words else { unreachable!("made so above") };
                    w.push(slot.key);
                }
            }
            Form::Bytes { slots, .. } => {
                for slot in slots.slots.iter().filter(|s| s.group != EMPTY) {
                    let h = slot.key.0;
                    let p = &mut parts[part_of(h)];
                    p.groups.push(slot.group);
                    p.keys.hashes.push(h);
                    let Words::Bytes { data, ends } = &mut p.keys.words else { unreachable!("made so above") };
                    data.extend_from_slice(self.key_bytes(slot.group));
                    ends.push(data.len() as u32);
                }
            }
        }
        parts
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
        let total: usize = t.partitions(4).iter().map(|p| p.groups.len()).sum();
        assert_eq!(total, model.len());
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
