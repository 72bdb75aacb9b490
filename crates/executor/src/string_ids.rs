//! Numbers for the strings of key columns that have few different ones.
//!
//! ```text
//!   'Brand#12' ─▶ met by this thread? ── yes ─▶ its number
//!                        │ no
//!                        ▼
//!                    sort key ─▶ StringIds, which all threads of the operator share ─▶ number
//! ```
//! Two strings have the same number exactly if the collation calls them equal, so the number stands for the string in a
//! key: keys of a fixed width, of which many rows' are compared and hashed at once. Numbers mean nothing beyond the
//! operator. A thread that meets many strings forgets those that it knows now and then; the shared ones stay.

use crate::collate;
use crate::keys::hash_bytes;
use crate::memory::Reservation;
use hashbrown::HashTable;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use types::Collation;
use vector::{Selection, StringDict, Values, Vector};

/// Bytes of text that a thread remembers before it starts anew.
const SEEN_BYTES_MAX: usize = 1 << 20;
/// Longer strings are not remembered by threads.
const SEEN_STRING_MAX: usize = 1 << 10;
/// Dictionaries remembered before the cache starts anew.
const DICTS_MAX: usize = 64;
/// What an entry of the shared table takes besides its bytes.
const ENTRY_BYTES: usize = 48;

/// The numbers of one column's strings.
pub struct StringIds {
    collation: Collation,
    known: Mutex<Known>,
}

struct Known {
    ids: HashMap<Box<[u8]>, u32>,
    bytes: usize,
    memory: Reservation,
}

impl StringIds {
    pub fn new(collation: Collation, memory: Reservation) -> Arc<StringIds> {
        Arc::new(StringIds { collation, known: Mutex::new(Known { ids: HashMap::new(), bytes: 0, memory }) })
    }

    /// The number of a sort key.
    fn id(&self, key: &[u8]) -> u32 {
        let mut known = self.known.lock();
        if let Some(id) = known.ids.get(key) {
            return *id;
        }
        let id = u32::try_from(known.ids.len()).expect("2^32 strings do not fit in memory");
        known.ids.insert(key.into(), id);
        known.bytes += key.len() + ENTRY_BYTES;
        let bytes = known.bytes;
        known.memory.force(bytes);
        id
    }
}

/// One thread's way to the numbers.
pub struct LocalIds {
    shared: Arc<StringIds>,
    seen: HashTable<Seen>,
    /// The strings seen, end to end.
    text: Vec<u8>,
    dicts: HashMap<usize, DictIds>,
    key: Vec<u8>,
}

struct Seen {
    hash: u64,
    from: u32,
    len: u32,
    id: u32,
}

struct DictIds {
    /// Held so that the address stays this dictionary's.
    _dict: Arc<StringDict>,
    ids: Vec<u32>,
}

impl LocalIds {
    pub fn new(shared: Arc<StringIds>) -> LocalIds {
        LocalIds { shared, seen: HashTable::new(), text: Vec::new(), dicts: HashMap::new(), key: Vec::new() }
    }

    /// The numbers at `selection` (of `rows` positions), in order; any number where there is NULL.
    pub fn fill(&mut self, column: &Vector, selection: &Selection, rows: usize, out: &mut Vec<u32>) {
        out.clear();
        let (chunk, constant) = column.chunk();
        if constant {
            let id = if chunk.is_valid(0) { self.id(chunk.values.str_bytes(0)) } else { 0 };
            out.resize(selection.count(rows), id);
            return;
        }
        match &chunk.values {
            Values::Dict(d) => {
                let ids = self.of_dict(&d.dict);
                selection.for_each(rows, |i| out.push(ids[d.codes[i] as usize]));
            }
            values => selection.for_each(rows, |i| {
                out.push(if chunk.is_valid(i) { self.id(values.str_bytes(i)) } else { 0 });
            }),
        }
    }

    fn of_dict(&mut self, dict: &Arc<StringDict>) -> &[u32] {
        let at = Arc::as_ptr(dict) as usize;
        if !self.dicts.contains_key(&at) {
            if self.dicts.len() >= DICTS_MAX {
                self.dicts.clear();
            }
            let ids = (0..dict.strings.views.len()).map(|i| self.id(dict.strings.bytes(i))).collect();
            self.dicts.insert(at, DictIds { _dict: dict.clone(), ids });
        }
        &self.dicts[&at].ids
    }

    fn id(&mut self, string: &[u8]) -> u32 {
        let hash = hash_bytes(string);
        let text = &self.text;
        let same = |s: &Seen| s.hash == hash && text[s.from as usize..][..s.len as usize] == *string;
        if let Some(seen) = self.seen.find(hash, same) {
            return seen.id;
        }
        self.key.clear();
        collate::sort_key(self.shared.collation, string, &mut self.key);
        let id = self.shared.id(&self.key);
        if string.len() <= SEEN_STRING_MAX {
            if self.text.len() + string.len() > SEEN_BYTES_MAX {
                self.text.clear();
                self.seen.clear();
            }
            let seen = Seen { hash, from: self.text.len() as u32, len: string.len() as u32, id };
            self.text.extend_from_slice(string);
            self.seen.insert_unique(hash, seen, |s| s.hash);
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryAccountant;
    use types::Value;
    use vector::{Chunk, ChunkBuilder};

    fn strings(values: &[Option<&str>]) -> Chunk {
        let mut b = ChunkBuilder::new(types::PhysType::Str, values.len());
        for v in values {
            b.push(&v.map_or(Value::Null, |v| Value::Bytes(v.as_bytes().into())));
        }
        b.finish()
    }

    #[test]
    fn strings_that_the_collation_calls_equal_have_one_number() {
        let all = MemoryAccountant::new(1 << 30);
        let ids = StringIds::new(Collation::Utf8mb4_0900AiCi, Reservation::new(&all));
        let (mut one, mut other) = (LocalIds::new(ids.clone()), LocalIds::new(ids));
        let (mut a, mut b) = (Vec::new(), Vec::new());
        let column = Vector::flat(strings(&[Some("red"), Some("blue"), None, Some("RED"), Some("réd"), Some("red ")]));
        one.fill(&column, &Selection::All, 6, &mut a);
        assert!(a[0] == a[3] && a[0] == a[4] && a[0] != a[1] && a[0] != a[5]);
        other.fill(&column, &Selection::Some(vec![1, 4]), 6, &mut b);
        assert_eq!(b, [a[1], a[4]]);
        let constant = Vector::Const(Arc::new(strings(&[Some("Blue")])));
        other.fill(&constant, &Selection::All, 3, &mut b);
        assert_eq!(b, [a[1]; 3]);
        assert!(all.used_bytes() > 3 * ENTRY_BYTES);
    }

    #[test]
    fn what_a_thread_forgets_keeps_its_number() {
        let all = MemoryAccountant::new(1 << 30);
        let ids = StringIds::new(Collation::Binary, Reservation::new(&all));
        let mut local = LocalIds::new(ids);
        let word = |i: usize| format!("{i:0200}");
        let first: Vec<u32> = (0..20_000).map(|i| local.id(word(i).as_bytes())).collect();
        assert!(local.text.len() < SEEN_BYTES_MAX && local.seen.len() < 20_000);
        let again: Vec<u32> = (0..20_000).map(|i| local.id(word(i).as_bytes())).collect();
        assert_eq!(first, again);
        assert_eq!(local.id(&[7; SEEN_STRING_MAX + 1]), 20_000);
    }
}
