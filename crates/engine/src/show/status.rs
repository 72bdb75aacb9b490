//! Status variables by name: SHOW STATUS and its tables.

use crate::session::Session;
use std::sync::atomic::Ordering;
use types::Timestamp;

impl Session {
    /// (name, value), sorted. Figures of the server as a whole are the same for both scopes.
    pub(crate) fn status_rows(&self, global: bool) -> Vec<(String, String)> {
        let db = self.db();
        let counted = if global { db.status().sums().all() } else { self.status().all() };
        let counted = counted.into_iter().chain(db.status().own());
        let mut all: Vec<(String, String)> = counted.map(|(n, v)| (n.into(), v.to_string())).collect();
        let mut push = |name: &str, value: u64| all.push((name.into(), value.to_string()));
        let (version, cipher) = self.process().tls().map_or(("", ""), |(version, cipher)| (version, cipher));
        let (received, sent) = if global { db.processes().bytes() } else { self.process().bytes() };
        push("Bytes_received", received);
        push("Bytes_sent", sent);
        push("Uptime", db.uptime_s());
        let cache = db.plan_cache();
        push("Nextleaf_plan_cache_evictions", cache.evictions.load(Ordering::Relaxed));
        push("Nextleaf_plan_cache_plans", cache.len() as u64);
        if let Some(durable) = db.store().durable() {
            let counters = &durable.redo().counters;
            for (name, counter) in [
                ("Innodb_log_write_requests", &counters.commits),
                ("Innodb_log_writes", &counters.writes),
                ("Innodb_os_log_fsyncs", &counters.syncs),
                ("Innodb_os_log_written", &counters.bytes),
            ] {
                push(name, counter.load(Ordering::Relaxed));
            }
            push("Nextleaf_checkpoints", durable.checkpoints());
            push("Nextleaf_log_to_replay", durable.log_bytes());
        }
        push("Prepared_stmt_count", db.prepared_count());
        push("Threads_connected", db.processes().len() as u64);
        push("Threads_running", db.processes().infos().iter().filter(|p| p.command == "Query").count() as u64);
        // No thread waits for the next connection.
        push("Threads_cached", 0);
        let (most, most_at_s) = db.processes().most();
        push("Max_used_connections", most);
        push("Connection_errors_max_connections", db.processes().refused());
        for fault in ["accept", "internal", "peer_address", "select", "tcpwrap"] {
            push(&format!("Connection_errors_{fault}"), 0);
        }
        push("Nextleaf_query_memory_used", db.memory().used_bytes() as u64);
        push("Nextleaf_table_memory", db.store().bytes() as u64);
        let most_at = self.info().time_zone.converter().to_datetime(Timestamp(most_at_s as i64 * 1_000_000));
        all.push(("Max_used_connections_time".into(), most_at.to_string()));
        all.extend([("Ssl_cipher".into(), cipher.into()), ("Ssl_version".into(), version.into())]);
        all.sort();
        all
    }
}
