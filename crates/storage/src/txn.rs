//! Transactions, snapshots, commit order, row-lock waits and the collection of old versions.
//!
//! ```text
//!             begin           commit: one store of commit_ts        its log record is durable
//!   (nothing) ─────▶ active ─────────────────────────────▶ ordered ───────────────────────────▶ published
//!                      │ rollback: its records are undone    rows are let go,                    snapshots see it,
//!                      │ newest first                        current reads see it                the client is told
//!                      └───────────────────────────────────────────▶ ended, as if it never was
//! ```
//! Invariants
//! 1. `commit_ts` is [`ACTIVE`] until the transaction commits, then its timestamp for ever. Timestamps rise by one;
//!    `last_ordered` and then `last_published` are stored after `commit_ts`, so whoever reads timestamp t sees all of
//!    every commit up to t. Which of the two a snapshot is taken at, and why, says [`crate::log::group`].
//! 2. A snapshot sees a version iff its transaction's `commit_ts <= ts`, or it is the snapshot's own transaction's and
//!    an earlier statement made it.
//! 3. Versions up to [`TxnManager::oldest`] need no before-image: every snapshot in use, and every later one, sees them.
//!    It never passes `last_published`.
//! 4. The first updater holds a row until it ends. Whoever wants the row sleeps on that transaction
//!    ([`crate::row_wait`]); of a cycle of waits one fails with 1213 at once, a wait that lasts too long with 1205.

use crate::index::UniqueIndex;
use crate::log::group::{Place, Redo};
use crate::log::segment::{Bodies, Images};
use crate::shared::RowLockMode;
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Condvar, Mutex, Ordering, Rank};
use crate::waits::{LockId, OwnerId, RowLockName, WaitGraph};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use types::Result;

/// `commit_ts` of a transaction that has not committed.
pub const ACTIVE: u64 = u64::MAX;

/// What holds versions: a table. Transactions know tables only by this.
pub trait Versioned: Send + Sync + Debug {
    /// Takes back the newest record of the changed row, or the whole leaf; it is the transaction's.
    fn undo(&self, change: Change);
    /// Names a row that `txn` locked exclusively, or (`slot` absent) those of a leaf that it shares.
    fn locks(&self, txn: &Txn, leaf_no: u64, slot: Option<u16>) -> Vec<RowLockName>;
    /// The transaction has ended: it shares none of the leaf's rows any more.
    fn unshare(&self, leaf_no: u64, txn_id: u64);
    /// Prunes the leaf's versions that every snapshot from `oldest` on sees.
    fn collect(&self, leaf_no: u64, oldest: u64);
    /// Whether changes of it go into the redo log.
    fn is_logged(&self) -> bool;
    /// Appends the images of `txn`'s changes, which may be put in another order, for the redo log.
    fn put_images(&self, txn: &Txn, changes: &mut Vec<Change>, out: &mut Images);
}

/// What a transaction changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    Row {
        leaf_no: u64,
        slot: u16,
    },
    /// A leaf that the transaction filled and attached.
    Leaf {
        leaf_no: u64,
    },
}

impl Change {
    pub(crate) fn leaf_no(self) -> u64 {
        match self {
            Change::Row { leaf_no, .. } | Change::Leaf { leaf_no } => leaf_no,
        }
    }
}

#[derive(Debug, Default)]
struct TxnLog {
    tables: Vec<Arc<dyn Versioned>>,
    /// (index into `tables`, change), oldest first.
    changes: Vec<(u32, Change)>,
    /// Leaves where the transaction shares rows; each once in a row.
    shared: Vec<(Arc<dyn Versioned>, u64)>,
    /// Keys whose absence it holds: the index, and the key's hash.
    absent: Vec<(Arc<UniqueIndex>, u64)>,
}

/// A transaction.
#[derive(Debug)]
pub struct Txn {
    id: u64,
    commit_ts: AtomicU64,
    statement: AtomicU32,
    savepoints: AtomicU32,
    log: Mutex<TxnLog>,
    pub(crate) ended: Mutex<bool>,
    pub(crate) wake: Condvar,
    /// Rows may have been let go before the end: by a rollback of a part.
    pub(crate) partly_undone: AtomicBool,
    /// Somebody has waited for it.
    pub(crate) waited_for: AtomicBool,
    owner: OwnerId,
    /// Its rows are let go: it has ended, and what it committed is ordered.
    let_go: AtomicBool,
    /// It changes or locks rows, so it sees commits as soon as they are ordered.
    is_current: AtomicBool,
    interrupted: AtomicBool,
    waiter: OnceLock<OfSession>,
    lock_wait_timeout_ms: AtomicU64,
}

