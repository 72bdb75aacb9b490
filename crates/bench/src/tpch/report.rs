//! The report of a run.
//!
//! Two plots. Times span four orders of magnitude, so they are dots on a logarithmic axis, one line a query; ratios are
//! bars that start at 1, leftward where Nextleaf is faster.

use super::{Outcome, Report, ms, totals};
use crate::html::{self, Cell};
use crate::machine::Times;
use std::fmt::Write;

const WIDTH: f64 = 860.0;
const LEFT: f64 = 52.0;
const ROW: f64 = 22.0;

fn ours(o: &Outcome) -> Option<f64> {
    o.ours.as_ref().map(Times::best_ms)
}

/// Times of all systems for a query; `None` where one has none.
fn times(o: &Outcome) -> Vec<Option<f64>> {
    std::iter::once(ours(o)).chain(o.theirs.iter().map(|t| t.as_ref().ok().map(Times::best_ms))).collect()
}

/// The queries down the left side, `mark` in each one's line.
fn lines(svg: &mut String, report: &Report, mut mark: impl FnMut(&mut String, &Outcome, f64)) {
    for (i, o) in report.outcomes.iter().enumerate() {
        let y = 32.0 + ROW * i as f64;
        let _ = write!(svg, "<text x=\"4\" y=\"{:.1}\">Q{}</text>", y + 4.0, o.query);
        mark(svg, o, y);
    }
}

fn height(report: &Report) -> f64 {
    40.0 + ROW * report.outcomes.len() as f64
}

/// A line down the plot with its label above.
fn grid(svg: &mut String, report: &Report, at: f64, class: &str, label: &str) {
    let _ = write!(
        svg,
        "<line class=\"{class}\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"18\" y2=\"{:.1}\"/>\
         <text x=\"{at:.1}\" y=\"12\" text-anchor=\"middle\">{label}</text>",
        height(report) - 14.0
    );
}

fn times_plot(out: &mut String, report: &Report) {
    let all: Vec<f64> = report.outcomes.iter().flat_map(times).flatten().collect();
    let low = all.iter().copied().fold(f64::INFINITY, f64::min).clamp(1e-3, 1e6).log10().floor();
    let high = all.iter().copied().fold(0.0, f64::max).max(1e-2).log10().ceil().max(low + 1.0);
    let x = |v: f64| LEFT + (v.max(1e-3).log10() - low) / (high - low) * (WIDTH - LEFT - 30.0);
    html::plot(out, "Times by query", (WIDTH, height(report)), |svg| {
        for power in low as i32..=high as i32 {
            let label =
                if power >= 3 { format!("{} s", 10f64.powi(power - 3)) } else { format!("{} ms", 10f64.powi(power)) };
            grid(svg, report, x(10f64.powi(power)), "grid", &label);
        }
        lines(svg, report, |svg, o, y| {
            let times = times(o);
            let known: Vec<f64> = times.iter().flatten().map(|&v| x(v)).collect();
            let (from, to) =
                (known.iter().copied().fold(f64::INFINITY, f64::min), known.iter().copied().fold(LEFT, f64::max));
            if known.len() > 1 {
                let _ =
                    write!(svg, "<line class=\"axis\" x1=\"{from:.1}\" x2=\"{to:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>");
            }
            for (s, v) in times.iter().enumerate().rev() {
                let Some(v) = v else { continue };
                let _ = write!(
                    svg,
                    "<circle class=\"{}\" cx=\"{:.1}\" cy=\"{y:.1}\" r=\"5.5\"><title>Q{} {}: {} ms</title></circle>",
                    html::series(s),
                    x(*v),
                    o.query,
                    html::escape(&report.systems[s]),
                    ms(*v)
                );
            }
        });
    });
}

/// Small ratios need a third digit.
fn ratio_text(r: f64) -> String {
    if r < 0.1 { format!("{r:.3}") } else { format!("{r:.2}") }
}

