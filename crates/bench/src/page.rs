//! Reports of any experiment: facts, bars, tables.

use crate::html::{self, Cell};
use std::fmt::Write;

const WIDTH: f64 = 900.0;
const BAR: f64 = 13.0;
/// About what a letter takes.
const LETTER: f64 = 6.6;

/// Bars in groups: one group a label, one bar a series.
#[derive(Clone, Debug, Default)]
pub struct Bars {
    pub title: String,
    pub series: Vec<String>,
    /// A label and a value for each series; NaN: none.
    pub groups: Vec<(String, Vec<f64>)>,
}

#[derive(Clone, Debug, Default)]
pub struct Page {
    pub title: String,
    pub facts: Vec<String>,
    pub bars: Vec<Bars>,
    /// Heading, columns, rows.
    pub tables: Vec<(String, Vec<String>, Vec<Vec<String>>)>,
}

/// A number with three digits or so that count.
pub fn short(v: f64) -> String {
    match v.abs() {
        _ if v.is_nan() => "-".into(),
        a if a >= 1e6 => format!("{:.2}M", v / 1e6),
        a if a >= 1e5 => format!("{:.0}k", v / 1e3),
        a if a >= 1e4 => format!("{:.1}k", v / 1e3),
        a if a >= 100.0 => format!("{v:.0}"),
        a if a >= 10.0 => format!("{v:.1}"),
        _ => format!("{v:.2}"),
    }
}

/// Bars of several series are scaled to the longest of their group: groups may differ a thousandfold, series are
/// compared. Bars of one series are compared with each other.
fn plot(out: &mut String, bars: &Bars) {
    let letters = bars.groups.iter().map(|g| g.0.chars().count()).max().unwrap_or(0);
    let left = (LETTER * letters as f64 + 16.0).clamp(60.0, WIDTH / 2.0);
    let height_of = |g: &(String, Vec<f64>)| BAR * g.1.len() as f64 + 9.0;
    let height: f64 = bars.groups.iter().map(height_of).sum::<f64>() + 10.0;
    let longest = |values: &mut dyn Iterator<Item = f64>| {
        values.filter(|v| v.is_finite()).fold(0.0, f64::max).max(f64::MIN_POSITIVE)
    };
    let of_all = longest(&mut bars.groups.iter().flat_map(|g| g.1.iter().copied()));
    html::plot(out, &bars.title, (WIDTH, height), |svg| {
        let mut y = 5.0;
        for group in &bars.groups {
            let most = if bars.series.len() > 1 { longest(&mut group.1.iter().copied()) } else { of_all };
            let middle = y + BAR * group.1.len() as f64 / 2.0 + 3.0;
            let _ = write!(svg, "<text x=\"4\" y=\"{middle:.1}\">{}</text>", html::escape(&group.0));
            for (s, &value) in group.1.iter().enumerate() {
                let top = y + s as f64 * BAR;
                let width = if value.is_finite() { value / most * (WIDTH - left - 90.0) } else { 0.0 };
                if value.is_finite() {
                    let _ = write!(
                        svg,
                        "<rect class=\"{}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
                        html::series(s),
                        width.max(1.0),
                        BAR - 2.0
                    );
                }
                let (x, base, text) = (left + width + 6.0, top + BAR - 3.0, short(value));
                let _ = write!(svg, "<text x=\"{x:.1}\" y=\"{base:.1}\">{text}</text>");
            }
            y += height_of(group);
        }
    });
}

/// Figures stand to the right, the rest to the left.
fn cell(text: &String) -> Cell {
    let figure = text.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit()) || text == "-";
    if figure { Cell::Figure(text.clone()) } else { Cell::Words(text.clone()) }
}

/// The whole page.
pub fn html(page: &Page) -> String {
    let mut out = html::begin(&page.title, page.facts.iter().cloned());
    for bars in &page.bars {
        html::heading(&mut out, &bars.title);
        html::legend(&mut out, &bars.series);
        if bars.groups.len() > 1 && bars.series.len() > 1 {
            html::note(&mut out, "The longest bar of each group has the full length.");
        }
        plot(&mut out, bars);
    }
    for (heading, columns, rows) in &page.tables {
        html::heading(&mut out, heading);
        let rows: Vec<Vec<Cell>> = rows.iter().map(|row| row.iter().map(cell).collect()).collect();
        html::table(&mut out, columns, &rows);
    }
    html::end(out)
}

/// Writes the page where a path is given, and says so.
pub fn write(page: &Page, to: Option<&std::path::Path>) -> std::io::Result<()> {
    if let Some(path) = to {
        std::fs::write(path, html(page))?;
        println!("report: {}", path.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_stands_alone_and_escapes() {
        let page = Page {
            title: "a < b".into(),
            facts: vec!["\"f\"".into()],
            bars: vec![Bars {
                title: "t".into(),
                series: vec!["x".into(), "y".into()],
                groups: vec![("g".into(), vec![1.0, f64::NAN])],
            }],
            tables: vec![("h".into(), vec!["c".into()], vec![vec!["&".into()]])],
        };
        let html = html(&page);
        assert!(html.contains("a &lt; b") && html.contains("&quot;f&quot;") && html.contains(">&amp;</td>"));
        assert_eq!(html.matches("<rect").count(), 1);
        assert!(!html.contains("http:") && !html.contains("https:"));
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [0.5, 12.34, 123.4, 12_345.0, 123_456.0, 1_234_567.0].map(short),
            ["0.50", "12.3", "123", "12.3k", "123k", "1.23M"].map(str::to_owned)
        );
    }
}
