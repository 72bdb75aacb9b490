//! Waiting for a row or key that other transactions hold.
//!
//! The waiter sleeps on one holder until that ends, and is in the graph ([`crate::waits`]) with all of them. Being
//! woken means: look again. A holder that takes back a part of its changes may have let the row go without ending; who
//! waits for such a holder looks again after each [`WAIT_SLICE`].

use crate::sync::{self, Ordering};
use crate::txn::{Txn, TxnManager};
use crate::waits::{LockId, RowLockName, Sleeper, Waiting, Wanted};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};
use types::{Error, Result};

/// How long a sleeping waiter goes without looking whether it was interrupted.
const WAIT_SLICE: Duration = Duration::from_millis(50);

/// One thread's attempts to get at a row: their waits together may last as long as the lock wait timeout.
#[derive(Debug)]
pub(crate) struct RowWait<'a> {
    txns: &'a TxnManager,
    txn: &'a Txn,
    begun: Option<Instant>,
}

/// What waits for rows there were: Innodb_row_lock_waits and its like.
#[derive(Debug, Default)]
pub struct RowWaitCounters {
    /// Waits that go on.
    pub current: AtomicU64,
    /// All waits that ever began.
    pub waits: AtomicU64,
    /// How long the ended ones were together.
    pub time_us: AtomicU64,
    /// The longest of them.
    pub most_us: AtomicU64,
}

impl RowWaitCounters {
    fn begin(&self) {
        self.current.fetch_add(1, Ordering::Relaxed);
        self.waits.fetch_add(1, Ordering::Relaxed);
    }

    fn end(&self, time: Duration) {
        let us = time.as_micros() as u64;
        self.current.fetch_sub(1, Ordering::Relaxed);
        self.time_us.fetch_add(us, Ordering::Relaxed);
        self.most_us.fetch_max(us, Ordering::Relaxed);
    }
}

impl Drop for RowWait<'_> {
    fn drop(&mut self) {
        if let Some(begun) = self.begun {
            self.txns.row_waits().end(begun.elapsed());
        }
    }
}

#[derive(Debug)]
struct AtRow {
    holder: Arc<Txn>,
    wanted: RowLockName,
}

impl Sleeper for AtRow {
    fn wake(&self) {
        drop(self.holder.ended.lock());
        self.holder.wake.notify_all();
    }

    fn wanted(&self) -> Wanted {
        Wanted::Row(self.wanted.clone())
    }

    fn lock(&self) -> LockId {
        LockId::Rows
    }
}

/// Takes the wait out of the graph, whichever way it ends.
struct InGraph<'a>(&'a TxnManager, Arc<Waiting>);

impl Drop for InGraph<'_> {
    fn drop(&mut self) {
        self.0.waits().leave(&self.1);
    }
}

impl<'a> RowWait<'a> {
    pub fn new(txns: &'a TxnManager, txn: &'a Txn) -> RowWait<'a> {
        RowWait { txns, txn, begun: None }
    }

    /// Sleeps until it is worth looking again whether `holders` still hold the row. Errors: 1213 if one of them waits
    /// for the transaction, directly or not, and the transaction is the victim; 1205 after its lock wait timeout; 1317
    /// if it was interrupted. No latch may be held.
    pub fn on(&mut self, holders: &[Arc<Txn>], wanted: impl FnOnce() -> RowLockName) -> Result<()> {
        sync::assert_no_latch_held();
        let Some(holder) = holders.iter().find(|h| !*h.ended.lock()) else { return Ok(()) };
        let begun = *self.begun.get_or_insert_with(|| {
            self.txns.row_waits().begin();
            Instant::now()
        });
        let at_row = Arc::new(AtRow { holder: holder.clone(), wanted: wanted() });
        let graph = self.txns.waits();
        let waiting = InGraph(self.txns, graph.enter(self.txn.owner(), self.txn.weight(), at_row));
        // Either a holder that ends sees that it is waited for, or it is seen here to have ended.
        holders.iter().for_each(|h| h.waited_for.store(true, Ordering::SeqCst));
        let owners = || holders.iter().filter(|h| h.holds_rows()).map(|h| h.owner()).collect();
        let victims = graph.wait_for_those(&waiting.1, owners).map_err(|_| Error::lock_deadlock())?;
        victims.iter().for_each(|v| v.wake());
        let now = Instant::now();
        let slept = self.sleep_on(holder, &waiting.1, begun);
        self.txn.note_waited(now.elapsed());
        slept
    }

    fn sleep_on(&self, holder: &Txn, waiting: &Waiting, begun: Instant) -> Result<()> {
        let timeout = self.txn.lock_wait_timeout();
        let mut ended = holder.ended.lock();
        let mut slept = false;
        while !*ended {
            if waiting.is_doomed() {
                return Err(Error::lock_deadlock());
            }
            if self.txn.is_to_stop() {
                return Err(Error::query_interrupted());
            }
            let Some(left) = timeout.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) else {
                return Err(Error::lock_wait_timeout());
            };
            if slept && holder.partly_undone.load(Ordering::Relaxed) {
                return Ok(());
            }
            ended = holder.wake.wait(ended, left.min(WAIT_SLICE));
            slept = true;
        }
        Ok(())
    }
}
