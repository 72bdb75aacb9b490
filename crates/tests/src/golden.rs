//! SQL files with expected answers.
//!
//! ```text
//! # a comment
//! SELECT a, b FROM t ORDER BY a;
//! ----
//! 1|one
//! 2|NULL
//!
//! SELECT nonsense;
//! ---- error 1054
//!
//! SELECT a FROM t;
//! ---- sorted
//! 1
//! 2
//!
//! SELECT PI();
//! ---- ours: all digits of a DOUBLE
//! 3.141592653589793
//! ```
//! A case is a statement up to a line that begins with `----`, then the rows, up to an empty line. Statements without
//! rows expect none. `sorted`: the order is not the query's; `ours:` and a reason, at the line's end: MariaDB answers
//! otherwise, and what MySQL's manual says decides. An empty string is printed as `''`.

use crate::{Answer, TextRows};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expect {
    Rows,
    Sorted,
    Error(u16),
}

#[derive(Clone, Debug)]
pub struct Case {
    pub line: usize,
    pub sql: String,
    pub expect: Expect,
    /// Why MariaDB is not asked.
    pub ours_only: Option<String>,
    pub rows: Vec<String>,
}

/// Parses a file.
///
/// # Panics
/// If the file is not of the form above.
pub fn parse(text: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((i, line)) = lines.next() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let mut sql = line.to_string();
        let marker = loop {
            let (_, l) = lines.next().unwrap_or_else(|| panic!("line {}: no ---- after the statement", i + 1));
            if l.starts_with("----") {
                break l;
            }
            sql.push('\n');
            sql.push_str(l);
        };
        let (words, reason) =
            marker[4..].split_once("ours:").map_or((&marker[4..], None), |(w, r)| (w, Some(r.trim())));
        assert!(reason.is_none_or(|r| r.contains(' ')), "line {}: `ours:` without a reason", i + 1);
        let words: Vec<&str> = words.split_whitespace().collect();
        let mut expect = Expect::Rows;
        let mut w = words.iter();
        while let Some(word) = w.next() {
            match *word {
                "sorted" => expect = Expect::Sorted,
                "ours" => panic!("line {}: `ours` takes a colon and a reason", i + 1),
                "error" => {
                    let code = w.next().and_then(|c| c.parse().ok());
                    expect = Expect::Error(code.unwrap_or_else(|| panic!("line {}: error without number", i + 1)));
                }
                other => panic!("line {}: unknown word {other}", i + 1),
            }
        }
        let mut rows = Vec::new();
        while let Some((_, l)) = lines.next_if(|(_, l)| !l.is_empty()) {
            rows.push(l.to_string());
        }
        let sql = sql.trim_end().trim_end_matches(';').to_string();
        cases.push(Case { line: i + 1, sql, expect, ours_only: reason.map(str::to_string), rows });
    }
    cases
}

/// Rows in the file's form.
pub fn render(rows: &TextRows) -> Vec<String> {
    let cell = |c: &Option<String>| match c {
        None => "NULL".to_string(),
        Some(t) if t.is_empty() => "''".to_string(),
        Some(t) => t.replace('\n', "\\n"),
    };
    rows.iter().map(|r| r.iter().map(cell).collect::<Vec<_>>().join("|")).collect()
}

/// What is wrong with an answer, if anything is.
pub fn fault(case: &Case, answer: &Answer) -> Option<String> {
    match (case.expect, answer) {
        (Expect::Error(code), Err((got, _))) if *got == code => None,
        (Expect::Error(code), Err((got, m))) => Some(format!("expected error {code}, got {got}: {m}")),
        (Expect::Error(code), Ok(rows)) => Some(format!("expected error {code}, got {} rows", rows.len())),
        (_, Err((got, m))) => Some(format!("error {got}: {m}")),
        (expect, Ok(rows)) => {
            let (mut got, mut want) = (render(rows), case.rows.clone());
            if expect == Expect::Sorted {
                got.sort();
                want.sort();
            }
            (got != want).then(|| format!("expected\n    {}\n  got\n    {}", want.join("\n    "), got.join("\n    ")))
        }
    }
}
