//! Tail leaves: where rows are appended.
//!
//! ```text
//!   single rows, and the one batch at a time that comes to it     the common tail, under the tail latch
//!   batches that come while another has the common tail           a tail of their own, which nobody else appends to
//! ```
//! So sessions that bring many rows at once do not wait for each other, single rows do not scatter over half-full
//! leaves, and what one thread alone brings lies in its order. A tail of its own goes back to the table with the
//! batch's end, and the next one goes on in it: there are never more tails than cores, and whoever finds none left
//! shares the common one.
//!
//! Invariants
//! 1. Rows come to a tail of its own from whoever has taken it alone; so it needs no latch for the order of its slots,
//!    nor for its sorted run ([`crate::index::unique`]).
//! 2. A leaf among the tails, taken or not, is neither released nor filled ([`crate::reuse`]).

use crate::heap::LeafState;
use crate::index::set::IndexSet;
use crate::leaf::Leaf;
use crate::table::{Table, Tail};
use crate::txn::Txn;
use std::ops::Range;
use std::sync::Arc;
use types::Result;
use vector::Chunk;

/// Fewer rows are no batch.
const BATCH_ROWS_MIN: usize = 64;

/// A tail of its own.
#[derive(Debug)]
pub(crate) struct OwnTail {
    leaf_no: u64,
    taken: bool,
}

/// Where a batch appends its rows, until this is dropped.
pub(crate) struct Place<'t> {
    table: &'t Table,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    /// The common tail, as everybody.
    Shared,
    /// The common tail; other batches are to go elsewhere meanwhile.
    Common,
    /// A tail of its own: its leaf, once there is one.
    Own(Option<u64>),
}

/// How many tails a table may have beside the common one.
fn own_tails_max() -> usize {
    #[cfg(feature = "shuttle")]
    return 1;
    #[cfg(not(feature = "shuttle"))]
    {
        /// More tails help nobody.
        const TAILS_MAX: usize = 16;
        static MAX: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
        let cores = || std::thread::available_parallelism().map_or(1, |n| n.get());
        *MAX.get_or_init(|| cores().min(TAILS_MAX) - 1)
    }
}

impl Place<'_> {
    /// Whether the rows go to a tail of their own.
    pub fn is_own(&self) -> bool {
        matches!(self.kind, Kind::Own(_))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        match self.kind {
            Kind::Shared => {}
            Kind::Common => self.table.tail.lock().has_batch = false,
            Kind::Own(None) => {}
            Kind::Own(Some(leaf_no)) => self.table.leave_tail(leaf_no),
        }
    }
}

impl Tail {
    /// Whether the leaf is a tail of its own.
    pub(crate) fn is_own(&self, leaf_no: u64) -> bool {
        self.own.iter().any(|o| o.leaf_no == leaf_no)
    }
}

impl Table {
    /// The common tail, for single rows.
    pub(crate) fn shared_place(&self) -> Place<'_> {
        Place { table: self, kind: Kind::Shared }
    }

    /// A place for a batch of so many rows.
    pub(crate) fn place_for(&self, rows: usize) -> Place<'_> {
        if rows < BATCH_ROWS_MIN.min(self.leaf_rows()) || self.has_many_free_slots() {
            return self.shared_place();
        }
        let mut tail = self.tail.lock();
        if !tail.has_batch {
            tail.has_batch = true;
            return Place { table: self, kind: Kind::Common };
        }
        if let Some(free) = tail.own.iter_mut().find(|o| !o.taken) {
            free.taken = true;
            return Place { table: self, kind: Kind::Own(Some(free.leaf_no)) };
        }
        let kind = if tail.own.len() < own_tails_max() { Kind::Own(None) } else { Kind::Shared };
        Place { table: self, kind }
    }

    /// Appends as many of `rows` as the leaf of a place of its own takes. See [`Table::append`].
    pub(crate) fn append_own(
        self: &Arc<Self>,
        txn: &Arc<Txn>,
        set: &IndexSet,
        columns: &[&Chunk],
        rows: Range<usize>,
        place: &mut Place<'_>,
        appended: impl FnOnce(u64, usize, bool) -> u64,
    ) -> Result<Option<(u64, Range<usize>)>> {
        let leaf_no = self.own_leaf(place)?;
        let keys = self.slot(leaf_no).share_keys();
        if !self.indexes.is_current(set) {
            return Ok(None);
        }
        let slots = {
            let mut state = self.slot(leaf_no).write();
            let leaf = state.leaf_mut().expect("a tail leaf is resident as long as it is one");
            let n = rows.len().min(self.leaf_rows() - leaf.rows());
            let first = leaf.append(txn, columns, rows.start..rows.start + n, self.leaf_rows());
            first..first + n
        };
        let in_runs = appended(leaf_no, slots.start, false);
        self.entered(txn, set, columns, rows.start, leaf_no, slots.clone(), in_runs);
        drop(keys);
        Ok(Some((leaf_no, slots)))
    }

    /// The leaf of a place of its own, with room for a row.
    fn own_leaf(&self, place: &mut Place<'_>) -> Result<u64> {
        let has_room = |n: u64| self.slot(n).read().leaf().is_some_and(|l| l.rows() < self.leaf_rows());
        if let Kind::Own(Some(leaf_no)) = place.kind {
            if has_room(leaf_no) {
                return Ok(leaf_no);
            }
            place.kind = Kind::Own(None);
            self.leave_tail(leaf_no);
        }
        self.check_leaf_room()?;
        let mut tail = self.tail.lock();
        let leaf_no = self.take_leaf(&mut tail)?;
        *self.slot(leaf_no).write() = LeafState::Resident(Box::new(Leaf::new(self.types())));
        tail.own.push(OwnTail { leaf_no, taken: true });
        place.kind = Kind::Own(Some(leaf_no));
        Ok(leaf_no)
    }

    /// Recovery: leaves that have room beside the common tail are gone on with.
    pub(crate) fn find_own_tails(&self, tail: &mut Tail) {
        let has_room = |n: &u64| self.slot(*n).read().leaf().is_some_and(|l| l.rows() < self.leaf_rows());
        let leaves = (0..self.leaf_count()).rev().filter(|n| tail.leaf_no != Some(*n) && has_room(n));
        tail.own = leaves.take(own_tails_max()).map(|leaf_no| OwnTail { leaf_no, taken: false }).collect();
    }

    /// A batch appends no more to its own tail; if it is full it is none any more.
    fn leave_tail(&self, leaf_no: u64) {
        let (is_full, is_dead) = {
            let mut tail = self.tail.lock();
            let state = self.slot(leaf_no).read();
            let (is_full, is_dead) =
                state.leaf().map_or((true, false), |l| (l.rows() == self.leaf_rows(), l.is_dead()));
            match is_full {
                true => tail.own.retain(|o| o.leaf_no != leaf_no),
                false => tail.own.iter_mut().filter(|o| o.leaf_no == leaf_no).for_each(|o| o.taken = false),
            }
            (is_full, is_dead)
        };
        // While it was a tail nobody could.
        if is_full && is_dead {
            self.release_if_dead(leaf_no);
        }
    }
}
