//! docs/operate/limits.md: what it says to be the most works, and one more gets the error that it names.

use crate::page;
use tests::ours::{Ours, configs};

/// The most, and the error beyond it, of the page's line about something.
fn line(text: &str, what: &str) -> (usize, u16) {
    let line =
        text.lines().find(|l| l.starts_with(&format!("| {what} |"))).unwrap_or_else(|| panic!("no line: {what}"));
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let number = cells[1].split(' ').next().expect("a number").replace([',', ';', ':'], "");
    (number.parse().expect("the most comes first"), cells[2].parse().expect("the error comes last"))
}

fn columns(count: usize) -> String {
    (0..count).map(|i| format!("c{i} INT")).collect::<Vec<_>>().join(", ")
}

fn names(count: usize) -> String {
    (0..count).map(|i| format!("c{i}")).collect::<Vec<_>>().join(", ")
}

#[test]
fn limits_are_those_that_the_page_names() {
    let text = page("operate/limits.md");
    let mut ours = Ours::open(&configs()[0]);
    ours.run("CREATE DATABASE d").expect("a database");
    ours.run("USE d").expect("the database");
    type Statement = fn(usize) -> String;
    let checks: &[(&str, Statement)] = &[
        ("a name: database, table, column, key", |n| format!("CREATE TABLE t ({} INT)", "x".repeat(n))),
        ("columns of a table", |n| format!("CREATE TABLE t ({})", columns(n))),
        ("CHAR, BINARY", |n| format!("CREATE TABLE t (a CHAR({n}))")),
        ("VARCHAR of utf8mb4", |n| format!("CREATE TABLE t (a VARCHAR({n}))")),
        ("keys of a table", |n| {
            let keys: Vec<String> = (0..n).map(|i| format!("KEY (c{i})")).collect();
            format!("CREATE TABLE t ({}, {})", columns(n), keys.join(", "))
        }),
        ("columns of a key", |n| format!("CREATE TABLE t ({}, KEY ({}))", columns(n), names(n))),
        ("a column's share of a key", |n| format!("CREATE TABLE t (a VARBINARY(9000), KEY (a({n})))")),
        ("tables in a join", |n| {
            let tables: Vec<String> = (0..n).map(|i| format!("(SELECT 1 AS a) AS t{i}")).collect();
            format!("SELECT 1 FROM {}", tables.join(", "))
        }),
    ];
    for (what, statement) in checks {
        let (most, beyond) = line(&text, what);
        ours.run("DROP TABLE IF EXISTS t").expect("nothing is left");
        let answer = ours.run(&statement(most));
        assert!(answer.is_ok(), "{what}: {most} should work: {answer:?}");
        ours.run("DROP TABLE IF EXISTS t").expect("nothing is left");
        let refused = ours.run(&statement(most + 1)).expect_err("one more than the most").0;
        assert_eq!(refused, beyond, "{what}: {}", most + 1);
    }
}
