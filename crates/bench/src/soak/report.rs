//! What a soak prints: a line an interval, and the verdicts.

use super::Interval;
use super::clients::Counts;
use crate::Failure;
use crate::page::{self, Bars, Page, short};
use std::path::Path;

/// The table may hold so many times what its rows need.
const RATIO_GOAL: f64 = 1.5;
/// The last quarter's processor time an operation may be so many times the first quarter's.
const DRIFT_GOAL: f64 = 1.1;
const STALL_GOAL_MS: f64 = 1000.0;
/// The first part of a run counts for nothing.
const WARMUP_PART: f64 = 0.1;
const MIB: f64 = (1u64 << 20) as f64;

const HEAD: [&str; 11] = [
    "minutes",
    "rows",
    "live MiB",
    "held MiB",
    "free MiB",
    "ratio",
    "RSS MiB",
    "ops/s",
    "cpu us/op",
    "p50/p99 ms",
    "max ms",
];

/// Said under the lines.
pub const NOTE: &str = "* a snapshot was kept, which needs rows that have gone since";

/// A run on one server.
#[derive(Clone, Debug)]
pub struct Soaked {
    pub name: &'static str,
    pub intervals: Vec<Interval>,
    pub counts: Counts,
}

/// What a run showed.
#[derive(Clone, PartialEq, Debug)]
pub struct Verdict {
    pub text: String,
    pub holds: bool,
}

fn cells(i: &Interval) -> [String; 11] {
    let ms = |us: u64| us as f64 / 1e3;
    [
        format!("{:.1}", i.seconds / 60.0),
        i.rows.to_string(),
        short(i.needed_bytes as f64 / MIB),
        short(i.held_bytes as f64 / MIB),
        short(i.free_bytes as f64 / MIB),
        format!("{:.2}{}", i.ratio(), if i.is_at_rest { "" } else { "*" }),
        short(i.resident_bytes as f64 / MIB),
        short(i.operations_per_s),
        short(i.cpu_us),
        format!("{:.2}/{:.1}", ms(i.p50_us), ms(i.p99_us)),
        short(ms(i.max_us)),
    ]
}

fn laid_out(cells: &[String]) -> String {
    cells.iter().map(|c| format!("{c:>11}")).collect()
}

pub fn head() -> String {
    laid_out(&HEAD.map(str::to_owned))
}

pub fn line(interval: &Interval) -> String {
    laid_out(&cells(interval))
}

fn median(of: &[Interval], f: impl Fn(&Interval) -> f64) -> f64 {
    let mut all: Vec<f64> = of.iter().map(f).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
}

impl Soaked {
    /// The intervals after the warm-up: the first and the last quarter of them.
    fn quarters(&self) -> (&[Interval], &[Interval]) {
        let n = self.intervals.len();
        let warm = &self.intervals[((n as f64 * WARMUP_PART).ceil() as usize).min(n.saturating_sub(1))..];
        let quarter = warm.len().div_ceil(4);
        (&warm[..quarter], &warm[warm.len() - quarter..])
    }

    pub fn verdicts(&self) -> Vec<Verdict> {
        let (first, last) = self.quarters();
        let most = |f: &dyn Fn(&Interval) -> f64| self.intervals.iter().map(f).fold(0.0, f64::max);
        // A short run may have no rest.
        let rests = self.intervals.iter().any(|i| i.is_at_rest);
        let at_rest = most(&|i| if i.is_at_rest == rests { i.ratio() } else { 0.0 });
        let verdict = |value: f64, goal: f64, text: String| {
            let holds = value <= goal;
            Verdict { text: format!("{text} ({})", if holds { "ok" } else { "MISSED" }), holds }
        };
        let stall = most(&|i| i.max_us as f64 / 1e3);
        let cpu = |of: &[Interval]| median(of, |i| i.cpu_us);
        let drift = cpu(last) / cpu(first);
        let resident = |of: &[Interval]| median(of, |i| i.resident_bytes as f64 / i.needed_bytes.max(1) as f64);
        let Counts { operations, reports, snapshots } = self.counts;
        vec![
            verdict(
                at_rest,
                RATIO_GOAL,
                format!(
                    "the table holds {at_rest:.2} times its live bytes at most, {:.2} while a snapshot is kept",
                    most(&Interval::ratio)
                ),
            ),
            verdict(
                drift,
                DRIFT_GOAL,
                format!("{:.0} us of processor time an operation, then {:.0}: times {drift:.2}", cpu(first), cpu(last)),
            ),
            verdict(stall, STALL_GOAL_MS, format!("the longest operation took {stall:.0} ms")),
            Verdict {
                text: format!(
                    "resident memory {:.2} times the live bytes, then {:.2}; {operations} operations, {reports} reports, \
                     {snapshots} snapshots that did not change",
                    resident(first),
                    resident(last)
                ),
                holds: true,
            },
        ]
    }
}

pub fn write(all: &[Soaked], facts: Vec<String>, out: Option<&Path>) -> Result<(), Failure> {
    let bars = |title: &str, s: &Soaked, f: &dyn Fn(&Interval) -> f64| Bars {
        title: format!("{}: {title}", s.name),
        series: vec![s.name.into()],
        groups: s.intervals.iter().map(|i| (format!("{:.1} min", i.seconds / 60.0), vec![f(i)])).collect(),
    };
    let of_one = |s: &Soaked| {
        [
            bars("bytes held of bytes live", s, &Interval::ratio),
            bars("processor time an operation, microseconds", s, &|i| i.cpu_us),
            bars("longest operation, ms", s, &|i| i.max_us as f64 / 1e3),
        ]
    };
    let table = |s: &Soaked| {
        let rows = s.intervals.iter().map(|i| cells(i).into()).collect();
        (s.name.to_owned(), HEAD.map(str::to_owned).into(), rows)
    };
    let page = Page {
        title: "Soak".into(),
        facts,
        bars: all.iter().flat_map(of_one).collect(),
        tables: all.iter().map(table).collect(),
    };
    Ok(page::write(&page, out)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_drifts_is_told() {
        let interval = |i: u64, cpu_us: f64| Interval {
            seconds: i as f64,
            rows: 10,
            needed_bytes: 1000,
            held_bytes: 1100 + i,
            cpu_us,
            max_us: 5000,
            is_at_rest: i.is_multiple_of(2),
            ..Interval::default()
        };
        let soaked = |growth: f64| Soaked {
            name: "Nextleaf",
            // The warm-up is dear.
            intervals: (0..20).map(|i| interval(i, if i < 2 { 900.0 } else { 100.0 + growth * i as f64 })).collect(),
            counts: Counts::default(),
        };
        assert!(soaked(0.0).verdicts().iter().all(|v| v.holds));
        let verdicts = soaked(2.0).verdicts();
        assert_eq!(verdicts.iter().map(|v| v.holds).collect::<Vec<_>>(), [true, false, true, true]);
        assert!(verdicts[1].text.contains("times 1.2"), "{}", verdicts[1].text);
    }
}
