//! What all reports share: one HTML file that needs nothing else, neither the network nor a script to be read.
//!
//! Colours are variables, light or dark as the reader's system is; plots take theirs from the same variables, by class
//! (`s0`, `s1`, .. for series, `grid`, `axis`). A short script of the page's own sorts a table by the column whose head
//! is clicked; without it the rows stand as they were written.

use std::fmt::Write;

/// Series that have a colour of their own; more begin anew.
pub const SERIES: usize = 4;

const STYLE: &str = "\
:root{color-scheme:light dark;--page:#fff;--text:#222;--soft:#5a5a5a;--line:#ddd;--axis:#888;--bad:#b00020;\
--s0:#0a7d4f;--s1:#c9820a;--s2:#5b6fb5;--s3:#8a4b80}\
@media(prefers-color-scheme:dark){:root{--page:#16181c;--text:#e4e4e4;--soft:#a5a8ad;--line:#34383f;--axis:#7d828a;--bad:#ff7a85;\
--s0:#3cc48a;--s1:#e8a53a;--s2:#8fa2ec;--s3:#c583b9}}\
body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;background:var(--page);color:var(--text)}\
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}ul{padding-left:1.2rem}.note{color:var(--soft);margin:.2rem 0}\
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}\
th,td{padding:.15rem .7rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}\
th:first-child,td:first-child,.words{text-align:left}th{cursor:pointer;vertical-align:bottom}\
th[aria-sort=ascending]::after{content:\" \\2191\"}th[aria-sort=descending]::after{content:\" \\2193\"}\
tbody tr:hover{background:color-mix(in srgb,var(--line) 40%,transparent)}.bad{color:var(--bad)}td.words{white-space:normal}\
svg{width:100%;min-width:40rem;height:auto}svg text{font:12px system-ui,sans-serif;fill:var(--soft)}\
.grid{stroke:var(--line)}.axis{stroke:var(--axis)}\
.s0{fill:var(--s0);color:var(--s0)}.s1{fill:var(--s1);color:var(--s1)}.s2{fill:var(--s2);color:var(--s2)}.s3{fill:var(--s3);color:var(--s3)}\
@media print{body{max-width:none}}";

/// Sorts by the column whose head is clicked, by number where both cells begin with one.
const SCRIPT: &str = "\
document.querySelectorAll('th').forEach(h=>h.onclick=()=>{\
const t=h.closest('table'),b=t.tBodies[0],i=h.cellIndex,d=h.ariaSort==='ascending'?-1:1;\
const n=c=>({k:1e3,M:1e6}[c.slice(-1)]||1)*parseFloat(c.replace(/^Q/,''));\
const v=r=>r.cells[i].textContent;\
[...b.rows].sort((x,y)=>{const p=n(v(x)),q=n(v(y));\
return d*(isNaN(p)||isNaN(q)?isNaN(p)-isNaN(q)||v(x).localeCompare(v(y)):p-q)}).forEach(r=>b.append(r));\
t.querySelectorAll('th').forEach(o=>o.removeAttribute('aria-sort'));\
h.ariaSort=d>0?'ascending':'descending'})";

/// Text between tags or within a quoted attribute.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A page that begins: its head, its title, and facts as a list.
pub fn begin(title: &str, facts: impl IntoIterator<Item = String>) -> String {
    let title = escape(title);
    let mut out = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>{title}</title><style>{STYLE}</style><h1>{title}</h1><ul>"
    );
    for fact in facts {
        let _ = write!(out, "<li>{}</li>", escape(&fact));
    }
    out + "</ul>"
}

/// The end of what [`begin`] began.
pub fn end(page: String) -> String {
    page + "<script>" + SCRIPT + "</script></html>\n"
}

pub fn heading(out: &mut String, text: &str) {
    let _ = write!(out, "<h2>{}</h2>", escape(text));
}

pub fn note(out: &mut String, text: &str) {
    let _ = write!(out, "<p class=\"note\">{}</p>", escape(text));
}

/// The class of a series' marks.
pub fn series(s: usize) -> String {
    format!("s{}", s % SERIES)
}

/// Which colour is whose.
pub fn legend<'n>(out: &mut String, names: impl IntoIterator<Item = &'n String>) {
    *out += "<p>";
    for (s, name) in names.into_iter().enumerate() {
        let _ = write!(out, "<span class=\"{}\">&#9632;</span> {} &nbsp; ", series(s), escape(name));
    }
    *out += "</p>";
}

/// A plot of `width` to `height` units, drawn by `draw`.
pub fn plot(out: &mut String, label: &str, (width, height): (f64, f64), draw: impl FnOnce(&mut String)) {
    let label = escape(label);
    let _ =
        write!(out, "<div class=\"wide\"><svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{label}\">");
    draw(out);
    *out += "</svg></div>";
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A number, to the right.
    Figure(String),
    /// Prose, to the left.
    Words(String),
    /// What is wrong.
    Fault(String),
}

/// A table; a click on a head sorts it.
pub fn table(out: &mut String, columns: &[String], rows: &[Vec<Cell>]) {
    *out += "<div class=\"wide\"><table><thead><tr>";
    for (i, c) in columns.iter().enumerate() {
        let words = rows.iter().all(|r| matches!(r.get(i), Some(Cell::Words(_) | Cell::Fault(_)))) && !rows.is_empty();
        let class = if words { " class=\"words\"" } else { "" };
        let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", escape(c));
    }
    *out += "</tr></thead><tbody>";
    for row in rows {
        *out += "<tr>";
        for cell in row {
            let _ = match cell {
                Cell::Figure(t) => write!(out, "<td>{}</td>", escape(t)),
                Cell::Words(t) => write!(out, "<td class=\"words\">{}</td>", escape(t)),
                Cell::Fault(t) => write!(out, "<td class=\"words bad\">{}</td>", escape(t)),
            };
        }
        *out += "</tr>";
    }
    *out += "</tbody></table></div>";
}
