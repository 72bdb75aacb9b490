//! Lines of pages and of comments are at most 120 characters long; `scripts/wrap-lines` breaks longer ones. Code is
//! rustfmt's.

use crate::{files, root};

/// How many characters fit.
const WIDTH_MAX: usize = 120;

/// What cannot be broken: a link's address, or a word by itself.
fn is_one_word(line: &str) -> bool {
    line.trim_start_matches(['/', '!', ' ', '#', '-', '*']).split_whitespace().count() <= 1
}

fn too_long(end: &str) -> Vec<String> {
    let root = root();
    let mut paths = Vec::new();
    files(&root, end, &mut paths);
    assert!(paths.len() > 10, "{} files", paths.len());
    let mut faults = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("a text file");
        // What a program prints is shown as it prints it.
        let mut is_output = false;
        for (i, line) in text.lines().enumerate() {
            if end == ".md" && line.starts_with("```") {
                is_output = line.starts_with("```text");
            }
            let is_code = end == ".rs" && !line.trim_start().starts_with("//");
            if line.chars().count() > WIDTH_MAX && !is_output && !is_code && !is_one_word(line) {
                faults.push(format!("{}:{}", path.strip_prefix(&root).unwrap_or(&path).display(), i + 1));
            }
        }
    }
    faults
}

#[test]
fn lines_of_pages_fit() {
    let faults = too_long(".md");
    assert!(faults.is_empty(), "longer than {WIDTH_MAX} characters:\n{}", faults.join("\n"));
}

#[test]
fn lines_of_comments_fit() {
    let faults = too_long(".rs");
    assert!(faults.is_empty(), "longer than {WIDTH_MAX} characters:\n{}", faults.join("\n"));
}
