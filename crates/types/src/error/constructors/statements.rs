//! Names, statements, expressions, common table expressions and windows.

use std::fmt;

use crate::error::{Error, ErrorCode};

// Names, schemas and tables.
constructors! {
    sp_fetch_no_data() = SP_FETCH_NO_DATA, "No data - zero rows fetched, selected, or processed";
    trg_does_not_exist(name) = TRG_DOES_NOT_EXIST, "Trigger does not exist: {name}";
    event_does_not_exist(name) = EVENT_DOES_NOT_EXIST, "Unknown event '{name}'";
    no_binary_logging() = NO_BINARY_LOGGING, "You are not using binary logging";
    cant_create_user_with_grant() = CANT_CREATE_USER_WITH_GRANT, "You are not allowed to create a user with GRANT";
    forbid_schema_change(from, to) = FORBID_SCHEMA_CHANGE, "Changing schema from '{from}' to '{to}' is not allowed.";
    plugin_is_not_loaded(name) = PLUGIN_IS_NOT_LOADED, "Plugin '{name}' is not loaded";
    too_long_table_comment(table, max) = TOO_LONG_TABLE_COMMENT, "Comment for table '{table}' is too long (max = {max})";
    too_long_field_comment(column, max) = TOO_LONG_FIELD_COMMENT, "Comment for field '{column}' is too long (max = {max})";
    cant_create_table(table, errno, what) = CANT_CREATE_TABLE, "Can't create table '{table}' (errno: {errno} - {what})";
    cant_create_db(db, errno, what) = CANT_CREATE_DB, "Can't create database '{db}' (errno: {errno} - {what})";
    db_create_exists(db) = DB_CREATE_EXISTS, "Can't create database '{db}'; database exists";
    db_drop_exists(db) = DB_DROP_EXISTS, "Can't drop database '{db}'; database doesn't exist";
    no_db() = NO_DB, "No database selected";
    bad_db(db) = BAD_DB, "Unknown database '{db}'";
    table_exists(table) = TABLE_EXISTS, "Table '{table}' already exists";
    /// DROP of something that is not there; `table` is `db.table`.
    bad_table(table) = BAD_TABLE, "Unknown table '{table}'";
    /// `column` in `clause`, e.g. `field list`, `where clause`, `order clause`, `on clause`.
    non_uniq(column, clause) = NON_UNIQ, "Column '{column}' in {clause} is ambiguous";
    bad_field(column, clause) = BAD_FIELD, "Unknown column '{column}' in '{clause}'";
    no_such_table(db, table) = NO_SUCH_TABLE, "Table '{db}.{table}' doesn't exist";
    /// A qualifier that names no table of the statement; `place` is e.g. `MULTI DELETE` or `field list`.
    unknown_table(table, place) = UNKNOWN_TABLE, "Unknown table '{table}' in {place}";
    nonuniq_table(alias) = NONUNIQ_TABLE, "Not unique table/alias: '{alias}'";
    too_long_ident(name) = TOO_LONG_IDENT, "Identifier name '{name}' is too long";
    wrong_db_name(name) = WRONG_DB_NAME, "Incorrect database name '{name}'";
    wrong_table_name(name) = WRONG_TABLE_NAME, "Incorrect table name '{name}'";
    wrong_column_name(name) = WRONG_COLUMN_NAME, "Incorrect column name '{name}'";
    wrong_name_for_index(name) = WRONG_NAME_FOR_INDEX, "Incorrect index name '{name}'";
    derived_must_have_alias() = DERIVED_MUST_HAVE_ALIAS, "Every derived table must have its own alias";
    tablename_not_allowed_here(table, clause) = TABLENAME_NOT_ALLOWED_HERE,
        "Table '{table}' from one of the SELECTs cannot be used in {clause}";
    open_as_readonly(table) = OPEN_AS_READONLY, "Table '{table}' is read only";
    no_tables_used() = NO_TABLES_USED, "No tables used";
    wrong_object(db, name, kind) = WRONG_OBJECT, "'{db}.{name}' is not {kind}";
}

