//! docs/operate/command-line.md holds what `--help` prints of each command.

use crate::{page, rewrite, rewrites};
use std::process::Command;

const PAGE: &str = "operate/command-line.md";
const FROM: &str = "<!-- generated: from here -->\n";
const TO: &str = "<!-- generated: to here -->\n";

/// Longer lines are broken in the page, with the indentation of the line.
const WIDTH_MAX: usize = 116;

fn help(args: &[&str]) -> String {
    let out = Command::new(env!("CARGO_BIN_EXE_nextleaf")).args(args).output().expect("it starts");
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("text")
}

/// Breaks long lines; what follows a gap of blanks, as descriptions do, goes on below itself.
fn broken(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let gap = line[indent..].find("  ").map(|i| indent + i);
        let column = gap.map_or(indent, |g| g + line[g..].len() - line[g..].trim_start().len());
        out.push_str(&line[..column]);
        let mut width = column;
        for (i, word) in line[column..].split(' ').enumerate() {
            if i > 0 && width + 1 + word.chars().count() > WIDTH_MAX {
                out.push('\n');
                out.push_str(&" ".repeat(column));
                width = column;
            } else if i > 0 {
                out.push(' ');
                width += 1;
            }
            out.push_str(word);
            width += word.chars().count();
        }
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }
    out
}

#[test]
fn the_page_is_what_help_prints() {
    let mut text = String::from("\n```text\n");
    text.push_str(&broken(&help(&["--help"])));
    text.push_str("```\n");
    for command in ["server", "sql", "check", "dump", "load"] {
        let printed = broken(&help(&[command, "--help"]));
        text.push_str(&format!("\n## nextleaf {command}\n\n```text\n{}\n```\n", printed.trim_end()));
    }
    text.push('\n');
    let present = page(PAGE);
    let (before, rest) = present.split_once(FROM).expect("the page has the mark");
    let (shown, after) = rest.split_once(TO).expect("the page has the mark");
    if shown != text && rewrites() {
        return rewrite(PAGE, &format!("{before}{FROM}{text}{TO}{after}"));
    }
    assert_eq!(shown, text, "docs/{PAGE}: NEXTLEAF_GOLDEN=complete rewrites it");
}
