//! How a transaction ends.
//!
//! ```text
//!   commit    take its list of changes ─▶ order ─▶ let its rows go ─▶ see the log through ─▶ collect garbage
//!                                           └ refused: roll back
//!   rollback  undo, newest first ─▶ let its rows go
//! ```
//! A transaction that only read has no place among the commits; one that read what was ordered and not yet durable
//! waits for that ([`crate::log::group`], invariant 4).

use super::garbage::Slice;
use super::manager::TxnManager;
use super::{Change, Noted, Savepoint, Txn, TxnLog, Versioned};
use crate::log::group::{Place, Redo};
use crate::sync::Ordering;
use std::sync::Arc;
use types::Result;

impl TxnManager {
    /// Makes all changes of `txn` durable, as innodb_flush_log_at_trx_commit asks, and publishes them at once; returns
    /// the commit timestamp. Its rows are let go before. May sleep until the log is written. Errors: 1836, and nothing
    /// of it remains; 1180, and only a restart shows whether it was committed.
    pub fn commit(&self, txn: &Arc<Txn>) -> Result<u64> {
        let Ordered { ts, place, touched } = self.commit_ordered(txn, false)?;
        if let Some(redo) = self.redo.get() {
            redo.see_through(self, place)?;
        }
        self.collect_behind(touched);
        Ok(ts)
    }

    /// As [`TxnManager::commit`], but does not sleep where others commit too: it answers what to wait for before
    /// anybody is told that the transaction is committed. `None`: it is durable.
    pub fn commit_later(self: &Arc<Self>, txn: &Arc<Txn>) -> Result<Option<Unsettled>> {
        let Ordered { place, touched, .. } = self.commit_ordered(txn, true)?;
        let unsettled = match (place, self.redo.get()) {
            (Place::Later(number), _) => Some(Unsettled { manager: self.clone(), number }),
            (place, Some(redo)) => {
                redo.see_through(self, place)?;
                None
            }
            (_, None) => None,
        };
        self.collect_behind(touched);
        Ok(unsettled)
    }

    /// A commit that changed so many leaves and rows collects about as much as it left.
    fn collect_behind(&self, (leaves, rows): (usize, usize)) {
        if leaves > 0 {
            self.collect_some(Slice::of_commit(leaves, rows, self.collector.is_running.load(Ordering::Relaxed)));
        }
    }

    /// Commits up to where the log's writing is to be waited for.
    fn commit_ordered(&self, txn: &Arc<Txn>, later: bool) -> Result<Ordered> {
        assert!(txn.is_active(), "a transaction ends once");
        let log = {
            let mut log = txn.log.lock();
            // What it shares, and the absence of keys, is let go at its end.
            let (tables, changes) = (std::mem::take(&mut log.tables), std::mem::take(&mut log.changes));
            TxnLog { tables, changes, ..TxnLog::default() }
        };
        if log.changes.is_empty() {
            // Nobody waits for or looks at a transaction without changes; it takes no timestamp of its own.
            let ts = self.last_published();
            txn.commit_ts.store(ts, Ordering::Release);
            txn.end(&self.waits);
            return self.see_what_it_saw(txn).map(|()| Ordered { ts, place: Place::Done, touched: (0, 0) });
        }
        let (ts, place) = match self.order(txn, &log, later) {
            Ok(ordered) => ordered,
            Err(e) => {
                {
                    let mut now = txn.log.lock();
                    (now.tables, now.changes) = (log.tables, log.changes);
                }
                self.rollback(txn);
                return Err(e);
            }
        };
        txn.end(&self.waits);
        txn.unasked.leave_to(self.unasked());
        let touched = (self.add_garbage(ts, &log), log.changes.len());
        Ok(Ordered { ts, place, touched })
    }

    /// Gives the transaction its place among the commits.
    fn order(&self, txn: &Txn, log: &TxnLog, later: bool) -> Result<(u64, Place)> {
        if let Some(redo) = self.redo.get() {
            return redo.order(self, txn, txn.images(log), later);
        }
        let _order = self.commit.lock();
        let ts = self.last_published.load(Ordering::Relaxed) + 1;
        txn.commit_ts.store(ts, Ordering::Release);
        self.last_ordered.store(ts, Ordering::Release);
        self.last_published.store(ts, Ordering::Release);
        Ok((ts, Place::Done))
    }

    /// Returns once all that `txn`, which has ended, may have seen is published.
    fn see_what_it_saw(&self, txn: &Txn) -> Result<()> {
        match self.redo.get() {
            Some(redo) if txn.is_current.load(Ordering::Relaxed) => {
                redo.wait_for(self, self.last_ordered.load(Ordering::Acquire))
            }
            _ => Ok(()),
        }
    }

