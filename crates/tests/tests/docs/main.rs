//! The manual in docs/ against the code: what can be generated is compared, what can be counted is counted, and every
//! link leads somewhere.
//!
//! NEXTLEAF_GOLDEN=complete rewrites the generated parts of pages.

mod configuration;
mod errors;
mod limits;
mod links;
mod paths;
mod status;
mod switches;
mod upgrade;
mod width;

use std::path::{Path, PathBuf};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A page below docs/.
fn page(name: &str) -> String {
    let path = root().join("docs").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Files below a folder of the repository whose names end so.
fn files(dir: &Path, end: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("a folder is readable") {
        let entry = entry.expect("an entry");
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if entry.file_type().expect("a type").is_dir() {
            if !name.starts_with('.') && name != "target" {
                files(&path, end, found);
            }
        } else if name.ends_with(end) {
            found.push(path);
        }
    }
}

/// The part of a page between the two marks, which is generated.
const FROM: &str = "<!-- generated: from here -->\n";
const TO: &str = "<!-- generated: to here -->\n";

/// Compares the generated part of a page, or rewrites it.
///
/// # Panics
/// If the page differs, or lacks the marks.
fn hold(name: &str, text: &str) {
    let page = page(name);
    let (before, rest) = page.split_once(FROM).unwrap_or_else(|| panic!("{name} has no mark {FROM}"));
    let (present, after) = rest.split_once(TO).unwrap_or_else(|| panic!("{name} has no mark {TO}"));
    if present == text {
        return;
    }
    if std::env::var("NEXTLEAF_GOLDEN").is_ok_and(|v| v == "complete") {
        let path = root().join("docs").join(name);
        std::fs::write(path, format!("{before}{FROM}{text}{TO}{after}")).expect("a page is writable");
        return;
    }
    let (line, there, ours) = first_difference(present, text);
    panic!(
        "docs/{name} is not what the code says (NEXTLEAF_GOLDEN=complete rewrites it), line {line} of the generated \
         part:\n  page: {there}\n  code: {ours}"
    );
}

fn first_difference<'a>(a: &'a str, b: &'a str) -> (usize, &'a str, &'a str) {
    let longest = a.lines().count().max(b.lines().count());
    let line = |text: &'a str, i: usize| text.lines().nth(i).unwrap_or("(nothing)");
    let at = (0..longest).find(|i| line(a, *i) != line(b, *i)).unwrap_or(longest);
    (at + 1, line(a, at), line(b, at))
}

/// Text in lines of up to 120 characters; all but the first begin with `indent`.
fn wrapped(text: &str, indent: &str) -> String {
    let (mut out, mut line) = (String::new(), String::new());
    for word in text.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > 120 {
            out.push_str(&line);
            out.push('\n');
            line = indent.to_string();
        } else if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    out + &line + "\n"
}
