//! Idle connections without threads.
//!
//! A thread that waits for its client costs little while threads are few. Beyond [`THREADS_MAX`] a connection that was
//! idle for [`PARK_AFTER`] is parked: its thread leaves it in the lot, with no buffers, and goes. One thread for all
//! waits until a parked connection has something to read, was hung up or killed, or has been idle for too long, and gives
//! it back to a thread.
//!
//! ```text
//!   thread: receive ── nothing for a while, threads are many ──▶ Lot ── epoll: readable, hung up; or deadline ──▶ thread
//! ```

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};

use super::socket::Socket;

/// As long as no more threads than this serve connections, each waits for its own.
pub(crate) const THREADS_MAX: usize = 64;
/// A connection is parked after so long without a command.
pub(crate) const PARK_AFTER: Duration = Duration::from_millis(500);
/// Deadlines are looked at this often.
const TICK: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
const EVENTS_MAX: usize = 256;
/// Marks the event that ends the thread.
const STOP: u64 = u64::MAX;

/// What is to be done with a connection that leaves the lot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Left {
    /// There is something to read, or the end of the stream.
    Readable,
    /// It was idle for too long.
    Expired,
}

type Resume = Box<dyn FnOnce(Left) + Send>;

struct Parked {
    socket: Arc<Socket>,
    deadline: Instant,
    resume: Resume,
}

struct Lot {
    epoll: OwnedFd,
    wake: OwnedFd,
    parked: Mutex<HashMap<u64, Parked>>,
    stopped: AtomicBool,
}

/// The lot and its thread, which ends when this is dropped.
pub(crate) struct Parking {
    lot: Arc<Lot>,
}

impl Parking {
    pub(crate) fn start() -> io::Result<Parking> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &wake, epoll::EventData::new_u64(STOP), epoll::EventFlags::IN)?;
        let lot = Arc::new(Lot { epoll, wake, parked: Mutex::default(), stopped: AtomicBool::new(false) });
        let watched = lot.clone();
        thread::Builder::new().name("parking".to_owned()).spawn(move || watched.run())?;
        Ok(Parking { lot })
    }

    /// Leaves a connection in the lot until its socket is readable or `deadline` has come; then `resume` is called, which
    /// must not block. `id`: the connection's, unique.
    pub(crate) fn park(&self, id: u32, socket: Arc<Socket>, deadline: Instant, resume: Resume) {
        let id = u64::from(id);
        let flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ONESHOT;
        let mut parked = self.lot.parked.lock();
        if epoll::add(&self.lot.epoll, &socket, epoll::EventData::new_u64(id), flags).is_err() {
            drop(parked);
            return resume(Left::Readable); // to wait for itself
        }
        parked.insert(id, Parked { socket, deadline, resume });
    }

    /// Connections in the lot.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.lot.parked.lock().len()
    }
}

impl Drop for Parking {
    fn drop(&mut self) {
        self.lot.stopped.store(true, Ordering::SeqCst);
        // it looks at the flag within a tick in any case
        let _ = rustix::io::write(&self.lot.wake, &1u64.to_ne_bytes());
    }
}

impl Lot {
    fn run(&self) {
        let mut events: Vec<epoll::Event> = Vec::with_capacity(EVENTS_MAX);
        let mut looked = Instant::now();
        while !self.stopped.load(Ordering::SeqCst) {
            events.clear();
            // an interrupted wait is a short one
            let _ = epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&TICK));
            for event in &events {
                self.leave(event.data.u64(), Left::Readable);
            }
            let now = Instant::now();
            if now.duration_since(looked) >= Duration::from_secs(1) {
                looked = now;
                let expired: Vec<u64> =
                    self.parked.lock().iter().filter(|(_, p)| p.deadline <= now).map(|(id, _)| *id).collect();
                expired.into_iter().for_each(|id| self.leave(id, Left::Expired));
            }
        }
    }

    fn leave(&self, id: u64, why: Left) {
        let left = self.parked.lock().remove(&id);
        if let Some(Parked { socket, resume, .. }) = left {
            let _ = epoll::delete(&self.epoll, &socket);
            drop(socket);
            resume(why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::sync::mpsc::channel;

    #[test]
    fn connections_leave_when_readable_or_late() {
        let parking = Parking::start().unwrap();
        let (send, receive) = channel();
        let (a, mut client) = UnixStream::pair().unwrap();
        let (b, _quiet) = UnixStream::pair().unwrap();
        let park = |id: u32, socket: UnixStream, after: Duration| {
            let send = send.clone();
            let resume: Resume = Box::new(move |why| send.send((id, why)).unwrap());
            parking.park(id, Arc::new(Socket::Unix(socket)), Instant::now() + after, resume);
        };
        park(1, a, Duration::from_secs(60));
        park(2, b, Duration::from_millis(100));
        assert_eq!(parking.len(), 2);
        client.write_all(b"x").unwrap();
        assert_eq!(receive.recv_timeout(Duration::from_secs(5)).unwrap(), (1, Left::Readable));
        assert_eq!(receive.recv_timeout(Duration::from_secs(5)).unwrap(), (2, Left::Expired));
        assert_eq!(parking.len(), 0);
    }
}
