//! Connections that share a poll set, a queue and workers.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};

use super::monitor::Monitor;
use super::slot::{Slot, Slots};
use super::worker::{Worker, become_worker};
use super::{After, PRESSURE, SLOW, Served, Why};
use crate::net::socket::Socket;
use crate::net::spin::Spin;
use crate::net::threads::STACK;

/// Events taken at once.
const EVENTS_MAX: usize = 256;
/// How long a worker waits for work before it ends, if there are others.
const IDLE_TIME: Duration = Duration::from_secs(10);
/// A connection that was idle for so long gives its buffers back.
const REST_AFTER_MS: u64 = 500;
/// Marks the event that ends the workers.
const STOP: u64 = u64::MAX;
const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// The average moves by one part in so many with every statement.
const AVERAGE_OVER: u64 = 8;

#[derive(Default)]
struct State {
    /// Owned slots that are to be served.
    queue: VecDeque<Arc<Slot>>,
    /// Workers that take from the queue or poll, those included that were just woken to.
    active: usize,
    /// One of the active looks for events.
    polls: bool,
    /// It sleeps.
    polls_asleep: bool,
    /// The others, the latest last.
    parked: Vec<Arc<Worker>>,
    /// All of them.
    workers: Vec<Arc<Worker>>,
    stopped: bool,
}

/// What a worker needs to poll.
#[derive(Default)]
struct Poller {
    events: Vec<epoll::Event>,
    /// Slots that are the poller's now.
    ready: Vec<Arc<Slot>>,
    spin: Spin,
}

pub(super) struct Group {
    state: Mutex<State>,
    slots: Mutex<Slots>,
    epoll: OwnedFd,
    wake: OwnedFd,
    active_max: usize,
    /// How long statements take, in nanoseconds: a moving average. Written by whoever has just served one.
    mean_ns: AtomicU64,
    /// Something is in the queue, for a poller that does not take the lock.
    has_queue: AtomicBool,
    born: Instant,
    monitor: Arc<Monitor>,
}

