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
//! 3. Versions up to [`TxnManager::oldest`] need no before-image: every snapshot in use, and every later one, sees
//!    them. It never passes `last_published`.
//! 4. The first updater holds a row until it ends. Whoever wants the row sleeps on that transaction
//!    ([`crate::row_wait`]); of a cycle of waits one fails with 1213 at once, a wait that lasts too long with 1205.
//!
//! - here: a transaction, and the list of what it changed;
//! - [`manager`]: all transactions, and the two horizons;
//! - [`snapshot`]: what a reader sees;
//! - [`in_use`]: the timestamps of snapshots in use;
//! - [`end`]: commit and rollback;
//! - [`garbage`]: versions that nobody needs any more.

mod end;
mod garbage;
mod in_use;
mod manager;
mod snapshot;

pub use end::Unsettled;
pub use in_use::Horizon;
pub use manager::TxnManager;
pub use snapshot::Snapshot;

use crate::index::UniqueIndex;
use crate::log::segment::{Bodies, Images};
use crate::room::Unasked;
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Condvar, Mutex, Ordering};
use crate::undo::Left;
use crate::waits::{LockId, OwnerId, RowLockName, WaitGraph};
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

/// `commit_ts` of a transaction that has not committed.
pub const ACTIVE: u64 = u64::MAX;

/// What holds versions: a table. Transactions know tables only by this.
pub trait Versioned: Send + Sync + Debug {
    /// Takes back the newest record of the changed row, or the whole leaf; it is the transaction's.
    fn undo(&self, change: Change);
    /// The same, but `txn`, whose record it is, keeps the row if that exists then. Says whether that took a record of
    /// its own.
    fn undo_and_hold(&self, txn: &Arc<Txn>, change: Change) -> bool;
    /// Names a row that `txn` locked exclusively, or (`slot` absent) those of a leaf that it shares.
    fn locks(&self, txn: &Txn, leaf_no: u64, slot: Option<u16>) -> Vec<RowLockName>;
    /// The transaction has ended: it shares none of the leaf's rows any more.
    fn unshare(&self, leaf_no: u64, txn_id: u64);
    /// Marks the leaf as one that waits to be collected, or not; says whether it was.
    fn set_waiting(&self, leaf_no: u64, waiting: bool) -> bool;
    /// Takes away the leaf's versions that no snapshot of `horizon` needs.
    fn collect(&self, leaf_no: u64, horizon: &Horizon) -> Left;
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

/// A change of a table, by its place in [`TxnLog::tables`]. A transaction may have very many.
#[derive(Clone, Copy, Debug)]
struct Noted {
    table_idx: u32,
    leaf_no: u32,
    /// [`Noted::WHOLE`]: the leaf.
    slot: u16,
}

impl Noted {
    const WHOLE: u16 = u16::MAX;

    fn new(table_idx: usize, change: Change) -> Noted {
        let leaf_no = u32::try_from(change.leaf_no()).expect("a heap has fewer leaves");
        let slot = if let Change::Row { slot, .. } = change { slot } else { Noted::WHOLE };
        Noted { table_idx: table_idx as u32, leaf_no, slot }
    }

    fn change(self) -> Change {
        match (self.leaf_no as u64, self.slot) {
            (leaf_no, Noted::WHOLE) => Change::Leaf { leaf_no },
            (leaf_no, slot) => Change::Row { leaf_no, slot },
        }
    }
}

#[derive(Debug, Default)]
struct TxnLog {
    tables: Vec<Arc<dyn Versioned>>,
    /// Oldest first.
    changes: Vec<Noted>,
    /// `None`: nothing. Few have any, and a transaction is kept as long as its versions.
    holds: Option<Box<Holds>>,
}

/// What a transaction holds besides what it changed.
#[derive(Debug, Default)]
struct Holds {
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
    /// Bytes of versions that it made since it asked for room last.
    pub(crate) unasked: Unasked,
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
    /// Until it ends.
    waiter: Mutex<Option<OfSession>>,
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
        let before = self.waiter.lock().replace(OfSession(Box::new(waiter)));
        debug_assert!(before.is_none(), "a transaction has one session");
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
        self.interrupted.load(Ordering::Relaxed) || self.waiter.lock().as_ref().is_some_and(|w| w.0.stops())
    }

    pub(crate) fn note_waited(&self, time: Duration) {
        if let Some(w) = &*self.waiter.lock() {
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
        log.changes.extend(changes.into_iter().map(|c| Noted::new(idx, c)));
    }

    /// Rows that the transaction changed, locked or shares, about `max` of them at most.
    pub fn locked_rows(&self, max: usize) -> Vec<RowLockName> {
        let (tables, changes, shared) = {
            let log = self.log.lock();
            let shared = log.holds.as_ref().map_or(Vec::new(), |h| h.shared.clone());
            (log.tables.clone(), log.changes.iter().take(max).copied().collect::<Vec<_>>(), shared)
        };
        let mut out: Vec<RowLockName> = Vec::new();
        for noted in changes {
            if let Change::Row { leaf_no, slot } = noted.change() {
                let names = tables[noted.table_idx as usize].locks(self, leaf_no, Some(slot));
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
        let shared = &mut log.holds.get_or_insert_default().shared;
        if shared.last().is_none_or(|(t, n)| *n != leaf_no || !Arc::ptr_eq(t, table)) {
            shared.push((table.clone(), leaf_no));
        }
    }

    /// Notes that the transaction holds the absence of a key.
    pub(crate) fn note_absent(&self, index: &Arc<UniqueIndex>, hash: u64) {
        self.read_current();
        self.log.lock().holds.get_or_insert_default().absent.push((index.clone(), hash));
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
            changes.extend(log.changes.iter().filter(|c| c.table_idx as usize == idx).map(|c| c.change()));
            table.put_images(self, &mut changes, &mut out);
        }
        out.finish()
    }

    /// From now on the transaction may change or lock rows: what it reads is the newest that is committed, also where
    /// its log record is on its way still. It is not answered at its end before that is durable.
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
        let holds = self.log.lock().holds.take();
        if let Some(Holds { shared, absent }) = holds.map(|h| *h) {
            for (table, leaf_no) in shared {
                table.unshare(leaf_no, self.id);
            }
            for (index, hash) in absent {
                index.let_absent_go(hash, self.id);
            }
        }
        drop(self.waiter.lock().take());
        self.let_go.store(true, Ordering::SeqCst);
        self.forget_waits(waits);
        *self.ended.lock() = true;
        self.wake.notify_all();
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
