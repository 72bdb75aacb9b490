//! What is known of a system variable, and the [table](DEFS) of those that exist: with the names, ranges and defaults
//! of MySQL 8.4 where it has them.

mod table;

pub use table::DEFS;

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
    /// Accepted, remembered and shown because clients set it; nothing depends on it. The configuration reference says
    /// so.
    Accepted,
}

#[derive(Debug)]
pub struct VarDef {
    pub name: &'static str,
    pub scope: Scope,
    pub kind: Kind,
    pub default: &'static str,
    pub effect: Effect,
    /// What a number counts, plural; empty where it is a bare number or none.
    pub unit: &'static str,
    /// A sentence or two for the configuration reference, a blank before each line.
    pub description: &'static str,
}

/// Finds a definition, whatever the name's case.
pub fn find(name: &str) -> Option<&'static VarDef> {
    let lower = name.to_ascii_lowercase();
    DEFS.binary_search_by(|d| d.name.cmp(&lower)).ok().map(|i| &DEFS[i])
}

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

#[cfg(test)]
mod tests {
    use super::Kind::{Bool, Double, Enum, Int, Locale, Set, Text};
    use super::*;

    #[test]
    fn definitions_are_sorted_and_their_defaults_hold() {
        assert!(DEFS.windows(2).all(|w| w[0].name < w[1].name));
        for d in DEFS {
            assert!(d.description.starts_with(' ') && d.description.ends_with(['.', ')']), "{}", d.name);
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
