//! Group commit: the queue of those who wait for the log, and its leader.
//!
//! ```text
//!   queue:  [ ts 7 | ts 8 | ts 9 ]  writer present           nobody leads
//!           take all, take the writer ──▶ leader             newcomers queue up: [ ts 10 | ts 11 ]
//!           write, sync, publish 7 8 9
//!           give the writer back; wake ts 10: lead!
//!           end 7 8 9, wake them
//! ```
//! Invariants
//! 1. `order` is the one critical section of a commit: it gives the timestamp and the place in the queue, so the order
//!    of timestamps, of frames and of publication is one.
//! 2. Whoever has the writer leads. He takes all of the queue, so an entry is always in the queue or in the group of the
//!    one leader.
//! 3. A transaction is published only when its frame is as durable as the mode asks, and after all before it.
//! 4. After a failed write or sync nothing is acknowledged or published any more: the process ends
//!    ([`Redo::is_dead`] where the hook returns, as in tests).

use super::frame::{Kind, SegmentHeader};
use super::segment::{Body, Writer};
use crate::sync::{AtomicBool, AtomicU8, AtomicU64, Condvar, Mutex, Ordering, Rank};
use crate::txn::{Txn, TxnManager};
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;
use types::{Error, Result};

/// innodb_flush_log_at_trx_commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FlushMode {
    /// 0: written and synced once a second. A crash of the process loses up to a second.
    Lazy = 0,
    /// 1: synced before a commit is acknowledged.
    #[default]
    Sync = 1,
    /// 2: written before a commit is acknowledged, synced once a second. A crash of the machine loses up to a second.
    Write = 2,
}

impl FlushMode {
    pub fn of(v: u64) -> FlushMode {
        match v {
            0 => FlushMode::Lazy,
            2 => FlushMode::Write,
            _ => FlushMode::Sync,
        }
    }
}

/// Called when the log cannot be written any more. It is to end the process.
pub struct OnFatal(pub Box<dyn Fn(&Error) + Send + Sync>);

impl Debug for OnFatal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OnFatal")
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Turn {
    Wait,
    Lead,
    Done,
}

/// Where one who waits for the log sleeps.
#[derive(Debug)]
struct Ticket {
    turn: Mutex<Turn>,
    wake: Condvar,
}

impl Ticket {
    fn new() -> Arc<Ticket> {
        Arc::new(Ticket { turn: Mutex::new(Rank::Ticket, Turn::Wait), wake: Condvar::new() })
    }

    /// Who is done stays so: the wish that he lead may come late, when a newcomer has led for him already.
    fn give(&self, turn: Turn) {
        let mut now = self.turn.lock();
        if *now != Turn::Done {
            *now = turn;
            drop(now);
            self.wake.notify_all();
        }
    }

    /// True: lead. False: done.
    fn wait(&self) -> bool {
        let mut turn = self.turn.lock();
        loop {
            match *turn {
                Turn::Done => return false,
                Turn::Lead => {
                    *turn = Turn::Wait;
                    return true;
                }
                Turn::Wait => turn = self.wake.wait(turn, Duration::from_secs(1)),
            }
        }
    }
}

#[derive(Debug)]
struct Entry {
    /// 0: none, it only waits for those before it.
    ts: u64,
    txn: Option<Arc<Txn>>,
    bodies: Vec<Body>,
    /// Whatever the mode.
    sync: bool,
    rotate: bool,
    ticket: Arc<Ticket>,
}

#[derive(Debug)]
struct Queue {
    last_ts: u64,
    entries: Vec<Entry>,
    /// Absent while somebody leads.
    writer: Option<Box<Writer>>,
    /// The segment being written. Everything in segments before it is published.
    segment: SegmentHeader,
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
    queue: Mutex<Queue>,
    mode: AtomicU8,
    dead: AtomicBool,
    on_fatal: OnFatal,
    /// Where the log ends, and up to where it is on stable storage.
    lsn: AtomicU64,
    synced_lsn: AtomicU64,
    pub counters: RedoCounters,
}

