//! The system variables that exist, with the names, ranges and defaults of MySQL 8.4 where it has them.

/// Where a variable has values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    Global,
    Session,
    Both,
}

/// What values a variable can have.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Kind {
    Bool,
    Int {
        min: i128,
        max: i128,
    },
    Double {
        min: f64,
        max: f64,
    },
    Enum(&'static [&'static str]),
    /// Comma-separated subset.
    Set(&'static [&'static str]),
    Text,
    /// A name of `types::locale`.
    Locale,
}

/// Whether anything obeys the variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// SET changes what Nextleaf does.
    Real,
    /// Cannot be SET; says how Nextleaf is.
    ReadOnly,
    /// Accepted, remembered and shown because clients set it; nothing depends on it. Listed in COMPAT.md.
    Accepted,
}

#[derive(Debug)]
pub struct VarDef {
    pub name: &'static str,
    pub scope: Scope,
    pub kind: Kind,
    pub default: &'static str,
    pub effect: Effect,
}

/// Finds a definition, whatever the name's case.
pub fn find(name: &str) -> Option<&'static VarDef> {
    let lower = name.to_ascii_lowercase();
    DEFS.binary_search_by(|d| d.name.cmp(&lower)).ok().map(|i| &DEFS[i])
}

const fn var(name: &'static str, scope: Scope, kind: Kind, default: &'static str, effect: Effect) -> VarDef {
    VarDef { name, scope, kind, default, effect }
}

use Effect::{Accepted, ReadOnly, Real};
use Kind::{Bool, Double, Enum, Int, Locale, Set, Text};
use Scope::{Both, Global, Session};

const U32: i128 = u32::MAX as i128;
const U64: i128 = u64::MAX as i128;

/// The flags of sql_mode, in the order of their bits.
pub const SQL_MODES: &[&str] = &[
    "REAL_AS_FLOAT",
    "PIPES_AS_CONCAT",
    "ANSI_QUOTES",
    "IGNORE_SPACE",
    "NOT_USED",
    "ONLY_FULL_GROUP_BY",
    "NO_UNSIGNED_SUBTRACTION",
    "NO_DIR_IN_CREATE",
    "NOT_USED_9",
    "NOT_USED_10",
    "NOT_USED_11",
    "NOT_USED_12",
    "NOT_USED_13",
    "NOT_USED_14",
    "NOT_USED_15",
    "NOT_USED_16",
    "NOT_USED_17",
    "NOT_USED_18",
    "ANSI",
    "NO_AUTO_VALUE_ON_ZERO",
    "NO_BACKSLASH_ESCAPES",
    "STRICT_TRANS_TABLES",
    "STRICT_ALL_TABLES",
    "NO_ZERO_IN_DATE",
    "NO_ZERO_DATE",
    "ALLOW_INVALID_DATES",
    "ERROR_FOR_DIVISION_BY_ZERO",
    "TRADITIONAL",
    "NOT_USED_29",
    "HIGH_NOT_PRECEDENCE",
    "NO_ENGINE_SUBSTITUTION",
    "PAD_CHAR_TO_FULL_LENGTH",
    "TIME_TRUNCATE_FRACTIONAL",
];

/// sql_mode as MySQL 8 sets it.
pub const SQL_MODE_DEFAULT: &str = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";

const ISOLATION: &[&str] = &["READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"];

/// What block_encryption_mode names: key lengths and modes of AES.
const CIPHERS: &[&str] = &[
    "aes-128-ecb",
    "aes-192-ecb",
    "aes-256-ecb",
    "aes-128-cbc",
    "aes-192-cbc",
    "aes-256-cbc",
    "aes-128-cfb1",
    "aes-192-cfb1",
    "aes-256-cfb1",
    "aes-128-cfb8",
    "aes-192-cfb8",
    "aes-256-cfb8",
    "aes-128-cfb128",
    "aes-192-cfb128",
    "aes-256-cfb128",
    "aes-128-ofb",
    "aes-192-ofb",
    "aes-256-ofb",
];

/// The flags of optimizer_switch with their defaults.
pub const OPTIMIZER_SWITCH: &str = planner::optimize::switches::DEFAULT_SWITCHES;

