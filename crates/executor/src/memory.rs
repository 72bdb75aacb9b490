//! The memory accountant: who may hold how many bytes.
//!
//! ```text
//!   global (all statements)  ◀── child: one statement (max_query_memory)  ◀── Reservation: one operator's state
//!                                    ▲── gauge: one operator ◀── Reservation                   (EXPLAIN ANALYZE)
//!                                          ▲── bound: one sort or table ◀── Reservation    (sort_buffer_size, ...)
//! ```
//! What is charged is what operators account for. Above it stands the process's own bound (`max_server_memory`), which
//! counts all there is: tables, packets, strings ([`memory::has_room`]). A refusal by it is like one by the statement's
//! limit: what can spill does, the rest is error 3170.
//!
//! A bound is a limit beneath the statement's that makes what can spill do so earlier. It never makes a statement fail:
//! what cannot spill does not see it.
//!
//! An operator reserves *before* it grows. A refused reservation is no error: the operator spills what it holds and
//! goes on with less. Only what cannot be made smaller (one batch in flight, one group's state) is taken with
//! [`Reservation::force`], which always succeeds and shows in the peak. What could grow without end and cannot be
//! spilled (one window partition's arguments, the rows a recursion has seen) is taken with [`Reservation::hold`]: error
//! 3170.
//!
//! Invariants
//! 1. `used` is the sum of the live reservations; a dropped reservation returns its bytes.
//! 2. A child's bytes are also counted in every ancestor.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use types::{Error, Result};

/// What an accountant counts for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// The process or a statement.
    Limit,
    /// Counts one operator's bytes; the limits are its parent's.
    Gauge,
    /// Bounds the states of one sort or one internal temporary table together.
    Bound,
}

/// Bytes in use under a limit, with an optional parent that is charged too.
#[derive(Debug)]
pub struct MemoryAccountant {
    limit_bytes: AtomicUsize,
    used_bytes: AtomicUsize,
    peak_bytes: AtomicUsize,
    parent: Option<Arc<MemoryAccountant>>,
    role: Role,
    /// The statement was stopped: what it holds is freed behind its back.
    abandoned: AtomicBool,
}

impl MemoryAccountant {
    /// A root: the whole process, or a test.
    pub fn new(limit_bytes: usize) -> Arc<MemoryAccountant> {
        MemoryAccountant::make(limit_bytes, None, Role::Limit)
    }

    /// One statement's share of `parent`.
    pub fn child(parent: &Arc<MemoryAccountant>, limit_bytes: usize) -> Arc<MemoryAccountant> {
        MemoryAccountant::make(limit_bytes, Some(parent), Role::Limit)
    }

    /// Counts what one operator of `statement` holds, for its peak; the limits are the statement's.
    pub fn gauge(statement: &Arc<MemoryAccountant>) -> Arc<MemoryAccountant> {
        MemoryAccountant::make(usize::MAX, Some(statement), Role::Gauge)
    }

    /// One sort or table of an operator, whose states hold about `limit_bytes` together before they spill. `upon`: the
    /// operator's gauge or the statement.
    pub fn bound(upon: &Arc<MemoryAccountant>, limit_bytes: usize) -> Arc<MemoryAccountant> {
        MemoryAccountant::make(limit_bytes, Some(upon), Role::Bound)
    }

    fn make(limit_bytes: usize, parent: Option<&Arc<MemoryAccountant>>, role: Role) -> Arc<MemoryAccountant> {
        Arc::new(MemoryAccountant {
            limit_bytes: AtomicUsize::new(limit_bytes),
            used_bytes: AtomicUsize::new(0),
            peak_bytes: AtomicUsize::new(0),
            parent: parent.cloned(),
            role,
            abandoned: AtomicBool::new(false),
        })
    }

