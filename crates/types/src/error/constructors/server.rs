//! Variables, prepared statements, transactions, connections, accounts and the server itself.

use std::fmt;

use crate::error::{Error, ErrorCode};

// Variables, prepared statements, transactions and locks.
constructors! {
    unknown_system_variable(name) = UNKNOWN_SYSTEM_VARIABLE, "Unknown system variable '{name}'";
    local_variable(name) = LOCAL_VARIABLE, "Variable '{name}' is a SESSION variable and can't be used with SET GLOBAL";
    global_variable(name) = GLOBAL_VARIABLE, "Variable '{name}' is a GLOBAL variable and should be set with SET GLOBAL";
    variable_is_readonly(scope, name, instead) = VARIABLE_IS_READONLY,
        "{scope} variable '{name}' is read-only. Use {instead} to assign the value";
    no_default(name) = NO_DEFAULT, "Variable '{name}' doesn't have a default value";
    unknown_locale(name) = UNKNOWN_LOCALE, "Unknown locale: '{name}'";
    wrong_value_for_var(name, value) = WRONG_VALUE_FOR_VAR, "Variable '{name}' can't be set to the value of '{value}'";
    wrong_type_for_var(name) = WRONG_TYPE_FOR_VAR, "Incorrect argument type to variable '{name}'";
    var_cant_be_read(name) = VAR_CANT_BE_READ, "Variable '{name}' can only be set, not read";
    /// `kind`: `read only`, `SESSION`, `GLOBAL`.
    incorrect_global_local_var(name, kind) = INCORRECT_GLOBAL_LOCAL_VAR, "Variable '{name}' is a {kind} variable";
    variable_is_not_struct(name) = VARIABLE_IS_NOT_STRUCT,
        "Variable '{name}' is not a variable component (can't be used as XXXX.variable_name)";
    set_constants_only() = SET_CONSTANTS_ONLY, "You may only use constant expressions with SET";
    logging_prohibit_changing_of(what) = LOGGING_PROHIBIT_CHANGING_OF,
        "Logging and replication prohibit changing the global server {what}";
    /// `statement`: `EXECUTE`, `DEALLOCATE PREPARE`, `mysqld_stmt_execute`.
    unknown_stmt_handler(name, statement) = UNKNOWN_STMT_HANDLER,
        "Unknown prepared statement handler ({name}) given to {statement}";
    unsupported_ps() = UNSUPPORTED_PS, "This command is not supported in the prepared statement protocol yet";
    ps_many_param() = PS_MANY_PARAM, "Prepared statement contains too many placeholders";
    ps_no_recursion() = PS_NO_RECURSION, "The prepared statement contains a stored routine call that refers to that same statement. It's not allowed to execute a prepared statement in such a recursive manner";
    stmt_has_no_open_cursor(id) = STMT_HAS_NO_OPEN_CURSOR, "The statement ({id}) has no open cursor.";
    max_prepared_stmt_count_reached(n) = MAX_PREPARED_STMT_COUNT_REACHED,
        "Can't create more than max_prepared_stmt_count statements (current value: {n})";
    need_reprepare() = NEED_REPREPARE, "Prepared statement needs to be re-prepared";
    lock_wait_timeout() = LOCK_WAIT_TIMEOUT, "Lock wait timeout exceeded; try restarting transaction";
    lock_deadlock() = LOCK_DEADLOCK, "Deadlock found when trying to get lock; try restarting transaction";
    lock_nowait() = LOCK_NOWAIT,
        "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.";
    lock_table_full() = LOCK_TABLE_FULL, "The total number of locks exceeds the lock table size";
    lock_or_active_transaction() = LOCK_OR_ACTIVE_TRANSACTION,
        "Can't execute the given command because you have active locked tables or an active transaction";
    table_not_locked(table) = TABLE_NOT_LOCKED, "Table '{table}' was not locked with LOCK TABLES";
    table_not_locked_for_write(table) = TABLE_NOT_LOCKED_FOR_WRITE,
        "Table '{table}' was locked with a READ lock and can't be updated";
    cant_update_with_readlock() = CANT_UPDATE_WITH_READLOCK,
        "Can't execute the query because you have a conflicting read lock";
    read_only_transaction() = READ_ONLY_TRANSACTION,
        "Update locks cannot be acquired during a READ UNCOMMITTED transaction";
    cant_change_tx_characteristics() = CANT_CHANGE_TX_CHARACTERISTICS,
        "Transaction characteristics can't be changed while a transaction is in progress";
    cant_execute_in_read_only_transaction() = CANT_EXECUTE_IN_READ_ONLY_TRANSACTION,
        "Cannot execute statement in a READ ONLY transaction.";
    cant_do_this_during_a_transaction() = CANT_DO_THIS_DURING_A_TRANSACTION,
        "You are not allowed to execute this command in a transaction";
    warning_not_complete_rollback() = WARNING_NOT_COMPLETE_ROLLBACK,
        "Some non-transactional changed tables couldn't be rolled back";
    error_during_commit(errno, what) = ERROR_DURING_COMMIT, "Got error {errno} - '{what}' during COMMIT";
    table_def_changed() = TABLE_DEF_CHANGED, "Table definition has changed, please retry transaction";
    undo_record_too_big() = UNDO_RECORD_TOO_BIG, "Undo log record is too big.";
    user_lock_wrong_name(name) = USER_LOCK_WRONG_NAME, "Incorrect user-level lock name '{name}'. The name is empty, NULL, or can not be expressed in the current character-set.";
    user_lock_deadlock() = USER_LOCK_DEADLOCK,
        "Deadlock found when trying to get user-level lock; try rolling back transaction/releasing locks and restarting lock acquisition.";
    signal_warn() = SIGNAL_WARN, "Unhandled user-defined warning condition";
    signal_not_found() = SIGNAL_NOT_FOUND, "Unhandled user-defined not found condition";
    signal_exception() = SIGNAL_EXCEPTION, "Unhandled user-defined exception condition";
    unknown_explain_format(name) = UNKNOWN_EXPLAIN_FORMAT, "Unknown EXPLAIN format name: '{name}'";
}