/// The session of a transaction that waits for locks of rows.
pub trait Waiter: Send + Sync + 'static {
    /// Asked every 50 ms: is the wait to end with error 1317?
    fn stops(&self) -> bool;

    /// A wait has ended, however it did.
    fn waited(&self, time: Duration);
}

struct OfSession(Box<dyn Waiter>);

impl Debug for OfSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OfSession")
    }
}

/// A point in a transaction's list of changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Savepoint(usize);

impl Txn {
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The commit timestamp, [`ACTIVE`] before commit.
    #[inline]
    pub fn commit_ts(&self) -> u64 {
        self.commit_ts.load(Ordering::Acquire)
    }

    #[inline]
    pub fn is_active(&self) -> bool {
        self.commit_ts() == ACTIVE
    }

    #[inline]
    pub fn statement(&self) -> u32 {
        self.statement.load(Ordering::Relaxed)
    }

    /// Starts the next statement: snapshots taken from now on see what the statements before it changed.
    pub fn begin_statement(&self) -> u32 {
        self.statement.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// How long a wait for a row may last (innodb_lock_wait_timeout).
    pub fn set_lock_wait_timeout(&self, timeout: Duration) {
        self.lock_wait_timeout_ms.store(timeout.as_millis() as u64, Ordering::Relaxed);
    }

    /// Whom the transaction's lock waits ask and tell. To be called once, by the transaction's session.
    pub fn set_waiter(&self, waiter: impl Waiter) {
        let set = self.waiter.set(OfSession(Box::new(waiter)));
        debug_assert!(set.is_ok(), "a transaction has one session");
    }

    /// Who holds the transaction's locks: its session, or itself.
    pub fn owner(&self) -> OwnerId {
        self.owner
    }

    /// What a rollback would have to take back.
    pub fn weight(&self) -> u64 {
        self.log.lock().changes.len() as u64
    }

    pub fn lock_wait_timeout(&self) -> Duration {
        Duration::from_millis(self.lock_wait_timeout_ms.load(Ordering::Relaxed))
    }

    pub(crate) fn is_to_stop(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed) || self.waiter.get().is_some_and(|w| w.0.stops())
    }

    pub(crate) fn note_waited(&self, time: Duration) {
        if let Some(w) = self.waiter.get() {
            w.0.waited(time);
        }
    }

