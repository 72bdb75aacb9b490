//! The reserve: address space that is held for the moment when the system refuses more.
//!
//! ```text
//!  whole ── the allocator was refused [give_back] ──▶ spent ── asked for when there is memory [is_exhausted] ──▶ whole
//! ```
//! It is mapped, never written to, and so costs no memory where limits are on what is resident.

use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

static RESERVE: AtomicPtr<std::ffi::c_void> = AtomicPtr::new(std::ptr::null_mut());
static RESERVE_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Requests above this share of the reserve are refused without spending it.
const SERVED_SHARE: usize = 4;

/// Holds `bytes` of address space for when memory ends; 0 for none. Whether the system granted them. For the start of a
/// program, once.
pub fn set_reserve(bytes: usize) -> bool {
    RESERVE_BYTES.store(bytes, Ordering::Relaxed);
    take()
}

/// Whether the system has refused memory, and does so still: what is not needed for ending statements should fail.
/// Costs a load as long as the reserve is whole.
#[inline]
pub fn is_exhausted() -> bool {
    RESERVE_BYTES.load(Ordering::Relaxed) != 0 && RESERVE.load(Ordering::Relaxed).is_null() && !take()
}

#[cfg(unix)]
#[cold]
fn take() -> bool {
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
    let bytes = RESERVE_BYTES.load(Ordering::Relaxed);
    if bytes == 0 || !RESERVE.load(Ordering::Acquire).is_null() {
        return true;
    }
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: a new mapping at a place of the system's choice; nobody reads or writes it.
    let Ok(at) = (unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, flags) })
    else {
        return false;
    };
    if RESERVE.compare_exchange(std::ptr::null_mut(), at, Ordering::AcqRel, Ordering::Relaxed).is_err() {
        // SAFETY: another thread was faster; this mapping is nobody's.
        let _ = unsafe { munmap(at, bytes) };
    }
    true
}

#[cfg(not(unix))]
fn take() -> bool {
    true
}

/// Gives the reserve back to the system, so that a request of `size` bytes may be served. False: it is too much to
/// hope.
#[cfg(unix)]
pub(crate) fn give_back(size: usize) -> bool {
    let bytes = RESERVE_BYTES.load(Ordering::Relaxed);
    if size > bytes / SERVED_SHARE {
        return false;
    }
    let at = RESERVE.swap(std::ptr::null_mut(), Ordering::AcqRel);
    if !at.is_null() {
        // SAFETY: it was mapped with these bytes, and whoever swaps it out has it alone.
        let _ = unsafe { rustix::mm::munmap(at, bytes) };
    }
    // Without a reserve another thread may have given it back a moment ago.
    true
}

#[cfg(not(unix))]
pub(crate) fn give_back(_: usize) -> bool {
    false
}
