//! Who holds the rows of a leaf.
//!
//! A row's exclusive holder is the transaction of its newest record, or the leaf's creator, until that lets go:
//! changing a row is locking it, and a lock that changes nothing is a record, too. Shared holders, and who waits for
//! them, stand in a list beside the rows ([`crate::shared`]).

use super::Leaf;
use crate::txn::Txn;
use crate::undo::UndoKind;
use std::sync::Arc;

/// The state of a row's newest version, from the point of view of one who wants to change it.
#[derive(Clone, Debug)]
pub enum RowState {
    /// It exists, and nobody else holds it.
    Free,
    /// Another transaction holds it.
    Held(Arc<Txn>),
    /// It does not exist, and nobody else holds it.
    Gone,
}

impl Leaf {
    /// The newest version's state, for `txn`.
    pub fn state(&self, slot: usize, txn: &Txn) -> RowState {
        if slot >= self.rows {
            return RowState::Gone;
        }
        if let Some(head) = self.head(slot) {
            if head.txn.id() != txn.id() && head.txn.holds_rows() {
                return RowState::Held(head.txn.clone());
            }
        } else if let Some(c) = &self.creator
            && c.txn.id() != txn.id()
            && c.txn.holds_rows()
        {
            return RowState::Held(c.txn.clone());
        }
        if self.live.get(slot) { RowState::Free } else { RowState::Gone }
    }

    /// Makes `txn` the holder of the row at `slot`, unless it is already.
    pub fn lock(&mut self, txn: &Arc<Txn>, slot: usize) -> bool {
        let held = self.is_held_by(slot, txn);
        if !held {
            self.versions_mut().push(slot as u16, txn, UndoKind::Lock);
        }
        !held
    }

    /// Whether `txn` holds the row exclusively, by having changed or locked it.
    pub(crate) fn is_held_by(&self, slot: usize, txn: &Txn) -> bool {
        match self.head(slot) {
            Some(head) => head.txn.id() == txn.id(),
            None => self.creator.as_ref().is_some_and(|c| c.txn.id() == txn.id()),
        }
    }

    /// Other active transactions that share the row.
    pub(crate) fn shared_by_others(&self, slot: usize, txn: &Txn) -> Vec<Arc<Txn>> {
        self.shared.as_ref().map_or(Vec::new(), |s| s.others(slot, txn.id()).cloned().collect())
    }

    /// Whether `txn` is one of those who share the row.
    pub(crate) fn shares(&self, slot: usize, txn: &Txn) -> bool {
        self.shared.as_ref().is_some_and(|s| s.has(slot, txn.id()))
    }

    /// Makes `txn` one of those who share the row.
    pub(crate) fn share(&mut self, slot: usize, txn: &Arc<Txn>) {
        self.shared.get_or_insert_default().add(slot, txn);
    }

    /// Another transaction that waits for those who share the row.
    pub(crate) fn writer(&self, slot: usize, txn: &Txn) -> Option<Arc<Txn>> {
        self.shared.as_ref()?.writer(slot, txn.id()).cloned()
    }

    /// `txn` waits for those who share the row.
    pub(crate) fn want(&mut self, slot: usize, txn: &Arc<Txn>) {
        self.shared.get_or_insert_default().want(slot, txn);
    }

    /// It does so no longer.
    pub(crate) fn unwant(&mut self, slot: usize, txn_id: u64) {
        if let Some(shared) = &mut self.shared {
            shared.unwant(slot, txn_id);
            if shared.is_empty() {
                self.shared = None;
            }
        }
    }

    /// The rows that `txn` shares.
    pub(crate) fn shared_by(&self, txn: &Txn) -> Vec<u16> {
        self.shared.as_ref().map_or(Vec::new(), |s| s.of(txn.id()).collect())
    }

    /// The transaction has ended: it shares no rows any more.
    pub(crate) fn unshare(&mut self, txn_id: u64) {
        if let Some(shared) = &mut self.shared {
            shared.remove(txn_id);
            if shared.is_empty() {
                self.shared = None;
            }
        }
    }
}
