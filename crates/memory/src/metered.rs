//! The allocator that counts, see the crate's head.

use crate::reserve;
use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};

/// What a thread keeps to itself before it tells the process's count.
pub const TALLY_BYTES_MAX: usize = 64 << 10;

static PROCESS_BYTES: AtomicIsize = AtomicIsize::new(0);
static IS_METERED: AtomicBool = AtomicBool::new(false);

/// One thread's count.
struct Tally {
    /// Net bytes since the thread began.
    net: Cell<isize>,
    /// How many of these the process's count knows of.
    told: Cell<isize>,
}

impl Tally {
    #[cold]
    fn tell(&self) {
        let net = self.net.get();
        PROCESS_BYTES.fetch_add(net - self.told.replace(net), Ordering::Relaxed);
        IS_METERED.store(true, Ordering::Relaxed);
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        self.tell();
    }
}

thread_local! {
    static TALLY: Tally = const { Tally { net: Cell::new(0), told: Cell::new(0) } };
}

#[inline]
fn count(bytes: isize) {
    let counted = TALLY.try_with(|tally| {
        let net = tally.net.get() + bytes;
        tally.net.set(net);
        if (net - tally.told.get()).unsigned_abs() > TALLY_BYTES_MAX {
            tally.tell();
        }
    });
    if counted.is_err() {
        // The thread ends, and its tally has been told.
        PROCESS_BYTES.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Bytes of the process's heap, give or take [`TALLY_BYTES_MAX`] a thread. `None` where no [`Metered`] allocator is
/// installed.
#[inline]
pub fn process_bytes() -> Option<usize> {
    let is_metered = IS_METERED.load(Ordering::Relaxed);
    is_metered.then(|| usize::try_from(PROCESS_BYTES.load(Ordering::Relaxed)).unwrap_or(0))
}

/// Net bytes of the calling thread since it began; 0 where no [`Metered`] allocator is installed.
#[inline]
pub fn thread_bytes() -> isize {
    TALLY.try_with(|tally| tally.net.get()).unwrap_or(0)
}

/// An allocator that counts what `A` gives, and asks it again with the reserve given back when it refuses.
#[derive(Debug)]
pub struct Metered<A>(pub A);

// SAFETY: all memory is A's; what is done beside it neither allocates nor unwinds.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Metered<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promises are those that A asks for.
        let at = unsafe { self.0.alloc(layout) };
        // SAFETY: as above.
        if at.is_null() { unsafe { refused(layout.size(), || self.0.alloc(layout)) } } else { at }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as above.
        let at = unsafe { self.0.alloc_zeroed(layout) };
        // SAFETY: as above.
        if at.is_null() { unsafe { refused(layout.size(), || self.0.alloc_zeroed(layout)) } } else { at }
    }

    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as above.
        unsafe { self.0.dealloc(at, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let growth = new_size as isize - layout.size() as isize;
        count(growth);
        // SAFETY: as above.
        let new = unsafe { self.0.realloc(at, layout, new_size) };
        if !new.is_null() {
            return new;
        }
        // SAFETY: as above; a refused reallocation leaves the memory as it was. Only growth is counted back.
        unsafe { refused(growth.unsigned_abs(), || self.0.realloc(at, layout, new_size)) }
    }
}

/// Gives the reserve back and asks once more. `size` was counted already.
///
/// # Safety
/// `again` may be called once.
#[cold]
unsafe fn refused(size: usize, again: impl FnOnce() -> *mut u8) -> *mut u8 {
    // A request that no reserve could serve is the caller's to answer for (`try_reserve`).
    let at = if reserve::give_back(size) { again() } else { std::ptr::null_mut() };
    if at.is_null() {
        count(-(size as isize));
    }
    at
}
