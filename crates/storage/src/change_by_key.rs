//! One row, found by a unique key and changed in one step.
//!
//! ```text
//!   key ─▶ the row that has it now ─▶ its leaf's latch ─▶ still so, and free? ─▶ decide ─▶ lock, update or delete
//!              ▲                                              │ no: wait for who holds it, and look again
//!              └──────────────────────────────────────────────┘
//! ```
//! A current read and the change behind it, without a snapshot: what `decide` sees is the row's newest version, and
//! nobody comes between its look and the change. So there is one record of the row's versions, and no lock before it.
//! Whose change of a key decides which row has it (an uncommitted insert, delete or update) is waited for. If none has
//! it, its absence may be held, as [`crate::index::absent`] tells.

use crate::index::key::Key;
use crate::index::unique::point::RowAt;
use crate::index::{Conflict, UniqueIndex};
use crate::leaf::{Leaf, RowState};
use crate::room::Versioning;
use crate::row_wait::RowWait;
use crate::table::Table;
use crate::txn::{LockWait, Txn};
use std::sync::Arc;
use types::Result;
use vector::Chunk;

/// What is to become of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Nothing; others may have it.
    Leave,
    /// The transaction holds it, as it is.
    Lock,
    /// Columns get the values that were decided on.
    Update,
    Delete,
}

/// What one attempt came to.
enum Tried {
    Done(Step),
    /// Another transaction has changed, locked or shared the row.
    Held,
    /// The row does not have the key any more, or the table has other indexes by now.
    Again,
}

impl Table {
    /// Finds the row that has a key of a unique index (`index`: its position in the definition) and does with it what
    /// `decide` says, who sees the row where it lies, under its leaf's latch: `decide` must be short and wait for
    /// nothing. For [`Step::Update`] it puts one chunk with one value for each of `columns` into the list that it gets,
    /// which is empty. It is asked once at most. Answers with the row's id; `None`: no row has the key; with
    /// `hold_absent`, nobody else brings it in until `txn` ends.
    ///
    /// `key`: one chunk a part, of the column's physical type, whose position 0 is the key; it has no NULLs. Errors:
    /// 1062, 1205, 1213, 1317.
    pub fn change_by_key(
        self: &Arc<Self>,
        txn: &Arc<Txn>,
        index: usize,
        key: &[&Chunk],
        columns: &[usize],
        hold_absent: bool,
        decide: &mut dyn FnMut(RowAt<'_, '_>, &mut Vec<Chunk>) -> Step,
    ) -> Result<Option<(u64, Step)>> {
        self.check_versions(txn, if columns.is_empty() { Versioning::TakeAway } else { Versioning::Change })?;
        let mut wait = RowWait::new(self.txns(), txn);
        let key = Key { chunks: key, row: 0 };
        let mut values = Vec::with_capacity(columns.len());
        loop {
            let set = self.indexes();
            let unique = &set.unique[index];
            let row_id = match unique.newest(key, txn, self.rows()) {
                Conflict::None if !hold_absent || self.hold_absent(txn, unique, key) => return Ok(None),
                Conflict::None => continue,
                Conflict::Duplicate(row_id) => row_id,
                Conflict::Wait(holder) => {
                    // The first index is what row locks are named by.
                    let name = || if index == 0 { "".into() } else { unique.name() };
                    wait.on(&[holder], || self.lock_name("EXCLUSIVE", &name(), unique.spec.text(key)))?;
                    continue;
                }
            };
            // New keys are entered beside the leaf's latch, so the row is held first.
            let keyed = set.has_keys_on(columns);
            let has_key = |leaf: &Leaf, slot| unique.spec.equals(&|c| (leaf.column(c), slot), key);
            let still = |leaf: &Leaf, slot| has_key(leaf, slot) && self.indexes.is_current(&set);
            match self.try_step(txn, row_id, &still, columns, keyed, &mut values, decide) {
                Tried::Again => {}
                Tried::Held => drop(self.lock_row(txn, row_id, LockWait::Wait)?),
                Tried::Done(Step::Update) => {
                    let refs: Vec<&Chunk> = values.iter().collect();
                    match keyed {
                        true => drop(self.update(txn, row_id, columns, &refs, 0)?),
                        false => drop(self.updated(row_id, columns, &refs, 0, true)?),
                    }
                    return Ok(Some((row_id, Step::Update)));
                }
                Tried::Done(Step::Delete) => {
                    self.deleted(row_id);
                    return Ok(Some((row_id, Step::Delete)));
                }
                Tried::Done(step) => return Ok(Some((row_id, step))),
            }
        }
    }

    /// False: somebody may have brought the key in meanwhile.
    fn hold_absent(&self, txn: &Arc<Txn>, unique: &Arc<UniqueIndex>, key: Key<'_>) -> bool {
        let Some(hash) = unique.spec.hash_rows(key.chunks, 0..1)[0] else { return true };
        let mut guard = unique.lock(hash);
        if !matches!(unique.check(&guard, hash, key, txn, self.rows(), None), Conflict::None) {
            return false;
        }
        unique.hold_absent(&mut guard, hash, txn);
        drop(guard);
        txn.note_absent(unique, hash);
        true
    }

    /// `still`: what was found before holds.
    #[expect(clippy::too_many_arguments)]
    fn try_step(
        self: &Arc<Self>,
        txn: &Arc<Txn>,
        row_id: u64,
        still: &dyn Fn(&Leaf, usize) -> bool,
        columns: &[usize],
        keyed: bool,
        values: &mut Vec<Chunk>,
        decide: &mut dyn FnMut(RowAt<'_, '_>, &mut Vec<Chunk>) -> Step,
    ) -> Tried {
        let (leaf_no, slot) = self.split(row_id);
        let mut state = self.slot(leaf_no).write();
        let Some(leaf) = state.leaf_mut() else { return Tried::Again };
        match leaf.state(slot, txn) {
            RowState::Gone => return Tried::Again,
            RowState::Held(_) => return Tried::Held,
            RowState::Free => {}
        }
        if !still(leaf, slot) {
            return Tried::Again;
        }
        if !leaf.shared_by_others(slot, txn).is_empty() {
            return Tried::Held;
        }
        values.clear();
        let step = decide(&|c| (leaf.column(c), slot), values);
        let is_news = match step {
            Step::Leave => return Tried::Done(step),
            Step::Update if !keyed => {
                debug_assert_eq!(columns.len(), values.len());
                let refs: Vec<&Chunk> = values.iter().collect();
                leaf.update(txn, slot, columns, &refs, 0, &[])
            }
            Step::Lock | Step::Update => leaf.lock(txn, slot),
            Step::Delete => leaf.delete(txn, slot),
        };
        self.note_row(txn, leaf_no, slot, is_news);
        Tried::Done(step)
    }
}
