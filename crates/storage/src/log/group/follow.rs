//! Waiting for a batch: asleep on its word, or told when it is done.
//!
//! Who sleeps costs two switches of the processor; who is told costs none, and its answer goes out from the thread that
//! wrote the batch. A sleeper looks whether anybody leads before it sleeps, and leads itself if not, so that no batch
//! waits for nobody.

use super::{FlushMode, Place, Redo};
use crate::sync::{self, Ordering};
use crate::txn::TxnManager;
use std::fmt::Debug;
use types::{Error, Result};

/// How often a sleeper looks again before it sleeps: for some 5 us, about what a batch takes that goes no further than
/// to the system, and less than it takes to fall asleep and be woken. The disk takes longer.
const LOOKS: u32 = if cfg!(feature = "shuttle") { 1 } else { 100 };

/// Whom to tell that batches are done.
#[derive(Default)]
pub(super) struct Waiting(Vec<(u64, Done)>);

pub(super) type Done = Box<dyn FnOnce() + Send>;

impl Debug for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(number, _)| number)).finish()
    }
}

impl Redo {
    /// Returns once all commits up to `ts`, which are ordered, are published.
    pub(crate) fn wait_for(&self, manager: &TxnManager, ts: u64) -> Result<()> {
        if manager.last_published() >= ts {
            return Ok(());
        }
        let place = {
            let mut order = self.order.lock();
            if manager.last_published() >= ts {
                Place::Done
            } else if order.batch.first_ts != 0 && order.batch.first_ts <= ts {
                self.place(&mut order)
            } else {
                // It is in the batch that is being written.
                Place::Follow(order.number - 1)
            }
        };
        self.see_through(manager, place)
    }

    /// Returns once the batch is as durable as the mode asks, and published. No latch may be held.
    pub(crate) fn see_through(&self, manager: &TxnManager, place: Place) -> Result<()> {
        match place {
            Place::Done => Ok(()),
            Place::Lead(lead) => {
                let number = lead.number;
                self.lead(manager, *lead);
                self.outcome(number).expect("its batch is done or failed")
            }
            Place::Follow(number) | Place::Later(number) => self.follow(manager, number),
        }
    }

    /// Whether a batch is done, or never will be: 1180.
    pub(crate) fn outcome(&self, number: u64) -> Option<Result<()>> {
        if self.done.load(Ordering::Acquire) >= number {
            return Some(Ok(()));
        }
        let failed = self.failed.load(Ordering::Acquire) <= number;
        failed.then(|| Err(Error::error_during_commit(5, "the redo log cannot be written")))
    }

    pub(super) fn follow(&self, manager: &TxnManager, number: u64) -> Result<()> {
        let word = &self.words[number as usize % 2];
        let mut looks = if self.mode() == FlushMode::Sync { 0 } else { LOOKS };
        loop {
            let seen = word.count();
            if let Some(outcome) = self.outcome(number) {
                return outcome;
            }
            if !self.is_led.load(Ordering::SeqCst) {
                let place = {
                    let mut order = self.order.lock();
                    if order.number == number { self.place(&mut order) } else { Place::Follow(number) }
                };
                if let Place::Lead(lead) = place {
                    self.lead(manager, *lead);
                    continue;
                }
            }
            match looks.checked_sub(1) {
                Some(left) => {
                    looks = left;
                    sync::spin(false);
                }
                None => word.wait(seen),
            }
        }
    }

    /// Calls `tell` once the batch of a `Place::Later` has an outcome. `tell` must not block.
    pub(crate) fn when_done(&self, number: u64, tell: Done) {
        {
            let mut waiting = self.waiting.lock();
            if self.outcome(number).is_none() {
                waiting.0.push((number, tell));
                return;
            }
        }
        tell();
    }

    pub(super) fn tell_waiting(&self) {
        let told: Vec<(u64, Done)> = {
            let mut waiting = self.waiting.lock();
            waiting.0.extract_if(.., |(number, _)| self.outcome(*number).is_some()).collect()
        };
        told.into_iter().for_each(|(_, tell)| tell());
    }
}
