//! Ends statements that run too long: max_execution_time.
//!
//! One thread sleeps until the earliest deadline. It starts with the first deadline and lives as long as the database.
//!
//! Invariant: once a [`Deadline`] is dropped its statement is not stopped any more: both happen under one latch.

use crate::process::{Kill, Process};
use parking_lot::{Condvar, Mutex};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

#[derive(Debug, Default)]
struct State {
    /// By time; the number tells equal times apart.
    deadlines: BTreeMap<(Instant, u64), Arc<Process>>,
    next_number: u64,
    runs: bool,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    earlier: Condvar,
}

/// See the module head.
#[derive(Debug, Default)]
pub struct Timer(Arc<Shared>);

/// A statement's time limit, as long as it is not dropped.
#[derive(Debug)]
pub struct Deadline {
    shared: Arc<Shared>,
    key: (Instant, u64),
    process: Arc<Process>,
}

impl Drop for Deadline {
    fn drop(&mut self) {
        self.shared.state.lock().deadlines.remove(&self.key);
        self.process.forget_timeout();
    }
}

impl Timer {
    /// Stops the process's statement when `limit` has passed.
    pub fn limit(&self, process: &Arc<Process>, limit: Duration) -> Deadline {
        let mut state = self.0.state.lock();
        state.next_number += 1;
        let key = (Instant::now() + limit, state.next_number);
        state.deadlines.insert(key, process.clone());
        if !state.runs {
            let shared = Arc::downgrade(&self.0);
            let thread = std::thread::Builder::new().name("statement timer".into());
            state.runs = thread.spawn(move || watch(&shared)).is_ok();
        }
        self.0.earlier.notify_one();
        Deadline { shared: self.0.clone(), key, process: process.clone() }
    }
}

/// How often the thread looks whether the database is still there.
const IDLE: Duration = Duration::from_secs(1);

fn watch(shared: &Weak<Shared>) {
    while let Some(shared) = shared.upgrade() {
        let mut state = shared.state.lock();
        let now = Instant::now();
        while let Some(first) = state.deadlines.first_entry().filter(|e| e.key().0 <= now) {
            first.remove().kill(Kill::Timeout);
        }
        let next = state.deadlines.keys().next().map_or(IDLE, |(at, _)| (*at - now).min(IDLE));
        shared.earlier.wait_for(&mut state, next);
    }
}
