//! Values, rows and constraints at run time; character sets and collations.

use std::fmt;

use crate::error::{Error, ErrorCode};

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
