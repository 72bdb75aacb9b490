//! The experiments that need a server, in miniature, by the binary itself: that they run, and that what they check
//! holds.

use std::process::{Command, Output};

fn bench(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_nextleaf")).arg("bench").args(args).output().expect("the binary runs")
}

/// Runs an experiment that must succeed; what it printed.
fn run(args: &[&str]) -> String {
    let out = bench(args);
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(out.status.success(), "{args:?}\n{text}\n{}", String::from_utf8_lossy(&out.stderr));
    text
}

#[test]
fn dbt2_keeps_its_conditions() {
    let small =
        ["dbt2", "--small", "--warehouses", "2", "--terminals", "4", "--time", "2", "--warmup", "0", "--runs", "1"];
    let text = run(&small);
    assert!(text.contains("all conditions hold, and rows are as many as acknowledged"), "{text}");
}

#[test]
fn a_soak_says_what_drifts() {
    // As above: only that it ran, and that its snapshots did not change, is for a test.
    let small = ["soak", "--minutes", "0.1", "--interval", "2", "--rows", "2000", "--writers", "2"];
    let text = String::from_utf8_lossy(&bench(&small).stdout).into_owned();
    assert!(text.contains("the table holds") && text.contains("snapshots that did not change"), "{text}");
}

#[test]
fn flexasynch_through_the_wire() {
    let small = ["flexasynch", "--at", "wire", "--records", "2000", "--rounds", "1", "--threads", "2"];
    let text = run(&[&small[..], &["--size", "8,100", "--batch", "1,50"]].concat());
    assert_eq!(text.lines().filter(|l| l.starts_with("Nextleaf")).count(), 4, "{text}");
}

#[test]
fn row_locks_count_right() {
    // How throughput grows is not for a test on a busy machine to say: exit status 1 is that, an error is another text.
    let small = ["row-locks", "--rows", "20000", "--range", "2000", "--threads", "1,2", "--time", "1", "--runs", "1"];
    let text = String::from_utf8_lossy(&bench(&small).stdout).into_owned();
    assert!(text.contains("E3 found rows") && text.contains("throughput"), "{text}");
}

#[test]
fn sysbench_runs_where_it_is_installed() {
    if Command::new("sysbench").arg("--version").output().is_err() {
        return;
    }
    let small = ["sysbench", "--rows", "1000", "--threads", "4", "--time", "1", "--warmup", "0", "--runs", "1"];
    let text = run(&small);
    assert_eq!(text.lines().filter(|l| l.contains("_") && l.contains("  4  ")).count(), 6, "{text}");
}
