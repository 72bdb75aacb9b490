//! Status counters: SHOW STATUS. Counted once per statement or batch, never per row.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($field:ident = $name:literal),* $(,)?) => {
        /// Counters since the server started.
        #[derive(Debug, Default)]
        pub struct GlobalStatus {
            $(pub $field: AtomicU64,)*
        }

        impl GlobalStatus {
            /// (name, value), sorted by name.
            pub fn all(&self) -> Vec<(&'static str, u64)> {
                let mut v = vec![$(($name, self.$field.load(Ordering::Relaxed)),)*];
                v.sort_unstable();
                v
            }
        }
    };
}

counters! {
    aborted_clients = "Aborted_clients",
    aborted_connects = "Aborted_connects",
    bytes_received = "Bytes_received",
    bytes_sent = "Bytes_sent",
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
    connections = "Connections",
    created_tmp_disk_tables = "Created_tmp_disk_tables",
    handler_commit = "Handler_commit",
    handler_delete = "Handler_delete",
    handler_read_first = "Handler_read_first",
    handler_read_key = "Handler_read_key",
    handler_read_last = "Handler_read_last",
    handler_read_next = "Handler_read_next",
    handler_read_prev = "Handler_read_prev",
    handler_read_rnd = "Handler_read_rnd",
    handler_read_rnd_next = "Handler_read_rnd_next",
    handler_rollback = "Handler_rollback",
    handler_update = "Handler_update",
    handler_write = "Handler_write",
    innodb_rows_deleted = "Innodb_rows_deleted",
    innodb_rows_inserted = "Innodb_rows_inserted",
    innodb_rows_read = "Innodb_rows_read",
    innodb_rows_updated = "Innodb_rows_updated",
    leaves_read = "Nextleaf_leaves_read",
    leaves_skipped = "Nextleaf_leaves_skipped",
    spilled_bytes = "Nextleaf_spilled_bytes",
    questions = "Questions",
    slow_queries = "Slow_queries",
    threads_created = "Threads_created",
}

pub fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}
