//! Noticing that a client has gone while its query runs.
//!
//! A connection's thread that executes a query does not look at its socket. One thread for all connections does: every
//! [`PERIOD`] it asks the system, in one call, which sockets of running queries were hung up, and kills those queries.
//! While no query runs it sleeps; [`Watch::query_begins`] wakes it. The same thread ends the windows in which busy
//! connections are counted ([`Load`]).

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::load::Load;
use super::socket::Socket;
use super::{Backend, Kill, Process};

/// A client's going is noticed after at most about this long.
const PERIOD: Duration = Duration::from_millis(20);
/// The thread goes to sleep after so many periods without a running query.
const IDLE_PERIODS_MAX: u32 = 50;
/// Periods of a window in which busy connections are counted.
const WINDOW_PERIODS: u32 = 5;

struct Watched {
    process: Arc<Process>,
    socket: Arc<Socket>,
}

struct Shared {
    watched: Mutex<HashMap<u32, Watched>>,
    asleep: AtomicBool,
    stopped: AtomicBool,
    lock: Mutex<()>,
    wake: Condvar,
    load: Arc<Load>,
    backend: Arc<dyn Backend>,
}

impl Shared {
    fn notify(&self) {
        let _guard = self.lock.lock();
        self.wake.notify_one();
    }
}

/// The thread, stopped when this is dropped.
pub(crate) struct HangupMonitor {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl HangupMonitor {
    /// `load`: its windows are ended.
    pub(crate) fn start(load: Arc<Load>, backend: Arc<dyn Backend>) -> std::io::Result<HangupMonitor> {
        let shared = Arc::new(Shared {
            watched: Mutex::default(),
            asleep: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            lock: Mutex::default(),
            wake: Condvar::new(),
            load,
            backend,
        });
        let monitored = shared.clone();
        let thread = thread::Builder::new().name("hangup".to_owned()).spawn(move || run(&monitored))?;
        Ok(HangupMonitor { shared, thread: Some(thread) })
    }

    /// Watches a connection until the returned value is dropped.
    pub(crate) fn watch(&self, process: Arc<Process>, socket: Arc<Socket>) -> Watch {
        let id = process.id();
        self.shared.watched.lock().insert(id, Watched { process, socket });
        Watch { shared: self.shared.clone(), id }
    }
}

impl Drop for HangupMonitor {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        self.shared.notify();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A connection's place among the watched.
pub(crate) struct Watch {
    shared: Arc<Shared>,
    id: u32,
}

impl Watch {
    /// To be called after [`Process::begin`]. One atomic load, unless the monitor sleeps.
    pub(crate) fn query_begins(&self) {
        if self.shared.asleep.load(Ordering::SeqCst) {
            self.shared.notify();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.watched.lock().remove(&self.id);
    }
}

fn run(shared: &Shared) {
    let (mut idle_periods, mut periods) = (0, 0u32);
    while !shared.stopped.load(Ordering::SeqCst) {
        let running = running(shared);
        if running.is_empty() {
            idle_periods += 1;
        } else {
            idle_periods = 0;
            kill_hung_up(&running);
        }
        periods = periods.wrapping_add(1);
        if periods % WINDOW_PERIODS == 0 {
            shared.load.next_window(shared.backend.workers_serve());
        }
        if idle_periods < IDLE_PERIODS_MAX {
            thread::sleep(PERIOD);
        } else {
            sleep_until_query(shared);
            idle_periods = 0;
        }
    }
}

fn running(shared: &Shared) -> Vec<(Arc<Process>, Arc<Socket>)> {
    let watched = shared.watched.lock();
    let running = watched.values().filter(|watched| watched.process.is_running());
    running.map(|watched| (watched.process.clone(), watched.socket.clone())).collect()
}

fn kill_hung_up(running: &[(Arc<Process>, Arc<Socket>)]) {
    let mut fds: Vec<PollFd<'_>> = running.iter().map(|(_, socket)| PollFd::new(socket, PollFlags::RDHUP)).collect();
    if poll(&mut fds, Some(&Timespec::default())).is_err() {
        return; // interrupted; the next period is near
    }
    for (fd, (process, _)) in fds.iter().zip(running) {
        let hung_up = fd.revents().intersects(PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR);
        // one that is being killed already may have been hung up by us
        if hung_up && process.killed().is_none_or(|kill| !kill.is_final()) {
            process.kill(Kill::Gone);
        }
    }
}

/// A query that begins either sees `asleep`, or began before it was set and is seen here.
fn sleep_until_query(shared: &Shared) {
    let mut guard = shared.lock.lock();
    shared.asleep.store(true, Ordering::SeqCst);
    if running(shared).is_empty() && !shared.stopped.load(Ordering::SeqCst) {
        shared.wake.wait(&mut guard);
    }
    shared.asleep.store(false, Ordering::SeqCst);
}
