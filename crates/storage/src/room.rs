//! Room for rows: how much memory the process may take before its tables are given no more of it.
//!
//! Tables lie in memory, so a table that grows without end would end the process, and with it everybody's sessions. Before
//! a table takes a leaf, or a row brings long strings, it asks here; where there is no room the statement fails with
//! error 1114, and what it did is taken back. What the process holds is asked of the system, as it counts all there is
//! besides the rows themselves: indexes, versions, statements. It is asked whenever [`LOOK_BYTES`] were taken since.
//!
//! What is told is the resident memory, which follows what is freed a moment later. A refusal is never remembered: each
//! asks anew.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Bytes that tables take between two looks at what the process holds.
const LOOK_BYTES: u64 = 16 << 20;

/// See the module head.
#[derive(Debug, Default)]
pub struct Room {
    /// 0: no limit.
    limit_bytes: AtomicUsize,
    /// Taken since the last look.
    taken_bytes: AtomicU64,
}

impl Room {
    /// The process may have `bytes`, 0: whatever it takes.
    pub fn set_limit(&self, bytes: usize) {
        self.limit_bytes.store(bytes, Ordering::Relaxed);
        // The next who asks looks.
        self.taken_bytes.store(LOOK_BYTES, Ordering::Relaxed);
    }

    pub fn limit_bytes(&self) -> usize {
        self.limit_bytes.load(Ordering::Relaxed)
    }

    /// Whether a table may take `bytes` more.
    pub fn has(&self, bytes: usize) -> bool {
        let limit = self.limit_bytes();
        if limit == 0 {
            return true;
        }
        let taken = self.taken_bytes.fetch_add(bytes as u64, Ordering::Relaxed).saturating_add(bytes as u64);
        if taken < LOOK_BYTES {
            return true;
        }
        let has = resident_bytes().is_none_or(|held| held.saturating_add(bytes) <= limit);
        self.taken_bytes.store(if has { 0 } else { LOOK_BYTES }, Ordering::Relaxed);
        has
    }
}

/// What of the process is in memory, where the system tells.
fn resident_bytes() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_below_what_is_held_leaves_no_room() {
        let room = Room::default();
        assert!(room.has(usize::MAX), "no limit");
        room.set_limit(1);
        let told = resident_bytes().is_some();
        assert_eq!(room.has(1), !told);
        assert_eq!(room.has(1), !told, "and none later");
        room.set_limit(usize::MAX);
        assert!(room.has(1));
        assert!(room.has(LOOK_BYTES as usize));
    }
}
