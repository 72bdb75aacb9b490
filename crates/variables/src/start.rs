//! System variables from the command line, an option file or the environment.
//!
//! A value goes the way that SET sends it: [`normalize`], [`meaning::check`], [`meaning::followers`]. It is text, so
//! that numbers may have MySQL's units here and nowhere else (manual, "Program Option Modifiers": K, M, G, T, P, E).
//! Variables that SET may not touch have one value for ever, the one that is true of this server; asking for another is
//! a fault, but for those in [`STARTED_WITH`], which the server obeys, and [`UNOBEYED`].

use super::defs::Effect;
use super::{GlobalVars, Kind, VarDef, find, meaning, normalize};
use types::{Error, Result, Value};

/// Read-only variables that are set at the start, and obeyed.
const STARTED_WITH: &[&str] = &[
    "bind_address",
    "datadir",
    "log_error",
    "performance_schema",
    "pid_file",
    "port",
    "require_secure_transport",
    "secure_file_priv",
    "skip_networking",
    "socket",
    "ssl_cert",
    "ssl_key",
    "tmpdir",
];

/// Read-only variables that scripts set at the start: where MySQL's own files are, sizes of what is not there.
const UNOBEYED: &[&str] =
    &["back_log", "basedir", "character_sets_dir", "hostname", "innodb_page_size", "language", "thread_stack"];

/// Whether a variable that SET may not touch can be given at the start, and counts.
pub fn is_start_option(def: &VarDef) -> bool {
    def.effect == Effect::ReadOnly && STARTED_WITH.contains(&def.name)
}

/// What a server of another kind would do otherwise with every statement: never passed over.
const CHANGES_STATEMENTS: &[&str] = &["explicit_defaults_for_timestamp", "init_connect", "lower_case_table_names"];

/// Why an option cannot be taken.
#[derive(Debug)]
pub enum OptionFault {
    /// There is no variable of that name.
    Unknown,
    /// There is nothing behind it here; whoever also starts other servers with the option may leave it out.
    NotHere(Error),
    Wrong(Error),
}

impl From<Error> for OptionFault {
    fn from(e: Error) -> OptionFault {
        OptionFault::Wrong(e)
    }
}

/// Looks at one option without setting anything; a note where the value is taken in another form.
pub fn check_option(name: &str, text: &str) -> std::result::Result<Option<String>, OptionFault> {
    set(&GlobalVars::default(), name, text)
}

/// Sets global variables before any session exists, in order; tells of values that are taken in another form. 1253: the
/// character set and the collation of the server do not go together.
pub fn set_initial(globals: &GlobalVars, options: &[(String, String)], tell: &dyn Fn(String)) -> Result<()> {
    for (name, text) in options {
        let note = set(globals, name, text).map_err(|fault| match fault {
            OptionFault::Unknown => Error::unknown_system_variable(name),
            OptionFault::NotHere(e) | OptionFault::Wrong(e) => e,
        })?;
        note.into_iter().for_each(tell);
    }
    let last = |name: &str| options.iter().rev().find(|(n, _)| canonical(n) == name).map(|(_, text)| text.as_str());
    if let (Some(charset), Some(collation)) = (last("character_set_server"), last("collation_server")) {
        crate::charset::resolve(Some(charset), Some(collation), Default::default())?;
        for (name, text) in [("collation_server", collation), ("character_set_server", meaning::charset_shown(charset))]
        {
            globals.set(find(name).expect("defined"), text.to_ascii_lowercase().into());
        }
    }
    Ok(())
}

/// The variable's name, whatever the option's.
fn canonical(name: &str) -> String {
    let name = name.replace('-', "_").to_ascii_lowercase();
    if name == "default_time_zone" { "time_zone".into() } else { name }
}

fn set(globals: &GlobalVars, name: &str, text: &str) -> std::result::Result<Option<String>, OptionFault> {
    let def = find(&canonical(name)).ok_or(OptionFault::Unknown)?;
    let (value, changed) = normalize(def, &value_of(def, text)?)?;
    let value = meaning::check(def, value, &globals.get(def))?;
    let obeyed = def.effect != Effect::ReadOnly || STARTED_WITH.contains(&def.name) || UNOBEYED.contains(&def.name);
    if !obeyed {
        if *value == *def.default {
            return Ok(None);
        }
        let what = Error::not_supported(format!("{}={text}; it is always '{}'", def.name, def.default));
        return Err(if CHANGES_STATEMENTS.contains(&def.name) {
            OptionFault::Wrong(what)
        } else {
            OptionFault::NotHere(what)
        });
    }
    let note = changed.then(|| format!("option {}={text} was taken as {value}", def.name));
    for (follower, text) in meaning::followers(def.name, &value)? {
        globals.set(follower, text);
    }
    globals.set(def, value);
    Ok(note)
}

