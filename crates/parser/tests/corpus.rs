//! Every statement of the corpus parses, or is refused by name with 1235.

use parser::{ParseOptions, parse};

mod common;

#[test]
fn every_statement_parses_or_is_refused_by_name() {
    let options = ParseOptions::default();
    let corpus = common::corpus();
    assert!(corpus.len() > 200, "{}", corpus.len());
    let mut failures = Vec::new();
    let mut refused = Vec::new();
    for (name, sql) in corpus {
        match parse(sql, &options) {
            Ok(_) => {}
            Err(e) if e.code().0 == 1235 => refused.push(name),
            Err(e) => failures.push(format!("{name}: {}", e.message())),
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    assert_eq!(refused, ["group by desc"]);
}
