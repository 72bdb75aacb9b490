//! One constructor per condition, with MySQL's wording. Quoted arguments are cut where MySQL cuts them, so that a
//! megabyte literal does not come back in a message.

use std::fmt;

use super::{Error, ErrorCode};

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident($($arg:ident),*) = $code:ident, $template:literal;)*) => {
        impl Error {
            $(
                $(#[$doc])*
                #[doc = concat!("`", $template, "`")]
                pub fn $name($($arg: impl fmt::Display),*) -> Error {
                    Error::new(ErrorCode::$code, format!($template))
                }
            )*
        }
    };
}

/// At most `chars` characters of `text`: MySQL's `%-.128s`.
pub fn clip(text: impl fmt::Display, chars: usize) -> String {
    let mut s = text.to_string();
    if let Some((end, _)) = s.char_indices().nth(chars) {
        s.truncate(end);
    }
    s
}

// Names, schemas and tables.
constructors! {
    cant_create_table(table, errno, what) = CANT_CREATE_TABLE, "Can't create table '{table}' (errno: {errno} - {what})";
    cant_create_db(db, errno, what) = CANT_CREATE_DB, "Can't create database '{db}' (errno: {errno} - {what})";
    db_create_exists(db) = DB_CREATE_EXISTS, "Can't create database '{db}'; database exists";
    db_drop_exists(db) = DB_DROP_EXISTS, "Can't drop database '{db}'; database doesn't exist";
    no_db() = NO_DB, "No database selected";
    sp_fetch_no_data() = SP_FETCH_NO_DATA, "No data - zero rows fetched, selected, or processed";
    trg_does_not_exist(name) = TRG_DOES_NOT_EXIST, "Trigger does not exist: {name}";
    event_does_not_exist(name) = EVENT_DOES_NOT_EXIST, "Unknown event '{name}'";
    no_binary_logging() = NO_BINARY_LOGGING, "You are not using binary logging";
    cant_create_user_with_grant() = CANT_CREATE_USER_WITH_GRANT, "You are not allowed to create a user with GRANT";
    forbid_schema_change(from, to) = FORBID_SCHEMA_CHANGE, "Changing schema from '{from}' to '{to}' is not allowed.";
    plugin_is_not_loaded(name) = PLUGIN_IS_NOT_LOADED, "Plugin '{name}' is not loaded";
    too_long_table_comment(table, max) = TOO_LONG_TABLE_COMMENT, "Comment for table '{table}' is too long (max = {max})";
    too_long_field_comment(column, max) = TOO_LONG_FIELD_COMMENT, "Comment for field '{column}' is too long (max = {max})";
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
        "Expression #{n} of ORDER BY contains aggregate function and applies to the result of a UNION";
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
    regexp_illegal_argument() = REGEXP_ILLEGAL_ARGUMENT, "Illegal argument to a regular expression.";
    regexp_index_outofbounds() = REGEXP_INDEX_OUTOFBOUNDS, "Index out of bounds in regular expression search.";
    regexp_rule_syntax(line, character) = REGEXP_RULE_SYNTAX,
        "Syntax error in regular expression on line {line}, character {character}.";
    regexp_bad_escape_sequence() = REGEXP_BAD_ESCAPE_SEQUENCE, "Unrecognized escape sequence in regular expression.";
    regexp_unimplemented() = REGEXP_UNIMPLEMENTED, "The regular expression contains a feature that is not implemented in this library version.";
    regexp_mismatched_paren() = REGEXP_MISMATCHED_PAREN, "Mismatched parenthesis in regular expression.";
    regexp_bad_interval() = REGEXP_BAD_INTERVAL, "Incorrect description of a {{min,max}} interval.";
    regexp_max_lt_min() = REGEXP_MAX_LT_MIN, "The maximum is less than the minimum in a {{min,max}} interval.";
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

// Definitions of columns, keys, constraints, partitions and views.
constructors! {
    dup_fieldname(column) = DUP_FIELDNAME, "Duplicate column name '{column}'";
    dup_keyname(key) = DUP_KEYNAME, "Duplicate key name '{key}'";
    wrong_field_spec(column) = WRONG_FIELD_SPEC, "Incorrect column specifier for column '{column}'";
    invalid_default(column) = INVALID_DEFAULT, "Invalid default value for '{column}'";
    multiple_pri_key() = MULTIPLE_PRI_KEY, "Multiple primary key defined";
    too_many_keys(max) = TOO_MANY_KEYS, "Too many keys specified; max {max} keys allowed";
    too_many_key_parts(max) = TOO_MANY_KEY_PARTS, "Too many key parts specified; max {max} parts allowed";
    too_long_key(max) = TOO_LONG_KEY, "Specified key was too long; max key length is {max} bytes";
    key_column_does_not_exist(column) = KEY_COLUMN_DOES_NOT_EXIST, "Key column '{column}' doesn't exist in table";
    blob_used_as_key(column) = BLOB_USED_AS_KEY,
        "BLOB column '{column}' can't be used in key specification with the used table type";
    blob_key_without_length(column) = BLOB_KEY_WITHOUT_LENGTH,
        "BLOB/TEXT column '{column}' used in key specification without a key length";
    too_big_fieldlength(column, max) = TOO_BIG_FIELDLENGTH,
        "Column length too big for column '{column}' (max = {max}); use BLOB or TEXT instead";
    wrong_auto_key() = WRONG_AUTO_KEY,
        "Incorrect table definition; there can be only one auto column and it must be defined as a key";
    no_such_index(table) = NO_SUCH_INDEX,
        "Table '{table}' has no index like the one used in CREATE INDEX; recreate the table";
    wrong_sub_key() = WRONG_SUB_KEY,
        "Incorrect prefix key; the used key part isn't a string, the used length is longer than the key part, or the storage engine doesn't support unique prefix keys";
    key_part_0(column) = KEY_PART_0, "Key part '{column}' length cannot be 0";
    cant_remove_all_fields() = CANT_REMOVE_ALL_FIELDS,
        "You can't delete all columns with ALTER TABLE; use DROP TABLE instead";
    cant_drop_field_or_key(name) = CANT_DROP_FIELD_OR_KEY, "Can't DROP '{name}'; check that column/key exists";
    key_does_not_exist(key, table) = KEY_DOES_NOT_EXIST, "Key '{key}' doesn't exist in table '{table}'";
    blob_cant_have_default(column) = BLOB_CANT_HAVE_DEFAULT,
        "BLOB, TEXT, GEOMETRY or JSON column '{column}' can't have a default value";
    table_must_have_columns() = TABLE_MUST_HAVE_COLUMNS, "A table must have at least 1 column";
    too_many_fields() = TOO_MANY_FIELDS, "Too many columns";
    too_big_rowsize(max) = TOO_BIG_ROWSIZE,
        "Row size too large. The maximum row size for the used table type, not counting BLOBs, is {max}. This includes storage overhead, check the manual. You have to change some columns to TEXT or BLOBs";
    wrong_key_column(column) = WRONG_KEY_COLUMN, "The used storage engine can't index column '{column}'";
    primary_cant_have_null() = PRIMARY_CANT_HAVE_NULL,
        "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead";
    requires_primary_key() = REQUIRES_PRIMARY_KEY, "This table type requires a primary key";
    table_cant_handle_ft() = TABLE_CANT_HANDLE_FT, "The used table type doesn't support FULLTEXT indexes";
    ft_matching_key_not_found() = FT_MATCHING_KEY_NOT_FOUND, "Can't find FULLTEXT index matching the column list";
    bad_ft_column(column) = BAD_FT_COLUMN, "Column '{column}' cannot be part of FULLTEXT index";
    index_column_too_long(max) = INDEX_COLUMN_TOO_LONG,
        "Index column size too large. The maximum column size is {max} bytes.";
    dup_index(index, db, table) = DUP_INDEX,
        "Duplicate index '{index}' defined on the table '{db}.{table}'. This is deprecated and will be disallowed in a future release.";
    index_corrupt(index) = INDEX_CORRUPT, "Index {index} is corrupted";
    wrong_fk_def(name, why) = WRONG_FK_DEF, "Incorrect foreign key definition for '{name}': {why}";
    cannot_add_foreign() = CANNOT_ADD_FOREIGN, "Cannot add foreign key constraint";
    fk_no_index_parent(constraint, table) = FK_NO_INDEX_PARENT,
        "Failed to add the foreign key constraint. Missing unique key for constraint '{constraint}' in the referenced table '{table}'";
    fk_cannot_open_parent(table) = FK_CANNOT_OPEN_PARENT, "Failed to open the referenced table '{table}'";
    fk_dup_name(name) = FK_DUP_NAME, "Duplicate foreign key constraint name '{name}'";
    fk_column_cannot_drop(column, constraint) = FK_COLUMN_CANNOT_DROP,
        "Cannot drop column '{column}': needed in a foreign key constraint '{constraint}'";
    fk_column_not_null(column, constraint) = FK_COLUMN_NOT_NULL,
        "Column '{column}' cannot be NOT NULL: needed in a foreign key constraint '{constraint}' SET NULL";
    fk_column_cannot_change(column, constraint) = FK_COLUMN_CANNOT_CHANGE,
        "Cannot change column '{column}': used in a foreign key constraint '{constraint}'";
    fk_incompatible_columns(column, parent_column, constraint) = FK_INCOMPATIBLE_COLUMNS,
        "Referencing column '{column}' and referenced column '{parent_column}' in foreign key constraint '{constraint}' are incompatible.";
    truncate_illegal_fk(what) = TRUNCATE_ILLEGAL_FK,
        "Cannot truncate a table referenced in a foreign key constraint ({what})";
    column_check_constraint_references_other_column(name) = COLUMN_CHECK_CONSTRAINT_REFERENCES_OTHER_COLUMN,
        "Column check constraint '{name}' references other column.";
    check_constraint_violated(name) = CHECK_CONSTRAINT_VIOLATED, "Check constraint '{name}' is violated.";
    check_constraint_refers_unknown_column(name, column) = CHECK_CONSTRAINT_REFERS_UNKNOWN_COLUMN,
        "Check constraint '{name}' refers to non-existing column '{column}'.";
    check_constraint_not_found(name) = CHECK_CONSTRAINT_NOT_FOUND, "Check constraint '{name}' is not found in the table.";
    check_constraint_dup_name(name) = CHECK_CONSTRAINT_DUP_NAME, "Duplicate check constraint name '{name}'.";
    generated_column_function_is_not_allowed(column) = GENERATED_COLUMN_FUNCTION_IS_NOT_ALLOWED,
        "Expression of generated column '{column}' contains a disallowed function.";
    non_default_value_for_generated_column(column, table) = NON_DEFAULT_VALUE_FOR_GENERATED_COLUMN,
        "The value specified for generated column '{column}' in table '{table}' is not allowed.";
    unsupported_action_on_generated_column(action) = UNSUPPORTED_ACTION_ON_GENERATED_COLUMN,
        "'{action}' is not supported for generated columns.";
    generated_column_non_prior() = GENERATED_COLUMN_NON_PRIOR,
        "Generated column can refer only to generated columns defined prior to it.";
    dependent_by_generated_column(column) = DEPENDENT_BY_GENERATED_COLUMN,
        "Column '{column}' has a generated column dependency.";
    generated_column_ref_auto_inc(column) = GENERATED_COLUMN_REF_AUTO_INC,
        "Generated column '{column}' cannot refer to auto-increment column.";
    too_big_scale(scale, column, max) = TOO_BIG_SCALE,
        "Too big scale {scale} specified for column '{column}'. Maximum is {max}.";
    too_big_precision(precision, column, max) = TOO_BIG_PRECISION,
        "Too-big precision {precision} specified for '{column}'. Maximum is {max}.";
    m_bigger_than_d(column) = M_BIGGER_THAN_D,
        "For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '{column}').";
    too_big_displaywidth(column, max) = TOO_BIG_DISPLAYWIDTH,
        "Display width out of range for column '{column}' (max = {max})";
    too_much_auto_timestamp_cols() = TOO_MUCH_AUTO_TIMESTAMP_COLS,
        "Incorrect table definition; there can be only one TIMESTAMP column with CURRENT_TIMESTAMP in DEFAULT or ON UPDATE clause";
    invalid_on_update(column) = INVALID_ON_UPDATE, "Invalid ON UPDATE clause for '{column}' column";
    duplicated_value_in_type(column, value, kind) = DUPLICATED_VALUE_IN_TYPE,
        "Column '{column}' has duplicated value '{value}' in {kind}";
    unknown_storage_engine(engine) = UNKNOWN_STORAGE_ENGINE, "Unknown storage engine '{engine}'";
    warn_using_other_handler(engine, table) = WARN_USING_OTHER_HANDLER, "Using storage engine {engine} for table '{table}'";
    illegal_ha(table) = ILLEGAL_HA, "Table storage engine for '{table}' doesn't have this option";
    illegal_ha_create_option(engine, option) = ILLEGAL_HA_CREATE_OPTION,
        "Table storage engine '{engine}' does not support the create option '{option}'";
    auto_convert(column, from, to) = AUTO_CONVERT, "Converting column '{column}' from {from} to {to}";
    alter_operation_not_supported(what, instead) = ALTER_OPERATION_NOT_SUPPORTED,
        "{what} is not supported for this operation. Try {instead}.";
    alter_operation_not_supported_reason(what, reason, instead) = ALTER_OPERATION_NOT_SUPPORTED_REASON,
        "{what} is not supported. Reason: {reason}. Try {instead}.";
    partition_requires_values(kind, clause) = PARTITION_REQUIRES_VALUES,
        "Syntax error: {kind} PARTITIONING requires definition of VALUES {clause} for each partition";
    partition_wrong_values(kind, clause) = PARTITION_WRONG_VALUES,
        "Only {kind} PARTITIONING can use VALUES {clause} in partition definition";
    partition_maxvalue() = PARTITION_MAXVALUE, "MAXVALUE can only be used in last partition definition";
    field_not_found_part() = FIELD_NOT_FOUND_PART, "Field in list of fields for partition function not found in table";
    partition_func_not_allowed(what) = PARTITION_FUNC_NOT_ALLOWED, "The {what} function returns the wrong type";
    partitions_must_be_defined(kind) = PARTITIONS_MUST_BE_DEFINED, "For {kind} partitions each partition must be defined";
    range_not_increasing() = RANGE_NOT_INCREASING,
        "VALUES LESS THAN value must be strictly increasing for each partition";
    multiple_def_const_in_list_part() = MULTIPLE_DEF_CONST_IN_LIST_PART,
        "Multiple definition of same constant in list partitioning";
    too_many_partitions() = TOO_MANY_PARTITIONS, "Too many partitions (including subpartitions) were defined";
    unique_key_need_all_fields_in_pf(kind) = UNIQUE_KEY_NEED_ALL_FIELDS_IN_PF,
        "A {kind} must include all columns in the table's partitioning function (prefixed columns are not considered).";
    no_parts(what) = NO_PARTS, "Number of {what} = 0 is not an allowed value";
    partition_mgmt_on_nonpartitioned() = PARTITION_MGMT_ON_NONPARTITIONED,
        "Partition management on a not partitioned table is not possible";
    drop_partition_non_existent(what) = DROP_PARTITION_NON_EXISTENT, "Error in list of partitions to {what}";
    drop_last_partition() = DROP_LAST_PARTITION, "Cannot remove all partitions, use DROP TABLE instead";
    same_name_partition(name) = SAME_NAME_PARTITION, "Duplicate partition name {name}";
    wrong_partition_name(name) = WRONG_PARTITION_NAME, "Incorrect partition name '{name}'";
    no_partition_for_given_value(value) = NO_PARTITION_FOR_GIVEN_VALUE, "Table has no partition for value {value}";
    unknown_partition(partition, table) = UNKNOWN_PARTITION, "Unknown partition '{partition}' in table '{table}'";
    row_does_not_match_given_partition_set() = ROW_DOES_NOT_MATCH_GIVEN_PARTITION_SET,
        "Found a row not matching the given partition set";
    view_no_explain() = VIEW_NO_EXPLAIN, "EXPLAIN/SHOW can not be issued; lacking privileges for underlying table";
    nonupdateable_column(column) = NONUPDATEABLE_COLUMN, "Column '{column}' is not updatable";
    view_select_derived() = VIEW_SELECT_DERIVED, "View's SELECT contains a subquery in the FROM clause";
    view_select_clause(clause) = VIEW_SELECT_CLAUSE, "View's SELECT contains a '{clause}' clause";
    view_select_variable() = VIEW_SELECT_VARIABLE, "View's SELECT contains a variable or parameter";
    view_select_tmptable(table) = VIEW_SELECT_TMPTABLE, "View's SELECT refers to a temporary table '{table}'";
    view_wrong_list() = VIEW_WRONG_LIST,
        "In definition of view, derived table or common table expression, SELECT list and column names list have different column counts";
    warn_view_merge() = WARN_VIEW_MERGE, "View merge algorithm can't be used here for now (assumed undefined algorithm)";
    view_invalid(db, view) = VIEW_INVALID,
        "View '{db}.{view}' references invalid table(s) or column(s) or function(s) or definer/invoker of view lack rights to use them";
    view_nonupd_check(db, view) = VIEW_NONUPD_CHECK, "CHECK OPTION on non-updatable view '{db}.{view}'";
    view_check_failed(db, view) = VIEW_CHECK_FAILED, "CHECK OPTION failed '{db}.{view}'";
    view_multiupdate(db, view) = VIEW_MULTIUPDATE,
        "Can not modify more than one base table through a join view '{db}.{view}'";
    view_no_insert_field_list(db, view) = VIEW_NO_INSERT_FIELD_LIST,
        "Can not insert into join view '{db}.{view}' without fields list";
    view_delete_merge_view(db, view) = VIEW_DELETE_MERGE_VIEW, "Can not delete from join view '{db}.{view}'";
    view_prevent_update(view, operation, table) = VIEW_PREVENT_UPDATE,
        "The definition of table '{view}' prevents operation {operation} on table '{table}'.";
    view_recursive(db, view) = VIEW_RECURSIVE, "`{db}`.`{view}` contains view recursion";
    no_default_for_view_field(db, view) = NO_DEFAULT_FOR_VIEW_FIELD,
        "Field of view '{db}.{view}' underlying table doesn't have a default value";
}

// Values, rows and constraints at run time.
constructors! {
    dup_key(table) = DUP_KEY, "Can't write; duplicate key in table '{table}'";
    key_not_found(table) = KEY_NOT_FOUND, "Can't find record in '{table}'";
    bad_null(column) = BAD_NULL, "Column '{column}' cannot be null";
    /// `value` is the key's column values joined by `-`, `key` is `table.key`.
    dup_entry(value, key) = DUP_ENTRY, "Duplicate entry '{value}' for key '{key}'";
    dup_entry_with_key_name(value, key) = DUP_ENTRY_WITH_KEY_NAME, "Duplicate entry '{value}' for key '{key}'";
    dup_unique(table) = DUP_UNIQUE, "Can't write, because of unique constraint, to table '{table}'";
    invalid_use_of_null() = INVALID_USE_OF_NULL, "Invalid use of NULL value";
    record_file_full(table) = RECORD_FILE_FULL, "The table '{table}' is full";
    no_referenced_row() = NO_REFERENCED_ROW,
        "Cannot add or update a child row: a foreign key constraint fails";
    row_is_referenced() = ROW_IS_REFERENCED,
        "Cannot delete or update a parent row: a foreign key constraint fails";
    /// `what`: `` `db`.`table`, CONSTRAINT `c` FOREIGN KEY (`a`) REFERENCES `p` (`id`) ``.
    row_is_referenced_2(what) = ROW_IS_REFERENCED_2,
        "Cannot delete or update a parent row: a foreign key constraint fails ({what})";
    no_referenced_row_2(what) = NO_REFERENCED_ROW_2,
        "Cannot add or update a child row: a foreign key constraint fails ({what})";
    /// `function`: `group_concat()`.
    cut_value_group_concat(row, function) = CUT_VALUE_GROUP_CONCAT, "Row {row} was cut by {function}";
    warn_too_few_records(row) = WARN_TOO_FEW_RECORDS, "Row {row} doesn't contain data for all columns";
    warn_too_many_records(row) = WARN_TOO_MANY_RECORDS,
        "Row {row} was truncated; it contained more data than there were input columns";
    warn_null_to_notnull(column, row) = WARN_NULL_TO_NOTNULL,
        "Column set to default value; NULL supplied to NOT NULL column '{column}' at row {row}";
    warn_data_out_of_range(column, row) = WARN_DATA_OUT_OF_RANGE, "Out of range value for column '{column}' at row {row}";
    warn_data_truncated(column, row) = WARN_DATA_TRUNCATED, "Data truncated for column '{column}' at row {row}";
    data_too_long(column, row) = DATA_TOO_LONG, "Data too long for column '{column}' at row {row}";
    warn_invalid_timestamp(column, row) = WARN_INVALID_TIMESTAMP,
        "Invalid TIMESTAMP value in column '{column}' at row {row}";
    illegal_value_for_type(kind, value) = ILLEGAL_VALUE_FOR_TYPE, "Illegal {kind} '{value}' value found during parsing";
    no_default_for_field(column) = NO_DEFAULT_FOR_FIELD, "Field '{column}' doesn't have a default value";
    division_by_zero() = DIVISION_BY_ZERO, "Division by 0";
    /// `kind`: `BIGINT`, `BIGINT UNSIGNED`, `DOUBLE`, `DECIMAL`; `expression`: its text, e.g. `(1 - 2)`.
    data_out_of_range(kind, expression) = DATA_OUT_OF_RANGE, "{kind} value is out of range in '{expression}'";
    datetime_function_overflow(function) = DATETIME_FUNCTION_OVERFLOW, "Datetime function: {function} field overflow";
    too_long_string() = TOO_LONG_STRING, "Result string is longer than 'max_allowed_packet' bytes";
    warn_allowed_packet_overflowed(function, max) = WARN_ALLOWED_PACKET_OVERFLOWED,
        "Result of {function}() was larger than max_allowed_packet ({max}) - truncated";
    autoinc_read_failed() = AUTOINC_READ_FAILED, "Failed to read auto-increment value from storage engine";
    wrong_string_length(value, what, max) = WRONG_STRING_LENGTH,
        "String '{value}' is too long for {what} (should be no longer than {max})";
    unknown_time_zone(name) = UNKNOWN_TIME_ZONE, "Unknown or incorrect time zone: '{name}'";
    cannot_convert_string(value, from, to) = CANNOT_CONVERT_STRING, "Cannot convert string '{value}' from {from} to {to}";
    invalid_json_text(why, position, column) = INVALID_JSON_TEXT,
        "Invalid JSON text: \"{why}\" at position {position} in value for column '{column}'.";
    invalid_json_text_in_param(argument, function, why, position) = INVALID_JSON_TEXT_IN_PARAM,
        "Invalid JSON text in argument {argument} to function {function}: \"{why}\" at position {position}.";
    invalid_json_path(position) = INVALID_JSON_PATH,
        "Invalid JSON path expression. The error is around character position {position}.";
    invalid_json_charset(charset) = INVALID_JSON_CHARSET,
        "Cannot create a JSON value from a string with CHARACTER SET '{charset}'.";
    invalid_type_for_json(argument, function) = INVALID_TYPE_FOR_JSON,
        "Invalid data type for JSON data in argument {argument} to function {function}; a JSON string or JSON type is required.";
    invalid_json_path_wildcard() = INVALID_JSON_PATH_WILDCARD,
        "In this situation, path expressions may not contain the * and ** tokens or an array range.";
    json_used_as_key(column) = JSON_USED_AS_KEY,
        "JSON column '{column}' supports indexing only via generated columns on a specified JSON path.";
    invalid_json_value_for_cast(to, column, row) = INVALID_JSON_VALUE_FOR_CAST,
        "Invalid JSON value for CAST to {to} from column {column} at row {row}";
    json_document_too_deep() = JSON_DOCUMENT_TOO_DEEP, "The JSON document exceeds the maximum depth.";
    json_document_null_key() = JSON_DOCUMENT_NULL_KEY, "JSON documents may not contain NULL member names.";
}

// Character sets and collations.
constructors! {
    unknown_character_set(name) = UNKNOWN_CHARACTER_SET, "Unknown character set: '{name}'";
    unknown_collation(name) = UNKNOWN_COLLATION, "Unknown collation: '{name}'";
    collation_charset_mismatch(collation, charset) = COLLATION_CHARSET_MISMATCH,
        "COLLATION '{collation}' is not valid for CHARACTER SET '{charset}'";
    cant_aggregate_2collations(a, a_why, b, b_why, function) = CANT_AGGREGATE_2COLLATIONS,
        "Illegal mix of collations ({a},{a_why}) and ({b},{b_why}) for operation '{function}'";
    cant_aggregate_3collations(a, a_why, b, b_why, c, c_why, function) = CANT_AGGREGATE_3COLLATIONS,
        "Illegal mix of collations ({a},{a_why}), ({b},{b_why}), ({c},{c_why}) for operation '{function}'";
    cant_aggregate_ncollations(function) = CANT_AGGREGATE_NCOLLATIONS,
        "Illegal mix of collations for operation '{function}'";
}

// Variables, prepared statements, transactions and locks.
constructors! {
    unknown_system_variable(name) = UNKNOWN_SYSTEM_VARIABLE, "Unknown system variable '{name}'";
    local_variable(name) = LOCAL_VARIABLE, "Variable '{name}' is a SESSION variable and can't be used with SET GLOBAL";
    global_variable(name) = GLOBAL_VARIABLE, "Variable '{name}' is a GLOBAL variable and should be set with SET GLOBAL";
    no_default(name) = NO_DEFAULT, "Variable '{name}' doesn't have a default value";
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
    user_lock_wrong_name(name) = USER_LOCK_WRONG_NAME, "Incorrect user-level lock name '{name}'.";
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
    not_valid_password() = NOT_VALID_PASSWORD, "Your password does not satisfy the current policy requirements";
    must_change_password() = MUST_CHANGE_PASSWORD,
        "You must reset your password using ALTER USER statement before executing this statement.";
}

// The server: files, memory, interruption, options.
constructors! {
    cant_create_file(file, errno, what) = CANT_CREATE_FILE, "Can't create file '{file}' (errno: {errno} - {what})";
    cant_open_file(file, errno, what) = CANT_OPEN_FILE, "Can't open file: '{file}' (errno: {errno} - {what})";
    file_not_found(file, errno, what) = FILE_NOT_FOUND, "Can't find file: '{file}' (errno: {errno} - {what})";
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

impl Error {
    /// 1064 with the parser's own words in front: `{message} near '{near}' at line {line}`; `near` is cut to 80
    /// characters. [`Error::syntax_near`] has the usual words.
    pub fn parse(message: impl fmt::Display, near: &str, line: usize) -> Error {
        Error::new(ErrorCode::PARSE, format!("{message} near '{}' at line {line}", clip(near, 80)))
    }

    /// 1064 as MySQL's grammar answers it: `near` is the statement's text from the offending token on.
    pub fn syntax_near(near: &str, line: usize) -> Error {
        Error::parse(Error::syntax().message(), near, line)
    }

    /// 1292 `Truncated incorrect {kind} value: '{value}'`; `kind`: `INTEGER`, `DOUBLE`, `DECIMAL`, `time`...
    pub fn truncated_wrong_value(kind: impl fmt::Display, value: impl fmt::Display) -> Error {
        let value = clip(value, 128);
        Error::new(ErrorCode::TRUNCATED_WRONG_VALUE, format!("Truncated incorrect {kind} value: '{value}'"))
    }

    /// 1292 `Incorrect {kind} value: '{value}'`: a temporal value that cannot be read, in an expression.
    pub fn incorrect_value_1292(kind: impl fmt::Display, value: impl fmt::Display) -> Error {
        let value = clip(value, 128);
        Error::new(ErrorCode::TRUNCATED_WRONG_VALUE, format!("Incorrect {kind} value: '{value}'"))
    }

    /// 1292 `Incorrect {kind} value: '{value}' for column '{column}' at row {row}`: temporal columns.
    pub fn incorrect_temporal_for_column(
        kind: impl fmt::Display,
        value: impl fmt::Display,
        column: impl fmt::Display,
        row: impl fmt::Display,
    ) -> Error {
        let value = clip(value, 128);
        Error::new(
            ErrorCode::TRUNCATED_WRONG_VALUE,
            format!("Incorrect {kind} value: '{value}' for column '{column}' at row {row}"),
        )
    }

    /// 1366 `Incorrect {kind} value: '{value}' for column '{column}' at row {row}`; `kind`: `integer`, `decimal`,
    /// `double`, `string`.
    pub fn truncated_wrong_value_for_field(
        kind: impl fmt::Display,
        value: impl fmt::Display,
        column: impl fmt::Display,
        row: impl fmt::Display,
    ) -> Error {
        let value = clip(value, 128);
        Error::new(
            ErrorCode::TRUNCATED_WRONG_VALUE_FOR_FIELD,
            format!("Incorrect {kind} value: '{value}' for column '{column}' at row {row}"),
        )
    }

    /// 1411 `Incorrect {kind} value: '{value}' for function {function}`.
    pub fn wrong_value_for_type(
        kind: impl fmt::Display,
        value: impl fmt::Display,
        function: impl fmt::Display,
    ) -> Error {
        let value = clip(value, 128);
        Error::new(
            ErrorCode::WRONG_VALUE_FOR_TYPE,
            format!("Incorrect {kind} value: '{value}' for function {function}"),
        )
    }

    /// 1525 `Incorrect {kind} value: '{value}'`: a temporal literal or constant that cannot be read.
    pub fn wrong_value(kind: impl fmt::Display, value: impl fmt::Display) -> Error {
        let value = clip(value, 128);
        Error::new(ErrorCode::WRONG_VALUE, format!("Incorrect {kind} value: '{value}'"))
    }

    /// 1300 `Invalid {charset} character string: '{bytes}'`; the bytes as MySQL shows them: up to six, as `\xE4`, after
    /// the valid part.
    pub fn invalid_character_string(charset: impl fmt::Display, bytes: impl fmt::Display) -> Error {
        let bytes = clip(bytes, 64);
        Error::new(ErrorCode::INVALID_CHARACTER_STRING, format!("Invalid {charset} character string: '{bytes}'"))
    }

    /// 1644 and its kin: a message of the user's own.
    pub fn user_message(code: ErrorCode, message: impl Into<String>) -> Error {
        Error::new(code, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wording_number_and_state() {
        for (e, number, state, message) in [
            (Error::bad_db("x"), 1049, "42000", "Unknown database 'x'"),
            (Error::dup_entry("1", "t.PRIMARY"), 1062, "23000", "Duplicate entry '1' for key 't.PRIMARY'"),
            (Error::regexp_bad_interval(), 3692, "HY000", "Incorrect description of a {min,max} interval."),
            (
                Error::lock_deadlock(),
                1213,
                "40001",
                "Deadlock found when trying to get lock; try restarting transaction",
            ),
            (
                Error::syntax_near("FORM t", 1),
                1064,
                "42000",
                "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use near 'FORM t' at line 1",
            ),
        ] {
            assert_eq!((e.code().0, e.sqlstate(), e.message()), (number, state, message));
        }
        assert!(Error::truncated_wrong_value("DOUBLE", "x".repeat(1000)).message().len() < 200);
    }
}
