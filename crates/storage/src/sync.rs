//! Latches and atomics: the only source of them in this crate.
//!
//! Two things come from having one source. Every latch carries its [`Rank`], and debug builds check that a thread only
//! ever takes latches of rising rank, so that no cycle of latches can exist. And with the feature `shuttle` the same
//! protocols run under a model checker that tries thread interleavings.
//!
//! Invariants
//! 1. Latches are taken in rising [`Rank`] order; only ranks for which [`Rank::repeats`] holds may be held twice.
//! 2. No latch is held while waiting for a row lock, doing I/O or calling into another crate's code.

use std::ops::{Deref, DerefMut};

#[cfg(not(feature = "shuttle"))]
mod imp {
    pub use parking_lot::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
    pub use std::sync::atomic;

    #[inline]
    pub fn spin(long: bool) {
        if long { std::thread::yield_now() } else { std::hint::spin_loop() }
    }
    pub fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
        m.lock()
    }
    pub fn read<T>(l: &RwLock<T>) -> RwLockReadGuard<'_, T> {
        l.read()
    }
    pub fn write<T>(l: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
        l.write()
    }
    pub fn try_write<T>(l: &RwLock<T>) -> Option<RwLockWriteGuard<'_, T>> {
        l.try_write()
    }
    pub fn wait<'a, T>(c: &Condvar, mut g: MutexGuard<'a, T>, timeout: std::time::Duration) -> MutexGuard<'a, T> {
        c.wait_for(&mut g, timeout);
        g
    }

    pub use arc_swap::ArcSwap as Swap;
    pub type Loaded<T> = arc_swap::Guard<std::sync::Arc<T>>;

    pub use crossbeam_utils::sync::{
        ShardedLock as Wide, ShardedLockReadGuard as WideReadGuard, ShardedLockWriteGuard as WideWriteGuard,
    };
    use std::sync::PoisonError;

    #[inline]
    pub fn wide_read<T>(l: &Wide<T>) -> WideReadGuard<'_, T> {
        l.read().unwrap_or_else(PoisonError::into_inner)
    }
    pub fn wide_write<T>(l: &Wide<T>) -> WideWriteGuard<'_, T> {
        l.write().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(target_os = "linux")]
    pub fn core() -> usize {
        rustix::thread::sched_getcpu()
    }
    #[cfg(not(target_os = "linux"))]
    pub fn core() -> usize {
        static NEXT: atomic::AtomicUsize = atomic::AtomicUsize::new(0);
        thread_local!(static OWN: usize = NEXT.fetch_add(1, atomic::Ordering::Relaxed));
        OWN.with(|own| *own)
    }

    #[cfg(target_os = "linux")]
    pub use futex::Word;
    #[cfg(not(target_os = "linux"))]
    pub use portable::Word;

    #[cfg(target_os = "linux")]
    mod futex {
        use rustix::thread::futex::{self, Flags};
        use std::sync::atomic::{AtomicU32, Ordering};

        #[derive(Debug, Default)]
        pub struct Word {
            count: AtomicU32,
            sleepers: AtomicU32,
        }

        impl Word {
            pub fn count(&self) -> u32 {
                self.count.load(Ordering::SeqCst)
            }

            pub fn wait(&self, seen: u32) {
                // Before the system looks at the counter: a signal that misses this sleeper has raised the counter.
                self.sleepers.fetch_add(1, Ordering::SeqCst);
                // Whatever the answer, the caller looks again.
                let _ = futex::wait(&self.count, Flags::PRIVATE, seen, None);
                self.sleepers.fetch_sub(1, Ordering::SeqCst);
            }

            pub fn signal(&self, all: bool) {
                self.count.fetch_add(1, Ordering::SeqCst);
                if self.sleepers.load(Ordering::SeqCst) > 0 {
                    // Fails for bad arguments only.
                    let _ = futex::wake(&self.count, Flags::PRIVATE, if all { i32::MAX as u32 } else { 1 });
                }
            }
        }
    }

    #[cfg(not(target_os = "linux"))]
    mod portable {
        #[derive(Debug, Default)]
        pub struct Word(super::Mutex<u32>, super::Condvar);

        impl Word {
            pub fn count(&self) -> u32 {
                *self.0.lock()
            }

            pub fn wait(&self, seen: u32) {
                let mut count = self.0.lock();
                if *count == seen {
                    self.1.wait(&mut count);
                }
            }

            pub fn signal(&self, all: bool) {
                let mut count = self.0.lock();
                *count = count.wrapping_add(1);
                drop(count);
                if all {
                    self.1.notify_all()
                } else {
                    self.1.notify_one()
                };
            }
        }
    }
}

