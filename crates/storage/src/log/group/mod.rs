//! Group commit: the order of commits, who writes for whom, and when rows are let go.
//!
//! ```text
//!   order      timestamp, commit_ts, place in the batch      under one latch, some 50 ns
//!   let go     row locks end; current reads see the commit   ordered horizon
//!   see through
//!     nobody leads: take the writer and the batch ──▶ write, sync ──▶ publish      durable horizon
//!     else: sleep on the batch's word until its leader has published it
//!   answer
//!
//!   batch 7 [ts 7 8 9]   being written by its leader
//!   batch 8 [ts 10 11]   gathers; one of those who wait for it leads when batch 7 is done
//! ```
//! Two horizons. `ordered`: the newest commit that has its place in the log. `published`: up to it everything is as
//! durable as innodb_flush_log_at_trx_commit asks. A crash leaves a prefix of the order that ends between the two.
//!
//! Invariants
//! 1. `order` is the one critical section of a commit: it gives the timestamp, sets `commit_ts`, moves the ordered
//!    horizon and gives the place in the batch. So the order of timestamps, of frames and of both horizons is one.
//! 2. A commit is acknowledged only when `published` has reached it. A frame is durable only after all before it.
//! 3. Rows are let go once their commit is ordered, before it is durable. Whoever changes them next commits behind it,
//!    so is durable after it.
//! 4. A snapshot of one who only reads is taken at `published`: it never shows what a crash may take back. A
//!    transaction that changes or locks rows reads at `ordered`, so what it meets in current reads it also sees in
//!    plain ones; it is not answered at its end, be that a commit, a rollback or an error, before `published` has
//!    reached all that it may have seen ([`Redo::see_through`]). Answers within an open transaction are as good as the
//!    transaction itself.
//! 5. Whoever has the writer leads; he takes the whole batch. So a batch is gathering, or its one leader's, or done.
//! 6. After a failed write or sync nothing is ordered or published any more. What was ordered and is not published
//!    stays so: snapshots go on to show exactly what was acknowledged, those who wait get error 1180, and later
//!    changes 1836. Whether the unacknowledged ones are found after a restart depends on what reached the disk, as in
//!    any crash.
//!
//! Only who sleeps costs a system call: a session that commits alone writes and syncs for itself and wakes nobody.
//! Where many commit, a thread each that sleeps would cost two switches a commit. So a session may also go on to other
//! things and be told when its batch is done (`Place::Later`, [`Redo::when_done`]); a thread of the store's leads
//! batches that somebody waits for so, as long as there are any ([`Redo::lead_for_others`]).
//!
//! - here: the order, and the place that it gives;
//! - [`batch`]: what is written together;
//! - [`lead`]: writing it;
//! - [`follow`]: waiting for it, or being told;
//! - [`mode`]: innodb_flush_log_at_trx_commit, and what happens when the log cannot be written.
//!
//! Sources: DeWitt et al., "Implementation Techniques for Main Memory Database Systems", SIGMOD 1984 (group commit and
//! early lock release); Johnson et al., "Aether: A Scalable Approach to Logging", VLDB 2010.

mod batch;
mod follow;
mod lead;
mod mode;

pub use mode::{FlushMode, OnTrouble, Trouble};

use super::frame::{Kind, SegmentHeader};
use super::segment::{Bodies, Body, Writer};
use crate::sync::{AtomicBool, AtomicU8, AtomicU64, Mutex, Ordering, Rank, WaitWord};
use crate::txn::{Txn, TxnManager};
use batch::{BUFFER_BYTES_MAX, Batch};
use follow::Waiting;
use std::time::Duration;
use types::{Error, Result};

#[derive(Debug)]
struct Order {
    last_ts: u64,
    /// What gathers, and its number.
    batch: Batch,
    number: u64,
    /// Memory for the next one.
    spare: Batch,
    /// Absent while somebody leads.
    writer: Option<Box<Writer>>,
    /// There is a thread that leads for others.
    has_leader: bool,
    /// The segment being written. Everything in segments before it is published.
    segment: SegmentHeader,
}

/// What one has to do to see that a batch becomes durable.
#[derive(Debug)]
#[must_use]
pub(crate) enum Place {
    Done,
    Follow(u64),
    /// As `Follow`, and somebody else leads.
    Later(u64),
    Lead(Box<Lead>),
}

#[derive(Debug)]
pub(crate) struct Lead {
    number: u64,
    batch: Batch,
    writer: Box<Writer>,
}

/// Counters for SHOW STATUS.
#[derive(Debug, Default)]
pub struct RedoCounters {
    pub syncs: AtomicU64,
    pub writes: AtomicU64,
    pub bytes: AtomicU64,
    pub commits: AtomicU64,
}

/// The redo log of an open store.
#[derive(Debug)]
pub struct Redo {
    order: Mutex<Order>,
    /// Somebody has the writer. A hint: who is to lead looks under the latch.
    is_led: AtomicBool,
    /// Batches up to this one are done.
    done: AtomicU64,
    /// Batches from this one on never will be.
    failed: AtomicU64,
    /// By the parity of a batch's number. A late sleeper of the batch before last is woken by its own leader still.
    words: [WaitWord; 2],
    waiting: Mutex<Waiting>,
    /// Whoever leads for others sleeps here.
    leader_word: WaitWord,
    mode: AtomicU8,
    on_trouble: OnTrouble,
    /// How long commits wait for room on a full disk.
    full_wait: Duration,
    /// Where the log ends, and up to where it is on stable storage.
    lsn: AtomicU64,
    synced_lsn: AtomicU64,
    pub counters: RedoCounters,
}

