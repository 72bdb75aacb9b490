//! How long a thread looks for work before it sleeps: the workers' poller, and a connection's own thread while cores
//! are to spare.
//!
//! To sleep and be woken costs two switches and, where the core fell idle, some ten microseconds until it is awake. Who
//! finds something within [`SPIN_MAX`] was right not to sleep. Whether he will is guessed from the last times: every
//! success earns as much credit as a failure costs, and without credit only one time in [`RETRY_EVERY`] is tried.
//!
//! Between two looks the core is offered to others. If somebody takes it, cores are scarce: then it is better to sleep,
//! since the system lets who was asleep run before those who gave way: the credit is lost, and the next try is later.

use std::thread;
use std::time::{Duration, Instant};

const SPIN_MAX: Duration = Duration::from_micros(50);
/// The core is given back within this, unless somebody takes it for a slice of the scheduler's, which is a millisecond
/// or more. The system's own short work and a client that runs on this core take less.
const YIELD_MAX: Duration = Duration::from_micros(200);
const CREDIT_MAX: u32 = 16;
const RETRY_EVERY: u32 = 256;
/// A core that was taken is tried more and more seldom, and only many successes make up for it: whoever took it keeps
/// it for milliseconds.
const RETRY_EVERY_MAX: u32 = 1 << 17;
const FORGIVEN_AFTER: u32 = 4096;

pub(crate) struct Spin {
    credit: u32,
    skipped: u32,
    retry_every: u32,
}

impl Default for Spin {
    fn default() -> Spin {
        Spin { credit: 0, skipped: 0, retry_every: RETRY_EVERY }
    }
}

impl Spin {
    /// Calls `look` until it says that it has found something, if that is worth while.
    pub(crate) fn until(&mut self, mut look: impl FnMut() -> bool) -> bool {
        if !self.is_worth_it() {
            return false;
        }
        let began = Instant::now();
        let mut now = began;
        while now.duration_since(began) < SPIN_MAX {
            let before = now;
            thread::yield_now();
            now = Instant::now();
            let found = look();
            if now.duration_since(before) > YIELD_MAX {
                self.credit = 0;
                self.retry_every = (self.retry_every * 4).min(RETRY_EVERY_MAX);
                return found;
            }
            if found {
                self.credit = (self.credit + 2).min(CREDIT_MAX);
                self.retry_every -= (self.retry_every - RETRY_EVERY).div_ceil(FORGIVEN_AFTER);
                return true;
            }
        }
        self.credit = self.credit.saturating_sub(2);
        false
    }

    fn is_worth_it(&mut self) -> bool {
        if self.credit > 0 {
            return true;
        }
        self.skipped += 1;
        if self.skipped < self.retry_every {
            return false;
        }
        self.skipped = 0;
        true
    }
}
