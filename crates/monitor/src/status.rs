//! Status counters: SHOW STATUS. Counted once per statement or batch, never per row.
//!
//! ```text
//!   operators ─▶ StatementCounters ─┐ when a plan has run
//!   statements ─────────────────────┴▶ SessionStatus ─┐ FLUSH STATUS, the session's end
//!                                            │        ▼
//!              SHOW GLOBAL STATUS  =  all live ones + those that have ended
//! ```
//! Each session counts into cells of its own, which only its thread writes: no two sessions share a cache line, and no
//! statement takes a latch. Who wants the sum adds up the cells of all live sessions.

use executor::StatementCounts;
use parking_lot::Mutex;
use parser::ast::{MaintenanceOp, Statement};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A figure that one thread writes and others may read.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Only for the session's own thread: two additions at once may lose one.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.store(self.get().wrapping_add(n), Ordering::Relaxed);
    }

    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes back what was counted too early.
    pub fn sub(&self, n: u64) {
        self.add(n.wrapping_neg());
    }
}

macro_rules! counters {
    ($($field:ident = $name:literal),* ; $($plan:ident = $plan_name:literal),* $(,)?) => {
        /// Counters of one session.
        #[derive(Debug, Default)]
        pub struct SessionStatus {
            $(pub $field: Counter,)*
            $(pub $plan: Counter,)*
        }

        impl SessionStatus {
            /// Names as SHOW STATUS has them, and values.
            pub fn all(&self) -> Vec<(&'static str, u64)> {
                vec![$(($name, self.$field.get()),)* $(($plan_name, self.$plan.get()),)*]
            }

            /// Adds what plans have counted.
            pub fn add_counts(&self, counts: &StatementCounts) {
                $(if counts.$plan != 0 { self.$plan.add(counts.$plan) })*
            }

            fn add_all(&self, other: &SessionStatus) {
                $(self.$field.add(other.$field.get());)*
                $(self.$plan.add(other.$plan.get());)*
            }

            fn clear(&self) {
                $(self.$field.0.store(0, Ordering::Relaxed);)*
                $(self.$plan.0.store(0, Ordering::Relaxed);)*
            }
        }
    };
}

