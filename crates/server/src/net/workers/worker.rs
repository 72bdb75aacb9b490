//! A worker as its group sees it, and how a statement tells that it waits.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use parking_lot::Condvar;

use super::group::Group;

const FREE: u8 = 0;
const SERVING: u8 = 1;
const HANDED_OVER: u8 = 2;

#[derive(Default)]
pub(super) struct Worker {
    state: AtomicU8,
    /// Statements begun, and how many that were at the monitor's last tick.
    served: AtomicU64,
    seen: AtomicU64,
    /// It is to work again; changes under the group's lock.
    pub(super) awake: AtomicBool,
    pub(super) wake: Condvar,
}

impl Worker {
    pub(super) fn begin(&self) {
        self.served.store(self.served.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.state.store(SERVING, Ordering::SeqCst);
    }

    /// True: somebody has taken its place.
    pub(super) fn end(&self) -> bool {
        self.state.swap(FREE, Ordering::SeqCst) == HANDED_OVER
    }

    /// Whether it has begun a statement since it was asked last.
    pub(super) fn has_begun(&self) -> bool {
        let served = self.served.load(Ordering::Relaxed);
        self.seen.swap(served, Ordering::Relaxed) != served
    }

    pub(super) fn is_serving(&self) -> bool {
        self.state.load(Ordering::SeqCst) == SERVING
    }

    /// True: the caller has to see that somebody takes its place.
    pub(super) fn hand_over(&self) -> bool {
        self.state.compare_exchange(SERVING, HANDED_OVER, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }
}

thread_local! {
    /// The worker that this thread is, if it is one.
    static WORKER: RefCell<Option<(Arc<Group>, Arc<Worker>)>> = const { RefCell::new(None) };
}

/// This thread works for `group` from now on.
pub(super) fn become_worker(group: &Arc<Group>, worker: &Arc<Worker>) {
    WORKER.set(Some((group.clone(), worker.clone())));
    engine::on_wait(Some(waits));
}

/// The running statement, if this thread serves one, is about to wait: another worker takes this one's place.
pub(crate) fn waits() {
    WORKER.with_borrow(|worker| {
        if let Some((group, worker)) = worker
            && worker.is_serving()
        {
            group.hand_over(worker);
        }
    });
}
