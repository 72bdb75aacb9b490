//! The table of system variables: one record each, its description first.
//!
//! ```text
//! /// What it is, for the configuration reference.
//! "name": scope, kind, default, effect, in "unit";
//! ```
//! docs/operate/configuration.md is made from it; a test compares the page with the table.

use super::Kind::{Bool, Double, Enum, Int, Locale, Set, Text};
use super::{CIPHERS, Effect, ISOLATION, OPTIMIZER_SWITCH, SQL_MODE_DEFAULT, SQL_MODES, Scope, U32, U64, VarDef};

macro_rules! variables {
    ($($(#[doc = $what:literal])+ $name:literal: $scope:ident, $kind:expr, $default:expr, $effect:ident
       $(, in $unit:literal)?;)*) => {
        /// Sorted by name.
        pub static DEFS: &[VarDef] = &[$(VarDef {
            name: $name,
            scope: Scope::$scope,
            kind: $kind,
            default: $default,
            effect: Effect::$effect,
            unit: concat!($($unit)?),
            description: concat!($($what),+),
        },)*];
    };
}

variables! {
    /// Whether a login activates all roles; there are none.
    "activate_all_roles_on_login": Global, Bool, "OFF", Accepted;
    /// The port for administrators; there is none.
    "admin_port": Global, Int { min: 0, max: 65535 }, "33062", ReadOnly;
    /// Which authentication factors accounts may have: one.
    "authentication_policy": Global, Text, "*,,", ReadOnly;
    /// Whether the server makes a certificate at its first start, where none is given.
    "auto_generate_certs": Global, Bool, "ON", ReadOnly;
    /// The step between generated AUTO_INCREMENT values.
    "auto_increment_increment": Both, Int { min: 1, max: 65535 }, "1", Real;
    /// Where generated AUTO_INCREMENT values begin.
    "auto_increment_offset": Both, Int { min: 1, max: 65535 }, "1", Real;
    /// Whether a statement outside of START TRANSACTION commits by itself.
    "autocommit": Both, Bool, "ON", Real;
    /// Rights that the maker of a stored routine gets; there are no routines.
    "automatic_sp_privileges": Global, Bool, "ON", Accepted;
    /// Connections that may wait to be accepted.
    "back_log": Global, Int { min: 1, max: 65535 }, "4096", ReadOnly;
    /// The folder of the installation.
    "basedir": Global, Text, "/usr/", ReadOnly;
    /// Whether temporary tables go to disk at once.
    "big_tables": Both, Bool, "OFF", Accepted;
    /// Addresses to listen on, by commas; `*` for all.
    "bind_address": Global, Text, "127.0.0.1", ReadOnly;
    /// The format of the binary log; there is none.
    "binlog_format": Both, Enum(&["MIXED", "STATEMENT", "ROW"]), "ROW", Accepted;
    /// What the binary log has of a row; there is no log.
    "binlog_row_image": Both, Enum(&["MINIMAL", "NOBLOB", "FULL"]), "FULL", Accepted;
    /// The mode of AES_ENCRYPT, which is not there yet.
    "block_encryption_mode": Both, Enum(CIPHERS), "aes-128-ecb", Accepted;
    /// MyISAM's buffer of big inserts.
    "bulk_insert_buffer_size": Both, Int { min: 0, max: U64 }, "8388608", Accepted, in "bytes";
    /// The character set of statements as the client sends them: utf8mb4, latin1 or binary.
    "character_set_client": Both, Text, "utf8mb4", Real;
    /// The character set of literals. Follows collation_connection.
    "character_set_connection": Both, Text, "utf8mb4", Real;
    /// The character set of the default database.
    "character_set_database": Both, Text, "utf8mb4", Real;
    /// The character set of file names.
    "character_set_filesystem": Both, Text, "binary", Accepted;
    /// The character set that results are announced in.
    "character_set_results": Both, Text, "utf8mb4", Real;
    /// The character set of new databases.
    "character_set_server": Both, Text, "utf8mb4", Real;
    /// The character set of names in the catalog.
    "character_set_system": Global, Text, "utf8mb3", ReadOnly;
    /// Where MySQL keeps its character sets.
    "character_sets_dir": Global, Text, "/usr/share/mysql/charsets/", ReadOnly;
    /// The collation of literals. Follows character_set_connection.
    "collation_connection": Both, Text, "utf8mb4_0900_ai_ci", Real;
    /// The collation of the default database.
    "collation_database": Both, Text, "utf8mb4_0900_ai_ci", Real;
    /// The collation of new databases.
    "collation_server": Both, Text, "utf8mb4_0900_ai_ci", Real;
    /// What COMMIT and ROLLBACK do besides: begin the next transaction (CHAIN), or end the session (RELEASE).
    "completion_type": Both, Enum(&["NO_CHAIN", "CHAIN", "RELEASE"]), "NO_CHAIN", Real;
    /// Whether MyISAM inserts beside readers.
    "concurrent_insert": Global, Enum(&["NEVER", "AUTO", "ALWAYS"]), "AUTO", Accepted;
    /// How long a client may take to log in.
    "connect_timeout": Global, Int { min: 2, max: 31536000 }, "10", Real, in "seconds";
    /// What a connection may hold; see max_query_memory.
    "connection_memory_limit": Both, Int { min: 2097152, max: U64 }, "18446744073709551615", Accepted, in "bytes";
    /// How often a recursive common table expression may go on before it fails (3636).
    "cte_max_recursion_depth": Both, Int { min: 0, max: U32 }, "1000", Real;
    /// The folder of the data.
    "datadir": Global, Text, "./nextleaf-data/", ReadOnly;
    /// How new accounts prove their passwords.
    "default_authentication_plugin": Global, Text, "caching_sha2_password", ReadOnly;
    /// The collation of utf8mb4 where none is named.
    "default_collation_for_utf8mb4": Both, Text, "utf8mb4_0900_ai_ci", ReadOnly;
    /// When passwords expire: never.
    "default_password_lifetime": Global, Int { min: 0, max: 65535 }, "0", Accepted, in "days";
    /// The engine of tables that name none.
    "default_storage_engine": Both, Enum(&["InnoDB", "MEMORY"]), "InnoDB", Real;
    /// The engine of temporary tables that name none.
    "default_tmp_storage_engine": Both, Enum(&["InnoDB", "MEMORY"]), "InnoDB", Accepted;
    /// The mode of WEEK() without a mode.
    "default_week_format": Both, Int { min: 0, max: 7 }, "0", Real;
    /// Whether MyISAM writes keys late.
    "delay_key_write": Global, Enum(&["OFF", "ON", "ALL"]), "ON", Accepted;
    /// Digits that a division adds to the scale of its left side.
    "div_precision_increment": Both, Int { min: 0, max: 30 }, "4", Real;
    /// Whether EXPLAIN's JSON repeats names at the ends of objects.
    "end_markers_in_json": Both, Bool, "OFF", Accepted;
    /// Whether statements are held to what GTIDs can express; there are no GTIDs.
    "enforce_gtid_consistency": Global, Enum(&["OFF", "ON", "WARN"]), "OFF", ReadOnly;
    /// From how many values of an IN list on rows are estimated from statistics instead of the index; 0: never.
    "eq_range_index_dive_limit": Both, Int { min: 0, max: U32 }, "200", Real;
    /// Errors of the last statement.
    "error_count": Session, Int { min: 0, max: U32 }, "0", ReadOnly;
    /// Whether events run; there are none.
    "event_scheduler": Global, Enum(&["OFF", "ON", "DISABLED"]), "DISABLED", ReadOnly;
    /// The format of an EXPLAIN that names none.
    "explain_format": Both, Enum(&["TRADITIONAL", "JSON", "TREE", "DEFAULT"]), "TRADITIONAL", Real;
    /// The version of EXPLAIN's JSON: 1 by query blocks, 2 by operators.
    "explain_json_format_version": Both, Int { min: 1, max: 2 }, "1", Real;
    /// Whether TIMESTAMP columns have no defaults of their own: they have none.
    "explicit_defaults_for_timestamp": Both, Bool, "ON", ReadOnly;
    /// The name under which another system knows the account.
    "external_user": Session, Text, "\0", ReadOnly;
    /// Whether MyISAM syncs after each statement.
    "flush": Global, Bool, "OFF", Accepted;
    /// Whether foreign keys are checked; dumps turn it off while they load.
    "foreign_key_checks": Both, Bool, "ON", Real;
    /// The shortest word of a FULLTEXT index; there is none.
    "ft_min_word_len": Global, Int { min: 1, max: 84 }, "4", ReadOnly;
    /// Whether every command is written to the general log.
    "general_log": Global, Bool, "OFF", Real;
    /// The file of the general log, from the data folder on.
    "general_log_file": Global, Text, "nextleaf.log", Real;
    /// The longest result of GROUP_CONCAT; what is longer is cut (1260).
    "group_concat_max_len": Both, Int { min: 4, max: U64 }, "1024", Real, in "bytes";
    /// Identifiers of executed transactions, as gtid_purged was told.
    "gtid_executed": Global, Text, "", ReadOnly;
    /// Whether transactions have identifiers: they have none.
    "gtid_mode": Global, Enum(&["OFF", "OFF_PERMISSIVE", "ON_PERMISSIVE", "ON"]), "OFF", ReadOnly;
    /// The identifier of the next transaction: AUTOMATIC or ANONYMOUS.
    "gtid_next": Session, Text, "AUTOMATIC", Accepted;
    /// Identifiers that are in use: none.
    "gtid_owned": Both, Text, "", ReadOnly;
    /// Identifiers that dumps of other servers bring along; checked, shown, not used.
    "gtid_purged": Global, Text, "", Accepted;
    /// Whether COMPRESS() is there.
    "have_compress": Global, Text, "YES", ReadOnly;
    /// Whether TLS is there.
    "have_openssl": Global, Text, "YES", ReadOnly;
    /// Whether SHOW PROFILE is there.
    "have_profiling": Global, Text, "NO", ReadOnly;
    /// Whether a cache of results is there.
    "have_query_cache": Global, Text, "NO", ReadOnly;
    /// Whether TLS is there.
    "have_ssl": Global, Text, "YES", ReadOnly;
    /// Whether tables can be links: they cannot.
    "have_symlink": Global, Text, "DISABLED", ReadOnly;
    /// What ANALYZE TABLE ... UPDATE HISTOGRAM may hold; beyond, it takes a sample.
    "histogram_generation_max_mem_size": Both, Int { min: 1000000, max: U64 }, "20000000", Real, in "bytes";
    /// The machine's name, as clients are told it.
    "hostname": Global, Text, "localhost", ReadOnly;
    /// Another name of last_insert_id.
    "identity": Session, Int { min: 0, max: U64 }, "0", ReadOnly;
    /// How old figures in information_schema may be; here they are always new.
    "information_schema_stats_expiry": Both, Int { min: 0, max: 31536000 }, "86400", Accepted, in "seconds";
    /// Statements for each new session: none.
    "init_connect": Global, Text, "", ReadOnly;
    /// How AUTO_INCREMENT values are given out: without locks.
    "innodb_autoinc_lock_mode": Global, Int { min: 0, max: 2 }, "2", ReadOnly;
    /// InnoDB's cache. Tables lie in memory whole here; max_server_memory bounds them.
    "innodb_buffer_pool_size": Global, Int { min: 5242880, max: U64 }, "134217728", Accepted, in "bytes";
    /// Threads that build an index; parallel_workers says it here.
    "innodb_ddl_threads": Both, Int { min: 1, max: 64 }, "4", Accepted;
    /// Whether cycles of waits are looked for. OFF: they end by innodb_lock_wait_timeout.
    "innodb_deadlock_detect": Global, Bool, "ON", Real;
    /// The row format of tables that name none.
    "innodb_default_row_format": Global, Enum(&["redundant", "compact", "dynamic"]), "dynamic", Accepted;
    /// Whether tables have files of their own; they have none here.
    "innodb_file_per_table": Global, Bool, "ON", Accepted;
    /// When a commit is on disk: 1 before it is answered; 2 written, synced each second;
    /// 0 written and synced each second.
    "innodb_flush_log_at_trx_commit": Global, Int { min: 0, max: 2 }, "1", Real;
    /// Writes a second that InnoDB plans with.
    "innodb_io_capacity": Global, Int { min: 100, max: U64 }, "10000", Accepted;
    /// How long a statement waits for a row lock (1205).
    "innodb_lock_wait_timeout": Both, Int { min: 1, max: 1073741824 }, "50", Real, in "seconds";
    /// InnoDB's page size.
    "innodb_page_size": Global, Int { min: 4096, max: 65536 }, "16384", ReadOnly, in "bytes";
    /// Threads of InnoDB's scans; parallel_workers says it here.
    "innodb_parallel_read_threads": Both, Int { min: 1, max: 256 }, "4", Accepted;
    /// Whether each deadlock goes to the server's log.
    "innodb_print_all_deadlocks": Global, Bool, "OFF", Real;
    /// Whether InnoDB only reads.
    "innodb_read_only": Global, Bool, "OFF", ReadOnly;
    /// How long the redo log grows between checkpoints; one begins at half of it.
    "innodb_redo_log_capacity": Global, Int { min: 8388608, max: 549755813888 }, "536870912", Real, in "bytes";
    /// Whether 1205 rolls back the transaction, not just the statement.
    "innodb_rollback_on_timeout": Global, Bool, "OFF", Real;
    /// Whether statistics are made anew when a tenth of a table's rows has changed.
    "innodb_stats_auto_recalc": Global, Bool, "ON", Real;
    /// Whether reading information_schema makes statistics anew.
    "innodb_stats_on_metadata": Global, Bool, "OFF", Accepted;
    /// Whether wrong table options are errors.
    "innodb_strict_mode": Both, Bool, "ON", Accepted;
    /// The version of InnoDB that the server behaves like.
    "innodb_version": Global, Text, "8.4.0", ReadOnly;
    /// The next generated AUTO_INCREMENT value.
    "insert_id": Session, Int { min: 0, max: U64 }, "0", Real;
    /// wait_timeout of sessions that say that they are interactive.
    "interactive_timeout": Both, Int { min: 1, max: 31536000 }, "28800", Real, in "seconds";
    /// MEMORY: max_heap_table_size bounds temporary results besides tmp_table_size.
    "internal_tmp_mem_storage_engine": Both, Enum(&["MEMORY", "TempTable"]), "TempTable", Real;
    /// What a block nested loop or batched key access keeps at a time.
    "join_buffer_size": Both, Int { min: 128, max: U64 }, "262144", Real, in "bytes";
    /// Whether MyISAM keeps files that it finds.
    "keep_files_on_create": Both, Bool, "OFF", Accepted;
    /// MyISAM's cache of keys.
    "key_buffer_size": Global, Int { min: 0, max: U64 }, "8388608", Accepted, in "bytes";
    /// Where MySQL keeps its messages.
    "language": Global, Text, "/usr/share/mysql/", ReadOnly;
    /// Whether memory comes in large pages.
    "large_pages": Global, Bool, "OFF", ReadOnly;
    /// What LAST_INSERT_ID() returns.
    "last_insert_id": Session, Int { min: 0, max: U64 }, "0", Real;
    /// The language of errors; it is English.
    "lc_messages": Both, Locale, "en_US", Accepted;
    /// The language of names of days and months in DATE_FORMAT, DAYNAME, MONTHNAME.
    "lc_time_names": Both, Locale, "en_US", Real;
    /// The license.
    "license": Global, Text, "Apache-2.0", ReadOnly;
    /// Whether LOAD DATA LOCAL is allowed.
    "local_infile": Global, Bool, "ON", Real;
    /// How long a statement waits for a metadata lock (1205).
    "lock_wait_timeout": Both, Int { min: 1, max: 31536000 }, "31536000", Real, in "seconds";
    /// Whether the process is locked into memory.
    "locked_in_memory": Global, Bool, "OFF", ReadOnly;
    /// Whether there is a binary log: no.
    "log_bin": Global, Bool, "OFF", ReadOnly;
    /// Who may make functions that the binary log cannot trust; there are neither.
    "log_bin_trust_function_creators": Global, Bool, "OFF", Accepted;
    /// The file of the server's log; `stderr`: standard error.
    "log_error": Global, Text, "stderr", ReadOnly;
    /// What the server's log has: always errors, warnings and notes.
    "log_error_verbosity": Global, Int { min: 1, max: 3 }, "2", Accepted;
    /// Where the slow and the general log go: files, tables of `mysql`, both or nowhere.
    "log_output": Global, Set(&["NONE", "FILE", "TABLE"]), "FILE", Real;
    /// Whether statements that read a table without an index go to the slow log.
    "log_queries_not_using_indexes": Global, Bool, "OFF", Real;
    /// From what time on a statement goes to the slow log.
    "long_query_time": Both, Double { min: 0.0, max: 31536000.0 }, "10.000000", Real, in "seconds";
    /// Whether changes wait for reads of MyISAM tables.
    "low_priority_updates": Both, Bool, "OFF", Accepted;
    /// Whether the file system ignores case.
    "lower_case_file_system": Global, Bool, "OFF", ReadOnly;
    /// Whether names of tables ignore case: 0, they do not.
    "lower_case_table_names": Global, Int { min: 0, max: 2 }, "0", ReadOnly;
    /// Roles that everybody has: none.
    "mandatory_roles": Global, Text, "", ReadOnly;
    /// The longest packet of a client, and the longest string that a function makes.
    "max_allowed_packet": Both, Int { min: 1024, max: 1073741824 }, "67108864", Real, in "bytes";
    /// Failed logins after which a host is shut out; none is.
    "max_connect_errors": Global, Int { min: 1, max: U64 }, "100", Accepted;
    /// Connections at a time (1040); later connections are held to a new value.
    "max_connections": Global, Int { min: 1, max: 100000 }, "151", Real;
    /// Errors and warnings that a statement keeps for SHOW WARNINGS.
    "max_error_count": Both, Int { min: 0, max: 65535 }, "1024", Real;
    /// How long a SELECT may run (3024); 0: no bound.
    "max_execution_time": Both, Int { min: 0, max: U32 }, "0", Real, in "milliseconds";
    /// With internal_tmp_mem_storage_engine MEMORY, a second bound beside tmp_table_size.
    "max_heap_table_size": Both, Int { min: 16384, max: U64 }, "16777216", Real, in "bytes";
    /// Rows that a SELECT may look at.
    "max_join_size": Both, Int { min: 1, max: U64 }, "18446744073709551615", Accepted, in "rows";
    /// Rows that a sort carries along.
    "max_length_for_sort_data": Both, Int { min: 4, max: 8388608 }, "4096", Accepted, in "bytes";
    /// Points of a geometry; there are none.
    "max_points_in_geometry": Both, Int { min: 3, max: 1048576 }, "65536", Accepted;
    /// Prepared statements of all sessions (1461).
    "max_prepared_stmt_count": Global, Int { min: 0, max: 4194304 }, "16382", Real;
    /// Nextleaf's own. What a statement may hold before it spills (or fails with 3170);
    /// 0: all statements share half of max_server_memory.
    "max_query_memory": Both, Int { min: 1048576, max: U64 }, "0", Real, in "bytes";
    /// The most rows that the optimizer expects of one key.
    "max_seeks_for_key": Both, Int { min: 1, max: U64 }, "18446744073709551615", Real, in "rows";
    /// Nextleaf's own. What the process may hold, of all it takes; 0: nine tenths of the memory that the
    /// server may have. Beyond it rows are refused with 1114, other large demands with 3170.
    "max_server_memory": Global, Int { min: 0, max: U64 }, "0", Real, in "bytes";
    /// Bytes of a string that a sort looks at; here all of them.
    "max_sort_length": Both, Int { min: 4, max: 8388608 }, "1024", Accepted, in "bytes";
    /// How deep procedures may call themselves; there are none.
    "max_sp_recursion_depth": Both, Int { min: 0, max: 255 }, "0", Accepted;
    /// What one statement's temporary files may take (1021); 0: what the volume has.
    "max_tmp_session_space_usage": Both, Int { min: 0, max: U64 }, "0", Real, in "bytes";
    /// What all temporary files may take (1021); 0: what the volume has.
    "max_tmp_total_space_usage": Global, Int { min: 0, max: U64 }, "0", Real, in "bytes";
    /// Connections of one account.
    "max_user_connections": Both, Int { min: 0, max: U32 }, "0", Accepted;
    /// After how many write locks readers of MyISAM tables go first.
    "max_write_lock_count": Global, Int { min: 1, max: U64 }, "18446744073709551615", Accepted;
    /// Statements that look at fewer rows stay out of the slow log.
    "min_examined_row_limit": Both, Int { min: 0, max: U64 }, "0", Real, in "rows";
    /// MyISAM's sort buffer.
    "myisam_sort_buffer_size": Both, Int { min: 4096, max: U64 }, "8388608", Accepted, in "bytes";
    /// The first size of a connection's buffer.
    "net_buffer_length": Both, Int { min: 1024, max: 1048576 }, "16384", Accepted, in "bytes";
    /// How long the rest of a packet may take to come.
    "net_read_timeout": Both, Int { min: 1, max: 31536000 }, "30", Real, in "seconds";
    /// How often a read is tried again.
    "net_retry_count": Both, Int { min: 1, max: U64 }, "10", Accepted;
    /// How long a client may take to accept what is sent.
    "net_write_timeout": Both, Int { min: 1, max: 31536000 }, "60", Real, in "seconds";
    /// A flag of old versions.
    "new": Both, Bool, "OFF", Accepted;
    /// Whether only administrators may connect.
    "offline_mode": Global, Bool, "OFF", ReadOnly;
    /// Whether ALTER TABLE always copies.
    "old_alter_table": Both, Bool, "OFF", Accepted;
    /// Whether the search for a join order leaves out what looks bad; 0 tries a hundred times as many.
    "optimizer_prune_level": Both, Int { min: 0, max: 1 }, "1", Real;
    /// Up to how many tables all join orders are tried; 1: the greedy order alone.
    "optimizer_search_depth": Both, Int { min: 0, max: 62 }, "62", Real;
    /// What the optimizer may do: see [EXPLAIN and switches](../use/explain.md).
    "optimizer_switch": Both, Text, OPTIMIZER_SWITCH, Real;
    /// Whether the optimizer writes down what it weighs, for information_schema.OPTIMIZER_TRACE.
    "optimizer_trace": Both, Text, "enabled=off,one_line=off", Real;
    /// What a trace has.
    "optimizer_trace_features": Both, Text,
        "greedy_search=on,range_optimizer=on,dynamic_range=on,repeated_subselect=on", Real;
    /// Traces that are kept.
    "optimizer_trace_limit": Both, Int { min: 0, max: 2147483647 }, "1", Real;
    /// How long traces may be together.
    "optimizer_trace_max_mem_size": Both, Int { min: 0, max: U32 }, "1048576", Real, in "bytes";
    /// Which traces are kept; negative: counted from the last.
    "optimizer_trace_offset": Both, Int { min: -2147483647, max: 2147483647 }, "-1", Real;
    /// Nextleaf's own. Threads that may help a statement; 0: as many as there are cores.
    "parallel_workers": Both, Int { min: 0, max: 1024 }, "0", Real;
    /// Whether rights can be taken back for single databases.
    "partial_revokes": Global, Bool, "OFF", ReadOnly;
    /// Whether performance_schema is kept.
    "performance_schema": Global, Bool, "ON", ReadOnly;
    /// A file that holds the process's number while it serves.
    "pid_file": Global, Text, "", ReadOnly;
    /// The TCP port to listen on; 0: any.
    "port": Global, Int { min: 0, max: 65535 }, "3306", ReadOnly;
    /// MyISAM's buffer for loading keys.
    "preload_buffer_size": Both, Int { min: 1024, max: 1073741824 }, "32768", Accepted, in "bytes";
    /// Whether SHOW CREATE USER prints verifiers in hexadecimal.
    "print_identified_with_as_hex": Both, Bool, "OFF", Real;
    /// Whether SHOW PROFILE gathers figures; it is not there.
    "profiling": Both, Bool, "OFF", Accepted;
    /// The version of the protocol.
    "protocol_version": Global, Int { min: 0, max: 255 }, "10", ReadOnly;
    /// The account for which the session's stands in: none.
    "proxy_user": Session, Text, "\0", ReadOnly;
    /// The connection's number.
    "pseudo_thread_id": Session, Int { min: 0, max: U64 }, "0", ReadOnly;
    /// MySQL's blocks of memory for statements.
    "query_alloc_block_size": Both, Int { min: 1024, max: U32 }, "8192", Accepted, in "bytes";
    /// MySQL's first block of memory for statements.
    "query_prealloc_size": Both, Int { min: 8192, max: U64 }, "8192", Accepted, in "bytes";
    /// One half of RAND()'s seed, for replication.
    "rand_seed1": Session, Int { min: 0, max: U64 }, "0", Accepted;
    /// The other half of RAND()'s seed.
    "rand_seed2": Session, Int { min: 0, max: U64 }, "0", Accepted;
    /// MySQL's blocks of memory for ranges.
    "range_alloc_block_size": Both, Int { min: 4096, max: U32 }, "4096", Accepted, in "bytes";
    /// What the search for one index's ranges may take; beyond it they are not used (3170); 0: no bound.
    "range_optimizer_max_mem_size": Both, Int { min: 0, max: U64 }, "8388608", Real, in "bytes";
    /// MyISAM's buffer of scans.
    "read_buffer_size": Both, Int { min: 8192, max: 2147479552 }, "131072", Accepted, in "bytes";
    /// Whether accounts without CONNECTION_ADMIN may not change rows (1290).
    "read_only": Global, Bool, "OFF", Real;
    /// What a multi-range read sorts at a time.
    "read_rnd_buffer_size": Both, Int { min: 1, max: 2147483647 }, "262144", Real, in "bytes";
    /// How long a replica waits for its source; there are none.
    "replica_net_timeout": Global, Int { min: 1, max: 31536000 }, "60", Accepted, in "seconds";
    /// Whether clients must use TLS or the socket file (3159).
    "require_secure_transport": Global, Bool, "OFF", ReadOnly;
    /// The folder that LOAD DATA INFILE and BACKUP TO may use; empty: no bound; NULL: none.
    /// The default is the folder `files` of the data folder.
    "secure_file_priv": Global, Text, "", ReadOnly;
    /// The server's number among replicas.
    "server_id": Global, Int { min: 0, max: U32 }, "1", Accepted;
    /// The server's identity among replicas.
    "server_uuid": Global, Text, "00000000-0000-0000-0000-000000000000", ReadOnly;
    /// Whether answers tell of GTIDs.
    "session_track_gtids": Both, Enum(&["OFF", "OWN_GTID", "ALL_GTIDS"]), "OFF", ReadOnly;
    /// Whether answers tell of a new default database: they do.
    "session_track_schema": Both, Bool, "ON", Accepted;
    /// Whether answers tell that the session's state has changed.
    "session_track_state_change": Both, Bool, "OFF", Accepted;
    /// Which variables answers tell of.
    "session_track_system_variables": Both, Text,
        "time_zone,autocommit,character_set_client,character_set_results,character_set_connection", Accepted;
    /// Whether SHOW CREATE TABLE leaves out SECONDARY_ENGINE.
    "show_create_table_skip_secondary_engine": Session, Bool, "OFF", Accepted;
    /// Whether SHOW CREATE TABLE prints the row format always.
    "show_create_table_verbosity": Both, Bool, "OFF", Accepted;
    /// Whether files are not locked for MyISAM.
    "skip_external_locking": Global, Bool, "ON", ReadOnly;
    /// Whether hosts are known by address only: they are.
    "skip_name_resolve": Global, Bool, "ON", ReadOnly;
    /// Whether the server does not listen on TCP.
    "skip_networking": Global, Bool, "OFF", ReadOnly;
    /// Whether statements from long_query_time on are written to the slow log.
    "slow_query_log": Global, Bool, "OFF", Real;
    /// The file of the slow log, from the data folder on.
    "slow_query_log_file": Global, Text, "nextleaf-slow.log", Real;
    /// The Unix socket file to listen on, from the data folder on; empty: none.
    "socket": Global, Text, "", ReadOnly;
    /// What the threads of one sort keep together before they spill; the default bounds nothing.
    "sort_buffer_size": Both, Int { min: 32768, max: U64 }, "262144", Real, in "bytes";
    /// Whether `id IS NULL` finds the last AUTO_INCREMENT value; ON is refused (1235).
    "sql_auto_is_null": Both, Bool, "OFF", Real;
    /// Whether max_join_size is not looked at.
    "sql_big_selects": Both, Bool, "ON", Accepted;
    /// Whether results are kept whole before they are sent.
    "sql_buffer_result": Both, Bool, "OFF", Accepted;
    /// Whether tables without a primary key get one.
    "sql_generate_invisible_primary_key": Both, Bool, "OFF", ReadOnly;
    /// Whether the session's changes go to the binary log; there is none.
    "sql_log_bin": Session, Bool, "ON", Accepted;
    /// Whether the session's commands stay out of the general log.
    "sql_log_off": Both, Bool, "OFF", Real;
    /// What is an error, and what words mean: see MySQL's manual. PAD_CHAR_TO_FULL_LENGTH is refused.
    "sql_mode": Both, Set(SQL_MODES), SQL_MODE_DEFAULT, Real;
    /// Whether notes are kept as warnings.
    "sql_notes": Both, Bool, "ON", Real;
    /// Whether SHOW CREATE quotes names: it does.
    "sql_quote_show_create": Both, Bool, "ON", Accepted;
    /// Whether tables need a primary key (3750).
    "sql_require_primary_key": Both, Bool, "OFF", Real;
    /// Whether UPDATE and DELETE need a key or a LIMIT (1175).
    "sql_safe_updates": Both, Bool, "OFF", Real;
    /// The most rows of a SELECT without a LIMIT.
    "sql_select_limit": Both, Int { min: 0, max: U64 }, "18446744073709551615", Real, in "rows";
    /// Whether an INSERT of one row tells of its warnings.
    "sql_warnings": Both, Bool, "OFF", Accepted;
    /// The certificate of the authority.
    "ssl_ca": Global, Text, "ca.pem", ReadOnly;
    /// The server's certificate chain, PEM.
    "ssl_cert": Global, Text, "server-cert.pem", ReadOnly;
    /// Which ciphers TLS may use.
    "ssl_cipher": Global, Text, "", ReadOnly;
    /// The private key of the certificate, PEM.
    "ssl_key": Global, Text, "server-key.pem", ReadOnly;
    /// Another name of default_storage_engine.
    "storage_engine": Both, Enum(&["InnoDB", "MEMORY"]), "InnoDB", Real;
    /// Routines that a session keeps; there are none.
    "stored_program_cache": Global, Int { min: 16, max: 524288 }, "256", Accepted;
    /// read_only for everybody.
    "super_read_only": Global, Bool, "OFF", Real;
    /// How often the binary log is synced; there is none.
    "sync_binlog": Global, Int { min: 0, max: U32 }, "1", Accepted;
    /// The machine's time zone when the server started.
    "system_time_zone": Global, Text, "UTC", ReadOnly;
    /// Definitions of tables that are kept; here all are.
    "table_definition_cache": Global, Int { min: 400, max: 524288 }, "2000", Accepted;
    /// Tables that are kept open; here all are.
    "table_open_cache": Global, Int { min: 1, max: 524288 }, "4000", Accepted;
    /// Threads that wait for connections.
    "thread_cache_size": Global, Int { min: 0, max: 16384 }, "9", Accepted;
    /// Who serves connections: `dynamic`, a thread each where few are busy and few threads for all where
    /// many are; or always the one or the other.
    "thread_handling": Global, Enum(&["dynamic", "one-thread-per-connection", "pool-of-threads"]), "dynamic", Real;
    /// The stack of a thread.
    "thread_stack": Global, Int { min: 131072, max: U64 }, "1048576", ReadOnly, in "bytes";
    /// The session's time zone: SYSTEM, an offset or a name of the IANA database.
    "time_zone": Both, Text, "SYSTEM", Real;
    /// What NOW() returns; 0 and DEFAULT: the time.
    "timestamp": Session, Double { min: 0.0, max: 4102444800.0 }, "0.000000", Real, in "seconds since 1970";
    /// Versions of TLS.
    "tls_version": Global, Text, "TLSv1.2,TLSv1.3", ReadOnly;
    /// What one grouping, DISTINCT, set operation, window or materialized result keeps before it spills;
    /// the default bounds nothing.
    "tmp_table_size": Both, Int { min: 1024, max: U64 }, "16777216", Real, in "bytes";
    /// The folder of temporary files.
    "tmpdir": Global, Text, "/tmp", ReadOnly;
    /// The isolation level of the next transactions.
    "transaction_isolation": Both, Enum(ISOLATION), "REPEATABLE-READ", Real;
    /// Whether the next transactions may not change rows (1792).
    "transaction_read_only": Both, Bool, "OFF", Real;
    /// Another name of transaction_isolation, for old drivers.
    "tx_isolation": Both, Enum(ISOLATION), "REPEATABLE-READ", Real;
    /// Another name of transaction_read_only, for old drivers.
    "tx_read_only": Both, Bool, "OFF", Real;
    /// Whether unique keys are checked; they always are.
    "unique_checks": Both, Bool, "ON", Accepted;
    /// Whether views without a key can be changed with LIMIT.
    "updatable_views_with_limit": Both, Bool, "ON", Accepted;
    /// Whether a second engine may answer; there is none.
    "use_secondary_engine": Session, Enum(&["OFF", "ON", "FORCED"]), "ON", Accepted;
    /// The server's version.
    "version": Global, Text, concat!("8.4.0-nextleaf-", env!("CARGO_PKG_VERSION")), ReadOnly;
    /// The server's name.
    "version_comment": Global, Text, "Nextleaf", ReadOnly;
    /// The processor that the server was built for.
    "version_compile_machine": Global, Text, std::env::consts::ARCH, ReadOnly;
    /// The system that the server was built for.
    "version_compile_os": Global, Text, "Linux", ReadOnly;
    /// The version of zlib that the server behaves like.
    "version_compile_zlib": Global, Text, "1.3.1", ReadOnly;
    /// How long a session may stay idle.
    "wait_timeout": Both, Int { min: 1, max: 31536000 }, "28800", Real, in "seconds";
    /// Errors, warnings and notes of the last statement.
    "warning_count": Session, Int { min: 0, max: U32 }, "0", ReadOnly;
    /// Whether sums over moving frames are exact: they are.
    "windowing_use_high_precision": Both, Bool, "ON", Accepted;
    /// Whether a prepared XA transaction leaves its session; there are none.
    "xa_detach_on_prepare": Both, Bool, "ON", Accepted;
}
