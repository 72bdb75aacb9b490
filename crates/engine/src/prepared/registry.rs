//! The prepared statements of a session.

use crate::plan_cache::CachedPlan;
use executor::Reservation;
use hashbrown::HashMap;
use parking_lot::Mutex;
use parser::StatementHints;
use parser::ast::Statement;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use types::{Error, Result};

/// A prepared statement.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub text: Box<[u8]>,
    pub statement: Statement,
    pub hints: StatementHints,
    pub param_count: u32,
    /// The current schema when it was prepared.
    pub schema: Option<Arc<str>>,
    pub plans: Mutex<KeptPlans>,
    /// For a long statement's tree.
    pub _charge: Option<Reservation>,
    pub _slot: PreparedSlot,
}

/// A prepared statement's own plans.
#[derive(Debug, Default)]
pub(crate) struct KeptPlans {
    /// For parameters of different types: a value may be NULL now and then. The latest last.
    pub plans: Vec<Arc<CachedPlan>>,
    pub executions: u64,
}

/// One of the max_prepared_stmt_count statements that the server may have; given back when dropped.
#[derive(Debug)]
pub(crate) struct PreparedSlot(Arc<AtomicU64>);

impl PreparedSlot {
    /// Error 1461 if there are `max` already.
    pub fn take(count: &Arc<AtomicU64>, max: u64) -> Result<PreparedSlot> {
        let taken = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| (n < max).then_some(n + 1));
        taken.map_err(|_| Error::max_prepared_stmt_count_reached(max))?;
        Ok(PreparedSlot(count.clone()))
    }
}

impl Drop for PreparedSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// By number for the protocol, by name for SQL: two name spaces, as in MySQL.
#[derive(Debug, Default)]
pub(crate) struct PreparedStatements {
    last_id: u32,
    by_id: HashMap<u32, Arc<Prepared>>,
    /// By name in lower case.
    by_name: HashMap<String, Arc<Prepared>>,
}

impl PreparedStatements {
    pub fn add(&mut self, statement: Prepared) -> u32 {
        loop {
            self.last_id = self.last_id.wrapping_add(1);
            if self.last_id != 0 && !self.by_id.contains_key(&self.last_id) {
                self.by_id.insert(self.last_id, Arc::new(statement));
                return self.last_id;
            }
        }
    }

    pub fn get(&self, id: u32) -> Option<&Arc<Prepared>> {
        self.by_id.get(&id)
    }

    pub fn remove(&mut self, id: u32) {
        self.by_id.remove(&id);
    }

    pub fn add_named(&mut self, name: &str, statement: Prepared) {
        self.by_name.insert(name.to_lowercase(), Arc::new(statement));
    }

    pub fn named(&self, name: &str) -> Option<&Arc<Prepared>> {
        self.by_name.get(&name.to_lowercase())
    }

    /// False if there is no such statement.
    pub fn remove_named(&mut self, name: &str) -> bool {
        self.by_name.remove(&name.to_lowercase()).is_some()
    }

    pub fn clear(&mut self) {
        self.by_id.clear();
        self.by_name.clear();
    }
}
