//! A short hunt for logic bugs; `examples/hunt.rs` runs it for long.
//!
//! NEXTLEAF_HUNT_QUERIES sets how many cases (default 600), NEXTLEAF_HUNT_SEED where to start.

use tests::hunt::{CASES_A_SCHEMA, Profile, Tally, round};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

#[test]
fn answers_obey_the_laws() {
    let first = number("NEXTLEAF_HUNT_SEED", 1);
    let rounds = number("NEXTLEAF_HUNT_QUERIES", 600).div_ceil(CASES_A_SCHEMA);
    let mut total = Tally::default();
    for seed in first..first + rounds {
        total.add(round(seed, CASES_A_SCHEMA, Profile::Wild));
    }
    // most cases must say something
    let refused: u64 = total.refused.values().sum();
    assert!(refused * 20 < total.cases, "{:?} of {} cases failed", total.refused, total.cases);
    let reports: Vec<String> =
        std::mem::take(&mut total.failures).into_iter().take(3).map(|f| f.reduce().report()).collect();
    assert!(reports.is_empty(), "{}", reports.join("\n"));
}
