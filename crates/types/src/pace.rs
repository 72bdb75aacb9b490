//! May the work on a statement go on? For work before rows are read: parsing, binding, optimizing.
//!
//! ```text
//!  each node ── step ──▶ Pace: counts to STEPS ──▶ Overseer::check ── 1317, 3024, 1053: stopped; 3170: too much memory
//! ```
//! Who starts the work knows who may stop it, and what it may hold; who does it only counts. A [`Pace`] remembers the
//! fault, so that work which cannot fail may end early and leave it to the next [`Pace::check`] to say so.

use crate::{Error, Result};
use std::cell::{Cell, OnceCell};

/// Steps from one look at the overseer to the next: some hundred microseconds of work.
const STEPS: u32 = 512;

/// See the module head.
pub trait Overseer: Sync {
    /// The error with which the work is to end, if it is. Cheap.
    fn check(&self) -> Result<()>;

    /// The calling thread leaves the work to another, or does something else for a while.
    fn hand_over(&self) {}

    /// The calling thread goes on with the work.
    fn take_over(&self) {}
}

/// Counts steps of one piece of work, on one thread.
#[derive(Default)]
pub struct Pace<'a> {
    overseer: Option<&'a dyn Overseer>,
    taken: Cell<u32>,
    fault: OnceCell<Error>,
}

impl<'a> Pace<'a> {
    /// Without an overseer the work is never stopped.
    pub fn new(overseer: Option<&'a dyn Overseer>) -> Pace<'a> {
        Pace { overseer, taken: Cell::new(0), fault: OnceCell::new() }
    }

    /// One more step: now and then the overseer is asked.
    #[inline]
    pub fn step(&self) -> Result<()> {
        if self.is_due() { self.check() } else { Ok(()) }
    }

    /// [`Pace::step`] for work that cannot fail. False: its result is not wanted any more.
    #[inline]
    pub fn goes_on(&self) -> bool {
        if self.is_due() { self.check().is_ok() } else { self.fault.get().is_none() }
    }

    /// Asks the overseer now.
    pub fn check(&self) -> Result<()> {
        self.fault()?;
        let Some(overseer) = self.overseer else { return Ok(()) };
        overseer.check().inspect_err(|e| _ = self.fault.set(e.clone()))
    }

    /// The fault that was found, if one was.
    #[inline]
    pub fn fault(&self) -> Result<()> {
        self.fault.get().map_or(Ok(()), |fault| Err(fault.clone()))
    }

    #[inline]
    fn is_due(&self) -> bool {
        let taken = self.taken.get() + 1;
        let due = taken >= STEPS;
        self.taken.set(if due { 0 } else { taken });
        due
    }
}

impl std::fmt::Debug for Pace<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pace").field("overseen", &self.overseer.is_some()).field("fault", &self.fault).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    struct After(AtomicU32);

    impl Overseer for After {
        fn check(&self) -> Result<()> {
            let left = self.0.load(Ordering::Relaxed);
            self.0.store(left.saturating_sub(1), Ordering::Relaxed);
            if left == 0 { Err(Error::query_interrupted()) } else { Ok(()) }
        }
    }

    #[test]
    fn work_ends_when_the_overseer_says_so() {
        let overseer = After(AtomicU32::new(2));
        let pace = Pace::new(Some(&overseer));
        let steps = (0..).take_while(|_| pace.step().is_ok()).count();
        assert_eq!(steps as u32, 3 * STEPS - 1);
        assert!(!pace.goes_on() && pace.check().is_err(), "it stays stopped");
        let alone = Pace::default();
        assert!((0..10 * STEPS).all(|_| alone.step().is_ok() && alone.goes_on()));
    }
}