    /// Notes that the statement was stopped, and waits for nothing but to give its answer.
    pub fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
    }

    /// Whose limit counts: the statement that gauges and bounds belong to.
    fn statement(&self) -> &MemoryAccountant {
        let mut a = self;
        while let (Role::Gauge | Role::Bound, Some(p)) = (a.role, &a.parent) {
            a = p;
        }
        a
    }

    /// Whether the bound allows a state of `bytes` that has grown by `growth`. Each state has a small share whatever
    /// others do. Later phases (`spare`, see [`Reservation::try_resize_sparing`]) run beside what earlier ones have
    /// left and may take as much again, up to twice the bound.
    fn is_in_bound(&self, bytes: usize, growth: usize, spare: u32) -> bool {
        if self.role != Role::Bound {
            return true;
        }
        let limit = self.limit_bytes();
        let more = limit - (limit >> (spare.clamp(1, 16) - 1));
        bytes <= limit / GUARANTEED_SHARE || self.used_bytes().saturating_add(growth) <= limit.saturating_add(more)
    }

    pub fn set_limit(&self, limit_bytes: usize) {
        self.limit_bytes.store(limit_bytes, Ordering::Relaxed);
    }

    pub fn limit_bytes(&self) -> usize {
        self.limit_bytes.load(Ordering::Relaxed)
    }

    pub fn used_bytes(&self) -> usize {
        self.used_bytes.load(Ordering::Relaxed)
    }

    pub fn peak_bytes(&self) -> usize {
        self.peak_bytes.load(Ordering::Relaxed)
    }

    fn charge(&self, bytes: usize) {
        let now = self.used_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak_bytes.fetch_max(now, Ordering::Relaxed);
        if let Some(p) = &self.parent {
            p.charge(bytes);
        }
    }

    /// Bounds are asked apart ([`MemoryAccountant::is_in_bound`]).
    fn fits(&self, bytes: usize) -> bool {
        (self.role == Role::Bound || self.used_bytes().saturating_add(bytes) <= self.limit_bytes())
            && self.parent.as_ref().map_or_else(|| memory::has_room(bytes), |p| p.fits(bytes))
    }

    /// Whether a state of `bytes` that has grown by `growth` is small enough to be granted whatever others hold.
    fn is_granted(&self, bytes: usize, growth: usize) -> bool {
        bytes <= self.limit_bytes() / GUARANTEED_SHARE && (bytes <= NEVER_REFUSED_BYTES || memory::has_room(growth))
    }

    /// Why `growth` was refused.
    fn refusal(&self, growth: usize, what: &str) -> Error {
        if memory::has_room(growth) {
            return Error::capacity_exceeded(self.limit_bytes(), "max_query_memory", what);
        }
        process_refusal(what)
    }

    /// Charges `bytes` if every limit allows. Two threads may both pass a limit that only one of them fits: the
    /// overshoot is one batch a thread, which the limit's slack covers.
    fn try_charge(&self, bytes: usize) -> bool {
        let ok = self.fits(bytes);
        if ok {
            self.charge(bytes);
        }
        ok
    }

    fn release(&self, bytes: usize) {
        let before = self.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(before >= bytes, "more memory returned than taken");
        if let Some(p) = &self.parent {
            p.release(bytes);
        }
    }
}

fn process_refusal(what: &str) -> Error {
    Error::capacity_exceeded(memory::limit_bytes(), "max_server_memory", what)
}

/// For what an operator copies at once, of one row or one group: error 3170 where the process has no room for it.
/// Little is never refused.
pub fn check_room(bytes: usize, what: &str) -> Result<()> {
    if bytes <= NEVER_REFUSED_BYTES || memory::has_room(bytes) { Ok(()) } else { Err(process_refusal(what)) }
}

/// For what is little, but is held from statement to statement, and may be many: error 3170 where the process has
/// reached its bound.
pub fn check_not_full(what: &str) -> Result<()> {
    if memory::has_room(0) { Ok(()) } else { Err(process_refusal(what)) }
}

/// The part of a statement's limit that each operator's state may hold whatever others do.
const GUARANTEED_SHARE: usize = 16;
/// What is granted whatever the process holds.
const NEVER_REFUSED_BYTES: usize = 1 << 20;
/// Less than this is freed at once.
const FREED_IN_PLACE_MAX: usize = 4 << 20;

/// Bytes held by one state of one operator; returned on drop.
#[derive(Debug)]
pub struct Reservation {
    accountant: Arc<MemoryAccountant>,
    bytes: usize,
    peak: usize,
}

impl Reservation {
    pub fn new(accountant: &Arc<MemoryAccountant>) -> Reservation {
        Reservation { accountant: accountant.clone(), bytes: 0, peak: 0 }
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn peak(&self) -> usize {
        self.peak
    }

    /// Frees `garbage`, on which these bytes were spent. The system takes long to take back gigabytes: a statement that
    /// was stopped leaves them to a thread of their own. The bytes stay charged until they are free.
    pub fn free<T: Send + 'static>(&mut self, garbage: T) {
        let mut bytes = self.take();
        if bytes.bytes < FREED_IN_PLACE_MAX || !self.accountant.statement().abandoned.load(Ordering::Relaxed) {
            return;
        }
        // Where no thread is to be had, the closure is dropped here, and all with it.
        let _ = std::thread::Builder::new().name("nextleaf-free".into()).spawn(move || {
            drop(garbage);
            bytes.force(0);
        });
    }

    /// An empty reservation with the same accountant.
    pub fn fellow(&self) -> Reservation {
        Reservation::new(&self.accountant)
    }

    /// All bytes as a reservation of their own.
    pub fn take(&mut self) -> Reservation {
        self.split_off(self.bytes)
    }

    /// Up to `bytes` of this as a reservation of their own.
    pub fn split_off(&mut self, bytes: usize) -> Reservation {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Reservation { accountant: self.accountant.clone(), bytes, peak: bytes }
    }

