//! Who waits for whom: one graph for all kinds of locks, in which a cycle is a deadlock.
//!
//! ```text
//!   owner 7 ── waits for a row ──▶ owner 9 ── waits for a table's metadata ──▶ owner 7      a deadlock
//! ```
//! An *owner* is whoever holds locks: a session, or a transaction without one. A *wait* is one sleeping thread of an
//! owner; it stands in the graph with the owners it waits for, which change while it sleeps. Whoever adds edges looks
//! for cycles through itself, so a cycle is found by whoever closes it, at once. Of the cycle's waits the lightest
//! (fewest changes to take back) is the victim: it ends with error 1213, and the others go on.
//!
//! Invariants
//! 1. Between two calls the graph has no cycle, unless detection is off: a victim's edges go when it is chosen.
//! 2. An edge leads to an owner that is in the way. Who lets go says so ([`WaitGraph::forget`]) before it waits for
//!    anything itself: those whom it has freed may not have woken up yet, and their old edges would make its next wait
//!    a deadlock.
//! 3. Nobody is woken while the graph is latched; callers wake victims after letting go of their own latches.

use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering, Rank};
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::SystemTime;

/// Whoever holds locks. Never 0.
pub type OwnerId = u64;

/// Where a waiter sleeps, and for what.
pub trait Sleeper: Send + Sync + Debug {
    /// Wakes the waiter, so that it looks at [`Waiting::is_doomed`]. Called with no latch held.
    fn wake(&self);
    /// What it wants, for reports.
    fn wanted(&self) -> Wanted;
    /// What it wants, as far as the graph tells locks apart.
    fn lock(&self) -> LockId;
}

/// Which lock is wanted: see [`WaitGraph::forget`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockId {
    /// Rows and keys: an owner has one transaction, which lets them all go at once.
    Rows,
    /// Something else, known by its address.
    Object(usize),
}

/// What a waiter wants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wanted {
    Row(RowLockName),
    /// Words for it.
    Other(String),
}

/// A lock on a row or key, for reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RowLockName {
    pub schema: Box<str>,
    pub table: Box<str>,
    /// Of the key that is wanted; empty for a row.
    pub index: Box<str>,
    pub mode: &'static str,
    /// The key, or the row's primary key.
    pub data: Box<str>,
}

impl std::fmt::Display for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Wanted::Row(r) if r.index.is_empty() => {
                write!(f, "{} lock on row {} of table {}.{}", r.mode, r.data, r.schema, r.table)
            }
            Wanted::Row(r) => {
                write!(f, "{} lock on key {} of index {} of table {}.{}", r.mode, r.data, r.index, r.schema, r.table)
            }
            Wanted::Other(what) => f.write_str(what),
        }
    }
}

/// One sleeping thread's place in the graph.
#[derive(Debug)]
pub struct Waiting {
    id: u64,
    owner: OwnerId,
    /// What its failure would cost.
    weight: u64,
    doomed: AtomicBool,
    sleeper: Arc<dyn Sleeper>,
    since: SystemTime,
}

impl Waiting {
    pub fn owner(&self) -> OwnerId {
        self.owner
    }

    /// Chosen as the victim of a deadlock: the wait is to end with error 1213.
    pub fn is_doomed(&self) -> bool {
        self.doomed.load(Ordering::Acquire)
    }

    pub fn since(&self) -> SystemTime {
        self.since
    }

    pub fn wanted(&self) -> Wanted {
        self.sleeper.wanted()
    }
}

/// The caller closed a cycle and is its victim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Deadlock;

/// One owner's part in a deadlock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeadlockMember {
    pub owner: OwnerId,
    pub wanted: Wanted,
    pub weight: u64,
    pub is_victim: bool,
}

/// The latest deadlock.
#[derive(Clone, Debug)]
pub struct DeadlockReport {
    pub at: SystemTime,
    /// Each waits for the next, the last for the first.
    pub members: Vec<DeadlockMember>,
}

/// A wait as others see it.
#[derive(Clone, Debug)]
pub struct WaitInfo {
    pub owner: OwnerId,
    pub waits_for: Vec<OwnerId>,
    pub since: SystemTime,
    pub wanted: Wanted,
}

#[derive(Debug)]
struct Edges {
    waiting: Arc<Waiting>,
    owners: Vec<OwnerId>,
}

/// See the module head.
#[derive(Debug)]
pub struct WaitGraph {
    /// By owner. A parallel load may sleep in several threads.
    waits: Mutex<HashMap<OwnerId, Vec<Edges>>>,
    latest: Mutex<Option<DeadlockReport>>,
    detect: AtomicBool,
    next_id: AtomicU64,
    deadlocks: AtomicU64,
}

impl Default for WaitGraph {
    fn default() -> WaitGraph {
        WaitGraph {
            waits: Mutex::new(Rank::Waits, HashMap::new()),
            latest: Mutex::new(Rank::DeadlockReport, None),
            detect: AtomicBool::new(true),
            next_id: AtomicU64::new(1),
            deadlocks: AtomicU64::new(0),
        }
    }
}

