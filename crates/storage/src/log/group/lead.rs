//! Leading: one session, or a thread of the store's, writes a whole batch for all who are in it.
//!
//! The writer belongs to whoever leads, so no latch is held while the disk works. A full disk is tried again for some
//! time; any other failure ends the log (invariant 6 of [`super`]).

use super::batch::{BUFFER_BYTES_MAX, Batch, Piece};
use super::mode::{FlushMode, Trouble};
use super::{Lead, Place, Redo};
use crate::log::segment::{Failure, Writer};
use crate::sync::Ordering;
use crate::txn::TxnManager;
use std::time::Duration;
use types::Result;

/// How often a full disk is tried again.
const FULL_RETRY_EVERY: Duration = Duration::from_millis(100);

impl Redo {
    /// Writes a batch and publishes it; then the next one may.
    pub(super) fn lead(&self, manager: &TxnManager, lead: Lead) {
        crate::sync::assert_no_latch_held();
        crate::sync::waits();
        let Lead { number, mut batch, mut writer } = lead;
        if self.failed.load(Ordering::Acquire) > number {
            match self.write(&mut writer, &batch) {
                Ok(()) => {
                    manager.publish_up_to(batch.last_ts);
                    self.done.store(number, Ordering::Release);
                }
                Err(e) => self.die_from(number, &e),
            }
        }
        batch.clear();
        let others_wait = {
            let mut order = self.order.lock();
            order.segment = writer.segment();
            order.writer = Some(writer);
            order.spare = batch;
            self.is_led.store(false, Ordering::SeqCst);
            order.batch.later
        };
        if others_wait {
            self.leader_word.signal(true);
        }
        // The next one leads, and the disk works, while those who are done are woken.
        self.words[(number as usize + 1) % 2].signal(false);
        self.words[number as usize % 2].signal(true);
        self.tell_waiting();
    }

    /// Leads batches for those who are told later, until [`Redo::stop_leading`].
    pub fn lead_for_others(&self, manager: &TxnManager) {
        loop {
            let seen = self.leader_word.count();
            let (place, goes_on) = {
                let mut order = self.order.lock();
                let place = if order.batch.later { self.place(&mut order) } else { Place::Done };
                (place, order.has_leader)
            };
            match place {
                Place::Lead(lead) => self.lead(manager, *lead),
                // Nobody else may be left who leads the next batch. A failure is told to those who wait for it.
                Place::Follow(number) if !goes_on => drop(self.follow(manager, number)),
                _ if !goes_on => return,
                // Whoever leads wakes this thread.
                _ => self.leader_word.wait(seen),
            }
        }
    }

    /// Somebody is about to call [`Redo::lead_for_others`].
    pub fn begin_leading(&self) {
        self.order.lock().has_leader = true;
    }

    /// From now on everybody leads or waits.
    pub fn stop_leading(&self) {
        self.order.lock().has_leader = false;
        self.leader_word.signal(true);
    }

    fn write(&self, writer: &mut Writer, batch: &Batch) -> Result<()> {
        let before = writer.lsn();
        let mut ts = 0;
        for frame in &batch.frames {
            if frame.ts != ts && writer.is_full() {
                // A transaction's parts stay in one segment.
                self.retried(writer, Writer::rotate)?;
            }
            ts = frame.ts;
            let bytes = match &frame.piece {
                Piece::Copied(range) => &batch.bytes[range.clone()],
                Piece::Own(bytes) => bytes,
            };
            writer.add(frame.ts, frame.kind, bytes, frame.crc);
            if writer.buffered() > BUFFER_BYTES_MAX {
                self.retried(writer, Writer::write)?;
            }
        }
        let mode = self.mode();
        let grown = writer.lsn() - before;
        if grown > 0 && mode == FlushMode::Sync || batch.sync {
            let synced = self.retried(writer, Writer::sync)?;
            self.counters.syncs.fetch_add(synced as u64, Ordering::Relaxed);
        } else if mode == FlushMode::Write {
            self.retried(writer, Writer::write)?;
        }
        if batch.rotate {
            self.retried(writer, Writer::rotate)?;
        }
        self.counters.writes.fetch_add((grown > 0) as u64, Ordering::Relaxed);
        self.counters.bytes.fetch_add(grown, Ordering::Relaxed);
        self.lsn.store(writer.lsn(), Ordering::Relaxed);
        self.synced_lsn.store(writer.synced_lsn(), Ordering::Relaxed);
        Ok(())
    }

    /// While the disk is full, tries again for some time.
    fn retried<T>(
        &self,
        writer: &mut Writer,
        step: impl Fn(&mut Writer) -> std::result::Result<T, Failure>,
    ) -> Result<T> {
        let mut waited = Duration::ZERO;
        loop {
            let Failure { error, is_full } = match step(writer) {
                Ok(done) => return Ok(done),
                Err(failure) => failure,
            };
            if !is_full || waited >= self.full_wait {
                return Err(error);
            }
            if waited.is_zero() {
                (self.on_trouble.0)(Trouble::Full, &error);
            }
            std::thread::sleep(FULL_RETRY_EVERY);
            waited += FULL_RETRY_EVERY;
        }
    }
}
