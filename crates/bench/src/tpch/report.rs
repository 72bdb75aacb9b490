//! The report: one HTML file that needs nothing else.
//!
//! Two plots. Times span four orders of magnitude, so they are dots on a logarithmic axis, one line a query; ratios are
//! bars that start at 1, leftward where Nextleaf is faster.

use super::{Outcome, Report, ms, totals};
use crate::machine::Times;
use std::fmt::Write;

const COLORS: [&str; 3] = ["#0a7d4f", "#c9820a", "#5b6fb5"];
const WIDTH: f64 = 860.0;
const LEFT: f64 = 52.0;
const ROW: f64 = 22.0;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}\
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse;font-variant-numeric:tabular-nums}\
th,td{padding:.15rem .7rem;text-align:right;border-bottom:1px solid #ddd}th:first-child,td:first-child{text-align:left}\
td:last-child,th:last-child{text-align:left}.bad{color:#b00020}svg{width:100%;height:auto}svg text{font:12px system-ui,sans-serif;fill:#444}\
ul{padding-left:1.2rem}";

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn ours(o: &Outcome) -> Option<f64> {
    o.ours.as_ref().map(Times::best_ms)
}

/// Times of all systems for a query; `None` where one has none.
fn times(o: &Outcome) -> Vec<Option<f64>> {
    std::iter::once(ours(o)).chain(o.theirs.iter().map(|t| t.as_ref().ok().map(Times::best_ms))).collect()
}

fn times_plot(report: &Report) -> String {
    let all: Vec<f64> = report.outcomes.iter().flat_map(times).flatten().collect();
    let low = all.iter().copied().fold(f64::INFINITY, f64::min).max(1e-3).log10().floor();
    let high = all.iter().copied().fold(0.0, f64::max).max(1e-2).log10().ceil().max(low + 1.0);
    let x = |v: f64| LEFT + (v.log10() - low) / (high - low) * (WIDTH - LEFT - 20.0);
    let height = 40.0 + ROW * report.outcomes.len() as f64;
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"Times by query\">");
    for power in low as i32..=high as i32 {
        let at = x(10f64.powi(power));
        let label =
            if power >= 3 { format!("{} s", 10f64.powi(power - 3)) } else { format!("{} ms", 10f64.powi(power)) };
        let _ = write!(
            svg,
            "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"18\" y2=\"{:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{at:.1}\" y=\"12\" text-anchor=\"middle\">{label}</text>",
            height - 14.0
        );
    }
    for (i, o) in report.outcomes.iter().enumerate() {
        let y = 32.0 + ROW * i as f64;
        let times = times(o);
        let known: Vec<f64> = times.iter().flatten().map(|&v| x(v)).collect();
        let (from, to) =
            (known.iter().copied().fold(f64::INFINITY, f64::min), known.iter().copied().fold(LEFT, f64::max));
        let _ = write!(svg, "<text x=\"4\" y=\"{:.1}\">Q{}</text>", y + 4.0, o.query);
        if known.len() > 1 {
            let _ = write!(svg, "<line x1=\"{from:.1}\" x2=\"{to:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#bbb\"/>");
        }
        for (s, v) in times.iter().enumerate().rev() {
            if let Some(v) = v {
                let _ = write!(
                    svg,
                    "<circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"5.5\" fill=\"{}\"><title>Q{} {}: {} ms</title></circle>",
                    x(*v),
                    COLORS[s % COLORS.len()],
                    o.query,
                    escape(&report.systems[s]),
                    ms(*v)
                );
            }
        }
    }
    svg + "</svg>"
}

fn ratio_plot(report: &Report, rival: usize) -> String {
    let ratio = |o: &Outcome| Some(ours(o)? / o.theirs[rival].as_ref().ok()?.best_ms());
    let all: Vec<f64> = report.outcomes.iter().filter_map(ratio).map(f64::log2).collect();
    let reach = all.iter().fold(1.0f64, |m, v| m.max(v.abs())).ceil();
    let x = |v: f64| LEFT + (v + reach) / (2.0 * reach) * (WIDTH - LEFT - 60.0);
    let height = 40.0 + ROW * report.outcomes.len() as f64;
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"Ratios by query\">");
    let step = (reach / 4.0).ceil().max(1.0) as i32;
    for power in (-(reach as i32)..=reach as i32).filter(|p| p % step == 0) {
        let at = x(power as f64);
        let label = if power >= 0 { format!("{}", 1u64 << power) } else { format!("1/{}", 1u64 << -power) };
        let color = if power == 0 { "#888" } else { "#e4e4e4" };
        let _ = write!(
            svg,
            "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"18\" y2=\"{:.1}\" stroke=\"{color}\"/>\
             <text x=\"{at:.1}\" y=\"12\" text-anchor=\"middle\">{label}</text>",
            height - 14.0
        );
    }
    for (i, o) in report.outcomes.iter().enumerate() {
        let y = 32.0 + ROW * i as f64;
        let _ = write!(svg, "<text x=\"4\" y=\"{:.1}\">Q{}</text>", y + 4.0, o.query);
        let Some(r) = ratio(o) else { continue };
        let (from, to) = (x(r.log2().min(0.0)), x(r.log2().max(0.0)));
        let color = if r <= 1.0 { COLORS[0] } else { COLORS[1] };
        let _ = write!(
            svg,
            "<rect x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"14\" fill=\"{color}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{r:.2}</text>",
            y - 7.0,
            (to - from).max(1.0),
            to.max(x(0.0)) + 5.0,
            y + 4.0
        );
    }
    svg + "</svg>"
}