/// Sorted by name.
pub static DEFS: &[VarDef] = &[
    var("activate_all_roles_on_login", Global, Bool, "OFF", Accepted),
    var("admin_port", Global, Int { min: 0, max: 65535 }, "33062", ReadOnly),
    var("authentication_policy", Global, Text, "*,,", ReadOnly),
    var("auto_generate_certs", Global, Bool, "ON", ReadOnly),
    var("auto_increment_increment", Both, Int { min: 1, max: 65535 }, "1", Real),
    var("auto_increment_offset", Both, Int { min: 1, max: 65535 }, "1", Real),
    var("autocommit", Both, Bool, "ON", Real),
    var("automatic_sp_privileges", Global, Bool, "ON", Accepted),
    var("back_log", Global, Int { min: 1, max: 65535 }, "4096", ReadOnly),
    var("basedir", Global, Text, "/usr/", ReadOnly),
    var("big_tables", Both, Bool, "OFF", Accepted),
    var("bind_address", Global, Text, "127.0.0.1", ReadOnly),
    var("binlog_format", Both, Enum(&["MIXED", "STATEMENT", "ROW"]), "ROW", Accepted),
    var("binlog_row_image", Both, Enum(&["MINIMAL", "NOBLOB", "FULL"]), "FULL", Accepted),
    var("block_encryption_mode", Both, Enum(CIPHERS), "aes-128-ecb", Accepted),
    var("bulk_insert_buffer_size", Both, Int { min: 0, max: U64 }, "8388608", Accepted),
    var("character_set_client", Both, Text, "utf8mb4", Real),
    var("character_set_connection", Both, Text, "utf8mb4", Real),
    var("character_set_database", Both, Text, "utf8mb4", Real),
    var("character_set_filesystem", Both, Text, "binary", Accepted),
    var("character_set_results", Both, Text, "utf8mb4", Real),
    var("character_set_server", Both, Text, "utf8mb4", Real),
    var("character_set_system", Global, Text, "utf8mb3", ReadOnly),
    var("character_sets_dir", Global, Text, "/usr/share/mysql/charsets/", ReadOnly),
    var("collation_connection", Both, Text, "utf8mb4_0900_ai_ci", Real),
    var("collation_database", Both, Text, "utf8mb4_0900_ai_ci", Real),
    var("collation_server", Both, Text, "utf8mb4_0900_ai_ci", Real),
    var("completion_type", Both, Enum(&["NO_CHAIN", "CHAIN", "RELEASE"]), "NO_CHAIN", Real),
    var("concurrent_insert", Global, Enum(&["NEVER", "AUTO", "ALWAYS"]), "AUTO", Accepted),
    var("connect_timeout", Global, Int { min: 2, max: 31536000 }, "10", Real),
    var("connection_memory_limit", Both, Int { min: 2097152, max: U64 }, "18446744073709551615", Accepted),
    var("cte_max_recursion_depth", Both, Int { min: 0, max: U32 }, "1000", Real),
    var("datadir", Global, Text, "./nextleaf-data/", ReadOnly),
    var("default_authentication_plugin", Global, Text, "caching_sha2_password", ReadOnly),
    var("default_collation_for_utf8mb4", Both, Text, "utf8mb4_0900_ai_ci", ReadOnly),
    var("default_password_lifetime", Global, Int { min: 0, max: 65535 }, "0", Accepted),
    var("default_storage_engine", Both, Enum(&["InnoDB", "MEMORY"]), "InnoDB", Real),
    var("default_tmp_storage_engine", Both, Enum(&["InnoDB", "MEMORY"]), "InnoDB", Accepted),
    var("default_week_format", Both, Int { min: 0, max: 7 }, "0", Real),
    var("delay_key_write", Global, Enum(&["OFF", "ON", "ALL"]), "ON", Accepted),
    var("div_precision_increment", Both, Int { min: 0, max: 30 }, "4", Real),
    var("end_markers_in_json", Both, Bool, "OFF", Accepted),
    var("enforce_gtid_consistency", Global, Enum(&["OFF", "ON", "WARN"]), "OFF", ReadOnly),
    var("eq_range_index_dive_limit", Both, Int { min: 0, max: U32 }, "200", Real),
    var("error_count", Session, Int { min: 0, max: U32 }, "0", ReadOnly),
    var("event_scheduler", Global, Enum(&["OFF", "ON", "DISABLED"]), "DISABLED", ReadOnly),
    var("explain_format", Both, Enum(&["TRADITIONAL", "JSON", "TREE", "DEFAULT"]), "TRADITIONAL", Real),
    var("explain_json_format_version", Both, Int { min: 1, max: 2 }, "1", Real),
    var("explicit_defaults_for_timestamp", Both, Bool, "ON", ReadOnly),
    var("external_user", Session, Text, "\0", ReadOnly),
    var("flush", Global, Bool, "OFF", Accepted),
    var("foreign_key_checks", Both, Bool, "ON", Real),
    var("ft_min_word_len", Global, Int { min: 1, max: 84 }, "4", ReadOnly),
    var("general_log", Global, Bool, "OFF", Real),
    var("general_log_file", Global, Text, "nextleaf.log", Real),
    var("group_concat_max_len", Both, Int { min: 4, max: U64 }, "1024", Real),
    var("gtid_executed", Global, Text, "", ReadOnly),
    var("gtid_mode", Global, Enum(&["OFF", "OFF_PERMISSIVE", "ON_PERMISSIVE", "ON"]), "OFF", ReadOnly),
    var("gtid_next", Session, Text, "AUTOMATIC", Accepted),
    var("gtid_owned", Both, Text, "", ReadOnly),
    var("gtid_purged", Global, Text, "", Accepted),
    var("have_compress", Global, Text, "YES", ReadOnly),
    var("have_openssl", Global, Text, "YES", ReadOnly),
    var("have_profiling", Global, Text, "NO", ReadOnly),
    var("have_query_cache", Global, Text, "NO", ReadOnly),
    var("have_ssl", Global, Text, "YES", ReadOnly),
    var("have_symlink", Global, Text, "DISABLED", ReadOnly),
    var("histogram_generation_max_mem_size", Both, Int { min: 1000000, max: U64 }, "20000000", Real),
    var("hostname", Global, Text, "localhost", ReadOnly),
    var("identity", Session, Int { min: 0, max: U64 }, "0", ReadOnly),
    var("information_schema_stats_expiry", Both, Int { min: 0, max: 31536000 }, "86400", Accepted),
    var("init_connect", Global, Text, "", ReadOnly),
    var("innodb_autoinc_lock_mode", Global, Int { min: 0, max: 2 }, "2", ReadOnly),
    var("innodb_buffer_pool_size", Global, Int { min: 5242880, max: U64 }, "134217728", Accepted),
    var("innodb_ddl_threads", Both, Int { min: 1, max: 64 }, "4", Accepted),
    var("innodb_deadlock_detect", Global, Bool, "ON", Real),
    var("innodb_default_row_format", Global, Enum(&["redundant", "compact", "dynamic"]), "dynamic", Accepted),
    var("innodb_file_per_table", Global, Bool, "ON", Accepted),
    var("innodb_flush_log_at_trx_commit", Global, Int { min: 0, max: 2 }, "1", Real),
    var("innodb_io_capacity", Global, Int { min: 100, max: U64 }, "10000", Accepted),
    var("innodb_lock_wait_timeout", Both, Int { min: 1, max: 1073741824 }, "50", Real),
    var("innodb_page_size", Global, Int { min: 4096, max: 65536 }, "16384", ReadOnly),
    var("innodb_parallel_read_threads", Both, Int { min: 1, max: 256 }, "4", Accepted),
    var("innodb_print_all_deadlocks", Global, Bool, "OFF", Real),
    var("innodb_read_only", Global, Bool, "OFF", ReadOnly),
    var("innodb_redo_log_capacity", Global, Int { min: 8388608, max: 549755813888 }, "536870912", Real),
    var("innodb_rollback_on_timeout", Global, Bool, "OFF", Real),
    var("innodb_stats_auto_recalc", Global, Bool, "ON", Real),
    var("innodb_stats_on_metadata", Global, Bool, "OFF", Accepted),
    var("innodb_strict_mode", Both, Bool, "ON", Accepted),
    var("innodb_version", Global, Text, "8.4.0", ReadOnly),
    var("insert_id", Session, Int { min: 0, max: U64 }, "0", Real),
    var("interactive_timeout", Both, Int { min: 1, max: 31536000 }, "28800", Real),
    var("internal_tmp_mem_storage_engine", Both, Enum(&["MEMORY", "TempTable"]), "TempTable", Real),
    var("join_buffer_size", Both, Int { min: 128, max: U64 }, "262144", Real),
    var("keep_files_on_create", Both, Bool, "OFF", Accepted),
    var("key_buffer_size", Global, Int { min: 0, max: U64 }, "8388608", Accepted),
    var("language", Global, Text, "/usr/share/mysql/", ReadOnly),
    var("large_pages", Global, Bool, "OFF", ReadOnly),
    var("last_insert_id", Session, Int { min: 0, max: U64 }, "0", Real),
    var("lc_messages", Both, Locale, "en_US", Accepted),
    var("lc_time_names", Both, Locale, "en_US", Real),
    var("license", Global, Text, "Apache-2.0", ReadOnly),
    var("local_infile", Global, Bool, "ON", Real),
    var("lock_wait_timeout", Both, Int { min: 1, max: 31536000 }, "31536000", Real),
    var("locked_in_memory", Global, Bool, "OFF", ReadOnly),
    var("log_bin", Global, Bool, "OFF", ReadOnly),
    var("log_bin_trust_function_creators", Global, Bool, "OFF", Accepted),
    var("log_error", Global, Text, "stderr", ReadOnly),
    var("log_error_verbosity", Global, Int { min: 1, max: 3 }, "2", Accepted),
    var("log_output", Global, Set(&["NONE", "FILE", "TABLE"]), "FILE", Real),
    var("log_queries_not_using_indexes", Global, Bool, "OFF", Real),
    var("long_query_time", Both, Double { min: 0.0, max: 31536000.0 }, "10.000000", Real),
    var("low_priority_updates", Both, Bool, "OFF", Accepted),
    var("lower_case_file_system", Global, Bool, "OFF", ReadOnly),
    var("lower_case_table_names", Global, Int { min: 0, max: 2 }, "0", ReadOnly),
    var("mandatory_roles", Global, Text, "", ReadOnly),
    var("max_allowed_packet", Both, Int { min: 1024, max: 1073741824 }, "67108864", Real),
    var("max_connect_errors", Global, Int { min: 1, max: U64 }, "100", Accepted),
    var("max_connections", Global, Int { min: 1, max: 100000 }, "151", Real),
    var("max_error_count", Both, Int { min: 0, max: 65535 }, "1024", Real),
    var("max_execution_time", Both, Int { min: 0, max: U32 }, "0", Real),
    var("max_heap_table_size", Both, Int { min: 16384, max: U64 }, "16777216", Real),
    var("max_join_size", Both, Int { min: 1, max: U64 }, "18446744073709551615", Accepted),
    var("max_length_for_sort_data", Both, Int { min: 4, max: 8388608 }, "4096", Accepted),
    var("max_points_in_geometry", Both, Int { min: 3, max: 1048576 }, "65536", Accepted),
    var("max_prepared_stmt_count", Global, Int { min: 0, max: 4194304 }, "16382", Real),
    var("max_query_memory", Both, Int { min: 1048576, max: U64 }, "0", Real),
    var("max_seeks_for_key", Both, Int { min: 1, max: U64 }, "18446744073709551615", Real),
    var("max_server_memory", Global, Int { min: 0, max: U64 }, "0", Real),
    var("max_sort_length", Both, Int { min: 4, max: 8388608 }, "1024", Accepted),
    var("max_sp_recursion_depth", Both, Int { min: 0, max: 255 }, "0", Accepted),
    var("max_tmp_session_space_usage", Both, Int { min: 0, max: U64 }, "0", Real),
    var("max_tmp_total_space_usage", Global, Int { min: 0, max: U64 }, "0", Real),
    var("max_user_connections", Both, Int { min: 0, max: U32 }, "0", Accepted),
    var("max_write_lock_count", Global, Int { min: 1, max: U64 }, "18446744073709551615", Accepted),
    var("min_examined_row_limit", Both, Int { min: 0, max: U64 }, "0", Real),
    var("myisam_sort_buffer_size", Both, Int { min: 4096, max: U64 }, "8388608", Accepted),
    var("net_buffer_length", Both, Int { min: 1024, max: 1048576 }, "16384", Accepted),
    var("net_read_timeout", Both, Int { min: 1, max: 31536000 }, "30", Real),
    var("net_retry_count", Both, Int { min: 1, max: U64 }, "10", Accepted),
    var("net_write_timeout", Both, Int { min: 1, max: 31536000 }, "60", Real),
    var("new", Both, Bool, "OFF", Accepted),
    var("offline_mode", Global, Bool, "OFF", ReadOnly),
    var("old_alter_table", Both, Bool, "OFF", Accepted),
    var("optimizer_prune_level", Both, Int { min: 0, max: 1 }, "1", Real),
    var("optimizer_search_depth", Both, Int { min: 0, max: 62 }, "62", Real),
    var("optimizer_switch", Both, Text, OPTIMIZER_SWITCH, Real),
    var("optimizer_trace", Both, Text, "enabled=off,one_line=off", Real),
    var(
        "optimizer_trace_features",
        Both,
        Text,
        "greedy_search=on,range_optimizer=on,dynamic_range=on,repeated_subselect=on",
        Real,
    ),
    var("optimizer_trace_limit", Both, Int { min: 0, max: 2147483647 }, "1", Real),
    var("optimizer_trace_max_mem_size", Both, Int { min: 0, max: U32 }, "1048576", Real),
    var("optimizer_trace_offset", Both, Int { min: -2147483647, max: 2147483647 }, "-1", Real),
    var("parallel_workers", Both, Int { min: 0, max: 1024 }, "0", Real),
    var("partial_revokes", Global, Bool, "OFF", ReadOnly),
    var("performance_schema", Global, Bool, "ON", ReadOnly),
    var("pid_file", Global, Text, "", ReadOnly),
    var("port", Global, Int { min: 0, max: 65535 }, "3306", ReadOnly),
    var("preload_buffer_size", Both, Int { min: 1024, max: 1073741824 }, "32768", Accepted),
    var("print_identified_with_as_hex", Both, Bool, "OFF", Real),
    var("profiling", Both, Bool, "OFF", Accepted),
    var("protocol_version", Global, Int { min: 0, max: 255 }, "10", ReadOnly),
    var("proxy_user", Session, Text, "\0", ReadOnly),
    var("pseudo_thread_id", Session, Int { min: 0, max: U64 }, "0", ReadOnly),
    var("query_alloc_block_size", Both, Int { min: 1024, max: U32 }, "8192", Accepted),
    var("query_prealloc_size", Both, Int { min: 8192, max: U64 }, "8192", Accepted),
    var("rand_seed1", Session, Int { min: 0, max: U64 }, "0", Accepted),
    var("rand_seed2", Session, Int { min: 0, max: U64 }, "0", Accepted),
    var("range_alloc_block_size", Both, Int { min: 4096, max: U32 }, "4096", Accepted),
    var("range_optimizer_max_mem_size", Both, Int { min: 0, max: U64 }, "8388608", Real),
    var("read_buffer_size", Both, Int { min: 8192, max: 2147479552 }, "131072", Accepted),
    var("read_only", Global, Bool, "OFF", Real),
    var("read_rnd_buffer_size", Both, Int { min: 1, max: 2147483647 }, "262144", Real),
    var("replica_net_timeout", Global, Int { min: 1, max: 31536000 }, "60", Accepted),
    var("require_secure_transport", Global, Bool, "OFF", ReadOnly),
    var("secure_file_priv", Global, Text, "", ReadOnly),
    var("server_id", Global, Int { min: 0, max: U32 }, "1", Accepted),
    var("server_uuid", Global, Text, "00000000-0000-0000-0000-000000000000", ReadOnly),
    var("session_track_gtids", Both, Enum(&["OFF", "OWN_GTID", "ALL_GTIDS"]), "OFF", ReadOnly),
    var("session_track_schema", Both, Bool, "ON", Accepted),
    var("session_track_state_change", Both, Bool, "OFF", Accepted),
    var(
        "session_track_system_variables",
        Both,
        Text,
        "time_zone,autocommit,character_set_client,character_set_results,character_set_connection",
        Accepted,
    ),
    var("show_create_table_skip_secondary_engine", Session, Bool, "OFF", Accepted),
    var("show_create_table_verbosity", Both, Bool, "OFF", Accepted),
    var("skip_external_locking", Global, Bool, "ON", ReadOnly),
    var("skip_name_resolve", Global, Bool, "ON", ReadOnly),
    var("skip_networking", Global, Bool, "OFF", ReadOnly),
    var("slow_query_log", Global, Bool, "OFF", Real),
    var("slow_query_log_file", Global, Text, "nextleaf-slow.log", Real),
    var("socket", Global, Text, "", ReadOnly),
    var("sort_buffer_size", Both, Int { min: 32768, max: U64 }, "262144", Real),
    var("sql_auto_is_null", Both, Bool, "OFF", Real),
    var("sql_big_selects", Both, Bool, "ON", Accepted),
    var("sql_buffer_result", Both, Bool, "OFF", Accepted),
    var("sql_generate_invisible_primary_key", Both, Bool, "OFF", ReadOnly),
    var("sql_log_bin", Session, Bool, "ON", Accepted),
    var("sql_log_off", Both, Bool, "OFF", Real),
    var("sql_mode", Both, Set(SQL_MODES), SQL_MODE_DEFAULT, Real),
    var("sql_notes", Both, Bool, "ON", Real),
    var("sql_quote_show_create", Both, Bool, "ON", Accepted),
    var("sql_require_primary_key", Both, Bool, "OFF", Real),
    var("sql_safe_updates", Both, Bool, "OFF", Real),
    var("sql_select_limit", Both, Int { min: 0, max: U64 }, "18446744073709551615", Real),
    var("sql_warnings", Both, Bool, "OFF", Accepted),
    var("ssl_ca", Global, Text, "ca.pem", ReadOnly),
    var("ssl_cert", Global, Text, "server-cert.pem", ReadOnly),
    var("ssl_cipher", Global, Text, "", ReadOnly),
    var("ssl_key", Global, Text, "server-key.pem", ReadOnly),
    var("storage_engine", Both, Enum(&["InnoDB", "MEMORY"]), "InnoDB", Real),
    var("stored_program_cache", Global, Int { min: 16, max: 524288 }, "256", Accepted),
    var("super_read_only", Global, Bool, "OFF", Real),
    var("sync_binlog", Global, Int { min: 0, max: U32 }, "1", Accepted),
    var("system_time_zone", Global, Text, "UTC", ReadOnly),
    var("table_definition_cache", Global, Int { min: 400, max: 524288 }, "2000", Accepted),
    var("table_open_cache", Global, Int { min: 1, max: 524288 }, "4000", Accepted),
    var("thread_cache_size", Global, Int { min: 0, max: 16384 }, "9", Accepted),
    var("thread_handling", Global, Enum(&["dynamic", "one-thread-per-connection", "pool-of-threads"]), "dynamic", Real),
    var("thread_stack", Global, Int { min: 131072, max: U64 }, "1048576", ReadOnly),
    var("time_zone", Both, Text, "SYSTEM", Real),
    var("timestamp", Session, Double { min: 0.0, max: 4102444800.0 }, "0.000000", Real),
    var("tls_version", Global, Text, "TLSv1.2,TLSv1.3", ReadOnly),
    var("tmp_table_size", Both, Int { min: 1024, max: U64 }, "16777216", Real),
    var("tmpdir", Global, Text, "/tmp", ReadOnly),
    var("transaction_isolation", Both, Enum(ISOLATION), "REPEATABLE-READ", Real),
    var("transaction_read_only", Both, Bool, "OFF", Real),
    var("tx_isolation", Both, Enum(ISOLATION), "REPEATABLE-READ", Real),
    var("tx_read_only", Both, Bool, "OFF", Real),
    var("unique_checks", Both, Bool, "ON", Accepted),
    var("updatable_views_with_limit", Both, Bool, "ON", Accepted),
    var("use_secondary_engine", Session, Enum(&["OFF", "ON", "FORCED"]), "ON", Accepted),
    var("version", Global, Text, concat!("8.4.0-nextleaf-", env!("CARGO_PKG_VERSION")), ReadOnly),
    var("version_comment", Global, Text, "Nextleaf", ReadOnly),
    var("version_compile_machine", Global, Text, std::env::consts::ARCH, ReadOnly),
    var("version_compile_os", Global, Text, "Linux", ReadOnly),
    var("version_compile_zlib", Global, Text, "1.3.1", ReadOnly),
    var("wait_timeout", Both, Int { min: 1, max: 31536000 }, "28800", Real),
    var("warning_count", Session, Int { min: 0, max: U32 }, "0", ReadOnly),
    var("windowing_use_high_precision", Both, Bool, "ON", Accepted),
    var("xa_detach_on_prepare", Both, Bool, "ON", Accepted),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_sorted_and_their_defaults_hold() {
        assert!(DEFS.windows(2).all(|w| w[0].name < w[1].name));
        for d in DEFS {
            match d.kind {
                Bool => assert!(d.default == "ON" || d.default == "OFF", "{}", d.name),
                Int { max, .. } => assert!(d.default.parse::<i128>().is_ok_and(|v| v <= max), "{}", d.name),
                Enum(names) => assert!(names.contains(&d.default), "{}", d.name),
                Set(names) => assert!(d.default.split(',').all(|w| names.contains(&w)), "{}", d.name),
                Double { .. } => assert!(d.default.parse::<f64>().is_ok(), "{}", d.name),
                Locale => assert!(types::locale::find(d.default).is_some(), "{}", d.name),
                Text => {}
            }
        }
        assert_eq!(find("SQL_Mode").map(|d| d.name), Some("sql_mode"));
        assert!(find("no_such_variable").is_none());
    }
}