counters! {
    com_alter_table = "Com_alter_table",
    com_analyze = "Com_analyze",
    com_begin = "Com_begin",
    com_change_db = "Com_change_db",
    com_commit = "Com_commit",
    com_create_db = "Com_create_db",
    com_create_index = "Com_create_index",
    com_create_table = "Com_create_table",
    com_create_user = "Com_create_user",
    com_create_view = "Com_create_view",
    com_drop_db = "Com_drop_db",
    com_drop_index = "Com_drop_index",
    com_drop_table = "Com_drop_table",
    com_drop_user = "Com_drop_user",
    com_drop_view = "Com_drop_view",
    com_flush = "Com_flush",
    com_grant = "Com_grant",
    com_kill = "Com_kill",
    com_lock_tables = "Com_lock_tables",
    com_rename_table = "Com_rename_table",
    com_revoke = "Com_revoke",
    com_rollback = "Com_rollback",
    com_rollback_to_savepoint = "Com_rollback_to_savepoint",
    com_savepoint = "Com_savepoint",
    com_truncate = "Com_truncate",
    com_unlock_tables = "Com_unlock_tables",
    com_delete = "Com_delete",
    com_insert = "Com_insert",
    com_load = "Com_load",
    com_replace = "Com_replace",
    com_select = "Com_select",
    com_set_option = "Com_set_option",
    com_update = "Com_update",
    com_dealloc_sql = "Com_dealloc_sql",
    com_execute_sql = "Com_execute_sql",
    com_prepare_sql = "Com_prepare_sql",
    com_show = "Com_show_tables",
    com_stmt_close = "Com_stmt_close",
    com_stmt_execute = "Com_stmt_execute",
    com_stmt_fetch = "Com_stmt_fetch",
    com_stmt_prepare = "Com_stmt_prepare",
    com_stmt_reprepare = "Com_stmt_reprepare",
    com_stmt_reset = "Com_stmt_reset",
    com_stmt_send_long_data = "Com_stmt_send_long_data",
    handler_commit = "Handler_commit",
    handler_delete = "Handler_delete",
    handler_rollback = "Handler_rollback",
    handler_savepoint = "Handler_savepoint",
    handler_savepoint_rollback = "Handler_savepoint_rollback",
    handler_update = "Handler_update",
    handler_write = "Handler_write",
    innodb_rows_deleted = "Innodb_rows_deleted",
    innodb_rows_inserted = "Innodb_rows_inserted",
    innodb_rows_updated = "Innodb_rows_updated",
    questions = "Questions",
    plan_cache_hits = "Nextleaf_plan_cache_hits",
    plan_cache_misses = "Nextleaf_plan_cache_misses",
    slow_queries = "Slow_queries"
    ;
    created_tmp_disk_tables = "Created_tmp_disk_tables",
    created_tmp_tables = "Created_tmp_tables",
    handler_icp_attempts = "Handler_icp_attempts",
    handler_icp_match = "Handler_icp_match",
    handler_mrr_init = "Handler_mrr_init",
    handler_mrr_key_refills = "Handler_mrr_key_refills",
    handler_mrr_rowid_refills = "Handler_mrr_rowid_refills",
    handler_read_first = "Handler_read_first",
    handler_read_key = "Handler_read_key",
    handler_read_last = "Handler_read_last",
    handler_read_next = "Handler_read_next",
    handler_read_prev = "Handler_read_prev",
    handler_read_rnd = "Handler_read_rnd",
    handler_read_rnd_next = "Handler_read_rnd_next",
    innodb_buffer_pool_read_ahead = "Innodb_buffer_pool_read_ahead",
    innodb_buffer_pool_read_requests = "Innodb_buffer_pool_read_requests",
    innodb_buffer_pool_reads = "Innodb_buffer_pool_reads",
    innodb_data_read = "Innodb_data_read",
    innodb_data_reads = "Innodb_data_reads",
    innodb_pages_read = "Innodb_pages_read",
    innodb_rows_read = "Innodb_rows_read",
    leaves_read = "Nextleaf_leaves_read",
    leaves_skipped = "Nextleaf_leaves_skipped",
    select_full_join = "Select_full_join",
    select_full_range_join = "Select_full_range_join",
    select_range = "Select_range",
    select_range_check = "Select_range_check",
    select_scan = "Select_scan",
    sort_merge_passes = "Sort_merge_passes",
    sort_range = "Sort_range",
    sort_rows = "Sort_rows",
    sort_scan = "Sort_scan",
    spilled_bytes = "Nextleaf_spilled_bytes",
}

impl SessionStatus {
    /// Counts a statement that is not counted where it is done.
    pub fn count_statement(&self, s: &Statement) {
        let counter = match s {
            Statement::AlterTable(_) => &self.com_alter_table,
            Statement::TableMaintenance(t) if t.op == MaintenanceOp::Analyze => &self.com_analyze,
            Statement::Begin(_) => &self.com_begin,
            Statement::Use(_) => &self.com_change_db,
            Statement::Commit(_) => &self.com_commit,
            Statement::CreateDatabase(_) => &self.com_create_db,
            Statement::CreateIndex(_) => &self.com_create_index,
            Statement::CreateTable(_) => &self.com_create_table,
            Statement::CreateUser(_) => &self.com_create_user,
            Statement::CreateView(_) => &self.com_create_view,
            Statement::DropDatabase { .. } => &self.com_drop_db,
            Statement::DropIndex(_) => &self.com_drop_index,
            Statement::DropTable(_) => &self.com_drop_table,
            Statement::DropUser { .. } => &self.com_drop_user,
            Statement::DropView(_) => &self.com_drop_view,
            Statement::Flush(_) => &self.com_flush,
            Statement::Grant(_) => &self.com_grant,
            Statement::Kill(_) => &self.com_kill,
            Statement::LockTables(_) => &self.com_lock_tables,
            Statement::RenameTable(_) => &self.com_rename_table,
            Statement::Revoke(_) => &self.com_revoke,
            Statement::Rollback(_) => &self.com_rollback,
            Statement::RollbackTo(_) => &self.com_rollback_to_savepoint,
            Statement::Savepoint(_) => &self.com_savepoint,
            Statement::Truncate(_) => &self.com_truncate,
            Statement::UnlockTables => &self.com_unlock_tables,
            _ => return,
        };
        counter.add(1);
    }
}

