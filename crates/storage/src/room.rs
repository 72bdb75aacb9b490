//! Room for rows: how much memory the process may take before its tables are given no more of it.
//!
//! Tables lie in memory, so a table that grows without end would end the process, and with it everybody's sessions.
//! Before a table takes a leaf, or a row brings long strings, it asks here; where there is no room the statement fails
//! with error 1114, and what it did is taken back. What counts is all that the process holds ([`memory::has_room`]), as
//! there is much besides the rows themselves: indexes, versions, statements. Tables leave a share of the bound to
//! others, so that statements that take rows away have room when tables are full.
//!
//! A refusal is never remembered: each asks anew.
//!
//! ```text
//!   a record of a row's version ──▶ the transaction's count ── 256 KiB ──▶ asks ── no room ──▶ 1114
//!                                            │ ends with less                ▲
//!                                            └──▶ the count of all ── 256 KiB, seen by the next one's first change
//! ```
//! Old versions take room too, without a leaf being taken: each transaction counts what it makes of them, and asks once
//! that is worth it. Deleting and locking rows may use the share that is left to others. Commits and rollbacks ask
//! nothing.

use crate::sync::{AtomicU64, Ordering};
use crate::table::Table;
use crate::txn::Txn;
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

/// Bytes of versions that are made between two looks for room.
const VERSION_BYTES_UNASKED: u64 = 256 << 10;

/// What a transaction that has not asked yet has in its count: what others left is looked at first.
const NEVER_ASKED: u64 = 1 << 63;

/// Bytes of versions that nobody has asked for room for.
#[derive(Debug)]
pub(crate) struct Unasked(AtomicU64);

impl Unasked {
    /// A new transaction's count.
    pub fn of_txn() -> Unasked {
        Unasked(AtomicU64::new(NEVER_ASKED))
    }

    /// The count of all.
    pub fn of_all() -> Unasked {
        Unasked(AtomicU64::new(0))
    }

    /// Counts bytes of the transaction's own. Threads of one load may lose some of each other's.
    #[inline]
    pub fn add(&self, bytes: usize) {
        self.0.store(self.0.load(Ordering::Relaxed) + bytes as u64, Ordering::Relaxed);
    }

    #[inline]
    fn is_due(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= VERSION_BYTES_UNASKED
    }

    fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed) & !NEVER_ASKED
    }

    /// The transaction ends: others ask for what it did not.
    pub fn leave_to(&self, all: &Unasked) {
        all.0.fetch_add(self.bytes(), Ordering::Relaxed);
    }
}

/// What is to be done to a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Versioning {
    /// It gets other values, or comes in.
    Change,
    /// It goes, or is locked: then there may be more room later.
    TakeAway,
}

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

/// Whether a table may take `bytes` more.
fn has_room(bytes: usize) -> bool {
    memory::has_room_beside(bytes, memory::limit_bytes() / SPARE_SHARE)
}

impl Table {
    /// Error 1114 if the process has no room for `bytes` more.
    pub(crate) fn check_room(&self, bytes: usize) -> Result<()> {
        if has_room(bytes) { Ok(()) } else { Err(self.full()) }
    }

    /// Before `txn` makes versions: error 1114 if the process has no room for them. A look at its count, mostly.
    #[inline]
    pub(crate) fn check_versions(&self, txn: &Txn, what: Versioning) -> Result<()> {
        if txn.unasked.is_due() { self.ask_for_versions(txn, what) } else { Ok(()) }
    }

    fn ask_for_versions(&self, txn: &Txn, what: Versioning) -> Result<()> {
        let (own, all) = (&txn.unasked, self.txns.unasked());
        let is_due = own.bytes() + all.bytes() >= VERSION_BYTES_UNASKED;
        let bytes = VERSION_BYTES_UNASKED as usize;
        let has_room = !is_due
            || match what {
                Versioning::Change => has_room(bytes),
                Versioning::TakeAway => memory::has_room(bytes),
            };
        if !has_room {
            // Whoever comes next asks as well.
            all.0.fetch_max(VERSION_BYTES_UNASKED, Ordering::Relaxed);
            return Err(self.full());
        }
        let left = if is_due { 0 } else { own.bytes() };
        own.0.store(left, Ordering::Relaxed);
        if is_due && what == Versioning::Change {
            all.0.store(0, Ordering::Relaxed);
        }
        Ok(())
    }

    fn full(&self) -> Error {
        let full = Error::record_file_full(&self.def().name);
        let what =
            format!("{}: the server has reached max_server_memory, {} bytes", full.message(), memory::limit_bytes());
        Error::new(full.code(), what)
    }

    /// Room for the long strings of a row, position `at` of `values` (one chunk a column of `columns`).
    pub(crate) fn check_room_of(&self, columns: Option<&[usize]>, values: &[&Chunk], at: Range<usize>) -> Result<()> {
        if self.long_columns.is_empty() || memory::limit_bytes() == 0 {
            return Ok(());
        }
        let place = |c: &usize| columns.map_or(Some(*c), |list| list.iter().position(|l| l == c));
        let bytes: usize =
            self.long_columns.iter().filter_map(place).map(|p| string_bytes(values[p], at.clone())).sum();
        if bytes < LONG_BYTES { Ok(()) } else { self.check_room(bytes) }
    }
}
