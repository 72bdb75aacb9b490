//! Links between pages lead somewhere, and every page is in the table of contents.

use crate::{files, page, root};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The targets of a page's links: what stands in `](...)`, outside of code.
fn targets(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        let mut rest = if in_code { "" } else { line };
        while let Some((_, after)) = rest.split_once("](") {
            let (target, after) = after.split_once(')').unwrap_or((after, ""));
            found.push(target.to_string());
            rest = after;
        }
    }
    found
}

/// A heading as the address of its part: lower case, blanks as dashes, other signs gone.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|l| l.starts_with('#'));
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    headings
        .map(|l| l.trim_start_matches('#').trim().to_lowercase().chars().filter(kept).collect::<String>())
        .map(|t| t.replace(' ', "-"))
        .collect()
}

#[test]
fn links_lead_somewhere() {
    let mut pages: Vec<PathBuf> = Vec::new();
    files(&root(), ".md", &mut pages);
    let mut faults = Vec::new();
    for path in pages {
        let text = std::fs::read_to_string(&path).expect("a page is readable");
        for target in targets(&text).iter().filter(|t| !t.starts_with("http")) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let at = if file.is_empty() { path.clone() } else { path.parent().unwrap_or(Path::new("/")).join(file) };
            let there = std::fs::read_to_string(&at);
            if there.as_ref().is_err_and(|_| !at.is_dir()) {
                faults.push(format!("{}: {target} is not there", path.display()));
            } else if !anchor.is_empty() && there.is_ok_and(|t| !anchors(&t).contains(anchor)) {
                faults.push(format!("{}: {target} has no such heading", path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_table_of_contents_has_every_page() {
    let docs = root().join("docs");
    let listed: BTreeSet<String> = targets(&page("SUMMARY.md")).into_iter().collect();
    let mut paths = Vec::new();
    files(&docs, ".md", &mut paths);
    let pages: BTreeSet<String> = paths
        .iter()
        .map(|p| p.strip_prefix(&docs).expect("below docs").to_string_lossy().into_owned())
        .filter(|p| p != "SUMMARY.md")
        .collect();
    assert_eq!(listed, pages);
}