fn ratio_plot(out: &mut String, report: &Report, rival: usize) {
    let ratio = |o: &Outcome| Some(ours(o)? / o.theirs[rival].as_ref().ok()?.best_ms());
    let all: Vec<f64> = report.outcomes.iter().filter_map(ratio).map(f64::log2).filter(|v| v.is_finite()).collect();
    let reach = all.iter().fold(1.0f64, |m, v| m.max(v.abs())).ceil().min(60.0);
    let x = |v: f64| LEFT + (v.clamp(-reach, reach) + reach) / (2.0 * reach) * (WIDTH - LEFT - 60.0);
    let step = (reach / 4.0).ceil().max(1.0) as i32;
    html::plot(out, "Ratios by query", (WIDTH, height(report)), |svg| {
        for power in (-(reach as i32)..=reach as i32).filter(|p| p % step == 0) {
            let label = if power >= 0 { format!("{}", 1u64 << power) } else { format!("1/{}", 1u64 << -power) };
            grid(svg, report, x(power as f64), if power == 0 { "axis" } else { "grid" }, &label);
        }
        lines(svg, report, |svg, o, y| {
            let Some(r) = ratio(o) else { return };
            let (from, to) = (x(r.log2().min(0.0)), x(r.log2().max(0.0)));
            let _ = write!(
                svg,
                "<rect class=\"{}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"14\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                html::series(usize::from(r > 1.0)),
                y - 7.0,
                (to - from).max(1.0),
                to.max(x(0.0)) + 5.0,
                y + 4.0,
                ratio_text(r)
            );
        });
    });
}

fn figures(out: &mut String, report: &Report) {
    let mut columns: Vec<String> = ["Query", "Nextleaf best ms", "median ms", "most ms"].map(str::to_owned).into();
    for system in &report.systems[1..] {
        columns.extend([format!("{system} best ms"), "ratio".into()]);
    }
    columns.extend(["rows".into(), "answer".into()]);
    let rows: Vec<Vec<Cell>> = report.outcomes.iter().map(row).collect();
    html::table(out, &columns, &rows);
}

fn row(o: &Outcome) -> Vec<Cell> {
    let t = o.ours.as_ref().map_or([f64::NAN; 3], Times::ms);
    let mut cells = vec![Cell::Figure(format!("Q{}", o.query))];
    cells.extend(t.map(|t| Cell::Figure(ms(t))));
    for theirs in &o.theirs {
        match theirs {
            Ok(v) => cells.extend([Cell::Figure(ms(v.best_ms())), Cell::Figure(ratio_text(t[0] / v.best_ms()))]),
            Err(e) => cells.extend([Cell::Fault(format!("failed: {e}")), Cell::Figure("-".into())]),
        }
    }
    cells.push(Cell::Figure(o.rows.to_string()));
    cells.push(match (o.problems.is_empty(), o.equal.is_empty()) {
        (true, true) => Cell::Words("compared with none".into()),
        (true, false) => Cell::Words(format!("equal to {}", o.equal.join(", "))),
        (false, _) => Cell::Fault(o.problems.join("; ")),
    });
    cells
}

/// The whole page.
pub fn html(report: &Report) -> String {
    let compared = report.systems[1..].iter().enumerate().map(|(i, system)| {
        let (a, b, n) = totals(report, i);
        let ratio = a / b;
        let (a, b) = (ms(a), ms(b));
        format!("Total over the {n} queries that both answered: Nextleaf {a} ms, {system} {b} ms, ratio {ratio:.2}")
    });
    let mut out = html::begin(&report.title, report.facts.iter().cloned().chain(compared));
    html::heading(&mut out, "Time of each query (logarithmic)");
    html::legend(&mut out, &report.systems);
    times_plot(&mut out, report);
    for (i, system) in report.systems[1..].iter().enumerate() {
        html::heading(&mut out, &format!("Nextleaf's time over {system}'s"));
        html::note(&mut out, "A bar to the left of 1: Nextleaf is faster. The scale is logarithmic.");
        ratio_plot(&mut out, report, i);
    }
    html::heading(&mut out, "Figures");
    figures(&mut out, report);
    html::end(out)
}