// Statements and clauses.
constructors! {
    empty_query() = EMPTY_QUERY, "Query was empty";
    syntax() = SYNTAX, "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use";
    /// ONLY_FULL_GROUP_BY: `n` counts from 1, `clause` is `SELECT list`, `ORDER BY clause` or `HAVING clause`.
    wrong_field_with_group(n, clause, column) = WRONG_FIELD_WITH_GROUP,
        "Expression #{n} of {clause} is not in GROUP BY clause and contains nonaggregated column '{column}' which is not functionally dependent on columns in GROUP BY clause; this is incompatible with sql_mode=only_full_group_by";
    mix_of_group_func_and_fields(n, clause, column) = MIX_OF_GROUP_FUNC_AND_FIELDS,
        "In aggregated query without GROUP BY, expression #{n} of {clause} contains nonaggregated column '{column}'; this is incompatible with sql_mode=only_full_group_by";
    /// `reason` is `DISTINCT`.
    field_in_order_not_select(n, clause, column, reason) = FIELD_IN_ORDER_NOT_SELECT,
        "Expression #{n} of {clause} is not in SELECT list, references column '{column}' which is not in SELECT list; this is incompatible with {reason}";
    aggregate_in_order_not_select(n, clause, reason) = AGGREGATE_IN_ORDER_NOT_SELECT,
        "Expression #{n} of {clause} is not in SELECT list, contains aggregate function; this is incompatible with {reason}";
    aggregate_order_for_union(n) = AGGREGATE_ORDER_FOR_UNION,
        "Expression #{n} of ORDER BY contains aggregate function and applies to a UNION, EXCEPT or INTERSECT";
    aggregate_order_non_agg_query(n) = AGGREGATE_ORDER_NON_AGG_QUERY,
        "Expression #{n} of ORDER BY contains aggregate function and applies to the result of a non-aggregated query";
    wrong_group_field(column) = WRONG_GROUP_FIELD, "Can't group on '{column}'";
    invalid_group_func_use() = INVALID_GROUP_FUNC_USE, "Invalid use of group function";
    non_grouping_field_used(column, clause) = NON_GROUPING_FIELD_USED,
        "Non-grouping field '{column}' is used in {clause} clause";
    field_in_grouping_not_group_by(n) = FIELD_IN_GROUPING_NOT_GROUP_BY,
        "Argument #{n} of GROUPING function is not in GROUP BY";
    wrong_value_count() = WRONG_VALUE_COUNT, "Column count doesn't match value count";
    wrong_value_count_on_row(row) = WRONG_VALUE_COUNT_ON_ROW, "Column count doesn't match value count at row {row}";
    field_specified_twice(column) = FIELD_SPECIFIED_TWICE, "Column '{column}' specified twice";
    update_table_used(table) = UPDATE_TABLE_USED, "You can't specify target table '{table}' for update in FROM clause";
    update_without_key_in_safe_mode(detail) = UPDATE_WITHOUT_KEY_IN_SAFE_MODE,
        "You are using safe update mode and you tried to update a table without a WHERE that uses a KEY column. {detail}";
    non_updatable_table(table, statement) = NON_UPDATABLE_TABLE,
        "The target table {table} of the {statement} is not updatable";
    multi_update_key_conflict(one, other) = MULTI_UPDATE_KEY_CONFLICT,
        "Primary key/partition key update is not allowed since the table is updated both as '{one}' and '{other}'.";
    non_insertable_table(table, statement) = NON_INSERTABLE_TABLE,
        "The target table {table} of the {statement} is not insertable-into";
    too_many_tables(max) = TOO_MANY_TABLES, "Too many tables; MySQL can only use {max} tables in a join";
    /// An expression too deep for the stack; `max` is how deep it may be.
    stack_overrun(max) = STACK_OVERRUN_NEED_MORE, "Thread stack overrun:  expressions can be nested {max} levels deep at most";
    too_high_level_of_nesting_for_select() = TOO_HIGH_LEVEL_OF_NESTING_FOR_SELECT, "Too high level of nesting for select";
    too_big_select() = TOO_BIG_SELECT,
        "The SELECT would examine more than MAX_JOIN_SIZE rows; check your WHERE and use SET SQL_BIG_SELECTS=1 or SET MAX_JOIN_SIZE=# if the SELECT is okay";
    wrong_outer_join() = WRONG_OUTER_JOIN, "Cross dependency found in OUTER JOIN; examine your ON conditions";
    wrong_usage(a, b) = WRONG_USAGE, "Incorrect usage of {a} and {b}";
    cant_use_option_here(option) = CANT_USE_OPTION_HERE, "Incorrect usage/placement of '{option}'";
    dup_argument(option) = DUP_ARGUMENT, "Option '{option}' used twice in statement";
    wrong_number_of_columns_in_select() = WRONG_NUMBER_OF_COLUMNS_IN_SELECT,
        "The used SELECT statements have a different number of columns";
    operand_columns(n) = OPERAND_COLUMNS, "Operand should contain {n} column(s)";
    subquery_no_1_row() = SUBQUERY_NO_1_ROW, "Subquery returns more than 1 row";
    too_many_rows() = TOO_MANY_ROWS, "Result consisted of more than one row";
    illegal_reference(name, why) = ILLEGAL_REFERENCE, "Reference '{name}' not supported ({why})";
    select_reduced(n) = SELECT_REDUCED, "Select {n} was reduced during optimization";
    sp_does_not_exist(kind, name) = SP_DOES_NOT_EXIST, "{kind} {name} does not exist";
    sp_already_exists(kind, name) = SP_ALREADY_EXISTS, "{kind} {name} already exists";
    sp_wrong_no_of_args(kind, name, expected, got) = SP_WRONG_NO_OF_ARGS,
        "Incorrect number of arguments for {kind} {name}; expected {expected}, got {got}";
    sp_undeclared_var(name) = SP_UNDECLARED_VAR, "Undeclared variable: {name}";
    sp_no_retset(what) = SP_NO_RETSET, "Not allowed to return a result set from a {what}";
    wrong_paramcount_to_native_fct(function) = WRONG_PARAMCOUNT_TO_NATIVE_FCT,
        "Incorrect parameter count in the call to native function '{function}'";
    wrong_parameters_to_native_fct(function) = WRONG_PARAMETERS_TO_NATIVE_FCT,
        "Incorrect parameters in the call to native function '{function}'";
    func_inexistent_name_collision(function) = FUNC_INEXISTENT_NAME_COLLISION,
        "FUNCTION {function} does not exist. Check the 'Function Name Parsing and Resolution' section in the Reference Manual";
    function_not_defined(function) = FUNCTION_NOT_DEFINED, "Function '{function}' is not defined";
    wrong_arguments(function) = WRONG_ARGUMENTS, "Incorrect arguments to {function}";
    incorrect_type(argument, function) = INCORRECT_TYPE, "Incorrect type for argument {argument} in function {function}.";
    character_set_mismatch(a, b, function) = CHARACTER_SET_MISMATCH,
        "Character set '{a}' cannot be used in conjunction with '{b}' in call to {function}.";
    regexp_illegal_argument() = REGEXP_ILLEGAL_ARGUMENT, "Illegal argument to a regular expression.";
    regexp_index_outofbounds() = REGEXP_INDEX_OUTOFBOUNDS, "Index out of bounds in regular expression search.";
    regexp_rule_syntax(line, character) = REGEXP_RULE_SYNTAX,
        "Syntax error in regular expression on line {line}, character {character}.";
    regexp_bad_escape_sequence() = REGEXP_BAD_ESCAPE_SEQUENCE, "Unrecognized escape sequence in regular expression.";
    regexp_unimplemented() = REGEXP_UNIMPLEMENTED, "The regular expression contains a feature that is not implemented in this library version.";
    regexp_mismatched_paren() = REGEXP_MISMATCHED_PAREN, "Mismatched parenthesis in regular expression.";
    regexp_bad_interval() = REGEXP_BAD_INTERVAL, "Incorrect description of a {{min,max}} interval.";
    regexp_max_lt_min() = REGEXP_MAX_LT_MIN, "The maximum is less than the minumum in a {{min,max}} interval.";
    regexp_invalid_back_ref() = REGEXP_INVALID_BACK_REF, "Invalid back-reference in regular expression.";
    regexp_look_behind_limit() = REGEXP_LOOK_BEHIND_LIMIT, "The look-behind assertion exceeds the limit in regular expression.";
    regexp_missing_close_bracket() = REGEXP_MISSING_CLOSE_BRACKET, "The regular expression contains an unclosed bracket expression.";
    regexp_invalid_range() = REGEXP_INVALID_RANGE, "The regular expression contains an [x-y] character range where x comes after y.";
    regexp_time_out() = REGEXP_TIME_OUT, "Timeout exceeded in regular expression match.";
}