// Connections, accounts and privileges.
constructors! {
    con_count() = CON_COUNT, "Too many connections";
    bad_host() = BAD_HOST, "Can't get hostname for your address";
    handshake() = HANDSHAKE, "Bad handshake";
    dbaccess_denied(user, host, db) = DBACCESS_DENIED, "Access denied for user '{user}'@'{host}' to database '{db}'";
    /// `using_password`: `YES` or `NO`.
    access_denied(user, host, using_password) = ACCESS_DENIED,
        "Access denied for user '{user}'@'{host}' (using password: {using_password})";
    access_denied_no_password(user, host) = ACCESS_DENIED_NO_PASSWORD, "Access denied for user '{user}'@'{host}'";
    unknown_com() = UNKNOWN_COM, "Unknown command";
    cant_create_thread(errno) = CANT_CREATE_THREAD,
        "Can't create a new thread (errno {errno}); if you are not out of available memory, you can consult the manual for a possible OS-dependent bug";
    net_fcntl_error() = NET_FCNTL_ERROR, "Got an error from fcntl()";
    malformed_packet() = MALFORMED_PACKET, "Malformed communication packet.";
    account_has_been_locked(user, host) = ACCOUNT_HAS_BEEN_LOCKED,
        "Access denied for user '{user}'@'{host}'. Account is locked.";
    secure_transport_required() = SECURE_TRANSPORT_REQUIRED,
        "Connections using insecure transport are prohibited while --require_secure_transport=ON.";
    client_local_files_disabled() = CLIENT_LOCAL_FILES_DISABLED,
        "Loading local data is disabled; this must be enabled on both the client and server sides";
    restart_server_failed(why) = RESTART_SERVER_FAILED, "Restart server failed ({why}).";
    server_shutdown() = SERVER_SHUTDOWN, "Server shutdown in progress";
    host_not_privileged(host) = HOST_NOT_PRIVILEGED, "Host '{host}' is not allowed to connect to this MySQL server";
    not_supported_auth_mode() = NOT_SUPPORTED_AUTH_MODE,
        "Client does not support authentication protocol requested by server; consider upgrading MySQL client";
    aborting_connection(id, db, user, why) = ABORTING_CONNECTION,
        "Aborted connection {id} to db: '{db}' user: '{user}' ({why})";
    net_packet_too_large() = NET_PACKET_TOO_LARGE, "Got a packet bigger than 'max_allowed_packet' bytes";
    net_packets_out_of_order() = NET_PACKETS_OUT_OF_ORDER, "Got packets out of order";
    net_uncompress() = NET_UNCOMPRESS, "Couldn't uncompress communication packet";
    net_read_error() = NET_READ, "Got an error reading communication packets";
    net_read_interrupted() = NET_READ_INTERRUPTED, "Got timeout reading communication packets";
    net_error_on_write() = NET_ERROR_ON_WRITE, "Got an error writing communication packets";
    net_write_interrupted() = NET_WRITE_INTERRUPTED, "Got timeout writing communication packets";
    client_interaction_timeout() = CLIENT_INTERACTION_TIMEOUT,
        "The client was disconnected by the server because of inactivity. See wait_timeout and interactive_timeout for configuring this behavior.";
    connect_to_source(why) = CONNECT_TO_SOURCE, "Error connecting to source: {why}";
    explain_not_supported() = EXPLAIN_NOT_SUPPORTED,
        "EXPLAIN FOR CONNECTION command is supported only for SELECT/UPDATE/INSERT/DELETE/REPLACE";
    no_such_thread(id) = NO_SUCH_THREAD, "Unknown thread id: {id}";
    kill_denied(id) = KILL_DENIED, "You are not owner of thread {id}";
    too_many_user_connections(user) = TOO_MANY_USER_CONNECTIONS,
        "User {user} already has more than 'max_user_connections' active connections";
    user_limit_reached(user, resource, value) = USER_LIMIT_REACHED,
        "User '{user}' has exceeded the '{resource}' resource (current value: {value})";
    specific_access_denied(privilege) = SPECIFIC_ACCESS_DENIED,
        "Access denied; you need (at least one of) the {privilege} privilege(s) for this operation";
    tableaccess_denied(command, user, host, table) = TABLEACCESS_DENIED,
        "{command} command denied to user '{user}'@'{host}' for table '{table}'";
    columnaccess_denied(command, user, host, column, table) = COLUMNACCESS_DENIED,
        "{command} command denied to user '{user}'@'{host}' for column '{column}' in table '{table}'";
    procaccess_denied(command, user, host, routine) = PROCACCESS_DENIED,
        "{command} command denied to user '{user}'@'{host}' for routine '{routine}'";
    illegal_grant_for_table() = ILLEGAL_GRANT_FOR_TABLE,
        "Illegal GRANT/REVOKE command; please consult the manual to see which privileges can be used";
    nonexisting_grant(user, host) = NONEXISTING_GRANT, "There is no such grant defined for user '{user}' on host '{host}'";
    nonexisting_table_grant(user, host, table) = NONEXISTING_TABLE_GRANT,
        "There is no such grant defined for user '{user}' on host '{host}' on table '{table}'";
    password_no_match() = PASSWORD_NO_MATCH, "Can't find any matching row in the user table";
    not_allowed_command() = NOT_ALLOWED_COMMAND, "The used command is not allowed with this MySQL version";
    /// `operation`: e.g. `CREATE USER`; `who`: `'u'@'h'`.
    cannot_user(operation, who) = CANNOT_USER, "Operation {operation} failed for {who}";
    no_such_user(user, host) = NO_SUCH_USER, "The user specified as a definer ('{user}'@'{host}') does not exist";
    user_does_not_exist(who) = USER_DOES_NOT_EXIST, "Authorization ID {who} does not exist.";
    user_already_exists(who) = USER_ALREADY_EXISTS, "Authorization ID {who} already exists.";
    password_format() = PASSWORD_FORMAT, "The password hash doesn't have the expected format.";
    not_valid_password() = NOT_VALID_PASSWORD, "Your password does not satisfy the current policy requirements";
    must_change_password() = MUST_CHANGE_PASSWORD,
        "You must reset your password using ALTER USER statement before executing this statement.";
}

