//! How many connections are busy: whether each has a thread of its own.
//!
//! A thread a connection is best while the system's scheduler can spread them: though each command costs a switch of
//! threads, no core falls idle while there is work, and clients that are answered need not be woken on idle ones. (64
//! clients' point selects on 2 cores: 105,000 a second against 70,000.) Where very many are busy at once their stacks
//! and caches weigh more, and few [workers](super::workers) serve one connection after the other; and sooner where
//! connections commit, since each commit that waits for the log costs one more switch and wake-up.
//!
//! ```text
//!               more than BUSY_MANY a core busy in a window, or COMMITTING_MANY committing
//!   a thread each ──────────────────────────────────────────────────────────────────────────▶ workers
//!                 ◀──────────────────────────────────────────────────────────────────────────
//!               fewer than half of both, in CALM_WINDOWS windows in turn
//! ```
//! `thread_handling` may say otherwise: `one-thread-per-connection` or `pool-of-threads` in any case.
//! Where the system gives no thread to a connection that is to have one, workers go on serving it.
//! Connections move by themselves, each behind its next command; so nobody waits for anybody.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Busy connections a core, and those that commit changes, from which on workers serve them.
const BUSY_MANY: u32 = 100;
const COMMITTING_MANY: u32 = 4;
/// It takes so many windows in turn with half as many to go back.
const CALM_WINDOWS: u32 = 10;

/// See the module head.
#[derive(Debug)]
pub(crate) struct Load {
    /// Number of the window.
    window: AtomicU32,
    /// Connections that had a command in it, and that committed changes in it.
    busy: AtomicU32,
    committing: AtomicU32,
    is_high: AtomicBool,
    /// No more connections are busy than half the cores.
    has_room: AtomicBool,
    cores: u32,
    calm_windows: AtomicU32,
}

/// The windows in which a connection had its latest command, and committed changes last; 0: never.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Latest {
    command: u32,
    commit: u32,
}

impl Default for Load {
    fn default() -> Load {
        Load {
            window: AtomicU32::new(1),
            busy: AtomicU32::new(0),
            committing: AtomicU32::new(0),
            is_high: AtomicBool::new(false),
            has_room: AtomicBool::new(false),
            cores: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
            calm_windows: AtomicU32::new(0),
        }
    }
}

impl Load {
    /// A connection has a command.
    #[inline]
    pub(crate) fn note_command(&self, latest: &mut Latest) {
        self.note(&mut latest.command, &self.busy);
    }

    /// A connection has committed changes.
    #[inline]
    pub(crate) fn note_commit(&self, latest: &mut Latest) {
        self.note(&mut latest.commit, &self.committing);
    }

    #[inline]
    fn note(&self, latest: &mut u32, count: &AtomicU32) {
        let window = self.window.load(Ordering::Relaxed);
        if *latest != window {
            *latest = window;
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Workers serve those who are busy.
    #[inline]
    pub(crate) fn needs_workers(&self) -> bool {
        self.is_high.load(Ordering::Relaxed)
    }

    /// Of the cores at least half are left to clients and others: a thread may look for its next command for a while
    /// before it sleeps.
    #[inline]
    pub(crate) fn leaves_room(&self) -> bool {
        self.has_room.load(Ordering::Relaxed)
    }

    /// The system gives no more threads: workers serve for a while, however few are busy. True if they did not before.
    pub(crate) fn lacks_threads(&self) -> bool {
        self.calm_windows.store(0, Ordering::Relaxed);
        !self.is_high.swap(true, Ordering::Relaxed)
    }

    /// A window ends. To be called by one thread. `workers`: whether they serve in any case, or never.
    pub(crate) fn next_window(&self, workers: Option<bool>) {
        let next = self.window.load(Ordering::Relaxed).wrapping_add(1).max(1);
        self.window.store(next, Ordering::Relaxed);
        let busy = self.busy.swap(0, Ordering::Relaxed);
        let committing = self.committing.swap(0, Ordering::Relaxed);
        self.has_room.store(busy <= self.cores / 2, Ordering::Relaxed);
        let (many, many_committing) = (self.cores * BUSY_MANY, self.cores * COMMITTING_MANY);
        if let Some(workers) = workers {
            self.is_high.store(workers, Ordering::Relaxed);
        } else if busy > many || committing > many_committing {
            self.calm_windows.store(0, Ordering::Relaxed);
            self.is_high.store(true, Ordering::Relaxed);
        } else if busy * 2 > many || committing * 2 > many_committing {
            self.calm_windows.store(0, Ordering::Relaxed);
        } else if self.calm_windows.fetch_add(1, Ordering::Relaxed) >= CALM_WINDOWS {
            self.is_high.store(false, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load() -> Load {
        Load { cores: 2, ..Load::default() }
    }

    #[test]
    fn workers_come_at_once_and_go_slowly() {
        let load = load();
        let mut all = [Latest::default(); 201];
        all.iter_mut().for_each(|l| load.note_command(l));
        all.iter_mut().for_each(|l| load.note_command(l));
        assert!(!load.needs_workers());
        load.next_window(None);
        assert!(load.needs_workers() && !load.leaves_room());
        for _ in 0..CALM_WINDOWS * 3 {
            all.iter_mut().take(101).for_each(|l| load.note_command(l));
            load.next_window(None);
            assert!(load.needs_workers(), "half as many are many once workers serve");
        }
        (0..=CALM_WINDOWS).for_each(|_| load.next_window(None));
        assert!(!load.needs_workers() && load.leaves_room());
        load.next_window(Some(true));
        assert!(load.needs_workers());
        load.next_window(Some(false));
        assert!(!load.needs_workers());
    }

    #[test]
    fn without_threads_workers_serve_for_a_while() {
        let load = load();
        assert!(load.lacks_threads() && !load.lacks_threads());
        (0..CALM_WINDOWS).for_each(|_| load.next_window(None));
        assert!(load.needs_workers());
        load.next_window(None);
        assert!(!load.needs_workers());
    }

    #[test]
    fn many_commands_of_few_need_no_workers() {
        let load = load();
        let mut all = [Latest::default(); 8];
        for _ in 0..10_000 {
            all.iter_mut().for_each(|l| {
                load.note_command(l);
                load.note_commit(l);
            });
        }
        load.next_window(None);
        assert!(!load.needs_workers());
        let mut more = [Latest::default(); 9];
        more.iter_mut().for_each(|l| load.note_commit(l));
        load.next_window(None);
        assert!(load.needs_workers(), "those who commit count for more");
    }
}