    /// Sets the reservation to `bytes`; false (and unchanged) if a limit forbids it. Shrinking always succeeds.
    #[must_use]
    pub fn try_resize(&mut self, bytes: usize) -> bool {
        let growth = bytes.saturating_sub(self.bytes);
        (growth == 0 || self.accountant.is_in_bound(bytes, growth, 1)) && self.try_resize_unbound(bytes)
    }

    /// The same by the statement's limit alone.
    fn try_resize_unbound(&mut self, bytes: usize) -> bool {
        if bytes == self.bytes {
            return true;
        }
        if bytes > self.bytes {
            if !self.accountant.try_charge(bytes - self.bytes) {
                return false;
            }
        } else {
            self.accountant.release(self.bytes - bytes);
        }
        self.bytes = bytes;
        self.peak = self.peak.max(bytes);
        true
    }

    /// Like [`Reservation::try_resize`], but leaves `1/2^spare` of the statement's limit to others: what an operator's
    /// first phase may take when a second phase will need memory too. A small share is always granted: without it an
    /// operator whose neighbours hold everything would spill row by row.
    #[must_use]
    pub fn try_resize_sparing(&mut self, bytes: usize, spare: u32) -> bool {
        let growth = bytes.saturating_sub(self.bytes);
        if growth > 0 && !self.accountant.is_in_bound(bytes, growth, spare) {
            return false;
        }
        let statement = self.accountant.statement();
        let limit = statement.limit_bytes();
        if statement.is_granted(bytes, growth) {
            self.force(bytes);
            return true;
        }
        let spare_bytes = limit >> spare.clamp(1, 16);
        if growth > 0 && statement.used_bytes().saturating_add(growth) > limit - spare_bytes {
            return false;
        }
        self.try_resize_unbound(bytes)
    }

    /// Sets the reservation to `bytes` whatever the limits say: for what cannot be made smaller.
    pub fn force(&mut self, bytes: usize) {
        if bytes == self.bytes {
            return;
        }
        if bytes > self.bytes {
            self.accountant.charge(bytes - self.bytes);
        } else {
            self.accountant.release(self.bytes - bytes);
        }
        self.bytes = bytes;
        self.peak = self.peak.max(bytes);
    }

    /// For what can neither be made smaller nor spilled: a refusal is error 3170. A small share is always granted.
    pub fn hold(&mut self, bytes: usize, what: &str) -> Result<()> {
        let growth = bytes.saturating_sub(self.bytes);
        if self.accountant.statement().is_granted(bytes, growth) {
            self.force(bytes);
            return Ok(());
        }
        if self.try_resize_unbound(bytes) { Ok(()) } else { Err(self.accountant.statement().refusal(growth, what)) }
    }

    /// The same of what is seldom much: a statement does not fail for little, however little it may hold.
    pub fn hold_long(&mut self, bytes: usize, what: &str) -> Result<()> {
        if bytes <= NEVER_REFUSED_BYTES {
            self.force(bytes);
            return Ok(());
        }
        self.hold(bytes, what)
    }

    /// Takes over the bytes of `other`.
    pub fn absorb(&mut self, mut other: Reservation) {
        self.bytes += std::mem::take(&mut other.bytes);
        self.peak = self.peak.max(self.bytes);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.accountant.release(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_charged_to_their_parent_and_return_everything() {
        let root = MemoryAccountant::new(100);
        let a = MemoryAccountant::child(&root, 80);
        let b = MemoryAccountant::child(&root, 80);
        let mut ra = Reservation::new(&a);
        let mut rb = Reservation::new(&b);
        assert!(ra.try_resize(70));
        assert!(!rb.try_resize(40), "the parent has 30 left");
        assert!(rb.try_resize(30));
        assert!(!ra.try_resize(90), "the child's own limit");
        rb.force(60);
        assert_eq!(root.used_bytes(), 130);
        drop(ra);
        drop(rb);
        assert_eq!((root.used_bytes(), a.used_bytes(), b.used_bytes()), (0, 0, 0));
        assert_eq!(root.peak_bytes(), 130);
    }

    #[test]
    fn a_bound_refuses_what_can_spill_and_nothing_else() {
        let root = MemoryAccountant::new(1 << 20);
        let bound = MemoryAccountant::bound(&MemoryAccountant::gauge(&root), 1600);
        let (mut a, mut b) = (Reservation::new(&bound), Reservation::new(&bound));
        assert!(a.try_resize_sparing(1600, 1));
        assert!(!b.try_resize_sparing(101, 1), "the states share the bound");
        assert!(b.try_resize_sparing(100, 1), "a small share is always granted");
        assert!(b.try_resize_sparing(600, 2), "a second phase has half as much again");
        assert!(!b.try_resize(800));
        b.hold(5000, "what cannot spill").expect("bounds are for what can spill");
        assert_eq!((bound.used_bytes(), root.used_bytes()), (6600, 6600));
        assert!(a.try_resize(10), "shrinking always succeeds");
        drop((a, b));
        assert_eq!((bound.used_bytes(), root.used_bytes()), (0, 0));
    }
}
