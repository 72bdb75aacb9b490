//! How long the poller looks for work before it sleeps.
//!
//! To sleep and be woken costs two switches and, where the core fell idle, some ten microseconds until it is awake. Who
//! finds something within [`SPIN_MAX`] was right not to sleep. Whether he will is guessed from the last times: every
//! success earns as much credit as a failure costs, and without credit only one time in [`RETRY_EVERY`] is tried.
//!
//! Between two looks the core is offered to others. If somebody takes it, cores are scarce: then it is better to sleep,
//! since the system lets who was asleep run before those who gave way, and the credit is lost.

use std::thread;
use std::time::{Duration, Instant};

pub(super) const SPIN_MAX: Duration = Duration::from_micros(50);
/// The core is given back within this, unless somebody takes it.
const YIELD_MAX: Duration = Duration::from_micros(10);
const CREDIT_MAX: u32 = 16;
const RETRY_EVERY: u32 = 256;

#[derive(Default)]
pub(super) struct Spin {
    credit: u32,
    skipped: u32,
}

impl Spin {
    /// Calls `look` until it says that it has found something, if that is worth while.
    pub(super) fn until(&mut self, mut look: impl FnMut() -> bool) -> bool {
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
                return found;
            }
            if found {
                self.credit = (self.credit + 2).min(CREDIT_MAX);
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
        if self.skipped < RETRY_EVERY {
            return false;
        }
        self.skipped = 0;
        true
    }
}
