//! Plans that outlive their statement, for prepared statements and for texts that differ in their constants only.
//!
//! ```text
//! text ─ parser::normalize ─▶ key, values ─▶ PlanCache ─┬─ plan ───────────────▶ run with the values
//! COM_STMT_EXECUTE ─▶ the statement's own plan ─────────┘
//!                                                none, or values that do not suit it ─▶ parse, bind, optimize, as ever
//! ```
//! - [`store`]: the plans of all sessions, by normalized text and settings; bounded.
//! - [`build`]: whether a statement's plan may be kept, and the making of it.
//! - [`point`]: the flat plans of a SELECT by unique key, and of one FOR UPDATE: no executor, no batch.
//! - [`range`]: the flat plan of a SELECT of a few rows by unique key.
//! - [`change`], [`insert`]: the flat plans of UPDATE and DELETE by unique key, and of INSERT of constants.
//! - [`key`]: unique keys that a statement gives.
//! - [`now`]: NOW() among the new values of a statement.
//! - [`run`], [`run_change`], [`run_range`]: the session's side.
//!
//! Invariants
//! 1. A plan is used only while the objects that its statement names ([`names::Dependency`]), the settings it may
//!    depend on, the schema and the parameters' types are what they were when it was made. What else becomes of the
//!    catalog leaves it alone: only when the catalog's version moved are the objects compared, once
//!    ([`CachedPlan::is_fresh`]).
//! 2. A statement answers the same with a cached plan as without: a parameter stands only where a constant of its type
//!    would mean the same. What a plan cannot do for some values it leaves to the ordinary way.
//! 3. The choice of a cached plan is good for any values: unique keys, or what the optimizer chose for small amounts
//!    both with and without knowledge of the values.

mod build;
mod change;
mod insert;
mod key;
mod now;
mod point;
mod range;
mod run;
mod run_change;
mod run_range;
mod store;

use crate::database::Database;
use crate::dml::{DeletePlan, UpdatePlan};
use change::{PointDelete, PointUpdate};

use mdl::Object;
use monitor::digests::Digest;
use names::Dependency;
use plan::Plan;
use planner::bind::LockTarget;
use point::{PointLock, PointSelect};
use range::RangeSelect;
use session::sink::ResultShape;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use storage::TableIo;
use types::SqlType;

pub(crate) use build::is_by_key;
pub(crate) use key::{ChangeShape, KeyChunks, UniqueKey, gives_keys, position_of, with_refs};
pub(crate) use store::{Lookup, PlanCache};

/// What a plan was made under: see invariant 1.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlanEnv {
    /// The catalog's version before anything was looked up.
    pub catalog_version: u64,
    /// [`PlanCache::epoch`]
    pub epoch: u64,
    pub settings: u128,
    pub param_types: Box<[SqlType]>,
}

/// A cached plan.
#[derive(Debug)]
pub(crate) struct CachedPlan {
    pub env: PlanEnv,
    /// What the statement names, tables that are not there among it.
    pub objects: Box<[Dependency]>,
    /// The catalog's version at which all of that was last found as it had been.
    seen: AtomicU64,
    pub made: Instant,
    /// What is to be locked before it runs, and whether for writing.
    pub locks: Vec<(Arc<Object>, bool)>,
    pub body: Body,
    /// NOW() is one more parameter, the last: see [`now`].
    pub takes_now: bool,
    /// The plan goes when these have changed much.
    pub sizes: Vec<PlannedTable>,
    /// Where a flat plan counts what it reads and changes.
    pub io: Option<TableIo>,
    /// Where its executions are summed up.
    pub digest: OnceLock<Arc<Digest>>,
}

impl CachedPlan {
    /// Nothing is to be kept for the statement, for now.
    pub fn none(env: PlanEnv) -> CachedPlan {
        CachedPlan {
            seen: AtomicU64::new(env.catalog_version),
            env,
            objects: Box::default(),
            made: Instant::now(),
            locks: Vec::new(),
            body: Body::None,
            takes_now: false,
            sizes: Vec::new(),
            io: None,
            digest: OnceLock::new(),
        }
    }

    /// Whether the objects, rights and costs are what they were when the plan was made.
    fn is_fresh(&self, db: &Database) -> bool {
        // Read first: what changes during the comparison moves it again.
        let version = db.catalog().version();
        self.seen.load(Ordering::Relaxed) == version || self.is_fresh_at(version, db)
    }

    #[cold]
    fn is_fresh_at(&self, version: u64, db: &Database) -> bool {
        let holds = self.env.epoch == db.plan_cache().epoch() && self.objects.iter().all(|o| o.holds(db.catalog()));
        if holds {
            self.seen.store(version, Ordering::Relaxed);
        }
        holds
    }
}

#[derive(Debug)]
pub(crate) enum Body {
    /// The statement goes the ordinary way.
    None,
    Point(PointSelect),
    /// SELECT ... FOR UPDATE
    Lock(PointLock),
    /// The same, for the executor.
    Locking(LockingQuery),
    Query(QueryPlan),
    /// What is too much for it is left to the executor, by a plan if there is one.
    Range(RangeSelect, Option<Box<QueryPlan>>),
    /// The flat plan, and what does what that cannot do for some values.
    Update(Option<PointUpdate>, Option<Box<UpdatePlan>>),
    Delete(Option<PointDelete>, Option<Box<DeletePlan>>),
    Insert(changes::flat::FlatInsert),
}

/// A SELECT for the executor.
#[derive(Debug)]
pub(crate) struct QueryPlan {
    pub plan: Arc<Plan>,
    pub shape: Arc<ResultShape>,
}

/// A SELECT ... FOR UPDATE for the executor.
#[derive(Debug)]
pub(crate) struct LockingQuery {
    pub plan: Arc<Plan>,
    pub shape: Arc<ResultShape>,
    pub targets: Vec<LockTarget>,
}

/// A table as it was when a plan was made.
#[derive(Debug)]
pub(crate) struct PlannedTable {
    pub id: catalog::TableId,
    pub rows: u64,
    /// Rows changed until then, and how often it had been analyzed.
    pub changes: (u64, u64),
}