#[cfg(feature = "shuttle")]
mod imp {
    pub use shuttle::sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic};

    const WHY: &str = "a panic under a latch ends the test";

    pub fn spin(_: bool) {
        shuttle::thread::yield_now();
    }
    pub fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
        m.lock().expect(WHY)
    }
    pub fn read<T>(l: &RwLock<T>) -> RwLockReadGuard<'_, T> {
        l.read().expect(WHY)
    }
    pub fn write<T>(l: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
        l.write().expect(WHY)
    }
    pub fn try_write<T>(l: &RwLock<T>) -> Option<RwLockWriteGuard<'_, T>> {
        l.try_write().ok()
    }
    /// Model time does not pass: the wait ends when notified.
    pub fn wait<'a, T>(c: &Condvar, g: MutexGuard<'a, T>, _: std::time::Duration) -> MutexGuard<'a, T> {
        c.wait(g).expect(WHY)
    }

    pub fn core() -> usize {
        use shuttle::rand::RngCore;
        shuttle::rand::thread_rng().next_u32() as usize
    }

    pub use {RwLock as Wide, RwLockReadGuard as WideReadGuard, RwLockWriteGuard as WideWriteGuard};
    pub use {read as wide_read, write as wide_write};

    pub type Loaded<T> = std::sync::Arc<T>;

    #[derive(Debug)]
    pub struct Swap<T>(RwLock<Loaded<T>>);

    impl<T> Swap<T> {
        pub fn from_pointee(value: T) -> Swap<T> {
            Swap(RwLock::new(Loaded::new(value)))
        }
        pub fn load(&self) -> Loaded<T> {
            read(&self.0).clone()
        }
        pub fn store(&self, value: Loaded<T>) {
            *write(&self.0) = value;
        }
    }

    #[derive(Debug, Default)]
    pub struct Word(Mutex<u32>, Condvar);

    impl Word {
        pub fn count(&self) -> u32 {
            *lock(&self.0)
        }

        pub fn wait(&self, seen: u32) {
            let count = lock(&self.0);
            if *count == seen {
                drop(self.1.wait(count).expect(WHY));
            }
        }

        pub fn signal(&self, all: bool) {
            let mut count = lock(&self.0);
            *count = count.wrapping_add(1);
            drop(count);
            if all {
                self.1.notify_all()
            } else {
                self.1.notify_one()
            };
        }
    }
}

pub use imp::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

/// A shared value that is read far more often than replaced: its readers write to nothing in common.
pub use imp::{Loaded, Swap};

/// A number of the core that the thread runs on, or something like it: threads that have others rarely run at the same
/// time as it does on its core.
#[inline]
pub fn core() -> usize {
    imp::core()
}

/// Waits a moment for another thread's few instructions; `long`: it may not be running.
#[inline]
pub fn spin(long: bool) {
    imp::spin(long);
}

thread_local! {
    static BEFORE_WAITS: std::cell::Cell<Option<fn()>> = const { std::cell::Cell::new(None) };
}

/// `tell` is called whenever this thread is about to wait for a lock, for the log or for another thread. It must be
/// quick; a latch may be held.
pub fn on_wait(tell: Option<fn()>) {
    BEFORE_WAITS.set(tell);
}

/// To be called before anything that may take long: see [`on_wait`].
pub(crate) fn waits() {
    if let Some(tell) = BEFORE_WAITS.get() {
        tell();
    }
}

