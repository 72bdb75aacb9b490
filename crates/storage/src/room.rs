//! Room for rows: how much memory the process may take before its tables are given no more of it.
//!
//! Tables lie in memory, so a table that grows without end would end the process, and with it everybody's sessions. Before
//! a table takes a leaf, or a row brings long strings, it asks here; where there is no room the statement fails with
//! error 1114, and what it did is taken back. What the process holds is asked of the system, as it counts all there is
//! besides the rows themselves: indexes, versions, statements. It is asked whenever [`LOOK_BYTES`] were taken since.
//!
//! What is told is the resident memory, which follows what is freed a moment later. A refusal is never remembered: each
//! asks anew.

use crate::table::Table;
use catalog::TableDef;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use types::{Error, Result, SqlType};
use vector::{Chunk, Values};

/// Bytes that tables take between two looks at what the process holds.
const LOOK_BYTES: u64 = 16 << 20;

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

/// See the module head.
#[derive(Debug, Default)]
pub struct Room {
    /// 0: no limit.
    limit_bytes: AtomicUsize,
    /// Taken since the last look.
    taken_bytes: AtomicU64,
}

impl Room {
    /// The process may have `bytes`, 0: whatever it takes.
    pub fn set_limit(&self, bytes: usize) {
        self.limit_bytes.store(bytes, Ordering::Relaxed);
        // The next who asks looks.
        self.taken_bytes.store(LOOK_BYTES, Ordering::Relaxed);
    }

    pub fn limit_bytes(&self) -> usize {
        self.limit_bytes.load(Ordering::Relaxed)
    }

    /// Whether a table may take `bytes` more.
    pub fn has(&self, bytes: usize) -> bool {
        let limit = self.limit_bytes();
        if limit == 0 {
            return true;
        }
        let taken = self.taken_bytes.fetch_add(bytes as u64, Ordering::Relaxed).saturating_add(bytes as u64);
        if taken < LOOK_BYTES {
            return true;
        }
        let has = resident_bytes().is_none_or(|held| held.saturating_add(bytes) <= limit);
        self.taken_bytes.store(if has { 0 } else { LOOK_BYTES }, Ordering::Relaxed);
        has
    }
}

/// What of the process is in memory, where the system tells.
fn resident_bytes() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()?.checked_mul(1024)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_below_what_is_held_leaves_no_room() {
        let room = Room::default();
        assert!(room.has(usize::MAX), "no limit");
        room.set_limit(1);
        let told = resident_bytes().is_some();
        assert_eq!(room.has(1), !told);
        assert_eq!(room.has(1), !told, "and none later");
        room.set_limit(usize::MAX);
        assert!(room.has(1));
        assert!(room.has(LOOK_BYTES as usize));
    }
}
