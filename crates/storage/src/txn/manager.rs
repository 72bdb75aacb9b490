//! All transactions of a store, and the two horizons of its commits.
//!
//! `ordered` is the newest commit that has its place in the log, `published` the newest up to which all are as durable
//! as they are to be; without a log the two are one. Both only rise: [`crate::log::group`] moves them in the order of
//! timestamps.

use super::garbage::{Collector, Garbage};
use super::in_use::InUse;
use super::{ACTIVE, Txn, TxnLog};
use crate::log::group::Redo;
use crate::room::Unasked;
use crate::row_wait::RowWaitCounters;
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Condvar, Mutex, Ordering, Rank};
use crate::waits::{OwnerId, WaitGraph};
use std::sync::{Arc, OnceLock};
use types::Result;

/// All transactions of a store.
#[derive(Debug)]
pub struct TxnManager {
    /// Set once, before the first commit, if the store is durable.
    pub(super) redo: OnceLock<Arc<Redo>>,
    pub(super) last_ordered: AtomicU64,
    pub(super) last_published: AtomicU64,
    pub(super) next_id: AtomicU64,
    pub(super) commit: Mutex<()>,
    pub(super) in_use: InUse,
    pub(super) garbage: Mutex<Garbage>,
    pub(super) garbage_count: Arc<AtomicUsize>,
    pub(super) collector: Collector,
    pub(super) waits: WaitGraph,
    row_waits: RowWaitCounters,
    unasked: Unasked,
}

impl TxnManager {
    pub fn new() -> Arc<TxnManager> {
        let garbage_count = Arc::new(AtomicUsize::new(0));
        Arc::new_cyclic(|manager| TxnManager {
            redo: OnceLock::new(),
            last_ordered: AtomicU64::new(1),
            last_published: AtomicU64::new(1),
            next_id: AtomicU64::new(1),
            commit: Mutex::new(Rank::Commit, ()),
            in_use: InUse::new(manager, &garbage_count),
            garbage: Mutex::new(Rank::Garbage, Garbage::default()),
            garbage_count,
            collector: Collector::default(),
            waits: WaitGraph::default(),
            row_waits: RowWaitCounters::default(),
            unasked: Unasked::of_all(),
        })
    }

    /// Who waits for whom.
    pub fn waits(&self) -> &WaitGraph {
        &self.waits
    }

    /// Bytes of versions that ended transactions did not ask for room for.
    pub(crate) fn unasked(&self) -> &Unasked {
        &self.unasked
    }

    /// How often and how long transactions waited for rows.
    pub fn row_waits(&self) -> &RowWaitCounters {
        &self.row_waits
    }

    /// Starts a transaction of nobody but itself.
    pub fn begin(&self) -> Arc<Txn> {
        self.begin_of(self.waits.new_owner())
    }

    /// Starts a transaction of `owner`, which has no other one.
    pub fn begin_of(&self, owner: OwnerId) -> Arc<Txn> {
        Arc::new(Txn {
            id: self.next_id.fetch_add(1, Ordering::Relaxed),
            commit_ts: AtomicU64::new(ACTIVE),
            statement: AtomicU32::new(1),
            savepoints: AtomicU32::new(0),
            unasked: Unasked::of_txn(),
            log: Mutex::new(Rank::TxnLog, TxnLog::default()),
            ended: Mutex::new(Rank::TxnEnd, false),
            wake: Condvar::new(),
            partly_undone: AtomicBool::new(false),
            waited_for: AtomicBool::new(false),
            owner,
            let_go: AtomicBool::new(false),
            is_current: AtomicBool::new(false),
            interrupted: AtomicBool::new(false),
            waiter: Mutex::new(Rank::TxnWaiter, None),
            lock_wait_timeout_ms: AtomicU64::new(50_000),
        })
    }

    pub fn last_published(&self) -> u64 {
        self.last_published.load(Ordering::Acquire)
    }

    /// A timestamp that older snapshots than now do not reach, whatever else has been committed. Definitions that are
    /// logged have one of their own; without a log time moves on for them here.
    pub(crate) fn point_of_definition(&self) -> u64 {
        if self.redo.get().is_some() {
            return self.last_published();
        }
        let _order = self.commit.lock();
        let ts = self.last_published.load(Ordering::Relaxed) + 1;
        self.last_ordered.store(ts, Ordering::Release);
        self.last_published.store(ts, Ordering::Release);
        ts
    }

    /// Transactions commit through `redo` from now on; `ts` is the newest timestamp that it gave.
    pub(crate) fn set_redo(&self, redo: Arc<Redo>, ts: u64) {
        self.last_ordered.store(ts, Ordering::Release);
        self.last_published.store(ts, Ordering::Release);
        let set = self.redo.set(redo);
        debug_assert!(set.is_ok(), "a store has one log");
    }

    /// The redo log of a durable store.
    pub fn redo(&self) -> Option<&Arc<Redo>> {
        self.redo.get()
    }

    /// Whether nothing can be changed any more, because the log cannot be written: 1836.
    pub fn check_writable(&self) -> Result<()> {
        if self.redo.get().is_some_and(|r| r.is_dead()) { Err(types::Error::read_only_mode()) } else { Ok(()) }
    }

    /// Current reads see every commit up to `ts`. Called in the order of timestamps.
    pub(crate) fn order_up_to(&self, ts: u64) {
        self.last_ordered.store(ts, Ordering::Release);
    }

    /// Every commit up to `ts` is visible; some later ones may be.
    pub(crate) fn publish_up_to(&self, ts: u64) {
        self.last_published.fetch_max(ts, Ordering::AcqRel);
    }

    /// Makes the commit at `ts` visible if all before it are. Called in the order of timestamps.
    pub(crate) fn publish_next(&self, ts: u64) -> bool {
        self.last_published.compare_exchange(ts - 1, ts, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}