impl Redo {
    /// `last_ts`: the newest timestamp given so far.
    pub fn new(writer: Writer, last_ts: u64, mode: FlushMode, on_fatal: OnFatal) -> Redo {
        Redo {
            mode: AtomicU8::new(mode as u8),
            dead: AtomicBool::new(false),
            on_fatal,
            lsn: AtomicU64::new(writer.lsn()),
            synced_lsn: AtomicU64::new(writer.synced_lsn()),
            counters: RedoCounters::default(),
            queue: Mutex::new(
                Rank::Commit,
                Queue { last_ts, entries: Vec::new(), segment: writer.segment(), writer: Some(Box::new(writer)) },
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
        self.dead.load(Ordering::Acquire)
    }

    /// Nothing can be made durable any more: ends the process.
    pub(crate) fn die(&self, e: &Error) {
        self.dead.store(true, Ordering::Release);
        (self.on_fatal.0)(e);
    }

    /// Where the log ends.
    pub fn lsn(&self) -> u64 {
        self.lsn.load(Ordering::Relaxed)
    }

    pub fn synced_lsn(&self) -> u64 {
        self.synced_lsn.load(Ordering::Relaxed)
    }

    /// Orders, logs and publishes `txn`, whose row images are in `bodies` (none if only volatile tables changed).
    pub(crate) fn commit(&self, manager: &TxnManager, txn: &Arc<Txn>, bodies: Vec<Body>) -> u64 {
        self.counters.commits.fetch_add(1, Ordering::Relaxed);
        self.submit(manager, |ts, ticket| Entry {
            ts,
            txn: Some(txn.clone()),
            bodies,
            sync: false,
            rotate: false,
            ticket,
        })
    }

    /// Logs changes of definitions; they are on stable storage when this returns.
    pub(crate) fn define(&self, manager: &TxnManager, bytes: Vec<u8>) -> Result<u64> {
        let bodies = vec![Body::new(Kind::Definitions, bytes)];
        let ts = self.submit(manager, |ts, ticket| Entry { ts, txn: None, bodies, sync: true, rotate: false, ticket });
        self.check_alive().map(|()| ts)
    }

    /// Returns once everything committed before is on stable storage. `rotate`: and a new segment has begun; answers its
    /// header.
    pub(crate) fn flush(&self, manager: &TxnManager, rotate: bool) -> Result<SegmentHeader> {
        self.submit(manager, |_, ticket| Entry { ts: 0, txn: None, bodies: Vec::new(), sync: true, rotate, ticket });
        self.check_alive()?;
        Ok(self.queue.lock().segment)
    }

    fn check_alive(&self) -> Result<()> {
        if self.is_dead() { Err(Error::internal("the redo log cannot be written")) } else { Ok(()) }
    }

    fn submit(&self, manager: &TxnManager, entry: impl FnOnce(u64, Arc<Ticket>) -> Entry) -> u64 {
        let ticket = Ticket::new();
        let (ts, writer) = {
            let mut queue = self.queue.lock();
            let mut entry = entry(queue.last_ts + 1, ticket.clone());
            // One that takes no timestamp has 0.
            if entry.txn.is_some() || !entry.bodies.is_empty() {
                queue.last_ts += 1;
                entry.ts = queue.last_ts;
            }
            let ts = entry.ts;
            queue.entries.push(entry);
            (ts, queue.writer.take())
        };
        match writer {
            Some(writer) => self.lead(manager, writer),
            None => {
                while ticket.wait() {
                    // Another newcomer may have taken the lead, and this entry with it.
                    let writer = self.queue.lock().writer.take();
                    if let Some(writer) = writer {
                        self.lead(manager, writer);
                    }
                }
            }
        }
        ts
    }

    /// One round: all that is in the queue. The caller's own entry is among it.
    fn lead(&self, manager: &TxnManager, mut writer: Box<Writer>) {
        crate::sync::assert_no_latch_held();
        let group = std::mem::take(&mut self.queue.lock().entries);
        if !self.is_dead() {
            match self.write(&mut writer, &group) {
                Ok(()) => self.publish(manager, &group),
                Err(e) => self.die(&e),
            }
        }
        let next = {
            let mut queue = self.queue.lock();
            queue.segment = writer.segment();
            queue.writer = Some(writer);
            queue.entries.first().map(|e| e.ticket.clone())
        };
        // The next one leads, and the disk works, while those who are done are woken.
        if let Some(ticket) = next {
            ticket.give(Turn::Lead);
        }
        for entry in &group {
            if let Some(txn) = &entry.txn {
                txn.end(manager.waits());
            }
            entry.ticket.give(Turn::Done);
        }
    }

    fn write(&self, writer: &mut Writer, group: &[Entry]) -> Result<()> {
        let before = writer.lsn();
        let mut sync = false;
        for entry in group {
            if writer.is_full() {
                // A transaction's parts stay in one segment.
                writer.rotate()?;
            }
            for body in &entry.bodies {
                writer.add(entry.ts, body);
                if writer.buffered() > BUFFER_BYTES_MAX {
                    writer.write()?;
                }
            }
            sync |= entry.sync;
        }
        let mode = self.mode();
        let grown = writer.lsn() - before;
        let worth = grown > 0 && mode == FlushMode::Sync || sync;
        if worth {
            let synced = writer.sync()?;
            self.counters.syncs.fetch_add(synced as u64, Ordering::Relaxed);
        } else if mode == FlushMode::Write {
            writer.write()?;
        }
        if group.iter().any(|e| e.rotate) {
            writer.rotate()?;
        }
        self.counters.writes.fetch_add((grown > 0) as u64, Ordering::Relaxed);
        self.counters.bytes.fetch_add(grown, Ordering::Relaxed);
        self.lsn.store(writer.lsn(), Ordering::Relaxed);
        self.synced_lsn.store(writer.synced_lsn(), Ordering::Relaxed);
        Ok(())
    }

    fn publish(&self, manager: &TxnManager, group: &[Entry]) {
        let mut last = 0;
        for entry in group.iter().filter(|e| e.ts > 0) {
            if let Some(txn) = &entry.txn {
                txn.set_commit_ts(entry.ts);
            }
            last = entry.ts;
        }
        if last > 0 {
            manager.publish_up_to(last);
        }
    }
}

/// More than this is written at once, even under mode 0.
const BUFFER_BYTES_MAX: usize = 4 << 20;
