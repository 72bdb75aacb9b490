//! Reports of any experiment: facts, tables, bars; one HTML file that needs nothing else.

use std::fmt::Write;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#222}\
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse;font-variant-numeric:tabular-nums}\
th,td{padding:.15rem .7rem;text-align:right;border-bottom:1px solid #ddd}th:first-child,td:first-child{text-align:left}\
svg{width:100%;height:auto}svg text{font:12px system-ui,sans-serif;fill:#444}ul{padding-left:1.2rem}";
const COLORS: [&str; 4] = ["#0a7d4f", "#c9820a", "#5b6fb5", "#8a4b80"];
const WIDTH: f64 = 900.0;
const LEFT: f64 = 230.0;
const BAR: f64 = 13.0;

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

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
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

/// Bars of one group are scaled to the longest of that group: groups may differ a thousandfold, series are compared.
fn plot(bars: &Bars) -> String {
    let height_of = |g: &(String, Vec<f64>)| BAR * g.1.len() as f64 + 9.0;
    let height: f64 = bars.groups.iter().map(height_of).sum::<f64>() + 10.0;
    let mut svg = format!("<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">", escape(&bars.title));
    let mut y = 5.0;
    for group in &bars.groups {
        let most = group.1.iter().copied().filter(|v| v.is_finite()).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        let middle = y + BAR * group.1.len() as f64 / 2.0 + 4.0;
        let _ = write!(svg, "<text x=\"4\" y=\"{middle:.1}\">{}</text>", escape(&group.0));
        for (s, &value) in group.1.iter().enumerate().filter(|v| v.1.is_finite()) {
            let width = value / most * (WIDTH - LEFT - 90.0);
            let _ = write!(
                svg,
                "<rect x=\"{LEFT}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                y + s as f64 * BAR,
                width.max(1.0),
                BAR - 2.0,
                COLORS[s % COLORS.len()],
                LEFT + width + 6.0,
                y + s as f64 * BAR + BAR - 3.0,
                short(value)
            );
        }
        y += height_of(group);
    }
    svg + "</svg>"
}

/// The whole page.
pub fn html(page: &Page) -> String {
    let title = escape(&page.title);
    let mut out = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title}</title><style>{STYLE}</style><h1>{title}</h1><ul>"
    );
    for fact in &page.facts {
        let _ = write!(out, "<li>{}</li>", escape(fact));
    }
    out += "</ul>";
    for bars in &page.bars {
        let _ = write!(out, "<h2>{}</h2><p>", escape(&bars.title));
        for (s, name) in bars.series.iter().enumerate() {
            let color = COLORS[s % COLORS.len()];
            let _ = write!(out, "<span style=\"color:{color}\">&#9632;</span> {} &nbsp; ", escape(name));
        }
        let _ = write!(out, "</p>{}", plot(bars));
    }
    for (heading, columns, rows) in &page.tables {
        let cells = |row: &[String], tag: &str| -> String {
            row.iter().map(|c| format!("<{tag}>{}</{tag}>", escape(c))).collect()
        };
        let _ = write!(out, "<h2>{}</h2><table><tr>{}</tr>", escape(heading), cells(columns, "th"));
        for row in rows {
            let _ = write!(out, "<tr>{}</tr>", cells(row, "td"));
        }
        out += "</table>";
    }
    out + "</html>\n"
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
        assert!(html.contains("a &lt; b") && html.contains("&quot;f&quot;") && html.contains("<td>&amp;</td>"));
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
