//! docs/operate/errors.md: the errors that it explains exist.

use crate::{page, root};
use std::collections::BTreeSet;

/// Numbers of clients, which no server sends.
const OF_CLIENTS: &[u16] = &[2013];

#[test]
fn errors_that_are_explained_exist() {
    let path = root().join("crates/types/src/error/codes.rs");
    let codes = std::fs::read_to_string(path).expect("the table of errors is readable");
    let number = |line: &str| line.split_once(" = ")?.1.split_once(',')?.0.parse::<u16>().ok();
    let known: BTreeSet<u16> = codes.lines().filter_map(number).collect();
    assert!(known.len() > 300, "{} errors", known.len());
    let text = page("operate/errors.md");
    let explained: Vec<u16> = text.split("**").skip(1).step_by(2).filter_map(|n| n.parse().ok()).collect();
    assert!(explained.len() > 30, "{} errors", explained.len());
    let unknown: Vec<&u16> = explained.iter().filter(|n| !known.contains(n) && !OF_CLIENTS.contains(n)).collect();
    assert!(unknown.is_empty(), "no such errors: {unknown:?}");
}