/// The whole page.
pub fn html(report: &Report) -> String {
    let title = escape(&report.title);
    let mut out = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title}</title><style>{STYLE}</style><h1>{title}</h1><ul>"
    );
    for fact in &report.facts {
        let _ = write!(out, "<li>{}</li>", escape(fact));
    }
    for (i, system) in report.systems[1..].iter().enumerate() {
        let (a, b, n) = totals(report, i);
        let _ = write!(
            out,
            "<li>Total over the {n} queries that both answered: Nextleaf {} ms, {} {} ms, ratio {:.2}</li>",
            ms(a),
            escape(system),
            ms(b),
            a / b
        );
    }
    out += "</ul><h2>Time of each query (logarithmic)</h2><p>";
    for (s, system) in report.systems.iter().enumerate() {
        let color = COLORS[s % COLORS.len()];
        let _ = write!(out, "<span style=\"color:{color}\">&#9679;</span> {} &nbsp; ", escape(system));
    }
    let _ = write!(out, "</p>{}", times_plot(report));
    for (i, system) in report.systems[1..].iter().enumerate() {
        let system = escape(system);
        let _ = write!(out, "<h2>Nextleaf's time over {system}'s (left of 1: Nextleaf is faster)</h2>");
        out += &ratio_plot(report, i);
    }
    out += "<h2>Figures</h2><table><tr><th>Query</th><th>Nextleaf ms</th><th>median</th><th>most</th>";
    for system in &report.systems[1..] {
        let _ = write!(out, "<th>{} ms</th><th>ratio</th>", escape(system));
    }
    out += "<th>rows</th><th>answer</th></tr>";
    for o in &report.outcomes {
        let t = o.ours.as_ref().map_or([f64::NAN; 3], Times::ms);
        let _ = write!(out, "<tr><td>Q{}</td><td>{}</td><td>{}</td><td>{}</td>", o.query, ms(t[0]), ms(t[1]), ms(t[2]));
        for theirs in &o.theirs {
            let _ = match theirs {
                Ok(v) => write!(out, "<td>{}</td><td>{:.2}</td>", ms(v.best_ms()), t[0] / v.best_ms()),
                Err(e) => write!(out, "<td title=\"{}\">failed</td><td>-</td>", escape(e)),
            };
        }
        let verdict = match o.problems.is_empty() {
            true => format!("<td>equal to {}</td>", escape(&o.equal.join(", "))),
            false => format!("<td class=\"bad\">{}</td>", escape(&o.problems.join("; "))),
        };
        let _ = write!(out, "<td>{}</td>{verdict}</tr>", o.rows);
    }
    out + "</table></html>\n"
}
