//! An open database: what all its sessions share.

use crate::durability::journal::BUILT_IN_SCHEMAS;
use crate::durability::open;
use crate::plan_cache::PlanCache;
use crate::prepared::PreparedSlot;
use crate::session::{ActsAs, Session};
use crate::statistics::keeper::Keeper;
use accounts::Accounts;
use catalog::{Catalog, SchemaDef};
use disk::{Io, RealIo};
use executor::{MemoryAccountant, TempSpace, WorkerPool};
use machine::files::{Bounds, modes};
use mdl::Mdl;
use monitor::Notices;
use monitor::digests::Digests;
use monitor::general_log::GeneralLog;
use monitor::history::History;
use monitor::log_files::Logs;
use monitor::log_tables::LogTables;
use monitor::process::{Process, ProcessList};
use monitor::slow_log::SlowLog;
use monitor::status::GlobalStatus;
use monitor::timer::Timer;
use parking_lot::{Mutex, RwLock};
use planner::optimize::cost::CostParams;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime};
use storage::{Background, FlushMode, StorageOptions, Store};
use types::{Collation, Error, Result};
use variables::{GlobalVars, ReadOnly, ReadOnlyCell};

/// How to open a database. The defaults suit a server with the machine to itself.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Where the database is kept; sessions spill into a folder below it. `None`: it is in memory alone, and spills into
    /// the system's folder for temporary files.
    pub dir: Option<PathBuf>,
    /// Worker threads beside the sessions' own; `None`: one less than the cores.
    pub workers: Option<usize>,
    /// Have workers help with the smallest statements too, for tests.
    pub eager_workers: bool,
    /// It helps another database of the process for a moment, and leaves the process's bounds as that has set them.
    pub is_helper: bool,
    /// Rows per leaf, for tests of small leaves.
    pub leaf_rows: Option<usize>,
    /// Bytes that all statements together may hold; `None`: half of max_server_memory or, where that is not set, of what the
    /// machine has or the system lets this process have, whichever is less.
    pub query_memory_bytes: Option<usize>,
    /// Initial values of system variables: (name, text).
    pub variables: Vec<(String, String)>,
    /// Gets lines for the server's log.
    pub notices: Notices,
    /// Gets what people must know: what was dropped at the end of the redo log, say. By default it goes to standard error.
    pub warnings: Notices,
    /// Opens a folder although the end of its redo log is missing: what was committed there is given up.
    pub accept_loss: bool,
    /// Opens the file of the server's log anew, where it has one.
    pub log_reopener: LogReopener,
    /// Stops the server, where there is one.
    pub stopper: ServerStopper,
    /// The disk that log and checkpoints go to; `None`: the machine's.
    pub disk: Option<Arc<dyn Io>>,
}

impl Options {
    fn warn(&self, line: String) {
        match &self.warnings.0 {
            Some(tell) => tell(line),
            None => eprintln!("nextleaf: {line}"),
        }
    }
}

/// What FLUSH ERROR LOGS does; nothing by default.
#[derive(Clone, Default)]
pub struct LogReopener(pub Option<Arc<dyn Fn() -> Result<()> + Send + Sync>>);

impl std::fmt::Debug for LogReopener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LogReopener")
    }
}

/// What SHUTDOWN does, once its client has its answer; nothing by default.
#[derive(Clone, Default)]
pub struct ServerStopper(pub Option<Arc<dyn Fn() + Send + Sync>>);

impl std::fmt::Debug for ServerStopper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ServerStopper")
    }
}

#[derive(Debug)]
pub struct Database {
    catalog: Catalog,
    store: Store,
    mdl: Mdl,
    timer: Timer,
    pool: WorkerPool,
    memory: Arc<MemoryAccountant>,
    variables: GlobalVars,
    status: GlobalStatus,
    digests: Digests,
    history: History,
    slow_log: SlowLog,
    general_log: GeneralLog,
    log_tables: LogTables,
    processes: Arc<ProcessList>,
    accounts: Accounts,
    read_only: ReadOnlyCell,
    plan_cache: PlanCache,
    statistics: Keeper,
    /// What FLUSH OPTIMIZER_COSTS made effective.
    costs: RwLock<Arc<CostParams>>,
    /// Held by who makes the tables of costs.
    cost_tables: Mutex<()>,
    /// Prepared statements of all sessions.
    prepared_count: Arc<AtomicU64>,
    options: Options,
    started: Instant,
    /// Microseconds since 1970.
    started_us: i64,
    spill_dir: PathBuf,
    bounds: Bounds,
    temp_space: Arc<TempSpace>,
    /// The threads of the store.
    background: Mutex<Option<Background>>,
}

