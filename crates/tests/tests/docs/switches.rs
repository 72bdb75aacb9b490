//! docs/use/switches.md has every flag of optimizer_switch, with its default.

use crate::page;
use std::collections::BTreeMap;
use variables::defs::OPTIMIZER_SWITCH;

#[test]
fn every_flag_has_a_line() {
    let text = page("use/switches.md");
    let mut said = BTreeMap::new();
    for line in text.lines().filter(|l| l.starts_with("| `")) {
        let mut cells = line.trim_matches('|').split('|').map(str::trim);
        let flag = cells.next().expect("a flag").trim_matches('`');
        said.insert(flag, cells.next().expect("its default"));
    }
    // The flags without effect: `name` (default).
    let (_, rest) = text.split_once("## Without effect").expect("a heading");
    let mut parts = rest.split('`').skip(1);
    while let (Some(flag), Some(default)) = (parts.next(), parts.next()) {
        said.insert(flag, default.trim_start().trim_start_matches('(').split(')').next().expect("its default"));
    }
    let flags: BTreeMap<&str, &str> = OPTIMIZER_SWITCH.split(',').filter_map(|f| f.split_once('=')).collect();
    assert!(flags.len() > 40, "{} flags", flags.len());
    assert_eq!(said, flags);
}
