//! The fixed pool of worker threads that all statements share.
//!
//! A statement's own thread always works on its pipelines; the pool *helps*. A job offers `helpers` tickets; idle
//! workers claim them. When the statement's thread has finished its share it withdraws the tickets nobody claimed and
//! waits for the claimed ones, so a busy pool makes a statement slower but never blocks it, and nested jobs cannot
//! deadlock.
//!
//! ```text
//!  statement thread ── run(helpers, f) ──▶ [job: f, unclaimed 3] ◀── worker claims a ticket, runs f(1)
//!        │ runs f(0)                              │              ◀── worker claims a ticket, runs f(2)
//!        └ withdraws the last ticket, waits until 2 claimed tickets are done
//! ```

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

/// Stack of a worker: plans nest, and a nested plan runs within its operator's frame.
const WORKER_STACK_BYTES: usize = 16 << 20;

#[derive(Clone, Copy)]
struct Task(*const (dyn Fn(usize) + Sync));

// SAFETY: the pointee is Sync, and `WorkerPool::run` keeps it alive until no worker can reach it any more.
unsafe impl Send for Task {}
// SAFETY: as above; workers call the pointee through shared references only.
unsafe impl Sync for Task {}

struct Job {
    task: Task,
    state: Mutex<JobState>,
    done: Condvar,
}

struct JobState {
    unclaimed: usize,
    /// The next worker number to hand out; the statement's thread is 0.
    next_number: usize,
    running: usize,
}

struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
}

struct Queue {
    jobs: VecDeque<Arc<Job>>,
    closed: bool,
}

/// See the module head. Dropping the pool ends its threads.
pub struct WorkerPool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    eager: bool,
}

impl std::fmt::Debug for WorkerPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "WorkerPool({} threads)", self.threads.len())
    }
}

impl WorkerPool {
    /// `threads` workers; 0 is allowed and means that statements work alone.
    pub fn new(threads: usize) -> WorkerPool {
        let shared = Arc::new(Shared {
            queue: Mutex::new(Queue { jobs: VecDeque::new(), closed: false }),
            wake: Condvar::new(),
        });
        let threads = (0..threads)
            .filter_map(|i| {
                let shared = shared.clone();
                std::thread::Builder::new()
                    .name(format!("worker-{i}"))
                    .stack_size(WORKER_STACK_BYTES)
                    .spawn(move || work(&shared))
                    .ok()
            })
            .collect();
        WorkerPool { shared, threads, eager: false }
    }

    /// For tests of few rows: no statement is too small for help, and its own thread gives way to the helpers first.
    pub fn eager(threads: usize) -> WorkerPool {
        let mut pool = WorkerPool::new(threads);
        pool.eager = true;
        pool
    }

    /// Whether several threads are worth having for `n` rows, where usually `min` are needed.
    pub fn is_worth_sharing(&self, n: f64, min: f64) -> bool {
        self.eager || n >= min
    }

    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// Calls `f(0)` here and `f(1)`, `f(2)`, ... on up to `helpers` workers, and returns when all calls have returned.
    /// `f` must catch its own panics: one in a helper is swallowed.
    pub fn run(&self, helpers: usize, f: &(dyn Fn(usize) + Sync)) {
        let helpers = helpers.min(self.threads.len());
        if helpers == 0 {
            return f(0);
        }
        // SAFETY: only the lifetime is erased. Workers call the task between claiming a ticket and counting themselves
        // out; this function returns (or unwinds, through the guard below) only after the unclaimed tickets are
        // withdrawn and `running` is 0, so no worker calls it afterwards.
        let task = Task(unsafe {
            std::mem::transmute::<*const (dyn Fn(usize) + Sync), *const (dyn Fn(usize) + Sync)>(f as *const _)
        });
        let job = Arc::new(Job {
            task,
            state: Mutex::new(JobState { unclaimed: helpers, next_number: 1, running: 0 }),
            done: Condvar::new(),
        });
        self.shared.queue.lock().expect("no panic while held").jobs.push_back(job.clone());
        for _ in 0..helpers {
            self.shared.wake.notify_one();
        }
        let _guard = WaitForHelpers { pool: self, job: &job };
        if self.eager {
            std::thread::yield_now();
        }
        f(0);
    }
}

struct WaitForHelpers<'a> {
    pool: &'a WorkerPool,
    job: &'a Arc<Job>,
}

impl Drop for WaitForHelpers<'_> {
    fn drop(&mut self) {
        let mut s = self.job.state.lock().expect("no panic while held");
        s.unclaimed = 0;
        while s.running > 0 {
            s = self.job.done.wait(s).expect("no panic while held");
        }
        drop(s);
        let mut q = self.pool.shared.queue.lock().expect("no panic while held");
        q.jobs.retain(|j| !Arc::ptr_eq(j, self.job));
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        self.shared.queue.lock().expect("no panic while held").closed = true;
        self.shared.wake.notify_all();
        for t in self.threads.drain(..) {
            let _ = t.join();
        }
    }
}

/// Takes a ticket of the oldest job that has one.
fn claim(queue: &mut Queue) -> Option<(Arc<Job>, usize)> {
    while let Some(job) = queue.jobs.front() {
        let mut s = job.state.lock().expect("no panic while held");
        if s.unclaimed > 0 {
            s.unclaimed -= 1;
            s.running += 1;
            let number = s.next_number;
            s.next_number += 1;
            drop(s);
            return Some((job.clone(), number));
        }
        drop(s);
        queue.jobs.pop_front();
    }
    None
}

fn work(shared: &Shared) {
    let mut queue = shared.queue.lock().expect("no panic while held");
    loop {
        if queue.closed {
            return;
        }
        let Some((job, number)) = claim(&mut queue) else {
            queue = shared.wake.wait(queue).expect("no panic while held");
            continue;
        };
        drop(queue);
        // SAFETY: see `WorkerPool::run`: `running` was raised under the job's lock, so the task is alive until we
        // lower it.
        let task = unsafe { &*job.task.0 };
        let _ = catch_unwind(AssertUnwindSafe(|| task(number)));
        let mut s = job.state.lock().expect("no panic while held");
        s.running -= 1;
        if s.running == 0 {
            job.done.notify_all();
        }
        drop(s);
        queue = shared.queue.lock().expect("no panic while held");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn every_claimed_ticket_finishes_before_run_returns() {
        let pool = WorkerPool::new(3);
        for round in 0..200 {
            let next = AtomicUsize::new(0);
            let sum = AtomicUsize::new(0);
            pool.run(round % 5, &|_| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= 100 {
                        break;
                    }
                    sum.fetch_add(i, Ordering::Relaxed);
                }
            });
            assert_eq!(sum.into_inner(), 4950);
        }
    }

    #[test]
    fn nested_jobs_and_helper_panics_do_not_hang() {
        let pool = WorkerPool::new(2);
        let ran = AtomicUsize::new(0);
        pool.run(2, &|w| {
            pool.run(2, &|_| {
                ran.fetch_add(1, Ordering::Relaxed);
            });
            if w > 0 {
                panic!("a helper fails");
            }
        });
        assert!(ran.into_inner() >= 1);
    }
}