// Common table expressions, windows, locking clauses.
constructors! {
    unresolved_table_lock(table) = UNRESOLVED_TABLE_LOCK, "Unresolved table name {table} in locking clause.";
    duplicate_table_lock(table) = DUPLICATE_TABLE_LOCK, "Table {table} appears in multiple locking clauses.";
    cte_recursive_requires_union(name) = CTE_RECURSIVE_REQUIRES_UNION,
        "Recursive Common Table Expression '{name}' should contain a UNION";
    cte_recursive_requires_nonrecursive_first(name) = CTE_RECURSIVE_REQUIRES_NONRECURSIVE_FIRST,
        "Recursive Common Table Expression '{name}' should have one or more non-recursive query blocks followed by one or more recursive ones";
    cte_recursive_forbids_aggregation(name) = CTE_RECURSIVE_FORBIDS_AGGREGATION,
        "Recursive Common Table Expression '{name}' can contain neither aggregation nor window functions in recursive query block";
    cte_recursive_forbidden_join_order(name) = CTE_RECURSIVE_FORBIDDEN_JOIN_ORDER,
        "In recursive query block of Recursive Common Table Expression '{name}', the recursive table must neither be in the right argument of a LEFT JOIN, nor be forced to be non-first with join order hints";
    cte_recursive_requires_single_reference(name) = CTE_RECURSIVE_REQUIRES_SINGLE_REFERENCE,
        "In recursive query block of Recursive Common Table Expression '{name}', the recursive table must be referenced only once, and not in any subquery";
    cte_max_recursion_depth(iterations) = CTE_MAX_RECURSION_DEPTH,
        "Recursive query aborted after {iterations} iterations. Try increasing @@cte_max_recursion_depth to a larger value.";
    window_no_such_window(window) = WINDOW_NO_SUCH_WINDOW, "Window name '{window}' is not defined.";
    window_circularity() = WINDOW_CIRCULARITY, "There is a circularity in the window dependency graph.";
    window_no_child_partitioning() = WINDOW_NO_CHILD_PARTITIONING,
        "A window which depends on another cannot define partitioning.";
    window_no_inherit_frame(window) = WINDOW_NO_INHERIT_FRAME,
        "Window '{window}' has a frame definition, so cannot be referenced by another window.";
    window_no_redefine_order_by(window, other) = WINDOW_NO_REDEFINE_ORDER_BY,
        "Window '{window}' cannot inherit '{other}' since both contain an ORDER BY clause.";
    window_frame_start_illegal(window) = WINDOW_FRAME_START_ILLEGAL,
        "Window '{window}': frame start cannot be UNBOUNDED FOLLOWING.";
    window_frame_end_illegal(window) = WINDOW_FRAME_END_ILLEGAL,
        "Window '{window}': frame end cannot be UNBOUNDED PRECEDING.";
    window_frame_illegal(window) = WINDOW_FRAME_ILLEGAL,
        "Window '{window}': frame start or end is negative, NULL or of non-integral type";
    window_range_frame_order_type(window) = WINDOW_RANGE_FRAME_ORDER_TYPE,
        "Window '{window}' with RANGE N PRECEDING/FOLLOWING frame requires exactly one ORDER BY expression, of numeric or temporal type";
    window_range_frame_temporal_type(window) = WINDOW_RANGE_FRAME_TEMPORAL_TYPE,
        "Window '{window}' with RANGE frame has ORDER BY expression of datetime type. Only INTERVAL bound value allowed.";
    window_range_frame_numeric_type(window) = WINDOW_RANGE_FRAME_NUMERIC_TYPE,
        "Window '{window}' with RANGE frame has ORDER BY expression of numeric type, INTERVAL bound value not allowed.";
    window_range_bound_not_constant(window) = WINDOW_RANGE_BOUND_NOT_CONSTANT,
        "Window '{window}' has a non-constant frame bound.";
    window_duplicate_name(window) = WINDOW_DUPLICATE_NAME, "Window '{window}' is defined twice.";
    window_illegal_order_by(window) = WINDOW_ILLEGAL_ORDER_BY,
        "Window '{window}': ORDER BY or PARTITION BY uses legacy position indication which is not supported, use expression.";
    window_invalid_window_func_use(function) = WINDOW_INVALID_WINDOW_FUNC_USE,
        "You cannot use the window function '{function}' in this context.'";
    window_invalid_window_func_alias_use(alias) = WINDOW_INVALID_WINDOW_FUNC_ALIAS_USE,
        "You cannot use the alias '{alias}' of an expression containing a window function in this context.'";
    window_nested_window_func_use(window) = WINDOW_NESTED_WINDOW_FUNC_USE,
        "You cannot nest a window function in the specification of window '{window}'.";
    window_rows_interval_use(window) = WINDOW_ROWS_INTERVAL_USE,
        "Window '{window}': INTERVAL can only be used with RANGE frames.";
    window_function_ignores_frame(function, window) = WINDOW_FUNCTION_IGNORES_FRAME,
        "Window function '{function}' ignores the frame clause of window '{window}' and aggregates over the whole partition";
}
