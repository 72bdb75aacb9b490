//! The threads that serve connections: started when there is work and none is free, kept for a while when there is
//! none.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Stack of a connection's thread; statements nest deeply. Only what is used takes memory.
pub(crate) const STACK: usize = 16 << 20;
/// So many threads without work at most are kept.
const IDLE_MAX: usize = 16;
/// How long a thread waits for work before it ends.
const IDLE_TIME: Duration = Duration::from_secs(10);

pub(crate) type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    /// Threads that wait for a job.
    idle: usize,
}

/// See the module head.
#[derive(Default)]
pub(crate) struct Threads {
    state: Mutex<State>,
    ready: Condvar,
    busy: AtomicUsize,
}

impl Threads {
    /// Threads with work.
    pub(crate) fn busy(&self) -> usize {
        self.busy.load(Ordering::Relaxed)
    }

    /// Has a thread do `job`. An error gives the job back to nobody: it is dropped.
    pub(crate) fn run(self: &Arc<Self>, job: Job) -> io::Result<()> {
        let mut state = self.state.lock();
        if state.idle > state.jobs.len() {
            state.jobs.push_back(job);
            self.ready.notify_one();
            return Ok(());
        }
        drop(state);
        let threads = self.clone();
        thread::Builder::new().name("connection".to_owned()).stack_size(STACK).spawn(move || threads.work(job))?;
        Ok(())
    }

    fn work(&self, first: Job) {
        let mut job = first;
        loop {
            let busy = Busy::new(&self.busy);
            job();
            drop(busy);
            match self.next() {
                Some(next) => job = next,
                None => return,
            }
        }
    }

    fn next(&self) -> Option<Job> {
        let mut state = self.state.lock();
        if state.idle >= IDLE_MAX {
            return None;
        }
        state.idle += 1;
        let mut timed_out = false;
        while state.jobs.is_empty() && !timed_out {
            timed_out = self.ready.wait_for(&mut state, IDLE_TIME).timed_out();
        }
        state.idle -= 1;
        state.jobs.pop_front()
    }
}

/// Counts a thread as busy, also when its job ends in a panic.
struct Busy<'a>(&'a AtomicUsize);

impl<'a> Busy<'a> {
    fn new(count: &'a AtomicUsize) -> Busy<'a> {
        count.fetch_add(1, Ordering::Relaxed);
        Busy(count)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn every_job_is_done() {
        let threads = Arc::new(Threads::default());
        let (send, receive) = channel();
        for i in 0..200 {
            let send = send.clone();
            threads.run(Box::new(move || send.send(i).expect("the test waits"))).unwrap();
        }
        let mut done: Vec<i32> = (0..200).map(|_| receive.recv_timeout(Duration::from_secs(10)).unwrap()).collect();
        done.sort_unstable();
        assert!(done.into_iter().eq(0..200));
    }
}
