//! The list of all connections.

use super::{Kill, Process, ProcessInfo};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use types::{Error, Result};

/// All connections.
#[derive(Default)]
pub struct ProcessList {
    processes: Mutex<BTreeMap<u32, Arc<Process>>>,
    last_id: AtomicU32,
    /// Of connections that have ended.
    bytes_received: AtomicU64,
    bytes_sent: AtomicU64,
    /// Most connections at a time, and the second of 1970 at which there were.
    most: AtomicU64,
    most_at_s: AtomicU64,
    /// Connections that found no place, that the system did not hand over, and that it had no means for.
    refused: AtomicU64,
    not_accepted: AtomicU64,
    internal_errors: AtomicU64,
}

impl ProcessList {
    pub fn new() -> ProcessList {
        ProcessList::default()
    }

    /// Adds a connection, unless there are `count_max` already.
    pub fn add(self: &Arc<Self>, host: String, count_max: usize) -> Result<Entry> {
        let mut processes = self.processes.lock();
        if processes.len() >= count_max {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return Err(Error::con_count());
        }
        // ids wrap around after 2^32 connections; skip those still in use, and 0
        let id = loop {
            let id = self.last_id.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
            if id != 0 && !processes.contains_key(&id) {
                break id;
            }
        };
        let process = Arc::new(Process::new(id, host));
        processes.insert(id, process.clone());
        if processes.len() as u64 > self.most.load(Ordering::Relaxed) {
            let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            self.most.store(processes.len() as u64, Ordering::Relaxed);
            self.most_at_s.store(since.map_or(0, |d| d.as_secs()), Ordering::Relaxed);
        }
        Ok(Entry { list: self.clone(), process })
    }

    pub fn get(&self, id: u32) -> Option<Arc<Process>> {
        self.processes.lock().get(&id).cloned()
    }

    /// KILL; error 1094 if there is no such connection.
    pub fn kill(&self, id: u32, kill: Kill) -> Result<()> {
        let process = self.get(id).ok_or_else(|| Error::no_such_thread(id))?;
        process.kill(kill);
        Ok(())
    }

    pub fn kill_all(&self, kill: Kill) {
        let processes: Vec<_> = self.processes.lock().values().cloned().collect();
        processes.iter().for_each(|process| process.kill(kill));
    }

    pub fn len(&self) -> usize {
        self.processes.lock().len()
    }

    /// Most connections at a time, and the second of 1970 at which there were.
    pub fn most(&self) -> (u64, u64) {
        let _consistent = self.processes.lock();
        (self.most.load(Ordering::Relaxed), self.most_at_s.load(Ordering::Relaxed))
    }

    /// Connections that found as many as there may be.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// accept() failed.
    pub fn note_not_accepted(&self) {
        self.not_accepted.fetch_add(1, Ordering::Relaxed);
    }

    /// A connection could not be served for want of means.
    pub fn note_internal_error(&self) {
        self.internal_errors.fetch_add(1, Ordering::Relaxed);
    }

    /// (not accepted, for want of means)
    pub fn faults(&self) -> (u64, u64) {
        (self.not_accepted.load(Ordering::Relaxed), self.internal_errors.load(Ordering::Relaxed))
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes from and to all clients that are and were.
    pub fn bytes(&self) -> (u64, u64) {
        let processes = self.processes.lock();
        let ended = (self.bytes_received.load(Ordering::Relaxed), self.bytes_sent.load(Ordering::Relaxed));
        processes.values().map(|p| p.bytes()).fold(ended, |a, b| (a.0 + b.0, a.1 + b.1))
    }

    /// By id.
    pub fn all(&self) -> Vec<Arc<Process>> {
        self.processes.lock().values().cloned().collect()
    }

    /// By id.
    pub fn infos(&self) -> Vec<ProcessInfo> {
        self.all().iter().map(|process| process.info()).collect()
    }
}

/// A connection's place in the list, left when this is dropped.
pub struct Entry {
    list: Arc<ProcessList>,
    process: Arc<Process>,
}

impl Entry {
    pub fn process(&self) -> &Arc<Process> {
        &self.process
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut processes = self.list.processes.lock();
        processes.remove(&self.process.id);
        let (received, sent) = self.process.bytes();
        self.list.bytes_received.fetch_add(received, Ordering::Relaxed);
        self.list.bytes_sent.fetch_add(sent, Ordering::Relaxed);
        drop(processes);
        // a waker may hold the socket
        self.process.wakers.lock().clear();
    }
}

impl std::fmt::Debug for ProcessList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ProcessList of {}", self.len())
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Entry of {:?}", self.process)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_at_a_time_and_refused() {
        let list = Arc::new(ProcessList::new());
        let one = list.add("here".into(), 2).expect("a place");
        let two = list.add("here".into(), 2).expect("a place");
        assert!(list.add("here".into(), 2).is_err());
        drop((one, two));
        let _again = list.add("here".into(), 2).expect("a place");
        assert_eq!((list.len(), list.most().0, list.refused()), (1, 2, 1));
        assert!(list.most().1 > 0);
    }
}
