//! A short hunt for logic bugs; `examples/hunt.rs` runs it for long.
//!
//! NEXTLEAF_HUNT_QUERIES sets how many cases (default 600, and fewer of the other kinds), NEXTLEAF_HUNT_SEED
//! where to start.

use tests::hunt::{CASES_A_SCHEMA, Rival, Tally, round, traffic};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

fn first() -> u64 {
    number("NEXTLEAF_HUNT_SEED", 1)
}

fn rounds() -> u64 {
    number("NEXTLEAF_HUNT_QUERIES", 600).div_ceil(CASES_A_SCHEMA)
}

/// No failures; and most cases say something.
fn judge(mut total: Tally, rival: Option<&Rival>, reduced: bool) {
    let refused: u64 = total.refused.values().sum();
    assert!(refused * 20 < total.cases, "{:?} of {} cases failed", total.refused, total.cases);
    let found = std::mem::take(&mut total.failures).into_iter().take(3);
    let reports: Vec<String> = found.map(|f| if reduced { f.reduce(rival).report() } else { f.report() }).collect();
    assert!(reports.is_empty(), "{}", reports.join("\n"));
}

#[test]
fn answers_obey_the_laws() {
    let mut total = Tally::default();
    (first()..first() + rounds()).for_each(|seed| total.add(round(seed, CASES_A_SCHEMA, None)));
    judge(total, None, true);
}

#[test]
fn answers_are_those_of_mariadb() {
    let Some(rival) = Rival::start("hunt") else { return };
    let mut total = Tally::default();
    (first()..first() + rounds().div_ceil(2)).for_each(|seed| total.add(round(seed, CASES_A_SCHEMA, Some(&rival))));
    judge(total, Some(&rival), true);
}

#[test]
fn snapshots_hold_beside_changes() {
    let mut total = Tally::default();
    (first()..first() + rounds().div_ceil(6)).for_each(|seed| total.add(traffic(seed, CASES_A_SCHEMA)));
    judge(total, None, false);
}
