//! States that hold strings, and count their bytes.

use crate::collate;
use types::{Collation, Value};

/// Bytes that a string's allocation takes beside it.
const ALLOCATION_BYTES: usize = 32;

/// Least or greatest strings by group.
pub struct BestStrings {
    strings: Vec<Box<[u8]>>,
    collation: Collation,
    /// Of the strings.
    bytes: usize,
}

impl BestStrings {
    pub fn new(collation: Collation) -> BestStrings {
        BestStrings { strings: Vec::new(), collation, bytes: 0 }
    }

    pub fn resize(&mut self, groups: usize) {
        self.strings.resize(groups, Box::default());
    }

    pub fn bytes(&self) -> usize {
        self.strings.capacity() * (size_of::<Box<[u8]>>() + ALLOCATION_BYTES) + self.bytes
    }

    pub fn get(&self, g: usize) -> &[u8] {
        &self.strings[g]
    }

    /// Group `g` takes `x` if it has none (`seen`) or a worse one.
    #[inline]
    pub fn offer(&mut self, max: bool, g: usize, seen: &mut bool, x: &[u8]) {
        let have = &self.strings[g];
        let order = || collate::compare(self.collation, x, have);
        if !*seen || if max { order().is_gt() } else { order().is_lt() } {
            *seen = true;
            self.bytes = self.bytes + x.len() - have.len();
            self.strings[g] = x.into();
        }
    }
}

/// A value by group, the first that is not NULL.
#[derive(Default)]
pub struct Anys {
    values: Vec<Option<Value>>,
    /// Of values on the heap.
    bytes: usize,
}

pub fn value_bytes(v: &Value) -> usize {
    match v {
        Value::Bytes(b) => b.len(),
        _ => 0,
    }
}

impl Anys {
    pub fn resize(&mut self, groups: usize) {
        self.values.resize(groups, None);
    }

    pub fn bytes(&self) -> usize {
        self.values.capacity() * 64 + self.bytes
    }

    pub fn get(&self, g: usize) -> Option<&Value> {
        self.values[g].as_ref()
    }

    /// Group `g` takes the value if it has none. NULL where there is another value is a row that lacks the argument
    /// (see `agg::flat`).
    #[inline]
    pub fn offer(&mut self, g: usize, value: impl FnOnce() -> Value) {
        if matches!(self.values[g], None | Some(Value::Null)) {
            let value = value();
            self.bytes += value_bytes(&value);
            self.values[g] = Some(value);
        }
    }
}
