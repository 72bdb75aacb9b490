//! Room for rows: how much memory the process may take before its tables are given no more of it.
//!
//! Tables lie in memory, so a table that grows without end would end the process, and with it everybody's sessions. Before
//! a table takes a leaf, or a row brings long strings, it asks here; where there is no room the statement fails with
//! error 1114, and what it did is taken back. What counts is all that the process holds ([`memory::has_room`]), as there is
//! much besides the rows themselves: indexes, versions, statements. Tables leave a share of the bound to others, so that
//! statements that take rows away have room when tables are full.
//!
//! A refusal is never remembered: each asks anew.

use crate::table::Table;
use catalog::TableDef;
use std::ops::Range;
use types::{Error, Result, SqlType};
use vector::{Chunk, Values};

/// The share of the bound that tables leave to others.
const SPARE_SHARE: usize = 32;

/// Strings of columns that hold no more than this are counted with the leaf.
const SHORT_CHARS: u32 = 255;

/// Rows whose strings have fewer bytes are counted with the leaf.
const LONG_BYTES: usize = 4 << 10;

/// The columns whose strings may be long.
pub(crate) fn long_columns(def: &TableDef) -> Box<[usize]> {
    let is_long = |ty: &SqlType| matches!(ty, SqlType::String { len, .. } if *len > SHORT_CHARS);
    (0..def.columns.len()).filter(|&c| is_long(&def.columns[c].ty)).collect()
}

fn string_bytes(chunk: &Chunk, rows: Range<usize>) -> usize {
    match &chunk.values {
        Values::Str(s) => rows.map(|i| s.bytes(i).len()).sum(),
        _ => 0,
    }
}

/// See the module head. All tables of the process share one bound.
#[derive(Debug, Default)]
pub struct Room;

impl Room {
    /// The process may have `bytes`, 0: whatever it takes.
    pub fn set_limit(&self, bytes: usize) {
        memory::set_limit(bytes);
    }

    pub fn limit_bytes(&self) -> usize {
        memory::limit_bytes()
    }

    /// Whether a table may take `bytes` more.
    pub fn has(&self, bytes: usize) -> bool {
        memory::has_room_beside(bytes, memory::limit_bytes() / SPARE_SHARE)
    }
}

impl Table {
    /// Error 1114 if the process has no room for `bytes` more.
    pub(crate) fn check_room(&self, bytes: usize) -> Result<()> {
        let room = self.txns.room();
        if room.has(bytes) {
            return Ok(());
        }
        let full = Error::record_file_full(&self.def().name);
        let what =
            format!("{}: the server has reached max_server_memory, {} bytes", full.message(), room.limit_bytes());
        Err(Error::new(full.code(), what))
    }

    /// Room for the long strings of a row, position `at` of `values` (one chunk a column of `columns`).
    pub(crate) fn check_room_of(&self, columns: Option<&[usize]>, values: &[&Chunk], at: Range<usize>) -> Result<()> {
        if self.long_columns.is_empty() || self.txns.room().limit_bytes() == 0 {
            return Ok(());
        }
        let place = |c: &usize| columns.map_or(Some(*c), |list| list.iter().position(|l| l == c));
        let bytes: usize =
            self.long_columns.iter().filter_map(place).map(|p| string_bytes(values[p], at.clone())).sum();
        if bytes < LONG_BYTES { Ok(()) } else { self.check_room(bytes) }
    }
}
