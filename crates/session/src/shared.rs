//! What all sessions of a database share.

use crate::{Options, ServerTables};
use accounts::Accounts;
use catalog::Catalog;
use executor::{MemoryAccountant, TempSpace, WorkerPool};
use machine::files::Bounds;
use mdl::Mdl;
use monitor::digests::Digests;
use monitor::general_log::GeneralLog;
use monitor::history::History;
use monitor::log_files::Logs;
use monitor::log_tables::LogTables;
use monitor::process::ProcessList;
use monitor::slow_log::SlowLog;
use monitor::status::GlobalStatus;
use monitor::timer::Timer;
use parking_lot::{Mutex, RwLock};
use planner::optimize::cost::CostParams;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Instant, SystemTime};
use storage::{Background, FlushMode, Store};
use types::{Error, Result};
use variables::{GlobalVars, ReadOnly, ReadOnlyCell};

/// Figures of SHOW STATUS, by name.
type NamedFigures = Vec<(&'static str, u64)>;

struct Figures(Box<dyn Fn() -> NamedFigures + Send + Sync>);

impl std::fmt::Debug for Figures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Figures")
    }
}

/// See the module head.
#[derive(Debug)]
pub struct Shared {
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
    /// What FLUSH OPTIMIZER_COSTS made effective.
    costs: RwLock<Arc<CostParams>>,
    options: Options,
    started: Instant,
    /// Microseconds since 1970.
    started_us: i64,
    spill_dir: PathBuf,
    bounds: Bounds,
    temp_space: Arc<TempSpace>,
    /// The threads of the store.
    background: Mutex<Option<Background>>,
    tables: OnceLock<Box<dyn ServerTables>>,
    figures: OnceLock<Figures>,
}

/// What a database is made of when it has been read from its folder, or begins.
#[derive(Debug)]
pub struct Parts {
    pub options: Options,
    pub catalog: Catalog,
    pub store: Store,
    pub accounts: Accounts,
    pub variables: GlobalVars,
    pub bounds: Bounds,
    pub spill_dir: PathBuf,
}

impl Shared {
    /// Puts a database together, and begins its logs and threads.
    pub fn new(parts: Parts) -> Result<Shared> {
        let Parts { options, catalog, store, accounts, variables, bounds, spill_dir } = parts;
        let notices = options.notices.clone();
        let background = Background::start(store.clone(), move |line| notices.tell(line))
            .map_err(|e| Error::cant_create_thread(e.raw_os_error().unwrap_or(0)))?;
        let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
        let memory_bytes = options.query_memory_bytes.unwrap_or_else(|| machine::memory::memory_bytes() / 2);
        let make_pool = if options.eager_workers { WorkerPool::eager } else { WorkerPool::new };
        let shared = Shared {
            catalog,
            mdl: Mdl::new(store.txns().clone()),
            timer: Timer::default(),
            store,
            pool: make_pool(options.workers.unwrap_or(cores - 1)),
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
            costs: RwLock::default(),
            options,
            started: Instant::now(),
            started_us: SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_micros() as i64),
            spill_dir,
            bounds,
            temp_space: Arc::default(),
            background: Mutex::new(Some(background)),
            tables: OnceLock::new(),
            figures: OnceLock::new(),
        };
        shared.logs().begin_logs()?;
        shared.apply_variable("innodb_deadlock_detect");
        shared.apply_variable("general_log");
        if !shared.options.is_helper {
            shared.apply_variable("max_server_memory");
        }
        shared.apply_variable("max_tmp_total_space_usage");
        shared.apply_variable("read_only");
        shared.digests.set_on(shared.variables.by_name("performance_schema").as_deref() == Some("ON"));
        Ok(shared)
    }

    /// Who knows the tables that the server makes up is told once, before the first session.
    pub fn set_tables(&self, tables: Box<dyn ServerTables>) {
        self.tables.set(tables).expect("a database is put together once");
    }

    /// The tables that the server makes up.
    pub fn tables(&self) -> &dyn ServerTables {
        &**self.tables.get().expect("set before the first session")
    }

    /// Who has figures for SHOW STATUS that are not known here says how to get them, once.
    pub fn set_figures(&self, figures: impl Fn() -> NamedFigures + Send + Sync + 'static) {
        let known = self.figures.set(Figures(Box::new(figures)));
        debug_assert!(known.is_ok(), "a database is put together once");
    }

    /// Those figures.
    pub fn figures(&self) -> NamedFigures {
        self.figures.get().map_or_else(Vec::new, |figures| figures.0())
    }

    /// The threads end; then what was committed is put into a checkpoint.
    pub fn close(&self) -> Result<()> {
        drop(self.background.lock().take());
        match self.store.durable() {
            Some(durable) if durable.log_bytes() > 0 => self.store.checkpoint().map(|_| ()),
            _ => Ok(()),
        }
    }

    /// The logs of statements and commands.
    pub fn logs(&self) -> Logs<'_> {
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
    pub fn reopen_error_log(&self) -> Result<()> {
        self.options.log_reopener.0.as_ref().map_or(Ok(()), |reopen| reopen())
    }

    /// What stops the server, if this database is served.
    pub fn stopper(&self) -> Option<Arc<dyn Fn() + Send + Sync>> {
        self.options.stopper.0.clone()
    }

    /// The optimizer's constants.
    pub fn costs(&self) -> Arc<CostParams> {
        self.costs.read().clone()
    }

    pub fn costs_cell(&self) -> &RwLock<Arc<CostParams>> {
        &self.costs
    }

    /// A global variable was set: what it steers follows.
    pub fn apply_variable(&self, name: &str) {
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
    pub fn read_only(&self) -> ReadOnly {
        self.read_only.get()
    }

    /// Runs what belongs to the start of a server, whatever read_only says. No other session may run.
    pub fn before_serving<R>(&self, f: impl FnOnce() -> R) -> R {
        self.read_only.set(ReadOnly::Nobody);
        let result = f();
        self.apply_variable("read_only");
        result
    }

    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Ends statements that run too long.
    pub fn timer(&self) -> &Timer {
        &self.timer
    }

    /// Metadata locks.
    pub fn mdl(&self) -> &Mdl {
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
    pub fn digests(&self) -> &Digests {
        &self.digests
    }

    pub fn history(&self) -> &History {
        &self.history
    }

    pub fn general_log(&self) -> &GeneralLog {
        &self.general_log
    }

    pub fn log_tables(&self) -> &LogTables {
        &self.log_tables
    }

    pub fn slow_log(&self) -> &SlowLog {
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
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    pub fn spill_dir(&self) -> &Path {
        &self.spill_dir
    }

    pub fn temp_space(&self) -> &Arc<TempSpace> {
        &self.temp_space
    }

    pub fn started_us(&self) -> i64 {
        self.started_us
    }

    pub fn uptime_s(&self) -> u64 {
        self.started.elapsed().as_secs()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        drop(self.background.get_mut().take());
        // Nobody is left to tell; what is not on disk was not promised.
        let _ = self.store.flush_log();
    }
}

/// What innodb_flush_log_at_trx_commit says.
pub fn flush_mode(variables: &GlobalVars) -> FlushMode {
    FlushMode::of(variables.int("innodb_flush_log_at_trx_commit") as u64)
}
