//! An open database: what its sessions share, with what only this floor knows of: cached plans, prepared statements,
//! the keeper of statistics.

use crate::durability::journal::BUILT_IN_SCHEMAS;
use crate::durability::open;
use crate::plan_cache::PlanCache;
use crate::prepared::PreparedSlot;
use crate::server_tables::MadeUp;
use crate::session::Session;
use crate::statistics::keeper::Keeper;
use accounts::Accounts;
use catalog::{Catalog, SchemaDef};
use disk::RealIo;
use machine::files::{Bounds, modes};
use monitor::process::Process;
use parking_lot::Mutex;
use session::shared::flush_mode;
use session::{ActsAs, Options, Parts, Shared};
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use storage::{StorageOptions, Store};
use types::{Collation, Result};
use variables::GlobalVars;

/// See the module head.
#[derive(Debug)]
pub struct Database {
    shared: Arc<Shared>,
    plan_cache: PlanCache,
    statistics: Keeper,
    /// Held by who makes the tables of costs.
    cost_tables: Mutex<()>,
    /// Prepared statements of all sessions.
    prepared_count: Arc<AtomicU64>,
}

impl Deref for Database {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
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
        let parts = Parts { options, catalog, store, accounts, variables, bounds, spill_dir };
        let db = Arc::new(Database {
            shared: Arc::new(Shared::new(parts)?),
            plan_cache: PlanCache::default(),
            statistics: Keeper::default(),
            cost_tables: Mutex::default(),
            prepared_count: Arc::default(),
        });
        db.shared.set_tables(Box::new(MadeUp::of(&db)));
        let weak = Arc::downgrade(&db);
        db.shared.set_figures(move || weak.upgrade().map_or_else(Vec::new, |db| db.figures_above()));
        if db.catalog().relation("mysql", "engine_cost").is_some() {
            db.flush_costs()?;
        }
        Ok(db)
    }

    /// Something has changed on which all cached plans depend: rights, or the optimizer's constants.
    pub(crate) fn forget_plans(&self) {
        self.plan_cache.begin_epoch();
        self.catalog().touch();
    }

    pub(crate) fn cost_tables(&self) -> &Mutex<()> {
        &self.cost_tables
    }

    /// Statistics that planning found out of date are made anew in the background.
    pub(crate) fn keep_statistics(self: &Arc<Self>) {
        if self.store().take_statistics_due()
            && &*self.variables().by_name("innodb_stats_auto_recalc").unwrap_or_default() != "OFF"
        {
            self.statistics.wake(self);
        }
    }

    /// A clean end: what was committed is put into a checkpoint, so that the next start has nothing to replay. Without
    /// it nothing is lost either, but under innodb_flush_log_at_trx_commit = 0 or 2 what the log does not have yet.
    pub fn close(&self) -> Result<()> {
        self.statistics.stop();
        self.shared.close()
    }

    /// A session under a user's name, with the rights of the account that fits, if one does. It shows in SHOW
    /// PROCESSLIST until it is dropped.
    pub fn session(self: &Arc<Database>, user: &str, host: &str) -> Session {
        let entry = self.processes().add(host.into(), usize::MAX).expect("no limit was set");
        entry.process().set_user(user);
        Session::new(self.clone(), entry.process().clone(), Some(entry), user, host, ActsAs::Account)
    }

    /// A session of this process itself, for which nobody logged in: it may do everything. It is shown, and makes
    /// views, under the name of the account that every database begins with.
    pub fn system_session(self: &Arc<Database>) -> Session {
        let (user, host) = accounts::FIRST_ACCOUNT;
        let entry = self.processes().add(host.into(), usize::MAX).expect("no limit was set");
        entry.process().set_user(user);
        Session::new(self.clone(), entry.process().clone(), Some(entry), user, host, ActsAs::System)
    }

    /// A session for a connection, which has its process already and begins and ends its commands there.
    pub fn session_of(self: &Arc<Database>, process: Arc<Process>, user: &str, host: &str) -> Session {
        Session::new(self.clone(), process, None, user, host, ActsAs::Account)
    }

    pub(crate) fn plan_cache(&self) -> &PlanCache {
        &self.plan_cache
    }

    /// Room for one more prepared statement; error 1461 at max_prepared_stmt_count.
    pub(crate) fn take_prepared_slot(&self) -> Result<PreparedSlot> {
        PreparedSlot::take(&self.prepared_count, self.variables().int("max_prepared_stmt_count") as u64)
    }

    /// Prepared statements of all sessions.
    pub fn prepared_count(&self) -> u64 {
        self.prepared_count.load(Ordering::Relaxed)
    }

    /// What SHOW STATUS says of cached plans and prepared statements.
    fn figures_above(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("Nextleaf_plan_cache_evictions", self.plan_cache.evictions.load(Ordering::Relaxed)),
            ("Nextleaf_plan_cache_plans", self.plan_cache.len() as u64),
            ("Prepared_stmt_count", self.prepared_count()),
        ]
    }

    /// What all sessions share.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.statistics.stop();
    }
}