impl Group {
    pub(super) fn start(active_max: usize, monitor: &Arc<Monitor>) -> io::Result<Arc<Group>> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &wake, epoll::EventData::new_u64(STOP), epoll::EventFlags::IN)?;
        let group = Arc::new(Group {
            state: Mutex::default(),
            slots: Mutex::default(),
            epoll,
            wake,
            active_max,
            mean_ns: AtomicU64::new(0),
            has_queue: AtomicBool::new(false),
            born: Instant::now(),
            monitor: monitor.clone(),
        });
        group.state.lock().active = 1;
        group.clone().spawn()?;
        Ok(group)
    }

    /// Its workers end when they have nothing to do.
    pub(super) fn stop(&self) {
        let mut state = self.state.lock();
        state.stopped = true;
        for worker in std::mem::take(&mut state.parked) {
            state.active += 1;
            worker.awake.store(true, Ordering::Relaxed);
            worker.wake.notify_one();
        }
        drop(state);
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    pub(super) fn add(
        self: &Arc<Self>,
        id: u32,
        socket: Arc<Socket>,
        who: Box<dyn Served>,
        patience: Duration,
        is_idle: bool,
    ) -> io::Result<()> {
        let slot = self.slots.lock().add(id, socket, who);
        let flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        if let Err(e) = epoll::add(&self.epoll, &slot.socket, epoll::EventData::new_u64(slot.key), flags) {
            self.slots.lock().remove(slot.key);
            return Err(e.into());
        }
        match is_idle {
            true => self.let_go(slot, patience),
            false => self.push(slot),
        }
        Ok(())
    }

    /// The slot is idle from now on.
    fn let_go(self: &Arc<Self>, slot: Arc<Slot>, patience: Duration) {
        slot.since_ms.store(self.now_ms(), Ordering::Relaxed);
        slot.patience_ms.store(u64::try_from(patience.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
        slot.rests.store(false, Ordering::Relaxed);
        if !slot.release() {
            self.push(slot);
        }
    }

    fn now_ms(&self) -> u64 {
        self.born.elapsed().as_millis() as u64
    }

    /// Has somebody serve an owned slot.
    fn push(self: &Arc<Self>, slot: Arc<Slot>) {
        let mut state = self.state.lock();
        state.queue.push_back(slot);
        self.has_queue.store(true, Ordering::SeqCst);
        self.see_that_somebody_works(&mut state);
        drop(state);
        self.monitor.work_begins();
    }

    /// One more works.
    fn wake_one(self: &Arc<Self>, state: &mut State) {
        if state.stopped {
            return;
        }
        state.active += 1;
        if let Some(worker) = state.parked.pop() {
            worker.awake.store(true, Ordering::Relaxed);
            worker.wake.notify_one();
        } else if let Err(e) = self.clone().spawn_locked(state) {
            state.active -= 1; // the monitor tries again
            crate::log::error(format_args!("cannot start a thread for connections: {e}"));
        }
    }

    fn spawn(self: Arc<Self>) -> io::Result<()> {
        let group = self.clone();
        self.spawn_locked(&mut group.state.lock())
    }

    fn spawn_locked(self: Arc<Self>, state: &mut State) -> io::Result<()> {
        let worker = Arc::new(Worker::default());
        let taken = worker.clone();
        thread::Builder::new().name("connection".to_owned()).stack_size(STACK).spawn(move || self.work(&taken))?;
        state.workers.push(worker);
        Ok(())
    }

    fn work(self: Arc<Self>, worker: &Arc<Worker>) {
        become_worker(&self, worker);
        let mut poller = Poller::default();
        while let Some(slot) = self.next(worker, &mut poller) {
            self.serve(worker, slot);
        }
        self.state.lock().workers.retain(|s| !Arc::ptr_eq(s, worker));
    }

    fn is_slow(&self) -> bool {
        self.mean_ns.load(Ordering::Relaxed) > SLOW.as_nanos() as u64
    }

    /// The next slot to serve; none: the worker is not needed any more.
    fn next(self: &Arc<Self>, worker: &Arc<Worker>, poller: &mut Poller) -> Option<Arc<Slot>> {
        let mut state = self.state.lock();
        loop {
            if state.stopped && state.queue.is_empty() {
                state.active -= 1;
                return None;
            }
            let too_many = state.active - usize::from(state.polls_asleep) > self.active_max;
            if !too_many && let Some(slot) = state.queue.pop_front() {
                self.has_queue.store(!state.queue.is_empty(), Ordering::SeqCst);
                self.call_help(&mut state);
                return Some(slot);
            }
            if too_many || state.polls || state.active > 1 && !self.is_slow() {
                if !Group::park(&mut state, worker) {
                    return None;
                }
                continue;
            }
            state.polls = true;
            drop(state);
            self.poll(poller);
            state = self.state.lock();
            state.polls = false;
            state.queue.extend(poller.ready.drain(..));
        }
    }

    /// Wakes another worker if there is much to do, or if nobody else looks for events and statements are long.
    fn call_help(self: &Arc<Self>, state: &mut State) {
        let mean = self.mean_ns.load(Ordering::Relaxed);
        let much = state.queue.len() as u64 * mean > PRESSURE.as_nanos() as u64;
        if (much || !state.polls && self.is_slow()) && state.active < self.active_max {
            self.wake_one(state);
        }
    }

    /// Sleeps until woken; false: it was not needed for long, and ends.
    fn park(state: &mut parking_lot::MutexGuard<'_, State>, worker: &Arc<Worker>) -> bool {
        state.active -= 1;
        state.parked.push(worker.clone());
        worker.awake.store(false, Ordering::Relaxed);
        while !worker.awake.load(Ordering::Relaxed) {
            let timed_out = worker.wake.wait_for(state, IDLE_TIME).timed_out();
            let needless = timed_out && state.parked.len() > 1 || state.stopped;
            if needless && !worker.awake.load(Ordering::Relaxed) {
                state.parked.retain(|s| !Arc::ptr_eq(s, worker));
                return false;
            }
        }
        true
    }

    /// Waits for events.
    fn poll(self: &Arc<Self>, poller: &mut Poller) {
        if self.look(poller, Some(&NOW)) {
            return;
        }
        let mut spin = std::mem::take(&mut poller.spin);
        let found = spin.until(|| self.has_queue.load(Ordering::SeqCst) || self.look(poller, Some(&NOW)));
        poller.spin = spin;
        if found {
            return;
        }
        {
            let mut state = self.state.lock();
            if !state.queue.is_empty() || state.stopped {
                return;
            }
            state.polls_asleep = true;
        }
        self.look(poller, None);
        self.state.lock().polls_asleep = false;
        self.monitor.work_begins();
    }

    /// Takes events and the slots that are idle; false: there are none.
    fn look(&self, poller: &mut Poller, timeout: Option<&Timespec>) -> bool {
        let events = &mut poller.events;
        events.clear();
        events.reserve(EVENTS_MAX);
        // an interrupted wait is a short one
        let _ = epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), timeout);
        if events.is_empty() {
            return false;
        }
        let slots = self.slots.lock();
        for event in events {
            let Some(slot) = slots.get({ event.data }.u64()) else { continue };
            let end = epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
            let flags = event.flags;
            if flags.intersects(end) {
                slot.hung_up.store(true, Ordering::SeqCst);
            }
            if slot.claim() {
                poller.ready.push(slot.clone());
            }
        }
        !poller.ready.is_empty()
    }

    fn serve(self: &Arc<Self>, worker: &Worker, slot: Arc<Slot>) {
        let Some(who) = ({ slot.who.lock().take() }) else { return };
        let why = if slot.settled.swap(false, Ordering::Relaxed) {
            Why::Settled
        } else if slot.expired.load(Ordering::Relaxed) {
            Why::Expired
        } else if slot.hung_up.load(Ordering::SeqCst) {
            Why::HungUp
        } else {
            Why::Readable
        };
        let began = Instant::now();
        worker.begin();
        // the connection catches panics of statements; one outside of them ends the connection
        let after = catch_unwind(AssertUnwindSafe(|| who.serve(why))).unwrap_or(After::Ended);
        let handed_over = worker.end();
        if handed_over {
            self.state.lock().active += 1;
        } else {
            let took = began.elapsed().as_nanos() as u64;
            let mean = self.mean_ns.load(Ordering::Relaxed);
            self.mean_ns.store(mean - mean / AVERAGE_OVER + took / AVERAGE_OVER, Ordering::Relaxed);
        }
        match after {
            After::Idle { who, patience } => {
                *slot.who.lock() = Some(who);
                self.let_go(slot, patience);
            }
            After::Again(who) => {
                *slot.who.lock() = Some(who);
                self.push(slot);
            }
            After::Settling { who, commit } => {
                *slot.who.lock() = Some(who);
                slot.settled.store(true, Ordering::Relaxed);
                let group = self.clone();
                commit.when_settled(move || group.push(slot));
            }
            After::Leaves(who) => {
                self.forget(&slot);
                who.take_thread();
            }
            After::Ended => self.forget(&slot),
        }
    }

    fn forget(&self, slot: &Slot) {
        // a socket that others still know of would stay in the poll set
        let _ = epoll::delete(&self.epoll, &slot.socket);
        self.slots.lock().remove(slot.key);
    }

    /// The worker's statement waits or has run for long.
    pub(super) fn hand_over(self: &Arc<Self>, worker: &Worker) {
        let mut state = self.state.lock();
        if worker.hand_over() {
            state.active -= 1;
            self.see_that_somebody_works(&mut state);
        }
    }

    /// Wakes a worker if there is work and nobody for it.
    fn see_that_somebody_works(self: &Arc<Self>, state: &mut State) {
        let sleepers = usize::from(state.polls_asleep);
        if state.active == 0 || state.active == sleepers && !state.queue.is_empty() {
            self.wake_one(state);
        }
    }

    /// Somebody is about to serve, or serves, or looks for events without sleeping.
    pub(super) fn is_working(&self) -> bool {
        let state = self.state.lock();
        state.active > usize::from(state.polls_asleep)
    }

    /// Statements that have run since the last tick hand over. True if any has begun since.
    pub(super) fn tick(self: &Arc<Self>) -> bool {
        let workers = { self.state.lock().workers.clone() };
        let mut worked = false;
        for worker in &workers {
            if worker.has_begun() {
                worked = true;
            } else if worker.is_serving() {
                self.hand_over(worker);
            }
        }
        self.see_that_somebody_works(&mut self.state.lock());
        worked
    }

    /// Idle connections whose time is up are served to be told so; others give memory back.
    pub(super) fn sweep(self: &Arc<Self>) {
        let now = self.now_ms();
        let idle_for = |slot: &Slot| now.saturating_sub(slot.since_ms.load(Ordering::Relaxed));
        let is_due = |slot: &Slot| slot.is_idle() && idle_for(slot) >= REST_AFTER_MS;
        let slots: Vec<Arc<Slot>> = { self.slots.lock().all().filter(|slot| is_due(slot)).cloned().collect() };
        for slot in slots {
            let expires = idle_for(&slot) >= slot.patience_ms.load(Ordering::Relaxed);
            if !expires && slot.rests.load(Ordering::Relaxed) || !slot.claim_idle() {
                continue;
            }
            // it may have worked meanwhile
            if expires && idle_for(&slot) >= slot.patience_ms.load(Ordering::Relaxed) {
                slot.expired.store(true, Ordering::Relaxed);
                self.push(slot);
                continue;
            }
            slot.rests.store(true, Ordering::Relaxed);
            if let Some(who) = &mut *slot.who.lock() {
                who.rest();
            }
            if !slot.release() {
                self.push(slot);
            }
        }
    }
}
