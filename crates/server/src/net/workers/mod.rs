//! Few threads that serve many connections.
//!
//! A connection is an object, [`Served`]; while its client is silent it has no thread, only a [`Slot`] in its group's
//! poll set. A worker takes all connections that have something to read, serves one command of each, one after the
//! other, and looks again: while clients keep it busy it never sleeps, and a command costs no switch of threads.
//!
//! ```text
//!            ┌────────── epoll, edge triggered ◀───────────────────────────────┐
//!   poller ──┤ all that are ready                                              │ idle again
//!            └▶ queue ──▶ worker: receive, execute, send ──────────────────────┤
//!                 ▲         │ waits (row lock, disk, slow client), or runs long│
//!                 │         └─▶ hands over: another worker takes its place     │
//!                 └──────────── more commands have come already ───────────────┘
//! ```
//!
//! Terms. *Active*: a worker that takes from the queue or polls; at most as many as cores, and usually one: it is
//! cheaper to let short statements queue for some microseconds than to wake a thread for each. *Helper*: another one is
//! woken when the queue holds more than [`PRESSURE`] of work, by the time that statements took lately. *Slow times*:
//! statements take longer than [`SLOW`] on average; then somebody polls while another works. *Handed over*: a worker
//! whose statement waits ([`waits`]) or has run for a tick of the [`monitor`]; it does not count as active until the
//! statement has ended, so that many long statements have a thread each, as the system shares out the cores among them.
//!
//! *Settling*: a connection whose answer is written and waits for a commit to be durable. It has no worker meanwhile:
//! the thread that writes the log puts it into the queue again. So many commits are made by one worker, written
//! together by one thread, and answered by one worker, without a sleep each.
//!
//! Invariants
//! 1. While there is a connection in the queue or the poll set there is an active worker, or the monitor starts one
//!    within a tick. At most one worker of a group polls.
//! 2. A slot is *owned* by whoever took it from idle until it is idle again; events of an owned slot are only noted,
//!    and its owner looks again. So a connection is served by one worker at a time, its commands in order.
//! 3. A worker that has served a command puts the connection behind those that wait.
//! 4. Nothing of a session is thread-local: its next command may come to any worker.
//!
//! Before it sleeps the poller looks again for a while, giving way to whoever else wants the core, as long as that
//! finds something ([`spin`](super::spin)).
//!
//! Sources: Welsh et al., "SEDA", SOSP 2001; Percona's and MariaDB's thread pools, as their manuals describe them.

mod group;
mod monitor;
mod slot;
mod worker;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::socket::Socket;
use engine::Unsettled;
use group::Group;
use monitor::Monitor;
pub(crate) use worker::waits;

/// A group has at most so many cores; beyond that one poll set would be fought over.
const GROUP_CORES: usize = 4;
/// So much work in the queue calls a helper.
const PRESSURE: Duration = Duration::from_micros(50);
/// Statements that take this long on average are worth a poller of their own.
const SLOW: Duration = Duration::from_micros(100);

/// Why a connection is served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    /// There may be something to read.
    Readable,
    /// There may be something to read, and behind it the end of the stream.
    HungUp,
    /// It was idle for too long.
    Expired,
    /// The commit that its answer waited for has an outcome.
    Settled,
}

/// What has become of a connection.
pub(crate) enum After {
    /// Everything that came is read. It may be silent for `patience`.
    Idle {
        who: Box<dyn Served>,
        patience: Duration,
    },
    /// There may be more to read.
    Again(Box<dyn Served>),
    /// Its answer waits for a commit, and it is served again when that has an outcome.
    Settling {
        who: Box<dyn Served>,
        commit: Unsettled,
    },
    /// It is not for the workers any more.
    Leaves(Box<dyn Served>),
    Ended,
}

/// A connection, as workers see it.
pub(crate) trait Served: Send {
    /// Serves one command, if there is one. To wait for anything it calls [`waits`] before.
    fn serve(self: Box<Self>, why: Why) -> After;

    /// It has been idle for a while: gives memory back.
    fn rest(&mut self);

    /// The workers have forgotten it.
    fn take_thread(self: Box<Self>);
}

/// The workers of a server. They end when this is dropped.
pub(crate) struct Workers {
    groups: Vec<Arc<Group>>,
    monitor: Arc<Monitor>,
}

impl Workers {
    pub(crate) fn start() -> io::Result<Workers> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let count = cores.div_ceil(GROUP_CORES);
        let monitor = Arc::new(Monitor::default());
        let groups: io::Result<Vec<Arc<Group>>> =
            (0..count).map(|_| Group::start(cores.div_ceil(count).max(2), &monitor)).collect();
        let workers = Workers { groups: groups?, monitor };
        workers.monitor.start(workers.groups.clone())?;
        Ok(workers)
    }

    /// Takes over a connection. `id`: its own, unique. `is_idle`: everything that came is read.
    pub(crate) fn add(
        &self,
        id: u32,
        socket: Arc<Socket>,
        who: Box<dyn Served>,
        patience: Duration,
        is_idle: bool,
    ) -> io::Result<()> {
        self.groups[id as usize % self.groups.len()].add(id, socket, who, patience, is_idle)
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.monitor.stop();
        self.groups.iter().for_each(|group| group.stop());
    }
}

#[cfg(test)]
mod tests;