impl WaitGraph {
    /// A new owner's id.
    pub fn new_owner(&self) -> OwnerId {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// `innodb_deadlock_detect`: off, deadlocks end by timeouts.
    pub fn set_detection(&self, on: bool) {
        self.detect.store(on, Ordering::Relaxed);
    }

    /// Deadlocks found so far.
    pub fn deadlock_count(&self) -> u64 {
        self.deadlocks.load(Ordering::Relaxed)
    }

    pub fn latest_deadlock(&self) -> Option<DeadlockReport> {
        self.latest.lock().clone()
    }

    /// All waits.
    pub fn waits(&self) -> Vec<WaitInfo> {
        let waits = self.waits.lock();
        let found: Vec<(Arc<Waiting>, Vec<OwnerId>)> =
            waits.values().flatten().map(|e| (e.waiting.clone(), e.owners.clone())).collect();
        drop(waits);
        let info = |(w, waits_for): (Arc<Waiting>, _)| WaitInfo {
            owner: w.owner,
            waits_for,
            since: w.since,
            wanted: w.wanted(),
        };
        found.into_iter().map(info).collect()
    }

    /// A wait begins; it waits for nobody yet.
    pub fn enter(&self, owner: OwnerId, weight: u64, sleeper: Arc<dyn Sleeper>) -> Arc<Waiting> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let doomed = AtomicBool::new(false);
        let waiting = Arc::new(Waiting { id, owner, weight, doomed, sleeper, since: SystemTime::now() });
        let edges = Edges { waiting: waiting.clone(), owners: Vec::new() };
        self.waits.lock().entry(owner).or_default().push(edges);
        waiting
    }

    /// From now on the wait is for `owners`. Returns victims that the caller has to wake, once it holds no latch; an
    /// error if the caller itself is the victim.
    pub fn wait_for(&self, waiting: &Waiting, owners: &[OwnerId]) -> Result<Vec<Arc<dyn Sleeper>>, Deadlock> {
        self.wait_for_those(waiting, || owners.to_vec())
    }

    /// Like [`WaitGraph::wait_for`], for owners that `owners` names under the graph's latch: so it can leave out those
    /// who let go of what they held before, and will not call [`WaitGraph::forget`] later.
    pub fn wait_for_those(
        &self,
        waiting: &Waiting,
        owners: impl FnOnce() -> Vec<OwnerId>,
    ) -> Result<Vec<Arc<dyn Sleeper>>, Deadlock> {
        let mut victims: Vec<Arc<dyn Sleeper>> = Vec::new();
        let mut waits = self.waits.lock();
        if waiting.is_doomed() {
            return Err(Deadlock);
        }
        if !set_edges(&mut waits, waiting, &owners()) || !self.detect.load(Ordering::Relaxed) {
            return Ok(victims);
        }
        while let Some(cycle) = find_cycle(&waits, waiting) {
            // Of equals the caller: it is awake.
            let victim = cycle.iter().min_by_key(|w| (w.weight, w.id != waiting.id)).expect("a cycle has members");
            self.deadlocks.fetch_add(1, Ordering::Relaxed);
            let victim = victim.clone();
            set_edges(&mut waits, &victim, &[]);
            victim.doomed.store(true, Ordering::Release);
            let report = report(&cycle, &victim);
            *self.latest.lock() = Some(report);
            if victim.id == waiting.id {
                // Victims chosen in earlier rounds notice by themselves within a slice of their sleep.
                return Err(Deadlock);
            }
            victims.push(victim.sleeper.clone());
        }
        Ok(victims)
    }

    /// `owner` has let go of what others wait for there: until they wake up and look again, they wait for it no more.
    pub fn forget(&self, owner: OwnerId, lock: LockId) {
        let mut waits = self.waits.lock();
        for edges in waits.values_mut().flatten().filter(|e| e.waiting.sleeper.lock() == lock) {
            edges.owners.retain(|o| *o != owner);
        }
    }

    /// The wait is over.
    pub fn leave(&self, waiting: &Waiting) {
        let mut waits = self.waits.lock();
        if let Some(of_owner) = waits.get_mut(&waiting.owner) {
            of_owner.retain(|e| e.waiting.id != waiting.id);
            if of_owner.is_empty() {
                waits.remove(&waiting.owner);
            }
        }
    }
}

/// Says whether that changed anything.
fn set_edges(waits: &mut HashMap<OwnerId, Vec<Edges>>, waiting: &Waiting, owners: &[OwnerId]) -> bool {
    let of_owner = waits.get_mut(&waiting.owner).into_iter().flatten();
    for edges in of_owner.filter(|e| e.waiting.id == waiting.id) {
        if edges.owners == owners {
            return false;
        }
        edges.owners.clear();
        edges.owners.extend_from_slice(owners);
    }
    true
}

