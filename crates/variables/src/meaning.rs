//! What only a variable's own meaning can say of a value, and which other variables move with it.
//!
//! The same for SET and for options at the start: whoever assigns a value sends it through [`check`], and assigns what
//! [`followers`] names too. MySQL manual, "Server System Variables".

use super::{NULL_TEXT, VarDef, defs, find, gtid};
use types::{Error, Result};

/// Checks a normalized value further; may rewrite it. `now` is the present value, over which flags are set.
pub fn check(def: &VarDef, text: Box<str>, now: &str) -> Result<Box<str>> {
    let bad = || Error::wrong_value_for_var(def.name, if &*text == NULL_TEXT { "NULL" } else { &text });
    match def.name {
        "time_zone" => {
            types::temporal::TimeZone::parse(&text).ok_or_else(|| Error::unknown_time_zone(&text))?;
            Ok(text)
        }
        "character_set_client" | "character_set_connection" | "character_set_server" | "character_set_database" => {
            if &*text == NULL_TEXT {
                return Err(bad());
            }
            crate::charset::default_collation(&text)?;
            Ok(charset_shown(&text).into())
        }
        "character_set_results" if &*text != NULL_TEXT => {
            crate::charset::default_collation(&text)?;
            Ok(charset_shown(&text).into())
        }
        "character_set_filesystem" => {
            if &*text == NULL_TEXT {
                return Err(bad());
            }
            crate::charset::default_collation(&text)?;
            Ok(charset_shown(&text).to_ascii_lowercase().into())
        }
        "gtid_purged" | "gtid_next" if &*text == NULL_TEXT => Err(bad()),
        "gtid_purged" => Ok(gtid::purged(&text, now)?.into()),
        "gtid_next" => Ok(gtid::next(&text)?.into()),
        "collation_connection" | "collation_server" | "collation_database" => {
            if &*text == NULL_TEXT {
                return Err(bad());
            }
            Ok(crate::charset::collation(&text)?.name().into())
        }
        // Whether CHAR values keep their blanks is not a session's choice here.
        "sql_mode" if text.split(',').any(|m| m == "PAD_CHAR_TO_FULL_LENGTH") => {
            Err(Error::wrong_value_for_var("sql_mode", "PAD_CHAR_TO_FULL_LENGTH"))
        }
        "sql_mode" => Ok(expand_sql_mode(&text).into()),
        // Clients turn it off when they connect; what it does when it is on is not there.
        "sql_auto_is_null" if &*text == "ON" => Err(Error::not_supported("sql_auto_is_null = 1")),
        "max_allowed_packet" => Ok((text.parse::<u64>().map_err(|_| bad())? / 1024 * 1024).to_string().into()),
        "slow_query_log_file" | "general_log_file" if &*text == NULL_TEXT || text.is_empty() => Err(bad()),
        "optimizer_switch" | "optimizer_trace" | "optimizer_trace_features" => set_flags(def, now, &text),
        // DEFAULT is another name.
        "explain_format" if &*text == "DEFAULT" => Ok("TRADITIONAL".into()),
        _ => Ok(text),
    }
}

/// Variables that have to follow one that is assigned `text`, with their values: other names of the same setting, the
/// other half of a pair of character set and collation, and the weaker or stronger form of read_only.
pub fn followers(name: &str, text: &str) -> Result<Vec<(&'static VarDef, Box<str>)>> {
    let to = |name: &str, text: &str| vec![(find(name).expect("followers are defined"), Box::<str>::from(text))];
    let collation_of = |charset: &str| Ok::<_, Error>(crate::charset::default_collation(charset)?.name());
    let charset_of = |collation: &str| Ok::<_, Error>(crate::charset::collation(collation)?.charset().name());
    Ok(match name {
        "transaction_isolation" => to("tx_isolation", text),
        "tx_isolation" => to("transaction_isolation", text),
        "transaction_read_only" => to("tx_read_only", text),
        "tx_read_only" => to("transaction_read_only", text),
        "default_storage_engine" => to("storage_engine", text),
        "storage_engine" => to("default_storage_engine", text),
        "character_set_connection" => to("collation_connection", collation_of(text)?),
        "character_set_database" => to("collation_database", collation_of(text)?),
        "character_set_server" => to("collation_server", collation_of(text)?),
        "collation_connection" => to("character_set_connection", charset_of(text)?),
        "collation_database" => to("character_set_database", charset_of(text)?),
        "collation_server" => to("character_set_server", charset_of(text)?),
        // Nothing else is executed under an identifier.
        "gtid_purged" => to("gtid_executed", text),
        "super_read_only" if text == "ON" => to("read_only", "ON"),
        "read_only" if text == "OFF" => to("super_read_only", "OFF"),
        _ => Vec::new(),
    })
}

/// A character set as variables show it: aliases under the name of what stands in for them.
pub fn charset_shown(name: &str) -> &str {
    if name.eq_ignore_ascii_case("utf8") || name.eq_ignore_ascii_case("utf8mb3") { "utf8mb3" } else { name }
}

/// ANSI and TRADITIONAL stand for several modes.
fn expand_sql_mode(text: &str) -> String {
    let mut on: Vec<&str> = text.split(',').filter(|w| !w.is_empty()).collect();
    let mut add = |names: &[&'static str]| {
        for n in names {
            if !on.contains(n) {
                on.push(n);
            }
        }
    };
    if text.split(',').any(|w| w == "ANSI") {
        add(&["REAL_AS_FLOAT", "PIPES_AS_CONCAT", "ANSI_QUOTES", "IGNORE_SPACE", "ONLY_FULL_GROUP_BY"]);
    }
    if text.split(',').any(|w| w == "TRADITIONAL") {
        add(&[
            "STRICT_TRANS_TABLES",
            "STRICT_ALL_TABLES",
            "NO_ZERO_IN_DATE",
            "NO_ZERO_DATE",
            "ERROR_FOR_DIVISION_BY_ZERO",
            "NO_ENGINE_SUBSTITUTION",
        ]);
    }
    let ordered: Vec<&str> = defs::SQL_MODES.iter().copied().filter(|m| on.contains(m)).collect();
    ordered.join(",")
}

/// `flag=on,flag=off,flag=default,default` over the present setting; 1231 for an unknown flag.
fn set_flags(def: &VarDef, current: &str, text: &str) -> Result<Box<str>> {
    let defaults: Vec<(&str, &str)> = def.default.split(',').filter_map(|f| f.split_once('=')).collect();
    let mut flags: Vec<(&str, &str)> = current.split(',').filter_map(|f| f.split_once('=')).collect();
    for word in text.split(',').map(str::trim).filter(|w| !w.is_empty()) {
        if word.eq_ignore_ascii_case("default") {
            flags.clone_from(&defaults);
            continue;
        }
        let bad = || Error::wrong_value_for_var(def.name, word);
        let (name, value) = word.split_once('=').ok_or_else(bad)?;
        let flag = flags.iter_mut().find(|(n, _)| n.eq_ignore_ascii_case(name.trim())).ok_or_else(bad)?;
        flag.1 = match value.trim().to_ascii_lowercase().as_str() {
            "on" => "on",
            "off" => "off",
            "default" => defaults.iter().find(|(n, _)| *n == flag.0).map(|d| d.1).ok_or_else(bad)?,
            _ => return Err(bad()),
        };
    }
    let text: Vec<String> = flags.iter().map(|(n, v)| format!("{n}={v}")).collect();
    Ok(text.join(",").into())
}