impl Database {
    /// Opens the database in `options.dir`, as it was left, or begins one there; without a folder, one in memory.
    pub fn open(options: Options) -> Result<Arc<Database>> {
        let spill_dir = match &options.dir {
            Some(dir) => dir.join("tmp"),
            None => std::env::temp_dir(),
        };
        if options.dir.is_some() {
            modes::create_dir(&spill_dir).map_err(|e| machine::io_error("create", &spill_dir, &e))?;
        }
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let memory_bytes = options.query_memory_bytes.unwrap_or_else(|| machine::memory::memory_bytes() / 2);
        let catalog = Catalog::default();
        catalog.write(|schemas| {
            for name in BUILT_IN_SCHEMAS {
                schemas.insert(
                    name.into(),
                    SchemaDef { name: name.into(), collation: Collation::default(), relations: Default::default() },
                );
            }
        })?;
        let variables = GlobalVars::default();
        variables::set_initial(&variables, &options.variables, &|line| options.notices.tell(line))?;
        let spill_dir = variables.if_set("tmpdir").map_or(spill_dir, |dir| PathBuf::from(&*dir));
        let bounds = Bounds::new(options.dir.as_deref(), variables.if_set("secure_file_priv").as_deref())?;
        variables.set(variables::require("secure_file_priv")?, bounds.shown().into());
        if let Some(warning) = bounds.warning().filter(|_| options.dir.is_some()) {
            options.notices.tell(warning);
        }
        let (store, accounts) = match &options.dir {
            None => (Store::new(StorageOptions { leaf_rows: options.leaf_rows }), Accounts::default()),
            Some(dir) => {
                let settings = open::Settings {
                    flush: flush_mode(&variables),
                    log_bytes_max: variables.int("innodb_redo_log_capacity") as u64,
                    leaf_rows: options.leaf_rows,
                    accept_loss: options.accept_loss,
                };
                let disk = options.disk.clone().unwrap_or_else(|| Arc::new(RealIo));
                let (tell, warn) = (|line| options.notices.tell(line), |line| options.warn(line));
                let mut opened = open::open(disk, dir, &settings, &tell, &warn)?;
                open::fill(&catalog, &mut opened)?;
                (opened.store, opened.accounts)
            }
        };
        let notices = options.notices.clone();
        let background = Background::start(store.clone(), move |line| notices.tell(line))
            .map_err(|e| Error::cant_create_thread(e.raw_os_error().unwrap_or(0)))?;
        let db = Database {
            catalog,
            mdl: Mdl::new(store.txns().clone()),
            timer: Timer::default(),
            store,
            pool: (if options.eager_workers { WorkerPool::eager } else { WorkerPool::new })(
                options.workers.unwrap_or(cores - 1),
            ),
            memory: MemoryAccountant::new(memory_bytes),
            variables,
            status: GlobalStatus::default(),
            digests: Digests::default(),
            history: History::default(),
            slow_log: SlowLog::default(),
            general_log: GeneralLog::default(),
            log_tables: LogTables::default(),
            processes: Arc::new(ProcessList::new()),
            accounts,
            read_only: ReadOnlyCell::default(),
            plan_cache: PlanCache::default(),
            statistics: Keeper::default(),
            costs: RwLock::default(),
            cost_tables: Mutex::default(),
            prepared_count: Arc::default(),
            options,
            started: Instant::now(),
            started_us: SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_micros() as i64),
            spill_dir,
            bounds,
            temp_space: Arc::default(),
            background: Mutex::new(Some(background)),
        };
        db.logs().begin_logs()?;
        db.apply_variable("innodb_deadlock_detect");
        db.apply_variable("general_log");
        if !db.options.is_helper {
            db.apply_variable("max_server_memory");
        }
        db.apply_variable("max_tmp_total_space_usage");
        db.apply_variable("read_only");
        db.digests.set_on(db.variables.by_name("performance_schema").as_deref() == Some("ON"));
        let db = Arc::new(db);
        if catalog::CatalogReader::relation(&db.catalog, "mysql", "engine_cost").is_some() {
            db.flush_costs()?;
        }
        Ok(db)
    }

    /// The logs of statements and commands.
    pub(crate) fn logs(&self) -> Logs<'_> {
        Logs {
            general: &self.general_log,
            slow: &self.slow_log,
            variables: &self.variables,
            dir: self.options.dir.as_deref(),
            notices: &self.options.notices,
        }
    }

    /// FLUSH LOGS: logs go on in new files where others have renamed the old ones.
    pub fn reopen_logs(&self) -> Result<()> {
        self.logs().reopen_log("slow_query_log_file")?;
        self.logs().reopen_log("general_log_file")?;
        self.reopen_error_log()
    }

    /// FLUSH ERROR LOGS.
    pub(crate) fn reopen_error_log(&self) -> Result<()> {
        self.options.log_reopener.0.as_ref().map_or(Ok(()), |reopen| reopen())
    }

    /// What stops the server, if this database is served.
    pub(crate) fn stopper(&self) -> Option<Arc<dyn Fn() + Send + Sync>> {
        self.options.stopper.0.clone()
    }

    /// The optimizer's constants.
    pub(crate) fn costs(&self) -> Arc<CostParams> {
        self.costs.read().clone()
    }

    pub(crate) fn costs_cell(&self) -> &RwLock<Arc<CostParams>> {
        &self.costs
    }

    pub(crate) fn cost_tables(&self) -> &Mutex<()> {
        &self.cost_tables
    }

    /// Statistics that planning found out of date are made anew in the background.
    pub(crate) fn keep_statistics(self: &Arc<Self>) {
        if self.store.take_statistics_due()
            && &*self.variables.by_name("innodb_stats_auto_recalc").unwrap_or_default() != "OFF"
        {
            self.statistics.wake(self);
        }
    }

    /// A clean end: what was committed is put into a checkpoint, so that the next start has nothing to replay. Without
    /// it nothing is lost either, but under innodb_flush_log_at_trx_commit = 0 or 2 what the log does not have yet.
    pub fn close(&self) -> Result<()> {
        self.statistics.stop();
        drop(self.background.lock().take());
        match self.store.durable() {
            Some(durable) if durable.log_bytes() > 0 => self.store.checkpoint().map(|_| ()),
            _ => Ok(()),
        }
    }

    /// A global variable was set: what it steers follows.
    pub(crate) fn apply_variable(&self, name: &str) {
        if name == "innodb_deadlock_detect" {
            return self.store.txns().waits().set_detection(self.variables.by_name(name).as_deref() == Some("ON"));
        }
        if name == "general_log" {
            return self.general_log.set_on(self.variables.by_name(name).as_deref() == Some("ON"));
        }
        if matches!(name, "read_only" | "super_read_only") {
            return self.read_only.set(ReadOnly::of(&self.variables));
        }
        if name == "max_server_memory" {
            return self.set_memory(self.variables.int(name) as usize);
        }
        if name == "max_tmp_total_space_usage" {
            return self.temp_space.set_limit(self.variables.int(name) as u64);
        }
        let Some(durable) = self.store.durable() else { return };
        match name {
            "innodb_flush_log_at_trx_commit" => durable.redo().set_mode(flush_mode(&self.variables)),
            "innodb_redo_log_capacity" => durable.set_log_bytes_max(self.variables.int(name) as u64),
            _ => {}
        }
    }

    /// The process may hold `bytes`, 0: nine tenths of what there is; statements half of it all.
    fn set_memory(&self, bytes: usize) {
        let all = machine::memory::memory_bytes();
        let (bytes, whole) = if bytes == 0 { (all / 10 * 9, all) } else { (bytes, bytes) };
        memory::set_limit(bytes);
        self.memory.set_limit(self.options.query_memory_bytes.unwrap_or(whole / 2));
    }

    /// Who may change nothing, by read_only and super_read_only.
    pub(crate) fn read_only(&self) -> ReadOnly {
        self.read_only.get()
    }

    /// Runs what belongs to the start of a server, whatever read_only says. No other session may run.
    pub fn before_serving<R>(&self, f: impl FnOnce() -> R) -> R {
        self.read_only.set(ReadOnly::Nobody);
        let result = f();
        self.apply_variable("read_only");
        result
    }

    /// A session under a user's name, with the rights of the account that fits, if one does. It shows in SHOW PROCESSLIST until it is dropped.
    pub fn session(self: &Arc<Database>, user: &str, host: &str) -> Session {
        let entry = self.processes.add(host.into(), usize::MAX).expect("no limit was set");
        entry.process().set_user(user);
        Session::new(self.clone(), entry.process().clone(), Some(entry), user, host, ActsAs::Account)
    }

    /// A session of this process itself, for which nobody logged in: it may do everything. It is shown, and makes views,
    /// under the name of the account that every database begins with.
    pub fn system_session(self: &Arc<Database>) -> Session {
        let (user, host) = accounts::FIRST_ACCOUNT;
        let entry = self.processes.add(host.into(), usize::MAX).expect("no limit was set");
        entry.process().set_user(user);
        Session::new(self.clone(), entry.process().clone(), Some(entry), user, host, ActsAs::System)
    }

    /// A session for a connection, which has its process already and begins and ends its commands there.
    pub fn session_of(self: &Arc<Database>, process: Arc<Process>, user: &str, host: &str) -> Session {
        Session::new(self.clone(), process, None, user, host, ActsAs::Account)
    }

    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Ends statements that run too long.
    pub(crate) fn timer(&self) -> &Timer {
        &self.timer
    }

    /// Metadata locks.
    pub(crate) fn mdl(&self) -> &Mdl {
        &self.mdl
    }

    pub fn pool(&self) -> &WorkerPool {
        &self.pool
    }

    pub fn memory(&self) -> &Arc<MemoryAccountant> {
        &self.memory
    }

    pub fn variables(&self) -> &GlobalVars {
        &self.variables
    }

    /// A global variable that has been given a value.
    pub fn global_if_set(&self, name: &str) -> Option<Box<str>> {
        self.variables.if_set(name)
    }

    pub fn status(&self) -> &GlobalStatus {
        &self.status
    }

    /// Sums of statements by digest.
    pub(crate) fn digests(&self) -> &Digests {
        &self.digests
    }

    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    pub(crate) fn general_log(&self) -> &GeneralLog {
        &self.general_log
    }

    pub(crate) fn log_tables(&self) -> &LogTables {
        &self.log_tables
    }

    pub(crate) fn slow_log(&self) -> &SlowLog {
        &self.slow_log
    }

    pub fn processes(&self) -> &Arc<ProcessList> {
        &self.processes
    }

    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Which files statements may use.
    pub(crate) fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    pub fn spill_dir(&self) -> &Path {
        &self.spill_dir
    }

    pub(crate) fn temp_space(&self) -> &Arc<TempSpace> {
        &self.temp_space
    }

    pub(crate) fn plan_cache(&self) -> &PlanCache {
        &self.plan_cache
    }

    /// Room for one more prepared statement; error 1461 at max_prepared_stmt_count.
    pub(crate) fn take_prepared_slot(&self) -> Result<PreparedSlot> {
        PreparedSlot::take(&self.prepared_count, self.variables.int("max_prepared_stmt_count") as u64)
    }

    /// Prepared statements of all sessions.
    pub fn prepared_count(&self) -> u64 {
        self.prepared_count.load(Ordering::Relaxed)
    }

    pub(crate) fn started_us(&self) -> i64 {
        self.started_us
    }

    pub fn uptime_s(&self) -> u64 {
        self.started.elapsed().as_secs()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.statistics.stop();
        drop(self.background.get_mut().take());
        // Nobody is left to tell; what is not on disk was not promised.
        let _ = self.store.flush_log();
    }
}

fn flush_mode(variables: &GlobalVars) -> FlushMode {
    FlushMode::of(variables.int("innodb_flush_log_at_trx_commit") as u64)
}
