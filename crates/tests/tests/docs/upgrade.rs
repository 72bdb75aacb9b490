//! docs/operate/upgrade.md names every format that a data folder can have.

use crate::{page, root};
use std::collections::BTreeSet;

#[test]
fn every_format_has_a_line() {
    let text = page("operate/upgrade.md");
    let first_cell = |line: &str| line.strip_prefix("| ")?.split(' ').next()?.parse::<u32>().ok();
    let said: BTreeSet<u32> = text.lines().filter_map(first_cell).collect();
    // There is a folder of each in the tests.
    let folders = std::fs::read_dir(root().join("crates/tests/fixtures")).expect("fixtures are readable");
    let format = |name: &str| name.strip_prefix("format-")?.parse::<u32>().ok();
    let there: BTreeSet<u32> =
        folders.filter_map(|f| format(&f.expect("an entry").file_name().to_string_lossy())).collect();
    assert!(!there.is_empty());
    assert_eq!(said, there);
}
