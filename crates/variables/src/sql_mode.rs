//! sql_mode, as the flags that it is made of.

use expr::SqlMode;

/// The flags that binding and evaluation heed.
pub fn parse_sql_mode(text: &str) -> SqlMode {
    let on = |name: &str| text.split(',').any(|w| w == name);
    SqlMode {
        only_full_group_by: on("ONLY_FULL_GROUP_BY"),
        strict: on("STRICT_TRANS_TABLES") || on("STRICT_ALL_TABLES"),
        no_zero_in_date: on("NO_ZERO_IN_DATE"),
        no_zero_date: on("NO_ZERO_DATE"),
        error_for_division_by_zero: on("ERROR_FOR_DIVISION_BY_ZERO"),
        no_engine_substitution: on("NO_ENGINE_SUBSTITUTION"),
        ansi_quotes: on("ANSI_QUOTES"),
        pipes_as_concat: on("PIPES_AS_CONCAT"),
        no_backslash_escapes: on("NO_BACKSLASH_ESCAPES"),
        high_not_precedence: on("HIGH_NOT_PRECEDENCE"),
        ignore_space: on("IGNORE_SPACE"),
        no_unsigned_subtraction: on("NO_UNSIGNED_SUBTRACTION"),
        allow_invalid_dates: on("ALLOW_INVALID_DATES"),
        real_as_float: on("REAL_AS_FLOAT"),
        no_auto_value_on_zero: on("NO_AUTO_VALUE_ON_ZERO"),
        time_truncate_fractional: on("TIME_TRUNCATE_FRACTIONAL"),
    }
}
