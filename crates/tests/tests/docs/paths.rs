//! Modules and items that pages name, as `storage::txn` or `expr::build`, are there.

use crate::{files, root};
use std::path::{Path, PathBuf};

/// `a::b::c` in code marks, with the first part a crate of ours.
fn paths(text: &str) -> Vec<Vec<&str>> {
    let is_word = |w: &str| !w.is_empty() && w.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    text.split('`')
        .skip(1)
        .step_by(2)
        .map(|code| code.split("::").collect::<Vec<_>>())
        .filter(|parts| parts.len() > 1 && parts.iter().all(|p| is_word(p)))
        .collect()
}

/// Whether some file at or below a path has the word.
fn has_word(at: &Path, word: &str) -> bool {
    let mut sources = Vec::new();
    if at.is_dir() {
        files(at, ".rs", &mut sources);
    }
    if at.with_extension("rs").is_file() {
        sources.push(at.with_extension("rs"));
    }
    sources.iter().any(|path| {
        let text = std::fs::read_to_string(path).expect("a source is readable");
        text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|w| w == word)
    })
}

/// Walks down the modules; what is no module has to be a word of the last one.
fn is_there(crates: &Path, parts: &[&str]) -> bool {
    let mut at: PathBuf = crates.join(parts[0]).join("src");
    for part in &parts[1..] {
        let next = at.join(part);
        if next.is_dir() || next.with_extension("rs").is_file() {
            at = next;
        } else {
            return has_word(&at, part);
        }
    }
    true
}

#[test]
fn modules_that_pages_name_are_there() {
    let root = root();
    let crates = root.join("crates");
    let mut pages = Vec::new();
    files(&root, ".md", &mut pages);
    let mut faults = Vec::new();
    let mut count = 0;
    for page in pages {
        let text = std::fs::read_to_string(&page).expect("a page is readable");
        for mut parts in paths(&text) {
            if parts[0] == "nextleaf" {
                parts[0] = "server";
            }
            if !crates.join(parts[0]).is_dir() {
                continue;
            }
            count += 1;
            if !is_there(&crates, &parts) {
                faults.push(format!("{}: {}", page.display(), parts.join("::")));
            }
        }
    }
    assert!(count > 40, "{count} paths");
    assert!(faults.is_empty(), "not there any more:\n{}", faults.join("\n"));
}
