//! One thread that looks after the workers: long statements hand over, idle connections expire.
//!
//! While statements run it looks every [`TICK`]; after [`QUIET_TICKS_MAX`] ticks without one, every [`SWEEP_EVERY`].

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::group::Group;

/// A statement that has run through a whole tick hands over.
const TICK: Duration = Duration::from_millis(1);
const QUIET_TICKS_MAX: u32 = 20;
const SWEEP_EVERY: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Monitor {
    asleep: AtomicBool,
    stopped: AtomicBool,
    lock: Mutex<()>,
    wake: Condvar,
}

impl Monitor {
    pub(super) fn start(self: &Arc<Self>, groups: Vec<Arc<Group>>) -> io::Result<()> {
        let monitor = self.clone();
        thread::Builder::new().name("monitor".to_owned()).spawn(move || monitor.run(&groups))?;
        Ok(())
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.notify();
    }

    /// Statements run. One atomic load, unless the monitor sleeps.
    pub(super) fn work_begins(&self) {
        if self.asleep.load(Ordering::SeqCst) {
            self.notify();
        }
    }

    fn notify(&self) {
        let _guard = self.lock.lock();
        self.wake.notify_one();
    }

    fn run(&self, groups: &[Arc<Group>]) {
        let mut quiet_ticks = 0;
        let mut swept = Instant::now();
        while !self.stopped.load(Ordering::SeqCst) {
            // all of them
            let quiet = groups.iter().filter(|group| group.tick()).count() == 0;
            quiet_ticks = if quiet { quiet_ticks + 1 } else { 0 };
            if swept.elapsed() >= SWEEP_EVERY {
                swept = Instant::now();
                groups.iter().for_each(|group| group.sweep());
            }
            if quiet_ticks < QUIET_TICKS_MAX {
                thread::sleep(TICK);
                continue;
            }
            // Whoever begins to work either sees `asleep`, or had begun before it was set and is seen here.
            let mut guard = self.lock.lock();
            self.asleep.store(true, Ordering::SeqCst);
            if !self.stopped.load(Ordering::SeqCst) && !groups.iter().any(|group| group.is_working()) {
                self.wake.wait_for(&mut guard, SWEEP_EVERY);
            }
            self.asleep.store(false, Ordering::SeqCst);
            quiet_ticks = 0;
        }
    }
}
