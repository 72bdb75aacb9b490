//! docs/operate/configuration.md is made from the records of the system variables.

use crate::{hold, wrapped};
use variables::defs::{DEFS, Effect, Kind, Scope, VarDef};

/// Titles of the page's parts, and which variables stand there.
type Part = (&'static str, &'static str, fn(&VarDef) -> bool);

const PARTS: &[Part] = &[
    ("Variables that SET changes", "`SET`, and an option at the start.", |d| d.effect == Effect::Real),
    (
        "Variables that are set at the start",
        "Options on the command line or in an option file; SET is refused (1238).",
        variables::is_start_option,
    ),
    (
        "Variables that say how the server is",
        "To be read. An option that asks for another value stops the start, or is passed over with a warning.",
        |d| d.effect == Effect::ReadOnly && !variables::is_start_option(d),
    ),
    (
        "Variables without effect",
        "They can be set and are shown, because clients and scripts set them. Nothing depends on them here.",
        |d| d.effect == Effect::Accepted,
    ),
];

#[test]
fn the_configuration_reference_says_what_the_records_say() {
    let mut text = String::new();
    let mut count = 0;
    for (title, lead, belongs) in PARTS {
        text.push_str(&format!("\n## {title}\n\n{lead}\n\n"));
        for def in DEFS.iter().filter(|d| belongs(d)) {
            count += 1;
            text.push_str(&wrapped(&entry(def), "  "));
        }
    }
    text.push('\n');
    assert_eq!(count, DEFS.len(), "a variable stands in one part");
    hold("operate/configuration.md", &text);
}

fn entry(def: &VarDef) -> String {
    let scope = match def.scope {
        Scope::Global => "global",
        Scope::Session => "session",
        Scope::Both => "global and session",
    };
    format!("- `{}` ({scope}; {}; default {}):{}", def.name, values(def), default(def), def.description)
}

/// The values that a variable can have.
fn values(def: &VarDef) -> String {
    let unit = |text: String| if def.unit.is_empty() { text } else { format!("{text} {}", def.unit) };
    match def.kind {
        Kind::Bool => "ON or OFF".into(),
        Kind::Int { min, max } if max == i128::from(u64::MAX) => unit(format!("from {min} on")),
        Kind::Int { min, max } => unit(format!("{min} to {max}")),
        Kind::Double { min, max } => unit(format!("{min} to {max}")),
        Kind::Enum(names) if names.len() > 6 => format!("{}, ... {}", names[0], names[names.len() - 1]),
        Kind::Enum(names) => names.join(", "),
        Kind::Set(names) if names.len() > 6 => "a list of flags".into(),
        Kind::Set(names) => format!("a list of {}", names.join(", ")),
        Kind::Text => "text".into(),
        Kind::Locale => "the name of a locale".into(),
    }
}

fn default(def: &VarDef) -> String {
    // What differs from machine to machine, or is long.
    match def.name {
        "optimizer_switch" => return "all flags but four on".into(),
        "version" | "version_compile_machine" => return "the build's".into(),
        "hostname" | "system_time_zone" => return "the machine's".into(),
        "server_uuid" => return "the data folder's".into(),
        _ => {}
    }
    match def.default {
        "" => "empty".into(),
        "\0" => "NULL".into(),
        "18446744073709551615" => "the greatest".into(),
        text => text.replace(',', ", "),
    }
}
