//! Snapshots: what a reader sees, and which of them are in use.
//!
//! A snapshot is a timestamp, and for a transaction's own reader the statement up to which it sees its own changes. Its
//! timestamp is one of the two horizons ([`crate::log::group`]): `published` for who only reads, `ordered` for who
//! changes or locks rows.
//!
//! ```text
//!   in use:  ts 7 ×2   ts 9 ×1        oldest() = min(7, published): versions up to there need no before-image
//! ```
//! A snapshot of a transaction is used as long as that is active. `oldest` cannot pass a timestamp between its being
//! read and its being noted ([`super::in_use`]). The last clone of a snapshot takes it out, and collects some of what
//! it kept from being collected.

use super::Txn;
use super::in_use::{Horizon, Registration};
use super::manager::TxnManager;
use crate::shared::RowLockMode;
use crate::sync::Ordering;
use std::sync::Arc;

/// What a reader sees: the commits up to a timestamp, and its own transaction's earlier statements.
#[derive(Clone, Debug)]
pub struct Snapshot {
    ts: u64,
    /// Own transaction's id; 0: none.
    own: u64,
    /// Own statements below this one are seen.
    statement: u32,
    /// SKIP LOCKED: rows that others hold against such a lock are not seen.
    skip: Option<RowLockMode>,
    /// Others' changes are seen whether committed or not.
    dirty: bool,
    _registered: Arc<Registration>,
}

impl Snapshot {
    pub fn ts(&self) -> u64 {
        self.ts
    }

    #[inline]
    pub fn sees(&self, txn: &Txn, statement: u32) -> bool {
        txn.commit_ts() <= self.ts
            || txn.id == self.own && statement < self.statement
            || self.dirty && txn.id != self.own
    }

    /// Whether rows that others change come and go while it is in use: READ UNCOMMITTED.
    pub fn is_dirty(&self) -> bool {
        self.dirty
    }

    /// The same point in time, without the rows that others hold against such a lock.
    pub fn skipping_locked(&self, mode: RowLockMode) -> Snapshot {
        Snapshot { skip: Some(mode), ..self.clone() }
    }

    /// The own transaction's id and the lock that it wants of rows, with SKIP LOCKED.
    #[inline]
    pub(crate) fn skipping(&self) -> Option<(u64, RowLockMode)> {
        self.skip.map(|mode| (self.own, mode))
    }

    /// The same point in time, seeing what `txn`'s statements before its current one changed.
    pub fn at_statement(&self, txn: &Txn) -> Snapshot {
        Snapshot { own: txn.id, statement: txn.statement(), ..self.clone() }
    }
}

impl TxnManager {
    /// A snapshot of everything committed now, without a transaction of its own.
    pub fn snapshot(&self) -> Snapshot {
        self.take_snapshot(None, 0)
    }

    /// A snapshot of everything committed now and of what `txn`'s statements before its current one changed.
    pub fn snapshot_of(&self, txn: &Txn) -> Snapshot {
        self.take_snapshot(Some(txn), txn.statement())
    }

    /// What a current read sees: everything committed now and all of `txn`'s own changes. For rows that `txn` has
    /// locked this is their newest version.
    pub fn current(&self, txn: &Txn) -> Snapshot {
        txn.read_current();
        self.take_snapshot(Some(txn), u32::MAX)
    }

    /// What READ UNCOMMITTED sees: every row's newest version, but for what `txn`'s current statement changed.
    pub fn uncommitted(&self, txn: Option<&Txn>) -> Snapshot {
        Snapshot { dirty: true, ..self.take_snapshot(txn, txn.map_or(0, Txn::statement)) }
    }

    fn take_snapshot(&self, txn: Option<&Txn>, statement: u32) -> Snapshot {
        let own = txn.map_or(0, |t| t.id);
        let is_current = txn.is_some_and(|t| t.is_current.load(Ordering::Relaxed));
        let horizon = if is_current { &self.last_ordered } else { &self.last_published };
        let (ts, registered) = self.in_use.enter(horizon);
        Snapshot { ts, own, statement, dirty: false, skip: None, _registered: Arc::new(registered) }
    }

    /// The newest timestamp up to which everything is seen by every snapshot in use.
    pub fn oldest(&self) -> u64 {
        self.in_use.oldest(&self.last_published)
    }

    /// Which versions somebody may need.
    pub fn horizon(&self) -> Horizon {
        self.in_use.horizon(&self.last_published)
    }

    /// The same, as far as the oldest timestamp in use tells.
    pub(super) fn horizon_at_oldest(&self) -> Horizon {
        Horizon::at(self.oldest())
    }
}
