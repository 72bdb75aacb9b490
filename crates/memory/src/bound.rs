//! What the process may hold: one bound for all that asks.
//!
//! ```text
//!   held = the heap's bytes + what was promised and not taken yet + how far residence is above the heap
//! ```
//! Whoever is about to take much asks first: [`has_room`] where it asks again soon and takes little by little,
//! [`promise`] where it takes much at once, so that many who ask at the same moment are not all told of the same room.
//!
//! The heap's count does not know of pages that the allocator keeps and of stacks. So residence is looked at whenever
//! the heap has moved by [`LOOK_BYTES`], and for all that is large. Where it is more than a thirty-second above the
//! heap it counts in its place; before anything is refused for that, the allocator is asked to give back what it keeps
//! ([`set_collector`]). Without a metered allocator residence is all that is known.

use crate::metered::process_bytes;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

/// Bytes by which the heap moves between two looks at residence.
const LOOK_BYTES: usize = 16 << 20;

/// Requests of so many bytes are worth a look at residence each.
const LARGE_BYTES: usize = 1 << 20;

/// This share of residence is not held against who asks.
const SLACK_SHARE: usize = 32;

/// Milliseconds between two collections where there is no more excess than after the first.
const COLLECT_MS: u64 = 50;

/// 0: no bound.
static LIMIT_BYTES: AtomicUsize = AtomicUsize::new(0);
static PROMISED_BYTES: AtomicUsize = AtomicUsize::new(0);
/// The heap's bytes when residence was looked at last, and how far that was above them.
static LOOKED_AT: AtomicUsize = AtomicUsize::new(0);
static EXCESS_BYTES: AtomicUsize = AtomicUsize::new(0);
/// When the allocator was last asked for what it keeps, and the excess after that.
static COLLECTED_MS: AtomicU64 = AtomicU64::new(0);
static KEPT_BYTES: AtomicUsize = AtomicUsize::new(0);
static COLLECTOR: OnceLock<fn()> = OnceLock::new();

/// The process may hold `bytes`; 0: whatever it takes.
pub fn set_limit(bytes: usize) {
    LIMIT_BYTES.store(bytes, Ordering::Relaxed);
}

pub fn limit_bytes() -> usize {
    LIMIT_BYTES.load(Ordering::Relaxed)
}

/// What each of many sessions may have in hand without asking: `most`, or less where the process may hold little.
pub fn part_bytes(most: usize) -> usize {
    match limit_bytes() {
        0 => most,
        limit => most.min((limit / PART_SHARE).max(PART_BYTES_MIN)),
    }
}

/// The share of the bound that is a part, and the least part.
const PART_SHARE: usize = 1024;
const PART_BYTES_MIN: usize = 256 << 10;

/// What makes the allocator give pages back that it keeps. For the start of a program, once.
pub fn set_collector(collect: fn()) {
    let _ = COLLECTOR.set(collect);
}

/// Whether the process may take `bytes` more.
#[inline]
pub fn has_room(bytes: usize) -> bool {
    has_room_beside(bytes, 0)
}

/// The same of who leaves `spare` bytes to others.
pub fn has_room_beside(bytes: usize, spare: usize) -> bool {
    fits(bytes.saturating_add(spare), bytes >= LARGE_BYTES)
}

fn fits(more: usize, large: bool) -> bool {
    let limit = limit_bytes();
    if limit == 0 {
        return true;
    }
    let wanted = more.saturating_add(PROMISED_BYTES.load(Ordering::Relaxed));
    let Some(heap) = process_bytes() else {
        return resident_bytes().is_none_or(|held| held.saturating_add(wanted) <= limit);
    };
    if large || heap.abs_diff(LOOKED_AT.load(Ordering::Relaxed)) >= LOOK_BYTES {
        look(heap);
    }
    let excess = EXCESS_BYTES.load(Ordering::Relaxed);
    if heap.saturating_add(excess).saturating_add(wanted) <= limit {
        return true;
    }
    excess > 0 && collected(excess) && {
        let heap = process_bytes().unwrap_or(heap);
        look(heap);
        let excess = EXCESS_BYTES.load(Ordering::Relaxed);
        KEPT_BYTES.store(excess, Ordering::Relaxed);
        heap.saturating_add(excess).saturating_add(wanted) <= limit
    }
}

/// Bytes that are about to be taken; others see them taken until this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Promise(usize);

/// Room for `bytes` that are taken at once; `None` where there is none.
pub fn promise(bytes: usize) -> Option<Promise> {
    PROMISED_BYTES.fetch_add(bytes, Ordering::Relaxed);
    let promise = Promise(bytes);
    fits(0, bytes >= LARGE_BYTES).then_some(promise)
}

impl Drop for Promise {
    fn drop(&mut self) {
        PROMISED_BYTES.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// Grows a buffer to hold `more` bytes, exactly; false, and nothing has changed, where the process has no room for
/// them.
pub fn try_grow(buffer: &mut Vec<u8>, more: usize) -> bool {
    promise(more).is_some_and(|_held| buffer.try_reserve_exact(more).is_ok())
}

#[cold]
fn look(heap: usize) {
    let held = resident_bytes().map_or(0, |b| b - b / SLACK_SHARE);
    EXCESS_BYTES.store(held.saturating_sub(heap), Ordering::Relaxed);
    LOOKED_AT.store(heap, Ordering::Relaxed);
}

/// Whether the allocator has given back what it keeps: now, or a moment ago if it keeps no more since.
#[cold]
fn collected(excess: usize) -> bool {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    let Some(collect) = COLLECTOR.get() else { return false };
    let now = BEGAN.get_or_init(Instant::now).elapsed().as_millis() as u64 + COLLECT_MS;
    let last = COLLECTED_MS.load(Ordering::Relaxed);
    let keeps_more = excess > KEPT_BYTES.load(Ordering::Relaxed).saturating_add(LARGE_BYTES);
    if (keeps_more || now - last.min(now) >= COLLECT_MS)
        && COLLECTED_MS.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    {
        collect();
    }
    true
}

/// What of the process is in memory besides what files hold, where the system tells.
#[cfg(target_os = "linux")]
pub fn resident_bytes() -> Option<usize> {
    use std::os::unix::fs::FileExt;
    static STATM: OnceLock<Option<std::fs::File>> = OnceLock::new();
    let file = STATM.get_or_init(|| std::fs::File::open("/proc/self/statm").ok()).as_ref()?;
    let mut text = [0; 128];
    let len = file.read_at(&mut text, 0).ok()?;
    // size resident shared ...
    let mut pages = str::from_utf8(&text[..len]).ok()?.split(' ').skip(1).map(str::parse::<usize>);
    let (resident, shared) = (pages.next()?.ok()?, pages.next()?.ok()?);
    resident.saturating_sub(shared).checked_mul(rustix::param::page_size())
}

#[cfg(not(target_os = "linux"))]
pub fn resident_bytes() -> Option<usize> {
    None
}
