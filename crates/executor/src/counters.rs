//! What a running statement counts: the status variables that operators move, once a batch.
//!
//! One [`StatementCounters`] belongs to a session and is all zeros between statements: whoever runs a plan takes the
//! figures when it ends ([`StatementCounters::take`]) and adds them to the session's. Other threads may look meanwhile,
//! for the progress of a statement.

use plan::PlanCounts;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// See the module head.
        #[derive(Debug, Default)]
        pub struct StatementCounters {
            $($(#[$doc])* pub $name: AtomicU64,)*
        }

        /// Figures that a statement has counted.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct StatementCounts {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl StatementCounters {
            /// The figures so far.
            pub fn load(&self) -> StatementCounts {
                StatementCounts { $($name: self.$name.load(Relaxed),)* }
            }

            /// The figures so far; they are zero again. Only for the statement's thread, when its helpers have left.
            pub fn take(&self) -> StatementCounts {
                StatementCounts { $($name: take(&self.$name),)* }
            }
        }

        impl StatementCounts {
            /// What was counted between `earlier` and this.
            pub fn since(&self, earlier: &StatementCounts) -> StatementCounts {
                StatementCounts { $($name: self.$name.wrapping_sub(earlier.$name),)* }
            }
        }
    };
}

/// Most are zero, and a plain store is cheaper than an exchange.
fn take(counter: &AtomicU64) -> u64 {
    let n = counter.load(Relaxed);
    if n != 0 {
        counter.store(0, Relaxed);
    }
    n
}

counters! {
    created_tmp_tables,
    /// Of them, those that went to disk.
    created_tmp_disk_tables,
    /// Index entries on which a pushed condition was tested, and those that passed.
    handler_icp_attempts,
    handler_icp_match,
    /// Multi-range reads begun; further fillings of their buffers, of row ids and of keys.
    handler_mrr_init,
    handler_mrr_rowid_refills,
    handler_mrr_key_refills,
    /// Walks that began at an index's first entry, and at its last.
    handler_read_first,
    handler_read_last,
    /// Keys looked for.
    handler_read_key,
    /// Entries walked over in indexes, in their order and against it.
    handler_read_next,
    handler_read_prev,
    /// Rows read by row id, found before.
    handler_read_rnd,
    /// Rows read by scans.
    handler_read_rnd_next,
    /// Leaves and rows asked for; those that were not in memory, and were read ahead.
    innodb_buffer_pool_read_requests,
    innodb_buffer_pool_reads,
    innodb_buffer_pool_read_ahead,
    /// Bytes and reads of files.
    innodb_data_read,
    innodb_data_reads,
    innodb_pages_read,
    /// Visible rows read, before conditions.
    innodb_rows_read,
    select_full_join,
    select_full_range_join,
    select_range,
    select_range_check,
    select_scan,
    sort_merge_passes,
    sort_range,
    sort_rows,
    sort_scan,
    leaves_read,
    /// Leaves that zone maps made unnecessary.
    leaves_skipped,
    leaves_total,
    spilled_bytes,
}

impl StatementCounters {
    /// `n` rows were read by scanning a leaf.
    pub fn scanned(&self, n: u64) {
        self.innodb_rows_read.fetch_add(n, Relaxed);
        self.handler_read_rnd_next.fetch_add(n, Relaxed);
    }

    /// `n` rows were read that an index had found.
    pub fn read_by_index(&self, n: u64) {
        self.innodb_rows_read.fetch_add(n, Relaxed);
        self.innodb_buffer_pool_read_requests.fetch_add(n, Relaxed);
    }

    /// Adds what follows from the plan alone.
    pub fn note_plan(&self, counts: &PlanCounts) {
        for (counter, n) in [
            (&self.select_scan, counts.select_scan),
            (&self.select_range, counts.select_range),
            (&self.select_full_join, counts.select_full_join),
            (&self.select_full_range_join, counts.select_full_range_join),
            (&self.sort_scan, counts.sort_scan),
            (&self.sort_range, counts.sort_range),
            (&self.created_tmp_tables, counts.created_tmp_tables),
        ] {
            if n != 0 {
                counter.fetch_add(n.into(), Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_taken_once() {
        let c = StatementCounters::default();
        c.scanned(3);
        c.read_by_index(2);
        let before = c.load();
        c.scanned(1);
        assert_eq!(c.load().since(&before).handler_read_rnd_next, 1);
        let counts = c.take();
        assert_eq!((counts.innodb_rows_read, counts.handler_read_rnd_next), (6, 4));
        assert_eq!(c.take(), StatementCounts::default());
    }
}