/// The one latch order, outermost first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Rank {
    /// The building of an ordered index. Held for long, by who builds or waits for the index.
    IndexBuild,
    /// The names of objects that metadata locks are taken on.
    MetadataMap,
    /// The queue for one object's metadata lock.
    MetadataQueue,
    /// The list of those who may hold metadata locks.
    MetadataOwners,
    /// The metadata locks that one session holds.
    MetadataHeld,
    /// What a checkpoint must not see half done: definitions, the list of images.
    Definitions,
    /// The map from table ids to tables.
    Store,
    /// A shard of a hash index. A row insert holds one a unique index, in index order.
    IndexShard,
    /// Where a table appends rows one by one.
    Tail,
    /// Keys of a leaf's rows in ordered indexes: see `index::ordered`.
    LeafKeys,
    /// The directory of sorted runs of an index. A row insert may hold one a unique index, in index order.
    IndexRuns,
    /// One leaf.
    Leaf,
    /// Which indexes a table has.
    IndexSet,
    /// The name of an index.
    IndexName,
    /// What an ordered index has yet to take in.
    IndexLog,
    /// The free nodes of an ordered index's tree, or its free key blocks.
    IndexTree,
    /// A table's shared dictionaries.
    Dictionary,
    /// A transaction's list of what it changed.
    TxnLog,
    /// Versions that wait to be collected.
    Garbage,
    /// Whether a transaction has ended; its waiters sleep here.
    TxnEnd,
    /// Whom a transaction's waits ask and tell.
    TxnWaiter,
    /// Who waits for whom.
    Waits,
    /// The latest deadlock.
    DeadlockReport,
    /// The order of commits.
    Commit,
    /// The set of snapshots in use.
    Snapshots,
    /// Cached statistics.
    Statistics,
}

impl Rank {
    /// Several latches of this rank may be held at once, in an order of their own.
    #[cfg_attr(any(not(debug_assertions), feature = "shuttle"), expect(dead_code))]
    const fn repeats(self) -> bool {
        matches!(self, Rank::IndexShard | Rank::IndexRuns)
    }
}

#[cfg(all(debug_assertions, not(feature = "shuttle")))]
mod held {
    use super::Rank;
    use std::cell::RefCell;

    thread_local! {
        static HELD: RefCell<Vec<Rank>> = const { RefCell::new(Vec::new()) };
    }

    /// Proof that the latch of this rank was noted as held by this thread.
    #[derive(Debug)]
    pub struct Token(Rank);

    impl Token {
        pub fn new(rank: Rank) -> Token {
            HELD.with_borrow_mut(|held| {
                if let Some(&top) = held.iter().max() {
                    assert!(
                        top < rank || top == rank && rank.repeats(),
                        "latch order: {rank:?} wanted while {top:?} is held"
                    );
                }
                held.push(rank);
            });
            Token(rank)
        }

        pub fn assert_none() {
            HELD.with_borrow(|held| assert!(held.is_empty(), "a wait begins while {held:?} are held"));
        }
    }

    impl Drop for Token {
        fn drop(&mut self) {
            HELD.with_borrow_mut(|held| {
                let i = held.iter().rposition(|r| *r == self.0).expect("noted when taken");
                held.remove(i);
            });
        }
    }
}

#[cfg(not(all(debug_assertions, not(feature = "shuttle"))))]
mod held {
    #[derive(Debug)]
    pub struct Token;

    impl Token {
        #[inline(always)]
        pub fn new(_: super::Rank) -> Token {
            Token
        }
        #[inline(always)]
        pub fn assert_none() {}
    }
}

/// Debug builds: panics if this thread holds any latch.
pub fn assert_no_latch_held() {
    held::Token::assert_none();
}

/// A guard that gives its rank back when dropped.
#[derive(Debug)]
pub struct Guard<G> {
    inner: G,
    _token: held::Token,
}

impl<G: Deref> Deref for Guard<G> {
    type Target = G::Target;
    #[inline]
    fn deref(&self) -> &G::Target {
        &self.inner
    }
}

impl<G: DerefMut> DerefMut for Guard<G> {
    #[inline]
    fn deref_mut(&mut self) -> &mut G::Target {
        &mut self.inner
    }
}