/// The text as the kind of value that SET would have been given.
fn value_of(def: &VarDef, text: &str) -> Result<Value> {
    let text = text.trim();
    let by_number = |text: &str| text.parse().ok().map(Value::Int);
    match def.kind {
        Kind::Int { .. } => sized(text).ok_or_else(|| Error::wrong_type_for_var(def.name)),
        Kind::Double { .. } => text.parse().map(Value::Double).map_err(|_| Error::wrong_type_for_var(def.name)),
        Kind::Bool | Kind::Enum(_) | Kind::Set(_) | Kind::Locale => {
            Ok(by_number(text).unwrap_or_else(|| Value::str(text)))
        }
        Kind::Text => Ok(Value::str(text)),
    }
}

/// A whole number, perhaps with a unit; what is too large for any variable is the largest.
fn sized(text: &str) -> Option<Value> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        "P" => 50,
        "E" => 60,
        _ => return None,
    };
    let wide = digits.parse::<i64>().map(i128::from).or_else(|_| digits.parse::<u64>().map(i128::from)).ok()? << shift;
    Some(match i64::try_from(wide) {
        Ok(v) => Value::Int(v),
        Err(_) if wide < 0 => Value::Int(i64::MIN),
        Err(_) => Value::UInt(u64::try_from(wide).unwrap_or(u64::MAX)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(options: &[(&str, &str)], name: &str) -> Result<String> {
        let globals = GlobalVars::default();
        let options: Vec<_> = options.iter().map(|(n, t)| (n.to_string(), t.to_string())).collect();
        set_initial(&globals, &options, &|_| {})?;
        Ok(globals.by_name(name).expect("defined").into())
    }

    #[test]
    fn units_and_bounds() {
        for (text, value) in
            [("16M", "16777216"), ("64k", "65536"), ("1g", "1073741824"), ("1T", "1073741824"), ("1", "1024")]
        {
            assert_eq!(shown(&[("max-allowed-packet", text)], "max_allowed_packet").unwrap(), value, "{text}");
        }
        assert_eq!(shown(&[("max_join_size", "99E")], "max_join_size").unwrap(), u64::MAX.to_string());
        for wrong in ["", "M", "1.5G", "12KB", "x"] {
            assert!(shown(&[("max_allowed_packet", wrong)], "max_allowed_packet").is_err(), "{wrong}");
        }
        assert!(check_option("max_allowed_packet", "1").unwrap().is_some(), "a note");
    }

    #[test]
    fn values_mean_what_set_makes_of_them() {
        let modes = shown(&[("sql_mode", "ANSI")], "sql_mode").unwrap();
        assert!(modes.contains("PIPES_AS_CONCAT") && modes.contains("ANSI"), "{modes}");
        let switch =
            shown(&[("optimizer_switch", "mrr=off"), ("optimizer_switch", "index_merge=off")], "optimizer_switch");
        let switch = switch.unwrap();
        assert!(switch.contains("index_merge=off") && switch.contains("mrr=off,") && switch.contains("firstmatch=on"));
        assert_eq!(shown(&[("character-set-server", "latin1")], "collation_server").unwrap(), "latin1_swedish_ci");
        assert_eq!(shown(&[("collation_server", "latin1_bin")], "character_set_server").unwrap(), "latin1");
        let both = [("collation_server", "latin1_bin"), ("character_set_server", "latin1")];
        assert_eq!(shown(&both, "collation_server").unwrap(), "latin1_bin");
        assert_eq!(shown(&[("default-time-zone", "+02:00")], "time_zone").unwrap(), "+02:00");
        assert_eq!(shown(&[("super_read_only", "1")], "read_only").unwrap(), "ON");
        assert_eq!(shown(&[("default_storage_engine", "MyISAM")], "default_storage_engine").unwrap(), "InnoDB");
        for (name, text) in [
            ("character_set_server", "latin5x"),
            ("collation_server", "nonsense"),
            ("default-time-zone", "Nowhere"),
            ("optimizer_switch", "no_such=on"),
            ("sql_mode", "NONE_SUCH"),
            ("transaction_isolation", "FOO"),
            ("default_storage_engine", "FOO"),
            ("no_such_variable", "1"),
        ] {
            assert!(shown(&[(name, text)], "port").is_err(), "{name}={text}");
        }
        let apart = [("collation_server", "latin1_bin"), ("character_set_server", "utf8mb4")];
        assert!(shown(&apart, "port").is_err());
    }

    #[test]
    fn what_is_not_here_is_said() {
        assert!(matches!(check_option("log_bin", "ON"), Err(OptionFault::NotHere(_))));
        assert!(check_option("log_bin", "OFF").is_ok());
        for (name, text) in
            [("lower_case_table_names", "1"), ("explicit_defaults_for_timestamp", "0"), ("sql_auto_is_null", "1")]
        {
            assert!(matches!(check_option(name, text), Err(OptionFault::Wrong(_))), "{name}");
        }
        assert!(check_option("lower_case_table_names", "0").is_ok());
        assert!(matches!(check_option("unheard_of", "1"), Err(OptionFault::Unknown)));
    }
}
