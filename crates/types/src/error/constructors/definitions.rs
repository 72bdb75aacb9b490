//! Columns, keys, constraints, partitions and views.

use std::fmt;

use crate::error::{Error, ErrorCode};

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
    drop_index_fk(key) = DROP_INDEX_FK, "Cannot drop index '{key}': needed in a foreign key constraint";
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
    fk_column_cannot_drop_child(column, constraint, table) = FK_COLUMN_CANNOT_DROP_CHILD,
        "Cannot drop column '{column}': needed in a foreign key constraint '{constraint}' of table '{table}'";
    fk_column_cannot_change_child(column, constraint, table) = FK_COLUMN_CANNOT_CHANGE_CHILD,
        "Cannot change column '{column}': used in a foreign key constraint '{constraint}' of table '{table}'";
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

// Newer conditions: hints, check constraints, default expressions, functional indexes, roles.
constructors! {
    fk_depth_exceeded(max) = FK_DEPTH_EXCEEDED,
        "Foreign key cascade delete/update exceeds max depth of {max}.";
    invalid_argument_for_logarithm() = INVALID_ARGUMENT_FOR_LOGARITHM,
        "Invalid argument for logarithm";
    dup_list_entry(entry) = DUP_LIST_ENTRY,
        "Duplicate entry '{entry}'.";
    server_offline_mode() = SERVER_OFFLINE_MODE,
        "The server is currently in offline mode";
    replace_inaccessible_rows() = REPLACE_INACCESSIBLE_ROWS,
        "REPLACE cannot be executed as it requires deleting rows that are not in the view";
    illegal_user_var(name) = ILLEGAL_USER_VAR,
        "User variable name '{name}' is illegal";
    wrong_fk_option_for_generated_column(clause) = WRONG_FK_OPTION_FOR_GENERATED_COLUMN,
        "Cannot define foreign key with {clause} clause on a generated column.";
    optimizer_hint_syntax() = WARN_OPTIMIZER_HINT_SYNTAX_ERROR,
        "Optimizer hint syntax error";
    bad_max_execution_time() = WARN_BAD_MAX_EXECUTION_TIME,
        "Unsupported MAX_EXECUTION_TIME";
    unsupported_max_execution_time() = WARN_UNSUPPORTED_MAX_EXECUTION_TIME,
        "MAX_EXECUTION_TIME hint is supported by top-level standalone SELECT statements only";
    conflicting_hint(hint) = WARN_CONFLICTING_HINT,
        "Hint {hint} is ignored as conflicting/duplicated";
    unknown_qb_name(block, hint) = WARN_UNKNOWN_QB_NAME,
        "Query block name {block} is not found for {hint} hint";
    unresolved_hint_name(name, hint) = UNRESOLVED_HINT_NAME,
        "Unresolved name {name} for {hint} hint";
    sql_mode_merged() = SQL_MODE_MERGED,
        "'NO_ZERO_DATE', 'NO_ZERO_IN_DATE' and 'ERROR_FOR_DIVISION_BY_ZERO' sql modes should be used with strict mode. They will be merged with strict mode in a future release.";
    session_was_killed() = SESSION_WAS_KILLED,
        "Session was killed";
    capacity_exceeded_in_range_optimizer() = CAPACITY_EXCEEDED_IN_RANGE_OPTIMIZER,
        "Range optimization was not done for this query.";
    invalid_bitwise_operands_size() = INVALID_BITWISE_OPERANDS_SIZE,
        "Binary operands of bitwise operators must be of equal length";
    invalid_bitwise_aggregate_operands_size() = INVALID_BITWISE_AGGREGATE_OPERANDS_SIZE,
        "Aggregate bitwise functions cannot accept arguments longer than 511 bytes; consider using the SUBSTRING() function";
    pk_index_cant_be_invisible() = PK_INDEX_CANT_BE_INVISIBLE,
        "A primary key index cannot be invisible";
    unknown_authid(user, host) = UNKNOWN_AUTHID,
        "Unknown authorization ID `{user}`@`{host}`";
    role_not_granted(role, role_host, user, host) = ROLE_NOT_GRANTED,
        "`{role}`@`{role_host}` is not granted to `{user}`@`{host}`";
    no_system_schema_access(db) = NO_SYSTEM_SCHEMA_ACCESS,
        "Access to system schema '{db}' is rejected.";
    no_system_table_access(kind, db, table) = NO_SYSTEM_TABLE_ACCESS,
        "Access to {kind} '{db}.{table}' is rejected.";
    not_hint_updatable_variable(name) = NOT_HINT_UPDATABLE_VARIABLE,
        "Variable {name} cannot be set using SET_VAR hint.";
    deprecated_utf8_alias() = DEPRECATED_UTF8_ALIAS,
        "'utf8' is currently an alias for the character set UTF8MB3, but will be an alias for UTF8MB4 in a future release. Please consider using UTF8MB4 in order to be unambiguous.";
    fk_cannot_drop_parent(table, constraint, child) = FK_CANNOT_DROP_PARENT,
        "Cannot drop table '{table}' referenced by a foreign key constraint '{constraint}' on table '{child}'.";
    fk_cannot_use_virtual_column(constraint, column) = FK_CANNOT_USE_VIRTUAL_COLUMN,
        "Foreign key '{constraint}' uses virtual column '{column}' which is not supported.";
    fk_no_column_parent(column, constraint, table) = FK_NO_COLUMN_PARENT,
        "Failed to add the foreign key constraint. Missing column '{column}' for constraint '{constraint}' in the referenced table '{table}'";
    table_without_pk() = TABLE_WITHOUT_PK,
        "Unable to create or change a table without a primary key, when the system variable 'sql_require_primary_key' is set. Add a primary key to the table or unset this variable to avoid this message. Note that tables without a primary key can cause performance problems in row-based replication, so please consult your DBA before changing this setting.";
    functional_index_ref_auto_increment(index) = FUNCTIONAL_INDEX_REF_AUTO_INCREMENT,
        "Functional index '{index}' cannot refer to an auto-increment column.";
    dependent_by_functional_index(column) = DEPENDENT_BY_FUNCTIONAL_INDEX,
        "Column '{column}' has a functional index dependency and cannot be dropped or renamed.";
    functional_index_primary_key() = FUNCTIONAL_INDEX_PRIMARY_KEY,
        "The primary key cannot be a functional index";
    functional_index_on_lob() = FUNCTIONAL_INDEX_ON_LOB,
        "Cannot create a functional index on an expression that returns a BLOB or TEXT. Please consider using CAST.";
    functional_index_function_is_not_allowed(index) = FUNCTIONAL_INDEX_FUNCTION_IS_NOT_ALLOWED,
        "Expression of functional index '{index}' contains a disallowed function.";
    functional_index_on_field() = FUNCTIONAL_INDEX_ON_FIELD,
        "Functional index on a column is not supported. Consider using a regular index instead.";
    generated_column_named_function_is_not_allowed(column, function) = GENERATED_COLUMN_NAMED_FUNCTION_IS_NOT_ALLOWED,
        "Expression of generated column '{column}' contains a disallowed function: {function}.";
    dependent_by_default_generated_value(column, table) = DEPENDENT_BY_DEFAULT_GENERATED_VALUE,
        "Column '{column}' of table '{table}' has a default value expression dependency and cannot be dropped or renamed.";
    default_val_generated_non_prior(column) = DEFAULT_VAL_GENERATED_NON_PRIOR,
        "Default value expression of column '{column}' cannot refer to a column defined after it if that column is a generated column or has an expression as default value.";
    default_val_generated_ref_auto_inc(column) = DEFAULT_VAL_GENERATED_REF_AUTO_INC,
        "Default value expression of column '{column}' cannot refer to an auto-increment column.";
    default_val_generated_named_function_is_not_allowed(column, function) = DEFAULT_VAL_GENERATED_NAMED_FUNCTION_IS_NOT_ALLOWED,
        "Default value expression of column '{column}' contains a disallowed function: {function}.";
    default_val_generated_variables(column) = DEFAULT_VAL_GENERATED_VARIABLES,
        "Default value expression of column '{column}' cannot refer user or system variables.";
    default_as_val_generated() = DEFAULT_AS_VAL_GENERATED,
        "DEFAULT function cannot be used with default value expressions";
    non_boolean_expr_for_check_constraint(name) = NON_BOOLEAN_EXPR_FOR_CHECK_CONSTRAINT,
        "An expression of non-boolean type specified to a check constraint '{name}'.";
    check_constraint_named_function_is_not_allowed(name, function) = CHECK_CONSTRAINT_NAMED_FUNCTION_IS_NOT_ALLOWED,
        "An expression of a check constraint '{name}' contains disallowed function: {function}.";
    check_constraint_function_is_not_allowed(name) = CHECK_CONSTRAINT_FUNCTION_IS_NOT_ALLOWED,
        "An expression of a check constraint '{name}' contains disallowed function.";
    check_constraint_variables(name) = CHECK_CONSTRAINT_VARIABLES,
        "An expression of a check constraint '{name}' cannot refer to a user or system variable.";
    check_constraint_row_value(name) = CHECK_CONSTRAINT_ROW_VALUE,
        "Check constraint '{name}' cannot refer to a row value.";
    check_constraint_refers_auto_increment_column(name) = CHECK_CONSTRAINT_REFERS_AUTO_INCREMENT_COLUMN,
        "Check constraint '{name}' cannot refer to an auto-increment column.";
    check_constraint_clause_using_fk_refer_action_column(column, name, constraint) = CHECK_CONSTRAINT_CLAUSE_USING_FK_REFER_ACTION_COLUMN,
        "Column '{column}' cannot be used in a check constraint '{name}': needed in a foreign key constraint '{constraint}' referential action.";
    invalid_json_type(argument, function, kind) = INVALID_JSON_TYPE,
        "Invalid JSON type in argument {argument} to function {function}; an {kind} is required.";
    dependent_by_partition_func(column) = DEPENDENT_BY_PARTITION_FUNC,
        "Column '{column}' has a partitioning function dependency and cannot be dropped or renamed.";
    too_many_windows(n, max) = TOO_MANY_WINDOWS,
        "Too many windows in SELECT: {n}. Maximum allowed is {max}. Use named windows to share windows between window functions.";
    cte_recursive_not_union() = CTE_RECURSIVE_NOT_UNION,
        "Recursive table reference in EXCEPT or INTERSECT operand is not allowed.";
}
