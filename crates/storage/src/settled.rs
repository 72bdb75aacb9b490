//! Counting entries of an ordered index without a look at their rows.
//!
//! An entry may be there for a version that a snapshot does not see, or for one that is gone: so whoever reads an index
//! compares each entry with its row, which is a cache miss or two a row. A leaf without versions is different: once
//! whoever took its last versions away has taken their entries away too, its rows have one entry each, and every
//! snapshot sees them. Looking at leaves is cheap, there are a thousand times fewer of them.
//!
//! ```text
//!   collector   begun += 1 ── prunes versions, removes entries ── ended += 1
//!   reader      begun = ended? ── reads entries ── no versions in their leaves? ── begun as before?
//! ```
//! If the reader finds a leaf without versions, its last collector began before: so either it had ended before the
//! entries were read, or the reader's last look tells.

use crate::index::cursor::Candidates;
use crate::leaf::Leaf;
use crate::sync::{AtomicU64, Ordering};
use crate::table::Table;
use crate::txn::Snapshot;

/// Leaves that one look at candidates remembers.
const KNOWN_LEAVES: usize = 512;

/// How many have begun, and ended, to take versions and then entries away.
#[derive(Debug, Default)]
pub struct Removals {
    begun: AtomicU64,
    ended: AtomicU64,
}

/// Somebody takes versions and entries away.
#[derive(Debug)]
pub struct Removing<'a>(&'a Removals);

impl Removals {
    /// A moment in which nobody takes anything away, if it is one.
    pub fn still(&self) -> Option<u64> {
        let ended = self.ended.load(Ordering::SeqCst);
        (self.begun.load(Ordering::SeqCst) == ended).then_some(ended)
    }

    /// To be held from before the versions go until the entries have gone.
    pub fn enter(&self) -> Removing<'_> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        Removing(self)
    }
}

impl Drop for Removing<'_> {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::SeqCst);
    }
}

impl Table {
    /// A moment in which nobody takes entries away, for [`Table::all_seen`]: before entries are read. `None`: somebody
    /// does, or the index does not keep all its entries in its tree.
    pub fn settled(&self, index: usize) -> Option<u64> {
        let set = self.indexes();
        let ordered = set.ordered.get(index)?.as_ref()?;
        if ordered.leaves_out_runs || ordered.has_orphans() {
            return None;
        }
        self.removals.still()
    }

    /// Whether it is certain that `snapshot` sees each of the candidates, read since the moment, once and under its
    /// key.
    pub fn all_seen(&self, moment: u64, candidates: &Candidates, snapshot: &Snapshot) -> bool {
        if snapshot.skipping().is_some() {
            return false;
        }
        // Leaves that were looked at, by the low bits of their numbers: many entries lie in few leaves.
        let mut known = [u64::MAX; KNOWN_LEAVES];
        let settled = |&row_id: &u64| {
            let leaf_no = self.split(row_id).0;
            let known = &mut known[leaf_no as usize % KNOWN_LEAVES];
            let is_settled = *known == leaf_no || self.has_no_versions(leaf_no);
            *known = leaf_no;
            is_settled
        };
        candidates.row_ids().iter().all(settled) && self.removals.begun.load(Ordering::SeqCst) == moment
    }

    /// The same of the entries of one leaf's rows.
    pub fn leaf_is_settled(&self, moment: u64, leaf_no: u64, snapshot: &Snapshot) -> bool {
        snapshot.skipping().is_none()
            && self.has_no_versions(leaf_no)
            && self.removals.begun.load(Ordering::SeqCst) == moment
    }

    /// Has nobody begun to take entries away since the moment?
    pub(crate) fn is_still(&self, moment: Option<u64>) -> bool {
        moment.is_some_and(|m| self.removals.begun.load(Ordering::SeqCst) == m)
    }

    fn has_no_versions(&self, leaf_no: u64) -> bool {
        let plain = |leaf: &Leaf| !leaf.has_versions();
        self.slot(leaf_no).read().leaf().is_some_and(plain)
    }
}
