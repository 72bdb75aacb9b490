//! How many rows of a table were read and changed, by the index through which they were found.
//!
//! ```text
//!   operators, once a batch ────────┐
//!   flat plans, once a statement ───┴─▶ IndexIo ── lane 0..4, by session ──▶ sums, when somebody asks
//! ```
//! The figures are those of performance_schema.table_io_waits_summary_by_index_usage. Sessions are spread over a few
//! lanes, each a cache line of its own, so that sessions that read one table seldom wait for each other's additions.
//! The figures belong to the index: they stay with it when others are made or dropped, and begin at zero when the
//! server starts.

use crate::sync::{AtomicU64, Ordering};
use crate::table::Table;
use std::sync::Arc;

const LANES: usize = 4;

/// Rows read and changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoCounts {
    pub fetched: u64,
    pub inserted: u64,
    pub updated: u64,
    pub deleted: u64,
}

impl std::ops::AddAssign for IoCounts {
    fn add_assign(&mut self, other: IoCounts) {
        self.fetched += other.fetched;
        self.inserted += other.inserted;
        self.updated += other.updated;
        self.deleted += other.deleted;
    }
}

#[derive(Debug)]
#[repr(align(64))]
struct Lane {
    fetched: AtomicU64,
    inserted: AtomicU64,
    updated: AtomicU64,
    deleted: AtomicU64,
}

/// The figures of one index, or of rows that came without one.
#[derive(Debug)]
pub struct IndexIo {
    lanes: [Lane; LANES],
}

impl Default for IndexIo {
    fn default() -> IndexIo {
        let zero = || AtomicU64::new(0);
        let lane = |_| Lane { fetched: zero(), inserted: zero(), updated: zero(), deleted: zero() };
        IndexIo { lanes: std::array::from_fn(lane) }
    }
}

impl IndexIo {
    fn lane(&self, session: u32) -> &Lane {
        &self.lanes[session as usize % LANES]
    }

    /// Rows were read, by the session of this number.
    pub fn fetched(&self, session: u32, rows: u64) {
        add(&self.lane(session).fetched, rows);
    }

    pub fn inserted(&self, session: u32, rows: u64) {
        add(&self.lane(session).inserted, rows);
    }

    pub fn updated(&self, session: u32, rows: u64) {
        add(&self.lane(session).updated, rows);
    }

    pub fn deleted(&self, session: u32, rows: u64) {
        add(&self.lane(session).deleted, rows);
    }

    pub fn counts(&self) -> IoCounts {
        let mut sum = IoCounts::default();
        for lane in &self.lanes {
            let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
            sum += IoCounts {
                fetched: of(&lane.fetched),
                inserted: of(&lane.inserted),
                updated: of(&lane.updated),
                deleted: of(&lane.deleted),
            };
        }
        sum
    }

    /// From zero again.
    pub fn clear(&self) {
        for lane in &self.lanes {
            [&lane.fetched, &lane.inserted, &lane.updated, &lane.deleted]
                .iter()
                .for_each(|c| c.store(0, Ordering::Relaxed));
        }
    }
}

fn add(counter: &AtomicU64, n: u64) {
    if n != 0 {
        counter.fetch_add(n, Ordering::Relaxed);
    }
}

/// The figures of a table and of the indexes that it had when this was asked for.
#[derive(Clone, Debug)]
pub struct TableIo {
    without_index: Arc<IndexIo>,
    indexes: Arc<[Arc<IndexIo>]>,
}

impl TableIo {
    /// Of the index at this position of the definition; `None`: of rows that came without one.
    pub fn of(&self, index: Option<usize>) -> &IndexIo {
        index.and_then(|i| self.indexes.get(i)).unwrap_or(&self.without_index)
    }
}

impl Table {
    /// Where reads and changes of the table are counted.
    pub fn io(&self) -> TableIo {
        TableIo { without_index: self.io.clone(), indexes: self.indexes().io.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_summed_up() {
        let io = IndexIo::default();
        for session in 0..10 {
            io.fetched(session, 2);
            io.updated(session, 1);
        }
        io.inserted(7, 3);
        io.deleted(8, 0);
        assert_eq!(io.counts(), IoCounts { fetched: 20, inserted: 3, updated: 10, deleted: 0 });
        io.clear();
        assert_eq!(io.counts(), IoCounts::default());
    }
}
