//! What a statement's tree and plan hold while they are made: counted by the thread that makes them, charged like the
//! memory of running statements.
//!
//! ```text
//!   a frame ── parse ── bind ── optimize ──┐ handed over while the plan runs │── bind a row's subquery ── .. ── end
//!            └──── Overseer::check: killed? too much? ────┘
//! ```
//! Parser and planner ask every few hundred nodes. What a long statement holds stays charged until it has ended. The
//! executor's operators have reservations of their own, and are not counted here; but for the expressions that they
//! make ready, which are as long as the plan's.

use crate::Frame;
use executor::Reservation;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};
use types::{Error, Overseer, Result};

/// A statement does not fail for so little, and is not charged for it.
const NEVER_REFUSED_BYTES: usize = 256 << 10;

const WHAT: &str = "The parse tree and plan of the statement";

/// About what the executor makes of the expressions of a long plan, for each byte of tree and plan.
const COMPILED_BYTES_EACH: usize = 2;

/// See the module head.
#[derive(Debug)]
pub(crate) struct TreeMemory {
    /// What the thread at work had taken when the work began, or would have if it had begun on this thread.
    begun_at: AtomicIsize,
    /// Taken when the work was handed over.
    taken_before: AtomicIsize,
    charged: Mutex<Option<Reservation>>,
}

impl TreeMemory {
    /// Nothing is taken yet.
    pub fn begun() -> TreeMemory {
        TreeMemory {
            begun_at: AtomicIsize::new(memory::thread_bytes()),
            taken_before: AtomicIsize::new(0),
            charged: Mutex::new(None),
        }
    }

    fn taken_bytes(&self) -> usize {
        usize::try_from(memory::thread_bytes() - self.begun_at.load(Relaxed)).unwrap_or(0)
    }
}

impl Frame<'_> {
    /// Runs `f`, of which nothing is the tree's.
    pub fn beside_tree<R>(&self, f: impl FnOnce() -> R) -> R {
        self.hand_over();
        let result = f();
        self.take_over();
        result
    }

    /// The charge for the expressions of the plan that is going to run, if it is a long one.
    pub fn hold_compiled(&self) -> Result<Option<Reservation>> {
        let bytes = self.tree.taken_bytes();
        if bytes <= NEVER_REFUSED_BYTES {
            return Ok(None);
        }
        let mut held = Reservation::new(&self.statement_memory());
        held.hold_long(COMPILED_BYTES_EACH * bytes, "Evaluating the expressions of the statement")?;
        Ok(Some(held))
    }

    /// The charge for a tree that outlives its statement.
    pub fn take_tree_charge(&mut self) -> Option<Reservation> {
        let mut charged = self.tree.charged.get_mut().take()?;
        charged.force(self.tree.taken_bytes());
        Some(charged)
    }

    #[cold]
    fn charge_tree(&self, bytes: usize) -> Result<()> {
        let statement = self.statement_memory();
        let mut charged = self.tree.charged.lock();
        let charged = charged.get_or_insert_with(|| Reservation::new(&statement));
        if memory::is_exhausted() || !charged.try_resize(bytes) {
            return Err(Error::capacity_exceeded(statement.limit_bytes(), "max_query_memory", WHAT));
        }
        Ok(())
    }
}

impl Overseer for Frame<'_> {
    fn check(&self) -> Result<()> {
        self.check_killed()?;
        match self.tree.taken_bytes() {
            0..=NEVER_REFUSED_BYTES => Ok(()),
            bytes => self.charge_tree(bytes),
        }
    }

    fn hand_over(&self) {
        self.tree.taken_before.store(memory::thread_bytes() - self.tree.begun_at.load(Relaxed), Relaxed);
    }

    fn take_over(&self) {
        self.tree.begun_at.store(memory::thread_bytes() - self.tree.taken_before.load(Relaxed), Relaxed);
    }
}
