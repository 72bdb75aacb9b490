//! Golden files: what each construct means, and what each mistake answers.

use parser::ast::Statement;
use parser::{ParseOptions, parse};

const SYNTAX: &str = "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version \
                      for the right syntax to use near ";

fn answer(sql: &str) -> String {
    match parse(sql, &ParseOptions::default()) {
        Ok(Statement::Query(query)) => format!("= {query}"),
        Ok(other) => format!("= {other:?}"),
        Err(e) => format!("! {} {}", e.code().0, e.message().replace(SYNTAX, "near ").replace('\n', "\\n")),
    }
}

/// Runs a golden file; with UPDATE_GOLDEN set, writes the answers into it.
fn check(name: &str) {
    let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    let (mut out, mut wrong, mut count) = (String::new(), Vec::new(), 0);
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        out.push_str(line);
        out.push('\n');
        let Some(sql) = line.strip_prefix('>') else { continue };
        let sql = sql.strip_prefix(' ').unwrap_or(sql);
        let expected = lines.next_if(|l| l.starts_with("= ") || l.starts_with("! "));
        let actual = answer(sql);
        if expected != Some(actual.as_str()) {
            wrong.push(format!("{sql}\n  wanted {}\n  got    {actual}", expected.unwrap_or("?")));
        }
        out.push_str(&actual);
        out.push('\n');
        count += 1;
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, out).unwrap();
        return;
    }
    assert!(count > 10);
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn queries() {
    check("queries.txt");
}

#[test]
fn statements() {
    check("statements.txt");
}
