//! Connections as others see them: the list behind SHOW PROCESSLIST, and what KILL acts on.
//!
//! A [`Process`] is one connection. Its thread writes what it is doing; anybody may read that, and may ask it to stop.
//! The request is one atomic byte, so that a running query can look at it as often as it likes.
//!
//! ```text
//!   none -> Timeout     max_execution_time; forgotten when the statement ends
//!   none -> Query       KILL QUERY; forgotten when the next statement begins
//!   any  -> Connection  KILL CONNECTION     \
//!   any  -> Shutdown    the server stops     } final: the connection ends
//!   any  -> Gone        the client hung up  /
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use executor::StatementCounters;
use parking_lot::Mutex;
use types::{Error, Result};

/// Why a query or a connection is to stop. A later one in this list outranks an earlier one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Kill {
    /// The statement's time is up.
    Timeout = 1,
    Query = 2,
    Connection = 3,
    Shutdown = 4,
    Gone = 5,
}

impl Kill {
    fn from_u8(byte: u8) -> Option<Kill> {
        [Kill::Timeout, Kill::Query, Kill::Connection, Kill::Shutdown, Kill::Gone]
            .into_iter()
            .find(|kill| *kill as u8 == byte)
    }

    /// The connection is to end, not only its query.
    pub fn is_final(self) -> bool {
        self > Kill::Query
    }
}

/// At most this much of a statement is kept for SHOW PROCESSLIST.
const INFO_LEN_MAX: usize = 64 << 10;

type Waker = Box<dyn Fn(Kill) + Send + Sync>;

/// One connection.
pub struct Process {
    id: u32,
    kill: AtomicU8,
    running: AtomicBool,
    /// What [`Process::killed`] says, as a flag that executing code can look at.
    stop: AtomicBool,
    counters: StatementCounters,
    load_bytes_done: AtomicU64,
    load_bytes_total: AtomicU64,
    shown: Mutex<Shown>,
    wakers: Mutex<Vec<Waker>>,
    /// For EXPLAIN FOR CONNECTION: plans that take long enough to be asked for.
    plan: Mutex<Option<Arc<plan::Plan>>>,
}

#[derive(Clone)]
struct Shown {
    user: String,
    host: String,
    database: Option<String>,
    command: &'static str,
    since: Instant,
    state: &'static str,
    info: Vec<u8>,
}

/// A row of SHOW PROCESSLIST.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProcessInfo {
    pub id: u32,
    pub user: String,
    pub host: String,
    pub database: Option<String>,
    pub command: &'static str,
    pub time: Duration,
    pub state: &'static str,
    /// The statement, as the client sent it.
    pub info: Option<Vec<u8>>,
}

impl Process {
    fn new(id: u32, host: String) -> Process {
        let shown = Shown {
            user: "unauthenticated user".to_owned(),
            host,
            database: None,
            command: "Connect",
            since: Instant::now(),
            state: "login",
            info: Vec::new(),
        };
        Process {
            id,
            kill: AtomicU8::new(0),
            running: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            counters: StatementCounters::default(),
            load_bytes_done: AtomicU64::new(0),
            load_bytes_total: AtomicU64::new(0),
            shown: Mutex::new(shown),
            wakers: Mutex::new(Vec::new()),
            plan: Mutex::new(None),
        }
    }

    pub fn id(&self) -> u32 {
        self.id
    }

    /// Whether something asked this connection's query to stop. One relaxed load; to be called once per batch.
    pub fn killed(&self) -> Option<Kill> {
        match self.kill.load(Ordering::Relaxed) {
            0 => None,
            byte => Kill::from_u8(byte),
        }
    }

    /// Set while [`Process::killed`] has something to say.
    pub fn stop_flag(&self) -> &AtomicBool {
        &self.stop
    }

    /// Counters of the running statement.
    pub fn counters(&self) -> &StatementCounters {
        &self.counters
    }

    /// LOAD DATA has read so many bytes, of so many if that is known.
    pub fn set_load_progress(&self, done: u64, total: u64) {
        self.load_bytes_done.store(done, Ordering::Relaxed);
        self.load_bytes_total.store(total, Ordering::Relaxed);
    }

    /// How far the running statement is: (done, total, unit).
    pub fn progress(&self) -> (u64, u64, &'static str) {
        let bytes = self.load_bytes_done.load(Ordering::Relaxed);
        if bytes > 0 {
            return (bytes, self.load_bytes_total.load(Ordering::Relaxed), "bytes");
        }
        let done =
            self.counters.leaves_read.load(Ordering::Relaxed) + self.counters.leaves_skipped.load(Ordering::Relaxed);
        (done, self.counters.leaves_total.load(Ordering::Relaxed), "leaves")
    }

    /// The error with which a killed query ends.
    pub fn check_killed(&self) -> Result<()> {
        match self.killed() {
            None => Ok(()),
            Some(Kill::Timeout) => Err(Error::query_timeout()),
            Some(Kill::Shutdown) => Err(Error::server_shutdown()),
            Some(Kill::Query | Kill::Connection | Kill::Gone) => Err(Error::query_interrupted()),
        }
    }

    /// Asks the query, or the connection, to stop, and wakes it where it waits.
    pub fn kill(&self, kill: Kill) {
        self.kill.fetch_max(kill as u8, Ordering::SeqCst);
        self.stop.store(true, Ordering::SeqCst);
        self.wakers.lock().iter().for_each(|wake| wake(kill));
    }