pub type MutexGuard<'a, T> = Guard<imp::MutexGuard<'a, T>>;
pub type ReadGuard<'a, T> = Guard<imp::RwLockReadGuard<'a, T>>;
pub type WriteGuard<'a, T> = Guard<imp::RwLockWriteGuard<'a, T>>;

/// A mutex with a rank.
#[derive(Debug)]
pub struct Mutex<T> {
    inner: imp::Mutex<T>,
    rank: Rank,
}

impl<T> Mutex<T> {
    pub fn new(rank: Rank, value: T) -> Mutex<T> {
        Mutex { inner: imp::Mutex::new(value), rank }
    }

    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let token = held::Token::new(self.rank);
        Guard { inner: imp::lock(&self.inner), _token: token }
    }
}

/// A reader-writer latch with a rank. Fair: a thread never takes the same one twice.
#[derive(Debug)]
pub struct RwLock<T> {
    inner: imp::RwLock<T>,
    rank: Rank,
}

impl<T> RwLock<T> {
    pub fn new(rank: Rank, value: T) -> RwLock<T> {
        RwLock { inner: imp::RwLock::new(value), rank }
    }

    #[inline]
    pub fn read(&self) -> ReadGuard<'_, T> {
        let token = held::Token::new(self.rank);
        Guard { inner: imp::read(&self.inner), _token: token }
    }

    #[inline]
    pub fn write(&self) -> WriteGuard<'_, T> {
        let token = held::Token::new(self.rank);
        Guard { inner: imp::write(&self.inner), _token: token }
    }

    /// `None` if the latch is not free now.
    #[inline]
    pub fn try_write(&self) -> Option<WriteGuard<'_, T>> {
        let token = held::Token::new(self.rank);
        Some(Guard { inner: imp::try_write(&self.inner)?, _token: token })
    }
}

/// A reader-writer latch whose readers on different cores write to nothing in common; writers pay for it. A thread
/// never takes the same one twice.
#[derive(Debug)]
pub struct WideRwLock<T> {
    inner: imp::Wide<T>,
    rank: Rank,
}

impl<T> WideRwLock<T> {
    pub fn new(rank: Rank, value: T) -> WideRwLock<T> {
        WideRwLock { inner: imp::Wide::new(value), rank }
    }

    #[inline]
    pub fn read(&self) -> Guard<imp::WideReadGuard<'_, T>> {
        let token = held::Token::new(self.rank);
        Guard { inner: imp::wide_read(&self.inner), _token: token }
    }

    pub fn write(&self) -> Guard<imp::WideWriteGuard<'_, T>> {
        let token = held::Token::new(self.rank);
        Guard { inner: imp::wide_write(&self.inner), _token: token }
    }
}

/// A condition to wait for under a [`Mutex`].
#[derive(Debug, Default)]
pub struct Condvar(imp::Condvar);

impl Condvar {
    pub fn new() -> Condvar {
        Condvar(imp::Condvar::new())
    }

    /// Gives up the mutex until notified or until `timeout` has passed, whichever is first; may wake without cause.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>, timeout: std::time::Duration) -> MutexGuard<'a, T> {
        waits();
        let Guard { inner, _token } = guard;
        Guard { inner: imp::wait(&self.0, inner, timeout), _token }
    }

    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// A word to sleep on until it changes: a counter of the events that somebody may wait for.
///
/// ```text
///   sleeper: seen = count; look whether it has happened; wait(seen)
///   waker:   make it happen; signal
/// ```
/// Who looks after he read the counter sleeps only if nothing was signalled since. Nobody who does not sleep costs a
/// system call.
#[derive(Debug, Default)]
pub struct WaitWord(imp::Word);

impl WaitWord {
    pub fn new() -> WaitWord {
        WaitWord::default()
    }

    /// How often it was signalled.
    #[inline]
    pub fn count(&self) -> u32 {
        self.0.count()
    }

    /// Sleeps unless it was signalled since it was `seen`; may wake without cause. No latch may be held.
    pub fn wait(&self, seen: u32) {
        assert_no_latch_held();
        waits();
        self.0.wait(seen);
    }

    /// Something has happened: wakes one sleeper, or all.
    pub fn signal(&self, all: bool) {
        self.0.signal(all);
    }
}