/// Counters of the server: its own, and the sessions'.
#[derive(Debug, Default)]
pub struct GlobalStatus {
    pub aborted_clients: AtomicU64,
    pub aborted_connects: AtomicU64,
    pub connections: AtomicU64,
    pub threads_created: AtomicU64,
    /// When FLUSH STATUS was last, in seconds since the server's start.
    pub flushed_at_s: AtomicU64,
    sessions: Mutex<Sessions>,
}

#[derive(Debug, Default)]
struct Sessions {
    live: Vec<Arc<SessionStatus>>,
    /// What sessions counted that have ended or flushed their figures.
    ended: SessionStatus,
}

impl GlobalStatus {
    /// A session begins.
    pub fn register(&self) -> Arc<SessionStatus> {
        add(&self.connections, 1);
        let status = Arc::new(SessionStatus::default());
        self.sessions.lock().live.push(status.clone());
        status
    }

    /// A session ends: its figures stay in the sums.
    pub fn unregister(&self, status: &Arc<SessionStatus>) {
        let mut sessions = self.sessions.lock();
        if let Some(i) = sessions.live.iter().position(|s| Arc::ptr_eq(s, status)) {
            sessions.live.swap_remove(i);
            sessions.ended.add_all(status);
        }
    }

    /// FLUSH STATUS, by the session's own thread: its figures go into the sums and begin again at zero.
    pub fn flush(&self, status: &SessionStatus) {
        let sessions = self.sessions.lock();
        sessions.ended.add_all(status);
        status.clear();
    }

    /// The sums over all sessions that there are and were.
    pub fn sums(&self) -> SessionStatus {
        let sums = SessionStatus::default();
        let sessions = self.sessions.lock();
        sums.add_all(&sessions.ended);
        sessions.live.iter().for_each(|s| sums.add_all(s));
        sums
    }

    /// The server's own counters, which no session has for itself.
    pub fn own(&self) -> Vec<(&'static str, u64)> {
        [
            ("Aborted_clients", &self.aborted_clients),
            ("Aborted_connects", &self.aborted_connects),
            ("Connections", &self.connections),
            ("Threads_created", &self.threads_created),
        ]
        .map(|(name, counter)| (name, counter.load(Ordering::Relaxed)))
        .to_vec()
    }
}

pub fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_or_counted_twice() {
        let global = GlobalStatus::default();
        let (a, b) = (global.register(), global.register());
        a.com_select.add(3);
        b.com_select.add(4);
        assert_eq!(global.sums().com_select.get(), 7);
        global.flush(&a);
        assert_eq!((a.com_select.get(), global.sums().com_select.get()), (0, 7));
        a.com_select.add(1);
        global.unregister(&b);
        assert_eq!(global.sums().com_select.get(), 8);
        global.unregister(&a);
        global.unregister(&a);
        assert_eq!(global.sums().com_select.get(), 8);
        assert_eq!(global.connections.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn plans_counts_arrive() {
        let s = SessionStatus::default();
        s.add_counts(&StatementCounts { handler_read_key: 2, leaves_total: 9, ..Default::default() });
        s.add_counts(&StatementCounts { handler_read_key: 3, ..Default::default() });
        assert_eq!(s.handler_read_key.get(), 5);
    }
}
