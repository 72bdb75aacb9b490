//! Dictionaries shared by the leaves of a table.
//!
//! A string column with at most 256 distinct values is held as one-byte codes in the leaves that loads attach. All
//! loads of a table add to one dictionary a column; a leaf keeps the dictionary as it was when the leaf was finished.
//! Once all values have been seen, every leaf shares one `Arc`, so operators can cache work by its address.

use crate::sync::{Mutex, Rank};
use std::collections::HashMap;
use std::sync::Arc;
use vector::{StrValues, StringDict};

/// Codes are bytes.
pub const DICT_ENTRIES_MAX: usize = 256;
/// Longer strings are never put into a dictionary.
const DICT_STRING_BYTES_MAX: usize = 256;

#[derive(Debug, Default)]
struct State {
    codes: HashMap<Box<[u8]>, u8>,
    strings: StrValues,
    snapshot: Option<Arc<StringDict>>,
    /// The column has too many distinct values: no more codes are given.
    closed: bool,
}

/// The growing dictionary of one column.
#[derive(Debug)]
pub struct SharedDict(Mutex<State>);

impl SharedDict {
    #[allow(clippy::new_without_default)]
    pub fn new() -> SharedDict {
        SharedDict(Mutex::new(Rank::Dictionary, State::default()))
    }

    /// The code of `bytes`, given now if need be. `None`: the column has too many distinct values for codes.
    pub fn code(&self, bytes: &[u8]) -> Option<u8> {
        let mut state = self.0.lock();
        if let Some(&code) = state.codes.get(bytes) {
            return Some(code);
        }
        if state.strings.views.len() == DICT_ENTRIES_MAX || bytes.len() > DICT_STRING_BYTES_MAX {
            state.closed = true;
            // Nobody is to have codes from now on; leaves in the making have those that they were given.
            state.codes = HashMap::new();
        }
        if state.closed {
            return None;
        }
        let code = state.strings.views.len() as u8;
        state.codes.insert(bytes.into(), code);
        state.strings.push(bytes);
        state.snapshot = None;
        Some(code)
    }

    pub fn is_closed(&self) -> bool {
        self.0.lock().closed
    }

    /// The dictionary as it is now; it has every code given so far.
    pub fn snapshot(&self) -> Arc<StringDict> {
        let mut state = self.0.lock();
        if let Some(dict) = &state.snapshot {
            return dict.clone();
        }
        let mut strings = state.strings.clone();
        strings.compact();
        let dict = Arc::new(StringDict { strings });
        state.snapshot = Some(dict.clone());
        dict
    }

    /// Recovery: goes on from a dictionary that leaves share, if it is the longest so far.
    pub fn restore(&self, dict: &Arc<StringDict>) {
        let mut state = self.0.lock();
        if dict.strings.views.len() <= state.strings.views.len() {
            return;
        }
        let entries = dict.strings.views.len();
        state.codes = (0..entries).map(|i| (dict.strings.bytes(i).into(), i as u8)).collect();
        state.strings = dict.strings.clone();
        state.snapshot = Some(dict.clone());
    }

    pub fn bytes_allocated(&self) -> usize {
        let state = self.0.lock();
        let codes: usize = state.codes.keys().map(|bytes| bytes.len() + 32).sum();
        state.strings.views.capacity() * 16 + state.strings.heap.bytes_allocated() + codes
    }
}