    /// Takes back all changes of `txn` and ends it.
    pub fn rollback(&self, txn: &Txn) {
        assert!(txn.is_active(), "a transaction ends once");
        let touched = self.undo_from(txn, Savepoint(0));
        txn.end(&self.waits);
        self.collect_in(&touched);
        // A log that fails has no better answer than the rollback's own.
        let _ = self.see_what_it_saw(txn);
    }

    /// Takes back what `txn` changed after `savepoint`; rows locked since are let go too.
    pub fn rollback_to(&self, txn: &Txn, savepoint: Savepoint) {
        let touched = self.undo_from(txn, savepoint);
        self.let_some_go(txn, &touched);
    }

    /// Takes back what `txn` changed after `savepoint`, and keeps the rows that it changed or locked since, as far as
    /// they still exist.
    pub fn rollback_to_holding(&self, txn: &Arc<Txn>, savepoint: Savepoint) {
        let mut held = Vec::new();
        let touched = self.undo_each(txn, savepoint, |table, tables, change| {
            if tables[table].undo_and_hold(txn, change) {
                held.push(Noted::new(table, change));
            }
        });
        // Of each row the oldest change, in the order in which they came.
        txn.log.lock().changes.extend(held.into_iter().rev());
        self.let_some_go(txn, &touched);
    }

    fn let_some_go(&self, txn: &Txn, touched: &[(Arc<dyn Versioned>, u64)]) {
        if !touched.is_empty() {
            txn.lets_go(&self.waits);
            self.collect_in(touched);
        }
    }

    /// Rows that came and went leave free slots, or whole dead leaves.
    fn collect_in(&self, leaves: &[(Arc<dyn Versioned>, u64)]) {
        let horizon = self.horizon_at_oldest();
        for (table, leaf_no) in leaves {
            table.collect(*leaf_no, &horizon);
        }
    }

    fn undo_from(&self, txn: &Txn, savepoint: Savepoint) -> Vec<(Arc<dyn Versioned>, u64)> {
        self.undo_each(txn, savepoint, |table, tables, change| tables[table].undo(change))
    }

    /// Has each change taken back, newest first. Returns the leaves in which there was anything.
    fn undo_each(
        &self,
        txn: &Txn,
        savepoint: Savepoint,
        mut undo: impl FnMut(usize, &[Arc<dyn Versioned>], Change),
    ) -> Vec<(Arc<dyn Versioned>, u64)> {
        let (tables, undone) = {
            let mut log = txn.log.lock();
            let at = savepoint.0.min(log.changes.len());
            let undone = if at == 0 { std::mem::take(&mut log.changes) } else { log.changes.split_off(at) };
            (log.tables.clone(), undone)
        };
        let mut leaves: Vec<(usize, u64)> = Vec::new();
        for noted in undone.into_iter().rev() {
            let (table, change) = (noted.table_idx as usize, noted.change());
            undo(table, &tables, change);
            if leaves.last() != Some(&(table, change.leaf_no())) {
                leaves.push((table, change.leaf_no()));
            }
        }
        leaves.sort_unstable();
        leaves.dedup();
        leaves.into_iter().map(|(table, leaf_no)| (tables[table].clone(), leaf_no)).collect()
    }
}

/// A commit that has its place in the log, with the numbers of leaves and rows that it changed.
struct Ordered {
    ts: u64,
    place: Place,
    touched: (usize, usize),
}

/// A commit that is ordered, and not yet as durable as it is to be before anybody is told of it.
#[derive(Clone, Debug)]
pub struct Unsettled {
    manager: Arc<TxnManager>,
    number: u64,
}

impl Unsettled {
    fn redo(&self) -> &Redo {
        self.manager.redo().expect("a log wrote it")
    }

    /// Whether it is committed; 1180: only a restart shows. `None`: not yet.
    pub fn outcome(&self) -> Option<Result<()>> {
        self.redo().outcome(self.number)
    }

    /// Waits for the outcome.
    pub fn settle(&self) -> Result<()> {
        self.redo().see_through(&self.manager, Place::Later(self.number))
    }

    /// Calls `tell`, which must not block, once there is an outcome: here and now, or by the thread that writes the
    /// log.
    pub fn when_settled(&self, tell: impl FnOnce() + Send + 'static) {
        self.redo().when_done(self.number, Box::new(tell));
    }
}