    /// The statement whose time may have been up has ended.
    pub fn forget_timeout(&self) {
        if self.kill.compare_exchange(Kill::Timeout as u8, 0, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
            self.stop.store(self.kill.load(Ordering::SeqCst) != 0, Ordering::SeqCst);
        }
    }

    /// `wake` is called with each kill, by the killer's thread; it must not block.
    pub fn on_kill(&self, wake: impl Fn(Kill) + Send + Sync + 'static) {
        self.wakers.lock().push(Box::new(wake));
    }

    /// A statement begins: an earlier KILL QUERY does not mean it.
    pub fn begin(&self, command: &'static str, info: &[u8]) {
        let _ = self.kill.compare_exchange(Kill::Query as u8, 0, Ordering::SeqCst, Ordering::Relaxed);
        self.stop.store(self.kill.load(Ordering::SeqCst) != 0, Ordering::SeqCst);
        self.load_bytes_done.store(0, Ordering::Relaxed);
        self.load_bytes_total.store(0, Ordering::Relaxed);
        let mut shown = self.shown.lock();
        shown.command = command;
        shown.since = Instant::now();
        shown.state = "executing";
        shown.info.clear();
        shown.info.extend_from_slice(&info[..info.len().min(INFO_LEN_MAX)]);
        drop(shown);
        self.running.store(true, Ordering::SeqCst);
    }

    /// The statement has been answered.
    pub fn end(&self) {
        self.running.store(false, Ordering::SeqCst);
        *self.plan.lock() = None;
        let mut shown = self.shown.lock();
        shown.command = "Sleep";
        shown.since = Instant::now();
        shown.state = "";
        shown.info.clear();
    }

    /// The plan that is being run, until the statement ends.
    pub fn publish_plan(&self, plan: &plan::Plan) {
        *self.plan.lock() = Some(Arc::new(plan.clone()));
    }

    pub fn running_plan(&self) -> Option<Arc<plan::Plan>> {
        self.plan.lock().clone()
    }

    pub fn is_running(&self) -> bool {
        self.running.load(Ordering::SeqCst)
    }

    /// The State column: a phase of the running statement.
    pub fn set_state(&self, state: &'static str) {
        self.shown.lock().state = state;
    }

    /// Sets the State column; returns what it was.
    pub fn swap_state(&self, state: &'static str) -> &'static str {
        std::mem::replace(&mut self.shown.lock().state, state)
    }

    pub fn set_user(&self, user: &str) {
        self.shown.lock().user = user.to_owned();
    }

    pub fn set_database(&self, database: Option<&str>) {
        self.shown.lock().database = database.map(str::to_owned);
    }

    pub fn info(&self) -> ProcessInfo {
        let shown = self.shown.lock().clone();
        ProcessInfo {
            id: self.id,
            user: shown.user,
            host: shown.host,
            database: shown.database,
            command: shown.command,
            time: shown.since.elapsed(),
            state: shown.state,
            info: Some(shown.info).filter(|info| !info.is_empty()),
        }
    }
}

/// All connections.
#[derive(Default)]
pub struct ProcessList {
    processes: Mutex<BTreeMap<u32, Arc<Process>>>,
    last_id: AtomicU32,
}

impl ProcessList {
    pub fn new() -> ProcessList {
        ProcessList::default()
    }

    /// Adds a connection, unless there are `count_max` already.
    pub fn add(self: &Arc<Self>, host: String, count_max: usize) -> Result<Entry> {
        let mut processes = self.processes.lock();
        if processes.len() >= count_max {
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

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// By id.
    pub fn infos(&self) -> Vec<ProcessInfo> {
        let processes: Vec<_> = self.processes.lock().values().cloned().collect();
        processes.iter().map(|process| process.info()).collect()
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
        self.list.processes.lock().remove(&self.process.id);
        // a waker may hold the socket
        self.process.wakers.lock().clear();
    }
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Process {}", self.id)
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
    fn a_connection_lives_in_the_list() {
        let list = Arc::new(ProcessList::new());
        let first = list.add("localhost".to_owned(), 2).unwrap();
        let second = list.add("10.0.0.1".to_owned(), 2).unwrap();
        assert_eq!(list.add("x".to_owned(), 2).err(), Some(Error::con_count()));
        second.process().set_user("joe");
        second.process().begin("Query", b"SELECT 1");
        let infos = list.infos();
        assert_eq!(infos.len(), 2);
        assert_eq!((infos[1].user.as_str(), infos[1].command), ("joe", "Query"));
        assert_eq!(infos[1].info.as_deref(), Some(&b"SELECT 1"[..]));
        drop(first);
        assert_eq!(list.len(), 1);
        assert_eq!(list.kill(99, Kill::Query), Err(Error::no_such_thread(99)));
    }

    #[test]
    fn kills() {
        let list = Arc::new(ProcessList::new());
        let entry = list.add("h".to_owned(), 9).unwrap();
        let process = entry.process();
        let woken = Arc::new(AtomicU32::new(0));
        let counter = woken.clone();
        process.on_kill(move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(process.check_killed(), Ok(()));
        list.kill(process.id(), Kill::Query).unwrap();
        assert_eq!(process.check_killed(), Err(Error::query_interrupted()));
        process.begin("Query", b"");
        assert_eq!(process.killed(), None);
        process.kill(Kill::Shutdown);
        process.kill(Kill::Query);
        process.begin("Query", b"");
        assert_eq!(process.check_killed(), Err(Error::server_shutdown()));
        assert_eq!(woken.load(Ordering::Relaxed), 3);
    }
}