/// A way from `start` back to its owner, as the waits along it.
fn find_cycle(waits: &HashMap<OwnerId, Vec<Edges>>, start: &Waiting) -> Option<Vec<Arc<Waiting>>> {
    // Reached owners: (owner, the wait that led there, position of the owner that waits).
    let mut reached: Vec<(OwnerId, Arc<Waiting>, usize)> = Vec::new();
    let first = waits.get(&start.owner)?.iter().find(|e| e.waiting.id == start.id)?;
    let mut todo = vec![(first, usize::MAX)];
    let mut next = 0;
    loop {
        for (edges, from) in todo.drain(..) {
            for &to in &edges.owners {
                if to == start.owner {
                    let mut cycle = vec![edges.waiting.clone()];
                    let mut at = from;
                    while at != usize::MAX {
                        cycle.push(reached[at].1.clone());
                        at = reached[at].2;
                    }
                    cycle.reverse();
                    return Some(cycle);
                }
                if reached.iter().all(|r| r.0 != to) {
                    reached.push((to, edges.waiting.clone(), from));
                }
            }
        }
        let owner = reached.get(next)?.0;
        todo.extend(waits.get(&owner).into_iter().flatten().map(|e| (e, next)));
        next += 1;
    }
}

fn report(cycle: &[Arc<Waiting>], victim: &Waiting) -> DeadlockReport {
    let member = |w: &Arc<Waiting>| DeadlockMember {
        owner: w.owner,
        wanted: w.wanted(),
        weight: w.weight,
        is_victim: w.id == victim.id,
    };
    DeadlockReport { at: SystemTime::now(), members: cycle.iter().map(member).collect() }
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Nowhere;

    impl Sleeper for Nowhere {
        fn wake(&self) {}
        fn wanted(&self) -> Wanted {
            Wanted::Other("something".into())
        }
        fn lock(&self) -> LockId {
            LockId::Rows
        }
    }

    #[test]
    fn whoever_let_go_is_not_waited_for() {
        let graph = WaitGraph::default();
        let (a, b) = (graph.enter(1, 0, Arc::new(Nowhere)), graph.enter(2, 0, Arc::new(Nowhere)));
        assert!(graph.wait_for(&a, &[2]).is_ok());
        graph.forget(2, LockId::Object(1));
        assert_eq!(graph.wait_for(&b, &[1]).err(), Some(Deadlock), "it let go of something else");
        graph.leave(&b);
        graph.forget(2, LockId::Rows);
        let b = graph.enter(2, 0, Arc::new(Nowhere));
        assert!(graph.wait_for(&b, &[1]).is_ok());
        assert_eq!(graph.wait_for(&a, &[2]).err(), Some(Deadlock), "it looked again, and is not free");
    }

    #[test]
    fn the_lightest_of_a_cycle_is_the_victim() {
        let graph = WaitGraph::default();
        let wait = |owner, weight| graph.enter(owner, weight, Arc::new(Nowhere));
        let (a, b, c) = (wait(101, 5), wait(102, 1), wait(103, 9));
        assert!(graph.wait_for(&a, &[102]).expect("no cycle").is_empty());
        assert!(graph.wait_for(&b, &[7, 103]).expect("no cycle").is_empty());
        assert_eq!(graph.wait_for(&c, &[101]).expect("not the lightest").len(), 1);
        assert!(b.is_doomed() && !a.is_doomed() && !c.is_doomed());
        let report = graph.latest_deadlock().expect("there was one");
        assert_eq!(report.members.iter().map(|m| m.owner).collect::<Vec<_>>(), [103, 101, 102]);
        // The victim's edges are gone: the same cycle is not found again, and it cannot wait on.
        assert!(graph.wait_for(&a, &[102, 8]).expect("no cycle").is_empty());
        assert_eq!(graph.wait_for(&b, &[103]).err(), Some(Deadlock));
        graph.leave(&b);
        assert_eq!(graph.waits().len(), 2);
    }

    #[test]
    fn the_caller_is_the_victim_among_equals() {
        let graph = WaitGraph::default();
        let (a, b) = (graph.enter(1, 0, Arc::new(Nowhere)), graph.enter(2, 0, Arc::new(Nowhere)));
        assert!(graph.wait_for(&a, &[2]).is_ok());
        assert_eq!(graph.wait_for(&b, &[1]).err(), Some(Deadlock));
        assert_eq!(graph.deadlock_count(), 1);
        graph.leave(&b);
        graph.set_detection(false);
        let b = graph.enter(2, 0, Arc::new(Nowhere));
        assert!(graph.wait_for(&b, &[1]).is_ok());
        graph.set_detection(true);
        assert_eq!(graph.wait_for(&b, &[1, 2]).err(), Some(Deadlock), "one's own lock is a cycle too");
    }
}