    /// Ends the transaction's lock waits with error 1317, now and later, until [`Txn::clear_interrupt`].
    pub fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
    }

    pub fn clear_interrupt(&self) {
        self.interrupted.store(false, Ordering::Relaxed);
    }

    /// Where the transaction stands now, for [`TxnManager::rollback_to`].
    pub fn savepoint(&self) -> Savepoint {
        self.savepoints.fetch_add(1, Ordering::Relaxed);
        Savepoint(self.log.lock().changes.len())
    }

    /// How many savepoints have been taken.
    #[inline]
    pub(crate) fn savepoints(&self) -> u32 {
        self.savepoints.load(Ordering::Relaxed)
    }

    /// Whether the transaction changed or locked anything.
    pub fn has_changes(&self) -> bool {
        !self.log.lock().changes.is_empty()
    }

    /// Notes changes, so that they can be undone. To be called after the versions exist.
    pub(crate) fn note(&self, table: &Arc<dyn Versioned>, changes: impl IntoIterator<Item = Change>) {
        self.read_current();
        let mut log = self.log.lock();
        let known = log.tables.iter().rposition(|t| Arc::ptr_eq(t, table));
        let idx = known.unwrap_or_else(|| {
            log.tables.push(table.clone());
            log.tables.len() - 1
        });
        log.changes.extend(changes.into_iter().map(|c| (idx as u32, c)));
    }

    /// Rows that the transaction changed, locked or shares, about `max` of them at most.
    pub fn locked_rows(&self, max: usize) -> Vec<RowLockName> {
        let (tables, changes, shared) = {
            let log = self.log.lock();
            (log.tables.clone(), log.changes.iter().take(max).copied().collect::<Vec<_>>(), log.shared.clone())
        };
        let mut out: Vec<RowLockName> = Vec::new();
        for (table, change) in changes {
            if let Change::Row { leaf_no, slot } = change {
                let names = tables[table as usize].locks(self, leaf_no, Some(slot));
                out.extend(names.into_iter().filter(|n| out.last() != Some(n)).collect::<Vec<_>>());
            }
        }
        for (table, leaf_no) in shared {
            if out.len() < max {
                out.extend(table.locks(self, leaf_no, None));
            }
        }
        out
    }

    /// Notes that the transaction shares rows of a leaf of `table`.
    pub(crate) fn note_shared(&self, table: &Arc<dyn Versioned>, leaf_no: u64) {
        self.read_current();
        let mut log = self.log.lock();
        if log.shared.last().is_none_or(|(t, n)| *n != leaf_no || !Arc::ptr_eq(t, table)) {
            log.shared.push((table.clone(), leaf_no));
        }
    }

    /// Notes that the transaction holds the absence of a key.
    pub(crate) fn note_absent(&self, index: &Arc<UniqueIndex>, hash: u64) {
        self.read_current();
        self.log.lock().absent.push((index.clone(), hash));
    }

    /// Whether the rows that it changed or locked are its own still. Others may take them only when `last_ordered` has
    /// reached its commit: a snapshot taken then for a current read sees what it changed.
    #[inline]
    pub fn holds_rows(&self) -> bool {
        !self.let_go.load(Ordering::SeqCst)
    }

    pub(crate) fn set_commit_ts(&self, ts: u64) {
        self.commit_ts.store(ts, Ordering::Release);
    }

    /// The images of its changes of logged tables.
    fn images(&self, log: &TxnLog) -> Bodies {
        let mut out = Images::default();
        let mut changes = Vec::new();
        for (idx, table) in log.tables.iter().enumerate().filter(|(_, t)| t.is_logged()) {
            changes.clear();
            changes.extend(log.changes.iter().filter(|c| c.0 as usize == idx).map(|c| c.1));
            table.put_images(self, &mut changes, &mut out);
        }
        out.finish()
    }

    /// From now on the transaction may change or lock rows: what it reads is the newest that is committed, also where its
    /// log record is on its way still. It is not answered at its end before that is durable.
    pub fn read_current(&self) {
        self.is_current.store(true, Ordering::Relaxed);
    }

    /// Others need not wait for its end any more to get what they wait for.
    pub(crate) fn lets_go(&self, waits: &WaitGraph) {
        self.partly_undone.store(true, Ordering::Relaxed);
        self.forget_waits(waits);
        drop(self.ended.lock());
        self.wake.notify_all();
    }

    fn forget_waits(&self, waits: &WaitGraph) {
        if self.waited_for.load(Ordering::SeqCst) {
            waits.forget(self.owner, LockId::Rows);
        }
    }

    pub(crate) fn end(&self, waits: &WaitGraph) {
        let (shared, absent) = {
            let mut log = self.log.lock();
            (std::mem::take(&mut log.shared), std::mem::take(&mut log.absent))
        };
        for (table, leaf_no) in shared {
            table.unshare(leaf_no, self.id);
        }
        for (index, hash) in absent {
            index.let_absent_go(hash, self.id);
        }
        self.let_go.store(true, Ordering::SeqCst);
        self.forget_waits(waits);
        *self.ended.lock() = true;
        self.wake.notify_all();
    }
}

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

/// Keeps a timestamp in the set of snapshots in use.
#[derive(Debug)]
struct Registration {
    ts: u64,
    manager: Arc<TxnManager>,
}

impl Drop for Registration {
    fn drop(&mut self) {
        {
            let mut in_use = self.manager.snapshots.lock();
            if let Some(n) = in_use.get_mut(&self.ts) {
                *n -= 1;
                if *n == 0 {
                    in_use.remove(&self.ts);
                }
            }
        }
        self.manager.collect_garbage(GARBAGE_LEAVES_PER_SNAPSHOT);
    }
}

/// How a wish for a row that another transaction holds is treated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LockWait {
    /// Sleep until the holder ends, at most the transaction's lock wait timeout.
    #[default]
    Wait,
    /// Error 3572.
    NoWait,
    /// The row is left out.
    SkipLocked,
}

/// What one commit left to collect.
#[derive(Debug)]
struct Garbage {
    commit_ts: u64,
    leaves: Vec<(Arc<dyn Versioned>, Vec<u64>)>,
}

/// Leaves that the end of a snapshot may visit to collect garbage.
const GARBAGE_LEAVES_PER_SNAPSHOT: usize = 64;
/// Leaves that a commit may visit, besides as many as it touched itself.
const GARBAGE_LEAVES_PER_COMMIT: usize = 64;