// The server: files, memory, interruption, options.
constructors! {
    cant_create_file(file, errno, what) = CANT_CREATE_FILE, "Can't create file '{file}' (errno: {errno} - {what})";
    cant_open_file(file, errno, what) = CANT_OPEN_FILE, "Can't open file: '{file}' (errno: {errno} - {what})";
    file_not_found(file, errno, what) = FILE_NOT_FOUND, "Can't find file: '{file}' (errno: {errno} - {what})";
    malformed_gtid_set_specification(text) = MALFORMED_GTID_SET_SPECIFICATION,
        "Malformed GTID set specification '{text}'.";
    malformed_gtid_specification(text) = MALFORMED_GTID_SPECIFICATION, "Malformed GTID specification '{text}'.";
    cant_set_gtid_next_to_gtid_when_gtid_mode_is_off() = CANT_SET_GTID_NEXT_TO_GTID_WHEN_GTID_MODE_IS_OFF,
        "@@SESSION.GTID_NEXT cannot be set to UUID:NUMBER when @@GLOBAL.GTID_MODE = OFF.";
    cant_set_gtid_purged_due_sets_constraints(why) = CANT_SET_GTID_PURGED_DUE_SETS_CONSTRAINTS,
        "@@GLOBAL.GTID_PURGED cannot be changed: {why}";
    cant_get_stat(file, errno, what) = CANT_GET_STAT, "Can't get stat of '{file}' (OS errno {errno} - {what})";
    file_not_readable(file, errno, what) = FILE_NOT_READABLE, "File '{file}' not found (OS errno {errno} - {what})";
    file_exists(file) = FILE_EXISTS, "File '{file}' already exists";
    textfile_not_readable(file) = TEXTFILE_NOT_READABLE,
        "The file '{file}' must be in the database directory or be readable by all";
    disk_full(file, errno, what) = DISK_FULL,
        "Disk full ({file}); waiting for someone to free some space... (errno: {errno} - {what})";
    error_on_read(file, errno, what) = ERROR_ON_READ, "Error reading file '{file}' (errno: {errno} - {what})";
    error_on_write(file, errno, what) = ERROR_ON_WRITE, "Error writing file '{file}' (errno: {errno} - {what})";
    get_errno(errno, what) = GET_ERRNO, "Got error {errno} - '{what}' from storage engine";
    get_errmsg(errno, what, from) = GET_ERRMSG, "Got error {errno} '{what}' from {from}";
    get_temporary_errmsg(errno, what, from) = GET_TEMPORARY_ERRMSG, "Got temporary error {errno} '{what}' from {from}";
    out_of_memory(bytes) = OUT_OF_MEMORY, "Out of memory; restart server and try again (needed {bytes} bytes)";
    out_of_sortmemory() = OUT_OF_SORTMEMORY, "Out of sort memory, consider increasing server sort buffer size";
    out_of_resources() = OUT_OF_RESOURCES,
        "Out of memory; check if mysqld or some other process uses all available memory; if not, you may have to use 'ulimit' to allow mysqld to use more memory or you can add more swap space";
    capacity_exceeded(bytes, what, detail) = CAPACITY_EXCEEDED, "Memory capacity of {bytes} bytes for '{what}' exceeded. {detail}";
    query_interrupted() = QUERY_INTERRUPTED, "Query execution was interrupted";
    query_timeout() = QUERY_TIMEOUT, "Query execution was interrupted, maximum statement execution time exceeded";
    error_when_executing_command(command, why) = ERROR_WHEN_EXECUTING_COMMAND,
        "Error when executing command {command}: {why}";
    feature_disabled(feature, how) = FEATURE_DISABLED,
        "The '{feature}' feature is disabled; you need MySQL built with '{how}' to have it working";
    /// `option`: e.g. `--read-only`, `--secure-file-priv`.
    option_prevents_statement(option) = OPTION_PREVENTS_STATEMENT,
        "The MySQL server is running with the {option} option so it cannot execute this statement";
    read_only_mode() = READ_ONLY_MODE, "Running in read-only mode";
    warn_deprecated_syntax(what, instead) = WARN_DEPRECATED_SYNTAX,
        "'{what}' is deprecated and will be removed in a future release. Please use {instead} instead";
    warn_deprecated_syntax_no_replacement(what) = WARN_DEPRECATED_SYNTAX_NO_REPLACEMENT,
        "'{what}' is deprecated and will be removed in a future release.";
    check_no_such_table() = CHECK_NO_SUCH_TABLE, "Can't open table";
    check_not_implemented(what) = CHECK_NOT_IMPLEMENTED, "The storage engine for the table doesn't support {what}";
    /// 1105, for what has no number of its own.
    unknown(what) = UNKNOWN, "{what}";
    /// 1815: a broken invariant of ours, answered instead of a panic.
    internal(what) = INTERNAL, "Internal error: {what}";
    /// 1235: a statement or clause of MySQL's that Nextleaf does not have yet.
    not_supported(what) = NOT_SUPPORTED_YET, "This version of Nextleaf doesn't yet support '{what}'";
}
