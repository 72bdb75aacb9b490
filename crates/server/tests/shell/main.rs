//! `nextleaf sql` as somebody at a terminal meets it: editing, completion, history, the progress bar, Ctrl-C and
//! Ctrl-D.
//!
//! The shell runs on a pseudo terminal of its own. Every step waits for what the shell prints, and for its prompt
//! before it types, so a busy machine makes the tests slower but changes nothing.
#![cfg(target_os = "linux")]

mod terminal;

use std::fs::OpenOptions;
use std::io::Write;
use std::process::Command;
use terminal::{END_OF_INPUT, INTERRUPT, LINE_END, Terminal, UP};

const PROMPT: &str = "nextleaf> ";
const MORE: &str = "\n       -> ";

/// At the prompt of a new shell, in a folder of its own.
fn shell(name: &str) -> Terminal {
    let mut t = Terminal::start(name);
    t.expect("Type help for help.");
    t.expect(PROMPT);
    t
}

/// Types a line; what it answers ends with `answer` and the next prompt.
fn line(t: &mut Terminal, text: &str, answer: &str) {
    t.send(text);
    t.send("\r");
    t.expect(answer);
    t.expect(PROMPT);
}

#[test]
fn tab_completes_keywords_tables_and_columns() {
    let mut t = shell("tab");
    line(&mut t, "CREATE TABLE unusual_name (peculiar_id INT, other INT);", "Query OK");
    line(&mut t, "INSERT INTO unusual_name VALUES (400, 1), (10, 2);", "Query OK, 2 rows");
    line(&mut t, "SELEC\t 41 + 1;", " 42 |");
    line(&mut t, "sele\t SUM(pecu\t) + 1 FROM unus\t;", " 411 |");
    // A second Tab where several words begin alike offers another of them; none is an error.
    line(&mut t, "SELECT COUNT(*) + 70 FROM zzz\tunusual_na\t;", "doesn't exist");
    t.send(END_OF_INPUT);
    t.ended(true);
}

#[test]
fn statements_over_lines_vertical_rows_and_files() {
    let mut t = shell("lines");
    t.send("SELECT 40\r");
    t.expect(MORE);
    t.send("  + 3 AS\r");
    t.expect(MORE);
    line(&mut t, "sum_of_lines;", " 43 |");
    line(&mut t, "SELECT 6 * 9 AS answer, 'x' AS letter\\G", "answer: 54");
    // Ctrl-C forgets the statement that has begun.
    t.send("SELECT 'forgotten\r");
    t.expect(MORE);
    t.send(INTERRUPT);
    t.expect(PROMPT);
    line(&mut t, "SELECT 11 * 11;", " 121 |");
    let file = t.path("some.sql");
    std::fs::write(&file, "CREATE TABLE s (a INT);\nINSERT INTO s VALUES (7),\n (8);\nSELECT SUM(a) * 100\nFROM s;\n")
        .expect("written");
    line(&mut t, &format!("source {file}"), " 1500 |");
    line(&mut t, "source /nowhere/at/all.sql", "cannot read");
    line(&mut t, "SELEKT 1;", "1064");
    line(&mut t, "timing", "Timing is off.");
    t.send("quit\r");
    t.ended(true);
}

#[test]
fn the_history_is_there_in_the_next_shell() {
    let mut t = shell("history");
    line(&mut t, "SELECT 1000 + 234;", " 1234 |");
    line(&mut t, "SELECT 'between';", "1 row in set");
    t.send(UP);
    t.send(UP);
    line(&mut t, "", " 1234 |");
    t.send(END_OF_INPUT);
    t.ended(true);
    let mut t = t.again();
    t.expect(PROMPT);
    t.send(UP);
    // The line found is edited: one more row.
    t.send("\x7f");
    t.send(LINE_END);
    line(&mut t, " UNION SELECT 5 * 1111;", " 5555 |");
    t.send(END_OF_INPUT);
    t.ended(true);
}

#[test]
fn ctrl_c_stops_the_statement_alone() {
    let mut t = shell("interrupt");
    line(
        &mut t,
        "CREATE TABLE n AS WITH RECURSIVE r (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 1000) SELECT i FROM r;",
        "Query OK",
    );
    t.send("SELECT COUNT(*) FROM n a, n b, n c, n d, n e WHERE a.i + b.i + c.i + d.i + e.i < 0;\r");
    // The bar comes while the statement runs.
    t.expect("% ");
    t.send(INTERRUPT);
    t.expect("1317");
    t.expect(PROMPT);
    line(&mut t, "SELECT COUNT(*) * 3 FROM n;", " 3000 |");
    t.send(END_OF_INPUT);
    t.ended(true);
}

#[test]
fn a_long_load_shows_how_far_it_is() {
    let mut t = shell("load");
    line(&mut t, "CREATE TABLE big (a INT, b VARCHAR(20));", "Query OK");
    let pipe = t.path("rows");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    t.send(&format!("LOAD DATA LOCAL INFILE '{pipe}' INTO TABLE big;\r"));
    // As long as the pipe is open, the load goes on.
    let mut rows = OpenOptions::new().write(true).open(&pipe).expect("the shell reads");
    for i in 0..1000 {
        writeln!(rows, "{i}\tsome text").expect("it takes rows");
    }
    t.expect("% ");
    drop(rows);
    t.expect("1000 rows affected");
    t.expect(PROMPT);
    line(&mut t, "SELECT SUM(a) FROM big;", " 499500 |");
    t.send(END_OF_INPUT);
    t.ended(true);
}
