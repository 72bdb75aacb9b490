//! The plans of docs/use/explain.md are those that the server prints.
//!
//! The tables are the page's own: three of TPC-H's at scale 0.01, loaded by docs/use/tpch.sql. What differs from run to
//! run (times, memory) is not compared.

use crate::fences::{blocks, replaced};
use crate::{Dir, page, rewrite, rewrites, root};
use std::path::Path;
use std::process::{Command, Stdio};

const PAGE: &str = "use/explain.md";

/// Runs the binary in a folder; what it printed.
fn nextleaf(dir: &Path, args: &[&str], input: Stdio) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nextleaf"));
    let out = command.current_dir(dir).args(args).stdin(input).output().expect("it starts");
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("text")
}

/// Numbers that differ from run to run as `..`.
fn without_measures(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = ["actual time=", "memory=", "spilled="].iter().filter_map(|w| rest.find(w)).min() {
        let value = at + rest[at..].find('=').expect("a measure has =") + 1;
        let end = value + rest[value..].find([' ', ')']).unwrap_or(rest.len() - value);
        out.push_str(&rest[..value]);
        out.push_str("..");
        rest = &rest[end..];
    }
    // Which counters a parallel run moves, and how far, depends on the machine.
    let kept = (out + rest).lines().filter(|l| !l.starts_with("Counters: ")).collect::<Vec<_>>().join("\n");
    kept.trim_end().to_string()
}

/// What a person sees of a result: the text of a plan by itself, other rows as `\G` prints them.
fn shown(printed: &str) -> String {
    let mut lines: Vec<&str> = printed.lines().collect();
    if lines.get(1).is_some_and(|l| l.starts_with("EXPLAIN: ")) {
        lines.remove(0);
    }
    let text = lines.join("\n");
    text.strip_prefix("EXPLAIN: ").unwrap_or(&text).trim_end().to_string() + "\n"
}

#[test]
fn plans_are_those_that_the_page_shows() {
    let dir = Dir::new("explain");
    nextleaf(&dir.0, &["bench", "tpch", "--scale", "0.01", "--write-tbl", "tbl"], Stdio::null());
    let script = std::fs::File::open(root().join("docs/use/tpch.sql")).expect("the script of the tables");
    nextleaf(&dir.0, &["sql", "data", "--batch"], script.into());
    let mut text = page(PAGE);
    let mut faults = Vec::new();
    let mut count = 0;
    for i in 1..blocks(&text).len() {
        let blocks = blocks(&text);
        let (asked, answer) = (&blocks[i - 1], &blocks[i]);
        if (asked.language.as_str(), answer.language.as_str()) != ("sql", "text") || answer.is_shown_only {
            continue;
        }
        count += 1;
        let script = asked.text.trim_end().trim_end_matches(';').to_string() + "\\G\n";
        let printed = shown(&nextleaf(&dir.0, &["sql", "data", "-D", "tpch", "--batch", "-e", &script], Stdio::null()));
        if without_measures(&printed) == without_measures(&answer.text) {
            continue;
        }
        if rewrites() {
            text = replaced(&text, answer, &printed);
        } else {
            faults.push(format!("docs/{PAGE}:{}\n--- shown\n{}--- printed\n{printed}", answer.line, answer.text));
        }
    }
    assert!(count > 5, "{count} plans");
    assert!(faults.is_empty(), "NEXTLEAF_GOLDEN=complete rewrites the page\n{}", faults.join("\n"));
    if rewrites() {
        rewrite(PAGE, &text);
    }
}