/// All transactions of a store.
#[derive(Debug)]
pub struct TxnManager {
    /// Set once, before the first commit, if the store is durable.
    redo: OnceLock<Arc<Redo>>,
    last_ordered: AtomicU64,
    last_published: AtomicU64,
    next_id: AtomicU64,
    commit: Mutex<()>,
    /// Timestamps of the snapshots in use, with how many share each.
    snapshots: Mutex<BTreeMap<u64, u32>>,
    garbage: Mutex<VecDeque<Garbage>>,
    garbage_count: AtomicUsize,
    waits: WaitGraph,
}

impl TxnManager {
    pub fn new() -> Arc<TxnManager> {
        Arc::new(TxnManager {
            redo: OnceLock::new(),
            last_ordered: AtomicU64::new(1),
            last_published: AtomicU64::new(1),
            next_id: AtomicU64::new(1),
            commit: Mutex::new(Rank::Commit, ()),
            snapshots: Mutex::new(Rank::Snapshots, BTreeMap::new()),
            garbage: Mutex::new(Rank::Garbage, VecDeque::new()),
            garbage_count: AtomicUsize::new(0),
            waits: WaitGraph::default(),
        })
    }

    /// Who waits for whom.
    pub fn waits(&self) -> &WaitGraph {
        &self.waits
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
            log: Mutex::new(Rank::TxnLog, TxnLog::default()),
            ended: Mutex::new(Rank::TxnEnd, false),
            wake: Condvar::new(),
            partly_undone: AtomicBool::new(false),
            waited_for: AtomicBool::new(false),
            owner,
            let_go: AtomicBool::new(false),
            is_current: AtomicBool::new(false),
            interrupted: AtomicBool::new(false),
            waiter: OnceLock::new(),
            lock_wait_timeout_ms: AtomicU64::new(50_000),
        })
    }

    /// A snapshot of everything committed now, without a transaction of its own.
    pub fn snapshot(self: &Arc<Self>) -> Snapshot {
        self.take_snapshot(None, 0)
    }

    /// A snapshot of everything committed now and of what `txn`'s statements before its current one changed.
    pub fn snapshot_of(self: &Arc<Self>, txn: &Txn) -> Snapshot {
        self.take_snapshot(Some(txn), txn.statement())
    }

    /// What a current read sees: everything committed now and all of `txn`'s own changes. For rows that `txn` has
    /// locked this is their newest version.
    pub fn current(self: &Arc<Self>, txn: &Txn) -> Snapshot {
        txn.read_current();
        self.take_snapshot(Some(txn), u32::MAX)
    }

    /// What READ UNCOMMITTED sees: every row's newest version, but for what `txn`'s current statement changed.
    pub fn uncommitted(self: &Arc<Self>, txn: Option<&Txn>) -> Snapshot {
        Snapshot { dirty: true, ..self.take_snapshot(txn, txn.map_or(0, Txn::statement)) }
    }

    fn take_snapshot(self: &Arc<Self>, txn: Option<&Txn>, statement: u32) -> Snapshot {
        let own = txn.map_or(0, |t| t.id);
        let is_current = txn.is_some_and(|t| t.is_current.load(Ordering::Relaxed));
        let horizon = if is_current { &self.last_ordered } else { &self.last_published };
        let ts = {
            let mut in_use = self.snapshots.lock();
            // Read under the latch: oldest() must not pass this timestamp before it is in the set.
            let ts = horizon.load(Ordering::Acquire);
            *in_use.entry(ts).or_insert(0) += 1;
            ts
        };
        Snapshot {
            ts,
            own,
            statement,
            dirty: false,
            skip: None,
            _registered: Arc::new(Registration { ts, manager: self.clone() }),
        }
    }

    /// The newest timestamp up to which everything is seen by every snapshot in use.
    pub fn oldest(&self) -> u64 {
        let in_use = self.snapshots.lock();
        let last = self.last_published.load(Ordering::Acquire);
        in_use.keys().next().map_or(last, |&ts| ts.min(last))
    }

    pub fn last_published(&self) -> u64 {
        self.last_published.load(Ordering::Acquire)
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

    /// Makes all changes of `txn` durable, as innodb_flush_log_at_trx_commit asks, and publishes them at once; returns
    /// the commit timestamp. Its rows are let go before. May sleep until the log is written. Errors: 1836, and nothing of
    /// it remains; 1180, and only a restart shows whether it was committed.
    pub fn commit(&self, txn: &Arc<Txn>) -> Result<u64> {
        let Ordered { ts, place, touched } = self.commit_ordered(txn, false)?;
        if let Some(redo) = self.redo.get() {
            redo.see_through(self, place)?;
        }
        self.collect_behind(touched);
        Ok(ts)
    }

    /// As [`TxnManager::commit`], but does not sleep where others commit too: it answers what to wait for before anybody
    /// is told that the transaction is committed. `None`: it is durable.
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

    /// A commit that changed so many leaves prunes a few more.
    fn collect_behind(&self, touched: usize) {
        if touched > 0 {
            self.collect_garbage(touched + GARBAGE_LEAVES_PER_COMMIT);
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
            return self.see_what_it_saw(txn).map(|()| Ordered { ts, place: Place::Done, touched: 0 });
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
        let touched = self.add_garbage(ts, log);
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
        if !touched.is_empty() {
            txn.lets_go(&self.waits);
            self.collect_in(&touched);
        }
    }

    /// Rows that came and went leave free slots, or whole dead leaves.
    fn collect_in(&self, leaves: &[(Arc<dyn Versioned>, u64)]) {
        let oldest = self.oldest();
        leaves.iter().for_each(|(table, leaf_no)| table.collect(*leaf_no, oldest));
    }

    /// Returns the leaves in which there was anything.
    fn undo_from(&self, txn: &Txn, savepoint: Savepoint) -> Vec<(Arc<dyn Versioned>, u64)> {
        let (tables, undone) = {
            let mut log = txn.log.lock();
            let at = savepoint.0.min(log.changes.len());
            (log.tables.clone(), log.changes.split_off(at))
        };
        let mut leaves: Vec<(u32, u64)> = Vec::new();
        for (table, change) in undone.into_iter().rev() {
            tables[table as usize].undo(change);
            if leaves.last() != Some(&(table, change.leaf_no())) {
                leaves.push((table, change.leaf_no()));
            }
        }
        leaves.sort_unstable();
        leaves.dedup();
        leaves.into_iter().map(|(table, leaf_no)| (tables[table as usize].clone(), leaf_no)).collect()
    }

    fn add_garbage(&self, commit_ts: u64, log: TxnLog) -> usize {
        let mut by_table: Vec<Vec<u64>> = vec![Vec::new(); log.tables.len()];
        for (table, change) in log.changes {
            let leaves = &mut by_table[table as usize];
            if leaves.last() != Some(&change.leaf_no()) {
                leaves.push(change.leaf_no());
            }
        }
        let mut touched = 0;
        for leaves in &mut by_table {
            leaves.sort_unstable();
            leaves.dedup();
            touched += leaves.len();
        }
        let leaves = log.tables.into_iter().zip(by_table).collect();
        let mut garbage = self.garbage.lock();
        // Commits reach this point out of order now and then; the queue is nearly sorted, which is all it needs.
        garbage.push_back(Garbage { commit_ts, leaves });
        self.garbage_count.store(garbage.len(), Ordering::Relaxed);
        touched
    }

    /// Prunes versions that nobody needs any more, in about `leaves_max` leaves.
    pub fn collect_garbage(&self, leaves_max: usize) {
        if self.garbage_count.load(Ordering::Relaxed) == 0 {
            return;
        }
        let oldest = self.oldest();
        let mut visited = 0;
        while visited < leaves_max {
            let garbage = {
                let mut queue = self.garbage.lock();
                let ready = queue.front().is_some_and(|g| g.commit_ts <= oldest);
                let front = if ready { queue.pop_front() } else { None };
                self.garbage_count.store(queue.len(), Ordering::Relaxed);
                front
            };
            let Some(garbage) = garbage else { break };
            for (table, leaves) in garbage.leaves {
                visited += leaves.len();
                for leaf_no in leaves {
                    table.collect(leaf_no, oldest);
                }
            }
        }
    }

    /// Garbage queue length: commits whose versions are still to be pruned.
    pub fn garbage_len(&self) -> usize {
        self.garbage_count.load(Ordering::Relaxed)
    }
}

/// A commit that has its place in the log, with the number of leaves that it changed.
struct Ordered {
    ts: u64,
    place: Place,
    touched: usize,
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

    /// Calls `tell`, which must not block, once there is an outcome: here and now, or by the thread that writes the log.
    pub fn when_settled(&self, tell: impl FnOnce() + Send + 'static) {
        self.redo().when_done(self.number, Box::new(tell));
    }
}
