//! The SQL golden files, under every configuration, and against MariaDB where it agrees by definition.
//!
//! NEXTLEAF_GOLDEN=complete rewrites the rows of the files from MariaDB's answers (our own for cases marked `ours:`).
//! NEXTLEAF_GOLDEN_FILES=name: only files whose paths contain the name.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use tests::golden::{Case, Expect, fault, parse, render};
use tests::oracle::MariaDb;
use tests::ours::{Ours, configs};

fn files() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(dir).expect("sql/ is readable").map(|e| e.expect("an entry").path()).collect();
    files.sort();
    // Some files alone, while they are written.
    if let Ok(part) = std::env::var("NEXTLEAF_GOLDEN_FILES") {
        files.retain(|f| f.to_string_lossy().contains(&part));
    }
    files
}

fn cases(path: &Path) -> Vec<Case> {
    parse(&std::fs::read_to_string(path).expect("a golden file is readable"))
}

#[test]
fn golden_files_hold_under_every_configuration() {
    if std::env::var("NEXTLEAF_GOLDEN").is_ok_and(|v| v == "complete") {
        return complete();
    }
    let mut faults = Vec::new();
    let mut count = 0;
    for path in files() {
        for config in configs() {
            let mut ours = Ours::open(&config);
            ours.run("CREATE DATABASE g").expect("a database");
            ours.run("USE g").expect("the database");
            for case in cases(&path) {
                count += 1;
                if let Some(f) = fault(&case, &ours.run(&case.sql)) {
                    faults.push(format!("{}:{} ({})\n  {}\n  {f}", path.display(), case.line, config.name, case.sql));
                }
            }
        }
    }
    assert!(count > 500 || std::env::var("NEXTLEAF_GOLDEN_FILES").is_ok(), "only {count} cases ran");
    assert!(faults.is_empty(), "{} of {count} cases:\n{}", faults.len(), faults.join("\n\n"));
}

#[test]
fn golden_files_hold_in_mariadb() {
    let Some(mut theirs) = MariaDb::start("golden") else { return };
    let mut faults = Vec::new();
    for path in files() {
        start(&mut theirs);
        for case in cases(&path) {
            let answer = theirs.run(&case.sql);
            if case.ours_only.is_some() || matches!(case.expect, Expect::Error(_)) && answer.is_err() {
                continue;
            }
            if let Some(f) = fault(&case, &answer) {
                faults.push(format!("{}:{}\n  {}\n  {f}", path.display(), case.line, case.sql));
            }
        }
    }
    assert!(faults.is_empty(), "{} cases:\n{}", faults.len(), faults.join("\n\n"));
}

fn start(theirs: &mut MariaDb) {
    theirs
        .run("SET SESSION sql_mode = 'ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO'")
        .expect("a mode");
    // Its cache of subqueries' results takes texts for the same that LENGTH tells apart.
    theirs.run("SET optimizer_switch = 'subquery_cache=off'").expect("a flag");
    // Parents go before their children there.
    theirs.run("SET foreign_key_checks = 0").expect("a setting");
    theirs.run("CREATE OR REPLACE DATABASE g").expect("a database");
    theirs.run("SET foreign_key_checks = 1").expect("a setting");
    theirs.run("USE g").expect("the database");
}

fn complete() {
    let mut theirs = MariaDb::start("complete").expect("completing needs mariadbd");
    for path in files() {
        start(&mut theirs);
        let mut ours = Ours::open(&configs()[0]);
        ours.run("CREATE DATABASE g").expect("a database");
        ours.run("USE g").expect("the database");
        let mut out = String::new();
        let text = std::fs::read_to_string(&path).expect("a golden file is readable");
        let lines: Vec<&str> = text.lines().collect();
        for case in parse(&text) {
            out.push_str(&comments_above(&lines[..case.line - 1]));
            let our = ours.run(&case.sql);
            let their = theirs.run(&case.sql);
            let answer = if case.ours_only.is_some() { &our } else { &their };
            let mut words = String::new();
            if case.expect == Expect::Sorted {
                words.push_str(" sorted");
            }
            if let Err((code, _)) = answer {
                let _ = write!(words, " error {code}");
            }
            if let Some(reason) = &case.ours_only {
                let _ = write!(words, " ours: {reason}");
            }
            let _ = writeln!(out, "{};\n----{words}", case.sql);
            if let Ok(rows) = answer {
                let mut rows = render(rows);
                if case.expect == Expect::Sorted {
                    rows.sort();
                }
                rows.iter().for_each(|r| out.push_str(&format!("{r}\n")));
            }
            out.push('\n');
        }
        std::fs::write(&path, out).expect("a golden file is writable");
    }
}

/// The comments that stand between a case and the one before it.
fn comments_above(lines: &[&str]) -> String {
    let is_between = |l: &&&str| l.starts_with('#') || l.is_empty();
    let mut above: Vec<&str> = lines.iter().rev().take_while(is_between).copied().collect();
    above.reverse();
    let from = above.iter().position(|l| l.starts_with('#')).unwrap_or(above.len());
    above[from..].iter().map(|l| format!("{l}\n")).collect()
}
