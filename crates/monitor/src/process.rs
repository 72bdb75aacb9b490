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

mod list;

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::history::Ring;
use crate::secrets::without_secrets;
use executor::StatementCounters;
use parking_lot::Mutex;
use plan::Plan;
use plan::explain::Change;
use types::{Error, Result};

pub use list::{Entry, ProcessList};

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
    stop: Arc<AtomicBool>,
    counters: StatementCounters,
    /// Version and cipher of an encrypted connection.
    tls: OnceLock<(String, String)>,
    /// Bytes from and to the client.
    bytes_received: AtomicU64,
    bytes_sent: AtomicU64,
    /// Nanoseconds spent waiting for locks of rows and tables, since the connection began.
    lock_wait_ns: AtomicU64,
    load_bytes_done: AtomicU64,
    load_bytes_total: AtomicU64,
    shown: Mutex<Shown>,
    wakers: Mutex<Vec<Waker>>,
    /// For EXPLAIN FOR CONNECTION: what is being run, and what is done with the rows found.
    plan: Mutex<(Option<Arc<Plan>>, Option<Change>)>,
    /// There may be one.
    has_plan: AtomicBool,
    /// The statements that it has run lately.
    history: Mutex<Ring>,
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
    /// The statement, without passwords.
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
            stop: Arc::default(),
            counters: StatementCounters::default(),
            tls: OnceLock::new(),
            bytes_received: AtomicU64::new(0),
            bytes_sent: AtomicU64::new(0),
            lock_wait_ns: AtomicU64::new(0),
            load_bytes_done: AtomicU64::new(0),
            load_bytes_total: AtomicU64::new(0),
            shown: Mutex::new(shown),
            wakers: Mutex::new(Vec::new()),
            plan: Mutex::new((None, None)),
            has_plan: AtomicBool::new(false),
            history: Mutex::default(),
        }
    }

    /// The connection is encrypted: version, cipher suite.
    pub fn set_tls(&self, names: (String, String)) {
        let _ = self.tls.set(names);
    }

    pub fn tls(&self) -> Option<&(String, String)> {
        self.tls.get()
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
    pub fn stop_flag(&self) -> &Arc<AtomicBool> {
        &self.stop
    }

    /// Counters of the running statement.
    pub fn counters(&self) -> &StatementCounters {
        &self.counters
    }

    /// Bytes have come from the client. Only for the connection's own thread: a plain addition.
    pub fn note_received(&self, bytes: u64) {
        self.bytes_received.store(self.bytes_received.load(Ordering::Relaxed) + bytes, Ordering::Relaxed);
    }

    /// Bytes have gone to the client; likewise.
    pub fn note_sent(&self, bytes: u64) {
        self.bytes_sent.store(self.bytes_sent.load(Ordering::Relaxed) + bytes, Ordering::Relaxed);
    }

    /// (received, sent)
    pub fn bytes(&self) -> (u64, u64) {
        (self.bytes_received.load(Ordering::Relaxed), self.bytes_sent.load(Ordering::Relaxed))
    }

    pub fn add_lock_wait(&self, time: Duration) {
        self.lock_wait_ns.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }

    pub fn lock_wait_ns(&self) -> u64 {
        self.lock_wait_ns.load(Ordering::Relaxed)
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
        self.forget_plan();
        let mut shown = self.shown.lock();
        shown.command = "Sleep";
        shown.since = Instant::now();
        shown.state = "";
        shown.info.clear();
    }

    /// The plan that is being run, until the statement ends. Where rows are changed, the plan that finds them stays.
    pub fn publish_plan(&self, plan: &Arc<Plan>) {
        let mut shown = self.plan.lock();
        if shown.1.is_none() {
            shown.0 = Some(plan.clone());
            self.has_plan.store(true, Ordering::Relaxed);
        }
    }

    /// The same of a statement that changes rows.
    pub fn publish_change(&self, plan: &Arc<Plan>, change: Change) {
        *self.plan.lock() = (Some(plan.clone()), Some(change));
        self.has_plan.store(true, Ordering::Relaxed);
    }

    /// The statement has ended. Only for the session's own thread.
    pub fn forget_plan(&self) {
        if self.has_plan.load(Ordering::Relaxed) {
            self.has_plan.store(false, Ordering::Relaxed);
            let gone = std::mem::take(&mut *self.plan.lock());
            drop(gone);
        }
    }

    pub fn running_plan(&self) -> Option<(Arc<Plan>, Option<Change>)> {
        let (plan, change) = self.plan.lock().clone();
        plan.map(|p| (p, change))
    }

    pub fn history(&self) -> &Mutex<Ring> {
        &self.history
    }

    /// The running command is this statement.
    pub fn show_statement(&self, text: &[u8]) {
        let mut shown = self.shown.lock();
        shown.info.clear();
        shown.info.extend_from_slice(&text[..text.len().min(INFO_LEN_MAX)]);
    }

    /// At most so many bytes of the statement, as the client sent it, behind what is in `text`.
    pub fn copy_info(&self, text: &mut Vec<u8>, bytes_max: usize) {
        let shown = self.shown.lock();
        text.extend_from_slice(&shown.info[..shown.info.len().min(bytes_max)]);
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

    /// What everybody may see of it: passwords are left out of its statement.
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
            info: Some(without_secrets(&shown.info).into_owned()).filter(|info| !info.is_empty()),
        }
    }
}

/// A process as its transactions see it.
pub struct OfProcess(pub Arc<Process>);

impl storage::Waiter for OfProcess {
    fn stops(&self) -> bool {
        self.0.killed().is_some()
    }

    fn waited(&self, time: Duration) {
        self.0.add_lock_wait(time);
    }
}

impl std::fmt::Debug for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Process {}", self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

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
        second.process().begin("Query", b"CREATE USER joe IDENTIFIED BY 'mine'");
        assert_eq!(list.infos()[1].info.as_deref(), Some(&b"CREATE USER joe IDENTIFIED BY '<secret>'"[..]));
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