impl Redo {
    /// `last_ts`: the newest timestamp given so far.
    pub fn new(writer: Writer, last_ts: u64, mode: FlushMode, on_trouble: OnTrouble, full_wait: Duration) -> Redo {
        Redo {
            mode: AtomicU8::new(mode as u8),
            is_led: AtomicBool::new(false),
            done: AtomicU64::new(0),
            failed: AtomicU64::new(u64::MAX),
            words: [WaitWord::new(), WaitWord::new()],
            waiting: Mutex::new(Rank::Commit, Waiting::default()),
            leader_word: WaitWord::new(),
            on_trouble,
            full_wait,
            lsn: AtomicU64::new(writer.lsn()),
            synced_lsn: AtomicU64::new(writer.synced_lsn()),
            counters: RedoCounters::default(),
            order: Mutex::new(
                Rank::Commit,
                Order {
                    last_ts,
                    batch: Batch::default(),
                    number: 1,
                    spare: Batch::default(),
                    segment: writer.segment(),
                    writer: Some(Box::new(writer)),
                    has_leader: false,
                },
            ),
        }
    }

    pub fn mode(&self) -> FlushMode {
        FlushMode::of(self.mode.load(Ordering::Relaxed) as u64)
    }

    pub fn set_mode(&self, mode: FlushMode) {
        self.mode.store(mode as u8, Ordering::Relaxed);
    }

    /// The log cannot be written any more. Nothing that was not acknowledged before is or will be.
    pub fn is_dead(&self) -> bool {
        self.failed.load(Ordering::Acquire) != u64::MAX
    }

    /// Nothing can be made durable any more, from the batch that gathers on.
    pub(crate) fn die(&self, e: &Error) {
        let number = self.order.lock().number;
        self.die_from(number, e);
    }

    fn die_from(&self, number: u64, e: &Error) {
        if self.failed.fetch_min(number, Ordering::AcqRel) == u64::MAX {
            (self.on_trouble.0)(Trouble::Dead, e);
        }
        self.words.iter().for_each(|w| w.signal(true));
        self.tell_waiting();
    }

    /// Where the log ends.
    pub fn lsn(&self) -> u64 {
        self.lsn.load(Ordering::Relaxed)
    }

    pub fn synced_lsn(&self) -> u64 {
        self.synced_lsn.load(Ordering::Relaxed)
    }

    /// Gives `txn`, whose row images are in `bodies` (none if only volatile tables changed), its timestamp and its
    /// place in the log. Its rows may be let go now; it is committed once [`Redo::see_through`] says so. An error:
    /// nothing happened. `later`: the caller would rather be told than wait.
    pub(crate) fn order(&self, manager: &TxnManager, txn: &Txn, bodies: Bodies, later: bool) -> Result<(u64, Place)> {
        let has_bytes = !bodies.is_empty();
        let mut order = self.order.lock();
        if self.is_dead() {
            return Err(Error::read_only_mode());
        }
        order.last_ts += 1;
        let ts = order.last_ts;
        let emptied = bodies.into_iter().filter_map(|body| order.batch.add(ts, body)).last();
        txn.set_commit_ts(ts);
        manager.order_up_to(ts);
        // What needs no wait is published in order too: only if everything before it is.
        let waits = has_bytes && self.mode() != FlushMode::Lazy || !manager.publish_next(ts);
        let mut leader_sleeps = false;
        let place = if waits {
            order.batch.has(ts);
            if later && order.has_leader {
                leader_sleeps = !order.batch.later && order.writer.is_some();
                order.batch.later = true;
                Place::Later(order.number)
            } else {
                self.place(&mut order)
            }
        } else if order.batch.len() > BUFFER_BYTES_MAX {
            self.place(&mut order)
        } else {
            Place::Done
        };
        drop(order);
        if leader_sleeps {
            self.leader_word.signal(true);
        }
        self.counters.commits.fetch_add(1, Ordering::Relaxed);
        if let Some(bytes) = emptied {
            Bodies::give_back(bytes);
        }
        Ok((ts, place))
    }

    /// The caller's place in the batch that gathers.
    fn place(&self, order: &mut Order) -> Place {
        let number = order.number;
        let Some(writer) = order.writer.take() else { return Place::Follow(number) };
        self.is_led.store(true, Ordering::SeqCst);
        order.number += 1;
        let spare = std::mem::take(&mut order.spare);
        let batch = std::mem::replace(&mut order.batch, spare);
        Place::Lead(Box::new(Lead { number, batch, writer }))
    }

    /// Logs changes of definitions; they are on stable storage when this returns.
    pub(crate) fn define(&self, manager: &TxnManager, bytes: Vec<u8>) -> Result<u64> {
        let body = Body::new(Kind::Definitions, bytes);
        let (ts, place) = {
            let mut order = self.order.lock();
            if self.is_dead() {
                return Err(Error::read_only_mode());
            }
            order.last_ts += 1;
            let ts = order.last_ts;
            order.batch.add(ts, body);
            manager.order_up_to(ts);
            order.batch.has(ts);
            order.batch.sync = true;
            (ts, self.place(&mut order))
        };
        self.see_through(manager, place)?;
        Ok(ts)
    }

    /// Returns once everything ordered before is on stable storage. `rotate`: and a new segment has begun; answers its
    /// header.
    pub(crate) fn flush(&self, manager: &TxnManager, rotate: bool) -> Result<SegmentHeader> {
        let place = {
            let mut order = self.order.lock();
            if self.is_dead() {
                return Err(Error::read_only_mode());
            }
            order.batch.sync = true;
            order.batch.rotate |= rotate;
            self.place(&mut order)
        };
        self.see_through(manager, place)?;
        Ok(self.order.lock().segment)
    }
}
